"""Primitives with complex arguments or results: conventions are those of gradients and of vjp.

A cotangent u of w counts the real part of u dw, so rules of analytic functions are those of real
ones. Truth are differences of the functions themselves.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
from cadiff import primitive

from ..helpers.ways import check_ways, differences

X, V = np.array([1.0, 2.0, -0.5]), np.array([0.3, -1.1, 0.7])
TURN = 1.0 + 3.0j


@primitive
def square(z: Any) -> Any:
    return z * z


square_forwards, square_partly = primitive(np.square), primitive(np.square)
size, size_partly = primitive(np.abs), primitive(np.abs)
mirrored, product = primitive(np.conj), primitive(np.matmul)
turned = primitive(lambda x: np.exp(1j * x))


@primitive
def several(z: Any, x: Any, n: int) -> Any:
    assert isinstance(n, int)
    return z * x**n, np.real(z) * x


square.defvjp(lambda ans, z: lambda g: 2 * z * g)
square_forwards.defjvp(lambda g, ans, z: 2 * z * g)
square_partly.defpartials(lambda ans, z: 2 * z)
size.defvjp(lambda ans, z: lambda g: g * np.conjugate(z) / ans)
size_partly.defpartials(lambda ans, z: np.conjugate(z) / ans)
mirrored.defjvp(lambda g, ans, z: np.conjugate(g))
product.defvjp(lambda ans, a, b: lambda g: g @ b.T, lambda ans, a, b: lambda g: a.T @ g)
turned.defpartials(lambda ans, x: 1j * ans)
several.defvjp(
    lambda ans, z, x, n: lambda g: g[0] * x**n + g[1] * x,
    lambda ans, z, x, n: lambda g: g[0] * z * n * x ** (n - 1) + g[1] * np.real(z),
    None,
)


def of_several(x: Any) -> Any:
    one, two = several(x * TURN, x * x + 1.0, 3)
    return np.sum(np.real(one * (1.0 - 1.0j))) + np.sum(two**2)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a pull": lambda x: np.sum(np.real(square(x * TURN) * (2.0 - 1.0j))),
    "a push": lambda x: np.sum(np.imag(square_forwards(x * TURN + 1.0j))),
    "a partial": lambda x: np.sum(np.real(square_partly(x * TURN)) ** 2),
    "of a number": lambda x: np.real(square_partly(np.sum(x) * TURN)),
    "a real result": lambda x: np.sum(size(x + 2.0j * x**2)),
    "a real result by a partial": lambda x: np.sum(size_partly(x + 2.0j * x**2)),
    "not analytic": lambda x: np.sum(np.real(mirrored(x * TURN) ** 2 * (1.0 + 2.0j))),
    "a complex result": lambda x: np.sum(np.real(turned(x) * (1.0 + 2.0j))),
    "matrices": lambda x: np.sum(
        np.abs(product(np.reshape(x, (1, 3)) * TURN, np.reshape(x, (3, 1)) + 2j)) ** 2
    ),
    "a real one and a complex one": lambda x: np.sum(
        np.abs(product(np.reshape(x, (1, 3)), np.reshape(x, (3, 1)) * TURN)) ** 2
    ),
    "a constant one": lambda x: np.sum(
        np.imag(product(np.reshape(x, (1, 3)), np.array([[1.0j], [2.0], [TURN]])))
    ),
    "several": of_several,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_the_function(name: str) -> None:
    f = FUNCTIONS[name]
    gradient, hessian = check_ways(f, X)
    npt.assert_allclose(gradient, differences(f, X), rtol=1e-7, atol=1e-9)
    npt.assert_allclose(hessian, differences(cadiff.grad(f), X), rtol=1e-7, atol=1e-7)
    program = cadiff.compile(f)
    for x in (X, 2.0 * X, X):
        assert program(x) == pytest.approx(f(x), rel=1e-14)
        assert program.grad(x) @ V == pytest.approx(cadiff.grad(f)(x) @ V, rel=1e-13)
    npt.assert_allclose(program.hvp(X, V), hessian @ V, rtol=1e-12)
    again = pickle.loads(pickle.dumps(cadiff.compile(lambda_free)))
    assert again.grad(X) @ V == pytest.approx(cadiff.grad(lambda_free)(X) @ V)


def lambda_free(x: Any) -> Any:
    return np.sum(np.real(square(x * TURN)))


def test_conventions() -> None:
    z, u, t = 1.0 + 2.0j, 0.5 - 1.5j, 0.3 + 0.4j
    for f in (square, square_forwards, square_partly):
        assert cadiff.grad(f, holomorphic=True)(z) == 2.0 * z
        assert cadiff.vjp(f, z)[1](u) == 2.0 * z * u
        assert cadiff.jvp(f, (z,), (t,))[1] == 2.0 * z * t
        with pytest.raises(TypeError, match="holomorphic"):
            cadiff.grad(f)(z)
        assert cadiff.grad(f)(3.0) == 6.0  # real numbers remain so
    assert cadiff.grad(size)(z) == pytest.approx(cadiff.grad(np.abs)(z))
    pulled = cadiff.vjp(mirrored, z)[1](u)
    assert pulled == np.conj(u)
    assert np.real(u * cadiff.jvp(mirrored, (z,), (t,))[1]) == pytest.approx(np.real(pulled * t))
    assert cadiff.grad(lambda x: np.real(turned(x)))(0.5) == pytest.approx(-np.sin(0.5))


def test_rules_get_plain_arrays() -> None:
    seen: list[Any] = []

    @primitive
    def f(z: Any) -> Any:
        seen.append(z)
        return 2.0 * z

    @f.defvjp
    def _(ans: Any, z: Any) -> Any:
        def pull(g: Any) -> Any:
            seen.extend([ans, z, g])
            return 2.0 * g

        return pull

    cadiff.grad(lambda x: np.sum(np.real(f(x * TURN))))(X)
    assert all(type(x) is np.ndarray and x.dtype == np.complex128 for x in seen)
    assert len(seen) == 4


def test_results_are_complex_always_or_never() -> None:
    @primitive
    def root(x: Any) -> Any:
        return np.emath.sqrt(x)

    root.defpartials(lambda ans, x: 0.5 / ans)
    f = cadiff.grad(lambda x: np.real(root(x * TURN)))
    assert np.isfinite(f(2.0))

    @primitive
    def sometimes(z: Any) -> Any:
        return np.real_if_close(z * z)

    sometimes.defpartials(lambda ans, z: 2.0 * z)
    g = cadiff.grad(lambda x: np.real(sometimes(x * 1.0j + 1.0)))
    assert sometimes(1.0j) == -1.0
    g(1.0)
    assert cadiff.grad(lambda x: np.real(sometimes(x * 1.0j)))(1.0) == -2.0
