"""`jax.scipy.optimize`: `minimize`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as onp

import cadiff.optimize

OptimizeResults = namedtuple("OptimizeResults", "x success status fun jac hess_inv nfev njev nit")


def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), *, method: str = "BFGS",
    tol: float | None = None, options: Any = None,
) -> OptimizeResults:  # fmt: skip
    """`cadiff.optimize.minimize`: SciPy's methods with exact gradients.

    It is not differentiated: the derivative of a minimum is that of `cadiff.root` of the gradient.
    """
    method = "L-BFGS-B" if method.lower().startswith("l-bfgs") else method
    given = {name: x for name, x in (options or {}).items() if x is not None}
    start = onp.asarray(x0, float)
    found = cadiff.optimize.minimize(fun, start, args, method=method, tol=tol, options=given)
    return OptimizeResults(*map(found.get, OptimizeResults._fields))
