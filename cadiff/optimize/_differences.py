"""Finite differences, where a function has no derivatives that can be taken.

An optimiser asks for derivatives at points at which it knows the value. A function that computes
with plain numbers alone (it converts, hashes or tests the type of what it is given) then raises
what it would not raise of plain numbers; and it may be finite where its derivative is not. In both
cases differences are taken, as SciPy does, and a warning says so once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import optimize

from ..programs.traces import warn_caller
from ._boxes import sides_of
from ._vectors import FloatArray

STEP = float(np.finfo(np.float64).eps) ** 0.5  # of forward differences, relative to a number
LONGEST_CAUSE = 200  # characters of an error that a warning repeats

Function = Callable[[FloatArray], Any]


class Differences:
    """Derivatives of a function of a vector, taken by differences where there are no others.

    Parameters
    ----------
    name : str
        The optimiser, for warnings.
    value : callable
        The function of plain numbers.
    """

    def __init__(self, name: str, value: Function) -> None:
        self.name = name
        self.cause: Exception | None = None  # why all derivatives are differences
        self.lower: Any = -np.inf
        self.upper: Any = np.inf
        self.runs = 0  # of the function, for differences
        self._value = value
        self._has_told = False

    def stay_within(self, bounds: Any, n: int) -> None:
        """Take no steps over SciPy's bounds of n numbers, as far as there is room."""
        with suppress(TypeError, ValueError):  # SciPy says what is wrong
            self.lower, self.upper = sides_of(bounds, n)

    def unless(self, derivative: Function, x: FloatArray) -> Any:
        """`derivative(x)`, with one axis for x, its last; or differences in its place."""
        if self.cause is not None:
            return self.of_value(x)
        try:
            result = derivative(x)
        except Exception as error:
            self._note_cause(error, x)
            return self.of_value(x)
        return self.finite(result, x)

    def of_value(self, x: FloatArray) -> Any:
        """Forward differences of the function."""
        self.runs += 1 + len(x)
        return self.of(self._value, x)

    def of(self, f: Function, x: FloatArray) -> Any:
        """Forward differences, by steps away from the bounds; 0 where these leave no choice."""
        x = np.asarray(x, dtype=np.float64)
        steps = STEP * np.maximum(1.0, np.abs(x)) * np.where(x < 0.0, -1.0, 1.0)
        outside = (x + steps < self.lower) | (x + steps > self.upper)
        fits = (x - steps >= self.lower) & (x - steps <= self.upper)
        steps = np.where(outside & fits, -steps, steps)
        free = np.broadcast_to(np.asarray(self.lower) < self.upper, x.shape)

        def of_free(part: FloatArray) -> Any:
            point = x.copy()
            point[free] = part
            return f(point)

        known = optimize.approx_fprime(x[free], of_free, steps[free])
        result = np.zeros((*np.shape(known)[:-1], len(x)))
        result[..., free] = known
        return result

    def _note_cause(self, error: Exception, x: FloatArray) -> None:
        """Go over to differences; or raise, if the function has the error of plain numbers too."""
        try:
            self._value(np.array(x))
        except Exception:
            raise error from None
        self.cause = error
        text = " ".join(str(error).split())
        text = text if len(text) < LONGEST_CAUSE else text[:LONGEST_CAUSE] + "..."
        warn_caller(
            f"{self.name} takes finite differences, which give fewer digits, since the function "
            "works with plain numbers but not with those that carry derivatives "
            f'({type(error).__name__}: {text}); jac="2-point" asks for them'
        )

    def finite(self, result: Any, x: FloatArray) -> Any:
        """A derivative; what is not finite in it, where the function is, by differences."""
        numbers = result.data if hasattr(result, "nnz") else result
        if np.all(np.isfinite(numbers)):
            return result
        with np.errstate(all="ignore"):
            if not np.all(np.isfinite(self._value(np.array(x)))):
                return result
            differences = self.of_value(x)
        dense = result.toarray() if hasattr(result, "nnz") else np.asarray(result)
        differences = np.reshape(differences, dense.shape)
        infinite = ~np.isfinite(dense)
        if not self._has_told:
            self._has_told = True
            k = int(np.nonzero(infinite)[-1][0])
            warn_caller(
                f"{self.name} takes finite differences where derivatives are not finite: that by "
                f"number {k} of the vector of parameters is {dense[infinite][0]} where this is "
                f"{x[k]:.6g}, while the function is finite. A start at another value, or bounds "
                "that exclude this one, leave exact derivatives"
            )
        mended = np.where(infinite, differences, dense)
        return type(result)(mended) if hasattr(result, "nnz") else mended
