"""Random programs over arrays: one text, run on NumPy and on `cadiff.numpy`.

A program reads, views, assigns and mixes arrays in any order. What it computes must be what NumPy
computes; its derivatives must be the same in all modes and nestings, and the limit of differences
of the program run on NumPy. The programs that once failed stand below, one by one.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import Var

from ..helpers.properties import examples

Array = numpy.ndarray
Function = Callable[..., Any]

# --- programs as text ----------------------------------------------------------------------------

# What stands in braces is filled in by Draft: {a}, {b} arrays, {w} one that may be written to, {x}
# anything, {e}, {f} expressions, {akey}, {wkey} indices, {fancy} one that gathers, {s} what fits
# {w}[{wkey}], {t} and {u} what fits {w}, {i}, {j} axes of {a}, {axis} one or none, {perm} an order
# of its axes, {c} a number, {shape} a shape, {rows} indices of rows of {w}, {r} what fits those.
UNARY = [
    "np.sin({e})",
    "np.tanh({e})",
    "(0.5 * {e})",
    "(-{e})",
    "np.exp(-(({e}) ** 2))",
    "np.cos({e})",
    "(1.0 / (2.0 + np.sin({e})))",
    "np.sqrt(1.5 + np.sin({e}))",
    "(0.3 * np.square({e}))",
]
BINARY = [
    "({e} + {f})",
    "({e} * {f})",
    "({e} - {f})",
    "np.arctan2({e}, 3.0 + np.sin({f}))",
    "np.hypot({e}, 1.0 + ({f}) ** 2)",
    "({e} / (2.5 + np.cos({f})))",
]
REDUCTIONS = [
    "np.sum({a}, axis={axis}, keepdims={flag})",
    "np.mean({a}, axis={axis}, keepdims={flag})",
    "np.prod({a}, axis={axis}, keepdims={flag})",
    "{a}.sum()",
    "np.add.reduce({a}, axis=0)",
]
VIEWS = [
    "{a}[{akey}]",
    "{a}[{akey}]",
    "{a}[{akey}]",
    "{a}.T",
    "{a}.ravel()",
    "{a}.reshape(-1)",
    "np.transpose({a}, {perm})",
    "np.swapaxes({a}, {i}, {j})",
    "np.moveaxis({a}, {i}, {j})",
    "np.squeeze({a}[..., None], -1)",  # to a single number it is no view
    "np.expand_dims({a}, {i})",
    "np.flip({a}, {i})",
    "np.rot90({a})",
    "np.atleast_2d({a})",
    "np.broadcast_to({a}, (2, *{a}.shape))",
    "{a}[..., None]",
    "np.diagonal({a})",
    "np.array_split({a}, 2)[0]",
]
COPIES = [
    "{a}[{fancy}]",
    "{a}[{fancy}]",
    "{a}[{fancy}]",
    "{a}.flatten()",
    "{a}.copy()",
    "np.array({a})",
    "np.triu({a})",
    "np.roll({a}, 1, axis={i})",
    "np.repeat({a}, 2, axis={i})",
    "np.tile({a}, 2)",
    "np.take({a}, [0, 0, -1], axis=0)",
    "np.pad({a}, 1)",
    "np.cumsum({a}, axis={i})",
    "np.cumprod({a}, axis={i})",
    "np.diff({a}, axis={i})",
    "np.trace({a})",
    "np.delete({a}, 0, axis=0)",
    "0.3 * ({a} @ {b})",
    "0.3 * ({a} @ {b}.T)",
    "0.3 * np.dot({a}, {b})",
    "0.3 * np.inner({a}, {b})",
    "0.3 * np.outer({a}, {b})",
    "0.3 * np.tensordot({a}, {b}, axes=1)",
    "np.array(np.einsum('i...->i', {a}))",
    "np.stack([{x}, {y}])",
    "np.stack([{x}, {e}], axis=-1)",
    "np.concatenate([{x}, {y}])",
    "np.concatenate([{x}, {e}], axis=-1)",
    "np.concatenate([{x}, {y}], axis=None)",
    "np.hstack([{x}, {e}])",
    "np.array([np.sum({x}), 1.0, np.sum({y})])",
    "np.array([{x}, {y}])",
    "np.r_[{x}, {y}]",
    "np.array([t * 0.5 for t in {a}])",
    "sum({a}[i] * {a}[i - 1] for i in range(len({a})))",
    "np.where({x} > {c}, {e}, {f})",
    "np.maximum({e}, {f})",
    "np.minimum({e}, {f})",
    "np.zeros({shape})",
    "np.full({shape}, np.sum({x}))",
    "np.zeros_like({a})",
    "np.ones_like({a})",
]
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


# --- what holds of a program ---------------------------------------------------------------------


def near(got: Any, wanted: Any, rtol: float, what: str) -> None:
    """Floats of the same shape, near relative to the largest of them."""
    got = numpy.asarray(got)
    assert got.dtype == float, (what, got.dtype)
    assert got.shape == numpy.shape(wanted), (what, got.shape, numpy.shape(wanted))
    scale = max(1.0, numpy.max(numpy.abs(wanted), initial=0.0))
    numpy.testing.assert_allclose(got, wanted, rtol=0.0, atol=rtol * scale, err_msg=what)


def differences(f: Function, x: Array, step: float = 2.0**-11) -> Array:
    """The Jacobian of f, by central differences of fourth order.

    Abramowitz and Stegun, Handbook of Mathematical Functions, table 25.2.
    """
    columns = []
    for k in range(x.size):
        direction = numpy.zeros(x.size)
        direction[k] = step
        t = direction.reshape(x.shape)
        near_pair, far_pair = f(x + t) - f(x - t), f(x + 2 * t) - f(x - 2 * t)
        columns.append((8.0 * near_pair - far_pair) / (12.0 * step))
    rows = numpy.shape(f(x))
    return (
        numpy.stack(columns, axis=-1).reshape(rows + x.shape)
        if columns
        else numpy.zeros(rows + x.shape)
    )


def contract(tensor: Array, direction: Any, x: Array) -> Any:
    """The tensor's last axes, which are those of x, along a direction."""
    return numpy.tensordot(tensor, direction, x.ndim)


