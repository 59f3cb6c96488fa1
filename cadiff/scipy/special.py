"""The names of `scipy.special`, for numbers with derivatives as well as floats and ndarrays.

Functions of the table of operations are the package's own. The others take their values from
SciPy's ufuncs and have one partial for each argument here; an argument without one (an order, a
shape parameter) must be a plain number. All of them broadcast. At the end of a domain the
derivative is the one-sided limit, outside it is nan. Names that are not defined here are SciPy's.

A partial is written so that neither it nor its own derivatives cancel: see `_families`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
import scipy.special as sp

from .. import nn
from ..binding import carries
from ..binding import strip as value
from ..numpy._refusals import INSTEAD, relayed
from ..operations.arrays import as_array, broadcast_to, gathered, reshape
from ..operations.arrays import sum as sum_
from ..operations.dispatch import FUNCTIONS, implements
from ..operations.guards import held
from ..operations.patterns import over_axes
from ..operations.primitives import after_lanes, primitive
from ..operations.table import (
    absolute,
    clip,
    cos,
    divide,
    exp,
    hypot,
    log,
    power,
    reciprocal,
    relu,
    rint,
    sign,
    sin,
    sqrt,
    square,
    where,
)

# For others, too, as checkers of types take it.
from ..operations.table import cbrt as cbrt
from ..operations.table import digamma as digamma
from ..operations.table import entr as entr
from ..operations.table import erf as erf
from ..operations.table import erfc as erfc
from ..operations.table import exp2 as exp2
from ..operations.table import expit as expit
from ..operations.table import expm1 as expm1
from ..operations.table import gamma as gamma
from ..operations.table import gammaln as gammaln
from ..operations.table import log1p as log1p
from ..operations.table import log_expit as log_expit
from ..operations.table import polygamma as polygamma
from ..operations.table import softplus as softplus
from ..operations.table import xlog1py as xlog1py
from ..operations.table import xlogy as xlogy
from . import _values
from ._families import (
    beta_density,
    beta_log_density,
    choose,
    digamma_gap,
    erfcx_moment,
    exp_over,
    gamma_density,
    gamma_log_density,
    hypot_ratio,
    i0e_moment,
    ive_tail,
    kve_moment,
    log_ratio,
    student_density,
    student_log_density,
    valued,
)

Function = Callable[..., Any]

# SciPy's ufunc -> the function here that differentiates it.
UFUNCS: dict[Any, Function] = {}

LN10 = math.log(10.0)
ROOT2 = math.sqrt(2.0)
TINY = 1e-100  # next to 0 a function is the first term of its series
ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2.0 * math.pi)
DEGREE = math.pi / 180.0


# --- functions of the table ----------------------------------------------------------------------

psi = digamma
round = rint

for _function in (cbrt, entr, erf, erfc, exp2, expit, expm1, gamma, gammaln, log1p, log_expit):
    UFUNCS[getattr(sp, _function.__name__)] = _function
UFUNCS |= {sp.psi: digamma, sp.xlogy: xlogy, sp.xlog1py: xlog1py, sp.round: rint}


# --- one row for each ufunc ----------------------------------------------------------------------


def _refusal(name: str, argument: str) -> Function:
    """A rule for an argument by which there is no derivative."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"scipy.special.{name} has no known derivative by its argument {argument!r}: "
            f"write cadiff.value({argument}) if it is a constant"
        )

    refuse.refuse = refuse  # type: ignore[attr-defined]  # what a primitive asks at the call
    return refuse


