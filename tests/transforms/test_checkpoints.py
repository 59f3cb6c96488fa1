"""Checkpointed functions: derivatives are those without checkpoints, and take less memory."""

from __future__ import annotations

import functools
import math
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as np
from cadiff import binding, checkpoint, checkpoint_scan

from ..helpers.ways import check_ways

Function = Callable[..., Any]
POINT = numpy.array([0.3, -0.7, 1.1])


def bumpy(x: Any) -> Any:
    """Several operations on a number or an array."""
    for _ in range(4):
        x = np.sin(x) * x + 0.5
    return x


def entries() -> int:
    return int(binding.tape_usage()["entries"])


# --- derivatives ---------------------------------------------------------------------------------

# Each takes a wrapper for the parts of it that may be checkpointed: `checkpoint`, or nothing.
PROGRAMS: dict[str, Callable[[Function], Function]] = {
    "whole": lambda c: c(lambda x: np.sum(bumpy(x) * x)),
    "twice": lambda c: lambda x: c(np.sum)(c(bumpy)(c(bumpy)(x)) * x),
    "nested": lambda c: c(lambda x: np.sum(c(bumpy)(x) * c(lambda y: bumpy(y) * x)(x[::-1]))),
    "closure": lambda c: lambda x: c(lambda: np.sum(x[:2] @ x[1:]) * x[0])(),
    "closure of numbers": lambda c: (
        lambda x: (lambda a, b: c(lambda y: y * a * np.exp(b) + x[1])(2.0) * a)(x[0], x[2])
    ),
    "containers": lambda c: (
        lambda x: (lambda r: r["a"] * np.sum(r["b"][1]) + r["b"][0])(
            c(lambda p, *, k: {"a": p["x"][0] * k, "b": (np.prod(p["x"]), p["x"] ** 2)})(
                {"x": x}, k=3.0
            )
        )
    ),
    "returns its argument": lambda c: (
        lambda x: np.sum((lambda r: r[0] * r[1])(c(lambda y: (y, y * y))(x)))
    ),
    "returns a view": lambda c: lambda x: np.sum(c(lambda y: bumpy(y)[::-1])(x) * x),
    "returns one number twice": lambda c: (
        lambda x: (lambda r: r[0] * r[1])(c(lambda y: (s := np.sum(y**3), s))(x))
    ),
    "gradient inside": lambda c: (
        lambda x: np.sum(c(cadiff.grad(lambda y: np.sum(bumpy(y) * x)))(x))
    ),
    "inside a gradient": lambda c: (
        lambda x: np.sum(cadiff.grad(lambda y: np.sum(c(bumpy)(y) * x))(x) * x)
    ),
    "forward mode inside": lambda c: c(
        lambda x: np.sum(cadiff.jvp(lambda y: bumpy(y) * x, (x,), (x,))[1])
    ),
    "assigns": lambda c: c(lambda x: np.sum(assigning(x) * x)),
    "assigned to before": lambda c: lambda x: assigned_before(c, x),
    "branches": lambda c: c(lambda x: x[0] * x[1] if x[2] > 0.0 else np.sum(x)),
    "linear algebra": lambda c: c(
        lambda x: np.linalg.slogdet(np.outer(x, x) + np.eye(3))[1] * np.linalg.norm(x)
    ),
}


def assigning(x: Any) -> Any:
    y = np.zeros(3)
    y[0] = x[2]
    y[1:] = x[:2] * y[0]
    y[0] *= y[1]
    return y


def assigned_before(c: Function, x: Any) -> Any:
    y = x.copy()
    y[1] = y[0] * y[2]
    return np.sum(c(lambda: bumpy(y) * y[1])())


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_derivatives_are_those_without_checkpoints(make: Callable[[Function], Function]) -> None:
    program, plain = make(checkpoint), make(lambda f: f)
    wanted = check_ways(plain, POINT, order=3)
    for one, other in zip(check_ways(program, POINT, order=3), wanted, strict=True):
        npt.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    assert program(POINT) == plain(POINT)
    assert binding.tape_usage()["recordings"] == 0


