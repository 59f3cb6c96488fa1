"""Derivatives that are integrals or recurrences, not differences: second ones, and those at 0.

The truth is mpmath's, by its differences in 30 digits.
"""

import math
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse
import scipy.stats
from mpmath import mp

import cadiff
import cadiff.numpy as cnp
from cadiff.scipy import interpolate, sparse, special, stats

from ..helpers.cases_parameters import voigt
from ..helpers.differences import check_slope

INF = math.inf


def wright(a: Any, b: Any, x: Any) -> Any:
    return mp.fsum(mp.mpf(x) ** k / mp.factorial(k) * mp.rgamma(a * k + b) for k in range(30))


def gauss(a: Any, b: Any, c: Any) -> Any:
    """Hypergeometric functions at 1 (DLMF 15.4.20)."""
    return mp.gammaprod([c, c - a - b], [c - a, c - b])


SECOND: list[tuple[str, Callable[..., Any], tuple[float, ...], float]] = [
    ("hyperu", mp.hyperu, (0.3, 0.2, 8.0), 1e-13),
    ("hyperu", mp.hyperu, (1.5, -2.5, 4.0), 1e-13),
    ("hyperu", mp.hyperu, (-0.05, 1.3, 0.2), 1e-12),
    ("voigt_profile", voigt, (0.3, 1.0, 0.5), 1e-13),
    ("voigt_profile", voigt, (2.0, 0.01, 1.0), 1e-13),
    ("voigt_profile", voigt, (100.0, 2.0, 3.0), 1e-13),
    ("voigt_profile", voigt, (1.0, 2.0, 0.0), 1e-13),
    ("voigt_profile", voigt, (3.0, -1.5, 2.0), 1e-13),
    ("wright_bessel", wright, (0.0, 1.5, 1.3), 3e-11),
    ("wright_bessel", wright, (0.7, 0.0, 1.3), 3e-11),
    ("hyp2f1", gauss, (0.5, 0.7, 3.9), 1e-8),
    ("hyp2f1", gauss, (0.5, 0.7, 1.25), 1e-8),
    ("hyp2f1", gauss, (0.1, 0.2, 1.25), 1e-8),
    ("hyp2f1", gauss, (0.3, 0.2, 5.0), 1e-8),
    ("elliprd", mp.elliprd, (1.0, 1.0, 1.0), 1e-13),
    ("elliprg", mp.elliprg, (1e-6, 2.0, 3.0), 1e-13),
    ("elliprj", mp.elliprj, (1.0, 2.0, 3.0, 3.0), 1e-13),
    ("elliprc", mp.elliprc, (3.0, 1e-4), 1e-13),
    ("agm", mp.agm, (1e-5, 1e5), 1e-13),
]


@pytest.mark.parametrize(
    ("name", "twin", "at", "bound"), SECOND, ids=[f"{row[0]}{row[2]}" for row in SECOND]
)
def test_second_derivatives(
    name: str, twin: Callable[..., Any], at: tuple[float, ...], bound: float
) -> None:
    further = (1.0,) if twin is gauss else ()

    def f(z: Any) -> Any:
        return getattr(special, name)(*z, *further)

    x = np.array(at)
    gradient, hessian = cadiff.grad(f)(x), cadiff.hessian(f)(x)
    np.testing.assert_allclose(hessian, hessian.T, rtol=bound)
    with mp.workdps(30):
        for found in (gradient, hessian):
            for orders in combinations_with_replacement(range(len(at)), found.ndim):
                counts = tuple(orders.count(k) for k in range(len(at)))
                want = float(mp.diff(twin, at, counts))
                assert found[orders] == pytest.approx(want, rel=bound, abs=1e-300), orders


AT_ZERO: list[tuple[str, tuple[float, ...], list[float]]] = [
    ("elliprg", (0.0, 1.0, 2.0), [float(mp.elliprf(0, 1, 2)) / 4]),
    ("elliprg", (2.0, 0.0, 0.0), [float(mp.sqrt(2)) / 8, INF, INF]),
    ("elliprg", (0.0, 0.0, 0.0), [INF, INF, INF]),
    ("elliprf", (0.0, 1.0, 2.0), [-INF]),
    ("elliprc", (0.0, 1.0), [-INF, -float(mp.pi) / 4]),
    ("elliprc", (0.0, -2.0), [INF]),
    ("elliprd", (0.0, 1.0, 2.0), [-INF]),
    ("elliprd", (1.0, 2.0, 0.0), [-INF, -INF, -INF]),
    ("elliprj", (0.0, 1.0, 2.0, 3.0), [-INF]),
    ("elliprj", (0.0, 1.0, 2.0, -3.0), [INF]),
    ("agm", (0.0, 2.0), [INF, 0.0]),
    ("voigt_profile", (1.5, 0.0, 1.0), [-3.0 / 3.25**2 / float(mp.pi), 0.0]),
]


@pytest.mark.parametrize(("name", "at", "want"), AT_ZERO, ids=[f"{n}{a}" for n, a, _ in AT_ZERO])
def test_derivatives_at_zero(name: str, at: tuple[float, ...], want: list[float]) -> None:
    def f(z: Any) -> Any:
        return getattr(special, name)(*z)

    found = cadiff.grad(f)(np.array(at))
    np.testing.assert_allclose(found[: len(want)], want, rtol=1e-13)
    assert not np.isnan(found).any()
    np.testing.assert_array_equal(cadiff.compile(f).grad(np.array(at)), found)


