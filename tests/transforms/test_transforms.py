"""The gradient functions: what they take, and what they return, against formulas."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import cadiff
from cadiff import Dual, Var

from ..helpers.functions import (
    TRANSFORMS,
    as_numbers,
    rosenbrock,
    rosenbrock_gradient,
    rosenbrock_hessian,
)
from ..helpers.names import name_of
from ..helpers.processes import isolated
from ..helpers.properties import examples
from ..helpers.trees import (
    Box,
    Fitted,
    Layer,
    Named,
    Pair,
    assert_same_tree,
    leaves,
    tree_map,
)
from ..helpers.trees import trees as random_trees
from ..helpers.ways import check_ways

Array = NDArray[Any]
Function = Callable[..., Any]

# --- functions with known derivatives ------------------------------------------------------------


def speelpenning(x: Any) -> Any:
    """The product of all elements, one by one."""
    product: Any = 1.0
    for number in x:
        product = product * number
    return product


def speelpenning_point(n: int) -> Array:
    return np.array([(i + 1) / (i + 2) for i in range(n)])


def speelpenning_gradient(x: Array) -> Array:
    return np.array([np.prod(np.delete(x, i)) for i in range(len(x))])


def speelpenning_hessian(x: Array) -> Array:
    n = len(x)
    hessian = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        hessian[i, j] = np.prod(np.delete(x, [i, j]))
    return hessian


SPEELPENNING = speelpenning, speelpenning_gradient, speelpenning_hessian
ROSENBROCK = rosenbrock, rosenbrock_gradient, rosenbrock_hessian

# A function of a vector with its derivatives by formula, and a point.
PROBLEMS: dict[str, tuple[tuple[Function, Function, Function], Array]] = {
    "Speelpenning 5": (SPEELPENNING, speelpenning_point(5)),
    "Speelpenning 12": (SPEELPENNING, speelpenning_point(12)),
    "Rosenbrock 2": (ROSENBROCK, np.array([-1.2, 1.0])),
    "Rosenbrock 5": (ROSENBROCK, np.array([1.3, 0.7, 0.8, 1.9, 1.2])),
    "Rosenbrock 20": (ROSENBROCK, np.linspace(-1.0, 1.5, 20)),
}
problems = pytest.mark.parametrize(("problem", "x"), PROBLEMS.values(), ids=PROBLEMS.keys())


# Ways to the gradient of a function of a vector, beside those of `check_ways`.
GRADIENTS: dict[str, Callable[[Function, Any], Any]] = {
    "grad of a list": lambda f, x: cadiff.grad(f)(x.tolist()),
    "grad of a tuple": lambda f, x: cadiff.grad(f)(tuple(x.tolist())),
    "grad by all arguments": lambda f, x: cadiff.grad(as_numbers(f), tuple(range(len(x))))(*x),
    "gradient auto": lambda f, x: cadiff.gradient(as_numbers(f), x),
    "gradient fwd": lambda f, x: cadiff.gradient(as_numbers(f), x, mode="fwd"),
    "gradient rev": lambda f, x: cadiff.gradient(as_numbers(f), x, mode="rev"),
    "jvp": lambda f, x: [cadiff.jvp(f, (x,), (e,))[1] for e in np.eye(len(x))],
    "derivative": lambda f, x: [cadiff.derivative(as_numbers(f), i, x) for i in range(len(x))],
    "elementwise_grad": lambda f, x: cadiff.elementwise_grad(f)(x),
    "backward": lambda f, x: _by_backward(f, x),
    "Dual.seed": lambda f, x: f(Dual.seed(x)).tangent,
}


def _by_backward(f: Function, x: Array) -> Array:
    v = Var(x)
    f(v).backward()
    result: Array = v.grad
    return result


HESSIANS: dict[str, Callable[[Function, Any], Any]] = {
    "hessian of a list": lambda f, x: cadiff.hessian(f)(x.tolist()),
    "hvp of a list": lambda f, x: [cadiff.hvp(f)(x.tolist(), e.tolist()) for e in np.eye(len(x))],
    "auto of auto": lambda f, x: cadiff.jacobian(cadiff.jacobian(f))(x),
    "vjp of grad": lambda f, x: [cadiff.vjp(cadiff.grad(f), x)[1](e) for e in np.eye(len(x))],
    "grad of jvp": lambda f, x: [
        cadiff.grad(lambda y, e=e: cadiff.jvp(f, (y,), (e,))[1])(x) for e in np.eye(len(x))
    ],
    "grad of grad": lambda f, x: [
        cadiff.grad(lambda y, i=i: cadiff.grad(f)(y)[i])(x) for i in range(len(x))
    ],
}


@problems
def test_derivatives_agree_with_the_formulas(problem: Any, x: Array) -> None:
    f, gradient, hessian = problem
    first, second = check_ways(f, x)
    np.testing.assert_allclose(first, gradient(x), rtol=1e-12)
    np.testing.assert_allclose(second, hessian(x), rtol=1e-11, atol=1e-12)


@problems
@pytest.mark.parametrize("way", GRADIENTS.values(), ids=GRADIENTS.keys())
def test_all_ways_to_a_gradient_agree_with_the_formula(problem: Any, x: Array, way: Any) -> None:
    f, gradient, _ = problem
    np.testing.assert_allclose(way(f, x), gradient(x), rtol=1e-12)


@problems
@pytest.mark.parametrize("way", HESSIANS.values(), ids=HESSIANS.keys())
def test_all_ways_to_a_hessian_agree_with_the_formula(problem: Any, x: Array, way: Any) -> None:
    f, _, hessian = problem
    found = np.asarray(way(f, x), dtype=float)
    np.testing.assert_allclose(found, hessian(x), rtol=1e-11, atol=1e-12)


def test_known_answers_of_rosenbrock() -> None:
    x = np.array([-1.2, 1.0])
    value, gradient = cadiff.value_and_grad(rosenbrock)(x)
    assert math.isclose(value, 24.2)
    np.testing.assert_allclose(gradient, [-215.6, -88.0])
    np.testing.assert_allclose(cadiff.hessian(rosenbrock)(x), [[1330.0, 480.0], [480.0, 200.0]])
    np.testing.assert_allclose(cadiff.hvp(rosenbrock)(x, np.array([1.0, 2.0])), [2290.0, 880.0])
    value, gradient = cadiff.value_and_grad(rosenbrock)([1.3, 0.7, 0.8, 1.9, 1.2])
    assert math.isclose(value, 848.22)
    np.testing.assert_allclose(gradient, [515.4, -285.4, -341.6, 2085.4, -482.0])


# --- argnums, keywords, aux ----------------------------------------------------------------------


def three(x: Any, y: Any, z: Any = 0.0) -> Any:
    return x * y**2 + 3.0 * z


ARGNUMS: list[tuple[Any, Any]] = [
    (0, 9.0),
    (1, 12.0),
    (-1, 3.0),
    (-3, 9.0),
    (np.int64(1), 12.0),
    ((0,), (9.0,)),
    ((1, 0), (12.0, 9.0)),
    ((0, -1), (9.0, 3.0)),
    ([2, 1], (3.0, 12.0)),
    ((), ()),
]


@pytest.mark.parametrize(("argnums", "expected"), ARGNUMS, ids=str)
def test_argnums_choose_arguments_and_the_form_of_the_gradient(
    argnums: Any, expected: Any
) -> None:
    assert cadiff.value_and_grad(three, argnums)(2.0, 3.0, 1.0) == (21.0, expected)
    for transform in (cadiff.grad, cadiff.elementwise_grad):
        assert transform(three, argnums)(2.0, 3.0, 1.0) == expected
    for mode in ("auto", "fwd", "rev"):
        assert cadiff.jacobian(three, argnums, mode=mode)(2.0, 3.0, 1.0) == expected


def test_argnums_of_second_derivatives() -> None:
    assert cadiff.hessian(three, 1)(2.0, 3.0) == 4.0
    assert cadiff.hessian(three, -2)(2.0, 3.0) == 0.0
    assert cadiff.hessian(three, (0, 1))(2.0, 3.0) == ((0.0, 6.0), (6.0, 4.0))
    assert cadiff.hessian(three, (1, 0))(2.0, 3.0) == ((4.0, 6.0), (6.0, 0.0))
    assert cadiff.hvp(three, 1)(2.0, 0.5, 3.0) == 2.0
    assert cadiff.hvp(three, -1)(2.0, 0.5, 3.0) == 2.0


transforms = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS.keys())


@transforms
def test_other_arguments_reach_f_as_they_are(transform: Callable[[Function], Function]) -> None:
    seen = []
    strangers = (None, "text", {1, 2}, 1j, True, [None], 3, 4.5)
    keywords = {"a": None, "b": 2.5, "c": [1, 2], "d": object()}

    def f(x: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((args, kwargs))
        return x * x

    transform(f)(3.0, *strangers, **keywords)
    (args, kwargs) = seen[0]
    assert all(got is given for got, given in zip(args, strangers, strict=True))
    assert kwargs.keys() == keywords.keys()
    assert all(kwargs[name] is keywords[name] for name in keywords)


def test_keyword_only_and_default_arguments() -> None:
    def f(x: Any, /, y: Any = 2.0, *rest: Any, scale: float, **options: Any) -> Any:
        return scale * x * y + sum(rest) + options.get("shift", 0.0)

    assert cadiff.grad(f)(3.0, scale=5.0) == 10.0
    assert cadiff.grad(f, (0, 1, 2))(3.0, 4.0, 1.0, scale=5.0, shift=1.0) == (20.0, 15.0, 1.0)
    assert cadiff.grad(three)(2.0, y=3.0) == 9.0
    assert type(cadiff.value_and_grad(three)(2.0, y=3.0, z=1.0)[0]) is float


def test_aux_is_returned_beside_the_result() -> None:
    def f(x: Any) -> Any:
        return x * x, {"double": 2 * x, "list": [x, "text", None], "array": np.array([x, x])}

    gradient, aux = cadiff.grad(f, has_aux=True)(3.0)
    assert gradient == 6.0
    (value, same), also = cadiff.value_and_grad(f, has_aux=True)(3.0)
    assert (value, also) == (9.0, 6.0)
    out, tangent, forward = cadiff.jvp(f, (3.0,), (1.0,), has_aux=True)
    assert (out, tangent) == (9.0, 6.0)
    out, pullback, reverse = cadiff.vjp(f, 3.0, has_aux=True)
    assert (out, pullback(1.0)) == (9.0, 6.0)
    for got in (aux, same, forward, reverse):
        assert got["double"] == 6.0
        assert type(got["double"]) is float
        assert got["list"] == [3.0, "text", None]
        assert type(got["list"][0]) is float
        assert got["array"].dtype == np.float64


def test_aux_holds_plain_values_whatever_the_container() -> None:
    def make(x: Any) -> list[Any]:
        return [OrderedDict(a=x), defaultdict(list, a=x), Pair(x, 1.0), (x, [x]), x]

    _, aux = cadiff.grad(lambda x: (x * x, make(x)), has_aux=True)(3.0)
    assert aux == make(3.0)
    assert [*map(type, aux)] == [*map(type, make(3.0))]
    assert pickle.loads(pickle.dumps(aux)) == aux


def test_aux_keeps_its_identity_where_it_holds_no_numbers() -> None:
    token = object()
    assert cadiff.grad(lambda x: (x, token), has_aux=True)(1.0)[1] is token
    assert cadiff.grad(lambda x: (x, None), has_aux=True)(1.0)[1] is None


def twice(y: Any, x: Any) -> tuple[Any, Any]:
    return y * y, x * y


AUX_INSIDE: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: cadiff.grad(twice, has_aux=True)(2.0, x)[1],
    "of x": lambda x: sum(cadiff.grad(lambda y: (y * y * x, x * y), has_aux=True)(2.0)) - 4.0 * x,
    "value_and_grad": lambda x: cadiff.value_and_grad(twice, has_aux=True)(2.0, x)[0][1],
    "jvp": lambda x: cadiff.jvp(lambda y: twice(y, x), (2.0,), (1.0,), has_aux=True)[2],
    "vjp": lambda x: cadiff.vjp(lambda y: twice(y, x), 2.0, has_aux=True)[2],
}


@pytest.mark.parametrize("f", AUX_INSIDE.values(), ids=AUX_INSIDE.keys())
def test_aux_keeps_outer_derivatives_also_if_the_result_has_none(f: Callable[[Any], Any]) -> None:
    for transform in (cadiff.grad, cadiff.jacfwd, cadiff.jacrev):
        assert transform(f)(3.0) == 2.0


# --- containers ----------------------------------------------------------------------------------


def weighted(tree: Any) -> Any:
    """The sum of k x² over the leaves, counted from 1; its gradient is 2 k x."""
    return sum((k + 1) * x * x for k, x in enumerate(leaves(tree)))


def expected_gradient(tree: Any) -> Any:
    count = itertools.count(1)
    return tree_map(lambda x: 2.0 * next(count) * x, tree)


class Rows(list[Any]):
    """A list of a user's own class."""


