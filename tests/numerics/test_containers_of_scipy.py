"""Objects of SciPy's made of numbers with derivatives: the parts are SciPy's, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse
import scipy.sparse.linalg

import cadiff
import cadiff.scipy.interpolate
import cadiff.scipy.sparse

from ..helpers.differences import check_slope

sparse, own = cadiff.scipy.sparse, cadiff.scipy.interpolate

# --- sparse matrices -----------------------------------------------------------------------------

DATA = np.array([1.5, -2.0, 0.0, 3.0, 4.0, -1.0, 2.5])
WAY = np.array([0.3, 1.1, -0.7, 0.2, 0.5, -0.4, 0.9])
ROWS, COLUMNS = np.array([0, 2, 0, 2, 3, 3, 0]), np.array([1, 0, 1, 0, 2, 2, 0])  # three twice
INDICES, ENDS = (
    np.array([2, 0, 1, 1, 0, 1, 1]),
    np.array([0, 2, 2, 5, 7]),
)  # in no order, twice
KINDS = ("array", "matrix")

MATRICES: dict[str, Callable[[Any, Any], Any]] = {
    f"{form}_{kind}": lambda m, d, name=f"{form}_{kind}": getattr(m, name)(
        (d, (ROWS.copy(), COLUMNS.copy())), shape=(4, 3)
    )
    for form in ("coo", "csr", "csc", "bsr")
    for kind in KINDS
}
MATRICES |= {
    f"{form}_{kind} by ends": lambda m, d, name=f"{form}_{kind}", shape=shape: getattr(m, name)(
        (d, INDICES.copy(), ENDS.copy()), shape=shape
    )
    for form, shape in (("csr", (4, 3)), ("csc", (3, 4)))
    for kind in KINDS
}
PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "data": lambda m, A: A.data,
    "nnz": lambda m, A: A.nnz,
    "coordinates": lambda m, A: (A.tocoo().row, A.tocoo().col, A.tocoo().data),
    "find": lambda m, A: m.find(A),
    "copy": lambda m, A: A.copy().data,
    "twice": lambda m, A: (2.0 * A).data,
    "half": lambda m, A: (A / 2.0).data,
    "minus": lambda m, A: (-A).data,
    "real": lambda m, A: A.conj().data,
    "transposed": lambda m, A: A.T.data,
    "rows": lambda m, A: A.tocsr()[[2, 0]].data,
    "slice": lambda m, A: A.tocsr()[1:].toarray(),
    "to csr": lambda m, A: A.tocsr().data,
    "to csc": lambda m, A: (A.tocsc().data, A.tocsc().indices),
    "as coo_matrix": lambda m, A: m.coo_matrix(A).data,
    "as csr_array": lambda m, A: m.csr_array(A).data,
    "squares": lambda m, A: A.power(2).data,
    "diagonal": lambda m, A: A.diagonal(),
    "sums": lambda m, A: np.ravel(A.sum(axis=1)),
}


def parts_of(m: Any, name: str, part: str, data: Any) -> list[Any]:
    found = PARTS[part](m, MATRICES[name](m, data))
    return [*found] if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", MATRICES)
def test_parts_of_sparse_matrices(name: str, part: str) -> None:
    def f(data: Any) -> Any:
        return parts_of(sparse, name, part, data)

    values, tangents = cadiff.jvp(f, (DATA,), (WAY,))
    wanted = parts_of(scipy.sparse, name, part, DATA.copy())
    if part != "find":  # which leaves out what is 0, but not what a complex step has moved
        steps = parts_of(scipy.sparse, name, part, DATA + 1e-200j * WAY)
        if part == "real":
            steps = [np.conj(step) for step in steps]
        for step, tangent in zip(steps, tangents, strict=True):
            np.testing.assert_allclose(tangent, np.imag(step) / 1e-200, rtol=1e-14, atol=1e-14)
    for value, want in zip(values, wanted, strict=True):
        np.testing.assert_array_equal(value, want)


def test_find_of_others_in_programs() -> None:
    def f(data: Any) -> Any:
        rows, _, values = sparse.find(MATRICES["csc_array"](sparse, data))
        return np.sum(values**3 * (1.0 + rows))

    program = cadiff.compile(f)
    for data in (DATA, DATA + 1.0, np.where(ROWS == 3, 0.0, DATA), DATA):
        assert program(data) == pytest.approx(f(data), rel=1e-14)
        np.testing.assert_allclose(program.grad(data), cadiff.grad(f)(data), rtol=1e-14)


def test_vectors_keep_what_they_are_sliced_of() -> None:
    where = np.array([0, 3, 2])
    data = np.array([1.5, -2.0, 3.0])

    def f(m: Any, data: Any) -> Any:
        vector = m.csr_array((data, (where,)), shape=(5,))
        turned = vector[::-1]
        crossed = (m.csr_array(np.eye(5)) @ turned).toarray()
        return turned.toarray(), crossed, vector.toarray(), vector @ turned

    wanted = f(scipy.sparse, data)
    values, tangents = cadiff.jvp(lambda d: f(sparse, d), (data,), (data,))
    for value, tangent, want in zip(values, tangents, wanted, strict=True):
        np.testing.assert_array_equal(value, want)
        np.testing.assert_allclose(tangent, (1.0 if np.ndim(want) else 2.0) * want, rtol=1e-15)

    def twice(data: Any) -> Any:
        places = np.array([0, 2, 0])
        found = sparse.coo_array((data, (places,)), shape=(3,)).toarray()
        assert places.tolist() == [0, 2, 0]
        return found

    np.testing.assert_array_equal(cadiff.jacobian(twice)(data), [[1, 0, 1], [0, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("name", ["spilu", "splu", "factorized", "expm"])
def test_functions_of_scipys_name_ours(name: str) -> None:
    def f(data: Any) -> Any:
        return getattr(scipy.sparse.linalg, name)(sparse.csc_array((data, ([0, 1], [0, 1]))))

    with pytest.raises(TypeError, match=f"write cadiff.scipy.sparse.linalg.{name}, after `import"):
        cadiff.grad(f)(np.ones(2))


@pytest.mark.parametrize("name", ["ravel", "sum", "cumsum"])
def test_sparse_numbers_are_no_arrays(name: str) -> None:
    def f(x: Any) -> Any:
        return getattr(cadiff.numpy, name)(
            scipy.sparse.csr_matrix(np.eye(4)) / cadiff.numpy.ravel(x)
        )

    with pytest.raises(TypeError, match=r"no array: write A\.toarray\(\)"):
        cadiff.grad(f)(np.ones((2, 2)))
    made = cadiff.grad(lambda x: sparse.csr_array(np.eye(2)).multiply(x).toarray().sum())
    np.testing.assert_array_equal(made(np.ones((2, 2))), np.eye(2))


# --- piecewise polynomials -----------------------------------------------------------------------

KNOTS = np.array([0.0, 1.0, 2.0, 3.0])
FLAT_AFTER = np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 2.0]])  # a root at a knot, then a jump
AT_KNOTS = np.array([[2.0, 1.0, -1.0], [-1.0, 1.0, 2.0]])  # a knot with two slopes


def solved(m: Any, c: Any, y: Any, **how: Any) -> Any:
    return m.PPoly(c, KNOTS).solve(y, **how)


@pytest.mark.parametrize(
    ("c", "y", "slopes"),
    [
        (FLAT_AFTER, 1.0, [1.0, -1.0]),  # by y, of the piece that has the root
        (FLAT_AFTER, 1.5, [0.0, -1.0]),  # a jump over it
        (AT_KNOTS, 0.0, [0.5]),
        (AT_KNOTS, 1.0, [1.0, -1.0]),
        (np.array([[1.0, 1.0, 0.0], [-2.0, 0.0, 0.0], [1.0, 0.0, 5.0]]), 0.0, [-np.inf]),
    ],
)
def test_solutions_at_knots(c: Any, y: float, slopes: list[float]) -> None:
    wanted = solved(scipy.interpolate, c, y, extrapolate=False)
    value, tangent = cadiff.jvp(lambda y: solved(own, c, y, extrapolate=False), (y,), (1.0,))
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(tangent, slopes, rtol=1e-9)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0])])
def test_residuals_of_splines_of_least_squares(weights: Any) -> None:
    x, y = np.arange(6.0), np.array([1.0, -1.0, 2.0, 0.0, 3.0, 1.0])

    def f(m: Any, y: Any) -> Any:
        return m.LSQUnivariateSpline(x, y, [2.5], k=2, w=weights).get_residual()

    ours, plain = (lambda y, m=m: f(m, y) for m in (own, scipy.interpolate))
    for e in np.eye(6):
        check_slope(ours, plain, y, 1e-7, e)


def test_design_matrix_of_numbers_with_derivatives() -> None:
    knots = np.array([0, 0, 0, 0, 1, 2, 3, 3, 3, 3.0])
    c, x = np.arange(6.0) ** 2, np.array([0.5, 1.5, 2.9])
    spline = scipy.interpolate.BSpline(knots, c, 3)

    def values(x: Any) -> Any:
        return own.BSpline.design_matrix(x, knots, 3) @ c

    np.testing.assert_allclose(values(x), spline(x), rtol=1e-14)
    slopes = np.diag(spline.derivative()(x))
    jacobians = cadiff.jacobian(values), cadiff.jacfwd(values), cadiff.compile(values).jacobian
    for jacobian in jacobians:
        np.testing.assert_allclose(jacobian(x), slopes, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
def test_numbers_that_fill_what_lies_outside(method: str) -> None:
    grid, how = np.arange(5.0), {"method": method, "bounds_error": False}

    def f(fill: Any) -> Any:
        made = own.RegularGridInterpolator((grid,), grid**2, fill_value=fill, **how)
        return np.sum(made(np.array([[9.0], [1.0], [-1.0]])))

    assert cadiff.value_and_grad(f)(3.0) == (7.0, 2.0)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        (scipy.sparse.linalg.spsolve, {}),
        (sparse.linalg.spsolve, {}),
        (None, {"rtol": 1e-14, "atol": 1e-14}),
        (scipy.sparse.linalg.gmres, {"rtol": 1e-3}),
    ],
)
def test_splines_on_a_grid_are_found_by_the_solver_that_is_asked_for(
    solver: Any, options: dict[str, Any]
) -> None:
    """Its tolerance is seen in values; an exact one has the same as a direct solution."""
    grid, x = (np.arange(6.0), np.arange(6.0)), np.linspace(0.3, 2.0, 36).reshape(6, 6) ** 3

    def f(m: Any, x: Any, solver: Any) -> Any:
        how = {"method": "quintic", "solver": solver, "solver_args": options}
        return m.RegularGridInterpolator(grid, x, **how)(np.array([[0.3, 0.7], [4.2, 2.2]]))

    plain = getattr(scipy.sparse.linalg, solver.__name__) if solver else None
    found = cadiff.jvp(lambda x: f(own, x, solver), (x,), (x,))[0]
    np.testing.assert_array_equal(found, f(scipy.interpolate, x, plain))


# --- radial functions ----------------------------------------------------------------------------

NODES = np.array([[0.1, 0.4], [0.7, -0.3], [-0.5, 0.9], [1.2, 0.8], [-0.9, -0.6], [0.3, -1.1]])
HEIGHTS = np.array([0.3, -0.8, 1.4, 0.2, -0.5, 0.9])


KERNELS = ("multiquadric", "inverse_multiquadric", "inverse_quadratic", "gaussian", "cubic")


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        *(("Rbf", kernel) for kernel in ("multiquadric", "inverse", "gaussian")),
        *(("RBFInterpolator", kernel) for kernel in KERNELS),
    ],
)
def test_second_derivatives_at_nodes_of_radial_functions(name: str, kernel: str) -> None:
    """A distance has none where it is 0, its square has one; so have smooth functions of that."""
    if name == "RBFInterpolator" and not hasattr(scipy.interpolate._rbfinterp, "_get_backend"):
        pytest.skip("before SciPy 1.17 it has no derivatives by the points")

    def at(module: Any, x: Any) -> Any:
        if name == "Rbf":
            return module.Rbf(*NODES.T, HEIGHTS, function=kernel, epsilon=1.3)(x[0], x[1])
        made = module.RBFInterpolator(NODES, HEIGHTS, kernel=kernel, epsilon=1.3)
        return made(x.reshape(1, 2))[0]

    found = cadiff.hessian(lambda x: at(own, x))(NODES[1])
    h = 1e-3 * np.eye(2)
    f = np.array([[at(scipy.interpolate, NODES[1] + a + b) for b in (*h, *-h)] for a in (*h, *-h)])
    wanted = (f[:2, :2] - f[:2, 2:] - f[2:, :2] + f[2:, 2:]) / 4e-6
    np.testing.assert_allclose(found, wanted, rtol=2e-2 if kernel == "cubic" else 1e-3, atol=1e-3)
