"""Programs in many threads, and the memory that they hold."""

from __future__ import annotations

import contextvars
import decimal
import gc
import os
import random
import signal
import statistics
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff.programs import batches

from ..helpers.memory import leaks, usage
from ..helpers.processes import HAS_SMALL_BLOCKS, isolated, of_amounts
from ..helpers.programs import any_shape, hinge, near
from ..helpers.threads import in_thread, in_threads

# --- threads -------------------------------------------------------------------------------------


def long(x: Any) -> Any:
    """More operations than are carried out while other threads wait."""
    y = x
    for k in range(12):
        y = cadiff.sin(y) * 1.01 + 0.1 * k if y[0] > -10.0 else y
    return cnp.sum(y * y[::-1])


def of_matrices(a: Any) -> Any:
    """C's functions of matrices need no GIL; what they decline raises in Python."""
    factors = cnp.linalg.cholesky(a @ a.T + np.eye(60))
    return cnp.sum(cnp.linalg.solve(a, factors)) + cnp.linalg.slogdet(a)[1]


SHARED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int]] = {
    # a function, the shape of its points, and how often each of 8 threads calls it
    "numbers": (long, (3,), 40),
    "blocks": (long, (700 if HAS_SMALL_BLOCKS else 5000,), 40),
    "matrices": (of_matrices, (60, 60), 8),
}


@pytest.mark.parametrize("name", SHARED)
def test_eight_threads_replay_one_program(name: str) -> None:
    f, shape, calls = SHARED[name]
    program = cadiff.compile(f)
    X = np.random.default_rng(0).normal(size=(8, *shape))
    wanted = [program.value_and_grad(x) for x in X]
    second = [program.hvp(x, x) for x in X]

    def job(k: int) -> bool:
        for j in range(calls):
            i = (j + k) % 8
            value, gradient = program.value_and_grad(X[i])
            assert value == wanted[i][0]
            assert abs(value - program(X[i])) < 1e-9 * X[i].size
            np.testing.assert_array_equal(gradient, wanted[i][1])
            if j % 8 == 0:
                np.testing.assert_array_equal(program.hvp(X[i], X[i]), second[i])
                if name == "matrices":
                    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
                        program.grad(np.zeros(shape))
        return True

    assert all(in_threads(8, job))


def raises() -> bool:
    try:
        return bool(np.log(ZEROS)[0] < 1.0)
    except FloatingPointError:
        return False


ZEROS = np.zeros(1)
variable = contextvars.ContextVar("variable", default=0.5)
own = threading.local()
# What another thread than the main one answers otherwise.
OF_THREADS: dict[str, Callable[[], Any]] = {
    "its number": lambda: threading.get_ident() % 999_983,
    "its number for the system": threading.get_native_id,
    "its name": lambda: len(threading.current_thread().name),
    "whether it is the main one": lambda: threading.current_thread() is threading.main_thread(),
    "what it holds": lambda: getattr(own, "n", 0.25),
    "its context": variable.get,
    "its errors": raises,
    "its decimals": lambda: float(1 / decimal.Decimal(3)),
    "its texts": lambda: len(str(ZEROS + 1 / 3)),
}


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("ask", OF_THREADS)
def test_what_is_a_threads_own_is_answered_in_that_thread(ask: str) -> None:
    answer = OF_THREADS[ask]
    program = cadiff.compile(lambda x: x * answer())
    own.n = 0.75
    assert [program(1.0), program.grad(1.0)] == [answer(), answer()]

    def another() -> tuple[list[Any], list[Any]]:
        variable.set(0.75)
        decimal.getcontext().prec = 5
        with np.errstate(divide="raise"), np.printoptions(precision=3):
            return [program(1.0), program.grad(1.0)], [answer(), answer()]

    found, wanted = in_thread(another)
    assert found == wanted != [answer(), answer()]


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

    program = cadiff.compile(f, verify=False)  # which would change who waits for the event
    x = np.array([1.0, 2.0])
    assert in_threads(8, lambda k: program(x)) == [5.0] * 8
    assert len(program.stats()["traces"]) == 1


# --- batches that threads share ------------------------------------------------------------------


def wave(x: Any) -> Any:
    return cnp.sum(cadiff.sin(x[1:]) * x[:-1]) + x[0]


@pytest.mark.parametrize("what", ["value", "value_and_grad", "hessian"])
@pytest.mark.parametrize("n", [1, 7, 513, 3000])
def test_any_number_of_threads_gives_the_same(n: int, what: Any) -> None:
    program = cadiff.compile(wave)
    X = np.random.default_rng(n).normal(size=(n, 4))
    wanted = program.batch(X, what=what, threads=1)
    for threads in (2, 3, 70, 10**12, np.int64(2), None):
        found = program.batch(X, what=what, threads=threads)
        for one, other in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(one, other)