TREES: dict[str, Any] = {
    "float": 1.5,
    "int": 3,
    "np.float64": np.float64(1.5),
    "np.int8": np.int8(3),
    "0-d array": np.array(2.5),
    "vector": np.array([1.0, 2.0]),
    "matrix": np.arange(6.0).reshape(2, 3),
    "int vector": np.array([1, 2, 3]),
    "float32 vector": np.array([1, 2, 3], dtype=np.float32),
    "empty vector": np.zeros(0),
    "empty matrix": np.zeros((0, 3)),
    "list": [1.0, 2.0],
    "list of ints": [1, 2],
    "tuple": (1.0, 2.0, 3.0),
    "mixed row": [1.0, np.float32(2.0), 3],
    "empty list": [],
    "empty tuple": (),
    "empty dict": {},
    "empties": [[], (), {}, np.zeros((2, 0))],
    "dict": {"b": 1.0, "a": 2.0},
    "dict with other keys": {1: 2.0, (1, 2): 3.0, None: 4.0},
    "OrderedDict": OrderedDict([("z", 1.0), ("a", 2.0)]),
    "namedtuple": Pair(np.array([1.0, 2.0]), 3.0),
    "namedtuple of floats": Pair(1.0, 2.0),
    "list subclass": Rows([1.0, 2.0]),
    "dict subclass": Named(a=1.0, b=[2.0]),
    "dataclass": Layer(np.array([1.0, 2.0]), 3.0),
    "dataclass of ints": Layer(1, 2),
    "field that is made": Fitted(2.0),
    "registered class": Box("name", 1.0, [2.0, np.ones(2)]),
    "None in containers": [1.0, None, {"a": None, "b": (None, 2.0)}, Layer(None, 3.0)],
    "nested": {
        "layers": [Pair(np.ones((2, 2)), np.zeros(2)), Pair(np.ones((1, 2)), 0.5)],
        "rate": (0.1, [0.2, {"deep": 3}]),
        "nothing": [],
    },
    "array after list": [[1.0, 2.0], np.array([3.0]), (4.0,)],
    "list of rows": [[1.0, 2.0], [3.0], []],
}
trees = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
all_trees = st.one_of(random_trees, st.sampled_from([*TREES.values()]))


