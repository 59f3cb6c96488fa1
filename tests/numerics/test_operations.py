"""Every operation of the table against mathematics, in every mode of differentiation.

The tests are made from the rows of src/table/ops.def: a new row is tested as soon as it has a twin
in oracle.py, and fails by name until then. What is expected comes from that twin, or from NumPy
and SciPy, never from cadiff.

The error allowed is a few units in the last place, plus what rounding the operands could do.
"""

from __future__ import annotations

import importlib
import math
import operator
import random
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpmath import mp

import cadiff
from cadiff import Dual, Var

from ..helpers.oracle import (
    DIGITS,
    ORACLE,
    Index,
    NotSmoothError,
    Real,
    digits,
    missing_twin,
    taylor,
    twin_value,
)
from ..helpers.properties import examples
from ..helpers.table import ROWS, TABLE, Row, beyond, bounds, draw, edges, generate, middle, rows

Point: TypeAlias = tuple[float, ...]
Function: TypeAlias = Callable[..., Any]


# --- every way to a derivative -------------------------------------------------------------------


def unit(i: int, n: int) -> list[float]:
    return [float(j == i) for j in range(n)]


def innermost(number: Any) -> float:
    """The plain value of a number, however deep it is nested."""
    while isinstance(number, Dual):
        number = number.primal
    return float(cadiff.value(number))


def hand_made_duals(f: Function, x: Sequence[float]) -> list[float]:
    """The gradient by Duals that a user makes, one operand at a time, the others plain."""
    gradient = []
    for i in range(len(x)):
        operands: list[Any] = list(x)
        operands[i] = Dual(x[i], 1.0)
        out = f(*operands)
        gradient.append(out.tangent if isinstance(out, Dual) else 0.0)
    return gradient


def backward(f: Function, x: Sequence[float]) -> list[float]:
    """The gradient by Vars that a user makes."""
    variables = [Var(number) for number in x]
    out = f(*variables)
    if isinstance(out, Var):
        out.backward()
    return [float(variable.grad) for variable in variables]


def gradients(f: Function, x: Sequence[float]) -> dict[str, list[float]]:
    """The gradient of f, a function of len(x) numbers, by every mode there is."""
    n = len(x)
    every = tuple(range(n))
    inner = cadiff.grad(f, every)
    variables = [Var(number) for number in x]
    duals = [Dual(number, 1.0) for number in x]
    return {
        "reverse": list(inner(*x)),
        "reverse, the other operands constant": [cadiff.grad(f, i)(*x) for i in every],
        "backward": backward(f, x),
        "Dual": [cadiff.jvp(f, x, unit(i, n))[1] for i in every],
        "Dual, the other operands constant": [cadiff.derivative(f, i, x) for i in every],
        "Dual, made by hand": hand_made_duals(f, x),
        "Dual of several lanes": list(cadiff.gradient(f, x, mode="fwd")),
        "reverse, recorded": [innermost(g) for g in inner(*variables)],
        "reverse over Dual": [innermost(g) for g in inner(*duals)],
        "Dual over Var": [innermost(cadiff.derivative(f, i, variables)) for i in every],
        "Dual over Dual": [innermost(cadiff.derivative(f, i, duals)) for i in every],
    }


def hessians(f: Function, x: Sequence[float]) -> dict[str, list[list[float]]]:
    """The Hessian of f, a function of len(x) numbers, by every mode there is."""
    n = len(x)
    every = tuple(range(n))
    gradient = cadiff.grad(f, every)

    def forward(i: int) -> Function:
        return lambda *t: cadiff.derivative(f, i, t)

    def reverse(i: int) -> Function:
        return lambda *t: cadiff.grad(f, i)(*t)

    along = cadiff.hvp(lambda t: f(*t))
    columns = cadiff.jacfwd(gradient, every)(*x)
    return {
        "second-order sweep": [list(row) for row in cadiff.hessian(f, every)(*x)],
        "Hessian times vector": [along(list(x), unit(i, n)) for i in every],
        "reverse over reverse": [list(cadiff.grad(reverse(i), every)(*x)) for i in every],
        "forward over reverse": [[float(column[i]) for column in columns] for i in every],
        "reverse over forward": [list(cadiff.grad(forward(i), every)(*x)) for i in every],
        "forward over forward": [
            [cadiff.derivative(forward(i), j, x) for j in every] for i in every
        ],
    }


