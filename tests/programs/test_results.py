"""Results have the containers that f returned, from programs as from f."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

Pair = namedtuple("Pair", ["first", "second"])


class Listed(list[Any]):
    """A list of the user's."""


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a number": lambda x: x[0] * x[1],
    "an array": lambda x: cnp.sin(x),
    "a list": lambda x: [x[0], 2.0 * x[1], 3.0],
    "a tuple": lambda x: (x[0], x[1] ** 2),
    "a named tuple": lambda x: Pair(x[0], x[0] * x[1]),
    "a list of the user's": lambda x: Listed([x[0], x[1]]),
    "arrays of one shape": lambda x: (cnp.sin(x), cnp.cos(x)),
    "a named tuple of arrays": lambda x: Pair(cnp.sin(x), [x[0], x[1]]),
    "a dict": lambda x: {"b": x[0], "a": [x[1], x[0]], "c": (x,)},
    "an ordered dict": lambda x: OrderedDict(b=x[0], a=Pair(x[1], x)),
    "nothing in a list": lambda x: [],
}
X = np.array([0.5, 0.75])


def types(tree: Any) -> Any:
    """The containers of a tree, and the types of its leaves."""
    if isinstance(tree, dict):
        return (type(tree), {key: types(item) for key, item in tree.items()})
    if isinstance(tree, (list, tuple)):
        return (type(tree), [types(item) for item in tree])
    return type(tree)


def leaves(tree: Any) -> list[float]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [number for item in tree for number in leaves(item)]
    found: list[float] = np.ravel(tree).tolist()
    return found


def plain(tree: Any) -> Any:
    """What f returns of an array, in floats where this has NumPy's numbers."""
    if isinstance(tree, dict):
        result = tree.copy()
        for key, item in tree.items():
            result[key] = plain(item)
        return result
    if isinstance(tree, (list, tuple)):
        items = [plain(item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return float(tree) if np.ndim(tree) == 0 else tree


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
@pytest.mark.parametrize("optimize", [True, False])
def test_values_have_the_containers_that_f_returned(
    f: Callable[[Any], Any], optimize: bool
) -> None:
    program = cadiff.compile(f, optimize=optimize)
    wanted = plain(f(X))
    for _ in range(3):
        got = program(X)
        assert types(got) == types(wanted)
        np.testing.assert_allclose(leaves(got), leaves(wanted), rtol=1e-15)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_values_and_tangents_beside_derivatives(f: Callable[[Any], Any]) -> None:
    program = cadiff.compile(f)
    wanted = types(plain(f(X)))
    for _ in range(2):
        for jvp in (program.jvp, lambda *both: cadiff.jvp(f, *both)):
            assert [types(part) for part in jvp((X,), (X,))] == [wanted, wanted]
        for vjp in (program.vjp, lambda x: cadiff.vjp(f, x)):
            value, pullback = vjp(X)
            assert types(value) == wanted
            assert type(pullback(value)) is np.ndarray


def test_lists_are_joined_as_those_of_f() -> None:
    program = cadiff.compile(lambda x: [x[0], x[1]])
    assert program(X) + [1.0] == [0.5, 0.75, 1.0]
    assert cadiff.grad(lambda x: sum(program(x) + [x[0]]))(X).tolist() == [2.0, 1.0]
