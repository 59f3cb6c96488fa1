"""NumPy for numbers with derivatives: write `import cadiff.numpy as np`, and leave the rest.

Every name of NumPy is here. Functions that have derivatives take Vars, Duals and lists of them;
given plain numbers they are NumPy's own. Arrays of floats made by `zeros`, `ones`, `full`, `empty`
and their kin accept assignment of numbers with derivatives. What has no derivatives here raises
TypeError when given a number that carries one. `docs/functions.md` lists what is supported.

>>> import cadiff
>>> import cadiff.numpy as np
>>> def f(x):
...     y = np.zeros(3)
...     y[1:] = np.cumsum(x)
...     return np.sum(y**2)
>>> cadiff.grad(f)(np.array([1.0, 2.0]))
array([8., 6.])
"""

from __future__ import annotations

import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import Any as _Any

import numpy as _np

from ..operations import foreign as _foreign
from ..operations.dispatch import FUNCTIONS as _FUNCTIONS
from . import (
    _calculus,
    _choices,
    _complex,
    _creation,
    _elementwise,
    _own,
    _plain,
    _products,
    _quantiles,
    _reductions,
    _shapes,
    _standard,
    _ufunc_methods,
    fft,
    linalg,
)
from ._refusals import refusing as _refusing

__all__ = _np.__all__


_INSTEAD = {"i0": "use cadiff.scipy.special.i0"}


def _offered(name: str, original: _Any) -> _Any:
    """What stands in the namespace for one of NumPy's names."""
    if isinstance(original, _np.ufunc):
        return _elementwise.elementwise(original)
    if not callable(original) or isinstance(original, type):
        return original
    if original in _creation.OPENED | _creation.OPENED_LISTS:
        return _creation.opening(original)
    if original in _FUNCTIONS:
        return _FUNCTIONS[original]
    if hasattr(original, "_implementation"):  # NumPy would ask its arguments
        return _refusing(original, f"numpy.{name}", _INSTEAD.get(name, "give it cadiff.value(x)"))
    return original


globals().update(
    {
        _name: _offered(_name, _original)
        for _name, _original in vars(_np).items()
        if not _name.startswith("_") and _name not in ("fft", "linalg")
    }
)
globals().update(_creation.MADE)
globals().update(_standard.OFFERED)
vectorize = _choices.vectorize
_own.furnish(globals())


def __getattr__(name: str) -> _Any:
    """NumPy's own: what it loads late, and its errors."""
    try:
        return getattr(_np, name)
    except AttributeError as error:
        text = str(error).replace("module 'numpy'", f"module {__name__!r}", 1)
        raise AttributeError(text, name=name, obj=_np) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_np)})


def _furnish(module: _ModuleType, name: str) -> None:
    """Names of a module of NumPy's that has no other ones here, such as `numpy.testing`."""
    original = _importlib.import_module(name)
    vars(module).update(__getattr__=original.__getattribute__, __dir__=original.__dir__)


_foreign.have_below(__name__, "numpy", _furnish)
