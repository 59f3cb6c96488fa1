"""Derivatives by differences, of functions without rules."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.threads import in_threads

METHODS = ["central", "complex"]


@cadiff.numerical
def black_box(x: Any, y: Any) -> Any:
    """Plain numbers alone: it fails with others."""
    assert type(x) is np.ndarray
    assert isinstance(y, float)
    return np.exp(-x) @ np.arange(x.size) * y


def white_box(x: Any, y: Any) -> Any:
    return cnp.exp(-x) @ np.arange(x.size) * y


@pytest.mark.parametrize(
    ("f", "slope", "x"),
    [
        (math.sin, math.cos, 2.0),
        (math.exp, math.exp, 1.0),
        (math.log, lambda x: 1.0 / x, 1e-8),
        (lambda x: math.sin(1e5 * x), lambda x: 1e5 * math.cos(1e5 * x), 1.0),
        (lambda x: math.exp(1e9 * x), lambda x: 1e9 * math.exp(1e9 * x), 1e-9),
        (lambda x: math.sin(2.0 * math.pi * 1024.0 * x), lambda x: 2048.0 * math.pi, 1.0),
        (abs, lambda x: 1.0, 1e-3),
        (abs, lambda x: 0.0, 0.0),
        (lambda x: x * x, lambda x: 2.0 * x, 0.0),
        (lambda x: x * x, lambda x: 2.0 * x, -1e6),
        (lambda x: x, lambda x: 1.0, 1e300),
        (lambda x: 3, lambda x: 0.0, 1.0),
        (lambda x: math.tanh(1e6 * (x - 1.0)), lambda x: 1e6, 1.0),
    ],
)
def test_steps_suit_the_function(f: Callable[[float], Any], slope: Any, x: float) -> None:
    box = cadiff.numerical(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cadiff.grad(box)(x)
    assert found == pytest.approx(slope(x), rel=2e-9, abs=1e-12)
    assert found == cadiff.derivative(box, x)


def test_a_smooth_derivative_has_twelve_digits_for_eight_runs() -> None:
    counted = itertools.count()
    box = cadiff.numerical(lambda x: math.exp(math.sin(x)) + 0 * next(counted))
    exact = math.exp(math.sin(0.7)) * math.cos(0.7)
    assert cadiff.derivative(box, 0.7) == pytest.approx(exact, rel=1e-12)
    assert next(counted) <= 10


@pytest.mark.parametrize("method", METHODS)
def test_arrays_in_all_modes(method: Any) -> None:
    box = cadiff.numerical(lambda A, y: np.sin(A) @ y, method=method)
    A, y = np.linspace(0.2, 1.3, 6).reshape(2, 3), np.array([0.3, -1.0, 2.0])

    def exact(A: Any, y: Any) -> Any:
        return cnp.sin(A) @ y

    for k in (0, 1):
        for jacobian in (cadiff.jacobian, cadiff.jacfwd, cadiff.jacrev):
            found = jacobian(box, k)(A, y)
            npt.assert_allclose(found, jacobian(exact, k)(A, y), rtol=1e-11, atol=1e-12)
    cadiff.check_grads(lambda A, y: cnp.sum(box(cnp.exp(A), y) ** 2), (A, y), order=1)
    empty = np.zeros((2, 0)), np.zeros(0)
    assert cadiff.jacobian(box)(*empty).shape == (2, 2, 0)


@pytest.mark.parametrize("method", METHODS)
def test_in_programs(method: Any) -> None:
    box = cadiff.numerical(lambda x: np.exp(x) * x[::-1], method=method)
    program = cadiff.compile(lambda x: cnp.sum(box(cnp.sin(x)) * x))
    exact = cadiff.compile(lambda x: cnp.sum(cnp.exp(cnp.sin(x)) * cnp.sin(x)[::-1] * x))
    for k in range(4):
        x = np.linspace(0.1, 1.0 + k, 5)
        value, gradient = program.value_and_grad(x)
        assert value == pytest.approx(exact(x), rel=1e-14)
        npt.assert_allclose(gradient, exact.grad(x), rtol=1e-10, atol=1e-11)
        npt.assert_allclose(program.jvp((x,), (x,))[1], exact.grad(x) @ x, rtol=1e-10)
    X = np.random.default_rng(0).uniform(0.1, 1.0, (4, 5))
    npt.assert_allclose(program.batch(X, what="grad"), exact.batch(X, what="grad"), rtol=1e-10)
    assert (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)


@pytest.mark.skipif(os.name == "nt", reason="needs libm")
def test_a_program_calls_what_cannot_be_watched() -> None:
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    libm.cosh.restype, libm.cosh.argtypes = ctypes.c_double, [ctypes.c_double]
    simulated = cadiff.numerical(lambda x: np.array([libm.cosh(t) for t in x]))
    program = cadiff.compile(lambda x: cnp.sum(simulated(x) ** 2))
    x = np.array([0.5, 1.5])
    for _ in range(3):
        npt.assert_allclose(program.grad(x), 2.0 * np.cosh(x) * np.sinh(x), rtol=1e-11)
    assert (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)


def test_what_f_reads_may_change() -> None:
    rate = [2.0]
    box = cadiff.numerical(lambda x: rate[0] * (x - 1.0))
    for rate[0] in (2.0, 3.0):
        assert cadiff.grad(box)(1.0) == pytest.approx(rate[0])
        assert cadiff.derivative(box, 1.0) == pytest.approx(rate[0])


def test_single_precision_other_arguments_and_keywords() -> None:
    box = cadiff.numerical(lambda x: np.sum(x * x))
    gradient = cadiff.grad(box)(np.array([0.1, 2.0], np.float32))
    assert gradient.dtype == np.float32
    npt.assert_allclose(gradient, [0.2, 4.0], rtol=1e-4)
    power = cadiff.numerical(lambda x, n, *more, k, ans=0: k * x**n)
    assert cadiff.grad(power)(2.0, 3, "unused", k=2.0, ans=1) == pytest.approx(24.0)
    rows = cadiff.vmap(cadiff.numerical(math.sin))
    x = np.arange(3.0)
    npt.assert_allclose(cadiff.jacobian(rows)(x), np.diag(np.cos(x)), atol=1e-12)


def test_f_may_change_and_keep_its_arrays() -> None:
    kept = np.empty(3)

    @cadiff.numerical
    def f(x: Any) -> Any:
        x *= 2.0
        kept[:] = x**2
        return kept

    x = np.array([1.0, 2.0, 3.0])
    npt.assert_allclose(cadiff.jacobian(f)(x), np.diag(8.0 * x), atol=1e-10)
    npt.assert_array_equal(x, [1.0, 2.0, 3.0])
    npt.assert_array_equal(f(x), 4.0 * x**2)


def test_threads() -> None:
    points = np.linspace(0.1, 2.0, 32).reshape(4, 8)
    box = cadiff.numerical(np.tan)
    found = in_threads(4, lambda k: cadiff.jacfwd(box)(points[k]))
    for x, jacobian in zip(points, found, strict=True):
        npt.assert_allclose(jacobian, cadiff.jacfwd(cnp.tan)(x), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives_are_refused(method: Any) -> None:
    box = cadiff.numerical(lambda x: np.exp(x), method=method)
    x = np.ones(2)
    program = cadiff.compile(lambda x: cnp.sum(box(x) ** 2))
    for derive in (
        lambda: cadiff.hessian(lambda x: cnp.sum(box(x) ** 2))(x),
        lambda: cadiff.hvp(lambda x: cnp.sum(box(x)))(x, x),
        lambda: cadiff.jacfwd(cadiff.jacfwd(box))(x),
        lambda: cadiff.jacrev(cadiff.jacrev(box))(x),
        lambda: cadiff.grad(cadiff.grad(box))(1.0),
        lambda: cadiff.derivative(box, 1.0, order=2),
    ):
        with pytest.raises(TypeError, match="has no derivative itself"):
            derive()
    with pytest.raises(TypeError, match="has no derivative itself"), pytest.warns(RuntimeWarning):
        program.hessian(x)
    assert cadiff.grad(cadiff.grad(lambda x: box(2.0) * x**2))(1.0) == 2.0 * np.exp(2.0)


def drawn(x: Any, count: Any = itertools.count()) -> Any:  # noqa: B008 - what a user may write
    return x * next(count)


@pytest.mark.parametrize(
    ("f", "method", "error", "match"),
    [
        (drawn, "central", ValueError, "drawn returned other values when it was called again"),
        (lambda x: np.ones(int(x * 10)), "central", ValueError, r"shape \(19,\) next to a point"),
        (lambda x: (x, x), "central", TypeError, "returns a tuple: return one"),
        (lambda x: "a", "central", TypeError, "returns no number"),
        (lambda x: 1j * x, "central", TypeError, "real and imaginary parts"),
        (math.sin, "complex", TypeError, "sin does not take complex numbers"),
        (lambda x: abs(x) * x, "complex", ValueError, "complex step of <lambda> is not its"),
        (lambda x: x.real * 2.0, "complex", ValueError, "complex step of <lambda> is not its"),
    ],
)
def test_what_is_wrong_is_said(f: Any, method: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        cadiff.jacobian(cadiff.numerical(f, method=method))(2.0)


def test_complex_arguments_and_wrong_ones() -> None:
    with pytest.raises(TypeError, match="real and imaginary parts"):
        cadiff.grad(cadiff.numerical(lambda z: abs(z) ** 2))(1.0 + 2.0j)
    with pytest.raises(ValueError, match='method is "central" or "complex"'):
        cadiff.numerical(math.sin, method="forward")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="numerical takes a function, not int"):
        cadiff.numerical(3)  # type: ignore[arg-type]


def test_where_there_is_no_derivative_it_is_nan() -> None:
    step = cadiff.numerical(lambda x: np.where(x > 1.0, 1.0, 0.0) + x)
    with pytest.warns(RuntimeWarning, match=r"by its argument x\[1\] = 1 do not come"):
        found = cadiff.grad(lambda x: cnp.sum(step(x)))(np.array([0.5, 1.0, 1.5]))
    npt.assert_allclose(found, [1.0, np.nan, 1.0], rtol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(cadiff.grad(cadiff.numerical(lambda x: math.nan))(1.0))
    with pytest.raises(ValueError, match="domain"):  # of math.sqrt
        cadiff.grad(cadiff.numerical(math.sqrt))(0.0)


def test_rules_of_ones_own_and_pickles() -> None:
    box = cadiff.numerical(lambda x, y: x * math.sin(y))
    box.defpartials(lambda ans, x, y: cadiff.sin(y), argnums=0)
    assert cadiff.grad(box)(3.0, 2.0) == math.sin(2.0)
    assert cadiff.grad(box, 1)(3.0, 2.0) == pytest.approx(3.0 * math.cos(2.0), rel=1e-12)
    assert pickle.loads(pickle.dumps(black_box)) is black_box
    x = np.array([0.1, 0.2, 0.3])
    found = cadiff.grad(black_box, (0, 1))(x, 2.0)
    for one, exact in zip(found, cadiff.grad(white_box, (0, 1))(x, 2.0), strict=True):
        npt.assert_allclose(one, exact, rtol=1e-11, atol=1e-12)
