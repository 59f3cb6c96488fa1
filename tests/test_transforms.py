"""The gradient functions: what they take, what they return, and how they nest.

What is expected comes from formulas, from complex steps, from finite differences of exact
derivatives, or from the plain Python implementation of the benchmarks.
"""

from __future__ import annotations

import cmath
import copy
import functools
import inspect
import itertools
import math
import operator
import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cadiff
import cadiff.numpy as cnp
from benchmarks import pure_python
from cadiff import Dual, Var

from .names import name_of
from .processes import isolated

Array = NDArray[Any]
Function = Callable[..., Any]


class Pair(NamedTuple):
    """Parameters as a namedtuple."""

    weight: Any
    bias: Any


# --- functions with known derivatives ----------------------------------------------------------


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


def rosenbrock(x: Any) -> Any:
    return sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1))


def rosenbrock_gradient(x: Array) -> Array:
    gradient = np.zeros(len(x))
    bend = x[1:] - x[:-1] ** 2
    gradient[:-1] = -400.0 * x[:-1] * bend - 2.0 * (1.0 - x[:-1])
    gradient[1:] += 200.0 * bend
    return gradient


def rosenbrock_hessian(x: Array) -> Array:
    n = len(x)
    hessian = np.zeros((n, n))
    for i in range(n - 1):
        hessian[i, i] += 1200.0 * x[i] ** 2 - 400.0 * x[i + 1] + 2.0
        hessian[i + 1, i + 1] += 200.0
        hessian[i, i + 1] = hessian[i + 1, i] = -400.0 * x[i]
    return hessian


class Problem(NamedTuple):
    """A function of a vector with its derivatives by formula."""

    function: Function
    point: Array
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array], Array]


PROBLEMS: dict[str, Problem] = {
    "Speelpenning 5": Problem(
        speelpenning, speelpenning_point(5), speelpenning_gradient, speelpenning_hessian
    ),
    "Speelpenning 12": Problem(
        speelpenning, speelpenning_point(12), speelpenning_gradient, speelpenning_hessian
    ),
    "Rosenbrock 2": Problem(
        rosenbrock, np.array([-1.2, 1.0]), rosenbrock_gradient, rosenbrock_hessian
    ),
    "Rosenbrock 5": Problem(
        rosenbrock,
        np.array([1.3, 0.7, 0.8, 1.9, 1.2]),
        rosenbrock_gradient,
        rosenbrock_hessian,
    ),
    "Rosenbrock 20": Problem(
        rosenbrock, np.linspace(-1.0, 1.5, 20), rosenbrock_gradient, rosenbrock_hessian
    ),
}
problems = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def as_numbers(f: Function) -> Function:
    """A function of a sequence as a function of so many numbers."""
    return lambda *args: f(args)


# Ways to the gradient of a function of a vector.
GRADIENTS: dict[str, Callable[[Function, Any], Any]] = {
    "grad": lambda f, x: cadiff.grad(f)(x),
    "grad of a list": lambda f, x: cadiff.grad(f)(x.tolist()),
    "grad of a tuple": lambda f, x: cadiff.grad(f)(tuple(x.tolist())),
    "grad by all arguments": lambda f, x: cadiff.grad(as_numbers(f), tuple(range(len(x))))(*x),
    "value_and_grad": lambda f, x: cadiff.value_and_grad(f)(x)[1],
    "jacfwd": lambda f, x: cadiff.jacfwd(f)(x),
    "jacrev": lambda f, x: cadiff.jacrev(f)(x),
    "jacobian": lambda f, x: cadiff.jacobian(f)(x),
    "gradient auto": lambda f, x: cadiff.gradient(as_numbers(f), x),
    "gradient fwd": lambda f, x: cadiff.gradient(as_numbers(f), x, mode="fwd"),
    "gradient rev": lambda f, x: cadiff.gradient(as_numbers(f), x, mode="rev"),
    "vjp": lambda f, x: cadiff.vjp(f, x)[1](1.0),
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
    "hessian": lambda f, x: cadiff.hessian(f)(x),
    "hessian of a list": lambda f, x: cadiff.hessian(f)(x.tolist()),
    "hvp": lambda f, x: [cadiff.hvp(f)(x, e) for e in np.eye(len(x))],
    "hvp of a list": lambda f, x: [cadiff.hvp(f)(x.tolist(), e.tolist()) for e in np.eye(len(x))],
    "fwd of rev": lambda f, x: cadiff.jacfwd(cadiff.grad(f))(x),
    "rev of rev": lambda f, x: cadiff.jacrev(cadiff.grad(f))(x),
    "rev of fwd": lambda f, x: cadiff.jacrev(cadiff.jacfwd(f))(x),
    "fwd of fwd": lambda f, x: cadiff.jacfwd(cadiff.jacfwd(f))(x),
    "auto of auto": lambda f, x: cadiff.jacobian(cadiff.jacobian(f))(x),
    "jvp of grad": lambda f, x: [
        cadiff.jvp(cadiff.grad(f), (x,), (e,))[1] for e in np.eye(len(x))
    ],
    "vjp of grad": lambda f, x: [cadiff.vjp(cadiff.grad(f), x)[1](e) for e in np.eye(len(x))],
    "grad of jvp": lambda f, x: [
        cadiff.grad(lambda y, e=e: cadiff.jvp(f, (y,), (e,))[1])(x) for e in np.eye(len(x))
    ],
    "grad of grad": lambda f, x: [
        cadiff.grad(lambda y, i=i: cadiff.grad(f)(y)[i])(x) for i in range(len(x))
    ],
}


@problems
@pytest.mark.parametrize("way", GRADIENTS.values(), ids=GRADIENTS.keys())
def test_all_ways_to_a_gradient_agree_with_the_formula(
    problem: Problem, way: Callable[[Function, Any], Any]
) -> None:
    expected = problem.gradient(problem.point)
    np.testing.assert_allclose(way(problem.function, problem.point), expected, rtol=1e-12)


@problems
@pytest.mark.parametrize("way", HESSIANS.values(), ids=HESSIANS.keys())
def test_all_ways_to_a_hessian_agree_with_the_formula(
    problem: Problem, way: Callable[[Function, Any], Any]
) -> None:
    expected = problem.hessian(problem.point)
    np.testing.assert_allclose(
        np.asarray(way(problem.function, problem.point), dtype=float),
        expected,
        rtol=1e-11,
        atol=1e-12,
    )


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


@pytest.mark.parametrize("n", [1, 2, 10])
def test_known_answers_of_speelpenning(n: int) -> None:
    x = speelpenning_point(n)
    value, gradient = cadiff.value_and_grad(speelpenning)(x)
    assert math.isclose(value, 1 / (n + 1))
    np.testing.assert_allclose(gradient, value / x)
    hessian = value / np.outer(x, x)
    np.fill_diagonal(hessian, 0.0)
    np.testing.assert_allclose(cadiff.hessian(speelpenning)(x), hessian, rtol=1e-13)


# --- argnums, keywords, aux --------------------------------------------------------------------


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
    assert cadiff.grad(three, argnums)(2.0, 3.0, 1.0) == expected
    assert cadiff.value_and_grad(three, argnums)(2.0, 3.0, 1.0) == (21.0, expected)
    assert cadiff.elementwise_grad(three, argnums)(2.0, 3.0, 1.0) == expected
    for mode in ("auto", "fwd", "rev"):
        assert cadiff.jacobian(three, argnums, mode=mode)(2.0, 3.0, 1.0) == expected


def test_argnums_of_second_derivatives() -> None:
    assert cadiff.hessian(three, 1)(2.0, 3.0) == 4.0
    assert cadiff.hessian(three, -2)(2.0, 3.0) == 0.0
    assert cadiff.hessian(three, (0, 1))(2.0, 3.0) == ((0.0, 6.0), (6.0, 4.0))
    assert cadiff.hessian(three, (1, 0))(2.0, 3.0) == ((4.0, 6.0), (6.0, 0.0))
    assert cadiff.hvp(three, 1)(2.0, 0.5, 3.0) == 2.0
    assert cadiff.hvp(three, -1)(2.0, 0.5, 3.0) == 2.0


TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "grad": cadiff.grad,
    "value_and_grad": cadiff.value_and_grad,
    "elementwise_grad": cadiff.elementwise_grad,
    "jacobian": cadiff.jacobian,
    "jacfwd": cadiff.jacfwd,
    "jacrev": cadiff.jacrev,
    "hessian": cadiff.hessian,
    "hvp": lambda f: lambda x, *args, **kw: cadiff.hvp(f)(x, x, *args, **kw),
}
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


def test_keyword_arguments_are_not_differentiated() -> None:
    f = cadiff.grad(three)
    assert f(2.0, y=3.0) == 9.0
    assert f(2.0, 3.0, z=7.0) == 9.0
    assert type(cadiff.value_and_grad(three)(2.0, y=3.0, z=1.0)[0]) is float


def test_keyword_only_and_default_arguments() -> None:
    def f(x: Any, /, y: Any = 2.0, *rest: Any, scale: float, **options: Any) -> Any:
        return scale * x * y + sum(rest) + options.get("shift", 0.0)

    assert cadiff.grad(f)(3.0, scale=5.0) == 10.0
    assert cadiff.grad(f, (0, 1, 2))(3.0, 4.0, 1.0, scale=5.0, shift=1.0) == (20.0, 15.0, 1.0)


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


@pytest.mark.parametrize(
    "make",
    [
        lambda x: OrderedDict(a=x),
        lambda x: defaultdict(list, a=x),
        lambda x: Pair(x, 1.0),
        lambda x: (x, [x]),
        lambda x: x,
    ],
    ids=["OrderedDict", "defaultdict", "namedtuple", "tuple", "number"],
)
def test_aux_holds_plain_values_whatever_the_container(make: Function) -> None:
    _, aux = cadiff.grad(lambda x: (x * x, make(x)), has_aux=True)(3.0)
    assert aux == make(3.0)
    assert type(aux) is type(make(3.0))
    assert pickle.loads(pickle.dumps(aux)) == aux


def test_aux_keeps_its_identity_where_it_holds_no_numbers() -> None:
    token = object()
    assert cadiff.grad(lambda x: (x, token), has_aux=True)(1.0)[1] is token
    assert cadiff.grad(lambda x: (x, None), has_aux=True)(1.0)[1] is None


def test_aux_in_a_nested_gradient_carries_outer_derivatives() -> None:
    def f(x: Any) -> Any:
        gradient, aux = cadiff.grad(lambda y: (y * y * x, x * y), has_aux=True)(2.0)
        return gradient + aux  # 4 x + x y at y = 2

    assert cadiff.grad(f)(3.0) == 6.0


AUX_INSIDE: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: cadiff.grad(lambda y: (y * y, x * y), has_aux=True)(2.0)[1],
    "value_and_grad": lambda x: cadiff.value_and_grad(lambda y: (y * y, x * y), has_aux=True)(2.0)[
        0
    ][1],
    "jvp": lambda x: cadiff.jvp(lambda y: (y * y, x * y), (2.0,), (1.0,), has_aux=True)[2],
    "vjp": lambda x: cadiff.vjp(lambda y: (y * y, x * y), 2.0, has_aux=True)[2],
}


@pytest.mark.parametrize("f", AUX_INSIDE.values(), ids=AUX_INSIDE.keys())
def test_aux_keeps_outer_derivatives_also_if_the_result_has_none(f: Callable[[Any], Any]) -> None:
    assert cadiff.grad(f)(3.0) == 2.0
    assert cadiff.derivative(f, 3.0) == 2.0
    assert cadiff.jacrev(f)(3.0) == 2.0


# --- containers --------------------------------------------------------------------------------


def leaves(tree: Any) -> Iterator[Any]:
    """All scalar numbers of nested containers and arrays, in order."""
    if isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from leaves(item)
    elif np.shape(tree) != ():
        for index in np.ndindex(*tree.shape):
            yield tree[index]
    else:
        yield tree


def weighted(tree: Any) -> Any:
    """The sum of k x² over the leaves, counted from 1; its gradient is 2 k x."""
    return sum((k + 1) * x * x for k, x in enumerate(leaves(tree)))


def tree_map(f: Callable[[float], float], tree: Any) -> Any:
    """The same containers, each number replaced; arrays as float64 or float32."""
    if isinstance(tree, (defaultdict, Counter)):
        return {key: tree_map(f, item) for key, item in tree.items()}
    if isinstance(tree, dict):
        return type(tree)((key, tree_map(f, item)) for key, item in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(tree_map(f, item) for item in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)([tree_map(f, item) for item in tree])
    if isinstance(tree, np.ndarray) and tree.ndim:
        kind = np.float32 if tree.dtype == np.float32 else np.float64
        mapped = [f(float(x)) for x in tree.ravel().tolist()]
        return np.array(mapped, dtype=kind).reshape(tree.shape)
    return f(float(tree))


def expected_gradient(tree: Any) -> Any:
    count = itertools.count(1)
    return tree_map(lambda x: 2.0 * next(count) * x, tree)


def assert_same_tree(got: Any, expected: Any, rtol: float = 1e-15) -> None:
    """The same containers of the same types, and numbers that agree."""
    if isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=rtol, strict=True)
    elif isinstance(expected, dict):
        assert isinstance(got, dict)
        assert list(got) == list(expected)
        for key in expected:
            assert_same_tree(got[key], expected[key], rtol)
    elif isinstance(expected, (list, tuple)):
        assert type(got) is type(expected)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same_tree(one, other, rtol)
    else:
        assert type(got) is float
        assert math.isclose(got, expected, rel_tol=rtol)


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
    "nested": {
        "layers": [Pair(np.ones((2, 2)), np.zeros(2)), Pair(np.ones((1, 2)), 0.5)],
        "rate": (0.1, [0.2, {"deep": 3}]),
        "nothing": [],
    },
    "array after list": [[1.0, 2.0], np.array([3.0]), (4.0,)],
    "list of rows": [[1.0, 2.0], [3.0], []],
}
trees = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())


@trees
def test_the_gradient_has_the_structure_of_the_argument(tree: Any) -> None:
    value, gradient = cadiff.value_and_grad(weighted)(tree)
    assert type(value) is float
    assert value == float(weighted(tree))
    assert_same_tree(gradient, expected_gradient(tree))


@trees
def test_f_gets_the_containers_it_was_given(tree: Any) -> None:
    def check(got: Any, given: Any) -> Any:
        if isinstance(given, (list, tuple, dict)):
            assert type(got) is type(given)
            assert len(got) == len(given)
            keys = given if isinstance(given, dict) else range(len(given))
            for key in keys:
                check(got[key], given[key])
        else:
            assert isinstance(got, (Var, Dual))
            assert got.shape == np.shape(given)
            np.testing.assert_array_equal(cadiff.value(got), given)
        return 0.0

    cadiff.grad(lambda got: check(got, tree))(tree)
    cadiff.jvp(lambda got: check(got, tree), (tree,), (tree,))


@trees
def test_every_transform_takes_containers(tree: Any) -> None:
    gradient = expected_gradient(tree)
    for mode in ("fwd", "rev"):
        if len(list(leaves(tree))):
            assert_same_tree(cadiff.jacobian(weighted, mode=mode)(tree), gradient)
    assert_same_tree(cadiff.vjp(weighted, tree)[1](1.0), gradient)
    count = itertools.count(1)
    if len(list(leaves(tree))):
        product = tree_map(lambda x: 2.0 * next(count) * x, tree)
        assert_same_tree(cadiff.hvp(weighted)(tree, tree), product)
    out, tangent = cadiff.jvp(weighted, (tree,), (tree,))
    assert type(out) is type(tangent) is float
    assert math.isclose(tangent, 2 * out, rel_tol=1e-15)


@trees
def test_arguments_beside_a_container(tree: Any) -> None:
    f = cadiff.grad(lambda scale, tree: scale * weighted(tree), (1, 0))
    by_tree, by_scale = f(2.0, tree)
    assert by_scale == float(weighted(tree))
    assert_same_tree(by_tree, tree_map(lambda x: 2 * x, expected_gradient(tree)))


@pytest.mark.parametrize("kind", [defaultdict, Counter])
def test_other_kinds_of_dict_give_a_gradient_by_key(kind: type[Any]) -> None:
    tree = kind(int, {"a": 2.0, "b": 3.0}) if kind is defaultdict else kind(a=2.0, b=3.0)
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


