"""Ipopt as a method of `minimize`, by cyipopt.

    from cadiff.optimize import minimize
    minimize(f, x0, method="ipopt", bounds=..., constraints=...)

`minimize` here is what SciPy calls a custom method, given all derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cyipopt
import numpy as np
from scipy.optimize import OptimizeResult
from scipy.sparse import csr_array, tril
from scipy.sparse.linalg import LinearOperator

from ._boxes import sides_of
from ._conditions import Task, conditions_of, custom_method, stopped_by
from ._constraints import MissingEntryError, Structure, entries, structure_of

__all__ = ["minimize"]

# Ipopt relaxes bounds by 1e-8, and takes that back at the end if it is told to.
DEFAULTS = {"print_level": 0, "sb": "yes", "honor_original_bounds": "yes"}
NAMES = {"maxiter": "max_iter", "maxtime": "max_wall_time"}  # of SciPy's options
CONVERGED = (0, 1, 6)  # also to an acceptable level, or to a point where constraints hold


@custom_method
def minimize(task: Task, **options: Any) -> OptimizeResult:
    """Minimise a function of a vector with constraints by Ipopt, with sparse derivatives.

    Parameters
    ----------
    task
        The arguments that `scipy.optimize.minimize` gives a custom method; derivatives are
        functions that return arrays or sparse matrices. Where a Hessian is missing, Ipopt
        approximates all of them (`hessian_approximation="limited-memory"`); so it does if only
        `hessp` is there.
    **options
        Those of Ipopt, by their names, `tol` among them. `maxiter` is `max_iter`, and `disp`
        shows the iterations.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With `multipliers`, one for each number of the constraints.
    """
    task.asks_for_gradient("ipopt", "ipopt")
    x = task.x
    task.value(x)  # else Ipopt asks for the gradient of what is no number
    seen = _Callbacks(task)
    while True:
        solver = cyipopt.Problem(
            *(len(x), seen.m, seen, *sides_of(task.bounds, len(x)), seen.lower, seen.upper)
        )
        seen.solver = solver
        _put_options(solver, options, seen.has_hessian)
        last, info = solver.solve(x)
        if not isinstance(seen.error, MissingEntryError):
            break
        x, seen.error = seen.last, None  # the structure has grown: go on from there
    if seen.error is not None:
        raise seen.error
    status, counts = info["status"], seen.counts
    return OptimizeResult(
        x=last,
        fun=info["obj_val"],
        jac=task.gradient(last),
        success=status in CONVERGED,
        status=status,
        message=info["status_msg"].decode(),
        nit=seen.iterations,
        nfev=counts["f"],
        njev=counts["gradient"],
        nhev=counts["hessian"],
        multipliers=info["mult_g"],
    )


def _put_options(solver: Any, options: dict[str, Any], has_hessian: bool) -> None:
    given, named = dict(options), dict(DEFAULTS)
    if given.pop("disp", False):
        named["print_level"] = 5
    if not has_hessian:
        named["hessian_approximation"] = "limited-memory"
    named |= {NAMES.get(name, name): value for name, value in given.items()}
    for name, value in named.items():
        try:
            solver.add_option(name, value)
        except TypeError as error:
            raise ValueError(
                f"Ipopt has no option {name!r} that may be {value!r}: its options are listed in "
                "its documentation, and `ipopt --print-options` shows them"
            ) from error


class _Matrix:
    """Entries of a matrix that is computed at many points, in a structure that may grow."""

    def __init__(self, compute: Callable[..., Any], what: str, *args: Any) -> None:
        self.compute, self.what = compute, what
        self.structure: Structure = structure_of(self._sparse(*args))

    def _sparse(self, *args: Any) -> Any:
        matrix = self.compute(*args)
        if isinstance(matrix, LinearOperator):
            matrix = matrix @ np.eye(matrix.shape[1])
        if not hasattr(matrix, "nnz"):  # all entries, those that are 0 here, too
            matrix = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
            at = np.indices(matrix.shape).reshape(2, -1)
            matrix = csr_array((matrix.reshape(-1), tuple(at)), shape=matrix.shape)
        else:
            matrix = csr_array(matrix, copy=True)
            matrix.sum_duplicates()  # and sort
        return tril(matrix, format="csr") if self.what == "hessian" else matrix

    def at(self, *args: Any) -> np.ndarray:
        matrix = self._sparse(*args)
        try:
            return entries(matrix, self.structure, self.what)
        except MissingEntryError:
            n = matrix.shape[1]
            known, more = (r * n + c for r, c in (self.structure, structure_of(matrix)))
            rows, columns = np.divmod(np.union1d(known, more), n)
            self.structure = rows, columns
            raise


class _Callbacks:
    """What Ipopt asks for. It goes on after some exceptions: they are kept, and end it."""

    def __init__(self, task: Task) -> None:
        self.task, x = task, task.x
        self.conditions = conditions_of(task.constraints, x)
        self.ends = np.cumsum([0, *(c.m for c in self.conditions)])
        self.m = int(self.ends[-1])
        none = np.empty(0)
        self.lower = np.concatenate([none, *(c.lower for c in self.conditions)])
        self.upper = np.concatenate([none, *(c.upper for c in self.conditions)])
        self.jacobians = [_Matrix(c.jacobian, "jacobian", x) for c in self.conditions]
        hessians = [c.hessian for c in self.conditions]
        self.has_hessian = callable(task.hess) and None not in hessians
        self.hessians: list[_Matrix] = []
        if self.has_hessian:
            ones = [(x, np.ones(c.m)) for c in self.conditions]
            self.hessians = [_Matrix(lambda x: task.hess(x, *task.args), "hessian", x)]
            self.hessians += [
                _Matrix(h, "hessian", *at) for h, at in zip(hessians, ones, strict=True) if h
            ]
        else:
            self.hessian = self.hessianstructure = None  # type: ignore[method-assign, assignment]
        self.solver: Any = None
        self.error: BaseException | None = None
        self.last = x
        self.iterations = 0
        self.counts = {"f": 0, "gradient": 0, "hessian": 0}

    def _kept(self, compute: Callable[[], Any], size: int) -> Any:
        if self.error is None:
            try:
                return compute()
            except BaseException as error:  # which cyipopt would lose
                self.error = error
        return np.full(size, np.nan)

    def objective(self, x: np.ndarray) -> float:
        self.counts["f"] += 1
        return float(self._kept(lambda: [self.task.value(x)], 1)[0])

    def gradient(self, x: np.ndarray) -> Any:
        self.counts["gradient"] += 1
        return self._kept(lambda: self.task.gradient(x), len(x))

    def constraints(self, x: np.ndarray) -> Any:
        return self._kept(lambda: np.concatenate([c.values(x) for c in self.conditions]), self.m)

    def jacobian(self, x: np.ndarray) -> Any:
        size = sum(len(matrix.structure[0]) for matrix in self.jacobians)
        return self._kept(lambda: np.concatenate([j.at(x) for j in self.jacobians]), size)

    def jacobianstructure(self) -> Structure:
        parts = [j.structure for j in self.jacobians]
        none = np.empty(0, dtype=np.intp)
        rows = [part[0] + begin for part, begin in zip(parts, self.ends, strict=False)]
        return np.concatenate([none, *rows]), np.concatenate([none, *(p[1] for p in parts)])

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, factor: float) -> Any:
        """The parts of the sum one after the other: Ipopt adds entries of the same place."""
        self.counts["hessian"] += 1
        weights = np.split(multipliers, self.ends[1:-1]) if self.m else []

        def parts() -> np.ndarray:
            first, *others = self.hessians
            of_conditions = [h.at(x, w) for h, w in zip(others, weights, strict=True)]
            return np.concatenate([factor * first.at(x), *of_conditions])

        return self._kept(parts, len(self.hessianstructure()[0]))

    def hessianstructure(self) -> Structure:
        parts = [h.structure for h in self.hessians]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def intermediate(self, mode: int, iteration: int, value: float, *_: Any) -> bool:
        self.iterations += iteration > 0
        now = self.solver.get_current_iterate()
        if now is not None and self.error is None:
            self.last = now["x"]
        ends = self._kept(lambda: [stopped_by(self.task.callback, self.last, value)], 1)
        return self.error is None and not ends[0]
