"""Optimisers as triples of functions: `init(x)`, `update(i, gradient, state)`, `params(state)`.

A state is a tuple of containers like x: x itself, and what an optimiser keeps beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import cadiff
from cadiff import numpy as np


class Optimizer(NamedTuple):
    """The functions of an optimiser."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


def _made(n: int, rule: Callable[..., Any]) -> Callable[..., Optimizer]:
    """An optimiser by `rule(rate, i, g, x, *kept, *options)`: x and n vectors as they become."""

    def optimizer(step_size: Any, *options: Any, **named: Any) -> Optimizer:
        def init(x: Any) -> Any:
            vector, apart = cadiff.flatten(x)
            return (x, *(apart(0.0 * vector) for _ in range(n)))

        def update(i: Any, g: Any, state: Any) -> Any:
            vectors = [cadiff.flatten(tree)[0] for tree in (g, *state)]
            rate = make_schedule(step_size)(i)
            new = rule(rate, i, *vectors, *options, **named)
            return tuple(map(cadiff.flatten(state[0])[1], new))

        return Optimizer(init, update, lambda state: state[0])

    return optimizer


def _momentum(rate: Any, i: Any, g: Any, x: Any, v: Any, mass: float) -> Any:
    v = mass * v + g
    return x - rate * v, v


def _nesterov(rate: Any, i: Any, g: Any, x: Any, v: Any, mass: float) -> Any:
    v = mass * v + g
    return x - rate * (mass * v + g), v


def _adagrad(rate: Any, i: Any, g: Any, x: Any, s: Any, m: Any, momentum: float = 0.9) -> Any:
    s = s + g**2
    scaled = np.where(s > 0.0, g / np.sqrt(np.where(s > 0.0, s, 1.0)), 0.0)
    m = (1.0 - momentum) * scaled + momentum * m
    return x - rate * m, s, m


def _rmsprop(
    rate: Any, i: Any, g: Any, x: Any, s: Any, gamma: float = 0.9, eps: float = 1e-8
) -> Any:
    s = s * gamma + g**2 * (1.0 - gamma)
    return x - rate * g / np.sqrt(s + eps), s


def _adam(
    rate: Any, i: Any, g: Any, x: Any, m: Any, v: Any, b1: float = 0.9, b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:  # fmt: skip
    m, v = (1.0 - b1) * g + b1 * m, (1.0 - b2) * g**2 + b2 * v
    first, second = m / (1.0 - b1 ** (i + 1)), v / (1.0 - b2 ** (i + 1))
    return x - rate * first / (np.sqrt(second) + eps), m, v


sgd = _made(0, lambda rate, i, g, x: (x - rate * g,))
momentum, nesterov = _made(1, _momentum), _made(1, _nesterov)
adagrad, rmsprop, adam = _made(2, _adagrad), _made(1, _rmsprop), _made(2, _adam)


def make_schedule(step_size: Any) -> Callable[[Any], Any]:
    """A step size as a function of the number of the step."""
    return step_size if callable(step_size) else lambda i: step_size


def exponential_decay(
    step_size: float, decay_steps: int, decay_rate: float
) -> Callable[[Any], Any]:
    """A step size that is less by a factor after so many steps."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def l2_norm(tree: Any) -> Any:
    """The root of the sum of squares."""
    return np.sqrt(np.sum(cadiff.flatten(tree)[0] ** 2))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """A gradient made as short as max_norm, if it is longer."""
    vector, apart = cadiff.flatten(grad_tree)
    norm = l2_norm(vector)
    return apart(np.where(norm < max_norm, vector, vector * (max_norm / norm)))
