"""Loops over tiles, shared by threads: the same numbers, bit by bit, whoever computes them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.binding._core import _fail_allocations_after
from cadiff.programs import batches

from ..helpers.processes import HAS_SMALL_BLOCKS, isolated
from ..helpers.threads import in_threads

N = 700 if HAS_SMALL_BLOCKS else 180_000  # numbers, which are several parts


@pytest.fixture(autouse=True)
def seven_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads as on a machine of so many cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(7), raising=False)
    binding.cores()
    yield
    monkeypatch.undo()
    binding.cores()


def chain(x: Any) -> Any:
    return cnp.sum(cnp.tanh(x) * cnp.exp(-(x**2)) + cnp.sin(x))


def rows(x: Any) -> Any:
    """Sums over rows and over columns, broadcast back."""
    X = x.reshape(-1, 10)
    shifted = X - cnp.max(X, axis=1, keepdims=True)
    total = cnp.log(cnp.sum(cnp.exp(shifted), axis=1, keepdims=True))
    return cnp.sum((shifted - total) * cnp.sin(X)) + cnp.sum(cnp.mean(X * X, axis=0) ** 2)


def spread(x: Any) -> Any:
    """What is small stands beside what is large: its adjoint is a sum from all rows."""
    w, X = x[:10], x[10:].reshape(10, -1)
    return cnp.sum(cnp.tanh(X * w[:, None] + w[::-1, None]) ** 2)


def alone(x: Any) -> Any:
    """A single operation, over all numbers."""
    return cnp.exp(x)


CASES: dict[str, Callable[[Any], Any]] = {
    "chain": chain,
    "rows": rows,
    "spread": spread,
    "alone": alone,
}


def point(seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=N)


def outcome(program: Any, x: Any) -> list[Any]:
    value = program(x)
    if np.shape(value):
        return [value, program.vjp(x)[1](value), program.jvp((x,), (x,))[1]]
    return [*program.value_and_grad(x), program.hvp(x, x)]


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    f, x = CASES[name], point()
    wanted = outcome(cadiff.compile(f, threads=1), x)
    for threads in (2, 3, 7, None):
        program = cadiff.compile(f, threads=threads)
        for _ in range(3):
            for found, expected in zip(outcome(program, x), wanted, strict=True):
                np.testing.assert_array_equal(found, expected)
    plain = f(x)
    assert np.allclose(wanted[0], plain, rtol=1e-11)
    if np.shape(plain):
        np.testing.assert_allclose(wanted[1], np.exp(2.0 * x), rtol=1e-12)
    else:
        np.testing.assert_allclose(wanted[1], cadiff.grad(f)(x), rtol=1e-9, atol=1e-11)


UNARY = [np.sin, np.tanh, np.square, np.negative, lambda a: np.exp(-a * a), lambda a: a[::-1]]
BINARY = [np.add, np.multiply, np.subtract, np.hypot, lambda a, b: np.where(a > b, a, 0.5 * b)]


def drawn(seed: int) -> tuple[Callable[[Any], Any], Any]:
    """A function of a matrix that mixes it with rows, columns and sums, at random."""
    rng = np.random.default_rng(seed)
    k = int(rng.choice([1, 3, 8, 50]))
    steps = rng.integers(0, 1 << 30, (9, 4)).tolist()

    def f(x: Any) -> Any:
        X = x.reshape(-1, k)
        pool = [X, X[:1], X[:, :1], np.cos(X)]
        for kind, which, i, j in steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            if kind % 4 == 0:
                pool.append(np.mean(a, axis=which % 2, keepdims=True))
            elif kind % 4 == 1:
                pool.append(UNARY[which % len(UNARY)](a))
            else:
                pool.append(BINARY[which % len(BINARY)](a, b))
        return sum(np.mean(a * a) for a in pool[-3:])

    return f, rng.normal(size=N // k * k)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_do_not_depend_on_threads(seed: int) -> None:
    f, x = drawn(seed)
    one, *others = (cadiff.compile(f, threads=threads) for threads in (1, 2, 3, 7))
    value, gradient = one.value_and_grad(x)
    assert np.isclose(value, f(x), rtol=1e-9)
    np.testing.assert_allclose(gradient, cadiff.grad(f)(x), rtol=1e-7, atol=1e-12)
    for program in others:
        found = program.value_and_grad(x)
        assert found[0] == value
        np.testing.assert_array_equal(found[1], gradient)


def test_many_threads_call_one_program_whose_work_is_shared() -> None:
    program = cadiff.compile(rows)
    points = [point(k) for k in range(4)]
    wanted = [program.value_and_grad(x) for x in points]

    def job(k: int) -> bool:
        for i in range(8):
            value, gradient = program.value_and_grad(points[(i + k) % 4])
            assert value == wanted[(i + k) % 4][0]
            np.testing.assert_array_equal(gradient, wanted[(i + k) % 4][1])
        return True

    assert all(in_threads(6, job))


def test_work_may_be_shared_by_threads_that_share_work() -> None:
    """A batch whose points call, in Python, a program over large arrays."""
    inner = cadiff.compile(chain)
    x = point()
    wanted = inner(x)

    @cadiff.primitive
    def step(y: Any) -> Any:
        return y * (inner(x) == wanted)

    step.defvjp(lambda ans, y: lambda g: g)
    program = cadiff.compile(lambda y: step(y) + 1.0)
    assert (program.batch(np.ones(40), threads=3) == 2.0).all()


def test_a_guard_that_misses_and_an_index_out_of_bounds_end_it_as_ever() -> None:
    def f(x: Any, index: Any) -> Any:
        y = cnp.sin(x) * x
        total = cnp.sum(y)
        if total > 0.0:
            y = cnp.cos(y)
        return cnp.sum(y * x) + cnp.sum(y[index])

    program = cadiff.compile(f)
    index = np.arange(5)
    for x in (np.abs(point()), -np.abs(point()), np.abs(point(1)) + 2.5):
        for shift in (0, 3):
            value, gradient = program.value_and_grad(x, index + shift)
            assert np.isclose(value, f(x, index + shift))
            np.testing.assert_allclose(
                gradient, cadiff.grad(f)(x, index + shift), rtol=1e-10, atol=1e-12
            )
        with pytest.raises(IndexError, match="out of bounds"):
            program(x, index + N)


def test_helpers_without_memory_leave_the_work_to_others() -> None:
    program, x = cadiff.compile(rows), point()
    wanted = program.value_and_grad(x)
    for n in range(12):
        _fail_allocations_after(n)
        try:
            found = program.value_and_grad(x)
        except MemoryError:
            continue
        finally:
            _fail_allocations_after(-1)
        assert found[0] == wanted[0]
        np.testing.assert_array_equal(found[1], wanted[1])


FORKED = """
import os, warnings
import numpy as np
import cadiff, cadiff.numpy as cnp
warnings.simplefilter("ignore", DeprecationWarning)  # fork, where there are threads
program = cadiff.compile(lambda x: cnp.sum(cnp.tanh(x) * cnp.exp(-x * x)))
x = np.linspace(-2.0, 2.0, 200_000)
value, gradient = program.value_and_grad(x)
child = os.fork()
found = program.value_and_grad(x)
is_same = found[0] == value and (found[1] == gradient).all()
if child == 0:
    os._exit(0 if is_same else 1)
