"""The methods of NumPy's ufuncs: `reduce`, `accumulate`, `reduceat`, `outer` and `at`.

Sums, products and extremes are functions of NumPy's, and done where those are. All others apply
their operation from element to element, as NumPy does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..binding import carries, compare, depends, indicator, plain_values
from ..binding import unguarded as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.dispatch import METHODS, PLAIN, function_for, store
from ..operations.eager_cache import changing, entered
from ..operations.guards import EQUAL, NOT_EQUAL, held, nans
from ..operations.integers import summed_at
from ..operations.patterns import chained
from ..operations.primitives import stated
from ..operations.replayed import is_mask
from ._calculus import bincount
from ._common import Axis, Number, along, as_number, expanded, joined_axes, refuse
from ._reductions import (
    ALONG_FIRST,
    FMAX,
    FMIN,
    MAXIMUM,
    MINIMUM,
    along_first,
    cumprod,
    cumsum,
    max,
    min,
    nanmax,
    nanmin,
    of_ties,
    prod,
    recurrence,
    recurrence_adjoint,
    sum,
)

# --- running extremes ----------------------------------------------------------------------------


@stated("accumulate", loop=lambda x, ufunc: ("running", _CODES[ufunc], ALONG_FIRST))
def _running_extreme(x: Any, ufunc: np.ufunc) -> Any:
    """The extreme of the elements so far, along the first axis."""
    return ufunc.accumulate(x, axis=0)


def _same(x: Number, y: Number) -> Any:
    """Where two numbers are equal, or both nan; 1 and 0, where a replay may find others."""
    if depends((x, y)):
        both = indicator(x, x, NOT_EQUAL) * indicator(y, y, NOT_EQUAL)
        return _table.maximum(indicator(x, y, EQUAL), both)
    return compare(x, y, EQUAL, False) | (nans(x) & nans(y))


def _running_ties(ans: Number, x: Number) -> tuple[Any, Any, Any]:
    """Which elements are the extreme so far, which extremes last from before, and how many tie."""
    elements, extremes = held(x), held(ans)
    ties = _same(elements, extremes)
    lasts = _same(extremes[:-1], extremes[1:])
    lasts = arrays.concatenate([np.zeros((1, *lasts.shape[1:])), lasts])[: len(ties)]
    return ties, lasts, recurrence(lasts, ties * 1.0)


def _running_extreme_pull(ans: Number, x: Number, ufunc: Any) -> Callable[[Number], Number]:
    ties, lasts, count = _running_ties(ans, x)
    return lambda g: of_ties(ties, recurrence_adjoint(g / count, lasts))


def _running_extreme_push(g: Number, ans: Number, x: Number, ufunc: Any) -> Number:
    ties, lasts, count = _running_ties(ans, x)
    return recurrence(lasts, of_ties(ties, g)) / count


# How kernels combine numbers, by the ufunc that does.
_CODES: dict[np.ufunc, int] = {
    np.maximum: MAXIMUM,
    np.minimum: MINIMUM,
    np.fmax: FMAX,
    np.fmin: FMIN,
}

_running_extreme.loop_takes = (0,)
_running_extreme.defvjp(_running_extreme_pull)
_running_extreme.defjvp(_running_extreme_push)
_running_extreme.defpattern(lambda ans, x, ufunc: chained(x.shape))


def _running_extremes(x: Number, name: str, axis: int) -> Number:
    return along_first(lambda rows: _running_extreme(rows, getattr(np, name)), x, axis)


_enter = entered(_running_extremes)


def _running(ufunc: np.ufunc) -> Callable[[Any, int], Number]:
    def running(x: Any, axis: int) -> Number:
        args = x, ufunc.__name__, axis
        found = _enter(args, ())
        return _running_extremes(*args) if found is NotImplemented else found

    return running


def _running_difference(rows: Number) -> Number:
    """The first row less more and more others, to the last bit: x - y is x + -y."""
    return cumsum(arrays.concatenate([rows[:1], -rows[1:]]), 0)


REDUCED: dict[Any, Callable[..., Number]] = {
    np.add: sum,
    np.multiply: prod,
    np.maximum: max,
    np.minimum: min,
    np.fmax: nanmax,
    np.fmin: nanmin,
}
RUNNING: dict[Any, Callable[[Any, int], Number]] = {
    np.add: cumsum,
    np.subtract: lambda x, axis: along_first(_running_difference, x, axis),
    np.multiply: cumprod,
    **{ufunc: _running(ufunc) for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin)},
}


# --- reductions ----------------------------------------------------------------------------------


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let NumPy try a method on values first: what it refuses is refused in its words."""
    name = function.__name__

    def method(
        ufunc: np.ufunc, *args: Any, dtype: Any = None, out: Any = None, **kwargs: Any
    ) -> Any:
        with np.errstate(all="ignore"):
            read = value if ufunc in PLAIN else plain_values
            plain = getattr(ufunc, name)(*read(args), **read(kwargs))
        refuse(f"{ufunc.__name__}.{name}", dtype=dtype)
        if dtype is not None and carries(args[0]):
            args = (arrays.in_precision(as_number(args[0]), dtype), *args[1:])
        result = plain if ufunc in PLAIN else function(ufunc, *args, **kwargs)
        return result if out is None else store(ufunc, out, (result,), True)

    entries: dict[Any, Any] = {}

    @wraps(function)
    def entering(ufunc: np.ufunc, *args: Any, **kwargs: Any) -> Any:
        if ufunc not in entries:
            entries[ufunc] = entered(partial(method, ufunc))
        result = NotImplemented
        if kwargs.get("out") is None:
            result = entries[ufunc]((*args, *kwargs.values()), tuple(kwargs))
        return method(ufunc, *args, **kwargs) if result is NotImplemented else result

    METHODS[name] = entering
    return entering


