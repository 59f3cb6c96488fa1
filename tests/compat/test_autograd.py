"""autograd's names over cadiff: known derivatives, and autograd's own where that is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as onp
import pytest
from cadiff.compat.autograd.extend import defjvp, defvjp, primitive, vspace

import cadiff
import cadiff.compat.autograd as ag
import cadiff.compat.autograd.numpy as np
from cadiff.compat.autograd import core, extend, misc, test_util
from cadiff.compat.autograd.misc import optimizers
from cadiff.compat.autograd.misc.fixed_points import fixed_point

from ..helpers.processes import isolated

POINT = onp.array([0.5, -1.5, 2.0])
SYMMETRIC = onp.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])
WEIGHTS = onp.array([[1.0, 0.0, 0.0], [2.0, -1.0, 0.0], [0.5, 3.0, 1.5]])


def total(x: Any) -> Any:
    return np.sum(x**3)


GRADIENT, HESSIAN = 3.0 * POINT**2, onp.diag(6.0 * POINT)
VECTOR = onp.array([1.0, 2.0, -1.0])


OPERATORS: dict[str, tuple[Callable[[], Any], Any]] = {
    "grad": (lambda: ag.grad(total)(POINT), GRADIENT),
    "of the second": (lambda: ag.grad(lambda a, b: a * b**2, 1)(2.0, 3.0), 12.0),
    "of several": (lambda: ag.grad(lambda a, b: a * b, [1, 0])(2.0, 3.0), (2.0, 3.0)),
    "value": (lambda: ag.value_and_grad(total)(POINT), (total(POINT), GRADIENT)),
    "elementwise": (lambda: ag.elementwise_grad(np.exp)(POINT), onp.exp(POINT)),
    "jacobian": (lambda: ag.jacobian(lambda x: x**3)(POINT), onp.diag(GRADIENT)),
    "hessian": (lambda: ag.hessian(total)(POINT), HESSIAN),
    "deriv": (lambda: ag.deriv(lambda x: x**3)(2.0), 12.0),
    "named": (lambda: ag.grad_named(lambda a, b: a * b**2, "b")(2.0, 3.0), 12.0),
    "holomorphic": (lambda: ag.holomorphic_grad(lambda z: z**2)(1.0 + 2.0j), 2.0 + 4.0j),
    "vjp": (lambda: ag.make_vjp(lambda x: x**3)(POINT)[0](VECTOR), GRADIENT * VECTOR),
    "jvp": (lambda: ag.make_jvp(lambda x: x**3)(POINT)(VECTOR)[1], GRADIENT * VECTOR),
    "hvp": (lambda: ag.make_hvp(total)(POINT)[0](VECTOR), HESSIAN @ VECTOR),
    "tensor": (lambda: ag.hessian_tensor_product(total)(POINT, VECTOR), HESSIAN @ VECTOR),
    "tensor Jacobian": (
        lambda: ag.tensor_jacobian_product(lambda x: x**3)(POINT, VECTOR),
        GRADIENT * VECTOR,
    ),
    "Gauss-Newton": (lambda: ag.make_ggnvp(lambda x: x**2)(POINT)(VECTOR), 4 * POINT**2 * VECTOR),
    "and aux": (lambda: ag.grad_and_aux(lambda x: (total(x), 5.0))(POINT), (GRADIENT, 5.0)),
    "of a dict": (
        lambda: ag.grad(lambda d: d["b"] * np.sum(d["a"]))({"b": 2.0, "a": POINT}),
        {"b": onp.sum(POINT), "a": onp.full(3, 2.0)},
    ),
    "by name": (
        lambda: ag.multigrad_dict(lambda a, b=2.0: a * b)(3.0),
        {"a": 2.0, "b": 3.0},
    ),
    "checkpoint": (lambda: ag.grad(lambda x: ag.checkpoint(total)(x))(POINT), GRADIENT),
    "of a constant": (lambda: core.make_vjp(lambda x: x > 0.0, 1.0)[0](1.0), 0.0),
    "diagonal": (
        lambda: ag.grad(lambda x: np.sum(WEIGHTS * np.make_diagonal(x, axis1=-1, axis2=-2)))(
            POINT
        ),
        onp.diag(WEIGHTS),
    ),
    "of a map": (
        lambda: ag.grad(lambda x: np.sum(np.stack(map(np.sin, x))))(POINT),
        onp.cos(POINT),
    ),
    "of the values of a dict": (
        lambda: ag.grad(lambda x: np.sum(np.stack({"a": x, "b": x**2}.values())))(POINT),
        1.0 + 2.0 * POINT,
    ),
    "cast": (
        lambda: ag.grad(lambda x: x[np.int64(x[2])] * 2.0)(POINT),
        onp.array([0.0, 0.0, 2.0]),
    ),
    "complex": (lambda: ag.grad(lambda z: np.abs(z) ** 2)(1.0 + 2.0j), 2.0 - 4.0j),
    "const_graph": (lambda: misc.const_graph(lambda k, x: k * x, 2.0)(3.0), 6.0),
}


def same(x: Any, y: Any) -> None:
    for a, b in zip(leaves(x), leaves(y), strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, dict):
        x = [x[k] for k in sorted(x)]
    if not isinstance(x, (list, tuple)):
        yield onp.asarray(x)
        return
    for part in x:
        yield from leaves(part)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_known_derivatives(name: str) -> None:
    run, expected = OPERATORS[name]
    same(run(), expected)


@pytest.mark.skipif(not importlib.util.find_spec("autograd"), reason="autograd is not installed")
@pytest.mark.parametrize(
    "name", sorted(OPERATORS.keys() - {"by name", "of a map", "of a constant"})
)
def test_operators_give_autograds_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import autograd
    import autograd.numpy

    mine = OPERATORS[name][0]()
    monkeypatch.setitem(globals(), "ag", autograd)
    monkeypatch.setitem(globals(), "np", autograd.numpy)
    if name == "const_graph":
        monkeypatch.setitem(globals(), "misc", importlib.import_module("autograd.misc"))
    same(mine, OPERATORS[name][0]())


def test_values_have_shapes_and_precision() -> None:
    assert type(np.where(True, 1.0, 2.0)) is float
    value, gradient = ag.value_and_grad(lambda x: x**2)(3.0)
    assert value.shape == gradient.shape == ()
    for kind in (onp.float16, onp.float32, onp.longdouble):
        assert ag.grad(lambda x: np.sum(x**2))(POINT.astype(kind)).dtype == kind
    assert ag.grad(total, 0).__name__ == "grad_of_total_wrt_argnum_0"


def test_cholesky_is_differentiated_by_both_triangles() -> None:
    def loss(a: Any) -> Any:
        return np.sum(WEIGHTS * np.linalg.cholesky(a))

    gradient = ag.grad(loss)(SYMMETRIC)
    onp.testing.assert_array_equal(gradient, gradient.T)
    by_triangle = cadiff.grad(lambda a: np.sum(WEIGHTS * onp.linalg.cholesky(a)))(SYMMETRIC)
    onp.testing.assert_allclose(gradient, (by_triangle + by_triangle.T) / 2, rtol=1e-12)
    skew = SYMMETRIC + onp.triu(WEIGHTS.T, 1)
    onp.testing.assert_array_equal(np.linalg.cholesky(skew), onp.linalg.cholesky(skew))
    assert ag.value_and_grad(loss)(skew)[0] == loss(skew)


def test_rules_of_primitives() -> None:
    @primitive
    def product(x: Any, y: Any) -> Any:
        return x * y

    with pytest.raises(NotImplementedError, match="VJP of product"):
        ag.grad(product)(2.0, 3.0)
    defvjp(product, lambda ans, x, y: lambda g: g * y, None)
    assert ag.grad(product)(2.0, 3.0) == 3.0
    assert ag.grad(product, 1)(2.0, 3.0) == 0.0
    assert ag.deriv(product)(2.0, 3.0) == 3.0
    defjvp(product, "same", lambda g, ans, x, y: 7.0 * g)
    assert ag.make_jvp(product, 1)(2.0, 3.0)(1.0)[1] == 7.0
    program = cadiff.compile(lambda x: product(x, 3.0))
    assert [program(x) for x in (2.0, 3.0)] == [6.0, 9.0] and program.stats()["eager"] == 0
    defvjp(product, lambda ans, x, y: lambda g: 5.0 * g)
    assert ag.grad(product)(2.0, 3.0) == 5.0
    extend.defvjp_argnum(product, lambda k, ans, args, kwargs: lambda g: 6.0 * g)
    assert ag.grad(product, [0, 1])(2.0, 3.0) == (6.0, 6.0)

    @primitive
    def weighted(*args: Any) -> Any:
        return sum(k * x for k, x in enumerate(args))

    extend.defvjp_argnum(weighted, lambda k, ans, args, kwargs: lambda g: k * g)
    assert ag.grad(lambda x: weighted(x, 1.0, x**2))(3.0) == 12.0

    @primitive
    def of_a_dict(d: Any) -> Any:
        return [3.0 * d["a"], d["b"]]

    defvjp(of_a_dict, lambda ans, d: lambda g: {"b": g[1], "a": 3.0 * g[0]})
    same(
        ag.grad(lambda d: of_a_dict(d)[0] * of_a_dict(d)[1])({"a": 2.0, "b": 5.0}),
        {"a": 15.0, "b": 6.0},
    )

    @primitive
    def of_a_list(x: Any) -> Any:
        return x[0] * x[1]

    defvjp(of_a_list, lambda ans, x: lambda g: onp.array([g * x[1], g * x[0]]))
    assert ag.grad(lambda x: np.real(of_a_list([x * (1.0 + 1.0j), 2.0 * x])))(1.5) == 6.0

    @core.primitive
    def old(x: Any, y: Any) -> Any:
        return x * y

    with pytest.warns(UserWarning, match="deprecated"):
        old.defvjp(lambda g, ans, vs, gvs, x, y: y * g)
    assert ag.grad(old)(3.0, 2.0) == 2.0
    with pytest.warns(UserWarning, match="deprecated"):
        old.defvjp_is_zero([1])
    assert ag.grad(old, 1)(3.0, 2.0) == 0.0


def test_a_rule_that_is_wrong_is_found() -> None:
    @primitive
    def double(x: Any) -> Any:
        return 2.0 * x

    defvjp(double, lambda ans, x: lambda g: 2.001 * g)
    with pytest.raises(AssertionError, match=r"\(VJP\) check of double failed"):
        test_util.check_grads(double, modes=["rev"])(1.0)


def test_a_function_of_complex_numbers_by_a_rule() -> None:
    @primitive
    def solve(diagonal: Any, b: Any) -> Any:
        return onp.linalg.solve(onp.diag(diagonal) + 0.1j * WEIGHTS, b)

    def by_diagonal(ans: Any, diagonal: Any, b: Any) -> Any:
        matrix = onp.diag(diagonal) + 0.1j * WEIGHTS
        return lambda g: -onp.linalg.solve(matrix.T, g) * ans

    defvjp(solve, by_diagonal)

    def power(d: Any) -> Any:
        return np.sum(np.abs(solve(d, VECTOR + 1.0j)) ** 2)

    gradient, at = ag.grad(power)(POINT**2 + 1.0), POINT**2 + 1.0
    h = 1e-6
    numeric = [(power(at + h * e) - power(at - h * e)) / (2 * h) for e in onp.eye(3)]
    onp.testing.assert_allclose(gradient, numeric, rtol=1e-7)


def test_whole_numbers_beside_other_results_are_indices() -> None:
    sparse = pytest.importorskip("scipy.sparse")

    @primitive
    def large(x: Any, w: Any) -> Any:
        at = onp.flatnonzero(onp.abs(x) > 0.5)
        return w * x[at], at

    @primitive
    def weighed(v: Any, at: Any, b: Any) -> Any:
        ones = sparse.coo_matrix((np.ones(len(at)), (at, at)), shape=(4, 4))
        return (ones @ b) * onp.sum(v)

    def by_x(ans: Any, x: Any, w: Any) -> Any:
        return lambda g: onp.bincount(ans[1], onp.real(w * g[0]), len(x))

    def by_v(ans: Any, v: Any, at: Any, b: Any) -> Any:
        return lambda g: onp.full(v.shape, onp.real(onp.sum((g * b)[at])))

    def by_b(ans: Any, v: Any, at: Any, b: Any) -> Any:
        return lambda g: onp.bincount(at, minlength=4) * onp.sum(v) * g

    defvjp(large, by_x, None)
    defvjp(weighed, by_v, None, by_b)

    def f(x: Any, scale: Any = 1.0) -> Any:
        v, at = large(x, 2.0)
        assert at.dtype == int
        return np.sum(np.real(weighed(v, at, scale * (onp.arange(4.0) + 1.0j))))

    x = onp.array([1.0, 0.1, 0.7, 2.0])
    assert ag.grad(f, 1)(x, 1.0) == pytest.approx(f(x))  # before another rule is asked for
    onp.testing.assert_allclose(ag.grad(f, (0, 1))(x, 1.0)[0], [10.0, 0.0, 10.0, 10.0])
    program = cadiff.compile(f)
    for y in (x, x + 0.01, x - 0.01, onp.ones(4)):
        onp.testing.assert_allclose(program.grad(y), ag.grad(f)(y))


def test_rules_replace_those_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "sinc", np.sinc)
    for name in ("det", "solve"):
        monkeypatch.setattr(np.linalg, name, getattr(np.linalg, name), raising=False)
    defvjp(np.sinc, lambda ans, x: lambda g: 7.0 * g)
    extend.defjvp(np.linalg.det, lambda g, ans, x: 3.0 * np.sum(g))
    assert np.sinc(0.3) == onp.sinc(0.3)
    assert ag.grad(np.sinc)(0.3) == ag.deriv(np.sinc)(0.3) == 7.0
    same(ag.grad(np.linalg.det)(SYMMETRIC), onp.full((3, 3), 3.0))
    extend.defjvp(
        np.linalg.solve, None, lambda g, ans, a, b: 2.0 * np.linalg.solve(a, g)
    )  # calls itself
    gradient = ag.grad(lambda b: np.sum(np.linalg.solve(SYMMETRIC, b)))(VECTOR)
    same(gradient, 2.0 * onp.linalg.inv(SYMMETRIC).sum(0))
    assert cadiff.grad(onp.sinc)(0.3) == pytest.approx(-0.9020281301)
    with pytest.warns(RuntimeWarning, match=r"wrap it in autograd\.extend\.primitive"):
        defvjp(total, lambda ans, x: lambda g: g)
    with pytest.raises(TypeError, match="register_container"):
        extend.Box.register(str)


def test_boxes_and_builtins() -> None:
    seen = []

    def f(x: Any, d: Any) -> Any:
        seen.append((isinstance(x, extend.Box), ag.isinstance(x, float), ag.type(x) is float))
        assert ag.isinstance(d, ag.dict) and ag.type(d) is dict
        assert not isinstance(x, np.ndarray)
        return x * d["a"] + core.vspace(x).zeros()

    ag.grad(f, (0, 1))(2.0, {"a": 1.0})
    assert seen == [(True, True, True)]
    assert type(np.zeros(3)) is np.ndarray
    assert ag.tuple((1, 2)) == (1, 2)
    assert extend.notrace_primitive(type)(cadiff.Dual(1.0, 1.0)) is float


@pytest.mark.parametrize("value", [1.5, POINT, POINT * 1j, [1.0, {"b": POINT, "a": (2.0, 3.0)}]])
def test_vector_spaces(value: Any) -> None:
    space = vspace(value)
    basis = [*space.standard_basis()]
    assert len(basis) == space.size
    assert all(vspace(x) == space for x in basis)
    same(space.inner_prod(space.ones(), space.ones()), float(space.size))
    total = space.zeros()
    for x in basis:
        total = space.add(total, x)
    same(total, space.ones())
    vector, unflatten = misc.flatten(value)
    same(unflatten(vector), value)
    test_util.check_equivalent(space.scalar_mul(value, 2.0), unflatten(2.0 * vector))


@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
def test_optimisers_descend(name: str) -> None:
    gradient = ag.grad(lambda p: np.sum((p["x"] - 1.0) ** 2) + p["y"] ** 2)
    steps = []
    result = getattr(optimizers, name)(
        lambda p, i: gradient(p),
        {"x": POINT, "y": 2.0},
        lambda p, i, g: steps.append(i),
        300,
        0.05,
    )
    assert steps == [*range(300)]
    onp.testing.assert_allclose(result["x"], 1.0, atol=0.1)
    onp.testing.assert_allclose(result["y"], 0.0, atol=0.1)


def test_fixed_points_have_derivatives() -> None:
    def root(a: Any) -> Any:
        step = lambda a: lambda x: 0.5 * (x + a / x)  # noqa: E731
        return fixed_point(step, a, 1.0, lambda x, y: np.abs(x - y), 1e-12)

    onp.testing.assert_allclose(ag.grad(root)(2.0), 0.5 / onp.sqrt(2.0))
    onp.testing.assert_allclose(ag.grad(ag.grad(root))(2.0), -0.25 * 2.0**-1.5, rtol=1e-6)


def test_imports_of_others_find_it() -> None:
    program = """
