"""What a program tells of itself: counts, listings, graphs, and its code in C."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..binding import Call, Code, MatrixPlan, first_argument
from ..inspection.texts import Graph, check_rows, counted
from ..transforms._pages import page
from . import listings
from .codegen import name_in_c, to_c
from .profiles import Profile, lines_of, measured
from .recorded import Recorded
from .traces import Traces

__all__ = ["Report"]

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

_COUNTS = ("recordings", "branch_changes", "eager")
_MOST_SHOWN = 10  # recordings, and programs of each, in notebooks


class Report:
    """What a Program tells of its recordings, which `traces` has, and of their code."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces

    def stats(self) -> dict[str, Any]:
        """What there is, and what happened: see Program.stats."""
        with self._traces.lock():
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

    def profile(self, args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> Profile:
        """Which operations take the time: see Program.profile."""
        if what not in _CODES and what not in _MATRICES:
            raise ValueError(f"what is one of {[*_CODES, *_MATRICES]}, not {what!r}")
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

        done, profile = self._traces.replayed(call, profiled)
        if not done:
            why = self._traces.obstacle(call) or "there are max_traces others"
            raise ValueError(
                f"{self._traces!r} has no recording of this call, which is run as it is: {why}"
            )
        found: Profile = profile
        return found

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

    def to_html(self) -> str:
        """For notebooks: a table of the recordings, and of what was made of them."""
        stats = self.stats()
        rows = [(name.replace("_", " "), str(stats[name])) for name in _COUNTS if stats[name]]
        rows += [("run as it is", reason) for reason in stats["obstacles"]]
        for title, programs in list(self._programs())[:_MOST_SHOWN]:
            recording, _, counts = title.partition(": ")
            rows.append((recording, counts))
            for what, code in programs[:_MOST_SHOWN]:
                operations = counted(code.n_operations, "operation")
                rows.append((what, f"{operations}, {counted(code.nbytes, 'byte')}"))
        return page(repr(self._traces).strip("<>"), rows)

    def to_text(self, max_rows: int) -> str:
        """The programs that were made so far, line by line: see Program.to_text."""
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

    def to_graph(self, what: str | None, max_rows: int) -> Graph:
        """One of the programs as a graph: see Program.to_graph."""
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

    def to_dot(self, max_rows: int) -> str:
        """The programs in the language of Graphviz: see Program.to_dot."""
        codes = [
            (f"recording {k}, {what}", code)
            for k, (_, programs) in enumerate(self._programs())
            for what, code in programs
        ]
        return listings.to_dot(codes, repr(self._traces), max_rows)

    def to_c(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None) -> str:
        """A file of C99: see Program.to_c."""
        if args or kwargs:
            call = Call(args, kwargs, first_argument(args))
            done, recorded = self._traces.replayed(call, functools.partial(self._traces.met, call))
            if not done:
                why = self._traces.obstacle(call) or "there are max_traces others"
                raise ValueError(
                    f"{self._traces!r} has no recording of this call, which is run as it is: {why}"
                )
        else:
            every = list(self._traces)
            if len(every) != 1:
                raise ValueError(
                    f"{self._traces!r}: call to_c with the arguments of f, which choose one"
                )
            recorded = every[0]
        if name is None:
            name = name_in_c(self._traces.function)
        with self._traces.lock():
            text: str = to_c(recorded.graph, recorded.ranges, name)
        return text


def _title(what: str, ranges: Any) -> str:
    """What a program computes, by inputs [begin, end)."""
    inputs = [f"{begin}..{end - 1}" for begin, end in ranges if begin < end]
    return f"{what} by inputs {', '.join(inputs)}" if inputs else what
