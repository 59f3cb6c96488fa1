"""Long vectors that read their neighbours go tile by tile: heads first, then rows, then tails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from benchmarks.gradbench.tool.ode import solution

from ..helpers.processes import in_whole_tiles

Array = Any
Step = Callable[[Array, Array, int, float], Array]

# Of two vectors of one length, an offset and a factor.
STEPS: tuple[Step, ...] = (
    lambda u, v, s, c: u * v,
    lambda u, v, s, c: u + c * v,
    lambda u, v, s, c: np.concatenate([u[:s], u[s:] * v[:-s]]),
    lambda u, v, s, c: np.concatenate([u[:-s] - c * v[s:], v[-s:]]),
    lambda u, v, s, c: u[1:-1] + 0.1 * (v[2:] - 2.0 * v[1:-1] + v[:-2]),
    lambda u, v, s, c: assigned(u, v, c),
    lambda u, v, s, c: np.sin(u) * v[s],
    lambda u, v, s, c: np.roll(u, s) + v,
    lambda u, v, s, c: added(u * c, v, s),
)


def assigned(u: Array, v: Array, factor: float) -> Array:
    y = np.zeros(len(u))
    y[1:] = u[1:] * factor
    y[0] = v[0]
    return y


def added(u: Array, v: Array, offset: int) -> Array:
    y = np.zeros(len(u))
    y[:] = u
    y[offset:] += v[:-offset]
    return y


def at_random(seed: int) -> Callable[[Array, Array], tuple[Array, Array]]:
    """A function of two long vectors: some steps on parts of those computed last."""
    rng = numpy.random.default_rng(seed)
    steps = [
        (int(rng.integers(len(STEPS))), rng.integers(1, 4, 3), rng.integers(1, 5, 2), rng.random())
        for _ in range(rng.integers(4, 26))
    ]

    def f(x: Array, z: Array) -> tuple[Array, Array]:
        vectors = [x, z]
        for which, begins, back, factor in steps:
            u, v = (vectors[-min(k, len(vectors))] for k in back)
            n = min(len(u), len(v))
            i, j = (min(b, len(w) - n) for b, w in zip(begins, (u, v), strict=False))
            y = STEPS[which](u[i : i + n], v[j : j + n], int(begins[2]), factor)
            vectors.append(y if len(y) > 2090 else np.concatenate([y, x[:80]]))
        return vectors[-1], vectors[len(vectors) // 2]

    return f


@pytest.mark.parametrize("seed", range(60))
def test_vectors_at_random(seed: int) -> None:
    f = at_random(seed)
    rng = numpy.random.default_rng(1000 + seed)
    n = int(rng.choice([2081, 2304, 3105, 5000]))
    x, z, weights = rng.uniform(0.4, 1.1, n), rng.uniform(0.4, 1.1, n + 2), rng.normal(size=2 * n)

    def total(x: Array, z: Array) -> Array:
        y, other = f(x, z)
        return np.sum(y * weights[: len(y)]) + np.sum(other * other)

    program, of_total = cadiff.compile(f), cadiff.compile(total)
    for result, value in zip(program(x, z), f(x, z), strict=True):
        numpy.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-12)
    numpy.testing.assert_allclose(
        of_total.grad(x, z), cadiff.grad(total)(x, z), rtol=1e-10, atol=1e-10
    )


@in_whole_tiles
def test_a_method_of_runge_and_kutta_stays_in_the_cache() -> None:
    n, steps = 10_000, 10
    x = numpy.random.default_rng(0).uniform(0.5, 1.5, n)
    program = cadiff.compile(solution)
    numpy.testing.assert_allclose(program(x, steps), solution(x, steps), rtol=1e-13)
    groups = program.to_text().count("of them before")
    assert 0 < groups < steps  # each stage of a step was one
