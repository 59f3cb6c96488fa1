"""What real and complex matrices have in common: stacks of them, blocks, exchanges of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from ..operations.arrays import concatenate
from ..operations.guards import fixed


def each(function: Callable[..., Any], *stacks: Any) -> Any:
    """A function of matrices, applied along stacks of them; the result is like the last."""
    shape = stacks[-1].shape
    if not stacks[-1].size:
        return np.zeros(shape, stacks[-1].dtype)
    results = [function(*(x[k] for x in stacks)) for k in np.ndindex(shape[:-2])]
    return np.reshape(results, shape)


def lapack_stage(name: str, function: str, kinds: str) -> Any:
    """A kernel around one of LAPACK's functions, for real matrices, as SciPy has it."""
    found = getattr(cython_lapack, "__pyx_capi__", {}).get(function)
    return None if found is None else ((name, found), kinds)


def blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The matrix of four."""
    rows = (concatenate([a, b], axis=-1), concatenate([c, d], axis=-1))
    return concatenate(rows, axis=-2)


def permutation(pivots: Any) -> Any:
    """The order of rows that a list of exchanges leads to."""
    order = np.arange(len(pivots))
    for k, other in enumerate(fixed(pivots).astype(int)):
        order[[k, other]] = order[[other, k]]
    return order
