"""Random programs as texts: of arrays, and of single numbers with control flow.

A program of arrays reads, views, assigns and mixes them in any order; each line is tried on NumPy.
One text runs on NumPy and on `cadiff.numpy`.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy

import cadiff
import cadiff.numpy as cnp

Array = numpy.ndarray
Function = Callable[..., Any]


def forms(text: str) -> list[str]:
    """Templates of expressions, which stand two spaces apart."""
    return re.split(r"\s{2,}", text.strip())


# --- programs of arrays --------------------------------------------------------------------------


# What stands in braces is filled in by Draft: {a}, {b} arrays, {w} one that may be written to, {x}
# anything, {e}, {f} expressions, {akey}, {wkey} indices, {fancy} one that gathers, {s} what fits
# {w}[{wkey}], {t} and {u} what fits {w}, {i}, {j} axes of {a}, {axis} one or none, {perm} an order
# of its axes, {c} a number, {shape} a shape, {rows} indices of rows of {w}, {r} what fits those.
UNARY = forms("""
    np.sin({e})  np.tanh({e})  (0.5 * {e})  (-{e})  np.exp(-(({e}) ** 2))  np.cos({e})
    (1.0 / (2.0 + np.sin({e})))  np.sqrt(1.5 + np.sin({e}))  (0.3 * np.square({e}))
""")
BINARY = forms("""
    ({e} + {f})  ({e} * {f})  ({e} - {f})  np.arctan2({e}, 3.0 + np.sin({f}))
    np.hypot({e}, 1.0 + ({f}) ** 2)  ({e} / (2.5 + np.cos({f})))
""")
REDUCTIONS = forms("""
    np.sum({a}, axis={axis}, keepdims={flag})  np.mean({a}, axis={axis}, keepdims={flag})
    np.prod({a}, axis={axis}, keepdims={flag})  {a}.sum()  np.add.reduce({a}, axis=0)
""")
VIEWS = forms("""
    {a}[{akey}]  {a}[{akey}]  {a}[{akey}]  {a}.T  {a}.ravel()  {a}.reshape(-1)
    np.transpose({a}, {perm})  np.swapaxes({a}, {i}, {j})  np.moveaxis({a}, {i}, {j})
    np.squeeze({a}[..., None], -1)  np.expand_dims({a}, {i})  np.flip({a}, {i})  np.rot90({a})
    np.atleast_2d({a})  np.broadcast_to({a}, (2, *{a}.shape))  {a}[..., None]  np.diagonal({a})
    np.array_split({a}, 2)[0]
""")
COPIES = forms("""
    {a}[{fancy}]  {a}[{fancy}]  {a}[{fancy}]  {a}.flatten()  {a}.copy()  np.array({a})
    np.triu({a})  np.roll({a}, 1, axis={i})  np.repeat({a}, 2, axis={i})  np.tile({a}, 2)
    np.take({a}, [0, 0, -1], axis=0)  np.pad({a}, 1)  np.cumsum({a}, axis={i})
    np.cumprod({a}, axis={i})  np.diff({a}, axis={i})  np.trace({a})  np.delete({a}, 0, axis=0)
    0.3 * ({a} @ {b})  0.3 * ({a} @ {b}.T)  0.3 * np.dot({a}, {b})  0.3 * np.inner({a}, {b})
    0.3 * np.outer({a}, {b})  0.3 * np.tensordot({a}, {b}, axes=1)
    np.array(np.einsum('i...->i', {a}))  np.stack([{x}, {y}])  np.stack([{x}, {e}], axis=-1)
    np.concatenate([{x}, {y}])  np.concatenate([{x}, {e}], axis=-1)
    np.concatenate([{x}, {y}], axis=None)  np.hstack([{x}, {e}])
    np.array([np.sum({x}), 1.0, np.sum({y})])  np.array([{x}, {y}])  np.r_[{x}, {y}]
    np.array([t * 0.5 for t in {a}])  sum({a}[i] * {a}[i - 1] for i in range(len({a})))
    np.where({x} > {c}, {e}, {f})  np.maximum({e}, {f})  np.minimum({e}, {f})  np.zeros({shape})
    np.full({shape}, np.sum({x}))  np.zeros_like({a})  np.ones_like({a})
