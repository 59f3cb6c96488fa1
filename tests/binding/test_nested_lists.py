"""Nested lists of numbers as arrays: of one number of each kind, in all shapes, in all modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np
from cadiff import Dual, Var, binding

X = numpy.array([1.5, 2.0])

# Of x: with derivatives, and plain.
KINDS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: x[0],
    "product": lambda x: x[0] * x[1],
    "constant": lambda x: np.zeros(2)[0],
    "float": lambda x: 2.5,
    "int": lambda x: -3,
    "bool": lambda x: True,
    "float32": lambda x: numpy.float32(0.5),
    "int64": lambda x: numpy.int64(4),
    "no axes": lambda x: numpy.array(1.25),
    "view of no axes": lambda x: x[1, ...],
}

SHAPES: list[tuple[int, ...]] = [
    (1,),
    (3,),
    (2, 3),
    (4, 4),
    (1, 2, 2),
    (70,),
    (9, 9),
    (0,),
    (2, 0),
]


@st.composite
def trees(draw: st.DrawFn) -> tuple[Any, tuple[int, ...]]:
    """Nested lists and tuples of names of kinds, mostly of few kinds, and their shape."""
    shape = draw(st.sampled_from(SHAPES))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))

    def tree(lengths: tuple[int, ...]) -> Any:
        if not lengths:
            return draw(st.sampled_from(kinds)) if numpy.prod(shape) < 20 else kinds[0]
        items = [tree(lengths[1:]) for _ in range(lengths[0])]
        return tuple(items) if len(lengths) % 2 else items

    return tree(shape), shape


def filled(tree: Any, x: Any) -> Any:
    if isinstance(tree, str):
        return KINDS[tree](x)
    return type(tree)(filled(item, x) for item in tree)


def total_of(array: Callable[[Any], Any], tree: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = array(filled(tree, x))
        weights = 2.0 + numpy.cos(numpy.arange(float(y.size))).reshape(y.shape)
        return np.sum(y * y * weights) * x[1]  # in which no terms cancel

    return f


def element_by_element(items: Any) -> Any:
    plain = numpy.array(items, dtype=object)
    return binding.gather_numbers(plain) if plain.size else numpy.zeros(plain.shape)


@given(trees(), st.sampled_from([cadiff.grad, cadiff.jacfwd, cadiff.hessian, cadiff.jacrev]))
def test_lists_become_the_arrays_that_their_elements_make(given: Any, derivative: Any) -> None:
    tree, shape = given
    f, plain = total_of(np.array, tree), total_of(numpy.array, tree)
    assert np.array(filled(tree, X)).shape == shape
    numpy.testing.assert_allclose(cadiff.value_and_grad(f)(X)[0], plain(X), rtol=1e-14)
    numpy.testing.assert_allclose(cadiff.compile(f)(X), plain(X), rtol=1e-14)
    if "no axes" not in str(tree):
        other = derivative(total_of(element_by_element, tree))(X)
        numpy.testing.assert_allclose(derivative(f)(X), other, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("array", [np.array, cadiff.array, np.asarray])
def test_rows_of_all_modes_are_assigned_to(array: Any) -> None:
    def f(x: Any) -> Any:
        y = array([[x[0], 1.0], [0, x[0] * x[1]]])
        y[0, 1] = x[1] * y[1, 1]
        return np.sum(y @ y)

    def by_hand(x: Any) -> Any:
        a, b, d = x[0], x[0] * x[1] ** 2, x[0] * x[1]
        return a * a + a * b + b * d + d * d

    for derivative in (cadiff.grad, cadiff.jacfwd, cadiff.hessian):
        numpy.testing.assert_allclose(derivative(f)(X), derivative(by_hand)(X), rtol=1e-14)
    program = cadiff.compile(f)
    numpy.testing.assert_allclose(program.grad(X), cadiff.grad(by_hand)(X), rtol=1e-14)
    numpy.testing.assert_allclose(
        cadiff.jacfwd(cadiff.grad(f))(X), cadiff.hessian(by_hand)(X), rtol=1e-14
    )


def test_duals_of_various_lanes_and_tags() -> None:
    one, two = Dual(2.0, 3.0), Dual.seed([1.0, 2.0])
    numpy.testing.assert_array_equal(np.array([[one, 1.0]]).tangent, [[3.0, 0.0]])
    numpy.testing.assert_array_equal(np.array([two[0], 5.0]).tangent, [[1.0, 0.0], [0.0, 0.0]])
    for rows in ([[one, Var(1.0)]], [[Dual(one, 1.0), one]]):
        made = np.array(rows)
        assert made.shape == (1, 2)
        assert type(made) is type(Dual([1.0]))


@pytest.mark.parametrize(
    "wrong",
    [[[1.0, 2.0], [3.0]], [[1.0], 2.0], [1.0, "a"], [[1.0], [[2.0]]]],
    ids=str,
)
def test_what_is_no_array_is_refused_as_by_numpy(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        np.array([Var(1.0), *wrong])
    with pytest.raises((TypeError, ValueError)):
        numpy.array([1.0, *wrong], dtype=float)
