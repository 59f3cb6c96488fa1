"""Choose the penalty of a ridge regression by its error on other data, with exact derivatives.

The weights are a root of the gradient of the training loss; `cadiff.root` differentiates them by
the implicit function theorem, however they were found. The error on other data is then an ordinary
function of the penalty, and SciPy minimises it by Newton's method, with `cadiff.grad` and
`cadiff.hvp` through the inner solution. The result is compared with the formula of ridge
regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

import cadiff
import cadiff.numpy as cnp

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=20)
DESIGN, OTHER = RNG.normal(size=(30, 20)), RNG.normal(size=(200, 20))
TARGETS = DESIGN @ WEIGHTS + 3.0 * RNG.normal(size=30)
OTHER_TARGETS = OTHER @ WEIGHTS


def weights(log_penalty: Any) -> Any:
    """The minimum of the penalised training loss, found as a root of its gradient."""

    def loss(w: Any) -> Any:
        residual = DESIGN @ w - TARGETS
        return residual @ residual + cnp.exp(log_penalty) * (w @ w)

    return cadiff.root(cadiff.grad(loss), np.zeros(20))


def error(p: Any) -> Any:
    """Mean squared error on the other data, a function of the logarithm of the penalty."""
    residual = OTHER @ weights(p[0]) - OTHER_TARGETS
    return residual @ residual / len(OTHER)


def error_by_formula(log_penalty: float) -> float:
    """Mean squared error on the other data, with the weights from the normal equations."""
    matrix = DESIGN.T @ DESIGN + np.exp(log_penalty) * np.eye(20)
    residual = OTHER @ np.linalg.solve(matrix, DESIGN.T @ TARGETS) - OTHER_TARGETS
    return float(residual @ residual / len(OTHER))


def main() -> None:
    """Minimise, and check that the formula has its minimum at the same place."""
    result = minimize(
        cadiff.value_and_grad(error),
        np.zeros(1),
        jac=True,
        hessp=cadiff.hvp(error),
        method="Newton-CG",
        options={"xtol": 1e-10},
    )
    best = result.x[0]
    print(f"penalty {np.exp(best):.4f}: error {result.fun:.6f}, {result.nfev} evaluations")
    print(f"without penalty: error {error_by_formula(-50.0):.6f}")
    assert abs(result.fun - error_by_formula(best)) < 1e-9
    h = 1e-3
    slope = (error_by_formula(best + h) - error_by_formula(best - h)) / (2 * h)
    assert abs(slope) < 1e-5


if __name__ == "__main__":
    main()
