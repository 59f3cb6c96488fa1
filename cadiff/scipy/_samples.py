"""What `scipy.stats` has compiled, or searches for: densities, distributions, probabilities."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as st
from scipy.linalg import get_blas_funcs as blas_functions
from scipy.stats import _continuous_distns, _ksstats, _levy_stable, _multivariate, _stats
from scipy.stats import _distribution_infrastructure as infrastructure
from scipy.stats import _qmvnt as qmvnt

from .. import binding
from ..binding import carries
from ..numpy._common import Number, as_number
from ..operations.arrays import concatenate, opened, stack
from ..operations.arrays import sum as sum_
from ..operations.guards import NoDerivativeError, held, valued
from ..operations.primitives import primitive, stated
from ..operations.table import (
    cos,
    digamma,
    divide,
    entr,
    exp,
    log,
    log1p,
    power,
    sin,
    sqrt,
    square,
    where,
)
from . import _families, special
from ._differences import slope
from ._formulas import Tabulated, beside, choose, formulas_of, rows_of
from ._mirror import kernels, read_values
from .special import ive, log_ndtr, logsumexp, ndtr

# --- transformations of samples ------------------------------------------------------------------

kernels("scipy.stats._stats_py", "power_divergence", within=True)(
    beside("lambda_", -1.0, 0.0, 1.0)
)

# --- densities of kernels ------------------------------------------------------------------------


class ByType:
    """A function of Cython's for several types, one of which is chosen by an index."""

    def __init__(self, original: Any, function: Callable[..., Any]) -> None:
        self._original, self._function = original, function

    def __getitem__(self, kind: Any) -> Callable[..., Any]:
        def estimate(points: Any, values: Any, x: Any, factor: Any, *args: Any) -> Any:
            numbers = points, values, x, factor
            if not carries(numbers):
                return self._original[kind](*numbers, *args)
            constants = binding.plain_constants((numbers, {}))
            if constants is not None:
                return self._original[kind](*constants[0], *args)
            return self._function(*map(as_number, numbers))

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


def _estimate_log(points: Number, values: Number, x: Number, factor: Number) -> Number:
    exponents = _exponents(points, x, factor)
    columns = [
        logsumexp(exponents, axis=-1, b=values[:, k]) for k in range(binding.shape(values)[1])
    ]
    return stack(columns, axis=-1)


kernels("scipy.stats._stats", "gaussian_kernel_estimate")(
    ByType(
        _stats.gaussian_kernel_estimate,
        lambda points, values, x, factor: exp(_exponents(points, x, factor)) @ values,
    )
)
kernels("scipy.stats._stats", "gaussian_kernel_estimate_log")(
    ByType(_stats.gaussian_kernel_estimate_log, _estimate_log)
)


# --- densities of distributions ------------------------------------------------------------------


@kernels("scipy.stats._continuous_distns")
def _log_diff(log_p: Any, log_q: Any) -> Number:
    """The logarithm of a difference of probabilities."""
    return log_p + log1p(-exp(as_number(log_q) - log_p))


# From SciPy 1.16 on it is the base of ContinuousDistribution.
_KIND = "Univariate" if hasattr(infrastructure, "UnivariateDistribution") else "Continuous"


@kernels(infrastructure.__name__, f"{_KIND}Distribution._logcdf2_subtraction", within=True)
def _log_between(
    self: Any, original: Callable[..., Any], x: Any, y: Any, **parameters: Any
) -> Any:
    """The logarithm of the probability between x and y, which SciPy takes of complex numbers."""
    if not carries((x, y, parameters)) or np.any(held(x) > held(y)):
        return original(self, x, y, **parameters)
    (a, b), (c, d) = (
        [of(at, **parameters) for at in (x, y)]
        for of in (self._logcdf_dispatch, self._logccdf_dispatch)
    )
    value = original(
        self, *map(read_values, (x, y)), **{k: read_values(v) for k, v in parameters.items()}
    )
    is_left, is_right = held(b) < -1.0, held(c) < -1.0
    between = choose(
        is_right,
        lambda: _log_diff(c, d),
        lambda: choose(is_left, lambda: _log_diff(b, a), lambda: log1p(-exp(a) - exp(d))),
    )
    return valued(between, value)


