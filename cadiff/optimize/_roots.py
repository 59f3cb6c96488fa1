"""Roots of systems of equations, and of functions of one number."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import linalg

from .. import transforms
from ..binding import carries
from ..programs.fallbacks import EagerDerivatives
from ..programs.program import program_of
from ._called_like import called_like
from ._differences import Differences, steps_of_minpack
from ._history import take_points
from ._minimize import in_containers
from ._objectives import Derivatives
from ._progress import EVALUATIONS, Progress, limit_of
from ._vectors import ArgumentError, FloatArray, Parameters, as_tuple, check_plain, flat_results

WITH_JACOBIAN = ("hybr", "lm")
MANY = 100  # unknowns, from which on sparse steps are worth looking for
LARGEST_DENSE = 500  # unknowns, for which dense steps take no more than seconds
EAGER_JACOBIANS = 7  # beyond which it is worth recording; "hybr" takes one or two


@called_like(optimize.root)
def root(kwargs: dict[str, Any], progress: bool) -> Any:
    """Find where a vector function is 0, as `scipy.optimize.root` does.

    The parameters and the result are SciPy's. `fun(x, *args)` returns as many numbers as x has,
    as an array or a list; x0 may be a container, and fun may return one of the same structure.
    The methods "hybr" and "lm" get the exact Jacobian if `jac` is left out, and differences if it
    is "2-point"; of an array of several axes fun gets the vector, as in SciPy. The others use
    none, and take an array of complex numbers, too. `nfev` of the result counts all runs of fun.
    `progress` shows a bar of evaluations.

    Of 100 unknowns or more, where no method is asked for and the Jacobian is sparse, cadiff takes
    Newton's steps with sparse matrices, shortened or damped as long as that is needed. The result
    then has "sparse newton" as its `method`, and `nit`, but no dense factors of the Jacobian. With
    up to 500 unknowns "hybr" has a try where these steps find no root. `method="hybr"` takes dense
    matrices whatever the size.

    Examples
    --------
    >>> import numpy as np
    >>> from cadiff.optimize import root
    >>> solution = root(lambda x: [x[0] + x[1] - 3.0, x[0] * x[1] - 2.0], [0.0, 5.0])
    >>> solution.x.round(8)
    array([1., 2.])
    """
    fun, x0 = kwargs.pop("fun"), kwargs.pop("x0")
    args = as_tuple(kwargs.pop("args", ()))
    method = str(kwargs.get("method", "hybr")).lower()
    jac = kwargs.pop("jac", None)
    if method in WITH_JACOBIAN:
        x0 = x0.ravel() if isinstance(x0, np.ndarray) else x0  # as SciPy gives it to fun
    elif np.iscomplexobj(x0) or (isinstance(x0, np.ndarray) and x0.ndim > 1):
        return optimize.root(fun, x0, args, jac=jac, **kwargs)
    parameters = Parameters(x0, "root")
    take_points(kwargs, parameters.unflatten)
    options = kwargs.get("options") or {}
    limit, unit = limit_of(options, method)
    with Progress("root", progress, limit if unit == EVALUATIONS else None) as bar:
        of_vector = parameters.of_vectors(fun)
        if parameters.unflatten is not None:
            of_vector = flat_results(of_vector)
        if isinstance(jac, str) and jac == "2-point":
            result = optimize.root(of_vector, parameters.vector, args=args, **kwargs)
        elif jac is None or jac is False:
            plain = Parameters(parameters.vector, "root")
            derivatives = Derivatives(of_vector, plain, args, "root")
            derivatives.differences.steps = steps_of_minpack(options.get("eps"))

            def values(x: FloatArray) -> Any:
                result = np.asarray(derivatives.value(x))
                if result.size != len(x) and (method != "lm" or result.size < len(x)):
                    raise ArgumentError(
                        f"root solves as many equations as there are unknowns, {len(x)}, but fun "
                        f"returned an array of shape {result.shape}; least_squares takes others"
                    )
                bar.show(result)
                return result

            def jacobian(x: FloatArray) -> Any:
                matrix = derivatives.matrix("jacobian", x, may_be_sparse=False)
                return np.reshape(matrix, (-1, len(x)))

            if "method" in kwargs or not _suits_newton(derivatives, parameters, kwargs):
                result = None
            else:
                result = _by_newton(derivatives, parameters, kwargs, bar)
            if result is None:
                if method in WITH_JACOBIAN:
                    kwargs["jac"], derivatives.eager = jacobian, EAGER_JACOBIANS
                result = optimize.root(values, parameters.vector, **kwargs)
                result.nfev += derivatives.runs
        else:
            result = optimize.root(of_vector, parameters.vector, args=args, jac=jac, **kwargs)
    return in_containers(result, parameters)


def _suits_newton(
    derivatives: Derivatives, parameters: Parameters, kwargs: dict[str, Any]
) -> bool:
    """Whether there are many unknowns, with a sparse Jacobian, and no options of "hybr"."""
    x = parameters.vector
    if len(x) < MANY or set(kwargs.get("options") or ()) - {"xtol", "maxfev"}:
        return False
    try:
        return np.size(derivatives.value(x)) == len(x) and derivatives.is_sparse("jacobian", x)
    except (TypeError, NotImplementedError):  # it has no derivatives, or too few
        return False


def _by_newton(
    derivatives: Derivatives, parameters: Parameters, kwargs: dict[str, Any], bar: Progress
) -> Any:
    """The root by sparse steps; None where "hybr" may find one that they do not."""

    def values(x: FloatArray) -> FloatArray:
        result = np.asarray(derivatives.value(x), dtype=np.float64)
        bar.show(result)
        return result

    options = kwargs.get("options") or {}
    result = newton(
        values,
        lambda x: derivatives.matrix("jacobian", x),
        parameters.vector,
        options.get("xtol", kwargs.get("tol")),
        options.get("maxfev"),
        kwargs.get("callback"),
    )
    return result if result.success or len(parameters.vector) > LARGEST_DENSE else None


@called_like(optimize.root_scalar)
def root_scalar(kwargs: dict[str, Any], progress: bool) -> Any:
    """Find where a function of one number is 0, as `scipy.optimize.root_scalar` does.

    The parameters and the result are SciPy's. `fprime` is filled in for the methods "newton" and
    "halley", `fprime2` for the latter, if they are left out; with x0 alone, and no method, it is
    "newton". From a complex x0 f has to be holomorphic. `progress` shows a bar of evaluations.

    Examples
    --------
    >>> import cadiff
    >>> from cadiff.optimize import root_scalar
    >>> print(f"{root_scalar(lambda x: cadiff.cos(x) - x, x0=1.0).root:.12f}")
    0.739085133215
    """
    f, args = kwargs.pop("f"), as_tuple(kwargs.pop("args", ()))
    method = kwargs.get("method")
    starts = kwargs.get("x0") is not None and kwargs.get("x1") is None
    if method is None and kwargs.get("bracket") is None and starts:
        method = kwargs["method"] = "halley" if kwargs.get("fprime2") else "newton"
    method = None if method is None else str(method).lower()
    kwargs.setdefault("fprime", None)
    program = program_of(f)
    eager = EagerDerivatives(f, args)
    first: Any = functools.partial(eager, "grad")
    second: Any = functools.partial(eager, "hessian")
    if np.iscomplexobj(kwargs.get("x0", 0.0)):
        first = transforms.grad(f, holomorphic=True)
        second = transforms.grad(first, holomorphic=True)
    differences = Differences(
        "root_scalar", lambda x: f(x[0].item(), *latest), lambda: not eager.keeps_nothing
    )
    latest: tuple[Any, ...] = args

    def slope(x: Any, *args: Any) -> Any:
        nonlocal latest
        latest = args
        if np.iscomplexobj(x):
            return first(x, *args)
        return differences.unless(lambda x: np.reshape(first(x.item(), *args), 1), np.ravel(x))[0]

    def curvature(x: Any, *args: Any) -> Any:
        if np.iscomplexobj(x) or differences.cause is None:
            return second(x, *args)
        return differences.of(lambda x: slope(x[0], *args), np.ravel(x), slope(x, *args))[0]

    if method in ("newton", "halley") and not kwargs["fprime"]:
        kwargs["fprime"] = slope
    if method == "halley" and not kwargs.get("fprime2"):
        kwargs["fprime2"] = curvature
    with Progress("root_scalar", progress) as bar:

        def values(x: float, *args: Any) -> Any:
            result = f(x, *args)
            if carries(result):  # as what is read from a cadiff.array does
                result = program(x, *args)
            check_plain(result, "root_scalar")
            bar.show(result)
            return result

        return optimize.root_scalar(values, args=args, **kwargs)


NAME = "sparse newton"
XTOL = 1.49012e-08  # SciPy's
MOST_STEPS = 200
SUFFICIENT = 1e-4  # of the decrease by a linear function
SHORTEST = 1e-8  # of Newton's step
LARGEST_DAMPING = 1e12
LEAST = 1e-24  # of the first residuals: all that is left where roots are multiple
ROUNDING = 1e-10  # of the first residuals: what may be left where no step makes them smaller

Values = Callable[[FloatArray], FloatArray]


def newton(
    values: Values,
    jacobian: Callable[[FloatArray], Any],
    x0: FloatArray,
    tol: float | None = None,
    maxfev: int | None = None,
    callback: Callable[..., Any] | None = None,
) -> Any:
    """A root of many equations, as a result of SciPy's; `jacobian` returns sparse matrices.

    Steps solve sparse linear systems. They are shortened until the sum of squares falls by a part
    of what a linear function would do; where that fails, or the Jacobian is singular, a step of
    Levenberg and Marquardt's is taken (J. Nocedal and S. J. Wright, "Numerical Optimization",
    2006, chapters 10 and 11).
    """
    x, f = np.array(x0), np.array(values(x0))
    xtol = XTOL if tol is None else tol
    most = maxfev or np.inf
    first = _norm(f)
    result = optimize.OptimizeResult(success=False, status=2, method=NAME, nfev=1, njev=0, nit=0)

    def count(x: FloatArray) -> FloatArray:
        result.nfev += 1
        with np.errstate(all="ignore"):
            return np.array(values(x))

    result.message = f"There is no root after {MOST_STEPS} steps."
    while result.nit < MOST_STEPS:
        if _norm(f) <= LEAST * first:
            result.success = True
            break
        if result.nfev >= most:
            result.status, result.message = 3, f"There were {result.nfev} evaluations (maxfev)."
            break
        matrix = sparse.csc_array(jacobian(x))
        result.njev += 1
        steps = _newton_step(count, matrix, x, f, xtol) or _damped_step(count, matrix, x, f, xtol)
        if steps is None:
            result.message = "No step from here reduces the residuals; another x0 may help."
            result.success = _norm(f) <= ROUNDING * first
            break
        (x, f), is_last = steps
        result.nit += 1
        if callback is not None:
            callback(x.copy(), f.copy())
        if is_last:
            result.success = True
            break
    if result.success:
        result.status, result.message = 1, "The solution converged."
    result.x, result.fun = x, f
    return result


Found = tuple[tuple[FloatArray, FloatArray], bool]  # a point and its values; whether it is a root


def _norm(f: FloatArray) -> float:
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(f))
    return norm if np.isfinite(norm) else np.inf


def _newton_step(
    values: Values, matrix: Any, x: FloatArray, f: FloatArray, xtol: float
) -> Found | None:
    """A step along Newton's direction, as long as it may be; None if there is no such step."""
    step = _solved(matrix, -f)
    if step is None:
        return None
    length, norm = 1.0, _norm(f)
    is_short = _norm(step) <= xtol * _norm(x)
    while length > SHORTEST:
        there = values(x + length * step)
        reached = _norm(there)
        if reached <= (1.0 - SUFFICIENT * length) * norm:
            return (x + length * step, there), is_short and length == 1.0
        if is_short:  # what is left is rounding
            return (x, f), True
        # The minimum of the parabola through what is known of the sum of squares.
        ratio = (reached / norm) ** 2
        best = length**2 / (ratio - 1.0 + 2.0 * length) if np.isfinite(ratio) else 0.0
        length = min(max(best, 0.1 * length), 0.5 * length)
    return None


def _damped_step(
    values: Values, matrix: Any, x: FloatArray, f: FloatArray, xtol: float
) -> Found | None:
    """A step towards the minimum of the linear function's squares, damped until they fall."""
    normal, gradient = sparse.csc_array(matrix.T @ matrix), matrix.T @ f
    diagonal = normal.diagonal()
    scale = sparse.diags_array(np.where(diagonal > 0.0, diagonal, 1.0))
    damping, norm = 1e-6, _norm(f)
    while damping <= LARGEST_DAMPING:
        step = _solved(sparse.csc_array(normal + damping * scale), -gradient)
        if step is not None:
            if _norm(step) <= xtol * _norm(x):
                return None  # a minimum of the squares, but no root
            there = values(x + step)
            if _norm(there) < (1.0 - SUFFICIENT) * norm:
                return (x + step, there), False
        damping *= 10.0
    return None


def _solved(matrix: Any, right: FloatArray) -> FloatArray | None:
    """The solution of a linear system; None if the matrix is singular."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.MatrixRankWarning)
        try:
            solution: FloatArray = linalg.splu(matrix).solve(right)
        except RuntimeError:  # exactly singular
            return None
    return solution if np.all(np.isfinite(solution)) else None
