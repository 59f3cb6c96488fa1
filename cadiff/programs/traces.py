"""The recordings of a program: which of them serves a call, and when another is made.

A Program has one Traces. This module does not know how calls are taken apart, nor what is made of
recordings.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import binding
from ..binding import (
    OUTER,
    Call,
    CallError,
    Code,
    FastPathTable,
    Locked,
    Missed,
    ObstacleError,
    PointError,
    Trust,
    Watch,
    ways_to_take,
)
from ..binding.callers import warn_caller
from ..transforms._base import Function
from .compilers import compiler_at_hand
from .library_types import n_followed
from .native import Machines, make_machine_code, make_machine_code_later, note, note_soon
from .pace import Comparisons, Pace, Partings, PerformanceWarning
from .reasons import NoStandIns, OfThisCall, TellsApart, Unsettled
from .recorded import NOT_SERVED, MissedError, Recorded, Vain, is_portable, met
from .recordings import WRITES, Attempt, Changes, changes_of, record, settled
from .traced import Integers, Traced
from .verification import RAISES, StaleProgramWarning, Verify, verified
from .walks import watch_of

if TYPE_CHECKING:
    from .found_loops import LoopFinder

MAX_TRACES = 8  # recordings of a signature, unless told
MOST_SIGNATURES = 512  # that something is known of at the same time
MOST_BYTES = 1 << 30  # in all recordings but one
LEAST_RECORDINGS = 2  # of a signature, before loops are looked for
MOST_UNSETTLED = 2  # recordings that fill what was empty, as where results are kept

OnBranchChange = Literal["retrace", "raise", "warn"]


class Traces:
    """All recordings of a function, with the options of `compile`.

    `fast_paths` are where calls go that need not ask here.
    """

    def __init__(
        self,
        function: Function,
        on_branch_change: OnBranchChange,
        optimize: bool,
        max_traces: int,
        threads: int | None,
        machines: Machines,
        verify: Verify,
        fast_paths: FastPathTable,
    ) -> None:
        self.function = function
        self.on_branch_change = on_branch_change
        self.optimize = optimize
        self.max_traces = max_traces
        self.threads = threads
        self.machines = machines
        self.verify = verify
        # Held in `with lock():`, so that one thread at a time changes what there is.
        self.lock = functools.partial(Locked, threading.RLock())
        self.fast_paths = fast_paths
        self.is_quiet = False  # whether no warnings are given
        self.no_stand_ins: set[NoStandIns] = set()  # why f runs on its own arguments, if it does
        self.runs_on_own = False  # whether plain calls that no recording serves do so, too, ...
        self.left_nothing: set[int] = set()  # threads in which f raised, and no more
        _alive.add(self)
        self.clear()

    def clear(self) -> None:
        self.fast_paths.clear()
        self.no_stand_ins.clear()
        self.runs_on_own = self.may_judge = False  # ... and judge some derivatives of f
        self.counts = {"recordings": 0, "branch_changes": 0, "derivative_misses": 0, "eager": 0}
        self._known: dict[Any, Traced] = {}  # by keys of calls
        self.integers: dict[Any, Integers] = {}  # by forms of calls
        self._preferred: dict[Any, tuple[int, ...]] = {}  # by forms of plain calls
        self.pace = Pace()
        self.backoff = self.fast_paths.backoff
        self.backoff.may_pass = self.optimize and self.on_branch_change == "retrace"
        self._kept: Watch | None = None  # of what f has changed when it was recorded
        self._missing_derivatives: dict[str, None] = {}  # why f is run eagerly for some
        self._changes: dict[str, str] = {}  # of what is watched: the last ones
        self._forgets = False
        is_usual = self.on_branch_change == "retrace" and self.max_traces == MAX_TRACES
        self.partings = Partings(self.counts, is_usual)
        self.keeps_loops = True
        self._unchecked = 0  # bytes

    # --- what there is

    def __iter__(self) -> Iterator[Recorded]:
        for traced in list(self._known.values()):
            yield from traced.recordings

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        count = sum(1 for _ in self)
        threads = self.threads
        most = "" if threads is None else f", {threads} thread{'s' * (threads != 1)} at most"
        return f"<cadiff.Program of {name}, {count} recording{'s' * (count != 1)}{most}>"

    def portable(self) -> dict[Any, list[Recorded]]:
        """What may be used in another process."""
        parts = {
            key: [one for one in traced.recordings if one.is_current and one.is_portable]
            for key, traced in list(self._known.items())  # calls may go on
            if is_portable(key)  # it may have functions in it
        }
        return {key: kept for key, kept in parts.items() if kept}

    def restore(
        self, recordings: dict[Any, list[Recorded]], integers: dict[Any, Integers]
    ) -> None:
        self.integers = dict(integers)
        for key, kept in recordings.items():
            self._traced(key).recordings = kept
            for recorded in kept:
                recorded.trust = Trust() if self.verify else None
                self.share(recorded)

    def share(self, recorded: Recorded) -> None:
        """Have what is made of a recording run by threads and machine code as the program may."""
        recorded.graph.threads = self.threads or 0
        machines = self.machines
        at_once = bool(machines.asked) and not machines.is_patient
        recorded.graph.machines = machines if at_once else None
        told = note_soon if binding.answers_as_numpy() else note
        recorded.graph.watch = told if machines.is_patient else None
        for step in recorded.graph.steps if at_once else ():
            if (share := getattr(step.rule, "share_machines", None)) is not None:
                share(machines)

    def build(self, wait: bool) -> None:
        """Have machine code run what there is, and what will be."""
        compiler_at_hand()  # or it says that there is none
        with self.lock():
            self.machines = Machines(True if wait else "background", self.optimize)
            for recorded in self:
                self.share(recorded)
                recorded.forget_entry()
            codes = [code for recorded in self for code in recorded.all_codes]
        for code in codes if self.machines.asked else ():
            code.watch = None
            (make_machine_code if wait else make_machine_code_later)(code)

    def latest(self, key: Any) -> Recorded | None:
        """The recording that served a call last, if all that it read is unchanged."""
        latest = self._known.get(key, _NOTHING).recordings[:1]
        return latest[0] if latest and latest[0].is_current else None

    def known(self, key: Any) -> Traced:
        """What is known of a signature, to be read."""
        return self._known.get(key, _NOTHING)

    @property
    def obstacles(self) -> list[str]:
        """Why f is run eagerly, for all calls or for some derivative."""
        found = {traced.obstacle for traced in self._known.values()}
        return sorted((found | {*self._missing_derivatives}) - {""})

    @property
    def watched(self) -> dict[str, str | None]:
        """What is looked at beside arguments, and how it changed before f was recorded again."""
        paths = [path for one in self if one.watch is not None for path in one.watch.paths]
        return {path: self._changes.get(path) for path in paths}

    def call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], argnums: tuple[int, ...]
    ) -> Call:
        """A call, whose integers are inputs or constants as those before have shown."""
        call = Call(args, kwargs, argnums)
        if call.taken.integers and self.optimize:
            with self.lock():
                known = self.integers.get(call.form)
                if known is None:
                    while len(self.integers) >= MOST_SIGNATURES:
                        del self.integers[next(iter(self.integers))]
                    self.integers[call.form] = Integers(call.taken.integers)
                else:
                    inputs = known.inputs(call.taken.integers)
                    # A comparison of an int is a branch, unless that is something to be told.
                    tells = self.on_branch_change != "retrace"
                    call.lift(inputs - call.single_ints if tells else inputs)
        return call

    def ways(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """As `ways_to_take`; but only the one that f has been found to need, if there is one."""
        ways = ways_to_take(args)
        if not self._preferred or not ways[1:]:
            return ways
        preferred = self._preferred.get(Call(args, kwargs, ()).form)
        return ways if preferred is None else (preferred,)

    def prefer(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], first: tuple[int, ...]
    ) -> None:
        """Take calls like this one that way from now on."""
        with self.lock():
            while len(self._preferred) >= MOST_SIGNATURES:
                del self._preferred[next(iter(self._preferred))]
            self._preferred[Call(args, kwargs, ()).form] = first

    def has_left_nothing(self) -> bool:
        """Whether f has raised when this thread recorded it last, and all is as it was."""
        has_it = (me := threading.get_ident()) in self.left_nothing
        self.left_nothing.discard(me)
        return has_it

    # --- which one serves

    def replayed(
        self,
        call: Call,
        action: Callable[[Recorded], Any],
        miss: Missed | None = None,
        within: bool = False,
        verifies: bool = True,
        kept: Collection[Recorded] | None = None,
        on_own: bool = False,
    ) -> tuple[bool, Any]:
        """action(recorded) for a recording whose outcomes the call meets, a new one if need be.

        False if there is none: then f has to be run eagerly; instead of a result there is what
        came of recording it now, or None. `miss` is where the call is known to part from a
        recording. `within` another derivative that will raise what f raises. `verifies`: else that
        is left to the caller. `kept`: a new one is made whatever it costs, in the place of another
        if there are too many, but not of these. `on_own`: see `record`.
        """
        tried: list[Recorded] = []
        is_first, has_failed = True, False
        vain: Vain | None = None
        while True:
            traced = self._known.get(call.key, _NOTHING)
            if traced.obstacle:
                return False, None
            seen = traced.recordings
            recorded = traced.untried(tried, miss) if seen else None
            if is_first and recorded is None and miss is not None:
                recorded = traced.another(miss)
            is_first = is_fresh = False
            if recorded is None:
                with self.lock():
                    traced = self._known.get(call.key, _NOTHING)
                    if traced.recordings is not seen:
                        recorded = traced.untried(tried, miss)  # of another thread, meanwhile
                    if recorded is None:
                        if vain is not None and vain.is_known:
                            self.counts["derivative_misses"] += 1
                            return False, None
                        if miss is not None:
                            self.change_branch(traced, miss)
                        try:
                            attempt = self._record(call, within, kept, on_own)
                        except Exception:
                            if not has_failed:
                                raise
                            return False, None
                        if attempt is None or attempt.recorded is None:
                            return False, attempt
                        recorded, is_fresh = attempt.recorded, True
            call.replied = None
            try:
                result = action(recorded)
            except (MissedError, PointError) as error:
                missed = self._miss_of(call, recorded, error)
                former, miss = miss, missed or miss
                recorded.n_missed += 1
                tried.append(recorded)
                if is_fresh and missed is None and self._gives_up_loops(recorded):
                    self._remove(call, recorded)
                    continue
                if missed is None:
                    vain = vain or Vain(call)
                    vain.note(recorded, error, is_fresh)
                if is_fresh:
                    if len(tried) > 1 and former is None:  # f does what it did for others
                        self._remove(call, recorded)
                    return False, None
            except CallError:
                if is_fresh or not recorded.handles:  # f itself will raise what there is to raise
                    return False, None
                tried.append(recorded)  # a handler may take it: a new recording tells
                has_failed = True
            except ObstacleError as obstacle:
                self._note_missing_derivative(str(obstacle))
                return False, None
            else:
                if verifies and not self.agrees(call, recorded, result, is_fresh):
                    return False, None
                if not is_fresh:
                    self.backoff.note_served()
                    recorded.use()
                    if tried:
                        self._bring_to_front(call, recorded)
                return True, result

    def agrees(
        self, call: Call, recorded: Recorded, result: Any = None, is_new: bool = False
    ) -> bool:
        """Whether a recording gives in a call what f does, as far as that is verified.

        It `is_new` if f has just been recorded, if only with another number of turns.

        If it does not, f is run eagerly from now on.
        """
        trust = recorded.trust
        if trust is None:
            return True
        kinds = (*map(type, call.args), *map(type, call.kwargs.values()))
        is_known = kinds in trust.kinds and (trust.is_full or trust.covers(call.vector()))
        may_be_nan = len(recorded.outcomes) > 0 and not trust.knows_nan
        has_nan = may_be_nan and False in np.isfinite(call.vector())
        is_known = is_known and self.verify != "always" and not has_nan and not is_new
        if is_known and not recorded.may_be_caught(result):
            return True
        replay = functools.partial(self._value, recorded=recorded)
        told = verified(self.function, call, recorded, replay, self.verify == "always")
        if told == RAISES:  # as f will do
            self.runs_on_own = True
            return False
        if not told:
            trust.kinds.add(kinds)
            trust.knows_nan |= has_nan
            trust.note(call.vector())
            return True
        with self.lock():
            self._remove(call, recorded)
            reason = TellsApart(f"a recording of it gave {told}")
            self._traced(call.key).obstacle = reason
            self.no_stand_ins.add(reason)
        self._warn(
            f"a recording of {self!r} gave {told}: from now on its function is run eagerly",
            StaleProgramWarning,
        )
        return False

    def _value(self, call: Call, recorded: Recorded) -> Any:
        return recorded.returned(met(self.code(recorded, "value").evaluate(call.vector())))

    def replayed_once(
        self,
        call: Call,
        action: Callable[[Recorded], Any],
        miss: Missed | None = None,
        within: bool = False,
        verifies: bool = True,
        kept: Collection[Recorded] | None = None,
    ) -> tuple[bool, Any]:
        """As `replayed`; or of what f has just done in this call and what cannot be replayed.

        A recording of this very call serves then that no other may use, so that f is not run
        again.
        """
        done, result = self.replayed(call, action, miss, within, verifies, kept)
        if done or result is None or result.once is None:
            return done, result
        attempt: Attempt = result
        recorded, inputs = result.once
        lifted = call.taken.lifted
        call.lift(inputs)
        try:
            result = action(recorded)
        except NOT_SERVED:
            call.lift(lifted)
            attempt.once = None
            return False, attempt
        self.change_arguments(call, attempt, of_derivative=True)
        self.counts["eager"] += 1
        return True, result

    @staticmethod
    def change_arguments(call: Call, attempt: Attempt, of_derivative: bool = False) -> None:
        """Assign to arguments what f did when it was recorded.

        Of a derivative: but to none that it is by, of which f has a copy.
        """
        changes, attempt.changes = attempt.changes or [], []
        if changes:
            call.assign(changes, of_derivative)

    def _gives_up_loops(self, recorded: Recorded) -> bool:
        """Whether turns make calls, of which derivatives hold for some turns alone.

        Then programs keep no loops from now on: each turn has derivatives of its own.
        """
        gives_up = self.keeps_loops and recorded.graph.calls_in_turns
        self.keeps_loops = self.keeps_loops and not gives_up
        return gives_up

    def _miss_of(
        self, call: Call, recorded: Recorded, error: MissedError | PointError
    ) -> Missed | None:
        """Where f has another outcome in a call than in a recording; None if a derivative has."""
        if isinstance(error, PointError):
            return None
        guard, outcome = error.args
        if guard < 0:
            try:
                self.met(call, recorded)
            except MissedError as known:
                guard, outcome = known.args
            except CallError:
                return None
        if not 0 <= guard < len(recorded.outcomes) // 8:  # which are float64
            return None
        return Missed(recorded.outcomes, guard, outcome)

    def add_path(self, recorded: Recorded, what: str, call: Call, *path: Any) -> Any:
        """The fast path of further calls like this one to a recording: see FastPathTable.add.

        None if there can be none, or if the recording was forgotten meanwhile.
        """
        with self.lock():
            is_kept = recorded in self._known.get(call.key, _NOTHING).recordings
            if not is_kept or self.verify == "always":
                return None
            return self.fast_paths.add(what, call, *path)

    def code(self, recorded: Recorded, what: str, ranges: Any = ()) -> Code:
        with self.lock():
            return recorded.code(what, ranges)

    def met(self, call: Call, recorded: Recorded) -> Recorded:
        """The recording, if it has the outcomes that a call meets."""
        met(self.code(recorded, "value").evaluate(call.vector()))
        return recorded

    def change_branch(self, traced: Traced, miss: Any) -> None:
        """Note that no recording of a call has the outcomes that it meets."""
        self.counts["branch_changes"] += 1
        if self.on_branch_change == "retrace":
            return
        met = f"{self!r} met another outcome than when it was recorded{traced.place_of(miss)}"
        if self.on_branch_change == "raise":
            raise RuntimeError(f'{met}, and on_branch_change="raise" forbids to record it again')
        if self.on_branch_change == "warn":
            self._warn(f"{met}: it is recorded anew, or run eagerly beyond max_traces recordings")

    def run(
        self, eager: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """What runs f eagerly. What f keeps of its numbers are plain ones."""
        self.counts["eager"] += 1
        if self.partings.is_due:
            if told := self.partings.told(self, self.obstacles, self.watched):
                self._warn(f"{self!r} {told}", PerformanceWarning)
            eager = self.partings.noted(eager)
        if self._kept is not None and self._kept.is_over:  # f has replaced what it keeps
            self._kept = watch_of(self.function)
        try:
            return eager(*args, **kwargs)
        except BaseException:
            self.partings.n_excused += 1  # nothing would serve it
            raise
        finally:
            if self._kept is not None:
                self._kept.settle(settled)

    # --- whether another one is worth its time

    def _record(
        self, call: Call, within: bool, kept: Collection[Recorded] | None, on_own: bool
    ) -> Attempt | None:
        """What comes of recording a call; None if f has to be run eagerly.

        Within another derivative, where f raises something, it will do so again, or not, there.
        """
        traced = self._known.get(call.key, _NOTHING)
        n = len(traced.recordings)
        if traced.loop is None and n == self.max_traces - 1 >= LEAST_RECORDINGS:
            self._find_loop(call, traced)
        loop = None if within or kept is not None else traced.loop
        if n == self.max_traces:
            if loop is not None and loop.is_of_use:
                return self._made(call, loop=loop)
            others = [one for one in traced.recordings if kept is not None and one not in kept]
            if not others:
                return None
            self._remove(call, others[-1])
        is_first = 0 < traced.made < self.max_traces or self.pace.is_free or kept is not None
        if traced.comes_to_errors or not is_first:
            what = hash(call.key) ^ traced.image()
            if self.pace.rate(what, call.marks) == 0.0:
                return None
            if traced.comes_to_errors:
                self.pace.forget(what)
        try:
            return self._made(call, within, on_own and traced.may_run_on_own, loop)
        except Exception as error:
            if not within:
                raise binding.callers.shortened(error)  # noqa: B904
            self._traced(call.key).made += 1
            self.pace.note_made(None)
            return None

    def _find_loop(self, call: Call, traced: Traced) -> None:
        """Look for a loop from the recording on that takes the last place."""
        if self.optimize and self.verify and self.on_branch_change == "retrace":
            from .found_loops import LoopFinder

            traced.loop = LoopFinder(call.key, self.max_traces)

    def passes(self, call: Call) -> bool:
        """Whether a call is to run f at once: where calls are in vain, until it came again.

        Not if its signature has a recording that served as often as it missed.
        """
        with self.lock():
            traced = self._known.get(call.key, _NOTHING)
            if traced.is_of_use or self.is_worth_it(call):
                return False
        self.backoff.note_in_vain()
        return True

    def is_worth_it(self, call: Call) -> bool:
        """Whether a call that no recording serves is worth one."""
        return self.pace.is_free or self.pace.rate(hash(call.key), call.marks) > 0.0

    def is_full(self, call: Call) -> bool:
        """Whether calls of its signature that no recording serves are not recorded at once."""
        traced = self._known.get(call.key, _NOTHING)
        may_be_of_loop = traced.loop is not None and traced.loop.is_of_use
        return len(traced.recordings) >= self.max_traces and not may_be_of_loop

    def note_choices(self, key: Any, choices: int, called: Callable[[], Call]) -> None:
        """Note how f chose when it was run eagerly.

        If that is worth a recording now, the call is recorded in the place of another.
        """
        with self.lock():
            traced = self._known.get(key, _NOTHING)
            if traced.obstacle or len(traced.recordings) < self.max_traces:
                return
            what = hash((hash(key), choices, traced.image()))
            traced.note_in_vain()
            rate = self.pace.rate(what)
            if rate == 0.0:
                return
            self.pace.forget(what)
            useless = traced.superseded_by(rate)
            if useless is not None:
                call = called()
                self._remove(call, useless)
                self.pace.spend()
                self._made(call)

    # --- making and forgetting them

    def _made(
        self,
        call: Call,
        within: bool = False,
        on_own: bool = False,
        loop: LoopFinder | None = None,
    ) -> Attempt:
        recordings = self._known.get(call.key, _NOTHING).recordings
        known = self._current_watch(call, recordings) if recordings else None
        key, lifted, me = call.key, call.taken.lifted, threading.get_ident()
        compared = None if self.on_branch_change == "retrace" else Comparisons()
        try:
            attempt = record(
                self.function,
                call,
                self.optimize,
                not self.optimize,
                within,
                known,
                self.machines.least_loop if self.keeps_loops else binding.NO_LOOPS,
                None if within else functools.partial(self.left_nothing.add, me),
                on_own,
                compared or loop,
            )
        except Exception:
            self._fix(call, call.taken.lifted)  # for want of which it may be, and no more
            raise
        self._kept = attempt.watch or self._kept
        self.runs_on_own |= attempt.may_tell
        self.may_judge = attempt.may_tell and attempt.is_repeatable
        recorded = attempt.recorded
        if recorded in recordings:  # of a loop, with another number of turns
            self.backoff.open()
            return attempt
        if recorded is not None:
            # What f has changed, drawn or written, another run would change again.
            is_repeatable = recorded.is_current and attempt.is_repeatable
            recorded.trust = Trust() if self.verify and is_repeatable else None
            self.share(recorded)
        if recorded is not None and lifted:
            constant = (lifted - call.taken.lifted) | attempt.integers_read
            self._fix(call, constant)
            if constant and not self._known.get(key, _NOTHING).recordings:  # no such calls come
                self._known.pop(key, None)
            if attempt.integers_read:
                return attempt  # of this call alone: others are told apart by what it has read
        traced = self._traced(call.key)
        if recorded is None:
            if isinstance(attempt.obstacle, Unsettled) and traced.unsettled < MOST_UNSETTLED:
                traced.note_unsettled(attempt.writes)
            elif isinstance(attempt.obstacle, OfThisCall):
                traced.comes_to_errors = True
                self._missing_derivatives[attempt.obstacle] = None
                self.pace.note_made(None)
            elif attempt.obstacle != OUTER:  # so it is in this call alone
                self._note_obstacle(call, attempt.obstacle)
            return attempt
        if len(traced.recordings) >= self.max_traces:
            if loop is None or recorded not in loop:  # it serves this call alone
                return attempt
            others = [one for one in traced.recordings if one not in loop]
            stale = [one for one in others if not one.is_current]
            self._remove(call, (stale or others or traced.recordings)[-1])
        self.counts["recordings"] += 1
        if not self.pace.is_in_vain:
            self.backoff.open()
        self.pace.note_made(recorded)
        traced.made += 1
        if any(recorded.graph.guards):
            self._warn(
                f"a branch of {self!r} rests on the equality of floats: its derivative is "
                "that of the branch that is taken, at such a point alone"
            )
        if recorded.watch is not None and not recorded.watch.holds():
            self._note_unsettled(call, recorded)
            return attempt
        traced.unsettled = 0
        if compared is not None:
            traced.compared[recorded] = compared
        self._make_room(call, recorded)
        traced.recordings = [recorded, *traced.recordings]
        self.fast_paths.forget_fallbacks()
        return attempt

    def _current_watch(self, call: Call, recordings: list[Recorded]) -> Watch | None:
        """What f reads in such calls, if one of their recordings tells.

        It is noted what is not as it was when f was recorded last; and recordings go that can
        never serve again.
        """
        known: Watch | None = None
        is_noted = False
        for recorded in recordings:
            watch = recorded.watch
            if watch is None:
                continue
            if watch.holds():
                # Libraries are looked into whose code was seen to run since.
                if known is None and not call.taken.statics and watch.n_followed == n_followed():
                    known = watch.copy()
                continue
            if not is_noted:
                self._changes.update(watch.changes)
                is_noted = True
            if watch.is_over:
                self._remove(call, recorded)
        return known

    def _fix(self, call: Call, which: frozenset[int]) -> None:
        """Integers of calls of this form are constants from now on."""
        known = self.integers.get(call.form)
        if which and known is not None:
            known.fix(which)

    def _bring_to_front(self, call: Call, recorded: Recorded) -> None:
        with self.lock():
            traced = self._known.get(call.key, _NOTHING)
            if recorded in traced.recordings:
                others = [known for known in traced.recordings if known is not recorded]
                traced.recordings = [recorded, *others]

    def _remove(self, call: Call, recorded: Recorded) -> None:
        with self.lock():
            traced = self._traced(call.key)
            traced.recordings = [known for known in traced.recordings if known is not recorded]
            self.fast_paths.forget(recorded.codes.values())

    def _traced(self, key: Any) -> Traced:
        """What is known of a signature; the oldest others are forgotten, if there are too many."""
        traced = self._known.get(key)
        if traced is None:
            if len(self._known) >= MOST_SIGNATURES:
                self._forget_oldest(key, f"was called in {MOST_SIGNATURES} ways")
            traced = self._known[key] = Traced()
        return traced

    def _make_room(self, call: Call, new: Recorded) -> None:
        """Forget the oldest recordings of other signatures, if there are too many bytes.

        Then those of its own.
        """
        self._unchecked += new.graph.nbytes
        if self._unchecked < MOST_BYTES // 16:  # programs are made of it later
            return
        self._unchecked = 0
        total = new.nbytes + sum(one.nbytes for one in self)
        while total > MOST_BYTES and self._known.keys() - {call.key}:
            total -= self._forget_oldest(call.key, f"has recordings of {total / 2**20:.0f} MiB")
        recordings = self._traced(call.key).recordings
        while total > MOST_BYTES and recordings:
            total -= recordings[-1].nbytes
            self._remove(call, recordings[-1])
            recordings = self._traced(call.key).recordings

    def _forget_oldest(self, key: Any, why: str) -> int:
        """Forget the recordings of the oldest signature but `key`; answers how many bytes."""
        oldest = next(known for known in self._known if known != key)
        forgotten = self._known.pop(oldest).recordings
        if forgotten and not self._forgets:
            self._forgets = True
            self._warn(
                f"{self!r} {why}; calls with other shapes, ints, strings or objects are recorded "
                "apart, and the oldest recordings are forgotten (numbers that change should be "
                "floats)"
            )
        self.fast_paths.forget([code for one in forgotten for code in one.codes.values()])
        return sum(recorded.nbytes for recorded in forgotten)

    # --- reasons

    def note_writes(self, changes: Changes) -> None:
        """Assign to arguments what f did to stand-ins; from now on f has them itself."""
        binding.assign(changes)
        self.no_stand_ins.add(WRITES)

    def _warn(self, message: str, category: type[Warning] = RuntimeWarning) -> None:
        if not self.is_quiet or category is StaleProgramWarning:
            warn_caller(message, category)

    def _note_obstacle(self, call: Call, obstacle: str) -> None:
        """From now on calls of this signature run f eagerly."""
        self.pace.note_made(None)
        self._traced(call.key).obstacle = obstacle
        if isinstance(obstacle, NoStandIns):
            self.no_stand_ins.add(obstacle)
        self._warn(f"{self!r} runs its function eagerly, for it cannot be replayed: {obstacle}")

    def _note_unsettled(self, call: Call, recorded: Recorded) -> None:
        """Note that f has changed what is watched: once, to keep a result, or in each call."""
        watch = recorded.watch
        traced = self._traced(call.key)
        traced.unsettled += 1
        if watch is not None and (traced.unsettled == MOST_UNSETTLED or not watch.is_filled):
            self._note_obstacle(call, NoStandIns(changes_of(watch)))

    def _note_missing_derivative(self, obstacle: str) -> None:
        """A derivative is computed eagerly; others need not be."""
        if obstacle not in self._missing_derivatives:
            self._missing_derivatives[obstacle] = None
            self._warn(f"{self!r} runs its function eagerly for a derivative: {obstacle}")


_NOTHING = Traced()  # is known of what was never called
_alive: weakref.WeakSet[Traces] = weakref.WeakSet()


def _have_fresh_locks() -> None:
    """In a process that was forked: the threads that held locks do not exist there."""
    for traces in list(_alive):
        traces.lock = functools.partial(Locked, threading.RLock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_have_fresh_locks)
