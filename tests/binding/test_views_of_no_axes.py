"""Views of no axes, `x[0, ...]`, as NumPy's 0-d arrays: what is assigned to the array is seen in
them, and what is assigned to them, in the array. `x[0]` is a number.

Derivatives are compared with differences of the same function over plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from cadiff import Dual, Var

VIEWS: dict[str, Callable[[Any], Any]] = {
    "ellipsis": lambda y: y[0, ...],
    "ellipsis of a view": lambda y: y[0, ...][...],
    "squeeze": lambda y: np.squeeze(y[0:1]),
    "squeeze, a method": lambda y: y[0:1].squeeze(),
    "reshape": lambda y: np.reshape(y[0:1], ()),
    "reshape, a method": lambda y: y[0:1].reshape(()),
    "transpose": lambda y: y[0, ...].T,
    "asarray": lambda y: np.asarray(y[0, ...]),
}


def read_later(x: Any, view: Callable[[Any], Any]) -> Any:
    """The array is overwritten after the view was taken."""
    y = 1.0 * x
    v = view(y)
    y[:] = y * y[::-1]
    y[0] *= 2.0
    return v * v + y[1] * v + np.sum(v) + np.exp(v)


def written(x: Any, view: Callable[[Any], Any]) -> Any:
    """The view is written to."""
    y = 1.0 * x
    v = view(y)
    v += 3.0 * y[1]
    alias = v
    alias *= v
    v[()] = v * y[2]
    v[...] = v + y[2]
    number = v + 1.0
    number += y[1]  # a number of its own
    return np.sum(y * y) + number * v[None][0] - v[()]


def argument_written(x: Any, view: Callable[[Any], Any]) -> Any:
    """It is a view of an argument."""
    v = view(x)
    v += 2.0 * x[1:].sum()
    return x[0] * x[0] + v


def differences(f: Callable[[Any], Any], x: Any) -> Any:
    steps = 1e-6 * numpy.eye(x.size)
    return numpy.array([(f(x + step) - f(x - step)) / 2e-6 for step in steps])


MODES: dict[str, Callable[..., Any]] = {
    "grad": cadiff.grad,
    "jacfwd": cadiff.jacfwd,
    "compiled": lambda f: cadiff.compile(cadiff.grad(f)),
}

SECOND: dict[str, Callable[..., Any]] = {
    "hessian": cadiff.hessian,
    "forward over forward": lambda f: cadiff.jacfwd(cadiff.jacfwd(f)),
    "reverse over reverse": lambda f: cadiff.jacrev(cadiff.grad(f)),
    "reverse over forward": lambda f: cadiff.jacrev(cadiff.jacfwd(f)),
}


@pytest.mark.parametrize("use", [read_later, written, argument_written])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_what_is_assigned_is_seen_in_all_modes(use: Any, view: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        return use(x, view)

    x = numpy.array([1.0, 0.5, 0.75])
    value = f(x.copy())
    assert cadiff.value_and_grad(f)(x)[0] == pytest.approx(value)
    expected = differences(f, x)
    for mode in MODES.values():
        numpy.testing.assert_allclose(mode(f)(x), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("use", [read_later, written])
@pytest.mark.parametrize("mode", SECOND.values(), ids=SECOND.keys())
def test_second_derivatives(use: Any, mode: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        return use(x, VIEWS["ellipsis"])

    x = numpy.array([1.0, 0.5, 0.75])
    expected = differences(cadiff.grad(f), x)
    numpy.testing.assert_allclose(mode(f)(x), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("make", [Var, Dual])
def test_it_is_an_array_without_axes(make: Callable[[Any], Any]) -> None:
    x = 1.0 * make([2.0, 3.0])
    v = x[0, ...]
    assert (v.shape, v.ndim, v.size) == ((), 0, 1)
    assert cadiff.value(v) == 2.0
    for refused in (len, iter, float):
        with pytest.raises(TypeError):
            refused(v)
    with pytest.raises(IndexError):
        v[0]
    now, number, copy, asis = v[()], v + 0.0, v.copy(), v[...]
    x[0] = 5.0
    assert [cadiff.value(n) for n in (v, asis)] == [5.0, 5.0]
    assert [cadiff.value(n) for n in (now, number, copy)] == [2.0, 2.0, 2.0]
    copy[...] = 7.0
    assert cadiff.value(copy) == 7.0
    assert bool(v == 5.0)
    assert cadiff.value(x[0]) == 5.0


def test_a_diagonal_of_no_axes_is_not_assigned_to() -> None:
    x = 1.0 * Var([[2.0]])
    v = np.squeeze(np.diagonal(x))
    x[0, 0] = 4.0
    assert cadiff.value(v) == 4.0
    with pytest.raises(ValueError, match="read-only"):
        v[...] = 1.0


def test_it_joins_and_goes_to_functions_as_a_number() -> None:
    def f(x: Any) -> Any:
        y = 1.0 * x
        v = y[0, ...]
        joined = np.array([v, 2.0 * v])
        inner = cadiff.grad(lambda u: u * u)(v)
        y[0] = 0.0
        return joined.sum() + inner

    x = numpy.array([2.0, 3.0])
    for derivative in (cadiff.grad, cadiff.jacfwd):
        numpy.testing.assert_array_equal(derivative(f)(x), [5.0, 0.0])
    numpy.testing.assert_array_equal(cadiff.grad(lambda x: x[1, ...])(x), [0.0, 1.0])
    numpy.testing.assert_array_equal(cadiff.jacobian(lambda x: x[1, ...])(x), [0.0, 1.0])


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda v: v.copy(),
    "array": lambda v: np.array(v),
    "astype": lambda v: v.astype(complex),
    "plus": lambda v: +v,
    "a sum": lambda v: v + 0.0,
    "a product": lambda v: v * 1.0,
    "a quotient": lambda v: v / 1.0,
    "the conjugate, twice": lambda v: v.conj().conj(),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_what_is_made_of_a_complex_view_is_a_number_of_its_own(
    copied: Callable[[Any], Any],
) -> None:
    def f(x: Any) -> Any:
        z = np.ones(3, complex)
        number = copied(z[1, ...])
        z[...] = x[1]
        return number * x[0]

    point, directions = numpy.array([1.5 + 0.5j, 3.0]), numpy.ones(2, complex)
    assert cadiff.jvp(f, (point,), (directions,)) == (1.5 + 0.5j, 1.0 + 0.0j)
    assert cadiff.vjp(f, point)[1](1.0).tolist() == [1.0, 0.0]
