"""Python's own loops whose number of turns differs from call to call, found in recordings.

What Python gives, differentiated as any Python, is the truth. That a loop was found is told by few
recordings, and by few eager runs of f, at many numbers of turns.
"""

from __future__ import annotations

import gc
import itertools
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cadiff
from cadiff.programs import found_loops

from ..helpers.threads import in_threads

MANY = np.linspace(0.03, 1.16, 40).tolist()  # of which most take another number of turns
A = np.array([[0.2, 0.5, 0.1], [0.1, 0.1, 0.3], [0.4, 0.2, 0.1]])
LIMIT = [400]  # of turns


def same(actual: Any, expected: Any, rtol: float = 1e-10) -> None:
    a, b = cadiff.flatten(actual)[0], cadiff.flatten(expected)[0]
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b), initial=1e-300))


@pytest.fixture(autouse=True)
def _any_loop_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_loops, "LEAST_WORK", 0.0)


# --- forms of loops: a step, when to end, and what comes of it -----------------------------------


def ends_by_condition(step: Any, is_far: Any, y: Any) -> Any:
    d = 1.0 + 0.0 * y
    while is_far(d):
        z = step(y)
        d, y = z - y, z
    return y


def ends_by_break(step: Any, is_far: Any, y: Any) -> Any:
    for _ in range(LIMIT[0]):
        z = step(y)
        d, y = z - y, z
        if not is_far(d):
            break
    return y


def ends_by_return(step: Any, is_far: Any, y: Any) -> Any:
    while True:
        z = step(y)
        if not is_far(z - y):
            return z * y  # of the last turn, and of the one before
        y = z


def raises_in_the_end(step: Any, is_far: Any, y: Any) -> Any:
    for _ in range(LIMIT[0]):
        z = step(y)
        d, y = z - y, z
        if not is_far(d):
            break
    else:
        raise ArithmeticError("no convergence")
    return y


def with_momentum(step: Any, is_far: Any, y: Any) -> Any:
    v = 0.0
    while True:
        v = 0.4 * v + step(y) - y
        y = y + 0.3 * v
        if not is_far(v):
            return y + v


def with_history(step: Any, is_far: Any, y: Any) -> Any:
    ys, total = [y], 0.0
    while True:
        ys.append(step(ys[-1]))
        total = total + ys[-1]
        if not is_far(ys[-1] - ys[-2]):
            return ys[-1] * ys[1] + total


def with_other_turns_later(step: Any, is_far: Any, y: Any) -> Any:
    """A derivative is cut in late turns, which no value shows."""
    for k in range(LIMIT[0]):
        z = step(cadiff.stop_gradient(y) if k > 9 else y)
        d, y = z - y, z
        if not is_far(d):
            break
    return y


def with_branch_behind(step: Any, is_far: Any, y: Any) -> Any:
    y = ends_by_condition(step, is_far, y)
    return 2.0 * y if np.sum(y) > 0.4 else y * y


def with_branch_within(step: Any, is_far: Any, y: Any) -> Any:
    while True:
        z = step(y)
        if np.sum(z) < 0.3:
            z = 1.1 * z
        if not is_far(z - y):
            return z
        y = z


def with_counter(step: Any, is_far: Any, y: Any) -> Any:
    n = 0
    while True:
        z = step(y) + 0.01 * n * 0.1**n
        n += 1
        if not is_far(z - y):
            return z * n
        y = z


def twice(step: Any, is_far: Any, y: Any) -> Any:
    y = ends_by_condition(step, is_far, y)
    return ends_by_break(lambda z: step(0.5 * z), is_far, y)


FORMS = [
    *(ends_by_condition, ends_by_break, ends_by_return, raises_in_the_end, with_momentum),
    *(with_history, with_other_turns_later, with_branch_behind, with_branch_within),
    *(with_counter, twice),
]


def of_numbers(form: Any, tolerance: float = 1e-10) -> Callable[[Any], Any]:
    return lambda x: form(lambda y: cadiff.cos(y) * x, lambda d: abs(d) > tolerance, 0.3 * x)


