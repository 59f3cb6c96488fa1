"""The names of `scipy.special`, for numbers with derivatives as well as floats and ndarrays.

Functions of the table of operations are the package's own. The others take their values from
SciPy's ufuncs and have one partial for each argument here; an argument without one (a degree, a
count) must be a plain number. All of them broadcast. At the end of a domain the derivative is the
one-sided limit, outside it is nan. Names that are not defined here are SciPy's.

A partial is a formula, written so that neither it nor its own derivatives cancel: see `_formulas`
and `_families`. By an order or a shape parameter there is none as a rule: there derivatives are
differences of high order of the values, good to eleven digits or so of the function where SciPy's
values are to fourteen, at the price of a dozen of these: see `_differences`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import scipy.special as sp

from .. import binding, nn
from ..binding import Complex, make_complex
from ..binding import strip as value
from ..numpy._common import as_number
from ..numpy._reductions import joined_axes
from ..numpy._refusals import INSTEAD, missing, relayed
from ..operations import table as _table
from ..operations.arrays import (
    as_array,
    broadcast_to,
    expand_dims,
    gathered,
    in_precision,
    reduced_axes,
    reshape,
    stack,
)
from ..operations.arrays import sum as sum_
from ..operations.complexes import ELEMENTWISE, implements_all, implements_complex
from ..operations.dispatch import FUNCTIONS, implements
from ..operations.guards import held
from ..operations.patterns import over_axes
from ..operations.primitives import primitive

# What is taken "as" itself is for others, too, as checkers of types have it.
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
from ..operations.table import rint, where
from ..operations.table import softplus as softplus
from ..operations.table import xlog1py as xlog1py
from ..operations.table import xlogy as xlogy
from . import _analytic, _distribution_ufuncs, _families, _quadratures, _steps, _tails
from ._formulas import CONSTANT, Tabulated, choose, formulas_of, rows_of
from ._ufuncs import has_ufunc, scipys_ufunc, ufunc_of

Function = Callable[..., Any]

# SciPy's ufunc -> the function here that differentiates it.
UFUNCS: dict[Any, Function] = {}

LN10 = math.log(10.0)
ROOT2 = math.sqrt(2.0)
TINY = 1e-100  # next to 0 a function is the first term of its series
ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2.0 * math.pi)
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
DEGREE = math.pi / 180.0
RAISING = ("_ncf_", "_nct_")  # of Boost's, whose loops raise: programs do not call these


# --- functions of the table ----------------------------------------------------------------------

psi = digamma
round = rint

for _function in (cbrt, entr, erf, erfc, exp2, expit, expm1, gamma, gammaln, log1p, log_expit):
    UFUNCS[getattr(sp, _function.__name__)] = _function
UFUNCS |= {sp.psi: digamma, sp.round: rint}


def _as_taken_by(ufunc: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of a ufunc, as float64 where one of float32 is beside what has it compute so.

    Numbers with derivatives are given to it as Python's, whose precision it does not heed.
    """
    if not isinstance(ufunc, np.ufunc) or not any(map(binding.is_single, args)):
        return args
    kinds = [type(x) if type(x) in (int, float) else np.result_type(value(x)) for x in args]
    if ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))[-1] in (np.float32, np.complex64):
        return args
    return tuple(in_precision(x, np.float64) for x in args)


def _of_table(original: np.ufunc, function: Function) -> Function:
    @functools.wraps(original)
    def taking(x: Any, y: Any, /, **kwargs: Any) -> Any:
        return function(*_as_taken_by(original, (gathered(x), gathered(y))), **kwargs)

    taking.__doc__ = function.__doc__
    return implements(original)(taking)


for _original in (sp.xlogy, sp.xlog1py):
    _taking = _of_table(_original, getattr(_table, _original.__name__))
    globals()[_original.__name__] = UFUNCS[_original] = _taking


formula = formulas_of(globals(), _families)

# --- ufuncs --------------------------------------------------------------------------------------


class _Elementwise(Tabulated):
    """A function of numbers and arrays: lists beside them are arrays, too."""

    def __init__(
        self,
        name: str,
        parameters: str,
        function: Function,
        partials: dict[str, str],
        ufunc: np.ufunc | None = None,
        original: np.ufunc | None = None,
    ) -> None:
        widths, self._original = WIDTHS.get(name, {}), original or ufunc
        scipys = _scipys_name(name)
        super().__init__(name, parameters, function, partials, formula, ufunc, widths, scipys)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = _as_taken_by(self._original, tuple(map(gathered, args)))
        if any(isinstance(x, Complex) for x in args):
            return analytic(self.function.__name__, args)
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            found = binding.plain_constants((args, kwargs))
            if found is None and any(map(np.iscomplexobj, args)):
                return analytic(self.function.__name__, args)  # which refuses what is not last
            if found is None:
                raise
        return self.function(*found[0], **found[1])


def _scipys_name(name: str) -> str:
    """The function of SciPy's that one of the table is, or gives a result of."""
    return _RESULTS[name][0] if name in _RESULTS else name.lstrip("_")


def _where_it_answers(original: np.ufunc) -> Function:
    """A ufunc whose loop raises for all elements if one of them overflows; that is nan."""

    def evaluate(*args: Any) -> Any:
        try:
            return original(*args)
        except (OverflowError, SystemError):
            if any(map(np.ndim, args)):
                return np.vectorize(evaluate, otypes=[float])(*args)
            return math.nan

    return evaluate


def _ufunc(name: str, arguments: str, partials: dict[str, str]) -> Function:
    """The primitive of a ufunc of SciPy's, whose values are right where SciPy's are not."""
    original = scipys_ufunc(name)
    ufunc = None if name.startswith(RAISING) else ufunc_of(name)
    found = ufunc or _where_it_answers(original)

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if kwargs else found(*args)

    known = [each for each in arguments.split(", ") if not each.startswith(CONSTANT)]
    by = f"differentiable by {', '.join(known)}" if known else "it has no derivative"
    evaluate.__doc__ = f"As `scipy.special.{name}`; {by}."
    function = UFUNCS[original] = _Elementwise(
        name, arguments, evaluate, partials, ufunc, original
    )
    return function


def _solution(name: str, parameters: str, equation: str) -> Function:
    """The primitive of a ufunc whose value `ans` solves an equation F(arguments) = parameter.

    Where nothing solves it the value is the end of what SciPy searches, which does not move.
    """
    function, _, arguments = equation.strip().rstrip(")").partition("(")
    names = parameters.split(", ")
    zeros = dict.fromkeys([*names, "ans"], 0.0)

    def slope(each: str) -> str:
        """That of F, whose arguments are linear."""
        rates = [
            eval(text, {**zeros, each: 1.0}) - eval(text, {**zeros})
            for text in arguments.split(", ")
        ]
        terms = [f"{r} * {function}.slope({k}, {arguments})" for k, r in enumerate(rates) if r]
        return " + ".join(terms)

    slopes = {each: slope(each) for each in zeros}
    (given,) = (each for each in names if not slopes[each])
    unless = f"0.0 if _is_unsolved(ans, {function}({arguments}), {given}) else"
    partials = {
        each: f"{unless} -_product({slopes[each] or -1.0}, reciprocal({slopes['ans']}))"
        for each in names
    }
    return _ufunc(name, parameters, partials)


