"""Functions that count their calls, which are run eagerly without being recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff.programs.counters import counter_of

X = np.array([1.0, 2.0])
count = 0
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

    def counts_now_and_then(self, x: Any) -> Any:
        if x[0] > 0.0:
            self.n += 1
        return np.sum(x**2)

    def is_filled(self, x: Any) -> Any:
        if not self.is_ready:
            self.is_ready = True
        return np.sum(x**2)

    def counts_and_keeps(self, x: Any) -> Any:
        self.n += 1
        self.last = x
        return np.sum(x**2)

    def counts_and_calls_what_keeps(self, x: Any) -> Any:
        self.n += 1
        return np.sum(keeps(x) ** 2)

    def counts_and_calls_a_method_that_keeps(self, x: Any) -> Any:
        self.n += 1
        return np.sum(self.counts_and_keeps(x))

    def counts_and_calls_a_hook(self, x: Any) -> Any:
        self.n += 1
        self.hook(x)
        return np.sum(x**2)

    def counts_and_calls_a_method_of_a_list(self, x: Any) -> Any:
        self.n += 1
        keep(x)
        return np.sum(x**2)

    def counts_and_calls_a_partial(self, x: Any) -> Any:
        self.n += 1
        kept_by_method(x)
        return np.sum(x**2)

    def counts_and_notes(self, x: Any) -> Any:
        self.n += 1
        return np.sum(x**2) * self.noted

    def counts_and_hands_itself_on(self, x: Any) -> Any:
        self.n += 1
        return np.sum(x**2) + len(str(self)) * 0.0


def counts_globally(x: Any) -> Any:
    global count
    count += 1
    return np.sum(x**2)


def counter() -> Any:
    n = 0

    def counts(x: Any) -> Any:
        nonlocal n
        n += 1
        return np.sum(x**2), n

    return counts


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


def test_counters_of_functions() -> None:
    assert counter_of(counts_globally) == "count"
    assert counter_of(counter()) == "n"


@pytest.mark.parametrize(
    "name",
    [
        "counts_now_and_then",
        "is_filled",
        "counts_and_keeps",
        "counts_and_calls_what_keeps",
        "counts_and_calls_a_method_that_keeps",
        "counts_and_calls_a_hook",
        "counts_and_calls_a_method_of_a_list",
        "counts_and_calls_a_partial",
        "counts_and_notes",
        "counts_and_hands_itself_on",
    ],
)
def test_what_may_do_more_is_looked_at(name: str) -> None:
    """The first recording finds what these keep, and what is kept becomes plain."""
    assert not counter_of(getattr(Model(), name))
    for other in (halved, np.sum, keeps, print, functools.partial(halved, 1.0)):
        assert not counter_of(other)
