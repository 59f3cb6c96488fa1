"""Records a call of a function: f runs once on stand-ins of its arguments.

The result is a recording, or a reason why no replay could do what f did. Either way the changes
that f has made are there once in the end. This module does not know which recordings there are,
nor which of them serves a call.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import (
    OUTER,
    ArgumentSnapshot,
    Call,
    Contents,
    Dual,
    Graph,
    Guarded,
    ObstacleError,
    Recording,
    StandIns,
    Var,
    Watch,
)
from ..binding.callers import is_class_of_library
from ..operations.guards import NoDerivativeError
from ..operations.making import are_kept, made
from ..operations.replayed import Replayed
from ..operations.scalars import stand_in
from ..transforms._base import Function
from ..transforms._generators import Generators
from ..transforms._outputs import as_result
from .counters import counter_of
from .observations import DRAWS, Observation
from .reasons import CAUSED, NoStandIns, OfThisCall, TellsApart, Unsettled, UnwatchableError
from .recorded import Recorded
from .returned import Returned
from .walks import asks_once, watch_call

if TYPE_CHECKING:
    from .found_loops import LoopFinder
    from .pace import Comparisons

CHANGED = NoStandIns(
    "it changes a list, a dict or another container among its arguments in place: return what "
    "that becomes"
)
WRITES = NoStandIns(
    "it assigns to an array among its arguments, which f itself has to do in each call: assign to "
    "a copy, x = x.copy(), or write x = x + y for x += y"
)
KEPT = (
    "it keeps what cadiff.value(v) gives, or something made of it: a replay would not keep what "
    "it computes anew, so return it"
)
IN_SINGLE = (
    "it computes numbers of float32, which NumPy has loops of its own for: no replay gives their "
    "values exactly"
)
ASKED = "it looks at types, and has changed what it reads before that was seen to run"
PRINTS = "it prints, or logs, which another run would repeat"
MOST_READ_TWICE = 2_000_000  # operations that are recorded
SET = "it changes an argument, a set, in place: pass a copy"

_NOTHING = contextlib.nullcontext()

_RAISING = frozenset(("call", "raise"))  # of what NumPy does at errors

Changes = list[tuple[NDArray[Any], NDArray[Any]]]  # arrays, and the values that they are to have


def carries_derivatives(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a number with a derivative is among the arguments."""
    return binding.carries(args) or (len(kwargs) > 0 and binding.carries(kwargs))


# --- f run eagerly -------------------------------------------------------------------------------


def run(
    f: Function,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    first: tuple[int, ...],
    changed: Callable[[Changes], None] = binding.assign,
) -> Any:
    """What f returns, run once on numbers as derivatives run it.

    first: the arguments in which integers are numbers, too. changed: gets what f has assigned to
    its arguments.
    """
    numbers = None if kwargs else binding.plain_numbers(args)
    if numbers is not None:
        result = binding.run_once(f, args, numbers, _finalized, changed)
        if result is NotImplemented:
            raise NoDerivativeError(WRITES)
        return result
    call = Call(args, kwargs, first)
    with Recording(tuple(call.inputs), tuple(range(len(call.inputs))), f=f) as recording:
        numbers_and_others, named = StandIns(call, recording.lifted, stand_in).arguments()
        try:
            out = f(*numbers_and_others, **named)
        except Exception:
            if recording.refused_inputs:
                raise NoDerivativeError(WRITES) from None
            raise
        changes = call.changes_in(recording)
        if changes is None:
            raise NoDerivativeError(WRITES)
        if changes:
            changed(changes)
        del numbers_and_others, named
        return _finalized(recording, out)


def own_arguments(call: Call, change: Function) -> tuple[list[Any], dict[str, Any]]:
    """Those of a call, with plain numbers of the types that were given, changed."""
    call = Call(call.args, call.kwargs, call.argnums)  # whose integers are what they are

    def lent(x: Any) -> Any:
        x = change(x)
        if isinstance(x, np.ndarray):
            x = x.view()
            x.flags.writeable = False
        return x

    inputs = [binding.map_leaves(lent, item) for item in call.inputs]
    args, named = StandIns(call, inputs, stand_in, True).arguments()
    for k, x in enumerate(call.args):
        if isinstance(x, np.floating):  # which is a float among the inputs
            args[k] = change(x)
    for name, x in call.kwargs.items():
        if isinstance(x, np.floating):
            named[name] = change(x)
    return args, named


