"""`scipy.integrate`, whose integrals and solutions are functions of all that they read.

>>> import cadiff, numpy as np
>>> from cadiff.scipy.integrate import quad
>>> cadiff.grad(lambda a: quad(lambda x: a * x**2, 0.0, a)[0])(1.0)
1.3333333333333333
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scipy import integrate as _original

from . import _initial, _integrals
from ._closed import Call
from ._mirror import Namespace


def _public(original: Any, solve: Callable[[Call], Any], doc: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        closed = Call(original, args, kwargs)
        return solve(closed) if closed.carries else original(*args, **kwargs)

    functools.update_wrapper(call, original)
    call.__module__ = __name__
    call.__doc__ = doc
    return call


solve_ivp = _public(_original.solve_ivp, _initial.solve_ivp, "")
odeint = _public(_original.odeint, _initial.odeint, "")
for _name in ("quad", "quad_vec", "nquad", "dblquad", "tplquad", "fixed_quad"):
    globals()[_name] = _integrals.__dict__[_name]
__all__ = [*_original.__all__]


_namespace = Namespace("scipy.integrate", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
