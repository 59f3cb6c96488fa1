"""Programs as text: a file of C that computes what a recorded function computes, and its gradient.

This module knows the instructions of programs (src/program/program.h) and how C is written. It
takes the formulas of operations from the table, and the text of the functions in them from
src/table/special.c.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import binding
from ..inspection.texts import counted
from ..operations.primitives import primitive
from .instructions import (
    InstructionKind,
    Turns,
    instruction,
    moves,
    place_text,
    result_places,
    single_operations,
    views,
)

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while main
"""

_ON_STACK = 4096  # numbers of workspace, above which it is taken from the heap
_PART = 100  # statements of a function, above which it is divided
_SHORT = 8  # results that are written one by one

# Sums as NumPy adds up: in halves, so that rounding hardly grows with the number of terms.
_SUM = """\
static double cad_sum(const double *x, int step, int n) {
    if (n > 128) {
        return cad_sum(x, step, n / 2) + cad_sum(x + n / 2 * step, step, n - n / 2);
    }
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        sum += x[i * step];
    }
    return sum;
}
"""

# Of numbers in a row: equal shares of 1 for those that are extreme, as in src/kernels/rows.c.
_SHARES = """\
static void cad_share_extreme(double *to, const double *x, int rows, int n, int least) {
    for (const double *const end = x + (long)rows * n; x < end; x += n, to += n) {
        double found = x[0], count = 0.0;
        for (int i = 1; i < n; i++) {
            found = x[i] != x[i] || (least ? x[i] < found : x[i] > found) ? x[i] : found;
        }
        for (int i = 0; i < n; i++) {
            to[i] = x[i] == found || (x[i] != x[i] && found != found);
            count += to[i];
        }
        for (int i = 0; i < n; i++) {
            to[i] /= count;
        }
    }
}
"""

# Along the first axis: of each number the product of all others.
_OTHERS = """\
static void cad_multiply_others(double *to, const double *x, int n, int columns) {
    for (int j = 0; j < columns; j++) {
        double before = 1.0, behind = 1.0;
        for (long i = j; i < (long)n * columns; i += columns) {
            to[i] = before;
            before *= x[i];
        }
        for (long i = (long)n * columns - columns + j; i >= 0; i -= columns) {
            to[i] *= behind;
            behind *= x[i];
        }
    }
}
"""

_TEXTS = binding.operation_texts()
_KINDS = binding.operation_kinds()
_HELPERS: dict[str, str] = {
    **binding.helper_texts(),
    "cad_sum": _SUM,
    "cad_share_extreme": _SHARES,
    "cad_multiply_others": _OTHERS,
}


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
        _includes(body),
        *_called(body),
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
        operation = _operation_of(step)
        if operation.fold_in_c is None and operation.helper_in_c is None:
            raise ValueError(
                f"{name} calls {step.name}, which is a function of Python and has no text in C: "
                "leave it out of what is compiled, and pass what it gives as an argument"
            )
    return {**parts, "steps": code.steps}


def _operation_of(step: Any) -> Any:
    """What tells how a call is written in C."""
    return getattr(step.rule, "operation", primitive)


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


def _includes(body: str) -> str:
    names = ["math", *(["stdlib"] if "malloc(" in body else []), "string"]
    return "\n".join(f"#include <{name}.h>" for name in names) + "\n"


def _called(body: str) -> Iterator[str]:
    """The helpers that a text calls, and those that they call, in the order of the core."""
    wanted = set(re.findall(r"\w+", body))
    chosen = []
    for name, text in reversed(_HELPERS.items()):
        if name in wanted:
            wanted |= set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))
            chosen.append(text)
    return reversed(chosen)


def _number(x: float) -> str:
    """A number as C writes it: exactly, and where it may stand beside any operator."""
    if x != x:
        return "NAN"
    text = "INFINITY" if abs(x) == float("inf") else repr(abs(float(x)))
    return f"(-{text})" if np.signbit(x) else text


