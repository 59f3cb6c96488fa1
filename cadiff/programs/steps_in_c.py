"""The instructions of programs (src/program/program.h) as statements of C.

Numbers are at their places in an array w. The formulas of operations are the table's, the text of
functions in them that of src/table/special.c. This module does not know which functions of C the
statements become.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..operations.primitives import primitive
from .instructions import (
    ARITIES,
    Instruction,
    InstructionKind,
    ScanPlan,
    adds_apart,
    instruction,
    moves,
    place_text,
    single_operations,
    views,
)

PART = 100  # statements of a function, above which it is divided
SHORT = 8  # numbers that are written one by one
_LINE = 104  # characters, beside what lines of a turn are indented by
_LONG_TEXT = 60  # characters of an expression, from which on it is no part of another one
_MOST_VARIABLES = 4096  # of a turn of a loop

# Sums as NumPy adds up, to the last bit: in halves, so that rounding hardly grows with the number
# of terms, and of few terms eight at a time.
_SUM = """\
static double cad_sum(const double *x, int step, int n) {
    if (n > 128) {
        const int half = n / 16 * 8;
        return cad_sum(x, step, half) + cad_sum(x + half * step, step, n - half);
    }
    double sum = x[0];
    int i = 1;
    if (n >= 8) {
        double DECLARED;
        for (i = 8; i + 8 <= n; i += 8) {
            const double *const next = x + i * step;
            ADDED;
        }
        sum = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7));
    }
    for (; i < n; i++) {
        sum += x[i * step];
    }
    return sum;
}
""".replace("DECLARED", ", ".join(f"r{k} = x[{k} * step]" for k in range(8))).replace(
    "ADDED", "; ".join(f"r{k} += next[{k} * step]" for k in range(8))
)

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

TEXTS = binding.operation_texts()
# Values of operations, with {0}, {1} and {2} in the place of x, y and z.
FORMS = [re.sub(r"\b[xyz]\b", lambda x: f"{{{'xyz'.index(x[0])}}}", text[1:-1]) for text in TEXTS]
_KINDS = binding.operation_kinds()
_HELPERS: dict[str, str] = {
    **binding.helper_texts(),
    "cad_sum": _SUM,
    "cad_share_extreme": _SHARES,
    "cad_multiply_others": _OTHERS,
}


def includes(body: str) -> str:
    names = ["math", *(["stdlib"] if "malloc(" in body else []), "string"]
    return "\n".join(f"#include <{name}.h>" for name in names) + "\n"


def called(body: str) -> Iterator[str]:
    """The helpers that a text calls, and those that they call, in the order of the core."""
    wanted = set(re.findall(r"\w+", body))
    chosen = []
    for name, text in reversed(_HELPERS.items()):
        if name in wanted:
            wanted |= set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))
            chosen.append(text)
    return reversed(chosen)


def operation_of(step: Any) -> Any:
    """What tells how a call is written in C."""
    return getattr(step.rule, "operation", primitive)


def number_text(x: float) -> str:
    """A number as C writes it: exactly, and where it may stand beside any operator."""
    if x != x:
        return "NAN"
    text = "INFINITY" if abs(x) == float("inf") else repr(abs(float(x)))
    return f"(-{text})" if np.signbit(x) else text


class Steps:
    """Writes the instructions of a program. `name` begins the names of their tables."""

    def __init__(self, parts: dict[str, Any], name: str) -> None:
        self.parts = parts
        self.name = name
        self.tables: list[str] = []
        self.reaches_constants = False
        self.in_part = 0  # tiles, if what is being written is in a loop over tiles, t

    def at(self, first: int, *steps: tuple[int, str]) -> str:
        """The number at a place, and some steps further on."""
        return place_text(first, *steps)

    def array(self, places: Any) -> str:
        """Where the numbers at some places are counted from."""
        return "w"

    # --- places ---

    def table(self, kind: str, numbers: Any) -> str:
        """A table of numbers; answers its name."""
        name = f"{self.name}_{'numbers' if kind == 'double' else 'list'}{len(self.tables)}"
        items = [number_text(x) if kind == "double" else str(x) for x in numbers.tolist()]
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
        return f"{self.array(places)}[{self.table('int', places)}[i]]"

    def operand(self, place: int, step: int = 0, n: int = 2) -> str:
        """One of n numbers, or the only one."""
        if step == 0 and place >= 0 and not self.in_part:
            return self.at(place)
        move = step * n if self.in_part and place < self.parts["n_whole"] else 0
        if place < 0 and (step == 0 or n == 1) and not move:
            return number_text(self.parts["constants"][place])
        self.reaches_constants |= place < 0
        return self.at(place, (move, "t"), (step if n > 1 else 0, "i"))

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
                yield block(f"for (int t = 0; t < {head.n}; t++)", body, scope=True)
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
                yield block(f"for (int turn = 0; turn < {y}; turn++)", singles, scope=True)
            else:
                yield from singles
        elif kind == InstructionKind.VECTOR:
            index = [(x, sx), (y, sy), (z, sz)]
            texts = [self.operand(place, step, n) for place, step in index]
            yield loop(n, f"{self.operand(out, 1, n)} = {_value(op, texts)};")
        elif kind == InstructionKind.TAKE:
            yield loop(n, f"{self.operand(out, 1, n)} = {self.listed(x, n)};")
        elif kind == InstructionKind.TOTAL:
            former = self.at(out) if y else "0.0"
            total = self.total(x, sx, n)
            yield f"{self.at(out)} = {former} {f'- (0.0 + {total})' if z else f'+ {total}'};"
        elif kind == InstructionKind.ZEROS:
            yield loop(n, f"{self.operand(out, 1, n)} = 0.0;")
        elif kind == InstructionKind.ADD_AT:
            table = self.table("int", self.parts["lists"][z : z + n])
            target = self.at(out, (1, f"{table}[i]"))
            yield loop(n, f"{target} += {self.operand(x, sx)};", always=True)
        elif kind == InstructionKind.COMPARE:
            yield from self.checks(self.parts["checks"][x : x + n], 0)
        elif kind == InstructionKind.ROWS:
            axes, (result, *given) = self.plan(x)
            yield loops(axes, f"{result} = {_value(op, given)};")
        elif kind == InstructionKind.TERMS:
            yield from self.terms(op, n, out, x, y)
        elif kind == InstructionKind.SCAN:
            scan = ScanPlan(self.parts, x)
            yield (self.blocks(scan, n, x, y) if scan.in_blocks else self.scan(scan, n, x))
        elif kind == InstructionKind.CALL:
            step = self.parts["steps"][z]
            yield from (self.call if operation_of(step).helper_in_c else self.fold)(step, x, out)
        else:
            yield self.additions(x, y)

    def fold(self, step: Any, first: int, out: int) -> Iterator[str]:
        """A call that reduces an array over axes."""
        axes, start, formula = operation_of(step).fold_in_c(*step.rule.args[1:])
        shape = np.shape(step.operands[0])
        kept = [1 if axis in axes else length for axis, length in enumerate(shape)]
        indices = [f"i{axis}" for axis in range(len(shape))]
        x = self.at(first, *zip(_in_order(shape), indices, strict=True))
        moves = [0 if axis in axes else s for axis, s in enumerate(_in_order(kept))]
        r = self.at(out, *zip(moves, indices, strict=True))
        self.reaches_constants |= first < 0
        text = re.sub(r"\b[xr]\b", lambda found: {"x": x, "r": r}[found[0]], formula)
        yield loop(prod(kept), f"{self.at(out, (1, 'i'))} = {start};", always=True)
        yield loops([*zip(indices, shape, strict=True)], f"{r} = {text};")

    def call(self, step: Any, first: int, out: int) -> Iterator[str]:
        """A call of a helper with an array, and with numbers that are known."""
        (shape,) = map(np.shape, step.operands)
        name, numbers = operation_of(step).helper_in_c(shape, *step.rule.args[1:])
        self.reaches_constants |= first < 0
        arguments = [f"&{self.at(out)}", f"&{self.at(first)}", *map(str, numbers)]
        yield f"{name}({', '.join(arguments)});"

    def total(self, first: int, step: int, n: int) -> str:
        """The sum of n numbers, so far apart."""
        if n < SHORT:
            return f"({' + '.join(self.operand(first + k * step) for k in range(n))})"
        self.reaches_constants |= first < 0
        return _sum(self.at(first), step, n)

    def single(self, op: int, out: int, operands: list[int]) -> str:
        return f"{self.at(out)} = {_value(op, [self.operand(place) for place in operands])};"

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
                texts.append(number_text(self.parts["constants"][first]))
            else:
                self.reaches_constants |= first < 0
                texts.append(self.at(first, *steps))
        return [(index, length) for _, index, length in axes], texts

    def moves(self, at: int, n_views: int) -> list[list[tuple[int, str]]]:
        """How far each view of a plan has moved."""
        if not self.in_part:
            return [[]] * n_views
        names = ("t", f"(t / {self.in_part})")
        return [[*zip(steps, names, strict=True)] for steps in moves(self.parts, at)]

    def additions(self, at: int, in_any_order: int) -> str:
        """What the second view sees is added to the first one."""
        axes, (target, source) = self.plan(at)
        shape, ((_, to), (first, strides)) = views(self.parts, at)
        apart = adds_apart(in_any_order, shape, to, strides)
        if axes and apart and (first >= 0 or strides[-1] != 0):
            _, length = axes.pop()
            steps = [(strides[int(name[1:])], name) for name, _ in axes]
            begin = self.at(first, *self.moves(at, 2)[1], *steps)
            return loops(axes, f"{target} += {_sum(begin, strides[-1], length)};")
        return loops(axes, f"{target} += {source};")

    def product(self, at: int, adds: bool) -> str:
        """Sums of products, such as those of matrices, along the result's last axis innermost."""
        _, ((_, strides), *_) = views(self.parts, at)
        axes, (target, a, b) = self.plan(at)
        outer = [axis for axis in axes if strides[int(axis[0][1:])] != 0]
        ordered = sorted(axes, key=lambda axis: axis in outer[-1:])
        begin = "" if adds else loops(outer, f"{target} = 0.0;") + "\n"
        return begin + loops(ordered, f"{target} += {a} * {b};")

    def terms(self, op: int, n: int, out: int, at: int, in_any_order: int) -> Iterator[str]:
        """An operation of a kind (src/table/kinds.def)."""
        shape, found = views(self.parts, at)
        sums_up, backwards = _KINDS[op]
        if sums_up and len(found) > 2:
            yield self.product(at, adds=n == 0)
        elif sums_up:
            if n > 0:
                yield loop(n, f"{self.operand(out, 1, n)} = 0.0;")
            yield self.additions(at, in_any_order)
        else:
            yield self.running(op, shape, at, backwards)

    def running(self, op: int, shape: Sequence[int], at: int, backwards: bool) -> str:
        """Along the last axis, on which a number `s` is carried."""
        axes, texts = self.plan(at)
        last = f"i{len(shape) - 1}"
        outer = [axis for axis in axes if axis[0] != last]
        names = dict(zip("rxy", texts, strict=False))
        line = re.sub(r"\b[rxy]\b", lambda name: names[name[0]], TEXTS[op]) + ";"
        n = shape[-1]
        forth = f"int {last} = 0; {last} < {n}; {last}++"
        back = f"int {last} = {n - 1}; {last} >= 0; {last}--"
        row = block(f"for ({back if backwards else forth})", [line], scope=True)
        lines = ["double s = 0.0;", row]
        return loops(outer, "\n".join(lines)) if outer else block("", lines, scope=True)

    # --- recurrences ---

    def scan(self, scan: ScanPlan, n: int, number: int) -> str:
        """Turns, one after the other: what is computed ahead and behind is part of each.

        What parts of a turn hand on is a variable r, with the number of its strip; what is given
        for all turns is f, what is carried on n.
        """
        plan, n_carried = scan.parts, scan.parts["n_carried"]
        lines: list[tuple[str, str]] = []  # the variable that a line sets, if any, and its value
        begin: list[str] = []  # before all turns
        same: dict[int, str] = {}
        fixed: dict[str, str] = {}
        for k, (place, step, strip) in enumerate(scan.given):
            if step:
                self.reaches_constants |= place < 0
                lines.append((_variable(scan, strip), self.at(place, (step, "t"))))
            else:
                same[-1 - k] = f"f{k}"
                fixed[f"f{k}"] = self.operand(place)
        carried = [f"r{j}" for j in range(n_carried)]
        n_rows = n_carried + plan["n_kept"]
        sums = {f"s{k}": strip for k, strip in enumerate(scan.sums) if scan.is_read[n_rows + k]}
        ends = list(zip(scan.ends, [*range(n_carried), *scan.from_core], strict=True))
        for key, workspace, given, results in (
            ("ahead", "a", scan.into_ahead, scan.from_ahead),
            ("single", "b", scan.into_core, ends),
            ("behind", "c", scan.into_behind, scan.from_behind),
        ):
            if plan[key] is None:
                continue
            names = [same[k] if k < 0 else _variable(scan, k) for k in given]
            names = [*carried, *names] if key == "single" else names
            program = {**plan[key], "steps": []}
            inner = _Inner(program, f"{self.name}_{key}{number}", workspace, names, self.tables)
            values = inner.values([place for place, _ in results])
            begin += inner.declared()
            lines += inner.lines
            for k, ((_, strip), value) in enumerate(zip(results, values, strict=True)):
                if key != "single" or k >= 2 * n_carried:
                    lines.append((_variable(scan, strip), value))
                elif k < n_carried:
                    lines.append((f"n{k}", value))
        rows = slice(n_carried, n_rows)
        for out, strip, is_read in zip(
            scan.outs[rows], scan.kept, scan.is_read[rows], strict=True
        ):
            if is_read:
                lines.append(("", f"{self.at(out, (1, 't'))} = {_variable(scan, strip)};"))
        for name, strip in sums.items():
            lines.append(("", f"{name} += {_variable(scan, strip)};"))
        for j, name in enumerate(carried):  # last: a turn keeps and sums up what it has been given
            to = f"{self.at(scan.outs[j] + 1, (1, 't'))} = " if scan.steps[j] else ""
            lines.append(("", f"{to}{name} = n{j};"))
        named = Counter(name for _, text in _joined(lines) for name in _NAMES.findall(text))
        idle = {r for j, r in enumerate(carried) if not scan.is_read[j] and named[r] == 1}
        lines = [line for line in lines if line[0] or line[1].partition(" = ")[0] not in idle]
        initial = [
            (r, self.operand(scan.initial[j])) for j, r in enumerate(carried) if r not in idle
        ]
        begin += _declared("double", [*initial, *((name, "0.0") for name in sums)])
        begin += _filled(
            f"{self.at(scan.outs[j])} = {name};" for j, name in enumerate(carried) if scan.steps[j]
        )
        turn: list[str] = []
        for (is_named, is_long), some in groupby(_joined(lines), _sort_of_line):
            if is_named:
                turn += _declared("const double", some)
            elif is_long:
                turn += (part for _, text in some for part in text.split("\n"))
            else:
                turn += _filled(text for _, text in some)
        read = {*re.findall(r"\bf\d+\b", "\n".join(turn))}
        begin[:0] = _declared("const double", [(f, x) for f, x in fixed.items() if f in read])
        lasts = [*carried, *([""] * plan["n_kept"]), *(f"s{k}" for k in range(plan["n_summed"]))]
        end = [
            f"{self.at(out)} = {last};"
            for out, step, is_read, last in zip(
                scan.outs, scan.steps, scan.is_read, lasts, strict=True
            )
            if is_read and not step
        ]
        head = f"for (int t = 0; t < {n}; t++)"
        return block("", [*begin, block(head, turn, scope=True), *_filled(end)], scope=True)

    def room(self, number: int) -> str:
        """The name of the workspace of turns."""
        return f"w{number}"

    def blocks(self, scan: ScanPlan, n: int, number: int, room: int) -> str:
        """Turns that hand on blocks, which are copied to where the core has them, and back."""
        parts = {**scan.parts["core"], "steps": self.parts["steps"]}
        inner = _InRoom(parts, f"{self.name}_core{number}", self.room(number), self.tables)
        steps = list(inner.steps())
        ends = list(zip(scan.ends, scan.outs, scan.steps, scan.sizes_of_ends, strict=True))
        n_rows = len(ends) - scan.parts["n_summed"]
        firsts = [*scan.initial, *(first for first, _, _ in scan.given)]
        self.reaches_constants |= min(firsts, default=0) < 0
        begin, take, give = list(inner.begin(self.at(room))), [], []
        place = 0
        for k, size in enumerate(scan.sizes[: len(scan.initial)]):
            out, step = ends[k][1:3]
            begin.append(_copied(self.at(out), self.at(scan.initial[k]), size))
            take.append(_copied(inner.at(place), self.at(out, (step, "t")), size))
            place += size
        for k, (first, step, _) in enumerate(scan.given):
            size = scan.sizes[len(scan.initial) + k]
            copied = _copied(inner.at(place), self.at(first, (step, "t")), size)
            (take if step else begin).append(copied)
            place += size
        for k, (place, out, step, size) in enumerate(ends):
            if scan.is_read[k] and k < n_rows:
                after = out + step * (k < len(scan.initial))
                give.append(_copied(self.at(after, (step, "t")), inner.at(place), size))
            elif scan.is_read[k]:
                begin.append(loop(size, f"{self.at(out, (1, 'i'))} = 0.0;", always=True))
                added = f"{self.at(out, (1, 'i'))} += {inner.at(place, (1, 'i'))};"
                give.append(loop(size, added, always=True))
        turn = block(f"for (int t = 0; t < {n}; t++)", [*take, *steps, *give], scope=True)
        return block("", [*begin, turn], scope=True)

    # --- checks ---

    def checks(self, checks: Any, first: int) -> Iterator[str]:
        """Loops over checks for the same outcome, each counted from `first`.

        The first one that does not hold is answered.
        """
        ends = np.flatnonzero(np.diff(checks["value"], append=np.nan)) + 1
        for begin, end in zip([0, *ends], ends, strict=False):
            own = checks[begin:end]
            outcome = number_text(own["value"][0])
            places = own["place"]
            if len(own) == 1:
                found, number = self.operand(int(places[0])), str(own["number"][0] + first)
            else:
                self.reaches_constants |= bool((places < 0).any())
                found = f"{self.array(places)}[{self.sequence(places)}]"
                number = self.sequence(own["number"].astype(np.int64) + first)
            check = block(f"if ({found} != {outcome})", [f"return {number};"], scope=True)
            yield loop(len(own), check)

    def sequence(self, numbers: Any, index: str = "i") -> str:
        """The i-th of several whole numbers: a formula if there is one, else out of a table."""
        steps = np.diff(numbers)
        if (steps == steps[:1]).all():
            return place_text(int(numbers[0]), (int(steps[:1].sum()), index))[2:-1]
        return f"{self.table('int', numbers)}[{index}]"


