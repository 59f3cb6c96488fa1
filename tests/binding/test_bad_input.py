"""What users do wrong gets an error that says what was given, and what to write instead.

Each row is a mistake, the exception, and the telling words of its message: what was given, where,
and the way out.
"""

from __future__ import annotations

import decimal
import functools
import json
import math
import re
import statistics
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, linalg, optimize, sparse, spatial, stats

import cadiff
import cadiff.numpy as cnp
from cadiff import Dual, Var, binding

from ..helpers.names import name_of

Function = Callable[..., Any]
Mistake = tuple[Callable[[], Any], type[Exception] | tuple[type[Exception], ...], list[str]]


def square(x: Any) -> Any:
    return x * x


def pair(x: Any) -> Any:
    return [x, x * x]


def identity(x: Any) -> Any:
    return x


def check(mistake: Mistake) -> None:
    """The mistake raises, its message has the telling words, and the tape is as before."""
    make, kind, words = mistake
    before = binding.tape_usage()
    with pytest.raises(kind) as caught:
        make()
    message = str(caught.value)
    for word in words:
        assert re.search(word, message), f"{word!r} is not in {message!r}"
    del caught
    after = binding.tape_usage()
    assert after.pop("handles") <= before.pop("handles")  # garbage of other tests may go
    assert after == before


def mistakes(rows: dict[str, Mistake]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("mistake", rows.values(), ids=rows.keys())


# --- what is no function -----------------------------------------------------------------------

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": cadiff.grad,
    "value_and_grad": cadiff.value_and_grad,
    "elementwise_grad": cadiff.elementwise_grad,
    "jacobian": cadiff.jacobian,
    "jacfwd": cadiff.jacfwd,
    "jacrev": cadiff.jacrev,
    "hessian": cadiff.hessian,
    "hvp": cadiff.hvp,
}
AT_A_POINT: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: cadiff.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda f: cadiff.vjp(f, 1.0),
    "derivative": lambda f: cadiff.derivative(f, 1.0),
    "derivative by position": lambda f: cadiff.derivative(f, 0, (1.0,)),
    "gradient": lambda f: cadiff.gradient(f, (1.0,)),
    "gradient fwd": lambda f: cadiff.gradient(f, (1.0,), mode="fwd"),
    "check_derivative": lambda f: cadiff.check_derivative(f, 0, (1.0,), 1.0),
    "check_grads": lambda f: cadiff.check_grads(f, (1.0,)),
}
STRANGERS: dict[str, Any] = {"int": 3, "NoneType": None, "str": "f", "ndarray": np.ones(2)}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("kind", ["int", "NoneType"])
def test_a_transform_names_itself_and_what_it_got_instead_of_a_function(
    name: str, kind: str
) -> None:
    own = rf"\b({name}|jacobian)\b" if name.startswith("jac") else rf"\b{name}\b"
    check((lambda: TRANSFORMS[name](STRANGERS[kind]), TypeError, [own, "function", kind]))


@pytest.mark.parametrize("run", AT_A_POINT.values(), ids=AT_A_POINT.keys())
@pytest.mark.parametrize("kind", STRANGERS)
def test_a_function_at_a_point_must_be_callable(run: Callable[[Any], Any], kind: str) -> None:
    check((lambda: run(STRANGERS[kind]), TypeError, [kind, "function|callable"]))


# --- argnums -----------------------------------------------------------------------------------

ARGNUMS_MISTAKES: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "str": ("a", TypeError, ["argnums", "int or a tuple of ints", "'a'"]),
    "float": (1.0, TypeError, ["argnums", "int or a tuple of ints", r"1\.0"]),
    "bool": (True, TypeError, ["argnums", "int or a tuple of ints", "True"]),
    "np.bool": (np.bool_(True), TypeError, ["argnums", "int or a tuple of ints", "True"]),
    "None": (None, TypeError, ["argnums", "int or a tuple of ints", "None"]),
    "tuple of str": (("x",), TypeError, ["argnums", "int or a tuple of ints", "'x'"]),
    "tuple of bool": ((True, False), TypeError, ["argnums", "int or a tuple of ints", "True"]),
    "nested tuple": (((0, 1),), TypeError, ["argnums", "int or a tuple of ints"]),
    "twice": ((0, 0), ValueError, ["argnums", "twice", r"\(0, 0\)"]),
}


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if name != "hvp"])
@pytest.mark.parametrize(
    ("argnums", "kind", "words"), ARGNUMS_MISTAKES.values(), ids=ARGNUMS_MISTAKES.keys()
)
def test_argnums_are_an_int_or_a_tuple_of_different_ints(
    name: str, argnums: Any, kind: type[Exception], words: list[str]
) -> None:
    check((lambda: TRANSFORMS[name](square, argnums), kind, words))


