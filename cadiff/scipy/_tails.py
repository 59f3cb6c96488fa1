"""Logarithms of the incomplete gamma and beta functions, from one tail to the other.

Far out these functions underflow, and near 1 their logarithms lose all digits. In a tail the
density of a distribution divided by its probability, the hazard, is the reciprocal of an integral
whose integrand starts at 1 and falls off: it neither underflows nor cancels, and its derivatives
are integrals of the same kind. Where a probability is no tail it is SciPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from ..operations.table import divide, reciprocal
from ._families import (
    beta_log_density,
    erfcx_moment,
    gamma_log_density,
    kernel,
    student_log_density,
)
from ._formulas import Array, Kernel, either
from ._values import VALUES

stdtr = VALUES["stdtr"]

TAIL = -9.0  # below this logarithm of a probability its derivative is that of a tail
UNDERFLOW = 1e-280  # and below this probability its value, too

# Nodes and weights of double-exponential quadrature over (0, ∞) for integrands that fall off like
# an exponential: Takahasi and Mori (1974), Double exponential formulas for numerical integration.
_STEPS = np.arange(-3.9, 5.5, 0.0625)
NODES = np.exp(_STEPS - np.exp(-_STEPS))
WEIGHTS = 0.0625 * NODES * (1.0 + np.exp(-_STEPS))
BLOCK = 1000  # points at a time: a megabyte of nodes


def _integral(integrand: Kernel, width: Array, *args: Array) -> Array:
    """∫ integrand(s, *args) ds over s > 0, where it falls off within some widths."""
    widths, *rest = (np.ravel(x) for x in np.broadcast_arrays(width, *args))
    total = np.empty(widths.shape)
    for start in range(0, len(widths), BLOCK):
        part = slice(start, start + BLOCK)
        at = widths[part, np.newaxis] * NODES
        heights = integrand(at, *(x[part, np.newaxis] for x in rest))
        total[part] = widths[part] * (heights @ WEIGHTS)
    return total


@kernel(x="-gamma_upper(n + 1, a, x)")
def gamma_upper(n: int, a: Array, x: Array) -> Any:
    """∫ uⁿ (1+u)ᵃ exp(-xu) du over u > 0, for x ≥ 1 and x > a.

    For n = 0 it is Γ(a+1, x) exp(x) x**-(a+1) (DLMF 8.6.5).
    """
    width = 1.0 / ((x - a) + np.sqrt(np.abs(a)))
    return _integral(lambda u, a, x: u**n * np.exp(a * np.log1p(u) - x * u), width, a, x).reshape(
        a.shape
    )


@kernel(x="gamma_lower(n + 1, a, x)")
def gamma_lower(n: int, a: Array, x: Array) -> Any:
    """∫ uⁿ (1-u)**(a-1) exp(xu) du over 0 < u < 1, for x < a; by the variable -log(1-u).

    For n = 0 it is γ(a, x) exp(x) x**-a (DLMF 8.6.3).
    """

    def integrand(s: Array, a: Array, x: Array) -> Array:
        u = -np.expm1(-s)
        return np.asarray(u**n * np.exp(x * u - a * s))

    width = 1.0 / ((a - x) + np.sqrt(x))
    return _integral(integrand, width, a, x).reshape(a.shape)


@kernel(r="b * beta_lower(n + 1, a, b - 1.0, r)")
def beta_lower(n: int, a: Array, b: Array, r: Array) -> Any:
    """∫ uⁿ (1-u)**(a-1) (1+ru)**b du over 0 < u < 1, for br < a; by the variable -log(1-u).

    For n = 0 it is B(x; a, b+1) x**-a (1-x)**-b with r = x/(1-x), by t = x(1-u) in DLMF 8.17.1.
    """

    def integrand(s: Array, a: Array, b: Array, r: Array) -> Array:
        u = -np.expm1(-s)
        return np.asarray(u**n * np.exp(b * np.log1p(r * u) - a * s))

    curvature = np.sqrt(np.maximum(b, 0.0) * r * (1.0 + r))
    width = 1.0 / ((a - np.maximum(b, 0.0) * r) + curvature)
    return _integral(integrand, width, a, b, r).reshape(a.shape)


# --- hazards -------------------------------------------------------------------------------------


def _gamma_upper_hazard(a: Any, x: Any) -> Any:
    """The density at x divided by Γ(a, x) / Γ(a); the integral is taken by parts once."""
    return reciprocal(1.0 + (a - 1.0) * gamma_upper(0, a - 2.0, x))


def _gamma_lower_hazard(a: Any, x: Any) -> Any:
    return reciprocal(x * gamma_lower(0, a, x))


def _beta_lower_hazard(a: Any, b: Any, x: Any, y: Any) -> Any:
    """The density at x divided by the probability below x, where y is 1 - x."""
    return reciprocal(x * beta_lower(0, a, b - 1.0, divide(x, y)))


def _student_hazard(df: Any, t: Any) -> Any:
    """The density at t > 0 divided by the probability above: twice the tail is one of beta."""
    r = df / t / t
    return 2.0 * reciprocal(t * ((1.0 + r) * beta_lower(0, 0.5 * df, -0.5, r)))


def _normal_hazard(t: Any) -> Any:
    """The reciprocal of Mills' ratio."""
    return np.sqrt(2.0 / np.pi) * reciprocal(erfcx_moment(0, t * np.sqrt(0.5)))


