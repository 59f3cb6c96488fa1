"""How arrays of numbers live: memory, threads, exceptions, odd shapes and odd inputs.

What holds of single numbers (test_lifetimes.py, test_long_computations.py,
test_threads_and_memory.py) holds of arrays, which also can be assigned to.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from cadiff import Dual, StaleVarError, Var, binding

from ..helpers.processes import isolated
from ..helpers.threads import in_thread, in_threads

Array = numpy.ndarray


def everything(x: Any) -> Any:
    """A program with views, assignment, gathers, products and rules of linear algebra."""
    y = np.zeros((3, 4))
    y[:] = x
    y[1:] = y[:-1]
    y[:, ::-1] *= 2.0
    y[[0, 0, 2], [1, 1, 3]] += x[0, :3]
    y[y > 1.5] = 0.3 * np.sum(x)
    z = np.sin(y) @ x.T
    z = z + np.linalg.solve(np.eye(3) * 4.0 + z * 0.1, z)
    w = np.concatenate([z, np.stack([x[:, 0], x[:, 1]])])
    w = np.where(w > 0.1, w, np.maximum(w * 0.5, -1.0))
    t = np.array([w[0, 0], 0.5, 2.0 * w[1, 1]])
    np.add.at(t, [0, 1, 0], w[0])
    q = np.einsum("ij,ik->jk", w, w).sum(axis=0)
    r = np.cumsum(w, axis=1) + np.sort(w, axis=1)
    for i in range(2):
        t[i] = t[i] * w[i, i] + q[i]
    return np.sum(r * t) + 0.01 * np.prod(t) + np.mean(np.tanh(r))


POINT = numpy.linspace(0.1, 1.0, 12).reshape(3, 4)
FACTORS = numpy.array([1.0, 0.9, 1.1])


def everything_of_rows(rows: Any) -> Any:
    """For derivatives that take a sweep for each number: there are three."""
    return everything(POINT * rows[:, None])


def free_form() -> Any:
    leaf = Var(POINT)
    y = leaf.copy()
    y[1:] = y[:-1] * 2.0
    y[0, 0] = y[1, 1]
    y[[0, 0], [1, 1]] += leaf[:2, 0]
    np.sum(np.sin(y) @ leaf.T).backward()
    return leaf.grad


RUNS: dict[str, Callable[[], Any]] = {
    "grad": lambda: cadiff.grad(everything)(POINT),
    "jvp": lambda: cadiff.jvp(everything, (POINT,), (POINT,))[1],
    "jacfwd": lambda: cadiff.jacfwd(everything_of_rows)(FACTORS),
    "hessian": lambda: cadiff.hessian(everything_of_rows)(FACTORS),
    "hvp": lambda: cadiff.hvp(everything)(POINT, POINT),
    "reverse over reverse": lambda: cadiff.jacrev(cadiff.grad(everything_of_rows))(FACTORS),
    "forward over reverse": lambda: cadiff.jacfwd(cadiff.grad(everything_of_rows))(FACTORS),
    "free form": free_form,
}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())


# --- memory --------------------------------------------------------------------------------------


@pytest.fixture
def _allocations() -> Iterator[None]:
    yield
    binding._core._fail_allocations_after(-1)


def near(got: Any, wanted: Any) -> None:
    """A program, which serves from some call on, may round in another way."""
    numpy.testing.assert_allclose(got, wanted, rtol=1e-14)


@every_run
@pytest.mark.parametrize("fresh", [False, True], ids=["warm", "in a thread of its own"])
@pytest.mark.usefixtures("_allocations")
def test_a_lack_of_memory_at_any_allocation(run: Callable[[], Any], fresh: bool) -> None:
    wanted = run()
    failures = 0
    for successes in range(200):
        try:
            binding._core._fail_allocations_after(successes)
            got = in_thread(run) if fresh else run()
        except MemoryError:
            failures += 1
        else:
            near(got, wanted)
            break
        finally:
            binding._core._fail_allocations_after(-1)
        assert binding.tape_usage()["recordings"] == 0
        near(run(), wanted)
    assert failures or not fresh


# --- threads -------------------------------------------------------------------------------------


def test_threads_differentiate_large_arrays_at_once() -> None:
    rng = numpy.random.default_rng(0)
    A, w = rng.normal(size=(400, 300)), rng.normal(size=300)

    def f(w: Any) -> Any:
        y = np.zeros((300, 300))
        y[:] = w
        y[1:] = y[:-1] * 1.01
        y[::2] *= w
        return np.sum(np.tanh(A @ w) * np.exp(-((A @ w) ** 2))) + np.sum(np.sin(y))

    def run() -> tuple[Any, Any]:
        return cadiff.grad(f)(w), cadiff.hvp(f)(w, w)

    wanted = run()
    for results in in_threads(4, lambda _: [run() for _ in range(8)]):
        for got in results:
            numpy.testing.assert_array_equal(got, wanted)


def test_a_pass_on_the_tape_of_another_thread_waits_or_is_refused() -> None:
    """While a long sweep lets other threads run, none of them may start one on the same tape."""
    code = """