""")
WRITES = [
    *["{w}[{wkey}] = {s}"] * 6,
    *["{w}[{wkey}] += {s}", "{w}[{wkey}] *= {s}", "{w}[{wkey}] -= {s}"] * 2,
    "{w} += {t}",
    "{w} *= {t}",
    "{w}[1:] = {w}[:-1]",
    "{w}[:-1] = {w}[1:]",
    "{w}[:] = {w}[::-1]",
    "{w}[...] = {w}.T",
    "{w}[1:] += {w}[:-1]",
    "{w}[::2], {w}[1::2] = {w}[1::2], {w}[::2]",
    "{w}[0], {w}[-1] = {w}[-1], {w}[0]",
    "{w}[[0, -1]] = {w}[[-1, 0]]",
    "for i in range(1, len({w})): {w}[i] = 0.5 * {w}[i - 1] + np.sin({w}[i])",
    "for row in {w}: {w}[0] = {w}[0] + 0.2 * row",
    "t = {w}[0]; {w}[0] = 2.0 * np.sin({w}[-1]); {w}[-1] = t",
    "t = {w}[0] * 1.0\nfor i in range(3): t = np.sin(t) + 0.1; {w}[0] = t; {w}[-1] = t * {w}[-1]",
    "for i in range(len({w})):\n  if np.sum({w}[i] * {w}[i]) > 0.7: {w}[i] = {w}[i] * 0.5",
    "np.multiply({t}, {u}, out={w})",
    "np.add({w}[1:], {w}[:-1], out={w}[1:])",
    "np.add({t}, {u}, out={w}, where=np.arange({w}.shape[-1]) > 0)",
    "np.tanh({w}, out={w})",
    "np.copyto({w}, {t})",
    "np.fill_diagonal({w}, np.sum({e}))",
    *["np.add.at({w}, {rows}, {r})"] * 3,
    "np.subtract.at({w}, {rows}, {r})",
    "np.multiply.at({w}, {rows}, {r})",
]

SAFE = 1e-2  # kinks are further away than this
REFUSALS = (ValueError, IndexError, TypeError, Warning)  # by NumPy: the draft goes without it


def runs(lines: list[str], outputs: list[str]) -> Function:
    """The program as a function of x and the module that stands for NumPy."""
    scope: dict[str, Any] = {}
    exec(text(lines, outputs), scope)
    return scope["f"]  # type: ignore[no-any-return]


def text(lines: list[str], outputs: list[str]) -> str:
    body = "\n".join("  " + line.replace("\n", "\n  ") for line in lines)
    results = ", ".join(f"np.ravel({name})" for name in outputs)
    return f"def f(x, np):\n{body}\n  return np.concatenate([{results}])\n"


def owner(array: Array) -> Array:
    """The array whose numbers a view shows."""
    while isinstance(array.base, Array):
        array = array.base
    return array


class Draft:
    """A program that grows line by line, each tried on NumPy."""

    def __init__(self, rng: random.Random, most: int) -> None:
        self.rng = rng
        self.lines: list[str] = []
        shape = self.shape(rng.randint(0, 3))
        while numpy.prod(shape) > most:
            shape = shape[1:]
        values = [rng.randint(-1500, 1500) / 1000 for _ in range(int(numpy.prod(shape)))]
        self.x = numpy.array(values).reshape(shape)
        self.names: dict[str, Any] = {"x": self.x.copy() if shape else float(self.x)}
        self.add("a0 = " + ("np.stack([x, 2.0 * x])" if not shape else rng.choice(STARTS)))

    def shape(self, ndim: int) -> tuple[int, ...]:
        lengths = [0, 1, 2, 3] if self.rng.random() < 0.1 else [1, 2, 2, 3, 3]
        return tuple(self.rng.choice(lengths) for _ in range(ndim))

    def add(self, line: str) -> bool:
        """Run a line and keep it, if NumPy takes it and the numbers stay tame."""
        before = {name: numpy.array(value) for name, value in self.names.items()}
        scope = {**self.names, "np": numpy}
        try:
            exec(line, scope)
        except REFUSALS:
            scope = {}
        made = {name: scope[name] for name in scope if re.fullmatch(r"x|a\d+", name)}
        if not made or not all(map(is_tame, made.values())):
            for name, value in self.names.items():
                if isinstance(value, Array) and value.flags.writeable:
                    value[...] = before[name]
            return False
        self.names = made
        self.lines.append(line)
        return True

    def step(self) -> None:
        """One more line: of twenty attempts the first that is fit."""
        for _ in range(20):
            kind = self.rng.choice([VIEWS, VIEWS, COPIES, COPIES, None, WRITES, WRITES, WRITES])
            fields = Fields(self)
            try:
                if kind is WRITES:
                    line = fields.fill(self.rng.choice(WRITES))
                else:
                    right = fields.expression(0) if kind is None else self.rng.choice(kind)
                    line = f"a{len(self.lines)} = " + fields.fill(right)
            except LookupError:  # there is no such array
                continue
            if not fields.has_kink and self.add(line):
                return

    def outputs(self) -> list[str]:
        names = list(self.names)
        kept = [name for name in names[1:] if self.rng.random() < 0.7]
        return kept or names[-1:]

    def branch(self) -> None:
        names = [
            name for name, value in self.names.items() if numpy.ndim(value) and numpy.size(value)
        ]
        if names:
            line = self.rng.choice(BRANCHES)
            self.add(line.format(k=len(self.lines), a=self.rng.choice(names)))

    def value(self, expression: str) -> Array | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return numpy.asarray(eval(expression, {**self.names, "np": numpy}))
        except REFUSALS:
            return None


STARTS = ["x.copy()", "np.array(x)", "np.sin(x)", "x * 0.5"]


def is_tame(value: Any) -> bool:
    array = numpy.asarray(value)
    fits = array.dtype == float and array.size <= 100 and array.ndim <= 5
    return fits and bool(numpy.all(numpy.abs(array) < 6.0))


class Fields(dict[str, str]):
    """What is filled into a template, chosen when it is asked for."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.rng = draft.rng
        self.has_kink = False

    def fill(self, template: str) -> str:
        line = template.format_map(self)
        self.has_kink = self.has_kink or self._is_near_kink(line)
        return line

    def __missing__(self, name: str) -> str:
        self[name] = chosen = getattr(self, "_" + name)()
        return chosen

    def _array(self, fit: Callable[[Array], bool] = lambda _: True) -> str:
        names = self.draft.names
        fitting = [
            name
            for name, value in names.items()
            if isinstance(value, Array) and value.ndim and fit(value)
        ]
        return self.rng.choice(fitting[-3:] + fitting)

    def _a(self) -> str:
        return self._array()

    _b = _a

    def _w(self) -> str:
        x = self.draft.names["x"]
        return self._array(lambda value: value.flags.writeable and owner(value) is not x)

    def _x(self) -> str:
        return self.rng.choice(list(self.draft.names))

    _y = _x

    def _c(self) -> str:
        return str(round(self.rng.uniform(-1, 1), 2))

    def _flag(self) -> str:
        return str(self.rng.random() < 0.3)

    def _shape(self) -> str:
        return str(self.draft.shape(self.rng.randint(1, 3)))

    def _i(self) -> str:
        ndim = self.draft.names[self["a"]].ndim
        return str(self.rng.randint(-ndim, ndim - 1))

    _j = _i

    def _axis(self) -> str:
        return self.rng.choice(["None", self._i(), self._i()])

    def _perm(self) -> str:
        axes = list(range(self.draft.names[self["a"]].ndim))
        self.rng.shuffle(axes)
        return str(tuple(axes))

    def _akey(self) -> str:
        return self._basic(self["a"])

    def _fancy(self) -> str:
        return self._gathering(self["a"])

    def _wkey(self) -> str:
        pick = self._basic if self.rng.random() < 0.6 else self._gathering
        return pick(self["w"])

    def _rows(self) -> str:
        return str(self._indices(len(self.draft.names[self["w"]]), self.rng.randint(1, 4)))

    def _s(self) -> str:
        return self._fitting(f"{self['w']}[{self['wkey']}]")

    def _t(self) -> str:
        return self._fitting(self["w"])

    _u = _t

    def _r(self) -> str:
        return self._fitting(f"{self['w']}[{self['rows']}]")

    def _e(self) -> str:
        return self.expression(1)

    _f = _e

    def expression(self, depth: int) -> str:
        chance = self.rng.random()
        if depth > 2 or chance < 0.3:
            return self._c() if chance < 0.05 else self._x()
        forms = UNARY if chance < 0.5 else BINARY if chance < 0.75 else REDUCTIONS
        if chance > 0.9:
            forms = ["{a}[{akey}]", "{a}[{fancy}]"]
        inner = Fields(self.draft)
        inner._e = inner._f = lambda: self.expression(depth + 1)  # type: ignore[method-assign]
        return self.rng.choice(forms).format_map(inner)

    def _fitting(self, target: str) -> str:
        """An expression that can be broadcast to the shape of another, if one is found."""
        wanted = self.draft.value(target)
        for _ in range(10 if wanted is not None else 0):
            expression = self.expression(1)
            got = self.draft.value(expression)
            if got is not None and fits(got.shape, wanted.shape):  # type: ignore[union-attr]
                return expression
        return "np.sum(x)"

    def _indices(self, length: int, count: int) -> list[int]:
        if length == 0:
            raise LookupError
        return [self.rng.randint(-length, length - 1) for _ in range(count)]

    def _slice(self, n: int) -> str:
        ends = ["", *map(str, range(-n - 1, n + 2))]
        step = self.rng.choice(["", "", "-1", "-2", "2", "3"])
        plain = self.rng.choice([":", "::-1"])
        cut = f"{self.rng.choice(ends)}:{self.rng.choice(ends)}:{step}"
        return plain if self.rng.random() < 0.4 else cut

    def _basic(self, name: str) -> str:
        shape = self.draft.names[name].shape
        parts = []
        for length in shape[: self.rng.randint(1, len(shape))]:
            single = length and self.rng.random() < 0.4
            parts.append(str(self._indices(length, 1)[0]) if single else self._slice(length))
            if self.rng.random() < 0.1:
                parts.append("None")
        # With an ellipsis NumPy makes views of single elements: 0-d arrays, numbers here.
        if self.rng.random() < 0.2 and any(":" in part for part in parts):
            parts.insert(self.rng.randint(0, len(parts)), "...")
        return ", ".join(parts)

    def _gathering(self, name: str) -> str:
        array = self.draft.names[name]
        if self.rng.random() < 0.25:
            return f"{name} > {self._c()}"
        if self.rng.random() < 0.1:
            return f"np.array({[self.rng.random() < 0.5 for _ in range(len(array))]}, dtype=bool)"
        count = self.rng.randint(1, 3)
        parts = []
        for length in array.shape[: self.rng.randint(1, array.ndim)]:
            form = self.rng.random()
            if form < 0.6 or not parts:
                indices: Any = self._indices(length, count)
                parts.append(str([[index] for index in indices] if form < 0.1 else indices))
            else:
                parts.append(self.rng.choice([self._slice(length), "None, :", "0"]))
        return ", ".join(parts)

    def _is_near_kink(self, line: str) -> bool:
        """Whether a comparison or an extremum in a line is close to a tie."""
        value = self.draft.value
        for name, limit in re.findall(r"(\bx|\ba\d+) > (-?[\d.]+)", line):
            if numpy.any(numpy.abs(value(name) - float(limit)) < SAFE):
                return True
        for name, limit in re.findall(r"range\(len\((a\d+)\)\):\n.* > ([\d.]+)", line):
            squares = [numpy.sum(row * row) for row in value(name)]
            if any(abs(square - float(limit)) < SAFE for square in squares):
                return True
        if "np.m" in line and "imum(" in line:
            pair = value(line.split("imum", 1)[1])
            return pair is None or pair.ndim == 0 or bool(numpy.any(abs(pair[0] - pair[1]) < SAFE))
        return False


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    try:
        return numpy.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