import cadiff, sys
assert not any(name.startswith("cadiff.compat") for name in sys.modules)
import cadiff.compat.autograd
cadiff.compat.autograd.install()
import autograd.numpy as np, autograd.numpy.random, autograd.numpy.fft, autograd.extend
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.numpy.numpy_vjps import unbroadcast_f
from autograd import grad
assert autograd.extend is cadiff.compat.autograd.extend
assert not hasattr(np, "no_such_name")
print(grad(np.sin)(0.0), unbroadcast_f(1.0, lambda g: g)(np.ones(3)))
"""
    assert isolated(program) == "1.0 3.0"


def test_scipy() -> None:
    pytest.importorskip("scipy")
    from cadiff.compat.autograd.scipy.linalg import solve_triangular
    from scipy.signal import convolve

    from cadiff.compat.autograd.scipy import signal, special

    rng = onp.random.default_rng(0)
    a, b = rng.normal(size=(4, 5)), rng.normal(size=(3, 2))
    for mode in ("full", "same", "valid"):
        result = signal.convolve(a, b, mode=mode)
        onp.testing.assert_allclose(result, convolve(a, b, mode), atol=1e-12)

        def along(a: Any, b: Any, mode: str = mode) -> Any:
            return signal.convolve(a, b, axes=([1], [0]), mode=mode)

        onp.testing.assert_allclose(along(a, b)[2, 1], convolve(a[2], b[:, 1], mode), atol=1e-12)
        test_util.check_grads(along, (0, 1), order=1)(a, b)
    onp.testing.assert_allclose(ag.grad(special.gammaln)(1.0), -onp.euler_gamma)
    solved = ag.jacobian(lambda b: solve_triangular(WEIGHTS, b, lower=True))(VECTOR)
    onp.testing.assert_allclose(solved, onp.linalg.inv(WEIGHTS), atol=1e-12)


def test_distributions() -> None:
    pytest.importorskip("scipy")
    import cadiff.compat.autograd.scipy.stats.norm as norm

    assert ag.grad(norm.logpdf)(1.5) == -1.5
