"""SciPy's optimisers with exact derivatives: the Rosenbrock function of 50 variables.

``jac=True`` tells `scipy.optimize.minimize` that the function returns its value and its gradient
together, as `cadiff.value_and_grad` does; `cadiff.hvp` has the signature that ``hessp`` wants.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize

import cadiff

N = 50


def rosenbrock(x: Any) -> Any:
    """The sum of banana-shaped valleys between neighbours; its minimum is 0, where all are 1."""
    total = 0.0
    for here, there in pairwise(x):
        total += 100.0 * (there - here**2) ** 2 + (1.0 - here) ** 2
    return total


def report(method: str, result: Any) -> None:
    """Print where a run ended, and check that it is the minimum."""
    error = float(np.max(np.abs(result.x - 1.0)))
    print(
        f"{method:9}  minimum {result.fun:8.1e} after {result.nfev:3} evaluations, "
        f"largest error in x {error:.1e}"
    )
    assert error < 1e-6


def main() -> None:
    """Minimise with L-BFGS-B, and with Newton-CG on Hessian-vector products."""
    value_and_grad = cadiff.value_and_grad(rosenbrock)
    x0 = np.zeros(N)

    result = minimize(
        value_and_grad,
        x0,
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-8, "maxiter": 1000},
    )
    report("L-BFGS-B", result)

    result = minimize(
        value_and_grad,
        x0,
        jac=True,
        hessp=cadiff.hvp(rosenbrock),
        method="Newton-CG",
        options={"xtol": 1e-10},
    )
    report("Newton-CG", result)


if __name__ == "__main__":
    main()
