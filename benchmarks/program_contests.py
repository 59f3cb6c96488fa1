"""The contests of compiled programs: against floats, C by hand, NumPy by hand, single calls.

A program is made before the timing starts, and records at another point: what is checked and timed
are replays. What making it costs is a contest of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp
from benchmarks import array_contests, array_problems, by_hand, contests, problems
from benchmarks.array_contests import HAND, HESSIAN, JACOBIAN, PRODUCT
from benchmarks.contests import (
    ARRAY,
    FLOATS,
    GRADIENT,
    Contest,
    Runner,
    UnavailableError,
    compare,
)
from benchmarks.linear_contests import broyden, broyden_jacobian

__all__ = [
    "BATCH",
    "CONTESTS",
    "EAGER",
    "FIRST",
    "IN_C",
    "MISSES",
    "SINGLE",
    "SPARSE_HESSIAN",
    "SPARSE_JACOBIAN",
    "THREADS",
    "UNVERIFIED",
    "VERIFIED",
    "adjustment",
    "batch",
    "batch_in_threads",
    "chain_by_hand",
    "first_call",
    "hessian",
    "jacobian",
    "logistic_regression",
    "misses",
    "regression",
    "rosenbrock",
    "rosenbrock_by_hand",
    "rosenbrock_in_machine_code",
    "rosenbrock_within",
    "sparse_hessian",
    "sparse_jacobian",
    "two_calls",
    "two_minima",
]

BATCH = "batch, one thread"
IN_C = "C by hand"
NATIVE = "machine code"
EAGER = "eager value and gradient"
FIRST = "compile, first gradient"
VERIFIED, UNVERIFIED = "verified", "verify=False"
SINGLE = "single calls"
SPARSE_HESSIAN = "sparse_hessian"
SPARSE_JACOBIAN = "sparse_jacobian"
MISSES = "program without a recording"
THREADS = "batch, two threads"


def _replay(method: Callable[..., Any], *args: Any, **options: Any) -> Callable[[], Any]:
    """Have a method of a program record somewhere else, and bind it to its arguments."""
    method(*(0.9 * number for number in args), **options)
    return partial(method, *args, **options)


# Value and gradient


def rosenbrock(n: int) -> Contest:
    """Value and gradient of Rosenbrock's function, recorded afresh or replayed."""
    eager = contests.rosenbrock(n).runners
    floats, gradient = eager[FLOATS], eager[ARRAY]
    x = np.array(problems.rosenbrock_point(n))
    program = cadiff.compile(problems.rosenbrock)
    return Contest(
        f"Rosenbrock n={n}, compiled",
        {
            FLOATS: floats,
            EAGER: gradient,
            GRADIENT: Runner(_replay(program.value_and_grad, x), gradient.expected),
        },
    )


def rosenbrock_by_hand(n: int) -> Contest:
    """Rosenbrock, compiled, beside C by hand; UnavailableError without a C compiler."""
    evaluation = by_hand.rosenbrock(problems.rosenbrock_point(n))
    contest = rosenbrock(n)
    return _with_c(contest, evaluation)


def rosenbrock_in_machine_code(n: int) -> Runner:
    """Value and gradient of Rosenbrock's function by a program's machine code."""
    x = np.array(problems.rosenbrock_point(n))
    program = cadiff.compile(problems.rosenbrock, native=True)
    expected = contests.rosenbrock(n).runners[ARRAY].expected
    return Runner(_replay(program.value_and_grad, x), expected)