# A row is a ufunc of SciPy's with its partials, formulas of the value, `ans`, and the arguments;
# an argument without one is refused if it carries a derivative. Or it is a formula for others.
TABLE = """
# The partial, but nan where the value is nan: outside the domain.
_inside(ans, partial) = where(held(ans) != held(ans), math.nan, partial)

# What both branches of a formula compute costs the same whichever is taken: x for the branch that
# is taken where there is no other reason, and 0, at which functions are cheap, elsewhere.
_unless(other, x) = where(other, 0.0, x)

# --- error functions and the normal distribution -------------------------------------------------

erfi(z)               z: 2.0 / ROOT_PI * exp(square(z))
erfcx(x)
    x: 2.0 * (x * ans) - 2.0 / ROOT_PI if x < 1.0 else -2.0 * erfcx_moment(1, _unless(x < 1.0, x))
dawsn(x)
    x: 1.0 - 2.0 * (x * ans) if abs(x) < 0.8 else
        hyp1f1(1.0, 0.5, -square(_unless(abs(x) < 0.8, x)))
erfinv(y)             y: 0.5 * ROOT_PI * exp(square(ans))
erfcinv(y)
    y: -0.5 * ROOT_PI * (exp(square(ans)) if abs(ans) < 1.0 else _tail_ratio(ans, y))
ndtr(x)               x: _normal_density(x)
ndtri(y)
    y: ROOT_2PI * exp(0.5 * square(ans)) if abs(ans) < 1.5 else
        ROOT_HALF_PI * _tail_ratio(ans * (-1.0 / ROOT2), y)
log_ndtr(x)
    x: _normal_density(x) / ndtr(x) if x > 0.0 else
        -x - reciprocal(x) * (1.0 - 2.0 * square(reciprocal(x))) if x < -1e6 else
        math.sqrt(2.0 / math.pi) * reciprocal(erfcx(x * (-1.0 / ROOT2)))
ndtri_exp(y)          y: ROOT_HALF_PI * erfcx(ans * (-1.0 / ROOT2))
owens_t(h, a)
    h: -0.5 * _normal_density(h) * erf(a * h / ROOT2)
    a: 0.0 if np.hypot(h, h * a) > 40.0 else
        exp(-0.5 * (square(h) + square(h * a))) / (1.0 + square(a)) / math.tau

# The quotient erfcx(v) / y: exp(v²) if y is erfc(v), without the error of v times v. Far out that
# is much; near v = 0 it is nothing, and the derivative of this form would cancel.
_tail_ratio(v, y) =
    math.inf if y == 0.0 else
    valued(exp(square(v)), erfcx(v) / y) if y < TINY else erfcx(v) / y
_normal_density(x) = exp(-0.5 * square(x)) / ROOT_2PI

# --- elementary ----------------------------------------------------------------------------------

logit(x)              x: _inside(ans, reciprocal(x) + reciprocal(1.0 - x))
exp10(x)              x: LN10 * ans
cosm1(x)              x: -sin(x)
exprel(x)             x: _exprel_slope(x)
_factorial(n)         n: ans * digamma(n + 1.0)
sindg(x)              x: DEGREE * cosdg(x)
cosdg(x)              x: -DEGREE * sindg(x)
tandg(x)              x: DEGREE * (1.0 + square(ans))
cotdg(x)              x: -DEGREE * (1.0 + square(ans))
powm1(x, y)
    x: 0.0 if x == 0.0 and y == 0.0 else
        power(x, y - 1.0) + xlogy(y - 1.0, x) if x == 0.0 and 0.0 < y <= 1.0 else
        y * power(x, y - 1.0)
    y: 0.0 if x == 0.0 and y == 0.0 else xlogy(power(x, y), x)
boxcox(x, lmbda)
    x: _inside(ans, power(x, lmbda - 1.0))
    lmbda: square(reciprocal(lmbda)) if x == 0.0 else
        square(log(x)) * _exprel_slope(lmbda * log(x))
boxcox1p(x, lmbda)
    x: _inside(ans,
        exp(xlog1py(lmbda - 1.0, x)) if abs(x) < 0.5 else power(1.0 + x, lmbda - 1.0))
    lmbda: square(reciprocal(lmbda)) if x == -1.0 else
        square(log1p(x)) * _exprel_slope(lmbda * log1p(x))
inv_boxcox(y, lmbda)
    y: _inv_boxcox_slope(ans, y, lmbda)
    lmbda: _inv_boxcox_bend(ans, y, lmbda)
inv_boxcox1p(y, lmbda)
    y: _inv_boxcox_slope(inv_boxcox(y, lmbda), y, lmbda)
    lmbda: _inv_boxcox_bend(inv_boxcox(y, lmbda), y, lmbda)

# x**(1 - λ) where λ y = x**λ - 1.
_inv_boxcox_slope(x, y, lmbda) =
    power(x, 1.0 - lmbda) if lmbda * y <= -1.0 or np.isinf(x) else x / (1.0 + lmbda * y)
# The derivative by λ, x times that of log1p(λ y) / λ; y² is not taken, it may overflow.
_inv_boxcox_bend(x, y, lmbda) = x * _log1p_over_slope(y, lmbda)
_log1p_over_slope(y, lmbda) =
    (y / (1.0 + lmbda * y) - log1p(lmbda * y) / lmbda) / lmbda
    if lmbda * y > 2.0 or lmbda * y < -0.5 else y * (y * _log1prel_slope(lmbda * y))
# log1p(λ y) / λ, which is y where λ is 0.
_log1p_over(y, lmbda)
    y: reciprocal(1.0 + lmbda * y)
    lmbda: _log1p_over_slope(y, lmbda)
# The derivatives of (exp(x) - 1) / x, and of log1p(x) / x for x between -½ and 2.
_exprel_slope(x) =
    exp_over(2, x) * (x - 1.0) + square(reciprocal(x)) if abs(x) > 40.0 else
    (exp(x) * (x - 1.0) + 1.0) * square(reciprocal(x)) if abs(x) > 2.0 else
    0.5 * hyp1f1(2.0, 3.0, _unless(abs(x) > 2.0, x))
_log1prel_slope(x) = -0.5 * hyp2f1(2.0, 2.0, 3.0, -x)

# --- entropies and losses ------------------------------------------------------------------------

# The partial, but nan where x or y is negative.
_positive(x, y, partial) = where((held(x) < 0.0) | (held(y) < 0.0), math.nan, partial)
# 1 - x / y, so that neither it nor its derivative cancels.
_one_less_ratio(x, y) = 1.0 - divide(x, y) if x < 0.5 * y else divide(y - x, y)
kl_div(x, y)
    x: log_ratio(x, y)
    y: _positive(x, y, 1.0 if x == 0.0 and y == 0.0 else _one_less_ratio(x, y))
rel_entr(x, y)
    x: 1.0 + log_ratio(x, y)
    y: _positive(x, y, 0.0 if x == 0.0 and y == 0.0 else -divide(x, y))
huber(delta, r)
    delta: _positive(delta, 0.0, relu(absolute(r) - delta))
    r: _positive(delta, 0.0, clip(r, -delta, delta))
pseudo_huber(delta, r)
    delta: _positive(delta, 0.0, _pseudo_huber_by_delta(delta, r))
    r: _positive(delta, 0.0, r / hypot(1.0, r / delta) if abs(r) < delta else
        0.0 if delta == 0.0 and r == 0.0 else delta * hypot_ratio(r, delta))

# δ (s - 1)² / s with s = √(1 + (r/δ)²), and the limit |r| at δ = 0; the excess is h - δ.
_pseudo_huber_by_delta(delta, r) =
    0.0 if delta == 0.0 and r == 0.0 else excess * (excess / h)
    where h = hypot(delta, r)
    where excess = r * (r / (h + delta))

# --- gamma and its relatives ---------------------------------------------------------------------

# Next to a pole of digamma a derivative of beta, poch or binom is a product of zero and infinity.
# There gamma functions of arguments below ½ are reflected, Γ(x) Γ(1 - x) = π / sin πx (Abramowitz
# and Stegun 6.1.17): that leaves gamma functions without poles, times a quotient of sines.

# Sine and cosine of πx, to all digits next to their zeros. Whether x is a whole number is asked
# without an equality, of which programs would warn.
_sin_pi(x) = (1.0 - 2.0 * (k % 2.0)) * sin(math.pi * (x - k))
    where k = rint(x)
_cos_pi(x) = (1.0 - 2.0 * (k % 2.0)) * cos(math.pi * (x - k))
    where k = rint(x)
_whole(x) = np.abs(held(x) - np.floor(held(x))) <= 0.0

# By reflection below ½, since the poles of digamma are none of 1/Γ.
loggamma(z)           z: _inside(ans, digamma(z))
rgamma(z)
    z: gamma(1.0 - z) * (_cos_pi(z) - _sin_pi(z) / math.pi * digamma(1.0 - z)) if z < 0.5 else
        0.0 if ans == 0.0 else -ans * digamma(z)
gammasgn(x)           x: 0.0
beta(a, b)
    a: _beta_slope(ans, a, b)
    b: _beta_slope(ans, b, a)
betaln(a, b)
    a: -_digamma_gap(a, b)
    b: -_digamma_gap(b, a)
poch(z, m)
    z: _poch_by_z(ans, z, m)
    m: _poch_by_m(ans, z, m)
binom(x, y)
    x: _binom_by_x(ans, x, y)
    y: _binom_by_y(ans, x, y)

# ψ(a + b) - ψ(a), also where both are reflected.
_digamma_gap(a, b) =
    where(_whole(a) & _whole(b), 0.0, math.pi * _sin_pi(b) / (_sin_pi(a) * _sin_pi(a + b)))
    - digamma_gap(0, 1.0 - a - b, b)
    if np.minimum(a, a + b) <= 0.0 and np.maximum(a, a + b) < 0.5 else digamma_gap(0, a, b)

# The derivative of beta by a; B(a, b) = B(b, 1 - a - b) sin π(a+b) / sin πa below ½. Where b is
# small reflecting it would cancel.
_beta_slope(ans, a, b) =
    (_beta_reflect_a(a, b) if a < 0.5 and (abs(b) <= abs(a) or b >= 0.5) else
    _beta_reflect_b(a, b)) if a + b < 0.25 else -ans * _digamma_gap(a, b)
_beta_reflect_a(a, b) = beta(b, c) * (_digamma_gap(c, b) * turn - twist)
    where c = 1.0 - a - b
    where turn = where(_whole(a) & _whole(b), _cos_pi(b), _sin_pi(a + b) / _sin_pi(a))
    where twist = where(_whole(a) & _whole(b), 0.0, math.pi * _sin_pi(b) / square(_sin_pi(a)))
_beta_reflect_b(a, b) = beta(a, c) * turn / _sin_pi(b)
    where c = 1.0 - a - b
    where turn = _sin_pi(a + b) * (digamma(a) - digamma(c)) + math.pi * _cos_pi(a + b)

# Γ(z+m) / Γ(z) is Γ(1-z) / Γ(1-z-m) sin πz / sin π(z+m), or Γ(z+m) Γ(1-z) sin πz / π. By m there
# is no derivative where the function jumps, between two poles.
_poch_by_z(ans, z, m) =
    (_poch_reflect_both(z, m) if z + m < 0.5 else _poch_reflect_z(z, m))
    if z < 0.25 else ans * _digamma_gap(z, m)
_poch_reflect_both(z, m) = poch(c, m) * (twist - digamma_gap(0, c, m) * turn)
    where c = 1.0 - z - m
    where turn = where(_whole(z) & _whole(m), _cos_pi(m), _sin_pi(z) / _sin_pi(z + m))
    where twist = where(
        _whole(z) & _whole(m), 0.0, math.pi * _sin_pi(m) / square(_sin_pi(z + m)))
_poch_reflect_z(z, m) =
    gamma(z + m) * gamma(1.0 - z) * (gap * _sin_pi(z) / math.pi + _cos_pi(z))
    where gap = digamma_gap(0, 1.0 - z, 2.0 * z + m - 1.0)
_poch_by_m(ans, z, m) = where(jumps, math.nan, ans * digamma(z + m))
    where jumps = _whole(z) & _whole(m) & (held(z) <= 0.0) & (held(z) + held(m) <= 0.0)

# For y > x + ¾ binom is B(x+1, y-x) sin π(y-x) / π, and, if x + 1 < ½, too, the one of y - x - 1
# and y times sin π(y-x) / sin π(x+1). For y < -½ it is the one of x and x - y.
_binom_by_x(ans, x, y) =
    (_binom_reflect(x, y, y - x) if x > -0.5 else _binom_reflect_both(x, y, y - x))
    if x - y < -0.75 else -ans * _digamma_gap(x + 1.0, -y)
_binom_reflect(x, y, w) = beta(x + 1.0, w) * (gap * _sin_pi(w) / math.pi - _cos_pi(w))
    where gap = digamma(x + 1.0) - digamma(w)
_binom_reflect_both(x, y, w) = -binom(w - 1.0, y) * (_digamma_gap(-x, y) * turn + twist)
    where turn = _sin_pi(w) / _sin_pi(x + 1.0)
    where twist = -math.pi * _sin_pi(y) / square(_sin_pi(x + 1.0))
_binom_by_y(ans, x, y) = where(swap, -1.0, 1.0) * _binom_by_more(ans, x, where(swap, x - y, y))
    where swap = (held(y) < -0.5) & (held(x) - held(y) >= -0.75)
_binom_by_more(ans, x, y) =
    (_binom_by_more_reflect(x, y - x) if x > -0.5 else _binom_by_more_reflect_both(x, y, y - x))
    if x - y < -0.75 else ans * _digamma_gap(y + 1.0, x - 2.0 * y)
_binom_by_more_reflect(x, w) =
    beta(x + 1.0, w) * (_cos_pi(w) - digamma_gap(0, w, x + 1.0) * _sin_pi(w) / math.pi)
_binom_by_more_reflect_both(x, y, w) =
    (slope * _sin_pi(w) + mirrored * math.pi * _cos_pi(w)) / _sin_pi(x + 1.0)
    where mirrored = binom(w - 1.0, y)
    where slope = _binom_mirrored_slope(mirrored, x, y, w)
_binom_mirrored_slope(ans, x, y, w) =
    beta(w, -y) * -(digamma_gap(0, -y, w + y) * _sin_pi(y) / math.pi + _cos_pi(y))
    if y < -0.5 else ans * digamma_gap(0, y + 1.0, -x - 1.0)

# --- incomplete gamma and beta functions, and distributions --------------------------------------

# The reciprocals of densities; next to 0 by the logarithm, whose slope does not overflow.
_gamma_width(a, x) =
    exp(-gamma_log_density(a, x)) if 0.0 < x < 1e-60 else reciprocal(gamma_density(a, x))
_beta_width(a, b, x) =
    exp(-beta_log_density(a, b, x)) if 0.0 < x < 1e-60 else reciprocal(beta_density(a, b, x))

# Derivatives by shapes. Where these are moderate, a series or a continued fraction is
# differentiated as it is summed. Else they are differences, of the smaller one of two
# probabilities whose sum is 1. Where it is the other one's turn a formula is at 0 or far out,
# which costs nothing (`_steps`). One less betainc is the mirrored betainc, which costs SciPy a
# tenth of betaincc, unless that loses digits of x.
_gamma_by_shape(a, x) =
    gammainc_slope(a, x) if 0.0 < a < 200.0 and x >= 0.0 else _gamma_by_any_shape(a, x)
_gamma_by_any_shape(a, x) =
    -gammaincc.by("a", a, where(upper, x, 1e300)) if upper else
    _gamma_below.by("a", a, _unless(upper, x))
    where upper = gammaincc(held(a), held(x)) < 0.5
_beta_by_a(a, b, x) =
    betainc_by_a(a, b, x) if _is_moderate(a, b, x) else _beta_by_any_a(a, b, x)
_beta_by_b(a, b, x) =
    betainc_by_b(a, b, x) if _is_moderate(a, b, x) else _beta_by_any_b(a, b, x)
_is_moderate(a, b, x) =
    (1e-3 <= a) & (1e-3 <= b) & (a <= 200.0) & (b <= 200.0) & (0.0 <= x) & (x <= 1.0)
_beta_by_any_a(a, b, x) =
    -betaincc.by("a", a, b, where(early, x, 1.0)) if early else
    -betainc.by("b", b, a, where(upper, 1.0 - x, 0.0)) if upper else
    betainc.by("a", a, b, _unless(upper, x))
    where upper = betainc(held(a), held(b), held(x)) > 0.5
    where early = upper & (held(x) < 0.1)
_beta_by_any_b(a, b, x) =
    -betaincc.by("b", a, b, where(early, x, 1.0)) if early else
    -betainc.by("a", b, a, where(upper, 1.0 - x, 0.0)) if upper else
    betainc.by("b", a, b, _unless(upper, x))
    where upper = betainc(held(a), held(b), held(x)) > 0.5
    where early = upper & (held(x) < 0.1)
_student_by_df(df, t) = _student_far_slope(df, t) if df > 200.0 else
    _student_middle.by("df", df, _unless(not near, t)) if near else
    -sign(t) * _student_tail.by("df", df, _unless(near, absolute(t)))
    where near = (stdtr(held(df), -np.abs(held(t))) > 0.1) & (np.square(held(t)) < held(df))
_f_by_dfn(dfn, dfd, x) =
    -fdtrc.by("dfn", dfn, dfd, where(upper, x, 1e300)) if upper else
    fdtr.by("dfn", dfn, dfd, _unless(upper, x))
    where upper = fdtrc(held(dfn), held(dfd), held(x)) < 0.5
_f_by_dfd(dfn, dfd, x) =
    -fdtrc.by("dfd", dfn, dfd, where(upper, x, 1e300)) if upper else
    fdtr.by("dfd", dfn, dfd, _unless(upper, x))
    where upper = fdtrc(held(dfn), held(dfd), held(x)) < 0.5

# gammainc, whose series SciPy breaks off too early where a is large and x far below.
_gamma_below(a, x)    x: gamma_density(a, x)

# The derivative of stdtr by df. Where df is large the probability hardly depends on it, and
# differences of values have no digits; the density's derivative has all.
_student_far_slope(df, t)
    t: student_density(df, t) * _student_slope(df, t)
    df: over 0.15 * df above 0
# The probabilities that Student's t is between 0 and t, and beyond t > 0.
_student_middle(df, t)  t: student_density(df, t)
_student_tail(df, t)  t: -student_density(df, t)

gammainc(a, x)        a: _gamma_by_shape(a, x)
    x: gamma_density(a, x)
gammaincinv(a, y)     a: -_product(_gamma_by_shape(a, ans), _gamma_width(a, ans))
    y: _gamma_width(a, ans)
gammainccinv(a, y)    a: -_product(_gamma_by_shape(a, ans), _gamma_width(a, ans))
    y: -_gamma_width(a, ans)
betainc(a, b, x)      a: _beta_by_a(a, b, x)
    b: _beta_by_b(a, b, x)
    x: beta_density(a, b, x)

# Next to 1 the solution is one less that of the mirrored function.
betaincinv(a, b, y)
    a: -_product(_beta_by_a(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_a(a, b, betainccinv(b, a, y))
    b: -_product(_beta_by_b(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_b(a, b, betainccinv(b, a, y))
    y: _beta_width(a, b, ans) if ans <= 0.5 else _beta_width(b, a, betainccinv(b, a, y))
betainccinv(a, b, y)
    a: -_product(_beta_by_a(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_a(a, b, betaincinv(b, a, y))
    b: -_product(_beta_by_b(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_b(a, b, betaincinv(b, a, y))
    y: -(_beta_width(a, b, ans) if ans <= 0.5 else _beta_width(b, a, betaincinv(b, a, y)))
_beta_mirrored_by_a(a, b, z) = _product(_beta_by_b(b, a, z), _beta_width(b, a, z))
_beta_mirrored_by_b(a, b, z) = _product(_beta_by_a(b, a, z), _beta_width(b, a, z))
# A product of which a zero, at an end of the support, is one; a quotient of what may underflow.
_product(slope, width) = 0.0 if slope == 0.0 and np.isinf(width) else slope * width
_over_density(slope, logarithm) =
    slope * exp(-logarithm) if logarithm > -600.0 else 0.0 if slope == 0.0 else
    sign(slope) * exp(log(absolute(slope)) - logarithm)
stdtr(df, t)          df: 0.0 if np.isinf(df) else _student_by_df(df, t)
    t: student_density(df, t)
stdtrit(df, p)        df: -_over_density(_student_by_df(df, ans), student_log_density(df, ans))
    p: exp(-student_log_density(df, ans))
chdtr(v, x)           v: 0.5 * _gamma_by_shape(0.5 * v, 0.5 * x)
    x: 0.5 * gamma_density(0.5 * v, 0.5 * x)
chdtri(v, p)
    v: -_product(_gamma_by_shape(0.5 * v, 0.5 * ans), _gamma_width(0.5 * v, 0.5 * ans))
    p: -2.0 * _gamma_width(0.5 * v, 0.5 * ans)
gdtr(a, b, x)
    a: x * gamma_density(b, a * x) if a == 0.0 else b / a * gamma_density(b + 1.0, a * x)
    b: _gamma_by_shape(b, a * x)
    x: a * gamma_density(b, a * x)
gdtria(p, b, x)
    p: _gamma_width(b, ans * x) / x
    b: -_product(_gamma_by_shape(b, ans * x), _gamma_width(b, ans * x)) / x
    x: -ans / x
gdtrix(a, b, p)
    a: -ans / a
    b: -_product(_gamma_by_shape(b, a * ans), _gamma_width(b, a * ans)) / a
    p: _gamma_width(b, a * ans) / a
fdtr(dfn, dfd, x)     dfn: _f_by_dfn(dfn, dfd, x)
    dfd: _f_by_dfd(dfn, dfd, x)
    x: _f_density(dfn, dfd, x)
fdtri(dfn, dfd, p)
    dfn: -_product(_f_by_dfn(dfn, dfd, ans), reciprocal(_f_density(dfn, dfd, ans)))
    dfd: -_product(_f_by_dfd(dfn, dfd, ans), reciprocal(_f_density(dfn, dfd, ans)))
    p: reciprocal(_f_density(dfn, dfd, ans))
pdtr(const k, m)      m: -gamma_density(np.floor(k) + 1.0, m)
pdtri(const k, y)     y: -_gamma_width(np.floor(k) + 1.0, ans)
bdtr(const k, const n, p)  p: -beta_density(np.floor(k) + 1.0, n - np.floor(k), p)
bdtri(const k, const n, y)  y: -_beta_width(np.floor(k) + 1.0, n - np.floor(k), ans)
nbdtr(const k, const n, p)  p: beta_density(n, np.floor(k) + 1.0, p)
nbdtri(const k, const n, y)  y: _beta_width(n, np.floor(k) + 1.0, ans)
nrdtrimn(p, std, x)   p: -std * ROOT_2PI * exp(0.5 * square((x - ans) / std))
    std: (ans - x) / std
    x: 1.0
nrdtrisd(mn, p, x)    mn: -ans / (x - mn)
    p: -square(ans) / (x - mn) * (ROOT_2PI * exp(0.5 * square((x - mn) / ans)))
    x: ans / (x - mn)

# Whether a value is no solution, but the end of what is searched.
_is_unsolved(ans, found, given) = (np.abs(found - given) > 1e-3 * given) | (
    (np.abs(found - given) > 1e-9 * given) & ((np.abs(ans) < 1e-90) | (np.abs(ans) >= 1e10)))

# The density of F: that of beta at w = dfn x / (dfn x + dfd), or at 1 - w where w > ½. Beyond 1e60
# degrees of freedom it no longer depends on them, and their squares overflow.
_f_density(dfn, dfd, x) = _f_of_total(few, many, x, few * x + many)
    where few = np.minimum(dfn, 1e60)
    where many = np.minimum(dfd, 1e60)
_f_of_total(dfn, dfd, x, total) = density * (dfn / total) * (dfd / total)
    where density = beta_density(0.5 * dfn, 0.5 * dfd, dfn * x / total) if dfn * x < dfd else
        beta_density(0.5 * dfd, 0.5 * dfn, dfd / total)

# --- Bessel functions ----------------------------------------------------------------------------

# Orders that v - 1 would round away; far out that does not matter.
_next_to_zero(v, z) = (np.abs(v) < 0.5) & (v != 0.0) & (np.abs(z) > 0.0) & (np.abs(z) < 30.0)

j0(x)                 x: -j1(x)
j1(x)
    x: j0(x) - ans / x if abs(x) > 1.0 else 0.5 * (j0(x) - jv(2, _unless(abs(x) > 1.0, x)))
jv(v, z)
    z: v / z * ans - jv(v + 1, z) if _next_to_zero(v, z) else 0.5 * (jv(v - 1, z) - jv(v + 1, z))
# Next to 0 the derivative of Y is a power of z, where both of its terms, or all, are infinite.
y0(x)                 x: -y1(x)
y1(x)                 x: -(ans / x) if x < TINY else y0(x) - ans / x
yn(const n, x)
    x: -y1(x) if n == 0 else -(abs(n) / x) * ans if x < TINY or np.isinf(ans) else
        yn(n - 1, x) - n / x * ans
yv(v, z)
    z: -(np.abs(v) / z) * ans
        if (v >= 0.5 or v < 0.0 and v == np.floor(v))
        and (z < TINY * np.maximum(1.0, abs(v)) or np.isinf(ans)) else
        0.5 * (yv(v - 1, z) - yv(v + 1, z))
i0(x)                 x: i1(x)
i1(x)
    x: i0(x) - ans / x if abs(x) > 1.0 else 0.5 * (i0(x) + iv(2, _unless(abs(x) > 1.0, x)))
iv(v, z)
    v: _iv_even.by("v", v, z) - _iv_odd_slope(v, kv(v, z), kv.by("v", v, z))
        if z > 1.0 and abs(v) < 0.5 else iv.by("v", v, z)
    z: choose(_is_split(v, z, 0.5), lambda: _iv_even.differences(v, z, orders=(0, 1))
            - sin(math.pi * v) / math.pi * kv.slope(1, v, z), lambda: _iv_slope(ans, v, z))
_iv_slope(ans, v, z) =
    v / z * ans + iv(v + 1, z) if _next_to_zero(v, z) else 0.5 * (iv(v - 1, z) + iv(v + 1, z))
# Next to v = 0 the derivative is small. I is an even function of v less sin(πv) K / π.
_iv_odd_slope(v, k, slope) = cos(math.pi * v) * k + sin(math.pi * v) / math.pi * slope
_iv_even(v, z)
    z: 0.5 * (_iv_slope(iv(v, z), v, z) + _iv_slope(iv(-v, z), -v, z))
_ive_even(v, z)
    z: 0.5 * (_ive_slope(ive(v, z), v, z) + _ive_slope(ive(-v, z), -v, z))
# Whether a derivative by z is to be one by v, too, for which it is taken apart likewise.
_is_split(v, z, most) = carries(v) & (held(z) > 1.0) & (np.abs(held(v)) < most)
k0(x)                 x: -k1(x)
k1(x)                 x: -k0(x) - ans / x
kn(const n, x)        x: -0.5 * (kn(abs(n - 1), x) + kn(abs(n + 1), x))
kv(v, z)              z: -0.5 * (kv(v - 1, z) + kv(v + 1, z))
i0e(x)                x: -sign(x) * i0e_moment(1, absolute(x))
i1e(x)                x: i0e_moment(2, absolute(x)) - i0e_moment(1, absolute(x))
ive(v, z)
    v: _ive_even.by("v", v, z) - exp(-2.0 * z) * _iv_odd_slope(
            v, kve(v, z), kve.by("v", v, z))
        if z > 1.0 and abs(v) < 0.5 else ive.by("v", v, z)
    z: choose(_is_split(v, z, 0.5), lambda: _ive_even.differences(v, z, orders=(0, 1)) -
            exp(-2.0 * z) * sin(math.pi * v) / math.pi * (kve.slope(1, v, z) - 2.0 * kve(v, z)),
        lambda: _ive_slope(ans, v, z))
_ive_slope(ans, v, z) =
    ive_tail(1, v, z) if z > 18.0 + 0.5 * np.square(v) else
    (v / z - sign(z)) * ans + ive(v + 1, z) if _next_to_zero(v, z) else
    0.5 * (iv(v - 1, z) + iv(v + 1, z)) if z == 0.0 else
    0.5 * (ive(v - 1, z) + ive(v + 1, z)) - sign(z) * ans
k0e(x)                x: _kve_slope(ans, 0, x)
k1e(x)                x: _kve_slope(ans, 1, x)
kve(v, z)             z: _kve_slope(ans, v, z)

# Next to 0 the derivative of exp(z) in exp(z) K is nothing beside the other.
_kve_slope(ans, v, z) =
    -kve_moment(1, v, z) if z > np.maximum(1.0, np.abs(v)) and z > np.square(v) / 9.0 else
    (0.0 if z < TINY else ans) - 0.5 * (kve(v - 1, z) + kve(v + 1, z))

# Scaled by exp(-|Im z|), which is 1 here.
jve(v, z)             z: 0.5 * (jve(v - 1, z) - jve(v + 1, z))
yve(v, z)             z: 0.5 * (yve(v - 1, z) - yve(v + 1, z))

_hankel1_re(v, z)     z: _beside(_hankel1_re, v, z)
_hankel1_im(v, z)     z: _beside(_hankel1_im, v, z)
_hankel2_re(v, z)     z: _beside(_hankel2_re, v, z)
_hankel2_im(v, z)     z: _beside(_hankel2_im, v, z)
_beside(f, v, z) = 0.5 * (f(v - 1, z) - f(v + 1, z))
# Scaled by exp(-iz) and exp(iz).
_hankel1e_re(v, z)    z: _beside(_hankel1e_re, v, z) + _hankel1e_im(v, z)
_hankel1e_im(v, z)    z: _beside(_hankel1e_im, v, z) - _hankel1e_re(v, z)
_hankel2e_re(v, z)    z: _beside(_hankel2e_re, v, z) - _hankel2e_im(v, z)
_hankel2e_im(v, z)    z: _beside(_hankel2e_im, v, z) + _hankel2e_re(v, z)

# Solutions of Airy's equation w'' = z w, alone and with their exponentials.
_airy_ai(z)           z: _airy_aip(z)
_airy_aip(z)          z: z * _airy_ai(z)
_airy_bi(z)           z: _airy_bip(z)
_airy_bip(z)          z: z * _airy_bi(z)
_airye_ai(z)          z: _airye_aip(z) + sqrt(z) * ans
_airye_aip(z)         z: z * _airye_ai(z) + sqrt(z) * ans
_airye_bi(z)          z: _airye_bip(z) - sqrt(relu(z)) * ans
_airye_bip(z)         z: z * _airye_bi(z) - sqrt(relu(z)) * ans

# Kelvin's functions, parts of solutions of x² w'' + x w' = i x² w.
ber(x)                x: berp(x)
bei(x)                x: beip(x)
ker(x)                x: kerp(x)
kei(x)                x: keip(x)
berp(x)
    x: -ans / x - bei(x) if abs(x) > 0.5 else
        -square(x) * (3.0 / 16.0 - q * (7.0 / 18432.0 - q * (11.0 / 176947200.0)))
    where q = square(square(x))
beip(x)
    x: ber(x) - ans / x if abs(x) > 0.5 else
        0.5 - q * (5.0 / 384.0 - q * (1.0 / 163840.0 - q * (13.0 / 29727129600.0)))
    where q = square(square(x))
kerp(x)               x: -ans / x - kei(x)
keip(x)               x: ker(x) - ans / x

# Struve's functions (DLMF 11.4.27), and integrals of Bessel functions.
struve(v, x)
    x: struve(v - 1.0, x) - v / x * ans if abs(x) > 0.5 else _struve_near(struve, ans, v, x, -1.0)
modstruve(v, x)
    v: iv.slope(0, v, x) + _struve_scale(v, x) * (
            (log(0.5 * x) - digamma(v + 0.5)) * _struve_moment(0, 0, v, x) +
            _struve_moment(0, 1, v, x))
        if x > 1.0 and abs(v) < 0.25 else modstruve.by("v", v, x)
    x: choose(_is_split(v, x, 0.25), lambda: iv.slope(1, v, x) + _struve_scale(v, x) * (
            v / x * _struve_moment(0, 0, v, x) - _struve_moment(1, 0, v, x)),
        lambda: modstruve(v - 1.0, x) - v / x * ans if abs(x) > 0.5 else
            _struve_near(modstruve, ans, v, x, 1.0))
# L - I does not grow (DLMF 11.5.4), and next to v = 0 nor does the derivative of I by v.
_struve_scale(v, x) = -2.0 * power(0.5 * x, v) * rgamma(v + 0.5) / ROOT_PI
_struve_moment(const n, const k, v, x)
    v: _struve_moment(n, k + 1, v, x)
    x: -_struve_moment(n + 1, k, v, x)
# By both neighbours (DLMF 11.4.23 to 11.4.30); the one below order 0 has no limits at 0.
_struve_near(f, ans, v, x, sign) =
    term + sign * f(v + 1.0, x) + v * (term if x == 0.0 else ans / x) if v == 0.0 else
    0.5 * (f(v - 1.0, x) + sign * f(v + 1.0, x) + term)
    where term = power(0.5 * x, v) * rgamma(v + 1.5) / ROOT_PI
# H0(x) / x for |x| < 1.
_struve_over(x) = 2.0 / math.pi * (1.0 - s / 9.0 * (1.0 - s / 25.0 * (1.0 - s / 49.0 * (1.0
    - s / 81.0 * (1.0 - s / 121.0 * (1.0 - s / 169.0 * (1.0 - s / 225.0)))))))
    where s = square(x)
_itj0y0_j(x)          x: j0(x)
_itj0y0_y(x)          x: y0(x)
_iti0k0_i(x)          x: i0(x)
_iti0k0_k(x)          x: k0(x)
# Next to 0 by Neumann's series, of 1 - J0 = 2 J2 + 2 J4 + ... (DLMF 10.12.4, and 10.35.5 for I).
_it2j0y0_j(x)         x: (1.0 - j0(x)) / x if abs(x) > 0.1 else
    0.5 * j1(x) + 0.75 * jv(3, x) + 5.0 / 12.0 * jv(5, x) + 7.0 / 24.0 * jv(7, x)
_it2j0y0_y(x)         x: -y0(x) / x
_it2i0k0_i(x)         x: (i0(x) - 1.0) / x if abs(x) > 0.1 else
    0.5 * i1(x) - 0.75 * iv(3, x) + 5.0 / 12.0 * iv(5, x) - 7.0 / 24.0 * iv(7, x)
_it2i0k0_k(x)         x: -k0(x) / x
itstruve0(x)          x: struve(0, x)
it2struve0(x)         x: -struve(0, x) / x if abs(x) > 1.0 else -_struve_over(x)
itmodstruve0(x)       x: modstruve(0, x)
_itairy_ai(x)         x: _airy_ai(x)
_itairy_bi(x)         x: _airy_bi(x)
_itairy_ai_left(x)    x: _airy_ai(-x)
_itairy_bi_left(x)    x: _airy_bi(-x)
besselpoly(a, lmb, nu)

# The recurrences of DLMF 10.51, which have no pole at 0.
_spherical_jn(const n, z)  z: _neighbours(_spherical_jn, n, z, -1.0)
_spherical_yn(const n, z)  z: _neighbours(_spherical_yn, n, z, -1.0)
_spherical_in(const n, z)  z: _neighbours(_spherical_in, n, z, 1.0)
_spherical_kn(const n, z)  z: -_neighbours(_spherical_kn, n, z, 1.0)
_spherical_jn_d(const n, z)  z: _neighbours(_spherical_jn_d, n, z, -1.0)
_spherical_yn_d(const n, z)  z: _neighbours(_spherical_yn_d, n, z, -1.0)
_spherical_in_d(const n, z)  z: _neighbours(_spherical_in_d, n, z, 1.0)
_spherical_kn_d(const n, z)  z: -_neighbours(_spherical_kn_d, n, z, 1.0)
_neighbours(f, n, z, sign) = sign * f(1, z) if n == 0 else
    (n * f(_below(n), z) + sign * (n + 1) * f(n + 1, z)) / (2 * n + 1)

# n - 1, but 0 for n = 0, where it is multiplied by 0.
_below(n) = np.where(np.equal(n, 0), 0, np.subtract(n, 1))[()]

# --- orthogonal polynomials ----------------------------------------------------------------------

# By Jacobi's and Gegenbauer's of one degree less (DLMF 18.9.15 to 18.9.28): at the ends of the
# interval, too, no formula cancels.
eval_jacobi(const n, alpha, beta, x)
    x: _unless(n == 0, 0.5 * (n + alpha + beta + 1.0)) * _jacobi_below(n, alpha, beta, x)
_jacobi_below(n, alpha, beta, x) = eval_jacobi(_below(n), alpha + 1.0, beta + 1.0, x)
eval_sh_jacobi(const n, const p, const q, x)
    x: n * eval_sh_jacobi(_below(n), p + 2.0, q + 1.0, x)
eval_gegenbauer(const n, alpha, x)
    x: _unless(n == 0, 2.0 * alpha) * eval_gegenbauer(_below(n), alpha + 1.0, x)
eval_legendre(const n, x)  x: _legendre_slope(n, x)
eval_sh_legendre(const n, x)  x: 2.0 * _legendre_slope(n, 2.0 * x - 1.0)
_legendre_slope(n, x) =
    _unless(n == 0, 0.5 * (n + 1)) * eval_jacobi(_below(n), 1.0, 1.0, x)
eval_chebyt(const n, x)  x: n * eval_chebyu(_below(n), x)
eval_chebyu(const n, x)  x: _chebyu_slope(n, x)
eval_chebyc(const n, x)  x: n * eval_chebys(_below(n), x)
eval_chebys(const n, x)  x: 0.5 * _chebyu_slope(n, 0.5 * x)
eval_sh_chebyt(const n, x)  x: 2.0 * n * eval_sh_chebyu(_below(n), x)
eval_sh_chebyu(const n, x)  x: 2.0 * _chebyu_slope(n, 2.0 * x - 1.0)
_chebyu_slope(n, x) = _unless(n == 0, 2.0) * eval_gegenbauer(_below(n), 2.0, x)
# sin(nx/2) / (n sin(x/2)) is Chebyshev's polynomial of the second kind at cos(x/2) (DLMF 18.5.2).
_diric(x, const n)    x: -0.5 * sin(0.5 * x) * _chebyu_slope(n - 1, cos(0.5 * x)) / n
eval_hermite(const n, x)  x: 2.0 * n * eval_hermite(_below(n), x)
eval_hermitenorm(const n, x)  x: n * eval_hermitenorm(_below(n), x)
eval_laguerre(const n, x)  x: _unless(n == 0, -1.0) * eval_genlaguerre(_below(n), 1.0, x)
eval_genlaguerre(const n, alpha, x)
    x: _unless(n == 0, -1.0) * eval_genlaguerre(_below(n), alpha + 1.0, x)
lpmv(const m, const v, x)
    x: (v * x * ans - (v + m) * lpmv(m, v - 1, x)) / (square(x) - 1.0)

# --- integrals, hypergeometric and elliptic functions --------------------------------------------

# Where formulas in E and K of 1 - p do not cancel; at p = 0 they miss the limit.
_by_integrals(p) = (p > 3.0) | ((p > 0.0) & (p < 0.5))

exp1(z)               z: _inside(ans, -divide(exp(-z), z))
expi(x)               x: exp_over(1, x)
expn(const n, x)
    x: -ans * (1.0 + reciprocal(x)) if n == 0 else -expn(np.maximum(n - 1, 0), x)
spence(z)
    z: log(z) if z < TINY else log(z) / (1.0 - z) if z < 0.5 or z > 3.0 else
        -hyp2f1(1.0, 1.0, 2.0, _unless((z < 0.5) | (z > 3.0), 1.0 - z))
hyp0f1(v, z)          z: hyp0f1(v + 1.0, z) / v
hyp1f1(a, b, x)       x: a / b * hyp1f1(a + 1.0, b + 1.0, x)
# The last derivative of a polynomial may be 0 times infinity at 1, which is 0 but not by a and b.
hyp2f1(a, b, c, z)
    z: xlog1py(a * b / c, hyp2f1(a + 1.0, b + 1.0, c + 1.0, z))
        if a * b == 0.0 and z == 1.0 and c - a - b <= 1.0 else
        a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)
ellipk(m)
    m: 0.5 * (ellipe(m) / (1.0 - m) - ans) / m if _by_integrals(1.0 - m) else
        math.pi / 8.0 * hyp2f1(1.5, 1.5, 2.0, _unless(_by_integrals(1.0 - m), m))
ellipe(m)
    m: 0.5 * (ans - ellipk(m)) / m if _by_integrals(1.0 - m) else
        -math.pi / 8.0 * hyp2f1(0.5, 1.5, 2.0, _unless(_by_integrals(1.0 - m), m))
ellipkm1(p)
    p: 0.5 * (_ellipem1(p) / p - ans) / (p - 1.0) if _by_integrals(p) else
        -math.pi / 8.0 * hyp2f1(0.5, 0.5, 2.0, _unless(_by_integrals(p), 1.0 - p)) / p
# By integrals, since SciPy's values are to ten digits in places; for small a by a step of DLMF
# 13.3.10, without the pole of digamma.
hyperu(a, b, x)       x: -a * _tricomi(a + 1.0, b + 1.0, x)
    a: _tricomi_by_a(a, b, x) if _is_integral(a, b, x) else
        x * _tricomi_by_a(a + 1.0, b + 1.0, x) + (1.0 + a - b) * _tricomi_by_a(a + 1.0, b, x)
        + _tricomi(a + 1.0, b, x) if _is_integral(a + 1.0, b, x) else hyperu.by("a", a, b, x)
    b: _tricomi_by_b(a, b, x) if _is_integral(a + 1.0, b, x) else hyperu.by("b", a, b, x)
_is_integral(a, b, x) = (a >= 0.9) & (a <= 99.0) & (np.abs(b) <= 99.0) & (x > 0.0)
_tricomi(a, b, x) = rgamma(a) * _tricomi_integral(0, 0, a, b, x) if _is_integral(a, b, x) else
    hyperu(a, b, x)
_tricomi_by_a(a, b, x) = rgamma(a) * (
    _tricomi_integral(1, 0, a, b, x) - digamma(a) * _tricomi_integral(0, 0, a, b, x))
_tricomi_by_b(a, b, x) = rgamma(a) * _tricomi_integral(0, 1, a, b, x)
_tricomi_integral(const i, const j, a, b, x)
    a: _tricomi_integral(i + 1, j, a, b, x)
    b: _tricomi_integral(i, j + 1, a, b, x)
    x: -_tricomi_integral(i, j, a + 1.0, b + 1.0, x)
agm(a, b)
    a: _agm_slope(ans, a, b)
    b: _agm_slope(ans, b, a)
# Where one is 0 the formula has no limit; that is of the order of the root of their quotient.
_agm_slope(ans, a, b) = sqrt(divide(b, a)) if a == 0.0 or b == 0.0 else
    2.0 / (3.0 * math.pi) * (square(ans / a) * elliprd(0.0, square(b / a), 1.0))
zetac(x)
# The real part of f(x + iγ), where ∂f/∂σ is σ f″; and of iᵏ times the nth derivative.
voigt_profile(x, sigma, gamma)
    x: _voigt_slope(1, 0, x, sigma, gamma)
    sigma: sigma * _voigt_slope(2, 0, x, sigma, gamma)
    gamma: _voigt_slope(1, 1, x, sigma, gamma)
_voigt_slope(const n, const k, x, sigma, gamma)
    x: _voigt_slope(n + 1, k, x, sigma, gamma)
    sigma: sigma * _voigt_slope(n + 2, k, x, sigma, gamma)
    gamma: _voigt_slope(n + 1, k + 1, x, sigma, gamma)
_fresnel_s(z)         z: sin(0.5 * math.pi * square(z))
_fresnel_c(z)         z: cos(0.5 * math.pi * square(z))
# The integrals of exp(±it²) from x on, and with exp(∓i(x² + π/4)) / √π.
_modfresnelp_f_re(x)  x: -cos(square(x))
_modfresnelp_f_im(x)  x: -sin(square(x))
_modfresnelp_k_re(x)  x: 2.0 * x * _modfresnelp_k_im(x) - 1.0 / ROOT_2PI
_modfresnelp_k_im(x)  x: -2.0 * x * _modfresnelp_k_re(x) + 1.0 / ROOT_2PI
_modfresnelm_f_re(x)  x: -cos(square(x))
_modfresnelm_f_im(x)  x: sin(square(x))
_modfresnelm_k_re(x)  x: -2.0 * x * _modfresnelm_k_im(x) - 1.0 / ROOT_2PI
_modfresnelm_k_im(x)  x: 2.0 * x * _modfresnelm_k_re(x) - 1.0 / ROOT_2PI
_wofz_re(z)           z: -2.0 * z * ans
_wofz_im(z)           z: 2.0 / ROOT_PI * dawsn.slope(0, z)
_kelvin_be_re(x)      x: berp(x)
_kelvin_be_im(x)      x: beip(x)
_kelvin_ke_re(x)      x: kerp(x)
_kelvin_ke_im(x)      x: keip(x)
_kelvin_bep_re(x)     x: berp.slope(0, x)
_kelvin_bep_im(x)     x: beip.slope(0, x)
_kelvin_kep_re(x)     x: kerp.slope(0, x)
_kelvin_kep_im(x)     x: keip.slope(0, x)

# Spherical harmonics; the derivative by the polar angle has no cotangent in terms of the orders
# beside (DLMF 14.10).
_sph_harm_y_re(const n, const m, theta, phi)
    theta: cos(m * phi) * _polar_slope(n, m, theta)
    phi: -m * _sph_harm_y_im(n, m, theta, phi)
_sph_harm_y_im(const n, const m, theta, phi)
    theta: sin(m * phi) * _polar_slope(n, m, theta)
    phi: m * _sph_harm_y_re(n, m, theta, phi)
_polar_slope(n, m, theta) = 0.5 * (
    _root((n - m) * (n + m + 1.0)) * _sph_legendre(n, m + 1, theta)
    - _root((n + m) * (n - m + 1.0)) * _sph_legendre(n, m - 1, theta))
_root(x) = np.sqrt(np.maximum(x, 0.0))
_sph_legendre(const n, const m, theta)  theta: _polar_slope(n, m, theta)

_sici_si(x)           x: sinc(x / math.pi)
_sici_ci(x)           x: cos(x) / x
# Of complex numbers: sinh(z) / z and log(z) / (1 - z), whose derivatives do not cancel.
_sinh_over(z) = hyp0f1(1.5, 0.25 * square(_unless(abs(z) >= 1.0, z))) if abs(z) < 1.0 else
    sinh(w) / w
    where w = where(np.abs(held(z)) < 1.0, 1.0, z)
_log_over(z) = -hyp2f1(1.0, 1.0, 2.0, _unless(abs(1.0 - z) >= 0.5, 1.0 - z))
    if abs(1.0 - z) < 0.5 else log(w) / (1.0 - w)
    where w = where(np.abs(1.0 - held(z)) < 0.5, 2.0, z)
_shichi_shi(x)
    x: 0.5 * (exprel(x) + exprel(-x)) if abs(x) > 0.01 else
        1.0 + square(x) / 6.0 * (1.0 + square(x) / 20.0)
_shichi_chi(x)        x: cosh(x) / x
# By a as by x and b; at an end of the domain of b, where differences lose digits, by the relation
# 1 / Γ(z) = z / Γ(z + 1) of its terms.
wright_bessel(a, b, x)  x: wright_bessel(a, a + b, x)
    a: x * _wright_by_b(a, a + b, x)
    b: _wright_by_b(a, b, x)
_wright_by_b(a, b, x) = wright_bessel.by("b", a, b, x) if b >= 0.5 else
    wright_bessel(a, b + 1.0, x) + b * wright_bessel.by("b", a, b + 1.0, x)
    + a * x * wright_bessel.by("b", a, a + b + 1.0, x)
log_wright_bessel(a, b, x)
    x: exp(log_wright_bessel(a, a + b, x) - ans)
    a: x * exp(log_wright_bessel(a, a + b, x) - ans) * log_wright_bessel.by("b", a, a + b, x)
    b: log_wright_bessel.by("b", a, b, x)

# Carlson's integrals, of degree -½ or -3/2 (DLMF 19.18).
elliprf(x, y, z)
    x: -elliprd(y, z, x) / 6.0
    y: -elliprd(x, z, y) / 6.0
    z: -elliprd(x, y, z) / 6.0
elliprc(x, y)
    x: -0.25 * _carlson(1, 1.5, 0, 0, 1, x, 1.0, 1.0, y)
    y: -0.5 * _carlson(1, 0.5, 0, 0, 2, x, 1.0, 1.0, y)
elliprd(x, y, z)
    x: -0.75 * _carlson(1, 1.5, 0.5, 1.5, 0, x, y, z, 1.0)
    y: -0.75 * _carlson(1, 0.5, 1.5, 1.5, 0, x, y, z, 1.0)
    z: -2.25 * _carlson(1, 0.5, 0.5, 2.5, 0, x, y, z, 1.0)
elliprg(x, y, z)
    x: 0.125 * _carlson(2, 1.5, 0.5, 0.5, 0, x, y, z, 1.0)
    y: 0.125 * _carlson(2, 0.5, 1.5, 0.5, 0, x, y, z, 1.0)
    z: 0.125 * _carlson(2, 0.5, 0.5, 1.5, 0, x, y, z, 1.0)
elliprj(x, y, z, p)
    x: -0.75 * _carlson(1, 1.5, 0.5, 0.5, 1, x, y, z, p)
    y: -0.75 * _carlson(1, 0.5, 1.5, 0.5, 1, x, y, z, p)
    z: -0.75 * _carlson(1, 0.5, 0.5, 1.5, 1, x, y, z, p)
    p: -1.5 * _carlson(1, 0.5, 0.5, 0.5, 2, x, y, z, p)
_carlson(const n, const i, const j, const k, const m, x, y, z, p)
    x: -i * _carlson(n, i + 1, j, k, m, x, y, z, p)
    y: -j * _carlson(n, i, j + 1, k, m, x, y, z, p)
    z: -k * _carlson(n, i, j, k + 1, m, x, y, z, p)
    p: -m * _carlson(n, i, j, k, m + 1, x, y, z, p)

# Jacobi's elliptic functions and the amplitude.
_ellipj_sn(u, m)      u: _ellipj_cn(u, m) * _ellipj_dn(u, m)
_ellipj_cn(u, m)      u: -_ellipj_sn(u, m) * _ellipj_dn(u, m)
_ellipj_dn(u, m)      u: -m * _ellipj_sn(u, m) * _ellipj_cn(u, m)
_ellipj_ph(u, m)      u: _ellipj_dn(u, m)

# Parabolic cylinder functions (DLMF 12.2), and Mathieu's, whose x is in degrees (DLMF 28.2).
_pbdv_d(v, x)         x: _pbdv_dp(v, x)
_pbdv_dp(v, x)        x: (0.25 * square(x) - v - 0.5) * _pbdv_d(v, x)
_pbvv_v(v, x)         x: _pbvv_vp(v, x)
_pbvv_vp(v, x)        x: (0.25 * square(x) - v - 0.5) * _pbvv_v(v, x)
_pbwa_w(a, x)         x: _pbwa_wp(a, x)
_pbwa_wp(a, x)        x: (a - 0.25 * square(x)) * _pbwa_w(a, x)
mathieu_a(const m, q)
mathieu_b(const m, q)
_mathieu_cem_y(const m, q, x)  x: DEGREE * _mathieu_cem_yp(m, q, x)
_mathieu_cem_yp(const m, q, x)
    x: DEGREE * (2.0 * q * cosdg(2.0 * x) - mathieu_a(m, q)) * _mathieu_cem_y(m, q, x)
_mathieu_sem_y(const m, q, x)  x: DEGREE * _mathieu_sem_yp(m, q, x)
_mathieu_sem_yp(const m, q, x)
    x: DEGREE * (2.0 * q * cosdg(2.0 * x) - mathieu_b(m, q)) * _mathieu_sem_y(m, q, x)
# Spheroidal functions (DLMF 30.2 and 30.11). With u = x² - 1 or, of radial oblate ones, x² + 1,
# (u w')' = (λ - (cx)² ± m²/u) w, where c is imaginary for oblate angular ones.
pro_cv(const m, const n, c)
obl_cv(const m, const n, c)
_spheroidal(f, slope, m, n, c, x, u, factor) =
    ((factor + np.square(m) * (square(x) - u) / u) * f(m, n, c, x) - 2.0 * x * slope) / u

_ellip_harm(h2, k2, const n, const p, s, const signm, const signn)

# --- more distributions --------------------------------------------------------------------------

radian(d, m, s)       d: DEGREE
    m: DEGREE / 60.0
    s: DEGREE / 3600.0
tklmbda(x, lmbda)
    x: _tukey_density(_tukey_place(ans, x, lmbda), lmbda)
    lmbda: _tukey_slope(_tukey_place(ans, x, lmbda), lmbda)
_tukey_slope(p, lmbda) =
    (_boxcox_bend(1.0 - p, lmbda) - _boxcox_bend(p, lmbda)) * _tukey_density(p, lmbda)
# The solution, which SciPy takes for that of λ = 0 where |λ| < 1e-4, by a step of Newton's.
_tukey_place(p, x, lmbda) =
    p - _tukey_density(p, lmbda) * (boxcox(p, lmbda) - boxcox(1.0 - p, lmbda) - x)
    if 0.0 < np.abs(lmbda) < 1e-4 else p
_tukey_density(p, lmbda) =
    reciprocal(power(p, lmbda - 1.0) + power(1.0 - p, lmbda - 1.0)) if 0.0 < p < 1.0 else 0.0
_boxcox_bend(x, lmbda) = square(log(x)) * _exprel_slope(lmbda * log(x)) if x > 0.0 else 0.0
kolmogorov(y)         y: _kolmogp(y)
_kolmogp(x)
smirnov(const n, d)   d: _smirnovp(n, d)
smirnovi(const n, p)  p: reciprocal(_smirnovp(n, ans))
_smirnovp(const n, const d)
kolmogi(p)            p: reciprocal(_kolmogp(ans))
ellipkinc(phi, m)
    phi: reciprocal(sqrt(1.0 - m * square(sin(phi))))
    m: _ellipkinc_by_m(phi, m)
ellipeinc(phi, m)
    phi: sqrt(1.0 - m * square(sin(phi)))
    m: _ellipeinc_by_m(phi, m)
# By m Carlson's R_D, whose sum with whole half-turns goes as the complete integrals do
# (DLMF 19.25.5 and 19.25.9, after a step of integration by parts).
_half_turns(phi) = np.rint(phi / math.pi)
_first_by_m(phi, m) = s * square(s) / 6.0 * elliprd(square(cos(phi)), 1.0, 1.0 - m * square(s))
    + _whole_by_m(phi, _ellipk_slope, m)
    where s = sin(phi - math.pi * _half_turns(phi))
_second_by_m(phi, m) = s * square(s) / -6.0 * elliprd(square(cos(phi)), 1.0 - m * square(s), 1.0)
    + _whole_by_m(phi, _ellipe_slope, m)
    where s = sin(phi - math.pi * _half_turns(phi))
_whole_by_m(phi, slope, m) =
    0.0 if _half_turns(phi) == 0.0 else 2.0 * _half_turns(phi) * slope(m)
_ellipkinc_by_m(phi, m)
    phi: 0.5 * square(sin(phi)) * power(1.0 - m * square(sin(phi)), -1.5)
    m: over _elliptic_step(phi, m)
_ellipeinc_by_m(phi, m)
    phi: -0.5 * square(sin(phi)) * power(1.0 - m * square(sin(phi)), -0.5)
    m: over _elliptic_step(phi, m)
# To where the integrand is singular.
_elliptic_step(phi, m) =
    0.3 * (1.0 / (square(sin(phi)) + TINY) - m) if _half_turns(phi) == 0.0 else 0.3 * (1.0 - m)
_ellipk_slope(m) = ellipk.slope(0, m)
_ellipe_slope(m) = ellipe.slope(0, m)
wrightomega(z)        z: 1.0 - reciprocal(1.0 + ans) if ans > 1.0 else divide(ans, 1.0 + ans)
"""

