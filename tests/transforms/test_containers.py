"""Classes that users make containers, and containers that are refused."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cadiff

from ..helpers.trees import Box, Layer, Pair, assert_same_tree


class Bag:
    def __init__(self, *items: Any) -> None:
        self.items = items


class BagOfBags(Bag):
    pass


@dataclass
class Counted:
    number: Any
    count: int = 3


cadiff.register_container(Bag, lambda bag: (bag.items, None), lambda aux, items: Bag(*items))
# By registration the count, which is a field, is none of its numbers.
cadiff.register_container(
    Counted, lambda c: ([c.number], c.count), lambda count, items: Counted(items[0], count)
)


def product(bag: Any) -> Any:
    return bag.items[0] * bag.items[1]["a"] ** 2


def test_a_registered_class_is_a_container() -> None:
    bag = Bag(2.0, {"a": 3.0})
    gradient = cadiff.grad(product)(bag)
    assert type(gradient) is Bag
    assert gradient.items == (9.0, {"a": 12.0})
    out = cadiff.jacobian(lambda x: Bag(x, [x * x, None]))(3.0)
    assert out.items == (1.0, [6.0, None])


def test_registration_comes_first() -> None:
    assert cadiff.grad(lambda c: c.number * c.count)(Counted(2.0)) == Counted(3.0, 3)


def test_a_class_derived_from_a_registered_one_is_not_registered() -> None:
    with pytest.raises(TypeError, match=r"argument 0 .*BagOfBags.*register_container"):
        cadiff.grad(product)(BagOfBags(2.0, {"a": 3.0}))


def test_a_class_that_is_known_is_not_registered() -> None:
    def flatten(x: Any) -> Any:
        return (), None

    def unflatten(aux: Any, parts: Any) -> Any:
        return None

    for kind in (Bag, list, tuple, dict, type(None)):
        with pytest.raises(ValueError, match=f"{kind.__name__} is a container already"):
            cadiff.register_container(kind, flatten, unflatten)
    for not_one in (float, bool, str, np.ndarray, np.float32, cadiff.Var, 3, None):
        with pytest.raises(TypeError, match="a class of containers"):
            cadiff.register_container(not_one, flatten, unflatten)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="flatten"):
        cadiff.register_container(type("New", (), {}), None, unflatten)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unflatten"):
        cadiff.register_container(type("New", (), {}), flatten, 1)  # type: ignore[arg-type]


BAD: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any], str]] = {
    "no pair": (lambda x: [1.0], lambda aux, parts: None, r"flatten of New .* a list"),
    "triple": (lambda x: (1.0, 2.0, 3.0), lambda aux, parts: None, "a tuple of 3"),
    "no list": (lambda x: (1.0, None), lambda aux, parts: None, r"\(float, NoneType\)"),
    "another class": (
        lambda x: ([1.0], None),
        lambda aux, parts: parts,
        r"unflatten of .*tuple",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_functions_that_return_something_else_are_told(name: str) -> None:
    flatten, unflatten, match = BAD[name]
    new = type("New", (), {})
    cadiff.register_container(new, flatten, unflatten)
    for run in (cadiff.grad(lambda x: 1.0), cadiff.compile(lambda x: 1.0)):
        with pytest.raises(TypeError, match=match):
            run(new())


def test_errors_of_flatten_pass_through() -> None:
    new = type("New", (), {})

    def flatten(x: Any) -> Any:
        raise KeyError("mine")

    cadiff.register_container(new, flatten, lambda aux, parts: None)
    with pytest.raises(KeyError, match="mine"):
        cadiff.grad(lambda x: 1.0)([new()])


# --- paths and refusals --------------------------------------------------------------------------


PATHS: dict[str, tuple[Any, str]] = {
    "field": (
        Layer(1.0, {"w": ["a"]}),
        r"argument 0\.bias\['w'\]\[0\] is no .* str",
    ),
    "bool in a field": (Layer(True), r"argument 0\.weight is .*bool"),
    "name": ([Pair(1.0, "a")], r"argument 0\[0\]\.bias "),
    "registered": (Bag(1.0, Box("x", b"")), r"argument 0\[1\]\[0\] .*bytes"),
    "ordered": (OrderedDict(k=("a",)), r"argument 0\['k'\]\[0\] "),
}


@pytest.mark.parametrize("name", PATHS)
def test_what_is_no_number_is_named_by_its_path(name: str) -> None:
    tree, match = PATHS[name]
    for transform in (cadiff.grad, cadiff.jacfwd, lambda f: cadiff.compile(f).grad):
        with pytest.raises(TypeError, match=match):
            transform(lambda tree: 1.0)(tree)


def test_directions_and_cotangents_of_another_structure_are_told() -> None:
    layer = Layer([1.0, None], {"a": 2.0})
    _, pullback = cadiff.vjp(lambda p: Layer(p.bias["a"], None), layer)
    for direction, path in (
        (Layer([1.0, None], {"b": 2.0}), r"tangents\[0\]\.bias must .* keys \['a'\]"),
        (Layer([1.0, 2.0], {"a": 2.0}), r"tangents\[0\]\.weight\[1\] must .* expected None"),
        (Pair([1.0, None], {"a": 2.0}), r"tangents\[0\] must .* the fields"),
    ):
        with pytest.raises(ValueError, match=path):
            cadiff.jvp(lambda p: p.weight[0], (layer,), (direction,))
    with pytest.raises(ValueError, match=r"the cotangent\.bias must have .* expected None"):
        pullback(Layer(1.0, 2.0))
    with pytest.raises(ValueError, match=r"the cotangent must have .*Layer with the fields"):
        pullback({"weight": 1.0})
    assert_same_tree(pullback(Layer(3.0, None)), Layer([0.0, None], {"a": 3.0}))


@dataclass
class Linked:
    number: Any
    other: Any = None


def test_containers_that_contain_themselves_are_refused() -> None:
    linked, bag, deep = Linked(1.0), Bag(), 1.0
    linked.other, bag.items = linked, ([bag],)
    for _ in range(100_000):
        deep = Linked(deep)  # type: ignore[assignment]
    for tree in (linked, bag, deep):
        for call in (cadiff.grad(lambda p: 1.0), cadiff.compile(lambda p: 1.0), cadiff.flatten):
            with pytest.raises(RecursionError, match="contains itself"):
                call(tree)


def test_maps_of_containers_are_pickled() -> None:
    tree = Box("x", Layer(1.0, None), OrderedDict(a=np.ones(2)))
    _, unflatten = cadiff.flatten(tree)
    again = pickle.loads(pickle.dumps(unflatten))
    wanted = Box("x", Layer(0.0, None), OrderedDict(a=np.array([1.0, 2.0])))
    assert_same_tree(again(np.arange(3.0)), wanted)


def test_a_program_knows_containers_that_are_their_own_aux() -> None:
    class Setting:
        def __init__(self, power: int) -> None:
            self.power = power

    cadiff.register_container(Setting, lambda x: ((), x), lambda x, _: x)
    square, cube = Setting(2), Setting(3)
    program = cadiff.compile(lambda x, setting: x**setting.power)
    assert [program(2.0, s) for s in (square, square, cube, cube, square)] == [4, 4, 8, 8, 4]
    assert program.stats()["eager"] == 0