def test_threads_with_batches_share_their_helpers() -> None:
    program = cadiff.compile(wave)
    X = np.random.default_rng(0).normal(size=(8, 2000, 6))
    wanted = [np.stack([program.grad(x) for x in rows]) for rows in X]

    def job(k: int) -> bool:
        for j in range(60):
            i = (k + j) % 8
            found = program.batch(X[i], what="grad", threads=1 + (k + j) % 4)
            np.testing.assert_allclose(found, wanted[i], rtol=1e-13, atol=1e-13)
        return True

    assert all(in_threads(8, job))


def test_batches_after_others_are_of_their_own_points_and_kind() -> None:
    """The code of the last batch is at hand: for calls of the same kind alone."""
    program = cadiff.compile(wave)
    rng = np.random.default_rng(0)
    for n, size, what in [(5, 3, "grad"), (5, 3, "value"), (4, 3, "value"), (4, 2, "value")]:
        X = rng.normal(size=(n, size))
        found = program.batch(X, what=what)
        np.testing.assert_allclose(found, [getattr(program, what)(x) for x in X], rtol=1e-14)
    X = rng.normal(size=(6, 4))
    for points in (X, X[::2], X.astype(">f8"), X.tolist(), np.asfortranarray(X)):
        found = program.batch(points, what="grad")
        near(found, np.stack([cadiff.grad(wave)(x) for x in np.array(points, dtype=float)]))
    program.batch(X)
    assert program.batch(X, what="grad", argnums=(0,))[0].shape == (6, 4)
    with pytest.raises(ValueError, match="threads"):
        program.batch(X, threads=0)
    with pytest.raises(TypeError, match="argnums"):
        program.batch(X, what="value", argnums="0")  # type: ignore[arg-type]


def test_batches_after_others_have_their_own_arguments_beside_the_points() -> None:
    program = cadiff.compile(lambda x, w, k=1.0, kind="one": cnp.sum(x * w) * k + len(kind))
    X, w = np.arange(12.0).reshape(4, 3), np.array([1.0, -2.0, 0.5])
    for k in (1, 2.0, 3, 1, np.float32(2.0)):
        for kind in ("one", "other"):
            near(program.batch(X, w, k, kind=kind), np.sum(X * w, axis=1) * k + len(kind))
            near(program.batch(X, w + k, kind=kind), np.sum(X * (w + k), axis=1) + len(kind))
            near(program.batch(X, w, k, what="grad"), np.tile(w * k, (4, 1)))
            near(program.batch(X, w, k, what="grad", argnums=1), X * k)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", "i4"])
def test_batches_are_of_the_dtypes_of_single_calls(dtype: str) -> None:
    program = cadiff.compile(lambda x: {"a": wave(x), "b": [x * x]})
    total = cadiff.compile(wave)
    X = np.arange(12.0).reshape(3, 4).astype(dtype)
    rtol = 1e-6 if X.dtype.itemsize == 4 else 1e-11  # batches round at the end
    for what in ("value", "grad", "value_and_grad", "hessian"):
        near(
            total.batch(X, what=what),
            batches._stacked([getattr(total, what)(x) for x in X], what),  # type: ignore[arg-type]
            rtol=rtol,
        )
    for argnums in (0, (0,)):
        wanted = batches._stacked([program.jacobian(x, argnums=argnums) for x in X], "jacobian")
        near(program.batch(X, what="jacobian", argnums=argnums), wanted, rtol=rtol)
    assert total.batch(X[:0], what="grad").dtype == total.grad(X[0]).dtype


def test_a_batch_does_not_keep_its_points() -> None:
    program = cadiff.compile(wave)
    X = np.ones((10, 4))
    program.batch(X, what="grad")
    died = weakref.ref(X)
    del X
    gc.collect()
    assert died() is None


def test_batches_forget_what_clear_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cadiff.compile(lambda x: cnp.sum(x) * statistics.fmean([2.0]))
    X = np.ones((3, 2))
    first = program.batch(X).tolist()
    monkeypatch.setattr(statistics, "fsum", lambda items: 10.0)  # code of libraries is not watched
    assert program.batch(X).tolist() == first
    program.clear()
    with pytest.warns(RuntimeWarning, match="it runs .*test_program_threads.py"):
        assert program.batch(X).tolist() != first


def test_batches_see_what_changes_in_a_closure() -> None:
    factor = 2.0
    program = cadiff.compile(lambda x: cnp.sum(x) * factor)
    X = np.ones((3, 2))
    for factor in (2.0, 2.0, 3.0, 2.0):
        assert program.batch(X).tolist() == [2.0 * factor] * 3


