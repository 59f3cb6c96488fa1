"""Optimisers of containers by `grad(x, i)`, i the number of the step, with derivatives."""

from typing import Any

from cadiff import numpy as np

from ...trees import Function
from ..wrap_util import Decorator, wraps
from .flatten import flatten


def unflatten_optimizer(optimize: Function) -> Function:
    """Have `optimize(grad, x, callback, ...)` of a vector x take a container of arrays."""

    @wraps(optimize)
    def of_containers(grad: Any, x0: Any, callback: Any = None, *how: Any, **named: Any) -> Any:
        x, unflatten = flatten(x0)

        told = lambda x, i, g: callback and callback(unflatten(x), i, unflatten(g))  # noqa: E731
        gradient = lambda x, i: flatten(grad(unflatten(x), i))[0]  # noqa: E731
        return unflatten(optimize(gradient, x, told, *how, **named))

    return of_containers


def _optimizer(steps: int, start: float = 0.0) -> Decorator:
    """A decorator: an optimiser of `step(state, g, i, *options)`: the next state, and a step."""

    def decorate(step: Function) -> Function:
        @unflatten_optimizer
        @wraps(step)
        def run(grad: Any, x: Any, told: Any, num_iters: int = steps, *a: Any, **kw: Any) -> Any:
            state: Any = (start, start)
            for i in range(num_iters):
                g = grad(x, i)
                told(x, i, g)
                state, change = step(state, g, i, *a, **kw)
                x = x + change
            return x

        return run

    return decorate


@_optimizer(200)
def sgd(state: Any, g: Any, i: int, step_size: float = 0.1, mass: float = 0.9) -> Any:
    """Stochastic gradient descent with momentum: `step_size=0.1, mass=0.9`."""
    velocity = mass * state[0] - (1.0 - mass) * g
    return (velocity, None), step_size * velocity


@_optimizer(100, start=1.0)
def rmsprop(
    state: Any, g: Any, i: int, step_size: float = 0.1, gamma: float = 0.9, eps: float = 1e-8
) -> Any:
    """Steps over the root of a running mean of squares: `step_size=0.1, gamma=0.9, eps=1e-8`."""
    square = gamma * state[0] + (1.0 - gamma) * g**2
    return (square, None), -step_size * g / (np.sqrt(square) + eps)


@_optimizer(100)
def adam(
    state: Any, g: Any, i: int, step_size: float = 0.001, b1: float = 0.9, b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam (arXiv:1412.6980): `step_size=0.001, b1=0.9, b2=0.999, eps=1e-8`."""
    mean, square = b1 * state[0] + (1.0 - b1) * g, b2 * state[1] + (1.0 - b2) * g**2
    first, second = mean / (1.0 - b1 ** (i + 1)), square / (1.0 - b2 ** (i + 1))
    return (mean, square), -step_size * first / (np.sqrt(second) + eps)