@pytest.mark.parametrize("argnums", [1, -2, 7, (0, 1), (-2,)], ids=str)
@pytest.mark.parametrize("name", [name for name in TRANSFORMS if name != "hvp"])
def test_argnums_out_of_range_name_the_number_of_arguments(name: str, argnums: Any) -> None:
    missing = argnums if isinstance(argnums, int) else next(k for k in argnums if k not in (0, -1))
    words = ["argnums", rf"{missing}\b", "1 positional argument"]
    check((lambda: TRANSFORMS[name](square, argnums)(2.0), (TypeError, IndexError), words))


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if name != "hvp"])
def test_one_argument_is_not_named_by_two_argnums(name: str) -> None:
    f = TRANSFORMS[name](lambda x, y: x * y, (0, -2))
    check((lambda: f(2.0, 3.0), ValueError, ["argnums", "twice", "-2"]))


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if name != "hvp"])
def test_an_argument_passed_by_keyword_is_not_differentiated(name: str) -> None:
    check(
        (
            lambda: TRANSFORMS[name](square)(x=2.0),
            TypeError,
            ["argnums", "0 positional", "keyword"],
        )
    )


# --- arguments that have no derivative ---------------------------------------------------------

BAD_ARGUMENTS: dict[str, tuple[Any, list[str]]] = {
    "bool": (True, ["argument 0", "bool"]),
    "np.bool": (np.bool_(False), ["argument 0", "bool"]),
    "complex": (1j, ["argument 0", "complex"]),
    "np.complex64": (np.complex64(1j), ["argument 0", "complex64"]),
    "str": ("1.0", ["argument 0", "str"]),
    "bytes": (b"1", ["argument 0", "bytes"]),
    "None": (None, ["argument 0", "NoneType"]),
    "set": ({1.0}, ["argument 0", "set"]),
    "object": (object(), ["argument 0", "object"]),
    "generator": ((x for x in [1.0]), ["argument 0", "generator"]),
    "array of bool": (np.array([True]), ["argument 0", "dtype bool"]),
    "array of complex": (np.array([1j]), ["argument 0", "dtype complex128"]),
    "array of str": (np.array(["a"]), ["argument 0", "dtype <U1"]),
    "array of objects": (np.array([1.0, None]), ["argument 0", "dtype object"]),
    "array of dates": (np.array(["2020"], dtype="M8[D]"), ["argument 0", "datetime64"]),
    "record": (np.zeros(1, dtype=[("a", "f8")]), ["argument 0", "dtype"]),
    "in a list": ([1.0, "a"], [r"argument 0\[1\]", "str"]),
    "in a tuple": ((1.0, 2.0, "a"), [r"argument 0\[2\]", "str"]),
    "in a dict": ({"k": 1j}, [r"argument 0\['k'\]", "complex"]),
    "deep": (
        {"layers": [1.0, {"w": (2.0, [True])}]},
        [r"argument 0\['layers'\]\[1\]\['w'\]\[1\]\[0\]", "bool"],
    ),
    "array in a list": ([1.0, np.array([True])], [r"argument 0\[1\]", "dtype bool"]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(("bad", "words"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_an_argument_without_derivative_is_named_by_its_path(
    name: str, bad: Any, words: list[str]
) -> None:
    f = TRANSFORMS[name](lambda x: 1.0)
    args = (bad, 1.0) if name == "hvp" else (bad,)
    check((lambda: f(*args), TypeError, [*words, "real numbers", "argnums", "keyword"]))


# --- containers without end ----------------------------------------------------------------------


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
    check((lambda: WALKS[name](tree), RecursionError, ["contains itself, or is nested too deep"]))
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


@pytest.mark.parametrize("name", ["grad", "jacfwd", "hessian"])
def test_the_position_of_a_bad_argument_is_that_of_the_call(name: str) -> None:
    f = TRANSFORMS[name](lambda x, y, z: x, (0, 2))
    check((lambda: f(1.0, "fine", "bad"), TypeError, ["argument 2", "str"]))
    f = TRANSFORMS[name](lambda x, y: x, -1)
    check((lambda: f(1.0, "bad"), TypeError, [r"argument (-1|1)\b", "str"]))


POINT_MISTAKES: dict[str, Mistake] = {
    "vjp": (lambda: cadiff.vjp(identity, "a"), TypeError, ["argument 0", "str"]),
    "vjp, second": (
        lambda: cadiff.vjp(lambda x, y: x, 1.0, [b""]),
        TypeError,
        [r"argument 1\[0\]", "bytes"],
    ),
    "jvp": (lambda: cadiff.jvp(identity, (1j,), (1.0,)), TypeError, ["argument 0", "complex"]),
    "gradient": (
        lambda: cadiff.gradient(lambda x, y: x, (1.0, True)),
        TypeError,
        ["argument 1", "bool"],
    ),
    "gradient of arrays": (
        lambda: cadiff.gradient(identity, (np.ones(2),)),
        TypeError,
        [r"args\[0\]", "ndarray", r"cadiff\.grad"],
    ),
    "gradient of lists": (
        lambda: cadiff.gradient(lambda x, y: x * y[0], (1.0, [2.0])),
        TypeError,
        [r"args\[1\]", "list", r"cadiff\.grad"],
    ),
    "gradient at a number": (
        lambda: cadiff.gradient(identity, 1.0),  # type: ignore[arg-type]
        TypeError,
        ["args", "float", "sequence|tuple"],
    ),
    "derivative": (lambda: cadiff.derivative(identity, "a"), TypeError, ["str", "real numbers"]),
    "derivative of None": (lambda: cadiff.derivative(identity, None), TypeError, ["NoneType"]),
    "derivative at a bool": (lambda: cadiff.derivative(identity, True), TypeError, ["bool"]),
    "derivative by a list": (
        lambda: cadiff.derivative(identity, [1.0]),
        TypeError,
        ["list", r"cadiff\.jacobian"],
    ),
    "derivative by an array": (
        lambda: cadiff.derivative(identity, np.ones(2)),
        TypeError,
        ["ndarray", r"cadiff\.jacobian"],
    ),
    "wrt out of range": (
        lambda: cadiff.derivative(identity, 1, (1.0,)),
        (IndexError, TypeError, ValueError),
        ["wrt", r"\b1\b", "1 argument"],
    ),
    "wrt a float": (
        lambda: cadiff.derivative(identity, 0.0, (1.0,)),
        TypeError,
        ["wrt", "position", r"0\.0"],
    ),
    "wrt a bool": (
        lambda: cadiff.derivative(identity, False, (1.0,)),
        TypeError,
        ["wrt", "position", "False"],
    ),
    "wrt a str": (
        lambda: cadiff.derivative(identity, "x", (1.0,)),
        TypeError,
        ["wrt", "position", "'x'"],
    ),
    "args a number": (
        lambda: cadiff.derivative(identity, 0, 1.0),  # type: ignore[arg-type]
        TypeError,
        ["args", "float", "sequence|tuple"],
    ),
    "order negative": (
        lambda: cadiff.derivative(identity, 1.0, order=-1),
        ValueError,
        ["order", "-1", ">= 0"],
    ),
    "order a float": (
        lambda: cadiff.derivative(identity, 1.0, order=1.5),  # type: ignore[arg-type]
        (TypeError, ValueError),
        ["order", r"1\.5", "whole number"],
    ),
    "order a bool": (
        lambda: cadiff.derivative(identity, 1.0, order=True),
        (TypeError, ValueError),
        ["order", "True", "whole number"],
    ),
    "check_derivative, position": (
        lambda: cadiff.check_derivative(identity, 3, (1.0,), 1.0),
        (IndexError, TypeError, ValueError),
        ["wrt", r"\b3\b", "1 argument"],
    ),
    "check_derivative, argument": (
        lambda: cadiff.check_derivative(identity, 0, ("a",), 1.0),
        TypeError,
        [r"args\[0\]|argument 0", r"\bstr\b", "real number"],
    ),
    "check_derivative, result": (
        lambda: cadiff.check_derivative(lambda x: None, 0, (1.0,), 1.0),
        TypeError,
        ["real number", "NoneType", "return missing"],
    ),
    "check_grads, argument": (
        lambda: cadiff.check_grads(identity, ("a",)),
        TypeError,
        ["argument 0", "str"],
    ),
    "check_grads at a number": (
        lambda: cadiff.check_grads(identity, 1.0),  # type: ignore[arg-type]
        TypeError,
        ["args", "float", "sequence|tuple"],
    ),
    "check_grads, order zero": (
        lambda: cadiff.check_grads(identity, (1.0,), order=0),
        ValueError,
        ["order", "at least 1", "0"],
    ),
    "check_grads, order a float": (
        lambda: cadiff.check_grads(identity, (1.0,), order=1.5),  # type: ignore[arg-type]
        (TypeError, ValueError),
        ["order", r"1\.5"],
    ),
    "check_grads, no modes": (
        lambda: cadiff.check_grads(identity, (1.0,), modes=()),
        ValueError,
        ["modes", '"fwd" and "rev"'],
    ),
    "check_grads, unknown mode": (
        lambda: cadiff.check_grads(identity, (1.0,), modes=("fwd", "forward")),
        ValueError,
        ["modes", '"fwd" and "rev"', "forward"],
    ),
    "check_grads, result": (
        lambda: cadiff.check_grads(lambda x: None, (1.0,)),
        TypeError,
        ["return missing", "NoneType"],
    ),
    "flatten": (lambda: cadiff.flatten("a"), TypeError, ["str", "real numbers"]),
    "flatten str": (lambda: cadiff.flatten([1.0, "a"]), TypeError, [r"\[1\]", "str"]),
    "flatten None": (lambda: cadiff.flatten(None), TypeError, ["NoneType"]),
    "unflatten, size": (
        lambda: cadiff.flatten([1.0, 2.0])[1](np.ones(3)),
        ValueError,
        ["2 numbers", r"\(3,\)"],
    ),
    "unflatten, shape": (
        lambda: cadiff.flatten([1.0, 2.0])[1](np.ones((2, 1))),
        ValueError,
        ["2 numbers", r"\(2, 1\)"],
    ),
    "unflatten, number": (
        lambda: cadiff.flatten([1.0, 2.0])[1](1.0),
        ValueError,
        ["2 numbers", r"\(\)"],
    ),
    "unflatten, complex": (
        lambda: cadiff.flatten([1.0, 2.0])[1](np.array([1j, 2.0])),
        TypeError,
        ["real number", "complex"],
    ),
    "unflatten, text": (
        lambda: cadiff.flatten([1.0, 2.0])[1](np.array(["a", "b"])),
        TypeError,
        ["real number"],
    ),
}


@mistakes(POINT_MISTAKES)
def test_a_bad_point_is_told(mistake: Mistake) -> None:
    check(mistake)


# --- results that have no derivative -----------------------------------------------------------

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
    "complex": (lambda x: 1j, ["real number", "complex"]),
    "str": (lambda x: "a", ["real number", "str"]),
    "object": (lambda x: object(), ["real number", "object"]),
    "set": (lambda x: {1.0}, ["real number", "set"]),
    "function": (lambda x: square, ["real number", "function"]),
    "array of bool": (lambda x: np.array([True]), ["bool"]),
    "array of complex": (lambda x: np.array([1j]), ["real number", "complex"]),
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
        (lambda x: {"a": [x, 1j]}, ["real number", "complex"]),
        (lambda x: [x, x > 0], ["bool"]),
    ],
    ids=["str", "complex", "bool"],
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
        (lambda x: x, "Var|Dual"),
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


# --- modes -------------------------------------------------------------------------------------

UNKNOWN_MODES: list[Any] = ["forward", "FWD", "", None, 1]


@pytest.mark.parametrize("mode", UNKNOWN_MODES, ids=name_of)
def test_an_unknown_mode_names_the_known_ones(mode: Any) -> None:
    words = ['"auto", "fwd" or "rev"', re.escape(repr(mode))]
    check((lambda: cadiff.jacobian(square, mode=mode), ValueError, words))
    check((lambda: cadiff.gradient(square, (1.0,), mode=mode), ValueError, words))


# --- directions, tangents, cotangents ----------------------------------------------------------

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


# --- functions of numbers ----------------------------------------------------------------------

sin: Any = cadiff.sin
hypot: Any = cadiff.hypot
CONSTANT = cadiff.stop_gradient(Var(1.0))

FUNCTION_MISTAKES: dict[str, Mistake] = {
    "text": (lambda: sin("a"), TypeError, [r"cadiff\.sin", "real numbers", "str"]),
    "None": (lambda: sin(None), TypeError, [r"cadiff\.sin", "real numbers", "NoneType"]),
    "complex": (lambda: cadiff.exp(1j), TypeError, [r"cadiff\.exp", "real numbers", "complex"]),
    "second operand": (
        lambda: cadiff.arctan2(1.0, "a"),
        TypeError,
        [r"cadiff\.arctan2", "real numbers", "str"],
    ),
    "third operand": (
        lambda: cadiff.where(True, 1.0, None),
        TypeError,
        [r"cadiff\.where", "real numbers", "NoneType"],
    ),
    "with a Var": (
        lambda: hypot(CONSTANT, {}),
        TypeError,
        [r"cadiff\.hypot", "dict"],
    ),
    "with a Dual": (
        lambda: hypot(Dual(1.0, 1.0), {}),
        TypeError,
        [r"cadiff\.hypot", "dict"],
    ),
    "array of complex": (lambda: cadiff.expit(np.array([1j])), TypeError, ["expit|real"]),
    "too few": (lambda: hypot(1.0), TypeError, ["hypot", "2 arguments", "1 given"]),
    "too many": (
        lambda: hypot(1.0, 2.0, 3.0),
        TypeError,
        ["hypot", "2 arguments", "3 given"],
    ),
    "too many for one": (lambda: sin(1.0, 2.0), TypeError, ["sin", "one argument"]),
    "none": (lambda: sin(), TypeError, ["sin", "one argument"]),
    "keyword": (lambda: sin(x=1.0), TypeError, ["sin", "keyword"]),
    "text in a list": (lambda: sin([1.0, "a"]), TypeError, ["sin"]),
    "None in an array": (
        lambda: sin(np.array([1.0, None])),
        TypeError,
        [r"cadiff\.sin", "no number"],
    ),
}


@mistakes(FUNCTION_MISTAKES)
def test_a_bad_operand_of_a_function_is_told(mistake: Mistake) -> None:
    check(mistake)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in binding.operations()}))