_floats = st.floats(-3.0, 3.0, allow_subnormal=False)
_arrays = st.builds(
    lambda shape, numbers: np.resize(numbers, shape) if numbers else np.zeros(shape),
    st.sampled_from([(0,), (1,), (3,), (2, 2), (0, 2), (1, 3, 1), (2, 1, 2)]),
    st.lists(_floats, max_size=12),
)
_trees = st.recursive(
    st.one_of(_floats, st.integers(-3, 3), _arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("abcde"), inner, max_size=3),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=80)
@given(_trees)
def test_random_containers_come_back_with_their_gradients(tree: Any) -> None:
    value, gradient = cadiff.value_and_grad(weighted)(tree)
    # Python's own sum of floats compensates rounding from 3.12 on.
    assert math.isclose(value, float(weighted(tree)), rel_tol=1e-14, abs_tol=1e-14)
    assert_same_tree(gradient, expected_gradient(tree))


@settings(max_examples=60)
@given(_trees, st.randoms(use_true_random=False))
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


@settings(max_examples=60)
@given(_trees)
def test_flatten_and_unflatten_are_inverse(tree: Any) -> None:
    vector, unflatten = cadiff.flatten(tree)
    assert vector.shape == (len(list(leaves(tree))),)
    assert vector.dtype == np.float64
    np.testing.assert_array_equal(vector, [float(x) for x in leaves(tree)])
    assert_same_tree(unflatten(vector), tree_map(float, tree))


# --- constants, unused arguments, sizes --------------------------------------------------------


@pytest.mark.parametrize("constant", [5.0, 5, np.float64(5), np.float32(5), np.array(5.0)])
def test_a_constant_output_has_gradient_zero(constant: Any) -> None:
    def f(x: Any) -> Any:
        return constant

    assert cadiff.value_and_grad(f)(2.0) == (5.0, 0.0)
    assert type(cadiff.value_and_grad(f)(2.0)[0]) is float
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


CONSTANTS_OF_MANY: dict[str, str] = {
    "hessian": "cadiff.hessian(lambda x: 5.0)(np.ones(200))",
    "hessian of a list": "cadiff.hessian(lambda x: 5.0)([1.0] * 50)",
    "hvp": "cadiff.hvp(lambda x: 5.0)(np.ones(2000), np.ones(2000))",
    "jacobian of a list": "cadiff.jacobian(lambda x: [1.0, 2.0] * 100)(np.ones(200))",
    "jacobian of an array": "cadiff.jacobian(lambda x: np.zeros(300))(np.ones(200))",
    "jacobian of an argument": "cadiff.jacobian(lambda x, y: [y] * 200)(np.ones(200), 2.0)",
}


@pytest.mark.parametrize("code", CONSTANTS_OF_MANY.values(), ids=CONSTANTS_OF_MANY.keys())
def test_a_constant_output_of_many_inputs_has_zeros_for_derivatives(code: str) -> None:
    output = isolated(
        "import cadiff, numpy as np\n"
        f"for _ in range(3):\n    result = np.asarray({code}, dtype=float)\n"
        "print(result.size > 0 and not result.any())"
    )
    assert output == "True"


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


def test_a_linear_function_has_a_zero_hessian() -> None:
    np.testing.assert_array_equal(cadiff.hessian(lambda x: x[1])(np.ones(3)), np.zeros((3, 3)))
    np.testing.assert_array_equal(
        cadiff.hessian(lambda x: 2.0 * x[0] - x[2])(np.ones(3)), np.zeros((3, 3))
    )
    np.testing.assert_array_equal(cadiff.hvp(lambda x: x[0])(np.ones(3), np.ones(3)), np.zeros(3))
    assert cadiff.grad(cadiff.grad(lambda x: x))(1.0) == 0.0
    assert cadiff.grad(cadiff.grad(lambda x: 2.0))(1.0) == 0.0


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


# --- precision, freshness, purity --------------------------------------------------------------

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


def test_float32_arguments_give_float32_gradients() -> None:
    x = np.array([1.0, 2.0, 3.0], dtype=np.float32)

    def f(x: Any) -> Any:
        return x[0] * x[1] * x[2]

    results = {
        "grad": cadiff.grad(f)(x),
        "value_and_grad": cadiff.value_and_grad(f)(x)[1],
        "jacfwd": cadiff.jacfwd(f)(x),
        "jacrev": cadiff.jacrev(f)(x),
        "jacobian": cadiff.jacobian(f)(x),
        "vector jacobian": cadiff.jacobian(lambda x: [x[0], x[1]])(x),
        "hessian": cadiff.hessian(f)(x),
        "hvp": cadiff.hvp(f)(x, x),
        "vjp": cadiff.vjp(f, x)[1](1.0),
        "elementwise_grad": cadiff.elementwise_grad(f)(x),
        "argnums": cadiff.grad(f, (0,))(x)[0],
        "nested": cadiff.grad({"f": f}["f"])(x),
        "in a dict": cadiff.grad(lambda tree: f(tree["x"]))({"x": x})["x"],
        "unflatten": cadiff.flatten(x)[1](np.ones(3)),
    }
    assert {name: result.dtype for name, result in results.items()} == dict.fromkeys(
        results, np.dtype(np.float32)
    )
    mixed = cadiff.grad(lambda a, b: a[0] * b[0], (0, 1))(x, x.astype(float))
    assert (mixed[0].dtype, mixed[1].dtype) == (np.float32, np.float64)


def test_float32_is_computed_in_double_precision() -> None:
    x = np.array([0.1], dtype=np.float32)
    value, _ = cadiff.value_and_grad(lambda x: x[0] * x[0])(x)
    assert value == float(x[0]) ** 2


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


def test_each_call_of_a_transform_returns_other_arrays() -> None:
    f = cadiff.grad(lambda x: x[0] * x[0])
    first = f(np.array([1.0, 2.0]))
    second = f(np.array([3.0, 4.0]))
    np.testing.assert_array_equal(first, [2.0, 0.0])
    np.testing.assert_array_equal(second, [6.0, 0.0])
    assert not np.shares_memory(first, second)


@trees
def test_arguments_are_never_mutated(tree: Any) -> None:
    before = copy.deepcopy(tree)
    functions: list[Function] = [
        cadiff.grad(weighted),
        cadiff.jacfwd(weighted),
        lambda tree: cadiff.jvp(weighted, (tree,), (tree,)),
        lambda tree: cadiff.vjp(weighted, tree)[1](1.0),
        lambda tree: cadiff.flatten(tree)[1](cadiff.flatten(tree)[0]),
    ]
    for f in functions:
        f(tree)
    np.testing.assert_equal(tree, before)
    assert type(tree) is type(before)


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
    for transform in (cadiff.grad, cadiff.value_and_grad, cadiff.jacobian, cadiff.jacfwd):
        calls.clear()
        transform(f)(x)
        assert len(calls) == 1
    second: list[Function] = [cadiff.hessian(f), lambda x: cadiff.hvp(f)(x, x)]
    for transformed in second:
        calls.clear()
        transformed(x)
        assert len(calls) == 1
    calls.clear()
    _, pullback = cadiff.vjp(f, x)
    pullback(1.0)
    pullback(2.0)
    assert len(calls) == 1
    for mode in ("fwd", "rev"):
        calls.clear()
        cadiff.gradient(as_numbers(f), x, mode=mode)
        assert len(calls) == 1


# --- Jacobians ---------------------------------------------------------------------------------


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


@modes
def test_containers_of_outputs_give_containers_of_jacobians(mode: Any) -> None:
    def f(x: Any) -> Any:
        return {
            "scalar": x[0],
            "vector": [x[0], 2.0 * x[1]],
            "nested": [[x[0]], (x[1], [x[0] * x[1]])],
            "pair": Pair(x[1], np.array([x[0]])),
            "empty": {},
        }

    jacobian = cadiff.jacobian(f, mode=mode)(np.array([3.0, 5.0]))
    assert_same_tree(
        jacobian,
        {
            "scalar": np.array([1.0, 0.0]),
            "vector": np.array([[1.0, 0.0], [0.0, 2.0]]),
            "nested": [
                np.array([[1.0, 0.0]]),
                (np.array([0.0, 1.0]), np.array([[5.0, 3.0]])),
            ],
            "pair": Pair(np.array([0.0, 1.0]), np.array([[1.0, 0.0]])),
            "empty": {},
        },
    )