BRANCHES = [
    "a{k} = {a} * 2.0 if np.sum({a}) > 0.3 else {a} - 0.5",
    "a{k} = np.sin({a}) if ({a} > -0.4).all() else {a} * {a}",
    "a{k} = {a} + 1.0 if ({a} > 0.6).any() else 0.3 * {a}",
    "a{k} = max(np.sum({a}), np.sum({a} * {a}), 0.2) * {a}",
    "a{k} = min({a}.ravel()) * {a}",
    "a{k} = {a} * 1.0\nwhile 1.2 < np.sum(a{k} * a{k}) < 1e3: a{k} = a{k} * 0.5",
    "a{k} = np.stack([t if t > 0.1 else -t for t in {a}.ravel()])",
    "a{k} = np.concatenate([{a}.ravel()[::-1], np.where({a} > 0.0, {a}, 0.3).ravel()])",
    "a{k} = {a}.copy()\nfor t in a{k}:\n  if np.sum(t) < 0.0: a{k}[0] = a{k}[0] + 0.25 * t",
]


def drafted(seed: int) -> tuple[Function, Array, str]:
    """A program that branches, as a function of an array or a number; a point, and the text."""
    rng = random.Random(seed)
    draft = Draft(rng, 12)
    for _ in range(rng.randint(2, 8)):
        draft.step()
        if rng.random() < 0.4:
            draft.branch()
    outputs = draft.outputs()
    f = runs(draft.lines, outputs)
    return lambda x: f(x, cnp), draft.x, text(draft.lines, outputs)


