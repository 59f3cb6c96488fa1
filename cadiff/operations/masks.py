"""Masks: what comparisons of arrays give while a function is recorded for replays.

A mask is used like the array of bools that it stands for. It also knows the numbers, 1 or 0, that
a replay will compute in its place. As long as it only chooses between numbers, as in
`where(x > 0, a, b)` or `(x > 0) * a`, nothing depends on how the comparison came out, and a
replay chooses anew. What reads it, by an index, a conversion, or a function that looks at
bools, has based something on it: from then on its elements are guards.
"""

from __future__ import annotations

import contextlib
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

__all__ = ["Mask", "is_number_mask", "replaced"]

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
        self.is_wide = False  # whether ints may be of any size in a replay
        self.is_value = False  # whether they are floats that numbers have: no guard tells them

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
        self._memory = _Memory((outcomes, serial, equality)) if memory is None else memory

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
    def was_read(self) -> bool:
        """Whether a guard rests on its elements, or on those of something made of it."""
        return self._memory.was_read

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
        viewed = Mask(plain, outcomes, self._serial, self._equality, self._memory)
        _keep_in_mind(viewed, [self])
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
        _keep_in_mind(mask, [mask])
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
        parts = key if isinstance(key, tuple) else (key,)
        is_simple = all(_is_index(part) or _is_basic(part) for part in parts)
        if not is_simple or not any(_is_index(part) and isinstance(part, Mask) for part in parts):
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
        return self._whole(int, np.trunc)

    def __floor__(self) -> int:
        return self._whole(math.floor, np.floor)

    def __ceil__(self) -> int:
        return self._whole(math.ceil, np.ceil)

    def _whole(self, convert: Callable[[Any], int], rounded: Callable[[Any], Any]) -> int:
        """An int for Python, which is a guard: of a value that it comes to the same."""
        if not _is_value(self) or self.ndim:
            return convert(self.values)
        found = convert(self._plain)
        binding.note_outcomes(rounded(self._outcomes), self._serial, False)
        return found

    def __float__(self) -> float:
        return float(self.values)

    def __round__(self, ndigits: int | None = None) -> Any:
        return self._whole(round, np.rint) if ndigits is None else round(self.values, ndigits)

    def __trunc__(self) -> int:
        return self._whole(lambda x: math.trunc(float(x)), np.trunc)

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
        if self.is_plain:
            return self.values[key]
        if not _is_basic(key) or _masks_in(key):
            taken = Mask.taken(self, key)
            return self.values[replaced(key)] if taken is None else taken
        element = self._plain[key]
        if not isinstance(element, np.generic):
            return self._viewed(lambda x: x[key])
        if self.dtype == bool:
            self._memory.note_reading()
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
            self._memory.own = (self._outcomes, self._serial, self._equality)
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
        made = Mask(found, _table.minimum(count, 1.0), self._serial, self._equality)
        made._memory.origins = self._memory.origins
        return made

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
        if _is_value(self) and kind.kind in "iu" and not (args or kwargs):
            return _truncated(self, kind)
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
            if ufunc in _COMPARISONS and all(map(_is_whole, inputs)):
                return _compared(ufunc, inputs)
            if any(map(carries, inputs)) or (ufunc in _ORDERS and all(map(_is_real, inputs))):
                return ufunc(*replaced(inputs, "number"))
            if any(map(_is_value, inputs)) and ufunc in _QUESTIONS:
                return ufunc(*replaced(inputs, "number"))
            is_known = ufunc in _ARITHMETIC or (any(map(_is_value, inputs)) and ufunc.nout == 1)
            if is_known and all(map(_is_real, inputs)):
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
        masks = _masks_in((args, kwargs))
        if any(map(_is_value, masks)):
            found = _of_values(function, masks, args, kwargs)
            if found is not None:
                return found
        if function in _JOINS and carries((args, kwargs)):
            return function(*replaced(args, "number"), **replaced(kwargs, "number"))
        if (function in _SUMS and _is_real(first)) or (
            function in _PRODUCTS and len(args) > 1 and all(map(_is_real, args))
        ):
            return _applied(function, args, kwargs)
        return function(*replaced(args), **replaced(kwargs))


