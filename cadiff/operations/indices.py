"""Indices that a replay computes anew: rows of an array at such indices, and rows added there.

Indices are numbers of the tape here, whole ones. In a program they are instructions of their own;
anywhere else these are primitives like all others. A key of several parts comes to one of them,
and so does an array of bools.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import NDArray

from .. import binding
from .exactness import total
from .guards import EQUAL, LESS, LESS_EQUAL
from .making import lend, lend_plain, made_of, note_made
from .primitives import primitive
from .replayed import Replayed, is_anew, is_mask, kind_of, replaced

FEW = 1 << 12  # comparisons, up to which a program makes them all
MOST_CONSTANTS = 1 << 24  # numbers of an array that a recording keeps for its replays to index


@primitive
def taken_at(x: Any, index: Any) -> Any:
    """x[index]: rows of x; for an index of the shape S one of the shape (*S, *x.shape[1:])."""
    return x[np.asarray(index).astype(np.intp)]


@primitive
def added_at(index: Any, x: Any, length: int) -> Any:
    """Zeros of so many rows, to which the rows of x are added at an index, again and again."""
    at = np.asarray(index).astype(np.intp)
    result = np.zeros((length, *np.shape(x)[at.ndim :]))
    np.add.at(result, at, x)
    return result


@primitive
def taken_along(x: Any, index: Any, axis: int) -> Any:
    """One number of x for each index, along an axis, which the index does not have."""
    at = np.expand_dims(np.asarray(index).astype(np.intp), axis)
    return np.take_along_axis(x, at, axis).squeeze(axis)


@primitive
def added_along(index: Any, x: Any, axis: int, length: int) -> Any:
    """Zeros with so many along one more axis, where each number of x is added at an index."""
    at = np.expand_dims(np.asarray(index).astype(np.intp), axis)
    shape = np.shape(x)
    result = np.zeros((*shape[:axis], length, *shape[axis:]))
    np.put_along_axis(result, at, np.expand_dims(x, axis), axis)
    return result


taken_at.by_index, added_at.by_index = "take", "add"
taken_along.by_index, added_along.by_index = "take", "add"
taken_along.goes_along = added_along.goes_along = True
taken_along.defvjp(
    lambda ans, x, index, axis: (
        lambda g: added_along(index, _as_array(g), axis, binding.shape(x)[axis])
    ),
    None,
)
taken_along.defjvp(lambda g, ans, x, index, axis: taken_along(g, index, axis), None)
added_along.defvjp(None, lambda ans, index, x, axis, length: lambda g: taken_along(g, index, axis))
added_along.defjvp(
    None, lambda g, ans, index, x, axis, length: added_along(index, g, axis, length)
)
taken_at.defvjp(
    lambda ans, x, index: lambda g: added_at(index, _as_array(g), binding.shape(x)[0]), None
)
taken_at.defjvp(lambda g, ans, x, index: taken_at(g, index), None)
added_at.defvjp(None, lambda ans, index, x, length: lambda g: taken_at(g, index))
added_at.defjvp(None, lambda g, ans, index, x, length: added_at(index, g, length))


def _as_array(g: Any) -> Any:
    return g if binding.carries(g) else np.asarray(g)


# --- keys ----------------------------------------------------------------------------------------


def is_basic(key: Any) -> bool:
    """Whether an index leads to a view."""
    parts = key if isinstance(key, tuple) else (key,)
    basic = (slice, int, np.integer, type(None), type(Ellipsis))
    return all(isinstance(part, basic) and not isinstance(part, bool) for part in parts)


def _is_index(part: Any) -> bool:
    """Whether it is an array of indices, or a mask of such that is not read yet."""
    if isinstance(part, Replayed):
        return not part.is_plain and kind_of(part._plain) in "iu"
    return isinstance(part, (np.ndarray, np.integer)) and part.dtype.kind in "iu"


def taken(x: Any, key: Any) -> Any:
    """What x[key] is, for a key with masks of ints in it, which a replay indexes by anew.

    None where what is in the key has to be read.
    """
    if is_anew(key) and key.dtype == bool:
        key = places_of_true(key) if key.shape == x.shape else None
        return None if key is None else taken(x.reshape(-1), key)
    parts = key if isinstance(key, tuple) else (key,)
    is_simple = all(_is_index(part) or is_basic(part) for part in parts)
    if not is_simple or not any(_is_index(part) and isinstance(part, Replayed) for part in parts):
        return None
    return _taken(x, parts)


def along(x: Any, index: Any, axis: int | None) -> Any:
    """What numpy.take(x, index, axis) is; None if the index has to be read."""
    if axis is None:
        return taken(x.reshape(-1), index)
    return taken(x, (slice(None),) * normalize_axis_index(axis, x.ndim) + (index,))


def _taken(x: Any, parts: tuple[Any, ...]) -> Any:
    """x[parts]: basic indices first, then rows of what remains at the others."""
    plain = np.broadcast_to(0.0, x.shape)[replaced(parts, "_plain")]  # raises what NumPy raises
    if plain.size == 0:
        return None
    if type(x) is np.ndarray:
        return _taken_of_plain(x, parts)
    if is_mask(x):
        return _taken_of_mask(x, parts)
    n_axes = sum(part is not None and part is not Ellipsis for part in parts)
    filled = [slice(None)] * (x.ndim - n_axes)
    if Ellipsis in [part if part is Ellipsis else None for part in parts]:
        at = next(k for k, part in enumerate(parts) if part is Ellipsis)
        parts = (*parts[:at], *filled, *parts[at + 1 :])
    else:
        parts = (*parts, *filled)
    where = [k for k, part in enumerate(parts) if not isinstance(part, (slice, type(None)))]
    indices = [parts[k] for k in where]
    rest = x[tuple(slice(None) if k in where else part for k, part in enumerate(parts))]
    rest = np.moveaxis(rest, where, range(len(where)))
    lengths = rest.shape[: len(where)]
    if len(indices) > 1:
        rest = rest.reshape(-1, *rest.shape[len(where) :])
        index = _flat_index(indices, lengths)
    else:
        index = indices[0]._outcomes
    ndim = binding.ndim(index)
    picked = taken_at(rest, index)
    if where[-1] - where[0] == len(where) - 1:  # side by side: there their axes stay
        first = where[0]
        picked = np.moveaxis(picked, range(ndim), range(first, first + ndim))
    if ndim == 0 and binding.ndim(picked):  # for NumPy it is a view
        lend(x, picked)
    return picked


def _taken_of_plain(x: NDArray[Any], parts: tuple[Any, ...]) -> Any:
    """Numbers of a plain array: constants of the recording, of which a replay takes others."""
    if (
        binding.makes_plain()
        or x.size > MOST_CONSTANTS
        or x.dtype.kind not in "biuf"
        or x.dtype.itemsize > 8
    ):
        return None
    if x.dtype.kind != "f" and not binding.are_exact(x):
        return None
    note_made()
    picked = _taken(binding.constant_array(x), parts)
    if x[replaced(parts, "_plain")].ndim and all(map(is_basic, replaced(parts, "_plain"))):
        lend_plain(x)
    if x.dtype.kind == "f":
        return picked
    masks = [part for part in parts if isinstance(part, Replayed)]
    return made_of(masks, x[replaced(parts, "_plain")], picked)


def _taken_of_mask(x: Any, parts: tuple[Any, ...]) -> Any:
    if x.is_plain:
        return _taken_of_plain(x.read_values, parts)
    masks = [x, *[part for part in parts if isinstance(part, Replayed)]]
    return made_of(masks, x._plain[replaced(parts, "_plain")], _taken(x._outcomes, parts))


def _flat_index(indices: list[Any], lengths: tuple[int, ...]) -> Any:
    """One index in the place of several: all of them have to be within their bounds."""
    flat: Any = 0.0
    for index, length in zip(indices, lengths, strict=True):
        if isinstance(index, Replayed):
            number = index._outcomes + length * binding.indicator(index._outcomes, 0.0, LESS)
            below, above = (
                total(binding.indicator(one, other, how))
                for one, other, how in ((number, 0.0, LESS), (float(length), number, LESS_EQUAL))
            )
            binding.compare(below + above, 0.0, EQUAL, False)
        else:
            whole = np.asarray(index, dtype=np.float64)
            number = whole + length * (whole < 0.0)
        flat = flat * length + number
    return flat


# --- places of what is true ----------------------------------------------------------------------


@primitive
def _true_places(mask: Any, count: int) -> Any:
    """As many as there were when f was recorded: if there are others now, a guard tells."""
    padded = np.zeros(count)
    places = np.flatnonzero(mask)[:count]
    padded[: len(places)] = places
    return padded


_true_places.defvjp(None)


def places_of_true(a: Any) -> Any:
    """Where a mask among the arguments is True, as indices; how many there are, is a guard."""
    if not is_anew(a) or a.dtype != bool or not a.memory.is_wide or a.ndim == 0:
        return None
    plain = np.flatnonzero(a._plain)
    if plain.size == 0:
        return None
    flags = a._outcomes.reshape(-1)
    binding.compare(flags.sum(), float(plain.size), EQUAL, False)
    if a.size * plain.size <= FEW:
        ranks = np.cumsum(flags)
        outcomes = binding.indicator(ranks, np.arange(plain.size)[:, None] + 1.0, LESS).sum(1)
    else:
        outcomes = _true_places(flags, plain.size)
    return made_of([a], plain, outcomes)
