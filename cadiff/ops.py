"""Functions of numbers that are not rows of the table of operations (those are in `_table`)."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .binding import Dual, Var, note_taken, stop_gradient
from .operations.arrays import array, concatenate, full, ones, stack, zeros
from .operations.making import value_of
from .operations.table import rint

__all__ = [
    "array",
    "concatenate",
    "full",
    "ones",
    "round",
    "stack",
    "stop_gradient",
    "value",
    "zeros",
]


def value(x: Any) -> Any:
    """The value without derivatives.

    A Var or Dual gives a float, or an ndarray if it holds one; lists, tuples, dicts and object
    arrays give the same with their numbers replaced; anything else is returned unchanged. While a
    function is recorded by `compile`, an array stands for what a replay will find in its place.

    >>> import cadiff
    >>> cadiff.value([cadiff.Var(3.0), 4.0])
    [3.0, 4.0]
    """
    note_taken(x)
    return value_of(x, "cadiff.value(v)")


def _rounded(x: Any, decimals: int) -> Any:
    """As NumPy rounds arrays, whose power of ten is a product, rounded at each step."""
    scale = prod([10.0] * min(abs(decimals), 400))
    return rint(x * scale) / scale if decimals > 0 else rint(x / scale) * scale


def round(x: Any, decimals: int = 0, /) -> Any:
    """Round to decimals, halves to even, as `numpy.round`; the derivative is 0.

    Parameters
    ----------
    x : float, array_like, Var or Dual
        What is rounded.
    decimals : int
        Digits behind the point; of a negative number, zeros before it.

    Returns
    -------
    float, ndarray, Var or Dual
        Of the type and shape of x.
    """
    if isinstance(x, (Var, Dual)):
        if not decimals:
            return rint(x)
        return _rounded(x, decimals)
    rounded = np.round(x, decimals)
    return float(rounded) if type(x) in (float, int) else rounded