def diagonals(f: Function, x: Sequence[float]) -> list[dict[str, float]]:
    """The diagonal of the Hessian, the other operands constant."""
    return [
        {
            "second-order sweep, the other operands constant": cadiff.hessian(f, i)(*x),
            "Dual of Dual, the other operands constant": cadiff.derivative(f, i, x, order=2),
            "reverse over reverse, the other operands constant": (
                cadiff.grad(cadiff.grad(f, i), i)(*x)
            ),
        }
        for i in range(len(x))
    ]


EPSILON = sys.float_info.epsilon
SMALLEST = sys.float_info.min  # below this, doubles have fewer digits
LARGEST = sys.float_info.max

# --- points --------------------------------------------------------------------------------------

# Where a careless formula loses its digits; beside the random points.
HARD: dict[str, list[Point]] = {
    "xlogy": [(1e-300, 1e-300), (-1e-200, 1e-250), (1e300, 1e300)],
    "xlog1py": [(1e300, 1e300), (1e-300, 1e200), (1e200, 1e-200)],
    "power": [
        *[(-2.0, 3.0), (-2.0, -3.0), (-1.5, 2.0), (1e-200, 1.3), (1e200, 1.3), (1e200, -1.3)],
        *[(1e300, 1e-3), (1.0 + 1e-9, 1e9), (1.0 - 1e-9, -1e9), (3.0, 1.0), (3.0, 2.0)],
        *[(1e-300, 1e-300), (1e-160, -1e-20)],
    ],
    "sqrt": [(1e-300,), (1e300,)],
    "hypot": [(3e200, 4e200), (3e-160, 4e-160), (1.0, 1e-8), (1e-8, 1.0)],
    "expm1": [(1e-12,), (-1e-12,), (-40.0,)],
    "exp": [(-745.0,), (709.0,)],
    "log": [(1e-300,), (1.0 + 1e-12,), (1.0 - 1e-12,)],
    "log1p": [(1e-12,), (-1.0 + 1e-12,), (1e300,)],
    "logaddexp": [(1000.0, 1000.5), (-1000.0, -1000.5), (0.0, -40.0), (40.0, 0.0)],
    "logaddexp2": [(1000.0, 1000.5), (-1000.0, -1000.5), (0.0, -40.0), (40.0, 0.0)],
    "entr": [(1.0,), (math.exp(-1.0),)],
    "expit": [(40.0,), (-40.0,), (700.0,), (-700.0,), (1e-9,)],
    "log_expit": [(40.0,), (-40.0,), (700.0,), (-700.0,)],
    "softplus": [(40.0,), (-40.0,), (700.0,), (-700.0,)],
    "sin": [(0.0,), (math.pi,), (1e5,)],
    "cos": [(0.0,), (math.pi / 2,), (1e5,)],
    "tan": [(0.0,), (math.pi / 2 - 1e-9,), (math.pi,)],
    "arcsin": [(0.0,), (1.0 - 1e-9,), (-1.0 + 1e-9,), (1.0 - 1e-15,)],
    "arccos": [(0.0,), (1.0 - 1e-9,), (-1.0 + 1e-9,), (1.0 - 1e-15,)],
    "arctan": [(0.0,), (1e9,), (-1e-9,)],
    "arctan2": [(1.0, -1e-9), (-1e-9, -1.0), (1e200, 1e200), (1e-150, 1e-150)],
    "sinc": [
        (x,) for x in (0.0, 1e-9, 1e-3, 0.4, 0.5, 0.64, 1.0, 1.0 + 1e-9, 1.4303, -3.0, 1000.25)
    ],
    "tanh": [(0.0,), (0.97,), (0.98,), (20.0,), (-20.0,), (300.0,)],
    "sinh": [(0.0,), (1e-9,), (700.0,)],
    "cosh": [(0.0,), (1e-9,), (-700.0,)],
    "arcsinh": [(0.0,), (1e-9,), (-1e9,)],
    "arccosh": [(1.0 + 1e-12,), (1e9,)],
    "arctanh": [(0.0,), (1e-9,), (1.0 - 1e-12,)],
    "erf": [(0.0,), (1e-9,), (5.0,), (-20.0,)],
    "erfc": [(0.0,), (5.0,), (20.0,), (-5.0,)],
    "gamma": [(-2.5,), (-0.5,), (-100.3,), (1.4616321449683623,), (1e-9,), (170.0,), (0.5,)],
    "gammaln": [(-2.5,), (-0.5,), (-100.3,), (1.0 + 1e-9,), (2.0 - 1e-9,), (1e-9,), (1e200,)],
    "digamma": [(x,) for x in (1.4616321449683623, -0.5, -100.3, -0.504083008264455, 1e-9, 1e200)],
    "polygamma": [
        (n, x)
        for n in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
        for x in (1.4616321449683623, -0.5, -100.3, 1e-9, 25.0, 1e40, 1e200)
    ],
}


