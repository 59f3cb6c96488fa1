"""`cadiff.scipy.stats`: values are SciPy's, derivatives agree with differences and each other."""

from __future__ import annotations

import copy
import importlib
import math
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import cadiff
import cadiff.numpy as cnp
from cadiff import Dual, Var
from cadiff.scipy import integrate, special, stats

from ..helpers.cases_scipy import VERSION
from ..helpers.cases_stats import CONTINUOUS, COUNTS, DISCRETE, FIXED, PLACES
from ..helpers.differences import check_slope, slope

INF = math.inf
DENSITIES = ["pdf", "logpdf"]
MASSES = ["pmf", "logpmf"]
PROBABILITIES = ["cdf", "logcdf", "sf", "logsf"]
LOC, SCALE = 0.4, 1.5

Arguments = tuple[float, ...]


def arguments(name: str) -> Iterator[Arguments]:
    """Where a distribution is tried, a discrete one without location and scale."""
    for shapes in (CONTINUOUS | DISCRETE)[name]:
        for z in COUNTS if name in DISCRETE else PLACES:
            yield (z, *shapes) if name in DISCRETE else (LOC + SCALE * z, *shapes, LOC, SCALE)


def parameters(name: str) -> list[str]:
    return getattr(stats, name).shapes


def differentiable(name: str, method: str, count: int) -> Iterator[int]:
    """The numbers of the arguments by which a method has a derivative."""
    names = ["k" if name in DISCRETE else "x", *parameters(name), "loc", "scale"][:count]
    fixed = FIXED.get(name, set()) if method in PROBABILITIES else set()
    fixed = fixed | ({"k", "n"} if name in DISCRETE else set())
    for i, argument in enumerate(names):
        if argument not in fixed:
            yield i


def primal(number: Any) -> Any:
    return cadiff.value(number.primal if isinstance(number, Dual) else number)


def check_value(name: str, method: str, args: Arguments) -> None:
    want = getattr(getattr(st, name), method)(*args)
    function = getattr(getattr(stats, name), method)
    assert function(*args) == want
    for i in differentiable(name, method, len(args)):
        for kind in (Var, lambda x: Dual(x, 1.0)):
            got = function(*args[:i], kind(args[i]), *args[i + 1 :])
            assert isinstance(got, (Var, Dual))
            # SciPy's generic logcdf is the logarithm of a rounded cdf
            absolute = 1e-15 if method in {"logcdf", "logsf"} else 0.0
            assert primal(got) == pytest.approx(want, rel=1e-13, abs=absolute, nan_ok=True)


def check_derivatives(name: str, method: str, args: Arguments) -> None:
    original = getattr(getattr(st, name), method)
    function = getattr(getattr(stats, name), method)
    with np.errstate(all="ignore"):
        finite = np.isfinite(original(*args))
    for i in differentiable(name, method, len(args)):
        forward = cadiff.derivative(function, i, args)
        assert cadiff.grad(function, i)(*args) == pytest.approx(forward, rel=1e-12)
        if finite:
            want = slope(lambda x, i=i: original(*args[:i], x, *args[i + 1 :]), args[i])
            assert forward == pytest.approx(want, rel=1e-7, abs=1e-8), (args, i)
            second = cadiff.derivative(function, i, args, order=2)

            def first(x: float, i: int = i) -> Any:
                return cadiff.derivative(function, i, (*args[:i], x, *args[i + 1 :]))

            want = slope(first, args[i])
            assert second == pytest.approx(want, rel=1e-7, abs=1e-8), (args, i)
        else:
            assert forward == 0.0


METHODS = [
    *((name, method) for name in CONTINUOUS for method in DENSITIES + PROBABILITIES),
    *((name, method) for name in DISCRETE for method in MASSES + PROBABILITIES),
]


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_methods(name: str, method: str) -> None:
    for args in arguments(name):
        check_value(name, method, args)
        check_derivatives(name, method, args)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("method", PROBABILITIES)
def test_parameters_without_a_derivative_are_refused(name: str, method: str) -> None:
    shapes = (CONTINUOUS | DISCRETE)[name][-1]
    for i, parameter in enumerate(parameters(name)):
        if parameter in FIXED[name]:
            args = [0.7, *shapes]
            args[1 + i] = Var(args[1 + i])
            with pytest.raises(TypeError, match=rf"{name}\.{method}.*'{parameter}'"):
                getattr(getattr(stats, name), method)(*args)
    with pytest.raises(TypeError, match="'k'"):
        stats.poisson.pmf(Var(1.0), 2.0)


# --- tails, edges and broadcasting ---------------------------------------------------------------


