"""The pose of a camera: how a cloud of points is turned and moved, from where it is seen."""

import numpy as np
from scipy.spatial.transform import Rotation

POINTS = np.random.default_rng(2).normal(size=(12, 3)) + [0.0, 0.0, 6.0]
TRUTH = np.array([0.3, -0.2, 0.5, 0.4, -0.1, 0.3])
START = np.zeros(6) + 0.01


def pixels(pose):
    x, y, depth = (Rotation.from_rotvec(pose[:3]).apply(POINTS) + pose[3:]).T
    return np.column_stack([x / depth, y / depth])


DATA = pixels(TRUTH)


def objective(pose):
    return 100.0 * np.sum((pixels(pose) - DATA) ** 2)
