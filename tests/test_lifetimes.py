"""How long numbers live: after gradients, exceptions, threads, a lack of memory, and ever so long.

A number either stays valid or raises StaleVarError; it never shows another number's value. What a
failing call leaves behind is what there was before it.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import operator
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import cadiff
from cadiff import Dual, StaleVarError, Var, _core

from .memory import leaks
from .processes import isolated
from .threads import in_threads

Function = Callable[..., Any]


@pytest.fixture(scope="module", autouse=True)
def _small_heap() -> Iterator[None]:
    """Spare the collections that these tests ask for the objects of all other tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a thread of its own, on a fresh tape; its result or its exception."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["result"] = function()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def usage() -> tuple[int, int, int]:
    """Entries, numbers and open recordings of this thread's tape."""
    tape = _core.tape_usage()
    return tape["entries"], tape["numbers"], tape["recordings"]


def square_sum(x: Any) -> Any:
    return sum(a * a for a in x)


def note(kept: list[Any], *numbers: Any) -> int:
    """Keep numbers beyond their time; how many are kept."""
    kept.extend(numbers)
    return len(kept)


# --- numbers that outlive their gradient -------------------------------------------------------

# Transforms that record, as functions of a function and a point that is a list of two numbers.
RECORDING: dict[str, Callable[[Function, Any], Any]] = {
    "grad": lambda f, x: cadiff.grad(f)(x),
    "value_and_grad": lambda f, x: cadiff.value_and_grad(f)(x),
    "jacobian": lambda f, x: cadiff.jacobian(f)(x),
    "jacrev": lambda f, x: cadiff.jacrev(f)(x),
    "hessian": lambda f, x: cadiff.hessian(f)(x),
    "hvp": lambda f, x: cadiff.hvp(f)(x, x),
    "elementwise_grad": lambda f, x: cadiff.elementwise_grad(f)(x),
    "gradient": lambda f, x: cadiff.gradient(lambda *x: f(x), x),
}
recording = pytest.mark.parametrize("run", RECORDING.values(), ids=RECORDING.keys())
ALL_TRANSFORMS: dict[str, Callable[[Function, Any], Any]] = {
    **RECORDING,
    "jacfwd": lambda f, x: cadiff.jacfwd(f)(x),
    "vjp": lambda f, x: cadiff.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: cadiff.jvp(f, (x,), (x,)),
    "derivative": lambda f, x: cadiff.derivative(lambda a: f([a, x[1]]), x[0], order=2),
}
every_transform = pytest.mark.parametrize(
    "run", ALL_TRANSFORMS.values(), ids=ALL_TRANSFORMS.keys()
)

COMPUTATIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda v: v + 1.0,
    "add to itself": lambda v: v + v,
    "reflected": lambda v: 2.0 * v,
    "power": lambda v: v**3,
    "square": lambda v: v**2,
    "negative": operator.neg,
    "absolute": abs,
    "divmod": lambda v: divmod(v, 2.0),
    "round": round,
    "floor": math.floor,
    "cadiff.sin": cadiff.sin,
    "cadiff.where": lambda v: cadiff.where(True, v, 0.0),
    "np.sin": np.sin,
    "np.add": lambda v: np.add(1.0, v),
    "np.float64 on the left": lambda v: np.float64(2.0) * v,
    "method": lambda v: v.exp(),
    "with a fresh Var": lambda v: Var(1.0) * v,
    "array": lambda v: np.array([1.0, 2.0]) * v,
    "grad": lambda v: v.grad,
    "gv": lambda v: v.gv,
    "backward": lambda v: v.backward(),
    "zero_grad": lambda v: v.zero_grad(),
    "parents": lambda v: v.parents,
    "in the next gradient": lambda v: cadiff.grad(lambda x: x * v)(2.0),
    "in a jvp": lambda v: cadiff.jvp(lambda x: x * v, (2.0,), (1.0,)),
    "as an argument": lambda v: cadiff.grad(lambda x: x * x)(v),
    "in an argument": lambda v: cadiff.grad(lambda x: x[0] * x[1])([1.0, v]),
    "as a result": lambda v: cadiff.grad(lambda x: v)(2.0),
    "among results": lambda v: cadiff.jacobian(lambda x: [x, v])(2.0),
    "as a hessian": lambda v: cadiff.hessian(lambda x: v)(2.0),
    "under a Dual": lambda v: Dual(v, 1.0) * 2.0,
}


