"""The seam to JAX, both ways: `cadiff.interop.jax`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cadiff

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from cadiff.interop import jax as seam  # noqa: E402

from ..helpers.seams import A, b, energy, product  # noqa: E402


@pytest.fixture(autouse=True)
def _in_float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def product_in_jax(A: Any, b: Any) -> Any:
    return jnp.sin(A) @ b, jnp.sum(b**2) * A[0, 0]


called = seam.function(product)


def total(f: Any) -> Any:
    return lambda A, b: jnp.sum(f(A, b)[0] ** 2) + jnp.exp(f(A, b)[1])


def over_rows(f: Any) -> Any:
    return lambda A, b: jnp.sum(jax.vmap(f, in_axes=(None, 0))(A, jnp.stack([b, 2 * b]))[0] ** 3)


TRANSFORMS = {
    "value": lambda f: f,
    "grad": lambda f: jax.grad(f, (0, 1)),
    "jit of grad": lambda f: jax.jit(jax.grad(f, (0, 1))),
    "jvp": lambda f: jax.jit(lambda A, b: jax.jvp(f, (A, b), (A, b))),
    "hessian": lambda f: jax.jit(jax.hessian(f, (0, 1))),
    "jacrev of jacrev": lambda f: jax.jit(jax.jacrev(jax.jacrev(f, 1), 0)),
    "jacfwd of jacfwd": lambda f: jax.jit(jax.jacfwd(jax.jacfwd(f, 1), 0)),
    "vmap of grad": lambda f: jax.jit(lambda A, b: jax.vmap(jax.grad(f, 1), (None, 0))(A, A)),
}


@pytest.mark.parametrize(
    ("outer", "name"),
    [*((total, name) for name in TRANSFORMS), (over_rows, "jit of grad"), (over_rows, "hessian")],
)
def test_derivatives_are_those_of_jax(name: str, outer: Any) -> None:
    found = TRANSFORMS[name](outer(called))(A, b)
    expected = TRANSFORMS[name](outer(product_in_jax))(A, b)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


def test_third_order_in_a_scan() -> None:
    def loop(f: Any) -> Any:
        return lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]

    def third(f: Any) -> Any:
        return jax.jit(jax.grad(jax.grad(jax.grad(loop(f)))))(0.3)

    found = third(seam.function(lambda x: x * np.sin(x)))
    np.testing.assert_allclose(found, third(lambda x: x * jnp.sin(x)), rtol=1e-11)


def test_whole_numbers_are_no_arguments_to_differentiate_by() -> None:
    f = jax.jit(seam.function(lambda x, k, rows: (x[rows] ** k).sum(), like=0.0))
    assert jax.grad(f)(b, 2, np.array([0, 2])).tolist() == [-1.0, 0.0, 2.0]


def test_single_precision_where_jax_has_it() -> None:
    with jax.enable_x64(False):
        gradient = jax.grad(seam.function(energy))(b)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, cadiff.grad(energy)(b), rtol=1e-6)


def test_matrices_that_shapes_are_found_with_are_positive_definite() -> None:
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    for g in (np.linalg.inv, np.linalg.cholesky):
        np.testing.assert_allclose(jax.jit(seam.function(g))(A), g(A), rtol=1e-6)


def test_what_the_result_is_like() -> None:
    def of_index(x: Any, k: Any) -> Any:
        return x[: k + 1]

    with pytest.raises(Exception, match=r"like=, .* has shape \(1,\), of_index returns \(3,\)"):
        jax.block_until_ready(seam.function(of_index)(b, 2))
    with pytest.raises(ValueError, match=r"empty array .*write function\(f, like=\.\.\.\)"):
        seam.function(lambda x: x[x > 2.5])(b)
    like = jax.ShapeDtypeStruct((3,), np.float64)
    assert seam.function(of_index, like=like)(b, 2).shape == (3,)


def test_arrays_of_jax_are_arrays() -> None:
    x = jnp.asarray(b)
    assert cadiff.grad(lambda y: np.sum(x * y) + y @ x)(x).tolist() == (2 * b).tolist()


def test_a_traced_array_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Tracer of jax makes none: .*jax\.function"):
        jax.jit(lambda x: cadiff.grad(energy)(x))(b)
    with pytest.warns(RuntimeWarning, match=r"JAX traces: .*jax\.function\(f\)\(x\)"):
        jax.jit(cadiff.compile(lambda x: x * x))(b)
    with pytest.raises(TypeError, match=r"write function\(f\)\(x\)"):
        seam.function(energy, b)
