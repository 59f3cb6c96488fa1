"""Values and derivatives of f, computed by its recordings and returned in f's own containers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from ..binding import (
    Call,
    CallError,
    Code,
    FastPathTable,
    MatrixPlan,
    Missed,
    ObstacleError,
    PointError,
    ProgramPullback,
    Replay,
    callers,
)
from ..transforms import hessian, hvp, jvp, vjp
from ..transforms._base import Function, check_keywords, checked_argnums, is_int
from ..transforms._blocks import blocks_of_matrix
from ..transforms._holomorphic import COMPLEX_RESULT
from ..transforms._outputs import check_real
from .fallbacks import EAGER, Asked, Eager
from .recorded import FloatArray, MissedError, Recorded, leaves_of, met
from .recordings import carries_derivatives, record, run
from .traces import Traces, is_eager

__all__ = ["Derivatives"]

MOST_REPLAYS = 4  # of a recording, for calls that go on at once


class Derivatives:
    """The methods of a Program that are called like gradient functions, where no fast path is.

    Parameters
    ----------
    traces : Traces
        The recordings of f.
    eager : Eager
        f as it is.
    fast_paths : FastPathTable
        Where further calls of the same signature go.
    """

    def __init__(self, traces: Traces, eager: Eager, fast_paths: FastPathTable) -> None:
        self._traces = traces
        self._eager = eager
        self._fast_paths = fast_paths

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
        try:
            return self._found(what, args, kwargs, argnums, missed)
        except Exception as error:
            raise callers.shortened(error)  # noqa: B904

    def _found(
        self,
        what: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Any,
        missed: Missed | None,
    ) -> Any:
        if is_eager(args, kwargs):
            if what == "value":
                return self._eager.within(*args, **kwargs)
            return EAGER[what](self._eager.here(args, kwargs), argnums)(*args, **kwargs)
        if self._traces.backoff.passes():
            return self._traces.run(self._eager.as_it_is(what, argnums), args, kwargs)
        if what == "value":
            return self._any_way(args, kwargs, missed)
        if kwargs:
            check_keywords(what, self._traces.function, kwargs)
        numbers, _ = checked_argnums(argnums)
        call = self._traces.call(args, kwargs, numbers)
        if self._traces.backoff.is_in_vain and self._traces.passes(call):
            return self._traces.run(self._eager.as_it_is(what, argnums), args, kwargs)
        asked = Asked(what, call, args, argnums)
        if self._traces.optimize:
            action = functools.partial(self._actions[what], self, asked)
            done, result = self._traces.replayed_once(call, action, missed)
        else:
            done, result = self._exactly(
                (what, is_int(argnums)),
                lambda f: EAGER[what](f, argnums),
                lambda transform: transform(*args, **kwargs),
                call,
            )
        if done:
            return result
        return self._eager.fall_back(asked, self._eager.as_it_is(what, argnums), result)

    def _any_way(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], missed: Missed | None
    ) -> Any:
        """What f returns; where it raises, integers that come first are taken another way."""
        ways = self._traces.ways(args, kwargs)
        call = self._traces.call(args, kwargs, ways[0])
        if self._traces.backoff.is_in_vain and self._traces.passes(call):
            return self._traces.run(self._eager.run_once, args, kwargs)
        try:
            return self._plainly(call, missed)
        except Exception as error:
            # A forbidden branch is no failure of f.
            if not ways[1:] or self._traces.on_branch_change == "raise":
                raise
            try:
                result = self._plainly(self._traces.call(args, kwargs, ways[1]))
            except Exception:
                raise error from None
        self._traces.prefer(args, kwargs, ways[1])
        return result

    def _plainly(self, call: Call, missed: Missed | None = None) -> Any:
        args, kwargs, first = call.args, call.kwargs, call.argnums
        asked = Asked("value", call, args, 0)
        if self._traces.optimize:
            action = functools.partial(self._value, asked)
            done, result = self._traces.replayed(call, action, missed)
        else:
            done, result = self._exactly(
                "",
                _itself,
                lambda f: f.value() if type(f) is Replay else run(f, args, kwargs, first),
                call,
            )
        return result if done else self._eager.fall_back(asked, self._eager.run_once, result)

    # --- to the last bit

    def _exactly(
        self,
        what: Any,
        make: Callable[[Function], Function],
        use: Callable[[Any], Any],
        call: Call,
    ) -> tuple[bool, Any]:
        """use(make(f)) of a replay in the place of f: gradient functions give the same of both.

        `what` tells `make` from others; for values it is "".
        """

        def derivative(recorded: Recorded) -> Any:
            for replay in self._replays(call, recorded):
                held = replay.start(call.vector(), call.args, call.argnums if what else ())
                if held is NotImplemented:
                    raise CallError
                if held is False:
                    raise MissedError(-1, 0.0)  # guards are counted in another way there
                if held is not None:  # no other call has it
                    made = recorded.exact.get((what, replay))
                    if made is None:
                        made = recorded.exact[what, replay] = make(replay)
                    return use(made)
            self._traces.counts["eager"] += 1
            return use(make(self._traces.function))

        if not what:
            return self._traces.replayed(call, derivative)
        return self._traces.replayed_once(call, derivative)

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
        along: Sequence[Any] = (),
        pullback: ProgramPullback | None = None,
    ) -> Any:
        """What `assemble` makes of the results; from now on such calls take the fast path.

        `along` are the atoms of the last arguments; with `pullback` further calls have one, too.
        """
        if asked.what != "value" and not recorded.output.is_differentiable:
            raise CallError  # so gradient functions say what is wrong
        inputs = asked.call.vector()
        if asked.last:
            inputs = np.concatenate([inputs, *map(np.ravel, along)])
        numbers = met(program.run(inputs))
        path = self._traces.add_path(
            recorded, asked.what, asked.call, asked.args, asked.argnums, asked.last, program,
            assemble, recorded.watch, recorded.outcomes, pullback,
        )  # fmt: skip
        return assemble(numbers) if path is None else path.made(numbers)

    def _value(self, asked: Asked, recorded: Recorded) -> Any:
        code = self._traces.code(recorded, "value")
        return self._computed(asked, recorded, code, recorded.returned)

    def _gradient(self, asked: Asked, recorded: Recorded) -> Any:
        """The gradient; value and gradient, if that is asked for."""
        call = asked.call
        if not recorded.is_number:  # says what is wrong
            EAGER[asked.what](recorded.sample, call.argnums)(*call.args, **call.kwargs)
        structure = call.structure
        shapes, single = structure.shapes, not isinstance(asked.argnums, (tuple, list))
        with_value = asked.what == "value_and_grad"

        def assemble(numbers: FloatArray) -> Any:
            leaves = structure.conjugated(leaves_of(numbers[1:], shapes))
            gradient = structure.in_containers(leaves, single)
            return (float(numbers[0]), gradient) if with_value else gradient

        code = self._traces.code(recorded, "gradient", call.ranges)
        return self._computed(asked, recorded, code, assemble)

    def _jacobian(self, asked: Asked, recorded: Recorded) -> Any:
        structure = asked.call.structure
        below, single = structure.shapes, not isinstance(asked.argnums, (tuple, list))
        output = recorded.output
        if output.is_complex or structure.has_complex:
            raise TypeError(COMPLEX_RESULT.format(name="jacobian"))

        def assemble(matrix: FloatArray) -> Any:
            blocks = blocks_of_matrix(matrix, output.shapes, below)
            return output.fill([structure.in_containers(row, single) for row in blocks])

        return self._matrix(asked, recorded, recorded.graph.n_outputs, assemble)

    def _hessian(self, asked: Asked, recorded: Recorded) -> Any:
        call = asked.call
        if not recorded.is_number:  # says what is wrong
            hessian(recorded.sample, call.argnums)(*call.args, **call.kwargs)
        structure = call.structure
        check_real("hessian", structure)
        shapes, single = structure.shapes, not isinstance(asked.argnums, (tuple, list))

        def assemble(matrix: FloatArray) -> Any:
            blocks = blocks_of_matrix(matrix, shapes, shapes)
            rows = [structure.in_containers(row, single) for row in blocks]
            return structure.in_containers(rows, single)

        return self._matrix(asked, recorded, call.n_variables, assemble)

    def _matrix(
        self,
        asked: Asked,
        recorded: Recorded,
        height: int,
        assemble: Callable[[FloatArray], Any],
    ) -> Any:
        """What is made of a matrix with a row for each output."""
        call = asked.call
        with self._traces.lock():
            plan = recorded.plan(asked.what, call.ranges)
        shape = (height, call.n_variables)
        return self._computed(asked, recorded, plan, lambda data: assemble(data.reshape(shape)))

    _actions: ClassVar[dict[str, Callable[..., Any]]] = {
        "value": _value,
        "grad": _gradient,
        "value_and_grad": _gradient,
        "jacobian": _jacobian,
        "hessian": _hessian,
    }

    def hvp(
        self, first: Any, v: Any, others: tuple[Any, ...], kwargs: dict[str, Any], argnums: int
    ) -> Any:
        args = (first, *others)
        if kwargs:
            check_keywords("hvp", self._traces.function, kwargs)
        if not is_int(argnums):
            hvp(self._traces.function, argnums)  # says what is wrong
        k = int(argnums)
        if not is_eager((*args, v), kwargs) and -len(args) <= k < len(args):
            if self._traces.backoff.passes():
                return self._traces.run(hvp(self._traces.function, k), (first, v, *others), kwargs)
            call = self._traces.call(args, kwargs, (k,))
            if self._traces.backoff.is_in_vain and self._traces.passes(call):
                return self._traces.run(hvp(self._traces.function, k), (first, v, *others), kwargs)
            structure = call.structure
            check_real("hvp", structure)
            direction = structure.match((v,), ["the direction v"])
            asked = Asked("hvp", call, (first, v, *others), argnums, (1,))

            def assemble(numbers: FloatArray) -> Any:
                return structure.fill(0, leaves_of(numbers, structure.shapes))

            def product(recorded: Recorded) -> Any:
                if not recorded.is_number:  # says what is wrong
                    hvp(recorded.sample, k)(first, v, *others, **kwargs)
                code = self._traces.code(recorded, "second", call.ranges)
                return self._computed(asked, recorded, code, assemble, direction)

            if self._traces.optimize:
                done, result = self._traces.replayed_once(call, product)
            else:
                done, result = self._exactly(
                    "hvp",
                    lambda f: hvp(f, k),
                    lambda transform: transform(first, v, *others, **kwargs),
                    call,
                )
            return (
                result
                if done
                else self._eager.fall_back(asked, hvp(self._eager.assignable, k), result)
            )
        f = self._eager.here((*args, v), kwargs)
        return hvp(f, k)(first, v, *others, **kwargs)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        if (
            self._traces.optimize  # or it is exact, as by numbers that carry tangents along
            and isinstance(primals, (tuple, list))
            and isinstance(tangents, (tuple, list))
            and len(primals) == len(tangents)
            and not is_eager((*primals, *tangents), {})
        ):
            args = tuple(primals)
            n = len(args)
            call = Call(args, {}, tuple(range(n)))
            names = [f"tangents[{k}]" for k in range(n)]
            direction = call.structure.match(tuple(tangents), names)
            given = (*args, *tangents)
            asked = Asked("jvp", call, given, 0, tuple(range(n, 2 * n)))

            def pushed(recorded: Recorded) -> Any:
                m = recorded.graph.n_outputs
                code = self._traces.code(recorded, "push", call.ranges)

                def assemble(numbers: FloatArray) -> Any:
                    return recorded.filled(numbers[:m]), recorded.filled(numbers[m:])

                return self._computed(asked, recorded, code, assemble, direction)

            done, result = self._traces.replayed_once(call, pushed)
            if not done:
                own = self._eager.assignable
                result = self._eager.fall_back(
                    asked, lambda *both: jvp(own, both[:n], both[n:]), result
                )
            pair: tuple[Any, Any] = result
            return pair
        f = self._eager.here((primals, tangents), {})
        eager: tuple[Any, Any] = jvp(f, primals, tangents)
        return eager

    def vjp(self, primals: tuple[Any, ...]) -> tuple[Any, Callable[[Any], Any]]:
        if not is_eager(primals, {}):
            call = Call(primals, {}, tuple(range(len(primals))))
            if self._traces.optimize:
                pulled = functools.partial(self._pullback, call)
                done, result = self._traces.replayed_once(call, pulled)
            else:
                done, result = self._exactly("vjp", _itself, lambda f: vjp(f, *primals), call)
            if not done:
                asked = Asked("vjp", call, primals, 0)
                result = self._eager.fall_back(
                    asked, functools.partial(vjp, self._eager.assignable), result
                )
            pair: tuple[Any, Callable[[Any], Any]] = result
            return pair
        f = self._eager.here(primals, {})
        eager: tuple[Any, Callable[[Any], Any]] = vjp(f, *primals)
        return eager

    def _pullback(self, call: Call, recorded: Recorded) -> tuple[Any, Callable[[Any], Any]]:
        structure = call.structure.bare()
        shapes = structure.shapes
        argnums, ranges = call.argnums, call.ranges
        single = len(argnums) == 1
        m = recorded.graph.n_outputs

        def assemble(numbers: FloatArray) -> Any:
            leaves = structure.conjugated(leaves_of(numbers[m:], shapes))
            return structure.in_containers(leaves, single)

        def primals_at(inputs: FloatArray) -> tuple[Any, ...]:
            primals: tuple[Any, ...] = structure.in_containers(leaves_of(inputs, shapes), False)
            return primals

        def pulled(recorded: Recorded, numbers: FloatArray) -> tuple[Code, Any]:
            code = self._traces.code(recorded, "pull", ranges)
            return code, assemble(met(code.run(numbers)))

        def pull(inputs: FloatArray, u: Any, note: Callable[..., None]) -> Any:
            output = recorded.output
            cotangent = output.conjugated(output.match(u, "the cotangent"))
            if not carries_derivatives(tuple(cotangent), {}):
                numbers = np.concatenate([inputs, *map(np.ravel, cotangent)])
                try:
                    code, result = pulled(recorded, numbers)
                except (MissedError, PointError, CallError, ObstacleError):
                    pass
                else:
                    if not output.is_complex:  # whose cotangents are not taken as they are
                        note(code, assemble, recorded.outcomes)
                    return result
                again = Call(primals_at(inputs), {}, argnums)
                done, found = self._traces.replayed(
                    again, functools.partial(pulled, numbers=numbers)
                )
                if done:
                    return found[1]
                self._traces.counts["eager"] += 1
            return vjp(self._eager.assignable, *primals_at(inputs))[1](u)

        inputs = call.vector()
        pullback = ProgramPullback(pull, inputs)
        asked = Asked("vjp", call, call.args, 0)
        code = self._traces.code(recorded, "value")
        return self._computed(asked, recorded, code, recorded.filled, pullback=pullback), pullback


def _itself(f: Function) -> Function:
    return f
