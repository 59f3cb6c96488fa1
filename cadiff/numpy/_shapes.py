"""Elements moved about: views, joining, splitting, repeating, triangles and diagonals.

What NumPy can do to an array of positions is not written anew: `rearranged` asks it where each
element goes (or comes from) and fetches the elements. Views and joins, which are cheaper than
that, go through the core's own operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..binding import strip as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.dispatch import implements
from ._common import Axis, Number, along, as_number, as_view, existing, rearranged, refuse

# --- shapes and views ----------------------------------------------------------------------------


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    """The shape, as `numpy.shape`."""
    return tuple(as_view(a).shape)


@implements(np.ndim)
def ndim(a: Any) -> int:
    """The number of axes, as `numpy.ndim`."""
    return len(shape(a))


@implements(np.size)
def size(a: Any, axis: Axis = None) -> int:
    """The number of elements, in all or along axes, as `numpy.size`."""
    lengths = shape(a)
    if axis is None:
        return math.prod(lengths)
    return math.prod(lengths[k] for k in normalize_axis_tuple(axis, len(lengths)))


def _by_columns(order: str) -> bool:
    """Whether elements are counted with the first axis running fastest."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return order == "F"


@implements(np.reshape)
def reshape(
    a: Any,
    /,
    shape: int | Sequence[int] | None = None,
    order: str = "C",
    *,
    newshape: int | Sequence[int] | None = None,
    copy: bool | None = None,
) -> Number:
    """An array in another shape, as `numpy.reshape`; orders A and K are C."""
    wanted = newshape if shape is None else shape
    if wanted is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    x = arrays.copy(as_view(a)) if copy else as_view(a)
    if not _by_columns(order):
        return arrays.reshape(x, wanted)
    return arrays.transpose(arrays.reshape(arrays.transpose(x), arrays.lengths_of(wanted)[::-1]))


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Number:
    """All elements in a row, as `numpy.ravel`; orders A and K are C."""
    x = as_view(a)
    return arrays.ravel(arrays.transpose(x) if _by_columns(order) else x)


@implements(*existing("transpose", "permute_dims"))
def transpose(a: Any, axes: Sequence[int] | None = None) -> Number:
    """Axes in another order, reversed if none is given, as `numpy.transpose`."""
    return arrays.transpose(as_view(a), axes)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Number:
    """The last two axes exchanged, as `numpy.matrix_transpose`."""
    x = as_number(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return arrays.swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Number:
    """Two axes exchanged, as `numpy.swapaxes`."""
    return arrays.swapaxes(as_view(a), axis1, axis2)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Number:
    """Axes moved to other places, as `numpy.moveaxis`."""
    return arrays.moveaxis(as_view(a), source, destination)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Number:
    """One axis moved before another, as `numpy.rollaxis`."""
    x = as_view(a)
    order = np.rollaxis(np.empty(range(x.ndim)), axis, start).shape
    return arrays.transpose(x, order)


@implements(np.expand_dims)
def expand_dims(a: Any, axis: int | Sequence[int]) -> Number:
    """New axes of length 1, as `numpy.expand_dims`."""
    return arrays.expand_dims(as_view(a), axis)


@implements(np.squeeze)
def squeeze(a: Any, axis: Axis = None) -> Number:
    """Axes of length 1 removed, as `numpy.squeeze`."""
    return arrays.squeeze(as_view(a), axis)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: int | Sequence[int], subok: bool = False) -> Number:
    """Stretched to a shape, as `numpy.broadcast_to`."""
    return arrays.broadcast_to(as_view(array), shape)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Number, ...]:
    """Stretched to one common shape, as `numpy.broadcast_arrays`."""
    numbers = [as_view(x) for x in args]
    common = np.broadcast_shapes(*(x.shape for x in numbers))
    return tuple(arrays.broadcast_to(x, common) for x in numbers)


def _at_least(arrays_given: tuple[Any, ...], key: Callable[[int], Any]) -> Any:
    results = [x[key(x.ndim)] if key(x.ndim) else x for x in map(as_view, arrays_given)]
    return results[0] if len(results) == 1 else tuple(results)


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    """With one axis or more, as `numpy.atleast_1d`."""
    return _at_least(arys, {0: (None,)}.get)


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    """With two axes or more, as `numpy.atleast_2d`: new ones in front."""
    return _at_least(arys, {0: (None, None), 1: (None,)}.get)


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    """With three axes or more, as `numpy.atleast_3d`: new ones on both sides."""
    return _at_least(arys, {0: (None,) * 3, 1: (None, ..., None), 2: (..., None)}.get)


@implements(np.flip)
def flip(m: Any, axis: Axis = None) -> Number:
    """Order along axes reversed, as `numpy.flip`."""
    x = as_view(m)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    backwards = slice(None, None, -1)
    return x[tuple(backwards if k in axes else slice(None) for k in range(x.ndim))]


@implements(np.fliplr)
def fliplr(m: Any) -> Number:
    """Order along the second axis reversed, as `numpy.fliplr`."""
    if ndim(m) < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@implements(np.flipud)