def _masks_in(tree: Any) -> list[Mask]:
    if isinstance(tree, Mask):
        return [tree]
    if isinstance(tree, dict):
        tree = tree.values()
    elif type(tree) not in (list, tuple):
        return []
    return [mask for item in tree for mask in _masks_in(item)]


def _of_values(
    function: Any, masks: list[Mask], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a function of NumPy's makes of values; None if it has to read them."""
    try:
        found = function(*replaced(args, "number"), **replaced(kwargs, "number"))
    except (TypeError, ValueError, NotImplementedError):  # not of numbers with derivatives
        return None
    if carries((args, kwargs)) or not isinstance(found, binding.Var):
        return found
    plain = function(*replaced(args, "_plain"), **replaced(kwargs, "_plain"))
    return _made_of(masks, np.float64(plain) if isinstance(plain, float) else plain, found)


def _applied(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function makes of masks and plain numbers.

    A mask, if it is of a kind for which computing with floats is as good.
    """
    masks = [x for x in args if isinstance(x, Mask) and not x.is_plain]
    if not masks or kwargs.keys() - {"axis", "keepdims"}:
        return function(*replaced(args), **kwargs)
    plain = function(*[x._plain if isinstance(x, Mask) else x for x in args], **kwargs)
    is_wide = any(mask._memory.is_wide for mask in masks)
    if plain.dtype == np.float64 or (
        (plain.dtype.kind in "iu" and function is not np.power)
        if is_wide
        else _is_exact_count(plain)
    ):
        with contextlib.suppress(TypeError, ValueError):  # not for numbers with derivatives
            numbers = [_as_floats(x) for x in replaced(args, "number")]
            outcomes = function(*numbers, **kwargs)
            if (
                plain.dtype == np.float64
                or not is_wide
                or _stay_exact(function, numbers, kwargs, plain.dtype, outcomes)
            ):
                return _made_of(masks, plain, outcomes)
    for mask in masks:
        mask._memory.read()
    return plain


def _is_whole(x: Any) -> bool:
    """Whether it is an int or an array of such, of which floats are as good, and not read yet."""
    if isinstance(x, Mask):
        return not x.is_plain and x.dtype.kind in "iu"
    return _is_real(x) and not isinstance(x, float) and np.asarray(x).dtype.kind in "iu"


def _compared(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    """How ints compare: that two are equal is no accident. Of single ones a guard."""
    masks = [x for x in inputs if isinstance(x, Mask)]
    x, y = [x._outcomes if isinstance(x, Mask) else np.asarray(x, float) for x in inputs]
    plain = ufunc(*[x._plain if isinstance(x, Mask) else x for x in inputs])
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
    outcomes = np.trunc(mask._outcomes)
    if not _stay_exact(np.trunc, [], {}, kind, outcomes):
        return mask.values.astype(kind)
    return _made_of([mask], mask._plain.astype(kind), outcomes)


def _as_floats(x: Any) -> Any:
    """Integers as they are computed with, which neither wrap around nor make others of floats."""
    is_plain = isinstance(x, (np.ndarray, np.generic))
    return x.astype(np.float64) if is_plain and x.dtype.kind in "biu" else x


def _is_exact_count(plain: Any) -> bool:
    """Whether ints made of outcomes, which are 1 or 0, are what floats can stand for."""
    return bool(plain.dtype == np.int64 and np.max(np.abs(plain), initial=0) < EXACT)


def _stay_exact(
    function: Any, numbers: list[Any], kwargs: dict[str, Any], dtype: Any, outcomes: Any
) -> bool:
    """Whether ints come out as those of NumPy; a replay has to find that, too.

    That is, none is of a size that floats cannot stand for, or that the dtype does not have.
    """
    if function is np.where:
        return True
    kind = np.iinfo(dtype)
    low, high = max(kind.min, 1 - EXACT), min(kind.max, EXACT - 1)
    if function in _SUMS | _PRODUCTS | {np.matmul}:  # and nothing on the way to it
        outcomes = function(*[abs(x) for x in numbers], **kwargs)
        low = -high
    values = np.asarray(binding.plain_values(outcomes))
    if values.size == 0 or not (low <= values.min() and values.max() <= high):
        return False
    inside = binding.indicator(float(low), outcomes, LESS_EQUAL)
    inside = inside * binding.indicator(outcomes, float(high), LESS_EQUAL)  # and none is nan
    binding.compare(_total(inside), float(values.size), EQUAL, False)
    return True


def _made_of(masks: list[Mask], plain: Any, outcomes: Any) -> Mask:
    made = Mask(plain, outcomes, masks[0]._serial, any(mask._equality for mask in masks))
    made._memory.origins = _origins(masks)
    made._memory.is_wide = any(mask._memory.is_wide for mask in masks)
    made._memory.is_value = plain.dtype == np.float64 and any(map(_is_value, masks))
    _keep_in_mind(made, masks)
    if plain.dtype == np.float64:
        made._memory.sources = [outcomes for mask in masks for outcomes in mask.sources]
    return made


class _Made(threading.local):
    """What this thread has made that f might not be able to do with."""

    def __init__(self) -> None:
        self.count = 0  # of masks and numbers where NumPy would have plain ones
        self.is_off = False  # whether plain ones are made, and noted, instead
        self.of_values: list[tuple[int, weakref.ref[Mask]]] = []  # by the serial of a recording


_made = _Made()


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


def _keep_in_mind(made: Mask, masks: list[Mask]) -> None:
    """Remember what is made of values, in any way: see are_kept."""
    if any(origin.is_value for mask in masks for origin in mask._memory.origins):
        _made.of_values.append((made._serial, weakref.ref(made)))


def are_kept(serial: int) -> bool:
    """Whether something still has values that a recording, which is about to end, has computed.

    A list to which they were appended, for instance: a replay would not append to it.
    """
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
    return isinstance(x, Mask) and not x.is_plain and x._memory.is_value


def _origins(masks: list[Mask]) -> tuple[_Memory, ...]:
    return tuple(dict.fromkeys(origin for mask in masks for origin in mask._memory.origins))


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
    if not isinstance(x, (np.ndarray, np.generic)):
        return False
    return x.dtype in (bool, float) or (x.dtype.kind in "iu" and binding.are_exact(np.asarray(x)))


def _is_basic(key: Any) -> bool:
    """Whether an index leads to a view."""
    parts = key if isinstance(key, tuple) else (key,)
    basic = (slice, int, np.integer, type(None), type(Ellipsis))
    return all(isinstance(part, basic) and not isinstance(part, bool) for part in parts)


# --- indices -------------------------------------------------------------------------------------


_rows: Callable[[Any, Any], Any]  # rows of an array at an index, both numbers


def register_rows(rows: Callable[[Any, Any], Any]) -> None:
    """Set what takes rows at an index: see indices.py."""
    global _rows
    _rows = rows


def _is_index(part: Any) -> bool:
    """Whether it is an array of indices, or a mask of such that is not read yet."""
    if isinstance(part, Mask) and part.is_plain:
        return False
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
    if x.dtype.kind == "f":
        return taken
    masks = [part for part in parts if isinstance(part, Mask)]
    return _made_of(masks, x[replaced(parts, "_plain")], taken)


def _taken_of_mask(x: Mask, parts: tuple[Any, ...]) -> Any:
    if x.is_plain:
        return _taken_of_plain(x.values, parts)
    masks = [x, *[part for part in parts if isinstance(part, Mask)]]
    return _made_of(masks, x._plain[replaced(parts, "_plain")], _taken(x._outcomes, parts))


def _total(x: Any) -> Any:
    return x.sum() if binding.ndim(x) else x


def _flat_index(indices: list[Any], lengths: tuple[int, ...]) -> Any:
    """One index in the place of several: all of them have to be within their bounds."""
    total: Any = 0.0
    for index, length in zip(indices, lengths, strict=True):
        if isinstance(index, Mask):
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
