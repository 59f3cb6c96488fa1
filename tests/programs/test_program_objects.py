"""Programs as objects: what they compose with, what they refuse, options, errors."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import Program
from cadiff.programs import traces

from ..helpers.memory import usage
from ..helpers.programs import hinge, near, same, wave
from ..helpers.ways import METHODS, Eager, check_replays

Function = Callable[..., Any]


# --- composition ---------------------------------------------------------------------------------


def cube(x: Any) -> Any:
    return cnp.sum(x * x * x) if cnp.sum(x) > 0.0 else cnp.sum(x)


def test_programs_of_transforms() -> None:
    x = np.array([1.0, 2.0])
    for make in (cadiff.grad, cadiff.hessian, cadiff.jacobian, cadiff.value_and_grad):
        composed = cadiff.compile(make(cube))
        for at in (x, -x, x):
            near(composed(at), make(cube)(at))
        assert composed.stats()["eager"] == 0
    gradient = cadiff.compile(cadiff.grad(cube))
    for at in (x, -x, x):
        near(gradient.jacobian(at), cadiff.hessian(cube)(at))
    for mode in (cadiff.jacfwd, cadiff.jacrev):
        near(cadiff.compile(mode(lambda x: x * x[::-1]))(x), mode(lambda x: x * x[::-1])(x))


def test_programs_that_are_made_within_programs() -> None:
    @cadiff.compile
    def made_within(x: Any) -> Any:
        return cadiff.compile(lambda y: y * y * x)(x) + cadiff.compile(lambda y: y * y).grad(x)

    assert made_within(2.0) == 12.0
    assert made_within(3.0) == 33.0
    assert made_within.grad(3.0) == 29.0


def test_closures_over_numbers_of_an_outer_derivative() -> None:
    warnings.simplefilter("ignore")
    assert cadiff.grad(lambda a: cadiff.compile(lambda x: a * x)(2.0))(3.0) == 2.0
    assert cadiff.grad(lambda a: cadiff.compile(lambda x: a * x * x).grad(2.0))(3.0) == 4.0
    assert cadiff.grad(lambda a: a * cadiff.compile(lambda x: a + x).grad(1.0))(1.0) == 1.0
    assert cadiff.grad(lambda a: a * cadiff.compile(lambda x: a * x).grad(1.0))(4.0) == 8.0
    assert cadiff.derivative(lambda a: cadiff.compile(lambda x: a * x)(2.0), 3.0) == 2.0
    assert cadiff.jvp(lambda a: cadiff.compile(lambda x: a * x)(2.0), (3.0,), (1.0,)) == (6.0, 2.0)
    near(cadiff.hessian(lambda a: cadiff.compile(lambda x: a * a * x)(2.0) * a)(3.0), 36.0)
    seen: list[Any] = []

    def shared(a: Any) -> Any:
        seen[:] = [a]
        return program(2.0)

    program = cadiff.compile(lambda x: seen[0] * x)
    warnings.simplefilter("ignore")
    for a in (3.0, 5.0):
        assert cadiff.value_and_grad(shared)(a) == (2.0 * a, 2.0)
    out = cadiff.compile(lambda a: cadiff.compile(lambda x: a * x)(2.0))
    assert [out(a) for a in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert out.grad(3.0) == 2.0


def test_loops_over_rows_and_checkpoints() -> None:
    row = cadiff.compile(lambda x: cnp.sum(x * x))

    def rows(X: Any) -> Any:
        return cnp.stack([row(x) for x in X])

    X = np.arange(6.0).reshape(3, 2)
    near(cadiff.jacobian(rows)(X), cadiff.jacobian(lambda X: cnp.sum(X * X, axis=1))(X))
    near(cadiff.compile(rows).jacobian(X), cadiff.jacobian(rows)(X))
    warnings.simplefilter("ignore")

    def checkpointed(x: Any) -> Any:
        return cadiff.checkpoint(cadiff.sin)(x) * x

    program = cadiff.compile(checkpointed)
    for x in (1.0, 2.0):
        near(program.value_and_grad(x), cadiff.value_and_grad(checkpointed)(x))
        near(program(x), math.sin(x) * x)
        near(cadiff.checkpoint(program)(x), math.sin(x) * x)
        near(cadiff.grad(cadiff.checkpoint(cadiff.compile(cadiff.sin)))(x), math.cos(x))


def test_nan_check_looks_into_programs() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cadiff.log(x)))
    x = np.array([1.0, 2.0])
    program.grad(x)
    program(x)
    with cadiff.nan_check():
        near(program.grad(x), 1.0 / x)
        with pytest.raises(cadiff.NonFiniteError):
            program.grad(np.array([1.0, -2.0]))
    with np.errstate(invalid="ignore"):
        assert math.isnan(program(np.array([1.0, -2.0])))


OBSTACLES: dict[str, Function] = {
    "isin": lambda x: cnp.sum(cnp.isin(x, [1.0, 2.0]) * x**3),
    "signbit": lambda x: cnp.sum(cnp.where(cnp.signbit(x), x, x**3)),
    "value": lambda x: x[0] * float(cadiff.value(x[1])),
    "value of an array": lambda x: x[0] * cadiff.value(x).tolist()[1],
    "attribute": lambda x: x[0] * getattr(x[1], "value", x[1]),
    "short attribute": lambda x: x[0] * getattr(x[1], "v", x[1]),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_cannot_be_compiled_runs_eagerly_and_says_why(name: str) -> None:
    f = OBSTACLES[name]
    program = cadiff.compile(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x in (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])):
            for call in METHODS.values():
                near(call(program, x), call(Eager(f), x))
            near(program.batch(np.stack([x, x])), np.array([f(x), f(x)]))
            near(program.batch(np.stack([x, x]), what="grad"), np.stack([cadiff.grad(f)(x)] * 2))
    stats = program.stats()
    assert stats["recordings"] == 0
    assert stats["eager"] > 0
    assert len(stats["obstacles"]) >= 1
    messages = [str(w.message) for w in caught if w.category is RuntimeWarning]
    assert messages, "no warning"
    assert all(any(reason in text for reason in stats["obstacles"]) for text in messages)
    assert {os.path.basename(w.filename) for w in caught} <= {
        "ways.py",
        os.path.basename(__file__),
    }


# --- options and the object ----------------------------------------------------------------------


CALLS: list[Function] = [
    *METHODS.values(),
    lambda p, x: p.batch(np.stack([-x, x])),
    lambda p, x: p.batch(np.stack([x, -x]), what="grad"),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_branch_change_is_refused_each_time(call: Function) -> None:
    program = cadiff.compile(hinge, on_branch_change="raise", max_traces=1)
    x = np.array([1.0, 2.0])
    assert program(x) == 5.0
    text = ", `" if sys.version_info >= (3, 11) else ","  # older ones know the line alone
    place = rf"line \d+ of .*programs.py{text}.*on_branch_"
    for _ in range(20):
        with pytest.raises(RuntimeError, match=place):
            call(program, -x)
    assert program(2.0 * x) == 20.0
    program.clear()
    assert program(-x) == -9.0


class MineError(Exception):
    pass


@pytest.mark.parametrize("call", CALLS)
def test_exceptions_pass_through_and_leave_everything_as_it_was(call: Function) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        if y[0] > 1.0:
            raise MineError(y[0] > 1.0)
        return cnp.sum(y)

    program = cadiff.compile(f)
    low, high = np.array([0.1, 0.2]), np.array([1.0, 0.2])
    before = usage()
    for _ in range(2):
        with pytest.raises(MineError):
            call(program, high)
        assert usage() == before
        assert program(low) == f(low)
    assert len(program.stats()["traces"]) == 1
    same(program.grad(low), np.array([2.0, 2.0]))


def test_a_branch_change_warns_each_time() -> None:
    program = cadiff.compile(hinge, on_branch_change="warn", max_traces=1)
    x = np.array([1.0, 2.0])
    assert program(x) == 5.0
    for _ in range(5):
        with pytest.warns(RuntimeWarning, match="outcome") as caught:
            assert program(-x) == -9.0
        assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="outcome"):
        cadiff.compile(hinge, on_branch_change="warn").batch(np.stack([x, -x]))


def test_equality_warns_and_no_other_comparison_does() -> None:
    program = cadiff.compile(lambda x: 1.0 if x == 1 else x**2)
    with pytest.warns(RuntimeWarning, match="equality") as caught:
        assert program.grad(1.0) == 0.0
    assert caught[0].filename == __file__
    warnings.simplefilter("ignore")
    assert program.grad(3.0) == 6.0
    assert program.grad(1.0) == 0.0


@pytest.mark.slow  # of Python alone
def test_recordings_take_no_more_memory_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, k: int) -> Any:
        y = x[0]
        for _ in range(2000):
            y = cadiff.sin(y) * x[1] + k
        return y * len(range(k + 1))

    program = cadiff.compile(f)
    x = np.array([0.3, 0.4])
    program.value_and_grad(x, 0)
    (recorded,) = program._traces
    assert recorded.nbytes > 2000 * 3 * 16
    monkeypatch.setattr(traces, "MOST_BYTES", 5 * recorded.nbytes)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for k in range(1, 30):
            for _ in range(2):  # what is never used is not recorded for ever
                near(program.value_and_grad(x, k), cadiff.value_and_grad(f)(x, k))
            kept = list(program._traces)
            assert sum(one.nbytes for one in kept) <= 8 * recorded.nbytes
    assert len(seen) == 1
    assert re.search(r"MiB; calls with other .*ints, .*forgotten", str(seen[0].message))
    assert program.stats()["recordings"] == 30
    assert 3 <= len(kept) <= 8


def test_no_more_signatures_are_kept_than_there_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traces, "MOST_SIGNATURES", 4)
    program = cadiff.compile(lambda x, k: x * int(k))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for k in [*range(10), 0, 9]:
            assert program.grad(1.5, k) == k
    (warning,) = seen
    assert "called in 4 ways; " in str(warning.message)
    # That of 1, in which it turned out that k is read, served one call.
    assert program.stats()["recordings"] == 10
    assert len(list(program._traces)) == 4


def test_what_is_not_recorded_has_the_same_values() -> None:
    """Also where plain Python would raise, or go over to complex numbers."""

    def f(x: Any) -> Any:
        return (x**0.5 if x < 0.0 else 1.0 / x) + (0.0 if x < 5.0 else 1.0)

    kept, full = cadiff.compile(f), cadiff.compile(f, max_traces=1)
    full(10.0)
    with np.errstate(all="ignore"):
        for x in (0.0, -0.0, -2.0, 2.0, 1e-320):
            same(full(x), kept(x))


class Model:
    """Programs as methods."""

    def __init__(self, w: float) -> None:
        self.w = w

    @cadiff.compile
    def loss(self, x: Any) -> Any:
        return cnp.sum(self.w * x * x)

    @cadiff.compile(optimize=False)
    def other(self, x: Any, *, power: int = 2) -> Any:
        return cnp.sum(self.w * x**power)

    @staticmethod
    @cadiff.compile
    def free(x: Any) -> Any:
        return x * x


def test_programs_as_methods() -> None:
    first, second = Model(2.0), Model(3.0)
    x = np.array([1.0, 2.0])
    assert first.loss(x) == 10.0
    assert second.loss(x) == 15.0
    assert first.other(x, power=3) == 18.0
    assert Model.free(3.0) == 9.0
    assert isinstance(Model.loss, Program)
    near(Model.loss.grad(second, x, argnums=1), 6.0 * x)


def test_methods_of_programs_that_are_methods() -> None:
    model, x = Model(2.0), np.array([1.0, 2.0])
    check_replays(lambda x: cnp.sum(2.0 * x * x), model.loss, x, is_exact=False)
    near(model.loss.grad(x), 4.0 * x)
    near(model.loss.batch(np.stack([x, -x]), what="grad"), np.stack([4.0 * x, -4.0 * x]))
    near(cadiff.grad(model.loss)(x), 4.0 * x)
    assert model.loss == model.loss
    assert model.loss.stats()["recordings"] == 1
    assert model.loss.__self__ is model
    near(model.other.grad(x, power=3), 6.0 * x**2)
    again = pickle.loads(pickle.dumps(model.loss))
    near(again.grad(x), 4.0 * x)
    for k in range(300):  # more objects than have recordings at the same time
        assert Model(float(k)).loss(x) == 5.0 * k


def test_partials_lambdas_and_decorators() -> None:
    program = cadiff.compile(functools.partial(wave, scale=3.0))
    x = np.array([0.5, 1.0])
    near(program(x), wave(x, 3.0))
    assert "partial" in repr(program)
    assert "lambda" in repr(cadiff.compile(lambda x: x))
    named = cadiff.compile(wave)
    assert "wave" in repr(named)
    assert "0 recordings" in repr(named)
    named(x)
    assert "1 recording>" in repr(named)
    assert named.__name__ == "wave"
    assert named.__doc__ == wave.__doc__
    assert named.__module__ == wave.__module__
    assert named.__wrapped__ is wave
    assert str(inspect.signature(named)) == str(inspect.signature(wave))

    @cadiff.compile(optimize=False, max_traces=1, on_branch_change="retrace")
    def decorated(x: Any) -> Any:
        """What it says."""
        return x * x

    assert decorated.__doc__ == "What it says."
    assert decorated.grad(3.0) == 6.0


module_program = cadiff.compile(wave, max_traces=3)


@cadiff.compile
def module_decorated(x: Any) -> Any:
    return cnp.sum(x * x)


def test_programs_pickle_and_copy() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for program in (module_program, module_decorated):
        for prepare in (repr, lambda p: p.grad(x), lambda p: p(x)):
            prepare(program)
            for other in (
                pickle.loads(pickle.dumps(program)),
                copy.copy(program),
                copy.deepcopy(program),
            ):
                near(other.value_and_grad(x), program.value_and_grad(x))
                near(other(2.0 * x), program(2.0 * x))


WRONG = (ValueError, TypeError, IndexError)
ONES, BOOLS = np.ones(2), np.array([True, False])
BAD_CALLS: dict[str, tuple[Function, Any, str]] = {
    "no function": (lambda p: cadiff.compile(3.0), TypeError, "takes a function"),
    "on_branch_change": (
        lambda p: cadiff.compile(wave, on_branch_change="ignore"),
        ValueError,
        "on_branch_change",
    ),
    "max_traces 0": (lambda p: cadiff.compile(wave, max_traces=0), ValueError, "max_traces"),
    "max_traces True": (lambda p: cadiff.compile(max_traces=True)(wave), ValueError, "max_traces"),
    "max_traces 2.0": (lambda p: cadiff.compile(wave, max_traces=2.0), ValueError, "max_traces"),
    "optimize": (lambda p: cadiff.compile(wave, optimize=0), ValueError, "optimize is True or"),
    "text": (lambda p: p.grad("text"), TypeError, "argument 0"),
    "None": (lambda p: p.grad(None), TypeError, "argument 0"),
    "bool": (lambda p: p.grad(True), TypeError, "argument 0"),
    "array of bools": (lambda p: p.grad(BOOLS), TypeError, "argument 0"),
    "masked": (lambda p: p.grad(np.ma.array([1.0])), TypeError, "masked"),
    "text within": (lambda p: p.grad({"a": ["b"]}), TypeError, "argument 0"),
    "argnums out of range": (lambda p: p.grad(ONES, argnums=2), WRONG, "argnums|argument"),
    "negative argnums": (lambda p: p.grad(ONES, argnums=-3), WRONG, "argnums|argument"),
    "argnums twice": (lambda p: p.grad(ONES, 1.0, argnums=(0, -2)), WRONG, "argnums|argument"),
    "argnums of text": (lambda p: p.grad(ONES, argnums="0"), TypeError, "argnums"),
    "no argument": (lambda p: p.grad(), WRONG, "argument"),
    "tangent of another shape": (lambda p: p.jvp((ONES,), (np.ones(3),)), WRONG, "tangent"),
    "too few tangents": (lambda p: p.jvp((ONES,), ()), WRONG, "tangents"),
    "direction of another shape": (lambda p: p.hvp(ONES, np.ones(3)), WRONG, "direction"),
    "several argnums": (lambda p: p.hvp(ONES, ONES, argnums=(0,)), TypeError, "argnums is an int"),
    "cotangent of another shape": (lambda p: p.vjp(ONES)[1](np.ones(3)), WRONG, "cotangent"),
    "batch of a number": (lambda p: p.batch(1.0), WRONG, "leading axis"),
    "batch of two shapes": (lambda p: p.batch([[1.0, 2.0], [3.0]]), WRONG, "all of one shape"),
    "batch of what": (lambda p: p.batch(ONES, what="values"), WRONG, "what"),
    "threads 0": (lambda p: p.batch(ONES, threads=0), WRONG, "threads"),
    "threads True": (lambda p: p.batch(ONES, threads=True), WRONG, "threads"),
    "threads of text": (lambda p: p.batch(ONES, threads="two"), WRONG, "threads"),
    "threads 1.5": (lambda p: p.batch(ONES, threads=1.5), WRONG, "threads"),
    "batch of bools": (lambda p: p.batch(BOOLS), WRONG, "bool"),
    "batch of text": (lambda p: p.batch(np.array(["a"])), WRONG, "no real number"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
@pytest.mark.parametrize("warm", [False, True])
def test_bad_calls_name_what_is_wrong(name: str, warm: bool) -> None:
    call, error, message = BAD_CALLS[name]
    program = cadiff.compile(wave)
    if warm:
        program.grad(np.ones(2))
    before = usage()
    with pytest.raises(error, match=message):
        call(program)
    assert usage() == before
    assert program(np.ones(2)) == wave(np.ones(2))


@pytest.mark.parametrize("out", [None, True, "text", np.array([True]), object()])
@pytest.mark.filterwarnings("ignore:.*which a replay cannot make anew")
def test_what_is_no_number_is_returned_but_has_no_derivative(out: Any) -> None:
    program = cadiff.compile(lambda x: out)
    before = usage()
    for method in ("grad", "jacobian", "hessian"):
        with pytest.raises(TypeError):
            getattr(program, method)(1.0)
    for _ in range(2):
        assert program(1.0) is out or (type(out) is np.ndarray and program(1.0) == out)
    assert usage() == before


def test_vectors_are_refused_where_a_number_is_wanted() -> None:
    program = cadiff.compile(lambda x: x * 2.0)
    x = np.ones(3)
    program(x)
    for call in (program.grad, program.value_and_grad, program.hessian):
        with pytest.raises(TypeError, match="jacobian"):
            call(x)
    with pytest.raises(TypeError):
        program.hvp(x, x)
    with pytest.raises(TypeError, match="jacobian"):
        program.batch(np.ones((2, 3)), what="grad")
    same(program(x), 2.0 * x)


def test_an_exception_within_an_outer_derivative() -> None:
    def f(x: Any) -> Any:
        if x > 1.0:
            raise KeyError("mine")
        return x * x

    program = cadiff.compile(f)

    def outer(a: Any) -> Any:
        y = a * 3.0
        try:
            program(2.0)
        except KeyError:
            y = y + program(0.5) * a
        return y * y

    assert cadiff.value_and_grad(outer)(2.0) == (42.25, 42.25)


def test_objects_that_come_and_go_are_not_recorded_for_ever() -> None:
    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        def plain(self, x: Any, power: int = 2) -> Any:
            return x**power * self.w

        loss = cadiff.compile(plain)

    recordings = 0
    for k in range(60):
        model = Model(float(k))
        if k % 3 == 0:
            near(model.loss(1.5), model.plain(1.5))
        elif k % 3 == 1:
            near(model.loss.value_and_grad(1.5), cadiff.value_and_grad(model.plain)(1.5))
        else:
            near(cadiff.grad(model.loss)(1.5, 3), cadiff.grad(model.plain)(1.5, 3))
            near(model.loss.grad(1.5, argnums=0, power=3), cadiff.grad(model.plain)(1.5, power=3))
        stats = model.loss.stats()
        recordings += stats["recordings"]
        assert stats["eager"] == (0 if k < 16 else 1 + (k % 3 == 2))
        near(cadiff.grad(lambda x, m=model: m.loss(x) * 2.0)(1.5), 6.0 * k)
    assert 16 <= recordings <= 22
    models = [Model(float(k)) for k in range(20)]  # these come again
    grads = [model.loss.grad for model in models]
    for _ in range(10):
        for model, grad in zip(models, grads, strict=True):
            near(grad(1.5), cadiff.grad(model.plain)(1.5))
    for model in models:
        stats = model.loss.stats()
        assert stats["recordings"] == 1
        assert stats["eager"] <= 4
    again = Model(2.0)  # since those were worth it, so may this one be
    near(again.loss(1.5), again.plain(1.5))
    assert again.loss.stats()["recordings"] == 1
