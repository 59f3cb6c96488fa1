"""`cadiff.numpy`, but what it makes of floats carries derivatives; all else is its own.

The mode of differentiation is that of an environment variable. The functions that make an array of
plain numbers are listed: what is computed of numbers with derivatives carries them by itself.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp

MODE = "CADIFF_ARRAY_API_MODE"  # reverse or forward

MAKERS = """
arange asarray empty empty_like eye from_dlpack full full_like linspace ones ones_like zeros
zeros_like
"""


def number(made: Any) -> Any:
    """A plain array of floats as one with derivatives, which can be assigned to."""
    if not isinstance(made, np.ndarray) or made.dtype.kind not in "fc":
        return made
    is_forward = os.environ[MODE] == "forward"
    return cnp.array(cadiff.Dual(made, np.ones_like(made)) if is_forward else cadiff.Var(made))


def _carrying(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        return number(original(*args, **kwargs))

    return make


globals().update({name: _carrying(getattr(cnp, name)) for name in MAKERS.split()})


def __getattr__(name: str) -> Any:
    return getattr(cnp, name)