# Rows that many functions have, and what differs in them. Mathieu's modified functions, whose x is
# in radians (DLMF 28.20), and spheroidal ones.
REPEATED = {
    """
_mathieu_mod{0}_y(const m, q, x)  x: _mathieu_mod{0}_yp(m, q, x)
_mathieu_mod{0}_yp(const m, q, x)
    x: (mathieu_{1}(m, q) - 2.0 * q * cosh(2.0 * x)) * _mathieu_mod{0}_y(m, q, x)
""": ("cem1 a", "cem2 a", "sem1 b", "sem2 b"),
    """
_{0}_{1}_s(const m, const n, c, x)  x: _{0}_{1}_sp(m, n, c, x)
_{0}_{1}_sp(const m, const n, c, x)
    x: _spheroidal(_{0}_{1}_s, ans, m, n, c, x, square(x) {2} 1.0,
        {0}_cv(m, n, c) {3} square(c * x))
""": (
        *("pro ang1 - -", "pro rad1 - -", "pro rad2 - -"),
        *("obl ang1 - +", "obl rad1 + -", "obl rad2 + -"),
    ),
}
TABLE += "".join(row.format(*each.split()) for row, of in REPEATED.items() for each in of)

# Functions that add up to 1 with those without their last letter, or with distribution functions.
COMPLEMENTS = """
gammaincc betaincc chdtrc gdtrc fdtrc pdtrc bdtrc nbdtrc _binom_sf _nbinom_sf _landau_sf
_skewnorm_sf
"""

