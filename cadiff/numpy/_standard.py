"""Names that mean more than NumPy's: what is an array, and what the array API standard adds."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from ..binding import Complex, Dual, Var
from ..operations.arrays import as_array
from ..operations.dispatch import FUNCTIONS
from . import _choices, _plain  # noqa: F401 - which make them known


class _HasArrays(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, (Var, Dual, Complex)):
            return instance.ndim > 0
        return isinstance(instance, np.ndarray)

    def __subclasscheck__(cls, other: Any) -> bool:
        return issubclass(other, np.ndarray)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return np.ndarray(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ndarray, name)

    def __eq__(cls, other: object) -> bool:  # so `type(x) == ndarray`; `is` no class can answer
        return other is cls or other is np.ndarray

    def __hash__(cls) -> int:
        return hash(np.ndarray)


class ndarray(metaclass=_HasArrays):  # noqa: N801 - NumPy's name
    """`numpy.ndarray`, of which numbers with derivatives that have axes are instances, too."""


def isscalar(element: Any) -> bool:
    """As `numpy.isscalar`; of a number with a derivative, whether it has no axes."""
    if isinstance(element, (Var, Dual, Complex)):
        return bool(element.ndim == 0)
    return bool(np.isscalar(element))


def isdtype(dtype: Any, kind: Any) -> bool:
    """As `numpy.isdtype`, of the dtypes of numbers with derivatives, too."""
    return bool(np.isdtype(np.dtype(dtype), kind))


def descending(function: Any) -> Any:
    """NumPy's `sort` or `argsort`, in descending order, too: equal elements stay as they stand."""

    @functools.wraps(function)
    def ordered(
        a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
        descending: bool = False,
    ) -> Any:  # fmt: skip
        if not descending:
            return function(a, axis, kind, order, stable=stable)
        x = a if hasattr(a, "ndim") else as_array(a)
        axis = axis if axis is not None else -1
        turned = np.flip(x, axis)
        result = np.flip(function(turned, axis, None, order, stable=True), axis)
        return result if function.__name__ == "sort" else x.shape[axis] - 1 - result

    signature = inspect.signature(ordered, follow_wrapped=False)
    ordered.__signature__ = signature  # type: ignore[attr-defined]
    return ordered


OFFERED: dict[str, Any] = {
    function.__name__: function for function in (isdtype, isscalar, ndarray)
} | {name: descending(FUNCTIONS[getattr(np, name)]) for name in ("sort", "argsort")}
