"""Runs f eagerly for calls that no recording serves, and programs within other derivatives.

Nothing is recorded at once for calls that fall back. A fallback may note how f chose, for a later
recording.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import Call, Dual, Var, callers, is_eager, own_attribute, ways_to_take
from ..operations.arrays import array
from ..operations.guards import NoDerivativeError
from ..operations.replayed import Replayed
from ..transforms import grad, hessian, hvp, jacfwd, jacobian, jvp, value_and_grad, vjp
from ..transforms._base import Function, show_as
from .counters import counter_of, keeps_nothing
from .reasons import OTHER, NoStandIns, TellsApart
from .recorded import NOT_ENTERED, MissedError, Recorded
from .recordings import Attempt, carries_derivatives, is_raising, run, settled
from .traces import Traces
from .verification import difference_of_eager
from .walks import watch_of

JUDGED = 8  # eager derivatives whose values are compared


def _jvp(f: Function, *args: Any, **kwargs: Any) -> Any:
    """Of primals, then as many tangents."""
    n = len(args) // 2
    return jvp(f, args[:n], args[n:])


# By methods, the gradient function made of f and argnums.
EAGER: dict[str, Callable[[Function, Any], Function]] = {
    "grad": grad,
    "value_and_grad": value_and_grad,
    "jacobian": jacobian,
    "jacfwd": jacfwd,
    "hessian": hessian,
    "hvp": hvp,
    "jvp": lambda f, argnums: functools.partial(_jvp, f),
    "vjp": lambda f, argnums: functools.partial(vjp, f),
}


class Assignable:
    """f, which is run again, with numbers in place of plain arrays, if these refused one.

    In a recording all floats of the arguments are numbers, and so are the arrays that f computes
    of them: f may assign numbers with derivatives to these. Without a recording, arguments that
    are not differentiated by stay arrays of NumPy's, which cannot hold such numbers.
    """

    def __init__(self, f: Function, *, is_shown: bool = True) -> None:
        if is_shown:  # to users, who see it as f
            show_as(self, f)
        self._function = f
        self._is_lifting = False  # from the first time on that it was of use

    def __repr__(self) -> str:
        return repr(self._function)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._is_lifting:
            return self._function(*_lifted(args), **_lifted(kwargs))
        before = callers.n_refused
        try:
            return self._function(*args, **kwargs)
        except TypeError:
            if callers.n_refused == before:
                raise
            leaves, _ = binding.flattened((args, kwargs))
            if not binding.is_differentiating() or not any(map(_is_constant, leaves)):
                raise
            try:
                result = self._function(*_lifted(args), **_lifted(kwargs))
            except Exception:
                result = NotImplemented
            if result is NotImplemented:
                raise
        self._is_lifting = True
        return result


def _is_constant(leaf: Any) -> bool:
    return type(leaf) is np.ndarray and leaf.dtype.kind == "f" and leaf.ndim > 0


def _lifted(tree: Any) -> Any:
    leaves, made = binding.flattened(tree)
    return made.fill([array(leaf) if _is_constant(leaf) else leaf for leaf in leaves])


class Judged:
    """f in eager derivatives, which values of plain numbers judge, the first times or always.

    It may know numbers with derivatives from plain ones, and do something else.
    """

    def __init__(self, f: Function, run: Function, times: float = math.inf) -> None:
        self._function = f
        self._run = run
        self._times = times

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        result = self._run(*args, **kwargs)
        if self._times > 0 and carries_derivatives(args, kwargs) and not is_raising():
            self._times -= 1
            told = difference_of_eager(self._function, Call(args, kwargs, ()), result)
            if told:
                raise NoDerivativeError(OTHER.format(told=told))
        return result


class EagerDerivatives:
    """Derivatives by f itself, for those to whom a program would not pay.

    What f keeps of its numbers is plain afterwards. `args` are what it takes besides.
    """

    def __init__(self, f: Function, args: tuple[Any, ...] = ()) -> None:
        self._function = f
        self._args = tuple(x for x in args if not isinstance(x, (float, int, str, np.ndarray)))
        self._assignable = Assignable(f, is_shown=False)
        self.keeps_nothing = keeps_nothing(f, self._args)
        self._kept = None if self.keeps_nothing else watch_of(f, self._args)
        kept = self._kept
        may_tell = self.keeps_nothing or (kept is not None and kept.may_tell)
        self._judged = Judged(f, self._assignable, JUDGED if may_tell and not counter_of(f) else 0)

    def __call__(self, what: str, x: Any, *args: Any) -> Any:
        """What a gradient function gives at a point."""
        if self._kept is not None and self._kept.is_over:  # f has replaced what it keeps
            self._kept = watch_of(self._function, self._args)
        try:
            return EAGER[what](self._judged, 0)(x, *args)
        finally:
            if self._kept is not None:
                self._kept.settle(settled)


class Asked(NamedTuple):
    """What a method was asked for, and its arguments as they were given."""

    what: str
    call: Call  # of f
    args: tuple[Any, ...]
    argnums: int | Sequence[int]
    last: tuple[int, ...] = ()  # those of args that are directions, ...
    along: Sequence[Any] = ()  # ... and their atoms


class Fallback:
    """Runs f eagerly for calls of one signature, of which it keeps no argument alive.

    Where the signature has as many recordings as it may have, it notes how f chooses: what that
    chooses again and again is worth a recording.
    """

    def __init__(
        self, traces: Traces, asked: Asked, eager: Callable[..., Any], is_choosing: bool
    ) -> None:
        self._traces = traces
        self._eager = eager
        self._is_choosing = is_choosing
        self._key = asked.call.key
        self._argnums = asked.call.argnums
        self._lifted = asked.call.taken.lifted
        self._last = asked.last

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        traces = self._traces
        if traces.backoff.passes():
            return self.run(args, kwargs)
        traces.backoff.note_in_vain()
        if not self._is_choosing:
            return self.run(args, kwargs)
        traces.counts["branch_changes"] += 1
        choosing = functools.partial(binding.choices_of, self._eager)
        result, choices = traces.run(choosing, (args, kwargs), {})
        points = tuple(x for k, x in enumerate(args) if k not in self._last)
        called = functools.partial(Call, points, kwargs, self._argnums, self._lifted)
        traces.note_choices(self._key, choices, called)
        return result

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of which nothing is noted but that it was."""
        self._traces.counts["branch_changes"] += self._is_choosing
        return self._traces.run(self._eager, args, kwargs)


