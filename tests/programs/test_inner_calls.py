"""Programs within other derivatives, exact replays, and lifetimes.

Within another derivative a program does what its function would do, to rounding (elements of
arrays that were computed are not copied first), and the function is not run unless it has to be.
"""

from __future__ import annotations

import gc
import math
import random
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import binding

from ..helpers import programs
from ..helpers.drafts import Script, drafted, elsewhere, points
from ..helpers.programs import Pair, agree, direction, leaves, near, quiet, same, summed
from ..helpers.properties import examples
from ..helpers.threads import in_threads
from ..helpers.ways import ALONG, FIRST, METHODS, SECOND, Eager

Array = np.ndarray
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


# --- programs within other derivatives -----------------------------------------------------------


@examples(100)
@given(st.integers(0, 10**9), st.booleans())
def test_programs_of_numbers_within_functions(seed: int, optimize: bool) -> None:
    rng = random.Random(seed)
    script = Script(rng, wild=False)
    f = script.function()
    program = cadiff.compile(f, optimize=optimize, max_traces=3)

    def twice(g: Function) -> Function:
        return lambda x: g(x * 0.9) * 0.5 + g([x[3], x[2], 0.3, x[0]])

    for x in points(rng)[:8]:
        for transform in (cadiff.grad, cadiff.value_and_grad, cadiff.hessian, cadiff.jacfwd):
            agree(
                lambda x=x, t=transform: t(twice(program))(x),  # type: ignore[misc]
                lambda x=x, t=transform: t(twice(f))(x),  # type: ignore[misc]
                f"{transform.__name__}, {script.text} at {x.tolist()}",
                near,
            )


@examples(60)
@given(st.integers(0, 10**9))
def test_programs_within_programs(seed: int) -> None:
    """What is compared in the inner one is compared in replays of the outer one."""
    rng = random.Random(seed)
    script = Script(rng, wild=False)
    f = script.function()
    inner = cadiff.compile(f)

    def around(g: Function) -> Function:
        return lambda x: g(x * x[0]) + cadiff.grad(g)([x[1], 0.2, x[0], 1.0])[0]

    exact = cadiff.compile(around(inner), optimize=False, max_traces=20)
    for x in points(rng)[:8]:
        what = f"{script.text} at {x.tolist()}"
        agree(
            lambda x=x: exact.value_and_grad(x),  # type: ignore[misc]
            lambda x=x: cadiff.value_and_grad(around(f))(x),  # type: ignore[misc]
            what,
            near,
        )


def loop(x: Any) -> Any:
    total = x[0] * 0.0
    for i in range(len(x) - 1):
        total = total + (x[i + 1] - x[i] ** 2) ** 2 if x[i] > 0.0 else total + cadiff.sin(x[i])
    return total


def runs_of(action: Callable[[], Any]) -> int:
    with programs.runs_of(loop) as runs:
        action()
    return len(runs)


def test_the_function_is_run_once_for_each_way() -> None:
    x = np.array([1.0, 2.0, -3.0, 0.5])
    program = cadiff.compile(loop, verify=False)

    def sums(x: Any) -> Any:
        return program(x * 2.0) * program(x) + program(x[::-1])

    assert runs_of(lambda: cadiff.grad(sums)(x)) == 2  # x and x[::-1] go other ways
    assert runs_of(lambda: [cadiff.grad(sums)(x * t) for t in (1.0, 1.5, 3.0)]) == 0
    assert runs_of(lambda: cadiff.hessian(sums)(x)) == 0
    assert runs_of(lambda: cadiff.jacobian(sums)(x)) == 0
    assert runs_of(lambda: cadiff.grad(sums)(-x)) == 2
    outer = cadiff.compile(sums, verify=False)
    assert runs_of(lambda: outer.grad(x)) == 0
    same(cadiff.grad(sums)(x), cadiff.grad(lambda x: loop(x * 2.0) * loop(x) + loop(x[::-1]))(x))
    assert program.stats()["eager"] == 0
    program.clear()
    assert runs_of(lambda: cadiff.grad(sums)(x)) == 2