def is_smooth(name: str, point: Point) -> bool:
    try:
        taylor(name, *point)
    except NotSmoothError:
        return False
    return True


def in_range(name: str, point: Point) -> bool:
    """Whether no derivative overflows, and no value underflows whose derivatives are undefined."""
    jet = taylor(name, *point)
    vanishes = abs(jet[(0,) * len(point)]) < SMALLEST
    return not any(abs(d) > LARGEST or (vanishes and mp.isnan(d)) for d in jet.values())


@cache
def points(row: Row) -> list[Point]:
    """Points of an operation's domain at which it is smooth; the same ones in every run."""
    name = row.name
    rng = random.Random(zlib.crc32(name.encode()))
    drawn = list(zip(*(draw(domain, rng) for domain in row.domains), strict=True))
    if row.domain == ("R", "R"):  # operands of like size as well
        drawn += [(x, x * rng.choice((-1, 1)) * 10.0 ** rng.uniform(-2, 2)) for x, _ in drawn[:6]]
    smooth = [point for point in drawn if is_smooth(name, point)]
    # A row with kinks may have some at numbers that are drawn: all large numbers are whole.
    assert len(smooth) == len(drawn) or row.kinks, name
    if len(row.domain) > 1:  # operands of magnitudes far apart are of no use if all overflows
        smooth = [point for point in smooth if in_range(name, point)]
    assert len(smooth) >= 16, name
    return smooth + HARD.get(name, [])


def moving(row: Row) -> list[int]:
    """The operands that an operation is differentiated by: not those that are whole numbers."""
    return [i for i, domain in enumerate(row.domains) if not domain.is_whole]


def restricted(row: Row, point: Point) -> tuple[Function, Point]:
    """The operation as a function of the operands that move, and their values."""
    f = getattr(cadiff, row.name)
    free = moving(row)
    if len(free) == len(point):
        return f, point
    fixed = point[: len(point) - len(free)]  # whole numbers come first
    return (lambda *x: f(*fixed, *x)), point[len(fixed) :]


# --- how near is right ---------------------------------------------------------------------------

ULPS = 8

# (operation, order) that may be less accurate, and why.
EXCEPTIONS: dict[tuple[str, int], float] = {}


def raised(index: Index, i: int) -> Index:
    return index[:i] + (index[i] + 1,) + index[i + 1 :]


def tolerance(row: Row, point: Point, index: Index) -> Real:
    """The error allowed to a derivative: some ulp of it, and of its changes with the operands."""
    jet = taylor(row.name, *point)
    scale = abs(jet[index])
    for i in moving(row):
        change = jet[raised(index, i)]
        if not mp.isnan(change):
            scale += abs(point[i] * change)
    factor = EXCEPTIONS.get((row.name, sum(index)), 1.0)
    return factor * ULPS * EPSILON * scale + SMALLEST


def is_near(got: float, want: Real, allowed: Real) -> bool:
    """Whether a double is as near to a number as it has to be."""
    if mp.isnan(want) or math.isnan(got):
        return bool(mp.isnan(want)) and math.isnan(got)
    if math.isinf(got):
        return bool(got * mp.sign(want) > 0 and abs(want) + allowed >= LARGEST)
    return bool(abs(mp.mpf(got) - want) <= allowed)


