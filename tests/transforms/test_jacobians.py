"""Jacobians and Hessians, their products with vectors, and derivatives of any order.

What is expected comes from formulas and from complex steps.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cadiff
from cadiff import Var

from ..helpers.trees import Pair, assert_same_tree, leaves, tree_map

Array = NDArray[Any]
Function = Callable[..., Any]

# --- Jacobians -----------------------------------------------------------------------------------


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    """An array of a shape, of products and sines of the numbers of x."""
    numbers = list(leaves(x))
    total = sum(numbers)
    if shape == ():
        return numbers[0] * total
    out = cadiff.zeros(shape)
    for k, index in enumerate(np.ndindex(*shape)):
        out[index] = (k + 1.0) * numbers[k % len(numbers)] * total
    return out


def _spread_jacobian(x: Array, shape: tuple[int, ...]) -> Array:
    numbers = x.ravel()
    jacobian = np.zeros((math.prod(shape), x.size))
    for k in range(math.prod(shape)):
        jacobian[k] = (k + 1.0) * numbers[k % x.size]
        jacobian[k, k % x.size] += (k + 1.0) * numbers.sum()
    return jacobian.reshape(shape + x.shape)


modes = pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])


@modes
@pytest.mark.parametrize("shape_in", [(), (1,), (3,), (2, 2), (1, 9)], ids=str)
@pytest.mark.parametrize("shape_out", [(), (1,), (2,), (2, 3), (3, 1, 2), (40,), (0,)], ids=str)
def test_a_jacobian_has_the_shape_of_output_and_input(
    mode: Any, shape_in: tuple[int, ...], shape_out: tuple[int, ...]
) -> None:
    x = np.linspace(0.5, 2.0, math.prod(shape_in)).reshape(shape_in)
    jacobian = cadiff.jacobian(lambda x: _spread(x, shape_out), mode=mode)(x)
    expected = _spread_jacobian(x, shape_out)
    assert np.shape(jacobian) == shape_out + shape_in
    np.testing.assert_allclose(jacobian, expected, rtol=1e-14)


@modes
def test_a_flat_list_or_tuple_of_numbers_is_a_vector(mode: Any) -> None:
    x = np.array([2.0, 3.0])
    for kind in (list, tuple, np.array, cadiff.array):
        jacobian = cadiff.jacobian(lambda x, kind=kind: kind([x[0] * x[1], x[0], 7.0]), mode=mode)
        np.testing.assert_array_equal(jacobian(x), [[3.0, 2.0], [1.0, 0.0], [0.0, 0.0]])


def in_containers(p: Any, y: Any) -> Any:
    a, b = p["a"], p["b"]
    return {"n": a, "v": [a, 2.0 * y], "t": ([b[0]], Pair(b[1] * y, np.array([a]))), "e": {}}


@modes
def test_containers_of_inputs_stand_inside_those_of_outputs(mode: Any) -> None:
    args = {"a": 2.0, "b": np.array([3.0, 4.0])}, 5.0
    by_p = cadiff.jacobian(in_containers, mode=mode)(*args)
    first, zeros = {"a": 1.0, "b": np.zeros(2)}, np.zeros((1, 2))
    expected = {
        "n": first,
        "v": {"a": np.array([1.0, 0.0]), "b": np.zeros((2, 2))},
        "t": (
            {"a": np.zeros(1), "b": np.array([[1.0, 0.0]])},
            Pair({"a": 0.0, "b": np.array([0.0, 5.0])}, {"a": np.ones(1), "b": zeros}),
        ),
        "e": {},
    }
    assert_same_tree(by_p, expected)
    both = cadiff.jacobian(in_containers, (0, 1), mode=mode)(*args)
    assert_same_tree(both["t"][1].weight, (expected["t"][1].weight, 4.0))
    assert_same_tree(both["v"][1], np.array([0.0, 2.0]))


# --- second order --------------------------------------------------------------------------------


def test_a_hessian_has_the_shape_of_the_input_twice() -> None:
    x = np.arange(1.0, 7.0).reshape(2, 3)
    hessian = cadiff.hessian(lambda x: x[0, 0] * x[1, 2] * x[1, 2])(x)
    assert hessian.shape == (2, 3, 2, 3)
    expected = np.zeros((2, 3, 2, 3))
    expected[0, 0, 1, 2] = expected[1, 2, 0, 0] = 12.0
    expected[1, 2, 1, 2] = 2.0
    np.testing.assert_array_equal(hessian, expected)
    assert cadiff.hessian(lambda x: x**3)(2.0) == 12.0
    assert type(cadiff.hessian(lambda x: x**3)(2.0)) is float


HESSIAN_TREES = {
    "namedtuple": Pair(2.0, 3.0),
    "list": [2.0, 3.0],
    "tuple": (2.0, 3.0),
    "dict": {"weight": 2.0, "bias": 3.0},
    "array": np.array([2.0, 3.0]),
    "nested": [{"weight": 2.0}, (3.0,)],
}


@pytest.mark.parametrize("tree", HESSIAN_TREES.values(), ids=HESSIAN_TREES.keys())
def test_a_hessian_inside_a_gradient_has_the_same_structure_as_outside(tree: Any) -> None:
    def f(tree: Any) -> Any:
        a, b = leaves(tree)
        return a**2 * b**3

    seen = []

    def outer(scale: Any) -> Any:
        seen.append(cadiff.hessian(lambda tree: scale * f(tree))(tree))
        return sum(leaves(seen[-1]))

    gradient = cadiff.grad(outer)(5.0)
    assert math.isclose(gradient, 2 * 27 + 2 * (4 * 27) + 24 * 3)
    plain = tree_map(lambda x: 5.0 * x, cadiff.hessian(f)(tree))
    assert_same_tree(cadiff.value(seen[0]), plain)


def test_hvp_takes_the_direction_second() -> None:
    def f(scale: Any, x: Any, shift: float = 0.0) -> Any:
        return scale * x[0] ** 2 * x[1] + shift

    x, v = np.array([3.0, 5.0]), np.array([1.0, 2.0])
    expected = 2.0 * np.array([[10.0, 6.0], [6.0, 0.0]]) @ v
    np.testing.assert_array_equal(cadiff.hvp(f, 1)(2.0, v, x), expected)
    np.testing.assert_array_equal(cadiff.hvp(f, argnums=-1)(2.0, v, x, shift=1.0), expected)
    pair = cadiff.hvp(lambda p: f(2.0, p))(Pair(3.0, 5.0), Pair(1.0, 2.0))
    assert pair == Pair(*expected)
    assert cadiff.hvp(lambda x: x**3)(2.0, 0.5) == 6.0


def of_two(x: Any) -> Any:
    return x[0] ** 3 * x[1]


def cube(x: Any) -> Any:
    return x**3


# A derivative within a function of one number, the number, and the derivative by it.
WITHIN: dict[str, tuple[Function, float, float]] = {
    "hvp, by the direction": (lambda s: cadiff.hvp(of_two)([2.0, 5.0], [s, 0.0])[1], 1.0, 12.0),
    "hvp, by the point": (lambda s: cadiff.hvp(of_two)([s, 5.0], [1.0, 0.0])[0], 2.0, 30.0),
    "hvp, by an array": (
        lambda s: cadiff.hvp(of_two)(np.array([2.0, 5.0]), cadiff.array([s, 0.0]))[1],
        1.0,
        12.0,
    ),
    "jvp, by the point": (lambda x: cadiff.jvp(cube, (x,), (1.0,))[1], 2.0, 12.0),
    "jvp, by both": (lambda x: cadiff.jvp(cube, (x,), (x,))[1], 2.0, 36.0),
    "jvp, by the direction": (lambda t: cadiff.jvp(cube, (2.0,), (t,))[1], 5.0, 12.0),
    "jvp, by an array": (
        lambda t: cadiff.jvp(of_two, (np.array([1.0, 3.0]),), (cadiff.array([t, 0.0]),))[1],
        1.0,
        9.0,
    ),
    "vjp, by the point": (lambda x: cadiff.vjp(cube, x)[1](1.0), 2.0, 12.0),
    "vjp, by both": (lambda x: cadiff.vjp(cube, x)[1](x), 2.0, 36.0),
    "vjp, by the cotangent": (lambda u: cadiff.vjp(cube, 2.0)[1](u), 5.0, 12.0),
    "value of vjp": (lambda x: cadiff.vjp(cube, x)[0], 2.0, 12.0),
    "gradient fwd": (lambda x: gradient_within(x, "fwd"), 5.0, 1080.0),
    "gradient rev": (lambda x: gradient_within(x, "rev"), 5.0, 1080.0),
    "gradient auto": (lambda x: gradient_within(x, "auto"), 5.0, 1080.0),
}


def gradient_within(x: Any, mode: Any) -> Any:
    a, b = cadiff.gradient(lambda y, z: x * y * z**2, (2.0, 3.0), mode=mode)
    return a * b  # 9 x · 12 x


@pytest.mark.parametrize(("f", "x", "slope"), WITHIN.values(), ids=WITHIN)
def test_derivatives_within_derivatives(f: Function, x: float, slope: float) -> None:
    assert cadiff.grad(f)(x) == cadiff.derivative(f, x) == slope
    assert cadiff.vjp(f, x)[1](2.0) == cadiff.jvp(f, (x,), (2.0,))[1] == 2.0 * slope


# --- jvp and vjp ---------------------------------------------------------------------------------


def test_jvp_pairs_value_and_tangent() -> None:
    assert cadiff.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0)) == (6.0, 3.0)
    assert cadiff.jvp(lambda x, y: x * y, [2, 3], [0, 1]) == (6.0, 2.0)
    out, tangent = cadiff.jvp(
        lambda p, x: {"y": [p["a"] * x[0], x[1]]},
        ({"a": 2.0}, np.array([3.0, 4.0])),
        ({"a": 1.0}, np.array([10.0, 100.0])),
    )
    np.testing.assert_array_equal(out["y"], [6.0, 4.0])
    np.testing.assert_array_equal(tangent["y"], [23.0, 100.0])


def test_directions_and_cotangents_of_a_dict_are_matched_by_key() -> None:
    def f(p: Any) -> Any:
        return 10.0 * p["a"] + p["b"]

    point, tangents = {"a": 1.0, "b": 2.0}, {"b": 0.0, "a": 1.0}
    assert cadiff.jvp(f, (point,), (tangents,)) == (12.0, 10.0)
    assert cadiff.hvp(lambda p: f(p) ** 2)(point, tangents) == {"a": 200.0, "b": 20.0}
    _, pullback = cadiff.vjp(lambda x: {"a": 10.0 * x, "b": x}, 1.0)
    assert pullback({"a": 1.0, "b": 0.0}) == pullback(tangents) == 10.0


def test_a_pullback_gives_one_cotangent_or_a_tuple() -> None:
    assert cadiff.vjp(lambda x: x * x, 3.0)[1](2.0) == 12.0
    assert cadiff.vjp(lambda x, y: x * y, 3.0, 5.0)[1](2.0) == (10.0, 6.0)
    assert cadiff.vjp(lambda p, y: p["a"] * y, {"a": 3.0}, 5.0)[1](1) == ({"a": 5.0}, 3.0)


def test_a_pullback_takes_the_containers_of_the_output() -> None:
    def f(x: Any) -> Any:
        return {"v": [x[0], x[1] * 2.0], "s": x[0] * x[1], "n": Pair(x[0], [[x[1]]])}

    out, pullback = cadiff.vjp(f, np.array([3.0, 5.0]))
    assert out["s"] == 15.0
    cotangent = {"v": np.array([1.0, 10.0]), "s": 100.0, "n": Pair(1000.0, [[10000.0]])}
    np.testing.assert_array_equal(pullback(cotangent), [1501.0, 10320.0])
    np.testing.assert_array_equal(pullback({**cotangent, "v": [1, 10]}), [1501.0, 10320.0])


def test_a_pullback_may_be_called_often_and_late() -> None:
    out, pullback = cadiff.vjp(lambda x: [x[0] * x[1], cadiff.sin(x[0])], np.array([3.0, 5.0]))
    first = pullback([1.0, 0.0])
    kept = [cadiff.vjp(lambda x, k=k: k * x, 1.0)[1] for k in range(50)]
    for k in range(50):
        assert cadiff.grad(lambda x, k=k: x**k)(1.0) == k
        x = Var(2.0)
        (x * x).backward()
    np.testing.assert_array_equal(pullback([1.0, 0.0]), first)
    np.testing.assert_array_equal(pullback([0.0, 1.0]), [math.cos(3.0), 0.0])
    np.testing.assert_array_equal(pullback([0.0, 0.0]), [0.0, 0.0])
    assert [pull(1.0) for pull in kept] == list(range(50))
    np.testing.assert_array_equal(out, [15.0, math.sin(3.0)])


def test_pullbacks_do_not_touch_accumulated_gradients() -> None:
    x = Var(3.0)
    y = x * x
    y.backward()
    _, pullback = cadiff.vjp(lambda z: z * z, 2.0)
    pullback(1.0)
    assert x.grad == 6.0
    y.backward()
    assert x.grad == 12.0


@pytest.mark.parametrize("older", [True, False], ids=["older", "younger"])
def test_a_pullback_takes_cotangents_that_are_vars(older: bool) -> None:
    w = Var(5.0)
    _, pullback = cadiff.vjp(lambda x: x * x, 3.0)
    _, of_two = cadiff.vjp(lambda x: [x * x, x], 3.0)
    if not older:
        w = Var(5.0)
    pulled = pullback(w * w)
    assert cadiff.value(pulled) == 150.0
    (pulled * 1.0).backward()
    assert w.grad == 60.0
    w.zero_grad()
    (of_two([w, 1.0]) * 1.0).backward()
    assert w.grad == 6.0


# --- derivative, gradient ------------------------------------------------------------------------

DERIVATIVES: dict[str, tuple[Function, float, list[float]]] = {
    "cube at 0": (lambda x: x**3, 0.0, [0.0, 0.0, 0.0, 6.0, 0.0]),
    "cube by products": (lambda x: x * x * x, 2.0, [8.0, 12.0, 12.0, 6.0, 0.0]),
    "exp": (cadiff.exp, 0.0, [1.0] * 6),
    "sin": (cadiff.sin, 0.0, [0.0, 1.0, 0.0, -1.0, 0.0, 1.0]),
    "reciprocal": (lambda x: 1 / x, 1.0, [1.0, -1.0, 2.0, -6.0, 24.0]),
    "log": (cadiff.log, 1.0, [0.0, 1.0, -1.0, 2.0, -6.0]),
    "sqrt": (cadiff.sqrt, 1.0, [1.0, 0.5, -0.25, 0.375]),
    "constant": (lambda x: 7.0, 1.0, [7.0, 0.0, 0.0]),
    "identity": (lambda x: x, 2.0, [2.0, 1.0, 0.0, 0.0]),
    "power": (lambda x: 2.0**x, 0.0, [math.log(2) ** k for k in range(5)]),
}


@pytest.mark.parametrize(("f", "x", "expected"), DERIVATIVES.values(), ids=DERIVATIVES.keys())
def test_derivatives_of_any_order(f: Function, x: float, expected: list[float]) -> None:
    nested = f
    for order, number in enumerate(expected):
        result = cadiff.derivative(f, x, order=order)
        assert type(result) is float
        assert math.isclose(result, number, rel_tol=1e-14, abs_tol=1e-15)
        if 0 < order < 4:
            nested = cadiff.grad(nested)
            assert math.isclose(nested(x), number, rel_tol=1e-14, abs_tol=1e-15)


def test_derivative_by_one_of_several_arguments() -> None:
    def f(x: Any, y: Any, scale: Any) -> Any:
        return x * y**2 * len(scale)

    args = [2.0, 3.0, "text"]
    assert cadiff.derivative(f, 0, args) == 36.0
    assert cadiff.derivative(f, 1, args) == 48.0
    assert cadiff.derivative(f, -2, args) == 48.0
    assert cadiff.derivative(f, np.int64(1), tuple(args), order=2) == 16.0
    assert args == [2.0, 3.0, "text"]
    point: Any = np.array([2.0, 3.0])
    assert cadiff.derivative(lambda x, y: x * y, 0, point) == 3.0
    np.testing.assert_array_equal(point, [2.0, 3.0])


def test_the_derivative_of_several_outputs_keeps_their_form() -> None:
    np.testing.assert_array_equal(cadiff.derivative(lambda x: [x, x * x], 3.0), [1.0, 6.0])
    assert cadiff.derivative(lambda x: {"a": x**3}, 3.0, order=2) == {"a": 18.0}
    matrix = cadiff.derivative(lambda x: np.array([[x, x * x], [1.0, x]]), 3.0)
    np.testing.assert_array_equal(matrix, [[1.0, 6.0], [0.0, 1.0]])


@modes
def test_gradient_gives_one_entry_for_each_argument(mode: Any) -> None:
    points: list[Any] = [
        (2.0, 3.0),
        [2, 3],
        np.array([2.0, 3.0]),
        np.array([2, 3], dtype=np.float32),
    ]
    for args in points:
        result = cadiff.gradient(lambda x, y: x * y**2, args, mode=mode)
        assert isinstance(result, np.ndarray)
        single = isinstance(args, np.ndarray) and args.dtype == np.float32
        assert result.dtype == (np.float32 if single else np.float64)
        np.testing.assert_array_equal(result, [9.0, 12.0])


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(x) * x),
        lambda x: [x[0] * x[1], np.float64(2.0), x[2:] * 3.0],
        lambda x: {"a": np.outer(x, x), "b": np.ones(2)},
    ],
)
def test_lanes_are_taken_in_blocks(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0.5, 2.0, 7)
    second = lambda x: cadiff.jacfwd(cadiff.jacfwd(f))(x)  # noqa: E731
    whole = [cadiff.jacfwd(f)(x), second(x)]
    nested = cadiff.grad(lambda s: np.sum(cadiff.jacfwd(lambda x: np.sin(x) * s)(x)))
    inner = cadiff.grad(lambda s: np.sum(cadiff.hessian(lambda x: np.sum(np.sin(x) * s))(x)))
    values = [nested(2.0), inner(2.0)]
    seen = []

    def noted(x: Any) -> Any:
        seen.append(cadiff.value(x))
        return f(x)

    monkeypatch.setattr(cadiff.transforms._blocks, "MOST_SEEDS", 21)  # three lanes
    for a, b in zip(whole, [cadiff.jacfwd(noted)(x), second(x)], strict=True):
        for u, v in zip(_arrays(a), _arrays(b), strict=True):
            np.testing.assert_array_equal(u, v)
    assert len(seen) == 3
    np.testing.assert_allclose([nested(2.0), inner(2.0)], values, rtol=1e-14)


def _arrays(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [y for x in tree for y in _arrays(x)] if isinstance(tree, list) else [tree]


@pytest.mark.parametrize(
    "differentiate",
    [
        lambda f: cadiff.jacobian(f),
        lambda f: cadiff.jacfwd(f),
        lambda f: cadiff.jacrev(f),
        lambda f: cadiff.hessian(lambda x: np.sum(f(x) ** 2)),
        lambda f: cadiff.compile(f).jacobian,
        lambda f: cadiff.compile(lambda x: np.sum(f(x) ** 2)).hessian,
    ],
)
def test_matrices_for_which_there_is_no_memory(differentiate: Any) -> None:
    with pytest.raises(MemoryError, match=r"1,000,000 numbers by 1,000,000 .*sparse_jacobian"):
        differentiate(lambda x: x * 2.0)(np.ones(1_000_000))


def test_one_row_of_many_columns_takes_little_memory() -> None:
    x = np.ones(12_000)  # a matrix of 1.1 GiB would be the identity
    tracemalloc.start()
    try:
        found = cadiff.jacfwd(lambda x: np.sum(x[:3] * x[0]))(x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found[:4], [4.0, 1.0, 1.0, 0.0])
    assert peak < 400 * 2**20
