"""Cosine, sine and Hankel transforms as programs compute them: by Fourier transforms.

Those have loops that C can call (see `numpy/_fourier.py`), which SciPy's own do not show. Values
are the same to rounding. All functions go along the last axis. The cosine transforms of the types
2 and 3, the usual ones, take one transform of n real numbers: J. Makhoul, "A fast cosine transform
in one and two dimensions", IEEE Trans. ASSP 28 (1980).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..numpy._fourier import Transform, half, of_half, spectrum
from ..operations.arrays import concatenate

Number = Any


def _along_last(x: Number, n: int, size: int) -> Transform:
    """The transform of length n of an array, truncated to a size."""
    return Transform("numpy.fft", (binding.ndim(x) - 1,), (n,), "backward", sizes=(size,))


def _half(x: Number) -> tuple[Number, Number]:
    """Both parts of half the spectrum of real numbers."""
    n = binding.shape(x)[-1]
    re, im = half(_along_last(x, n, n // 2 + 1), x)
    return re, im


def _turn(angle: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    return 2.0 * np.cos(angle), 2.0 * np.sin(angle)


def _cosines_2(x: Number) -> Number:
    n = binding.shape(x)[-1]
    re, im = _half(concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1))
    cos, sin = _turn(math.pi / (2 * n) * np.arange(n // 2 + 1))
    return concatenate(
        [re * cos + im * sin, (re * sin - im * cos)[..., (n - 1) // 2 : 0 : -1]], -1
    )


def _cosines_3(x: Number) -> Number:
    """The transposed of type 2, but for the first element, which counts half."""
    *outer, n = binding.shape(x)
    last, none = n // 2 + 1, np.zeros((*outer, 1))
    cos, sin = _turn(math.pi / (2 * n) * np.arange(last))
    cos[0] *= 0.5
    ends = [none] if n % 2 or n == 1 else [none, none]
    even = x[..., :last]
    odd = concatenate([ends[0], x[..., : last - 1 : -1], *ends[1:]], -1)
    transform, how = half.adjoint(_along_last(x, n, last), (*outer, n))
    return _interleaved(transform(how, cos * even + sin * odd, sin * even - cos * odd)[0])


def _cosines_4(x: Number) -> Number:
    """Of n / 2 complex numbers, if n is even; else of 2 n, half of which are 0."""
    n = binding.shape(x)[-1]
    k = np.arange(n)
    if n % 2:
        a, b = _times(x, None, math.pi / (2 * n) * k)
        re, im = spectrum(_along_last(x, 2 * n, n), a, b)
        return 2.0 * _times(re, im, math.pi / (4 * n) * (2 * k + 1))[0]
    k = k[: n // 2]
    a, b = _times(x[..., ::2], x[..., ::-2], math.pi / (4 * n) * (4 * k + 1))
    re, im = spectrum(_along_last(a, n // 2, n // 2), a, b)
    re, im = _times(re, im, math.pi / n * k)
    return 2.0 * _interleaved(concatenate([re, -im], -1))


def _times(re: Number, im: Number, angle: NDArray[Any]) -> tuple[Number, Number]:
    """Both parts of complex numbers times exp(-i angle)."""
    cos, sin = np.cos(angle), np.sin(angle)
    if im is None:
        return re * cos, re * -sin
    return re * cos + im * sin, im * cos - re * sin


def _interleaved(x: Number) -> Number:
    """The first half at even places, the second one, backwards, at odd ones."""
    n = binding.shape(x)[-1]
    places = np.empty(n, int)
    places[::2], places[1::2] = np.arange((n + 1) // 2), np.arange(n - 1, (n - 1) // 2, -1)
    return x[..., places]


def _sines_1(x: Number) -> Number:
    *outer, n = binding.shape(x)
    none = np.zeros((*outer, 1))
    return -_half(concatenate([none, x, none, -x[..., ::-1]], -1))[1][..., 1 : n + 1]


def _alternating(x: Number) -> Number:
    return x * (1.0 - 2.0 * (np.arange(binding.shape(x)[-1]) % 2))


# Without factors, for a length of 2 and more.
TRANSFORMS: dict[tuple[str, int], Callable[[Number], Number]] = {
    ("dct", 1): lambda x: _half(concatenate([x, x[..., -2:0:-1]], -1))[0],
    ("dct", 2): _cosines_2,
    ("dct", 3): _cosines_3,
    ("dct", 4): _cosines_4,
    ("dst", 1): _sines_1,
    ("dst", 2): lambda x: _cosines_2(_alternating(x))[..., ::-1],
    ("dst", 3): lambda x: _alternating(_cosines_3(x[..., ::-1])),
    ("dst", 4): lambda x: _alternating(_cosines_4(x[..., ::-1])),
}


def convolved(x: Number, kernel: NDArray[np.float64], power: NDArray[np.float64]) -> Number:
    """A cyclic convolution, read backwards, between two scalings by powers."""
    n = binding.shape(x)[-1]
    transformed = np.fft.rfft(kernel)
    a, b = transformed.real, transformed.imag
    re, im = _half(x * power)
    product = of_half(_along_last(x, n, n), re * a - im * b, re * b + im * a)
    return product[0][..., ::-1] * power
