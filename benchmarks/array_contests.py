"""The contests over arrays: cadiff against NumPy without derivatives, or with those made by hand.

The programs differ in nothing but their namespace, cadiff.numpy here and numpy there. What NumPy
computes from formulas is checked itself, by complex steps.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp
from benchmarks import array_problems as problems
from benchmarks.contests import GRADIENT, Contest, Runner, compare
from cadiff import nn

__all__ = [
    "CONTESTS",
    "FORWARD",
    "HAND",
    "HESSIAN",
    "JACOBIAN",
    "NUMPY",
    "OBJECTS",
    "PRODUCT",
    "RECORDED",
    "arm",
    "chain",
    "chain_product",
    "jacobian",
    "layer_hessian",
    "logistic_regression",
    "network",
    "network_product",
    "product",
    "transform",
]

FORWARD = "forward mode"
HAND = "gradient by hand"
HESSIAN = "hessian"
JACOBIAN = "jacobian"
NUMPY = "NumPy alone"
OBJECTS = "arrays of objects"
PRODUCT = "hvp"
RECORDED = "recorded"


def logistic_regression() -> Contest:
    """Value and gradient of the cross-entropy of 1000 observations, by 5 coefficients."""
    data = problems.classes()
    expected = problems.logistic_steps(data, data.beta)
    value_and_grad = cadiff.value_and_grad(problems.make_logistic(data, cnp))
    return Contest(
        "logistic regression, 1000 x 5",
        {
            HAND: Runner(partial(problems.logistic_gradient, data, data.beta), expected),
            GRADIENT: Runner(partial(value_and_grad, data.beta), expected),
        },
    )


def network(batch: int) -> Contest:
    """Value and gradient of the loss of a network with one hidden layer."""
    data = problems.network_data(batch)
    work = f"network {'-'.join(map(str, problems.LAYERS))}, batch {batch}"
    expected = problems.network_backpropagation(data, data.weights)
    rng = np.random.default_rng(4)
    direction = [rng.standard_normal(w.shape) for w in data.weights]
    slope = sum(float(np.vdot(g, d)) for g, d in zip(expected[1], direction, strict=True))
    true = problems.network_slope(data, data.weights, direction)
    compare(f"{work}: {HAND}", (expected[0], slope), true)
    value_and_grad = cadiff.value_and_grad(problems.make_network(data, nn.relu, nn.cross_entropy))
    return Contest(
        work,
        {
            HAND: Runner(partial(problems.network_backpropagation, data, data.weights), expected),
            GRADIENT: Runner(partial(value_and_grad, data.weights), expected),
        },
    )


def chain(n: int) -> Contest:
    """Ten operations on each of n elements, and the gradient of their sum."""
    x = problems.chain_point(n)

    def total(x: Any) -> Any:
        return cnp.sum(problems.chain(x, cnp))

    values = problems.chain(x.astype(np.complex128), np).real
    return Contest(
        f"10 operations, {n:,} elements",
        {
            NUMPY: Runner(partial(problems.chain, x, np), values),
            GRADIENT: Runner(partial(cadiff.value_and_grad(total), x), problems.chain_gradient(x)),
        },
    )


def jacobian() -> Contest:
    """The Jacobian of W sin(πx²) + b, three functions of four numbers."""
    data = problems.mixing_data()
    waves = [np.sin(np.pi * number**2) for number in data.x]
    values = [
        sum(w * wave for w, wave in zip(row, waves, strict=True)) + offset
        for row, offset in zip(data.matrix, data.offset, strict=True)
    ]
    return Contest(
        "W sin(πx²) + b, 3 x 4",
        {
            NUMPY: Runner(partial(problems.make_mixing(data, np), data.x), values),
            JACOBIAN: Runner(
                partial(cadiff.jacobian(problems.make_mixing(data, cnp)), data.x),
                problems.mixing_jacobian(data, data.x),
            ),
        },
    )


def arm(n: int) -> Contest:
    """An arm of n joints, each a 4 x 4 matrix that is written out as lists of numbers."""
    angles = np.linspace(0.1, 0.7, n)
    expected = problems.arm_steps(angles)
    f = problems.make_arm(cnp, cnp.array)
    of_objects = problems.make_arm(cnp, partial(np.array, dtype=object))
    return Contest(
        f"arm of {n} joints, 4 x 4 matrices of lists",
        {
            OBJECTS: Runner(partial(cadiff.value_and_grad(of_objects), angles), expected),
            GRADIENT: Runner(partial(cadiff.value_and_grad(f), angles), expected),
            f"{FORWARD}, {OBJECTS}": Runner(
                partial(cadiff.jacfwd(of_objects), angles), expected[1]
            ),
            FORWARD: Runner(partial(cadiff.jacfwd(f), angles), expected[1]),
        },
    )


def product(n: int) -> Contest:
    """One operator on two arrays; what is to be differentiated was put on the tape before."""
    x, y = problems.chain_point(n), problems.chain_point(2 * n)[n:]
    expected = [a * b for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    leaves = cadiff.Var(x), cadiff.Var(y)
    work = f"x * y, {n} elements"
    operator.mul(*leaves).backward(np.ones(n))
    compare(f"{work}: backward()", [leaf.grad for leaf in leaves], [y, x])

    return Contest(
        work,
        {
            NUMPY: Runner(partial(operator.mul, x, y), expected),
            RECORDED: Runner(partial(operator.mul, *leaves), expected),
        },
    )


# Second order


def chain_product(n: int) -> Contest:
    """Ten operations on each of n elements: the Hessian of the sum times a vector."""
    x = problems.chain_point(n)
    v = np.cos(np.arange(n))

    def total(x: Any) -> Any:
        return cnp.sum(problems.chain(x, cnp))

    return Contest(
        f"10 operations, {n:,} elements, second order",
        {
            GRADIENT: Runner(partial(cadiff.value_and_grad(total), x), problems.chain_gradient(x)),
            PRODUCT: Runner(partial(cadiff.hvp(total), x, v), problems.chain_curvature(x) * v),
        },
    )


def network_product(batch: int) -> Contest:
    """The Hessian of the loss of a network times a direction."""
    data = problems.network_data(batch)
    work = f"network {'-'.join(map(str, problems.LAYERS))}, batch {batch}, second order"
    rng = np.random.default_rng(5)
    direction = [rng.standard_normal(w.shape) for w in data.weights]
    expected = problems.network_product(data, data.weights, direction)
    step = 1e-5
    there, here = (
        problems.network_slope(
            data, [w + h * d for w, d in zip(data.weights, direction, strict=True)], direction
        )[1]
        for h in (step, -step)
    )
    along = sum(float(np.vdot(p, d)) for p, d in zip(expected, direction, strict=True))
    compare(f"{work}: {HAND}", along, (there - here) / (2.0 * step), rtol=1e-6)
    f = problems.make_network(data, nn.relu, nn.cross_entropy)
    gradient = problems.network_backpropagation(data, data.weights)
    return Contest(
        work,
        {
            GRADIENT: Runner(partial(cadiff.value_and_grad(f), data.weights), gradient),
            PRODUCT: Runner(partial(cadiff.hvp(f), data.weights, direction), expected),
        },
    )


def layer_hessian(n: int) -> Contest:
    """The Hessian of the sum of tanh(W x): Wᵀ diag(-2 v (1 - v²)) W with v = tanh(W x)."""
    rng = np.random.default_rng(6)
    weights, x = rng.standard_normal((n, n)) / np.sqrt(n), rng.standard_normal(n)
    v = np.tanh(weights @ x)
    slope = 1.0 - v**2

    def total(x: Any) -> Any:
        return cnp.sum(cnp.tanh(weights @ x))

    return Contest(
        f"Σ tanh(W x), n={n}",
        {
            GRADIENT: Runner(
                partial(cadiff.value_and_grad(total), x), (float(np.sum(v)), slope @ weights)
            ),
            HESSIAN: Runner(
                partial(cadiff.hessian(total), x),
                weights.T @ ((-2.0 * v * slope)[:, None] * weights),
            ),
        },
    )


def transform(*shape: int, by_complex: bool = False) -> Contest:
    """A Fourier transform of an array, and the gradient of a function that is linear in it."""
    x: Any = np.random.default_rng(6).standard_normal(shape)
    gradient: Any = problems.spectrum_gradient(shape)
    value = float(np.vdot(gradient, x))
    if by_complex:  # f(x + iy) has the gradient df/dx - i df/dy, which is that of an analytic one
        x = x + 0j
    fft, weights = (
        (np.fft.fft if len(shape) == 1 else np.fft.fft2),
        problems.spectrum_weights(shape),
    )

    def of_numpy(x: Any) -> Any:
        return problems.weighted_spectrum(x, weights, fft, np.vdot)

    def real_part(x: Any) -> Any:
        value, gradient = value_and_grad(x)
        return value, gradient.real

    value_and_grad = cadiff.value_and_grad(of_numpy)
    return Contest(
        f"{fft.__name__} of {' x '.join(map(str, shape))}{' complex' * by_complex}",
        {
            NUMPY: Runner(partial(of_numpy, x), value),
            GRADIENT: Runner(partial(real_part, x), (value, gradient)),
        },
    )


CONTESTS: tuple[Callable[[], Contest], ...] = (
    logistic_regression,
    partial(network, 32),
    partial(network, 512),
    partial(chain, 4),
    partial(chain, 10**6),
    jacobian,
    partial(arm, 6),
    partial(product, 4),
    partial(chain_product, 10**5),
    partial(network_product, 32),
    partial(layer_hessian, 100),
    partial(transform, 2**10),
    partial(transform, 2**10, by_complex=True),
    partial(transform, 2**20),
    partial(transform, 2**20, by_complex=True),
    partial(transform, 1024, 1024),
)
