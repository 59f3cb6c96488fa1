"""Linear algebra at special points: what has no derivative, repeated values, closed forms."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.linalg
from numpy.linalg import LinAlgError

import cadiff
import cadiff.numpy.linalg
import cadiff.scipy.linalg
from cadiff import MissingRuleError

from ..helpers.cases_linalg import (
    graded,
    positive,
    regular,
    symmetric,
)
from ..helpers.derivatives import difference

RNG = np.random.default_rng(0)


# --- what has no derivative ----------------------------------------------------------------------

TURNING = np.array([[0.0, 1.0], [-1.0, 0.0]])
BLOCK = np.array([[2.0, 1.0, 0.3], [-1.0, 2.0, 0.1], [0.2, 0.4, 5.0]])
WITHOUT: dict[str, tuple[Callable[[Any, Any], Any], Any, type[Exception], str]] = {
    "schur turning": (lambda la, a: la.schur(a), TURNING, MissingRuleError, 'output="complex"'),
    "schur turning in part": (lambda la, a: la.schur(a)[1], BLOCK, MissingRuleError, "complex"),
    "schur sorted": (lambda la, a: la.schur(a, sort="lhp"), np.eye(2), TypeError, "without sort"),
    "polar wide": (lambda la, a: la.polar(a), np.ones((2, 3)), TypeError, "side='left'"),
    "polar": (lambda la, a: la.polar(a)[0], np.zeros((3, 2)), LinAlgError, "singular"),
    "polar left": (lambda la, a: la.polar(a, "left"), np.zeros((2, 4)), LinAlgError, "singular"),
    "signm singular": (lambda la, a: la.signm(a), np.diag([1.0, 0.0]), LinAlgError, "singular"),
    "complex sqrtm": (
        lambda la, a: la.sqrtm(a * np.diag([1j, 1.0, 1.0])).real,
        np.diag([1.0, 0.0, 2.0]), LinAlgError, "singular",
    ),
    "sqrtm of 0": (lambda la, a: la.sqrtm(a), np.zeros((2, 2)), LinAlgError, "root"),
    "sqrtm singular": (lambda la, a: la.sqrtm(a), np.diag([1.0, 0.0]), LinAlgError, "root"),
    "rq tall": (lambda la, a: la.rq(a), np.ones((3, 2)), TypeError, "wide ones"),
    "power": (lambda la, t: la.fractional_matrix_power(np.eye(2), t), 0.5, TypeError, "logm"),
    "some of a band": (
        lambda la, d: la.eigh_tridiagonal(d, d[1:], select="i", select_range=(0, 1)),
        np.arange(3.0), TypeError, "select='a'",
    ),
    "balance": (
        lambda la, a: la.matrix_balance(a, separate=True), np.eye(2), TypeError, "separate",
    ),
    "wide": (lambda la, a: la.lu(a)[2], np.eye(2, 4), TypeError, r"u = solve\(p @ l, a\)"),
    "tall": (lambda la, a: la.lu(a)[2], np.eye(4, 2), TypeError, r"qr\(a\)"),
    "ldl": (lambda la, a: la.ldl(a)[0], abs(TURNING), MissingRuleError, "block of two rows"),
    "qr": (lambda la, a: np.linalg.qr(a)[1], np.ones((3, 2)), LinAlgError, "dependent"),
    "widths": (
        lambda la, ab: la.solve_banded((1, 1), ab, np.ones(3)),
        np.ones((2, 3)), ValueError, "diagonals",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Matrix is singular")
@pytest.mark.parametrize("name", WITHOUT)
def test_what_has_no_derivative_says_so(name: str) -> None:
    call, x, error, message = WITHOUT[name]

    def f(x: Any) -> Any:
        found = call(cadiff.scipy.linalg, x)
        return sum(np.sum(part) for part in (found if isinstance(found, tuple) else (found,)))

    with pytest.raises(error, match=message):
        cadiff.grad(f)(x)
    with pytest.raises(error, match=message):
        cadiff.jvp(f, (x,), (np.ones_like(x),))


def test_a_basis_is_completed_without_turning_it() -> None:
    a, t = regular(RNG, 5, 2), RNG.normal(size=(5, 2))
    for f in (lambda a: np.linalg.qr(a, "complete")[0], lambda a: np.linalg.svd(a)[0]):
        u, du = cadiff.jvp(f, (a,), (t,))
        np.testing.assert_allclose(u.T @ du + du.T @ u, 0.0, atol=1e-13)
        np.testing.assert_allclose(u[:, 2:].T @ du[:, 2:], 0.0, atol=1e-13)


def test_triangles_are_solved_by_substitution_alone() -> None:
    """A graded triangle, on which elimination with pivots would lose all digits."""
    lower = np.tril(np.full((6, 6), 3.0), -1) + np.diag(10.0 ** -np.arange(0.0, 60.0, 10.0))
    x = np.ones((6, 1))
    x[3] = 5.0
    for t, flag in ((lower, True), (lower.T.copy(), False)):
        wanted = scipy.linalg.solve_triangular(t, t @ x, lower=flag)
        found = cadiff.scipy.linalg.solve_triangular(cadiff.Var(t), t @ x, lower=flag)
        np.testing.assert_allclose(cadiff.value(found), wanted, rtol=1e-14)


# --- determinants --------------------------------------------------------------------------------


def along(f: Callable[[Any], Any], a: Any, directions: Any) -> float:
    """The derivative of f at a along several directions, one after the other."""
    if not len(directions):
        return float(f(a))
    *others, last = directions
    return along(lambda x: cadiff.jvp(f, (x,), (last,))[1], a, others)


def derivative_of_det(a: Any, directions: Any) -> float:
    """By the linearity in each row: rows replaced by those of the directions, in all ways."""
    total = 0.0
    for rows in itertools.permutations(range(len(a)), len(directions)):
        replaced = a.copy()
        for row, t in zip(rows, directions, strict=True):
            replaced[row] = t[row]
        total += np.linalg.det(replaced)
    return total


def with_singular_values(s: Any, rng: np.random.Generator) -> Any:
    n = len(s)
    u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    return (u * np.asarray(s)) @ v


SPECTRA = {
    "regular": [3.0, 2.0, 1.0, 1.0],
    "rank 3": [2.0, 1.0, 1.0, 0.0],
    "rank 2": [1.0, 1.0, 0.0, 0.0],
    "rank 0": [0.0, 0.0, 0.0, 0.0],
    "nearly singular": [1.0, 1.0, 1.0, 1e-9],
    "graded": [1.0, 1e-2, 1e-4, 1e-6],
    "one element": [0.0],
    "two": [1.0, 1e-12],
}


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA.keys())
def test_derivatives_of_the_determinant_to_fourth_order(spectrum: Any) -> None:
    rng = np.random.default_rng(3)
    a = with_singular_values(spectrum, rng)
    ts = rng.normal(size=(4, *a.shape))
    for order in range(1, min(4, len(a)) + 1):
        wanted = derivative_of_det(a, ts[:order])
        assert along(np.linalg.det, a, ts[:order]) == pytest.approx(wanted, rel=1e-9, abs=1e-13)


def test_a_stack_of_regular_and_singular_matrices() -> None:
    stack = np.stack([with_singular_values(SPECTRA[name], RNG) for name in ("regular", "rank 3")])
    gradient, single = cadiff.grad(lambda a: np.linalg.det(a).sum()), cadiff.grad(np.linalg.det)
    np.testing.assert_allclose(gradient(stack), [single(a) for a in stack], atol=1e-14)


def test_the_logarithm_of_a_determinant() -> None:
    a = regular(RNG, 3, 3)
    gradient = cadiff.grad(lambda a: np.linalg.slogdet(a).logabsdet)(a)
    np.testing.assert_allclose(gradient, np.linalg.inv(a).T, rtol=1e-13)
    with pytest.raises(LinAlgError):
        cadiff.grad(lambda a: np.linalg.slogdet(a)[1])(np.zeros((2, 2)))


def test_the_sign_of_a_determinant_has_no_derivative() -> None:
    a = regular(RNG, 3, 3)
    gradient = cadiff.grad(lambda a: a[0, 0] * np.linalg.slogdet(a)[0])(a)
    wanted = np.zeros((3, 3))
    wanted[0, 0] = np.linalg.slogdet(a)[0]
    np.testing.assert_array_equal(gradient, wanted)


# --- repeated eigenvalues, singular values 0 -----------------------------------------------------

REPEATED = {
    "identity": np.eye(3),
    "diagonal": np.diag([2.0, 2.0, 3.0]),
    "repeated but for rounding": np.ones((3, 3)) + np.eye(3),
    "zeros": np.zeros((2, 2)),
}
repeated = pytest.mark.parametrize("a", REPEATED.values(), ids=REPEATED.keys())


def cubes(v: Any) -> Any:
    return (np.arange(1.0, v.size + 1.0).reshape(v.shape) * v**3).sum()


W = np.arange(9.0).reshape(3, 3) ** 2 - 7.0
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
TWICE = TURN * [0.0, 0.0, 2.0] @ TURN.T
JORDAN = np.eye(3) + np.eye(3, k=1)
RANK_1 = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
LEAST = np.diag([1.0, 0.0, 0.0])


def by_vectors(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of a matrix, of its values, put together again."""

    def f(a: Any) -> Any:
        if name == "svd":
            u, s, vh = np.linalg.svd(a, full_matrices=False)
            return np.sum((u * function(s)) @ vh * W[: len(a)])
        w, v = getattr(np.linalg, name)(a)
        return np.sum((v * function(w)) @ (v.T if name == "eigh" else np.linalg.inv(v)) * W)

    return f


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: np.sum(np.random.default_rng(5).normal(size=(len(a), len(a))) * f(a))


