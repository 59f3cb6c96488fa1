"""Where a formula has a limit in a parameter: derivatives there, beside it and some way off.

The truth is the quotient itself, in so many digits that it does not matter how many cancel.
"""

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import cadiff
import cadiff.numpy as cnp
from cadiff.scipy import special, stats

Twin = Callable[[Any], Any]

OFFSETS = (0.0, 1e-300, 1e-12, -1e-12, 1e-8, -1e-6, 1e-4, -1e-2)
X, Q = 0.7, 0.3
DATA = np.array([0.4, 1.3, 2.2, 0.9])
SIGNED = DATA * [1.0, -1.0, 1.0, -1.0]


def power_over(x: Any, c: Any) -> Any:
    return (x**c - 1) / c


def log_over(x: Any, c: Any) -> Any:
    return mp.log1p(c * x) / c


def extreme(x: Any, c: Any) -> Any:
    rise = -log_over(x, -c)
    return rise - mp.exp(rise) - mp.log1p(-c * x)


def kappa_log_cdf(x: Any, h: Any, k: Any) -> Any:
    return -log_over(mp.exp(-log_over(x, -k)), -h)


def kappa_log_pdf(x: Any, h: Any, k: Any) -> Any:
    return -log_over(x, -k) - mp.log1p(-k * x) + (1 - h) * kappa_log_cdf(x, h, k)


def kappa_place(q: Any, h: Any, k: Any) -> Any:
    return -power_over(-power_over(q, h), k)


def half(x: Any, c: Any) -> Any:
    return mp.exp(-log_over(x, -c))


def pearson(x: Any, skew: Any) -> Any:
    a = 4 / skew**2
    y = a + 2 * x / skew
    return mp.log(2 / abs(skew)) + (a - 1) * mp.log(y) - y - mp.loggamma(a)


def yeo(x: Any, power: Any) -> Any:
    return power_over(1 + x, power) if x >= 0 else -power_over(1 - x, 2 - power)


def log_variance(y: list[Any]) -> Any:
    mean = mp.fsum(y) / len(y)
    return mp.log(mp.fsum([(each - mean) ** 2 for each in y]) / len(y))


def exact(array: Any) -> list[Any]:
    return [mp.mpf(float(x)) for x in array]


def box_cox(power: Any) -> Any:
    y = [power_over(x, power) for x in exact(DATA)]
    return (power - 1) * mp.fsum(map(mp.log, exact(DATA))) - 2 * log_variance(y)


def yeo_johnson(power: Any) -> Any:
    x = exact(SIGNED)
    logarithms = mp.fsum([mp.sign(each) * mp.log1p(abs(each)) for each in x])
    return (power - 1) * logarithms - 2 * log_variance([yeo(each, power) for each in x])


def of(name: str, *args: float, before: tuple[float, ...] = (), after: Any = ()) -> Any:
    """A method of a distribution by one of its shapes."""
    distribution, method = name.split(".")
    return lambda m, c: getattr(getattr(m, distribution), method)(*args, *before, c, *after)


