"""SciPy's optimisers, given exact derivatives.

    >>> import numpy as np
    >>> from cadiff.optimize import minimize
    >>> result = minimize(lambda x: ((x - 1.0) ** 4).sum() + (x[0] * x[1]) ** 2, np.zeros(2))
    >>> result.success
    True

Functions have the names, arguments and results of those of `scipy.optimize`, which does the work.
What is left out of `jac`, `hess` and `hessp` and a method can use is filled in from a compiled
program of the function (see `cadiff.compile`), as sparse matrices where the structure is sparse.
Where SciPy takes a vector of parameters, containers of numbers and arrays will do.

The other names of `scipy.optimize` (`brentq`, `nnls`, `BFGS` ...) are SciPy's own objects.

With `callback=History()` a result has the way that was taken to it. `sgd`, `adam` and `lbfgs`
train models by batches of data; `problem` serves cyipopt and nlopt.
"""

from __future__ import annotations

import sys as _sys
from typing import Any

try:
    from scipy import optimize as _scipy_optimize
    from scipy.optimize import Bounds, linprog, milp
except ImportError as _error:
    raise ImportError(
        "cadiff.optimize hands its work to SciPy, which is not installed here: pip install scipy"
    ) from _error

from ..binding import foreign_names as _foreign_names
from ._constraints import LinearConstraint, NonlinearConstraint
from ._fits import curve_fit, least_squares
from ._global import basinhopping, differential_evolution, dual_annealing, shgo
from ._history import History
from ._minimize import minimize, minimize_scalar
from ._problems import Problem, problem
from ._results import Result
from ._roots import root, root_scalar
from ._training import adam, lbfgs, sgd

__all__ = [
    "Bounds", "History", "LinearConstraint", "NonlinearConstraint", "Problem", "Result",
    "adam", "basinhopping", "curve_fit", "differential_evolution", "dual_annealing", "lbfgs",
    "least_squares", "linprog", "milp", "minimize", "minimize_scalar", "problem", "root",
    "root_scalar", "sgd", "shgo",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if hasattr(_scipy_optimize, name) and not name.startswith("__"):
        return getattr(_scipy_optimize, name)
    instead = _foreign_names.NAMES.get(name, "")
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}, nor has scipy.optimize"
        f"{f': {instead}' if instead else ''}",
        name=name,
        obj=_sys.modules[__name__],
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_scipy_optimize.__all__})
