"""Steps of programs that are written out for long arrays: Einstein sums, norms of rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import cadiff
import cadiff.numpy as cnp

N = 150
STEP = 1e-30

# Subscripts, and the shapes of two operands, of which one is long.
SUMS = {
    "nij,nj->ni": ((N, 2, 4), (N, 4)),
    "nij,nj->in": ((N, 9, 9), (N, 9)),
    "nij,njk->nik": ((N, 2, 6), (N, 6, 2)),
    "ni,nj->nij": ((N, 3), (N, 5)),
    "ni,n->in": ((N, 4), (N,)),
    "ni,nij->nj": ((N, 2), (N, 2, 3)),
    "nij,nji->n": ((N, 2, 3), (N, 3, 2)),
    "mnij,nj->mni": ((2, N, 2, 3), (N, 3)),
    "nij,mi->mnj": ((N, 3, 2), (2, 3)),
    "nab,ncb->ac": ((N, 2, 3), (N, 4, 3)),
    "nij,k->kn": ((N, 2, 3), (2,)),
    "n,n->n": ((4 * N,), (4 * N,)),
    "n,n->": ((4 * N,), (4 * N,)),
    "kij,nkj->nki": ((3, 40, 4), (N, 3, 4)),
    "ij,nj->ni": ((33, 2), (N, 2)),
}


def seeded(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(11)
    return [rng.normal(size=shape) for shape in shapes]


def steps_of(program: Any) -> list[str]:
    return [step.name for recorded in program._traces for step in recorded.graph.steps]


@pytest.mark.parametrize("text", SUMS)
def test_sums_of_two_operands(text: str) -> None:
    x, y, dx, dy = seeded(*SUMS[text], *SUMS[text])
    (w,) = seeded(np.einsum(text, x, y).shape)

    def total(x: Any, y: Any) -> Any:
        return cnp.sum(w * cnp.einsum(text, x, y))

    program = cadiff.compile(lambda x, y: cnp.einsum(text, x, y))
    assert_allclose(program(x, y), np.einsum(text, x, y), rtol=1e-13, atol=1e-13)
    assert_allclose(program(dx, y), np.einsum(text, dx, y), rtol=1e-13, atol=1e-13)
    gradient = cadiff.compile(total)
    by_x, by_y = gradient.grad(x, y, argnums=(0, 1))
    moved = np.sum(w * np.einsum(text, x + STEP * 1j * dx, y + STEP * 1j * dy)).imag / STEP
    assert_allclose(np.sum(by_x * dx) + np.sum(by_y * dy), moved, rtol=1e-11)
    # It is linear in each operand: along both, its second derivative is that of two tangents.
    both = cadiff.compile(lambda t: total(x + t * dx, y + t * dy))
    assert_allclose(
        both.hessian(np.zeros(1))[0, 0], 2.0 * np.sum(w * np.einsum(text, dx, dy)), rtol=1e-11
    )
    assert not steps_of(program) + steps_of(gradient) + steps_of(both)


@pytest.mark.parametrize(("rows", "product"), [(31, "3, 31, 4, 150"), (32, "3, 150, 4, 32")])
def test_products_stand_as_the_result_does_where_its_rows_are_long(
    rows: int, product: str
) -> None:
    q, x = seeded((3, rows, 4), (N, 3, 4))
    program = cadiff.compile(lambda q: cnp.einsum("kij,nkj->nki", q, x))
    assert_allclose(program(q), np.einsum("kij,nkj->nki", q, x), rtol=1e-12, atol=1e-13)
    assert f"matmul ({product})" in re.sub(" +", " ", program.to_text())


def test_sums_of_one_operand_and_of_three() -> None:
    x, z = seeded((N, 2, 3), (3,))
    one = cadiff.compile(lambda x: cnp.einsum("nij->jn", x))
    assert_allclose(one(x), np.einsum("nij->jn", x), rtol=1e-14)
    assert not steps_of(one)
    three = cadiff.compile(lambda x: cnp.einsum("nij,j,j->n", x, z, z))
    assert_allclose(three(x), np.einsum("nij,j,j->n", x, z, z), rtol=1e-13)
    assert not steps_of(three)


@pytest.mark.parametrize("axis", [1, 0, -1])
def test_norms_of_rows_some_of_which_are_0(axis: int) -> None:
    (x,) = seeded((300, 4))
    x[7] = x[:, 2] = 0.0
    norms = np.linalg.norm(x, axis=axis, keepdims=True)
    unit = x / np.where(norms == 0.0, 1.0, norms)
    program = cadiff.compile(lambda x: cnp.linalg.norm(x, axis=axis))
    assert_allclose(program(x), np.linalg.norm(x, axis=axis), rtol=1e-14)
    total = cadiff.compile(lambda x: cnp.sum(cnp.linalg.norm(x, axis=axis)))
    assert_allclose(total.grad(x), unit, rtol=1e-13)
    assert_allclose(
        total.hvp(x, unit + 1.0),
        np.where(norms == 0.0, 0.0, 1.0 - unit * unit.sum(axis=axis, keepdims=True))
        / np.where(norms == 0.0, 1.0, norms),
        rtol=1e-12,
        atol=1e-13,
    )
    assert not steps_of(program) + steps_of(total)
    assert total.stats()["recordings"] == 1


def test_norms_of_rows_with_elements_that_are_no_numbers_or_large() -> None:
    (x,) = seeded((300, 3))
    x[3, 1], x[5], x[6], x[7, 2] = np.inf, 1e200, 1e-170, np.nan
    weights = np.arange(300.0)[:, None]

    def f(x: Any) -> Any:
        return cnp.sum(cnp.linalg.norm(x, axis=1, keepdims=True) * weights)

    program = cadiff.compile(f)
    assert_allclose(program.grad(x), cadiff.grad(f)(x), rtol=1e-13)
    assert not steps_of(program)


def test_small_products_are_those_of_numpy_to_the_last_bit_where_that_is_wanted() -> None:
    x, y = seeded((N, 3, 4), (N, 4, 2))
    program = cadiff.compile(lambda x: x @ y, optimize=False)
    assert (program(x) == x @ y).all()
    assert (program.batch(x[None])[0] == x @ y).all()
    assert_allclose(cadiff.compile(lambda x: x @ y)(x), x @ y, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("shape", [(1000, 1001), (300, 7, 50)])
def test_columns_of_an_input_are_read_for_many_at_a_time(shape: tuple[int, ...]) -> None:
    """Not in tiles of a few columns, in which each row is a line of the cache of its own."""
    program = cadiff.compile(lambda x: cnp.sum(cnp.sum(x, axis=0) ** 2))
    x = np.random.default_rng(0).normal(size=shape)
    assert_allclose(program(x), np.sum(np.sum(x, axis=0) ** 2), rtol=1e-12)
    sums = re.findall(r"sum +\(\d+, (\d+)", program.to_text())
    assert min(map(int, sums)) > 40


@pytest.mark.parametrize("n", [9, 1024, 1025, 4099, 100_003])
@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
def test_norms_of_long_vectors_are_added_pairwise(n: int, order: float) -> None:
    x = np.random.default_rng(n).normal(size=n)
    program = cadiff.compile(lambda x: cnp.linalg.norm(x, order, axis=0))
    wanted = np.linalg.norm(x, order, axis=0)
    # As NumPy adds; NumPy 2.0 rounds the last place otherwise where there are many numbers.
    assert_allclose([program(x), program(x)], wanted, rtol=4e-16)
    assert program(x) == wanted or np.lib.NumpyVersion(np.__version__) < "2.4.0"
