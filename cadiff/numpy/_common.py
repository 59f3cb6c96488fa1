"""What the modules of `cadiff.numpy` share: arguments as numbers, and refusals.

The functions of these modules are entered only if an argument carries a derivative. They are built
from the operations of numbers; positions, shapes and masks are plain NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..binding import Dual, Var, carries, is_real_array, is_single, narrowed, single, structure_of
from ..binding.callers import array_of
from ..operations import arrays
from ..operations import table as _table
from ..operations.replayed import Replayed

Number: TypeAlias = Any  # a Var, a Dual, a float or an ndarray
Axis: TypeAlias = int | Sequence[int] | None

INSTEAD = {
    "out": "take the result, or write `y[...] = f(x)` into an array made by cadiff.numpy.zeros",
    "dtype": "numbers with derivatives are floating; for other types take cadiff.value(x)",
    "order": "give a kind of sorting that uses the values themselves",
}


def existing(*names: str) -> list[Any]:
    """The functions of NumPy among these names that this version has."""
    return [vars(np)[name] for name in names if name in vars(np)]


def as_view(x: Any) -> Number:
    """Var and Dual unchanged; what has them in it, joined to an array; the rest an ndarray."""
    if isinstance(x, (Var, Dual)) or is_real_array(x):
        return x
    if isinstance(x, Replayed):
        x = x.number
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        structure_of((x,), (0,))  # says what is wrong
    if not carries(x):
        x = np.asarray(x) if isinstance(x, (list, tuple)) else array_of(x)
        if x.dtype != object or not carries(x):  # a table of pandas may hold them
            return x
    return arrays.as_array(x)


def as_number(x: Any) -> Number:
    """The same to compute with: of a view of no axes, the number that stands there now."""
    return single(as_view(x))


def operand(x: Any) -> Any:
    """The same as an operand: numbers of Python's, which go along with any precision, stay so."""
    return x if type(x) in (float, int, bool) else as_number(x)


def like(x: Any, plain: Any) -> Any:
    """Plain numbers in the precision of x."""
    small = np.dtype(getattr(x, "dtype", float)) in (np.float32, np.complex64)
    return np.asarray(plain, np.float32 if small else np.float64)


def for_writing(name: str, x: Any, numbers: Any) -> Number:
    """Numbers in the precision of an array like x, into which NumPy writes them.

    An array of integers would drop what is behind the point: of numbers with derivatives that is
    refused.
    """
    kind = np.dtype(x.dtype)
    if kind.kind not in "fc" and carries(numbers):
        raise TypeError(
            f"{name} would round numbers with derivatives to {kind}, which is the dtype of the "
            "array: give it x.astype(float)"
        )
    numbers = as_number(numbers)
    return arrays.in_precision(numbers, kind) if kind.kind == "f" else numbers


def refuse(function: str, **arguments: Any) -> None:
    """Refuse arguments that numbers with derivatives do not support: all but None.

    A dtype may be that of floats: what is not float32 is computed as float64.
    """
    for name, value in arguments.items():
        if value is None:
            continue
        if name != "dtype":
            unsupported(function, f"{name}=", INSTEAD[name])
        if np.dtype(value).kind != "f":
            unsupported(function, f"dtype={np.dtype(value)}", INSTEAD["dtype"])


def refuse_real(function: str, dtype: Any) -> None:
    """Refuse a dtype that complex numbers with derivatives do not have."""
    if dtype is not None and np.dtype(dtype).kind != "c":
        raise TypeError(
            f"numpy.{function} of complex numbers with derivatives does not support "
            f"dtype={np.dtype(dtype)}: they are complex128; take .real or .imag"
        )


def unsupported(function: str, what: str, instead: str) -> NoReturn:
    """Raise an error with the argument that is not supported, and another way."""
    raise TypeError(
        f"numpy.{function} of numbers with derivatives does not support {what}: {instead}"
    )


def expanded(x: Number, axes: Sequence[int]) -> Number:
    """The result of a reduction with its axes put back, of length 1."""
    return arrays.expand_dims(x, tuple(axes)) if axes else x


def joined_axes(x: Number, axes: tuple[int, ...]) -> Number:
    """The array with the given axes joined to one, which comes first."""
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    shape = (math.prod(x.shape[k] for k in axes), *(x.shape[k] for k in kept))
    return arrays.transpose(x, axes + kept).reshape(shape)


def chosen(mask: Any, x: Number) -> Number:
    """The elements of x where a plain mask holds, 0 elsewhere."""
    return _table.where(mask, x, 0.0) if carries(x) else np.where(mask, x, 0.0)


def flat_axis(x: Any, axis: int | None) -> tuple[Any, int]:
    """An array and the axis to go along, counted from the front; with axis None the flat array."""
    return (x.reshape(-1), 0) if axis is None else (x, normalize_axis_index(axis, x.ndim))


def along(axis: int, ndim: int, *keys: Any) -> list[tuple[Any, ...]]:
    """Keys that index one axis and leave the others whole."""
    before, after = (slice(None),) * axis, (slice(None),) * (ndim - axis - 1)
    return [(*before, key, *after) for key in keys]


def rearranged(move: Callable[..., Any], *items: Any) -> Number:
    """What NumPy's `move(*items)` gives, if all it does is to move elements about.

    It is applied to the positions of the elements, and tells which element goes where.
    """
    numbers = [as_number(item) for item in items]
    if any(map(is_single, numbers)):  # numbers of Python's go along with that
        numbers = [
            narrowed(x) if type(item) in (float, int, bool) else x
            for x, item in zip(numbers, items, strict=True)
        ]
    ends = np.cumsum([x.size for x in numbers])
    starts = (end - x.size for end, x in zip(ends, numbers, strict=True))
    positions = [
        np.arange(start, start + x.size).reshape(x.shape)[()]
        for start, x in zip(starts, numbers, strict=True)
    ]
    places = np.asarray(move(*positions))
    flat = [x.reshape(-1) for x in numbers]
    return (flat[0] if len(flat) == 1 else arrays.concatenate(flat))[places[()]]
