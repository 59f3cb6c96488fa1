"""What the array API standard and NumPy's own users ask of arrays, beyond functions of numbers.

The namespace of an array, its device, and how it stands in memory: numbers with derivatives answer
as NumPy's arrays of their shape do. The standard is that of 2024.12.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from .. import binding
from ..binding import Dual, Var, callers
from . import complexes
from .dispatch import load

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
    load()
    return sys.modules[f"{__package__.partition('.')[0]}.numpy"]


class Flags:
    """How the numbers of an array stand, as `numpy.ndarray.flags` says it."""

    def __init__(self, x: Any) -> None:
        parts = binding.parts_of(x) or (x,)
        asks = sys._getframe(1).f_code.co_filename
        if f"{os.sep}scipy{os.sep}" not in asks or not callers.is_of_library(asks):
            binding.note_layout(*parts)  # on which the results of SciPy's own code do not depend
        self.c_contiguous = all(map(_is_in_order, parts))
        self.f_contiguous = all(_is_in_order(np.transpose(part)) for part in parts)
        self.contiguous = self.c_contiguous
        self.forc = self.c_contiguous or self.f_contiguous
        self.fnc = self.f_contiguous and not self.c_contiguous
        self.fortran = self.fnc
        self.aligned = self.behaved = self.owndata = self.writeable = True
        self.writebackifcopy = False

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
    """Of an array in order, for code of libraries, which goes through what it has arranged.

    Raises
    ------
    AttributeError
        Else: NumPy's array may stand in another order, and then has other strides.
    """
    asks = sys._getframe(1).f_code.co_filename
    if binding.is_guarding():  # then f runs on its own arguments, which have them
        binding.note_layout(*(binding.parts_of(self) or (self,)))
    elif not callers.is_of_library(asks) or not Flags(self).c_contiguous:
        advice = callers.advice() or "take cadiff.value(x).strides"
        raise AttributeError(f"numbers with derivatives have no strides: {advice}")
    return np.empty(self.shape, self.dtype).strides


def _no_base(x: Any) -> None:
    binding.note_layout(*(binding.parts_of(x) or (x,)))


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
    "base": property(_no_base),
}
binding.put_in_types((Var, Dual), MEMBERS)
complexes.ATTRIBUTES["flags"] = Flags
complexes.METHODS_OWN |= {f.__name__: f for f in (setflags, to_device, view)}
complexes.ATTRIBUTES["base"] = _no_base
complexes.METHODS_OWN["__array_namespace__"] = array_namespace
