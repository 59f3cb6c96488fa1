"""What `scipy.stats` and `scipy.cluster` have compiled: densities of kernels, nearest codes.

All of it is arithmetic on arrays that are broadcast against each other, once it is known by plain
values which elements belong together.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as st
from scipy.cluster.hierarchy import _hierarchy
from scipy.cluster.vq import _vq
from scipy.linalg import get_blas_funcs as blas_functions
from scipy.stats import _ksstats, _stats, _stats_pythran

from .. import binding
from ..binding import carries
from ..numpy._common import Number, as_number
from ..operations.arrays import stack
from ..operations.arrays import sum as sum_
from ..operations.guards import NoDerivativeError, held
from ..operations.primitives import primitive, transposes
from ..operations.table import cos, divide, exp, log, log1p, sin, sqrt, square
from ._formulas import valued
from ._mirror import kernels, read_values
from .special import ive, kve, logsumexp, ndtr, refusal  # type: ignore[attr-defined]

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
    first, largest = below, float(np.max(held(kappa), initial=0.0))
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


# --- discrete distributions ----------------------------------------------------------------------


@kernels("scipy.stats._distn_infrastructure", within=True)
def argsreduce(original: Callable[..., Any], condition: Any, *args: Any) -> Any:
    """Elements where a condition holds, which may be the int that 1 & (x > 0.0) is of a number."""
    return original(np.asarray(condition), *args)


def _places_are_plain(cls: Any) -> None:
    """Have quantiles of a class be what they are, whole numbers, constant between jumps.

    SciPy begins sums at the median, and these do not depend on where they begin.
    """
    for name in ("_ppf", "_isf"):
        setattr(cls, name, _of_values(getattr(cls, name)))


def _of_values(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def places(self: Any, *args: Any) -> Any:
        return method(self, *(read_values(x) if carries(x) else x for x in args))

    return places


kernels("scipy.stats._distn_infrastructure", "rv_discrete.__init_subclass__")(
    classmethod(_places_are_plain)
)

# --- distributions of several numbers ------------------------------------------------------------


@primitive
def _both_greater(h: Any, k: Any, r: Any) -> Any:
    """The probability that x > h and y > k, of normal numbers with the correlation r."""
    return _stats_pythran._bvnu(float(h), float(k), float(r))


def _both_greater_by_place(h: Number, k: Number, r: Number) -> Number:
    h, k = np.clip(h, -FAR, FAR), np.clip(k, -FAR, FAR)
    return -exp(-0.5 * square(h)) / ROOT_2PI * ndtr((r * h - k) / sqrt(1.0 - square(r)))


def _both_greater_by_correlation(h: Number, k: Number, r: Number) -> Number:
    """The density of both."""
    h, k, rest = np.clip(h, -FAR, FAR), np.clip(k, -FAR, FAR), 1.0 - square(r)
    squares = (square(h - r * k) + rest * square(k)) / rest
    return exp(-0.5 * squares) / (2.0 * math.pi * sqrt(rest))


FAR = 50.0  # where no density is left
ROOT_2PI = math.sqrt(2.0 * math.pi)

_both_greater.defpartials(
    lambda ans, h, k, r: _both_greater_by_place(h, k, r),
    lambda ans, h, k, r: _both_greater_by_place(k, h, r),
    lambda ans, h, k, r: _both_greater_by_correlation(h, k, r),
)


@kernels("scipy.stats._stats_pythran")
def _bvnu(h: Any, k: Any, r: Any) -> Number:
    return _both_greater(*map(as_number, (h, k, r)))


@kernels("scipy.stats._qmvnt", within=True)
def _qauto(original: Callable[..., Any], sample: Any, cov: Any, *args: Any, **how: Any) -> Any:
    """A probability of normal numbers: of two by a formula, of more by random points."""
    if len(cov) > 2 and carries((cov, args)):
        found = binding.plain_constants(((cov, *args), {}))
        if found is None:
            raise NoDerivativeError(
                "a probability of three or more normal numbers together is computed by random "
                "points, and has no derivative: give it cadiff.value(v)"
            )
        cov, *args = found[0]
    return original(sample, cov, *args, **how)


# --- statistics of Kolmogorov and Smirnov --------------------------------------------------------


def _of_elements(function: Callable[..., Any], n: Any, x: Any, *which: bool) -> Any:
    """What a function gives that takes no arrays without elements."""
    shape = np.broadcast_shapes(np.shape(n), np.shape(x))
    return function(n, x, *which)[()] if 0 not in shape else np.zeros(shape)


@primitive
def _kolmogorov_density(x: Any, n: Any) -> Any:
    return _of_elements(_ksstats.kolmognp, n, x)


@primitive
def _kolmogorov(x: Any, n: Any, cdf: bool) -> Any:
    return _of_elements(_ksstats.kolmogn, n, x, cdf)


@primitive
def _kolmogorov_place(q: Any, n: Any, cdf: bool) -> Any:
    return _of_elements(_ksstats.kolmogni, n, q, cdf)


_kolmogorov_density.defpartials(refusal("kolmognp", "x"))
_kolmogorov.defpartials(
    lambda ans, x, n, cdf: _kolmogorov_density(x, n=n) * (1.0 if cdf else -1.0)
)
_kolmogorov_place.defpartials(
    lambda ans, q, n, cdf: (1.0 if cdf else -1.0) / _kolmogorov_density(ans, n=n)
)


@kernels("scipy.stats._ksstats")
def kolmogn(n: Any, x: Any, cdf: bool = True) -> Number:
    return _kolmogorov(as_number(x), n=held_count(n), cdf=cdf)


@kernels("scipy.stats._ksstats")
def kolmogni(n: Any, q: Any, cdf: bool = True) -> Number:
    return _kolmogorov_place(as_number(q), n=held_count(n), cdf=cdf)


@kernels("scipy.stats._ksstats")
def kolmognp(n: Any, x: Any) -> Number:
    return _kolmogorov_density(as_number(x), n=held_count(n))


def held_count(n: Any) -> Any:
    """A number of samples, by which there is no derivative."""
    if not carries(n):
        return n
    found = binding.plain_constants(((n,), {}))
    if found is None:
        refusal("kolmogn", "n")()
    return found[0][0]


# --- studentized ranges --------------------------------------------------------------------------


@primitive
def _range_density(x: Any, k: Any, df: Any) -> Any:
    return st.studentized_range._pdf(x, k, df)


@primitive
def _range(x: Any, k: Any, df: Any) -> Any:
    return st.studentized_range._cdf(x, k, df)


_range_density.defpartials(*(refusal("studentized_range.pdf", name) for name in ["x", "k", "df"]))
_range.defpartials(
    lambda ans, x, k, df: _range_density(x, k, df),
    *(refusal("studentized_range.cdf", name) for name in ("k", "df")),
)


@kernels("scipy.stats._continuous_distns", "studentized_range_gen._pdf")
def _studentized_pdf(self: Any, x: Any, k: Any, df: Any) -> Number:
    return _range_density(*map(as_number, (x, k, df)))


@kernels("scipy.stats._continuous_distns", "studentized_range_gen._cdf")
def _studentized_cdf(self: Any, x: Any, k: Any, df: Any) -> Number:
    return _range(*map(as_number, (x, k, df)))


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


@kernels(_vq.__name__)
def vq(obs: Any, book: Any) -> tuple[Any, Any]:
    """The nearest code of each observation, and its distance."""
    plain = [np.ascontiguousarray(read_values(as_number(x)), float) for x in (obs, book)]
    codes, distances = _vq.vq(*plain)
    if not (carries(obs) or carries(book)):
        return codes, distances
    return codes, np.linalg.norm(as_number(obs) - as_number(book)[codes], axis=-1)


@kernels(_vq.__name__)
def update_cluster_means(obs: Any, codes: Any, n: int) -> tuple[Any, Any]:
    """The means of observations by their codes, and which codes have any."""
    if not carries(obs):
        return _vq.update_cluster_means(obs, codes, n)  # type: ignore[no-any-return]
    counts = np.bincount(codes, minlength=n)
    members = codes == np.arange(n)[:, None]
    return (members * 1.0) @ as_number(obs) / np.maximum(counts, 1)[:, None], counts > 0


# --- hierarchies ---------------------------------------------------------------------------------

# By Lance and Williams, two merged clusters are a d(i, k) + b d(j, k) + c d(i, j) from another
# one; here a, b and c, by how many elements i, j and k have. Some methods are of squares.
MERGING: dict[str, Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]] = {
    "single": lambda i, j, k, closer: (closer, 1.0 - closer, 0.0),
    "complete": lambda i, j, k, closer: (1.0 - closer, closer, 0.0),
    "average": lambda i, j, k, _: (i / (i + j), j / (i + j), 0.0),
    "weighted": lambda i, j, k, _: (0.5, 0.5, 0.0),
    "centroid": lambda i, j, k, _: (i / (i + j), j / (i + j), -i * j / (i + j) ** 2),
    "median": lambda i, j, k, _: (0.5, 0.5, -0.25),
    "ward": lambda i, j, k, _: ((i + k) / (i + j + k), (j + k) / (i + j + k), -k / (i + j + k)),
}
METHODS = ("single", "complete", "average", "centroid", "median", "ward", "weighted")
OF_SQUARES = ("centroid", "median", "ward")


class Merges:
    """How the clusters of a tree were merged, as a linear function of distances.

    Of that, `heights` answers the values, and `spread` the adjoint.
    """

    def __init__(self, y: Any, tree: Any, method: str) -> None:
        self.n = len(tree) + 1
        self.pairs = np.triu_indices(self.n, 1)
        self.steps: list[tuple[int, int, Any]] = []
        sizes = np.ones(2 * self.n - 1)
        sizes[self.n :] = tree[:, 3]
        d = self._distances(y)
        for m, (i, j) in enumerate(tree[:, :2].astype(int)):
            how = MERGING[method](sizes[i], sizes[j], sizes, (d[i] <= d[j]) * 1.0)
            self.steps.append((i, j, how))
            self._merge(d, m)

    def _distances(self, y: Any) -> Any:
        d = np.zeros((2 * self.n - 1,) * 2)
        d[self.pairs] = d.T[self.pairs] = y
        return d

    def _merge(self, d: Any, m: int) -> float:
        i, j, (a, b, c) = self.steps[m]
        height = float(d[i, j])
        d[self.n + m] = d[:, self.n + m] = a * d[i] + b * d[j] + c * height
        return height

    def heights(self, y: Any) -> Any:
        d = self._distances(y)
        return np.array([self._merge(d, m) for m in range(self.n - 1)])

    def spread(self, g: Any) -> Any:
        d = self._distances(0.0)
        for m in reversed(range(self.n - 1)):
            i, j, (a, b, c) = self.steps[m]
            row = d[self.n + m] + d[:, self.n + m]
            d[self.n + m] = d[:, self.n + m] = 0.0
            d[i] += a * row
            d[j] += b * row
            d[i, j] += g[m] + np.sum(c * row)
        return (d + d.T)[self.pairs]


@primitive
def merged(y: Any, *, merges: Merges) -> Any:
    """The heights at which clusters are merged."""
    return merges.heights(y)


@primitive
def divided(g: Any, *, merges: Merges) -> Any:
    """The adjoint of `merged`."""
    return merges.spread(g)


merged.called = divided.called = "linkage"
transposes(merged, divided)


def _linkage(name: str, y: Any, n: int, code: int | None = None) -> Any:
    """The tree of clusters, whose heights have derivatives; values decide what is merged."""
    plain = np.ascontiguousarray(read_values(y), float)
    tree = getattr(_hierarchy, name)(plain, n, *(() if code is None else (code,)))
    if not carries(y):
        return tree
    method = METHODS[code or 0]
    of_squares = method in OF_SQUARES
    merges = Merges(plain**2 if of_squares else plain, tree, method)
    heights = merged(square(y) if of_squares else as_number(y), merges=merges)
    heights = valued(sqrt(heights) if of_squares else heights, tree[:, 2])
    return stack([tree[:, 0], tree[:, 1], heights, tree[:, 3]], axis=1)


for _name in ("mst_single_linkage", "nn_chain", "fast_linkage"):
    kernels(_hierarchy.__name__, _name)(functools.partial(_linkage, _name))


@kernels(_hierarchy.__name__)
def cophenetic_distances(tree: Any, out: Any, n: int) -> None:
    """The height at which each pair comes together."""
    plain, places = np.array(read_values(tree), float), np.zeros(np.shape(out))
    plain[:, 2] = np.arange(n - 1.0)
    _hierarchy.cophenetic_distances(plain, places, n)
    out[...] = tree[:, 2][places.astype(np.intp)]
