"""The contests of calls: what a program costs where its arguments, or its branches, keep changing.

Each is a work that a careless way of calling would make many times slower than the function as it
is. The arguments are fresh in every call, and the results the same all along, so that they can be
checked: batches are others each time, and their gradients summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, repeat
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp
from benchmarks import contests, problems
from benchmarks.contests import ARRAY, GRADIENT, LIST, Contest, Runner, compare
from benchmarks.linear_contests import broyden, broyden_jacobian

__all__ = [
    "AT_A_POINT",
    "COMPILED",
    "CONTESTS",
    "EAGER",
    "FEW",
    "FIRST",
    "MANY",
    "OTHERS",
    "WATCHED",
    "adaptive_step",
    "at_a_point",
    "calls_until_served",
    "fresh",
    "lists",
    "mini_batches",
    "newton",
    "others",
    "smallest",
    "tridiagonal",
    "watched",
    "within",
]

COMPILED = "compiled"
EAGER = "eager"
FEW = "compiled, max_traces=8"
MANY = "compiled, max_traces=64"
FIRST = "compile, first Jacobian"
WATCHED = "globals are read"
BRANCHES = 64
EPOCHS = 32
STRAYS = 1200
MOST_CALLS = 2000
AT_A_POINT = "grad", "derivative", "jvp", "vjp", "pull", "linearize", "push", "grad of grad"


def _both(
    work: str, f: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], expected: Any
) -> Contest:
    """The gradient of f at arguments that are made for each call, compiled and as f is."""

    def called(gradient: Callable[..., Any]) -> Runner:
        return Runner(lambda: gradient(*arguments()), expected)

    return Contest(work, {EAGER: called(cadiff.grad(f)), COMPILED: called(cadiff.compile(f).grad)})


# Arguments


def mini_batches(size: int, batches: int) -> Contest:
    """An epoch of a regression: gradients by batches of observations, others in each epoch.

    They are drawn beforehand, since that takes longer than the gradients, and as long in each way.
    """
    n = size * batches
    xs, ys = (np.array(numbers) for numbers in problems.observations(n))
    random = np.random.default_rng(0)
    epochs = cycle([random.permutation(n).reshape(-1, size) for _ in range(EPOCHS)])

    def loss(p: Any, xs: Any, ys: Any, rows: Any) -> Any:
        return cnp.sum((p[0] * xs[rows] + p[1] - ys[rows]) ** 2)

    def epoch(gradient: Callable[..., Any], p: Any) -> Any:
        return sum(gradient(p, xs, ys, rows) for rows in next(epochs))

    p = np.array(problems.REGRESSION_POINT)
    residuals = p[0] * xs + p[1] - ys
    expected = [2.0 * (residuals @ xs), 2.0 * residuals.sum()]
    program = cadiff.compile(loss)
    return Contest(
        f"{batches} batches of {size} indices",
        {
            EAGER: Runner(partial(epoch, cadiff.grad(loss), p), expected),
            COMPILED: Runner(partial(epoch, program.grad, p), expected),
        },
    )


def fresh(what: str) -> Contest:
    """A gradient with another argument that is made for each call, and equal all along."""
    x = np.linspace(-1.0, 1.0, 100)

    def scaled(rate: float) -> Callable[[Any], Any]:
        return lambda v: v * rate

    def of_part(x: Any, part: slice) -> Any:
        return cnp.sum(x[part] ** 2)

    def of_some(x: Any, some: set[int]) -> Any:
        return sum(x[k] ** 2 for k in sorted(some))

    def of_result(x: Any, scale: Callable[[Any], Any]) -> Any:
        return cnp.sum(scale(x) ** 2)

    first = np.arange(100) < 10
    ways: dict[str, tuple[Callable[..., Any], Callable[[], Any], Any]] = {
        "slices": (of_part, lambda: slice(0, 10), 2.0 * x * first),
        "sets": (of_some, lambda: set(range(10)), 2.0 * x * first),
        "lambdas": (of_result, lambda: scaled(2.0), 8.0 * x),
    }
    f, make, expected = ways[what]
    return _both(f"fresh {what}", f, lambda: (x, make()), expected)


CALLS = 100
OTHERS = "strs", "slices", "lengths", "lambdas", "closures", "masks", "branches"


def others(what: str) -> Contest:
    """Gradients of a function of some 10 us, of which no two calls are alike."""
    random = np.random.default_rng(0)
    numbers = iter(range(1, 1 << 40))
    rate = [1.0]
    x = random.normal(size=100)
    turns = 40

    def work(x: Any) -> Any:
        total = 0.0
        for k in range(turns):
            total = total + x[k] * x[k + 1]
        return total

    def hinges(x: Any) -> Any:
        return sum(v * v if v > 0.0 else -v for v in x[:turns])

    def changing() -> tuple[Any, ...]:
        rate[0] = float(next(numbers))
        return (x,)

    def scaled(rate: float) -> Callable[[Any], Any]:
        return lambda v: v / rate

    def fresh_x(n: int = 100) -> Any:
        return random.normal(size=n)

    ways: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
        "strs": (lambda x, name: work(x) * len(name[:1]), lambda: (x, str(next(numbers)))),
        "slices": (lambda x, k: work(x) + cnp.sum(x[k % 40 :]), lambda: (x, next(numbers))),
        "lengths": (work, lambda: (fresh_x(turns + 1 + next(numbers) % 1000),)),
        "lambdas": (lambda x, g: g(work(x)), lambda: (x, scaled(float(next(numbers))))),
        "closures": (lambda x: work(x) / rate[0], changing),
        "masks": (lambda x: work(x) + cnp.sum(x[x > 0.0] ** 2), lambda: (fresh_x(1000),)),
        "branches": (hinges, lambda: (fresh_x(),)),
    }
    f, make = ways[what]
    eager, program = cadiff.grad(f), cadiff.compile(f)
    for _ in range(STRAYS):
        arguments = make()
        compare(what, program.grad(*arguments), eager(*arguments))

    def calls(gradient: Callable[..., Any]) -> Runner:
        def run() -> float:
            for _ in range(CALLS):
                gradient(*make())
            return 0.0

        return Runner(run, 0.0)

    return Contest(f"ever other {what}", {EAGER: calls(eager), COMPILED: calls(program.grad)})


def lists(n: int) -> Contest:
    """Value and gradient by a list of floats, and by an array of them."""
    eager = contests.rosenbrock(n)
    program = cadiff.compile(problems.rosenbrock)
    at = problems.rosenbrock_point(n)
    expected = eager.runners[LIST].expected
    return Contest(
        f"Rosenbrock n={n}, compiled",
        {
            ARRAY: Runner(partial(program.value_and_grad, np.array(at)), expected),
            LIST: Runner(partial(program.value_and_grad, at), expected),
        },
    )


# Branches


def newton() -> Contest:
    """Square roots by Newton's iteration, which takes another number of turns at each point."""

    def root(a: Any) -> Any:
        x = 1.0
        change = 1.0
        while change > 1e-12 or change < -1e-12:
            x, former = 0.5 * (x + a / x), x
            change = (x - former) / x
        return x

    points = 4.0 ** np.arange(1, BRANCHES + 1) * 1.5
    return _branching("Newton's iteration", root, points, 0.5 / np.sqrt(points))


