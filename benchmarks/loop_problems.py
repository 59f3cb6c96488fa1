"""Long loops of Python over numbers, and their gradients by hand.

A function is written once. It gets the numbers to differentiate by as one sequence, and what it
needs of a package: ``m`` has ``exp`` and ``log``, ``np`` is NumPy or one that mirrors it, and
``loop`` is the way the package has for steps. Gradients by hand are plain loops over floats, which
a compiler of Python takes as they stand. This module must not import cadiff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.model_problems import Mixture
from benchmarks.sequence_problems import Chain, FloatArray, Tracking, one_by_one

__all__ = [
    "POPULATIONS",
    "RELAXED",
    "SPREAD",
    "VOLATILITY",
    "Trades",
    "asian_payoff",
    "asian_prices_gradient",
    "filtered",
    "flat",
    "mixture_of_parts",
    "populations",
    "populations_gradient",
    "populations_in_arrays",
    "relaxed",
    "relaxed_by_scans",
    "returns",
    "spread",
    "spread_in_arrays",
    "trades",
    "visited",
    "volatility",
    "volatility_gradient",
]


def flat(arrays: Sequence[Any]) -> FloatArray:
    """All numbers of some arrays, one behind the other."""
    return np.concatenate([np.ravel(array) for array in arrays])


def _take(numbers: Iterator[Any], count: int) -> list[Any]:
    return [next(numbers) for _ in range(count)]


# --- loops within loops --------------------------------------------------------------------------

SPREAD = [0.12, 0.3, 0.4]
"""How fast a population spreads and grows, and its largest number at first."""


def spread(p: Any, size: int, steps: int) -> Any:
    """A population on a ring of size x size cells, cell by cell: Fisher's equation."""
    u = [[p[2] * cell for cell in row] for row in _hill(size)]
    for _ in range(steps):
        u = [
            [
                u[i][j]
                + p[0] * (u[i - 1][j] + u[i - size + 1][j] + u[i][j - 1] + u[i][j - size + 1])
                - 4.0 * p[0] * u[i][j]
                + p[1] * u[i][j] * (1.0 - u[i][j])
                for j in range(size)
            ]
            for i in range(size)
        ]
    return sum(cell * cell for row in u for cell in row)


def spread_in_arrays(np: Any, p: Any, size: int, steps: int, loop: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        return u + p[0] * (around - 4.0 * u) + p[1] * u * (1.0 - u)

    u = loop(step, p[2] * np.asarray(_hill(size)), range(steps))
    return np.sum(u * u)


def _hill(size: int) -> list[list[float]]:
    bump = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(size) / size)
    return [[float(a * b) for b in bump] for a in bump]


RELAXED = [0.8, 1.1]
"""How fast heat is conducted, and how much of it there is at first."""


def relaxed(p: Any, cells: int, sweeps: int, steps: int) -> Any:
    """Heat in a rod by implicit Euler; Gauss and Seidel's sweeps solve for each step."""
    u = [p[1] * number for number in _warm(cells)]
    for _ in range(steps):
        old = u
        for _ in range(sweeps):
            left, new = 0.0, []
            for before, right in zip(old, [*u[1:], 0.0], strict=True):
                left = (before + p[0] * (left + right)) / (1.0 + 2.0 * p[0])
                new.append(left)
            u = new
    return sum(number * number for number in u)


def relaxed_by_scans(np: Any, scan: Any, p: Any, cells: int, sweeps: int, steps: int) -> Any:
    """The same, where `scan` carries a number and stacks others, as JAX's does."""

    def step(old: Any, _: Any) -> tuple[Any, None]:
        def sweep(u: Any, _: Any) -> tuple[Any, None]:
            def cell(left: Any, given: Any) -> tuple[Any, Any]:
                now = (given[0] + p[0] * (left + given[1])) / (1.0 + 2.0 * p[0])
                return now, now

            return scan(cell, 0.0 * p[0], (old, np.append(u[1:], 0.0)))[1], None

        return scan(sweep, old, None, sweeps)[0], None

    u, _ = scan(step, p[1] * np.asarray(_warm(cells)), None, steps)
    return np.sum(u * u)


def _warm(cells: int) -> list[float]:
    return [float(np.sin(np.pi * k / (cells + 1.0))) for k in range(1, cells + 1)]


# --- a food chain, by Runge and Kutta ------------------------------------------------------------

DURATION = 10.0
POPULATIONS = [1.1, 0.3, 0.9, 0.4, 0.8, 0.3, 0.7, 0.2, 1.0, 0.8, 0.9, 0.6]
"""Rates of growth and of eating, and the four populations at first."""


