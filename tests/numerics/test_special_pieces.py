"""Where pieces of formulas meet, parameters that are whole numbers, and solutions at bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st
from mpmath import mp

import cadiff
import cadiff.scipy.special
import cadiff.scipy.stats
from cadiff.scipy import _families
from cadiff.scipy._formulas import Tabulated

from ..helpers.cases_parameters import voigt
from ..helpers.cases_special import betainc, gammainc, gammaincc, ive, kve
from ..helpers.cases_special import stdtr as student
from ..helpers.differences import check_slope, slope

Function = Callable[..., Any]
special: Any = cadiff.scipy.special
stats: Any = cadiff.scipy.stats

# Programs say where a formula is chosen at a point alone.
pytestmark = pytest.mark.filterwarnings("ignore:a branch of", "ignore:<cadiff.Program")


def partial(f: Function, at: tuple[float, ...], orders: tuple[int, ...]) -> list[float]:
    """A mixed derivative, by reverse sweeps in both directions and by forward mode over them."""
    steps = [k for k, n in enumerate(orders) for _ in range(n)]
    found = []
    for order in (steps, steps[::-1]):
        g = f
        for k in order:
            g = cadiff.grad(g, k)
        found.append(float(g(*at)))
    g = f
    for k in steps[1:]:
        g = cadiff.grad(g, k)
    return [*found, float(cadiff.derivative(g, steps[0], at))]


# --- pieces --------------------------------------------------------------------------------------


def generalized_normal(x: Any, beta: Any) -> Any:
    return mp.mpf(0.5) + mp.sign(x) / 2 * mp.gammainc(
        1 / beta, 0, abs(x) ** beta, regularized=True
    )


def beta_density(x: Any, a: Any, b: Any) -> Any:
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def log_gamma_density(x: Any, a: Any) -> Any:
    return (a - 1) * mp.log(x) - x - mp.loggamma(a)


def inverse_gaussian(x: Any, p: Any, b: Any) -> Any:
    return (p - 1) * mp.log(x) - b * (x + 1 / x) / 2 - mp.log(2 * mp.besselk(p, b))


PI = math.pi
# Where the coefficients of two formulas are infinite, or a factor is 0 that moves.
MEETINGS: list[tuple[Function, Function, tuple[float, ...]]] = [
    (special.ellipeinc, mp.ellipe, (PI / 2, 0.5)),
    (special.ellipeinc, mp.ellipe, (-PI / 2, -3.0)),
    (special.ellipkinc, mp.ellipf, (PI / 2, 0.5)),
    (special.ellipkinc, mp.ellipf, (3 * PI / 2, 0.9)),
    (special.ellipkinc, mp.ellipf, (0.0, 0.3)),
    (special.stdtr, student, (3.0, 0.0)),
    (special.stdtr, student, (300.0, 0.0)),
    (special.stdtr, student, (0.7, 0.0)),
    (stats.t.cdf, lambda t, df: student(df, t), (0.0, 3.0)),
    (stats.t.sf, lambda t, df: 1 - student(df, t), (0.0, 9.5)),
    (special.struve, mp.struveh, (1.0, 0.3)),
    (special.struve, mp.struveh, (0.0, 0.3)),
    (special.modstruve, mp.struvel, (0.0, 0.4)),
    (special.kve, kve, (0.4, 1.5)),
    (special.kve, kve, (2.0, 3.0)),
    (special.ive, ive, (0.4, 30.0)),
    (lambda b, p: stats.geninvgauss.logpdf(1.3, p, b), lambda b, p: inverse_gaussian(1.3, p, b),
     (1.5, 2.3)),
    (stats.gennorm.cdf, generalized_normal, (0.3, 1.7)),
    (stats.gamma.logpdf, log_gamma_density, (0.7, 1.0)),
    (stats.gamma.logpdf, log_gamma_density, (2.0, 1.0)),
    (lambda x, a: stats.beta.pdf(x, a, 2.5), lambda x, a: beta_density(x, a, 2.5), (0.3, 1.0)),
    (lambda x, b: stats.beta.pdf(x, 1.5, b), lambda x, b: beta_density(x, 1.5, b), (0.3, 1.0)),
    (lambda x, a: stats.beta.logpdf(x, a, 2.5), lambda x, a: mp.log(beta_density(x, a, 2.5)),
     (0.3, 1.0)),
    (special.beta, mp.beta, (1.0, -1.57)),
    (special.poch, mp.rf, (-2.3, 1.0)),
    (stats.gamma.logsf, lambda x, a: mp.log(gammaincc(a, x)), (30.0, 2.5)),
    (stats.gamma.logcdf, lambda x, a: mp.log(gammainc(a, x)), (0.1, 9.5)),
    (lambda x, a: stats.beta.logcdf(x, a, 2.5), lambda x, a: mp.log(betainc(a, 2.5, x)),
     (1e-3, 3.5)),
    (lambda x, b: stats.beta.logsf(x, 1.5, b), lambda x, b: mp.log(betainc(b, 1.5, 1 - x)),
     (0.9, 30.0)),
    (stats.t.logcdf, lambda t, df: mp.log(student(df, t)), (-10.0, 30.0)),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(MEETINGS)))
def test_mixed_second_derivatives(k: int) -> None:
    function, twin, at = MEETINGS[k]
    with mp.workdps(40):
        for orders in ((1, 1), (2, 0), (0, 2)):
            want = float(mp.re(mp.diff(twin, tuple(map(mp.mpf, at)), orders)))
            for got in partial(function, at, orders):
                assert got == pytest.approx(want, rel=1e-8, abs=1e-11), (orders, got, want)


def test_scaled_bessel_functions_of_large_orders() -> None:
    """Of an order next to the argument an integral would have to go farther than it does."""
    with mp.workdps(30):
        want = float(mp.diff(lambda z: kve(99, z), 100))
    assert cadiff.grad(special.kve, 1)(99.0, 100.0) == pytest.approx(want, rel=1e-12)


def test_mixed_derivatives_in_the_middle_of_a_distribution() -> None:
    """At the median the derivative by a shape is 0, but not that of it."""
    for got in partial(stats.gennorm.cdf, (0.0, 1.7), (1, 1)):
        assert got == pytest.approx(cadiff.grad(stats.gennorm.pdf, 1)(0.0, 1.7), rel=1e-12)
    want = slope(lambda df: cadiff.grad(special.stdtrit, 1)(df, 0.5), 3.0)
    for got in partial(special.stdtrit, (3.0, 0.5), (1, 1)):
        assert got == pytest.approx(want, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("kolmogorov", [0.0, 0.0, 0.0, 0.0]),
        ("itstruve0", [0.0, 2.0 / PI, 0.0, -4.0 / (3.0 * PI)]),
        ("itmodstruve0", [0.0, 2.0 / PI, 0.0, 4.0 / (3.0 * PI)]),
        ("it2struve0", [-2.0 / PI, 0.0, 4.0 / (9.0 * PI), 0.0]),
    ],
)
def test_derivatives_at_0(name: str, want: list[float]) -> None:
    """Those of Struve's are 2/π (x ∓ x³/9 + ...)."""
    f = getattr(special, name)
    got = [cadiff.derivative(f, 0, (0.0,), order=k) for k in range(1, 5)]
    assert got == pytest.approx(want, rel=1e-14, abs=0.0)
    assert cadiff.grad(cadiff.grad(f))(0.0) == pytest.approx(want[1], rel=1e-14, abs=0.0)


