"""Choices by values, as comparisons that a replay of a recording has to meet again.

What a function answers from values alone (questions, positions, counts) is a constant of a
recording. Where it follows from comparisons, these are recorded as guards; a function of another
kind reads values by `binding.unguarded`, after which the recording cannot be replayed. Unless
something is recorded for replays, nothing is done here but to answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import depends, plain_values

LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL = range(6)  # as in Python.h

# What has to be noted before a function answers; it may have a better answer, of numbers that a
# replay computes anew.
Note = Callable[..., Any]


class NoDerivativeError(binding.MissingRuleError):
    """A function was given a number by which it has no derivative."""

    __module__ = "cadiff"


def _taken(x: Any) -> Any:
    """A list as an array, of objects if it holds numbers with derivatives."""
    return binding.elements(x) if isinstance(x, (list, tuple)) else x


def _elementwise(note: Callable[[Any], None], *args: Any, **kwargs: Any) -> None:
    """What has to be noted of every number among the arguments of a function."""

    def note_one(number: Any) -> Any:
        note(number)
        return number

    binding.map_numbers((args, kwargs), note_one)


def _same_kind(number: Any) -> None:
    """Nan stays nan, and the infinities what they are."""
    binding.compare(number, number, NOT_EQUAL)
    binding.compare(number, math.inf, EQUAL)
    binding.compare(number, -math.inf, EQUAL)


def nothing(*args: Any, **kwargs: Any) -> None:
    """The note for a function that looks at shapes and types alone."""


# What decides about the answers of functions, by their arguments.
note_truths = partial(_elementwise, lambda x: binding.compare(x, 0.0, NOT_EQUAL))
note_nans = partial(_elementwise, lambda x: binding.compare(x, x, NOT_EQUAL))
note_kinds = partial(_elementwise, _same_kind)


def _of_arrays(found: Any) -> Any:
    """None for the answer about a single number: NumPy's is of a type of its own."""
    return None if isinstance(found, bool) or found is NotImplemented else found


