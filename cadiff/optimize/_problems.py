"""Problems as solvers in C take them: objective, constraints, sparse derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..numpy import asarray, concatenate
from ..programs.program import program_of
from ._constraints import Structure, entries, structure_of, weighted
from ._objectives import Objective
from ._progress import Progress
from ._vectors import FloatArray, Parameters

Function = Callable[..., Any]


def problem(
    f: Function,
    constraints: Function | Sequence[Function] = (),
    x0: Any = None,
    *,
    args: tuple[Any, ...] = (),
) -> Problem:
    """An objective and constraints, with the derivatives that Ipopt and NLopt ask for.

    Parameters
    ----------
    f : callable
        `f(x, *args)` returns the number to be minimised.
    constraints : callable, or sequence of callables
        `c(x, *args)` returns a number, an array or a list of numbers. Their bounds are the
        solver's affair.
    x0 : array_like, shape (n,)
        A point where the functions can be recorded, to find the structure of their derivatives.
        Without it the structures are known once something has been evaluated.
    args : tuple, optional
        Further arguments of all functions.

    Returns
    -------
    Problem
        Has the methods that `cyipopt.Problem(problem_obj=...)` calls, and those that
        `nlopt.opt` is given.

    Examples
    --------
    >>> import numpy as np
    >>> from cadiff.optimize import problem
    >>> hs71 = problem(
    ...     lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
    ...     [lambda x: x[0] * x[1] * x[2] * x[3], lambda x: (x * x).sum()],
    ...     x0=np.array([1.0, 5.0, 5.0, 1.0]),
    ... )
    >>> hs71.gradient(np.array([1.0, 5.0, 5.0, 1.0]))
    array([12.,  1.,  2., 11.])
    """
    return Problem(f, constraints, x0, args)


class Problem:
    """What `problem` makes. Methods take a vector x of n numbers.

    `n` and `m`, the number of constraints, are None until a point is known.
    """

    def __init__(
        self,
        f: Function,
        constraints: Function | Sequence[Function],
        x0: Any,
        args: tuple[Any, ...],
    ) -> None:
        self._function = f
        self._args = args
        functions: list[Any] = [constraints]
        if isinstance(constraints, Iterable) and not isinstance(constraints, (Mapping, str)):
            functions = list(constraints)
        for function in functions:
            if not callable(function):
                raise TypeError(
                    f"problem takes constraints as functions c(x), not {type(function).__name__}: "
                    "bounds on what they return are given to the solver"
                )
        self._functions = functions
        self._constraints = program_of(_joined(functions)) if functions else None
        self._objective: Objective | None = None
        self._jacobian: Structure | None = None
        self._hessian: Structure | None = None
        self._lagrangian: Any = None
        self.x0: FloatArray | None = None
        self.n: int | None = None
        self.m: int | None = 0 if self._constraints is None else None
        if x0 is not None:
            self._begin(x0)

    def __reduce__(self) -> tuple[Any, ...]:
        return Problem, (self._function, self._functions, self.x0, self._args)

    def __repr__(self) -> str:
        if self.n is None:
            return "<cadiff.optimize.Problem of functions that were not evaluated yet>"
        return f"<cadiff.optimize.Problem of {self.n} numbers and {self.m} constraints>"

    def _begin(self, point: Any) -> tuple[Objective, FloatArray]:
        """A point as a vector, of which the first tells sizes."""
        try:
            x = np.array(point, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"problem takes x as a vector of numbers, not {point!r}: cadiff.flatten makes one "
                "of a container, and the way back"
            ) from error
        if x.ndim != 1 or self.n not in (None, len(x)):
            raise ValueError(
                f"problem takes x as a vector of {self.n or 'n'} numbers, not of shape {x.shape}"
            )
        if self._objective is None:
            self.x0, self.n = x.copy(), len(x)
            parameters, bar = Parameters(x, "problem"), Progress("problem", False)
            self._objective = Objective(self._function, parameters, self._args, "problem", bar)
            if self._constraints is not None:
                self.m = np.size(self._constraints(x, *self._args))
        return self._objective, x

    def objective(self, x: FloatArray) -> float:
        """The value of f."""
        objective, x = self._begin(x)
        return float(objective.value_at(x))

    def gradient(self, x: FloatArray) -> FloatArray:
        """The gradient of f, of shape (n,)."""
        objective, x = self._begin(x)
        return objective.gradient(x)

    def constraints(self, x: FloatArray) -> FloatArray:
        """The constraints' values, of shape (m,)."""
        _, x = self._begin(x)
        if self._constraints is None:
            return np.empty(0)
        return np.asarray(self._constraints(x, *self._args), dtype=np.float64)

    def jacobian(self, x: FloatArray) -> FloatArray:
        """The constraints' derivatives, in the order of `jacobianstructure`."""
        if self._constraints is None:
            return np.empty(0)
        _, x = self._begin(x)
        return entries(self._jacobian_at(x), self.jacobianstructure(), "jacobian")

    def jacobianstructure(self) -> Structure:
        """Rows and columns of the entries of the constraints' Jacobian, (m, n)."""
        if self._constraints is None:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        if self._jacobian is None:
            self._jacobian = structure_of(self._jacobian_at(self._known_point("jacobian")))
        return self._jacobian

    def hessian(self, x: FloatArray, lagrange: FloatArray, obj_factor: float) -> FloatArray:
        """The Hessian of `obj_factor * f + lagrange @ constraints`.

        Its lower triangle, in the order of `hessianstructure`.
        """
        _, x = self._begin(x)
        lagrange = np.asarray(lagrange, dtype=np.float64)
        if lagrange.shape != (self.m,):
            raise ValueError(
                f"there are {self.m} constraints, but multipliers of shape {lagrange.shape}"
            )
        matrix = self._hessian_at(x, lagrange, float(obj_factor))
        return entries(matrix, self.hessianstructure(), "hessian")

    def hessianstructure(self) -> Structure:
        """Rows and columns of the entries of the Hessian's lower triangle, (n, n)."""
        if self._hessian is None:
            x = self._known_point("hessian")
            self._hessian = structure_of(self._hessian_at(x, np.ones(self.m or 0), 1.0))
        return self._hessian

    def nlopt_objective(self, x: FloatArray, grad: FloatArray) -> float:
        """For `nlopt.opt.set_min_objective`: the value; the gradient is written into grad."""
        objective, x = self._begin(x)
        if grad.size:
            grad[:] = objective.gradient(x)
        return float(objective.value_at(x))

    def nlopt_constraints(self, result: FloatArray, x: FloatArray, grad: FloatArray) -> None:
        """For `nlopt.opt.add_inequality_mconstraint` and its like: values and Jacobian, (m, n)."""
        result[:] = self.constraints(x)
        if grad.size and self._constraints is not None:
            jacobian = self._constraints.jacobian(x, *self._args)
            grad[:] = np.reshape(jacobian, (-1, len(x)))

    def _known_point(self, what: str) -> FloatArray:
        if self.x0 is None:
            raise ValueError(
                f"{what}structure is found where the functions are evaluated, and no point is "
                "known yet: write problem(f, constraints, x0=...)"
            )
        return self.x0

    def _jacobian_at(self, x: FloatArray) -> Any:
        assert self._constraints is not None
        return self._constraints.sparse_jacobian(x, *self._args)

    def _hessian_at(self, x: FloatArray, lagrange: FloatArray, factor: float) -> Any:
        from scipy.sparse import tril

        if self._lagrangian is None:
            self._lagrangian = program_of(_lagrangian(self._function, self._constraints))
        matrix = self._lagrangian.sparse_hessian(x, lagrange, factor, *self._args)
        return tril(matrix, format="csr")


def _joined(functions: Sequence[Function]) -> Function:
    """All that several functions return as one vector."""

    def constraints(x: Any, *args: Any) -> Any:
        return concatenate([asarray(c(x, *args)).reshape(-1) for c in functions])

    return constraints


def _lagrangian(f: Function, constraints: Function | None) -> Function:
    def lagrangian(x: Any, lagrange: Any, factor: Any, *args: Any) -> Any:
        total = factor * asarray(f(x, *args)).reshape(-1)[0]
        if constraints is not None:
            total = total + weighted(constraints)(x, lagrange, *args)
        return total

    return lagrangian