# How far derivatives by differences look.
WIDTHS: dict[str, dict[str, str]] = {}
for _name, _parameters, _row in rows_of(_steps.STEPS + _distribution_ufuncs.STEPS):
    if isinstance(_row, str):
        globals()[_name] = formula(_parameters, _row)
    else:
        WIDTHS[_name] = _row

# SciPy's ufuncs of several results or of complex ones, behind how the table calls their parts.
SEVERAL = {
    name: results
    for results, names in {
        "ai aip bi bip": "airy airye",
        "sn cn dn ph": "ellipj",
        "s c": "fresnel",
        "re+im": "hankel1 hankel1e hankel2 hankel2e sph_harm_y wofz",
        "ai bi ai_left bi_left": "itairy",
        "i k": "it2i0k0 iti0k0",
        "j y": "it2j0y0 itj0y0",
        "be_re+be_im ke_re+ke_im bep_re+bep_im kep_re+kep_im": "kelvin",
        "y yp": "mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 "
        "mathieu_sem",
        "f_re+f_im k_re+k_im": "modfresnelm modfresnelp",
        "s sp": "obl_ang1 obl_rad1 obl_rad2 pro_ang1 pro_rad1 pro_rad2",
        "d dp": "pbdv",
        "v vp": "pbvv",
        "w wp": "pbwa",
        "shi chi": "shichi",
        "si ci": "sici",
    }.items()
    for name in names.split()
}


