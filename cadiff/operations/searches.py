"""Where numbers stand in order: indices of values, found anew by replays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import binding
from . import guards
from .indices import FEW
from .making import chooses_anew, innermost, of_integers
from .primitives import primitive

__all__: list[str] = []


@primitive
def _searched(a: Any, v: Any, side: str) -> Any:
    return np.asarray(np.searchsorted(a, v, side)).astype(np.float64)  # type: ignore[call-overload]


_searched.called = "searchsorted"
_searched.defvjp(None, None)


def _places(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """What numpy.searchsorted answers, as indices that a replay computes anew."""
    edges, points = innermost(a), innermost(v)
    plain_edges, plain_points = map(np.asarray, binding.plain_values((edges, points)))
    if (
        not chooses_anew()
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
        return of_integers(found, _searched(edges, points, side))
    points = binding.stop_gradient(points)
    is_nan = binding.indicator(points, points, guards.NOT_EQUAL)  # to which the sum gives place 0
    binding.compare(is_nan.sum() if binding.ndim(is_nan) else is_nan, 0.0, guards.EQUAL, False)
    column = plain_edges.astype(np.float64).reshape(-1, *[1] * plain_points.ndim)
    is_left = guards.LESS if side == "left" else guards.LESS_EQUAL
    return of_integers(found, binding.indicator(column, points, is_left).sum(0))


def _bins(x: Any, bins: Any, right: bool = False) -> Any:
    """What numpy.digitize answers."""
    edges = np.asarray(binding.plain_values(bins))
    if edges.ndim == 1 and not binding.depends(bins) and np.all(np.diff(edges) >= 0):
        return _places(bins, x, "left" if right else "right")
    return guards.bins(x, bins, right)


guards.questions.update(searchsorted=_places, digitize=_bins)
