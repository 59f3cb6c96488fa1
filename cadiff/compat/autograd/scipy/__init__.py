"""SciPy's names: cadiff.scipy's, beside the convolution that autograd has in `signal`."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

from .. import aliases as _aliases

_aliases.have_below(__name__, "cadiff.scipy")


def __getattr__(name: str) -> _Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return _import_module(f"{__name__}.{name}")
    except ImportError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
