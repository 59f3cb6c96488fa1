"""Global minima: SciPy's searches, whose local steps get derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from ._history import take_points
from ._minimize import fill_in, in_containers, method_of, minimize
from ._objectives import Objective
from ._progress import Progress
from ._signatures import called_like
from ._vectors import Parameters


def _objective(
    given: dict[str, Any], parameters: Parameters, name: str, bar: Progress
) -> Objective:
    args = given.pop("args", ())
    args = args if isinstance(args, tuple) else (args,)
    return Objective(given.pop("func"), parameters, args, name, bar)


def _local(
    given: dict[str, Any], objective: Objective, parameters: Parameters, fun: Any, method: str
) -> dict[str, Any]:
    """The arguments of local searches with derivatives that their method can use."""
    local = dict(given)
    own_args = local.pop("args", ())
    if own_args:
        objective.args = own_args if isinstance(own_args, tuple) else (own_args,)
    fill_in(local, objective, parameters, fun, method)
    local.pop("fun")
    return local


@called_like(optimize.basinhopping)
def basinhopping(given: dict[str, Any], progress: bool) -> Any:
    """Find a global minimum by random steps and local searches, as `scipy.optimize.basinhopping`.

    The parameters and the result are SciPy's. The local searches get the derivatives that their
    method can use (see `minimize`), unless `minimizer_kwargs` has some; `args` stand there. x0 may
    be a container. `progress` shows a bar of evaluations.
    """
    parameters = Parameters(given.pop("x0"), "basinhopping")
    take_points(given, parameters.unflatten)
    local = dict(given.get("minimizer_kwargs") or {})
    fun = given["func"]
    with Progress("basinhopping", progress) as bar:
        objective = _objective(given, parameters, "basinhopping", bar)
        given["minimizer_kwargs"] = _local(local, objective, parameters, fun, method_of(local))
        has_gradient = given["minimizer_kwargs"].get("jac") == objective.gradient
        value = objective.value_at if has_gradient else objective.value_alone
        result = optimize.basinhopping(value, parameters.vector, **given)
    result.lowest_optimization_result = in_containers(
        result.lowest_optimization_result, parameters
    )
    return in_containers(result, parameters)


def _start(given: dict[str, Any], name: str) -> Parameters:
    """Parameters of a search between bounds."""
    bounds = given["bounds"]
    if isinstance(bounds, optimize.Bounds):
        lower = np.atleast_1d(np.asarray(bounds.lb, dtype=np.float64))
    else:
        try:
            lower = np.array([0.0 if low is None else low for low, _ in bounds], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{name} takes bounds as pairs (lower, upper), one for each number, or as "
                f"Bounds(lower, upper), not {bounds!r}"
            ) from error
    return Parameters(np.where(np.isfinite(lower), lower, 0.0), name)


@called_like(optimize.dual_annealing)
def dual_annealing(given: dict[str, Any], progress: bool) -> Any:
    """Find a global minimum by annealing and local searches, as `scipy.optimize.dual_annealing`.

    The parameters and the result are SciPy's. The local searches get the derivatives that their
    method can use (see `minimize`), unless `minimizer_kwargs` has some. `progress` shows a bar of
    evaluations.
    """
    parameters = _start(given, "dual_annealing")
    take_points(given, None)
    local = dict(given.get("minimizer_kwargs") or {})
    n = len(parameters.vector)
    if not local:  # what SciPy takes if there are none
        bounds = given["bounds"]
        if isinstance(bounds, optimize.Bounds):
            bounds = np.broadcast_arrays(bounds.lb, bounds.ub, np.empty(n))[:2]
            bounds = list(zip(*bounds, strict=True))
        local = {
            "method": "L-BFGS-B",
            "bounds": bounds,
            "options": {"maxiter": min(max(6 * n, 100), 1000)},
        }
    fun = given["func"]
    with Progress("dual_annealing", progress) as bar:
        objective = _objective(given, parameters, "dual_annealing", bar)
        given["minimizer_kwargs"] = _local(local, objective, parameters, fun, method_of(local))
        return optimize.dual_annealing(objective.value_alone, **given)


@called_like(optimize.shgo)
def shgo(given: dict[str, Any], progress: bool) -> Any:
    """Find global minima by sampling and local searches, as `scipy.optimize.shgo` does.

    The parameters and the result are SciPy's. The local searches (by SLSQP unless
    `minimizer_kwargs` names another method) get the derivatives that their method can use, unless
    `options` or `minimizer_kwargs` have some. `progress` shows a bar of evaluations.
    """
    parameters = _start(given, "shgo")
    local = {"method": "SLSQP", **(given.get("minimizer_kwargs") or {})}
    options = dict(given.get("options") or {})
    for name in ("jac", "hess", "hessp"):
        if name in options:
            local[name] = options.pop(name)
    fun = given["func"]
    with Progress("shgo", progress) as bar:
        objective = _objective(given, parameters, "shgo", bar)
        local = _local(local, objective, parameters, fun, method_of(local))
        for name in ("jac", "hess", "hessp"):
            if callable(local.get(name)):
                options[name] = local[name]
        given["minimizer_kwargs"] = local
        given["options"] = options
        return optimize.shgo(objective.value_alone, **given)


@called_like(optimize.differential_evolution)
def differential_evolution(given: dict[str, Any], progress: bool) -> Any:
    """Find a global minimum by evolution, as `scipy.optimize.differential_evolution` does.

    The parameters and the result are SciPy's. The local search that ends it (`polish`, unless it
    is False) gets derivatives: by L-BFGS-B, or by trust-constr where there are constraints.
    `progress` shows a bar of evaluations.
    """
    polish = given.get("polish", True)
    if polish is not True or given.get("vectorized") or np.any(given.get("integrality")):
        return optimize.differential_evolution(**given)
    func, args = given["func"], given.get("args", ())
    bounds, constraints = given["bounds"], given.get("constraints", ())
    given["polish"] = False
    parameters = _start(given, "differential_evolution")
    with Progress("differential_evolution", progress) as bar:
        objective = _objective(dict(given), parameters, "differential_evolution", bar)
        if given.get("workers", 1) == 1:
            given["func"], given["args"] = objective.value_alone, ()
        result = optimize.differential_evolution(**given)
    method = "trust-constr" if np.size(constraints) else "L-BFGS-B"
    polished = minimize(
        func, np.copy(result.x), args, method, bounds=bounds, constraints=constraints
    )
    result.nfev += polished.nfev
    box = bounds if isinstance(bounds, optimize.Bounds) else optimize.Bounds(*np.transpose(bounds))
    fits = np.all(polished.x >= box.lb) and np.all(polished.x <= box.ub)
    if polished.fun < result.fun and polished.success and fits:
        result.x, result.fun, result.jac = polished.x, polished.fun, polished.jac
    return result
