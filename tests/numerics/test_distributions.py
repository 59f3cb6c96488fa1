"""Distributions at the edges of their supports and in their tails, against mpmath.

`pytest --hypothesis-profile=explore` compares a grid of points and parameters, of which else a
sample is taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import settings
from mpmath import mp

import cadiff
from cadiff import Var
from cadiff.scipy import stats

from ..helpers.differences import slope
from ..helpers.truth_stats import TRUTHS, jet

INF = math.inf
DENSITIES = ("pdf", "logpdf")
MASSES = ("pmf", "logpmf")
TAILS = ("cdf", "logcdf", "sf", "logsf")

# Points and parameters; of a discrete distribution, parameters and numbers.
REAL = [-800.0, 40.0, -1e15, -9.0, -0.3, 1e-10, 0.5, 2.0, 6.0, 300.0]
POSITIVE = [1e-12, 800.0, 0.3, 1.5, 8.0, 19.0, 60.0, 390.0, 1e4]
UNIT = [1e-12, 0.99, 0.01, 0.1, 0.3, 0.7, 1.0 - 1e-6]
GRID: dict[str, tuple[list[float], list[tuple[float, ...]]]] = {
    "norm": (REAL, [()]),
    "t": (REAL, [(3.3,), (0.7,), (40.0,)]),
    "gamma": (POSITIVE, [(4.2,), (0.6,), (30.0,), (300.0,)]),
    "chi2": (POSITIVE, [(7.3,), (0.5,), (100.0,)]),
    "beta": (UNIT, [(40.0, 3.0), (0.6, 0.8), (0.5, 200.0), (3.0, 1e4)]),
    "uniform": (UNIT, [()]),
    "expon": (POSITIVE, [()]),
    "laplace": (REAL, [()]),
    "logistic": (REAL, [()]),
    "lognorm": (POSITIVE, [(0.8,), (0.05,)]),
    "cauchy": (REAL, [()]),
    "weibull_min": (POSITIVE, [(1.6,), (0.3,), (3.0,)]),
    "poisson": (POSITIVE, [(20.0,), (0.0,), (400.0,)]),
    "binom": (UNIT, [(3.0, 9.0), (2.0, 1000.0), (400.0, 1000.0)]),
    "bernoulli": (UNIT, [(0.0,)]),
}
DISCRETE = {"poisson", "binom", "bernoulli"}
EXPLORING = settings.get_current_profile_name() == "explore"

CASES = [
    (name, method)
    for name in GRID
    for method in (MASSES if name in DISCRETE else DENSITIES) + TAILS
]


def function(name: str, method: str, shapes: tuple[float, ...]) -> Any:
    """A method by the variable; of a discrete distribution by its last parameter."""
    original = getattr(getattr(stats, name), method)
    if name in DISCRETE:
        return lambda p: original(*shapes, p)
    return lambda x: original(x, *shapes)


def orders(f: Any, x: float, order: int) -> list[Any]:
    """The first or second derivative in both modes."""
    slope = f if order == 1 else cadiff.grad(f)
    return [cadiff.grad(slope)(x), cadiff.derivative(f, 0, (x,), order=order)]


def check(f: Any, x: float, want: tuple[Any, ...]) -> None:
    """Value, first and second derivative, in both modes, but for what underflows or cancels."""
    value, first, second = (float(w) for w in want)
    assert float(cadiff.value(f(Var(x)))) == pytest.approx(value, rel=1e-11, abs=1e-300), x
    noise = 1e-300 + 1e-15 * abs(first)
    assert orders(f, x, 1) == pytest.approx([first] * 2, rel=1e-9, abs=1e-300), x
    bend = 1e-300 + noise * max(1.0, abs(first), 1.0 / abs(x) if x else 1.0)
    assert orders(f, x, 2) == pytest.approx([second] * 2, rel=1e-9, abs=bend), x


@pytest.mark.parametrize(("name", "method"), CASES)
def test_tails(name: str, method: str) -> None:
    points, parameters = GRID[name]
    for shapes in parameters if EXPLORING else parameters[:1]:
        for x in points if EXPLORING else points[:2]:
            with np.errstate(all="ignore"):
                check(function(name, method, shapes), x, jet(name, method, x, *shapes))


# Far out, and near the end of the support.
FAR = {
    **dict.fromkeys(("t", "cauchy"), (-1e12, -1e5, -30.0, 1e-8, 1e5, 1e10)),
    **dict.fromkeys(("norm", "laplace", "logistic"), (-30.0, 1e5)),
    **dict.fromkeys(("gamma", "chi2", "expon", "lognorm", "weibull_min"), (1e-10, 30.0, 1e5)),
    **dict.fromkeys(("beta", "uniform"), (1e-10, 1.0 - 1e-3)),
}


@pytest.mark.parametrize("method", [*DENSITIES, *TAILS])
@pytest.mark.parametrize("name", FAR)
def test_twice_by_the_scale(name: str, method: str) -> None:
    """As the chain rule has it, in many digits: terms cancel in the tail of a power."""
    scale = 0.125
    for z in FAR[name]:
        for shapes in GRID[name][1] if EXPLORING else GRID[name][1][:1]:
            value, first, second = jet(name, method, z, *shapes)
            with mp.workdps(120):
                rates = [second * z * mp.mpf(z), first * z * 2, mp.mpf(method == "logpdf")]
                if method == "pdf":
                    rates = [rate / scale for rate in (rates[0], rates[1] * 2, value * 2)]
                want = float(mp.re(mp.fsum(rates))) / scale**2
                noise = 1e-300 + 1e-40 * float(max(map(abs, rates)))
            original = getattr(getattr(stats, name), method)

            def f(s: Any, x: float = z * scale, shapes: Any = shapes, call: Any = original) -> Any:
                return call(x, *shapes, scale=s)

            with np.errstate(all="ignore"):
                for got in (cadiff.grad(cadiff.grad(f))(scale), cadiff.hessian(f)(scale)):
                    assert got == pytest.approx(want, rel=1e-9, abs=noise), (z, shapes)


# Between the center and far out, where a density underflows.
TINY_SCALES = [
    ("norm", "cdf", 40.0), ("norm", "sf", -40.0), ("norm", "logcdf", 40.0), ("norm", "cdf", 0.5),
    ("norm", "logpdf", 40.0), ("t", "cdf", 1e20), ("t", "sf", 1e75), ("t", "logsf", -1e20),
    ("expon", "sf", 800.0), ("expon", "pdf", 800.0), ("gamma", "cdf", 900.0),
    ("gamma", "pdf", 40.0), ("expon", "pdf", 0.5), ("logistic", "logcdf", 750.0),
    ("norm", "pdf", 40.0), ("norm", "pdf", -40.0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "method", "z", "scale"),
    [
        *((*row, 1e-150) for row in TINY_SCALES),
        *(("norm", "pdf", z, scale) for z, scale in ((30.0, 1e-101), (30.0, 1e-100))),
    ],
)
def test_derivatives_at_a_tiny_scale(name: str, method: str, z: float, scale: float) -> None:
    """Quotients by the scale are in range where densities, or their own factors, are not."""
    shapes = GRID[name][1][0]
    x = z * scale
    original = getattr(getattr(stats, name), method)
    with mp.workdps(120):
        s = mp.mpf(scale)
        z = mp.mpf(x) / s
        value, first, second = (mp.re(d) for d in jet(name, method, z, *shapes))
        by_scale = [-z * first, z * z * second + 2 * z * first]
        if method == "pdf":
            by_scale = [by_scale[0] - value, by_scale[1] + 2 * z * first + 2 * value]
            first, second, by_scale = first / s, second / s, [d / s for d in by_scale]
        elif method == "logpdf":
            by_scale = [by_scale[0] - 1, by_scale[1] + 1]
        want = [first / s, second / s**2], [by_scale[0] / s, by_scale[1] / s**2]
    plain = getattr(getattr(scipy.stats, name), method)(x, *shapes, scale=scale)
    by_x = lambda t: original(t, *shapes, scale=scale)  # noqa: E731
    by_s = lambda t: original(x, *shapes, scale=t)  # noqa: E731
    for f, at, derivatives in ((by_x, x, want[0]), (by_s, scale, want[1])):
        if method in ("pdf", "cdf", "sf"):
            assert float(cadiff.value(f(Var(at)))) == pytest.approx(plain, rel=1e-12, abs=0.0)
        for order, expected in enumerate(map(float, derivatives), 1):
            assert orders(f, at, order) == pytest.approx([expected] * 2, rel=1e-9, abs=0.0), order
        if name == "norm" and method == "pdf":
            slope = cadiff.compile(cadiff.grad(f))
            assert slope.grad(at) == pytest.approx(float(derivatives[1]), rel=1e-9, abs=0.0)


def test_cauchy_by_point_and_scale() -> None:
    """In the tail its logarithms are sums, log s - 2 log x and the like: mixed terms are tiny."""
    with mp.workdps(80):
        x, s, pi = mp.mpf(-1e12), mp.mpf(0.3), mp.pi
        square = x * x + s * s
        probability = mp.atan2(s, -x) / pi
        by_x, by_s = s / (pi * square), -x / (pi * square)
        mixed = (x * x - s * s) / (pi * square**2)
        want = {
            "logpdf": 4 * x * s / square**2,
            "logcdf": mixed / probability - by_x * by_s / probability**2,
        }
    for method, number in want.items():
        f = getattr(stats.cauchy, method)
        hessian = cadiff.hessian(lambda p, f=f: f(p[0], scale=p[1]))(np.array([-1e12, 0.3]))
        assert hessian[0, 1] == pytest.approx(float(number), rel=1e-9, abs=0.0)


def test_cauchy_of_infinite_scale() -> None:
    for method, want in (("pdf", 0.0), ("logpdf", -INF), ("cdf", 0.5), ("logsf", -math.log(2.0))):
        f = getattr(stats.cauchy, method)
        assert float(cadiff.value(f(Var(3.0), scale=Var(INF)))) == pytest.approx(want)
        assert cadiff.grad(lambda x, f=f: f(x, scale=INF))(3.0) == 0.0


EDGES = [
    ("gamma", "pdf", 0.0, (1.0,), (1, -1, 1)),
    ("gamma", "pdf", 0.0, (2.0,), (0, 1, -2)),
    ("gamma", "logsf", 0.0, (2.0,), (0, 0, -1)),
    ("chi2", "pdf", 0.0, (4.0,), (0, 0.25, -0.25)),
    ("weibull_min", "pdf", 0.0, (2.0,), (0, 2, 0)),
    ("weibull_min", "pdf", 0.0, (3.0,), (0, 0, 6)),
    ("beta", "pdf", 0.0, (1.0, 1.0), (1, 0, 0)),
    ("beta", "pdf", 0.0, (2.0, 2.0), (0, 6, -12)),
    ("beta", "pdf", 1.0, (3.0, 1.0), (3, 6, 6)),
    ("beta", "logcdf", 1.0, (3.0, 1.0), (0, 3, -3)),
    ("beta", "logsf", 1.0, (2.3, 0.6), (-INF, -INF, -INF)),
    ("beta", "logcdf", 0.0, (0.6, 2.3), (-INF, INF, -INF)),
    ("lognorm", "pdf", 0.0, (0.8,), (0, 0, 0)),
    ("lognorm", "logsf", 0.0, (0.8,), (0, 0, 0)),
    ("cauchy", "logpdf", 1e200, (), (-math.log(math.pi) - 400 * math.log(10), -2e-200, 0)),
    ("logistic", "logpdf", 0.0, (), (-math.log(4.0), 0, -0.5)),
    ("uniform", "logsf", 1e-20, (), (-1e-20, -1, -1)),
    ("norm", "pdf", INF, (), (0, 0, 0)),
    ("t", "cdf", INF, (3.0,), (1, 0, 0)),
    ("cauchy", "pdf", 1e100, (), (3.183098861837907e-201, -6.366197723675814e-301, 0)),
    ("poisson", "pmf", 0.0, (1,), (0, 1, -2)),
    ("poisson", "pmf", 0.0, (0,), (1, -1, 1)),
    ("binom", "logcdf", 1e-16, (0, 1e10), (-1e-6, -1e10, -1e10)),
    ("binom", "pmf", 1.0, (3, 3), (1, 3, 6)),
    ("binom", "logcdf", 0.5, (3, 3), (0, 0, 0)),
    ("bernoulli", "logcdf", 1e-20, (0,), (-1e-20, -1, -1)),
]


@pytest.mark.parametrize(("name", "method", "x", "shapes", "want"), EDGES)
def test_edges(
    name: str, method: str, x: float, shapes: tuple[float, ...], want: tuple[float, ...]
) -> None:
    with np.errstate(all="ignore"):
        check(function(name, method, shapes), x, want)


@pytest.mark.parametrize("df", [30.0, 1e6, 1e16, 1e100])
def test_student_by_its_degrees_of_freedom(df: float) -> None:
    """Towards the normal distribution the derivatives fall like (t⁴ - 2t² - 1) / (4 df²)."""
    for t in (0.3, 2.0):
        with mp.workdps(700):
            v, h = mp.mpf(df), mp.mpf(df) / 10**150
            log_density = TRUTHS["t"].log_mass
            above, at, below = (log_density(mp.mpf(t), v + k * h) for k in (1, 0, -1))
            first, second = (above - below) / (2 * h), (above - 2 * at + below) / h**2

        f = lambda df, t=t: stats.t.logpdf(t, df)  # noqa: E731
        for order, want in ((1, float(first)), (2, float(second))):
            assert orders(f, df, order) == pytest.approx([want] * 2, rel=1e-9, abs=1e-300)


def test_dirichlet_at_a_face() -> None:
    """At 0 the density is a product of powers, of which the logarithm has no derivative."""

    def f(x: Any) -> Any:
        return stats.dirichlet.pdf(x, [2.0, 2.0, 3.0])

    x = np.array([0.0, 0.4, 0.6])  # 360 x y z²
    np.testing.assert_allclose(cadiff.grad(f)(x), [51.84, 0.0, 0.0])
    want = [[0.0, 129.6, 172.8], [129.6, 0.0, 0.0], [172.8, 0.0, 0.0]]
    np.testing.assert_allclose(cadiff.hessian(f)(x), want, rtol=1e-13)


def test_laplace_has_one_slope_where_its_tails_meet() -> None:
    assert cadiff.grad(stats.laplace.cdf)(0.0) == 0.5
    assert cadiff.grad(stats.laplace.logsf)(0.0) == -1.0


# --- ends of supports ----------------------------------------------------------------------------

# Where densities are finite at an end, low or high.
ENDS = [
    *[(name, (), 0) for name in ("expon", "halfnorm", "halfcauchy", "halflogistic")],
    *[(name, (1.0,), 0) for name in ("gamma", "erlang", "weibull_min", "lomax", "pareto")],
    *[(name, (0.8,), 0) for name in ("genpareto", "foldnorm", "foldcauchy", "gompertz")],
    *[("bradford", (0.8,), 0), ("bradford", (0.8,), 1), ("truncexpon", (0.8,), 1)],
    *[(name, (2.0, 3.0), 0) for name in ("f", "ncx2")],
    *[(name, (1.0, 1.0), 0) for name in ("burr", "burr12", "beta", "betaprime")],
    *[("nakagami", (0.5,), 0), ("triang", (0.5,), 1), ("wrapcauchy", (0.5,), 1)],
    *[("truncnorm", (-1.0, 2.0), k) for k in (0, 1)],
    *[("fisk", (1.0,), 0), ("powerlaw", (1.7,), 1), ("halfgennorm", (0.7,), 0)],
    *[("rdist", (4.0,), 0), ("rdist", (2.0,), 1), ("genextreme", (1.0,), 1)],
    *[("trapezoid", (0.0, 0.6), 0), ("loguniform", (0.5, 2.0), 1), ("ncf", (2.0, 3.0, 1.0), 0)],
]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes", "k"), ENDS)
def test_at_ends_derivatives_are_those_from_within(
    name: str, shapes: tuple[float, ...], k: int
) -> None:
    theirs = getattr(scipy.stats, name)
    end, step = float(theirs.support(*shapes)[k]), (1e-7, -1e-7)[k]
    wanted = (theirs.cdf(end + step, *shapes) - k) / step
    for method, sign in (("cdf", 1.0), ("sf", -1.0), (("logsf", "logcdf")[k], 2.0 * k - 1.0)):
        own = getattr(getattr(stats, name), method)
        value, slope = cadiff.jvp(lambda x, f=own: f(x, *shapes), (end,), (1.0,))
        assert value == getattr(theirs, method)(end, *shapes)
        assert slope == pytest.approx(sign * wanted, rel=1e-5, abs=1e-6)
    log_tail = getattr(getattr(stats, name), ("logcdf", "logsf")[k])
    assert cadiff.grad(lambda x: log_tail(x, *shapes))(end) == (INF, -INF)[k]


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        *[("genextreme", (c,)) for c in (0.3, 0.5, 1.0)],
        *[("genhalflogistic", (c,)) for c in (0.4, 0.5, 1.0)],
        *[("kappa4", shapes) for shapes in ((0.5, 1.0), (0.0, 0.5), (-0.3, 0.4), (2.0, 0.5))],
    ],
)
def test_densities_at_the_upper_end(name: str, shapes: tuple[float, ...]) -> None:
    """There a power of 0 is 0, or 1."""
    theirs = getattr(scipy.stats, name)
    end, step = theirs.support(*shapes)[1], -1e-7
    wanted = (theirs.pdf(end + step, *shapes) - theirs.pdf(end, *shapes)) / step
    value, slope = cadiff.jvp(lambda x: getattr(stats, name).pdf(x, *shapes), (end,), (1.0,))
    assert value == theirs.pdf(end, *shapes)
    assert slope == pytest.approx(wanted, rel=1e-5, abs=1e-3)
    log_value = cadiff.jvp(lambda x: getattr(stats, name).logpdf(x, *shapes), (end,), (1.0,))[0]
    assert log_value == theirs.logpdf(end, *shapes)


@pytest.mark.parametrize("x", [0.5, 0.51, 0.9])
def test_logarithms_of_tiny_densities_have_second_derivatives(x: float) -> None:
    """At 0.5 the density is about 1e-180: its square is no number."""
    c, loc, scale = 10.58, 0.0, 0.8875

    def f(x: Any) -> Any:
        return stats.invweibull.logpdf(x, c, loc, scale)

    wanted = (c + 1.0) / x**2 - c * (c + 1.0) * (x / scale) ** (-c - 2.0) / scale**2
    assert cadiff.value_and_grad(f)(x)[0] == scipy.stats.invweibull.logpdf(x, c, loc, scale)
    assert cadiff.hessian(f)(x) == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("name", ["lomax", "truncnorm", "halfgennorm", "arcsine"])
def test_programs_agree_at_ends(name: str) -> None:
    shapes = {"lomax": (1.5,), "truncnorm": (-1.0, 2.0), "halfgennorm": (2.0,)}.get(name, ())

    def f(p: Any) -> Any:
        return getattr(stats, name).cdf(p[0], *shapes, p[1], p[2])

    end = np.array([getattr(scipy.stats, name).support(*shapes)[0], 0.0, 1.0])
    program = cadiff.compile(f, optimize=False)
    np.testing.assert_array_equal(program.grad(end), cadiff.grad(f)(end))
    if name == "lomax":  # 1 - (1 + z)**-c for z = (x - loc) / scale
        wanted = np.array([[-3.75, 3.75, -1.5], [3.75, -3.75, 1.5], [-1.5, 1.5, 0.0]])
        np.testing.assert_allclose(cadiff.hessian(f)(end), wanted, rtol=1e-12)


@pytest.mark.parametrize(("c", "wanted"), [(1.0, 0.5), (2.0, 0.0), (0.5, INF)])
def test_both_tails_of_dweibull_meet_with_one_slope(c: float, wanted: float) -> None:
    found = [cadiff.grad(getattr(stats.dweibull, tail))(0.0, c) for tail in TAILS]
    assert found == [wanted, 2.0 * wanted, -wanted, -2.0 * wanted]


@pytest.mark.parametrize("df", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("nc", [0.3, 1.0, 4.0])
def test_noncentral_distributions_have_densities_at_0(df: float, nc: float) -> None:
    special: Any = cadiff.scipy.special
    chi2 = lambda x: special.chndtr(x, df, nc)  # noqa: E731
    f = lambda x: special.ncfdtr(df, 3.0, nc, x)  # noqa: E731
    for own, central in ((chi2, scipy.stats.chi2(df)), (f, scipy.stats.f(df, 3.0))):
        wanted = math.exp(-0.5 * nc) * central.pdf(0.0)
        assert cadiff.grad(own)(0.0) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (lambda x: stats.nbinom.cdf(3, x, 0.4), 2.5),
        (lambda x: stats.nbinom.pmf(np.arange(3), x, 0.4).sum(), 2.5),
        (lambda x: stats.multinomial.entropy(3, np.stack([0.2 + x, 0.3 - x, 0.5])), 0.01),
    ],
)
def test_forward_mode_over_itself_knows_constants(f: Any, at: float) -> None:
    found = cadiff.jvp(lambda x: cadiff.jvp(f, (x,), (1.0,))[1], (at,), (1.0,))[1]
    assert found == pytest.approx(slope(cadiff.grad(f), at), rel=1e-6)


def test_wrapcauchy_has_all_derivatives_in_its_middle() -> None:
    c = 0.3
    for f, wanted in (
        (stats.wrapcauchy.ppf, 4.0 * np.pi / (1.0 - c) ** 2),
        (stats.wrapcauchy.cdf, -1.0 / (np.pi * (1.0 + c) ** 2)),
    ):
        middle = 0.5 if wanted > 0.0 else np.pi
        found = cadiff.hessian(lambda x, f=f: f(x[0], x[1]))(np.array([middle, c]))
        np.testing.assert_allclose(found, [[0.0, wanted], [wanted, 0.0]], atol=1e-12, rtol=1e-12)


def test_equal_tails_of_dpareto_lognorm_cancel_in_its_middle() -> None:
    u, s, a = 0.7, 1.2, 2.0
    found = cadiff.grad(stats.dpareto_lognorm.median, (0, 1))(u, s, a, a)
    np.testing.assert_allclose(found, [np.exp(u), 0.0], rtol=1e-12, atol=1e-12)
    density = scipy.stats.dpareto_lognorm.pdf(np.exp(u), u, s, a, a)
    slope = cadiff.grad(lambda x: stats.dpareto_lognorm.logcdf(x, u, s, a, a))(np.exp(u))
    assert slope == pytest.approx(2.0 * density, rel=1e-13)
