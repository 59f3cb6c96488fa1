"""`cadiff.scipy.special` by parameters and by complex numbers, and ufuncs of distributions."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from mpmath import mp

import cadiff
from cadiff import Dual, NoDerivativeError
from cadiff.scipy import _differences, special, stats
from cadiff.scipy._differences import differentiated

from ..helpers.cases_parameters import ANALYTIC, CASES, POINTS, SOLUTIONS, student
from ..helpers.cases_special import Case, Point, betainc, betaincc, gammainc, gammaincc, ive, kve
from ..helpers.differences import slope
from .test_special import exact, forward, precise, reverse

# Relative errors of the first and the second derivative, and errors beside the value.
RELATIVE = {1: 1e-9, 2: 1e-7}
BESIDE_VALUE = {1: 1e-12, 2: 1e-10}


def function_of(name: str, namespace: Any = special) -> Callable[..., Any]:
    """A function, or one of its results; with an underscore one that SciPy keeps to itself."""
    called, _, which = name.partition(" ")
    called = called.removesuffix("_of_riemann")
    if called.startswith("_"):
        if not hasattr(sp._ufuncs, called):
            pytest.skip("this version of SciPy has no such ufunc")
        namespace = sp._ufuncs
    function = getattr(namespace, called)
    return lambda *args: function(*args)[int(which)] if which else function(*args)


# Functions, arguments and one of these by which a derivative is small beside the function.
SMALL = [
    *[("hyp2f1", (0.5, 1.0, 2.0, z), k) for z in (1e-14, -1e-5, 0.01) for k in (0, 1, 2)],
    *[("hyp2f1", (1e-12, 1.0, 2.0, z), k) for z in (0.5, 0.97, -3.0, -30.0) for k in (1, 2)],
    *[("hyp1f1", (1.0, 2.0, z), k) for z in (1e-12, -1e-4) for k in (0, 1)],
    *[("hyp1f1", (1e-12, 2.0, z), 1) for z in (3.0, -10.0, 30.0)],
    *[("hyp0f1", (3.0, z), 0) for z in (1e-14, -1e-5)],
    *[("hyperu", (a, 1.5, 2.0), 1) for a in (1e-12, -1e-6)],
    *[("iv", (v, z), 0) for v in (0.0, 1e-9, -0.3) for z in (1.5, 25.0)],
    *[("ive", (v, 300.0), 0) for v in (1e-12, 0.4)],
    *[("modstruve", (v, z), 0) for v in (0.0, 1e-9, -0.2) for z in (1.5, 30.0, 100.0)],
    *[(name, (v, 0.7), 0) for name in ("kv", "kve") for v in (0.0, 1e-13, -1e-5)],
]
TWINS: dict[str, Any] = {
    "iv": mp.besseli,
    "modstruve": mp.struvel,
    "kv": mp.besselk,
    "ive": ive,
    "kve": kve,
}


@pytest.mark.parametrize(("name", "point", "i"), SMALL)
def test_derivatives_that_are_small_beside_values(name: str, point: Point, i: int) -> None:
    twin = TWINS.get(name) or getattr(mp, name)
    with mp.workdps(50):
        want = exact(twin, precise(point), i, 1)
        for mode in (forward, reverse):
            got = mode(getattr(special, name), point, i, 1)
            assert abs(got - want) <= 1e-9 * abs(want) + mp.mpf("1e-40"), (mode, got, want)


@pytest.mark.parametrize("name", ["iv", "ive", "modstruve"])
@pytest.mark.parametrize("z", [10.0, 30.0, 100.0])
def test_mixed_derivatives_that_are_small_beside_values(name: str, z: float) -> None:
    with mp.workdps(120):
        want = float(mp.re(mp.diff(TWINS[name], (mp.mpf(0), mp.mpf(z)), (1, 1))))
    function = getattr(special, name)
    found = cadiff.hessian(lambda p: function(p[0], p[1]))(np.array([0.0, z]))
    assert [found[0, 1], found[1, 0]] == pytest.approx([want, want], rel=1e-9, abs=0.0)


@pytest.mark.parametrize("name", ["pro_cv", "obl_cv"])
def test_even_functions_do_not_change_at_0(name: str) -> None:
    f = cadiff.grad(lambda c: getattr(special, name)(0, 1, c))
    sign = 1.0 if name == "pro_cv" else -1.0
    assert (f(0.0), f(1e-6)) == pytest.approx((0.0, 1.2e-6 * sign), rel=1e-9, abs=0.0)


def test_hyp2f1_next_to_whole_differences_of_parameters() -> None:
    for a, b, c, z in ((1.0 + 1e-12, 2.0, -0.3, -3.0), (1.0 - 1e-6, 2.0, 3.0, -30.0)):
        want = float(mp.hyp2f1(a, b, c, z))
        assert special.hyp2f1(a, b, c, z) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("name", sorted(CASES))
def test_derivatives(name: str) -> None:
    case: Case = CASES[name]
    function = function_of(name)
    with mp.workdps(50):
        for point, i, order in product(case.points, case.wrt, (1, 2)):
            at = precise(point)
            want, value = exact(case.twin, at, i, order), abs(mp.re(case.twin(*at)))
            bound = RELATIVE[order] * abs(want) + BESIDE_VALUE[order] * value + mp.mpf("1e-40")
            for mode in (forward, reverse):
                got = mode(function, point, i, order)
                assert abs(got - want) <= bound, (point, i, order, mode, got, want)


@pytest.mark.parametrize("name", sorted(CASES))
def test_values_and_arrays(name: str) -> None:
    """Values are SciPy's; derivatives over arrays, also in programs, are those of elements."""
    case, function = CASES[name], function_of(name)
    columns = [np.array(column) for column in zip(*case.points, strict=True)]
    want = function_of(name, sp)(*columns)
    for i in case.wrt:
        x, f = np.repeat(columns[i].astype(float), 2)[::2], line(function, columns, i)
        value, tangent = cadiff.jvp(f, (x,), (np.ones(x.shape),))
        np.testing.assert_array_equal(value, want)
        single = [cadiff.derivative(function, i, point) for point in case.points]
        np.testing.assert_allclose(tangent, single, rtol=1e-12, atol=1e-300)
        if i == case.wrt[0]:
            total = cadiff.compile(lambda x: np.sum(f(x)))  # noqa: B023
            for at in (x, x * 1.0):
                np.testing.assert_allclose(total.grad(at), single, rtol=1e-12, atol=1e-300)