def test_a_number_in_the_pieces_of_an_array() -> None:
    """Both sides of a choice in one array."""
    phi, m = np.array([0.3, PI / 2, 4.0]), np.array([0.5, 0.5, 0.5])
    by_phi = lambda m: cadiff.elementwise_grad(lambda p: special.ellipeinc(p, m))(phi)  # noqa: E731
    got = np.diag(cadiff.jacobian(by_phi)(m))
    want = [partial(special.ellipeinc, (x, 0.5), (1, 1))[0] for x in phi]
    np.testing.assert_allclose(got, want, rtol=1e-13)


# --- integrals and recurrences, no differences ---------------------------------------------------


def wright(a: Any, b: Any, x: Any) -> Any:
    return mp.fsum(mp.mpf(x) ** k / mp.factorial(k) * mp.rgamma(a * k + b) for k in range(30))


def gauss(a: Any, b: Any, c: Any) -> Any:
    """Hypergeometric functions at 1 (DLMF 15.4.20)."""
    return mp.gammaprod([c, c - a - b], [c - a, c - b])


SECOND: list[tuple[str, Callable[..., Any], tuple[float, ...], float]] = [
    ("hyperu", mp.hyperu, (0.3, 0.2, 8.0), 1e-13),
    ("hyperu", mp.hyperu, (1.5, -2.5, 4.0), 1e-13),
    ("hyperu", mp.hyperu, (-0.05, 1.3, 0.2), 1e-12),
    ("voigt_profile", voigt, (0.3, 1.0, 0.5), 1e-13),
    ("voigt_profile", voigt, (2.0, 0.01, 1.0), 1e-13),
    ("voigt_profile", voigt, (100.0, 2.0, 3.0), 1e-13),
    ("voigt_profile", voigt, (1.0, 2.0, 0.0), 1e-13),
    ("voigt_profile", voigt, (3.0, -1.5, 2.0), 1e-13),
    ("wright_bessel", wright, (0.0, 1.5, 1.3), 3e-11),
    ("wright_bessel", wright, (0.7, 0.0, 1.3), 3e-11),
    ("hyp2f1", gauss, (0.5, 0.7, 3.9), 1e-8),
    ("hyp2f1", gauss, (0.5, 0.7, 1.25), 1e-8),
    ("hyp2f1", gauss, (0.1, 0.2, 1.25), 1e-8),
    ("hyp2f1", gauss, (0.3, 0.2, 5.0), 1e-8),
    ("elliprd", mp.elliprd, (1.0, 1.0, 1.0), 1e-13),
    ("elliprg", mp.elliprg, (1e-6, 2.0, 3.0), 1e-13),
    ("elliprj", mp.elliprj, (1.0, 2.0, 3.0, 3.0), 1e-13),
    ("elliprc", mp.elliprc, (3.0, 1e-4), 1e-13),
    ("agm", mp.agm, (1e-5, 1e5), 1e-13),
]