def is_raising() -> bool:
    """Whether NumPy raises errors, or warnings are errors, which f may handle."""
    if not _RAISING.isdisjoint(np.geterr().values()):
        return True
    for action, text, kind, *_ in warnings.filters:
        if text is None and issubclass(RuntimeWarning, kind):
            return action == "error"
    return False


def run_plain(f: Function, call: Call, change: Function = lambda x: x, warns: bool = False) -> Any:
    """What f returns of the own arguments of a call, changed; NumPy warns where f may see that."""
    args, named = own_arguments(call, change)
    with (
        binding.OutsideRecordings() if binding.is_guarding() else contextlib.nullcontext(),
        binding.OutsideDifferentiation(),
        contextlib.nullcontext() if warns or is_raising() else binding.WarningsOff(),
    ):
        return f(*args, **named)


def _finalized(recording: Recording, out: Any) -> Any:
    output = Returned(out)
    if output.obstacle:  # it may hold numbers of the recording
        raise NoDerivativeError(output.obstacle)
    return _finalized_output(recording, output)


def _finalized_output(recording: Recording, output: Returned) -> Any:
    values = recording.finalize(output.atoms)
    output.atoms = []  # Vars that are alive when the tape is rewound have to be found
    return output.returned([*map(as_result, values)])


# --- f recorded ----------------------------------------------------------------------------------


class Attempt:
    """What came of running f in order to record it: `recorded`, or an `obstacle`."""

    def __init__(self, obstacle: str = "") -> None:
        self.obstacle = obstacle  # why there is no recording
        self.recorded: Recorded | None = None
        self.ran: tuple[Any, ...] = ()  # (what f returned,), where it need not run again
        self.changes: Changes | None = []  # of arguments, by f then; None: f has to run on them
        self.integers_read: frozenset[int] = frozenset()  # integers that are inputs, and were read
        # A recording that serves this call alone, and the integers that are inputs of it.
        self.once: tuple[Recorded, frozenset[int]] | None = None
        self.watch: Watch | None = None  # of what f has changed
        self.writes = False  # whether f prints or logs
        self.may_tell = False  # whether f may do otherwise with numbers with derivatives
        self.is_repeatable = False  # nobody can see how many times f has run


def record(
    f: Function,
    call: Call,
    optimize: bool,
    exact: bool = False,
    within: bool = False,
    known: Watch | None = None,
    least_loop: int = 0,
    left_nothing: Callable[[], object] | None = None,
    on_own: bool = False,
    loop: LoopFinder | Comparisons | None = None,
    asked: bool = False,
) -> Attempt:
    """Run f; what it did, or the reason why that cannot be replayed.

    With `exact` there is a Replay of it, too. `within` another derivative a function that keeps
    numbers is not recorded: they may carry that derivative. `known`: what f reads, if a recording
    of such calls tells. `least_loop`: how many operations a loop has at least that is kept; 0: as
    many as usual.

    Where f raises, or comes to an obstacle, for want of plain integers or values, what it changed
    is put back, and it runs again: with single ints unchanged, then with all that is plain.

    `left_nothing` is called where f raises in the end, and all is as it was. `on_own`: where f may
    tell stand-ins from its own arguments, it runs on these first; and no more, if that changed
    something. `loop`: what was recorded may be of it. `asked`: code that looks at types was
    seen to run, so that f gets no stand-ins that have types of their own.
    """
    if known is None:
        if not call.taken.statics and (counter := counter_of(f)):
            return Attempt(NoStandIns(f"it changes {counter}"))
        try:
            known = watch_call(f, call.taken.statics)
        except UnwatchableError as error:
            return Attempt(error.reason)
    trial = _Trial(f, call, known, optimize, exact)
    on_own = on_own and not binding.answers_as_numpy()  # JAX's numbers have stand-ins in each call
    is_asked = known.may_tell or bool(known.suspects)
    if on_own and is_asked and (attempt := trial.run_on_own()) is not None:
        attempt.may_tell = known.may_tell
        return attempt
    trial.at_once = asked or trial.asked
    if trial.at_once:
        call.lift(frozenset())
    trial.least_loop = least_loop
    trial.loop = None if exact else loop
    before = call.taken.lifted
    ways = (before, before - call.single_ints, frozenset[int]()) if before else (before,)
    for lifted in dict.fromkeys(ways):
        call.lift(lifted)
        count = made()
        try:
            outcome = trial.run(reads=False)
        except Exception as error:
            is_of_call = isinstance(error, NoDerivativeError)
            wants_more = is_of_call or made() != count
            if not wants_more:
                trial.tell(left_nothing)
                raise
            if not trial.is_undone():
                raise
            if is_of_call:  # where nobody may ask for one
                return Attempt(OfThisCall(str(error)))
            if not lifted:
                try:
                    return trial.run(reads=True)
                except Exception:
                    trial.tell(left_nothing)
                    raise
            continue
        if trial.asked and not trial.at_once:
            if not trial.is_undone():
                return Attempt(Unsettled(ASKED))
            how = optimize, exact, within, known, least_loop, left_nothing, False, loop, True
            return record(f, call, *how)
        if within and outcome.watch is not None and trial.is_undone():
            outcome = Attempt(OUTER)
        is_of_call = outcome.obstacle == OUTER or isinstance(outcome.obstacle, OfThisCall)
        done = not lifted or outcome.recorded is not None or is_of_call
        if done or not trial.is_undone():
            break
    outcome.may_tell = known.may_tell and not trial.fails_on_own
    if known.may_tell and outcome.writes and outcome.recorded is not None:
        outcome.once = (outcome.recorded, call.taken.lifted)  # nobody can judge it another time
        outcome.recorded, outcome.obstacle = None, PRINTS
    if outcome.recorded is None:
        call.lift(before)
        outcome.ran = trial.ran or outcome.ran
    return outcome


