"""Var and Dual as numbers: arithmetic with everything Python and NumPy call a real number,
comparisons, conversions, text, and arrays of them.

Each rule is stated once for both types where it holds for both. What is expected comes from floats
and from NumPy; derivatives from formulas that stand beside the operation.
"""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

import cadiff
from cadiff import Dual, Var

from .names import name_of
from .processes import isolated

Array = NDArray[Any]


@dataclass(frozen=True)
class Kind:
    """One type of number: how to make an input, and to read the derivative of a result by it."""

    type: type[Any]
    make: Callable[[Any], Any]
    slope: Callable[[Any, Any], Any]

    def derivative(self, f: Callable[[Any], Any], x: float) -> tuple[float, float]:
        """Value and derivative of f, which must return a number of this type."""
        number = self.make(x)
        result = f(number)
        assert isinstance(result, self.type)
        return cadiff.value(result), self.slope(number, result)


def _var_slope(x: Any, y: Any) -> Any:
    x.zero_grad()
    y.backward()
    return x.grad


VAR = Kind(Var, Var, _var_slope)
DUAL = Kind(Dual, lambda x: Dual(x, 1.0), lambda x, y: y.tangent)

both = pytest.mark.parametrize("kind", [VAR, DUAL], ids=["Var", "Dual"])


def same(got: float, expected: float) -> bool:
    """Equal up to a few units in the last place; nan equals nan, infinities themselves."""
    if math.isnan(expected):
        return math.isnan(got)
    return math.isclose(got, expected, rel_tol=1e-14, abs_tol=0.0)


# --- arithmetic --------------------------------------------------------------------------------

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
def test_arithmetic_with_a_constant_on_the_right(kind: Kind, name: str, constant: Any) -> None:
    op, partial, _ = BINARY[name]
    x, c = np.float64(3.7), np.float64(constant)
    with np.errstate(over="ignore"):
        value, slope = op(x, c), partial(x, c)
    got = kind.derivative(lambda number: op(number, constant), 3.7)
    assert same(got[0], value)
    assert same(got[1], slope)


@both
@binary
@constants
def test_arithmetic_with_a_constant_on_the_left(kind: Kind, name: str, constant: Any) -> None:
    op, _, partial = BINARY[name]
    x, c = np.float64(3.7), np.float64(constant)
    got = kind.derivative(lambda number: op(constant, number), 3.7)
    assert same(got[0], op(c, x))
    assert same(got[1], partial(c, x))


@both
@binary
def test_arithmetic_of_two_numbers_follows_both(kind: Kind, name: str) -> None:
    op, by_left, by_right = BINARY[name]
    # x op (x + 1) along x: the sum of both partials
    x, y = 3.7, 4.7
    got = kind.derivative(lambda number: op(number, number + 1.0), x)
    assert same(got[0], op(x, y))
    assert math.isclose(got[1], by_left(x, y) + by_right(x, y), rel_tol=1e-14)


@both
@binary
def test_in_place_operators_rebind_the_name_and_leave_the_number(kind: Kind, name: str) -> None:
    in_place = getattr(operator, f"i{name}")
    x = kind.make(3.7)
    y = in_place(x, 2.5)
    assert cadiff.value(x) == 3.7
    assert cadiff.value(y) == BINARY[name][0](3.7, 2.5)


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
def test_values_outside_the_domain_follow_numpy_without_exceptions(kind: Kind) -> None:
    zero = kind.make(0.0)
    assert cadiff.value(1 / zero) == math.inf
    assert cadiff.value(-1.0 / zero) == -math.inf
    assert math.isnan(cadiff.value(zero / zero))
    assert math.isnan(cadiff.value(0 / zero))
    assert cadiff.value(zero**-1) == math.inf
    assert cadiff.value(10.0 ** kind.make(400.0)) == math.inf
    assert cadiff.value(kind.make(1e200) ** 2) == math.inf
    assert cadiff.value(kind.make(1.0) // 0) == math.inf
    assert math.isnan(cadiff.value(kind.make(1.0) % 0))
    assert math.isnan(cadiff.value((-2.0) ** kind.make(0.5)))
    assert math.isnan(cadiff.value(cadiff.log(kind.make(-1.0))))


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
    "complex": 1j,
    "np.complex128": np.complex128(1j),
    "str": "a",
    "bytes": b"a",
    "None": None,
    "list": [1.0],
    "tuple": (1.0,),
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
@pytest.mark.parametrize("name", ["complex", "Decimal", "None", "list", "object"])
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


# --- rounding ----------------------------------------------------------------------------------


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


@both
@pytest.mark.parametrize("digits", [0, 1, 2])
def test_round_of_a_vector_rounds_to_digits(kind: Kind, digits: int) -> None:
    x = np.array([1.234, -5.678, 2.5])
    rounded = round(kind.make(x), digits)
    np.testing.assert_array_equal(np.array(cadiff.value(rounded), float), np.round(x, digits))


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


def test_round_with_digits_keeps_the_number_of_lanes() -> None:
    x = Dual(1.26, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(round(x).tangent, np.zeros(3))
    np.testing.assert_array_equal(round(x, 1).tangent, np.zeros(3))


# --- comparisons -------------------------------------------------------------------------------

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
def test_comparisons_of_two_numbers_are_python_bools(
    kind: Kind, op: Callable[[Any, Any], Any]
) -> None:
    assert type(op(kind.make(2.0), kind.make(3.0))) is bool
    assert type(op(kind.make(2.0), 3.0)) is bool
    assert type(op(2, kind.make(3.0))) is bool


@both
@compare
def test_comparison_with_an_array_is_an_array_of_bools(
    kind: Kind, op: Callable[[Any, Any], Any]
) -> None:
    array = np.array([[2.0, 3.0], [4.0, math.nan]])
    for outcome, expected in (
        (op(kind.make(3.0), array), op(3.0, array)),
        (op(array, kind.make(3.0)), op(array, 3.0)),
    ):
        assert outcome.dtype == np.bool_
        np.testing.assert_array_equal(outcome, expected)


@both
@compare
def test_comparison_of_vectors_is_an_array_of_bools(
    kind: Kind, op: Callable[[Any, Any], Any]
) -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    for left, right in ((kind.make(x), kind.make(y)), (kind.make(x), y), (x, kind.make(y))):
        outcome = op(left, right)
        assert outcome.dtype == np.bool_
        np.testing.assert_array_equal(outcome, op(x, y))
    np.testing.assert_array_equal(op(kind.make(x), 2), op(x, 2))
    np.testing.assert_array_equal(op(2.0, kind.make(x)), op(2.0, x))


@both
@pytest.mark.parametrize("stranger", [None, "3.0", object(), [3.0]], ids=name_of)
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


# --- text, copies, pickles ---------------------------------------------------------------------


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


# --- conversions that would drop the derivative ------------------------------------------------

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
    assert "cadiff.sin" in message
    assert "cadiff.array" in message
    assert "cadiff.value" in message
    assert kind.type.__name__ in message


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
def test_a_vector_does_not_convert_to_a_plain_array(kind: Kind) -> None:
    v = kind.make([1.0, 2.0])
    with pytest.raises(TypeError, match=r"cadiff\.value"):
        np.array(v, float)
    with pytest.raises(TypeError, match=r"cadiff\.value"):
        np.zeros(2)[:] = v


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
def test_printf_style_integers_are_refused(kind: Kind) -> None:
    with pytest.raises(TypeError):
        operator.mod("%d", kind.make(3.0))


@both
def test_numbers_offer_no_protocol_that_drops_the_derivative(kind: Kind) -> None:
    for x in (3.0, [1.0, 2.0]):
        for name in ("__array__", "__array_interface__", "__array_struct__", "__buffer__"):
            assert not hasattr(kind.make(x), name)


# --- making numbers ----------------------------------------------------------------------------

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
}
layouts = pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS.keys())


