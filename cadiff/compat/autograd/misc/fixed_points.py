"""Solutions of x = f(a)(x), differentiated by a."""

from collections.abc import Callable
from typing import Any

from ..core import defvjp, make_vjp, primitive, vspace


@primitive
def fixed_point(f: Any, a: Any, x0: Any, distance: Any, tol: float) -> Any:
    """What iterating `f(a)` from x0 comes to, until steps are of at most `tol` in `distance`."""
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _by_parameter(ans: Any, f: Any, a: Any, x0: Any, distance: Any, tol: float) -> Any:
    """The adjoint is a fixed point as well: of w = g + (the transposed Jacobian) w."""

    def adjoint(given: Any) -> Callable[[Any], Any]:
        a, x, g = given
        pull, _ = make_vjp(f(a), x)
        return lambda w: vspace(g).add(pull(w), g)

    pull, _ = make_vjp(lambda a: f(a)(ans), a)
    return lambda g: pull(fixed_point(adjoint, (a, ans, g), vspace(x0).zeros(), distance, tol))


defvjp(fixed_point, None, _by_parameter, None)
