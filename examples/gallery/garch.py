"""GARCH: how the volatility of a share comes and goes, by maximum likelihood."""

import sys

import numpy as np
from matplotlib.cbook import get_sample_data
from scipy.optimize import minimize as scipy_minimize

import cadiff
import cadiff.numpy as cnp
from cadiff.optimize import minimize
from cadiff.scipy.signal import lfilter

# Google's share from August 2004 to October 2008, of which matplotlib ships the daily prices.
data = get_sample_data("goog.npz")["price_data"]
dates, returns = data["date"][1:], 100.0 * np.diff(np.log(data["adj_close"]))  # in per cent
shocks = returns - returns.mean()


@cadiff.compile(native="background")  # machine code, as soon as a C compiler has made it
def surprise(p):
    """Minus the log-likelihood of normal shocks with variances h = omega + alpha e² + beta h."""
    omega, alpha, beta = p
    h = cnp.zeros(len(shocks))
    h[0] = shocks.var()
    for t in range(1, len(shocks)):
        h[t] = omega + alpha * shocks[t - 1] ** 2 + beta * h[t - 1]
    return 0.5 * cnp.sum(cnp.log(2.0 * np.pi * h) + shocks**2 / h)


bounds = [(1e-6, None), (0.0, 1.0), (0.0, 1.0)]
fit = minimize(surprise, [0.5, 0.1, 0.8], bounds=bounds, method="L-BFGS-B", tol=1e-12)
errors = np.sqrt(np.diag(np.linalg.inv(surprise.hessian(fit.x))))
print(f"log-likelihood {-fit.fun:.4f} of {len(shocks)} days, after {fit.nit} iterations")
for name, value, error in zip(["omega", "alpha", "beta"], fit.x, errors, strict=True):
    print(f"{name:6} {value:.4f} +- {error:.4f}")


# The recursion is a linear filter too, and Nelder's and Mead's method needs no derivatives.
def variances(p):
    inputs = cnp.append(shocks.var(), p[0] + p[1] * shocks[:-1] ** 2)
    return lfilter([1.0], cnp.array([1.0, -p[2]]), inputs)


def by_filter(p):
    h = variances(p)
    return 0.5 * np.sum(np.log(2.0 * np.pi * h) + shocks**2 / h)


assert np.isclose(by_filter(fit.x), fit.fun, rtol=1e-12)
assert np.allclose(cadiff.hessian(by_filter)(fit.x), surprise.hessian(fit.x), rtol=1e-8)
options = {"xatol": 1e-7, "fatol": 1e-10}
again = scipy_minimize(
    by_filter, [0.5, 0.1, 0.8], bounds=bounds, method="Nelder-Mead", options=options
)
print(f"the same by {again.nfev} values without derivatives, where {fit.nfev} gradients did")
assert np.allclose(again.x, fit.x, atol=1e-4)


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    deviation = np.sqrt(variances(fit.x))
    axes.plot(dates, returns, "C0.", ms=3, label="daily returns")
    band = returns.mean() + 2.0 * deviation
    axes.plot(dates, band, "C1", lw=1.2, label="two deviations by GARCH(1, 1)")
    axes.plot(dates, 2.0 * returns.mean() - band, "C1", lw=1.2)
    axes.set(xlabel="day", ylabel="return / %")
    axes.legend(loc="upper left", ncols=2)
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
