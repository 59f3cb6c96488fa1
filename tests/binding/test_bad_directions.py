"""Directions, tangents and cotangents of another structure or kind: the error says which was
expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cadiff

from ..helpers.mistakes import Function, Mistake, check, identity, mistakes, square


def pair(x: Any) -> Any:
    return [x, x * x]


x3 = np.ones(3)
TANGENT_MISTAKES: dict[str, Mistake] = {
    "primals no tuple": (
        lambda: cadiff.jvp(square, 1.0, (1.0,)),  # type: ignore[arg-type]
        TypeError,
        ["primals", "tuple", "float"],
    ),
    "tangents no tuple": (
        lambda: cadiff.jvp(square, (1.0,), 1.0),  # type: ignore[arg-type]
        TypeError,
        ["tangents", "tuple", "float"],
    ),
    "tangents an array": (
        lambda: cadiff.jvp(square, (1.0,), np.ones(1)),  # type: ignore[arg-type]
        TypeError,
        ["tangents", "tuple", "ndarray"],
    ),
    "tangents a dict": (
        lambda: cadiff.jvp(square, (1.0,), {"a": 1.0}),  # type: ignore[arg-type]
        TypeError,
        ["tangents", "tuple", "dict"],
    ),
    "too many tangents": (
        lambda: cadiff.jvp(square, (1.0,), (1.0, 2.0)),
        ValueError,
        ["tangents", "2", "1 argument"],
    ),
    "too few tangents": (
        lambda: cadiff.jvp(lambda x, y: x, (1.0, 2.0), (1.0,)),
        ValueError,
        ["tangents", "1", "2 arguments"],
    ),
    "another shape": (
        lambda: cadiff.jvp(identity, (x3,), (np.ones(2),)),
        ValueError,
        ["tangents", r"\(3,\)", r"\(2,\)"],
    ),
    "a column": (
        lambda: cadiff.jvp(identity, (x3,), (np.ones((3, 1)),)),
        ValueError,
        ["tangents", r"\(3,\)", r"\(3, 1\)"],
    ),
    "a number for an array": (
        lambda: cadiff.jvp(identity, (x3,), (1.0,)),
        ValueError,
        ["tangents", r"\(3,\)", r"\(\)"],
    ),
    "a list for a number": (
        lambda: cadiff.jvp(square, (1.0,), ([1.0],)),
        ValueError,
        ["tangents", "structure"],
    ),
    "a list for a dict": (
        lambda: cadiff.jvp(lambda p: p["a"], ({"a": 1.0, "b": 2.0},), ([1.0, 2.0],)),
        ValueError,
        ["tangents", "structure"],
    ),
    "other keys": (
        lambda: cadiff.jvp(lambda p: p["a"], ({"a": 1.0},), ({"b": 1.0},)),
        ValueError,
        ["tangents", "structure"],
    ),
    "missing key": (
        lambda: cadiff.jvp(lambda p: p["a"], ({"a": 1.0, "b": 2.0},), ({"a": 1.0},)),
        ValueError,
        ["tangents", "structure"],
    ),
    "other nesting": (
        lambda: cadiff.jvp(lambda p: p[0][0], ([[1.0, 2.0], [3.0]],), ([[1.0], [2.0, 3.0]],)),
        ValueError,
        ["tangents", "structure"],
    ),
    "a tangent of text": (
        lambda: cadiff.jvp(square, (1.0,), ("a",)),
        TypeError,
        ["tangent", "str"],
    ),
    "a tangent of bool": (
        lambda: cadiff.jvp(square, (1.0,), (True,)),
        TypeError,
        ["tangent", "bool"],
    ),
    "hvp, missing direction": (
        lambda: cadiff.hvp(square)(1.0),
        TypeError,
        [r"\bv\b"],
    ),
    "hvp, several argnums": (
        lambda: cadiff.hvp(square, (0,)),  # type: ignore[arg-type]
        TypeError,
        ["hvp", "one argument", "argnums is an int"],
    ),
    "hvp, argnums out of range": (
        lambda: cadiff.hvp(square, 2)(1.0, 1.0),
        (TypeError, IndexError),
        ["argnums", "2", r"1 argument|\b1\b"],
    ),
    "hvp, argnums a bool": (
        lambda: cadiff.hvp(square, True),
        TypeError,
        ["argnums", "int", "True"],
    ),
    "hvp, another shape": (
        lambda: cadiff.hvp(lambda x: x[0])(x3, np.ones(2)),
        ValueError,
        ["direction v", r"\(3,\)", r"\(2,\)"],
    ),
    "hvp, a matrix": (
        lambda: cadiff.hvp(lambda x: x[0])(x3, np.eye(3)),
        ValueError,
        ["direction v", r"\(3,\)", r"\(3, 3\)"],
    ),
    "hvp, too short a list": (
        lambda: cadiff.hvp(lambda x: x[0])([1.0, 2.0], [1.0]),
        ValueError,
        ["direction v", "structure"],
    ),
    "hvp, other keys": (
        lambda: cadiff.hvp(lambda p: p["a"])({"a": 1.0}, {"b": 1.0}),
        ValueError,
        ["direction v", "structure"],
    ),
    "hvp, text": (lambda: cadiff.hvp(square)(1.0, "a"), TypeError, ["direction", "str"]),
    "hvp, None": (lambda: cadiff.hvp(square)(1.0, None), TypeError, ["direction", "NoneType"]),
}


@mistakes(TANGENT_MISTAKES)
def test_a_direction_of_another_structure_is_told(mistake: Mistake) -> None:
    check(mistake)


COTANGENT_MISTAKES: dict[str, tuple[Function, Any, type[Exception], list[str]]] = {
    "vector for a number": (square, [1.0], ValueError, ["cotangent", r"\(\)", r"\(1,\)"]),
    "array for a number": (square, np.ones(1), ValueError, ["cotangent", r"\(\)", r"\(1,\)"]),
    "number for a vector": (pair, 1.0, ValueError, ["cotangent", r"\(2,\)", r"\(\)"]),
    "too long a vector": (pair, [1.0] * 3, ValueError, ["cotangent", r"\(2,\)", r"\(3,\)"]),
    "matrix for a vector": (pair, np.eye(2), ValueError, ["cotangent", r"\(2,\)", r"\(2, 2\)"]),
    "vector for a dict": (lambda x: {"a": x, "b": x}, [1.0, 2.0], ValueError, ["cotangent"]),
    "dict for a vector": (pair, {"a": 1.0, "b": 2.0}, ValueError, ["cotangent"]),
    "other keys": (lambda x: {"a": x}, {"b": 1.0}, ValueError, ["cotangent", "structure"]),
    "list of vectors for a dict": (
        lambda x: {"a": [x, x], "b": [x]},
        [[1.0, 2.0], [3.0]],
        ValueError,
        ["cotangent", "structure"],
    ),
    "text": (square, "a", TypeError, ["cotangent", "str"]),
    "None": (square, None, TypeError, ["cotangent", "NoneType"]),
    "bool": (square, True, TypeError, ["cotangent", "bool"]),
    "complex": (square, 1j, TypeError, ["cotangent", "complex"]),
    "text in a vector": (pair, [1.0, "a"], TypeError, ["cotangent", "str"]),
}


@pytest.mark.parametrize(
    ("f", "cotangent", "kind", "words"),
    COTANGENT_MISTAKES.values(),
    ids=COTANGENT_MISTAKES.keys(),
)
def test_a_cotangent_of_another_structure_is_told(
    f: Function, cotangent: Any, kind: type[Exception], words: list[str]
) -> None:
    _, pullback = cadiff.vjp(f, 3.0)
    check((lambda: pullback(cotangent), kind, words))
    out, again = cadiff.vjp(square, 3.0)
    assert (out, again(1.0)) == (9.0, 6.0)


def test_a_pullback_takes_one_cotangent() -> None:
    _, pullback = cadiff.vjp(square, 3.0)
    with pytest.raises(TypeError):
        pullback()
    with pytest.raises(TypeError):
        pullback(1.0, 2.0)
