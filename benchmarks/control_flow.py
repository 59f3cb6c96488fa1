"""``python -m benchmarks.control_flow``: loops whose number of turns differs from call to call.

Kepler's equation by Newton's method until it has converged, a fixed point, and two populations
by Bogacki and Shampine's method with steps that the error chooses. Each is called at 64 points in
turn, for its value and its gradient: in Python on floats (with the gradient by hand, or by
differences), as an eager gradient, as a program of the plain loop, with eight recordings, of which
the last one may be of all numbers of turns, or one for each number of turns, as a program with
`while_loop`, and by JAX, where that is installed; it has no reverse mode there, so
its gradient is forward. Results are compared before they are timed; printed are the least
microseconds of a call in interleaved rounds. Then 1,000 points at once, by `vmap`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

import cadiff
from benchmarks.machine import machine
from benchmarks.timing import interleave

__all__ = ["PROBLEMS", "main", "measured"]

Function = Callable[[Any], Any]
POINTS = 64
ROWS = 1000


class Problem(NamedTuple):
    """A function of one number, as a plain loop, and as `while_loop` of a library has it."""

    plain: Callable[[Any, Any], Any]  # given the number, and the module of its functions
    kept: Callable[[Any, Any, Any], Any]  # and the loop
    by_hand: Callable[[float], tuple[float, float]]
    points: list[float]


# --- Kepler's equation ---------------------------------------------------------------------------


def newton(e: Any, state: Any, m: Any) -> Any:
    E, _ = state
    step = (E - e * m.sin(E) - 0.5) / (1.0 - e * m.cos(E))
    return E - step, step


def kepler(e: Any, m: Any) -> Any:
    state: Any = (0.5, 1.0)
    while abs(state[1]) > 1e-13:
        state = newton(e, state, m)
    return state[0]


def kept_kepler(e: Any, m: Any, while_loop: Any) -> Any:
    return while_loop(lambda s: abs(s[1]) > 1e-13, lambda s: newton(e, s, m), (0.5, 1.0))[0]


def kepler_by_hand(e: float) -> tuple[float, float]:
    E = kepler(e, math)
    return E, math.sin(E) / (1.0 - e * math.cos(E))


# --- a fixed point, in 6 to 69 turns -------------------------------------------------------------


def fixed_point(x: Any, m: Any) -> Any:
    y, step = 1.0, 1.0
    while abs(step) >= 1e-10:
        y, step = cos_step(x, (y, step), m)
    return y


def cos_step(x: Any, state: Any, m: Any) -> Any:
    y = m.cos(state[0]) * x
    return y, y - state[0]


def kept_fixed_point(x: Any, m: Any, while_loop: Any) -> Any:
    far = lambda s: abs(s[1]) >= 1e-10  # noqa: E731
    return while_loop(far, lambda s: cos_step(x, s, m), (1.0, 1.0))[0]


def fixed_point_by_hand(x: float) -> tuple[float, float]:
    y = fixed_point(x, math)
    return y, math.cos(y) / (1.0 + x * math.sin(y))


# --- steps that the error chooses ----------------------------------------------------------------


def slope(y: Any, a: Any) -> Any:
    return (y[0] * (a - y[1]), y[1] * (y[0] - 1.0))


def step(a: Any, state: Any) -> Any:
    """One of Bogacki and Shampine's steps of two populations, taken if its error is small."""
    t, h, u, v = state
    p1, q1 = slope((u, v), a)
    p2, q2 = slope((u + 0.5 * h * p1, v + 0.5 * h * q1), a)
    p3, q3 = slope((u + 0.75 * h * p2, v + 0.75 * h * q2), a)
    new_u = u + h * (2.0 * p1 + 3.0 * p2 + 4.0 * p3) / 9.0
    new_v = v + h * (2.0 * q1 + 3.0 * q2 + 4.0 * q3) / 9.0
    p4, q4 = slope((new_u, new_v), a)
    x = h * (5.0 * p1 - 6.0 * p2 - 8.0 * p3 + 9.0 * p4) / 72.0
    y = h * (5.0 * q1 - 6.0 * q2 - 8.0 * q3 + 9.0 * q4) / 72.0
    error = (x * x + y * y) ** 0.5 / 1e-6 + 1e-8
    factor = 0.9 * error ** (-1.0 / 3.0)
    return error, (t + h, h * factor, new_u, new_v), (t, h * factor, u, v)


def chosen(a: Any, state: Any) -> Any:
    error, taken, again = step(a, state)
    t, h, u, v = taken if error <= 1.0 else again
    return t, h if t + h < 5.0 else 5.0 - t, u, v


def populations(a: Any, m: Any) -> Any:
    state: Any = (0.0, 0.01, 1.5, 1.0)
    while state[0] < 5.0 - 1e-9:
        state = chosen(a, state)
    return state[2]


def kept_populations(a: Any, m: Any, while_loop: Any) -> Any:
    first = (0.0, 0.01, 1.5, 1.0)
    return while_loop(lambda s: s[0] < 5.0 - 1e-9, lambda s: chosen(a, s), first)[2]


def jax_populations(a: Any, m: Any, while_loop: Any) -> Any:
    def turn(state: Any) -> Any:
        error, taken, again = step(a, state)
        t, h, u, v = (m.where(error <= 1.0, x, y) for x, y in zip(taken, again, strict=True))
        return t, m.where(t + h < 5.0, h, 5.0 - t), u, v

    return while_loop(lambda s: s[0] < 5.0 - 1e-9, turn, (0.0, 0.01, 1.5, 1.0))[2]


