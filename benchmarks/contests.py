"""Who is timed against whom: each contest does one work in several ways, whose results are known.

A way is a callable without arguments beside the result that it must give, which comes from
formulas, complex steps or floats, never from cadiff. The table and the tests under
pytest-benchmark take their contests from here; how they time is none of this module's business.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import cadiff
from benchmarks import problems, pure_python

__all__ = [
    "ARRAY",
    "CONTESTS",
    "DUAL",
    "FLOATS",
    "GRADIENT",
    "GRAPH",
    "KEPT",
    "LIST",
    "NESTED",
    "SCAN",
    "SERIES",
    "Contest",
    "RecordedProblem",
    "Runner",
    "UnavailableError",
    "WrongNumbersError",
    "chain",
    "compare",
    "gradient_call",
    "hessian",
    "hessian_product",
    "high_order",
    "high_order_chain",
    "record_chain",
    "record_rosenbrock",
    "regression",
    "rosenbrock",
    "rosenbrock_products",
    "scan",
]

FloatArray: TypeAlias = NDArray[np.float64]

FLOATS = "floats"
LIST = "x a list"
ARRAY = "x an ndarray"
GRADIENT = "value and gradient"
GRAPH = "pure-Python graph"
SCAN = "checkpoint_scan"
KEPT = "all steps kept"
DUAL = "pure-Python dual"
SERIES = "derivative(order=k)"
NESTED = "derivative of derivative"
MOST_DUALS = 10  # a dual runs f once for each coordinate
RTOL = 1e-9


class WrongNumbersError(Exception):
    """A value or gradient is not what it should be, so that its time is worth nothing."""


class UnavailableError(Exception):
    """A contest needs what this machine does not have."""


class Runner(NamedTuple):
    """One way of doing the work, and the result it must give: numbers in any containers."""

    call: Callable[[], Any]
    expected: Any


class Contest(NamedTuple):
    """A work, the ways of doing it by name, and how far off a result may be."""

    work: str
    runners: dict[str, Runner]
    rtol: float = RTOL

    def check(self, name: str) -> None:
        """Raise WrongNumbersError unless a runner's result is right."""
        runner = self.runners[name]
        compare(f"{self.work}: {name}", runner.call(), runner.expected, self.rtol)


def compare(what: str, result: Any, expected: Any, rtol: float = RTOL) -> None:
    """Raise WrongNumbersError unless two containers of numbers agree.

    Parameters
    ----------
    what : str
        Names the result in the message.
    result, expected : float, ndarray, Var, sparse array, or nested lists and tuples of them
        Compared in order; of a sparse array, all numbers, those that are not stored too.
    rtol : float
        Relative to the largest of the numbers expected, since sums of large terms leave an
        absolute error.
    """
    got, true = _flat(result), _flat(expected)
    if got.shape != true.shape:
        raise WrongNumbersError(f"{what}: expected {true.size} numbers, got {got.size}")
    wrong = ~(np.abs(got - true) <= rtol * np.abs(true).max(initial=0.0))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise WrongNumbersError(
            f"{what}: {np.count_nonzero(wrong)} of {true.size} numbers are wrong; the first is "
            f"number {first}, which should be {float(true[first])!r} and is {float(got[first])!r}"
        )


def _flat(tree: Any) -> FloatArray:
    if isinstance(tree, (list, tuple)):
        return np.concatenate([_flat(item) for item in tree]) if tree else np.empty(0)
    if hasattr(tree, "toarray"):
        tree = tree.toarray()
    return np.ravel(np.asarray(cadiff.value(tree), dtype=np.float64))


# First order


def rosenbrock(n: int) -> Contest:
    """Value and gradient of Rosenbrock's function, with squares as powers."""
    f = problems.rosenbrock
    contest = _rosenbrock(f"Rosenbrock n={n}", f, n)
    at = problems.rosenbrock_point(n)
    expected = contest.runners[LIST].expected
    contest.runners[GRAPH] = Runner(partial(pure_python.value_and_grad(f), at), expected)
    if n <= MOST_DUALS:
        contest.runners[DUAL] = Runner(partial(pure_python.gradient, f, at), expected[1])
    return contest