@pytest.fixture
def stale() -> Any:
    """An intermediate number of a gradient that is over; its value is 6."""
    kept = []

    def f(x: Any) -> Any:
        kept.append(2.0 * x)
        return x * x

    cadiff.grad(f)(3.0)
    return kept[0]


@pytest.mark.parametrize("compute", COMPUTATIONS.values(), ids=COMPUTATIONS.keys())
def test_computing_with_a_number_of_a_past_gradient_raises(
    stale: Any, compute: Callable[[Any], Any]
) -> None:
    before = usage()
    with pytest.raises(StaleVarError, match="over"):
        compute(stale)
    assert stale.value == 6.0
    gc.collect()
    assert usage()[2] == before[2]


def test_the_value_of_a_past_number_stays_readable(stale: Any) -> None:
    for _ in range(3):
        cadiff.grad(square_sum)(np.ones(1000))
        Var(7.0) * 2.0
    assert stale.value == stale.v == stale.item() == 6.0
    assert (str(stale), repr(stale), f"{stale:.2f}") == ("6.0", "Var(6.0)", "6.00")
    assert stale == 6.0
    assert stale > 5.0
    assert bool(stale)
    assert cadiff.value([stale]) == [6.0]
    assert (stale.shape, stale.ndim, stale.size) == ((), 0, 1)


def test_stale_var_error_is_a_runtime_error_that_names_the_way_out(stale: Any) -> None:
    assert issubclass(StaleVarError, RuntimeError)
    with pytest.raises(StaleVarError, match=r"has_aux.*cadiff\.value"):
        stale + 1.0


@recording
def test_all_numbers_of_a_recording_become_stale(run: Callable[[Function, Any], Any]) -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = x[0] * x[1]
        kept.extend([x[0], x[1], y, y * 2.0, -y])
        return y * y

    run(f, [3.0, 5.0])
    assert [number.value for number in kept] == [3.0, 5.0, 15.0, 30.0, -15.0]
    for number in kept:
        with pytest.raises(StaleVarError):
            number * 2.0


READINGS: dict[str, Callable[[Any], Any]] = {
    "value": lambda v: v.value,
    "v": lambda v: v.v,
    "cadiff.value": cadiff.value,
    "shape": lambda v: v.shape,
    "ndim": lambda v: v.ndim,
    "size": lambda v: v.size,
    "T": lambda v: v.T.value,
    "len": len,
    "str": str,
    "repr": repr,
    "element": lambda v: v[1].value,
    "slice": lambda v: v[:2].value,
    "iteration": lambda v: [x.value for x in v],
    "comparison": lambda v: v > 1.5,
    "item": lambda v: v.item(1),
    "tolist": lambda v: cadiff.value(v.tolist()),
    "sum": lambda v: v.sum().value,
}


@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS.keys())
@pytest.mark.parametrize("part", [lambda v: v, lambda v: v[:3]], ids=["all", "slice"])
def test_an_array_of_a_past_gradient_reads_right_or_raises(
    read: Callable[[Any], Any], part: Callable[[Any], Any]
) -> None:
    x = np.array([1.0, 2.0, 3.0])
    kept: list[Any] = []
    cadiff.grad(lambda v: (note(kept, part(v)), v[0])[1])(x)
    expected = read(Var(x))
    try:
        got = read(kept[0])
    except StaleVarError:
        return
    np.testing.assert_equal(got, expected)


def test_elements_and_slices_of_a_past_array_become_stale() -> None:
    kept: list[Any] = []

    def f(v: Any) -> Any:
        kept.extend([v[0], v[-1], next(iter(v)), *v[1:3]])
        return v[0] * v[1]

    cadiff.grad(f)(np.arange(4.0))
    assert [number.value for number in kept] == [0.0, 3.0, 0.0, 1.0, 2.0]
    for number in kept:
        with pytest.raises(StaleVarError):
            number * 2.0


