"""The gradient functions as objects, within each other, and of random programs."""

from __future__ import annotations

import cmath
import copy
import functools
import inspect
import itertools
import math
import operator
import pickle
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from benchmarks import pure_python
from cadiff import Dual, Var

from ..helpers.functions import TRANSFORMS, rosenbrock
from ..helpers.names import name_of
from ..helpers.processes import isolated
from ..helpers.properties import examples
from ..helpers.ways import check_ways, differences

Function = Callable[..., Any]

# --- transforms as objects -----------------------------------------------------------------------


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
    parameters = list(inspect.signature(energy).parameters.values())
    if name == "hvp":
        parameters.insert(1, inspect.Parameter("v", inspect.Parameter.POSITIONAL_ONLY))
    assert inspect.signature(made) == inspect.Signature(parameters)  # returns what it returns
    assert not hasattr(getattr(cadiff, name)(max), "__signature__")  # max has none
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


# --- nesting -------------------------------------------------------------------------------------

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
    expected = 2 * math.exp(0.7) * math.cos(0.7)
    got = outer(inner(lambda x: cadiff.exp(x) * cadiff.sin(x)))(0.7)
    assert math.isclose(got, expected, rel_tol=1e-14)


@triples
def test_third_derivatives_by_every_triple_of_transforms(names: tuple[str, str, str]) -> None:
    first, second, third = (D[name] for name in names)
    expected = 2 * math.exp(0.7) * (math.cos(0.7) - math.sin(0.7))
    got = first(second(third(lambda x: cadiff.exp(x) * cadiff.sin(x))))(0.7)
    assert math.isclose(got, expected, rel_tol=1e-13)
    assert first(second(third(lambda x: x**3)))(0.0) == 6.0


@triples
def test_closures_over_two_outer_variables(names: tuple[str, str, str]) -> None:
    first, second, third = (D[name] for name in names)
    # d/dz z² y x at z = y is 2 y² x; d/dy y x (2 y² x) at y = x is 6 x⁴; d/dx 6 x⁵ is 30 x⁴.
    got = first(lambda x: x * second(lambda y: y * x * third(lambda z: z * z * y * x)(y))(x))(1.5)
    assert math.isclose(got, 30 * 1.5**4, rel_tol=1e-14)


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
    _, hessian = check_ways(penalty, np.array([a, b]))
    np.testing.assert_allclose(hessian, expected, rtol=1e-13)


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
    gradient = cadiff.grad(lambda x: x[0] ** 2 * x[1])(Dual([2.0, 3.0], [1.0, 0.0]))
    assert [(g.primal, g.tangent) for g in gradient] == [(12.0, 6.0), (4.0, 4.0)]


# --- random programs -----------------------------------------------------------------------------

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


@examples(100)
@given(_programs, _points)
def test_derivatives_of_random_programs(program: list[Instruction], x: list[float]) -> None:
    def f(x: Any) -> Any:
        return run_program(program, x, cadiff)

    point = np.array(x)
    value, gradient = cadiff.value_and_grad(f)(x)
    np.testing.assert_allclose(gradient, complex_gradient(program, x), rtol=1e-9, atol=1e-10)
    python_value, python = pure_python.value_and_grad(
        lambda x: run_program(program, x, pure_python)
    )(x)
    assert math.isclose(value, python_value, rel_tol=1e-12, abs_tol=1e-12)
    np.testing.assert_allclose(python, gradient, rtol=1e-11, atol=1e-12)
    _, hessian = check_ways(f, point, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(hessian.T, hessian, rtol=1e-10, atol=1e-10)
    h = 1e-6
    for row, e in zip(hessian, np.eye(len(x)), strict=True):
        ahead, behind = (
            np.array(complex_gradient(program, (point + s * e).tolist())) for s in (h, -h)
        )
        np.testing.assert_allclose(row, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-5)


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

    p = np.array([1.0, 2.0, 3.0])
    assert cadiff.vjp(h, p)[0] == pytest.approx(h(p), rel=1e-12)
    gradient, hessian = check_ways(h, p, atol=1e-11)
    np.testing.assert_allclose(gradient, differences(h, p), rtol=1e-7)
    np.testing.assert_allclose(hessian, differences(cadiff.grad(h), p), rtol=1e-6, atol=1e-6)


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
    wanted = 2.0 * np.cos(c) ** 2
    np.testing.assert_allclose(cadiff.grad(joined)(x), wanted, rtol=1e-13)
    np.testing.assert_allclose(cadiff.hessian(joined)(x), np.diag(wanted), rtol=1e-13, atol=1e-15)


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


# --- at points that carry no derivative ----------------------------------------------------------


@pytest.mark.parametrize("make", [cadiff.array, lambda x: cadiff.ones(3) * x, cnp.asarray])
@pytest.mark.parametrize(
    "f",
    [
        lambda v: np.sum(np.concatenate([v, v[:1]]) ** 2),
        lambda v: np.sum(cadiff.stack([v, 2.0 * v]) ** 3),
        lambda v: np.sum(np.sort(v) ** 3) * np.linalg.norm(v),
        lambda v: np.einsum("i,i->", v, v) + np.exp(v[0]),
        lambda v: np.sum(
            cadiff.scan(lambda c, x: (c * x, c + x), np.ones(3), cadiff.stack([v, v]))[1]
        ),
        lambda v: np.sum(cadiff.grad(lambda w: np.sum(np.sort(w) ** 3))(v) ** 2),
    ],
    ids=["concatenate", "stack", "sort", "einsum", "scan", "grad"],
)
def test_points_may_be_numbers_of_cadiff(f: Function, make: Callable[[np.ndarray], Any]) -> None:
    """Constants of an outer derivative are none to the inner one, which is by them."""
    x = np.array([1.0, 2.0, 0.5])
    for of_f in (cadiff.grad(f), cadiff.jacfwd(f), cadiff.hessian(f)):
        expected = of_f(x)

        def outer(q: Any, of_f: Function = of_f) -> Any:
            return q * of_f(make(x))

        np.testing.assert_allclose(cadiff.value(of_f(make(x))), expected, rtol=1e-13)
        np.testing.assert_allclose(cadiff.jacrev(outer)(2.0), expected, rtol=1e-13)
        np.testing.assert_allclose(cadiff.compile(outer)(2.0), 2.0 * expected, rtol=1e-13)
