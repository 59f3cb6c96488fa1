"""Arrays with what JAX's have beside NumPy's: `at`, `block_until_ready`; and what stands for some.

Arrays are NumPy's own, which programs know, and numbers with derivatives. Both types are lent the
members that JAX's arrays have, from the moment on at which this module is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, partialmethod
from types import SimpleNamespace
from typing import Any

import numpy as onp

from cadiff import numpy as np

from ...binding import Complex, Dual, Var, carries, map_leaves, put_in_types
from ...operations.replayed import Replayed

NUMBERS = (Var, Dual, Complex)
ARRAYS = (onp.ndarray, onp.generic, *NUMBERS, Replayed)


class _Of(type):
    """A class of instances that others have made, which `kinds` names."""

    kinds: tuple[type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.kinds)


class Array(metaclass=_Of):
    """Of which arrays are instances: NumPy's, and numbers that carry derivatives.

    NumPy's numbers, as sums of plain arrays are, are none: Matplotlib takes arrays of JAX apart,
    and never ends with numbers.
    """

    kinds = (onp.ndarray, *NUMBERS)


class Tracer(metaclass=_Of):
    """Of which numbers that carry derivatives, or that a program computes, are instances."""

    kinds = (*NUMBERS, Replayed)


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


def _in_bounds(shape: tuple[int, ...], key: Any) -> tuple[list[Any], Any]:
    """Indices by axis, the nearest ones that there are; and where those given are some."""
    parts = [*map(onp.asarray, key if isinstance(key, tuple) else (key,))]
    if any(part.dtype.kind not in "iu" for part in parts):
        raise NotImplementedError(
            "x.at[...] takes mode= with integers and arrays of them: leave it out, or clip indices"
        )
    sizes = shape[: len(parts)]
    inside = [(-n <= part) & (part < n) for part, n in zip(parts, sizes, strict=True)]
    nearest = [onp.clip(part, -n, n - 1) for part, n in zip(parts, sizes, strict=True)]
    return nearest, math.prod(inside[1:], start=inside[0])


class _Reference:
    """`x.at[key]`: the array with some elements replaced, which a method computes."""

    def __init__(self, x: Any, key: Any) -> None:
        self.x, self.key = x, key

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.x!r}, {self.key!r})"

    def get(self, *, mode: Any = None, fill_value: Any = None, **_: Any) -> Any:
        """The elements; with `mode="fill"`, `fill_value` or nan for those out of bounds."""
        if mode in (None, "promise_in_bounds"):
            return self.x[self.key]
        nearest, inside = _in_bounds(np.shape(self.x), self.key)
        found = self.x[tuple(nearest)]
        if mode == "clip":
            return found
        inside = inside.reshape(inside.shape + (1,) * (np.ndim(found) - inside.ndim))
        return np.where(inside, found, onp.nan if fill_value is None else fill_value)

    def _changed(
        self, compute: Callable[..., Any], value: Any = None, *, mode: Any = None, **_: Any
    ) -> Any:
        x, key = self.x, self.key
        if mode not in (None, "promise_in_bounds"):
            nearest, inside = _in_bounds(np.shape(x), key)
            key = tuple(nearest)
            if mode != "clip":
                key = tuple(part[inside] for part in onp.broadcast_arrays(*nearest))
                shape = (*inside.shape, *np.shape(x)[len(nearest) :])
                value = np.broadcast_to(value, shape)[inside]
        is_plain = not (carries(x) or carries(value))
        y = onp.array(x) if is_plain else np.array(x, copy=True)
        compute(y, key, value)
        return y if np.ndim(y) else y[()]

    def _by(self, ufunc: Any, value: Any, **how: Any) -> Any:
        return self._changed(partial(_combine, ufunc), value, **how)

    set = partialmethod(_changed, lambda y, key, value: y.__setitem__(key, value))
    add = partialmethod(_by, onp.add)
    subtract = partialmethod(_by, onp.subtract)
    multiply = mul = partialmethod(_by, onp.multiply)
    divide = partialmethod(_by, onp.divide)
    power = partialmethod(_by, onp.power)
    min = partialmethod(_by, onp.minimum)
    max = partialmethod(_by, onp.maximum)

    def apply(self, function: Callable[[Any], Any], **how: Any) -> Any:
        """The elements as a function of an array makes them."""
        return self._changed(lambda y, key, _: y.__setitem__(key, function(y[key])), **how)


def _combine(ufunc: Any, y: Any, key: Any, value: Any) -> None:
    """Of an element that an index names several times, with every value."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, list) or getattr(part, "ndim", 0) for part in parts):
        getattr(np, ufunc.__name__).at(y, key, value)
    else:
        y[key] = ufunc(y[key], value)


class _At:
    """`x.at`, of which `x.at[key]` is asked."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __getitem__(self, key: Any) -> _Reference:
        return _Reference(self.x, key)


class Device(SimpleNamespace):
    """A processor."""


CPU = Device(id=0, process_index=0, platform="cpu", device_kind="cpu")


def lend() -> None:
    """Have arrays, NumPy's own and numbers with derivatives, have members of JAX's."""
    members = {"block_until_ready": _itself, "devices": lambda x: [CPU]}
    put_in_types(ARRAYS, {"at": property(_At), **members})


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


def struct_of(x: Any) -> ShapeDtypeStruct:
    """What an array is like."""
    return ShapeDtypeStruct(np.shape(x), np.result_type(x))