@modes
def test_containers_of_inputs_stand_inside_those_of_outputs(mode: Any) -> None:
    def f(p: Any, y: Any) -> Any:
        return {"out": [p["a"] * y, p["b"][1] * y]}

    by_p, by_y = None, None
    result = cadiff.jacobian(f, (0, 1), mode=mode)({"a": 2.0, "b": np.array([3.0, 4.0])}, 5.0)
    by_p, by_y = result["out"]
    assert_same_tree(by_p, {"a": np.array([5.0, 0.0]), "b": np.array([[0.0, 0.0], [0.0, 5.0]])})
    np.testing.assert_array_equal(by_y, [2.0, 4.0])


@modes
def test_jacobians_of_analytic_functions_agree_with_complex_steps(mode: Any) -> None:
    def f(x: Any, m: Any) -> Any:
        return [
            m.sin(x[0]) * m.exp(x[1] / 2),
            m.sqrt(x[2] ** 2 + 1) / x[0],
            m.log(x[0] * x[1]) - x[2] ** 3,
            m.tanh(x[1] - x[2]) * m.cos(x[0]),
        ]

    x = np.array([0.7, 1.3, -0.4])
    step = 1e-30
    expected = np.empty((4, 3))
    for j in range(3):
        moved = x.astype(complex)
        moved[j] += 1j * step
        expected[:, j] = np.imag(f(moved, cmath)) / step
    jacobian = cadiff.jacobian(lambda x: f(x, cadiff), mode=mode)(x)
    np.testing.assert_allclose(jacobian, expected, rtol=1e-13)


def test_tangent_sweeps_of_all_widths_give_the_same_columns() -> None:
    for n in (1, 7, 8, 9, 16, 17):
        x = np.linspace(0.5, 1.5, n)
        expected = np.diag(2 * x)
        for mode in ("auto", "fwd", "rev"):
            jacobian = cadiff.jacobian(lambda x: [a * a for a in x], mode=mode)(x)
            np.testing.assert_array_equal(jacobian, expected)


# --- second order ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 7, 8, 9, 17])
def test_hessians_of_all_widths(n: int) -> None:
    x = np.linspace(0.5, 1.5, n)

    def f(x: Any) -> Any:
        total = sum(x)
        return total * total * total

    np.testing.assert_allclose(cadiff.hessian(f)(x), np.full((n, n), 6 * x.sum()), rtol=1e-14)


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


def test_the_hessian_of_a_container_is_a_container_of_containers() -> None:
    def f(p: Any) -> Any:
        return p["a"] ** 2 * p["b"][0] * p["b"][1]

    hessian = cadiff.hessian(f)({"a": 3.0, "b": np.array([2.0, 5.0])})
    assert_same_tree(
        hessian,
        {
            "a": {"a": 20.0, "b": np.array([30.0, 12.0])},
            "b": {"a": np.array([30.0, 12.0]), "b": np.array([[0.0, 9.0], [9.0, 0.0]])},
        },
    )


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


def test_hvp_is_linear_in_its_direction() -> None:
    x = np.linspace(0.5, 1.5, 6)
    product = cadiff.hvp(rosenbrock)
    hessian = rosenbrock_hessian(x)
    rng = np.random.default_rng(0)
    for _ in range(3):
        v = rng.standard_normal(6)
        np.testing.assert_allclose(product(x, v), hessian @ v, rtol=1e-12)
    np.testing.assert_array_equal(product(x, np.zeros(6)), np.zeros(6))


def test_hvp_can_be_differentiated_by_its_direction_and_by_its_point() -> None:
    def f(x: Any) -> Any:
        return x[0] ** 3 * x[1]

    def along(s: Any) -> Any:
        return cadiff.hvp(f)([2.0, 5.0], [s, 0.0])[1]

    assert cadiff.grad(along)(1.0) == 12.0
    assert cadiff.derivative(along, 1.0) == 12.0
    by_point = cadiff.grad(lambda s: cadiff.hvp(f)([s, 5.0], [1.0, 0.0])[0])
    assert by_point(2.0) == 30.0


def test_the_direction_of_an_hvp_over_arrays_may_carry_derivatives() -> None:
    def along(s: Any) -> Any:
        direction = cadiff.array([s, 0.0])
        return cadiff.hvp(lambda x: x[0] ** 3 * x[1])(np.array([2.0, 5.0]), direction)[1]

    assert cadiff.grad(along)(1.0) == 12.0


# --- jvp and vjp -------------------------------------------------------------------------------


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


def test_tangents_of_a_dict_are_matched_by_key() -> None:
    def f(p: Any) -> Any:
        return 10.0 * p["a"] + p["b"]

    tangents = {"b": 0.0, "a": 1.0}
    assert cadiff.jvp(f, ({"a": 1.0, "b": 2.0},), (tangents,)) == (12.0, 10.0)
    assert cadiff.hvp(lambda p: f(p) ** 2)({"a": 1.0, "b": 2.0}, tangents) == {
        "a": 200.0,
        "b": 20.0,
    }


def test_cotangents_of_a_dict_are_matched_by_key() -> None:
    _, pullback = cadiff.vjp(lambda x: {"a": 10.0 * x, "b": x}, 1.0)
    assert pullback({"a": 1.0, "b": 0.0}) == 10.0
    assert pullback({"b": 0.0, "a": 1.0}) == 10.0


def test_a_pullback_gives_one_cotangent_or_a_tuple() -> None:
    _, pullback = cadiff.vjp(lambda x: x * x, 3.0)
    assert pullback(2.0) == 12.0
    _, pullback = cadiff.vjp(lambda x, y: x * y, 3.0, 5.0)
    assert pullback(2.0) == (10.0, 6.0)
    _, pullback = cadiff.vjp(lambda p, y: p["a"] * y, {"a": 3.0}, 5.0)
    assert pullback(1) == ({"a": 5.0}, 3.0)


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


def test_a_pullback_is_linear_and_can_be_differentiated() -> None:
    _, pullback = cadiff.vjp(lambda x: x * x, 3.0)
    assert cadiff.grad(pullback)(1.0) == 6.0
    assert cadiff.derivative(pullback, 1.0) == 6.0
    assert cadiff.jvp(pullback, (1.0,), (2.0,)) == (6.0, 12.0)
    assert cadiff.vjp(pullback, 1.0)[1](2.0) == 12.0


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


def test_a_forward_derivative_by_two_reverse_ones() -> None:
    def f(x: Any) -> Any:
        return [x[0] * x[1], cadiff.sin(x[0]), x[1] ** 2]

    x, tangent = np.array([0.5, 2.0]), np.array([1.0, -3.0])
    _, pullback = cadiff.vjp(f, x)
    _, push = cadiff.vjp(lambda u: pullback(u), np.zeros(3))
    np.testing.assert_allclose(push(tangent), cadiff.jvp(f, (x,), (tangent,))[1], rtol=1e-15)


def test_jvp_and_vjp_inside_a_gradient() -> None:
    def cube(x: Any) -> Any:
        return x**3

    assert cadiff.grad(lambda x: cadiff.jvp(cube, (x,), (1.0,))[1])(2.0) == 12.0
    assert cadiff.grad(lambda x: cadiff.jvp(cube, (x,), (x,))[1])(2.0) == 36.0
    assert cadiff.grad(lambda x: cadiff.vjp(cube, x)[1](1.0))(2.0) == 12.0
    assert cadiff.grad(lambda x: cadiff.vjp(cube, x)[1](x))(2.0) == 36.0
    assert cadiff.grad(lambda x: cadiff.vjp(cube, x)[0])(2.0) == 12.0
    assert cadiff.grad(lambda x: cadiff.vjp(cube, 2.0)[1](x))(5.0) == 12.0
    assert cadiff.grad(lambda x: cadiff.jvp(cube, (2.0,), (x,))[1])(5.0) == 12.0
    assert cadiff.derivative(lambda x: cadiff.vjp(cube, x)[1](x), 2.0) == 36.0


def test_the_directions_of_a_jvp_over_arrays_may_carry_derivatives() -> None:
    def f(x: Any) -> Any:
        return x[0] * x[1]

    x = np.array([2.0, 3.0])
    by_direction = cadiff.grad(lambda t: cadiff.jvp(f, (x,), (cadiff.array([t, 0.0]),))[1])
    assert by_direction(1.0) == 3.0


