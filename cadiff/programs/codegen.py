"""Programs as text: a file of C that computes what a recorded function computes, and derivatives.

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
from .helpers_in_c import with_helpers
from .instructions import Trait, cores, instruction, result_places
from .steps_in_c import SHORT, Steps, may_be_out_of_bounds, operation_of
from .text_in_c import block, divided, function, index_text, loop, loops

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while main
"""

LEAST_LOOP = 60  # operations, of which a loop is shorter in C than one after the other
_ON_STACK = 4096  # numbers of workspace, above which it is taken from the heap
_FEW_ENTRIES = 64  # of a matrix, which are written like any other results


def _is_identifier(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) is not None


def name_in_c(function: object) -> str:
    """What a function is called in C, if its own name will do; else f."""
    own = str(getattr(function, "__name__", ""))
    return own if _is_identifier(own) and own not in _KEYWORDS.split() else "f"


# What a file may have, by the methods that give the same: how the name of the function ends, the
# code that it is, "" if there is a plan for it, and what it is given and gives.
_FUNCTIONS = {
    "value": ("value", "value", "x -> value"),
    "value_and_grad": ("value_and_grad", "gradient", "x -> value grad"),
    "vjp": ("value_and_vjp", "pull", "x cotangents -> value grad"),
    "jvp": ("value_and_jvp", "push", "x tangents -> value jvp"),
    "hvp": ("hvp", "second", "x v -> hvp"),
    "jacobian": ("jacobian", "", "x -> jacobian"),
    "hessian": ("hessian", "", "x -> hessian"),
}
_OF_ONE_NUMBER = ("value_and_grad", "hvp", "hessian")

# And what there is to say of these arguments.
_ARGUMENTS = {
    "x": "has {n}: one input after the other, of sizes {sizes}, those to differentiate by first; "
    "the elements of an array row by row.",
    "cotangents": "has {m}: elements of value are multiplied by them, and grad is of the sum.",
    "tangents": "has {k}: a direction in {by}.",
    "v": "has {k}: a direction in {by}.",
    "value": "has {m}.",
    "grad": "has {k}: the derivatives of value by {by}.",
    "jvp": "has {m}: the derivatives of value along tangents.",
    "hvp": "has {k}: the Hessian of value by {by}, times v.",
    "jacobian": "has {rows} of {k}, one for each element of value: its derivatives by {by}.",
    "hessian": "has {square} of {k}: the second derivatives of value by {by}.",
}


def to_c(graph: Any, which: Sequence[Any], name: str, what: Sequence[str] = ()) -> str:
    """A file of C99 with functions for what a graph gives, by some inputs: see Program.to_c."""
    if not isinstance(name, str) or not _is_identifier(name):
        raise ValueError(f"name must be an identifier of C, such as 'f', not {name!r}")
    if name in _KEYWORDS.split():
        raise ValueError(f"name must be free to be defined in C; {name!r} is a word of its own")
    m = graph.n_outputs
    what = what or ("value", "value_and_grad" if m == 1 else "vjp")
    for one in what:
        if one not in _FUNCTIONS:
            raise ValueError(f"what is one of {list(_FUNCTIONS)}, or several, not {one!r}")
        if one in _OF_ONE_NUMBER and m != 1:
            raise ValueError(
                f'to_c: "{one}" is of one number, but {name} returns {m}: write what="jacobian" '
                'or "vjp"'
            )
    _parts(graph.code_for_c("value"), name)  # or it says what has neither text nor derivatives
    functions = [_function(graph, which, name, one) for one in dict.fromkeys(what)]
    body = "\n".join(function.text() for function in functions)
    head = _explanation(graph, which, name, functions)
    return "\n".join([head, with_helpers(body, has_vectors=False)])


