"""Calls that no recording of a program serves, when there may be no more of them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

from ..helpers.processes import isolated
from ..helpers.programs import near, quiet, same, stacked
from ..helpers.properties import examples
from ..helpers.ways import METHODS, Eager

Function = Callable[..., Any]


def hinges(x: Any, scale: Any = 1.0) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + (x[k] * x[k] * scale if x[k] > 0.0 else cadiff.sin(x[k]) - x[k])
    return total


def signs(n: int) -> Iterator[np.ndarray]:
    """Points with all signs, so that each chooses otherwise."""
    for k, chosen in enumerate(itertools.product([-1.0, 1.0], repeat=n)):
        yield np.array(chosen) * (1.0 + np.arange(n) + 0.01 * k)


@pytest.mark.parametrize("method", METHODS)
def test_misses_are_right(method: str) -> None:
    program = cadiff.compile(hinges, max_traces=3)
    call, eager = METHODS[method], Eager(hinges)
    for _ in range(3):
        for x in signs(5):
            same(call(program, x), call(eager, x), method)
    stats = program.stats()
    assert len(stats["traces"]) == 3
    assert 3 <= stats["recordings"] <= 8
    assert 70 <= stats["eager"] <= 93


@pytest.mark.parametrize("method", METHODS)
def test_what_becomes_steady_is_replayed(method: str) -> None:
    """However many other ways it went before."""
    program = cadiff.compile(hinges, max_traces=2)
    call, eager = METHODS[method], Eager(hinges)
    for x in signs(5):
        call(program, x)
    x = np.array([1.0, -1.0, 1.0, -1.0, 2.0])
    for _ in range(100):
        same(call(program, x), call(eager, x))
    before = program.stats()
    same(call(program, 1.5 * x), call(eager, 1.5 * x))
    assert program.stats()["eager"] == before["eager"]
    assert before["branch_changes"] - before["recordings"] < 132


WAYS_AROUND = {
    "calls": (lambda program: program.grad, cadiff.grad(hinges)),
    "calls within derivatives": (
        lambda program: cadiff.grad(lambda x: 2.0 * program(x)),
        cadiff.grad(lambda x: 2.0 * hinges(x)),
    ),
}


@pytest.mark.parametrize("name", WAYS_AROUND)
def test_what_comes_once_is_not_recorded_and_what_comes_again_is(name: str) -> None:
    around, expected = WAYS_AROUND[name]
    program = cadiff.compile(hinges, max_traces=2)
    gradient = around(program)
    points = list(signs(8))
    for x in points * 2:
        near(gradient(x), expected(x))
    stats = program.stats()
    assert stats["recordings"] <= 3 and stats["eager"] > 400
    for x in (points[100], points[200], points[30]):
        before = program.stats()["eager"]
        for _ in range(80):
            near(gradient(x), expected(x))
        assert program.stats()["eager"] - before <= 40


def test_what_is_used_stays() -> None:
    """Beside other branches, and beside other shapes."""
    program = cadiff.compile(hinges, max_traces=3)
    used = np.ones(5)
    for x in signs(5):
        for n in range(4):
            program.grad(x)
            program.grad(np.ones(n + 6))
            program.grad(used)
    before = program.stats()["eager"]
    for _ in range(10):
        program.grad(used)
    assert program.stats()["eager"] == before > 20


def changed_each_time() -> dict[str, tuple[Function, Callable[[int], tuple[Any, ...]]]]:
    """Functions, and the arguments of their k-th calls, no two of which are alike."""
    rate = [1.0]
    random = np.random.default_rng(0)

    def scaled(c: float) -> Function:
        return lambda v: v * c

    def changing(k: int) -> tuple[Any, ...]:
        rate[0] = float(k)
        return (2.0,)

    return {
        "strs": (lambda x, name: x * x * len(name), lambda k: (2.0, str(k))),
        "lambdas": (lambda x, g: g(x) * x, lambda k: (2.0, scaled(float(k)))),
        "closures": (lambda x: x * x * rate[0], changing),
        "slices": (lambda x, k: cnp.sum(x[k % 40 :] ** 2), lambda k: (np.ones(50), k)),
        "lengths": (lambda x: cnp.sum(x * x), lambda k: (np.ones(k + 1),)),
        "masks": (lambda x: cnp.sum(x[x > 0] ** 2), lambda k: (random.normal(size=2000),)),
        "branches": (hinges, lambda k: (random.normal(size=20),)),
        "numbers of uses": (
            lambda x, name: x * x * len(name),
            lambda k: (2.0, str(k // 3)),  # recordings that serve twice do not pay
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", changed_each_time())
def test_what_changes_each_time_is_mostly_run_eagerly(kind: str) -> None:
    """A recording now and then at first, whatever it is that changes, and soon of what stays."""
    f, arguments = changed_each_time()[kind]
    program, eager = cadiff.compile(f), cadiff.grad(f)
    counts = []
    for k in range(900):
        given = arguments(k)
        near(program.grad(*given), eager(*given))
        if k in (299, 899):
            counts.append(program.stats()["recordings"])
    assert counts[0] <= 34
    assert counts[1] <= counts[0] + 3
    given = arguments(900)
    before = program.stats()["eager"]
    for _ in range(50):
        near(program.grad(*given), eager(*given))
    assert program.stats()["eager"] - before <= 32


def test_each_signature_has_misses_of_its_own() -> None:
    program = cadiff.compile(hinges, max_traces=2)
    gradient = cadiff.grad(hinges)
    for _ in range(2):
        for x in signs(4):
            for scale in (1.0, 2.5):
                same(program.grad(x, scale=scale), gradient(x, scale=scale))
            same(program.grad(list(x)), gradient(list(x)))
            same(program.grad(x.astype(np.float32)), gradient(x.astype(np.float32)))
            same(program.grad(x[:1]), gradient(x[:1]))
            same(program(x), hinges(x))
    assert max(np.bincount([trace["inputs"] for trace in program.stats()["traces"]])) <= 6


def test_errors_of_misses_are_those_of_f() -> None:
    def f(x: Any) -> Any:
        for k in range(len(x)):
            if x[k] > 0.0:
                raise ArithmeticError(f"entry {k} is positive")
            if x[k] > -1.0:
                return x[k] * x[k]
        return cnp.sum(x)

    program = cadiff.compile(f, max_traces=1)
    eager = cadiff.grad(f)
    points = [np.array(x) for x in itertools.product([-2.0, -0.5], repeat=3)]
    for x in points * 4:
        same(program.grad(x), eager(x))
    for _ in range(3):
        with pytest.raises(ArithmeticError, match="entry 1"):
            program.grad(np.array([-2.0, 1.0, 0.0]))
        same(program.grad(points[2]), eager(points[2]))


OTHER_FORMS: list[Callable[[Any], Any]] = [
    lambda x: (x, x) if x > 0.0 else x * x,
    lambda x: "positive" if x > 0.0 else x * x,
    lambda x: 1j * x if x > 0.0 else x * x,
]


@pytest.mark.parametrize("f", OTHER_FORMS)
@pytest.mark.parametrize("what", ["grad", "hessian", "jacobian", "hvp", "sparse_hessian"])
def test_what_is_wrong_with_another_result_is_not_said(f: Callable[[Any], Any], what: str) -> None:
    """A recording of another outcome, which is tried first, may have no such derivative."""
    program = cadiff.compile(f)
    program(1.0)
    args = (-1.5, 1.0) if what == "hvp" else (-1.5,)
    found = getattr(program, what)(*args)
    found = found.toarray()[0, 0] if what == "sparse_hessian" else found
    assert found == (-3.0 if what in ("grad", "jacobian") else 2.0)


def test_functions_of_python_are_not_run_for_each_recording() -> None:
    runs = []

    @cadiff.primitive
    def sines(x: Any) -> Any:
        runs.append(1)
        return np.sin(x)

    sines.defvjp(lambda ans, x: lambda g: g * np.cos(x))

    def f(x: Any) -> Any:
        y = sines(x)
        return cnp.sum(y) * sum(1.0 for k in range(30) if y[0] > k / 30.0)

    program = cadiff.compile(f, max_traces=8)
    X = np.random.default_rng(0).uniform(0.0, np.pi, (400, 3))
    for x in X:
        same(program.grad(x), cadiff.grad(f)(x))
    runs.clear()
    for x in X:
        program.grad(x)
    assert 400 <= len(runs) <= 1200


def test_what_cannot_be_replayed_has_a_short_way() -> None:
    calls = []

    def f(x: Any, power: int = 2) -> Any:
        calls.append(power)
        return cnp.sum(x**power) * len(f"{x[0]:.1f}")

    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning, match="eagerly"):
        program.grad(np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.ones(2), np.array([2.0, 3.0])):
            same(program.grad(x), cadiff.grad(f)(x))
    with pytest.warns(RuntimeWarning, match="eagerly"):
        same(program.grad(np.ones(2), 3), cadiff.grad(f)(np.ones(2), 3))
    before = len(calls)
    program.grad(np.ones(2))
    assert len(calls) == before + 1
    program.clear()
    with pytest.warns(RuntimeWarning, match="eagerly"):
        program.grad(np.ones(2))


def test_a_function_may_clear_its_program() -> None:
    isolated("""