def test_tails() -> None:
    """Far out log Φ(x) is -x²/2 - log(-x) …, and its slope -x - 1/x …"""
    assert stats.norm.logcdf(Var(-40.0)).value == st.norm.logcdf(-40.0)
    assert cadiff.grad(stats.norm.logcdf)(-40.0) == pytest.approx(40.02496882, rel=1e-9)
    assert cadiff.grad(stats.norm.logcdf)(-1e8) == pytest.approx(1e8, rel=1e-15)
    assert cadiff.grad(stats.norm.logsf)(1e8) == pytest.approx(-1e8, rel=1e-15)
    assert cadiff.grad(cadiff.grad(stats.norm.logcdf))(-1e4) == pytest.approx(-1.0, rel=1e-7)
    assert cadiff.grad(stats.logistic.logcdf)(-800.0) == 1.0
    assert cadiff.grad(stats.laplace.logcdf)(-800.0) == 1.0
    assert cadiff.grad(stats.expon.logsf)(800.0) == -1.0


@pytest.mark.parametrize("name", CONTINUOUS)
def test_outside_the_support_nothing_changes(name: str) -> None:
    low, high = getattr(st, name).support(*CONTINUOUS[name][0])
    for x in [low - 1.0] * math.isfinite(low) + [high + 1.0] * math.isfinite(high):
        for shapes in CONTINUOUS[name]:
            pdf, logpdf = getattr(stats, name).pdf, getattr(stats, name).logpdf
            assert pdf(Var(x), *shapes).value == 0.0
            assert logpdf(Var(x), *shapes).value == -INF
            for f in (pdf, logpdf):
                gradient = cadiff.grad(f, tuple(range(1 + len(shapes))))(x, *shapes)
                assert list(gradient) == [0.0] * len(gradient)


def test_parameters_outside_their_domain_give_nan() -> None:
    assert math.isnan(stats.norm.logpdf(Var(1.0), 0.0, -1.0).value)
    assert math.isnan(stats.gamma.pdf(Var(1.0), -2.0).value)
    assert math.isnan(stats.poisson.pmf(3, Var(-2.0)).value)
    assert math.isnan(stats.norm.cdf(Var(math.nan)).value)


def test_broadcasting() -> None:
    x, loc = np.array([[0.3], [1.0], [-4.0]]), np.array([0.0, 1.0])

    def total(x: Any, loc: Any, scale: Any) -> Any:
        return np.sum(stats.norm.logpdf(x, loc, scale=scale))

    by_x, by_loc, by_scale = cadiff.grad(total, (0, 1, 2))(x, loc, 2.0)
    z = (x - loc) / 2.0
    np.testing.assert_allclose(by_x, (-z / 2.0).sum(1, keepdims=True), rtol=1e-14)
    np.testing.assert_allclose(by_loc, (z / 2.0).sum(0), rtol=1e-14)
    assert by_scale == pytest.approx(((z * z - 1.0) / 2.0).sum(), rel=1e-13)


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_lists_are_arrays(name: str, method: str) -> None:
    """Beside numbers with derivatives, and with such numbers in them."""
    if name in DISCRETE:
        x: list[Any] = [1, 3]
        *shapes, last = DISCRETE[name][0]
    else:
        x, shapes, last = [0.2, 0.9], list(CONTINUOUS[name][0]), 0.1
    want = getattr(getattr(st, name), method)(x, *shapes, last)
    for make in (Var, Dual):
        for parameter in (make(last), [make(last), last]):
            got = getattr(getattr(stats, name), method)(x, *shapes, parameter)
            assert isinstance(got, make)
            np.testing.assert_allclose(cadiff.value(got), want, rtol=1e-13)


def test_mixed_in_and_out_of_the_support() -> None:
    x = np.array([-1.0, 0.5, 2.0])
    value, gradient = cadiff.value_and_grad(lambda x: np.sum(stats.gamma.pdf(x, 2.5)))(x)
    assert value == pytest.approx(st.gamma.pdf(x, 2.5).sum())
    assert gradient[0] == 0.0
    np.testing.assert_allclose(gradient[1:], st.gamma.pdf(x[1:], 2.5) * (1.5 / x[1:] - 1.0))


# --- calls ---------------------------------------------------------------------------------------


def test_frozen_distributions() -> None:
    frozen = stats.norm(loc=1.0, scale=Var(2.0))
    assert frozen.logpdf(3.0).value == st.norm(1.0, 2.0).logpdf(3.0)
    assert stats.norm(loc=1.0, scale=2.0).mean() == 1.0
    assert stats.norm(1.0, 2.0).rvs(random_state=1) == st.norm(1.0, 2.0).rvs(random_state=1)
    assert cadiff.grad(lambda m: stats.norm(m, 2.0).logpdf(1.0))(-0.5) == 0.375
    assert cadiff.grad(lambda m: stats.poisson(m).logpmf(3))(2.0) == 0.5


