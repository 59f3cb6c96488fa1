"""The distributions of `scipy.stats`, differentiable by the variable and by the parameters.

`norm`, `gamma` and their like have the methods `pdf`, `logpdf` (`pmf`, `logpmf`), `cdf`, `logcdf`,
`sf`, `logsf` with SciPy's signatures, and everything else (`rvs`, `fit`, `ppf` ...) from SciPy,
which refuses numbers with derivatives unless it can compute with them.
Plain numbers get SciPy's own answer; of numbers with derivatives the logarithms of probabilities
are right beyond underflow and near 1, too. Derivatives at an end of the support are limits from
inside, and at infinity 0. Outside the support a density is 0 with derivative 0, and for
parameters outside their domain it is nan.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import cache, wraps
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.stats as st

from ..binding import carries, depends, holds_complex
from ..operations import table
from ..operations.arrays import gathered, in_precision
from ..operations.guards import NoDerivativeError, held, valued
from ..operations.primitives import primitive
from ..operations.table import divide, exp2, floor, log2, rint, where
from . import _families, special
from ._formulas import choose, formulas_of, real, rows_of
from ._mirror import Namespace, Twin, mirror_of, twin_of

formula = formulas_of(globals(), _families, special)
Function = Callable[..., Any]

INF = math.inf
LARGEST = sys.float_info.max
SMALLEST = math.ulp(0.0)
SMALL = 1e-30  # scales below are given in a unit of their size, so that derivatives stay in range
TAIL = 1e-4  # of smaller probabilities the logarithms go by the density
LOG2 = math.log(2.0)
LOG_PI = math.log(math.pi)
LOG_2PI = math.log(2.0 * math.pi)
LOG_ROOT_2PI = 0.5 * LOG_2PI

# What each function is below and above the support.
OUTSIDE = {
    "pdf": (0.0, 0.0),
    "logpdf": (-INF, -INF),
    "pmf": (0.0, 0.0),
    "logpmf": (-INF, -INF),
    "cdf": (0.0, 1.0),
    "logcdf": (-INF, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -INF),
}

QUANTILES = ("ppf", "isf")

# Where derivatives of a probability are those of a tail.
NEXT_TO: dict[str, Function] = {
    "cdf": lambda p: p == p,
    "sf": lambda p: p == p,
    "logcdf": lambda p: p > -1e-10,
    "logsf": lambda p: p > -1e-10,
}

LOGARITHMS = {"logpdf": "pdf", "logpmf": "pmf", "logcdf": "cdf", "logsf": "sf"}


def _fill(places: Any, fill: float, result: Any) -> Any:
    """The result, but the fill in places, which are bools."""
    return where(places, fill, result) if np.any(places) else result


def _are_within(places: Any, low: Any, high: Any) -> Any:
    """Whether all are between two bounds, as they are as a rule: one question, not one of each."""
    return np.all((places >= low) & (places <= high))


def _double(x: Any) -> Any:
    """An argument in double precision, as SciPy's distributions compute."""
    return float(x) if type(x) is int else real(in_precision(gathered(x), np.float64))


@primitive
def _by_density(value: Any, deviation: Any, scale: Any, *shapes: Any, of: str) -> Any:
    """A probability, the derivative of which is the density over the scale."""
    return np.broadcast_arrays(value, deviation, scale, *shapes)[0].copy()[()]


def _rate(deviation: Any, scale: Any, shapes: Sequence[Any], of: str) -> Any:
    """The derivative of a probability, or of the logarithm of one next to 1, by the deviation."""
    name, method = of.split()
    density = table.exp(globals()[name].logpdf(deviation, *shapes, scale=scale))
    return density if method.endswith("cdf") else -density


_by_density.defpartials(
    None,
    lambda ans, value, x, scale, *shapes, of: _rate(x, scale, shapes, of),
    lambda ans, value, x, scale, *shapes, of: -(x / scale) * _rate(x, scale, shapes, of),
)


@primitive
def _differentiable_but_by(result: Any, parameter: Any, why: str) -> Any:
    """The result, of which no derivative by the parameter may be asked for."""
    return result


def _has_no_derivative(*_: Any, why: str) -> Any:
    raise NoDerivativeError(why)


_differentiable_but_by.defvjp(lambda ans, x, p, why: lambda g: g, _has_no_derivative)
_differentiable_but_by.defjvp(lambda g, ans, x, p, why: g, _has_no_derivative)
_differentiable_but_by.over_lanes = lambda which, result, parameter, why: (
    result if 0 in which else np.stack([result] * len(parameter))
)
_differentiable_but_by.defpattern("...->...", argnums=0)


