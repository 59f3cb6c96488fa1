"""Programs that can be made at any size: those of `benchmarks`, and random ones.

`python -m benchmarks.growth` counts what they take at a size and at four times that.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import cadiff
import cadiff.math as cmath
import cadiff.numpy as cnp
from benchmarks import (
    array_problems,
    complex_contests,
    factor_contests,
    linear_contests,
    loop_problems,
    model_problems,
    problems,
)
from benchmarks import sequence_problems as sequences
from benchmarks.libraries import Cadiff

__all__ = ["GROWING", "NONE", "QUADRATIC", "Growing", "Made"]

N_RANDOM = 50
SHORT, NONE = 60, 1 << 40  # operations of a loop that is kept
QUADRATIC = "all pairs"  # grows faster than n log n, to see that this is found


class Made(NamedTuple):
    """A function, where it is called, and whether its Jacobian or Hessian is sparse."""

    f: Callable[[Any], Any]
    at: Any
    sparse: bool = False


class Growing(NamedTuple):
    """A program by its size.

    Attributes
    ----------
    make : callable
        Of the size.
    n : int
        The size that is compared with four times as much.
    least : int
        A size at which there is next to nothing to do.
    loop : int
        From how many operations on loops are looked for; 0: as usual.
    arrays : bool
        Whether the size is that of arrays alone: then a program has as many instructions at any.
    """

    make: Callable[[int], Made]
    n: int
    least: int = 2
    loop: int = 0
    arrays: bool = False


# --- problems ------------------------------------------------------------------------------------


def _logistic(n: int) -> Made:
    data = array_problems.classes(n)
    return Made(array_problems.make_logistic(data, cnp), data.beta)


def _adjustment(n: int) -> Made:
    data = array_problems.adjustment_data(n)
    return Made(array_problems.make_adjustment(data, cnp), data.x, sparse=True)


def _spectrum(n: int) -> Made:
    weights = array_problems.spectrum_weights((n,))
    f = partial(array_problems.weighted_spectrum, weights=weights, fft=cnp.fft.fft, vdot=cnp.vdot)
    return Made(f, array_problems.chain_point(n))


def _network(batch: int) -> Made:
    data = array_problems.network_data(batch)
    few = [w[:32, :16] if w.ndim == 2 else w[:16] for w in data.weights]
    few = [few[0], few[1], data.weights[2][:16, :], data.weights[3]]
    data = data._replace(weights=[], images=data.images[:, :32])
    return Made(lambda weights: model_problems.network_loss(cnp, data, weights), few)


def _mixture(points: int) -> Made:
    data = model_problems.mixture_data(4, 3, points)
    return Made(partial(model_problems.density, cnp, Cadiff().summed, data), data.parameters)


def _mixture_of_parts(points: int) -> Made:
    data = model_problems.mixture_data(2, 2, points)
    f = partial(loop_problems.mixture_of_parts, cmath, data)
    return Made(f, loop_problems.flat(data.parameters))


def _kalman(steps: int) -> Made:
    data = sequences.tracking_data(steps)
    return Made(partial(sequences.likelihood, cnp, data), data.parameters)


def _filtered(steps: int) -> Made:
    data = sequences.tracking_data(steps)
    return Made(partial(loop_problems.filtered, cmath, data), loop_problems.flat(data.parameters))


def _markov(steps: int, *, by_max: bool) -> Made:
    data = sequences.chain_data(5, steps)
    summed = partial(sequences.log_sum_exp, cnp) if by_max else Cadiff().summed
    return Made(partial(sequences.evidence, summed, data), data.parameters)


def _visited(steps: int) -> Made:
    data = sequences.chain_data(3, steps)
    return Made(partial(loop_problems.visited, cmath, data), loop_problems.flat(data.parameters))


def _lstm(steps: int) -> Made:
    data = sequences.cells_data(steps, 8, 4)
    return Made(partial(sequences.last_error, cnp, data), data.parameters)


def _bodies(steps: int) -> Made:
    data = sequences.bodies_data(4, steps)
    return Made(partial(sequences.energy, cnp, data), data.parameters)


def _control(steps: int, *, loop: bool) -> Made:
    given = complex_contests.problem(2, steps)
    return Made(partial(complex_contests.fidelity, given, loop=loop), given.start)


def _regression(n: int) -> Made:
    f = problems.linear_regression(*problems.observations(n))
    return Made(f, list(problems.REGRESSION_POINT))


def _chain(steps: int) -> Made:
    f = problems.chain(steps, cmath.sin, cmath.exp)
    return Made(lambda x: f(*x), list(problems.CHAIN_POINT))


def _volatility(count: int) -> Made:
    f = partial(loop_problems.volatility, cmath, loop_problems.returns(count))
    return Made(f, loop_problems.VOLATILITY)


def _options(n: int) -> Made:
    def total(columns: Any) -> Any:
        return cnp.sum(model_problems.option_price(cnp, Cadiff().below, *columns))

    return Made(total, model_problems.options_data(n))


def _priced(n: int) -> Made:
    def below(x: Any) -> Any:
        return 0.5 * cmath.erfc(-0.7071067811865476 * x)

    of_each = cadiff.vmap(partial(model_problems.option_price, cmath, below))
    return Made(lambda columns: cnp.sum(of_each(*columns)), model_problems.options_data(n))


def _asian(days: int) -> Made:
    data = loop_problems.trades(1, 20, days)

    def price(terms: Any) -> Any:
        payoff = loop_problems.asian_payoff(cnp, sequences.one_by_one, data.shocks, *terms)
        return cnp.exp(-terms[2] * terms[4]) * cnp.mean(payoff)

    return Made(price, [float(column[0]) for column in data.columns])


def _process(n: int) -> Made:
    """Of 6 points, as often as is asked for: a matrix grows faster than n log n by itself."""
    p, squares, y = factor_contests.observations(6)

    def total(p: Any) -> Any:
        linalg = Cadiff().linalg
        return sum(
            factor_contests.log_likelihood(cnp, linalg, p, squares, y + k) for k in range(n)
        )

    return Made(total, p)


def _rolled(rows: int) -> Made:
    """Of matrices whose columns move along."""

    def f(x: Any) -> Any:
        moved = cnp.roll(x, 1, 1)
        return cnp.sum(moved * x * moved)

    return Made(f, array_problems.chain_point(100 * rows).reshape(rows, 100))


def _kept(steps: int) -> Made:
    """Of arrays that are all there until the last one is."""

    def f(x: Any) -> Any:
        found = [cnp.sin(x * (1.0 + k / steps)) for k in range(steps)]
        return sum(cnp.sum(a * b) for a, b in zip(found, found[::-1], strict=True))

    return Made(f, array_problems.chain_point(100))


def _at(point: Callable[[int], Any], f: Callable[[Any], Any], n: int, sparse: bool) -> Made:
    return Made(f, point(n), sparse)


def _of(f: Callable[[Any], Any], *, sparse: bool = False) -> Callable[[int], Made]:
    """Of so many numbers."""
    return partial(_at, array_problems.chain_point, f, sparse=sparse)


def _of_list(f: Callable[[Any], Any], *, sparse: bool = False) -> Callable[[int], Made]:
    """Of a list of so many numbers."""
    return partial(_at, problems.rosenbrock_point, f, sparse=sparse)


def _fixed(f: Callable[..., Any], at: Any, **sizes: Any) -> Callable[[int], Made]:
    """Of a few numbers; the size is a number of steps, or what a keyword is made of."""

    def make(n: int) -> Made:
        given = {name: size(n) for name, size in sizes.items()}
        return Made(lambda x: f(x, **given), at)

    return make


def _same(n: int) -> int:
    return n


def _few(n: int) -> int:
    return 3


PROBLEMS = {
    "rosenbrock": Growing(_of_list(problems.rosenbrock, sparse=True), 80),
    "rosenbrock, products": Growing(_of_list(problems.rosenbrock_products, sparse=True), 80),
    "hinges": Growing(_of_list(problems.hinges, sparse=True), 80),
    "regression": Growing(_regression, 80),
    "chain": Growing(_chain, 80),
    "chain of arrays": Growing(
        _of(lambda x: cnp.sum(array_problems.chain(x, cnp)), sparse=True), 3000, arrays=True
    ),
    "logistic": Growing(_logistic, 1500, arrays=True),
    "network": Growing(_network, 100, arrays=True),
    "adjustment": Growing(_adjustment, 80),
    "arm": Growing(_of(array_problems.make_arm(cmath, cnp.array)), 12),
    "spectrum": Growing(_spectrum, 512),
    "mixture": Growing(_mixture, 300, arrays=True),
    "mixture of parts": Growing(_mixture_of_parts, 30),
    "waves": Growing(_of(partial(model_problems.waves, cnp), sparse=True), 3000, arrays=True),
    "valleys": Growing(
        lambda n: Made(
            partial(model_problems.valleys, cnp), array_problems.chain_point(10 * n).reshape(n, 10)
        ),
        300,
        arrays=True,
    ),
    "pairs": Growing(
        _of_list(partial(model_problems.pairs, cmath.sin, cmath.sqrt), sparse=True), 80
    ),
    "options": Growing(_options, 1500, arrays=True),
    "options by vmap": Growing(_priced, 60),
    "process": Growing(_process, 12),
    "broyden": Growing(_of_list(linear_contests.broyden, sparse=True), 80),
    "broyden of arrays": Growing(
        _of(linear_contests.broyden_of_arrays, sparse=True), 3000, arrays=True
    ),
    "kalman": Growing(_kalman, 20),
    "filtered": Growing(_filtered, 24),
    "markov": Growing(partial(_markov, by_max=False), 20),
    "markov by max": Growing(partial(_markov, by_max=True), 20),
    "visited": Growing(_visited, 20),
    "lstm": Growing(_lstm, 20),
    "bodies": Growing(_bodies, 20),
    "control": Growing(partial(_control, loop=False), 20),
    "control, a loop": Growing(partial(_control, loop=True), 20),
    "volatility": Growing(_volatility, 80),
    "populations": Growing(
        _fixed(loop_problems.populations, loop_problems.POPULATIONS, steps=_same), 24
    ),
    "populations in arrays": Growing(
        _fixed(
            partial(loop_problems.populations_in_arrays, cnp),
            np.array(loop_problems.POPULATIONS),
            steps=_same,
        ),
        20,
    ),
    "grid, steps": Growing(
        _fixed(loop_problems.spread, loop_problems.SPREAD, size=_few, steps=_same), 20
    ),
    "grid, cells": Growing(
        _fixed(
            loop_problems.spread,
            loop_problems.SPREAD,
            size=lambda n: max(2, round(n**0.5)),
            steps=_few,
        ),
        36,
    ),
    "grid in arrays": Growing(
        _fixed(
            partial(loop_problems.spread_in_arrays, cnp, loop=sequences.one_by_one),
            np.array(loop_problems.SPREAD),
            size=lambda n: 4 * max(1, round(n**0.5)),
            steps=_few,
        ),
        100,
        least=1,
        arrays=True,
    ),
    "heat, steps": Growing(
        _fixed(loop_problems.relaxed, loop_problems.RELAXED, cells=_few, sweeps=_few, steps=_same),
        20,
    ),
    "heat, cells": Growing(
        _fixed(loop_problems.relaxed, loop_problems.RELAXED, cells=_same, sweeps=_few, steps=_few),
        25,
    ),
    "asian": Growing(_asian, 20),
    "matrices with moved columns": Growing(_rolled, 40, arrays=True),
    "arrays that are kept": Growing(_kept, 40),
}


# --- random ones: of a number for each turn ------------------------------------------------------


class Turn(NamedTuple):
    """What a turn of a random loop may read besides its state: its number, data, the argument."""

    i: int
    d: float
    x: Any
    past: list[Any]


Piece = Callable[[list[Any], Turn], None]


def _piece_of_numbers(draw: random.Random) -> Piece:
    """A statement on single numbers, one of a few kinds."""
    a, b = draw.sample(range(3), 2)
    c = draw.uniform(0.1, 0.9)
    back, apart = draw.randint(1, 4), draw.choice((1, 7, 13))

    def scaled(s: list[Any], t: Turn) -> None:
        s[a] = c * s[a] + 0.1 * s[b] * t.d

    def bent(s: list[Any], t: Turn) -> None:
        s[a] = cmath.tanh(s[a] + c * s[b])

    def summed(s: list[Any], t: Turn) -> None:
        s[3] += cmath.sin(s[a]) * s[b] + t.d

    def by_data(s: list[Any], t: Turn) -> None:
        if t.d > 0.2:
            s[a] = c * s[a] + t.d
        else:
            s[b] = s[b] - 0.1 * s[a]

    def by_value(s: list[Any], t: Turn) -> None:
        s[a] = c * s[a] if s[b] > 0.1 else s[a] + 0.05

    def reading(s: list[Any], t: Turn) -> None:
        s[a] = c * s[a] + t.x[t.i] * t.x[t.i - 1]

    def gathering(s: list[Any], t: Turn) -> None:
        s[b] = 0.5 * s[b] + t.x[apart * t.i * t.i % len(t.x)] * c

    def remembering(s: list[Any], t: Turn) -> None:
        if len(t.past) >= back:
            s[a] = 0.7 * s[a] + 0.2 * t.past[-back] * s[b]
        t.past.append(s[a])

    def differentiating(s: list[Any], t: Turn) -> None:
        outer = s[b]
        s[a] = s[a] + 0.1 * cadiff.grad(lambda u: cmath.sin(u) * outer + u * u)(s[a])

    def within(s: list[Any], t: Turn) -> None:
        for _ in range(3):
            s[a] = 0.8 * s[a] + 0.1 * cmath.cos(s[b])

    pieces = [scaled, bent, summed, by_data, by_value, reading, gathering, remembering]
    return draw.choice([*pieces, differentiating, within])


def _data(draw: random.Random, n: int) -> list[float]:
    return [draw.uniform(-0.5, 0.5) for _ in range(n)]


def _numbers(seed: int, n: int) -> Made:
    """N turns over three numbers."""
    draw = random.Random(seed)
    pieces = [_piece_of_numbers(draw) for _ in range(draw.randint(2, 3))]
    data = _data(draw, n)

    def f(x: Any) -> Any:
        state, past = [x[0], x[1], x[-1], 0.0], list[Any]()
        for i, d in enumerate(data):
            for piece in pieces:
                piece(state, Turn(i, d, x, past))
        return sum(state)

    return Made(f, _data(draw, n))


def _many_numbers(seed: int, n: int) -> Made:
    """A list of n numbers, which goes through a few statements; some are sums along it."""
    draw = random.Random(seed)
    c, apart = draw.uniform(0.1, 0.9), draw.choice((1, 3, 17))
    data = _data(draw, n)

    def beside(v: list[Any]) -> list[Any]:
        return [a + c * (b - a) for a, b in zip(v, [*v[1:], v[0]], strict=True)]

    def along(v: list[Any]) -> list[Any]:
        total, found = 0.0, []
        for a in v:
            total = 0.9 * total + a
            found.append(0.1 * total)
        return found

    def folded(v: list[Any]) -> list[Any]:
        rest = v
        while len(rest) > 1:
            rest = [a + c * b for a, b in zip(rest[::2], [*rest[1::2], 0.0], strict=False)]
        return [a * rest[0] for a in v]

    def weighted(v: list[Any]) -> list[Any]:
        return [cmath.sin(a) * d for a, d in zip(v, data, strict=True)]

    def shuffled(v: list[Any]) -> list[Any]:
        return [a * v[apart * k * k % n] for k, a in enumerate(v)]

    def chosen(v: list[Any]) -> list[Any]:
        return [a * a if a > 0.1 else c * a for a in v]

    def backwards(v: list[Any]) -> list[Any]:
        found, last = [], 0.0
        for a in reversed(v):
            last = cmath.tanh(a + 0.5 * last)
            found.append(last)
        return found

    def assigned(v: list[Any]) -> list[Any]:
        y = cnp.zeros(n)
        for k, a in enumerate(v):
            y[n - 1 - k] = c * a
        return list(y)

    ways = [beside, along, folded, weighted, shuffled, chosen, backwards, assigned]
    steps = [draw.choice(ways) for _ in range(draw.randint(2, 4))]

    def f(x: Any) -> Any:
        v = list(x)
        for step in steps:
            v = step(v)
        return sum(a * a for a in v)

    return Made(f, _data(draw, n))


# --- of arrays -----------------------------------------------------------------------------------

ArrayPiece = Callable[[Any], Any]


def _moves(draw: random.Random) -> list[ArrayPiece]:
    """What is done to an array of any length."""
    c, by = draw.uniform(0.1, 0.9), draw.choice((1, 2, -1))
    return [
        lambda y: y + c * (cnp.roll(y, 1) - 2.0 * y + cnp.roll(y, -1)),
        lambda y: y - c * cnp.concatenate([y[:1], y[:-1]]),
        lambda y: 0.5 * (y + cnp.concatenate([y[1:], np.zeros(1)])),
        lambda y: cnp.where(y > 0.1, c * y, cnp.sin(y)),
        lambda y: y - cnp.mean(y),
        lambda y: y / (1.0 + cnp.max(y * y)),
        lambda y: cnp.roll(cnp.tanh(y), by)[::-1],
        lambda y: y[_scattered(len(y))] * c + y,
        lambda y: cnp.cumsum(y) / len(y),
        lambda y: y + 0.1 * cadiff.grad(lambda z: cnp.sum(cnp.sin(z) * y[::-1]))(y),
        lambda y: cnp.stack([y, y * y]).T.reshape(-1)[: len(y)] + y,
        _changed,
        _added_at,
        lambda y: cnp.diff(y, append=0.0) * c + cnp.sqrt(1.0 + y * y),
        lambda y: cnp.convolve(y, np.array([0.25, 0.5, 0.25]), "same"),
        lambda y: cnp.minimum(y, 0.4) * cnp.exp(-y),
    ]


def _scattered(n: int) -> Any:
    return np.arange(n) * 7 % n


def _changed(y: Any) -> Any:
    z = cnp.zeros(len(y))
    z[:-1] = y[1:]
    z[-1] = y[0] * y[-1]
    z[1:] *= 0.5
    return z


def _added_at(y: Any) -> Any:
    z = cnp.zeros(len(y))
    cnp.add.at(z, _scattered(len(y)) // 2, y)
    return 0.1 * z + y


def _long_arrays(seed: int, n: int) -> Made:
    """A few turns over arrays of n numbers."""
    draw = random.Random(seed)
    moves = draw.sample(_moves(draw), draw.randint(1, 3))
    turns = draw.randint(1, 2)

    def f(x: Any) -> Any:
        y = x
        for _ in range(turns):
            for move in moves:
                y = move(y)
        return cnp.sum(y * x)

    return Made(f, np.array(_data(draw, n)))


def _turns_of_arrays(seed: int, n: int, length: int) -> Made:
    """N turns over arrays of one length."""
    draw = random.Random(seed)
    moves = draw.sample(_moves(draw), draw.randint(1, 2))
    data = _data(draw, n)

    def f(x: Any) -> Any:
        y = x
        for d in data:
            for move in moves:
                y = move(y)
            y = 0.9 * y + d
        return cnp.sum(y * x)

    return Made(f, np.array(_data(draw, length)))


def _random(seed: int) -> tuple[str, Growing]:
    kind, loop = seed % 5, SHORT if seed // 5 % 2 else NONE
    name = f"random {seed}: "
    if kind == 0:
        return name + "numbers", Growing(partial(_numbers, seed), 80, loop=loop)
    if kind == 1:
        return name + "many numbers", Growing(partial(_many_numbers, seed), 150, 4, loop)
    if kind == 2:
        return name + "long arrays", Growing(partial(_long_arrays, seed), 3000, 8, loop, True)
    if kind == 3:
        return name + "turns of short arrays", Growing(
            partial(_turns_of_arrays, seed, length=5), 20, loop=loop
        )
    return name + "turns of long arrays", Growing(
        partial(_turns_of_arrays, seed, length=60), 20, loop=loop
    )


GROWING: dict[str, Growing] = {
    **{name: growing._replace(loop=NONE) for name, growing in PROBLEMS.items()},
    **{f"{name}, loops": growing._replace(loop=SHORT) for name, growing in PROBLEMS.items()},
    **dict(_random(seed) for seed in range(N_RANDOM)),
    QUADRATIC: Growing(_of(lambda x: cnp.sum(cnp.sin(x[:, None] * x))), 60),
}
