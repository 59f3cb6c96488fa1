"""`cadiff.scipy.special` at the edges of its domains, against mathematics.

A few points of each grid stand for all: `pytest --hypothesis-profile=explore` tries every one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import scipy.special as sp
from hypothesis import settings
from mpmath import mp

import cadiff
from cadiff.scipy import special

from ..helpers import edges_special as edges
from ..helpers.cases_special import CASES, INVERSES, Point, Real

LARGEST = sys.float_info.max
SMALLEST = sys.float_info.min
EVERY = settings.get_current_profile_name() == "explore"
EPSILON = 2.0**-52
TINY = mp.mpf("1e-8")

# Programs say where a formula is chosen at a point alone.
pytestmark = pytest.mark.filterwarnings("ignore:a branch of")


def derivative_in(digits: int, f: Callable[..., Real], point: Point, i: int, order: int) -> Real:
    """A derivative by differences, of a step relative to the argument."""
    with mp.workdps(digits):
        at = [mp.mpf(x) for x in point]
        scale = at[i] or mp.one

        def moved(t: Real) -> Real:
            return real(f(*at[:i], at[i] + scale * t, *at[i + 1 :]))

        if order == 0:
            return moved(mp.zero)
        beside = moved(mp.mpf(10) ** (-digits // 2)) - moved(mp.zero)
        if abs(beside) > mp.mpf("1e-9") * max(1, abs(moved(mp.zero))):
            raise ValueError("a jump")
        return mp.diff(moved, 0, order) / scale**order


def real(z: Real) -> Real:
    z = mp.mpmathify(z)
    if abs(mp.im(z)) > abs(mp.re(z)) * mp.mpf("1e-20"):
        raise ValueError("outside the domain")
    return mp.re(z)


def truth(f: Callable[..., Real], point: Point, i: int, order: int) -> Real:
    """What two numbers of digits agree about; nan where the function is not smooth."""
    try:
        last = derivative_in(60, f, point, i, order)
        for digits in (160, 450):
            now = derivative_in(digits, f, point, i, order)
            if now != 0 and abs(now - last) <= abs(now) * mp.mpf("1e-15"):
                return now
            last = now
    except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence):
        return mp.nan
    tiny = any(0 < abs(x) < mp.mpf("1e-100") for x in point)  # where 450 digits are too few
    return mp.zero if last == 0 and not tiny else mp.nan


def condition(f: Callable[..., Real], point: Point, i: int, order: int) -> Real:
    """|d| + Σ |x ∂d/∂x|: what rounding of the arguments does to the derivative d."""
    step = mp.mpf("1e-10")
    d = truth(f, point, i, order)
    total = abs(d)
    for j, x in enumerate(point):
        there = (*point[:j], mp.mpf(x) * (1 + step), *point[j + 1 :])
        total += abs(truth(f, there, i, order) - d) / step
    return total


def right(got: float, want: Real) -> bool:
    if abs(want) > LARGEST:
        return math.isinf(got) and math.copysign(1.0, got) == mp.sign(want)
    return math.isfinite(got) and bool(abs(got - want) <= 1e-9 * abs(want) + SMALLEST)


Found = dict[str, float]  # by modes


def modes(f: Callable[..., Any], point: Point, i: int, order: int) -> Found:
    def by_one(x: Any) -> Any:
        return f(*point[:i], x, *point[i + 1 :])

    slope = by_one if order == 1 else cadiff.grad(by_one)
    x = float(point[i])
    return {
        "forward": float(cadiff.derivative(by_one, 0, (x,), order=order)),
        "reverse": float(cadiff.grad(slope)(x)),
        "program": float(cadiff.compile(slope).grad(x)),
    }


def check(name: str, point: Point, i: int, order: int, want: Real, found: Found) -> None:
    for mode, got in found.items():
        if not right(got, want):
            bound = 64 * EPSILON * condition(CASES[name].twin, point, i, order)
            assert abs(got - want) <= bound, (point, i, order, mode, got, mp.nstr(want, 17))


@pytest.mark.parametrize("name", sorted(edges.EDGES))
def test_values_and_derivatives(name: str) -> None:
    case, f = CASES[name], getattr(special, name)
    for point in edges.sample(name, len(edges.EDGES[name]) if EVERY else 1):
        value = truth(case.twin, point, 0, 0)
        got = float(f(*point))
        if math.isnan(got) and math.isnan(getattr(sp, name)(*point)):
            continue
        if not mp.isfinite(value) or abs(value) > LARGEST:
            continue
        check(name, point, case.wrt[0], 0, value, {"value": got})
        for i, order in product(case.wrt, (1, 2)):
            want = truth(case.twin, point, i, order)
            if not mp.isnan(want):
                check(name, point, i, order, want, modes(f, point, i, order))


def log_normal_tail(x: Real) -> Real:
    """An asymptotic series, whose slope is -x - 1/x + 2/x³ - ..."""
    return -x * x / 2 - mp.log(-x) - mp.log(2 * mp.pi) / 2 - 1 / x**2 + mp.mpf(5) / 2 / x**4


BELOW = (-3.0, -500.0, -1e5, -1e10, -1e100)


@pytest.mark.parametrize("name", sorted(edges.INVERSES))
def test_inverses(name: str) -> None:
    """x' = 1 / f'(x) and x'' = -f''(x) x'**3, at the x that solves f(x) = y to 50 digits."""
    f, twin = getattr(special, name), CASES[INVERSES[name]].twin
    for *shapes, y in edges.INVERSES[name]:
        start = mp.mpf(float(f(*shapes, y)))
        with mp.workdps(50):
            root = mp.findroot(lambda x, a=shapes, y=y: twin(*a, x) - y, start * (1 - TINY))
            x = mp.re(root)
        first, second = (truth(twin, (*shapes, x), 2, order) for order in (1, 2))
        for order, want in ((1, 1 / first), (2, -second / first**3)):
            for mode, got in modes(f, (*shapes, y), 2, order).items():
                assert right(got, want), (shapes, y, order, mode, got, want)


