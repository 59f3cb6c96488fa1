"""What changes nothing is left out of programs: copies of parts of an array, factors of 1, zeros.

Signs of zeros are those of programs that leave nothing out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as np

from ..helpers.processes import in_whole_tiles
from ..helpers.ways import check_replays

Function = Callable[[Any], Any]

# --- parts of arrays -----------------------------------------------------------------------------


def steps(x: Any) -> Any:
    y = x
    for _ in range(3):
        y = np.concatenate([x[:1], x[1:] * y[:-1]]) + 0.1 * y
    return y


def reread(x: Any) -> Any:
    part = np.sin(x)
    return np.concatenate([part, np.cos(part)]) * np.concatenate([np.exp(part), x])


def returned(x: Any) -> Any:
    part = np.sin(x)
    return part, np.concatenate([part, x * x])


def nested(x: Any) -> Any:
    inner = np.concatenate([np.sin(x), x * x])
    return np.concatenate([inner * 2.0, inner, np.exp(x)])


def repeated(x: Any) -> Any:
    part = np.sin(x)
    return np.concatenate([part, part, part[::-1], part[3:-4]]) ** 2


def assigned(x: Any) -> Any:
    whole = np.concatenate([np.sin(x), np.cos(x)])
    whole[5:-5] += 2.0 * x[0]
    whole[7] = x[1]
    return whole * whole[::-1]


def stacked(x: Any) -> Any:
    return np.stack([np.sin(x), x * x, np.exp(x)], axis=1) @ np.stack([x, np.cos(x), 2.0 * x])


def differences(x: Any) -> Any:
    y = np.sin(x)
    return np.concatenate([y[:1], np.diff(y) ** 2]) * np.diff(np.concatenate([y, x[:1]]))


def overlapping(x: Any) -> Any:
    y = np.exp(0.1 * x)
    return np.concatenate([y[:-2] * y[1:-1] * y[2:], y[:40:2] * y[40:80:2]])


PARTS = [
    steps,
    reread,
    returned,
    nested,
    repeated,
    assigned,
    stacked,
    differences,
    overlapping,
]


def weighted(f: Function) -> Function:
    def total(x: Any) -> Any:
        found = f(x)
        found = found if isinstance(found, tuple) else (found,)
        return sum(np.sum(np.cos(np.arange(y.size)).reshape(y.shape) * y) for y in found)

    return total


@pytest.mark.parametrize("n", [100, 700, 5000])
@pytest.mark.parametrize("f", PARTS)
def test_parts_of_arrays(f: Function, n: int) -> None:
    x = numpy.random.default_rng(n).standard_normal(min(n, 300) if f is stacked else n)
    program, exact = cadiff.compile(f), cadiff.compile(f, optimize=False)
    for point in (x, -x, numpy.where(x < 0.0, -0.0, x)):
        for found, wanted in zip(as_tuple(program(point)), as_tuple(exact(point)), strict=True):
            npt.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 if f is stacked else 0.0)
            npt.assert_array_equal(numpy.signbit(found), numpy.signbit(wanted))
    total = weighted(f)
    value, gradient = cadiff.compile(total).value_and_grad(x)
    npt.assert_allclose(gradient, cadiff.grad(total)(x), rtol=1e-11, atol=1e-12)
    npt.assert_allclose(value, total(x), rtol=1e-11, atol=1e-11)


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("f", PARTS)
def test_derivatives_of_parts(f: Function) -> None:
    x = numpy.random.default_rng(1).standard_normal(90)
    total, one = weighted(f), lambda x: as_tuple(f(x))[-1]
    check_replays(total, cadiff.compile(total), x, is_exact=False)
    check_replays(one, cadiff.compile(one), x, is_number=False, is_exact=False)
    rows = numpy.random.default_rng(2).standard_normal((7, 90))
    wanted = [cadiff.grad(total)(row) for row in rows]
    found = cadiff.compile(total).batch(rows, what="grad")
    npt.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11)


@in_whole_tiles
def test_no_part_is_copied() -> None:
    program = cadiff.compile(lambda x: np.sum(steps(x) ** 2))
    program.value_and_grad(numpy.linspace(0.1, 1.0, 500))
    assert not re.search("positive|zeros +500", program.to_text())


def test_a_part_of_a_cotangent_stands_among_zeros() -> None:
    program = cadiff.compile(lambda x: np.sum(np.sin(np.exp(x)[3:-2] ** 2)))
    x = numpy.linspace(0.1, 1.0, 500)
    npt.assert_allclose(program.grad(x)[3:-2], (np.cos(np.exp(2 * x)) * 2 * np.exp(2 * x))[3:-2])
    assert re.findall(r"zeros +(\d+) numbers?", program.to_text())[:2] == ["3", "2"]


@pytest.mark.parametrize("by", [1, -40, (7, 0)])
def test_what_arrives_at_rolled_arrays_is_added_along_stretches(by: Any) -> None:
    def f(x: Any) -> Any:
        x = x.reshape(20, 15) if isinstance(by, tuple) else x
        moved = np.roll(x, by, axis=(0, 1) if isinstance(by, tuple) else None)
        return np.sum((np.sin(moved) - x) ** 2 * numpy.cos(numpy.arange(300.0)).reshape(x.shape))

    x = numpy.random.default_rng(6).standard_normal(300)
    program = cadiff.compile(f)
    program.grad(x)
    assert "add at" not in program.to_text()
    check_replays(f, program, x, is_exact=False, has_hessian=False)


# --- axes exchanged ------------------------------------------------------------------------------


def by_einsum(x: Any) -> Any:
    q, points = x[:160].reshape(10, 4, 4), x[160:].reshape(-1, 4)
    return np.sum(np.einsum("kij,nkj->nki", q, points[:, None] - q[:, 0]) ** 2)


def transposed(x: Any) -> Any:
    y = np.sin(x[:280].reshape(4, 10, 7))
    return np.sum(y.transpose(2, 0, 1) * np.cos(np.arange(280.0)).reshape(7, 4, 10) * y[0, 0, 0])


@pytest.mark.parametrize("f", [by_einsum, transposed])
def test_axes_exchanged(f: Function) -> None:
    x = numpy.random.default_rng(3).standard_normal(360)
    program = cadiff.compile(f)
    check_replays(f, program, x, is_exact=False, has_hessian=False)


# --- constants -----------------------------------------------------------------------------------

ZEROS, ONES, TWOS = numpy.zeros(50), numpy.ones(50), numpy.full(50, 2.0)
FOLDED: dict[str, tuple[Function, str]] = {
    "times 1": (lambda x: x * ONES, "multiply"),
    "1 times": (lambda x: ONES * np.sin(x), "multiply"),
    "over 1": (lambda x: np.sin(x) / ONES, "divide"),
    "to the power of 1": (lambda x: np.sin(x) ** ONES, "power"),
    "plus -0": (lambda x: np.sin(x) + -ZEROS, "add"),
    "minus 0": (lambda x: np.sin(x) - ZEROS, "subtract"),
    "squares plus 0": (lambda x: x**2 + ZEROS, "add"),
    "0 plus exponentials": (lambda x: ZEROS + np.exp(x), "add"),
    "a choice": (lambda x: np.where(ONES > 0.0, np.sin(x), x), "where"),
    "a logarithm of what is positive": (lambda x: cadiff.grad(below)(x), "where"),
}
KEPT: dict[str, tuple[Function, str]] = {
    "plus 0": (lambda x: np.sin(x) + ZEROS, "add"),
    "minus -0": (lambda x: np.sin(x) - -ZEROS, "subtract"),
    "times 0": (lambda x: np.sin(x) * ZEROS, "multiply"),
    "negative squares plus 0": (lambda x: -(x**2) + ZEROS, "add"),
    "products plus 0": (lambda x: x * np.exp(x) + ZEROS, "add"),
}
EDGES = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324, -5e-324, 1e-200, -1e-200, 3.0]


def below(x: Any) -> Any:
    return np.sum(np.log(1.0 + np.exp(x)))


@pytest.mark.parametrize("name", FOLDED | KEPT)
@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
def test_constants(name: str) -> None:
    """Signs of zeros included, and what is not finite."""
    f, operation = (FOLDED | KEPT)[name]
    program = cadiff.compile(f)
    x = numpy.array(EDGES * 5)
    with numpy.errstate(all="ignore"):
        found, wanted = program(x), cadiff.compile(f, optimize=False)(x)
    npt.assert_array_equal(found, wanted)
    finite = ~numpy.isnan(wanted)
    npt.assert_array_equal(numpy.signbit(found[finite]), numpy.signbit(wanted[finite]))
    assert (f"{operation}(" in program.to_text() or f"× {operation} " in program.to_text()) is (
        name in KEPT
    )


def test_products_of_the_chain_rule_by_zeros() -> None:
    program = cadiff.compile(lambda x: np.sum(np.exp(x) * ZEROS) + np.sum(x))
    program.grad(numpy.ones(50))
    npt.assert_array_equal(program.grad(numpy.full(50, 800.0)), numpy.ones(50))
    assert re.search(r"result +50 numbers +1$", program.to_text())
