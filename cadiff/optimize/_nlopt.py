"""NLopt's algorithms as methods of `minimize`.

    from cadiff.optimize import minimize
    minimize(f, x0, method="nlopt:slsqp", bounds=..., constraints=...)

`minimize` here is what SciPy calls a custom method, given all derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nlopt
import numpy as np
from scipy.optimize import OptimizeResult

from ._boxes import sides_of
from ._conditions import Condition, Task, conditions_of, custom_method, stopped_by

__all__ = ["minimize", "uses_gradient"]

# An algorithm may go by its last name: local ones come first, and those with gradients.
KINDS = ("LD_", "GD_", "LN_", "GN_", "G_", "")
LIMITS = {"xtol_rel": 1e-8, "ftol_rel": 1e-12, "maxeval": 10_000}  # NLopt has none of its own
NAMES = {"maxiter": "maxeval", "maxfev": "maxeval"}  # of SciPy's options
FEASIBLE = 1e-8  # by how much constraints may be violated
MESSAGES = {
    1: "it has converged",
    2: "stopval is reached",
    3: "it has converged: ftol is reached",
    4: "it has converged: xtol is reached",
    5: "maxeval evaluations are made",
    6: "maxtime is over",
    -1: "it has failed",
    -4: "rounding errors keep it from going on",
    -5: "it was stopped",
}
ROUNDED = -4


def algorithm_of(name: str) -> str:
    """The name of an algorithm in full, such as "LD_SLSQP" of "slsqp"."""
    asked = name.upper().removeprefix("NLOPT:")
    found = [kind + asked for kind in KINDS if isinstance(getattr(nlopt, kind + asked, None), int)]
    if not found or not asked or (asked[0] not in "AGL" and found[0] == asked):
        known = sorted(n for n in vars(nlopt) if n[:3] in KINDS[:4])
        raise ValueError(f"NLopt has no algorithm {name!r}: it has {', '.join(known).lower()}")
    return found[0]


def uses_gradient(name: str) -> bool:
    """Whether an algorithm takes derivatives."""
    return algorithm_of(name)[:3] not in ("LN_", "GN_")


@custom_method
def minimize(task: Task, *, algorithm: str = "slsqp", **options: Any) -> OptimizeResult:
    """Minimise a function of a vector by an algorithm of NLopt.

    Parameters
    ----------
    task
        The arguments that `scipy.optimize.minimize` gives a custom method. The callback is called
        at each evaluation.
    algorithm : str
        A name of NLopt's, such as "LD_SLSQP", or its last part, in any case.
    **options
        Those that `nlopt.opt` has methods `set_...` for: `xtol_rel`, `ftol_rel`, `maxeval` (by
        default 1e-8, 1e-12, 10,000), `maxtime`, `population`. `tol` is both tolerances. `local`
        is the algorithm that "auglag" and "mlsl" use; "slsqp" unless it is given.

    Returns
    -------
    scipy.optimize.OptimizeResult
    """
    full = algorithm_of(algorithm)
    x = task.x
    if uses_gradient(full):
        task.asks_for_gradient(full, f"nlopt:{algorithm}")
    solver = nlopt.opt(getattr(nlopt, full), len(x))
    solver.set_exceptions_enabled(False)
    seen = _Callbacks(solver, task)
    solver.set_min_objective(seen.objective)
    lower, upper = sides_of(task.bounds, len(x))
    solver.set_lower_bounds(lower)
    solver.set_upper_bounds(upper)
    for condition in conditions_of(task.constraints, x):
        _add(solver, condition, seen, full)
    limits = _put_options(solver, dict(options))
    if "AUGLAG" in full or "MLSL" in full:
        local = nlopt.opt(getattr(nlopt, algorithm_of(options.get("local", "slsqp"))), len(x))
        for name in ("xtol_rel", "ftol_rel", "maxeval"):
            getattr(local, f"set_{name}")(limits[name])
        solver.set_local_optimizer(local)
    last = np.array(solver.optimize(np.clip(x, lower, upper)))
    if seen.error is not None:
        raise seen.error
    status = solver.last_optimize_result()
    if seen.why:
        last = seen.last
    if status in (-2, -3):
        raise ValueError(f"{full}: {solver.get_errmsg() or 'invalid arguments'}")
    message = seen.why or f"{full}: {MESSAGES[status]}"
    gradient = {"jac": task.gradient(last)} if callable(task.jac) else {}
    return OptimizeResult(
        x=last,
        fun=task.value(last),
        success=0 < status < 5 or status == ROUNDED,
        status=status,
        message=message,
        nfev=seen.evaluations,
        **gradient,
    )


def _put_options(solver: Any, options: dict[str, Any]) -> dict[str, Any]:
    named = dict(LIMITS)
    if (tol := options.pop("tol", None)) is not None:
        named |= {"xtol_rel": tol, "ftol_rel": tol}
    options.pop("local", None)
    named |= {NAMES.get(name, name): value for name, value in options.items()}
    for name, value in named.items():
        put = getattr(solver, f"set_{name}", None)
        if put is None:
            known = sorted(n[4:] for n in dir(solver) if n.startswith("set_"))
            raise ValueError(f"NLopt has no option {name!r}: it has {', '.join(known)}")
        put(value)
    return named


def _add(solver: Any, condition: Condition, seen: _Callbacks, name: str) -> None:
    """Add a condition, of whose numbers some are equal to a side, others between two."""
    equal = condition.lower == condition.upper
    parts = [(solver.add_equality_mconstraint, equal, 1.0, condition.lower)]
    add = solver.add_inequality_mconstraint
    parts += [(add, ~equal & np.isfinite(condition.upper), 1.0, condition.upper)]
    parts += [(add, ~equal & np.isfinite(condition.lower), -1.0, condition.lower)]
    for put, where, sign, side in parts:
        (rows,) = np.nonzero(where)
        if not len(rows):
            continue
        try:
            put(seen.rows_of(condition, rows, sign, side[rows]), np.full(len(rows), FEASIBLE))
        except Exception as error:
            kind = "equations" if put is not add else "inequalities"
            raise ValueError(
                f'{name} takes no {kind} as constraints: write method="nlopt:slsqp", which takes '
                'both, or "nlopt:auglag"'
            ) from error


class _Callbacks:
    """What NLopt asks for. An exception is kept, and stops it."""

    def __init__(self, solver: Any, task: Task) -> None:
        self.solver, self.task, self.last = solver, task, task.x
        self.error: BaseException | None = None
        self.why = ""
        self.evaluations = 0

    def objective(self, x: np.ndarray, gradient: np.ndarray) -> float:
        self.evaluations += 1
        try:
            value = self.task.value(x)
            if gradient.size:
                gradient[:] = self.task.gradient(x)
            if np.isnan(value):  # of which some algorithms never come to an end
                self.why = f"f is nan at {x}: bounds or constraints keep it from there"
                self.solver.force_stop()
                return value
            self.last = x.copy()
            if stopped_by(self.task.callback, x, value):
                self.why = "the callback asked for the end"
                self.solver.force_stop()
        except BaseException as error:
            self.error = error
            self.solver.force_stop()
            return np.inf
        return value

    def rows_of(
        self, condition: Condition, rows: np.ndarray, sign: float, side: np.ndarray
    ) -> Callable[..., None]:
        """Some of the numbers of a condition, less their side, as NLopt takes them: at most 0."""

        def between(result: np.ndarray, x: np.ndarray, jacobian: np.ndarray) -> None:
            try:
                result[:] = sign * (condition.values(x)[rows] - side)
                if jacobian.size:
                    matrix = condition.jacobian(x)
                    matrix = matrix.toarray() if hasattr(matrix, "nnz") else matrix
                    jacobian[:] = sign * np.reshape(matrix, (-1, len(x)))[rows]
            except BaseException as error:
                self.error = error
                self.solver.force_stop()
                result[:] = np.inf

        return between