class Made(NamedTuple):
    """A number, and how it is made, as a form that operands are put into."""

    place: int
    form: str
    operands: list[int]


_BY_NUMBERS = (
    InstructionKind.SINGLES,
    InstructionKind.VECTOR,
    InstructionKind.TAKE,
    InstructionKind.TOTAL,
    InstructionKind.ZEROS,
)


def is_by_numbers(i: Instruction) -> bool:
    """Whether `made_by` knows all that an instruction makes."""
    return i.kind in _BY_NUMBERS and (i.kind != InstructionKind.SINGLES or i.y == 1)


def made_by(parts: dict[str, Any], i: Instruction) -> Iterator[Made]:
    """The numbers that an instruction makes, one by one."""
    if i.kind == InstructionKind.SINGLES:
        for single in parts["singles"][i.x : i.x + i.n].tolist():
            for op, out, operands in single_operations(single):
                yield Made(out, FORMS[op], operands)
    elif i.kind == InstructionKind.VECTOR:
        for k in range(i.n):
            operands = [i.x + k * i.sx, i.y + k * i.sy, i.z + k * i.sz]
            yield Made(i.out + k, FORMS[i.op], operands[: ARITIES[i.op]])
    elif i.kind == InstructionKind.TAKE:
        for k, place in enumerate(parts["lists"][i.x : i.x + i.n].tolist()):
            yield Made(i.out + k, "{0}", [place])
    elif i.kind == InstructionKind.ZEROS:
        yield from (Made(i.out + k, "0.0", []) for k in range(i.n))
    else:  # a sum, which may be added to what is there
        terms = [*([i.out] if i.y else []), *(i.x + k * i.sx for k in range(i.n))]
        begin = "" if i.y or not i.z else "-"
        text = begin + (" - " if i.z else " + ").join(f"{{{k}}}" for k in range(len(terms)))
        yield Made(i.out, text, terms)


