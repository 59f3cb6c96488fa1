"""Linear algebra of complex matrices: `numpy.linalg` and `scipy.linalg`, against NumPy and SciPy.

Vectors that are defined up to a factor of length 1 are tested by what does not depend on it.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg

import cadiff
import cadiff.scipy.linalg as of_scipy

from ..helpers.programs import frames_of

STEP = 1e-5
RTOL = 1e-11
# Of square roots of matrices.
TAKES_STACKS = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 17)


class Case(NamedTuple):
    """A function of complex arrays, with a namespace `scipy.linalg` to call, and their shapes."""

    name: str
    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def H(x: Any) -> Any:  # noqa: N802 - as in every formula
    return np.conjugate(np.swapaxes(x, -1, -2))


def eigen(w: Any, v: Any) -> Any:
    """Eigenvalues, and the outer product of each vector with itself."""
    return w, v[..., :, None, :] * np.conjugate(v)[..., None, :, :]


def singular(u: Any, s: Any, vh: Any) -> Any:
    """Singular values, and what the vectors are up to a turn of both."""
    k = s.shape[-1]
    v = np.swapaxes(vh, -1, -2)[..., :k]
    pairs = u[..., :, None, :k] * v[..., None, :, :]
    rest = u[..., :, k:]
    return s, pairs, abs(u[..., :k]) ** 2, abs(v) ** 2, rest @ H(rest)


def spanned(q: Any, r: Any) -> Any:
    """The factors of a matrix of two columns, those that complete q by what they span."""
    return q[..., :2], q[..., 2:] @ H(q[..., 2:]), r


def positive(a: Any) -> Any:
    """Its lower triangle, and the upper one, are those of a positive definite matrix."""
    return a + 4.0 * a.shape[-1] * np.eye(a.shape[-1])


def of_numpy() -> dict[str, tuple[Any, ...]]:
    """By name: a function of arrays, and shapes for its arguments."""
    la = np.linalg
    return {
        "solve": (la.solve, (3, 3), (3, 2)),
        "solve stack, vector": (la.solve, (2, 3, 3), (3,)),
        "solve broadcast": (la.solve, (3, 3), (2, 3, 2)),
        "inv": (la.inv, (2, 3, 3)),
        "inv 1": (la.inv, (1, 1)),
        "det 1": (la.det, (1, 1)),
        "det 2": (la.det, (2, 2)),
        "det 3": (la.det, (2, 3, 3)),
        "det 5": (la.det, (2, 5, 5)),
        "slogdet": (lambda a: tuple(la.slogdet(a)), (2, 4, 4)),
        "slogdet 1": (lambda a: tuple(la.slogdet(a)), (1, 1)),
        "cholesky": (lambda a: la.cholesky(positive(a)), (2, 3, 3)),
        "cholesky upper": (lambda a: la.cholesky(positive(a), upper=True), (3, 3)),
        "qr": (lambda a: tuple(la.qr(a)), (2, 4, 3)),
        "qr wide": (lambda a: tuple(la.qr(a)), (2, 4)),
        "qr complete": (lambda a: spanned(*la.qr(a, mode="complete")), (4, 2)),
        "qr r": (lambda a: la.qr(a, mode="r"), (3, 3)),
        "eigh": (lambda a: eigen(*la.eigh(a)), (2, 3, 3)),
        "eigh upper": (lambda a: eigen(*la.eigh(a, "U")), (3, 3)),
        "eigvalsh": (la.eigvalsh, (2, 3, 3)),
        "eig": (lambda a: eigen(*la.eig(a)), (2, 3, 3)),
        "eigvals": (la.eigvals, (2, 3, 3)),
        "svd": (lambda a: singular(*la.svd(a)), (2, 3, 3)),
        "svd tall": (lambda a: singular(*la.svd(a)), (4, 2)),
        "svd wide": (lambda a: singular(*la.svd(a, full_matrices=False)), (2, 2, 4)),
        "svd hermitian": (lambda a: singular(*la.svd(a + H(a), hermitian=True)), (3, 3)),
        "svdvals": (la.svdvals, (2, 4, 3)),
        "pinv": (la.pinv, (2, 4, 3)),
        "pinv wide": (la.pinv, (2, 3)),
        "pinv hermitian": (lambda a: la.pinv(a, hermitian=True), (3, 3)),
        "pinv of low rank": (lambda a, b: la.pinv(a @ b), (4, 2), (2, 3)),
        "lstsq": (lambda a, b: la.lstsq(a, b)[:2] + la.lstsq(a, b)[3:], (4, 2), (4, 2)),
        "lstsq wide": (lambda a, b: la.lstsq(a, b)[0], (2, 4), (2,)),
        "matrix_power": (lambda a: la.matrix_power(a, 5), (2, 3, 3)),
        "matrix_power -2": (lambda a: la.matrix_power(a, -2), (3, 3)),
        "tensorsolve": (la.tensorsolve, (2, 3, 6), (2, 3)),
        "tensorinv": (lambda a: la.tensorinv(a, 1), (6, 2, 3)),
        "multi_dot": (lambda *a: la.multi_dot(a), (3,), (3, 4), (4, 2), (2,)),
        "matrix_transpose": (la.matrix_transpose, (2, 3, 4)),
        "trace": (lambda a: la.trace(a, offset=1), (2, 3, 3)),
        "diagonal": (la.diagonal, (2, 3, 4)),
        "outer": (la.outer, (3,), (2,)),
        "cross": (la.cross, (2, 3), (3,)),
        "vecdot": (la.vecdot, (2, 3), (3,)),
        "matmul": (la.matmul, (2, 3), (3, 2)),
        "tensordot": (lambda a, b: la.tensordot(a, b, axes=1), (2, 3), (3, 2)),
        "norm": (la.norm, (2, 4, 3)),
        "norm of a matrix": (la.norm, (4, 3)),
        "vector_norm": (lambda a: la.vector_norm(a, axis=(0, 2), keepdims=True), (2, 4, 3)),
        "matrix_norm": (lambda a: la.matrix_norm(a, ord="nuc"), (2, 4, 3)),
    }


def norms() -> dict[str, tuple[Any, ...]]:
    def vectors(order: Any, a: Any) -> Any:
        return np.linalg.norm(a, order, axis=-1)

    def matrices(order: Any, a: Any) -> Any:
        return np.linalg.norm(a, order, axis=(2, 1), keepdims=True)

    def conditions(order: Any, a: Any) -> Any:
        return np.linalg.cond(a, order)

    of_matrices = (None, 1, 2, -1, -2, np.inf, -np.inf)
    return {
        **{f"norm {p}": (partial(vectors, p), (2, 3)) for p in (*of_matrices, 0.5, 3, 4)},
        **{f"norms {p}": (partial(matrices, p), (2, 3, 2)) for p in (*of_matrices, "fro", "nuc")},
        **{f"cond {p}": (partial(conditions, p), (2, 3, 3)) for p in of_matrices},
    }


def of_scipys() -> dict[str, tuple[Any, ...]]:
    """The same, of functions that get a namespace first."""

    def solve(la: Any, a: Any, b: Any, **options: Any) -> Any:
        return la.solve(positive(a), b, **options)

    def triangular(la: Any, a: Any, b: Any, **options: Any) -> Any:
        return la.solve_triangular(positive(a), b, **options)

    def by_cholesky(la: Any, a: Any, b: Any, lower: bool) -> Any:
        return la.cho_solve(la.cho_factor(positive(a), lower=lower), b)

    def by_lu(la: Any, a: Any, b: Any, trans: int) -> Any:
        return la.lu_solve(la.lu_factor(a), b, trans=trans)

    def some_values(la: Any, a: Any, b: Any) -> Any:
        return la.eigvalsh(a, positive(b), lower=False, subset_by_index=[0, 1])

    square, system = ((3, 3),), ((3, 3), (3, 2))
    structures = ("gen", "sym", "her", "pos", "upper triangular", "tridiagonal", "diagonal")
    return {
        **{f"solve {s}": (partial(solve, assume_a=s), *system) for s in structures},
        "solve her lower": (partial(solve, assume_a="her", lower=True), *system),
        "solve_triangular": (triangular, *system),
        "solve_triangular T": (partial(triangular, trans="T", lower=True), *system),
        "solve_triangular C": (partial(triangular, trans=2, unit_diagonal=True), (3, 3), (3,)),
        "inv": (lambda la, a: la.inv(a), *square),
        "det": (lambda la, a: la.det(a), (2, 4, 4)),
        "lstsq": (lambda la, a, b: la.lstsq(a, b)[0], (4, 2), (4,)),
        "pinv": (lambda la, a: la.pinv(a), (4, 2)),
        "cholesky": (lambda la, a: la.cholesky(positive(a), lower=True), *square),
        "cho_solve": (partial(by_cholesky, lower=False), *system),
        "cho_solve lower": (partial(by_cholesky, lower=True), *system),
        "lu": (lambda la, a: la.lu(a)[1:], (4, 4)),
        "lu permuted": (lambda la, a: la.lu(a, permute_l=True), (4, 4)),
        **{f"lu_solve {k}": (partial(by_lu, trans=k), *system) for k in (0, 1, 2)},
        "qr pivoting": (lambda la, a: la.qr(a, mode="economic", pivoting=True)[:2], (4, 3)),
        "eig": (lambda la, a: eigen(*la.eig(a)), *square),
        "eigvals": (lambda la, a: la.eig(a, right=False) + la.eigvals(a), *square),
        "eigh": (lambda la, a: eigen(*la.eigh(a)), *square),
        "vectors by evd": (lambda la, a: eigen(*la.eigh(a, driver="evd")), *square),
        "eigh of two": (lambda la, a, b: eigen(*la.eigh(a, positive(b))), (3, 3), (3, 3)),
        "eigvalsh": (some_values, (3, 3), (3, 3)),
        "svd": (lambda la, a: singular(*la.svd(a)), (4, 2)),
        "svdvals": (lambda la, a: la.svdvals(a), (3, 4)),
        "expm": (lambda la, a: la.expm(a), *square),
        "expm small": (lambda la, a: la.expm(0.02 * a), (4, 4)),
        "expm stack": (lambda la, a: la.expm(a), (3, 2, 2)),
        "expm large": (lambda la, a: la.expm(4.0 * a), (2, 3, 3)),
        "expm_frechet": (lambda la, a, e: la.expm_frechet(a, e), (2, 2), (2, 2)),
        "logm": (lambda la, a: la.logm(a), (2, 2)),
        "sqrtm": (lambda la, a: la.sqrtm(a), (2, 3, 3) if TAKES_STACKS else (3, 3)),
        "sylvester": (lambda la, *a: la.solve_sylvester(*a), (3, 3), (2, 2), (3, 2)),
        "lyapunov": (lambda la, *a: la.solve_continuous_lyapunov(*a), (3, 3), (3, 3)),
        "norm": (lambda la, a: la.norm(a), (3, 4)),
        "norm 2": (lambda la, a: la.norm(a, 2), (3, 4)),
        "toeplitz": (lambda la, a: la.toeplitz(a), (4,)),
        "toeplitz of two": (lambda la, *a: la.toeplitz(*a), (4,), (3,)),
        "hankel": (lambda la, *a: la.hankel(*a), (3,), (3,)),
        "circulant": (lambda la, a: la.circulant(a), (3,)),
        "block_diag": (lambda la, *a: la.block_diag(*a), (2, 3), (1, 2)),
    }


def without_namespace(function: Callable[..., Any], _: Any, *args: Any) -> Any:
    return function(*args)


CASES = [
    Case(name, partial(without_namespace, function), shapes)
    for name, (function, *shapes) in {**of_numpy(), **norms()}.items()  # type: ignore[misc]
] + [Case(f"scipy {name}", call, shapes) for name, (call, *shapes) in of_scipys().items()]  # type: ignore[misc]


# What replays do not compute in C alone.
CALL_PYTHON = ("scipy solve pos", "scipy qr pivoting", "scipy eigh", "scipy logm", "scipy sqrtm")
CALL_PYTHON += ("scipy sylvester", "scipy lyapunov")


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def cotangents(rng: np.random.Generator, outs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Any numbers of the shapes and kinds of results."""
    drawn_ = [
        drawn(rng, np.shape(out)) if np.iscomplexobj(out) else rng.normal(size=np.shape(out))
        for out in outs
    ]
    return tuple(u if np.ndim(u) else u.item() if isinstance(u, np.ndarray) else u for u in drawn_)


