"""``python -m benchmarks.loops``: what value and gradient of long Python loops cost.

A loop of numbers in Python, its gradient by hand in C, programs as they are interpreted and as
machine code, and other packages where they are installed: CasADi of the loop as it stands, JAX by
its scans or rewritten in arrays, numba of a gradient by hand. Results are checked before they are
timed, against formulas, complex steps and NumPy. What counts is the least time in interleaved
rounds.

    python -m benchmarks.loops --only volatility
    python -m benchmarks.loops --lengths lengths.svg    the cost of a step, against their number
"""

from __future__ import annotations

import argparse
import cmath
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cadiff
import cadiff.math
import cadiff.numpy as cnp
from benchmarks import by_hand, libraries, model_problems, problems, side_by_side
from benchmarks import loop_problems as loops
from benchmarks import sequence_problems as sequences
from benchmarks.by_hand import Evaluation
from benchmarks.contests import Contest, Runner, UnavailableError, WrongNumbersError, compare
from benchmarks.machine import machine
from benchmarks.peers import in_arrays
from benchmarks.sequence_problems import FloatArray, one_by_one
from benchmarks.side_by_side import recorded
from benchmarks.timing import interleave
from cadiff import binding

__all__ = ["CONTESTS", "IN_C", "LENGTHS", "NATIVE", "PROBLEMS", "lengths", "main"]

FLOATS = "Python"
HAND = "NumPy by hand"
IN_C = "C by hand"
UNROLLED = "unrolled"
INTERPRETED = "interpreted"
NATIVE = "machine code"
CASADI = "CasADi"
JAX = "JAX"
NUMBA = "numba by hand"
WAYS = (FLOATS, HAND, IN_C, UNROLLED, INTERPRETED, NATIVE, CASADI, JAX, NUMBA)
OURS = (INTERPRETED, NATIVE)
PACKAGES = {CASADI: "casadi", JAX: "jax", NUMBA: "numba"}
FEW_ROUNDS, ROUNDS = 5, 15
LONG = 0.05
LENGTHS = tuple(10**k for k in range(2, 7))
MOST_COMPLEX_STEPS = 20_000  # of twelve parameters: above, the gradient by hand takes their place
BYTES = 60  # a number that is recorded: of the tape, and of the graph that it is read into
NUMBERS = {"populations": 130, "volatility": 9}  # of a turn

Gradient = tuple[Any, Any]


# --- ways ----------------------------------------------------------------------------------------


@contextmanager
def unrolled() -> Iterator[None]:
    """Have programs keep no loops."""
    binding.set_least_loop(binding.NO_LOOPS)
    try:
        yield
    finally:
        binding.set_least_loop()


def own_ways(
    f: Callable[..., Any], *at: Any, ways: Sequence[str] = WAYS
) -> dict[str, Callable[[], Any]]:
    """Value and gradient by programs; machine code only where there is a compiler."""
    calls = {INTERPRETED: recorded(cadiff.compile(f, native=False).value_and_grad, *at)}
    if UNROLLED in ways:
        with unrolled():
            calls[UNROLLED] = recorded(cadiff.compile(f, native=False).value_and_grad, *at)
    try:
        calls[NATIVE] = recorded(cadiff.build(cadiff.compile(f)).value_and_grad, *at)
    except RuntimeError as error:
        print(f"{NATIVE} is skipped: {error}")
    return calls


def by_casadi(f: Callable[..., Any], at: FloatArray) -> Callable[[], Any]:
    """The loop as it stands, of scalar symbols."""
    casadi = import_module("casadi")
    symbols = casadi.SX.sym("x", len(at))
    value = f(casadi, casadi.vertsplit(symbols))
    function = casadi.Function("f", [symbols], [value, casadi.gradient(value, symbols)])

    def call() -> Any:
        value, gradient = function(at)
        return float(value), np.ravel(gradient.full())

    return call


class Jax(libraries.Jax):
    """JAX, whose scans take lists of numbers and ranges, too."""

    def loop(self, step: Any, state: Any, rows: Any) -> Any:
        rows = np.array(rows) if isinstance(rows, range) else rows
        return super().loop(step, state, self.np.asarray(rows))


