"""`jax.scipy.special`: SciPy's names, but for arguments that JAX calls otherwise."""

from __future__ import annotations

from typing import Any

from cadiff import numpy as np
from cadiff.scipy import special as _special


def __getattr__(name: str) -> Any:
    return getattr(_special, name)


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False,
    where: Any = None,
) -> Any:  # fmt: skip
    """As `scipy.special.logsumexp`, of the elements where `where` holds."""
    if where is not None:
        a = np.where(where, a, -np.inf)
    found = _special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)
    return found if return_sign else found[()]