def test_numbers_are_stale_also_if_an_inner_gradient_looked_at_outer_ones() -> None:
    kept: list[Any] = []
    elements: list[Any] = []

    def inner_indexes(v: Any) -> Any:
        kept.append(v[0] * 2.0)
        cadiff.grad(lambda y: (note(elements, v[1]), y)[1])(1.0)
        elements.clear()
        return v[0] * v[1]

    def inner_walks(v: Any) -> Any:
        y = v[0] * 3.0
        kept.append(v[0] * 2.0)
        cadiff.grad(lambda z: (note(elements, y.parents), z)[1])(1.0)
        elements.clear()
        return v[0] * v[1]

    def inner_reads(v: Any) -> Any:
        kept.append(v[0] * 2.0)
        cadiff.grad(lambda y: (note(elements, v[:1], *v), y)[1])(1.0)
        elements.clear()
        return v[0] * v[1]

    for f in (inner_indexes, inner_walks, inner_reads):
        kept.clear()
        np.testing.assert_array_equal(cadiff.grad(f)(np.array([3.0, 4.0])), [4.0, 3.0])
        assert kept[0].value == 6.0
        with pytest.raises(StaleVarError):
            kept[0] * 2.0


def test_numbers_of_inner_gradients_become_stale_at_their_end() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        def g(y: Any) -> Any:
            kept.append(y * 2.0)
            return y * y

        inner = cadiff.grad(g)(5.0)
        with pytest.raises(StaleVarError):
            kept[-1] * x
        return x * inner

    assert cadiff.grad(f)(3.0) == 10.0
    assert kept[0].value == 10.0


def test_a_loop_that_keeps_a_number_of_each_gradient() -> None:
    kept: list[Any] = []
    for k in range(100):
        gradient = cadiff.grad(lambda x: (note(kept, x * x), x * x)[1])(float(k))
        assert gradient == 2.0 * k
        for number in kept[-3:]:
            with pytest.raises(StaleVarError):
                number + 1.0
    assert [number.value for number in kept] == [float(k * k) for k in range(100)]


def test_duals_of_a_past_jvp_stay_numbers() -> None:
    kept: list[Any] = []
    cadiff.jvp(lambda x: (note(kept, x * x), x)[1], (3.0,), (1.0,))
    square = kept[0] * 2.0
    assert (square.primal, square.tangent) == (18.0, 12.0)


def test_a_result_that_is_kept_holds_no_tape() -> None:
    results = [cadiff.value_and_grad(lambda x: x * x)(float(k)) for k in range(10)]
    assert results == [(float(k * k), 2.0 * k) for k in range(10)]
    assert all(type(number) is float for pair in results for number in pair)


# --- numbers of the user among gradients -------------------------------------------------------


@every_transform
def test_numbers_of_the_user_survive_gradients(run: Callable[[Function, Any], Any]) -> None:
    x, v = Var(3.0), Var([1.0, 2.0])
    y = x * x * v[1]
    y.backward()
    run(square_sum, [3.0, 5.0])
    assert (x.value, x.grad, y.value) == (3.0, 12.0, 18.0)
    np.testing.assert_array_equal(v.grad, [0.0, 9.0])
    z = y * x
    z.backward()
    assert x.grad == 12.0 + 54.0
    np.testing.assert_array_equal(v.grad, [0.0, 36.0])


@every_transform
def test_an_empty_array_of_the_user_survives_gradients(
    run: Callable[[Function, Any], Any],
) -> None:
    kept: list[Any] = []
    empty, matrix = Var(np.zeros(0)), Var(np.zeros((0, 3)))
    run(lambda x: (note(kept, x), square_sum(x))[1], [3.0, 5.0])
    assert empty.shape == empty.value.shape == empty.grad.shape == (0,)
    assert matrix.shape == matrix.value.shape == (0, 3)
    assert len(empty) == 0


@recording
def test_a_fresh_number_shows_no_adjoint_of_a_past_gradient(
    run: Callable[[Function, Any], Any],
) -> None:
    def job() -> None:
        run(square_sum, [3.0, 5.0])
        v = Var([3.0, 4.0])
        numbers = [v[0] * v[1], v[0] + 1.0, v[1] * 2.0]
        assert [number.grad for number in numbers] == [0.0, 0.0, 0.0]
        np.testing.assert_array_equal(v.grad, [0.0, 0.0])
        numbers[0].backward()
        assert [number.grad for number in numbers] == [1.0, 0.0, 0.0]
        assert (numbers[0] * 5.0).grad == 0.0

    in_thread(job)


