"""Guards: what a recording for replays has to meet again, what makes it impossible, and what it
refuses."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import cadiff
import cadiff.math as cmath
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.binding import Recording

Function = Callable[..., Any]
Guards = list[tuple[int, int, bool, list[bool]]]


class Noted(NamedTuple):
    guards: Guards
    obstacle: str
    out: Any
    found: Guards


def record(f: Function, *args: Any, elsewhere: Any = None) -> Noted:
    """What is noted while f is recorded, and the values of what it returned; then the guards as a
    replay at another point finds them."""
    with Recording(args, tuple(range(len(args)))) as recording:
        lifted = recording.lifted
        found: Guards = []
        binding.guards._start_guards()
        try:
            out = f(*lifted)
            values = binding.plain_values(out)
            del out
            if elsewhere is not None:
                found = binding.recording._guards_elsewhere(recording, elsewhere)
        finally:
            guards, obstacle = binding.guards._end_guards()
        del lifted
        return Noted(guards, obstacle, values, found)


def unguarded(f: Function, *args: Any) -> Any:
    with Recording(args, tuple(range(len(args)))) as recording:
        return binding.plain_values(f(*recording.lifted))


def is_caught(f: Function, at: Any, elsewhere: Any) -> bool:
    """Whether a replay of the recording at one point finds another outcome at the other."""
    guards = record(f, at).guards
    noted = record(f, at, elsewhere=elsewhere)
    assert noted.obstacle == ""
    assert len(guards) == len(noted.found)
    return [outcome for *_, outcome in guards] != [outcome for *_, outcome in noted.found]


COMPARISONS = [getattr(operator, name) for name in ("lt", "le", "eq", "ne", "gt", "ge")]
NUMBERS = [-1.0, 0.0, 2.0, math.inf, math.nan]


# --- comparisons ---------------------------------------------------------------------------------


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("x", NUMBERS)
@pytest.mark.parametrize("y", NUMBERS)
def test_numbers(compare: Function, x: float, y: float) -> None:
    expected = compare(x, y)
    for noted in (
        record(compare, x, y),
        record(lambda v: compare(v, y), x),
        record(lambda v: compare(x, v), y),
        record(lambda v: compare(np.float64(x), v), y),
        record(lambda v: compare(cadiff.Dual(v, 1.0), y), x),
        record(lambda v: compare(x, cadiff.Dual(v, v)), y),
        record(lambda v: compare(cadiff.Dual(v, 1.0), cadiff.Dual(y, 1.0)), x),
    ):
        assert noted.out == expected
        assert noted.obstacle == ""
        ((_, count, _, outcome),) = noted.guards
        assert count == 1
        if compare in (operator.eq, operator.ne, operator.lt, operator.le):
            assert outcome == [expected]


@pytest.mark.parametrize("compare", COMPARISONS)
def test_arrays(compare: Function) -> None:
    x = np.array([[1.0, 2.0, math.nan], [0.0, -1.0, 2.0]])
    others: list[Any] = [2.0, 2, x[0], x[:, :1], x.T.copy().T, x.astype(">f8"), x.tolist()]
    others += [x.astype(np.float32), np.array([1, 2, 3]), np.array([True, False, True])]
    others += [np.array(2.0), x[None]]
    made = [(compare(x, y), record(lambda v, y=y: compare(v, y), x)) for y in others]
    made += [
        (compare(x, y), record(compare, x, y))
        for y in others
        if np.asarray(y).dtype.kind == "f" and not isinstance(y, list)
    ]
    made.append((compare(x[0], x), record(lambda v: compare(x[0], v), x)))
    for expected, noted in made:
        np.testing.assert_array_equal(noted.out, expected)
        assert noted.out.dtype == bool
        assert noted.obstacle == ""
        assert sum(count for _, count, _, _ in noted.guards) >= expected.size


def fails_to_compare(v: Any) -> None:
    with pytest.raises(ValueError):
        _ = v < np.ones(2)


def compares_constants(v: Any) -> Any:
    zeros = cnp.zeros(3)
    numbers = zeros > 1.0, cadiff.Dual(1.0, 2.0) > 0.0, bool(cadiff.Dual(1.0)), np.any(zeros)
    return numbers, zeros.value, zeros[0].value, cadiff.value(zeros)


def of_closed_recording(x: Any) -> Any:
    def inner(y: Any) -> Any:
        assert y > 0.0
        assert cadiff.value(y) == y.value == 2.0
        return y * y * cnp.prod(cnp.array([y, y])) + round(y, 1)

    return x * cadiff.grad(inner)(2.0)


def with_aux(x: Any) -> Any:
    gradient, aux = cadiff.grad(lambda y: (y * y, y + 1.0), has_aux=True)(2.0)
    return x * gradient if aux > 1.0 else aux


def doubled(y: Any, _: Any) -> Any:
    return (y * 2.0 if y < 4.0 else y), y


LARGE = np.linspace(-1.0, 1.0, 40_000)
OBJECTS = np.array([1.0, 2.0], dtype=object)
TEXTS = np.array(["a", "b"], dtype=object)
OUTCOMES: dict[str, tuple[Function, tuple[Any, ...], list[list[bool]]]] = {
    "the other comparison": (lambda v: v > 1.0, (2.0,), [[True]]),
    "the other comparison of nan": (lambda v: v >= 2.0, (math.nan,), [[False]]),
    "by columns, as in memory": (
        lambda v: v.T[::-1] < 2.0,
        (np.arange(4.0).reshape(2, 2),),
        [[True, True, False, False]],
    ),
    "nothing": (lambda v: v < 1.0, (np.empty((0, 3)),), []),
    "an element": (lambda v: v[0] < 1.0, (np.arange(3.0),), [[True]]),
    "objects": (lambda v: v < OBJECTS, (np.array([0.0, 3.0]),), [[True], [False]]),
    "numbers as objects": (
        lambda v, w: np.array([v, w], dtype=object) < 1.0,
        (0.0, 2.0),
        [[True], [False]],
    ),
    "a dual": (
        lambda v: cadiff.Dual(v, np.ones(2)) > 1.0,
        (np.array([0.0, 2.0]),),
        [[False, True]],
    ),
    "many": (lambda v: v > 0.0, (LARGE,), [(LARGE > 0.0).tolist()]),
    "a failure": (fails_to_compare, (np.arange(3.0),), []),
    "a text": (lambda v: v == "text", (1.0,), []),
    "texts": (lambda v: v == TEXTS, (np.arange(2.0),), []),
    "None": (lambda v: v is None or v == None, (1.0,), []),  # noqa: E711
    "constants": (compares_constants, (1.0,), []),
    "a recording that is closed": (of_closed_recording, (3.0,), []),
    "what a closed recording returns besides": (with_aux, (1.0,), []),
    "an outer number within": (
        lambda x: cadiff.grad(lambda y: y * y if x > 0.0 else y)(2.0),
        (1.0,),
        [[True]],
    ),
    "a checkpoint": (
        lambda x: cadiff.checkpoint(lambda y: y * x if y > x else y)(3.0),
        (2.0,),
        [[True]],
    ),
    "a checkpointed scan": (
        lambda x: cadiff.checkpoint_scan(doubled, x, length=5),
        (1.0,),
        [[True], [True], [False], [False], [False]],
    ),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes_that_are_noted(name: str) -> None:
    f, args, expected = OUTCOMES[name]
    noted = record(f, *args)
    assert noted.obstacle == ""
    assert [each for _, _, _, each in noted.guards] == expected
    np.testing.assert_equal(noted.out, unguarded(f, *args))


def test_equality_is_flagged() -> None:
    def f(v: Any) -> Any:
        return v == 1.0, v != 1.0, v < 1.0, v == v, v != math.inf, bool(v)

    flags = [flag for _, _, flag, _ in record(f, 1.0).guards]
    assert flags == [True, True, False, False, False, True]


def test_without_guards_nothing_is_recorded() -> None:
    with Recording((1.0,), (0,)) as recording:
        before = binding.tape_usage()["entries"]
        assert recording.lifted[0] < 2.0
        assert bool(recording.lifted[0])
        assert binding.tape_usage()["entries"] == before


# --- Python's own choices ------------------------------------------------------------------------


def _halved(x: Any) -> Any:
    while x > 1.0:
        x = x / 2.0
    return x


def _cube_or_zero(x: Any) -> Any:
    return x**3 if x > 0.0 else 0.0 * x


def _masked(x: Any) -> Any:
    y = x * 1.0
    y[x > 1.0] = 0.0
    return y


TWO, NAN = np.array([1.0, 2.0]), np.array([math.nan, 1.0])
SQUARE = np.arange(4.0).reshape(2, 2)
CHOICES: dict[str, tuple[Function, Any, Any, Any]] = {
    # a function, a point, one where it chooses the same, one where it chooses otherwise
    "if": (lambda x: x if x > 0 else -x, 1.0, 2.0, -1.0),
    "truth": (lambda x: 1.0 if x else 0.0, 1.0, 2.0, 0.0),
    "not": (lambda x: not x, 1.0, -2.0, 0.0),
    "truth of one element": (lambda x: bool(x), np.array([1.0]), np.array([3.0]), np.array([0.0])),
    "while": (_halved, 5.0, 6.0, 10.0),
    "max": (lambda x: max(x, 1.0), 0.0, -1.0, 2.0),
    "min of elements": (lambda x: min(x), TWO, 2 * TWO, TWO[::-1]),
    "sorted": (sorted, TWO, 2 * TWO, TWO[::-1]),
    "chained": (lambda x: 0.0 < x < 1.0, 0.5, 0.25, 1.5),
    "in": (lambda x: 2.0 in x, TWO, TWO, 2 * TWO + 1),
    "in a list": (lambda x: x in [1.0, 2.0], 2.0, 2.0, 3.0),
    "mask": (lambda x: x[x > 1.5], TWO, 1.2 * TWO, 2 * TWO),
    "assignment by mask": (_masked, TWO, TWO, TWO + 1),
    "all": (lambda x: (x > 0.0).all(), TWO, 2 * TWO, -TWO),
    "dual": (lambda x: cadiff.jvp(lambda y: y if y > 0 else -y, (x,), (1.0,)), 1.0, 2.0, -1.0),
    "dual of dual": (
        lambda x: cadiff.jvp(lambda z: cadiff.jvp(_cube_or_zero, (z,), (z,)), (x,), (x,)),
        1.0,
        2.0,
        -1.0,
    ),
    "gradient": (cadiff.grad(lambda y: y * y if y > 0 else y), 1.0, 2.0, -1.0),
    "gradient by closure": (
        lambda x: cadiff.grad(lambda y: y * y if x > 0 else y)(3.0),
        1.0,
        2.0,
        -1.0,
    ),
    "gradient of maxima": (
        cadiff.grad(lambda y: cnp.sum(cnp.maximum(y, 1.5))),
        TWO,
        1.1 * TWO,
        2 * TWO,
    ),
    "jvp of a clip": (
        lambda x: cadiff.jvp(lambda y: cnp.clip(y, 0.0, 1.5), (x,), (TWO,)),
        TWO,
        1.1 * TWO,
        -TWO,
    ),
    # functions of NumPy
    "less": (lambda x: np.less(x, 1.5), TWO, 1.1 * TWO, 2 * TWO),
    "greater of a list": (lambda x: cnp.greater([x, 1.0], 1.5), 2.0, 3.0, 1.0),
    "array on the left": (lambda x: np.array([1.0, 2.0]) < x, TWO + 1.0, TWO + 2.0, TWO - 1.0),
    "isnan": (np.isnan, TWO, 2 * TWO, NAN[::-1]),
    "isinf": (np.isinf, TWO, 2 * TWO, np.array([1.0, -math.inf])),
    "isfinite": (np.isfinite, TWO, 2 * TWO, NAN[::-1]),
    "isclose": (lambda x: np.isclose(x, 1.0), 1.0, 1.0, 1.1),
    "allclose": (lambda x: np.allclose(x, TWO), TWO, TWO, 2 * TWO),
    "array_equal": (lambda x: np.array_equal(x, TWO), TWO, TWO, TWO[::-1]),
    "any": (np.any, TWO, 2 * TWO, 0 * TWO),
    "all numbers": (np.all, TWO, 2 * TWO, TWO - 1.0),
    "count_nonzero": (cnp.count_nonzero, TWO, 2 * TWO, TWO - 1.0),
    "nonzero": (cnp.nonzero, TWO, 2 * TWO, TWO - 1.0),
    "logical_and": (lambda x: cnp.logical_and(x, True), TWO, 2 * TWO, TWO - 1.0),
    "where": (cnp.where, TWO, 2 * TWO, TWO - 1.0),
    "where of a comparison": (lambda x: cnp.where(x > 1.5, x, 0.0), TWO, 1.1 * TWO, 2 * TWO),
    "argmax": (cnp.argmax, TWO, 2 * TWO, TWO[::-1]),
    "argmin along an axis": (lambda x: x.argmin(axis=1), SQUARE, 2 * SQUARE, -SQUARE),
    "argmax of a tie": (cnp.argmax, TWO, 2 * TWO, np.ones(2)),
    "argmax of nan": (cnp.argmax, TWO, 2 * TWO, NAN),
    "nanargmin": (cnp.nanargmin, TWO, 2 * TWO, NAN),
    "argsort": (cnp.argsort, TWO, 2 * TWO, TWO[::-1]),
    "argsort of a tie": (cnp.argsort, TWO, 2 * TWO, np.ones(2)),
    "sort": (cnp.sort, TWO, 2 * TWO, TWO[::-1]),
    "sort in place": (lambda x: (y := x * 1.0, y.sort()), TWO, 2 * TWO, TWO[::-1]),
    "sort along an axis": (lambda x: cnp.sort(x, axis=0), SQUARE, 2 * SQUARE, -SQUARE),
    "sort of nan": (cnp.sort, NAN, NAN * 2.0, NAN[::-1]),
    "partition": (lambda x: cnp.partition(x, 1), TWO, 2 * TWO, TWO[::-1]),
    "median": (cnp.median, np.arange(3.0), 2 * np.arange(3.0), -np.arange(3.0)),
    "quantile": (lambda x: cnp.quantile(x, 0.3), TWO, 2 * TWO, TWO[::-1]),
    "searchsorted": (lambda x: cnp.searchsorted(TWO, x), 1.5, 1.7, 2.5),
    "searchsorted from the right": (
        lambda x: cnp.searchsorted(TWO, x, side="right"),
        1.0,
        1.5,
        2.0,
    ),
    "searchsorted below": (lambda x: cnp.searchsorted(TWO, x), 0.0, 0.5, 1.5),
    "searchsorted of nan": (lambda x: cnp.searchsorted(TWO, x), 1.5, 1.7, math.nan),
    "digitize": (lambda x: cnp.digitize(x, TWO), TWO + 0.1, TWO + 0.2, TWO - 0.5),
    "nan_to_num": (cnp.nan_to_num, TWO, 2 * TWO, NAN),
    "math.isclose": (lambda x: cmath.isclose(x, 1.0), 1.0, 1.0, 1.1),
    "math.isnan": (cmath.isnan, 1.0, 2.0, math.nan),
    "math.isfinite": (cmath.isfinite, 1.0, 2.0, math.inf),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_caught_and_have_the_same_result(name: str) -> None:
    f, at, same, other = CHOICES[name]
    assert record(f, at).guards
    assert not is_caught(f, at, same)
    assert is_caught(f, at, other)
    assert is_caught(f, other, at)
    for point in (at, same, other):
        np.testing.assert_equal(record(f, point).out, unguarded(f, point))


@cadiff.primitive
def twice(x: Any) -> Any:
    return 2.0 * x


@cadiff.primitive
def step(x: Any) -> Any:
    return x > 0.0


twice.defvjp(lambda ans, x: lambda g: 2.0 * g)
step.defvjp(None)


def smooth(y: Any) -> Any:
    return cadiff.sqrt(cadiff.maximum(y, -1.0) ** 2 + 1.0) * cadiff.expit(y)


RECORDED: dict[str, tuple[Function, Any]] = {
    "abs": (abs, -1.0),
    "round": (round, 1.4),
    "floor": (math.floor, 1.5),
    "divmod": (lambda x: divmod(x, 2.0), 3.0),
    "sign": (np.sign, 1.0),
    "maximum": (lambda x: np.maximum(x, 1.5), TWO),
    "clip": (lambda x: np.clip(x, 0.0, 1.0), TWO),
    "where of a number": (lambda x: cadiff.where(x, 1.0, 2.0), 1.0),
    "types": (lambda x: (cnp.result_type(x), cnp.isreal(x), np.shape(x), np.ndim(x)), TWO),
    "tolist": (lambda x: x.tolist(), TWO),
    "gradient of abs to a power": (lambda x: cadiff.grad(lambda y: abs(y) ** y)(x), 1.5),
    "gradient of a maximum": (
        lambda x: cadiff.grad(lambda y: cadiff.maximum(y, 1.0) * y)(x),
        0.0,
    ),
    "gradient of tanh": (lambda x: cadiff.grad(cadiff.tanh)(x), 0.1),
    "solve": (lambda x: np.linalg.solve(x, TWO), np.eye(2)),
    "solve in the namespace": (lambda x: cnp.linalg.solve(x, TWO), np.eye(2)),
    "prod": (lambda x: cnp.prod(x), TWO),
    "max of a tie": (lambda x: cnp.max(x), np.ones(2)),
    "gradient of a rule": (lambda x: cadiff.grad(lambda y: cnp.prod(y))(x), TWO),
    "jvp of a rule": (lambda x: cadiff.jvp(lambda y: cnp.prod(y), (x,), (TWO,)), TWO),
    "a rule": (twice, 1.0),
    "a rule without derivatives": (step, 1.0),
    "second derivative": (cadiff.grad(cadiff.grad(smooth)), 1.5),
    "second derivative beyond": (cadiff.grad(cadiff.grad(smooth)), -0.5),
    "Hessian": (cadiff.hessian(lambda y: cnp.sum(smooth(y))), TWO),
}


@pytest.mark.parametrize("name", RECORDED)
def test_operations_and_rules_need_no_guard(name: str) -> None:
    f, x = RECORDED[name]
    noted = record(f, x)
    assert noted.guards == [] or name == "Hessian"  # where its maximum chooses
    assert noted.obstacle == ""
    if name.startswith(("second", "Hessian")):
        np.testing.assert_allclose(noted.out, f(x), rtol=1e-14)


# Of partials that have conditions: points on both sides of these, and at their edges.
CONDITIONAL: dict[str, tuple[Function, tuple[float, ...]]] = {
    "tanh": (cadiff.tanh, (0.1, 3.0, -0.8, 400.0)),
    "log": (cadiff.log, (2.0, 0.5, 0.0)),
    "sqrt": (cadiff.sqrt, (2.0, 0.0)),
    "absolute": (cadiff.absolute, (-1.0, 2.0, 0.0)),
    "power": (lambda x: (x + 1.0) ** (x * 2.0), (1.0, -0.5, 0.0, -1.0)),
    "maximum": (lambda x: cadiff.maximum(x, 0.5 * x * x), (1.0, 3.0, 2.0, -1.0)),
    "hypot": (lambda x: cadiff.hypot(x, 2.0 * x), (1.0, -1.0, 0.0)),
    "arctan2": (lambda x: cadiff.arctan2(x, x * x), (1.0, -1.0, 0.0)),
}
WITHIN: dict[str, Callable[[Function], Function]] = {
    "of a number": lambda f: lambda x: cadiff.grad(f)(x),
    "of an element": lambda f: lambda x: cadiff.grad(lambda x: f(x[0]))(cnp.array([x, x]))[0],
    "forward": lambda f: lambda x: cadiff.jvp(f, (x,), (2.0,))[1],
    "second": lambda f: lambda x: cadiff.hessian(f)(x),
}


@pytest.mark.parametrize("within", WITHIN.values(), ids=WITHIN.keys())
@pytest.mark.parametrize("name", CONDITIONAL)
def test_conditions_of_partials_are_chosen_anew(name: str, within: Any) -> None:
    f, points = CONDITIONAL[name]
    derivative = within(f)
    program = cadiff.compile(derivative)
    for point in points:
        np.testing.assert_allclose(program(point), derivative(point), rtol=1e-13)
    assert program.stats()["recordings"] == 1


# --- numbers without derivatives -----------------------------------------------------------------


def test_stop_gradient_is_an_operation() -> None:
    def f(x: Any) -> Any:
        y = cadiff.stop_gradient(x)
        assert not binding.is_constant(y)
        return cadiff.grad(lambda z: z * cadiff.stop_gradient(z * x))(y)

    assert record(f, 3.0).out == 9.0


@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda x: x, 2.0),
        (lambda x: x, TWO),
        (lambda x: [x, {"a": (x,)}], 2.0),
        (lambda x: np.array([x, 1.0], dtype=object), 2.0),
        (lambda x: cadiff.Dual(x, 1.0), 2.0),
        (lambda x: cadiff.Dual(x, x), 2.0),
        (lambda x: cadiff.Dual(x, TWO), TWO),
        (lambda x: [cadiff.Dual(x, x)], TWO),
    ],
)
def test_stopped_numbers_are_still_read(make: Function, x: Any) -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        stopped = cadiff.stop_gradient(make(x))
        found.append(binding.depends(stopped))
        binding.map_numbers(stopped, lambda v: found.append(binding.depends(v)))
        return stopped

    out = record(f, x).out
    assert set(found) == {True}
    expected = cadiff.stop_gradient(make(x))
    np.testing.assert_equal(out, binding.plain_values(expected))


def test_a_stopped_number_has_no_derivative() -> None:
    with Recording((2.0,), (0,)) as recording:
        binding.guards._start_guards()
        try:
            y = recording.lifted[0] * cadiff.stop_gradient(recording.lifted[0])
        finally:
            binding.guards._end_guards()
        assert binding.pull_recording(recording, [y], [1.0]) == [2.0]
        del y


# --- obstacles -----------------------------------------------------------------------------------


def looked_at(x: Any) -> Any:
    with cadiff.nan_check():
        return x * 2.0


def reading(make: Function) -> Function:
    return lambda x: (cadiff.value(make(x)), 0.0)[1]


A_VALUE = "cadiff.value(v) is a value"
OBSTACLES: dict[str, tuple[Function, Any, str]] = {
    "v.value": (lambda x: x.value, 2.0, "v.value is a value"),
    "v.value of an array": (lambda x: x.value, TWO, "v.value is a value"),
    "v.v": (lambda x: x.v, 2.0, "v.v is a value"),
    "v.v of an array": (lambda x: x.v, TWO, "v.v is a value"),
    "cadiff.value": (cadiff.value, 2.0, A_VALUE),
    "cadiff.value of an array": (cadiff.value, TWO, A_VALUE),
    "of a list": (reading(lambda x: [x]), 1.0, A_VALUE),
    "of a dict": (reading(lambda x: {"a": (1.0, x)}), 1.0, A_VALUE),
    "of objects": (reading(lambda x: np.array([x, 1.0], dtype=object)), 1.0, A_VALUE),
    "of a dual": (reading(lambda x: cadiff.Dual(x, 1.0)), 1.0, A_VALUE),
    "within": (lambda x: cadiff.grad(lambda y: y * cadiff.value(x))(2.0), 3.0, A_VALUE),
    "within, of a product": (
        lambda x: cadiff.grad(lambda y: y * cadiff.value(x * y))(2.0),
        3.0,
        A_VALUE,
    ),
    "round within": (lambda x: cadiff.grad(lambda y: y * round(x, 1))(2.0), 3.0, "round"),
    "round to digits": (lambda x: round(x, 2), 1.0, "round(v, digits)"),
    "array2string": (lambda x: cnp.array2string(x), TWO, "numpy.array2string reads values"),
    "isin": (lambda x: cnp.isin(x, TWO), TWO, "numpy.isin reads values"),
    "signbit": (lambda x: cnp.signbit(x), TWO, "numpy.signbit reads values"),
    "frexp": (cmath.frexp, 3.0, "reads values"),
    "fsum": (lambda x: cmath.fsum([x, x]), 3.0, "reads values"),
    "str": (lambda x: [x, str(x)][0], 1.0, "text"),
    "repr": (lambda x: [x, repr(x)][0], 1.0, "text"),
    "format": (lambda x: [x, f"{x:.2f}"][0], 1.0, "text"),
    "complex numbers": (lambda v: v == np.array([1j, 2.0]), np.arange(2.0), "no real number"),
    "nan_check": (looked_at, 1.0, "cadiff.nan_check looks at every number"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_reads_values_is_an_obstacle(name: str) -> None:
    f, x, reason = OBSTACLES[name]
    obstacle = record(f, x).obstacle
    assert reason in obstacle
    if reason.endswith("is a value"):
        assert "cadiff.stop_gradient(v) is the number without its derivative" in obstacle
    assert record(lambda x: (x * 2.0, str(2.0))[0], x).obstacle == ""


def test_nan_check_around_is_an_obstacle() -> None:
    with cadiff.nan_check():
        assert record(lambda x: x * 2.0, 1.0).obstacle == record(looked_at, 1.0).obstacle


REFUSED: dict[str, Function] = {
    "v.grad": lambda x: x.grad,
    "v.gv": lambda x: x.gv,
    "v.backward()": lambda x: x.sum().backward() if x.ndim else x.backward(),
}


@pytest.mark.parametrize("x", [2.0, TWO])
@pytest.mark.parametrize("what", REFUSED)
def test_what_would_count_twice_is_refused(what: str, x: Any) -> None:
    with pytest.raises(TypeError, match="inside a function that is being compiled") as error:
        record(REFUSED[what], x)
    assert what in str(error.value)
    assert "cadiff.grad" in str(error.value)
    assert record(lambda x: x * 2.0, x).obstacle == ""


def test_the_first_obstacle_stays() -> None:
    noted = record(lambda x: (cnp.isin(x, TWO), cnp.signbit(x)), TWO)
    assert noted.obstacle.startswith("numpy.isin reads values, ")
    assert "pass that as an argument" in noted.obstacle


def test_numbers_that_leave_a_closed_recording_are_not_lost() -> None:
    kept: list[Any] = []

    def inner(y: Any, x: Any) -> Any:
        result = y * y
        kept.append(y * x)
        return result

    def f(x: Any) -> Any:
        kept.clear()
        gradient = cadiff.grad(lambda y: inner(y, x))(2.0)
        return gradient if kept[0] > 1.0 else 0.0

    assert is_caught(f, 1.0, -1.0)
    kept.clear()


# --- beginning and end ---------------------------------------------------------------------------


def test_guards_do_not_nest() -> None:
    def f(x: Any) -> Any:
        with pytest.raises(RuntimeError, match="already"):
            binding.guards._start_guards()
        return x

    assert record(f, 1.0).guards == []
    with pytest.raises(RuntimeError, match="no guards"):
        binding.guards._end_guards()
    assert not binding.is_guarding()


def test_memory_may_fail_at_any_request() -> None:
    """Afterwards nothing is guarded, and the next recording is right."""
    x = np.linspace(-1.0, 1.0, 100)

    def f(v: Any) -> Any:
        return [v[v > c] if v[0] < c else v for c in x]

    expected = record(f, x)
    failures = 0
    for successes in range(0, 400, 7):
        binding._core._fail_allocations_after(successes)
        try:
            noted = record(f, x)
        except MemoryError:
            failures += 1
        else:
            assert noted.guards == expected.guards
        finally:
            binding._core._fail_allocations_after(-1)
        assert not binding.is_guarding()
    assert record(f, x).guards == expected.guards
    del expected, failures