def test_gradient_functions_take_the_replays_of_programs() -> None:
    x = np.array([1.0, 2.0, -3.0, 0.5])
    program = cadiff.compile(loop)
    program.grad(x)
    replayed = Eager(program)
    with programs.runs_of(loop) as runs:
        found = {name: call(replayed, x) for name, call in METHODS.items()}
    assert not runs
    for name, call in METHODS.items():
        near(found[name], call(Eager(loop), x), name)
    assert program.stats()["eager"] == 0
    value, aux = cadiff.grad(lambda x: (program(x), "aux"), has_aux=True)(x)
    same(value, cadiff.grad(loop)(x))
    assert aux == "aux"


@pytest.mark.parametrize("name", METHODS)
def test_methods_within_other_derivatives(name: str) -> None:
    def cube(x: Any) -> Any:
        return cnp.sum(x**3) * x[0]

    def number(p: Any) -> Function:
        return lambda x: sum(cnp.sum(cnp.sin(part)) for _, part in leaves(METHODS[name](p, x)))

    mine, other = number(cadiff.compile(cube)), number(Eager(cube))
    x = np.array([0.5, -1.5, 2.0])
    for transform in (cadiff.value_and_grad, cadiff.jacfwd, cadiff.hessian):
        near(transform(mine)(x), transform(other)(x))


def test_functions_of_the_package_take_programs() -> None:
    def f(x: Any) -> Any:
        return cnp.sum(cnp.sin(x) * x) * x[0] if x[0] > 0.0 else cnp.sum(x * x)

    x = np.array([0.5, 1.0, -2.0])
    for optimize in (True, False):
        program = cadiff.compile(f, optimize=optimize)
        value, linear = cadiff.linearize(program, x)
        assert value == cadiff.value_and_grad(f)(x)[0]
        same(linear.vjp(1.0), cadiff.grad(f)(x))
        cadiff.check_grads(program, (x,))
        kept = cadiff.checkpoint(lambda x, p=program: p(x) * 2.0)
        same(cadiff.grad(kept)(x), cadiff.grad(lambda x: f(x) * 2.0)(x))
        tape = cadiff.make_tape(program)(x)
        assert "sin" in str(tape)
        power = cadiff.compile(lambda t: cadiff.exp(t) * t, optimize=optimize)
        fourth = cadiff.derivative(power, 0, [0.5], order=4)
        assert fourth == cadiff.derivative(lambda t: cadiff.exp(t) * t, 0, [0.5], order=4)
        slope = cadiff.grad(lambda a, g=power: cadiff.root(lambda y: g(y) - a, 1.0))(2.0)
        assert slope == pytest.approx(0.23010983749291727, rel=1e-12)
        with cadiff.nan_check(), pytest.raises(cadiff.NonFiniteError, match="log"):
            cadiff.grad(cadiff.compile(lambda x: cadiff.log(x) * x, optimize=optimize))(0.0)


def test_indices_that_change_are_inputs_within_functions() -> None:
    program = cadiff.compile(lambda x, which: cnp.sum(x[which]))
    x = np.arange(200.0)
    for k in range(100):
        which = np.array([k, k + 1])
        found = cadiff.grad(lambda x, which=which: program(x, which) * 2.0)(x)
        assert np.flatnonzero(found).tolist() == [k, k + 1]
    stats = program.stats()
    assert stats["recordings"] == 2 and stats["eager"] == 0


@pytest.mark.parametrize("seed", range(8))
def test_one_recording_serves_all_ways_in_any_order(seed: int) -> None:
    """What was made for a derivative adds to a graph; what is made later is not to compute it."""
    rng = np.random.default_rng(seed)
    x = np.arange(4.0)

    def looked_up(x: Array, which: Any) -> Any:
        return cnp.sum(x[which] * 2.0) ** 2

    program = cadiff.compile(looked_up)
    ways: list[Callable[[Function, Any], Any]] = [
        lambda f, k: f(x, k),
        lambda f, k: cadiff.grad(f)(x, k),
        lambda f, k: cadiff.hessian(f)(x, k),
        lambda f, k: cadiff.grad(lambda y: f(y, k))(x),
        lambda f, k: cadiff.hessian(lambda y: f(y, k))(x),
        lambda f, k: cadiff.jvp(lambda y: f(y, k), (x,), (x,)),
    ]
    for which in range(12):
        way = ways[rng.integers(len(ways))]
        for k in (which % 4, np.array([which % 4, 1])):
            np.testing.assert_array_equal(way(program, k), way(looked_up, k))


