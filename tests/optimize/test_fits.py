"""Least squares and curves: against certified results and SciPy's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize as scipy_optimize

import cadiff
from benchmarks.linear_contests import broyden_of_arrays as broyden
from cadiff import nist, optimize
from cadiff import numpy as cnp
from cadiff.optimize import Bounds, curve_fit, least_squares


def thurber(x: Any, *b: Any) -> Any:
    above = b[0] + x * (b[1] + x * (b[2] + x * b[3]))
    return above / (1.0 + x * (b[4] + x * (b[5] + x * b[6])))


MODELS = {
    "Misra1a": lambda x, a, b: a * (1.0 - cnp.exp(-b * x)),
    "Thurber": thurber,
    "MGH10": lambda x, a, b, c: a * cnp.exp(b / (x + c)),
}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", MODELS)
def test_certified_fits(name: str, start: int) -> None:
    data = nist.load(name)
    popt, pcov = curve_fit(MODELS[name], data.x, data.y, data.starts[start])
    assert_allclose(popt, data.certified, rtol=1e-9)
    assert_allclose(np.sqrt(np.diag(pcov)), data.certified_std, rtol=1e-9)


def exponential(x: Any, a: Any, b: Any, c: Any) -> Any:
    return a * cnp.exp(-b * x) + c


X = np.linspace(0.0, 4.0, 25)
Y = exponential(X, 2.5, 1.3, 0.5) + 0.05 * np.cos(40.0 * X)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sigma": 0.1 + 0.05 * X},
        {"sigma": 0.1 + 0.05 * X, "absolute_sigma": True},
        {"sigma": 0.1 * np.eye(25) + 0.02},
        {"sigma": 0.2, "absolute_sigma": True},
        {"sigma": np.float64(0.2), "method": "trf", "absolute_sigma": True},
        {"bounds": ([0.0, 0.0, 0.0], [3.0, 2.0, 1.0])},
        {"bounds": Bounds(np.zeros(3), np.full(3, 2.0)), "p0": [1.0, 1.0, 1.0]},
        {"method": "trf"},
        {"method": "dogbox", "p0": [1.0, 2.0, 3.0]},
        {"p0": [2.0, 1.0, 0.0], "method": "lm"},
        {"jac": "2-point"},
        {"loss": "soft_l1", "method": "trf"},
    ],
)
def test_fits_are_those_of_scipy(options: dict[str, Any]) -> None:
    known = scipy_optimize.curve_fit(
        exponential, X, Y, **{k: v for k, v in options.items() if k != "jac"}
    )
    popt, pcov = curve_fit(exponential, X, Y, **options)
    assert_allclose(popt, known[0], rtol=1e-4)
    assert_allclose(pcov, known[1], rtol=1e-2, atol=1e-6)


def test_other_results_and_data() -> None:
    popt, _, info, message, flag = curve_fit(exponential, X, Y, full_output=True)
    assert info["nfev"] > 3
    assert isinstance(message, str)
    assert flag in (1, 2, 3, 4)
    lists = curve_fit(exponential, list(X), list(Y))[0]
    assert_allclose(lists, popt, rtol=1e-10)
    with_nans = np.append(Y, np.nan)
    left_out = curve_fit(exponential, np.append(X, 5.0), with_nans, nan_policy="omit")[0]
    assert_allclose(left_out, popt, rtol=1e-5)
    two = curve_fit(
        lambda data, a, b: a * data[0] + b * data[1] ** 2, np.stack([X, Y]), 2.0 * X + 3.0 * Y**2
    )[0]
    assert_allclose(two, [2.0, 3.0], rtol=1e-12)


def test_a_loop_with_branches_is_fitted() -> None:
    def f(xs: Any, a: Any, b: Any) -> Any:
        return [a * x if x < 2.0 else a * 2.0 + b * (x - 2.0) for x in xs]

    popt, _ = curve_fit(f, X, np.where(X < 2.0, 3.0 * X, 6.0 - (X - 2.0)))
    assert_allclose(popt, [3.0, -1.0], rtol=1e-10)


def test_fits_without_residuals() -> None:
    popt, _ = curve_fit(lambda x, a, b: a * x + b, X, 2.0 * X + 1.0)
    assert_allclose(popt, [2.0, 1.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "data"),
    [
        (lambda x, a, b: (a + b) * x, 2.0 * X),
        (lambda x, a, b: a * x + 0.0 * b, 2.0 * X + np.sin(X)),
        (lambda x, a, b: a * b * x, 2.0 * X + np.sin(X)),
        (exponential, np.full(25, 2.0)),
    ],
)
def test_parameters_that_data_do_not_determine(f: Any, data: Any) -> None:
    with pytest.warns(scipy_optimize.OptimizeWarning):
        popt, pcov = curve_fit(f, X, data)
    assert np.all(np.isinf(pcov))
    assert np.sum((f(X, *popt) - data) ** 2) < 40.0


@pytest.mark.parametrize("sigma", [0.1 * np.eye(25) + 0.02, 0.1 + 0.05 * X])
def test_fits_with_errors_of_data_are_refined(sigma: Any) -> None:
    popt, _ = curve_fit(exponential, X, Y, sigma=sigma)
    covariance = sigma if np.ndim(sigma) == 2 else np.diag(sigma**2)
    jacobian = np.stack(
        [np.exp(-popt[1] * X), -popt[0] * X * np.exp(-popt[1] * X), np.ones(25)], axis=1
    )
    gradient = jacobian.T @ np.linalg.solve(covariance, exponential(X, *popt) - Y)
    assert_allclose(gradient, 0.0, atol=1e-11)


# --- residuals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
@pytest.mark.parametrize("loss", ["linear", "huber"])
def test_least_squares(method: str, loss: str) -> None:
    if method == "lm" and loss != "linear":
        return

    def residuals(p: Any, x: Any, *, offset: float) -> Any:
        return exponential(x, p[0], p[1], offset) - Y

    options = {"method": method, "loss": loss, "args": (X,), "kwargs": {"offset": 0.5}}
    found = least_squares(residuals, [1.0, 1.0], **options)
    known = scipy_optimize.least_squares(residuals, [1.0, 1.0], **options)
    assert_allclose(found.x, known.x, rtol=1e-5)
    assert_allclose(found.jac, known.jac, rtol=1e-4, atol=1e-6)
    assert found.nfev <= known.nfev


def test_positional_arguments_and_a_jacobian_by_hand() -> None:
    calls = []

    def jac(x: Any) -> Any:
        calls.append(1)
        return np.diag(2.0 * x)

    result = least_squares(lambda x: x**2 - [1.0, 4.0], [2.0, 3.0], jac, (0.0, 5.0), "trf", 1e-12)
    assert calls
    assert_allclose(result.x, [1.0, 2.0], rtol=1e-6)


@pytest.mark.parametrize("jac", ["3-point", lambda x: np.diag(2.0 * x)])
def test_residuals_that_need_plain_numbers(jac: Any) -> None:
    """They may, silently where nothing is to be differentiated."""

    def residuals(x: Any) -> Any:
        return [float(one) ** 2 - k for k, one in enumerate(x, 1)]

    with pytest.warns(RuntimeWarning, match="finite differences, .* plain number"):
        result = least_squares(residuals, [2.0, 3.0])
    assert_allclose(result.x, [1.0, 2.0**0.5], rtol=1e-6)
    result = least_squares(residuals, [2.0, 3.0], jac)
    assert_allclose(result.x, [1.0, 2.0**0.5], rtol=1e-6)


def test_sparse_jacobians_are_found() -> None:
    result = least_squares(broyden, np.full(300, -1.0))
    assert result.jac.nnz == 898
    assert result.cost < 1e-12
    dense = least_squares(broyden, np.full(300, -1.0), method="lm")
    assert_allclose(dense.x, result.x, rtol=1e-6)
    exact = least_squares(broyden, np.full(60, -1.0), tr_solver="exact")
    assert isinstance(exact.jac, np.ndarray)


def test_sparse_steps_solve_an_ill_conditioned_system() -> None:
    """A beam between supports, linear, so that one step should do."""

    def beam(x: Any) -> Any:
        return cnp.concatenate([x[2:] - 2.0 * x[1:-1] + x[:-2] - 1e-3, x[:1], x[-1:]])

    result = least_squares(beam, np.zeros(60))
    assert result.jac.nnz == 3 * 58 + 2
    assert result.nfev < 8
    assert result.cost < 1e-20


def test_a_single_residual() -> None:
    assert_allclose(least_squares(lambda x: x[0] ** 2 - 2.0, 1.0).x, [2.0**0.5], rtol=1e-7)


def test_many_jacobians_of_long_arrays_are_recorded_in_the_end(monkeypatch: Any) -> None:
    fits = optimize._fits
    monkeypatch.setattr(fits, "EAGER_JACOBIANS", 2)
    calls = []

    def residuals(p: Any) -> Any:
        calls.append(type(p))
        return exponential(np.linspace(0.0, 4.0, 1000), *p) - 1.0 / (1.0 + np.arange(1000))

    found = least_squares(residuals, np.ones(3))
    expected = scipy_optimize.least_squares(residuals, np.ones(3), jac="3-point")
    assert_allclose(found.x, expected.x, rtol=1e-5)
    assert found.njev > 3
    assert sum(kind is cadiff.Var for kind in calls) <= 5


@dataclass
class Residuals:
    first: Any
    second: Any


@pytest.mark.parametrize("method", ["trf", "lm"])
@pytest.mark.parametrize("n", [3, 60])
def test_residuals_in_containers(method: str, n: int) -> None:
    """Several data sets, a picture: what they are one after the other is their vector."""
    first, second = np.linspace(0.1, 0.9, n), np.linspace(2.0, 1.0, 2 * n).reshape(n, 2)

    def parts(x: Any) -> tuple[Any, Any]:
        return cnp.sin(x) - first, second * x[:, np.newaxis] - 1.0

    def flat(x: Any) -> Any:
        return cnp.concatenate([part.ravel() for part in parts(x)])

    expected = scipy_optimize.least_squares(flat, np.zeros(n), method=method)
    for form in (
        lambda x: dict(zip("ab", parts(x), strict=True)),
        lambda x: list(parts(x)),
        lambda x: Residuals(*parts(x)),
    ):
        found = least_squares(form, np.zeros(n), method=method)
        assert_allclose(found.x, expected.x, atol=1e-6)
        assert found.fun.shape == (3 * n,)
        assert found.jac.shape == (3 * n, n)
    with pytest.raises(ValueError, match=rf"residuals have shape \({n}, 2\), expected one axis"):
        least_squares(lambda x: parts(x)[1], np.zeros(n), method=method)  # SciPy raises, too


def decayed(q: Any) -> Any:
    """A primitive whose rules compute with plain numbers, as those for a solver of ODEs do."""
    power = cadiff.primitive(lambda q: np.exp(-q[1] * X) * q[0])

    def slopes(q: Any) -> Any:
        plain = np.exp(-float(q[1]) * X)
        return np.stack([plain, -float(q[0]) * X * plain], axis=1)

    power.defjvp(lambda g, ans, q: slopes(q) @ g)
    power.defvjp(lambda ans, q: lambda g: g @ slopes(q))
    return power(q)


@pytest.mark.filterwarnings("ignore:delta_grad")  # SciPy's, of its own approximation
def test_rules_for_first_derivatives_alone_will_do() -> None:
    data = decayed(np.array([2.0, 0.7])) + 0.01 * np.cos(30.0 * X)
    expected = scipy_optimize.curve_fit(lambda x, a, k: a * np.exp(-k * x), X, data)
    for method in (None, "trf"):
        found = curve_fit(lambda x, a, k: decayed(cnp.array([a, k])), X, data, method=method)
        for part, other in zip(found, expected, strict=True):
            assert_allclose(part, other, rtol=1e-5)
    best = optimize.minimize(
        lambda q: cnp.sum((decayed(q) - data) ** 2),
        [1.0, 1.0],
        method="trust-constr",
        constraints=optimize.NonlinearConstraint(lambda q: decayed(q)[:2], -10.0, 10.0),
        options={"gtol": 1e-9},
    )
    assert_allclose(best.x, expected[0], rtol=1e-4)


def test_a_start_may_name_the_arguments_without_defaults_alone() -> None:
    def line(t: Any, a: Any, b: Any, c: Any = 0.0) -> Any:
        return a * t + b + c

    assert set(curve_fit(line, X, X, {"a": 2.0, "b": 1.0})[0]) == {"a", "b"}
    found = curve_fit(lambda t, a: a + 0.0 * t, X, [2.0], [1.0])  # ydata is broadcast
    assert_allclose(found[0], [2.0])
