"""Bounds and scales: as SciPy takes them, or in the containers that the parameters stand in.

A part for each leaf is found by walking the parameters and what was given side by side. What
SciPy takes for a vector goes on unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds

from ..binding import opened
from ._vectors import ArgumentError, FloatArray, Parameters, is_vector

NO_NUMBER = (bool, np.bool_)
OPTIONS_OF_VECTORS = {"diag": 1.0, "scale": None, "offset": None}  # and what is not named there


class Box(NamedTuple):
    """Bounds of a vector, and whether they hold on the way."""

    lower: FloatArray
    upper: FloatArray
    keep_feasible: NDArray[np.bool_]


# --- in place of SciPy's arguments -------------------------------------------------------------


def put_bounds(kwargs: dict[str, Any], parameters: Parameters, *, by_sides: bool = False) -> None:
    """Put bounds as SciPy takes them in the place of those that were given.

    These are pairs, one for each number, or with `by_sides` the pair (lower, upper).
    """
    bounds = kwargs.get("bounds")
    if bounds is None:
        return
    if by_sides:
        check_sides(bounds)
    if isinstance(bounds, Iterator):  # which can be gone through but once
        bounds = kwargs["bounds"] = list(bounds)
    if isinstance(bounds, Bounds):
        is_plain = _are_sides([bounds.lb, bounds.ub], parameters)
    else:
        is_plain = (_are_sides if by_sides else _are_pairs)(bounds, parameters)
    if not is_plain and parameters.unflatten is None:
        parameters.check_bounds(bounds, by_sides)
    elif not is_plain:
        kwargs["bounds"] = _in_containers(bounds, parameters, by_sides)


def _in_containers(bounds: Any, parameters: Parameters, by_sides: bool) -> Bounds:
    try:
        box = _box(parameters.tree, bounds, "bounds")
    except (TypeError, ValueError):
        are_vectors = isinstance(bounds, (tuple, list)) and all(map(is_vector, bounds))
        if _are_plain(bounds) or (by_sides and are_vectors):
            parameters.check_bounds(bounds, by_sides)  # says what is wrong
        raise
    keeps = box.keep_feasible if box.keep_feasible.any() else False
    return Bounds(box.lower, box.upper, keeps)


def check_start(parameters: Parameters, bounds: Any) -> None:
    """Raise where numbers to begin with are not within bounds, as SciPy does, and name one."""
    sides = (bounds.lb, bounds.ub) if isinstance(bounds, Bounds) else bounds
    if sides is None:
        return
    try:
        lower, upper = (np.broadcast_to(part, parameters.vector.shape) for part in sides)
        outside = (parameters.vector < lower) | (parameters.vector > upper)
    except (TypeError, ValueError):  # SciPy says what is wrong
        return
    if outside.any():
        k = int(np.argmax(outside))
        raise ValueError(
            f"{parameters.start} is outside of the bounds: it should have "
            f"{_paths(parameters.tree, parameters.start)[k]} in [{lower[k]}, {upper[k]}], not "
            f"{parameters.vector[k]}"
        )


def _paths(node: Any, path: str) -> list[str]:
    """Where each number of a node stands."""
    if np.ndim(node) == 0 and _is_leaf(node):
        return [path]
    return [name for part, _, at in _parts(node, node, path) for name in _paths(part, at)]


def check_sides(bounds: Any) -> None:
    """Raise where pairs of numbers are given, instead of the lower and the upper bounds."""
    if not isinstance(bounds, (list, tuple, np.ndarray)) or not all(map(_is_pair, bounds)):
        return
    if len(bounds) != 2 or not all(
        None in pair or pair[0] < pair[1] for pair in zip(*bounds, strict=True)
    ):
        sides = tuple(zip(*bounds, strict=True))
        raise ValueError(
            "bounds are two sides, (lower, upper), each a number or one for each parameter, not "
            f"pairs: write bounds={sides!r} for {bounds!r}"
        )


def put_scale(
    options: dict[str, Any], name: str, parameters: Parameters, missing: float | None = 1.0
) -> None:
    """Put a vector in the place of a scale in containers; what names leave out is `missing`."""
    scale = options.get(name)
    if scale is None or isinstance(scale, str):
        return
    if parameters.unflatten is None or _is_side(scale, parameters):
        parameters.check(scale, name)
    else:
        options[name] = side(parameters.tree, scale, name, missing)


def put_scales(options: Any, parameters: Parameters) -> Any:
    """The options of a method, with vectors in the place of scales in containers."""
    if not isinstance(options, dict) or parameters.unflatten is None:
        return options
    options = dict(options)
    for name, missing in OPTIONS_OF_VECTORS.items():
        put_scale(options, name, parameters, missing)
    return options


def of_bounds(bounds: Any, name: str) -> Parameters:
    """The parameters of a search between bounds: a vector, or the containers of the bounds."""
    try:
        tree = None if _are_plain(bounds) else _tree_of(bounds, "bounds")
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name} takes bounds as pairs (lower, upper), one for each number, as "
            f"Bounds(lower, upper), or as a container of these, not {bounds!r}: {error}"
        ) from error
    if isinstance(bounds, Bounds):
        lower = np.broadcast_arrays(bounds.lb, bounds.ub)[0]
    elif tree is None:
        lower = np.array([-np.inf if low is None else low for low, _ in bounds], dtype=np.float64)
    else:
        lower = _box(tree, bounds, "bounds").lower
    start = np.where(np.isfinite(lower), lower, 0.0).astype(np.float64)
    parameters = Parameters(start if tree is None else tree, name)
    parameters.vector = start
    return parameters


def sides_of(bounds: Any, n: int) -> tuple[FloatArray, FloatArray]:
    """The lower and the upper bounds of a vector; `bounds` are SciPy's, pairs or an object."""
    lower: Any = -np.inf
    upper: Any = np.inf
    if isinstance(bounds, Bounds):
        lower, upper = bounds.lb, bounds.ub
    elif bounds is not None:
        pairs = [tuple(pair) for pair in bounds]
        lower = _numbers([low for low, _ in pairs], "bounds", -np.inf)
        upper = _numbers([high for _, high in pairs], "bounds", np.inf)
    return (
        np.array(np.broadcast_to(np.asarray(lower, dtype=np.float64), (n,))),
        np.array(np.broadcast_to(np.asarray(upper, dtype=np.float64), (n,))),
    )


