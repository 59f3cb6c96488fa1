"""Choosing: by masks, by indices, by order; and functions applied piece by piece.

What is chosen depends on values alone, and is found by plain NumPy. The derivatives follow the
chosen elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..binding import (
    Complex,
    Dual,
    Var,
    carries,
    compare,
    depends,
    is_complex_number,
    plain_constants,
    plain_values,
)
from ..binding import unguarded as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.complexes import implements_all
from ..operations.dispatch import FUNCTIONS, implements
from ..operations.eager_cache import changing
from ..operations.guards import LESS, LESS_EQUAL, NOT_EQUAL, held, infinite, nans, truths
from ..operations.guards import order as ascending
from ..operations.indices import along
from ..operations.indices import taken as taken_anew
from ..operations.replayed import Replayed, is_mask, replaced
from ..operations.searches import matched, ranked
from ..ops import round as round_number
from ._common import (
    Number,
    as_number,
    as_view,
    existing,
    flat_axis,
    for_writing,
    operand,
    rearranged,
    refuse,
    unsupported,
)

# --- by masks ------------------------------------------------------------------------------------


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Elements of x where a condition holds, of y elsewhere, as `numpy.where`; or the indices."""
    if x is None and y is None:
        return np.nonzero(truths(condition))
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    if isinstance(condition, Replayed):
        chosen = condition.number
    elif depends(condition):  # numbers, which choose anew in each replay
        chosen = held(as_number(condition))
    else:
        chosen = truths(condition)
    return _table.where(chosen, operand(x), operand(y))


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Number:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    result = operand(default)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return result


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: None = None,
    *,
    min: Any = None,
    max: Any = None,
    **kwargs: Any,
) -> Number:
    """Limited to an interval, as `numpy.clip`; inside and at its ends the derivative is 1."""
    refuse("clip", out=out, dtype=kwargs.get("dtype"))
    if (a_min is not None or a_max is not None) and (min is not None or max is not None):
        raise ValueError("clip takes either a_min and a_max, or min and max")
    low, high = a_min if min is None else min, a_max if max is None else max
    return _table.clip(
        arrays.in_precision(as_number(a), kwargs.get("dtype")),
        -np.inf if low is None else operand(low),
        np.inf if high is None else operand(high),
    )


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Number:
    """Other numbers for nan and the infinities, as `numpy.nan_to_num`."""
    original, x = as_view(x), as_number(x)
    largest = float(np.finfo(np.dtype(x.dtype)).max)
    posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
    result = x
    for where, number in ((nans(x), nan), (infinite(x, 1.0), posinf), (infinite(x, -1.0), neginf)):
        result = _table.where(where, for_writing("nan_to_num", x, number), result)
    if copy or not original.ndim:
        return result
    original[...] = result
    return original


@implements(*existing("round", "around"))
def round(a: Any, decimals: int = 0, out: None = None) -> Number:
    """Rounded to decimals, as `numpy.round`; the derivative is 0."""
    refuse("round", out=out)
    x = as_number(a)
    return _table.rint(x) if decimals == 0 else round_number(x, decimals)


@implements(np.fix)
def fix(x: Any, out: None = None) -> Number:
    """Rounded towards 0, as `numpy.fix`; the derivative is 0."""
    refuse("fix", out=out)
    return _table.trunc(as_number(x))


@implements(np.sinc)
def sinc(x: Any) -> Number:
    """sin(pi x) / (pi x), as `numpy.sinc`; smooth at 0."""
    return _table.sinc(as_number(x))


# --- by indices ----------------------------------------------------------------------------------


@wraps(np.take)
def _taken(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    """NumPy's own asks the array alone, and reads indices that a replay computes anew."""
    if is_mask(indices) and out is None and mode == "raise":
        return indices.__array_function__(np.take, (), (a, indices, axis), {})
    return np.take(a, indices, axis, out, mode)  # type: ignore[call-overload]


@implements(np.take, plainly=_taken)
def take(
    a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise"
) -> Number:
    """Elements at indices along an axis, as `numpy.take`, by every mode."""
    refuse("take", out=out)
    x = as_number(a)
    if is_mask(indices) and mode == "raise":
        taken = along(x, indices, axis)
        if taken is not None:
            return taken
    x = x.reshape(-1) if axis is None or x.ndim == 0 else x
    axis = normalize_axis_index(axis or 0, x.ndim)
    inside = np.take(np.arange(x.shape[axis]), replaced(value(indices)), mode=mode)  # type: ignore[call-overload]
    return arrays.take(x, inside, axis)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Number:
    if is_mask(indices) and axis is not None:
        x = as_number(arr)
        key: list[Any] = [
            np.arange(length).reshape(-1, *[1] * (x.ndim - k - 1))
            for k, length in enumerate(x.shape)
        ]
        key[axis] = indices
        taken = taken_anew(x, tuple(key)) if x.ndim == indices.ndim else None
        if taken is not None:
            return taken
    return rearranged(lambda x: np.take_along_axis(x, value(indices), axis), arr)


@implements(np.choose)
def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Number:
    refuse("choose", out=out)
    index = value(a)
    return rearranged(lambda *places: np.choose(index, places, mode=mode), *choices)  # type: ignore[call-overload]


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: None = None) -> Number:
    refuse("compress", out=out)
    return rearranged(lambda x: np.compress(value(condition), x, axis), a)


