"""Calls under a volatility of its own, priced by Fourier integrals, and fitted to a smile."""

import numpy as np
from scipy.integrate import quad

STRIKES = np.array([80.0, 100.0, 120.0])
TERMS = (0.5, 2.0)
TRUTH = np.array([0.04, 1.5, 0.06, 0.5, -0.6])
START = np.array([0.05, 1.3, 0.055, 0.45, -0.5])


def characteristic(u, t, variance, pull, mean, vol, rho):
    """Of the logarithm of a price of 1: the form of Albrecher, without a jump of the logarithm."""
    xi = pull - rho * vol * u * 1j
    d = np.sqrt(xi**2 + vol**2 * (u * 1j + u**2))
    g = (xi - d) / (xi + d)
    decay = np.exp(-d * t)
    level = pull * mean / vol**2 * ((xi - d) * t - 2.0 * np.log((1.0 - g * decay) / (1.0 - g)))
    return np.exp(level + variance / vol**2 * (xi - d) * (1.0 - decay) / (1.0 - g * decay))


def call(strike, t, x, spot=100.0):
    k = np.log(strike / spot)

    def integrand(u):
        phi = characteristic(u - 0.5j, t, *x)
        return (np.exp(-1j * u * k) * phi).real / (u**2 + 0.25)

    area = quad(integrand, 0.0, 80.0, epsabs=1e-10, epsrel=1e-10, limit=200)[0]
    return spot - np.sqrt(spot * strike) / np.pi * area


def prices(x):
    return np.array([call(strike, t, x) for t in TERMS for strike in STRIKES])


DATA = prices(TRUTH)


def objective(x):
    return np.sum((prices(x) - DATA) ** 2)
