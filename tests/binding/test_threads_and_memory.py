"""Numbers in several threads, calls that find no memory left, and calls that keep some.

What a failing call leaves behind is what there was before it.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var, binding

from ..helpers.functions import BoomError, square_sum
from ..helpers.memory import leaks, usage
from ..helpers.processes import IS_SANITIZED, isolated, of_amounts
from ..helpers.threads import in_thread, in_threads

Function = Callable[..., Any]


# --- threads -------------------------------------------------------------------------------------


def _workload(k: int) -> tuple[Any, ...]:
    """Several gradients of a problem that depends on k."""
    x = np.linspace(0.5, 1.5, 6) + 0.1 * k

    def f(x: Any) -> Any:
        total: Any = 0.0
        for a, b in itertools.pairwise(x):
            total = total + cadiff.sin(a * b) + (a - b) ** 2
        return total

    v = Var(x)
    y = f(v)
    y.backward()
    return (
        v.grad.tolist(),
        cadiff.grad(f)(x).tolist(),
        cadiff.hessian(f)(x).tolist(),
        cadiff.jacfwd(f)(x).tolist(),
        cadiff.grad(lambda s: cadiff.grad(lambda z: f(z * s))(x)[0])(1.0),
        cadiff.vjp(f, x)[1](2.0).tolist(),
    )


def test_gradients_in_eight_threads_agree_with_those_in_one() -> None:
    expected = [_workload(k) for k in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        results = in_threads(8, lambda k: [_workload(k) for _ in range(15)])
    finally:
        sys.setswitchinterval(interval)
    for k in range(8):
        assert results[k] == [expected[k]] * 15


def test_threads_do_not_see_each_others_recordings() -> None:
    def f(x: Any) -> Any:
        inner = in_thread(lambda: (usage(), cadiff.grad(lambda y: y * y)(3.0)))
        assert inner == ((0, 0, 0), 6.0)
        return x * x

    assert cadiff.grad(f)(2.0) == 4.0


MIXTURES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda other: Var(1.0) + other,
    "reflected": lambda other: other * Var(1.0),
    "function": lambda other: cadiff.arctan2(Var(1.0), other),
    "where": lambda other: cadiff.where(True, Var(1.0), other),
    "list": lambda other: cadiff.numpy.array([other, Var(2.0)]),
    "closure": lambda other: cadiff.grad(lambda x: x * other)(2.0),
    "argument": lambda other: cadiff.grad(lambda x: x * x)(other),
    "hessian": lambda other: cadiff.hessian(lambda x: x * x * other)(2.0),
}


@pytest.mark.parametrize("mix", MIXTURES.values(), ids=MIXTURES.keys())
def test_numbers_of_two_threads_do_not_mix(mix: Callable[[Any], Any]) -> None:
    mine = Var(3.0)
    make = lambda: Var(2.0) * 1.5  # noqa: E731
    with ThreadPoolExecutor(1) as alive:
        before = usage()[2]
        for stranger in (in_thread(make), alive.submit(make).result()):
            with pytest.raises(RuntimeError, match="thread"):
                mix(stranger)
            assert usage()[2] == before
    (mine * mine).backward()
    assert mine.grad == 6.0


def test_values_pass_between_threads() -> None:
    x = Var(3.0)
    assert in_thread(lambda: cadiff.grad(lambda y: y * cadiff.value(x))(2.0)) == 3.0
    assert in_thread(lambda: (Var(2.0) * cadiff.stop_gradient(x)).value) == 6.0


def test_a_number_outlives_its_thread() -> None:
    def make() -> tuple[Any, Any, Any]:
        x, v = Var(3.0), Var([1.0, 2.0])
        y = x * x * v[1]
        y.backward()
        return x, v, y

    kept = [in_thread(make) for _ in range(20)]
    for _ in range(5):
        in_thread(lambda: _workload(0))
    gc.collect()
    for x, v, y in kept[::2]:
        assert (x.value, y.value, x.grad) == (3.0, 18.0, 12.0)
        np.testing.assert_array_equal(v.value, [1.0, 2.0])
        z = y * 2.0
        z.backward()
        assert x.grad == 36.0
    del kept[::3]
    in_thread(lambda: _workload(1))
    assert [y.value for _, _, y in kept] == [18.0] * len(kept)


def test_a_pullback_outlives_its_thread() -> None:
    def make(k: int) -> Any:
        return cadiff.vjp(lambda x: x**k, 2.0)[1]

    pullbacks = [in_thread(functools.partial(make, k)) for k in range(5)]
    for _ in range(3):
        in_thread(lambda: _workload(0))
        assert [pull(1.0) for pull in pullbacks] == [0.0, 1.0, 4.0, 12.0, 32.0]
    assert in_thread(lambda: pullbacks[3](2.0)) == 24.0


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in the Linux way")
def test_tapes_of_ended_threads_are_given_back() -> None:
    output = isolated("""
