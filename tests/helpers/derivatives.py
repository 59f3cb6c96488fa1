"""The harness by which every function of arrays is tested: one case, all modes.

A case says how a function is called, as a program written for NumPy (or SciPy) would say it: its
call gets the module as first argument. So one case serves four times: with the original on plain
arrays (the truth about values), with the package on plain arrays, with the package on numbers with
derivatives, and with the original on numbers with derivatives (NumPy's dispatch).

Derivatives are compared with differences of the original, with each other (reverse by the
dot-product identity), and to second order in all four nestings of the modes. This module knows the
gradient functions of the package and nothing of how a function is made.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import cadiff

Array: TypeAlias = NDArray[np.float64]
Arrays: TypeAlias = tuple[Array, ...]

STEP = 2.0**-9  # the error of the difference quotient is that of 4th order: 1.5e-11 relative


@dataclass(frozen=True)
class Drawn:
    """Arguments of some shapes; the same can be drawn of others.

    Attributes
    ----------
    make : callable
        `make(rng, shapes)`: a tuple of arrays.
    shapes : tuple of tuple of int
        One for each argument.
    """

    make: Callable[[np.random.Generator, tuple[tuple[int, ...], ...]], tuple[Any, ...]]
    shapes: tuple[tuple[int, ...], ...]

    def __call__(self, rng: np.random.Generator) -> tuple[Any, ...]:
        return self.make(rng, self.shapes)


@dataclass(frozen=True)
class Case:
    """One way to call one function.

    Attributes
    ----------
    name : str
        Stands in the name of the test; unique.
    call : callable
        `call(module, *args)`: a number, an array, or a flat tuple or list of them, all float.
    args : callable
        `args(rng)`: a tuple of floats and arrays, drawn from a `numpy.random.Generator`; points at
        which the function is smooth within `STEP`.
    argnums : tuple of int
        Which of the arguments are differentiated.
    rtol : float
        Of derivatives against differences, relative to their largest element.
    value_rtol : float
        Of values on numbers with derivatives against the original's, element by element; 0 demands
        the same bits.
    order : int
        1 if second derivatives are not to be compared with differences.
    dispatch : bool
        Whether the original itself takes numbers with derivatives (not if it gets plain lists).
    """

    name: str
    call: Callable[..., Any]
    args: Callable[[np.random.Generator], tuple[Any, ...]]
    argnums: tuple[int, ...] = (0,)
    rtol: float = 1e-7
    value_rtol: float = 4e-15
    order: int = 2
    dispatch: bool = True

    def draw(self, seed: int = 0) -> tuple[Any, ...]:
        """The arguments; the same for the same name and seed."""
        return self.args(np.random.default_rng([zlib.crc32(self.name.encode()), seed]))


@dataclass
class Program:
    """A case at one point: a function of its differentiated arguments, with arrays as results."""

    case: Case
    module: Any
    args: tuple[Any, ...] = field(default_factory=tuple)

    @property
    def point(self) -> Arrays:
        return tuple(np.asarray(self.args[k], dtype=float) for k in self.case.argnums)

    def __call__(self, *numbers: Any) -> dict[str, Any]:
        args = list(self.args)
        for k, number in zip(self.case.argnums, numbers, strict=True):
            args[k] = number
        return named(as_tuple(self.case.call(self.module, *args)))

    def plain(self, *numbers: Any) -> Arrays:
        return tuple(np.asarray(item, dtype=float) for item in self(*numbers).values())


def named(results: Sequence[Any]) -> dict[str, Any]:
    """Results under names: a flat tuple of numbers would be taken for a vector."""
    return {str(k): result for k, result in enumerate(results)}


def as_tuple(result: Any) -> tuple[Any, ...]:
    """Results as a flat tuple: of one number or array, or of several."""
    if isinstance(result, dict):
        return tuple(result.values())
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def directions(like: Sequence[Any], rng: np.random.Generator) -> Arrays:
    """Random arrays of the shapes given."""
    return tuple(np.asarray(rng.normal(size=np.shape(item))) for item in like)


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The sum of the products of the elements of two tuples of arrays."""
    return float(sum(np.sum(np.asarray(x) * np.asarray(y)) for x, y in zip(xs, ys, strict=True)))


def difference(f: Callable[..., Arrays], xs: Arrays, ts: Arrays, step: float = STEP) -> Arrays:
    """The derivative of f at xs along ts, by central differences of fourth order.

    Abramowitz and Stegun, Handbook of Mathematical Functions, table 25.2.
    """

    def at(k: int) -> Arrays:
        return f(*(x + (k * step) * t for x, t in zip(xs, ts, strict=True)))

    near = zip(at(1), at(-1), at(2), at(-2), strict=True)
    return tuple((8.0 * (a - b) - (c - d)) / (12.0 * step) for a, b, c, d in near)


def assert_near(got: Sequence[Any], wanted: Sequence[Any], rtol: float, what: str) -> None:
    """Tuples of arrays agree in shape, and in value relative to the largest element."""
    assert len(got) == len(wanted), what
    scale = max((np.max(np.abs(w), initial=0.0) for w in wanted), default=0.0)
    for g, w in zip(got, wanted, strict=True):
        assert np.shape(g) == np.shape(w), (what, np.shape(g), np.shape(w))
        np.testing.assert_allclose(g, w, rtol=0.0, atol=rtol * max(scale, 1e-3), err_msg=what)


# --- derivatives of a program -----------------------------------------------------------------


def forward(f: Callable[..., Any], xs: Arrays, ts: Arrays) -> tuple[Any, ...]:
    return as_tuple(cadiff.jvp(f, xs, ts)[1])


