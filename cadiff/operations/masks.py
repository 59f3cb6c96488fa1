"""Masks: what comparisons of arrays give while a function is recorded for replays.

A mask is used like the array of bools that it stands for. It also knows the numbers, 1 or 0, that
a replay will compute in its place. As long as it only chooses between numbers, as in
`where(x > 0, a, b)` or `(x > 0) * a`, nothing depends on how the comparison came out, and a
replay chooses anew. What reads it, by an index, a conversion, or a function that looks at
bools, has based something on it: from then on its elements are guards.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .. import binding
from ..binding import carries
from . import table as _table
from .guards import NOT_EQUAL

__all__ = ["Mask", "is_number_mask", "replaced"]

Outcomes = tuple[Any, int, bool]  # a Var, the serial of its recording, whether it is an equality


EXACT = 2**53  # whole numbers below are floats


class _Memory:
    """What masks share that are views of one array."""

    def __init__(self, first: Mask) -> None:
        self.first = first
        self.has_views = False
        self.is_known = False  # to others, who may write into it
        self.sources: list[Outcomes] = []  # of floats, which a replay may round in another way

    def read(self) -> None:
        """Guard what is in it, or, of floats, what that is made of."""
        if not self.is_known:
            for outcomes in self.first.sources:
                binding.note_outcomes(*outcomes)
            self.is_known = True


class Mask(NDArrayOperatorsMixin):
    """Bools that a replay computes anew, unless they are read; or ints or floats made of such.

    Parameters
    ----------
    plain : ndarray or scalar of bool, int64 or float64
    outcomes : Var
        The same numbers: 1 for True, 0 for False.
    serial : int
        Which recording it belongs to.
    equality : bool
        Whether two numbers were asked if they are equal.
    """

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For `isinstance`: an array, or a single number of NumPy's, is used like one."""
        return type(self._plain)

    def __init__(
        self,
        plain: Any,
        outcomes: Any,
        serial: int,
        equality: bool,
        memory: _Memory | None = None,
    ) -> None:
        self._plain = plain
        self._outcomes = outcomes
        self._serial = serial
        self._equality = equality
        self._memory = _Memory(self) if memory is None else memory

    # --- what it stands for

    @property
    def sources(self) -> list[Outcomes]:
        """What decides about it."""
        return self._memory.sources or [(self._outcomes, self._serial, self._equality)]

    @property
    def values(self) -> Any:
        """As NumPy has it; from now on all that share their memory are guards, and plain."""
        self._memory.read()
        return self._plain

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but an array, of this recording at least."""
        return self._memory.is_known or not binding.notes_guards(self._outcomes, self._serial)

    @property
    def number(self) -> Any:
        """What is computed with: a Var, unless it is plain."""
        return self.values if self.is_plain else self._outcomes

    def _viewed(self, look: Callable[[Any], Any]) -> Mask:
        """Another view: `look` is applied to bools and outcomes."""
        self._memory.has_views = True
        plain, outcomes = look(self._plain), look(self._outcomes)
        return Mask(plain, outcomes, self._serial, self._equality, self._memory)

    # --- as an array

    @property
    def shape(self) -> Any:
        return self._plain.shape

    @property
    def ndim(self) -> Any:
        return self._plain.ndim

    @property
    def size(self) -> Any:
        return self._plain.size

    @property
    def dtype(self) -> Any:
        return self._plain.dtype

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        return self.values.T if self.is_plain else self._viewed(lambda x: x.T)

    def __getattr__(self, name: str) -> Any:
        """All that an array has besides, which reads the bools."""
        if name.startswith("_"):
            raise AttributeError(f"a mask has no attribute {name!r}")
        return getattr(self.values, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self._plain)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __index__(self) -> int:
        return operator.index(self.values)

    def __int__(self) -> int:
        return int(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.values, ndigits)

    def __trunc__(self) -> int:
        return math.trunc(float(self))

    def __hash__(self) -> int:
        return hash(self._plain if self.ndim else self.values)  # arrays have none

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
        """A copy, which assignments to the original do not change."""
        if self.is_plain:
            return self.values.copy(order)
        return _made_of([self], self._plain.copy(), self._outcomes)

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
        element = self._plain[key]
        if not isinstance(element, np.generic):
            return self._viewed(lambda x: x[key])
        if self.dtype == bool:
            return np.bool_(binding.compare(self._outcomes[key], 0.0, NOT_EQUAL, self._equality))
        return _made_of([self], element, self._outcomes[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[key] = value

    def blended(self, target: Any, value: Any) -> Any:
        """What an array is after `target[mask] = value`, where a replay can choose: else None."""
        if isinstance(value, Mask):
            value = value.number
        is_number = carries(value) or isinstance(value, (int, float, np.number, np.bool_))
        if (
            self.is_plain
            or self.dtype != bool
            or self.shape != target.shape
            or not is_number
            or binding.ndim(value)
        ):
            return None
        return _table.where(self._outcomes, value, target)

    def _becomes(self, result: Any) -> Mask:
        """After an operation in place: all who know this mask find what is new in it."""
        if isinstance(result, Mask) and result.shape == self.shape and not self._memory.has_views:
            self._plain, self._outcomes = result._plain, result._outcomes
            self._equality = result._equality
        else:
            self[...] = result
        return self

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, (str, bytes)):
            return self.values == other  # for which the ufunc has no loop
        return super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, (str, bytes)):
            return self.values != other
        return super().__ne__(other)

    def __mul__(self, other: Any) -> Any:
        return self._times(other, super().__mul__)

    def __rmul__(self, other: Any) -> Any:
        return self._times(other, super().__rmul__)

    def _times(self, other: Any, product: Callable[[Any], Any]) -> Any:
        """The product, or of a single int and a sequence of Python's that so many times."""
        if isinstance(other, (list, tuple, str, bytes)) and isinstance(self, np.integer):
            return other * operator.index(self)
        return product(other)

    def __iand__(self, other: Any) -> Mask:
        return self._becomes(self & other)

    def __ior__(self, other: Any) -> Mask:
        return self._becomes(self | other)

    def __ixor__(self, other: Any) -> Mask:
        return self._becomes(self ^ other)

    # --- questions, sums and conversions

    def any(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Whether one is True: one guard, not one for each. Along axes, a mask."""
        if args or kwargs or self.is_plain or self.size == 0 or self.dtype != bool:
            return self.values.any(axis, *args, **kwargs)
        found = self._plain.any(axis)
        count = self._outcomes.sum(axis)
        if found.ndim == 0:
            binding.compare(count, 0.0, NOT_EQUAL, self._equality)
            return found
        return Mask(found, _table.minimum(count, 1.0), self._serial, self._equality)

    def all(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Whether all are True: one guard, not one for each. Along axes, a mask."""
        if args or kwargs or self.is_plain or self.size == 0 or self.dtype != bool:
            return self.values.all(axis, *args, **kwargs)
        return np.logical_not(_NOT(self).any(axis))

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """As of an array."""
        return np.sum(self, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """As of an array."""
        return np.mean(self, *args, **kwargs)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """As of an array."""
        kind = np.dtype(dtype)
        if args or kwargs or self.is_plain or kind not in (np.int64, np.float64):
            return self.values.astype(dtype, *args, **kwargs)
        if self.dtype == np.float64 and kind != np.float64:
            return self.values.astype(dtype)
        return _made_of([self], self._plain.astype(kind), self._outcomes)

    # --- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.keys() == {"out"} and any(
            out is self and self.ndim == 0 for out in kwargs["out"]
        ):
            kwargs = {}  # a single number is not written into: `+=` makes another one
        if method == "__call__" and not kwargs:
            if ufunc in _LOGICAL and all(map(_is_logical, inputs)):
                return _LOGICAL[ufunc](*inputs)
            if any(map(carries, inputs)) or (ufunc in _ORDERS and all(map(_is_real, inputs))):
                return ufunc(*replaced(inputs, "number"))
            if ufunc in _ARITHMETIC and all(map(_is_real, inputs)):
                return _applied(ufunc, inputs, {})
        return getattr(ufunc, method)(*replaced(inputs), **replaced(kwargs))

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        first = args[0] if args else None
        if isinstance(first, Mask):
            if function in (np.any, np.all):
                return getattr(first, function.__name__)(*args[1:], **kwargs)
            if function is np.count_nonzero and _is_logical(first) and not (args[1:] or kwargs):
                return int(np.sum(first))  # one guard, not one for each
        if function in _JOINS and carries((args, kwargs)):
            return function(*replaced(args, "number"), **replaced(kwargs, "number"))
        if (function in _SUMS and _is_real(first)) or (
            function in _PRODUCTS and len(args) > 1 and all(map(_is_real, args))
        ):
            return _applied(function, args, kwargs)
        return function(*replaced(args), **replaced(kwargs))


def _applied(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function makes of masks and plain numbers.

    A mask, if it is of a kind for which computing with floats is as good.
    """
    masks = [x for x in args if isinstance(x, Mask) and not x.is_plain]
    if not masks or kwargs.keys() - {"axis", "keepdims"}:
        return function(*replaced(args), **kwargs)
    plain = function(*[x._plain if isinstance(x, Mask) else x for x in args], **kwargs)
    if plain.dtype == np.float64 or (
        plain.dtype == np.int64 and np.max(np.abs(plain), initial=0) < EXACT
    ):
        with contextlib.suppress(TypeError, ValueError):  # not for numbers with derivatives
            return _made_of(masks, plain, function(*replaced(args, "number"), **kwargs))
    for mask in masks:
        mask._memory.read()
    return plain


def _made_of(masks: list[Mask], plain: Any, outcomes: Any) -> Mask:
    made = Mask(plain, outcomes, masks[0]._serial, any(mask._equality for mask in masks))
    if plain.dtype == np.float64:
        made._memory.sources = [outcomes for mask in masks for outcomes in mask.sources]
    return made


def replaced(tree: Any, by: str = "values") -> Any:
    """A container with something else in the place of masks."""
    return binding.map_leaves(lambda x: getattr(x, by) if isinstance(x, Mask) else x, tree)


def is_number_mask(x: Any) -> bool:
    """Whether it is a mask of ints or floats."""
    return isinstance(x, Mask) and x.dtype != bool


def _is_real(x: Any) -> bool:
    """Whether it is a real number or an array of such, of a kind that floats can stand for."""
    if isinstance(x, (Mask, bool, float)):
        return True
    if isinstance(x, int):
        return abs(x) < EXACT
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype in (bool, int, float)


def _is_basic(key: Any) -> bool:
    """Whether an index leads to a view."""
    parts = key if isinstance(key, tuple) else (key,)
    basic = (slice, int, np.integer, type(None), type(Ellipsis))
    return all(isinstance(part, basic) and not isinstance(part, bool) for part in parts)


# --- logic ---------------------------------------------------------------------------------------


_ORDERS = {np.less, np.less_equal, np.greater, np.greater_equal}
_ARITHMETIC = {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive, np.absolute,
    np.minimum, np.maximum, np.square, np.power, np.matmul,
}  # fmt: skip
_SUMS = {np.sum, np.mean, np.cumsum}
_PRODUCTS = {np.where, np.dot, np.outer, np.inner}
_JOINS = _PRODUCTS | {
    np.select, np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.append,
}  # fmt: skip


def _is_logical(x: Any) -> bool:
    if isinstance(x, Mask):
        return not x.is_plain and x.dtype == bool
    return isinstance(x, (bool, np.bool_)) or (type(x) is np.ndarray and x.dtype == bool)


def _combined(plain: Any, outcomes: Callable[..., Any]) -> Callable[..., Mask]:
    def combine(*inputs: Any) -> Mask:
        masks = [x for x in inputs if isinstance(x, Mask)]
        bools = [x._plain if isinstance(x, Mask) else x for x in inputs]
        numbers = [x._outcomes if isinstance(x, Mask) else np.asarray(x, float) for x in inputs]
        equality = any(mask._equality for mask in masks)
        return Mask(plain(*bools), outcomes(*numbers), masks[0]._serial, equality)

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

binding.register_masks(Mask)