def populations_by_hand(a: float) -> tuple[float, float]:
    """Value and derivative by differences, which are less by hand than the variation of a step."""
    h = 1e-6
    return populations(a, math), (populations(a + h, math) - populations(a - h, math)) / (2 * h)


def _points(low: float, high: float) -> list[float]:
    points: list[float] = np.random.default_rng(1).uniform(low, high, POINTS).tolist()
    return points


PROBLEMS = {
    "kepler": Problem(kepler, kept_kepler, kepler_by_hand, _points(0.0, 0.99)),
    "fixed point": Problem(
        fixed_point, kept_fixed_point, fixed_point_by_hand, _points(0.05, 1.15)
    ),
    "populations": Problem(populations, kept_populations, populations_by_hand, _points(0.5, 3.0)),
}


# --- measuring -----------------------------------------------------------------------------------


def _of_jax(name: str, problem: Problem) -> tuple[Any, Function, Function]:
    """JAX, the function, and its value and derivative, forward."""
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    jax.config.update("jax_enable_x64", True)
    loop = jax_populations if name == "populations" else problem.kept
    f = lambda x: loop(x, jnp, jax.lax.while_loop)  # noqa: E731
    return jax, f, lambda x: jax.jvp(f, (x,), (1.0,))


def by_jax(name: str, problem: Problem) -> tuple[Function, Function]:
    jax, f, both = _of_jax(name, problem)
    value, forward = jax.jit(f), jax.jit(both)
    return (lambda x: float(value(x))), lambda x: tuple(map(float, forward(x)))


def rows_by_jax(name: str, problem: Problem) -> tuple[Function, Function]:
    jax, *functions = _of_jax(name, problem)
    value, both = (jax.jit(jax.vmap(f)) for f in functions)
    return (lambda x: np.asarray(value(x))), lambda x: tuple(map(np.asarray, both(x)))


def ways_of(name: str, problem: Problem) -> dict[str, tuple[Function, Function]]:
    """Value, and value and gradient, by each way."""
    plain = lambda x: problem.plain(x, cadiff)  # noqa: E731
    kept = lambda x: problem.kept(x, cadiff, cadiff.while_loop)  # noqa: E731
    few, loop = cadiff.compile(plain), cadiff.compile(plain, max_traces=POINTS)
    whole = cadiff.compile(kept, native=False)
    ways: dict[str, tuple[Function, Function]] = {
        "Python": (lambda x: problem.plain(x, math), problem.by_hand),
        "eager": (plain, cadiff.value_and_grad(plain)),
        "program, 8 recordings": (few, few.value_and_grad),
        "program, one for each": (loop, loop.value_and_grad),
        "while_loop": (whole, whole.value_and_grad),
    }
    if find_spec("jax") is not None:
        ways["JAX"] = by_jax(name, problem)
    return ways


def _in_turn(f: Function, points: list[float]) -> Callable[[], Any]:
    endless = cycle(points)
    return lambda: f(next(endless))


def measured(name: str, rounds: int = 9) -> dict[str, tuple[float, float]]:
    """Microseconds of a value, and of value and gradient, by each way, at one point after another.

    Raises
    ------
    AssertionError
        If ways differ.
    """
    problem = PROBLEMS[name]
    found = {}
    ways = ways_of(name, problem)
    for value, both in ways.values():
        for x in 2 * problem.points:
            expected, slope = problem.by_hand(x)
            np.testing.assert_allclose(value(x), expected, rtol=1e-9)
            np.testing.assert_allclose(both(x), (expected, slope), rtol=1e-4)
    for k in range(2):
        calls = {way: _in_turn(pair[k], problem.points) for way, pair in ways.items()}
        timings = interleave(calls, rounds=rounds).least()
        found[k] = {way: 1e6 * timings.seconds(way).low for way in ways}
    return {way: (found[0][way], found[1][way]) for way in ways}


def measured_rows(name: str, rounds: int = 9) -> dict[str, tuple[float, float]]:
    """The same of many points at once, by `vmap` of `while_loop`, here and in JAX."""
    problem = PROBLEMS[name]
    points = np.resize(problem.points, ROWS)
    f = lambda x: problem.kept(x, cadiff, cadiff.while_loop)  # noqa: E731
    ways: dict[str, tuple[Function, Function]] = {
        "while_loop": (cadiff.vmap(f), cadiff.vmap(cadiff.value_and_grad(f)))
    }
    if find_spec("jax") is not None:
        ways["JAX"] = rows_by_jax(name, problem)
    expected = np.array([problem.by_hand(x) for x in problem.points])
    for value, both in ways.values():
        for _ in range(2):
            found = np.array([value(points), *both(points)])[:, :POINTS]
            np.testing.assert_allclose(found[0], expected[:, 0], rtol=1e-9)
            np.testing.assert_allclose(found[1:].T, expected, rtol=1e-4)
    timed = [
        interleave({way: partial(pair[k], points) for way, pair in ways.items()}, rounds=rounds)
        for k in range(2)
    ]
    least = [{way: 1e6 * t.least().seconds(way).low for way in ways} for t in timed]
    return {way: (least[0][way], least[1][way]) for way in ways}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args(argv).rounds
    print(machine())
    for name in PROBLEMS:
        print(f"{name}, µs{'':21}value   value and gradient")
        for way, (value, both) in measured(name, rounds).items():
            print(f"  {way:24}{value:9.1f}{both:16.1f}")
        print(f"{name}, {ROWS} rows, µs")
        for way, (value, both) in measured_rows(name, rounds).items():
            print(f"  {way:24}{value:9.1f}{both:16.1f}")


if __name__ == "__main__":
    main()