def changes_of(watch: Watch) -> str:
    """A reason why f runs eagerly: what it has changed."""
    return (
        f"it changes {', '.join(watch.changed[:3])}, as every call has to: return what that "
        "becomes, or note it outside of the function"
    )


def _drawn_by(f: Function, observed: Observation, watch: Watch, drawn: Sequence[str]) -> str:
    """The same: the generators of random numbers from which it has drawn."""
    if not drawn or asks_once(f):
        return ""
    is_own = observed.drew or any(name in drawn for name, _ in watch.generators)
    may_be_anothers = not is_own and threading.active_count() > 1
    return (Unsettled if may_be_anothers else str)(DRAWS.format(name=drawn[0]))


class _Trial:
    """Runs of f for one call, each of which can be taken back."""

    least_loop = 0
    loop: LoopFinder | Comparisons | None = None
    ran: tuple[Any, ...] = ()  # (what f returned,) of its own arguments
    fails_on_own = False  # f raises with these
    asked = False  # code that looks at types has run
    at_once = False  # masks are plain bools, therefore

    def __init__(self, f: Function, call: Call, watch: Watch, optimize: bool, exact: bool) -> None:
        self._function = f
        self._call = call
        self._watch = watch
        self._optimize = optimize
        self._exact = exact
        self._before = ArgumentSnapshot(call.args, call.kwargs, watch)
        self._stand_ins: StandIns | None = None  # of the last run
        self._may_run_again = False  # f has raised, and neither written nor drawn before

    def is_undone(self) -> bool:
        """Put back what f has changed; answers whether all is as it was."""
        if self._stand_ins is not None:
            self._stand_ins.put_back_sets()
        return self._before.restore()

    def tell(self, left_nothing: Callable[[], object] | None) -> None:
        """Call it if f has raised, and nobody can see that it has run."""
        if left_nothing is not None and self._may_run_again and self.is_undone():
            left_nothing()

    def _are_own(self, observed: Observation) -> bool:
        """Whether f comes to the same exceptions with plain numbers as with those of a run."""
        again = Observation(self._watch)
        try:
            with again:
                run_plain(self._function, self._call)
        except Exception:
            return False
        return again.errors == observed.errors

    def run_on_own(self) -> Attempt | None:
        """Run f on its own arguments; None if nobody can see that it has run."""
        call, watch = self._call, self._watch
        contents = Contents(call.args, call.kwargs)
        generators = Generators(watch.generators)
        observed = Observation(watch)
        try:
            with observed:
                out = self._function(*call.args, **call.kwargs)
        except Exception:
            is_seen = observed.writes or generators.forget_unused() or not watch.holds()
            if is_seen or self._before.are_arguments_changed:
                raise
            self.fails_on_own = True  # numbers may be infinite where floats raise
            return None
        self.asked = observed.asked
        attempt = Attempt(_drawn_by(self._function, observed, watch, generators.forget_unused()))
        if isinstance(observed.obstacle, NoStandIns):  # what it reads cannot be watched
            attempt.obstacle = observed.obstacle
        if self._before.are_arguments_changed:
            attempt.obstacle = CHANGED if contents.are_changed else WRITES
        elif not watch.holds():
            watch.settle(settled)
            attempt.obstacle = (Unsettled if watch.is_filled else NoStandIns)(changes_of(watch))
            attempt.watch = watch
        elif observed.writes:
            attempt.obstacle, attempt.writes = attempt.obstacle or Unsettled(PRINTS), True
        attempt.ran = self.ran = (out,)
        return attempt if attempt.obstacle else None

    def run(self, reads: bool) -> Attempt:
        """Run f. `reads`: it gets plain values and integers wherever it asks for them."""
        call, watch, self._may_run_again = self._call, self._watch, False
        # A mask has a type of its own: where types are asked for, comparisons give plain bools.
        with Guarded(call.inputs, self._function, self._exact or self.at_once, reads) as guarded:
            self._stand_ins = StandIns(call, guarded.lifted, stand_in, True)
            args, kwargs = self._stand_ins.arguments()
            contents = Contents(args, kwargs)
            generators = Generators(watch.generators)
            observed = Observation(watch)
            try:
                with self.loop.standings(watch) if self.loop else _NOTHING, observed:
                    out = self._function(*args, **kwargs)
            except BaseException as error:
                watch.settle(settled)
                is_seen = observed.writes or generators.forget_unused()
                self._may_run_again = not (is_seen or isinstance(error, MemoryError))
                if isinstance(error, Exception) and guarded.recording.refused_inputs:
                    self._before.restore()
                    return Attempt(WRITES)
                if raised := observed.error_behind(error):
                    raise raised from None
                raise
            self.asked |= observed.asked
            drawn = generators.forget_unused()
            is_changed = contents.are_changed or self._before.are_arguments_changed
            del args, kwargs, contents
            output = Returned(out)
            del out
            # What f changes it would change once more; then it runs on its own arguments.
            is_repeatable = not observed.writes and watch.holds()
            if observed.errors and not (is_repeatable and self._are_own(observed)):
                output.atoms = []
                self._before.restore()
                name, where = observed.last_error
                kind = TellsApart if is_repeatable else NoStandIns
                return Attempt(kind(CAUSED.format(name=name, where=where)))
            for setting in sorted(observed.settings, key=itemgetter(1)):
                watch.answer(*setting)
                watch.was_observed = True  # and is no more known from the code alone
            attempt = Attempt()
            attempt.writes = observed.writes
            attempt.is_repeatable = is_repeatable and not (drawn or observed.drew or is_changed)
            hidden = ""
            if not watch.holds():
                watch.settle(settled)
                attempt.watch = watch
            else:
                hidden = observed.obstacle
            hidden = hidden or observed.decided
            hidden = _drawn_by(self._function, observed, watch, drawn) or hidden
            self._take(attempt, guarded, output, hidden)
            if is_changed:  # f has to run on what was given
                self._before.restore()
                former, attempt = attempt, Attempt(CHANGED)
                attempt.watch = former.watch
            output.atoms = []  # Vars that are alive when the tape is rewound have to be found
            return attempt

    def _take(self, attempt: Attempt, guarded: Guarded, output: Returned, hidden: str) -> None:
        """Have in an attempt what was recorded, or why it cannot be replayed."""
        call, stand_ins = self._call, self._stand_ins
        assert stand_ins is not None
        changed = stand_ins.put_back_sets()
        attempt.changes = call.changes_in(guarded.recording)
        attempt.integers_read = stand_ins.integers_read
        writes = guarded.recording.writes_inputs or guarded.recording.refused_inputs
        if lent := stand_ins.changes:
            writes = True
            attempt.changes = None if attempt.changes is None else [*attempt.changes, *lent]
        reason: str = guarded.obstacle or hidden
        if self._exact and guarded.has_singles:
            reason = reason or IN_SINGLE
        obstacle = reason
        keeps = are_kept(binding.guards_serial())
        if keeps:
            obstacle = obstacle or KEPT
        if not guarded.made(output.atoms):
            obstacle = obstacle or OUTER
        if changed:
            obstacle = obstacle or SET
        if writes:
            obstacle = reason = reason or obstacle or WRITES
        obstacle = obstacle or output.obstacle
        if not obstacle:
            self._make(attempt, guarded, output)
            return
        is_own = reason not in ("", OUTER) and not output.obstacle
        # It met other texts than those of NumPy's scalars, or would find what it assigned to an
        # argument by another name, too: f runs again, if nothing remains of what it did.
        is_other = guarded.is_shown or reason == WRITES
        runs_again = is_other and self._before.restore()
        if is_own and not (keeps or changed or runs_again or attempt.changes is None):
            with contextlib.suppress(ObstacleError):
                self._make(attempt, guarded, output)
                if attempt.recorded is not None:
                    attempt.once = (attempt.recorded, call.taken.lifted)
            attempt.ran = (_finalized_output(guarded.recording, output),)
        attempt.recorded = None
        attempt.obstacle = NoStandIns(obstacle) if guarded.is_shown or writes else obstacle

    def _without_repetitions(self, graph: Graph, guarded: Guarded, output: Returned) -> Graph:
        """A graph with shorter loops; as usual where it computes in these what is common."""
        if graph.n_recorded > MOST_READ_TWICE:
            return graph
        usual = binding.graph_of(guarded.recording, output.atoms, self._optimize)
        n, n_usual = (each.code_of("value").n_operations for each in (graph, usual))
        return usual if n > 1.5 * n_usual else graph

    def _make(self, attempt: Attempt, guarded: Guarded, output: Returned) -> None:
        """Have in an attempt what was recorded as a graph, or why that is not exact."""
        call = self._call
        replays = []
        if self._exact:
            replay = guarded.replay(output.atoms, call.n_variables, output.returned)
            if isinstance(replay, str):
                attempt.obstacle = replay
                return
            replays.append(replay)
        shapes = guarded.recording.structure.shapes
        is_of_call = attempt.integers_read or attempt.writes or guarded.has_singles
        if self.loop is not None and not is_of_call:
            attempt.recorded = self.loop.take(guarded.recording, output, call, shapes, self._watch)
            if attempt.recorded is not None:
                return
        graph = binding.graph_of(guarded.recording, output.atoms, self._optimize, self.least_loop)
        if 0 < self.least_loop < binding.NO_LOOPS:
            graph = self._without_repetitions(graph, guarded, output)
        attempt.recorded = Recorded(
            graph,
            output,
            call.ranges,
            shapes,
            replays,
            self._watch,
            binding.are_views_of_one(output.atoms),
        )