class _FunctionInC:
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
        self.parts = parts
        self.name = name
        self.inputs = inputs
        self.results = results
        self.tables: list[str] = []
        self.reaches_constants = False
        self.in_part = 0  # tiles, if what is being written is in a loop over tiles, t

    # --- the whole ---

    def head(self) -> str:
        arguments = [f"const double *{name}" for name, _ in self.inputs]
        arguments += [f"double *{name}" for name, _ in self.results]
        return f"int {self.name}({', '.join(arguments)})"

    def text(self) -> str:
        steps = list(self.steps())
        checks = list(self.checks())
        results = list(self.write_results())
        functions: list[str] = []
        if len(steps) > _PART:
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
        return "\n".join(
            [*self.tables, *functions, _block(inner, work), _block(self.head(), outer)]
        )

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
            if len(part) == _PART or k == len(steps) - 1:
                functions.append(
                    _block(f"static void {self.name}_{len(functions)}(double *w)", part)
                )
                part = []
        names = ",\n    ".join(f"{self.name}_{k}" for k in range(len(functions)))
        table = f"{self.name}_parts"
        functions.append(f"static void (*const {table}[])(double *) = {{\n    {names},\n}};\n")
        call = _loop(len(functions) - 1, f"{table}[i](w);", always=True)
        return [call], functions

    # --- places ---

    def table(self, kind: str, numbers: Any) -> str:
        """A table of numbers; answers its name."""
        name = f"{self.name}_{'numbers' if kind == 'double' else 'list'}{len(self.tables)}"
        items = [_number(x) if kind == "double" else str(x) for x in numbers.tolist()]
        lines, line = [], "   "
        for item in items:
            if len(line) + len(item) > 96:
                lines.append(line)
                line = "   "
            line += f" {item},"
        text = "\n".join([*lines, line])
        self.tables.append(f"static const {kind} {name}[{len(items)}] = {{\n{text}\n}};\n")
        return name

    def listed(self, begin: int, count: int) -> str:
        """The numbers at some places."""
        places = self.parts["lists"][begin : begin + count]
        if count == 1:
            return self.operand(int(places[0]))
        self.reaches_constants |= bool((places < 0).any())
        return f"w[{self.table('int', places)}[i]]"

    def operand(self, place: int, step: int = 0, n: int = 2) -> str:
        """One of n numbers, or the only one."""
        move = step * n if self.in_part and place < self.parts["n_whole"] else 0
        if place < 0 and (step == 0 or n == 1) and not move:
            return _number(self.parts["constants"][place])
        self.reaches_constants |= place < 0
        return place_text(place, (move, "t"), (step if n > 1 else 0, "i"))

    # --- instructions ---

    def steps(self) -> Iterator[str]:
        k = 0
        while k < len(self.parts["code"]):
            head, *members = [
                instruction(self.parts, k + j) for j in range(self.parts["code"]["fused"][k])
            ]
            self.in_part = head.x if members else 0
            body = [line for i in members or [head] for line in self.step(*i)]
            self.in_part = 0
            if members:
                yield _block(f"for (int t = 0; t < {head.n}; t++)", body, scope=True)
            else:
                yield from body
            k += head.fused

    def step(
        self, kind: int, op: int, n: int, _fused: int, out: int, *operands: int
    ) -> Iterator[str]:
        x, y, z, sx, sy, sz = operands
        if kind == InstructionKind.SINGLES:
            singles = [
                self.single(*operation)
                for single in self.parts["singles"][x : x + n].tolist()
                for operation in single_operations(single)
            ]
            if y > 1:
                yield _block(f"for (int turn = 0; turn < {y}; turn++)", singles, scope=True)
            else:
                yield from singles
        elif kind == InstructionKind.VECTOR:
            index = [(x, sx), (y, sy), (z, sz)]
            texts = [self.operand(place, step, n) for place, step in index]
            yield _loop(n, f"{self.operand(out, 1, n)} = {_value(op, texts)};")
        elif kind == InstructionKind.TAKE:
            yield _loop(n, f"{self.operand(out, 1, n)} = {self.listed(x, n)};")
        elif kind == InstructionKind.TOTAL:
            self.reaches_constants |= x < 0
            sign = "-" if z else "+"
            total = _sum(place_text(x), sx, n)
            yield f"{place_text(out)} {sign if y else ''}= {sign * (not y)}{total};"
        elif kind == InstructionKind.ZEROS:
            yield _loop(n, f"{self.operand(out, 1, n)} = 0.0;")
        elif kind == InstructionKind.ADD_AT:
            table = self.table("int", self.parts["lists"][z : z + n])
            yield _loop(n, f"w[{out} + {table}[i]] += {self.operand(x, sx)};", always=True)
        elif kind == InstructionKind.ROWS:
            axes, (result, *given) = self.plan(x)
            yield _loops(axes, f"{result} = {_value(op, given)};")
        elif kind == InstructionKind.TERMS:
            yield from self.terms(op, n, out, x)
        elif kind == InstructionKind.SCAN:
            yield self.scan(x, n, out)
        elif kind == InstructionKind.CALL:
            step = self.parts["steps"][z]
            yield from (self.call if _operation_of(step).helper_in_c else self.fold)(step, x, out)
        else:
            yield self.additions(x)

    def fold(self, step: Any, first: int, out: int) -> Iterator[str]:
        """A call that reduces an array over axes."""
        axes, start, formula = _operation_of(step).fold_in_c(*step.rule.args[1:])
        shape = np.shape(step.operands[0])
        kept = [1 if axis in axes else length for axis, length in enumerate(shape)]
        indices = [f"i{axis}" for axis in range(len(shape))]
        x = place_text(first, *zip(_in_order(shape), indices, strict=True))
        moves = [0 if axis in axes else s for axis, s in enumerate(_in_order(kept))]
        r = place_text(out, *zip(moves, indices, strict=True))
        self.reaches_constants |= first < 0
        text = re.sub(r"\b[xr]\b", lambda found: {"x": x, "r": r}[found[0]], formula)
        yield _loop(prod(kept), f"{place_text(out, (1, 'i'))} = {start};", always=True)
        yield _loops([*zip(indices, shape, strict=True)], f"{r} = {text};")

    def call(self, step: Any, first: int, out: int) -> Iterator[str]:
        """A call of a helper with an array, and with numbers that are known."""
        (shape,) = map(np.shape, step.operands)
        name, numbers = _operation_of(step).helper_in_c(shape, *step.rule.args[1:])
        self.reaches_constants |= first < 0
        arguments = [f"&{place_text(out)}", f"&{place_text(first)}", *map(str, numbers)]
        yield f"{name}({', '.join(arguments)});"

    def single(self, op: int, out: int, operands: list[int]) -> str:
        return f"{place_text(out)} = {_value(op, [self.operand(place) for place in operands])};"

    def plan(self, at: int) -> tuple[list[tuple[str, int]], list[str]]:
        """The axes of a plan that are longer than 1, and what its views are in the innermost loop.

        An axis is the name of its index, and its length.
        """
        shape, found = views(self.parts, at)
        axes = [(k, f"i{k}", length) for k, length in enumerate(shape) if length != 1]
        texts = []
        for (first, strides), move in zip(found, self.moves(at, len(found)), strict=True):
            steps = [*move, *[(strides[k], index) for k, index, _ in axes]]
            if first < 0 and not any(step for step, _ in steps):
                texts.append(_number(self.parts["constants"][first]))
            else:
                self.reaches_constants |= first < 0
                texts.append(place_text(first, *steps))
        return [(index, length) for _, index, length in axes], texts

    def moves(self, at: int, n_views: int) -> list[list[tuple[int, str]]]:
        """How far each view of a plan has moved."""
        if not self.in_part:
            return [[]] * n_views
        names = ("t", f"(t / {self.in_part})")
        return [[*zip(steps, names, strict=True)] for steps in moves(self.parts, at)]

    def additions(self, at: int) -> str:
        """What the second view sees is added to the first one."""
        axes, (target, source) = self.plan(at)
        shape, ((_, to), (first, strides)) = views(self.parts, at)
        if axes and shape[-1] > 1 and to[-1] == 0 and (first >= 0 or strides[-1] != 0):
            _, length = axes.pop()
            steps = [(strides[int(name[1:])], name) for name, _ in axes]
            begin = place_text(first, *self.moves(at, 2)[1], *steps)
            return _loops(axes, f"{target} += {_sum(begin, strides[-1], length)};")
        return _loops(axes, f"{target} += {source};")

    def product(self, at: int, adds: bool) -> str:
        """Sums of products, such as those of matrices, along the result's last axis innermost."""
        _, ((_, strides), *_) = views(self.parts, at)
        axes, (target, a, b) = self.plan(at)
        outer = [axis for axis in axes if strides[int(axis[0][1:])] != 0]
        ordered = sorted(axes, key=lambda axis: axis in outer[-1:])
        begin = "" if adds else _loops(outer, f"{target} = 0.0;") + "\n"
        return begin + _loops(ordered, f"{target} += {a} * {b};")

    def terms(self, op: int, n: int, out: int, at: int) -> Iterator[str]:
        """An operation of a kind (src/table/kinds.def)."""
        shape, found = views(self.parts, at)
        sums_up, backwards = _KINDS[op]
        if sums_up and len(found) > 2:
            yield self.product(at, adds=n == 0)
        elif sums_up:
            if n > 0:
                yield _loop(n, f"{self.operand(out, 1, n)} = 0.0;")
            yield self.additions(at)
        else:
            yield self.running(op, shape, at, backwards)

    def running(self, op: int, shape: Sequence[int], at: int, backwards: bool) -> str:
        """Along the last axis, on which a number `s` is carried."""
        axes, texts = self.plan(at)
        last = f"i{len(shape) - 1}"
        outer = [axis for axis in axes if axis[0] != last]
        names = dict(zip("rxy", texts, strict=False))
        line = re.sub(r"\b[rxy]\b", lambda name: names[name[0]], _TEXTS[op]) + ";"
        n = shape[-1]
        forth = f"int {last} = 0; {last} < {n}; {last}++"
        back = f"int {last} = {n - 1}; {last} >= 0; {last}--"
        row = _block(f"for ({back if backwards else forth})", [line], scope=True)
        lines = ["double s = 0.0;", row]
        return _loops(outer, "\n".join(lines)) if outer else _block("", lines, scope=True)

    # --- recurrences ---

    def scan(self, which: int, n: int, out: int) -> str:
        """Turns, one after the other: what is computed ahead and behind is part of each.

        A number of a turn that is handed from one part to another is a variable r, with the number
        of its strip; what is carried on is n.
        """
        scan = Turns(self.parts, which)
        turns = scan.turns
        n_carried = turns["n_carried"]
        first_kept = out + n_carried * (n + 1)
        first_sum = first_kept + turns["n_kept"] * n
        begin = []  # before all turns
        lines: list[tuple[str, str]] = []  # of a turn: what a line sets, if that is a variable
        for place, step, strip in scan.given:
            if strip >= 0:
                self.reaches_constants |= place < 0
                name = _strip(scan, strip)
                lines.append((name, f"{name} = {place_text(place, (step, 't'))};"))
            else:
                begin.append(self.operand(place))
        fixed = iter(range(len(begin)))
        same = {k: next(fixed) for k, (*_, strip) in enumerate(scan.given) if strip < 0}
        begin = [f"const double f{k} = {text};" for k, text in enumerate(begin)]
        carried = [f"r{j}" for j in range(n_carried)]
        for j, name in enumerate(carried):
            place = place_text(out + j * (n + 1))
            begin += [f"double {name} = {self.operand(scan.initial[j])};", f"{place} = {name};"]
        begin += [f"double s{k} = 0.0;" for k in range(turns["n_summed"])]
        told = list(zip(scan.ends[n_carried:], scan.from_core, strict=True))[n_carried:]
        for key, given, results in (
            ("ahead", scan.into_ahead, scan.from_ahead),
            ("single", scan.into_core, told),
            ("behind", scan.into_behind, scan.from_behind),
        ):
            if turns[key] is None:
                continue
            names = [f"f{same[-1 - k]}" if k < 0 else _strip(scan, k) for k in given]
            inputs = [*carried, *names] if key == "single" else names
            inner = _Inner(self, turns[key], f"{key[0]}", f"{which}{key}", inputs)
            begin += inner.declared()
            lines += [("", line) for line in inner.lines]
            if key == "single":
                places = scan.ends[:n_carried]
                lines += [("", f"n{j} = {inner.number(p)};") for j, p in enumerate(places)]
            for place, strip in results:
                name = _strip(scan, strip)
                lines.append((name, f"{name} = {inner.number(place)};"))
        for j, name in enumerate(carried):
            left = place_text(out + j * (n + 1) + 1, (1, "t"))
            lines.append(("", f"{left} = {name} = n{j};"))
        for k, strip in enumerate(scan.kept):
            left = place_text(first_kept + k * n, (1, "t"))
            lines.append(("", f"{left} = {_strip(scan, strip)};"))
        for k, strip in enumerate(scan.sums):
            lines.append(("", f"s{k} += {_strip(scan, strip)};"))
        end = [f"{place_text(first_sum + k)} = s{k};" for k in range(turns["n_summed"])]
        read = {name for left, line in lines for name in re.findall(r"\br\d+\b", _right(line))}
        kept = [line for left, line in lines if not left or left in read]
        variables = sorted({left for left, _ in lines if left in read}, key=_number_of)
        variables += [f"n{j}" for j in range(n_carried)]
        declared = textwrap.wrap(f"double {', '.join(variables)};", 88)
        turn = _block(f"for (int t = 0; t < {n}; t++)", [*declared, *kept], scope=True)
        return _block("", [*begin, turn, *end], scope=True)

    # --- the end ---

    def checks(self) -> Iterator[str]:
        """Loops over checks for the same outcome, the first one that does not hold is answered."""
        checks = self.parts["checks"]
        ends = np.flatnonzero(np.diff(checks["value"], append=np.nan)) + 1
        for begin, end in zip([0, *ends], ends, strict=False):
            own = checks[begin:end]
            outcome = _number(own["value"][0])
            places = own["place"]
            if len(own) == 1:
                found, number = self.operand(int(places[0])), str(own["number"][0] + 1)
            else:
                self.reaches_constants |= bool((places < 0).any())
                found = f"w[{self.sequence(places)}]"
                number = self.sequence(own["number"].astype(np.int64) + 1)
            check = _block(f"if ({found} != {outcome})", [f"return {number};"], scope=True)
            yield _loop(len(own), check)

    def sequence(self, numbers: Any) -> str:
        """The i-th of several whole numbers: a formula if there is one, else out of a table."""
        steps = np.diff(numbers)
        if (steps == steps[0]).all():
            return place_text(int(numbers[0]), (int(steps[0]), "i"))[2:-1]
        return f"{self.table('int', numbers)}[i]"

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
            if end - begin > _SHORT:
                yield from self.write_some(name, places, written, begin)
                source = self.operand(int(places[begin]), int(places[begin + 1] - places[begin]))
                yield _loop(end - begin, f"{name}[{f'{begin} + ' * (begin > 0)}i] = {source};")
                written = begin = end
            else:
                begin = max(begin, end - 1)
        yield from self.write_some(name, places, written, len(places))

    def write_some(self, name: str, places: Any, begin: int, end: int) -> Iterator[str]:
        places = places[begin:end]
        if end - begin > _SHORT:
            self.reaches_constants |= bool((places < 0).any())
            table = self.table("int", places)
            yield _loop(end - begin, f"{name}[{f'{begin} + ' * (begin > 0)}i] = w[{table}[i]];")
        else:
            for k, place in enumerate(places.tolist()):
                yield f"{name}[{begin + k}] = {self.operand(place)};"