def adaptive_step() -> Contest:
    """The equation y' = -a y, with steps halved or doubled by an estimate of the error."""

    def solved(a: Any, size: Callable[[Any], Any] = abs) -> Any:
        t, h, y = 0.0, 0.25, 1.0
        while t < 1.0:
            h = min(h, 1.0 - t)
            slope = -a * y
            error = size(0.5 * h * (-a * (y + h * slope) - slope))
            if error < 2e-3:
                t = t + h
                y = y + 0.5 * h * (slope - a * (y + h * slope))
            h = 0.5 * h if error > 1e-3 else 2.0 * h
        return y

    points = np.geomspace(0.05, 40.0, BRANCHES)
    tiny = 1e-30
    expected = [
        solved(complex(a, tiny), lambda error: abs(error.real)).imag / tiny for a in points
    ]
    return _branching("an adaptive step", solved, points, expected)


def _branching(work: str, f: Callable[[Any], Any], points: Any, expected: Any) -> Contest:
    """Derivatives at points one after the other, each of which chooses another way."""

    def of_each(derivative: Callable[[Any], Any]) -> list[Any]:
        return [derivative(a) for a in at]

    at = points.tolist()
    ways = {
        EAGER: cadiff.grad(f),
        FEW: cadiff.compile(f).grad,
        MANY: cadiff.compile(f, max_traces=BRANCHES).grad,
    }
    for _ in range(3):
        of_each(ways[MANY])
    return Contest(
        f"{work}, {len(at)} branches",
        {name: Runner(partial(of_each, way), expected) for name, way in ways.items()},
    )


def calls_until_served(n: int) -> float:
    """How many calls at one point it takes to be served by a recording again.

    Before them come many others, which all choose otherwise.
    """
    random = np.random.default_rng(0)
    program = cadiff.compile(problems.hinges)

    def call(x: Any) -> dict[str, Any]:
        gradient = program.grad(x)
        compare("a gradient after strays", gradient, np.where(x > 0.0, 2.0 * x, -1.0))
        stats = program.stats()
        return {name: stats[name] for name in ("eager", "recordings")}

    for x in random.normal(size=(STRAYS, n)):
        program.grad(x)
    x = random.normal(size=n)
    before = call(x)
    for k in range(1, MOST_CALLS):
        now = call(x)
        if now == before:
            return float(k)
        before = now
    return float(MOST_CALLS)


