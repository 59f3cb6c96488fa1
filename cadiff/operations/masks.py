"""Masks: what comparisons of arrays give while a function is recorded for replays.

A mask is used like the array of bools that it stands for. It also knows the numbers, 1 or 0, that
a replay will compute in its place. As long as it only chooses between numbers, as in
`where(x > 0, a, b)` or `(x > 0) * a`, nothing depends on how the comparison came out, and a
replay chooses anew. What reads it, by an index, a conversion, or a function that looks at
bools, has based something on it: from then on its elements are guards. Masks of integers and of
floats are what is made of those, of arguments, and of values.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .. import binding
from ..binding import carries
from . import table as _table
from .arrays import check_order
from .exactness import bound, stay_exact
from .guards import EQUAL, NOT_EQUAL
from .indices import is_basic, taken
from .integers import assigned
from .making import bools_of, check_writable, keep_in_mind, made_of, register_masks, value_of
from .protocols import Operand
from .replayed import Replayed, is_value, masks_in, replaced
from .scalars import int_of_value

_METHODS = {
    function.__name__: function
    for function in (
        np.max, np.min, np.prod, np.cumsum, np.clip, np.dot, np.ravel, np.take, np.repeat,
        np.squeeze,
    )
} | {"flatten": np.ravel}  # fmt: skip
_CONVERTED = ("bi", "bu", "ii", "iu", "ui", "uu")  # kinds of dtypes: ints of another size


class Mask(Operand, NDArrayOperatorsMixin):
    """Bools that a replay computes anew, unless they are read; or ints or floats made of such.

    `plain` is an ndarray or a scalar of NumPy's.
    """

    is_mask = True

    # --- what the binding asks for

    taken = staticmethod(taken)
    read_all = staticmethod(replaced)
    check_writable = staticmethod(check_writable)

    @staticmethod
    def converted(number: Any, dtype: Any) -> Any:
        """What `astype` makes of numbers: ints and bools, which go by steps, or complex ones."""
        kind = np.dtype(dtype).kind
        if kind == "c":
            is_single = np.dtype(dtype) == np.complex64
            number = binding.narrowed(number) if is_single else binding.widened(number)
            pair = binding.make_complex(number, 0.0)
            return pair.copy() if pair.ndim else pair
        if kind == "b":
            differs = number != 0.0
            return np.bool_(differs) if isinstance(differs, bool) else differs
        plain = value_of(number, "v.astype(...)")
        return (np.float64(plain) if type(plain) is float else plain).astype(dtype)

    @staticmethod
    def blended(target: Any, key: Any, value: Any) -> Any:
        """What an array is after `target[key] = value`, where a replay can choose: else None."""
        if isinstance(value, Replayed):
            value = value.number
        if not isinstance(key, Mask) or key.dtype != bool:
            return assigned(target, key, value)
        is_number = carries(value) or isinstance(value, (int, float, np.number, np.bool_))
        if key.is_plain or key.shape != target.shape or not is_number or binding.ndim(value):
            return None
        return _table.where(key._outcomes, value, target)

    # --- as an array

    def _viewed(self, look: Callable[[Any], Any]) -> Mask:
        """Another view: `look` is applied to bools and outcomes."""
        self.memory.has_views = True
        plain, outcomes = look(self._plain), look(self._outcomes)
        viewed = Mask(plain, outcomes, self._serial, self._equality, self.memory)
        keep_in_mind(viewed, [self])
        return viewed

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
        return self.read_values.T if self.is_plain else self._viewed(lambda x: x.T)

    def __getattr__(self, name: str) -> Any:
        """All that an array has besides, which reads the bools, unless a function does not."""
        if name.startswith("_"):
            raise AttributeError(f"a mask has no attribute {name!r}")
        if name in ("base", "ctypes", "data", "flags", "strides"):
            binding.note_layout(self._outcomes)
        if name in _METHODS and not self.is_plain:
            return functools.partial(_METHODS[name], self)
        return getattr(self.read_values, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if sys._getframe(1).f_code is np.lib.stride_tricks.as_strided.__code__:
            raise TypeError("as_strided reads memory, where integers of a recording do not stand")
        return np.array(self.read_values, copy=copy)  # NumPy converts it, where it may

    def __len__(self) -> int:
        return len(self._plain)

    def __bool__(self) -> bool:
        return bool(self.read_values)

    def __int__(self) -> int:
        return self._fixed(int, np.trunc)

    def __floor__(self) -> Any:
        return self._whole(math.floor, np.floor)

    def __ceil__(self) -> Any:
        return self._whole(math.ceil, np.ceil)

    def __trunc__(self) -> Any:
        return self._whole(lambda x: math.trunc(float(x)), np.trunc)

    def __round__(self, ndigits: int | None = None) -> Any:
        if ndigits is not None:
            return round(self.read_values, ndigits)
        return self._whole(round, np.rint)

    def _whole(self, convert: Callable[[Any], int], rounded: Callable[[Any], Any]) -> Any:
        """An int of a value, which a replay computes anew."""
        if is_value(self) and not self.ndim and not binding.makes_plain():
            whole = int_of_value(self, convert(self._plain), rounded(self._outcomes) + 0.0)
            if whole is not None:
                return whole
        return self._fixed(convert, rounded)

    def _fixed(self, convert: Callable[[Any], int], rounded: Callable[[Any], Any]) -> int:
        """An int of Python's, which is a guard: of a value that it comes to the same."""
        if not is_value(self) or self.ndim:
            return convert(self.read_values)
        fixed = convert(self._plain)
        binding.note_outcomes(rounded(self._outcomes), self._serial, False)
        return fixed

    def __hash__(self) -> int:
        return hash(self._plain if self.ndim else self.read_values)  # arrays have none

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return item in self.read_values

    def __reduce__(self) -> Any:
        return np.array, (self.read_values,)

    def copy(self, order: Any = "C") -> Any:
        """A copy, which assignments to the original do not change."""
        if self.is_plain:
            return self.read_values.copy(order)
        return made_of([self], self._plain.copy(), self._outcomes, bound(self))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        check_order(kwargs.get("order"), self.shape)
        if kwargs or self.is_plain:
            return self.read_values.reshape(*shape, **kwargs)
        return self._viewed(lambda x: x.reshape(*shape))

    def __getitem__(self, key: Any) -> Any:
        if self.is_plain:
            return self.read_values[key]
        if not is_basic(key) or masks_in(key):
            items = taken(self, key)
            return self.read_values[replaced(key)] if items is None else items
        element = self._plain[key]
        if not isinstance(element, np.generic):
            return self._viewed(lambda x: x[key])
        if self.dtype == bool:
            self.memory.note_reading()
            return np.bool_(binding.compare(self._outcomes[key], 0.0, NOT_EQUAL, self._equality))
        return made_of([self], element, self._outcomes[key], bound(self))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.read_values[key] = value

    def _becomes(self, result: Any) -> Any:
        """After an operation in place: all who know this mask find what is new in it."""
        if binding.answers_as_numpy():
            return result
        if isinstance(result, Mask) and result.shape == self.shape and not self.memory.has_views:
            self._plain, self._outcomes = result._plain, result._outcomes
            self._equality = result._equality
            self.memory.own = (self._outcomes, self._serial, self._equality)
            self.memory.bound = result.memory.bound
        else:
            self[...] = result
        return self

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, (str, bytes)):
            return self.read_values == other  # for which the ufunc has no loop
        return super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, (str, bytes)):
            return self.read_values != other
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

    def __pow__(self, other: Any) -> Any:
        if self.dtype == bool and type(other) is int and other == 2:
            return np.square(self)  # as NumPy: of another dtype than its powers
        return super().__pow__(other)

    def __iand__(self, other: Any) -> Any:
        return self._becomes(self & other)

    def __ior__(self, other: Any) -> Any:
        return self._becomes(self | other)

    def __ixor__(self, other: Any) -> Any:
        return self._becomes(self ^ other)

    # --- questions, sums and conversions

    def any(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Whether one is True: one guard, not one for each. Along axes, a mask."""
        if args or kwargs or self.is_plain or self.size == 0 or self.dtype != bool:
            return self.read_values.any(axis, *args, **kwargs)
        truths = self._plain.any(axis)
        count = binding.widened(self._outcomes).sum(axis)
        if truths.ndim == 0:
            binding.compare(count, 0.0, NOT_EQUAL, self._equality)
            return truths
        return bools_of([self], truths, _table.minimum(count, 1.0), self._equality)

    def all(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Whether all are True: one guard, not one for each. Along axes, a mask."""
        if args or kwargs or self.is_plain or self.size == 0 or self.dtype != bool:
            return self.read_values.all(axis, *args, **kwargs)
        if axis is None:
            count = binding.widened(self._outcomes).sum()
            binding.compare(count, float(self.size), EQUAL, self._equality)
            return self._plain.all()
        return np.logical_not(np.logical_not(self).any(axis))

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return np.sum(self, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        return np.mean(self, *args, **kwargs)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        kind = np.dtype(dtype)
        if is_value(self) and kind.kind in "iu" and not (args or kwargs):
            return _truncated(self, kind)
        if not (args or kwargs or self.is_plain) and self.dtype.kind + kind.kind in _CONVERTED:
            exact = self.dtype == bool or stay_exact(np.positive, [], {}, kind, self._outcomes)
            if exact and self.size > 0:
                return made_of([self], self._plain.astype(kind), self._outcomes, bound(self))
        if args or kwargs or self.is_plain or kind not in (np.int64, np.float64):
            return self.read_values.astype(dtype, *args, **kwargs)
        if self.dtype == np.float64 and kind != np.float64:
            return self.read_values.astype(dtype)
        return made_of([self], self._plain.astype(kind), self._outcomes, bound(self))


def _truncated(mask: Mask, kind: np.dtype[Any]) -> Any:
    """Values as ints, if these are of the dtype; a replay has to find that again."""
    outcomes = np.trunc(mask._outcomes) + 0.0  # of an int there is no -0.0
    if not stay_exact(np.trunc, [], {}, kind, outcomes):
        return mask.read_values.astype(kind)
    return made_of([mask], mask._plain.astype(kind), outcomes)


register_masks(Mask)