X = np.array([0.3, 1.2])
PLACE = np.array([0.3, -0.4, 0.7])
PLANE = np.outer(PLACE, PLACE)
EQUAL = np.diag([2.0, 2.0, 3.0])
AROUND = np.array([[0.1, 0.3, 0.2], [-0.2, 0.2, 0.1], [0.4, 0.1, -0.3]])


def bell(x: Any) -> Any:
    return 1.0 / (1.0 + x * x)


Calls = dict[str, tuple[Callable[[Any, Any], Any], float]]  # of a module and a number; a place
MOMENTS: Calls = {
    "norm mean": (lambda m, x: m.norm(x).mean(), 1.7),
    "norm std": (lambda m, x: m.norm(x).std(), 1.7),
    "norm ppf": (lambda m, x: m.norm(x).ppf(0.3), 1.7),
    "norm entropy": (lambda m, x: m.norm(x).entropy(), 1.7),
    "gamma mean": (lambda m, x: m.gamma(x).mean(), 1.7),
    "gamma var": (lambda m, x: m.gamma(x).var(), 1.7),
    "gamma isf": (lambda m, x: m.gamma(x).isf(0.3), 1.7),
    "gamma entropy": (lambda m, x: m.gamma(x).entropy(), 1.7),
    "weibull median": (lambda m, x: m.weibull_min(x).median(), 1.7),
    "weibull interval": (lambda m, x: m.weibull_min(x).interval(0.5)[0], 1.7),
    "weibull moment": (lambda m, x: m.weibull_min(x).moment(3), 1.7),
    "expon rvs": (lambda m, x: m.expon(x).rvs(3, random_state=1).sum(), 1.7),
    "expon stats": (lambda m, x: m.expon(x).stats("s"), 1.7),
}
OF_ZERO: Calls = {  # shapes for which SciPy has formulas of their own
    "genpareto logpdf": (lambda m, k: m.genpareto.logpdf(0.4, k), 0.0),
    "genextreme logpdf": (lambda m, k: m.genextreme.logpdf(0.4, k), 0.0),
    "tukeylambda logpdf": (lambda m, k: m.tukeylambda.logpdf(0.4, k), 0.0),
    "kappa4 logpdf": (lambda m, k: m.kappa4.logpdf(0.4, k, 0.0), 0.0),
    "genpareto by name": (lambda m, k: m.genpareto.pdf(0.4, c=k), 0.0),
    "genpareto entropy": (lambda m, k: m.genpareto.entropy(k), 0.0),
    "genpareto expect": (lambda m, k: m.genpareto.expect(bell, (k,), loc=0.1), 0.0),
    "genpareto interval": (lambda m, k: m.genpareto.interval(0.5, k)[1], 0.0),
    "genextreme mean, frozen": (lambda m, k: m.genextreme(k).mean(), 0.0),
    "genextreme stats, frozen": (lambda m, k: m.genextreme(k).stats("mv")[1], 0.0),
    "genextreme moment": (lambda m, k: m.genextreme.moment(1, k), 0.0),
    "genpareto expect, frozen": (lambda m, k: m.genpareto(k).expect(bell), 0.0),
    "kappa4 logpdf, frozen": (lambda m, k: m.kappa4(0.3, k, scale=2.0).logpdf(0.4), 0.0),
    "kappa4 median": (lambda m, k: m.kappa4.median(k, 0.2), 0.0),
    "kappa4 nnlf": (lambda m, k: m.kappa4.nnlf((k, 0.1, 0.2, 1.5), X), 0.0),
}
OF_COUNTS: Calls = {
    "kstwo cdf": (lambda m, x: m.kstwo.cdf(x, 10), 0.23),
    "kstwo sf": (lambda m, x: m.kstwo.sf(x, 10), 0.23),
    "kstwo logcdf": (lambda m, x: m.kstwo.logcdf(x, 10), 0.23),
    "kstwo ppf": (lambda m, x: m.kstwo.ppf(x, 10), 0.4),
    "kstwo isf": (lambda m, x: m.kstwo.isf(x, 10), 0.4),
    "ksone ppf": (lambda m, x: m.ksone.ppf(x, 10), 0.4),
    "vonmises logcdf": (lambda m, x: m.vonmises.logcdf(x, 2), 0.4),
    "range cdf of counts": (lambda m, x: m.studentized_range.cdf(x, 3, 10), 2.3),
    "range sf of counts": (lambda m, x: m.studentized_range.sf(x, 3, 10), 2.3),
    "irwinhall logpdf": (lambda m, x: m.irwinhall.logpdf(x, 4), 1.3),
    "irwinhall cdf": (lambda m, x: m.irwinhall.cdf(x, 4), 1.3),
    "irwinhall ppf": (lambda m, x: m.irwinhall.ppf(x, 4), 0.3),
}  # fmt: skip
OF_MATRICES: Calls = {  # of equal eigenvalues
    "matrix_t": (lambda m, s: m.matrix_t.logpdf(PLANE, None, EQUAL, EQUAL + s * AROUND, 3), 0.0),
    "matrix_normal": (
        lambda m, s: m.matrix_normal.logpdf(PLANE, None, EQUAL + s * AROUND, EQUAL), 0.0,
    ),
    "multivariate_t": (
        lambda m, s: m.multivariate_t.pdf(PLACE, shape=EQUAL + s * AROUND, df=3), 0.0,
    ),
    "normal entropy": (lambda m, s: m.multivariate_normal.entropy(cov=EQUAL + s * AROUND), 0.0),
}  # fmt: skip
ENTROPIES = {
    "bernoulli": (0.3,), "betabinom": (5, 2.3, 0.6), "betanbinom": (5.0, 9.3, 1.2),
    "binom": (5, 0.3), "boltzmann": (1.4, 19), "dgamma": (2.3,), "geom": (0.3,),
    "logser": (0.6,), "nbinom": (5.0, 0.4), "nhypergeom": (20.0, 7, 12.0), "poisson": (0.6,),
    "skellam": (15.0, 8.0), "yulesimon": (11.0,), "zipf": (6.6,), "zipfian": (1.2, 10),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTROPIES)
