"""Var and Dual as numbers: arithmetic with everything Python and NumPy call a real number,
comparisons, conversions, text, and what a Var tells of its gradient.

Each rule is stated once for both types where it holds for both. What is expected comes from floats
and from NumPy; derivatives from formulas that stand beside the operation.
"""

from __future__ import annotations

import copy
import math
import operator
import pickle
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cadiff
from cadiff import Dual, Var

from ..helpers.kinds import Kind, both
from ..helpers.names import name_of

Array = NDArray[Any]


def same(got: float, expected: float) -> bool:
    """Equal up to a few units in the last place; nan equals nan, infinities themselves."""
    if math.isnan(expected):
        return math.isnan(got)
    return math.isclose(got, expected, rel_tol=1e-14, abs_tol=0.0)


# --- arithmetic ----------------------------------------------------------------------------------

Partial = Callable[[float, float], float]

# operator, d/dx of x op c, d/dx of c op x
BINARY: dict[str, tuple[Callable[[Any, Any], Any], Partial, Partial]] = {
    "add": (operator.add, lambda x, c: 1.0, lambda c, x: 1.0),
    "sub": (operator.sub, lambda x, c: 1.0, lambda c, x: -1.0),
    "mul": (operator.mul, lambda x, c: c, lambda c, x: c),
    "truediv": (operator.truediv, lambda x, c: 1 / c, lambda c, x: -c / x**2),
    "floordiv": (operator.floordiv, lambda x, c: 0.0, lambda c, x: 0.0),
    "mod": (operator.mod, lambda x, c: 1.0, lambda c, x: -(c // x)),
    "pow": (operator.pow, lambda x, c: c * x ** (c - 1), lambda c, x: c**x * math.log(c)),
}

CONSTANTS: dict[str, Any] = {
    "float": 2.5,
    "int": 3,
    "big int": 2**70 + 1,
    "bool": True,
    **{
        f"np.{np.dtype(code).name}": np.dtype(code).type(2)
        for code in ("b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "g")
    },
    "np.bool": np.bool_(True),
    "0-d array": np.array(1.5),
}

constants = pytest.mark.parametrize("constant", CONSTANTS.values(), ids=CONSTANTS.keys())
binary = pytest.mark.parametrize("name", BINARY)


@both
@binary
@constants
def test_arithmetic_with_a_constant_on_either_side(kind: Kind, name: str, constant: Any) -> None:
    op, by_left, by_right = BINARY[name]
    x, c = np.float64(3.7), np.float64(constant)
    with np.errstate(over="ignore"):
        wanted = [(op(x, c), by_left(x, c)), (op(c, x), by_right(c, x))]
    right = kind.derivative(lambda number: op(number, constant), 3.7)
    left = kind.derivative(lambda number: op(constant, number), 3.7)
    for got, expected in zip((right, left), wanted, strict=True):
        assert same(got[0], expected[0])
        assert same(got[1], expected[1])


@both
@binary
def test_arithmetic_of_two_numbers_follows_both(kind: Kind, name: str) -> None:
    op, by_left, by_right = BINARY[name]
    # x op (x + 1) along x: the sum of both partials
    x, y = 3.7, 4.7
    got = kind.derivative(lambda number: op(number, number + 1.0), x)
    assert same(got[0], op(x, y))
    assert math.isclose(got[1], by_left(x, y) + by_right(x, y), rel_tol=1e-14)


UNARY: dict[str, tuple[Callable[[Any], Any], float, float, float]] = {
    # function, point, value, derivative
    "pos": (operator.pos, -3.7, -3.7, 1.0),
    "neg": (operator.neg, -3.7, 3.7, -1.0),
    "abs of a negative": (abs, -3.7, 3.7, -1.0),
    "abs of a positive": (abs, 3.7, 3.7, 1.0),
    "abs at the kink": (abs, 0.0, 0.0, 0.0),
}


@both
@pytest.mark.parametrize(("f", "x", "value", "slope"), UNARY.values(), ids=UNARY.keys())
def test_unary_operators(
    kind: Kind, f: Callable[[Any], Any], x: float, value: float, slope: float
) -> None:
    assert kind.derivative(f, x) == (value, slope)


@both
def test_divmod_is_the_pair_of_floor_quotient_and_remainder(kind: Kind) -> None:
    for left, right in [(7.5, 2), (-7.5, 2), (7.5, -2.0)]:
        quotient, rest = divmod(kind.make(left), right)
        assert (cadiff.value(quotient), cadiff.value(rest)) == divmod(left, right)
        quotient, rest = divmod(left, kind.make(right))
        assert (cadiff.value(quotient), cadiff.value(rest)) == divmod(left, right)
        quotient, rest = np.divmod(kind.make(left), right)
        assert (cadiff.value(quotient), cadiff.value(rest)) == divmod(left, right)
    assert kind.derivative(lambda x: divmod(x, 2)[0] * x, 7.5) == (22.5, 3.0)
    assert kind.derivative(lambda x: divmod(x, 2)[1], 7.5) == (1.5, 1.0)
    assert kind.derivative(lambda x: divmod(17.0, x)[1], 7.5) == (2.0, -2.0)


@both
def test_signed_zeros_are_kept(kind: Kind) -> None:
    assert math.copysign(1.0, cadiff.value(-kind.make(0.0))) == -1.0
    assert math.copysign(1.0, cadiff.value(kind.make(-0.0) * 1.0)) == -1.0
    assert math.copysign(1.0, cadiff.value(kind.make(1.0) * -0.0)) == -1.0
    assert math.copysign(1.0, cadiff.value(kind.make(-0.0) + 0.0)) == 1.0


@both
def test_an_int_beyond_the_floats_overflows_as_it_does_for_floats(kind: Kind) -> None:
    with pytest.raises(OverflowError):
        kind.make(1.0) + 10**400
    with pytest.raises(OverflowError):
        10**400 * kind.make(1.0)


REFUSED: dict[str, Any] = {
    "Fraction": Fraction(1, 2),
    "Decimal": Decimal(2),
    "str": "a",
    "bytes": b"a",
    "None": None,
    "list of str": ["a"],
    "dict": {},
    "object": object(),
}


@both
@pytest.mark.parametrize("stranger", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv"])
def test_arithmetic_with_anything_else_raises_type_error(
    kind: Kind, name: str, stranger: Any
) -> None:
    op = BINARY[name][0]
    with pytest.raises(TypeError):
        op(kind.make(3.0), stranger)
    with pytest.raises(TypeError):
        op(stranger, kind.make(3.0))


@both
@pytest.mark.parametrize("name", ["Decimal", "None", "list of str", "object"])
def test_power_and_modulo_of_anything_else_raise_type_error(kind: Kind, name: str) -> None:
    stranger = REFUSED[name]
    for op in (operator.pow, operator.mod, divmod):
        with pytest.raises(TypeError):
            op(kind.make(3.0), stranger)
        with pytest.raises(TypeError):
            op(stranger, kind.make(3.0))


@both
def test_three_argument_pow_raises_type_error(kind: Kind) -> None:
    with pytest.raises(TypeError, match="modulus"):
        pow(kind.make(2.0), 2, 3)


@both
def test_matrix_product_of_scalars_is_refused_as_by_numpy(kind: Kind) -> None:
    with pytest.raises(ValueError, match="matmul"):
        kind.make(2.0) @ kind.make(3.0)


# --- rounding ------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("x", [2.5, 3.5, -2.5, -0.4, 1234.5678, 2.675])
@pytest.mark.parametrize("digits", [None, 0, 1, 2, -2])
def test_round_gives_a_number_with_derivative_zero(
    kind: Kind, x: float, digits: int | None
) -> None:
    number = kind.make(x)
    rounded = round(number) if digits is None else round(number, digits)
    expected = round(x, digits or 0)
    assert isinstance(rounded, kind.type)
    assert cadiff.value(rounded) == expected
    assert kind.slope(number, rounded * number) == expected


@both
@pytest.mark.parametrize("x", [2.5, -2.5, 3.0, -0.2])
@pytest.mark.parametrize("f", [math.floor, math.ceil, math.trunc])
def test_whole_parts_are_numbers_with_derivative_zero(
    kind: Kind, f: Callable[[Any], Any], x: float
) -> None:
    number = kind.make(x)
    whole = f(number)
    assert isinstance(whole, kind.type)
    assert cadiff.value(whole) == f(x)
    assert kind.slope(number, whole * number) == f(x)


@pytest.mark.parametrize("digits", [-300, -12, -3, -1, 0, 1, 2, 5, 17, 30, 300])
def test_arrays_are_rounded_as_numpy_rounds_them(digits: int) -> None:
    """To the last bit, zeros with their signs, recorded and replayed."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300) * 10.0 ** rng.integers(-8, 9, 300)
    x[:8] = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 2.5, 0.125]
    program = cadiff.compile(lambda y: np.round(y, digits))
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.round(x, digits)
    for found in (cadiff.vjp(lambda y: np.round(y, digits), x)[0], program(x)):
        np.testing.assert_array_equal(found, wanted)
        signed = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(wanted)[signed])
    assert program.stats()["obstacles"] == []


@both
@pytest.mark.parametrize("digits", [0, 1, 2])
def test_round_of_a_vector_rounds_each_element(kind: Kind, digits: int) -> None:
    x = np.array([1.234, -5.678, 2.5])
    np.testing.assert_array_equal(cadiff.value(round(kind.make(x), digits)), np.round(x, digits))


def test_round_with_digits_keeps_the_number_of_lanes() -> None:
    x = Dual(1.26, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(round(x).tangent, np.zeros(3))
    np.testing.assert_array_equal(round(x, 1).tangent, np.zeros(3))


# --- comparisons ---------------------------------------------------------------------------------

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
PAIRS = [(2.0, 3.0), (3.0, 2.0), (3.0, 3.0), (math.nan, 3.0), (0.0, -0.0), (math.inf, 1.0)]
compare = pytest.mark.parametrize("op", COMPARISONS, ids=lambda op: op.__name__)


@both
@compare
@pytest.mark.parametrize(("x", "y"), PAIRS)
@pytest.mark.parametrize("plain", [float, np.float64, np.float32, np.array], ids=name_of)
def test_comparisons_compare_values(
    kind: Kind, op: Callable[[Any, Any], Any], x: float, y: float, plain: Callable[[float], Any]
) -> None:
    for outcome in (
        op(kind.make(x), kind.make(y)),
        op(kind.make(x), plain(y)),
        op(plain(x), kind.make(y)),
        op(Var(x), Dual(y, 1.0)),
        op(Dual(x, 1.0), Var(y)),
    ):
        assert np.shape(outcome) == ()
        assert bool(outcome) is op(x, y)


@both
@compare
def test_comparisons_are_bools_or_arrays_of_them(
    kind: Kind, op: Callable[[Any, Any], Any]
) -> None:
    for outcome in (
        op(kind.make(2.0), kind.make(3.0)),
        op(kind.make(2.0), 3.0),
        op(2, kind.make(3.0)),
    ):
        assert type(outcome) is bool
    table = np.array([[2.0, 3.0], [4.0, math.nan]])
    x, y = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    for left, right in ((3.0, table), (table, 3.0), (x, y), (x, 2), (2.0, x)):
        for outcome in (
            op(kind.make(left), right),
            op(left, kind.make(right)),
            op(kind.make(left), kind.make(right)),
        ):
            assert outcome.dtype == np.bool_
            np.testing.assert_array_equal(outcome, op(left, right))


@both
@pytest.mark.parametrize("stranger", [None, "3.0", object()], ids=name_of)
def test_a_number_differs_from_what_is_no_number_and_is_not_ordered_with_it(
    kind: Kind, stranger: Any
) -> None:
    assert (kind.make(3.0) == stranger) is False
    assert (kind.make(3.0) != stranger) is True
    with pytest.raises(TypeError):
        operator.lt(kind.make(3.0), stranger)
    with pytest.raises(TypeError):
        operator.ge(stranger, kind.make(3.0))


@both
def test_sorting_membership_and_extremes_go_by_value(kind: Kind) -> None:
    numbers = [kind.make(x) for x in (3.0, 1.0, 2.0)]
    assert [cadiff.value(x) for x in sorted(numbers)] == [1.0, 2.0, 3.0]
    assert max(numbers) is numbers[0]
    assert min(numbers) is numbers[1]
    assert 2.0 in numbers
    assert 4.0 not in numbers


@both
@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -5e-324, math.nan, math.inf])
def test_truth_is_that_of_the_value(kind: Kind, x: float) -> None:
    assert bool(kind.make(x)) is bool(x)
    assert bool(kind.make([x])) is bool(x)
    assert bool(kind.make([[x]])) is bool(x)


@both
@pytest.mark.parametrize("x", [[1.0, 2.0], [[0.0], [0.0]], []], ids=name_of)
def test_truth_of_an_array_without_exactly_one_element_raises(kind: Kind, x: list[Any]) -> None:
    with pytest.raises(ValueError):
        bool(kind.make(x))


@both
@pytest.mark.parametrize("x", [3.0, [1.0, 2.0]], ids=["scalar", "vector"])
def test_numbers_are_not_hashable(kind: Kind, x: Any) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(kind.make(x))
    with pytest.raises(TypeError, match="unhashable"):
        {kind.make(x)}


# --- text, copies, pickles -----------------------------------------------------------------------


@both
@pytest.mark.parametrize("spec", ["", ".3f", "8.2e", "+g", ">12", "012.4f", "%"])
def test_format_writes_the_value(kind: Kind, spec: str) -> None:
    assert format(kind.make(2.5), spec) == format(2.5, spec)
    assert f"{kind.make(-0.125):{spec}}" == f"{-0.125:{spec}}"


@both
def test_str_writes_the_value(kind: Kind) -> None:
    assert str(kind.make(0.1)) == "0.1"
    assert operator.mod("%s", kind.make(0.1)) == "0.1"
    assert str(kind.make([0.5, 1.0])) == str(np.array([0.5, 1.0]))


def test_repr_names_the_type_and_all_parts() -> None:
    assert repr(Var(3)) == "Var(3.0)"
    assert repr(Dual(-1, 5)) == "Dual(-1.0, 5.0)"
    assert repr(Var([1.0, 2.0])) == "Var([1. 2.])"
    assert "1." in repr(Dual(3.0, [1.0, 0.0]))
    assert repr(Dual(Dual(1.0, 2.0), 3.0)) == "Dual(Dual(1.0, 2.0), 3.0)"


@both
def test_an_unknown_format_raises_as_for_floats(kind: Kind) -> None:
    with pytest.raises(ValueError, match="format code"):
        format(kind.make(1.0), "d")


@both
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_keep_value_and_derivative(kind: Kind, copied: Callable[[Any], Any]) -> None:
    assert kind.derivative(lambda x: copied(x) * x, 3.0) == (9.0, 6.0)
    assert kind.derivative(lambda x: copied([x, {"k": x}])[1]["k"] * x, 3.0) == (9.0, 6.0)


@both
@pytest.mark.parametrize("x", [3.0, [1.0, 2.0]], ids=["scalar", "vector"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_raises_and_names_the_replacement(kind: Kind, x: Any, protocol: int) -> None:
    with pytest.raises(TypeError, match=r"cadiff\.value"):
        pickle.dumps(kind.make(x), protocol)


# --- conversions that would drop the derivative --------------------------------------------------

CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "operator.index": operator.index,
    "math.sin": math.sin,
    "math.isnan": math.isnan,
    "math.hypot": lambda v: math.hypot(v, 1.0),
    "range": range,
    "index of a list": lambda v: [1, 2, 3, 4][v],
    "repetition of a list": lambda v: [1] * v,
    "percent format": lambda v: operator.mod("%.2f", v),
    "np.float64": np.float64,
    "assignment to an element": lambda v: np.zeros(3).__setitem__(0, v),
    "assignment to a slice": lambda v: np.zeros(3).__setitem__(slice(None), v),
    "assignment of a list": lambda v: np.zeros(2).__setitem__(slice(None), [v, v]),
    "fill": lambda v: np.zeros(3).fill(v),
    "array of floats": lambda v: np.array([v], float),
    "array of a number": lambda v: np.array(v, float),
    "asarray": lambda v: np.asarray([v], dtype=np.float64),
    "astype": lambda v: np.array([v]).astype(float),
}


@both
@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS.keys())
def test_a_conversion_to_a_plain_number_raises_and_names_the_replacement(
    kind: Kind, convert: Callable[[Any], Any]
) -> None:
    with pytest.raises(TypeError) as caught:
        convert(kind.make(3.0))
    message = str(caught.value)
    assert kind.type.__name__ in message
    if convert is CONVERSIONS["percent format"] and sys.version_info >= (3, 15):
        return  # CPython has a text of its own, whatever a number says
    assert "cadiff.value(v)" in message  # what else there is to write: see test_plain_numbers.py
    assert "does not become a plain number by itself" in message


@both
def test_filling_an_array_of_floats_raises_and_names_the_replacement(kind: Kind) -> None:
    with pytest.raises(TypeError, match=r"derivatives into ndarray: .*cadiff\.numpy\.full"):
        np.full(2, kind.make(3.0), dtype=float)
    with pytest.raises(TypeError, match=r"derivatives into ndarray: .*cadiff\.numpy\.zeros"):
        np.copyto(np.zeros(2), kind.make(3.0))


@both
@pytest.mark.parametrize("name", ["float", "int", "complex", "operator.index", "math.sin"])
def test_a_vector_does_not_convert_to_a_plain_number(kind: Kind, name: str) -> None:
    for x in ([1.0, 2.0], [1.0]):
        with pytest.raises(TypeError, match=r"cadiff\.value"):
            CONVERSIONS[name](kind.make(x))


@both
def test_nothing_writes_a_number_into_a_plain_array(kind: Kind) -> None:
    a: Any = np.zeros(2)
    v = kind.make(3.0)
    writers: list[Callable[[], Any]] = [
        lambda: a.__iadd__(v),
        lambda: a.__imul__(v),
        lambda: np.add(a, v, out=a),
        lambda: np.copyto(a, np.array([v, v])),
        lambda: np.put(a, [0], [v]),
        lambda: a.__setitem__(0, a[0] + v),
    ]
    for write in writers:
        with pytest.raises(TypeError):
            write()
        np.testing.assert_array_equal(a, [0.0, 0.0])


@both
def test_numbers_offer_no_protocol_that_drops_the_derivative(kind: Kind) -> None:
    for x in (3.0, [1.0, 2.0]):
        for name in ("__array_interface__", "__array_struct__", "__buffer__"):
            assert not hasattr(kind.make(x), name)
    assert not hasattr(kind.make(3.0), "__array__")
    assert np.asarray(kind.make([1.0, 2.0])).dtype == object


# --- making numbers ------------------------------------------------------------------------------

BASE = np.arange(24, dtype=np.float64).reshape(4, 6) - 7.5


def _read_only() -> Array:
    array: Array = BASE.copy()
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Any] = {
    "contiguous": BASE,
    "Fortran": np.asfortranarray(BASE),
    "transposed": BASE.T,
    "every second": BASE[::2, 1::2],
    "reversed": BASE[::-1, ::-1],
    "column": BASE[:, 2],
    "broadcast": np.broadcast_to(np.array([1.5, 2.5]), (3, 2)),
    "read-only": _read_only(),
    "big-endian": BASE.astype(">f8"),
    "big-endian float32": BASE.astype(">f4"),
    "big-endian int": np.arange(5, dtype=">i4"),
    "unaligned": np.frombuffer(b"\0" + BASE.tobytes(), dtype=np.float64, offset=1),
    "field of a record": np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])["b"],
    **{
        np.dtype(code).name: np.arange(5).astype(code)
        for code in ("b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "g")
    },
    "0-d": np.array(2.5),
    "0-d int": np.array(3),
    "empty": np.zeros(0),
    "empty 2-D": np.zeros((0, 3)),
    "empty inside": np.zeros((2, 0, 3)),
    "3-D": np.arange(12.0).reshape(2, 3, 2),
    "list": [1.0, 2, np.float32(3.5)],
    "nested list": [[1, 2], [3, 4]],
    "tuple": (1, 2.5),
    "empty list": [],
    **{name: constant for name, constant in CONSTANTS.items() if "bool" not in name},
}
layouts = pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS.keys())


@both
@layouts
def test_numbers_are_made_of_every_layout_and_real_dtype(kind: Kind, x: Any) -> None:
    expected = np.asarray(x, dtype=np.float64)
    number = kind.make(x)
    assert isinstance(number, kind.type)
    assert number.shape == expected.shape
    single = np.asarray(x).dtype.type is np.float32
    assert number.dtype == (np.float32 if single else np.float64)
    assert number.dtype.type in [np.float32 if single else np.float64]
    assert {number.dtype.type, number.dtype.type} != {np.float64 if single else np.float32}
    value = cadiff.value(number)
    scalar = np.float32 if single else float
    assert type(value) is (scalar if expected.ndim == 0 else np.ndarray)
    np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("x", [np.asarray(x) for x in LAYOUTS.values() if np.ndim(x)])
def test_gradients_by_every_layout(x: Any) -> None:
    plain = x.astype(float)
    wanted = np.cos(plain) * plain + np.sin(plain)
    small = x.dtype.kind == "f" and x.dtype.itemsize < 8
    for transform in (cadiff.grad, cadiff.jacfwd):
        gradient = np.asarray(transform(lambda x: np.sum(np.sin(x) * x))(x))
        assert gradient.dtype == (x.dtype.newbyteorder("=") if small else float)
        np.testing.assert_allclose(gradient, wanted, rtol=4e-3 if small else 1e-14)
    np.testing.assert_array_equal(x, plain)


@layouts
def test_each_element_of_a_leaf_gets_its_own_gradient(x: Any) -> None:
    expected = np.asarray(x, dtype=np.float64)
    weights = np.arange(1.0, expected.size + 1).reshape(expected.shape)
    v = Var(x)
    if expected.ndim == 0:
        (v * weights).backward()
        assert v.grad == 1.0
        return
    total = sum(v[index] * float(weights[index]) for index in np.ndindex(expected.shape))
    if expected.size:
        total.backward()
    np.testing.assert_array_equal(v.grad, weights)
    assert v.grad.shape == expected.shape


NO_VALUES: dict[str, Any] = {
    "bool": True,
    "np.bool": np.bool_(True),
    "0-d array of bool": np.array(True),
    "array of bool": np.array([True]),
    "list of bool": [True, False],
    "str": "3.0",
    "array of str": np.array(["a"]),
    "bytes": b"3",
    "None": None,
    "list with None": [1.0, None],
    "Fraction": Fraction(1, 2),
    "Decimal": Decimal(1),
    "dict": {"a": 1.0},
    "set": {1.0},
    "datetime": np.datetime64("2020-01-01"),
    "object": object(),
}


@both
@pytest.mark.parametrize("x", NO_VALUES.values(), ids=NO_VALUES.keys())
def test_what_is_no_real_number_is_refused_as_a_value(kind: Kind, x: Any) -> None:
    with pytest.raises(TypeError, match="real number"):
        kind.make(x)
    with pytest.raises(TypeError, match="tangent"):
        Dual(1.0, x)
    with pytest.raises(TypeError, match="real number"):
        Dual.seed(x)


@both
def test_ragged_lists_and_ints_beyond_the_floats_are_refused(kind: Kind) -> None:
    with pytest.raises(ValueError):
        kind.make([[1.0, 2.0], [3.0]])
    with pytest.raises(OverflowError):
        kind.make(10**400)


@both
def test_numbers_are_made_with_one_value_also_by_keyword(kind: Kind) -> None:
    assert cadiff.value(Var(value=2)) == 2.0
    assert Dual(primal=2, tangent=3).tangent == 3.0
    with pytest.raises(TypeError):
        kind.type()
    with pytest.raises(TypeError):
        kind.type(1.0, 2.0, 3.0)


@pytest.mark.parametrize("number", [Var(3.0), Dual(3.0, 1.0), Var([1.0]), Dual([1.0], [1.0])])
def test_a_leaf_is_not_made_of_a_number_with_a_derivative(number: Any) -> None:
    with pytest.raises(TypeError, match=r"cadiff\.value"):
        Var(number)
    with pytest.raises(TypeError):
        Var([number, number])
    with pytest.raises(TypeError):
        Dual.seed(number)


# --- reading a Var -------------------------------------------------------------------------------


def test_a_var_has_value_grad_and_their_short_names() -> None:
    x = Var(3)
    assert type(x.value) is float
    assert (x.value, x.v, x.grad, x.gv) == (3.0, 3.0, 0.0, 0.0)
    (x * x).backward()
    assert type(x.grad) is float
    assert (x.grad, x.gv) == (6.0, 6.0)


def test_a_dual_has_primal_tangent_and_their_short_names() -> None:
    d = Dual(3, 2)
    assert type(d.primal) is float
    assert type(d.tangent) is float
    assert (d.primal, d.real, d.tangent, d.dual) == (3.0, 3.0, 2.0, 2.0)
    assert Dual(3).tangent == 0.0


def test_the_real_part_of_a_number_is_the_number() -> None:
    x = Var(3.0)
    for real in (np.real(x), x.real, np.conj(x), x.conjugate()):
        x.zero_grad()
        (real * x).backward()
        assert x.grad == 6.0
    assert (np.real(Dual(3.0, 1.0)) * 2.0).tangent == 2.0
    assert np.imag(x) == 0.0


def test_parents_are_the_operands_that_carry_derivatives() -> None:
    x, y, v, w = Var(2.0), Var(3.0), Var([1.0, 2.0]), Var([[1.0, 2.0], [3.0, 4.0]])
    cases: list[tuple[Any, list[Any]]] = [
        (x, []),
        (x * y, [2.0, 3.0]),
        (x - x, [2.0, 2.0]),
        (x * 5.0, [2.0]),
        (5.0 / y, [3.0]),
        (-x, [2.0]),
        (x**2, [2.0]),
        (cadiff.exp(y), [3.0]),
        (cadiff.arctan2(x, y), [2.0, 3.0]),
        (cadiff.where(x > 0, x, y), [2.0, 3.0]),
        (cadiff.clip(x, y, 9.0), [2.0, 3.0]),
        (cadiff.stop_gradient(x), []),
        (Var([1.0, 2.0])[1] * x, [2.0, 2.0]),
        (v * 3.0, [[1.0, 2.0]]),
        (w * v, [[[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]]),
        (cadiff.sin(w[:, 1]), [[2.0, 4.0]]),
    ]
    for number, expected in cases:
        assert isinstance(number.parents, tuple)
        assert all(isinstance(parent, Var) for parent in number.parents)
        values = [np.asarray(parent.value).tolist() for parent in number.parents]
        assert values == expected


# --- the run of a Var ----------------------------------------------------------------------------


def test_an_intermediate_number_shows_the_adjoint_of_the_last_pass() -> None:
    x = Var(2.0)
    y = x * x
    z = y * 3.0
    w = y * y
    assert y.grad == z.grad == 0.0
    z.backward()
    assert (y.grad, z.grad, w.grad) == (3.0, 1.0, 0.0)
    w.backward(seed=0.5)
    assert (y.grad, z.grad, w.grad) == (4.0, 0.0, 0.5)
    assert x.grad == 4.0 * 3.0 + 0.5 * 4 * 8.0


@pytest.mark.parametrize("seed", [2.0, 2, np.float32(2), np.int8(2)], ids=name_of)
def test_the_seed_of_a_scalar_scales_the_gradient(seed: Any) -> None:
    x = Var(3.0)
    (x * x).backward(seed)
    assert x.grad == 12.0


@pytest.mark.parametrize("seed", [1j, "a", None, [1.0, 2.0], np.ones(3)], ids=name_of)
def test_a_seed_that_is_no_number_is_refused_and_changes_nothing(seed: Any) -> None:
    x = Var(3.0)
    y = x * x
    y.backward()
    with pytest.raises((TypeError, ValueError)):
        y.backward(seed)
    assert x.grad == 6.0


@pytest.mark.parametrize("seed", [Var(1.0), Dual(1.0, 1.0)])
def test_a_seed_with_a_derivative_is_refused(seed: Any) -> None:
    with pytest.raises(TypeError, match=r"cadiff\.vjp"):
        Var(3.0).backward(seed)


def test_zero_grad_sets_the_gradient_to_zero() -> None:
    x, y = Var(3.0), Var([1.0, 2.0])
    z = x * y[0] * y[1]
    z.backward()
    x.zero_grad()
    assert x.grad == 0.0
    np.testing.assert_array_equal(y.grad, [6.0, 3.0])
    z.zero_grad()
    assert z.grad == 0.0
    z.backward()
    assert x.grad == 2.0


def test_zero_grad_of_an_array_sets_all_to_zero_and_of_a_part_that_part() -> None:
    v = Var([1.0, 2.0, 3.0])
    y = v[0] * v[1] * v[2]
    y.backward()
    v[1].zero_grad()
    np.testing.assert_array_equal(v.grad, [6.0, 0.0, 2.0])
    v[2:].zero_grad()
    np.testing.assert_array_equal(v.grad, [6.0, 0.0, 0.0])
    v.zero_grad()
    np.testing.assert_array_equal(v.grad, np.zeros(3))
    y.backward()
    np.testing.assert_array_equal(v.grad, [6.0, 3.0, 2.0])


def test_backward_of_an_array_wants_a_seed_of_its_shape() -> None:
    v = Var([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError, match=r"\(2, 2\).*backward\(seed\)"):
        v.backward()
    for shape in [(3,), (2,), (4,), (2, 3)]:
        with pytest.raises(ValueError, match="shape"):
            v.backward(np.ones(shape))
    np.testing.assert_array_equal(v.grad, np.zeros((2, 2)))


def test_backward_of_an_array_passes_its_seed_to_the_leaf() -> None:
    v = Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v.backward([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(v.grad, [[1, 2, 3], [4, 5, 6]])
    v[:, 1:].backward(np.array([[10.0, 20.0], [30.0, 40.0]]))
    np.testing.assert_array_equal(v.grad, [[1, 12, 23], [4, 35, 46]])
    v.T[::-1].backward(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(v.grad, [[5, 14, 23], [9, 38, 47]])


def test_backward_of_a_single_element_needs_no_seed() -> None:
    v = Var([2.0])
    v.backward()
    np.testing.assert_array_equal(v.grad, [1.0])
    v[0].backward()
    np.testing.assert_array_equal(v.grad, [2.0])
    Var(np.zeros((0, 2))).backward()


def test_a_number_without_derivative_takes_part_as_a_constant() -> None:
    x = Var(3.0)
    c = cadiff.stop_gradient(x)
    assert isinstance(c, Var)
    y = c * x + c * c
    y.backward()
    assert (y.value, x.grad, c.grad) == (18.0, 3.0, 0.0)
    (c * c).backward()
    assert (x.grad, c.grad) == (3.0, 0.0)


def test_stop_gradient_of_a_dual_is_a_dual_without_tangent() -> None:
    c = cadiff.stop_gradient(Dual(3.0, 1.0))
    assert isinstance(c, Dual)
    assert (c.primal, c.tangent) == (3.0, 0.0)
    assert (c * Dual(2.0, 1.0)).tangent == 3.0


def test_value_strips_derivatives_from_any_container() -> None:
    x, d = Var(2.0), Dual(3.0, 1.0)
    tree = {"a": [x, (d, "text")], "b": None, "c": np.array([x, d]), "d": Var([1.0, 2.0])}
    plain = cadiff.value(tree)
    assert plain["a"] == [2.0, (3.0, "text")]
    assert plain["b"] is None
    assert plain["c"].dtype == np.float64
    np.testing.assert_array_equal(plain["c"], [2.0, 3.0])
    np.testing.assert_array_equal(plain["d"], [1.0, 2.0])
    assert cadiff.value(4.0) == 4.0
    assert cadiff.value(Dual(Dual(Var(5.0), 1.0), 1.0)) == 5.0