@pytest.mark.parametrize(
    ("name", "twin", "at", "bound"), SECOND, ids=[f"{row[0]}{row[2]}" for row in SECOND]
)
def test_second_derivatives(
    name: str, twin: Callable[..., Any], at: tuple[float, ...], bound: float
) -> None:
    further = (1.0,) if twin is gauss else ()

    def f(z: Any) -> Any:
        return getattr(special, name)(*z, *further)

    x = np.array(at)
    gradient, hessian = cadiff.grad(f)(x), cadiff.hessian(f)(x)
    np.testing.assert_allclose(hessian, hessian.T, rtol=bound)
    with mp.workdps(30):
        for found in (gradient, hessian):
            for orders in combinations_with_replacement(range(len(at)), found.ndim):
                counts = tuple(orders.count(k) for k in range(len(at)))
                want = float(mp.diff(twin, at, counts))
                assert found[orders] == pytest.approx(want, rel=bound, abs=1e-300), orders


AT_ZERO: list[tuple[str, tuple[float, ...], list[float]]] = [
    ("elliprg", (0.0, 1.0, 2.0), [float(mp.elliprf(0, 1, 2)) / 4]),
    ("elliprg", (2.0, 0.0, 0.0), [float(mp.sqrt(2)) / 8, math.inf, math.inf]),
    ("elliprg", (0.0, 0.0, 0.0), [math.inf, math.inf, math.inf]),
    ("elliprf", (0.0, 1.0, 2.0), [-math.inf]),
    ("elliprc", (0.0, 1.0), [-math.inf, -float(mp.pi) / 4]),
    ("elliprc", (0.0, -2.0), [math.inf]),
    ("elliprd", (0.0, 1.0, 2.0), [-math.inf]),
    ("elliprd", (1.0, 2.0, 0.0), [-math.inf, -math.inf, -math.inf]),
    ("elliprj", (0.0, 1.0, 2.0, 3.0), [-math.inf]),
    ("elliprj", (0.0, 1.0, 2.0, -3.0), [math.inf]),
    ("agm", (0.0, 2.0), [math.inf, 0.0]),
    ("voigt_profile", (1.5, 0.0, 1.0), [-3.0 / 3.25**2 / float(mp.pi), 0.0]),
]