def _result_of(name: str, k: int | None, part: str) -> Function:
    """One of the results of a ufunc, or a part of it."""
    original = getattr(sp, name)

    def evaluate(*args: Any) -> Any:
        found = original(*args) if k is None else original(*args)[k]
        return getattr(found, part) if part else found

    return evaluate


def _spherical_values(name: str) -> Function:
    """A spherical Bessel function, or its derivative; SciPy reflects its ufuncs at 0."""
    original, derivative = getattr(sp, name.strip("_").removesuffix("_d")), name.endswith("_d")
    return lambda n, z: original(n, z, derivative)


def _several(name: str, groups: list[list[Function]]) -> Function:
    """The function of several results, some of which may be complex."""
    original = getattr(sp, name)

    def function(*args: Any) -> Any:
        if groups[0][1:] and any(isinstance(x, Complex) for x in args):
            return analytic(name, args)
        found = [
            make_complex(*(part(*args) for part in g)) if g[1:] else g[0](*args) for g in groups
        ]
        return tuple(found) if len(found) > 1 else found[0]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`, for each of its results."
    made = implements_all(original)(function)
    if isinstance(original, np.ufunc):
        UFUNCS[original] = made
    return made


# Values of what is no ufunc of SciPy's.
VALUES: dict[str, Function] = {
    "_carlson": lambda *args: _quadratures.carlson(*args),
    "_diric": lambda x, n: sp.diric(x, n),
    "_ellipeinc_by_m": lambda phi, m: globals()["_second_by_m"](phi, m),
    "_ellipkinc_by_m": lambda phi, m: globals()["_first_by_m"](phi, m),
    "_factorial": lambda n: sp.factorial(n),
    "_gamma_below": lambda a, x: _gamma_below_values(a, x),
    "_log1p_over": lambda y, lmbda: _log1p_over_values(y, lmbda),
    "_skewnorm_sf": lambda x, loc, scale, a: sp._ufuncs._skewnorm_cdf(-x, -loc, scale, -a),
    "_sph_legendre": lambda n, m, theta: np.where(
        np.abs(m) > n, 0.0, sp.sph_legendre_p(n, m, theta)[0]
    )[()],
    "_student_far_slope": lambda df, t: _student_far_values(df, t),
    "_student_middle": lambda df, t: np.sign(t) / 2 * sp.betainc(0.5, 0.5 * df, t / (df / t + t)),
    "_student_tail": lambda df, t: _student_tail_values(df, t),
    "_struve_moment": lambda *args: _quadratures.struve(*args),
    "_tricomi_integral": lambda *args: _quadratures.tricomi(*args),
    "_iv_even": lambda v, z: 0.5 * (sp.iv(v, z) + sp.iv(-v, z)),
    "_ive_even": lambda v, z: 0.5 * (sp.ive(v, z) + sp.ive(-v, z)),
    "_voigt_slope": lambda n, k, x, sigma, gamma: np.real(
        np.array([1, 1j, -1, -1j])[int(np.max(k)) % 4]
        * _analytic.faddeeva_values(n, x + 1j * gamma, sigma)
    ),
}
_RESULTS: dict[str, tuple[str, int | None, str]] = {}
for _name, _results in SEVERAL.items():
    for _k, _group in enumerate(_results.split()):
        _is_complex, _which = "+" in _group, _k if " " in _results else None
        for _called, _part in zip(_group.split("+"), ("real", "imag"), strict=False):
            _RESULTS[f"_{_name}_{_called}"] = _name, _which, _part if _is_complex else ""
_rows: dict[str, tuple[str, Any]] = {
    name: (parameters, row)
    for name, parameters, row in rows_of(TABLE + _distribution_ufuncs.TABLE)
}
for _name in COMPLEMENTS.split():
    _parameters, _row = _rows[_name[:-2] + "cdf" if _name.endswith("sf") else _name[:-1]]
    _rows[_name] = _parameters, {each: f"-({text})" for each, text in _row.items()}
for _name, (_parameters, _row) in _rows.items():
    if isinstance(_row, str):
        globals()[_name] = formula(_parameters, _row)
    elif _name in _RESULTS:
        _of = getattr(sp, _RESULTS[_name][0])
        globals()[_name] = _Elementwise(
            _name, _parameters, _result_of(*_RESULTS[_name]), _row, original=_of
        )
    elif _name in VALUES:
        globals()[_name] = _Elementwise(_name, _parameters, VALUES[_name], _row)
    elif _name.startswith("_spherical"):
        globals()[_name] = _Elementwise(_name, _parameters, _spherical_values(_name), _row)
    elif has_ufunc(_name):
        globals()[_name] = _ufunc(_name, _parameters, _row)
for _name, _results in SEVERAL.items():
    _groups = [[f"_{_name}_{part}" for part in each.split("+")] for each in _results.split()]
    globals()[_name] = _several(_name, [[globals()[part] for part in each] for each in _groups])
for _name, _parameters, _row in rows_of(_distribution_ufuncs.SOLUTIONS):
    if has_ufunc(_name):
        globals()[_name] = _solution(_name, _parameters, str(_row))
jn = UFUNCS[sp.jv]


def _gamma_below_values(a: Any, x: Any) -> Any:
    """The values, from the integral of `_tails` there."""
    found, a, x = np.broadcast_arrays(sp.gammainc(a, x), a, x)
    gamma_density, gamma_lower = vars(_families)["gamma_density"], vars(_tails)["gamma_lower"]
    is_far = (a > 1e5) & (x < a - 4.0 * np.sqrt(np.maximum(a, 0.0))) & (x > 0.0)
    if np.any(is_far):
        at, below = a[is_far], x[is_far]
        found = found.copy()
        found[is_far] = below * gamma_density(at, below) * gamma_lower(0, at, below)
    return found[()]


def _student_far_values(df: Any, t: Any) -> Any:
    """An integral from 0 to t, or from t to where nothing is left, by Gauss's quadrature."""
    density, slope = (vars(_families)[name] for name in ("student_density", "_student_slope"))
    df, t = np.broadcast_arrays(np.asarray(df, float), np.clip(t, -1e100, 1e100))
    size, outwards = np.abs(t), np.where(t < 0.0, -1.0, 1.0)
    far = np.minimum(12.0, 45.0 * (size / df + 1.0 / np.maximum(size, 1.5)))
    width = np.where(size < 1.5, -t, outwards * far)
    return _quadratures.between(lambda t: density(df, t) * slope(df, t), t + width, t)


def _student_tail_values(df: Any, t: Any) -> Any:
    """By whichever of two functions has the digits."""
    return choose(
        np.greater_equal(df, 1e3),
        lambda: sp.stdtr(df, -t),
        lambda: 0.5 * sp.betainc(0.5 * df, 0.5, df / (df + t * t)),
    )


# --- complex arguments ---------------------------------------------------------------------------


def analytic(name: str, args: tuple[Any, ...]) -> Any:
    """A function where an argument is complex and carries a derivative."""
    if name not in ANALYTIC:
        raise binding.MissingRuleError(
            f"scipy.special.{_scipys_name(name)} of complex numbers with derivatives is not "
            "supported: it takes real numbers; cadiff.value(z) has no derivative"
        )
    return ANALYTIC[name](*args)


def _polygamma_of_complex(n: int, z: Any) -> Any:
    """The nth derivative of digamma."""
    return analytic("_polygamma_of_complex", (n, z))


def _faddeeva_slope(n: int, z: Any) -> Any:
    """The nth derivative of wofz."""
    return analytic("_faddeeva_slope", (n, z))


def _values_of(name: str) -> Function | None:
    """What computes a function of complex numbers, unless this version of SciPy lacks it."""
    if name == "_polygamma_of_complex":
        return _analytic.polygamma_values
    if name == "_faddeeva_slope":
        return lambda n, z: ROOT_PI * _analytic.faddeeva_values(n, z, 1.0 / ROOT2)
    if name == "lambertw":
        return lambda k, tol, z: sp.lambertw(z, k, tol)
    if name in _RESULTS:
        return _result_of(*_RESULTS[name])
    return scipys_ufunc(name) if has_ufunc(name) else None


ANALYTIC: dict[str, _analytic.Analytic] = {}
for _name, _parameters, _row in rows_of(_analytic.ANALYTIC):
    if isinstance(_row, str):
        globals()[_name] = formula(_parameters, _row)
        continue
    _computed = _values_of(_name)
    if _computed is None:
        continue
    (_text,) = _row.values()
    _partial = formula(f"ans, {_parameters}", _text)
    _each = ANALYTIC[_name] = _analytic.Analytic(_name, _computed, _partial, __name__)
    globals()[f"ANALYTIC_{_name}"] = _each.step
    if _name in _table.__all__:
        ELEMENTWISE[_name] = _each
    if isinstance(_computed, np.ufunc):
        implements_complex(_computed)(_each)


# --- functions with more to say ------------------------------------------------------------------


@implements(sp.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """As `scipy.special.multigammaln`; differentiable by a."""
    a = gathered(a)
    if not np.all(value(a) > 0.5 * (d - 1)):
        raise ValueError(f"condition a > 0.5 * (d - 1) not met: d = {d}")
    terms = (gammaln(a - 0.5 * j) for j in range(d))
    return functools.reduce(operator.add, terms, 0.25 * d * (d - 1) * np.log(np.pi))


def polygamma(n: Any, x: Any) -> Any:
    """As `scipy.special.polygamma`, in double precision; differentiable by x."""
    return _table.polygamma(n, in_precision(gathered(x), np.float64))


implements(sp.polygamma)(polygamma)  # which is `psi` to the last bit, of plain numbers as well


def _kernel(name: str, arguments: str, partials: dict[str, str]) -> Function:
    """The primitive of a ufunc of the core's that SciPy calls otherwise, or lacks."""
    ufunc = ufunc_of(name)
    return _Elementwise(f"_{name}", arguments, lambda *args: ufunc(*args), partials, ufunc)


_zeta = _kernel("zeta", "x, q", {"q": "-x * _zeta(x + 1.0, q)"})
# Riemann's goes on below 1; SciPy has its ufunc under a private name.
_riemann_zeta = _Elementwise(
    "_riemann_zeta", "x", lambda x: sp.zeta(x), {}, getattr(sp._ufuncs, "_riemann_zeta", None)
)


@implements(sp.zeta)
def zeta(x: Any, q: Any = None, out: None = None) -> Any:
    """As `scipy.special.zeta`; differentiable by q."""
    if out is not None:
        raise TypeError("zeta of numbers with derivatives takes no out=: assign the result")
    return _riemann_zeta(x) if q is None else _zeta(x, q)


_ellipem1 = _kernel(  # E of 1 - p
    "ellipem1",
    "p",
    {
        "p": "0.5 * (ans - ellipkm1(p)) / (p - 1.0) if _by_integrals(p) else "
        "math.pi / 8.0 * hyp2f1(0.5, 1.5, 2.0, _unless(_by_integrals(p), 1.0 - p))"
    },
)


def _spherical(name: str) -> None:
    """A spherical Bessel function of SciPy's, and its derivative."""
    original = getattr(sp, name)
    function, slope = globals()[f"_{name}"], globals()[f"_{name}_d"]

    @implements_all(original)
    def spherical(n: Any, z: Any, derivative: bool = False) -> Any:
        return (slope if derivative else function)(np.asarray(n, dtype=np.dtype("long"))[()], z)

    spherical.__doc__ = f"As `scipy.special.{name}`; differentiable by z."
    globals()[name] = spherical


for _name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
    _spherical(_name)


@implements_all(sp.lambertw)
def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """As `scipy.special.lambertw`; differentiable by z, and complex wherever that is."""
    z = gathered(z)
    return analytic("lambertw", (k, tol, z if isinstance(z, Complex) else z + 0j))


# --- functions that SciPy writes in Python -------------------------------------------------------


def _refused(name: str) -> Function:
    @functools.wraps(getattr(sp, name))
    def refuse(*_: Any, **__: Any) -> Any:
        raise missing(f"scipy.special.{name}", INSTEAD)

    return implements(plainly=getattr(sp, name))(refuse)


# Of one parameter equal to the other SciPy has formulas that lack a derivative.
for _name, _alias in {"roots_jacobi": "j_roots", "roots_sh_jacobi": "js_roots"}.items():
    globals()[_name] = globals()[_alias] = _refused(_name)

# These compute with ufuncs alone, of whatever numbers they are given.
for _name in ("ellip_harm", "h1vp", "h2vp", "ivp", "jvp", "kvp", "yvp"):
    globals()[_name] = implements_all(getattr(sp, _name))(getattr(sp, _name))


@implements_all(sp.assoc_laguerre)
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """As `scipy.special.assoc_laguerre`; differentiable by x and k."""
    return globals()["eval_genlaguerre"](n, k, x)


# Legendre's functions with their derivatives, up to the second, as further results.
MOST_ORDER = 2
LEGENDRE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "legendre_p": ("n, z", "z", {}),
    "assoc_legendre_p": ("n, m, z, branch_cut, norm", "z", {"branch_cut": 2, "norm": False}),
    "sph_legendre_p": ("n, m, theta", "theta", {}),
}


def _legendre(name: str, parameters: str, variable: str, options: dict[str, Any]) -> None:
    """A function whose results SciPy stacks, each the derivative of the one before it."""
    original = getattr(sp, name)
    names = parameters.split(", ")

    def kernel(k: int) -> Function:
        def evaluate(*args: Any) -> Any:
            given = dict(zip(options, args[len(names) - len(options) :], strict=True))
            return original(*args[: len(names) - len(options)], **given, diff_n=k)[k]

        following = {variable: f"_{name}_{k + 1}({parameters})"} if k < MOST_ORDER else {}
        stated = ", ".join(each if each in following else CONSTANT + each for each in names)
        return _Elementwise(f"_{name}_{k}", stated, evaluate, following)

    kernels = [kernel(k) for k in range(MOST_ORDER + 1)]
    globals().update({f"_{name}_{k}": each for k, each in enumerate(kernels)})

    def function(*args: Any, diff_n: int = 0, **given: Any) -> Any:
        every = (*args, *{**options, **given}.values())
        return stack([each(*every) for each in kernels[: diff_n + 1]])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`; differentiable by {variable} if diff_n < 2."
    globals()[name] = implements(original)(function)


