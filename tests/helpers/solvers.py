"""How functions that call solvers are held to what is known of them.

A `Case` is a function of a vector, as a user writes it, that returns one number, and the truth
about its gradient and Hessian where that is known; else differences of high order are taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cadiff

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[[Any], Any]  # of cadiff's modules
    plain: Callable[[Vector], float]  # the same, of SciPy's
    at: tuple[float, ...]
    tolerance: float = 1e-8  # of first derivatives, relative to the largest
    value_tolerance: float = 0.0
    truth: Callable[[Vector], Any] | None = None  # what f is in closed form, by cadiff's functions
    step: float = 1e-2
    second: bool = True  # whether second derivatives are quick enough to be tested
    program: bool = True  # whether it is quick enough in programs
    eager: bool = False  # whether programs run it eagerly
    program_tolerance: float = 1e-14  # of values

    def __str__(self) -> str:
        return self.name

    @property
    def point(self) -> Vector:
        return np.array(self.at)


def differences(f: Callable[[Vector], Any], x: Vector, step: float) -> Any:
    """The derivative by differences of order 8, with an axis for x at the end."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = step
        terms = [w * (f(x + i * e) - f(x - i * e)) for i, w in enumerate(weights, 1)]
        columns.append(sum(terms[1:], terms[0]) / step)
    return np.stack(columns, axis=-1)


def agree(left: Any, right: Any, tolerance: float) -> None:
    scale = max(1e-3, float(np.max(np.abs(right))))
    assert np.max(np.abs(np.asarray(left) - np.asarray(right))) <= tolerance * scale, (left, right)


def check(case: Case) -> None:
    """Value, both modes and second order, in programs too."""
    x, f = case.point, case.function
    value, gradient = cadiff.value_and_grad(f)(x)
    plain = case.plain(x)
    assert f(x) == plain  # SciPy's own function is called
    assert abs(value - plain) <= case.value_tolerance * abs(plain)
    if case.truth is not None:
        truth = cadiff.grad(case.truth)(x)
    else:
        truth = differences(case.plain, x, case.step)
    agree(gradient, truth, case.tolerance)
    agree(cadiff.jacfwd(f)(x), gradient, case.tolerance)
    if case.second:
        check_second(case)
    if case.program:
        check_program(case)


def check_program(case: Case) -> None:
    x, f = case.point, case.function
    with warnings.catch_warnings():
        if case.eager:
            warnings.simplefilter("ignore", RuntimeWarning)
        program: Any = cadiff.compile(f)
        program.value_and_grad(x)
        moved = x * 1.001
        found, slope = program.value_and_grad(moved)
    expected = cadiff.value_and_grad(f)(moved)
    assert case.eager or program.stats()["eager"] == 0
    agree(found, expected[0], case.program_tolerance)
    agree(slope, expected[1], case.tolerance)


def check_second(case: Case) -> None:
    x, f = case.point, case.function
    if case.truth is not None:
        curvature = cadiff.hessian(case.truth)(x)
    else:
        curvature = differences(cadiff.grad(f), x, case.step)
    hessian = cadiff.hessian(f)(x)
    agree(hessian, curvature, 100.0 * case.tolerance)
    agree(cadiff.hvp(f)(x, np.ones(x.size)), hessian @ np.ones(x.size), 100.0 * case.tolerance)
