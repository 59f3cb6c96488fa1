"""Minima of functions of several numbers, and of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ._boxes import put_bounds, put_scales, sides_of
from ._called_like import called_like
from ._constraints import are_sparse, has_jacobian, with_derivatives
from ._differences import steps_of
from ._history import History
from ._objectives import LARGE_HESSIAN, Objective, value_and_gradient
from ._progress import Progress, limit_of, takes_result
from ._results import as_result
from ._solutions import Solution, of_likelihood
from ._vectors import FloatArray, Parameters, as_tuple

# Which derivatives SciPy's methods use.
BY_STEPS = {"adam": "adam", "adamw": "adam", "sgd": "sgd", "momentum": "sgd", "lbfgs": "lbfgs"}
WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
BY_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov")
BY_HESSIAN = ("dogleg", "trust-exact")
BY_EITHER = ("trust-constr", "ipopt")
NLOPT = "nlopt:"  # before the name of an algorithm
WITHOUT_FIXED = ("l-bfgs-b", "slsqp", "tnc")  # of numbers that bounds fix


@called_like(optimize.minimize, ("ipopt", f"{NLOPT}slsqp"))
def minimize(kwargs: dict[str, Any], progress: bool) -> Any:
    """Minimise a function of several numbers, as `scipy.optimize.minimize` does.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)` returns the number to be minimised. It is written with functions of
        `cadiff.numpy` (or NumPy's, which dispatch), and may have loops and branches. It is
        compiled; where that is not possible, it is run eagerly each time.
    x0 : array_like, shape (n,), or container
        Where to begin. Of a dict, a list of arrays, an array of several axes or any other
        container fun gets the same container, and so has the result, in `x` and in `jac`.
    args : tuple, optional
        Further arguments of fun, and of jac, hess and hessp if these are given.
    jac, hess, hessp : optional
        As in SciPy. What is given is used; what is left out, and the method can use, is filled in:
        the gradient for all methods that take one; products with the Hessian for Newton-CG,
        trust-ncg and trust-krylov; the Hessian for dogleg and trust-exact; and for trust-constr
        and ipopt the Hessian, sparse where it has few entries (or products with it, if it is large
        and dense), with those of the constraints, unless primitives have rules for first
        derivatives alone: then SciPy or Ipopt approximates it.
    method, bounds, constraints, tol, callback, options
        As in SciPy. The method may also be "ipopt", or "nlopt:" with the name of an algorithm of
        NLopt's, such as "nlopt:slsqp", where cyipopt or nlopt is installed; options are theirs.
        Jacobians of constraints are filled in where they are left out. With parameters in
        containers, bounds may stand in the same containers: for each number or array (or all that
        is in a container) a pair (lower, upper) of numbers or arrays, an array or list of pairs,
        a `Bounds`, or None. A dict bounds only what it names, and names
        fields of dataclasses, too. A pair of such containers of numbers will do as well, or a
        `Bounds` of them, and what SciPy takes for the vector of `cadiff.flatten`. The options
        "scale" and "offset" of TNC may stand in containers, too.
    progress : bool
        Show a bar of evaluations, with the value and the norm of the gradient; or of iterations,
        if `options` limit these. Up to such a limit it shows the time that is left. tqdm draws it,
        where it is installed.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from SciPy, with methods that tell the `hessian()`, and, if fun is a negative
        log-likelihood, `covariance()` and `standard_errors()` of the parameters: see `Result`.

    Raises
    ------
    TypeError
        If fun does not return one number, or x0 holds something else than real numbers.
    ValueError
        If bounds are of another length than the vector of parameters, or name what x0 has not.

    Warns
    -----
    RuntimeWarning
        If fun works with plain numbers but not with those that carry derivatives, or is finite
        where a derivative is not: then finite differences are taken, as by SciPy without jac. So
        they are where all derivatives are 0, but fun is not level: it computes with plain values,
        such as `cadiff.value(v)`. And afterwards, if derivatives took more than half a second, and
        finite differences would have taken less than half of the time.

    Examples
    --------
    >>> from cadiff.optimize import minimize
    >>> def rosenbrock(x):
    ...     total = 0.0
    ...     for i in range(len(x) - 1):
    ...         total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    ...     return total
    >>> result = minimize(rosenbrock, [-1.2, 1.0, 0.5])
    >>> result.x.round(5)
    array([1., 1., 1.])
    """
    fun, x0 = kwargs.pop("fun"), kwargs.pop("x0")
    args = as_tuple(kwargs.pop("args", ()))
    parameters = Parameters(x0, "minimize")
    put_bounds(kwargs, parameters)
    kwargs["options"] = put_scales(kwargs.get("options"), parameters)
    method = method_of(kwargs)
    is_vector = parameters.unflatten is None
    fixed = _fixed(kwargs, parameters, method)
    if kwargs.get("constraints") is not None and not (method == "custom" and is_vector):
        kwargs["constraints"] = with_derivatives(kwargs["constraints"], parameters, method, kwargs)
        if method == "trust-constr" and are_sparse(kwargs["constraints"], parameters.vector):
            kwargs["options"] = {"sparse_jacobian": True, **(kwargs.get("options") or {})}
    history = kwargs.get("callback")
    if parameters.unflatten is not None and callable(history) and not isinstance(history, History):
        kwargs["callback"] = of_parameters(history, parameters)
    with Progress("minimize", progress, *limit_of(kwargs.get("options"), method)) as bar:
        objective = Objective(fun, parameters, args, "minimize", bar)
        fill_in(kwargs, objective, parameters, fun, method)
        if isinstance(history, History):
            history.unflatten = parameters.unflatten
            kwargs["callback"] = _kept(history, kwargs, objective, parameters.vector)
        kwargs["callback"] = bar.following(kwargs.get("callback"))
        ending = without_early_end(kwargs, method)
        start = parameters.vector
        if method in WITHOUT_GRADIENT and is_vector:
            start = np.array(x0)  # in single precision, if it is given so
        result = optimize.minimize(kwargs.pop("fun"), start, **kwargs)
        if "nfev" in result:
            result.nfev += objective.runs
    if ending is not None:
        result = ending.named(result)
    if fixed is not None and "jac" in result:
        result.jac = np.where(fixed, np.nan, result.jac)
    objective.warn_if_slow(np.asarray(result.get("x", start)), len(parameters.vector) + 1)
    return in_containers(with_likelihood(result, objective, kwargs), parameters)


def _fixed(
    kwargs: dict[str, Any], parameters: Parameters, method: str
) -> NDArray[np.bool_] | None:
    """Which numbers have no derivatives in the result, as their bounds leave no choice; or None.

    SciPy takes such numbers out before these methods, unless all derivatives are given.
    """
    if method not in WITHOUT_FIXED or kwargs.get("bounds") is None:
        return None
    constraints = kwargs.get("constraints", ())
    constraints = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    is_given = callable(kwargs.get("jac")) or kwargs.get("jac") is True
    if is_given and all(map(has_jacobian, constraints)):
        return None
    try:
        lower, upper = sides_of(kwargs["bounds"], len(parameters.vector))
    except (TypeError, ValueError):  # SciPy says what is wrong
        return None
    return lower == upper if np.any(lower == upper) else None


def method_of(kwargs: dict[str, Any]) -> str:
    """The method that SciPy chooses; of one that is a function "custom"."""
    method = kwargs.get("method")
    if callable(method):
        return "custom"
    if method is not None:
        if not isinstance(method, str):
            raise TypeError(f"method is a name, such as 'BFGS', or a function, not {method!r}")
        name = method.lower()
        if name in BY_STEPS:
            raise ValueError(
                f"minimize has SciPy's methods, and {method!r} is none of them: write "
                f"cadiff.optimize.{BY_STEPS[name]}(f, x0, ...)"
            )
        return name
    if np.size(kwargs.get("constraints", ())):
        return "slsqp"
    return "bfgs" if kwargs.get("bounds") is None else "l-bfgs-b"


def fill_in(
    kwargs: dict[str, Any],
    objective: Objective,
    parameters: Parameters,
    fun: Callable[..., Any],
    method: str,
) -> None:
    """Put among the arguments the function of a vector, and derivatives that the method uses."""
    args, bounds = objective.args, kwargs.get("bounds")
    takes_gradient = _put_solver(kwargs, method)
    objective.differences.steps = steps_of(method, kwargs.get("options"))
    if bounds is not None:
        objective.differences.stay_within(lambda: sides_of(bounds, objective.n))
    for name in ("jac", "hess", "hessp"):
        if callable(kwargs.get(name)):
            kwargs[name] = _of_vector(kwargs[name], name, parameters, args)
    jac = kwargs.get("jac")
    if jac is True:
        both = parameters.of_vectors(fun)
        objective.take_first()

        def value_and_grad(x: FloatArray) -> Any:
            value, gradient = value_and_gradient(both(np.array(x), *args))
            return value, parameters.as_vector(gradient)

        kwargs["fun"] = value_and_grad
        return
    if method in WITHOUT_GRADIENT or not takes_gradient:
        kwargs["fun"] = objective.value_alone
        return
    if jac is None or jac is False:
        kwargs["fun"], kwargs["jac"] = objective.value_at, objective.gradient
    else:
        kwargs["fun"] = objective.value_alone
        if callable(jac) and method == "newton-cg":
            return  # SciPy takes differences of it, and f runs on plain numbers alone
    if kwargs.get("hess") is not None or kwargs.get("hessp") is not None:
        return
    if method in BY_HESSIAN:
        kwargs["hess"] = objective.hessian
    elif method in BY_PRODUCTS:
        kwargs["hessp"] = objective.product
    elif method in BY_EITHER:
        n, x = objective.n, parameters.vector
        if not objective.has_second_derivatives(x):
            return
        if n <= LARGE_HESSIAN or objective.is_sparse("hessian", x):
            kwargs["hess"] = lambda x: objective.matrix("hessian", x)
        else:
            kwargs["hessp"] = objective.product


def _put_solver(kwargs: dict[str, Any], method: str) -> bool:
    """Put a solver of another package in the place of its name; whether it takes a gradient."""
    if method != "ipopt" and not method.startswith(NLOPT):
        return True
    try:
        if method == "ipopt":
            from ._ipopt import minimize as by_ipopt

            kwargs["method"] = by_ipopt
            return True
        from ._nlopt import minimize as by_nlopt
        from ._nlopt import uses_gradient
    except ModuleNotFoundError as error:
        extra = method.partition(":")[0]
        raise ModuleNotFoundError(
            f"method={method!r} needs {error.name}, which is not installed here: pip install "
            f"'cadiff[{extra}]'",
            name=error.name,
        ) from error
    kwargs["method"] = partial(by_nlopt, algorithm=method.removeprefix(NLOPT))
    return uses_gradient(method)


def _of_vector(
    derivative: Callable[..., Any], name: str, parameters: Parameters, args: tuple[Any, ...]
) -> Callable[..., Any]:
    """A derivative of the user's, as a function of vectors alone."""
    if parameters.unflatten is None:
        return lambda *vectors: derivative(*map(np.array, vectors), *args)
    if name == "jac":
        return lambda x: parameters.as_vector(derivative(parameters.given(x), *args))
    raise TypeError(
        f"minimize takes no {name} with parameters in containers, where it fills one in: leave it "
        "out"
    )


def of_parameters(callback: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    """A callback that gets parameters as they were given; SciPy goes by the names it takes."""
    if takes_result(callback):

        def with_result(intermediate_result: Any) -> Any:
            result = optimize.OptimizeResult(intermediate_result)
            result.x = parameters.given(np.asarray(result.x))
            return callback(intermediate_result=result)

        return with_result
    return lambda x, *state, **named: callback(parameters.given(np.asarray(x)), *state, **named)


def _kept(
    history: Any, kwargs: dict[str, Any], objective: Objective, x0: FloatArray
) -> Callable[[Any], None]:
    """A callback that keeps values and gradients as far as the method computes them."""
    fun, jac = kwargs["fun"], kwargs.get("jac")

    def keep(intermediate_result: Any) -> None:
        x = np.array(getattr(intermediate_result, "x", intermediate_result))
        norm = np.nan
        if jac == objective.gradient:  # which is known, with the value
            norm = float(np.linalg.norm(objective.gradient(x)))
        value = getattr(intermediate_result, "fun", None)
        if value is None:
            value = fun(x)[0] if jac is True else fun(x)
        history.note(x, value, norm)

    keep(x0)
    return keep


def with_likelihood(result: Any, objective: Objective, kwargs: dict[str, Any]) -> Any:
    """A result that knows covariances, by derivatives that were given, or else those of f."""
    if "x" not in result:
        return result  # of a method of the user's
    jac, hess = kwargs.get("jac"), kwargs.get("hess")
    solution = Solution(
        objective.parameters,
        np.asarray(result.x),
        kwargs.get("bounds"),
        jac if callable(jac) else objective.gradient,
        hess if callable(hess) else objective.hessian,
        partial(of_likelihood, bool(np.size(kwargs.get("constraints", ())))),
    )
    return as_result(result, solution)


def in_containers(result: Any, parameters: Parameters) -> Any:
    """A result with what belongs to parameters as they were given."""
    if parameters.unflatten is not None:
        for name in ("x", "jac", "grad"):
            part = result.get(name)
            if isinstance(part, np.ndarray) and part.shape == parameters.vector.shape:
                result[name] = parameters.given(part)
    return result


@called_like(optimize.minimize_scalar)
def minimize_scalar(kwargs: dict[str, Any], progress: bool) -> Any:
    """Minimise a function of one number, as `scipy.optimize.minimize_scalar` does.

    The parameters are SciPy's, and a bar of evaluations with `progress`. SciPy's methods for one
    number take no derivatives; where the function is smooth, `minimize` with one number in x0
    takes fewer evaluations.
    """
    fun = kwargs.pop("fun")
    with Progress("minimize_scalar", progress) as bar:

        def shown(x: float, *args: Any) -> Any:
            value = fun(x, *args)
            bar.show(value, None)
            return value

        return optimize.minimize_scalar(shown if progress else fun, **kwargs)


TOLERANCE = 1e-8  # SciPy's gtol and barrier_tol
BY_GTOL = "`gtol` termination condition is satisfied."


def without_early_end(kwargs: dict[str, Any], method: str) -> Ending | None:
    """Among the arguments put a callback that ends trust-constr; None for other methods.

    SciPy's test of the gradient (`gtol`) ignores the barrier parameter. Exact derivatives meet it
    at once, long before the barrier is small, and so some way from the minimum.
    """
    if method != "trust-constr":
        return None
    ending = Ending(kwargs)
    kwargs["callback"] = ending.at
    kwargs["options"] = {**ending.options, "gtol": 0.0, "barrier_tol": ending.barrier_tol}
    return ending


class Ending:
    """When trust-constr ends: where SciPy's test is met and the barrier is at its tolerance."""

    def __init__(self, kwargs: dict[str, Any]) -> None:
        tolerance = TOLERANCE if kwargs.get("tol") is None else kwargs["tol"]
        self.options = dict(kwargs.get("options") or {})
        self.gtol = self.options.get("gtol", tolerance)
        self.barrier_tol = self.options.get("barrier_tol", tolerance)
        self._by_gtol = False
        self._callback = kwargs.get("callback")
        self._takes_result = takes_result(self._callback)

    def at(self, x: Any, state: Any) -> bool:
        if self._callback is not None:
            if self._takes_result:
                stop = self._callback(intermediate_result=state)
            else:
                stop = self._callback(x, state)
            if stop:
                return True
        self._by_gtol = self._meets_gtol(state) and (
            state.get("barrier_parameter", 0.0) <= self.barrier_tol
        )
        return self._by_gtol

    def _meets_gtol(self, state: Any) -> bool:
        return bool(state.optimality < self.gtol and state.constr_violation < self.gtol)

    def named(self, result: Any) -> optimize.OptimizeResult:
        """The result, with the status that SciPy gives to such an end."""
        ran_out = result.status == 0 and self._meets_gtol(result)
        if self._by_gtol or ran_out:
            result.status, result.success, result.message = 1, True, BY_GTOL
        elif result.status == 4 and result.constr_violation <= self.gtol:
            result.status, result.success = 2, True
            result.message = "`xtol` termination condition is satisfied."
        return result
