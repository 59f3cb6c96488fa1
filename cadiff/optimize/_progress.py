"""Progress bars: how far it is, the value, and the norm of the gradient.

Where the number of evaluations or steps is known beforehand, a bar shows how much of it is done,
and how long the rest may take. tqdm draws it where it is installed, and a line of text otherwise.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

EVALUATIONS = "evaluations"
ITERATIONS = "iterations"
BETWEEN = 0.1  # seconds, at least, from one line to the next
WIDTH = 20  # of the bar in a line

# What limits evaluations in the options of SciPy's methods, and what limits iterations.
OF_EVALUATIONS = ("maxfun", "maxfev", "max_nfev")
BY_EVALUATIONS = ("cobyla", "lm")  # whose maxiter is of evaluations


class Line:
    """A line of text that is written over and over, with the interface of tqdm that is used."""

    def __init__(self, desc: str, unit: str, total: float | None) -> None:
        self._name, self._unit, self._total = desc, unit, total
        self._begun = perf_counter()
        self._written = -np.inf
        self._length = 0
        self._state = ""
        self.n = 0

    def set_postfix(self, shown: Mapping[str, str], refresh: bool = True) -> None:
        self._state = ", ".join(f"{name}={value}" for name, value in shown.items())

    def update(self, n: int = 1) -> None:
        self.n += n
        if perf_counter() - self._written >= BETWEEN:
            self._write()

    def close(self) -> None:
        self._write("\n")

    def _write(self, end: str = "") -> None:
        self._written = perf_counter()
        seconds = self._written - self._begun
        rate = self.n / seconds if seconds > 0.0 else 0.0
        text = f"{self._name}: {self.n}{self._unit} [{_clock(seconds)}"
        if self._total is not None:
            part = min(1.0, self.n / self._total) if self._total > 0 else 1.0
            done = round(WIDTH * part)
            left = _clock((self._total - self.n) / rate) if rate > 0.0 else "?"
            text = (
                f"{self._name}: {100.0 * part:3.0f}%|{'#' * done}{' ' * (WIDTH - done)}| "
                f"{self.n}/{self._total:g}{self._unit} [{_clock(seconds)}<{left}"
            )
        text += f", {rate:.1f}{self._unit}/s] {self._state}"
        sys.stderr.write("\r" + text.ljust(self._length) + end)
        sys.stderr.flush()
        self._length = len(text)


def _drawer() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Line
    return tqdm


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"


def takes_result(callback: Callable[..., Any] | None) -> bool:
    """Whether SciPy gives a callback a result, which it tells by the names of its arguments."""
    if callback is None:
        return False
    return set(inspect.signature(callback).parameters) == {"intermediate_result"}


class Progress:
    """Shows nothing unless it is asked for; `total` are so many of the unit, if that is known."""

    def __init__(
        self, name: str, wanted: bool, total: float | None = None, unit: str = EVALUATIONS
    ) -> None:
        self._bar: Any = None
        self._counts_values = unit == EVALUATIONS
        self._shown: dict[str, str] = {}
        if wanted:
            self._bar = _drawer()(desc=name, unit=f" {unit}", total=total)

    def show(self, value: Any, gradient: Any = None) -> None:
        """Note one evaluation; of several values show half the sum of their squares."""
        if self._bar is None:
            return
        self.describe(value, gradient)
        if self._counts_values:
            self.advance()

    def describe(self, value: Any, gradient: Any) -> None:
        """Show a value, and the norm of a gradient."""
        if self._bar is None:
            return
        values = np.asarray(value, dtype=np.float64)
        size = float(values.item()) if values.size == 1 else 0.5 * np.sum(values**2)
        self._shown["f"] = f"{size:.6g}"
        if gradient is not None:
            self._shown["|gradient|"] = f"{np.linalg.norm(gradient):.2e}"
        self._bar.set_postfix(self._shown, refresh=False)

    def advance(self) -> None:
        """Note that one more is done, of whatever is counted."""
        if self._bar is not None:
            self._bar.update()

    def following(self, callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """A callback that notes each iteration, where these are counted."""
        if self._bar is None or self._counts_values:
            return callback

        def after(*state: Any, **named: Any) -> Any:
            self.advance()
            return None if callback is None else callback(*state, **named)

        def after_result(intermediate_result: Any) -> Any:
            return after(intermediate_result=intermediate_result)

        return after_result if takes_result(callback) else after

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def limit_of(options: Any, method: str) -> tuple[float | None, str]:
    """The limit of a method, by its options, and its unit; None if nothing does."""
    options = options or {}
    for name in (*OF_EVALUATIONS, "maxiter"):
        limit = options.get(name)
        if limit is not None and 0 < limit < np.inf:
            is_of_steps = name == "maxiter" and method not in BY_EVALUATIONS
            return float(limit), ITERATIONS if is_of_steps else EVALUATIONS
    return None, EVALUATIONS