def pairing(u: Any, t: Any) -> Any:
    """The real part of the sum of the products."""
    return sum(np.sum((a * b).real) for a, b in zip(u, t, strict=True))


def slope(f: Callable[..., Any], args: Any, directions: Any) -> list[Any]:
    """By differences."""
    ahead = f(*(a + STEP * t for a, t in zip(args, directions, strict=True)))
    behind = f(*(a - STEP * t for a, t in zip(args, directions, strict=True)))
    return [(np.asarray(x) - y) / (2.0 * STEP) for x, y in zip(ahead, behind, strict=True)]


def assert_near(result: Any, expected: Any, rtol: float) -> None:
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=rtol * scale)


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly for a derivative")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_and_derivatives(case: Case) -> None:
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    args = tuple(drawn(rng, shape) for shape in case.shapes)
    directions = tuple(drawn(rng, shape) for shape in case.shapes)

    def f(*args: Any) -> Any:
        return as_tuple(case.call(of_scipy, *args))

    plain = as_tuple(case.call(scipy.linalg, *args))
    outs, tangents = cadiff.jvp(f, args, directions)
    for out, expected in zip(outs, plain, strict=True):
        assert np.shape(out) == np.shape(expected)
        is_real = not np.any(np.imag(expected))  # NumPy 2.0 has condition numbers of complex type
        assert np.iscomplexobj(out) == np.iscomplexobj(expected) or is_real
        assert_near(out, expected, RTOL)
    for tangent, expected in zip(tangents, slope(f, args, directions), strict=True):
        assert_near(tangent, expected, 1e-6)

    u = cotangents(rng, outs)

    def back(*args: Any) -> tuple[Any, ...]:
        pulled = cadiff.vjp(f, *args)[1](u)
        return pulled if len(args) > 1 else (pulled,)

    assert pairing(u, tangents) == pytest.approx(pairing(back(*args), directions), rel=1e-8)
    _, second = cadiff.jvp(back, args, directions)
    for found, expected in zip(second, slope(back, args, directions), strict=True):
        assert_near(found, expected, 1e-5)

    def number(t: Any) -> Any:
        return pairing(u, f(*(x + t * d for x, d in zip(args, directions, strict=True))))

    program = cadiff.compile(number)
    for t in (0.0, 1e-3):
        ways: list[tuple[Any, Any]] = [
            (lambda t=t: program(t), number(t)),
            (lambda t=t: program.grad(t), cadiff.grad(number)(t)),
            (lambda t=t: program.hvp(t, 1.0), cadiff.hvp(number)(t, 1.0)),
            (lambda t=t: program.jvp((t,), (1.0,)), cadiff.jvp(number, (t,), (1.0,))),
        ]
        for call, expected in ways:
            assert_near(call(), expected, 1e-9)
            assert case.name.startswith(CALL_PYTHON) or frames_of(call) == []
    assert program.stats()["obstacles"] == [] or case.name in ("scipy sqrtm", "scipy logm")