@pytest.mark.parametrize("size", [1, 511, 512, 1025, 40_000])
def test_arrays_of_all_sizes(size: int) -> None:
    x = numpy.linspace(0.1, 2.0, size)

    def program(x: Any, wrap: Function) -> Any:
        return np.sum(wrap(lambda y: np.exp(-y) * np.sin(y * x))(x[::-1]) * x)

    found = cadiff.grad(lambda x: program(x, checkpoint))(x)
    npt.assert_allclose(found, cadiff.grad(lambda x: program(x, lambda f: f))(x), rtol=1e-12)


def test_empty_arrays_and_results_without_numbers() -> None:
    double = checkpoint(lambda y: y * 2.0)
    assert cadiff.grad(lambda x: np.sum(double(x)))(numpy.empty(0)).size == 0
    out = []
    cadiff.grad(lambda x: out.append(checkpoint(lambda y: (None, "text", 3))(x)) or x)(1.0)
    assert out == [(None, "text", 3)]


def test_constant_results_stay_constants() -> None:
    def f(x: Any) -> Any:
        y = checkpoint(lambda _: np.zeros(3))(x)
        y[1] = x * x
        return np.sum(y) + checkpoint(lambda _: 4.0)(x)

    assert cadiff.value_and_grad(f)(3.0) == (13.0, 6.0)


def test_variables_made_by_hand() -> None:
    v, w = cadiff.Var(2.0), cadiff.Var([1.0, 3.0])
    y = checkpoint(lambda: np.sum(v * v * w))()
    y.backward()
    y.backward()
    assert (v.grad, w.grad.tolist()) == (32.0, [8.0, 8.0])


def test_without_numbers_it_is_the_function() -> None:
    calls = []
    f = checkpoint(lambda x: calls.append(x) or x * 2)
    assert f(3) == 6
    assert calls == [3]
    assert checkpoint(math.sin)(1.0) == math.sin(1.0)
    v = cadiff.Var(1.0)
    assert type(checkpoint(assigning)(POINT)) is numpy.ndarray
    npt.assert_array_equal(checkpoint(assigning)(POINT), assigning(POINT))
    assert v.value == 1.0


# --- memory --------------------------------------------------------------------------------------


def test_one_entry_is_left() -> None:
    left = []

    def f(x: Any) -> Any:
        before = entries()
        y = checkpoint(bumpy)(x)
        left.append(entries() - before)
        return y

    assert cadiff.grad(f)(1.0) == cadiff.grad(bumpy)(1.0)
    assert left == [1]


def most_entries(f: Function, x: Any) -> int:
    """By how much a gradient of f, which calls its argument at times, makes the tape longer."""
    most, before = 0, entries()

    def look() -> None:
        nonlocal most
        most = max(most, entries() - before)

    cadiff.grad(lambda x: f(x, look))(x)
    return most


@pytest.mark.parametrize(
    ("length", "levels", "share"),
    [(4096, 1, 1.1), (4096, 2, 0.1), (4096, 3, 0.05), (1024, 10, 0.04)],
)
def test_a_scan_holds_a_part_of_the_tape(length: int, levels: int, share: float) -> None:
    def scanned(x: Any, look: Function) -> Any:
        def step(y: Any, _: None) -> tuple[Any, None]:
            look()
            return y * 0.99 + 0.01 * np.sin(y), None

        return checkpoint_scan(step, x, length=length, levels=levels)[0]

    assert most_entries(scanned, 1.0) < share * 4 * length


# --- what may go wrong ---------------------------------------------------------------------------


