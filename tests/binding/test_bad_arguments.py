"""Arguments that are no functions, have no derivative, or do not say by what to differentiate, are
named in an error that says what was given, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff

from ..helpers.mistakes import Mistake, check, identity, mistakes, square
from ..helpers.names import name_of

# --- what is no function -------------------------------------------------------------------------

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
    "linearize": lambda f: cadiff.linearize(f, 1.0),
    "root": lambda f: cadiff.root(f, 1.0),
    "fixed_point": lambda f: cadiff.fixed_point(f, 1.0),
    "checkpoint_scan": lambda f: cadiff.checkpoint_scan(f, 1.0, length=2),
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


@pytest.mark.parametrize("name", AT_A_POINT)
@pytest.mark.parametrize("kind", STRANGERS)
def test_a_function_at_a_point_must_be_callable(name: str, kind: str) -> None:
    words = [rf"^{name.split()[0]} takes a function, not {kind}$"]
    check((lambda: AT_A_POINT[name](STRANGERS[kind]), TypeError, words))


# --- argnums -------------------------------------------------------------------------------------

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


# --- arguments that have no derivative -----------------------------------------------------------

BAD_ARGUMENTS: dict[str, tuple[Any, list[str]]] = {
    "bool": (True, ["argument 0", "bool"]),
    "np.bool": (np.bool_(False), ["argument 0", "bool"]),
    "str": ("1.0", ["argument 0", "str"]),
    "bytes": (b"1", ["argument 0", "bytes"]),
    "None": (None, ["argument 0", "NoneType"]),
    "set": ({1.0}, ["argument 0", "set"]),
    "object": (object(), ["argument 0", "object"]),
    "generator": ((x for x in [1.0]), ["argument 0", "generator"]),
    "array of bool": (np.array([True]), ["argument 0", "dtype bool"]),
    "array of str": (np.array(["a"]), ["argument 0", "dtype <U1"]),
    "array of objects": (np.array([1.0, None]), ["argument 0", "dtype object"]),
    "array of dates": (np.array(["2020"], dtype="M8[D]"), ["argument 0", "datetime64"]),
    "record": (np.zeros(1, dtype=[("a", "f8")]), ["argument 0", "dtype"]),
    "in a list": ([1.0, "a"], [r"argument 0\[1\]", "str"]),
    "in a tuple": ((1.0, 2.0, "a"), [r"argument 0\[2\]", "str"]),
    "in a dict": ({"k": b""}, [r"argument 0\['k'\]", "bytes"]),
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
    "jvp": (lambda: cadiff.jvp(identity, (b"",), (1.0,)), TypeError, ["argument 0", "bytes"]),
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


# --- modes ---------------------------------------------------------------------------------------

UNKNOWN_MODES: list[Any] = ["forward", "FWD", "", None, 1]


@pytest.mark.parametrize("mode", UNKNOWN_MODES, ids=name_of)
def test_an_unknown_mode_names_the_known_ones(mode: Any) -> None:
    words = ['"auto", "fwd" or "rev"', re.escape(repr(mode))]
    check((lambda: cadiff.jacobian(square, mode=mode), ValueError, words))
    check((lambda: cadiff.gradient(square, (1.0,), mode=mode), ValueError, words))