def test_transposed_systems() -> None:
    """Which SciPy does not solve if they are complex."""
    rng = np.random.default_rng(5)
    a, b = drawn(rng, (3, 3)), drawn(rng, (3, 2))
    solve = of_scipy.solve
    upper = {"assume_a": "upper triangular"}
    pairs: list[tuple[Any, Any]] = [
        (lambda a: solve(a, b, transposed=True), lambda a: solve(a.T, b)),
        (
            lambda a: solve(a, b, transposed=True, assume_a="her"),
            lambda a: solve(np.conj(a), b, assume_a="her"),
        ),
        (
            lambda a: solve(a, b, transposed=True, **upper),
            lambda a: of_scipy.solve_triangular(a, b, trans="T"),
        ),
    ]
    for found, expected in pairs:
        of_found, of_expected = (cadiff.vjp(f, a) for f in (found, expected))
        assert_near(of_found[0], of_expected[0], RTOL)
        assert_near(of_found[1](b), of_expected[1](b), RTOL)


# --- the real form -------------------------------------------------------------------------------


def in_reals(z: Any) -> Any:
    """The real matrix that multiplies real and imaginary parts as z multiplies numbers."""
    re, im = np.real(z), np.imag(z)
    rows = [np.concatenate([re, -im], axis=-1), np.concatenate([im, re], axis=-1)]
    return np.concatenate(rows, axis=-2)


