"""Finite differences, where a function has no derivatives that can be taken.

An optimiser asks for derivatives at points at which it knows the value. A function may compute
with plain numbers alone (it converts or hashes its arguments, or tests their type): then numbers
with derivatives raise errors that plain numbers do not; and it may be finite where its derivative
is not. In both cases differences are taken, as SciPy does, and a warning says so once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..binding import NonFiniteError, callers
from ..binding.callers import warn_caller
from ._vectors import FloatArray

EPS = float(np.finfo(np.float64).eps)
STEP = EPS**0.5  # of forward differences, relative to a number
ABSOLUTE = {"bfgs": STEP, "cg": STEP, "l-bfgs-b": 1e-8, "slsqp": STEP, "tnc": 1e-8}
SHORT = 1e-6  # steps that tell a slope from a level, relative to a number
LEAST_SLOPE = 1e-5  # of what is not level

Function = Callable[[FloatArray], Any]
Sides = Callable[[], tuple[Any, Any]]
Steps = Callable[
    [FloatArray], Any
]  # of differences at a point; those that do nothing are replaced


def usual_steps(x: FloatArray) -> Any:
    """Those that SciPy takes where it is given none."""
    return _away(STEP * np.maximum(1.0, np.abs(x)), x)


def relative_steps(sizes: Any) -> Steps:
    """Steps relative to the numbers, as SciPy takes `diff_step` and `finite_diff_rel_step`."""
    return usual_steps if sizes is None else lambda x: _away(sizes * np.abs(x), x)


def steps_of(method: str, options: Any) -> Steps:
    """Those of `minimize`: relative ones, or by most methods of the same sizes everywhere."""
    options = options or {}
    if method in ABSOLUTE:
        return lambda x: options.get("eps", ABSOLUTE[method])
    return relative_steps(options.get("finite_diff_rel_step"))


def steps_of_minpack(error: Any) -> Steps:
    """Steps for a function with such an error, relative to its values, as MINPACK has them."""
    size = max(EPS, EPS if error is None else error) ** 0.5
    return lambda x: np.where(x == 0.0, size, size * np.abs(x))


def _away(sizes: Any, x: FloatArray) -> Any:
    return sizes * np.where(x < 0.0, -1.0, 1.0)


class Differences:
    """Derivatives of a function of a vector, taken by differences where there are no others.

    Parameters
    ----------
    name : str
        The optimiser, for warnings.
    value : callable
        The function of plain numbers.
    may_keep : callable
        Whether the function may keep what it computes, and return that another time.
    """

    def __init__(
        self, name: str, value: Function, may_keep: Callable[[], bool] = lambda: True
    ) -> None:
        self.name = name
        self.cause: Exception | None = None  # why all derivatives are differences
        self.runs = 0  # of the function, for differences
        self._value = value
        self._may_keep = may_keep
        self.steps: Steps = usual_steps
        self._sides: Sides = lambda: (-np.inf, np.inf)
        self._is_begun = False
        self._has_told = False

    def stay_within(self, sides: Sides) -> None:
        """Take no steps over bounds, as far as there is room: `sides` tells them, if need be."""

        def known() -> tuple[Any, Any]:
            bounds = -np.inf, np.inf
            with suppress(TypeError, ValueError):  # SciPy says what is wrong
                bounds = sides()
            self._sides = lambda: bounds
            return bounds

        self._sides = known

    def unless(self, derivative: Function, x: FloatArray) -> Any:
        """`derivative(x)`, with one axis for x, its last; or differences in its place."""
        if self.cause is not None:
            return self.of_value(x)
        try:
            result = derivative(x)
        except NonFiniteError:  # which somebody has asked for
            raise
        except Exception as error:
            try:
                self.runs += 1
                value = self._value(x)
            except Exception:  # the function has the error of plain numbers, too
                raise error from None
            return self.instead(error, x, value)
        return self.checked(result, x)

    def instead(self, error: Exception, x: FloatArray, value: Any) -> Any:
        """Differences, from now on, since a derivative raised an error and the value did not."""
        self.cause = error
        place = callers.place(error)
        told = " ".join(". ".join([str(error), *getattr(error, "__notes__", ())]).split())
        warn_caller(
            f"{self.name} takes finite differences, which give fewer digits, since the function "
            "works with plain numbers but not with those that carry derivatives "
            f"({type(error).__name__}: {told}{f', at {place}' if place else ''}); "
            'jac="2-point" asks for them'
        )
        return self.of_value(x, value)

    def of_value(self, x: FloatArray, value: Any = None) -> Any:
        """Forward differences of the function, whose value may be known."""
        if value is None:
            self.runs += 1
            value = self._value(x)
        self.runs += len(x)
        return self.of(self._value, x, value)

    def of(self, f: Function, x: FloatArray, value: Any) -> Any:
        """Forward differences, by steps away from the bounds; 0 where these leave no choice."""
        x = np.asarray(x, dtype=np.float64)
        here = np.ravel(np.asarray(value, dtype=np.float64))
        steps = np.asarray(self.steps(x), dtype=np.float64)
        steps = self._inside(x, np.where(x + steps == x, usual_steps(x), steps))
        lower, upper = self._sides()
        result = np.zeros((len(here), len(x)))
        for k in np.flatnonzero(np.broadcast_to(np.asarray(lower) < upper, x.shape)):
            point = x.copy()
            point[k] += steps[k]
            result[:, k] = (np.ravel(f(point)) - here) / (point[k] - x[k])
        return result[0] if len(here) == 1 else result

    def _inside(self, x: FloatArray, steps: FloatArray) -> FloatArray:
        """Steps, but to the other side, or shorter ones, where there is no room for them."""
        lower, upper = self._sides()
        below, above = x - lower, upper - x
        outside = (x + steps < lower) | (x + steps > upper)
        fits = np.abs(steps) <= np.maximum(below, above)
        longest = np.where(above >= below, above, -below)
        return np.where(outside, np.where(fits, -steps, longest), steps)

    def checked(self, result: Any, x: FloatArray, value: Any = None) -> Any:
        """A derivative; or differences where it is not finite, or 0 though f is not level.

        `value` is the function's, if it is known.
        """
        numbers = np.asarray(result.data if hasattr(result, "nnz") else result)
        if not np.isfinite(numbers).all():
            return self._finite(result, x)
        was_begun, self._is_begun = self._is_begun, True
        if numbers.any() or (was_begun and not self._may_keep()) or self._is_level(x, value):
            return result
        self.cause = ValueError("all derivatives are 0, but f is not level")
        where = "is" if was_begun else "starts"
        warn_caller(
            f"{self.name} {where} where all derivatives are 0, but f is not level there: it takes "
            "finite differences, which give fewer digits. float(v), cadiff.value(v), and what f "
            "has kept of a former call, are plain numbers, by which nothing is differentiated"
        )
        return self.of_value(x)

    def _is_level(self, x: FloatArray, value: Any) -> bool:
        """Whether f may well have a derivative of 0.

        If f takes plain values of its numbers, or values kept from a former call, no derivative
        is known, and an optimiser would be content with the point. At a stationary point f
        differs by more from its values on either side than these do.
        """
        x = np.asarray(x, dtype=np.float64)
        lower, upper = self._sides()
        steps = self._inside(x, _away(2.0 * SHORT * np.maximum(1.0, np.abs(x)), x))
        steps *= np.linspace(0.25, 0.5, len(x))
        has_sides = np.all((x - steps >= lower) & (x - steps <= upper))
        try:
            with np.errstate(all="ignore"):
                near = self._at(x + steps)
                rounding = LEAST_SLOPE * SHORT * np.maximum(1.0, np.abs(near))
                if value is not None and np.all(np.abs(near - value) <= 0.25 * rounding):
                    return True  # whatever f is elsewhere
                here = self._at(x)
                if np.any(np.abs(self._at(x) - here) > rounding):
                    return True  # it is noise by which values differ
                if value is not None and not np.all(np.abs(here - value) <= rounding):
                    return False  # f is another function of numbers that carry derivatives
                first = near - here
                if has_sides:
                    second = here - self._at(x - steps)
                else:
                    second = self._at(x + 2.0 * steps) - near
        except Exception:  # beyond the domain: nothing is known
            return True
        slope, curvature = np.abs(first + second), np.abs(first - second)
        return not np.any((slope > 10.0 * curvature) & (slope > rounding))

    def _at(self, x: FloatArray) -> Any:
        self.runs += 1
        return np.asarray(self._value(x), dtype=np.float64)

    def _finite(self, result: Any, x: FloatArray) -> Any:
        """What is not finite in a derivative, where the function is, by differences."""
        with np.errstate(all="ignore"):
            self.runs += 1
            value = self._value(x)
            if not np.all(np.isfinite(value)):
                return result
            differences = self.of_value(x, value)
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
