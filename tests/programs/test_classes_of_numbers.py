"""Numbers and arrays of classes that derive from Python's and NumPy's: f gets them as they are."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import cadiff


class Length(float):
    unit = 2.0


class Double(np.float64):
    unit = 2.0


class Phasor(complex):
    unit = 2.0


class Rate(float, enum.Enum):
    low = 1.5
    high = 2.5


class Reversed(float):
    def __rmul__(self, other: Any) -> float:
        return -100.0


class Whole(int):
    def __rmul__(self, other: Any) -> float:
        return -100.0


class Quantity(np.ndarray[Any, Any]):
    unit = 2.0


def scaled(x: Any, k: Any) -> Any:
    return x * k.unit * abs(k) if isinstance(k, (Length, Double, Phasor)) else x * k


@pytest.mark.parametrize("kind", [Length, Double, Phasor])
def test_class_and_attributes_of_a_number_are_looked_at(kind: Any) -> None:
    program = cadiff.compile(scaled)
    first, second = kind(1.5), kind(1.5)
    second.unit = 3.0
    for number in (first, second, first, 1.5):
        assert program(7.0, number) == scaled(7.0, number)
    first.unit = 5.0
    assert program(7.0, first) == scaled(7.0, first)
    assert program.grad(7.0, first) == 7.5
    assert program.stats()["eager"] == 0


def test_numbers_of_a_class_of_their_own_are_no_inputs_in_containers_or_in_front() -> None:
    program = cadiff.compile(lambda k, x: scaled(x, k["a"] if isinstance(k, dict) else k))
    assert [program(k, 7.0) for k in (Length(1.5), {"a": Length(1.5)}, 1.5)] == [21.0, 21.0, 10.5]


def test_members_of_an_enumeration_of_floats_are_told_apart() -> None:
    f = lambda x, k: x * k * len(k.name)  # noqa: E731
    program = cadiff.compile(f)
    assert [program(2.0, k) for k in (Rate.low, Rate.high, Rate.low)] == [9.0, 20.0, 9.0]
    assert program.stats()["eager"] == 0


@pytest.mark.parametrize("number", [Reversed(2.0), Whole(2), np.ones(2).view(Quantity)])
def test_where_a_class_computes_for_itself_f_runs_eagerly(number: Any) -> None:
    def f(x: Any, k: Any) -> Any:
        return np.sum(x * k) * getattr(x * k, "unit", 1.0)

    program, enclosed = cadiff.compile(f), cadiff.compile(lambda x: f(x, number))
    for call in (lambda: program(3.0, number), lambda: enclosed(3.0)):
        with pytest.warns(RuntimeWarning, match=f"class {type(number).__name__}"):
            assert call() == f(3.0, number)
        assert call() == f(3.0, number)


def test_arrays_in_files_are_inputs(tmp_path: Any) -> None:
    values = np.memmap(tmp_path / "numbers", float, "w+", shape=3)
    values[:] = [1.0, 2.0, 3.0]
    program = cadiff.compile(lambda x, w: np.sum(x * w))
    assert [program(3.0, values * k) for k in (1.0, 2.0, 3.0)] == [18.0, 36.0, 54.0]
    assert program.stats()["recordings"] == 1 and program.stats()["eager"] == 0