def check(f: Function, x: Array, third: bool = False) -> None:
    """Values, first and second derivatives of f(x, np), in all modes; third ones if asked for."""
    argument: Any = x.copy() if x.ndim else float(x)

    def plain(at: Array) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(at.copy() if at.ndim else float(at), numpy)

    def program(at: Any) -> Any:
        return f(at, cnp)

    wanted = plain(x)
    rng = numpy.random.default_rng(0)
    u, v = rng.normal(size=wanted.shape), rng.normal(size=x.shape)
    direction: Any = v if x.ndim else float(v)

    # First order.
    jacobian = numpy.asarray(cadiff.jacrev(program)(argument))
    near(jacobian, differences(plain, x), 1e-7, "jacrev, differences")
    near(cadiff.jacfwd(program)(argument), jacobian, 1e-12, "jacfwd")
    value, pullback = cadiff.vjp(program, argument)
    near(value, wanted, 1e-13, "value of vjp")
    for again in ("", ", again"):
        near(pullback(u), numpy.tensordot(u, jacobian, 1), 1e-12, "vjp" + again)
    value, tangent = cadiff.jvp(program, (argument,), (direction,))
    near(value, wanted, 1e-13, "value of jvp")
    near(tangent, contract(jacobian, v, x), 1e-12, "jvp")
    value, linear = cadiff.linearize(program, argument)
    near(value, wanted, 1e-13, "value of linearize")
    near(linear.todense(), jacobian.reshape(wanted.size, x.size), 1e-12, "todense")
    near(linear(direction), tangent, 1e-12, "push of linearize")
    near(linear.vjp(u), pullback(u), 1e-12, "pull of linearize")

    if numpy.max(numpy.abs(jacobian), initial=0.0) > 1e2:
        return  # so steep that second differences say nothing

    # A number out of it: gradients, in transforms and in free form.
    def number(at: Any) -> Any:
        return cnp.sum(cnp.sin(program(at)) * u)

    slope = numpy.tensordot(numpy.cos(wanted) * u, jacobian, 1)
    value, gradient = cadiff.value_and_grad(number)(argument)
    near(value, numpy.sum(numpy.sin(wanted) * u), 1e-12, "value of value_and_grad")
    near(gradient, slope, 1e-12, "gradient")
    check_free_form(number, argument, slope)

    # Second order.
    gradient_of = cadiff.grad(number)
    hessian = numpy.asarray(cadiff.hessian(number)(argument))
    near(hessian, differences(lambda at: numpy.asarray(gradient_of(at)), x), 1e-6, "hessian")
    nestings = {
        "forward over reverse": cadiff.jacfwd(gradient_of),
        "reverse over reverse": cadiff.jacrev(gradient_of),
        "reverse over forward": cadiff.jacrev(cadiff.jacfwd(number)),
        "forward over forward": cadiff.jacfwd(cadiff.jacfwd(number)),
    }
    for name, nested in nestings.items():
        near(nested(argument), hessian, 1e-11, name)
    along = contract(hessian, v, x)
    near(cadiff.hvp(number)(argument, direction), along, 1e-11, "hvp")
    near(cadiff.jvp(gradient_of, (argument,), (direction,))[1], along, 1e-11, "jvp of grad")
    if third:
        check_third_order(number, argument, x)
    numpy.testing.assert_array_equal(argument, x, "the caller's array")


