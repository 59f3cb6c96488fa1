"""Programs as text: a file of C that computes what a recorded function computes, and its gradient.

This module knows what such a file offers to those who call its functions; how instructions are
written is known in steps_in_c.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import binding
from ..inspection.texts import counted
from .instructions import InstructionKind, instruction, result_places
from .steps_in_c import PART, SHORT, Steps, block, called, includes, loop, operation_of

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while main
"""

_ON_STACK = 4096  # numbers of workspace, above which it is taken from the heap


def _is_identifier(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) is not None


def name_in_c(function: object) -> str:
    """What a function is called in C, if its own name will do; else f."""
    own = str(getattr(function, "__name__", ""))
    return own if _is_identifier(own) and own not in _KEYWORDS.split() else "f"


def to_c(graph: Any, which: Sequence[Any], name: str) -> str:
    """A file of C99 with value and gradient by some inputs of a graph: see Program.to_c."""
    if not isinstance(name, str) or not _is_identifier(name):
        raise ValueError(f"name must be an identifier of C, such as 'f', not {name!r}")
    if name in _KEYWORDS.split():
        raise ValueError(f"name must be free to be defined in C; {name!r} is a word of its own")
    n, m = graph.n_inputs, graph.n_outputs
    value = _FunctionInC(
        _parts(graph.code_for_c("value"), name), f"{name}_value", [("x", n)], [("value", m)]
    )
    if m == 1:
        code = _parts(graph.code_for_c("gradient", which), name)
        wrt = code["n_results"] - 1
        more = _FunctionInC(
            code, f"{name}_value_and_grad", [("x", n)], [("value", 1), ("grad", wrt)]
        )
    else:
        code = _parts(graph.code_for_c("pull", which), name)
        wrt = code["n_results"] - m
        given = [("x", n), ("cotangents", m)]
        more = _FunctionInC(code, f"{name}_value_and_vjp", given, [("value", m), ("grad", wrt)])
    body = value.text() + "\n" + more.text()
    parts = [
        _explanation(graph, name, [value, more]),
        includes(body),
        *called(body),
        body,
    ]
    return "\n".join(parts)


def _parts(code: Any, name: str) -> dict[str, Any]:
    """The parts of a program that consists of operations alone."""
    parts: dict[str, Any] = code.parts()
    if np.isin(parts["code"]["kind"], [InstructionKind.TAKE_BY, InstructionKind.ADD_BY]).any():
        raise ValueError(
            f"{name} indexes by whole numbers that it computes, which has no text in C: pass the "
            "indices as an argument, an array of integers, which are constants there"
        )
    for k in np.flatnonzero(parts["code"]["kind"] == InstructionKind.CALL).tolist():
        step = code.steps[instruction(parts, k).z]
        operation = operation_of(step)
        if operation.fold_in_c is None and operation.helper_in_c is None:
            raise ValueError(
                f"{name} calls {step.name}, which is a function of Python and has no text in C: "
                "leave it out of what is compiled, and pass what it gives as an argument"
            )
    return {**parts, "steps": code.steps}


def _explanation(graph: Any, name: str, functions: Sequence[_FunctionInC]) -> str:
    n, m = graph.n_inputs, graph.n_outputs
    more = functions[1]
    wrt = more.results[1][1]
    sizes = ", ".join(map(str, graph.sizes))
    values = f"value has {counted(m, 'element')}, " if m != 1 else "value is one number, "
    derivative = (
        "of the value" if m == 1 else "of the sum of all values, each times its cotangent,"
    )
    paragraphs = [
        f"{name}: a function of {counted(n, 'number')}, from cadiff {binding.version_here()}.",
        [f"    {function.head()};" for function in functions],
        f"x has {counted(n, 'element')}: one input after the other, of sizes {sizes}; the "
        f"elements of an array row by row. {values}grad has {counted(wrt, 'element')}: the "
        f"derivatives {derivative} by those inputs that were chosen, in their order.",
        "Both answer 0; or -1, if there is no memory. Where the function compared numbers to "
        f"choose what to compute, this file has the choices of one recording: "
        f"{len(graph.guards)} of them. If x asks for another one, the number of the choice is "
        "answered, counted from 1, and nothing is written. Any number of threads may call both "
        "at once.",
        "An example of a call:",
        [f"    {line}" for line in _example(more)],
        "To compile: cc -std=c99 -O2 file.c -lm",
    ]
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += ["", *(textwrap.wrap(paragraph, 96) if isinstance(paragraph, str) else paragraph)]
    return "\n".join(["/*", *[f" * {line}".rstrip() for line in lines[1:]], " */", ""])


def _example(function: _FunctionInC) -> list[str]:
    """How a function is called."""
    single = function.results[0] == ("value", 1)
    variables = [f"{name}[{max(size, 1)}] = {{0.0}}" for name, size in function.inputs]
    variables += [
        "value" if single and name == "value" else f"{name}[{max(size, 1)}]"
        for name, size in function.results
    ]
    arguments = [name for name, _ in [*function.inputs, *function.results]]
    names = ", ".join(f"&{name}" if single and name == "value" else name for name in arguments)
    return [f"double {', '.join(variables)};", f"int missed = {function.name}({names});"]


