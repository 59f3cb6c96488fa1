"""What `scipy.spatial` has compiled: distances between all pairs of points, and hulls of points.

A metric is a formula of two points, whose coordinates are the last axis; distances of pairs are
that formula of arrays that are broadcast. Where points coincide a distance has the derivative 0.
Of hulls and triangulations Qhull says which points belong together, which changes nowhere but
where it jumps; volumes and areas are sums over simplices.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial
from scipy.spatial import _hausdorff
from scipy.spatial import distance as _distance

from ..binding import MissingRuleError, carries
from ..numpy._common import Number, as_number
from ..operations.arrays import concatenate, in_precision
from ..operations.arrays import sum as sum_
from ..operations.guards import held
from ..operations.table import absolute, power, sqrt, square, where
from ._mirror import kernels, mirrored, read_values
from .special import rel_entr

Metric = Callable[..., Number]

METRICS: dict[str, Metric] = {}


def metric(*names: str) -> Callable[[Metric], Metric]:
    def decorate(function: Metric) -> Metric:
        METRICS.update(dict.fromkeys((function.__name__, *names), function))
        return function

    return decorate


def _total(terms: Number, w: Any) -> Number:
    return sum_(terms if w is None else w * terms, axis=-1)


@metric("sqeuclid", "sqe")
def sqeuclidean(u: Number, v: Number, w: Any = None) -> Number:
    return _total(square(u - v), w)


@metric("euclid", "eu", "e")
def euclidean(u: Number, v: Number, w: Any = None) -> Number:
    return sqrt(sqeuclidean(u, v, w))


@metric("cblock", "cb", "c", "manhattan")
def cityblock(u: Number, v: Number, w: Any = None) -> Number:
    return _total(absolute(u - v), w)


@metric("chebychev", "chebyshev", "cheby", "cheb", "ch")
def chebyshev(u: Number, v: Number, w: Any = None) -> Number:
    gaps = absolute(u - v)
    return np.max(gaps if w is None else gaps[..., read_values(w) > 0], axis=-1)


@metric("mi", "m", "pnorm")
def minkowski(u: Number, v: Number, p: Any = 2, w: Any = None) -> Number:
    if not carries(p):
        if p == 2:
            return euclidean(u, v, w)
        if p == math.inf:
            return chebyshev(u, v, w)
    return power(_total(power(absolute(u - v), p), w), 1.0 / p)


@metric("se", "s")
def seuclidean(u: Number, v: Number, V: Any, w: Any = None) -> Number:
    return sqrt(_total(square(u - v) / V, w))


@metric("mahal", "mah")
def mahalanobis(u: Number, v: Number, VI: Any) -> Number:
    gap = u - v
    return sqrt(sum_((gap @ VI) * gap, axis=-1))


@metric("cos")
def cosine(u: Number, v: Number, w: Any = None) -> Number:
    return 1.0 - _total(u * v, w) / sqrt(_total(square(u), w) * _total(square(v), w))


@kernels("scipy.spatial.distance", "minkowski", within=True)
def _by_power(mirror: Any, u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    return (minkowski if carries(p) else mirror)(as_number(u), as_number(v), p, w)


@kernels("scipy.spatial.distance", "correlation", within=True)
def _correlation(mirror: Any, u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """As precise as what it is of, and not as the root in it, which is Python's."""
    kinds = (as_number(x).dtype for x in (u, v, w) if x is not None)
    return in_precision(mirror(u, v, w, centered), np.result_type(*kinds))


@metric("co")
def correlation(u: Number, v: Number, w: Any = None) -> Number:
    n = u.shape[-1] if w is None else sum_(as_number(w))
    u, v = (x - (_total(x, w) / n)[..., None] for x in (u, v))
    return cosine(u, v, w)


@metric()
def braycurtis(u: Number, v: Number, w: Any = None) -> Number:
    return _total(absolute(u - v), w) / _total(absolute(u + v), w)


@metric()
def canberra(u: Number, v: Number, w: Any = None) -> Number:
    below = absolute(u) + absolute(v)
    nothing = held(below) == 0.0
    return _total(where(nothing, 0.0, absolute(u - v) / where(nothing, 1.0, below)), w)


@metric("js")
def jensenshannon(u: Number, v: Number) -> Number:
    u, v = (x / sum_(x, axis=-1)[..., None] for x in (u, v))
    middle = 0.5 * (u + v)
    return sqrt(0.5 * sum_(rel_entr(u, middle) + rel_entr(v, middle), axis=-1))


def _formula(name: Any, points: Number, options: dict[str, Any]) -> Metric | None:
    """The formula of a metric; None if it is a function, or has no derivative."""
    if callable(name):
        name = getattr(name, "__name__", "") if name in vars(_distance).values() else ""
    metric = METRICS.get(name.lower())
    if metric is seuclidean and options.get("V") is None:
        options["V"] = np.var(points, axis=0, ddof=1)
    if metric is mahalanobis and options.get("VI") is None:
        options["VI"] = np.transpose(np.linalg.inv(np.cov(np.transpose(points))))
    chosen = {key: value for key, value in options.items() if value is not None}
    return None if metric is None else functools.partial(metric, **chosen)


def _points(x: Any) -> Number:
    """Points as SciPy has them, in double precision."""
    return in_precision(as_number(x), np.float64)


def _written(out: Any, found: Number) -> Number:
    if out is None:
        return found
    out[...] = found
    return out


