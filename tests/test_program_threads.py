"""Programs in many threads, and the memory that they hold."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from .programs import any_shape, hinge, near, usage

# --- threads -------------------------------------------------------------------------------------


def in_threads(n: int, job: Callable[[int], Any]) -> list[Any]:
    gate = threading.Barrier(n)

    def run(k: int) -> Any:
        gate.wait()
        return job(k)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))


def long(x: Any) -> Any:
    """More operations than are carried out while other threads wait."""
    y = x
    for k in range(12):
        y = cadiff.sin(y) * 1.01 + 0.1 * k if y[0] > -10.0 else y
    return cnp.sum(y * y[::-1])


@pytest.mark.parametrize("n", [3, 5000])
def test_eight_threads_replay_one_program(n: int) -> None:
    program = cadiff.compile(long)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, n))
    wanted = [program.value_and_grad(x) for x in X]
    second = [program.hvp(x, x) for x in X]

    def job(k: int) -> bool:
        for j in range(40):
            i = (j + k) % 8
            value, gradient = program.value_and_grad(X[i])
            assert value == program(X[i]) or abs(value - program(X[i])) < 1e-9 * n
            np.testing.assert_array_equal(gradient, wanted[i][1])
            assert value == wanted[i][0]
            if j % 8 == 0:
                np.testing.assert_array_equal(program.hvp(X[i], X[i]), second[i])
        return True

    assert all(in_threads(8, job))


def test_threads_replay_while_others_record() -> None:
    program = cadiff.compile(any_shape, max_traces=4)
    rng = np.random.default_rng(0)
    points = [rng.normal(size=n) * s for n in (1, 2, 3, 5, 8, 30) for s in (0.1, 0.5, 2.0)]
    wanted = [cadiff.value_and_grad(any_shape)(x) for x in points]

    def job(k: int) -> bool:
        for j in range(4 * len(points)):
            i = (5 * j + k) % len(points)
            near(program.value_and_grad(points[i]), wanted[i])
            near(program(points[i]), wanted[i][0])
            if k == 0 and j % 20 == 0:
                program.clear()
        return True

    assert all(in_threads(8, job))


def test_first_calls_in_many_threads_make_one_recording() -> None:
    entered = threading.Event()

    def f(x: Any) -> Any:
        entered.wait(0.2)  # so that all threads have found that there is no recording
        return cnp.sum(x * x)

    program = cadiff.compile(f)
    x = np.array([1.0, 2.0])
    assert in_threads(8, lambda k: program(x)) == [5.0] * 8
    assert len(program.stats()["traces"]) == 1


# --- memory --------------------------------------------------------------------------------------


def jobs() -> dict[str, Callable[[], Any]]:
    program = cadiff.compile(hinge)
    many = cadiff.compile(lambda x, n: cnp.sum(x * n))
    x = np.array([1.0, 2.0])
    X = np.stack([x, -x, x])
    v = {"a": [1.0, 2.0], "b": x}
    tree = cadiff.compile(lambda t: {"s": t["a"][0] * cnp.sum(t["b"])})

    def refused() -> None:
        for call in (lambda: program.grad("text"), lambda: program.jvp((x,), (1.0,))):
            with pytest.raises((TypeError, ValueError)):
                call()

    return {
        "value": lambda: program(x),
        "flips": lambda: (program(x), program(-x)),
        "grad": lambda: program.grad(x),
        "value_and_grad": lambda: program.value_and_grad(-x),
        "float32": lambda: program.grad(x.astype(np.float32)),
        "hessian": lambda: program.hessian(x),
        "jacobian": lambda: program.jacobian(x),
        "hvp": lambda: program.hvp(x, x),
        "jvp": lambda: program.jvp((x,), (x,)),
        "vjp": lambda: program.vjp(x)[1](1.0),
        "batch": lambda: program.batch(X),
        "batch of gradients": lambda: program.batch(X, what="value_and_grad"),
        "containers": lambda: tree.jacobian(v),
        "static": lambda: many(x, 3),
        "refused": refused,
        "outer derivative": lambda: cadiff.grad(program)(x),
        "clear": lambda: (program.clear(), program.grad(x)),
        "stats": lambda: (program.stats(), repr(program)),
    }


@pytest.mark.parametrize("name", jobs())
def test_no_call_leaks_memory(name: str) -> None:
    job = jobs()[name]
    repeats = 20 if name == "refused" else 100
    grown = []
    before_all = usage()
    tracemalloc.start()
    try:
        for _ in range(8):  # caches of Python's own fill slowly
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(repeats):
                job()
            gc.collect()
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert min(grown) < repeats * 64, grown  # less than the smallest array
    assert usage() == before_all


def test_programs_and_what_they_know_are_released() -> None:
    class Marked:
        def __del__(self) -> None:
            died.append(True)

    died: list[bool] = []
    marked = Marked()
    program = cadiff.compile(lambda x, marked=marked: x * 2.0)
    program.grad(1.0)
    program.vjp(1.0)
    del marked, program
    gc.collect()
    assert died == [True]
