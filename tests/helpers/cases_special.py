"""What the functions of `cadiff.scipy.special` are in mathematics, and where to try them.

A case is a twin written in mpmath from the definition, the numbers of the arguments by which the
function is differentiable, and points: ordinary ones, and those where a careless formula loses its
digits. This module knows nothing of cadiff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from mpmath import mp

Real = Any
Point = tuple[float, ...]


@dataclass(frozen=True)
class Case:
    """A function and where it is tried."""

    twin: Callable[..., Real]
    points: tuple[Point, ...]
    wrt: tuple[int, ...] = (0,)


def points(*coordinates: list[float]) -> tuple[Point, ...]:
    """All combinations of the coordinates."""
    return tuple(product(*coordinates))


def line(*numbers: float) -> tuple[Point, ...]:
    return tuple((number,) for number in numbers)


def ncdf(x: Real) -> Real:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def dawsn(x: Real) -> Real:
    return x * mp.hyp1f1(1, mp.mpf(3) / 2, -x * x)


def owens_t(h: Real, a: Real) -> Real:
    return mp.quad(
        lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), mp.linspace(0, a, 4)
    ) / (2 * mp.pi)


def stdtr(df: Real, t: Real) -> Real:
    constant = mp.gamma((df + 1) / 2) / mp.gamma(df / 2) / mp.sqrt(mp.pi * df)
    return 0.5 + t * constant * mp.hyp2f1(0.5, (df + 1) / 2, 1.5, -t * t / df)


def betainc(a: Real, b: Real, x: Real) -> Real:
    return mp.betainc(a, b, 0, x, regularized=True)


def betaincc(a: Real, b: Real, x: Real) -> Real:
    return betainc(b, a, 1 - x)


def f_below(m: Real, n: Real, x: Real) -> Real:
    return betainc(m / 2, n / 2, m * x / (m * x + n))


def f_above(m: Real, n: Real, x: Real) -> Real:
    return betainc(n / 2, m / 2, n / (m * x + n))


def ive(v: Real, x: Real) -> Real:
    return mp.exp(-abs(x)) * mp.besseli(v, x)


def kve(v: Real, x: Real) -> Real:
    return mp.exp(x) * mp.besselk(v, x)


def of(v: int, f: Callable[..., Real]) -> Callable[..., Real]:
    """A function of one order."""
    return lambda x: f(v, x)


def gammainc(a: Real, x: Real) -> Real:
    return mp.gammainc(a, 0, x, regularized=True)


def gammaincc(a: Real, x: Real) -> Real:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def boxcox(x: Real, lmbda: Real) -> Real:
    return mp.log(x) if lmbda == 0 else mp.expm1(lmbda * mp.log(x)) / lmbda


def inv_boxcox(y: Real, lmbda: Real) -> Real:
    return mp.exp(y) if lmbda == 0 else mp.exp(mp.log1p(lmbda * y) / lmbda)


def huber(delta: Real, r: Real) -> Real:
    return r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2)


def exprel(x: Real) -> Real:
    return mp.expm1(x) / x if x else mp.one


WIDE = [-30.0, -8.0, -2.5, -1.0, -1e-3, 1e-6, 0.3, 1.0, 2.5, 8.0, 25.0]
POSITIVE = [1e-8, 0.1, 0.7, 1.0, 2.3, 9.0, 40.0, 1e3]
UNIT = [1e-12, 1e-3, 0.2, 0.5, 0.77, 0.999, 1 - 1e-12]
SHAPES = [0.3, 1.0, 2.5, 40.0]
ORDERS = [0, 1, 2, 5]
POWERS = [-1.5, -1e-7, 0.0, 1e-3, 2.0]
ROOTS = [-0.3, 0.0, 1e-5, 2.0]
REALS = [0.0, 0.5, 1.0, 2.7]
OF_GAMMA = points([0.5, 3.0], SHAPES, [0.1, 4.0])
OF_F = points([1.0, 4.0], [3.0, 20.0], [0.1, 1.0, 1e3])
OF_POISSON = points([0.0, 3.0, 50.0], [0.2, 4.0, 60.0])
OF_BINOMIAL = points([0.0, 3.0], [9], [0.1, 0.8])

CASES: dict[str, Case] = {
    # error functions and the normal distribution
    "erfi": Case(mp.erfi, line(-3.0, -0.5, 1e-9, 0.4, 2.0, 10.0)),
    "erfcx": Case(
        lambda x: mp.exp(x * x) * mp.erfc(x),
        line(-5.0, -1.0, 1e-9, 0.5, 1.1, 1.3, 2.0, 5.0, 20.0, 1e3),
    ),
    "dawsn": Case(dawsn, line(-2.0, 1e-9, 0.4, 0.9, 1.5, 4.0, 7.0, 30.0, 1e3)),
    "erfinv": Case(mp.erfinv, line(-0.999, -0.3, 1e-9, 0.5, 0.9, 1 - 1e-9)),
    "erfc": Case(mp.erfc, line(-1.8, -0.4, 0.1, 0.7, 2.3, 6.6, 21.4)),
    "ndtr": Case(ncdf, line(*WIDE)),
    "log_ndtr": Case(lambda x: mp.log(ncdf(x)), line(-1e4, -40.0, *WIDE)),
    "owens_t": Case(owens_t, points([-1.5, 0.3], [-0.7, 3.0]), (0, 1)),
    # elementary
    "logit": Case(lambda x: mp.log(x) - mp.log1p(-x), line(1e-300, *UNIT)),
    "exp10": Case(lambda x: mp.power(10, x), line(-3.0, 0.0, 2.5)),
    "cosm1": Case(lambda x: mp.cos(x) - 1, line(-2.0, 1e-9, 0.4, 3.0)),
    "exprel": Case(exprel, line(-700.0, -30.0, -2.0, -1e-9, 0.0, 1e-5, 0.4, 2.0, 30.0)),
    "sindg": Case(lambda x: mp.sin(mp.radians(x)), line(-100.0, 30.0, 1e-9)),
    "cosdg": Case(lambda x: mp.cos(mp.radians(x)), line(-100.0, 30.0, 1e-9)),
    "tandg": Case(lambda x: mp.tan(mp.radians(x)), line(-100.0, 30.0, 1e-9)),
    "cotdg": Case(lambda x: mp.cot(mp.radians(x)), line(-100.0, 30.0, 50.0)),
    "powm1": Case(lambda x, y: mp.power(x, y) - 1, points([1e-3, 0.9, 3.0], [-2.0, 0.5]), (0, 1)),
    "boxcox": Case(boxcox, points([1e-5, 0.9, 1.0, 7.0], POWERS), (0, 1)),
    "boxcox1p": Case(lambda x, p: boxcox(1 + x, p), points([-0.9, 1e-9, 3.0], POWERS), (0, 1)),
    "inv_boxcox": Case(inv_boxcox, points([-0.4, 0.0, 0.1, 3.0], ROOTS), (0, 1)),
    "inv_boxcox1p": Case(
        lambda y, p: inv_boxcox(y, p) - 1, points([-0.4, 0.1, 3.0], ROOTS), (0, 1)
    ),
    # entropies and losses
    "kl_div": Case(
        lambda x, y: x * mp.log(x / y) - x + y,
        points([1e-5, 0.5, 3.0], [0.5 + 1e-9, 2.0, 1e4]),
        (0, 1),
    ),
    "rel_entr": Case(
        lambda x, y: x * mp.log(x / y), points([1e-200, 0.5, 3.0], [0.5 + 1e-9, 1e200]), (0, 1)
    ),
    "huber": Case(huber, points([0.5, 2.0], [-3.0, -1.0, 0.3, 1.5]), (0, 1)),
    "pseudo_huber": Case(
        lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
        points([1e-3, 1.0, 100.0], [-3.0, 1e-5, 50.0]),
        (0, 1),
    ),
    # gamma and its relatives
    "loggamma": Case(mp.loggamma, line(*POSITIVE)),
    "rgamma": Case(mp.rgamma, line(-3.5, -3.0, -2.0 + 1e-9, -1.0, 0.0, 1e-9, 0.4, 0.6, 3.0, 30.0)),
    "beta": Case(mp.beta, points([0.1, 1.0, 9.0, 100.0], [0.3, 2.0, 20.0]), (0, 1)),
    "betaln": Case(
        lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
        points([0.1, 1.0, 9.0, 1e9], [1e-3, 2.0, 20.0]),
        (0, 1),
    ),
    "poch": Case(mp.rf, points([0.2, 3.0, 1e5], [0.5, 2.0]), (0, 1)),
    "binom": Case(mp.binomial, points([5.3, 10.0], [0.5, 2.0, 4.1]), (0, 1)),
    "zeta": Case(mp.zeta, points([1.5, 2.0, 7.3], [0.2, 1.0, 5.0, 100.0]), (1,)),
    # incomplete functions and distributions
    "gammainc": Case(gammainc, points([*SHAPES, 1e3], [1e-5, 0.3, 2.0, 35.0]), (1,)),
    "gammaincc": Case(gammaincc, points(SHAPES, [1e-5, 0.3, 2.0, 35.0, 200.0]), (1,)),
    "betainc": Case(betainc, points(SHAPES, SHAPES, [1e-5, 0.3, 0.9]), (2,)),
    "betaincc": Case(betaincc, points(SHAPES, SHAPES, [1e-5, 0.3, 0.9]), (2,)),
    "stdtr": Case(stdtr, points([0.5, 1.0, 3.0, 200.0], [-30.0, -1.0, 0.0, 0.4, 5.0]), (1,)),
    "chdtr": Case(lambda v, x: gammainc(v / 2, x / 2), points(SHAPES, [1e-3, 2.0, 30.0]), (1,)),
    "chdtrc": Case(lambda v, x: gammaincc(v / 2, x / 2), points(SHAPES, [1e-3, 2.0, 30.0]), (1,)),
    "gdtr": Case(lambda a, b, x: gammainc(b, a * x), OF_GAMMA, (0, 2)),
    "gdtrc": Case(lambda a, b, x: gammaincc(b, a * x), OF_GAMMA, (0, 2)),
    "fdtr": Case(f_below, OF_F, (2,)),
    "fdtrc": Case(f_above, OF_F, (2,)),
    "pdtr": Case(lambda k, m: gammaincc(k + 1, m), OF_POISSON, (1,)),
    "pdtrc": Case(lambda k, m: gammainc(k + 1, m), OF_POISSON, (1,)),
    "bdtr": Case(lambda k, n, p: betainc(n - k, k + 1, 1 - p), OF_BINOMIAL, (2,)),
    "bdtrc": Case(lambda k, n, p: betainc(k + 1, n - k, p), OF_BINOMIAL, (2,)),
    "nbdtr": Case(lambda k, n, p: betainc(n, k + 1, p), points([0, 3], [1, 9], [0.1, 0.8]), (2,)),
    "nbdtrc": Case(
        lambda k, n, p: betainc(k + 1, n, 1 - p), points([0, 3], [1, 9], [0.1, 0.8]), (2,)
    ),
    # Bessel functions
    "j0": Case(of(0, mp.besselj), line(-3.0, 1e-5, 0.4, 9.0)),
    "j1": Case(of(1, mp.besselj), line(-3.0, 1e-5, 0.4, 9.0)),
    "jv": Case(mp.besselj, points(REALS, [0.1, 3.0, 20.0]), (1,)),
    "y0": Case(lambda x: mp.bessely(0, x), line(1e-5, 0.4, 9.0)),
    "y1": Case(lambda x: mp.bessely(1, x), line(1e-5, 0.4, 9.0)),
    "yn": Case(mp.bessely, points(ORDERS, [0.1, 3.0, 20.0]), (1,)),
    "yv": Case(mp.bessely, points(REALS, [0.1, 3.0, 20.0]), (1,)),
    "i0": Case(lambda x: mp.besseli(0, x), line(-3.0, 1e-5, 0.4, 9.0, 100.0)),
    "i1": Case(lambda x: mp.besseli(1, x), line(-3.0, 1e-5, 0.4, 9.0, 100.0)),
    "iv": Case(mp.besseli, points(REALS, [0.1, 3.0, 20.0]), (1,)),
    "k0": Case(lambda x: mp.besselk(0, x), line(1e-5, 0.4, 9.0)),
    "k1": Case(lambda x: mp.besselk(1, x), line(1e-5, 0.4, 9.0)),
    "kn": Case(mp.besselk, points([0, 1, 5], [0.1, 3.0]), (1,)),
    "kv": Case(mp.besselk, points([0.5, 2.7], [0.1, 3.0, 20.0]), (1,)),
    "i0e": Case(of(0, ive), line(-3.0, 0.4, 9.0, 29.0, 31.0, 1e5)),
    "i1e": Case(of(1, ive), line(-3.0, 0.4, 9.0, 29.0, 31.0, 1e5)),
    "ive": Case(ive, points(REALS, [0.1, 3.0, 40.0, 1e5]), (1,)),
    "k0e": Case(of(0, kve), line(1e-3, 0.4, 3.0, 31.0, 1e5)),
    "k1e": Case(of(1, kve), line(1e-3, 0.4, 3.0, 31.0, 1e5)),
    "kve": Case(kve, points([0.5, 1.0, 2.7], [0.1, 3.0, 40.0, 1e5]), (1,)),
    # integrals, hypergeometric and elliptic functions
    "exp1": Case(mp.e1, line(1e-5, 0.4, 3.0, 40.0)),
    "expi": Case(mp.ei, line(-5.0, -0.1, 1e-5, 0.4, 3.0, 40.0)),
    "expn": Case(mp.expint, points([0, 1, 2, 5], [1e-3, 0.4, 3.0, 40.0]), (1,)),
    "spence": Case(
        lambda z: mp.re(mp.polylog(2, 1 - z)), line(1e-20, 0.1, 0.6, 1.0001, 2.0, 50.0)
    ),
    "hyp0f1": Case(mp.hyp0f1, points([0.5, 2.0], [-3.0, 0.1, 4.0]), (1,)),
    "hyp1f1": Case(mp.hyp1f1, points([0.5, 2.0], [1.5, 3.0], [-3.0, 0.1, 4.0]), (2,)),
    "hyp2f1": Case(mp.hyp2f1, points([0.5, 2.0], [0.7], [1.9], [-3.0, 0.1, 0.8]), (3,)),
    "ellipk": Case(mp.ellipk, line(-1e5, -2.0, -1e-5, 0.0, 1e-9, 0.5, 1 - 1e-6)),
    "ellipkm1": Case(lambda p: mp.pi / 2 / mp.agm(1, mp.sqrt(p)), line(1e-12, 0.3, 1.0, 5.0)),
    "ellipe": Case(mp.ellipe, line(-1e5, -2.0, -1e-5, 0.0, 1e-9, 0.5, 1 - 1e-6)),
    "ellipkinc": Case(mp.ellipf, points([-0.7, 0.3, 1.2], [-2.0, 0.5, 0.9]), (0,)),
    "ellipeinc": Case(mp.ellipe, points([-0.7, 0.3, 1.2], [-2.0, 0.5, 0.9]), (0,)),
    "wrightomega": Case(lambda z: mp.lambertw(mp.exp(z)), line(-3.0, 0.4, 9.0, 300.0)),
    "lambertw": Case(
        mp.lambertw,
        (*points([-0.36, -0.1, 0.0, 1e-9, 0.7, 1e3, 1e200], [0]), *points([-0.36, -1e-9], [-1])),
    ),
}

# Functions that are the inverse of a case by its last argument: tried at the values of the points.
INVERSES: dict[str, str] = {
    "erfcinv": "erfc",
    "ndtri": "ndtr",
    "ndtri_exp": "log_ndtr",
    "gammaincinv": "gammainc",
    "gammainccinv": "gammaincc",
    "betaincinv": "betainc",
    "betainccinv": "betaincc",
    "stdtrit": "stdtr",
    "chdtri": "chdtrc",
}
