"""What NumPy's functions make of integers that a replay computes anew, beside plain arithmetic.

Selections, counts, and assignment at indices. Each is composed of operations that programs
have: rows taken and added at indices, comparisons as numbers, choices. Where one cannot be, the
function answers None, and the integers are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import binding
from ..binding import carries
from . import table as _table
from .arrays import check_order
from .exactness import are_floats, as_floats
from .guards import EQUAL, LESS
from .indices import FEW, added_at, along, places_of_true, taken, taken_at
from .making import bools_of, made_of
from .primitives import primitive
from .replayed import Replayed, is_anew, is_mask, kind_of, replaced, unread

MOST_REPEATED = 64  # elements of an array for each that is assigned, all of which are chosen anew


# --- arithmetic ----------------------------------------------------------------------------------


def _is_whole(x: Any) -> bool:
    return isinstance(x, Replayed) and kind_of(x._plain) in "iu"


def _power(x: Any, y: Any) -> Any:
    if not _is_whole(x) or type(y) is not int or not 0 < y <= 8:
        return None
    power = x
    for _ in range(y - 1):
        power = np.multiply(power, x)
    return power


def _clipped(a: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> Any:
    low, high = kwargs.pop("min", a_min), kwargs.pop("max", a_max)
    if kwargs or not _is_whole(a) or carries((low, high)):
        return None
    plain = np.clip(*replaced((a, low, high), "_plain"))
    for bound, limit in ((low, np.maximum), (high, np.minimum)):
        a = a if bound is None else limit(a, bound)
    return a if a.dtype == plain.dtype else None


# --- moving elements about -----------------------------------------------------------------------


def _moved(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What moves elements about does the same with the numbers that stand for them."""
    for positions in (*args[1:], *kwargs.values()):
        check_order(positions, binding.shape(args[0]))
    masks_in = unread((args, kwargs))
    if not masks_in or kwargs.keys() - {"axis", "shape"} or carries((args, kwargs)):
        return None
    plain = function(*replaced(args, "_plain"), **replaced(kwargs, "_plain"))
    if plain.dtype.kind not in "biu" or plain.size == 0:
        return None
    numbers = replaced(args, "number")
    if not are_floats(numbers):
        return None
    try:
        numbers = binding.map_leaves(as_floats, numbers)
        outcomes = function(*numbers, **kwargs)
    except (TypeError, ValueError, NotImplementedError):
        return None
    for mask in masks_in:
        mask.memory.has_views = True
    if plain.dtype == bool:
        moved = bools_of(masks_in, plain, outcomes, any(mask._equality for mask in masks_in))
    else:
        moved = made_of(masks_in, plain, outcomes)
    moved.memory.has_views = True
    return moved


def _taken(a: Any, indices: Any, axis: Any = None, **kwargs: Any) -> Any:
    if kwargs or not is_anew(indices) or carries(a):
        return None
    return along(a if is_mask(a) else np.asarray(a), indices, axis)


# --- places of what is true ----------------------------------------------------------------------


def _nonzero(a: Any) -> Any:
    found = places_of_true(a) if is_mask(a) and a.ndim == 1 else None
    return None if found is None else (found,)


# --- sums and assignment at indices --------------------------------------------------------------


def counted(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """What numpy.bincount answers; that there are no more bins than it has is a guard."""
    if not is_anew(x) or not _is_whole(x) or x.ndim != 1 or type(minlength) is not int:
        return None
    if isinstance(weights, Replayed):
        weights = weights.number
    plain = np.bincount(x._plain, None, minlength)
    if weights is not None and (binding.shape(weights) != x.shape or plain.size == 0):
        return None
    largest, length = np.max(x._outcomes), float(plain.size)
    binding.compare(np.min(x._outcomes), 0.0, LESS, False)
    if plain.size > minlength:
        binding.compare(largest, length - 1.0, EQUAL, False)
    else:
        binding.compare(largest, length, LESS, False)
    if weights is not None:
        weights = weights if carries(weights) else np.asarray(weights, dtype=np.float64)
        return added_at(x._outcomes, weights, plain.size)
    return made_of([x], plain, added_at(x._outcomes, np.ones(x.size), plain.size))


def summed_at(target: Any, places: Any, added: Any) -> Any:
    """What an array is after a vector was added to it at places in the flat array; or None."""
    if not is_anew(places):
        return None
    total = added_at(places._outcomes.reshape(-1), added, target.size)
    return target + total.reshape(target.shape)


@primitive
def _last_ones(index: Any) -> Any:
    """1 for each index that is not met again behind it."""
    _, last = np.unique(np.asarray(index)[::-1], return_index=True)
    marks = np.zeros(np.size(index))
    marks[np.size(index) - 1 - last] = 1.0
    return marks


_last_ones.defvjp(None)


def _writers(index: Any, n: int) -> Any:
    """For each of n places the number of the last index that names it, from 1 on; else 0."""
    m = binding.shape(index)[0]
    order = np.arange(m)
    if m == 1:
        return added_at(index, np.ones(1), n)
    if m * m <= FEW:
        same = binding.indicator(index[:, None], index[None, :], EQUAL)
        again = (same * (order[:, None] < order)).sum(1)
        is_last = binding.indicator(again, 0.0, EQUAL)
    else:
        is_last = _last_ones(index)
    return added_at(index, is_last * (order + 1.0), n)


def assigned(target: Any, key: Any, value: Any) -> Any:
    """What an array is after target[key] = value, for a key with indices; or None."""
    places = taken(np.arange(target.size).reshape(target.shape), key)
    if not is_anew(places):
        return None
    n, m = target.size, places.size
    if n > max(FEW, MOST_REPEATED * m) or isinstance(value, (list, tuple)):
        return None
    if not carries(value):
        value = np.asarray(value, dtype=np.float64)
    shape = binding.shape(value)
    if np.broadcast_shapes(shape, places.shape) != places.shape:
        return None  # which raises what there is to raise
    writers = _writers(places._outcomes.reshape(-1), n)
    if binding.ndim(value):
        value = np.broadcast_to(value, places.shape).reshape(-1)
        value = value if carries(value) else binding.constant_array(value)
        value = taken_at(value, _table.maximum(writers - 1.0, 0.0))
    return _table.where(writers, value, target.reshape(-1)).reshape(target.shape)


# --- by function ---------------------------------------------------------------------------------

_MOVES: tuple[Any, ...] = (
    np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.append, np.flip, np.roll,
    np.repeat, np.tile, np.ravel, np.reshape, np.transpose, np.swapaxes, np.moveaxis,
    np.expand_dims, np.squeeze, np.broadcast_to,
)  # fmt: skip

# What is done in the place of functions of NumPy's: None, or their result.
INSTEAD: dict[Any, Callable[..., Any]] = {
    np.power: _power,
    np.divmod: lambda x, y: (np.floor_divide(x, y), np.remainder(x, y)),
    np.clip: _clipped,
    np.take: _taken,
    np.flatnonzero: places_of_true,
    np.nonzero: _nonzero,
    np.bincount: counted,
    **{function: partial(_moved, function) for function in _MOVES},
}
