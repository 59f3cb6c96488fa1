"""The contests of `vmap`: against a Python loop over rows, and NumPy on all rows at once.

The expected numbers are NumPy's on all rows at once, or formulas. Functions of numbers are plain
Python, with branches and loops; what NumPy computes in their place is written in whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import cadiff
import cadiff.math as cmath
import cadiff.numpy as cnp
from benchmarks.array_contests import HAND, NUMPY
from benchmarks.contests import Contest, Runner
from cadiff import vmap

__all__ = [
    "CONTESTS",
    "GRADIENT_LOOP",
    "LOOP",
    "VMAP",
    "VMAP_GRADIENT",
    "arrays",
    "examples",
    "fit",
    "options",
]

LOOP = "Python loop"
GRADIENT_LOOP = "grad of the Python loop"
VMAP = "vmap"
VMAP_GRADIENT = "grad of vmap"
FACTORS = (0.5, 0.8, 1.0, 1.2, 1.5)  # of volatilities, equally likely


def _runners(mapped: Callable[..., Any], at_once: Callable[..., Any], *args: Any) -> Any:
    expected = at_once(*args)
    mapped(*args)  # recorded
    return {
        VMAP: Runner(partial(mapped, *args), expected),
        NUMPY: Runner(partial(at_once, *args), expected),
    }


# --- a function of numbers


def _option(factors: Any, spot: Any, strike: Any, years: Any, volatility: Any) -> Any:
    """A European call or put, whichever is out of the money, by a mixture of volatilities."""
    total = 0.0
    for factor in factors:
        width = factor * volatility * cmath.sqrt(years)
        up = cmath.log(spot / strike) / width + 0.5 * width
        sign = -1.0 if spot > strike else 1.0
        total += sign * (spot * _normal(sign * up) - strike * _normal(sign * (up - width)))
    return total / len(factors)


def _normal(x: Any) -> Any:
    """Close to the distribution function of the normal distribution."""
    return 0.5 + 0.5 * cmath.tanh(0.7978845608 * (x + 0.044715 * x * x * x))


def _options(factors: Any, spot: Any, strike: Any, years: Any, volatility: Any) -> Any:
    sign = np.where(spot > strike, -1.0, 1.0)
    total: Any = 0.0
    for factor in factors:
        width = factor * volatility * np.sqrt(years)
        up = np.log(spot / strike) / width + 0.5 * width
        below = [_normal_of_all(sign * up), _normal_of_all(sign * (up - width))]
        total += sign * (spot * below[0] - strike * below[1])
    return total / len(factors)


def _normal_of_all(x: Any) -> Any:
    return 0.5 + 0.5 * np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))


def _market(n: int) -> list[Any]:
    """Spot, strike, years and volatility of so many options."""
    rng = np.random.default_rng(0)
    bounds = ((50.0, 150.0), (50.0, 150.0), (0.1, 2.0), (0.1, 0.5))
    return [rng.uniform(low, high, n) for low, high in bounds]


def options(n: int) -> Contest:
    """Prices of options by a function of numbers that has a loop and branches."""
    rows = _market(n)
    lists = [row.tolist() for row in rows]
    runners = _runners(vmap(_option, (None, 0, 0, 0, 0)), _options, FACTORS, *rows)
    loop = Runner(
        lambda: [*map(partial(_option, FACTORS), *lists)],
        runners[NUMPY].expected,
    )
    return Contest(f"prices of {n:,} options, a loop on numbers", {**runners, LOOP: loop})


def fit(n: int) -> Contest:
    """The gradient of a sum over options by what they share, through vmap or through a loop."""
    rows, factors = _market(n), np.array(FACTORS)
    lists = [row.tolist() for row in rows]
    prices = vmap(_option, (None, 0, 0, 0, 0))
    through_vmap = cadiff.grad(lambda f: cnp.sum(prices(f, *rows) ** 2))
    through_loop = cadiff.grad(lambda f: sum(_option([*f], *row) ** 2 for row in zip(*lists)))  # noqa: B905
    steps = np.diag(np.full(len(factors), 1e-30j))
    expected = [float(np.sum(_options(f, *rows) ** 2).imag / 1e-30) for f in factors + steps]
    through_vmap(factors)  # recorded
    runners = {
        VMAP_GRADIENT: Runner(partial(through_vmap, factors), expected),
        GRADIENT_LOOP: Runner(partial(through_loop, factors), expected),
        NUMPY: Runner(partial(_options, FACTORS, *rows), _options(FACTORS, *rows)),
    }
    return Contest(f"gradient by 5 numbers of {n:,} prices", runners)


# --- a function of arrays


def _scaled(x: Any) -> Any:
    return cnp.exp(-x * x) * cnp.sin(x) / cnp.sqrt(1.0 + cnp.sum(x * x))


def _all_scaled(X: Any) -> Any:
    return np.exp(-X * X) * np.sin(X) / np.sqrt(1.0 + np.sum(X * X, axis=1, keepdims=True))


def arrays(n: int, width: int) -> Contest:
    """A function of a short array, for many rows."""
    X = np.random.default_rng(0).normal(size=(n, width))
    runners = _runners(vmap(_scaled), _all_scaled, X)
    loop = Runner(lambda: np.stack([_scaled(x) for x in X]), runners[NUMPY].expected)
    return Contest(f"function of {width} numbers, {n:,} rows", {**runners, LOOP: loop})


# --- a network


def _network(weights: Any, x: Any) -> Any:
    return cnp.tanh(x @ weights[0] + weights[1]) @ weights[2]


def _loss(weights: Any, x: Any, y: Any) -> Any:
    return 0.5 * (_network(weights, x) - y) ** 2


def _gradients(weights: Any, X: Any, y: Any) -> Any:
    """Those of the loss of each example, by hand."""
    hidden = np.tanh(X @ weights[0] + weights[1])
    error = (hidden @ weights[2] - y)[:, np.newaxis]
    back = error * weights[2] * (1.0 - hidden**2)
    return [X[:, :, np.newaxis] * back[:, np.newaxis, :], back, error * hidden]


def _data(n: int) -> tuple[list[Any], Any, Any]:
    rng = np.random.default_rng(0)
    weights = [0.3 * rng.normal(size=shape) for shape in ((8, 16), (16,), (16,))]
    return weights, rng.normal(size=(n, 8)), rng.normal(size=n)


def examples(n: int) -> Contest:
    """The gradient of a small network's loss for each example by itself."""
    weights, X, y = _data(n)
    gradient = cadiff.grad(_loss)
    found = _runners(vmap(gradient, (None, 0, 0)), _gradients, weights, X, y)

    def loop() -> list[Any]:
        rows = [gradient(weights, *row) for row in zip(X, y, strict=True)]
        return [*map(np.stack, zip(*rows, strict=True))]

    expected = found[NUMPY].expected
    runners = {VMAP: found[VMAP], HAND: found[NUMPY], LOOP: Runner(loop, expected)}
    return Contest(f"network 8-16-1, gradients of {n:,} examples", runners)


# And the ways of each that the tests under pytest-benchmark time.
CONTESTS: tuple[tuple[Callable[[], Contest], tuple[str, ...]], ...] = (
    (partial(options, 10_000), (VMAP, NUMPY, LOOP)),
    (partial(arrays, 10_000, 8), (VMAP, NUMPY, LOOP)),
    (partial(examples, 1000), (VMAP, HAND, LOOP)),
    (partial(fit, 1000), (VMAP_GRADIENT, NUMPY, GRADIENT_LOOP)),
)