# A call, its twin, where the parameter is special, and whether it may be below.
x, q, third = map(mp.mpf, (X, Q, 3.0))
CASES: dict[str, tuple[Callable[[Any, Any], Any], Twin, float, bool]] = {
    "genpareto.logpdf": (
        of("genpareto.logpdf", X), lambda c: -(c + 1) * log_over(x, c), 0.0, True),
    "genpareto.logsf": (of("genpareto.logsf", X), lambda c: -log_over(x, c), 0.0, True),
    "genpareto.ppf": (of("genpareto.ppf", Q), lambda c: -power_over(1 - q, -c), 0.0, True),
    "genpareto.moment": (
        of("genpareto.moment", 2), lambda c: 2 / ((1 - c) * (1 - 2 * c)), 0.0, True),
    "genextreme.logpdf": (of("genextreme.logpdf", X), lambda c: extreme(x, c), 0.0, True),
    "genextreme.cdf": (of("genextreme.cdf", X), lambda c: mp.exp(-half(x, c)), 0.0, True),
    "genextreme.ppf": (
        of("genextreme.ppf", Q), lambda c: -power_over(-mp.log(q), c), 0.0, True),
    "genextreme.isf": (
        of("genextreme.isf", Q), lambda c: -power_over(-mp.log1p(-q), c), 0.0, True),
    "genextreme.mean": (
        of("genextreme.mean"), lambda c: (1 - mp.gamma(1 + c)) / c, 0.0, True),
    "genhalflogistic.pdf": (
        of("genhalflogistic.pdf", X),
        lambda c: 2 * half(x, c) / ((1 - c * x) * (1 + half(x, c)) ** 2), 0.0, False),
    "genhalflogistic.cdf": (
        of("genhalflogistic.cdf", X), lambda c: (1 - half(x, c)) / (1 + half(x, c)), 0.0, False),
    "genhalflogistic.ppf": (
        of("genhalflogistic.ppf", Q), lambda c: -power_over((1 - q) / (1 + q), c), 0.0, False),
    **{
        f"kappa4.{method} by {'hk'[k]}": (
            of(f"kappa4.{method}", float(at), **{("after", "before")[k]: (0.125,)}),
            lambda c, f=f, at=at, k=k: f(at, *((c, mp.mpf(0.125)), (mp.mpf(0.125), c))[k]),
            0.0, True)
        for method, f, at in (
            ("logpdf", kappa_log_pdf, x), ("logcdf", kappa_log_cdf, x), ("ppf", kappa_place, q))
        for k in (0, 1)
    },
    "bradford.pdf": (
        of("bradford.pdf", X), lambda c: c / (1 + c * x) / mp.log1p(c), 0.0, False),
    "bradford.cdf": (
        of("bradford.cdf", X), lambda c: mp.log1p(c * x) / mp.log1p(c), 0.0, False),
    "bradford.ppf": (
        of("bradford.ppf", Q), lambda c: mp.expm1(q * mp.log1p(c)) / c, 0.0, False),
    "bradford.mean": (
        of("bradford.mean"), lambda c: 1 / mp.log1p(c) - 1 / c, 0.0, False),
    "bradford.var": (
        of("bradford.var"),
        lambda c: ((c + 2) * mp.log1p(c) - 2 * c) / (2 * c * mp.log1p(c) ** 2), 0.0, False),
    "truncexpon.mean": (
        of("truncexpon.mean"), lambda b: 1 - b / mp.expm1(b), 0.0, False),
    "genexpon.logpdf": (
        of("genexpon.logpdf", X, before=(0.5, 1.25)),
        lambda c: mp.log(0.5 - 1.25 * mp.expm1(-c * x)) - 1.75 * x - 1.25 * mp.expm1(-c * x) / c,
        0.0, False),
    "truncpareto.cdf": (
        of("truncpareto.cdf", 1.0 + X, after=(3.0,)),
        lambda b: (1 - (1 + x) ** -b) / (1 - third**-b), 1e-12, True),
    "truncpareto.ppf": (
        of("truncpareto.ppf", Q, after=(3.0,)),
        lambda b: (1 - (1 - third**-b) * q) ** (-1 / b), 1e-12, True),
    "truncpareto.mean": (
        of("truncpareto.mean", after=(3.0,)),
        lambda b: b / (b - 1) * (third**b - 3) / (third**b - 1), 1.0, True),
    "argus.sf": (
        of("argus.sf", X),
        lambda c: mp.gammainc(1.5, 0, c**2 * (1 - x**2) / 2) / mp.gammainc(1.5, 0, c**2 / 2),
        0.0, False),
    "ncx2.logpdf": (
        of("ncx2.logpdf", X, before=(3.25,)),
        lambda c: mp.log(mp.hyp0f1(mp.mpf(1.625), c * x / 4)) - c / 2, 0.0, False),
    "skewnorm.logpdf": (of("skewnorm.logpdf", X), lambda c: mp.log(mp.ncdf(c * x)), 0.0, True),
    "rice.logpdf": (
        of("rice.logpdf", X), lambda c: mp.log(mp.besseli(0, c * x)) - c**2 / 2, 0.0, False),
    "vonmises.logpdf": (
        of("vonmises.logpdf", X),
        lambda c: c * mp.cos(x) - mp.log(mp.besseli(0, c)), 0.0, False),
    "boltzmann.cdf": (
        of("boltzmann.cdf", 3, after=(7,)),
        lambda c: mp.expm1(-4 * c) / mp.expm1(-7 * c), 1e-12, False),
    "pearson3.logpdf": (of("pearson3.logpdf", X), lambda c: pearson(x, c), 0.0, True),
    "tukeylambda.cdf": (
        of("tukeylambda.cdf", X),
        lambda c: mp.findroot(lambda p: power_over(p, c) - power_over(1 - p, c) - x, 0.66),
        0.0, True),
    "tukeylambda.ppf": (
        of("tukeylambda.ppf", Q), lambda c: power_over(q, c) - power_over(1 - q, c), 0.0, True),
    "boxcox": (
        lambda m, c: cnp.sum(m.boxcox(DATA, c)),
        lambda c: mp.fsum([power_over(each, c) for each in exact(DATA)]), 0.0, True),
    "boxcox_llf": (lambda m, c: m.boxcox_llf(c, DATA), box_cox, 0.0, True),
    "power_divergence": (
        lambda m, c: m.power_divergence(DATA, DATA[::-1], lambda_=c)[0],
        lambda c: 2 / (c * (c + 1)) * mp.fsum(
            [a * ((a / b) ** c - 1) for a, b in zip(exact(DATA), exact(DATA[::-1]), strict=True)]
        ), 0.0, True),
    **{
        f"yeojohnson at {at:.0f}": (
            lambda m, c: cnp.sum(DATA * m.yeojohnson(SIGNED, c)),
            lambda c: mp.fsum(
                [a * yeo(b, c) for a, b in zip(exact(DATA), exact(SIGNED), strict=True)]
            ), at, True)
        for at in (0.0, 2.0)
    },
    "yeojohnson_llf": (lambda m, c: m.yeojohnson_llf(c, SIGNED), yeo_johnson, 0.0, True),
    "boxcox1p": (
        lambda m, c: (special if m is stats else sp).boxcox1p(X, c),
        lambda c: power_over(1 + x, c), 0.0, True),
    "inv_boxcox": (
        lambda m, c: (special if m is stats else sp).inv_boxcox(X, c),
        lambda c: mp.exp(log_over(x, c)), 0.0, True),
    "exprel": (
        lambda m, c: (special if m is stats else sp).exprel(c),
        lambda c: mp.expm1(c) / c, 0.0, True),
    "shichi": (
        lambda m, c: (special if m is stats else sp).shichi(c)[0], mp.shi, 0.0, True),
    "it2j0y0": (
        lambda m, c: (special if m is stats else sp).it2j0y0(c)[0],
        lambda c: c**2 / 8 - c**4 / 256 + c**6 / 13824, 0.0, True),
    "it2i0k0": (
        lambda m, c: (special if m is stats else sp).it2i0k0(c)[0],
        lambda c: c**2 / 8 + c**4 / 256 + c**6 / 13824, 0.0, True),
}  # fmt: skip