def by_numba(f: Callable[..., Any], *at: Any) -> Callable[[], Any]:
    """A gradient by hand."""
    return partial(import_module("numba").njit(f), *at)


def contest(
    work: str,
    f: Callable[..., Any],
    at: FloatArray,
    *,
    expected: Gradient | None = None,
    in_c: Callable[[], Evaluation] | None = None,
    jax: Callable[[Jax, Any], Any] | None = None,
    numba: Callable[[], Callable[[], Any]] | None = None,
    ways: Sequence[str] = WAYS,
) -> Contest:
    """Value and gradient of a loop over numbers.

    Parameters
    ----------
    work : str
        What it is.
    f : callable
        Of what has `exp` and `log`, and the numbers to differentiate by.
    at : ndarray of shape (n,)
        The point.
    expected : tuple, optional
        Value and gradient; complex steps give them if they are not given.
    in_c, numba : callable, optional
        Make the gradient by hand.
    jax : callable, optional
        Of JAX and the point: the function as one writes it for JAX.
    ways : sequence of str
        Who takes part.
    """
    numbers = at.tolist()
    if expected is None:
        slopes = problems.complex_step(lambda *p: f(cmath, p), numbers)
        expected = f(math, numbers), slopes
    runners = {FLOATS: Runner(partial(f, math, numbers), expected[0])}
    try:
        if in_c is not None and IN_C in ways:
            evaluation = in_c()
            evaluation.call()
            compare(f"{work}: gradient of {IN_C}", evaluation.gradient, expected[1])
            runners[IN_C] = Runner(evaluation.call, expected[0])
    except UnavailableError as error:
        print(f"{IN_C} is skipped: {error}")
    calls = own_ways(partial(f, cadiff.math), at, ways=ways)
    if CASADI in ways and find_spec("casadi"):
        calls[CASADI] = by_casadi(f, at)
    if jax is not None and JAX in ways and find_spec("jax"):
        calls[JAX] = Jax().gradient(partial(jax, Jax()), at)
    if numba is not None and NUMBA in ways and find_spec("numba"):
        calls[NUMBA] = numba()
    runners |= {name: Runner(call, expected) for name, call in calls.items()}
    return Contest(work, runners)


# --- problems ------------------------------------------------------------------------------------


def populations(steps: int, ways: Sequence[str] = WAYS) -> Contest:
    """A food chain by Runge and Kutta: 4 states, 8 parameters and 4 starts."""
    at = np.array(loops.POPULATIONS)

    def numba() -> Callable[[], Any]:
        return partial(loops.populations_gradient(import_module("numba").njit), at, steps)

    return contest(
        f"RK4, 4 states, {steps:,} steps",
        lambda m, p: loops.populations(p, steps),
        at,
        expected=loops.populations_gradient()(at, steps) if steps > MOST_COMPLEX_STEPS else None,
        in_c=lambda: by_hand.populations(steps, at.tolist()),
        jax=lambda jax, p: loops.populations(p, steps, jax.loop),
        numba=numba,
        ways=ways,
    )


def populations_in_arrays(steps: int) -> Contest:
    """The same, where the state is an array of four numbers."""
    at = np.array(loops.POPULATIONS)
    expected = loops.populations_gradient()(at, steps)

    def f(np: Any, p: Any, loop: Any = one_by_one) -> Any:
        return loops.populations_in_arrays(np, p, steps, loop)

    calls = own_ways(partial(f, cnp), at)
    if find_spec("jax"):
        jax = Jax()
        calls[JAX] = jax.gradient(lambda p: f(jax.np, p, jax.loop), at)
    runners = {FLOATS: Runner(partial(f, np, at), expected[0])}
    runners |= {name: Runner(call, expected) for name, call in calls.items()}
    return Contest(f"RK4, an array of 4, {steps:,} steps", runners)