class Eager:
    """Runs f eagerly where no recording serves; calls of which that is known have fast paths."""

    def __init__(self, traces: Traces) -> None:
        self.assignable = Assignable(traces.function)
        self._traces = traces
        kind = type(traces.function).__name__
        self._name = str(own_attribute(self.assignable, "__qualname__", kind))
        self._transforms: dict[tuple[str, int, float], Function] = {}  # of f

    def clear(self) -> None:
        """Forget what was made of f."""
        self._transforms = {}

    def method(self, what: str, argnums: Any) -> Function:
        """What computes a method by f."""
        if what == "value":
            once: Function = self.run_once
            return once
        traces = self._traces
        tells = any(isinstance(reason, TellsApart) for reason in traces.no_stand_ins)
        times = math.inf if tells else JUDGED * traces.may_judge
        derivative = self._transforms.get((what, argnums, times)) if type(argnums) is int else None
        if derivative is None:
            f = Judged(traces.function, self.assignable, times) if times else self.assignable
            derivative = EAGER[what](f, argnums)
            if type(argnums) is int:
                self._transforms[what, argnums, times] = derivative
        return derivative

    def run_once(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._traces.no_stand_ins or self._traces.runs_on_own:
            return _as_replayed(self._traces.function(*args, **kwargs))
        ways = self._traces.ways(args, kwargs)
        return run_once(self._traces.function, args, kwargs, ways, self._traces)

    def fall_back(self, asked: Asked, attempt: Attempt | None) -> Any:
        """What a method gives for a call that no recording serves.

        From now on such calls take this path directly, until there is another recording. `attempt`
        is what came of recording this one.
        """
        what, call, args, argnums, last, _ = asked
        fallback = self.fallback(asked)
        if fallback is None:
            self._traces.backoff.note_in_vain()
        else:
            self._traces.fast_paths.add_fallback(what, call, args, argnums, last, fallback)
        # f may have run already, to be recorded, and may have changed what it reads.
        if what == "value" and attempt is not None and attempt.ran:
            self._traces.change_arguments(call, attempt)
            self._traces.counts["eager"] += 1
            return _as_replayed(attempt.ran[0])
        if fallback is None:
            return self._traces.run(self.method(what, argnums), args, call.kwargs)
        return fallback(args, call.kwargs)

    def fallback(self, asked: Asked) -> Fallback | None:
        """What runs f for such calls, if none of them is to be recorded at once."""
        traces, call = self._traces, asked.call
        if traces.on_branch_change != "retrace" or not traces.optimize:
            return None
        is_choosing = not traces.known(call.key).obstacle
        if is_choosing and not traces.is_full(call):
            return None
        return Fallback(traces, asked, self.method(asked.what, asked.argnums), is_choosing)

    def here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        """What a gradient function is to run instead of a replay for a call of a method."""
        if is_eager(args, kwargs) and not binding.is_hooked():
            return self.within
        self._traces.counts["eager"] += 1
        return self._traces.function

    def within(self, /, *args: Any, **kwargs: Any) -> Any:
        """What f returns within another derivative, or where programs run their functions.

        There a call is one entry of the tape, or one step of the other program, unless no
        recording serves.
        """
        traces = self._traces
        is_part = binding.is_opened() or binding.is_guarding()  # of what another program does
        if binding.is_opened() and not carries_derivatives(args, kwargs):
            traces.counts["eager"] += 1
            traces.partings.n_excused += is_part
            return self.run_once(*args, **kwargs)
        call: Call | None = None
        if (
            traces.optimize
            and binding.takes_entries()  # or a program is what f does itself
            and not traces.backoff.passes()
            # Integers and masks that the outer program has as inputs would be constants of an
            # entry of the tape, whose inputs are floats alone.
            and not (
                binding.is_guarding()
                and any(isinstance(arg, Replayed) for arg in (*args, *kwargs.values()))
            )
        ):
            call = traces.call(args, kwargs, ways_to_take(args)[0])
            result = self._entered(call)
            if result is not NOT_ENTERED:
                return result
            traces.backoff.note_in_vain()
        traces.counts["eager"] += 1
        traces.partings.n_excused += is_part
        if call is None or traces.on_branch_change != "retrace" or not traces.is_full(call):
            return self.assignable(*args, **kwargs)
        known = call
        result, choices = binding.choices_of(self.assignable, args, kwargs)
        traces.note_choices(known.key, choices, lambda: known)
        return result

    def _entered(self, call: Call) -> Any:
        """By any recording that there is, or one that is made now."""
        latest = self._traces.latest(call.key)
        if latest is not None and latest.is_trusted:  # mostly it serves
            try:
                result = latest.entered(self._name, call.atoms)
            except MissedError:
                pass
            else:
                if result is not NOT_ENTERED:
                    self._traces.backoff.note_served()
                    latest.use()
                return result
        if not any(isinstance(x, (Var, Dual)) for x in call.atoms):
            return NOT_ENTERED

        def enter(recorded: Recorded) -> Any:
            result = recorded.entered(self._name, call.atoms)
            if result is not NOT_ENTERED:
                call.replied = functools.partial(binding.plain_values, result)
            return result

        done, result = self._traces.replayed_once(call, enter, within=True)
        return result if done else NOT_ENTERED


def _as_replayed(result: Any) -> Any:
    return float(result) if type(result) is np.float64 else result


def run_once(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ways: tuple[tuple[int, ...], ...],
    traces: Traces,
) -> Any:
    """What f returns, with the values that derivatives have.

    If f turns out to have to run on its own arguments, `traces` say so from now on.
    """
    try:
        return run(f, args, kwargs, ways[0], traces.note_writes)
    except NoDerivativeError as error:  # which was not asked for
        traces.no_stand_ins.update(x for x in error.args if isinstance(x, NoStandIns))
        return f(*args, **kwargs)
    except Exception as error:
        if not ways[1:]:
            raise
        try:
            return run(f, args, kwargs, ways[1], traces.note_writes)
        except Exception:
            raise error from None
