"""What rules of other packages import to undo broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cadiff import numpy as np


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """The sum of x over what was broadcast: `target_meta` is `numpy.metadata` of the operand."""
    shape, ndim, _, is_complex = target_meta
    while np.ndim(x) > ndim:
        x = np.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return np.real(x) if np.iscomplexobj(x) and not is_complex else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A pullback whose results are summed to the shape of an operand."""
    meta = np.shape(target), np.ndim(target), None, np.iscomplexobj(target)
    return lambda g: unbroadcast(f(g), meta)