import numpy as np, cadiff
kept, calls = [], [0]
def f(x):
    calls[0] += 1
    if calls[0] % 23 == 0:
        program.clear()
        kept[:] = [tuple([1.5] * (k % 6 + 1)) for k in range(60)]  # where something was freed
    return np.sum(x[x > 0] ** 2)
program = cadiff.compile(f, max_traces=2)
wanted = cadiff.compile(lambda x: np.sum(np.where(x > 0, x, 0.0) ** 2))
for method in ["value", "grad", "value_and_grad", "jacobian", "hessian"]:
    program.clear()
    for x in np.random.default_rng(0).normal(size=(400, 3)):
        a, b = getattr(program, method)(x), getattr(wanted, method)(x)
        for found, other in zip(a, b) if isinstance(a, tuple) else [(a, b)]:
            np.testing.assert_allclose(found, other, rtol=1e-14, err_msg=method)
""")


# --- within other derivatives --------------------------------------------------------------------


@pytest.mark.parametrize("listed", [False, True])
def test_misses_within_functions(listed: bool) -> None:
    program = cadiff.compile(hinges, max_traces=2)

    def outer(x: Any) -> Any:
        return program(list(x) if listed else x) * x[0]

    def plain(x: Any) -> Any:
        return hinges(x) * x[0]

    for _ in range(4):
        for x in signs(4):
            found, expected = (cadiff.value_and_grad(f)(x) for f in (outer, plain))
            near(found[0], expected[0])
            near(found[1], expected[1])
    eager = program.stats()["eager"]
    assert eager > 40
    x = np.array([1.0, 1.5, 2.0, -1.0])  # a recording serves it: none is left alone then
    for k in range(130):
        near(cadiff.grad(outer)(x - 0.001 * k), cadiff.grad(plain)(x - 0.001 * k))
    near(cadiff.hessian(outer)(x), cadiff.hessian(plain)(x))


@pytest.mark.parametrize("wrap", [cadiff.grad, lambda f: cadiff.compile(f).grad])
def test_a_change_of_branch_within_functions_is_refused(wrap: Function) -> None:
    program = cadiff.compile(hinges, on_branch_change="raise")
    outer = wrap(lambda x: program(x) * 2.0)
    same(outer(np.ones(3)), np.full(3, 4.0))
    for _ in range(3):
        with pytest.raises(RuntimeError, match="on_branch_change"):
            outer(-np.ones(3))
    same(outer(np.ones(3)), np.full(3, 4.0))


# --- batches -------------------------------------------------------------------------------------

WHAT = ["value", "grad", "value_and_grad", "jacobian", "hessian"]


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("most", [1, 3, 40])
def test_points_that_choose_otherwise(what: str, most: int) -> None:
    X = np.array(list(signs(5)))
    rng = np.random.default_rng(5)
    program, eager = cadiff.compile(hinges, max_traces=most), Eager(hinges)
    for _ in range(3):
        rng.shuffle(X)
        found = program.batch(X, what=what)
        near(found, stacked([METHODS[what](eager, x) for x in X]), rtol=1e-14)
        same(program.batch(X, what=what, threads=2), found)
    stats = program.stats()
    assert min(most, 8) <= len(stats["traces"]) <= min(most, 32)  # a quarter of the points
    assert stats["eager"] > 0


@pytest.mark.parametrize("at", [0, 40])
def test_a_point_that_no_recording_serves_leaves_the_others(at: int) -> None:
    def f(x: Any) -> Any:
        turns = 0
        while turns < 9 and x[0] > turns:
            turns += 1
        return cadiff.sin(x[1]) * turns + x[0] * x[1]

    X = np.stack([np.arange(40) % 8 - 0.5, np.linspace(0.1, 1.0, 40)], axis=1)
    program = cadiff.compile(f)
    program.batch(X, what="grad")
    points = np.insert(X, at, [8.5, 1.0], axis=0)
    for _ in range(2):
        before = program.stats()["eager"]
        found = program.batch(points, what="grad")
        assert program.stats()["eager"] - before <= 5  # those of the branch that comes last
        near(found, stacked([cadiff.grad(f)(x) for x in points]), rtol=1e-14)


FORMS = st.recursive(
    st.sampled_from(["number", "array"]),
    lambda part: (
        st.lists(part, min_size=1, max_size=3)
        | st.lists(part, min_size=1, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from("abc"), part, min_size=1)
    ),
    max_leaves=6,
)


def formed(form: Any, x: Any, k: int = 0) -> Any:
    """What has this form, of numbers that depend on three choices, as the order of keys does."""
    if isinstance(form, dict):
        keys = sorted(form, reverse=bool(x[0] > 0.0))
        return {key: formed(form[key], x, 3 * k + ord(key)) for key in keys}
    if isinstance(form, (list, tuple)):
        return type(form)(formed(part, x, 3 * k + i) for i, part in enumerate(form))
    i, j = k % 3, (k + 1) % 3
    number = x[i] * x[j] + k if x[j] > 0.0 else 3.0 * x[i] - x[j] ** 3
    return number if form == "number" else x * number


@examples(150)
@given(
    FORMS,
    st.sampled_from(WHAT),
    st.integers(1, 8),
    st.booleans(),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
)
def test_results_of_any_form(
    form: Any, what: str, most: int, optimize: bool, counts: list[int], seed: int
) -> None:
    """They are stacked in one way, whichever points recordings serve."""
    if what not in ("value", "jacobian"):
        form = "number"

    def f(x: Any) -> Any:
        return formed(form, x)

    program = cadiff.compile(f, max_traces=most, optimize=optimize)
    rng = np.random.default_rng(seed)
    for count in counts:
        X = rng.normal(size=(count, 3))
        wanted = stacked([METHODS[what](Eager(f), x) for x in X])
        near(program.batch(X, what=what), wanted)


@pytest.mark.parametrize("wrap", [list, tuple, lambda row: {"a": [list(row)]}])
def test_as_many_points_choose_otherwise_as_there_are_results(wrap: Any) -> None:
    """Rows and columns could be taken for each other then."""
    program = cadiff.compile(lambda x: wrap((x if x > 0.0 else -x, 10.0 * x)), max_traces=1)
    for X in ([1.0, 2.0, 3.0], [1.0, -2.0, 3.0, -4.0], [-2.0, -4.0]):
        wanted = np.array([[abs(x), 10.0 * x] for x in X])
        found = program.batch(np.array(X))
        near(found["a"][0] if isinstance(found, dict) else found, wanted)


AHEAD = r"differs from point to point: at point 2 "
# What f returns at other points, the error, and what it says.
OTHERS: dict[str, tuple[Function, type[Exception], str]] = {
    "a dict": (lambda x: {"a": x}, ValueError, AHEAD + r".*expected a list of 2, got \{'a'"),
    "shorter": (lambda x: [x], ValueError, AHEAD + r".*expected a list of 2, got \["),
    "a number": (lambda x: [x, x[0]], ValueError, AHEAD + r".*\[1\] is of shape \((3,)?\), "),
    "an array": (lambda x: [x, x[:1]], ValueError, AHEAD + r".*\[1\] is of shape \(1,( 3)?\), "),
    "a dict within": (
        lambda x: [x, {"a": x}],
        ValueError,
        AHEAD + r".*\[1\] is a dict with the keys \['a'\], .* \(2,",
    ),
    "text": (lambda x: [x, "low"], TypeError, ""),
    "a bool": (lambda x: [x, x[1] > 0.0], TypeError, ""),
    "nothing": (lambda x: None, TypeError, ""),
    "bools": (lambda x: x > 0.0, TypeError, ""),
}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("most", [1, 8])
@pytest.mark.parametrize("what", ["value", "jacobian"])
@pytest.mark.parametrize("name", OTHERS)
def test_forms_that_differ_from_point_to_point_are_refused(
    name: str, what: str, most: int, optimize: bool
) -> None:
    other, error, message = OTHERS[name]
    if error is TypeError:
        message = r"what f returns.* must be real numbers"

    def f(x: Any) -> Any:
        return [x * 2.0, x[:2]] if x[0] > 0.0 else other(x)

    X = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [-1.0, 2.0, 3.0], [-2.0, 3.0, 4.0]])
    program = cadiff.compile(f, max_traces=most, optimize=optimize)
    with quiet():
        assert program.batch(X[:2], what=what)[1].shape[:2] == (2, 2)
        for _ in range(2):
            with pytest.raises(error, match=message):
                program.batch(X, what=what)
        for points in (X[::-1], X[2:]) if error is TypeError else ():
            with pytest.raises(error, match=message):
                cadiff.compile(f, max_traces=most, optimize=optimize).batch(points, what=what)


def test_codes_for_one_point_check_it_before_its_places_are_used_again() -> None:
    """Sixteen points go side by side, by a code that may be one for a single point."""
    X = np.full((31, 3), -1.0)
    X[15] = [1e-200, -1e-200, 0.0]
    program = cadiff.compile(hinges, max_traces=1, verify=False)
    program.value_and_grad(np.zeros(3))
    (recorded,) = program._traces
    for n in (15, 16, 31):
        value = np.empty(n)
        missed = np.zeros(n, np.uint8)
        recorded.code("value").run_points([X[-n:]], np.zeros(0), [value], missed, 1)
        assert missed.tolist() == [x[0] > 0.0 for x in X[-n:]]
        np.testing.assert_array_equal(program.batch(X[-n:]), [hinges(x) for x in X[-n:]])


@pytest.mark.parametrize("what", ["value", "value_and_grad", "hessian"])
def test_points_of_batches_that_all_choose_otherwise(what: str) -> None:
    """A batch has recordings of the first that choose otherwise; f is run for nearly all."""
    random = np.random.default_rng(0)
    program = cadiff.compile(hinges, max_traces=2)
    for n_batches in (1, 2):
        X = random.normal(size=(300, 12))
        before = program.stats()
        found = program.batch(X, what=what)
        after = program.stats()
        wanted = stacked([METHODS[what](Eager(hinges), x) for x in X])
        near(found, wanted, rtol=1e-13)
        assert 290 <= after["eager"] - before["eager"] <= 300
        assert after["recordings"] <= 2 * n_batches
    same_again = np.tile(random.normal(size=12), (100, 1))
    program.batch(same_again)  # has a recording in the place of one that was used less
    before = program.stats()
    program.batch(same_again)
    after = program.stats()
    assert all(after[name] == before[name] for name in ("eager", "recordings"))


@pytest.mark.parametrize("what", ["grad", "jacobian", "hessian"])
@pytest.mark.parametrize("within", [False, True])
def test_constants_may_be_copied_and_assigned_to_whoever_runs_f(what: str, within: bool) -> None:
    """As in the recordings, where all arrays are numbers."""

    def f(x: Any, w: Any, kept: dict[str, Any]) -> Any:
        y, z = w.copy(), kept["w"] * 1.0
        y[0] = x[0] ** 3
        z[1:] = x[1:] ** 2
        if x[1] > x[2]:
            return cnp.sum(y * x) + cnp.sum(z)
        return cnp.sum(y * y) * z[2] if x[0] > x[2] else cnp.sum(y * y * z)

    transform = getattr(cadiff, what)
    program = cadiff.compile(f, max_traces=1)
    found = transform(lambda *args: program(*args)) if within else getattr(program, what)
    own = (slice(3),) * (2 if what == "hessian" else 1)
    rng = np.random.default_rng(5)
    for _ in range(12):
        x, w = rng.normal(size=(2, 3))
        whole = transform(lambda a: f(a[:3], a[3:], {"w": a[3:]}))(np.concatenate([x, w]))
        near(found(x, w, {"w": w}), whole[own])


def test_a_type_error_of_f_is_no_reason_to_run_it_again() -> None:
    runs = []

    def f(x: Any, w: Any) -> Any:
        runs.append(len(w))
        if x[0] > 0:
            raise TypeError("of its own")
        return cnp.sum(x * w) if x[1] > 0 else cnp.sum(x)

    def n_runs(g: Function) -> int:
        runs.clear()
        with pytest.raises(TypeError, match="of its own"):
            g(np.ones(2), np.ones(2))
        return len(runs)

    program = cadiff.compile(f, max_traces=1)
    with quiet():
        for sign in (1.0, -1.0):
            program.grad(np.array([-1.0, sign]), np.ones(2))
        assert n_runs(cadiff.grad(lambda x, w: program(x, w))) == n_runs(cadiff.grad(f)) == 1


def test_derivatives_that_are_not_finite_are_not_recorded_again_and_again() -> None:
    """Nor do they keep others from being served."""
    f = lambda x: cnp.linalg.norm(x)  # noqa: E731 - whose derivative at infinities is nan
    program = cadiff.compile(f)
    for k in range(24):
        x = np.arange(1.0, 6.0) + k
        x[k % 5] = np.inf if k % 2 else x[k % 5]
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(program.grad(x), cadiff.grad(f)(x), rtol=1e-14)
    stats = program.stats()
    assert stats["recordings"] == 2
    assert stats["derivative_misses"] == 11
    assert stats["eager"] == 12


def test_a_derivative_that_is_not_finite_at_first_is_recorded_elsewhere() -> None:
    program = cadiff.compile(cnp.linalg.norm)
    with np.errstate(invalid="ignore"):
        for _ in range(3):
            program.grad(np.zeros(2))
    for _ in range(3):
        assert program.grad(np.array([3.0, 4.0])).tolist() == [0.6, 0.8]
    eager = program.stats()["eager"]
    assert program.grad(np.array([6.0, 8.0])).tolist() == [0.6, 0.8]
    assert program.stats()["eager"] == eager