@both
@layouts
def test_numbers_are_made_of_every_layout_and_real_dtype(kind: Kind, x: Any) -> None:
    expected = np.asarray(x, dtype=np.float64)
    number = kind.make(x)
    assert isinstance(number, kind.type)
    assert number.shape == expected.shape
    assert number.dtype == np.float64
    value = cadiff.value(number)
    assert type(value) is (float if expected.ndim == 0 else np.ndarray)
    np.testing.assert_array_equal(value, expected)


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


SCALARS: dict[str, Any] = {
    **{name: constant for name, constant in CONSTANTS.items() if "bool" not in name},
    "0-d list": np.float64(7),
}


@both
@pytest.mark.parametrize("x", SCALARS.values(), ids=SCALARS.keys())
def test_a_scalar_of_any_real_type_becomes_a_float(kind: Kind, x: Any) -> None:
    number = kind.make(x)
    assert type(cadiff.value(number)) is float
    assert cadiff.value(number) == float(x)
    assert number.shape == ()


NO_VALUES: dict[str, Any] = {
    "bool": True,
    "np.bool": np.bool_(True),
    "0-d array of bool": np.array(True),
    "array of bool": np.array([True]),
    "list of bool": [True, False],
    "complex": 1j,
    "np.complex64": np.complex64(1j),
    "array of complex": np.array([1j]),
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


@pytest.mark.parametrize("x", NO_VALUES.values(), ids=NO_VALUES.keys())
def test_what_is_no_real_number_is_refused_as_a_tangent(x: Any) -> None:
    with pytest.raises(TypeError, match="tangent"):
        Dual(1.0, x)


@pytest.mark.parametrize("x", NO_VALUES.values(), ids=NO_VALUES.keys())
def test_what_is_no_real_number_cannot_be_seeded(x: Any) -> None:
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


def test_values_are_copied_in_and_out() -> None:
    source = np.array([1.0, 2.0])
    tangent = np.array([3.0, 4.0])
    v, d = Var(source), Dual(source, tangent)
    source[:] = tangent[:] = -1.0
    for number, name in ((v, "value"), (v, "v"), (d, "primal"), (d, "real")):
        getattr(number, name)[:] = -2.0
        np.testing.assert_array_equal(getattr(number, name), [1.0, 2.0])
    d.tangent[:] = -2.0
    np.testing.assert_array_equal(d.tangent, [3.0, 4.0])
    (v[0] * v[1]).backward()
    v.grad[:] = -2.0
    np.testing.assert_array_equal(v.grad, [2.0, 1.0])


# --- reading a Var -----------------------------------------------------------------------------


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


def test_four_plus_a_dual() -> None:
    y = 4 + Dual(-1, 5)
    assert (y.primal, y.tangent) == (3.0, 5.0)


def test_the_real_part_of_a_number_is_the_number() -> None:
    x = Var(3.0)
    for real in (np.real(x), x.real, np.conj(x), x.conjugate()):
        x.zero_grad()
        (real * x).backward()
        assert x.grad == 6.0
    assert (np.real(Dual(3.0, 1.0)) * 2.0).tangent == 2.0
    assert np.imag(x) == 0.0


def test_parents_are_the_operands_that_carry_derivatives() -> None:
    x, y = Var(2.0), Var(3.0)
    cases: list[tuple[Any, list[float]]] = [
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
    ]
    for number, expected in cases:
        assert isinstance(number.parents, tuple)
        assert all(isinstance(parent, Var) for parent in number.parents)
        assert [parent.value for parent in number.parents] == expected


def test_the_graph_can_be_walked_by_parents() -> None:
    x = Var(0.5)
    y = 1.0 / (1.0 + cadiff.exp(-x))
    values = []
    number: Any = y
    while number.parents:
        values.append(number.value)
        (number,) = number.parents
    assert number.value == 0.5
    assert values == [y.value, 1.0 + math.exp(-0.5), math.exp(-0.5), -0.5]
    y.backward()
    assert number.grad == x.grad != 0.0


# --- the run of a Var --------------------------------------------------------------------------


def test_two_passes_add_up_in_the_leaf() -> None:
    x = Var(5.0)
    y = 3 * (2 * x)
    y.backward()
    assert x.grad == 6.0
    y.backward()
    assert x.grad == 12.0


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


# --- arrays like ndarrays ----------------------------------------------------------------------

SHAPES = [(), (3,), (1,), (0,), (2, 3), (0, 2), (2, 3, 2)]


@both
@pytest.mark.parametrize("shape", SHAPES)
def test_attributes_are_those_of_the_array(kind: Kind, shape: tuple[int, ...]) -> None:
    x = np.arange(float(math.prod(shape))).reshape(shape)
    v = kind.make(x)
    assert v.shape == x.shape
    assert v.ndim == x.ndim
    assert v.size == x.size
    assert v.dtype == x.dtype
    assert v.T.shape == x.T.shape
    np.testing.assert_array_equal(cadiff.value(v.T), x.T)
    if shape:
        assert len(v) == len(x)
        assert len(list(v)) == len(x)
    else:
        for refused in (len, iter, list, lambda v: v[0], sum):
            with pytest.raises(TypeError, match="0-d"):
                refused(v)


@both
def test_iteration_and_unpacking_give_numbers(kind: Kind) -> None:
    a, b, c = kind.make([1.0, 2.0, 3.0])
    assert [cadiff.value(x) for x in (a, b, c)] == [1.0, 2.0, 3.0]
    assert all(isinstance(x, kind.type) and x.shape == () for x in (a, b, c))
    _, *rest = kind.make([1.0, 2.0, 3.0])
    assert len(rest) == 2
    (row, _) = kind.make([[1.0, 2.0], [3.0, 4.0]])
    assert row.shape == (2,)
    assert [cadiff.value(x) for x in reversed(kind.make([1.0, 2.0]))] == [2.0, 1.0]
    assert [(i, cadiff.value(x)) for i, x in enumerate(kind.make([5.0, 6.0]))] == [
        (0, 5.0),
        (1, 6.0),
    ]


def test_a_loop_over_a_vector_differentiates() -> None:
    v = Var([1.0, 2.0, 3.0])
    total: Any = 0.0
    for x in v:
        total = total + x * x
    total.backward()
    np.testing.assert_array_equal(v.grad, [2.0, 4.0, 6.0])


def refuse_assignments(v: Any, message: str) -> None:
    """Assignments raise, and change nothing."""
    before = v.value
    for key in (0, slice(None), ..., np.array([1, 0]), v.value > 0.0):
        with pytest.raises(TypeError, match=message):
            v[key] = 7.0
    with pytest.raises(TypeError, match=message):
        v[:1] = v[1:]
    np.testing.assert_array_equal(v.value, before)


def test_leaves_cannot_be_assigned_to() -> None:
    refuse_assignments(Var([1.0, 2.0]), r"y = x\.copy\(\)")
    refuse_assignments(Var([[0.0, 1.0], [3.0, 2.0]])[1], r"y = x\.copy\(\)")


def test_what_was_made_outside_of_a_differentiation_cannot_be_assigned_to_inside() -> None:
    outside = Var([1.0, 2.0]) * 2.0

    def f(x: Any) -> Any:
        refuse_assignments(outside, r"y = y\.copy\(\)")
        inside = outside.copy()
        inside[0] = x
        return inside.sum()

    assert cadiff.grad(f)(3.0) == 1.0
    outside[0] = 5.0
    np.testing.assert_array_equal(outside.value, [5.0, 4.0])


@both
def test_results_can_be_assigned_to(kind: Kind) -> None:
    def f(x: Any) -> Any:
        y = x * np.array([1.0, 2.0, 3.0])
        y[0] = x * x
        y[1:] *= y[0]
        y[np.array([False, True, False])] = 7.0
        return y.sum()

    assert kind.derivative(f, 2.0) == (4.0 + 7.0 + 24.0, 4.0 + 3.0 * 3.0 * 4.0)


IN_PLACE: list[Callable[[Any, Any], Any]] = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
]