@pytest.mark.parametrize("name", ["inv", "expm", "sqrtm", "logm"])
def test_gradients_are_those_of_the_real_form(name: str) -> None:
    rng = np.random.default_rng(3)
    z, weights = drawn(rng, (3, 3)) + 2.0 * np.eye(3), drawn(rng, (3, 3))
    function = getattr(of_scipy, name)

    def of_complex(z: Any) -> Any:
        return np.sum(weights * function(z)).real

    def of_real(both: Any) -> Any:
        result = function(in_reals(both[0] + 1j * both[1]))
        return np.sum(weights.real * result[:3, :3] - weights.imag * result[3:, :3])

    by_parts = cadiff.grad(of_real)(np.array([z.real, z.imag]))
    assert_near(cadiff.grad(of_complex)(z), by_parts[0] - 1j * by_parts[1], 1e-12)


# --- real matrices with complex results ----------------------------------------------------------

TURNING = np.array([[0.0, 2.0, 1.0], [-1.0, 0.3, 1.0], [0.5, 0.0, 1.0]])


def sizes(a: Any) -> Any:
    return np.sum(np.abs(np.linalg.eigvals(a)) ** 3)


def projector(a: Any) -> Any:
    return np.abs(np.linalg.eig(a)[1][0, 0]) ** 2