import resource, threading
from cadiff import Var
kept = []
def run():
    x = Var(1.0)
    numbers = [x * 2.0 for _ in range(100_000)]
    kept.append(numbers[-1])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for k in range(40):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    kept.clear()
    if k == 10:
        early = peak()
print(peak() <= 1.5 * early)
""")
    assert output == "True"


# --- numbers made without end --------------------------------------------------------------------


def _by_a_rule(table: Any) -> Any:
    scaled = cadiff.primitive(lambda x: x * table[0])
    scaled.defvjp(lambda ans, x: lambda g: g * table[0])
    return scaled(Var(np.ones(3)))


def _by_a_checkpoint(table: Any) -> Any:
    return cadiff.checkpoint(lambda x: np.sum(x**2) * table[0])(Var(np.ones(30)))


@pytest.mark.parametrize("between", [lambda: None, lambda: cadiff.grad(lambda x: x * x)(1.0)])
@pytest.mark.parametrize("make", [_by_a_rule, _by_a_checkpoint])
def test_what_rules_keep_goes_with_their_numbers(
    make: Callable[[Any], Any], between: Callable[[], Any]
) -> None:
    tables = []

    def step(k: int) -> None:
        table = np.full(3, float(k))
        tables.append(weakref.ref(table))
        make(table)
        between()

    def steps() -> None:
        for k in range(600):
            step(k)
        assert sum(table() is not None for table in tables) < 200

    in_thread(steps)  # whose tape is its own: others may have left numbers on that of the tests
    kept = [make(np.full(3, float(k))) for k in range(200)]
    np.sum(np.stack([np.sum(number) for number in kept])).backward()
    ones = make(np.ones(3)).value
    assert all(np.array_equal(number.value, k * ones) for k, number in enumerate(kept))


@of_amounts
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in the Linux way")
def test_gradients_between_numbers_of_ones_own_keep_no_memory() -> None:
    output = isolated("""
import resource
import numpy as np
import cadiff
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for k in range(300):
    cadiff.Var(np.ones(30_000)) * 2.0
    cadiff.grad(lambda x: x * x)(1.0)
    if k == 60:
        early = peak()