def rosenbrock_within(n: int) -> Contest:
    """Value and gradient, and Hessian times vector, of a function that calls a program."""
    x, matrix = _hessian(n)
    v = np.linspace(-1.0, 2.0, n)
    eager = contests.rosenbrock(n).runners
    value, gradient = eager[ARRAY].expected
    program = cadiff.compile(problems.rosenbrock)

    def outer(x: Any) -> Any:
        return 2.0 * program(x)

    value_and_grad, product = cadiff.value_and_grad(outer), cadiff.hvp(outer)
    return Contest(
        f"2 × Rosenbrock n={n}, which is compiled",
        {
            FLOATS: eager[FLOATS],
            GRADIENT: Runner(_replay(value_and_grad, x), (2.0 * value, 2.0 * gradient)),
            PRODUCT: Runner(partial(product, x, v), 2.0 * (matrix @ v)),
        },
    )


def chain_by_hand(steps: int) -> Contest:
    """Value and gradient of a chain, where every step waits for the one before."""
    evaluation = by_hand.chain(steps, problems.CHAIN_POINT)
    eager = contests.chain(steps)
    program = cadiff.compile(problems.chain(steps, cadiff.sin, cadiff.exp))
    replay = _replay(program.value_and_grad, *problems.CHAIN_POINT, argnums=(0, 1))
    contest = Contest(
        f"{eager.work}, compiled",
        {
            FLOATS: eager.runners[FLOATS],
            GRADIENT: Runner(replay, eager.runners[GRADIENT].expected),
        },
    )
    return _with_c(contest, evaluation)


def _with_c(contest: Contest, evaluation: by_hand.Evaluation) -> Contest:
    """Add C by hand, whose gradient is checked here, since its call gives the value alone."""
    value, gradient = contest.runners[GRADIENT].expected
    evaluation.call()
    compare(f"{contest.work}: gradient of {IN_C}", evaluation.gradient, gradient)
    return Contest(contest.work, contest.runners | {IN_C: Runner(evaluation.call, value)})


def regression() -> Contest:
    """Value and gradient of the sum of squares about a line, a loop over 500 observations."""
    eager = contests.regression(arrays=False)
    program = cadiff.compile(problems.linear_regression(*problems.observations()))
    p = np.array(problems.REGRESSION_POINT)
    return Contest(
        "regression, compiled",
        {
            FLOATS: eager.runners[FLOATS],
            GRADIENT: Runner(_replay(program.value_and_grad, p), eager.runners[GRADIENT].expected),
        },
    )


def logistic_regression() -> Contest:
    """Value and gradient of the cross-entropy of 1000 observations, in arrays."""
    eager = array_contests.logistic_regression()
    data = array_problems.classes()
    program = cadiff.compile(array_problems.make_logistic(data, cnp))
    expected = eager.runners[GRADIENT].expected
    return Contest(
        f"{eager.work}, compiled",
        {
            HAND: eager.runners[HAND],
            GRADIENT: Runner(_replay(program.value_and_grad, data.beta), expected),
        },
    )


# Matrices


def jacobian() -> Contest:
    """The Jacobian of W sin(πx²) + b, three functions of four numbers."""
    data = array_problems.mixing_data()
    program = cadiff.compile(array_problems.make_mixing(data, cnp))
    expected = array_problems.mixing_jacobian(data, data.x)
    return Contest(
        "W sin(πx²) + b, 3 x 4, compiled",
        {JACOBIAN: Runner(_replay(program.jacobian, data.x), expected)},
    )


def sparse_jacobian(n: int) -> Contest:
    """The Jacobian of Broyden's tridiagonal function, written as a loop."""
    x = np.linspace(-1.0, 1.0, n)
    program = cadiff.compile(broyden)
    work = f"Broyden n={n}, a loop, compiled"
    return Contest(
        work,
        {SPARSE_JACOBIAN: _tridiagonal(work, program.sparse_jacobian, x, broyden_jacobian(x))},
    )


def sparse_hessian(n: int) -> Contest:
    """The Hessian of Rosenbrock's function as a sparse array."""
    x, matrix = _hessian(n)
    program = cadiff.compile(problems.rosenbrock)
    work = f"Rosenbrock n={n}, second order, compiled"
    return Contest(work, {SPARSE_HESSIAN: _tridiagonal(work, program.sparse_hessian, x, matrix)})


