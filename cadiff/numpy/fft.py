"""`numpy.fft` for numbers with derivatives, real and complex: what it redefines is differentiated.

Transforms are linear, so derivatives are transforms again: see `_fourier`. Real numbers are
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
from ..operations.complexes import conjugate, implements_all, joined, parts, whole_parts
from ..operations.dispatch import implements
from ._common import Axis, Number, refuse
from ._fourier import EXCHANGED, Options, Transform, half, of_half, spectrum, spectrum_of_real
from ._own import own

__all__ = _fft.__all__

fftfreq, rfftfreq = _fft.fftfreq, _fft.rfftfreq

Lengths = Sequence[int | None] | None
Name = str | None


# --- any library's -------------------------------------------------------------------------------


def number(x: Any) -> Number:
    """An argument as an array of numbers, real or complex."""
    return x if isinstance(x, Complex) else binding.single(joined(x))


@functools.lru_cache(maxsize=256)
def made(
    library: str, axes: tuple[int, ...], lengths: tuple[int, ...], norm: Name, options: Options
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
REAL = (real_to_half, real_to_symmetric)  # of real numbers alone


def named(function: Callable[..., Any], original: Any, transform: Any, what: str = "") -> Any:
    """A function of a library's, registered for the numbers that its transform takes."""
    function.__qualname__, function.__doc__ = original.__name__, what
    return (implements if transform in REAL else implements_all)(original)(function)


def _along_one(original: Any, transform: Any, of_half: bool) -> Any:
    """A function of NumPy's that transforms along one axis."""
    name = original.__name__

    def function(
        a: Any, n: int | None = None, axis: int = -1, norm: Name = None, out: None = None
    ) -> Any:
        if out is not None:
            refuse(f"fft.{name}", out=out)
        return transform(*one_axis(NUMPY, a, n, axis, norm, of_half))

    return named(function, original, transform)


def _along_several(original: Any, transform: Any, of_half: bool, default: Axis) -> Any:
    """A function of NumPy's that transforms along several axes, by default all, or two."""
    name = original.__name__

    def function(
        a: Any, s: Lengths = None, axes: Axis = default, norm: Name = None, out: None = None
    ) -> Any:
        if out is not None:
            refuse(f"fft.{name}", out=out)
        return transform(*some_axes(NUMPY, a, s, axes, norm, of_half))

    return named(function, original, transform)


TWO = (-2, -1)  # the last axes
ONE = {  # with whether they take half a spectrum
    "fft": (whole, False),
    "ifft": (functools.partial(whole, is_inverse=True), False),
    "rfft": (real_to_half, False),
    "irfft": (half_to_real, True),
    "hfft": (symmetric_to_real, True),
    "ihfft": (real_to_symmetric, False),
}
for _name, _how in ONE.items():
    globals()[_name] = _along_one(getattr(_fft, _name), *_how)
for _name in ("fft", "ifft", "rfft", "irfft"):
    for _end, _axes in (("n", None), ("2", TWO)):
        _original = getattr(_fft, _name + _end)
        globals()[_name + _end] = _along_several(_original, *ONE[_name], _axes)

globals().update(own(_fft, "fftshift", "ifftshift"))


def __getattr__(name: str) -> Any:
    return getattr(_fft, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_fft)})