def of_path(x: Any) -> Any:
    """The values part at 0, where what does not turn the vectors at once is all."""
    d, e = np.diag([1.0, 2.0, 4.0]), np.ones((3, 3))
    return by_vectors("eigh", np.exp)(np.eye(3) + x * d + x * x * e)


OF_VECTORS = {
    "eigh": lambda a: cubes(np.linalg.eigh(a)[1]),
    "svd u": lambda a: cubes(np.linalg.svd(a)[0]),
    "svd vh": lambda a: cubes(np.linalg.svd(a)[2]),
    "scipy eigh": lambda a: cubes(cadiff.scipy.linalg.eigh(a)[1]),
    "scipy svd": lambda a: cubes(cadiff.scipy.linalg.svd(a)[0]),
}
# What is not determined, where, and whether forward mode knows that as well.
NAN: dict[str, tuple[Callable[[Any], Any], Any, bool]] = {
    **{
        f"{name} of {kind}": (f, a, True)
        for name, f in OF_VECTORS.items()
        for kind, a in REPEATED.items()
    },
    "schur": (weighted(lambda a: cadiff.scipy.linalg.schur(a)[1]), np.eye(2), True),
    "schur complex": (
        weighted(lambda a: abs(cadiff.scipy.linalg.schur(a, output="complex")[1])),
        np.eye(2),
        True,
    ),
    "polar": (weighted(lambda a: cadiff.scipy.linalg.polar(a)[0]), np.zeros((2, 2)), True),
    # By cotangents alone nobody can tell a sum of eigenvalues from a product.
    "eigvals without a basis": (lambda a: np.prod(np.linalg.eigvals(a)), JORDAN, True),
    "eig without a basis": (lambda a: np.prod(np.linalg.eig(a)[0]), JORDAN, True),
    # What couples two equal values is multiplied by 0 / 0, of which cotangents know nothing.
    "eigenvalues 0": (by_vectors("eigh", lambda w: w), TWICE, False),
    "sine of eigenvalues 0": (by_vectors("eigh", np.sin), TWICE, False),
    "the identity": (by_vectors("eig", np.exp), np.eye(3), False),
    "a diagonal": (by_vectors("eig", np.exp), np.diag([1.0, 1.0, 2.0]), False),
    "rank 1": (by_vectors("svd", lambda s: s), RANK_1[:2], False),
    "rank 1, sine": (by_vectors("svd", np.sin), RANK_1, False),
    "rank 1, diagonal": (by_vectors("svd", lambda s: s), LEAST, False),
    "one eigenvalue": (lambda a: np.linalg.eigvals(a)[0], np.eye(2), False),
    "one of eig": (lambda a: np.linalg.eig(a)[0][0], np.eye(2), False),
    "vectors of rank 1": (
        lambda a: np.linalg.svd(a, full_matrices=False)[0].sum(),
        np.outer([1.0, 2.0, 2.0], [3.0, 4.0]),
        False,
    ),
    "complex eigh": (lambda a: np.abs(np.linalg.eigh(a)[1][0, 0]), np.eye(3) + 0j, False),
    "complex eig": (lambda a: np.abs(np.linalg.eig(a)[1][0, 0]), np.eye(3) + 0j, False),
    "complex svd": (lambda a: np.abs(np.linalg.svd(a)[0][0, 0]), np.eye(3) + 0j, False),
    "values that part": (cadiff.grad(of_path), 0.0, False),
}


