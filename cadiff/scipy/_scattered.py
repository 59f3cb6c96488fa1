"""What `scipy.interpolate` has beside splines: radial functions, barycentric formulas, triangles.

Which points are near, or in which simplex one lies, is asked of plain values; the rest is
arithmetic over numbers with derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
import scipy.spatial
from scipy.interpolate import _bary_rational, _interpnd

from .. import binding
from ..binding import carries
from ..numpy._common import Number, as_number
from ..operations.arrays import concatenate, reshape, stack
from ..operations.arrays import sum as sum_
from ..operations.guards import held, valued
from ..operations.indices import added_at
from ..operations.table import square, where
from ._mirror import kernels, linear_in_parts, mirrored, read_values
from ._splines import column
from ._structured import BY_FACTORS, solved
from ._structures import Structure, summed

# --- radial functions ----------------------------------------------------------------------------


kernels("scipy.interpolate._rbfinterp", "_get_backend")(  # the one for all arrays, in Python
    lambda _: mirrored("scipy.interpolate._rbfinterp_xp")
)


@kernels("scipy.interpolate._rbfinterp", "KDTree")
class _Neighbours:
    """Which points are near others is chosen by values."""

    def __init__(self, points: Any) -> None:
        self._tree = scipy.spatial.KDTree(read_values(points))

    def query(self, x: Any, k: int) -> Any:
        return self._tree.query(read_values(x), k)


SMOOTH = ("multiquadric", "inverse_multiquadric", "inverse_quadratic", "gaussian")


class _Radii:
    """Distances of all rows x from all rows y, for functions of their squares alone.

    A distance has no second derivative where it is 0, and its square has one.
    """

    __array_ufunc__ = None

    def __init__(self, distances: Number, squares: Number) -> None:
        self._distances, self._squares = distances, squares

    @classmethod
    def between(cls, x: Number, y: Number) -> _Radii:
        squares = sum_(square(x[:, None, :] - y[None, :, :]), axis=-1)
        return cls(np.sqrt(held(squares)), squares)

    def __rmul__(self, factor: Any) -> _Radii:
        return _Radii(held(factor) * self._distances, factor**2 * self._squares)

    def __pow__(self, _: int) -> Number:
        return valued(self._squares, self._distances**2)


def _kernels_at(x: Number, y: Number, kernel: Any, xp: Any) -> Number:
    is_smooth = kernel.__name__ in SMOOTH
    radii = _Radii.between(x, y) if is_smooth else np.linalg.norm(x[:, None] - y, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of 0 log 0, which is not taken
        return kernel(radii, xp)


@kernels("scipy.interpolate._rbfinterp_xp")
def kernel_matrix(x: Any, kernel_func: Any, xp: Any) -> Number:
    return _kernels_at(x, x, kernel_func, xp)


@kernels("scipy.interpolate._rbfinterp_xp")
def _build_evaluation_coefficients(
    x: Any, y: Any, kernel: str, epsilon: Any, powers: Any, shift: Any, scale: Any, xp: Any
) -> Number:
    scipys = mirrored("scipy.interpolate._rbfinterp_xp")
    radial = _kernels_at(x * epsilon, y * epsilon, scipys.NAME_TO_FUNC[kernel], xp)
    monomials = scipys.polynomial_matrix((x - shift) / scale, powers, xp)
    return concatenate([radial, monomials], axis=-1)


@kernels("scipy.interpolate._rbf", "Rbf._init_function", within=True)
def _init_function(self: Any, original: Any, r: Any) -> Any:
    found = original(self, r)
    is_smooth = self.norm == "euclidean" and self.function in SMOOTH
    return self._function(self._call_norm(self.xi, self.xi)) if is_smooth else found


@kernels("scipy.interpolate._rbf", "Rbf._call_norm", within=True)
def _call_norm(self: Any, original: Any, x: Any, y: Any) -> Any:
    is_smooth = self.norm == "euclidean" and self.function in SMOOTH
    return _Radii.between(x.T, y.T) if is_smooth else original(self, x, y)


# --- barycentric formulas ------------------------------------------------------------------------


@kernels("scipy.interpolate._interpolate")
def lagrange(x: Any, w: Any) -> Any:
    """The polynomial through points, by products of its factors; SciPy divides polynomials."""
    x, w = as_number(x), as_number(w)
    total: Number = 0.0
    for j in range(binding.shape(x)[0]):
        term = w[j : j + 1]
        for k in range(binding.shape(x)[0]):
            if k != j:
                factor = stack([as_number(1.0), -x[k]])
                term = np.convolve(term, factor / (x[j] - x[k]))
        total = total + term
    return mirrored("numpy").poly1d(total)


@kernels("scipy.interpolate._polyint", "BarycentricInterpolator._evaluate")
def _evaluate_barycentric(self: Any, x: Any) -> Any:
    """By the barycentric formula; at a node, where that is 0 / 0, by the form of Lagrange."""
    if not x.size or self.r == 0:
        return np.zeros((x.size, self.r), dtype=self.dtype)
    nodes, values = as_number(self.xi), as_number(self.yi)
    gaps = x[:, None] - nodes
    is_node = read_values(gaps) == 0.0
    terms = self.wi / where(is_node, 1.0, gaps)
    quotient = (terms @ values) / sum_(terms, axis=-1)[:, None]
    hits = np.flatnonzero(is_node.any(axis=1))
    if not len(hits):
        return quotient
    n = binding.shape(nodes)[0]
    factors = []
    for j in range(n):
        others = np.flatnonzero(np.arange(n) != j)
        factors.append(np.prod(gaps[hits][:, others] / (nodes[j] - nodes[others]), axis=-1))
    at_nodes = stack(factors, axis=-1) @ values
    place = np.zeros(len(is_node), int)
    place[hits] = np.arange(len(hits))
    hit = np.broadcast_to(is_node.any(axis=1)[:, None], binding.shape(quotient))
    return where(hit, at_nodes[place], quotient)


@kernels("scipy.interpolate._bary_rational", "_BarycentricRational.__call__")
def _evaluate_rational(self: Any, z: Any) -> Any:
    """By the barycentric formula; at a support point its sums are those times what is 0 there."""
    if not any(map(carries, (z, self._support_points, self._support_values, self.weights))):
        return _bary_rational._BarycentricRational.__call__(self, z)
    z, values = as_number(z), as_number(self._support_values)
    values = reshape(values, (binding.shape(values)[0], -1))
    weights = as_number(self.weights)[:, None]
    gaps = reshape(z, (-1,))[:, None] - self._support_points
    is_node = read_values(gaps) == 0.0
    hit = is_node.any(axis=1)[:, None]
    gap = where(hit, sum_(where(is_node, gaps, 0.0), axis=1)[:, None], 1.0)
    factors = where(is_node, 1.0, gap / where(is_node, 1.0, gaps))
    quotient = (factors @ (weights * values)) / (factors @ weights)
    quotient = where(hit, valued(quotient, held(values[is_node.argmax(axis=1)])), quotient)
    quotient = reshape(quotient, (*binding.shape(z), *self._shape))
    return np.moveaxis(quotient, 0, getattr(self, "_axis", 0)) if binding.ndim(z) else quotient


# --- triangles -----------------------------------------------------------------------------------


@kernels("scipy.interpolate._interpnd")
class LinearNDInterpolator:
    """`scipy.interpolate.LinearNDInterpolator`, by points, values, and where it is asked.

    Points are connected by the triangulation of Delaunay of their values.
    """

    def __init__(
        self, points: Any, values: Any, fill_value: float = math.nan, rescale: bool = False
    ) -> None:
        self.is_complex = np.iscomplexobj(values)
        self.fill_value = fill_value
        self._offset: Any = 0.0
        self._scale: Any = 1.0
        if isinstance(points, scipy.spatial.Delaunay) or hasattr(points, "simplices"):
            if rescale:
                raise ValueError(
                    "Rescaling is not supported when passing a Delaunay triangulation."
                )
            self.tri, self.points = points, as_number(points.points)
        else:
            self.points = as_number(_ndim_coords_from_arrays(points))
            if rescale:
                self._offset = np.mean(self.points, axis=0)
                scale = np.ptp(self.points, axis=0)
                self._scale = where(scale > 0, scale, 1.0)
            self.tri = scipy.spatial.Delaunay(read_values(self._scaled(self.points)))
        self.values = as_number(values)

    def _scaled(self, x: Number) -> Number:
        return (x - self._offset) / self._scale

    def __call__(self, *args: Any, simplex_tolerance: float = 1.0) -> Any:
        x, shape = self._asked(args)
        found = self._simplices(self._scaled(x), simplex_tolerance)
        corners = self.tri.simplices[found]
        weights = _weights(self.points[corners], x)
        result = np.sum(weights[..., None] * self._columns()[corners], axis=1)
        return self._shaped(result, found < 0, shape)

    def _simplices(self, x: Number, tolerance: float) -> Any:
        """In which of the simplices points lie, by SciPy's tolerance or several of it."""
        return self.tri.find_simplex(read_values(x), tol=tolerance * 100 * np.finfo(float).eps)

    def _asked(self, args: tuple[Any, ...]) -> tuple[Number, tuple[int, ...]]:
        """The points of a call as rows, and the shape that there is to be of them."""
        n = binding.shape(self.points)[1]
        x = as_number(_ndim_coords_from_arrays(args, n))
        return reshape(x, (-1, n)), binding.shape(x)[:-1]

    def _columns(self) -> Number:
        return reshape(self.values, (binding.shape(self.values)[0], -1))

    def _shaped(self, result: Number, outside: Any, shape: tuple[int, ...]) -> Number:
        outside = np.broadcast_to(outside[:, None], binding.shape(result))
        result = where(outside, self.fill_value, result)
        return reshape(result, (*shape, *binding.shape(self.values)[1:]))


