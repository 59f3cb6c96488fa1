"""Arrays with what JAX's have beside NumPy's: `at`, `block_until_ready`; and what stands for some.

Arrays are NumPy's own, which programs know, and numbers with derivatives. Both types are lent the
members that JAX's arrays have, from the moment on at which this module is imported.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as onp

from cadiff import numpy as np

from ...binding import Complex, Dual, Var, carries, compare_as_numpy, map_leaves, put_in_types
from ...operations.replayed import Replayed
from ...scipy._arrays import At

NUMBERS = (Var, Dual, Complex)
ARRAYS = (onp.ndarray, onp.generic, *NUMBERS, Replayed)


class Array(ABC):  # noqa: B024 - of which others are registered
    """Of which arrays are instances: NumPy's, and numbers that carry derivatives.

    NumPy's numbers, as sums of plain arrays are, are none: Matplotlib takes arrays of JAX apart,
    and never ends with numbers.
    """


class Tracer(ABC):  # noqa: B024
    """Of which numbers that carry derivatives, or that a program computes, are instances."""


for _kind in NUMBERS:
    Tracer.register(Array.register(_kind))
Array.register(onp.ndarray)
Tracer.register(Replayed)


def is_number(x: Any) -> bool:
    """Whether something is an array, or a number of Python's."""
    return isinstance(x, (*ARRAYS, int, float, complex))


_OF_NUMPY: dict[type, Any] = {float: onp.float64, int: onp.int64}


def given_back(tree: Any) -> Any:
    """Numbers and containers of them as JAX has them: NumPy's for Python's."""
    kind = type(tree)
    if kind is onp.ndarray or kind in NUMBERS:
        return tree
    if kind in _OF_NUMPY:
        return _OF_NUMPY[kind](tree)
    return map_leaves(lambda x: _OF_NUMPY.get(type(x), _itself)(x), tree)


def _itself(x: Any, *_: Any, **__: Any) -> Any:
    return x


# --- updates -------------------------------------------------------------------------------------


def _places(shape: tuple[int, ...], key: Any, mode: Any) -> Any:
    """Where an index leads in the flat array: to -1 if out of bounds, or, to "clip", nearby."""
    parts: list[Any] = [*key] if isinstance(key, tuple) else [key]
    arrays = [onp.asarray(part) for part in parts]  # of objects, for slices and their like
    axes = [
        x.ndim if x.dtype == bool else part is not None
        for part, x in zip(parts, arrays, strict=True)
    ]
    beyond, is_behind_dots = onp.zeros((len(shape), 2), int), False
    for k, (part, index) in enumerate(zip(parts, arrays, strict=True)):
        is_behind_dots |= part is Ellipsis
        if index.dtype.kind in "iu":
            axis = len(shape) - sum(axes[k:]) if is_behind_dots else sum(axes[:k])
            n = shape[axis]
            index = onp.where(index < 0, index + n, index)
            parts[k] = onp.clip(index, 0, n - 1)
            if mode != "clip":
                parts[k], beyond[axis, 1] = onp.where(parts[k] == index, index, n), 1
    places = onp.arange(math.prod(shape)).reshape(shape)
    return onp.pad(places, beyond, constant_values=-1)[tuple(parts)]


class _Reference(At):
    """`x.at[key]`: a copy of the array with some elements changed, which a method computes."""

    def get(self, *, mode: Any = None, fill_value: Any = None, **_: Any) -> Any:
        """The elements; with `mode="fill"`, `fill_value`, nan or an extreme int out of bounds."""
        if mode in _TRUSTING:
            return self._x[self._key]
        places = _places(np.shape(self._x), self._key, mode)
        found, dtype = np.reshape(self._x, -1)[places], np.result_type(self._x)
        if fill_value is None:
            limit = {"i": "min", "u": "max"}.get(dtype.kind)
            fill_value = getattr(onp.iinfo(dtype), limit) if limit else onp.nan
        return found if mode == "clip" else np.where(places >= 0, found, fill_value)

    def _changed(
        self, compute: Any, y: Any, copy: Any = None, *, mode: Any = None, **_: Any
    ) -> Any:
        key, shape = self._key, np.shape(self._x)
        is_plain = not (carries(self._x) or carries(y))
        x = onp.array(self._x) if is_plain else np.array(self._x, copy=True)
        if mode not in _TRUSTING:
            places = _places(shape, key, mode)
            key = places[places >= 0]
            y = np.broadcast_to(y, places.shape)[places >= 0]
            x = np.reshape(x, -1)
        parts = key if isinstance(key, tuple) else (key,)
        is_list = any(
            isinstance(part, (list, Replayed)) or getattr(part, "ndim", 0) for part in parts
        )
        if is_list and isinstance(compute, onp.ufunc):  # of elements named twice with every y
            getattr(np, compute.__name__).at(x, key, y)
        else:
            x[key] = y if compute is None else compute(x[key], y)
        return np.reshape(x, shape)[()]

    def apply(self, function: Callable[[Any], Any], **how: Any) -> Any:
        """The elements as a function of an array makes them."""
        return self._changed(lambda x, _: function(x), None, **how)

    mul = At.multiply


_TRUSTING = (None, "promise_in_bounds")


class Device(SimpleNamespace):
    """A processor."""


CPU = Device(id=0, process_index=0, platform="cpu", device_kind="cpu")


def lend() -> None:
    """Have arrays, NumPy's own and numbers with derivatives, have members of JAX's."""
    members = {"block_until_ready": _itself, "devices": lambda x: [CPU]}
    compare_as_numpy(True)  # `~(x > 0)` of one number, too
    put_in_types(ARRAYS, {"at": property(_Reference), **members})


lend()

# --- what stands for an array --------------------------------------------------------------------


@dataclass(frozen=True)
class ShapeDtypeStruct:
    """Shape and dtype of an array."""

    shape: tuple[int, ...]
    dtype: Any
    sharding: Any = None
    weak_type: bool = False

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))


def as_numpy(x: Any) -> Any:
    """An argument as NumPy has it: some array for a shape and a dtype."""
    return onp.empty(x.shape, x.dtype) if isinstance(x, ShapeDtypeStruct) else x


def struct_of(x: Any) -> ShapeDtypeStruct:
    """What an array is like."""
    return ShapeDtypeStruct(np.shape(x), np.result_type(x))
