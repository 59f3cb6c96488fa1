"""Var and Dual as arrays: what ndarrays have, indexing, arrays of numbers as objects, assignment,
and the functions of NumPy and SciPy.

Each rule is stated once for both types where it holds for both. What is expected comes from NumPy.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sized
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

import cadiff
from cadiff import Dual, Var

from ..helpers.kinds import VAR, Kind, both
from ..helpers.names import name_of

Array = NDArray[Any]

# --- arrays like ndarrays ------------------------------------------------------------------------

SHAPES = [(), (3,), (1,), (0,), (2, 3), (0, 2), (2, 3, 2)]


@both
@pytest.mark.parametrize("shape", SHAPES)
def test_attributes_are_those_of_the_array(kind: Kind, shape: tuple[int, ...]) -> None:
    x = np.arange(float(math.prod(shape))).reshape(shape)
    v = kind.make(x)
    assert v.shape == x.shape
    assert v.ndim == x.ndim
    assert v.size == x.size
    assert v.dtype == x.dtype
    assert v.T.shape == x.T.shape
    np.testing.assert_array_equal(cadiff.value(v.T), x.T)
    if shape:
        assert len(v) == len(x)
        assert len(list(v)) == len(x)
    else:
        with pytest.raises(TypeError, match="0-d"):
            v[0]
        for refused in (len, iter, list, sum):
            with pytest.raises(TypeError, match=r"not iterable|no len"):
                refused(v)


@both
def test_containers_are_told_by_their_axes(kind: Kind) -> None:
    """As `hasattr` and the abstract classes of containers ask, of which a float is none."""
    for about in (Iterable, Sized):
        assert isinstance(kind.make([1.0, 2.0]), about)
        assert not isinstance(kind.make(1.0), about)
    assert not hasattr(kind.make(1.0), "__len__")
    assert not hasattr(kind.make(1.0), "__iter__")


@both
def test_iteration_and_unpacking_give_numbers(kind: Kind) -> None:
    a, b, c = kind.make([1.0, 2.0, 3.0])
    assert [cadiff.value(x) for x in (a, b, c)] == [1.0, 2.0, 3.0]
    assert all(isinstance(x, kind.type) and x.shape == () for x in (a, b, c))
    _, *rest = kind.make([1.0, 2.0, 3.0])
    assert len(rest) == 2
    (row, _) = kind.make([[1.0, 2.0], [3.0, 4.0]])
    assert row.shape == (2,)
    assert [cadiff.value(x) for x in reversed(kind.make([1.0, 2.0]))] == [2.0, 1.0]
    assert [(i, cadiff.value(x)) for i, x in enumerate(kind.make([5.0, 6.0]))] == [
        (0, 5.0),
        (1, 6.0),
    ]


def refuse_assignments(v: Any, message: str) -> None:
    """Assignments raise, and change nothing."""
    before = v.value
    for key in (0, slice(None), ..., np.array([1, 0]), v.value > 0.0):
        with pytest.raises(TypeError, match=message):
            v[key] = 7.0
    with pytest.raises(TypeError, match=message):
        v[:1] = v[1:]
    np.testing.assert_array_equal(v.value, before)


def test_leaves_cannot_be_assigned_to() -> None:
    refuse_assignments(Var([1.0, 2.0]), r"y = x\.copy\(\)")
    refuse_assignments(Var([[0.0, 1.0], [3.0, 2.0]])[1], r"y = x\.copy\(\)")


def test_what_was_made_outside_of_a_differentiation_cannot_be_assigned_to_inside() -> None:
    outside = Var([1.0, 2.0]) * 2.0

    def f(x: Any) -> Any:
        refuse_assignments(outside, r"y = y\.copy\(\)")
        inside = outside.copy()
        inside[0] = x
        return inside.sum()

    assert cadiff.grad(f)(3.0) == 1.0
    outside[0] = 5.0
    np.testing.assert_array_equal(outside.value, [5.0, 4.0])


IN_PLACE: list[Callable[[Any, Any], Any]] = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
]


@both
@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_results_are_changed_in_place(kind: Kind, op: Callable[[Any, Any], Any]) -> None:
    plain = {i: getattr(operator, i.__name__.replace("i", "", 1)) for i in IN_PLACE}[op]

    def changed(x: Any) -> Any:
        y = x * np.array([1.0, 2.0, 4.0])
        same = y
        y = op(y, 1.5 * x)
        assert y is same
        return (y * np.array([3.0, 2.0, 1.0])).sum()

    def fresh(x: Any) -> Any:
        return (plain(x * np.array([1.0, 2.0, 4.0]), 1.5 * x) * np.array([3.0, 2.0, 1.0])).sum()

    assert kind.derivative(changed, 2.1) == kind.derivative(fresh, 2.1)


@both
@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_numbers_are_not_changed_in_place(kind: Kind, op: Callable[[Any, Any], Any]) -> None:
    x = kind.make(3.0)
    y = x * 2.0
    z = op(y, x)
    assert z is not y
    assert cadiff.value(y) == 6.0


def test_leaves_are_not_changed_in_place() -> None:
    x = Var([1.0, 2.0])
    with pytest.raises(TypeError, match=r"y = x\.copy\(\)"):
        x += 1.0
    np.testing.assert_array_equal(x.value, [1.0, 2.0])


def test_duals_can_be_assigned_to() -> None:
    x = Dual([1.0, 2.0], [1.0, 0.0])
    x[1] = Dual(5.0, 7.0)
    x[0] *= 3.0
    np.testing.assert_array_equal(x.primal, [3.0, 5.0])
    np.testing.assert_array_equal(x.tangent, [3.0, 7.0])


@both
def test_elements_cannot_be_deleted(kind: Kind) -> None:
    for v in (kind.make([1.0, 2.0]), kind.make([1.0, 2.0]) * 2.0):
        with pytest.raises(TypeError):
            del v[0]
    for v in (kind.make(1.0), kind.make(1.0) * 2.0):
        for key in (0, (), ..., slice(None)):
            with pytest.raises(TypeError):
                v[key] = 1.0
            with pytest.raises(TypeError):
                del v[key]


TABLE = np.arange(1.0, 7.0).reshape(2, 3)
ITEMS: list[tuple[Any, ...]] = [(4,), (-1,), (1, 2), ((0, 1),), (-2, -3), (np.int8(3),)]


@pytest.mark.parametrize("index", ITEMS, ids=repr)
def test_an_item_keeps_its_derivative(index: tuple[Any, ...]) -> None:
    expected = np.where(TABLE.item(*index) == TABLE, 2.0 * TABLE, 0.0)
    for f in (
        lambda x: x.item(*index) ** 2,
        lambda x: abs((x * 1j).item(*index)) ** 2,
        lambda x: x.T.copy().T.item(*index) ** 2,
        lambda x: np.array(x.tolist(), dtype=object).item(*index) ** 2,
    ):
        program = cadiff.compile(f)
        for gradient in (cadiff.grad(f), cadiff.jacfwd(f), program.grad):
            np.testing.assert_allclose(gradient(TABLE), expected, rtol=1e-15)
        assert program.stats()["obstacles"] == []


@both
def test_the_only_item_is_the_number(kind: Kind) -> None:
    for number in (kind.make(3.0), kind.make([[3.0]]), kind.make([[3.0]])[0, 0, ...]):
        for index in ((), (0,), (-1,)):
            item = number.item(*index)
            assert isinstance(item, kind.type)
            assert (item.shape, item.value if kind is VAR else item.primal) == ((), 3.0)
    assert cadiff.grad(lambda x: (x @ x).item() * x[0])(np.array([1.0, 2.0])).tolist() == [
        7.0,
        4.0,
    ]


@both
@pytest.mark.parametrize(
    "index", [(), (6,), (-7,), (0, 3), ("a",), (1.5,), (0, 0, 0), ((1, 2, 0),)]
)
def test_wrong_indices_of_items_are_refused_as_numpy_does(kind: Kind, index: Any) -> None:
    with pytest.raises(Exception) as expected:
        TABLE.item(*index)
    for table in (kind.make(TABLE), kind.make(TABLE) * 1j):
        with pytest.raises(expected.type) as error:
            table.item(*index)
        assert str(error.value) == str(expected.value)


def test_items_of_constants_are_plain() -> None:
    def f(x: Any) -> Any:
        zeros = cadiff.numpy.zeros(2), cadiff.numpy.zeros(2, complex)
        assert [type(z.item(1)) for z in zeros] == [type(z.tolist()[1]) for z in zeros]
        assert [type(z.item(1)) for z in zeros] == [float, complex]
        zeros[0][1] = zeros[1][1] = x
        return zeros[0].item(1) * zeros[1].item(1).real

    assert cadiff.grad(f)(3.0) == 6.0


VECTOR = np.array([1.5, -2.0, 0.5, 3.0])
WEIGHTS = np.array([1.0, 3.0, -2.0, 5.0])

# A scalar of a vector, and its gradient there.
REDUCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sum": (lambda v: v.sum(), np.ones(4)),
    "builtin sum": (sum, np.ones(4)),
    "np.sum": (np.sum, np.ones(4)),
    "mean": (lambda v: v.mean(), np.full(4, 0.25)),
    "prod": (lambda v: v.prod(), VECTOR.prod() / VECTOR),
    "max": (lambda v: v.max(), [0, 0, 0, 1]),
    "builtin max": (max, [0, 0, 0, 1]),
    "min": (lambda v: v.min(), [0, 1, 0, 0]),
    "builtin min": (min, [0, 1, 0, 0]),
    "dot": (lambda v: v.dot(WEIGHTS), WEIGHTS),
    "dot of a list": (lambda v: v.dot(WEIGHTS.tolist()), WEIGHTS),
    "matmul": (lambda v: v @ WEIGHTS, WEIGHTS),
    "reflected matmul": (lambda v: WEIGHTS @ v, WEIGHTS),
    "reshape": (lambda v: v.reshape(2, 2)[1][0], [0, 0, 1, 0]),
    "ravel": (lambda v: v.reshape(2, 2).ravel()[2], [0, 0, 1, 0]),
    "flatten": (lambda v: v.flatten()[3], [0, 0, 0, 1]),
    "tolist": (lambda v: v.tolist()[1], [0, 1, 0, 0]),
    "product of elements": (lambda v: v[0] * v[-1], [3.0, 0, 0, 1.5]),
    "generator": (lambda v: sum(x * x for x in v), 2 * VECTOR),
    "arithmetic": (lambda v: (2.0 * v + v * v - 1.0).sum(), 2 + 2 * VECTOR),
    "array on the left": (lambda v: (WEIGHTS * v).sum(), WEIGHTS),
    "clip": (lambda v: v.clip(-1.0, 2.0).sum(), [1, 0, 1, 0]),
}


@pytest.mark.parametrize(("f", "gradient"), REDUCTIONS.values(), ids=REDUCTIONS.keys())
def test_a_scalar_of_a_vector_has_the_value_and_gradient_that_numpy_says(
    f: Callable[[Any], Any], gradient: Any
) -> None:
    value = float(f(VECTOR.copy()))
    v = Var(VECTOR)
    y = f(v)
    assert isinstance(y, Var)
    assert y.shape == ()
    y.backward()
    d = f(Dual.seed(VECTOR))
    assert isinstance(d, Dual)
    for got in (y.value, d.primal):
        assert math.isclose(got, value, rel_tol=1e-15)
    for slope in (v.grad, d.tangent):
        np.testing.assert_allclose(slope, gradient, rtol=1e-14, atol=1e-15)


@both
def test_max_with_a_nan_is_nan_and_of_nothing_raises(kind: Kind) -> None:
    assert math.isnan(cadiff.value(kind.make([1.0, math.nan, 2.0]).max()))
    with pytest.raises(ValueError):
        kind.make([]).max()
    with pytest.raises(ValueError):
        max(kind.make([]))


# --- indexing ------------------------------------------------------------------------------------

PLACES: list[Any] = [1, -1, np.int64(-2), np.uint8(3), np.array(2), ..., (1, ...), None, ()]
STEPS = [slice(1, 4), slice(None, None, 2), slice(None, None, -1), slice(4, 1, -2), slice(2, 2)]
GATHERED: list[Any] = [[0, 3], [2, 2, 0, 2], [-1, 0], np.array([[0, 1], [4, 4]]), []]
MASKS: list[Any] = [np.arange(5) % 2 == 0, [False, False, True, True, False], np.zeros(5, bool)]
VECTOR_KEYS = [*PLACES, *STEPS, slice(3, 99), (slice(None), None), *GATHERED, *MASKS]

ALL = slice(None)
BACK = slice(None, None, -1)
ELEMENTS: list[Any] = [1, (1, 2), (-1, -1), (ALL, 1), (..., 0), (ALL, None, 1)]
BLOCKS: list[Any] = [(slice(2), slice(1, None)), BACK, (BACK, slice(None, None, -2))]
EMPTY: list[Any] = [(slice(0, 0), ALL), (ALL, slice(5, 9))]
ROWS: list[Any] = [[0, 2], (ALL, [0, 1]), (slice(1, None), [3, 3, 0]), ([0, 2], [1, 3])]
BETWEEN: list[Any] = [(None, ALL, [1, 2]), (1, [2, 1]), (..., [1]), ([1], ...)]
OF_BOOL = [np.arange(12).reshape(3, 4) > 3, np.arange(3) != 1, (ALL, np.arange(4) % 2 == 0)]
MATRIX_KEYS = [*ELEMENTS, *BLOCKS, *EMPTY, *ROWS, np.ix_([0, 2], [1, 3]), *BETWEEN, *OF_BOOL]


def _scattered(x: Array, key: Any) -> tuple[Array, Array]:
    """Weights for the elements of x[key], and the gradient of their weighted sum by x."""
    part = np.asarray(x[key])
    weights = np.arange(1.0, part.size + 1).reshape(part.shape)
    gradient = np.zeros_like(x)
    np.add.at(gradient, key, weights)
    return weights, gradient


def _check_indexing(x: Array, key: Any) -> None:
    weights, gradient = _scattered(x, key)
    expected = x[key]

    v = Var(x)
    part = v[key]
    np.testing.assert_array_equal(cadiff.value(part), expected)
    assert np.shape(cadiff.value(part)) == np.shape(expected)
    total = sum(
        (part[i] if np.ndim(expected) else part) * float(weights[i])
        for i in np.ndindex(weights.shape)
    )
    if weights.size:
        total.backward()
    np.testing.assert_array_equal(v.grad, gradient)

    d = Dual(x, -x)
    np.testing.assert_array_equal(cadiff.value(d[key]), expected)
    tangents = d[key]
    if isinstance(tangents, np.ndarray):  # an object array serves as well
        values = [number.tangent for number in tangents.ravel()]
        np.testing.assert_array_equal(np.reshape(values, tangents.shape), -expected)
    else:
        np.testing.assert_array_equal(tangents.tangent, -expected)


@pytest.mark.parametrize("key", VECTOR_KEYS, ids=str)
def test_indexing_a_vector_takes_what_numpy_takes(key: Any) -> None:
    _check_indexing(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), key)


@pytest.mark.parametrize("key", MATRIX_KEYS, ids=str)
def test_indexing_a_matrix_takes_what_numpy_takes(key: Any) -> None:
    _check_indexing(np.arange(1.0, 13.0).reshape(3, 4), key)


@pytest.mark.parametrize(
    "key",
    [1, -2, slice(None, None, 2), ..., (1, ...), (..., 1), None, [0, 2], np.array([True] * 3)],
    ids=name_of,
)
def test_indexing_a_dual_keeps_its_lanes(key: Any) -> None:
    x = np.array([1.0, 2.0, 4.0])
    lanes = np.arange(6.0).reshape(3, 2)
    whole = key if isinstance(key, tuple) else (key,)
    part = Dual(x, lanes)[key]
    np.testing.assert_array_equal(part.primal, x[key])
    with_lanes = (*whole, slice(None)) if any(k is ... for k in whole) else whole
    np.testing.assert_array_equal(part.tangent, lanes[with_lanes])


@both
@pytest.mark.parametrize("index", [3, -4, 100, -100, np.int64(3)], ids=name_of)
def test_an_index_out_of_bounds_raises_index_error_that_names_it(kind: Kind, index: Any) -> None:
    with pytest.raises(IndexError, match=rf"index {index} "):
        kind.make([1.0, 2.0, 3.0])[index]


@both
@pytest.mark.parametrize(
    "key", [1.5, "a", (0, 0), [0.5], np.array([0.5]), [True, False]], ids=name_of
)
def test_what_is_no_index_raises(kind: Kind, key: Any) -> None:
    with pytest.raises((IndexError, TypeError)):
        kind.make([1.0, 2.0, 3.0])[key]


@both
def test_a_number_is_no_index(kind: Kind) -> None:
    with pytest.raises((IndexError, TypeError)):
        kind.make([1.0, 2.0])[kind.make(1.0)]


# --- object arrays -------------------------------------------------------------------------------

POINT = np.array([0.7, 1.9, 1.2])

OBJECT_FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "np.sum": (np.sum, np.ones_like),
    "sum": (sum, np.ones_like),
    "np.mean": (np.mean, lambda x: np.full_like(x, 1 / 3)),
    "np.prod": (np.prod, lambda x: x.prod() / x),
    "np.dot": (lambda a: np.dot(a, a), lambda x: 2 * x),
    "np.dot with floats": (lambda a: np.dot(a, [1.0, 2.0, 3.0]), lambda x: np.arange(1.0, 4.0)),
    "matmul": (lambda a: np.eye(3)[1] @ a, lambda x: np.eye(3)[1]),
    "np.max": (np.max, lambda x: (x == x.max()).astype(float)),
    "np.min": (np.min, lambda x: (x == x.min()).astype(float)),
    "np.var": (np.var, lambda x: 2 * (x - x.mean()) / 3),
    "np.std": (np.std, lambda x: (x - x.mean()) / 3 / x.std()),
    "np.linalg.norm": (np.linalg.norm, lambda x: x / np.sqrt(x @ x)),
    "np.sort": (lambda a: np.sort(a)[1], lambda x: np.array([0.0, 0.0, 1.0])),
    "np.concatenate": (lambda a: np.concatenate([a, a])[3], lambda x: np.array([1.0, 0, 0])),
    "slice": (lambda a: a[::-1][0], lambda x: np.array([0.0, 0.0, 1.0])),
    "reshape": (lambda a: a.reshape(3, 1)[1, 0], lambda x: np.array([0.0, 1.0, 0.0])),
    "arithmetic": (lambda a: np.sum((2 * a - 1) / a**2), lambda x: -2 / x**2 + 2 / x**3),
    "np.sin": (lambda a: np.sum(np.sin(a)), np.cos),
    "np.hypot": (lambda a: np.sum(np.hypot(a, a)), lambda x: np.full_like(x, math.sqrt(2))),
    "np.maximum": (lambda a: np.sum(np.maximum(a, 1.0)), lambda x: (x > 1).astype(float)),
    "cadiff.sin": (lambda a: np.sum(cadiff.sin(a)), np.cos),
    "cadiff.expit": (
        lambda a: np.sum(cadiff.expit(a)),
        lambda x: special.expit(x) * special.expit(-x),
    ),
    "cadiff.where": (
        lambda a: np.sum(cadiff.where(a > 1.0, a * a, a)),
        lambda x: np.where(x > 1, 2 * x, 1.0),
    ),
}


def _gradient_over_objects(
    f: Callable[[Any], Any], make: Callable[[list[Any]], Any], kind: Kind
) -> tuple[float, Array]:
    if kind is VAR:
        leaves = [Var(x) for x in POINT]
        result = f(make(list(leaves)))
        result.backward()
        return result.value, np.array([leaf.grad for leaf in leaves])
    result = f(make([Dual(x, lanes) for x, lanes in zip(POINT, np.eye(3), strict=True)]))
    return result.primal, result.tangent


@both
@pytest.mark.parametrize("make", [np.array, cadiff.array], ids=["np.array", "cadiff.array"])
@pytest.mark.parametrize(("f", "gradient"), OBJECT_FUNCTIONS.values(), ids=OBJECT_FUNCTIONS.keys())
def test_numpy_differentiates_through_arrays_of_numbers(
    kind: Kind,
    make: Callable[[list[Any]], Any],
    f: Callable[[Any], Any],
    gradient: Callable[[Array], Array],
) -> None:
    takes_real = f in (np.var, np.std) and np.lib.NumpyVersion(np.__version__) >= "2.5.0"
    if kind is not VAR and takes_real:
        pytest.skip("from 2.5 on they take .real of each element, the primal of a Dual")
    value, slope = _gradient_over_objects(f, make, kind)
    assert math.isclose(value, float(f(POINT.copy())), rel_tol=1e-14)
    np.testing.assert_allclose(slope, gradient(POINT), rtol=1e-13, atol=1e-15)


@both
def test_an_array_of_numbers_holds_the_numbers_themselves(kind: Kind) -> None:
    x, y = kind.make(1.0), kind.make(2.0)
    a = np.array([x, y])
    assert a.dtype == object
    assert a.shape == (2,)
    assert a[0] is x
    assert np.array([[x, y], [y, x]]).shape == (2, 2)
    assert np.array(x).shape == ()


@both
def test_numpy_works_on_lists_of_numbers(kind: Kind) -> None:
    assert kind.derivative(lambda v: np.mean([v, v + 2]), 3.0) == (4.0, 1.0)
    assert kind.derivative(lambda v: np.sum([v, v * v]), 3.0) == (12.0, 7.0)
    assert kind.derivative(lambda v: np.dot([v, 1.0], [v, 2.0]), 3.0) == (11.0, 6.0)


def test_where_values_and_comparisons_of_object_arrays_are_plain() -> None:
    numbers: list[Any] = [Var(1.0), Dual(2.0, 1.0), 3.0]
    a = cadiff.array(numbers)
    np.testing.assert_array_equal((a > 1.5).astype(bool), [False, True, True])
    assert cadiff.value(a).dtype == np.float64
    np.testing.assert_array_equal(cadiff.value(a), [1.0, 2.0, 3.0])
    assert np.argmax(a) == 2


# --- arrays that can be assigned to --------------------------------------------------------------


def test_an_array_of_zeros_takes_no_dual_made_by_hand() -> None:
    a = cadiff.zeros(3)
    with pytest.raises(TypeError, match="Dual"):
        a[0] = Dual(3.0, 1.0)
    np.testing.assert_array_equal(a.value, np.zeros(3))


@both
def test_array_copies_what_it_is_made_of(kind: Kind) -> None:
    x = kind.make(3.0)
    source = np.array([x, x])
    a = cadiff.array(source)
    a[0] = 1.0
    assert source[0] is x
    assert cadiff.array([[x, 1], [2, 3.5]]).shape == (2, 2)
    assert cadiff.array(x).shape == ()
    assert cadiff.array(np.arange(6).reshape(2, 3)).shape == (2, 3)
    assert cadiff.array([]).shape == (0,)
    assert cadiff.array(kind.make([1.0, 2.0])).shape == (2,)


@both
def test_constants_in_an_array_have_the_methods_that_numpy_looks_for(kind: Kind) -> None:
    assert kind.derivative(lambda x: np.exp(cadiff.array([x, 1.0]))[0], 0.0) == (1.0, 1.0)
    assert cadiff.value(np.exp(cadiff.array([kind.make(1.0), 0.0]))[1]) == 1.0


@pytest.mark.parametrize("items", ["a", [None], [1.0, "a"], [object()]], ids=name_of)
def test_array_refuses_what_is_no_number(items: Any) -> None:
    with pytest.raises(TypeError, match="real number"):
        cadiff.array(items)


# --- NumPy and SciPy dispatch --------------------------------------------------------------------


DISPATCHED: list[tuple[Callable[[Any], Any], float, float]] = [
    (lambda x: np.clip(x, 0.0, 1.0), 0.7, 1.0),
    (lambda x: np.arctan2(x, 1.0), math.atan(0.7), 1 / 1.49),
    (lambda x: np.round(x) * x, 0.7, 1.0),
    (special.erf, math.erf(0.7), 2 / math.sqrt(math.pi) * math.exp(-0.49)),
    (lambda x: np.array(2.0) * x, 1.4, 2.0),
    (lambda x: x.sin(), math.sin(0.7), math.cos(0.7)),
    (lambda x: x.hypot(0.0), 0.7, 1.0),
    (lambda x: x.clip(x, 1.0), 0.7, 1.0),
]


@both
@pytest.mark.parametrize(("f", "value", "slope"), DISPATCHED)
def test_functions_of_numpy_and_scipy_take_numbers(
    kind: Kind, f: Callable[[Any], Any], value: float, slope: float
) -> None:
    got = kind.derivative(f, 0.7)
    assert math.isclose(got[0], value, rel_tol=1e-15)
    assert math.isclose(got[1], slope, rel_tol=1e-14)


@both
@pytest.mark.parametrize(
    "f", [np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not], ids=lambda f: f.__name__
)
def test_predicates_of_numpy_answer_plain_bools(kind: Kind, f: Callable[[Any], Any]) -> None:
    for x in (0.0, -1.0, math.nan, math.inf):
        assert f(kind.make(x)) == f(x)
        assert isinstance(f(kind.make(x)), (bool, np.bool_))


@both
@pytest.mark.parametrize("f", [np.gcd, np.nextafter, np.bitwise_or], ids=lambda f: f.__name__)
def test_a_ufunc_without_a_derivative_is_refused_by_name(
    kind: Kind, f: Callable[..., Any]
) -> None:
    with pytest.raises(TypeError, match=f.__name__):
        f(kind.make(2.0), 2)


@both
def test_a_ufunc_writes_to_an_array_that_can_be_assigned_to(kind: Kind) -> None:
    def f(x: Any) -> Any:
        out = x * np.ones(3)
        made = np.multiply(x, np.array([1.0, 2.0, 3.0]), out=out)
        assert made is out
        np.add(out, x, out=out, where=np.array([True, False, True]))
        return (out * out).sum()

    assert kind.derivative(f, 2.0) == (4.0 * (4 + 4 + 16), 4.0 * (4 + 4 + 16))


@pytest.mark.parametrize(
    "mask",
    [[1, 0, 1], [2.0, 0.0, 0.5], [True, False, True], [0], 0, 1, False, np.True_, np.int64(1)],
    ids=name_of,
)
@both
def test_a_mask_of_a_ufunc_goes_by_its_truth(kind: Kind, mask: Any) -> None:
    def f(x: Any) -> Any:
        out = np.array([1.0, 2.0, 3.0]) * x
        np.add(out, 10.0 * x, out=out, where=mask)
        return (out * np.array([1.0, 100.0, 10_000.0])).sum()

    assert kind.derivative(f, 2.0) == (f(2.0), f(2.0) / 2.0)


@both
@pytest.mark.parametrize("mask", [np.array([1, 0, 1]), np.array([1.0, 0.0, 1.0])])
def test_an_array_of_other_numbers_is_no_mask_of_a_ufunc(kind: Kind, mask: Any) -> None:
    with pytest.raises(TypeError):
        np.add(np.zeros(3), 1.0, out=np.zeros(3), where=mask)
    out = kind.make(2.0) * np.ones(3)
    with pytest.raises(TypeError, match="mask of bool"):
        np.add(out, 1.0, out=out, where=mask)


@both
def test_a_ufunc_does_not_write_to_what_cannot_be_assigned_to(kind: Kind) -> None:
    with pytest.raises(TypeError):
        np.sin(1.0, out=(kind.make(1.0),))
    with pytest.raises(TypeError, match="out="):
        np.sin(kind.make([1.0]), out=np.zeros(1))


def test_a_ufunc_does_not_write_to_a_leaf() -> None:
    with pytest.raises(TypeError, match=r"y = x\.copy\(\)"):
        np.sin(1.0, out=(Var([1.0]),))


@pytest.mark.parametrize("step", [-2, -1, 1, 2, 3])
def test_results_of_rules_keep_the_signs_of_zeros(step: int) -> None:
    @cadiff.primitive
    def every(x: Any) -> Any:
        return x[::step]

    every.defvjp(lambda ans, x: np.zeros_like)

    x = np.array([-0.0, 1.0, -0.0, 0.0, -2.0, -0.0])
    result = every(Var(x)).value
    np.testing.assert_array_equal(result, x[::step])
    np.testing.assert_array_equal(np.signbit(result), np.signbit(x[::step]))


SHAPES = [
    *[(-1,), (2, -1), (-1, 3), (4, -1), (-1, 4), (-1, -1), (-1, -1, -1), (-2,), (-6,), (-2, 3)],
    *[(3, -2), (-2, -3), (-1, 2, -3), (0, -1), (-1, 0), (0, 3), (5,), (2, 3), (1, -1, 6)],
]


@pytest.mark.parametrize("kind", [Var, Dual])
@pytest.mark.parametrize("have", [(6,), (2, 3), (0,), (0, 3), ()])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_refused_where_numpy_refuses_it(
    kind: Any, have: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    plain = np.zeros(have)
    try:
        expected = plain.reshape(shape).shape
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            kind(plain).reshape(shape)
    else:
        assert kind(plain).reshape(shape).shape == expected


def test_a_seed_of_repeated_elements_adds_up() -> None:
    ways: list[Callable[[Any], Any]] = [lambda v: v, lambda v: 2.0 * v]
    for of in ways:
        leaf = Var([1.0, 2.0])
        repeated: Any = np.broadcast_to(of(leaf), (3, 2))
        repeated.backward(np.arange(6.0).reshape(3, 2))
        assert leaf.grad.tolist() == of(np.array([6.0, 9.0])).tolist()
        leaf.zero_grad()
        repeated.backward(1.0)
        assert leaf.grad.tolist() == of(np.array([3.0, 3.0])).tolist()


@pytest.mark.parametrize(
    "mask", [True, False, np.True_, np.False_, np.array(True), np.array(False)], ids=repr
)
def test_masks_of_numbers_without_axes(mask: Any) -> None:
    def masked(x: Any) -> Any:
        part = x[mask]
        assert part.shape == np.float64(2.0)[mask].shape
        return np.sum(part**3) + x

    slope = 13.0 if mask else 1.0
    for x in (2.0, np.array(2.0)):
        assert cadiff.grad(masked)(x) == cadiff.compile(masked).grad(x) == slope
        assert cadiff.jvp(masked, (x,), (1.0,))[1] == slope