def _function(graph: Any, which: Sequence[Any], name: str, what: str) -> _FunctionInC:
    """What computes a value or a derivative."""
    n, m = graph.n_inputs, graph.n_outputs
    k = sum(end - begin for begin, end in which)
    sizes = {"x": n, "value": m, "cotangents": m, "jvp": m, "jacobian": m * k, "hessian": k * k}
    ending, code, signature = _FUNCTIONS[what]
    given, results = (
        [(one, sizes.get(one, k)) for one in side.split()] for side in signature.split("->")
    )
    own = f"{name}_{ending}"
    if code:
        by = () if code == "value" else (which,)
        return _FunctionInC(_parts(graph.code_for_c(code, *by), name), own, given, results)
    plan = binding.plan_matrix(graph, what, tuple(which), None, "dense", for_c=True)
    parts = _parts(plan.code, name)
    if plan.point is None:
        return _MatrixInC(parts, own, given, results, k)
    return _ProductsInC(plan, (_parts(plan.point, name), parts), own, given, results, k)


def _parts(code: Any, name: str) -> dict[str, Any]:
    """The parts of a program that consists of operations alone."""
    parts: dict[str, Any] = code.parts()
    for own in [parts, *cores(parts).values()]:
        _check_instructions(code, own, name)
    return {**parts, "steps": code.steps}


def _check_instructions(code: Any, parts: dict[str, Any], name: str) -> None:
    kinds = parts["code"]["kind"]
    if any(may_be_out_of_bounds(instruction(parts, k)) for k in range(len(kinds))):
        raise ValueError(
            f"{name} indexes by whole numbers that it computes, which has no text in C: pass the "
            "indices as an argument, an array of integers, which are constants there"
        )
    for k in np.flatnonzero(Trait.CALLS[kinds]).tolist():
        step = code.steps[instruction(parts, k).z]
        operation = operation_of(step)
        if operation.fold_in_c is None and operation.helper_in_c is None:
            raise ValueError(
                f"{name} calls {step.name}, which is a function of Python and has no text in C: "
                "leave it out of what is compiled, and pass what it gives as an argument"
            )


