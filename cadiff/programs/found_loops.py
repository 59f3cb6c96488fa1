"""Loops of Python whose turns differ from call to call, found in recordings.

A recording is cut behind comparisons that come again and again: turns. So recordings become one
program with one step, which runs turns as their comparisons choose. Other ways through the turns
are served by it, too, where f was recorded with as many turns, and with each of them as often.
Recordings tell which turns are alike, never values; a turn without a recording is not served.
This module does not know which recordings there are.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import Call, Recording, Watch
from .found_steps import FoundLoop
from .found_turns import END, By, Loop
from .recorded import Recorded, met
from .returned import Returned
from .segments import Listing, UnlikeError, cuts_of
from .slots import Slots
from .standings import Standings

LEAST_WORK = 12.0  # in a turn: single numbers that it computes, and more for arrays
MOST_PEELED = 3  # turns at the beginning that may differ
MOST_OPERATIONS = 200_000  # of a recording
MOST_FOUND = 4  # loops, each with another way around it
MOST_FAILED = 16  # recordings on end that no loop serves, after which none is looked at
MOST_HOPELESS = 8  # the same, if there were no turns in any
MOST_ALIKE = 2  # of these, whose comparisons come again alike: further ones will tell no more


class _Found:
    """A loop, with its program.

    There is one if f was recorded with two numbers of turns at least.
    """

    def __init__(self, loop: Loop, watch: Watch) -> None:
        self._loop, self.watch = loop, watch
        self._slots: Slots | None = None
        self._step: FoundLoop | None = None
        self._given: Any = None  # the code for what it is given
        self._made_of: Any = None
        self.recorded: Recorded | None = None

    @property
    def is_current(self) -> bool:
        return self.watch.holds()

    def take(self, listing: Listing, output: Returned, call: Call, shapes: Sequence[Any]) -> bool:
        """Note another recording; answers whether it is of the loop."""
        loop = self._loop.taken(listing)
        if loop is None:
            return False
        self._loop = loop
        if loop.ways.are_several:
            known = loop.rules, loop.varying, loop.initial, loop.turns, loop.changing
            with contextlib.suppress(UnlikeError):
                if known != self._made_of:
                    self._make(output, call, shapes)
                    self._made_of = known
                elif self._slots is not None and self._step is not None:
                    self._step.rows, self._step.behind = self._slots.tables(loop)
                    self._step.ways = loop.ways
        return True

    def _make(self, output: Returned, call: Call, shapes: Sequence[Any]) -> None:
        slots = Slots(self._loop)
        graph, step, given, n_before = slots.program(call)
        self._slots, self._step, self._given = slots, step, given
        self.recorded = Recorded(graph, output, call.ranges, shapes, (), self.watch)
        # Which way f goes behind the first turn, its outcomes do not tell.
        outcomes = self._loop.instances[END][-1].listing.outcomes[:n_before]
        self.recorded.outcomes = np.append(outcomes, np.nan).tobytes()

    @property
    def known(self) -> Any:
        """What recordings have told."""
        return self._loop.ways.lengths, self._loop.rules

    def serves(self, call: Call) -> bool:
        """Whether there is a program that serves a call of this loop."""
        if self.recorded is None or self._step is None:
            return False
        return bool(self._step.value(met(self._given.evaluate(call.vector())))[0] == 1.0)


class LoopFinder:
    """What is known of the loops in calls of one signature: one for each way around its turns."""

    def __init__(self, key: Any, most: int) -> None:
        self._key = key
        self._most = min(most, MOST_FOUND)  # loops
        self._found: list[_Found] = []
        self._is_hopeful = False  # a recording had turns
        self._n_failed = 0
        self._vain: list[Any] = []  # where those were cut in which no loop was found
        self._standings = Standings()

    def standings(self, watch: Watch) -> Standings:
        """A context, in which f is recorded to be taken."""
        return self._standings.begin(watch.codes)

    def __contains__(self, recorded: Recorded) -> bool:
        """Whether it is the program of a loop."""
        return any(one.recorded is recorded for one in self._found)

    @property
    def is_of_use(self) -> bool:
        """Whether further recordings may be of a loop."""
        if self._is_hopeful:
            return self._n_failed < MOST_FAILED
        are_alike = self._vain.count(self._vain[-1]) >= MOST_ALIKE if self._vain else False
        return self._n_failed < MOST_HOPELESS and not are_alike

    def take(
        self,
        recording: Recording,
        output: Returned,
        call: Call,
        shapes: Sequence[Any],
        watch: Watch,
    ) -> Recorded | None:
        """The program of the loop that was recorded, if there is one."""
        self._n_failed += 1
        if call.key != self._key:
            return None
        graph = binding.graph_of(recording, output.atoms, True, binding.NO_LOOPS, True)
        if graph.n_recorded > MOST_OPERATIONS:
            return None
        bare = copy.copy(output)
        bare.atoms = []
        try:
            listing = Listing(graph, pickle.dumps(bare), self._standings.found)
        except (AttributeError, TypeError, pickle.PicklingError):
            return None
        if not listing.is_known:
            return None
        self._found = [one for one in self._found if one.is_current]
        for one in self._found:
            reads_more = not {*watch.paths} <= {*one.watch.paths}  # as turns of their own may
            former = one.known
            if not reads_more and one.take(listing, bare, call, shapes):
                if not one.serves(call):
                    return None
                if one.known != former:
                    self._n_failed = 0
                return one.recorded
        if len(self._found) < self._most:
            cuts = cuts_of(listing)
            if (loop := _loop_of(listing, cuts)) is not None:
                self._is_hopeful = True
                self._found.append(_Found(loop, watch))
            else:
                self._vain.append((len(listing.outcomes), *cuts))
        return None


def _loop_of(listing: Listing, cuts: Any) -> Loop | None:
    """The loop of a recording, if there is one."""
    at = [kind for kind in listing.kinds_of_guards if kind in cuts]
    peeled = {k for cut in cuts for k in (at.index(cut), at.index(cut) + 1)}
    best: Loop | None = None
    for n_peeled in sorted({*range(MOST_PEELED + 1), *peeled}) if cuts else ():
        for by in By:
            with contextlib.suppress(UnlikeError):
                loop = Loop(listing, cuts, n_peeled, by)
                if best is None or (loop.by, len(loop.turns)) < (best.by, len(best.turns)):
                    best = loop
                break
    return best if best is not None and best.work >= LEAST_WORK else None
