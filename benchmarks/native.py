"""``python -m benchmarks.native``: programs of single numbers, interpreted and as machine code.

Each is compiled twice, once with `native=True`; values and gradients have to be equal to the last
bit before anything is timed. What is printed are microseconds a call, of value and of value and
gradient, the least of some rounds, and what the C compiler took for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cadiff
from benchmarks import problems
from benchmarks.machine import machine
from benchmarks.timing import interleave

__all__ = ["PROBLEMS", "main"]

_RNG = np.random.default_rng(1)
_RETURNS = (0.01 * _RNG.normal(size=100)).tolist()
_OBSERVED = _RNG.normal(size=(20, 2)).tolist()


def runge_kutta(p: Any) -> Any:
    """A differential equation of 4 states and 12 parameters, 20 steps of the fourth order."""

    def slope(y: list[Any]) -> list[Any]:
        a, b, c, d = y
        return [
            p[0] * b - p[1] * a * c + p[2] * cadiff.sin(d),
            p[3] * a - p[4] * b + p[5] * c * d,
            p[6] * a * b - p[7] * c,
            p[8] * d + p[9] * a - p[10] * b * b - p[11] * d * d * d,
        ]

    def moved(y: list[Any], by: float, slopes: list[Any]) -> list[Any]:
        return [one + by * each for one, each in zip(y, slopes, strict=True)]

    y: list[Any] = [1.0, 0.5, 0.2, 0.1]
    step = 0.05
    for _ in range(20):
        first = slope(y)
        second = slope(moved(y, step / 2, first))
        third = slope(moved(y, step / 2, second))
        fourth = slope(moved(y, step, third))
        slopes = zip(first, second, third, fourth, strict=True)
        y = moved(y, step / 6, [k + 2.0 * (m + n) + q for k, m, n, q in slopes])
    return y[0] * y[0] + y[1] * y[2] + y[3]


def garch(p: Any) -> Any:
    """The negative log-likelihood of GARCH(1, 1) for 100 returns."""
    variance, total = 1e-4, 0.0
    for one in _RETURNS:
        variance = p[0] + p[1] * one * one + p[2] * variance
        total = total + 0.5 * (cadiff.log(variance) + one * one / variance)
    return total


def kalman(p: Any) -> Any:
    """The negative log-likelihood of a filter of 2 states and 2 observations, 20 steps."""
    q, r, drift, decay = p[0], p[1], p[2], p[3]
    x0 = x1 = c01 = 0.0
    c00 = c11 = 1.0
    total = 0.0
    for z0, z1 in _OBSERVED:
        x0, x1 = x0 + drift * x1, decay * x1
        n00 = c00 + 2.0 * drift * c01 + drift * drift * c11 + q
        n01, n11 = decay * (c01 + drift * c11), decay * decay * c11 + q
        s00, s11 = n00 + r, n11 + r
        determinant = s00 * s11 - n01 * n01
        i00, i01, i11 = s11 / determinant, -n01 / determinant, s00 / determinant
        e0, e1 = z0 - x0, z1 - x1
        w0, w1 = i00 * e0 + i01 * e1, i01 * e0 + i11 * e1
        total = total + 0.5 * (cadiff.log(determinant) + e0 * w0 + e1 * w1)
        x0, x1 = x0 + n00 * w0 + n01 * w1, x1 + n01 * w0 + n11 * w1
        k00, k01 = n00 * i00 + n01 * i01, n00 * i01 + n01 * i11
        k10, k11 = n01 * i00 + n11 * i01, n01 * i01 + n11 * i11
        c00 = n00 - k00 * n00 - k01 * n01
        c01, c11 = n01 - k00 * n01 - k01 * n11, n11 - k10 * n01 - k11 * n11
    return total


def black_scholes(p: Any) -> Any:
    """The price of a call: spot, strike, rate, volatility, time."""
    spot, strike, rate, volatility, years = p[0], p[1], p[2], p[3], p[4]
    spread = volatility * cadiff.sqrt(years)
    d1 = (cadiff.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread

    def normal(d: Any) -> Any:
        return 0.5 * (1.0 + cadiff.erf(d / 2.0**0.5))

    return spot * normal(d1) - strike * cadiff.exp(-rate * years) * normal(d1 - spread)


PROBLEMS: dict[str, tuple[Callable[[Any], Any], NDArray[np.float64]]] = {
    "Runge-Kutta, 4 states, 12 parameters, 20 steps": (runge_kutta, np.linspace(0.1, 0.9, 12)),
    "GARCH(1, 1), 100 returns": (garch, np.array([1e-5, 0.1, 0.8])),
    "Rosenbrock, n=100": (problems.rosenbrock, np.linspace(0.5, 1.5, 100)),
    "Kalman filter 2 x 2, 20 steps": (kalman, np.array([0.1, 0.5, 0.3, 0.9])),
    "Black-Scholes": (black_scholes, np.array([100.0, 95.0, 0.03, 0.2, 1.5])),
}


def main() -> None:
    """Check, time, and print a table."""
    print(machine())
    print(f"{'µs a call':48}{'value':>21}{'value and gradient':>27}{'compiler':>11}")
    for name, (f, x) in PROBLEMS.items():
        plain, native = cadiff.compile(f, native=False), cadiff.compile(f, native=True)
        begun = time.perf_counter()
        native(x)
        native.value_and_grad(x)
        seconds = time.perf_counter() - begun
        expected, found = plain.value_and_grad(x), native.value_and_grad(x)
        assert plain(x) == native(x), name
        assert expected[0] == found[0], name
        assert np.array_equal(expected[1], found[1]), name
        timings = interleave(
            {
                f"{what} {kind}": partial(getattr(program, what), x)
                for what in ("value", "value_and_grad")
                for kind, program in (("plain", plain), ("native", native))
            }
        ).least()
        cells = ""
        for what, width in (("value", 6), ("value_and_grad", 12)):
            both = [timings.seconds(f"{what} {kind}").median for kind in ("plain", "native")]
            cells += f"{1e6 * both[0]:{width}.2f} → {1e6 * both[1]:.2f}, {both[0] / both[1]:.1f} x"
        print(f"{name:48}{cells}{seconds:9.2f} s")


if __name__ == "__main__":
    main()