def food_chain(x: Any, p: Any) -> tuple[Any, Any, Any, Any]:
    """How fast four populations grow, each of which feeds on the one before."""
    return (
        x[0] * (p[0] - p[1] * x[0] - p[2] * x[1]),
        x[1] * (p[2] * x[0] - p[3] - p[4] * x[2]),
        x[2] * (p[4] * x[1] - p[5] - p[6] * x[3]),
        x[3] * (p[6] * x[2] - p[7]),
    )


def populations(p: Sequence[Any], steps: int, loop: Any = one_by_one) -> Any:
    """A weighted sum of the populations at last, by so many steps of fourth order."""
    h = DURATION / steps
    rates, first = list(p)[:8], list(p)[8:]

    def moved(x: Any, by: float, k: Any) -> list[Any]:
        return [number + by * slope for number, slope in zip(x, k, strict=True)]

    def step(x: Any, _: Any) -> Any:
        a = food_chain(x, rates)
        b = food_chain(moved(x, 0.5 * h, a), rates)
        c = food_chain(moved(x, 0.5 * h, b), rates)
        d = food_chain(moved(x, h, c), rates)
        slopes = [a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i] for i in range(4)]
        return moved(x, h / 6.0, slopes)

    u, v, w, z = loop(step, first, range(steps))
    return u + 2.0 * v + 3.0 * w + 4.0 * z


def populations_in_arrays(np: Any, p: Any, steps: int, loop: Any = one_by_one) -> Any:
    """The same, of states that are arrays of four numbers."""
    h = DURATION / steps
    rates = [p[i] for i in range(8)]

    def slopes(x: Any) -> Any:
        return np.stack(food_chain(x, rates))

    def step(x: Any, _: Any) -> Any:
        a = slopes(x)
        b = slopes(x + 0.5 * h * a)
        c = slopes(x + 0.5 * h * b)
        d = slopes(x + h * c)
        return x + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)

    return np.sum(np.arange(1.0, 5.0) * loop(step, p[8:], range(steps)))


def populations_gradient(
    compiled: Callable[[Any], Any] = lambda f: f,
) -> Callable[[FloatArray, int], tuple[float, FloatArray]]:
    """Make the function that gives value and gradient by hand, whose parts a compiler may take.

    States are kept; a step back computes the slopes of its step again.
    """
    rates = compiled(food_chain)

    @compiled
    def moved(x: Any, by: float, k: Any) -> Any:
        return x[0] + by * k[0], x[1] + by * k[1], x[2] + by * k[2], x[3] + by * k[3]

    @compiled
    def pull(x: Any, b: Any, p: Any, by_rates: Any) -> Any:
        """Of b, which is given for the rates of growth at x."""
        s, t, u, v = b[0] * x[0], b[1] * x[1], b[2] * x[2], b[3] * x[3]
        by_rates[0] += s
        by_rates[1] -= s * x[0]
        by_rates[2] += t * x[0] - s * x[1]
        by_rates[3] -= t
        by_rates[4] += u * x[1] - t * x[2]
        by_rates[5] -= u
        by_rates[6] += v * x[2] - u * x[3]
        by_rates[7] -= v
        return (
            b[0] * (p[0] - 2.0 * p[1] * x[0] - p[2] * x[1]) + t * p[2],
            b[1] * (p[2] * x[0] - p[3] - p[4] * x[2]) - s * p[2] + u * p[4],
            b[2] * (p[4] * x[1] - p[5] - p[6] * x[3]) - t * p[4] + v * p[6],
            b[3] * (p[6] * x[2] - p[7]) - u * p[6],
        )

    @compiled
    def gradient(p: Any, steps: int) -> Any:
        h = DURATION / steps
        kept = np.empty((steps, 4))
        x = (p[8], p[9], p[10], p[11])
        for t in range(steps):
            kept[t, 0], kept[t, 1], kept[t, 2], kept[t, 3] = x
            a = rates(x, p)
            b = rates(moved(x, 0.5 * h, a), p)
            c = rates(moved(x, 0.5 * h, b), p)
            d = rates(moved(x, h, c), p)
            x = moved(moved(moved(moved(x, h / 6.0, a), h / 3.0, b), h / 3.0, c), h / 6.0, d)
        value = x[0] + 2.0 * x[1] + 3.0 * x[2] + 4.0 * x[3]
        found = np.zeros(12)
        back = (1.0, 2.0, 3.0, 4.0)
        nothing = (0.0, 0.0, 0.0, 0.0)
        for t in range(steps - 1, -1, -1):
            x = (kept[t, 0], kept[t, 1], kept[t, 2], kept[t, 3])
            second = moved(x, 0.5 * h, rates(x, p))
            third = moved(x, 0.5 * h, rates(second, p))
            fourth = moved(x, h, rates(third, p))
            d = pull(fourth, moved(nothing, h / 6.0, back), p, found)
            c = pull(third, moved(moved(nothing, h / 3.0, back), h, d), p, found)
            b = pull(second, moved(moved(nothing, h / 3.0, back), 0.5 * h, c), p, found)
            a = pull(x, moved(moved(nothing, h / 6.0, back), 0.5 * h, b), p, found)
            back = moved(moved(moved(moved(back, 1.0, a), 1.0, b), 1.0, c), 1.0, d)
        found[8], found[9], found[10], found[11] = back
        return value, found

    return gradient  # type: ignore[no-any-return]