def slope_of(f: Callable[[Any], Any], a: Any, t: Any) -> Any:
    return (f(a + STEP * t) - f(a - STEP * t)) / (2.0 * STEP)


def powered(by: Any) -> Callable[[Any], Any]:
    return lambda a: by.fractional_matrix_power(a, -1.3)


def squares(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: np.sum(np.abs(function(a)) ** 2)


NEGATIVE = np.array([[-1.0, 0.5], [0.2, 3.0]])
RIGHT = np.array([1.0 + 2.0j, -1.0j])
WITH_COMPLEX_RESULTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sizes of eigenvalues": (sizes, TURNING),
    "eigenvectors": (projector, TURNING),
    "roots": (squares(of_scipy.sqrtm), NEGATIVE),
    "logarithms": (squares(of_scipy.logm), NEGATIVE),
    "powers": (squares(powered(of_scipy)), NEGATIVE),
    "complex right-hand sides": (squares(lambda a: np.linalg.solve(a, RIGHT)), -NEGATIVE),
}


@pytest.mark.parametrize("name", WITH_COMPLEX_RESULTS)
def test_real_matrices_may_have_complex_results(name: str) -> None:
    f, a = WITH_COMPLEX_RESULTS[name]
    t = np.random.default_rng(1).normal(size=a.shape)
    gradient = cadiff.grad(f)(a)
    assert gradient.dtype == np.float64
    assert np.sum(gradient * t) == pytest.approx(slope_of(f, a, t), rel=1e-7)