def volatility(count: int, ways: Sequence[str] = WAYS) -> Contest:
    """The likelihood of GARCH(1,1)."""
    at, data = np.array(loops.VOLATILITY), loops.returns(count)
    return contest(
        f"GARCH(1,1), {count:,} steps",
        lambda m, p: loops.volatility(m, data, p),
        at,
        in_c=lambda: by_hand.volatility(data, at.tolist()),
        jax=lambda jax, p: loops.volatility(jax.np, data, p, jax.loop),
        numba=lambda: by_numba(loops.volatility_gradient, at, np.array(data)),
        ways=ways,
    )


def at_points(
    work: str,
    f: Callable[..., Any],
    at: FloatArray,
    n: int,
    jax: Callable[[Jax, Any], Any],
) -> Contest:
    """A loop over numbers at n points at once; results for the last one are checked."""
    points = np.outer(np.linspace(0.9, 1.0, n), at)
    value = f(math, at.tolist())
    expected = value, problems.complex_step(lambda *p: f(cmath, p), at.tolist())

    def last(call: Callable[[], Any]) -> Gradient:
        values, gradients = call()
        return float(values[-1]), np.asarray(gradients[-1])

    runners = {FLOATS: Runner(lambda: [f(math, p) for p in points.tolist()][-1], value)}
    for way in OURS:
        program = cadiff.compile(partial(f, cadiff.math), native=way == NATIVE)
        batch = partial(program.batch, points, what="value_and_grad", threads=1)
        runners[way] = Runner(partial(last, batch), expected)
    if find_spec("jax"):
        own = Jax()
        slopes = own.jax.jit(own.jax.vmap(own.jax.value_and_grad(partial(jax, own))))
        there = own.jax.device_put(points)
        runners[JAX] = Runner(partial(last, partial(slopes, there)), expected)
    return Contest(f"{work}, {n} points", runners)


def populations_at_points(steps: int, n: int) -> Contest:
    return at_points(
        f"RK4, 4 states, {steps:,} steps",
        lambda m, p: loops.populations(p, steps),
        np.array(loops.POPULATIONS),
        n,
        lambda jax, p: loops.populations(p, steps, jax.loop),
    )


def volatility_at_points(count: int, n: int) -> Contest:
    data = loops.returns(count)
    return at_points(
        f"GARCH(1,1), {count:,} steps",
        lambda m, p: loops.volatility(m, data, p),
        np.array(loops.VOLATILITY),
        n,
        lambda jax, p: loops.volatility(jax.np, data, p, jax.loop),
    )


def split(like: Sequence[FloatArray], p: Any) -> list[Any]:
    """Arrays of some shapes from all their numbers."""
    ends = np.cumsum([array.size for array in like])
    return [
        p[end - array.size : end].reshape(array.shape)
        for end, array in zip(ends.tolist(), like, strict=True)
    ]


def filtered(steps: int) -> Contest:
    """A Kalman filter, its matrices of 2 × 2 written out."""
    data = sequences.tracking_data(steps)
    value, gradient = sequences.tracking_gradient(data, data.parameters)

    def jax(jax: Jax, p: Any) -> Any:
        parts, linalg = split(data.parameters, p), sequences.WrittenOut(jax.np)
        return sequences.likelihood(jax.np, data, parts, jax.loop, linalg)

    return contest(
        f"Kalman filter, 2 x 2 written out, {steps} steps",
        lambda m, p: loops.filtered(m, data, p),
        loops.flat(data.parameters),
        expected=(value, loops.flat(gradient)),
        jax=jax,
    )


def visited(states: int, steps: int) -> Contest:
    """A hidden Markov model."""
    data = sequences.chain_data(states, steps)
    value, gradient = sequences.chain_gradient(data, data.parameters)

    def jax(jax: Jax, p: Any) -> Any:
        return sequences.evidence(jax.summed, data, split(data.parameters, p), jax.loop)

    return contest(
        f"hidden Markov model, {states} states x {steps}",
        lambda m, p: loops.visited(m, data, p),
        loops.flat(data.parameters),
        expected=(value, loops.flat(gradient)),
        jax=jax,
    )