def jet(twin: Twin, at: float, special_value: float) -> tuple[float, float]:
    """First and second derivative, by differences of so many digits that they have sixteen."""
    with mp.workdps(110):
        h, place = mp.mpf(10) ** -18, mp.mpf(at)
        place += mp.mpf(10) ** -22 if abs(place - special_value) < 1e-22 else 0
        far_below, below, here, above, far_above = (twin(place + k * h) for k in range(-2, 3))
        first = (8 * (above - below) - (far_above - far_below)) / (12 * h)
        second = (16 * (above + below) - (far_above + far_below) - 30 * here) / (12 * h**2)
        return float(mp.re(first)), float(mp.re(second))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_derivatives_near_a_limit(name: str) -> None:
    call, twin, special_value, is_two_sided = CASES[name]
    rel = 1e-9 if name == "power_divergence" else 1e-10
    for offset in OFFSETS:
        at = special_value + (offset if is_two_sided else abs(offset))
        plain = float(call(st, at))
        if not math.isfinite(plain):  # SciPy divides by nothing
            continue
        first, second = jet(twin, at, special_value)
        value, slope = cadiff.value_and_grad(lambda c: call(stats, c))(at)
        assert value == pytest.approx(plain, rel=1e-15), at
        assert slope == pytest.approx(first, rel=rel, abs=1e-15 + 1e-13 * abs(second)), at
        bend = float(cadiff.hessian(lambda c: call(stats, c))(at))
        assert bend == pytest.approx(second, rel=2e-8, abs=1e-15), at


