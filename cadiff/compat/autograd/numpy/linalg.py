"""NumPy's names, but derivatives of `cholesky` are by the symmetric part of the matrix."""

from __future__ import annotations

from typing import Any

import cadiff
from cadiff import numpy as np
from cadiff.numpy import linalg as _linalg


def __getattr__(name: str) -> Any:
    return getattr(_linalg, name)


def cholesky(A: Any, /, **how: Any) -> Any:
    """As `numpy.linalg.cholesky`: the value is by one triangle, the derivative by both."""
    lower = np.tril(A)
    both = 0.5 * (A + np.conj(np.swapaxes(A, -1, -2)))
    change = both - cadiff.stop_gradient(both)  # zeros, with the derivatives
    return _linalg.cholesky(cadiff.stop_gradient(lower) + change, **how)


def T(x: Any) -> Any:  # noqa: N802 - autograd's name
    """Matrices turned over."""
    return np.swapaxes(x, -1, -2)


_dot = np.matmul