class _FunctionInC(Steps):
    """A program as a function of C, and a function of its own for each part of a long one.

    Places are elements of a workspace w, which begins with constants that are no literals.
    """

    def __init__(
        self,
        parts: dict[str, Any],
        name: str,
        inputs: Sequence[tuple[str, int]],
        results: Sequence[tuple[str, int]],
    ) -> None:
        super().__init__(parts, name)
        self.inputs = inputs
        self.results = results

    # --- the whole ---

    def head(self) -> str:
        arguments = [f"const double *{name}" for name, _ in self.inputs]
        arguments += [f"double *{name}" for name, _ in self.results]
        return f"int {self.name}({', '.join(arguments)})"

    def text(self) -> str:
        steps = list(self.steps())
        checks = list(self.checks(self.parts["checks"], 1))
        results = list(self.write_results())
        functions: list[str] = []
        if len(steps) > PART:
            steps, functions = self.divided(steps)
        begin = list(self.begin())
        n_constants = len(self.parts["constants"]) if self.reaches_constants else 0
        room = max(n_constants + self.parts["n_places"], 1)
        names = [name for name, _ in [*self.inputs, *self.results]]
        unused = [f"(void){name};" for name, size in [*self.inputs, *self.results] if size == 0]
        inner = self.head().replace(
            f"int {self.name}(", f"static int {self.name}_in(double *room, "
        )
        work = [*unused, *begin, *steps, *checks, *results, "return 0;"]
        call = f"{self.name}_in(room, {', '.join(names)})"
        if room <= _ON_STACK:
            outer = [f"double room[{room}];", f"return {call};"]
        else:
            outer = [
                f"double *room = malloc({room} * sizeof *room);",
                f"int missed = room == NULL ? -1 : {call};",
                "free(room);",
                "return missed;",
            ]
        return "\n".join([*self.tables, *functions, block(inner, work), block(self.head(), outer)])

    def begin(self) -> Iterator[str]:
        """The workspace made ready."""
        constants = self.parts["constants"] if self.reaches_constants else []
        yield f"double *w = room + {len(constants)};" if len(constants) else "double *w = room;"
        if len(constants):
            table = self.table("double", constants)
            yield f"memcpy(room, {table}, sizeof {table});"
        at = 0
        for name, size in self.inputs:
            if size > 0:
                yield f"memcpy({'w' if at == 0 else f'w + {at}'}, {name}, {size} * sizeof *w);"
            at += size
        if self.parts["n_places"] == 0 and not len(constants):
            yield "(void)w;"

    def divided(self, steps: list[str]) -> tuple[list[str], list[str]]:
        """Calls of functions, and these.

        They are called through pointers: else compilers make one of them again, which takes
        minutes.
        """
        functions: list[str] = []
        part: list[str] = []
        for k, step in enumerate(steps):
            part.append(step)
            if len(part) == PART or k == len(steps) - 1:
                functions.append(
                    block(f"static void {self.name}_{len(functions)}(double *w)", part)
                )
                part = []
        names = ",\n    ".join(f"{self.name}_{k}" for k in range(len(functions)))
        table = f"{self.name}_parts"
        functions.append(f"static void (*const {table}[])(double *) = {{\n    {names},\n}};\n")
        call = loop(len(functions) - 1, f"{table}[i](w);", always=True)
        return [call], functions

    # --- the end ---

    def write_results(self) -> Iterator[str]:
        places = np.fromiter(result_places(self.parts), np.int64)
        for name, size in self.results:
            yield from self.write_result(name, places[:size])
            places = places[size:]

    def write_result(self, name: str, places: Any) -> Iterator[str]:
        """Stretches that stand evenly as loops; what lies between by a list, or one by one."""
        turns = np.flatnonzero(np.diff(places, 2)) + 2  # where a new step begins
        written = begin = 0
        for end in [*turns.tolist(), len(places)]:
            if end - begin > SHORT:
                yield from self.write_some(name, places, written, begin)
                source = self.operand(int(places[begin]), int(places[begin + 1] - places[begin]))
                yield loop(end - begin, f"{name}[{f'{begin} + ' * (begin > 0)}i] = {source};")
                written = begin = end
            else:
                begin = max(begin, end - 1)
        yield from self.write_some(name, places, written, len(places))

    def write_some(self, name: str, places: Any, begin: int, end: int) -> Iterator[str]:
        places = places[begin:end]
        if end - begin > SHORT:
            self.reaches_constants |= bool((places < 0).any())
            table = self.table("int", places)
            yield loop(end - begin, f"{name}[{f'{begin} + ' * (begin > 0)}i] = w[{table}[i]];")
        else:
            for k, place in enumerate(places.tolist()):
                yield f"{name}[{begin + k}] = {self.operand(place)};"
