"""The names of `cmath`, for numbers with derivatives as well as numbers of Python's.

On plain numbers every function is cmath's own, with its errors. On numbers with derivatives, real
or complex, results are complex and values follow NumPy, as everywhere in this package.

>>> import cadiff, cadiff.cmath as cmath
>>> cadiff.grad(lambda t: abs(cmath.sqrt(1j * t)))(4.0)
0.25
"""

from __future__ import annotations

import cmath as _cmath
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as _np

from .binding import carries, make_complex, unguarded
from .operations import table as _table
from .operations.arrays import in_precision

Function = Callable[..., Any]

_NAMES = {
    **{name: name for name in ("cos", "cosh", "exp", "sin", "sinh", "sqrt", "tan", "tanh")},
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "log10": "log10",
}
_QUESTIONS = ("isclose", "isfinite", "isinf", "isnan")


def _complex(x: Any) -> Any:
    """A number as a complex one, of float64 as all of Python's."""
    x = in_precision(x, _np.float64)
    return x if _np.iscomplexobj(x) else make_complex(x, 0.0)


def _analytic(original: Function, ufunc: Function) -> Function:
    @functools.wraps(original)
    def function(z: Any, /) -> Any:
        return ufunc(_complex(z)) if carries(z) else original(z)

    return function


def _question(original: Function) -> Function:
    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> bool:
        return bool(original(*unguarded(args), **unguarded(kwargs)))

    return function


def _mirror(name: str) -> Any:
    original = getattr(_cmath, name)
    if name in _NAMES:
        return _analytic(original, getattr(_np, _NAMES[name]))
    return _question(original) if name in _QUESTIONS else original


__all__ = [name for name in dir(_cmath) if not name.startswith("_")]
globals().update({name: _mirror(name) for name in __all__})

if TYPE_CHECKING:  # which cannot see these names

    def __getattr__(name: str) -> Any: ...


def log(z: Any, base: Any = None, /) -> Any:
    """The natural logarithm, or that to a base."""
    if not (carries(z) or carries(base)):
        return _cmath.log(z) if base is None else _cmath.log(z, base)
    natural = _np.log(_complex(z))
    return natural if base is None else natural / _np.log(_complex(base))


def phase(z: Any, /) -> Any:
    """The angle of a number in the complex plane, between -pi and pi."""
    return _np.angle(_complex(z)) if carries(z) else _cmath.phase(z)


def polar(z: Any, /) -> tuple[Any, Any]:
    """The absolute value and the angle of a number."""
    return (abs(_complex(z)), phase(z)) if carries(z) else _cmath.polar(z)


def rect(r: Any, phi: Any, /) -> Any:
    """The number of an absolute value and an angle."""
    if not (carries(r) or carries(phi)):
        return _cmath.rect(r, phi)
    r, phi = (in_precision(x, _np.float64) for x in (r, phi))
    return make_complex(r * _table.cos(phi), r * _table.sin(phi))
