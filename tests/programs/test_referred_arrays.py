"""What programs refer to and do not copy: inputs, results and parts of arrays.

Arrays here are longer than a block of places (2048 numbers), about as long, and just shorter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff.numpy import linalg

RNG = np.random.default_rng(11)
SIZES = [1, 3, 2047, 2048, 2049, 5000]


def several(x: Any, y: Any, z: Any) -> Any:
    """Arrays of which each result needs another two."""
    return cnp.tanh(x) * y, y * y + cnp.sin(z), x * 2.0, cnp.sum(x * z)


@pytest.mark.parametrize("n", SIZES)
def test_results_of_two_calls_share_no_places(n: int) -> None:
    program = cadiff.compile(several)
    points = [tuple(RNG.normal(size=(3, n))) for _ in range(3)]
    found = [program(*point) for point in points]
    tangents = [program.jvp(point, points[k - 1]) for k, point in enumerate(points)]
    for k, point in enumerate(points):
        for got, wanted in zip(found[k], several(*point), strict=True):
            npt.assert_allclose(got, wanted, rtol=1e-14, atol=1e-15 * n)
        value, along = tangents[k]
        expected = cadiff.jvp(several, point, points[k - 1])
        for got, wanted in zip((*value, *along), (*expected[0], *expected[1]), strict=True):
            npt.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12 * n)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_wanted_twice_is_written_twice(n: int) -> None:
    def twice(x: Any) -> Any:
        y = cnp.sin(x)
        return y, cnp.concatenate([y, y]), y

    x = RNG.normal(size=n)
    program = cadiff.compile(twice)
    for _ in range(2):
        for got, wanted in zip(program(x), twice(x), strict=True):
            npt.assert_allclose(got, wanted, rtol=1e-14)
    total = cadiff.compile(lambda tree: cnp.sum(cnp.sin(tree["a"] + tree["b"] + tree["b"])))
    gradient = total.grad({"a": x, "b": x})
    npt.assert_allclose(gradient["a"], np.cos(3.0 * x), rtol=1e-12)
    npt.assert_allclose(gradient["b"], 2.0 * np.cos(3.0 * x), rtol=1e-12)
    by_both = cadiff.compile(lambda a, b: cnp.sum(cnp.sin(a + b))).grad(x, x, argnums=(0, 1))
    for got in by_both:
        npt.assert_allclose(got, np.cos(2.0 * x), rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_results_may_be_assigned_to(n: int) -> None:
    program = cadiff.compile(lambda x: (x + 1.0, x * x))
    x = RNG.normal(size=n)
    first, second = program(x)
    kept = x.copy()
    first[:] = 7.0
    x[:] = 3.0
    npt.assert_array_equal(second, kept * kept)
    again, squares = program(kept)
    npt.assert_array_equal(again, kept + 1.0)
    npt.assert_array_equal(squares, kept * kept)
    assert (first == 7.0).all()


@pytest.mark.parametrize("n", SIZES)
def test_gradients_by_parts_of_inputs_and_by_all_of_them(n: int) -> None:
    def f(x: Any, y: Any) -> Any:
        half = x[: n // 2 + 1]
        return cnp.sum(half * half) + cnp.sum(x * y[::-1]) + cnp.sum(y[n // 3 :] ** 3)

    program = cadiff.compile(f)
    x, y, dx, dy = RNG.normal(size=(4, n))
    for _ in range(2):
        for argnums in (0, 1, (0, 1)):
            got = program.grad(x, y, argnums=argnums)
            npt.assert_allclose(got, cadiff.grad(f, argnums)(x, y), rtol=1e-13, atol=1e-13)
        for argnums, v in ((0, dx), (1, dy)):
            got = program.hvp(x, v, y, argnums=argnums)
            expected = cadiff.hvp(f, argnums)(x, v, y)
            npt.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


def test_curvature_of_products_of_long_vectors() -> None:
    """The sums of a product are added to a part of what another one writes."""
    n = 2120

    def f(x: Any) -> Any:
        y = cnp.reshape(x, (40, 53))
        return cnp.sum((y @ y.T) ** 2) + cnp.sum(y[3] * y[5]) + cnp.sum(x[7:] * x[:-7])

    x, v = RNG.normal(size=(2, n))
    program, expected = cadiff.compile(f), cadiff.hvp(f)(x, v)
    for _ in range(2):
        npt.assert_allclose(program.hvp(x, v), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4), (2, 3, 5, 5)])
def test_curvature_of_systems_with_parts_of_their_matrix(shape: tuple[int, ...]) -> None:
    def f(xy: Any) -> Any:
        z = xy[0] + 1j * xy[1]
        found = linalg.solve(z, z[..., :, :2] + 1.0)
        return cnp.sum(found.real**2 + found.imag)

    xy, v = RNG.normal(size=(2, 2, *shape))
    program, expected = cadiff.compile(f), cadiff.hvp(f)(xy, v)
    for _ in range(2):
        npt.assert_allclose(
            program.hvp(xy, v), expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected))
        )


@pytest.mark.parametrize("n", [9, *SIZES[2:]])
def test_steps_that_call_read_an_input_where_it_stands(n: int) -> None:
    """Of the whole input, of a part of it, and of two, which are brought side by side."""
    functions = [
        lambda x, y: cnp.max(x) + cnp.min(y),
        lambda x, y: cnp.max(x[1:-1]) * x[0] + cnp.sort(y)[::2].sum(),
        lambda x, y: cnp.max(cnp.concatenate([x, y])) + cnp.convolve(x[:9], y[-9:]).sum(),
        lambda x, y: cnp.where(x[3] > y[4], cnp.max(x), cnp.median(x)) + cnp.linalg.norm(y, 3),
    ]
    for f in functions:
        program = cadiff.compile(f)
        for _ in range(3):
            x, y = numbers = RNG.normal(size=(2, n))
            kept = numbers.copy()
            npt.assert_allclose(program(x, y), f(x, y), rtol=1e-12)
            wanted = cadiff.grad(f)(x, y)
            npt.assert_allclose(program.grad(x, y), wanted, rtol=1e-12, atol=1e-14)
            npt.assert_array_equal(numbers, kept)


@pytest.mark.parametrize("n", [*SIZES, 100_000])
def test_one_number_for_all_elements(n: int) -> None:
    def f(x: Any, y: Any) -> Any:
        return 3.0 * cnp.sum(x) - cnp.mean(y) + 2.0 * cnp.sum(y)

    program = cadiff.compile(f)
    former: list[Any] = []
    for _ in range(4):
        x, y = RNG.normal(size=(2, n))
        value, gradients = program.value_and_grad(x, y, argnums=(0, 1))
        npt.assert_allclose(value, f(x, y), rtol=1e-12)
        npt.assert_array_equal(gradients[0], np.full(n, 3.0))
        npt.assert_allclose(gradients[1], np.full(n, 2.0 - 1.0 / n), rtol=1e-15)
        assert not any(np.shares_memory(a, b) for a in gradients for b in (*former, x, y))
        gradients[0][:] = np.nan  # it is the caller's
        former += gradients
    npt.assert_array_equal(program.grad(x.astype(np.float32), y), np.full(n, 3.0, np.float32))
    npt.assert_array_equal(cadiff.compile(lambda x: x * 0.0 + 5.0)(x), np.full(n, 5.0))