@kernels("scipy.optimize._chandrupatla", within=True)
def _chandrupatla(
    original: Callable[..., Any], f: Any, a: Any, b: Any, *, args: Any = (), **how: Any
) -> Any:
    """A search for roots, by values; then two of Newton's steps, which have three derivatives."""
    named = how.pop("kwargs", None) or {}
    a, b, *plain = map(read_values, (a, b, *args))
    result = original(lambda x, *z: read_values(f(x, *z, **named)), a, b, args=(*plain,), **how)
    place = result.x
    for _ in range(2):
        rest = f(place, *args, **named)
        if not carries(rest):
            return result
        place = place - rest / slope(lambda x: f(x, *args, **named), place)
    result.x = valued(place, result.x)
    return result


@kernels(infrastructure.__name__, f"{_KIND}Distribution._mode_optimization", within=True)
def _mode(self: Any, original: Callable[..., Any], *xatol: Any, **parameters: Any) -> Any:
    if carries(parameters):
        raise NoDerivativeError(
            f"the mode of {type(self).__name__} is found by a search and has no derivative: take "
            "a minimum of -logpdf by cadiff.optimize"
        )
    return original(self, *xatol, **parameters)


@kernels("scipy.stats._multivariate")
def psi(x: Any, out: Any = None) -> Number:
    return digamma(x)


@kernels("scipy.stats._continuous_distns")
def _log_gauss_mass(a: Any, b: Any) -> Any:
    """The logarithm of a normal probability between two limits, which SciPy has as complex."""
    value = _continuous_distns._log_gauss_mass(read_values(a), read_values(b))
    if not carries((a, b)):
        return value
    a, b = as_number(a), as_number(b)

    def tail(a: Number, b: Number) -> Number:
        return _log_diff(log_ndtr(b), log_ndtr(a))

    def not_left() -> Number:
        return choose(held(a) > 0.0, lambda: tail(-b, -a), lambda: log1p(-ndtr(a) - ndtr(-b)))

    mass = choose(held(b) <= 0.0, lambda: tail(a, b), not_left)
    return valued(mass, value)


def _integrated(method: str, sign: float) -> None:
    """The integral of the density, where SciPy integrates a function in C."""

    def integral(self: Any, *args: Any) -> Any:
        value = getattr(getattr(st, self.name), method)(*map(read_values, args))
        return valued(sign * self._cdfvec(*args), value) if carries(args) else value

    names = " ".join(f"{owner}.{method}" for owner in ("genhyperbolic_gen", "geninvgauss_gen"))
    kernels("scipy.stats._continuous_distns", names)(integral)


_integrated("_cdf", 1.0)
_integrated("_sf", -1.0)


@kernels("scipy.stats._distn_infrastructure", "entr")
def _entropy_of(density: Any) -> Any:
    """As `entr`, but where a density underflows nothing moves."""
    is_none = np.abs(held(density)) <= 0.0
    return where(is_none, 0.0, entr(where(is_none, 1.0, density)))


@kernels("scipy.stats._distn_infrastructure", "rv_continuous._mom1_sc", within=True)
def _moment(self: Any, original: Callable[..., Any], m: Any, *shapes: Any) -> Any:
    """SciPy's, an integral of places; derivatives are those of the integral by the density.

    Without a formula, each place takes a search for where an integral has a value. At the end of
    a support that moves, a density's derivative may be singular; with a formula places are not.
    """
    is_by_cdf = type(self)._pdf.__qualname__ == "rv_continuous._pdf"
    moves = type(self)._get_support.__qualname__ != "rv_generic._get_support"
    has_formula = type(self)._ppf.__qualname__ != "rv_generic._ppf"
    if not carries(shapes) or is_by_cdf or (moves and has_formula):
        return original(self, m, *shapes)
    return valued(self._mom0_sc(m, *shapes), original(self, m, *map(read_values, shapes)))


@kernels(
    "scipy.stats._distn_infrastructure",
    " ".join(f"rv_continuous.{name}" for name in ("cdf", "sf", "logcdf", "logsf")),
    within=True,
)
def _from_within(
    self: Any, original: Callable[..., Any], x: Any, *args: Any, **kwargs: Any
) -> Any:
    """At an end of a support derivatives are those from within, where SciPy has a constant."""
    name, result = original.__name__, original(self, x, *args, **kwargs)
    parsed, loc, scale = self._parse_args(*args, **kwargs)
    if not carries((x, parsed, loc, scale)):
        return result
    z, *shapes = np.broadcast_arrays(divide(as_number(x) - loc, scale), *parsed)
    is_valid = np.asarray(self._argcheck(*map(held, shapes)), bool) & (held(scale) > 0.0)
    for sign, end in zip((1.0, -1.0), self._get_support(*shapes), strict=True):
        place, there = held(z), held(end)
        is_there = is_valid & (place <= there) & (place >= there) & np.isfinite(place)
        if not np.any(is_there):
            continue
        inwards = where(is_there, sign * (z - end), 0.0)
        if name == ("logcdf" if sign > 0.0 else "logsf"):
            near = log(inwards)
        else:
            near = _left_out(self, sign, end, inwards, shapes)
            if name.endswith("sf") == (sign > 0.0):
                near = log1p(-near) if name.startswith("log") else 1.0 - near
        result = where(is_there, valued(near, held(result)), result)
    return result