class _Inner(Steps):
    """What is computed in each turn of a recurrence, given its inputs by their names.

    Numbers are variables, or parts of the only expression that they are read in. If there are
    too many, or they are made otherwise, all are in a workspace.
    """

    def __init__(
        self,
        parts: dict[str, Any],
        name: str,
        workspace: str,
        inputs: Sequence[str],
        tables: list[str],
    ) -> None:
        super().__init__(parts, name)
        self.tables = tables
        self.workspace = workspace
        self.inputs = inputs
        self.lines: list[tuple[str, str]] = []  # the variable that a line sets, and its value
        code = [Instruction(*row) for row in parts["code"].tolist()]
        n = sum(i.n for i in code)
        self.is_simple = n <= _MOST_VARIABLES and all(map(is_by_numbers, code))

    def at(self, first: int, *steps: tuple[int, str]) -> str:
        return place_text(first, *steps, name=self.workspace)

    def array(self, places: Any) -> str:
        return self.workspace

    def values(self, places: Sequence[int]) -> list[str]:
        """The numbers at some places, when all is done."""
        if self.is_simple:
            return self.expressions(places)
        self.lines = [("", f"{self.at(k)} = {name};") for k, name in enumerate(self.inputs)]
        self.lines += [("", line) for line in self.steps()]
        return [self.operand(place) for place in places]

    def expressions(self, places: Sequence[int]) -> list[str]:
        texts = dict(enumerate(self.inputs))
        for k, (place, form, operands) in enumerate(self.numbers()):
            name = f"{self.workspace}{k}"
            text = form.format(*[texts.get(x) or self.operand(x) for x in operands])
            self.lines.append((name, text))
            texts[place] = name
        return [texts.get(place) or self.operand(place) for place in places]

    def numbers(self) -> Iterator[Made]:
        """All that is computed, number by number."""
        for k in range(len(self.parts["code"])):
            yield from made_by(self.parts, instruction(self.parts, k))

    def declared(self) -> Iterator[str]:
        name, constants, n = self.workspace, self.parts["constants"], self.parts["n_places"]
        if self.is_simple:
            return
        if self.reaches_constants:
            table = self.table("double", constants)
            yield f"double {name}_room[{len(constants) + n}];"
            yield f"double *const {name} = {name}_room + {len(constants)};"
            yield f"memcpy({name}_room, {table}, sizeof {table});"
        else:
            yield f"double {name}[{n}];"


