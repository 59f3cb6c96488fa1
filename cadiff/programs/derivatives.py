"""Values and derivatives of f, computed by its recordings and returned in f's own containers."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from ..binding import (
    Call,
    CallError,
    Code,
    MatrixPlan,
    Missed,
    ProgramPullback,
    Replay,
    callers,
    is_eager,
)
from ..transforms import hvp, jvp, vjp
from ..transforms._base import check_keywords, checked_argnums, is_int
from ..transforms._blocks import blocks_of_matrix
from ..transforms._holomorphic import COMPLEX_RESULT
from ..transforms._outputs import check_real
from .fallbacks import EAGER, Asked, Eager
from .recorded import NOT_SERVED, FloatArray, MissedError, Recorded, leaves_of, met, of_blocks
from .recordings import carries_derivatives, record, run
from .traces import Traces

MOST_REPLAYS = 4  # of a recording, for calls that go on at once


class Derivatives:
    """The methods of a Program that are called like gradient functions, where no fast path is.

    Further calls of the same signature have one; `eager` runs f itself.
    """

    def __init__(self, traces: Traces, eager: Eager) -> None:
        self._traces = traces
        self._eager = eager

    def run(
        self,
        what: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Any,
        missed: Missed | None = None,
    ) -> Any:
        """A call of a method that is called like f.

        `missed` is where it parts from a recording, if that is known.
        """
        traces = self._traces
        try:
            if is_eager(args, kwargs):
                if what == "value":
                    return self._eager.within(*args, **kwargs)
                return EAGER[what](self._eager.here(args, kwargs), argnums)(*args, **kwargs)
            if traces.backoff.passes():
                return traces.run(self._eager.method(what, argnums), args, kwargs)
            if what == "value":
                return self._any_way(args, kwargs, missed)
            if kwargs:
                check_keywords(what, traces.function, kwargs)
            numbers, _ = checked_argnums(argnums)
            call = traces.call(args, kwargs, numbers)
            return self._served(Asked(what, call, args, argnums), missed)
        except Exception as error:
            raise callers.shortened(error)  # noqa: B904

    def _any_way(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], missed: Missed | None
    ) -> Any:
        """What f returns; where it raises, integers that come first are taken another way.

        If it still raises, on numbers that stand in, its own arguments tell.
        """
        ways = self._traces.ways(args, kwargs)
        call = self._traces.call(args, kwargs, ways[0])
        self._traces.left_nothing.discard(threading.get_ident())  # in a call before
        try:
            return self._served(Asked("value", call, args, 0), missed)
        except Exception:
            is_over = self._traces.has_left_nothing()
            # A forbidden branch is no failure of f.
            if ways[1:] and self._traces.on_branch_change != "raise":
                with contextlib.suppress(Exception):
                    call = self._traces.call(args, kwargs, ways[1])
                    result = self._served(Asked("value", call, args, 0))
                    self._traces.prefer(args, kwargs, ways[1])
                    return result
                is_over = self._traces.has_left_nothing()
            if not is_over:
                raise
        return self._traces.run(self._traces.function, args, kwargs)

    def _served(self, asked: Asked, missed: Missed | None = None) -> Any:
        """What a recording makes of a call, or f where none serves."""
        what, call, args, argnums, *_ = asked
        if self._traces.backoff.is_in_vain and self._traces.passes(call):
            return self._traces.run(self._eager.method(what, argnums), args, call.kwargs)
        action = self._actions[what] if self._traces.optimize else Derivatives._exactly
        act = functools.partial(action, self, asked)
        if what == "value":
            done, result = self._traces.replayed(call, act, missed, on_own=True)
        else:
            done, result = self._traces.replayed_once(call, act, missed)
        return result if done else self._eager.fall_back(asked, result)

    # --- to the last bit

    def _exactly(self, asked: Asked, recorded: Recorded) -> Any:
        """A gradient function of a replay in the place of f, which gives the same."""
        what, call, args, argnums, *_ = asked
        for replay in self._replays(call, recorded):
            held = replay.start(call.vector(), call.args, () if what == "value" else call.argnums)
            if held is NotImplemented:
                raise CallError
            if held is False:
                raise MissedError(-1, 0.0)  # guards are counted in another way there
            if held is None:  # another call has it
                continue
            if what == "value":
                return replay.value()
            key = (what, is_int(argnums), replay)
            derivative = recorded.exact.get(key)
            if derivative is None:
                derivative = recorded.exact[key] = EAGER[what](replay, argnums)
            return derivative(*args, **call.kwargs)
        self._traces.counts["eager"] += 1
        if what == "value":
            return run(self._traces.function, args, call.kwargs, call.argnums)
        return EAGER[what](self._traces.function, argnums)(*args, **call.kwargs)

    def _replays(self, call: Call, recorded: Recorded) -> Iterator[Replay]:
        """Those there are, then one more: pullbacks keep theirs, and those of pickles are none."""
        yield from recorded.replays
        if len(recorded.replays) < MOST_REPLAYS:
            self._traces.met(call, recorded)
            with self._traces.lock():
                again = record(self._traces.function, call, False, True)
            if again.recorded is not None:
                recorded.replays += again.recorded.replays
                yield from again.recorded.replays

    # --- values and derivatives

    def _computed(
        self,
        asked: Asked,
        recorded: Recorded,
        program: Code | MatrixPlan,
        assemble: Callable[[FloatArray], Any],
        pullback: ProgramPullback | None = None,
        has_values: bool = True,
    ) -> Any:
        """What `assemble` makes of the results; from now on such calls take the fast path.

        With `pullback` further calls have one, too. If it `has_values`, these come first.
        """
        if asked.what != "value" and not recorded.output.is_differentiable:
            raise CallError  # so gradient functions say what is wrong
        inputs = asked.call.vector()
        if asked.last:
            inputs = np.concatenate([inputs, *map(np.ravel, asked.along)])
        numbers = met(program.evaluate(inputs))
        if has_values:
            values = numbers[: recorded.graph.n_outputs]
            asked.call.replied = functools.partial(recorded.returned, values)
        path = self._traces.add_path(
            recorded, asked.what, asked.call, asked.args, asked.argnums, asked.last, program,
            assemble, recorded.watch, recorded.trust, recorded.outcomes, pullback,
        )  # fmt: skip
        return assemble(numbers) if path is None else path.made(numbers)

    def _value(self, asked: Asked, recorded: Recorded) -> Any:
        code = self._traces.code(recorded, "value")
        return self._computed(asked, recorded, code, recorded.returned)

    def _gradient(self, asked: Asked, recorded: Recorded) -> Any:
        call = asked.call
        if not recorded.is_number:
            self._refuse(asked, recorded)
        structure = call.structure
        shapes, single = structure.shapes, not isinstance(asked.argnums, (tuple, list))
        with_value = asked.what == "value_and_grad"

        def assemble(numbers: FloatArray) -> Any:
            leaves = structure.conjugated(leaves_of(numbers[1:], shapes))
            gradient = structure.in_containers(leaves, single)
            return (recorded.output.as_number(numbers[0]), gradient) if with_value else gradient

        code = self._traces.code(recorded, "gradient", call.ranges)
        return self._computed(asked, recorded, code, assemble)

    def _refuse(self, asked: Asked, recorded: Recorded) -> None:
        """Have the gradient function say what is wrong with what f returns in such a call."""
        self._traces.met(asked.call, recorded)
        EAGER[asked.what](recorded.sample, asked.argnums)(*asked.args, **asked.call.kwargs)

    def _matrix(self, asked: Asked, recorded: Recorded) -> Any:
        """The Jacobian, by forward mode if that is asked for, or the Hessian."""
        call, output, structure = asked.call, recorded.output, asked.call.structure
        is_hessian = asked.what == "hessian"
        if is_hessian:
            if not recorded.is_number:
                self._refuse(asked, recorded)
            check_real("hessian", structure)
        elif output.is_complex or structure.has_complex:
            self._traces.met(call, recorded)
            raise TypeError(COMPLEX_RESULT.format(name=asked.what))
        below, single = structure.shapes, not isinstance(asked.argnums, (tuple, list))
        above = below if is_hessian else output.shapes
        shape = (call.n_variables if is_hessian else recorded.graph.n_outputs, call.n_variables)

        def assemble(numbers: FloatArray) -> Any:
            blocks = blocks_of_matrix(numbers.reshape(shape), above, below)
            return of_blocks(blocks, structure, single, None if is_hessian else output)

        with self._traces.lock():
            plan = recorded.plan(asked.what, call.ranges)
        return self._computed(asked, recorded, plan, assemble, has_values=False)

    def hvp(
        self, first: Any, v: Any, others: tuple[Any, ...], kwargs: dict[str, Any], argnums: int
    ) -> Any:
        args = (first, v, *others)
        if kwargs:
            check_keywords("hvp", self._traces.function, kwargs)
        if not is_int(argnums):
            hvp(self._traces.function, argnums)  # says what is wrong
        k = int(argnums)
        if is_eager(args, kwargs) or not -len(args) < k < len(args) - 1:
            return hvp(self._eager.here(args, kwargs), k)(*args, **kwargs)
        return self._along("hvp", args, kwargs, k, (k,), {1: "the direction v"})

    def _along(
        self,
        what: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: int,
        numbers: tuple[int, ...],
        names: dict[int, str],
    ) -> Any:
        """A method that takes directions, by their places among the arguments."""
        if self._traces.backoff.passes():
            return self._traces.run(self._eager.method(what, argnums), args, kwargs)
        points = tuple(x for k, x in enumerate(args) if k not in names)
        call = self._traces.call(points, kwargs, numbers)
        if what == "hvp":
            check_real(what, call.structure)
        along = call.structure.match(tuple(args[k] for k in names), [*names.values()])
        return self._served(Asked(what, call, args, argnums, tuple(names), along))

    def _product(self, asked: Asked, recorded: Recorded) -> Any:
        call = asked.call
        structure = call.structure
        if not recorded.is_number:
            self._refuse(asked, recorded)

        def assemble(numbers: FloatArray) -> Any:
            return structure.fill(0, leaves_of(numbers, structure.shapes))

        code = self._traces.code(recorded, "second", call.ranges)
        return self._computed(asked, recorded, code, assemble, has_values=False)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if (
            self._traces.optimize  # or it is exact, as by numbers that carry tangents along
            and isinstance(primals, (tuple, list))
            and isinstance(tangents, (tuple, list))
            and len(primals) == len(tangents)
            and not is_eager((*primals, *tangents), {})
        ):
            n = len(primals)
            names = {n + k: f"tangents[{k}]" for k in range(n)}
            return self._along("jvp", (*primals, *tangents), {}, 0, tuple(range(n)), names)
        return jvp(self._eager.here((primals, tangents), {}), primals, tangents)

    def _pushed(self, asked: Asked, recorded: Recorded) -> Any:
        m = recorded.graph.n_outputs

        def assemble(numbers: FloatArray) -> Any:
            return recorded.filled(numbers[:m]), recorded.filled(numbers[m:])

        code = self._traces.code(recorded, "push", asked.call.ranges)
        return self._computed(asked, recorded, code, assemble)

    def vjp(self, primals: tuple[Any, ...]) -> Any:
        if is_eager(primals, {}):
            return vjp(self._eager.here(primals, {}), *primals)
        return self._along("vjp", primals, {}, 0, tuple(range(len(primals))), {})

    def _pullback(self, asked: Asked, recorded: Recorded) -> tuple[Any, Callable[[Any], Any]]:
        call = asked.call
        structure = call.structure.bare()
        shapes = structure.shapes
        argnums, ranges = call.argnums, call.ranges
        m = recorded.graph.n_outputs

        def assemble(numbers: FloatArray) -> Any:
            leaves = structure.conjugated(leaves_of(numbers[m:], shapes))
            return structure.in_containers(leaves, len(argnums) == 1)

        def primals_at(inputs: FloatArray) -> tuple[Any, ...]:
            primals: tuple[Any, ...] = structure.in_containers(leaves_of(inputs, shapes), False)
            return primals

        def pulled(recorded: Recorded, numbers: FloatArray) -> tuple[Code, Any]:
            code = self._traces.code(recorded, "pull", ranges)
            return code, assemble(met(code.evaluate(numbers)))

        def pull(inputs: FloatArray, u: Any, note: Callable[..., None]) -> Any:
            output = recorded.output
            cotangent = output.conjugated(output.match(u, "the cotangent"))
            if not carries_derivatives(tuple(cotangent), {}):
                numbers = np.concatenate([inputs, *map(np.ravel, cotangent)])
                try:
                    code, result = pulled(recorded, numbers)
                except NOT_SERVED:
                    pass
                else:
                    if not output.is_complex:  # whose cotangents change
                        note(code, assemble, recorded.outcomes)
                    return result
                again = Call(primals_at(inputs), {}, argnums)
                done, answer = self._traces.replayed(
                    again, functools.partial(pulled, numbers=numbers)
                )
                if done:
                    return answer[1]
                self._traces.counts["eager"] += 1
            return vjp(self._eager.assignable, *primals_at(inputs))[1](u)

        inputs = call.vector()
        pullback = ProgramPullback(pull, inputs)
        code = self._traces.code(recorded, "value")
        return self._computed(asked, recorded, code, recorded.filled, pullback), pullback

    _actions: ClassVar[dict[str, Callable[..., Any]]] = {
        "value": _value,
        "grad": _gradient,
        "value_and_grad": _gradient,
        "jacobian": _matrix,
        "jacfwd": _matrix,
        "hessian": _matrix,
        "hvp": _product,
        "jvp": _pushed,
        "vjp": _pullback,
    }
