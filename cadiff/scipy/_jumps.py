"""Where a function of one number jumps, and whether other numbers move the place.

An integral over a jump has a derivative by the place of it, and so has what solves a differential
equation; neither follows from derivatives of the function, which are those of its pieces. What
a solver has asked for tells where to look: what lies between neighbours is divided until it is
seen to be straight, or to jump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Function = Callable[[float], Any]

SMALL = 1e-4  # jumps smaller than this, by the largest value, are none
PART = 0.382  # of what is divided; halves would be blind for what jumps in the middle
MOST = 20_000  # places that are asked
MOVED = 1e-4  # by so much of themselves other numbers are changed
BESIDE = 1e-10  # by so much of the range a place may move


class Jump(NamedTuple):
    below: float
    above: float
    height: float


def jumps(f: Function, at: FloatArray, values: FloatArray) -> Iterator[Jump]:
    """Those of f, given its values, shape (m, n), at m places in order."""
    size = SMALL * float(np.max(np.abs(values), initial=0.0))
    parts = list(zip(at[:-1].tolist(), at[1:].tolist(), values[:-1], values[1:], strict=True))
    for _ in range(MOST if np.isfinite(size) else 0):
        if not parts:
            break
        low, high, below, above = parts.pop()
        between = low + PART * (high - low)
        if not low < between < high:
            height = float(np.max(np.abs(above - below)))
            if height > size:
                yield Jump(low, high, height)
            continue
        value = np.ravel(f(between))
        if np.max(np.abs(value - below - PART * (above - below))) > size:
            parts += [(low, between, below, value), (between, high, value, above)]


def stays(jump: Jump, f: Function, span: float) -> bool:
    """Whether another function has the same jump."""
    beside = BESIDE * span
    low, high = np.ravel(f(jump.below - beside)), np.ravel(f(jump.above + beside))
    return not float(np.max(np.abs(high - low))) <= 0.5 * jump.height


def moved(numbers: FloatArray, sizes: FloatArray | None = None) -> FloatArray:
    """Other numbers beside these, by their sizes."""
    sizes = np.abs(numbers) if sizes is None else sizes
    signs = np.cos(7.0 * np.arange(numbers.size) + 1.0).reshape(numbers.shape)
    return np.asarray(numbers + MOVED * signs * np.where(sizes == 0.0, 1.0, sizes))


class Noted:
    """A function that notes its arguments and results, or some of them."""

    MOST = 2096

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.calls: list[tuple[tuple[Any, ...], Any]] = []

    def __call__(self, *args: Any) -> Any:
        answer = self._function(*args)
        if len(self.calls) == self.MOST:
            del self.calls[::2]
        self.calls.append((tuple(map(np.array, args[:2])), np.array(answer, dtype=float)))
        return answer