def _public(name: str, what: str) -> Function:
    """A method of distributions."""

    def method(self: Distribution, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._evaluate(name, x, args, kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, name, what
    return method


class Distribution:
    """A univariate distribution of SciPy's, with derivatives.

    Parameters
    ----------
    original : rv_continuous or rv_discrete
        SciPy's distribution; it names the shape parameters.
    ends : (low, high), or a function of the shape parameters
        Of the support of the standard distribution, both included. At infinity all functions are
        constants, so that such ends are the largest doubles.
    valid : formula of the shape parameters
        Whether they are in their domain; if it is left out they all have to be positive.
    fixed : names
        Shape parameters by which nothing has a derivative: whole numbers.
    is_even : bool
        Whether the standard distribution is the same on both sides of 0.

    Formulas of the standard distribution are in the table. What is missing there follows by
    symmetry, or is the exponential or the logarithm of another.
    """

    is_constant = True  # for solvers whose functions read it
    taken_beside = "loc, scale, each once"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """The distribution with its parameters fixed, as SciPy's `rv_frozen`."""
        return Frozen(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copy and pickle, before there is an original
            raise AttributeError(name)
        return getattr(mirrored_distribution(self.original), name)

    def __reduce__(self) -> str:
        return str(self.original.name)  # by which pickle finds it here

    def __init__(
        self,
        original: Any,
        ends: tuple[float, float] | Function = (-LARGEST, LARGEST),
        valid: str | None = None,
        fixed: Sequence[str] = (),
        is_even: bool = False,
    ) -> None:
        self.original = original
        self.ends = ends
        self.fixed = fixed
        self.is_even = is_even
        self.shapes = original.shapes.split(", ") if original.shapes else []
        positive = " and ".join(["True", *(f"{name} > 0.0" for name in self.shapes)])
        self.valid = formula(", ".join(self.shapes), valid or positive)
        self.formulas = FORMULAS[original.name]
        self.__doc__ = f"As `scipy.stats.{original.name}`."

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.original.name}>"

    cdf = _public("cdf", "The probability of a number of at most x.")
    logcdf = _public("logcdf", "The logarithm of `cdf`.")
    sf = _public("sf", "The probability of a number greater than x.")
    logsf = _public("logsf", "The logarithm of `sf`.")

    def _evaluate(self, name: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not (carries(x) or carries(args) or carries(kwargs)):
            return getattr(self.original, name)(x, *args, **kwargs)
        if holds_complex((x, args, kwargs)):
            raise TypeError(
                f"scipy.stats.{self.original.name}.{name} is a function of real numbers: give it "
                "z.real, z.imag or abs(z)"
            )
        shapes, loc, scale = self._parameters(name, args, kwargs)
        named = {"k": _double(x), "loc": loc, **dict(zip(self.shapes, shapes, strict=True))}
        constants = {p: named[p] for p in self._constants(name) if carries(named[p])}
        reasons = {
            p: f"scipy.stats.{self.original.name}.{name} has no derivative by {p!r} in closed "
            f"form: write cadiff.value({p}) if it is a constant"
            for p in constants
        }
        for p, number in constants.items():
            if not depends(number):
                raise NoDerivativeError(reasons[p])
            named[p] = held(number)  # it is fine as long as that derivative is not asked for
        x, loc, *shapes = named.values()
        result = self._located(name, x, shapes, loc, scale)
        for p, number in constants.items():
            result = _differentiable_but_by(result, number, why=reasons[p])
        return result

    def _constants(self, name: str) -> Sequence[str]:
        """The parameters by which a function has no derivative."""
        return () if name.endswith(("pdf", "pmf")) else self.fixed

    def _parameters(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], Any, Any]:
        """The shape parameters, location and scale of a call, as SciPy finds them."""
        try:
            shapes, loc, scale = self.original._parse_args(*args, **kwargs)
        except TypeError:
            missing = [shape for shape in self.shapes[len(args) :] if shape not in kwargs]
            taken = ", ".join(("x", *self.shapes, self.taken_beside))
            what = f"wants {', '.join(missing)} as well" if missing else f"takes {taken}"
            raise TypeError(f"scipy.stats.{self.original.name}.{name} {what}") from None
        return [_double(shape) for shape in shapes], _double(loc), _double(scale)

    def _located(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        raise NotImplementedError

    def _standard(self, name: str, z: Any, shapes: list[Any]) -> Any:
        """The function of the standard distribution inside its support, of numbers elsewhere."""
        low, high = self._ends(name, [held(shape) for shape in shapes])
        somewhere = np.minimum(0.5 * low + 0.5 * high, 1.0)  # where all derivatives are finite
        if not _are_within(held(z), low, high):
            z = _fill((held(z) < low) | (held(z) > high), somewhere, z)
        if self.is_even and name.endswith("sf"):
            name, z = name.replace("sf", "cdf"), -z
        if name in self.formulas:
            return self.formulas[name](z, *shapes)
        if name in LOGARITHMS:
            return table.log(self.formulas[LOGARITHMS[name]](z, *shapes))
        return table.exp(self.formulas["log" + name](z, *shapes))

    def _ends(self, name: str, shapes: list[Any]) -> tuple[Any, Any]:
        return self.ends(*shapes) if callable(self.ends) else self.ends

    def _masked(self, name: str, result: Any, z: Any, shapes: list[Any], scale: Any = 1.0) -> Any:
        """The result inside the support; nan, with all its derivatives, of wrong parameters."""
        place, plain = held(z), list(map(held, shapes))
        low, high = self._ends(name, plain)
        wrong = ~(np.greater(held(scale), 0.0) & self.valid(*plain))
        if not _are_within(place, low, high):
            below, above = OUTSIDE[name]
            result = _fill(place < low, below, result)
            result = _fill(place > high, above, result)
            wrong = wrong | np.isnan(place)
        parameters = [z, *shapes, scale]
        return choose(wrong, lambda: sum(math.nan * p for p in parameters), lambda: result)


class Continuous(Distribution):
    """A distribution with a density, a location and a scale."""

    pdf = _public("pdf", "The density at x.")
    logpdf = _public("logpdf", "The logarithm of `pdf`.")

    def _located(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        deviation, unit, width = x - loc, 1.0, held(scale)
        is_small = (width < SMALL) & (width > 0.0)
        if np.any(is_small):
            unit = where(is_small, exp2(-rint(log2(where(is_small, width, 1.0)))), 1.0)
            small, deviation, scale = (deviation, scale), deviation * unit, scale * unit  # exactly
        z = divide(deviation, scale)
        result = self._standard(name, z, shapes)
        if name == "pdf":
            result = self._scaled_density(result, z, shapes, scale, unit)
        elif name == "logpdf":
            result = result - valued(table.log(scale), table.log(width))
        elif np.any(is_small):
            result = self._of_small_scale(name, result, shapes, *small, is_small)
        return self._masked(name, result, z, shapes, scale)

    def _scaled_density(
        self, density: Any, z: Any, shapes: list[Any], scale: Any, unit: Any
    ) -> Any:
        """The density over the scale, which is given in a unit.

        Where both are tiny, derivatives go by logarithms.
        """
        result = divide(density, scale) * unit
        plain = held(result)
        is_faint = (held(density) < 1e-280) & (held(scale) < unit) & np.isfinite(plain)

        def by_logarithms() -> Any:
            logarithm = self._standard("logpdf", z, shapes) - table.log(scale) + table.log(unit)
            return valued(table.exp(logarithm), plain)

        return choose(is_faint, by_logarithms, lambda: result)

    def _of_small_scale(
        self, name: str, result: Any, shapes: list[Any], deviation: Any, scale: Any, is_small: Any
    ) -> Any:
        """A probability, the derivative of which is the density over the scale.

        This may be in range where the density, or derivatives of the quotient of deviation and
        scale, are not.
        """
        if carries(shapes):
            return result
        of = f"{self.original.name} {name}"
        return choose(
            is_small & NEXT_TO[name](held(result)),
            lambda: _by_density(result, deviation, scale, *shapes, of=of),
            lambda: result,
        )


class Unscaled(Continuous):
    """One whose formulas take the deviation x - loc and the scale, not their quotient.

    Where a tail is a whole power of the scale the derivatives by way of the quotient cancel.
    """

    def _located(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        deviation = x - loc
        spread = np.isinf(held(scale)) & name.endswith("pdf")  # so wide that no density is left
        result = self._standard(name, deviation, [_fill(spread, 1.0, scale), *shapes])
        result = _fill(spread, OUTSIDE[name][0], result)
        return self._masked(name, result, deviation, shapes, scale)


class Discrete(Distribution):
    """A distribution over whole numbers, differentiable by its parameters."""

    taken_beside = "loc, each once, and takes no scale"

    def pmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of k."""
        return self._evaluate("pmf", k, args, kwargs)

    def logpmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `pmf`."""
        return self._evaluate("logpmf", k, args, kwargs)

    def _constants(self, name: str) -> Sequence[str]:
        return ("k", "loc", *super()._constants(name))

    def _located(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        z = x - loc
        z = z if carries(z) else np.asarray(z, dtype=np.float64)
        whole = floor(z)
        result = self._standard(name, whole, shapes)
        if name.endswith("pmf"):
            result = _fill(whole != z, OUTSIDE[name][0], result)
        return self._masked(name, result, whole, shapes)

    def _ends(self, name: str, shapes: list[Any]) -> tuple[Any, Any]:
        """At the last of the numbers all probability is spent, whatever the parameters."""
        low, high = super()._ends(name, shapes)
        return low, high if name.endswith("pmf") else high - 0.5


class Frozen:
    """A distribution whose parameters are fixed; they may carry derivatives."""

    def __init__(self, distribution: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.distribution = distribution
        self.args = args
        self.kwargs = kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in QUANTILES or (name in OUTSIDE and hasattr(type(self.distribution), name)):
            method = getattr(self.distribution, name)
            return lambda x: method(x, *self.args, **self.kwargs)
        frozen = mirrored_distribution(self.distribution.original)(*self.args, **self.kwargs)
        return getattr(frozen, name)


# --- formulas of standard distributions ----------------------------------------------------------

TABLE = """
# Logarithms of distribution functions: near 1 by the complement; in a tail by the density, and the
# quotient of both, which neither underflows nor cancels.
_log_gammaincc(a, x) =
    gamma_log_density(a, x) + log(1.0 + (a - 1.0) * gamma_upper(0, a - 2.0, x))
    if p < TAIL and x >= 1.0 else log(p) if p < 0.5 else log1p(-gammainc(a, x))
    where p = gammaincc(a, x)
_log_gammainc(a, x) =
    gamma_log_density(a + 1.0, x) + log(a * gamma_lower(0, a, x)) if p < TAIL else
    log(p) if p < 0.5 else log1p(-gammaincc(a, x))
    where p = gammainc(a, x)
_log_betainc(a, b, x) =
    beta_log_density(a + 1.0, b, x) + log(a / (a + b) * beta_lower(0, a, b - 1.0, r))
    if _is_beta_tail(p, a, b, r) else log(p) if p < 0.5 else log1p(-betaincc(a, b, x))
    where p = betainc(a, b, x)
    where r = divide(x, 1.0 - x)
_log_betaincc(a, b, x) =
    beta_log_density(a, b + 1.0, x) + log(b / (a + b) * beta_lower(0, b, a - 1.0, r))
    if _is_beta_tail(p, b, a, r) else log(p) if p < 0.5 else log1p(-betainc(a, b, x))
    where p = betaincc(a, b, x)
    where r = divide(1.0 - x, x)
# For b < 1 the integrand has a pole, which has to keep away from its width.
_is_beta_tail(p, a, b, r) = (p < TAIL) & ((b >= 1.0) | (r <= 1.0 + a))
_log_stdtr(df, z) = log_ndtr(z) if np.isinf(df) else
    student_log_density(df, z) + log(-0.5 * z * (1.0 + r) * beta_lower(0, 0.5 * df, -0.5, r))
    if p < TAIL and (df < 200.0 or p < 1e-100) else log(p) if p < 0.5 else log1p(-stdtr(df, -z))
    where p = stdtr(df, z)
    where r = df / z / z

norm.logpdf(z) = -square(z) / 2.0 - LOG_ROOT_2PI
norm.cdf(z) = ndtr(z)
norm.logcdf(z) = log_ndtr(z)

t.logpdf(z, df) = student_log_density(df, z)
t.cdf(z, df) = stdtr(df, z)
t.logcdf(z, df) = _log_stdtr(df, z)

gamma.pdf(z, a) = gamma_density(a, z)
gamma.logpdf(z, a) = gamma_log_density(a, z)
gamma.cdf(z, a) = gammainc(a, z)
gamma.logcdf(z, a) = _log_gammainc(a, z)
gamma.sf(z, a) = gammaincc(a, z)
gamma.logsf(z, a) = _log_gammaincc(a, z)

chi2.pdf(z, df) = 0.5 * gamma_density(0.5 * df, 0.5 * z)
chi2.logpdf(z, df) = gamma_log_density(0.5 * df, 0.5 * z) - LOG2
chi2.cdf(z, df) = chdtr(df, z)
chi2.logcdf(z, df) = _log_gammainc(0.5 * df, 0.5 * z)
chi2.sf(z, df) = chdtrc(df, z)
chi2.logsf(z, df) = _log_gammaincc(0.5 * df, 0.5 * z)

beta.pdf(z, a, b) = beta_density(a, b, z)
beta.logpdf(z, a, b) = beta_log_density(a, b, z)
beta.cdf(z, a, b) = betainc(a, b, z)
beta.logcdf(z, a, b) = _log_betainc(a, b, z)
beta.sf(z, a, b) = betaincc(a, b, z)
beta.logsf(z, a, b) = _log_betaincc(a, b, z)

uniform.logpdf(z) = 0.0 * z
uniform.cdf(z) = z
uniform.sf(z) = 1.0 - z
uniform.logsf(z) = log1p(-z)

expon.logpdf(z) = -z
expon.cdf(z) = -expm1(-z)
expon.logcdf(z) = log(-expm1(-z)) if z < LOG2 else log1p(-exp(-z))
expon.logsf(z) = -z

# At 0 the two tails meet with one slope.
laplace.logpdf(z) = -absolute(z) - LOG2
laplace.cdf(z) = exp(_laplace_logcdf(z))
laplace.logcdf(z) = _laplace_logcdf(z)
_laplace_logcdf(z) = where(held(z) < 0.0, tail, log1p(-exp(tail)))
    where tail = where(held(z) < 0.0, z, -z) - LOG2

logistic.logpdf(z) =
    -2.0 * log(2.0 * cosh(0.5 * z)) if absolute(z) < 1.0 else log_expit(z) + log_expit(-z)
logistic.cdf(z) = expit(z)
logistic.logcdf(z) = log_expit(z)

lognorm.logpdf(z, s) = -square(log(z) / s) / 2.0 - log(s) - log(z) - LOG_ROOT_2PI
lognorm.cdf(z, s) = ndtr(log(z) / s)
lognorm.logcdf(z, s) = log_ndtr(log(z) / s)
lognorm.sf(z, s) = ndtr(-log(z) / s)
lognorm.logsf(z, s) = log_ndtr(-log(z) / s)

# In the tail the logarithm of arctan(-s/d) / π, split so that no square underflows.
cauchy.pdf(z, scale) = divide(divide(scale, hypot(z, scale)), hypot(z, scale)) / math.pi
cauchy.logpdf(z, scale) = log(scale) - 2.0 * log(hypot(z, scale)) - LOG_PI
cauchy.cdf(z, scale) = arctan2(scale, -z) / math.pi
cauchy.logcdf(z, scale) =
    log(hyp2f1(0.5, 1.0, 1.5, -square(scale / z))) + log_ratio(scale, -z) - LOG_PI
    if z < -scale else
    log1p(-arctan2(scale, z) / math.pi) if z > 0.0 else log(arctan2(scale, -z) / math.pi)

# The logarithm of 1 - exp(-y), y = zᶜ, which may underflow.
weibull_min.pdf(z, c) =
    c * power(z, c - 1.0) * exp(-power(z, c)) if z < 1.0 else exp(_weibull_logpdf(z, c))
weibull_min.logpdf(z, c) = _weibull_logpdf(z, c)
weibull_min.cdf(z, c) = -expm1(-power(z, c))
weibull_min.logcdf(z, c) = c * log(z) + log(exprel(-y)) if y < LOG2 else log1p(-exp(-y))
    where y = power(z, c)
weibull_min.logsf(z, c) = -power(z, c)
_weibull_logpdf(z, c) = log(c) + xlogy(c - 1.0, z) - power(z, c)

poisson.pmf(k, mu) = gamma_density(k + 1.0, mu)
poisson.logpmf(k, mu) = gamma_log_density(k + 1.0, mu)
poisson.cdf(k, mu) = pdtr(k, mu)
poisson.logcdf(k, mu) = -mu if k == 0.0 else _log_gammaincc(k + 1.0, mu)
poisson.sf(k, mu) = pdtrc(k, mu)
poisson.logsf(k, mu) = _log_gammainc(k + 1.0, mu)

# Where all or none fail the probability may be nearly certain, and its logarithm near 0; of all
# but none second derivatives cancel in what is nearly 1.
binom.pmf(k, n, p) = beta_density(k + 1.0, n - k + 1.0, p) / (n + 1.0)
binom.logpmf(k, n, p) =
    gammaln(n + 1.0) - (gammaln(k + 1.0) + gammaln(n - k + 1.0)) + xlogy(k, p)
    + xlog1py(n - k, -p) if k == 0.0 or k == n else
    beta_log_density(k + 1.0, n - k + 1.0, p) - log(n + 1.0)
binom.cdf(k, n, p) = betaincc(k + 1.0, n - k, p)
binom.logcdf(k, n, p) = xlog1py(n, -p) if k == 0.0 else _log_betaincc(k + 1.0, n - k, p)
binom.sf(k, n, p) = betainc(k + 1.0, n - k, p)
binom.logsf(k, n, p) = xlogy(n, p) if k == n - 1.0 else _log_betainc(k + 1.0, n - k, p)

bernoulli.pmf(k, p) = where(k == 1.0, p, 1.0 - p)
bernoulli.logpmf(k, p) = where(k == 1.0, log(p), log1p(-p))
bernoulli.cdf(k, p) = 1.0 - p
bernoulli.logcdf(k, p) = log1p(-p)
bernoulli.sf(k, p) = p
bernoulli.logsf(k, p) = log(p)
"""
FORMULAS: dict[str, dict[str, Function]] = {}  # by distributions and methods
for _name, _parameters, _row in rows_of(TABLE):
    _distribution, _, _method = _name.rpartition(".")
    _holder = FORMULAS.setdefault(_distribution, {}) if _distribution else globals()
    _holder[_method] = formula(_parameters, str(_row))

norm = Continuous(st.norm, is_even=True)
t = Continuous(st.t, is_even=True)
gamma = Continuous(st.gamma, ends=(0.0, LARGEST))
chi2 = Continuous(st.chi2, ends=(0.0, LARGEST))
beta = Continuous(st.beta, ends=(0.0, 1.0))
uniform = Continuous(st.uniform, ends=(0.0, 1.0))
expon = Continuous(st.expon, ends=(0.0, LARGEST))
laplace = Continuous(st.laplace, is_even=True)
logistic = Continuous(st.logistic, is_even=True)
lognorm = Continuous(st.lognorm, ends=(SMALLEST, LARGEST))  # at 0 all is the same as below
cauchy = Unscaled(st.cauchy, is_even=True)
weibull_min = Continuous(st.weibull_min, ends=(0.0, LARGEST))
poisson = Discrete(st.poisson, ends=(0.0, LARGEST), valid="mu >= 0.0")
binom = Discrete(
    st.binom,
    ends=lambda n, p: (0.0, n),
    valid="n >= 0.0 and np.floor(n) == n and 0.0 <= p <= 1.0",
    fixed=["n"],
)
bernoulli = Discrete(st.bernoulli, ends=(0.0, 1.0), valid="0.0 <= p <= 1.0")

# For `import cadiff.scipy.stats.norm as norm`, as programs written for autograd have it.
for _name in [name for name, found in globals().items() if isinstance(found, Distribution)]:
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
for _name in ("dirichlet", "multivariate_normal"):
    _module = sys.modules[f"{__name__}.{_name}"] = ModuleType(f"{__name__}.{_name}")
    vars(_module)["__getattr__"] = lambda name, of=_name: getattr(__getattr__(of), name)


_namespace = Namespace("scipy.stats", globals())
__all__ = _namespace.all


@cache
def mirrored_distribution(original: Any) -> Any:
    """A distribution of SciPy's as its own Python has it, over numbers with derivatives."""
    return twin_of(original)


@cache
def _of_objects(original: Function) -> Function:
    """A function of distributions that are objects, which are those of mirrors."""
    mirror = mirror_of(original)

    def own(thing: Any) -> Any:
        is_shown = isinstance(thing, (Distribution, Twin))
        return mirrored_distribution(thing.original).mirror if is_shown else thing

    @wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        return mirror(*map(own, args), **kwargs)

    function.__module__ = __name__  # where pickles find it
    return function


def __getattr__(name: str) -> Any:
    original = getattr(st, name, None)
    if isinstance(original, FunctionType) and original.__module__.endswith(
        "_distribution_infrastructure"
    ):
        return _of_objects(original)  # none of the module's own names, which formulas use
    if type(original).__module__.startswith("scipy.stats._"):
        mirrored = globals()[name] = mirrored_distribution(original)
        return mirrored
    return _namespace.get(name)


__dir__ = _namespace.names