def by_differences(f: Callable[[float], float], x: float) -> float:
    """A derivative by central differences, extrapolated."""
    h = 2e-3 * max(abs(x), 0.1)
    slopes = [(f(x + k * h) - f(x - k * h)) / (2 * k * h) for k in (1, 2, 3)]
    return 1.5 * slopes[0] - 0.6 * slopes[1] + 0.1 * slopes[2]


def line(f: Callable[..., Any], point: Sequence[Any], i: int) -> Callable[[Any], Any]:
    """The function of one argument, at a point of the others."""
    return lambda x: f(*point[:i], x, *point[i + 1 :])


@pytest.mark.parametrize("name", sorted({**CASES, "stdtrit": None}))
def test_programs_of_single_numbers(name: str) -> None:
    """Programs choose between formulas by the number that they are given, as eager code does."""
    function = function_of(name)
    points = CASES[name].points[:4] if name in CASES else [(3.4, 0.3), (3.4, 0.999), (300.0, 0.3)]
    for point, i in product(points, CASES[name].wrt if name in CASES else (0, 1)):
        f, x = line(function, point, i), float(point[i])
        found = cadiff.compile(f).value_and_grad(x)
        np.testing.assert_allclose(found, cadiff.value_and_grad(f)(x), rtol=1e-9)