def test_real_eigenvalues_stay_real() -> None:
    w, v = np.linalg.eig(cadiff.Var(np.diag([1.0, 2.0])))
    assert isinstance(w, cadiff.Var)
    assert isinstance(v, cadiff.Var)


def test_a_program_goes_on_where_eigenvalues_become_complex() -> None:
    program = cadiff.compile(sizes)
    for a in (TURNING, np.diag([1.0, 2.0, 4.0]) + 0.1 * TURNING, TURNING):
        np.testing.assert_allclose(program.grad(a), cadiff.grad(sizes)(a), rtol=1e-12)
    program = cadiff.compile(sizes)
    for a in (np.diag([1.0, 2.0, 4.0]), TURNING):
        np.testing.assert_allclose(program.grad(a), cadiff.grad(sizes)(a), atol=1e-13)


@pytest.mark.parametrize(
    ("function", "of_plain"),
    [
        (of_scipy.sqrtm, scipy.linalg.sqrtm),
        (of_scipy.logm, scipy.linalg.logm),
        (powered(of_scipy), powered(scipy.linalg)),
    ],
    ids=["sqrtm", "logm", "power"],
)
def test_negative_eigenvalues_are_above_the_cut(function: Any, of_plain: Any) -> None:
    """Values are SciPy's of the real matrix; both modes and second derivatives go with them."""
    rng = np.random.default_rng(8)
    for eigenvalues in ([-2.0, 1.0, 5.0], [-1.5, -0.4, 0.8]):
        basis, t = rng.normal(size=(2, 3, 3))
        a = np.linalg.solve(basis, np.diag(eigenvalues) @ basis)
        u = drawn(rng, (3, 3))
        known, push = cadiff.jvp(function, (a,), (t,))
        np.testing.assert_allclose(known, of_plain(a), rtol=1e-12)
        np.testing.assert_allclose(push, slope_of(of_plain, a, t), rtol=1e-6, atol=1e-7)
        _, pull = cadiff.vjp(function, a)
        assert np.sum(pull(u) * t) == pytest.approx(np.sum((u * push).real), rel=1e-9)

    def f(a: Any) -> Any:
        return np.sum(np.abs(function(a)) ** 2 + function(a).imag ** 3)

    change = slope_of(cadiff.grad(f), a, t)
    np.testing.assert_allclose(cadiff.hvp(f)(a, t), change, rtol=1e-5, atol=1e-6)


# --- what is read, and what is not defined -------------------------------------------------------


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky", "eigvalsh"])
def test_one_triangle_and_the_real_diagonal_are_read(name: str, upper: bool) -> None:
    how: dict[str, Any] = {"upper": upper} if name == "cholesky" else {"UPLO": "LU"[upper]}
    f = lambda a: np.sum(np.abs(getattr(np.linalg, name)(a, **how)) ** 3)  # noqa: E731
    gradient = cadiff.grad(f)(positive(drawn(np.random.default_rng(2), (3, 3))))
    other = np.tri(3, k=-1, dtype=bool) if upper else ~np.tri(3, dtype=bool)
    np.testing.assert_array_equal(gradient[other], 0.0)
    np.testing.assert_array_equal(np.diagonal(gradient).imag, 0.0)
    assert np.all(gradient[~other] != 0.0)


def test_repeated_eigenvalues_taken_together_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = cadiff.grad(lambda a: np.sum(np.linalg.eigvalsh(a)))(np.eye(3) + 0j)
    np.testing.assert_array_equal(gradient, np.eye(3))