def elsewhere(x: Array, rng: random.Random) -> list[Any]:
    """A point of a program, and others; floats for 0-d ones."""
    generator = numpy.random.default_rng(rng.randrange(10**9))
    others = [x, x * 0.9, generator.uniform(-1.5, 1.5, x.shape), -x, x * 0.0]
    others.append(generator.choice([0.4, -0.4], x.shape))
    return [x.copy() if x.ndim else float(x) for x in others]


# --- programs of single numbers ------------------------------------------------------------------

TAME_TERMS = forms("""
    ({a} + {b})  ({a} - {b})  ({a} * {b} * 0.25)  ({a} / (1.5 + {b} * {b}))  np.sin({a})
    np.tanh({a} + {b})  np.exp(-{a} * {a})  np.sqrt(1.0 + {a} * {a})  np.maximum({a}, {b})
    np.minimum({a}, {c})  np.where({a} < {b}, {a} * 0.5, {b})  max({a}, {b})  min({a}, {b}, {c})
    abs({a})  np.arctan2({a}, 2.0 + {b} * {b})  0.5 * {a}  (-{a})  ({a} + {c})
""")
WILD_TERMS = forms("""
    ({a} * {b})  ({a} / {b})  np.exp({a})  np.log({a})  np.sqrt({a})  ({a} ** 2)  ({a} ** 3)
    ({a} ** {b})  ({a} ** -1.0)  ({a} ** 0.5)  (2.0 ** {a})  ({a} * 0.0)  ({a} + 0.0)  ({a} - {a})
    ({a} / {a})  (0.0 - {a})  (1.0 * {a})  (0.0 / {a})  ({a} % 3.0)  np.sign({a})  np.floor({a})
    np.expm1({a})  np.hypot({a}, {b})  np.cosh({a})  ({a} * 1e200)  ({a} * 1e-200)
    np.clip({a}, -1.0, 1.0)  np.logaddexp({a}, {b})
""")