class Findings:
    """Collects what is wrong with one operation, to be shown together."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.lines: list[str] = []

    def compare(self, point: Point, index: Index, results: dict[str, float]) -> None:
        """Note the modes by which a derivative is not near its true value."""
        with digits(DIGITS):
            want = taylor(self.row.name, *point)[index]
            allowed = tolerance(self.row, point, index)
            wrong: dict[str, list[str]] = {}
            for mode, got in results.items():
                if not is_near(got, want, allowed):
                    wrong.setdefault(repr(float(got)), []).append(mode)
            self.lines += [
                f"{self.row.name}{point}, derivative {index}: got {got}, expected "
                f"{mp.nstr(want, 17)} +- {mp.nstr(allowed, 3)}; by {', '.join(modes)}"
                for got, modes in wrong.items()
            ]

    def check(self) -> None:
        assert not self.lines, f"{len(self.lines)} wrong:\n" + "\n".join(self.lines[:12])


def full_index(row: Row, *by: int) -> Index:
    """The index of a derivative by some of the moving operands."""
    free = moving(row)
    return tuple(sum(free[k] == i for k in by) for i in range(len(row.operands)))


# --- against mathematics -------------------------------------------------------------------------


@rows(TABLE)
def test_has_a_twin(row: Row) -> None:
    assert row.name in ORACLE, missing_twin(row.name)


def test_no_twin_without_a_row() -> None:
    assert set(ORACLE) == {row.name for row in TABLE}


def test_derivatives_of_the_oracle() -> None:
    """Twins whose derivatives are known, at the places where differences are hard to take."""
    with digits(DIGITS):
        x, near = mp.mpf(1e-300), 1 - mp.mpf(1.0 - 1e-9)
        known = {
            ("log", (1e-300,)): [mp.log(x), 1 / x, -1 / x**2],
            ("sin", (0.0,)): [mp.zero, mp.one, mp.zero],
            ("relu", (1e-300,)): [x, mp.one, mp.zero],
            ("relu", (-1e-300,)): [mp.zero, mp.zero, mp.zero],
            ("floor", (0.3,)): [mp.zero, mp.zero, mp.zero],
            ("arcsin", (1.0 - 1e-9,)): [
                mp.pi / 2 - 2 * mp.asin(mp.sqrt(near / 2)),
                1 / mp.sqrt(near * (2 - near)),
                (1 - near) / mp.sqrt(near * (2 - near)) ** 3,
            ],
            ("gamma", (2.5,)): [mp.diff(mp.gamma, 2.5, n) for n in range(3)],
            ("gammaln", (-2.5,)): [
                mp.diff(lambda t: mp.log(-mp.gamma(t)), -2.5, n) for n in range(3)
            ],
            ("digamma", (-0.5,)): [mp.diff(mp.digamma, -0.5, n) for n in range(3)],
        }
        for (name, point), expected in known.items():
            jet = taylor(name, *point)
            for n, want in enumerate(expected):
                assert abs(jet[n,] - want) <= mp.mpf(10) ** -44 * abs(want), (name, point, n)
        for kink in ("absolute", "sqrt", "cbrt", "floor", "relu"):
            with pytest.raises(NotSmoothError):
                taylor(kink, 0.0)


def bits(number: float) -> bytes:
    """A double by its bits, but all nan alike."""
    return np.float64(number).tobytes() if number == number else b"nan"


@rows(ROWS)
def test_values_and_derivatives(row: Row) -> None:
    findings = Findings(row)
    plain = getattr(cadiff, row.name)
    for point in points(row):
        value = plain(*point)
        assert type(value) is float
        findings.compare(point, (0,) * len(point), {"value": value})
        assert bits(plain(*map(Var, point)).value) == bits(value), point
        assert bits(plain(*(Dual(x, 1.0) for x in point)).primal) == bits(value), point
        f, x = restricted(row, point)
        first, second = gradients(f, x), hessians(f, x)
        for i in range(len(x)):
            partials = {mode: gradient[i] for mode, gradient in first.items()}
            findings.compare(point, full_index(row, i), partials)
        for mode, gradient in first.items():  # one formula, so the very same number
            assert all(map(is_same, gradient, first["reverse"])), (point, mode)
        for i, j in product(range(len(x)), repeat=2):
            curvatures = {mode: hessian[i][j] for mode, hessian in second.items()}
            findings.compare(point, full_index(row, i, j), curvatures)
        for i, curvatures in enumerate(diagonals(f, x)):
            findings.compare(point, full_index(row, i, i), curvatures)
    findings.check()


# --- at the edges of the domain ------------------------------------------------------------------


def point_at(row: Row, i: int, number: float) -> Point:
    """The point at which one operand is a number, and the others are well inside."""
    return tuple(number if k == i else middle(domain) for k, domain in enumerate(row.domains))


def approach(row: Row, point: Point, i: int, index: Index) -> Real:
    """The limit of a derivative from inside the domain, infinities included."""
    low = row.domains[i].low
    near, nearer = (
        taylor(
            row.name,
            *(
                x + (10**-distance if x == low else -(10**-distance)) if k == i else x
                for k, x in enumerate(map(mp.mpf, point))
            ),
        )[index]
        for distance in (mp.mpf(150), mp.mpf(300))
    )
    grows = abs(nearer) > 1.5 * abs(near) and abs(nearer) > 100
    return mp.sign(nearer) * mp.inf if grows else nearer


@rows([row for row in ROWS if any(map(edges, row.domains))])
def test_derivatives_at_edges(row: Row) -> None:
    """At a bound that belongs to the domain a derivative is its limit from inside."""
    for i, bound in [(k, edge) for k in moving(row) for edge in edges(row.domains[k])]:
        point = point_at(row, i, bound)
        f, x = restricted(row, point)
        every = range(len(x))
        with digits(400):
            first = {k: approach(row, point, i, full_index(row, k)) for k in every}
            second = {
                (k, m): approach(row, point, i, full_index(row, k, m))
                for k, m in product(every, repeat=2)
            }
        for mode, gradient in gradients(f, x).items():
            for k, limit in first.items():
                assert gradient[k] == pytest.approx(float(limit), rel=1e-14), (mode, point, k)
        for mode, hessian in hessians(f, x).items():
            for (k, m), limit in second.items():
                got = hessian[k][m]
                assert got == pytest.approx(float(limit), rel=1e-14), (mode, point, k, m)


@rows([row for row in ROWS if any(map(bounds, row.domains))])
def test_outside_the_domain(row: Row) -> None:
    """There derivatives are nan; so are values, unless NumPy or SciPy have another one."""
    for which, i in enumerate(moving(row)):
        for outside in beyond(row.domains[i]):
            point = point_at(row, i, outside)
            f, x = restricted(row, point)
            assert bits(f(*x)) == bits(reference(row, *point)), point
            for mode, gradient in gradients(f, x).items():
                assert all(map(math.isnan, gradient)), (mode, point, gradient)
            for mode, hessian in hessians(f, x).items():
                assert math.isnan(hessian[which][which]), (mode, point, hessian)


# --- at zeros, infinities and nan ----------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e308, 5e-324]

# What some rows without a ufunc are called elsewhere.
ELSEWHERE: dict[str, Function] = {
    "ieee_remainder": math.remainder,
    "relu": lambda x: np.maximum(x, 0.0),
    "softplus": lambda x: np.logaddexp(0.0, x),
}


@cache
def ufunc_of(row: Row) -> Function | None:
    """The function of NumPy or SciPy that a row follows, if any."""
    if row.ufunc == "-":
        return None
    module, _, name = row.ufunc.rpartition(".")
    function: Function = getattr(importlib.import_module(module), name)
    return function


def reference(row: Row, *point: float) -> float:
    """The value by NumPy or SciPy, without their warnings; by the twin if the row follows none."""
    function = ufunc_of(row)
    if function is None:
        outside = any(
            not (math.isnan(x) or domain.contains(x) or x in bounds(domain))
            for x, domain in zip(point, row.domains, strict=True)
        )
        return math.nan if outside else float(twin_value(row.name, *point))
    return plainly(function, *point)


def plainly(function: Function, *point: float) -> float:
    """The value of a function of NumPy, SciPy or `math`, without warnings; nan for its errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return float(function(*point))
        except ValueError:  # of the module math, outside the domain
            return math.nan


