"""Types of spectra: see spectra.pyx."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def are_zeros(x: NDArray[np.float64]) -> bool: ...
def half_of_spectrum(
    re: Any, im: Any, axes: tuple[int, ...], conjugate: bool
) -> NDArray[np.complex128]: ...
def whole_of_spectrum(
    half: Any, axes: tuple[int, ...], length: int, conjugate: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def transformed(
    ufunc: Any,
    factors: tuple[float, ...],
    re: NDArray[np.float64],
    im: NDArray[np.float64],
    axes: tuple[int, ...],
    lengths: tuple[int, ...],
    sizes: tuple[int, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def resized(
    x: NDArray[np.float64], axes: tuple[int, ...], sizes: tuple[int, ...]
) -> NDArray[np.float64]: ...
