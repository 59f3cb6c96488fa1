"""How long numbers live: after gradients, among others, after backward passes and exceptions.

A number either stays valid or raises StaleVarError; it never shows another number's value. What a
failing call leaves behind is what there was before it.
"""

from __future__ import annotations

import gc
import math
import operator
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import cadiff
from cadiff import Dual, StaleVarError, Var

from ..helpers.functions import TRANSFORMS, BoomError, square_sum
from ..helpers.memory import usage
from ..helpers.processes import isolated
from ..helpers.threads import in_thread

Function = Callable[..., Any]


def note(kept: list[Any], *numbers: Any) -> int:
    """Keep numbers beyond their time; how many are kept."""
    kept.extend(numbers)
    return len(kept)


def call(transform: Callable[[Function], Function], f: Function, x: Any) -> Any:
    return transform(f)(x)


# --- numbers that outlive their gradient ---------------------------------------------------------

# Transforms that record, as functions of a function and a point that is a list of two numbers.
RECORDING: dict[str, Callable[[Function, Any], Any]] = {
    **{name: partial(call, make) for name, make in TRANSFORMS.items() if name != "jacfwd"},
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
    "power": lambda v: v**3,
    "negative": operator.neg,
    "absolute": abs,
    "divmod": lambda v: divmod(v, 2.0),
    "round": round,
    "floor": math.floor,
    "cadiff.sin": cadiff.sin,
    "np.sin": np.sin,
    "np.float64 on the left": lambda v: np.float64(2.0) * v,
    "with a fresh Var": lambda v: Var(1.0) * v,
    "array": lambda v: np.array([1.0, 2.0]) * v,
    "grad": lambda v: v.grad,
    "backward": lambda v: v.backward(),
    "zero_grad": lambda v: v.zero_grad(),
    "parents": lambda v: v.parents,
    "in the next gradient": lambda v: cadiff.grad(lambda x: x * v)(2.0),
    "in a jvp": lambda v: cadiff.jvp(lambda x: x * v, (2.0,), (1.0,)),
    "as an argument": lambda v: cadiff.grad(lambda x: x * x)(v),
    "in an argument": lambda v: cadiff.grad(lambda x: x[0] * x[1])([1.0, v]),
    "as a result": lambda v: cadiff.grad(lambda x: v)(2.0),
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


LOOKS: dict[str, Callable[[Any, Any], Any]] = {  # at an array, and at what was computed of it
    "element": lambda v, y: v[1],
    "parents": lambda v, y: y.parents,
    "all": lambda v, y: (v[:1], *v),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_numbers_are_stale_also_if_an_inner_gradient_looked_at_outer_ones(
    look: Callable[[Any, Any], Any],
) -> None:
    kept: list[Any] = []
    seen: list[Any] = []

    def f(v: Any) -> Any:
        y = v[0] * 3.0
        kept.append(v[0] * 2.0)
        cadiff.grad(lambda z: (note(seen, look(v, y)), z)[1])(1.0)
        seen.clear()
        return v[0] * v[1]

    np.testing.assert_array_equal(cadiff.grad(f)(np.array([3.0, 4.0])), [4.0, 3.0])
    assert kept[0].value == 6.0
    with pytest.raises(StaleVarError):
        kept[0] * 2.0


# --- numbers of the user among gradients ---------------------------------------------------------


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


@every_transform
def test_an_empty_array_survives_gradients_that_begin_where_it_ends(
    run: Callable[[Function, Any], Any],
) -> None:
    def f(parts: Any) -> Any:
        run(square_sum, [3.0, 5.0])
        program = cadiff.compile(lambda v: np.sum(np.where(v > 0.5, v, 0.5 * v)))
        return program(np.zeros(2)) + np.sum(parts[0]) + np.sum(2.0 * parts[1])

    first, last = cadiff.grad(f)([np.zeros(2), np.zeros(0)])
    np.testing.assert_array_equal(first, [1.0, 1.0])
    assert last.shape == (0,)


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


# --- backward ------------------------------------------------------------------------------------


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


# --- exceptions ----------------------------------------------------------------------------------


EXCEPTIONS = [
    BoomError("told"),
    KeyboardInterrupt(),
    SystemExit(3),
    MemoryError(),
    StopIteration(1),
]


def nested(run: Callable[[Function, Any], Any], f: Function) -> Function:
    return lambda x: run(f, [x[0] * 1.0, x[1]])


@every_transform
@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_an_exception_of_f_passes_through_and_leaves_everything_as_it_was(
    run: Callable[[Function, Any], Any], error: BaseException, depth: int
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

    failing: Function = f
    for _ in range(depth):
        failing = nested(run, failing)
    before = usage()
    with pytest.raises(type(error)) as caught:
        run(failing, [3.0, 5.0])
    assert caught.value is error
    error.__traceback__ = None
    assert usage() == before
    assert (x.grad, y.grad, z.grad, y.value) == (12.0, 2.0, 1.0, 9.0)
    assert cadiff.grad(square_sum)([3.0, 5.0]) == [6.0, 10.0]
    z.backward()
    assert x.grad == 24.0


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