import threading, numpy, cadiff, cadiff.numpy as np
v = cadiff.Var(numpy.ones(100000))
y = v
for _ in range(10):
    y = np.sin(y) * 1.0001
loss = y.sum()
loss.backward()
once = v.grad[0]
v.zero_grad()
u = cadiff.Var(numpy.ones(100000))
z = u * 2.0
done = []
passes = 0
def other():
    global passes
    while not done:
        try:
            z.backward(numpy.ones(100000))
            passes += 1
        except RuntimeError:
            pass
thread = threading.Thread(target=other)
thread.start()
own = 0
for _ in range(10):
    try:
        loss.backward()
        own += 1
    except RuntimeError:
        pass
done.append(True)
thread.join()
numpy.testing.assert_allclose(v.grad, own * once, rtol=1e-12)
numpy.testing.assert_allclose(u.grad, 2.0 * passes, rtol=1e-12)
"""
    isolated(code)


def test_vars_of_two_threads_do_not_mix() -> None:
    v = Var([1.0, 2.0, 3.0])
    mixing: list[Callable[[], Any]] = [
        lambda: Var([1.0, 1.0, 1.0]) + v,
        lambda: np.concatenate([v, Var([1.0])]),
        lambda: cadiff.zeros(3).__setitem__(slice(None), v),
        lambda: Var(numpy.ones((2, 3))) @ v,
        lambda: cadiff.hessian(lambda x: np.sum(x * x * v))(numpy.ones(3)),
        lambda: np.add.at(cadiff.zeros(3), [0], v[:1]),
        lambda: np.linalg.solve(Var(numpy.eye(3)), v),
    ]
    for mix in mixing:
        with pytest.raises(RuntimeError, match="two threads"):
            in_thread(mix)
    numpy.testing.assert_array_equal(v.value, [1.0, 2.0, 3.0])


# --- exceptions ----------------------------------------------------------------------------------


def test_exceptions_half_way_leave_no_trace() -> None:
    x = numpy.arange(1.0, 5.0)

    def failing(x: Any) -> Any:
        y = np.zeros(4)
        y[:] = x
        y[1:] = y[:-1]
        y[[0, 0]] = x[1:3]
        raise ZeroDivisionError

    def with_attempts(x: Any) -> Any:
        y = x.copy()
        for transform in (cadiff.grad, cadiff.jacfwd, cadiff.hessian):
            with pytest.raises(ZeroDivisionError):
                transform(failing)(x)
        y[0] = y[1]
        return np.sum(x * y)

    wanted = numpy.array([2.0, 5.0, 6.0, 8.0])
    for _ in range(3):
        numpy.testing.assert_array_equal(cadiff.grad(with_attempts)(x), wanted)
        numpy.testing.assert_array_equal(cadiff.jacfwd(with_attempts)(x), wanted)
    hessian = numpy.diag([0.0, 2.0, 2.0, 2.0])
    hessian[0, 1] = hessian[1, 0] = 1.0
    numpy.testing.assert_array_equal(cadiff.hessian(with_attempts)(x), hessian)
    assert binding.tape_usage()["recordings"] == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
@every_run
def test_interrupts_at_any_time(run: Callable[[], Any]) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    wanted = run()
    former = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # what other packages do during a collection must not be interrupted
    try:
        for k in range(1, 40):
            try:
                with numpy.errstate():  # which NumPy's own functions may leave as they set it
                    signal.setitimer(signal.ITIMER_REAL, 1e-4 * k)
                    try:
                        run()
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            assert binding.tape_usage()["recordings"] == 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
        gc.enable()
    numpy.testing.assert_array_equal(run(), wanted)


def test_arrays_of_a_gradient_that_is_over() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = x.copy()
        y[0] = 3.0 * x[1]
        kept.extend([x, y, y[1:], y.T, y[[0, 1]], y.reshape(-1, 1)])
        return np.sum(y)

    cadiff.grad(f)(numpy.ones(3))
    values = [[1.0] * 3, [3.0, 1.0, 1.0], [1.0, 1.0], [3.0, 1.0, 1.0], [3.0, 1.0]]
    for array, value in zip(kept, [*values, [[3.0], [1.0], [1.0]]], strict=True):
        numpy.testing.assert_array_equal(array.value, value)
        uses: list[Callable[[], Any]] = [
            lambda a=array: a * 2.0,
            lambda a=array: a[0] + 1.0,
            lambda a=array: a.sum(),
            lambda a=array: -a.copy(),
            lambda a=array: a.backward(numpy.ones(a.shape)),
            lambda a=array: a.__setitem__(0, 1.0),
            lambda a=array: np.concatenate([a, a]),
            lambda a=array: cadiff.grad(lambda x: np.sum(x * a))(numpy.ones(a.shape)),
        ]
        for use in uses:
            with pytest.raises(StaleVarError):
                use()


# --- odd shapes and inputs -----------------------------------------------------------------------


def test_more_axes_than_numpy_has() -> None:
    isolated("""