def test_a_pullback_in_a_gradient_that_is_over_answers_right_or_raises() -> None:
    output = isolated("""
import numpy as np
from cadiff import StaleVarError, grad, hessian, vjp
kept = []
def by_outer(x):
    out, pullback = vjp(lambda y: y * y, x)
    kept.append(pullback)
    return out
def by_plain(x):
    kept.append(vjp(lambda y: y * y, 3.0)[1])
    return x * x
def by_array(x):
    kept.append(vjp(lambda y: y[0] * y[0], np.array([3.0, 1.0]))[1])
    return x * x
for f in (by_outer, by_plain, by_array):
    grad(f)(3.0)
    hessian(f)(3.0)
for pullback in kept:
    for _ in range(3):
        try:
            print(np.ravel(pullback(1.0))[0] == 6.0)
        except StaleVarError:
            print(True)
        grad(lambda x: x * x)(2.0)
""")
    assert set(output.split()) == {"True"}


def test_a_gradient_of_an_older_number_inside_another_gradient() -> None:
    old = Var(2.0)
    derived = old * old

    def f(x: Any) -> Any:
        younger = derived * x
        derived.backward()
        return younger

    gradient = cadiff.grad(f)(3.0)
    assert cadiff.value(gradient) == 4.0
    assert old.grad == 4.0
    gradient.backward()
    assert old.grad == 8.0


def test_an_outer_number_made_in_an_inner_gradient_is_right_or_stale() -> None:
    def f(x: Any) -> Any:
        made: list[Any] = []
        cadiff.grad(lambda y: (note(made, x * 5.0), y)[1])(1.0)
        assert made[0].value == 15.0
        try:
            return made[0] * x
        except StaleVarError:
            return 5.0 * x * x

    assert cadiff.grad(f)(3.0) == 30.0


class _Kept(NamedTuple):
    """A number kept for later: its value, and the gradient that it belongs to; 0 is the user."""

    number: Any
    value: float
    owner: int


