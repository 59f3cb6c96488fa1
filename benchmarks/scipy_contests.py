"""``python -m benchmarks.scipy_contests``: what derivatives through SciPy's functions cost.

Value and gradient of a sum of squares of what a function of SciPy's gives, eagerly and by a
program, beside SciPy's own value of it; times are the least of calls that take turns. Gradients
are compared with central differences before anything is timed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.signal
import scipy.sparse.linalg
import scipy.stats

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy.integrate
import cadiff.scipy.interpolate
import cadiff.scipy.ndimage
import cadiff.scipy.signal
import cadiff.scipy.sparse.linalg
import cadiff.scipy.stats
from benchmarks.contests import compare
from benchmarks.machine import machine
from benchmarks.timing import interleave

__all__ = ["PROBLEMS", "main"]


class Problem(NamedTuple):
    """A function of SciPy's, by its module and by the package's, and where to differentiate it."""

    work: str
    call: Callable[[Any, Any], Any]  # of SciPy, or what stands for it, and the point
    at: Any


def density_of(name: str, x: Any, others: tuple[float, ...]) -> Callable[[Any, Any], Any]:
    """The logarithm of a distribution's density, of its first shape."""
    return lambda s, p: getattr(s.stats, name).logpdf(x, p, *others)


def problems() -> Iterator[Problem]:
    rng = np.random.default_rng(0)
    signal = rng.standard_normal(10_000)
    b, a = scipy.signal.butter(4, 0.2)
    sections = scipy.signal.butter(4, 0.2, output="sos")
    yield Problem("lfilter, 10,000", lambda s, x: s.signal.lfilter(b, a, x), signal)
    yield Problem("sosfilt, 10,000", lambda s, x: s.signal.sosfilt(sections, x), signal)
    yield Problem("filtfilt, 10,000", lambda s, x: s.signal.filtfilt(b, a, x), signal)
    image = rng.standard_normal((200, 200))
    yield Problem(
        "gaussian_filter, 200 x 200", lambda s, x: s.ndimage.gaussian_filter(x, 2.0), image
    )
    t, points = np.linspace(0.0, 1.0, 200), rng.random(5000)
    yield Problem(
        "CubicSpline through 200 values at 5,000 points",
        lambda s, y: s.interpolate.CubicSpline(t, y)(points),
        np.sin(5.0 * t),
    )
    yield Problem(
        "BSpline at 5,000 points",
        lambda s, x: s.interpolate.BSpline(np.arange(20.0), np.sin(np.arange(16.0)), 3)(x),
        3.0 + 13.0 * points,
    )
    for name, shapes in DISTRIBUTIONS.items():
        x = getattr(scipy.stats, name).rvs(*shapes, size=1000, random_state=1)
        yield Problem(
            f"{name}.logpdf by its first shape, 1,000",
            density_of(name, x, shapes[1:]),
            shapes[0],
        )
    z = rng.standard_normal(20_000)
    yield Problem("t.logpdf by df, 20,000", lambda s, p: s.stats.t.logpdf(z, p), 5.0)
    yield Problem("solve_ivp, 4 states, 10 parameters", moves, np.linspace(0.2, 1.1, 10))
    yield Problem("spsolve, 100 x 100 grid", heat, np.linspace(1.0, 2.0, 100))


DISTRIBUTIONS: dict[str, tuple[float, ...]] = {
    "weibull_min": (1.7,),
    "genextreme": (0.3,),
    "skewnorm": (1.2,),
    "beta": (2.0, 3.0),
    "lognorm": (0.7,),
}


def moves(s: Any, p: Any) -> Any:
    """Two coupled oscillators with friction."""

    def change(t: float, y: Any) -> Any:
        a, b, u, v = y
        return [
            u,
            v,
            -p[0] * a - p[1] * a**3 - p[2] * u + p[3] * (b - a) + p[4] * np.cos(t),
            -p[5] * b - p[6] * b**3 - p[7] * v + p[8] * (a - b) + p[9],
        ]

    start = [1.0, 0.0, 0.0, 0.5]
    return s.integrate.solve_ivp(change, (0.0, 5.0), start, rtol=1e-8, atol=1e-8).y[:, -1]


def heat(s: Any, conductivity: Any) -> Any:
    """A steady state on a grid, whose rows have conductivities."""
    n = len(GRID)
    values = (
        np.broadcast_to(conductivity[:, None], (n, n))
        if isinstance(conductivity, np.ndarray)
        else cnp.broadcast_to(conductivity[:, None], (n, n))
    )
    middle = values.reshape(-1) * 4.0 + 0.1
    beside = (values * BESIDE).reshape(-1)[:-1]
    below = values.reshape(-1)[:-n]
    matrix = s.sparse.diags_array(
        [middle, -beside, -beside, -below, -below], offsets=[0, 1, -1, n, -n], format="csc"
    )
    return s.sparse.linalg.spsolve(matrix, np.ones(n * n))


GRID = np.arange(100)
BESIDE = np.where(GRID < 99, 1.0, 0.0)
PROBLEMS = list(problems())


def measured(problem: Problem) -> tuple[float, float, float]:
    """Seconds of SciPy's value, and of value and gradient, eagerly and by a program."""

    def f(x: Any) -> Any:
        return cnp.sum(cnp.asarray(problem.call(cadiff.scipy, x)) ** 2)

    def plain(x: Any) -> Any:
        return np.sum(np.asarray(problem.call(scipy, x)) ** 2)

    at, eager = problem.at, cadiff.value_and_grad(f)
    program = cadiff.compile(f)
    step = 1e-5 * np.cos(np.arange(np.size(at))).reshape(np.shape(at))
    true = (plain(at + step) - plain(at - step)) / 2.0
    for found in (eager(at), program.value_and_grad(at)):
        compare(problem.work, float(np.sum(found[1] * step)), true, rtol=1e-4)
    calls = {
        "plain": partial(problem.call, scipy, at),
        "eager": partial(eager, at),
        "compiled": partial(program.value_and_grad, at),
    }
    for _ in range(9):  # from the eighth call on functions may be entries of the tape
        eager(at)
    timings = interleave(calls, rounds=5, seconds=0.05, shared=True)
    plain_seconds, *others = (timings.seconds(name).low for name in calls)
    return plain_seconds, others[0], others[1]


def main() -> int:
    """Print a line for each problem."""
    print(f"{machine()}.\n")
    print(f"{'':48}  SciPy alone, us    eager  compiled")
    for problem in PROBLEMS:
        plain, eager, compiled = measured(problem)
        print(
            f"{problem.work:48}  {1e6 * plain:15,.1f}  {eager / plain:7.2f}  "
            f"{compiled / plain:8.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
