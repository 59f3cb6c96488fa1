"""What real and complex matrices have in common: stacks of them, blocks, exchanges of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..operations.arrays import concatenate
from ..operations.guards import fixed


def each(function: Callable[..., Any], *stacks: Any) -> Any:
    """A function of matrices, applied along stacks of them; the result is like the last."""
    shape = stacks[-1].shape
    if not stacks[-1].size:
        return np.zeros(shape, stacks[-1].dtype)
    results = [function(*(x[k] for x in stacks)) for k in np.ndindex(shape[:-2])]
    return np.reshape(results, shape)


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
