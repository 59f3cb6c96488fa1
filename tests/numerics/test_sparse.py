"""Sparse matrices: constant ones times numbers, ones of numbers, and what solves with them."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import cadiff
import cadiff.scipy.sparse
import cadiff.scipy.sparse.linalg
from cadiff import MissingRuleError

from ..helpers import derivatives
from ..helpers.cases_sparse import CASES, COLUMNS, ITERATIONS, ROWS, WIDE, made
from ..helpers.derivatives import Case, Program
from ..helpers.differences import slope
from ..helpers.processes import isolated

sparse, linalg = cadiff.scipy.sparse, cadiff.scipy.sparse.linalg

each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each
def test_values_and_modes(case: Case) -> None:
    derivatives.check_value(case, scipy, cadiff.scipy)
    derivatives.check_modes(case, scipy, cadiff.scipy)


# Rules know of formats by their structure alone, so what rests on rules is tested of one.
OF_ONE_FORMAT = [case for case in CASES if not re.search("(csc|coo|bsr|dia|lil|dok)_", case.name)]
DRAWING = "svds"  # SciPy's draws random numbers even if a start is given, so programs run f

of_one_format = pytest.mark.parametrize("case", OF_ONE_FORMAT, ids=lambda case: case.name)


@of_one_format
def test_second_order(case: Case) -> None:
    derivatives.check_second_order(case, scipy, cadiff.scipy)


@of_one_format
@pytest.mark.filterwarnings("ignore:.*draws random numbers:RuntimeWarning")
def test_programs(case: Case) -> None:
    """A program has the same gradients, at other points than that of its recording."""
    call = Program(case, cadiff.scipy, case.draw())

    def f(*numbers: Any) -> Any:
        return sum(np.sum(np.sin((1.0 + k) * x)) for k, x in enumerate(call(*numbers).values()))

    program = cadiff.compile(f)
    nums = tuple(range(len(case.argnums)))
    for seed in (0, 1, 2):
        point = [np.asarray(case.draw(seed)[k], dtype=float) for k in case.argnums]
        got, wanted = program.grad(*point, argnums=nums), cadiff.grad(f, nums)(*point)
        for x, y in zip(got, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
    if case.name != DRAWING:
        assert not program.stats()["obstacles"], program.stats()["obstacles"]
        assert program.stats()["eager"] <= 1


# --- what plain arguments give -------------------------------------------------------------------


def test_plain_arguments_give_scipys_own_matrices() -> None:
    v = np.arange(1.0, 9.0)
    for kind in ("csr_array", "csc_matrix", "coo_array"):
        found = made(sparse, v, kind)
        assert type(found) is getattr(scipy.sparse, kind)
        assert isinstance(found, getattr(sparse, kind))
    for name, args in (("kron", (WIDE, WIDE)), ("hstack", ([WIDE, WIDE],)), ("eye_array", (3,))):
        found, wanted = (getattr(m, name)(*args) for m in (sparse, scipy.sparse))
        assert type(found) is type(wanted)
    assert sparse.issparse(WIDE)
    assert not sparse.issparse(v)


def test_formats_are_known_by_their_classes() -> None:
    def f(v: Any) -> Any:
        A = made(sparse, v)
        assert isinstance(A, sparse.csr_array)
        assert not isinstance(A, (sparse.csc_array, sparse.csr_matrix))
        assert isinstance(A.tocsc(), sparse.csc_array)
        assert sparse.issparse(A)
        assert (A.shape, A.nnz, A.format, A.ndim) == ((4, 4), 8, "csr", 2)
        np.testing.assert_array_equal(A.indices, made(scipy.sparse, np.ones(8)).indices)
        return A.sum()

    cadiff.grad(f)(np.ones(8))


def doubled_in_place(A: Any) -> None:
    A.data *= 2.0


def set_anew(A: Any) -> None:
    A.data = A.data**2 + 1.0


def first_entries(A: Any) -> None:
    data = A.data
    A.sum()
    data[0] = 3.0 * data[-1]


def from_a_copy(A: Any) -> None:
    A.copy().data[:] = 0.0
    A.tocoo().copy().data[:] = 0.0


@pytest.mark.parametrize("write", [doubled_in_place, set_anew, first_entries, from_a_copy])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_entries_are_written_to(write: Any, kind: str) -> None:
    v = np.arange(1.0, 9.0)

    def f(v: Any, sp: Any) -> Any:
        A = made(sp, v + 0.0).asformat(kind)
        before = A.tocoo().copy()
        write(A)
        A = A @ A.T + before
        return A @ np.arange(4.0)

    value, tangent = cadiff.jvp(lambda v: f(v, sparse), (v,), (np.ones(8),))
    np.testing.assert_allclose(value, f(v, scipy.sparse), rtol=1e-14)
    np.testing.assert_allclose(tangent, slope(lambda v: f(v, scipy.sparse), v), rtol=1e-9)


@pytest.mark.parametrize(
    "assign",
    [
        lambda A: setattr(A, "indices", A.indices[::-1]),
        lambda A: setattr(A, "has_canonical_format", False),
        lambda A: setattr(A, "data", A.data[:-1]),
        lambda A: setattr(A.todok(), "data", A.data),
        lambda A: scipy.sparse.permute_dims(A),
    ],
)
def test_other_attributes_are_not_assigned_to(assign: Any) -> None:
    with pytest.raises(MissingRuleError, match=r"nor assigned to: compute with A\.data"):
        cadiff.grad(lambda v: assign(made(sparse, v)))(np.ones(8))


# --- gradients by entries stay sparse ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array"])
def test_gradients_by_the_entries_of_a_matrix_have_its_structure(kind: str) -> None:
    x = np.array([1.0, -2.0, 0.5, 3.0])

    def f(v: Any) -> Any:
        A = made(sparse, v, kind)
        gradient = cadiff.grad(lambda B: np.sum((B @ x) ** 2))(A)
        assert gradient.format == kind[:3]
        assert gradient.nnz == 8
        return gradient.toarray()

    A = made(scipy.sparse, np.arange(1.0, 9.0), kind)
    wanted = 2.0 * np.outer(A @ x, x) * (A.toarray() != 0)
    np.testing.assert_allclose(cadiff.jvp(f, (np.arange(1.0, 9.0),), (np.ones(8),))[0], wanted)


def test_a_gradient_through_spsolve_makes_no_matrix() -> None:
    """Of 40,000 unknowns, a whole matrix would take 12 GB."""
    n = 40_000
    d, side, b = np.full(n, 4.0), -np.ones(n - 1), np.ones(n)

    def solved(sp: Any, d: Any, place: int) -> Any:
        A = sp.diags_array([d, side], offsets=[0, place], format="csc")
        return sp.linalg.spsolve(A, b)

    gradient = cadiff.grad(lambda d: np.sum(solved(sparse, d, -1)))(d)
    x, y = (solved(scipy.sparse, d, place) for place in (-1, 1))
    np.testing.assert_allclose(gradient, -x * y, rtol=1e-12)


def test_patterns_of_products() -> None:
    """A sparse Jacobian of A @ x is A's structure."""
    A = scipy.sparse.random_array((30, 20), density=0.1, rng=np.random.default_rng(0))
    found = cadiff.sparse_jacobian(lambda x: A @ x)(np.ones(20))
    assert (abs(found - A)).max() == 0.0
    assert found.nnz == A.nnz
    i, j = A.tocoo().coords
    x = np.arange(1.0, 21.0)
    found = cadiff.sparse_jacobian(lambda v: sparse.coo_array((v, (i, j)), A.shape) @ x)(A.data)
    assert found.nnz == A.nnz
    np.testing.assert_array_equal(found.toarray()[i, np.arange(len(i))], x[j])


