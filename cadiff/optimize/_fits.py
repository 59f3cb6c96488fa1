"""Least squares: of residuals, and of curves through data."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from .. import numpy as cnp
from ..binding import carries
from ..inspection import make_tape
from ..inspection.texts import counted
from ..programs.fallbacks import EagerDerivatives
from ..programs.program import Program, program_of
from ..transforms._base import takes
from ._boxes import check_start, put_bounds, put_scale
from ._called_like import called_like
from ._differences import Differences, relative_steps, steps_of_minpack
from ._minimize import in_containers
from ._objectives import FEW_VARIABLES, Derivatives
from ._progress import Progress, limit_of
from ._results import as_result
from ._solutions import EPSILON, NOT_ESTIMATED, inverse_of_squares, of_squares
from ._vectors import FloatArray, Parameters, check_plain, flat_results

LARGEST_REFINEMENT = 1e-2  # of the residuals: what changes more was no minimum
LAST_STEP = 1e-10  # of each parameter: the square of it is what Newton's method would change next
LOOSE, TIGHT = 1e-8, 1e-14  # for LSMR; with SciPy's 1e-6, ill-conditioned problems stall
EAGER_JACOBIANS = 32  # beyond which it is worth recording curves and arrays; most fits take fewer
SCALES = ("x_scale", "diag")  # of least_squares, and of leastsq
EMPTY = inspect.Parameter.empty
LONG_ARRAYS = 32  # residuals for each operation, from which on it is the arrays that take the time


@called_like(optimize.least_squares)
def least_squares(kwargs: dict[str, Any], progress: bool) -> Any:
    """Minimise the sum of squares of residuals, as `scipy.optimize.least_squares` does.

    Parameters
    ----------
    fun : callable
        `fun(x, *args, **kwargs)` returns the residuals: a number, an array of one axis, or a
        container of arrays, of which the result has a vector. It is written with functions of
        `cadiff.numpy` (or NumPy's, which dispatch), and may have loops and branches.
    x0 : array_like, shape (n,), or container
        Where to begin. Of a container fun gets the same one, and so has the result in `x`.
    jac : optional
        As in SciPy, but for what it is if it is left out: the exact Jacobian, sparse where the
        structure is, by a compiled program. (Of long arrays by few parameters the first ones are
        taken of fun itself.) `"2-point"` asks for finite differences.
    bounds, method, ftol, ...
        As in SciPy, but for `tr_options`: with a sparse Jacobian that was filled in, LSMR solves
        linear systems in up to 10 n steps, to 1e-8 as long as the sum of squares falls by much,
        and at the end to 1e-14, unless other options are given. The method "lm" takes dense
        matrices alone, and so gets them. With parameters in containers, bounds and `x_scale` may
        stand in the same containers: see `minimize`. A dict of scales gives 1 to what it does not
        name.
    progress : bool
        Show a bar of evaluations, with half the sum of squares and the norm of its gradient; up
        to `max_nfev`, if that is given, it shows the time that is left.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from SciPy, with methods that tell `covariance()` and `standard_errors()` of the
        parameters: see `Result`.

    Raises
    ------
    TypeError
        If x0 holds something else than real numbers, or fun returns such.
    ValueError
        If bounds or x_scale are of another length than the vector of parameters, or name what x0
        has not; if x0 is not within the bounds; if fun returns an array of several axes.

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
    >>> import numpy as np
    >>> from cadiff.optimize import least_squares
    >>> t = np.linspace(0.0, 1.0, 20)
    >>> y = 2.0 * np.exp(-3.0 * t)
    >>> fit = least_squares(lambda p: p["a"] * np.exp(-p["k"] * t) - y, {"a": 1.0, "k": 1.0})
    >>> {name: round(value, 6) for name, value in fit.x.items()}
    {'a': 2.0, 'k': 3.0}
    """
    fun, x0 = kwargs.pop("fun"), kwargs.pop("x0")
    args, keywords = tuple(kwargs.pop("args", ())), kwargs.pop("kwargs", None) or {}
    parameters = Parameters(x0, "least_squares")
    put_bounds(kwargs, parameters, by_sides=True)
    check_start(parameters, kwargs.get("bounds"))
    put_scale(kwargs, "x_scale", parameters)
    jac = kwargs.pop("jac", None)
    sparsity = _jac_sparsity(kwargs) if jac is None else None
    residuals = functools.partial(fun, **keywords) if keywords else fun
    with Progress("least_squares", progress, kwargs.get("max_nfev")) as bar:
        if callable(residuals) and not isinstance(residuals, Program):
            residuals = flat_results(residuals, most_axes=1)  # as SciPy takes
        derivatives = _Residuals(residuals, parameters, args, "least_squares")
        derivatives.differences.steps = relative_steps(kwargs.get("diff_step"))
        may_be_sparse = kwargs.get("method") != "lm" and kwargs.get("tr_solver") != "exact"
        tolerance: _Tolerance | None = None
        latest: list[Any] = [None]

        def values(x: FloatArray) -> NDArray[Any]:
            value = derivatives.value if jac is None else derivatives.plain_value
            latest[0] = result = np.asarray(value(x))
            bar.show(result)
            return result

        def jacobian(x: FloatArray) -> Any:
            if tolerance is not None:
                tolerance.follow(latest[0])
            matrix = derivatives.matrix("jacobian", x, may_be_sparse)
            if sparsity is not None and np.shape(sparsity) != matrix.shape:
                raise ValueError(
                    f"jac_sparsity has the shape {np.shape(sparsity)}, but the Jacobian "
                    f"{matrix.shape}"
                )
            if not hasattr(matrix, "nnz"):
                matrix = np.reshape(matrix, (-1, len(x)))
            if progress and latest[0] is not None:
                bar.describe(latest[0], matrix.T @ np.ravel(latest[0]))
            return matrix

        if jac is None:
            kwargs["jac"] = jacobian
            sparse = may_be_sparse and derivatives.is_sparse("jacobian", parameters.vector)
            if sparse and not kwargs.get("tr_options"):
                tolerance = _Tolerance()
                options = {"atol": tolerance.number, "btol": tolerance.number}
                kwargs["tr_options"] = {**options, "maxiter": 10 * derivatives.n}
        elif callable(jac):
            kwargs["jac"] = lambda x: jac(parameters.given(x), *args, **keywords)
        else:
            kwargs["jac"] = jac
        if kwargs.get("bounds") is not None:
            derivatives.differences.stay_within(lambda: _sides(kwargs["bounds"]))
        result = optimize.least_squares(values, parameters.vector, **kwargs)
    if jac is None:
        derivatives.warn_if_slow(np.asarray(result.x), len(parameters.vector))
    bounds = kwargs.get("bounds")
    if bounds is not None and not isinstance(bounds, optimize.Bounds):
        bounds = optimize.Bounds(*bounds)
    return in_containers(as_result(result, of_squares(parameters, result, bounds)), parameters)


def _sides(bounds: Any) -> tuple[Any, Any]:
    lower, upper = (bounds.lb, bounds.ub) if isinstance(bounds, optimize.Bounds) else bounds
    return np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)


def _jac_sparsity(kwargs: dict[str, Any]) -> Any:
    """Where differences would look for entries: exact Jacobians know, but SciPy checks it."""
    sparsity = kwargs.get("jac_sparsity")
    if sparsity is not None:
        if kwargs.get("method") == "lm":
            raise ValueError('method="lm" takes no jac_sparsity')
        if kwargs.get("tr_solver") == "exact":
            raise ValueError('tr_solver="exact" takes no jac_sparsity: choose "lsmr"')
    return sparsity


class _Tolerance:
    """How exactly LSMR solves for a step: the less the one before has gained, the more so.

    Steps far from the minimum need not be exact: R. S. Dembo, S. C. Eisenstat and T. Steihaug,
    "Inexact Newton methods", SIAM J. Numer. Anal. 19, 1982. SciPy takes one tolerance for all
    steps; this one is an array without axes, the number in which changes.
    """

    def __init__(self) -> None:
        self.number = np.array(TIGHT)
        self._squares = np.inf

    def follow(self, residuals: NDArray[Any]) -> None:
        """Choose a tolerance for the step from a point."""
        squares = float(np.vdot(residuals, residuals))
        gain = max(0.0, 1.0 - squares / self._squares) if self._squares > 0.0 else 0.0
        self._squares = squares
        self.number[...] = min(LOOSE, max(TIGHT, LOOSE * gain))


class _Residuals(Derivatives):
    """Residuals with their Jacobian, by f itself where to record it costs more than it saves."""

    def __init__(self, f: Callable[..., Any], *others: Any) -> None:
        super().__init__(f, *others)
        self._is_open = self.n < FEW_VARIABLES and not isinstance(f, Program)
        self._size = 0

    def value(self, x: FloatArray) -> Any:
        result = super().value(x)
        self._size = np.size(result)
        return result

    def matrix(self, what: str, x: FloatArray, may_be_sparse: bool = True) -> Any:
        if self._is_open:
            self._is_open, self.eager = False, EAGER_JACOBIANS * self._is_of_arrays(x)
        return super().matrix(what, x, may_be_sparse)

    def _is_of_arrays(self, x: FloatArray) -> bool:
        """Whether f has few operations, on long arrays."""
        if self._size < LONG_ARRAYS:
            return False
        try:
            return self._size >= LONG_ARRAYS * len(make_tape(self.eager_value)(x))
        except Exception:  # as the Jacobian will be told
            return True


@called_like(optimize.curve_fit)
def curve_fit(kwargs: dict[str, Any], progress: bool) -> Any:
    """Fit a function to data by least squares, as `scipy.optimize.curve_fit` does.

    Parameters
    ----------
    f : callable
        `f(xdata, *params)`, written with functions of `cadiff.numpy` (or NumPy's, which dispatch).
        Every parameter is a number, unless p0 is a container.
    xdata, ydata, sigma, absolute_sigma, method, ...
        As in SciPy.
    p0 : optional
        As in SciPy; or a dict with the names of f's parameters, which may be arrays and
        containers, too; or a list of several arrays and numbers, one for each parameter; or any
        other container, which f then takes as its one parameter, `f(xdata, p)`.
    bounds, x_scale, diag : optional
        As in SciPy; or in the containers of p0, as `least_squares` takes them; or, whatever p0
        is, dicts by the names of f's parameters, which may leave out some.
    jac : optional
        As in SciPy, but for what it is if it is left out: the exact Jacobian by the parameters,
        from a compiled program where many are taken. `"2-point"` asks for finite differences.
    progress : bool
        Show a bar of evaluations.

    Returns
    -------
    popt, pcov
        As from SciPy; with `full_output` further values. popt is a container if p0 is one, and
        pcov the matrix of the vector that `cadiff.flatten` makes of it: the rows and columns of a
        dict are in the order of the dict p0, whatever that of f's parameters is. SciPy stops where
        the sum of squares no longer changes, which leaves half of the digits open. Without bounds
        Newton's steps, with exact derivatives, then go on for as long as they get smaller.

        With bounds, pcov is SciPy's: that of a fit with all parameters free, also those that end
        at a bound. `least_squares(...).covariance()` takes those for fixed instead: their rows are
        nan, the other errors are smaller, and there are more degrees of freedom.

    Raises
    ------
    TypeError
        If p0 is a container and a jac is given.
    ValueError
        If p0, bounds or scales have names that f's parameters, or p0, have not; if p0 lacks names;
        if p0 is not within the bounds; if f returns another number of values than ydata has.
    RuntimeError
        If SciPy finds no minimum.

    Warns
    -----
    RuntimeWarning
        If f works with plain numbers but not with those that carry derivatives, or is finite where
        a derivative is not: then finite differences are taken, as by SciPy without jac.

    Examples
    --------
    >>> import numpy as np
    >>> from cadiff.optimize import curve_fit
    >>> x = np.linspace(0.0, 4.0, 30)
    >>> y = 2.5 * np.exp(-1.3 * x) + 0.5
    >>> popt, pcov = curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y)
    >>> popt.round(6)
    array([2.5, 1.3, 0.5])
    """
    parameters = _put_vectors(kwargs)
    result = _fit(kwargs, progress)
    if parameters is None:
        return result
    return (parameters.given(np.asarray(result[0])), *result[1:])


def _put_vectors(kwargs: dict[str, Any]) -> Parameters | None:
    """Put vectors, and an f of numbers, in the place of containers; parameters if p0 is one."""
    p0, f = kwargs.get("p0"), kwargs["f"]
    if p0 is not None and not _is_numeric(p0):
        parameters = Parameters(p0, "curve_fit")
        if callable(kwargs.get("jac")):
            raise TypeError("curve_fit fills in jac for parameters in containers: leave it out")
        kwargs["f"] = _of_numbers(f, parameters)
        kwargs["p0"] = parameters.vector
    else:
        names = _names_of_parameters(f)
        start = np.full(len(names), np.nan) if p0 is None else np.ravel(p0)  # SciPy chooses one
        if p0 is not None and not takes(f, (0.0, *start)):
            raise TypeError(
                f"p0 has {counted(len(start), 'number')}, f has "
                f"{counted(len(names), 'parameter')} ({', '.join(names)}) behind xdata"
            )
        numbers = np.zeros(len(start))
        is_named = len(start) <= len(names)
        tree = dict(zip(names, numbers, strict=False)) if is_named else numbers
        parameters = Parameters(tree, "curve_fit")
        parameters.vector = start
    put_bounds(kwargs, parameters, by_sides=True)
    check_start(parameters, kwargs.get("bounds"))
    for name in SCALES:
        put_scale(kwargs, name, parameters)
    return parameters if kwargs["f"] is not f else None


def _is_numeric(p0: Any) -> bool:
    """Whether p0 is a vector to SciPy: what NumPy makes an array of numbers of."""
    try:
        return np.asarray(p0).dtype.kind in "biufc"
    except ValueError:
        return False


def _names_of_parameters(f: Callable[..., Any]) -> list[str]:
    """The names of what f takes by position behind xdata."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = [p for p in inspect.signature(f).parameters.values() if p.kind in kinds]
    except (TypeError, ValueError):  # it has no signature
        return []
    return [p.name for p in parameters[1:]]


def _of_numbers(f: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    tree, names = parameters.tree, _names_of_parameters(f)
    by_name = isinstance(tree, dict) and set(tree) <= set(names)
    by_position = isinstance(tree, (list, tuple))
    if isinstance(tree, dict) and not by_name and len(names) > 1:
        unknown = next(name for name in tree if name not in names)
        raise ValueError(f"p0 has {unknown!r}, but the parameters of f are {names}")
    if by_name:
        known = inspect.signature(f).parameters
        missing = [name for name in names if name not in tree and known[name].default is EMPTY]
        if missing:
            raise ValueError(
                f"p0 lacks {', '.join(map(repr, missing))}: the parameters of f are {names}, and "
                "each that has no default needs a value to begin with"
            )

    def of_numbers(xdata: Any, *numbers: Any) -> Any:
        p = parameters.given(cnp.array(numbers))
        if by_name:
            return f(xdata, **p)
        return f(xdata, *p) if by_position else f(xdata, p)

    return of_numbers


def _fit(kwargs: dict[str, Any], progress: bool) -> Any:
    """The fit of a function of numbers."""
    f, jac = kwargs["f"], kwargs.pop("jac", None)
    check_plain((kwargs["ydata"], kwargs.get("sigma")), "curve_fit")
    if np.ndim(kwargs["ydata"]) > 1:
        raise ValueError(
            f"curve_fit takes ydata with one axis, not of shape {np.shape(kwargs['ydata'])}: pass "
            "ydata.ravel(), and an f whose result is raveled, too"
        )
    if kwargs.get("nan_policy") == "omit":
        _omit_nans(kwargs)
    elif kwargs.get("nan_policy") is None and kwargs.get("check_finite", True) is not False:
        _check_finite(kwargs)
    if kwargs.get("sigma") is not None and np.size(kwargs["sigma"]) == 1:  # without jac SciPy's
        kwargs["sigma"] = np.full(np.size(kwargs["ydata"]), np.ravel(kwargs["sigma"])[0])
    n = np.size(kwargs["ydata"])
    if kwargs.get("sigma") is not None and np.shape(kwargs["sigma"]) not in ((n,), (n, n)):
        raise ValueError(
            f"sigma has the shape {np.shape(kwargs['sigma'])}, but ydata has {n} numbers: it is "
            f"{(n,)}, or {(n, n)} as a matrix of covariances"
        )
    if jac == "2-point" and kwargs.get("method") is None and _is_unbounded(kwargs):
        kwargs["method"] = "lm"  # whose differences SciPy asks for by no jac
        jac = "differences"
    if jac is not None:
        kwargs["jac"] = None if jac == "differences" else jac
        return optimize.curve_fit(**kwargs)

    def of_parameters(params: Any, xdata: Any) -> Any:
        return f(xdata, *params)

    of_parameters.__wrapped__ = f  # type: ignore[attr-defined]
    eager, program = EagerDerivatives(of_parameters), program_of(of_parameters)
    jacobians = 0
    with Progress("curve_fit", progress, limit_of(kwargs, "")[0]) as bar:
        differences = Differences(
            "curve_fit",
            lambda params: values(kwargs["xdata"], *params),
            lambda: not eager.keeps_nothing,
        )
        bounds = kwargs.get("bounds")
        if bounds is not None:
            differences.stay_within(lambda: _sides(bounds))
        is_of_minpack = kwargs.get("method", "lm") == "lm" and _is_unbounded(kwargs)
        differences.steps = (
            steps_of_minpack(kwargs.get("epsfcn"))
            if is_of_minpack
            else relative_steps(kwargs.get("diff_step"))
        )

        @functools.wraps(f)
        def values(xdata: Any, *params: float) -> Any:
            if jacobians < EAGER_JACOBIANS:
                result = f(xdata, *params)
            if jacobians >= EAGER_JACOBIANS or carries(result):
                result = program(np.array(params), xdata)
            check_plain(result, "curve_fit")
            result = np.asarray(result)
            if result.ndim > 1:
                raise ValueError(
                    f"f returned an array of shape {result.shape}, where curve_fit takes a vector "
                    f"of as many numbers as ydata, {np.size(kwargs['ydata'])}: return its ravel()"
                )
            sizes = {result.size, np.size(kwargs["ydata"])}
            if len(sizes) > 1 and 1 not in sizes:  # one number is broadcast
                raise ValueError(
                    f"f returned {result.size} numbers of xdata, of shape {np.shape(xdata)}, but "
                    f"ydata has {np.size(kwargs['ydata'])}: there should be as many"
                )
            bar.show(result)
            return result

        def jacobian(xdata: Any, *params: float) -> NDArray[Any]:
            nonlocal jacobians
            jacobians += 1

            def exact(p: FloatArray) -> Any:
                if jacobians < EAGER_JACOBIANS:
                    return eager("jacobian", p, xdata)
                return program.jacobian(p, xdata)

            matrix: NDArray[Any] = differences.unless(exact, np.array(params))
            return matrix if matrix.ndim == 2 else matrix.reshape(-1, len(params))

        kwargs["f"], kwargs["jac"] = values, jacobian
        result = optimize.curve_fit(**kwargs)
        is_exact = differences.cause is None
        refined = _refined(of_parameters, jacobian, result[0], kwargs) if is_exact else None
        if refined is None:
            return result
        if not kwargs.get("full_output"):
            return refined
        kwargs["p0"] = refined[0]
        again = optimize.curve_fit(**kwargs)
    again[2]["nfev"] += result[2]["nfev"]
    return (*refined, *again[2:])


def _check_finite(kwargs: dict[str, Any]) -> None:
    """Raise, as SciPy does, where data are not finite, and say which."""
    for name in ("xdata", "ydata"):
        data = kwargs[name]
        if isinstance(data, (list, tuple, np.ndarray)):
            numbers = np.asarray(data)
            if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                raise ValueError(
                    f"array must not contain infs or NaNs: {name} has "
                    f"{np.count_nonzero(~np.isfinite(numbers))} of them. nan_policy='omit' leaves "
                    "out data that are nan"
                )


def _omit_nans(kwargs: dict[str, Any]) -> None:
    """Leave out the data that have no numbers, as SciPy does, so that all else knows the rest."""
    xdata, ydata = kwargs["xdata"], np.asarray(kwargs["ydata"], dtype=np.float64)
    if not isinstance(xdata, (list, tuple, np.ndarray)):
        return  # nobody knows what it has: SciPy says so
    xdata = np.asarray(xdata, dtype=np.float64)
    without = np.isnan(ydata) | np.isnan(xdata).any(axis=tuple(range(xdata.ndim - 1)))
    kwargs["xdata"], kwargs["ydata"] = xdata[..., ~without], ydata[~without]
    sigma = kwargs.get("sigma")
    if sigma is not None and np.size(sigma) > 1:
        sigma = np.asarray(sigma)[~without]
        kwargs["sigma"] = sigma if sigma.ndim < 2 else sigma[:, ~without]
    del kwargs["nan_policy"]


def _refined(
    of_parameters: Callable[..., Any],
    jacobian: Callable[..., Any],
    popt: FloatArray,
    kwargs: dict[str, Any],
) -> tuple[FloatArray, FloatArray] | None:
    """Parameters, and covariances, with the digits that sums of squares cannot tell; or None.

    A sum of squares is flat at its minimum, so what compares sums stops at half of the digits.
    Newton's steps go by the gradient. They are taken for as long as each changes the residuals by
    less than the one before, which two or three do.
    """
    xdata, ydata = kwargs["xdata"], np.asarray(kwargs["ydata"], dtype=np.float64).ravel()
    sigma: Any = kwargs.get("sigma")
    whole = kwargs.get("nan_policy") is None and not np.isnan(ydata).any()
    if not whole or not _is_unbounded(kwargs) or len(ydata) <= len(popt):
        return None
    if isinstance(xdata, (list, tuple, np.ndarray)):
        xdata = np.asarray(xdata, dtype=np.float64)
    whiten = _whitening(sigma)

    def residuals_at(params: Any) -> Any:
        return whiten(cnp.ravel(cnp.asarray(of_parameters(params, xdata))) - ydata)

    squares = EagerDerivatives(lambda params: 0.5 * cnp.sum(residuals_at(params) ** 2))
    params, shortest = popt, float("inf")
    if not _are_determined(whiten(jacobian(xdata, *popt)), popt, whiten(ydata)):
        warnings.warn(NOT_ESTIMATED, optimize.OptimizeWarning, stacklevel=4)
        return popt, np.full((len(popt), len(popt)), np.inf)
    while True:
        residuals = residuals_at(params)
        matrix = whiten(jacobian(xdata, *params))
        try:
            step = np.linalg.solve(squares("hessian", params), -(matrix.T @ residuals))
        except (np.linalg.LinAlgError, TypeError, NotImplementedError):
            return None  # there are no second derivatives of what has rules for first ones alone
        change = float(np.linalg.norm(matrix @ step))
        shortest = min(shortest, LARGEST_REFINEMENT * float(np.linalg.norm(residuals)))
        if not change < shortest:
            break
        params, shortest = params + step, change
        if np.all(np.abs(step) <= LAST_STEP * np.abs(params)):
            break
    if params is popt:
        return None
    degrees = len(ydata) - len(params)
    variance = 1.0 if kwargs.get("absolute_sigma") else residuals @ residuals / degrees
    inverse = inverse_of_squares(matrix)
    return None if inverse is None else (params, variance * inverse)


def _are_determined(matrix: FloatArray, popt: FloatArray, ydata: FloatArray) -> bool:
    """Whether each parameter has an effect of its own, beyond rounding."""
    if not np.all(np.isfinite(matrix)):
        return True  # for all that is known
    lengths = np.linalg.norm(matrix, axis=0)
    if np.any(lengths * np.maximum(1.0, np.abs(popt)) <= EPSILON * np.linalg.norm(ydata)):
        return False
    return inverse_of_squares(matrix) is not None


def _whitening(sigma: Any) -> Callable[[Any], Any]:
    """What makes residuals, or columns of them, independent and of variance one."""
    if sigma is None:
        return lambda residuals: residuals
    sigma = np.asarray(sigma, dtype=np.float64)
    if sigma.ndim < 2 or sigma.size == 1:
        weights = 1.0 / sigma.ravel()
        return lambda residuals: (weights * residuals.T).T
    inverse = np.linalg.inv(np.linalg.cholesky(sigma))
    return lambda residuals: inverse @ residuals


def _is_unbounded(kwargs: dict[str, Any]) -> bool:
    bounds = kwargs.get("bounds")
    if bounds is None:
        return True
    lower, upper = _sides(bounds)
    return bool(np.all(np.isneginf(lower)) and np.all(np.isposinf(upper)))
