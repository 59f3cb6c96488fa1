"""Problems over arrays that go step by step, and their gradients by hand.

As in `array_problems`, a function is written once and gets its namespace (``np`` is NumPy, or one
that mirrors it) and its ``loop``, which a package may have a way of its own for. The gradients by
hand are written to be fast: what need not wait for the step before is computed for all steps at
once. This module must not import cadiff.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Bodies",
    "Cells",
    "Chain",
    "Tracking",
    "WrittenOut",
    "bodies_data",
    "bodies_gradient",
    "cells_data",
    "cells_gradient",
    "chain_data",
    "chain_gradient",
    "energy",
    "evidence",
    "last_error",
    "likelihood",
    "log_sum_exp",
    "one_by_one",
    "tracking_data",
    "tracking_gradient",
]

FloatArray: TypeAlias = NDArray[np.float64]
Pulled: TypeAlias = tuple[float, list[FloatArray]]
Step: TypeAlias = Callable[[Any, Any], Any]


def one_by_one(step: Step, state: Any, rows: Any) -> Any:
    """Take a step for each row, from the state that the step before has left."""
    for row in rows:
        state = step(state, row)
    return state


# A Kalman filter


class Tracking(NamedTuple):
    """A move in the plane: motion and logarithms of both noises, what is seen, and how."""

    parameters: list[FloatArray]
    seen: FloatArray
    observing: FloatArray


def tracking_data(steps: int) -> Tracking:
    """So many observations of a slow turn."""
    rng = np.random.default_rng(11)
    turn = 0.98 * np.array([[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]])
    observing = np.array([[1.0, 0.2], [-0.1, 0.8]])
    place, seen = np.array([1.0, 0.0]), []
    for _ in range(steps):
        place = turn @ place + 0.1 * rng.standard_normal(2)
        seen.append(observing @ place + 0.3 * rng.standard_normal(2))
    return Tracking(
        [turn, np.array([-4.0, -4.5]), np.array([-2.0, -2.5])], np.array(seen), observing
    )


class WrittenOut:
    """What a filter of two numbers asks of `numpy.linalg`, in products and quotients."""

    def __init__(self, np: Any) -> None:
        self._np = np

    def solve(self, a: Any, b: Any) -> Any:
        """By Cramer's rule."""
        det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        rows = [a[1, 1] * b[0] - a[0, 1] * b[1], a[0, 0] * b[1] - a[1, 0] * b[0]]
        return self._np.stack(rows) / det

    def slogdet(self, a: Any) -> tuple[float, Any]:
        """Of a matrix whose determinant is positive."""
        return 1.0, self._np.log(a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])


def likelihood(
    np: Any, data: Tracking, parameters: Any, loop: Any = one_by_one, linalg: Any = None
) -> Any:
    """Minus the logarithm of the likelihood of all observations, without its constant."""
    motion, process, noise = parameters
    added, error = np.diag(np.exp(process)), np.diag(np.exp(noise))
    observing, linalg = data.observing, linalg or np.linalg

    def step(state: Any, seen: Any) -> Any:
        mean, spread, total = state
        mean = motion @ mean
        spread = motion @ spread @ motion.T + added
        surprise = seen - observing @ mean
        across = observing @ spread
        doubt = across @ observing.T + error
        gain = linalg.solve(doubt, across).T
        total = total + linalg.slogdet(doubt)[1] + surprise @ linalg.solve(doubt, surprise)
        return mean + gain @ surprise, spread - gain @ doubt @ gain.T, total

    return 0.5 * loop(step, (np.zeros(2), np.eye(2), 0.0), data.seen)[2]


def tracking_gradient(data: Tracking, parameters: list[FloatArray]) -> Pulled:
    """Value and gradient by hand: the filter with inverses written out, and back again."""
    motion, process, noise = parameters
    observing = data.observing
    added, error = np.diag(np.exp(process)), np.diag(np.exp(noise))
    mean, spread = np.zeros(2), np.eye(2)
    kept = []
    total = 0.0
    for seen in data.seen:
        before, known = mean, spread
        mean = motion @ before
        spread = motion @ known @ motion.T + added
        surprise = seen - observing @ mean
        across = observing @ spread
        (a, b), (_, d) = (across @ observing.T + error).tolist()
        det = a * d - b * b
        inverse = np.array([[d / det, -b / det], [-b / det, a / det]])  # symmetric: stable
        weighted = inverse @ surprise
        kept.append((before, known, across, inverse, surprise, weighted))
        total += np.log(det) + float(surprise @ weighted)
        mean = mean + across.T @ weighted
        spread = spread - across.T @ inverse @ across

    by_motion, by_added, by_error = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    by_mean, by_spread = np.zeros(2), np.zeros((2, 2))
    for before, known, across, inverse, surprise, weighted in reversed(kept):
        gain = inverse @ across
        by_weighted = across @ by_mean + 0.5 * surprise
        by_surprise = inverse @ by_weighted + 0.5 * weighted
        turned = by_spread @ across.T
        by_inverse = np.outer(by_weighted, surprise) - across @ turned
        by_doubt = 0.5 * inverse - inverse @ by_inverse @ inverse
        by_across = np.outer(weighted, by_mean) - 2.0 * gain @ by_spread
        full = by_spread + observing.T @ (by_across + by_doubt @ observing)
        full = 0.5 * (full + full.T)
        by_mean = by_mean - observing.T @ by_surprise
        by_error += by_doubt
        by_added += full
        by_motion += np.outer(by_mean, before) + 2.0 * full @ motion @ known
        by_mean = motion.T @ by_mean
        by_spread = motion.T @ full @ motion
    gradient = [by_motion, np.diag(by_added) * np.exp(process), np.diag(by_error) * np.exp(noise)]
    return 0.5 * total, gradient


