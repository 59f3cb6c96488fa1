"""Functions without derivatives: questions, positions and counts, answered from the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..binding import Var, note_layout, share_memory, share_numbers
from ..operations.dispatch import implements, plain
from ..operations.making import innermost
from ._common import existing

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