def _tridiagonal(work: str, method: Callable[..., Any], x: Any, expected: Any) -> Runner:
    """A method that gives a sparse array, which stores three diagonals and nothing else."""
    call = _replay(method, x)
    compare(f"{work}: numbers stored", float(call().nnz), 3.0 * len(x) - 2.0)
    return Runner(call, expected)


def adjustment(n: int) -> Contest:
    """The Jacobian of so many residuals by 4,290 parameters, 15 of which each depends on."""
    data = array_problems.adjustment_data(n)
    program = cadiff.compile(array_problems.make_adjustment(data, cnp))
    entries, columns = array_problems.adjustment_jacobian(data, data.x)
    work = f"bundle adjustment, {n:,} residuals, compiled"
    matrix = program.sparse_jacobian(data.x)
    compare(f"{work}: columns", matrix.indices, columns)
    call = _replay(program.sparse_jacobian, data.x)

    def by_hand() -> Any:
        return array_problems.adjustment_jacobian(data, data.x)[0]

    return Contest(
        work,
        {HAND: Runner(by_hand, entries), SPARSE_JACOBIAN: Runner(lambda: call().data, entries)},
    )


def hessian(n: int) -> Contest:
    """The Hessian of Rosenbrock's function as a matrix."""
    x, matrix = _hessian(n)
    program = cadiff.compile(problems.rosenbrock)
    work = f"Rosenbrock n={n}, second order, compiled"
    return Contest(work, {HESSIAN: Runner(_replay(program.hessian, x), matrix)})


def _hessian(n: int) -> tuple[Any, Any]:
    """Where the Hessian of Rosenbrock's function is taken, and what it is."""
    return np.array(problems.rosenbrock_point(n)), contests.hessian(n).runners[HESSIAN].expected


# Making a program


def first_call(n: int) -> Contest:
    """Value and gradient of Rosenbrock's function by a program that is made for it each time."""
    contest = rosenbrock(n)
    x = np.array(problems.rosenbrock_point(n))

    def compile_and_call() -> Any:
        return cadiff.compile(problems.rosenbrock).value_and_grad(x)

    eager = contest.runners[EAGER]
    return Contest(
        f"Rosenbrock n={n}", {EAGER: eager, FIRST: Runner(compile_and_call, eager.expected)}
    )


def two_calls(problem: str, n: int) -> Contest:
    """The first two calls of a program, with and without f as the judge of its recording."""
    if problem == "loop":
        f: Callable[[Any], Any] = problems.rosenbrock
        x = np.array(problems.rosenbrock_point(n))
    else:
        matrix = np.random.default_rng(0).normal(size=(1000, n))
        x = np.zeros(n)

        def f(w: Any) -> Any:
            return cnp.sum(cnp.logaddexp(0.0, matrix @ w))

    def called(verify: Any) -> Any:
        program = cadiff.compile(f, verify=verify)
        program.value_and_grad(x)
        return program.value_and_grad(x + 0.01)

    expected = cadiff.value_and_grad(f)(x + 0.01)
    return Contest(
        f"first two calls, n={n}: {'Rosenbrock' if problem == 'loop' else 'logistic regression'}",
        {
            UNVERIFIED: Runner(partial(called, False), expected),
            VERIFIED: Runner(partial(called, "first"), expected),
        },
    )


def two_minima(n: int) -> Contest:
    """`cadiff.optimize.minimize`, recording included, with and without the judge."""
    from cadiff.optimize import minimize  # needs SciPy

    x = np.array(problems.rosenbrock_point(n))

    def minimum(verify: Any) -> Any:
        program = cadiff.compile(problems.rosenbrock, verify=verify)
        return minimize(program, x, method="L-BFGS-B").fun

    return Contest(
        f"minimum of Rosenbrock n={n} by L-BFGS-B",
        {
            UNVERIFIED: Runner(partial(minimum, False), minimum(False)),
            VERIFIED: Runner(partial(minimum, "first"), minimum(False)),
        },
    )