@pytest.mark.parametrize("name", sorted(SOLUTIONS))
def test_solutions(name: str) -> None:
    """With F(x, p) = q, dx/dq is 1 / (dF/dx) and dx/dp is -(dF/dp) / (dF/dx)."""
    called, k, point = SOLUTIONS[name]
    function, equation = getattr(special, name), getattr(sp, called)
    given = (*point[:k], float(equation(*point)), *point[k + 1 :])
    at = (*point[:k], float(function(*given)), *point[k + 1 :])
    slopes = [by_differences(line(equation, at, i), x) for i, x in enumerate(at)]
    for i in range(len(point)):
        want = (1.0 if i == k else -slopes[i]) / slopes[k]
        assert reverse(function, given, i, 1) == pytest.approx(want, rel=1e-5), i


@pytest.mark.parametrize("name", sorted(POINTS))
def test_against_differences(name: str) -> None:
    point = POINTS[name]
    function, values = function_of(name), function_of(name, sp)
    for i, x in enumerate(point):
        if isinstance(x, int):
            continue

        got = reverse(function, point, i, 1)
        assert got == forward(function, point, i, 1)
        assert got == pytest.approx(
            by_differences(line(values, point, i), x), rel=3e-7, abs=1e-8
        ), i
        second = by_differences(line(cadiff.grad(function, i), point, i), x)
        assert forward(function, point, i, 2) == pytest.approx(second, rel=1e-5, abs=1e-7), i


@pytest.mark.parametrize("name", sorted(ANALYTIC))
def test_complex_arguments(name: str) -> None:
    twin, before = ANALYTIC[name]
    function = function_of(name)
    slope = cadiff.grad(lambda z: function(*before, z), holomorphic=True)
    bend = cadiff.grad(slope, holomorphic=True)
    with mp.workdps(40):
        for z in (0.7 + 0.4j, -1.3 + 2.0j, 3.0 - 1.5j):
            for order, got in ((1, slope(z)), (2, bend(z))):
                want = mp.diff(lambda z: twin(*before, z), mp.mpc(z), order)
                assert abs(got - want) <= 1e-10 * abs(want) + mp.mpf("1e-12"), (z, order, got)
        value, _ = cadiff.vjp(lambda z: function(*before, z), 0.7 + 0.4j)
        assert value == function_of(name, sp)(*before, 0.7 + 0.4j)


@pytest.mark.parametrize(
    ("name", "centre", "first"),
    [
        ("shichi 0", 0.0, lambda z: mp.sinh(z) / z),
        ("sici 0", 0.0, lambda z: mp.sin(z) / z),
        ("spence", 1.0, lambda z: mp.log(z) / (1 - z)),
    ],
)
def test_complex_next_to_a_quotient_of_zeros(name: str, centre: float, first: Any) -> None:
    """Also at it, and in one array with what is far from it."""
    f = function_of(name)
    by_z = cadiff.grad(lambda z: cadiff.numpy.sum(f(z)), holomorphic=True)
    bend = cadiff.grad(lambda z: cadiff.numpy.sum(by_z(z)), holomorphic=True)
    z = centre + np.array([0.0, 1e-8 + 1e-8j, 0.3j, 2.0 + 1.0j])
    assert by_z(z)[0] == (-1.0 if centre else 1.0)
    with mp.workdps(60):
        for at, *got in zip(z[1:], by_z(z)[1:], bend(z)[1:], strict=True):
            for order in (0, 1):
                want = complex(mp.diff(first, mp.mpc(at), order))
                assert got[order] == pytest.approx(want, rel=1e-11), (at, order)


def test_complex_far_out() -> None:
    """Where the terms of the derivative of Faddeeva's function cancel."""
    with mp.workdps(60):
        for name in ("wofz", "dawsn", "erfcx"):
            twin, _ = ANALYTIC[name]
            for z in (200.0 + 1.0j, 50.0 - 0.1j, -300.0 + 2.0j):
                z = -1j * z if name == "erfcx" else z
                got = cadiff.grad(getattr(special, name), holomorphic=True)(z)
                want = mp.diff(twin, mp.mpc(z))
                assert abs(got - want) <= 1e-11 * abs(want), (name, z, got, want)