def compared(how: int, x: Any, y: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The note for a comparison of two arguments."""
    if not args and not kwargs:
        return _of_arrays(binding.compare_as_operators(_taken(x), _taken(y), how))
    binding.compare(_taken(x), _taken(y), how)
    return None


def about_kind(ask: Callable[[Any], Any], x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The note for a question about nan and the infinities."""
    if not args and not kwargs:
        return _of_arrays(ask(_taken(x)))
    note_kinds(x)
    return None


def are_close(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> None:
    """The note for numpy.isclose and numpy.allclose."""
    x, y = _taken(a), _taken(b)
    binding.compare(abs(x - y), atol + rtol * abs(y), LESS_EQUAL)
    binding.compare(x, y, EQUAL, False)
    note_kinds(x, y)


def are_equal(a1: Any, a2: Any, equal_nan: bool = False) -> None:
    """The note for numpy.array_equal and array_equiv: arrays of other shapes are not compared."""
    x, y = _taken(a1), _taken(a2)
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError:
        return
    binding.compare(x, y, EQUAL)
    if equal_nan:
        note_nans(x, y)


# --- by order ------------------------------------------------------------------------------------


def _row(x: Any, axis: int | None) -> tuple[Any, int]:
    """An array and the axis along which it is ordered; with axis None the flat array."""
    x = _taken(x)
    return (x.reshape(-1), 0) if axis is None or np.ndim(x) == 0 else (x, axis)


def _note_order(x: Any, axis: int | None, places: NDArray[np.intp]) -> None:
    """A replay has to find the same order, and the same ties."""
    x, axis = _row(x, axis)
    if places.shape[axis] > 1:
        key = list(np.ogrid[tuple(map(slice, places.shape))])
        key[axis] = places
        in_order = x[tuple(key)]
        before, after = (
            (slice(None),) * (axis % places.ndim) + (part,)
            for part in (slice(None, -1), slice(1, None))
        )
        binding.compare(in_order[before], in_order[after], LESS)
        binding.compare(in_order[before], in_order[after], LESS_EQUAL)
    binding.compare(x, x, NOT_EQUAL)


def order(x: Any, axis: int | None = -1) -> NDArray[np.intp]:
    """The indices that put x in order along an axis, equal elements as they stand, nan last."""
    places: NDArray[np.intp] = np.argsort(np.asarray(plain_values(x)), axis, kind="stable")
    if depends(x):
        _note_order(x, axis, np.atleast_1d(places))
    return places


def orders(a: Any, *args: Any, axis: int | None = -1, **kwargs: Any) -> None:
    """The note for numpy.argsort: all that it answers follows from order and ties."""
    order(a, args[0] if args else axis)


def order_at(a: Any, kth: Any, axis: int | None = -1, *args: Any, **kwargs: Any) -> None:
    """The note for numpy.argpartition."""
    order(a, axis)


def peaks(sign: float, a: Any, axis: int | None = None, *args: Any, **kwargs: Any) -> None:
    """The note for the place of the largest element, or with sign -1 of the smallest."""
    x, axis = _row(a, axis)
    plain = np.asarray(plain_values(x))
    nan = np.isnan(plain)
    where = np.expand_dims(np.argmax(np.where(nan, -np.inf, sign * plain), axis), axis)
    key = list(np.ogrid[tuple(map(slice, plain.shape))])
    key[axis] = where
    peak = x[tuple(key)]
    ascending = (x, peak) if sign > 0 else (peak, x)
    binding.compare(*ascending, LESS)
    binding.compare(*ascending, LESS_EQUAL)
    if nan.any():
        binding.compare(x, x, NOT_EQUAL)


def places(a: Any, v: Any, side: str = "left", sorter: Any = None) -> None:
    """The note for numpy.searchsorted: between which elements of `a` each number stands."""
    a, v = _taken(a), _taken(v)
    if depends(sorter) or np.isnan(np.asarray(plain_values(a))).any():
        binding.note_reading((a, v, sorter))
        return
    if sorter is not None:
        a = a[np.asarray(sorter)]
    if depends(a):
        order(a)
    if len(a) == 0:
        return
    between: Any = np.searchsorted(
        np.asarray(plain_values(a)),
        np.asarray(plain_values(v)),
        side,  # type: ignore[call-overload]
    )
    before, after = (LESS_EQUAL, LESS) if side == "right" else (LESS, LESS_EQUAL)
    binding.compare(a[np.clip(between - 1, 0, len(a) - 1)], v, before)
    binding.compare(v, a[np.clip(between, 0, len(a) - 1)], after)


def bins(x: Any, bins: Any, right: bool = False) -> None:
    """The note for numpy.digitize."""
    edges = np.asarray(plain_values(bins))
    if np.all(np.diff(edges) >= 0):
        places(bins, x, "left" if right else "right")
    else:
        binding.note_reading((x, bins))


# --- answers -------------------------------------------------------------------------------------


def held(x: Any) -> Any:
    """The values of x; where a replay finds others, x without its derivative.

    So comparisons of them are guards, while what is computed of them is computed anew.
    """
    return binding.stop_gradient(x) if depends(x) else binding.unguarded(x)


def valued(x: Any, value: Any) -> Any:
    """The value, which was found otherwise, with the derivatives of x."""
    return binding.differential(x) + held(value)


def fixed(x: Any) -> Any:
    """The values of x, which a replay has to find again: whole numbers, as a rule."""
    if depends(x):
        binding.compare(_taken(x), plain_values(x), EQUAL, False)
    return plain_values(x)


def finite(x: Any) -> Any:
    """The values of x; whether all are finite, a replay has to find again."""
    if depends(x):
        total = (_taken(x) * 0.0).sum()
        binding.compare(total, 0.0, EQUAL, False)
    return plain_values(x)


def truths(x: Any, equality: bool = True) -> NDArray[np.bool_]:
    """Which elements are true, as NumPy sees them: None is not, and nan is.

    Without `equality`, that one is 0 is no accident.
    """
    if depends(x):
        binding.compare(_taken(x), 0.0, NOT_EQUAL, equality)
    mask: NDArray[np.bool_] = np.asarray(plain_values(x)).astype(bool)
    return mask


def nans(x: Any) -> NDArray[np.bool_]:
    if depends(x):
        note_nans(x)
    mask: NDArray[np.bool_] = np.isnan(np.asarray(plain_values(x)))
    return mask


def infinite(x: Any, sign: float) -> NDArray[np.bool_]:
    if depends(x):
        binding.compare(_taken(x), sign * math.inf, EQUAL)
    mask: NDArray[np.bool_] = np.asarray(plain_values(x)) == sign * math.inf
    return mask


# What has to be noted before a function of NumPy's answers from values; for all others that do,
# nothing is known.
questions: dict[str, Note] = {
    "less": partial(compared, LESS),
    "less_equal": partial(compared, LESS_EQUAL),
    "equal": partial(compared, EQUAL),
    "not_equal": partial(compared, NOT_EQUAL),
    "greater": partial(compared, GREATER),
    "greater_equal": partial(compared, GREATER_EQUAL),
    **dict.fromkeys(
        ("all", "any", "argwhere", "count_nonzero", "flatnonzero", "logical_and", "logical_not",
         "logical_or", "logical_xor", "nonzero"),
        note_truths,
    ),
    "isfinite": partial(about_kind, lambda x: abs(x) < math.inf),
    "isinf": partial(about_kind, lambda x: abs(x) == math.inf),
    "isneginf": partial(about_kind, lambda x: x == -math.inf),
    "isposinf": partial(about_kind, lambda x: x == math.inf),
    "isnan": partial(about_kind, lambda x: x != x),
    "allclose": are_close,
    "isclose": are_close,
    "array_equal": are_equal,
    "array_equiv": are_equal,
    "argmax": partial(peaks, 1.0),
    "argmin": partial(peaks, -1.0),
    "nanargmax": partial(peaks, 1.0),
    "nanargmin": partial(peaks, -1.0),
    "argsort": orders,
    "argpartition": order_at,
    "searchsorted": places,
    "digitize": bins,
    **dict.fromkeys(
        ("can_cast", "common_type", "diag_indices_from", "einsum_path", "iscomplex",
         "iscomplexobj", "isreal", "isrealobj", "min_scalar_type", "result_type",
         "tril_indices_from", "triu_indices_from"),
        nothing,
    ),
}  # fmt: skip