class _Nesting:
    """Random gradients within gradients, all of which keep numbers of their own and of others."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kept: list[_Kept] = []
        self.open = [0]
        self.runs = 0
        self.stale = 0
        self.alive = 0

    def check(self) -> None:
        """Numbers of open gradients compute; others may raise, but are never mistaken."""
        for kept in self.kept:
            assert kept.number.value == kept.value
            try:
                twice = kept.number * 2.0
            except StaleVarError:
                assert kept.owner not in self.open
                self.stale += 1
            else:
                (parent,) = twice.parents  # what the tape holds in the place of the number
                assert parent.value == kept.value
                assert twice.value == 2.0 * kept.value
                self.alive += 1
        self.kept = [kept for kept in self.kept if self.random.random() < 0.7]

    def run(self, outer: list[_Kept], arrays: list[_Kept]) -> float:
        """One gradient with others inside; its result as a plain number."""
        choose = self.random
        self.runs += 1
        owner = self.runs
        self.open.append(owner)
        point = [choose.uniform(0.5, 1.5), choose.uniform(0.5, 1.5)]
        transform = choose.choice(["grad", "array", "jacobian", "vjp"])
        slopes: list[float] = []

        def f(v: Any) -> Any:
            pool = [(v[0], 1.0), (v[1], 0.0)]
            mine = [*arrays, _Kept(v, 0.0, owner)] if isinstance(v, Var) else arrays
            for _ in range(choose.randrange(4, 16)):
                number, slope = choose.choice(pool)
                action = choose.randrange(7)
                if action == 0:
                    other, by_other = choose.choice(pool)
                    slope = slope * other.value + number.value * by_other
                    pool.append((number * other, slope))
                elif action == 1 and outer:
                    pool.append((number + 0.5 * choose.choice(outer).number, slope))
                elif action == 2:
                    self.kept.append(_Kept(number, number.value, owner))
                elif action == 3:
                    parents = number.parents
                    self.kept += [_Kept(number * 1.0, number.value, owner)] if parents else []
                elif action == 4 and mine:
                    array, _, its_owner = choose.choice(mine)
                    element = array[choose.randrange(2)]
                    self.kept.append(_Kept(element, element.value, its_owner))
                elif action == 5 and len(self.open) < 6:
                    inside = [_Kept(n, n.value, owner) for n, _ in pool]
                    constant = self.run(outer + inside, mine)
                    pool.append((number * constant, slope * constant))
                elif action == 6 and choose.random() < 0.15:
                    raise BoomError
            result, slope = choose.choice(pool)
            slopes.append(slope)
            return result * 1.0

        try:
            if transform == "grad":
                got = cadiff.value(cadiff.grad(f)(point)[0])
            elif transform == "array":
                got = cadiff.value(cadiff.grad(f)(np.array(point)))[0]
            elif transform == "jacobian":
                got = cadiff.value(cadiff.jacobian(lambda v: [f(v), v[1]])(point)[0])[0]
            else:
                got = cadiff.value(cadiff.vjp(f, point)[1](1.0)[0])
        except BoomError:
            got = 0.5
        else:
            assert math.isclose(got, slopes[-1], rel_tol=1e-12, abs_tol=1e-12)
        self.open.pop()
        self.check()
        return math.copysign(min(abs(got), 2.0), got)


@pytest.mark.parametrize("seed", range(12))
def test_numbers_of_random_nested_gradients_live_as_long_as_these(seed: int) -> None:
    def job() -> None:
        nesting = _Nesting(seed)
        x, v = Var(0.75), Var([1.25, 0.5])
        user = [_Kept(x, 0.75, 0), _Kept(v[1], 0.5, 0)]
        for _ in range(25):
            nesting.run(user, [_Kept(v, 0.0, 0)])
            assert usage()[2] == 0
        assert nesting.stale > 100
        assert nesting.alive > 100
        (x * v[0]).backward()
        assert (x.grad, v.grad.tolist()) == (1.25, [0.75, 0.0])

    in_thread(job)


# --- backward ----------------------------------------------------------------------------------


def test_backward_may_run_often_and_in_any_order() -> None:
    x = Var(3.0)
    y = x * x
    z = y * x
    for _ in range(3):
        z.backward()
        assert (y.grad, z.grad) == (3.0, 1.0)
        y.backward()
        assert (y.grad, z.grad) == (1.0, 0.0)
    assert x.grad == 3 * (27.0 + 6.0)
    x.zero_grad()
    assert x.grad == 0.0
    assert y.grad == 1.0
    x.backward()
    assert x.grad == 1.0


def test_numbers_computed_after_a_pass_have_no_adjoint_yet() -> None:
    x = Var(3.0)
    y = x * x
    y.backward()
    z = y * y
    assert z.grad == 0.0
    z.backward()
    assert (y.grad, z.grad) == (18.0, 1.0)
    assert x.grad == 6.0 + 108.0


def test_backward_inside_a_gradient() -> None:
    def f(x: Any) -> Any:
        y = x * x
        y.backward()
        slope = x.grad  # a float, constant in what follows
        assert type(slope) is float
        w = Var(2.0)
        (w * w * x).backward()
        assert (w.grad, x.grad) == (4.0 * x.value, 4.0)  # a leaf, and the last pass's adjoint
        (w * w * x).backward()
        assert (w.grad, x.grad) == (8.0 * x.value, 4.0)
        y.backward()
        assert (w.grad, x.grad) == (8.0 * x.value, slope)
        return y * slope

    assert cadiff.grad(f)(3.0) == 6.0 * 6.0
    assert cadiff.hessian(f)(3.0) == 2.0 * 6.0
    assert cadiff.grad(lambda x: cadiff.grad(lambda y: f(y) * x)(3.0))(1.0) == 36.0


def test_gradients_do_not_count_into_grad() -> None:
    x = Var(3.0)
    for _ in range(3):
        cadiff.grad(lambda y: y * x)(2.0)
        cadiff.hessian(lambda y: y * y * x)(2.0)
    assert x.grad == 0.0


def test_many_leaves_and_many_passes() -> None:
    leaves = [Var(float(k)) for k in range(200)]
    total = square_sum(leaves)
    for _ in range(5):
        total.backward(0.5)
    assert [leaf.grad for leaf in leaves] == [5.0 * k for k in range(200)]
    for leaf in leaves[::2]:
        leaf.zero_grad()
    total.backward()
    assert [leaf.grad for leaf in leaves[:4]] == [0.0, 7.0, 4.0, 21.0]


# --- exceptions --------------------------------------------------------------------------------


class BoomError(Exception):
    """Raised by functions of these tests."""


EXCEPTIONS = [
    BoomError("told"),
    KeyboardInterrupt(),
    SystemExit(3),
    MemoryError(),
    StopIteration(1),
]


@every_transform
@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: type(error).__name__)
def test_an_exception_of_f_passes_through_and_leaves_everything_as_it_was(
    run: Callable[[Function, Any], Any], error: BaseException
) -> None:
    x = Var(3.0)
    y = x * x
    z = y * 2.0
    z.backward()

    def f(v: Any) -> Any:
        junk = v[0] * v[1]
        for _ in range(100):
            junk = junk * v[0]
        raise error

    before = usage()
    with pytest.raises(type(error)) as caught:
        run(f, [3.0, 5.0])
    assert caught.value is error
    error.__traceback__ = None
    assert usage() == before
    assert (x.grad, y.grad, z.grad, y.value) == (12.0, 2.0, 1.0, 9.0)
    assert cadiff.grad(square_sum)([3.0, 5.0]) == [6.0, 10.0]
    z.backward()
    assert x.grad == 24.0


@recording
def test_an_exception_takes_back_what_was_recorded_over_outer_numbers(
    run: Callable[[Function, Any], Any],
) -> None:
    x = Var(3.0)
    y = x * x

    def f(v: Any) -> Any:
        y * v[0] * y
        raise BoomError

    before = usage()
    with pytest.raises(BoomError):
        run(f, [3.0, 5.0])
    assert usage() == before
    y.backward()
    assert x.grad == 6.0


@every_transform
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_an_exception_passes_through_nested_gradients(
    run: Callable[[Function, Any], Any], depth: int
) -> None:
    error = BoomError()

    def fail(x: Any) -> Any:
        x[0] * x[1]
        raise error

    f: Function = fail
    for _ in range(depth):
        f = _nested(run, f)
    before = usage()
    with pytest.raises(BoomError) as caught:
        f([3.0, 5.0])
    assert caught.value is error
    error.__traceback__ = None
    assert usage() == before
    assert cadiff.grad(cadiff.grad(lambda x: x**3))(2.0) == 12.0


def _nested(run: Callable[[Function, Any], Any], f: Function) -> Function:
    return lambda x: run(f, [x[0] * 1.0, x[1]])


def test_an_inner_exception_may_be_caught_inside_f() -> None:
    def fail(y: Any) -> Any:
        if y > 0:
            raise BoomError
        return y

    def f(x: Any) -> Any:
        before = usage()[2]
        for inner in (cadiff.grad(fail), cadiff.jacfwd(fail), cadiff.hessian(fail)):
            with pytest.raises(BoomError):
                inner(x * x)
        assert usage()[2] == before
        return x * x * x

    assert cadiff.grad(f)(2.0) == 12.0
    assert cadiff.hessian(f)(2.0) == 12.0
    assert cadiff.jacfwd(f)(2.0) == 12.0


def test_numbers_in_the_frames_of_a_kept_exception_are_stale() -> None:
    def f(x: Any) -> Any:
        y = x * x
        raise BoomError(y)

    with pytest.raises(BoomError) as caught:
        cadiff.grad(f)(3.0)
    y = caught.value.args[0]
    assert y.value == 9.0
    with pytest.raises(StaleVarError):
        y * 2.0


def test_a_result_that_is_refused_leaves_the_tape_as_it_was() -> None:
    before = usage()
    for bad in (None, "text", [], True, 1j, object()):
        for run in (cadiff.grad, cadiff.hessian, cadiff.value_and_grad):
            with pytest.raises(TypeError):
                run(lambda x, bad=bad: (x * x, bad)[1])(3.0)
        assert usage() == before
    for argument in (None, "text", [1.0, None], 1j):
        for run in (cadiff.grad, cadiff.hessian, cadiff.jacobian, cadiff.jacfwd):
            with pytest.raises(TypeError):
                run(lambda x: x)(argument)
        assert usage() == before
    with pytest.raises(TypeError):
        cadiff.vjp(lambda x: None, 1.0)
    assert usage() == before


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals go to the main thread",
)
def test_an_interrupt_from_the_keyboard() -> None:
    def f(x: Any) -> Any:
        for k in range(10_000_000):
            x = x * 1.0
            if k == 1000:
                signal.raise_signal(signal.SIGINT)
        return x

    before = usage()
    # A process that was started in the background ignores the signal unless told otherwise.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for run in (cadiff.grad, cadiff.hessian, cadiff.jacfwd):
            with pytest.raises(KeyboardInterrupt):
                run(f)(1.0)
            assert usage() == before
    finally:
        signal.signal(signal.SIGINT, handler)
    assert cadiff.grad(lambda x: x * x)(3.0) == 6.0


def test_recursion_inside_f() -> None:
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    n = sys.getrecursionlimit() // 2
    assert math.isclose(cadiff.grad(lambda x: power(x, n))(1.0), n)
    assert math.isclose(cadiff.hessian(lambda x: power(x, n))(1.0), n * (n - 1))


def test_endless_recursion_inside_f() -> None:
    def endless(x: Any) -> Any:
        return endless(x * 1.0) + 1.0

    before = usage()
    for run in (cadiff.grad, cadiff.jacfwd, cadiff.hessian):
        with pytest.raises(RecursionError) as caught:
            run(endless)(1.0)
        del caught
        assert usage() == before
        assert run(lambda x: x * x * x)(2.0) == 12.0


def test_endless_nesting_of_gradients() -> None:
    def endless(x: Any) -> Any:
        return cadiff.grad(endless)(x * 1.0)

    before = usage()
    with pytest.raises(RecursionError):
        endless(1.0)
    assert usage() == before
    assert cadiff.grad(cadiff.grad(lambda x: x**3))(2.0) == 12.0


def test_generators_inside_f() -> None:
    def squares(x: Any) -> Iterator[Any]:
        for a in x:
            yield a * a

    assert cadiff.grad(lambda x: sum(squares(x)))([1.0, 2.0]) == [2.0, 4.0]


def test_a_generator_that_outlives_its_gradient_is_stale() -> None:
    kept: list[Any] = []

    def squares(x: Any) -> Iterator[Any]:
        while True:
            yield x * x

    def f(x: Any) -> Any:
        kept.append(squares(x))
        return next(kept[0])

    assert cadiff.grad(f)(3.0) == 6.0
    with pytest.raises(StaleVarError):
        next(kept[0])


def test_a_gradient_inside_a_generator_between_others() -> None:
    def slopes() -> Iterator[Any]:
        x = Var(1.0)
        while True:
            x = x * 2.0
            yield cadiff.grad(lambda y: y * y)(x)

    steps = slopes()
    first = next(steps)
    assert cadiff.grad(lambda z: z**3)(2.0) == 12.0
    second = next(steps)
    assert (first.value, second.value) == (4.0, 8.0)
    second.backward()


# --- long and large computations ---------------------------------------------------------------


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
            peaks[late] = max(peaks[late], _core.tape_usage()["numbers"])
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


def _training() -> Step:
    state = _Weights()
    return lambda k: _train(state, k)


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
    "failing gradients": (lambda: lambda k: _failing_gradient(), 50_000),
}


def _failing_gradient() -> None:
    try:
        cadiff.grad(lambda x: (x * x, None)[1])(1.0)
    except TypeError:
        return
    raise AssertionError("None is no result")


@pytest.mark.parametrize(("make", "steps"), LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_that_makes_numbers_runs_in_bounded_memory(
    make: Callable[[], Step], steps: int
) -> None:
    first, rest = in_thread(lambda: _peaks(make(), steps))
    assert rest <= 2 * max(first, 50_000)


def test_a_chain_that_forgets_its_past_runs_in_bounded_memory() -> None:
    def job() -> tuple[int, int]:
        y: Any = Var(1.0)

        def step(k: int) -> None:
            nonlocal y
            y = Var(cadiff.value(y)) * 0.5 + 1.0

        return _peaks(step, 100_000)

    first, rest = in_thread(job)
    assert rest <= 2 * first


def test_temporary_numbers_inside_a_recording_are_reclaimed() -> None:
    peaks: list[int] = []

    def f(x: Any) -> Any:
        for k in range(4_000_000):
            x * 2.0
            if k % 50_000 == 0:
                peaks.append(_core.tape_usage()["numbers"])
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
    while (now := _core.tape_usage()["entries"]) >= before:
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


@pytest.mark.parametrize(("m", "n"), [(40, 20), (600, 1), (1, 600), (30, 30)])
def test_matrix_products_of_all_shapes_in_every_sweep(m: int, n: int) -> None:
    output = isolated(f"""