def _left_out(self: Any, sign: float, end: Any, inwards: Any, shapes: Any) -> Any:
    """The probability between an end and a place at it, by the density if it has derivatives.

    Quadrature is exact for derivatives up to the sixth.
    """

    def at(method: str, part: float) -> Any:
        places = [np.reshape(each, -1) for each in (end + sign * part * inwards, *shapes)]
        with np.errstate(all="ignore"):
            value = getattr(self, method)(*places)

        def plain() -> Any:  # of which a formula is 0 / 0
            return getattr(getattr(st, self.name, self), method[1:])(*map(read_values, places))

        return choose(np.isnan(held(value)), plain, lambda: value)

    names = {type(self).__name__, type(self)._pdf.__qualname__}
    try:
        if names & {"rv_continuous._pdf", "ncx2_gen", "ncf_gen"}:  # a difference, or always 0
            raise NoDerivativeError
        nodes = zip(*np.polynomial.legendre.leggauss(3), strict=True)
        density = sum(0.5 * w * at("_pdf", 0.5 + 0.5 * node) for node, w in nodes)
        rise, is_pole = np.reshape(inwards, -1), np.isinf(held(density))
        share = where(is_pole, sqrt(rise), rise * where(is_pole, 0.0, density))
    except NoDerivativeError:
        share = at("_cdf", 1.0) if sign > 0.0 else 1.0 - at("_cdf", 1.0)
    return np.reshape(share, np.shape(inwards))


@kernels("scipy.stats._distn_infrastructure", "rv_generic._nnlf", within=True)
def _negative_likelihood(self: Any, original: Callable[..., Any], x: Any, *shapes: Any) -> Any:
    """As SciPy has it, of an array that may be added to, as those of the other methods."""
    is_plain = isinstance(x, np.ndarray) and carries(shapes)
    return original(self, opened(np.array(x, float)) if is_plain else x, *shapes)


@kernels("scipy.stats._continuous_distns", "irwinhall_gen._cardbspl", within=True)
def _cardinal_spline(self: Any, original: Callable[..., Any], n: Any) -> Any:
    if carries(n) and binding.plain_constants(((n,), {})) is None:
        raise NoDerivativeError(
            "scipy.stats.irwinhall is of a whole number and has no derivative by 'n': write "
            "cadiff.value(n) if it is a constant"
        )
    return original(n)


@stated("vonmises.cdf")
def _von_mises(kappa: Any, x: Any) -> Any:
    """The distribution function on a circle, between -pi and pi around 0."""
    return _stats.von_mises_cdf(kappa, x)


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


_von_mises.defpartials(
    _von_mises_by_kappa,
    lambda ans, kappa, x: exp(kappa * (cos(x) - 1.0)) / (2.0 * math.pi * ive(0, kappa)),
)


@kernels("scipy.stats._stats")
def von_mises_cdf(kappa: Any, x: Any) -> Number:
    return _von_mises(as_number(kappa), as_number(x))


@kernels("scipy.stats._multivariate")
def get_blas_funcs(names: Any, arrays: Any = (), *args: Any) -> Any:
    """Those of BLAS; of numbers with derivatives, what solves triangular systems."""
    plain = blas_functions(names, [held(x) for x in arrays], *args)

    def call(alpha: float, a: Any, b: Any, **how: Any) -> Any:
        from .linalg import solve_triangular

        if not carries((a, b)):
            return plain(alpha, a, b, **how)
        return alpha * solve_triangular(a, b, lower=how.get("lower", False))

    return call


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
        setattr(cls, name, functools.partialmethod(_of_values, getattr(cls, name)))


def _of_values(self: Any, method: Callable[..., Any], *args: Any) -> Any:
    return method(self, *(read_values(x) if carries(x) else x for x in args))


kernels("scipy.stats._distn_infrastructure", "rv_discrete.__init_subclass__")(
    classmethod(_places_are_plain)
)


