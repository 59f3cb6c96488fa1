"""Where numbers stand in order: indices of values, found anew by replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binding
from . import guards
from .indices import FEW
from .making import chooses_anew, innermost, of_integers
from .primitives import stated

__all__: list[str] = []

ALONG_FIRST = ((0,), (0,), (0,))


@stated("sort", loop=("ranked", 0, ALONG_FIRST))
def _places_of_ranks(x: Any, ranks: Any) -> Any:
    """Along the first axis, which elements have these ranks in ascending order.

    Equal elements stay as they stand, nan comes last.
    """
    places = binding.run_loop(("ranked", 0, ALONG_FIRST), [x, ranks], ranks.shape)
    return np.zeros(ranks.shape) if places is None else places  # there are no elements


_places_of_ranks.defvjp(None, None)


@stated("sort", absorbs=True, loop=("taken", 0, ALONG_FIRST))
def _taken_along(x: Any, places: Any) -> Any:
    """Elements at places along the first axis, as by numpy.take_along_axis."""
    return np.take_along_axis(x, places.astype(np.intp), 0)


@stated("sort", absorbs=True, loop=("bincount", 0, ALONG_FIRST), loop_takes=(0, 1))
def _added_along(x: Any, places: Any, length: int) -> Any:
    """Zeros of a length along the first axis, to which elements are added at places."""
    result = np.zeros((length, *x.shape[1:]))
    key = (places.astype(np.intp), *np.ix_(*map(range, x.shape[1:])))
    np.add.at(result, key, x)
    return result


def _column_pattern(ans: Any, *_: Any) -> str:
    letters = "".join(chr(97 + k) for k in range(ans.ndim))
    return f"{letters}->{letters[0].upper()}{letters[1:]}"


_taken_along.defvjp(
    lambda ans, x, places: lambda g: _added_along(g, places, binding.shape(x)[0]), None
)
_taken_along.defjvp(lambda g, ans, x, places: _taken_along(g, places), None)
_added_along.defvjp(lambda ans, x, places, length: lambda g: _taken_along(g, places), None)
_added_along.defjvp(lambda g, ans, x, places, length: _added_along(g, places, length), None)
_taken_along.defpattern(_column_pattern)
_added_along.defpattern(_column_pattern)


def ranked_by(keys: Sequence[Any], ranks: Any, *arrays: Any) -> list[Any]:
    """Of each array the elements along the first axis that have these ranks, found anew.

    The last key decides the order; the one before it orders equal elements, and so on.
    """
    every = np.arange(float(binding.shape(keys[0])[0])).reshape(-1, *[1] * (np.ndim(ranks) - 1))
    every = np.ascontiguousarray(np.broadcast_to(every, binding.shape(keys[0])))
    places: Any = every
    for key in keys:
        in_order = _taken_along(guards.held(key), places)
        places = _taken_along(places, _places_of_ranks(in_order, every))
    places = _taken_along(places, np.asarray(ranks, dtype=np.float64))
    return [_taken_along(x, places) for x in arrays]


def ranked(x: Any, ranks: Any) -> Any:
    """The elements along the first axis that have these ranks in ascending order.

    ranks: plain whole numbers, with as many axes as x, and its lengths but along the first one.
    """
    if binding.depends(x) and not binding.chooses_anew():  # a replay finds the same order
        places = np.take_along_axis(guards.order(x, 0), np.asarray(ranks, dtype=np.intp), 0)
        key = (places, *np.ix_(*map(range, binding.shape(x)[1:])))
        return x[key]
    places = _places_of_ranks(guards.held(x), np.asarray(ranks, dtype=np.float64))
    return _taken_along(x, places)


def matched(x: Any, moved: Any) -> Any:
    """Where in x each number of `moved` stands, which has those of x in another order.

    Plain arrays; along the first axis. Equal numbers stay as they stand in x.
    """
    places = binding.run_loop(("matched", 0, ALONG_FIRST), [x, moved], x.shape)
    return np.zeros(x.shape, np.intp) if places is None else places.astype(np.intp)


@stated("searchsorted", loop_takes=(0, 1))
def _searched(a: Any, v: Any, side: str) -> Any:
    return np.asarray(np.searchsorted(a, v, side)).astype(np.float64)  # type: ignore[call-overload]


_searched.loop = lambda a, v, side: ("searchsorted", int(side == "right"), ((0,), None, None))
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
    places = _searched.function(plain_edges, plain_points, side).astype(np.intp)[()]
    is_few = plain_edges.size * plain_points.size <= FEW
    if binding.depends(edges) or not is_few or np.isnan(plain_points).any():
        return of_integers(places, _searched(edges, points, side))
    points = binding.stop_gradient(points)
    is_nan = binding.indicator(points, points, guards.NOT_EQUAL)  # to which the sum gives place 0
    binding.compare(is_nan.sum() if binding.ndim(is_nan) else is_nan, 0.0, guards.EQUAL, False)
    column = plain_edges.astype(np.float64).reshape(-1, *[1] * plain_points.ndim)
    is_left = guards.LESS if side == "left" else guards.LESS_EQUAL
    return of_integers(places, binding.indicator(column, points, is_left).sum(0))


def _bins(x: Any, bins: Any, right: bool = False) -> Any:
    """What numpy.digitize answers."""
    edges = np.asarray(binding.plain_values(bins))
    if edges.ndim == 1 and not binding.depends(bins) and np.all(np.diff(edges) >= 0):
        return _places(bins, x, "left" if right else "right")
    return guards.bins(x, bins, right)


guards.questions.update(searchsorted=_places, digitize=_bins)
