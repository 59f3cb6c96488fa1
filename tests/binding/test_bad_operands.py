"""Operands that operations cannot take, and results that rules may not give: errors name them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var, binding

from ..helpers.mistakes import Mistake, check, mistakes, square
from ..helpers.processes import isolated

# --- functions of numbers ------------------------------------------------------------------------

sin: Any = cadiff.sin
hypot: Any = cadiff.hypot
CONSTANT = cadiff.stop_gradient(Var(1.0))

FUNCTION_MISTAKES: dict[str, Mistake] = {
    "text": (lambda: sin("a"), TypeError, [r"cadiff\.sin", "real numbers", "str"]),
    "None": (lambda: sin(None), TypeError, [r"cadiff\.sin", "real numbers", "NoneType"]),
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
    "what NumPy calls, by hand": (
        lambda: CONSTANT.__array_ufunc__(np.add, "__call__"),
        TypeError,
        ["__array_ufunc__ is called by NumPy"],
    ),
    "the same without its method": (
        lambda: CONSTANT.__array_ufunc__(np.add, 1.0, CONSTANT),
        TypeError,
        ["__array_ufunc__ is called by NumPy"],
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
    with pytest.raises(TypeError, match=r"arrays of real numbers.*U1"):
        Var([1.0, 2.0]) @ np.array(["a", "b"])


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
        with pytest.raises(TypeError, match=f"the function returned is no .*{kind}|of complex"):
            transform(p)(X)


def test_primitives_take_functions_and_numbers() -> None:
    with pytest.raises(TypeError, match="primitive takes a function, not int"):
        cadiff.primitive(3)  # type: ignore[arg-type]
    p = cadiff.primitive(lambda x, options: options["scale"] * x)
    p.defvjp(lambda ans, x, options: lambda g: options["scale"] * g)
    assert cadiff.grad(p)(2.0, {"scale": 3.0}) == 3.0
    with pytest.raises(TypeError, match="argument 1, a dict, carries a derivative"):
        cadiff.grad(lambda x: p(x, {"scale": x}))(2.0)


# --- arrays whose operations mean something else -------------------------------------------------

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


@pytest.mark.parametrize("array", [MASKED, MATRIX], ids=["masked", "matrix"])
def test_cotangents_whose_operations_mean_something_else(array: Any) -> None:
    f = functools.partial(np.multiply, np.ones(array.shape))
    for pull in (cadiff.vjp(f, 1.0)[1], cadiff.linearize(f, 1.0)[1].vjp):
        with pytest.raises(TypeError, match=r"masked arrays|numpy\.matrix"):
            pull(array)
        assert pull(np.ones(array.shape)) == array.size


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 3, 1, 1), (4, 2, 2), (5, 3, 2)])
def test_a_product_of_objects_that_fails_leaves_no_elements_to_look_at(shape: Any) -> None:
    """NumPy's own arrays: where its loop has raised, it has set no elements of the result."""
    isolated(
        f"""
import numpy as np
import cadiff
z = np.linspace(0.5, 1.5, {int(np.prod(shape))}).reshape({shape}) * 1j
for _ in range(300):
    try:
        np.matmul(z, np.array([None] * {shape[-1]}))
    except TypeError:
        pass
    else:
        raise AssertionError
"""
    )
