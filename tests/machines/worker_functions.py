"""What worker processes are sent, by name or with what it has recorded: they can import it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import cadiff

WIDTH = 5


def loss(w: Any, X: Any, y: Any) -> Any:
    """The logistic loss of some rows."""
    z = X @ w
    return np.sum(np.logaddexp(0.0, z) - y * z)


@cadiff.compile
def by_name(w: Any, X: Any, y: Any) -> Any:
    return loss(w, X, y)


def loss_of_rows(program: Any, path: str, begin: int, end: int, w: Any) -> tuple[Any, Any]:
    """Value and gradient for rows of a file, of which no more than these are read."""
    rows = np.memmap(path, dtype=float, mode="r").reshape(-1, WIDTH + 1)[begin:end]
    return program.value_and_grad(w, rows[:, :-1], rows[:, -1])


def loss_of_block(program: Any, block: Any, w: Any) -> Any:
    """Value and gradient for rows in memory, as one vector."""
    value, gradient = program.value_and_grad(w, block[:, :-1], block[:, -1])
    return np.append(gradient, value)


def gradient(program: Any, *args: Any) -> tuple[Any, int]:
    """A gradient, and how often the program was recorded in this process."""
    return program.grad(*args), program.stats()["recordings"]


def gradient_by_name(*args: Any) -> tuple[int, int]:
    """Which process this is, and how often `by_name` was recorded there."""
    by_name.grad(*args)
    return os.getpid(), by_name.stats()["recordings"]


def applied(function: Any, *args: Any) -> Any:
    return function(*args)


# --- functions with rules, and functions that fail -----------------------------------------------


@cadiff.primitive
def cube(x: Any) -> Any:
    return x**3


cube.defpartials(lambda ans, x: 3.0 * x**2)


def with_primitive(x: Any) -> Any:
    return np.sum(cube(x))


def with_factors(x: Any) -> Any:
    return np.sum(np.linalg.cholesky(np.outer(x, x) + 3.0 * np.eye(len(x))))


def with_complex_numbers(x: Any) -> Any:
    a = np.outer(x, x) + 1j * np.eye(len(x))
    return np.sum(abs(np.linalg.solve(a, np.tan(x + 0.3j))) ** 2)


def with_branches(x: Any) -> Any:
    total = 0.0
    for element in x:
        total = total + (cadiff.sin(element) if element > 0.0 else element)
    return total


def of_wrong_shapes(x: Any) -> Any:
    return np.sum(x @ np.ones((7, 2)))


def with_a_float(x: Any) -> Any:
    return float(x[0])


def infinite(x: Any) -> Any:
    with cadiff.nan_check():
        return cadiff.grad(lambda y: np.sum(np.sqrt(y - y)))(x)


def stale(x: Any) -> Any:
    kept = []
    cadiff.grad(lambda y: (kept.append(y), np.sum(y))[1])(x)
    return kept[0] + 1.0


def rows_mapped(X: Any) -> Any:
    return cadiff.vmap(lambda x: np.sum(np.sin(x)))(X)


SCRIPT = """
import joblib, numpy as np, cadiff

@cadiff.primitive
def cube(x):
    return x**3

cube.defpartials(lambda ans, x: 3.0 * x**2)

@cadiff.compile
def loss(x):
    return np.sum(cube(x))

@cadiff.grad
def slope(x):
    return loss(x) + np.sum(cube(x))

if __name__ == "__main__":
    x = np.arange(3.0)
    work = [loss.grad, slope, cadiff.grad(lambda x: np.sum(cube(x)))]
    for found, f in zip(joblib.Parallel(2)(joblib.delayed(f)(x) for f in work), work):
        assert np.array_equal(found, f(x)), f
"""