@both
@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_results_are_changed_in_place(kind: Kind, op: Callable[[Any, Any], Any]) -> None:
    plain = {i: getattr(operator, i.__name__.replace("i", "", 1)) for i in IN_PLACE}[op]

    def changed(x: Any) -> Any:
        y = x * np.array([1.0, 2.0, 4.0])
        same = y
        y = op(y, 1.5 * x)
        assert y is same
        return (y * np.array([3.0, 2.0, 1.0])).sum()

    def fresh(x: Any) -> Any:
        return (plain(x * np.array([1.0, 2.0, 4.0]), 1.5 * x) * np.array([3.0, 2.0, 1.0])).sum()

    assert kind.derivative(changed, 2.1) == kind.derivative(fresh, 2.1)


@both
@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_numbers_are_not_changed_in_place(kind: Kind, op: Callable[[Any, Any], Any]) -> None:
    x = kind.make(3.0)
    y = x * 2.0
    z = op(y, x)
    assert z is not y
    assert cadiff.value(y) == 6.0


def test_leaves_are_not_changed_in_place() -> None:
    x = Var([1.0, 2.0])
    with pytest.raises(TypeError, match=r"y = x\.copy\(\)"):
        x += 1.0
    np.testing.assert_array_equal(x.value, [1.0, 2.0])


def test_duals_can_be_assigned_to() -> None:
    x = Dual([1.0, 2.0], [1.0, 0.0])
    x[1] = Dual(5.0, 7.0)
    x[0] *= 3.0
    np.testing.assert_array_equal(x.primal, [3.0, 5.0])
    np.testing.assert_array_equal(x.tangent, [3.0, 7.0])


@both
def test_elements_cannot_be_deleted(kind: Kind) -> None:
    for v in (kind.make([1.0, 2.0]), kind.make([1.0, 2.0]) * 2.0):
        with pytest.raises(TypeError):
            del v[0]
    for v in (kind.make(1.0), kind.make(1.0) * 2.0):
        for key in (0, (), ..., slice(None)):
            with pytest.raises(TypeError):
                v[key] = 1.0
            with pytest.raises(TypeError):
                del v[key]


@both
def test_item_is_the_plain_value(kind: Kind) -> None:
    assert type(kind.make(3.0).item()) is float
    assert kind.make(3.0).item() == 3.0
    assert kind.make([[3.0]]).item() == 3.0
    assert kind.make([1.0, 2.0]).item(1) == 2.0
    with pytest.raises(ValueError):
        kind.make([1.0, 2.0]).item()


VECTOR = np.array([1.5, -2.0, 0.5, 3.0])
WEIGHTS = np.array([1.0, 3.0, -2.0, 5.0])

# A scalar of a vector, and its gradient there.
REDUCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sum": (lambda v: v.sum(), np.ones(4)),
    "builtin sum": (sum, np.ones(4)),
    "np.sum": (np.sum, np.ones(4)),
    "mean": (lambda v: v.mean(), np.full(4, 0.25)),
    "np.mean": (np.mean, np.full(4, 0.25)),
    "prod": (lambda v: v.prod(), VECTOR.prod() / VECTOR),
    "np.prod": (np.prod, VECTOR.prod() / VECTOR),
    "max": (lambda v: v.max(), [0, 0, 0, 1]),
    "builtin max": (max, [0, 0, 0, 1]),
    "np.max": (np.max, [0, 0, 0, 1]),
    "min": (lambda v: v.min(), [0, 1, 0, 0]),
    "builtin min": (min, [0, 1, 0, 0]),
    "dot": (lambda v: v.dot(WEIGHTS), WEIGHTS),
    "dot of a list": (lambda v: v.dot(WEIGHTS.tolist()), WEIGHTS),
    "dot with itself": (lambda v: v.dot(v), 2 * VECTOR),
    "matmul": (lambda v: v @ WEIGHTS, WEIGHTS),
    "reflected matmul": (lambda v: WEIGHTS @ v, WEIGHTS),
    "np.dot": (lambda v: np.dot(WEIGHTS, v), WEIGHTS),
    "reshape": (lambda v: v.reshape(2, 2)[1][0], [0, 0, 1, 0]),
    "reshape by a tuple": (lambda v: v.reshape((2, -1))[1, 1], [0, 0, 0, 1]),
    "ravel": (lambda v: v.reshape(2, 2).ravel()[2], [0, 0, 1, 0]),
    "flatten": (lambda v: v.flatten()[3], [0, 0, 0, 1]),
    "tolist": (lambda v: v.tolist()[1], [0, 1, 0, 0]),
    "sum of a slice": (lambda v: v[1:3].sum(), [0, 1, 1, 0]),
    "product of elements": (lambda v: v[0] * v[-1], [3.0, 0, 0, 1.5]),
    "generator": (lambda v: sum(x * x for x in v), 2 * VECTOR),
    "zip": (lambda v: sum(x * w for x, w in zip(v, WEIGHTS, strict=True)), WEIGHTS),
    "arithmetic": (lambda v: (2.0 * v + v * v - 1.0).sum(), 2 + 2 * VECTOR),
    "array on the left": (lambda v: (WEIGHTS * v).sum(), WEIGHTS),
    "array on the right": (lambda v: (v / WEIGHTS).sum(), 1 / WEIGHTS),
    "negative": (lambda v: (-v).sum(), -np.ones(4)),
    "absolute": (lambda v: abs(v).sum(), np.sign(VECTOR)),
    "power": (lambda v: (v**3).sum(), 3 * VECTOR**2),
    "reflected power": (lambda v: (2.0**v).sum(), 2.0**VECTOR * math.log(2)),
    "np.sin": (lambda v: np.sin(v).sum(), np.cos(VECTOR)),
    "cadiff.exp": (lambda v: cadiff.exp(v).sum(), np.exp(VECTOR)),
    "np.maximum": (lambda v: np.maximum(v, 0.0).sum(), [1, 0, 1, 1]),
    "clip": (lambda v: v.clip(-1.0, 2.0).sum(), [1, 0, 1, 0]),
}


