"""Indices that a replay computes anew: rows of an array at such indices, and rows added there.

Indices are numbers of the tape here, whole ones. In a program they are instructions of their own;
anywhere else these are primitives like all others. Which keys come to this is for masks to know.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import binding
from . import guards, masks
from .primitives import primitive

__all__ = ["added_at", "taken_at"]


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


taken_at.by_index, added_at.by_index = "take", "add"
taken_at.defvjp(
    lambda ans, x, index: lambda g: added_at(index, _as_array(g), binding.shape(x)[0]), None
)
taken_at.defjvp(lambda g, ans, x, index: taken_at(g, index), None)
added_at.defvjp(None, lambda ans, index, x, length: lambda g: taken_at(g, index))
added_at.defjvp(None, lambda g, ans, index, x, length: added_at(index, g, length))


def _as_array(g: Any) -> Any:
    return g if binding.carries(g) else np.asarray(g)


masks.register_rows(taken_at)


# --- where numbers stand in order ----------------------------------------------------------------

FEW = 1 << 12  # comparisons, up to which a program makes them all


@primitive
def _searched(a: Any, v: Any, side: str) -> Any:
    return np.asarray(np.searchsorted(a, v, side)).astype(np.float64)  # type: ignore[call-overload]


_searched.defvjp(None, None)


def _places(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """What numpy.searchsorted answers, as indices that a replay computes anew."""
    edges, points = masks.innermost(a), masks.innermost(v)
    plain_edges, plain_points = map(np.asarray, binding.plain_values((edges, points)))
    if (
        not masks.chooses_anew()
        or sorter is not None
        or side not in ("left", "right")
        or plain_edges.size == 0
        or plain_points.size == 0
        or np.isnan(plain_edges).any()
    ):
        return guards.places(a, v, side, sorter)
    found = _searched.function(plain_edges, plain_points, side).astype(np.intp)[()]
    is_few = plain_edges.size * plain_points.size <= FEW
    if binding.depends(edges) or not is_few or np.isnan(plain_points).any():
        return masks.Mask.of_integers(found, _searched(edges, points, side))
    points = binding.stop_gradient(points)
    is_nan = binding.indicator(points, points, guards.NOT_EQUAL)  # to which the sum gives place 0
    binding.compare(is_nan.sum() if binding.ndim(is_nan) else is_nan, 0.0, guards.EQUAL, False)
    column = plain_edges.astype(np.float64).reshape(-1, *[1] * plain_points.ndim)
    is_left = guards.LESS if side == "left" else guards.LESS_EQUAL
    return masks.Mask.of_integers(found, binding.indicator(column, points, is_left).sum(0))


def _bins(x: Any, bins: Any, right: bool = False) -> Any:
    """What numpy.digitize answers."""
    edges = np.asarray(binding.plain_values(bins))
    if edges.ndim == 1 and not binding.depends(bins) and np.all(np.diff(edges) >= 0):
        return _places(bins, x, "left" if right else "right")
    return guards.bins(x, bins, right)


guards.questions.update(searchsorted=_places, digitize=_bins)
