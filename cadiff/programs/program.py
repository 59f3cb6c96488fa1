"""Compiled programs: a function is recorded once, and replayed in C."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from types import MethodType
from typing import Any, NamedTuple, overload

import numpy as np

from .. import binding
from ..binding import (
    CallError,
    Calls,
    Code,
    MatrixPlan,
    ObstacleError,
    PointError,
    ProgramPullback,
    Watch,
    WeakMethod,
)
from ..inspection.texts import check_rows, counted
from ..operations.guards import NoDerivativeError
from ..transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from ..transforms._base import (
    Function,
    check_function,
    check_keywords,
    checked_argnums,
    is_int,
)
from ..transforms._blocks import blocks_of_matrix
from ..transforms._outputs import all_shapes, in_containers, refilled
from . import listings
from .batches import BatchCalls
from .codegen import name_in_c, to_c
from .exact import Replay
from .fallbacks import Choosing, Fallback
from .inner import InnerCalls
from .matrices import SparseCalls
from .reads import UnwatchableError, watch_call
from .recordings import (
    CHANGED,
    Call,
    FloatArray,
    MissedError,
    Recorded,
    carries_derivatives,
    first_argument,
    leaves_of,
    met,
    record,
    run,
    ways_to_take,
)
from .traces import OnBranchChange, Traces, is_eager

__all__ = ["Program", "compile"]


ENOUGH_USES = 4  # of recordings, so that they were worth their time

_EAGER: dict[str, Callable[..., Any]] = {
    "grad": grad,
    "value_and_grad": value_and_grad,
    "jacobian": jacobian,
    "hessian": hessian,
}


class Asked(NamedTuple):
    """What a method was asked for, and its arguments as they were given."""

    what: str
    call: Call  # of f
    args: tuple[Any, ...]
    argnums: int | Sequence[int]
    first: tuple[int, ...]  # those of args whose numbers are the first inputs of programs
    last: tuple[int, ...] = ()  # those whose numbers stand behind the arguments of f

    @property
    def is_single(self) -> bool:
        return is_int(self.argnums)


class Program(SparseCalls, BatchCalls, Calls):
    """A function that is recorded once for each structure of its arguments, then replayed in C.

    Made by `compile`, which says what it does and what f may do. Called like f; the methods are
    the gradient functions of the same names, applied to f. With `argnums` (an int or a tuple) they
    differentiate by other arguments than the first.

    A program is safe to call from several threads, and pickles if f does.
    """

    def __init__(
        self,
        f: Function,
        on_branch_change: OnBranchChange = "retrace",
        optimize: bool = True,
        max_traces: int = 8,
    ) -> None:
        check_function("compile", f)
        if on_branch_change not in ("retrace", "raise", "warn"):
            raise ValueError(
                f'on_branch_change is "retrace", "raise" or "warn", not {on_branch_change!r}'
            )
        if isinstance(max_traces, bool) or not isinstance(max_traces, int) or max_traces < 1:
            raise ValueError(f"max_traces is an int of 1 or more, not {max_traces!r}")
        self._function = f
        self._optimize = bool(optimize)
        self._traces = Traces(f, on_branch_change, self._optimize, max_traces, self._fast_paths)
        for attribute in functools.WRAPPER_ASSIGNMENTS:  # what help() shows
            if hasattr(f, attribute):
                setattr(self, attribute, getattr(f, attribute))
        self.__wrapped__ = f
        self._reset()

    def _reset(self) -> None:
        self._traces.clear()
        self._inner = InnerCalls(self._function, self._traces)
        self._forget_objects()
        self._recent = None
        self._recent_batch = None

    # --- as an object

    def _for_object(self, instance: object, n_run: int) -> Program:
        program = Program(WeakMethod(self._function, instance), **self._options)
        program._traces.counts["eager"] = n_run
        return program

    @property
    def _waits_for_objects(self) -> bool:
        return self._optimize and self._traces.on_branch_change == "retrace"

    def _run_for(
        self, instance: object, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if is_eager(args, kwargs):
            return NotImplemented
        f = MethodType(self._function, instance)
        if what == "value":
            return _run_once(f, args, kwargs, ways_to_take(args))
        transform = _EAGER[what](f, kwargs.pop("argnums", 0))
        return transform(*args, **kwargs)

    @property
    def _pays(self) -> bool:
        return sum(recorded.uses for recorded in self._traces) >= ENOUGH_USES

    def __reduce__(self) -> Any:
        """By name where it stands in the place of its function, as decorators do; else with it."""
        place: Any = sys.modules.get(getattr(self, "__module__", ""))
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is self:
            return name
        reads = self._reads()
        state = {
            "recordings": self._traces.portable(),
            "integers": self._traces.integers,
            "reads": None if reads is None else reads.fingerprint(),
        }
        return Program, (self._function, *self._options.values()), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was recorded of other code, or where something else is read, is of no use."""
        reads = self._reads()
        if reads is not None and reads.fingerprint() == state["reads"]:
            self._traces.restore(state["recordings"], state["integers"])
            for recorded in self._traces:
                recorded.watch = reads

    @property
    def _options(self) -> dict[str, Any]:
        """As `compile` takes them."""
        traces = self._traces
        return {
            "on_branch_change": traces.on_branch_change,
            "optimize": traces.optimize,
            "max_traces": traces.max_traces,
        }

    def _reads(self) -> Watch | None:
        """What f reads beside its arguments; None if that cannot be watched."""
        try:
            return watch_call(self._function, [])
        except UnwatchableError:
            return None

    def __repr__(self) -> str:
        return repr(self._traces)

    # --- recordings

    def clear(self) -> None:
        """Forget all recordings: for when something has changed that f reads unwatched.

        That is a random generator, a file or a clock, for example: see `compile`.
        """
        with self._traces.lock:
            self._reset()

    def stats(self) -> dict[str, Any]:
        """What there is, and what happened.

        Returns
        -------
        dict
            "recordings": how often f was recorded. "branch_changes": how often a replay met
            another outcome of a comparison than all its recordings had. "eager": how often f was
            run as it is; "obstacles": the reasons why, a list of str. "watched": a dict from the
            names of what is looked at besides arguments to how it changed last before f was
            recorded again, a str, or None. "traces": for each recording at hand a dict of "inputs"
            and "outputs" (numbers), "operations" recorded, "guards", "watched": what f has read
            beside its arguments, a list of str, "changed": what of this is not as it was, and
            "programs": for each derivative that was asked for the number of its operations and its
            bytes.
        """
        with self._traces.lock:
            traces = [
                {
                    "inputs": recorded.graph.n_inputs,
                    "outputs": recorded.graph.n_outputs,
                    "operations": recorded.graph.n_recorded,
                    "guards": len(recorded.guards),
                    "watched": [] if recorded.watch is None else recorded.watch.paths,
                    "changed": [] if recorded.watch is None else recorded.watch.changed,
                    "programs": {
                        what: {"operations": code.n_operations, "nbytes": code.nbytes}
                        for (what, _), code in recorded.codes.items()
                    },
                }
                for recorded in self._traces
            ]
            return {
                **self._traces.counts,
                "obstacles": self._traces.obstacles,
                "watched": self._traces.watched,
                "traces": traces,
            }

    def _programs(self) -> Iterator[tuple[str, list[tuple[str, Code]]]]:
        """For each recording at hand a title, and its programs with theirs."""
        with self._traces.lock:
            recordings = [
                (recorded.graph, list(recorded.codes.items())) for recorded in self._traces
            ]
        for k, (graph, codes) in enumerate(recordings):
            counts = [
                counted(graph.n_inputs, "input"),
                counted(graph.n_outputs, "output"),
                counted(graph.n_recorded, "operation"),
                counted(len(graph.guards), "guard"),
            ]
            programs = [
                (_title(what, by[0]), code.code)  # besides the ranges, which entries
                if isinstance(code, MatrixPlan)
                else (_title(what, by), code)
                for (what, by), code in codes
            ]
            yield f"recording {k}: {', '.join(counts)}", programs

    def to_text(self, max_rows: int = 200) -> str:
        """The programs that were made so far, instruction by instruction.

        Parameters
        ----------
        max_rows : int
            How many lines of a program are shown at most: the first and the last ones.

        Returns
        -------
        str
            Each recording at hand; and for each derivative that was asked for, its program: a
            line for each instruction. w[k] is the number at place k; the inputs come first.
            Constants are at places below 0; where they are read by themselves, their values are
            written.

        Examples
        --------
        >>> import cadiff, cadiff.numpy as cnp, numpy as np
        >>> f = cadiff.compile(lambda x: cnp.sum(cnp.sin(x) * x))
        >>> f(np.zeros(99))
        0.0
        >>> print(f.to_text())
        <cadiff.Program of <lambda>, 1 recording>
        <BLANKLINE>
        recording 0: 99 inputs, 1 output, 3 operations, 0 guards
        <BLANKLINE>
        value: 99 inputs, 1 result, 297 operations, 3 instructions, 298 places
        #0  vector  99 × sin       w[99..197] = sin(w[0..98])
        #1  vector  99 × multiply  w[198..296] = w[99..197] * w[0..98]
        #2  sums    (99,)          w[297] = sum of w[198 + i0]
            result  1 number       w[297]
        """
        check_rows(max_rows)
        lines = [repr(self)]
        for title, programs in self._programs():
            lines += ["", title]
            for what, code in programs:
                lines += ["", listings.to_text(code, what, max_rows)]
            if not programs:
                lines.append("no program was made of it yet")
        if len(lines) == 1:
            lines.append("nothing was recorded yet: call it, or one of its methods")
        return "\n".join(lines)

    def to_dot(self, max_rows: int = 100) -> str:
        r"""The programs that were made so far as a graph in the language of Graphviz.

        Parameters
        ----------
        max_rows : int
            How many instructions of a program are shown at most: the first and the last ones.

        Returns
        -------
        str
            A frame for each program, as `to_text` has them. Nodes are instructions; edges lead to
            them from those that wrote what they read.

        Examples
        --------
        >>> import cadiff
        >>> f = cadiff.compile(lambda x: cadiff.sin(x) * x)
        >>> f(0.0)
        0.0
        >>> print(f.to_dot())
        digraph "<cadiff.Program of <lambda>, 1 recording>" {
          subgraph cluster_0 {
            label="recording 0, value";
            node [shape=box, fontname="monospace"];
            p0_inputs [label="inputs\nw[0]", style=rounded];
            p0_op0 [label="#0.0 sin\nw[1] = sin(w[0])"];
            p0_op1 [label="#0.1 multiply\nw[2] = w[1] * w[0]"];
            p0_results [label="1 result", style=rounded];
            p0_inputs -> p0_op0;
            p0_inputs -> p0_op1;
            p0_op0 -> p0_op1;
            p0_op1 -> p0_results;
          }
        }
        """
        codes = [
            (f"recording {k}, {what}", code)
            for k, (_, programs) in enumerate(self._programs())
            for what, code in programs
        ]
        return listings.to_dot(codes, repr(self), max_rows)

    def _own_derivative(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A derivative that a gradient function is asked for: see `own_derivatives`."""
        if is_eager(args, kwargs):
            return NotImplemented
        return getattr(self, name)(*args, **kwargs)

    def _run_once(self, /, *args: Any, **kwargs: Any) -> Any:
        return _run_once(self._function, args, kwargs, self._traces.ways(args, kwargs))

    def _fall_back(self, asked: Asked, eager: Callable[..., Any]) -> Any:
        """eager(*args, **kwargs), for a call of a method that no recording serves.

        From now on such calls take this path directly, until there is another recording.
        """
        _, call, args, numbers, first, last = asked
        kwargs = dict(call.kwargs)
        if asked.what == "value" and self._traces.obstacle(call) == CHANGED:
            eager = self._function  # to change what it was given
        fallback = self._fallback_of(call, last, eager)
        ran = call.ran if asked.what == "value" else ()
        if fallback is None:
            self._traces.counts["eager"] += 1
            return ran[0] if ran else eager(*args, **kwargs)
        self._fast_paths.add_fallback(
            asked.what, args, kwargs, numbers, first, last, call.lifted, fallback
        )
        if ran:  # f has run already, to be recorded, and may have changed what it reads
            self._traces.counts["eager"] += 1
            return ran[0]
        return fallback(args, kwargs)

    def _fallback_of(
        self, call: Call, last: tuple[int, ...], eager: Callable[..., Any]
    ) -> Fallback | None:
        """What runs f for calls like this one, if none of them is to be recorded at once."""
        traces = self._traces
        if call.is_aliased or traces.on_branch_change != "retrace" or not self._optimize:
            return None
        if traces.obstacle(call):
            return Fallback(traces, eager)
        return Choosing(traces, eager, call, last) if traces.is_full(call) else None

    def _fallback(self, what: str, call: Call, argnums: Any) -> Fallback | None:
        """The same for a method that is called like f."""
        if what == "value":
            return self._fallback_of(call, (), self._run_once)
        return self._fallback_of(call, (), _EAGER[what](self._function, argnums))

    def _here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        """What a gradient function is to run instead of a replay for a call of a method."""
        if is_eager(args, kwargs) and not binding.is_hooked():
            return self._within
        self._traces.counts["eager"] += 1
        return self._function

    def _within(self, /, *args: Any, **kwargs: Any) -> Any:
        """What f returns within another derivative, or where programs run their functions."""
        if binding.is_opened() and not carries_derivatives(args, kwargs):
            self._traces.counts["eager"] += 1
            return self._run_once(*args, **kwargs)
        return self._inner.call(args, kwargs)

    def _exactly(
        self,
        what: Any,
        make: Callable[[Function], Function],
        use: Callable[[Function], Any],
        call: Call,
    ) -> tuple[bool, Any]:
        """use(make(f)) of a replay in the place of f, which records what f would record.

        `what` tells `make` from others; for values it is "".
        """

        def derivative(recorded: Recorded) -> Any:
            made = recorded.exact.get(what)
            if made is None:
                made = recorded.exact[what] = make(self._replay(call, recorded))
            return use(made)

        return self._traces.replayed(call, derivative, once=bool(what))

    def _replay(self, call: Call, recorded: Recorded) -> Function:
        if recorded.inlined is None:  # it was pickled
            self._traces.met(call, recorded)
            with self._traces.lock:
                again = record(self._function, call, False, True)
            if isinstance(again, str):
                return self._function
            recorded.inlined = again.inlined
        assert recorded.inlined is not None
        return Replay(recorded.inlined, recorded.output, call.argnums)

    def _run(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any) -> Any:
        """A call of a method that is called like f."""
        if what == "value" and is_eager(args, kwargs):
            return self._within(*args, **kwargs)
        if kwargs:
            check_keywords(what, self._function, kwargs)
        numbers, _ = checked_argnums(argnums)
        if not is_eager(args, kwargs):
            if self._traces.passes_by(args, kwargs):
                if what == "value":
                    return self._run_once(*args, **kwargs)
                return _EAGER[what](self._function, argnums)(*args, **kwargs)
            if what == "value":
                return self._any_way(args, kwargs)
            call = self._traces.call(args, kwargs, numbers)
            asked = Asked(what, call, args, argnums, call.argnums)
            if self._optimize:
                action = functools.partial(getattr(self, f"_{what}"), asked)
                done, result = self._traces.replayed(call, action, once=True)
            else:
                done, result = self._exactly(
                    (what, is_int(argnums)),
                    lambda f: _EAGER[what](f, argnums),
                    lambda transform: transform(*args, **kwargs),
                    call,
                )
            if done:
                return result
            return self._fall_back(asked, _EAGER[what](self._function, argnums))
        return _EAGER[what](self._here(args, kwargs), argnums)(*args, **kwargs)

    def _any_way(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What f returns; where it raises, integers that come first are taken another way."""
        ways = self._traces.ways(args, kwargs)
        try:
            return self._plainly(args, kwargs, ways[0])
        except Exception as error:
            # A forbidden branch is no failure of f.
            if not ways[1:] or self._traces.on_branch_change == "raise":
                raise
            try:
                result = self._plainly(args, kwargs, ways[1])
            except Exception:
                raise error from None
        self._traces.prefer(args, kwargs, ways[1])
        return result

    def _plainly(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], first: tuple[int, ...]
    ) -> Any:
        call = self._traces.call(args, kwargs, first)
        asked = Asked("value", call, args, 0, first)
        if self._optimize:
            action = functools.partial(self._value, asked)
            done, result = self._traces.replayed(call, action)
        else:
            done, result = self._exactly("", _itself, lambda f: run(f, args, kwargs, first), call)
        return result if done else self._fall_back(asked, self._run_once)

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
        result = assemble(met(program.run(inputs)))
        if recorded.writes_inputs and len(asked.call.arrays) > 1:
            return result  # a fast path does not see which arguments share memory
        with self._traces.lock:
            if self._traces.has(asked.call, recorded):  # it may have been cleared
                self._fast_paths.add(
                    asked.what,
                    asked.args,
                    dict(asked.call.kwargs),
                    asked.argnums,
                    asked.first,
                    asked.last,
                    asked.call.lifted,
                    program,
                    assemble,
                    recorded.watch,
                    recorded.outcomes,
                    pullback,
                )
        return result

    def _value(self, asked: Asked, recorded: Recorded) -> Any:
        code = self._traces.code(recorded, "value")
        return self._computed(asked, recorded, code, recorded.returned)

    def _gradient(
        self, asked: Asked, recorded: Recorded, combine: Callable[[float, Any], Any]
    ) -> Any:
        """combine(value, gradient)."""
        call = asked.call
        if not recorded.is_number:  # says what is wrong
            _EAGER[asked.what](recorded.sample, call.argnums)(*call.args, **call.kwargs)
        structure = call.structure
        shapes = all_shapes(structure)

        def assemble(numbers: FloatArray) -> Any:
            leaves = leaves_of(numbers[1:], shapes)
            return combine(float(numbers[0]), in_containers(leaves, structure, asked.is_single))

        code = self._traces.code(recorded, "gradient", call.ranges)
        return self._computed(asked, recorded, code, assemble)

    def _grad(self, asked: Asked, recorded: Recorded) -> Any:
        return self._gradient(asked, recorded, lambda value, gradient: gradient)

    def _value_and_grad(self, asked: Asked, recorded: Recorded) -> Any:
        return self._gradient(asked, recorded, lambda value, gradient: (value, gradient))

    def _jacobian(self, asked: Asked, recorded: Recorded) -> Any:
        structure = asked.call.structure
        below = all_shapes(structure)
        output = recorded.output

        def assemble(matrix: FloatArray) -> Any:
            blocks = blocks_of_matrix(matrix, output.shapes, below)
            return output.fill([in_containers(row, structure, asked.is_single) for row in blocks])

        return self._matrix(asked, recorded, recorded.graph.n_outputs, assemble)

    def _hessian(self, asked: Asked, recorded: Recorded) -> Any:
        call = asked.call
        if not recorded.is_number:  # says what is wrong
            hessian(recorded.sample, call.argnums)(*call.args, **call.kwargs)
        structure = call.structure
        shapes = all_shapes(structure)

        def assemble(matrix: FloatArray) -> Any:
            blocks = blocks_of_matrix(matrix, shapes, shapes)
            rows = [in_containers(row, structure, asked.is_single) for row in blocks]
            return in_containers(rows, structure, asked.is_single)

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
        with self._traces.lock:
            plan = recorded.plan(asked.what, call.ranges)
        shape = (height, call.n_variables)
        return self._computed(asked, recorded, plan, lambda data: assemble(data.reshape(shape)))

    def _hvp(
        self, first: Any, v: Any, others: tuple[Any, ...], kwargs: dict[str, Any], argnums: int
    ) -> Any:
        args = (first, *others)
        if kwargs:
            check_keywords("hvp", self._function, kwargs)
        if not is_int(argnums):
            hvp(self._function, argnums)  # says what is wrong
        k = int(argnums)
        if not is_eager((*args, v), kwargs) and -len(args) <= k < len(args):
            if self._traces.passes_by((first, v, *others), kwargs):
                return hvp(self._function, k)(first, v, *others, **kwargs)
            call = self._traces.call(args, kwargs, (k,))
            structure = call.structure
            direction = structure.match((v,), ["the direction v"])
            (at,) = call.argnums
            asked = Asked("hvp", call, (first, v, *others), argnums, (at + (at > 0),), (1,))

            def assemble(numbers: FloatArray) -> Any:
                return structure.fill(0, leaves_of(numbers, all_shapes(structure)))

            def product(recorded: Recorded) -> Any:
                if not recorded.is_number:  # says what is wrong
                    hvp(recorded.sample, k)(first, v, *others, **kwargs)
                code = self._traces.code(recorded, "second", call.ranges)
                return self._computed(asked, recorded, code, assemble, direction)

            if self._optimize:
                done, result = self._traces.replayed(call, product, once=True)
            else:
                done, result = self._exactly(
                    "hvp",
                    lambda f: hvp(f, k),
                    lambda transform: transform(first, v, *others, **kwargs),
                    call,
                )
            return result if done else self._fall_back(asked, hvp(self._function, k))
        f = self._here((*args, v), kwargs)
        return hvp(f, k)(first, v, *others, **kwargs)

    def _jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        if (
            self._optimize  # or it is exact, as by numbers that carry tangents along
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
            asked = Asked("jvp", call, given, 0, call.argnums, tuple(range(n, 2 * n)))

            def pushed(recorded: Recorded) -> Any:
                m = recorded.graph.n_outputs
                code = self._traces.code(recorded, "push", call.ranges)

                def assemble(numbers: FloatArray) -> Any:
                    return recorded.filled(numbers[:m]), recorded.filled(numbers[m:])

                return self._computed(asked, recorded, code, assemble, direction)

            done, result = self._traces.replayed(call, pushed, once=True)
            if not done:
                f = self._function
                result = self._fall_back(asked, lambda *both: jvp(f, both[:n], both[n:]))
            pair: tuple[Any, Any] = result
            return pair
        f = self._here((primals, tangents), {})
        eager: tuple[Any, Any] = jvp(f, primals, tangents)
        return eager

    def _vjp(self, primals: tuple[Any, ...]) -> tuple[Any, Callable[[Any], Any]]:
        if not is_eager(primals, {}):
            call = Call(primals, {}, tuple(range(len(primals))))
            if self._optimize:
                pulled = functools.partial(self._pullback, call)
                done, result = self._traces.replayed(call, pulled, once=True)
            else:
                done, result = self._exactly("vjp", _itself, lambda f: vjp(f, *primals), call)
            if not done:
                asked = Asked("vjp", call, primals, 0, call.argnums)
                result = self._fall_back(asked, functools.partial(vjp, self._function))
            pair: tuple[Any, Callable[[Any], Any]] = result
            return pair
        f = self._here(primals, {})
        eager: tuple[Any, Callable[[Any], Any]] = vjp(f, *primals)
        return eager

    def _pullback(self, call: Call, recorded: Recorded) -> tuple[Any, Callable[[Any], Any]]:
        structure = call.structure.bare()
        shapes = all_shapes(structure)
        argnums, ranges = call.argnums, call.ranges
        single = len(argnums) == 1
        m = recorded.graph.n_outputs

        def assemble(numbers: FloatArray) -> Any:
            return in_containers(leaves_of(numbers[m:], shapes), structure, single)

        def primals_at(inputs: FloatArray) -> tuple[Any, ...]:
            return tuple(refilled(structure, leaves_of(inputs, shapes)))

        def pulled(recorded: Recorded, numbers: FloatArray) -> tuple[Code, Any]:
            code = self._traces.code(recorded, "pull", ranges)
            return code, assemble(met(code.run(numbers)))

        def pull(inputs: FloatArray, u: Any, note: Callable[..., None]) -> Any:
            cotangent = recorded.output.match(u, "the cotangent")
            if not carries_derivatives(tuple(cotangent), {}):
                numbers = np.concatenate([inputs, *map(np.ravel, cotangent)])
                try:
                    code, result = pulled(recorded, numbers)
                except (MissedError, PointError, CallError, ObstacleError):
                    pass
                else:
                    note(code, assemble, recorded.outcomes)
                    return result
                again = Call(primals_at(inputs), {}, argnums)
                done, found = self._traces.replayed(
                    again, functools.partial(pulled, numbers=numbers)
                )
                if done:
                    return found[1]
                self._traces.counts["eager"] += 1
            return vjp(self._function, *primals_at(inputs))[1](u)

        inputs = call.vector()
        pullback = ProgramPullback(pull, inputs)
        asked = Asked("vjp", call, call.args, 0, argnums)
        code = self._traces.code(recorded, "value")
        return self._computed(asked, recorded, code, recorded.filled, pullback=pullback), pullback

    # --- as C

    def to_c(self, /, *args: Any, name: str | None = None, **kwargs: Any) -> str:
        """A file of C99 with value and gradient, which needs nothing but the C library.

        Parameters
        ----------
        *args, **kwargs
            Arguments of f, of which the first is differentiated by: they choose the recording, and
            make it if need be. Without any, it is the only one that there is.
        name : str, optional
            What the functions are called: `name_value`, `name_value_and_grad`. None: as f is.

        Returns
        -------
        str
            The comment at its head says how to call them. A call that meets another outcome of a
            comparison than the recording did returns the number of that guard, and no result.

        Examples
        --------
        >>> import cadiff, numpy as np
        >>> program = cadiff.compile(lambda x: x[0] * cadiff.sin(x[1]))
        >>> text = program.to_c(np.ones(2), name="wave")
        >>> "int wave_value_and_grad(const double *x" in text
        True
        """
        if args or kwargs:
            call = Call(args, kwargs, first_argument(args))
            done, recorded = self._traces.replayed(call, functools.partial(self._traces.met, call))
            if not done:
                why = self._traces.obstacle(call) or "there are max_traces others"
                raise ValueError(
                    f"{self!r} has no recording of this call, which is run as it is: {why}"
                )
        else:
            every = list(self._traces)
            if len(every) != 1:
                raise ValueError(
                    f"{self!r}: call to_c with the arguments of f, which choose the recording"
                )
            recorded = every[0]
        if name is None:
            name = name_in_c(self._function)
        with self._traces.lock:
            text: str = to_c(recorded.graph, recorded.ranges, name)
        return text


def _run_once(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ways: tuple[tuple[int, ...], ...],
) -> Any:
    """What f returns, with the values that derivatives have."""
    if _may_share(args, kwargs) and Call(args, kwargs, ()).is_aliased:
        return f(*args, **kwargs)  # which may assign to one, and read another
    try:
        return run(f, args, kwargs, ways[0])
    except NoDerivativeError:  # which was not asked for
        return f(*args, **kwargs)
    except Exception as error:
        if not ways[1:]:
            raise
        try:
            return run(f, args, kwargs, ways[1])
        except Exception:
            raise error from None


def _may_share(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether there may be two arrays among the arguments of a call."""
    count = 0
    for item in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(item, np.ndarray):
            count += 1
        elif type(item) is not float and (found := binding.opened(item)) is not None:
            for part in found[1]:  # which may be a container again
                count += 0 if type(part) is float else 1 + (not isinstance(part, np.ndarray))
    return count > 1


def _itself(f: Function) -> Function:
    return f


def _title(what: str, ranges: Any) -> str:
    """What a program computes, by inputs [begin, end)."""
    inputs = [f"{begin}..{end - 1}" for begin, end in ranges if begin < end]
    return f"{what} by inputs {', '.join(inputs)}" if inputs else what


@overload
def compile(
    f: Function,
    *,
    on_branch_change: OnBranchChange = ...,
    optimize: bool = ...,
    max_traces: int = ...,
) -> Program: ...
@overload
def compile(
    f: None = None,
    *,
    on_branch_change: OnBranchChange = ...,
    optimize: bool = ...,
    max_traces: int = ...,
) -> Callable[[Function], Program]: ...
def compile(
    f: Function | None = None,
    *,
    on_branch_change: OnBranchChange = "retrace",
    optimize: bool = True,
    max_traces: int = 8,
) -> Any:
    """Record a function once, and replay it and its derivatives in C.

    Floats and arrays of floats among the arguments are inputs: for new numbers nothing is recorded
    anew. Bools, strings, None and other objects are static: another value is another recording, as
    are other shapes and other containers. Functions are told apart by code, defaults and closure,
    slices, ranges and sets by what is in them, objects by identity. (In an argument to
    differentiate by, integers are numbers, too; a plain call leaves arrays of them what they are,
    unless f raises of that.)

    An int, or an array of integers or bools, is static at first, and an input as soon as it comes
    with another value, as the number of a step or the indices of a mini-batch do: then one
    recording serves all of them, and computes anew

    * what they index: `X[i]`, `X[i, j]`, `X[k]`, `x[k + np.arange(3)]`, `cnp.take(x, i)`,
      `y[i] = v`, `y[i] += v`, `np.add.at(y, i, v)`, `np.bincount(i, minlength=n)`;
    * arithmetic: `+ - * / // % ** abs divmod`, `>>` and `<<` by constants, `i & 1`, `0.9**k`,
      ufuncs that give floats (`np.sqrt(i)`), `clip`, `minimum`, `maximum`, `max`, `min`, `sum`,
      `prod`, `cumsum`, `where`, `astype`, and what moves elements about (`np.roll`, `i[::-1]`);
    * comparisons of arrays, which choose (`where(i > 1, a, b)`).

    A comparison of single ints (`k > 3`, `max(k, 1)`, `while k`) is a guard, as is the number of
    elements of `x[mask]` and `np.flatnonzero(mask)`, and that no number leaves its dtype: what
    wraps around is never replayed. Where f reads a value, the argument stays static: `range(k)`,
    `a_list[k]`, `x[k:]`, `int(k)`, `math.sqrt(k)`, `str(k)`, `2**k`, `x.reshape(k, -1)`, a loop
    over an array that asks for its elements, `np.take` of a plain array, `np.sort`, `np.unique`,
    `i.tolist()`. The same holds where an index would be a view that f assigns to, where f keeps an
    int in a list of its own, and for all integers of a function that asks for types
    (`type(k) is int`, `isinstance(v, float)`; `isinstance(k, int)` and `isinstance(i, np.ndarray)`
    are what they are outside), whose masks are guards: in its own code. Ints from 2**31 on, too.

    While f is recorded, all inputs that are floats are numbers with derivatives, those too that
    are not differentiated by: `isinstance(y, float)` is False there, and `math.sin(y)` is refused
    (`cadiff.math.sin` is not). What f has to look at as it is should be an int, a str or another
    static.

    What else f reads is watched: globals, closures, defaults, attributes, what is in lists, dicts,
    sets and arrays; in f, in the functions that it calls, and in objects among its arguments.
    After a change of it f is recorded anew; `stats()` names what is watched, and what of it has
    changed. Each call looks at it, for 9 to 15 ns a name; arrays are read as a whole, as fast as
    the memory gives them. Not watched is what comes from outside of Python's variables or
    hides in compiled types: random generators, files, clocks, what `globals()`, `exec` or
    `getattr` with computed names reach, and the code of installed libraries. It is a constant of
    the recording: after a change of it call `clear()`. Where f reads a DataFrame, a Series, an
    iterator or a ContextVar, which hide what they hold, it is run as it is: give it arrays and
    numbers.

    What f does besides computing happens when it is recorded or run as it is, not in replays.
    Where it solves equations (`root`), the first call of a gradient method may do it twice.

    f may be any Python code: loops, branches, recursion, assignment to arrays. Comparisons of
    numbers are guards: a replay that comes to another outcome than its recording did is never
    used; f is recorded anew. A branch that rests on the equality of floats warns. Values of
    numbers, `cadiff.value(v)`, may be computed with, and may become indices: of
    `i = cadiff.value(v).astype(int)`, `np.floor(cadiff.value(v))` or `np.searchsorted(grid, v)`
    one recording serves all data, as in `table[i]`. So it does of `math.floor(cadiff.value(v))`,
    `math.ceil` and `round`; `int(cadiff.value(v))`, which has to be Python's own, is a guard.
    Where f needs the value as a float of Python's (`float(cadiff.value(v))`, `v.item()`), or keeps
    it (in a list of its own), it is run as it is, with a warning that says why. A comparison of
    arrays is a mask: as long as it only chooses between numbers, as in `where(x > 1, a, b)`, `(x
    > 0) * a` or `y[y < 0] = 0`, it is no guard, and one recording serves all data. The same holds
    for what is made of masks and plain numbers: `np.sum(x > 0)`, `1 - (x > 0)`, `np.where(x > 0,
    1.0, -1.0)`. `any` and `all` of a mask are one guard, and so is a count that is used as an
    int. What reads the elements makes each of them a guard, so that new data are mostly another
    recording: `x[x > 0]`, `y[y < 0] *= 2.0`, a loop
    over a mask. With
    `optimize=False` every comparison is a guard.

    What f returns may hold other things than numbers, in containers of any kind: a call returns
    the same ints, bools, strings and enums, and floats and arrays of float64. Where f returns an
    object of another class (unless it is registered as a container), f is run as it is.

    Recordings are kept for 512 signatures of calls, which differ in shapes, containers or statics,
    as long as they do not take more than 1 GiB; then the oldest are forgotten, with a warning.
    What changes from call to call and is no index, such as a step size, should be a float.

    In a class it is a method: each object has recordings of its own, which are forgotten with it.
    Where those of the last objects served few calls, the first calls of others run f as it is.

    A program may be called by functions that are differentiated or compiled: the call is one
    operation there, whose derivatives are compiled, too, and f is run only if no recording has the
    outcomes that it meets. Gradient functions of a program, such as `cadiff.grad(program)`, are
    its own derivatives.

    Operations with rules of their own (`primitive`, `custom`, much of `cadiff.numpy.linalg`) are
    steps of a program that call Python. Such a function is called with plain arrays, and only if
    what it gives is needed: its errors are those of f then. What else it reads is read anew. Its
    rules are run once, and have to be linear in g; a rule that takes plain numbers alone is called
    as well, and cannot be differentiated again. Where nothing else is possible f is run as it is,
    with a warning that says why; values and derivatives are the same. A program with such steps
    cannot be written as C.

    Parameters
    ----------
    f : callable, optional
        Without it, a decorator.
    on_branch_change : {"retrace", "raise", "warn"}
        What to do if no recording has the outcomes that a call meets: record f anew, raise
        RuntimeError, or record and warn.
    optimize : bool
        False: what f would record is put on the tape and differentiated there, so that value and
        derivatives are those that the gradient functions give of f, to the last bit (all nans
        being one). `jvp` runs f, and so do calls within other derivatives. What f computes of
        arguments that are not differentiated by is computed as for numbers with derivatives, where
        NumPy may add in another order; and checkpointed functions are recorded as they stand.
    max_traces : int
        How many recordings are kept for arguments of one structure. When there are as many, calls
        that meet other outcomes run f as it is; now and then one of them is recorded in the place
        of the recording that was used least.

    Returns
    -------
    Program

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> @cadiff.compile
    ... def f(x):
    ...     total = 0.0
    ...     for i in range(len(x) - 1):
    ...         total = total + (x[i + 1] - x[i] ** 2) ** 2
    ...     return total
    >>> f.value_and_grad(np.array([1.0, 2.0, 3.0]))
    (2.0, array([-4., 10., -2.]))
    """
    if f is None:
        return functools.partial(
            compile,
            on_branch_change=on_branch_change,
            optimize=optimize,
            max_traces=max_traces,
        )
    return Program(f, on_branch_change, optimize, max_traces)
