"""Whether another recording is worth its time: one rule, whatever keeps others from serving.

The reason may be a signature, a change of what f reads, or other outcomes. Here each of these is a
number that tells one thing from another.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

from .recorded import Recorded


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
