"""Functions of matrices that NumPy refuses some of, or of which they read a part."""

from __future__ import annotations

from typing import Any

import numpy as onp

from cadiff import numpy as np
from cadiff.scipy import linalg as scipy_linalg

from .. import binding
from ..numpy._triangular_factors import cholesky_of_whole
from .trees import Function


def of_symmetric(function: Function) -> Function:
    """For functions that take a matrix as symmetric: they are of its symmetric part."""
    return lambda a, *how, symmetrize_input=True, **named: function(
        0.5 * (a + np.conj(np.swapaxes(a, -1, -2))) if symmetrize_input else a, *how, **named
    )


def with_nan(function: Function) -> Function:
    """For functions of matrices that NumPy refuses some of: what these come to is nan."""

    def is_refused(matrix: Any) -> bool:
        try:
            function(matrix, *([0.0 * matrix] if function is np.linalg.solve else []))
        except onp.linalg.LinAlgError:
            return True
        return False

    def lenient(a: Any, *args: Any, **how: Any) -> Any:
        try:
            return function(a, *args, **how)
        except onp.linalg.LinAlgError:
            eye = onp.eye(*a.shape[-2:])
            matrices = onp.asarray(binding.plain_values(a)).reshape(-1, *eye.shape)
            refused = onp.reshape([*map(is_refused, matrices)], a.shape[:-2] + (1, 1))
            found = function(np.where(refused, eye, a), *args, **how)
            beside = onp.where(refused, onp.nan, 0.0) * np.sum(a, (-2, -1), keepdims=True)
            return found + (beside if found.ndim >= beside.ndim else beside[..., 0])

    return lenient


def cholesky(a: Any, lower: bool = False, **_: Any) -> Any:
    """Of one triangle of a; the derivative is by both, for changes that are not symmetric too."""
    return _cholesky(np.asarray(a), upper=not lower)


_cholesky = with_nan(cholesky_of_whole)


def triangular_solve(
    a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
    conjugate_a: bool = False, unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """The solution x of x a = b, or of a x = b if `left_side`."""
    a = np.conj(a) if conjugate_a else a
    if not left_side:
        b = np.swapaxes(b, -1, -2)
    found = scipy_linalg.solve_triangular(
        a, b, int(transpose_a == left_side), lower, unit_diagonal
    )
    return found if left_side else np.swapaxes(found, -1, -2)


def eig(x: Any, *, compute_left_eigenvectors: bool = True, **_: Any) -> tuple[Any, ...]:
    """Eigenvalues, and eigenvectors: left ones, unless none are asked for, and right ones."""
    found = scipy_linalg.eig(x, left=True) if compute_left_eigenvectors else np.linalg.eig(x)
    return tuple(found)


def qr(x: Any, *, full_matrices: bool = True, **_: Any) -> Any:
    """An orthogonal factor and a triangular one."""
    return tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced"))