@_reduction
def reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Axis = 0,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Number:
    """The operation applied from element to element along axes, as `numpy.ufunc.reduce`."""
    x = as_number(array)
    if ufunc in REDUCED:
        mask = None if where is True else where
        return REDUCED[ufunc](x, axis=axis, keepdims=keepdims, initial=initial, where=mask)
    axes = arrays.reduced_axes(axis, x.ndim)
    rows = joined_axes(x, axes)
    masks = joined_axes(np.broadcast_to(value(where), x.shape), axes)
    operation = function_for(ufunc)
    whole = where is True
    start = ufunc.identity if initial is None and not (whole and len(rows) > 1) else initial
    if start is not None:
        weak = type(start) in (float, int, bool)
        start = arrays.in_precision(as_number(start), x.dtype if weak else None)
    result, first = (rows[0], 1) if start is None else (start, 0)
    result = arrays.broadcast_to(result, rows.shape[1:])
    for row, mask in zip(rows[first:], masks[first:], strict=True):
        longer = operation(result, row)
        result = longer if whole else _table.where(mask, longer, result)
    result = arrays.copy(result) if len(rows) <= first else result
    return expanded(result, sorted(axes)) if keepdims else result


@_reduction
def accumulate(ufunc: np.ufunc, array: Any, axis: int = 0) -> Number:
    """The results of `reduce` over more and more elements, as `numpy.ufunc.accumulate`."""
    x = as_number(array)
    if ufunc in RUNNING:
        return RUNNING[ufunc](x, axis)
    operation = function_for(ufunc)

    def running(rows: Number) -> Number:
        results = [rows[0]] if len(rows) else []
        for row in rows[1:]:
            results.append(operation(results[-1], row))
        return arrays.stack(results) if results else rows

    return along_first(running, x, axis)


@stated("add.reduceat", loop=("sums_from", 0, (*ALONG_FIRST, (0,))))
def _sums_from(x: Any, begins: Any) -> Any:
    """The sums of slices along the first axis, each of which ends where the next begins."""
    return np.add.reduceat(x, begins, axis=0)


def _sums_from_pull(ans: Number, x: Number, begins: Any) -> Callable[[Number], Number]:
    which = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(x)))
    before = np.zeros((begins[0], *x.shape[1:]))
    return lambda g: arrays.concatenate([before, g[which]])


def _sums_from_pattern(ans: Any, x: Any, begins: Any) -> Any:
    which = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(x)))
    elements = np.arange(x.size).reshape(x.shape)[begins[0] :]
    return np.arange(ans.size).reshape(ans.shape)[which].ravel(), elements.ravel()


_sums_from.defvjp(_sums_from_pull)
_sums_from.defjvp(lambda g, ans, x, begins: _sums_from(g, begins))
_sums_from.defpattern(_sums_from_pattern)


