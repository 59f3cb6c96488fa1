"""The problems over arrays that are timed, and what NumPy alone has to say about them.

A program is written once: it gets its namespace (``np`` is NumPy, or one that mirrors it) or its
functions as parameters, and knows nothing of derivatives. Opponents that were differentiated by
hand are here as well, written to be fast, and the formulas and complex steps that all answers are
checked against; this module must not import cadiff.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LAYERS",
    "Classes",
    "Mixing",
    "NetworkData",
    "arm_steps",
    "chain",
    "chain_curvature",
    "chain_gradient",
    "chain_point",
    "classes",
    "logistic_gradient",
    "logistic_steps",
    "make_arm",
    "make_logistic",
    "make_mixing",
    "make_network",
    "mixing_data",
    "mixing_jacobian",
    "network_backpropagation",
    "network_data",
    "network_product",
    "network_slope",
    "spectrum_gradient",
    "spectrum_weights",
    "weighted_spectrum",
]

FloatArray: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[..., Any]

LAYERS = (784, 256, 10)
STEP = 1e-30  # of complex steps, in which nothing cancels


# Logistic regression


class Classes(NamedTuple):
    """Observations in rows, the class of each (0 or 1), and the coefficients to start from."""

    design: FloatArray
    labels: FloatArray
    beta: FloatArray


def classes(n: int = 1000, features: int = 5) -> Classes:
    """Two classes that overlap."""
    rng = np.random.default_rng(1)
    design = rng.standard_normal((n, features))
    chances = 1.0 / (1.0 + np.exp(-design @ rng.standard_normal(features)))
    labels = (rng.random(n) < chances).astype(np.float64)
    return Classes(design, labels, 0.3 * rng.standard_normal(features))


def make_logistic(data: Classes, np: ModuleType) -> Function:
    """Make the binary cross-entropy from logits, summed, a function of the coefficients."""
    design, labels, _ = data

    def loss(beta: Any) -> Any:
        z = design @ beta
        return np.sum(np.logaddexp(0.0, z) - labels * z)

    return loss


def logistic_gradient(data: Classes, beta: FloatArray) -> tuple[float, FloatArray]:
    """Value and gradient by hand: Xᵀ(σ(Xβ) - y)."""
    design, labels, _ = data
    z = design @ beta
    value = np.sum(np.logaddexp(0.0, z) - labels * z)
    return value, design.T @ (1.0 / (1.0 + np.exp(-z)) - labels)


def logistic_steps(data: Classes, beta: FloatArray) -> tuple[float, FloatArray]:
    """Value and gradient by complex steps."""
    design, labels, _ = data
    z = design @ (beta[:, None] + 1j * STEP * np.eye(beta.size))
    losses = np.sum(np.log(1.0 + np.exp(z)) - labels[:, None] * z, axis=0)
    return losses[0].real, losses.imag / STEP


# A network


class NetworkData(NamedTuple):
    """Weights (a matrix and a bias for each layer), a batch of images and their labels."""

    weights: list[FloatArray]
    images: FloatArray
    labels: NDArray[np.int64]


def network_data(batch: int) -> NetworkData:
    """Weights as they are before training, and noise for images."""
    rng = np.random.default_rng(2)
    inputs, hidden, outputs = LAYERS
    weights = [
        rng.standard_normal((inputs, hidden)) * np.sqrt(2.0 / inputs),
        0.1 * rng.standard_normal(hidden),
        rng.standard_normal((hidden, outputs)) * np.sqrt(2.0 / hidden),
        0.1 * rng.standard_normal(outputs),
    ]
    return NetworkData(weights, rng.random((batch, inputs)), rng.integers(0, outputs, batch))


def make_network(data: NetworkData, relu: Function, cross_entropy: Function) -> Function:
    """Make the mean cross-entropy of a batch, a function of the list of weights.

    Parameters
    ----------
    data : NetworkData
        Whose images and labels are used.
    relu : callable
        Of an array.
    cross_entropy : callable
        Of logits, a row for each image, and integer labels.
    """
    images, labels = data.images, data.labels  # a program watches what its function has

    def loss(weights: Sequence[Any]) -> Any:
        first, first_bias, second, second_bias = weights
        hidden = relu(images @ first + first_bias)
        return cross_entropy(hidden @ second + second_bias, labels)

    return loss


def network_backpropagation(
    data: NetworkData, weights: list[FloatArray]
) -> tuple[float, list[FloatArray]]:
    """Value and gradient by hand, every array used again as soon as it has served."""
    first, first_bias, second, second_bias = weights
    hidden = data.images @ first
    hidden += first_bias
    np.maximum(hidden, 0.0, out=hidden)
    p = hidden @ second
    p += second_bias
    p -= p.max(axis=1, keepdims=True)
    rows = np.arange(len(data.labels))
    right = p[rows, data.labels]
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    loss = float((np.log(total[:, 0]) - right).mean())

    p /= total
    p[rows, data.labels] -= 1.0
    p /= len(data.labels)
    back = p @ second.T
    back *= hidden > 0.0
    return loss, [data.images.T @ back, back.sum(axis=0), hidden.T @ p, p.sum(axis=0)]


def network_product(
    data: NetworkData, weights: list[FloatArray], direction: list[FloatArray]
) -> list[FloatArray]:
    """The Hessian times a direction by hand: backpropagation, differentiated along it."""
    (first, first_bias, second, second_bias), moves = weights, direction
    hidden = np.maximum(data.images @ first + first_bias, 0.0)
    hidden_move = (data.images @ moves[0] + moves[1]) * (hidden > 0.0)
    logits = hidden @ second + second_bias
    move = hidden_move @ second + hidden @ moves[2] + moves[3]
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p_move = p * (move - (p * move).sum(axis=1, keepdims=True)) / len(data.labels)
    p[np.arange(len(data.labels)), data.labels] -= 1.0
    p /= len(data.labels)
    back_move = (p_move @ second.T + p @ moves[2].T) * (hidden > 0.0)
    return [
        data.images.T @ back_move,
        back_move.sum(axis=0),
        hidden_move.T @ p + hidden.T @ p_move,
        p_move.sum(axis=0),
    ]


def network_slope(
    data: NetworkData, weights: list[FloatArray], direction: list[FloatArray]
) -> tuple[float, float]:
    """The loss, and its derivative along a direction by one complex step."""
    first, first_bias, second, second_bias = (
        w + 1j * STEP * d for w, d in zip(weights, direction, strict=True)
    )
    hidden = data.images @ first + first_bias
    hidden[hidden.real < 0.0] = 0.0
    logits = hidden @ second + second_bias
    right = logits[np.arange(len(data.labels)), data.labels]
    loss = np.mean(np.log(np.sum(np.exp(logits), axis=1)) - right)
    return float(loss.real), float(loss.imag / STEP)


# Ten operations, element by element


def chain(x: Any, np: ModuleType) -> Any:
    """Ten operations on each element of an array of positive numbers."""
    y = np.log(np.exp(-x) + x)
    y = np.tanh(y * y)
    return np.sqrt(y * y + 1.0) / x


def chain_point(n: int) -> FloatArray:
    """So many numbers between 0.5 and 1.5."""
    point: FloatArray = 1.0 + 0.5 * np.sin(np.arange(n))
    return point


def chain_gradient(x: FloatArray) -> tuple[float, FloatArray]:
    """The sum of the chain over all elements, and its gradient by a complex step."""
    y = chain(x + 1j * STEP, np)
    return float(np.sum(y.real)), y.imag / STEP


def chain_curvature(x: FloatArray) -> FloatArray:
    """The second derivative of each element of the chain, by Cauchy's formula on a circle."""
    radius, points = 0.1, 32
    turns = np.exp(2j * np.pi * np.arange(points) / points)
    total = sum(chain(x + radius * turn, np) / turn**2 for turn in turns)
    curvature: FloatArray = 2.0 * np.real(total) / (points * radius**2)
    return curvature


