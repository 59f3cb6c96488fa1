"""Namespaces that mirror SciPy's: `special`, `stats`, `linalg`, `fft`, `optimize`, `integrate`.

Their functions take numbers with derivatives, floats and ndarrays; what they do not define is
SciPy's own.
"""

from __future__ import annotations

import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import Any as _Any

from ..operations import foreign as _foreign

try:
    import scipy as _scipy
except ModuleNotFoundError as _error:
    if _error.name != "scipy":
        raise
    raise ModuleNotFoundError(
        "cadiff.scipy needs SciPy, which is not installed: pip install scipy", name="scipy"
    ) from None


def __getattr__(name: str) -> _Any:
    found = getattr(_scipy, name)
    is_module = isinstance(found, _ModuleType)
    return _importlib.import_module(f"{__name__}.{name}") if is_module else found


def _furnish(module: _ModuleType, name: str) -> None:
    """Names of a module of SciPy's that has no file here, such as `scipy.signal.windows`."""
    from ._mirror import Namespace

    names = Namespace(name, vars(module))
    vars(module).update(__getattr__=names.get, __dir__=names.names)


_foreign.have_below(__name__, "scipy", _furnish)
