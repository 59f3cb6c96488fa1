"""Arrays of numbers with derivatives: the operations that all others are built from.

Each takes plain numbers and arrays, Vars and Duals. Plain ones go to NumPy, and plain arrays come
back; a Var is worked on by the tape; a Dual component by component, at any depth of nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .. import binding
from ..binding import Complex, Dual, Var
from .replayed import Replayed, is_number_mask

Number: TypeAlias = Any  # a Var, a Dual, a float or an ndarray
Shape: TypeAlias = tuple[int, ...]

FEW = 512  # numbers of a matrix that is read again and again rather than others moved


# --- Duals, component by component ---------------------------------------------------------------


def _lanes(x: Dual) -> int:
    """The number of tangent lanes of a Dual; -1 if it has a single tangent."""
    primal, tangent = binding.dual_components(x)
    return binding.lanes_of([primal], [tangent])


def _tangent(x: Dual) -> Number:
    """The tangent as an array: lanes of a single number as an array of one axis."""
    tangent = binding.dual_components(x)[1]
    if not isinstance(tangent, tuple):
        return tangent
    return binding.numbers_array(list(tangent), (len(tangent),))


def _by_components(x: Dual, change: Callable[[Number, int], Number]) -> Dual:
    """A linear change of a Dual: `change(component, extra)`, which has `extra` axes of lanes."""
    primal, _ = binding.dual_components(x)
    changed = change(_tangent(x), int(_lanes(x) >= 0))
    part = change(primal, 0)
    if binding.ndim(part) == 0 and (binding.is_cell(part) or isinstance(part, np.ndarray)):
        return binding.dual_cell(part, changed, binding.tag_of(x))
    return _dual(part, changed, binding.tag_of(x))


def _dual(primal: Number, tangent: Number, tag: int) -> Dual:
    """A Dual, of a single number if the primal is one."""
    if binding.ndim(primal) == 0 and binding.ndim(tangent) == 1:
        tangent = tuple(_single(lane) for lane in tangent)
    if binding.ndim(primal) == 0:
        primal = _single(primal)
        tangent = tangent if isinstance(tangent, tuple) else _single(tangent)
    return binding.make_dual(primal, tangent, tag)


def _single(x: Number) -> Number:
    if isinstance(x, (Var, Dual)):
        return binding.single(x)
    return x[()] if binding.is_single(x) else float(x)


# --- views ---------------------------------------------------------------------------------------


def _view(x: Number, move: Callable[[Any], Any]) -> Number:
    """move(x) of a Var or plain array, where all it does is to look at x in another way."""
    if not isinstance(x, Var):
        return move(x)
    if x.ndim == 0 and not binding.is_cell(x):  # a single number becomes an array of one
        shape = move(np.zeros(())).shape
        return _view(x[None], lambda a: move(a[0, ...])) if shape else x
    return binding.part_of(x, move)


def transpose(x: Number, axes: Sequence[int] | None = None) -> Number:
    """The array with its axes in another order; by default reversed."""
    ndim = binding.ndim(x)
    order = tuple(reversed(range(ndim))) if axes is None else normalize_axis_tuple(axes, ndim)
    if isinstance(x, Dual):
        return _by_components(  # lanes stay behind all axes
            x, lambda c, extra: transpose(c, (*order, *range(ndim, ndim + extra)))
        )
    return _view(x, lambda a: np.transpose(a, order))


def reshape(x: Number, shape: int | Sequence[int]) -> Number:
    """The array in another shape, in C order; one length may be -1."""
    lengths = _full_shape(x, shape)
    if isinstance(x, Dual):
        lanes = (_lanes(x),)
        if binding.ndim(x) == 0 and lengths == ():
            return x
        return _by_components(x, lambda c, extra: reshape(c, lengths + lanes[:extra]))
    return _view(x, lambda a: np.reshape(a, lengths))


def ravel(x: Number) -> Number:
    """All elements in a row; a copy, as NumPy's, unless they stand in this order already."""
    if not isinstance(x, Dual):
        return _view(x, np.ravel)
    row = reshape(x, -1)
    return row if is_in_order(x) else copy(row)