def test_vectors_are_differentiated_without_a_turn() -> None:
    rng = np.random.default_rng(5)
    a, t = drawn(rng, (3, 3)), drawn(rng, (3, 3))
    (_, v), (_, dv) = cadiff.jvp(lambda a: tuple(np.linalg.eigh(a)), (a,), (t,))
    np.testing.assert_allclose(np.diagonal(H(v) @ dv), 0.0, atol=1e-14)
    (_, v), (_, dv) = cadiff.jvp(lambda a: tuple(np.linalg.eig(a)), (a,), (t,))
    np.testing.assert_allclose(np.diagonal(H(v) @ dv), 0.0, atol=1e-13)
    (u, _, vh), (du, _, dvh) = cadiff.jvp(lambda a: tuple(np.linalg.svd(a)), (a,), (t,))
    turns = np.diagonal(H(u) @ du) + np.diagonal(vh @ H(dvh))
    np.testing.assert_allclose(turns, 0.0, atol=1e-13)


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_determinants_of_singular_matrices_have_gradients(rank: int) -> None:
    rng = np.random.default_rng(rank)
    u, s, vh = np.linalg.svd(drawn(rng, (5, 5)))
    a, t = (u * np.where(np.arange(5) < rank, s, 0.0)) @ vh, drawn(rng, (5, 5))

    def f(a: Any) -> Any:
        return np.linalg.det(a).real

    gradient = cadiff.grad(f)
    assert np.sum(gradient(a) * t).real == pytest.approx(slope_of(f, a, t), rel=1e-8, abs=1e-8)
    _, second = cadiff.jvp(gradient, (a,), (t,))
    np.testing.assert_allclose(second, slope_of(gradient, a, t), atol=1e-7)


# --- arrays of all kinds -------------------------------------------------------------------------


def test_empty_matrices() -> None:
    empty = np.zeros((0, 3, 3), complex)
    for f in (np.linalg.inv, np.linalg.det, np.linalg.eigvalsh, np.linalg.svdvals, of_scipy.expm):
        _, pull = cadiff.vjp(f, empty)
        assert pull(f(empty)).shape == (0, 3, 3)
    assert cadiff.grad(lambda a: np.linalg.det(a).real)(np.zeros((0, 0), complex)).shape == (0, 0)


@pytest.mark.parametrize("dtype", ["complex64", ">c16"])
def test_other_precisions_and_layouts(dtype: str) -> None:
    z = drawn(np.random.default_rng(6), (3, 3)).astype(np.complex64)

    def f(a: Any) -> Any:
        return np.sum(np.abs(np.linalg.inv(a) @ of_scipy.expm(a)))

    expected = cadiff.grad(f)(z.astype(complex))
    np.testing.assert_allclose(cadiff.grad(f)(z.astype(dtype)), expected, rtol=1e-5)
    wide = np.zeros((3, 6), complex)
    wide[:, ::2] = z
    np.testing.assert_allclose(cadiff.grad(f)(wide[:, ::2]), expected, rtol=1e-12)
    np.testing.assert_allclose(cadiff.grad(f)(np.asfortranarray(z)), expected, rtol=1e-5)


def test_ranks_and_questions_are_answered_from_values() -> None:
    z = cadiff.Var(np.diag([1.0 + 1.0j, 2.0, 0.0]))
    assert np.linalg.matrix_rank(z) == 2
    assert cadiff.numpy.linalg.matrix_rank(z) == 2
    assert np.count_nonzero(z) == 2
    assert np.isfinite(z).all()