def test_arrays_that_share_memory_within_functions() -> None:
    def f(x: Any, a: Any, b: Any) -> Any:
        a[0] = 5.0
        return cnp.sum(x * a * b)

    program = cadiff.compile(f)
    for _ in range(3):
        one, other, both = np.ones((3, 2))
        apart = cadiff.grad(lambda x, a=one, b=other: program(x, a, b))(np.ones(2))
        same(apart, np.array([5.0, 1.0]))
        same(cadiff.grad(lambda x, a=both: program(x, a, a))(np.ones(2)), np.array([25.0, 1.0]))


def test_a_function_that_raises_now_and_then_within_functions() -> None:
    def f(x: Any) -> Any:
        if x[0] > 1.0:
            raise ValueError("too large")
        return cnp.sum(x**2)

    program = cadiff.compile(f)
    for k in range(20):
        x = np.full(3, 0.5 + k % 2)
        if k % 2:
            with pytest.raises(ValueError, match="too large"):
                cadiff.grad(lambda x: program(x) / 2.0)(x)
        else:
            same(cadiff.grad(lambda x: program(x) / 2.0)(x), x)
    assert program.stats()["recordings"] == 1 and program.stats()["eager"] == 10


def test_a_function_of_plain_floats_within_functions() -> None:
    program = cadiff.compile(lambda x, s: x * math.sin(s))  # which a recording cannot do
    for k in range(5):
        assert cadiff.grad(lambda x, s=float(k): program(x, s))(2.0) == math.sin(k)
    assert program.stats()["recordings"] == 0


class Opaque:
    """Something that holds a number."""

    def __init__(self, held: Any) -> None:
        self.held = held


RESULTS: list[Function] = [
    lambda x: (x[0] * x[1], x[0]),
    lambda x: [x[0] * x[1], x[0]],
    lambda x: (x[0] * x[1], "text", None, 3, x[0] > 0.0, x > 0.0, np.arange(3), 2.5),
    lambda x: {"a": Pair(x * x, [x[0], (x[1],)]), "b": np.float32(2.0)},
    lambda x: Pair(1.0, 2.0),
    lambda x: x[0] * x[1],
    lambda x: Opaque(x[0] * x[1]),
    lambda x: [],
]


def described(out: Any) -> Any:
    """Containers, types and values."""
    if isinstance(out, (list, tuple)):
        return type(out), [described(item) for item in out]
    if isinstance(out, dict):
        return {key: described(item) for key, item in out.items()}
    if isinstance(out, Opaque):
        return described(out.held)
    return type(out), np.asarray(cadiff.value(out)).tolist()


@pytest.mark.parametrize("k", range(len(RESULTS)))
def test_results_within_functions_are_what_the_function_returns(k: int) -> None:
    f, program = RESULTS[k], cadiff.compile(RESULTS[k])
    x = np.array([0.5, 1.5])
    pairs: list[Any] = []

    def both(x: Any) -> Any:
        pairs.append((described(program(x * 2.0)), described(f(x * 2.0))))
        return cnp.sum(x)

    for _ in range(2):
        cadiff.grad(both)(x)
    assert len(pairs) == 2
    assert all(mine == other for mine, other in pairs)


def test_arrays_that_are_returned_as_constants_are_fresh() -> None:
    program = cadiff.compile(lambda x: (x * 2.0, np.zeros(2)))

    def f(x: Any) -> Any:
        y, constant = program(x)
        constant += 1.0
        return cnp.sum(y * constant)

    for _ in range(2):
        same(cadiff.grad(f)(np.ones(2)), np.full(2, 2.0))


def test_recursion() -> None:
    @cadiff.compile(max_traces=3)
    def product(x: Any) -> Any:
        return x * product(x - 1.0) if x > 1.0 else x

    def plain(x: Any) -> Any:
        return x * plain(x - 1.0) if x > 1.0 else x

    for x in (0.5, 1.5, 2.5, 5.5, 0.2, 8.5):
        found, wanted = (lambda x, f=f: f(x) * 2.0 for f in (product, plain))
        same(cadiff.value_and_grad(found)(x), cadiff.value_and_grad(wanted)(x))
        assert product(x) == pytest.approx(plain(x), rel=1e-14)