# Functions that SciPy writes in Python, and such as are complex of real numbers.
CALLS: dict[str, tuple[Callable[..., Any], Point]] = {
    "jvp": (lambda m, v, z: m.jvp(v, z, 2), (1.5, 0.7)),
    "yvp": (lambda m, v, z: m.yvp(v, z, 1), (1.5, 0.7)),
    "ivp": (lambda m, v, z: m.ivp(v, z, 3), (1.5, 0.7)),
    "kvp": (lambda m, v, z: m.kvp(v, z, 1), (1.5, 0.7)),
    "assoc_laguerre": (lambda m, x, n, k: m.assoc_laguerre(x, n, k), (0.7, 3, 0.5)),
    "comb": (lambda m, n, k: m.comb(n, k), (5.3, 2.4)),
    "comb with repetition": (lambda m, n, k: m.comb(n, k, repetition=True), (5.3, 2.4)),
    "perm": (lambda m, n, k: m.perm(n, k), (5.3, 2.4)),
    "factorial": (lambda m, n: m.factorial(n), (3.4,)),
    "legendre_p": (lambda m, n, z: m.legendre_p(n, z), (3, 0.4)),
    "assoc_legendre_p": (lambda m, n, k, z: m.assoc_legendre_p(n, k, z, norm=True), (3, 1, 0.4)),
    "sph_legendre_p": (lambda m, n, k, z: m.sph_legendre_p(n, k, z), (3, 1, 0.4)),
    "diric": (lambda m, x, n: m.diric(x, n), (0.7, 5)),
    "wofz": (lambda m, x: m.wofz(x), (0.7,)),
    "hankel1": (lambda m, v, z: m.hankel1(v, z), (1.5, 0.7)),
    "hankel2e": (lambda m, v, z: m.hankel2e(v, z), (1.5, 0.7)),
    "sph_harm_y": (lambda m, n, k, x, y: m.sph_harm_y(n, k, x, y), (3, 2, 0.7, 0.4)),
    "sph_harm_y, below": (lambda m, n, k, x, y: m.sph_harm_y(n, k, x, y), (3, -3, 0.7, 0.4)),
    "modfresnelp": (lambda m, x: m.modfresnelp(x)[0], (0.7,)),
    "modfresnelp, second": (lambda m, x: m.modfresnelp(x)[1], (0.7,)),
    "modfresnelm, second": (lambda m, x: m.modfresnelm(x)[1], (0.7,)),
    "kelvin": (lambda m, x: m.kelvin(x)[0], (0.7,)),
    "kelvin, last": (lambda m, x: m.kelvin(x)[3], (0.7,)),
} | {
    f"slope of spherical_{kind}n, {z}": (
        lambda m, z, kind=kind: getattr(m, f"spherical_{kind}n")(2, z, True), (z,),
    )
    for kind in "jyik"
    for z in (-0.7, 0.7)
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    call, point = CALLS[name]
    parts = ("real", "imag") if np.iscomplexobj(call(sp, *point)) else ("real",)
    for (i, x), part in product(enumerate(point), parts):
        if isinstance(x, float):
            f, plain = (
                lambda x, m=m, i=i, part=part: getattr(line(partial(call, m), point, i)(x), part)
                for m in (special, sp)
            )
            once = cadiff.grad(f)
            assert cadiff.vjp(f, x)[0] == plain(x)
            assert once(x) == pytest.approx(by_differences(plain, x), rel=1e-8), (i, part)
            assert cadiff.grad(once)(x) == pytest.approx(by_differences(once, x), rel=1e-8), i


def test_legendre_functions_with_their_derivatives() -> None:
    x = np.array([-0.3, 0.4])
    value, _ = cadiff.vjp(lambda x: special.assoc_legendre_p(3, 1, x, diff_n=1, norm=True), x)
    np.testing.assert_array_equal(value, sp.assoc_legendre_p(3, 1, x, diff_n=1, norm=True))
    slopes = cadiff.elementwise_grad(lambda x: special.legendre_p(3, x, diff_n=1)[1])(x)
    np.testing.assert_allclose(slopes, 15.0 * x, rtol=1e-14)
    with pytest.raises(NoDerivativeError, match="'z'"):
        cadiff.grad(lambda z: special.legendre_p(3, z, diff_n=2)[2])(0.3)


def test_choices_that_there_are_not() -> None:
    assert cadiff.grad(special.comb)(2.0, 3) == 0.0
    assert cadiff.grad(special.factorial)(-1.5) == 0.0
    assert special.comb(cadiff.Var(4.0), [0, 2]).value.tolist() == [1.0, 6.0]
    assert cadiff.grad(special.diric)(0.0, 5) == 0.0
    with pytest.raises(TypeError, match="exact=False"):
        cadiff.grad(lambda n: special.factorial(n, exact=True))(3.0)


LOGARITHMS: list[tuple[str, Callable[..., Any], list[Point]]] = [
    ("log_gammaincc", gammaincc, [(2.5, 1.0), (2.5, 900.0), (40.0, 3e3), (0.3, 1e-200)]),
    ("log_gammainc", gammainc, [(2.5, 1.0), (0.3, 1e-200), (50.0, 1e-50)]),
    ("log_betainc", betainc, [(2.5, 1.5, 0.3), (300.0, 2.0, 1e-5)]),
    ("log_betaincc", betaincc, [(2.5, 1.5, 0.3), (2.5, 400.0, 0.99)]),
    ("log_stdtr", student, [(2.5, -1.0), (40.0, -1e10), (1e3, -50.0)]),
]


@pytest.mark.parametrize(("name", "twin", "at"), LOGARITHMS)
def test_logarithms_by_shapes(name: str, twin: Callable[..., Any], at: list[Point]) -> None:
    """Far beyond where the probabilities underflow."""
    function = vars(stats)[f"_{name}"]
    with mp.workdps(80):
        for point, i, order in product(at, range(len(at[0]) - 1), (1, 2)):
            want = exact(lambda *args: mp.log(twin(*args)), precise(point), i, order)
            got = reverse(function, point, i, order)
            bound = BESIDE_VALUE[order] * abs(function(*point))
            assert got == pytest.approx(float(want), rel=RELATIVE[order], abs=bound)


# --- what the differences are of -----------------------------------------------------------------


def test_shapes_over_twelve_orders_of_magnitude() -> None:
    """The sum of both probabilities does not change, and neither loses digits in its tail."""
    shapes = 10.0 ** np.arange(-6.0, 6.5, 0.5)
    a, x = shapes[:, None], shapes * 1.01
    lower = cadiff.jvp(lambda a: special.gammainc(a, x), (a,), (np.ones(a.shape),))[1]
    upper = cadiff.jvp(lambda a: special.gammaincc(a, x), (a,), (np.ones(a.shape),))[1]
    np.testing.assert_array_equal(lower, -upper)
    assert np.all(np.isfinite(lower))
    assert np.all(lower <= 0.0)
    with mp.workdps(40):
        for a, x in ((1e6, 9.95e5), (1e6, 1.005e6), (1e5, 9.8e4), (1e3, 5e2), (30.0, 200.0)):
            got = cadiff.grad(special.gammainc if x < a else special.gammaincc)(a, x)
            twin = gammainc if x < a else gammaincc
            want = mp.diff(twin, (mp.mpf(a), mp.mpf(x)), (1, 0))
            assert abs(got - want) <= 1e-9 * abs(want), (a, x, got, want)


def test_student_of_many_degrees_of_freedom() -> None:
    """The probability hardly depends on them: derivatives are integrals of that of the density."""

    def density(df: Any, t: Any) -> Any:
        constant = mp.exp(mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2)) / mp.sqrt(mp.pi * df)
        return constant * mp.exp(-(df + 1) / 2 * mp.log1p(t * t / df))

    with mp.workdps(40):
        for df, t in ((201.0, 1.4), (1e6, -5.0), (1e9, 2.0)):
            for order in (1, 2):
                want = mp.sign(t) * mp.quad(
                    lambda u, df=df, n=order: mp.diff(lambda d: density(d, u), mp.mpf(df), n),
                    mp.linspace(0, abs(mp.mpf(t)), 3),
                )
                got = forward(special.stdtr, (df, t), 0, order)
                assert abs(got - want) <= 1e-12 * abs(want), (df, t, order, got, want)
    assert cadiff.grad(special.stdtr)(1e3, -np.inf) == 0.0