@_reduction
def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0) -> Number:
    """`reduce` of slices that begin at indices, as `numpy.ufunc.reduceat`."""
    x = as_number(array)
    axis = normalize_axis_index(axis, x.ndim)
    begins = np.asarray(value(indices), dtype=np.intp)
    if not begins.size:
        return x[along(axis, x.ndim, slice(0))[0]]
    if ufunc is np.add and np.all(np.diff(begins) > 0):
        return along_first(lambda rows: _sums_from(rows, begins), x, axis)
    n, begins = x.shape[axis], begins.tolist()
    for begin in begins:
        if not 0 <= begin < n:
            raise IndexError(f"index {begin} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    ends = [end if begin < end else begin + 1 for begin, end in itertools.pairwise(begins)]
    parts = []
    for begin, end in zip(begins, [*ends, n], strict=True):
        if end == begin + 1:  # itself, without the identity: hypot(0, x) is not x
            parts.append(x[along(axis, x.ndim, begin)[0]])
        else:
            parts.append(reduce(ufunc, x[along(axis, x.ndim, slice(begin, end))[0]], axis=axis))
    return arrays.stack(parts, axis)


# --- other methods -------------------------------------------------------------------------------


def outer(ufunc: np.ufunc, a: Any, b: Any, /, **kwargs: Any) -> Any:
    """The operation on all pairs of an element of a and one of b, as `numpy.ufunc.outer`."""
    left, right = as_number(a), as_number(b)
    left = left[(...,) + (None,) * right.ndim] if left.ndim else left
    return ufunc(left, right, **kwargs)


def at(ufunc: np.ufunc, a: Any, indices: Any, /, *others: Any) -> None:
    """The operation in place at indices, each occurrence of which counts, as `numpy.ufunc.at`."""
    if not carries(a):
        raise TypeError(
            f"numpy.{ufunc.__name__}.at cannot write numbers with derivatives to an ndarray: make "
            "the array with cadiff.zeros or cadiff.array"
        )
    _at(ufunc)(a, indices, *others)


def _written_by(ufunc: np.ufunc, a: Number, indices: Any, /, *others: Any) -> None:
    places = np.arange(a.size).reshape(a.shape)[indices]
    operands = [  # copies, since these may be what is written to
        arrays.copy(arrays.broadcast_to(as_number(x), places.shape)).reshape(-1) for x in others
    ]
    if ufunc is np.subtract:
        ufunc, operands = np.add, [-operands[0]]
    if is_mask(places) and ufunc is np.add:
        total = summed_at(a, places, operands[0])
        if total is not None:
            a[...] = total
            return
    places = np.asarray(places).ravel()
    if ufunc is np.add or ufunc in _CODES:
        where, numbers, members = _written_at(a, places, operands[0])
        is_sum = ufunc is np.add  # in NumPy's order: to what stands there, one after the other
        a[where] = bincount(members, numbers) if is_sum else _extremes(numbers, ufunc, members)
        return
    for each in _occurrences(places):
        where = np.unravel_index(places[each], a.shape)
        a[where] = ufunc(a[where], *(x[each] for x in operands))


_at = cache(lambda ufunc: changing(partial(_written_by, ufunc)))

METHODS.update(outer=outer, at=at)


def _written_at(a: Number, places: Any, others: Number) -> tuple[Any, Number, Any]:
    """Where is written, the numbers that stand there and then the others, where each belongs."""
    written, index = np.arange(a.size), places
    if a.size > places.size:
        written, index = np.unique(places, return_inverse=True)
    where = np.unravel_index(written, a.shape)
    members = np.concatenate([np.arange(len(written)), index])
    return where, arrays.concatenate([a[where], others]), members


@stated("at", loop=lambda x, ufunc, members: ("extremes", _CODES[ufunc]))
def _extremes(x: Any, ufunc: np.ufunc, members: Any) -> Any:
    """The extreme of the numbers that have the same member; the first ones stand in its order."""
    made = x[: members.max(initial=-1) + 1].copy()
    ufunc.at(made, members, x)
    return made


def _ties(ans: Number, x: Number, members: Any) -> tuple[Any, Number]:
    """Which numbers are extremes, and how many are the same one."""
    ties = _same(held(x), held(ans)[members])
    return ties, bincount(members, ties * 1.0)


def _extremes_pull(ans: Number, x: Number, ufunc: Any, members: Any) -> Callable[[Number], Number]:
    ties, count = _ties(ans, x, members)
    return lambda g: of_ties(ties, (g / count)[members])


def _extremes_push(g: Number, ans: Number, x: Number, ufunc: Any, members: Any) -> Number:
    ties, count = _ties(ans, x, members)
    return bincount(members, of_ties(ties, g)) / count


_extremes.loop_takes = (0, 2)
_extremes.defvjp(_extremes_pull)
_extremes.defjvp(_extremes_push)
_extremes.defpattern(lambda ans, x, ufunc, members: (members, np.arange(len(members))))


def _occurrences(places: Any) -> Iterator[Any]:
    """Positions of the first occurrence of each place, of the second ones, and so on."""
    order = np.argsort(places, kind="stable")
    begins = np.flatnonzero(np.diff(places[order], prepend=-1))
    lengths = np.diff(begins, append=len(places))
    for k in range(lengths.max(initial=0)):
        yield order[begins[lengths > k] + k]