def rosenbrock_products(n: int) -> Contest:
    """Value and gradient of Rosenbrock's function, with squares as products."""
    return _rosenbrock(f"Rosenbrock n={n}, products", problems.rosenbrock_products, n)


def _rosenbrock(work: str, f: Callable[[Any], Any], n: int) -> Contest:
    at = problems.rosenbrock_point(n)
    array = np.array(at)
    value = f(at)
    expected = (value, problems.rosenbrock_gradient(array))
    value_and_grad = cadiff.value_and_grad(f)
    return Contest(
        work,
        {
            FLOATS: Runner(partial(f, at), value),
            LIST: Runner(partial(value_and_grad, at), expected),
            ARRAY: Runner(partial(value_and_grad, array), expected),
        },
    )


def regression(*, arrays: bool) -> Contest:
    """Value and gradient of the sum of squares about a line, with data in lists or ndarrays."""
    xs, ys = problems.observations()
    f = problems.linear_regression(xs, ys)
    p = list(problems.REGRESSION_POINT)
    expected = (f(p), problems.complex_step(lambda *p: f(p), p))
    if arrays:
        f = problems.linear_regression(np.array(xs), np.array(ys))
    return Contest(
        f"regression, data in {'ndarrays' if arrays else 'lists'}",
        {
            FLOATS: Runner(partial(f, p), expected[0]),
            GRADIENT: Runner(partial(cadiff.value_and_grad(f), p), expected),
        },
    )


def chain(steps: int) -> Contest:
    """Value and gradient by both numbers, and the derivative by the first, of a long chain."""
    at = problems.CHAIN_POINT
    reference = problems.chain(steps, math.sin, math.exp)
    value = reference(*at)
    gradient = problems.complex_step(problems.chain(steps, cmath.sin, cmath.exp), at)
    f = problems.chain(steps, cadiff.sin, cadiff.exp)
    value_and_grad = cadiff.value_and_grad(f, argnums=(0, 1))
    return Contest(
        f"chain of {steps:,} steps",
        {
            FLOATS: Runner(partial(reference, *at), value),
            GRADIENT: Runner(partial(value_and_grad, *at), (value, gradient)),
            "derivative, Dual": Runner(partial(cadiff.derivative, f, 0, at), gradient[0]),
        },
    )


def gradient_call() -> Contest:
    """What a call of a gradient function costs beside the work of f."""
    return Contest(
        "gradient of lambda x: x",
        {GRADIENT: Runner(partial(cadiff.value_and_grad(_same), 2.5), (2.5, 1.0))},
    )


def _same(x: Any) -> Any:
    return x


# Second order


def hessian(n: int) -> Contest:
    """The Hessian of Rosenbrock's function beside its gradient."""
    x = np.array(problems.rosenbrock_point(n))
    matrix = [_along(x, unit) for unit in np.eye(n)]
    return Contest(
        f"Rosenbrock n={n}, second order",
        {
            "gradient": Runner(
                partial(cadiff.grad(problems.rosenbrock), x), problems.rosenbrock_gradient(x)
            ),
            "hessian": Runner(partial(cadiff.hessian(problems.rosenbrock), x), matrix),
        },
    )


def hessian_product(n: int) -> Contest:
    """The Hessian of Rosenbrock's function times a vector, beside value and gradient."""
    x = np.array(problems.rosenbrock_point(n))
    v = np.cos(np.arange(n))
    f = problems.rosenbrock
    expected = (f(x.tolist()), problems.rosenbrock_gradient(x))
    return Contest(
        f"Rosenbrock n={n}, second order",
        {
            GRADIENT: Runner(partial(cadiff.value_and_grad(f), x), expected),
            "hvp": Runner(partial(cadiff.hvp(f), x, v), _along(x, v)),
        },
    )


def _along(x: FloatArray, v: FloatArray, h: float = 1e-30) -> FloatArray:
    """Hessian of Rosenbrock's function times v: a complex step on the formula of the gradient."""
    product: FloatArray = problems.rosenbrock_gradient(x + 1j * h * v).imag / h
    return product


# Time against memory


