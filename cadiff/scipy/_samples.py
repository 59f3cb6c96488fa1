"""What `scipy.stats` and `scipy.cluster` have compiled: densities of kernels, nearest codes.

All of it is arithmetic on arrays that are broadcast against each other, once it is known by plain
values which elements belong together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.cluster import _vq
from scipy.linalg import get_blas_funcs as blas_functions
from scipy.stats import _stats, _stats_pythran

from .. import binding
from ..binding import carries
from ..numpy._common import Number, as_number
from ..operations.arrays import stack
from ..operations.arrays import sum as sum_
from ..operations.guards import held
from ..operations.primitives import primitive
from ..operations.table import cos, divide, exp, log, log1p, sin, sqrt, square
from ._mirror import kernels, read_values
from .special import ive, kve, logsumexp  # type: ignore[attr-defined]

# --- densities of kernels ------------------------------------------------------------------------


class ByType:
    """A function of Cython's for several types, one of which is chosen by an index."""

    def __init__(self, original: Any, function: Callable[..., Any]) -> None:
        self._original, self._function = original, function

    def __getitem__(self, kind: Any) -> Callable[..., Any]:
        def estimate(points: Any, values: Any, x: Any, factor: Any, *args: Any) -> Any:
            given = points, values, x, factor
            if not carries(given):
                return self._original[kind](*given, *args)
            found = binding.plain_constants((given, {}))
            if found is not None:
                return self._original[kind](*found[0], *args)
            return self._function(*map(as_number, given))

        return estimate


def _exponents(points: Number, x: Number, factor: Number) -> Number:
    """Logarithms of Gaussian kernels, (points of x, kernels), of the covariance L Lᵀ."""
    from .linalg import solve_triangular

    there, here = (
        np.transpose(solve_triangular(factor, np.transpose(y), lower=True)) for y in (points, x)
    )
    squares = sum_(square(here[:, None, :] - there[None, :, :]), axis=-1)
    d = binding.shape(factor)[0]
    return -0.5 * squares - (0.5 * d * math.log(2.0 * math.pi) + sum_(log(np.diagonal(factor))))


def _estimate(points: Number, values: Number, x: Number, factor: Number) -> Number:
    return exp(_exponents(points, x, factor)) @ values


def _estimate_log(points: Number, values: Number, x: Number, factor: Number) -> Number:
    exponents = _exponents(points, x, factor)
    columns = [
        logsumexp(exponents, axis=-1, b=values[:, k]) for k in range(binding.shape(values)[1])
    ]
    return stack(columns, axis=-1)


kernels("scipy.stats._stats", "gaussian_kernel_estimate")(
    ByType(_stats.gaussian_kernel_estimate, _estimate)
)
kernels("scipy.stats._stats", "gaussian_kernel_estimate_log")(
    ByType(_stats.gaussian_kernel_estimate_log, _estimate_log)
)


# --- densities of distributions ------------------------------------------------------------------


@kernels("scipy.stats._stats")
def geninvgauss_logpdf(x: Any, p: Any, b: Any) -> Number:
    """The logarithm of x**(p-1) exp(-b (x + 1/x) / 2) / (2 K_p(b)), for x > 0."""
    return (
        (p - 1.0) * log(x) - 0.5 * b * divide(square(x - 1.0), x) - math.log(2.0) - log(kve(p, b))
    )


@kernels("scipy.stats._stats")
def genhyperbolic_logpdf(x: Any, p: Any, a: Any, b: Any) -> Number:
    """As the documentation of `scipy.stats.genhyperbolic` has the density, delta being 1."""
    t = sqrt(square(a) - square(b))
    r = sqrt(1.0 + square(x))
    return (
        p * log(t) - 0.5 * math.log(2.0 * math.pi) - (p - 0.5) * log(a) - log(kve(p, t)) + t
        + log(kve(p - 0.5, a * r)) - a * r + b * x + (p - 0.5) * log(r)
    )  # fmt: skip


@kernels("scipy.stats._stats")
def genhyperbolic_pdf(x: Any, p: Any, a: Any, b: Any) -> Number:
    return exp(genhyperbolic_logpdf(x, p, a, b))


@kernels("scipy.stats._continuous_distns")
def _log_diff(log_p: Any, log_q: Any) -> Number:
    """The logarithm of a difference of probabilities."""
    return log_p + log1p(-exp(as_number(log_q) - log_p))