import cadiff, numpy
for attempt in (
    lambda: cadiff.Var(2.0)[(None,) * 65],
    lambda: cadiff.Var(2.0)[(None,) * 200] * 2.0,
    lambda: cadiff.Var([2.0])[(None,) * 64],
    lambda: cadiff.Dual(2.0, 1.0)[(None,) * 200],
    lambda: cadiff.Dual.seed(numpy.ones((1,) * 64)),
):
    try:
        attempt()
    except (IndexError, ValueError):
        pass
    else:
        raise AssertionError(f'accepted on line {attempt.__code__.co_firstlineno}')
""")


def test_all_the_axes_that_numpy_has() -> None:
    shape = (1,) * 64
    leaf = Var(numpy.ones(shape))
    np.sum(np.sin(leaf) + leaf).backward()
    assert leaf.grad.shape == shape
    assert Var(2.0)[(None,) * 64].shape == shape

    def f(x: Any) -> Any:
        y = x.copy()
        y[...] = x * 2.0
        y[(0,) * 64] = 3.0
        return np.sum(y)

    gradient = cadiff.grad(f)(numpy.ones((2,) + (1,) * 63))
    numpy.testing.assert_array_equal(gradient.ravel(), [0.0, 2.0])


def test_more_numbers_than_a_tape_holds() -> None:
    long = np.broadcast_to(Var([1.0]), (2**33,))
    for make in (
        lambda: long * 2.0,
        lambda: long[: 2**31, None] * long[: 2**31],
        lambda: np.sin(long),
        lambda: np.sin(np.broadcast_to(Var([1.0]), (2**60,))),
    ):
        with pytest.raises((OverflowError, MemoryError, ValueError)):
            make()
    assert cadiff.grad(lambda x: x * x)(3.0) == 6.0


def test_a_dual_of_a_subclass_is_one_of_an_array() -> None:
    class Labelled(numpy.ndarray):
        pass

    dual = Dual(POINT.view(Labelled), 1.0)
    assert type(dual.primal) is numpy.ndarray
    numpy.testing.assert_array_equal(dual.primal, POINT)


def test_results_are_fresh_arrays() -> None:
    x = numpy.array([1.0, 2.0, 3.0])
    out, pullback = cadiff.vjp(lambda x: x, x)
    out[0] = 99.0
    u = numpy.ones(3)
    pullback(u)[0] = 5.0
    out, tangent = cadiff.jvp(lambda x: x, (x,), (x,))
    out[0], tangent[1] = 77.0, 88.0
    leaf = Var(x)
    leaf.value[0] = 1000.0
    np.sum(leaf).backward()
    leaf.grad[0] = 7.0
    numpy.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
    numpy.testing.assert_array_equal(pullback(u), [1.0, 1.0, 1.0])
    numpy.testing.assert_array_equal(leaf.value, x)
    numpy.testing.assert_array_equal(leaf.grad, [1.0, 1.0, 1.0])


def test_a_diagonal_is_read_only() -> None:
    for make in (Var, Dual):
        y = cadiff.array(make(numpy.eye(2)))
        with pytest.raises(ValueError, match="read-only"):
            np.diagonal(y)[0] = 5.0
        with pytest.raises(ValueError, match="read-only"):
            np.broadcast_to(y, (3, 2, 2))[0] = 5.0


def test_arguments_are_assigned_to_in_every_mode() -> None:
    def f(x: Any) -> Any:
        x[0] = 5.0 * x[1:].sum()
        x *= x
        return np.sum(x * x)

    x = numpy.array([1.0, 2.0, 3.0])
    for transform in (cadiff.grad, cadiff.jacfwd, cadiff.jacrev):
        # 4 * 5**4 * (x1 + x2)**3 + 4 * xi**3
        numpy.testing.assert_allclose(transform(f)(x), [0.0, 312532.0, 312608.0], rtol=1e-14)
    numpy.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_an_argument_is_not_assigned_to_after_its_elements_were_taken() -> None:
    def f(x: Any) -> Any:
        first = x[0]
        x[0] = 5.0
        return first * np.sum(x)

    with pytest.raises(TypeError, match=r"x = x\.copy\(\)"):
        cadiff.grad(f)(numpy.array([1.0, 2.0, 3.0]))


def test_products_of_infinite_tangents_do_not_warn() -> None:
    x = numpy.array([0.0, 4.0])
    with numpy.errstate(all="ignore"):
        wanted = cadiff.jacfwd(lambda x: np.sqrt(x) @ np.array([0.0, 1.0]))(x)
    got = cadiff.jacfwd(lambda x: np.sqrt(x) @ np.array([0.0, 1.0]))(x)
    numpy.testing.assert_array_equal(got, wanted)


def test_many_additions_at_one_place() -> None:
    n = 20_000
    x = numpy.linspace(0.0, 1.0, n)

    def f(x: Any) -> Any:
        y = np.zeros_like(x[:3])
        np.add.at(y, numpy.arange(n) % 2, x)
        np.subtract.at(y, numpy.zeros(n, dtype=int), 2.0 * x)
        return y

    assert numpy.array_equal(f(Var(x)).value, f(x))
    slopes = cadiff.jacrev(f)(x)
    numpy.testing.assert_array_equal(slopes[:, :2], [[-1.0, -2.0], [0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("before", [False, True])
def test_assigning_to_what_was_put_aside_does_not_change_a_pullback(before: bool) -> None:
    other = Var(POINT) * 1.0
    if before:
        other[0] = 2.0
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(np.tanh(x))
        return np.sum(kept[0])

    x = numpy.array([0.1, 0.2, 0.3])
    _, pull = cadiff.vjp(f, x)
    for number in (0.0, 1.0):
        kept[0][:] = number
        numpy.testing.assert_allclose(pull(1.0), 1.0 - numpy.tanh(x) ** 2, rtol=1e-14)
    del other


def test_a_pullback_has_a_derivative_after_the_tape_was_compacted() -> None:
    """What it was recorded behind is gone by then, and so are the plans of that."""
    x = np.array([0.3, 0.4, 0.5])
    before = [Var(x)]
    for _ in range(3000):
        before.append(before[-1] * 1.0001)
    _, pullback = cadiff.vjp(lambda x: np.sum(np.sin(x) * x), x)
    del before
    v = Var(1.0)
    for _ in range(200_000):
        _ = v * 2.0
    np.testing.assert_allclose(
        cadiff.jacobian(pullback)(2.0), np.sin(x) + x * np.cos(x), rtol=1e-14
    )


def test_rules_stay_with_their_entries_when_others_are_reclaimed() -> None:
    """Room is made while a rule is being recorded: its place is behind those that are left."""
    x = Var(numpy.ones(10_000))
    for _ in range(60):
        np.cumsum(x)
    np.cumsum(x)[3].backward()
    numpy.testing.assert_array_equal(x.grad[:5], [1.0, 1.0, 1.0, 1.0, 0.0])