def test_random_numbers_are_drawn_again_as_they_were() -> None:
    legacy = numpy.random.RandomState(2)
    own = random.Random(3)

    def noisy(x: Any, rng: Any) -> Any:
        noise = numpy.random.standard_normal() + numpy.random.rand() + random.random()
        return x**2 * (noise + rng.normal() + legacy.normal() + own.random())

    def run(wrap: Function, order: int) -> tuple[list[Any], list[Any]]:
        numpy.random.seed(0)
        random.seed(0)
        legacy.seed(2)
        own.seed(3)
        rng = numpy.random.default_rng(1)
        f = lambda x: wrap(noisy)(x, rng) + wrap(noisy)(x, rng) * wrap(noisy)(x, rng)  # noqa: E731
        for _ in range(order):
            f = cadiff.grad(f)
        after = [f(1.5)]
        after += [numpy.random.standard_normal() for _ in range(3)]
        return after, [random.random(), legacy.normal(), rng.normal(), own.random()]

    for order in (0, 1, 2):
        npt.assert_allclose(run(checkpoint, order)[0][0], run(lambda f: f, order)[0][0])
    assert run(checkpoint, 1)[0][1:] == run(lambda f: f, 1)[0][1:]
    assert run(checkpoint, 1)[1] == run(lambda f: f, 1)[1]


def test_generators_are_found_in_arguments_closures_and_what_is_bound() -> None:
    rng = numpy.random.default_rng(0)

    class Model:
        def noise(self, x: Any, scale: float = 1.0) -> Any:
            return x * x * rng.normal() * scale

    def with_default(x: Any, g: Any = rng) -> Any:
        return x * x * g.normal()

    functions: list[Function] = [
        lambda x: x * x * rng.normal(),
        with_default,
        functools.partial(lambda g, x: x * x * g.normal(), rng),
        lambda x: checkpoint(lambda y: y * y * rng.normal())(x),
        Model().noise,
    ]
    for f in functions:
        rng.bit_generator.state = numpy.random.default_rng(5).bit_generator.state
        wanted = cadiff.grad(f)(2.0)
        rng.bit_generator.state = numpy.random.default_rng(5).bit_generator.state
        assert cadiff.grad(checkpoint(f))(2.0) == wanted


@pytest.mark.parametrize("by", [1.0, 1e-12, 1e-15])
def test_a_function_that_changes_is_found_out(by: float) -> None:
    count = iter(range(100))

    def changing(x: Any) -> Any:
        return x * (1.0 + by * next(count))

    with pytest.raises(RuntimeError, match=r"changing gave other results when it was run again"):
        cadiff.grad(checkpoint(changing))(2.0)
    switch = iter([True, False])
    with pytest.raises(RuntimeError, match="other results"):
        cadiff.grad(lambda x: checkpoint(lambda y: (y if next(switch) else x) * 1.0)(x * 1.0))(1.0)
    assert cadiff.grad(bumpy)(1.0) == cadiff.grad(checkpoint(bumpy))(1.0)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("optimize", [True, False])
def test_programs_with_more_branches_than_they_may_keep(most: int, optimize: bool) -> None:
    """Which of them are replayed depends on the calls before."""

    def turns(x: Any) -> Any:
        total = 0.0
        while x < 9.0:
            total += cadiff.sin(x) * 0.1 + x**3 / 7.0 - x**2 * 1.3
            x = x * 1.3 + 0.1
        return total

    def around(f: Function, x: Any) -> Any:
        plain = float(binding.unguarded(x))
        return f(x) + f(x * 0.3) * f(x * 1.1) + f(plain) * x

    program = cadiff.compile(turns, max_traces=most, optimize=optimize)
    for x in numpy.random.default_rng(0).uniform(0.1, 8.0, 40).tolist():
        for transform in (cadiff.grad, cadiff.hessian):
            npt.assert_allclose(transform(checkpoint(program))(x), transform(turns)(x), rtol=1e-12)
            found = transform(checkpoint(lambda x: around(program, x)))(x)
            npt.assert_allclose(found, transform(lambda x: around(turns, x))(x), rtol=1e-12)


