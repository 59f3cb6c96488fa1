"""Calls that no recording serves: whether another recording is worth its time, and what is said.

There is one rule, whatever keeps others from serving: a signature, a change of what f reads, other
outcomes. Here each of these is a number that tells one thing from another. Where most calls run f
as it is, that is said once, by counts, with the line at which they part.
"""

from __future__ import annotations

import linecache
import weakref
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations
from types import CodeType
from typing import Any, NamedTuple

from .. import binding
from ..binding.callers import text_of, users_place, without_branch
from .recorded import Recorded

FIRST = 24  # such calls, after which it is asked for the first time whether they are most
LOOKED_AT = 4  # calls before, whose choices are compared
MOST_CHOICES = 1_000  # of such a call
_MOST_TEXT = 60


class Pace:
    """When recordings are made.

    A recording costs as much as ten to thirty runs of f, and pays if it serves some calls, which
    nobody knows beforehand. The first ones are made at once; each one that pays earns two more.
    When all are spent, one is made of what comes again and again: the third time, then, as long as
    these do not pay either, the sixth, the twelfth and so on.
    """

    FREE = 32
    ENOUGH_USES = 8
    FEW = 3
    MOST_DOUBLINGS = 4
    MOST_REMEMBERED = 256
    LATEST = 2

    def __init__(self) -> None:
        self._credit = self.FREE
        # Those that have not paid.
        self._latest: deque[weakref.ref[Recorded]] = deque(maxlen=self.LATEST)
        self._came: dict[int, tuple[int, int, Any]] = {}  # how often, since when, and marks
        self._n_looks = 0

    @property
    def is_free(self) -> bool:
        """Whether recordings may be made at once."""
        self._judge()
        return self._credit > 0

    @property
    def is_in_vain(self) -> bool:
        """Whether the last recordings were made only of what came often, and did not pay."""
        return self._credit < 0

    def rate(self, what: int, marks: Any = None) -> float:
        """How often this came, of the calls looked at since it did first; 0 if that is too seldom.

        `marks`, beside its number, tell it from others.
        """
        self._judge()
        self._n_looks += 1
        count, first, former = self._came.pop(what, (0, 0, None))
        count, first = (count + 1, first) if count and former == marks else (1, self._n_looks)
        if len(self._came) >= self.MOST_REMEMBERED:
            del self._came[next(iter(self._came))]
        self._came[what] = (count, first, marks)
        is_enough = count >= self.FEW << max(-self._credit, 0)
        return count / (self._n_looks - first + 1) if is_enough else 0.0

    def forget(self, what: int) -> None:
        """Begin to count anew how often this has come."""
        self._came.pop(what, None)

    def note_made(self, recorded: Recorded | None) -> None:
        """Note a recording that was made; None: an attempt of which nothing came."""
        self._credit = max(self._credit - 1, -self.MOST_DOUBLINGS)
        if recorded is not None:
            self._latest.append(weakref.ref(recorded))

    def spend(self) -> None:
        """Make no more recordings at once: not where one takes the place of another."""
        self._credit = min(self._credit, 0)

    def _judge(self) -> None:
        for reference in list(self._latest):
            recorded = reference()
            if recorded is None:
                self._latest.remove(reference)
            elif recorded.uses >= self.ENOUGH_USES:
                self._latest.remove(reference)
                self._credit = min(max(self._credit, 0) + 2, self.FREE)


class PerformanceWarning(UserWarning):
    """A compiled function runs as it is in most calls: ``print(program)`` says why."""


class Place(NamedTuple):
    """Where a user's code compares."""

    code: CodeType
    at: int
    line: int

    @property
    def _text(self) -> str:
        line = linecache.getline(self.code.co_filename, self.line)
        return " ".join((text_of(self.code, self.at) or line).split())

    @property
    def shown(self) -> str:
        """The line, with what stands there."""
        text = self._text
        shown = f", `{text}`" if text and len(text) <= _MOST_TEXT else ""
        return f"line {self.line} of {self.code.co_filename}{shown}"

    def __str__(self) -> str:
        line = linecache.getline(self.code.co_filename, self.line).strip()
        instead = without_branch(line if line.startswith("while ") else self._text)
        return f"{self.shown}: one recording would serve {instead}"