def is_value(row: Row, point: Point, got: float, want: float) -> bool:
    """Whether a value is the reference's.

    The reference may leave it open at a bound that does not belong to the domain: there a value is
    anything but finite.
    """
    if math.isnan(want) and not any(map(math.isnan, point)):
        left_out = any(
            x in bounds(domain) and not domain.contains(x)
            for x, domain in zip(point, row.domains, strict=True)
        )
        if left_out and not math.isfinite(got):
            return True
    return bool(np.isclose(got, want, rtol=1e-14, atol=0.0, equal_nan=True))


def special_points(row: Row) -> Iterator[Point]:
    choices = []
    for domain in row.domains:
        numbers = [0.0, 1.0, 2.0] if domain.is_whole else SPECIAL
        choices.append(numbers + [bound for bound in bounds(domain) if bound not in SPECIAL])
    return product(*choices)


def is_same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def own_value(name: str, point: Point) -> bool:
    """Where a value is not that of the ufunc, because that one is not the function's value."""
    # SciPy overflows near 0, where log gamma is -log(x) = 744.44.
    return name == "gammaln" and point == (5e-324,)


@rows(ROWS)
def test_special_values(row: Row) -> None:
    """Values at zeros, infinities, nan and the largest and smallest numbers."""
    f = getattr(cadiff, row.name)
    wrong = []
    for point in special_points(row):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = f(*point), f(*map(Var, point)).value, f(*(Dual(x, 1.0) for x in point)).primal
        assert len(set(map(bits, got))) == 1, (point, got)
        want = reference(row, *point)
        if not is_value(row, point, got[0], want):
            wrong.append((point, got[0], want))
    assert [w for w in wrong if not own_value(row.name, w[0])] == []


@rows([row for row in ROWS if row.name in ELSEWHERE])
def test_special_values_elsewhere(row: Row) -> None:
    """The twin of a row without a ufunc agrees with functions that others have written."""
    for point in special_points(row):
        want = plainly(ELSEWHERE[row.name], *point)
        assert is_value(row, point, reference(row, *point), want), (point, want)


