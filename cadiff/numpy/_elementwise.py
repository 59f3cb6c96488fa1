"""NumPy's ufuncs in the namespace, and the few of them that are no rows of the table.

NumPy itself finds the package when a ufunc meets a number with a derivative, but takes several
times as long over it as the package's own function. So the namespace offers functions that look at
the type first and go there directly. All else about them is the ufunc: keyword arguments, methods,
attributes, plain numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import binding
from ..binding import Elementwise, carries, plain_values, widened
from ..binding import unguarded as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.dispatch import FUNCTIONS, implements, plain
from ..operations.guards import fixed
from ..operations.making import chooses_anew, innermost, of_integers
from ..operations.primitives import stated
from ._common import Number, as_number, existing, operand


def _joined(x: Any) -> Any:
    """Lists and object arrays with numbers in them as arrays; all else unchanged."""
    may = x.dtype.hasobject if isinstance(x, np.ndarray) else isinstance(x, (list, tuple))
    return arrays.as_array(x) if may and carries(x) else x


@functools.cache
def elementwise(ufunc: np.ufunc) -> Callable[..., Any]:
    """What stands in the namespace for a ufunc: always the same, under all of its names."""
    call = _dispatched(ufunc) if ufunc in FUNCTIONS else Elementwise(ufunc, _joined)
    call.__name__ = call.__qualname__ = ufunc.__name__
    call.__doc__ = ufunc.__doc__
    call.__module__ = "cadiff.numpy"
    return call


def _dispatched(ufunc: np.ufunc) -> Any:
    """One that is no row of the table: the package's function for numbers, else the ufunc."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return ufunc(*map(_joined, args), **kwargs)

    for attribute in (k for k in dir(ufunc) if not k.startswith("_")):
        setattr(call, attribute, getattr(ufunc, attribute))
    call.__wrapped__ = ufunc  # type: ignore[attr-defined]  # whose signature it has
    return call


# --- ufuncs without a row ------------------------------------------------------------------------

plain(
    *existing(
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
        "isnan", "isinf", "isfinite", "signbit",
        "logical_and", "logical_or", "logical_xor", "logical_not",
    )
)  # fmt: skip


@implements(np.float_power)
def float_power(x: Any, y: Any, /) -> Number:
    return _table.power(widened(as_number(x)), widened(as_number(y)))


@implements(*existing("conjugate", "conj"))
def conjugate(x: Any, /) -> Number:
    """A copy of the number: real ones are their own conjugates."""
    return arrays.copy(as_number(x))


@implements(np.divmod)
def divmod(x: Any, y: Any, /) -> tuple[Number, Number]:
    x, y = operand(x), operand(y)
    return _table.floor_divide(x, y), _table.mod(x, y)


@implements(np.modf)
def modf(x: Any, /) -> tuple[Number, Number]:
    x = as_number(x)
    fraction = _table.where(np.isinf(x), _table.copysign(0.0, x), _table.fmod(x, 1.0))
    return fraction, _table.trunc(x)


@stated("ldexp", loop=("ldexp", 0))
def _scaled(x: Any, n: Any) -> Any:
    return np.ldexp(x, n)


_scaled.defpartials(lambda ans, x, n: np.ldexp(1.0, n))


@implements(np.ldexp)
def ldexp(x1: Any, x2: Any, /) -> Number:
    """x1 times 2 to the power x2, which is plain, as `numpy.ldexp`."""
    return _scaled(as_number(x1), np.asarray(value(x2)))


@stated("frexp", loop=binding.Retyped(np.frexp, "d->di"))
def _frexp(x: Any) -> tuple[Any, Any]:
    """Mantissa and exponent, which is a float here."""
    mantissa, exponent = np.frexp(x)
    return mantissa, exponent.astype(np.float64)


_frexp.defvjp(lambda ans, x: lambda g: g[0] * _table.exp2(-ans[1]))
_frexp.defjvp(lambda g, ans, x: (g * _table.exp2(-ans[1]), 0.0))
_frexp.defpattern("...->...,...")


@implements(np.frexp)
def frexp(x: Any, /) -> tuple[Number, Any]:
    """Mantissa, with a derivative, and exponent, without, as `numpy.frexp`."""
    mantissa, exponent = _frexp(as_number(x))
    plain = np.frexp(plain_values(x))[1]
    if chooses_anew() and binding.depends(exponent):
        return mantissa, of_integers(plain, binding.stop_gradient(innermost(exponent)))
    fixed(exponent)
    return mantissa, plain
