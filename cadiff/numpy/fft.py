"""`numpy.fft` for plain arrays. Transforms of numbers with derivatives are not supported."""

from __future__ import annotations

from typing import Any

from numpy import fft as _fft

from ._refusals import refusing as _refusing

__all__ = _fft.__all__


def __getattr__(name: str) -> Any:
    item = getattr(_fft, name)
    if name.startswith("_") or not callable(item):
        return item
    return _refusing(item, f"numpy.fft.{name}", "complex numbers carry no derivatives here")