# A small vector-valued function


class Mixing(NamedTuple):
    """The matrix W and the vector b of W sin(πx²) + b, and where to evaluate it."""

    matrix: FloatArray
    offset: FloatArray
    x: FloatArray


def mixing_data() -> Mixing:
    """Three functions of four numbers."""
    rng = np.random.default_rng(3)
    return Mixing(rng.random((3, 4)), rng.random(3), rng.random(4))


def make_mixing(data: Mixing, np: ModuleType) -> Function:
    """Make the function W sin(πx²) + b."""

    def f(x: Any) -> Any:
        return data.matrix @ np.sin(np.pi * x**2) + data.offset

    return f


def mixing_jacobian(data: Mixing, x: FloatArray) -> FloatArray:
    """The Jacobian of W sin(πx²) + b by formula."""
    jacobian: FloatArray = data.matrix * (2.0 * np.pi * x * np.cos(np.pi * x**2))
    return jacobian


# Bundle adjustment

CAMERAS, POINTS = 50, 1230  # 12 numbers of each camera, 3 of each point: 4,290


class Adjustment(NamedTuple):
    """Which camera sees which point, and where."""

    camera: NDArray[np.intp]
    point: NDArray[np.intp]
    seen: FloatArray
    x: FloatArray  # projections of all cameras, (n, 3, 4), then points, (n, 3)


