"""Logistic regression in arrays: breast cancer, by maximum likelihood with SciPy's optimiser.

scikit-learn's breast-cancer data describe 569 tumours, malignant or benign, by 30 features each.
All 30 together separate the two classes by a plane, so that no maximum-likelihood solution exists;
the ten means do not, and are used here with an intercept. The gradient comes from reverse mode,
and again from one forward pass of a `Dual` that carries an identity matrix of tangents. Both
optima agree to 1e-6 with the one that Newton's method finds in plain NumPy.

    pip install ".[examples]"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, minimize

import cadiff

try:
    from sklearn.datasets import load_breast_cancer
except ModuleNotFoundError as error:
    raise SystemExit(f'this example needs {error.name}: pip install ".[examples]"') from error

Array: TypeAlias = npt.NDArray[np.float64]
ValueAndGradient: TypeAlias = Callable[[Array], tuple[float, Array]]

FEATURES = 10


def load(features: int) -> tuple[Array, Array]:
    """The design matrix, its first column all ones, of standardised features; labels 0 and 1."""
    data, labels = load_breast_cancer(return_X_y=True)
    chosen = data[:, :features]
    standardised = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)
    return np.column_stack([np.ones(len(labels)), standardised]), labels.astype(np.float64)


def is_separable(design: Array, labels: Array) -> bool:
    """Whether some plane has all labels 1 on one side: a linear program that is feasible."""
    signs = np.where(labels == 1.0, 1.0, -1.0)
    plane = linprog(
        np.zeros(design.shape[1]),
        A_ub=-signs[:, np.newaxis] * design,
        b_ub=-np.ones(len(labels)),
        bounds=(None, None),
    )
    return bool(plane.success)


def make_loss(design: Array, labels: Array) -> Callable[[Any], Any]:
    """Minus the log-likelihood: Σ log(1 + exp(z)) - y z with z = Xβ."""

    def loss(beta: Any) -> Any:
        z = design @ beta
        return np.sum(np.logaddexp(0.0, z) - labels * z)

    return loss


def forward(loss: Callable[[Any], Any]) -> ValueAndGradient:
    """Value and gradient from one forward pass, one tangent for each coefficient."""

    def value_and_gradient(beta: Array) -> tuple[float, Array]:
        out = loss(cadiff.Dual.seed(beta))
        return out.primal, out.tangent

    return value_and_gradient


def newton(design: Array, labels: Array) -> Array:
    """Solve Xᵀ(σ(Xβ) - y) = 0 in plain NumPy."""
    beta = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-(design @ beta)))
        hessian = (design.T * (p * (1.0 - p))) @ design
        beta -= np.linalg.solve(hessian, design.T @ (p - labels))
    return beta


def main() -> None:
    """Check the gradient, fit in both modes, compare with Newton's solution."""
    design, labels = load(FEATURES)
    assert is_separable(*load(30))
    assert not is_separable(design, labels)
    loss = make_loss(design, labels)
    modes: dict[str, Any] = {"reverse": cadiff.value_and_grad(loss), "forward": forward(loss)}

    at = np.random.default_rng(0).standard_normal(design.shape[1])
    closed_form = design.T @ (1.0 / (1.0 + np.exp(-(design @ at))) - labels)
    expected = newton(design, labels)
    for mode, value_and_gradient in modes.items():
        value, gradient = value_and_gradient(at)
        assert np.isclose(value, loss(at), rtol=1e-13)
        error = np.linalg.norm(gradient - closed_form) / np.linalg.norm(closed_form)
        assert error < 1e-12

        result = minimize(
            value_and_gradient,
            np.zeros(design.shape[1]),
            jac=True,
            hessp=cadiff.hvp(loss),
            method="trust-ncg",
            options={"gtol": 1e-9},
        )
        distance = np.max(np.abs(result.x - expected))
        print(
            f"{mode:7}  gradient to {error:.1e}, log-likelihood {-result.fun:.9f} "
            f"after {result.nit} steps, {distance:.1e} from Newton's solution"
        )
        assert distance < 1e-6


if __name__ == "__main__":
    main()