# --- volatility that clusters: GARCH(1,1) --------------------------------------------------------

VOLATILITY = [0.08, 0.12, 0.8]


def returns(count: int) -> list[float]:
    """So many days of a market with such volatility."""
    a, b, c = VOLATILITY
    h, found = 1.0, []
    for noise in np.random.default_rng(16).standard_normal(count).tolist():
        found.append(h**0.5 * noise)
        h = a + b * found[-1] ** 2 + c * h
    return found


def volatility(m: Any, data: Sequence[float], p: Sequence[Any], loop: Any = one_by_one) -> Any:
    """Minus the logarithm of the likelihood of returns, without its constant.

    Bollerslev, "Generalized autoregressive conditional heteroskedasticity", Journal of
    Econometrics 31 (1986).
    """
    a, b, c = p

    def step(state: Any, r: Any) -> Any:
        h, total = state
        square = r * r
        return a + b * square + c * h, total + 0.5 * (m.log(h) + square / h)

    return loop(step, (1.0, 0.0), data)[1]


def volatility_gradient(p: FloatArray, data: FloatArray) -> tuple[float, FloatArray]:
    """Value and gradient by hand: the three tangents go along."""
    h, total = 1.0, 0.0
    u = v = w = x = y = z = 0.0
    for i in range(len(data)):
        square = data[i] * data[i]
        total += 0.5 * (np.log(h) + square / h)
        slope = 0.5 * (1.0 - square / h) / h
        x, y, z = x + slope * u, y + slope * v, z + slope * w
        u, v, w = 1.0 + p[2] * u, square + p[2] * v, h + p[2] * w
        h = p[0] + p[1] * square + p[2] * h
    return total, np.array([x, y, z])


# --- problems over arrays, one number at a time --------------------------------------------------


def filtered(m: Any, data: Tracking, p: Sequence[Any]) -> Any:
    """`sequence_problems.likelihood`, its matrices of 2 × 2 written out."""
    f, g, h, k = list(p)[:4]
    q, r, s, t = (m.exp(number) for number in list(p)[4:])
    (o, n), (w, z) = data.observing.tolist()
    u, v = 0.0, 0.0  # the mean
    a, b, d = 1.0, 0.0, 1.0  # the spread, which is symmetric
    total = 0.0
    for first, second in data.seen.tolist():
        u, v = f * u + g * v, h * u + k * v
        fa, fb, ha, hb = f * a + g * b, f * b + g * d, h * a + k * b, h * b + k * d
        a, b, d = fa * f + fb * g + q, fa * h + fb * k, ha * h + hb * k + r
        x, y = first - (o * u + n * v), second - (w * u + z * v)
        oa, ob, wa, wb = o * a + n * b, o * b + n * d, w * a + z * b, w * b + z * d
        e, i, j = oa * o + ob * n + s, oa * w + ob * z, wa * w + wb * z + t  # the doubt
        det = e * j - i * i
        e, i, j = j / det, -i / det, e / det  # its inverse
        px, py = e * x + i * y, i * x + j * y
        total = total + m.log(det) + x * px + y * py
        u, v = u + oa * px + wa * py, v + ob * px + wb * py
        ea, eb, ia, ib = e * oa + i * wa, e * ob + i * wb, i * oa + j * wa, i * ob + j * wb
        a, b, d = a - (oa * ea + wa * ia), b - (oa * eb + wa * ib), d - (ob * eb + wb * ib)
    return 0.5 * total