@pytest.mark.parametrize(("name", "at", "want"), AT_ZERO, ids=[f"{n}{a}" for n, a, _ in AT_ZERO])
def test_derivatives_at_zero(name: str, at: tuple[float, ...], want: list[float]) -> None:
    def f(z: Any) -> Any:
        return getattr(special, name)(*z)

    found = cadiff.grad(f)(np.array(at))
    np.testing.assert_allclose(found[: len(want)], want, rtol=1e-13)
    assert not np.isnan(found).any()
    np.testing.assert_array_equal(cadiff.compile(f).grad(np.array(at)), found)


def test_mixed_derivatives_at_zero_are_symmetric() -> None:
    """By both others the derivative of R_G at x = 0, R_F / 4, has derivatives that are R_D's."""
    hessian = cadiff.hessian(lambda z: special.elliprg(*z))(np.array([0.0, 1.0, 2.0]))
    wanted = [-float(mp.elliprd(0, *z)) / 24 for z in ((2, 1), (1, 2))]
    np.testing.assert_allclose(hessian[0], [-math.inf, *wanted], rtol=1e-13)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-13)


@pytest.mark.parametrize("c", [0.8, 1.5])
def test_moments_where_the_support_moves(c: float) -> None:
    check_slope(stats.genhalflogistic.mean, st.genhalflogistic.mean, c)


@pytest.mark.filterwarnings("ignore:Error in function")  # of SciPy's own values
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("nctdtr", (5.5e7, 6.7e7, 1.2)),
        ("_nct_sf", (1.2, 5.5e7, 5.5e7)),
        ("_nct_variance", (1e300, 5.5e7)),
        ("ncfdtr", (1.2, 1e300, 0.7, 1.2)),
    ],
)
def test_what_overflows_within_a_rule_is_no_error(name: str, at: tuple[float, ...]) -> None:
    def f(x: Any) -> Any:
        return getattr(special, name)(*at[:-1], x)

    with np.errstate(all="ignore"):
        found = cadiff.grad(f)(at[-1])
        assert found == 0.0 if name == "nctdtr" else isinstance(found, float)
        np.testing.assert_equal(cadiff.compile(f).grad(at[-1]), found)
        first = np.array([at[-1], 0.9]) if name == "nctdtr" else np.array([at[-1]])
        assert np.shape(cadiff.jvp(f, (first,), (np.ones_like(first),))[1]) == first.shape


# --- tables --------------------------------------------------------------------------------------


def test_a_row_names_every_parameter() -> None:
    def made(parameters: str, **partials: str) -> Tabulated:
        return Tabulated("f", parameters, lambda x, y: x * y, partials, special.formula)

    assert cadiff.grad(made("x, const y", x="y"))(2.0, 3.0) == 3.0
    for parameters, partials in (
        ("x, y", {"x": "y"}),
        ("x, const y", {"x": "y", "y": "x"}),
        ("const x, const y", {"x": "y"}),
        ("x, y", {}),
    ):
        with pytest.raises(TypeError, match="has formulas for"):
            made(parameters, **partials)


@pytest.mark.filterwarnings("ignore:non-integer arg")
def test_what_has_no_formula_raises_in_every_mode() -> None:
    kernels = [f for place in (_families, special) for f in vars(place).values()]
    constants = [f for f in kernels if isinstance(f, Tabulated) and f.refusals]
    assert len(constants) > 60
    for f, k in [(each, k) for each in constants for k in each.refusals]:
        at = [1.0] * len(f.pulls)

        def call(x: Any, f: Any = f, k: int = k, at: Any = at) -> Any:
            return f.slope(k, *at[:k], x, *at[k + 1 :])

        for differentiate in (cadiff.grad, cadiff.jacfwd):
            with pytest.raises(TypeError, match=r"no known derivative|not supported"):
                differentiate(call)(1.0)


# --- whole numbers -------------------------------------------------------------------------------

