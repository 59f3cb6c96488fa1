"""What `scipy.cluster` has compiled: nearest codes, and trees of clusters.

Plain values say which elements belong together; the rest is arithmetic, or linear in distances.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import _hierarchy
from scipy.cluster.vq import _vq

from ..binding import carries
from ..numpy._common import as_number
from ..operations.arrays import concatenate, stack
from ..operations.guards import valued
from ..operations.primitives import stated, transposes
from ..operations.table import sqrt, square
from ._mirror import kernels, read_values

# --- codes ---------------------------------------------------------------------------------------


@kernels(_vq.__name__)
def vq(obs: Any, book: Any) -> tuple[Any, Any]:
    """The nearest code of each observation, and its distance."""
    plain = [np.ascontiguousarray(read_values(as_number(x)), float) for x in (obs, book)]
    codes, distances = _vq.vq(*plain)
    if not (carries(obs) or carries(book)):
        return codes, distances
    apart = as_number(obs) - as_number(book)[codes]
    return codes, np.linalg.norm(apart if apart.ndim > 1 else apart[:, None], axis=-1)


@kernels(_vq.__name__, varying=True)
def update_cluster_means(obs: Any, codes: Any, n: int) -> tuple[Any, Any]:
    """The means of observations by their codes, and which codes have any."""
    counts = np.bincount(codes, minlength=n)
    members = codes == np.arange(n)[:, None]
    return (members * 1.0) @ as_number(obs) / np.maximum(counts, 1)[:, None], counts > 0


# --- hierarchies ---------------------------------------------------------------------------------

# By Lance and Williams, two merged clusters are a d(i, k) + b d(j, k) + c d(i, j) from another
# one; here a, b and c, by how many elements i, j and k have. Some methods are of squares.
MERGING: dict[str, Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]] = {
    "single": lambda i, j, k, closer: (closer, 1.0 - closer, 0.0),
    "complete": lambda i, j, k, closer: (1.0 - closer, closer, 0.0),
    "average": lambda i, j, k, _: (i / (i + j), j / (i + j), 0.0),
    "weighted": lambda i, j, k, _: (0.5, 0.5, 0.0),
    "centroid": lambda i, j, k, _: (i / (i + j), j / (i + j), -i * j / (i + j) ** 2),
    "median": lambda i, j, k, _: (0.5, 0.5, -0.25),
    "ward": lambda i, j, k, _: ((i + k) / (i + j + k), (j + k) / (i + j + k), -k / (i + j + k)),
}
METHODS = ("single", "complete", "average", "centroid", "median", "ward", "weighted")
OF_SQUARES = ("centroid", "median", "ward")


class Merges:
    """How the clusters of a tree were merged, as a linear function of distances.

    Of that, `heights` answers the values, and `spread` the adjoint.
    """

    def __init__(self, y: Any, tree: Any, method: str) -> None:
        self.n = len(tree) + 1
        self.pairs = np.triu_indices(self.n, 1)
        self.steps: list[tuple[int, int, Any]] = []
        sizes = np.ones(2 * self.n - 1)
        sizes[self.n :] = tree[:, 3]
        d = self._distances(y)
        for m, (i, j) in enumerate(tree[:, :2].astype(int)):
            how = MERGING[method](sizes[i], sizes[j], sizes, (d[i] <= d[j]) * 1.0)
            self.steps.append((i, j, how))
            self._merge(d, m)

    def _distances(self, y: Any) -> Any:
        d = np.zeros((2 * self.n - 1,) * 2)
        d[self.pairs] = d.T[self.pairs] = y
        return d

    def _merge(self, d: Any, m: int) -> float:
        i, j, (a, b, c) = self.steps[m]
        height = float(d[i, j])
        d[self.n + m] = d[:, self.n + m] = a * d[i] + b * d[j] + c * height
        return height

    def heights(self, y: Any) -> Any:
        d = self._distances(y)
        return np.array([self._merge(d, m) for m in range(self.n - 1)])

    def spread(self, g: Any) -> Any:
        d = self._distances(0.0)
        for m in reversed(range(self.n - 1)):
            i, j, (a, b, c) = self.steps[m]
            row = d[self.n + m] + d[:, self.n + m]
            d[self.n + m] = d[:, self.n + m] = 0.0
            d[i] += a * row
            d[j] += b * row
            d[i, j] += g[m] + np.sum(c * row)
        return (d + d.T)[self.pairs]


@stated("linkage")
def merged(y: Any, *, merges: Merges) -> Any:
    """The heights at which clusters are merged."""
    return merges.heights(y)


@stated("linkage")
def divided(g: Any, *, merges: Merges) -> Any:
    """The adjoint of `merged`."""
    return merges.spread(g)


transposes(merged, divided)


def _linkage(name: str, y: Any, n: int, code: int | None = None) -> Any:
    """The tree of clusters, whose heights have derivatives; values decide what is merged."""
    plain = np.ascontiguousarray(read_values(y), float)
    tree = getattr(_hierarchy, name)(plain, n, *(() if code is None else (code,)))
    if not carries(y):
        return tree
    method = METHODS[code or 0]
    of_squares = method in OF_SQUARES
    merges = Merges(plain**2 if of_squares else plain, tree, method)
    heights = merged(square(y) if of_squares else as_number(y), merges=merges)
    heights = valued(sqrt(heights) if of_squares else heights, tree[:, 2])
    return stack([tree[:, 0], tree[:, 1], heights, tree[:, 3]], axis=1)


for _name in ("mst_single_linkage", "nn_chain", "fast_linkage"):
    kernels(_hierarchy.__name__, _name)(functools.partial(_linkage, _name))


@kernels(_hierarchy.__name__)
def cophenetic_distances(tree: Any, out: Any, n: int) -> None:
    """The height at which each pair comes together."""
    plain, places = np.array(read_values(tree), float), np.zeros(np.shape(out))
    plain[:, 2] = np.arange(1.0, n)
    _hierarchy.cophenetic_distances(plain, places, n)
    out[...] = concatenate([np.zeros(1), tree[:, 2]])[places.astype(np.intp)]
