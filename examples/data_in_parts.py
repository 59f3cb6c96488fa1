"""Data that are read in parts, by several processes: logistic regression by L-BFGS.

The rows stand in a file that no process reads as a whole. Each worker maps it, and answers value
and gradient of the loss for a range of rows; their sums are the value and the gradient for all.
joblib sends `loss` with what it has recorded here, so that workers record nothing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import cadiff
from cadiff.optimize import minimize

N_ROWS, WIDTH, STEP = 100_000, 20, 25_000


@cadiff.compile
def loss(w: Any, inputs: Any, labels: Any) -> Any:
    """The logistic loss of some rows."""
    z = inputs @ w
    return np.sum(np.logaddexp(0.0, z) - labels * z)


def write_rows(path: Path) -> Any:
    """Draw rows of inputs, each with its label behind it; answers the weights that drew them."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=WIDTH)
    rows = np.memmap(path, dtype=np.float64, mode="w+", shape=(N_ROWS, WIDTH + 1))
    for begin in range(0, N_ROWS, STEP):
        part = rows[begin : begin + STEP]
        part[:, :-1] = rng.normal(size=(STEP, WIDTH))
        part[:, -1] = rng.random(STEP) < 1.0 / (1.0 + np.exp(-part[:, :-1] @ weights))
    rows.flush()
    return weights


def loss_of(path: Path, begin: int, w: Any) -> tuple[Any, Any]:
    """Value and gradient for the rows from `begin` on; what else is in the file is not read."""
    rows = np.memmap(path, dtype=np.float64, mode="r").reshape(-1, WIDTH + 1)
    part = rows[begin : begin + STEP]
    value, gradient = loss.value_and_grad(w, part[:, :-1], part[:, -1])
    return value, gradient


def main() -> None:
    """Fit, and compare with all rows at once in this process."""
    with tempfile.TemporaryDirectory() as directory, Parallel(n_jobs=2) as pool:
        path = Path(directory, "rows")
        weights = write_rows(path)
        loss_of(path, 0, np.zeros(WIDTH))  # is recorded here

        def total(w: Any) -> tuple[Any, Any]:
            found = pool(delayed(loss_of)(path, begin, w) for begin in range(0, N_ROWS, STEP))
            return sum(value for value, _ in found), sum(gradient for _, gradient in found)

        result = minimize(total, np.zeros(WIDTH), jac=True, method="L-BFGS-B")
        rows = np.memmap(path, dtype=np.float64, mode="r").reshape(-1, WIDTH + 1)
        value, gradient = loss.value_and_grad(result.x, rows[:, :-1], rows[:, -1])
        del rows  # else Windows keeps the file
    print(f"{result.nfev} evaluations, loss {result.fun / N_ROWS:.4f} a row")
    print(f"largest error of a weight: {np.max(np.abs(result.x - weights)):.3f}")
    assert abs(result.fun - value) < 1e-12 * value
    assert np.max(np.abs(result.jac - gradient)) < 1e-12 * value
    assert np.max(np.abs(result.x - weights)) < 0.1


if __name__ == "__main__":
    main()