# A hidden Markov model


class Chain(NamedTuple):
    """Potentials of the first state and of moves, the mean that each state shows; what is seen."""

    parameters: list[FloatArray]
    seen: FloatArray


def chain_data(states: int, steps: int) -> Chain:
    """So many states, which show numbers around as many means."""
    rng = np.random.default_rng(12)
    parameters = [
        rng.standard_normal(states),
        rng.standard_normal((states, states)) - np.log(states),
        np.linspace(-2.0, 2.0, states),
    ]
    return Chain(parameters, 1.5 * rng.standard_normal(steps))


def log_sum_exp(np: Any, z: Any) -> Any:
    """The logarithm of the sum of exponentials along the first axis, as one writes it in NumPy."""
    most = np.max(z, axis=0)
    return most + np.log(np.sum(np.exp(z - most), axis=0))


def evidence(
    summed: Callable[[Any], Any], data: Chain, parameters: Any, loop: Any = one_by_one
) -> Any:
    """The logarithm of the sum over all paths; `summed` is logsumexp along the first axis."""
    first, moves, means = parameters
    shown = -0.5 * (data.seen[:, None] - means) ** 2

    def step(state: Any, row: Any) -> Any:
        return summed(state[:, None] + moves) + row

    return summed(loop(step, first + shown[0], shown[1:]))


def chain_gradient(data: Chain, parameters: list[FloatArray]) -> Pulled:
    """Value and gradient by hand: forward and backward, numbers being scaled at each step."""
    first, moves, means = parameters
    apart = data.seen[:, None] - means
    shown = np.exp(-0.5 * apart**2)
    exponentials = np.exp(moves)
    forward, sums = np.empty_like(shown), np.empty(len(shown))
    shift = first.max()
    state = np.exp(first - shift) * shown[0]
    for k in range(len(shown)):
        if k:
            state = (state @ exponentials) * shown[k]
        total = sums[k] = state.sum()
        state = np.divide(state, total, out=forward[k])
    backward = np.empty_like(shown)
    later = backward[-1]
    later[:] = 1.0
    shown /= sums[:, None]
    for k in range(len(shown) - 1, 0, -1):
        later = np.matmul(exponentials, shown[k] * later, out=backward[k - 1])
    chances = forward * backward
    paths = exponentials * (forward[:-1].T @ (shown[1:] * backward[1:]))
    gradient = [chances[0].copy(), paths, (chances * apart).sum(axis=0)]
    return float(np.log(sums).sum() + shift), gradient


# A recurrent network


class Cells(NamedTuple):
    """Weights of inputs and of outputs, biases; inputs step by step; what is to be last."""

    parameters: list[FloatArray]
    inputs: FloatArray
    target: FloatArray


def cells_data(steps: int, cells: int, inputs: int) -> Cells:
    """An LSTM before training, and noise."""
    rng = np.random.default_rng(13)
    parameters = [
        rng.standard_normal((inputs, 4 * cells)) / np.sqrt(inputs),
        rng.standard_normal((cells, 4 * cells)) / np.sqrt(cells),
        0.1 * rng.standard_normal(4 * cells),
    ]
    return Cells(parameters, rng.standard_normal((steps, inputs)), rng.standard_normal(cells))


def last_error(
    np: Any, data: Cells, parameters: Any, loop: Any = one_by_one, *, at_once: bool = False
) -> Any:
    """Half the squared distance of the last output from its target.

    With `at_once`, products of inputs are made before the first step, as few packages do alone.
    """
    by_input, by_output, bias = parameters
    n = len(data.target)

    def step(state: Any, x: Any) -> Any:
        output, memory = state
        z = (x if at_once else x @ by_input + bias) + output @ by_output
        gates = 1.0 / (1.0 + np.exp(-z[: 3 * n]))
        memory = gates[n : 2 * n] * memory + gates[:n] * np.tanh(z[3 * n :])
        return gates[2 * n :] * np.tanh(memory), memory

    rows = data.inputs @ by_input + bias if at_once else data.inputs
    output, _ = loop(step, (np.zeros(n), np.zeros(n)), rows)
    return 0.5 * np.sum((output - data.target) ** 2)


