"""Heat in a rod of five pieces, whose conductivities are to be found from temperatures."""

import numpy as np
from scipy.sparse import diags
from scipy.sparse.linalg import spsolve

CELLS = 40
TRUTH = np.array([0.4, -0.3, 0.8, 0.1, -0.6])  # logarithms of conductivities
START = np.zeros(5)
SOURCE = np.sin(np.linspace(0.0, np.pi, CELLS)) + 0.5


def temperatures(logs, steps=6, dt=0.05):
    conductivity = np.repeat(np.exp(logs), CELLS // 5)
    between = 2.0 / (1.0 / conductivity[1:] + 1.0 / conductivity[:-1])
    flow = np.concatenate([conductivity[:1], between, conductivity[-1:]])
    stiffness = diags([-flow[1:-1], flow[1:] + flow[:-1], -flow[1:-1]], [-1, 0, 1], format="csc")
    system = diags(np.ones(CELLS), 0, format="csc") + dt * stiffness
    u, history = np.zeros(CELLS), []
    for _ in range(steps):
        u = spsolve(system, u + dt * SOURCE)
        history.append(u)
    return np.array(history)


DATA = temperatures(TRUTH)


def objective(logs):
    return 100.0 * np.sum((temperatures(logs) - DATA) ** 2)
