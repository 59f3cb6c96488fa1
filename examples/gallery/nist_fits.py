"""Three nonlinear regressions of NIST, fitted from both starts to the certified digits."""

import sys

import numpy as np

from cadiff import nist
from cadiff.optimize import curve_fit


def digits(found, certified):
    """Significant digits that agree, of eleven that are certified."""
    error = np.max(np.abs(found / certified - 1.0))
    return min(-np.log10(max(error, 1e-16)), 11.0)


def fit(data, start):
    model = nist.MODELS[data.name]

    def responses(x, *b):
        return model(b, x)

    b, covariance = curve_fit(responses, data.x, data.y, start, maxfev=10_000)
    return b, np.sqrt(np.diag(covariance))


problems = [nist.load(name) for name in nist.MODELS]
print("problem   from  parameters  deviations")
for data in problems:
    for number, start in enumerate(data.starts, 1):
        b, deviations = fit(data, start)
        agreeing = digits(b, data.certified), digits(deviations, data.certified_std)
        print(f"{data.name:9} {number:4} {agreeing[0]:8.1f} {agreeing[1]:11.1f}   digits")
        assert min(agreeing) > 8.0


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    labels = {
        "Misra1a": ("pressure", "volume adsorbed"),
        "Thurber": ("log of the density", "electron mobility"),
        "MGH10": ("temperature", "resistance"),
    }
    figure, panels = plt.subplots(1, 3, figsize=(7.0, 3.2), layout="constrained")
    for axes, data in zip(panels, problems, strict=True):
        grid = np.linspace(data.x.min(), data.x.max(), 200)
        axes.plot(grid, nist.MODELS[data.name](fit(data, data.starts[1])[0], grid), "C1")
        axes.plot(data.x, data.y, "C0o", ms=4, mfc="none")
        axes.set(title=data.name, xlabel=labels[data.name][0], ylabel=labels[data.name][1])
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