def test_values_within_are_those_of_numpy() -> None:
    program = cadiff.compile(lambda x: 1.0 / x)
    assert cadiff.grad(checkpoint(lambda x: x * program(0.0)))(2.0) == math.inf


def test_results_that_are_over_are_refused() -> None:
    kept: list[Any] = []
    cadiff.grad(lambda x: kept.append(x * x) or x)(3.0)
    with pytest.raises(cadiff.StaleVarError):
        cadiff.grad(lambda x: checkpoint(lambda y: (kept[0], y * y))(x)[1])(2.0)


def test_containers_are_those_of_the_call() -> None:
    def f(x: Any) -> Any:
        parameters = [x, 2.0]
        y = checkpoint(lambda p: p[0] * p[1])(parameters)
        parameters[1] = 5.0
        return y

    assert cadiff.grad(f)(3.0) == 2.0


@pytest.mark.parametrize("run", [1, 2])
def test_exceptions_pass_and_leave_nothing(run: int) -> None:
    before, calls = entries(), []

    def f(x: Any) -> Any:
        calls.append(None)
        y = bumpy(x)
        if len(calls) == run:
            raise KeyError("mine")
        return y

    with pytest.raises(KeyError, match="mine"):
        cadiff.grad(checkpoint(f))(1.0)
    assert len(calls) == run
    assert entries() == before
    assert binding.tape_usage()["recordings"] == 0
    assert cadiff.grad(checkpoint(bumpy))(1.0) == cadiff.grad(bumpy)(1.0)


def test_assigning_to_arrays_from_outside_is_refused() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0

        def inner() -> Any:
            y[0] = 3.0
            return y[1]

        return checkpoint(inner)()

    with pytest.raises(TypeError, match="made outside of the function"):
        cadiff.grad(f)(POINT)


def test_arrays_assigned_to_later() -> None:
    def f(x: Any, wrap: Function) -> Any:
        y = x * 1.0
        z = wrap(bumpy)(y)
        y[0] = z[1]
        return np.sum(z * y)

    wanted = cadiff.grad(lambda x: f(x, lambda g: g))(POINT)
    npt.assert_allclose(cadiff.grad(lambda x: f(x, checkpoint))(POINT), wanted, rtol=1e-14)
    with pytest.raises(RuntimeError, match="was assigned to afterwards"):
        cadiff.jacrev(cadiff.grad(lambda x: f(x, checkpoint)))(POINT)


@checkpoint
def decorated(x: Any) -> Any:
    return x * x


class Model:
    @checkpoint
    def method(self, x: Any) -> Any:
        return x * x * x


def test_is_known_under_the_name_of_the_function() -> None:
    assert checkpoint(bumpy).__name__ == "bumpy"
    assert checkpoint(bumpy).__doc__ == bumpy.__doc__
    assert repr(checkpoint(bumpy)) == "<cadiff.checkpoint of bumpy>"
    assert cadiff.grad(Model().method)(2.0) == 12.0
    with pytest.raises(TypeError, match="checkpoint takes a function, not float"):
        checkpoint(2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("f", [decorated, checkpoint(bumpy), cadiff.grad(decorated)])
def test_pickles(f: Function) -> None:
    restored = pickle.loads(pickle.dumps(f))
    assert restored(1.5) == f(1.5)
    assert cadiff.grad(restored)(1.5) == cadiff.grad(f)(1.5)


# --- scans ---------------------------------------------------------------------------------------


def filtered(state: Any, x: Any) -> tuple[Any, Any]:
    mean, scale = state["mean"], state["scale"]
    mean = 0.9 * mean + 0.1 * x * scale
    return {"mean": mean, "scale": scale}, (mean * mean, {"m": mean - x})


@pytest.mark.parametrize("levels", [1, 2, 3, 20])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 50])
def test_scan_is_the_loop(count: int, levels: int) -> None:
    def looped(scale: Any, xs: Any) -> Any:
        state, squares, rests = {"mean": 0.0, "scale": scale}, [], []
        for x in xs:
            state, (square, rest) = filtered(state, x)
            squares.append(square)
            rests.append(rest["m"])
        return state["mean"] + sum(squares) * 2.0 + sum(r**3 for r in rests)

    def scanned(scale: Any, xs: Any) -> Any:
        state, ys = checkpoint_scan(filtered, {"mean": 0.0, "scale": scale}, xs, levels=levels)
        if count == 0:
            assert ys is None
            return state["mean"]
        squares, rests = ys
        assert squares.shape == rests["m"].shape == (count,)
        return state["mean"] + np.sum(squares) * 2.0 + np.sum(rests["m"] ** 3)

    xs = numpy.cos(numpy.arange(count))
    npt.assert_allclose(scanned(1.5, xs), looped(1.5, xs), rtol=1e-13)
    for argnums in (0, 1):
        found = cadiff.grad(scanned, argnums)(1.5, xs)
        npt.assert_allclose(found, cadiff.grad(looped, argnums)(1.5, xs), rtol=1e-12, atol=1e-14)
    npt.assert_allclose(
        cadiff.hessian(scanned)(1.5, xs), cadiff.hessian(looped)(1.5, xs), rtol=1e-11, atol=1e-13
    )


