"""Portfolios of least variance and of equal risks, from a DataFrame of monthly prices."""

import sys

import numpy as np
import pandas as pd
from matplotlib.cbook import get_sample_data

import cadiff
import cadiff.numpy as cnp
from cadiff.optimize import LinearConstraint, minimize

# Prices of six shares from 1997 to 2022, which matplotlib ships, adjusted for dividends.
with get_sample_data("Stocks.csv") as file:
    prices = pd.read_csv(file, comment="#", index_col="Date", parse_dates=True)
prices = prices[["IBM", "AAPL", "MSFT", "XRX", "AMZN", "ADBE"]].dropna()
returns = np.log(prices).diff().dropna()
names = returns.columns
equal = pd.Series(1.0 / len(names), names)


@cadiff.compile
def variance(w, covariance):
    return w @ covariance @ w


@cadiff.compile
def spread_of_risks(logs, covariance):
    """Least where all w (covariance w) are equal (Spinu 2013), for weights of any sum."""
    w = cnp.exp(logs)
    return 0.5 * w @ covariance @ w - cnp.mean(logs)


def least_variance(covariance):
    result = minimize(
        variance, equal, args=(covariance,), bounds=[(0.0, 1.0)] * len(names), tol=1e-14,
        constraints=LinearConstraint(np.ones(len(names)), 1.0, 1.0),
    )  # fmt: skip
    return pd.Series(result.x, names)


def equal_risks(covariance):
    start = -0.5 * np.log(np.diag(covariance))
    result = minimize(spread_of_risks, start, args=(covariance,), method="trust-exact", tol=1e-9)
    w = pd.Series(np.exp(result.x), names)
    return w / w.sum()


rules = {
    "equal weights": lambda _: equal,
    "equal risks": equal_risks,
    "least variance": least_variance,
}
covariance = 12.0 * returns.cov()
portfolios = {rule: weights(covariance) for rule, weights in rules.items()}
print(pd.DataFrame(portfolios).T.round(3).to_string())

# By definition: each share adds as much to the risk. By Kuhn and Tucker: what is held adds as much
# at the margin, and is the closed form of those shares; all others would add more.
w = portfolios["equal risks"]
assert np.allclose(w * (covariance @ w), variance(w, covariance) / len(names), rtol=1e-8)
w = portfolios["least variance"]
held, margin = w > 1e-6, covariance @ w
inverse = np.linalg.inv(covariance.loc[held, held])
assert np.allclose(w[held], inverse.sum(axis=1) / inverse.sum(), atol=1e-6)
assert margin[~held].min() > margin[held].max()

# In use: in each January weights are chosen by the sixty months before.
gains = {rule: [] for rule in rules}
for year in range(2003, 2023):
    before = returns[returns.index.year < year].tail(60)
    months = np.expm1(returns[returns.index.year == year])
    for rule, weights in rules.items():
        gains[rule].append(months @ weights(12.0 * before.cov()))
gains = pd.DataFrame({rule: pd.concat(parts) for rule, parts in gains.items()})
volatility = 100.0 * np.sqrt(12.0) * gains.std()
print("volatility from 2003 on: " + ", ".join(f"{k} {v:.1f} %" for k, v in volatility.items()))
assert volatility["least variance"] < volatility["equal risks"] < volatility["equal weights"]


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    for rule, style in zip(gains, ["C2-", "C0-", "C1--"], strict=True):
        label = f"{rule}, volatility {volatility[rule]:.1f} %"
        axes.plot(gains.index, (1.0 + gains[rule]).cumprod(), style, label=label)
    axes.set(
        yscale="log",
        yticks=[1, 2, 5, 10, 20, 50],
        xlabel="year",
        ylabel="value of a dollar of 2003",
    )
    axes.yaxis.set_major_formatter("{x:g} $")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