assert is_same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_shares_work_by_threads_of_its_own() -> None:
    isolated(FORKED)


def test_work_is_shared_while_the_interpreter_ends() -> None:
    code = (
        "import atexit, numpy as np, cadiff, cadiff.numpy as cnp\n"
        "program = cadiff.compile(lambda x: cnp.sum(cnp.tanh(x) * cnp.exp(-x * x)))\n"
        "x = np.linspace(-2.0, 2.0, 200_000)\n"
        "value = program(x)\n"
        "atexit.register(lambda: print(program(x) == value))\n"
    )
    assert isolated(code) == "True"


# --- the option ----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "two"])
def test_other_bounds_than_counts_are_refused(threads: Any) -> None:
    for call in (
        lambda: cadiff.compile(chain, threads=threads),
        lambda: cadiff.compile(threads=threads)(chain),
        lambda: cadiff.compile(chain).batch(np.ones((3, 2)), threads=threads),
    ):
        with pytest.raises(ValueError, match="threads is an int of 1 or more, or None, not"):
            call()


def test_the_bound_is_kept() -> None:
    program = cadiff.compile(threads=2)(chain)
    program.grad(point())
    assert repr(program).endswith("chain, 1 recording, 2 threads at most>")
    again = pickle.loads(pickle.dumps(cadiff.Program(chain, threads=1)))
    assert repr(again).endswith("chain, 0 recordings, 1 thread at most>")
    assert repr(cadiff.compile(chain)).endswith("chain, 0 recordings>")


@pytest.mark.parametrize(
    ("program", "explicit", "used"), [(None, None, 7), (2, None, 2), (2, 5, 2), (None, 3, 3)]
)
def test_batches_use_as_many_threads_as_the_program_may(
    program: int | None, explicit: int | None, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Spy:
        def __init__(self, code: Any) -> None:
            self.code = code

        def __getattr__(self, name: str) -> Any:
            return getattr(self.code, name)

        def run_points(self, *args: Any) -> Any:
            seen.append(args[-1])
            return self.code.run_points(*args)

    def prepare(self: Any, recorded: Any) -> bool:
        is_made = former(self, recorded)
        self.plan.code = Spy(self.plan.code)
        return is_made

    former = batches.Batch.prepare
    monkeypatch.setattr(batches.Batch, "prepare", prepare)
    monkeypatch.setattr(batches, "ENOUGH", 1000)
    compiled = cadiff.compile(lambda x: x[0] * cnp.sin(x[1]), threads=program)
    X = np.random.default_rng(3).normal(size=(5000, 2))
    found = compiled.batch(X, threads=explicit)
    np.testing.assert_allclose(found, X[:, 0] * np.sin(X[:, 1]), rtol=1e-15)
    assert seen == [used]