def test_every_operation_refuses_text_by_its_name(name: str) -> None:
    arity = {name: arity for name, arity, _ in binding.operations()}[name]
    words = [rf"cadiff\.{name}\b", "real numbers", "str"]
    check((lambda: getattr(cadiff, name)(*["a"] * arity), TypeError, words))


class Operator:
    def __rmatmul__(self, other: Any) -> str:
        return "theirs"


@pytest.mark.parametrize("number", [Var([1.0, 2.0]), Dual([1.0, 2.0], 1.0)])
def test_matrix_products_with_what_is_no_array(number: Any) -> None:
    assert number @ Operator() == "theirs"
    for other in (None, "a", object()):
        with pytest.raises(TypeError, match=r"unsupported operand|returned NotImplemented"):
            number @ other
        with pytest.raises(TypeError, match="returned NotImplemented"):
            np.matmul(number, other)


def test_a_matrix_product_with_an_array_of_no_real_numbers_names_its_dtype() -> None:
    with pytest.raises(TypeError, match=r"arrays of real numbers.*complex128"):
        Var([1.0, 2.0]) @ np.array([1j, 1.0])


# --- rules of primitives -------------------------------------------------------------------------

RESULTS = {
    "NoneType; is a return missing": None,
    "str": "text",
    "dict": {},
    "an array of dtype complex128": np.ones(3) * 1j,
}
SHAPES = [(2,), (3, 1), (2, 3)]
X = np.array([1.0, 2.0, 3.0])