@implements_all(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **kwargs: Any,
) -> Any:
    """The different elements in order, as `numpy.unique`; derivatives are those of the first."""
    x = as_number(ar)
    is_flat = axis is None or x.ndim == 1
    if is_complex_number(x):
        value(x)  # a program runs it eagerly
    elif depends(x):
        is_plain = not (return_index or return_inverse) and kwargs.get("sorted", True)
        if is_flat and is_plain and x.size > 0 and not nans(x).any():
            return _unique_of_sorted(sort(x, None), return_counts)
        _note_order(x, None if is_flat else axis)
    options = {"return_inverse": return_inverse, "return_counts": return_counts, "axis": axis}
    run: Any = np.unique
    _, first, *others = run(plain_values(x), return_index=True, **options, **kwargs)
    distinct = np.take(x, first, axis)
    results = (distinct, *((first,) if return_index else ()), *others)
    return results if len(results) > 1 else distinct


def _unique_of_sorted(x: Number, return_counts: bool) -> Any:
    """The different elements of an ascending row, which replays put in order anew.

    Which of them are equal to those before them, a replay has to find again.
    """
    is_new = np.concatenate([[True], np.asarray(x[1:] != x[:-1])])
    if not return_counts:
        return x[is_new]
    return x[is_new], np.diff(np.flatnonzero(np.append(is_new, True)))


def _note_order(x: Number, axis: int | None) -> None:
    """A replay has to find elements, or rows along an axis, in the same order, the same equal."""
    if axis is None:
        ascending(x.reshape(-1))
        return
    rows = arrays.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    in_order = rows[np.lexsort(np.asarray(plain_values(rows)).T[::-1])]
    compare(in_order[:-1], in_order[1:], LESS)
    compare(in_order[:-1], in_order[1:], LESS_EQUAL)
    compare(rows, rows, NOT_EQUAL)


@implements_all(*existing("unique_values"))
def unique_values(x: Any, /) -> Number:
    x = as_number(x)
    values = unique(x, equal_nan=False)
    if not is_complex_number(x):
        return values
    ranks = np.argsort(np.argsort(np.unique_values(value(x)), kind="stable"))
    return values[ranks]  # NumPy's order, which goes by hashes


# --- by order ------------------------------------------------------------------------------------


@implements(np.sort)
def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: None = None, *, stable: Any = None
) -> Number:
    """In ascending order along an axis, as `numpy.sort`; nan comes last."""
    refuse("sort", order=order)
    x, axis = flat_axis(as_number(a), axis)
    rows = arrays.moveaxis(x, axis, 0)
    ranks = np.arange(len(rows)).reshape(-1, *[1] * (rows.ndim - 1))
    ordered = arrays.moveaxis(ranked(rows, np.broadcast_to(ranks, rows.shape)), 0, axis)
    return arrays.in_order(ordered)  # as NumPy's: sums are added in this order


@implements(np.partition)
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Number:
    refuse("partition", order=order)
    x, axis = flat_axis(as_number(a), axis)
    rows = np.moveaxis(np.asarray(plain_values(x)), axis, 0)
    parted = np.partition(rows, kth, 0, kind)  # type: ignore[call-overload]
    if depends(x):  # a replay that finds the same order parts it in the same way
        order_before = ascending(arrays.moveaxis(x, axis, 0), 0)
        rank_after = np.argsort(np.argsort(parted, 0, kind="stable"), 0)
        places = np.take_along_axis(order_before, rank_after, 0)
    else:
        places = matched(rows, parted)
    return take_along_axis(x, np.moveaxis(places, 0, axis), axis)


# --- writing into arrays -------------------------------------------------------------------------


def _writable(name: str, target: Any) -> Number:
    if not isinstance(target, (Var, Dual, Complex)):
        raise TypeError(
            f"numpy.{name} cannot write numbers with derivatives into {type(target).__name__}: "
            "make the array with cadiff.numpy.zeros, cadiff.numpy.full or cadiff.numpy.array"
        )
    return target


