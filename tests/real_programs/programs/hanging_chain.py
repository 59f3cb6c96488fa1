"""The weight of a cable and how far it is pulled, from where it hangs, by a boundary problem."""

import numpy as np
from scipy.integrate import solve_bvp

MESH = np.linspace(0.0, 1.0, 21)
GUESS = np.vstack([-MESH * (1.0 - MESH), 2.0 * MESH - 1.0])
TRUTH = np.array([1.3, 0.4])
START = np.array([1.0, 0.2])


def heights(x):
    weight, lift = x

    def equations(s, y):
        return np.vstack([y[1], weight * np.sqrt(1.0 + y[1] ** 2)])

    def ends(left, right):
        return np.array([left[0], right[0] - lift])

    return solve_bvp(equations, ends, MESH, GUESS, tol=1e-7).sol(MESH[1:])[0]


DATA = heights(TRUTH)


def objective(x):
    return 100.0 * np.sum((heights(x) - DATA) ** 2)