class Script:
    """A program as text: f(x) of a vector of four numbers."""

    def __init__(self, rng: random.Random, wild: bool, start: str = "np.zeros(5)") -> None:
        self.rng = rng
        self.terms = TAME_TERMS + WILD_TERMS if wild else TAME_TERMS
        self.lines = ["v = [x[0], x[1], x[2], x[3], 1.5, x[0] * x[1]]", f"w = {start}"]
        for _ in range(rng.randint(3, 9)):
            self.statement("", 0)
        ends = [
            "return v[0] + v[1] * v[2] - v[5]",
            "return sum(v)",
            "return v[0] * v[3] + sum(w)",
            "return sum(t * t for t in w) + v[2]",
        ]
        self.lines.append(rng.choice(ends))

    def operand(self) -> str:
        chance = self.rng.random()
        if chance < 0.1:
            return repr(self.rng.choice([0.0, -0.0, 1.0, -1.0, 2.0, 0.3, 3.0]))
        if chance < 0.25:
            return f"w[{self.rng.randrange(5)}]"
        return f"v[{self.rng.randrange(6)}]"

    def term(self) -> str:
        operands = {name: self.operand() for name in "abc"}
        if self.rng.random() < 0.3:
            operands["a"] = self.rng.choice(self.terms).format(**operands)
        return self.rng.choice(self.terms).format(**operands)

    def condition(self) -> str:
        compare = self.rng.choice(["<", "<=", ">", ">=", "<", "==", "!="])
        return f"{self.operand()} {compare} {self.rng.choice([self.operand(), '0.4', '0.0'])}"

    def statement(self, indent: str, depth: int) -> None:
        kind = self.rng.choice(
            ["set"] * 5 + ["put", "if", "for", "while", "return", "call", "swap"]
        )
        if depth > 2 or kind == "set":
            self.lines.append(f"{indent}v[{self.rng.randrange(6)}] = {self.term()}")
        elif kind == "put":
            self.lines.append(f"{indent}w[{self.rng.randrange(5)}] = {self.term()}")
        elif kind == "swap":
            self.lines.append(f"{indent}for j in range(4, 0, -1):")
            self.lines.append(f"{indent}  w[j] += w[j - 1] * {self.operand()}")
        elif kind == "return":
            self.lines.append(f"{indent}if {self.condition()}:")
            self.lines.append(f"{indent}  return {self.term()}")
        elif kind == "call":
            name = f"v[{self.rng.randrange(6)}]"
            self.lines.append(
                f"{indent}{name} = again({self.operand()}, {self.rng.randint(0, 4)})"
            )
        else:
            head = {
                "if": f"if {self.condition()}:",
                "for": f"for i in range({self.rng.randint(0, 4)}):",
                "while": f"for i in range(6):\n{indent}  if not ({self.condition()}): break",
            }[kind]
            self.lines.append(indent + head)
            for _ in range(self.rng.randint(1, 3)):
                self.statement(indent + "  ", depth + 1)
            if kind == "if" and self.rng.random() < 0.6:
                self.lines.append(f"{indent}else:")
                self.statement(indent + "  ", depth + 1)

    @property
    def text(self) -> str:
        return "def f(x):\n  " + "\n".join(self.lines).replace("\n", "\n  ") + "\n"

    def function(self) -> Function:
        scope: dict[str, Any] = {"np": cnp, "again": again}
        exec(self.text, scope)
        return scope["f"]  # type: ignore[no-any-return]


def again(a: Any, depth: int) -> Any:
    """Recursion that ends early for small numbers."""
    return a if depth == 0 or abs(a) < 0.1 else again(0.6 * a + 0.05 * cadiff.sin(a), depth - 1)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.4, math.nan, math.inf, -math.inf, 1e300, -1e300, 1e-300, 5e-324]


def points(rng: random.Random, n: int = 4) -> list[Array]:
    """Points at random, with ties, and with numbers at which formulas end."""
    ordinary = [[rng.uniform(-2, 2) for _ in range(n)] for _ in range(6)]
    tied = [[rng.choice([0.4, 0.0, 1.0, -1.0])] * n, [rng.choice([0.4, -0.4]) for _ in range(n)]]
    special = [[rng.choice([*SPECIAL, rng.uniform(-2, 2)]) for _ in range(n)] for _ in range(6)]
    return [numpy.array(p) for p in ordinary + tied + special]
