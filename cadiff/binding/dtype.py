"""The dtypes that Var and Dual report: float64 or float32, but for what becomes of a number.

`numpy.mean` and its like end in `result.dtype.type(result)`. NumPy's own type would refuse a
number with a derivative there (it has to: a plain float would drop it); this one passes it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class _Equal(type):
    """Of types that are equal to what they derive from: `x.dtype.type == np.float32`."""

    def __eq__(cls, other: object) -> bool:
        is_it = other is cls or other is cls.__base__
        return True if is_it else NotImplemented  # a dtype may be asked

    def __hash__(cls) -> int:
        return hash(cls.__base__)


def _passes_on(kind: type[Any]) -> type[Any]:
    """A type of NumPy's that makes a number of it of anything but a number with a derivative."""

    def made(cls: type[Any], number: Any = 0.0) -> Any:
        carries = isinstance(getattr(number, "dtype", None), FloatType)
        return number if carries else kind(number)

    place = f"{kind.__name__}.type"  # where pickles find it
    return _Equal(
        kind.__name__,
        (kind,),
        {"__new__": made, "__doc__": _passes_on.__doc__, "__qualname__": place},
    )


class FloatType:
    """Equal to a dtype of NumPy's, and taken for it wherever NumPy asks for a dtype."""

    def __init__(self, kind: type[Any]) -> None:
        self.dtype = np.dtype(kind)
        self.type = _passes_on(kind)

    def _kind(self) -> type:
        """The class that `isinstance` is told."""
        return type(self.dtype)

    __class__ = property(_kind)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)

    def __reduce__(self) -> str:
        return str(self.dtype)  # by which copies find it here

    def __eq__(self, other: object) -> bool:
        return self.dtype == (other.dtype if isinstance(other, FloatType) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return repr(self.dtype)

    def __str__(self) -> str:
        return str(self.dtype)


float64 = FloatType(np.float64)
float32 = FloatType(np.float32)
