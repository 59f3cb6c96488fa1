"""How often a program runs its function, and what that does besides computing: no more than
gradient functions would."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.programs import runs_of

X = np.array([1.0, 2.0, 3.0])

pytestmark = pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")

# What no recording can be replayed of.
BODIES: dict[str, Callable[[Any, list[Any]], Any]] = {
    "values that are read": lambda x, log: x[0] * float(cadiff.value(x[1])),
    "values that are looked at": lambda x, log: cnp.sum(x[~cnp.isin(x, 0.123)] ** 2),
    "a container that is changed": lambda x, log: log.append(2) or x[1] ** 2 * len(log),
}

METHODS: dict[str, Callable[[Any], Any]] = {
    "grad": cadiff.grad,
    "value_and_grad": cadiff.value_and_grad,
    "jacobian": cadiff.jacobian,
    "hessian": cadiff.hessian,
    "hvp": lambda f: lambda x: cadiff.hvp(f)(x, x),
    "jvp": lambda f: lambda x: cadiff.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: cadiff.vjp(f, x)[1](1.0),
}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_what_cannot_be_replayed_runs_once_in_each_call(
    body: Callable[..., Any], method: str, optimize: bool
) -> None:
    logs: list[list[Any]] = [[], []]

    def logged(log: list[Any]) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            log.append(1)
            return body(x, log)

        return f

    eager = METHODS[method](logged(logs[0]))
    program = METHODS[method](cadiff.compile(logged(logs[1]), optimize=optimize))
    for _ in range(3):
        found, expected = program(X), eager(X)
        if not isinstance(found, tuple):
            found, expected = (found,), (expected,)
        for one, other in zip(found, expected, strict=True):
            npt.assert_allclose(one, other, rtol=1e-12)
        assert len(logs[1]) <= len(logs[0])


def test_what_gradients_refuse_is_not_run_again() -> None:
    def f(x: Any) -> Any:
        return x * x

    program = cadiff.compile(f)
    with runs_of(f) as runs:
        for method in (program.grad, program.hessian, lambda x: program.hvp(x, x)):
            with pytest.raises(TypeError, match=r"wants one number from f, not an array"):
                method(X)
    assert len(runs) == 1


def test_values_that_are_kept_are_plain_and_kept_once() -> None:
    history: list[Any] = []

    class Memory:
        last: Any = None

    memory = Memory()

    def f(x: Any) -> Any:
        history.append(cadiff.value(x[0]))
        memory.last = cadiff.value(x[1]) * 2.0
        return cnp.sum(x * x)

    program = cadiff.compile(f)
    for k in (1.0, 2.0, 3.0):
        npt.assert_allclose(program.grad(k * X), 2.0 * k * X)
        assert memory.last == 4.0 * k
    assert history == [1.0, 2.0, 3.0]
    assert {type(x) for x in history} <= {float, np.float64}


class Log:
    """Writes into its own list by another name of it."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def always(self, x: Any, k: Any) -> Any:
        items = self.items
        items.append(1)
        return x[k] * float(cadiff.value(x[0])) * len(items)

    def later(self, x: Any, k: Any) -> Any:
        items = self.items
        if k > 1:
            items.append(int(k))
        return x[k] * len(items)

    def counts(self, x: Any, k: Any) -> Any:
        items = self.items
        items[:] = [*items, k]
        return x[k] * len(items)


@pytest.mark.parametrize("method", ["__call__", "grad"])
@pytest.mark.parametrize("name", ["always", "later", "counts"])
def test_writes_by_another_name(name: str, method: str) -> None:
    """Also where the function would run again for want of a plain integer."""
    one, other = Log(), Log()
    f, program = getattr(one, name), cadiff.compile(getattr(other, name))
    eager = f if method == "__call__" else cadiff.grad(f)
    for k in (0, 0, 1, 1, 2, 0, 2, 1):
        npt.assert_allclose(getattr(program, method)(X, k), eager(X, k))
        assert other.items == one.items


def test_a_container_is_changed_whatever_else_there_is() -> None:
    def appends(x: Any, items: list[float]) -> Any:
        items.append(2.0)
        return x[0] * float(cadiff.value(x[1])) * len(items)

    def fills(x: Any, items: dict[str, Any]) -> Any:
        items["sum"] = 1.0
        return cnp.sum(x[~cnp.isin(x, 0.123)]) * len(items)

    items: tuple[list[float], list[float]] = ([1.0], [1.0])
    program = cadiff.compile(appends)
    for _ in range(3):
        assert program(X, items[0]) == appends(X, items[1])
        assert items[0] == items[1]
    filled: dict[str, Any] = {"a": 1.0}
    assert cadiff.compile(fills)(X, filled) == 12.0
    assert filled == {"a": 1.0, "sum": 1.0}


@pytest.mark.parametrize(
    "reads",
    [
        lambda x, k: sum((x * j for j in range(k)), x),
        lambda x, k: x * [1.0, 2.0, 3.0, 4.0][k],
        lambda x, k: x[k:].sum() * x + cnp.sum(np.unique(np.array([k, 1]))),
    ],
)
@pytest.mark.parametrize("method", ["value", "grad"])
def test_integers_that_are_read_have_no_function_run_again(
    reads: Callable[..., Any], method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the value of one is read is seen in the recording, which serves that call."""

    def f(x: Any, k: Any) -> Any:
        print(k * 2)
        return cnp.sum(reads(x, k))

    program = cadiff.compile(f)
    call, eager = (program, f) if method == "value" else (program.grad, cadiff.grad(f))
    for k in range(4):
        found, printed = call(X, k), capsys.readouterr().out
        npt.assert_allclose(found, eager(X, k), rtol=1e-14)
        assert printed == capsys.readouterr().out == f"{2 * k}\n"


@pytest.mark.parametrize("method", ["value", "grad"])
def test_what_f_did_before_it_wanted_a_plain_integer_is_put_back(method: str) -> None:
    def made() -> Any:
        kept: dict[str, Any] = {}
        log: list[Any] = []

        def f(x: Any, rows: Any, k: Any) -> Any:
            log.append(k)
            kept["last"] = k * 2
            rows[0] += 1
            return cnp.sum(x[rows] ** 2) * len(json.dumps({"k": k})) * len(log)

        return f, kept, log

    (f, *mine), (plain, *own) = made(), made()
    program = cadiff.compile(f)
    call, eager = (program, plain) if method == "value" else (program.grad, cadiff.grad(plain))
    for k in (1, 20, 300, 20):
        rows, others = np.array([0, k % 2]), np.array([0, k % 2])
        npt.assert_allclose(call(X, rows, k), eager(X, others, k), rtol=1e-14)
        npt.assert_array_equal(rows, others)
        assert mine == own
        assert all(type(one) is int for one in mine[1])
