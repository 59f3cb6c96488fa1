"""cadiff: fast derivatives of ordinary Python and NumPy code.

    >>> import cadiff
    >>> cadiff.grad(lambda x: cadiff.sin(x) * x)(0.0)
    0.0

Functions of numbers (`sin`, `exp`, `where` ...) are in `cadiff.ops`, gradient functions (`grad`,
`jacobian`, `hessian` ...) in `cadiff.transforms`; all of them are here as well. `cadiff.numpy`,
`cadiff.math` and `cadiff.scipy` mirror the libraries that they are named after.
"""

from __future__ import annotations

try:
    from .binding import Complex, Dual, MissingRuleError, StaleVarError, Var
except ModuleNotFoundError as _error:
    if _error.name != "cadiff.binding._core":
        raise
    raise ImportError(
        f"the compiled core of cadiff is missing from {__path__[0]}. If this is the "
        "source tree, build it in place with `pip install -e .`, or start Python in another "
        "directory to use the installed package."
    ) from None

import typing as _typing

import cadiff.operations.table as _table  # pyright finds its __all__ by no other import

from . import nn, numpy, ops, programs, transforms
from .binding import newcomers as _newcomers
from .inspection import NonFiniteError, Tape, check_grads, make_tape, nan_check
from .operations import custom, primitive
from .operations.dispatch import WHEN_IMPORTED as _WHEN_IMPORTED
from .operations.table import *
from .ops import *
from .programs import *
from .transforms import *

__version__ = "0.1.0"


def _know_ufuncs_of_scipy() -> None:
    from .scipy import special as special


_WHEN_IMPORTED["scipy.special"] = _know_ufuncs_of_scipy


if not _typing.TYPE_CHECKING:  # names that are not here stay mistakes to a checker of types

    def __getattr__(name: str) -> object:
        """Say what to write instead of names that other packages have, or modules of this one."""
        _newcomers.missing(__name__, name)


__all__ = [
    "Complex",
    "Dual",
    "MissingRuleError",
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
__all__ += ops.__all__
__all__ += programs.__all__
__all__ += transforms.__all__