# --- special points ------------------------------------------------------------------------------


def test_exponentials_of_large_and_of_small_norm() -> None:
    """The integral behind the rule is exact: the dense derivative has another rule."""
    rng = np.random.default_rng(0)
    for size in (1e-6, 1.0, 30.0, 200.0):
        v, b, u = size * rng.normal(size=8) / 4.0, rng.normal(size=4), rng.normal(size=4)
        A = made(scipy.sparse, v).toarray()
        u = u * np.exp(-np.max(np.linalg.eigvals(A).real))
        _, pull = cadiff.vjp(lambda v, b=b: linalg.expm_multiply(made(sparse, v), b), v)
        wanted = scipy.linalg.expm_frechet(A.T, np.outer(u, b), compute_expm=False)[ROWS, COLUMNS]
        np.testing.assert_allclose(pull(u), wanted, rtol=0.0, atol=1e-11 * np.max(np.abs(wanted)))


def test_eigenvalues_of_a_large_matrix() -> None:
    """Those of the second difference are known: 2 - 2 cos(pi k / (n + 1))."""
    n = 200
    side = -np.ones(n - 1)

    def f(c: Any) -> Any:
        rows = [c * np.full(n, 2.0), c * side, c * side]
        A = sparse.diags_array(rows, offsets=[0, 1, -1], format="csr")
        return linalg.eigsh(A, k=3, sigma=0.0, return_eigenvectors=False)

    wanted = 2.0 - 2.0 * np.cos(np.pi * np.arange(1.0, 4.0) / (n + 1.0))
    np.testing.assert_allclose(cadiff.jvp(f, (1.0,), (1.0,))[1], wanted, rtol=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: linalg.eigsh(sparse.csr_array(x), k=1)[0][0],
        lambda x: linalg.eigsh(x, k=1, return_eigenvectors=False)[0],
        lambda x: linalg.eigsh(sparse.csc_array(x), k=1, sigma=30.0)[0][0],
        lambda x: linalg.eigsh(linalg.aslinearoperator(x), k=1)[0][0],
    ],
)
def test_symmetric_values_are_those_of_the_symmetric_part(f: Any) -> None:
    root = np.random.default_rng(2).normal(size=(4, 4))
    x = root @ root.T + np.diag([1.0, 2.0, 3.0, 4.0])

    def gradient(x: Any) -> Any:
        v = np.linalg.eigh(0.5 * (x + x.T))[1][:, -1]
        return np.outer(v, v).ravel()

    wanted = [slope(gradient, x, e) for e in np.eye(16).reshape(16, 4, 4)]
    found = cadiff.hessian(f)(x).reshape(16, 16)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found, found.T, rtol=0.0, atol=1e-13)


