"""Derivatives by differences, of a function for which there is no rule.

Differences of values on both sides of a number are its derivative but for a series of even powers
of the step. From some steps, each a fraction of the one before, Richardson's extrapolation takes
the first powers away (Ridders, Advances in Engineering Software 4, 1982): about eight runs of the
function give twelve digits. How far the last two columns of that table differ says how good it is;
where they differ too much the steps go on to shrink, and where no step serves, the derivative is
nan.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding.callers import warn_caller
from . import arrays
from .primitives import CALLERS, primitive

FIRST = 0.0314159  # a step, relative to a number or to 1; no period divides it,
FALL = 3.7  # nor how much smaller the next one is
LEVELS = 24
COLUMNS = 4
GOOD = 1e-12  # an error that is small enough, relative to the derivative
NEAR_ROUNDING = 64.0  # the same, as a multiple of what rounding alone makes
BAD = 1e-3  # relative to the derivative, and to the value over the number: there is none
COMPLEX_STEP = 1e-40  # whose square is nothing beside 1, nor beside 1e-20
MOST_ARGUMENTS = 32  # of a function that does not say how many it takes

Array = NDArray[Any]
Value = Callable[[Array], Array]
CALLERS.add(__file__)
Method = Literal["central", "complex"]


class _Black:
    """A function called with copies of its arguments; its result is a fresh float or array."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.name = getattr(f, "__name__", repr(f))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        own = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
        result = self.__wrapped__(*own, **kwargs)  # type: ignore[attr-defined]
        if isinstance(result, tuple):
            raise TypeError(
                f"numerical: {self.name} returns a tuple: return one number or array, such as "
                "np.concatenate of them"
            )
        result = np.array(result)
        if result.dtype.kind in "biu":
            result = result.astype(np.float64)
        if result.dtype.kind not in "fc":
            raise TypeError(
                f"numerical: {self.name} returns no number and no array of them, but an array of "
                f"dtype {result.dtype}"
            )
        return result if result.ndim else result.item()


