"""Order statistics along axes: quantiles, percentiles and medians.

Which elements stand at the places of a quantile is found by plain NumPy; derivatives follow them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..binding import carries
from ..binding import unguarded as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.guards import fixed, held, nans, order
from ..operations.searches import ranked
from ._common import Axis, Number, as_number, expanded, joined_axes, like, refuse, unsupported
from ._reductions import mean, registered, weights_like

# The plotting positions of Hyndman and Fan, Sample Quantiles in Statistical Packages, The American
# Statistician 50 (1996): the quantile q of n elements stands at n q + a + q (1 - a - b) - 1.
PLOTTING_POSITIONS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1.0 / 3.0, 1.0 / 3.0),
    "normal_unbiased": (3.0 / 8.0, 3.0 / 8.0),
}


# Methods that give an element, whatever stands beside it.
_ELEMENTS = ("closest_observation", "higher", "inverted_cdf", "lower", "nearest")


def _picked(rows: Number, ranks: Any) -> Number:
    """Elements in ascending order along the first axis: the result has the shape of the ranks.

    These have trailing axes like `rows`, or of length 1, or none.
    """
    trailing = rows.shape[1:]
    ranks = np.asarray(ranks)
    kept = ranks.shape[: max(ranks.ndim - len(trailing), 0)]
    spread = np.broadcast_to(ranks, (*kept, *trailing))
    return ranked(rows, spread.reshape(-1, *trailing)).reshape((*kept, *trailing))


def _between(low: Number, high: Number, t: Number) -> Number:
    """Linear interpolation from the nearer end, as NumPy does."""
    gap = high - low
    return _table.where(held(t) >= 0.5, high - gap * (1 - t), low + gap * t)


def _places(n: Any, q: Number, method: str) -> Number:
    """Where among n sorted elements the quantile stands: a number from 0 to n - 1."""
    if method == "linear":
        return (n - 1) * q
    if method == "averaged_inverted_cdf":  # the mean of two elements, or the next one
        return n * value(q) - 1
    if method not in PLOTTING_POSITIONS:
        return _discrete_places(n, value(q), method)
    alpha, beta = PLOTTING_POSITIONS[method]
    return n * q + (alpha + q * (1 - alpha - beta)) - 1


def _discrete_places(n: Any, q: Any, method: str) -> Any:
    """The places of the methods that jump, by asking NumPy for the quantiles of 0, 1, 2, ..."""
    n, q = np.broadcast_arrays(n, q)
    places = [
        np.quantile(np.arange(float(max(m, 1))), p, method=method)  # type: ignore[call-overload]
        for m, p in zip(n.flat, q.flat, strict=True)
    ]
    return np.array(places, dtype=float).reshape(q.shape)


def _weighted_places(rows: Number, q: Any, method: str, weights: Any) -> Any:
    """The places by weights: NumPy's quantiles of the ranks."""
    ranks = np.argsort(order(rows, 0), axis=0).astype(float)
    return np.quantile(ranks, value(q), axis=0, method=method, weights=weights)  # type: ignore[call-overload]


def _quantiles(
    x: Number,
    q: Number,
    axis: Axis,
    method: str,
    keepdims: bool,
    *,
    skip_nan: bool = False,
    weights: Any = None,
) -> Number:
    axes = arrays.reduced_axes(axis, x.ndim)
    rows = joined_axes(x, axes)
    missing = nans(rows)
    count = np.sum(~missing, axis=0) if skip_nan else np.array(rows.shape[0])
    column = q.reshape(q.shape + (1,) * (rows.ndim - 1)) if q.ndim or rows.ndim > 1 else q
    if weights is None:
        where = _places(like(q, count), column, method)
    else:
        given = np.asarray(weights_like(np.empty(x.shape), axes, np.asarray(value(weights))))
        where = _weighted_places(rows, q, method, joined_axes(given, axes))
    last = np.maximum(count - 1, 0)
    place = np.asarray(fixed(_table.floor(where)))
    low = np.clip(place, 0, last).astype(np.intp)
    high = np.where(place < 0, 0, np.minimum(low + 1, last))
    t = _table.clip(where - like(where, low), 0.0, 1.0)
    if method == "averaged_inverted_cdf":
        t = np.where(where == place, 0.5, 1.0)
    result = _picked(rows, low)
    if method not in _ELEMENTS:
        result = _between(result, _picked(rows, high), t)
    if skip_nan:
        result = _table.where(count == 0, np.nan, result)
    elif missing.any():
        result = _table.where(missing.any(axis=0), np.nan, result)
    if not keepdims:
        return result
    lengths = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return result.reshape(q.shape + lengths)


def _checked_quantiles(q: Any, scale: float, x: Number) -> Number:
    weak = type(q) in (float, int)
    q = as_number(q)
    weak = weak or (scale == 1 and np.dtype(q.dtype).kind in "iub")  # they are places of elements
    q = arrays.in_precision(q, x.dtype if weak else None) / scale
    if not np.all((held(q) >= 0) & (held(q) <= 1)):
        kind = "Percentiles must be in the range [0, 100]"
        raise ValueError(kind if scale != 1 else "Quantiles must be in the range [0, 1]")
    return q


def _order_statistic(name: str, scale: float, skip_nan: bool) -> Callable[..., Number]:
    def quantile(
        a: Any,
        q: Any,
        axis: Axis = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
        interpolation: Any = None,
    ) -> Number:
        refuse(name, out=out)
        if interpolation is not None:
            unsupported(name, "interpolation=", "it is called method=")
        if carries(weights):
            unsupported(name, "weights with derivatives", "give cadiff.value(weights)")
        x = as_number(a)
        share = _checked_quantiles(q, scale, x)
        return _quantiles(x, share, axis, method, keepdims, skip_nan=skip_nan, weights=weights)

    return registered(
        quantile,
        "Order statistics along axes, {}, by every method; `q` may carry\n"
        "    derivatives. The derivative follows the elements between which the result stands.",
        name,
    )


quantile = _order_statistic("quantile", 1, skip_nan=False)
percentile = _order_statistic("percentile", 100, skip_nan=False)
nanquantile = _order_statistic("nanquantile", 1, skip_nan=True)
nanpercentile = _order_statistic("nanpercentile", 100, skip_nan=True)


def _middle(name: str, remark: str, *, skip_nan: bool = False) -> Callable[..., Number]:
    """Means of the two middle elements, or the middle ones, along axes."""

    def median(
        a: Any,
        axis: Axis = None,
        out: None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Number:
        refuse(name, out=out)
        x = as_number(a)
        axes = arrays.reduced_axes(axis, x.ndim)
        rows = joined_axes(x, axes)
        missing = nans(rows)
        count = np.sum(~missing, axis=0) if skip_nan else np.array(rows.shape[0])
        if rows.shape[0] == 0:
            return mean(x, axis, keepdims=keepdims)
        middle = _picked(rows, np.maximum(count - 1, 0) // 2)
        if not np.all(count % 2):
            other = _picked(rows, np.minimum(count // 2, rows.shape[0] - 1))
            middle = _table.where(count % 2, middle, (middle + other) / 2.0)
        if missing.any():
            lost = count == 0 if skip_nan else missing.any(axis=0)
            middle = _table.where(lost, np.nan, middle)
        return expanded(middle, axes) if keepdims else middle

    return registered(median, remark, name)


median = _middle(
    "median", "Median along axes, {}; of two middle elements each has half the share."
)
nanmedian = _middle("nanmedian", "Median along axes of what is not nan, {}.", skip_nan=True)