for _name, _of in LEGENDRE.items():
    if hasattr(sp, _name):
        _legendre(_name, *_of)


def _legendre_all(name: str, counts: int) -> None:
    """All functions up to a degree and of all orders up to one, in axes of their own."""
    original, one = getattr(sp, f"{name}_all"), globals()[name]

    def function(*args: Any, **given: Any) -> Any:
        most, others = [*map(int, args[:counts])], args[counts:]
        orders = [np.arange(most[0] + 1), *(np.r_[: m + 1, -m:0] for m in most[1:])]
        inner = np.broadcast_shapes(*map(np.shape, others))
        at = [each.reshape(*each.shape, *[1] * len(inner)) for each in np.ix_(*orders)]
        return one(*at, *others, **given)

    function.__name__ = function.__qualname__ = f"{name}_all"
    function.__doc__ = f"As `scipy.special.{name}_all`; differentiable as `{name}` is."
    globals()[f"{name}_all"] = implements(original)(function)


for _name, _counts in {**dict.fromkeys(LEGENDRE, 2), "legendre_p": 1, "sph_harm_y": 2}.items():
    if hasattr(sp, f"{_name}_all"):
        _legendre_all(_name, _counts)


def _inexact(name: str, exact: bool) -> None:
    if exact:
        raise TypeError(
            f"{name} with exact=True is of whole numbers, which have no derivative: write "
            "exact=False, or give it cadiff.value of what carries one"
        )


