"""`jax.numpy.linalg`: NumPy's names, but matrices that are taken as symmetric are made so."""

from typing import Any

from cadiff.numpy import linalg as _linalg

from ..linalg import cholesky as cholesky
from ..linalg import eigh as eigh


def __getattr__(name: str) -> Any:
    return getattr(_linalg, name)
