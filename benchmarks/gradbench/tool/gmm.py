"""The log posterior of a mixture of Gaussians, with a Wishart prior on their precisions."""

import math

import cadiff.numpy as np

from .lse import logsumexp


def log_posterior(parameters, x, m, gamma):
    alpha, mu, q = parameters["alpha"], parameters["mu"], parameters["q"]
    d = x.shape[1]
    Q = roots_of_precisions(q, parameters["l"])
    logdets = np.sum(q, axis=1)
    z = np.einsum("kij,nkj->nki", Q, x[:, None] - mu)
    beta = alpha + logdets - 0.5 * np.sum(z**2, axis=2)
    likelihood = np.sum(logsumexp(beta) - logsumexp(alpha) - 0.5 * d * math.log(2.0 * math.pi))
    prior = m * np.sum(logdets) - 0.5 * gamma**2 * np.sum(Q**2)
    return likelihood + prior + len(alpha) * log_scale_of_wishart(d, m, gamma)


def roots_of_precisions(q, below):
    """Lower triangular matrices: exponentials on the diagonal, the rest column by column."""
    k, d = q.shape
    Q = np.zeros((k, d, d))
    diagonal = np.arange(d)
    column, row = np.triu_indices(d, 1)
    Q[:, diagonal, diagonal] = np.exp(q)
    Q[:, row, column] = below
    return Q


def log_scale_of_wishart(d, m, gamma):
    n = d + m + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi)
    log_gamma += sum(math.lgamma(0.5 * (n - j)) for j in range(d))
    return n * d * np.log(gamma / math.sqrt(2.0)) - log_gamma


def arguments(input):
    parameters = {name: np.array(input[name]) for name in ("alpha", "mu", "q", "l")}
    return parameters, np.array(input["x"]), input["m"], input["gamma"]


def functions(compiled):
    program = compiled(log_posterior)
    return {"objective": program, "jacobian": program.grad}