def visited(m: Any, data: Chain, p: Sequence[Any]) -> Any:
    """`sequence_problems.evidence`, by chances that are scaled at each step."""
    numbers, states = iter(p), len(data.parameters[0])
    chances = [m.exp(number) for number in _take(numbers, states)]
    moves = [[m.exp(number) for number in _take(numbers, states)] for _ in range(states)]
    means = _take(numbers, states)
    total = 0.0
    for turn, seen in enumerate(data.seen.tolist()):
        if turn:
            chances = [sum(chances[i] * moves[i][j] for i in range(states)) for j in range(states)]
        chances = [c * m.exp(-0.5 * (seen - x) ** 2) for c, x in zip(chances, means, strict=True)]
        scale = sum(chances)
        chances = [chance / scale for chance in chances]
        total = total + m.log(scale)
    return total


def mixture_of_parts(m: Any, data: Mixture, p: Sequence[Any]) -> Any:
    """`model_problems.density`, point by point."""
    numbers = iter(p)
    d, places = data.points.shape[1], data.places.tolist()
    parts, elements = data.parameters[2].shape
    weights = _take(numbers, parts)
    means = [_take(numbers, d) for _ in range(parts)]
    factors = [_take(numbers, elements) for _ in range(parts)]
    sums = [sum(factor[:d]) for factor in factors]
    lower = [[*(m.exp(x) for x in factor[:d]), *factor[d:]] for factor in factors]
    total = 0.0
    for point in data.points.tolist():
        density = 0.0
        for k in range(parts):
            apart = [x - mean for x, mean in zip(point, means[k], strict=True)]
            square = 0.0
            for i in range(d):
                turned = sum(lower[k][places[i][j]] * apart[j] for j in range(i + 1))
                square = square + turned * turned
            density = density + m.exp(weights[k] + sums[k] - 0.5 * square)
        total = total + m.log(density)
    whole = sum(m.exp(weight) for weight in weights)
    prior = sum(0.5 * sum(x * x for x in row) for row in lower) - sum(sums)
    return total - len(data.points) * m.log(whole) - prior


# --- Asian options -------------------------------------------------------------------------------


class Trades(NamedTuple):
    """Spot, strike, rate, volatility and years of each, and normal numbers of days and paths."""

    columns: list[FloatArray]
    shocks: FloatArray


def trades(count: int, paths: int, days: int) -> Trades:
    """So many options about the money."""
    rng = np.random.default_rng(17)
    bounds = ((80.0, 120.0), (90.0, 110.0), (0.0, 0.05), (0.1, 0.4), (0.5, 1.5))
    columns = [rng.uniform(low, high, count) for low, high in bounds]
    return Trades(columns, rng.standard_normal((days, paths)))


def asian_payoff(
    np: Any,
    loop: Any,
    shocks: Any,
    spot: Any,
    strike: Any,
    rate: Any,
    volatility: Any,
    years: Any,
) -> Any:
    """What the mean of all days is above the strike: of one path, or of as many as a day has."""
    day = years / len(shocks)
    drift, width = (rate - 0.5 * volatility * volatility) * day, volatility * np.sqrt(day)

    def step(state: Any, shock: Any) -> Any:
        spot, total = state
        spot = spot * np.exp(drift + width * shock)
        return spot, total + spot

    nothing = 0.0 * shocks[0]
    total = loop(step, (spot + nothing, nothing), shocks)[1]
    return np.maximum(total / len(shocks) - strike, 0.0)


def asian_prices_gradient(data: Trades) -> tuple[FloatArray, list[FloatArray]]:
    """Prices, and their slopes by each of the five columns, by hand."""
    spot, strike, rate, volatility, years = (column[:, None] for column in data.columns)
    days, paths = data.shocks.shape
    day = years / days
    drift, width = (rate - 0.5 * volatility**2) * day, volatility * np.sqrt(day)
    sums, by_time, by_walk = np.zeros((3, len(spot), paths))
    walk = np.zeros(paths)
    for t, shock in enumerate(data.shocks, 1):
        walk = walk + shock
        place = np.exp(width * walk + drift * t)
        sums += place
        by_walk += place * walk
        place *= t
        by_time += place
    scale = spot / days
    sums, by_time, by_walk = (x * scale for x in (sums, by_time, by_walk))
    gain = sums - strike
    is_in = gain > 0.0
    discount = np.exp(-rate * years)[:, 0]

    def expected(x: Any) -> FloatArray:
        mean: FloatArray = discount * np.mean(np.where(is_in, x, 0.0), axis=1)
        return mean

    prices = expected(gain)
    in_rate = expected(by_time * day) - data.columns[4] * prices
    in_volatility = expected(np.sqrt(day) * by_walk - volatility * day * by_time)
    in_years = expected((drift * by_time + 0.5 * width * by_walk) / years)
    slopes = [
        expected(sums / spot),
        -expected(np.ones_like(gain)),
        in_rate,
        in_volatility,
        in_years - data.columns[2] * prices,
    ]
    return prices, slopes
