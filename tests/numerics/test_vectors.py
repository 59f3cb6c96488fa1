"""The core's own vectors (src/kernels/vectors.c): accuracy, special values, and one value for a
number wherever it stands. They are seen through programs, whose long vectors use them."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.typing import NDArray

import cadiff

from ..helpers.properties import examples
from ..helpers.table import ROOT

Floats = NDArray[np.float64]

LONG = 64  # numbers, which are a vector in any program


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(-abs(x))) + max(x, 0)


def erfc(x: Any) -> Any:
    return mp.erfc(x) if x < 5 else mp.gammainc(mp.mpf(0.5), x * x) / mp.sqrt(mp.pi)


# Of each function of one number: as users write it, with 50 digits, and where it is tested beside
# the numbers of all magnitudes.
ONE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[float, float]]] = {
    "sin": (np.sin, mp.sin, (-1e3, 1e3)),
    "cos": (np.cos, mp.cos, (-1e3, 1e3)),
    "exp": (np.exp, mp.exp, (-745.0, 709.0)),
    "log": (np.log, mp.log, (0.5, 2.0)),
    "tanh": (np.tanh, mp.tanh, (-20.0, 20.0)),
    "expit": (scipy.special.expit, lambda x: 1 / (1 + mp.exp(-x)), (-740.0, 40.0)),
    "log_expit": (scipy.special.log_expit, lambda x: -softplus(-x), (-40.0, 700.0)),
    "softplus": (cadiff.softplus, softplus, (-700.0, 40.0)),
    "erf": (scipy.special.erf, mp.erf, (-6.0, 6.0)),
    "erfc": (scipy.special.erfc, erfc, (-3.0, 26.5)),
    **{
        f"x**{n}": (lambda x, n=n: x**n, lambda x, n=n: mp.power(x, n), (0.0, 9.0))
        for n in (0.5, 1.5, 2.5, -0.5, -1.5)
    },
    "x**3": (lambda x: x**3, lambda x: x**3, (-9.0, 9.0)),
    "x**4": (lambda x: x**4, lambda x: x**4, (-9.0, 9.0)),
    "x**-2": (lambda x: x**-2.0, lambda x: x**-2, (-9.0, 9.0)),
}
TWO: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "hypot": (np.hypot, lambda x, y: mp.sqrt(x * x + y * y)),
    "logaddexp": (np.logaddexp, lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y)))),
}
POSITIVE = ("log", "x**0.5", "x**1.5", "x**2.5", "x**-0.5", "x**-1.5")
# NumPy has none of these in vectors, whatever the processor: their loops are the core's own.
OWN = ("sin", "cos", "expit", "log_expit", "softplus", "erf", "erfc")
OWN += ("x**0.5", "x**1.5", "x**3", "x**4", "x**-2", "hypot")
# Near these numbers vectors change from one formula to another, or a result is near 0.
JOINTS = [0.25, 0.5, 0.7, 1.0, 2.0**0.5, 0.5**0.5, 6.0, 28.0, 2.0**27, 708.4, 745.2]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, -1e-310, 1e308, -1e308]
SPECIAL += [2.2250738585072014e-308, 1e-200, -1e-200, 1e200, -1e200, 800.0, -800.0, -709.0, 709.0]


@cache
def program(name: str) -> Any:
    """A function as a program that has seen a long array."""
    result = cadiff.compile(ONE[name][0] if name in ONE else TWO[name][0])
    result(*[np.ones(LONG)] * (1 if name in ONE else 2))
    return result


def computed(name: str, *operands: Floats) -> Floats:
    """What vectors give, in pieces that each are a vector: the last one is filled up."""
    n = len(operands[0])
    padded = [np.concatenate([x, np.ones(-n % LONG)]) for x in operands]
    parts = [program(name)(*(x[i : i + LONG] for x in padded)) for i in range(0, n, LONG)]
    return np.concatenate(parts)[:n]


def points_of(name: str, seed: int, count: int) -> Floats:
    """Numbers of a range, of all magnitudes, and around joints and multiples of pi / 2."""
    random = np.random.default_rng(seed)
    low, high = ONE[name][2] if name in ONE else (-9.0, 9.0)
    signs = random.choice([-1.0, 1.0], count)
    around = random.choice(JOINTS, count) * (1.0 + random.integers(-8, 9, count) * 2.0**-52)
    turns = random.integers(1, 2**20, count) * (np.pi / 2)
    found = np.concatenate(
        [
            random.uniform(low, high, 2 * count),
            np.exp(random.uniform(-40.0, 6.0, count)) * signs,
            np.exp2(random.uniform(-1070.0, 1020.0, count)) * signs,
            around * signs,
            turns * signs,
        ]
    )
    return np.abs(found) if name in POSITIVE else found


def ulps_off(found: float, exact: Any) -> int:
    """How many numbers lie between one that was found and the nearest to an exact one."""
    nearest = float(exact)
    if found == nearest:
        return 0
    if not (np.isfinite(found) and np.isfinite(nearest)):
        return 2**60
    return int(abs(ordered(found) - ordered(nearest)))


def units_off(found: float, exact: Any) -> float:
    """How far a normal number is from an exact one, in units of the last place of that."""
    if not (np.isfinite(found) and abs(found) > 1e-300):
        return 0.0
    return float(abs(found - exact) / np.spacing(abs(float(exact)), dtype=float))


def ordered(x: float) -> int:
    """Floats as whole numbers, in their order, with nothing between neighbours."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else -(2**63) - bits