@rows(ROWS)
def test_special_derivatives(row: Row) -> None:
    """There, too, all modes give the same derivative, without a warning."""
    wrong = []
    for point in special_points(row):
        f, x = restricted(row, point)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            results = gradients(f, x)
        expected = results["reverse"]
        wrong += [
            (point, mode, gradient, expected)
            for mode, gradient in results.items()
            if not all(map(is_same, gradient, expected))
        ]
    assert not wrong, wrong[:10]


# --- arrays, ufuncs, methods, operators ----------------------------------------------------------

# Some rows follow a Python function of NumPy or SciPy, which does not dispatch; of the ufuncs,
# only NumPy's go through arrays of objects, and not all of those.
UFUNC_ROWS = [row for row in ROWS if isinstance(ufunc_of(row), np.ufunc)]


def called(row: Row) -> Function:
    """The ufunc of one of these rows."""
    function = ufunc_of(row)
    assert function is not None
    return function


OBJECT_UFUNC_ROWS = [
    row for row in UFUNC_ROWS if any("O" in types for types in getattr(ufunc_of(row), "types", ()))
]


def columns(row: Row) -> list[Any]:
    """The points of an operation as an array for each operand."""
    return [np.array(column) for column in zip(*points(row), strict=True)]


@rows(ROWS)
def test_arrays(row: Row) -> None:
    """Of numbers, of several axes, and beside a number: all broadcast as NumPy has it."""
    f = getattr(cadiff, row.name)
    operands = columns(row)
    first, *others = [column[:12].reshape(3, 4) for column in operands]
    scalars = [float(other[0, 0]) for other in others]
    with np.errstate(all="ignore"):
        result = f(*operands)
        from_lists = f(*(column.tolist() for column in operands))
        matrix = f(first, *scalars)
        expected = [f(x, *scalars) for x in first.ravel().tolist()]
    assert type(result) is np.ndarray
    assert result.dtype == np.float64
    assert result.shape == operands[0].shape
    np.testing.assert_array_equal(from_lists, result)
    index = (0,) * len(operands)
    for point, got in zip(points(row), result.tolist(), strict=True):
        want = reference(row, *point)
        with digits(DIGITS):
            allowed = 2 * tolerance(row, point, index)
            assert is_near(got, mp.mpf(want), allowed), (point, got, want)
    np.testing.assert_allclose(matrix, np.reshape(expected, (3, 4)), rtol=1e-13)


