"""Arrays: what JAX's have beside NumPy's is lent to these and to numbers with derivatives."""

import contextlib
import dis
import math
import sys
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as onp

from cadiff import numpy as np

from ...binding import Complex, Dual, Var, bind_anew, carries, map_leaves, put_in_types
from ...operations.replayed import Replayed
from ...scipy._arrays import At
from ..places import limits, places_of

NUMBERS = (Var, Dual, Complex)
ARRAYS = (onp.ndarray, onp.generic, *NUMBERS, Replayed)


class Array(ABC):  # noqa: B024 - of which others are registered
    """Of which NumPy's arrays, and numbers that carry derivatives, are instances."""


class Tracer(ABC):  # noqa: B024
    """Of which numbers that carry derivatives, or that a program computes, are instances."""


for _kind in NUMBERS:
    Tracer.register(Array.register(_kind))
Array.register(onp.ndarray)  # but no numbers, which Matplotlib would take apart without end
Tracer.register(Replayed)

_TRUSTING = (None, "promise_in_bounds")  # where indices are within bounds, mostly
_OF_NUMPY = {bool: onp.bool_, float: onp.float64, int: onp.int64}


def given_back(tree: Any) -> Any:
    """Numbers and containers of them as JAX has them: NumPy's for Python's."""
    kind = type(tree)
    if kind is onp.ndarray or kind in NUMBERS:
        return tree
    return map_leaves(lambda x: _OF_NUMPY[type(x)](x) if type(x) in _OF_NUMPY else x, tree)


class _Reference(At):
    """`x.at[key]`: a copy of the array with some elements changed, which a method computes."""

    def get(self, *, mode: Any = None, fill_value: Any = None, **_: Any) -> Any:
        """The elements; out of bounds `fill_value`, nan or an extreme int, or those nearby."""
        if mode in _TRUSTING:
            with contextlib.suppress(IndexError):
                return self._x[self._key]
            mode = "clip"
        places, dtype = places_of(np.shape(self._x), self._key, mode), np.result_type(self._x)
        if fill_value is None:
            fill_value = limits(dtype)[dtype.kind == "u"] if dtype.kind in "iu" else onp.nan
        return self._and_beyond(fill_value)[places]

    def _and_beyond(self, other: Any) -> Any:
        """All elements in a row, and another one where indices out of bounds lead to."""
        flat = np.reshape(self._x, -1)
        return np.concatenate([flat, np.full(1, other, np.result_type(flat))])

    def _changed(self, compute: Any, y: Any, copy: Any = None, mode: Any = None, **_: Any) -> Any:
        if mode in _TRUSTING:
            with contextlib.suppress(IndexError):
                return self._with(self._x, self._key, compute, y)[()]
        shape = np.shape(self._x)
        changed = self._with(self._and_beyond(0), places_of(shape, self._key, mode), compute, y)
        return np.reshape(changed[:-1], shape)[()]

    @staticmethod
    def _with(x: Any, key: Any, compute: Any, y: Any) -> Any:
        is_plain = not (carries(x) or carries(y))
        x = onp.array(x) if is_plain else np.array(x, copy=True)
        parts: Any = key if isinstance(key, tuple) else (key,)
        is_list = any(isinstance(x, (list, Replayed)) or getattr(x, "ndim", 0) for x in parts)
        if is_list and isinstance(compute, onp.ufunc):  # of elements named twice with every y
            getattr(np, compute.__name__).at(x, key, y)
        else:
            x[key] = y if compute is None else compute(x[key], y)
        return x

    def apply(self, function: Callable[[Any], Any], *, mode: Any = None, **_: Any) -> Any:
        """The elements as a function of an array makes them, as often as the key names them."""
        if isinstance(self._key, (int, slice)):
            return self._changed(lambda x, _: function(x), None, mode=mode)
        places, x = places_of(np.shape(self._x), self._key, mode), np.reshape(self._x, -1)
        times = onp.bincount(onp.ravel(places), minlength=x.size)[: x.size]
        for turn in range(times.max(initial=0)):
            x = x.at[times > turn].set(function(x[times > turn]))
        return np.reshape(x, np.shape(self._x))[()]

    mul = At.multiply


def segments(update: str, empty: Callable[[Any], Any]) -> Callable[..., Any]:
    """A reduction of the rows of each segment, from `empty(dtype)`, by a method of `at`."""

    def reduced(data: Any, segment_ids: Any, num_segments: Any = None, *_: Any, **__: Any) -> Any:
        ids, dtype = onp.asarray(segment_ids), np.result_type(data)
        n = int(ids.max(initial=-1)) + 1 if num_segments is None else num_segments
        first = np.full((n, *np.shape(data)[1:]), empty(dtype), dtype)
        return getattr(first.at[onp.where(ids < 0, n, ids)], update)(data, mode="drop")

    return reduced


class Device(SimpleNamespace):
    """A processor."""


CPU = Device(id=0, process_index=0, platform="cpu", device_kind="cpu")


_sort_in_place = onp.ndarray.sort
_POP_TOP = dis.opmap["POP_TOP"]


def _sort(x: Any, *how: Any, **named: Any) -> Any:
    """Sorted in place; where modules that have JAX's names use what is returned, a sorted copy."""
    frame = sys._getframe(1)
    names, code = frame.f_globals, frame.f_code.co_code[frame.f_lasti + 2 :: 2].lstrip(b"\0")
    is_of_jax = any(
        f"{getattr(names.get(k), '__name__', '')}.".startswith(_OWN) for k in ("jax", "jnp")
    )
    if is_of_jax and code[:1] != bytes([_POP_TOP]):
        return np.sort(x, *how, **named)
    return _sort_in_place(x, *how, **named)


_OWN = f"{__package__}."


def lend() -> None:
    """Have arrays, NumPy's own and numbers with derivatives, be as JAX's."""
    bind_anew(__package__.encode())
    put_in_types([onp.ndarray], {"sort": _sort})
    members = {"block_until_ready": lambda x: x, "devices": lambda x: [CPU]}
    put_in_types(ARRAYS, {"at": property(_Reference), **members})


lend()


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
    """An argument as NumPy has it: ones for a shape and a dtype, and no ranges for axes."""
    if isinstance(x, ShapeDtypeStruct):
        return onp.ones(x.shape, x.dtype)
    return tuple(x) if type(x) is range else x


def struct_of(x: Any) -> ShapeDtypeStruct:
    """What an array is like."""
    return ShapeDtypeStruct(np.shape(x), np.result_type(x))
