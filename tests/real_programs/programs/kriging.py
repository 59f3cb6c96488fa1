"""The scale and noise of a field that was measured at some places, by its likelihood."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

RNG = np.random.default_rng(6)
PLACES = RNG.uniform(0.0, 4.0, (30, 2))
VALUES = np.sin(PLACES[:, 0]) * np.cos(PLACES[:, 1]) + 0.1 * RNG.normal(size=30)
START = np.log([1.0, 1.0, 0.5, 0.2])
TRUTH = None


def objective(logs):
    *lengths, size, noise = np.exp(logs)
    scaled = PLACES / np.array(lengths)
    r = np.sqrt(3.0) * cdist(scaled, scaled)
    covariance = size**2 * (1.0 + r) * np.exp(-r) + noise**2 * np.eye(30)
    factor = cho_factor(covariance, lower=True)
    determinant = np.sum(np.log(np.diag(factor[0])))
    return 0.5 * VALUES @ cho_solve(factor, VALUES) + determinant
