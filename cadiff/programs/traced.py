"""What is known of the calls of one signature: recordings, and which of the integers change.

This module does not know which signatures there are, nor when another recording is made.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import binding
from ..binding import Missed
from .recorded import Recorded

if TYPE_CHECKING:
    from .found_loops import LoopFinder
    from .pace import Comparisons

PERIOD = 64  # calls that no recording serves, within which uses of recordings are compared


class Integers:
    """The ints, and arrays of such, in calls of one form: which of them are inputs of recordings.

    The first call has them for constants, which programs are fastest with. One that has changed
    since is an input, until f reads its value, or cannot do with anything else. Where there are
    many single ones, as in a list, one stands for all.
    """

    MANY = 8

    def __init__(self, items: list[Any]) -> None:
        self._first: dict[int, Any] = {k: copy(item) for k, item in enumerate(items)}
        self._changing: set[int] = set()
        self._constant: frozenset[int] = frozenset()

    def __getstate__(self) -> dict[str, Any]:
        """What others can be made of, while calls go on."""
        return {
            "_first": dict(self._first),
            "_changing": set(self._changing),
            "_constant": self._constant,
        }

    def inputs(self, items: list[Any]) -> frozenset[int]:
        """Those that are inputs in a call."""
        changed = [k for k, first in self._first.items() if not _are_equal(first, items[k])]
        if changed:
            self._change(changed, items)
        return frozenset(k for k in self._changing - self._constant if _may_be_input(items[k]))

    def _change(self, which: list[int], items: list[Any]) -> None:
        single = {k for k, item in enumerate(items) if not isinstance(item, np.ndarray)}
        together = single if len(single) > self.MANY and not single.isdisjoint(which) else ()
        for k in {*which, *together}:
            self._changing.add(k)
            self._first.pop(k, None)

    def fix(self, which: frozenset[int]) -> None:
        """These are constants from now on."""
        self._constant |= which


def _are_equal(one: Any, other: Any) -> bool:
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)


def _may_be_input(item: Any) -> bool:
    return binding.are_exact(item) if isinstance(item, np.ndarray) else binding.may_be_input(item)


class Traced:
    """What is known of the calls of one signature."""

    def __init__(self) -> None:
        self.recordings: list[Recorded] = []  # the one made or used last first
        self.obstacle = ""  # why f is run eagerly
        self.made = 0  # recordings, or attempts
        self.unsettled = 0  # recordings on end that changed what is watched, or printed
        self.writes = False  # the last of them printed
        self.loop: LoopFinder | None = None  # that recordings differ in the turns of, if so
        self.compared: WeakKeyDictionary[Recorded, Comparisons] = WeakKeyDictionary()
        self.comes_to_errors = False  # which f handles, and for which nothing is recorded
        self._former: dict[int, int] = {}  # how often recordings had been used some time ago
        self._n_missed = 0  # calls since that no recording served

    def note_unsettled(self, writes: bool) -> None:
        """Note that f has changed what is watched, or printed."""
        self.unsettled += 1
        self.writes = writes

    @property
    def may_run_on_own(self) -> bool:
        """Whether f may run before it is recorded: unless each run changes what it reads."""
        return self.unsettled == 0 or self.writes

    def untried(self, tried: list[Recorded], miss: Missed | None) -> Recorded | None:
        """A recording that may serve a call, besides those that were tried.

        After a miss the one that knows most outcomes: where it misses, too, it is known farthest
        what is met.
        """
        candidate: Recorded | None = None
        for one in self.recordings:
            if one in tried or not (one.watch is None or one.watch.holds()):
                continue
            if miss is None:
                return one
            is_longest = candidate is None or len(one.outcomes) > len(candidate.outcomes)
            if is_longest and miss.allows(one.outcomes):
                candidate = one
        return candidate

    def place_of(self, miss: Missed) -> str:
        """At which line f met another outcome, as far as that was noted."""
        found = [known for one, known in self.compared.items() if one.outcomes == miss.outcomes]
        return found[0].place_of(miss) if found else ""

    def another(self, miss: Missed) -> Recorded | None:
        """The recording that was used last, unless it is the one that was missed.

        It may serve although it has not the outcomes: they do not tell all guards apart.
        """
        for one in self.recordings[:1]:
            if one.outcomes is not miss.outcomes and one.is_current:
                return one
        return None

    @property
    def is_of_use(self) -> bool:
        """Whether a recording has served as often as it missed."""
        return any(one.uses >= one.misses for one in self.recordings)

    def image(self) -> int:
        """A number that tells the values read now from those at other times: see `Watch.image`."""
        watch = self.recordings[0].watch if self.recordings else None
        return 0 if watch is None else watch.image()

    def note_in_vain(self) -> None:
        """Note a call that no recording served."""
        if self._n_missed % PERIOD == 0:
            self._begin()
        self._n_missed += 1

    def superseded_by(self, rate: float) -> Recorded | None:
        """The recording in whose place another is to be made, for what comes so often, if any."""
        by_use = [(self._lately(one), -k) for k, one in enumerate(self.recordings)]
        uses, k = min(by_use)
        if rate * self._n_missed > 2 * uses + 1:
            return self.recordings[-k]
        self._begin()
        return None

    def _begin(self) -> None:
        self._former = {id(one): one.uses for one in self.recordings}
        self._n_missed = 0

    def _lately(self, recorded: Recorded) -> int:
        if not recorded.is_current:
            return -1
        return recorded.uses - self._former.get(id(recorded), recorded.uses)
