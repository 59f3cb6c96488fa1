"""Constraints with the Jacobians and Hessians that methods take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import optimize

from ..numpy import asarray, dot
from ._objectives import Derivatives
from ._vectors import FloatArray, Parameters

Function = Callable[..., Any]


class NonlinearConstraint(optimize.NonlinearConstraint):  # type: ignore[misc]
    """Numbers between bounds: `lb <= fun(x) <= ub`, with the exact Jacobian of fun.

    The parameters are those of `scipy.optimize.NonlinearConstraint`, whose object this is, so that
    SciPy's functions take it as well. `jac` is filled in if it is left out; so is `hess` in
    `cadiff.optimize.minimize(method="trust-constr")`, which takes both as sparse matrices where
    the structure is. (SciPy's own `minimize` approximates the Hessian, as it does by default.)

    Parameters
    ----------
    fun : callable
        `fun(x)` returns a number, an array or a list of numbers, of m in all.
    lb, ub : array_like
        Bounds, of shape (m,) or numbers; equal ones make an equation.
    jac, hess : callable or anything else that SciPy takes, optional
        As in SciPy. What is given here is used.
    keep_feasible : array_like of bool, optional
    finite_diff_rel_step, finite_diff_jac_sparsity : optional
        As in SciPy, for finite differences, if `jac` asks for them.
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
        super().__init__(
            fun,
            lb,
            ub,
            self._jacobian if jac is None else jac,
            hess,
            keep_feasible,
            finite_diff_rel_step,
            finite_diff_jac_sparsity,
        )
        self._derivatives: Derivatives | None = None

    def _jacobian(self, x: FloatArray) -> Any:
        if self._derivatives is None:
            parameters = Parameters(x, "NonlinearConstraint")
            self._derivatives = Derivatives(self.fun, parameters, (), "NonlinearConstraint")
        return _as_matrix(self._derivatives.matrix("jacobian", x, may_be_sparse=False), len(x))


def with_derivatives(constraints: Any, parameters: Parameters, method: str) -> Any:
    """Constraints of vectors, with the derivatives that a method takes."""
    if isinstance(constraints, Mapping):
        return _of_dict(constraints, parameters, method)
    if isinstance(constraints, optimize.NonlinearConstraint):
        return _of_vector(constraints, parameters, method)
    if isinstance(constraints, optimize.LinearConstraint):
        return constraints
    return [with_derivatives(one, parameters, method) for one in constraints]


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


def _of_vector(constraint: Any, parameters: Parameters, method: str) -> Any:
    is_own = isinstance(constraint, NonlinearConstraint)
    jac = constraint.given_jac if is_own else constraint.jac
    hess = constraint.given_hess if is_own else constraint.hess
    fun = parameters.of_vectors(constraint.fun)
    may_be_sparse = method == "trust-constr"
    if jac is None or (not is_own and jac == "2-point"):
        derivatives = Derivatives(constraint.fun, parameters, (), "NonlinearConstraint")
        fun = derivatives.value
        jac = _jacobian_of(derivatives, may_be_sparse)
        if hess is None and may_be_sparse:
            hess = _hessian_of(derivatives)
    elif callable(jac) and parameters.unflatten is not None:
        raise TypeError(
            "a constraint on parameters in containers has its jac filled in: leave it out"
        )
    if not may_be_sparse:
        hess = None  # methods that have no use for it warn of one
    return optimize.NonlinearConstraint(
        fun,
        constraint.lb,
        constraint.ub,
        jac,
        hess,
        constraint.keep_feasible,
        constraint.finite_diff_rel_step,
        constraint.finite_diff_jac_sparsity,
    )


def _of_dict(constraint: Mapping[str, Any], parameters: Parameters, method: str) -> Any:
    result = dict(constraint)
    if not callable(result.get("fun")):
        raise TypeError(
            'a constraint as a dict has a function under "fun" and "eq" or "ineq" under "type", '
            f"not {constraint!r}"
        )
    args = result.pop("args", ())
    derivatives = Derivatives(result["fun"], parameters, tuple(args), "minimize")
    result["fun"] = derivatives.value
    given = result.get("jac")
    if given is None and method == "trust-constr" and result.get("type") in ("eq", "ineq"):
        upper = 0.0 if result["type"] == "eq" else np.inf
        jac, hess = _jacobian_of(derivatives, may_be_sparse=True), _hessian_of(derivatives)
        return optimize.NonlinearConstraint(derivatives.value, 0.0, upper, jac, hess)
    if given is None:
        result["jac"] = _jacobian_of(derivatives, method == "trust-constr")
    elif callable(given):
        result["jac"] = lambda x: given(parameters.given(x), *args)
    return result


def _jacobian_of(derivatives: Derivatives, may_be_sparse: bool) -> Function:
    def jacobian(x: FloatArray) -> Any:
        return _as_matrix(derivatives.matrix("jacobian", x, may_be_sparse), len(x))

    return jacobian


def _as_matrix(jacobian: Any, n: int) -> Any:
    return jacobian if hasattr(jacobian, "nnz") else np.reshape(jacobian, (-1, n))


def weighted(f: Function) -> Function:
    """The sum of what f returns, each number times its weight."""

    def weighted_sum(x: Any, weights: Any, *args: Any) -> Any:
        return dot(weights, asarray(f(x, *args)).reshape(-1))

    return weighted_sum


def _hessian_of(derivatives: Derivatives) -> Function:
    """`hess(x, v)`: of the constraints' sum with weights v."""
    places = Parameters(np.zeros(derivatives.n), "NonlinearConstraint")
    total = Derivatives(weighted(derivatives.program), places, (), "NonlinearConstraint")

    def hessian(x: FloatArray, v: FloatArray) -> Any:
        total.args = (np.asarray(v, dtype=np.float64), *derivatives.args)
        return total.matrix("hessian", x)

    return hessian
