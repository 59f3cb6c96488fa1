"""Containers that contain themselves, or are nested too deep, are refused wherever containers are
walked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.mistakes import check, square


def _of_itself(kind: type) -> Any:
    tree: Any = kind()
    if kind is dict:
        tree.update(a=1.0, b=tree)
    else:
        tree += [1.0, tree]
    return tree


def _deep(levels: int, leaf: Any = 1.0) -> Any:
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def _objects() -> Any:
    array = np.empty(2, dtype=object)
    array[:] = [1.0, array]
    return array


ENDLESS = {
    "list": _of_itself(list),
    "dict": _of_itself(dict),
    "deep": _deep(100_000),
}
if sys.version_info < (3, 12):  # later ones do not count calls in C against Python's limit
    ENDLESS["fairly deep"] = _deep(990)

_PRIMITIVE = cadiff.primitive(lambda x: 1.0)
_PULLBACK = cadiff.vjp(square, 1.0)[1]

WALKS: dict[str, Callable[[Any], Any]] = {
    "value": cadiff.value,
    "stop_gradient": cadiff.stop_gradient,
    "flatten": cadiff.flatten,
    "primitive": lambda tree: _PRIMITIVE(tree),
    "numpy": lambda tree: cnp.sum(tree),
    "numpy, with numbers": lambda tree: cadiff.grad(lambda x: cnp.where(x, tree, x))(1.0),
    "nn": lambda tree: cadiff.nn.softmax(tree),
    "grad": lambda tree: cadiff.grad(lambda x: 1.0)(tree),
    "hessian": lambda tree: cadiff.hessian(lambda x: 1.0)(tree),
    "jvp": lambda tree: cadiff.jvp(lambda x: 1.0, (1.0,), (tree,)),
    "hvp": lambda tree: cadiff.hvp(lambda x: x * x)(1.0, tree),
    "vjp": lambda tree: cadiff.vjp(lambda x: 1.0, tree),
    "cotangent": lambda tree: _PULLBACK(tree),
    "linearize": lambda tree: cadiff.linearize(lambda x: 1.0, tree),
    "check_grads": lambda tree: cadiff.check_grads(lambda x: 1.0, (tree,)),
    "aux": lambda tree: cadiff.grad(lambda x: (x, tree), has_aux=True)(1.0),
    "output": lambda tree: cadiff.jacobian(lambda x: tree)(1.0),
    "output of vjp": lambda tree: cadiff.vjp(lambda x: tree, 1.0),
    "checkpoint": lambda tree: cadiff.grad(lambda x: cadiff.checkpoint(lambda a, b: a)(x, tree))(
        1.0
    ),
    "result of a checkpoint": lambda tree: cadiff.grad(cadiff.checkpoint(lambda x: tree))(1.0),
    "program": lambda tree: cadiff.compile(lambda x: 1.0)(tree),
    "program, by name": lambda tree: cadiff.compile(lambda x, y: x)(1.0, y=tree),
    "program.grad": lambda tree: cadiff.compile(lambda x, y: x).grad(1.0, tree),
    "program.jvp": lambda tree: cadiff.compile(lambda x: x).jvp((1.0,), (tree,)),
    "result of a program": lambda tree: cadiff.compile(lambda x: tree)(1.0),
    "sparse_jacobian": lambda tree: cadiff.sparse_jacobian(lambda x: x)(tree),
}


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.filterwarnings("ignore:.*nested too deeply to be watched:RuntimeWarning")
def test_containers_without_end_are_refused(kind: str, name: str) -> None:
    tree = ENDLESS[kind]
    check(lambda: WALKS[name](tree), RecursionError, "contains itself,.or is nested too deep")
    assert cadiff.grad(lambda x: x * x)(3.0) == 6.0


def test_arrays_of_objects_that_contain_themselves_are_refused() -> None:
    for walk in (cadiff.value, _PRIMITIVE, cnp.sum, cadiff.compile(lambda x: 1.0)):
        with pytest.raises((RecursionError, TypeError), match=r"contains itself|real number"):
            walk(_objects())


def test_the_depth_of_containers_does_not_depend_on_the_limit_of_python_alone() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        for walk in (cadiff.value, cadiff.grad(lambda x: 1.0), cadiff.compile(lambda x: 1.0)):
            with pytest.raises(RecursionError, match="contains itself, or is nested too deep"):
                walk(ENDLESS["deep"])
    finally:
        sys.setrecursionlimit(limit)


def test_containers_of_many_levels_are_taken() -> None:
    tree = _deep(100, 2.0)
    assert cadiff.value(tree) == tree
    assert cadiff.compile(lambda x: 1.0)(tree) == 1.0
    assert cadiff.grad(lambda x: 1.0)(tree) == _deep(100, 0.0)