@pytest.mark.parametrize(("f", "gradient"), REDUCTIONS.values(), ids=REDUCTIONS.keys())
def test_a_scalar_of_a_vector_has_the_value_and_gradient_that_numpy_says(
    f: Callable[[Any], Any], gradient: Any
) -> None:
    value = float(f(VECTOR.copy()))
    v = Var(VECTOR)
    y = f(v)
    assert isinstance(y, Var)
    assert y.shape == ()
    y.backward()
    d = f(Dual.seed(VECTOR))
    assert isinstance(d, Dual)
    for got in (y.value, d.primal):
        assert math.isclose(got, value, rel_tol=1e-15)
    for slope in (v.grad, d.tangent):
        np.testing.assert_allclose(slope, gradient, rtol=1e-14, atol=1e-15)


@both
def test_ties_of_max_and_min_share_the_derivative(kind: Kind) -> None:
    cases: list[tuple[Callable[[Any], Any], list[float], list[float]]] = [
        (lambda v: v.max(), [1.0, 2.0, 2.0], [0, 0.5, 0.5]),
        (np.max, [1.0, 2.0, 2.0], [0, 0.5, 0.5]),
        (lambda v: v.min(), [1.0, 1.0, 1.0], [1 / 3, 1 / 3, 1 / 3]),
        (np.min, [1.0, 1.0, 2.0], [0.5, 0.5, 0]),
        (lambda v: v.max(), [math.inf, 1.0, math.inf], [0.5, 0, 0.5]),
    ]
    for f, x, shares in cases:
        if kind is VAR:
            v = Var(x)
            f(v).backward()
            got = v.grad
        else:
            got = f(Dual.seed(x)).tangent
        np.testing.assert_allclose(got, shares, rtol=1e-15)


@both
def test_max_with_a_nan_is_nan_and_of_nothing_raises(kind: Kind) -> None:
    assert math.isnan(cadiff.value(kind.make([1.0, math.nan, 2.0]).max()))
    with pytest.raises(ValueError):
        kind.make([]).max()
    with pytest.raises(ValueError):
        max(kind.make([]))


