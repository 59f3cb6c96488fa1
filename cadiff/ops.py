"""Functions of numbers that are not rows of the table of operations (those are in `_table`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import Dual, Var, stop_gradient

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
    arrays give the same with their numbers replaced; anything else is returned as it is.

    >>> import cadiff
    >>> cadiff.value([cadiff.Var(3.0), 4.0])
    [3.0, 4.0]
    """
    return _core.strip(x)


def round(x: Any, decimals: int = 0, /) -> Any:
    """Round to decimals, halves to even, as `numpy.round`; the derivative is 0."""
    if isinstance(x, (Var, Dual)):
        return x.__round__(decimals) if decimals else _core.rint(x)
    rounded = np.round(x, decimals)
    return float(rounded) if type(x) in (float, int) else rounded


# --- arrays that hold numbers with derivatives --------------------------------------------------


def _number(item: Any) -> Any:
    """A constant as a Var without derivative, so that NumPy finds its methods on every element."""
    return item if isinstance(item, (Var, Dual)) else stop_gradient(Var(item))


def array(items: ArrayLike) -> NDArray[np.object_]:
    """An array that holds numbers, with or without derivatives, and can be assigned to.

    Parameters
    ----------
    items : array-like
        Real numbers, Vars and Duals.

    Returns
    -------
    ndarray of dtype object
        NumPy computes with it element by element, and differentiates correctly.

    >>> import cadiff
    >>> x = cadiff.Var(3.0)
    >>> y = cadiff.array([x, 1.0])
    >>> y[1] = x * x
    >>> y.sum().backward()
    >>> x.grad
    7.0
    """
    elements = _core.elements(items)
    result = np.empty(elements.shape, dtype=object)
    for index in np.ndindex(elements.shape):
        result[index] = _number(elements[index])
    return result


def full(shape: int | tuple[int, ...], fill_value: Any) -> NDArray[np.object_]:
    """An array of a shape that holds one number everywhere; see `array`."""
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(result.shape):
        result[index] = _number(fill_value)
    return result


def zeros(shape: int | tuple[int, ...]) -> NDArray[np.object_]:
    """An array of zeros that numbers with derivatives can be assigned to; see `array`."""
    return full(shape, 0.0)


def ones(shape: int | tuple[int, ...]) -> NDArray[np.object_]:
    """An array of ones that numbers with derivatives can be assigned to; see `array`."""
    return full(shape, 1.0)


def stack(arrays: Any, axis: int = 0) -> NDArray[np.object_]:
    """Join arrays or numbers along a new axis, as `numpy.stack`; see `array`."""
    return np.stack([array(item) for item in arrays], axis=axis)


def concatenate(arrays: Any, axis: int = 0) -> NDArray[np.object_]:
    """Join arrays along an axis that they have, as `numpy.concatenate`; see `array`."""
    return np.concatenate([array(item) for item in arrays], axis=axis)