def mixture(dimensions: int, parts: int, points: int) -> Contest:
    """A mixture of Gaussians."""
    data = model_problems.mixture_data(dimensions, parts, points)
    value, gradient = model_problems.mixture_gradient(data, data.parameters)

    def jax(jax: Jax, p: Any) -> Any:
        return model_problems.density(jax.np, jax.summed, data, split(data.parameters, p))

    return contest(
        f"Gaussian mixture, d {dimensions}, k {parts}, n {points}",
        lambda m, p: loops.mixture_of_parts(m, data, p),
        loops.flat(data.parameters),
        expected=(value, loops.flat(gradient)),
        jax=jax,
    )


def rosenbrock(n: int) -> Contest:
    """Rosenbrock's function."""
    at = np.array(problems.rosenbrock_point(n))
    return contest(
        f"Rosenbrock, n={n:,}",
        lambda m, x: problems.rosenbrock(x),
        at,
        expected=(problems.rosenbrock(at.tolist()), problems.rosenbrock_gradient(at)),
        in_c=lambda: by_hand.rosenbrock(at.tolist()),
        jax=lambda jax, x: in_arrays(x),
    )


def written_in_arrays(
    others: Callable[..., Contest], f: Callable[[Any], Any], at: Sequence[FloatArray]
) -> Contest:
    """What others take for a problem in arrays, and cadiff's programs."""
    peers = {"jax": Jax()} if find_spec("jax") else {}
    contest = others(peers=peers)
    expected = contest.runners[side_by_side.HAND].expected
    names = {side_by_side.PLAIN: FLOATS, side_by_side.HAND: HAND, "jax": JAX}
    runners = {new: contest.runners[old] for old, new in names.items() if old in contest.runners}
    calls = own_ways(f, at)
    return Contest(contest.work, runners | {k: Runner(v, expected) for k, v in calls.items()})


def bodies(count: int, steps: int) -> Contest:
    """Bodies that attract each other."""
    data = sequences.bodies_data(count, steps)
    f = partial(sequences.energy, cnp, data)
    return written_in_arrays(partial(side_by_side.bodies, count, steps), f, data.parameters)


def solved(steps: int) -> Contest:
    """The Kalman filter by `solve` and `slogdet`, which turns call."""
    data = sequences.tracking_data(steps)
    f = partial(sequences.likelihood, cnp, data)
    return written_in_arrays(partial(side_by_side.kalman, steps), f, data.parameters)


def spread(size: int, steps: int) -> Contest:
    """Fisher's equation on a grid, cell by cell."""
    return contest(
        f"Fisher's equation, {size} x {size} cells, {steps} steps",
        lambda m, p: loops.spread(p, size, steps),
        np.array(loops.SPREAD),
        jax=lambda jax, p: loops.spread_in_arrays(jax.np, p, size, steps, jax.loop),
    )


def relaxed(cells: int, sweeps: int, steps: int) -> Contest:
    """Heat in a rod by implicit steps: loops three deep, all of which wait."""
    return contest(
        f"heat by Gauss and Seidel, {steps} steps x {sweeps} x {cells} cells",
        lambda m, p: loops.relaxed(p, cells, sweeps, steps),
        np.array(loops.RELAXED),
        jax=lambda jax, p: loops.relaxed_by_scans(
            jax.np, jax.jax.lax.scan, p, cells, sweeps, steps
        ),
    )


