"""Problems over whole arrays beside those of `array_problems`, and their gradients by hand.

A function gets its namespace (``np`` is NumPy, or one that mirrors it); the gradients by hand are
written to be fast. This module must not import cadiff.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from benchmarks.array_problems import CAMERAS, Adjustment
from benchmarks.sequence_problems import FloatArray, Pulled

__all__ = [
    "Layer",
    "Mixture",
    "cross_entropy",
    "density",
    "layer_data",
    "layer_hessian",
    "mixture_data",
    "mixture_gradient",
    "network_loss",
    "option_price",
    "option_prices_gradient",
    "options_data",
    "pairs",
    "pairs_gradient",
    "pairs_of_rows",
    "reprojection",
    "seen_of_each",
    "squashed",
    "valleys",
    "valleys_gradient",
    "waves",
    "waves_gradient",
]


# A mixture of Gaussians


class Mixture(NamedTuple):
    """Weights, means and inverse factors of covariances; points; where elements of factors lie.

    Of a factor the first numbers are logarithms of its diagonal, the others lie below.
    """

    parameters: list[FloatArray]
    points: FloatArray
    places: NDArray[np.intp]


def mixture_data(dimensions: int, parts: int, points: int) -> Mixture:
    """So many parts, which overlap."""
    rng = np.random.default_rng(15)
    below = dimensions * (dimensions - 1) // 2
    parameters = [
        rng.standard_normal(parts),
        rng.standard_normal((parts, dimensions)),
        0.3 * rng.standard_normal((parts, dimensions + below)),
    ]
    places = np.full((dimensions, dimensions), dimensions + below)
    np.fill_diagonal(places, np.arange(dimensions))
    places[np.tril_indices(dimensions, -1)] = dimensions + np.arange(below)
    return Mixture(parameters, rng.standard_normal((points, dimensions)), places)


def density(np: Any, summed: Callable[[Any], Any], data: Mixture, parameters: Any) -> Any:
    """The logarithm of the density of all points, with a Wishart prior, constants left out.

    Objective of "ADBench: benchmarking and tools for automatic differentiation", Srajer, Kukelova
    and Fitzgibbon, Optimization Methods and Software 33 (2018). `summed` is logsumexp along the
    first axis.
    """
    weights, means, factors = parameters
    n, d = data.points.shape
    sums = np.sum(factors[:, :d], axis=1)
    scales, below = np.exp(factors[:, :d]), factors[:, d:]
    elements = np.concatenate([scales, below, np.zeros((len(weights), 1))], axis=1)
    lower = elements[:, data.places]
    apart = data.points[None, :, :] - means[:, None, :]
    turned = np.matmul(apart, np.swapaxes(lower, 1, 2))
    logs = (weights + sums)[:, None] - 0.5 * np.sum(turned**2, axis=2)
    prior = 0.5 * (np.sum(scales**2) + np.sum(below**2)) - np.sum(sums)
    return np.sum(summed(logs)) - n * summed(weights) - prior


def mixture_gradient(data: Mixture, parameters: list[FloatArray]) -> Pulled:
    """Value and gradient by hand."""
    weights, means, factors = parameters
    n, d = data.points.shape
    sums = factors[:, :d].sum(axis=1)
    scales, below = np.exp(factors[:, :d]), factors[:, d:]
    lower = np.concatenate([scales, below, np.zeros((len(weights), 1))], axis=1)[:, data.places]
    apart = data.points - means[:, None, :]
    turned = apart @ lower.swapaxes(1, 2)
    logs = np.einsum("kni,kni->kn", turned, turned)
    logs *= -0.5
    logs += (weights + sums)[:, None]
    most = logs.max(axis=0)
    logs -= most
    np.exp(logs, out=logs)
    total = logs.sum(axis=0)
    chances = np.exp(weights - weights.max())
    share = chances.sum()
    value = most.sum() + np.log(total).sum() - n * (weights.max() + np.log(share))
    value -= 0.5 * (np.vdot(scales, scales) + np.vdot(below, below)) - sums.sum()

    logs /= total
    counts = logs.sum(axis=1)
    turned *= logs[:, :, None]
    by_lower = turned.swapaxes(1, 2) @ apart
    by_means = np.matmul(turned.sum(axis=1)[:, None, :], lower)[:, 0]
    rows, columns = np.tril_indices(d, -1)
    by_factors = np.empty_like(factors)
    diagonal = -np.einsum("kii->ki", by_lower) - scales
    by_factors[:, :d] = diagonal * scales + counts[:, None] + 1.0
    by_factors[:, d:] = -by_lower[:, rows, columns] - below
    return float(value), [counts - n * chances / share, by_means, by_factors]


# A network, in float64 or float32


def cross_entropy(np: Any, logits: Any, labels: Any) -> Any:
    """The mean over rows, each shifted by its largest."""
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    right = shifted[np.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - right)


def network_loss(np: Any, data: Any, weights: Any) -> Any:
    """The mean cross-entropy of `array_problems.NetworkData`, written with NumPy's functions."""
    first, first_bias, second, second_bias = weights
    hidden = np.maximum(data.images @ first + first_bias, 0.0)
    return cross_entropy(np, hidden @ second + second_bias, data.labels)


# A layer, of which the Hessian is asked


class Layer(NamedTuple):
    """A square matrix, and where to evaluate."""

    matrix: FloatArray
    x: FloatArray


def layer_data(n: int) -> Layer:
    """A matrix whose products are of the size of its operand."""
    rng = np.random.default_rng(16)
    return Layer(rng.standard_normal((n, n)) / np.sqrt(n), rng.standard_normal(n))


