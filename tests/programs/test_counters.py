"""Functions that count their calls, which are run eagerly without being recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff.programs.counters import counter_of

X = np.array([1.0, 2.0])
seen: list[Any] = []
keep = seen.append
kept_by_method = functools.partial(list.append, seen)


def keeps(x: Any) -> Any:
    seen.append(x)
    return x


def halved(x: Any) -> Any:
    return 0.5 * x


class Model:
    def __init__(self) -> None:
        self.n = 0
        self.scale = 2.0
        self.is_ready = False
        self.last: Any = None
        self.hook: Callable[..., Any] = keeps
        self.weights = np.ones(2)

    @property
    def factor(self) -> float:
        return 2.0 * self.scale

    @property
    def noted(self) -> float:
        seen.append(1.0)
        return 2.0

    def keeps(self, x: Any) -> Any:
        self.last = x
        return x

    def counts(self, x: Any) -> Any:
        self.n += 1
        return np.sum(x**2) * self.scale

    def counts_with_property(self, x: Any) -> Any:
        self.n += 1
        return sum(v**2 * self.factor for v in x)

    def counts_and_calls(self, x: Any) -> Any:
        self.n += 1
        return np.sum(halved(self.inner(x)))

    def counts_with_classes(self, x: Any) -> Any:
        self.n += 1
        return np.sum(x**2) * float(self.scale)

    def inner(self, x: Any) -> Any:
        return x**2 * self.weights


def test_counters_are_never_recorded() -> None:
    model = Model()
    for f in (
        model.counts,
        model.counts_with_property,
        model.counts_with_classes,
        model.counts_and_calls,
    ):
        model.n = 0
        program = cadiff.compile(f)
        with pytest.warns(RuntimeWarning, match=r"it changes Model\.n"):
            value, gradient = program.value_and_grad(X)
        for _ in range(3):
            again = program.value_and_grad(X)
        assert model.n == 4
        assert program.stats()["recordings"] == 0
        expected = cadiff.value_and_grad(f)(X)
        assert value == again[0] == expected[0]
        np.testing.assert_array_equal(gradient, expected[1])


# What a method of a model does to it beside counting, or in the place of it.
MORE = {
    "it counts now and then": "if x[0] > 0.0: self.n += 1",
    "it is ready": "if not self.is_ready: self.is_ready = True",
    "it keeps": "self.n += 1; self.last = x",
    "it calls what keeps": "self.n += 1; keeps(x)",
    "it calls a method that keeps": "self.n += 1; self.keeps(x)",
    "it calls a hook": "self.n += 1; self.hook(x)",
    "it calls a method of a list": "self.n += 1; keep(x)",
    "it calls a partial": "self.n += 1; kept_by_method(x)",
    "it reads a property that keeps": "self.n += 1; x = x * self.noted",
    "it hands itself on": "self.n += 1; len(str(self))",
}


@pytest.mark.parametrize("what", MORE)
def test_what_may_do_more_is_looked_at(what: str) -> None:
    """The first recording finds what these keep, and what is kept becomes plain."""
    there = {**globals()}
    exec(f"def f(self, x):\n    {MORE[what]}\n    return np.sum(x**2)", there)
    assert not counter_of(MethodType(there["f"], Model()))


def test_what_does_not_count_is_no_counter() -> None:
    for other in (halved, np.sum, keeps, print, functools.partial(halved, 1.0)):
        assert not counter_of(other)