def _explanation(
    graph: Any, which: Sequence[Any], name: str, functions: Sequence[_FunctionInC]
) -> str:
    arguments = dict.fromkeys(
        argument for one in functions for argument, _ in [*one.inputs, *one.results]
    )
    k = sum(end - begin for begin, end in which)
    words = {
        "n": counted(graph.n_inputs, "element"),
        "m": counted(graph.n_outputs, "element"),
        "k": counted(k, "element"),
        "rows": counted(graph.n_outputs, "row"),
        "square": counted(k, "row"),
        "sizes": ", ".join(map(str, graph.sizes)),
        "by": ", ".join(f"x[{begin}..{end - 1}]" for begin, end in which if begin < end)
        or "no input",
    }
    paragraphs = [
        f"{name}: a function of {counted(graph.n_inputs, 'number')}, from cadiff "
        f"{binding.version_here()}.",
        [f"    {function.head()};" for function in functions],
        " ".join(f"{argument} {_ARGUMENTS[argument].format(**words)}" for argument in arguments),
        "Functions answer 0; or -1, if there is no memory. Where the function compared numbers to "
        f"choose what to compute, this file has the choices of one recording: "
        f"{len(graph.guards)} of them. If x asks for another one, the number of the choice is "
        "answered, counted from 1, and nothing is written. Any number of threads may call them "
        "at once.",
        "An example of a call:",
        [f"    {line}" for line in _example(functions[-1])],
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
        width: int = 0,
        is_own: bool = False,
    ) -> None:
        super().__init__(parts, name)
        self.inputs = inputs
        self.results = results
        self.width = width  # of the matrix that the results are, if they are one
        self.is_own = is_own  # the file's, which nobody else calls

    # --- the whole ---

    def head(self) -> str:
        arguments = [f"const double *{name}" for name, _ in self.inputs]
        arguments += [f"double *{name}" for name, _ in self.results]
        return f"{'static ' * self.is_own}int {self.name}({', '.join(arguments)})"

    def text(self) -> str:
        steps = list(self.steps())
        checks = list(self.checks(self.parts["checks"], 1))
        results = list(self.write_results())
        call = [f"{self.name}_parts[i](w);"]
        functions, steps = divided(self.name, "void {}(double *w)", steps, call)
        begin = list(self.begin())
        n_constants = len(self.parts["constants"]) if self.reaches_constants else 0
        work = [*begin, *steps, *checks, *results, "return 0;"]
        functions.append(self.in_room(n_constants + self.parts["n_places"], work))
        return "\n".join([*self.tables, *functions])

    def in_room(self, room: int, work: Sequence[str]) -> str:
        """The function that does some work in a room for so many numbers, which it is given."""
        room = max(room, 1)
        names = [name for name, _ in [*self.inputs, *self.results]]
        unused = [f"(void){name};" for name, size in [*self.inputs, *self.results] if size == 0]
        arguments = self.head().partition("(")[2]
        inner = f"static int {self.name}_in(double *room, {arguments}"
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
        return "\n".join([function(inner, [*unused, *work]), function(self.head(), outer)])

    def begin(self) -> Iterator[str]:
        """The workspace made ready."""
        constants = self.parts["constants"] if self.reaches_constants else []
        yield from self.with_constants("room", constants)
        at = 0
        for name, size in self.inputs:
            if size > 0:
                yield f"memcpy({'w' if at == 0 else f'w + {at}'}, {name}, {size} * sizeof *w);"
            at += size
        if self.parts["n_places"] == 0 and not len(constants):
            yield "(void)w;"

    # --- the end ---

    def write_results(self) -> Iterator[str]:
        places = np.fromiter(result_places(self.parts), np.int64)
        for name, size in self.results:
            yield from self.write_result(name, places[:size])
            places = places[size:]

    def write_result(self, name: str, places: Any) -> Iterator[str]:
        """Stretches that stand evenly as loops; what lies between by a list, or one by one."""
        written = 0
        for begin, _, place, step, n in _runs(np.arange(len(places)), places).tolist():
            if n > SHORT:
                yield from self.write_some(name, places, written, begin)
                source = self.operand(place, step)
                yield loop(n, [f"{name}[{index_text(begin, (1, 'i'))}] = {source};"])
                written = begin + n
        yield from self.write_some(name, places, written, len(places))

    def write_some(self, name: str, places: Any, begin: int, end: int) -> Iterator[str]:
        places = places[begin:end]
        if end - begin > SHORT:
            line = f"{name}[{index_text(begin, (1, 'i'))}] = {self.listed(places)};"
            yield loop(end - begin, [line])
        else:
            for k, place in enumerate(places.tolist()):
                yield f"{name}[{begin + k}] = {self.operand(place)};"


class _MatrixInC(_FunctionInC):
    """A program whose results are the entries of a matrix, row by row, most of which may be 0."""

    def write_result(self, name: str, places: Any) -> Iterator[str]:
        constants = self.parts["constants"]
        is_zero = np.zeros(len(places), bool)
        is_zero[places < 0] = [constants[place] == 0.0 for place in places[places < 0]]
        others = np.flatnonzero(~is_zero)
        if len(places) <= _FEW_ENTRIES or len(others) == 0:
            yield from super().write_result(name, places)
            return
        self.reaches_constants |= bool((places[others] < 0).any())
        runs = _even_runs(others, places[others], self.width)
        if len(others) < len(places):
            yield loop(len(places), [f"{name}[i] = 0.0;"])
        yield from self.scattered([runs], f"{name}[{{}}] = w[{{}}];")

    def scattered(self, runs: Sequence[Any], form: str) -> Iterator[str]:
        """In the k-th turn of a loop its runs: either a loop for each, or one over all of them."""
        n_runs = [*map(len, runs)]
        if min(n_runs) == max(n_runs) <= SHORT:
            for rows in zip(*runs, strict=True):
                yield self.run(np.array(rows), "k", form)
            return
        ends = np.cumsum([0, *n_runs])
        begin, end = self.sequence(ends[:-1], "k"), self.sequence(ends[1:], "k")
        line = self.run(np.concatenate(runs), "r", form)
        yield block(f"for (int r = {begin}; r < {end}; r++)", [line])

    def run(self, runs: Any, index: str, form: str) -> str:
        """One of several runs."""
        to, step, source, move, n = (self.sequence(column, index) for column in runs.T)
        indices = [index_text(x, (by, "i")) for x, by in ((to, step), (source, move))]
        return loops([("i", n)], form.format(*indices))


