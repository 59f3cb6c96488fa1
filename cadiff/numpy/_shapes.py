"""Elements moved about: views, joining, splitting, repeating, triangles and diagonals.

What NumPy can do to an array of positions is not written anew: `rearranged` asks it where each
element goes (or comes from) and fetches the elements. Views and joins, which are cheaper than
that, go through the core's own operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..binding import unguarded as value
from ..operations import arrays
from ..operations.complexes import implements_all
from ..operations.dispatch import implements
from ._common import Axis, Number, as_number, as_view, existing, for_writing, rearranged, refuse
from ._own import copied

# --- shapes and views ----------------------------------------------------------------------------


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return tuple(as_view(a).shape)


@implements(np.ndim)
def ndim(a: Any) -> int:
    return len(shape(a))


@implements(np.size)
def size(a: Any, axis: Axis = None) -> int:
    lengths = shape(a)
    if axis is None:
        return math.prod(lengths)
    return math.prod(lengths[k] for k in normalize_axis_tuple(axis, len(lengths)))


def _by_columns(x: Number, order: str) -> bool:
    """Whether elements are counted with the first axis running fastest."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    arrays.check_order(order, x.shape)
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
    """An array in another shape, as `numpy.reshape`; of order A vectors alone."""
    wanted = newshape if shape is None else shape
    if wanted is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    x = arrays.copy(as_view(a)) if copy else as_view(a)
    if not _by_columns(x, order):
        return arrays.reshape(x, wanted)
    return arrays.transpose(arrays.reshape(arrays.transpose(x), arrays.lengths_of(wanted)[::-1]))


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Number:
    """All elements in a row, as `numpy.ravel`; of orders A and K vectors alone."""
    x = as_view(a)
    return arrays.ravel(arrays.transpose(x) if _by_columns(x, order) else x)


@implements(*existing("transpose", "permute_dims"))
def transpose(a: Any, axes: Sequence[int] | None = None) -> Number:
    return arrays.transpose(as_view(a), axes)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Number:
    return arrays.swapaxes(as_view(a), axis1, axis2)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Number:
    return arrays.moveaxis(as_view(a), source, destination)


@implements(np.expand_dims)
def expand_dims(a: Any, axis: int | Sequence[int]) -> Number:
    return arrays.expand_dims(as_view(a), axis)


@implements(np.squeeze)
def squeeze(a: Any, axis: Axis = None) -> Number:
    return arrays.squeeze(as_view(a), axis)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: int | Sequence[int], subok: bool = False) -> Number:
    return arrays.broadcast_to(as_view(array), shape)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Number, ...]:
    numbers = [as_view(x) for x in args]
    common = np.broadcast_shapes(*(x.shape for x in numbers))
    return tuple(arrays.broadcast_to(x, common) for x in numbers)


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
    refuse("concatenate", out=out, dtype=dtype)
    return _concatenate(_listed(arrays), axis)


@implements(np.stack)
def stack(
    arrays: Any,  # NumPy's name for it
    axis: int = 0,
    out: None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Number:
    refuse("stack", out=out, dtype=dtype)
    return _stack(_listed(arrays), axis)


_concatenate, _stack = arrays.concatenate, arrays.stack


@implements(np.block)
def block(arrays: Any) -> Number:  # NumPy's name for it
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
    x = as_number(arr)
    values = for_writing("insert", x, values)
    return rearranged(lambda x, v: np.insert(x, value(obj), v, axis), x, values)


@implements(np.meshgrid)
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Number, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    order = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    grids = []
    for k, x in enumerate(map(as_view, xi)):
        lengths = [1] * n
        lengths[order.index(k)] = -1
        grids.append(x.reshape(tuple(lengths)))
    full = tuple(grids) if sparse else broadcast_arrays(*grids)
    return tuple(map(arrays.copy, full)) if copy else full


# --- repeating, removing, rolling ----------------------------------------------------------------


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Number:
    return rearranged(lambda x: np.repeat(x, value(repeats), axis), a)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Number:
    return rearranged(lambda x: np.delete(x, value(obj), axis), arr)


# --- padding -------------------------------------------------------------------------------------


def _surrounded(array: Number, widths: Any, fill_value: None = None) -> tuple[Number, Any]:
    """An array in the middle of zeros, and where it is; NumPy's asks how it stands in memory."""
    pairs = list(zip(array.shape, widths, strict=True))
    padded = arrays.blank(tuple(before + n + after for n, (before, after) in pairs), array)
    inside = tuple(slice(before, before + n) for n, (before, _) in pairs)
    padded[inside] = array
    return padded, inside


_pad = copied(np.pad, ("array",), _pad_simple=_surrounded)


@implements_all(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Number:
    """Elements around an array, as `numpy.pad`, by every mode.

    `constant_values` and `end_values` may carry derivatives; mode "empty" pads with zeros.
    """
    for name in kwargs.keys() & {"constant_values", "end_values"}:
        kwargs[name] = for_writing("pad", as_number(array), kwargs[name])
    return _pad(array, pad_width, mode, **kwargs)


# --- diagonals and triangles ---------------------------------------------------------------------


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Number:
    """Diagonals of matrices, as `numpy.diagonal`: a view for reading only."""
    return arrays.diagonal(as_view(a), offset, axis1, axis2)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Number:
    return np.diag(as_number(v).reshape(-1), k)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Axis = None, *, subok: bool = False, writeable: bool = False
) -> Number:
    """All windows of a shape, as `numpy.lib.stride_tricks.sliding_window_view`; a copy."""
    windows: Any = np.lib.stride_tricks.sliding_window_view
    return rearranged(lambda p: windows(p, window_shape, axis), x)