class _Numerical(primitive):
    """A primitive whose rules are differences, or complex steps."""

    def __init__(self, f: Callable[..., Any], method: Method) -> None:
        super().__init__(_Black(f))
        self._f = f
        self._method = method
        self._checked: set[int] = set()  # arguments by which complex steps were compared
        self._last: tuple[tuple[Any, ...], Any] = ((), None)  # a point, and what was found there
        for k in range(arguments_of(f)):
            slopes = _Slopes(functools.partial(self._slopes_by, k))
            slopes.called = f"the derivative of {self._name} by differences"
            self.pulls[k] = functools.partial(_pull, slopes, k)
            self.pushes[k] = functools.partial(_push, slopes, k)

    def by_parts(self, args: Any, kwargs: Any) -> Any:
        raise TypeError(
            f"numerical: {self._name} is of complex numbers: have it take and return their real "
            "and imaginary parts"
        )

    # --- slopes

    def _slopes_by(self, k: int, ans: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The derivatives by an argument, with its axes behind those of the result.

        Columns of a Jacobian ask for the same ones, with the same objects.
        """
        point = (k, ans, *args)
        last, found = self._last
        if kwargs or len(last) != len(point) or not all(map(operator.is_, last, point)):
            found = self._found(k, np.asarray(ans), args, kwargs)
            self._last = point, found
        return found.copy() if found.ndim else float(found)

    def _found(self, k: int, ans: Array, args: Sequence[Any], kwargs: dict[str, Any]) -> Array:
        x = np.array(args[k])
        at = x if x.dtype.kind == "f" else x.astype(np.float64)

        def value(moved: Array) -> Array:
            given = moved if moved.ndim else moved.item()
            result = np.asarray(self.function(*args[:k], given, *args[k + 1 :], **kwargs))
            if result.shape != ans.shape:
                raise ValueError(
                    f"numerical: {self._name} returned an array of the shape {result.shape} next "
                    f"to a point at which it has the shape {ans.shape}"
                )
            return result

        # Rules get numbers of float32 as floats, by which values are others, but not by much.
        is_exact = not np.array_equal(at, at.astype(np.float32), equal_nan=True)
        slack = 0.0 if is_exact else 1e-5 * np.max(np.abs(ans), initial=0.0)
        if not np.allclose(value(at), ans, rtol=0.0, atol=slack, equal_nan=True):
            raise ValueError(
                f"numerical: {self._name} returned other values when it was called again with the "
                "same arguments: differences are of a function that depends on these alone"
            )
        found = np.empty((*ans.shape, *at.shape))
        by_complex = self._method == "complex"
        for index in np.ndindex(at.shape):
            place = (Ellipsis, *index)
            found[place] = (
                self._complex_step(value, at, index, k)
                if by_complex
                else self._differences(value, at, index, ans)
            )
        if by_complex and k not in self._checked and at.size > 0:
            self._compare(value, at, ans, found)
            self._checked.add(k)
        return found

    def _differences(self, value: Value, at: Array, index: tuple[int, ...], ans: Array) -> Array:
        """The derivative by one number, nan where none was found."""
        step = np.zeros(at.shape)
        step[index] = size = max(1.0, abs(float(at[index])))
        slope, error, scale = _extrapolated(value, at, step, ans)
        is_bad = ~(error <= BAD * scale)
        if np.any(is_bad & np.isfinite(ans)):
            place = f"[{', '.join(map(str, index))}]" if index else ""
            warn_caller(
                f"numerical: differences of {self._name} by its argument x{place} = "
                f"{at[index]:.6g} do not come to a number as steps get smaller, so the derivative "
                "is nan: it jumps there, or is noisy"
            )
        return np.where(is_bad, np.nan, slope / size)

    def _complex_step(self, value: Value, at: Array, index: tuple[int, ...], k: int) -> Array:
        """The derivative by one number, to all digits."""
        moved = at.astype(np.complex128)
        moved[index] += 1j * COMPLEX_STEP
        try:
            result = value(moved)
        except TypeError as error:
            raise TypeError(
                f"numerical: {self._name} does not take complex numbers, by which "
                f'method="complex" differentiates ({error}); method="central" needs none'
            ) from error
        if result.dtype.kind != "c":
            self._checked.discard(k)
        return result.imag / COMPLEX_STEP

    def _compare(self, value: Value, at: Array, ans: Array, found: Array) -> None:
        """Refuse complex steps that are not what differences are, along one direction."""
        step = np.linspace(0.6, 1.0, at.size).reshape(at.shape) * np.maximum(1.0, np.abs(at))
        slope, error, scale = _extrapolated(value, at, step, ans)
        along = np.tensordot(found, step, at.ndim)
        largest = np.tensordot(np.abs(found), step, at.ndim) + np.abs(slope)
        differs = np.abs(along - slope) > 1e-6 * largest + 10.0 * error
        if np.any(differs & (error <= BAD * scale)):
            raise ValueError(
                f"numerical: the complex step of {self._name} is not its derivative: it takes "
                'absolute values or real parts, or compares; method="central" differentiates it'
            )


class _Slopes(primitive):
    """All derivatives by one argument: an operation of the values, with none of its own."""

    def _missing(self, k: int, mode: str) -> TypeError:
        return TypeError(
            f"{self.called} has no derivative itself, since second differences lose most digits: "
            "give the function rules (cadiff.custom)"
        )


def _pull(slopes: _Slopes, k: int, ans: Any, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    shape = binding.shape(args[k])
    matrix = _matrix_of(slopes(ans, *args, **kwargs), shape)
    return lambda g: arrays.reshape(arrays.matmul(arrays.reshape(g, (-1,)), matrix), shape)


def _push(slopes: _Slopes, k: int, g: Any, ans: Any, /, *args: Any, **kwargs: Any) -> Any:
    matrix = _matrix_of(slopes(ans, *args, **kwargs), binding.shape(args[k]))
    along = arrays.matmul(matrix, arrays.reshape(g, (-1,)))
    return arrays.reshape(along, binding.shape(ans))


def _matrix_of(found: Any, shape: tuple[int, ...]) -> Any:
    n = math.prod(shape)
    return arrays.reshape(found, (math.prod(binding.shape(found)) // max(n, 1), n))


def _extrapolated(value: Value, at: Array, step: Array, ans: Array) -> tuple[Array, Array, Array]:
    """The derivative along `step`, its error, and how large numbers are that it is made of."""
    slope, error = np.full(ans.shape, np.nan), np.full(ans.shape, np.inf)
    scale = np.zeros(ans.shape)
    eps = max(np.finfo(x.dtype).eps for x in (at, ans))
    first = np.unravel_index(np.argmax(np.abs(step)), step.shape)
    former: list[Array] = []
    failure: Exception | None = None
    for level in range(LEVELS):
        sides = [(at + sign * FIRST / FALL**level * step).astype(at.dtype) for sign in (1.0, -1.0)]
        width = (float(sides[0][first]) - float(sides[1][first])) / step[first]
        if width == 0.0:
            break
        try:
            with np.errstate(all="ignore"):
                high, low = (np.asarray(value(side), np.float64) for side in sides)
        except (ArithmeticError, ValueError) as raised:  # outside of the domain
            former, failure = [], raised
            continue
        size = np.maximum(np.abs(high), np.abs(low))
        rounding = eps * size / width
        row = [(high - low) / width]
        power = 1.0
        for other in former[: COLUMNS - 1]:
            power *= FALL**2
            row.append(row[-1] + (row[-1] - other) / (power - 1.0))
            off = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - other)) + rounding
            is_better = off < error
            slope, error = np.where(is_better, row[-1], slope), np.where(is_better, off, error)
            scale = np.where(is_better, size + np.abs(row[-1]), scale)
        former = row
        enough = np.maximum(GOOD * np.abs(slope), NEAR_ROUNDING * rounding)
        if len(row) > 2 and np.all((error <= enough) | ~np.isfinite(ans)):
            break
    if failure is not None and not np.isfinite(error).any() and ans.size > 0:
        raise failure
    return slope, error, scale


def arguments_of(f: Callable[..., Any]) -> int:
    """How many arguments a function takes by position, at most."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return MOST_ARGUMENTS
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return MOST_ARGUMENTS
    return sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)