class _Inner(_FunctionInC):
    """What is computed in each turn of a recurrence, in a workspace of its own.

    Where it consists of single operations, inputs stand in them by their names.
    """

    def __init__(
        self,
        outer: _FunctionInC,
        parts: dict[str, Any],
        workspace: str,
        name: str,
        inputs: Sequence[str],
    ) -> None:
        super().__init__({**parts, "steps": []}, f"{outer.name}_{name}", [], [])
        self.tables = outer.tables
        self.workspace = workspace
        kinds = parts["code"]["kind"]
        is_simple = bool(
            (kinds == InstructionKind.SINGLES).all() and (parts["code"]["y"] == 1).all()
        )
        self.inputs_by_name = dict(enumerate(inputs)) if is_simple else {}
        self.lines = (
            [] if is_simple else [f"{workspace}[{k}] = {x};" for k, x in enumerate(inputs)]
        )
        self.lines += [self.named(line) for step in self.steps() for line in step.split("\n")]

    def named(self, text: str) -> str:
        def other(found: re.Match[str]) -> str:
            if found[1] is None:
                return f"{self.workspace}["
            return self.inputs_by_name.get(int(found[1]), f"{self.workspace}[{found[1]}]")

        return re.sub(r"\bw\[(?:(\d+)\])?", other, text)

    def number(self, place: int) -> str:
        return self.named(self.operand(place))

    def declared(self) -> Iterator[str]:
        name, constants = self.workspace, self.parts["constants"]
        n = self.parts["n_places"]
        if self.reaches_constants:
            room, table = f"{name}_room", self.table("double", constants)
            yield f"double {room}[{len(constants) + n}], *{name} = {room} + {len(constants)};"
            yield f"memcpy({room}, {table}, sizeof {table});"
        elif any(f"{name}[" in line for line in self.lines):
            yield f"double {name}[{n}];"


