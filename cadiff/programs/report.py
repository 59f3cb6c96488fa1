"""What a program tells of itself: counts, listings, graphs, and its code in C.

What writes these is loaded when it is asked for.
"""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..binding import Call, Code, MatrixPlan, first_argument
from ..transforms._base import checked_argnums
from ..transforms._pages import page
from .recorded import Recorded, codes_of
from .recordings import record
from .traces import Traces

if TYPE_CHECKING:
    from ..inspection.texts import Graph
    from .c_functions import CFunction
    from .profiles import Profile

# What is profiled, by names of methods and of codes.
_CODES = {
    "value": "value",
    "grad": "gradient",
    "value_and_grad": "gradient",
    "jvp": "push",
    "vjp": "pull",
    "hvp": "second",
}
_MATRICES = ("jacobian", "hessian")
_OF_NUMBERS = ("grad", "value_and_grad", "hvp", "hessian")

_MOST_SHOWN = 10  # recordings, and programs of each, in tables
_WIDTH = 99


class Report:
    """What a Program tells of its recordings, which `_traces` has, and of their code."""

    _traces: Traces

    def stats(self) -> dict[str, Any]:
        """What there is, and what happened.

        Returns
        -------
        dict
            "recordings": how often f was recorded here. "branch_changes": how often a replay met
            another outcome of a comparison than all its recordings had. "derivative_misses": how
            often f chose as in a recording, but a derivative did not hold at a point, nor would
            one that were recorded there, since it is not finite. "eager": how often f was
            run eagerly; "obstacles": the reasons why, a list of str. "watched": a dict from the
            names of what is looked at besides arguments to how it changed last before f was
            recorded again, a str, or None. "native": what serves, machine code or the interpreter,
            and why, a str. "traces": for each recording at hand a dict of "inputs"
            and "outputs" (numbers), "operations" recorded, "guards", "watched": what f has read
            beside its arguments, a list of str, "changed": what of this is not as it was, and
            "programs": for each derivative that was asked for the number of its operations, its
            bytes, and what serves.
        """
        machines = self._traces.machines
        with self._traces.lock():
            traces = [
                {
                    "inputs": recorded.graph.n_inputs,
                    "outputs": recorded.graph.n_outputs,
                    "operations": recorded.graph.n_recorded,
                    "guards": len(recorded.graph.guards),
                    "watched": [] if recorded.watch is None else recorded.watch.paths,
                    "changed": [] if recorded.watch is None else recorded.watch.changed,
                    "programs": {
                        what: {
                            "operations": code.n_operations,
                            "nbytes": code.nbytes,
                            "native": machines.serving(codes_of(code)),
                        }
                        for (what, _), code in recorded.codes.items()
                    },
                }
                for recorded in self._traces
            ]
            return {
                **self._traces.counts,
                "obstacles": self._traces.obstacles,
                "watched": self._traces.watched,
                "native": machines.serving(
                    code for recorded in self._traces for code in recorded.all_codes
                ),
                "traces": traces,
            }

    def _programs(self) -> Iterator[tuple[str, list[tuple[str, Code]]]]:
        """For each recording at hand a title, and its programs with theirs."""
        from ..inspection.texts import counted

        with self._traces.lock():
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

    def profile(self, /, *args: Any, what: str = "value_and_grad", **kwargs: Any) -> Profile:
        """Which operations of a program take the time, at some arguments.

        Each instruction is timed by itself, in C, in some replays; so are single operations, that
        a run of them may be divided among its kinds. Replays that are not profiled do not ask for
        any of this.

        Parameters
        ----------
        *args, **kwargs
            Arguments of f, of which the first is differentiated by.
        what : {"value", "grad", "value_and_grad", "jvp", "vjp", "hvp", "jacobian", "hessian"}
            Which program. A matrix that is made of products is none: ask for these.

        Returns
        -------
        Profile
            A named tuple of `what`, the `seconds` of a replay, and `costs`: for each kind of
            operation its name, how many numbers it computes, seconds, and the files and lines in
            which f has it.

        Examples
        --------
        >>> import cadiff, numpy as np
        >>> program = cadiff.compile(lambda x: (cadiff.exp(x) * x).sum())
        >>> profile = program.profile(np.ones(100_000), what="value")
        >>> sorted(cost.operation for cost in profile.costs if cost.numbers > 9999)
        ['exp', 'multiply', 'sum']
        """
        if what not in _CODES and what not in _MATRICES:
            raise ValueError(f"what is one of {[*_CODES, *_MATRICES]}, not {what!r}")
        from .profiles import lines_of, measured

        call = Call(args, kwargs, first_argument(args))

        def profiled(recorded: Recorded) -> Profile:
            if what in _OF_NUMBERS and not recorded.is_number:
                raise ValueError(
                    f'profile: what="{what}" is of one number, but f returns '
                    f'{recorded.graph.n_outputs}: "value", "jvp", "vjp" and "jacobian" are not'
                )
            code = self._code_for(what, call, recorded)
            inputs = call.vector()
            along = np.ones(code.n_inputs - inputs.size)
            lines = lines_of(self._traces.function, call)
            return measured(what, code, np.concatenate([inputs, along]), lines)

        times: Profile = self._replayed(call, profiled)
        return times

    def _replayed(self, call: Call, action: Callable[[Recorded], Any]) -> Any:
        """What action(recorded) answers for the recording of a call."""
        done, answer = self._traces.replayed(call, action)
        if not done:
            why = self._traces.known(call.key).obstacle or "there are max_traces others"
            raise ValueError(
                f"{self._traces!r} has no recording of this call, which is run eagerly: {why}"
            )
        return answer

    def _recorded_for(
        self,
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: int | Sequence[int],
        is_usual: bool,
    ) -> tuple[Recorded, Call | None]:
        """The recording that arguments lead to, made if need be; without any, the only one."""
        if args or kwargs:
            numbers = first_argument(args) if is_usual else checked_argnums(argnums)[0]
            call = Call(args, kwargs, numbers)
            return self._replayed(call, functools.partial(self._traces.met, call)), call
        every = list(self._traces)
        if len(every) != 1 or argnums != 0:
            raise ValueError(
                f"{self._traces!r}: call {method} with the arguments of f, which choose one"
            )
        return every[0], None

    def _code_for(self, what: str, call: Call, recorded: Recorded) -> Code:
        """The code of a derivative by the first argument."""
        if what in _CODES:
            ranges = () if what == "value" else call.ranges
            return self._traces.code(recorded, _CODES[what], ranges)
        with self._traces.lock():
            plan = recorded.plan(what, call.ranges)
        if plan.point is not None:
            parts = '"hvp"' if what == "hessian" else '"vjp"' if plan.is_backward else '"jvp"'
            raise ValueError(
                f"profile: this {what.capitalize()} is made of products along {plan.n_colors} "
                f"directions; profile what={parts}, which is one of them"
            )
        return plan.code

    def _rows(self) -> Iterator[tuple[str, str]]:
        """What serves and how often, and why f is run eagerly: names and texts."""
        from ..inspection.texts import counted
        from .found_steps import FoundLoop

        traces, counts = self._traces, self._traces.counts
        recordings = list(traces)
        n_replayed = sum(recorded.uses for recorded in recordings)
        if any(counts.values()):
            calls = f"{counts['recordings']} recorded, {n_replayed} replayed"
            yield "calls", f"{calls}, {counts['eager']} run eagerly"
        obstacles = traces.obstacles
        if counts["eager"] and not obstacles:
            obstacles = [traces.partings.why(traces.watched)]
        yield from (("run eagerly", reason) for reason in obstacles)
        yield from ((f"{name}, which f reads", how) for name, how in traces.watched.items() if how)
        shown = zip(recordings, self._programs(), strict=False)
        for recorded, (title, programs) in itertools.islice(shown, _MOST_SHOWN):
            name, _, text = title.partition(": ")
            is_loop = FoundLoop.name in [step.name for step in recorded.graph.steps]
            times = counted(recorded.uses, "replay"), counted(recorded.misses, "miss", "misses")
            yield name, f"{', '.join(times)}: {'a found loop, ' * is_loop}{text}"
            for what, code in programs[:_MOST_SHOWN]:
                sizes = counted(code.n_operations, "operation"), counted(code.nbytes, "byte")
                yield f"  {what}", f"{', '.join(sizes)}, {traces.machines.serving([code])}"
        if left := len(recordings[_MOST_SHOWN:]):
            yield "...", f"{counted(left, 'recording')} more"

    def __str__(self) -> str:
        """A table of what serves, how often it did, and why f is run eagerly where it is."""
        rows = list(self._rows())
        width = max((len(name) for name, _ in rows), default=0) + 2
        lines = [
            textwrap.fill(
                *(text, _WIDTH),
                initial_indent=name.ljust(width),
                subsequent_indent=" " * width,
                break_long_words=False,
            )
            for name, text in rows
        ]
        return "\n".join([repr(self), *lines])

    def _repr_html_(self) -> str:
        """For notebooks: the same table."""
        return page(repr(self._traces).strip("<>"), self._rows())

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
        value: 99 inputs, 1 result, 297 operations, 3 instructions, 208 places
        #0  vector  99 × sin       w[104..202] = sin(w[0..98])
        #1  vector  99 × multiply  w[104..202] = w[104..202] * w[0..98]
        #2  sum     (99,)          w[99] = sum of w[104 + i0]
            result  1 number       w[99]
        """
        from ..inspection.texts import check_rows
        from . import listings

        check_rows(max_rows)
        lines = [repr(self._traces)]
        for title, programs in self._programs():
            lines += ["", title]
            for what, code in programs:
                lines += ["", listings.to_text(code, what, max_rows)]
            if not programs:
                lines.append("no program was made of it yet")
        if len(lines) == 1:
            lines.append("nothing was recorded yet: call it, or one of its methods")
        return "\n".join(lines)

    def to_graph(self, what: str | None = None, max_rows: int = 100) -> Graph:
        """One of the programs that were made so far as a graph: see `cadiff.plot.graph`.

        Parameters
        ----------
        what : str, optional
            How `to_text` calls it, or how that begins: "value", "gradient" ... The first one of
            the recording that was used last unless told.
        max_rows : int
            How many instructions are in it at most: the first and the last ones.

        Returns
        -------
        Graph
            As from `Tape.to_graph`.
        """
        from . import listings

        titles = []
        for _, programs in self._programs():
            for title, code in programs:
                if what is None or title.startswith(what):
                    return listings.graph(
                        code, f"{self._traces!r}".strip("<>") + f": {title}", max_rows
                    )
                titles.append(title)
        if not titles:
            raise ValueError(
                f"{self._traces!r} has no program yet: call it, or one of its methods"
            )
        raise ValueError(f"{self._traces!r} has no program that is called {what!r}, but {titles}")

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
        from . import listings

        codes = [
            (f"recording {k}, {what}", code)
            for k, (_, programs) in enumerate(self._programs())
            for what, code in programs
        ]
        return listings.to_dot(codes, repr(self._traces), max_rows)

    def to_c(
        self,
        /,
        *args: Any,
        name: str | None = None,
        what: str | Sequence[str] = (),
        argnums: int | Sequence[int] = 0,
        **kwargs: Any,
    ) -> str:
        """A file of C99 with value and derivatives, which needs nothing but the C library.

        Parameters
        ----------
        *args, **kwargs
            Arguments of f: they choose the recording, and make it if need be. f is recorded once
            more, to keep loops that are too short to be kept in programs. Without any, it is the
            only recording that there is, and what this was made to differentiate by.
        name : str, optional
            What the names of all functions begin with. None: what f is called.
        what : str or sequence of str
            Which functions there are, by the methods that give the same. Each takes the n numbers
            of all inputs, `x`. Of m numbers that f returns, by k numbers:

            * "value": `name_value(x, value)` gives m numbers
            * "value_and_grad": `name_value_and_grad(x, value, grad)` gives 1 and k
            * "vjp": `name_value_and_vjp(x, cotangents, value, grad)` takes m, and gives m and k
            * "jvp": `name_value_and_jvp(x, tangents, value, jvp)` takes k, and gives m and m
            * "hvp": `name_hvp(x, v, hvp)` takes k, and gives k
            * "jacobian": `name_jacobian(x, jacobian)` gives m rows of k
            * "hessian": `name_hessian(x, hessian)` gives k rows of k

            Unless told: "value" and "value_and_grad"; "value" and "vjp", if m is not 1.
        argnums : int or tuple of ints
            What to differentiate by.

        Returns
        -------
        str
            The comment at its head says how to call them. A call that meets another outcome of a
            comparison than the recording did returns the number of that guard, and no result.

        Raises
        ------
        ValueError
            If there is no recording, or several and no arguments; if `what` has no such function,
            or is of one number where f returns several; if a step has no text in C.

        Examples
        --------
        >>> import cadiff, numpy as np
        >>> program = cadiff.compile(lambda x: x[0] * cadiff.sin(x[1]))
        >>> text = program.to_c(np.ones(2), name="wave", what=["value_and_grad", "hessian"])
        >>> "int wave_hessian(const double *x, double *hessian);" in text
        True
        """
        from .codegen import LEAST_LOOP, name_in_c, to_c

        is_usual = not what and argnums == 0
        recorded, call = self._recorded_for("to_c", args, kwargs, argnums, is_usual)
        if call is not None and self._traces.optimize and recorded.graph.n_recorded > LEAST_LOOP:
            again = record(self._traces.function, call, True, least_loop=LEAST_LOOP)
            recorded = again.recorded or recorded
        if name is None:
            name = name_in_c(self._traces.function)
        if not isinstance(what, (str, Sequence)):
            raise TypeError(f"what is the name of a method of programs, or several, not {what!r}")
        what = (what,) if isinstance(what, str) else what
        with self._traces.lock():
            return to_c(recorded.graph, recorded.ranges, name, what)

    def c_function(
        self,
        what: str = "value_and_grad",
        /,
        *args: Any,
        argnums: int | Sequence[int] = 0,
        **kwargs: Any,
    ) -> CFunction:
        """The program as a function of C, for numba, cffi, SciPy and others who call such.

        Its form is ``int f(size_t n, const double *x, double *value, double *gradient, void
        *data)``. Any number of threads may call it at once, with the GIL or without. x has the
        numbers of all floats and arrays of f, one after the other, those to differentiate by
        first; value and gradient stand apart from it. The last argument is `data` of what is
        returned. Where `gradient` is NULL the value is computed alone.

        The answer is 0; or, where a comparison in f comes to another outcome than in the
        recording, its number, counted from 1; or -1: there is no memory; -2: n is another one;
        -3: a step failed, such as the solution of a singular system. Then nothing is written.

        Parameters
        ----------
        what : {"value_and_grad", "value"}
            "value": f may return several numbers. There is no gradient.
        *args, **kwargs
            Arguments of f: they choose the recording, and make it if need be. What is neither a
            float nor an array of floats in them, such as an int, is a constant. Without any, it is
            the only recording that there is.
        argnums : int or tuple of ints
            What to differentiate by.

        Returns
        -------
        CFunction
            With `address`, `data`, `ctypes`, `cffi`, `numba()` and `low_level_callable()`.

        Raises
        ------
        ValueError
            If there is no recording, or several and no arguments; if f returns several numbers,
            which have no gradient; if a step is carried out in Python.

        Notes
        -----
        What f reads beside its arguments is what it was in the recording. Machine code runs where
        the program has it: see `build`.

        Examples
        --------
        >>> import cadiff, ctypes
        >>> program = cadiff.compile(lambda x: x[0] * x[1])
        >>> function = program.c_function("value_and_grad", [1.0, 1.0])
        >>> x, gradient = (2 * ctypes.c_double)(2.0, 3.0), (2 * ctypes.c_double)()
        >>> value = ctypes.c_double()
        >>> function.ctypes(2, x, value, gradient, function.data)
        0
        >>> value.value, list(gradient)
        (6.0, [3.0, 2.0])
        """
        from .c_functions import WHAT, CFunction
        from .codegen import name_in_c

        if not isinstance(what, str) or what not in WHAT:
            raise ValueError(
                f"c_function: what is one of {list(WHAT)}, and stands before the arguments of f; "
                f"not {what!r}"
            )
        is_usual = what == "value" and argnums == 0
        recorded, call = self._recorded_for("c_function", args, kwargs, argnums, is_usual)
        if call is None and self._traces.integers:
            raise ValueError(
                f"{self._traces!r} takes integers: call c_function with the arguments of f, whose "
                "integers are constants there"
            )
        with self._traces.lock():
            return CFunction(recorded, what, name_in_c(self._traces.function))


def _title(what: str, ranges: Any) -> str:
    """What a program computes, by inputs [begin, end)."""
    inputs = [f"{begin}..{end - 1}" for begin, end in ranges if begin < end]
    return f"{what} by inputs {', '.join(inputs)}" if inputs else what