def asian(count: int, paths: int, days: int) -> Contest:
    """Prices of Asian options by `vmap`, and their slopes by all five terms of each."""
    data = loops.trades(count, paths, days)
    expected = loops.asian_prices_gradient(data)
    terms = (1, 2, 3, 4, 5)

    def price(np: Any, loop: Any, shocks: Any, *terms: Any) -> Any:
        payoff = loops.asian_payoff(np, loop, shocks, *terms)
        return np.exp(-terms[2] * terms[4]) * np.mean(payoff)

    def plain() -> Any:
        columns = [column[:, None] for column in data.columns]
        payoff = loops.asian_payoff(np, one_by_one, data.shocks, *columns)
        return np.exp(-data.columns[2] * data.columns[4]) * np.mean(payoff, axis=1)

    def ways(native: bool) -> Callable[[], Any]:
        one = cadiff.compile(partial(price, cnp, one_by_one), native=native)
        of_each = cadiff.value_and_grad(one, argnums=terms)
        return partial(cadiff.vmap(of_each, (None, 0, 0, 0, 0, 0)), data.shocks, *data.columns)

    runners = {
        FLOATS: Runner(plain, expected[0]),
        HAND: Runner(partial(loops.asian_prices_gradient, data), expected),
        INTERPRETED: Runner(ways(False), expected),
        NATIVE: Runner(ways(True), expected),
    }
    if find_spec("jax"):
        jax = Jax()
        slopes = jax.jax.value_and_grad(partial(price, jax.np, jax.loop), terms)
        of_each = jax.jax.jit(jax.jax.vmap(slopes, (None, 0, 0, 0, 0, 0)))
        there = jax.jax.device_put((data.shocks, *data.columns))
        runners[JAX] = Runner(lambda: jax.jax.tree.map(np.asarray, of_each(*there)), expected)
    return Contest(f"Asian options, {count} x {paths:,} x {days}, vmap", runners)


class Problem(NamedTuple):
    """A row of the table: the name that `--only` looks for, and what makes it."""

    name: str
    make: Callable[[], Contest]


PROBLEMS = (
    Problem("populations-1000", partial(populations, 1000)),
    Problem("populations-10000", partial(populations, 10_000)),
    Problem("populations-arrays", partial(populations_in_arrays, 1000)),
    Problem("volatility-2000", partial(volatility, 2000)),
    Problem("volatility-200000", partial(volatility, 200_000)),
    Problem("mixture", partial(mixture, 10, 5, 100)),
    Problem("kalman", partial(filtered, 500)),
    Problem("kalman-solved", partial(solved, 500)),
    Problem("kalman-solved-5000", partial(solved, 5000)),
    Problem("rosenbrock", partial(rosenbrock, 100_000)),
    Problem("markov", partial(visited, 10, 500)),
    Problem("bodies", partial(bodies, 20, 100)),
    Problem("grid", partial(spread, 64, 50)),
    Problem("sweeps", partial(relaxed, 200, 20, 50)),
    Problem("populations-points", partial(populations_at_points, 1000, 256)),
    Problem("volatility-points", partial(volatility_at_points, 2000, 256)),
    Problem("asian", partial(asian, 100, 1000, 252)),
)

# Small ones, which the tests under pytest-benchmark run.
CONTESTS: tuple[tuple[Callable[[], Contest], tuple[str, ...]], ...] = (
    (partial(populations, 120), (FLOATS, IN_C, *OURS)),
    (partial(populations_in_arrays, 120), (FLOATS, *OURS)),
    (partial(volatility, 1500), (FLOATS, IN_C, *OURS)),
    (partial(mixture, 4, 3, 80), (FLOATS, *OURS)),
    (partial(filtered, 150), (FLOATS, *OURS)),
    (partial(solved, 150), (FLOATS, HAND, *OURS)),
    (partial(rosenbrock, 2000), (FLOATS, IN_C, *OURS)),
    (partial(visited, 4, 300), (FLOATS, *OURS)),
    (partial(bodies, 3, 20), (FLOATS, HAND, *OURS)),
    (partial(spread, 16, 30), (FLOATS, *OURS)),
    (partial(relaxed, 20, 16, 40), (FLOATS, *OURS)),
    (partial(populations_at_points, 120, 40), (FLOATS, *OURS)),
    (partial(volatility_at_points, 1500, 40), (FLOATS, *OURS)),
    (partial(asian, 3, 20, 60), (FLOATS, HAND, *OURS)),
)