def _strip(scan: Turns, begin: int) -> str:
    """The variable for the number of a turn that stands in a strip."""
    return f"r{begin // scan.stride}"


def _right(line: str) -> str:
    """What a line reads, if it sets a variable."""
    return line.partition(" = ")[2] or line


def _number_of(name: str) -> int:
    return int(name[1:])


# --- C -------------------------------------------------------------------------------------------


def _value(op: int, operands: Sequence[str]) -> str:
    """The value of an operation, with operands in place of x, y and z."""
    names = dict(zip("xyz", operands, strict=False))
    return re.sub(r"\b[xyz]\b", lambda found: names[found[0]], _TEXTS[op][1:-1])


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))


def _in_order(shape: Sequence[int]) -> list[int]:
    """The strides of an array whose elements stand in order; 0 along axes of one element."""
    return [prod(shape[axis + 1 :]) * (n != 1) for axis, n in enumerate(shape)]


def _block(head: str, lines: Sequence[str], scope: bool = False) -> str:
    begin = f"{head} {{" if head else "{"
    return "\n".join([begin, *map(_indented, lines), "}" if scope else "}\n"])


def _loop(n: int, line: str, index: str = "i", always: bool = False) -> str:
    if n == 1 and not always:
        return line
    head = f"for (int {index} = 0; {index} < {n}; {index}++)"
    return _block(head, [line], scope=True)


def _loops(axes: Sequence[tuple[str, int]], line: str) -> str:
    for index, length in reversed(axes):
        line = _loop(length, line, index)
    return line


def _sum(first: str, step: int, n: int) -> str:
    """The sum of n numbers."""
    return f"cad_sum(&{first}, {step}, {n})"
