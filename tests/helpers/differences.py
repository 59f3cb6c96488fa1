"""Slopes by differences of fourth order, and functions that are held to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff


def slope(f: Callable[[Any], Any], x: Any = 0.0, along: Any = 1.0, step: float = 1e-3) -> Any:
    """The derivative of f at x along a direction (Abramowitz and Stegun, table 25.2)."""
    with np.errstate(all="ignore"):
        near, far = (f(x + h * along) - f(x - h * along) for h in (step, 2 * step))
    return (8.0 * near - far) / (12.0 * step)


def check_slope(
    f: Callable[[Any], Any],
    plain: Callable[[Any], Any],
    at: Any,
    rtol: float = 1e-8,
    along: Any = 1.0,
    *,
    value_rtol: float = 1e-12,
    atol: float = 0.0,
    step: float = 1e-3,
) -> Any:
    """f has the value of plain, and along a direction its slope, in both modes: it is returned."""
    value, gradient = cadiff.value_and_grad(f)(at)
    assert value == pytest.approx(plain(at), rel=value_rtol, abs=0.0)
    reverse = np.sum(gradient * along)
    assert reverse == pytest.approx(slope(plain, at, along, step), rel=rtol, abs=atol)
    _, forward = cadiff.jvp(f, (at,), (along,))
    assert forward == pytest.approx(reverse, rel=1e-9, abs=1e-12)
    return reverse