def test_variables_of_the_user() -> None:
    program = cadiff.compile(lambda x: cnp.sum(x[0] * x**2))
    v = cadiff.Var(np.arange(1.0, 5.0))
    program(v).backward()
    same(v.grad, np.array([32.0, 4.0, 6.0, 8.0]))
    w = cadiff.Var(3.0)
    cadiff.compile(lambda x, y: x * y)(w, 2.0).backward()
    assert w.grad == 2.0
    views = v[::-1]
    assert cadiff.value(program(views)) == 120.0
    assert program.stats()["eager"] == 0


def test_what_is_no_entry_runs_the_function() -> None:
    @cadiff.primitive
    def double(x: Any) -> Any:
        return 2.0 * x

    double.defvjp(lambda out, x: lambda g: 2.0 * g)
    reads = cadiff.compile(lambda x: x * float(cadiff.value(x)))
    rules = cadiff.compile(lambda x: double(x) * x)
    for _ in range(2):
        assert cadiff.grad(lambda x: reads(x) * 1.0)(3.0) == 3.0
        assert cadiff.grad(lambda x: rules(x) * 1.0)(3.0) == 12.0
    assert reads.stats()["eager"] == 2

    # Numbers of an outer differentiation that are no arguments.
    def outer(y: Any) -> Any:
        read = cadiff.compile(lambda x: x * y)
        given = cadiff.compile(lambda x: y)
        return read(y) + given(2.0) + given(y) + read(2.0)

    assert cadiff.grad(outer)(3.0) == 10.0
    # What fails, fails as it would.
    fails = cadiff.compile(lambda x: x["no"])
    with pytest.raises((TypeError, IndexError)) as found:
        cadiff.grad(lambda x: fails(x))(1.0)
    with pytest.raises(found.type):
        cadiff.grad(fails.__wrapped__)(1.0)


def test_numbers_of_several_kinds() -> None:
    def f(x: Any, y: Any, n: int = 2) -> Any:
        return sum(x[i] * y[0] for i in range(2)) ** n + y[1] * x[0]

    program = cadiff.compile(f)
    single = np.array([0.1, 0.2], np.float32)
    calls: list[Function] = [
        lambda f, x: f(x, [2.0, 3.0]),
        lambda f, x: f([x[0], 1.0], (x[1], 3.0), n=3),
        lambda f, x: f([x[0], 1], {0: x[1], 1: x[0]}),
        lambda f, x: f(x, x),
        lambda f, x: f(x[::-1], x * 2.0),
        lambda f, x: f(np.array([x[0], 2.0 * x[1]], dtype=object), y=x[:1].repeat(2)),
        lambda f, x: f(single.astype(float), x),
        lambda f, x: f(cnp.zeros(2), x),
        lambda f, x: f(x, cnp.broadcast_to(x[1], (2,))),
    ]
    x = np.array([0.5, 1.5])
    for call in calls:
        for transform in (cadiff.value_and_grad, cadiff.hessian, cadiff.jacfwd):
            got = transform(lambda x, call=call: call(program, x))(x)
            same(got, transform(lambda x, call=call: call(f, x))(x))
    assert program.stats()["eager"] == 0


def test_numbers_of_another_thread_are_refused_as_by_the_function() -> None:
    program = cadiff.compile(lambda x: x * x)
    elsewhere: list[Any] = []
    thread = threading.Thread(target=lambda: elsewhere.append(cadiff.Var(2.0)))
    thread.start()
    thread.join()
    here = cadiff.Var(1.0)
    pair = cadiff.compile(lambda x, y: x * y)
    with pytest.raises(RuntimeError, match="thread"):
        pair(here, elsewhere[0])
    assert program(here) is not None


def test_results_without_derivatives_are_plain() -> None:
    """As those of f: what depends on nothing that is differentiated by, or is cut."""
    f = cadiff.compile(lambda x, y: (x * y, y * y, cadiff.stop_gradient(x), cnp.sum(y) * 2.0))

    def total(x: Any, y: Any) -> Any:
        return sum(map(cnp.sum, f(x, y)))

    def kinds(x: Any, y: Any) -> Any:
        found = f(x, y)
        assert [isinstance(item, cadiff.Var) for item in found] == [True, False, False, False]
        return total(x, y)

    x, y = np.array([0.5, 1.5]), np.array([2.0, 3.0])
    same(cadiff.value_and_grad(kinds)(x, y), (30.5, y))
    outer = cadiff.compile(total)  # which follows values, too
    same(outer.grad(x, y), y)
    assert outer(x + 1.0, y) == outer(x, y) + 7.0