def operations(result: Any) -> dict[str, Callable[[], Any]]:
    """Calls of primitives that give a result where a derivative is expected."""
    primitives = [cadiff.primitive(np.sin) for _ in range(3)]
    primitives[0].defvjp(lambda ans, x: lambda g: result)
    primitives[1].defjvp(lambda g, ans, x: result)
    primitives[2].defpartials(lambda ans, x: result)
    return {
        "the cotangent of argument 0": lambda: cadiff.vjp(primitives[0], X)[1](X),
        "the tangent by argument 0": lambda: cadiff.jvp(primitives[1], (X,), (X,)),
        "a partial": lambda: cadiff.jvp(primitives[2], (X,), (X,)),
        " a partial": lambda: cadiff.vjp(primitives[2], X)[1](X),
    }


@pytest.mark.parametrize("kind", RESULTS)
def test_a_rule_that_gives_no_number_is_named(kind: str) -> None:
    for what, run in operations(RESULTS[kind]).items():
        with pytest.raises(TypeError, match=f"the primitive sin: {what.strip()} is no .*{kind}"):
            run()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rule_that_gives_another_shape_is_named(shape: tuple[int, ...]) -> None:
    for what, run in operations(np.ones(shape)).items():
        wanted = rf"sin: {what.strip()} has the shape {re.escape(str(shape))}, where \(3,\)"
        with pytest.raises(ValueError, match=wanted):
            run()


