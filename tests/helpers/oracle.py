"""What each operation of the table is in mathematics, to 50 digits.

`ORACLE` holds a twin of every row, written in mpmath from the definition of the function.
`taylor` gives value and partial derivatives of a twin up to order three; it differentiates the
twin numerically, so it shares no formula with the table. This module knows nothing of cadiff: what
is right must not depend on what is computed.

Numbers are mpmath's `mpf`. Outside the domain, and where a real function would be complex, a twin
is nan.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import comb, prod
from typing import Any, TypeAlias

import numpy as np
from mpmath import mp

Real: TypeAlias = Any  # mpmath has no types
Twin: TypeAlias = Callable[..., Real]
Index: TypeAlias = tuple[int, ...]  # how often an expression is differentiated by each operand

DIGITS = 50
HIGHEST = 3  # the order of derivative that `taylor` reaches


class NotSmoothError(Exception):
    """An operation has no derivatives at a point."""


def digits(count: int) -> Any:
    """A context in which mpmath works with so many decimal digits."""
    return mp.workdps(count)


# --- twins ---------------------------------------------------------------------------------------


def floor_mod(x: Real, y: Real) -> Real:
    """x - y floor(x / y), which takes as many digits as the quotient has."""
    with mp.extradps(700):
        return x - y * mp.floor(x / y)


def trunc_mod(x: Real, y: Real) -> Real:
    """x - y trunc(x / y)."""
    with mp.extradps(700):
        return x - y * trunc(x / y)


def nearest_mod(x: Real, y: Real) -> Real:
    """x - y n, n the whole number nearest to x / y, halves to even; x where y is infinite."""
    if mp.isinf(y) and mp.isfinite(x):
        return x
    with mp.extradps(700):
        return x - y * mp.nint(x / y)


def trunc(x: Real) -> Real:
    return mp.sign(x) * mp.floor(abs(x))


def power(x: Real, y: Real) -> Real:
    return mp.nan if x < 0 and y != mp.floor(y) else mp.power(x, y)


def log_sum(x: Real, y: Real) -> Real:
    """log(exp(x) + exp(y))."""
    return mp.log1p(mp.exp(min(x, y) - max(x, y))) + max(x, y)


def log2_sum(x: Real, y: Real) -> Real:
    """log2(2**x + 2**y)."""
    return log_sum(x * mp.ln2, y * mp.ln2) / mp.ln2


def sinc_derivative(n: Real, x: Real) -> Real:
    """The n-th derivative of sinc(x), the integral of cos(pi x t) over t from 0 to 1."""

    def integrand(t: Real) -> Real:
        return (mp.pi * t) ** int(n) * mp.cos(mp.pi * x * t + n * mp.pi / 2)

    waves = int(abs(x)) // 4 + 1
    return mp.quad(integrand, mp.linspace(0, 1, waves + 1))


def _threefry(*numbers: Real) -> tuple[Real, Real]:
    """Threefry 2x32 as Salmon and others (2011) have it, in whole numbers of any size."""
    if any(abs(x) >= 2**53 for x in numbers):
        return mp.nan, mp.nan
    k, l, n = (int(mp.floor(x)) for x in numbers)  # noqa: E741
    keys = [k % 2**32, l % 2**32, (k ^ l ^ 0x1BD11BDA) % 2**32]
    x, y = n // 2**32 + keys[0], n + keys[1]
    for i in range(20):
        x = (x + y) % 2**32
        turned = y % 2**32 << (13, 15, 26, 6, 17, 29, 16, 24)[i % 8]
        y = (turned | turned >> 32) % 2**32 ^ x
        if i % 4 == 3:
            x, y = x + keys[(i // 4 + 1) % 3], y + keys[(i // 4 + 2) % 3] + i // 4 + 1
    return mp.mpf(x % 2**32), mp.mpf(y % 2**32)


def erfc(x: Real) -> Real:
    """1 - erf(x); mpmath gives up where it is smaller than exp(-10**12)."""
    return mp.zero if x > 1_000_000 else mp.erfc(x)


def gamma(x: Real) -> Real:
    return mp.nan if is_pole(x) else mp.gamma(x)


def log_gamma(x: Real) -> Real:
    """The logarithm of the absolute value of gamma(x)."""
    if is_pole(x):
        return mp.nan
    if x < FAR:  # gamma(x) gamma(1 - x) = pi / sin(pi x)
        return mp.log(mp.pi / abs(mp.sinpi(x))) - mp.loggamma(1 - x)
    return mp.re(mp.loggamma(x))


def polygamma(n: Real, x: Real) -> Real:
    """The n-th derivative of digamma."""
    if is_pole(x):
        return mp.nan
    order = int(n)
    if x < FAR:  # digamma(x) = digamma(1 - x) - pi cot(pi x)
        turn = mp.diff(lambda t: mp.pi * mp.cot(mp.pi * t), x, order)
        return (-1) ** order * mp.psi(order, 1 - x) - turn
    return mp.psi(order, x)


FAR = -1000  # where mpmath would step upwards for long


def is_pole(x: Real) -> bool:
    """Whether gamma has a pole; mpmath would search for long among large numbers."""
    return bool(x <= 0 and x == mp.floor(x))


def single(x: Real) -> Real:
    with np.errstate(over="ignore"):
        return mp.mpf(float(np.float32(float(x))))


TWINS: dict[str, Twin] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "power": power,
    "sqrt": mp.sqrt,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "hypot": lambda x, y: mp.sqrt(x * x + y * y),
    "_hypot_ratio": lambda x, y: x / mp.sqrt(x * x + y * y),
    "_log_hypot": lambda x, y: mp.log(mp.sqrt(x * x + y * y)),
    "_reciprocal_real": lambda x, y: x / (x * x + y * y),
    "_sqrt_real": lambda x, y: mp.re(mp.sqrt(mp.mpc(x, y))),
    "_sqrt_imag": lambda x, y: mp.im(mp.sqrt(mp.mpc(x, y))),
    "floor_divide": lambda x, y: mp.floor(x / y),
    "mod": floor_mod,
    "fmod": trunc_mod,
    "ieee_remainder": nearest_mod,
    "deg2rad": lambda x: x * mp.pi / 180,
    "rad2deg": lambda x: x * 180 / mp.pi,
    "_amul": lambda x, y: mp.zero if x == 0 or y == 0 else x * y,
    "_threefry_high": lambda *key: _threefry(*key)[0],
    "_threefry_low": lambda *key: _threefry(*key)[1],
    "_less": lambda x, y: mp.mpf(int(x < y)),
    "_less_equal": lambda x, y: mp.mpf(int(x <= y)),
    "_equal": lambda x, y: mp.mpf(int(x == y)),
    "_not_equal": lambda x, y: mp.mpf(int(x != y)),
    "_stop": lambda x: x,
    "_differential": lambda x: mp.zero,
    "_single": single,
    "absolute": abs,
    "sign": mp.sign,
    "floor": mp.floor,
    "ceil": mp.ceil,
    "trunc": trunc,
    "rint": mp.nint,
    "copysign": lambda x, y: abs(x) if y > 0 else -abs(x),
    "heaviside": lambda x, h: h if x == 0 else mp.mpf(x > 0),
    "maximum": max,
    "minimum": min,
    "fmax": max,
    "fmin": min,
    "clip": lambda x, lo, hi: min(max(x, lo), hi),
    "where": lambda c, x, y: x if c != 0 else y,
    "relu": lambda x: x if x > 0 else mp.zero,
    "exp": mp.exp,
    "exp2": lambda x: mp.power(2, x),
    "expm1": mp.expm1,
    "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.ln2,
    "log10": lambda x: mp.log(x) / mp.ln10,
    "log1p": mp.log1p,
    "logaddexp": log_sum,
    "logaddexp2": log2_sum,
    "xlogy": lambda x, y: x * mp.log(y),
    "xlog1py": lambda x, y: x * mp.log1p(y),
    "entr": lambda x: -x * mp.log(x),
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "log_expit": lambda x: -log_sum(-x, mp.zero),
    "softplus": lambda x: log_sum(x, mp.zero),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arctan2": mp.atan2,
    "sinc": lambda x: mp.sinpi(x) / (mp.pi * x) if x else mp.one,
    "_sinc_derivative": sinc_derivative,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "_sech_squared": lambda x: mp.sech(x) ** 2,
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
    "erf": mp.erf,
    "erfc": erfc,
    "gamma": gamma,
    "gammaln": log_gamma,
    "digamma": lambda x: polygamma(0, x),
    "polygamma": polygamma,
}


def missing_twin(name: str) -> str:
    """What to do about an operation that has a row and no twin."""
    return (
        f"{name} has no 50-digit twin: add its definition in mpmath to TWINS in "
        f'tests/helpers/oracle.py, such as\n    "{name}": lambda x: 1 - mp.cos(x),'
    )


class Oracle(dict[str, Twin]):
    """Twins by the names of operations."""

    def __missing__(self, name: str) -> Twin:
        raise LookupError(missing_twin(name))


def _real(twin: Twin) -> Twin:
    """The twin with nan for what is complex, or has a pole, at the point."""

    @functools.wraps(twin)
    def total(*point: Real) -> Real:
        try:
            value = mp.mpmathify(twin(*point))
        except (ValueError, ZeroDivisionError):
            return mp.nan
        return value if isinstance(value, mp.mpf) else mp.nan

    return total


ORACLE = Oracle({name: _real(twin) for name, twin in TWINS.items()})


def twin_value(name: str, *point: float) -> Real:
    """The value of a twin at any doubles, infinite ones included; nan if one of them is nan."""
    if any(x != x for x in point):
        return mp.nan
    with digits(WIDE):
        return ORACLE[name](*map(mp.mpf, point))


WIDE = 700  # enough to subtract the smallest double from the largest one


# --- derivatives ---------------------------------------------------------------------------------

# Numerical differentiation works with up to a thousand digits, which mpmath reaches only slowly in
# the functions around gamma. Their derivatives are further members of the family, by definition of
# digamma and polygamma. k is the order of the derivative by the last operand.


def _gamma_derivative(k: int, x: Real) -> Real:
    """Gamma times the complete Bell polynomial of the derivatives of log gamma."""
    bell = [mp.one]
    for n in range(k):
        bell.append(sum(comb(n, i) * bell[n - i] * polygamma(i, x) for i in range(n + 1)))
    return gamma(x) * bell[k]


DERIVATIVES: dict[str, Twin] = {
    "gamma": _gamma_derivative,
    "gammaln": lambda k, x: polygamma(k - 1, x) if k else log_gamma(x),
    "digamma": lambda k, x: polygamma(k, x),
    "polygamma": lambda k, n, x: polygamma(n + k, x),
    "_sinc_derivative": lambda k, n, x: sinc_derivative(n + k, x),
    "_stop": lambda k, x: mp.zero if k else x,
    "_differential": lambda k, x: mp.mpf(k == 1),
    "_single": lambda k, x: mp.mpf(k == 1) if k else single(x),
}

# Piecewise constant: to a step longer than a stair these look like a slope.
STAIRS = {
    *("floor_divide", "sign", "floor", "ceil", "trunc", "rint"),
    *("_less", "_less_equal", "_equal", "_not_equal", "_threefry_high", "_threefry_low"),
}

NODES = 4  # total degree of the polynomial through which differences are taken


def _indices(arity: int, highest: int) -> Iterator[Index]:
    """All indices of total degree at most `highest`, lowest degree first."""
    every = itertools.product(range(highest + 1), repeat=arity)
    return iter(sorted((i for i in every if sum(i) <= highest), key=lambda i: (sum(i), i)))


@functools.cache
def _log_powers(order: int) -> list[Fraction]:
    """Coefficients of log(1 + D)**order: the derivative by forward differences D."""
    series = [Fraction(1)] + [Fraction(0)] * NODES
    log = [Fraction(0)] + [Fraction((-1) ** (k + 1), k) for k in range(1, NODES + 1)]
    for _ in range(order):
        series = [
            sum((series[i] * log[k - i] for i in range(k + 1)), Fraction(0))
            for k in range(NODES + 1)
        ]
    return series


@functools.cache
def _weights(index: Index) -> dict[Index, Fraction]:
    """The weight of each node in a one-sided difference quotient of unit step."""
    weights: dict[Index, Fraction] = {}
    for degree in _indices(len(index), NODES):
        factor = prod((_log_powers(k)[n] for k, n in zip(index, degree, strict=True)), start=1)
        if factor:
            for node in itertools.product(*(range(n + 1) for n in degree)):
                sign = (-1) ** (sum(degree) - sum(node))
                term = sign * factor * prod(map(comb, degree, node))
                weights[node] = weights.get(node, Fraction(0)) + term
    return weights


def _quotients(
    twin: Twin, point: list[Real], step: Real, wanted: list[Index]
) -> dict[Index, Real]:
    """Derivatives by differences to one side of the point, with a relative error of step**2."""
    values = {
        node: twin(*(x + k * step for x, k in zip(point, node, strict=True)))
        for node in _indices(len(point), NODES)
    }
    return {
        index: sum(values[node] * w.numerator / w.denominator for node, w in weights.items())
        / step ** sum(index)
        for index, weights in ((index, _weights(index)) for index in wanted)
    }


def _steps(point: list[Real], value: Real) -> Iterator[tuple[int, int]]:
    """Steps to try, as 10**-e, each with the digits that its difference quotients take.

    From the second one on the digits suffice to tell a derivative of 1e-340 from zero.
    """
    smallest = min((int(-mp.log10(abs(x))) for x in point if x != 0), default=0)
    magnitude = min(max(int(mp.log10(1 + abs(value))), 0), 700) if mp.isfinite(value) else 0
    yield FIRST_STEP, 130
    for exponent in (50, 50 + max(smallest, 0), 400):
        yield exponent, 3 * exponent + 360 + magnitude


FIRST_STEP = 25
TOLERANCE = {0: mp.mpf("1e-45"), 1: mp.mpf("1e-45"), 2: mp.mpf("1e-45"), 3: mp.mpf("1e-6")}
TINY = mp.mpf("1e-340")


def _agree(index: Index, a: Real, b: Real) -> bool:
    """Whether two difference quotients have settled on one number."""
    return bool(abs(a - b) <= TOLERANCE[sum(index)] * abs(a))


def _is_nothing(a: Real, b: Real) -> bool:
    """Whether both are zero, to the digits that matter, or nan."""
    return bool((abs(a) < TINY and abs(b) < TINY) or (mp.isnan(a) and mp.isnan(b)))


def _differences(name: str, point: list[Real]) -> dict[Index, Real]:
    """Derivatives by differences to both sides, with steps that shrink until both agree.

    The third order serves as a condition number only, and is held to fewer digits.
    """
    every = list(_indices(len(point), HIGHEST))
    found: dict[Index, Real] = {}
    steps = list(_steps(point, ORACLE[name](*point)))
    for exponent, count in steps[-1:] if name in STAIRS else steps:
        wanted = [index for index in every if index not in found]
        with digits(count):
            # Steps of different length tell a singularity of odd symmetry from a slope, and
            # irrational ones do not fall in with the period of a remainder.
            step = mp.mpf(10) ** -exponent / mp.pi
            above = _quotients(ORACLE[name], point, step, wanted)
            below = _quotients(ORACLE[name], point, -step / mp.e, wanted)
            for index in wanted:
                a, b = above[index], below[index]
                if _is_nothing(a, b):
                    if exponent > FIRST_STEP:
                        found[index] = mp.nan if mp.isnan(a) else mp.zero
                elif _agree(index, a, b):
                    found[index] = a
        if len(found) == len(every):
            return found
    raise NotSmoothError(f"{name} is not smooth at {tuple(map(float, point))}")


@functools.cache
def taylor(name: str, *point: float) -> dict[Index, Real]:
    """Value and partial derivatives of an operation at an inner point of its domain.

    Parameters
    ----------
    name : str
        A key of `ORACLE`.
    point : floats or mpf
        The operands.

    Returns
    -------
    dict
        From an index such as (1, 2), one derivative by the first and two by the second operand, to
        a number of 50 digits; nan where the derivative does not exist in the reals. All indices up
        to order three. Of the functions in `DERIVATIVES` only those by the last operand.

    Raises
    ------
    NotSmoothError
        If the function is not smooth at the point.
    """
    with digits(DIGITS + 10):
        exact = [mp.convert(x) for x in point]  # without rounding
        if name in DERIVATIVES:
            family = _real(DERIVATIVES[name])
            constants = (0,) * (len(point) - 1)
            jet = {(*constants, k): family(k, *exact) for k in range(HIGHEST + 1)}
            if any(map(mp.isnan, jet.values())):
                raise NotSmoothError(f"{name} has a pole at {point}")
            return jet
        return _differences(name, exact)