# --- the command ---------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Check, measure and print.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments of the command; those of the process if not given.

    Returns
    -------
    int
        0, or 1 if a value or gradient is wrong.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.loops",
        description="Value and gradient of long Python loops, in microseconds.",
    )
    names = ", ".join(problem.name for problem in PROBLEMS)
    parser.add_argument("--only", metavar="PATTERN", default="", help=f"of {names}")
    parser.add_argument("--quick", action="store_true", help="measure little: a smoke test")
    parser.add_argument(
        "--lengths",
        metavar="FILE",
        nargs="?",
        const="",
        help="the cost of a step against their number instead, drawn if there is a file",
    )
    options = parser.parse_args(argv)
    rounds = 1 if options.quick else ROUNDS
    print(f"{machine()}.")
    for way, package in PACKAGES.items():
        if find_spec(package) is None:
            print(f"{way} is skipped: {package} is not installed.")
    print()
    try:
        if options.lengths is None:
            table(options.only, rounds)
        else:
            costs = lengths(LENGTHS[:2] if options.quick else LENGTHS, rounds)
            if options.lengths:
                draw(costs, Path(options.lengths))
    except WrongNumbersError as error:
        print(f"\nWrong numbers, so nothing more is timed: {error}", file=sys.stderr)
        return 1
    return 0


def table(only: str, rounds: int) -> None:
    """Print each row as soon as it is there."""
    show("microseconds", WAYS)
    show("-" * 12, ["-" * len(way) for way in WAYS])
    for problem in PROBLEMS:
        if re.search(only, problem.name):
            found = problem.make()
            seconds = measured(found, rounds)
            show(found.work, [microseconds(seconds.get(way)) for way in WAYS])


def microseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e6 * seconds:,.{1 if seconds < 1e-4 else 0}f}"


def show(first: str, cells: Sequence[str]) -> None:
    """Print a row in columns."""
    widths = [max(11, len(way)) for way in WAYS]
    columns = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    print("  ".join([first.ljust(46), *columns]), flush=True)


def measured(contest: Contest, rounds: int) -> Mapping[str, float]:
    """Check, and give the least seconds of each runner."""
    for name in contest.runners:
        contest.check(name)
    calls = {name: runner.call for name, runner in contest.runners.items()}
    if rounds > 1:
        first = interleave(calls, rounds=1, seconds=0.0)
        if any(first.seconds(name).low > LONG for name in calls):
            rounds = FEW_ROUNDS
    timings = interleave(calls, rounds=rounds, seconds=0.02 if rounds > 1 else 0.0, shared=True)
    return {name: timings.seconds(name).low for name in calls}


# --- the cost of a step --------------------------------------------------------------------------

Costs = dict[tuple[str, str], dict[int, float]]


def memory() -> float:
    """Bytes that the machine has, if it tells; else a few."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return 4e9
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def lengths(steps: Sequence[int], rounds: int) -> Costs:
    """Nanoseconds a step by problem and way, which are printed as soon as they are there."""
    costs: Costs = {}
    for name, make in (("populations", populations), ("volatility", volatility)):
        for count in steps:
            needed = count * NUMBERS[name] * BYTES
            if needed > memory() / 2:
                print(f"{name}, {count:,} steps are skipped: they need {needed / 1e9:.0f} GB.")
                continue
            found = make(count, OURS)
            del found.runners[FLOATS]
            for way, seconds in measured(found, rounds).items():
                costs.setdefault((name, way), {})[count] = nanoseconds = 1e9 * seconds / count
                print(f"{found.work}, {way}: {nanoseconds:.1f} ns a step", flush=True)
    return costs


def draw(costs: Costs, file: Path) -> None:
    """Draw what was measured."""
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        print(f'Nothing is drawn: that needs {error.name}: pip install ".[examples]"')
        return
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    for (name, way), cost in costs.items():
        axes.plot(*zip(*cost.items(), strict=True), marker="o", label=f"{name}, {way}")
    axes.set(xscale="log", yscale="log", xlabel="steps", ylabel="nanoseconds a step")
    axes.set_title("Value and gradient of a Python loop, compiled")
    axes.grid(which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(file)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
