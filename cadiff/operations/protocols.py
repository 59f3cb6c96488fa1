"""What NumPy's functions make of what a replay computes anew: its protocols.

As long as a function only chooses between numbers, or computes with integers as floats can, what
it gives is computed anew, too. Any other reads what it is given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import binding
from ..binding import carries
from .exactness import (
    DIVISIONS,
    PRODUCTS,
    SUMS,
    as_floats,
    bound_of,
    is_exact_count,
    is_real,
    is_whole,
    largest,
    stay_exact,
)
from .guards import EQUAL, LESS, LESS_EQUAL, NOT_EQUAL
from .integers import INSTEAD
from .making import bools_of, made_of
from .replayed import Replayed, is_mask, is_value, kind_of, masks_in, replaced, unread

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
_PEAKS = {np.max, np.min, np.amax, np.amin, np.diff}
_JOINS = PRODUCTS | {
    np.select, np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.append,
}  # fmt: skip


class Operand(Replayed):
    """What NumPy's ufuncs and functions take like what it stands for."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.keys() == {"out"} and any(
            out is self and (not np.ndim(self._plain) or binding.answers_as_numpy())
            for out in kwargs["out"]
        ):
            kwargs = {}  # a single number is not written into: `+=` makes another one
        inputs = _with_dtypes(inputs)
        if method == "__call__" and not kwargs:
            result = INSTEAD[ufunc](*inputs) if ufunc in INSTEAD else None
            if result is not None:
                return result
            if ufunc in _LOGICAL and all(map(_is_logical, inputs)):
                return _LOGICAL[ufunc](*inputs)
            if ufunc in _COMPARISONS and all(map(is_whole, inputs)):
                return _compared(ufunc, inputs)
            if any(map(carries, inputs)) or (ufunc in _ORDERS and all(map(is_real, inputs))):
                return ufunc(*replaced(inputs, "number"))
            if any(map(is_value, inputs)) and ufunc in _QUESTIONS:
                return ufunc(*replaced(inputs, "number"))
            if ufunc.nout == 1 and all(map(is_real, inputs)):
                return _applied(ufunc, inputs, {})
        return getattr(ufunc, method)(*replaced(inputs), **replaced(kwargs))

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        first: Any = args[0] if args else None
        if is_mask(first):
            if function in (np.any, np.all):
                return getattr(first, function.__name__)(*args[1:], **kwargs)
            if function is np.count_nonzero and _is_logical(first) and not (args[1:] or kwargs):
                return np.sum(first)
        result = INSTEAD[function](*args, **kwargs) if function in INSTEAD else None
        if result is not None:
            return result
        masks = masks_in((args, kwargs))
        if any(map(is_value, masks)):
            result = _of_values(function, masks, args, kwargs)
            if result is not None:
                return result
        if function in _JOINS and carries((args, kwargs)):
            return function(*replaced(args, "number"), **replaced(kwargs, "number"))
        if (function in SUMS | _PEAKS and is_real(first)) or (
            function in PRODUCTS and len(args) > 1 and all(map(is_real, args))
        ):
            return _applied(function, args, kwargs)
        return function(*replaced(args), **replaced(kwargs))