DERIVATIVES: dict[str, Callable[[Function, Array], Any]] = {
    "compiled value_and_grad": lambda h, x: cadiff.compile(h).value_and_grad(x),
    "compiled hvp": lambda h, x: cadiff.compile(h).hvp(x, direction(x)),
    **{name: lambda h, x, way=way: way(h)(x) for name, way in (SECOND | FIRST).items()},
    **{name: lambda h, x, way=way: way(h, x, direction(x)) for name, way in ALONG.items()},
}


@examples(160)
@given(st.integers(0, 10**9), st.sampled_from(sorted(DERIVATIVES)))
def test_all_derivatives_of_calls(seed: int, what: str) -> None:
    """Several calls, of other branches, between other operations, with containers as results."""
    f, x, text = drafted(seed)
    x = np.atleast_1d(x)
    number = summed(f)
    transform = DERIVATIVES[what]

    def pair(x: Any) -> Any:
        return {"y": f(x), "n": [number(x), x * 2.0]}

    def around(one: Function, many: Function) -> Function:
        def h(x: Any) -> Any:
            y = many(cnp.sin(x) * 1.5)
            z = one(x * 0.5) * y["n"][0] + cnp.sum(y["n"][1] * x)
            return z + one(-x) * 0.25 + summed(lambda _: y["y"])(x)

        return h

    one, many = cadiff.compile(number, max_traces=3), cadiff.compile(pair, max_traces=3)
    for at in elsewhere(x, random.Random(seed))[:2]:
        agree(
            lambda at=at: transform(around(one, many), np.atleast_1d(at)),  # type: ignore[misc]
            lambda at=at: transform(around(number, pair), np.atleast_1d(at)),  # type: ignore[misc]
            f"{what}\n{text}\nat {np.asarray(at).tolist()}",
            near,
        )


# --- lifetimes -----------------------------------------------------------------------------------


def test_nothing_is_left_on_the_tape() -> None:
    x = np.array([1.0, 2.0, -3.0, 0.5])
    before = binding.tape_usage()
    exact, program = cadiff.compile(loop, optimize=False), cadiff.compile(loop)
    for _ in range(3):
        for at in (x, -x, x[::-1]):
            exact.grad(at)
            exact.hessian(at)
            exact(at)
            cadiff.grad(lambda x: program(x * 2.0) * program(x))(at)
            assert binding.tape_usage() == before


def test_missed_guards_leave_the_tape_as_it_was() -> None:
    def f(x: Any) -> Any:
        y = cnp.sin(x)
        y[0] = x[1]
        return cnp.sum(y) * 2.0 if y[1] > 0.0 else cnp.sum(y)

    program = cadiff.compile(f, max_traces=1)

    def g(x: Any) -> Any:
        first = program(x)
        entries = binding.tape_usage()["entries"]
        plain = f(-x)
        recorded = binding.tape_usage()["entries"] - entries
        second = program(-x)  # no further recording is kept: f is run
        assert binding.tape_usage()["entries"] == entries + 2 * recorded
        return first + plain * second

    x = np.array([0.5, 1.0])
    same(cadiff.grad(g)(x), cadiff.grad(lambda x: f(x) + f(-x) * f(-x))(x))
    assert program.stats()["eager"] == 1


def test_threads_use_one_recording_at_once() -> None:
    exact = cadiff.compile(loop, optimize=False)
    program = cadiff.compile(loop)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 6))
    wanted = [cadiff.value_and_grad(loop)(x) for x in X]

    def work(_: int) -> None:
        for x, other in zip(X, wanted, strict=True):
            same(exact.value_and_grad(x), other)
            same(cadiff.value_and_grad(lambda x: program(x * 1.0))(x), other)

    in_threads(4, work)


