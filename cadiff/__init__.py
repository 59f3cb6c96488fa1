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
    from os.path import isdir as _isdir

    if not _isdir(__path__[0]):
        raise ImportError(
            f"cadiff has a compiled core, which Python cannot import from within {__path__[0]}: "
            "unpack the archive, or install cadiff beside it"
        ) from None
    raise ImportError(
        f"the compiled core of cadiff is missing from {__path__[0]}. If this is the "
        "source tree, build it in place with `pip install -e .`, or start Python in another "
        "directory to use the installed package."
    ) from None

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

import cadiff.operations.table as _table  # pyright finds its __all__ by no other import

from . import ops, transforms
from .binding import foreign_names as _foreign_names
from .operations import custom, primitive
from .operations import foreign as _foreign
from .operations.dispatch import WHEN_IMPORTED as _WHEN_IMPORTED
from .operations.guards import NoDerivativeError
from .operations.table import *
from .ops import *
from .transforms import *
from .version import __version__ as __version__


def _know_functions_of_numpy() -> None:
    from . import numpy as numpy


def _know_ufuncs_of_scipy() -> None:
    from .scipy import special as special


_WHEN_IMPORTED["numpy"] = _know_functions_of_numpy
_WHEN_IMPORTED["scipy.special"] = _know_ufuncs_of_scipy


def _answer_for_sparse(name: str, matrix: object, other: object) -> object:
    from .scipy import sparse

    return sparse.answer(name, matrix, other)


def _know_sparse_matrices(module: _typing.Any) -> None:
    formats = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    named = [getattr(module, f"{a}_{b}") for a in formats for b in ("array", "matrix")]
    classes = {
        base for kind in named for base in kind.__mro__ if base.__module__[:12] == "scipy.sparse"
    }
    _foreign.lend_methods(classes, _foreign.METHODS, _answer_for_sparse)


def _answer_for_series(function: _typing.Any, *args: object) -> object:
    from .numpy import _own

    return _own.of_series(function)(*args)


def _know_series(module: _typing.Any) -> None:
    _foreign.lend_function(module.polyutils, "mapdomain", _answer_for_series)
    kinds = ("Polynomial", "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre")
    for kind in (getattr(module, name) for name in kinds):
        roots = kind._roots.__name__
        asking = _foreign.lend_function(_sys.modules[kind.__module__], roots, _answer_for_series)
        kind._roots = staticmethod(asking)


_foreign.when_imported("scipy.sparse", _know_sparse_matrices)
_foreign.when_imported("numpy.polynomial", _know_series)
_foreign.when_imported(
    "numba.core.dispatcher", lambda module: _foreign.run_as_python(module._DispatcherBase)
)


# Modules that a first gradient does without, and their names that are here as well: imported when
# one of these is first asked for.
_LATER = {
    "inspection": ["NonFiniteError", "Tape", "check_grads", "make_tape", "nan_check"],
    "nn": [],
    "numpy": [],
    "programs": [
        *("PerformanceWarning", "Program", "StaleProgramWarning", "build", "compile"),
        *("sparse_hessian", "sparse_jacobian", "vmap"),
    ],
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in (module, *names)}
_LOOPS = ("cond", "fori_loop", "scan", "switch", "while_loop")
_MODULE_OF |= dict.fromkeys(_LOOPS, "programs.control_flow")
_MODULE_OF["numerical"] = "operations.numerical"

if _typing.TYPE_CHECKING:
    from . import nn, numpy, programs
    from .inspection import NonFiniteError, Tape, check_grads, make_tape, nan_check
    from .operations.numerical import numerical
    from .programs import (
        PerformanceWarning,
        Program,
        StaleProgramWarning,
        build,
        compile,
        sparse_hessian,
        sparse_jacobian,
        vmap,
    )
    from .programs.control_flow import cond, fori_loop, scan, switch, while_loop
else:

    def __getattr__(name: str) -> object:
        """Import a module late; for names of other packages, say what to write instead."""
        module = _MODULE_OF.get(name)
        if module is None:
            _foreign_names.missing(__name__, name)
        found = _import_module(f"{__name__}.{module}")
        globals()[name] = found = found if name == module else getattr(found, name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULE_OF})


__all__ = [
    "Complex",
    "Dual",
    "MissingRuleError",
    "NoDerivativeError",
    "NonFiniteError",
    "PerformanceWarning",
    "Program",
    "StaleProgramWarning",
    "StaleVarError",
    "Tape",
    "Var",
    "build",
    "check_grads",
    "compile",
    "cond",
    "custom",
    "fori_loop",
    "make_tape",
    "nan_check",
    "numerical",
    "primitive",
    "scan",
    "sparse_hessian",
    "sparse_jacobian",
    "switch",
    "vmap",
    "while_loop",
]
__all__ += _table.__all__
__all__ += ops.__all__
__all__ += transforms.__all__
