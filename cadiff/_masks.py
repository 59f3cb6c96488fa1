"""Masks: what comparisons of arrays give while a function is recorded for replays.

A mask is used like the array of bools that it stands for. It also knows the numbers, 1 or 0, that
a replay will compute in its place. As long as it only chooses between numbers, as in
`where(x > 0, a, b)` or `(x > 0) * a`, nothing depends on how the comparison came out, and a
replay chooses anew. Whoever reads it, by an index, a conversion, or a function that looks at
bools, has based something on it: from then on its elements are guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from . import _core, _table
from ._core import carries
from ._guards import NOT_EQUAL

__all__ = ["Mask"]

Bools = NDArray[np.bool_]


class _Memory:
    """What masks share that are views of one array of bools."""

    def __init__(self, first: Mask) -> None:
        self.first = first
        self.has_views = False
        self.is_known = False  # to others, who may write into it


class Mask(NDArrayOperatorsMixin):
    """Bools that a replay computes anew, unless they are read.

    Parameters
    ----------
    bools : ndarray of bool
    outcomes : Var
        An array of the same shape: 1 for True, 0 for False.
    serial : int
        Which recording it belongs to.
    equality : bool
        Whether two numbers were asked if they are equal.
    """

    __hash__ = None  # type: ignore[assignment]

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For `isinstance`: what takes one for an array finds that it is used like one."""
        return np.ndarray

    def __init__(
        self,
        bools: Bools,
        outcomes: Any,
        serial: int,
        equality: bool,
        memory: _Memory | None = None,
    ) -> None:
        self._bools = bools
        self._outcomes = outcomes
        self._serial = serial
        self._equality = equality
        self._memory = _Memory(self) if memory is None else memory

    # --- what it stands for

    @property
    def values(self) -> Bools:
        """The bools; from now on all that share their memory are guards, and nothing but bools."""
        if not self._memory.is_known:
            first = self._memory.first
            _core.note_outcomes(first._outcomes, first._serial, first._equality)
            self._memory.is_known = True
        return self._bools

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but bools, of this recording at least."""
        return self._memory.is_known or not _core.notes_guards(self._outcomes, self._serial)

    @property
    def number(self) -> Any:
        """What is computed with: 1 and 0, as a Var, unless it is plain."""
        return self.values if self.is_plain else self._outcomes

    def _viewed(self, look: Callable[[Any], Any]) -> Mask:
        """Another view: `look` is applied to bools and outcomes."""
        self._memory.has_views = True
        bools, outcomes = look(self._bools), look(self._outcomes)
        return Mask(bools, outcomes, self._serial, self._equality, self._memory)

    # --- as an array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._bools.shape

    @property
    def ndim(self) -> int:
        return self._bools.ndim

    @property
    def size(self) -> int:
        return self._bools.size

    @property
    def dtype(self) -> np.dtype[np.bool_]:
        return self._bools.dtype

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        return self.values.T if self.is_plain else self._viewed(lambda x: x.T)

    def __getattr__(self, name: str) -> Any:
        """All that an array has besides, which reads the bools."""
        if name.startswith("_"):
            raise AttributeError(f"a mask has no attribute {name!r}")
        return getattr(self.values, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtype is None or np.dtype(dtype) == bool:
            return self.values.copy() if copy else self.values
        return self.values.astype(dtype)

    def __len__(self) -> int:
        return len(self._bools)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return item in self.values

    def __repr__(self) -> str:
        return repr(self.values)

    def __str__(self) -> str:
        return str(self.values)

    def __format__(self, spec: str) -> str:
        return format(self.values, spec)

    def __reduce__(self) -> Any:
        return np.array, (self.values,)

    def copy(self, order: Any = "C") -> Any:
        """The same, of its own."""
        if self.is_plain:
            return self.values.copy(order)
        return Mask(self._bools.copy(), self._outcomes, self._serial, self._equality)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """As of an array."""
        if kwargs or self.is_plain:
            return self.values.reshape(*shape, **kwargs)
        return self._viewed(lambda x: x.reshape(*shape))

    def __getitem__(self, key: Any) -> Any:
        if self.is_plain or not _is_basic(key):
            return self.values[key]
        if isinstance(self._bools[key], np.bool_):
            return np.bool_(_core.compare(self._outcomes[key], 0.0, NOT_EQUAL, self._equality))
        return self._viewed(lambda x: x[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[key] = value

    def blended(self, target: Any, value: Any) -> Any:
        """What an array is after `target[mask] = value`, where a replay can choose: else None."""
        if isinstance(value, Mask):
            value = value.number
        is_number = carries(value) or isinstance(value, (int, float, np.number, np.bool_))
        if self.is_plain or self.shape != target.shape or not is_number or _core.ndim(value):
            return None
        return _table.where(self._outcomes, value, target)

    def _becomes(self, result: Any) -> Mask:
        """After an operation in place: all who know this mask find what is new in it."""
        if isinstance(result, Mask) and result.shape == self.shape and not self._memory.has_views:
            self._bools, self._outcomes = result._bools, result._outcomes
            self._equality = result._equality
        else:
            self[...] = result
        return self

    def __iand__(self, other: Any) -> Mask:
        return self._becomes(self & other)

    def __ior__(self, other: Any) -> Mask:
        return self._becomes(self | other)

    def __ixor__(self, other: Any) -> Mask:
        return self._becomes(self ^ other)

    # --- questions

    def any(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Whether one is True: one guard, not one for each."""
        if axis is not None or args or kwargs or self.is_plain or self.size == 0:
            return self.values.any(axis, *args, **kwargs)
        _core.compare(self._outcomes.sum(), 0.0, NOT_EQUAL, self._equality)
        return self._bools.any()

    def all(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Whether all are True: one guard, not one for each."""
        if axis is not None or args or kwargs or self.is_plain or self.size == 0:
            return self.values.all(axis, *args, **kwargs)
        return ~_NOT(self).any()

    # --- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            if ufunc in _LOGICAL and all(map(_is_logical, inputs)):
                return _LOGICAL[ufunc](*inputs)
            if any(map(carries, inputs)):
                return ufunc(*_replaced(inputs, "number"))
        return getattr(ufunc, method)(*_replaced(inputs), **_replaced(kwargs))

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if function in (np.any, np.all) and len(args) == 1 and not kwargs:
            return self.any() if function is np.any else self.all()
        if function in (np.where, np.select) and carries((args, kwargs)):
            return function(*_replaced(args, "number"), **_replaced(kwargs, "number"))
        return function(*_replaced(args), **_replaced(kwargs))


def _replaced(tree: Any, by: str = "values") -> Any:
    """A container with something else in the place of masks."""
    if isinstance(tree, Mask):
        return getattr(tree, by)
    if isinstance(tree, dict):
        return {key: _replaced(item, by) for key, item in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)([_replaced(item, by) for item in tree])
    return tree


def _is_basic(key: Any) -> bool:
    """Whether an index leads to a view."""
    parts = key if isinstance(key, tuple) else (key,)
    basic = (slice, int, np.integer, type(None), type(Ellipsis))
    return all(isinstance(part, basic) and not isinstance(part, bool) for part in parts)


# --- logic ---------------------------------------------------------------------------------------


def _is_logical(x: Any) -> bool:
    if isinstance(x, Mask):
        return not x.is_plain
    return isinstance(x, (bool, np.bool_)) or (type(x) is np.ndarray and x.dtype == bool)


def _combined(bools: Any, outcomes: Callable[..., Any]) -> Callable[..., Mask]:
    def combine(*inputs: Any) -> Mask:
        masks = [x for x in inputs if isinstance(x, Mask)]
        plain = [x._bools if isinstance(x, Mask) else x for x in inputs]
        numbers = [x._outcomes if isinstance(x, Mask) else np.asarray(x, float) for x in inputs]
        equality = any(mask._equality for mask in masks)
        return Mask(bools(*plain), outcomes(*numbers), masks[0]._serial, equality)

    return combine


_NOT = _combined(np.logical_not, lambda x: 1.0 - x)
_AND = _combined(np.logical_and, lambda x, y: x * y)
_OR = _combined(np.logical_or, lambda x, y: x + y - x * y)
_XOR = _combined(np.logical_xor, lambda x, y: abs(x - y))

_LOGICAL: dict[Any, Callable[..., Mask]] = {
    np.logical_not: _NOT,
    np.logical_and: _AND,
    np.logical_or: _OR,
    np.logical_xor: _XOR,
    np.invert: _NOT,
    np.bitwise_and: _AND,
    np.bitwise_or: _OR,
    np.bitwise_xor: _XOR,
}

_core.register_masks(Mask)
