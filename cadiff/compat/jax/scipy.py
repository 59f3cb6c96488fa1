"""`jax.scipy`: cadiff.scipy's names, beside what JAX has otherwise."""

from collections import namedtuple
from functools import partial
from typing import Any

import numpy as onp

import cadiff.optimize
from cadiff import numpy as np
from cadiff.scipy import linalg as _linalg
from cadiff.scipy import special as _special
from cadiff.scipy.sparse import linalg as _iterations

from ...binding import carries, is_guarding
from ...scipy._runge_kutta import solutions
from .. import aliases
from ..matrices import cholesky, of_symmetric, with_nan
from ..trees import Function
from . import tree_util as trees

OptimizeResults = namedtuple("OptimizeResults", "x success status fun jac hess_inv nfev njev nit")


def minimize(
    fun: Function, x0: Any, args: Any = (), *, method: str = "BFGS",
    tol: float | None = None, options: Any = None,
) -> OptimizeResults:  # fmt: skip
    """`cadiff.optimize.minimize`; it is not differentiated: `cadiff.root` of the gradient is."""
    method = "L-BFGS-B" if method.lower().startswith("l-bfgs") else method
    given = {name: x for name, x in (options or {}).items() if x is not None}
    start = onp.asarray(x0, float)
    found = cadiff.optimize.minimize(fun, start, args, method=method, tol=tol, options=given)
    return OptimizeResults(*map(found.get, OptimizeResults._fields))


def logsumexp(a: Any, *how: Any, where: Any = None, **named: Any) -> Any:
    """As `scipy.special.logsumexp`, of the elements where `where` holds."""
    among = a if where is None else np.where(where, a, -np.inf)
    found = _special.logsumexp(among, *how, **named)
    return found if isinstance(found, tuple) else found[()]


def _iterative(name: str) -> Function:
    """One of SciPy's iterations, of trees. A solution that has derivatives is exact."""
    run = getattr(_iterations, name)

    def solve(
        A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0,
        maxiter: int | None = None, M: Any = None, restart: int = 20, **_: Any,
    ) -> tuple[Any, None]:  # fmt: skip
        first = trees.tree_map(np.zeros_like, b) if x0 is None else x0
        vector, apart = trees.ravel_pytree(cadiff.stop_gradient(first))
        product, inverse = (f if callable(f) else partial(np.matmul, f) for f in (A, M))
        how = {"atol": atol} | ({"restart": restart} if name == "gmres" else {})
        residual: Any = lambda x: trees.tree_map(np.subtract, product(x), b)  # noqa: E731

        def flat(function: Any) -> Function:
            return lambda v: trees.ravel_pytree(function(apart(v)))[0]

        def operator(matvec: Function) -> Any:
            return _iterations.LinearOperator(2 * vector.shape, matvec, dtype=vector.dtype)

        def solver(residual: Any, x: Any, tol: float = 1e-13, maxiter: int | None = None) -> Any:
            right = -residual(0.0 * x)
            linear = operator(lambda v: residual(v) + right)
            near = None if M is None else operator(flat(inverse))
            return run(linear, right, x, rtol=tol, maxiter=maxiter, M=near, **how)[0]

        if is_guarding() or carries(residual(apart(0.0 * vector + 1.0))):
            return cadiff.root(residual, first, solver=solver), None
        return apart(solver(flat(residual), vector, tol, maxiter)), None

    return solve


def odeint(
    func: Function, y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8,
    atol: float = 1.4e-8, mxstep: float = onp.inf, hmax: float = onp.inf,
) -> Any:  # fmt: skip
    """`jax.experimental.ode.odeint`: the trees y at times t, of `func(y, t, *args)`."""
    vector, apart = trees.ravel_pytree(y0)
    slopes = lambda y, s: trees.ravel_pytree(func(apart(y), s, *args))[0]  # noqa: E731
    rows = solutions(slopes, vector, np.asarray(t), rtol, atol, mxstep, hmax)
    return trees.tree_map(lambda *leaves: np.stack(leaves), *map(apart, rows))


def _unchecked(function: Function) -> Function:
    """For functions that refuse infinite numbers and nan, which JAX computes with."""
    return lambda *args, **how: function(*args, **how | {"check_finite": False})


_FUNCTIONS = {k: f for k, f in vars(_linalg).items() if hasattr(f, "__signature__")}
_FINITE = {
    k: _unchecked(f) for k, f in _FUNCTIONS.items() if "check_finite" in f.__signature__.parameters
}
_solve = with_nan(np.linalg.solve)
_CHANGES: dict[str, dict[str, Any]] = {
    "linalg": _FINITE
    | {
        "eigh": of_symmetric(_FINITE["eigh"]),
        "cholesky": cholesky,
        "inv": with_nan(np.linalg.inv),
        "solve": lambda a, b, **_: _solve(a, b),
        "cho_factor": lambda a, lower=False, **_: (cholesky(a, lower), lower),
        "polar": lambda a, side="right", **_: _linalg.polar(a, side),
    },
    "optimize": {"minimize": minimize, "OptimizeResults": OptimizeResults},
    "special": {"logsumexp": logsumexp},
    "sparse": {},
    "sparse.linalg": {name: _iterative(name) for name in ("bicgstab", "cg", "gmres")},
}
aliases.stand_for(__name__, "cadiff.scipy", _CHANGES)
