"""What `scipy.ndimage` has compiled: windows that slide over arrays, and splines between elements.

SciPy's functions extend arrays beyond their edges, by a mode for each axis. Here an extended array
is a choice of elements, whose adjoint adds up what they were chosen for. Filters with weights are
correlations of it; filters by rank choose one of the elements that a window covers; and what lies
between elements is a sum of theirs with B-splines of the distance.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, PPoly
from scipy.ndimage import _nd_image, _rank_filter_1d
from scipy.sparse import csr_array

from .. import binding
from ..binding import MissingRuleError, carries
from ..numpy._common import Number, as_number, rearranged
from ..operations.arrays import moveaxis, reshape, stack
from ..operations.arrays import sum as sum_
from ..operations.guards import held
from ..operations.indices import added_at, taken_at
from ..operations.primitives import curried, stated
from ._filters import correlated, turned
from ._mirror import kernels

Real = NDArray[np.float64]
Places = NDArray[np.intp]

# The codes of modes, and what `numpy.pad` calls them.
NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
PADDING = {
    NEAREST: "edge",
    WRAP: "wrap",
    REFLECT: "symmetric",
    MIRROR: "reflect",
    CONSTANT: "constant",
    GRID_WRAP: "wrap",
    GRID_CONSTANT: "constant",
}
CONSTANTS = (CONSTANT, GRID_CONSTANT)


class Window(NamedTuple):
    """How a window lies: its shape, what it is moved by, and how arrays are extended.

    The element that a window of k elements belongs to is that at k // 2 + origin.
    """

    shape: tuple[int, ...]
    origins: tuple[int, ...]
    mode: int
    cval: float

    @property
    def widths(self) -> list[tuple[int, int]]:
        """By how many elements arrays are extended on both sides of each axis."""
        before = [k // 2 + o for k, o in zip(self.shape, self.origins, strict=True)]
        return [(b, k - 1 - b) for k, b in zip(self.shape, before, strict=True)]

    def extended(self, x: Number) -> Number:
        """The array with what SciPy takes for the elements around it."""
        if self.mode in CONSTANTS:
            return np.pad(x, self.widths, constant_values=self.cval)
        pad = functools.partial(np.pad, pad_width=self.widths, mode=PADDING[self.mode])
        return rearranged(pad, x)

    @functools.lru_cache(maxsize=64)  # noqa: B019 - of tuples
    def places(self, shape: tuple[int, ...]) -> Places:
        """Which element each one of an extended array is; the number of elements for none."""
        n = math.prod(shape)
        numbers = np.arange(n).reshape(shape)
        if self.mode in CONSTANTS:
            return np.pad(numbers, self.widths, constant_values=n)
        elements: Places = np.pad(numbers, self.widths, mode=PADDING[self.mode])  # type: ignore[call-overload]
        return elements

    def widened(self, g: Number) -> Number:
        """Cotangents with zeros behind them, one for each element of an extended array."""
        return np.pad(g, [(0, k - 1) for k in self.shape])

    def is_own_adjoint(self, w: Any) -> bool:
        """Whether the adjoint slides turned weights over arrays that are extended likewise.

        So it is where arrays are periodic or have zeros around them, or if they are reflected and
        the weights are symmetric along each axis.
        """
        if self.mode in (WRAP, GRID_WRAP, *CONSTANTS):
            return True
        is_centred = not any(self.origins) and all(k % 2 for k in self.shape)
        if self.mode != REFLECT or not is_centred or carries(w):
            return False
        return all(np.array_equal(w, np.flip(w, axis)) for axis in range(w.ndim))

    @property
    def turned(self) -> Window:
        """How turned weights lie where the adjoint has the same edges."""
        origins = (k - 1 - 2 * (k // 2) - o for k, o in zip(self.shape, self.origins, strict=True))
        return self._replace(origins=tuple(origins), cval=0.0)

    @property
    def adjoint(self) -> Window:
        """How turned weights lie over these."""
        return Window(self.shape, tuple(k - 1 - k // 2 for k in self.shape), CONSTANT, 0.0)

    def folded(self, g: Number, shape: tuple[int, ...]) -> Number:
        """The adjoint of `extended`: along each axis what lies beyond the edges is added up."""
        for axis, (n, (before, after)) in enumerate(zip(shape, self.widths, strict=True)):
            if not (before or after):
                continue
            rows = moveaxis(g, axis, 0)
            inner = rows[before : before + n]
            if self.mode not in CONSTANTS:
                numbers = np.pad(np.arange(n), (before, after), mode=PADDING[self.mode])  # type: ignore[call-overload]
                edges = np.r_[:before, before + n : before + n + after]
                inner = inner + added_at(numbers[edges], rows[edges], n)
            g = moveaxis(inner, 0, axis)
        return g


def _window_along(ndim: int, axis: int, size: Any, origin: Any, mode: int, cval: Any) -> Window:
    shape, origins = [1] * ndim, [0] * ndim
    shape[axis], origins[axis] = int(size), int(origin)
    return Window(tuple(shape), tuple(origins), mode, _outside(cval))


def _outside(cval: Any) -> float:
    """What is outside of arrays, which is a constant."""
    plain = binding.plain_constants([cval]) if carries(cval) else [cval]
    if plain is None:
        raise MissingRuleError(
            "scipy.ndimage has no derivatives by cval: give it cadiff.value(cval); or take cval=0 "
            "and x - cval, and add cval to the result, times the sum of weights if there are any"
        )
    return float(plain[0])


def _written(output: Any, result: Number) -> None:
    kind = np.dtype(getattr(output, "dtype", float)).kind
    if kind in "biu" and carries(result) and binding.plain_constants([result]) is None:
        raise MissingRuleError(
            "scipy.ndimage would round numbers with derivatives, since the array is one of whole "
            "numbers: write output=float, or give it x.astype(float)"
        )
    output[...] = result


# --- filters with weights ------------------------------------------------------------------------


@stated("correlate")
def weighted(x: Any, w: Any, window: Window, axis: int | None) -> Any:
    """The sums of weights times what they cover: along an axis, or along all."""
    out, w = np.zeros(x.shape), np.ascontiguousarray(w, float)  # which is read by its address
    if axis is None:
        _nd_image.correlate(x, w, out, window.mode, window.cval, list(window.origins))
    else:
        plain = (window.mode, window.cval, window.origins[axis])
        _nd_image.correlate1d(x, w.ravel(), axis, out, *plain)
    return out


def _weighted_pull(ans: Any, x: Number, w: Number, g: Any, window: Window, axis: Any) -> Number:
    if window.is_own_adjoint(w):
        return weighted(g, turned(w), window=window.turned, axis=axis)
    back, widened = window.adjoint, window.widened(g)
    return window.folded(weighted(widened, turned(w), window=back, axis=axis), x.shape)


weighted.defvjp(
    curried(_weighted_pull),
    lambda ans, x, w, window, axis: lambda g: correlated(window.extended(x), g),
)
weighted.defjvp(
    lambda g, ans, x, w, window, axis: weighted(g, w, window=window._replace(cval=0.0), axis=axis),
    lambda g, ans, x, w, window, axis: weighted(x, g, window=window, axis=axis),
)


@kernels("scipy.ndimage._nd_image")
def correlate1d(
    x: Any, w: Any, axis: int, output: Any, mode: int, cval: float, origin: int
) -> None:
    x, w = as_number(x), as_number(w)
    window = _window_along(x.ndim, axis, len(w), origin, mode, cval)
    _written(output, weighted(x, reshape(w, window.shape), window=window, axis=axis))


@kernels("scipy.ndimage._nd_image")
def correlate(x: Any, w: Any, output: Any, mode: int, cval: float, origins: Sequence[int]) -> None:
    x, w = as_number(x), as_number(w)
    window = Window(tuple(w.shape), tuple(map(int, origins)), mode, _outside(cval))
    _written(output, weighted(x, w, window=window, axis=None))


@stated("uniform_filter1d")
def averaged(x: Any, window: Window, axis: int) -> Any:
    """The means of windows along an axis, as running sums."""
    out = np.zeros(x.shape)
    plain = (window.mode, window.cval, window.origins[axis])
    _nd_image.uniform_filter1d(x, window.shape[axis], axis, out, *plain)
    return out


def _averaged_pull(ans: Any, x: Number, g: Any, window: Window, axis: int) -> Number:
    if window.is_own_adjoint(np.ones(window.shape)):
        return averaged(g, window=window.turned, axis=axis)
    means = averaged(window.widened(g), window=window.adjoint, axis=axis)
    return window.folded(means, x.shape)


averaged.defvjp(curried(_averaged_pull))
averaged.defjvp(
    lambda g, ans, x, window, axis: averaged(g, window=window._replace(cval=0.0), axis=axis)
)


@kernels("scipy.ndimage._nd_image")
def uniform_filter1d(
    x: Any, size: int, axis: int, output: Any, mode: int, cval: float, origin: int
) -> None:
    x = as_number(x)
    window = _window_along(x.ndim, axis, size, origin, mode, cval)
    _written(output, averaged(x, window=window, axis=axis))


# --- filters by rank -----------------------------------------------------------------------------


@stated("rank_filter")
def ranked(x: Any, window: Window, footprint: Any, rank: int) -> Any:
    """The element of a rank among those that a window covers."""
    out = np.zeros(x.shape)
    _nd_image.rank_filter(x, rank, footprint, out, window.mode, window.cval, list(window.origins))
    return out


def _chosen(ans: Any, x: Number, window: Window, footprint: NDArray[np.bool_]) -> Places:
    """Which element each result is: the first one of a window that is as large."""
    values, extremes = np.asarray(held(x)), np.asarray(held(ans))
    extended = window.extended(values)
    places = window.places(values.shape)
    chosen = np.full(values.shape, values.size)
    is_open = np.ones(values.shape, bool)
    for offset in zip(*np.nonzero(footprint), strict=True):
        there = tuple(slice(k, k + n) for k, n in zip(offset, values.shape, strict=True))
        here = is_open & (extended[there] == extremes)
        chosen[here] = places[there][here]
        is_open &= ~here
    return chosen


def _ranked_pull(ans: Any, x: Number, g: Any, window: Window, footprint: Any, rank: int) -> Number:
    shape = binding.shape(x)
    n = math.prod(shape)
    chosen = _chosen(ans, x, window, footprint)
    return reshape(added_at(chosen.ravel(), reshape(g, -1), n + 1)[:n], shape)


def _ranked_push(g: Any, ans: Any, x: Number, window: Window, footprint: Any, rank: int) -> Any:
    chosen = _chosen(ans, x, window, footprint)
    numbers = np.concatenate([reshape(g, -1), np.zeros(1)])
    return reshape(taken_at(numbers, chosen.ravel()), binding.shape(x))


ranked.defvjp(curried(_ranked_pull))
ranked.defjvp(_ranked_push)


@kernels("scipy.ndimage._nd_image")
def rank_filter(
    x: Any, rank: int, footprint: Any, output: Any, mode: int, cval: float, origins: Any
) -> None:
    x, footprint = as_number(x), np.asarray(footprint, bool)
    window = Window(footprint.shape, tuple(map(int, origins)), mode, _outside(cval))
    _written(output, ranked(x, window=window, footprint=footprint, rank=int(rank)))


@kernels("scipy.ndimage._rank_filter_1d", "rank_filter")
def rank_filter_1d(
    x: Any, rank: int, size: int, output: Any, mode: int, cval: float, origin: int
) -> None:
    if carries(x):
        rank_filter(x, rank, np.ones(size, bool), output, mode, cval, [origin])
        return
    result = np.zeros(np.shape(x), np.asarray(x).dtype)
    _rank_filter_1d.rank_filter(x, rank, size, result, mode, cval, origin)
    _written(output, result)


@kernels("scipy.ndimage._nd_image")
def min_or_max_filter1d(
    x: Any, size: int, axis: int, output: Any, mode: int, cval: float, origin: int, minimum: bool
) -> None:
    window = _window_along(binding.ndim(x), axis, size, origin, mode, cval)
    footprint, rank = np.ones(window.shape, bool), 0 if minimum else size - 1
    rank_filter(x, rank, footprint, output, mode, cval, window.origins)


@kernels("scipy.ndimage._nd_image")
def min_or_max_filter(
    x: Any, footprint: Any, structure: Any, output: Any, mode: int, cval: float, origins: Any,
    minimum: bool,
) -> None:  # fmt: skip
    if structure is None:
        count = int(np.count_nonzero(footprint))
        rank_filter(x, 0 if minimum else count - 1, footprint, output, mode, cval, origins)
        return
    if carries(x) or carries(structure):
        raise MissingRuleError(
            "filters of scipy.ndimage with a structure that is not flat have no derivative here: "
            "take structure=None and a footprint"
        )
    result = np.zeros(np.shape(x))
    plain = (mode, cval, origins, minimum)
    _nd_image.min_or_max_filter(x, footprint, structure, result, *plain)
    _written(output, result)


@kernels("scipy.signal._sigtools")
def _medfilt2d(image: Any, size: Any) -> Any:
    """`scipy.signal.medfilt2d`: the middle of windows, with zeros beyond the edges."""
    image = as_number(image)
    footprint = np.ones(tuple(map(int, size)), bool)
    window = Window(footprint.shape, (0, 0), CONSTANT, 0.0)
    return ranked(image, window=window, footprint=footprint, rank=footprint.size // 2)


# --- filters of one's own ------------------------------------------------------------------------


@kernels("scipy.ndimage._nd_image")
def generic_filter(
    x: Any, function: Any, footprint: Any, output: Any, mode: int, cval: float, origins: Any,
    args: Any = (), named: Any = None,
) -> None:  # fmt: skip
    """A function of the elements that a window covers, wherever it lies."""
    x, footprint = as_number(x), np.asarray(footprint, bool)
    window = Window(footprint.shape, tuple(map(int, origins)), mode, _outside(cval))
    extended = window.extended(x)
    for place in np.ndindex(x.shape):
        there = tuple(slice(k, k + n) for k, n in zip(place, footprint.shape, strict=True))
        output[place] = function(extended[there][footprint], *args, **(named or {}))


@kernels("scipy.ndimage._nd_image")
def generic_filter1d(
    x: Any, function: Any, size: int, axis: int, output: Any, mode: int, cval: float,
    origin: int, args: Any = (), named: Any = None,
) -> None:  # fmt: skip
    """A function that writes lines of results, of extended lines along an axis."""
    x = as_number(x)
    window = _window_along(x.ndim, axis, size, origin, mode, cval)
    lines, results = moveaxis(window.extended(x), axis, -1), np.moveaxis(output, axis, -1)
    for place in np.ndindex(lines.shape[:-1]):
        function(lines[place], results[place], *args, **(named or {}))


# --- splines -------------------------------------------------------------------------------------

SHORT = 32  # elements, over which recursions of splines do not depend on where they began


@stated("spline_filter1d")
def coefficients(x: Any, order: int, axis: int, mode: int) -> Any:
    """Those of the splines through elements along an axis."""
    out = np.zeros(x.shape)
    _nd_image.spline_filter1d(x, order, axis, out, mode)
    return out


def _coefficients_pull(ans: Any, x: Number, g: Any, order: int, axis: int, mode: int) -> Number:
    """The matrix is symmetric, or is so but for halves at the ends where splines are mirrored."""
    n = binding.shape(x)[axis]
    if n <= SHORT:
        matrix = coefficients(np.eye(n), order=order, axis=0, mode=mode)
        return moveaxis(moveaxis(g, axis, -1) @ matrix, -1, axis)
    if mode in (NEAREST, REFLECT, GRID_WRAP):
        return coefficients(g, order=order, axis=axis, mode=mode)
    ends = np.ones(n)
    ends[[0, -1]] = 0.5
    halves = ends.reshape((-1,) + (1,) * (binding.ndim(x) - 1 - axis))
    return halves * coefficients(g / halves, order=order, axis=axis, mode=mode)


coefficients.defvjp(curried(_coefficients_pull))
coefficients.defjvp(
    lambda g, ans, x, order, axis, mode: coefficients(g, order=order, axis=axis, mode=mode)
)


@kernels("scipy.ndimage._nd_image")
def spline_filter1d(x: Any, order: int, axis: int, output: Any, mode: int) -> None:
    x = as_number(x)
    _written(output, coefficients(x, order=int(order), axis=int(axis), mode=mode))


class Between(NamedTuple):
    """How elements are interpolated: by splines of an order, and beyond the edges by a mode.

    Attributes
    ----------
    order, mode : int
    cval : float
        What is outside, where the mode is constant.
    padding : int
        How many elements stand before the first one.
    orders : tuple of int
        Of derivatives by each coordinate.
    shape : tuple of int
        Of the array of coefficients.
    """

    order: int
    mode: int
    cval: float
    padding: int
    orders: tuple[int, ...]
    shape: tuple[int, ...]

    def derived(self, axis: int) -> Between:
        """The derivative by a coordinate."""
        orders = tuple(n + (k == axis) for k, n in enumerate(self.orders))
        return self._replace(orders=orders)

    @property
    def homogeneous(self) -> Between:
        return self._replace(cval=0.0)


@functools.lru_cache(maxsize=64)
def _pieces(n: int, order: int) -> Real:
    """A derivative of the B-spline of degree n with knots at whole numbers: a column per piece."""
    spline = PPoly.from_spline(BSpline.basis_element(np.arange(n + 2.0)))
    pieces: Real = spline.derivative(order).c[:, n : 2 * n + 1]  # knots at the ends are repeated
    return pieces


def _led_back(x: Real, n: int, mode: int, order: int) -> tuple[Real, Real]:
    """Coordinates led back to an axis of n elements, and how they follow the given ones.

    What splines from an axis that is not extended do not reach becomes nan.
    """
    slope = np.ones_like(x)
    outside = (x < 0) | (x > n - 1)
    if mode == CONSTANT:
        return np.where(outside, np.nan, x), slope * ~outside
    if mode == GRID_CONSTANT:
        reach = max(0.5 * (order + 1), 1.0)
        return np.where((x <= -reach) | (x >= n - 1 + reach), np.nan, x), slope
    if mode == NEAREST:  # splines of elements within are in reach of points beside the edge
        reach = max(0.5 * (order - 1), 0.0)
        there = np.clip(x, -reach, n - 1 + reach)
        return there, slope * (there == x)
    if mode == WRAP:
        return (x if n == 1 else np.where(outside, np.mod(x, n - 1), x)), slope
    if mode == GRID_WRAP:
        return np.where(outside, np.mod(x, n), x), slope
    if n == 1:
        return np.zeros_like(x), 0.0 * slope
    if mode == MIRROR:
        turn, start = 2.0 * (n - 1), 0.0
    else:
        turn, start = 2.0 * n, -0.5
    within = np.mod(x - start, turn)
    is_back = within > 0.5 * turn
    there = np.where(is_back, turn - within, within) + start
    return np.where(outside, there, x), np.where(outside & is_back, -1.0, 1.0)


def _index(i: Places, n: int, mode: int) -> Places:
    """Which coefficient stands at a place near the edge."""
    if mode in (NEAREST, GRID_CONSTANT):
        return np.clip(i, 0, n - 1)
    if mode == GRID_WRAP:
        return np.mod(i, n)
    if n == 1:
        return np.zeros_like(i)
    turn, start = (2 * n, 2 * n - 1) if mode == REFLECT else (2 * (n - 1), 2 * (n - 1))
    within = np.mod(i, turn)
    return np.where(within < n, within, start - within)


class Located:
    """The coefficients that count at points, of the points' shape.

    Attributes
    ----------
    flat : ndarray of int
        Their places in the flat array, (order + 1, ..., order + 1, points); cval is behind it.
    inside : ndarray of bool
        Which points have values of the array.
    """

    def __init__(self, points: Real, how: Between) -> None:
        self.how = how
        self.inside = np.ones(points.shape[1:], bool)
        self._axes = []
        flat, beyond = np.zeros(points[0].size, np.intp), np.zeros(points[0].size, bool)
        for x, n in zip(points, how.shape, strict=True):
            there, slope = _led_back(x + how.padding, n, how.mode, how.order)
            self.inside &= ~np.isnan(there)
            there = np.nan_to_num(there).ravel()
            shifted = there if how.order % 2 else there + 0.5
            first = np.floor(shifted)
            places = first.astype(np.intp) - how.order // 2 + np.arange(how.order + 1)[:, None]
            self._axes.append((shifted - first, slope.ravel()))
            flat = flat[..., None, :] * n + _index(places, n, how.mode)
            beyond = beyond[..., None, :] | (places < 0) | (places >= n)
        is_constant = how.mode == GRID_CONSTANT
        self.flat = np.where(beyond, math.prod(how.shape), flat) if is_constant else flat

    def weights(self, axis: int, further: int = 0) -> list[Real]:
        """How much coefficients count along an axis, or a further derivative of that."""
        u, slope = self._axes[axis]
        order = self.how.orders[axis] + further
        found = [np.polyval(piece, u) for piece in _pieces(self.how.order, order).T[::-1]]
        return [w * slope**order for w in found] if order else found

    def within(self, found: Real) -> Real:
        """What is found, in shape, and 0 at points outside."""
        return np.where(self.inside, found.reshape(self.inside.shape), 0.0)


def _contracted(weights: list[Real], terms: Real) -> Any:
    """The sum over the first axis of terms with weights, which are those of points."""
    return sum(w * term for w, term in zip(weights, terms, strict=True))


def _by_scipy(c: Any, points: Any, how: Between, call: tuple[Any, ...], out: Any) -> Any:
    name, *first = call or ("geometric_transform", None, points, None, None)
    last = (None, None) if name == "geometric_transform" else (first.pop(),)
    getattr(_nd_image, name)(c, *first, out, how.order, how.mode, how.cval, how.padding, *last)
    return out


@stated("map_coordinates")
def interpolated(c: Any, points: Any, how: Between, call: tuple[Any, ...]) -> Any:
    """Splines with coefficients c at points; the first axis is that of coordinates."""
    if not any(how.orders):
        return _by_scipy(c, points, how, call, np.zeros(points.shape[1:]))
    at = Located(points, how)
    terms = np.append(c, how.cval)[at.flat]
    for axis in range(len(how.shape)):
        terms = _contracted(at.weights(axis), terms)
    return at.within(terms)


def _by_axes(points: Real) -> list[Real] | None:
    """The coordinates of each axis of a grid; None where points are none."""
    n = points.ndim - 1
    first = (slice(None),) + (0,) * (n - 1)
    rows = [np.moveaxis(x, k, 0)[first] for k, x in enumerate(points[:n])]
    whole = np.meshgrid(*rows, indexing="ij", copy=False)
    return rows if len(points) == n and all(map(np.array_equal, points, whole)) else None


@stated("map_coordinates")
def spread(g: Any, points: Any, how: Between) -> Any:
    """The adjoint of `interpolated`: coefficients to which numbers at points are added."""
    coordinates = _by_axes(points)
    for axis, row in enumerate(coordinates or ()):
        along = slice(axis, axis + 1)
        at = Located(row[None], how._replace(orders=how.orders[along], shape=how.shape[along]))
        weights = np.where(at.inside, np.stack(at.weights(0)), 0.0)
        places = at.flat.ravel(), np.tile(np.arange(len(row)), len(weights))
        matrix = csr_array((weights.ravel(), places), (how.shape[axis] + 1, len(row)))
        rows = np.moveaxis(g, axis, 0)
        sums = (matrix @ rows.reshape(len(row), -1))[:-1]
        g = np.moveaxis(sums.reshape(-1, *rows.shape[1:]), 0, axis)
    if coordinates:
        return g
    at = Located(points, how)
    terms = at.within(g).ravel()
    for axis in range(len(how.shape)):
        terms = terms[..., None, :] * np.stack(at.weights(axis))
    size = math.prod(how.shape)
    return np.bincount(at.flat.ravel(), terms.ravel(), size + 1)[:size].reshape(how.shape)


@stated("map_coordinates")
def sloped(c: Any, points: Any, how: Between) -> Any:
    """The derivatives by all coordinates, along a first axis."""
    at = Located(points, how)
    terms, slopes = np.append(c, how.cval)[at.flat], list[Real]()
    for axis in range(len(how.shape)):
        weights = at.weights(axis)
        slopes = [_contracted(weights, slope) for slope in slopes]
        slopes.append(_contracted(at.weights(axis, 1), terms))
        terms = _contracted(weights, terms)
    return np.stack([at.within(slope) for slope in slopes])


sloped.defvjp(
    lambda ans, c, points, how: (
        lambda g: sum(spread(g[k], points, how=how.derived(k)) for k in range(len(how.shape)))
    ),
    lambda ans, c, points, how: (
        lambda g: sum(g[k] * sloped(c, points, how=how.derived(k)) for k in range(len(how.shape)))
    ),
)
sloped.defjvp(
    lambda g, ans, c, points, how: sloped(g, points, how=how.homogeneous),
    lambda g, ans, c, points, how: stack(
        [sum_(sloped(c, points, how=how.derived(k)) * g, axis=0) for k in range(len(how.shape))]
    ),
)


interpolated.defvjp(
    lambda ans, c, points, how, call: lambda g: spread(g, points, how=how.homogeneous),
    lambda ans, c, points, how, call: lambda g: g * sloped(c, points, how=how),
)
interpolated.defjvp(
    lambda g, ans, c, points, how, call: interpolated(g, points, how=how.homogeneous, call=call),
    lambda g, ans, c, points, how, call: sum_(sloped(c, points, how=how) * g, axis=0),
)
spread.defvjp(
    lambda ans, g, points, how: lambda c: interpolated(c, points, how=how.homogeneous, call=()),
    lambda ans, g, points, how: lambda c: g * sloped(c, points, how=how.homogeneous),
)
spread.defjvp(
    lambda h, ans, g, points, how: spread(h, points, how=how),
    lambda h, ans, g, points, how: sum(
        spread(g * h[k], points, how=how.derived(k)) for k in range(len(how.shape))
    ),
)


def _moved(c: Any, points: Any, output: Any, how: tuple[Any, ...], call: Any) -> None:
    order, mode, cval, padding = how
    c = as_number(c)
    if mode == WRAP and min(c.shape) == 1:
        raise MissingRuleError(
            "mode='wrap' has no derivative along an axis of one element: take mode='grid-wrap'"
        )
    shape = tuple(c.shape)
    between = Between(int(order), mode, _outside(cval), int(padding), (0,) * len(shape), shape)
    plain = binding.plain_constants([c, points]) if output.dtype.kind in "biu" else None
    if plain is not None:  # SciPy rounds
        _by_scipy(np.asarray(plain[0]), np.asarray(plain[1]), between, call, output)
    else:
        _written(output, interpolated(c, points, how=between, call=call))


def _grid(output: Any) -> Real:
    """The places of all elements of an array, the axis of coordinates in front."""
    return np.indices(np.shape(output), dtype=float)


@kernels("scipy.ndimage._nd_image")
def geometric_transform(
    c: Any, mapping: Any, points: Any, matrix: Any, offset: Any, output: Any, *how: Any
) -> None:
    *plan, args, named = how
    if mapping is not None:
        args, named = args or (), named or {}
        numbers = [mapping(index, *args, **named) for index in np.ndindex(np.shape(output))]
        columns = [stack([number[k] for number in numbers]) for k in range(binding.ndim(c))]
        points = reshape(stack(columns), (binding.ndim(c), *np.shape(output)))
        call: Any = ()
    elif points is not None:
        points, call = as_number(points), ()
    else:
        call = ("geometric_transform", None, None, matrix, offset)
        call = () if carries(matrix) or carries(offset) else call
        matrix, offset = as_number(matrix), as_number(offset)
        upright = (-1,) + (1,) * np.ndim(output)
        points = np.tensordot(matrix, _grid(output), 1) + reshape(offset, upright)
    _moved(c, points, output, tuple(plan), call)


@kernels("scipy.ndimage._nd_image")
def zoom_shift(c: Any, zoom: Any, shift: Any, output: Any, *how: Any) -> None:
    *plan, by_cells = how
    call = () if carries(zoom) or carries(shift) else ("zoom_shift", zoom, shift, bool(by_cells))
    columns = (-1,) + (1,) * binding.ndim(c)
    points: Any = _grid(output)
    if shift is not None:
        points = points + reshape(as_number(shift), columns)
    if by_cells:
        points = points + 0.5
    if zoom is not None:
        points = points * reshape(as_number(zoom), columns)
    if by_cells:
        points = points - 0.5
    _moved(c, points, output, tuple(plan), call)


# --- spectra -------------------------------------------------------------------------------------


def _by_frequency(
    name: str, kind: type, x: Any, sizes: Any, n: int, axis: int, output: Any, *how: int
) -> None:
    """Factors by frequency, which are what ones become."""
    constants = binding.plain_constants(((sizes,), {})) if carries(sizes) else ((sizes,), {})
    if constants is None:
        raise MissingRuleError(
            f"scipy.ndimage.{name} has derivatives by the spectrum alone: give it "
            "cadiff.value(...) of widths and shifts"
        )
    factors = np.zeros(np.shape(x), kind)
    plain = np.asarray(constants[0][0], float)
    getattr(_nd_image, name)(np.ones(np.shape(x), kind), plain, n, axis, factors, *how)
    _written(output, x * factors)


for _name, _kind in {"fourier_filter": float, "fourier_shift": complex}.items():
    kernels("scipy.ndimage._nd_image", _name)(functools.partial(_by_frequency, _name, _kind))


@kernels("scipy.signal._spline")
def sepfir2d(x: Any, rows: Any, columns: Any) -> Number:
    """`scipy.signal.sepfir2d`: convolutions of rows and of columns, mirrored at the edges."""
    image = as_number(x)
    for axis, taps in ((1, as_number(rows)), (0, as_number(columns))):
        n = binding.shape(taps)[0]
        shape = (1, n) if axis == 1 else (n, 1)
        window = Window(shape, (0, 0), REFLECT, 0.0)
        image = weighted(image, reshape(turned(taps), shape), window=window, axis=axis)
    return image