def check_free_form(number: Function, argument: Any, slope: Array) -> None:
    """backward() adds up, and the Var goes on living; unless the program makes arrays of floats.

    (Made outside of any differentiation, those are NumPy's own: they take no numbers.)
    """
    leaf = Var(argument)
    try:
        result = number(leaf)
    except TypeError as error:
        if not re.search("plain number by itself|ndarray|dtype float64", str(error)):
            raise
        return
    if not isinstance(result, Var):
        return
    for times in (1.0, 2.0):
        result.backward()
        near(leaf.grad, times * slope, 1e-12, "backward")
    near(leaf.value, argument, 0.0, "value of the leaf")
    leaf.zero_grad()
    cnp.sum(leaf * leaf).backward()
    near(leaf.grad, 2.0 * numpy.asarray(argument), 1e-15, "the leaf afterwards")


def check_third_order(number: Function, argument: Any, x: Array) -> None:
    gradient_of = cadiff.grad(number)
    hessian_of = cadiff.hessian(number)
    third = numpy.asarray(cadiff.jacfwd(hessian_of)(argument))
    wanted = differences(lambda at: numpy.asarray(hessian_of(at)), x)
    near(third, wanted, 1e-5, "jacfwd of hessian")
    jacfwd, jacrev = cadiff.jacfwd, cadiff.jacrev
    nestings = {
        "reverse, reverse, reverse": jacrev(jacrev(gradient_of)),
        "forward, reverse, reverse": jacfwd(jacrev(gradient_of)),
        "reverse, forward, reverse": jacrev(jacfwd(gradient_of)),
        "forward, forward, reverse": jacfwd(jacfwd(gradient_of)),
        "reverse, reverse, forward": jacrev(jacrev(jacfwd(number))),
        "forward, reverse, forward": jacfwd(jacrev(jacfwd(number))),
        "reverse, forward, forward": jacrev(jacfwd(jacfwd(number))),
        "forward, forward, forward": jacfwd(jacfwd(jacfwd(number))),
    }
    for name, nested in nestings.items():
        near(nested(argument), third, 1e-10, name)


# --- random programs -----------------------------------------------------------------------------

RANDOM = st.randoms(use_true_random=False)


