"""Sparse Jacobians and Hessians: structure, colourings, and numbers against the dense ones."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import cadiff
from benchmarks.linear_contests import broyden as broyden_of_numbers
from benchmarks.linear_contests import broyden_of_arrays as broyden
from cadiff import binding
from cadiff import numpy as cnp
from cadiff.binding import Pattern

from ..helpers import functions
from ..helpers.patterns import mask_of
from ..helpers.processes import isolated
from ..helpers.programs import runs_of

FORMATS = {"csr": sparse.csr_array, "csc": sparse.csc_array, "coo": sparse.coo_array}

# --- functions ---------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def arrowhead(x: Any) -> Any:
    total = cadiff.exp(x[0])
    for i in range(1, len(x)):
        total = total + x[0] ** 2 * x[i] ** 3
    return total


def blocks(x: Any) -> Any:
    """Of three numbers each."""
    total = 0.0
    for i in range(0, len(x) - 2, 3):
        total = total + cadiff.sin(x[i] * x[i + 1] * x[i + 2])
    return total


def dense(x: Any) -> Any:
    return cadiff.log((x**2).sum() + 1.0)


def banded(x: Any) -> Any:
    return cadiff.tanh(x[2:] * x[1:-1] + x[:-2] * 0.5)


def arrow_rows(x: Any) -> Any:
    """The first column and the diagonal; the last row is full."""
    return [*(x[0] * x[i] + x[i] ** 2 for i in range(len(x))), x.sum() * x[1]]


MATRIX = np.random.default_rng(1).normal(size=(40, 30))


def network(x: Any) -> Any:
    return cadiff.tanh(MATRIX.T @ cadiff.tanh(MATRIX @ x[:30]))


def of_all(x: Any) -> Any:
    """Few results of many inputs, so that rows take less work."""
    y = cadiff.sin(x)
    for _ in range(3):
        y = cadiff.tanh(y[1:] * y[:-1] + y.sum())
    return [y.sum(), (y * y).sum()]


LEAST = {network: 30, banded: 3, of_all: 5}  # of numbers, where not 2 or 1 will do
JACOBIANS = [broyden, broyden_of_numbers, banded, arrow_rows, network, of_all]
HESSIANS = [rosenbrock, functions.rosenbrock, arrowhead, blocks, dense]
CASES = [("jacobian", f, n) for f in JACOBIANS for n in (2, 3, 30, 200) if n >= LEAST.get(f, 2)]
CASES += [("hessian", f, n) for f in HESSIANS for n in (1, 3, 30, 120)]


def dense_of(what: str, f: Callable[..., Any], x: Any) -> np.ndarray:
    matrix = np.asarray(getattr(cadiff, what)(f)(x))
    return matrix.reshape(-1, np.size(x))


def sparse_of(what: str, f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return getattr(cadiff, f"sparse_{what}")(f, **options)


def check(what: str, f: Callable[..., Any], x: Any) -> None:
    """Sparse and dense matrices of a function, and of a program, are the same."""
    expected = dense_of(what, f, x)
    matrix = sparse_of(what, f)(x)
    assert matrix.shape == expected.shape
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    assert_allclose(matrix.toarray(), expected, rtol=1e-10, atol=1e-12 * scale)
    program = cadiff.compile(f)
    found = np.asarray(getattr(program, what)(x)).reshape(expected.shape)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * scale)
    found = getattr(program, f"sparse_{what}")(x)
    assert_allclose(found.toarray(), matrix.toarray(), rtol=1e-10, atol=1e-12 * scale)


# --- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "f", "n"), CASES)
def test_sparse_matrices_are_the_dense_ones(what: str, f: Callable[..., Any], n: int) -> None:
    check(what, f, np.linspace(-1.0, 1.3, n))


@pytest.mark.parametrize("n", [1, 4, 20])
def test_ties_and_nans_of_maxima(n: int) -> None:
    def f(x: Any) -> Any:
        return cadiff.maximum(x, x[0])

    for x in (np.resize([1.0, 2.0, 1.0, np.nan, 0.5], n), 3.0 * np.cos(np.arange(n))):
        check("jacobian", f, x)
        check("hessian", lambda x: (f(x) * f(x)).sum(), x)


def test_the_structure_is_that_of_a_tridiagonal_matrix() -> None:
    n = 50
    expected = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
    for f in (broyden, broyden_of_numbers):
        assert_array_equal(mask_of(cadiff.sparse_jacobian(f)(np.ones(n))), expected)
    for f in (rosenbrock, functions.rosenbrock):  # zeros at this point are there
        assert_array_equal(mask_of(cadiff.sparse_hessian(f)(np.zeros(n))), expected)


def test_exact_zeros_are_no_entries_and_zeros_at_a_point_are() -> None:
    def f(x: Any) -> Any:
        return [
            cadiff.floor(x[0]) + x[1] ** 2,
            cadiff.maximum(x[1], x[2]),
            cadiff.sign(x[2]),
            0.0 * x[0] + x[0] - cadiff.stop_gradient(x[1]),
            x[0] * x[2],
        ]

    matrix = cadiff.sparse_jacobian(f)(np.array([0.0, 0.0, 0.0]))
    rows = [matrix.indices[a:b].tolist() for a, b in itertools.pairwise(matrix.indptr)]
    assert rows == [[1], [1, 2], [], [0], [0, 2]]
    assert_array_equal(matrix.toarray()[4], [0.0, 0.0, 0.0])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("what", ["jacobian", "hessian"])
def test_all_formats(what: str, format: str) -> None:
    f = arrow_rows if what == "jacobian" else arrowhead
    x = np.linspace(0.5, 1.5, 7)
    s = sparse_of(what, f, format=format)
    for _ in range(3):
        matrix = s(x)
        assert type(matrix) is FORMATS[format]
        assert_allclose(matrix.toarray(), dense_of(what, f, x), rtol=1e-12, atol=1e-14)
        assert matrix.has_canonical_format
        indices = matrix.coords if format == "coo" else (matrix.indices, matrix.indptr)
        assert all(part.dtype == np.int32 for part in indices)
        if format != "coo":
            matrix.check_format(full_check=True)
        x = x * 1.1


@pytest.mark.parametrize("format", FORMATS)
def test_a_matrix_owns_what_it_consists_of(format: str) -> None:
    s = cadiff.sparse_jacobian(arrow_rows, format=format)
    x = np.array([0.0, 1.0, 2.0, 0.0])
    expected = s(x).toarray()
    matrix = s(x)
    matrix.eliminate_zeros()
    matrix.data[:] = np.nan
    for part in matrix.coords if format == "coo" else (matrix.indices, matrix.indptr):
        part[:] = 0
    assert_array_equal(s(x).toarray(), expected)
    other = s(x)
    other.data *= 2.0
    assert_array_equal(s(x).toarray(), expected)


# --- shapes and arguments ----------------------------------------------------------------------


def test_matrices_without_entries() -> None:
    assert cadiff.sparse_jacobian(lambda x: x)(np.zeros(0)).shape == (0, 0)
    assert cadiff.sparse_jacobian(lambda x: x[:0])(np.zeros(3)).shape == (0, 3)
    assert cadiff.sparse_jacobian(lambda x: np.ones(2))(np.zeros(3)).nnz == 0
    matrix = cadiff.sparse_hessian(lambda x: 2.0 * x[0])(np.zeros(3))
    assert matrix.shape == (3, 3)
    assert matrix.nnz == 0


def test_containers_and_arrays_count_as_vectors() -> None:
    def f(tree: Any) -> Any:
        return {"y": tree["w"] * tree["b"], "z": tree["b"] ** 2}

    w = np.arange(6.0).reshape(2, 3)
    matrix = cadiff.sparse_jacobian(f)({"w": w, "b": 2.0}).toarray()
    expected = np.zeros((7, 7))
    expected[range(6), range(6)] = 2.0
    expected[:6, 6] = w.ravel()
    expected[6, 6] = 4.0
    assert_array_equal(matrix, expected)
    assert_array_equal(cadiff.sparse_hessian(lambda x: x**3)(2.0).toarray(), [[12.0]])


def test_other_arguments_are_passed_on() -> None:
    s = cadiff.sparse_jacobian(lambda x, a, *, power: a * x**power)
    for a, power in [(2.0, 3), (3.0, 3), (3.0, 2)]:
        matrix = s(np.array([1.0, 2.0]), a, power=power)
        assert_allclose(matrix.diagonal(), a * power * np.array([1.0, 2.0]) ** (power - 1))


@pytest.mark.parametrize(
    ("first", "kwargs"),
    [(np.array([1.0, 2.0]), {"is_cube": True}), ([1.0, 2.0], {})],
)
def test_a_vector_alone_is_told_from_other_calls(first: Any, kwargs: dict[str, Any]) -> None:
    def f(x: Any, is_cube: bool = False) -> Any:
        return cnp.asarray(x) ** (3 if is_cube or isinstance(x, list) else 2)

    x = np.array([3.0, 5.0])
    s = cadiff.sparse_jacobian(f)
    for _ in range(2):
        assert_array_equal(s(first, **kwargs).diagonal(), [3.0, 12.0])
        assert_array_equal(s(x).diagonal(), 2.0 * x)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(1, 9, dtype=">f8"),
        np.arange(1.0, 17.0)[::2],
        np.arange(1, 9),
        list(map(float, range(1, 9))),
    ],
)
def test_vectors_of_other_kinds(x: Any) -> None:
    s = cadiff.sparse_jacobian(lambda x: cnp.asarray(x)[1:] * cnp.asarray(x)[:-1])
    expected = s(np.asarray(x, dtype=np.float64)).toarray()
    for _ in range(2):
        assert_array_equal(s(x).toarray(), expected)


def test_single_precision_stays() -> None:
    matrix = cadiff.sparse_jacobian(broyden)(np.ones(4, dtype=np.float32))
    assert matrix.dtype == np.float32
    assert cadiff.sparse_jacobian(broyden)(np.ones(4)).dtype == np.float64


def test_branches_give_other_structures() -> None:
    def f(x: Any) -> Any:
        return [x[0] * x[1] if x[0] > 0.0 else x[2] ** 2]

    s = cadiff.sparse_jacobian(f)
    for x in (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0])) * 2:
        assert_array_equal(s(x).toarray(), dense_of("jacobian", f, x))
        assert s(x).nnz == (2 if x[0] > 0.0 else 1)


def test_functions_that_cannot_be_replayed() -> None:
    def cube(x: Any) -> Any:
        return x ** (3 + 0 * int(cnp.isin(x, x).sum()))

    x = np.array([1.0, 2.0])
    for format in FORMATS:
        with pytest.warns(RuntimeWarning, match="runs its function eagerly"):
            matrix = cadiff.sparse_jacobian(cube, format=format)(x)
        assert_array_equal(matrix.toarray(), np.diag(3 * x**2))
        assert matrix.nnz == 2


def test_clear_forgets_what_was_recorded() -> None:
    jacobian = cadiff.sparse_jacobian(broyden)
    jacobian(np.ones(3))
    with runs_of(broyden) as runs:
        jacobian(np.ones(3))
        assert not runs
        jacobian.clear()
        jacobian(np.ones(3))
        assert runs


def test_transforms_pickle_and_bind() -> None:
    s = pickle.loads(pickle.dumps(cadiff.sparse_hessian(rosenbrock, format="csc")))
    x = np.linspace(0.0, 1.0, 5)
    assert_array_equal(s(x).toarray(), cadiff.sparse_hessian(rosenbrock)(x).toarray())
    assert type(s(x)) is sparse.csc_array


def test_programs_take_formats_and_sparsity() -> None:
    program, x = cadiff.compile(broyden), np.linspace(0.0, 1.0, 5)
    expected = cadiff.sparse_jacobian(broyden)(x).toarray()
    assert type(program.sparse_jacobian(x, format="csc")) is sparse.csc_array
    assert_array_equal(program.sparse_jacobian(x, format="csc").toarray(), expected)
    found = program.sparse_jacobian(x, sparsity=np.tril(np.ones((5, 5)))).toarray()
    assert_array_equal(found, np.tril(expected))


# --- given sparsity ----------------------------------------------------------------------------


@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (1, 0), (2, 0, 1)])
def test_by_other_arguments(argnums: Any) -> None:
    def f(x: Any, c: Any, y: Any) -> Any:
        return cnp.sin(x[1:]) * x[:-1] * c + y**2

    args = np.array([0.3, 0.5, 0.7]), 1.5, np.array([0.2, 0.4])
    program = cadiff.compile(f)
    several = argnums if isinstance(argnums, tuple) else (argnums,)
    blocks = [np.reshape(block, (2, -1)) for block in cadiff.jacobian(f, several)(*args)]
    found = program.sparse_jacobian(*args, argnums=argnums)
    np.testing.assert_allclose(found.toarray(), np.hstack(blocks), rtol=1e-14)

    def total(x: Any, c: Any, y: Any) -> Any:
        return cnp.sum(f(x, c, y) ** 2)

    rows = cadiff.hessian(total, several)(*args)
    sizes = [np.size(args[k]) for k in several]
    dense = np.block(
        [
            [np.reshape(block, (n, m)) for block, m in zip(row, sizes, strict=True)]
            for row, n in zip(rows, sizes, strict=True)
        ]
    )
    found = cadiff.compile(total).sparse_hessian(*args, argnums=argnums)
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-13)


@pytest.mark.parametrize("f", [broyden, arrow_rows, network])
def test_a_given_sparsity_is_what_is_computed(f: Callable[..., Any]) -> None:
    x = np.linspace(-1.0, 1.0, 30)
    expected = dense_of("jacobian", f, x)
    wanted = np.random.default_rng(2).random(expected.shape) < 0.3
    given_as = [wanted, sparse.csr_array(wanted), sparse.coo_array(wanted), wanted.nonzero()]
    for sparsity in given_as:
        for format in FORMATS:
            matrix = cadiff.sparse_jacobian(f, sparsity=sparsity, format=format)(x)
            assert matrix.nnz == wanted.sum()
            assert_allclose(
                matrix.toarray(), np.where(wanted, expected, 0.0), rtol=1e-10, atol=1e-12
            )


@pytest.mark.parametrize(
    "sparsity",
    [
        sparse.csr_array((np.zeros(2), [0, 1], [0, 1, 2]), shape=(2, 2)),  # explicit zeros
        ([1, 0, 1], [1, 0, 1]),  # an entry that is named twice
    ],
)
def test_each_entry_that_is_named_is_there_once(sparsity: Any) -> None:
    s = cadiff.sparse_jacobian(lambda x: x**2, sparsity=sparsity)
    assert_array_equal(s(np.array([1.0, 2.0])).data, [2.0, 4.0])


def test_the_lower_triangle_of_a_hessian() -> None:
    x = np.linspace(0.5, 1.0, 6)
    lower = np.tril(np.ones((6, 6), dtype=bool))
    for f in (rosenbrock, dense):
        matrix = cadiff.sparse_hessian(f, sparsity=lower)(x)
        assert_allclose(matrix.toarray(), np.tril(cadiff.hessian(f)(x)), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("sparsity", "error", "message"),
    [
        (np.ones((3, 2)), ValueError, r"shape \(3, 2\), but the Jacobian has the shape \(3, 3\)"),
        (([3], [0]), ValueError, "names row 3"),
        (([0], [-1]), ValueError, "names column -1"),
        (([0], [0, 1]), ValueError, "but 2 columns"),
        ("csr", TypeError, "sparsity is a matrix of scipy.sparse"),
        (np.ones(3), TypeError, "sparsity is a matrix of scipy.sparse"),
        (([0.5], [0]), TypeError, "vectors of ints"),
    ],
)
def test_what_is_no_sparsity_is_refused(sparsity: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        cadiff.sparse_jacobian(broyden, sparsity=sparsity)(np.zeros(3))


def test_other_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match='format is "csr", "csc" or "coo"'):
        cadiff.sparse_jacobian(broyden, format="dense")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="function"):
        cadiff.sparse_hessian(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="jacobian"):
        cadiff.sparse_hessian(broyden)(np.zeros(3))
    for result, name in (("a", "str"), (None, "NoneType; is a return missing"), (["a"], "str")):
        no_numbers = cadiff.sparse_jacobian(lambda x, result=result: result)
        for _ in range(2):
            with pytest.raises(TypeError, match=f"must be real numbers or .* not {name}"):
                no_numbers(np.zeros(3))
    with pytest.raises(TypeError, match="cannot be differentiated"):
        cadiff.grad(lambda x: cadiff.sparse_jacobian(broyden)(x).sum())(np.zeros(3))


def test_without_scipy_the_error_says_what_to_install() -> None:
    text = (
        "import sys; sys.modules['scipy'] = None\n"
        "import cadiff, numpy\n"
        "try:\n    cadiff.sparse_jacobian(lambda x: x)(numpy.zeros(2))\n"
        "except ImportError as error:\n    print(error)\n"
    )
    assert "pip install scipy" in isolated(text)


# --- colourings --------------------------------------------------------------------------------


def pattern_of(matrix: np.ndarray) -> Pattern:
    return Pattern(matrix.shape, *np.nonzero(matrix))


@st.composite
def matrices(draw: Any, symmetric: bool = False) -> np.ndarray:
    m = draw(st.integers(0, 12))
    n = m if symmetric else draw(st.integers(0, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    density = draw(st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0]))
    matrix = np.random.default_rng(seed).random((m, n)) < density
    return (matrix | matrix.T) if symmetric else matrix


def arrow_matrix(n: int) -> np.ndarray:
    matrix = np.eye(n, dtype=bool)
    matrix[0] = matrix[:, 0] = True
    return matrix


def band_matrix(n: int, width: int) -> np.ndarray:
    i = np.arange(n)
    return np.abs(i[:, None] - i) <= width


@given(matrices())
def test_patterns_are_in_order(matrix: np.ndarray) -> None:
    rows, columns = np.nonzero(matrix)
    order = np.random.default_rng(0).permutation(len(rows))
    pattern = Pattern(matrix.shape, rows[order], columns[order])
    expected = sparse.csr_array(matrix)
    assert_array_equal(pattern.indptr, expected.indptr)
    assert_array_equal(pattern.indices, expected.indices)
    assert_array_equal(pattern.rows(), rows)
    transposed = pattern.transposed()
    assert_array_equal(transposed.indices, sparse.csr_array(matrix.T).indices)
    i, j = np.indices(matrix.shape).reshape(2, -1)
    assert_array_equal(pattern.find(i, j) >= 0, matrix.ravel())


@given(matrices())
def test_no_row_has_two_entries_of_a_colour(matrix: np.ndarray) -> None:
    colors, n_colors = pattern_of(matrix).color_columns()
    assert np.all(colors < n_colors) if len(colors) else n_colors == 0
    for row in matrix:
        found = colors[row]
        assert len(set(found.tolist())) == len(found)


@given(matrices(symmetric=True))
def test_star_colourings_are_stars_and_can_be_read(matrix: np.ndarray) -> None:
    pattern = pattern_of(matrix)
    colors, n_colors, rows, lanes = pattern.color_star()
    n = len(matrix)
    for i, j in zip(*np.nonzero(matrix), strict=True):
        assert i == j or colors[i] != colors[j]
        for k in np.flatnonzero(matrix[j]):
            for m in np.flatnonzero(matrix[k]):
                if len({i, j, k, m}) == 4:
                    assert len({colors[i], colors[j], colors[k], colors[m]}) >= 3
    values = np.where(matrix, np.random.default_rng(1).normal(size=(n, n)), 0.0)
    values = values + values.T
    seeds = np.zeros((n, n_colors))
    seeds[np.arange(n), colors] = 1.0
    assert_allclose((values @ seeds)[rows, lanes], values[np.nonzero(matrix)], atol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "of_columns", "of_stars"),
    [
        (band_matrix(200, 1), 3, 3),
        (band_matrix(200, 2), 5, None),
        (arrow_matrix(200), 200, 2),
        (np.eye(50, dtype=bool), 1, 1),
        (np.ones((20, 20), dtype=bool), 20, 20),
        (np.ones((300, 300), dtype=bool), 300, 300),
    ],
)
def test_few_colours(matrix: np.ndarray, of_columns: int, of_stars: int | None) -> None:
    pattern = pattern_of(matrix)
    assert pattern.color_columns()[1] <= of_columns
    assert of_stars is None or pattern.color_star()[1] <= of_stars


# --- products with few directions, for what is too much entry by entry --------------------------


def wide(x: Any) -> Any:
    """Rows of a product that are all dense within, but few of which are kept apart."""
    parts = [cadiff.tanh(LARGE @ cadiff.tanh(LARGE @ x[k : k + 60])) for k in range(0, len(x), 60)]
    return cnp.concatenate(parts)


LARGE = np.random.default_rng(3).normal(size=(60, 60)) / 8.0


def test_products_along_colours() -> None:
    check("jacobian", wide, np.linspace(-1.0, 1.0, 180))
    check("hessian", lambda x: (wide(x) ** 2).sum(), np.linspace(-1.0, 1.0, 120))


# Rows of tables that many observations share, by copies of them.

N_SEEN = 120
WHICH, WHERE = np.random.default_rng(5).integers(0, [[4], [9]], size=(2, N_SEEN))
OTHER = (WHERE + 1 + np.arange(N_SEEN) % 3) % 9
LEFT = np.arange(16).reshape(4, 4)


def turned(x: Any) -> Any:
    """Matrices and points, both gathered, multiplied."""
    table = x[:16].reshape(4, 2, 2)[WHICH]
    return cnp.einsum("nij,nj->ni", table, x[16:].reshape(9, 3)[WHERE][:, :2])


def by_rows(x: Any) -> Any:
    return cnp.linalg.norm(turned(x), axis=1)


def repeated(x: Any) -> Any:
    """Some rows have the same number twice."""
    points = x[16:].reshape(9, 3)
    apart = points[WHERE] - points[OTHER] * cnp.sin(points[(WHERE + 1) % 9])
    return cnp.linalg.norm(apart, axis=1)


def of_computed(x: Any) -> Any:
    """What is multiplied consists of numbers that were gathered, and of others."""
    table = cnp.stack([cnp.cos(x[:16]), x[:16]], axis=-1).reshape(8, 2, 2)[WHICH]
    return cnp.einsum("nij,nj->ni", table, x[16:].reshape(9, 3)[WHERE][:, 1:])


def and_as_it_is(x: Any) -> Any:
    """Copies beside the originals."""
    return cnp.concatenate([by_rows(x), x**2, turned(x)[:, 0] * x[0], cnp.tanh(x[LEFT[WHICH, 1]])])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("f", [turned, by_rows, repeated, of_computed, and_as_it_is])
def test_what_is_gathered_from_tables(f: Callable[..., Any], format: str) -> None:
    x = np.random.default_rng(6).normal(size=43)
    program = cadiff.compile(f)
    for point in (x, np.cos(x)):
        matrix = program.sparse_jacobian(point, format=format)
        assert_allclose(matrix.toarray(), dense_of("jacobian", f, point), rtol=1e-13, atol=1e-14)
    found = program.sparse_jacobian(x, format="coo")
    some = found.row % 3 > 0
    wanted = sparse.coo_array(
        (found.data[some], (found.row[some], found.col[some])), shape=found.shape
    )
    part = cadiff.sparse_jacobian(f, sparsity=wanted, format=format)(x)
    assert part.nnz == some.sum()
    assert_allclose(part.toarray(), wanted.toarray(), rtol=1e-13, atol=1e-14)


# Of long arrays few products are computed by one program.

MANY = 2100
PICKED = np.random.default_rng(8).integers(0, [[5], [40]], size=(2, MANY))


def elementwise(x: Any) -> Any:
    return cnp.exp(-0.1 * x) * cnp.sin(x) - 0.3 * x


def rows_summed(x: Any) -> Any:
    return cnp.sum(x.reshape(-1, 2) ** 2 * [1.0, -3.0], axis=1)


def picked_rows(x: Any) -> Any:
    matrices, points = x[:30].reshape(5, 2, 3)[PICKED[0]], x[30:].reshape(40, 3)[PICKED[1]]
    return cnp.einsum("nij,nj->ni", matrices, points)


def picked(x: Any) -> Any:
    return cnp.linalg.norm(picked_rows(x), axis=1)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("f", "n", "n_colors"),
    [(elementwise, MANY, 1), (rows_summed, 2 * MANY, 1), (picked, 150, 1), (picked_rows, 150, 2)],
)
def test_few_products_of_long_arrays(
    f: Callable[..., Any], n: int, n_colors: int, format: str
) -> None:
    x = np.random.default_rng(9).normal(size=n)
    program = cadiff.compile(f)
    for point in (x, np.cos(x)):
        found = program.sparse_jacobian(point, format=format)
        wanted = sparse.coo_array(dense_of("jacobian", f, point))
        assert found.nnz == wanted.nnz
        assert abs(found - wanted).max() < 1e-12
    found = program.sparse_jacobian(x, format="coo")
    some = sparse.coo_array((found.data[::3], (found.row[::3], found.col[::3])), shape=found.shape)
    part = cadiff.sparse_jacobian(f, sparsity=some, format=format)(x)
    assert abs(part - some).max() < 1e-12
    plans = [p for p in next(iter(program._traces)).codes.values() if hasattr(p, "n_colors")]
    for plan in plans:
        assert plan.n_colors == n_colors
        assert_array_equal(np.unique(plan.directions()), np.arange(n_colors))


@pytest.mark.parametrize("n_rows", [900, 850], ids=["columns", "rows"])
def test_whole_matrices_are_computed_as_they_stand(n_rows: int) -> None:
    def f(x: Any) -> Any:
        return (cnp.sum(cadiff.exp(x)) * cadiff.sin(x))[:n_rows]

    x = np.linspace(-1.0, 1.0, 900)
    program = cadiff.compile(f)
    for point in (x, 0.5 * x):
        scale = np.exp(point).sum()
        expected = np.outer(np.sin(point), np.exp(point)) + np.diag(scale * np.cos(point))
        assert_allclose(program.jacobian(point), expected[:n_rows], rtol=1e-12, atol=1e-12)
    entries = program.sparse_jacobian(x).toarray()
    assert_allclose(entries, cadiff.jacobian(f)(x), rtol=1e-12, atol=1e-12)
    (trace,) = program.stats()["traces"]
    assert trace["programs"]["dense jacobian"]["nbytes"] < n_rows * x.size * 8


def test_a_dense_matrix_of_a_banded_function_takes_little_more_than_the_matrix() -> None:
    """The first call, too, which is to find out how results are made of numbers."""
    x = np.linspace(-1.0, 1.0, 1200)
    size = x.size**2 * 8
    for method, f in (("jacobian", broyden), ("hessian", rosenbrock)):
        program = cadiff.compile(f)
        program(x)
        tracemalloc.start()
        try:
            matrix = getattr(program, method)(x)
            kept, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1.5 * size
        assert_allclose(matrix, getattr(cadiff, method)(f)(x), rtol=1e-12, atol=1e-12)
        code = program.stats()["traces"][0]["programs"][f"dense {method}"]
        assert kept < 1.5 * size
        assert code["nbytes"] < 0.1 * size


# --- random programs ---------------------------------------------------------------------------


@st.composite
def programs(draw: Any) -> Callable[[Any], Any]:
    """A function of a vector: arrays, elements, loops, branches, assignment."""
    seed = draw(st.integers(0, 2**32 - 1))
    length = draw(st.integers(1, 8))
    scalar = draw(st.booleans())

    def f(x: Any) -> Any:
        random = np.random.default_rng(seed)
        y = x * 1.0
        for _ in range(length):
            n = len(y)
            kind = random.integers(9)
            i, j = random.integers(n, size=2)
            if kind == 0:
                y = cadiff.sin(y) * y
            elif kind == 1:
                y = y[::-1] + y[i]
            elif kind == 2:
                y[i] = y[j] * y[i]
            elif kind == 3:
                y = cnp.concatenate([y[i:], x[: i + 1] * 2.0])
            elif kind == 4:
                y = y * (y[i] if y[j] > 0.1 else cadiff.cos(y[j]))
            elif kind == 5:
                y = cadiff.maximum(y, y[i]) + cadiff.floor(y)
            elif kind == 6:
                y = y[random.integers(n, size=n)] - 0.5 * y
            elif kind == 7:
                y = random.normal(size=(n, n)) * (random.random((n, n)) < 0.2) @ y
            else:
                y[i:] += y[: n - i] * y[j]
        return (y * y).sum() if scalar else y

    f.scalar = scalar  # type: ignore[attr-defined]
    return f


@given(programs(), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_random_programs(f: Any, n: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=n)
    check("hessian" if f.scalar else "jacobian", f, x)


def test_a_failing_allocation_is_survived() -> None:
    x = np.linspace(-1.0, 1.0, 12)
    expected = cadiff.sparse_hessian(rosenbrock)(x).toarray()
    call = cadiff.programs.recordings.Call((x,), {}, (0,))
    for successes in range(400):
        recorded = cadiff.programs.recordings.record(rosenbrock, call, True).recorded
        assert not isinstance(recorded, str)
        binding._core._fail_allocations_after(successes)
        try:
            plan = recorded.plan("hessian", call.ranges, "rows")
        except MemoryError:
            continue
        finally:
            binding._core._fail_allocations_after(-1)
        data = plan.evaluate(x)
        found = sparse.csr_array((data, plan.pattern.indices, plan.pattern.indptr), (12, 12))
        assert_array_equal(found.toarray(), expected)
        break
    else:
        pytest.fail("it never succeeded")
