"""Take the blur out of an image: Fourier transforms in a function that is minimised.

A sharp image x is found from a blurred and noisy one y by minimising ||irfft2(rfft2(x) K) - y||²
plus a multiple of the total variation of x, whose edges are rounded off a little. The gradient by
cadiff is compared with the one by hand, in which the adjoint of the blur is the blur with the
conjugate of K.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import cadiff
import cadiff.numpy as cnp

SHAPE = (32, 31)
WEIGHT, ROUNDING = 2e-3, 1e-3

Image = NDArray[np.float64]


def sharp_image() -> Image:
    """A square and a bar."""
    image = np.zeros(SHAPE)
    image[6:16, 5:15] = 1.0
    image[20:23, 8:26] = 0.7
    return image


def blur() -> NDArray[np.complex128]:
    """The spectrum of a bell of width 1.5 around the corner, periodic as the transform is."""
    rows, columns = (np.fft.fftfreq(n, 1.0 / n) for n in SHAPE)
    bell = np.exp(-(rows[:, None] ** 2 + columns**2) / (2.0 * 1.5**2))
    return np.fft.rfft2(bell / bell.sum())


K = blur()
BLURRED = np.fft.irfft2(np.fft.rfft2(sharp_image()) * K, SHAPE)
BLURRED += 0.01 * np.random.default_rng(0).normal(size=SHAPE)


def loss(x: Any) -> Any:
    """The squared misfit and the total variation of an image."""
    misfit = cnp.fft.irfft2(cnp.fft.rfft2(x) * K, SHAPE) - BLURRED
    down, right = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    return cnp.sum(misfit**2) + WEIGHT * cnp.sum(cnp.sqrt(down**2 + right**2 + ROUNDING**2))


def gradient_by_hand(x: Image) -> Image:
    """Twice the adjoint of the blur of the misfit, and the slopes of all differences."""
    misfit = np.fft.irfft2(np.fft.rfft2(x) * K, SHAPE) - BLURRED
    gradient = np.fft.irfft2(np.fft.rfft2(2.0 * misfit) * K.conj(), SHAPE)
    down, right = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    length = np.sqrt(down**2 + right**2 + ROUNDING**2) / WEIGHT
    gradient[1:, :-1] += down / length
    gradient[:-1, 1:] += right / length
    gradient[:-1, :-1] -= (down + right) / length
    return gradient


def main() -> None:
    """Minimise with a compiled gradient, and check that and the image."""
    value_and_grad = cadiff.compile(loss).value_and_grad

    def of_vector(v: Image) -> tuple[float, Image]:
        value, gradient = value_and_grad(v.reshape(SHAPE))
        return value, gradient.ravel()

    result = minimize(
        of_vector, BLURRED.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300}
    )
    found = result.x.reshape(SHAPE)
    expected = gradient_by_hand(found)
    assert np.allclose(cadiff.grad(loss)(found), expected, rtol=0.0, atol=1e-12)
    before, after = (np.sqrt(np.mean((x - sharp_image()) ** 2)) for x in (BLURRED, found))
    print(f"error of the blurred image {before:.3f}, of the sharpened one {after:.3f}")
    print(f"loss {result.fun:.5f} after {result.nit} iterations")
    assert after < 0.5 * before


if __name__ == "__main__":
    main()