def test_vectors_of_equal_values_have_no_derivative() -> None:
    start = np.array([0.5, 0.4, 0.3, 0.2])

    def vectors(d: Any) -> Any:
        return linalg.eigsh(sparse.diags_array(d, format="csr"), k=2, which="SA", v0=start)[1]

    with pytest.warns(RuntimeWarning, match="where values are equal"):
        found = cadiff.jvp(vectors, (np.array([1.0, 1.0, 3.0, 4.0]),), (np.arange(4.0),))[1]
    assert np.all(np.isnan(found))


def test_singular_matrices_are_scipys() -> None:
    v, b = np.zeros(8), np.ones(4)
    with pytest.warns(scipy.sparse.linalg.MatrixRankWarning):
        x = cadiff.jvp(lambda v: linalg.spsolve(made(sparse, v), b), (v,), (v,))[0]
    assert np.all(np.isnan(x))
    with pytest.raises(RuntimeError, match="singular"):
        cadiff.grad(lambda v: np.sum(linalg.splu(made(sparse, v, "csc_array")).solve(b)))(v)


def test_what_does_not_converge_is_told() -> None:
    A = scipy.sparse.diags_array([np.arange(1.0, 51.0), np.ones(49)], offsets=[0, 1], format="csr")

    def f(b: Any) -> Any:
        x, info = linalg.gmres(A, b, maxiter=1, restart=2)
        assert info > 0
        return x

    with pytest.warns(RuntimeWarning, match="did not converge"):
        cadiff.vjp(f, np.ones(50))[1](np.ones(50))