@pytest.mark.parametrize("kind", RESULTS)
def test_a_primitive_that_returns_no_number_is_named(kind: str) -> None:
    p = cadiff.primitive(lambda x: RESULTS[kind])
    p.defpartials(lambda ans, x: 1.0)
    for transform in (cadiff.jacrev, cadiff.jacfwd):
        with pytest.raises(TypeError, match=f"what the function returned is no .*{kind}"):
            transform(p)(X)


def test_primitives_take_functions_and_numbers() -> None:
    with pytest.raises(TypeError, match="primitive takes a function, not int"):
        cadiff.primitive(3)  # type: ignore[arg-type]
    p = cadiff.primitive(lambda x, options: options["scale"] * x)
    p.defvjp(lambda ans, x, options: lambda g: options["scale"] * g)
    assert cadiff.grad(p)(2.0, {"scale": 3.0}) == 3.0
    with pytest.raises(TypeError, match="argument 1, a dict, carries a derivative"):
        cadiff.grad(lambda x: p(x, {"scale": x}))(2.0)


ROW = Var([1.0, 2.0, 3.0])
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
MATRIX = np.ones((2, 2)).view(np.matrix)


@mistakes(
    {
        f"{name} {use}": (functools.partial(run, array), TypeError, words)
        for name, array, words in [
            ("masked", MASKED, ["masked", "filled", "where"]),
            ("matrix", MATRIX, [r"numpy\.matrix", "asarray", "@"]),
        ]
        for use, run in {
            "Var": Var,
            "Dual": Dual,
            "operand": lambda x: ROW[: len(x)] * x,
            "operand of a Dual": lambda x: Dual(np.ones(x.shape)) + x,
            "factor": lambda x: x @ ROW[: len(x)],
            "argument": lambda x: cadiff.grad(lambda x: (x * x).sum())(x),
            "argument, forward": lambda x: cadiff.jvp(square, (x,), (x,)),
            "result": lambda x: cadiff.jacobian(lambda y: x)(1.0),
        }.items()
    }
)
def test_arrays_whose_operations_mean_something_else(mistake: Mistake) -> None:
    check(mistake)


