"""Which results of operations depend on which arguments, as sparse matrices show it."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import cadiff
from cadiff import nn
from cadiff import numpy as cnp

from ..helpers.patterns import as_matrix, check_entries, mask_of

Function = Callable[..., Any]
RNG = np.random.default_rng(0)


def structure(f: Function, x: Any) -> np.ndarray:
    """The mask of a sparse Jacobian, which is compared with the dense one."""
    matrix = cadiff.sparse_jacobian(f)(x)
    return check_entries(matrix, as_matrix([[cadiff.jacobian(f)(x)]], [x]), 1e-10)


def second_structure(f: Function, x: Any) -> np.ndarray:
    matrix = cadiff.sparse_hessian(f)(x)
    return check_entries(matrix, as_matrix([[cadiff.hessian(f)(x)]], [x]), 1e-9)


def blocks(count: int, height: int, width: int) -> np.ndarray:
    return np.kron(np.eye(count), np.ones((height, width))).astype(bool)


def matrices(x: Any) -> Any:
    """A stack of four regular matrices."""
    return x.reshape(4, 3, 3) + 5.0 * np.eye(3)


def symmetric(x: Any) -> Any:
    a = matrices(x)
    return a + np.swapaxes(a, 1, 2)


# --- functions of the package --------------------------------------------------------------------

POINT = RNG.normal(size=36)
IN_STACKS = {
    "norm": (lambda x: np.linalg.norm(x.reshape(4, 9), axis=1), blocks(4, 1, 9)),
    "solve": (lambda x: np.linalg.solve(matrices(x), np.ones((4, 3, 1))), blocks(4, 3, 9)),
    "inv": (lambda x: np.linalg.inv(matrices(x)), blocks(4, 9, 9)),
    "det": (lambda x: np.linalg.det(matrices(x)), blocks(4, 1, 9)),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(symmetric(x)), blocks(4, 3, 9)),
    "matmul": (lambda x: matrices(x) @ np.ones((3, 2)), blocks(12, 2, 3)),
    "einsum": (lambda x: np.einsum("nij,nj->ni", matrices(x), np.ones((4, 3))), blocks(12, 1, 3)),
    "softmax": (lambda x: nn.softmax(x.reshape(4, 9)), blocks(4, 9, 9)),
    "prod": (lambda x: np.prod(x.reshape(4, 9), axis=1), blocks(4, 1, 9)),
    "max": (lambda x: np.max(x.reshape(4, 9), axis=1), blocks(4, 1, 9)),
    "cumsum": (lambda x: np.cumsum(x.reshape(4, 9), 1), np.kron(np.eye(4), np.tri(9)) > 0),
    "cumprod": (lambda x: np.cumprod(x.reshape(4, 9), 1), np.kron(np.eye(4), np.tri(9)) > 0),
    "roll": (lambda x: np.roll(x, 1) * x, (np.eye(36) + np.roll(np.eye(36), 1, 0)) > 0),
    "convolve": (
        lambda x: np.convolve(x, [1.0, 2.0], "valid"),
        (np.eye(36)[1:] + np.eye(36)[:-1]) > 0,
    ),
}


@pytest.mark.parametrize("name", IN_STACKS)
def test_functions_keep_what_is_apart_apart(name: str) -> None:
    f, expected = IN_STACKS[name]
    assert_array_equal(structure(f, POINT), expected)


@pytest.mark.parametrize("name", ["norm", "solve", "inv", "det", "softmax", "prod", "cumprod"])
def test_second_derivatives_are_apart_too(name: str) -> None:
    f, _ = IN_STACKS[name]
    found = second_structure(lambda x: (f(x) ** 2).sum(), POINT)
    assert not np.any(found & ~blocks(4, 9, 9))


def test_a_matrix_of_many_residuals_has_no_more_entries_than_it_needs() -> None:
    """Lists of entries are taken for these, not sets of bits."""
    camera, point = RNG.integers(0, 20, 900), RNG.integers(0, 100, 900)

    def residuals(x: Any) -> Any:
        centres, points = x[:60].reshape(20, 3), x[60:].reshape(100, 3)
        return np.linalg.norm(points[point] - centres[camera], axis=1)

    x = RNG.normal(size=360)
    matrix = cadiff.sparse_jacobian(residuals)(x)
    assert matrix.nnz == 6 * 900
    assert_allclose(matrix.toarray(), cadiff.jacobian(residuals)(x), rtol=0.0, atol=1e-12)


def test_a_mask_that_is_given_chooses_entries() -> None:
    n = 600
    mask = np.arange(n) % 3 == 0

    def chosen(x: Any) -> Any:
        return np.linalg.norm(np.where(mask, x[:n], x[n:]).reshape(-1, 2), axis=1)

    assert cadiff.sparse_jacobian(chosen)(np.ones(2 * n)).nnz == n


def test_rows_at_indices_that_are_computed_may_be_any() -> None:
    def f(x: Any) -> Any:
        return x[:6].reshape(3, 2)[cnp.argsort(x[6:])] ** 2

    program = cadiff.compile(f)
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.3, 0.2, 0.1])
    expected = np.hstack([np.kron(np.ones((3, 3)), np.eye(2)), np.zeros((6, 3))]) > 0
    found = mask_of(program.sparse_jacobian(x))
    dense = cadiff.jacobian(f)(x).reshape(6, 9)
    assert not np.any(dense[~found])
    assert not np.any(found & ~expected)


# --- what users state ----------------------------------------------------------------------------


def rows_of(pattern: Any, **rules: Any) -> Any:
    """The lengths of rows, by a reverse rule that cannot be read."""

    def pull(ans: Any, x: Any) -> Function:
        return lambda g: g[:, None] * np.sign(np.asarray(cadiff.value(x)))

    return cadiff.custom(lambda x: np.abs(x).sum(axis=1), vjp=pull, pattern=pattern, **rules)


STATED = {
    "letters": "ij->i",
    "an ellipsis": "...j->...",
    "spaces": " i j -> i ",
    "bools": np.kron(np.eye(4), np.ones(3)) > 0,
    "sparse": sparse.csr_array(np.kron(np.eye(4), np.ones(3))),
    "pairs": (np.repeat(np.arange(4), 3), np.arange(12)),
    "function": lambda ans, x: (np.repeat(np.arange(len(x)), x.shape[1]), np.arange(x.size)),
    "function of letters": lambda ans, x: "ij->i",
}


@pytest.mark.parametrize("form", STATED)
def test_forms_of_a_pattern(form: str) -> None:
    f = rows_of(STATED[form])
    assert_array_equal(
        structure(lambda x: f(x.reshape(4, 3)), RNG.normal(size=12)), blocks(4, 1, 3)
    )


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("ij", "argument->result"),
        ("ij->i,j", "2 results, but there are 1"),
        ("i->i", "does not stand for an array of the shape"),
        ("ij->j", "stands for the lengths"),
        ("i1->i", "other signs"),
        (np.ones((3, 12)), r"has the shape \(3, 12\), where \(4, 12\)"),
        (([4], [0]), "beyond the shape"),
        (([0, 1], [0]), "2 rows, but 1 columns"),
    ],
)
def test_patterns_that_cannot_be(pattern: Any, message: str) -> None:
    f = rows_of(pattern)
    with pytest.raises(ValueError, match=message):
        cadiff.sparse_jacobian(lambda x: f(x.reshape(4, 3)) * 2.0)(np.ones(12))


def test_patterns_are_of_arguments_and_results() -> None:
    @cadiff.primitive
    def both(a: Any, b: Any) -> Any:
        return a * 2.0, b.sum(axis=0) + a.sum()

    both.defvjp(
        lambda ans, a, b: lambda g: 2.0 * g[0] + np.sum(np.asarray(g[1])),
        lambda ans, a, b: lambda g: np.ones_like(b) * np.asarray(g[1]),
    )

    def f(x: Any) -> Any:
        a, b = both(x[:3], x[3:].reshape(2, 2))
        return [*a, *b]

    x = RNG.normal(size=7)
    both.defpattern("i->i,j", "kj->i,j")  # of which the first part is more than there is
    assert mask_of(cadiff.sparse_jacobian(f)(x)).sum() == 3 + 6 + 12 + 4
    both.defpattern(lambda ans, a, b: (3 + np.arange(b.size) % 2, np.arange(b.size)), argnums=1)

    expected = np.zeros((5, 7), bool)
    expected[[0, 1, 2], [0, 1, 2]] = True
    expected[3:, :3] = True
    expected[[3, 4, 3, 4], [3, 4, 5, 6]] = True
    assert_array_equal(structure(f, x), expected)
    with pytest.raises(ValueError, match="2 patterns for 1 arguments"):
        both.defpattern("i->i", "i->i", argnums=0)


# --- what rules show -----------------------------------------------------------------------------


def test_a_pattern_is_read_off_a_rule_in_functions_of_the_package() -> None:
    second = cadiff.custom(
        lambda x: np.diff(x, 2),
        vjp=lambda ans, x: lambda g: cnp.pad(g, (2, 0)) - 2.0 * cnp.pad(g, 1) + cnp.pad(g, (0, 2)),
    )
    expected = sum(np.eye(8)[k : k + 6] for k in range(3)) > 0
    assert_array_equal(structure(lambda x: second(x**2), RNG.normal(size=8)), expected)
    found = second_structure(lambda x: (second(x) ** 2).sum(), RNG.normal(size=8))
    assert_array_equal(found, expected.T.astype(int) @ expected.astype(int) > 0)


def test_a_rule_that_chooses_by_values_shows_nothing() -> None:
    f = cadiff.custom(np.abs, vjp=lambda ans, x: lambda g: g if x[0] > 0.0 else -g[::-1])
    assert np.all(mask_of(cadiff.sparse_jacobian(lambda x: f(x))(np.ones(3))))


def test_a_rule_that_is_its_own_transpose_ends() -> None:
    swap = cadiff.primitive(lambda x: x[::-1].copy())
    swap.defvjp(lambda ans, x: lambda g: swap(g))
    assert np.all(mask_of(cadiff.sparse_jacobian(lambda x: swap(x))(np.ones(3))))
    swap.defpattern(lambda ans, x: np.eye(len(x))[::-1])
    assert_array_equal(structure(lambda x: swap(x), np.ones(3)), np.eye(3)[::-1] > 0)


SCALED = cadiff.custom(np.multiply, partials=[lambda v, x, y: y, lambda v, x, y: x])
SUMS = cadiff.primitive(np.cumsum)
SUMS.defpartials(lambda ans, x: 1.0)
SUMS.defvjp(lambda ans, x: lambda g: cnp.cumsum(g[::-1])[::-1])  # in the place of the partials
SUMS_OF_SUMS = cadiff.custom(
    lambda x: np.cumsum(np.cumsum(x)),
    vjp=lambda ans, x: lambda g: cnp.cumsum(cnp.cumsum(g[::-1]))[::-1] + 0.0 * g,
)
INVERSE = cadiff.custom(
    np.linalg.inv,
    vjp=lambda ans, a: (
        lambda g: -cnp.linalg.solve(cnp.swapaxes(a, 1, 2), g @ cnp.swapaxes(ans, 1, 2))
    ),
)
LINEAR = cadiff.linearize(lambda y: np.convolve(y, [1.0, 2.0]), np.ones(90))[1]
OF_LINEAR = np.eye(91, 90) + np.eye(91, 90, -1)
REGULAR = RNG.normal(size=(2, 3, 3)) + 4.0 * np.eye(3)

# A function, the size of its argument, and its structure.
STRUCTURES: dict[str, tuple[Function, int, Any]] = {
    "columns of a right-hand side": (
        lambda b: np.linalg.solve(REGULAR, b.reshape(2, 3, 4)),
        24,
        np.kron(np.eye(2), np.kron(np.ones((3, 3)), np.eye(4))),
    ),
    "a linear map": (lambda x: LINEAR(x * x), 90, OF_LINEAR),
    "its transpose": (lambda x: LINEAR.T(x), 91, OF_LINEAR.T),
    "partials that are broadcast": (
        lambda x: SCALED(x[:3, None], x[3:]),
        5,
        np.hstack([np.kron(np.eye(3), np.ones((2, 1))), np.kron(np.ones((3, 1)), np.eye(2))]),
    ),
    "a rule instead of partials": (lambda x: SUMS(x), 4, np.tri(4)),
    "a rule read from its end": (lambda x: SUMS_OF_SUMS(x), 90, np.tri(90)),
    "a rule that calls others": (lambda x: INVERSE(matrices(x)), 36, blocks(4, 9, 9)),
}


@pytest.mark.parametrize(("f", "n", "expected"), STRUCTURES.values(), ids=STRUCTURES)
def test_structures_of_operations(f: Function, n: int, expected: Any) -> None:
    assert_array_equal(structure(f, np.random.default_rng(1).normal(size=n)), expected > 0)


# --- the warning ---------------------------------------------------------------------------------


def opaque(pattern: Any = None) -> Any:
    """The absolute value, by a rule of plain numbers."""
    return cadiff.custom(
        np.abs,
        vjp=lambda ans, x: lambda g: np.asarray(cadiff.value(g)) * np.sign(cadiff.value(x)),
        pattern=pattern,
    )


def test_a_rule_that_fills_a_matrix_warns_once() -> None:
    f, x = opaque(), np.ones(400)
    with pytest.warns(
        RuntimeWarning, match=r"absolute does not say .* 159,600 of 160,000"
    ) as told:
        matrix = cadiff.sparse_jacobian(lambda x: f(x) * x)(x)
    assert told[0].filename == __file__
    assert matrix.nnz == 400**2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cadiff.sparse_jacobian(lambda x: f(x) + x)(x)


@pytest.mark.parametrize(
    ("pattern", "n", "many"),
    [("i->i", 400, 1), (None, 300, 1), ("i->j", 400, 1), (None, 320, 400)],
    ids=["stated", "small", "dense", "mostly something else"],
)
def test_there_is_no_warning_where_nothing_is_lost(pattern: Any, n: int, many: int) -> None:
    f = opaque(pattern)
    ones = np.ones((many, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrix = cadiff.sparse_jacobian(
            lambda x: cnp.concatenate([f(x), (ones * x.sum() ** 2).ravel()])
        )(np.ones(n))
    gc.collect()
    assert matrix.shape == (n + many, n)