@pytest.mark.parametrize("name", ITERATIONS)
def test_tolerances_of_derivatives_are_relative(name: str) -> None:
    """Cotangents may have any size, and guesses and spaces are those of another system."""
    A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
    size = 1.0 if name == "minres" else 1e6  # of what is large SciPy's own solution is wrong
    b = size * np.array([1.0, 2.0, 3.0])
    x, inverse = np.linalg.solve(A, b), np.linalg.inv(A)
    bases: list[Any] = []
    for options in (
        {"rtol": 0.5, "x0": x} if name != "minres" else {},
        {"rtol": 0.0, "atol": 1e-3} if name != "minres" else {"rtol": 0.0},
        {"lgmres": {"outer_v": bases}, "gcrotmk": {"CU": bases}}.get(name, {}),
    ):

        def f(A: Any, b: Any, options: Any = options) -> Any:
            return getattr(linalg, name)(A, b, **options)[0]

        before = len(bases)
        for weight in (1e-6, 1e6):
            by_matrix, by_b = cadiff.grad(lambda A, b: weight * f(A, b)[0], (0, 1))(A, b)  # noqa: B023
            np.testing.assert_allclose(by_b, weight * inverse[0], rtol=1e-3)
            np.testing.assert_allclose(by_matrix, -weight * np.outer(inverse[0], x), rtol=1e-3)
        moved = cadiff.jvp(lambda b: f(A, b), (b,), (1e-6 * b,))[1]
        np.testing.assert_allclose(moved, 1e-6 * x, rtol=1e-3)
        assert len(bases) <= before + 6


@pytest.mark.parametrize("k", [3, 6])
@pytest.mark.parametrize("name", ["eigs", "eigsh"])
@pytest.mark.parametrize("has_vectors", [True, False])
@pytest.mark.parametrize("turn", [1.0, 1.0 + 0.5j])
def test_all_eigenvalues_of_an_array(name: str, k: int, has_vectors: bool, turn: Any) -> None:
    """SciPy gives them where an array has not so many that its iteration is one."""
    A = np.diag([1.0, 2.0, 4.0]) + np.diag([0.3 * turn, 0.4], 1)
    A = A + A.conj().T

    def f(A: Any, package: Any = linalg) -> Any:
        found = getattr(package, name)(A, k=k, return_eigenvectors=has_vectors)
        return found[0] if has_vectors else found

    with pytest.warns(RuntimeWarning, match="k >= N"):
        wanted = f(A, scipy.sparse.linalg)
    found, moved = cadiff.jvp(f, (A,), (A,))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(moved, wanted, rtol=1e-12)


def test_what_is_returned_beside_a_solution_of_least_squares() -> None:
    for name in ("lsqr", "lsmr"):
        wanted = getattr(scipy.sparse.linalg, name)(WIDE, np.ones(4))
        found: list[Any] = []
        cadiff.grad(lambda b: found.append(getattr(linalg, name)(WIDE, b)) or b[0])(np.ones(4))  # noqa: B023
        assert [np.shape(x) for x in found[0]] == [np.shape(x) for x in wanted]


def test_lengths_of_columns_have_second_derivatives_where_an_entry_is_0() -> None:
    def f(x: Any) -> Any:
        return linalg.norm(made(sparse, x), axis=0)[0]

    x = np.array([0.0, 0, 0, 2, 0, 0, 0, 0])  # the first column is (x[0], x[3])
    assert f(x) == 2.0
    assert cadiff.hessian(f)(x)[0, 0] == 0.5


