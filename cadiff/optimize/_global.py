"""Global minima: SciPy's searches, whose local steps get derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import optimize

from ._boxes import of_bounds, put_bounds, put_scale, sides_of
from ._called_like import called_like
from ._constraints import with_derivatives
from ._history import History, take_points
from ._minimize import fill_in, in_containers, method_of, minimize, of_parameters, with_likelihood
from ._objectives import Objective
from ._progress import EVALUATIONS, ITERATIONS, Progress, limit_of
from ._vectors import Parameters, as_tuple


def _objective(
    kwargs: dict[str, Any], parameters: Parameters, name: str, bar: Progress
) -> Objective:
    args = as_tuple(kwargs.pop("args", ()))
    return Objective(kwargs.pop("func"), parameters, args, name, bar)


def _local(
    kwargs: dict[str, Any], objective: Objective, parameters: Parameters, fun: Any, method: str
) -> dict[str, Any]:
    """The arguments of local searches, the function too, with what their method can use."""
    local = dict(kwargs)
    own_args = local.pop("args", ())
    if own_args:
        objective.args = as_tuple(own_args)
    fill_in(local, objective, parameters, fun, method)
    return local


@called_like(optimize.basinhopping)
def basinhopping(kwargs: dict[str, Any], progress: bool) -> Any:
    """Find a global minimum by random steps and local searches, as `scipy.optimize.basinhopping`.

    The parameters and the result are SciPy's. The local searches get the derivatives that their
    method can use (see `minimize`), unless `minimizer_kwargs` has some; `args` stand there. x0 may
    be a container. `progress` shows a bar of evaluations.
    """
    parameters = Parameters(kwargs.pop("x0"), "basinhopping")
    take_points(kwargs, parameters.unflatten)
    local = dict(kwargs.get("minimizer_kwargs") or {})
    put_bounds(local, parameters)
    fun = kwargs["func"]
    steps = kwargs.get("niter", 100) + 1
    with Progress("basinhopping", progress, steps, ITERATIONS) as bar:
        kwargs["callback"] = bar.following(kwargs.get("callback"))
        objective = _objective(kwargs, parameters, "basinhopping", bar)
        kwargs["minimizer_kwargs"] = _local(local, objective, parameters, fun, method_of(local))
        value = kwargs["minimizer_kwargs"].pop("fun")
        result = optimize.basinhopping(value, parameters.vector, **kwargs)
        result.nfev += objective.runs
        result = with_likelihood(result, objective, kwargs["minimizer_kwargs"])
    result.lowest_optimization_result = in_containers(
        result.lowest_optimization_result, parameters
    )
    return in_containers(result, parameters)


def _parameters(kwargs: dict[str, Any], name: str) -> Parameters:
    """Parameters of a search between bounds, in the containers of x0 or of the bounds.

    What stands in them is put as SciPy takes it: bounds, x0, integrality, points for callbacks.
    """
    if isinstance(kwargs["bounds"], Iterator):  # which can be gone through but once
        kwargs["bounds"] = list(kwargs["bounds"])
    start = None if kwargs.get("x0") is None else Parameters(kwargs["x0"], name)
    if start is not None and start.unflatten is not None:
        parameters, kwargs["x0"] = start, start.vector
    else:
        parameters = of_bounds(kwargs["bounds"], name)
    if parameters.unflatten is None:
        return parameters
    put_bounds(kwargs, parameters)
    put_scale(kwargs, "integrality", parameters, 0.0)
    if kwargs.get("vectorized"):
        raise TypeError(f"{name} takes no parameters in containers with vectorized=True")
    callback = kwargs.get("callback")
    if isinstance(callback, History):
        callback.unflatten = parameters.unflatten
    elif callback is not None:
        kwargs["callback"] = of_parameters(callback, parameters)
    return parameters


@called_like(optimize.dual_annealing)
def dual_annealing(kwargs: dict[str, Any], progress: bool) -> Any:
    """Find a global minimum by annealing and local searches, as `scipy.optimize.dual_annealing`.

    The parameters and the result are SciPy's. Bounds may stand in containers, or x0 does: then
    func gets such a container, and so has the result. The local searches get the derivatives that
    their method can use (see `minimize`), unless `minimizer_kwargs` has some. `progress` shows a
    bar of evaluations.
    """
    history = kwargs.get("callback")
    parameters = _parameters(kwargs, "dual_annealing")
    if isinstance(history, History):
        take_points(kwargs, parameters.unflatten)
    local = dict(kwargs.get("minimizer_kwargs") or {})
    put_bounds(local, parameters)
    n = len(parameters.vector)
    if not local:  # what SciPy takes if there are none
        local = {
            "method": "L-BFGS-B",
            "bounds": list(zip(*sides_of(kwargs["bounds"], n), strict=True)),
            "options": {"maxiter": min(max(6 * n, 100), 1000)},
        }
    fun = kwargs["func"]
    with Progress("dual_annealing", progress, kwargs.get("maxfun")) as bar:
        objective = _objective(kwargs, parameters, "dual_annealing", bar)
        kwargs["minimizer_kwargs"] = _local(local, objective, parameters, fun, method_of(local))
        kwargs["minimizer_kwargs"].pop("fun")
        result = optimize.dual_annealing(objective.value_alone, **kwargs)
        result.nfev += objective.runs
    return in_containers(with_likelihood(result, objective, kwargs), parameters)


@called_like(optimize.shgo)
def shgo(kwargs: dict[str, Any], progress: bool) -> Any:
    """Find global minima by sampling and local searches, as `scipy.optimize.shgo` does.

    The parameters and the result are SciPy's. Bounds may stand in containers: then func gets such
    a container, and so has the result (see `minimize`). The local searches (by SLSQP unless
    `minimizer_kwargs` names another method) get the derivatives that their method can use, unless
    `options` or `minimizer_kwargs` have some. `progress` shows a bar of evaluations.
    """
    parameters = _parameters(kwargs, "shgo")
    local = kwargs.get("minimizer_kwargs")
    if local is None:
        local = {"options": {"ftol": 1e-12}}  # what SciPy takes if there are none
    local = {"method": "SLSQP", **local}
    put_bounds(local, parameters)
    if parameters.unflatten is not None and kwargs.get("constraints") is not None:
        known = {**kwargs, "options": local.get("options")}
        kwargs["constraints"] = with_derivatives(kwargs["constraints"], parameters, "slsqp", known)
    options = dict(kwargs.get("options") or {})
    for name in ("jac", "hess", "hessp"):
        if name in options:
            local[name] = options.pop(name)
    fun = kwargs["func"]
    limit, unit = limit_of(options, "")
    with Progress("shgo", progress, limit if unit == EVALUATIONS else None) as bar:
        objective = _objective(kwargs, parameters, "shgo", bar)
        local = _local(local, objective, parameters, fun, method_of(local))
        objective.differences.stay_within(lambda: sides_of(kwargs["bounds"], objective.n))
        for name in ("jac", "hess", "hessp"):
            if callable(local.get(name)):
                options[name] = local[name]
        kwargs["minimizer_kwargs"] = local
        kwargs["options"] = options
        both = local.pop("fun")
        value = both if local.get("jac") is True else objective.value_alone
        if kwargs.get("workers", 1) != 1:  # other processes take f, and no program of it
            value, kwargs["args"] = parameters.of_vectors(fun), objective.args
        result = optimize.shgo(value, **kwargs)
        result.nfev += objective.runs
    if parameters.unflatten is not None and result.get("xl") is not None:
        result.xl = [parameters.given(x) for x in result.xl]
    return in_containers(with_likelihood(result, objective, kwargs), parameters)


def _population(kwargs: dict[str, Any], parameters: Parameters) -> float:
    """How many evaluations differential evolution takes at most, as SciPy has it."""
    init: Any = kwargs.get("init")
    many = kwargs.get("popsize", 15) * len(parameters.vector)
    return float((kwargs.get("maxiter", 1000) + 1) * (many if np.ndim(init) < 2 else len(init)))


@called_like(optimize.differential_evolution)
def differential_evolution(kwargs: dict[str, Any], progress: bool) -> Any:
    """Find a global minimum by evolution, as `scipy.optimize.differential_evolution` does.

    The parameters and the result are SciPy's. Bounds may stand in containers, or x0 does: then
    func gets such a container, and so has the result (see `minimize`); `integrality` may be one.
    The local search that ends it (`polish`, unless it is False) gets derivatives: by L-BFGS-B, or
    by trust-constr where there are constraints. `progress` shows a bar of evaluations.
    """
    func, args = kwargs["func"], kwargs.get("args", ())
    constraints = kwargs.get("constraints", ())
    parameters = _parameters(kwargs, "differential_evolution")
    if parameters.unflatten is not None:
        kwargs["constraints"] = with_derivatives(constraints, parameters, "slsqp", kwargs)
    polish = kwargs.get("polish", True)
    if polish is not True or kwargs.get("vectorized") or np.any(kwargs.get("integrality")):
        kwargs["func"] = parameters.of_vectors(func)
        return in_containers(optimize.differential_evolution(**kwargs), parameters)
    bounds = kwargs["bounds"]
    kwargs["polish"] = False
    with Progress("differential_evolution", progress, _population(kwargs, parameters)) as bar:
        objective = _objective(dict(kwargs), parameters, "differential_evolution", bar)
        if kwargs.get("workers", 1) == 1:
            kwargs["func"], kwargs["args"] = objective.shown_value, ()
        else:
            kwargs["func"] = parameters.of_vectors(func)
        result = optimize.differential_evolution(**kwargs)
    method = "trust-constr" if np.size(constraints) else "L-BFGS-B"
    start = parameters.given(np.copy(result.x))
    polished = minimize(func, start, args, method, bounds=bounds, constraints=constraints)
    result.nfev += polished.nfev
    x = parameters.as_vector(polished.x)
    inside = np.clip(x, *sides_of(bounds, len(x)))  # from which it may be away by rounding
    value = polished.fun if np.all(inside == x) else objective.plain_value(inside)
    if value < result.fun and polished.success:
        result.x, result.fun, result.jac = inside, value, polished.jac
    return in_containers(with_likelihood(result, objective, kwargs), parameters)