def settled(value: Any) -> Any:
    """What f has kept, with plain numbers: containers and objects are changed in place.

    A list to which f appends has to hold what a plain call would put there. Arrays of objects,
    which NumPy makes of numbers with derivatives, become arrays of floats.
    """
    return _settled(value, {})


def _settled(value: Any, seen: dict[int, Any]) -> Any:
    kind = type(value)
    if issubclass(kind, (Var, Dual)):
        return binding.plain_values(value)
    if issubclass(kind, Replayed):
        return value._plain
    if id(value) in seen:
        return value
    seen[id(value)] = value
    if issubclass(kind, tuple):
        former = binding.own_items(value)
        items = [_settled(item, seen) for item in former]
        if all(one is other for one, other in zip(items, former, strict=True)):
            return value
        return kind._make(items) if hasattr(kind, "_make") else tuple(items)
    if type(value) is np.ndarray and value.dtype == object:
        plain_items = [_settled(item, seen) for item in value.flat]
        if all(one is other for one, other in zip(plain_items, value.flat, strict=True)):
            return value
        return np.array(plain_items).reshape(value.shape)
    if issubclass(kind, (list, dict, deque)):
        owner: Any = next(base for base in (list, dict, deque) if issubclass(kind, base))
        pairs = dict.items(value) if owner is dict else enumerate(binding.own_items(value))
        for key, item in list(pairs):
            plain = _settled(item, seen)
            if plain is not item:  # a class may have a method of its own, which does more
                owner.__setitem__(value, key, plain)
    elif not (is_class_of_library(kind) or issubclass(kind, (type, FunctionType))):
        _settled(binding.own_attribute(value, "__dict__"), seen)
    return value