def check_order(order: Any, shape: Shape) -> None:
    """Raise TypeError for an order that goes by memory, where elements stand as NumPy's do not."""
    if isinstance(order, str) and order in "AK" and len([n for n in shape if n > 1]) > 1:
        raise TypeError(
            f"order={order!r} asks how an array stands in memory, and numbers with derivatives "
            'stand otherwise than NumPy\'s: write order="C", or order="F"'
        )


def is_in_order(x: Number) -> bool:
    """Whether the elements of an array stand one behind the other: of a Dual, of its primal."""
    if isinstance(x, Dual):
        return is_in_order(binding.dual_components(x)[0])
    if isinstance(x, Var):
        return x.ndim == 0 or binding.is_in_order(x)
    return bool(np.asarray(x).flags.c_contiguous)


def in_order(x: Number) -> Number:
    """The array itself if its elements stand one behind the other, and else a copy."""
    return x if is_in_order(x) else copy(x)


def lengths_of(shape: int | Sequence[int]) -> Shape:
    """A shape in ints of Python's: those of NumPy have bounds, and wrap around."""
    return tuple(map(index, (shape,) if isinstance(shape, (int, np.integer)) else shape))


def _full_shape(x: Number, shape: int | Sequence[int]) -> Shape:
    lengths = lengths_of(shape)
    have = binding.shape(x)
    size, known = prod(have), prod(lengths)
    if known < 0 and lengths.count(-1) == 1 and size % known == 0:
        lengths = tuple(-size // known if n == -1 else n for n in lengths)
        known = size
    if known == size and all(n >= 0 for n in lengths):
        return lengths
    return np.broadcast_to(np.zeros(()), have).reshape(lengths).shape


def broadcast_to(x: Number, shape: int | Sequence[int]) -> Number:
    """The array repeated to a shape, as a view that cannot be assigned to."""
    lengths = lengths_of(shape)
    if isinstance(x, Dual):
        lanes = (_lanes(x),)
        front = (1,) * (len(lengths) - x.ndim)

        def spread(c: Number, extra: int) -> Number:
            return broadcast_to(reshape(c, front + binding.shape(c)), lengths + lanes[:extra])

        return _by_components(x, spread)
    return _view(x, lambda a: np.broadcast_to(a, lengths))


def expand_dims(x: Number, axis: int | Sequence[int]) -> Number:
    """The array with axes of length 1 inserted."""
    axes = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    places = normalize_axis_tuple(axes, binding.ndim(x) + len(axes))
    lengths = list(binding.shape(x))
    for place in sorted(places):
        lengths.insert(place, 1)
    return reshape(x, lengths)


def squeeze(x: Number, axis: int | Sequence[int] | None = None) -> Number:
    """The array without axes of length 1."""
    lengths = binding.shape(x)
    if axis is None:
        return reshape(x, [n for n in lengths if n != 1])
    axes = normalize_axis_tuple(axis, len(lengths))
    if any(lengths[k] != 1 for k in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(x, [n for k, n in enumerate(lengths) if k not in axes])


def moveaxis(x: Number, source: int | Sequence[int], destination: int | Sequence[int]) -> Number:
    """The array with axes moved to other places."""
    ndim = binding.ndim(x)
    old, new = normalize_axis_tuple(source, ndim), normalize_axis_tuple(destination, ndim)
    if len(old) != len(new):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [axis for axis in range(ndim) if axis not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def swapaxes(x: Number, axis1: int, axis2: int) -> Number:
    """The array with two axes exchanged."""
    if type(x) is np.ndarray:
        return x.swapaxes(axis1, axis2)
    order = list(range(binding.ndim(x)))
    first, second = (normalize_axis_index(axis, len(order)) for axis in (axis1, axis2))
    order[first], order[second] = second, first
    return transpose(x, order)


def diagonal(x: Number, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Number:
    """The diagonals of matrices along two axes, as the last axis of a view for reading only."""
    ndim = binding.ndim(x)
    first, second = (normalize_axis_index(axis, ndim) for axis in (axis1, axis2))
    if isinstance(x, Dual):

        def of_component(c: Number, extra: int) -> Number:
            part = diagonal(c, offset, first, second)
            return swapaxes(part, -1, -2) if extra else part

        return _by_components(x, of_component)
    return _view(x, lambda a: np.diagonal(a, offset, first, second))


def relabelled(x: Number, term: str, result: str) -> Number:
    """The view `term->result` of an Einstein sum that sums nothing: axes in order, diagonals."""
    if isinstance(x, Dual):
        return _by_components(x, lambda c, _: relabelled(c, term, result))
    return _view(x, lambda a: np.einsum(f"{term}...->{result}...", a))


# --- sums and products ---------------------------------------------------------------------------


def reduced_axes(axis: int | Sequence[int] | None, ndim: int) -> Shape:
    """The axes over which to reduce, counted from the front; None means all.

    Of a single number they may be 0 or -1, as NumPy has it, though it has no axes.
    """
    if axis is None or (ndim == 0 and not isinstance(axis, tuple) and axis in (0, -1)):
        return tuple(range(ndim))
    return normalize_axis_tuple(axis, ndim)


def sum(x: Number, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Number:
    """The sum over axes; by default over all."""
    if not isinstance(x, (Var, Dual)):
        return np.sum(x, axis=None if axis is None else _axes(axis), keepdims=keepdims)
    axes = reduced_axes(axis, x.ndim)
    if isinstance(x, Var):
        return binding.sum_var(x, axes, keepdims) if x.ndim else binding.single(x)
    if x.ndim == 0:
        return binding.single(x)
    return binding.seen(_by_components(x, lambda c, _: sum(c, axes, keepdims)), "sum", x)


def cumsum(x: Number, axis: int) -> Number:
    """Running sums along an axis, which is counted from the front."""
    if isinstance(x, Dual):
        return binding.seen(_by_components(x, lambda c, _: cumsum(c, axis)), "cumsum", x)
    if not isinstance(x, Var):
        return np.cumsum(x, axis=axis)
    if axis == x.ndim - 1:
        return binding.apply_kind("cumsum", (x,))
    return moveaxis(binding.apply_kind("cumsum", (moveaxis(x, axis, -1),)), -1, axis)


def vecdot(x: Number, y: Number) -> Number:
    """The sum of products along the last axis; other axes broadcast."""
    if isinstance(x, Dual) or isinstance(y, Dual) or not isinstance(x, Var) | isinstance(y, Var):
        return matmul(x[..., None, :], y[..., :, None])[..., 0, 0]
    ndim = max(x.ndim, y.ndim)
    x, y = (z[(None,) * (ndim - z.ndim)] for z in (x, y))
    return binding.apply_kind("vecdot", (x, y), (ndim - 1,))[..., 0]


def _axes(axis: int | Sequence[int]) -> int | Shape:
    return axis if isinstance(axis, (int, np.integer)) else tuple(axis)


def matmul(x: Number, y: Number) -> Number:
    """The matrix product, for all combinations of dimensions that NumPy knows."""
    if not isinstance(x, Dual) and not isinstance(y, Dual):
        if isinstance(x, Var) or isinstance(y, Var):
            return binding.matmul(x, y)
        with binding.WarningsOff():
            return np.matmul(x, y)
    tag = binding.highest_tag([x, y])
    (p, dp), (q, dq) = _split(x, tag), _split(y, tag)
    lanes_x, lanes_y = _lanes_at(p, dp), _lanes_at(q, dq)
    tangent: Number = None
    with binding.WarningsOff():
        value = _multiply(p, q)
        if dp is not None:
            tangent = _product(dp, q, binding.ndim(p), binding.ndim(q), lanes_x, True)
        if dq is not None:
            other = _product(dq, p, binding.ndim(q), binding.ndim(p), lanes_y, False)
            if tangent is not None and lanes_x != lanes_y:
                tangent = tangent if lanes_x >= 0 else tangent[..., None]
                other = other if lanes_y >= 0 else other[..., None]
            tangent = other if tangent is None else tangent + other
    return binding.seen(_dual(value, tangent, tag), "matmul", x, y)


def _multiply(x: Number, y: Number) -> Number:
    """The product of components of perturbations, about which NumPy does not warn."""
    plain = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    return np.matmul(x, y) if plain else matmul(x, y)


def _split(x: Number, tag: int) -> tuple[Number, Number]:
    """Primal and tangent of a perturbation; the tangent is None if x does not have it."""
    if isinstance(x, Dual) and binding.tag_of(x) == tag:
        return binding.dual_components(x)
    return x, None


def _lanes_at(primal: Number, tangent: Number) -> int:
    return -1 if tangent is None else binding.lanes_of([primal], [tangent])


def _matrix_product(tangent: Number, other: Number, lanes: int, left: bool) -> Number:
    """A tangent of lanes @ other (or the reverse) for two matrices: one product for all lanes."""
    if left:
        n, k = tangent.shape[:2]
        m = other.shape[1]
        if k * m <= FEW:
            return _multiply(other.transpose((1, 0)), tangent)
        rows = _multiply(tangent.transpose((0, 2, 1)).reshape((n * lanes, k)), other)
        return rows.reshape((n, lanes, m)).transpose((0, 2, 1))
    k, m = tangent.shape[:2]
    return _multiply(other, tangent.reshape((k, m * lanes))).reshape((other.shape[0], m, lanes))


def _product(
    tangent: Number, other: Number, ndim: int, ndim_other: int, lanes: int, left: bool
) -> Number:
    """A tangent @ other (or the reverse); lanes are stacked matrices, and end up behind again."""
    if lanes < 0:
        return _multiply(tangent, other) if left else _multiply(other, tangent)
    if ndim == ndim_other == 2:
        return _matrix_product(tangent, other, lanes, left)
    stacked = moveaxis(tangent, -1, 0)
    if ndim == 1:  # a vector is a matrix of one row, or one column
        stacked = expand_dims(stacked, 1 if left else 2)
    if ndim_other > 2:
        gap = ndim_other - max(ndim, 2)
        if gap > 0:
            stacked = reshape(stacked, (lanes,) + (1,) * gap + binding.shape(stacked)[1:])
    elif ndim_other == 1 and not left:
        other = reshape(other, (1, -1))
    elif ndim_other == 1:
        other = reshape(other, (-1, 1))
    product = _multiply(stacked, other) if left else _multiply(other, stacked)
    product = moveaxis(product, 0, -1)
    # The axes that stand for vectors go.
    if ndim == 1:
        product = squeeze(product, -3 if left else -2)
    if ndim_other == 1:
        product = squeeze(product, -2 if left or ndim == 1 else -3)
    return product


# --- making and joining --------------------------------------------------------------------------


def copy(x: Number) -> Number:
    """A copy, which can be assigned to."""
    if isinstance(x, (Var, Dual, Complex)):
        return x.copy()
    return np.array(x)


def array(items: Any) -> Number:
    """An array of numbers with or without derivatives, which can be assigned to.

    Parameters
    ----------
    items : array-like
        Real numbers, Vars, Duals, arrays of them, and lists and tuples of all these.

    Returns
    -------
    Var or Dual
        A copy; its numbers keep their derivatives.

    >>> import cadiff
    >>> x = cadiff.Var(3.0)
    >>> y = cadiff.array([x, 1.0])
    >>> y[1] = x * x
    >>> y.sum().backward()
    >>> x.grad
    7.0
    """
    numbers = copy(items) if isinstance(items, (Var, Dual)) else as_array(items)
    if numbers.ndim == 0 and isinstance(numbers, (Var, Dual)) and not binding.is_cell(numbers):
        return numbers if binding.is_stale(numbers) else opened(numbers[None])[0, ...]
    return opened(numbers)


def as_array(items: Any) -> Number:
    """Numbers, arrays and lists of them joined to one array; what is one already stays so."""
    if isinstance(items, (Var, Dual, Complex)):
        return items
    if isinstance(items, np.ndarray):
        if items.dtype == object and binding.holds_complex(items):
            return as_array(items.tolist())
        return binding.gather_numbers(items) if items.dtype == object else items
    if not isinstance(items, (list, tuple)):
        return np.asarray(items)
    joined = binding.array_of_lists(items)
    if joined is not NotImplemented:
        return np.asarray(items) if joined is None else joined
    if binding.holds_complex(items):
        return binding.make_complex(*(as_array(_parts_in(items, k)) for k in (0, 1)))
    try:
        parts = [
            as_array(item) if isinstance(item, (list, tuple, np.ndarray)) else item
            for item in items
        ]
    except RecursionError:
        raise binding.nested_error() from None
    if not any(isinstance(part, (Var, Dual)) or is_number_mask(part) for part in parts):
        return np.asarray(parts)
    parts = [part.number if isinstance(part, Replayed) else part for part in parts]
    if all(binding.ndim(part) == 0 for part in parts):
        return binding.numbers_array([_plain_single(part) for part in parts], (len(parts),))
    return stack(parts)


def _parts_in(items: Any, which: int) -> Any:
    """Real or imaginary parts of all numbers in nested lists."""
    if isinstance(items, (list, tuple)) or (
        isinstance(items, np.ndarray) and items.dtype == object
    ):
        return [_parts_in(item, which) for item in items]
    if binding.is_complex_number(items):
        return (items.real, items.imag)[which]
    return np.zeros(binding.shape(items))[()] if which else items


def gathered(x: Any) -> Any:
    """Lists, tuples and arrays of objects as arrays of numbers; all else unchanged."""
    listed = isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype.hasobject)
    return as_array(x) if listed else x


def _plain_single(x: Any) -> Number:
    if isinstance(x, (Var, Dual)):
        return x
    number = np.asarray(x)
    if number.dtype.kind not in "biuf":
        raise TypeError(f"an array of numbers holds real numbers, Vars and Duals, not {x!r}")
    return number[()] if binding.is_single(number) else float(number)


def opened(fresh: Number) -> Number:
    """An array just made, so that any number of a differentiation under way can be assigned."""
    if isinstance(fresh, (Var, Dual)):
        return binding.under_way(fresh) if fresh.ndim else fresh
    if isinstance(fresh, Complex) or np.iscomplexobj(fresh):
        return binding.make_complex(opened(copy(fresh.real)), opened(copy(fresh.imag)))
    return _open(np.asarray(fresh))


def _open(values: Any) -> Number:
    """Plain values as an array that numbers with derivatives can be assigned to."""
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"an array of numbers holds real numbers, Vars and Duals, not dtype {values.dtype}"
        )
    if values.ndim == 0:
        return _open(values[None])[0, ...]
    return _under(binding.open_forward(), values)


def _under(running: Sequence[tuple[int, int]], values: Any) -> Number:
    """A Dual for each forward differentiation that is under way, around a Var of constants."""
    if not running:
        return binding.constant_array(values)
    *outer, (tag, lanes) = running
    shape = values.shape + ((lanes,) if lanes >= 0 else ())
    return binding.make_dual(_under(outer, values), _under(outer, np.zeros(shape)), tag)


def zeros(shape: int | Sequence[int], dtype: Any = np.float64) -> Number:
    """An array of zeros that numbers with derivatives can be assigned to.

    Parameters
    ----------
    shape : int or sequence of ints
        Lengths of the axes.
    dtype : dtype
        float64 or float32.

    Returns
    -------
    Var or Dual
        Without derivatives of its own until numbers that carry some are assigned.
    """
    return _open(np.zeros(shape, dtype))


def ones(shape: int | Sequence[int]) -> Number:
    """An array of ones that numbers with derivatives can be assigned to.

    Parameters
    ----------
    shape : int or sequence of ints
        Lengths of the axes.

    Returns
    -------
    Var or Dual
        Of float64, without derivatives of its own until numbers that carry some are assigned.
    """
    return _open(np.ones(shape))


def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = None) -> Number:
    """An array of a shape that holds one number everywhere, and can be assigned to.

    Parameters
    ----------
    shape : int or sequence of ints
        Lengths of the axes.
    fill_value : float, array_like, Var or Dual
        What it holds, with its derivative; an array is broadcast to the shape. As `numpy.full`
        has it, leading axes of length 1 may be more than the shape has.
    dtype : dtype, optional
        float64 or float32; by default float32 if that is what `fill_value` is of.

    Returns
    -------
    Var or Dual

    Raises
    ------
    ValueError
        If an array cannot be broadcast to the shape.
    """
    if dtype is None:
        dtype = np.float32 if binding.is_single(fill_value) else np.float64
    if isinstance(fill_value, (Var, Dual)):
        fill_value = in_precision(fill_value, dtype)
        surplus = binding.ndim(fill_value) - len(lengths_of(shape))
        while surplus > 0 and fill_value.shape[0] == 1:
            fill_value, surplus = fill_value[0], surplus - 1
        return opened(copy(broadcast_to(fill_value, shape)))
    return _open(np.full(shape, fill_value, dtype=_float(dtype)))


def _float(dtype: Any) -> Any:
    """float32 for that and for complex64, and float64 for floats of all other sizes."""
    return np.float32 if np.dtype(dtype) in (np.float32, np.complex64) else np.float64


def in_precision(x: Number, dtype: Any) -> Number:
    """A number or an array in single or in double precision, as a dtype is; None: unchanged."""
    if dtype is None:
        return x
    is_single = _float(dtype) == np.float32
    if isinstance(x, binding.Complex):
        return binding.complex_in_precision(x, is_single)
    return binding.narrowed(x) if is_single else binding.widened(x)


def blank(shape: int | Sequence[int], *like: Any) -> Number:
    """An array of zeros that numbers like these can be assigned to, also Duals made by hand."""
    if any(isinstance(x, Complex) for x in like):
        return opened(np.zeros(shape, like[0].dtype))
    tag = max(map(binding.tag_of, like), default=0)
    if tag == 0 or tag in (running for running, _ in binding.open_forward()):
        are_single = like and all(map(binding.is_single, like))
        return zeros(shape, np.float32 if are_single else np.float64)
    pairs = [binding.split_dual(x, tag) for x in like]
    primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
    lanes = binding.lanes_of(primals, tangents)
    lengths = np.empty(shape).shape
    return binding.make_dual(
        blank(lengths, *primals, *(t for t in tangents if isinstance(t, (Var, Dual)))),
        blank(lengths + ((lanes,) if lanes >= 0 else ()), *map(binding.widened, primals)),
        tag,
    )


def stack(items: Any, axis: int = 0) -> Number:
    """Join arrays or numbers of one shape along a new axis.

    Parameters
    ----------
    items : sequence of array_like
        Numbers or arrays of one shape, with derivatives or without.
    axis : int
        Where the new axis is in the result.

    Returns
    -------
    Var, Dual or ndarray
        A new array; an ndarray if no item carries a derivative.

    Raises
    ------
    ValueError
        If the shapes are not the same.
    """
    parts = _parts("stack", items, axis)
    if not any(isinstance(part, (Var, Dual)) for part in parts):
        return np.stack(parts, axis)
    shapes = {binding.shape(part): None for part in parts}  # in the order of parts
    if len(shapes) != 1:
        raise ValueError(
            f"all input arrays must have the same shape, not {' and '.join(map(str, shapes))}"
        )
    place = normalize_axis_index(axis, binding.ndim(parts[0]) + 1)
    if place or any(isinstance(part, Dual) for part in parts):
        return concatenate([expand_dims(part, place) for part in parts], place)
    if all(binding.is_constant(part) for part in parts if isinstance(part, Var)):
        return binding.constant_array(np.stack(binding.unguarded(parts)))
    return as_rows(parts, binding.shape(parts[0]))


def _blank_for(parts: Sequence[Number], shape: Shape) -> Any:
    """An array of a shape, of float64 or float32, for parts that are about to be written to it."""
    single = any(map(binding.is_single, parts))
    if single:
        single = np.result_type(*(np.dtype(part.dtype) for part in parts)) == np.float32
    return binding.active_array(shape, single)


def as_rows(parts: Sequence[Number], shape: Shape) -> Number:
    """An array of parts, each of a shape, one of which is a Var with a derivative."""
    joined = _blank_for(parts, (len(parts), *shape))
    for k, part in enumerate(parts):
        binding.write_into(joined, (k if shape else slice(k, k + 1),), part)
    return joined


def concatenate(items: Any, axis: int | None = 0) -> Number:
    """Join arrays along an axis that they have.

    Parameters
    ----------
    items : sequence of array_like
        Arrays with derivatives or without, of one shape but for the length of the axis.
    axis : int or None
        Along which they are joined; None joins them as vectors.

    Returns
    -------
    Var, Dual or ndarray
        A new array; an ndarray if no item carries a derivative.

    Raises
    ------
    ValueError
        If the other axes differ in number or length.
    """
    parts = _parts("concatenate", items, axis)
    if not any(isinstance(part, (Var, Dual)) for part in parts):
        return np.concatenate(parts, axis)
    if binding.holds_complex(parts):
        return np.concatenate(parts, axis)
    if axis is None:
        parts, axis = [reshape(part, -1) for part in parts], 0
    if not all(map(binding.shape, parts)):
        raise ValueError(
            "zero-dimensional arrays cannot be concatenated: cadiff.stack and cadiff.array join "
            "numbers"
        )
    shape = np.concatenate(
        [np.broadcast_to(np.zeros(()), binding.shape(part)) for part in parts], axis
    ).shape
    place = normalize_axis_index(axis, len(shape))
    tag = binding.highest_tag(parts)
    if tag > 0:
        pairs = [binding.split_dual(part, tag) for part in parts]
        primals = [p for p, _ in pairs]
        lanes = binding.lanes_of(primals, [t for _, t in pairs])
        tangents = [with_lanes(p, t, lanes) for p, t in pairs]
        return binding.make_dual(concatenate(primals, place), concatenate(tangents, place), tag)
    if all(binding.is_constant(part) for part in parts if isinstance(part, Var)):
        return binding.constant_array(np.concatenate(binding.unguarded(parts), place))
    joined = _blank_for(parts, shape)
    begin = 0
    for part in parts:
        end = begin + binding.shape(part)[place]
        binding.write_into(joined, (slice(None),) * place + (slice(begin, end),), part)
        begin = end
    return joined


def _parts(name: str, items: Any, axis: Any) -> list[Number]:
    """What is to be joined, where it is a sequence, and not one array after the other."""
    is_number = isinstance(items, (Var, Dual, Complex))
    if isinstance(axis, (Var, Dual, Complex, np.ndarray)) or (is_number and not items.ndim):
        raise TypeError(f"{name} takes the arrays in a list: write {name}([x, y])")
    return [as_array(item) for item in items]


def with_lanes(primal: Number, tangent: Number, lanes: int) -> Number:
    if lanes < 0 or binding.ndim(tangent) > binding.ndim(primal):
        return tangent
    return broadcast_to(tangent[..., None], (*binding.shape(primal), lanes))


def take(x: Number, indices: Any, axis: int | None = None) -> Number:
    """Elements along an axis, by whole numbers; None takes from the array as a vector."""
    if axis is None or binding.ndim(x) == 0:  # which NumPy takes for a vector of one
        x = reshape(x, -1)
    place = normalize_axis_index(axis or 0, binding.ndim(x))
    return x[(slice(None),) * place + (np.asarray(indices),)]