@pytest.mark.parametrize("name", NAN)
def test_what_is_not_determined_is_nan_with_a_warning(name: str) -> None:
    f, a, is_known_forward = NAN[name]
    words = "does not exist|repeated|singular value 0|not known"
    dtypes = [None] if is_known_forward or np.iscomplexobj(a) else [float, np.float32]
    for dtype in dtypes:
        with pytest.warns(RuntimeWarning, match=words):
            assert np.isnan(cadiff.grad(f)(np.asarray(a, dtype)[()])).any()
    if is_known_forward:
        t = np.arange(a.size).reshape(a.shape) + np.arange(a.size).reshape(a.shape).T ** 2.0
        with pytest.warns(RuntimeWarning, match=words):
            assert np.isnan(cadiff.jvp(f, (a,), (t,))[1])


def test_what_does_not_count_is_no_matter() -> None:
    for f in (np.linalg.eigvals, lambda a: np.linalg.eig(a)[0]):
        assert not cadiff.grad(lambda a, f=f: 0.0 * np.prod(f(a)))(JORDAN).any()
        assert np.array_equal(cadiff.grad(lambda a, f=f: np.prod(f(a)))(np.eye(2)), np.eye(2))
    gradient = cadiff.grad(by_vectors("svd", lambda s: s))
    np.testing.assert_allclose(gradient(np.diag([1.0, 2.0, 0.0])), W, atol=1e-14)
    a = np.outer([1.0, 2.0, 2.0], [3.0, 4.0])
    for largest in (lambda a: np.linalg.svd(a, False)[1][0], lambda a: np.linalg.svdvals(a).max()):
        np.testing.assert_allclose(cadiff.grad(largest)(a), a / 15.0, atol=1e-15)