def kind_of_total(tree: Any) -> type:
    """What becomes of the numbers of a tree, added up."""
    numbers = list(leaves(tree))
    return np.float32 if numbers and all(type(x) is np.float32 for x in numbers) else float


@examples(120)
@given(all_trees)
def test_the_gradient_has_the_structure_of_the_argument(tree: Any) -> None:
    value, gradient = cadiff.value_and_grad(weighted)(tree)
    assert type(value) is kind_of_total(tree)
    # Python's own sum of floats compensates rounding from 3.12 on.
    assert math.isclose(value, float(weighted(tree)), rel_tol=1e-14, abs_tol=1e-14)
    assert_same_tree(gradient, expected_gradient(tree))


@trees
def test_f_gets_the_containers_it_was_given(tree: Any) -> None:
    def f(got: Any) -> Any:
        assert_same_tree(cadiff.value(got), tree_map(float, tree))
        return 0.0

    cadiff.grad(f)(tree)
    cadiff.jvp(f, (tree,), (tree,))


@trees
def test_every_transform_takes_containers_and_leaves_them(tree: Any) -> None:
    gradient, before = expected_gradient(tree), copy.deepcopy(tree)
    for mode in ("fwd", "rev"):
        if len(list(leaves(tree))):
            assert_same_tree(cadiff.jacobian(weighted, mode=mode)(tree), gradient)
    assert_same_tree(cadiff.vjp(weighted, tree)[1](1.0), gradient)
    count = itertools.count(1)
    if len(list(leaves(tree))):
        product = tree_map(lambda x: 2.0 * next(count) * x, tree)
        assert_same_tree(cadiff.hvp(weighted)(tree, tree), product)
    by_tree, by_scale = cadiff.grad(lambda c, tree: c * weighted(tree), (1, 0))(2.0, tree)
    assert by_scale == float(weighted(tree))
    assert_same_tree(by_tree, tree_map(lambda x: 2.0 * x, gradient))
    out, tangent = cadiff.jvp(weighted, (tree,), (tree,))
    assert type(out) is type(tangent) is kind_of_total(tree)
    assert math.isclose(tangent, 2 * out, rel_tol=1e-15)
    assert_same_tree(tree_map(float, tree), tree_map(float, before))
    assert type(tree) is type(before)