@both
def test_reductions_along_an_axis(kind: Kind) -> None:
    x = np.array([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
    v = kind.make(x)
    for name in ("sum", "mean", "prod", "max", "min"):
        for axis in (0, 1, -1):
            got = cadiff.value(getattr(v, name)(axis=axis))
            np.testing.assert_allclose(got, getattr(x, name)(axis=axis), rtol=1e-15)
        kept = cadiff.value(getattr(v, name)(axis=1, keepdims=True))
        np.testing.assert_allclose(kept, getattr(x, name)(axis=1, keepdims=True), rtol=1e-15)


# --- indexing ----------------------------------------------------------------------------------

VECTOR_KEYS: dict[str, Any] = {
    "int": 1,
    "negative int": -1,
    "np.int64": np.int64(-2),
    "np.uint8": np.uint8(3),
    "0-d array": np.array(2),
    "slice": slice(1, 4),
    "step": slice(None, None, 2),
    "reversed": slice(None, None, -1),
    "backwards": slice(4, 1, -2),
    "beyond the end": slice(3, 99),
    "nothing": slice(2, 2),
    "ellipsis": ...,
    "int and ellipsis": (1, ...),
    "newaxis": None,
    "newaxis behind": (slice(None), None),
    "empty tuple": (),
    "list": [0, 3],
    "repeated": [2, 2, 0, 2],
    "negative list": [-1, 0],
    "int array": np.array([[0, 1], [4, 4]]),
    "empty list": [],
    "bool array": np.array([True, False, True, False, True]),
    "bool list": [False, False, True, True, False],
    "nothing true": np.zeros(5, dtype=bool),
}
MATRIX_KEYS: dict[str, Any] = {
    "row": 1,
    "element": (1, 2),
    "negative element": (-1, -1),
    "column": (slice(None), 1),
    "block": (slice(0, 2), slice(1, None)),
    "reversed rows": slice(None, None, -1),
    "both reversed": (slice(None, None, -1), slice(None, None, -2)),
    "ellipsis": (..., 0),
    "newaxis between": (slice(None), None, 1),
    "nothing": (slice(0, 0), slice(None)),
    "nothing inside": (slice(None), slice(5, 9)),
}
GATHERING_KEYS: dict[str, Any] = {
    "rows": "[0, 2]",
    "columns": "(slice(None), [0, 1])",
    "repeated columns": "(slice(1, None), [3, 3, 0])",
    "pairs": "([0, 2], [1, 3])",
    "grid": "np.ix_([0, 2], [1, 3])",
    "mask": "x > 4",
    "mask of rows": "np.array([True, False, True])",
    "mask of columns": "(slice(None), np.array([True, False, True, False]))",
    "columns and newaxis": "(None, slice(None), [1, 2])",
    "row and columns": "(1, [2, 1])",
    "columns behind an ellipsis": "(..., [1])",
    "rows before an ellipsis": "([1], ...)",
}


def _scattered(x: Array, key: Any) -> tuple[Array, Array]:
    """Weights for the elements of x[key], and the gradient of their weighted sum by x."""
    part = np.asarray(x[key])
    weights = np.arange(1.0, part.size + 1).reshape(part.shape)
    gradient = np.zeros_like(x)
    np.add.at(gradient, key, weights)
    return weights, gradient


def _check_indexing(x: Array, key: Any) -> None:
    weights, gradient = _scattered(x, key)
    expected = x[key]

    v = Var(x)
    part = v[key]
    np.testing.assert_array_equal(cadiff.value(part), expected)
    assert np.shape(cadiff.value(part)) == np.shape(expected)
    total = sum(
        (part[i] if np.ndim(expected) else part) * float(weights[i])
        for i in np.ndindex(weights.shape)
    )
    if weights.size:
        total.backward()
    np.testing.assert_array_equal(v.grad, gradient)

    d = Dual(x, -x)
    np.testing.assert_array_equal(cadiff.value(d[key]), expected)
    tangents = d[key]
    if isinstance(tangents, np.ndarray):  # an object array serves as well
        values = [number.tangent for number in tangents.ravel()]
        np.testing.assert_array_equal(np.reshape(values, tangents.shape), -expected)
    else:
        np.testing.assert_array_equal(tangents.tangent, -expected)


@pytest.mark.parametrize("key", VECTOR_KEYS.values(), ids=VECTOR_KEYS.keys())
def test_indexing_a_vector_takes_what_numpy_takes(key: Any) -> None:
    _check_indexing(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), key)


@pytest.mark.parametrize("key", MATRIX_KEYS.values(), ids=MATRIX_KEYS.keys())
def test_indexing_a_matrix_takes_what_numpy_takes(key: Any) -> None:
    _check_indexing(np.arange(1.0, 13.0).reshape(3, 4), key)


@pytest.mark.parametrize("key", GATHERING_KEYS.values(), ids=GATHERING_KEYS.keys())
def test_gathering_from_a_matrix_takes_what_numpy_takes(key: str) -> None:
    isolated(f"""
import numpy as np
from cadiff import Dual, Var, value
x = np.arange(1.0, 13.0).reshape(3, 4)
key = {key}
part = np.asarray(x[key])
gradient = np.zeros_like(x)
weights = np.arange(1.0, part.size + 1).reshape(part.shape)
np.add.at(gradient, key, weights)
v = Var(x)
got = v[key]
np.testing.assert_array_equal(value(got), x[key], strict=True)
sum(got[i] * float(weights[i]) for i in np.ndindex(part.shape)).backward()
np.testing.assert_array_equal(v.grad, gradient)
np.testing.assert_array_equal(value(Dual(x, x)[key]), x[key])
""")


@pytest.mark.parametrize(
    "key",
    [1, -2, slice(None, None, 2), ..., (1, ...), (..., 1), None, [0, 2], np.array([True] * 3)],
    ids=name_of,
)
def test_indexing_a_dual_keeps_its_lanes(key: Any) -> None:
    x = np.array([1.0, 2.0, 4.0])
    lanes = np.arange(6.0).reshape(3, 2)
    whole = key if isinstance(key, tuple) else (key,)
    part = Dual(x, lanes)[key]
    np.testing.assert_array_equal(part.primal, x[key])
    with_lanes = (*whole, slice(None)) if any(k is ... for k in whole) else whole
    np.testing.assert_array_equal(part.tangent, lanes[with_lanes])


@both
@pytest.mark.parametrize("index", [3, -4, 100, -100, np.int64(3)], ids=name_of)
def test_an_index_out_of_bounds_raises_index_error_that_names_it(kind: Kind, index: Any) -> None:
    with pytest.raises(IndexError, match=rf"index {index} "):
        kind.make([1.0, 2.0, 3.0])[index]


@both
@pytest.mark.parametrize(
    "key", [1.5, "a", (0, 0), [0.5], np.array([0.5]), [True, False]], ids=name_of
)
def test_what_is_no_index_raises(kind: Kind, key: Any) -> None:
    with pytest.raises((IndexError, TypeError)):
        kind.make([1.0, 2.0, 3.0])[key]


@both
def test_a_number_is_no_index(kind: Kind) -> None:
    with pytest.raises((IndexError, TypeError)):
        kind.make([1.0, 2.0])[kind.make(1.0)]


def test_views_of_views_reach_the_leaf() -> None:
    v = Var(np.arange(24.0).reshape(2, 3, 4))
    part = v[1].T[::-1][1:3, ::2]
    expected = np.arange(24.0).reshape(2, 3, 4)[1].T[::-1][1:3, ::2]
    np.testing.assert_array_equal(part.value, expected)
    part[0, 1].backward()
    assert v.grad[v.value == expected[0, 1]] == [1.0]
    assert v.grad.sum() == 1.0


# --- object arrays -----------------------------------------------------------------------------

POINT = np.array([0.7, 1.9, 1.2])

OBJECT_FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "np.sum": (np.sum, np.ones_like),
    "sum": (sum, np.ones_like),
    "method sum": (lambda a: a.sum(), np.ones_like),
    "np.mean": (np.mean, lambda x: np.full_like(x, 1 / 3)),
    "np.prod": (np.prod, lambda x: x.prod() / x),
    "np.dot": (lambda a: np.dot(a, a), lambda x: 2 * x),
    "np.dot with floats": (lambda a: np.dot(a, [1.0, 2.0, 3.0]), lambda x: np.arange(1.0, 4.0)),
    "np.inner": (lambda a: np.inner(np.ones(3), a), np.ones_like),
    "matmul": (lambda a: np.eye(3)[1] @ a, lambda x: np.eye(3)[1]),
    "np.max": (np.max, lambda x: (x == x.max()).astype(float)),
    "np.min": (np.min, lambda x: (x == x.min()).astype(float)),
    "np.var": (np.var, lambda x: 2 * (x - x.mean()) / 3),
    "np.std": (np.std, lambda x: (x - x.mean()) / 3 / x.std()),
    "np.linalg.norm": (np.linalg.norm, lambda x: x / np.sqrt(x @ x)),
    "np.cumsum": (lambda a: np.cumsum(a)[1], lambda x: np.array([1.0, 1.0, 0.0])),
    "np.sort": (lambda a: np.sort(a)[1], lambda x: np.array([0.0, 0.0, 1.0])),
    "np.outer": (lambda a: np.outer(a, a)[0, 1], lambda x: np.array([x[1], x[0], 0.0])),
    "np.diff": (lambda a: np.diff(a)[0], lambda x: np.array([-1.0, 1.0, 0.0])),
    "np.concatenate": (lambda a: np.concatenate([a, a])[3], lambda x: np.array([1.0, 0, 0])),
    "slice": (lambda a: a[::-1][0], lambda x: np.array([0.0, 0.0, 1.0])),
    "reshape": (lambda a: a.reshape(3, 1)[1, 0], lambda x: np.array([0.0, 1.0, 0.0])),
    "arithmetic": (lambda a: np.sum((2 * a - 1) / a**2), lambda x: -2 / x**2 + 2 / x**3),
    "np.sin": (lambda a: np.sum(np.sin(a)), np.cos),
    "np.exp": (lambda a: np.sum(np.exp(a)), np.exp),
    "np.log": (lambda a: np.sum(np.log(a)), lambda x: 1 / x),
    "np.sqrt": (lambda a: np.sum(np.sqrt(a)), lambda x: 0.5 / np.sqrt(x)),
    "np.tanh": (lambda a: np.sum(np.tanh(a)), lambda x: 1 / np.cosh(x) ** 2),
    "np.square": (lambda a: np.sum(np.square(a)), lambda x: 2 * x),
    "np.absolute": (lambda a: np.sum(np.absolute(-a)), np.ones_like),
    "np.power": (lambda a: np.sum(np.power(a, 3)), lambda x: 3 * x**2),
    "np.hypot": (lambda a: np.sum(np.hypot(a, a)), lambda x: np.full_like(x, math.sqrt(2))),
    "np.maximum": (lambda a: np.sum(np.maximum(a, 1.0)), lambda x: (x > 1).astype(float)),
    "cadiff.sin": (lambda a: np.sum(cadiff.sin(a)), np.cos),
    "cadiff.expit": (
        lambda a: np.sum(cadiff.expit(a)),
        lambda x: special.expit(x) * special.expit(-x),
    ),
    "cadiff.where": (
        lambda a: np.sum(cadiff.where(a > 1.0, a * a, a)),
        lambda x: np.where(x > 1, 2 * x, 1.0),
    ),
}


def _gradient_over_objects(
    f: Callable[[Any], Any], make: Callable[[list[Any]], Any], kind: Kind
) -> tuple[float, Array]:
    if kind is VAR:
        leaves = [Var(x) for x in POINT]
        result = f(make(list(leaves)))
        result.backward()
        return result.value, np.array([leaf.grad for leaf in leaves])
    result = f(make([Dual(x, lanes) for x, lanes in zip(POINT, np.eye(3), strict=True)]))
    return result.primal, result.tangent