@rows(ROWS)
def test_arrays_do_not_warn(row: Row) -> None:
    """Of infinities and nan, as single numbers do not; NumPy's ufuncs warn of plain arrays."""
    f = getattr(cadiff, row.name)
    arrays = list(map(np.array, zip(*special_points(row), strict=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(*map(Var, arrays))
        f(*(Dual(x, np.ones_like(x)) for x in arrays))
        f(*map(cadiff.array, arrays))
        if row in UFUNC_ROWS:
            called(row)(*map(Var, arrays))
        if not row.ufunc.startswith("numpy."):
            f(*arrays)


@rows(ROWS)
def test_result_kinds(row: Row) -> None:
    f = getattr(cadiff, row.name)
    point = points(row)[0]
    value = f(*point)
    assert type(f(*map(np.float64, point))) is np.float64
    assert bits(f(*map(np.float64, point))) == bits(value)
    assert type(f(*([1] * len(point)))) is float
    assert bits(f(*([1] * len(point)))) == bits(f(*([1.0] * len(point))))
    assert type(f(*map(Var, point))) is Var
    assert type(f(*(Dual(x, 1.0) for x in point))) is Dual


@rows(ROWS)
def test_elementwise_gradient(row: Row) -> None:
    """Over arrays the derivative is that of each element."""
    point = points(row)[:4]
    f, _ = restricted(row, point[0])
    xs = [restricted(row, p)[1] for p in point]
    arrays = [np.array(column) for column in zip(*xs, strict=True)]
    every = tuple(range(len(arrays)))
    with np.errstate(all="ignore"):
        gradient = cadiff.grad(lambda *t: np.sum(f(*t)), every)(*arrays)
    for i in every:
        expected = [cadiff.grad(f, i)(*x) for x in xs]
        np.testing.assert_allclose(gradient[i], expected, rtol=1e-15, equal_nan=True)


@rows(UFUNC_ROWS)
def test_ufuncs_of_numbers(row: Row) -> None:
    """NumPy's and SciPy's own function takes Var and Dual, and plain numbers beside them."""
    ufunc = called(row)
    f = getattr(cadiff, row.name)
    for point in points(row)[:4]:
        expected = gradients(f, point)["reverse"]
        for mode, gradient in gradients(ufunc, point).items():
            assert all(map(is_same, gradient, expected)), (mode, point)
        variables = [Var(x) for x in point]
        assert type(ufunc(*variables)) is Var
        assert bits(ufunc(*variables).value) == bits(f(*point))
        assert type(ufunc(*(Dual(x, 1.0) for x in point))) is Dual
        for i in range(len(point)):
            operands: list[Any] = [np.float64(x) for x in point]
            operands[i] = variables[i]
            assert type(ufunc(*operands)) is Var


@rows(OBJECT_UFUNC_ROWS)
def test_ufuncs_of_object_arrays(row: Row) -> None:
    """NumPy's own function goes through an array of Vars or Duals element by element."""
    ufunc = called(row)
    f = getattr(cadiff, row.name)
    chosen = points(row)[:4]
    every = range(len(row.operands))
    expected = [gradients(f, point)["reverse"] for point in chosen]

    variables = [[Var(x) for x in column] for column in zip(*chosen, strict=True)]
    with np.errstate(all="ignore"):
        results = ufunc(*(np.array(column, dtype=object) for column in variables))
    assert results.shape == (4,)
    total = sum(results)
    if isinstance(total, Var):  # else it is constant, and NumPy gave plain numbers
        total.backward()
    for i in every:
        for k, variable in enumerate(variables[i]):
            want = pytest.approx(expected[k][i], rel=1e-14, nan_ok=True)
            assert variable.grad == want, (chosen[k], i)

    duals = [[Dual(x, 1.0) for x in column] for column in zip(*chosen, strict=True)]
    with np.errstate(all="ignore"):
        results = ufunc(*(np.array(column, dtype=object) for column in duals))
    for k, result in enumerate(results):
        tangent = result.tangent if isinstance(result, Dual) else 0.0
        assert tangent == pytest.approx(sum(expected[k]), rel=1e-14, nan_ok=True)


@rows([row for row in ROWS if len(row.operands) <= 2])
def test_methods(row: Row) -> None:
    """Numbers have methods named like the operations, as NumPy's object arrays want them."""
    f = getattr(cadiff, row.name)
    for point in points(row)[:4]:
        x, *others = point
        for number in (Var(x), Dual(x, 1.0)):
            result = getattr(number, row.name)(*others)
            assert type(result) is type(number)
            assert bits(cadiff.value(result)) == bits(f(*point))
        if len(moving(row)) == len(point):
            variables = [Var(x) for x in point]
            getattr(variables[0], row.name)(*variables[1:]).backward()
            expected = gradients(f, point)["reverse"]
            assert all(map(is_same, [v.grad for v in variables], expected)), point


OPERATORS: dict[str, Function] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "mod": operator.mod,
    "power": operator.pow,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": operator.abs,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    """Python's operators are the operations of the table, in every mode."""
    f = getattr(cadiff, name)
    row = next(row for row in ROWS if row.name == name)
    for point in points(row):
        expected = gradients(f, point)["reverse"]
        for mode, gradient in gradients(OPERATORS[name], point).items():
            assert gradient == pytest.approx(expected, rel=1e-15, nan_ok=True), (mode, point)
        value = OPERATORS[name](*map(Var, point)).value
        assert value == pytest.approx(f(*point), rel=1e-15, nan_ok=True), point
        for i in range(len(point)):  # reflected forms
            operands: list[Any] = list(point)
            operands[i] = Var(point[i])
            value = OPERATORS[name](*operands).value
            assert value == pytest.approx(f(*point), rel=1e-15, nan_ok=True), point


@pytest.mark.parametrize("alias", generate.ALIASES)
def test_aliases(alias: str) -> None:
    assert getattr(cadiff, alias) is getattr(cadiff, generate.ALIASES[alias])


# --- random expressions --------------------------------------------------------------------------


@dataclass(frozen=True)
class Expression:
    """An expression over three variables, and how large its derivatives could be at the point.

    `slope` and `curvature` bound the sums of the absolute terms from which any mode puts gradient
    and Hessian together: rounding errors are measured against them.
    """

    text: str
    function: Callable[[Sequence[Any]], Any]
    value: float
    slope: float
    curvature: float


def leaf(k: int, point: Point) -> Expression:
    return Expression(f"x{k}", lambda x: x[k], point[k], 1.0, 0.0)


def constant(value: float) -> Expression:
    return Expression(repr(value), lambda _: value, value, 0.0, 0.0)


def compose(row: Row, parts: Sequence[Expression]) -> Expression | None:
    """The operation of some expressions; None where it is not smooth or very steep."""
    f = getattr(cadiff, row.name)
    values = tuple(part.value for part in parts)
    of_moving, x = restricted(row, values)
    every = tuple(range(len(x)))
    value = f(*values)
    partials = np.abs(cadiff.grad(of_moving, every)(*x))
    second = np.abs(cadiff.hessian(of_moving, every)(*x))
    if not (abs(value) < 1e3 and np.all(partials < 1e3) and np.all(second < 1e6)):
        return None
    moved = [parts[i] for i in moving(row)]
    slopes = np.array([part.slope for part in moved])
    # Partials of second order may themselves be differences of numbers like the first ones.
    spread = second + partials + partials[:, None]
    curvatures = np.array([part.curvature for part in moved])
    return Expression(
        f"{row.name}({', '.join(part.text for part in parts)})",
        lambda x: f(*(part.function(x) for part in parts)),
        value,
        float(partials @ slopes),
        float(partials @ curvatures + slopes @ spread @ slopes),
    )


@st.composite
def expressions(draw: st.DrawFn, point: Point, depth: int = 5) -> Expression:
    """A tree of operations that is smooth at the point."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.integers(0, 3)) == 0:
            return constant(draw(st.sampled_from([-2.5, -1.0, 0.0, 0.3, 1.0, 2.0])))
        return leaf(draw(st.integers(0, len(point) - 1)), point)
    row = draw(st.sampled_from(ROWS))
    parts = [
        constant(float(draw(st.integers(0, 3))))
        if domain.is_whole
        else draw(expressions(point, depth - 1))
        for domain in row.domains
    ]
    return compose(row, parts) or parts[-1]


COORDINATES = st.floats(-3.0, 3.0).map(lambda x: round(x, 3) + 0.0123)
POINTS = st.tuples(COORDINATES, COORDINATES, COORDINATES)
SETTINGS = settings(
    examples(500),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@SETTINGS
@given(st.data())
def test_gradients_of_expressions(data: st.DataObject) -> None:
    point = data.draw(POINTS)
    expression = data.draw(expressions(point))
    allowed = 1e-14 * expression.slope + SMALLEST
    results = gradients(lambda *x: expression.function(x), point)
    expected = results["reverse"]
    for mode, gradient in results.items():
        assert gradient == pytest.approx(expected, rel=0.0, abs=allowed), (mode, expression.text)


@SETTINGS
@given(st.data())
def test_hessians_of_expressions(data: st.DataObject) -> None:
    point = data.draw(POINTS)
    expression = data.draw(expressions(point))
    allowed = 1e-13 * expression.curvature + SMALLEST
    results = hessians(lambda *x: expression.function(x), point)
    expected = np.array(results["second-order sweep"])
    for mode, hessian in results.items():
        difference = np.max(np.abs(np.array(hessian) - expected))
        assert difference <= allowed, (mode, expression.text)
        asymmetry = np.max(np.abs(np.array(hessian) - np.transpose(hessian)))
        assert asymmetry <= allowed, (mode, expression.text)


# Where terms of a derivative are infinite, or an operand is, and the derivative itself is known.
KNOWN: list[tuple[str, Point, tuple[int, ...], float]] = [
    ("arctan2", (1e-300, 1e-300), (0, 1), 0.0),
    ("arctan2", (-1e-300, 1e-300), (1, 0), 0.0),
    ("arctan2", (2e-300, 1e-300), (0, 1), math.inf),
    ("arctan2", (1e-300, 2e-300), (1, 0), -math.inf),
    ("mod", (0.5, -math.inf), (1,), 1.0),
    ("mod", (-0.5, math.inf), (1,), 1.0),
    ("mod", (0.5, math.inf), (1,), 0.0),
    ("power", (1e-300, 1e-300), (0, 0), -1e300),
    ("power", (-0.0, 2.0), (0, 0), 2.0),
]


@pytest.mark.parametrize(("name", "point", "by", "want"), KNOWN)
def test_derivatives_where_terms_are_infinite(
    name: str, point: Point, by: tuple[int, ...], want: float
) -> None:
    slope = getattr(cadiff, name)
    for i in by:
        slope = cadiff.grad(slope, i)
    assert slope(*point) == pytest.approx(want, rel=1e-14)
    assert cadiff.compile(slope)(*point) == pytest.approx(want, rel=1e-14)
