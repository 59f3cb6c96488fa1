"""Rates at equilibria, which are roots of a system of equations for each amount of substrate."""

import numpy as np
from scipy.optimize import root

TOTALS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
TRUTH = np.log([0.8, 2.5, 1.4])
START = np.log([1.0, 2.0, 1.0])


def rate(total, first, second, turnover):
    def balance(y):
        bound, twice = y
        free = total - bound - 2.0 * twice
        enzyme = 1.0 - bound - twice
        return np.array([first * bound - enzyme * free, second * twice - bound * free])

    bound, twice = root(balance, np.array([0.2, 0.1]), tol=1e-13).x
    return turnover * (bound + 2.0 * twice)


def rates(logs):
    constants = np.exp(logs)
    return np.array([rate(total, *constants) for total in TOTALS])


DATA = rates(TRUTH)


def objective(logs):
    return np.sum((rates(logs) - DATA) ** 2)