@pytest.mark.parametrize(
    ("name", "call"),
    {
        "linearize": lambda f: cadiff.linearize(f, 1.0),
        "vjp": lambda f: cadiff.vjp(f, 1.0),
        "jvp": lambda f: cadiff.jvp(f, (1.0,), (1.0,)),
        "derivative": lambda f: cadiff.derivative(f, 1.0),
        "gradient": lambda f: cadiff.gradient(f, (1.0,)),
        "root": lambda f: cadiff.root(f, 1.0),
        "fixed_point": lambda f: cadiff.fixed_point(f, 1.0),
        "checkpoint_scan": lambda f: cadiff.checkpoint_scan(f, 1.0, length=2),
        "check_grads": lambda f: cadiff.check_grads(f, (1.0,)),
    }.items(),
)
def test_what_is_no_function(name: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=f"^{name} takes a function, not int$"):
        call(3)


@pytest.mark.parametrize("array", [MASKED, MATRIX], ids=["masked", "matrix"])
def test_cotangents_whose_operations_mean_something_else(array: Any) -> None:
    f = functools.partial(np.multiply, np.ones(array.shape))
    for pull in (cadiff.vjp(f, 1.0)[1], cadiff.linearize(f, 1.0)[1].vjp):
        with pytest.raises(TypeError, match=r"masked arrays|numpy\.matrix"):
            pull(array)
        assert pull(np.ones(array.shape)) == array.size