@pytest.mark.parametrize("kind", [functools.partial(defaultdict, int), Counter])
def test_other_kinds_of_dict_give_a_gradient_by_key(kind: Callable[..., Any]) -> None:
    tree = kind({"a": 2.0, "b": 3.0})
    gradient = cadiff.grad(lambda tree: tree["a"] * tree["b"] ** 2)(tree)
    assert dict(gradient) == {"a": 9.0, "b": 12.0}


def test_the_same_number_in_two_places_gets_two_gradients() -> None:
    x = [2.0, 3.0]
    gradient = cadiff.grad(lambda tree: tree[0][0] * tree[1][1])([x, x])
    assert gradient == [[3.0, 0.0], [0.0, 2.0]]
    assert gradient[0] is not gradient[1]


def test_object_arrays_of_numbers_are_arguments() -> None:
    x = Var(2.0)
    numbers: list[Any] = [x, 3.0]
    array = cadiff.array(numbers)
    gradient = cadiff.grad(lambda a: a[0] * a[0] * a[1])(array)
    np.testing.assert_array_equal(cadiff.value(gradient), [12.0, 4.0])
    gradient[0].backward()
    assert x.grad == 6.0
    plain = cadiff.grad(lambda a: a[0] * a[1])(np.array([2.0, 3], dtype=object))
    np.testing.assert_array_equal(plain.astype(float), [3.0, 2.0])


