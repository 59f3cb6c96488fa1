"""cadiff: fast derivatives of ordinary Python and NumPy code.

    >>> import cadiff
    >>> cadiff.grad(lambda x: cadiff.sin(x) * x)(0.0)
    0.0

Functions of numbers (`sin`, `exp`, `where` ...) are in `cadiff.ops`, gradient functions (`grad`,
`jacobian`, `hessian` ...) in `cadiff.transforms`; all of them are here as well. `cadiff.numpy`,
`cadiff.math` and `cadiff.scipy` mirror the libraries that they are named after.
"""

from __future__ import annotations

from importlib import metadata as _metadata
from pathlib import Path as _Path

try:
    from ._core import Dual, StaleVarError, Var
except ModuleNotFoundError as _error:
    if _error.name != "cadiff._core":
        raise
    raise ImportError(
        f"the compiled core of cadiff is missing from {_Path(__file__).parent}. If this is the "
        "source tree, build it in place with `pip install -e .`, or start Python in another "
        "directory to use the installed package."
    ) from None

from . import _table, checkpoints, implicit, linear, nn, numpy, ops, program, sparse, transforms
from ._table import *
from .checkpoints import *
from .checks import NonFiniteError, check_grads, nan_check
from .implicit import *
from .inspect import Tape, make_tape
from .linear import *
from .ops import *
from .primitives import custom, primitive
from .program import *
from .sparse import *
from .transforms import *

try:
    __version__ = _metadata.version("cadiff")
except _metadata.PackageNotFoundError:  # run from a tree that was built but not installed
    __version__ = "0+unknown"

__all__ = [
    "Dual",
    "NonFiniteError",
    "StaleVarError",
    "Tape",
    "Var",
    "check_grads",
    "custom",
    "make_tape",
    "nan_check",
    "primitive",
]
__all__ += _table.__all__
__all__ += checkpoints.__all__
__all__ += implicit.__all__
__all__ += linear.__all__
__all__ += ops.__all__
__all__ += program.__all__
__all__ += sparse.__all__
__all__ += transforms.__all__