@pytest.mark.parametrize("skew", [0.0, 1e-12, -1e-6, 1e-4, -1e-2, 0.3, -0.95, 1.2, 2.5])
@pytest.mark.filterwarnings("ignore")
def test_pearson_by_its_skew(skew: float) -> None:
    """Probabilities and places are those of gamma's distribution, or of what it tends to."""

    def below(s: Any, x: float) -> Any:
        with mp.workdps(60):
            if abs(skew) < 0.2:
                return mp.quad(lambda z: mp.exp(pearson(z, s)), [x - k for k in (18, 9, 4, 1, 0)])
            a = 4 / s**2
            y = max(a + 2 * x / s, 0)
            ends = (0, y) if s > 0 else (y, mp.inf)
            return mp.gammainc(a, *ends, regularized=True)

    for x in (-2.5, -0.3, 0.8, 2.0):
        h, at = mp.mpf(10) ** -7, mp.mpf(skew or 1e-15)
        with mp.workdps(60):
            low, middle, high = (below(at + k * h, x) for k in (-1, 0, 1))
            density = float(mp.exp(pearson(mp.mpf(x), at))) if at * x > -2.0 else 0.0
            first, second = float((high - low) / (2 * h)), float((high - 2 * middle + low) / h**2)
        for method, sign in (("cdf", 1.0), ("sf", -1.0)):
            f = getattr(stats.pearson3, method)
            got = cadiff.grad(lambda s, f=f, x=x: f(x, s))(skew)
            assert sign * got == pytest.approx(first, rel=1e-9, abs=1e-15), x
            bend = cadiff.hessian(lambda s, f=f, x=x: f(x, s))(skew)
            assert sign * bend == pytest.approx(second, rel=1e-6, abs=1e-9), x
        if 1e-10 < middle < 1.0 - 1e-10:
            place = cadiff.grad(lambda s, q=float(middle): stats.pearson3.ppf(q, s))(skew)
            rel = 1e-5 if abs(skew) < 2e-5 else 1e-7
            # SciPy's place is that of a normal distribution where the skew is below 2e-5.
            assert place == pytest.approx(-first / density, rel=rel, abs=1e-9)


def test_arrays_of_shapes_of_which_some_are_special() -> None:
    shapes = np.array([0.0, 1e-14, -0.3, 0.2, 1e-3])
    for name in ("genpareto", "genextreme", "pearson3", "kappa4"):
        more = (0.0,) * (name == "kappa4")
        f = getattr(stats, name).logpdf
        together = cadiff.grad(lambda c, f=f, more=more: cnp.sum(f(X, c, *more)))(shapes)
        apart = [cadiff.grad(lambda c, f=f, more=more: f(X, c, *more))(c) for c in shapes]
        assert together == pytest.approx(apart, rel=1e-13)
    assert math.isfinite(cadiff.grad(lambda c: stats.genextreme.stats(c, moments="k"))(0.0))
