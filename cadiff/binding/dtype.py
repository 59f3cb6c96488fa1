"""The dtype that Var and Dual report: float64, but for what becomes of a number.

`numpy.mean` and its like end in `result.dtype.type(result)`. NumPy's own float64 would refuse a
number with a derivative there (it has to: a plain float would drop it); this one passes it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FLOAT64 = np.dtype(np.float64)


class Float64:
    """Equal to `numpy.dtype("float64")`, and taken for it wherever NumPy asks for a dtype."""

    dtype = FLOAT64

    class type(np.float64):  # noqa: N801 - NumPy's name
        """What makes a `numpy.float64` of anything but of a number with a derivative."""

        def __new__(cls, number: Any = 0.0) -> Any:
            carries = isinstance(getattr(number, "dtype", None), Float64)
            return number if carries else np.float64(number)

    def __getattr__(self, name: str) -> Any:
        return getattr(FLOAT64, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Float64) or other == FLOAT64

    def __hash__(self) -> int:
        return hash(FLOAT64)

    def __repr__(self) -> str:
        return repr(FLOAT64)

    def __str__(self) -> str:
        return str(FLOAT64)


float64 = Float64()