def squashed(np: Any, data: Layer, x: Any) -> Any:
    """The sum of tanh(A x)."""
    return np.sum(np.tanh(data.matrix @ x))


def layer_hessian(data: Layer, x: FloatArray) -> FloatArray:
    """Aᵀ diag(-2 v (1 - v²)) A with v = tanh(A x)."""
    v = np.tanh(data.matrix @ x)
    hessian: FloatArray = data.matrix.T @ ((2.0 * v * (v * v - 1.0))[:, None] * data.matrix)
    return hessian


# Elements, each by itself


def waves(np: Any, x: Any) -> Any:
    """The sum of tanh(x) exp(-x²) + sin(x)."""
    return np.sum(np.tanh(x) * np.exp(-x * x) + np.sin(x))


def waves_gradient(x: FloatArray) -> tuple[float, FloatArray]:
    """Value and gradient by hand, every array used again as soon as it has served."""
    t, e = np.tanh(x), x * x
    np.negative(e, out=e)
    np.exp(e, out=e)
    product = t * e
    value = float(product.sum())
    t *= t
    np.subtract(1.0, t, out=t)
    t *= e
    product *= x
    product *= 2.0
    t -= product
    value += float(np.sin(x, out=e).sum())
    t += np.cos(x, out=e)
    return value, t


# Functions of a few numbers, at many points


def valleys(np: Any, X: Any) -> Any:
    """The sum of Rosenbrock's function over points in rows."""
    left, right = X[:, :-1], X[:, 1:]
    return np.sum(100.0 * (right - left**2) ** 2 + (1.0 - left) ** 2)


def valleys_gradient(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values and gradients of Rosenbrock's function at points in rows, by hand."""
    left, right = X[:, :-1], X[:, 1:]
    bend, rest = right - left * left, 1.0 - left
    values = 100.0 * np.einsum("ij,ij->i", bend, bend) + np.einsum("ij,ij->i", rest, rest)
    gradient = np.empty_like(X)
    gradient[:, -1] = 0.0
    np.multiply(left, bend, out=gradient[:, :-1])
    gradient[:, :-1] *= -400.0
    rest *= 2.0
    gradient[:, :-1] -= rest
    bend *= 200.0
    gradient[:, 1:] += bend
    return values, gradient


def pairs(sin: Callable[[Any], Any], sqrt: Callable[[Any], Any], x: Any) -> Any:
    """A function of a few numbers, a loop over neighbours."""
    total = 0.0
    for i in range(len(x) - 1):
        total += x[i] * sin(x[i + 1]) / sqrt(1.0 + x[i] * x[i])
    return total


def pairs_of_rows(np: Any, X: Any) -> Any:
    """Its sum over points in rows."""
    left, right = X[:, :-1], X[:, 1:]
    return np.sum(left * np.sin(right) / np.sqrt(1.0 + left * left))


def pairs_gradient(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Its values and gradients at points in rows, by hand."""
    left, right = X[:, :-1], X[:, 1:]
    inverse = 1.0 / (1.0 + left * left)
    root = np.sqrt(inverse)
    sine, share = np.sin(right), left * root
    values = np.einsum("ij,ij->i", share, sine)
    gradient = np.empty_like(X)
    gradient[:, -1] = 0.0
    inverse *= root
    np.multiply(inverse, sine, out=gradient[:, :-1])
    share *= np.cos(right)
    gradient[:, 1:] += share
    return values, gradient


# Prices of options


def options_data(n: int) -> list[FloatArray]:
    """Spot, strike, years and volatility of so many options."""
    rng = np.random.default_rng(17)
    bounds = ((50.0, 150.0), (50.0, 150.0), (0.1, 2.0), (0.1, 0.5))
    return [rng.uniform(low, high, n) for low, high in bounds]


def option_price(np: Any, below: Callable[[Any], Any], *terms: Any) -> Any:
    """A European call, by Black and Scholes; `below` is the normal distribution function."""
    spot, strike, years, volatility = terms
    width = volatility * np.sqrt(years)
    up = np.log(spot / strike) / width + 0.5 * width
    return spot * below(up) - strike * below(up - width)


def option_prices_gradient(*terms: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
    """Prices and their derivatives by all four terms, by hand."""
    spot, strike, years, volatility = terms
    root = np.sqrt(years)
    width = volatility * root
    up = np.log(spot / strike) / width + 0.5 * width
    delta, chance = ndtr(up), ndtr(up - width)
    vega = spot * np.exp(-0.5 * up * up) * (1.0 / np.sqrt(2.0 * np.pi))
    by_years = 0.5 * vega * volatility / root
    vega *= root
    return spot * delta - strike * chance, [delta, -chance, by_years, vega]


# Reprojections, each by the numbers that it depends on


def reprojection(np: Any, numbers: Any, seen: Any) -> Any:
    """How far one point is from where it is seen, by 12 numbers of a camera and 3 of the point."""
    camera = numbers[:12].reshape(3, 4)
    turned = camera[:, :3] @ numbers[12:] + camera[:, 3]
    off = turned[:2] / turned[2] - seen
    return np.sqrt(np.sum(off * off))


def seen_of_each(data: Adjustment) -> FloatArray:
    """Those numbers for each observation, in rows."""
    cameras = data.x[: 12 * CAMERAS].reshape(CAMERAS, 12)
    points = data.x[12 * CAMERAS :].reshape(-1, 3)
    return np.hstack([cameras[data.camera], points[data.point]])