import numpy as np, cadiff
A = np.linspace(-1.0, 1.0, {m * n}).reshape({m}, {n})
x = np.array([2.0, 3.0])
P = A @ A.T
product = lambda x: ((A * x[0]) @ (A * x[1]).T)
for mode in ("fwd", "rev") if {m} < 50 else ("fwd",):
    J = cadiff.jacobian(product, mode=mode)(x)
    np.testing.assert_allclose(J[..., 0], P * x[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(J[..., 1], P * x[0], rtol=1e-12, atol=1e-12)
H = cadiff.hessian(lambda x: (product(x) ** 2).sum())(x)
s = 2.0 * (P * P).sum()
np.testing.assert_allclose(H, [[s * 9, s * 12], [s * 12, s * 4]], rtol=1e-12)
print("done")
""")
    assert output == "done"


# --- threads -----------------------------------------------------------------------------------


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


def test_one_transform_serves_many_threads() -> None:
    transform = cadiff.value_and_grad(square_sum)
    expected = [transform([float(k), 1.0]) for k in range(8)]
    assert [in_thread(functools.partial(transform, [float(k), 1.0])) for k in range(8)] == expected


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
    "closure": lambda other: cadiff.grad(lambda x: x * other)(2.0),
    "argument": lambda other: cadiff.grad(lambda x: x * x)(other),
    "hessian": lambda other: cadiff.hessian(lambda x: x * x * other)(2.0),
}


@pytest.mark.parametrize("mix", MIXTURES.values(), ids=MIXTURES.keys())
def test_numbers_of_two_threads_do_not_mix(mix: Callable[[Any], Any]) -> None:
    mine = Var(3.0)
    other = in_thread(lambda: Var(2.0) * 1.5)
    alive = threading.Event()
    numbers: list[Any] = []

    def run() -> None:
        numbers.append(Var(2.0) * 1.5)
        started.set()
        alive.wait()

    started = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    try:
        before = usage()[2]
        for stranger in (other, numbers[0]):
            with pytest.raises(RuntimeError, match="thread"):
                mix(stranger)
            assert usage()[2] == before
    finally:
        alive.set()
        thread.join()
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


# --- no memory left ----------------------------------------------------------------------------


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
    return out.tolist(), pullback([1.0, 0.0]).tolist(), pullback([0.0, 1.0]).tolist()


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
        _core._fail_allocations_after(successes)
        try:
            result = job()
        except MemoryError:
            came_through = False
        else:
            came_through = True
            assert result == expected
        finally:
            _core._fail_allocations_after(-1)
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


def test_without_memory_a_pass_changes_no_gradient() -> None:
    def attempt(successes: int) -> bool:
        x, v = Var(3.0), Var(_vector(3000))
        x.backward(5.0)
        y = _cubes(v) * x
        before = usage()
        _core._fail_allocations_after(successes)
        try:
            y.backward()
        except MemoryError:
            done = False
            assert x.grad == 5.0
            assert not v.grad.any()
        else:
            done = True
        finally:
            _core._fail_allocations_after(-1)
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

        _core._fail_allocations_after(0)
        try:
            with pytest.raises(MemoryError):
                grow()
        finally:
            _core._fail_allocations_after(-1)
        assert [number.value for number in numbers] == [2.0 + k for k in range(len(numbers))]
        more = numbers[-1] * x
        more.backward()
        assert x.grad == numbers[-1].value + 2.0

    in_thread(job)


# --- leaks -------------------------------------------------------------------------------------


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
