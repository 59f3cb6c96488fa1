"""Functions of matrices that NumPy refuses some of, or that read a part of them."""

from __future__ import annotations

from typing import Any

import numpy as onp

from cadiff import numpy as np

from .. import binding
from .trees import Function


def of_symmetric(function: Function) -> Function:
    """For functions that take a matrix as symmetric: they are of its symmetric part."""
    return lambda a, *how, symmetrize_input=True, **named: function(
        0.5 * (a + np.conj(np.swapaxes(a, -1, -2))) if symmetrize_input else a,
        *how,
        **named,
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
