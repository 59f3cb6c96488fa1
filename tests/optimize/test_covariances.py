"""Covariances and standard errors of results, against certified values and closed forms."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import OptimizeWarning

import cadiff
from cadiff import nist, optimize
from cadiff import numpy as cnp
from cadiff.optimize import Bounds, NonlinearConstraint, curve_fit, least_squares, minimize

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=60)
LABELS = (X @ [1.0, -0.5, 0.2] + RNG.logistic(size=60) > 0.0).astype(float)


@pytest.mark.parametrize("name", list(nist.MODELS))
def test_certified_standard_deviations(name: str) -> None:
    data, model = nist.load(name), nist.MODELS[name]

    def residuals(b: Any) -> Any:
        return [model(b, x) - y for x, y in zip(data.x, data.y, strict=True)]

    fit = least_squares(residuals, data.certified * 1.001, x_scale="jac", xtol=1e-15, ftol=1e-15)
    assert_allclose(fit.standard_errors(), data.certified_std, rtol=1e-6)
    within = Bounds(data.certified - abs(data.certified), np.inf)
    fit = least_squares(residuals, fit.x, bounds=within, x_scale="jac", xtol=1e-15, ftol=1e-15)
    assert_allclose(fit.standard_errors(), data.certified_std, rtol=1e-4)
    _, pcov = curve_fit(
        lambda x, *b: cnp.array([model(b, x_) for x_ in x]), data.x, data.y, data.certified * 1.001
    )
    assert_allclose(np.sqrt(np.diag(pcov)), data.certified_std, rtol=1e-8)


def test_linear_least_squares() -> None:
    fit = least_squares(lambda w: X @ w - Y, np.zeros(3))
    inverse = np.linalg.inv(X.T @ X)
    residuals = Y - X @ np.linalg.lstsq(X, Y)[0]
    assert_allclose(fit.covariance(), residuals @ residuals / 57 * inverse, rtol=1e-6)
    weighted = least_squares(lambda w: (X @ w - Y) / 0.3, np.zeros(3))
    assert_allclose(weighted.covariance(absolute_sigma=True), 0.09 * inverse)
    assert_allclose(weighted.standard_errors(absolute_sigma=True) ** 2, 0.09 * np.diag(inverse))
    assert_allclose(fit.hessian(), X.T @ X)
    sparse = least_squares(lambda x: cnp.append(2.0 * x, x[:-1] + x[1:] - 1.0), np.ones(100))
    jacobian = sparse.jac.toarray()
    assert_allclose(
        sparse.covariance(absolute_sigma=True), np.linalg.inv(jacobian.T @ jacobian), atol=1e-12
    )


def of_normal(p: Any) -> Any:
    """The negative log-likelihood of Y with a mean and a width."""
    return cnp.sum(0.5 * ((Y - p["mean"]) / p["width"]) ** 2 + cnp.log(p["width"]))


def of_labels(w: Any) -> Any:
    return cnp.sum(cnp.logaddexp(0.0, X @ w) - LABELS * (X @ w))


@pytest.mark.parametrize("method", ["BFGS", "trust-exact", "trust-constr", "Nelder-Mead", "TNC"])
def test_likelihoods(method: str) -> None:
    fit = minimize(of_normal, {"mean": 1.0, "width": 2.0}, method=method, tol=1e-9)
    errors = fit.standard_errors()
    assert_allclose(errors["mean"], Y.std() / 60**0.5, rtol=1e-4)
    assert_allclose(errors["width"], Y.std() / 120**0.5, rtol=1e-4)
    assert_allclose(fit.covariance(flat=True), np.diag(list(errors.values())) ** 2, atol=1e-7)
    logistic = minimize(of_labels, np.zeros(3), method=method, tol=1e-9)
    p = 1.0 / (1.0 + np.exp(-X @ logistic.x))
    assert_allclose(logistic.covariance(), np.linalg.inv(X.T * (p * (1 - p)) @ X), rtol=1e-5)


def test_matrices_in_containers() -> None:
    start = {"w": np.zeros(2), "b": [0.0]}
    fit = minimize(lambda p: of_labels(cnp.append(p["w"], p["b"])), start, tol=1e-9)
    flat = fit.covariance(flat=True)
    nested = fit.covariance()
    assert_array_equal(nested["w"]["w"], flat[:2, :2])
    assert_array_equal(nested["w"]["b"][0], flat[:2, 2])
    assert nested["b"][0]["b"][0] == flat[2, 2]
    assert_array_equal(fit.standard_errors()["w"], np.sqrt(np.diag(flat)[:2]))
    assert_array_equal(fit.standard_errors(flat=True), np.sqrt(np.diag(flat)))
    hessian = cadiff.hessian(lambda v: of_labels(v))(cnp.append(fit.x["w"], fit.x["b"]))
    assert_allclose(fit.hessian(flat=True), hessian)
    assert_allclose(fit.hessian()["b"][0]["w"], hessian[2, :2])


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", None])
def test_parameters_at_bounds_are_fixed(method: Any) -> None:
    """Those that the bound keeps from moving, and no others, however close to it."""
    bounds = [(0.0, None), (-1.0, 1e3), (1e-12, None)]
    if method is None:
        fit = least_squares(
            lambda w: X @ w - Y,
            np.ones(3) / 2,
            bounds=([0.0, -1.0, 1e-12], [np.inf, 1e3, np.inf]),
        )
        scale = np.sum((X @ fit.x - Y) ** 2) / (60 - 2)
    else:
        fit = minimize(
            lambda w: 0.5 * cnp.sum((X @ w - Y) ** 2), np.ones(3) / 2, method=method, bounds=bounds
        )
        scale = 1.0
    free = X[:, [0, 2]]
    covariance = fit.covariance()
    assert np.isnan(covariance[1]).all()
    assert np.isnan(covariance[:, 1]).all()
    expected = scale * np.linalg.inv(free.T @ free)
    assert_allclose(covariance[np.ix_([0, 2], [0, 2])], expected, rtol=1e-4)
    assert_array_equal(np.isnan(fit.standard_errors()), [False, True, False])


def test_curve_fit_orders_by_p0_and_takes_all_for_free() -> None:
    """As its documentation has it, beside the covariances of results."""

    def model(x: Any, a: Any, b: Any, c: Any) -> Any:
        return x @ cnp.array([a, b, c])

    start = {"c": 1.0, "b": 0.0, "a": 1.0}
    popt, pcov = curve_fit(model, X, Y, p0=start, bounds={"b": (-1.0, 1.0)})
    assert list(popt) == ["c", "b", "a"]
    assert popt["b"] == pytest.approx(-1.0)
    backwards = X[:, ::-1]
    residuals = Y - backwards @ [*popt.values()]
    expected = residuals @ residuals / (60 - 3) * np.linalg.inv(backwards.T @ backwards)
    assert_allclose(pcov, expected, rtol=1e-4)
    fit = least_squares(lambda p: model(X, **p) - Y, start, bounds={"b": (-1.0, 1.0)})
    errors = fit.standard_errors()
    assert np.isnan(errors["b"])
    assert errors["a"] < np.sqrt(pcov[2, 2])


def test_what_cannot_be_estimated_is_infinite() -> None:
    singular = minimize(lambda x: (x[0] + x[1] - 1.0) ** 2, np.zeros(2))
    with pytest.warns(OptimizeWarning, match="could not be estimated") as told:
        assert np.all(np.isinf(singular.covariance()))
    assert told[0].filename == __file__
    saddle = minimize(lambda x: x[0] ** 2 - x[1] ** 2, np.zeros(2))
    few = least_squares(lambda x: x - 1.0, np.zeros(3))
    same = least_squares(lambda x: X[:, 0] * (x[0] + x[1]) - Y, np.zeros(2))
    for result in (saddle, few, same):
        with pytest.warns(OptimizeWarning, match="could not be estimated"):
            assert np.all(np.isinf(result.standard_errors()))
    assert_allclose(few.covariance(absolute_sigma=True), np.eye(3))


def test_what_is_given_is_used() -> None:
    both = minimize(
        lambda w: (of_labels(w), cadiff.grad(of_labels)(w)), np.zeros(3), jac=True, tol=1e-9
    )
    given = minimize(
        lambda w: float(of_labels(np.asarray(w, dtype=float))),
        np.zeros(3),
        jac=cadiff.grad(of_labels),
        hess=cadiff.hessian(of_labels),
        method="trust-exact",
    )
    assert_allclose(both.covariance(), given.covariance(), rtol=1e-5)
    with pytest.raises(TypeError):
        minimize(lambda x: float(x[0]) ** 2, [1.0], method="Powell").covariance()


def test_where_there_is_no_covariance() -> None:
    inside = NonlinearConstraint(lambda w: cnp.sum(w**2), 0.0, 0.1)
    fit = minimize(of_labels, np.zeros(3), constraints=inside)
    with pytest.raises(ValueError, match="constraints"):
        fit.covariance()
    assert fit.hessian().shape == (3, 3)
    with pytest.raises(TypeError, match="absolute_sigma is for sums of squares"):
        minimize(of_labels, np.zeros(3)).covariance(absolute_sigma=True)
    fit = least_squares(lambda w: X @ w - Y, np.zeros(3))
    for copied in (pickle.loads(pickle.dumps(fit)), copy.copy(fit)):
        assert_array_equal(copied.x, fit.x)
        with pytest.raises(ValueError, match="not of copies"):
            copied.covariance()
    assert "covariance" in dir(fit)
    assert "covariance" not in fit


def test_searches_have_covariances() -> None:
    expected = minimize(of_labels, np.zeros(3), tol=1e-9).standard_errors()
    box = {"w": np.array([[-3.0, 3.0]] * 3)}

    def f(p: Any) -> Any:
        return of_labels(p["w"])

    found = [
        optimize.basinhopping(of_labels, np.zeros(3), niter=1, rng=0).standard_errors(),
        optimize.dual_annealing(f, box, maxiter=3, rng=0).standard_errors()["w"],
        optimize.shgo(f, box).standard_errors()["w"],
        optimize.differential_evolution(f, box, maxiter=3, rng=0).standard_errors()["w"],
        optimize.lbfgs(of_labels, np.zeros(3)).standard_errors(),
    ]
    for errors in found:
        assert_allclose(errors, expected, rtol=1e-3)
