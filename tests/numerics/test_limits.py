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


Call = Callable[[Any, Any], Any]  # of a module and the parameter
Rows = dict[str, tuple[Any, Twin]]
C = None  # stands for the parameter
x, q, third = map(mp.mpf, (X, Q, 3.0))


def call_of(name: str, given: Any) -> Call:
    """A method of a distribution, or a special function; calls of others are given themselves."""
    if callable(given):
        return given
    owner, _, method = name.split(" ")[0].rpartition(".")

    def call(m: Any, c: Any) -> Any:
        place = getattr(m, owner) if owner else special if m is stats else sp
        return getattr(place, method)(*(c if each is C else each for each in given))

    return call


def total(power: Any, of: Any, by: Any = None) -> Any:
    """A sum of powers, or of what is like them."""
    by = [1] * len(of) if by is None else by
    return mp.fsum([b * power(a) for a, b in zip(exact(of), exact(by), strict=True)])


# Arguments or a call, and the twin. The parameter is special at 0, and may be below.
AT_0: Rows = {
    "genpareto.logpdf": ((X, C), lambda c: -(c + 1) * log_over(x, c)),
    "genpareto.logsf": ((X, C), lambda c: -log_over(x, c)),
    "genpareto.ppf": ((Q, C), lambda c: -power_over(1 - q, -c)),
    "genpareto.moment": ((2, C), lambda c: 2 / ((1 - c) * (1 - 2 * c))),
    "genextreme.logpdf": ((X, C), lambda c: extreme(x, c)),
    "genextreme.cdf": ((X, C), lambda c: mp.exp(-half(x, c))),
    "genextreme.ppf": ((Q, C), lambda c: -power_over(-mp.log(q), c)),
    "genextreme.isf": ((Q, C), lambda c: -power_over(-mp.log1p(-q), c)),
    "genextreme.mean": ((C,), lambda c: (1 - mp.gamma(1 + c)) / c),
    "kappa4.logpdf by h": ((X, C, 0.125), lambda c: kappa_log_pdf(x, c, mp.mpf(0.125))),
    "kappa4.logpdf by k": ((X, 0.125, C), lambda c: kappa_log_pdf(x, mp.mpf(0.125), c)),
    "kappa4.logcdf by h": ((X, C, 0.125), lambda c: kappa_log_cdf(x, c, mp.mpf(0.125))),
    "kappa4.logcdf by k": ((X, 0.125, C), lambda c: kappa_log_cdf(x, mp.mpf(0.125), c)),
    "kappa4.ppf by h": ((Q, C, 0.125), lambda c: kappa_place(q, c, mp.mpf(0.125))),
    "kappa4.ppf by k": ((Q, 0.125, C), lambda c: kappa_place(q, mp.mpf(0.125), c)),
    "skewnorm.logpdf": ((X, C), lambda c: mp.log(mp.ncdf(c * x))),
    "pearson3.logpdf": ((X, C), lambda c: pearson(x, c)),
    "tukeylambda.cdf": (
        (X, C),
        lambda c: mp.findroot(lambda p: power_over(p, c) - power_over(1 - p, c) - x, 0.66),
    ),
    "tukeylambda.ppf": ((Q, C), lambda c: power_over(q, c) - power_over(1 - q, c)),
    "boxcox of arrays": (
        lambda m, c: cnp.sum(m.boxcox(DATA, c)), lambda c: total(lambda a: power_over(a, c), DATA),
    ),
    "boxcox_llf": (lambda m, c: m.boxcox_llf(c, DATA), box_cox),
    "power_divergence": (
        lambda m, c: m.power_divergence(DATA, DATA[::-1], lambda_=c)[0],
        lambda c: 2 / (c * (c + 1)) * mp.fsum(
            [a * ((a / b) ** c - 1) for a, b in zip(exact(DATA), exact(DATA[::-1]), strict=True)]
        ),
    ),
    "yeojohnson": (
        lambda m, c: cnp.sum(DATA * m.yeojohnson(SIGNED, c)),
        lambda c: total(lambda a: yeo(a, c), SIGNED, DATA),
    ),
    "yeojohnson_llf": (lambda m, c: m.yeojohnson_llf(c, SIGNED), yeo_johnson),
    "boxcox1p": ((X, C), lambda c: power_over(1 + x, c)),
    "inv_boxcox": ((X, C), lambda c: mp.exp(log_over(x, c))),
    "exprel": ((C,), lambda c: mp.expm1(c) / c),
    "shichi": (lambda m, c: (special if m is stats else sp).shichi(c)[0], mp.shi),
    "it2j0y0": (
        lambda m, c: (special if m is stats else sp).it2j0y0(c)[0],
        lambda c: c**2 / 8 - c**4 / 256 + c**6 / 13824,
    ),
    "it2i0k0": (
        lambda m, c: (special if m is stats else sp).it2i0k0(c)[0],
        lambda c: c**2 / 8 + c**4 / 256 + c**6 / 13824,
    ),
}  # fmt: skip
ABOVE_0: Rows = {  # where it is not below
    "genhalflogistic.pdf": (
        (X, C), lambda c: 2 * half(x, c) / ((1 - c * x) * (1 + half(x, c)) ** 2),
    ),
    "genhalflogistic.cdf": ((X, C), lambda c: (1 - half(x, c)) / (1 + half(x, c))),
    "genhalflogistic.ppf": ((Q, C), lambda c: -power_over((1 - q) / (1 + q), c)),
    "bradford.pdf": ((X, C), lambda c: c / (1 + c * x) / mp.log1p(c)),
    "bradford.cdf": ((X, C), lambda c: mp.log1p(c * x) / mp.log1p(c)),
    "bradford.ppf": ((Q, C), lambda c: mp.expm1(q * mp.log1p(c)) / c),
    "bradford.mean": ((C,), lambda c: 1 / mp.log1p(c) - 1 / c),
    "bradford.var": (
        (C,), lambda c: ((c + 2) * mp.log1p(c) - 2 * c) / (2 * c * mp.log1p(c) ** 2),
    ),
    "truncexpon.mean": ((C,), lambda b: 1 - b / mp.expm1(b)),
    "genexpon.logpdf": (
        (X, 0.5, 1.25, C),
        lambda c: mp.log(0.5 - 1.25 * mp.expm1(-c * x)) - 1.75 * x - 1.25 * mp.expm1(-c * x) / c,
    ),
    "argus.sf": (
        (X, C),
        lambda c: mp.gammainc(1.5, 0, c**2 * (1 - x**2) / 2) / mp.gammainc(1.5, 0, c**2 / 2),
    ),
    "ncx2.logpdf": (
        (X, 3.25, C), lambda c: mp.log(mp.hyp0f1(mp.mpf(1.625), c * x / 4)) - c / 2,
    ),
    "rice.logpdf": ((X, C), lambda c: mp.log(mp.besseli(0, c * x)) - c**2 / 2),
    "vonmises.logpdf": ((X, C), lambda c: c * mp.cos(x) - mp.log(mp.besseli(0, c))),
}  # fmt: skip
# Calls, twins, where the parameter is special, and whether it may be below.
CASES: dict[str, tuple[Any, Twin, float, bool]] = {
    **{name: (*row, 0.0, True) for name, row in AT_0.items()},
    **{name: (*row, 0.0, False) for name, row in ABOVE_0.items()},
    "boltzmann.cdf": ((3, C, 7), lambda c: mp.expm1(-4 * c) / mp.expm1(-7 * c), 1e-12, False),
    "truncpareto.cdf": (
        (1.0 + X, C, 3.0), lambda b: (1 - (1 + x) ** -b) / (1 - third**-b), 1e-12, True,
    ),
    "truncpareto.ppf": (
        (Q, C, 3.0), lambda b: (1 - (1 - third**-b) * q) ** (-1 / b), 1e-12, True,
    ),
    "truncpareto.mean": (
        (C, 3.0), lambda b: b / (b - 1) * (third**b - 3) / (third**b - 1), 1.0, True,
    ),
    "yeojohnson at 2": (*AT_0["yeojohnson"], 2.0, True),
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
    given, twin, special_value, is_two_sided = CASES[name]
    call = call_of(name, given)
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