# Matrices


def tridiagonal(n: int) -> Contest:
    """The dense Jacobian of Broyden's function, a loop, by a program that is made for it."""
    x = np.linspace(-1.0, 1.0, n)
    expected = broyden_jacobian(x)
    return Contest(
        f"Broyden n={n}, a loop",
        {
            EAGER: Runner(partial(cadiff.jacobian(broyden), x), expected),
            FIRST: Runner(lambda: cadiff.compile(broyden).jacobian(x), expected),
        },
    )


# Within other derivatives


def within(n: int) -> Contest:
    """Value and gradient of a program by the gradient function of something around it."""
    contest = contests.rosenbrock(n)
    program = cadiff.compile(problems.rosenbrock)
    at = np.array(problems.rosenbrock_point(n))
    expected = contest.runners[ARRAY].expected

    def around(f: Callable[[Any], Any]) -> Callable[[], Any]:
        value_and_grad = cadiff.value_and_grad(lambda x: 1.0 * f(x))
        return partial(value_and_grad, at)

    return Contest(
        f"Rosenbrock n={n} within a gradient",
        {
            EAGER: Runner(around(problems.rosenbrock), expected),
            COMPILED: Runner(around(program), expected),
        },
    )


# What a call costs


def smallest() -> Contest:
    """What a call of a program costs beside its work."""
    program = cadiff.compile(_twice)
    return Contest(
        "lambda x: 2 x",
        {
            COMPILED: Runner(partial(program, 2.5), 5.0),
            GRADIENT: Runner(partial(program.value_and_grad, 2.5), (5.0, 2.0)),
        },
    )


def at_a_point() -> Contest:
    """What derivatives of a function of two operations cost, eagerly."""

    def cube(x: Any) -> Any:
        return x * x * x

    _, pullback = cadiff.vjp(cube, 2.0)
    _, linear = cadiff.linearize(cube, 2.0)
    calls: dict[str, tuple[Callable[[], Any], Any]] = {
        "grad": (partial(cadiff.grad(cube), 2.0), 12.0),
        "derivative": (partial(cadiff.derivative, cube, 2.0), 12.0),
        "jvp": (partial(cadiff.jvp, cube, (2.0,), (1.0,)), (8.0, 12.0)),
        "vjp": (lambda: cadiff.vjp(cube, 2.0)[0], 8.0),
        "pull": (partial(pullback, 1.0), 12.0),
        "linearize": (lambda: cadiff.linearize(cube, 2.0)[0], 8.0),
        "push": (partial(linear, 1.0), 12.0),
        "grad of grad": (partial(cadiff.grad(cadiff.grad(cube)), 2.0), 12.0),
    }
    return Contest("x * x * x", {name: Runner(*way) for name, way in calls.items()})


def _twice(x: Any) -> Any:
    return 2.0 * x


def watched(names: int) -> Contest:
    """A program that reads so many globals, beside one that reads none."""
    rates = [f"rate_{k}" for k in range(names)]
    reading: dict[str, Any] = {}
    exec("\n".join(f"{rate} = 0.5" for rate in rates), reading)  # names as modules have them
    exec(f"def scaled(x):\n    return x * ({' + '.join(rates)})", reading)
    return Contest(
        f"{names} globals",
        {
            COMPILED: Runner(partial(cadiff.compile(_twice), 2.5), 5.0),
            WATCHED: Runner(partial(cadiff.compile(reading["scaled"]), 2.5), 1.25 * names),
        },
    )


def _contests() -> Iterator[tuple[Callable[[], Contest], tuple[str, ...]]]:
    """All of them, and the ways of each that the tests under pytest-benchmark time."""
    yield from zip(
        (
            partial(mini_batches, 32, 100),
            partial(mini_batches, 1000, 20),
            partial(fresh, "slices"),
            partial(fresh, "sets"),
            partial(fresh, "lambdas"),
            partial(within, 1000),
            *[partial(others, what) for what in OTHERS],
        ),
        repeat((EAGER, COMPILED)),
        strict=False,
    )
    yield newton, (EAGER, FEW, MANY)
    yield adaptive_step, (EAGER, FEW, MANY)
    yield partial(lists, 1000), (LIST,)
    yield partial(tridiagonal, 1000), (EAGER, FIRST)
    yield smallest, (COMPILED, GRADIENT)
    yield at_a_point, AT_A_POINT
    yield partial(watched, 20), (WATCHED,)


CONTESTS = tuple(_contests())
