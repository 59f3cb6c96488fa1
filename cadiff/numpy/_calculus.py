"""Differences, integrals, interpolation and statistics of several variables.

Composed of sums, products and slices. Where NumPy looks at values (which interval of a table, how
many turns of a phase), so does this module, and differentiates what was chosen.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..binding import (
    carries,
    compare,
    depends,
    is_complex_number,
    is_single,
    make_complex,
    narrowed,
    ndim,
    plain_values,
    widened,
)
from ..binding import unguarded as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.complexes import whole_parts
from ..operations.dispatch import implements
from ..operations.guards import EQUAL, LESS, held, nans, order, places, truths
from ..operations.integers import counted
from ..operations.primitives import stated
from ._common import Axis, Number, as_number, for_writing, like, operand, refuse, unsupported
from ._own import copied

# --- differences and integrals -------------------------------------------------------------------


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Number:
    x = as_number(ary)
    ends = (to_begin, np.diff(x.reshape(-1)), to_end)
    parts = [for_writing("ediff1d", x, end).reshape(-1) for end in ends if end is not None]
    return arrays.concatenate(parts) if len(parts) > 1 else parts[0]


_gradient = copied(np.gradient, ("f",))


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Difference quotients, as `numpy.gradient`; spacings may carry derivatives."""
    are_places = [carries(x) and ndim(as_number(x)) > 0 for x in varargs]
    if not any(are_places):
        return _gradient(f, *varargs, axis=axis, edge_order=edge_order)
    f = as_number(f)
    plain: Any = np.gradient  # which says what is wrong
    plain(plain_values(f), *plain_values(varargs), axis=axis, edge_order=edge_order)
    axes = range(f.ndim) if axis is None else normalize_axis_tuple(axis, f.ndim)
    slopes = tuple(
        _by_places(f, as_number(x), k, edge_order)
        if may_move
        else _gradient(f, x, axis=k, edge_order=edge_order)
        for k, x, may_move in zip(axes, varargs, are_places, strict=True)
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _by_places(f: Number, places: Number, axis: int, edge_order: int) -> Number:
    """The derivatives of parabolas through three neighbours, at edges of order 1 of lines.

    NumPy takes places that are evenly spaced for one spacing, by which the derivatives are others.
    """
    f = arrays.moveaxis(f, axis, 0)
    x = (places + 0.0).reshape((-1,) + (1,) * (f.ndim - 1))
    steps = np.diff(x, axis=0)
    h, k = steps[:-1], steps[1:]
    both = h + k
    inside = -k / (h * both) * f[:-2] + (k - h) / (h * k) * f[1:-1] + h / (k * both) * f[2:]
    first, last = (f[1:2] - f[:1]) / steps[:1], (f[-1:] - f[-2:-1]) / steps[-1:]
    if edge_order == 2:
        h, k, both = h[:1], k[:1], both[:1]
        first = -(2.0 * h + k) / (h * both) * f[:1] + both / (h * k) * f[1:2]
        first = first - h / (k * both) * f[2:3]
        h, k, both = steps[-2:-1], steps[-1:], steps[-2:-1] + steps[-1:]
        last = k / (h * both) * f[-3:-2] - both / (h * k) * f[-2:-1]
        last = last + (2.0 * k + h) / (k * both) * f[-1:]
    slopes = arrays.moveaxis(arrays.concatenate([first, inside, last]), 0, axis)
    return narrowed(slopes) if is_single(f) else slopes


# --- tables and phases ---------------------------------------------------------------------------


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Number:
    """Linear interpolation in a table, as `numpy.interp`; all of its arguments may vary.

    At a point of the table the slope is that to its right, at the last point that to its left;
    outside it is 0.
    """
    x, xp, fp = (widened(as_number(each)) for each in (x, xp, fp))
    xp, fp = xp + 0.0, fp + 0.0
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    if len(xp) == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    below, above = compare(x, xp[0], LESS), compare(xp[-1], x, LESS)
    inside = fp[0] + 0.0 * x if len(xp) == 1 else _interpolated(x, xp, fp)
    result = _table.where(below, fp[0] if left is None else left, inside)
    return _table.where(above, fp[-1] if right is None else right, result)


def _interpolated(x: Number, xp: Number, fp: Number) -> Number:
    if depends((x, xp)):
        places(xp, x, "right")
    behind: Any = np.searchsorted(
        np.asarray(plain_values(xp)), np.asarray(plain_values(x)), side="right"
    )
    j = np.clip(behind - 1, 0, len(xp) - 2)
    with np.errstate(all="ignore"):  # an interval without length, at an end, is not chosen
        slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j])
        result = slope * (x - xp[j]) + fp[j]
        lost = nans(result) if _may_be_infinite(xp, fp) else np.False_
        if np.any(lost):
            from_right = slope * (x - xp[j + 1]) + fp[j + 1]
            is_level = nans(from_right) & compare(fp[j], fp[j + 1], EQUAL, False) & ~nans(x)
            is_left = is_level | compare(x, xp[j], EQUAL, False)
            result = _table.where(lost, _table.where(is_left, fp[j], from_right), result)
    end = compare(x, xp[-1], EQUAL, False)
    if not np.any(end):
        return result
    return _table.where(end, _to_the_end(x, xp, fp), result)


