"""Long and large computations: what nobody can reach is reclaimed, all else stays right."""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import cadiff
from cadiff import Var, binding

from ..helpers.functions import square_sum
from ..helpers.processes import isolated, of_amounts
from ..helpers.threads import in_thread

Function = Callable[..., Any]


def test_a_chain_of_a_million_operations() -> None:
    n = 1_000_000

    def chain(x: Any) -> Any:
        y = x
        for _ in range(n // 2):
            y = y * 0.999999
            y = y + x
        return y

    slope = 1.0
    for _ in range(n // 2):
        slope = slope * 0.999999 + 1.0
    assert math.isclose(cadiff.grad(chain)(2.0), slope, rel_tol=1e-12)
    x = Var(2.0)
    y = chain(x)
    y.backward()
    assert math.isclose(x.grad, slope, rel_tol=1e-12)
    y.backward()
    assert math.isclose(x.grad, 2 * slope, rel_tol=1e-12)


Step = Callable[[int], Any]


def _peaks(step: Step, n: int) -> tuple[int, int]:
    """The most numbers on the tape in the first quarter of n steps, and in the rest."""
    peaks = [0, 0]
    for k in range(n):
        step(k)
        if k % 97 == 0:
            late = k > n // 4
            peaks[late] = max(peaks[late], binding.tape_usage()["numbers"])
    return peaks[0], peaks[1]


class _Weights:
    """State of a loop that trains."""

    def __init__(self) -> None:
        self.w = 0.5


def _train(state: _Weights, k: int) -> None:
    w = Var(state.w)
    loss = (w * 3.0 - 1.0) ** 2
    loss.backward()
    state.w -= 0.01 * w.grad


def _with_a_var(f: Callable[[int, Any], Any]) -> Callable[[], Step]:
    """Steps that share a number made beforehand."""

    def make() -> Step:
        x = Var(2.0)
        return lambda k: f(k, x)

    return make


def _assigned(k: int) -> None:
    x = Var(np.arange(100.0))
    y = x.copy()
    y[1:] = x[:-1]
    y[::2] *= 3.0
    y[[0, 0, 1]] += x[:3]
    y.sum().backward()


def _training() -> Step:
    state = _Weights()
    return lambda k: _train(state, k)


A = np.sin(np.arange(600.0)).reshape(30, 20)


def _of_array(w: Any) -> Any:
    return np.tanh(A @ w).sum()


# How to make the step, and how many to take.
LOOPS: dict[str, tuple[Callable[[], Step], int]] = {
    "leaves": (lambda: lambda k: Var(float(k)), 200_000),
    "a pass each": (lambda: lambda k: (Var(float(k)) ** 2).backward(), 200_000),
    "expressions": (_with_a_var(lambda k, x: cadiff.sin(x * k) + x / (k + 1)), 200_000),
    "vectors": (lambda: lambda k: Var([1.0, 2.0, 3.0])[1] * 2.0, 200_000),
    "training": (_training, 200_000),
    "parents": (_with_a_var(lambda k, x: (x * x).parents), 200_000),
    "closures": (_with_a_var(lambda k, x: cadiff.grad(lambda y: y * x)(1.0)), 50_000),
    "arguments": (_with_a_var(lambda k, x: cadiff.grad(lambda y: y * y)(x)), 50_000),
    "pullbacks": (lambda: lambda k: cadiff.vjp(lambda y: y * y, 3.0)[1](1.0), 50_000),
    "arrays": (lambda: lambda k: np.tanh(A @ Var(A[0])).sum().backward(), 3000),
    "assignments": (lambda: _assigned, 3000),
    "gradients of arrays": (lambda: lambda k: cadiff.grad(_of_array)(A[0]), 3000),
    "hessians": (lambda: lambda k: cadiff.hessian(_of_array)(A[0]), 300),
    "failing gradients": (lambda: lambda k: _failing_gradient(), 50_000),
}


def _failing_gradient() -> None:
    try:
        cadiff.grad(lambda x: (x * x, None)[1])(1.0)
    except TypeError:
        return
    raise AssertionError("None is no result")


@of_amounts
@pytest.mark.parametrize(("make", "steps"), LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_that_makes_numbers_runs_in_bounded_memory(
    make: Callable[[], Step], steps: int
) -> None:
    first, rest = in_thread(lambda: _peaks(make(), steps))
    assert rest <= 2 * max(first, 50_000)


def test_temporary_numbers_inside_a_recording_are_reclaimed() -> None:
    peaks: list[int] = []

    def f(x: Any) -> Any:
        for k in range(4_000_000):
            x * 2.0
            if k % 50_000 == 0:
                peaks.append(binding.tape_usage()["numbers"])
        return x * x

    assert in_thread(lambda: cadiff.grad(f)(3.0)) == 6.0
    assert max(peaks[len(peaks) // 2 :]) <= 2 * max(peaks[: len(peaks) // 2])


class _Tracked(NamedTuple):
    """A number, and what it must be: value and partials by two leaves."""

    number: Any
    value: float
    by_x: float
    by_y: float


def _churn(x: Any, y: Any, steps: int, rng: random.Random) -> list[_Tracked]:
    """Random arithmetic over a pool from which numbers are dropped at random."""
    leaves = [_Tracked(x, x.value, 1.0, 0.0), _Tracked(y, y.value, 0.0, 1.0)]
    pool = list(leaves)
    for _ in range(steps):
        a, b = rng.choice(pool), rng.choice(pool)
        kind = rng.randrange(5)
        if kind == 0:
            made = _Tracked(
                a.number * 0.5 + b.number * 0.25,
                a.value * 0.5 + b.value * 0.25,
                a.by_x * 0.5 + b.by_x * 0.25,
                a.by_y * 0.5 + b.by_y * 0.25,
            )
        elif kind == 1:
            slope = math.cos(a.value)
            made = _Tracked(
                cadiff.sin(a.number), math.sin(a.value), slope * a.by_x, slope * a.by_y
            )
        elif kind == 2:
            made = _Tracked(
                a.number * b.number * 0.5,
                a.value * b.value * 0.5,
                (a.by_x * b.value + a.value * b.by_x) * 0.5,
                (a.by_y * b.value + a.value * b.by_y) * 0.5,
            )
        elif kind == 3:
            made = _Tracked(
                cadiff.where(a.number > 0.3, a.number, b.number),
                *(a if a.value > 0.3 else b)[1:],
            )
        else:
            made = rng.choice(leaves)
        if abs(made.value) > 2.0 or abs(made.by_x) + abs(made.by_y) > 1e3:
            made = rng.choice(leaves)
        if len(pool) < 50:
            pool.append(made)
        else:
            pool[rng.randrange(50)] = made
    return pool


def _check(pool: list[_Tracked], x: Any, y: Any) -> None:
    for tracked in pool:
        assert tracked.number.value == tracked.value
        x.zero_grad()
        y.zero_grad()
        tracked.number.backward()
        assert math.isclose(x.grad, tracked.by_x, rel_tol=1e-9, abs_tol=1e-9)
        assert math.isclose(y.grad, tracked.by_y, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_reclaiming_keeps_every_living_number_right(seed: int) -> None:
    def job() -> None:
        x, y = Var(0.4), Var(0.7)
        for _ in range(3):
            _check(_churn(x, y, 40_000, random.Random(seed)), x, y)

    in_thread(job)


def test_reclaiming_inside_gradients_keeps_every_living_number_right() -> None:
    rng = random.Random(5)

    def job() -> None:
        outer, unused = Var(0.9), Var([5.0, 6.0])
        older = outer * outer
        chosen: list[_Tracked] = []

        def f(p: Any) -> Any:
            x, y = p
            for _ in range(300_000):
                x * 2.0
            pool = _churn(x, y, 3_000, rng)
            inner = cadiff.grad(lambda q: q * q * x)(3.0)  # 6 x
            for _ in range(1_200_000):
                inner * 2.0
            _check(pool, x, y)
            chosen.append(next(tracked for tracked in pool if tracked.by_x != 0.0))
            return inner + chosen[0].number * older

        gradient = cadiff.grad(f)([0.4, 0.7])
        first = chosen[0]
        expected = [6.0 + 0.81 * first.by_x, 0.81 * first.by_y]
        np.testing.assert_allclose(cadiff.value(gradient), expected, rtol=1e-9)
        gradient[0].backward()
        assert math.isclose(outer.grad, 2 * 0.9 * first.by_x, rel_tol=1e-9, abs_tol=1e-12)
        np.testing.assert_array_equal(unused.value, [5.0, 6.0])

    in_thread(job)


def test_gradients_and_adjoints_survive_reclaiming() -> None:
    def job() -> None:
        x, v = Var(3.0), Var([1.0, 2.0, 3.0])
        y = x * x
        z = y * v[1]
        z.backward()
        part = v[::-1][:2]
        for k in range(100_000):
            Var(float(k)) * x
        assert (x.grad, y.grad, z.grad) == (12.0, 2.0, 1.0)
        np.testing.assert_array_equal(v.grad, [0.0, 9.0, 0.0])
        np.testing.assert_array_equal(part.value, [3.0, 2.0])
        np.testing.assert_array_equal(part.grad, [0.0, 9.0])
        z.backward()
        assert x.grad == 24.0
        part[1].backward()
        np.testing.assert_array_equal(v.grad, [0.0, 19.0, 0.0])

    in_thread(job)


def test_a_pullback_survives_reclaiming() -> None:
    def job() -> None:
        older = [Var(float(k)) * 2.0 for k in range(10)]
        _, pullback = cadiff.vjp(lambda x: [x[0] * x[1], cadiff.sin(x[0])], [3.0, 5.0])
        del older[::2]
        for k in range(100_000):
            Var(float(k)) * 2.0
        assert pullback([1.0, 0.0]) == [5.0, 3.0]
        assert pullback([0.0, 1.0]) == [math.cos(3.0), 0.0]
        assert [number.value for number in older] == [2.0, 6.0, 10.0, 14.0, 18.0]

    in_thread(job)


def test_small_gradients_after_a_large_one() -> None:
    def job() -> None:
        x = Var(3.0)
        y = x * x
        y.backward()
        for _ in range(2):
            big = cadiff.grad(lambda v: v[0] * v[-1])(np.ones(3_000_000))
            assert big[0] == big[-1] == 1.0
            for k in range(30):
                assert cadiff.grad(lambda z: z * z)(float(k)) == 2.0 * k
        assert (x.grad, y.value) == (6.0, 9.0)
        y.backward()
        assert (x.grad, y.grad) == (12.0, 1.0)

    in_thread(job)


def test_reclaiming_after_a_large_gradient_that_failed() -> None:
    output = isolated("""
import numpy as np
from cadiff import Var, grad
def f(v):
    grad(lambda t: t * t)(2.0)
    raise KeyError
for n in (1000, 100_000, 10_000_000):
    try:
        grad(f)(np.ones(n))
    except KeyError:
        pass
    x = Var(1.0)
    for _ in range(100_000):
        y = x * 2.0
    y.backward()
    print(x.grad, y.grad)
""")
    assert output.split() == ["2.0", "1.0"] * 3


@pytest.mark.slow
@of_amounts
def test_gradients_are_not_slower_because_many_numbers_once_lived() -> None:
    output = isolated("""
import time
import numpy as np
from cadiff import Var, grad, hessian, jacobian, value
x = np.ones(2)
def inner(x):
    return grad(lambda y: y * value(x[0]))(2.0) * x[1]
jobs = [lambda: jacobian(lambda x: [x[0], x[1]])(x), lambda: grad(lambda x: x[0] * x[1])(x),
        lambda: hessian(lambda x: x[0] * x[1])(x), lambda: grad(inner)(x)]
def seconds(job):
    best = 1.0
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(20):
            job()
        best = min(best, time.perf_counter() - start)
    return best
before = [seconds(job) for job in jobs]
many = [Var(1.0) for _ in range(1_000_000)]
del many
after = [seconds(job) for job in jobs]
print(all(late < 30 * early for early, late in zip(before, after)), before, after)
""")
    assert output.startswith("True"), output


def test_finalizers_that_compute_while_results_are_made() -> None:
    x = Var(2.0)
    ran = []

    class Noisy:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            ran.append(cadiff.grad(lambda y: y * x)(3.0).value)
            (x * x).backward()

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for k in range(50):
            Noisy()
            tree = [{"a": float(i + k)} for i in range(20)]
            gradient = cadiff.grad(lambda tree: square_sum(leaf["a"] for leaf in tree))(tree)
            assert gradient == [{"a": 2.0 * (i + k)} for i in range(20)]
            Noisy()
            hessian = cadiff.hessian(square_sum)([1.0, 2.0])
            assert [list(row) for row in hessian] == [[2.0, 0.0], [0.0, 2.0]]
    finally:
        gc.set_threshold(*threshold)
    assert set(ran) == {2.0}


class _Busy(tuple[Any, ...]):
    """A container whose making takes a gradient of its own."""

    def __new__(cls, items: Any = ()) -> _Busy:
        assert cadiff.grad(lambda x: x**3)(2.0) == 12.0
        x = Var(1.0)
        (x * 5.0).backward()
        assert x.grad == 5.0
        return super().__new__(cls, items)


def test_containers_that_compute_while_they_are_made() -> None:
    tree = [_Busy((1.0, 2.0)), _Busy((3.0,)), 4.0]
    gradient = cadiff.grad(lambda t: t[0][0] * t[0][1] * t[1][0] * t[2])(tree)
    assert gradient == [(24.0, 12.0), (8.0,), 6.0]
    nested = cadiff.grad(lambda s: cadiff.grad(lambda t: s * t[0][0] * t[1][0])(tree)[0][0])(2.0)
    assert nested == 3.0
    _, pullback = cadiff.vjp(lambda t: t[0][0] * t[0][1], tree)
    assert pullback(1.0) == [(2.0, 1.0), (0.0,), 0.0]


def make_tape_reclaim() -> None:
    """Compute numbers that nobody holds until the tape lets go of them."""
    one = Var(1.0)
    before = 0
    while (now := binding.tape_usage()["entries"]) >= before:
        assert now < 10_000_000, binding.tape_usage()
        before = now
        for _ in range(1000):
            one * 1.5


@pytest.mark.parametrize("key", [slice(None), 2, np.array([3, 0, 3])], ids=str)
def test_what_was_overwritten_is_there_for_the_backward_pass(key: Any) -> None:
    """Also when nobody holds the array any more, and the tape has been reclaimed."""
    leaf = Var([1.0, 2.0, 3.0, 4.0])
    x = leaf * 1.0
    y = (x * x).sum()
    x[key] = 100.0
    del x
    make_tape_reclaim()
    y.backward()
    np.testing.assert_array_equal(leaf.grad, 2.0 * leaf.value)


@pytest.mark.parametrize("key", [slice(None), 2, np.array([3, 0, 3])], ids=str)
def test_what_was_read_between_two_assignments_is_there(key: Any) -> None:
    leaf = Var([1.0, 2.0, 3.0, 4.0])
    x = leaf * 1.0
    x[key] = leaf[1] * leaf[1]
    y = (x * x).sum()
    x[key] = 100.0
    del x
    make_tape_reclaim()
    y.backward()
    value = leaf.value
    value[key] = 0.0
    expected = 2.0 * value
    expected[1] += 4.0 * 2.0**3 * np.sum(value == 0.0)
    np.testing.assert_array_equal(leaf.grad, expected)