def test_mixed_derivatives_at_zero_are_symmetric() -> None:
    """By both others the derivative of R_G at x = 0, R_F / 4, has derivatives that are R_D's."""
    hessian = cadiff.hessian(lambda z: special.elliprg(*z))(np.array([0.0, 1.0, 2.0]))
    wanted = [-float(mp.elliprd(0, *z)) / 24 for z in ((2, 1), (1, 2))]
    np.testing.assert_allclose(hessian[0], [-INF, *wanted], rtol=1e-13)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-13)


@pytest.mark.parametrize("c", [0.8, 1.5])
def test_moments_where_the_support_moves(c: float) -> None:
    check_slope(stats.genhalflogistic.mean, scipy.stats.genhalflogistic.mean, c)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("nctdtr", (5.5e7, 6.7e7, 1.2)),
        ("_nct_sf", (1.2, 5.5e7, 5.5e7)),
        ("_nct_variance", (1e300, 5.5e7)),
        ("ncfdtr", (1.2, 1e300, 0.7, 1.2)),
    ],
)
def test_what_overflows_within_a_rule_is_no_error(name: str, at: tuple[float, ...]) -> None:
    def f(x: Any) -> Any:
        return getattr(special, name)(*at[:-1], x)

    with np.errstate(all="ignore"):
        found = cadiff.grad(f)(at[-1])
        assert found == 0.0 if name == "nctdtr" else isinstance(found, float)
        np.testing.assert_equal(cadiff.compile(f).grad(at[-1]), found)
        first = np.array([at[-1], 0.9]) if name == "nctdtr" else np.array([at[-1]])
        assert np.shape(cadiff.jvp(f, (first,), (np.ones_like(first),))[1]) == first.shape


@pytest.mark.filterwarnings("ignore:a branch of .* rests on the equality")
@pytest.mark.parametrize("of", ["geomspace", "logspace", "linspace"])
@pytest.mark.parametrize("ends", [(0, 1), (slice(1), 1), (0, 8.0), (2.0, 1)])
def test_grids_of_single_precision(of: str, ends: tuple[Any, Any]) -> None:
    x = np.array([1, 8], np.float32)

    def grid(x: Any) -> Any:
        low, high = (x[end] if isinstance(end, (int, slice)) else end for end in ends)
        return getattr(np, of)(low, high, 4)

    want = grid(x)
    for found in (cadiff.jvp(grid, (x,), (x,))[0], cadiff.compile(grid)(x)):
        assert found.dtype == want.dtype
        # Powers of NumPy's in single precision depend on the processor.
        np.testing.assert_array_max_ulp(found, want, 1 if of == "logspace" else 0)


def test_design_matrix_of_numbers_with_derivatives() -> None:
    knots = np.array([0, 0, 0, 0, 1, 2, 3, 3, 3, 3.0])
    c, x = np.arange(6.0) ** 2, np.array([0.5, 1.5, 2.9])
    spline = scipy.interpolate.BSpline(knots, c, 3)

    def values(x: Any) -> Any:
        return interpolate.BSpline.design_matrix(x, knots, 3) @ c

    np.testing.assert_allclose(values(x), spline(x), rtol=1e-14)
    slopes = np.diag(spline.derivative()(x))
    jacobians = cadiff.jacobian(values), cadiff.jacfwd(values), cadiff.compile(values).jacobian
    for jacobian in jacobians:
        np.testing.assert_allclose(jacobian(x), slopes, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
def test_numbers_that_fill_what_lies_outside(method: str) -> None:
    grid, how = np.arange(5.0), {"method": method, "bounds_error": False}

    def f(fill: Any) -> Any:
        made = interpolate.RegularGridInterpolator((grid,), grid**2, fill_value=fill, **how)
        return np.sum(made(np.array([[9.0], [1.0], [-1.0]])))

    assert cadiff.value_and_grad(f)(3.0) == (7.0, 2.0)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        (scipy.sparse.linalg.spsolve, {}),
        (sparse.linalg.spsolve, {}),
        (None, {"rtol": 1e-14, "atol": 1e-14}),
        (scipy.sparse.linalg.gmres, {"rtol": 1e-3}),
    ],
)
def test_splines_on_a_grid_are_found_by_the_solver_that_is_asked_for(
    solver: Any, options: dict[str, Any]
) -> None:
    """Its tolerance is seen in values; an exact one has the same as a direct solution."""
    grid, x = (np.arange(6.0), np.arange(6.0)), np.linspace(0.3, 2.0, 36).reshape(6, 6) ** 3

    def f(m: Any, x: Any, solver: Any) -> Any:
        how = {"method": "quintic", "solver": solver, "solver_args": options}
        return m.RegularGridInterpolator(grid, x, **how)(np.array([[0.3, 0.7], [4.2, 2.2]]))

    plain = getattr(scipy.sparse.linalg, solver.__name__) if solver else None
    found = cadiff.jvp(lambda x: f(interpolate, x, solver), (x,), (x,))[0]
    np.testing.assert_array_equal(found, f(scipy.interpolate, x, plain))


@pytest.mark.parametrize("name", ["ravel", "sum", "cumsum"])
def test_sparse_numbers_are_no_arrays(name: str) -> None:
    def f(x: Any) -> Any:
        return getattr(cnp, name)(scipy.sparse.csr_matrix(np.eye(4)) / cnp.ravel(x))

    with pytest.raises(TypeError, match=r"no array: write A\.toarray\(\)"):
        cadiff.grad(f)(np.ones((2, 2)))
    made = cadiff.grad(lambda x: sparse.csr_array(np.eye(2)).multiply(x).toarray().sum())
    np.testing.assert_array_equal(made(np.ones((2, 2))), np.eye(2))
