"""How results of a program, and its derivatives, are compared with what others say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

# By which a function is sampled for a derivative of sixth order, and the weights of the values.
OFFSETS = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
WEIGHTS = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0


def agree(ours: Any, theirs: Any, rtol: float) -> None:
    """Arrays are the same relative to their largest element; nan stands where it does."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1e-300)
    assert_allclose(ours, theirs, rtol=0.0, atol=rtol * scale)


def differences(f: Callable[[Any], Any], x: Any, order: int = 1, step: float = 1e-3) -> Any:
    """The gradient of f by differences of sixth order; its second derivatives if order is 2."""
    x = np.asarray(x, float)
    if order > 1:
        return differences(lambda x: differences(f, x, order - 1, step), x, 1, step)
    steps = step * np.where(x == 0.0, 1.0, np.abs(x))

    def along(k: int) -> Any:
        unit = np.eye(x.size)[k].reshape(x.shape) * steps
        return sum(w * np.asarray(f(x + s * unit)) for s, w in zip(OFFSETS, WEIGHTS, strict=True))

    return np.stack([along(k) / steps.flat[k] for k in range(x.size)], -1).reshape(
        (*np.shape(f(x)), *x.shape)
    )
