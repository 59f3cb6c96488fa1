"""The recordings of a program: which of them serves a call, and when another is made."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .. import binding
from ..binding import CallError, Calls, Code, MissCount, ObstacleError, PointError
from ..transforms._base import Function
from .recordings import OUTER, Call, MissedError, Recorded, carries_derivatives, met, record

__all__ = ["OnBranchChange", "Traces"]

MOST_SIGNATURES = 512  # of signatures that have recordings at the same time
MOST_UNSETTLED = 3
MOST_BYTES = 1 << 30  # in all recordings but one

OnBranchChange = Literal["retrace", "raise", "warn"]

_OWN_PACKAGES = ("cadiff", "cadiff.programs", "cadiff.transforms")


class Traces(Calls):
    """The recordings of a Program, which this is a part of."""

    _function: Function
    _on_branch_change: OnBranchChange
    _optimize: bool
    _max_traces: int
    _lock: threading.RLock

    def _forget_recordings(self) -> None:
        self._recordings: dict[Any, list[Recorded]] = {}
        self._obstacles: dict[Any, str] = {}
        self._obstacles_of_derivatives: dict[str, None] = {}
        self._futile: dict[Any, int] = {}  # calls in a row whose derivative no recording had
        self._unsettled: dict[Any, int] = {}  # recordings that changed what they read
        self._misses: dict[Any, MissCount] = {}  # where there may be no more recordings
        self._forgets = False
        self._unchecked = 0  # bytes
        self._counts = {"recordings": 0, "branch_changes": 0, "eager": 0}

    # --- making them

    def _record(self, call: Call) -> Recorded | None:
        """A new recording for a call; None if f has to be run as it is."""
        with self._lock:
            found = self._without_those_that_are_over(call.key)
            is_full = len(found) >= self._max_traces
            if is_full:
                misses = self._misses.setdefault(call.key, MissCount())
                if not misses.is_due and not misses.note():
                    return None
            recorded = record(self._function, call, self._optimize, not self._optimize)
            if isinstance(recorded, str) and recorded == OUTER:
                return None  # so it is in this call alone
            if isinstance(recorded, str):
                self._note_obstacle(call, recorded)
                return None
            self._counts["recordings"] += 1
            if not recorded.is_current:
                self._note_unsettled(call, recorded)
            if any(recorded.guards):
                _warn(
                    f"a branch of {self!r} rests on the equality of floats: its derivative is "
                    "that of the branch that is taken, at such a point alone"
                )
            if is_full:
                found = self._without_useless(found, misses)
            found = self._make_room(call.key, recorded, found)
            self._recordings[call.key] = [recorded, *found]
            return recorded

    def _without_those_that_are_over(self, key: Any) -> list[Recorded]:
        """The recordings for calls of a key, without those that have read what is no more."""
        found = self._recordings.get(key, [])
        over = [one for one in found if one.watch is not None and one.watch.is_over]
        if over:
            for one in over:
                self._forget_fast_paths_to(one.codes.values())
            found = self._recordings[key] = [one for one in found if one not in over]
        return found

    def _without_useless(self, found: list[Recorded], misses: MissCount) -> list[Recorded]:
        """Recordings without the one that was used least lately, the oldest of several such."""
        uses = [recorded.take_uses() for recorded in found]
        misses.restart(sum(uses))
        useless = found[len(found) - 1 - np.argmin(uses[::-1])]
        self._forget_fast_paths_to(useless.codes.values())
        return [recorded for recorded in found if recorded is not useless]

    def _make_room(self, key: Any, new: Recorded, others: list[Recorded]) -> list[Recorded]:
        """Forget the oldest recordings of other signatures, if a further one is too many.

        Then those of its own, `others`: answers which of these are left.
        """
        self._unchecked += new.graph.nbytes
        if len(self._recordings) >= MOST_SIGNATURES and key not in self._recordings:
            self._forget_oldest(key, f"was called in {MOST_SIGNATURES} ways")
        if self._unchecked < MOST_BYTES // 16:  # programs are made of it later
            return others
        self._unchecked = 0
        total = new.nbytes + sum(
            one.nbytes for found in self._recordings.values() for one in found
        )
        while total > MOST_BYTES and self._recordings.keys() - {key}:
            total -= self._forget_oldest(key, f"has recordings of {total / 2**20:.0f} MiB")
        while total > MOST_BYTES and others:
            total -= others[-1].nbytes
            self._forget_fast_paths_to(others[-1].codes.values())
            others = others[:-1]
        return others

    def _forget_oldest(self, key: Any, why: str) -> int:
        """Forget the recordings of the oldest signature but `key`; answers how many bytes."""
        if not self._forgets:
            self._forgets = True
            _warn(
                f"{self!r} {why}; calls with other shapes, ints, strings or objects are recorded "
                "apart, and the oldest recordings are forgotten (numbers that change should be "
                "floats)"
            )
        oldest = next(known for known in self._recordings if known != key)
        self._misses.pop(oldest, None)
        self._unsettled.pop(oldest, None)
        self._forget_fast_paths()
        return sum(recorded.nbytes for recorded in self._recordings.pop(oldest))

    def _note_obstacle(self, call: Call, obstacle: str) -> None:
        """From now on calls of this signature run f as it is."""
        self._obstacles[call.key] = obstacle
        _warn(f"{self!r} runs its function as it is, which cannot be replayed: {obstacle}")

    def _note_unsettled(self, call: Call, recorded: Recorded) -> None:
        """Note that f has changed what it reads: once, to remember something, or each time."""
        count = self._unsettled[call.key] = self._unsettled.get(call.key, 0) + 1
        if count == MOST_UNSETTLED and recorded.watch is not None:
            self._note_obstacle(
                call,
                f"it changes what it reads itself ({', '.join(recorded.watch.changed[:3])}): pass "
                "that as an argument, and return what it becomes",
            )

    def _note_missing_derivative(self, obstacle: str) -> None:
        """A derivative is computed by f as it is; others need not be."""
        if obstacle not in self._obstacles_of_derivatives:
            self._obstacles_of_derivatives[obstacle] = None
            _warn(f"{self!r} runs its function as it is for a derivative: {obstacle}")

    def _change_branch(self) -> None:
        """No recording of a call has met the outcomes that it meets."""
        self._counts["branch_changes"] += 1
        if self._on_branch_change == "raise":
            raise RuntimeError(
                f"{self!r} met another outcome of a comparison than when it was recorded, and "
                'on_branch_change="raise" forbids another recording; clear() forgets all of them'
            )
        if self._on_branch_change == "warn":
            _warn(
                f"{self!r} met another outcome of a comparison than when it was recorded: its "
                "function is recorded anew, or run as it is if there are max_traces recordings"
            )

    def _replayed(self, call: Call, action: Callable[[Recorded], Any]) -> tuple[bool, Any]:
        """action(recorded) for a recording whose outcomes the call meets, a new one if need be.

        False if there is none: then f has to be run as it is.
        """
        tried: list[Recorded] = []
        fresh: Recorded | None = None
        changed = False  # whether f itself chooses otherwise, not a derivative of it alone
        while fresh is not None or call.key not in self._obstacles:
            for recorded in [fresh] if fresh else self._untried(call, tried):
                try:
                    result = action(recorded)
                except (MissedError, PointError) as error:
                    changed = changed or self._chooses_otherwise(call, recorded, error)
                    tried.append(recorded)
                except CallError:  # f itself will raise what there is to raise
                    return False, None
                except ObstacleError as obstacle:
                    self._note_missing_derivative(str(obstacle))
                    return False, None
                else:
                    if recorded is fresh:
                        self._futile.pop(call.key, None)
                    else:
                        recorded.use()
                    return True, result
                if recorded is fresh:
                    self._forget_futile(call, recorded, len(tried) > 1 and not changed)
                    return False, None
            with self._lock:
                if self._untried(call, tried):
                    continue  # another thread has recorded meanwhile
                if changed:
                    self._change_branch()
                elif tried and not self._is_worth_a_try(call):
                    return False, None
                fresh = self._record(call)
            if fresh is None:
                return False, None
        return False, None

    def _chooses_otherwise(
        self, call: Call, recorded: Recorded, error: MissedError | PointError
    ) -> bool:
        """Whether f has other outcomes in a call than in a recording: else a derivative has."""
        if isinstance(error, PointError):
            return False
        if error.guard >= 0:
            return error.guard < len(recorded.guards)
        try:
            self._met(call, recorded)
        except MissedError:
            return True
        except CallError:
            pass
        return False

    def _is_worth_a_try(self, call: Call) -> bool:
        """Whether a new recording may have a derivative that others have not.

        The more calls in a row have found none, the less often it is tried.
        """
        count = self._futile.get(call.key, 0)
        self._futile[call.key] = count + 1
        return count & (count - 1) == 0

    def _forget_futile(self, call: Call, recorded: Recorded, superfluous: bool) -> None:
        """A new recording has not had the derivative that was asked for."""
        with self._lock:
            if superfluous:
                others = [known for known in self._recordings[call.key] if known is not recorded]
                self._recordings[call.key] = others

    def _untried(self, call: Call, tried: list[Recorded]) -> list[Recorded]:
        known = self._recordings.get(call.key, [])
        return [one for one in known if one not in tried and one.is_current]

    # --- using them

    def _code(self, recorded: Recorded, what: str, ranges: Any = ()) -> Code:
        with self._lock:
            return recorded.code(what, ranges)

    def _met(self, call: Call, recorded: Recorded) -> Recorded:
        """The recording, if it has the outcomes that a call meets."""
        met(self._code(recorded, "value").run(call.vector()))
        return recorded

    def _is_eager(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether f is run as it is: within another derivative or program, or under a hook."""
        return binding.is_hooked() or binding.is_guarding() or carries_derivatives(args, kwargs)


def _warn(message: str) -> None:
    """Warn of the line outside of the package that called."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__package__", "") in _OWN_PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)