def test_entropies_do_not_depend_on_where_their_sums_begin(name: str) -> None:
    shapes = ENTROPIES[name]
    original, entropy = getattr(st, name).entropy, getattr(stats, name).entropy
    for i, at in enumerate(shapes):
        if isinstance(at, int):
            with pytest.raises(
                cadiff.MissingRuleError, match=rf"{name}\.entropy has no .* by '[nN]'"
            ):
                cadiff.grad(lambda p, i=i: entropy(*shapes[:i], p, *shapes[i + 1 :]))(float(at))
            continue
        point = (*shapes[:i], at, *shapes[i + 1 :])
        value, found = cadiff.value_and_grad(entropy, i)(*point)
        assert value == pytest.approx(original(*point), rel=1e-14)
        want = slope(lambda x: original(*shapes[:i], x, *shapes[i + 1 :]), at)  # noqa: B023
        if not math.isnan(want):  # which it is where SciPy wants a whole number
            assert found == pytest.approx(want, rel=1e-8)
        tangents = cadiff.jacfwd(entropy, i)(*point)
        assert tangents == pytest.approx(found, rel=1e-12)


def test_places_of_discrete_distributions_are_constant_between_jumps() -> None:
    for name, shapes in {"poisson": (3.0,), "nbinom": (5.0, 0.4), "skellam": (3.0, 2.0)}.items():
        for method in ("ppf", "isf"):
            f, original = (getattr(getattr(m, name), method) for m in (stats, st))
            assert cadiff.value_and_grad(f)(0.3, *shapes) == (original(0.3, *shapes), 0.0)
    assert cadiff.grad(lambda loc: stats.poisson.ppf(0.3, 3.0, loc=loc))(1.0) == 1.0


SCALARS = {
    "norm": (), "expon": (), "gamma": (2.3,), "truncnorm": (-0.7, 1.3), "burr": (4.0, 3.0),
    "gumbel_r": (), "genpareto": (0.2,),
}  # fmt: skip


