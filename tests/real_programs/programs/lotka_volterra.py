"""Hares and lynxes: rates and starts fitted through an adaptive integrator."""

import numpy as np
from scipy.integrate import solve_ivp

TIMES = np.linspace(0.5, 8.0, 16)
TRUTH = np.log([1.1, 0.4, 0.1, 0.4, 10.0, 5.0])
START = np.log([1.0, 0.45, 0.11, 0.45, 9.0, 5.5])


def populations(logs):
    birth, hunt, feed, death, hares, lynxes = np.exp(logs)

    def change(t, y):
        return [y[0] * (birth - hunt * y[1]), y[1] * (feed * y[0] - death)]

    path = solve_ivp(
        change, (0.0, 8.0), [hares, lynxes], "DOP853", t_eval=TIMES, rtol=1e-11, atol=1e-11
    )
    return path.y


DATA = np.log(populations(TRUTH))


def objective(logs):
    return np.sum((np.log(populations(logs)) - DATA) ** 2)