@both
@pytest.mark.parametrize("make", [np.array, cadiff.array], ids=["np.array", "cadiff.array"])
@pytest.mark.parametrize(("f", "gradient"), OBJECT_FUNCTIONS.values(), ids=OBJECT_FUNCTIONS.keys())
def test_numpy_differentiates_through_arrays_of_numbers(
    kind: Kind,
    make: Callable[[list[Any]], Any],
    f: Callable[[Any], Any],
    gradient: Callable[[Array], Array],
) -> None:
    takes_real = f in (np.var, np.std) and np.lib.NumpyVersion(np.__version__) >= "2.5.0"
    if kind is not VAR and takes_real:
        pytest.skip("from 2.5 on they take .real of each element, the primal of a Dual")
    value, slope = _gradient_over_objects(f, make, kind)
    assert math.isclose(value, float(f(POINT.copy())), rel_tol=1e-14)
    np.testing.assert_allclose(slope, gradient(POINT), rtol=1e-13, atol=1e-15)


@both
def test_an_array_of_numbers_holds_the_numbers_themselves(kind: Kind) -> None:
    x, y = kind.make(1.0), kind.make(2.0)
    a = np.array([x, y])
    assert a.dtype == object
    assert a.shape == (2,)
    assert a[0] is x
    assert np.array([[x, y], [y, x]]).shape == (2, 2)
    assert np.array(x).shape == ()


@both
def test_numpy_works_on_lists_of_numbers(kind: Kind) -> None:
    assert kind.derivative(lambda v: np.mean([v, v + 2]), 3.0) == (4.0, 1.0)
    assert kind.derivative(lambda v: np.sum([v, v * v]), 3.0) == (12.0, 7.0)
    assert kind.derivative(lambda v: np.dot([v, 1.0], [v, 2.0]), 3.0) == (11.0, 6.0)


def test_where_values_and_comparisons_of_object_arrays_are_plain() -> None:
    numbers: list[Any] = [Var(1.0), Dual(2.0, 1.0), 3.0]
    a = cadiff.array(numbers)
    np.testing.assert_array_equal((a > 1.5).astype(bool), [False, True, True])
    assert cadiff.value(a).dtype == np.float64
    np.testing.assert_array_equal(cadiff.value(a), [1.0, 2.0, 3.0])
    assert np.argmax(a) == 2


# --- arrays that can be assigned to ------------------------------------------------------------


def blank(kind: Kind, like: Any, shape: Any) -> Any:
    """An array of zeros for numbers of a kind: Duals made by hand need one of their own."""
    made = cadiff.zeros(shape) if kind is VAR else np.zeros_like(like, shape=shape)
    assert isinstance(made, kind.type)
    return made


def test_an_array_of_zeros_takes_no_dual_made_by_hand() -> None:
    a = cadiff.zeros(3)
    with pytest.raises(TypeError, match="Dual"):
        a[0] = Dual(3.0, 1.0)
    np.testing.assert_array_equal(a.value, np.zeros(3))


def test_an_array_of_zeros_takes_assignments_in_every_mode() -> None:
    def f(x: Any) -> Any:
        a = cadiff.zeros((2, 2))
        a[0] = x
        a[1, 0] = x * x
        return a[0, 1] * a[1, 0]

    assert cadiff.grad(f)(3.0) == 27.0
    assert cadiff.derivative(f, 3.0) == 27.0
    assert cadiff.jvp(f, (3.0,), (1.0,)) == (27.0, 27.0)
    assert cadiff.jacfwd(cadiff.jacrev(f))(3.0) == 18.0
    assert cadiff.jacrev(cadiff.jacfwd(f))(3.0) == 18.0
    assert cadiff.derivative(lambda x: cadiff.derivative(f, x), 3.0) == 18.0


@both
def test_an_array_of_zeros_takes_assignments(kind: Kind) -> None:
    def f(x: Any) -> Any:
        a = blank(kind, x, 4)
        a[0] = x
        a[1:3] = x * x
        a[-1] += 2.0 * x
        a *= 2.0
        return a.sum()

    value, slope = kind.derivative(f, 3.0)
    assert value == 2 * (3.0 + 9.0 + 9.0 + 6.0)
    assert slope == 2 * (1 + 6 + 6 + 2)


@both
def test_a_matrix_takes_assignments(kind: Kind) -> None:
    def f(x: Any) -> Any:
        a = blank(kind, x, (2, 3)) + 1.0
        a[0, 1] = x
        a[1] = [x, 2.0, x * x]
        a[:, 2] -= x
        return np.sum(a @ np.array([1.0, 10.0, 100.0]))

    value, slope = kind.derivative(f, 3.0)
    assert value == (1 + 30 + 100 * (1 - 3)) + (3 + 20 + 100 * (9 - 3))
    assert slope == 10 - 100 + 1 + 100 * (6 - 1)


@pytest.mark.parametrize("make", [cadiff.zeros, cadiff.ones])
@pytest.mark.parametrize("shape", [3, (3,), (2, 2), (0,), ()])
def test_fresh_arrays_have_the_shape_and_the_constant(
    make: Callable[[Any], Any], shape: Any
) -> None:
    a = make(shape)
    expected = getattr(np, make.__name__)(shape)
    assert a.shape == expected.shape
    np.testing.assert_array_equal(cadiff.value(a), expected)


@both
def test_full_holds_one_number_everywhere(kind: Kind) -> None:
    assert kind.derivative(lambda x: np.sum(cadiff.full((2, 3), x)), 1.5) == (9.0, 6.0)
    np.testing.assert_array_equal(cadiff.value(cadiff.full(2, 7)), [7.0, 7.0])


@both
def test_array_copies_what_it_is_made_of(kind: Kind) -> None:
    x = kind.make(3.0)
    source = np.array([x, x])
    a = cadiff.array(source)
    a[0] = 1.0
    assert source[0] is x
    assert cadiff.array([[x, 1], [2, 3.5]]).shape == (2, 2)
    assert cadiff.array(x).shape == ()
    assert cadiff.array(np.arange(6).reshape(2, 3)).shape == (2, 3)
    assert cadiff.array([]).shape == (0,)
    assert cadiff.array(kind.make([1.0, 2.0])).shape == (2,)


@both
def test_constants_in_an_array_have_the_methods_that_numpy_looks_for(kind: Kind) -> None:
    assert kind.derivative(lambda x: np.exp(cadiff.array([x, 1.0]))[0], 0.0) == (1.0, 1.0)
    assert cadiff.value(np.exp(cadiff.array([kind.make(1.0), 0.0]))[1]) == 1.0


@both
def test_stack_and_concatenate_join_numbers_and_arrays(kind: Kind) -> None:
    x = kind.make(3.0)
    np.testing.assert_array_equal(cadiff.value(cadiff.stack([x, 1.0, x])), [3.0, 1.0, 3.0])
    rows = [[x, 1.0], [2.0, x]]
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(
            cadiff.value(cadiff.stack(rows, axis=axis)),
            np.stack([[3.0, 1.0], [2.0, 3.0]], axis=axis),
        )
    np.testing.assert_array_equal(
        cadiff.value(cadiff.concatenate([[x], [1.0, 2.0]])), [3.0, 1.0, 2.0]
    )
    np.testing.assert_array_equal(
        cadiff.value(cadiff.concatenate([cadiff.ones((2, 1)), cadiff.full((2, 2), x)], axis=1)),
        [[1.0, 3.0, 3.0], [1.0, 3.0, 3.0]],
    )
    assert kind.derivative(lambda x: np.sum(cadiff.stack([x, x * x])), 3.0) == (12.0, 7.0)