def flipud(m: Any) -> Number:
    """Order along the first axis reversed, as `numpy.flipud`."""
    if ndim(m) < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Number:
    """Turned in the plane of two axes by right angles, as `numpy.rot90`."""
    x = as_view(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = normalize_axis_tuple(axes, x.ndim)
    turned = {1: (second,), 2: (first, second), 3: (first,)}.get(k % 4, ())
    x = flip(x, turned) if turned else x
    return arrays.swapaxes(x, first, second) if k % 2 else x


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Number:
    """A copy with the same derivatives that can be assigned to, as `numpy.copy`."""
    return arrays.array(as_view(a))


# --- joining -------------------------------------------------------------------------------------


def _listed(items: Any) -> list[Number]:
    """The items of a sequence, or of an array along its first axis."""
    if not hasattr(type(items), "__getitem__"):
        raise TypeError(f"arrays to join are given as a list or tuple, not {type(items).__name__}")
    return [as_number(item) for item in items]


@implements(*existing("concatenate", "concat"))
def concatenate(
    arrays: Any,  # NumPy's name for it
    /,
    axis: int | None = 0,
    out: None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Number:
    """Joined along an axis that they have, as `numpy.concatenate`."""
    refuse("concatenate", out=out, dtype=dtype)
    return _concatenate(_listed(arrays), axis)


def _concatenate(items: list[Number], axis: int | None) -> Number:
    if axis is None:
        return arrays.concatenate([x.reshape(-1) for x in items])
    return arrays.concatenate(items, axis)


@implements(np.stack)
def stack(
    arrays: Any,  # NumPy's name for it
    axis: int = 0,
    out: None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Number:
    """Joined along a new axis, as `numpy.stack`."""
    refuse("stack", out=out, dtype=dtype)
    return _stack(_listed(arrays), axis)


_stack = arrays.stack


def _stacking(
    name: str, prepared: Callable[[Any], Number], axis: Callable[[list[Number]], int]
) -> None:
    """Define one of the stacking functions: arrays given axes, then joined along one."""

    def stacked(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Number:
        refuse(name, dtype=dtype)
        items = [prepared(item) for item in tup]
        return arrays.concatenate(items, axis(items))

    stacked.__name__ = name
    stacked.__doc__ = f"Joined as `numpy.{name}` does it."
    implements(*existing(*((name, "row_stack") if name == "vstack" else (name,))))(stacked)


def _as_column(a: Any) -> Number:
    x = as_view(a)
    return x if x.ndim >= 2 else x.reshape((-1, 1))


_stacking("vstack", atleast_2d, lambda items: 0)
_stacking("hstack", atleast_1d, lambda items: 0 if items and items[0].ndim == 1 else 1)


@implements(np.dstack)
def dstack(tup: Any) -> Number:
    """Joined as `numpy.dstack` does it."""
    return arrays.concatenate([atleast_3d(item) for item in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Number:
    """Vectors as the columns of a matrix, as `numpy.column_stack`."""
    return arrays.concatenate([_as_column(item) for item in tup], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Number:
    """Values at the end, as `numpy.append`."""
    return _concatenate([as_number(arr), as_number(values)], axis)


@implements(np.block)
def block(arrays: Any) -> Number:  # NumPy's name for it
    """Assembled from nested lists of blocks, as `numpy.block`."""
    blocks: list[Any] = []

    def numbered(tree: Any) -> Any:
        if isinstance(tree, list):
            return [numbered(item) for item in tree]
        blocks.append(tree)
        return len(blocks) - 1

    def filled(tree: Any, positions: tuple[Any, ...]) -> Any:
        if isinstance(tree, list):
            return [filled(item, positions) for item in tree]
        return positions[tree]

    layout = numbered(arrays)
    return rearranged(lambda *positions: np.block(filled(layout, positions)), *blocks)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Number:
    """Values put in before indices, as `numpy.insert`."""
    return rearranged(lambda x, v: np.insert(x, value(obj), v, axis), arr, values)


@implements(np.meshgrid)
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Number, ...]:
    """Coordinate matrices from coordinate vectors, as `numpy.meshgrid`."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    order = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    grids = []
    for k, x in enumerate(map(as_view, xi)):
        lengths = [1] * n
        lengths[order.index(k)] = -1
        grids.append(x.reshape(tuple(lengths)))
    if sparse:
        return tuple(arrays.copy(grid) for grid in grids) if copy else tuple(grids)
    full = broadcast_arrays(*grids)
    return tuple(arrays.copy(grid) for grid in full) if copy else full


# --- splitting -----------------------------------------------------------------------------------


def _split(original: Callable[..., Any], ary: Any, sections: Any, axis: int) -> list[Number]:
    """Views of the parts into which NumPy splits the indices of the axis."""
    x = as_view(ary)
    axis = normalize_axis_index(axis, x.ndim)
    parts = original(np.arange(x.shape[axis]), value(sections))
    edges = [(int(p[0]), int(p[-1]) + 1) if len(p) else (0, 0) for p in parts]
    return [x[key] for key in along(axis, x.ndim, *(slice(*edge) for edge in edges))]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Number]:
    """Parts of equal length, or between indices, as `numpy.split`."""
    return _split(np.split, ary, indices_or_sections, axis)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Number]:
    """Parts of nearly equal length, or between indices, as `numpy.array_split`."""
    return _split(np.array_split, ary, indices_or_sections, axis)


def _splitting(name: str, least: int, axis: Callable[[int], int]) -> None:
    def splitted(ary: Any, indices_or_sections: Any) -> list[Number]:
        if ndim(ary) < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, axis(ndim(ary)))

    splitted.__name__ = name
    splitted.__doc__ = f"Parts along an axis, as `numpy.{name}`."
    implements(getattr(np, name))(splitted)


_splitting("vsplit", 2, lambda n: 0)
_splitting("hsplit", 1, lambda n: 0 if n == 1 else 1)
_splitting("dsplit", 3, lambda n: 2)


@implements(*existing("unstack"))  # which came with NumPy 2.1
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Number, ...]:
    """The arrays of which an array is the stack, as `numpy.unstack`."""
    x = as_view(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(arrays.moveaxis(x, axis, 0))


# --- repeating, removing, rolling ----------------------------------------------------------------


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Number:
    """Each element several times, as `numpy.repeat`."""
    return rearranged(lambda x: np.repeat(x, value(repeats), axis), a)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Number:
    """The whole array several times along its axes, as `numpy.tile`."""
    x = as_number(A)
    counts = value(reps)
    times = [*map(index, counts if np.iterable(counts) else (counts,))]
    n = max(len(times), x.ndim)
    times = [1] * (n - len(times)) + times
    lengths = [1] * (n - x.ndim) + list(x.shape)
    pairs = [m for pair in zip(times, lengths, strict=True) for m in pair]
    spread = x.reshape(tuple(m for length in lengths for m in (1, length)))
    shape = tuple(m * length for m, length in zip(times, lengths, strict=True))
    return arrays.copy(arrays.broadcast_to(spread, tuple(pairs))).reshape(shape)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Number:
    """Without the elements at some indices, as `numpy.delete`."""
    return rearranged(lambda x: np.delete(x, value(obj), axis), arr)


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Number:
    """As many elements as a shape takes, repeated in order, as `numpy.resize`."""
    if size(a) == 0:
        return arrays.zeros(new_shape)
    return rearranged(lambda x: np.resize(x, arrays.lengths_of(new_shape)), a)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Axis = None) -> Number:
    """Shifted along axes, round about, as `numpy.roll`."""
    x = as_number(a)
    if axis is None:
        return roll(x.reshape(-1), shift, 0).reshape(x.shape)
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    for places, k in np.broadcast(value(shift), axes):
        steps = int(places) % max(x.shape[k], 1)
        if steps:
            end, start = along(k, x.ndim, slice(-steps, None), slice(None, -steps))
            x = arrays.concatenate([x[end], x[start]], k)
    return x if x is not a else arrays.copy(x)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Axis = None) -> Number:
    """Without the zeros at both ends, as `numpy.trim_zeros`."""
    x = as_view(filt)
    places = np.argwhere(np.asarray(value(x)) != 0)
    key = [slice(None)] * x.ndim
    for k in range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim):
        first, last = (places[:, k].min(), places[:, k].max()) if len(places) else (0, -1)
        front, back = "f" in trim.lower(), "b" in trim.lower()
        key[k] = slice(int(first) if front else None, int(last) + 1 if back else None)
    return x[tuple(key)] if len(places) else x[tuple(slice(0) for _ in key)]


# --- diagonals and triangles ---------------------------------------------------------------------


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Number:
    """Diagonals of matrices, as `numpy.diagonal`: a view for reading only."""
    return arrays.diagonal(as_view(a), offset, axis1, axis2)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Number:
    """The diagonal of a matrix, or a matrix with a given diagonal, as `numpy.diag`."""
    x = as_view(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = index(k)
    n = len(x) + abs(k)
    matrix = arrays.blank((n, n), x)
    rows = np.arange(len(x)) + max(-k, 0)
    matrix[rows, rows + k] = x
    return matrix


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Number:
    """A matrix with all elements in its diagonal, as `numpy.diagflat`."""
    return diag(as_number(v).reshape(-1), k)


def _triangle(m: Any, k: int, *, upper: bool) -> Number:
    x = as_number(m)
    if x.ndim == 1:  # a vector becomes a matrix of equal rows
        x = arrays.broadcast_to(x, (x.size, x.size))
    rows, columns = x.shape[-2:]
    k = index(k)
    below = np.tri(rows, columns, k - 1 if upper else k, dtype=bool)
    return _table.where(~below if upper else below, x, 0.0)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Number:
    """The lower triangle, zeros above, as `numpy.tril`."""
    return _triangle(m, k, upper=False)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Number:
    """The upper triangle, zeros below, as `numpy.triu`."""
    return _triangle(m, k, upper=True)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Axis = None, *, subok: bool = False, writeable: bool = False
) -> Number:
    """All windows of a shape, as `numpy.lib.stride_tricks.sliding_window_view`; a copy."""
    windows: Any = np.lib.stride_tricks.sliding_window_view
    return rearranged(lambda p: windows(p, window_shape, axis), x)