print(peak() <= 1.5 * early)
""")
    assert output == "True"


# --- no memory left ------------------------------------------------------------------------------


def _vector(n: int = 600) -> Any:
    return np.linspace(0.5, 1.5, n)


def _cubes(x: Any) -> Any:
    total: Any = 0.0
    for a in x:
        total = total + a * a * a
    return total


def _passes() -> Any:
    x = Var(_vector())
    y = _cubes(x)
    y.backward()
    first = x.grad
    y.backward()
    return first.tolist(), x.grad.tolist(), [number.value for number in x]


def _pulled() -> Any:
    out, pullback = cadiff.vjp(lambda x: [_cubes(x), x[0]], _vector())
    return out, pullback([1.0, 0.0]).tolist(), pullback([0.0, 1.0]).tolist()


def _pulled_recorded() -> Any:
    def f(s: Any) -> Any:
        _, pullback = cadiff.vjp(lambda x: _cubes(x) * s, _vector(100))
        return square_sum(pullback(1.0)) + pullback(2.0)[0]

    return cadiff.grad(f)(2.0)


HUNGRY: dict[str, Callable[[], Any]] = {
    "value_and_grad": lambda: cadiff.value_and_grad(_cubes)(_vector().tolist()),
    "gradient of an array": lambda: cadiff.grad(_cubes)(_vector()).tolist(),
    "container": lambda: cadiff.grad(lambda p: _cubes(p["a"]))({"a": _vector().tolist()}),
    "hessian": lambda: cadiff.hessian(_cubes)(_vector(60)).tolist(),
    "hvp": lambda: cadiff.hvp(_cubes)(_vector(), _vector()).tolist(),
    "jacobian": lambda: cadiff.jacobian(lambda x: [_cubes(x), x[1]])(_vector()).tolist(),
    "jacobian by columns": lambda: cadiff.jacobian(lambda x: [a * a for a in x])(
        _vector(60)
    ).tolist(),
    "jacfwd": lambda: cadiff.jacfwd(_cubes)(_vector(60)).tolist(),
    "vjp": _pulled,
    "recorded pullback": _pulled_recorded,
    "backward": _passes,
    "nested": lambda: cadiff.grad(
        lambda s: square_sum(cadiff.grad(lambda x: _cubes(x) * s)(_vector(100)))
    )(2.0),
    "forward over reverse": lambda: cadiff.jvp(
        cadiff.grad(_cubes), (_vector(100),), (_vector(100),)
    )[1].tolist(),
    "reverse over forward": lambda: cadiff.grad(
        lambda x: cadiff.jvp(_cubes, (x,), (_vector(50),))[1]
    )(_vector(50)).tolist(),
    "many numbers": lambda: [number.value for number in [Var(float(k)) for k in range(3000)]],
    "reclaiming": lambda: [(Var(float(k)) * 2.0).value for k in range(40_000)][-1],
    "parents": lambda: [p.value for p in (Var(2.0) * Var(3.0)).parents],
    "flatten": lambda: cadiff.flatten([_vector(), 1.0])[0].tolist(),
}


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh tape", "used tape"])
@pytest.mark.parametrize("job", HUNGRY.values(), ids=HUNGRY.keys())
def test_without_memory_a_call_raises_memory_error_and_the_next_one_is_right(
    job: Callable[[], Any], fresh: bool
) -> None:
    expected = job()

    def attempt(successes: int) -> bool:
        """Whether the job came through with so many requests for memory granted."""
        if not fresh:
            usage()
            kept = Var(3.0)
            derived = kept * kept
            derived.backward()
        binding._core._fail_allocations_after(successes)
        try:
            result = job()
        except MemoryError:
            came_through = False
        else:
            came_through = True
            assert result == expected
        finally:
            binding._core._fail_allocations_after(-1)
        assert usage()[2] == 0
        if not fresh:
            assert (kept.grad, derived.value) == (6.0, 9.0)
            derived.backward()
            assert kept.grad == 12.0
        assert job() == expected
        return came_through

    failures = 0
    while not in_thread(functools.partial(attempt, failures)):
        failures += 1
        assert failures < 500
    assert failures > 0 or not fresh


# With an address space of so many MiB more, in a thread of its own.
SCARCE = """
import ctypes, resource, threading
import numpy as np
import cadiff

# Else glibc keeps more and more of what is freed, up to 64 MB, by what was freed before.
if hasattr(libc := ctypes.CDLL(None), "mallopt"):
    M_MMAP_THRESHOLD = -3
    libc.mallopt(M_MMAP_THRESHOLD, 1 << 17)

threading.excepthook = lambda found: print(repr(found.exc_value))

def address_space():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()

def chain(x, n):
    for _ in range(n):
        x = cadiff.sin(x)
    return x

def endless(x):
    while True:
        x = x * 1.5

def fill_otherwise(x):
    chain(x, 300_000)
    kept = []
    while True:
        kept.append(bytearray(1 << 20))

def attempt(fails):
    try:
        fails()
    except MemoryError:
        pass
    else:
        raise AssertionError("there was memory")
    for n in (1, 5000, 50_000):
        cadiff.grad(lambda x: chain(x, n))(1.0)
    assert address_space() < limit - 40 * 2**20, (limit - address_space()) / 2**20
    assert cadiff.binding.tape_usage()["numbers"] == 0

