"""A spline through unknown values, known by what it gives between them, its slope and its area."""

import numpy as np
from scipy.interpolate import CubicSpline

KNOTS = np.array([0.0, 0.7, 1.5, 2.0, 3.1, 4.0])
AT = np.linspace(0.1, 3.9, 25)
TRUTH = np.sin(KNOTS) + 0.2 * KNOTS
START = np.full(6, 0.5)


def seen(values):
    curve = CubicSpline(KNOTS, values, bc_type="natural")
    return np.concatenate([curve(AT), curve(AT, 1), [curve.integrate(0.0, 4.0)]])


DATA = seen(TRUTH)


def objective(values):
    return np.sum((seen(values) - DATA) ** 2)