def test_huge_arguments_return() -> None:
    """SciPy's hyp1f1 does not, of a large positive number, nor of some large negative ones."""
    assert special.hyp1f1(0.5, -0.5, -1e16) == 0.0
    assert special.hyp1f1(2.0, 3.0, 1e20) == math.inf
    assert special.hyp1f1(-2.0, 3.0, 1e20) == pytest.approx(1e40 / 12.0)
    assert cadiff.grad(special.boxcox, 1)(2.0, 1e300) == math.inf


# Functions by their last argument, what they are, and places.
CLOSED_FORMS: dict[str, tuple[Point, Callable[[Real], Real], tuple[float, ...]]] = {
    "log_ndtr": ((), log_normal_tail, (-1e5, -0.999e6, -1.001e6, -1e8, -1e155, -1e300)),
    "expi": ((), mp.ei, (600.0, 712.0, 720.0, 1000.0, 1e5)),
    "hyp2f1 by arctan": ((0.5, 1.0, 1.5), lambda z: mp.atan(mp.sqrt(-z)) / mp.sqrt(-z), BELOW),
    "hyp2f1 by log": (
        (2.0, 2.0, 3.0), lambda z: 2 * (1 / (1 - z) - mp.log1p(-z) / -z) / z, BELOW,
    ),
    "hyp2f1 by powers": ((1.25, 2.0, 2.0), lambda z: (1 - z) ** mp.mpf(-1.25), BELOW),
    "kve": ((1.0,), lambda z: mp.sqrt(mp.pi / 2 / z), (1e10, 1e200, 1e300)),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_far_out(name: str) -> None:
    shapes, twin, places = CLOSED_FORMS[name]
    f = getattr(special, name.partition(" ")[0])
    orders = (1, 2) if name == "expi" else (0, 1, 2)  # SciPy's own value overflows too early
    for x, order in product(places, orders):
        want, point = truth(twin, (x,), 0, order), (*shapes, x)
        found = modes(f, point, len(shapes), order) if order else {"value": float(f(*point))}
        for mode, got in found.items():
            assert right(got, want), (x, mode, order, got, want)


def test_polynomials_that_are_hyp2f1_at_1() -> None:
    """With c - a - b so small that series do not converge there."""
    for degree, wanted in (
        (0, (0.0, 0.0)),
        (1, (-2.0 / 3.0, 0.0)),
        (2, (-4.0 / 15.0, 16.0 / 15.0)),
    ):
        f = lambda z, a=-degree: special.hyp2f1(a, 1, 1.5, z)  # noqa: E731
        found = cadiff.grad(f)(1.0), cadiff.hessian(f)(1.0)
        assert found == pytest.approx(wanted, rel=1e-12)
    for c, mixed in ((1.5, math.inf), (3.5, sp.hyp2f1(1.0, 2.0, 4.5, 1.0) / 3.5)):
        by_z = cadiff.grad(lambda a, z, c=c: special.hyp2f1(a, 1.0, c, z), 1)
        assert cadiff.grad(lambda a, f=by_z: f(a, 1.0))(0.0) == pytest.approx(mixed, rel=1e-12)


def test_hyp2f1_of_a_large_last_parameter() -> None:
    """The value is that of mpmath; SciPy's is 3e-9 off."""
    assert special.hyp2f1(2.0, 1.5, 31.0, -3.0) == pytest.approx(0.78237444581972115, rel=1e-12)


@pytest.mark.parametrize("name", ["yv", "yn"])
def test_bessel_functions_that_overflow(name: str) -> None:
    f = lambda z: getattr(special, name)(100, z)  # noqa: E731
    assert (f(1e-6), cadiff.grad(f)(1e-6)) == (-math.inf, math.inf)
    assert cadiff.grad(cadiff.grad(f))(1e-6) == -math.inf


# Functions next to a point where they, or their slopes, are infinite: signs of both derivatives.
POLES: list[tuple[str, Point, int, int]] = [
    ("y0", (0.0,), 1, -1), ("y1", (0.0,), 1, -1), ("yn", (2, 0.0), 1, -1),
    ("yn", (0, 1e-300), 1, -1), ("yv", (1.5, 0.0), 1, -1), ("yv", (-3.0, 0.0), -1, 1),
    ("k0e", (0.0,), -1, 1), ("k1e", (0.0,), -1, 1), ("k1e", (1e-300,), -1, 1),
    ("kve", (0.5, 0.0), -1, 1), ("ive", (0.5, 0.0), 1, -1), ("iv", (1e-300, 1e150), 1, 1),
    ("spence", (0.0,), -1, 1), ("erfcinv", (1e-300,), -1, 1), ("ndtri", (1e-300,), 1, -1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "point", "first", "second"), POLES)
def test_slopes_at_poles_are_infinite(name: str, point: Point, first: int, second: int) -> None:
    f = getattr(special, name)
    for order, sign in ((1, first), (2, second)):
        for mode, got in modes(f, point, len(point) - 1, order).items():
            assert got * sign > 1e290, (mode, order, got)
            assert order == 1 or got == sign * math.inf, (mode, got)


def test_quantiles_far_out() -> None:
    """Student's tail is a power of t, here the third of its reciprocal."""
    t = special.stdtrit(3.0, 1e-200)
    assert special.stdtr(3.0, t) == pytest.approx(1e-200, rel=1e-12, abs=0)
    assert cadiff.grad(special.stdtrit, 1)(3.0, 1e-200) == pytest.approx(-t / 3e-200, rel=1e-9)


def test_quantiles_next_to_zero() -> None:
    """Of a gamma distribution of shape ½, π/4 p²."""
    slope = cadiff.grad(special.gammaincinv, 1)
    assert slope(0.5, 1e-150) == pytest.approx(math.pi / 2e150, rel=1e-9, abs=0)
    assert cadiff.grad(slope, 1)(0.5, 1e-150) == pytest.approx(math.pi / 2.0, rel=1e-9)
