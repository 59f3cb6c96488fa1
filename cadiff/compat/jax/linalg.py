"""Factors of matrices that JAX makes symmetric, and the names of `jax.lax.linalg`."""

from __future__ import annotations

from types import SimpleNamespace
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


def _triangular_solve(
    a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
    conjugate_a: bool = False, unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """Solve `a x = b`, or `x a = b` if a is not on the left side."""
    a = np.tril(a, -unit_diagonal) if lower else np.triu(a, unit_diagonal)
    a = a + np.eye(a.shape[-1]) if unit_diagonal else a
    a = np.conj(a) if conjugate_a else a
    if transpose_a is left_side:
        a = np.swapaxes(a, -1, -2)
    if left_side:
        return linalg.solve(a, b)
    return np.swapaxes(linalg.solve(a, np.swapaxes(b, -1, -2)), -1, -2)


lax = SimpleNamespace(
    cholesky=cholesky,
    eigh=lambda x, **_: eigh(x)[::-1],
    qr=lambda x, full_matrices=True, **_: linalg.qr(x, "complete" if full_matrices else "reduced"),
    svd=linalg.svd,
    triangular_solve=_triangular_solve,
)