def test_mixed_derivatives() -> None:
    """By two shapes, by a shape and the variable, and of third order."""
    point = (2.5, 1.3, 0.4)

    def twice(i: int, j: int) -> float:
        return float(cadiff.grad(cadiff.grad(special.betainc, i), j)(*point))

    assert twice(0, 1) == pytest.approx(twice(1, 0), rel=1e-9)
    assert twice(0, 2) == pytest.approx(twice(2, 0), rel=1e-11)
    with mp.workdps(40):
        want = mp.diff(betainc, tuple(map(mp.mpf, point)), (1, 1, 0))
        third = mp.diff(lambda a: gammainc(a, 2), mp.mpf(1.5), 3)
    assert twice(0, 1) == pytest.approx(float(want), rel=1e-8)
    found = cadiff.derivative(special.gammainc, 0, (1.5, 2.0), order=3)
    assert found == pytest.approx(float(third), rel=1e-8)


def test_kinds_of_arguments() -> None:
    """Lists, tuples, single precision, integers, nothing at all."""
    want = cadiff.derivative(special.gammainc, 0, (2.0, 1.5))
    by_a = cadiff.elementwise_grad(lambda a: special.gammainc(a, 1.5))
    np.testing.assert_allclose(by_a(np.array([2, 2])), [want] * 2, rtol=1e-14)
    np.testing.assert_allclose(by_a(np.array([2.0, 2.0], np.float32)), [want] * 2, rtol=1e-6)
    assert by_a(np.zeros((0, 3))).shape == (0, 3)
    for pair in ([Dual(2.0, 1.0), 2.0], (Dual(2.0, 1.0), 2.0)):
        found = special.gammainc(pair, 1.5)
        np.testing.assert_allclose(found.tangent, [want, 0.0], rtol=1e-14)
    jacobian = cadiff.jacobian(lambda a: special.gammainc(a[:, None], np.array([1.0, 1.5])))
    got = jacobian(np.array([2.0, 3.0]))
    assert got.shape == (2, 2, 2)
    assert got[0, 1, 0] == pytest.approx(want, rel=1e-14)


