"""Factors of matrices: the kernels behind linear algebra, and derivatives of many blocks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.linalg import LinAlgError

import cadiff
import cadiff.numpy.linalg
import cadiff.scipy.linalg
from cadiff import binding
from cadiff.numpy import _systems as systems

from ..helpers.cases_linalg import positive, regular
from ..helpers.differences import check_slope, slope

linalg = cadiff.scipy.linalg

RNG = np.random.default_rng(7)
SIZES = [1, 9, 17, 50]  # around those of blocks, panels and strips
FLAGS = [(low, unit, trans) for low in (False, True) for unit in (False, True) for trans in (0, 1)]

# One array in all the ways in which it may lie in memory.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: np.flip(np.flip(x).copy()),
    "big-endian": lambda x: x.astype(">f8"),
}
layouts = pytest.mark.parametrize("lay", LAYOUTS.values(), ids=LAYOUTS.keys())


# --- the kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("imaginary", [0.0, 1.0j], ids=["real", "complex"])
def test_triangles_of_all_sizes(n: int, imaginary: complex) -> None:
    a = (positive(RNG, n, n) + imaginary * RNG.normal(size=(n, n))) / n
    for m in (1, 33):
        b = RNG.normal(size=(n, m)) + imaginary * RNG.normal(size=(n, m))
        for lower, unit, adjoint in FLAGS:
            wanted = scipy.linalg.solve_triangular(
                a, b, lower=lower, unit_diagonal=unit, trans="C" if adjoint else "N"
            )
            got = binding.solve_triangle(a, b, lower, unit, bool(adjoint))
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-13 * abs(wanted).max())


@pytest.mark.parametrize("n", SIZES)
def test_complex_factors_of_all_sizes(n: int) -> None:
    a, b = (RNG.normal(size=(2, n, n)) + 1j * RNG.normal(size=(2, n, n)) for _ in range(2))
    lu, order = binding.factor_lu(a)
    adjoint = np.conj(np.swapaxes(a, -1, -2))
    for k in range(2):
        lower, upper = np.tril(lu[k], -1) + np.eye(n), np.triu(lu[k])
        np.testing.assert_allclose(lower @ upper, a[k][order[k].astype(int)], atol=1e-12)
    np.testing.assert_allclose(a @ binding.solve_factored(lu, order, b), b, atol=1e-11)
    x = binding.solve_factored(lu, order, b, True)
    np.testing.assert_allclose(adjoint @ x, b, atol=1e-11)
    inverse = binding.inverse_adjoint(lu, order)
    np.testing.assert_allclose(adjoint @ inverse, np.stack([np.eye(n)] * 2), atol=1e-11)
    np.testing.assert_allclose(binding.determinant(lu, order), np.linalg.det(a), rtol=1e-11)
    for found, expected in zip(
        binding.log_determinant(lu, order), np.linalg.slogdet(a), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_complex_numbers_at_the_ends_of_the_range() -> None:
    for size in (1e-200, 1e200):
        a = size * np.array([[1.0 + 2.0j, 3.0], [1.0j, 2.0 - 1.0j]])
        b = size * np.array([[1.0], [2.0j]])
        expected = np.linalg.solve(a / size, b / size)
        got = binding.solve_factored(*binding.factor_lu(a), b)
        np.testing.assert_allclose(got, expected, rtol=1e-14)
        determinant = binding.determinant(*binding.factor_lu(np.diag([size, 1j / size, 2.0])))
        assert determinant == pytest.approx(2.0j, rel=1e-14)


@layouts
def test_arrays_may_lie_as_they_will(lay: Callable[[Any], Any]) -> None:
    a, b = positive(RNG, 20, 20), RNG.normal(size=(20, 3))
    before = a.copy(), b.copy()
    for lower, unit, trans in FLAGS:
        wanted = binding.solve_triangle(a, b, lower, unit, bool(trans))
        got = binding.solve_triangle(lay(a), lay(b), lower, unit, bool(trans))
        np.testing.assert_allclose(got, wanted, rtol=1e-13)
    lu, order = binding.factor_lu(lay(a))
    for trans in (False, True):
        x = binding.solve_factored(lay(lu), lay(order), lay(b), trans)
        np.testing.assert_allclose((a.T if trans else a) @ x, b, atol=1e-13)
    low = np.linalg.cholesky(a)
    for function in (binding.cholesky_pull, binding.cholesky_push):
        wanted = function(low, a)
        np.testing.assert_allclose(function(lay(low), lay(a)), wanted, rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


def test_a_stack_is_solved_matrix_by_matrix() -> None:
    a, b = regular(RNG, 2, 3, 17, 17), RNG.normal(size=(2, 3, 17, 4))
    lu, order = binding.factor_lu(a)
    low = np.linalg.cholesky(positive(RNG, 2, 3, 17, 17))
    for found, wanted in (
        (np.swapaxes(a, -1, -2) @ binding.solve_factored(lu, order, b, True), b),
        (low @ binding.solve_triangle(low, b, True), b),
        (np.swapaxes(binding.inverse_adjoint(lu, order), -1, -2), np.linalg.inv(a)),
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-13)
    np.testing.assert_allclose(binding.determinant(lu, order), np.linalg.det(a), rtol=1e-12)
    pushed = binding.cholesky_push(low, a)
    for k in np.ndindex(2, 3):
        np.testing.assert_array_equal(binding.cholesky_push(low[k], a[k]), pushed[k])


def test_no_matrices_and_no_rows() -> None:
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        a, b = np.ones(shape), np.ones((*shape[:-1], 2))
        lu, order = binding.factor_lu(a)
        assert binding.solve_factored(lu, order, b).shape == b.shape
        assert binding.solve_triangle(a, b, True).shape == b.shape
        assert binding.cholesky_pull(a, a).shape == shape
        np.testing.assert_array_equal(binding.determinant(lu, order), np.ones(shape[:-2]))


def test_a_determinant_beyond_the_range_of_doubles_on_the_way() -> None:
    a = np.diag([1e200, 1e200, 1e-200, 1e-200, 3.0])[[1, 0, 2, 3, 4]]
    assert binding.determinant(*binding.factor_lu(a)) == pytest.approx(-3.0, rel=1e-15)
    n = 1100
    assert binding.determinant(np.eye(n), np.arange(1.0 * n)) == 1.0
    assert binding.determinant(0.5 * np.eye(n), np.arange(1.0 * n)) == 0.0


def test_what_does_not_fit_is_refused() -> None:
    square, column = np.eye(3), np.ones((3, 1))
    order = np.arange(3.0)
    for order_ in (np.array([0.0, 1.0, 3.0]), np.array([0.0, -1.0, 1.0]), np.full(3, np.nan)):
        with pytest.raises(ValueError, match="order"):
            binding.solve_factored(square, order_, column)
        with pytest.raises(ValueError, match="order"):
            binding.determinant(square, order_)
    assert binding.determinant(square, np.zeros(3)) in (1.0, -1.0)  # no permutation: it ends
    for call in (
        lambda: binding.solve_factored(square, order, np.ones((4, 1))),
        lambda: binding.solve_factored(np.ones((3, 4)), order, column),
        lambda: binding.solve_factored(square, order[:2], column),
        lambda: binding.solve_triangle(square, np.ones((2, 3, 1)), True),
        lambda: binding.solve_triangle(np.ones((2, 3)), column, True),
        lambda: binding.factor_lu(np.ones((2, 3))),
        lambda: binding.cholesky_pull(square, np.ones((4, 4))),
        lambda: binding.cholesky_push(square, np.ones((3, 4))),
    ):
        with pytest.raises(ValueError, match=r"shapes|rows"):
            call()


def test_singular_systems_are_refused() -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(LinAlgError, match="Singular"):
        binding.solve_factored(*binding.factor_lu(singular), np.ones((2, 1)))
    triangle = np.array([[1.0, 0.0], [2.0, 0.0]])
    lower = {"b": np.ones(2), "lower": True}
    with pytest.raises(LinAlgError, match="diagonal 1"):
        linalg.solve_triangular(cadiff.Var(triangle), **lower)
    unit = linalg.solve_triangular(cadiff.Var(triangle), unit_diagonal=True, **lower)
    np.testing.assert_array_equal(cadiff.value(unit), [1.0, -1.0])


# --- derivatives of large matrices ---------------------------------------------------------------


def likelihood(a: Any) -> Any:
    y, low = np.cos(np.arange(20.0)), linalg.cholesky(a, lower=True)
    return y @ linalg.cho_solve((low, True), y) + cadiff.numpy.log(np.diagonal(low)).sum()


OF_20_ROWS: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda a: (np.linalg.cholesky(a) ** 3).sum(),
    "cholesky upper": lambda a: (np.linalg.cholesky(a, upper=True) ** 3).sum(),
    "cho_solve": likelihood,
    "solve": lambda a: (np.linalg.solve(a, a[:, :3] ** 2) ** 2).sum(),
    "solve vector": lambda a: (np.linalg.solve(a, np.arange(20.0)) ** 2).sum(),
    "scipy solve": lambda a: (linalg.solve(a, a[:, :3] ** 2, assume_a="pos") ** 2).sum(),
    "triangle": lambda a: (linalg.solve_triangular(a, a[:, :3] ** 2, trans=1) ** 2).sum(),
    "slogdet": lambda a: np.linalg.slogdet(a)[1] ** 2,
    "det": lambda a: np.linalg.det(a / 20.0) ** 2 * 1e10,
    "qr": lambda a: (np.linalg.qr(a)[1] ** 3).sum(),
}


@pytest.mark.parametrize("f", OF_20_ROWS.values(), ids=OF_20_ROWS.keys())
def test_derivatives_of_many_blocks(f: Callable[[Any], Any]) -> None:
    a = positive(RNG, 20, 20)
    t = RNG.normal(size=(20, 20))
    t = (t + t.T) / np.linalg.norm(t)
    gradient, h = cadiff.grad(f), 2.0**-7
    check_slope(f, f, a, 1e-8, t, step=h)
    curve, product = slope(gradient, a, t, h), cadiff.hvp(f)(a, t)
    np.testing.assert_allclose(product, curve, atol=1e-7 * abs(curve).max())
    recorded = cadiff.grad(lambda a: (gradient(a) * t).sum())(a)
    np.testing.assert_allclose(recorded, product, atol=1e-10 * abs(curve).max())
    program = cadiff.compile(f)
    np.testing.assert_allclose(program.hvp(a, t), product, atol=1e-10 * abs(curve).max())


def test_the_gradient_of_log_det_by_a_factor_is_the_inverse() -> None:
    a = positive(RNG, 40, 40)
    f = lambda a: 2.0 * np.log(np.diagonal(np.linalg.cholesky(a))).sum()  # noqa: E731
    inverse = np.linalg.inv(a)
    wanted = np.tril(2.0 * inverse) - np.diag(np.diag(inverse))
    np.testing.assert_allclose(cadiff.grad(f)(a), wanted, atol=1e-14)


def test_third_derivatives_of_a_factor() -> None:
    """Of sqrt(x) through a matrix of one row, and of a graded matrix by its scale."""
    root = lambda x: np.linalg.cholesky(x * np.eye(1))[0, 0]  # noqa: E731
    assert cadiff.derivative(root, 4.0, order=3) == pytest.approx(3.0 / 8.0 * 4.0**-2.5)
    a = positive(RNG, 18, 18)
    total = lambda x: np.linalg.cholesky(x * a).sum()  # noqa: E731
    once = cadiff.grad(cadiff.grad(cadiff.grad(total)))(4.0)
    assert once == pytest.approx(3.0 / 8.0 * 4.0**-2.5 * np.linalg.cholesky(a).sum())


def test_factors_are_found_once_for_all_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    original = binding.factor_lu

    def counted(a: Any) -> Any:
        calls.append(len(a))
        return original(a)

    monkeypatch.setattr(binding, "factor_lu", counted)
    a, b = regular(RNG, 6, 6), RNG.normal(size=(6, 6))
    f = lambda a, b: (np.linalg.solve(a, b) ** 2).sum()  # noqa: E731
    cadiff.grad(f, argnums=(0, 1))(a, b)
    cadiff.jvp(lambda a: f(a, b), (a,), (b,))
    assert calls == [6, 6]


def test_cotangents_found_together_are_those_found_apart() -> None:
    a, b, g = regular(RNG, 4, 4), RNG.normal(size=(4, 2)), RNG.normal(size=(4, 2))
    factored = (a, b, *binding.factor_lu(a))
    for operation, args, how in (
        (systems._solve_factored.of_real, factored, {"adjoint": False}),
        (systems.cho_solve.of_real, (a, b), {"lower": True}),
        (systems.solve_triangle.of_real, (a, b), {"lower": False, "unit": True, "adjoint": True}),
    ):
        ans = operation.function(*args, **how)
        assert operation.together is not None
        together = operation.together(ans, *args, **how)(g)
        for k, found in enumerate(together):
            pull = operation.pulls[k]
            assert pull is not None
            np.testing.assert_array_equal(pull(ans, *args, **how)(g), found)


# --- inf and nan ---------------------------------------------------------------------------------

INFINITE = np.array([[1.0, np.inf, 2.0], [0.5, 1.0, np.inf], [3.0, 1.0, 1.0]])

ENDLESS: dict[str, Callable[[Any], Any]] = {
    "svd": lambda a: cadiff.numpy.linalg.svd(a)[0],
    "pinv": cadiff.numpy.linalg.pinv,
    "lstsq": lambda a: cadiff.numpy.linalg.lstsq(a, np.ones(3))[0],
    "right-hand side": lambda a: cadiff.numpy.linalg.lstsq(np.eye(3) + 0.0 * a[2, 2], a[:, 1])[0],
    "scipy svd": lambda a: linalg.svd(a, check_finite=False)[0],
    "scipy pinv": lambda a: linalg.pinv(a, check_finite=False),
    "scipy lstsq": lambda a: linalg.lstsq(a, a, check_finite=False)[0],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", [np.inf, np.nan])
@pytest.mark.parametrize("factor", [1.0, 1.0 + 1.0j])
@pytest.mark.parametrize("f", ENDLESS.values(), ids=ENDLESS.keys())
def test_singular_vectors_of_inf_are_not_sought_for_ever(
    f: Any, factor: Any, number: float
) -> None:
    finite = np.where(np.isinf(INFINITE), 3.0, INFINITE)
    a = factor * np.where(np.isinf(INFINITE), number, INFINITE)
    total = lambda a: abs(f(a)).sum()  # noqa: E731
    program = cadiff.compile(cadiff.grad(total))
    program(factor * finite)
    for call in (f, cadiff.grad(total), program, lambda a: cadiff.jvp(f, (a,), (0.0 * a,))):
        with pytest.raises(LinAlgError, match="converge"):
            call(a)


@pytest.mark.parametrize("factor", [1.0, 1.0 + 1.0j])
def test_what_eigh_does_not_read_need_not_be_finite(factor: Any) -> None:
    a = factor * INFINITE
    with pytest.raises(LinAlgError, match="converge"):
        cadiff.grad(lambda a: np.linalg.eigh(a)[0].sum())(a + np.diag([0.0, np.nan, 0.0]))
    gradient = cadiff.grad(lambda a: (np.linalg.eigh(a)[0] ** 2).sum())
    np.testing.assert_array_equal(gradient(a), gradient(np.tril(a)))
    with pytest.raises(LinAlgError, match="converge"):
        cadiff.grad(lambda a: np.linalg.eigvalsh(a, UPLO="U").sum())(a)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_the_determinant_of_a_matrix_with_inf_has_derivatives_nan(number: float) -> None:
    for row in (1.0, 0.0):
        a = np.eye(4) * row
        a[0, 1], a[2, 3] = number, number
        assert np.isnan(cadiff.grad(np.linalg.det)(a)).any()
        assert np.isnan(cadiff.hvp(np.linalg.det)(a, np.eye(4))).any()


def test_what_has_no_derivative_says_what_has_one() -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    for way, zero in itertools.product((cadiff.grad, cadiff.jacfwd), (0.0, 0j)):
        with pytest.raises(LinAlgError, match=r"\(2, 2\).*write numpy.linalg.det"):
            way(lambda a, zero=zero: np.linalg.slogdet(a + zero)[1])(a)
    with pytest.raises(LinAlgError, match=r"column 1 depends .* numpy.linalg.lstsq"):
        cadiff.grad(lambda a: cadiff.numpy.sum(np.linalg.qr(a)[1]))(a)