@examples(60)
@given(random_trees, st.randoms(use_true_random=False))
def test_forward_and_reverse_are_adjoint_on_random_containers(tree: Any, random: Any) -> None:
    def f(tree: Any) -> Any:
        numbers = list(leaves(tree))
        return {"sum": sum(numbers, 0.0), "products": [a * b for a in numbers for b in numbers]}

    direction = tree_map(lambda x: random.uniform(-1, 1), tree)
    out, tangent = cadiff.jvp(f, (tree,), (direction,))
    cotangent = tree_map(lambda x: random.uniform(-1, 1), out)
    again, pullback = cadiff.vjp(f, tree)
    assert_same_tree(again, out)
    left = sum(a * b for a, b in zip(leaves(cotangent), leaves(tangent), strict=True))
    pulled = pullback(cotangent)
    right = sum(a * b for a, b in zip(leaves(pulled), leaves(direction), strict=True))
    assert math.isclose(left, right, rel_tol=1e-10, abs_tol=1e-10)


@examples(60)
@given(all_trees)
def test_flatten_and_unflatten_are_inverse(tree: Any) -> None:
    vector, unflatten = cadiff.flatten(tree)
    assert vector.shape == (len(list(leaves(tree))),)
    assert vector.dtype == np.float64 and vector.flags.writeable
    np.testing.assert_array_equal(vector, [float(x) for x in leaves(tree)])
    assert_same_tree(unflatten(2.0 * vector), tree_map(lambda x: 2.0 * x, tree))


