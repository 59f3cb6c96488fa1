"""`jax.numpy.linalg`: NumPy's names, but matrices that are taken as symmetric are made so."""

from __future__ import annotations

from typing import Any

from cadiff import numpy as np
from cadiff.numpy import linalg


def _turned(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """As `numpy.linalg.cholesky`, of the symmetric part of a."""
    lower = linalg.cholesky(0.5 * (a + _turned(a)) if symmetrize_input else a)
    return _turned(lower) if upper else lower


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:
    """As `numpy.linalg.eigh`, of the symmetric part of a."""
    return linalg.eigh(0.5 * (a + _turned(a)) if symmetrize_input else a, UPLO or "L")


def __getattr__(name: str) -> Any:
    return getattr(linalg, name)
