"""Constraints with the Jacobians and Hessians that methods take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..numpy import asarray, dot
from ..transforms import flatten
from ._boxes import sides_of
from ._differences import relative_steps, steps_of
from ._objectives import Derivatives
from ._vectors import OF_VECTOR, FloatArray, Parameters, flat, flat_results

Function = Callable[..., Any]

WITH_SECOND = ("trust-constr", "ipopt")  # methods that take sparse Jacobians, and Hessians


class NonlinearConstraint(optimize.NonlinearConstraint):  # type: ignore[misc]
    """Numbers between bounds: `lb <= fun(x) <= ub`, with the exact Jacobian of fun.

    The parameters are those of `scipy.optimize.NonlinearConstraint`, whose object this is, so that
    SciPy's functions take it as well. `jac` is filled in if it is left out; so is `hess` in
    `cadiff.optimize.minimize(method="trust-constr")`, which takes both as sparse matrices where
    the structure is. (SciPy's own `minimize` approximates the Hessian, as it does by default.)

    Parameters
    ----------
    fun : callable
        `fun(x)` returns a number, an array or a container of numbers, of m in all.
    lb, ub : array_like
        Bounds, of shape (m,) or numbers, or a container as fun returns it; equal ones make an
        equation.
    jac, hess : callable or anything else that SciPy takes, optional
        As in SciPy. What is given here is used.
    keep_feasible : array_like of bool, optional
    finite_diff_rel_step, finite_diff_jac_sparsity : optional
        As in SciPy, for finite differences, if `jac` asks for them; the steps also where fun works
        with plain numbers alone.
    """

    def __init__(
        self,
        fun: Function,
        lb: Any,
        ub: Any,
        jac: Any = None,
        hess: Any = None,
        keep_feasible: Any = False,
        finite_diff_rel_step: Any = None,
        finite_diff_jac_sparsity: Any = None,
    ) -> None:
        self.given_jac, self.given_hess = jac, hess
        jac = self._jacobian if jac is None else jac
        how = keep_feasible, finite_diff_rel_step, finite_diff_jac_sparsity
        super().__init__(fun, lb, ub, jac, hess, *how)
        self._derivatives: Derivatives | None = None

    def _jacobian(self, x: FloatArray) -> Any:
        if self._derivatives is None:
            parameters = Parameters(x, "NonlinearConstraint")
            self._derivatives = Derivatives(self.fun, parameters, (), "NonlinearConstraint")
            self._derivatives.differences.steps = relative_steps(self.finite_diff_rel_step)
        return _jacobian_of(self._derivatives, False, x)


class LinearConstraint(optimize.LinearConstraint):  # type: ignore[misc]
    """Weighted sums between bounds: `lb <= A @ x <= ub`.

    The parameters are those of `scipy.optimize.LinearConstraint`, whose object this is, but for a
    row of A, which may be a container of the form of the parameters.

    Parameters
    ----------
    A : array_like or sparse matrix, shape (m, n); or container
        A column for each number of the vector that `cadiff.flatten` makes of the parameters. A
        dict or dataclass is one row, and a list of them are as many.
    lb, ub : array_like, optional
        Bounds, of shape (m,) or numbers; equal ones make an equation.
    keep_feasible : array_like of bool, optional
        As in SciPy.
    """

    def __init__(
        self, A: Any, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False
    ) -> None:
        super().__init__(_matrix_of(A), lb, ub, keep_feasible)


def _matrix_of(rows: Any) -> Any:
    if _is_row(rows):
        rows = [rows]
    elif not (isinstance(rows, (list, tuple)) and any(map(_is_row, rows))):
        return rows
    vectors = [flatten(row)[0] for row in rows]
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) > 1:
        raise ValueError(
            f"the rows of a LinearConstraint have one number for each of x0, not {lengths[0]} and "
            f"{lengths[-1]}"
        )
    return np.array(vectors)


def _is_row(part: Any) -> bool:
    return isinstance(part, Mapping) or (is_dataclass(part) and not isinstance(part, type))


def with_derivatives(
    constraints: Any, parameters: Parameters, method: str, kwargs: Mapping[str, Any]
) -> Any:
    """Constraints of vectors, with the derivatives that a method takes.

    `kwargs` are the arguments besides: of bounds and options differences are a matter.
    """
    if isinstance(constraints, Mapping):
        return _of_dict(constraints, parameters, method, kwargs)
    if isinstance(constraints, optimize.NonlinearConstraint):
        return _of_vector(constraints, parameters, method, kwargs)
    if isinstance(constraints, optimize.LinearConstraint):
        n, columns = len(parameters.vector), np.shape(constraints.A)[-1]
        if columns != n:
            raise ValueError(
                f"the matrix of a LinearConstraint has {columns} columns, but x0 has {n} numbers: "
                f"they are {OF_VECTOR}"
            )
        return constraints
    if callable(constraints):
        raise TypeError(
            "constraints are NonlinearConstraint(c, lb, ub), LinearConstraint(A, lb, ub), or "
            f"dicts as SciPy takes them, or a list of these, not {constraints!r}"
        )
    return [with_derivatives(one, parameters, method, kwargs) for one in constraints]


def has_jacobian(constraint: Any) -> bool:
    """Whether the user has given a function for the Jacobian, or there is a matrix."""
    if isinstance(constraint, NonlinearConstraint):
        return callable(constraint.given_jac)
    if isinstance(constraint, Mapping):
        return callable(constraint.get("jac"))
    return not isinstance(constraint, optimize.NonlinearConstraint) or callable(constraint.jac)


def are_sparse(constraints: Any, x: FloatArray) -> bool:
    """Whether some of the Jacobians are sparse at x: trust-constr then wants all to be."""
    if isinstance(constraints, (list, tuple)):
        return any(are_sparse(one, x) for one in constraints)
    if isinstance(constraints, Mapping):
        jac = constraints["jac"]
    elif isinstance(constraints, optimize.LinearConstraint):
        return hasattr(constraints.A, "nnz")
    else:
        jac = constraints.jac
    return callable(jac) and hasattr(jac(x), "nnz")


def _of_vector(
    constraint: Any, parameters: Parameters, method: str, kwargs: Mapping[str, Any]
) -> Any:
    is_own = isinstance(constraint, NonlinearConstraint)
    jac = constraint.given_jac if is_own else constraint.jac
    hess = constraint.given_hess if is_own else constraint.hess
    sides = flat(constraint.lb), flat(constraint.ub)
    of_numbers = _of_as_many(flat_results(constraint.fun), *sides)
    fun = parameters.of_vectors(of_numbers)
    may_be_sparse = method in WITH_SECOND
    if jac is None or (not is_own and jac == "2-point"):
        derivatives = Derivatives(of_numbers, parameters, (), "NonlinearConstraint")
        _put_differences(derivatives, method, kwargs, constraint.finite_diff_rel_step)
        fun = derivatives.value
        jac = partial(_jacobian_of, derivatives, may_be_sparse)
        if hess is None and may_be_sparse:
            hess = _hessian_of(derivatives, parameters.vector)
    elif callable(jac) and parameters.unflatten is not None:
        raise TypeError(
            "a constraint on parameters in containers has its jac filled in: leave it out"
        )
    if not may_be_sparse:
        hess = None  # methods that have no use for it warn of one
    how = constraint.finite_diff_rel_step, constraint.finite_diff_jac_sparsity
    return optimize.NonlinearConstraint(fun, *sides, jac, hess, constraint.keep_feasible, *how)


def _of_as_many(f: Function, lower: Any, upper: Any) -> Function:
    """A function that returns as many numbers as there are bounds, or raises."""

    def checked(*args: Any) -> Any:
        result = f(*args)
        for name, side in (("lb", lower), ("ub", upper)):
            if np.size(side) not in (1, np.size(result)):
                raise ValueError(
                    f"{name} has {np.size(side)} numbers, the constraint returned "
                    f"{np.size(result)}: bounds are numbers, or one for each"
                )
        return result

    checked.__wrapped__ = f  # type: ignore[attr-defined]
    return checked


def _put_differences(
    derivatives: Derivatives, method: str, kwargs: Mapping[str, Any], relative: Any = None
) -> None:
    """Say how differences are to be taken; relative steps by trust-constr alone, as in SciPy."""
    bounds = kwargs.get("bounds")
    derivatives.differences.steps = (
        relative_steps(relative)
        if method == "trust-constr"
        else steps_of(method, kwargs.get("options"))
    )
    if bounds is not None:
        derivatives.differences.stay_within(lambda: sides_of(bounds, derivatives.n))


def _of_dict(
    constraint: Mapping[str, Any], parameters: Parameters, method: str, others: Mapping[str, Any]
) -> Any:
    result = dict(constraint)
    if not callable(result.get("fun")):
        raise TypeError(
            'a constraint as a dict has a function under "fun" and "eq" or "ineq" under "type", '
            f"not {constraint!r}"
        )
    args = result.pop("args", ())
    derivatives = Derivatives(flat_results(result["fun"]), parameters, tuple(args), "minimize")
    _put_differences(derivatives, method, others)
    result["fun"] = derivatives.value
    derivative = result.get("jac")
    if derivative is None and method in WITH_SECOND and result.get("type") in ("eq", "ineq"):
        upper = 0.0 if result["type"] == "eq" else np.inf
        jac = partial(_jacobian_of, derivatives, True)
        hess = _hessian_of(derivatives, parameters.vector)
        return optimize.NonlinearConstraint(derivatives.value, 0.0, upper, jac, hess)
    if derivative is None:
        result["jac"] = partial(_jacobian_of, derivatives, method in WITH_SECOND)
    elif callable(derivative):
        result["fun"] = derivatives.plain_value
        result["jac"] = lambda x: derivative(parameters.given(x), *args)
    return result


def _jacobian_of(derivatives: Derivatives, may_be_sparse: bool, x: FloatArray) -> Any:
    matrix = derivatives.matrix("jacobian", x, may_be_sparse)
    return matrix if hasattr(matrix, "nnz") else np.reshape(matrix, (-1, len(x)))


def weighted(f: Function) -> Function:
    """The sum of what f returns, each number times its weight."""

    def weighted_sum(x: Any, weights: Any, *args: Any) -> Any:
        return dot(weights, asarray(f(x, *args)).reshape(-1))

    return weighted_sum


def _hessian_of(derivatives: Derivatives, x: FloatArray) -> Function | None:
    """`hess(x, v)`: of the constraints' sum with weights v; None where there is none at x."""
    places = Parameters(np.zeros(derivatives.n), "NonlinearConstraint")
    total = Derivatives(weighted(derivatives.program), places, (), "NonlinearConstraint")

    total.args = (np.ones(np.size(derivatives.value(x))), *derivatives.args)
    if not total.has_second_derivatives(x):
        return None

    def hessian(x: FloatArray, v: FloatArray) -> Any:
        total.args = (np.asarray(v, dtype=np.float64), *derivatives.args)
        return total.matrix("hessian", x)

    return hessian


# --- structures ----------------------------------------------------------------------------------

# Where sparse matrices have entries, as solvers in C are told once, and entries in that order.
Structure = tuple[NDArray[np.intp], NDArray[np.intp]]


class MissingEntryError(ValueError):
    """A matrix has an entry that its structure lacks, since f took another branch."""


def structure_of(matrix: Any) -> Structure:
    entries = matrix.tocoo()
    return entries.coords[0].astype(np.intp), entries.coords[1].astype(np.intp)


def entries(matrix: Any, structure: Structure, what: str) -> FloatArray:
    """Entries in the order of a structure, which may have more."""
    rows, columns = structure_of(matrix)
    if np.array_equal(rows, structure[0]) and np.array_equal(columns, structure[1]):
        return np.asarray(matrix.data)
    n = matrix.shape[1]
    known = structure[0] * n + structure[1]
    at = np.searchsorted(known, rows * n + columns)
    at[at == len(known)] = 0
    missing = known[at] != rows * n + columns if len(known) else np.ones(len(rows), dtype=bool)
    if np.any(missing):
        raise MissingEntryError(
            f"the {what} has an entry ({rows[missing][0]}, {columns[missing][0]}) that it did not "
            "have where its structure was found, since f took another branch: find the structure "
            "at an x0 where no entry is missing"
        )
    values = np.zeros(len(known))
    values[at] = matrix.data
    return values
