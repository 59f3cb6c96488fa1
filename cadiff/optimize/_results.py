"""Results of optimisers: SciPy's, which notebooks show as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from ..inspection.texts import abridged, number_text
from ..transforms._pages import page

_FIRST = ("message", "success", "status", "fun", "cost", "x", "nit", "nfev", "njev", "nhev")


class Result(optimize.OptimizeResult):  # type: ignore[misc]  # without stubs it is Any
    """A `scipy.optimize.OptimizeResult`, with a table for notebooks."""

    def _repr_html_(self) -> str:
        names = [name for name in _FIRST if name in self]
        names += [name for name in self if name not in names]
        return page(type(self).__name__, [(str(name), _shown(self[name])) for name in names])


def as_result(result: Any) -> Any:
    """A result of SciPy's own class as one of ours; others as they are."""
    return Result(result) if type(result) is optimize.OptimizeResult else result


def _shown(item: Any) -> str:
    """A value on one line."""
    if isinstance(item, float):
        return number_text(item)
    if isinstance(item, np.ndarray) and item.dtype != object:
        return abridged(item) if item.ndim else str(item)
    return " ".join(repr(item).split()) if not isinstance(item, str) else item