def draw(rng: random.Random, lines: int, most: int) -> tuple[list[str], list[str], Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draft = Draft(rng, most)
        for _ in range(rng.randint(1, lines)):
            draft.step()
        return draft.lines, draft.outputs(), draft.x


def check_random(rng: random.Random, lines: int, most: int, third: bool) -> None:
    program, outputs, x = draw(rng, lines, most)
    try:
        check(runs(program, outputs), x, third)
    except Exception as error:
        raise AssertionError(f"\n{text(program, outputs)}\nat {x!r}: {error}") from error


@examples(300)
@given(rng=RANDOM)
def test_programs(rng: random.Random) -> None:
    check_random(rng, lines=8, most=18, third=False)


@examples(80)
@given(rng=RANDOM)
def test_short_programs_to_third_order(rng: random.Random) -> None:
    check_random(rng, lines=4, most=4, third=True)


@pytest.mark.parametrize("seed", range(100))
def test_long_programs(seed: int) -> None:
    check_random(random.Random(seed), lines=14, most=12, third=False)


# --- programs that once failed, and their neighbours ---------------------------------------------


ONCE_FAILED: list[Any] = []


def once_failed(*points: Any) -> Callable[[Function], Function]:
    """Note a program, with points to run it at."""

    def note(program: Function) -> Function:
        ONCE_FAILED.extend(pytest.param(program, x, id=program.__name__) for x in points)
        return program

    return note


@once_failed([0.83])
def assign_to_one_element(x: Any, np: Any) -> Any:
    y = np.sin(x)
    y[::-1] = np.cos(y)
    return y * y


@once_failed([0.83, 0.41])
def gather_one_element(x: Any, np: Any) -> Any:
    y = np.array(x)
    return y[[0]] * y[[0]] * x[:1]


@once_failed([0.83])
def scatter_one_element_twice(x: Any, np: Any) -> Any:
    y = np.array([x[0], 1.0, 2.0 * x[0]])
    y[[1, 1]] -= np.square(x)
    return y * y


@once_failed([0.83])
def add_at_one_element(x: Any, np: Any) -> Any:
    y = np.sin(x)
    np.add.at(y, [0, 0], x)
    return y * y


@once_failed(0.83)
def assign_into_part_of_joined_numbers(x: Any, np: Any) -> Any:
    y = np.array([x, 2.0 * x, 0.5])
    z = y[1:] * y[:-1]
    y[2] = 5.0
    return np.sum(z) * y


@once_failed(0.83)
def assign_overlapping_products(x: Any, np: Any) -> Any:
    y = np.array([x, 1.0, 0.3])
    y[0:2] = y[1:] * y[:-1]
    return y * y


@once_failed(0.983)
def assign_product_of_joined_numbers(x: Any, np: Any) -> Any:
    y = np.array([x, 1.0, x * x])
    y[1] += np.prod(y)
    return y


@once_failed([0.83, 0.41])
def assign_into_part_of_a_stack(x: Any, np: Any) -> Any:
    y = np.stack([x, np.sin(x), x * x])
    z = y[1:] * y[:-1]
    y[1] = z[0]
    return z * y[1:]


@once_failed([0.83, 0.41])
def assign_into_part_of_joined_arrays(x: Any, np: Any) -> Any:
    y = np.concatenate([x, np.sin(x)])
    z = y[1:] * y[:-1]
    y[1:] = y[:-1]
    return z * y[1:]


@once_failed([0.83, 0.41])
def assign_into_zeros(x: Any, np: Any) -> Any:
    y = np.zeros(3)
    y[0], y[1] = x[0], x[1]
    z = y[1:] * y[:-1]
    y[1:] = y[:-1]
    return np.sum(z * y[1:])


@once_failed([0.83, 0.41])
def assign_into_an_array_of_constants(x: Any, np: Any) -> Any:
    y = np.full((2,), 0.5)
    y[:1] *= x[1:]
    return y * x


@once_failed([0.83, 0.41])
def nothing_but_constants(x: Any, np: Any) -> Any:
    return np.zeros(3)


@once_failed([0.83, 0.41])
def assign_constants_of_ones_own(x: Any, np: Any) -> Any:
    y = np.sin(x)
    y[:1] = np.ones(1)
    y[1] = np.full(2, 0.3)[0]
    return y * x


@once_failed([0.83, 0.41])
def assign_into_a_linear_function(x: Any, np: Any) -> Any:
    y = 0.5 * x
    y[0] = np.sin(x[1])
    y[[1]] *= y[0]
    return y * y


@once_failed([0.83, 0.41])
def write_a_result_into_a_linear_function(x: Any, np: Any) -> Any:
    y = 0.5 * x
    np.tanh(y, out=y)
    return y * y


@once_failed([0.83, 0.41])
def augment_by_a_product(x: Any, np: Any) -> Any:
    y = x.copy()
    y *= np.sin(y)
    return y


@once_failed([0.83, 0.41])
def augment_a_row(x: Any, np: Any) -> Any:
    y = x.copy().reshape(2, 1)
    row = y[0]
    row += y[1]
    row *= row
    return y


@once_failed([0.83, 0.41, 0.6, 0.3])
def thin_matrix_product(x: Any, np: Any) -> Any:
    return np.sin(x[:, None] @ x[None, :])


@once_failed([0.83, 0.41])
def products_along_no_axis_of_interest(x: Any, np: Any) -> Any:
    np.cumprod(x, axis=-1)
    return np.cumprod(x.reshape(-1, 1), axis=0) * np.prod(x, axis=0)


@once_failed([0.83, 0.41])
def branch_on_where(x: Any, np: Any) -> Any:
    y = np.where(x[0] > -9.0, x[0], 1.0)
    return np.array([3.0 * x[0] if y > 0.2 else 5.0 * x[0]])


@once_failed([0.83, 0.41])
def branch_on_a_choice_of_where(x: Any, np: Any) -> Any:
    y = np.where(x[0] > -9.0, 0.5, x[0])
    return np.where(y > 0.2, x * x, x)


@once_failed([0.83, 0.41])
def where_in_a_list(x: Any, np: Any) -> Any:
    return np.array([np.where(x[0] > -9.0, x[0], 1.0), x[1]]) * 2.0


@once_failed([0.83, 0.41])
def add_at_broadcast(x: Any, np: Any) -> Any:
    y = np.sin(x)
    np.add.at(y, [0, 1, 0], x[:1])
    np.subtract.at(y, [1, 1], 0.5)
    return y * y


@once_failed([0.83, 0.41])
def add_at_broadcast_rows(x: Any, np: Any) -> Any:
    y = np.sin(np.outer(x, x))
    np.add.at(y, [0, 1, 0], x)
    np.multiply.at(y, ([0, 1, 0], [1, 1, 1]), x[1])
    return y * y


@once_failed([0.83, 0.41])
def add_at_from_itself(x: Any, np: Any) -> Any:
    y = np.sin(x)
    np.add.at(y, [1, 1], y)
    np.multiply.at(y, [1, 0], y[::-1])
    return y * y


@once_failed([0.83, 0.41])
def diagonals_see_later_writes(x: Any, np: Any) -> Any:
    y = np.outer(x, np.sin(x))
    z = np.diagonal(y)
    y[0] = x
    y[1] *= 2.0
    return z * z


@once_failed([0.83, 0.41])
def rows_and_columns_see_later_writes(x: Any, np: Any) -> Any:
    y = np.outer(x, np.sin(x))
    row, column, flat = y[0], y.T[1], y.reshape(-1)
    y[0, 1] = x[0]
    flat[3] *= 2.0
    column[0] += row[0]
    return np.concatenate([row * row, column, flat])


@once_failed([0.83, 0.41])
def empty_views(x: Any, np: Any) -> Any:
    y = np.sin(x)
    y[2:1, None] += np.ones(1)
    y[1:1] *= x[1:1]
    y[y > 9.0] *= x[x > 9.0]
    return y * np.sum(y[:0])


@once_failed([0.83, 0.41])
def empty_arrays(x: Any, np: Any) -> Any:
    y = np.outer(x, x[:0])
    y[:-1] = y[1:]
    y *= np.tanh(y)
    return x * np.sum(y)


@once_failed([0.83, 0.41])
def empty_selections_of_the_argument(x: Any, np: Any) -> Any:
    nothing = x[x > 9.0]
    np.add(0.0, 0.0, out=nothing.T, where=False)
    nothing[...] = x[0]
    nothing *= x[1:1]
    return x * np.sum(nothing)


@pytest.mark.parametrize(("program", "point"), ONCE_FAILED)
def test_programs_that_once_failed(program: Function, point: Any) -> None:
    def vector(x: Any, np: Any) -> Any:
        return np.concatenate([np.ravel(program(x, np)), 0.5 * np.ravel(x)])

    check(vector, numpy.array(point), third=True)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_third_order_in_the_memory_of_second_order(size: int) -> None:
    """Each row of a Jacobian is pulled through what was recorded, not through the rows before."""
    x = numpy.linspace(0.1, 1.0, size)
    numbers = []

    def gradient(x: Any) -> Any:
        def f(x: Any) -> Any:
            y = cnp.array(x)
            y[1:] -= cnp.sum(x)
            return cnp.sum(cnp.sin(y))

        return cadiff.grad(f)(x)

    def hessian(x: Any) -> Any:
        before = cadiff.binding.tape_usage()["numbers"]
        result = cadiff.jacrev(gradient)(x)
        numbers.append(cadiff.binding.tape_usage()["numbers"] - before)
        return result

    cadiff.vjp(hessian, x)
    assert numbers[0] < 200 * size**2
