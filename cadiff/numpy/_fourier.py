"""Discrete Fourier transforms as linear maps: plain arrays in, plain arrays out.

A complex array is two real ones, its parts. With F for the sums of NumPy's documentation of
`numpy.fft`, and a star for the conjugated transpose, the maps and their adjoints are:

- `spectrum`, F, whose adjoint is F*: the sums with i for -i, of the same factor. So it is the
  inverse transform with the norms "backward" and "forward" exchanged.
- `spectrum_of_real`, F of real numbers, whose adjoint is `real_of_spectrum`, Re F*. Both are of
  half the work: one spectrum is symmetric, X[-k] = conj(X[k]), and of the other only the symmetric
  part counts.
- `half`, the first half of F of real numbers, whose adjoint is `of_half`, Re F* of a half. As the
  inverse of real numbers (`irfft`), `of_half` takes its inner bins twice, and `half` takes them
  half: how often is `inner`.

Truncation and padding by zeros, by which lengths of axes become those that are transformed, are
adjoint to each other. The last one of the transformed axes is the one that has a half.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import resized
from ..operations.linear_maps import linear

Real = NDArray[np.float64]
Parts = tuple[Real, Real]
Options = tuple[tuple[str, Any], ...]

# The norm of the transform the other way that has the same factor.
EXCHANGED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}

LARGE = 2048  # numbers, from which on half a spectrum is made sooner than a whole one


def _ufunc(name: str) -> np.ufunc | None:
    """What functions of `numpy.fft` come to after checks of arguments, which have been made here.

    These take a quarter of the time of a thousand numbers. It is private to NumPy: None where it
    is not there, or takes something else than rows and a factor.
    """
    ufunc = getattr(getattr(np.fft, "_pocketfft_umath", None), name, None)
    return ufunc if isinstance(ufunc, np.ufunc) and ufunc.nin == 2 else None


_ufuncs = {name: _ufunc(name) for name in ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")}


@functools.lru_cache(maxsize=256)
def _factors(lengths: tuple[int, ...], norm: str, is_inverse: bool) -> tuple[float, ...]:
    """What the sums along axes are multiplied by."""
    if norm == "ortho":
        return tuple([1.0 / math.sqrt(n) for n in lengths])
    return tuple([1.0 / n if (norm == "backward") == is_inverse else 1.0 for n in lengths])


@functools.cache
def _function(library: str, name: str) -> Callable[..., NDArray[Any]]:
    return getattr(importlib.import_module(library), name)  # type: ignore[no-any-return]


class Transform(NamedTuple):
    """Which transform of an array it is.

    Attributes
    ----------
    library : str
        The module that computes it.
    axes, lengths : tuple of int
        What is transformed: axes counted from the front, and the lengths of real numbers and of
        whole spectra, to which the array is truncated or padded.
    norm : str
        Which of the directions has the factor: "backward", "ortho" or "forward".
    is_inverse : bool
        The direction, of whole spectra.
    inner : float
        What inner bins of half a spectrum are multiplied by.
    sizes : tuple of int
        The lengths to which results are truncated or padded; () for those that they have.
    options : tuple
        Further arguments of the library's functions, as pairs.
    """

    library: str
    axes: tuple[int, ...]
    lengths: tuple[int, ...]
    norm: str
    is_inverse: bool = False
    inner: float = 1.0
    sizes: tuple[int, ...] = ()
    options: Options = ()

    def run(self, name: str, x: NDArray[Any], norm: str, *here: Any) -> NDArray[Any]:
        """What a function of the library, or its namesake for several axes, gives.

        `here`, for those of complex arrays, is what has the result written to x itself.
        """
        options = dict(self.options)
        if len(self.axes) == 1:
            function = _function(self.library, name)
            return function(x, self.lengths[0], self.axes[0], norm, *here, **options)
        function = _function(self.library, name + "n")
        return function(x, self.lengths, self.axes, norm, *here, **options)

    @functools.lru_cache(maxsize=256)  # noqa: B019 - of tuples
    def turned(self, shape: tuple[int, ...], inner: float = 1.0) -> Transform:
        """The adjoint, of arrays of a shape."""
        return self._replace(
            norm=EXCHANGED[self.norm],
            is_inverse=not self.is_inverse,
            inner=inner,
            sizes=tuple([shape[axis] for axis in self.axes]),
        )


# --- truncated and padded -----------------------------------------------------------------


def at(axis: int, key: Any) -> Any:
    """The index of a place, or a part, along an axis."""
    return (slice(None),) * axis + (key,)


def parts(t: Transform, z: NDArray[np.complex128]) -> Parts:
    """Both parts of a complex result."""
    return resized(z.real, t.axes, t.sizes), resized(z.imag, t.axes, t.sizes)


def scale_inner(t: Transform, z: NDArray[np.complex128]) -> None:
    """Multiply the bins of half a spectrum that stand for two."""
    if t.inner != 1.0:
        z[at(t.axes[-1], slice(1, (t.lengths[-1] + 1) // 2))] *= t.inner


def _mirrored(x: Real, axes: tuple[int, ...], first: int, end: int) -> Real:
    """x[-k] along axes, of the last of them for k from first to end."""
    for axis in {*axes}:
        k = np.arange(first, end) if axis == axes[-1] else np.arange(x.shape[axis])
        x = np.take(x, -k, axis)
    return x


def _half_of(re: Real, im: Real, axes: tuple[int, ...], sign: float) -> NDArray[Any]:
    """The half of the symmetric part of a spectrum, (X[k] + conj(X[-k])) / 2."""
    count = re.shape[axes[-1]] // 2 + 1
    here = at(axes[-1], slice(count))
    a, b = (_mirrored(x, axes, 0, count) for x in (re, im))
    half: NDArray[Any] = binding.make_complex(0.5 * (re[here] + a), 0.5 * sign * (im[here] - b))
    return half


def _whole_of(x: Real, axes: tuple[int, ...], length: int, sign: float) -> Real:
    """A part of a spectrum by that of the half of it, X[-k] being conj(X[k])."""
    rest = _mirrored(x, axes, x.shape[axes[-1]] - length, 0)
    return np.concatenate([x, sign * rest], axes[-1])


# --- the maps ------------------------------------------------------------------------------------


@linear
def spectrum(t: Transform, re: Real, im: Real) -> Parts:
    if im.size >= LARGE and binding.are_zeros(im):
        return _spectrum_of_real(t, re)
    name = "ifft" if t.is_inverse else "fft"
    ufunc = _ufuncs[name] if t.library == "numpy.fft" else None
    if ufunc is not None:
        factors = _factors(t.lengths, t.norm, t.is_inverse)
        return binding.transformed(ufunc, factors, re, im, t.axes, t.lengths, t.sizes)
    z = binding.make_complex(resized(re, t.axes, t.lengths), resized(im, t.axes, t.lengths))
    here = True if t.library == "scipy.fft" else z  # overwrite_x, or out
    return parts(t, t.run(name, z, t.norm, here))


@linear
def spectrum_of_real(t: Transform, x: Real) -> Parts:
    return _spectrum_of_real(t, x)


def _spectrum_of_real(t: Transform, x: Real) -> Parts:
    half = t.run("rfft", x, EXCHANGED[t.norm] if t.is_inverse else t.norm)
    turned = -half.imag if t.is_inverse else half.imag
    re, im = (
        _whole_of(x, t.axes, t.lengths[-1], sign) for x, sign in ((half.real, 1.0), (turned, -1.0))
    )
    return resized(re, t.axes, t.sizes), resized(im, t.axes, t.sizes)


@linear
def real_of_spectrum(t: Transform, re: Real, im: Real) -> tuple[Real]:
    """By the half of what is symmetric in the spectrum, which all else does not change."""
    re, im = resized(re, t.axes, t.lengths), resized(im, t.axes, t.lengths)
    half = _half_of(re, im, t.axes, 1.0 if t.is_inverse else -1.0)
    half = half.astype(np.complex64) if binding.is_single(re) else half
    x = t.run("irfft", half, t.norm if t.is_inverse else EXCHANGED[t.norm])
    return (resized(x, t.axes, t.sizes),)


@linear
def half(t: Transform, x: Real) -> Parts:
    z = t.run("rfft", x, t.norm)
    scale_inner(t, z)
    return parts(t, z)


@linear
def of_half(t: Transform, re: Real, im: Real) -> tuple[Real]:
    z = binding.make_complex(re, im)
    scale_inner(t, z)
    return (resized(t.run("irfft", z, t.norm), t.axes, t.sizes),)


spectrum.adjoint = lambda t, shape: (spectrum, t.turned(shape))
spectrum_of_real.adjoint = lambda t, shape: (real_of_spectrum, t.turned(shape))
real_of_spectrum.adjoint = lambda t, shape: (spectrum_of_real, t.turned(shape))
half.adjoint = lambda t, shape: (of_half, t.turned(shape, t.inner / 2.0))
of_half.adjoint = lambda t, shape: (half, t.turned(shape, t.inner * 2.0))

spectrum.called = spectrum_of_real.called = real_of_spectrum.called = "fft or ifft"
half.called, of_half.called = "rfft", "irfft"


# --- in programs ---------------------------------------------------------------------------------

NO_HALF, HALF_RESULT, HALF_OPERAND = range(3)
MANY = 32768  # numbers, from which on half the work saves more than a call of Python costs


def _in_c(
    t: Transform, shape: tuple[int, ...], n_operands: int, n_results: int, half: int
) -> binding.Transformation | None:
    """What carries a map out in programs, of arrays of a shape; None if that takes Python."""
    is_inverse = half == HALF_OPERAND or (half == NO_HALF and t.is_inverse)
    whole, halving = _ufuncs["ifft" if is_inverse else "fft"], None
    if half == HALF_RESULT:
        halving = _ufuncs["rfft_n_odd" if t.lengths[-1] % 2 else "rfft_n_even"]
    elif half == HALF_OPERAND:
        halving = _ufuncs["irfft"]
    is_once = len(set(t.axes)) == len(t.axes)
    if whole is None or (half and halving is None) or not is_once or len(shape) > MOST_AXES:
        return None
    real = dict(zip(t.axes, t.lengths, strict=True))
    bins = real | ({t.axes[-1]: t.lengths[-1] // 2 + 1} if half else {})
    ends = dict(zip(t.axes, t.sizes, strict=False)) or (bins if half == HALF_RESULT else real)
    lengths, to = (tuple(at.get(k, n) for k, n in enumerate(shape)) for at in (bins, ends))
    factors = _factors(t.lengths, t.norm, is_inverse)
    parts = n_operands, n_results, half, t.lengths[-1], t.inner
    return binding.Transformation((whole, halving), shape, lengths, to, t.axes, factors, *parts)


MOST_AXES = 8

for _map, _parts in (
    (spectrum, (2, 2, NO_HALF)),
    (spectrum_of_real, (1, 2, NO_HALF)),
    (real_of_spectrum, (2, 1, NO_HALF)),
    (half, (1, 2, HALF_RESULT)),
    (of_half, (2, 1, HALF_OPERAND)),
):
    # SciPy's are not called; and eager transforms between real and complex numbers take half.
    _halves = _map in (spectrum_of_real, real_of_spectrum)
    _map.loop = lambda *_, how, shape, parts=_parts, halves=_halves: (
        None if halves and math.prod(shape) >= MANY else _in_c(how, shape, *parts)
    )
    _map.loop_rounds = lambda *_, how, shape, halves=_halves: halves or how.library == "scipy.fft"