def adjustment_data(n: int) -> Adjustment:
    """So many observations; points lie in front of all cameras."""
    rng = np.random.default_rng(0)
    projections = np.eye(3, 4) + 0.1 * rng.normal(size=(CAMERAS, 3, 4))
    points = rng.normal(size=(POINTS, 3)) + [0.0, 0.0, 8.0]
    camera = rng.integers(0, CAMERAS, n)
    x = np.concatenate([projections.ravel(), points.ravel()])
    return Adjustment(camera, np.arange(n) % POINTS, rng.normal(size=(n, 2)), x)


def _projected(data: Adjustment, x: Any, np: ModuleType) -> tuple[Any, Any, Any]:
    """Projections and points of each observation, and the points as the cameras have them."""
    projections = x[: 12 * CAMERAS].reshape(CAMERAS, 3, 4)[data.camera]
    points = x[12 * CAMERAS :].reshape(POINTS, 3)[data.point]
    turned = np.einsum("nij,nj->ni", projections[:, :, :3], points) + projections[:, :, 3]
    return projections, points, turned


def make_adjustment(data: Adjustment, np: ModuleType) -> Function:
    """How far each point is from where it is seen."""

    def adjustment(x: Any) -> Any:
        _, _, turned = _projected(data, x, np)
        return np.linalg.norm(turned[:, :2] / turned[:, 2:] - data.seen, axis=1)

    return adjustment


def adjustment_jacobian(data: Adjustment, x: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Of each observation the derivatives by 12 numbers of its camera and 3 of its point.

    And the columns that these stand in.
    """
    projections, points, turned = _projected(data, x, np)
    off = turned[:, :2] / turned[:, 2:] - data.seen
    unit = off / np.linalg.norm(off, axis=1)[:, None]
    by_turned = np.empty(turned.shape)
    by_turned[:, :2] = unit / turned[:, 2:]
    by_turned[:, 2] = -np.einsum("ni,ni->n", by_turned[:, :2], turned[:, :2]) / turned[:, 2]
    by_camera = np.empty((len(turned), 3, 4))
    by_camera[:, :, :3] = by_turned[:, :, None] * points[:, None, :]
    by_camera[:, :, 3] = by_turned
    by_point = np.einsum("ni,nij->nj", by_turned, projections[:, :, :3])
    columns = np.hstack(
        [
            12 * data.camera[:, None] + np.arange(12),
            12 * CAMERAS + 3 * data.point[:, None] + np.arange(3),
        ]
    )
    return np.hstack([by_camera.reshape(-1, 12), by_point]), columns


# A chain of joints: small matrices, written out number by number


def make_arm(np: ModuleType, array: Function) -> Function:
    """Make the squared distance to a point of the end of an arm, a function of its angles.

    `array` makes arrays of nested lists, and `np` has functions of single numbers.
    """

    def f(angles: Any) -> Any:
        place = array([[1.0, 0.0, 0.0, 0.0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
        for angle in angles:
            c, s = np.cos(angle), np.sin(angle)
            turn = [[c, -s, 0.0, 0.5 * c], [s, c, 0.0, 0.5 * s], [0, 0, 1, 0.1], [0, 0, 0, 1]]
            place = place @ array(turn)
        return (place[0, 3] - 0.3) ** 2 + (place[1, 3] - 0.4) ** 2

    return f


def arm_steps(angles: FloatArray) -> tuple[float, FloatArray]:
    """Value and gradient by complex steps."""
    f = make_arm(np, np.array)
    moved = [angles + STEP * 1j * row for row in np.eye(len(angles))]
    return float(f(angles)), np.array([f(point).imag / STEP for point in moved])


# A spectrum


def spectrum_weights(shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Cosines and sines, of frequencies 1 and 2 along each axis."""
    places = [np.arange(n) / n for n in shape]
    phase = 2.0 * np.pi * sum(np.meshgrid(*places, indexing="ij"))
    return np.cos(phase), np.sin(2.0 * phase)


def weighted_spectrum(
    x: Any, weights: tuple[FloatArray, FloatArray], fft: Function, vdot: Function
) -> Any:
    """Real and imaginary part of a spectrum, weighted and summed."""
    spectrum = fft(x)
    return vdot(weights[0], spectrum.real) + vdot(weights[1], spectrum.imag)


def spectrum_gradient(shape: tuple[int, ...]) -> FloatArray:
    """Its gradient by a real x: waves are orthogonal, so that few elements are not 0."""
    gradient, half = np.zeros(shape), 0.5 * float(np.prod(shape))
    for frequency, term in ((1, half), (-1, half), (2, -half), (-2, half)):
        gradient[(frequency,) * len(shape)] += term
    return gradient