def test_precision_and_order_of_arrays() -> None:
    A = WIDE.astype(np.float32)
    x = np.arange(4, dtype=np.float32)
    found = cadiff.grad(lambda x: np.sum((A @ x) ** 2))(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 2.0 * (WIDE.T @ (WIDE @ x)), rtol=1e-5)
    X = np.arange(24.0).reshape(2, 12)[:, ::3]
    found = cadiff.grad(lambda X: np.sum((WIDE @ X.T) ** 2))(X)
    np.testing.assert_allclose(found, 2.0 * (WIDE.T @ (WIDE @ X.T)).T)


def test_matrices_of_whole_numbers_and_of_nothing() -> None:
    for A in (
        scipy.sparse.csr_array((np.arange(8), (ROWS, COLUMNS))),
        scipy.sparse.csr_array((3, 4)),
        WIDE[:0],
    ):
        found = cadiff.jacobian(lambda x, A=A: A @ x)(np.ones(4))
        np.testing.assert_array_equal(found, A.toarray())
    none = np.zeros(0, dtype=int)
    made = cadiff.jacobian(lambda v: sparse.csr_array((v, (none, none)), (2, 2)).toarray())
    assert made(np.zeros(0)).shape == (2, 2, 0)


X = np.arange(1.0, 5.0)
# Sparse arrays of one axis, which rows of a csr_array are, or of three.
VECTORS = {
    "row": lambda sp, v: made(sp, v)[1].toarray() * X,
    "row @ x": lambda sp, v: made(sp, v)[2] @ X,
    "x @ row": lambda sp, v: X @ made(sp, v)[2],
    "sum": lambda sp, v: made(sp, v)[0].sum(),
    "plus": lambda sp, v: (made(sp, v)[0] + scipy.sparse.coo_array(X)).toarray(),
    "times": lambda sp, v: (made(sp, v)[0] * X).toarray(),
    "twice": lambda sp, v: sp.coo_array((v, (COLUMNS,)), shape=(4,)).toarray(),
    "one row": lambda sp, v: sp.coo_array(made(sp, v)[[1]]) @ X,
    "a copy": lambda sp, v: copy.copy(made(sp, v))[0] @ X,
    "three axes": lambda sp, v: sp.expand_dims(made(sp, v), axis=1).toarray()[:, 0] @ X,
    "of three": lambda sp, v: sp.swapaxes(sp.expand_dims(made(sp, v)), 0, 2).sum(axis=1),
    "a deep copy": lambda sp, v: copy.deepcopy(made(sp, v)) @ X,
    "a list": lambda sp, v: sp.csr_array(([v[0], 2.0], ([0, 1], [0, 0]))).sum(),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    call, v = VECTORS[name], np.arange(1.0, 9.0)
    value, tangent = cadiff.jvp(lambda v: call(sparse, v), (v,), (v,))
    wanted, rest = call(scipy.sparse, v), call(scipy.sparse, 0.0 * v)
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_allclose(tangent, wanted - rest, rtol=1e-14)


# --- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "max": (lambda A: A.max(), MissingRuleError, r"A\.data"),
    "a comparison": (lambda A: A > 0.0, MissingRuleError, "not compared"),
    "equality": (lambda A: A == A, MissingRuleError, "not compared"),
    "an assignment": (lambda A: A.__setitem__((0, 0), 1.0), MissingRuleError, "nor assigned"),
    "a shape": (lambda A: A @ np.ones(3), ValueError, "dimension mismatch"),
    "a shape of two": (lambda A: A @ A[:2], ValueError, "dimension mismatch"),
    "a sum with a number": (lambda A: A + 1.0, NotImplementedError, r"toarray\(\) \+ x"),
    "a function of NumPy's": (np.cos, MissingRuleError, "numpy.cos"),
    "a function without rules": (linalg.onenormest, MissingRuleError, "sparse.linalg.onenormest"),
    "another module's": (
        lambda A: linalg.spsolve(A[:3], np.ones(3)), ValueError, "must be square",
    ),
    "L of splu": (lambda A: linalg.splu(A).L, MissingRuleError, "derivatives of L and U"),
    "spilu": (linalg.spilu, MissingRuleError, "what it drops"),
    "times": (lambda A: linalg.expm_multiply(A, X, 0.0, 1.0, num=3), TypeError, "for t in times"),
    "two matrices": (lambda A: linalg.eigsh(A, k=1, M=WIDE), TypeError, "not with M"),
    "SciPy's function": (lambda A: scipy.sparse.vstack([A, A]), TypeError, "cadiff.scipy.sparse"),
    "SciPy's class": (
        lambda A: scipy.sparse.csr_array((A.data, (ROWS, COLUMNS))), TypeError,
        "cadiff.scipy.sparse.csr_array makes",
    ),
    "a first guess": (lambda A: linalg.cg(A, np.ones(4), x0=A.data), MissingRuleError, "value"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_write_instead(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        cadiff.grad(lambda v: call(made(sparse, v + 5.0 * np.equal(ROWS, COLUMNS))))(np.ones(8))


def test_operators_wait_for_the_library() -> None:
    """SciPy's matrices answer numbers whoever imports first, and cadiff imports no SciPy."""
    isolated(
        "import sys, cadiff; assert 'scipy' not in sys.modules\n"
        "import numpy as np, scipy.sparse\n"
        "A = scipy.sparse.eye_array(3, format='csr')\n"
        "assert cadiff.grad(lambda x: (A @ x).sum())(np.ones(3)).tolist() == [1.0] * 3\n"
        "assert cadiff.grad(lambda x: (x @ A).sum())(np.ones(3)).tolist() == [1.0] * 3\n"
    )


@pytest.mark.parametrize(
    "matrix",
    [
        scipy.sparse.spdiags(np.arange(1.0, 13.0).reshape(2, 6), [1, -1], 4, 4),
        scipy.sparse.dia_array((np.arange(1.0, 11.0).reshape(2, 5), [0, 2]), shape=(4, 4)),
        scipy.sparse.dia_array((np.arange(1.0, 13.0).reshape(2, 6), [3, -2]), shape=(4, 5)),
        scipy.sparse.bsr_array(np.kron(np.eye(2), np.arange(4.0).reshape(2, 2))),
    ],
)
def test_cotangents_go_through_all_entries_of_wide_diagonals(matrix: Any) -> None:
    """SciPy's own transposes lose some of them."""
    dense, x = matrix.toarray(), np.arange(1.0, 1.0 + matrix.shape[1])

    def f(x: Any) -> Any:
        return ((matrix @ x - 1.0) ** 2).sum()

    for gradient in (cadiff.grad(f), cadiff.compile(f).grad):
        expected = 2.0 * dense.T @ (dense @ x - 1.0)
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda A, m: (A @ A).toarray(),
        lambda A, m: (A + A.T).toarray(),
        lambda A, m: m.linalg.matrix_power(A, 3).toarray(),
        lambda A, m: m.linalg.norm(A),
        lambda A, m: m.linalg.norm(A, -1),
        lambda A, m: m.kron(A, A).toarray(),
        lambda A, m: A.sum(axis=0),
    ],
)
def test_single_precision(f: Any) -> None:
    a = np.array([[1.0, 0.0, 2.0], [0.5, 3.0, 0.0], [0.0, 0.0, 1.5]], dtype=np.float32)
    ours, plain = (lambda a, m=m: f(m.csr_array(a), m) for m in (sparse, scipy.sparse))
    wanted = np.asarray(plain(a))
    assert wanted.dtype == np.float32
    for got in map(np.asarray, (cadiff.vjp(ours, a)[0], cadiff.compile(ours)(a))):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