def test_pullbacks_of_exact_replays_live_side_by_side() -> None:
    """Each keeps the values of its point, whatever is computed meanwhile."""
    exact = cadiff.compile(loop, optimize=False)
    X = np.random.default_rng(4).uniform(0.5, 2.0, size=(9, 5))
    wanted = [cadiff.grad(loop)(x) for x in X]
    pulls = [exact.vjp(x)[1] for x in X]
    for x, pull, other in zip(X, pulls, wanted, strict=True):
        same(exact.value_and_grad(x), cadiff.value_and_grad(loop)(x))
        for _ in range(10):  # at last they are frozen
            same(pull(1.0), other)
    eager = exact.stats()["eager"]
    for x, other in zip(X, wanted, strict=True):
        _, pull = exact.vjp(x)  # while the one before lives
        same(pull(2.0), 2.0 * other)
    assert exact.stats()["eager"] == eager
    del exact
    gc.collect()
    same(pull(1.0), wanted[-1])


def test_pullbacks_of_exact_replays_within_functions() -> None:
    exact = cadiff.compile(lambda x: [cnp.sin(x) * x[0], x[1]], optimize=False)
    x = np.array([0.5, 1.0, 2.0])

    def slope(pullback: Function) -> Function:
        return lambda u: cnp.sum(pullback([u * x, u * u])[0] ** 3 * x)

    mine, other = exact.vjp(x)[1], cadiff.vjp(exact.__wrapped__, x)[1]
    for transform in (cadiff.grad, cadiff.hessian, cadiff.jacfwd):
        near(transform(slope(mine))(1.5), transform(slope(other))(1.5))


def once_there_is_memory(call: Callable[[], Any]) -> Any:
    """What a call gives that fails at first, each time after some more allocations."""
    before = binding.tape_usage()["recordings"]
    for successes in range(4000):
        binding._core._fail_allocations_after(successes)
        try:
            return call()
        except MemoryError:
            continue
        finally:
            binding._core._fail_allocations_after(-1)
            assert binding.tape_usage()["recordings"] == before
    raise AssertionError("it never succeeds")


def assigned(x: Any) -> Any:
    y = cnp.sin(x) * 2.0
    y[1] = x[0]
    return cnp.sum(y @ x) * y[1] if x[0] > 0.0 else cnp.sum(y[[0, 0]])


def turned(x: Any) -> Any:
    return cnp.sum(cnp.sin(x) * x[::-1]) * x[0] if x[0] > 0.0 else x[0]


@pytest.mark.parametrize("f", [assigned, turned])
def test_memory_that_runs_out(f: Function) -> None:
    """What could not be made of a graph is made later."""

    def all_of(g: Function) -> Any:
        h = lambda x: g(x * 1.0)  # noqa: E731
        return cadiff.grad(h)(x), cadiff.hvp(h)(x, x), cadiff.jvp(h, (x,), (x,))

    x = np.array([0.5, 1.0, 2.0])
    near(once_there_is_memory(lambda: all_of(cadiff.compile(f))), all_of(f))
    exact = once_there_is_memory(lambda: cadiff.compile(f, optimize=False).grad(x))
    same(exact, cadiff.grad(f)(x))
    program = cadiff.compile(f)
    cadiff.grad(lambda x: program(x * 1.0))(x * 2.0)
    near(once_there_is_memory(lambda: all_of(program)), all_of(f))
    near(all_of(program), all_of(f))
    assert program.stats()["eager"] == 0


def test_series_through_the_pull_of_a_call() -> None:
    program = cadiff.compile(lambda x: cadiff.sin(x) * x)
    pull = cadiff.vjp(lambda x: program(x) ** 2, 0.5)[1]
    slope = pull(1.0)
    assert cadiff.derivative(lambda t: pull(t) * t, 2.0, order=2) == pytest.approx(2.0 * slope)


def test_long_recordings_are_called_again_and_again() -> None:
    def f(x: Any) -> Any:
        s = x
        for _ in range(3000):
            s = cadiff.sin(s) + x * 0.01
        return s

    program = cadiff.compile(f)

    def g(x: Any) -> Any:
        for _ in range(60):
            x = program(x)
        return x

    value, slope = cadiff.value_and_grad(g)(0.7)
    s, d = 0.7, 1.0
    for _ in range(60):
        value_, slope_ = cadiff.value_and_grad(f)(s)
        s, d = value_, d * slope_
    assert value == s
    assert slope == pytest.approx(d, rel=1e-10)
    v = cadiff.Var(0.7)
    for _ in range(60):  # what nobody can reach is reclaimed
        last = program(v)
    assert cadiff.value(last) == cadiff.value(program(v))