# --- derivative, gradient, checks --------------------------------------------------------------

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
    for order, number in enumerate(expected):
        result = cadiff.derivative(f, x, order=order)
        assert type(result) is float
        assert math.isclose(result, number, rel_tol=1e-14, abs_tol=1e-15)


@pytest.mark.parametrize(("f", "x", "expected"), DERIVATIVES.values(), ids=DERIVATIVES.keys())
def test_gradients_of_gradients_are_derivatives_of_any_order(
    f: Function, x: float, expected: list[float]
) -> None:
    nested = f
    for number in expected[1:4]:
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
        assert result.dtype == np.float64
        np.testing.assert_array_equal(result, [9.0, 12.0])


@modes
def test_gradient_inside_a_gradient(mode: Any) -> None:
    def f(x: Any) -> Any:
        a, b = cadiff.gradient(lambda y, z: x * y * z**2, (2.0, 3.0), mode=mode)
        return a * b  # 9 x · 12 x

    assert cadiff.grad(f)(5.0) == 1080.0
    assert cadiff.derivative(f, 5.0) == 1080.0


def test_check_derivative_tells_right_from_wrong() -> None:
    def f(x: Any, y: Any) -> Any:
        return x**2 * y

    args: Any = np.array([3.0, 2.0])
    assert cadiff.check_derivative(f, 0, args, 12.0) is True
    assert cadiff.check_derivative(f, 1, args, 9.0) is True
    assert cadiff.check_derivative(f, -1, args, 9.0) is True
    assert cadiff.check_derivative(f, 0, args, 12.001) is False
    assert cadiff.check_derivative(f, 0, args, -12.0) is False
    assert cadiff.check_derivative(f, 0, args, math.nan) is False
    assert cadiff.check_derivative(f, 0, args, 12.001, rtol=1e-3) is True
    assert cadiff.check_derivative(f, 0, args, 12.1, rtol=0.0, atol=0.2) is True
    assert cadiff.check_derivative(f, 0, args, 13.0, h=0.5) is True
    np.testing.assert_array_equal(args, [3.0, 2.0])
    point = [3.0, 2.0]
    assert cadiff.check_derivative(f, 0, point, cadiff.derivative(f, 0, point))
    assert point == [3.0, 2.0]


@pytest.mark.parametrize(
    "point", [[3], (np.int32(3),), np.array([3]), np.array([3.0], np.float32)]
)
def test_check_derivative_takes_ints_and_float32(point: Any) -> None:
    assert cadiff.check_derivative(lambda x: x * x, 0, point, 6.0) is True
    assert cadiff.check_derivative(lambda x: x * x, 0, point, 5.0) is False


CHECKED: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "scalar": (lambda x: cadiff.sin(x) * x, (0.7,)),
    "two": (lambda x, y: x**y, (1.3, 0.6)),
    "vector": (rosenbrock, (np.array([0.3, 0.4, 0.5]),)),
    "container": (lambda p: [p["a"] * p["b"][0], cadiff.exp(p["a"])], ({"a": 0.3, "b": [2.0]},)),
    "constant": (lambda x: 3.0, (0.5,)),
    "several outputs": (lambda x: {"u": x * x, "v": [x, 1 / x]}, (0.7,)),
}


@pytest.mark.parametrize(("f", "args"), CHECKED.values(), ids=CHECKED.keys())
@pytest.mark.parametrize("order", [1, 2, 3])
def test_check_grads_accepts_right_derivatives(
    f: Function, args: tuple[Any, ...], order: int
) -> None:
    cadiff.check_grads(f, args, order=order)
    cadiff.check_grads(f, list(args), order=order, modes=["fwd"])
    cadiff.check_grads(f, args, order=order, modes=("rev",))


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
def test_check_grads_finds_a_wrong_derivative(modes: tuple[str, ...]) -> None:
    def wrong(x: Any) -> Any:
        return x * cadiff.stop_gradient(x)

    with pytest.raises(AssertionError, match="order 1"):
        cadiff.check_grads(wrong, (0.7,), modes=modes)

    def wrong_second(x: Any) -> Any:
        return x * x + cadiff.stop_gradient(x) ** 2 * (x - cadiff.stop_gradient(x)) - x**3 / 3

    with pytest.raises(AssertionError, match="order"):
        cadiff.check_grads(wrong_second, (0.7,), order=2, modes=modes)


def test_check_grads_uses_the_tolerances_it_is_given() -> None:
    def slightly_wrong(x: Any) -> Any:
        return x + 1e-3 * cadiff.stop_gradient(x)

    with pytest.raises(AssertionError):
        cadiff.check_grads(slightly_wrong, (0.7,))
    cadiff.check_grads(slightly_wrong, (0.7,), atol=1e-2)
    cadiff.check_grads(slightly_wrong, (0.7,), rtol=1e-2)
    with pytest.raises(AssertionError):
        cadiff.check_grads(lambda x: cadiff.exp(x), (0.7,), eps=2.0)


# --- elementwise_grad, flatten -----------------------------------------------------------------


def test_elementwise_grad_differentiates_each_output_by_its_input() -> None:
    x = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(cadiff.elementwise_grad(cadiff.sin)(x), np.cos(x), rtol=1e-15)
    by_list = cadiff.elementwise_grad(lambda x: [a**3 for a in x])
    np.testing.assert_allclose(by_list(x), 3 * x**2, rtol=1e-15)
    assert cadiff.elementwise_grad(lambda x: x**3)(2.0) == 12.0
    nested = cadiff.elementwise_grad(by_list)(x)
    np.testing.assert_allclose(nested, 6 * x, rtol=1e-15)


def test_elementwise_grad_by_several_arguments() -> None:
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    f = cadiff.elementwise_grad(lambda x, y: [a * b**2 for a, b in zip(x, y, strict=True)], (0, 1))
    by_x, by_y = f(x, y)
    np.testing.assert_array_equal(by_x, y**2)
    np.testing.assert_array_equal(by_y, 2 * x * y)


@trees
def test_flatten_lists_all_numbers_in_order(tree: Any) -> None:
    vector, unflatten = cadiff.flatten(tree)
    np.testing.assert_array_equal(vector, [float(x) for x in leaves(tree)])
    assert vector.flags.writeable
    assert_same_tree(unflatten(vector), tree_map(float, tree))
    assert_same_tree(unflatten(2.0 * vector), tree_map(lambda x: 2.0 * x, tree))


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


# --- transforms as objects ---------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_looks_like_its_function(name: str) -> None:
    def energy(x: float, /, scale: float = 1.0) -> float:
        """Potential energy."""
        return scale * x * x

    made = getattr(cadiff, name)(energy)
    assert made.__name__ == "energy"
    assert made.__doc__ == "Potential energy."
    assert made.__module__ == __name__
    assert made.__wrapped__ is energy
    assert inspect.signature(made) == inspect.signature(energy)
    assert "energy" in repr(made)


def test_transforms_serve_as_decorators() -> None:
    @cadiff.grad
    def slope(x: Any) -> Any:
        return x**3

    @functools.partial(cadiff.value_and_grad, argnums=(0, 1))
    def both(x: Any, y: Any) -> Any:
        return x * y

    @cadiff.jacfwd
    @cadiff.jacrev
    def second(x: Any) -> Any:
        return x**3

    assert slope(2.0) == 12.0
    assert both(2.0, 3.0) == (6.0, (3.0, 2.0))
    assert second(2.0) == 12.0


