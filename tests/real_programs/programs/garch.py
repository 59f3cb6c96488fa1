"""The likelihood of returns whose variances are a linear filter of their squares."""

import numpy as np
from scipy.signal import lfilter

DRAWS = np.random.default_rng(4).normal(size=400)
START = np.log([0.2, 0.15, 0.7])
TRUTH = None  # returns are drawn: the optimum is where the gradient is zero


def simulated(omega, alpha, beta):
    variance, returns = omega / (1.0 - alpha - beta), []
    for draw in DRAWS:
        returns.append(np.sqrt(variance) * draw)
        variance = omega + alpha * returns[-1] ** 2 + beta * variance
    return np.array(returns)


RETURNS = simulated(0.1, 0.1, 0.8)


def objective(logs):
    omega, alpha, beta = np.exp(logs)
    inputs = np.append(np.var(RETURNS), omega + alpha * RETURNS[:-1] ** 2)
    variances = lfilter([1.0], np.array([1.0, -beta]), inputs)
    return 0.5 * np.sum(np.log(2.0 * np.pi * variances) + RETURNS**2 / variances)