class _InRoom(Steps):
    """A program in a room of the workspace of another one: constants, then places."""

    def __init__(self, parts: dict[str, Any], name: str, places: str, tables: list[str]) -> None:
        super().__init__(parts, name)
        self.tables = tables
        self.places = places

    def at(self, first: int, *steps: tuple[int, str]) -> str:
        return place_text(first, *steps, name=self.places)

    def array(self, places: Any) -> str:
        return self.places

    def room(self, number: int) -> str:
        return f"{self.places}_{number}"

    def begin(self, room: str) -> Iterator[str]:
        constants = self.parts["constants"]
        yield f"double *const {self.places} = &{room} + {len(constants)};"
        if len(constants):
            table = self.table("double", constants)
            yield f"memcpy(&{room}, {table}, sizeof {table});"


_NAMES = re.compile(r"\b[abcnr]\d+\b")
_INNER = re.compile(r"\([^()]*\)|\[[^][]*\]")


def _stands_alone(text: str, before: str, after: str) -> bool:
    """Whether an expression means the same without parentheses beside these characters.

    Operators of one precedence go from left to right, as the operations of a program do.
    """
    while _INNER.search(text):
        text = _INNER.sub("", text)
    if re.fullmatch(r"[\w.]*", text):
        return True
    begins, ends = before in ("", "(", ","), after in ("", ")", ",")
    if re.fullmatch(r"-?[\w.]*( [-+*/] [\w.]*)*", text) is None:
        return False
    if text[0] == "-" or " + " in text or " - " in text:
        return begins and (ends or after in "+-")
    return (begins or before in "+-") and (ends or after in "+-*/")


