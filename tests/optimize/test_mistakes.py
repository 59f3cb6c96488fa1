"""What users of `cadiff.optimize` get wrong, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import numpy as cnp
from cadiff import optimize
from cadiff.optimize import (
    Bounds,
    NonlinearConstraint,
    adam,
    basinhopping,
    curve_fit,
    least_squares,
    minimize,
    root,
    root_scalar,
    sgd,
)

T = np.linspace(0.0, 1.0, 10)
TWO, FOUR, GRID, ROWS = np.ones(2), np.ones(4), np.ones((3, 3)), np.ones((20, 3))
CONTAINER = {"a": 0.5, "b": np.array([0.2, 0.3])}
ONE_MORE = NonlinearConstraint(lambda x: x[:2], np.zeros(3), np.ones(3))


def total(x: Any) -> Any:
    return cnp.sum(x**2)


def of_container(p: Any) -> Any:
    return p["a"] ** 2 + total(p["b"])


def within(bounds: Any) -> Any:
    return minimize(of_container, CONTAINER, bounds=bounds)


def by_trust(f: Any, x0: Any, **options: Any) -> Any:
    return minimize(f, x0, method="trust-exact", **options)


def line(t: Any, a: Any, k: Any, c: Any = 0.0) -> Any:
    return a * t + k + c


def fit(**options: Any) -> Any:
    return curve_fit(lambda t, a, k: a * cnp.exp(-k * t), T, np.exp(-T), **options)


def loss(p: Any, rows: Any, more: Any = 0.0) -> Any:
    return total(p - rows) + cnp.sum(more)


def train(data: Any = ROWS, by: Any = adam, **options: Any) -> Any:
    return by(loss, np.zeros(3), data, **options)


IS_ARRAY = r"an array of shape \(3, 3\), where .* ydata, 9"

# What is done, and the telling words of the message; the kind of the error is that of the list.
OF_VALUES: list[tuple[Callable[[], Any], str]] = [
    # names and forms of arguments
    (lambda: minimize(total, [1.0, np.nan]), "finite"),
    (lambda: minimize(total, TWO, method="nothing of the kind"), "solver"),
    (lambda: minimize(total, TWO, method="adam"), r"write cadiff\.optimize\.adam\(f, x0"),
    (lambda: minimize(total, TWO, method="SGD"), r"write cadiff\.optimize\.sgd\(f, x0"),
    (lambda: minimize(total, TWO, method="lbfgs"), r"write cadiff\.optimize\.lbfgs\(f, x0"),
    (lambda: minimize(total, TWO, method="lbfgsb"), "lbfgsb: write 'l-bfgs-b'"),
    (lambda: minimize(total, TWO, method="annealing"), "the methods are .*bfgs.*ipopt"),
    (lambda: minimize(total, TWO, method="nlopt"), "nlopt: write 'nlopt:slsqp'"),
    (lambda: root(total, TWO, method="hybrid"), "write 'hybr'"),
    (lambda: root_scalar(np.sin, x0=1.0, method="hybr"), "the methods are .*newton"),
    (lambda: root_scalar(np.sin), "neither bracket nor starting point"),
    (lambda: optimize.minimize_scalar(total, method="bounds"), "write 'bounded'"),
    # results of f
    (lambda: minimize(lambda x: x * 2.0, TWO), "scalar"),
    (lambda: minimize(lambda x: (x, x), [1.0]), "a tuple of 2.*jac=True"),
    (lambda: minimize(np.sum, [1.0], jac=True), "returned a float.*leave jac out"),
    (lambda: minimize(lambda x: {"loss": x}, [1.0]), "a dict: return a number"),
    # bounds
    (lambda: within({"c": (0, 1)}), r"bounds has 'c', but x0 is a dict with the keys \['a', 'b'"),
    (lambda: within({"a": (2, 1)}), r"\['a'\] has a lower bound 2.0 above the upper bound 1"),
    (lambda: within({"b": (GRID[0], 1)}), r"\['b'\] has the shape \(3,\), but x0 has \(2"),
    (lambda: within({"a": (0, 1, 2)}), r"bounds\['a'\] should be a pair"),
    (lambda: within({"a": 3.0}), r"bounds\['a'\] should be a pair"),
    (lambda: within({"a": ("x", 1)}), r"bounds\['a'\]"),
    (lambda: within({"b": [(0, 1)] * 3}), r"bounds\['b'\] should be a list of 2"),
    (lambda: within({"b": {"c": (0, 1)}}), r"bounds\['b'\] should be"),
    (lambda: within(3.0), "bounds should be a dict"),
    (lambda: within([(0.0, None)] * 4), "there are 4 bounds, but x0 has 3 numbers"),
    (lambda: within(Bounds([0.0, 0.0], 1.0)), "has 2 numbers, but x0 has 3"),
    (lambda: minimize(total, FOUR, bounds=[(1, 5)] * 3), "there are 3 bounds, but x0 has 4"),
    (lambda: least_squares(total, TWO, bounds=([0] * 3, 5)), "has 3 numbers, but x0 has 2"),
    (lambda: least_squares(total, [1, 9.0], bounds=(0, 5)), r"x0\[1\] in \[0, 5\], not 9.0"),
    (lambda: least_squares(of_container, CONTAINER, x_scale={"c": 1.0}), "x_scale has 'c'"),
    # constraints
    *(
        (
            lambda method=method: minimize(total, FOUR, method=method, constraints=ONE_MORE),
            "lb has 3 numbers, the constraint returned 2",
        )
        for method in ("SLSQP", "trust-constr", "COBYLA")
    ),
    # curves
    (lambda: fit(p0=[1, 9], bounds=(0, 5)), r"p0\['k'\] in \[0, 5\], not 9"),
    (lambda: fit(p0=[1, 1], bounds=([0] * 3, 5)), "lower bound has 3 numbers, but p0 has 2"),
    (lambda: fit(bounds=([0] * 3, 5)), "lower bound has 3 numbers, but p0 has 2"),
    (lambda: fit(sigma=np.ones(9)), r"sigma has the shape \(9,\), but ydata has 10"),
    (lambda: fit(p0={"a": 1.0, "x": 1.0}), "p0 has 'x'"),
    (lambda: fit(bounds={"x": (0, 1)}), "bounds has 'x'"),
    (lambda: curve_fit(line, T, T, {"a": 1.0}), "p0 lacks 'k': the parameters of f are"),
    (lambda: curve_fit(line, T, T, {"c": 1.0}), "p0 lacks 'a', 'k': the parameters of f are"),
    (lambda: curve_fit(line, T, T, {}), "p0 lacks 'a', 'k': the parameters of f are"),
    (lambda: curve_fit(line, T, T[:-1], [1, 1]), r"10 numbers of xdata, .* but ydata has 9"),
    (lambda: curve_fit(line, T, T[:-1], {"a": 1, "k": 0}), r"10 numbers of xdata, .* ydata has 9"),
    (lambda: curve_fit(line, GRID, GRID), r"ydata with one axis, not of shape \(3, 3\)"),
    (lambda: curve_fit(lambda x, a: a * x, GRID, np.ones(9), method="lm"), IS_ARRAY),
    (lambda: curve_fit(lambda x, a: a * x, GRID, np.ones(9), method="trf"), IS_ARRAY),
    # training
    (lambda: train((ROWS, ROWS[:5]), batch_size=2), "as many rows"),
    (lambda: train(None, batch_size=2), "no data"),
    (lambda: train(ROWS[:0]), "without rows"),
    (lambda: train(lambda epoch: []), "no batch"),
    (lambda: train(batch_size=0), "batch_size"),
    (lambda: train(batch_size=2.5), "batch_size is a .* not 2.5"),
    (lambda: train(epochs=-1), "epochs is a .* not -1"),
    (lambda: train(beta1=1), "beta1 is a number from 0 to 1, without 1, not 1"),
    (lambda: train(beta2=1), "beta2 is a number from 0 to 1, without 1, not 1"),
    (lambda: train(learning_rate=np.inf), "learning_rate is a positive number, not inf"),
    (lambda: train(by=sgd, learning_rate=0), "learning_rate is a positive number, not 0"),
    (lambda: train(by=sgd, learning_rate="small"), "learning_rate is a .* not 'small'"),
]

OF_TYPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: minimize(total), "minimize needs 'x0'"),
    (lambda: minimize(total, TWO, x0=TWO), "two values for 'x0'"),
    (lambda: minimize(3.0, [1.0]), "function"),
    (lambda: by_trust(of_container, CONTAINER, hess=lambda p: np.eye(3)), "leave it"),
    (lambda: minimize(total, TWO, constraints={"type": "eq"}), '"fun"'),
    (lambda: minimize(total, [1.0, 2.0], bounds={"a": (0, 1)}), "of the vector x0"),
    (lambda: fit(p0=[1, 1, 1]), r"p0 has 3 numbers, f has 2 parameters \(a, k\)"),
    (lambda: train([np.ones(3), np.ones(4)]), "a function of the epoch"),
    (lambda: train(iter([np.ones(3)])), "a function of the epoch"),
    (lambda: train(lambda epoch: None), "an iterable of batches, not None"),
    # what differentiates, in the place of a derivative
    (lambda: minimize(total, [1.0], jac=cadiff.grad), r"jac=cadiff.grad\(fun\), or leave it out"),
    (lambda: by_trust(total, [1.0], hess=cadiff.hessian), r"hess=cadiff.hessian\(fun\)"),
    (
        lambda: least_squares(np.sin, [1.0], jac=cadiff.jacobian),
        r"jac=cadiff.jacobian\(fun\)",
    ),
    (lambda: root_scalar(np.sin, x0=1.0, fprime=cadiff.grad), r"fprime=cadiff.grad\(f\)"),
    (lambda: curve_fit(line, T, T, jac=cadiff.jacobian), r"cadiff.jacobian itself: leave it out"),
    (lambda: basinhopping(total, TWO, minimizer_kwargs={"jac": cadiff.grad}), r"grad\(func\)"),
]


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [(ValueError, *row) for row in OF_VALUES] + [(TypeError, *row) for row in OF_TYPES],
)
def test_mistakes_are_told_with_what_to_write(kind: Any, call: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("name", ["dual_annealing", "shgo", "differential_evolution"])
@pytest.mark.parametrize("bounds", [[(0.0, 1.0, 2.0)], [1.0], None, {"a": (0, 1), "b": None}])
def test_searches_take_pairs(name: str, bounds: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name} takes bounds as pairs"):
        getattr(optimize, name)(total, bounds)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_as_many_equations_as_unknowns(method: str) -> None:
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match=r"2, but fun returned an array of shape \(1,\)"):
            root(lambda x: x[:1] - 1.0, [2.0, 3.0], method=method)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (1j, "whose numbers are real"),
        (np.array([1j, 2.0]), "whose numbers are real"),
        ("abc", "starts at x0, .* not at 'abc'"),
        (None, "starts at x0, .* not at None"),
        ({"a": "b"}, "starts at x0"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "masked"),
    ],
)
def test_starts_that_are_no_real_numbers(start: Any, words: str) -> None:
    for optimiser in (minimize, least_squares, root, sgd):
        with pytest.raises(TypeError, match=words):
            optimiser(lambda x: x, start)


@pytest.mark.parametrize("start", [2.0 + 0j, [1.0, 2.0 + 0j]])
def test_numbers_that_are_not_real_are_value_errors_too(start: Any) -> None:
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="real"):
            least_squares(lambda x: x, start)