def job():
    global limit
    cadiff.grad(cadiff.sin)(1.0)  # malloc reserves much for a thread that is new to it
    limit = address_space() + 150 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    attempt(lambda: cadiff.grad(endless)(1.0))
    attempt(lambda: cadiff.grad(endless)(np.ones(8)))
    attempt(lambda: cadiff.jacobian(lambda x: [endless(x[0])])(np.ones(3)))
    attempt(lambda: cadiff.grad(lambda x: cadiff.grad(endless)(x))(1.0))
    attempt(lambda: cadiff.grad(fill_otherwise)(1.0))
    attempt(lambda: cadiff.compile(fill_otherwise)(1.0))
    attempt(lambda: endless(cadiff.Var(1.0)))
    print("done")

cadiff.grad(cadiff.sin)(1.0)
thread = threading.Thread(target=job)
thread.start()
thread.join()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.skipif(
    IS_SANITIZED,
    reason="the address sanitizer reserves more addresses than this test leaves",
)
def test_what_ran_out_of_memory_leaves_it_to_what_comes_after() -> None:
    assert isolated(SCARCE) == "done"


def test_without_memory_a_pass_changes_no_gradient() -> None:
    def attempt(successes: int) -> bool:
        x, v = Var(3.0), Var(_vector(3000))
        x.backward(5.0)
        y = _cubes(v) * x
        before = usage()
        binding._core._fail_allocations_after(successes)
        try:
            y.backward()
        except MemoryError:
            done = False
            assert x.grad == 5.0
            assert not v.grad.any()
        else:
            done = True
        finally:
            binding._core._fail_allocations_after(-1)
        assert usage() == before
        if not done:
            y.backward()
        assert x.grad == 5.0 + sum(_vector(3000) ** 3) or math.isclose(
            x.grad, 5.0 + float(np.sum(_vector(3000) ** 3))
        )
        np.testing.assert_allclose(v.grad, 9.0 * _vector(3000) ** 2)
        return done

    assert not in_thread(lambda: attempt(0))
    assert in_thread(lambda: attempt(1))


def test_without_memory_an_operation_leaves_its_operands() -> None:
    def job() -> None:
        x = Var(2.0)
        numbers = [x]

        def grow() -> None:
            while True:
                numbers.append(numbers[-1] + 1.0)

        binding._core._fail_allocations_after(0)
        try:
            with pytest.raises(MemoryError):
                grow()
        finally:
            binding._core._fail_allocations_after(-1)
        assert [number.value for number in numbers] == [2.0 + k for k in range(len(numbers))]
        more = numbers[-1] * x
        more.backward()
        assert x.grad == numbers[-1].value + 2.0

    in_thread(job)


# --- leaks ---------------------------------------------------------------------------------------


