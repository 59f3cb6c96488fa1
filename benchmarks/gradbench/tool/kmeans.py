"""Newton's direction for the centroids of clusters; the Hessian is diagonal."""

import cadiff
import cadiff.numpy as np


def cost(centroids, points):
    """The sum of squared distances from each point to the nearest centroid."""
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centroids**2, axis=1)
    return np.sum(np.min(squares - 2.0 * points @ centroids.T, axis=1))


def direction(centroids, points):
    def gradient(c):
        return cadiff.grad(cost)(c, points)

    ones = np.ones(centroids.shape)
    slope, curvature = cadiff.jvp(gradient, (centroids,), (ones,))
    return slope / curvature


def arguments(input):
    return np.array(input["centroids"]), np.array(input["points"])


def functions(compiled):
    return {"cost": compiled(cost), "dir": compiled(direction)}