# --- constants, unused arguments, sizes ----------------------------------------------------------


@pytest.mark.parametrize("constant", [5.0, 5, np.float64(5), np.float32(5), np.array(5.0)])
def test_a_constant_output_has_gradient_zero(constant: Any) -> None:
    def f(x: Any) -> Any:
        return constant

    assert cadiff.value_and_grad(f)(2.0) == (5.0, 0.0)
    kind = np.float32 if isinstance(constant, np.float32) else float
    assert type(cadiff.value_and_grad(f)(2.0)[0]) is kind
    np.testing.assert_array_equal(cadiff.grad(f)(np.ones((2, 3))), np.zeros((2, 3)))
    assert cadiff.grad(f)([1.0, {"a": 2.0}]) == [0.0, {"a": 0.0}]
    assert cadiff.grad(f, (0,))(2.0) == (0.0,)
    assert cadiff.elementwise_grad(f)(2.0) == 0.0
    assert cadiff.jvp(f, (2.0,), (1.0,)) == (5.0, 0.0)
    assert cadiff.vjp(f, 2.0)[1](1.0) == 0.0
    assert cadiff.derivative(f, 2.0) == 0.0
    assert cadiff.derivative(f, 2.0, order=3) == 0.0
    for mode in ("fwd", "rev", "auto"):
        np.testing.assert_array_equal(
            cadiff.gradient(lambda *x: f(x), (2.0, 3.0), mode=mode), [0, 0]
        )
    for jacobian in (cadiff.jacfwd, cadiff.jacrev):
        np.testing.assert_array_equal(jacobian(f)(np.ones(3)), np.zeros(3))


CONSTANTS_OF_MANY = [
    "cadiff.hessian(lambda x: 5.0)(np.ones(200))",
    "cadiff.hessian(lambda x: 5.0)([1.0] * 50)",
    "cadiff.hvp(lambda x: 5.0)(np.ones(2000), np.ones(2000))",
    "cadiff.jacobian(lambda x: [1.0, 2.0] * 100)(np.ones(200))",
    "cadiff.jacobian(lambda x: np.zeros(300))(np.ones(200))",
    "cadiff.jacobian(lambda x, y: [y] * 200)(np.ones(200), 2.0)",
]


def test_a_constant_output_of_many_inputs_has_zeros_for_derivatives() -> None:
    output = isolated(f"""
import cadiff, numpy as np
for code in {CONSTANTS_OF_MANY}:
    for _ in range(3):
        result = np.asarray(eval(code), dtype=float)
        print(result.size > 0 and not result.any())
""")
    assert output.split() == ["True"] * 3 * len(CONSTANTS_OF_MANY)


def test_an_unused_argument_gets_zeros() -> None:
    f = cadiff.grad(lambda x, y, z: x * 2.0, (0, 1, 2))
    by_x, by_y, by_z = f(1.0, np.ones((2, 2)), {"a": [1.0]})
    assert by_x == 2.0
    np.testing.assert_array_equal(by_y, np.zeros((2, 2)))
    assert by_z == {"a": [0.0]}
    assert cadiff.hessian(lambda x, y: x * x, (0, 1))(1.0, 2.0) == ((2.0, 0.0), (0.0, 0.0))
    for mode in ("fwd", "rev", "auto"):
        by_x, by_y = cadiff.jacobian(lambda x, y: [x, x], (0, 1), mode=mode)(1.0, np.ones(3))
        np.testing.assert_array_equal(by_x, [1.0, 1.0])
        np.testing.assert_array_equal(by_y, np.zeros((2, 3)))
    assert cadiff.derivative(lambda x, y: x, 1, (1.0, 2.0)) == 0.0


@pytest.mark.parametrize(
    "shape_out",
    [
        lambda y: y,
        lambda y: np.array(y, dtype=object),
        lambda y: np.array([y]),
        lambda y: cadiff.array([[y]]),
    ],
    ids=["number", "0-d", "vector", "matrix"],
)
def test_an_output_of_size_one_counts_as_a_scalar(shape_out: Function) -> None:
    value, gradient = cadiff.value_and_grad(lambda x: shape_out(x * x))(3.0)
    assert type(value) is float
    assert (value, gradient) == (9.0, 6.0)
    assert cadiff.hessian(lambda x: shape_out(x * x))(3.0) == 2.0
    assert cadiff.hvp(lambda x: shape_out(x * x))(3.0, 2.0) == 4.0
    for mode in ("auto", "fwd", "rev"):
        gradient = cadiff.gradient(lambda x, y: shape_out(x * y), (2.0, 3.0), mode=mode)
        np.testing.assert_array_equal(gradient, [3.0, 2.0])


