"""Functions of two variables as contours, with the way that an optimisation took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..programs.program import Program, program_of
from ._axes import MARK, is_dark, new_axes, ramp

_MARGIN = 0.25  # around a path, in units of its width, on each side
_LEVELS = 16
_ARROWS = 14  # along each axis

FloatArray = NDArray[np.float64]
Bounds = tuple[tuple[float, float], tuple[float, float]]


def contours(
    f: Callable[..., Any],
    path: Any = None,
    *,
    bounds: Sequence[Sequence[float]] | None = None,
    coordinates: tuple[int, int] = (0, 1),
    at: Any = None,
    args: tuple[Any, ...] = (),
    points: int = 100,
    arrows: bool = False,
    ax: Any = None,
) -> Any:
    """Draw contours of a function of a vector, by two of its coordinates, and a path.

    Parameters
    ----------
    f : callable or Program
        `f(x, *args)` returns a number; x has shape (n,), or is the container of the history. What
        can be recorded is computed at all points at once, by a program's `batch`. Without arrows f
        need not be differentiable.
    path : array_like of shape (steps, n), History or OptimizeResult, optional
        The way of an optimisation; of a result its history, or else the point that it found.
    bounds : two pairs of floats, optional
        From where to where along each of the axes. Unless told they are those of the path, and a
        quarter of that on either side.
    coordinates : two ints
        Which coordinates the axes are of.
    at : array_like of shape (n,), optional
        The other coordinates, which are fixed: those of the last point of the path unless told,
        or 0 if there are but two.
    args : tuple, optional
        What f takes behind x.
    points : int
        How many points there are along each axis.
    arrows : bool
        Draw arrows against the gradient, in which f falls fastest, all of one length.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless told.

    Returns
    -------
    matplotlib.axes.Axes
        Each contour has as many of the points below it as any other has between it and the last
        one. The path is a line, with a ring where it began and a star where it ended.

    Raises
    ------
    TypeError
        If f does not return one number, or the path has another shape.
    ValueError
        If there are neither bounds nor a path, if coordinates are not two different ones of x, or
        if f is finite at none of the points.
    """
    if not isinstance(points, (int, np.integer)) or points < 2:
        raise ValueError(f"points is a whole number, 2 or more, not {points!r}")
    way = _path_of(path)
    center = _center(at, way)
    i, j = (_axis(k, center.size) for k in coordinates)
    if i == j:
        raise ValueError(f"coordinates are two different ones, not {coordinates}")
    (left, right), (low, high) = _bounds(bounds, way, i, j)
    x, y = np.linspace(left, right, points), np.linspace(low, high, points)
    unflatten = getattr(getattr(path, "history", path), "unflatten", None)
    of_vector = f if unflatten is None else lambda x, *args: f(unflatten(x), *args)
    program = program_of(of_vector)
    values = _values(of_vector, program, _grid(center, i, j, x, y), args)
    if values.size != points * points:
        raise TypeError("contours are of a function that returns one number")
    ax = new_axes(ax)
    shown = np.ma.masked_invalid(values.reshape(points, points))
    levels = _levels(shown.compressed())
    _draw_levels(ax, x, y, shown, levels)
    if arrows:
        _draw_arrows(ax, program, args, center, (i, j), ((left, right), (low, high)))
    if len(way):
        _draw_path(ax, way[:, [i, j]])
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    ax.set_xlabel(f"x[{i}]")
    ax.set_ylabel(f"x[{j}]")
    return ax


def _values(
    f: Callable[..., Any], program: Program[..., Any], grid: FloatArray, args: tuple[Any, ...]
) -> FloatArray:
    """The values at all points, one by one where f takes plain numbers alone."""
    try:
        values = program.batch(grid, *args)
    except (TypeError, NotImplementedError):
        values = [f(x, *args) for x in grid]
    return np.asarray(values, dtype=np.float64)


def _path_of(path: Any) -> FloatArray:
    """The points of a path, shape (steps, n)."""
    found = getattr(path, "history", path)
    found = getattr(found, "path", getattr(found, "x", found))
    if found is None:
        return np.empty((0, 0))
    try:
        points = np.atleast_2d(np.asarray(found, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise TypeError(
            "a path is an array of shape (steps, n), a History or a result, not "
            f"{type(found).__name__}"
        ) from error
    if points.ndim != 2:
        raise TypeError(f"a path has the shape (steps, n), not {points.shape}")
    return points


def _center(at: Any, way: FloatArray) -> FloatArray:
    """A point of all coordinates, of which two will be replaced."""
    if at is None:
        return way[-1].copy() if len(way) else np.zeros(2)
    center = np.array(at, dtype=np.float64).ravel()
    if len(way) and center.size != way.shape[1]:
        raise ValueError(f"at has {center.size} coordinates, and the path {way.shape[1]}")
    return center


def _axis(k: int, n: int) -> int:
    if not -n <= k < n:
        raise ValueError(f"there is no coordinate {k} of {n}: give a path, or at=...")
    return k % n


def _bounds(given: Any, way: FloatArray, i: int, j: int) -> Bounds:
    if given is not None:
        try:
            (left, right), (low, high) = given
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"bounds are two pairs, (left, right) and (low, high), not {given!r}"
            ) from error
        if not (left < right and low < high):
            raise ValueError(f"bounds are two pairs, the lower one first, not {given!r}")
        return (float(left), float(right)), (float(low), float(high))
    points = way[np.isfinite(way).all(axis=1)] if len(way) else way
    if not len(points):
        raise ValueError("contours takes bounds, or a path of which to find them")
    found = []
    for k in (i, j):
        begin, end = points[:, k].min(), points[:, k].max()
        width = end - begin
        if width <= 1e-9 * max(abs(begin), abs(end)):
            width = 4.0 * max(1.0, abs(begin))
        found.append((float(begin - _MARGIN * width), float(end + _MARGIN * width)))
    return found[0], found[1]


def _grid(center: FloatArray, i: int, j: int, x: FloatArray, y: FloatArray) -> FloatArray:
    """Points of a grid, row by row, shape (len(y) * len(x), n)."""
    grid = np.tile(center, (len(y) * len(x), 1))
    grid[:, i] = np.tile(x, len(y))
    grid[:, j] = np.repeat(y, len(x))
    return grid


def _levels(values: FloatArray) -> FloatArray:
    """Levels that have equal shares of the values between them."""
    if not values.size:
        raise ValueError("f is finite at none of the points within the bounds")
    levels = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _LEVELS + 2)[1:-1]))
    if len(levels) < 2 or levels[0] == levels[-1]:  # almost all are equal
        level = float(levels[0])
        return np.array([level - 0.5 * max(1.0, abs(level)), level + 0.5 * max(1.0, abs(level))])
    return levels


def _draw_levels(ax: Any, x: FloatArray, y: FloatArray, values: Any, levels: FloatArray) -> None:
    """Contours, and between them colours in even steps, however far apart their values are."""
    from matplotlib.colors import BoundaryNorm

    colors = ramp(ax)
    even = {"cmap": colors, "norm": BoundaryNorm(levels, colors.N, extend="both")}
    ax.contourf(x, y, values, levels=levels, alpha=0.35, extend="both", **even)
    ax.contour(x, y, values, levels=levels, linewidths=0.8, **even)


def _draw_arrows(
    ax: Any,
    program: Program[..., Any],
    args: tuple[Any, ...],
    center: FloatArray,
    which: tuple[int, int],
    bounds: Bounds,
) -> None:
    """Arrows along the negative gradient, of one length on the screen."""
    sides: list[FloatArray] = []
    for begin, end in bounds:
        step = (end - begin) / _ARROWS
        sides.append(begin + step * np.linspace(0.5, _ARROWS - 0.5, _ARROWS))
    grid = _grid(center, *which, sides[0], sides[1])
    gradient = np.asarray(program.batch(grid, *args, what="grad"), dtype=np.float64)
    fall = -gradient[:, list(which)]
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = fall / np.linalg.norm(fall, axis=1)[:, None]
    known = np.isfinite(fall).all(axis=1)
    ax.quiver(
        *grid[known][:, list(which)].T,
        *fall[known].T,
        angles="xy",
        scale=1.6 * _ARROWS,
        width=0.0025,
        color="white" if is_dark(ax) else "black",
        alpha=0.6,
        zorder=2.5,
    )


def _draw_path(ax: Any, way: FloatArray) -> None:
    from matplotlib import patheffects

    dark = is_dark(ax)
    around = patheffects.withStroke(linewidth=3.5, foreground="black" if dark else "white")
    line = {"color": MARK[dark], "path_effects": [around]}
    style = {"marker": ".", "markersize": 4.0, "linewidth": 1.3, "zorder": 3}
    ax.plot(way[:, 0], way[:, 1], label="path", **line, **style)
    for point, marker, label in ((way[0], "o", "start"), (way[-1], "*", "end")):
        ring = {"linestyle": "none", "markeredgewidth": 1.5, "zorder": 4, "clip_on": False}
        fill = "none" if marker == "o" else MARK[dark]
        ax.plot(
            *point, marker=marker, markersize=10, markerfacecolor=fill, label=label, **line, **ring
        )