# Calls, the variable, and shapes that are whole.
WHOLE: list[tuple[Function, float, tuple[int, ...]]] = [
    *((getattr(stats.t, m), 0.7, (3,)) for m in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf")),
    *((getattr(stats.t, m), 0.3, (5,)) for m in ("ppf", "isf")),
    *((getattr(stats.gamma, m), 0.7, (3,)) for m in ("logpdf", "cdf", "logsf", "ppf")),
    *((getattr(stats.beta, m), 0.7, (3, 2)) for m in ("logpdf", "cdf", "ppf")),
    *((getattr(stats.f, m), 0.7, (3, 5)) for m in ("logpdf", "cdf", "ppf")),
    (stats.chi2.logpdf, 0.7, (3,)),
    (stats.weibull_min.logpdf, 0.7, (3,)),
    (stats.genextreme.logpdf, 0.2, (2,)),
    (stats.nct.pdf, 0.7, (3, 1)),
    (stats.ncx2.logpdf, 0.7, (3, 1)),
    (stats.geninvgauss.logpdf, 0.7, (3, 1)),
    (stats.genhyperbolic.logpdf, 0.7, (3, 2, 1)),
    (stats.pearson3.cdf, 0.7, (1,)),
    (stats.gennorm.cdf, 0.7, (3,)),
    (stats.kappa4.logpdf, 0.2, (1, 2)),
    (lambda x, df: special.stdtr(df, x), 0.7, (3,)),
    (lambda x, df: special.stdtrit(df, x), 0.3, (3,)),
    (lambda x, n, m: special.fdtr(n, m, x), 0.7, (3, 5)),
    (lambda x, v: special.kve(v, x), 3.5, (2,)),
    (lambda x, v: special.ive(v, x), 40.5, (2,)),
    (lambda x, v: special.yv(v, x), 0.5, (2,)),
    (lambda x, a, b: special.hyp1f1(a, b, x), 0.5, (2, 3)),
    (lambda x, a, b, c: special.hyp2f1(a, b, c, x), 0.5, (2, 3, 5)),
    (lambda x, n: special.kn(n, x), 0.7, (0,)),
    (lambda x, n: special.eval_legendre(n, x), 0.7, (3,)),
    (lambda x, n: special.expn(n, x), 0.7, (0,)),
    (lambda x, n: special.spherical_jn(n, x), 0.7, (0,)),
    (lambda x, n: special.diric(x, n), 0.7, (3,)),
    (lambda x, m: special.boxcox(x, m), 0.7, (2,)),
]


@pytest.mark.parametrize("k", range(len(WHOLE)))
def test_integers_are_as_the_same_floats(k: int) -> None:
    """Value and derivatives by the variable, first and second, alone and in programs."""
    call, x, shapes = WHOLE[k]

    def jet(shapes: Any, programs: bool = False) -> list[float]:
        f = lambda x: np.sum(call(x, *shapes))  # noqa: E731
        f = cadiff.compile(f) if programs else f
        return [float(g(x)) for g in (f, cadiff.grad(f), cadiff.grad(cadiff.grad(f)))]

    want = np.array(jet(tuple(map(float, shapes))))
    for integer in (int, np.int32, np.int64):
        np.testing.assert_allclose(jet(tuple(map(integer, shapes))), want, rtol=1e-11)
    for integer in (np.int8, np.uint8, np.uint32):  # of which SciPy's own values are not right
        np.testing.assert_allclose(jet(tuple(map(integer, shapes)))[1:], want[1:], rtol=1e-11)
    arrays = tuple(np.array([n, n], np.int32) for n in shapes)
    for programs in (False, True):
        np.testing.assert_allclose(jet(arrays, programs), 2.0 * want, rtol=1e-11)


def test_an_array_of_degrees_of_freedom() -> None:
    df = np.array([3, 5, 10])
    want = -(df + 1.0) * 0.3 / (df + 0.09)
    got = cadiff.grad(lambda x: np.sum(stats.t.logpdf(x, df)))(0.3)
    assert got == pytest.approx(np.sum(want), rel=1e-14)


# --- solutions at a bound ------------------------------------------------------------------------

CLIPPED = [
    ("bdtrik", (0.001, 0.3, 0.9)),
    ("nbdtrik", (0.01, 4.0, 0.7)),
    ("pdtrik", (0.3, 0.1)),
    ("stdtridf", (0.9, 0.3)),
    ("fdtridfd", (2.0, 0.99, 1.2)),
    ("chndtridf", (0.3, 0.99, 2.0)),
    ("nctdtridf", (0.9, 0.3, 0.1)),
]


@pytest.mark.parametrize(("name", "at"), CLIPPED)
def test_a_solution_at_a_bound_does_not_move(name: str, at: tuple[float, ...]) -> None:
    f = getattr(special, name)
    for k, x in enumerate(at):
        beside = (*at[:k], x * 1.0001, *at[k + 1 :])
        assert getattr(sp, name)(*beside) == pytest.approx(getattr(sp, name)(*at), rel=1e-3)
        assert cadiff.grad(f, k)(*at) == cadiff.derivative(f, k, at) == 0.0
        assert cadiff.grad(cadiff.grad(f, k), 0)(*at) == 0.0


# --- types ---------------------------------------------------------------------------------------

SINGLES: dict[str, tuple[Any, ...]] = {
    "polygamma": (1, np.float32(0.7)),
    "hyp2f1": (2.0, 0.5, 1.5, np.float32(0.3)),
    "hyp1f1": (2.0, 0.5, np.float32(0.3)),
    "log_softmax": (np.array([0.3, 0.7], np.float32),),
    "lambertw": (np.float32(0.3),),
    "multigammaln": (np.float32(3.5), 2),
    "comb": (5.5, np.float32(2.5)),
    "cosdg": (np.float32(30.0),),
    "kve": (2, np.float32(0.5)),
    "stdtr": (3, np.float32(0.5)),
}


@pytest.mark.parametrize("name", SINGLES)
def test_types_are_those_of_scipy(name: str) -> None:
    args, function = SINGLES[name], getattr(special, name)
    k = next(k for k, x in enumerate(args) if isinstance(x, (np.float32, np.ndarray)))
    want = getattr(sp, name)(*args)
    f = lambda x: function(*args[:k], x, *args[k + 1 :])  # noqa: E731
    program = cadiff.compile(f)
    for got in (function(*args), cadiff.vjp(f, args[k])[0], program(args[k]), program(args[k])):
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("name", ["norm", "t", "gamma", "cauchy", "genextreme"])
@pytest.mark.parametrize("method", ["pdf", "cdf", "ppf"])
def test_distributions_compute_in_double_precision(name: str, method: str) -> None:
    given = {"t": [3.5], "gamma": [2.5], "genextreme": [0.25]}.get(name, [])
    shapes = [np.float32(s) for s in given]
    want = getattr(getattr(st, name), method)(np.float32(0.375), *shapes)
    f = lambda x: getattr(getattr(stats, name), method)(x, *shapes)  # noqa: E731
    for got in (cadiff.vjp(f, np.float32(0.375))[0], cadiff.compile(f)(np.float32(0.375))):
        assert np.asarray(got).dtype == np.asarray(want).dtype == np.float64
        assert got == pytest.approx(want, rel=1e-6)


def test_lambertw_is_complex_as_scipy_has_it() -> None:
    x = np.array([0.3, -0.2, -1.0])
    value, pull = cadiff.vjp(lambda x: special.lambertw(x).real, x)
    np.testing.assert_array_equal(value, sp.lambertw(x).real)
    w = sp.lambertw(x)
    np.testing.assert_allclose(pull(np.ones(3)), (w / (x * (1.0 + w))).real, rtol=1e-13)
    with pytest.raises(TypeError, match="a real part"):
        cadiff.grad(special.lambertw)(0.3)


@pytest.mark.filterwarnings("ignore:a branch of .* rests on the equality")
@pytest.mark.parametrize("of", ["geomspace", "logspace", "linspace"])
@pytest.mark.parametrize("ends", [(0, 1), (slice(1), 1), (0, 8.0), (2.0, 1)])
def test_grids_of_single_precision(of: str, ends: tuple[Any, Any]) -> None:
    x = np.array([1, 8], np.float32)

    def grid(x: Any) -> Any:
        low, high = (x[end] if isinstance(end, (int, slice)) else end for end in ends)
        return getattr(np, of)(low, high, 4)

    want = grid(x)
    for found in (cadiff.jvp(grid, (x,), (x,))[0], cadiff.compile(grid)(x)):
        assert found.dtype == want.dtype
        # Powers of NumPy's in single precision depend on the processor.
        np.testing.assert_array_max_ulp(found, want, 1 if of == "logspace" else 0)