def _weights(corners: Number, x: Number) -> Number:
    """Barycentric coordinates of points in simplices, (points, corners, coordinates)."""
    last = corners[:, -1]
    edges = corners[:, :-1] - last[:, None, :]
    inner = np.linalg.solve(np.swapaxes(edges, -1, -2), (x - last)[..., None])[..., 0]
    return concatenate([inner, 1.0 - np.sum(inner, axis=-1, keepdims=True)], axis=-1)


@kernels("scipy.interpolate._interpnd")
class CloughTocher2DInterpolator(LinearNDInterpolator):
    """`scipy.interpolate.CloughTocher2DInterpolator`, by points, values, and where it is asked.

    The formulas are those of Alfeld, "A trivariate Clough-Tocher scheme for tetrahedral data"
    (1984), and, for gradients at points, of Nielson, "A method for interpolating scattered data
    based upon a minimum norm network" (1983), whose equations SciPy solves to a tolerance.
    """

    def __init__(
        self, points: Any, values: Any, fill_value: float = math.nan, tol: float = 1e-6,
        maxiter: int = 400, rescale: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(points, values, fill_value, rescale)
        plain = points if points is self.tri else read_values(self.points)
        self._original = _interpnd.CloughTocher2DInterpolator(
            plain, read_values(self.values), fill_value, tol, maxiter, rescale
        )
        self.points = self._scaled(self.points)
        self._gradients = self._found_gradients()

    def _found_gradients(self) -> Number:
        """Of what has the least squares of second derivatives along all edges; (points, 2, n)."""
        starts, to = self.tri.vertex_neighbor_vertices
        edges_of = np.diff(starts)
        at = np.repeat(np.arange(len(edges_of)), edges_of)
        edges = self.points[to] - self.points[at]
        weighted = edges / sum_(edges**2, axis=1, keepdims=True) ** 1.5
        blocks = weighted[:, :, None] * edges[:, None, :]
        values = self._columns()
        slopes = 3.0 * weighted[:, :, None] * (values[to] - values[at])[:, None, :]
        number = np.cumsum(edges_of > 0) - 1  # a second point at the same place has no equations
        n, at, to = number[-1] + 1, number[at], number[to]
        x, y = np.indices((2, 2))
        rows = 2 * np.tile(at, 2)[:, None, None] + x
        columns = 2 * np.concatenate([at, to])[:, None, None] + y
        places = rows.ravel(), columns.ravel()
        like = scipy.sparse.coo_array((np.ones(rows.size), places), shape=(2 * n, 2 * n)).tocsc()
        numbered, data = summed(like, *places, reshape(concatenate([2.0 * blocks, blocks]), -1))
        right = linear_in_parts(lambda x: reshape(added_at(at, x, n), (2 * n, -1)), slopes)
        gradients, _ = solved(data, right, structure=Structure(numbered), solver=BY_FACTORS)
        return reshape(gradients, (n, 2, -1))[number]

    def __call__(self, *args: Any, simplex_tolerance: float = 1.0) -> Any:
        points, shape = self._asked(args)
        x = self._scaled(points)
        simplices = self._simplices(x, simplex_tolerance)
        corners, beside = self.tri.simplices[simplices], self.tri.neighbors[simplices]
        # The farthest corner comes last: the point lies between the others and the middle.
        plain = read_values(_weights(self.points[corners], x))
        order = (np.argmin(plain, axis=1)[:, None] + np.arange(1, 4)) % 3
        corners, beside = (np.take_along_axis(k, order, axis=1) for k in (corners, beside))
        v = [self.points[corners[:, k]] for k in range(3)]
        middle = (v[0] + v[1] + v[2]) / 3.0
        values = self._columns()
        f = [values[corners[:, k]] for k in range(3)]
        slopes = [self._gradients[corners[:, k]] for k in range(3)]

        def toward(k: int, end: Number) -> Number:
            return f[k] + sum_((end - v[k])[:, :, None] * slopes[k], axis=1) / 3.0

        inward = [toward(k, middle) for k in range(3)]
        along, across = {}, {}
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            along[i, j], along[j, i] = toward(i, v[j]), toward(j, v[i])
            # Across an edge the derivative is linear, towards the middle of the next triangle.
            is_edge = (beside[:, k] < 0)[:, None]
            other = np.mean(self.points[self.tri.simplices[beside[:, k]]], axis=1)
            other = where(is_edge, 0.5 * (v[i] + v[j]), other)
            beyond = _weights(stack([v[i], v[j], middle], axis=1), other)
            a, b, c = (column(beyond[:, m] - float(m == 2)) for m in range(3))
            ends = a * f[i] + b * along[i, j] + c * inward[i]
            ends = ends + a * along[j, i] + b * f[j] + c * inward[j]
            across[k] = (0.5 * ends - a * along[i, j] - b * along[j, i]) / c
        near = [(inward[k] + across[(k + 1) % 3] + across[(k + 2) % 3]) / 3.0 for k in range(3)]
        centre = (near[0] + near[1] + near[2]) / 3.0
        inner = _weights(stack([v[0], v[1], middle], axis=1), x)
        s, t, u = (column(inner[:, m]) for m in range(3))
        result = (
            s**3 * f[0] + t**3 * f[1] + u**3 * centre
            + 3.0 * s * s * (t * along[0, 1] + u * inward[0])
            + 3.0 * t * t * (s * along[1, 0] + u * inward[1])
            + 3.0 * u * u * (s * near[0] + t * near[1])
            + 6.0 * s * t * u * across[2]
        )  # fmt: skip
        options = {"simplex_tolerance": simplex_tolerance} if simplex_tolerance != 1.0 else {}
        value = self._original(read_values(points), **options)
        return self._shaped(valued(result, value.reshape(result.shape)), simplices < 0, shape)


@kernels("scipy.interpolate._interpnd")
def _ndim_coords_from_arrays(points: Any, ndim: int | None = None) -> Any:
    """Points as rows of an array; a vector is one of as many coordinates as there are."""
    if not carries(points):
        return _interpnd._ndim_coords_from_arrays(points, ndim)
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return stack([as_number(x) for x in np.broadcast_arrays(*points)], axis=-1)
    x = as_number(points)
    if binding.ndim(x) == 1:
        return reshape(x, (-1, 1) if ndim in (None, 1) else (-1, ndim))
    return x
