"""Hamiltonian Monte Carlo: how likely Challenger's O-rings were to fail at 31 degrees."""

import sys

import numpy as np
from scipy.special import expit

import cadiff

# The 23 flights before: temperature at launch in degrees Fahrenheit, and whether a ring failed.
temperature = [
    66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58,
]  # fmt: skip
failed = [0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1]
t, failed = (np.array(temperature) - 69.0) / 7.0, np.array(failed, float)


@cadiff.compile
def energy(q):
    """Minus the log of the posterior: a logistic regression with priors N(0, 5²)."""
    z = q[0] + q[1] * t
    return np.sum(np.logaddexp(0.0, z) - failed * z) + q @ q / 50.0


def sample(q, steps=8, size=0.35, draws=400):
    """Many chains side by side: each row of q is a ball that rolls, and is kicked now and then."""
    kept, rng = [], np.random.default_rng(1)
    value, gradient = energy.batch(q, what="value_and_grad")
    for _ in range(draws):
        p = rng.normal(size=q.shape)
        before = value + 0.5 * np.sum(p**2, axis=1)
        new, slope = q, gradient
        for _ in range(steps):  # leapfrog
            p = p - 0.5 * size * slope
            new = new + size * p
            new_value, slope = energy.batch(new, what="value_and_grad")
            p = p - 0.5 * size * slope
        after = new_value + 0.5 * np.sum(p**2, axis=1)
        accepted = rng.random(len(q)) < np.exp(np.minimum(before - after, 0.0))
        q = np.where(accepted[:, None], new, q)
        value = np.where(accepted, new_value, value)
        gradient = np.where(accepted[:, None], slope, gradient)
        kept.append(q)
    return np.array(kept[len(kept) // 4 :])


chains = sample(np.random.default_rng(0).normal(size=(100, 2)))
draws = chains.reshape(-1, 2)
mean, deviation = draws.mean(axis=0), draws.std(axis=0)
print(f"{len(draws)} draws: intercept {mean[0]:.3f} +- {deviation[0]:.3f}, ", end="")
print(f"slope {mean[1]:.3f} +- {deviation[1]:.3f}")

# The same moments by quadrature, which two dimensions still allow.
grid = np.stack(np.meshgrid(np.linspace(-6, 4, 300), np.linspace(-9, 3, 300)), -1).reshape(-1, 2)
weights = np.exp(-energy.batch(grid))
weights /= weights.sum()
exact_mean = weights @ grid
exact_deviation = np.sqrt(weights @ (grid - exact_mean) ** 2)
error = chains.mean(axis=0).std(axis=0) / np.sqrt(len(chains[0]))  # chains are independent
assert np.all(np.abs(mean - exact_mean) < 4.0 * error)
assert np.allclose(deviation, exact_deviation, rtol=0.03)
print(f"quadrature says intercept {exact_mean[0]:.3f}, slope {exact_mean[1]:.3f}")

risk = expit(draws[:, 0] + draws[:, 1] * (31.0 - 69.0) / 7.0)
low, middle = np.quantile(risk, [0.05, 0.5])
print(f"risk at 31 degrees: {middle:.4f}, and above {low:.2f} with 95 %")


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    degrees = np.linspace(28.0, 84.0, 150)
    curves = expit(draws[::10, :1] + draws[::10, 1:] * (degrees - 69.0) / 7.0)
    low, middle, high = np.quantile(curves, [0.05, 0.5, 0.95], axis=0)
    axes.fill_between(degrees, low, high, color="C4", alpha=0.4, label="90 % of the posterior")
    axes.plot(degrees, middle, "C0", label="median")
    jitter = np.random.default_rng(0).uniform(-0.02, 0.02, len(failed))
    axes.plot(temperature, failed + jitter, "C3o", ms=5, mfc="none", label="23 flights")
    axes.axvline(31.0, color="C1", ls="--", label="28 January 1986")
    axes.set(xlabel="temperature at launch / °F", ylabel="risk that an O-ring fails")
    axes.legend(loc="lower left", bbox_to_anchor=(0.12, 0.1))
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
