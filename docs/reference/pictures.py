"""What each function of `cadiff.plot` draws, in one figure: the picture of its page."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

import cadiff
from cadiff import plot
from cadiff.optimize import History, minimize

figure, axes = plt.subplots(3, 2, figsize=(10.0, 12.0), layout="constrained")


# --- sparse matrices


def smooth(x: Any) -> Any:
    return np.cumsum(np.sin(x).reshape(-1, 4), axis=1).ravel()


plot.sparsity(smooth, np.ones(40), ax=axes[0, 0])  # 4 sweeps give all of its 100 entries
plot.sparsity(lambda x: (smooth(x) * x).sum(), np.ones(40), what="hessian", ax=axes[0, 1])


# --- optimisations


def rosenbrock(x: Any) -> Any:
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2


runs = {
    method: minimize(rosenbrock, [-1.2, 1.0], method=method, callback=History())
    for method in ("BFGS", "CG", "Newton-CG")
}
plot.contours(rosenbrock, runs["BFGS"], arrows=True, ax=axes[1, 0])
plot.convergence(runs, ax=axes[1, 1])  # or the gradient's norm: what="gradient"

# --- recordings and programs

plot.graph(lambda x, y: cadiff.sin(x) * y + x, 0.5, 3.0, ax=axes[2, 0])

program = cadiff.compile(lambda x: np.sum(np.exp(x) * np.sin(x) / (1.0 + x * x)))
plot.profile(program, np.linspace(0.0, 1.0, 10_000), ax=axes[2, 1])

# --- the picture

figure.savefig(sys.argv[1], dpi=110)