class Model:
    """Transforms in a class body bind like functions."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @functools.partial(cadiff.grad, argnums=1)
    def slope(self, x: Any) -> Any:
        return self.factor * x * x

    @functools.partial(cadiff.hessian, argnums=1)
    def curvature(self, x: Any) -> Any:
        return self.factor * x * x

    @staticmethod
    @cadiff.grad
    def static_slope(x: Any) -> Any:
        return x * x

    @classmethod
    @functools.partial(cadiff.jacobian, argnums=1)
    def class_slope(cls, x: Any) -> Any:
        assert issubclass(cls, Model)
        return x * x

    def __call__(self, x: Any) -> Any:
        return self.factor * x**3


def test_transforms_of_methods() -> None:
    model = Model(5.0)
    assert model.slope(3.0) == 30.0
    assert model.curvature(3.0) == 10.0
    assert Model.slope(model, 3.0) == 30.0
    assert Model.static_slope(3.0) == model.static_slope(3.0) == 6.0
    assert Model.class_slope(3.0) == model.class_slope(3.0) == 6.0
    assert cadiff.grad(model)(2.0) == 60.0
    assert cadiff.grad(model.__call__)(2.0) == 60.0


@pytest.mark.parametrize(
    "f",
    [functools.partial(operator.mul, 3.0), cadiff.sin, operator.neg, abs, np.sin, Model(2.0)],
    ids=name_of,
)
def test_any_callable_can_be_transformed(f: Function) -> None:
    x = 0.7
    expected = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    for transform in (cadiff.grad, cadiff.jacfwd, cadiff.elementwise_grad):
        assert math.isclose(transform(f)(x), expected, rel_tol=1e-8)


PICKLED: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "grad": (cadiff.grad(operator.mul, 1), (2.0, 3.0)),
    "value_and_grad": (cadiff.value_and_grad(operator.mul, (0, 1)), (2.0, 3.0)),
    "elementwise_grad": (cadiff.elementwise_grad(operator.mul), (2.0, 3.0)),
    "jacfwd": (cadiff.jacfwd(operator.pow), (2.0, 3.0)),
    "jacrev": (cadiff.jacrev(operator.pow, (1,)), (2.0, 3.0)),
    "jacobian": (cadiff.jacobian(cadiff.sin, mode="auto"), (2.0,)),
    "hessian": (cadiff.hessian(operator.pow, (0, 1)), (2.0, 3.0)),
    "hvp": (cadiff.hvp(operator.pow, 1), (2.0, 1.0, 3.0)),
    "nested": (cadiff.grad(cadiff.grad(cadiff.exp)), (0.5,)),
    "partial": (cadiff.grad(functools.partial(operator.mul, 3.0)), (2.0,)),
    "function": (cadiff.grad(rosenbrock), ([1.0, 2.0],)),
}


@pytest.mark.parametrize(("transform", "args"), PICKLED.values(), ids=PICKLED.keys())
@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_transforms_pickle_and_copy(
    transform: Function, args: tuple[Any, ...], protocol: int
) -> None:
    expected = transform(*args)
    restored = pickle.loads(pickle.dumps(transform, protocol))
    assert type(restored) is type(transform)
    assert restored(*args) == expected
    assert copy.copy(transform)(*args) == expected
    assert copy.deepcopy(transform)(*args) == expected


# --- nesting -----------------------------------------------------------------------------------

Derivative = Callable[[Function], Function]

# D(f)(x) for f of one number, by every transform that can say it.
D: dict[str, Derivative] = {
    "grad": cadiff.grad,
    "derivative": lambda f: lambda x: cadiff.derivative(f, x),
    "jacfwd": cadiff.jacfwd,
    "jacrev": cadiff.jacrev,
    "jvp": lambda f: lambda x: cadiff.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: cadiff.vjp(f, x)[1](1.0),
    "value_and_grad": lambda f: lambda x: cadiff.value_and_grad(f)(x)[1],
    "elementwise": cadiff.elementwise_grad,
    "gradient fwd": lambda f: lambda x: cadiff.gradient(f, (x,), mode="fwd")[0],
    "list": lambda f: lambda x: cadiff.grad(lambda p: f(p[0]))([x])[0],
    "array": lambda f: lambda x: cadiff.jacobian(lambda p: [f(p[0])])(cadiff.array([x]))[0, 0],
}
pairs = pytest.mark.parametrize("names", list(itertools.product(D, D)), ids="-".join)
triples = pytest.mark.parametrize(
    "names",
    list(itertools.product(["grad", "derivative", "jacfwd", "jacrev", "jvp", "vjp"], repeat=3)),
    ids="-".join,
)


@pairs
def test_no_perturbation_confusion(names: tuple[str, str]) -> None:
    outer, inner = (D[name] for name in names)
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y)(1.0))(4.0) == 8.0
    assert outer(lambda x: x * inner(lambda y: x * y * y)(x))(2.0) == 24.0
    assert outer(lambda x: inner(lambda y: x)(1.0) + 2.0 * x)(3.0) == 2.0
    assert outer(lambda x: inner(lambda y: y)(x) * x)(3.0) == 1.0


@pairs
def test_second_derivatives_by_every_pair_of_transforms(names: tuple[str, str]) -> None:
    outer, inner = (D[name] for name in names)
    x = 0.7
    expected = 2 * math.exp(x) * math.cos(x)  # of exp(x) sin(x)
    got = outer(inner(lambda x: cadiff.exp(x) * cadiff.sin(x)))(x)
    assert math.isclose(got, expected, rel_tol=1e-14)


@triples
def test_third_derivatives_by_every_triple_of_transforms(names: tuple[str, str, str]) -> None:
    first, second, third = (D[name] for name in names)
    x = 0.7
    expected = 2 * math.exp(x) * (math.cos(x) - math.sin(x))
    got = first(second(third(lambda x: cadiff.exp(x) * cadiff.sin(x))))(x)
    assert math.isclose(got, expected, rel_tol=1e-13)
    assert first(second(third(lambda x: x**3)))(0.0) == 6.0


@triples
def test_closures_over_two_outer_variables(names: tuple[str, str, str]) -> None:
    first, second, third = (D[name] for name in names)
    # d/dz z² y x at z = y is 2 y² x; d/dy y x (2 y² x) at y = x is 6 x⁴; d/dx 6 x⁵ is 30 x⁴.
    got = first(lambda x: x * second(lambda y: y * x * third(lambda z: z * z * y * x)(y))(x))(1.5)
    assert math.isclose(got, 30 * 1.5**4, rel_tol=1e-14)


def test_fourth_derivatives() -> None:
    fourth = cadiff.grad(cadiff.jacfwd(cadiff.grad(cadiff.jacfwd(lambda x: cadiff.sin(2.0 * x)))))
    assert math.isclose(fourth(0.3), 16 * math.sin(0.6), rel_tol=1e-13)
    nested: Function = cadiff.exp
    for _ in range(6):
        nested = cadiff.grad(nested)
    assert math.isclose(nested(0.5), math.exp(0.5), rel_tol=1e-14)


def test_a_gradient_that_uses_hessians_and_products() -> None:
    def f(x: Any) -> Any:
        hessian = cadiff.hessian(lambda y: y[0] ** 3 * y[1] * x)([x, 2.0])
        product = cadiff.hvp(lambda y: y[0] ** 3 * y[1])([x, 2.0], [1.0, 0.0])
        return hessian[0][0] + product[1]  # 12 x² + 3 x²

    for derivative in D.values():
        assert math.isclose(derivative(f)(1.5), 45.0, rel_tol=1e-14)


def test_a_hessian_of_a_function_that_takes_a_gradient() -> None:
    def penalty(x: Any) -> Any:
        gradient = cadiff.grad(lambda y: y[0] ** 2 * y[1])([x[0], x[1]])
        return gradient[0] ** 2 + gradient[1] ** 2  # 4 a² b² + a⁴

    a, b = 1.3, 0.6
    expected = [[8 * b * b + 12 * a * a, 16 * a * b], [16 * a * b, 8 * a * a]]
    np.testing.assert_allclose(cadiff.hessian(penalty)(np.array([a, b])), expected, rtol=1e-13)
    np.testing.assert_allclose(
        cadiff.hvp(penalty)(np.array([a, b]), np.array([1.0, 0.0])), expected[0], rtol=1e-13
    )


def test_an_inner_gradient_at_plain_numbers_is_plain() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(cadiff.grad(lambda y: y * y)(3.0))
        seen.append(cadiff.hessian(lambda y: y[0] ** 2)(np.ones(2)))
        return x * seen[0]

    assert cadiff.grad(f)(2.0) == 6.0
    assert type(seen[0]) is float
    assert seen[1].dtype == np.float64


def test_an_inner_gradient_of_an_element_of_its_argument() -> None:
    output = isolated("""
import numpy as np
from cadiff import grad, jacobian, hessian, vjp
def first(z):
    g = grad(lambda p: p[0])([z * 1.0, z * 2.0, z * 3.0])
    return g[0] * z + g[1] + g[2]
def pulled(z):
    g = vjp(lambda p: p[0], [z * 1.0] * 500)[1](1.0)
    return g[0] * z + sum(g[1:])
print([grad(first)(3.0) for _ in range(20)] == [1.0] * 20)
print([grad(pulled)(3.0) for _ in range(20)] == [1.0] * 20)
for _ in range(5):
    nested = jacobian(lambda z: jacobian(lambda x: x)(z))(np.ones(30))