@pytest.mark.parametrize(
    "method", ["ppf", "isf", "sf", "logcdf", "pdf", "entropy", "std", "median"]
)
@pytest.mark.parametrize("name", SCALARS)
def test_numbers_without_axes(name: str, method: str) -> None:
    """All of them carry derivatives."""
    shapes = SCALARS[name]
    first = () if method in ("entropy", "std", "median") else (0.35,)
    if name == "gamma" and method in ("sf", "logcdf", "pdf"):
        first = (1.7,)
    elif first and method not in ("ppf", "isf"):
        first = (0.9,)
    point = np.array([*first, *shapes, 0.2, 1.3])

    def of(module: Any, p: Any) -> Any:
        *args, loc, scale = p
        return getattr(getattr(module, name), method)(*args, loc=loc, scale=scale)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, gradient = cadiff.value_and_grad(lambda p: of(stats, p))(point)
        forward = cadiff.jacfwd(lambda p: of(stats, p))(point)
    assert value == pytest.approx(of(st, point), rel=1e-12)
    for k, unit in enumerate(np.eye(len(point))):
        want = slope(lambda p: of(st, p), point, unit)
        assert gradient[k] == pytest.approx(want, rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(forward, gradient, rtol=1e-9, atol=1e-12)


SEARCHED: Calls = {  # what SciPy integrates, counts or searches for
    "kstwo": (lambda m, x: m.kstwo.pdf(x, 10), 0.43),
    "range pdf": (lambda m, x: m.studentized_range.pdf(x, 2.0 + x, 9.0 * x), 1.5),
    "range cdf": (lambda m, x: m.studentized_range.cdf(x, 2.0 + x, 9.0 * x), 1.5),
    "fisher": (lambda m, x: m.nchypergeom_fisher.logpmf([25, 30], 140, 80, 60, x).sum(), 0.5),
    "fisher var": (lambda m, x: m.nchypergeom_fisher.var(140, 80, 60, x), 0.5),
    "wallenius": (lambda m, x: m.nchypergeom_wallenius.cdf(25, 140, 80, 60, x), 0.5),
    "wallenius mean": (lambda m, x: m.nchypergeom_wallenius.mean(140, 80, 60, x), 0.5),
    "gennorm": (lambda m, x: m.gennorm.cdf(x, 4.0) + m.gennorm.ppf(0.5 + x, 4.0), 0.0),
    "gennorm shape": (lambda m, x: m.gennorm.logsf([0.0, x, -x], x).sum(), 1.7),
    "genhyperbolic": (lambda m, x: m.genhyperbolic.pdf([0.3, x], x, 1.5, 0.4 * x).sum(), 0.7),
    "stable pdf": (lambda m, x: m.levy_stable.pdf(0.4, 1.4 * x, 0.3 * x, x, x), 0.9),
    "stable cdf": (lambda m, x: m.levy_stable.logcdf([0.4, x], 0.8 * x, -0.6).sum(), 0.9),
    "stable at 1": (lambda m, x: m.levy_stable.pdf([0.4, -3.0], 1.0, 0.3, x, x).sum(), 1.3),
    "stable ppf": (lambda m, x: m.levy_stable.ppf(0.3, 1.4, 0.3, x, 1.0 / x), 0.9),
    "support": (lambda m, x: m.anglit.support(x, x * x)[1] + m.pareto.support(x, x, x)[0], 1.3),
    "expect": (lambda m, x: m.norm.expect(bell, loc=x, scale=x), 1.3),
    "within": (lambda m, x: m.beta.expect(np.cos, (2.3 * x, 0.6)), 1.1),
    "truncnorm": (lambda m, x: m.truncnorm.nnlf((-x, 3.0, 0.3, x), np.array([0.3, 1.2])), 2.0),
    "dpareto": (lambda m, x: m.dpareto_lognorm.nnlf((x, 1.2, 1.5, 2.0, 0.3, 2.0), [1.0]), 3.0),
    "powernorm": (lambda m, x: m.powernorm.entropy(x), 4.4),
    "pearson3": (lambda m, x: m.pearson3.entropy(x), 0.8),
    "kappa4": (lambda m, x: m.kappa4.entropy(x, 0.0), 0.001),
    "inverse Wishart": (lambda m, x: m.invwishart.entropy(4, np.eye(2) * x), 1.3),
    "Normal": (lambda m, x: m.Normal(mu=0.2, sigma=x).icdf(x), 0.7),
    "abs": (lambda m, x: m.abs(m.Normal(mu=x, sigma=1.3)).median(), 0.7),
    "truncated to the left": (lambda m, x: m.truncate(m.Normal(), ub=-x - 1.0).logcdf(-3.0), 0.7),
    "made": (lambda m, x: m.make_distribution(m.gamma)(a=x).logpdf(1.3), 0.7),
    "mixture": (
        lambda m, x: m.Mixture([m.Normal(mu=x), m.Normal()], weights=[0.4, 0.6]).icdf(0.3), 0.7,
    ),
}  # fmt: skip


# With the errors of slopes and of values.
ROWS = [
    pytest.param(*row, *errors, id=name)
    for rows, errors in (
        (MOMENTS, (1e-8, 4e-16)),
        (OF_ZERO, (1e-6, 1e-12)),
        (OF_COUNTS, (1e-6, 1e-12)),
        (OF_MATRICES, (1e-9, 0.0)),
        (SEARCHED, (3e-7, 1e-13)),
    )
    for name, row in rows.items()
]


@pytest.mark.parametrize(("f", "at", "rtol", "value_rtol"), ROWS)
@pytest.mark.filterwarnings("ignore")
def test_calls(f: Callable[[Any, Any], Any], at: float, rtol: float, value_rtol: float) -> None:
    ours, plain = (lambda x, m=m: f(m, x) for m in (stats, st))
    check_slope(ours, plain, at, rtol, value_rtol=value_rtol, atol=1e-9)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_programs_of_equal_eigenvalues(name: str) -> None:
    f, _ = OF_MATRICES[name]
    program = cadiff.compile(lambda s: f(stats, s))
    for s in (0.0, 0.2):
        np.testing.assert_allclose(program(s), f(st, s), rtol=1e-12)


def test_searches_without_a_derivative() -> None:
    with pytest.raises(cadiff.MissingRuleError, match="mode of MonotonicTransformedDistribution"):
        cadiff.grad(lambda x: stats.exp(stats.Normal(mu=x)).mode())(0.3)
    with pytest.raises(cadiff.MissingRuleError, match="limit at which its integrand is infinite"):
        cadiff.grad(lambda loc: stats.arcsine.expect(np.cos, loc=loc))(0.3)
    assert math.isnan(cadiff.grad(lambda a: stats.levy_stable.pdf(-0.3, a, -0.6))(1.0))


REFUSED: dict[str, tuple[Callable[[Any], Any], float, str]] = {
    "a count": (lambda n: stats.irwinhall.pdf(0.5, n), 4.0, "irwinhall.pdf .* by 'n'"),
    "of a frozen one": (lambda n: stats.irwinhall(n).pdf(0.5), 4.0, "irwinhall.pdf .* by 'n'"),
    "a count of the inverse": (lambda n: stats.irwinhall.ppf(0.3, n), 4.0, "irwinhall.* by 'n'"),
    "balls": (lambda n: stats.nchypergeom_wallenius.mean(20.0, n, 9.0, 0.5), 8.0, "nch.*by 'n'"),
    "random points": (
        lambda x: stats.multivariate_t.cdf([x, 0.1, 0.2], np.zeros(3)), 0.2,
        "multivariate_t.cdf .* by 'x'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_name_what_the_caller_gave(kind: str) -> None:
    f, at, words = REFUSED[kind]
    for differentiate in (cadiff.grad, cadiff.jacfwd):
        with pytest.raises(cadiff.MissingRuleError, match=rf"scipy\.stats\.{words}") as info:
            differentiate(f)(at)
        error: BaseException | None = info.value
        while error is not None:
            assert "mirrored" not in str(error)
            error = error.__cause__


@pytest.mark.parametrize("module", [stats, special])
@pytest.mark.filterwarnings("ignore")
def test_what_scipy_can_copy_and_pickle_is_copied_and_pickled(module: Any) -> None:
    """By its name, so that a program elsewhere has the same object."""
    original = st if module is stats else sp
    for name in original.__all__ if module is special else vars(stats).keys() & {*st.__all__}:
        here = getattr(module, name)
        for same in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
            try:
                same(getattr(original, name))
            except Exception:  # what SciPy cannot, nobody has to
                continue
            assert isinstance(same(here), type(here)), name


@pytest.mark.parametrize(
    "make",
    [
        lambda: stats.norm(0.1, scale=2.0),
        lambda: stats.poisson(2.5, loc=1),
        lambda: stats.genextreme(0.2),
        lambda: stats.kappa4(0.3, 0.2),
        lambda: stats.skellam(15.0, 8.0),
        lambda: stats.order_statistic(stats.Normal(), r=1, n=3),
    ],
)
def test_distributions_with_parameters_are_copied_and_pickled(make: Callable[[], Any]) -> None:
    there = make()
    for same in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert same(there).cdf(1.3) == there.cdf(1.3)
    for f in (stats.kappa4(0.3, 0.2), stats.skellam(15.0, 8.0)):
        assert cadiff.grad(copy.deepcopy(f).cdf)(0.3) == cadiff.grad(f.cdf)(0.3)
    found = cadiff.grad(lambda a: copy.deepcopy(stats.norm(a)).pdf(0.3))(0.1)
    assert found == cadiff.grad(lambda a: stats.norm(a).pdf(0.3))(0.1)


@pytest.mark.slow
def test_moments_of_a_density_of_ones_own() -> None:
    class Exponential(stats.rv_continuous):
        def _pdf(self, x: Any, rate: Any) -> Any:
            return rate * cnp.exp(-rate * x)

    exponential = Exponential(name="exponential", a=0.0, shapes="rate")
    found = cadiff.grad(lambda rate: exponential.mean(rate) + exponential.var(rate))(1.3)
    assert found == pytest.approx(-(1.3**-2) - 2.0 * 1.3**-3, rel=1e-7)
    assert exponential.mean(1.3) == pytest.approx(1.0 / 1.3, rel=1e-7)


def test_solvers_read_the_parameters_of_a_frozen_distribution() -> None:
    def solved(p: Any, density: Any) -> Any:
        f = density(p)
        return integrate.solve_ivp(lambda t, y: -y * f(y), (0.0, 1.0), [0.5]).y[0, -1]

    frozen, called = (
        cadiff.grad(solved)(np.array([0.3, 1.2]), density)
        for density in (lambda p: stats.norm(*p).pdf, lambda p: lambda y: stats.norm.pdf(y, *p))
    )
    assert frozen == pytest.approx(called, rel=1e-12)


@pytest.mark.parametrize("name", ["wishart", "invwishart"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_wishart_by_its_scale(name: str, n: int) -> None:
    scale, x = np.eye(n) * 2.0 + 0.3, np.eye(n) + 0.2
    turn = np.cos(np.arange(n * n)).reshape(n, n)
    turn = turn + turn.T

    def along(t: Any) -> Any:
        return getattr(stats, name).logpdf(x, n + 2.5, scale + t * turn)

    want = slope(along)
    assert cadiff.grad(along)(0.0) == pytest.approx(want, rel=1e-8)
    assert cadiff.jacfwd(along)(0.0) == pytest.approx(want, rel=1e-8)


def test_lists_for_numbers() -> None:
    ls, p = [0.5, 1.0, 2.0], [0.2, 0.3, 0.5]
    calls: list[Callable[[Any, Any], Any]] = [
        lambda m, v: m.gamma.cdf(v, ls, scale=(1, 2, 3)),
        lambda m, v: m.dirichlet.logpdf(p, [v[0], 1, 2]),
        lambda m, v: m.multivariate_normal.logpdf(ls, v),
        lambda m, v: m.multivariate_normal.logpdf([1, 2], [0, v[0]], [[v[1], 0], [0, 1]]),
    ]
    for call in calls:
        np.testing.assert_allclose(call(stats, Var(p)).value, call(st, p), rtol=1e-13)


def test_everything_else_is_from_scipy() -> None:
    assert stats.norm.ppf(0.3) == st.norm.ppf(0.3)
    assert stats.gamma.mean(2.0) == 2.0
    assert "norm" in repr(stats.norm)
    assert set(dir(st)) <= set(dir(stats))


def test_wrong_calls_say_what_is_wrong() -> None:
    with pytest.raises(TypeError, match=r"gamma\.pdf wants a"):
        stats.gamma.pdf(Var(1.0))
    with pytest.raises(TypeError, match="takes x, loc, scale, each once"):
        stats.norm.pdf(Var(1.0), 0.0, loc=1.0)
    with pytest.raises(TypeError, match="takes x, loc, scale, each once"):
        stats.norm.pdf(Var(1.0), mean=1.0)
    with pytest.raises(TypeError, match="takes no scale"):
        stats.poisson.pmf(1, Var(1.0), scale=2.0)


# --- multivariate --------------------------------------------------------------------------------


def check_gradient(f: Callable[..., Any], original: Callable[..., Any], *args: Any) -> None:
    """The value and the gradient by every argument, against differences."""
    np.testing.assert_allclose(cadiff.value(f(*map(Var, args))), original(*args), rtol=1e-12)
    rng = np.random.default_rng(3)
    for i, x in enumerate(args):
        t = rng.standard_normal(np.shape(x))
        if np.ndim(x) == 2 and np.shape(x)[0] == np.shape(x)[1]:
            t = t + t.T  # SciPy reads one triangle only

        def moved(x: Any, i: int = i) -> Any:
            return np.sum(original(*args[:i], x, *args[i + 1 :]))

        gradient = cadiff.grad(lambda *args: np.sum(f(*args)), i)(*args)
        want = slope(moved, x, t, 1e-4)
        assert np.sum(gradient * t) == pytest.approx(want, rel=1e-7, abs=1e-9)
        _, tangent = cadiff.jvp(lambda y, i=i: np.sum(f(*args[:i], y, *args[i + 1 :])), (x,), (t,))
        assert tangent == pytest.approx(np.sum(gradient * t), rel=1e-12)


def test_probabilities_of_two_normal_numbers() -> None:
    mean, cov, x = np.array([0.1, -0.2]), np.array([[1.2, -0.5], [-0.5, 0.8]]), [0.7, 0.3]
    ours, scipys = (m.multivariate_normal.cdf for m in (stats, st))
    check_gradient(ours, scipys, np.array(x), mean, cov)
    if VERSION >= (1, 16):  # before the sum is in Fortran
        box = [-0.5, -np.inf], [0.3, 1.0]
        ours, scipys = (lambda y, m=m: m.gaussian_kde(y).integrate_box(*box) for m in (stats, st))
        check_gradient(ours, scipys, np.random.default_rng(1).standard_normal((2, 6)))

    def of_mean(m: Any) -> Any:
        return stats.multivariate_normal.cdf(x, m, cov)

    t, gradient = np.array([0.3, -1.1]), cadiff.grad(of_mean)
    bend = cadiff.hessian(of_mean)(mean) @ t
    np.testing.assert_allclose(bend, slope(gradient, mean, t), rtol=1e-7)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("is_box", [False, True])
def test_probabilities_of_more_normal_numbers(n: int, is_box: bool) -> None:
    """SciPy's points are random: differences are of more of them, and of fewer digits."""
    rng = np.random.default_rng(n)
    mean, x, a = rng.standard_normal(n), rng.standard_normal(n) + 1.0, rng.standard_normal((n, n))
    cov, low = a @ a.T + np.eye(n), x - 3.0 if is_box else None
    is_given = VERSION >= (1, 16)  # where points come from
    how = {"lower_limit": low, **({"rng": 3} if is_given else {})}
    directions = rng.standard_normal(n), rng.standard_normal(n), a + a.T

    def precise(h: float) -> Any:
        at = [y + h * t for y, t in zip((x, mean, cov), directions, strict=True)]
        return st.multivariate_normal.cdf(*at, **how, abseps=1e-8, maxpts=200_000)

    value, gradient = cadiff.value_and_grad(
        lambda *args: stats.multivariate_normal.cdf(*args, **how), (0, 1, 2)
    )(x, mean, cov)
    wanted = st.multivariate_normal.cdf(x, mean, cov, **how)
    assert value == pytest.approx(wanted, rel=0.0 if is_given else 2e-4, abs=0.0)
    found = sum(np.sum(g * t) for g, t in zip(gradient, directions, strict=True))
    assert found == pytest.approx(slope(precise, step=0.03), abs=1e-5)
    _, along = cadiff.jvp(
        lambda *args: stats.multivariate_normal.cdf(*args, **how), (x, mean, cov), directions
    )
    assert along == pytest.approx(found, rel=1e-12)


MEAN = np.array([0.3, -1.0, 2.0])
COV = np.array([[2.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 3.0]])


@pytest.mark.parametrize("method", DENSITIES)
@pytest.mark.parametrize("shape", [(3,), (1, 3), (4, 3), (2, 4, 3)])
def test_multivariate_normal(method: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    f = getattr(stats.multivariate_normal, method)
    original = getattr(st.multivariate_normal, method)
    assert np.shape(cadiff.value(f(Var(x), MEAN, COV))) == np.shape(original(x, MEAN, COV))
    check_gradient(f, original, x, MEAN, COV)


def test_multivariate_normal_takes_what_scipy_takes() -> None:
    x, rng = np.array([0.3, 0.4]), np.random.default_rng(0)
    original = st.multivariate_normal
    for mean, cov in ((None, 1.0), ([0.0, 1.0], [2.0, 3.0]), ([1.0, 2.0], 2.5), (None, np.eye(2))):
        got = stats.multivariate_normal.logpdf(Var(x), mean, cov)
        want = original.logpdf(x, mean, cov)
        assert np.shape(got.value) == np.shape(want)
        np.testing.assert_allclose(got.value, want, rtol=1e-13)
    frozen = stats.multivariate_normal(MEAN, cov=COV)
    assert frozen.logpdf(Var(MEAN)).value == pytest.approx(original(MEAN, COV).logpdf(MEAN))
    assert frozen.rvs(random_state=rng).shape == (3,)


def test_multivariate_normal_refuses() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        stats.multivariate_normal.logpdf(Var([1.0, 2.0]), None, [[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"shape \(2, 2\), but 'mean' is a vector of length 3"):
        stats.multivariate_normal.logpdf(Var([1.0, 1.0, 1.0]), MEAN, np.eye(2))


def test_multivariate_normal_on_a_line() -> None:
    x, direction = np.array([2.0, 2.0]), np.array([1.0, 1.0])
    f, plain = (
        lambda c, m=m: m.multivariate_normal.logpdf(x, None, c, allow_singular=True)
        for m in (stats, st)
    )
    ones = np.outer(direction, direction)
    value, tangent = cadiff.jvp(f, (ones,), (ones,))
    assert value == plain(ones)
    assert tangent == pytest.approx(1.5)  # of N(0, 2 s) at 4 / sqrt(2), by s: (8 / 2 - 1) / 2


@pytest.mark.parametrize("method", DENSITIES)
def test_dirichlet(method: str) -> None:
    alpha = np.array([0.7, 2.0, 4.5])
    f, original = getattr(stats.dirichlet, method), getattr(st.dirichlet, method)
    x = np.array([0.2, 0.3, 0.5])
    assert f(x, alpha) == original(x, alpha)
    check_gradient(lambda alpha: f(x, alpha), lambda alpha: original(x, alpha), alpha)
    columns = np.array([[0.2, 0.1], [0.3, 0.6]])
    check_gradient(f, original, columns, alpha)
    with pytest.raises(ValueError):
        f(Var([0.2, 0.2, 0.2]), alpha)


def test_derivative_of_dirichlet_by_independent_entries() -> None:
    alpha, x = np.array([0.7, 2.0, 4.5]), np.array([0.2, 0.3, 0.5])
    gradient = cadiff.grad(stats.dirichlet.logpdf)(x, alpha)
    np.testing.assert_allclose(gradient, (alpha - 1.0) / x, rtol=1e-14)


@pytest.mark.parametrize("name", ["norm", "t", "dirichlet", "multivariate_normal"])
def test_distributions_are_imported_as_modules(name: str) -> None:
    """As programs written for autograd import them."""
    module = importlib.import_module(f"cadiff.scipy.stats.{name}")
    assert module.logpdf.__name__ == "logpdf"
    assert getattr(stats, name).logpdf.__name__ == "logpdf"