def reverse(f: Callable[..., Any], xs: Any, us: Arrays) -> tuple[Any, ...]:
    _, pullback = cadiff.vjp(f, *xs)
    return as_tuple(pullback(named(us)))


def pushed(f: Callable[..., Any], ts: Arrays) -> Callable[..., Any]:
    """The derivative of f along ts, as a function of the point."""
    return lambda *xs: cadiff.jvp(f, xs, ts)[1]


def pulled(f: Callable[..., Any], us: Arrays) -> Callable[..., Any]:
    """The gradient of <us, f>, as a function of the point."""
    return lambda *xs: named(reverse(f, xs, us))


# --- checks --------------------------------------------------------------------------------------


def check_value(case: Case, original: Any, package: Any, seed: int = 0) -> None:
    """Values are the original's: on plain arrays to the bit, on Var and Dual to value_rtol."""
    args = case.draw(seed)
    wanted = as_tuple(case.call(original, *args))
    same = as_tuple(case.call(package, *args))
    for got, want in zip(same, wanted, strict=True):
        assert type(got) is type(want) or isinstance(got, cadiff.Var), (type(got), type(want))
        np.testing.assert_array_equal(cadiff.value(got), want)
        assert np.shape(got) == np.shape(want)

    for kind, module, run in _numbers(case, original, package):
        program = Program(case, module, args)

        def compare(*numbers: Any, program: Program = program, kind: str = kind) -> Any:
            results = as_tuple(program(*numbers))
            assert len(results) == len(wanted), kind
            for got, want in zip(results, wanted, strict=True):
                assert isinstance(got, (cadiff.Var, cadiff.Dual)), (kind, type(got))
                value = cadiff.value(got)
                assert np.shape(value) == np.shape(want) == got.shape, (kind, np.shape(value))
                np.testing.assert_allclose(
                    value, want, rtol=case.value_rtol, atol=0.0, err_msg=kind
                )
            return 0.0

        run(compare, program.point)


def _on_vars(f: Callable[..., Any], point: Arrays) -> None:
    cadiff.vjp(f, *point)


def _on_duals(f: Callable[..., Any], point: Arrays) -> None:
    cadiff.jvp(f, point, tuple(np.ones(x.shape) for x in point))


def _numbers(
    case: Case, original: Any, package: Any
) -> Iterator[tuple[str, Any, Callable[[Callable[..., Any], Arrays], None]]]:
    yield "Var", package, _on_vars
    yield "Dual", package, _on_duals
    if case.dispatch:
        yield "Var through NumPy", original, _on_vars
        yield "Dual through NumPy", original, _on_duals


def check_modes(case: Case, original: Any, package: Any, seed: int = 0) -> None:
    """Forward mode is the limit of differences, and reverse mode is its transpose."""
    args = case.draw(seed)
    rng = np.random.default_rng(seed + 1)
    program, truth = Program(case, package, args), Program(case, original, args)
    xs = program.point
    ts = directions(xs, rng)
    pushed_forward = forward(program, xs, ts)
    assert_near(pushed_forward, difference(truth.plain, xs, ts), case.rtol, "jvp, differences")

    us = directions(pushed_forward, rng)
    pulled_back = reverse(program, xs, us)
    for x, gradient in zip(xs, pulled_back, strict=True):
        assert np.shape(gradient) == x.shape
    left, right = inner(us, pushed_forward), inner(pulled_back, ts)
    terms = inner(map_abs(us), map_abs(pushed_forward)) + inner(map_abs(pulled_back), map_abs(ts))
    assert abs(left - right) <= 1e-11 * max(terms, 1e-3), ("vjp, jvp", left, right)


def map_abs(xs: Sequence[Any]) -> Arrays:
    return tuple(np.abs(np.asarray(x)) for x in xs)


def check_second_order(case: Case, original: Any, package: Any, seed: int = 0) -> None:
    """The Hessian of <us, f> along two directions: differences, and all nestings alike.

    What is 0 may have a derivative: so reverse mode is differentiated where cotangents are 0.
    """
    args = case.draw(seed)
    rng = np.random.default_rng(seed + 2)
    program, truth = Program(case, package, args), Program(case, original, args)
    xs = program.point
    us = directions(truth.plain(*xs), rng)
    ss, ts = directions(xs, rng), directions(xs, rng)

    gradient = pulled(program, us)
    column = forward(gradient, xs, ts)  # forward over reverse
    if case.order > 1:
        wanted = difference(lambda *at: tuple(map(np.asarray, as_tuple(gradient(*at)))), xs, ts)
        assert_near(column, wanted, case.rtol, "forward over reverse, differences")
    assert_near(reverse(gradient, xs, ts), column, 1e-10, "reverse over reverse")

    nothing = tuple(0.0 * u for u in us)
    transposed = reverse(lambda *us: named(reverse(program, xs, us)), nothing, ts)
    assert_near(transposed, forward(program, xs, ts), 1e-10, "the transpose of reverse, forward")

    scale = inner(map_abs(ss), map_abs(column))
    nested = {
        "forward over forward": inner(us, forward(pushed(program, ss), xs, ts)),
        "reverse over forward": inner(reverse(pushed(program, ss), xs, us), ts),
    }
    for name, got in nested.items():
        assert abs(got - inner(ss, column)) <= 1e-10 * max(scale, 1e-3), (name, got)


def check(case: Case, original: Any, package: Any, seed: int = 0) -> None:
    """All checks of a case at one point."""
    check_value(case, original, package, seed)
    check_modes(case, original, package, seed)
    check_second_order(case, original, package, seed)
