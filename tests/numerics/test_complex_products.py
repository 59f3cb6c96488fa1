"""Complex arrays whose parts stand in one array: what is done for both at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

Function = Callable[[Any, Any, Any], Any]

POINT = np.array([0.7, -0.4])
ALONG = np.array([0.3, 0.9])


def drawn(*shape: int) -> Any:
    """Complex numbers of length 1, nearly."""
    rng = np.random.default_rng(sum(shape))
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)) / np.sqrt(shape[-1])


def real(z: Any) -> Any:
    """A real number that depends on both parts of all elements."""
    return cnp.sum(cnp.sin(z.real) + z.imag**2 * cnp.cos(z.real))


def assigned(z: Any, u: Any) -> Any:
    """An array after assignments to it and to a part of it."""
    z[0] = u[0] * u[1]
    z.imag[-1] = u[1]
    return z


# Of numbers u, an array z that is linear in u, and a constant c like z, both square.
WAYS: dict[str, Function] = {
    "sums": lambda u, z, c: z + c - (c - z) + (z + z) - (z - c),
    "factors": lambda u, z, c: 2.0 * z + z * 3 + u[0] * z + z * u[1] - c * u[0] + z * z.real,
    "complex factors": lambda u, z, c: 1j * z + z * (1 - 2j) + (2 + 0j) * z - 0j * z,
    "rows": lambda u, z, c: z + z[0] + c[0] + z * z[0].real,
    "views": lambda u, z, c: 1j * z[::-1].T + 2.0 * (z[:, ::-1] + c),
    "copies": lambda u, z, c: 1j * z[[0, -1, 0]] + 2.0 * z[[0, -1, 0]].conj(),
    "constant @": lambda u, z, c: c @ z,
    "@ constant": lambda u, z, c: z @ c,
    "@ itself": lambda u, z, c: z @ z,
    "@ adjoint": lambda u, z, c: z @ z.T.conj() + c @ z.T,
    "@ slices": lambda u, z, c: z[::-1, :1] @ z[:1, ::2] + c @ z[:, ::2] + c[:, :1] @ z[:1, ::2],
    "@ vectors": lambda u, z, c: z @ c[0] + c[0] @ z + z[0] @ z + z @ z[:, 0] + c[0] @ z[0],
    "@ stacks": lambda u, z, c: c[None] @ z + z @ np.array([c, c.T]) + z[None] @ z,
    "@ real": lambda u, z, c: c.real @ z + z.real @ z + z @ c.imag,
    "assigned": lambda u, z, c: 1j * assigned(z, u) + z @ z,
    "in place": lambda u, z, c: z.__imul__(1j).__iadd__(c).__imatmul__(z),
    "inverse": lambda u, z, c: cnp.linalg.inv(z + 3.0 * c) @ cnp.linalg.inv((z + 3.0 * c).T),
    "systems": lambda u, z, c: cnp.linalg.solve(z + 3.0 * c, z) + cnp.linalg.solve(c, z),
    "spectrum": lambda u, z, c: cnp.linalg.eigvalsh(z + z.T.conj()) + 1j * z[0],
}


def function_of(name: str, n: int) -> Callable[[Any], Any]:
    """A real function of two numbers."""
    a, b, c = drawn(n, n), drawn(n, n)[::-1], drawn(n, n).T
    return lambda u: real(WAYS[name](u, u[0] * a + b * u[1], c))


def close(x: Any, y: Any) -> bool:
    """Whether two are the same but for rounding."""
    return np.allclose(x, y, rtol=1e-9, atol=1e-9)


def central(f: Callable[[Any], Any], along: Any) -> Any:
    """The derivative along a direction, by differences."""
    return (f(POINT + 1e-5 * along) - f(POINT - 1e-5 * along)) / 2e-5


@pytest.mark.parametrize("n", [1, 3, 18])  # of 18 both parts are a large block
@pytest.mark.parametrize("name", WAYS)
def test_derivatives_are_those_of_differences(name: str, n: int) -> None:
    f = function_of(name, n)
    value, gradient = cadiff.value_and_grad(f)(POINT)
    assert close(value, f(POINT))
    assert close(cadiff.jvp(f, (POINT,), (ALONG,))[1], gradient @ ALONG)
    assert abs(gradient @ ALONG - central(f, ALONG)) < 1e-6 * (1.0 + np.abs(gradient).sum())
    assert close(cadiff.linearize(f, POINT)[1](ALONG), gradient @ ALONG)


@pytest.mark.parametrize("name", WAYS)
def test_second_derivatives_and_programs(name: str) -> None:
    f = function_of(name, 2)
    gradient = cadiff.grad(f)
    second = cadiff.hvp(f)(POINT, ALONG)
    scale = 1.0 + np.abs(second).sum()
    assert np.abs(central(gradient, ALONG) - second).max() < 1e-5 * scale
    assert close(cadiff.grad(lambda u: gradient(u) @ ALONG)(POINT), second)
    assert close(cadiff.jvp(gradient, (POINT,), (ALONG,))[1], second)
    program = cadiff.compile(f)
    points = np.array([ALONG, POINT])
    assert close(program.batch(points), [f(point) for point in points])
    assert close(program.grad(POINT), gradient(POINT))
    assert close(program.hvp(POINT, ALONG), second)


def test_shapes_that_do_not_fit_are_named() -> None:
    for way in (lambda z: z + drawn(2, 4), lambda z: drawn(4, 4) @ z, lambda z: z @ z):
        with pytest.raises(ValueError, match=r"\(2, 3\).*\((2, 4|2, 3)\)|\(4, 4\).*\(2, 3\)"):
            cadiff.grad(lambda u, way=way: real(way(u * drawn(2, 3))))(0.5)


def test_as_many_axes_as_numpy_has() -> None:
    z = drawn(2, 2)
    for shape in ((2, 2), (1,) * 62 + (2, 2)):
        slope = cadiff.grad(lambda u, shape=shape: cnp.sum(((u * z).reshape(shape) * 2j).real))(
            0.5
        )
        assert close(slope, -2.0 * z.imag.sum())


@pytest.mark.parametrize("shapes", [((0, 3), (3, 2)), ((3, 0), (0, 2)), ((2, 3), (3, 0))])
def test_empty_products(shapes: Any) -> None:
    left, right = (np.empty(shape, dtype=complex) + 1j for shape in shapes)

    def f(u: Any) -> Any:
        return u + real((u * left) @ (u * right) + left @ (u * right))

    assert cadiff.value_and_grad(f)(0.5) == (0.5, 1.0)
