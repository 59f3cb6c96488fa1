"""Take the blur out of a photograph: Fourier transforms in a function of 9,216 pixels."""

import sys

import numpy as np
from sklearn.datasets import load_sample_image

import cadiff
import cadiff.numpy as cnp
from cadiff.optimize import minimize

SHAPE, WIDTH, NOISE = (96, 96), 1.5, 0.01
WEIGHT, ROUNDING = 1e-3, 1e-2

# A piece of a photograph of a flower, which scikit-learn ships, its greys from 0 to 1.
photograph = load_sample_image("flower.jpg")[120:216, 180:276].mean(axis=2) / 255.0

# The blur is a bell around the corner, periodic as the transform is; K is its spectrum.
rows, columns = (np.fft.fftfreq(n, 1.0 / n) for n in SHAPE)
bell = np.exp(-(rows[:, None] ** 2 + columns**2) / (2.0 * WIDTH**2))
K = np.fft.rfft2(bell / bell.sum())


def blur(image):
    return cnp.fft.irfft2(cnp.fft.rfft2(image) * K, SHAPE)


blurred = blur(photograph) + NOISE * np.random.default_rng(0).normal(size=SHAPE)


def loss(image):
    """The squared misfit and the total variation, whose edges are rounded off a little."""
    misfit = blur(image) - blurred
    down, right = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
    return cnp.sum(misfit**2) + WEIGHT * cnp.sum(cnp.sqrt(down**2 + right**2 + ROUNDING**2))


def gradient_by_hand(image):
    """Twice the adjoint of the blur, whose spectrum is conj(K), of the misfit; and all slopes."""
    misfit = blur(image) - blurred
    gradient = np.fft.irfft2(np.fft.rfft2(2.0 * misfit) * K.conj(), SHAPE)
    down, right = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
    length = np.sqrt(down**2 + right**2 + ROUNDING**2) / WEIGHT
    gradient[1:, :-1] += down / length
    gradient[:-1, 1:] += right / length
    gradient[:-1, :-1] -= (down + right) / length
    return gradient


def error(image):
    return np.sqrt(np.mean((image - photograph) ** 2))


assert np.allclose(cadiff.grad(loss)(blurred), gradient_by_hand(blurred), rtol=0.0, atol=1e-13)
result = minimize(loss, blurred, method="L-BFGS-B", options={"maxiter": 120})
print(f"loss {loss(blurred):.3f} -> {result.fun:.3f} after {result.nit} iterations")

# The best linear filter is Wiener's. It is told the true spectrum of the photograph, and loses.
signal, noise = np.abs(np.fft.rfft2(photograph)) ** 2, NOISE**2 * photograph.size
wiener = np.fft.irfft2(np.fft.rfft2(blurred) * K.conj() / (np.abs(K) ** 2 + noise / signal), SHAPE)
print(f"errors: blurred {error(blurred):.4f}, by Wiener's filter {error(wiener):.4f}, ", end="")
print(f"sharpened {error(result.x):.4f}")
assert error(result.x) < error(wiener) < error(blurred)


def draw(path):
    from matplotlib import pyplot as plt

    titles = ["photograph", "blurred, with noise", "Wiener's filter", "sharpened"]
    images = [photograph, blurred, wiener, result.x]
    figure, panels = plt.subplots(1, 4, figsize=(7.0, 1.95), layout="constrained")
    for axes, title, image in zip(panels, titles, images, strict=True):
        axes.imshow(image, cmap="gray", vmin=0.0, vmax=1.0)
        axes.set_title(title, fontsize=9)
        axes.axis("off")
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