@pytest.mark.parametrize("items", ["a", [None], 1j, [1.0, "a"], [object()]], ids=name_of)
def test_array_refuses_what_is_no_number(items: Any) -> None:
    with pytest.raises(TypeError, match="real number"):
        cadiff.array(items)


# --- NumPy and SciPy dispatch ------------------------------------------------------------------

DISPATCHED: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "np.sin": (np.sin, math.sin(0.7), math.cos(0.7)),
    "np.exp": (np.exp, math.exp(0.7), math.exp(0.7)),
    "np.add": (lambda x: np.add(1, x), 1.7, 1.0),
    "np.multiply": (lambda x: np.multiply(np.float64(2), x), 1.4, 2.0),
    "np.subtract": (lambda x: np.subtract(x, np.float32(0.5)), 0.7 - 0.5, 1.0),
    "np.true_divide": (lambda x: np.true_divide(1.0, x), 1 / 0.7, -1 / 0.49),
    "np.power": (lambda x: np.power(x, 3), 0.7**3, 3 * 0.49),
    "np.negative": (np.negative, -0.7, -1.0),
    "np.positive": (np.positive, 0.7, 1.0),
    "np.abs": (lambda x: np.abs(-x), 0.7, 1.0),
    "np.sqrt": (np.sqrt, math.sqrt(0.7), 0.5 / math.sqrt(0.7)),
    "np.square": (np.square, 0.7**2, 1.4),
    "np.reciprocal": (np.reciprocal, 1 / 0.7, -1 / 0.49),
    "np.sign": (lambda x: np.sign(x) * x, 0.7, 1.0),
    "np.arctan2": (lambda x: np.arctan2(x, 1.0), math.atan(0.7), 1 / 1.49),
    "np.clip": (lambda x: np.clip(x, 0.0, 1.0), 0.7, 1.0),
    "np.round": (lambda x: np.round(x) * x, 0.7, 1.0),
    "np.degrees": (np.degrees, math.degrees(0.7), math.degrees(1.0)),
    "scipy.special.erf": (special.erf, math.erf(0.7), 2 / math.sqrt(math.pi) * math.exp(-0.49)),
    "scipy.special.expit": (
        special.expit,
        1 / (1 + math.exp(-0.7)),
        math.exp(-0.7) / (1 + math.exp(-0.7)) ** 2,
    ),
    "0-d array": (lambda x: np.array(2.0) * x, 1.4, 2.0),
    "method": (lambda x: x.sin(), math.sin(0.7), math.cos(0.7)),
    "binary method": (lambda x: x.hypot(0.0), 0.7, 1.0),
}


@both
@pytest.mark.parametrize(("f", "value", "slope"), DISPATCHED.values(), ids=DISPATCHED.keys())
def test_functions_of_numpy_and_scipy_take_numbers(
    kind: Kind, f: Callable[[Any], Any], value: float, slope: float
) -> None:
    got = kind.derivative(f, 0.7)
    assert math.isclose(got[0], value, rel_tol=1e-15)
    assert math.isclose(got[1], slope, rel_tol=1e-14)


@both
@pytest.mark.parametrize(
    "f", [np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not], ids=lambda f: f.__name__
)
def test_predicates_of_numpy_answer_plain_bools(kind: Kind, f: Callable[[Any], Any]) -> None:
    for x in (0.0, -1.0, math.nan, math.inf):
        assert f(kind.make(x)) == f(x)
        assert isinstance(f(kind.make(x)), (bool, np.bool_))


@both
@pytest.mark.parametrize("f", [np.gcd, np.nextafter, np.bitwise_or], ids=lambda f: f.__name__)
def test_a_ufunc_without_a_derivative_is_refused_by_name(
    kind: Kind, f: Callable[..., Any]
) -> None:
    with pytest.raises(TypeError, match=f.__name__):
        f(kind.make(2.0), 2)


@both
def test_what_needs_complex_numbers_is_refused(kind: Kind) -> None:
    with pytest.raises(TypeError):
        np.fft.fft(kind.make([1.0, 2.0]))
    with pytest.raises(TypeError):
        kind.make(1.0) * np.array([1j])


@both
def test_a_ufunc_writes_to_an_array_that_can_be_assigned_to(kind: Kind) -> None:
    def f(x: Any) -> Any:
        out = x * np.ones(3)
        made = np.multiply(x, np.array([1.0, 2.0, 3.0]), out=out)
        assert made is out
        np.add(out, x, out=out, where=np.array([True, False, True]))
        return (out * out).sum()

    assert kind.derivative(f, 2.0) == (4.0 * (4 + 4 + 16), 4.0 * (4 + 4 + 16))


@pytest.mark.parametrize(
    "mask",
    [[1, 0, 1], [2.0, 0.0, 0.5], [True, False, True], [0], 0, 1, False, np.True_, np.int64(1)],
    ids=name_of,
)
@both
def test_a_mask_of_a_ufunc_goes_by_its_truth(kind: Kind, mask: Any) -> None:
    def f(x: Any) -> Any:
        out = np.array([1.0, 2.0, 3.0]) * x
        np.add(out, 10.0 * x, out=out, where=mask)
        return (out * np.array([1.0, 100.0, 10_000.0])).sum()

    assert kind.derivative(f, 2.0) == (f(2.0), f(2.0) / 2.0)


@both
@pytest.mark.parametrize("mask", [np.array([1, 0, 1]), np.array([1.0, 0.0, 1.0])])
def test_an_array_of_other_numbers_is_no_mask_of_a_ufunc(kind: Kind, mask: Any) -> None:
    with pytest.raises(TypeError):
        np.add(np.zeros(3), 1.0, out=np.zeros(3), where=mask)
    out = kind.make(2.0) * np.ones(3)
    with pytest.raises(TypeError, match="mask of bool"):
        np.add(out, 1.0, out=out, where=mask)


@both
def test_a_ufunc_does_not_write_to_what_cannot_be_assigned_to(kind: Kind) -> None:
    with pytest.raises(TypeError):
        np.sin(1.0, out=(kind.make(1.0),))
    with pytest.raises(TypeError, match="out="):
        np.sin(kind.make([1.0]), out=np.zeros(1))


def test_a_ufunc_does_not_write_to_a_leaf() -> None:
    with pytest.raises(TypeError, match=r"y = x\.copy\(\)"):
        np.sin(1.0, out=(Var([1.0]),))


@both
def test_arithmetic_of_a_number_and_an_array_is_elementwise(kind: Kind) -> None:
    array = np.array([1.0, 2.0, 4.0])
    x = kind.make(3.0)
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow):
        np.testing.assert_array_equal(cadiff.value(op(x, array)), op(3.0, array))
        np.testing.assert_array_equal(cadiff.value(op(array, x)), op(array, 3.0))
    assert kind.derivative(lambda x: (x * array).sum(), 3.0) == (21.0, 7.0)
    assert kind.derivative(lambda x: (array - x).sum(), 3.0) == (-2.0, -3.0)


# --- Dual: lanes and levels --------------------------------------------------------------------


