"""Sums, products and extremes along axes.

Means and variances are composed of sums. Products, running sums and extremes are operations with
rules of their own: a product has no division in its derivatives, so zeros do no harm, and an
extreme is the very value of an element.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import NDArray

from .. import binding
from ..binding import (
    Dual,
    Var,
    compare,
    depends,
    indicator,
    is_single,
    narrowed,
    plain_values,
    run_loop,
)
from ..binding import unguarded as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.dispatch import implements
from ..operations.guards import EQUAL, LESS, NOT_EQUAL, held, nans
from ..operations.indices import added_along, taken_along
from ..operations.patterns import chained, over_axes
from ..operations.primitives import after_lanes, lanes_last, stated
from ._common import (
    Axis,
    Number,
    as_number,
    chosen,
    existing,
    expanded,
    flat_axis,
    for_writing,
    refuse,
)

F = TypeVar("F", bound=Callable[..., Any])

NoValue: Any = None  # what is missing


def registered(function: F, remark: str, *names: str) -> F:
    """One of a family of functions, under its names in NumPy."""
    function.__qualname__ = names[0]
    function.__doc__ = remark.format(f"as `numpy.{names[0]}`")
    return cast(F, implements(*existing(*names))(function))


# --- sums ----------------------------------------------------------------------------------------


def _present(x: Number, where: Any) -> NDArray[np.bool_]:
    """The elements that are not nan and that `where` lets take part."""
    found: NDArray[np.bool_] = ~nans(x)
    return found if where is None else np.logical_and(found, value(where), dtype=bool)


def _masked(x: Number, where: Any, neutral: float) -> Number:
    """The elements that take part, the others replaced by what changes nothing."""
    if where is None or where is True:
        return x
    return _table.where(value(where), x, neutral)


def _given(**named: Any) -> dict[str, Any]:
    """What is not missing: to NumPy, which plain arrays go to, None is a value."""
    return {name: x for name, x in named.items() if x is not NoValue}


def _count(x: Number, axis: Axis, where: Any, keepdims: bool) -> Any:
    """How many elements take part in a reduction: an int or an array of ints."""
    if where is None or where is True:
        axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
        return math.prod(x.shape[k] for k in axes)
    mask = np.broadcast_to(np.asarray(value(where), dtype=bool), x.shape)
    return np.sum(mask, axis=axis, keepdims=keepdims)


def _fold(
    name: str,
    remark: str,
    along: Callable[..., Number],
    join: Callable[..., Number],
    neutral: float,
    *,
    skip_nan: bool = False,
) -> Callable[..., Number]:
    """Sums or products along axes, of all elements or of those that are not nan."""

    def fold(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = NoValue,
        where: Any = NoValue,
    ) -> Number:
        refuse(name, out=out, dtype=dtype)
        x = arrays.in_precision(as_number(a), dtype)
        where = _present(x, where) if skip_nan else where
        folded = along(_masked(x, where, neutral), axis, bool(keepdims))
        return folded if initial is None else join(folded, for_writing(name, x, initial))

    return registered(fold, remark, name)


_SUMS = arrays.sum, operator.add, 0.0
sum = _fold(
    "sum", "Sum along axes, {}; `where` is a plain mask, `initial` may carry derivatives.", *_SUMS
)
nansum = _fold("nansum", "Sum along axes of what is not nan, {}.", *_SUMS, skip_nan=True)


def _quotient(total: Number, count: Any) -> Number:
    """A sum by a count, in the precision of the sum."""
    found = _table.divide(total, count)
    return narrowed(found) if is_single(total) else found


def _averaged(name: str, remark: str, *, skip_nan: bool = False) -> Callable[..., Number]:
    """Means along axes, of all elements or of those that are not nan."""

    def mean(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: Any = NoValue,
    ) -> Number:
        refuse(name, out=out, dtype=dtype)
        x = arrays.in_precision(as_number(a), dtype)
        where = _present(x, where) if skip_nan else where
        total = sum(x, axis, None, None, keepdims, **_given(where=where))
        return _quotient(total, _count(x, axis, where, keepdims))

    return registered(mean, remark, name)


mean = _mean = _averaged("mean", "Arithmetic mean along axes, {}; nan if there are no elements.")
nanmean = _averaged(
    "nanmean", "Mean along axes of what is not nan, {}; nan if nothing is.", skip_nan=True
)


def _lost(ddof: float, correction: Any) -> Any:
    """The degrees of freedom that are lost, by either of their names."""
    if correction is not None:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    return ddof.item() if isinstance(ddof, np.integer) else ddof  # which may have few bits


def _spreading(
    name: str, remark: str, *, root: bool = False, skip_nan: bool = False
) -> Callable[..., Number]:
    """Means of squared deviations from the mean, or roots of these."""

    def spread(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = NoValue,
        mean: Any = NoValue,
        correction: Any = NoValue,
    ) -> Number:
        refuse(name, out=out, dtype=dtype)
        x = arrays.in_precision(as_number(a), dtype)
        where = _present(x, where) if skip_nan else where
        centre = _mean(x, axis, keepdims=True, **_given(where=where)) if mean is None else mean
        squares = sum(_table.square(x - centre), axis, keepdims=keepdims, **_given(where=where))
        freedom = _count(x, axis, where, keepdims) - _lost(ddof, correction)
        variance = _quotient(squares, np.maximum(freedom, 0))
        if skip_nan and not np.all(freedom > 0):
            variance = _table.where(freedom > 0, variance, np.nan)
        return _table.sqrt(variance) if root else variance

    return registered(spread, remark, name)


var = _spreading("var", "Variance along axes, {}: the mean of squared deviations from the mean.")
std = _spreading(
    "std", "Standard deviation along axes, {}; where it is 0, so is its derivative.", root=True
)
nanvar = _spreading(
    "nanvar",
    "Variance along axes of what is not nan, {}; nan without enough elements.",
    skip_nan=True,
)
nanstd = _spreading(
    "nanstd", "Standard deviation along axes of what is not nan, {}.", root=True, skip_nan=True
)


@implements(np.average)
def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Weighted mean along axes, as `numpy.average`; `weights` may carry derivatives, too."""
    x = as_number(a)
    if weights is None:
        centre = mean(x, axis, keepdims=keepdims)
        total: Number = np.float64(x.size / builtins.max(centre.size, 1))
    else:
        w = weights_like(x, axis, as_number(weights))
        if np.dtype(w.dtype).kind in "biuf":  # as NumPy does before they are added up
            kind = np.result_type(x.dtype, w.dtype)
            w = w.astype(np.float32 if kind in (np.float32, np.complex64) else np.float64)
        total = arrays.sum(w, axis, keepdims=keepdims)
        if np.any(held(total) == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        centre = arrays.sum(x * w, axis, keepdims=keepdims) / total
    if not returned:
        return centre
    return centre, arrays.copy(arrays.broadcast_to(total, centre.shape))


def weights_like(x: Number, axis: Axis, w: Number) -> Number:
    """Weights as an array of the shape of x: given so, or one for each element of the axes."""
    if w.shape == x.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = arrays.reduced_axes(axis, x.ndim)
    if w.shape != tuple(x.shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along axis.")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = [n if k in axes else 1 for k, n in enumerate(x.shape)]
    return arrays.broadcast_to(arrays.transpose(w, order).reshape(tuple(shape)), x.shape)


# --- running sums and products -------------------------------------------------------------------

# How kernels of src/kernels/rows.c combine numbers.
MULTIPLY, MAXIMUM, MINIMUM, FMAX, FMIN = range(5)


ALONG_FIRST = ((0,), (0,))


@stated(loop=("recurrence", 0, (*ALONG_FIRST, (0,))))
def recurrence(a: Any, b: Any) -> Any:
    """s[k] = a[k] s[k - 1] + b[k] from s[-1] = 0, along the first axis."""
    found = run_loop(recurrence.loop, [a, b], b.shape)
    return np.zeros(b.shape) if found is None else found  # there are no elements


def _shifted(x: Number, fill: float) -> Number:
    """One step later along the first axis: fill, x[0], x[1], ... without the last."""
    return arrays.concatenate([np.full((1, *x.shape[1:]), fill), x[:-1]])[: len(x)]


def recurrence_adjoint(g: Number, a: Number) -> Number:
    """The recurrence run from the end: t[k] = a[k + 1] t[k + 1] + g[k]."""
    return recurrence(_shifted(a[::-1], 0.0), g[::-1])[::-1]


recurrence.over_lanes = lanes_last(recurrence.function)
recurrence.defvjp(
    lambda s, a, b: lambda g: recurrence_adjoint(g, a) * _shifted(s, 0.0),
    lambda s, a, b: lambda g: recurrence_adjoint(g, a),
)
recurrence.defjvp(
    lambda g, s, a, b: recurrence(a, g * _shifted(s, 0.0)), lambda g, s, a, b: recurrence(a, g)
)
recurrence.defpattern(lambda s, a, b: chained(s.shape, first=1), lambda s, a, b: chained(s.shape))


@stated("cumprod", loop=("running", MULTIPLY, ALONG_FIRST))
def _running_product(x: Any) -> Any:
    """Running products along the first axis."""
    return np.cumprod(x, axis=0)


# y[k] = x[k] y[k - 1] is a recurrence in which 1 comes before the first element.
_running_product.over_lanes = lambda which, x: np.cumprod(x, axis=1)
_running_product.defvjp(lambda y, x: lambda g: recurrence_adjoint(g, x) * _shifted(y, 1.0))
_running_product.defjvp(lambda g, y, x: recurrence(x, g * _shifted(y, 1.0)))
_running_product.defpattern(lambda y, x: chained(y.shape))


def along_first(f: Callable[[Number], Number], x: Number, axis: int) -> Number:
    return arrays.moveaxis(f(arrays.moveaxis(x, axis, 0)), 0, axis)


def _running(
    name: str, remark: str, along: Callable[[Number, int], Number], neutral: float | None = None
) -> Callable[..., Number]:
    """Running sums or products; nan counts as the neutral number, if one is given."""

    def running(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Number:
        refuse(name, out=out, dtype=dtype)
        x = arrays.in_precision(as_number(a), dtype)
        x, axis = flat_axis(x if x.ndim else x.reshape(-1), axis)  # as NumPy takes a number
        if neutral is not None:
            x = _masked(x, _present(x, None), neutral)
        return along(x, axis)

    return registered(running, remark, name)


def _products(x: Number, axis: int) -> Number:
    return along_first(_running_product, x, axis)


cumsum = _running("cumsum", "Running sums along an axis, {}.", arrays.cumsum)
cumprod = _running(
    "cumprod", "Running products along an axis, {}; derivatives are right at zeros.", _products
)
nancumsum = _running("nancumsum", "Running sums in which nan counts as 0, {}.", arrays.cumsum, 0.0)
nancumprod = _running(
    "nancumprod", "Running products in which nan counts as 1, {}.", _products, 1.0
)


# --- products ------------------------------------------------------------------------------------


@stated("prod", loop=lambda x, axes, keepdims: (np.multiply, axes), loop_takes=(0,))
def _product(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The product over axes."""
    return np.prod(x, axis=axes, keepdims=keepdims)


def _spread(x: Number, axes: tuple[int, ...], keepdims: bool) -> Number:
    """The result of a reduction as it is broadcast; one plain number is by itself."""
    return x if keepdims or type(x) is np.float64 else expanded(x, axes)


def _before(rows: Number) -> Number:
    """Along the first axis the products of those before each."""
    return _shifted(_running_product(rows), 1.0)


@stated("prod", loop=("others", 0, ALONG_FIRST))
def _others_along_first(rows: Any) -> Any:
    """Along the first axis, for each element the product of all others."""
    found = run_loop(_others_along_first.loop, [rows], rows.shape)
    return np.zeros(rows.shape) if found is None else found  # there are no elements


def _times_others(g: Number, ans: Number, rows: Number) -> Number:
    """The products of all but two elements, summed up times g by one of the two: symmetric."""
    before, after = _before(rows), _before(rows[::-1])[::-1]
    of_earlier = _shifted(recurrence(rows, g * before), 0.0)
    of_later = _shifted(recurrence(rows[::-1], (g * after)[::-1]), 0.0)[::-1]
    return of_earlier * after + of_later * before


_others_along_first.helper_in_c = lambda shape: (
    "cad_multiply_others",
    (shape[0], math.prod(shape[1:])),
)
_others_along_first.over_lanes = lanes_last(_others_along_first.function)
_others_along_first.defvjp(lambda ans, rows: lambda g: _times_others(g, ans, rows))
_others_along_first.defjvp(_times_others)
_others_along_first.defpattern(
    lambda ans, rows: over_axes(0, rows.ndim, keepdims=False).replace("->", "->z", 1)
)


def _others(x: Number, axes: tuple[int, ...]) -> Number:
    """For each element the product of all others over the axes."""
    if x.ndim == len(axes) == 1:
        return _others_along_first(x)
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    moved = arrays.transpose(x, axes + kept)
    rows = moved.reshape((math.prod(x.shape[k] for k in axes), *(x.shape[k] for k in kept)))
    back = tuple(int(k) for k in np.argsort(axes + kept))
    return arrays.transpose(_others_along_first(rows).reshape(moved.shape), back)


_product.fold_in_c = lambda axes, keepdims: (axes, "1.0", "r * x")
_product.over_lanes = lambda which, x, axes, keepdims: np.prod(
    x, axis=after_lanes(axes, x.ndim - 1), keepdims=keepdims
)
_product.defvjp(
    lambda ans, x, axes, keepdims: lambda g: _spread(g, axes, keepdims) * _others(x, axes)
)
_product.defjvp(lambda g, ans, x, axes, keepdims: arrays.sum(g * _others(x, axes), axes, keepdims))
_product.defpattern(lambda ans, x, axes, keepdims: over_axes(axes, x.ndim, keepdims))


def _product_along(x: Number, axis: Axis, keepdims: bool) -> Number:
    return _product(x, arrays.reduced_axes(axis, x.ndim), keepdims)


_PRODUCTS = _product_along, operator.mul, 1.0
prod = _fold(
    "prod", "Product along axes, {}; derivatives are right at zeros, to every order.", *_PRODUCTS
)
nanprod = _fold("nanprod", "Product along axes of what is not nan, {}.", *_PRODUCTS, skip_nan=True)


# --- extremes ------------------------------------------------------------------------------------


@stated("max or min", loop_takes=(0,), is_level=True, never_raises=True)
def _extreme(x: Any, axes: tuple[int, ...], keepdims: bool, reduce: Callable[..., Any]) -> Any:
    """The maximum or minimum over axes."""
    return reduce(x, axis=axes, keepdims=keepdims)


def _ties(x: Number, ans: Number, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Which elements are extreme; nan is, in either direction.

    Where a replay may find others these are numbers, 1 and 0.
    """
    extremes = _spread(ans, axes, keepdims)
    if depends((x, ans)):
        return _table.where(indicator(x, x, NOT_EQUAL), 1.0, indicator(x, extremes, EQUAL))
    if not (type(x) is np.ndarray and type(extremes) is np.float64):
        x, extremes = np.asarray(value(x)), np.asarray(value(extremes))
    plain: NDArray[np.bool_] = x == extremes
    return plain | np.isnan(x) if np.isnan(extremes).any() else plain


def _sharing(ties: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """How many elements share an extreme."""
    if isinstance(ties, (Var, Dual)):
        return arrays.sum(ties, axes, keepdims)
    if len(axes) == ties.ndim and not keepdims:
        return np.count_nonzero(ties)
    return np.sum(ties, axis=axes, keepdims=keepdims)


def of_ties(ties: Any, x: Number) -> Number:
    """The elements of x that are extreme, 0 elsewhere."""
    return _table.where(ties, x, 0.0) if isinstance(ties, (Var, Dual)) else chosen(ties, x)


@stated("max or min", loop_takes=(0,), never_raises=True)
def _shares_of_extreme(x: Any, over_all: bool, least: bool) -> Any:
    """Equal shares of 1 for what is extreme, in all of x or along the last axis; 0 elsewhere."""
    found = run_loop(_shares_of_extreme.loop(x, over_all, least), [x], x.shape)
    return np.zeros(x.shape) if found is None else found  # there are no elements


def _shares_over_lanes(which: Any, x: Any, over_all: bool, least: bool) -> Any:
    rows = x.reshape(len(x), -1) if over_all else x
    return _shares_of_extreme.function(rows, False, least).reshape(x.shape)


def _along_row(x: Any, over_all: bool, least: bool) -> Any:
    axes = None if over_all else (binding.ndim(x) - 1,)
    return "extreme_shares", int(least), (axes, axes)


def _shares_in_c(
    shape: tuple[int, ...], over_all: bool, least: bool
) -> tuple[str, tuple[int, ...]]:
    rows = 1 if over_all else math.prod(shape[:-1])
    return "cad_share_extreme", (rows, math.prod(shape) // (rows or 1), int(least))


_shares_of_extreme.helper_in_c = _shares_in_c
_shares_of_extreme.loop = _along_row
_shares_of_extreme.over_lanes = _shares_over_lanes
_shares_of_extreme.defvjp(None)


def _shares_of_row(x: Number, axes: tuple[int, ...], reduce: Callable[..., Any]) -> Any:
    """The shares along all axes, or the last one, which a loop of its own finds; else None."""
    ndim = binding.ndim(x)
    if ndim > 0 and (len(axes) == ndim or axes == (ndim - 1,)):
        return _shares_of_extreme(x, len(axes) == ndim, reduce == np.minimum.reduce)
    return None


@stated("argmax or argmin", loop_takes=(0,), never_raises=True)
def _place_of_extreme(x: Any, axis: int | None, least: bool) -> Any:
    """Where the extreme is, along an axis or in all of x; of several the first, less n."""
    shape = () if axis is None else np.delete(np.shape(x), axis)
    return run_loop(_place_of_extreme.loop(x, axis, least), [x], tuple(map(int, shape)))


def _place_in_c(
    shape: tuple[int, ...], axis: int | None, least: bool
) -> tuple[str, tuple[int, ...]]:
    if axis is None:
        shape, axis = (math.prod(shape),), 0
    rows, behind = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    return "cad_place_extreme", (rows, shape[axis], behind, int(least))


_place_of_extreme.loop = lambda x, axis, least: (
    "extreme_places",
    int(least),
    (None if axis is None else (axis,), ()),
)
_place_of_extreme.helper_in_c = _place_in_c
_place_of_extreme.defvjp(None)

MANY = 2048, 8  # numbers in all, and in a row, of which extremes are picked by where they are


def _places(
    x: Number, axes: tuple[int, ...], reduce: Callable[..., Any]
) -> tuple[Any, int] | None:
    """Where extremes are, and along which axis; None where some numbers share one, or are few.

    All of x are one row.
    """
    shape = binding.shape(x)
    over_all = len(axes) == len(shape)
    if len(axes) != 1 and not over_all:
        return None
    along = math.prod(shape) if over_all else shape[axes[0]]
    if math.prod(shape) < MANY[0] or along < MANY[1]:
        return None
    axis = None if over_all else axes[0]
    places = _place_of_extreme(x, axis, reduce == np.minimum.reduce)
    if compare(arrays.sum(indicator(places, 0.0, LESS)), 0.0, NOT_EQUAL, False):
        return None
    return places, axis or 0


def _at_places(g: Number, places: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """Cotangents of extremes where these are, zeros elsewhere."""
    length = math.prod(shape) // math.prod(binding.shape(places))
    placed = added_along(places, arrays.reshape(g, binding.shape(places)), axis, length)
    return arrays.reshape(placed, shape)


def _extreme_pull(
    ans: Number, x: Number, axes: tuple[int, ...], keepdims: bool, reduce: Callable[..., Any]
) -> Callable[[Number], Number]:
    places = _places(x, axes, reduce)
    if places is not None:
        return lambda g: _at_places(g, *places, binding.shape(x))
    shares = _shares_of_row(x, axes, reduce)
    if shares is not None:
        return lambda g: binding.absorb(shares, _spread(g, axes, keepdims))
    ties = _ties(x, ans, axes, keepdims)
    count = _sharing(ties, axes, keepdims)
    return lambda g: of_ties(ties, _spread(g / count, axes, keepdims))


def _extreme_push(
    g: Number,
    ans: Number,
    x: Number,
    axes: tuple[int, ...],
    keepdims: bool,
    reduce: Callable[..., Any],
) -> Number:
    places = _places(x, axes, reduce)
    if places is not None:
        rows = g if binding.ndim(places[0]) else arrays.reshape(g, -1)
        return arrays.reshape(taken_along(rows, *places), binding.shape(ans))
    shares = _shares_of_row(x, axes, reduce)
    if shares is not None:
        return arrays.sum(binding.absorb(shares, g), axes, keepdims)
    ties = _ties(x, ans, axes, keepdims)
    return arrays.sum(of_ties(ties, g), axes, keepdims) / _sharing(ties, axes, keepdims)


def _extreme_in_c(
    axes: tuple[int, ...], keepdims: bool, reduce: Callable[..., Any]
) -> tuple[tuple[int, ...], str, str]:
    start, order = ("-INFINITY", ">") if reduce == np.maximum.reduce else ("INFINITY", "<")
    return axes, start, f"x {order} r || x != x ? x : r"


_extreme.fold_in_c = _extreme_in_c
_extreme.loop = lambda x, axes, keepdims, reduce: (
    np.maximum if reduce == np.maximum.reduce else np.minimum,
    axes,
)
_extreme.over_lanes = lambda which, x, axes, keepdims, reduce: reduce(
    x, axis=after_lanes(axes, x.ndim - 1), keepdims=keepdims
)
_extreme.defvjp(_extreme_pull)
_extreme.defjvp(_extreme_push)
_extreme.defpattern(lambda ans, x, axes, keepdims, _: over_axes(axes, x.ndim, keepdims))


LONG = 4096  # elements, of which one is found sooner than all that are like it are marked


def _single(x: Number, axes: tuple[int, ...], keepdims: bool, largest: bool) -> Any:
    """The extreme of a long array as the element that it is; None if others are like it."""
    is_long = isinstance(x, Var) and x.size >= LONG and len(axes) == x.ndim and not keepdims
    if not is_long or depends(x) or not arrays.is_in_order(x):
        return None
    elements = plain_values(x).reshape(-1)
    place = int(elements.argmax() if largest else elements.argmin())
    if np.count_nonzero(elements == elements[place]) != 1:  # none is equal to nan
        return None
    return arrays.sum(x.reshape(-1)[place : place + 1])


def _extremum(
    ufunc: np.ufunc, remark: str, *names: str, skip_nan: bool = False
) -> Callable[..., Number]:
    """Reductions by `numpy.maximum` or `numpy.minimum`, of all elements or of what is not nan."""
    largest = ufunc is np.maximum
    neutral = -np.inf if largest else np.inf
    name, pairwise = names[0], _table.maximum if largest else _table.minimum

    def extremum(
        a: Any,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = NoValue,
        where: Any = NoValue,
    ) -> Number:
        refuse(name, out=out)
        x = as_number(a)
        axes = arrays.reduced_axes(axis, x.ndim)
        initial = None if initial is None else for_writing(name, x, initial)
        if initial is None and where is not None and where is not True:
            raise ValueError(f"numpy.{name} with a where= mask wants initial=, too")
        if initial is not None and 0 in x.shape:
            shape = np.sum(np.empty(x.shape), axes, keepdims=keepdims).shape
            return arrays.copy(arrays.broadcast_to(as_number(initial) + 0.0, shape))

        def reduced(x: Number) -> Number:
            x = _masked(x, where, neutral)
            single = _single(x, axes, keepdims, largest)
            return _extreme(x, axes, bool(keepdims), ufunc.reduce) if single is None else single

        extreme = reduced(x)
        if skip_nan and nans(extreme).any():  # else there is none among the elements
            present = _present(x, None)
            extreme = reduced(_table.where(present, x, neutral))
            if initial is None:
                has_any = np.any(present, axis=axes, keepdims=keepdims)
                extreme = extreme if np.all(has_any) else _table.where(has_any, extreme, np.nan)
        return extreme if initial is None else pairwise(extreme, initial)

    return registered(extremum, remark, *names)


_TIES = "{} along axes, {{}}; elements that tie share the derivative equally."
_NO_NAN = "{} along axes of what is not nan, {{}}; nan if nothing is."
max = _extremum(np.maximum, _TIES.format("Maximum"), "max", "amax")
min = _extremum(np.minimum, _TIES.format("Minimum"), "min", "amin")
nanmax = _extremum(np.maximum, _NO_NAN.format("Maximum"), "nanmax", skip_nan=True)
nanmin = _extremum(np.minimum, _NO_NAN.format("Minimum"), "nanmin", skip_nan=True)


@implements(np.ptp)
def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Number:
    refuse("ptp", out=out)
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)