def _with_dtypes(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers of Python's read where the dtype of another operand tells what they are."""
    weak = "".join(kind_of(x._plain) for x in inputs if isinstance(x, Replayed) and not x.is_mask)
    if not weak:
        return inputs
    dtypes = [x.dtype for x in inputs if isinstance(x, (np.ndarray, np.generic))]
    wide = [
        dtype in (bool, np.int64, np.float64) or (dtype.kind in "iu" and "i" not in weak)
        for dtype in dtypes
    ]
    if all(wide):
        return inputs
    return tuple(x.read_values if isinstance(x, Replayed) and not x.is_mask else x for x in inputs)


def _of_values(
    function: Any, masks: list[Replayed], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a function of NumPy's makes of values; None if it has to read them."""
    try:
        result = function(*replaced(args, "number"), **replaced(kwargs, "number"))
    except (TypeError, ValueError, NotImplementedError):  # not of numbers with derivatives
        return None
    if carries((args, kwargs)) or not isinstance(result, binding.Var):
        return result
    plain = function(*replaced(args, "_plain"), **replaced(kwargs, "_plain"))
    return made_of(masks, np.float64(plain) if isinstance(plain, float) else plain, result)


def _applied(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function makes of masks and plain numbers.

    A mask, if it is of a kind for which computing with floats is as good.
    """
    masks = unread((args, kwargs))
    if not masks or kwargs.keys() - {"axis", "keepdims"}:
        return function(*replaced(args), **kwargs)
    plain = function(*replaced(args, "_plain"), **replaced(kwargs, "_plain"))
    is_wide = any(mask.memory.is_wide for mask in masks)
    gives_ints = function in _WHOLE and plain.dtype.kind in "iu"
    if plain.dtype == np.float64 or (gives_ints and (is_wide or is_exact_count(plain))):
        with contextlib.suppress(TypeError, ValueError):  # not for numbers with derivatives
            numbers = [binding.widened(as_floats(x)) for x in replaced(args, "number")]
            if not gives_ints:
                return made_of(masks, plain, function(*numbers, **kwargs))
            compute = partial(_divided, function) if function in DIVISIONS else function
            outcomes = compute(*numbers, **kwargs) + 0.0  # of an int there is no -0.0
            bound = bound_of(function, args)
            if (plain.dtype.kind == "i" and bound <= largest(plain.dtype)) or stay_exact(
                function, numbers, kwargs, plain.dtype, outcomes
            ):
                return made_of(masks, plain, outcomes, bound)
    for mask in masks:
        mask.memory.guard()
    return plain


def _divided(function: Any, x: Any, y: Any) -> Any:
    """A division of ints, which by 0 give 0."""
    if not carries(y) and np.all(y):
        return function(x, y)
    is_zero = binding.indicator(y, 0.0, EQUAL) if carries(y) else np.equal(y, 0) * 1.0
    return function(x, y + is_zero) * (1.0 - is_zero)


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
    return bools_of(masks, plain, outcomes, False)


# --- logic ---------------------------------------------------------------------------------------


def _is_logical(x: Any) -> bool:
    if is_mask(x):
        return not x.is_plain and x.dtype == bool
    return isinstance(x, (bool, np.bool_)) or (type(x) is np.ndarray and x.dtype == bool)


def _combined(plain: Any, outcomes: Callable[..., Any], neutral: bool | None, *inputs: Any) -> Any:
    """Bools of bools; `neutral` is the one beside which a mask stays what it is."""
    masks: list[Replayed] = [x for x in inputs if is_mask(x)]
    bools = [x._plain if is_mask(x) else x for x in inputs]
    equality = any(mask._equality for mask in masks)
    others = [x for x in inputs if not is_mask(x)]
    if others and np.ndim(others[0]) == 0 and bool(others[0]) is neutral:
        found = masks[0]._outcomes
    else:
        found = outcomes(*(x._outcomes if is_mask(x) else np.asarray(x, float) for x in inputs))
    return bools_of(masks, plain(*bools), found, equality)


_NOT = partial(_combined, np.logical_not, lambda x: 1.0 - x, None)
_AND = partial(_combined, np.logical_and, lambda x, y: x * y, True)
_OR = partial(_combined, np.logical_or, np.maximum, False)
_XOR = partial(_combined, np.logical_xor, lambda x, y: abs(x - y), False)

_LOGICAL: dict[Any, Callable[..., Any]] = {
    np.logical_not: _NOT,
    np.logical_and: _AND,
    np.logical_or: _OR,
    np.logical_xor: _XOR,
    np.invert: _NOT,
    np.bitwise_and: _AND,
    np.bitwise_or: _OR,
    np.bitwise_xor: _XOR,
}