@implements(np.copyto)
@changing
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write src into dst where a mask holds, as `numpy.copyto`."""
    target, source = _writable("copyto", dst), arrays.broadcast_to(as_number(src), dst.shape)
    if where is True:
        target[...] = source
    else:
        mask = np.broadcast_to(truths(where), dst.shape)
        target[mask] = source[mask]


def _write_flat(target: Number, places: Any, numbers: Any) -> None:
    """Write numbers, repeated or cut to length, to places counted through the whole array."""
    places = np.asarray(places).reshape(-1)
    source = as_number(numbers).reshape(-1)
    if places.size and source.size and not target.ndim:
        target[...] = source[(places.size - 1) % source.size]
    elif places.size and source.size:
        target[np.unravel_index(places, target.shape)] = source[
            np.arange(places.size) % source.size
        ]


@implements(np.put)
@changing
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    target = _writable("put", a)
    _write_flat(target, np.take(np.arange(target.size), value(ind), mode=mode), v)  # type: ignore[call-overload]


@implements(np.place)
@changing
def place(arr: Any, mask: Any, vals: Any) -> None:
    target = _writable("place", arr)
    _write_flat(target, np.flatnonzero(value(mask)), vals)


@implements(np.putmask)
@changing
def putmask(a: Any, mask: Any, values: Any) -> None:
    target = _writable("putmask", a)
    places = np.flatnonzero(value(mask))
    source = as_number(values).reshape(-1)
    _write_flat(target, places, source[places % source.size])


@implements(np.put_along_axis)
@changing
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    target = _writable("put_along_axis", arr)
    positions = np.arange(target.size).reshape(target.shape)
    places = np.take_along_axis(positions, value(indices), axis)
    _write_flat(target, places, arrays.broadcast_to(as_number(values), places.shape))


@implements(np.fill_diagonal)
@changing
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    target = _writable("fill_diagonal", a)
    marks = np.zeros(target.shape, dtype=bool)
    np.fill_diagonal(marks, True, wrap)
    _write_flat(target, np.flatnonzero(marks), val)


def _compared(compare: Callable[[Any, Any], Any]) -> Callable[[flatiter, Any], Any]:
    return lambda self, other: compare(self.base.reshape(-1), other)


class flatiter:  # noqa: N801 - NumPy's name
    """The elements of an array in order: what `x.flat` is, as `numpy.flatiter`."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Number) -> None:
        self.base = base
        self.index = 0

    @property
    def coords(self) -> tuple[int, ...]:
        """The indices of the element that comes next."""
        return tuple(int(k) for k in np.unravel_index(self.index, self.base.shape))

    def copy(self) -> Number:
        """All elements in a row."""
        return arrays.copy(self.base.reshape(-1))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        elements = np.empty(len(self), dtype=object)
        elements[:] = self.base.reshape(-1).tolist()
        return elements if dtype is None else elements.astype(dtype)

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> Number:
        if self.index >= len(self):
            raise StopIteration
        element = self.base[self.coords]
        self.index += 1
        return element

    def __getitem__(self, key: Any) -> Number:
        chosen = self.base.reshape(-1)[key]
        return arrays.copy(chosen) if chosen.ndim else chosen

    def __setitem__(self, key: Any, numbers: Any) -> None:
        places = np.arange(len(self))[key]
        if np.ndim(places) == 0 and as_number(numbers).size != 1:
            raise ValueError("a single element is assigned a single number")
        if self.base.ndim == 0:
            self.base[...] = numbers
        _write_flat(self.base, places, numbers)

    __eq__ = _compared(operator.eq)
    __ne__ = _compared(operator.ne)
    __lt__ = _compared(operator.lt)
    __le__ = _compared(operator.le)
    __gt__ = _compared(operator.gt)
    __ge__ = _compared(operator.ge)


FUNCTIONS[np.flatiter] = flatiter


# --- element by element --------------------------------------------------------------------------


@implements(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Number:
    x = as_number(arr)
    axis = normalize_axis_index(axis, x.ndim)
    rows = arrays.moveaxis(x, axis, -1)
    outer = rows.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [as_number(func1d(rows[index], *args, **kwargs)) for index in np.ndindex(outer)]
    inner = results[0].shape
    joined = arrays.stack(results).reshape((*outer, *inner))
    new = range(len(outer), len(outer) + len(inner))
    return arrays.moveaxis(joined, tuple(new), range(axis, axis + len(inner)))


def _plain_constant(x: Any) -> Any:
    """Plain values of numbers that are constants; nobody can assign to what reads them."""
    found = plain_constants(((x,), {})) if carries(x) else None
    return x if found is None else found[0][0]


class vectorize(np.vectorize):  # noqa: N801 - NumPy's name
    """A function of scalars applied element by element, as `numpy.vectorize`.

    Given numbers with derivatives it is a loop; `signature` is then not supported.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (carries(args) or carries(kwargs)):
            return super().__call__(*args, **kwargs)
        if self.signature is not None:
            unsupported("vectorize", "signature=", "loop over the arrays and stack the results")
        fixed = {k for k in range(len(args)) if k in (self.excluded or ())}
        numbers = {k: as_number(_plain_constant(x)) for k, x in enumerate(args) if k not in fixed}
        shape = np.broadcast_shapes(*(x.shape for x in numbers.values()))
        spread = {k: arrays.broadcast_to(x, shape) for k, x in numbers.items()}
        results = [
            self.pyfunc(
                *(args[k] if k in fixed else spread[k][index] for k in range(len(args))), **kwargs
            )
            for index in np.ndindex(shape)
        ]
        if results and isinstance(results[0], tuple):
            return tuple(
                arrays.array(list(column)).reshape(shape) for column in zip(*results, strict=True)
            )
        return arrays.array(results).reshape(shape) if results else arrays.zeros(shape)