# --- what SciPy takes --------------------------------------------------------------------------


def _is_number(item: Any) -> bool:
    if isinstance(item, np.ndarray):
        return item.ndim == 0 and item.dtype.kind in "iuf"
    return isinstance(item, (Real, np.generic)) and not isinstance(item, NO_NUMBER)


def _is_pair(item: Any) -> bool:
    """Whether it is one pair of numbers, each of which may be missing."""
    if isinstance(item, np.ndarray):
        return item.shape == (2,) and all(part is None or _is_number(part) for part in item)
    is_sequence = isinstance(item, (tuple, list)) and len(item) == 2
    return is_sequence and all(part is None or _is_number(part) for part in item)


def _are_pairs(bounds: Any, parameters: Parameters) -> bool:
    """Whether bounds are pairs of numbers, one for each of the vector."""
    try:
        return len(bounds) == len(parameters.vector) and all(map(_is_pair, bounds))
    except TypeError:
        return False


def _is_side(item: Any, parameters: Parameters) -> bool:
    """Whether it is a number, or one for each of the vector."""
    try:
        numbers = np.asarray(item)
    except ValueError:  # it has parts of several shapes
        return False
    n = len(parameters.vector)
    return numbers.dtype.kind in "biuf" and numbers.ndim < 2 and numbers.size in (1, n)


def _are_sides(bounds: Any, parameters: Parameters) -> bool:
    try:
        return len(bounds) == 2 and all(_is_side(part, parameters) for part in bounds)
    except TypeError:
        return False


def _are_plain(bounds: Any) -> bool:
    """Whether bounds are those of a vector, of however many numbers."""
    if isinstance(bounds, Bounds):
        return not any(_is_wrapped(part) for part in (bounds.lb, bounds.ub))
    return isinstance(bounds, (Sequence, np.ndarray)) and all(map(_is_pair, bounds))


# --- in containers -----------------------------------------------------------------------------


def _is_wrapped(part: Any) -> bool:
    """Whether it is a container that `Bounds` has made an array of."""
    return isinstance(part, np.ndarray) and part.dtype == object and part.size == 1


def _unwrapped(part: Any) -> Any:
    """What `Bounds` has made an array of: a container or a number."""
    return part.item() if isinstance(part, np.ndarray) and part.size == 1 else part


def _is_leaf(node: Any) -> bool:
    """Whether it is a number, an array, or a list of numbers, which is bounded as an array is."""
    apart = opened(node)
    return apart is None or (apart[0].is_sequence and len(apart[1]) > 0 and is_vector(node))


def _size(node: Any) -> int:
    apart = None if _is_leaf(node) else opened(node)
    return int(np.size(node)) if apart is None else sum(map(_size, apart[1]))


def _opened(node: Any) -> tuple[Any, tuple[Any, ...]]:
    """A container and its parts; of an array, a list of its rows."""
    if isinstance(node, np.ndarray) and node.ndim:
        node = list(node)
    apart: tuple[Any, tuple[Any, ...]] | None = opened(node)
    return (None, ()) if apart is None else apart


def _parts(node: Any, item: Any, path: str) -> list[tuple[Any, Any, str]]:
    """Each part of a container, what is given for it, None if nothing is, and its path."""
    container, children = _opened(node)
    if container is None:
        raise ValueError(f"{path} should be a pair (lower, upper) of numbers, not {item!r}")
    paths = [path + container.step(k) for k in range(len(children))]
    if isinstance(item, dict) and container.names is not None:
        unknown = [name for name in item if name not in container.names]
        if unknown:
            raise ValueError(
                f"{path} has {unknown[0]!r}, but x0 is {container.describe(len(children))} there"
            )
        parts = tuple(item.get(name) for name in container.names)
    else:
        other, parts = _opened(item)
        same = other is not None and len(parts) == len(children)
        if same and not (container.is_sequence and other.is_sequence):
            same = other.type is container.type
        if not same:
            raise ValueError(
                f"{path} should be {container.describe(len(children))}, as x0 is there, or one "
                f"part for all of it, not {item!r}"
            )
    return list(zip(children, parts, paths, strict=True))