@kernels("scipy.stats._distn_infrastructure", "rv_generic.support")
def _support(self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Both ends, of which one at infinity does not move."""
    parsed, *others = self._parse_args(*args, **kwargs)
    *shapes, loc, scale = np.broadcast_arrays(*parsed, *others)
    is_valid = np.asarray(self._argcheck(*shapes), bool) & (held(scale) > 0)

    def moved(end: Any) -> Any:
        place = where(np.isinf(held(end)), held(end), end * scale + loc)
        return place if np.all(is_valid) else where(is_valid, place, self.badvalue)

    low, high = map(moved, self._get_support(*shapes))
    return low, high


# --- distributions of several numbers ------------------------------------------------------------


@kernels("scipy.stats._multivariate", "multivariate_normal_gen._process_parameters", within=True)
def _by_all_entries(
    self: Any, original: Callable[..., Any], mean: Any, cov: Any, *args: Any
) -> Any:
    """SciPy's, where derivatives by a matrix are those by all entries as independent ones.

    Objects of SciPy's are their matrices: they take plain numbers.
    """
    cov = cov.covariance if type(cov).__module__.startswith("scipy.") else cov
    if carries(cov) and binding.ndim(cov := as_number(cov)) == 2:
        cov = valued(0.5 * (cov + cov.T), cov)
    return original(self, mean, cov, *args)


@kernels("scipy.stats._multivariate", "_PSD.__init__", within=True)
def _inverted(self: Any, original: Callable[..., Any], M: Any, *args: Any, **kwargs: Any) -> None:
    """A factor U Uᵀ of the inverse of a matrix, and the logarithm of its determinant.

    SciPy's U has eigenvectors, which have no derivatives where eigenvalues are equal. With L Lᵀ
    that of Cholesky of Uᵀ M U, U L⁻ᵀ is another factor, and of the same value.
    """
    original(self, held(M), *args, **kwargs)
    if not carries(M) or self.rank < len(self.U):
        original(self, M, *args, **kwargs)
        return
    self._M = M = as_number(M)
    lower = np.tril(M) if kwargs.get("lower", True) else np.triu(M).T
    rest = np.linalg.cholesky(self.U.T @ (lower + np.tril(lower, -1).T) @ self.U)
    self.U = valued(self.U @ np.linalg.inv(rest).T, self.U)
    self.log_pdet = valued(self.log_pdet + 2.0 * sum_(np.log(np.diagonal(rest))), self.log_pdet)


@kernels("scipy.stats._multivariate")
def _dirichlet_check_input(alpha: Any, x: Any) -> Number:
    """All entries of x, which are independent in derivatives."""
    exponents = _multivariate._dirichlet_check_parameters(binding.plain_values(alpha))
    found = _multivariate._dirichlet_check_input(exponents, binding.plain_values(x))
    x, place = as_number(x), held(as_number(x))
    if len(found) > len(x):
        x, place = (concatenate([y, 1.0 - sum_(y, 0, keepdims=True)]) for y in (x, place))
    np.all(held(as_number(alpha)) > 0.0)  # a replay that finds other than this asks SciPy again
    np.all(place >= 0.0)
    np.all(abs(sum_(place, 0) - 1.0) <= 1e-9)
    return x


@kernels("scipy.stats._multivariate", "dirichlet_gen.pdf")
def _dirichlet_density(self: Any, x: Any, alpha: Any) -> Any:
    """As SciPy has it; at an entry of 0 the logarithm has no derivatives, but each factor has."""
    x, alpha = _dirichlet_check_input(alpha, x), as_number(alpha)

    def product() -> Any:
        scale = exp(self._logpdf(np.ones(np.shape(x)), alpha) / len(alpha))
        return np.prod(power(x.T, alpha - 1.0).T * scale, axis=0)

    is_at_face = np.any(held(x) == 0.0, axis=0)
    return choose(is_at_face, product, lambda: exp(self._logpdf(x, alpha)))


@primitive
def _both_greater(h: Any, k: Any, r: Any) -> Any:
    """The probability that x > h and y > k, of normal numbers with the correlation r."""
    if _of_more is None:
        return qmvnt._bvnu(float(h), float(k), float(r))
    return _of_more([h, k], [np.inf] * 2, [0.0] * 2, [[1.0, r], [r, 1.0]])[0]


def _both_greater_by_place(ans: Any, h: Number, k: Number, r: Number) -> Number:
    h, k = np.clip(h, -FAR, FAR), np.clip(k, -FAR, FAR)
    return -exp(-0.5 * square(h)) / ROOT_2PI * ndtr((r * h - k) / sqrt(1.0 - square(r)))


def _both_greater_by_correlation(ans: Any, h: Number, k: Number, r: Number) -> Number:
    """The density of both."""
    h, k, rest = np.clip(h, -FAR, FAR), np.clip(k, -FAR, FAR), 1.0 - square(r)
    squares = (square(h - r * k) + rest * square(k)) / rest
    return exp(-0.5 * squares) / (2.0 * math.pi * sqrt(rest))


# What SciPy has for two and more numbers before 1.16.
_of_more: Any = getattr(getattr(_multivariate, "_mvn", None), "mvnun", None)

FAR = 50.0  # where no density is left
ROOT_2PI = math.sqrt(2.0 * math.pi)

_both_greater.defpartials(
    _both_greater_by_place,
    lambda ans, h, k, r: _both_greater_by_place(ans, k, h, r),
    _both_greater_by_correlation,
)


@kernels("scipy.stats._qmvnt")
def _bvnu(h: Any, k: Any, r: Any) -> Number:
    return _both_greater(*map(as_number, (h, k, r)))


# Of three and more numbers the derivative by a limit is the density there times a probability of
# the others, given that one; and that by an element of the covariance one by two limits (Plackett,
# A reduction formula for normal multivariate integrals, Biometrika 41, 1954).


@stated("multivariate_normal.cdf")
def _in_box(low: Any, high: Any, cov: Any, *, estimate: Callable[..., Any]) -> Any:
    """The probability of normal numbers, of mean 0, to be between limits."""
    return float(estimate(cov, low, high))


def _probability(low: Number, high: Number, cov: Number) -> Number:
    """The same, of one or two numbers by a formula."""
    n = binding.shape(low)[0]
    if n > 2:
        return _in_box(low, high, cov, estimate=_by_many_points)
    widths = sqrt(np.diagonal(cov))
    low, high = (np.clip(x / widths, -FAR, FAR) for x in (low, high))
    if n == 1:
        return ndtr(high[0]) - ndtr(low[0])
    correlation = cov[0, 1] / (widths[0] * widths[1])
    return sum(sign * _both_greater(x[0], y[1], correlation) for sign, x, y in _signed(low, high))


def _signed(low: Number, high: Number) -> list[tuple[float, Number, Number]]:
    """All pairs of limits, and the sign with which corners of a box count."""
    ends = ((-1.0, low), (1.0, high))
    return [(a * b, x, y) for (a, x), (b, y) in itertools.product(ends, ends)]


def _by_many_points(cov: Any, low: Any, high: Any) -> float:
    """By those of a generator of its own, as a rule is a function."""
    how = {"rng": np.random.default_rng(1), "error": 1e-7, "limit": 10**6, "n_batches": 10}
    return float(qmvnt._qauto(qmvnt._qmvn, cov, low, high, **how)[0])


def _with_fixed(low: Number, high: Number, cov: Number, places: dict[int, Number]) -> Number:
    """The density of some numbers at their places, times the probability of the others."""
    if any(np.isinf(held(place)) for place in places.values()):
        return 0.0
    n, fixed, at = binding.shape(low)[0], list(places), stack(list(places.values()))
    rest = [k for k in range(n) if k not in places]
    among = cov[np.ix_(fixed, fixed)]
    to_rest = np.transpose(np.linalg.solve(among, cov[np.ix_(fixed, rest)]))
    squares = at @ np.linalg.solve(among, at) + np.linalg.slogdet(2.0 * math.pi * among)[1]
    if not rest:
        return exp(-0.5 * squares)
    mean, left = to_rest @ at, cov[np.ix_(rest, rest)] - to_rest @ cov[np.ix_(fixed, rest)]
    return exp(-0.5 * squares) * _probability(low[rest] - mean, high[rest] - mean, left)


def _by_limits(limit: str, low: Number, high: Number, cov: Number) -> Number:
    sign, places = (-1.0, low) if limit == "low" else (1.0, high)
    n = binding.shape(low)[0]
    return stack([sign * _with_fixed(low, high, cov, {i: places[i]}) for i in range(n)])


def _by_covariance(low: Number, high: Number, cov: Number) -> Number:
    """By each element; those of the diagonal follow, as all may be scaled together."""
    n = binding.shape(low)[0]
    slopes = [[0.0 * cov[0, 0]] * n for _ in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        slopes[i][j] = slopes[j][i] = 0.5 * sum(
            sign * _with_fixed(low, high, cov, {i: x[i], j: y[j]})
            for sign, x, y in _signed(low, high)
        )
    moved = sum(
        where(np.isinf(held(x)), 0.0, x) * _by_limits(name, low, high, cov)
        for name, x in (("low", low), ("high", high))
    )
    for i in range(n):
        mixed = sum(slopes[i][j] * cov[i, j] for j in range(n))
        slopes[i][i] = -(0.5 * moved[i] + mixed) / cov[i, i]
    return stack([stack(row) for row in slopes])


_SLOPES = (
    lambda *box: _by_limits("low", *box), lambda *box: _by_limits("high", *box), _by_covariance,
)  # fmt: skip
_in_box.defvjp(*(lambda ans, *box, of=of, estimate: lambda g: g * of(*box) for of in _SLOPES))
_in_box.defjvp(*(lambda g, ans, *box, of=of, estimate: sum_(g * of(*box)) for of in _SLOPES))


@kernels("scipy.stats._qmvnt", within=True)
def _qauto(original: Any, sample: Any, cov: Any, *args: Any, **how: Any) -> Any:
    """A probability of normal numbers: of two by a formula, of more by random points."""
    low, high, *others = args
    if len(cov) < 3 or not carries((cov, low, high)):
        return original(sample, cov, *args, **how)

    def estimate(*box: Any) -> Any:
        return qmvnt._qauto(qmvnt._qmvn, *box, *others, **how)[0]

    return (_in_box(*map(as_number, (low, high, cov)), estimate=estimate),)


@kernels("scipy.stats._mvn", varying=True)
def mvnun(low: Any, high: Any, mean: Any, cov: Any, *how: Any) -> Any:
    box = [as_number(x) for x in (low - mean, high - mean, cov)]

    def estimate(cov: Any, low: Any, high: Any) -> Any:
        return _of_more(low, high, np.zeros(len(low)), cov, *how)[0]

    return (_probability(*box) if len(cov) < 3 else _in_box(*box, estimate=estimate)), 0


@kernels("scipy.stats._qmvnt", within=True)
def _qmvt(original: Any, count: Any, *numbers: Any, **how: Any) -> Any:
    if carries(numbers):
        raise NoDerivativeError("a probability of Student's t of several variables is estimated")
    return original(count, *numbers, **how)


# --- distributions that SciPy integrates or counts ----------------------------------------------

# Rows as in `special`. Kolmogorov's statistic has a density of pieces that meet at multiples of
# 1/n, and that SciPy has by differences. Fisher's probabilities are those of a family that is
# exponential in the logarithm of the odds.
ROWS = """
_kolmogorov_density(x, const n)    x: over 0.25 / (n + 4.0)
_kolmogorov(x, const n)            x: _kolmogorov_density(x, n)
_kolmogorov_above(x, const n)      x: -_kolmogorov_density(x, n)
_kolmogorov_ppf(q, const n)        q: reciprocal(_kolmogorov_density(ans, n))
_kolmogorov_isf(q, const n)        q: -reciprocal(_kolmogorov_density(ans, n))
# The logarithm of x**(p-1) exp(-b (x + 1/x) / 2) / (2 K_p(b)), for x > 0.
_inverse_log_density(x, p, b) =
    (p - 1.0) * log(x) - 0.5 * b * divide(square(x - 1.0), x) - math.log(2.0) - log(kve(p, b))
# As the documentation of `scipy.stats.genhyperbolic` has the density, delta being 1.
_hyperbolic_density(x, p, a, b) = exp(_hyperbolic_log_density(x, p, a, b))
_hyperbolic_log_density(x, p, a, b) =
    p * log(t) - 0.5 * math.log(2.0 * math.pi) - (p - 0.5) * log(a) - log(kve(p, t)) + t
    + log(kve(p - 0.5, a * r)) - a * r + b * x + (p - 0.5) * log(r)
    where t = sqrt(square(a) - square(b))
    where r = sqrt(1.0 + square(x))
# The logarithm of a density, in another unit where its square, or that of its slope, underflows.
_log_of(p) = valued(log(p * 2.0**600), log(p)) if p > 0.0 and p < 1e-100 else log(p)
# The generalized normal distribution, of which SciPy's formulas do not move in the middle.
_general(x, beta)
    x: 0.5 * beta / gamma(1.0 / beta) * exp(-power(absolute(x), beta))
    beta: _general_by_beta(x, beta)
_general_by_beta(x, beta)
    x: _general.slope(0, x, beta) * (1.0 / beta + digamma(1.0 / beta) / square(beta)
        - xlogy(power(absolute(x), beta), absolute(x)))
    beta: over 0.15 * beta above 0
_general_ppf(q, beta)
    q: reciprocal(_general.slope(0, ans, beta))
    beta: -_general.slope(1, ans, beta) / _general.slope(0, ans, beta)
_general_shift(x, beta) = 0.0 * x * beta if x == 0.0 else
    0.5 * sign(x) * (gamma_density(1.0 / beta, y) * y * log(absolute(x))
    - _gamma_by_shape(1.0 / beta, y) / square(beta))
    where y = power(absolute(x), beta)
_range_density(x, k, df)
    x: over 0.6 / (1.0 + 1.5 / x + 0.3 * x) above 0
    k: over 0.3 * k above 1
    df: over 0.2 * df above 0
_range(x, k, df)
    x: _range_density(x, k, df)
    k: over 0.3 * k above 1
    df: over 0.2 * df above 0
_fisher_mass(const k, const M, const n, const N, odds)
    odds: ans * (k - _fisher_mean(M, n, N, odds)) / odds
_fisher_mean(const M, const n, const N, odds)
    odds: _fisher_variance(M, n, N, odds) / odds
_fisher_variance(const M, const n, const N, odds)
    odds: over 0.2 * odds above 0
_wallenius_mass(const k, const M, const n, const N, odds)
    odds: over 0.6 * odds / (1.0 + 0.1 * np.abs(k - n * N / M)) above 0
_wallenius_mean _wallenius_variance(const M, const n, const N, odds)
    odds: over 0.6 * odds above 0
# Nolan's integrals, without what SciPy rounds them to where they are hard.
_stable_density(x, alpha, beta)
    x: over _stable_width(x, alpha, beta)
    alpha: math.nan if alpha == 1.0 and beta != 0.0 else
        _stable_density.by("alpha", x, alpha, beta)
    beta: over 0.2 between -1 and 1
_stable(x, alpha, beta)
    x: _stable_density(x, alpha, beta)
    alpha: math.nan if alpha == 1.0 and beta != 0.0 else _stable.by("alpha", x, alpha, beta)
    beta: over 0.2 between -1 and 1
"""
# Where they jump at alpha = 1 that is how far one may look.
_STABLE = "np.where(beta == 0.0, 0.1, 0.2 * np.abs(alpha - 1.0)) between 0 and 2"
WIDTHS = {name: {"alpha": _STABLE} for name in ("_stable_density", "_stable")}


def _stable_width(x: Any, alpha: Any, beta: Any) -> Any:
    middle = np.where(alpha == 1.0, 0.0, beta * np.tan(0.5 * np.pi * alpha))
    return 0.3 * (0.5 + np.abs(x - middle))


def _nolan(integral: Callable[..., float]) -> Callable[..., Any]:
    """The integral of arrays; nan where a search within it finds nothing."""

    def one(*args: float) -> float:
        try:
            return integral(*args, piecewise_x_tol_near_zeta=0.0, piecewise_alpha_tol_near_one=0.0)
        except ValueError:
            return math.nan

    return lambda *args: np.vectorize(one, otypes=[float])(*args)[()]


def _urn(name: str, original: Any) -> dict[str, Callable[..., Any]]:
    """Probabilities and moments of draws that depend on the odds."""
    return {
        f"_{name}_mass": lambda *args: original._pmf(*args),
        f"_{name}_mean": lambda *shapes: original._stats(*shapes, moments="m")[0],
        f"_{name}_variance": lambda *shapes: original._stats(*shapes, moments="v")[1],
    }


def _of_elements(function: Callable[..., Any], n: Any, x: Any, *which: bool) -> Any:
    """What a function gives that takes no arrays without elements."""
    shape = np.broadcast_shapes(np.shape(n), np.shape(x))
    return function(n, x, *which)[()] if 0 not in shape else np.zeros(shape)


VALUES: dict[str, Callable[..., Any]] = {
    "_kolmogorov_density": lambda x, n: _of_elements(_ksstats.kolmognp, n, x),
    "_kolmogorov": lambda x, n: _of_elements(_ksstats.kolmogn, n, x, True),
    "_kolmogorov_above": lambda x, n: _of_elements(_ksstats.kolmogn, n, x, False),
    "_kolmogorov_ppf": lambda q, n: _of_elements(_ksstats.kolmogni, n, q, True),
    "_kolmogorov_isf": lambda q, n: _of_elements(_ksstats.kolmogni, n, q, False),
    "_general": lambda x, beta: st.gennorm._cdf(x, beta),
    "_general_by_beta": lambda x, beta: globals()["_general_shift"](x, beta),
    "_general_ppf": lambda q, beta: st.gennorm._ppf(q, beta),
    "_range_density": lambda x, k, df: st.studentized_range._pdf(x, k, df),
    "_range": lambda x, k, df: st.studentized_range._cdf(x, k, df),
    **_urn("fisher", st.nchypergeom_fisher),
    **_urn("wallenius", st.nchypergeom_wallenius),
    "_stable_density": _nolan(_levy_stable._pdf_single_value_piecewise_Z1),
    "_stable": _nolan(_levy_stable._cdf_single_value_piecewise_Z1),
}
ROW: dict[str, Callable[..., Any]] = {}
_formula = formulas_of(globals(), _families, special)
for _name, _parameters, _row in rows_of(ROWS):
    if isinstance(_row, str):
        globals()[_name] = _formula(_parameters, _row)
        continue
    _how = _formula, None, WIDTHS.get(_name, {})
    ROW[_name] = Tabulated(_name, _parameters, VALUES[_name], _row, *_how)
globals().update(ROW)

kernels("scipy.stats._distn_infrastructure", "log")(globals()["_log_of"])

# The methods that rows are.
for _method, _name in {
    "_continuous_distns.kstwo_gen._pdf": "_kolmogorov_density",
    "_continuous_distns.kstwo_gen._cdf": "_kolmogorov",
    "_continuous_distns.kstwo_gen._sf": "_kolmogorov_above",
    "_continuous_distns.kstwo_gen._ppf": "_kolmogorov_ppf",
    "_continuous_distns.kstwo_gen._isf": "_kolmogorov_isf",
    "_continuous_distns.geninvgauss_gen._logpdf": "_inverse_log_density",
    "_continuous_distns.genhyperbolic_gen._pdf": "_hyperbolic_density",
    "_continuous_distns.genhyperbolic_gen._logpdf": "_hyperbolic_log_density",
    "_continuous_distns.gennorm_gen._cdf": "_general",
    "_continuous_distns.gennorm_gen._ppf": "_general_ppf",
    "_continuous_distns.studentized_range_gen._pdf": "_range_density",
    "_continuous_distns.studentized_range_gen._cdf": "_range",
    "_discrete_distns.nchypergeom_fisher_gen._pmf": "_fisher_mass",
    "_discrete_distns.nchypergeom_wallenius_gen._pmf": "_wallenius_mass",
}.items():
    _module, _, _place_of = _method.partition(".")
    kernels(f"scipy.stats.{_module}", _place_of)(
        lambda self, *args, name=_name: globals()[name](*map(as_number, args))
    )


@kernels("scipy.stats._discrete_distns", "_nchypergeom_gen._stats")
def _urn_moments(self: Any, *shapes: Any, moments: str = "mv") -> tuple[Any, Any, None, None]:
    kind = self.rvs_name.removeprefix("rvs_")
    mean, variance = (ROW[f"_{kind}_{moment}"](*shapes) for moment in ("mean", "variance"))
    return mean, variance, None, None


def _stable_method(name: str, row: Callable[..., Any]) -> None:
    def method(self: Any, *args: Any) -> Number:
        if st.levy_stable.parameterization != "S1":
            raise NoDerivativeError(
                "levy_stable has derivatives in the parameterization S1 alone: leave "
                "scipy.stats.levy_stable.parameterization as it is"
            )
        value = getattr(st.levy_stable, name)(*map(read_values, args))
        return valued(row(*map(as_number, args)), value)

    kernels("scipy.stats._levy_stable", f"levy_stable_gen.{name}")(method)


_stable_method("_pdf", ROW["_stable_density"])
_stable_method("_cdf", ROW["_stable"])


# --- slopes --------------------------------------------------------------------------------------


@kernels("scipy.stats._stats_mstats_common", "siegelslopes_pythran", varying=True)
def siegelslopes(y: Any, x: Any, method: str) -> Any:
    """The median of medians of slopes through one point each."""
    y, x = as_number(y), as_number(x)
    slopes = []
    for k in range(len(x)):
        others = np.flatnonzero(read_values(x) != read_values(x)[k])
        slopes.append(np.median((y[others] - y[k]) / (x[others] - x[k])))
    slope = np.median(stack(slopes))
    if method == "separate":
        return slope, np.median(stack([(y[k] - slopes[k] * x[k]) for k in range(len(x))]))
    return slope, np.median(y - slope * x)