def test_no_arguments_to_differentiate() -> None:
    assert cadiff.vjp(lambda: 3.0)[0] == 3.0
    assert cadiff.vjp(lambda: 3.0)[1](1.0) == ()
    assert cadiff.jvp(lambda: 3.0, (), ()) == (3.0, 0.0)
    for mode in ("auto", "fwd", "rev"):
        assert cadiff.gradient(lambda: 3.0, (), mode=mode).shape == (0,)


# --- precision, freshness, purity ----------------------------------------------------------------

LAYOUTS: dict[str, Array] = {
    "Fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "every second": np.arange(12.0)[::2],
    "reversed": np.arange(5.0)[::-1],
    "broadcast": np.broadcast_to(np.array([1.0, 2.0]), (3, 2)),
    "big-endian": np.arange(4.0).astype(">f8"),
    "big-endian int": np.arange(4).astype(">i2"),
    "unaligned": np.frombuffer(b"\0" + np.arange(4.0).tobytes(), dtype=np.float64, offset=1),
    "uint8": np.arange(4, dtype=np.uint8),
    "int64": np.arange(4, dtype=np.int64),
    "longdouble": np.arange(4, dtype=np.longdouble),
    "float16": np.arange(4, dtype=np.float16),
}


@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_arrays_of_every_layout_are_arguments(x: Array) -> None:
    flags = x.flags.writeable
    expected = 2.0 * np.arange(1, x.size + 1).reshape(x.shape) * x
    results = [
        cadiff.grad(weighted)(x),
        cadiff.jacfwd(weighted)(x),
        cadiff.jacrev(weighted)(x),
        cadiff.vjp(weighted, x)[1](1.0),
        cadiff.hvp(weighted)(x, x),
    ]
    for result in results:
        np.testing.assert_allclose(np.asarray(result, float), expected.astype(float), rtol=1e-15)
        assert result.flags.writeable
        assert not np.shares_memory(result, x)
    assert x.flags.writeable == flags


@pytest.mark.parametrize("three", [3, np.int32(3), np.uint8(3), np.array(3)], ids=name_of)
def test_ints_are_promoted_to_floats(three: Any) -> None:
    gradient = cadiff.grad(lambda x: x**2)(three)
    assert type(gradient) is float
    assert gradient == 6.0
    assert cadiff.jacfwd(lambda x: x**2)(three) == 6.0
    assert cadiff.derivative(lambda x: x**2, three) == 6.0
    assert cadiff.hessian(lambda x: x**2)(three) == 2.0
    assert cadiff.grad(lambda x: x / 2)(three) == 0.5


def _results(x: Any) -> dict[str, Any]:
    def f(x: Any) -> Any:
        return x[0] * x[1] + x[1] * x[2]

    out, pullback = cadiff.vjp(lambda x: x, x)
    primal, tangent = cadiff.jvp(lambda x: x, (x,), (x,))
    return {
        "grad": cadiff.grad(f)(x),
        "grad of an element": cadiff.grad(lambda x: x[0])(x),
        "jacobian": cadiff.jacobian(f)(x),
        "jacfwd": cadiff.jacfwd(lambda x: x)(x),
        "jacrev": cadiff.jacrev(lambda x: x)(x),
        "hessian": cadiff.hessian(f)(x),
        "hvp": cadiff.hvp(f)(x, x),
        "jvp out": primal,
        "jvp tangent": tangent,
        "vjp out": out,
        "pulled": pullback(x),
        "gradient": cadiff.gradient(as_numbers(f), x),
        "elementwise_grad": cadiff.elementwise_grad(lambda x: x)(x),
        "flatten": cadiff.flatten(x)[0],
        "constant vjp": cadiff.vjp(lambda y: x, 1.0)[0],
        "constant jvp": cadiff.jvp(lambda y: x, (1.0,), (1.0,))[0],
        "aux of jvp": cadiff.jvp(lambda y: (1.0, y), (x,), (x,), has_aux=True)[2],
        "aux of grad": cadiff.grad(lambda y: (1.0, y), has_aux=True)(x)[1],
        "aux of vjp": cadiff.vjp(lambda y: (1.0, y), x, has_aux=True)[2],
    }