# Branches


def misses(points: int, n: int) -> Contest:
    """Gradients at points that choose otherwise each, more ways than a program has recordings."""
    X = np.random.default_rng(0).normal(size=(points, n))
    gradient = cadiff.grad(problems.hinges)
    program = cadiff.compile(problems.hinges)
    expected = np.where(X > 0.0, 2.0 * X, -1.0)

    def of_each(function: Callable[[Any], Any]) -> list[Any]:
        return [function(x) for x in X]

    of_each(program.grad)
    return Contest(
        f"{n} branches, {points:,} points, compiled",
        {
            GRADIENT: Runner(partial(of_each, gradient), expected),
            MISSES: Runner(partial(of_each, program.grad), expected),
        },
    )


# Many points


def batch(points: int, n: int) -> Contest:
    """Values and gradients of Rosenbrock's function at many points: at once, or one by one."""
    X, values, gradients = _points(points, n)
    program = cadiff.compile(problems.rosenbrock)
    value_and_grad = program.value_and_grad

    def one_by_one() -> list[Any]:
        return [value_and_grad(x) for x in X]

    return Contest(
        f"Rosenbrock n={n}, {points:,} points, compiled",
        {
            SINGLE: Runner(one_by_one, np.column_stack((values, gradients))),
            BATCH: Runner(
                _replay(program.batch, X, threads=1, what="value_and_grad"), (values, gradients)
            ),
        },
    )


def batch_in_threads(points: int, n: int) -> Contest:
    """Many points at once, by one thread or two; UnavailableError with a single processor."""
    processors = os.cpu_count() or 1
    if processors < 2:
        raise UnavailableError("two threads need two processors, and this machine has one")
    contest = batch(points, n)
    X, values, gradients = _points(points, n)
    program = cadiff.compile(problems.rosenbrock)
    two = _replay(program.batch, X, threads=2, what="value_and_grad")
    runners = {BATCH: contest.runners[BATCH], THREADS: Runner(two, (values, gradients))}
    return Contest(contest.work, runners)


def _points(points: int, n: int) -> tuple[Any, Any, Any]:
    """So many points in rows, and the values and gradients there by formula."""
    X = np.array(problems.rosenbrock_point(points * n)).reshape(points, n)
    values = [problems.rosenbrock(x) for x in X.tolist()]
    return X, np.array(values), np.array([problems.rosenbrock_gradient(x) for x in X])


# And the ways of each that the tests under pytest-benchmark time, none of them twice.
CONTESTS: tuple[tuple[Callable[[], Contest], tuple[str, ...]], ...] = (
    (partial(rosenbrock, 1000), (FLOATS, GRADIENT)),
    (partial(rosenbrock, 100), (FLOATS, GRADIENT)),
    (partial(rosenbrock, 10), (FLOATS, GRADIENT)),
    (partial(rosenbrock_by_hand, 1000), (IN_C,)),
    (partial(chain_by_hand, 100_000), (IN_C, GRADIENT)),
    (regression, (FLOATS, GRADIENT)),
    (logistic_regression, (HAND, GRADIENT)),
    (jacobian, (JACOBIAN,)),
    (partial(sparse_jacobian, 1000), (SPARSE_JACOBIAN,)),
    (partial(sparse_hessian, 1000), (SPARSE_HESSIAN,)),
    (partial(adjustment, 1000), (SPARSE_JACOBIAN,)),
    (partial(hessian, 100), (HESSIAN,)),
    (partial(first_call, 1000), (EAGER, FIRST)),
    (partial(misses, 1000, 20), (GRADIENT, MISSES)),
    (partial(batch, 10_000, 10), (SINGLE, BATCH)),
    (partial(batch_in_threads, 10_000, 10), (THREADS,)),
)