# --- logarithms ----------------------------------------------------------------------------------


def _logarithm(p: Array, complement: Kernel, far: Kernel, *args: Array) -> Array:
    """Log p: by its complement where p is nearly 1, by far(*args) where it underflows."""

    def usual(p: Array, *args: Array) -> Array:
        return either(
            p > 0.5,
            lambda p, *args: np.log1p(-complement(*args)),
            lambda p, *_: np.log(p),
            p,
            *args,
        )

    return either(p < UNDERFLOW, lambda p, *args: far(*args), usual, p, *args)


def _is_beta_tail(v: Any, a: Any, b: Any, r: Any) -> Any:
    """For b < 1 the integrand has a pole, which has to keep away from its width."""
    return (v < TAIL) & ((b >= 1.0) | (r <= 1.0 + a))


# By their shapes there are no derivatives in closed form, and distributions refuse to give them.


@kernel(
    x="-(_gamma_upper_hazard(a, x) if ans < TAIL and x >= 1.0 else "
    "gamma_density(a, x) * exp(-ans))"
)
def log_gammaincc(a: Array, x: Array) -> Any:
    """The logarithm of Γ(a, x) / Γ(a)."""

    def far(a: Array, x: Array) -> Array:
        return np.asarray(gamma_log_density(a, x) - np.log(_gamma_upper_hazard(a, x)))

    return _logarithm(np.asarray(sp.gammaincc(a, x)), sp.gammainc, far, a, x)


@kernel(x="_gamma_lower_hazard(a, x) if ans < TAIL else gamma_density(a, x) * exp(-ans)")
def log_gammainc(a: Array, x: Array) -> Any:
    """The logarithm of γ(a, x) / Γ(a)."""

    def far(a: Array, x: Array) -> Array:
        return np.asarray(gamma_log_density(a + 1.0, x) + np.log(a * gamma_lower(0, a, x)))

    return _logarithm(np.asarray(sp.gammainc(a, x)), sp.gammaincc, far, a, x)


@kernel(
    x="_beta_lower_hazard(a, b, x, 1.0 - x) if _is_beta_tail(ans, a, b, divide(x, 1.0 - x)) "
    "else beta_density(a, b, x) * exp(-ans)"
)
def log_betainc(a: Array, b: Array, x: Array) -> Any:
    """The logarithm of the regularized incomplete beta function."""

    def far(a: Array, b: Array, x: Array) -> Array:
        hazard = _beta_lower_hazard(a, b, x, 1.0 - x)
        return np.asarray(beta_log_density(a, b, x) - np.log(hazard))

    return _logarithm(np.asarray(sp.betainc(a, b, x)), sp.betaincc, far, a, b, x)


@kernel(
    x="-(_beta_lower_hazard(b, a, 1.0 - x, x) if _is_beta_tail(ans, b, a, divide(1.0 - x, x)) "
    "else beta_density(a, b, x) * exp(-ans))"
)
def log_betaincc(a: Array, b: Array, x: Array) -> Any:
    """The logarithm of one less the regularized incomplete beta function."""

    def far(a: Array, b: Array, x: Array) -> Array:
        hazard = _beta_lower_hazard(b, a, 1.0 - x, x)
        return np.asarray(beta_log_density(a, b, x) - np.log(hazard))

    return _logarithm(np.asarray(sp.betaincc(a, b, x)), sp.betainc, far, a, b, x)


@kernel(
    t="(_normal_hazard(-t) if np.isinf(df) and t < 0.0 else _student_hazard(df, -t)) "
    "if ans < TAIL else student_density(df, t) * exp(-ans)"
)
def log_stdtr(df: Array, t: Array) -> Any:
    """The logarithm of the distribution function of Student's t."""

    def far(df: Array, t: Array) -> Array:
        logarithm = student_log_density(df, t) - np.log(_student_hazard(df, -t))
        return np.asarray(np.where(np.isinf(df), sp.log_ndtr(t), logarithm))

    p = np.asarray(stdtr(df, t))
    return _logarithm(p, lambda df, t: stdtr(df, -t), far, df, t)