def test_scan_over_rows_without_outputs() -> None:
    rows = numpy.arange(12.0).reshape(4, 3) / 10.0

    def f(w: Any) -> Any:
        state, ys = checkpoint_scan(lambda s, row: (s * 0.5 + row @ w, None), 0.0, rows)
        assert ys is None
        return state

    npt.assert_allclose(cadiff.grad(f)(POINT), [0.5**3, 0.25, 0.5, 1.0] @ rows, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: checkpoint_scan(filtered, 0.0), ValueError, "length is the number of steps"),
        (lambda: checkpoint_scan(filtered, 0.0, length=-1), ValueError, "not -1"),
        (lambda: checkpoint_scan(filtered, 0.0, [1.0], length=2), ValueError, "xs has 1 entries"),
        (lambda: checkpoint_scan(filtered, 0.0, 3.0), TypeError, "one entry for each step"),
        (lambda: checkpoint_scan(filtered, 0.0, [], levels=0), ValueError, "at least 1, not 0"),
        (lambda: checkpoint_scan(lambda s, x: s, 0.0, [1.0]), TypeError, "returned float"),
        (lambda: checkpoint_scan(lambda s, x: (s,), 0.0, [1.0]), TypeError, "a tuple of 1"),
    ],
)
def test_scan_says_what_is_wrong(call: Function, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (lambda x: None if x == 0.0 else x, "the first was None, another one a number"),
        (lambda x: x if x < 3.0 else None, "the first was a number, another one None"),
        (lambda x: x if x < 3.0 else [x], "a number, another one a list of 1"),
        (lambda x: [x] * (1 + int(x)), "a list of 1, another one a list of 2"),
        (lambda x: {"a": x} if x < 3.0 else {"b": x}, r"keys \['a'\], .* keys \['b'\]"),
        (lambda x: np.ones(1 + int(x)), r"shape \(1,\), another one an array of shape \(2,\)"),
    ],
)
@pytest.mark.parametrize("levels", [1, 2])
def test_outputs_that_are_not_alike(
    output: Callable[[float], Any], message: str, levels: int
) -> None:
    def run(a: Any) -> Any:
        xs = [0.0, 1.0, 2.0, 3.0, 4.0]
        return checkpoint_scan(lambda s, x: (s * a, output(x)), a, xs, levels=levels)[0]

    with pytest.raises(ValueError, match=message):
        cadiff.grad(run)(2.0)


def test_more_levels_than_halvings() -> None:
    def run(a: Any) -> Any:
        return checkpoint_scan(lambda s, _: (s * a, None), a, length=4, levels=1000)[0]

    assert cadiff.grad(run)(2.0) == 80.0