# --- numbers where plain ones are wanted ---------------------------------------------------------


def _assigned(x: Any) -> Any:
    a = np.zeros(3)
    a[0] = x
    return a[0]


WANTED: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "math": (lambda x: math.erf(x), [r"write cadiff\.erf\(v\) instead of math\.erf\(v\)"]),
    "math alone": (lambda x: math.isnan(x), [r"write cadiff\.math\.isnan\(v\) instead of"]),
    "float": (lambda x: float(x), [r"'float\(x\)'", "computes like a float"]),
    "int": (lambda x: int(x), [r"'int\(x\)'", r"int\(cadiff\.value\(v\)\)"]),
    "range": (lambda x: range(x), ["count", r"range\(int\(cadiff\.value\(v\)\)\)"]),
    "index": (lambda x: [1.0, 2.0][x], ["index", r"int\(cadiff\.value\(v\)\)"]),
    "text": (lambda x: "%f" % x, ["as text", r"cadiff\.value\(v\)"]),  # noqa: UP031
    "assigned": (_assigned, [r"'a\[0\]' is assigned", r"cadiff\.zeros\(shape\)"]),
    "array": (lambda x: np.array([x], dtype=float), [r"cadiff\.array\(\[\.\.\.\]\)"]),
    "library": (lambda x: statistics.fmean([x]), [r"statistics\.fmean computes", "primitive"]),
    "of ints": (lambda x: math.comb(x, 1), [r"math\.comb\(x, 1\)", r"int\(cadiff\.value\(v\)\)"]),
    "of counts": (lambda x: np.arange(x), ["takes ints", r"int\(cadiff\.value\(v\)\)"]),
    "repeated": (lambda x: [1.0] * x, ["repeats a sequence", r"int\(cadiff\.value\(v\)\)"]),
    "drawn": (lambda x: np.random.normal(x), [r"loc \+ scale \* rng\.standard_normal\(\)"]),
    "pause": (lambda x: time.sleep(x), [r"'time\.sleep\(x\)'", r"cadiff\.value\(v\)"]),
    "odeint": (
        lambda x: integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0]),
        [r"scipy\.integrate\.odeint computes", "its steps"],
    ),
    "expm": (
        lambda x: linalg.expm(np.array([[x, 0.0], [0.0, x]])),
        [r"scipy\.linalg\.expm computes", r"write cadiff\.scipy\.linalg\.expm"],
    ),
    "behind a wrapper": (
        lambda x: linalg.schur(np.array([[x, 0.0], [0.0, x]])),
        [r"scipy\.linalg\.schur computes", r"cadiff\.numpy\.linalg has"],
    ),
    "mirrored": (
        lambda x: np.linspace(0.0, 1.0, x),
        [r"write cadiff\.numpy\.linspace, and cadiff\.value\(v\) for an argument"],
    ),
    "quad": (
        lambda x: integrate.quad(lambda t: t * x, 0, 1),
        [r"scipy\.integrate\.quad computes"],
    ),
    "brentq": (
        lambda x: optimize.brentq(lambda t: t * t - x, 0, 10),
        [r"scipy\.optimize\.brentq computes", r"cadiff\.root\(f, x0\)"],
    ),
}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="places in a line are not known")
@pytest.mark.filterwarnings("ignore:.*with arguments of dtype=object:DeprecationWarning")
@pytest.mark.parametrize("kind", ["grad", "jacfwd", "compile"])
@pytest.mark.parametrize("name", WANTED)
def test_what_wants_a_plain_number_is_named_with_what_to_write_instead(
    name: str, kind: str
) -> None:
    f, words = WANTED[name]
    run = getattr(cadiff, kind)(f)
    check((lambda: run(1.5), TypeError, ["does not become a plain number by itself", *words]))