def numerical(f: Callable[..., Any] | None = None, *, method: Method = "central") -> Any:
    """A function without rules as an operation, differentiated by differences.

    For the one function in a program that is a black box: it calls a simulation, or a library that
    takes nothing but floats. All else keeps its exact derivatives. A derivative takes about
    eight runs of f for each number of the argument in question, in forward and in reverse mode.
    There are no second derivatives: they raise TypeError.

    Parameters
    ----------
    f : callable
        Of plain floats and ndarrays; returns a real number or an array, which depends on its
        arguments alone. Without it, `numerical(...)` is a decorator.
    method : {"central", "complex"}
        "central": differences of both sides, extrapolated to the step 0 from steps of 0.03 of the
        number (or of 1, where it is less) and a few smaller ones. The error is about 1e-12 of the
        derivative, or that of the values of f over 0.001 of the number. It is estimated: where it
        is too large, as next to kinks or outside of a domain, steps shrink; where it remains above
        1e-3 of the derivative, the derivative is nan, with a warning. What f does on a smaller
        scale than its steps, such as a fast oscillation of a small amplitude, is not seen.
        "complex": the imaginary part of f for a number with an imaginary part of 1e-40: all
        digits, by one run a number. f is to take complex numbers, and to be analytic: no `abs`,
        no `real`, no comparison of complex numbers. The first derivative by each argument is
        compared with differences.

    Returns
    -------
    primitive
        An operation, to which one may still give rules of one's own by some arguments.

    Raises
    ------
    ValueError
        In derivatives, if f returns other values for the same arguments when it is called again,
        or arrays of another shape next to a point; if a complex step is no derivative.
    TypeError
        If f returns no real number and no array of them, or does not take complex numbers.

    Examples
    --------
    >>> import math
    >>> import cadiff
    >>> @cadiff.numerical
    ... def black_box(x):
    ...     return math.sin(x)
    >>> slope = cadiff.grad(lambda x: x * black_box(x))(2.0)
    >>> abs(slope - (math.sin(2.0) + 2.0 * math.cos(2.0))) < 1e-11
    True
    """
    if method not in ("central", "complex"):
        raise ValueError(f'method is "central" or "complex", not {method!r}')
    if f is None:
        return functools.partial(numerical, method=method)
    if not callable(f):
        raise TypeError(f"numerical takes a function, not {type(f).__name__}")
    return _Numerical(f, method)