SECOND = {
    "eigvals": lambda a: np.sum(np.linalg.eigvals(a) ** 2),
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a) ** 2),
    "eigh": by_vectors("eigh", np.exp),
    "svdvals": lambda a: np.sum(np.linalg.svdvals(a) ** 2),
}


@pytest.mark.filterwarnings("ignore:the ")
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_at_repeated_values_are_nan(name: str) -> None:
    f = SECOND[name]
    for hessian in (
        cadiff.hessian(f),
        cadiff.jacfwd(cadiff.grad(f)),
        cadiff.jacrev(cadiff.jacfwd(f)),
        cadiff.jacfwd(cadiff.jacfwd(f)),
    ):
        assert np.isnan(hessian(np.eye(3))[1, 0]).any()


@repeated
def test_sums_of_repeated_eigenvalues_need_no_warning(a: Any) -> None:
    for values in (np.linalg.eigvalsh, lambda a: np.linalg.eigh(a).eigenvalues):
        total = lambda a, values=values: values(a).sum()  # noqa: E731
        np.testing.assert_allclose(cadiff.grad(total)(a), np.eye(len(a)), atol=1e-14)
    tangent = cadiff.jvp(lambda a: np.linalg.eigvalsh(a).sum(), (a,), (np.ones(a.shape),))[1]
    assert tangent == pytest.approx(len(a))


VALUES_ALONE = {
    "eigh": lambda a: np.linalg.eigh(a)[0],
    "eigvalsh": lambda a: np.linalg.eigvalsh(a),
    "svd": lambda a: np.linalg.svd(a)[1],
    "svdvals": lambda a: np.linalg.svdvals(a),
    "2-norm": lambda a: np.linalg.norm(a, 2),
    "vectors times 0": lambda a: np.linalg.eigh(a)[0].sum() + 0.0 * np.linalg.eigh(a)[1].sum(),
    "scipy eigh": lambda a: cadiff.scipy.linalg.eigh(a)[0],
    "scipy svd": lambda a: cadiff.scipy.linalg.svd(a)[1],
}


@repeated
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("f", VALUES_ALONE.values(), ids=VALUES_ALONE.keys())
def test_values_alone_need_no_warning(f: Any, a: Any) -> None:
    """Forward mode computes the tangents of the vectors, too, but nothing depends on them."""
    t = np.arange(a.size).reshape(a.shape) + np.arange(a.size).reshape(a.shape).T ** 2.0
    assert np.all(np.isfinite(cadiff.jvp(f, (a,), (t,))[1]))
    assert np.all(np.isfinite(cadiff.jacfwd(f)(a)))
    assert np.all(np.isfinite(cadiff.jacrev(f)(a)))