def _counted(N: Any, k: Any, number: Any) -> Any:
    """A number of choices, which is 0 where there are none."""
    N, k = held(N), held(k)
    return where(
        np.less_equal(k, N) & np.greater_equal(N, 0) & np.greater_equal(k, 0), number, 0.0
    )


@implements(sp.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """As `scipy.special.comb` with exact=False; differentiable by N and k."""
    _inexact("comb", exact)
    N, k = as_number(N), as_number(k)
    if not repetition:
        return _counted(N, k, globals()["binom"](N, k))
    is_nothing = np.equal(held(k), 0) & np.greater_equal(held(N), 0)
    return where(is_nothing, 1.0, globals()["binom"](N + k - 1, k))


@implements(sp.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """As `scipy.special.perm` with exact=False; differentiable by N and k."""
    _inexact("perm", exact)
    N, k = as_number(N), as_number(k)
    return _counted(N, k, globals()["poch"](N - k + 1, k))


@implements(sp.factorial)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """As `scipy.special.factorial` with exact=False; differentiable by n, 0 below 0."""
    _inexact("factorial", exact)
    if extend != "zero":
        raise TypeError(
            "factorial of numbers with derivatives has extend='zero' alone: write gamma"
        )
    n = gathered(n)
    is_below = np.less(held(n), 0.0)
    return where(is_below, 0.0, globals()["_factorial"](where(is_below, 0.0, n)))


def _log1p_over_values(y: Any, lmbda: Any) -> Any:
    is_limit = np.equal(lmbda, 0.0)
    return np.where(is_limit, y, sp.log1p(lmbda * y) / np.where(is_limit, 1.0, lmbda))[()]


@implements(sp.diric)
def diric(x: Any, n: Any) -> Any:
    """As `scipy.special.diric`; differentiable by x."""
    return globals()["_diric"](x, n)


# --- sums of exponentials ------------------------------------------------------------------------
#
# Operands are an array and, if there are any, its weights, of one shape.


@primitive
def _logsumexp(axis: int, *operands: Any) -> Any:
    """The log of |Σ b exp(a)| along an axis."""
    return _found(axis, operands, 0)


@primitive
def _sum_sign(axis: int, *operands: Any) -> Any:
    """The sign of Σ b exp(a) along an axis."""
    return _found(axis, operands, 1)


@primitive
def _shares(axis: int, total: Any, *operands: Any) -> Any:
    """exp(a) / Σ b exp(a); where the logarithm of the sum is infinite, equal terms share it."""
    shape = operands[0].shape
    found = binding.run_loop(_share_loop(axis, total, *operands), [*operands], shape)
    return np.zeros(shape) if found is None else found  # there are no elements


def _found(axis: int, operands: Any, told: int) -> Any:
    shape = operands[0].shape[:axis] + operands[0].shape[axis + 1 :]
    found = binding.run_loop(_sum_loop(told, axis, *operands), [*operands], shape)
    if found is not None:
        return found
    return sp.logsumexp(operands[0], axis=axis, b=[*operands, None][1], return_sign=True)[told]


def _sum_loop(told: int, axis: int, *operands: Any) -> Any:
    if len(operands) == 1:
        return "logsumexp", told, ((axis,), ())
    return "logsumexp_weighted", told, ((axis,), (axis,), ())


def _share_loop(axis: int, total: Any, *operands: Any) -> Any:
    if len(operands) == 1:
        return "softmax", 1, ((axis,), (axis,))
    return "shares", 0, ((axis,), (axis,), (axis,))


def _of_lanes(operation: Any, which: Any, axis: int, *operands: Any) -> Any:
    """The same for many points."""
    n = len(operands[which[0] - 1])
    stacked = [
        x if k in which else np.broadcast_to(x, (n, *np.shape(x)))
        for k, x in enumerate(operands, 1)
    ]
    return operation.function(axis + 1, *stacked)


def _weights(total: Any, axis: int, *operands: Any) -> Any:
    shares = _shares(axis, held(total), *operands)
    return shares * operands[1] if operands[1:] else shares


def _flow(shares: Any, total: Any, axis: int) -> Any:
    """Shares as their derivatives see them: those of an infinite sum do not change."""
    return where(np.isinf(expand_dims(total, axis)), 0.0, shares)


def _sum_along(axis: int, x: Any, *operands: Any) -> Any:
    return sum_(x * operands[1] if operands[1:] else x, axis, keepdims=True)


def _shares_pull(ans: Any, axis: int, total: Any, *operands: Any) -> Any:
    def pull(g: Any) -> Any:
        mean = sum_(g * ans, axis, keepdims=True)
        mean = mean * operands[1] if operands[1:] else mean
        return _flow(ans, total, axis) * (g - mean)

    return pull


def _shares_pull_weights(ans: Any, axis: int, total: Any, *operands: Any) -> Any:
    return lambda g: -_flow(ans, total, axis) * sum_(g * ans, axis, keepdims=True)


for _operation, _first, _loop in (
    (_logsumexp, 1, functools.partial(_sum_loop, 0)),
    (_sum_sign, 1, functools.partial(_sum_loop, 1)),
    (_shares, 2, _share_loop),
):
    _operation.called = "logsumexp"
    _operation.loop = _loop
    _operation.loop_takes = slice(_first, None)
    _operation.over_lanes = functools.partial(_of_lanes, _operation)

_logsumexp.defvjp(
    lambda ans, axis, *ab: lambda g: expand_dims(g, axis) * _weights(ans, axis, *ab),
    lambda ans, axis, *ab: lambda g: expand_dims(g, axis) * _shares(axis, held(ans), *ab),
    argnums=(1, 2),
)
_logsumexp.defjvp(
    lambda g, ans, axis, *ab: sum_(g * _weights(ans, axis, *ab), axis),
    lambda g, ans, axis, *ab: sum_(g * _shares(axis, held(ans), *ab), axis),
    argnums=(1, 2),
)
_logsumexp.defpattern(lambda ans, axis, a, *b: over_axes(axis, a.ndim, False), argnums=(1, 2))
_sum_sign.defvjp(None, None, argnums=(1, 2))
_shares.defvjp(None, _shares_pull, _shares_pull_weights, argnums=(1, 2, 3))
_shares.defjvp(
    None,
    lambda g, ans, axis, total, *ab: (
        _flow(ans, total, axis) * (g - _sum_along(axis, ans * g, *ab))
    ),
    lambda g, ans, axis, total, *ab: -_flow(ans, total, axis) * sum_(ans * g, axis, keepdims=True),
    argnums=(1, 2, 3),
)
_shares.defpattern(
    None,
    lambda ans, axis, total, a, *b: over_axes(axis, a.ndim, True),
    lambda ans, axis, total, a, *b: over_axes(axis, a.ndim, True),
    argnums=(1, 2, 3),
)


@implements(sp.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """As `scipy.special.logsumexp`; differentiable by a and b, the sign is a plain number."""
    operands = [as_array(gathered(x)) for x in (a, b) if x is not None]
    shape = np.broadcast_shapes(*map(np.shape, operands)) or (1,)
    operands = [broadcast_to(x, shape) for x in operands]
    axes = reduced_axes(axis, len(shape))
    if len(axes) == 1:
        place, rows = axes[0], operands
    else:
        place, rows = 0, [joined_axes(x, axes) for x in operands]
    result = _logsumexp(place, *rows)
    signs = np.ones(np.shape(result)) if b is None else _sum_sign(place, *map(held, rows))
    if not return_sign and b is not None and 0 not in shape:
        result = where(signs < 0.0, math.nan, result)
    if keepdims:
        lengths = tuple(1 if k in axes else n for k, n in enumerate(shape))
        result, signs = reshape(result, lengths), reshape(signs, lengths)
    return (result, signs[()] if np.ndim(signs) == 0 else signs) if return_sign else result


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