class Comparisons:
    """Where f compares in a recording, which it follows as a LoopFinder does."""

    def __init__(self) -> None:
        self._places: list[Place | None] = []  # of each outcome

    def place_of(self, miss: binding.Missed) -> str:
        """At which line another outcome was met."""
        known = 8 * len(self._places) == len(miss.outcomes)  # which are float64
        place = self._places[miss.guard] if known else None
        return "" if place is None else f", at {place.shown}"

    def standings(self, _: Any) -> binding.GuardsTold:
        """A context, in which f is recorded."""
        self._places.clear()
        return binding.GuardsTold(self._tell)

    def _tell(self, _: int, n_outcomes: int) -> None:
        place = users_place()
        self._places += [place and Place(*place)] * n_outcomes

    def take(self, *_: Any) -> None:
        """There is no loop."""


class Partings:
    """The choices of calls that run f eagerly, for some of them.

    `counts` are a program's, which `may_tell` unless users have asked for what it does.
    """

    def __init__(self, counts: Mapping[str, int], may_tell: bool) -> None:
        self._counts = counts
        self._may_tell = may_tell
        self._asks = FIRST
        self.n_excused = 0  # calls that nobody is to be told of
        self._choices: list[list[tuple[Place, int]]] = []
        self._place: Place | None = None  # where most of those that were compared part

    @property
    def is_due(self) -> bool:
        """Whether the choices of this call are to be noted."""
        return self._n_eager > self._asks - LOOKED_AT

    @property
    def _n_eager(self) -> int:
        return self._counts["eager"] - self.n_excused

    def noted(self, eager: Callable[..., Any]) -> Callable[..., Any]:
        """What runs f eagerly, and notes how it chooses."""
        choices: list[tuple[Place, int]] = []
        self._choices.append(choices)

        def note(outcome: int) -> None:
            if len(choices) < MOST_CHOICES and (place := users_place()) is not None:
                choices.append((Place(*place), outcome))

        def run(*args: Any, **kwargs: Any) -> Any:
            return binding.choices_of(eager, args, kwargs, note)[0]

        return run

    def told(
        self,
        recordings: Iterable[Recorded],
        obstacles: Collection[str],
        watched: Mapping[str, str | None],
    ) -> str:
        """What is to be said if most calls run f eagerly, and nothing else is known to be why."""
        n_eager = self._n_eager
        if n_eager < self._asks:
            return ""
        self._asks *= 2
        found = Counter(
            place
            for one, other in combinations(self._choices, 2)
            for (place, outcome), known in zip(one, other, strict=False)
            if known == (place, 1 - outcome)
        )
        self._choices.clear()
        self._place = max(found, key=found.__getitem__, default=self._place)
        n_replayed = sum(recorded.uses for recorded in recordings)
        if not self._may_tell or n_eager <= n_replayed or obstacles:
            return ""
        self._may_tell = False
        return (
            f"ran its function eagerly in {n_eager} calls, and replayed {n_replayed}: "
            f"{self.why(watched)}. `print(program)` tells more"
        )

    def why(self, watched: Mapping[str, str | None]) -> str:
        """Why calls run f eagerly, where no obstacle is known."""
        least = self._n_eager // 2
        if self._n_eager < min(FIRST, self._counts["eager"] // 2):
            return "they raise, or are parts of what another program computes"
        text = "comparisons come to outcomes that no recording has"
        if self._place is not None:
            return f"{text}, at {self._place}"
        if names := ", ".join(name for name, change in watched.items() if change):
            return f"what it reads changes from call to call ({names}): pass that as an argument"
        if self._counts["branch_changes"] > least:
            return f"{text}: one would serve {without_branch('')}"
        if self._counts["derivative_misses"] > least:
            return "a derivative is not finite where they are, or not what was recorded"
        return (
            "calls differ in what is constant in a recording: shapes, texts, objects, ints that "
            "f reads (floats, and arrays of them, are inputs)"
        )
