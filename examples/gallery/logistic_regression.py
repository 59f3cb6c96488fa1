"""Logistic regression of breast cancer, with standard errors from the Hessian."""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import cadiff
from cadiff.optimize import minimize

# 569 tumours: is one benign, given the means of eight features of its cells? (Radius and perimeter
# are left out, which say what the area says.)
data = load_breast_cancer()
names = ["intercept", *data.feature_names[[1, *range(3, 10)]]]
features = data.data[:, [1, *range(3, 10)]]
features = (features - features.mean(axis=0)) / features.std(axis=0)
design = np.column_stack([np.ones(len(features)), features])
benign = data.target.astype(float)


@cadiff.compile
def surprise(beta):
    """Minus the log-likelihood."""
    z = design @ beta
    return np.sum(np.logaddexp(0.0, z) - benign * z)


fit = minimize(surprise, np.zeros(9), method="trust-exact", options={"gtol": 1e-9})
covariance = np.linalg.inv(surprise.hessian(fit.x))
errors = np.sqrt(np.diag(covariance))

print(f"log-likelihood {-fit.fun:.6f} after {fit.nit} steps of Newton's method")
for name, beta, error in zip(names, fit.x, errors, strict=True):
    star = "*" if abs(beta) > 1.96 * error else ""
    print(f"{name:22} {beta:8.3f} +- {error:.3f} {star}")

# scikit-learn finds the same maximum, and the textbook has the Fisher information X' W X.
sklearn = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(features, benign)
assert np.allclose(fit.x, [*sklearn.intercept_, *sklearn.coef_[0]], atol=1e-6)
p = 1.0 / (1.0 + np.exp(-design @ fit.x))
assert np.allclose(np.linalg.inv((design.T * p * (1.0 - p)) @ design), covariance, rtol=1e-8)


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    order = np.argsort(fit.x)
    sure = np.abs(fit.x[order]) > 1.96 * errors[order]
    for chosen, colour, label in [(sure, "C0", "differs from 0"), (~sure, "C2", "may be 0")]:
        rows = np.flatnonzero(chosen)
        axes.errorbar(
            fit.x[order][rows], rows, xerr=1.96 * errors[order][rows], fmt="o", color=colour,
            capsize=3, label=label,
        )  # fmt: skip
    axes.axvline(0.0, color="C3", lw=0.8)
    axes.set_yticks(range(9), [names[k] for k in order])
    axes.set_xlabel("log-odds of benign by one standard deviation, with 95 % interval")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
