"""`numpy.fft` for plain arrays; of numbers with derivatives the shifts, and no transforms."""

from __future__ import annotations

from typing import Any

from numpy import fft as _fft

from ..operations.dispatch import implements
from ._common import Axis, Number, rearranged
from ._refusals import refusing as _refusing

__all__ = _fft.__all__


@implements(_fft.fftshift)
def fftshift(x: Any, axes: Axis = None) -> Number:
    """The zero frequency moved to the middle, as `numpy.fft.fftshift`."""
    return rearranged(lambda p: _fft.fftshift(p, axes), x)


@implements(_fft.ifftshift)
def ifftshift(x: Any, axes: Axis = None) -> Number:
    """The zero frequency moved back to the front, as `numpy.fft.ifftshift`."""
    return rearranged(lambda p: _fft.ifftshift(p, axes), x)


def __getattr__(name: str) -> Any:
    item = getattr(_fft, name)
    if name.startswith("_") or not callable(item):
        return item
    return _refusing(item, f"numpy.fft.{name}", "complex numbers carry no derivatives here")