def test_what_a_function_keeps_within_a_derivative_carries_it() -> None:
    kept: dict[str, Any] = {"last": None}

    def squared(x: Any) -> Any:
        kept["last"] = 2.0 * x
        return x * x

    program = cadiff.compile(squared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which says that it runs eagerly
        slopes = [cadiff.grad(lambda x: program(x) + kept["last"])(x) for x in (3.0, 4.0, 5.0)]
    assert slopes == [8.0, 10.0, 12.0]


# --- what nobody reads ---------------------------------------------------------------------------


def costly(a: Any) -> Any:
    for _ in range(4):
        a = cnp.sin(a) * cnp.exp(-a)
    return a


SHAPES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda pair: pair,
    "its rows": lambda pair: cadiff.compile(lambda x: cadiff.vmap(pair)(x)),
    "its gradient": lambda pair: cadiff.compile(
        lambda x: (cadiff.grad(lambda x: cnp.sum(costly(x)))(x), pair(x)[1])
    ),
}


@pytest.mark.parametrize("what", SHAPES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_nobody_reads_has_no_cotangents(what: str, sign: float) -> None:
    """A gradient is recorded within a program: of one of two results of another program."""
    x = np.linspace(0.1, 1.0, 90 * 8).reshape(90, 8)
    pair = SHAPES[what](cadiff.compile(lambda x: (sign * costly(x), sign * x * x)))
    outer = cadiff.compile(lambda x: cadiff.grad(lambda x: cnp.sum(pair(x)[1] ** 2))(x))
    for _ in range(3):
        np.testing.assert_allclose(outer(x), 4.0 * x**3, rtol=1e-14)
    found = re.search(r"^value: .* (\d+) operations,", outer.to_text(), re.M)
    assert found is not None
    assert int(found[1]) < 16 * x.size  # costly has as many alone


def test_turns_have_no_cotangents_of_what_nobody_reads() -> None:
    """Long rows are turns of a recurrence, to which such cotangents would be given."""
    x = np.linspace(0.1, 1.0, 90 * 100).reshape(90, 100)
    pair = cadiff.compile(lambda x: (costly(x) * cnp.sum(x), x * x))
    rows = cadiff.compile(lambda x: cadiff.vmap(pair)(x))
    outer = cadiff.compile(lambda x: cadiff.grad(lambda x: cnp.sum(rows(x)[1] ** 2))(x))
    for _ in range(2):
        np.testing.assert_allclose(outer(x), 4.0 * x**3, rtol=1e-14)
    text = outer.to_text()
    assert " scan " in text
    found = re.search(r"^value: .* (\d+) operations,", text, re.M)
    assert found is not None
    assert int(found[1]) < 40 * x.size  # with them 57


def test_nan_and_infinity_stay_where_they_are_read() -> None:
    """What nobody reads may be infinite, and what is read may be multiplied by 0."""
    pair = cadiff.compile(lambda x: (cnp.exp(x) * 0.0, x * x))
    for k in range(2):
        outer = cadiff.compile(lambda x, k=k: cadiff.grad(lambda x: cnp.sum(pair(x)[k]))(x))
        x = np.full(70, 1000.0)
        eager = cadiff.grad(lambda x, k=k: cnp.sum((cnp.exp(x) * 0.0, x * x)[k]))(x)
        for _ in range(3):
            np.testing.assert_array_equal(outer(x), eager)


def test_a_recording_may_be_a_recurrence_alone() -> None:
    """Where loops are looked for, it has no plan of an operation."""
    rows = cadiff.compile(
        cadiff.vmap(cadiff.compile(lambda x, s: (cnp.sign(s - x),)), in_axes=(0, None))
    )
    within = cadiff.compile(lambda x, s: rows(x, s)[0])
    x = np.random.default_rng(4).normal(size=(65, 70))
    outer = cadiff.compile(cadiff.value_and_grad(lambda x, s: cnp.sum(within(x, s) ** 2)))
    for _ in range(2):
        value, gradient = outer(x, 0.7)
        assert value == x.size
        assert not gradient.any()
