"""What f returns and has no derivative: the error says what was returned, and what to return
instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Var

from ..helpers.mistakes import Function, check, square

SCALAR_TRANSFORMS: dict[str, Callable[[Function], Any]] = {
    "grad": lambda f: cadiff.grad(f)(2.0),
    "value_and_grad": lambda f: cadiff.value_and_grad(f)(2.0),
    "hessian": lambda f: cadiff.hessian(f)(2.0),
    "hvp": lambda f: cadiff.hvp(f)(2.0, 1.0),
    "gradient": lambda f: cadiff.gradient(f, (2.0,)),
    "gradient fwd": lambda f: cadiff.gradient(f, (2.0,), mode="fwd"),
}
ANY_TRANSFORMS: dict[str, Callable[[Function], Any]] = {
    "jacobian": lambda f: cadiff.jacobian(f)(2.0),
    "jacfwd": lambda f: cadiff.jacfwd(f)(2.0),
    "jacrev": lambda f: cadiff.jacrev(f)(2.0),
    "elementwise_grad": lambda f: cadiff.elementwise_grad(f)(2.0),
    "jvp": lambda f: cadiff.jvp(f, (2.0,), (1.0,)),
    "vjp": lambda f: cadiff.vjp(f, 2.0),
    "derivative": lambda f: cadiff.derivative(f, 2.0),
}
NO_RESULTS: dict[str, tuple[Function, list[str]]] = {
    "None": (lambda x: None, ["NoneType", "return missing"]),
    "bool": (lambda x: x > 0, ["bool", "comparison", r"cadiff\.where"]),
    "np.bool": (lambda x: np.bool_(True), ["bool"]),
    "str": (lambda x: "a", ["real number", "str"]),
    "object": (lambda x: object(), ["real number", "object"]),
    "set": (lambda x: {1.0}, ["real number", "set"]),
    "function": (lambda x: square, ["real number", "function"]),
    "array of bool": (lambda x: np.array([True]), ["bool"]),
    "array of str": (lambda x: np.array(["a"]), ["real number", "str"]),
}


@pytest.mark.parametrize("name", [*SCALAR_TRANSFORMS, *ANY_TRANSFORMS])
@pytest.mark.parametrize(("f", "words"), NO_RESULTS.values(), ids=NO_RESULTS.keys())
def test_a_result_without_derivative_is_told(name: str, f: Function, words: list[str]) -> None:
    run = (SCALAR_TRANSFORMS | ANY_TRANSFORMS)[name]
    check((lambda: run(f), TypeError, words))


@pytest.mark.parametrize("name", ANY_TRANSFORMS)
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: [x, "a"], ["real number", "str"]),
        (lambda x: {"a": [x, b""]}, ["real number", "bytes"]),
        (lambda x: [x, x > 0], ["bool"]),
    ],
    ids=["str", "bytes", "bool"],
)
def test_a_result_without_derivative_is_found_in_containers(
    name: str, f: Function, words: list[str]
) -> None:
    check((lambda: ANY_TRANSFORMS[name](f), TypeError, words))


SEVERAL: dict[str, tuple[Function, list[str]]] = {
    "list": (lambda x: [x, x], ["one number", "list", r"cadiff\.jacobian"]),
    "list of one": (lambda x: [x], ["one number", "list", r"cadiff\.jacobian"]),
    "tuple": (lambda x: (x, x), ["one number", "tuple", r"cadiff\.jacobian"]),
    "dict": (lambda x: {"a": x}, ["one number", "dict", r"cadiff\.jacobian"]),
    "array": (lambda x: np.array([x, x]), ["one number", r"\(2,\)", r"cadiff\.jacobian"]),
    "plain array": (lambda x: np.ones((2, 3)), ["one number", r"\(2, 3\)", r"cadiff\.jacobian"]),
    "empty array": (lambda x: np.zeros(0), ["one number", r"\(0,\)", r"cadiff\.jacobian"]),
    "vector": (lambda x: Var([1.0, 2.0]), ["one number", r"\(2,\)", r"cadiff\.jacobian"]),
}


@pytest.mark.parametrize("name", SCALAR_TRANSFORMS)
@pytest.mark.parametrize(("f", "words"), SEVERAL.values(), ids=SEVERAL.keys())
def test_several_results_name_jacobian(name: str, f: Function, words: list[str]) -> None:
    kept = Var(1.0)  # so that the tape of this thread is in use
    own = name.removesuffix(" fwd")
    with pytest.raises(TypeError) as caught:
        SCALAR_TRANSFORMS[name](f)
    for word in words if name != "gradient fwd" else [words[0], words[-1]]:
        assert re.search(word, str(caught.value)), (word, str(caught.value))
    assert re.search(rf"\b{own}\b|\bgrad\b", str(caught.value))
    assert kept.value == 1.0


def test_a_tuple_as_result_names_has_aux() -> None:
    check((lambda: cadiff.grad(lambda x: (x, 1))(2.0), TypeError, ["has_aux=True"]))


AUX: dict[str, Callable[[Function], Any]] = {
    "grad": lambda f: cadiff.grad(f, has_aux=True)(2.0),
    "value_and_grad": lambda f: cadiff.value_and_grad(f, has_aux=True)(2.0),
    "jvp": lambda f: cadiff.jvp(f, (2.0,), (1.0,), has_aux=True),
    "vjp": lambda f: cadiff.vjp(f, 2.0, has_aux=True),
}


@pytest.mark.parametrize("run", AUX.values(), ids=AUX.keys())
@pytest.mark.parametrize(
    ("f", "given"),
    [
        (lambda x: x, "out alone"),
        (lambda x: [x, 1], "list"),
        (lambda x: (x, 1, 2), "tuple of 3"),
        (lambda x: (x,), "tuple of 1"),
        (lambda x: None, "NoneType"),
        (lambda x: 3.0, "float"),
    ],
    ids=["number", "list", "triple", "single", "None", "float"],
)
def test_with_has_aux_f_returns_a_pair(
    run: Callable[[Function], Any], f: Function, given: str
) -> None:
    check((lambda: run(f), TypeError, ["has_aux=True", "pair", r"\(out, aux\)", given]))


@pytest.mark.parametrize("run", AUX.values(), ids=AUX.keys())
def test_the_first_of_the_pair_must_be_a_result(run: Callable[[Function], Any]) -> None:
    check((lambda: run(lambda x: (None, x)), TypeError, ["real number", "NoneType"]))
    check((lambda: run(lambda x: (x > 0, x)), TypeError, ["bool"]))
