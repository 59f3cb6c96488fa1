"""`scipy.integrate`, whose integrals and solutions are functions of all that they read.

    >>> import cadiff
    >>> from cadiff.scipy.integrate import quad
    >>> cadiff.grad(lambda a: quad(lambda x: a * x, 0.0, 2.0)[0])(1.0)
    2.0

Values are SciPy's, of plain floats, to the last bit; numbers with derivatives may be arguments, or
stand in the closures of functions. Derivatives of integrals are integrals, those of solutions of
differential equations solutions of others, by the same methods and about as exact as the
tolerances ask for. Estimates of errors, counts and messages have none; programs have those of each
call. Where nothing carries a derivative, SciPy's own function is called. Names that are not
defined here are SciPy's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scipy import integrate as _original

from . import _initial, _integrals
from ._calls import SolverCall, plainly, public, refuse
from ._mirror import Namespace, kernels, mirror_of

# SciPy's function, the maker of a result with derivatives, and its docstring.
_SOLVED: list[tuple[str, Callable[[SolverCall], Any], str]] = [
    (
        "solve_ivp",
        _initial.solve_ivp,
        """`scipy.integrate.solve_ivp`, whose t, y, t_events, y_events and sol have derivatives.

        By y0, args, closures, t_span and t_eval. Derivatives along all n parameters are solved
        for beside the m unknowns, where these are 400 numbers or fewer, m (n + 1), and in forward
        mode and higher orders; else the adjoint is solved back from each time with a cotangent.
        Times at which the solver itself chose to stop between the ends of t_span are constants.

        fun may jump at times that stay. Where it jumps as y or a parameter decides, the time of
        the jump has a derivative, too: stop there by a terminal event, and begin again from it.

        Raises
        ------
        RuntimeError
            If SciPy's solver fails.
        NoDerivativeError
            If y is complex; if the function of an event touches 0 without crossing it; if fun
            jumps at a time that moves.
        """,
    ),
    (
        "odeint",
        _initial.odeint,
        """`scipy.integrate.odeint`, whose y has derivatives: by y0, t, args and closures.

        As `cadiff.scipy.integrate.solve_ivp` says, with LSODA.
        """,
    ),
    (
        "solve_bvp",
        _initial.solve_bvp,
        """`scipy.integrate.solve_bvp`, whose y, yp, p and sol have derivatives.

        Those of the equations of the collocation on the mesh that SciPy has chosen, which stays.
        """,
    ),
]

# Functions of the signatures of SciPy's.
_INTEGRALS: dict[str, tuple[Callable[..., Any], str]] = {
    "quad": (_integrals.quad, "over x from a to b"),
    "quad_vec": (_integrals.quad_vec, "of vectors over x from a to b"),
    "nquad": (_integrals.nquad, "over several variables"),
    "dblquad": (_integrals.dblquad, "over x and y"),
    "tplquad": (_integrals.tplquad, "over x, y and z"),
    "fixed_quad": (
        lambda *args, **kwargs: mirror_of(_original.fixed_quad)(*args, **kwargs),
        "by points of Gauss and Legendre",
    ),
}


def _solved(name: str, solve: Callable[[SolverCall], Any], *args: Any, **kwargs: Any) -> Any:
    call = SolverCall(getattr(_original, name), args, kwargs)
    return solve(call) if call.carries else plainly(call.original, args, kwargs)


# What goes on step by step in C, or writes into its own arrays: it has no derivatives.
REFUSED = ("ode", "complex_ode", "LSODA", "Radau")


def _refusing(original: type[Any]) -> type[Any]:
    """A class of SciPy's with methods that refuse numbers with derivatives."""

    def method(name: str) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            _refuse(original.__name__, (args, kwargs))
            return getattr(original, name)(self, *args, **kwargs)

        return functools.update_wrapper(call, getattr(original, name))

    names = ("__init__", "set_initial_value", "set_f_params", "integrate")
    parts = {"__module__": __name__, "__doc__": original.__doc__}
    return type(original.__name__, (original,), parts | {name: method(name) for name in names})


ode, complex_ode = _refusing(_original.ode), _refusing(_original.complex_ode)


@kernels("scipy.integrate._ivp.radau", within=True)
def solve_collocation_system(original: Callable[..., Any], *args: Any) -> Any:
    _refuse("Radau", args)
    return original(*args)


def _refuse(name: str, given: Any) -> None:
    what = f"{name} goes on step by step and has no derivatives"
    refuse(given, what, "solve_ivp(f, (t0, t1), y0, t_eval=times) has them")


globals().update(
    {
        **{
            name: public(
                getattr(_original, name), functools.partial(_solved, name, solve), __name__, doc
            )
            for name, solve, doc in _SOLVED
        },
        **{
            name: public(
                getattr(_original, name),
                function,
                __name__,
                f"`scipy.integrate.{name}`: an integral {what}, with derivatives by its limits "
                "and by what the integrand reads.\n\nIt may jump at places that stay; quad "
                "and quad_vec are told of others by points=.",
            )
            for name, (function, what) in _INTEGRALS.items()
        },
    }
)
__all__ = [*_original.__all__]


_namespace = Namespace("scipy.integrate", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
