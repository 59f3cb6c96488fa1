"""A Dask array whose blocks lie on the workers of a cluster: least squares by L-BFGS.

What travels in an evaluation is the weights and, from each block, one vector: the gradient with
the value behind it. These vectors are added in a tree. On a cluster of many machines the address
of its scheduler stands where `LocalCluster` stands here.
"""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import cadiff
from cadiff.optimize import minimize

N_ROWS, WIDTH, STEP = 40_000, 10, 10_000


@cadiff.compile
def loss(w: Any, rows: Any) -> Any:
    """Half the squared errors of a network of one unit."""
    return 0.5 * np.sum((np.tanh(rows[:, :-1] @ w) - rows[:, -1]) ** 2)


def of_block(rows: Any, w: Any) -> Any:
    """The gradient for some rows, and behind it the value."""
    value, gradient = loss.value_and_grad(w, rows)
    return np.append(gradient, value)


def added(parts: list[Any]) -> Any:
    """The sum of delayed vectors, by twos."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [dask.delayed(sum)(pair) for pair in pairs]
    return parts[0]


def main() -> None:
    """Fit on two processes, and compare with all rows at once in this one."""
    state = da.random.default_rng(0)
    inputs = state.normal(size=(N_ROWS, WIDTH), chunks=(STEP, WIDTH))
    weights = np.linspace(-1.0, 1.0, WIDTH)
    table = da.concatenate([inputs, da.tanh(inputs @ weights)[:, None]], axis=1)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        table = table.rechunk((STEP, WIDTH + 1)).persist()  # the blocks stay where they were made
        blocks = table.to_delayed().ravel()

        def total(w: Any) -> tuple[Any, Any]:
            both = added([dask.delayed(of_block)(block, w) for block in blocks]).compute()
            return both[-1], both[:-1]

        result = minimize(total, np.zeros(WIDTH), jac=True, method="L-BFGS-B")
        value, gradient = total(0.5 * weights)
        expected = loss.value_and_grad(0.5 * weights, table.compute())
    print(f"{result.nfev} evaluations, largest error {np.max(np.abs(result.x - weights)):.1e}")
    assert abs(value - expected[0]) < 1e-12 * value
    assert np.max(np.abs(gradient - expected[1])) < 1e-12 * np.max(np.abs(gradient))
    assert np.max(np.abs(result.x - weights)) < 1e-3


if __name__ == "__main__":
    main()