def side(node: Any, item: Any, path: str, missing: float | None) -> FloatArray:
    """A vector of numbers given in the containers of a node, or one number for all of them.

    What is None or left out is `missing`, and an error if that is None itself.
    """
    item = _unwrapped(item)
    if _is_number(item) or (item is None and missing is not None):
        return np.full(_size(node), missing if item is None else float(item))
    if item is None:
        raise ValueError(f"{path} is missing: there should be a number for each of x0")
    if _is_leaf(node):
        numbers = _numbers(item, path, missing)
        try:
            return np.array(np.broadcast_to(numbers, np.shape(node))).ravel()
        except ValueError as error:
            raise ValueError(
                f"{path} has the shape {numbers.shape}, but x0 has {np.shape(node)} there"
            ) from error
    parts = [side(child, part, at, missing) for child, part, at in _parts(node, item, path)]
    return np.concatenate([np.empty(0), *parts])


def _numbers(part: Any, path: str, missing: float | None) -> FloatArray:
    """An array of numbers; None among them is `missing`."""
    try:
        items = np.asarray(part)
        if items.dtype == object and missing is not None:
            is_missing = np.array([item is None for item in items.flat]).reshape(items.shape)
            items = np.where(is_missing, missing, items)
        if items.dtype.kind not in "biufO":
            raise TypeError(f"an array of {items.dtype}")
        return items.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{path} consists of numbers, not of {part!r}") from error


def _box(node: Any, item: Any, path: str) -> Box:
    """Bounds of all numbers of a node."""
    item = _unwrapped(item)
    if item is None:
        item = (None, None)
    if isinstance(item, Bounds):
        return _of_sides(node, item.lb, item.ub, path, item.keep_feasible)
    if _is_pair(item):
        return _of_sides(node, item[0], item[1], path)
    is_two = isinstance(item, (tuple, list)) and len(item) == 2
    has_arrays = is_two and any(isinstance(part, (np.ndarray, list)) for part in item)
    if has_arrays and _is_leaf(node) and isinstance(item, tuple):
        return _of_sides(node, item[0], item[1], path)
    if isinstance(item, np.ndarray) and item.shape == (*np.shape(node), 2):
        return _of_sides(node, item[..., 0], item[..., 1], path)
    try:
        boxes = [_box(child, part, at) for child, part, at in _parts(node, item, path)]
    except (TypeError, ValueError):
        if not is_two:
            raise
        try:
            return _of_sides(node, item[0], item[1], path)
        except (TypeError, ValueError):
            pass
        raise
    empty = Box(np.empty(0), np.empty(0), np.empty(0, dtype=bool))
    return Box(*map(np.concatenate, zip(empty, *boxes, strict=True)))


def _of_sides(node: Any, lower: Any, upper: Any, path: str, keep_feasible: Any = False) -> Box:
    low, high = side(node, lower, path, -np.inf), side(node, upper, path, np.inf)
    if np.any(low > high):
        k = int(np.argmax(low > high))
        raise ValueError(f"{path} has a lower bound {low[k]} above the upper bound {high[k]}")
    return Box(low, high, np.full(len(low), keep_feasible, dtype=bool))


def _are_arrays(parts: Any) -> bool:
    """Whether they are arrays, one of which may be a number for all elements of the other."""
    arrays = [isinstance(x, np.ndarray) for x in parts]
    return any(arrays) and all(map(lambda x, is_array: is_array or _is_number(x), parts, arrays))


def _tree_of(bounds: Any, path: str) -> Any:
    """Parameters, all 0, of the structure that bounds have."""
    if isinstance(bounds, Bounds):
        shape = np.broadcast_shapes(np.shape(bounds.lb), np.shape(bounds.ub))
        return 0.0 if shape == (1,) else np.zeros(shape)
    if _is_pair(bounds):
        return 0.0
    if isinstance(bounds, np.ndarray) and bounds.ndim > 1 and bounds.shape[-1] == 2:
        return np.zeros(bounds.shape[:-1])
    if isinstance(bounds, tuple) and len(bounds) == 2 and _are_arrays(bounds):
        return np.zeros(np.broadcast_shapes(*map(np.shape, bounds)))
    opened_bounds = None if bounds is None else opened(bounds)
    if opened_bounds is None:
        raise TypeError(f"{path} is {bounds!r}, where a search needs a pair of finite numbers")
    container, parts = opened_bounds
    return container.make([_tree_of(x, path + container.step(k)) for k, x in enumerate(parts)])
