"""The names of `math`, for numbers with derivatives as well as floats.

`import cadiff.math as math` differentiates code that was written for floats. On floats every
function is math's own, with its errors: `log(0.0)` raises `ValueError`. On a `Var` or `Dual`
values follow NumPy, as everywhere in this package: there it is -inf; and results are of float64,
as Python's floats, also of numbers of float32. Functions of whole numbers
(`gcd`, `comb` ...) and `nextafter` have no derivative and refuse such numbers; tests (`isnan` ...)
answer for the value.
"""

from __future__ import annotations

import functools
import math as _math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .binding import Dual, Var, carries, compare, depends, plain_values, widened
from .binding import unguarded as value
from .operations import table as _table
from .operations.guards import EQUAL, LESS_EQUAL, note_kinds

Function = Callable[..., Any]

# --- one function of the table for one of math ---------------------------------------------------

SAME = (
    "cbrt", "ceil", "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor",
    "fmod", "gamma", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
NAMES = {name: name for name in SAME} | {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "degrees": "rad2deg",
    "fabs": "absolute",
    "lgamma": "gammaln",
    "pow": "power",
    "radians": "deg2rad",
    "remainder": "ieee_remainder",
}

NUMBERS = (Var, Dual)


def _unary(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def function(x: Any, /) -> Any:
        return ours(widened(x)) if isinstance(x, NUMBERS) else original(x)

    return function


def _binary(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def function(x: Any, y: Any, /) -> Any:
        carrying = isinstance(x, NUMBERS) or isinstance(y, NUMBERS)
        return ours(widened(x), widened(y)) if carrying else original(x, y)

    return function


BINARY = {"atan2", "copysign", "fmod", "pow", "remainder"}

# --- tests of the value, and functions of whole numbers ------------------------------------------

TESTS = {"isclose", "isfinite", "isinf", "isnan"}

WITHOUT_DERIVATIVE = {
    "comb": "cadiff.gamma is differentiable",
    "factorial": "cadiff.gamma is differentiable",
    "gcd": "it takes whole numbers",
    "isqrt": "math.sqrt is differentiable",
    "lcm": "it takes whole numbers",
    "nextafter": "it steps from float to float",
    "perm": "cadiff.gamma is differentiable",
    "ulp": "it is the spacing of floats",
}


def _note_closeness(a: Any, b: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> None:
    """What the answer of isclose follows from, for replays of a recording."""
    gap = abs(a - b)
    for bound in (rel_tol * abs(a), rel_tol * abs(b), abs_tol):
        compare(gap, bound, LESS_EQUAL)
    compare(a, b, EQUAL, False)
    note_kinds(a, b)


def _test(original: Function) -> Function:
    note = _note_closeness if original is _math.isclose else note_kinds

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        answer = original(*plain_values(args), **plain_values(kwargs))
        if depends((args, kwargs)):
            note(*args, **kwargs)
        return answer

    return function


def _refusal(original: Function, reason: str) -> Function:
    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if carries(args) or carries(kwargs):
            raise TypeError(
                f"math.{original.__name__} has no derivative ({reason}): "
                "apply it to cadiff.value(v) if the number is a constant"
            )
        return original(*args, **kwargs)

    return function


def _mirror(name: str) -> Any:
    """What stands here for a name of math; functions of several kinds are defined below."""
    original = getattr(_math, name)
    if name in NAMES:
        ours = getattr(_table, NAMES[name])
        return (_binary if name in BINARY else _unary)(original, ours)
    if name in TESTS:
        return _test(original)
    if name in WITHOUT_DERIVATIVE:
        return _refusal(original, WITHOUT_DERIVATIVE[name])
    return original


__all__ = [name for name in dir(_math) if not name.startswith("_")]
globals().update({name: _mirror(name) for name in __all__})

if TYPE_CHECKING:  # which cannot see these names

    def __getattr__(name: str) -> Any: ...


# --- functions of several arguments --------------------------------------------------------------


def log(x: Any, base: Any = None, /) -> Any:
    """The natural logarithm, or that to a base."""
    if isinstance(x, NUMBERS) or isinstance(base, NUMBERS):
        natural = _table.log(widened(x))
        return natural if base is None else _table.divide(natural, _table.log(widened(base)))
    return _math.log(x) if base is None else _math.log(x, base)


def hypot(*coordinates: Any) -> Any:
    """The length of a vector; its derivative at the origin is 0."""
    if not any(isinstance(x, NUMBERS) for x in coordinates):
        return _math.hypot(*coordinates)
    first, *others = map(widened, coordinates)
    return functools.reduce(_table.hypot, others, _table.absolute(first))


def dist(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """The distance of two points; its derivative is 0 where they coincide."""
    p, q = list(p), list(q)
    if not (carries(p) or carries(q)):
        return _math.dist(p, q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return hypot(*(x - y for x, y in zip(p, q, strict=True)))


def _with_value(number: Any, exact: float) -> Any:
    """The number with the error of rounding in its value removed."""
    error = exact - value(number)
    return number + error if _math.isfinite(error) else number


def fsum(seq: Iterable[Any], /) -> Any:
    """The sum, without loss of precision in its value."""
    numbers = [*map(widened, seq)]
    if not carries(numbers):
        return _math.fsum(numbers)
    total = sum(numbers)
    plain = value(numbers)
    return _with_value(total, _math.fsum(plain)) if _math.isfinite(value(total)) else total


def prod(iterable: Iterable[Any], /, *, start: Any = 1) -> Any:
    """The product."""
    numbers = list(iterable)
    if not (carries(numbers) or carries(start)):
        return _math.prod(numbers, start=start)
    for number in numbers:
        start = start * number
    return start


def ldexp(x: Any, i: int, /) -> Any:
    """X times 2**i, for a whole number i."""
    if not isinstance(x, NUMBERS):
        return _math.ldexp(x, i)
    half = i // 2  # so that neither factor overflows before the product does
    return widened(x) * 2.0**half * 2.0 ** (i - half)


def frexp(x: Any, /) -> tuple[Any, int]:
    """Mantissa, a number like x, and exponent, an int: x is mantissa times 2**exponent."""
    if not isinstance(x, NUMBERS):
        return _math.frexp(x)
    exponent = _math.frexp(value(x))[1]
    return ldexp(x, -exponent), exponent


def modf(x: Any, /) -> tuple[Any, Any]:
    """Fractional part, of derivative 1, and whole part, of derivative 0."""
    if not isinstance(x, NUMBERS):
        return _math.modf(x)
    x = widened(x)
    whole = _table.trunc(x)
    return (x - whole if _math.isfinite(value(x)) else _table.copysign(0.0, x)), whole


if "sumprod" in __all__:
    _sumprod: Function = _math.sumprod  # type: ignore[attr-defined, unused-ignore]

    def sumprod(p: Iterable[Any], q: Iterable[Any], /) -> Any:
        """The sum of products, without loss of precision in its value."""
        p, q = list(p), list(q)
        if not (carries(p) or carries(q)):
            return _sumprod(p, q)
        if len(p) != len(q):
            raise ValueError("Inputs are not the same length")
        total = sum(x * y for x, y in zip(p, q, strict=True))
        return _with_value(total, _sumprod(value(p), value(q)))


if "fma" in __all__:
    _fma: Function = _math.fma  # type: ignore[attr-defined, unused-ignore]

    def fma(x: Any, y: Any, z: Any, /) -> Any:
        """X y + z, its value rounded once."""
        if not carries((x, y, z)):
            return _fma(x, y, z)
        total = x * y + z
        if not _math.isfinite(value(total)):
            return total
        return _with_value(total, _fma(value(x), value(y), value(z)))