def of_arrays(form: Any, tolerance: float = 1e-10) -> Callable[[Any], Any]:
    return lambda x: form(
        lambda y: np.cos(A @ y) * x, lambda d: np.linalg.norm(d) > tolerance, 0.3 * x
    )


def tried(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except ArithmeticError as error:
        return str(error)


def check_at(f: Any, program: Any, x: Any, is_deep: bool) -> None:
    expected = tried(f, x)
    if isinstance(expected, str):
        for method in (program, program.jacobian, program.jvp):
            args = ((x,), (x,)) if method == program.jvp else (x,)
            assert tried(method, *args) == expected
        return
    same(program(x), expected, 1e-13)
    slope = cadiff.jacobian(f)(x)
    same(program.jacobian(x), slope)
    same(program.jvp((x,), (x,)), cadiff.jvp(f, (x,), (x,)))
    if np.ndim(x) == 0:
        same(program.value_and_grad(x), (expected, slope))
        if is_deep:
            same(program.hessian(x), cadiff.hessian(f)(x), 1e-7)


@settings(max_examples=12)
@given(
    form=st.sampled_from(FORMS),
    tolerance=st.sampled_from([1e-4, 1e-8, 1e-12]),
    max_traces=st.integers(3, 8),
    is_of_arrays=st.booleans(),
    limit=st.sampled_from([1, 12, 400]),
    seed=st.integers(0, 1000),
)
def test_whatever_the_number_of_turns(
    form: Any, tolerance: float, max_traces: int, is_of_arrays: bool, limit: int, seed: int
) -> None:
    LIMIT[0] = limit
    f = (of_arrays if is_of_arrays else of_numbers)(form, tolerance)
    program: Any = cadiff.compile(f, max_traces=max_traces)
    rng = np.random.default_rng(seed)
    for k, size in enumerate(rng.permutation(MANY)[:24].tolist() + [0.0]):
        x = size * np.array([0.9, 0.5, 0.7]) if is_of_arrays else size
        check_at(f, program, x, k % 8 == 0)


@pytest.mark.parametrize("make", [of_numbers, of_arrays])
@pytest.mark.parametrize("form", [*FORMS[:6], with_branch_behind])
def test_loops_are_found(form: Any, make: Any) -> None:
    LIMIT[0] = 400
    program: Any = cadiff.compile(make(form), max_traces=4)
    sizes = MANY if make is of_numbers else np.outer(MANY, [0.9, 0.5, 0.7])
    for x in sizes:
        program(x)
    stats = program.stats()
    assert stats["eager"] <= 1
    assert stats["recordings"] <= (8 if form is with_branch_behind else 6)
    for x in [*sizes, *sizes]:  # some in the place of a recording that the loop has taken
        former = program.stats()["branch_changes"]
        program(x)
    assert program.stats()["branch_changes"] == former


def bisected(x: Any) -> Any:
    low, high = 0.0 * x, 4.0 + x
    while high - low > 1e-3 * (0.1 + x):
        middle = 0.5 * (low + high)
        if middle**3 > x:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high) * x


def stepped(x: Any) -> Any:
    """Steps that the error chooses, some of which are rejected, and the last is cut off."""
    t, h, y = 0.0, 0.3, 1.0 + x
    while t < 2.0:
        slope = -x * y * y
        more = -x * (y + h * slope) ** 2
        error = 0.5 * h * abs(more - slope) / 1e-5 + 1e-6
        if error <= 1.0:
            t, y = t + h, y + 0.5 * h * (slope + more)
        h = h * min(1.5, 0.9 / error**0.5)
        if t + h > 2.0:
            h = 2.0 - t
    return y


def series(x: Any) -> Any:
    term, total, n = 1.0, 1.0, 0
    while abs(term) > 1e-12:
        n += 1
        term = term * x / n
        total = total + term
    return total * n


def of_data(x: Any) -> Any:
    total = 0.0
    for r in DATA:
        total = total + r * cadiff.sin(x * r)
        if total > 9.0:
            break
    return total * x