def _may_be_infinite(*table: Number) -> bool:
    """Whether numbers of a table are infinite, or may be in a replay."""
    return depends(table) or not all(np.all(np.isfinite(plain_values(x))) for x in table)


def _to_the_end(x: Number, xp: Number, fp: Number) -> Number:
    """Through the last point, with the slope of the last interval that has a length."""
    left = np.flatnonzero(~np.asarray(compare(xp[:-1], xp[-1], EQUAL, False)))
    if not left.size:
        return fp[-1]
    j = left[-1]
    with np.errstate(all="ignore"):
        result = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]) * (x - xp[-1]) + fp[-1]
    lost = nans(result) if _may_be_infinite(xp, fp) else np.False_
    return _table.where(lost, fp[-1], result) if np.any(lost) else result


def _periodic(x: Number, xp: Number, fp: Number, period: Any) -> tuple[Number, Number, Number]:
    """A table over one period, with one point more at both ends."""
    if not np.all(truths(period)):
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    x, xp = x % period, xp % period
    if depends(xp):
        order(xp)
    ascending = np.argsort(np.asarray(plain_values(xp)))
    xp, fp = xp[ascending], fp[ascending]
    longer = arrays.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, longer, arrays.concatenate([fp[-1:], fp, fp[:1]])


@stated(loop=lambda p, period, jump, axis: ("turns", 0, ((axis,), (), (), (axis,))))
def _turns(p: Any, period: Any, discont: float, axis: int) -> Any:
    """How many periods each phase is moved by, which has no derivative."""
    p = np.asarray(p, dtype=float)
    turns = np.rint((np.unwrap(p, discont, axis, period=period) - p) / period)
    turns[(slice(None),) * axis + (slice(0, 1),)] = 0.0  # also where it is infinite
    return turns


_turns.defvjp(None, None, None)
_turns.loop_takes = (0, 1, 2)


@implements(np.unwrap)
def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: Any = 2 * np.pi
) -> Number:
    """Phases without jumps of a period, as `numpy.unwrap`; the jumps are whole periods."""
    p = as_number(p)
    jump = held(period) / 2.0 if discont is None else value(discont)
    turns = _turns(held(p), held(period), jump, normalize_axis_index(axis, p.ndim))
    return p + (narrowed(turns) if is_single(p) else turns) * period


# --- statistics of several variables -------------------------------------------------------------


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Number:
    c = np.cov(as_number(x), None if y is None else as_number(y), rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = _table.sqrt(np.real(np.diag(c)))
    c = c / deviation[:, None] / deviation[None, :]
    bounded = [_table.clip(part, -1.0, 1.0) for part in whole_parts(c)]
    return make_complex(*bounded) if is_complex_number(c) else bounded[0]


@stated("bincount", loop=("bincount", 0), loop_takes=(0, 1))
def _counted(weights: Any, x: Any, n: int) -> Any:
    return np.bincount(x, weights, n)


_counted.defvjp(lambda ans, weights, x, n: lambda g: g[x])
_counted.defjvp(lambda g, ans, weights, x, n: _counted(g, x, n))
_counted.defpattern(lambda ans, weights, x, n: (x, np.arange(x.size)))


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Sums of weights for each whole number, as `numpy.bincount`; x is plain."""
    if carries(x):
        unsupported("bincount", "bins with derivatives", "give whole numbers as x")
    sums = counted(x, weights, minlength)
    if sums is not None:
        return sums
    bins = np.asarray(x)
    weights = as_number(weights)
    if weights.shape != bins.shape:
        raise ValueError("The weights and list don't have the same length.")
    return _counted(weights, bins, minlength)


# --- spacing between numbers ---------------------------------------------------------------------


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: None = None,
) -> Any:
    refuse("linspace", dtype=dtype)
    num = index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    gaps = num - 1 if endpoint else num
    width = operand(stop) - operand(start)
    precision = np.float32 if dtype is None and is_single(width) else dtype
    start, stop, width = (
        arrays.in_precision(as_number(x), precision) for x in (start, stop, width)
    )
    step = width / gaps if gaps > 0 else np.nan * width
    points = like(width, np.arange(float(num))).reshape((-1,) + (1,) * width.ndim)
    result = points * step + start if gaps > 0 else points * width + start
    if endpoint and num > 1:
        result = arrays.concatenate([result[:-1], arrays.broadcast_to(stop, width.shape)[None]])
    result = arrays.moveaxis(result, 0, axis) if axis else result
    return (result, step) if retstep else result
