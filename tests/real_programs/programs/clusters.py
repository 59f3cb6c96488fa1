"""A mixture of two normal distributions, by its likelihood."""

import numpy as np
from scipy import stats
from scipy.special import expit, logsumexp

RNG = np.random.default_rng(5)
SAMPLE = np.concatenate([RNG.normal(-1.0, 0.5, 80), RNG.normal(2.0, 1.0, 120)])
START = np.array([0.0, -0.5, 1.5, 0.0, 0.0])
TRUTH = None


def objective(x):
    share, means, deviations = expit(x[0]), x[1:3], np.exp(x[3:])
    weights = np.log(np.stack([share, 1.0 - share]))
    each = stats.norm.logpdf(SAMPLE[:, None], loc=means, scale=deviations)
    return -np.sum(logsumexp(each + weights, axis=1))