# What other code raises, and the note that says what to write.
NOTED: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "index of an array": (lambda x: np.ones(3)[x], [r"index: write int\(cadiff\.value\(v\)\)"]),
    "length": (lambda x: np.zeros(x), [r"'np\.zeros\(x\)' takes ints"]),
    "digits": (lambda x: "%d" % x, ["writes a number as text"]),  # noqa: UP031
    "json": (lambda x: json.dumps([x]), [r"json\.dumps takes plain numbers", r"cadiff\.value"]),
    "struct": (lambda x: struct.pack("d", x), [r"struct\.pack", r"cadiff\.value\(v\)"]),
    "decimal": (lambda x: decimal.Decimal(x), [r"decimal\.Decimal\(x\)", r"cadiff\.value"]),
    "mean": (lambda x: statistics.mean([x]), [r"statistics\.mean computes", "numpy has mean"]),
    "key": (lambda x: {x: 1.0}, [r"has keys: .* cadiff\.value\(v\) is"]),
    "member": (lambda x: {x}, ["has keys"]),
    "looked up": (lambda x: KEYS[x], ["looks up a key"]),
    "sparse": (lambda x: sparse.eye(2).tocsr() @ np.array([x, x]), ["of its entries"]),
    "distances": (
        lambda x: spatial.distance.cdist(np.array([[x]]), [[0.0]]),
        [r"scipy\.spatial\.distance\.cdist computes", "primitive"],
    ),
    "distribution": (
        lambda x: stats.norm.pdf(x),
        [r"write cadiff\.scipy\.stats\.norm\.pdf"],
    ),
}
KEYS = {1.5: 2.0}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes")
@pytest.mark.parametrize("kind", ["grad", "jacobian", "jacfwd", "compile", "nested"])
@pytest.mark.parametrize("name", NOTED)
def test_errors_of_other_code_are_noted_with_what_to_write_instead(name: str, kind: str) -> None:
    f, words = NOTED[name]
    if kind == "nested":
        run = cadiff.grad(lambda x: cadiff.grad(f)(x) * x)
    else:
        run = getattr(cadiff, kind)(f)
    with pytest.raises(Exception) as caught:
        run(1.5)
    (note,) = caught.value.__notes__
    for word in words:
        assert re.search(word, note), note


def test_other_errors_are_not_noted() -> None:
    def refuse(x: Any) -> Any:
        raise TypeError(f"no Var such as {x}")

    mistakes: list[Callable[[Any], Any]] = [
        refuse,
        lambda x: cadiff.zeros(3)[5] * x,
        lambda x: x.shapes,
        lambda x: json.dumps(object()) + x,
        lambda x: cadiff.numpy.linalg.solve(x, x),
        lambda x: KEYS[2.5] * x,
        lambda x: x + "text",
    ]
    for f in mistakes:
        with pytest.raises(Exception) as caught:
            cadiff.grad(f)(1.5)
        assert not hasattr(caught.value, "__notes__"), caught.value.__notes__


def test_what_is_not_known_by_its_source_is_refused_with_all_ways_out() -> None:
    f: Any = eval("lambda x: float(x)")
    check(
        (
            lambda: cadiff.grad(f)(1.0),
            TypeError,
            ["does not become", r"cadiff\.value\(v\) for the value"],
        )
    )


# --- argnum --------------------------------------------------------------------------------------


def _takes(x: Any, argnum: float = 1.0) -> Any:
    return x * x * argnum


ARGNUM: dict[str, Mistake] = {
    "grad": (
        lambda: cadiff.grad(square, argnum=1),
        TypeError,
        ["grad takes no argnum", "argnums=1"],
    ),
    "hessian": (lambda: cadiff.hessian(square, argnum=(0,)), TypeError, [r"argnums=\(0,\)"]),
    "jacobian": (lambda: cadiff.jacobian(square, argnum=1), TypeError, ["argnums=1"]),
    "call": (lambda: cadiff.grad(square)(1.0, argnum=1), TypeError, ["argnums=1"]),
    "hvp": (lambda: cadiff.hvp(square)(1.0, 1.0, argnum=1), TypeError, ["argnums=1"]),
    "program": (lambda: cadiff.compile(square).grad(1.0, argnum=1), TypeError, ["argnums=1"]),
    "program.hvp": (
        lambda: cadiff.compile(square).hvp(1.0, 1.0, argnum=1),
        TypeError,
        ["argnums"],
    ),
}


@mistakes(ARGNUM)
def test_argnum_is_answered_with_argnums(mistake: Mistake) -> None:
    check(mistake)


def test_a_function_may_have_an_argument_of_that_name() -> None:
    assert cadiff.grad(_takes)(3.0, argnum=2.0) == 12.0
    assert cadiff.compile(_takes).grad(3.0, argnum=2.0) == 12.0
