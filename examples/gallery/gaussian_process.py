"""A Gaussian process learns NIST's curve of electron mobility without being told its formula."""

import sys

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import cadiff
from cadiff import nist
from cadiff.optimize import minimize

data = nist.load("Thurber")  # 37 measurements, whose curve is known: a certified fit of a cubic
x, y = data.x, (data.y - data.y.mean()) / data.y.std()  # over a cubic


def kernel(theta, a, b):
    """Covariances of a smooth function at a and b; theta is (log variance, log length, ...)."""
    variance, length = np.exp(theta[0]), np.exp(theta[1])
    return variance * np.exp(-0.5 * ((a[:, None] - b) / length) ** 2)


@cadiff.compile
def surprise(theta):
    """Minus the log of the marginal likelihood; theta[2] is the log of the noise's variance."""
    L = np.linalg.cholesky(kernel(theta, x, x) + np.exp(theta[2]) * np.eye(len(x)))
    half = np.linalg.solve(L, y)
    return 0.5 * half @ half + np.sum(np.log(np.diag(L))) + 0.5 * len(x) * np.log(2.0 * np.pi)


fit = minimize(surprise, np.array([0.0, 0.0, -3.0]), method="trust-exact")
errors = np.sqrt(np.diag(np.linalg.inv(surprise.hessian(fit.x))))
for name, log, error in zip(["variance", "length", "noise"], fit.x, errors, strict=True):
    print(f"{name:9} exp({log:6.3f} +- {error:.3f}) = {np.exp(log):.4g}")

# scikit-learn knows the likelihood of this kernel, and its gradient, by formulas of its own.
likelihood = GaussianProcessRegressor(
    ConstantKernel() * RBF() + WhiteKernel(), alpha=0.0, optimizer=None
).fit(x[:, None], y)
for theta in (np.array([0.0, 0.0, -3.0]), np.array([1.0, 0.5, -5.0])):
    value, gradient = likelihood.log_marginal_likelihood(theta, eval_gradient=True)
    ours = surprise.value_and_grad(theta)
    assert np.isclose(-ours[0], value, rtol=1e-12)
    assert np.allclose(-ours[1], gradient, rtol=1e-8)

# What the process says between the measurements, and what NIST certifies.
grid = np.linspace(x.min(), x.max(), 300)
factor = cho_factor(kernel(fit.x, x, x) + np.exp(fit.x[2]) * np.eye(len(x)))
across = kernel(fit.x, grid, x)
mean = data.y.mean() + data.y.std() * across @ cho_solve(factor, y)
variance = np.exp(fit.x[0]) - np.sum(across * cho_solve(factor, across.T).T, axis=1)
deviation = data.y.std() * np.sqrt(variance)
certified = nist.thurber(data.certified, grid)
inside = np.mean(np.abs(mean - certified) < 2.0 * deviation)
print(f"{inside:.0%} of the certified curve lie within two standard deviations")
assert inside > 0.9


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, (axes, below) = plt.subplots(
        2, sharex=True, height_ratios=(2, 1), figsize=(7.0, 4.5), layout="constrained"
    )
    axes.plot(grid, mean, "C0", label="Gaussian process")
    axes.plot(grid, certified, "C1--", label="certified fit of NIST")
    axes.plot(x, data.y, "C3o", ms=4, mfc="none", label="measurements")
    axes.set_ylabel("electron mobility")
    axes.legend(loc="upper left")
    below.fill_between(grid, -2 * deviation, 2 * deviation, color="C4", alpha=0.4)
    below.plot(grid, certified - mean, "C1--")
    below.axhline(0.0, color="C0")
    below.set(xlabel="log of the density", ylabel="difference, within\ntwo deviations")
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