def scan(steps: int) -> Contest:
    """Value and gradient of a long chain as a scan, with checkpoints, and with all steps kept."""
    contest = chain(steps)
    expected = contest.runners[GRADIENT].expected

    def scanned(levels: int) -> Runner:
        one_way = partial(cadiff.checkpoint_scan, levels=levels)
        f = problems.scanned_chain(steps, cadiff.sin, cadiff.exp, one_way)
        value_and_grad = cadiff.value_and_grad(f, argnums=(0, 1))
        return Runner(partial(value_and_grad, *problems.CHAIN_POINT), expected)

    runners = {GRADIENT: contest.runners[GRADIENT], KEPT: scanned(1), SCAN: scanned(2)}
    return Contest(contest.work, runners)


# High order


def high_order(order: int) -> Contest:
    """A derivative of exp(sin x), where the calls are most of the work."""
    x = 0.7
    return _high_order(
        f"exp(sin x), order {order}",
        lambda x: cadiff.exp(cadiff.sin(x)),
        x,
        order,
        problems.circle(lambda z: cmath.exp(cmath.sin(z)), x, order, 1.5),
    )


def high_order_chain(operations: int, order: int) -> Contest:
    """A high derivative of a chain of sines and exponentials, by the first of its numbers."""
    steps = operations // problems.CHAIN_OPERATIONS
    x0, x1 = problems.CHAIN_POINT
    f = problems.chain(steps, cadiff.sin, cadiff.exp)
    reference = problems.chain(steps, cmath.sin, cmath.exp)
    return _high_order(
        f"chain of {operations} operations, order {order}",
        lambda x: f(x, x1),
        x0,
        order,
        problems.circle(lambda z: reference(z, x1), x0, order, problems.CHAIN_RADIUS),
    )


def _high_order(
    work: str, f: Callable[[Any], Any], x: float, order: int, expected: float
) -> Contest:
    nested = f
    for _ in range(order):
        nested = partial(cadiff.derivative, nested)
    return Contest(
        work,
        {
            SERIES: Runner(partial(cadiff.derivative, f, x, order=order), expected),
            NESTED: Runner(partial(nested, x), expected),
        },
    )


# Recorded once, swept again and again


class RecordedProblem(NamedTuple):
    """A number on the tape, what it was computed from, and in how many operations."""

    work: str
    leaves: list[cadiff.Var]
    y: cadiff.Var
    operations: int
    gradient: Sequence[float]

    def check(self) -> None:
        """Raise WrongNumbersError unless a sweep leaves the right gradients in the leaves."""
        for leaf in self.leaves:
            leaf.zero_grad()
        self.y.backward()
        compare(f"{self.work}: backward()", [leaf.grad for leaf in self.leaves], self.gradient)


def record_rosenbrock(operations: int) -> RecordedProblem:
    """Plain arithmetic, about so many operations of it."""
    n = operations // problems.ROSENBROCK_OPERATIONS + 1
    at = problems.rosenbrock_point(n)
    leaves = [cadiff.Var(number) for number in at]
    return RecordedProblem(
        "recorded Rosenbrock",
        leaves,
        problems.rosenbrock(leaves),
        (n - 1) * problems.ROSENBROCK_OPERATIONS,
        problems.rosenbrock_gradient(np.array(at)).tolist(),
    )


def record_chain(operations: int) -> RecordedProblem:
    """Arithmetic, sines and exponentials, about so many, each waiting for the one before."""
    steps = operations // problems.CHAIN_OPERATIONS
    at = problems.CHAIN_POINT
    leaves = [cadiff.Var(number) for number in at]
    return RecordedProblem(
        "recorded chain",
        leaves,
        problems.chain(steps, cadiff.sin, cadiff.exp)(*leaves),
        steps * problems.CHAIN_OPERATIONS,
        problems.complex_step(problems.chain(steps, cmath.sin, cmath.exp), at),
    )


CONTESTS: tuple[Callable[[], Contest], ...] = (
    partial(rosenbrock, 1000),
    partial(rosenbrock, 10),
    partial(rosenbrock_products, 1000),
    partial(regression, arrays=False),
    partial(regression, arrays=True),
    partial(chain, 100_000),
    gradient_call,
    partial(hessian, 100),
    partial(hessian_product, 1000),
    partial(scan, 100_000),
    partial(high_order, 5),
    partial(high_order, 10),
    partial(high_order_chain, 1000, 6),
)