def cells_gradient(data: Cells, parameters: list[FloatArray]) -> Pulled:
    """Value and gradient by hand: products of inputs, and those that are summed, made at once."""
    by_input, by_output, bias = parameters
    steps, n = len(data.inputs), len(data.target)
    all_z = data.inputs @ by_input
    all_z += bias
    outputs, memories, squashed = np.zeros((3, steps + 1, n))
    for k in range(steps):
        z = all_z[k]
        z += outputs[k] @ by_output
        gates = z[: 3 * n]
        np.negative(gates, out=gates)
        np.exp(gates, out=gates)
        gates += 1.0
        np.reciprocal(gates, out=gates)
        new = np.tanh(z[3 * n :], out=z[3 * n :])
        memory = np.multiply(gates[n : 2 * n], memories[k], out=memories[k + 1])
        memory += gates[:n] * new
        np.tanh(memory, out=squashed[k + 1])
        np.multiply(gates[2 * n : 3 * n], squashed[k + 1], out=outputs[k + 1])
    error = outputs[-1] - data.target

    back = all_z * (1.0 - all_z)  # the slopes of the gates, times what else is known by now
    into, keep, out, new = (all_z[:, i * n : (i + 1) * n] for i in range(4))
    back[:, :n] *= new
    back[:, n : 2 * n] *= memories[:-1]
    back[:, 2 * n : 3 * n] *= squashed[1:]
    back[:, 3 * n :] = into * (1.0 - new**2)
    slopes = out * (1.0 - squashed[1:] ** 2)
    transposed = np.ascontiguousarray(by_output.T)
    by_state, by_memory = error, np.zeros(n)
    for k in range(steps - 1, -1, -1):
        by_memory += by_state * slopes[k]
        row = back[k].reshape(4, n)
        row[2] *= by_state
        row[:2] *= by_memory
        row[3] *= by_memory
        by_state = back[k] @ transposed
        by_memory *= keep[k]
    gradient = [data.inputs.T @ back, outputs[:-1].T @ back, back.sum(axis=0)]
    return float(0.5 * np.sum(error**2)), gradient


# Bodies that attract each other


class Bodies(NamedTuple):
    """Places and velocities, masses, how many steps there are and how long they are."""

    parameters: list[FloatArray]
    masses: FloatArray
    steps: int
    length: float


SOFTENING = 0.05


def bodies_data(bodies: int, steps: int) -> Bodies:
    """So many bodies in a cube, slow ones."""
    rng = np.random.default_rng(14)
    parameters = [rng.standard_normal((bodies, 3)), 0.1 * rng.standard_normal((bodies, 3))]
    return Bodies(parameters, rng.uniform(0.5, 1.5, bodies) / bodies, steps, 0.01)


def energy(np: Any, data: Bodies, parameters: Any, loop: Any = one_by_one) -> Any:
    """The energy of motion after all steps, each a kick and a drift."""

    def step(state: Any, _: Any) -> Any:
        places, velocities = state
        apart = places[None, :, :] - places[:, None, :]
        pull = data.masses * (np.sum(apart * apart, axis=2) + SOFTENING) ** -1.5
        velocities = velocities + data.length * np.sum(pull[:, :, None] * apart, axis=1)
        return places + data.length * velocities, velocities

    _, velocities = loop(step, tuple(parameters), np.arange(data.steps))
    return 0.5 * np.sum(data.masses[:, None] * velocities**2)


def bodies_gradient(data: Bodies, parameters: list[FloatArray]) -> Pulled:
    """Value and gradient by hand, coordinates as planes."""
    places, velocities = (np.ascontiguousarray(p.T) for p in parameters)
    masses, length = data.masses, data.length
    kept = []
    for _ in range(data.steps):
        apart = places[:, None, :] - places[:, :, None]
        squares = np.einsum("kij,kij->ij", apart, apart)
        squares += SOFTENING
        inverse = 1.0 / squares
        pull = np.sqrt(inverse)
        pull *= inverse
        pull *= masses
        kept.append((apart, inverse, pull))
        velocities = velocities + length * np.einsum("ij,kij->ki", pull, apart)
        places = places + length * velocities
    value = 0.5 * float(np.sum(masses * velocities**2))

    by_velocities, by_places = masses * velocities, np.zeros_like(places)
    for apart, inverse, pull in reversed(kept):
        by_velocities += length * by_places
        by_force = length * by_velocities
        along = np.einsum("kij,ki->ij", apart, by_force)
        along *= inverse
        along *= -3.0
        by_apart = apart
        by_apart *= along
        by_apart += by_force[:, :, None]
        by_apart *= pull
        by_places += by_apart.sum(axis=1) - by_apart.sum(axis=2)
    return value, [by_places.T, by_velocities.T]
