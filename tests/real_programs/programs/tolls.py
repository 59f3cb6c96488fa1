"""Tolls that lead drivers, who minimize their own cost, to the traffic that is wanted."""

import numpy as np
from scipy.optimize import minimize

CAPACITY = np.array([1.0, 1.5, 2.0, 1.2])
FREE = np.array([1.0, 1.2, 0.9, 1.1])
TRUTH = np.array([0.3, -0.2, 0.1])  # the last road is free of toll
START = np.zeros(3)


def traffic(tolls):
    paid = FREE + np.append(tolls, 0.0)

    def flows(y):  # four drive, whatever they choose
        return np.append(y, 4.0 - np.sum(y))

    def cost(y):
        return np.sum(paid * flows(y) + 0.2 * flows(y) ** 3 / CAPACITY)

    def slopes(y):
        each = paid + 0.6 * flows(y) ** 2 / CAPACITY
        return each[:3] - each[3]

    def curvature(y):
        each = 1.2 * flows(y) / CAPACITY
        return np.diag(each[:3]) + each[3]

    options = {"gtol": 1e-6}
    way = {"method": "trust-exact", "jac": slopes, "hess": curvature, "options": options}
    return flows(minimize(cost, np.ones(3), **way).x)


DATA = traffic(TRUTH)


def objective(tolls):
    return np.sum((traffic(tolls) - DATA) ** 2)