print(nested.shape == (30, 30, 30) and not nested.any())
""")
    assert output.split() == ["True", "True", "True"]


def test_gradients_of_optimisation_steps() -> None:
    def loss(w: Any, rate: Any) -> Any:
        return (w - 3.0) ** 2 * rate

    def after(rate: Any) -> Any:
        w: Any = 0.0
        for _ in range(5):
            w = w - rate * cadiff.grad(lambda w: (w - 3.0) ** 2)(w)
        return (w - 3.0) ** 2

    # w - 3 shrinks by (1 - 2 rate) a step: the loss is 9 (1 - 2 rate)^10
    rate = 0.1
    expected = -180.0 * (1 - 2 * rate) ** 9
    assert math.isclose(cadiff.grad(after)(rate), expected, rel_tol=1e-13)
    assert math.isclose(cadiff.derivative(after, rate), expected, rel_tol=1e-13)
    assert loss(1.0, 1.0) == 4.0


def test_a_closure_over_a_var_of_the_user() -> None:
    x = Var(2.0)
    value, gradient = cadiff.value_and_grad(lambda y: y * y * x)(3.0)
    assert (cadiff.value(value), cadiff.value(gradient)) == (18.0, 12.0)
    (value + gradient).backward()
    assert x.grad == 9.0 + 6.0
    x.zero_grad()
    hessian = cadiff.hessian(lambda y: y**3 * x)(3.0)
    hessian.backward()
    assert x.grad == 18.0
    x.zero_grad()
    jacobian = cadiff.jacobian(lambda y: [y * x, y])(3.0)
    jacobian[0].backward()
    assert x.grad == 1.0
    assert jacobian[1] == 1.0


def test_a_var_of_the_user_as_the_argument() -> None:
    x = Var(2.0)
    cadiff.grad(lambda y: y**3)(x).backward()
    assert x.grad == 12.0
    value, tangent = cadiff.jvp(lambda y: y**3, (x,), (1.0,))
    x.zero_grad()
    tangent.backward()
    assert (value.value, x.grad) == (8.0, 12.0)


def test_an_array_of_the_user_as_the_argument() -> None:
    v = Var([2.0, 3.0])
    gradient = cadiff.grad(lambda x: x[0] ** 2 * x[1])(v)
    np.testing.assert_array_equal(cadiff.value(gradient), [12.0, 4.0])
    (gradient[0] * 10.0 + gradient[1]).backward()
    np.testing.assert_array_equal(v.grad, [64.0, 40.0])
    gradient = cadiff.grad(lambda x: x[0] ** 2 * x[1])(Dual([2.0, 3.0], [1.0, 0.0]))
    assert [(g.primal, g.tangent) for g in gradient] == [(12.0, 6.0), (4.0, 4.0)]
    for mode in ("fwd", "rev"):
        jacobian = cadiff.gradient(lambda x, y: x * y, v, mode=mode)  # type: ignore[arg-type]
        np.testing.assert_array_equal(cadiff.value(jacobian), [3.0, 2.0])


def test_a_dual_of_the_user_as_the_argument() -> None:
    gradient = cadiff.grad(lambda y: y**3)(Dual(2.0, 1.0))
    assert (gradient.primal, gradient.tangent) == (12.0, 12.0)
    hessian = cadiff.hessian(lambda y: y**3)(Dual(2.0, 1.0))
    assert (cadiff.value(hessian), hessian.tangent) == (12.0, 6.0)
    gradient = cadiff.grad(lambda y: y[0] * y[1])([Dual(2.0, [1.0, 0.0]), Dual(3.0, [0.0, 1.0])])
    np.testing.assert_array_equal([g.tangent for g in gradient], [[0.0, 1.0], [1.0, 0.0]])


# --- random programs ---------------------------------------------------------------------------

COMPLEX = SimpleNamespace(
    sin=cmath.sin, cos=cmath.cos, exp=cmath.exp, log=cmath.log, sqrt=cmath.sqrt, tanh=cmath.tanh
)

# Operations that are analytic and tame wherever the numbers of a program may be.
UNARY: list[Callable[[Any, Any], Any]] = [
    lambda m, x: m.sin(x),
    lambda m, x: m.cos(2.0 * x),
    lambda m, x: m.tanh(x),
    lambda m, x: m.exp(-x * x),
    lambda m, x: m.sqrt(x * x + 1.0),
    lambda m, x: m.log(x * x + 1.5),
    lambda m, x: -x,
    lambda m, x: x**2 / 4.0,
    lambda m, x: (x**3) / 9.0,
    lambda m, x: 1.0 / (x * x + 1.0),
    lambda m, x: 2.0 - x,
    lambda m, x: x - 0.5,
    lambda m, x: (x * x + 1.0) ** 0.3,
    lambda m, x: 1.1 ** m.tanh(x),
]
BINARY: list[Callable[[Any, Any, Any], Any]] = [
    lambda m, x, y: x + y,
    lambda m, x, y: x - y,
    lambda m, x, y: m.tanh(x) * y,
    lambda m, x, y: x / (y * y + 2.0),
    lambda m, x, y: (m.tanh(x) + 2.0) ** m.tanh(y),
]
Instruction = tuple[int, int, int]


def run_program(program: Sequence[Instruction], inputs: Sequence[Any], m: Any) -> Any:
    """Interpret a program: each instruction adds a number made of earlier ones."""
    numbers = list(inputs)
    for op, i, j in program:
        x, y = numbers[i % len(numbers)], numbers[j % len(numbers)]
        if op < len(UNARY):
            numbers.append(UNARY[op](m, x))
        else:
            numbers.append(BINARY[op - len(UNARY)](m, x, y))
    total = numbers[-1]
    for k, x in enumerate(numbers):
        total = total + x * (0.1 * (k % 3))
    return total


_programs = st.lists(
    st.tuples(
        st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 20), st.integers(0, 20)
    ),
    min_size=1,
    max_size=15,
)
_points = st.lists(st.floats(-2.0, 2.0, allow_subnormal=False), min_size=1, max_size=4)


def complex_gradient(program: Sequence[Instruction], x: Sequence[float]) -> list[float]:
    gradient = []
    for i in range(len(x)):
        moved = [complex(number, 1e-30 if k == i else 0.0) for k, number in enumerate(x)]
        gradient.append(run_program(program, moved, COMPLEX).imag / 1e-30)
    return gradient


@settings(max_examples=150)
@given(_programs, _points)
def test_gradients_of_random_programs(program: list[Instruction], x: list[float]) -> None:
    def f(x: Any) -> Any:
        return run_program(program, x, cadiff)

    expected = complex_gradient(program, x)
    value, gradient = cadiff.value_and_grad(f)(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-10)
    close: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
    python_value, python = pure_python.value_and_grad(
        lambda x: run_program(program, x, pure_python)
    )(x)
    assert math.isclose(value, python_value, rel_tol=1e-12, abs_tol=1e-12)
    np.testing.assert_allclose(gradient, python, **close)
    for other in (
        cadiff.gradient(as_numbers(f), x, mode="fwd"),
        cadiff.jacfwd(f)(np.array(x)),
        cadiff.vjp(f, x)[1](1.0),
        [cadiff.derivative(as_numbers(f), i, x) for i in range(len(x))],
    ):
        np.testing.assert_allclose(other, gradient, **close)


@settings(max_examples=60)
@given(_programs, _points)
def test_hessians_of_random_programs(program: list[Instruction], x: list[float]) -> None:
    def f(x: Any) -> Any:
        return run_program(program, x, cadiff)

    point = np.array(x)
    hessian = cadiff.hessian(f)(point)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-10, atol=1e-10)
    for other in (
        cadiff.jacfwd(cadiff.grad(f))(point),
        cadiff.jacrev(cadiff.grad(f))(point),
        cadiff.jacrev(cadiff.jacfwd(f))(point),
        cadiff.jacfwd(cadiff.jacfwd(f))(point),
        np.array([cadiff.hvp(f)(point, e) for e in np.eye(len(x))]),
    ):
        np.testing.assert_allclose(other, hessian, rtol=1e-10, atol=1e-10)
    h = 1e-6
    for i, e in enumerate(np.eye(len(x))):
        ahead = complex_gradient(program, (point + h * e).tolist())
        behind = complex_gradient(program, (point - h * e).tolist())
        difference = (np.array(ahead) - np.array(behind)) / (2 * h)
        np.testing.assert_allclose(hessian[i], difference, rtol=1e-5, atol=1e-5)


def test_a_pullback_is_of_what_the_function_returned_then() -> None:
    kept: list[Any] = []

    def keeping(x: Any) -> Any:
        y = x * x
        kept.append(y)
        return y

    x = np.array([1.0, 2.0, 3.0])
    _, pullback = cadiff.vjp(keeping, x)
    kept[-1][:] = 0.0
    np.testing.assert_array_equal(pullback(x), 2.0 * x * x)

    def assigned(p: Any) -> Any:
        out, pullback = cadiff.vjp(lambda z: z * z * p, p)
        out *= 10.0
        return pullback(p) + out  # 2 p^3 + 10 p^3

    np.testing.assert_allclose(assigned(x), 12.0 * x**3)
    expected = np.diag(36.0 * x**2)
    np.testing.assert_allclose(cadiff.jacrev(assigned)(x), expected)
    np.testing.assert_allclose(cadiff.jacfwd(assigned)(x), expected)
    np.testing.assert_allclose(cadiff.jacfwd(cadiff.jacrev(assigned))(x)[1, 1, 1], 72.0 * x[1])

    def from_results(p: Any) -> Any:
        def inner(z: Any) -> Any:
            y = np.exp(z + p)
            return y, y

        out, pullback, aux = cadiff.vjp(inner, p, has_aux=True)
        out *= 0.5
        aux[:] = 0.0
        return pullback(np.ones(3)) + pullback(p) + out + aux

    np.testing.assert_allclose(from_results(x), (x + 1.5) * np.exp(2.0 * x))
    expected = np.diag((2.0 * x + 4.0) * np.exp(2.0 * x))
    np.testing.assert_allclose(cadiff.jacrev(from_results)(x), expected)
    np.testing.assert_allclose(cadiff.jacfwd(from_results)(x), expected)


@settings(max_examples=30)
@given(_programs, _points, _programs)
def test_nested_random_programs(
    inner: list[Instruction], x: list[float], outer: list[Instruction]
) -> None:
    """An outer program over the inner gradient, its inputs and the value, both ways."""

    def f(x: Any) -> Any:
        value, gradient = cadiff.value_and_grad(lambda y: run_program(inner, y, cadiff))(list(x))
        return run_program(outer, [*gradient, value, *x], cadiff)

    gradient = cadiff.grad(f)(x)
    np.testing.assert_allclose(cadiff.jacfwd(f)(x), gradient, rtol=1e-9, atol=1e-9)

    def exact(x: Sequence[float]) -> float:
        value = run_program(inner, x, pure_python)
        result: float = run_program(outer, [*complex_gradient(inner, x), value, *x], pure_python)
        return result

    h = 1e-5
    for i in range(len(x)):
        ahead = [a + h * (k == i) for k, a in enumerate(x)]
        behind = [a - h * (k == i) for k, a in enumerate(x)]
        difference = (exact(ahead) - exact(behind)) / (2 * h)
        assert math.isclose(gradient[i], difference, rel_tol=1e-4, abs_tol=1e-4)


PULLED: dict[str, Callable[[Any, Any], Any]] = {
    "number": lambda z, p: cnp.sum(z * p),
    "product": lambda z, p: z * z * p,
    "without p": lambda z, p: z**3,
    "exponential": lambda z, p: cnp.exp(z) * p[0] * p,
    "rule": lambda z, p: cnp.linalg.inv(cnp.outer(z, z) + 4.0 * np.eye(3)) @ p,
}
SEEDS: dict[str, Callable[[Any, Any], Any]] = {
    "result": lambda out, p: out,
    "square of it": lambda out, p: out * out,
    "times p": lambda out, p: out * cnp.sum(p),
    "p": lambda out, p: 0.0 * out + cnp.sum(p),
}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
@pytest.mark.parametrize("f", PULLED.values(), ids=PULLED)
def test_cotangents_may_depend_on_the_result(f: Any, seed: Any) -> None:
    """A pullback is linear in its cotangent, whatever that was computed from."""

    def h(p: Any) -> Any:
        out, pull = cadiff.vjp(lambda z: f(z, p), 0.2 * p)
        return cnp.sum(pull(seed(out, p)) * cnp.cos(p))

    p, t = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.7, 0.2])
    value, gradient = cadiff.value_and_grad(h)(p)
    assert value == pytest.approx(h(p), rel=1e-12)
    step = 1e-5 * t
    assert gradient @ t == pytest.approx((h(p + step) - h(p - step)) / 2e-5, rel=1e-6)
    np.testing.assert_allclose(cadiff.jacfwd(h)(p), gradient, rtol=1e-10)
    np.testing.assert_allclose(cadiff.jacrev(h)(p), gradient, rtol=1e-10)
    of_gradient = (cadiff.grad(h)(p + step) - cadiff.grad(h)(p - step)) / 2e-5
    for curved in (
        cadiff.jvp(cadiff.grad(h), (p,), (t,))[1],
        cadiff.grad(lambda p: cnp.sum(cadiff.grad(h)(p) * t))(p),
        cadiff.grad(lambda p: cadiff.jvp(h, (p,), (t,))[1])(p),
    ):
        np.testing.assert_allclose(curved, of_gradient, rtol=1e-5, atol=1e-5)


def test_primitives_of_what_has_no_name_are_copied_as_functions_are() -> None:
    doubled = cadiff.primitive(functools.partial(np.multiply, 2.0))
    assert copy.deepcopy([doubled])[0] is doubled
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(doubled)


def test_leaves_made_inside_are_constants_to_sweeps_forward() -> None:
    """Arguments of an inner derivative, and Vars made by hand, whatever memory held before."""
    c, x = np.array([0.3, -0.5, 0.8]), np.array([0.1, 0.7, -0.4])

    def inner(x: Any) -> Any:
        return cadiff.jacrev(lambda u: np.sin(u) * x)(c)

    def by_hand(x: Any) -> Any:
        return np.sin(cadiff.Var(c)) * x

    noise = np.full(1000, 1e300)
    for _ in range(3):  # what is left of another sweep is no tangent
        cadiff.jacobian(lambda x: x[:8] * noise[:8])(noise[:8])
        cadiff.hessian(lambda x: np.sum(x**2))(noise)
        expected = np.einsum("i,ij,ik->ijk", np.cos(c), np.eye(3), np.eye(3))
        np.testing.assert_array_equal(cadiff.jacobian(inner)(x), expected)
        np.testing.assert_array_equal(cadiff.jacobian(by_hand)(x), np.diag(np.sin(c)))
        np.testing.assert_allclose(
            cadiff.hessian(lambda x: np.sum(inner(x) ** 2))(x), np.diag(2 * np.cos(c) ** 2)
        )
        np.testing.assert_allclose(
            cadiff.hvp(lambda x: np.sum(by_hand(x) ** 2))(x, x), 2 * np.sin(c) ** 2 * x
        )


def test_rows_of_a_nested_jacobian_do_not_sweep_over_each_other() -> None:
    """Joined outputs have no entry of their own; what is recorded row by row lies behind them."""
    c = np.linspace(0.1, 1.0, 40)

    def joined(x: Any) -> Any:
        matrix = cadiff.jacobian(lambda y: np.concatenate([np.sin(y) * x, y * y]))(c)
        return np.sum(matrix[:40] ** 2)

    x = np.ones(40)
    np.testing.assert_allclose(cadiff.grad(joined)(x), 2.0 * np.cos(c) ** 2, rtol=1e-13)
    np.testing.assert_allclose(
        cadiff.hessian(joined)(x), np.diag(2.0 * np.cos(c) ** 2), rtol=1e-13, atol=1e-15
    )


@pytest.mark.parametrize("n", [3, 600, 100_000])
def test_an_empty_array_beside_others(n: int) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x) + np.sum(y * y)

    x, y = np.zeros((0, 2)), np.ones(n)
    of_x, of_y = cadiff.grad(f, argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(of_x, x)
    np.testing.assert_array_equal(of_y, 2.0 * y)
    of_y, of_x = cadiff.grad(lambda y, x: f(x, y), argnums=(0, 1))(y, x)
    np.testing.assert_array_equal(of_x, x)
    np.testing.assert_array_equal(of_y, 2.0 * y)