@kernels("scipy.stats._continuous_distns", "genhyperbolic_gen._cdf geninvgauss_gen._cdf")
def _integrated(self: Any, x: Any, *shapes: Any) -> Number:
    """The integral of the density, where SciPy integrates a function in C."""
    return self._cdfvec(x, *shapes)


@kernels("scipy.stats._continuous_distns", "genhyperbolic_gen._sf geninvgauss_gen._sf")
def _integrated_above(self: Any, x: Any, *shapes: Any) -> Number:
    return 1.0 - self._cdfvec(x, *shapes)


@primitive
def _von_mises(kappa: Any, x: Any) -> Any:
    """The distribution function on a circle, between -pi and pi around 0."""
    return _stats.von_mises_cdf(kappa, x)


def _von_mises_density(kappa: Number, x: Number) -> Number:
    return exp(kappa * (cos(x) - 1.0)) / (2.0 * math.pi * ive(0, kappa))


def _von_mises_by_kappa(ans: Any, kappa: Number, x: Number) -> Number:
    """Term by term, of x / 2 pi + sum of I_j(kappa) / I_0(kappa) sin(j x) / (pi j) over j > 0."""
    total: Number = 0.0
    below, here = ive(0, kappa), ive(1, kappa)
    slope_of_first = here / below
    first, largest = below, float(np.max(held(kappa)))
    for j in range(1, int(20.0 + 9.0 * math.sqrt(largest))):
        above = ive(j + 1, kappa)
        ratio = (0.5 * (below + above) - here * slope_of_first) / first
        total = total + ratio * sin(j * x) / (math.pi * j)
        below, here = here, above
    return total


_von_mises.called = "vonmises.cdf"
_von_mises.defpartials(_von_mises_by_kappa, lambda ans, kappa, x: _von_mises_density(kappa, x))


@kernels("scipy.stats._stats")
def von_mises_cdf(kappa: Any, x: Any) -> Number:
    return _von_mises(as_number(kappa), as_number(x))


@kernels("scipy.stats._multivariate")
def get_blas_funcs(names: Any, arrays: Any = (), *args: Any) -> Any:
    """Those of BLAS; of numbers with derivatives, what solves triangular systems."""
    return _solves_triangular if carries(list(arrays)) else blas_functions(names, arrays, *args)


def _solves_triangular(alpha: float, a: Any, b: Any, side: int = 0, lower: bool = False) -> Any:
    from .linalg import solve_triangular

    return alpha * solve_triangular(a, b, lower=lower)


# --- slopes --------------------------------------------------------------------------------------


@kernels("scipy.stats._stats_mstats_common", "siegelslopes_pythran")
def siegelslopes(y: Any, x: Any, method: str) -> Any:
    """The median of medians of slopes through one point each."""
    if not (carries(y) or carries(x)):
        return _stats_pythran.siegelslopes(y, x, method)
    y, x = as_number(y), as_number(x)
    slopes = []
    for k in range(len(x)):
        others = np.flatnonzero(read_values(x) != read_values(x)[k])
        slopes.append(np.median((y[others] - y[k]) / (x[others] - x[k])))
    slope = np.median(stack(slopes))
    if method == "separate":
        return slope, np.median(stack([(y[k] - slopes[k] * x[k]) for k in range(len(x))]))
    return slope, np.median(y - slope * x)


# --- codes ---------------------------------------------------------------------------------------


@kernels("scipy.cluster._vq")
def vq(obs: Any, book: Any) -> tuple[Any, Any]:
    """The nearest code of each observation, and its distance."""
    plain = [np.ascontiguousarray(read_values(as_number(x)), float) for x in (obs, book)]
    codes, distances = _vq.vq(*plain)
    if not (carries(obs) or carries(book)):
        return codes, distances
    return codes, np.linalg.norm(as_number(obs) - as_number(book)[codes], axis=-1)


@kernels("scipy.cluster._vq")
def update_cluster_means(obs: Any, codes: Any, n: int) -> tuple[Any, Any]:
    """The means of observations by their codes, and which codes have any."""
    if not carries(obs):
        return _vq.update_cluster_means(obs, codes, n)  # type: ignore[no-any-return]
    counts = np.bincount(codes, minlength=n)
    members = codes == np.arange(n)[:, None]
    return (members * 1.0) @ as_number(obs) / np.maximum(counts, 1)[:, None], counts > 0