class _ProductsInC(_MatrixInC):
    """A matrix by its products along directions: what these share is computed once."""

    def __init__(self, plan: Any, parts: tuple[Any, Any], *own: Any) -> None:
        super().__init__({}, *own)
        point, along = parts
        n, height = plan.n_colors, along["n_results"]
        if plan.is_whole:
            self.colors = np.arange(n)
            color, at = np.divmod(np.arange(n * height), height)
            places = color * height + at if plan.is_by_rows else at * n + color
        else:
            self.colors = plan.seeds.argmax(axis=0)
            places = np.concatenate([one[2] for one in plan.blocks])
            sources = [one[0] * height + one[3] for one in plan.blocks]
            color, at = np.divmod(np.concatenate(sources), height)
        ends = np.cumsum(np.bincount(color, minlength=n))
        of_color = np.split(np.argsort(color, kind="stable"), ends[:-1])
        self.runs = [_even_runs(places[own], at[own], self.width) for own in of_color]
        sizes = [("shared", point["n_results"]), ("along", len(self.colors))]
        self.point = _FunctionInC(point, f"{self.name}_point", self.inputs, sizes[:1], is_own=True)
        self.along = _FunctionInC(
            along, f"{self.name}_along", sizes, [("product", height)], is_own=True
        )

    def text(self) -> str:
        [(name, size)] = self.results
        (_, n_shared), (_, n_along) = self.along.inputs
        room = n_shared + n_along + self.along.results[0][1]
        # A direction may be where the derivative has no value: nothing is written before the last.
        is_late = len(self.along.parts["checks"]) > 0
        matrix = "matrix" if is_late else name
        pointers = [f"*along = room + {n_shared}", f"*product = along + {n_along}"]
        pointers += [f"*matrix = room + {room}"] * is_late
        miss = block("if (missed != 0)", ["return missed;"])
        turn = [
            loop(n_along, [f"along[i] = {self.sequence(self.colors)} == k;"]),
            f"missed = {self.along.name}(room, along, product);",
            miss,
            *self.scattered(self.runs, f"{matrix}[{{}}] += product[{{}}];"),
        ]
        work = [
            f"double {', '.join(pointers)};",
            f"int missed = {self.point.name}({self.inputs[0][0]}, room);",
            miss,
            loop(size, [f"{matrix}[i] = 0.0;"]),
            loop(len(self.runs), turn, "k"),
            *[f"memcpy({name}, matrix, {size} * sizeof *matrix);"] * is_late,
            "return 0;",
        ]
        own = self.in_room(room + size * is_late, work)
        return "\n".join([self.point.text(), self.along.text(), *self.tables, own])


def _even_runs(to: Any, places: Any, width: int) -> Any:
    """Stretches of a matrix whose numbers stand evenly, by rows or by diagonals, as are fewer.

    Of each where the first number goes to, and how far apart they are; where it stands, and how
    far apart; how many.
    """
    diagonals = np.lexsort((to, to % width - to // width))
    return min((_runs(to[k], places[k]) for k in (np.argsort(to), diagonals)), key=len)


def _runs(to: Any, places: Any) -> Any:
    """Stretches of two sequences over which both go on by steps of one size."""
    rows = np.stack([to, np.diff(to, append=0), places, np.diff(places, append=0)], axis=1)
    begins = [0][: len(to)]
    for turn in (np.flatnonzero(np.diff(rows[:-1, 1::2], axis=0).any(axis=1)) + 2).tolist():
        if turn > begins[-1] + 1:
            begins.append(turn)
    lengths = np.diff(begins, append=len(to)).astype(np.int64)
    runs = np.column_stack([rows[np.array(begins, np.int64)], lengths])
    runs[lengths == 1, 1::2] = 0
    return runs
