"""Kinds of array operations over views of all sorts: all modes give the same derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

N = 40
VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: x[:, ::2],
    lambda x: x[1:, ::-1],
    lambda x: cnp.broadcast_to(x[0], x.shape),
    lambda x: cnp.broadcast_to(x[:, :1], x.shape),
)
WEIGHTS = np.random.default_rng(0).normal(size=(24, 24))


def with_stack(u: Any, v: Any) -> Any:
    return cnp.matmul(u[None], cnp.stack([v, 2.0 * v]).transpose(0, 2, 1))[1]


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lambda u, v: cnp.cumsum(u * v, axis=0),
    "cumsum of a view": lambda u, v: cnp.cumsum(u, axis=1) * v,
    "matmul": lambda u, v: u @ v.T,
    "matmul by a constant": lambda u, v: (u @ WEIGHTS[: u.shape[1], :4]) * cnp.sum(v),
    "stack": with_stack,
    "vecdot": lambda u, v: u * cnp.vecdot(u, v)[:, None],
    "vecdot along the first": lambda u, v: v * cnp.vecdot(u, cnp.cos(v), axis=0),
    "vecdot by a constant": lambda u, v: (
        v * cnp.vecdot(u, WEIGHTS[: len(u), : u.shape[1]])[:, None]
    ),
    "sum": lambda u, v: u * cnp.sum(v, axis=1, keepdims=True),
}


def program(rng: np.random.Generator) -> Callable[[Any], Any]:
    """A few operations, each on two views of the same shape of what the one before gave."""
    names, numbers = list(OPERATIONS), rng.integers(0, 1000, (3, 3))

    def f(x: Any) -> Any:
        y = x
        for name, first, second in numbers:
            u, v = (VIEWS[k % len(VIEWS)](cnp.sin(y)) for k in (first, second))
            rows, columns = (min(u.shape[k], v.shape[k]) for k in (0, 1))
            y = OPERATIONS[names[name % len(names)]](u[:rows, :columns], v[:rows, :columns])
            if min(y.shape) < 2:
                y = x
        return cnp.sum(cnp.tanh(y) * cnp.cos(y))

    return f


@pytest.mark.parametrize("seed", range(N))
def test_all_modes_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f, shape = program(rng), tuple(rng.integers(2, 6, 2))
    x, v = rng.normal(size=shape), rng.normal(size=shape)
    gradient = cadiff.grad(f)(x)
    product = cadiff.jvp(cadiff.grad(f), (x,), (v,))[1]  # which no reverse sweep records
    hessian = cadiff.hessian(f)(x)
    scale = 1.0 + np.abs(hessian).max()
    differences = cadiff.jvp(f, (x,), (v,))[1]
    np.testing.assert_allclose(np.sum(gradient * v), differences, rtol=1e-9, atol=1e-11 * scale)
    recorded = cadiff.grad(lambda y: cnp.sum(cadiff.grad(f)(y) * v))(x)
    _, linear = cadiff.linearize(cadiff.grad(f), x)
    found = [np.tensordot(hessian, v, 2), recorded, linear(v), linear.vjp(v)]
    for optimize in (True, False):
        compiled = cadiff.compile(f, optimize=optimize)
        for point in (x, x + 0.3, x):
            np.testing.assert_allclose(compiled(point), f(point), rtol=1e-12)
        np.testing.assert_allclose(compiled.grad(x), gradient, rtol=1e-9, atol=1e-11 * scale)
        found += [compiled.hvp(x, v), np.tensordot(compiled.hessian(x), v, 2)]
    for one in found:
        np.testing.assert_allclose(one, product, rtol=1e-8, atol=1e-10 * scale)