def test_complex_numbers_that_are_refused() -> None:
    with pytest.raises(cadiff.MissingRuleError, match="betainc of complex numbers"):
        cadiff.grad(lambda z: special.betainc(1.0, 2.0, z).real)(0.3 + 0.1j)
    with pytest.raises(TypeError, match="by the last argument alone"):
        cadiff.grad(lambda v: special.jv(v, cadiff.array([v + 0.3j])[0]).real)(0.3)
    with pytest.raises(NoDerivativeError, match=r"hypergeom_mean.*'n'"):
        cadiff.grad(lambda n: sp._ufuncs._hypergeom_mean(n, 5.0, 9.0))(3.0)


def test_differences_of_what_is_not_smooth_are_nan() -> None:
    one = np.ones(1)
    found = differentiated(lambda x: np.abs(x), 1, 0.0 * one, one, (-np.inf, np.inf), ())
    assert np.isnan(found[0])
    outside = differentiated(np.sqrt, 1, -one, one, (0.0, np.inf), ())
    assert np.isnan(outside[0])
    inside = differentiated(np.sqrt, 1, 1e-3 * one, one, (0.0, np.inf), ())
    np.testing.assert_allclose(inside, 0.5 / np.sqrt(1e-3), rtol=1e-11)


def test_smirnov_once() -> None:
    """It is a polynomial between knots: there are first derivatives alone."""
    for name in ("smirnov", "smirnovi"):
        f, plain = (line(getattr(m, name), (5, 0.3), 1) for m in (special, sp))
        assert cadiff.grad(f)(0.3) == pytest.approx(by_differences(plain, 0.3), rel=1e-6)
        with pytest.raises(NoDerivativeError, match="'d'"):
            cadiff.grad(cadiff.grad(f))(0.3)