def test_lanes_run_several_directions_at_once() -> None:
    x, y = Dual(2.0, [1.0, 0.0]), Dual(3.0, [0.0, 1.0])
    z = x * x * y + cadiff.sin(y) / x - 4
    assert z.primal == 4.0 * 3.0 + math.sin(3.0) / 2.0 - 4
    np.testing.assert_allclose(
        z.tangent, [12.0 - math.sin(3.0) / 4.0, 4.0 + math.cos(3.0) / 2.0], rtol=1e-15
    )


@pytest.mark.parametrize("x", [3.0, [3.0], [1.0, 2.0, 3.0], [[1, 2], [3, 4]], np.float32(2)])
def test_seed_is_the_identity(x: Any) -> None:
    d = Dual.seed(x)
    shape = np.shape(x)
    np.testing.assert_array_equal(d.primal, np.asarray(x, float))
    assert d.tangent.shape == (*shape, math.prod(shape))
    np.testing.assert_array_equal(d.tangent.reshape(-1, math.prod(shape)), np.eye(np.size(x)))


def test_one_tangent_stands_for_all_lanes() -> None:
    product = Dual(1.0, [1.0, 2.0]) * Dual(2.0, 1.0)
    np.testing.assert_array_equal(product.tangent, [3.0, 5.0])
    product = Dual(2.0, 1.0) - Dual(1.0, [1.0, 2.0])
    np.testing.assert_array_equal(product.tangent, [0.0, -1.0])


@pytest.mark.parametrize("f", [operator.add, operator.pow, cadiff.arctan2, cadiff.hypot])
def test_lanes_of_two_numbers_do_not_mix(f: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"2 and of 3 tangent lanes"):
        f(Dual(1.0, [1.0, 2.0]), Dual(1.0, [1.0, 2.0, 3.0]))


def test_no_lanes_stay_no_lanes() -> None:
    d = Dual(1.0, np.zeros(0))
    assert d.tangent.shape == (0,)
    for result in (d * 2.0, d * d, cadiff.sin(d), -d, 2.0 / d, d**2):
        assert result.tangent.shape == (0,)


def test_no_lanes_do_not_mix_with_some() -> None:
    output = isolated("""
import numpy as np
from cadiff import Dual
none, some = np.zeros(0), np.arange(50.0)
pairs = [(Dual(1.0, none), Dual(2.0, some)), (Dual(1.0, some), Dual(2.0, none)),
         (Dual(Dual(1.0, 1.0), none), Dual(Dual(2.0, 1.0), some))]
for x, y in pairs:
    try:
        print((x * y).tangent)
    except ValueError:
        print("refused")
""")
    assert output.split() == ["refused"] * 3


@pytest.mark.parametrize(
    ("primal", "tangent"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0], [[1.0, 2.0]]),
        ([[1.0, 2.0]], [1.0, 2.0]),
        (1.0, [[1.0]]),
        ([1.0, 2.0], np.zeros((2, 2, 2))),
    ],
    ids=name_of,
)
def test_a_tangent_of_another_shape_is_refused(primal: Any, tangent: Any) -> None:
    with pytest.raises(ValueError, match=r"tangent"):
        Dual(primal, tangent)


def test_a_dual_of_duals_carries_second_derivatives() -> None:
    x = Dual(Dual(2.0, 1.0), Dual(1.0, 0.0))
    y = x**3 * cadiff.exp(x)
    e = math.exp(2.0)
    assert math.isclose(y.primal.primal, 8 * e)
    assert math.isclose(y.primal.tangent, (12 + 8) * e)
    assert math.isclose(y.tangent.primal, (12 + 8) * e)
    assert math.isclose(y.tangent.tangent, (12 + 24 + 8) * e)


def test_a_dual_of_duals_mixes_with_a_plain_dual() -> None:
    # The plain Dual shares the inner perturbation.
    x, c = Dual(Dual(2.0, 1.0), 1.0), Dual(3.0, 1.0)
    for y in (x * c, c * x):
        assert (y.primal.primal, y.primal.tangent) == (6.0, 5.0)
        assert (y.tangent.primal, y.tangent.tangent) == (3.0, 1.0)


def test_a_dual_over_a_var_is_differentiated_in_reverse() -> None:
    x = Var(2.0)
    y = Dual(x, 1.0) ** 3
    assert isinstance(y.primal, Var)
    assert isinstance(y.tangent, Var)
    assert (y.primal.value, y.tangent.value) == (8.0, 12.0)
    y.tangent.backward()
    assert x.grad == 12.0


def test_a_dual_whose_tangent_is_a_var() -> None:
    t = Var(5.0)
    y = cadiff.sin(Dual(2.0, t)) * 3.0
    assert math.isclose(cadiff.value(y), 3.0 * math.sin(2.0))
    y.tangent.backward()
    assert math.isclose(t.grad, 3.0 * math.cos(2.0))


def test_lanes_may_hold_vars() -> None:
    t = Var(5.0)
    y = Dual(2.0, np.array([t, 1.0], dtype=object)) * 3.0
    assert y.tangent.shape == (2,)
    y.tangent[0].backward()
    assert t.grad == 3.0


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.truediv, operator.pow])
def test_a_var_and_a_dual_make_a_dual_over_a_var(op: Callable[[Any, Any], Any]) -> None:
    x = Var(2.0)
    y = op(x, Dual(3.0, 1.0))
    assert isinstance(y, Dual)
    h = 1e-6

    def tangent(x: float) -> float:
        result: float = op(x, Dual(3.0, 1.0)).tangent
        return result

    assert math.isclose(cadiff.value(y.tangent), tangent(2.0), rel_tol=1e-15)
    (x + y.tangent).backward()  # where the tangent is constant there would be nothing to run
    slope = (tangent(2 + h) - tangent(2 - h)) / (2 * h)
    assert math.isclose(x.grad, 1.0 + slope, abs_tol=1e-8)


def test_deeply_nested_duals_are_freed() -> None:
    output = isolated("""
from cadiff import Dual
d = Dual(1.0, 1.0)
for _ in range(1_000_000):
    d = Dual(d, 1.0)
del d
print("freed")
""")
    assert output == "freed"


def test_a_vector_dual_gives_the_jacobian_of_a_function_in_one_run() -> None:
    x = Dual.seed([2.0, 3.0])
    y = [x[0] * x[1], x[0] ** 2, x.sum()]
    np.testing.assert_array_equal([number.tangent for number in y], [[3, 2], [4, 0], [1, 1]])


# --- one type ----------------------------------------------------------------------------------


@both
def test_arrays_and_scalars_are_of_one_type(kind: Kind) -> None:
    for x in (1.0, [1.0, 2.0]):
        assert isinstance(kind.make(x), kind.type)
        assert type(kind.make(x)).__name__ == kind.type.__name__
        assert type(kind.make(x)).__module__ == "cadiff"


@both
def test_numbers_take_no_attributes_and_no_subclasses(kind: Kind) -> None:
    with pytest.raises(AttributeError):
        kind.make(1.0).extra = 1
    with pytest.raises(TypeError):
        type("Sub", (kind.type,), {})


def _all_methods() -> Iterator[str]:
    for name, arity, _ in cadiff._core.operations():
        if arity <= 2:
            yield name


@both
def test_every_operation_of_one_or_two_numbers_is_a_method(kind: Kind) -> None:
    for name in _all_methods():
        assert callable(getattr(kind.make(1.0), name))
        assert callable(getattr(kind.make([1.0, 2.0]), name))