def lagged(x: Any) -> Any:
    """The secant method, whose turns read what the turn before the last has computed."""
    y, z = 0.1, 1.0 + x
    f, g = y**3 + y - x, z**3 + z - x
    while abs(z - y) > 1e-9:
        y, f, z = z, g, z - g * (z - y) / (g - f)
        g = z**3 + z - x
    return z


DATA = np.random.default_rng(0).uniform(0.5, 1.5, 400).tolist()
SYSTEM = np.array([0.9, 0.5, 0.7])


def solved(size: Any) -> Any:
    """Linear systems are solved in the turns."""
    x, y = size * SYSTEM, np.ones(3)
    for _ in range(200):
        jacobian = np.eye(3) + 0.3 * (np.cos(A @ y) * x)[:, None] * A
        step = np.linalg.solve(jacobian, y + 0.3 * np.sin(A @ y) * x - x)
        y = y - 0.5 * step
        if np.dot(step, step) < 1e-24 * (1.0 + x[0]) ** 40:
            break
    return y @ SYSTEM


def with_odd_thirds(x: Any) -> Any:
    """Numbers of turns between others differ in a derivative, which no value shows."""
    y, n = 0.3 * x, 0
    while True:
        z, n = cadiff.cos(y) * x, n + 1
        if abs(z - y) < 1e-9:
            return z if n % 3 else z + 0.0 * z + cadiff.stop_gradient(z) - z
        y = z


def averaged(x: Any) -> Any:
    """Each third turn is another one, of which no comparison tells."""
    y, n = 0.3 * x, 0
    while True:
        z, n = cadiff.cos(y) * x, n + 1
        if n % 3 == 0:
            z = 0.5 * (z + y)
        if abs(z - y) < 1e-9:
            return z
        y = z


def thirty_turns(x: Any) -> Any:
    y = 0.0 * x
    for k in range(30):
        y = y + (cadiff.sin(x + k) if x > 0.9 * cadiff.cos(k * x) else 0.5 * x)
    return y


# Functions with branches, counters and data in turns, loops behind others, and what is no loop;
# how many recordings are kept, and how often f runs at most after the first of them.
WIDER: dict[str, tuple[Callable[[Any], Any], int, float]] = {
    "bisected": (bisected, 3, 4),
    "stepped": (stepped, 6, 4),
    "series": (series, 3, 4),
    "data": (of_data, 3, 4),
    "lagged": (lagged, 3, 4),
    "two loops": (of_numbers(twice), 3, 4),
    "counter": (of_numbers(with_counter), 3, 4),
    "system": (solved, 3, 0),
    "late turns": (of_numbers(with_other_turns_later, 1e-8), 16, np.inf),
    "odd thirds": (with_odd_thirds, 4, np.inf),
    "averaged": (averaged, 16, np.inf),
    "thirty": (thirty_turns, 16, np.inf),
    "many recordings": (of_numbers(ends_by_condition), 64, 0),
}