def test_arguments_far_outside_come_to_an_end() -> None:
    """Recurrences upwards never end where adding 1 changes nothing."""
    assert cadiff.derivative(special.stdtridf, 1, (0.3, 1.7)) != 0.0
    for argument in (-1e300, -1e10, 1e300):
        cadiff.derivative(special.stdtr, 0, (argument, 1.7))
        cadiff.derivative(special.stdtridf, 0, (argument, 1.7))


@pytest.mark.parametrize(
    ("name", "at"), [("pdtrik", (0.3, 0.45)), ("chndtrinc", (0.3, 1.7, 0.55))]
)
def test_where_a_search_ends_without_a_solution_nothing_moves(name: str, at: Any) -> None:
    function = getattr(special, name)
    assert [cadiff.derivative(function, k, at) for k in range(len(at))] == [0.0] * len(at)


def test_programs_are_pickled() -> None:
    program = cadiff.compile(lambda a: special.gammainc(a, 1.5) + special.airy(a)[0])
    want = program.grad(2.0)
    assert want == cadiff.grad(lambda a: special.gammainc(a, 1.5) + special.airy(a)[0])(2.0)
    derivative = special.gammainc.differences
    assert pickle.loads(pickle.dumps(derivative)) is derivative
    assert pickle.loads(pickle.dumps(special.voigt_profile)) is special.voigt_profile


def slope_of(f: Callable[..., Any], k: int, *at: float) -> float:
    """By an argument, of a probability or of the other one, whichever is small."""
    with mp.workdps(120):
        args = [mp.mpf(x) for x in at]
        h = args[k] * mp.mpf(10) ** -25
        ends = [[*args[:k], args[k] + sign * h, *args[k + 1 :]] for sign in (1, -1)]
        below, above = ((f(*ends[0], side) - f(*ends[1], side)) / (2 * h) for side in (0, 1))
        return float(min(below, -above, key=abs))


@pytest.mark.parametrize("a", [1e-8, 2e-3, 0.4, 1.0, 6.5, 70.0, 199.0, 250.0])
def test_incomplete_functions_by_moderate_shapes(a: float) -> None:
    """From one tail to the other, where the derivative is as small as the probability."""

    def of_gamma(a: Any, x: Any, side: int) -> Any:
        return (gammainc, gammaincc)[side](a, x)

    def of_beta(a: Any, b: Any, x: Any, side: int) -> Any:
        return mp.betainc(a, b, *((0, x), (x, 1))[side], regularized=True)

    for ratio in (1e-6, 0.2, 0.9, 1.1, 1.7, 6.0):
        x = a * ratio
        by_a = cadiff.grad(lambda a, x=x: special.gammainc(a, x))
        assert by_a(a) == pytest.approx(slope_of(of_gamma, 0, a, x), rel=1e-10, abs=1e-90)
        want = slope(by_a, a, a, 1e-4)
        assert cadiff.grad(by_a)(a) * a == pytest.approx(want, rel=1e-5, abs=1e-8)
    shapes = (5e-3, 0.5, 30.0) if a > 1e-6 else ()
    for b, x, k in product(shapes, (1e-6, 0.1, 0.6, 0.95), (0, 1)):
        with np.errstate(all="ignore"):
            got = cadiff.grad(special.betainc, k)(a, b, x)
        want = slope_of(of_beta, k, a, b, x)
        assert got == pytest.approx(want, rel=1e-10, abs=1e-100), (b, x, k)


def test_derivatives_by_moderate_shapes_are_no_differences(monkeypatch: Any) -> None:
    """They cost about as much as the value."""
    monkeypatch.setattr(_differences, "differentiated", None)
    x = np.linspace(0.0, 1.0, 20)
    for f in (special.gammainc, special.gammaincc, special.chdtr):
        assert np.all(np.isfinite(cadiff.jacobian(lambda a, f=f: f(a, 9.0 * x))(2.5)))
    for k in (0, 1):
        assert np.all(np.isfinite(cadiff.jacobian(special.betainc, k)(2.5, 0.4, x)))
