"""Types of spectra: see spectra.pyx."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def half_of_spectrum(
    re: Any, im: Any, axes: tuple[int, ...], conjugate: bool
) -> NDArray[np.complex128]: ...
def whole_of_spectrum(
    half: Any, axes: tuple[int, ...], length: int, conjugate: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def resized(
    x: NDArray[np.float64], axes: tuple[int, ...], sizes: tuple[int, ...]
) -> NDArray[np.float64]: ...