def _jobs_with(x: Any) -> dict[str, Callable[[], Any]]:
    def f(x: Any) -> Any:
        return x[0] * x[1]

    def fail(x: Any) -> Any:
        raise BoomError

    return {
        "grad": lambda: cadiff.grad(f)(x),
        "value_and_grad": lambda: cadiff.value_and_grad(f)(x),
        "aux": lambda: cadiff.grad(lambda y: (f(y), x), has_aux=True)(x),
        "jacobian": lambda: cadiff.jacobian(lambda y: [y[0], y[1]])(x),
        "jacfwd": lambda: cadiff.jacfwd(f)(x),
        "jacrev": lambda: cadiff.jacrev(f)(x),
        "hessian": lambda: cadiff.hessian(f)(x),
        "hvp": lambda: cadiff.hvp(f)(x, x),
        "jvp": lambda: cadiff.jvp(f, (x,), (x,)),
        "vjp": lambda: cadiff.vjp(f, x)[1](1.0),
        "vjp out": lambda: cadiff.vjp(lambda y: x, x)[1](x),
        "nested": lambda: cadiff.grad(lambda s: cadiff.grad(lambda y: f(y) * s)(x)[0])(2.0),
        "gradient": lambda: cadiff.gradient(lambda *y: f(y), x),
        "gradient fwd": lambda: cadiff.gradient(lambda *y: f(y), x, mode="fwd"),
        "derivative": lambda: cadiff.derivative(lambda a, b: a * b, 0, x),
        "flatten": lambda: cadiff.flatten(x)[1](np.ones(2)),
        "check_grads": lambda: cadiff.check_grads(f, (x,)),
        "Var": lambda: Var(x).value,
        "Dual": lambda: Dual(x, x) * x[0],
        "seed": lambda: Dual.seed(x)[0],
        "elements": lambda: cadiff.array(x),
        "compare": lambda: (Var(x) > np.ones(2), Var(2.0) == x[0]),
        "keyword": lambda: cadiff.grad(lambda y, z: y * z[0])(2.0, z=x),
        "error in f": lambda: _raises(BoomError, cadiff.grad(fail), x),
        "error in nested f": lambda: _raises(
            BoomError, lambda x: cadiff.grad(lambda s: cadiff.grad(fail)(x))(1.0), x
        ),
        "bad result": lambda: _raises(TypeError, cadiff.grad(lambda y: x), x),
        "bad argument": lambda: _raises(TypeError, cadiff.grad(f), [x, "text"]),
        "bad argnums": lambda: _raises(TypeError, cadiff.grad(f, 3), x),
        "bad operand": lambda: _raises(TypeError, lambda x: Var(1.0) + None, x),
        "bad value": lambda: _raises(TypeError, Var, [x, "text"]),
    }


def _raises(kind: type[BaseException], function: Function, *args: Any) -> None:
    try:
        function(*args)
    except (kind, ValueError):
        return
    raise AssertionError("nothing was raised")


POINTS: dict[str, Callable[[], Any]] = {
    "array": lambda: np.array([2.0, 3.0]),
    "list": lambda: [2.5, 3.5],
}


@pytest.mark.parametrize("name", list(_jobs_with(None)))
@pytest.mark.parametrize("make", POINTS.values(), ids=POINTS.keys())
def test_no_call_keeps_a_reference(make: Callable[[], Any], name: str) -> None:
    x = make()
    job = _jobs_with(x)[name]
    watched = [x, *x] if isinstance(x, list) else [x]
    for _ in range(3):
        job()
    gc.collect()
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(50):
        job()
    gc.collect()
    after = [sys.getrefcount(item) for item in watched]
    assert all(late <= early + 5 for early, late in zip(before, after, strict=True))


@pytest.mark.parametrize("name", ["shape", "ndim", "size", "dtype", "T"])
@pytest.mark.parametrize(
    "number",
    [lambda: Var(2.0), lambda: Dual(2.0, 1.0), lambda: Var([2.0]), lambda: Dual([2.0], [1.0])],
    ids=["Var", "Dual", "Var array", "Dual array"],
)
def test_reading_an_attribute_keeps_no_reference(number: Callable[[], Any], name: str) -> None:
    made = number()
    watched = [np.dtype(np.float64), made]
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(50):
        getattr(made, name)
    after = [sys.getrefcount(item) for item in watched]
    assert after == before


@of_amounts
@pytest.mark.parametrize("name", sorted(_jobs_with(None).keys() - {"check_grads"}))
def test_no_call_leaks_memory(name: str) -> None:
    job = _jobs_with(np.array([2.0, 3.0]))[name]
    assert not leaks(job, calls=1000, size=16)  # an object takes at least 16 bytes


def test_functions_and_arguments_are_released_after_a_gradient() -> None:
    class Marked(list[Any]):
        """A list that tells when it dies."""

        def __del__(self) -> None:
            died.append(True)

    died: list[bool] = []
    cadiff.grad(lambda tree, extra: tree[0] * tree[0])(Marked([2.0]), Marked([None]))
    gc.collect()
    assert len(died) >= 2
    _, pullback = cadiff.vjp(lambda tree: tree[0] * tree[0], [2.0])
    died.clear()
    marked = Marked()
    f = cadiff.grad(functools.partial(lambda marked, x: x * x, marked))
    assert f(3.0) == 6.0
    del f, marked
    gc.collect()
    assert died == [True]
    assert pullback(1.0) == [4.0]