def test_a_warning_held_back_ends_with_its_differentiation() -> None:
    def fails(a: Any) -> Any:
        np.linalg.eigh(a)
        raise KeyError

    a, t = np.eye(2), np.array([[1.0, 2.0], [2.0, 3.0]])
    with pytest.raises(KeyError):
        cadiff.jvp(fails, (a,), (t,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, tangent = cadiff.jvp(lambda x: x * np.nan, (1.0,), (1.0,))
        assert np.isnan(tangent)
        inner = lambda x: cadiff.jvp(np.linalg.eigvalsh, (a,), (t,))[1].sum() * x  # noqa: E731
        assert cadiff.derivative(inner, 0, (1.0,)) == pytest.approx(4.0)
    with pytest.warns(RuntimeWarning, match="eigenvectors at repeated ones"):
        np.linalg.eigh(cadiff.Dual(a, t))


@pytest.mark.filterwarnings("error")
def test_what_is_put_together_of_smaller_powers_has_a_derivative() -> None:
    for power in (2, 3, 8):
        gradient = cadiff.grad(by_vectors("eigh", lambda w, n=power: w**n))(TWICE)
        wanted = cadiff.grad(lambda a, n=power: np.sum(W * np.linalg.matrix_power(a, n)))(TWICE)
        wanted = np.tril(wanted + wanted.T, -1) + np.diag(np.diag(wanted))
        np.testing.assert_allclose(gradient, wanted, atol=1e-12 * np.abs(wanted).max())
    a = np.outer([1.0, 2.0], [1.0, 2.0, 3.0])
    gradient = cadiff.grad(by_vectors("svd", lambda s: s**3))(a)
    wanted = cadiff.grad(lambda a: np.sum(W[:2] * (a @ a.T @ a)))(a)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:the derivative")
def test_each_matrix_of_a_stack_is_asked_by_itself() -> None:
    def f(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        return np.sum((u * s[..., None, :]) @ vh * W)

    stack = np.array([np.zeros((3, 3)), TURN, np.diag([1.0, 2.0, 0.0]), np.eye(3)])
    gradient = cadiff.grad(f)(stack)
    for own, a in zip(gradient, stack, strict=True):
        np.testing.assert_allclose(own, cadiff.grad(f)(a), atol=1e-14)


@pytest.mark.filterwarnings("error")
def test_second_derivatives_of_the_largest_value_beside_equal_ones() -> None:
    a, t = np.diag([0.0, 0.0, 2.0]), np.ones((3, 3))
    for f in (np.linalg.norm, lambda a, _: np.linalg.eigvalsh(a)[2]):
        product = cadiff.hessian(lambda a, f=f: f(a, 2))(a) @ t.reshape(3, 3)[:, 0]
        gradient = cadiff.jvp(cadiff.grad(lambda a, f=f: f(a, 2)), (a,), (t,))[1]
        assert np.all(np.isfinite(product))
        assert np.sum(gradient * t) == pytest.approx(2.0)  # 2 / (2 - 0) for each of two pairs


def test_the_other_vectors_of_a_matrix_with_a_repeated_eigenvalue() -> None:
    """Those of an eigenvalue that is not repeated have a derivative, and it is found."""

    def f(a: Any) -> Any:
        return (np.linalg.eigh(a)[1][:, 2] ** 2 * np.arange(3.0)).sum()

    turn, _ = np.linalg.qr(RNG.normal(size=(3, 3)))
    a = (turn * np.array([1.0, 1.0, 4.0])) @ turn.T
    t = RNG.normal(size=(3, 3))
    (wanted,) = difference(lambda a: (np.asarray(f(a)),), (a,), (t,))
    assert float((cadiff.grad(f)(a) * t).sum()) == pytest.approx(wanted, rel=1e-7)


def test_singular_values_at_zero_have_derivatives_zero() -> None:
    for f in (lambda a: np.linalg.svd(a)[1].sum(), lambda a: np.linalg.svdvals(a).sum()):
        np.testing.assert_array_equal(cadiff.grad(f)(np.zeros((2, 2))), np.zeros((2, 2)))
    assert push(f, (np.zeros((2, 2)), np.ones((2, 2)))) == 0.0


def test_eigenvalues_are_differentiated_in_their_order() -> None:
    a = np.diag([2.0, 3.0, 1.0]) + np.diag([0.5, 0.5], 1)
    assert list(np.linalg.eigvals(a)) == [2.0, 3.0, 1.0]  # not in order of size
    for k in range(3):
        gradient = cadiff.grad(lambda a, k=k: np.linalg.eigvals(a)[k])(a)
        np.testing.assert_allclose(np.diag(gradient), np.eye(3)[k], atol=1e-14)


def test_vectors_of_a_pair_have_the_signs_that_scipy_gives_them() -> None:
    eigh = cadiff.scipy.linalg.eigh
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a, b = symmetric(rng, 4, 4), positive(rng, 4, 4)
        for lower in (False, True):
            v = cadiff.value(eigh(cadiff.Var(a), b, lower=lower)[1])
            np.testing.assert_allclose(v, scipy.linalg.eigh(a, b, lower=lower)[1], rtol=1e-11)


def test_permutations_and_ranks_are_plain() -> None:
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    for options in ({}, {"p_indices": True}):
        got = cadiff.scipy.linalg.lu(cadiff.Var(a), **options)[0]
        np.testing.assert_array_equal(got, scipy.linalg.lu(a, **options)[0])
    assert np.linalg.matrix_rank(cadiff.Var(a)) == 2


# --- closed forms --------------------------------------------------------------------------------


def push(f: Callable[..., Any], *pairs: Any) -> Any:
    points, tangents = zip(*pairs, strict=True)
    return cadiff.jvp(f, points, tangents)[1]


la = cadiff.scipy.linalg


def by_svd(u: Any, s: Any, vh: Any) -> Any:
    return (u * s) @ vh


def near_symmetric(rng: np.random.Generator, *shape: int) -> Any:
    return 0.5 * symmetric(rng, *shape) + 0.1 * rng.normal(size=shape)


IDENTITIES = {
    "l @ l.T": (lambda a: (lambda x: x @ x.T)(np.linalg.cholesky(a)), positive, (4, 4)),
    "q @ r": (lambda a: (lambda q, r: q @ r)(*np.linalg.qr(a)), regular, (4, 3)),
    "q @ r, wide": (lambda a: (lambda q, r: q @ r)(*np.linalg.qr(a)), regular, (3, 4)),
    "q @ r, complete": (lambda a: np.matmul(*np.linalg.qr(a, "complete")), regular, (4, 3)),
    "u @ s @ vh": (lambda a: by_svd(*np.linalg.svd(a, False)), regular, (4, 3)),
    "v @ w @ v.T": (lambda a: (lambda w, v: (v * w) @ v.T)(*np.linalg.eigh(a)), symmetric, (4, 4)),
    "inverse of inverse": (lambda a: np.linalg.inv(np.linalg.inv(a)), regular, (3, 3)),
    "pinv of pinv": (lambda a: np.linalg.pinv(np.linalg.pinv(a)), regular, (4, 3)),
    "logarithm of expm": (lambda a: la.logm(la.expm(a)), near_symmetric, (3, 3)),
    "expm of logarithm": (lambda a: la.expm(la.logm(a)), graded, (3, 3)),
    "square of root": (lambda a: (lambda x: x @ x)(la.sqrtm(a)), graded, (3, 3)),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_what_gives_its_argument_has_its_tangent(name: str) -> None:
    f, make, shape = IDENTITIES[name]
    rng = np.random.default_rng(5)
    a, t, s = make(rng, *shape), rng.normal(size=shape), rng.normal(size=shape)
    if make in (positive, symmetric):
        t, s = t + t.T, s + s.T
    np.testing.assert_allclose(push(f, (a, t)), t, atol=1e-11)
    second = push(lambda a: push(f, (a, t)), (a, s))
    np.testing.assert_allclose(second, np.zeros(shape), atol=1e-9)


def test_one_triangle_of_a_symmetric_matrix_is_read() -> None:
    a = positive(RNG, 3, 3)
    for uplo, triangle in (("L", np.tril), ("U", np.triu)):
        vector = np.linalg.eigh(a)[1][:, -1]
        wanted = triangle(np.outer(vector, vector)) * (2.0 - np.eye(3))
        gradient = cadiff.grad(lambda a, uplo=uplo: np.linalg.eigvalsh(a, uplo)[-1])(a)
        np.testing.assert_allclose(gradient, wanted, atol=1e-13)
        logdet = lambda a, upper=uplo == "U": (  # noqa: E731
            2.0 * cadiff.log(np.linalg.diagonal(np.linalg.cholesky(a, upper=upper))).sum()
        )
        wanted = triangle(np.linalg.inv(a)) * (2.0 - np.eye(3))
        np.testing.assert_allclose(cadiff.grad(logdet)(a), wanted, atol=1e-12)


def test_the_exponential_of_a_nilpotent_matrix() -> None:
    """With a @ a = 0, derivatives along polynomials in a are those of a scalar exponential."""
    a, e = np.array([[0.0, 1.0], [0.0, 0.0]]), np.eye(2)
    np.testing.assert_allclose(push(la.expm, (a, a)), a, atol=1e-15)
    np.testing.assert_allclose(push(la.expm, (a, e)), e + a, atol=1e-15)
    third = push(lambda a: push(lambda a: push(la.expm, (a, e)), (a, e)), (a, e))
    np.testing.assert_allclose(third, e + a, atol=1e-13)
    np.testing.assert_array_equal(push(la.logm, (e, 0.0 * e)), 0.0 * e)


def test_third_derivatives_of_the_inverse() -> None:
    third = along(lambda a: np.linalg.inv(a)[0, 0], np.array([[2.0]]), [np.ones((1, 1))] * 3)
    assert third == pytest.approx(-6.0 / 16.0, rel=1e-14)


@pytest.mark.parametrize("order", [None, 2, 3, 1, np.inf, 1.5])
def test_the_norm_of_zeros_has_derivatives_zero(order: Any) -> None:
    f = lambda x: np.linalg.norm(x, order)  # noqa: E731
    zeros, ones = np.zeros(3), np.ones(3)
    assert push(f, (zeros, ones)) == 0.0
    for slope in (cadiff.grad(f)(zeros), push(cadiff.grad(f), (zeros, ones))):
        np.testing.assert_array_equal(slope, zeros)


@pytest.mark.parametrize("order", ["fro", "nuc", 2, 1, np.inf])
def test_the_norm_of_a_zero_matrix_has_derivatives_zero(order: Any) -> None:
    gradient = cadiff.grad(lambda x: np.linalg.norm(x, order))(np.zeros((2, 3)))
    np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


def test_second_and_fourth_derivatives_of_norms_at_elements_zero() -> None:
    x, t = np.array([0.0, 2.0]), np.array([1.0, 0.0])
    assert along(np.linalg.norm, x, [t, t]) == pytest.approx(0.5)
    fourth = along(lambda x: np.linalg.norm(x, 4), x, [t] * 4)
    assert fourth == pytest.approx(24.0 / (4.0 * 8.0))


def test_norms_do_not_overflow_where_their_values_do_not() -> None:
    x = np.array([3e150, 4e150])
    np.testing.assert_allclose(cadiff.grad(np.linalg.norm)(x), [0.6, 0.8], rtol=1e-15)
    x = np.array([3e200, 4e200])
    np.testing.assert_allclose(cadiff.grad(cadiff.scipy.linalg.norm)(x), [0.6, 0.8], rtol=1e-15)


def test_the_condition_of_a_stack_with_a_singular_matrix() -> None:
    stack = np.stack([regular(RNG, 2, 2), np.ones((2, 2))])
    for order in (None, 1, "fro"):
        with np.errstate(all="ignore"):
            values = np.linalg.cond(stack, order)
        var = np.linalg.cond(cadiff.Var(stack), order)
        np.testing.assert_allclose(cadiff.value(var)[:1], values[:1])
        assert cadiff.value(var)[1] > 1e15


@pytest.mark.parametrize("rcond", [None, 0.0, -1, 1e-3])
def test_the_rank_that_least_squares_finds(rcond: float | None) -> None:
    b = np.arange(4.0)
    for small in (1e-2, 1e-4, 3e-16, 1.5e-16, 1e-17):
        a = np.eye(4, 2) * [1.0, small]
        wanted = np.linalg.lstsq(a, b, rcond)
        x, residuals, rank, s = np.linalg.lstsq(cadiff.Var(a), b, rcond)
        assert rank == wanted[2]
        for got, want in zip((x, residuals, s), (wanted[0], wanted[1], wanted[3]), strict=True):
            np.testing.assert_allclose(cadiff.value(got), want, rtol=1e-14)


# --- stacks, lists, errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["inv", "det", "pinv", "cholesky", "eigvalsh", "svdvals", "expm", "sqrtm", "logm"]
)
def test_a_stack_is_a_loop(name: str) -> None:
    f = getattr(np.linalg, name, getattr(cadiff.scipy.linalg, name))
    stack, t = positive(RNG, 3, 2, 2), RNG.normal(size=(3, 2, 2))
    singly = [push(f, pair) for pair in zip(stack, t, strict=True)]
    np.testing.assert_allclose(push(f, (stack, t)), singly, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "name", ["polar", "rq", "schur", "qr", "svd", "eigh", "cho_factor", "lu_factor", "lu", "inv"]
)
def test_results_of_stacks_are_what_scipy_makes_of_them(name: str) -> None:
    own, original = (getattr(room.linalg, name) for room in (cadiff.scipy, scipy))
    stack = positive(RNG, 2, 3, 3)
    try:
        known = original(stack)
    except ValueError:
        pytest.skip("this SciPy takes single matrices")
    found = own(cadiff.Var(stack))
    if isinstance(known, (list, tuple)):
        assert type(found) is type(known)
        for got, want in zip(found, known, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
    try:
        known = original(np.ones((0, 3, 3)))
    except ValueError:
        with pytest.raises(ValueError, match=f"`{name}` does not support zero-size"):
            own(cadiff.Var(np.ones((0, 3, 3))))
    else:
        found = own(cadiff.Var(np.ones((0, 3, 3))))
        assert [np.shape(x) for x in found] == [np.shape(x) for x in known]


def test_lists_of_numbers_are_matrices() -> None:
    la = cadiff.numpy.linalg
    inverse = lambda x, y: np.linalg.det(la.inv([[x, y], [1.0, 3.0]]))  # noqa: E731
    assert cadiff.grad(inverse)(2.0, 5.0) == pytest.approx(-3.0 / (3.0 * 2.0 - 5.0) ** 2)
    of_complex = lambda x: la.det([[x, 1j], [1.0, x * x]]).real  # noqa: E731
    assert cadiff.grad(of_complex)(2.0) == pytest.approx(12.0)


REFUSED = {
    "not square": (lambda a: np.linalg.inv(a[:2]), LinAlgError, "square"),
    "a vector": (lambda a: np.linalg.det(a[0]), LinAlgError, "dimension"),
    "qr raw": (lambda a: np.linalg.qr(a, "raw"), TypeError, "raw"),
    "norm order": (lambda a: np.linalg.norm(a, 7), ValueError, "order"),
    "norm name": (lambda a: np.linalg.norm(a[0], "fro"), ValueError, "order"),
    "norm axes": (lambda a: np.linalg.norm(a, axis=(0, 0)), ValueError, "Duplicate"),
    "UPLO": (lambda a: np.linalg.eigh(a, "X"), ValueError, "UPLO"),
    "multi_dot out": (lambda a: np.linalg.multi_dot([a, a], out=a), TypeError, "out"),
    "trace dtype": (lambda a: np.linalg.trace(a, dtype=int), TypeError, "dtype"),
    "power": (lambda a: np.linalg.matrix_power(a, 0.5), TypeError, "integer"),
    "cross": (lambda a: np.linalg.cross(a[:, :2], a[:, :2]), ValueError, "3"),
    "eigh type": (lambda a: la.eigh(a, type=2), TypeError, "type"),
    "gelsy": (lambda a: la.lstsq(a, a, lapack_driver="gelsy"), TypeError, "gelsy"),
    "not finite": (lambda a: la.inv(a * np.inf), ValueError, "infs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_by_name(name: str) -> None:
    f, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        f(cadiff.Var(np.diag([1.0, 2.0, 3.0])))


@pytest.mark.parametrize(
    ("room", "original"), [(cadiff.numpy.linalg, np.linalg), (cadiff.scipy.linalg, scipy.linalg)]
)
def test_a_room_has_all_that_its_original_has(room: Any, original: Any) -> None:
    for name in original.__all__:
        assert getattr(room, name) is not None
        assert name in dir(room)
    for name in room.__all__:
        assert hasattr(original, name)
        assert getattr(room, name).__doc__
    with pytest.raises(AttributeError):
        room.no_such_function


def test_without_scipy_its_rooms_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cadiff.scipy")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"pip install scipy"):
        __import__("cadiff.scipy.linalg")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("ord", [1, 2, np.inf, "fro", "nuc"])
def test_norms_of_empty_matrices(shape: tuple[int, ...], ord: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.norm(x, ord, (-2, -1)))

    assert cadiff.grad(f)(np.zeros(shape)).shape == shape
    assert cadiff.value_and_grad(f)(np.zeros(shape))[0] == 0.0


# Functions that are SciPy's own and differentiate all the same, with arguments that they take.
THROUGH: dict[str, tuple[Any, ...]] = {
    "fiedler": (np.array([0.3, -1.0, 2.0]),),
    "solve_circulant": (np.array([3.0, 0.4, -0.5]), RNG.normal(size=3)),
    "solve_lyapunov": (positive(RNG, 3, 3), regular(RNG, 3, 3)),
}


@pytest.mark.filterwarnings("ignore:.*with arguments of dtype=object:DeprecationWarning")
@pytest.mark.parametrize("name", THROUGH)
def test_functions_of_scipy_that_differentiate_themselves(name: str) -> None:
    function = getattr(cadiff.scipy.linalg, name, None)
    if function is None:
        pytest.skip(f"this SciPy has no {name}")
    plain = getattr(scipy.linalg, name)(*THROUGH[name])
    np.testing.assert_allclose(
        cadiff.vjp(function, *THROUGH[name])[0], plain, rtol=1e-14, atol=1e-16
    )
    cadiff.check_grads(function, THROUGH[name], order=2)


def test_all_other_functions_of_scipy_refuse_numbers_with_derivatives() -> None:
    room = cadiff.scipy.linalg
    names = set(scipy.linalg.__all__) - set(room.__all__) - set(THROUGH)
    names = {name for name in names if isinstance(getattr(scipy.linalg, name), FunctionType)}
    assert "hessenberg" in names
    for name in names:
        function = getattr(room, name)
        assert function is getattr(room, name)  # which programs compare
        said = rf"scipy\.linalg\.{name} .*functions\.md"
        with pytest.raises(cadiff.MissingRuleError, match=said):
            cadiff.jacobian(function)(np.eye(2))
        with pytest.raises(cadiff.MissingRuleError, match=said):
            function((1.0 + 1j) * cadiff.Var(np.eye(2)))
    nearly, unitary = room.hessenberg(np.array([[1.0, 2.0], [0.5, 1.0]]), calc_q=True)
    np.testing.assert_allclose(unitary @ nearly @ unitary.T, [[1.0, 2.0], [0.5, 1.0]])
