"""`numpy.fft` for numbers with derivatives, real and complex: what it redefines is differentiated.

Transforms are linear, so derivatives are transforms again: see `_transforms`. Real numbers are
transformed as such, which is half the work. `transform` and its like are what `cadiff.scipy.fft`
is made of, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from numpy import fft as _fft
from numpy.lib.array_utils import normalize_axis_index

from .. import binding
from ..binding import Complex, is_nothing
from ..binding import make_complex as paired
from ..operations.complexes import (
    conjugate,
    implements_complex,
    joined,
    parts,
    whole_parts,
)
from ..operations.dispatch import implements
from ._common import Axis, Number, rearranged, refuse
from ._transforms import (
    EXCHANGED,
    Options,
    Transform,
    half,
    of_half,
    spectrum,
    spectrum_of_real,
)

__all__ = _fft.__all__

fftfreq, rfftfreq = _fft.fftfreq, _fft.rfftfreq

Lengths = Sequence[int | None] | None
Name = str | None


def implements_all(*originals: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the one that differentiates `originals`, by real and by complex numbers."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return implements(*originals)(implements_complex(*originals)(function))

    return decorate


# --- any library's -------------------------------------------------------------------------------


def number(x: Any) -> Number:
    """An argument as an array of numbers, real or complex."""
    return x if isinstance(x, Complex) else binding.single(joined(x))


@functools.lru_cache(maxsize=256)
def made(
    library: str,
    axes: tuple[int, ...],
    lengths: tuple[int, ...],
    norm: Name,
    options: Options,
) -> Transform:
    """The transform with checked arguments."""
    norm = norm or "backward"
    if norm not in EXCHANGED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    for n in lengths:
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return Transform(library, axes, lengths, norm, options=options)


def one_axis(
    library: str,
    x: Any,
    n: int | None,
    axis: int,
    norm: Name,
    of_half: bool = False,
    options: Options = (),
) -> tuple[Number, Transform]:
    """The number that is transformed, and its transform along one axis.

    Without n the length is that of the axis; `of_half` says that it is of half a spectrum.
    """
    x = number(x)
    length = None if n is None else index(n)
    return x, along(library, binding.shape(x), length, index(axis), norm, of_half, options)


@functools.lru_cache(maxsize=256)
def along(
    library: str,
    shape: tuple[int, ...],
    length: int | None,
    axis: int,
    norm: Name,
    of_half: bool,
    options: Options,
) -> Transform:
    """The transform of arrays of a shape along one axis."""
    place = normalize_axis_index(axis, len(shape))
    if length is None:
        length = 2 * (shape[place] - 1) if of_half else shape[place]
    return made(library, (place,), (length,), norm, options)


def some_axes(
    library: str,
    x: Any,
    s: Lengths,
    axes: Axis,
    norm: Name,
    of_half: bool = False,
    options: Options = (),
) -> tuple[Number, Transform]:
    """The number that is transformed, and its transform along several axes.

    Without axes those are the last ones, as many as there are lengths, or all. A length of -1 or
    None is that of the axis; `of_half` says that the last one is of half a spectrum.
    """
    x = number(x)
    shape = binding.shape(x)
    if axes is None:
        axes = range(len(shape)) if s is None else range(-len(_items(s)), 0)
    places = [normalize_axis_index(index(k), len(shape)) for k in _items(axes)]
    lengths = [shape[k] for k in places]
    if s is None and of_half and lengths:
        lengths[-1] = 2 * (lengths[-1] - 1)
    elif s is not None:
        s = _items(s)
        if len(s) != len(places):
            raise ValueError("Shape and axes have different lengths.")
        lengths = [
            have if n is None or index(n) == -1 else index(n)
            for n, have in zip(s, lengths, strict=True)
        ]
    return x, made(library, tuple(places), tuple(lengths), norm, options)


def _items(x: Any) -> Any:
    return x if isinstance(x, (tuple, list, range)) else (x,)


def one_by_one(
    transform: Callable[[Number, Transform], Number], x: Number, t: Transform
) -> Number:
    """A transform along axes some of which are named more than once."""
    for axis, length in zip(t.axes[::-1], t.lengths[::-1], strict=True):
        x = transform(x, t._replace(axes=(axis,), lengths=(length,)))
    return x


def whole(x: Number, t: Transform, is_inverse: bool = False) -> Number:
    """The transform of complex numbers: `fft` and `ifft`."""
    if len(t.axes) > 1 and len(set(t.axes)) != len(t.axes):
        return one_by_one(lambda x, t: whole(x, t, is_inverse), x, t)
    if not t.axes:
        return x
    if is_inverse:
        t = t._replace(is_inverse=True)
    re, im = parts(x)
    if is_nothing(im):
        return paired(*spectrum_of_real(t, re))
    if is_nothing(re):
        re, im = spectrum_of_real(t, im)
        return paired(-im, re)
    return paired(*spectrum(t, re, im))


def real_to_half(x: Number, t: Transform) -> Number:
    """The transform of real numbers: `rfft`."""
    if not t.axes:
        raise IndexError("at least one axis is transformed")
    *others, last = t.axes
    if len(set(t.axes)) != len(t.axes):
        x = real_to_half(x, t._replace(axes=(last,), lengths=t.lengths[-1:]))
        return one_by_one(whole, x, t._replace(axes=tuple(others), lengths=t.lengths[:-1]))
    return paired(*half(t, x))


def half_to_real(x: Number, t: Transform) -> Number:
    """The transform of half a spectrum to real numbers: `irfft`."""
    if not t.axes:
        raise IndexError("at least one axis is transformed")
    if len(set(t.axes)) != len(t.axes):
        rest = t._replace(axes=t.axes[-2::-1], lengths=t.lengths[-2::-1])
        x = one_by_one(lambda x, t: whole(x, t, True), x, rest)
        return half_to_real(x, t._replace(axes=t.axes[-1:], lengths=t.lengths[-1:]))
    return of_half(t, *whole_parts(x))[0]


def symmetric_to_real(x: Number, t: Transform) -> Number:
    """The transform of half a signal that is symmetric, so that the spectrum is real: `hfft`."""
    return half_to_real(conjugate(x), t._replace(norm=EXCHANGED[t.norm]))


def real_to_symmetric(x: Number, t: Transform) -> Number:
    """The half of the inverse transform of real numbers: `ihfft`."""
    return conjugate(real_to_half(x, t._replace(norm=EXCHANGED[t.norm])))


# --- NumPy's -------------------------------------------------------------------------------------

NUMPY = "numpy.fft"


@implements_all(_fft.fft)
def fft(a: Any, n: int | None = None, axis: int = -1, norm: Name = None, out: None = None) -> Any:
    """The discrete Fourier transform, as `numpy.fft.fft`."""
    if out is not None:
        refuse("fft.fft", out=out)
    return whole(*one_axis(NUMPY, a, n, axis, norm))


@implements_all(_fft.ifft)
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: Name = None, out: None = None) -> Any:
    """The inverse transform, as `numpy.fft.ifft`."""
    if out is not None:
        refuse("fft.ifft", out=out)
    return whole(*one_axis(NUMPY, a, n, axis, norm), is_inverse=True)


@implements(_fft.rfft)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: Name = None, out: None = None) -> Any:
    """The first half of the spectrum of real numbers, as `numpy.fft.rfft`."""
    if out is not None:
        refuse("fft.rfft", out=out)
    return real_to_half(*one_axis(NUMPY, a, n, axis, norm))


@implements_all(_fft.irfft)
def irfft(
    a: Any, n: int | None = None, axis: int = -1, norm: Name = None, out: None = None
) -> Any:
    """The real numbers of half a spectrum, as `numpy.fft.irfft`."""
    if out is not None:
        refuse("fft.irfft", out=out)
    return half_to_real(*one_axis(NUMPY, a, n, axis, norm, of_half=True))


@implements_all(_fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: Name = None, out: None = None) -> Any:
    """The real spectrum of a symmetric signal, given its half, as `numpy.fft.hfft`."""
    if out is not None:
        refuse("fft.hfft", out=out)
    return symmetric_to_real(*one_axis(NUMPY, a, n, axis, norm, of_half=True))


@implements(_fft.ihfft)
def ihfft(
    a: Any, n: int | None = None, axis: int = -1, norm: Name = None, out: None = None
) -> Any:
    """Half the symmetric signal of a real spectrum, as `numpy.fft.ihfft`."""
    if out is not None:
        refuse("fft.ihfft", out=out)
    return real_to_symmetric(*one_axis(NUMPY, a, n, axis, norm))


@implements_all(_fft.fftn)
def fftn(a: Any, s: Lengths = None, axes: Axis = None, norm: Name = None, out: None = None) -> Any:
    """The transform along several axes, as `numpy.fft.fftn`."""
    if out is not None:
        refuse("fft.fftn", out=out)
    return whole(*some_axes(NUMPY, a, s, axes, norm))


@implements_all(_fft.ifftn)
def ifftn(
    a: Any, s: Lengths = None, axes: Axis = None, norm: Name = None, out: None = None
) -> Any:
    """The inverse transform along several axes, as `numpy.fft.ifftn`."""
    if out is not None:
        refuse("fft.ifftn", out=out)
    return whole(*some_axes(NUMPY, a, s, axes, norm), is_inverse=True)


@implements(_fft.rfftn)
def rfftn(
    a: Any, s: Lengths = None, axes: Axis = None, norm: Name = None, out: None = None
) -> Any:
    """The spectrum of real numbers along several axes, as `numpy.fft.rfftn`."""
    if out is not None:
        refuse("fft.rfftn", out=out)
    return real_to_half(*some_axes(NUMPY, a, s, axes, norm))


@implements_all(_fft.irfftn)
def irfftn(
    a: Any, s: Lengths = None, axes: Axis = None, norm: Name = None, out: None = None
) -> Any:
    """The real numbers of half a spectrum along several axes, as `numpy.fft.irfftn`."""
    if out is not None:
        refuse("fft.irfftn", out=out)
    return half_to_real(*some_axes(NUMPY, a, s, axes, norm, of_half=True))


LAST_TWO = (-2, -1)


@implements_all(_fft.fft2)
def fft2(
    a: Any, s: Lengths = None, axes: Axis = LAST_TWO, norm: Name = None, out: None = None
) -> Any:
    """The transform along two axes, as `numpy.fft.fft2`."""
    return fftn(a, s, axes, norm, out)


@implements_all(_fft.ifft2)
def ifft2(
    a: Any, s: Lengths = None, axes: Axis = LAST_TWO, norm: Name = None, out: None = None
) -> Any:
    """The inverse transform along two axes, as `numpy.fft.ifft2`."""
    return ifftn(a, s, axes, norm, out)


@implements(_fft.rfft2)
def rfft2(
    a: Any, s: Lengths = None, axes: Axis = LAST_TWO, norm: Name = None, out: None = None
) -> Any:
    """The spectrum of real numbers along two axes, as `numpy.fft.rfft2`."""
    return rfftn(a, s, axes, norm, out)


@implements_all(_fft.irfft2)
def irfft2(
    a: Any, s: Lengths = None, axes: Axis = LAST_TWO, norm: Name = None, out: None = None
) -> Any:
    """The real numbers of half a spectrum along two axes, as `numpy.fft.irfft2`."""
    return irfftn(a, s, axes, norm, out)


# --- shifts --------------------------------------------------------------------------------------


def shifted(original: Callable[..., Any], x: Any, axes: Axis) -> Any:
    if binding.holds_complex(x):
        return paired(*(shifted(original, part, axes) for part in whole_parts(x)))
    return rearranged(lambda p: original(p, axes), x)


@implements_all(_fft.fftshift)
def fftshift(x: Any, axes: Axis = None) -> Any:
    """The zero frequency moved to the middle, as `numpy.fft.fftshift`."""
    return shifted(_fft.fftshift, x, axes)


@implements_all(_fft.ifftshift)
def ifftshift(x: Any, axes: Axis = None) -> Any:
    """The zero frequency moved back to the front, as `numpy.fft.ifftshift`."""
    return shifted(_fft.ifftshift, x, axes)


def __getattr__(name: str) -> Any:
    return getattr(_fft, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_fft)})
