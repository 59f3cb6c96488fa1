"""An image laid over another one: moved, turned and magnified."""

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

SIZE = 24
ROWS, COLUMNS = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2.0
SHARP = np.random.default_rng(3).normal(size=(SIZE, SIZE))
IMAGE = 5.0 * gaussian_filter(SHARP, 3.0)
TRUTH = np.array([0.9, -0.6, 0.08, 0.05])
START = np.array([0.3, -0.2, 0.01, 0.02])


def moved(x):
    down, right, angle, growth = x
    scale = np.exp(growth)
    rows = scale * (np.cos(angle) * ROWS - np.sin(angle) * COLUMNS) + down
    columns = scale * (np.sin(angle) * ROWS + np.cos(angle) * COLUMNS) + right
    places = np.stack([rows, columns]) + (SIZE - 1) / 2.0
    return map_coordinates(IMAGE, places[:, 4:-4, 4:-4], order=3, mode="mirror")


DATA = moved(TRUTH)


def objective(x):
    return np.sum((moved(x) - DATA) ** 2)
