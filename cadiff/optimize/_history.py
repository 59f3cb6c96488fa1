"""What optimisers went through: points, values, and norms of gradients, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from ..transforms import flatten
from ._vectors import FloatArray


class History:
    """A callback that keeps the way of an optimisation: `minimize(f, x0, callback=History())`.

    The result then has it as `result.history`. `minimize` fills it in whatever the method, as
    `lbfgs`, `sgd` and `adam` do; with other optimisers it keeps what SciPy tells to callbacks.
    `cadiff.plot.convergence` and `contours` draw it.

    Attributes
    ----------
    path : ndarray, shape (steps, n)
        Where it was after each step, parameters in containers as `cadiff.flatten` has them.
        `minimize` begins with x0.
    values : ndarray, shape (steps,)
        The function there; of several values half the sum of their squares; nan if not known.
    gradient_norms : ndarray, shape (steps,)
        The norm of its gradient; nan if not known.
    unflatten : callable, or None
        What makes parameters of a point, where these stand in containers.

    Examples
    --------
    >>> from cadiff.optimize import History, minimize
    >>> result = minimize(lambda x: (x**2).sum(), [3.0, 4.0], callback=History())
    >>> print(result.history.values[0], result.history.gradient_norms[0])
    25.0 10.0
    """

    def __init__(self) -> None:
        self._points: list[FloatArray] = []
        self._values: list[float] = []
        self._norms: list[float] = []
        self.unflatten: Callable[[Any], Any] | None = None

    def __call__(self, intermediate_result: Any) -> None:
        """Keep a step; SciPy's methods that know of no intermediate result give x alone."""
        result = intermediate_result
        if not isinstance(result, optimize.OptimizeResult):
            self.note(result, np.nan)
            return
        gradient = result.get("jac", result.get("grad"))
        is_gradient = gradient is not None and np.shape(gradient) == np.shape(result.x)
        norm = float(np.linalg.norm(gradient)) if is_gradient else np.nan
        self.note(result.x, result.get("fun", np.nan), norm)

    def __len__(self) -> int:
        return len(self._points)

    def __bool__(self) -> bool:
        return True  # an empty one, too: SciPy has "if callback:"

    def __repr__(self) -> str:
        return f"<cadiff.optimize.History of {len(self)} steps>"

    @property
    def path(self) -> FloatArray:
        return np.array(self._points) if self._points else np.empty((0, 0))

    @property
    def values(self) -> FloatArray:
        return np.array(self._values)

    @property
    def gradient_norms(self) -> FloatArray:
        return np.array(self._norms)

    def note(self, x: Any, value: Any, norm: float = np.nan) -> None:
        """Keep a step."""
        values = np.asarray(value, dtype=np.float64)
        point, unflatten = flatten(x)
        self._points.append(point)
        if not isinstance(x, np.ndarray):
            self.unflatten = unflatten
        self._values.append(float(values) if values.ndim == 0 else 0.5 * float(np.sum(values**2)))
        self._norms.append(norm)


def take_points(kwargs: dict[str, Any], unflatten: Callable[[Any], Any] | None) -> None:
    """Let a callback take what SciPy gives: a vector, and further arguments, the value first.

    A History keeps the two; others get parameters as they were given to the optimiser.
    """
    callback = kwargs.get("callback")
    if isinstance(callback, History):
        callback.unflatten = unflatten
        kwargs["callback"] = lambda x, value, *state: callback.note(np.asarray(x), value)
    elif callback is not None and unflatten is not None:
        kwargs["callback"] = lambda x, *state: callback(unflatten(np.asarray(x)), *state)
