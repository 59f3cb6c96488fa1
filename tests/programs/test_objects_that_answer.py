"""Arguments whose own ways to answer for attributes raise: programs do not ask them.

What f does with them is f's affair; to look at a call, no code of theirs is run.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cadiff


class Meta(type):
    def __getattr__(cls, name: str) -> Any:
        raise KeyError(name)


class OfMeta(metaclass=Meta):
    rate = 2.0


class Refusing:
    __slots__ = ()
    rate = 2.0

    def __getattr__(self, name: str) -> Any:
        if name == "__getstate__":  # Python 3.10 asks for it where a dict is copied
            raise AttributeError(name)
        raise KeyError(name)


class RefusingList(Refusing, list[float], metaclass=Meta): ...


class RefusingDict(Refusing, dict[str, float]):
    __slots__ = ()


@dataclass
class RefusingFields(Refusing):
    rate: float = 2.0


class RefusingCallable(Refusing):
    def __repr__(self) -> str:
        raise KeyError("repr")

    def __call__(self, x: Any, other: Any = None) -> Any:
        return x * x * self.rate


class RefusingObject(Refusing): ...


def of_rate(x: Any, other: Any) -> Any:
    return x * x * other.rate


def of_first(x: Any, other: Any) -> Any:
    return x * x * other[0]


ARGUMENTS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any]]] = {
    "object": (of_rate, RefusingObject),
    "of a metaclass": (of_rate, OfMeta),
    "class": (of_rate, lambda: OfMeta),
    "list": (of_rate, lambda: RefusingList([1.0, 2.0])),
    "dict": (of_rate, lambda: RefusingDict(a=1.0)),
    "dataclass": (of_rate, RefusingFields),
    "callable": (of_rate, RefusingCallable),
    "memoryview": (of_first, lambda: memoryview(array("d", [2.0, 3.0]))),
    "memoryview of bytes": (of_first, lambda: memoryview(b"\x02\x03")),
    "memoryview of an array": (of_first, lambda: np.array([2.0, 3.0]).data),
    "bytearray": (of_first, lambda: bytearray(b"\x02\x03")),
    "array": (of_first, lambda: array("d", [2.0, 3.0])),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_not_asked(name: str) -> None:
    f, make = ARGUMENTS[name]
    for other in (make(), make()):
        program = cadiff.compile(f)
        for _ in range(2):
            assert program(3.0, other) == 18.0
            assert program.grad(3.0, other) == 12.0
            assert program.value_and_grad(3.0, other=other) == (18.0, 12.0)
            np.testing.assert_array_equal(program.batch(np.ones(2), other), [2.0, 2.0])
            assert cadiff.grad(f)(3.0, other) == 12.0
            assert cadiff.hessian(f)(3.0, other) == 4.0
            np.testing.assert_array_equal(cadiff.vmap(f, (0, None))(np.ones(2), other), [2.0, 2.0])
            assert cadiff.grad(program)(3.0, other) == 12.0
            assert cadiff.grad(cadiff.checkpoint(f))(3.0, other) == 12.0


@pytest.mark.parametrize("format", ["d", "B"])
def test_what_a_memoryview_shows_may_change(format: str) -> None:
    items = array(format, [2, 3])
    view = memoryview(items)
    program = cadiff.compile(of_first)
    for value in (2, 5, 5, 7):
        items[0] = value
        assert program(3.0, view) == 9.0 * value
        assert program.grad(3.0, view) == 6.0 * value


def test_functions_are_not_asked() -> None:
    f = RefusingCallable()
    for made in (cadiff.compile(f), cadiff.checkpoint(f)):
        assert made(3.0) == 18.0
        assert cadiff.grad(made)(3.0) == 12.0
    assert cadiff.grad(f)(3.0) == 12.0
    assert cadiff.compile(f).hessian(3.0) == 4.0


class Noting:
    """Notes what it is asked for that it has not got."""

    rate = 2.0

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        raise AttributeError(name)


@pytest.mark.parametrize("place", [0, 1])
def test_nobody_is_asked_in_vain(place: int) -> None:
    noting = Noting()
    program = cadiff.compile(lambda *args: args[1 - place] * args[place].rate)
    args = (noting, 3.0) if place == 0 else (3.0, noting)
    for _ in range(3):
        assert program(*args) == 6.0
    assert program.grad(*args, argnums=1 - place) == 2.0
    assert [name for name in noting.asked if not name.startswith("__")] == []
