"""The flow of the Nile: a level that wanders, seen through noise, by the Kalman filter."""

import sys

import numpy as np
from scipy.stats import multivariate_normal

import cadiff
from cadiff.optimize import minimize

# Annual flow at Aswan in 10⁸ m³, from 1871 to 1970.
flow = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180,
    799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833,
    701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845,
    864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822, 1010, 771, 676,
    649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923,
    975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
], float)  # fmt: skip
years = np.arange(1871, 1971)


def filtered(log_variances, flow):
    """Levels given the years so far, their variances, and minus the log-likelihood."""
    noise, drift = cadiff.exp(log_variances)
    level, variance, surprise = flow[0], noise, 0.0  # the first year is all that is known
    levels, variances = [level], [variance]
    for y in flow[1:]:
        spread = variance + drift + noise  # of the forecast
        error = y - level
        surprise = surprise + 0.5 * (cadiff.log(2.0 * np.pi * spread) + error**2 / spread)
        gain = (variance + drift) / spread
        level, variance = level + gain * error, gain * noise
        levels.append(level)
        variances.append(variance)
    return levels, variances, surprise


@cadiff.compile(native="background")  # machine code, as soon as a C compiler has made it
def surprise(log_variances):
    return filtered(log_variances, flow)[2]


fit = minimize(surprise, np.log([1e4, 1e3]), method="trust-exact", options={"gtol": 1e-8})
found = np.exp(fit.x)
errors = found * np.sqrt(np.diag(np.linalg.inv(surprise.hessian(fit.x))))
print(f"log-likelihood {-fit.fun:.4f} after {fit.nit} steps")
for name, value, error in zip(["noise", "drift"], found, errors, strict=True):
    print(f"variance of the {name} {value:8.1f} +- {error:.0f}")

# Durbin and Koopman (2012) have these two. And all differences between years together are normal,
# with covariances that need no filter.
assert np.allclose(found, [15099.0, 1469.1], rtol=1e-4)
n = len(flow) - 1
covariance = (found[1] + 2.0 * found[0]) * np.eye(n) - found[0] * (
    np.eye(n, k=1) + np.eye(n, k=-1)
)
assert np.isclose(multivariate_normal.logpdf(np.diff(flow), cov=covariance), -fit.fun, rtol=1e-12)


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    levels, variances, _ = filtered(fit.x, flow)
    levels, width = np.array(levels), 1.645 * np.sqrt(variances)
    axes.fill_between(
        years,
        levels - width,
        levels + width,
        color="C4",
        alpha=0.4,
        label="90 % of its distribution",
    )
    axes.plot(years, levels, "C0", label="level, given the years so far")
    axes.plot(years, flow, "C3o", ms=3, mfc="none", label="annual flow")
    axes.axvline(1898.5, color="C1", ls="--", lw=1.0, label="works at Aswan begin")
    axes.set(xlabel="year", ylabel="flow / 10⁸ m³", ylim=(400, 1580))
    axes.legend(loc="upper right", ncols=2)
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