def check(name: str, seed: int, count: int) -> None:
    x = points_of(name, seed, count)
    with np.errstate(all="ignore"), mp.workdps(50):
        for point, value in zip(x.tolist(), computed(name, x).tolist(), strict=True):
            exact = ONE[name][1](mpmath.mpf(point))
            assert ulps_off(value, exact) <= 1, (name, point, value, mp.nstr(exact, 20))
            assert name not in OWN or units_off(value, exact) < 1.0, (name, point, value)


@pytest.mark.parametrize("name", ONE)
def test_at_most_one_ulp_from_the_nearest(name: str) -> None:
    check(name, 0, 400)


@pytest.mark.slow
@examples(20)
@given(st.sampled_from(sorted(ONE)), st.integers(0, 2**32))
def test_at_most_one_ulp_from_the_nearest_anywhere(name: str, seed: int) -> None:
    check(name, seed, 20)


@pytest.mark.parametrize("name", TWO)
def test_at_most_an_ulp_of_two_operands(name: str) -> None:
    x, y = points_of(name, 1, 200), points_of(name, 2, 200)
    with np.errstate(all="ignore"), mp.workdps(50):
        found = computed(name, x, y)
        for a, b, value in zip(x.tolist(), y.tolist(), found.tolist(), strict=True):
            exact = TWO[name][1](mpmath.mpf(a), mpmath.mpf(b))
            # A sum of logarithms may nearly vanish: it is right to the ulps of what is added.
            scale = max(abs(a), abs(b)) if name == "logaddexp" else 0.0
            near = abs(value - float(exact)) <= 2.0**-52 * scale
            assert near or ulps_off(value, exact) <= 1, (name, a, b, value)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_special_values_are_those_of_numpy(name: str) -> None:
    x = np.array(SPECIAL)
    operands = [x] if name in ONE else [np.repeat(x, len(x)), np.tile(x, len(x))]
    plain = ONE[name][0] if name in ONE else TWO[name][0]
    with np.errstate(all="ignore"):
        found, expected = computed(name, *operands), plain(*operands)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=4.5e-16, atol=1e-323)


# Of these NumPy's own loops are used for vectors of eight, which have other values at their end.
NUMPYS = {"x**2.5", "x**-0.5", "x**-1.5"}


@pytest.mark.parametrize("name", sorted(ONE.keys() - NUMPYS))
def test_a_number_has_one_value_wherever_it_stands(name: str) -> None:
    """In vectors of any length, at any place, among rare numbers, at any stride."""
    f, x = ONE[name][0], points_of(name, 3, 60)
    with np.errstate(all="ignore"):
        expected = computed(name, x)
        for n in (25, 31, 64, 257, 300):
            one = cadiff.compile(f)
            for first in (0, 1, 7, len(x) - n):
                found = one(x[first : first + n])
                np.testing.assert_array_equal(found, expected[first : first + n])
            backwards = cadiff.compile(lambda x: f(x[::-2]))
            np.testing.assert_array_equal(backwards(x[: 2 * n]), expected[: 2 * n][::-2])
        among = np.repeat(x[:40, None], 9, axis=1)
        among[:, ::3] = 1e300 if name in POSITIVE else -1e300
        np.testing.assert_array_equal(one(among)[:, 1], expected[:40])


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "x**3"])
def test_eager_values_stay_those_of_numpy(name: str) -> None:
    f, x = ONE[name][0], np.linspace(-3.0, 3.0, 1000)
    value, _ = cadiff.value_and_grad(lambda x: f(x)[0])(x)
    seen: list[Any] = []
    cadiff.grad(lambda x: (seen.append(cadiff.value(f(x))), np.sum(f(x)))[1])(x)
    exact = cadiff.compile(f, optimize=False)
    assert value == f(x)[0]
    for found in (seen[0], exact(x)):
        np.testing.assert_array_equal(found, f(x))


def test_coefficients_are_those_of_their_fits() -> None:
    names = runpy.run_path(str(ROOT / "src" / "kernels" / "coefficients.py"))
    with mp.workdps(50):
        text = names["header"]()
    known = (ROOT / "src" / "kernels" / "coefficients.h").read_text(encoding="utf-8")
    assert text == known, "run `python src/kernels/coefficients.py > src/kernels/coefficients.h`"