def test_results_are_fresh_arrays_that_may_be_overwritten() -> None:
    x = np.array([1.0, 2.0, 3.0])
    results = _results(x)
    expected = copy.deepcopy(results)
    for name, result in results.items():
        assert result.flags.writeable, name
        assert not np.shares_memory(result, x), name
        for other, another in results.items():
            assert name == other or not np.shares_memory(result, another), (name, other)
        result[...] = -1.0
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
    for name, result in _results(x).items():
        np.testing.assert_array_equal(result, expected[name], err_msg=name)


def test_f_may_change_the_containers_it_gets() -> None:
    def f(tree: Any) -> Any:
        x = tree["a"].pop()
        tree["b"] = x
        del tree["c"]
        return x * x

    tree = {"a": [1.0, 3.0], "c": 2.0}
    assert cadiff.grad(f)(tree) == {"a": [0.0, 6.0], "c": 0.0}
    assert tree == {"a": [1.0, 3.0], "c": 2.0}


def test_f_runs_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return x[0] * x[1]

    x: Any = np.ones(20)
    runs: list[Function] = [transform(f) for transform in TRANSFORMS.values()]
    for mode in ("fwd", "rev"):
        runs += [functools.partial(cadiff.gradient, as_numbers(f), mode=mode)]
    for run in runs:
        calls.clear()
        run(x)
        assert len(calls) == 1
    calls.clear()
    _, pullback = cadiff.vjp(f, x)
    pullback(1.0)
    pullback(2.0)
    assert len(calls) == 1


# --- elementwise_grad, flatten -------------------------------------------------------------------


def test_elementwise_grad_differentiates_each_output_by_its_input() -> None:
    x = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(cadiff.elementwise_grad(cadiff.sin)(x), np.cos(x), rtol=1e-15)
    by_list = cadiff.elementwise_grad(lambda x: [a**3 for a in x])
    np.testing.assert_allclose(by_list(x), 3 * x**2, rtol=1e-15)
    assert cadiff.elementwise_grad(lambda x: x**3)(2.0) == 12.0
    nested = cadiff.elementwise_grad(by_list)(x)
    np.testing.assert_allclose(nested, 6 * x, rtol=1e-15)
    by_x, by_y = cadiff.elementwise_grad(lambda x, y: x * y**2, (0, 1))(x, 3.0 * x)
    np.testing.assert_allclose(by_x, 9.0 * x**2)
    np.testing.assert_allclose(by_y, 6.0 * x**2)


def test_unflatten_puts_numbers_with_derivatives_into_the_containers() -> None:
    tree = {"w": np.array([[1.0, 2.0]]), "b": [3.0]}
    vector, unflatten = cadiff.flatten(tree)

    def f(vector: Any) -> Any:
        p = unflatten(vector)
        assert p["w"].shape == (1, 2)
        return p["w"][0, 0] * p["b"][0] + p["w"][0, 1]

    for transform in (cadiff.grad, cadiff.jacfwd, cadiff.jacrev):
        np.testing.assert_array_equal(transform(f)(vector), [3.0, 1.0, 1.0])
    np.testing.assert_array_equal(cadiff.hessian(f)(vector), [[0, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_flatten_of_numbers_with_derivatives() -> None:
    def f(x: Any) -> Any:
        vector, unflatten = cadiff.flatten([x, {"a": x * x}])
        assert cadiff.value(vector).tolist() == [cadiff.value(x), cadiff.value(x * x)]
        assert not isinstance(vector, np.ndarray)
        tree = unflatten(vector)
        return tree[0] * tree[1]["a"]

    assert cadiff.grad(f)(2.0) == 12.0
