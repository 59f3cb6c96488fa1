"""``python -m benchmarks.vectors``: what functions of many numbers cost, in nanoseconds a number.

For each elementwise function: NumPy or SciPy alone, a compiled value, and value and gradient of
its sum, compiled and not, at 10,000 numbers, which stay in the cache. Times are the least of
processors in many turns. Values are compared with those of the plain function first, and slopes
with differences. Words choose rows: ``python -m benchmarks.vectors sin erf``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special as special
from numpy.typing import NDArray

import cadiff
from benchmarks.machine import machine

__all__ = ["FUNCTIONS", "check", "points_of"]

COUNT = 10_000
TURNS = 40
SECONDS = 0.005  # of a turn
POSITIVE = {"log", "log1p", "gammaln", "x**1.5", "x**2.5", "x**-0.5", "x**2.2"}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos")},
    **{name: getattr(np, name) for name in ("tan", "sinh", "cosh", "arctan", "arcsinh")},
    **{name: getattr(special, name) for name in ("erf", "erfc", "expit", "log_expit", "gammaln")},
    "softplus": cadiff.softplus,
    "logaddexp": lambda x: np.logaddexp(x, 0.5),
    "hypot": lambda x: np.hypot(x, 0.5),
    "arctan2": lambda x: np.arctan2(x, 0.5),
    "x**3": lambda x: x**3,
    "x**1.5": lambda x: x**1.5,
    "x**2.5": lambda x: x**2.5,
    "x**-0.5": lambda x: x**-0.5,
    "x**2.2": lambda x: x**2.2,
}


def points_of(name: str, count: int = COUNT) -> NDArray[np.float64]:
    """Arguments of a function."""
    random = np.random.default_rng(0)
    return random.uniform(0.1, 5.0, count) if name in POSITIVE else 3.0 * random.normal(size=count)


def check(name: str, x: NDArray[np.float64]) -> None:
    """Compare values and slopes of a compiled function with those of the plain one."""
    f, step = FUNCTIONS[name], 1e-6
    slopes = cadiff.compile(lambda x: np.sum(f(x))).grad(x)
    np.testing.assert_allclose(cadiff.compile(f)(x), f(x), rtol=1e-14, atol=1e-14, err_msg=name)
    differences = (f(x + step) - f(x - step)) / (2.0 * step)
    np.testing.assert_allclose(slopes, differences, rtol=1e-6, atol=1e-7, err_msg=name)


def nanoseconds(call: Callable[[], object]) -> float:
    """The least time of a call, for each number."""
    begun = time.process_time()
    call()
    repeats = max(1, int(SECONDS / (time.process_time() - begun + 1e-7)))
    least = np.inf
    for _ in range(TURNS):
        begun = time.process_time()
        for _ in range(repeats):
            call()
        least = min(least, (time.process_time() - begun) / repeats)
    return 1e9 * float(least) / COUNT


def row(name: str) -> Iterator[float]:
    """The times of a function."""
    f, x = FUNCTIONS[name], points_of(name)

    def total(x: Any) -> Any:
        return np.sum(f(x))

    value, program, eager = cadiff.compile(f), cadiff.compile(total), cadiff.value_and_grad(total)
    for call in (f, value, program.value_and_grad, eager):
        yield nanoseconds(lambda call=call: call(x))  # type: ignore[misc]


def main() -> int:
    """Print the table."""
    print(machine())
    print("| | plain | compiled | value and gradient, compiled | eager |\n|---|---|---|---|---|")
    for name in FUNCTIONS:
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            check(name, points_of(name, 300))
            cells = (f"{time:.2f}" for time in row(name))
            print(f"| `{name}` | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
