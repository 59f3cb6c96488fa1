"""What the array API standard and NumPy's own users ask of arrays, beyond functions of numbers.

The namespace of an array, kinds of dtypes, flags of memory, and what is an array: numbers with
derivatives answer as NumPy's arrays of their shape do. The standard is that of 2024.12.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from .. import binding
from ..binding import Complex, Dual, Var
from ..operations import complexes
from ..operations.arrays import as_array as _as_array
from ..operations.dispatch import FUNCTIONS
from . import _choices, _plain  # noqa: F401 - which register them

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The namespace of the functions of an array: `cadiff.numpy`.

    Raises
    ------
    ValueError
        If there is no such version of the standard, or it is a later one.
    """
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"cadiff.numpy follows the array API standard of {', '.join(VERSIONS)}; "
            f"api_version={api_version!r} is none of them"
        )
    return sys.modules[__package__]


class Flags:
    """How the numbers of an array stand, as `numpy.ndarray.flags` says it."""

    def __init__(self, x: Any) -> None:
        parts = binding.parts_of(x) or (x,)
        self.c_contiguous = all(map(_is_in_order, parts))
        self.f_contiguous = all(_is_in_order(np.transpose(part)) for part in parts)
        self.contiguous = self.c_contiguous
        self.forc = self.c_contiguous or self.f_contiguous
        self.fnc = self.f_contiguous and not self.c_contiguous
        self.fortran = self.fnc
        self.aligned = self.writeable = True

    def __getitem__(self, name: str) -> bool:
        found = vars(self).get(name.lower())
        if found is None:
            raise KeyError(name)
        return bool(found)


def _is_in_order(x: Any) -> bool:
    if isinstance(x, Dual):
        return all(map(_is_in_order, binding.dual_components(x)))
    return binding.is_in_order(x) if isinstance(x, Var) else np.asarray(x).flags.c_contiguous


def setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """As `numpy.ndarray.setflags`, of which only what an array is already can be asked.

    Raises
    ------
    ValueError
        If it is not to be aligned, or to be a copy that is written back.
    """
    if align is False or uic:
        raise ValueError("numbers with derivatives are aligned, and are no copies of others")


def strides(self: Any) -> tuple[int, ...]:
    """How far apart elements are in bytes, where they stand in order."""
    if not Flags(self).c_contiguous:
        raise AttributeError(
            "numbers with derivatives have strides where they stand in order: x.copy() does"
        )
    return np.empty(self.shape, self.dtype).strides


def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
    """The same numbers, as `numpy.ndarray.view` gives them in their own dtype.

    Raises
    ------
    TypeError
        If they are to be taken for numbers of another kind.
    """
    if type is not None or (dtype is not None and np.dtype(dtype) != self.dtype):
        raise TypeError(
            f"numbers with derivatives of dtype {self.dtype} are not taken for those of another: "
            f"take x.astype({dtype if type is None else type!r}), or cadiff.value(x).view(dtype)"
        )
    return self[...]


def to_device(self: Any, device: str, /, *, stream: None = None) -> Any:
    """The same numbers on the CPU, where they are.

    Raises
    ------
    ValueError
        If it is another device.
    """
    if device != "cpu":
        raise ValueError(f"numbers with derivatives are on the device 'cpu', not on {device!r}")
    return self


MEMBERS = {
    "__array_namespace__": array_namespace,
    "flags": property(Flags),
    "setflags": setflags,
    "strides": property(strides),
    "to_device": to_device,
    "view": view,
    "base": property(lambda self: None),
}
binding.put_in_types((Var, Dual), MEMBERS)
complexes.ATTRIBUTES["flags"] = Flags
complexes.METHODS_OWN |= {f.__name__: f for f in (setflags, to_device, view)}
complexes.ATTRIBUTES["base"] = lambda z: None
complexes.METHODS_OWN["__array_namespace__"] = array_namespace


# --- names of the namespace ----------------------------------------------------------------------


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
        x = a if hasattr(a, "ndim") else _as_array(a)
        axis = axis if axis is not None else -1
        turned = np.flip(x, axis)
        found = np.flip(function(turned, axis, None, order, stable=True), axis)
        return found if function.__name__ == "sort" else x.shape[axis] - 1 - found

    return ordered


OFFERED: dict[str, Any] = {
    function.__name__: function for function in (isdtype, isscalar, ndarray)
} | {name: descending(FUNCTIONS[getattr(np, name)]) for name in ("sort", "argsort")}
