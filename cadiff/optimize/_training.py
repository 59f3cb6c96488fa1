"""Training loops: steps along gradients of batches of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import optimize

from ..programs.program import program_of
from ..transforms._base import answering
from ._history import History
from ._minimize import minimize
from ._progress import EVALUATIONS, Progress
from ._results import Result
from ._vectors import FloatArray, Parameters, as_tuple, check_plain

Batches = Callable[[int], Iterable[Any]]
Rate = float | Callable[[int], float]
Step = Callable[[FloatArray, FloatArray, float], None]


@answering
def sgd(
    f: Callable[..., Any],
    x0: Any,
    data: Any = None,
    *,
    epochs: int = 10,
    batch_size: int | None = None,
    learning_rate: Rate = 0.01,
    momentum: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    args: tuple[Any, ...] = (),
    callback: Callable[..., Any] | None = None,
    rng: Any = None,
    progress: bool = False,
) -> Any:
    """Stochastic gradient descent: steps against the gradients of batches.

    Parameters
    ----------
    f : callable
        `f(x, *batch, *args)` returns the loss of a batch, a number: its mean over the batch, say.
    x0 : array_like, or container
        Where to begin: a vector, a dict, a list of layers ...; f gets the same.
    data : array, tuple of arrays, callable or None
        Arrays of as many rows each, which are drawn in another order in each epoch; or
        `data(epoch)`, which returns an iterable of batches, tuples of arguments of f, for data
        read piece by piece; or nothing, and f is its own loss.
    epochs : int
        How often all data are gone through.
    batch_size : int, optional
        Rows of a batch; the last one of an epoch may have fewer. All of them if it is left out.
    learning_rate : float or callable
        The length of steps in units of the gradient, or `learning_rate(step)` for a schedule;
        steps are counted from 0.
    momentum : float
        What is left, after a step, of the sum v = momentum v + g that steps go along.
    nesterov : bool
        Go along g + momentum v instead.
    weight_decay : float
        Times x it is added to the gradient.
    args : tuple, optional
        What f takes behind the batch.
    callback : callable, optional
        `callback(intermediate_result)` after each epoch, with `x`, `fun` (the mean loss of the
        epoch) and `nit` (epochs so far). If it raises StopIteration, that was the last one.
    rng : numpy.random.Generator, int or None
        For the order of rows.
    progress : bool
        Show a bar of steps with the loss, and the time that is left; of epochs, if data are a
        function of the epoch.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x` as x0, `fun` (mean loss of the last epoch), `nit` (epochs), `nfev` (steps), `success`:
        whether it went through all epochs, or until the callback ended it, and all losses,
        gradients and parameters were finite; `status` (0, or 1 without success) and `message`. A
        loss or gradient that is not finite ends it, with the parameters from before that step.
        Success does not mean that the loss became smaller: with few rows in a batch, noise may
        outweigh what an epoch gains.

    Raises
    ------
    TypeError
        If data are neither arrays nor a function of the epoch, or f does not return one number.
    ValueError
        If arrays have no rows, or not as many each; if an epoch has no batch; or if learning_rate
        or batch_size is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from cadiff.optimize import sgd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X @ [1.0, -2.0, 0.5]
    >>> def loss(w, X, y):
    ...     return ((X @ w - y) ** 2).mean()
    >>> sgd(loss, np.zeros(3), (X, y), batch_size=20, learning_rate=0.1, rng=0).x.round(4)
    array([ 1. , -2. ,  0.5])
    """
    sum_: FloatArray = np.zeros(0)

    def step(x: FloatArray, gradient: FloatArray, rate: float) -> None:
        nonlocal sum_
        gradient = gradient + weight_decay * x
        if momentum:
            sum_ = gradient if not sum_.size else momentum * sum_ + gradient
            gradient = gradient + momentum * sum_ if nesterov else sum_
        x -= rate * gradient

    return _train(
        "sgd", f, x0, data, epochs, batch_size, learning_rate, args, callback, rng, progress, step
    )


@answering
def adam(
    f: Callable[..., Any],
    x0: Any,
    data: Any = None,
    *,
    epochs: int = 10,
    batch_size: int | None = None,
    learning_rate: Rate = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.0,
    args: tuple[Any, ...] = (),
    callback: Callable[..., Any] | None = None,
    rng: Any = None,
    progress: bool = False,
) -> Any:
    """Adam: steps along running means of gradients, in units of their running size.

    With g the gradient of the t-th batch, m = β₁ m + (1 - β₁) g and v = β₂ v + (1 - β₂) g², x
    moves by -rate (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε): algorithm 1 of D. P. Kingma and
    J. Ba, "Adam: a method for stochastic optimization", 2015.

    Parameters
    ----------
    f, x0, data, epochs, batch_size, args, callback, rng, progress
        As for `sgd`.
    learning_rate : float or callable
        About how far a parameter moves in a step, or `learning_rate(step)`.
    beta1, beta2, epsilon : float
        β₁, β₂ and ε above.
    weight_decay : float
        x is first multiplied by 1 - rate weight_decay, apart from the gradient (I. Loshchilov and
        F. Hutter, "Decoupled weight decay regularization", 2019).

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from `sgd`.

    Examples
    --------
    >>> import numpy as np
    >>> from cadiff.optimize import adam
    >>> result = adam(lambda p: ((p["w"] - 3.0) ** 2).sum(), {"w": np.zeros(2)}, epochs=400,
    ...               learning_rate=0.1)
    >>> result.x["w"].round(3)
    array([3., 3.])
    """
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{name} is a number from 0 to 1, without 1, not {beta!r}")
    mean: Any = 0.0
    square: Any = 0.0
    t = 0

    def step(x: FloatArray, gradient: FloatArray, rate: float) -> None:
        nonlocal mean, square, t
        t += 1
        mean = beta1 * mean + (1.0 - beta1) * gradient
        square = beta2 * square + (1.0 - beta2) * gradient**2
        x *= 1.0 - rate * weight_decay
        size = np.sqrt(square / (1.0 - beta2**t)) + epsilon
        x -= rate * (mean / (1.0 - beta1**t)) / size

    return _train(
        "adam", f, x0, data, epochs, batch_size, learning_rate, args, callback, rng, progress, step
    )


@answering
def lbfgs(
    f: Callable[..., Any],
    x0: Any,
    data: Any = (),
    *,
    args: tuple[Any, ...] = (),
    bounds: Any = None,
    callback: Callable[..., Any] | None = None,
    maxiter: int = 1000,
    gtol: float = 1e-6,
    history: int = 10,
    progress: bool = False,
) -> Any:
    """Minimise the loss of all data by L-BFGS: SciPy's L-BFGS-B, called as `sgd` and `adam` are.

    Parameters
    ----------
    f, x0, args
        As for `sgd`, of all data.
    data : array or tuple of arrays
        What f takes first.
    bounds, callback : optional
        As `minimize` takes them.
    maxiter : int
        Iterations at most.
    gtol : float
        It ends where no element of the (projected) gradient is larger.
    history : int
        How many steps the approximate Hessian is made of.
    progress : bool
        Show a bar of iterations up to maxiter.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from `minimize`.
    """
    data = () if data is None else as_tuple(data)
    options = {"maxiter": maxiter, "gtol": gtol, "maxcor": history, "ftol": 0.0}
    how: Any = {"bounds": bounds, "callback": callback, "options": options, "progress": progress}
    return minimize(f, x0, (*data, *as_tuple(args)), "L-BFGS-B", **how)


def _batches(name: str, data: Any, batch_size: int | None, rng: Any) -> Batches:
    """Of an epoch the batches, as tuples."""
    if callable(data):
        return data  # type: ignore[no-any-return]
    if data is None:
        if batch_size is not None:
            raise ValueError(f"{name} has no data, of which batches of {batch_size} could be made")
        return lambda epoch: [()]
    if isinstance(data, (list, dict, Iterator)):
        raise TypeError(
            f"{name} takes data as an array, a tuple of arrays, or a function of the epoch that "
            f"returns an iterable of batches, not as {type(data).__name__}"
        )
    arrays = tuple(np.asarray(part) for part in as_tuple(data))
    lengths = [len(part) if part.ndim else None for part in arrays]
    if len(set(lengths)) != 1 or None in lengths:
        raise ValueError(
            f"{name} takes data as arrays of as many rows each, not of shapes "
            f"{[part.shape for part in arrays]}; what is the same for all batches goes into args"
        )
    n = len(arrays[0])
    if n == 0:
        raise ValueError(f"{name} has data without rows")
    size = n if batch_size is None else batch_size
    if not isinstance(size, Integral) or size < 1:
        raise ValueError(f"batch_size is a number of rows, 1 or more, not {batch_size!r}")
    generator = np.random.default_rng(rng)

    def of_epoch(epoch: int) -> Iterator[tuple[Any, ...]]:
        if size >= n:
            yield arrays
            return
        order = generator.permutation(n)
        for begin in range(0, n, size):
            rows = order[begin : begin + size]
            yield tuple(part[rows] for part in arrays)

    return of_epoch


def _steps(data: Any, batch_size: int | None) -> int | None:
    """How many batches an epoch has; None if that is known by going through it."""
    if callable(data):
        return None
    if data is None or batch_size is None:
        return 1
    return -(-len(as_tuple(data)[0]) // batch_size)


def _train(
    name: str,
    f: Callable[..., Any],
    x0: Any,
    data: Any,
    epochs: int,
    batch_size: int | None,
    learning_rate: Rate,
    args: tuple[Any, ...],
    callback: Callable[..., Any] | None,
    rng: Any,
    progress: bool,
    step: Step,
) -> Any:
    """Epochs of steps; what a step does is all that methods differ in."""
    parameters = Parameters(x0, name)
    program = program_of(parameters.of_vectors(f))
    args = as_tuple(args)
    is_rate = isinstance(learning_rate, Real) and 0.0 < learning_rate < np.inf
    if not (is_rate or callable(learning_rate)):
        raise ValueError(
            f"learning_rate is a positive number, not {learning_rate!r}, or a function of the step"
        )
    if not isinstance(epochs, Integral) or epochs < 1:
        raise ValueError(f"epochs is a whole number, 1 or more, not {epochs!r}")
    batches = _batches(name, data, batch_size, rng)
    x = parameters.vector.copy()
    result = Result(x=x, fun=np.nan, nit=0, nfev=0, success=True, status=0)
    result.message = f"all {epochs} epochs are done"
    many = _steps(data, batch_size)
    total, unit = (epochs, "epochs") if many is None else (epochs * many, EVALUATIONS)
    with Progress(name, progress, total, unit) as bar:
        for _ in range(epochs):
            losses = []
            of_epoch = batches(result.nit)
            if not isinstance(of_epoch, Iterable):
                raise TypeError(
                    f"{name}: data is a function of the epoch, which returns an iterable of "
                    f"batches, not {of_epoch!r}"
                )
            for batch in of_epoch:
                loss, gradient = program.value_and_grad(x, *as_tuple(batch), *args)
                check_plain(loss, name)
                if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
                    result.success = False
                    result.message = (
                        f"the loss or its gradient is not finite at step {result.nfev} (the loss "
                        f"is {loss}): a smaller learning_rate may help; cadiff.nan_check says "
                        "where such numbers come from"
                    )
                    break
                rate = learning_rate(result.nfev) if callable(learning_rate) else learning_rate
                step(x, gradient, rate)
                losses.append(loss)
                result.nfev += 1
                bar.show(loss, gradient)
            if losses:
                result.fun = float(np.mean(losses))
            if not result.success:
                break
            if not losses:
                raise ValueError(f"{name}: there is no batch in epoch {result.nit}")
            result.nit += 1
            if many is None:
                bar.advance()
            if callback is not None:
                now = parameters.given(x.copy())
                try:
                    callback(optimize.OptimizeResult(x=now, fun=result.fun, nit=result.nit))
                except StopIteration:
                    result.message = f"the callback ended it after {result.nit} epochs"
                    break
    if not np.all(np.isfinite(x)):
        result.success = False
        result.message = "the parameters are not finite: a smaller learning_rate may help"
    result.status = 0 if result.success else 1
    result.x = parameters.given(x)
    if isinstance(callback, History):
        result.history = callback
    return result
