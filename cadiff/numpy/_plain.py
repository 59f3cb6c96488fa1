"""Functions without derivatives: questions, positions and counts, answered from the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..binding import Var, is_single, note_layout, share_memory, share_numbers
from ..operations import arrays
from ..operations import table as _table
from ..operations.dispatch import implements, plain
from ..operations.making import innermost
from ._common import Number, as_number, existing

plain(
    # questions
    *existing(
        "all", "allclose", "any", "array_equal", "array_equiv", "isclose", "iscomplex",
        "iscomplexobj", "isin", "isneginf", "isposinf", "isreal", "isrealobj",
    ),
    # positions
    *existing(
        "argmax", "argmin", "argpartition", "argsort", "argwhere", "diag_indices_from", "digitize",
        "flatnonzero", "lexsort", "nanargmax", "nanargmin", "nonzero", "searchsorted",
        "tril_indices_from", "triu_indices_from", "unravel_index", "ravel_multi_index",
    ),
    # counts
    np.count_nonzero,
    # types and texts
    *existing(
        "array2string", "array_repr", "array_str", "can_cast", "common_type", "einsum_path",
        "min_scalar_type", "result_type",
    ),
)  # fmt: skip


@implements(np.may_share_memory)
def may_share_memory(a: Any, b: Any, /, max_work: int | None = None) -> bool:
    x, y = innermost(a), innermost(b)
    note_layout(x, y)
    if isinstance(x, Var) and isinstance(y, Var):
        return x.size > 0 and y.size > 0 and bool(share_memory(x, y))
    plain = not isinstance(x, Var) and not isinstance(y, Var)
    return plain and np.may_share_memory(np.asarray(x), np.asarray(y))


@implements(np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: int | None = None) -> bool:
    x, y = innermost(a), innermost(b)
    note_layout(x, y)
    if isinstance(x, Var) and isinstance(y, Var):
        return bool(share_numbers(x, y))
    plain = not isinstance(x, Var) and not isinstance(y, Var)
    return plain and np.shares_memory(np.asarray(x), np.asarray(y))


@implements(np.real)
def real(val: Any) -> Number:
    """The number itself: only real numbers carry derivatives."""
    return as_number(val)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Number:
    """0 or pi by the sign, as `numpy.angle`, with the derivative 0."""
    radians = _table.arctan2(0.0, as_number(z))
    return _table.rad2deg(radians) if deg else radians


@implements(np.imag)
def imag(val: Any) -> Number:
    """Zeros: only real numbers carry derivatives."""
    x = as_number(val)
    return arrays.zeros(x.shape, np.float32 if is_single(x) else np.float64)
