"""Distributions of `cadiff.scipy.stats` and the parameters with which to try them."""

from __future__ import annotations

# Names of shape parameters come from SciPy; location and scale are tried with all.
CONTINUOUS: dict[str, list[tuple[float, ...]]] = {
    "norm": [()],
    "t": [(0.7,), (3.3,), (40.0,)],
    "gamma": [(0.6,), (1.0,), (4.2,)],
    "chi2": [(1.1,), (2.0,), (7.3,)],
    "beta": [(0.6, 0.8), (1.0, 1.0), (1.7, 2.9), (40.0, 3.0)],
    "uniform": [()],
    "expon": [()],
    "laplace": [()],
    "logistic": [()],
    "lognorm": [(0.8,)],
    "cauchy": [()],
    "weibull_min": [(0.7,), (1.6,)],
}

DISCRETE: dict[str, list[tuple[float, ...]]] = {
    "poisson": [(0.4,), (3.3,), (60.0,)],
    "binom": [(1, 0.3), (9, 0.8)],
    "bernoulli": [(0.3,)],
}

# What the standardised variable is tried at: outside the support, in it, in the tails.
PLACES = [-40.0, -3.0, -0.4, 0.2, 0.7, 1.3, 2.6, 11.0]
COUNTS = [-1, 0, 1, 2.5, 3, 9, 20]

# Parameters by which the distribution function has no derivative.
FIXED: dict[str, set[str]] = {
    "binom": {"n"},
}
