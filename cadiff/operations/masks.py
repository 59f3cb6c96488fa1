"""Masks: what comparisons of arrays give while a function is recorded for replays.

A mask is used like the array of bools that it stands for. It also knows the numbers, 1 or 0, that
a replay will compute in its place. As long as it only chooses between numbers, as in
`where(x > 0, a, b)` or `(x > 0) * a`, nothing depends on how the comparison came out, and a
replay chooses anew. What reads it, by an index, a conversion, or a function that looks at
bools, has based something on it: from then on its elements are guards.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import math
import operator
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from .. import binding
from ..binding import carries
from . import table as _table
from .guards import EQUAL, LESS, LESS_EQUAL, NOT_EQUAL

__all__ = ["Mask", "Replayed", "is_number_mask", "replaced"]

Outcomes = tuple[Any, int, bool]  # a Var, the serial of its recording, whether it is an equality


EXACT = 2**53  # whole numbers below are floats
MOST_CONSTANTS = 1 << 24  # numbers of an array that a recording keeps for its replays to index


class _Memory:
    """What masks share that are views of one array."""

    def __init__(self, own: Outcomes) -> None:
        self.own = own  # of all that is in it
        self.has_views = False
        self.is_known = False  # to others, who may write into it
        self.sources: list[Outcomes] = []  # of floats, which a replay may round in another way
        self.origins: tuple[_Memory, ...] = (self,)  # what it is made of
        self.was_read = False  # or what is made of it
        self.was_compared = False  # as a single number, which is a guard
        self.is_wide = False  # whether ints may be of any size in a replay
        self.is_value = False  # whether they are floats that numbers have: no guard tells them
        self.bound = np.inf  # of the sizes of ints: none in a replay is larger

    def read(self) -> None:
        """Guard what is in it, or, of floats, what that is made of."""
        if not self.is_known:
            if self.is_value and binding.notes_guards(*self.own[:2]):
                binding.read(self.own[0], "cadiff.value(v)")
            for outcomes in () if self.is_value else self.sources or [self.own]:
                binding.note_outcomes(*outcomes)
            self.is_known = True
            self.note_reading()

    def note_reading(self) -> None:
        """Note that a guard rests on elements of it."""
        for origin in self.origins:
            origin.was_read = True

    def note_comparison(self) -> None:
        """Note that a guard rests on how it compares."""
        for origin in self.origins:
            origin.was_compared = True


class Replayed:
    """What a replay computes anew, unless it is read: then it is a guard, or a constant.

    Parameters
    ----------
    plain : what NumPy, or Python, has in its place
    outcomes : Var
        The same numbers: 1 for True, 0 for False.
    serial : int
        Which recording it belongs to.
    equality : bool
        Whether two numbers were asked if they are equal.
    """

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For `isinstance`: it is used like what it stands for."""
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
        self._memory = _Memory((outcomes, serial, equality)) if memory is None else memory

    @property
    def _sources(self) -> list[Outcomes]:
        """What decides about it."""
        return self._memory.sources or [(self._outcomes, self._serial, self._equality)]

    @property
    def read_values(self) -> Any:
        """What it stands for; from now on all that share its memory are guards, and plain."""
        self._memory.read()
        return self._plain

    @property
    def memory(self) -> _Memory:
        """Which tells whether it was read."""
        return self._memory

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but what it stands for, in this recording at least."""
        return self._memory.is_known or not binding.notes_guards(self._outcomes, self._serial)

    @property
    def is_float(self) -> bool:
        """Whether it stands for floats."""
        return kind_of(self._plain) == "f"

    @property
    def number(self) -> Any:
        """What is computed with: a Var, unless it is plain."""
        return self.read_values if self.is_plain else self._outcomes

    # --- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.keys() == {"out"} and any(
            out is self and np.ndim(self._plain) == 0 for out in kwargs["out"]
        ):
            kwargs = {}  # a single number is not written into: `+=` makes another one
        inputs = _with_dtypes(inputs)
        if method == "__call__" and not kwargs:
            found = instead[ufunc](*inputs) if ufunc in instead else None
            if found is not None:
                return found
            if ufunc in _LOGICAL and all(map(_is_logical, inputs)):
                return _LOGICAL[ufunc](*inputs)
            if ufunc in _COMPARISONS and all(map(_is_whole, inputs)):
                return _compared(ufunc, inputs)
            if any(map(carries, inputs)) or (ufunc in _ORDERS and all(map(_is_real, inputs))):
                return ufunc(*replaced(inputs, "number"))
            if any(map(_is_value, inputs)) and ufunc in _QUESTIONS:
                return ufunc(*replaced(inputs, "number"))
            if ufunc.nout == 1 and all(map(_is_real, inputs)):
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
                return np.sum(first)
        found = instead[function](*args, **kwargs) if function in instead else None
        if found is not None:
            return found
        masks = _masks_in((args, kwargs))
        if any(map(_is_value, masks)):
            found = _of_values(function, masks, args, kwargs)
            if found is not None:
                return found
        if function in _JOINS and carries((args, kwargs)):
            return function(*replaced(args, "number"), **replaced(kwargs, "number"))
        if (function in _SUMS | _PEAKS and _is_real(first)) or (
            function in _PRODUCTS and len(args) > 1 and all(map(_is_real, args))
        ):
            return _applied(function, args, kwargs)
        return function(*replaced(args), **replaced(kwargs))


class Mask(Replayed, NDArrayOperatorsMixin):
    """Bools that a replay computes anew, unless they are read; or ints or floats made of such.

    `plain` is an ndarray or a scalar of NumPy's.
    """

    # --- what it stands for

    def _viewed(self, look: Callable[[Any], Any]) -> Mask:
        """Another view: `look` is applied to bools and outcomes."""
        self._memory.has_views = True
        plain, outcomes = look(self._plain), look(self._outcomes)
        viewed = Mask(plain, outcomes, self._serial, self._equality, self._memory)
        keep_in_mind(viewed, [self])
        return viewed

    @staticmethod
    def of_integers(plain: Any, numbers: Any) -> Mask:
        """Integers or bools that may be others in each replay; `numbers` is a Var of them."""
        mask = Mask(plain, numbers, binding.guards_serial(), False)
        mask._memory.is_wide = True
        _made.count += 1
        return mask

    @staticmethod
    def of_values(number: Any) -> Mask:
        """The values of a Var, as floats that a replay computes anew; to read them is an obstacle.

        So is to keep them longer than the recording.
        """
        plain = binding.plain_values(number)
        plain = np.float64(plain) if isinstance(plain, float) else plain
        mask = Mask(plain, binding.stop_gradient(number), binding.guards_serial(), False)
        mask._memory.is_wide = mask._memory.is_value = True
        _made.count += 1
        keep_in_mind(mask, [mask])
        return mask

    @staticmethod
    def converted(number: Any, dtype: Any) -> Any:
        """What `astype` makes of numbers that are plain where nothing is recorded."""
        return value_of(number, "v.astype(...)").astype(dtype)

    def along(self, x: Any, axis: int | None) -> Any:
        """What numpy.take(x, mask, axis) is; None if the mask has to be read."""
        if axis is None:
            return Mask.taken(x.reshape(-1), self)
        return Mask.taken(x, (slice(None),) * normalize_axis_index(axis, x.ndim) + (self,))

    @staticmethod
    def read_all(key: Any) -> Any:
        """The key of an assignment, with plain arrays in the place of masks."""
        return replaced(key)

    @staticmethod
    def taken(x: Any, key: Any) -> Any:
        """What x[key] is, for a key with masks of ints in it, which a replay indexes by anew.

        None where what is in the key has to be read.
        """
        if is_anew(key) and key.dtype == bool:
            key = _places_of_true(key) if key.shape == x.shape else None
            return None if key is None else Mask.taken(x.reshape(-1), key)
        parts = key if isinstance(key, tuple) else (key,)
        is_simple = all(_is_index(part) or _is_basic(part) for part in parts)
        if not is_simple or not any(
            _is_index(part) and isinstance(part, Replayed) for part in parts
        ):
            return None
        return _taken(x, parts)

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
        return self.read_values.T if self.is_plain else self._viewed(lambda x: x.T)

    def __getattr__(self, name: str) -> Any:
        """All that an array has besides, which reads the bools, unless a function does not."""
        if name.startswith("_"):
            raise AttributeError(f"a mask has no attribute {name!r}")
        if name in _METHODS and not self.is_plain:
            return functools.partial(_METHODS[name], self)
        return getattr(self.read_values, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.read_values, copy=copy)  # NumPy converts it, where it may

    def __len__(self) -> int:
        return len(self._plain)

    def __bool__(self) -> bool:
        return bool(self.read_values)

    def __index__(self) -> int:
        return operator.index(self.read_values)

    def __int__(self) -> int:
        return self._fixed(int, np.trunc)

    def __float__(self) -> float:
        return float(self.read_values)

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
        if _is_value(self) and not self.ndim and not _made.is_off:
            made = _int_of(self, convert(self._plain), rounded(self._outcomes) + 0.0)
            if made is not None:
                return made
        return self._fixed(convert, rounded)

    def _fixed(self, convert: Callable[[Any], int], rounded: Callable[[Any], Any]) -> int:
        """An int of Python's, which is a guard: of a value that it comes to the same."""
        if not _is_value(self) or self.ndim:
            return convert(self.read_values)
        found = convert(self._plain)
        binding.note_outcomes(rounded(self._outcomes), self._serial, False)
        return found

    def __hash__(self) -> int:
        return hash(self._plain if self.ndim else self.read_values)  # arrays have none

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return item in self.read_values

    def __repr__(self) -> str:
        return repr(self.read_values)

    def __str__(self) -> str:
        return str(self.read_values)

    def __format__(self, spec: str) -> str:
        return format(self.read_values, spec)

    def __reduce__(self) -> Any:
        return np.array, (self.read_values,)

    def copy(self, order: Any = "C") -> Any:
        """A copy, which assignments to the original do not change."""
        if self.is_plain:
            return self.read_values.copy(order)
        return made_of([self], self._plain.copy(), self._outcomes, _bound(self))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """As of an array."""
        if kwargs or self.is_plain:
            return self.read_values.reshape(*shape, **kwargs)
        return self._viewed(lambda x: x.reshape(*shape))

    def __getitem__(self, key: Any) -> Any:
        if self.is_plain:
            return self.read_values[key]
        if not _is_basic(key) or _masks_in(key):
            taken = Mask.taken(self, key)
            return self.read_values[replaced(key)] if taken is None else taken
        element = self._plain[key]
        if not isinstance(element, np.generic):
            return self._viewed(lambda x: x[key])
        if self.dtype == bool:
            self._memory.note_reading()
            return np.bool_(binding.compare(self._outcomes[key], 0.0, NOT_EQUAL, self._equality))
        return made_of([self], element, self._outcomes[key], _bound(self))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.read_values[key] = value

    @staticmethod
    def blended(target: Any, key: Any, value: Any) -> Any:
        """What an array is after `target[key] = value`, where a replay can choose: else None."""
        if isinstance(value, Replayed):
            value = value.number
        if not isinstance(key, Mask) or key.dtype != bool:
            return _assigned(target, key, value)
        is_number = carries(value) or isinstance(value, (int, float, np.number, np.bool_))
        if key.is_plain or key.shape != target.shape or not is_number or binding.ndim(value):
            return None
        return _table.where(key._outcomes, value, target)

    @staticmethod
    def check_writable(target: Any) -> None:
        """Refuse to assign to rows that are views for NumPy, or to what they are views of."""
        if any(binding.share_memory(target, lent) for _, lent in _made.lent):
            raise TypeError(
                "an array is assigned to of which a row was taken by an index that a replay "
                "computes anew: begin with a copy, y = y.copy()"
            )

    def _becomes(self, result: Any) -> Mask:
        """After an operation in place: all who know this mask find what is new in it."""
        if isinstance(result, Mask) and result.shape == self.shape and not self._memory.has_views:
            self._plain, self._outcomes = result._plain, result._outcomes
            self._equality = result._equality
            self._memory.own = (self._outcomes, self._serial, self._equality)
            self._memory.bound = result._memory.bound
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
            return self.read_values.any(axis, *args, **kwargs)
        found = self._plain.any(axis)
        count = self._outcomes.sum(axis)
        if found.ndim == 0:
            binding.compare(count, 0.0, NOT_EQUAL, self._equality)
            return found
        made = Mask(found, _table.minimum(count, 1.0), self._serial, self._equality)
        made._memory.origins = self._memory.origins
        return made

    def all(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Whether all are True: one guard, not one for each. Along axes, a mask."""
        if args or kwargs or self.is_plain or self.size == 0 or self.dtype != bool:
            return self.read_values.all(axis, *args, **kwargs)
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
        if _is_value(self) and kind.kind in "iu" and not (args or kwargs):
            return _truncated(self, kind)
        if not (args or kwargs or self.is_plain) and self.dtype.kind + kind.kind in _CONVERTED:
            exact = self.dtype == bool or _stay_exact(np.positive, [], {}, kind, self._outcomes)
            if exact and self.size > 0:
                return made_of([self], self._plain.astype(kind), self._outcomes, _bound(self))
        if args or kwargs or self.is_plain or kind not in (np.int64, np.float64):
            return self.read_values.astype(dtype, *args, **kwargs)
        if self.dtype == np.float64 and kind != np.float64:
            return self.read_values.astype(dtype)
        return made_of([self], self._plain.astype(kind), self._outcomes, _bound(self))


# What is done in the place of functions of NumPy's: None, or their result. See integers.py.
instead: dict[Any, Callable[..., Any]] = {}


def _with_dtypes(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers of Python's read where the dtype of another operand tells what they are."""
    weak = "".join(
        kind_of(x._plain) for x in inputs if isinstance(x, Replayed) and not isinstance(x, Mask)
    )
    if not weak:
        return inputs
    dtypes = [x.dtype for x in inputs if isinstance(x, (np.ndarray, np.generic))]
    wide = [
        dtype in (bool, np.int64, np.float64) or (dtype.kind in "iu" and "i" not in weak)
        for dtype in dtypes
    ]
    if all(wide):
        return inputs
    return tuple(
        x.read_values if isinstance(x, Replayed) and not isinstance(x, Mask) else x for x in inputs
    )


def _masks_in(tree: Any) -> list[Replayed]:
    if isinstance(tree, Replayed):
        return [tree]
    if isinstance(tree, dict):
        tree = tree.values()
    elif type(tree) not in (list, tuple):
        return []
    return [mask for item in tree for mask in _masks_in(item)]


def unread(tree: Any) -> list[Replayed]:
    """What is in a container and not read yet."""
    return [mask for mask in _masks_in(tree) if not mask.is_plain]


def is_anew(x: Any) -> bool:
    """Whether it is an array that a replay computes anew."""
    return isinstance(x, Mask) and not x.is_plain


def _of_values(
    function: Any, masks: list[Replayed], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a function of NumPy's makes of values; None if it has to read them."""
    try:
        found = function(*replaced(args, "number"), **replaced(kwargs, "number"))
    except (TypeError, ValueError, NotImplementedError):  # not of numbers with derivatives
        return None
    if carries((args, kwargs)) or not isinstance(found, binding.Var):
        return found
    plain = function(*replaced(args, "_plain"), **replaced(kwargs, "_plain"))
    return made_of(masks, np.float64(plain) if isinstance(plain, float) else plain, found)


def _applied(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function makes of masks and plain numbers.

    A mask, if it is of a kind for which computing with floats is as good.
    """
    masks = unread((args, kwargs))
    if not masks or kwargs.keys() - {"axis", "keepdims"}:
        return function(*replaced(args), **kwargs)
    plain = function(*replaced(args, "_plain"), **replaced(kwargs, "_plain"))
    is_wide = any(mask._memory.is_wide for mask in masks)
    is_whole = function in _WHOLE and plain.dtype.kind in "iu"
    if plain.dtype == np.float64 or (is_whole and (is_wide or _is_exact_count(plain))):
        with contextlib.suppress(TypeError, ValueError):  # not for numbers with derivatives
            numbers = [as_floats(x) for x in replaced(args, "number")]
            if not is_whole:
                return made_of(masks, plain, function(*numbers, **kwargs))
            compute = _divided(function) if function in _DIVISIONS else function
            outcomes = compute(*numbers, **kwargs) + 0.0  # of an int there is no -0.0
            bound = _bound_of(function, args)
            if (plain.dtype.kind == "i" and bound <= _largest(plain.dtype)) or _stay_exact(
                function, numbers, kwargs, plain.dtype, outcomes
            ):
                return made_of(masks, plain, outcomes, bound)
    for mask in masks:
        mask._memory.read()
    return plain


def _is_whole(x: Any) -> bool:
    """Whether it is an int or an array of such, of which floats are as good, and not read yet."""
    if isinstance(x, Replayed):
        return not x.is_plain and kind_of(x._plain) in "iu"
    return _is_real(x) and not isinstance(x, float) and np.asarray(x).dtype.kind in "iu"


def _compared(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    """How ints compare: that two are equal is no accident. Of single ones a guard."""
    masks = [x for x in inputs if isinstance(x, Replayed)]
    x, y = [x._outcomes if isinstance(x, Replayed) else np.asarray(x, float) for x in inputs]
    plain = ufunc(*replaced(inputs, "_plain"))
    how, is_exchanged = _COMPARISONS[ufunc]
    x, y = (y, x) if is_exchanged else (x, y)
    outcomes = binding.indicator(x, y, how)
    if np.ndim(plain) == 0:
        binding.note_outcomes(outcomes, masks[0]._serial, False)
        return plain
    made = Mask(plain, outcomes, masks[0]._serial, False)
    made._memory.origins = _origins(masks)
    return made


def _truncated(mask: Mask, kind: np.dtype[Any]) -> Any:
    """Values as ints, if these are of the dtype; a replay has to find that again."""
    outcomes = np.trunc(mask._outcomes) + 0.0  # of an int there is no -0.0
    if not _stay_exact(np.trunc, [], {}, kind, outcomes):
        return mask.read_values.astype(kind)
    return made_of([mask], mask._plain.astype(kind), outcomes)


def as_floats(x: Any) -> Any:
    """Integers as they are computed with, which neither wrap around nor make others of floats."""
    is_plain = isinstance(x, (np.ndarray, np.generic))
    return x.astype(np.float64) if is_plain and x.dtype.kind in "biu" else x


def are_floats(tree: Any) -> bool:
    """Whether floats can stand for all ints in a container."""
    return all(kind_of(x) not in "iu" or _is_real(x) for x in binding.flattened(tree)[0])


def _is_exact_count(plain: Any) -> bool:
    """Whether ints made of outcomes, which are 1 or 0, are what floats can stand for."""
    return bool(plain.dtype == np.int64 and np.max(np.abs(plain), initial=0) < EXACT)


def _largest(dtype: Any) -> int:
    """The largest int that the dtype has and that floats can stand for, as all below it."""
    return min(int(np.iinfo(dtype).max), EXACT - 1)


def _divided(function: Any) -> Callable[[Any, Any], Any]:
    """A division of ints, which by 0 give 0."""

    def divide(x: Any, y: Any) -> Any:
        if not carries(y) and np.all(y):
            return function(x, y)
        is_zero = binding.indicator(y, 0.0, EQUAL) if carries(y) else np.equal(y, 0) * 1.0
        return function(x, y + is_zero) * (1.0 - is_zero)

    return divide


def _bound(x: Any) -> float:
    """No number in its place is larger in a replay; inf where that is not known."""
    if isinstance(x, Mask):
        return 1.0 if x.dtype == bool else x._memory.bound
    if isinstance(x, Replayed):
        return np.inf
    return float(np.max(np.abs(as_floats(np.asarray(x))), initial=0.0))


def _bound_of(function: Any, args: tuple[Any, ...]) -> float:
    """The bound of the ints that a function makes of others; inf where that is not known."""
    if function is np.where:
        return max(map(_bound, args[1:]))
    if function in (np.add, np.subtract):
        return _bound(args[0]) + _bound(args[1])
    if function in (np.multiply, np.outer):
        return _bound(args[0]) * _bound(args[1])
    if function is np.square:
        return _bound(args[0]) ** 2
    if function in (np.max, np.min, np.amax, np.amin):
        return _bound(args[0])
    if function is np.diff and len(args) == 1:
        return 2.0 * _bound(args[0])
    if function in (np.sum, np.cumsum):
        return _bound(args[0]) * np.size(args[0]._plain)
    if function in (np.dot, np.inner, np.matmul):
        return _bound(args[0]) * _bound(args[1]) * max(map(np.size, replaced(args, "_plain")))
    if function in _NO_LARGER:
        return max(map(_bound, args))
    return np.inf


def _stay_exact(
    function: Any, numbers: list[Any], kwargs: dict[str, Any], dtype: Any, outcomes: Any
) -> bool:
    """Whether ints come out as those of NumPy; a replay has to find that, too.

    That is, none is of a size that floats cannot stand for, or that the dtype does not have.
    """
    low, high = max(int(np.iinfo(dtype).min), 1 - EXACT), _largest(dtype)
    if function is np.where:
        if dtype == np.int64:  # else an int of Python's may wrap around
            return True
    elif function in _SUMS | _PRODUCTS | {np.matmul}:  # and nothing on the way to it
        outcomes = function(*[abs(x) for x in numbers], **kwargs)
        low = -high
    values = np.asarray(binding.plain_values(outcomes))
    if values.size == 0 or not (low <= values.min() and values.max() <= high):
        return False
    inside = binding.indicator(float(low), outcomes, LESS_EQUAL)
    inside = inside * binding.indicator(outcomes, float(high), LESS_EQUAL)  # and none is nan
    binding.compare(_total(inside), float(values.size), EQUAL, False)
    return True


def made_of(masks: list[Replayed], plain: Any, outcomes: Any, bound: float = np.inf) -> Mask:
    made = Mask(plain, outcomes, masks[0]._serial, any(mask._equality for mask in masks))
    made._memory.bound = bound
    joined(made, masks, plain.dtype == np.float64)
    return made


def joined(made: Replayed, masks: list[Replayed], is_float: bool) -> None:
    """Note what something is made of."""
    made._memory.origins = _origins(masks)
    made._memory.is_wide = any(mask._memory.is_wide for mask in masks)
    made._memory.is_value = is_float and any(map(_is_value, masks))
    keep_in_mind(made, masks)
    if is_float:
        made._memory.sources = [outcomes for mask in masks for outcomes in mask._sources]


class _Made(threading.local):
    """What this thread has made that f might not be able to do with."""

    def __init__(self) -> None:
        self.count = 0  # of masks and numbers where NumPy would have plain ones
        self.is_off = False  # whether plain ones are made, and noted, instead
        self.lent: list[tuple[int, Any]] = []  # arrays of which rows were taken, and the rows
        self.lent_plain: list[tuple[int, NDArray[Any], NDArray[Any]]] = []  # what was in them
        self.of_values: list[
            tuple[int, weakref.ref[Replayed]]
        ] = []  # by the serial of a recording


_made = _Made()


def note_made() -> None:
    """Note that something was made where there is a plain int outside of recordings."""
    _made.count += 1


def made() -> int:
    """How many masks or numbers were made by this thread where NumPy would have plain ones."""
    return _made.count


@contextlib.contextmanager
def values_are_read() -> Iterator[None]:
    """Have plain values and integers computed of numbers, as guards or obstacles."""
    former, _made.is_off = _made.is_off, True
    try:
        yield
    finally:
        _made.is_off = former


def chooses_anew() -> bool:
    """Whether values of numbers, and integers made of them, may be numbers of a recording."""
    return not _made.is_off and binding.chooses_anew() and not binding.is_deriving()


def keep_in_mind(made: Replayed, masks: list[Replayed]) -> None:
    """Remember what is made of values, in any way, and what no ndarray is: see are_kept."""
    if not isinstance(made, Mask) or any(
        origin.is_value for mask in masks for origin in mask._memory.origins
    ):
        _made.of_values.append((made._serial, weakref.ref(made)))


def are_kept(serial: int) -> bool:
    """Whether something still has values that a recording, which is about to end, has computed.

    A list to which they were appended, for instance: a replay would not append to it. Or whether
    an array has changed of which a row was taken, that is a view for NumPy.
    """
    changed = any(
        of == serial and array.tobytes() != former.tobytes()
        for of, array, former in _made.lent_plain
    )
    _made.lent = [known for known in _made.lent if known[0] < serial]
    _made.lent_plain = [known for known in _made.lent_plain if known[0] < serial]
    if changed:
        return True
    own = [mask for of, mask in _made.of_values if of == serial]
    _made.of_values = [
        known for known in _made.of_values if known[0] != serial and known[1]() is not None
    ]
    if any(mask() is not None for mask in own):
        gc.collect()  # nothing but functions within f may refer to them
    return any(mask() is not None for mask in own)


def innermost(x: Any) -> Any:
    """The primal of a Dual, and of that."""
    while isinstance(x, binding.Dual):
        x = binding.dual_components(x)[0]
    return x


def value_of(x: Any, what: str) -> Any:
    """Plain values; while guards are noted, masks of them, which a replay computes anew.

    what: what was called, for the message where that cannot be.
    """
    number = innermost(x)
    if isinstance(number, binding.Var) and chooses_anew() and binding.depends(number):
        return Mask.of_values(number)
    return binding.read(x, what)


def _is_value(x: Any) -> bool:
    return isinstance(x, Replayed) and not x.is_plain and x._memory.is_value


def _origins(masks: list[Replayed]) -> tuple[_Memory, ...]:
    return tuple(dict.fromkeys(origin for mask in masks for origin in mask._memory.origins))


def replaced(tree: Any, by: str = "read_values") -> Any:
    """A container with something else in the place of masks."""
    return binding.map_leaves(lambda x: getattr(x, by) if isinstance(x, Replayed) else x, tree)


def kind_of_whole(x: Any) -> Any:
    """What makes integers that a replay computes anew of floats: a type, or a dtype; else None."""
    if not isinstance(x, Replayed) or x.is_plain or kind_of(x._plain) not in "iu":
        return None
    return x._plain.dtype if isinstance(x._plain, np.ndarray) else type(x._plain)


def is_number_mask(x: Any) -> bool:
    """Whether it is a mask of ints or floats."""
    return isinstance(x, Replayed) and kind_of(x._plain) != "b"


def kind_of(x: Any) -> str:
    """The kind of dtype that a plain number, or an array, has: "b", "i", "u" or "f"."""
    if isinstance(x, (np.ndarray, np.generic)):
        return str(x.dtype.kind)
    return "b" if isinstance(x, bool) else "i" if isinstance(x, int) else "f"


def _is_real(x: Any) -> bool:
    """Whether it is a real number or an array of such, of a kind that floats can stand for."""
    if isinstance(x, (Replayed, bool, float)):
        return True
    if isinstance(x, int):
        return abs(x) < EXACT
    if not isinstance(x, (np.ndarray, np.generic)):
        return False
    return x.dtype in (bool, float) or (x.dtype.kind in "iu" and binding.are_exact(np.asarray(x)))


def _is_basic(key: Any) -> bool:
    """Whether an index leads to a view."""
    parts = key if isinstance(key, tuple) else (key,)
    basic = (slice, int, np.integer, type(None), type(Ellipsis))
    return all(isinstance(part, basic) and not isinstance(part, bool) for part in parts)


# --- indices -------------------------------------------------------------------------------------


_int_of: Callable[[Replayed, int, Any], Any]  # an int of Python's, of numbers; or None


def register_int(int_of: Callable[[Replayed, int, Any], Any]) -> None:
    """Set what stands for an int of Python's: see scalars.py."""
    global _int_of
    _int_of = int_of


_places_of_true: Callable[[Any], Any]
_assigned: Callable[[Any, Any, Any], Any]


def register_integers(
    places_of_true: Callable[[Any], Any], assigned: Callable[[Any, Any, Any], Any]
) -> None:
    """Set what finds where a mask is True, and what assigns at indices: see integers.py."""
    global _places_of_true, _assigned
    _places_of_true, _assigned = places_of_true, assigned


_rows: Callable[[Any, Any], Any]  # rows of an array at an index, both numbers


def register_rows(rows: Callable[[Any, Any], Any]) -> None:
    """Set what takes rows at an index: see indices.py."""
    global _rows
    _rows = rows


def _is_index(part: Any) -> bool:
    """Whether it is an array of indices, or a mask of such that is not read yet."""
    if isinstance(part, Replayed):
        return not part.is_plain and kind_of(part._plain) in "iu"
    return isinstance(part, (np.ndarray, np.integer)) and part.dtype.kind in "iu"


def _taken(x: Any, parts: tuple[Any, ...]) -> Any:
    """x[parts]: basic indices first, then rows of what remains at the others."""
    plain = np.broadcast_to(0.0, x.shape)[replaced(parts, "_plain")]  # raises what NumPy raises
    if plain.size == 0:
        return None
    if type(x) is np.ndarray:
        return _taken_of_plain(x, parts)
    if isinstance(x, Mask):
        return _taken_of_mask(x, parts)
    n_axes = sum(part is not None and part is not Ellipsis for part in parts)
    filled = [slice(None)] * (x.ndim - n_axes)
    if Ellipsis in [part if part is Ellipsis else None for part in parts]:
        at = next(k for k, part in enumerate(parts) if part is Ellipsis)
        parts = (*parts[:at], *filled, *parts[at + 1 :])
    else:
        parts = (*parts, *filled)
    where = [k for k, part in enumerate(parts) if not isinstance(part, (slice, type(None)))]
    indices = [parts[k] for k in where]
    rest = x[tuple(slice(None) if k in where else part for k, part in enumerate(parts))]
    rest = np.moveaxis(rest, where, range(len(where)))
    lengths = rest.shape[: len(where)]
    if len(indices) > 1:
        rest = rest.reshape(-1, *rest.shape[len(where) :])
        index = _flat_index(indices, lengths)
    else:
        index = indices[0]._outcomes
    ndim = binding.ndim(index)
    taken = _rows(rest, index)
    if where[-1] - where[0] == len(where) - 1:  # side by side: there their axes stay
        first = where[0]
        taken = np.moveaxis(taken, range(ndim), range(first, first + ndim))
    if ndim == 0 and binding.ndim(taken):  # for NumPy it is a view
        serial = binding.guards_serial()
        _made.lent += [(serial, x), (serial, taken)]
        binding.lend_rows()
    return taken


def _taken_of_plain(x: NDArray[Any], parts: tuple[Any, ...]) -> Any:
    """Numbers of a plain array: constants of the recording, of which a replay takes others."""
    if (
        _made.is_off
        or x.size > MOST_CONSTANTS
        or x.dtype.kind not in "biuf"
        or x.dtype.itemsize > 8
    ):
        return None
    if x.dtype.kind != "f" and not binding.are_exact(x):
        return None
    _made.count += 1
    taken = _taken(binding.constant_array(x), parts)
    if x[replaced(parts, "_plain")].ndim and all(map(_is_basic, replaced(parts, "_plain"))):
        _made.lent_plain.append((binding.guards_serial(), x, x.copy()))
    if x.dtype.kind == "f":
        return taken
    masks = [part for part in parts if isinstance(part, Replayed)]
    return made_of(masks, x[replaced(parts, "_plain")], taken)


def _taken_of_mask(x: Mask, parts: tuple[Any, ...]) -> Any:
    if x.is_plain:
        return _taken_of_plain(x.read_values, parts)
    masks = [x, *[part for part in parts if isinstance(part, Replayed)]]
    return made_of(masks, x._plain[replaced(parts, "_plain")], _taken(x._outcomes, parts))


def _total(x: Any) -> Any:
    return x.sum() if binding.ndim(x) else x


def _flat_index(indices: list[Any], lengths: tuple[int, ...]) -> Any:
    """One index in the place of several: all of them have to be within their bounds."""
    total: Any = 0.0
    for index, length in zip(indices, lengths, strict=True):
        if isinstance(index, Replayed):
            number = index._outcomes + length * binding.indicator(index._outcomes, 0.0, LESS)
            below, above = (
                _total(binding.indicator(one, other, how))
                for one, other, how in ((number, 0.0, LESS), (float(length), number, LESS_EQUAL))
            )
            binding.compare(below + above, 0.0, EQUAL, False)
        else:
            whole = np.asarray(index, dtype=np.float64)
            number = whole + length * (whole < 0.0)
        total = total * length + number
    return total


# --- logic ---------------------------------------------------------------------------------------


_ORDERS = {np.less, np.less_equal, np.greater, np.greater_equal}
_COMPARISONS = {
    np.less: (LESS, False),
    np.less_equal: (LESS_EQUAL, False),
    np.greater: (LESS, True),
    np.greater_equal: (LESS_EQUAL, True),
    np.equal: (EQUAL, False),
    np.not_equal: (NOT_EQUAL, False),
}
_QUESTIONS = {np.equal, np.not_equal, np.isnan, np.isinf, np.isfinite}
# What makes ints of ints as it makes floats of floats.
_WHOLE = {
    np.add, np.subtract, np.multiply, np.negative, np.positive, np.absolute, np.square, np.matmul,
    np.minimum, np.maximum, np.fmin, np.fmax, np.sign, np.floor_divide, np.remainder, np.fmod,
    np.floor, np.ceil, np.trunc, np.rint, np.sum, np.cumsum, np.prod, np.diff, np.where,
    np.max, np.min, np.amax, np.amin, np.dot, np.outer, np.inner,
}  # fmt: skip
_DIVISIONS = {np.floor_divide, np.remainder, np.fmod}
# What makes none that is larger than its operands.
_NO_LARGER = _DIVISIONS | {
    np.negative, np.positive, np.absolute, np.minimum, np.maximum, np.fmin, np.fmax, np.sign,
    np.floor, np.ceil, np.trunc, np.rint,
}  # fmt: skip
_METHODS = {
    function.__name__: function
    for function in (
        np.max, np.min, np.prod, np.cumsum, np.clip, np.dot, np.ravel, np.take, np.repeat,
        np.squeeze,
    )
} | {"flatten": np.ravel}  # fmt: skip
_CONVERTED = ("bi", "bu", "ii", "iu", "ui", "uu")  # kinds of dtypes: ints of another size
_SUMS = {np.sum, np.mean, np.cumsum, np.prod}
_PEAKS = {np.max, np.min, np.amax, np.amin, np.diff}
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
        masks: list[Replayed] = [x for x in inputs if isinstance(x, Mask)]
        bools = [x._plain if isinstance(x, Mask) else x for x in inputs]
        numbers = [x._outcomes if isinstance(x, Mask) else np.asarray(x, float) for x in inputs]
        equality = any(mask._equality for mask in masks)
        made = Mask(plain(*bools), outcomes(*numbers), masks[0]._serial, equality)
        made._memory.origins = _origins(masks)
        return made

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