def _joined(lines: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The lines of a turn, in which numbers that are names, or short and read once, are put in.

    But for n, what is carried on: r may be set before it is read.
    """
    reads: Counter[str] = Counter()
    for name, text in reversed(lines):
        if not name or reads[name]:
            reads.update(_NAMES.findall(text))
    kept = {name for _, text in lines if "\n" in text for name in _NAMES.findall(text)}
    texts: dict[str, str] = {}

    def operand(found: re.Match[str]) -> str:
        text = texts.get(found[0], found[0])
        before = found.string[: found.start()].rstrip()[-1:]
        after = found.string[found.end() :].lstrip()[:1]
        return text if _stands_alone(text, before, after) else f"({text})"

    for name, text in lines:
        if "\n" not in text:
            text = texts.get(text) or _NAMES.sub(operand, text)
        if name[:1] == "n":
            is_part = not reads[name] or re.fullmatch(r"[abc]\d+", text) is not None
        else:
            is_short = len(text) <= _LONG_TEXT or not reads[name]
            is_part = (is_short and reads[name] < 2) or re.fullmatch(r"[\w.]+", text) is not None
        if name and name not in kept and is_part:
            texts[name] = text
        else:
            yield name, text


def _sort_of_line(line: tuple[str, str]) -> tuple[bool, bool]:
    """Whether it sets a variable; and whether it is several lines."""
    return bool(line[0]), "\n" in line[1]


def _declared(kind: str, values: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Declarations of variables."""
    return _filled((f"{name} = {text}" for name, text in values), f"{kind} ", ", ", ";")


def _filled(
    parts: Iterable[str], begin: str = "", between: str = " ", end: str = ""
) -> Iterator[str]:
    """Lines of as many parts as each has room for."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) < _LINE:
            line += f"{between}{part}"
            continue
        if line:
            yield f"{line}{end}"
        line = f"{begin}{part}"
    if line:
        yield f"{line}{end}"


def _variable(scan: ScanPlan, begin: int) -> str:
    """The number of a turn that stands in a strip."""
    return f"r{begin // scan.stride}"


# --- C -------------------------------------------------------------------------------------------


def _value(op: int, operands: Sequence[str]) -> str:
    return FORMS[op].format(*operands)


def _copied(to: str, source: str, size: int) -> str:
    return f"memcpy(&{to}, &{source}, {size} * sizeof(double));"


def _in_order(shape: Sequence[int]) -> list[int]:
    """The strides of an array whose elements stand in order; 0 along axes of one element."""
    return [prod(shape[axis + 1 :]) * (n != 1) for axis, n in enumerate(shape)]


def block(head: str, lines: Sequence[str], scope: bool = False) -> str:
    begin = f"{head} {{" if head else "{"
    within = [textwrap.indent(line, "    ") for line in lines]
    return "\n".join([begin, *within, "}" if scope else "}\n"])


def loop(n: int | str, line: str, index: str = "i", always: bool = False) -> str:
    if n in (1, "1") and not always:
        return line
    head = f"for (int {index} = 0; {index} < {n}; {index}++)"
    return block(head, [line], scope=True)


def loops(axes: Sequence[tuple[str, int]], line: str) -> str:
    for index, length in reversed(axes):
        line = loop(length, line, index)
    return line


def _sum(first: str, step: int, n: int) -> str:
    """The sum of n numbers."""
    return f"cad_sum(&{first}, {step}, {n})"
