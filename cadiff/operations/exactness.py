"""Which integers floats can stand for: those that replays compute are exactly those of NumPy.

That is so below 2**53, and within the dtype: bounds tell where nothing larger can come up, and
elsewhere a guard has a replay find that it does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import binding
from .guards import EQUAL, LESS_EQUAL
from .replayed import Replayed, kind_of, replaced

EXACT = 2**53  # whole numbers below are floats

SUMS = {np.sum, np.mean, np.cumsum, np.prod}
PRODUCTS = {np.where, np.dot, np.outer, np.inner}
DIVISIONS = {np.floor_divide, np.remainder, np.fmod}
# What makes none that is larger than its operands.
_NO_LARGER = DIVISIONS | {
    np.negative, np.positive, np.absolute, np.minimum, np.maximum, np.fmin, np.fmax, np.sign,
    np.floor, np.ceil, np.trunc, np.rint,
}  # fmt: skip


def is_real(x: Any) -> bool:
    """Whether it is a real number or an array of such, of a kind that floats can stand for."""
    if isinstance(x, (Replayed, bool, float)):
        return True
    if isinstance(x, int):
        return abs(x) < EXACT
    if not isinstance(x, (np.ndarray, np.generic)):
        return False
    return x.dtype in (bool, float) or (x.dtype.kind in "iu" and binding.are_exact(np.asarray(x)))


def is_whole(x: Any) -> bool:
    """Whether it is an int or an array of such, of which floats are as good, and not read yet."""
    if isinstance(x, Replayed):
        return not x.is_plain and kind_of(x._plain) in "iu"
    return is_real(x) and not isinstance(x, float) and np.asarray(x).dtype.kind in "iu"


def as_floats(x: Any) -> Any:
    """Integers as they are computed with, which neither wrap around nor make others of floats."""
    is_plain = isinstance(x, (np.ndarray, np.generic))
    return x.astype(np.float64) if is_plain and x.dtype.kind in "biu" else x


def are_floats(tree: Any) -> bool:
    """Whether floats can stand for all ints in a container."""
    return all(kind_of(x) not in "iu" or is_real(x) for x in binding.flattened(tree)[0])


def is_exact_count(plain: Any) -> bool:
    """Whether ints made of outcomes, which are 1 or 0, are what floats can stand for."""
    return bool(plain.dtype == np.int64 and np.max(np.abs(plain), initial=0) < EXACT)


def largest(dtype: Any) -> int:
    """The largest int that the dtype has and that floats can stand for, as all below it."""
    return min(int(np.iinfo(dtype).max), EXACT - 1)


def bound(x: Any) -> float:
    """No number in its place is larger in a replay; inf where that is not known."""
    if isinstance(x, Replayed):
        return 1.0 if kind_of(x._plain) == "b" else x.memory.bound
    return float(np.max(np.abs(as_floats(np.asarray(x))), initial=0.0))


def bound_of(function: Any, args: tuple[Any, ...]) -> float:
    """The bound of the ints that a function makes of others; inf where that is not known."""
    if function is np.where:
        return max(map(bound, args[1:]))
    if function in (np.add, np.subtract):
        return bound(args[0]) + bound(args[1])
    if function in (np.multiply, np.outer):
        return bound(args[0]) * bound(args[1])
    if function is np.square:
        return bound(args[0]) ** 2
    if function in (np.max, np.min, np.amax, np.amin):
        return bound(args[0])
    if function is np.diff and len(args) == 1:
        return 2.0 * bound(args[0])
    if function in (np.sum, np.cumsum):
        return bound(args[0]) * np.size(args[0]._plain)
    if function in (np.dot, np.inner, np.matmul):
        return bound(args[0]) * bound(args[1]) * max(map(np.size, replaced(args, "_plain")))
    if function in _NO_LARGER:
        return max(map(bound, args))
    return np.inf


def stay_exact(
    function: Any, numbers: list[Any], kwargs: dict[str, Any], dtype: Any, outcomes: Any
) -> bool:
    """Whether the resulting ints are NumPy's; a replay has to find that, too.

    That is, floats and the dtype can stand for each of them.
    """
    low, high = max(int(np.iinfo(dtype).min), 1 - EXACT), largest(dtype)
    if function is np.where:
        if dtype == np.int64:  # else an int of Python's may wrap around
            return True
    elif function in SUMS | PRODUCTS | {np.matmul}:  # and nothing on the way to it
        outcomes = function(*[abs(x) for x in numbers], **kwargs)
        low = -high
    values = np.asarray(binding.plain_values(outcomes))
    if values.size == 0 or not (low <= values.min() and values.max() <= high):
        return False
    inside = binding.indicator(float(low), outcomes, LESS_EQUAL)
    inside = inside * binding.indicator(outcomes, float(high), LESS_EQUAL)  # and none is nan
    binding.compare(total(inside), float(values.size), EQUAL, False)
    return True


def total(x: Any) -> Any:
    """The sum of an array, or a single number."""
    return x.sum() if binding.ndim(x) else x