class _Elementwise(primitive):
    """A primitive of numbers and arrays: lists beside them are arrays, too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*map(gathered, args), **kwargs)


def _ufunc(head: str, /, values: Function | None = None, **partials: Function) -> Function:
    """The primitive of a ufunc of SciPy's.

    `head` is its name and arguments; a partial is called with the value and the arguments. An
    argument without a partial is refused if it carries a derivative. `values` are right where
    SciPy's are not; they are called with what the ufunc takes.
    """
    name, _, arguments = head.rstrip(")").partition("(")
    names = arguments.split(", ")
    original = getattr(sp, name)

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        if values is None or kwargs:
            return original(*args, **kwargs)
        with np.errstate(all="ignore"):
            return values(*args)

    evaluate.__name__ = evaluate.__qualname__ = name
    evaluate.__doc__ = f"As `scipy.special.{name}`; differentiable by {', '.join(partials)}."
    evaluate.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(each, inspect.Parameter.POSITIONAL_ONLY) for each in names]
    )
    function = _Elementwise(evaluate)
    function.defpartials(*(partials.get(each) or _refusal(name, each) for each in names))
    UFUNCS[original] = function
    return function


def _inside(v: Any, partial: Any) -> Any:
    """The partial, but nan where the value is nan: outside the domain."""
    plain = held(v)
    return where(plain != plain, math.nan, partial)


# --- error functions and the normal distribution -------------------------------------------------

erfi = _ufunc("erfi(z)", z=lambda v, z: 2.0 / ROOT_PI * exp(square(z)))
erfcx: Function = _ufunc("erfcx(x)", x=lambda v, x: -2.0 * erfcx_moment(1, x))
dawsn: Function = _ufunc("dawsn(x)", x=lambda v, x: hyp1f1(1.0, 0.5, -square(x)))
erfinv = _ufunc("erfinv(y)", y=lambda v, y: 0.5 * ROOT_PI * exp(square(v)))
erfcinv = _ufunc(
    "erfcinv(y)",
    y=lambda v, y: choose(
        np.abs(held(v)) < 1.0,
        lambda: -0.5 * ROOT_PI * exp(square(v)),
        lambda: -0.5 * ROOT_PI * _tail_ratio(v, y),
    ),
)
ndtr: Function = _ufunc("ndtr(x)", x=lambda v, x: _normal_density(x))
ndtri = _ufunc(
    "ndtri(y)",
    y=lambda v, y: choose(
        np.abs(held(v)) < 1.5,
        lambda: ROOT_2PI * exp(0.5 * square(v)),
        lambda: math.sqrt(0.5 * math.pi) * _tail_ratio(v * (-1.0 / ROOT2), y),
    ),
)
log_ndtr: Function = _ufunc(
    "log_ndtr(x)",
    x=lambda v, x: choose(
        held(x) > 0.0,
        lambda: _normal_density(x) / ndtr(x),
        lambda: choose(
            held(x) < -1e6,
            lambda: -x - reciprocal(x) * (1.0 - 2.0 * square(reciprocal(x))),  # asymptotically
            lambda: math.sqrt(2.0 / math.pi) * reciprocal(erfcx(x * (-1.0 / ROOT2))),
        ),  # Mills' ratio
    ),
)
ndtri_exp = _ufunc(
    "ndtri_exp(y)", y=lambda v, y: math.sqrt(0.5 * math.pi) * erfcx(v * (-1.0 / ROOT2))
)
owens_t = _ufunc(
    "owens_t(h, a)",
    values=_values.owens_t,
    h=lambda v, h, a: -0.5 * _normal_density(h) * erf(a * h / ROOT2),
    a=lambda v, h, a: choose(
        np.hypot(held(h), held(h) * held(a)) > 40.0,  # exp is 0, and the squares may overflow
        lambda: 0.0,
        lambda: exp(-0.5 * (square(h) + square(h * a))) / (1.0 + square(a)) / math.tau,
    ),
)


def _tail_ratio(v: Any, y: Any) -> Any:
    """The quotient erfcx(v) / y: exp(v²) if y is erfc(v), without the error of v times v.

    Far out that is much; near v = 0 it is nothing, and the derivative of this form would cancel.
    """

    def ratio() -> Any:
        found = erfcx(v) / y
        return choose(held(y) < TINY, lambda: valued(exp(square(v)), held(found)), lambda: found)

    return choose(held(y) == 0.0, lambda: math.inf, ratio)


def _normal_density(x: Any) -> Any:
    return exp(-0.5 * square(x)) / ROOT_2PI


# --- elementary ----------------------------------------------------------------------------------

logit = _ufunc("logit(x)", x=lambda v, x: _inside(v, reciprocal(x) + reciprocal(1.0 - x)))
exp10 = _ufunc("exp10(x)", x=lambda v, x: LN10 * v)
cosm1 = _ufunc("cosm1(x)", x=lambda v, x: -sin(x))
exprel = _ufunc("exprel(x)", x=lambda v, x: _exprel_slope(x))


sindg: Function = _ufunc(
    "sindg(x)", values=lambda x: sp.sindg(np.fmod(x, 360.0)), x=lambda v, x: DEGREE * cosdg(x)
)
cosdg: Function = _ufunc(
    "cosdg(x)", values=lambda x: sp.cosdg(np.fmod(x, 360.0)), x=lambda v, x: -DEGREE * sindg(x)
)
tandg = _ufunc("tandg(x)", values=_values.tandg, x=lambda v, x: DEGREE * (1.0 + square(v)))
cotdg = _ufunc("cotdg(x)", values=_values.cotdg, x=lambda v, x: -DEGREE * (1.0 + square(v)))
powm1 = _ufunc(
    "powm1(x, y)",
    values=_values.powm1,
    x=lambda v, x, y: choose(
        (held(x) == 0.0) & (held(y) == 0.0), lambda: 0.0, lambda: y * power(x, y - 1.0)
    ),
    y=lambda v, x, y: choose(
        (held(x) == 0.0) & (held(y) >= 0.0), lambda: 0.0, lambda: power(x, y) * log(x)
    ),
)
boxcox = _ufunc(
    "boxcox(x, lmbda)",
    values=_values.boxcox,
    x=lambda v, x, lmbda: _inside(v, power(x, lmbda - 1.0)),
    lmbda=lambda v, x, lmbda: choose(
        held(x) == 0.0,
        lambda: square(reciprocal(lmbda)),
        lambda: square(log(x)) * _exprel_slope(lmbda * log(x)),
    ),
)
boxcox1p = _ufunc(
    "boxcox1p(x, lmbda)",
    values=_values.boxcox1p,
    x=lambda v, x, lmbda: _inside(
        v,
        choose(
            np.abs(held(x)) < 0.5,
            lambda: exp(xlog1py(lmbda - 1.0, x)),
            lambda: power(1.0 + x, lmbda - 1.0),
        ),
    ),
    lmbda=lambda v, x, lmbda: choose(
        held(x) == -1.0,
        lambda: square(reciprocal(lmbda)),
        lambda: square(log1p(x)) * _exprel_slope(lmbda * log1p(x)),
    ),
)
inv_boxcox = _ufunc(
    "inv_boxcox(y, lmbda)",
    y=lambda v, y, lmbda: _inv_boxcox_slope(v, y, lmbda),
    lmbda=lambda v, y, lmbda: _inv_boxcox_bend(v, y, lmbda),
)
inv_boxcox1p = _ufunc(
    "inv_boxcox1p(y, lmbda)",
    values=_values.inv_boxcox1p,
    y=lambda v, y, lmbda: _inv_boxcox_slope(inv_boxcox(y, lmbda), y, lmbda),
    lmbda=lambda v, y, lmbda: _inv_boxcox_bend(inv_boxcox(y, lmbda), y, lmbda),
)


def _inv_boxcox_slope(x: Any, y: Any, lmbda: Any) -> Any:
    """x**(1 - λ) where λ y = x**λ - 1."""
    return choose(
        (held(lmbda) * held(y) <= -1.0) | np.isinf(held(x)),
        lambda: power(x, 1.0 - lmbda),
        lambda: x / (1.0 + lmbda * y),
    )


def _inv_boxcox_bend(x: Any, y: Any, lmbda: Any) -> Any:
    """The derivative by λ, x times that of log1p(λ y) / λ; y² is not taken, it may overflow."""
    z = held(lmbda) * held(y)
    return choose(
        (z > 2.0) | (z < -0.5),
        lambda: x / lmbda * (y / (1.0 + lmbda * y) - log1p(lmbda * y) / lmbda),
        lambda: x * y * (y * _log1prel_slope(lmbda * y)),
    )


def _exprel_slope(x: Any) -> Any:
    """The derivative of (exp(x) - 1) / x."""

    def far() -> Any:
        return exp_over(2, x) * (x - 1.0) + square(reciprocal(x))

    return choose(np.abs(held(x)) > 40.0, far, lambda: 0.5 * hyp1f1(2.0, 3.0, x))


def _log1prel_slope(x: Any) -> Any:
    """The derivative of log1p(x) / x, for x between -½ and 2."""
    return -0.5 * hyp2f1(2.0, 2.0, 3.0, -x)


# --- entropies and losses ------------------------------------------------------------------------


def _positive(x: Any, y: Any, partial: Any) -> Any:
    """The partial, but nan where x or y is negative."""
    return where((held(x) < 0.0) | (held(y) < 0.0), math.nan, partial)


def _at_origin(x: Any, y: Any) -> Any:
    return (held(x) == 0.0) & (held(y) == 0.0)


def _one_less_ratio(x: Any, y: Any) -> Any:
    """1 - x / y, so that neither it nor its derivative cancels."""
    return choose(held(x) < 0.5 * held(y), lambda: 1.0 - divide(x, y), lambda: divide(y - x, y))


kl_div = _ufunc(
    "kl_div(x, y)",
    values=_values.kl_div,
    x=lambda v, x, y: log_ratio(x, y),
    y=lambda v, x, y: _positive(
        x, y, choose(_at_origin(x, y), lambda: 1.0, lambda: _one_less_ratio(x, y))
    ),
)
rel_entr = _ufunc(
    "rel_entr(x, y)",
    x=lambda v, x, y: 1.0 + log_ratio(x, y),
    y=lambda v, x, y: _positive(
        x, y, choose(_at_origin(x, y), lambda: 0.0, lambda: -divide(x, y))
    ),
)
huber = _ufunc(
    "huber(delta, r)",
    delta=lambda v, delta, r: _positive(delta, 0.0, relu(absolute(r) - delta)),
    r=lambda v, delta, r: _positive(delta, 0.0, clip(r, -delta, delta)),
)
pseudo_huber = _ufunc(
    "pseudo_huber(delta, r)",
    values=_values.pseudo_huber,
    delta=lambda v, delta, r: _positive(delta, 0.0, _pseudo_huber_by_delta(delta, r)),
    r=lambda v, delta, r: _positive(
        delta,
        0.0,
        choose(
            np.abs(held(r)) < held(delta),
            lambda: r / hypot(1.0, r / delta),
            lambda: choose(
                _at_origin(delta, r), lambda: 0.0, lambda: delta * hypot_ratio(r, delta)
            ),
        ),
    ),
)


def _pseudo_huber_by_delta(delta: Any, r: Any) -> Any:
    """δ (s - 1)² / s with s = √(1 + (r/δ)²), and the limit |r| at δ = 0."""
    h = hypot(delta, r)

    def slope() -> Any:
        excess = r * (r / (h + delta))  # h - δ
        return excess * (excess / h)

    return choose(_at_origin(delta, r), lambda: 0.0, slope)


# --- gamma and its relatives ---------------------------------------------------------------------


# Next to a pole of digamma a derivative of beta, poch or binom is a product of zero and infinity.
# There gamma functions of arguments below ½ are reflected, Γ(x) Γ(1 - x) = π / sin πx (Abramowitz
# and Stegun 6.1.17): that leaves gamma functions without poles, times a quotient of sines.


def _sin_pi(x: Any) -> Any:
    """The sine of πx, to all digits next to its zeros."""
    k = rint(x)
    return (1.0 - 2.0 * (k % 2.0)) * sin(math.pi * (x - k))


def _cos_pi(x: Any) -> Any:
    k = rint(x)
    return (1.0 - 2.0 * (k % 2.0)) * cos(math.pi * (x - k))


def _whole(x: Any) -> Any:
    """Where x is a whole number; written without an equality, of which programs would warn."""
    return np.abs(held(x) - np.floor(held(x))) <= 0.0


def _rgamma_slope(v: Any, x: Any) -> Any:
    """-v ψ(x), and below ½ by reflection, since the poles of digamma are none of 1/Γ."""

    def reflected() -> Any:
        return gamma(1.0 - x) * (_cos_pi(x) - _sin_pi(x) / math.pi * digamma(1.0 - x))

    return choose(
        held(x) < 0.5,
        reflected,
        lambda: choose(held(v) == 0.0, lambda: 0.0, lambda: -v * digamma(x)),
    )


loggamma = _ufunc("loggamma(z)", z=lambda v, z: _inside(v, digamma(z)))
rgamma = _ufunc("rgamma(z)", z=_rgamma_slope)
gammasgn = _ufunc("gammasgn(x)", x=lambda v, x: 0.0)


def _digamma_gap(a: Any, b: Any) -> Any:
    """ψ(a + b) - ψ(a), also where both are reflected."""
    ends = np.asarray(held(a)), np.asarray(held(a) + held(b))
    low = (np.minimum(*ends) <= 0.0) & (np.maximum(*ends) < 0.5)
    return choose(
        low,
        lambda: (
            math.pi * _sin_pi(b) / (_sin_pi(a) * _sin_pi(a + b)) - digamma_gap(0, 1.0 - a - b, b)
        ),
        lambda: digamma_gap(0, a, b),
    )


def _beta_slope(v: Any, a: Any, b: Any) -> Any:
    """The derivative of beta by a; B(a, b) = B(b, 1 - a - b) sin π(a+b) / sin πa below ½."""
    low = np.asarray(held(a) + held(b) < 0.25)
    # Where b is small reflecting it would cancel.
    first = (held(a) < 0.5) & ((np.abs(held(b)) <= np.abs(held(a))) | (held(b) >= 0.5))

    def reflect_a() -> Any:
        c = 1.0 - a - b
        turn = where(_whole(a) & _whole(b), _cos_pi(b), _sin_pi(a + b) / _sin_pi(a))
        twist = where(_whole(b), 0.0, math.pi * _sin_pi(b) / square(_sin_pi(a)))
        return beta(b, c) * (_digamma_gap(c, b) * turn - twist)

    def reflect_b() -> Any:
        c = 1.0 - a - b
        turn = _sin_pi(a + b) * (digamma(a) - digamma(c)) + math.pi * _cos_pi(a + b)
        return beta(a, c) * turn / _sin_pi(b)

    return choose(
        low,
        lambda: choose(np.asarray(first), reflect_a, reflect_b),
        lambda: -v * _digamma_gap(a, b),
    )


beta = _ufunc(
    "beta(a, b)",
    a=lambda v, a, b: _beta_slope(v, a, b),
    b=lambda v, a, b: _beta_slope(v, b, a),
)
betaln = _ufunc(
    "betaln(a, b)",
    a=lambda v, a, b: -_digamma_gap(a, b),
    b=lambda v, a, b: -_digamma_gap(b, a),
)


def _poch_by_z(v: Any, z: Any, m: Any) -> Any:
    """Γ(z+m) / Γ(z) is Γ(1-z) / Γ(1-z-m) sin πz / sin π(z+m), or Γ(z+m) Γ(1-z) sin πz / π."""
    low, end = np.asarray(held(z) < 0.25), np.asarray(held(z) + held(m) < 0.5)

    def reflect_both() -> Any:
        c = 1.0 - z - m
        turn = where(_whole(z) & _whole(m), _cos_pi(m), _sin_pi(z) / _sin_pi(z + m))
        twist = where(_whole(m), 0.0, math.pi * _sin_pi(m) / square(_sin_pi(z + m)))
        return poch(c, m) * (twist - digamma_gap(0, c, m) * turn)

    def reflect_z() -> Any:
        gap = digamma_gap(0, 1.0 - z, 2.0 * z + m - 1.0)
        return gamma(z + m) * gamma(1.0 - z) * (gap * _sin_pi(z) / math.pi + _cos_pi(z))

    return choose(
        low,
        lambda: choose(end, reflect_both, reflect_z),
        lambda: v * _digamma_gap(z, m),
    )


def _poch_by_m(v: Any, z: Any, m: Any) -> Any:
    """There is none where the function jumps, between two poles."""
    jumps = _whole(z) & _whole(m) & (held(z) <= 0.0) & (held(z) + held(m) <= 0.0)
    return where(jumps, math.nan, v * digamma(z + m))


poch: Function = _ufunc("poch(z, m)", z=_poch_by_z, m=_poch_by_m)


def _binom_by_x(v: Any, x: Any, y: Any) -> Any:
    """The derivative of binom by x; see `_binom_by_y`."""
    high = np.asarray(held(x) > -0.5)

    def reflected() -> Any:
        w = y - x
        gap = digamma(x + 1.0) - digamma(w)
        return beta(x + 1.0, w) * (gap * _sin_pi(w) / math.pi - _cos_pi(w))

    def both_reflected() -> Any:
        w = y - x
        turn = _sin_pi(w) / _sin_pi(x + 1.0)
        twist = -math.pi * _sin_pi(y) / square(_sin_pi(x + 1.0))
        return -binom(w - 1.0, y) * (_digamma_gap(-x, y) * turn + twist)

    return choose(
        np.asarray(held(x) - held(y) < -0.75),
        lambda: choose(high, reflected, both_reflected),
        lambda: -v * _digamma_gap(x + 1.0, -y),
    )


def _binom_by_y(v: Any, x: Any, y: Any) -> Any:
    """The derivative of binom by y.

    For y > x + ¾ the function is B(x+1, y-x) sin π(y-x) / π, and, if x + 1 < ½, too, the one of
    y - x - 1 and y times sin π(y-x) / sin π(x+1). For y < -½ it is the one of x and x - y.
    """
    swap = np.asarray((held(y) < -0.5) & (held(x) - held(y) >= -0.75))
    sign = where(swap, -1.0, 1.0)
    y = where(swap, x - y, y)
    high = np.asarray(held(x) > -0.5)

    def reflected() -> Any:
        w = y - x
        return beta(x + 1.0, w) * (_cos_pi(w) - digamma_gap(0, w, x + 1.0) * _sin_pi(w) / math.pi)

    def both_reflected() -> Any:
        w = y - x
        mirrored = binom(w - 1.0, y)  # at a fixed x
        slope = choose(
            np.asarray(held(y) < -0.5),
            lambda: beta(w, -y) * -(digamma_gap(0, -y, w + y) * _sin_pi(y) / math.pi + _cos_pi(y)),
            lambda: mirrored * digamma_gap(0, y + 1.0, -x - 1.0),
        )
        return (slope * _sin_pi(w) + mirrored * math.pi * _cos_pi(w)) / _sin_pi(x + 1.0)

    return sign * choose(
        np.asarray(held(x) - held(y) < -0.75),
        lambda: choose(high, reflected, both_reflected),
        lambda: v * _digamma_gap(y + 1.0, x - 2.0 * y),
    )


binom: Function = _ufunc("binom(x, y)", x=_binom_by_x, y=_binom_by_y)


def multigammaln(a: Any, d: int) -> Any:
    """As `scipy.special.multigammaln`; differentiable by a."""
    if not carries(a):
        return sp.multigammaln(a, d)
    a = gathered(a)
    if not np.all(value(a) > 0.5 * (d - 1)):
        raise ValueError(f"condition a > 0.5 * (d - 1) not met: d = {d}")
    total = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        total = gammaln(a - 0.5 * j) + total
    return total


@_Elementwise
def _zeta(x: Any, q: Any) -> Any:
    return _values.zeta(x, q)


_zeta.called = "zeta"
_zeta.defpartials(_refusal("zeta", "x"), lambda v, x, q: -x * _zeta(x + 1.0, q))


@implements(sp.zeta)
def zeta(x: Any, q: Any = None, out: None = None) -> Any:
    """As `scipy.special.zeta`; differentiable by q."""
    if out is not None:
        raise TypeError("zeta of numbers with derivatives takes no out=: assign the result")
    return _zeta(x, 1.0 if q is None else q)


# --- incomplete gamma and beta functions, and distributions --------------------------------------

gammainc = _ufunc("gammainc(a, x)", x=lambda v, a, x: gamma_density(a, x))
gammaincc = _ufunc("gammaincc(a, x)", x=lambda v, a, x: -gamma_density(a, x))


def _gamma_width(a: Any, x: Any) -> Any:
    """The reciprocal of the density; next to 0 by its logarithm, whose slope does not overflow."""
    return choose(
        (held(x) > 0.0) & (held(x) < 1e-60),
        lambda: exp(-gamma_log_density(a, x)),
        lambda: reciprocal(gamma_density(a, x)),
    )


def _beta_width(a: Any, b: Any, x: Any) -> Any:
    return choose(
        (held(x) > 0.0) & (held(x) < 1e-60),
        lambda: exp(-beta_log_density(a, b, x)),
        lambda: reciprocal(beta_density(a, b, x)),
    )


gammaincinv = _ufunc("gammaincinv(a, y)", y=lambda v, a, y: _gamma_width(a, v))
gammainccinv = _ufunc("gammainccinv(a, y)", y=lambda v, a, y: -_gamma_width(a, v))
betainc = _ufunc("betainc(a, b, x)", x=lambda v, a, b, x: beta_density(a, b, x))
betaincc = _ufunc("betaincc(a, b, x)", x=lambda v, a, b, x: -beta_density(a, b, x))
betaincinv: Function = _ufunc(
    "betaincinv(a, b, y)",
    y=lambda v, a, b, y: choose(
        held(v) <= 0.5,
        lambda: _beta_width(a, b, v),
        lambda: _beta_width(b, a, betainccinv(b, a, y)),  # at 1 - v, to all digits
    ),
)
betainccinv: Function = _ufunc(
    "betainccinv(a, b, y)",
    y=lambda v, a, b, y: choose(
        held(v) <= 0.5,
        lambda: -_beta_width(a, b, v),
        lambda: -_beta_width(b, a, betaincinv(b, a, y)),
    ),
)
stdtr = _ufunc("stdtr(df, t)", values=_values.stdtr, t=lambda v, df, t: student_density(df, t))
stdtrit = _ufunc(
    "stdtrit(df, p)",
    values=_values.stdtrit,
    p=lambda v, df, p: exp(-student_log_density(df, v)),
)
chdtr = _ufunc("chdtr(v, x)", x=lambda ans, v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x))
chdtrc = _ufunc("chdtrc(v, x)", x=lambda ans, v, x: -0.5 * gamma_density(0.5 * v, 0.5 * x))
chdtri = _ufunc(
    "chdtri(v, p)", p=lambda ans, v, p: -2.0 * reciprocal(gamma_density(0.5 * v, 0.5 * ans))
)
gdtr = _ufunc(
    "gdtr(a, b, x)",
    a=lambda v, a, b, x: x * gamma_density(b, a * x),
    x=lambda v, a, b, x: a * gamma_density(b, a * x),
)
gdtrc = _ufunc(
    "gdtrc(a, b, x)",
    a=lambda v, a, b, x: -x * gamma_density(b, a * x),
    x=lambda v, a, b, x: -a * gamma_density(b, a * x),
)
fdtr = _ufunc("fdtr(dfn, dfd, x)", x=lambda v, dfn, dfd, x: _f_density(dfn, dfd, x))
fdtrc = _ufunc("fdtrc(dfn, dfd, x)", x=lambda v, dfn, dfd, x: -_f_density(dfn, dfd, x))
pdtr = _ufunc("pdtr(k, m)", m=lambda v, k, m: -gamma_density(np.floor(k) + 1.0, m))
pdtrc = _ufunc("pdtrc(k, m)", m=lambda v, k, m: gamma_density(np.floor(k) + 1.0, m))
bdtr = _ufunc(
    "bdtr(k, n, p)", p=lambda v, k, n, p: -beta_density(np.floor(k) + 1.0, n - np.floor(k), p)
)
bdtrc = _ufunc(
    "bdtrc(k, n, p)", p=lambda v, k, n, p: beta_density(np.floor(k) + 1.0, n - np.floor(k), p)
)
nbdtr = _ufunc("nbdtr(k, n, p)", p=lambda v, k, n, p: beta_density(n, np.floor(k) + 1.0, p))
nbdtrc = _ufunc("nbdtrc(k, n, p)", p=lambda v, k, n, p: -beta_density(n, np.floor(k) + 1.0, p))


def _f_density(dfn: Any, dfd: Any, x: Any) -> Any:
    """The density of F: that of beta at w = dfn x / (dfn x + dfd), or at 1 - w where w > ½.

    Beyond 1e60 degrees of freedom it no longer depends on them, and their squares overflow.
    """
    dfn, dfd = np.minimum(dfn, 1e60), np.minimum(dfd, 1e60)
    total = dfn * x + dfd
    density = choose(
        np.asarray(dfn * held(x) < dfd),
        lambda: beta_density(0.5 * dfn, 0.5 * dfd, dfn * x / total),
        lambda: beta_density(0.5 * dfd, 0.5 * dfn, dfd / total),
    )
    return density * (dfn / total) * (dfd / total)


# --- Bessel functions ----------------------------------------------------------------------------


def _next_to_zero(v: Any, z: Any) -> Any:
    """Orders that v - 1 would round away; far out that does not matter."""
    size = np.abs(held(z))
    return np.asarray((np.abs(v) < 0.5) & np.not_equal(v, 0.0) & (size > 0.0) & (size < 30.0))


j0: Function = _ufunc("j0(x)", x=lambda v, x: -j1(x))
j1: Function = _ufunc("j1(x)", x=lambda v, x: 0.5 * (j0(x) - jv(2, x)))
jv: Function = _ufunc(
    "jv(v, z)",
    values=_values.jv,
    z=lambda ans, v, z: choose(
        _next_to_zero(v, z),
        lambda: v / z * ans - jv(v + 1, z),
        lambda: 0.5 * (jv(v - 1, z) - jv(v + 1, z)),
    ),
)
jn = jv
y0: Function = _ufunc("y0(x)", x=lambda v, x: -y1(x))
y1: Function = _ufunc("y1(x)", x=lambda v, x: _y_slope(v, 1, x))
yn: Function = _ufunc("yn(n, x)", x=lambda v, n, x: _y_slope(v, n, x))
yv: Function = _ufunc("yv(v, z)", z=lambda ans, v, z: _y_slope(ans, v, z))


def _y_slope(ans: Any, v: Any, z: Any) -> Any:
    """The derivative of Y; next to 0 it is a power of z, where both of its terms are infinite."""
    is_power = np.greater_equal(v, 0.5) | (np.less(v, 0.0) & np.equal(v, np.floor(v)))
    return choose(
        is_power & (held(z) < TINY * np.maximum(1.0, np.abs(v))),
        lambda: -(np.abs(v) / z) * ans,
        lambda: 0.5 * (yv(v - 1, z) - yv(v + 1, z)),
    )


i0: Function = _ufunc("i0(x)", x=lambda v, x: i1(x))
i1: Function = _ufunc("i1(x)", x=lambda v, x: 0.5 * (i0(x) + iv(2, x)))
iv: Function = _ufunc(
    "iv(v, z)",
    values=_values.iv,
    z=lambda ans, v, z: choose(
        _next_to_zero(v, z),
        lambda: v / z * ans + iv(v + 1, z),
        lambda: 0.5 * (iv(v - 1, z) + iv(v + 1, z)),
    ),
)
k0: Function = _ufunc("k0(x)", x=lambda v, x: -k1(x))
k1: Function = _ufunc("k1(x)", x=lambda v, x: -0.5 * (k0(x) + kn(2, x)))
kn: Function = _ufunc(
    "kn(n, x)", values=_values.kn, x=lambda v, n, x: -0.5 * (kn(abs(n - 1), x) + kn(abs(n + 1), x))
)
kv: Function = _ufunc(
    "kv(v, z)", values=_values.kv, z=lambda ans, v, z: -0.5 * (kv(v - 1, z) + kv(v + 1, z))
)
i0e = _ufunc("i0e(x)", x=lambda v, x: -sign(x) * i0e_moment(1, absolute(x)))
i1e = _ufunc("i1e(x)", x=lambda v, x: i0e_moment(2, absolute(x)) - i0e_moment(1, absolute(x)))
ive: Function = _ufunc(
    "ive(v, z)",
    values=_values.ive,
    z=lambda ans, v, z: choose(
        held(z) > 18.0 + 0.5 * np.square(v),
        lambda: ive_tail(1, v, z),
        lambda: choose(
            _next_to_zero(v, z),
            lambda: (v / z - sign(z)) * ans + ive(v + 1, z),
            lambda: choose(
                held(z) == 0.0,  # where SciPy has no infinities
                lambda: 0.5 * (iv(v - 1, z) + iv(v + 1, z)),
                lambda: 0.5 * (ive(v - 1, z) + ive(v + 1, z)) - sign(z) * ans,
            ),
        ),
    ),
)
k0e = _ufunc("k0e(x)", x=lambda v, x: _kve_slope(v, 0, x))
k1e = _ufunc("k1e(x)", x=lambda v, x: _kve_slope(v, 1, x))
kve: Function = _ufunc("kve(v, z)", values=_values.kve, z=lambda ans, v, z: _kve_slope(ans, v, z))


def _kve_slope(ans: Any, v: Any, z: Any) -> Any:
    """The derivative of exp(z) K; next to 0 that of the exponential is nothing beside it."""

    def near() -> Any:
        slope = -0.5 * (kve(v - 1, z) + kve(v + 1, z))
        return choose(held(z) < TINY, lambda: slope, lambda: ans + slope)

    return choose(held(z) > np.maximum(1.0, np.abs(v)), lambda: -kve_moment(1, v, z), near)


# --- integrals, hypergeometric and elliptic functions --------------------------------------------

exp1 = _ufunc("exp1(z)", z=lambda v, z: _inside(v, -divide(exp(-z), z)))
expi = _ufunc("expi(x)", x=lambda v, x: exp_over(1, x))
expn: Function = _ufunc(
    "expn(n, x)",
    x=lambda v, n, x: choose(
        np.equal(n, 0),
        lambda: -v * (1.0 + reciprocal(x)),
        lambda: -expn(np.maximum(n - 1, 0), x),
    ),
)
spence = _ufunc(
    "spence(z)",
    z=lambda v, z: choose(
        (held(z) < 0.5) | (held(z) > 3.0),
        lambda: choose(held(z) < TINY, lambda: log(z), lambda: log(z) / (1.0 - z)),
        lambda: -hyp2f1(1.0, 1.0, 2.0, 1.0 - z),
    ),
)
hyp0f1: Function = _ufunc(
    "hyp0f1(v, z)", values=_values.hyp0f1, z=lambda ans, v, z: hyp0f1(v + 1.0, z) / v
)
hyp1f1: Function = _ufunc(
    "hyp1f1(a, b, x)",
    values=_values.hyp1f1,
    x=lambda v, a, b, x: a / b * hyp1f1(a + 1.0, b + 1.0, x),
)
hyp2f1: Function = _ufunc(
    "hyp2f1(a, b, c, z)",
    values=_values.hyp2f1,
    z=lambda v, a, b, c, z: a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z),
)


def _by_integrals(p: Any) -> Any:
    """Where formulas in E and K of 1 - p do not cancel; at p = 0 they miss the limit."""
    return (p > 3.0) | ((p > 0.0) & (p < 0.5))


ellipk: Function = _ufunc(
    "ellipk(m)",
    m=lambda v, m: choose(
        _by_integrals(1.0 - held(m)),
        lambda: 0.5 * (ellipe(m) / (1.0 - m) - v) / m,
        lambda: math.pi / 8.0 * hyp2f1(1.5, 1.5, 2.0, m),
    ),
)
ellipe: Function = _ufunc(
    "ellipe(m)",
    m=lambda v, m: choose(
        _by_integrals(1.0 - held(m)),
        lambda: 0.5 * (v - ellipk(m)) / m,
        lambda: -math.pi / 8.0 * hyp2f1(0.5, 1.5, 2.0, m),
    ),
)


@_Elementwise
def _ellipem1(p: Any) -> Any:
    """E of 1 - p."""
    return sp.ellipe(1.0 - p)


ellipkm1: Function = _ufunc(
    "ellipkm1(p)",
    p=lambda v, p: choose(
        _by_integrals(held(p)),
        lambda: 0.5 * (_ellipem1(p) / p - v) / (p - 1.0),
        lambda: -math.pi / 8.0 * hyp2f1(0.5, 0.5, 2.0, 1.0 - p) / p,
    ),
)

_ellipem1.defpartials(
    lambda v, p: choose(
        _by_integrals(held(p)),
        lambda: 0.5 * (v - ellipkm1(p)) / (p - 1.0),
        lambda: math.pi / 8.0 * hyp2f1(0.5, 1.5, 2.0, 1.0 - p),
    )
)
ellipkinc = _ufunc(
    "ellipkinc(phi, m)", phi=lambda v, phi, m: reciprocal(sqrt(1.0 - m * square(sin(phi))))
)
ellipeinc = _ufunc("ellipeinc(phi, m)", phi=lambda v, phi, m: sqrt(1.0 - m * square(sin(phi))))
wrightomega = _ufunc(
    "wrightomega(z)",
    z=lambda v, z: choose(
        held(v) > 1.0, lambda: 1.0 - reciprocal(1.0 + v), lambda: divide(v, 1.0 + v)
    ),
)


@_Elementwise
def _lambertw(z: Any, k: Any, tol: Any) -> Any:
    return _real_branch(sp.lambertw(z, k, tol))


_lambertw.called = "lambertw"
_lambertw.defpartials(
    lambda v, z, k, tol: choose(
        np.abs(held(v)) < 1.0,
        lambda: divide(exp(-v), 1.0 + v),
        lambda: divide(v, z * (1.0 + v)),
    )
)


def _real_branch(w: Any) -> Any:
    """The real part where w is real, else nan."""
    w = np.asarray(w)
    return np.where(w.imag == 0.0, w.real, math.nan)[()]


@implements(sp.lambertw)
def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """As `scipy.special.lambertw`, differentiable by z; of a number with derivatives it is real.

    Branch 0 is real from -1/e, branch -1 between -1/e and 0; elsewhere it is nan.
    """
    return _lambertw(z, k, tol)


# --- sums of exponentials ------------------------------------------------------------------------


@primitive
def _logsumexp(a: Any, b: Any, axis: Any) -> Any:
    """The log of |Σ b exp(a)|, with the summed axes kept; a and b have one shape, or b is None."""
    return sp.logsumexp(a, axis=axis, b=b, keepdims=True, return_sign=True)[0]


@primitive
def _sum_sign(a: Any, b: Any, axis: Any) -> Any:
    """The sign of Σ b exp(a), with the summed axes kept."""
    return sp.logsumexp(a, axis=axis, b=b, keepdims=True, return_sign=True)[1]


def _shares(ans: Any, a: Any, b: Any, axis: Any) -> Any:
    """exp(a) / Σ b exp(a); an infinite sum is shared among its equal terms."""
    top = held(a) == held(ans)
    count = np.maximum(np.sum(top, axis=axis, keepdims=True), 1)
    infinite = np.broadcast_to(np.isinf(held(ans)), top.shape)

    def finite() -> Any:
        exponentials = exp(a - np.max(held(a), axis=axis, keepdims=True, initial=-np.inf))
        terms = exponentials if b is None else exponentials * b
        return exponentials / sum_(terms, axis, keepdims=True)

    return choose(infinite, lambda: top / count, finite)


def _weights(ans: Any, a: Any, b: Any, axis: Any) -> Any:
    shares = _shares(ans, a, b, axis)
    return shares if b is None else shares * b


def _each_logsumexp(which: Any, a: Any, b: Any, axis: Any, part: int) -> Any:
    """The logarithms or signs for many points."""
    ndim = np.ndim(a) - (0 in which)
    axes = after_lanes(axis, ndim)
    if b is not None:
        a, b = np.broadcast_arrays(a, b)
    return sp.logsumexp(a, axis=axes, b=b, keepdims=True, return_sign=True)[part]


_logsumexp.called = "logsumexp"
_logsumexp.over_lanes = functools.partial(_each_logsumexp, part=0)
_sum_sign.over_lanes = functools.partial(_each_logsumexp, part=1)
_logsumexp.defvjp(
    lambda ans, a, b, axis: lambda g: g * _weights(ans, a, b, axis),
    lambda ans, a, b, axis: lambda g: g * _shares(ans, a, b, axis),
)
_logsumexp.defjvp(
    lambda g, ans, a, b, axis: sum_(g * _weights(ans, a, b, axis), axis, keepdims=True),
    lambda g, ans, a, b, axis: sum_(g * _shares(ans, a, b, axis), axis, keepdims=True),
)
_logsumexp.defpattern(lambda ans, a, b, axis: over_axes(axis, a.ndim, True), argnums=(0, 1))
_sum_sign.defvjp(None, None)


@implements(sp.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """As `scipy.special.logsumexp`; differentiable by a and b, the sign is a plain number."""
    a, b = gathered(a), gathered(b)
    if b is not None:
        a, b = as_array(a), as_array(b)
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
        a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    kept = _logsumexp(a, b, axis)
    signs = np.ones(np.shape(kept)) if b is None else _sum_sign(held(a), held(b), axis)
    if not return_sign:
        kept = where(signs < 0.0, math.nan, kept)
    if not keepdims:
        shape = np.squeeze(np.empty(np.shape(kept)), axis=axis).shape
        kept, signs = reshape(kept, shape), reshape(signs, shape)[()]
    return (kept, signs) if return_sign else kept


@implements(sp.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """As `scipy.special.softmax`."""
    return nn.softmax(x, axis=axis)


@implements(sp.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """As `scipy.special.log_softmax`."""
    return nn.log_softmax(x, axis=axis)


# --- names ---------------------------------------------------------------------------------------

FUNCTIONS.update(UFUNCS)
FUNCTIONS[sp.polygamma] = polygamma  # a function of SciPy's that is no ufunc
if hasattr(sp, "softplus"):
    FUNCTIONS[sp.softplus] = softplus


@functools.cache
def __getattr__(name: str) -> Any:
    found = getattr(sp, name)
    if not isinstance(found, FunctionType):
        return found
    return FUNCTIONS.get(found) or relayed(found, f"scipy.special.{name}", INSTEAD)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(sp)})