@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_step_raises_in_a_batch_comes_out(threads: int) -> None:
    """By f itself, whichever thread met it; threads and program go on to be of use."""

    def refuse(x: Any) -> Any:
        if np.any(np.asarray(x) > 50.0):
            raise ArithmeticError("too large")
        return np.exp(x)

    exp = cadiff.primitive(refuse)
    exp.defvjp(lambda out, x: lambda g: g * out)
    program = cadiff.compile(lambda x: cnp.sum(exp(x)))
    X = np.random.default_rng(0).normal(size=(400, 3))
    wanted = np.exp(X)
    for bad in (0, 133, 399):
        broken = X.copy()
        broken[bad, 1] = 60.0
        np.testing.assert_allclose(program.batch(X, what="grad", threads=threads), wanted)
        with pytest.raises(ArithmeticError, match="too large"):
            program.batch(broken, what="grad", threads=threads)
    np.testing.assert_allclose(program.batch(X, what="grad", threads=threads), wanted)


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="there are no such signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_long_batches_can_be_interrupted(threads: int) -> None:
    program = cadiff.compile(wave)
    X = np.zeros((200_000, 16))
    program.batch(X[:9], what="grad", threads=threads)

    def go_on() -> None:
        for _ in range(200):
            program.batch(X, what="grad", threads=threads)

    timer = threading.Timer(0.02, signal.raise_signal, [signal.SIGINT])
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job's may ignore it
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            go_on()
        timer.join()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert program.batch(X[:9], what="grad", threads=threads).shape == (9, 16)


HELPERS = """
X = np.arange(6000.0).reshape(2000, 3)
program = cadiff.compile(lambda x: cnp.sum(x * x))
assert (program.batch(X, what="grad", threads=3) == 2 * X).all()
child = os.fork()
for _ in range(20):
    assert (program.batch(X, what="grad", threads=3) == 2 * X).all()
"""
RECORDING_ELSEWHERE = """
within, go_on = threading.Event(), threading.Event()

def f(x):
    if not within.is_set():
        within.set()
        go_on.wait()
    return cnp.sum(cnp.where(x > 0, x, -x) * cnp.sin(x))

program = cadiff.compile(f)
other = cadiff.compile(lambda x: cadiff.exp(x))
x = np.array([1.0, -2.0])
thread = threading.Thread(target=lambda: WHAT, daemon=True)
thread.start()
within.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # rather than to hang
    expected = np.sign(x) * (np.sin(x) + x * np.cos(x))
    np.testing.assert_allclose(program.grad(x), expected, rtol=1e-14)
    assert cadiff.grad(program)(x).tolist() == program.grad(x).tolist()
    assert program.stats()["recordings"] == 1
    assert program.stats()["obstacles"] == []
    assert other.grad(0.0) == cadiff.grad(cadiff.exp)(0.0) == 1.0
    assert program.batch(np.stack([x] * 1000), what="grad", threads=2).shape == (1000, 2)
    program.clear()
    program(x)
else:
    go_on.set()
    thread.join()
    assert program.grad(x).shape == (2,)
"""
IN_F = """
children = []

def f(x):
    children.append(os.fork())
    return cadiff.sin(x) * x

program = cadiff.compile(f)
assert program.grad(0.5) == cadiff.grad(lambda x: cadiff.sin(x) * x)(0.5)
child = children[0]
if child == 0:
    program(1.0)
"""
FORKS = {
    "helpers of a batch": HELPERS,
    "while another thread records a derivative": RECORDING_ELSEWHERE.replace(
        "WHAT", "program.grad(x)"
    ),
    "while another thread records a value": RECORDING_ELSEWHERE.replace("WHAT", "program(x)"),
    "while another thread differentiates": RECORDING_ELSEWHERE.replace(
        "WHAT", "cadiff.grad(f)(x)"
    ),
    "by a function that is recorded": IN_F,
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize("name", FORKS)
def test_a_forked_process_has_locks_and_helpers_of_its_own(name: str) -> None:
    isolated(f"""
import os, signal, threading, warnings
import numpy as np
import cadiff, cadiff.numpy as cnp

warnings.simplefilter("ignore", DeprecationWarning)  # fork, where there are threads
{FORKS[name]}
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""")


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


@pytest.mark.slow
@of_amounts
@pytest.mark.parametrize("name", jobs())
def test_no_call_leaks_memory(name: str) -> None:
    job = jobs()[name]
    before = usage()
    assert not leaks(job, calls=20 if name == "refused" else 100, size=64)  # the smallest array
    assert usage() == before


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


def test_what_another_thread_draws_is_not_f_s() -> None:
    """The generator of `random` is one for all threads, and is another one after any draws."""
    is_over = threading.Event()

    def draw() -> None:
        while not is_over.is_set():
            random.random()

    @cadiff.compile
    def f(x: Any) -> Any:
        for _ in range(6000):  # long enough for another thread to have its turn
            x = x + 0.5
        return x * x

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        assert f(1.0) == 3001.0**2
    finally:
        is_over.set()
        thread.join()
    assert f(2.0) == 3002.0**2
    assert f(3.0) == 3003.0**2
    assert f.stats()["recordings"] == 1