@kernels("scipy.spatial.distance")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    if not (carries(XA) or carries(XB) or carries(kwargs)):
        return _distance.cdist(XA, XB, metric, out=out, **kwargs)
    a, b = _points(XA), _points(XB)
    for name, x in (("XA", a), ("XB", b)):
        if x.ndim != 2:
            raise ValueError(f"{name} must be a 2-dimensional array.")
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            "XA and XB must have the same number of columns (i.e. feature dimension.)"
        )
    formula = _formula(metric, concatenate([a, b]), kwargs)
    if formula is not None:
        return _written(out, formula(a[:, None, :], b[None, :, :]))
    if not callable(metric):
        plain = read_values(a), read_values(b)  # of bools, or unknown: in SciPy's words
        _distance.cdist(*plain, metric, **kwargs)
        raise TypeError(f"the metric {metric!r} is one of bools, and has no derivative")
    rows = [[metric(u, v, **kwargs) for v in b] for u in a]
    return _written(out, as_number(rows))


@kernels("scipy.spatial.distance")
def _np_pdist(X: Any, out: Any, w: Any, V: Any, VI: Any, metric: Any, **kwargs: Any) -> Any:
    x = _points(X)
    options = kwargs | {key: v for key, v in (("w", w), ("V", V), ("VI", VI)) if v is not None}
    i, j = np.triu_indices(len(x), 1)
    formula = _formula(metric, x, options)
    if formula is not None:
        return _written(out, formula(x[i], x[j]))
    if not callable(metric):
        _distance.pdist(read_values(x), metric, **options)
        raise TypeError(f"the metric {metric!r} is one of bools, and has no derivative")
    return _written(
        out, as_number([metric(x[a], x[b], **options) for a, b in zip(i, j, strict=True)])
    )


@kernels("scipy.spatial.distance")
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    if not (carries(X) or carries(kwargs)):
        return _distance.pdist(X, metric, out=out, **kwargs)
    if np.ndim(X) != 2:
        raise ValueError(f"A 2-dimensional array must be passed. (Shape was {np.shape(X)}).")
    given = (kwargs.pop(name, None) for name in ("w", "V", "VI"))
    return _np_pdist(X, out, *given, metric=metric, **kwargs)


for _ask in (_distance.is_valid_y, _distance.is_valid_dm):
    kernels("scipy.spatial.distance", _ask.__name__)(
        lambda *args, ask=_ask, **kwargs: bool(ask(*map(read_values, args), **kwargs))
    )


@kernels("scipy.spatial.distance")
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """A matrix of distances from those of pairs, or the other way: which is which says SciPy."""
    if not carries(X):
        return _distance.squareform(X, force, checks)
    x = as_number(X)
    plain = read_values(x) if x.ndim == 2 and checks else np.zeros(x.shape)
    _distance.squareform(plain, force, checks)  # refuses what SciPy refuses
    numbers = np.arange(1.0, x.size + 1.0).reshape(x.shape)
    places = _distance.squareform(numbers, force, False).astype(int)
    return concatenate([np.zeros(1), x.reshape(-1)])[places]


@kernels("scipy.spatial._hausdorff")
def directed_hausdorff(u: Any, v: Any, rng: Any) -> tuple[Any, int, int]:
    """The distance of the two points that have it, and which these are."""
    found = _hausdorff.directed_hausdorff(read_values(u), read_values(v), rng)
    if not (carries(u) or carries(v)):
        return found  # type: ignore[no-any-return]
    _, i, j = found
    return euclidean(as_number(u)[i], as_number(v)[j]), i, j


for _room in ("scipy.spatial.transform._rotation", "scipy.spatial.transform._rigid_transform"):
    kernels(_room, "select_backend")(  # the one in Python, which is for all arrays
        lambda *_, room=_room, **__: mirrored(f"{room}_xp")
    )


# --- hulls ---------------------------------------------------------------------------------------


class _Qhull:
    """What Qhull makes of the values of points, which stay numbers with derivatives."""

    original: Any

    def __init__(self, points: Any, *args: Any, **kwargs: Any) -> None:
        self.points = as_number(points)
        self._plain = self.original(read_values(self.points), *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_plain":  # asked for by copy and pickle
            raise AttributeError(name)
        return getattr(self._plain, name)

    def _refuse(self, name: str) -> None:
        if carries(self.points):
            raise MissingRuleError(  # no AttributeError, after which __getattr__ would be asked
                f"{type(self).__name__}.{name} of points with derivatives has none: "
                f"give it cadiff.value(points)"
            )


class ConvexHull(_Qhull):
    """`scipy.spatial.ConvexHull`, whose volume and area have derivatives by the points."""

    original = scipy.spatial.ConvexHull

    @property
    def volume(self) -> Number:
        """The sum of the volumes of cones from a point within to all facets."""
        corners = self.points[self._plain.simplices]
        within = np.mean(read_values(self.points)[self._plain.vertices], axis=0)
        volumes = absolute(np.linalg.det(corners - within))
        return sum_(volumes) / math.factorial(corners.shape[-1])

    @property
    def area(self) -> Number:
        """The sum of the areas of the facets, by the determinants of Gram."""
        corners = self.points[self._plain.simplices]
        edges = corners[:, 1:] - corners[:, :1]
        gram = np.linalg.det(edges @ np.swapaxes(edges, -1, -2))
        return sum_(sqrt(gram)) / math.factorial(corners.shape[-1] - 1)

    @property
    def equations(self) -> Any:
        self._refuse("equations")
        return self._plain.equations


class Delaunay(_Qhull):
    """`scipy.spatial.Delaunay` of the values of points."""

    original = scipy.spatial.Delaunay

    @property
    def transform(self) -> Any:
        self._refuse("transform")
        return self._plain.transform