def test_products_with_what_is_no_array_of_numbers() -> None:
    z, plain = cadiff.Var(np.array([[1.0 + 1.0j, 2.0], [0.0, 1.0j]])), np.array([[1j, 2], [3, 4]])
    for product in (plain @ z, plain.tolist() @ z, np.matmul(plain, z), np.dot(plain, z)):
        np.testing.assert_array_equal(cadiff.value(product), plain @ z.value)
    np.testing.assert_array_equal(cadiff.value(z @ [1.0, 2j]), z.value @ np.array([1.0, 2j]))
    np.testing.assert_array_equal(cadiff.value(z.real @ plain), z.value.real @ plain)
    np.testing.assert_array_equal(cadiff.value((1j * z.imag) @ plain), 1j * z.value.imag @ plain)
    with pytest.raises((TypeError, ValueError)):
        z @ 2.0


def test_orders_beyond_the_second_of_a_norm_at_zero_elements() -> None:
    z = np.array([0.0, 3.0 + 4.0j])
    hessian = cadiff.hessian(lambda xy: np.linalg.norm(xy[:2] + 1j * xy[2:]))(
        np.concatenate([z.real, z.imag])
    )
    assert hessian[0, 0] == pytest.approx(0.2)
    assert hessian[2, 2] == pytest.approx(0.2)


def fidelity(u: Any) -> Any:
    """Of a product of exponentials with one control, against a target."""
    drift, control = np.diag([1.0, -1.0]), np.array([[0.0, -1.0j], [1.0j, 0.0]])
    steps = of_scipy.expm(-0.3j * (drift + u[:, None, None] * control))
    product = steps[0]
    for k in range(1, len(u)):
        product = steps[k] @ product
    return np.abs(np.trace(control @ product)) ** 2 / 4.0


def test_programs_with_exponentials() -> None:
    program = cadiff.compile(fidelity)
    for u in (np.array([0.1, 0.5, -0.2]), np.array([20.0, 0.5, -0.2])):
        np.testing.assert_allclose(program(u), fidelity(u), rtol=1e-13)
        np.testing.assert_allclose(program.grad(u), cadiff.grad(fidelity)(u), rtol=1e-12)
        expected = slope_of(fidelity, u, np.array([1.0, 0.0, 0.0]))
        assert program.grad(u)[0] == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(
        program.hessian(u), cadiff.hessian(fidelity)(u), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("size", [1e-3, 0.1, 0.5, 1.5, 4.0, 300.0])
def test_exponentials_of_stacks_are_those_of_single_matrices(kind: type, size: float) -> None:
    rng = np.random.default_rng(7)
    a = np.concatenate([drawn(rng, (40, 8, 8)), np.zeros((1, 8, 8))])
    a = size * (a if kind is complex else a.real) / 10.0
    e = drawn(rng, a.shape) if kind is complex else rng.normal(size=a.shape)
    _, tangents = cadiff.jvp(of_scipy.expm, (a,), (e,))
    for k in (0, 39, 40):
        expected = scipy.linalg.expm_frechet(a[k], e[k], compute_expm=False)
        largest = np.max(np.abs(expected))
        np.testing.assert_allclose(tangents[k] / largest, expected / largest, atol=1e-12)


def test_exponentials_of_what_is_not_finite_leave_the_others() -> None:
    a = np.zeros((3, 2, 2), complex)
    a[1, 0, 0] = np.nan
    _, tangents = cadiff.jvp(of_scipy.expm, (a,), (np.ones_like(a),))
    assert np.isnan(tangents[1]).any()
    np.testing.assert_allclose(tangents[[0, 2]], 1.0)


@pytest.mark.parametrize("name", ["toeplitz", "hankel", "block_diag"])
def test_matrices_of_real_and_complex_numbers(name: str) -> None:
    x = np.array([1.0, 2.0, -0.5])

    def f(module: Any, x: Any) -> Any:
        call = getattr(module, name)
        return call(x, 1j * x), call(1j * x, x), call(x, 2j * np.ones(3))

    found, tangent = cadiff.jvp(lambda x: f(of_scipy, x), (x,), (x,))
    for a, b, c, d in zip(found, tangent, f(scipy.linalg, x), f(scipy.linalg, 2 * x), strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_allclose(b, d - c, rtol=1e-15)