@pytest.mark.parametrize("name", WIDER)
def test_turns_of_several_kinds(name: str) -> None:
    LIMIT[0] = 400
    f, max_traces, most_eager = WIDER[name]
    program: Any = cadiff.compile(f, max_traces=max_traces)
    points = np.random.default_rng(0).permutation(MANY).tolist()
    for k, x in enumerate(points + points):
        if k % 8 == 7:
            check_at(f, program, x, k % 40 == 39)
        same(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
    assert program.stats()["eager"] <= most_eager


@pytest.mark.parametrize("f", [averaged, thirty_turns])
def test_recordings_of_what_is_no_loop_are_exchanged(f: Any) -> None:
    program = cadiff.compile(f)
    for x in 4 * MANY:
        same(program(x), f(x))


def too_many(x: Any) -> Any:
    """A turn of one kind comes no more often than in a recording: f may count such turns."""
    y, taken = 1.0 + x, 0
    while y > 0.05:
        if np.sin(300.0 * y) > 0.3:
            y, taken = 0.8 * y, taken + 1
            if taken > 9:
                raise ArithmeticError("too many")
        else:
            y = 0.93 * y - 0.001 * x
    return y


def never_over(x: Any) -> Any:
    for _ in range(60):
        x = cadiff.cos(x) * 1.2 if x > -2.0 else 4.0 * x * x
        if abs(x - 0.0123456) < 1e-3 * abs(x):
            return x
    raise ArithmeticError("no convergence")


@pytest.mark.parametrize(
    ("f", "points", "atol"),
    [
        (too_many, np.random.default_rng(0).uniform(0.0, 1.0, 200).tolist(), 1e-13),
        (never_over, np.linspace(-1.0, 1.0, 60).tolist(), 0.0),
    ],
)
def test_turns_end_where_those_of_f_raise(f: Any, points: list[float], atol: float) -> None:
    program = cadiff.compile(f, max_traces=3)
    outcomes = [tried(f, x) for x in points]
    kinds = [type(one) for one in outcomes]
    assert kinds.count(str) > 0
    assert kinds.count(float) > 10 or f is never_over
    for x, expected in zip(points, outcomes, strict=True):
        value = tried(program, x)
        assert value == expected if type(expected) is str else abs(value - expected) <= atol


def halved(y: Any, x: Any) -> tuple[Any, Any]:
    return 0.8 * y * cadiff.cos(0.1 * y), 0.93 * y - 0.001 * x + 0.001 * cadiff.sin(y) * y


def counting_turns(x: Any) -> Any:
    y, n = 1.0 + x, 0
    while y > 0.02:
        n += 1
        is_steep = cadiff.sin(300.0 * y) > 0.9
        y = halved(y, x)[0 if is_steep else 1]
        if is_steep and n % 20 == 0:
            y = 0.9 * y
    return y + cadiff.exp(-x * y)


def counting_two_ways(x: Any) -> Any:
    y, n = 1.0 + x, [0, 0]
    while y > 0.02:
        k = 0 if cadiff.sin(300.0 * y) > 0.3 else 1
        y, n[k] = halved(y, x)[k], n[k] + 1
        if n == [3, 5]:
            y = 0.97 * y
    return y + cadiff.exp(-x * y)


def counting_in_a_generator(x: Any) -> Any:
    def factors() -> Any:
        for n in itertools.count():
            yield 0.9 if n % 13 == 12 else 1.0

    factor = factors()
    y = 1.0 + x
    while y > 0.02:
        q = next(factor)
        y = q * halved(y, x)[0] if cadiff.sin(300.0 * y) > 0.9 else halved(y, x)[1]
    return y + cadiff.exp(-x * y)


def counting_in_an_iterator(x: Any) -> Any:
    y = 1.0 + x
    for q in itertools.cycle([cadiff.cos(0.1 * x)] * 12 + [x]):
        y = q * halved(y, x)[0] if cadiff.sin(300.0 * y) > 0.3 else halved(y, x)[1]
        if y < 0.02:
            break
    return y + cadiff.exp(-x * y)


def counting_in_a_class(x: Any) -> Any:
    class Turns:
        n = 0

    y = 1.0 + x
    while y > 0.02:
        Turns.n += 1
        is_steep = cadiff.sin(300.0 * y) > 0.9
        y = halved(y, x)[0 if is_steep else 1] * (0.9 if is_steep and Turns.n % 20 == 0 else 1.0)
    return y + cadiff.exp(-x * y)


HIDING = [
    *(counting_turns, counting_two_ways, counting_in_a_generator, counting_in_an_iterator),
    counting_in_a_class,
]


@pytest.mark.parametrize("f", HIDING)
def test_what_no_outcome_shows_is_not_guessed(f: Any) -> None:
    """Ways through turns of several kinds may differ in what f holds beside recorded numbers."""
    for max_traces in (3, 8):
        program: Any = cadiff.compile(f, max_traces=max_traces)
        for x in np.random.default_rng(max_traces).uniform(0.0, 1.0, 100).tolist():
            assert abs(program(x) - f(x)) < 1e-12
        assert program.stats()["obstacles"] == []


def test_a_loop_that_holds_nothing_else_goes_any_way() -> None:
    def f(x: Any) -> Any:
        y = 1.0 + x
        while y > 0.02:
            y = halved(y, x)[0 if cadiff.sin(300.0 * y) > 0.3 else 1]
        return y + cadiff.exp(-x * y)

    program = cadiff.compile(f, max_traces=4)
    points = np.random.default_rng(0).uniform(0.0, 1.0, 200).tolist()
    for x in points:
        same(program.value_and_grad(x), cadiff.value_and_grad(f)(x), 1e-9)
    former = program.stats()
    for x in np.array(points) + 1e-3:
        same(program.value_and_grad(x), cadiff.value_and_grad(f)(x), 1e-9)
    assert program.stats()["eager"] - former["eager"] < 5


def test_many_points() -> None:
    f = of_numbers(ends_by_condition)
    program = cadiff.compile(f)
    X = np.array(MANY)
    for _ in range(2):
        same(program.batch(X), np.array([f(x) for x in X]))
        same(program.batch(X, what="grad"), np.array([cadiff.grad(f)(x) for x in X]))
        for x in MANY:
            program(x)
    same(cadiff.vmap(program)(X), np.array([f(x) for x in X]))


def test_within_others() -> None:
    f = of_numbers(ends_by_break)
    program = cadiff.compile(f)
    for x in MANY:
        program(x)
    outer = lambda x: program(x) ** 2 + x  # noqa: E731
    plain = lambda x: f(x) ** 2 + x  # noqa: E731
    compiled = cadiff.compile(outer)
    for x in MANY:
        same(cadiff.value_and_grad(outer)(x), cadiff.value_and_grad(plain)(x))
        same(compiled.value_and_grad(x), cadiff.value_and_grad(plain)(x))


def test_what_is_read_changes() -> None:
    scale = [1.0]

    def f(x: Any) -> Any:
        return ends_by_condition(
            lambda y: cadiff.cos(y) * x * scale[0], lambda d: abs(d) > 1e-9, x
        )

    program = cadiff.compile(f)
    for scale[0] in (1.0, 0.9, 0.8):
        for x in [0.0, *MANY]:
            same(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
        assert program.stats()["eager"] == 0


def test_numbers_that_are_not_finite() -> None:
    f = of_numbers(ends_by_break)
    program = cadiff.compile(f)
    for x in MANY:
        program.grad(x)
    for x in (np.nan, np.inf, -np.inf, 0.0):
        np.testing.assert_equal(program(x), f(x))
        np.testing.assert_allclose(program.grad(x), cadiff.grad(f)(x))


def test_threads_and_pickles() -> None:
    f = of_numbers(ends_by_return)
    program: Any = cadiff.compile(f)

    def run(seed: int) -> list[Any]:
        points = np.random.default_rng(seed).permutation(MANY).tolist()
        return [(x, program.value_and_grad(x)) for x in points]

    for x, pair in itertools.chain.from_iterable(in_threads(3, run)):
        same(pair, cadiff.value_and_grad(f)(x))
    of_module = cadiff.compile(newton)
    for x in MANY:
        of_module(x)
    again = pickle.loads(pickle.dumps(of_module))
    for x in MANY:
        assert again(x) == newton(x)


def newton(x: Any) -> Any:
    y = 20.0 + 100.0 * x
    while abs(y * y - x) > 1e-9:
        y = y - 0.3 * (y * y - x) / (2.0 * y)
    return y


def test_derivatives_of_turns_that_are_not_finite_are_those_of_f() -> None:
    f = of_arrays(ends_by_condition, 1e-4)
    program = cadiff.compile(f, max_traces=3)
    for size in MANY:
        program.jacobian(size * np.array([0.9, 0.5, 0.7]))
    zeros = np.zeros(3)  # the norm of the last step is 0
    np.testing.assert_array_equal(program.jacobian(zeros), np.eye(3))
    same(program.jvp((zeros,), (A[0],)), (zeros, A[0]))
    same(program.vjp(zeros)[1](A[0]), A[0])


def test_a_loop_goes_with_its_program() -> None:
    f = of_numbers(ends_by_condition)
    program, died = cadiff.compile(f), weakref.ref(f)
    for x in MANY:
        program.grad(x)
    del program, f
    gc.collect()
    assert died() is None
