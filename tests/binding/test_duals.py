"""Dual: its lanes and levels, and what it shares with Var as a type."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var

from ..helpers.kinds import Kind, both
from ..helpers.names import name_of
from ..helpers.processes import isolated

# --- Dual: lanes and levels ----------------------------------------------------------------------


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
    with pytest.raises(ValueError):
        cadiff.array([Dual(1.0, [1.0, 2.0]), Dual(1.0, [1.0, 2.0, 3.0])])


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


@pytest.mark.parametrize(
    "around",
    [
        lambda d: Dual(d, 1.0),
        lambda d: Dual(1.0, d),
        lambda d: Dual(1.0, [1.0, d]),
    ],
    ids=["primal", "tangent", "lanes"],
)
def test_duals_nest_to_a_bound_at_which_operations_end(around: Callable[[Any], Any]) -> None:
    d = Dual(1.0, 1.0)
    for _ in range(19):
        d = around(d)
    with pytest.raises(RecursionError, match=r"at most 20 levels deep.*cadiff\.derivative"):
        around(d)
    assert repr(d).count("Dual(") == 20
    assert (d < 2.0) == (cadiff.value(d) < 2.0)
    assert cadiff.value(d + 1.0) == 2.0


BY_HAND: list[tuple[Callable[[Any], Any], Any, Any]] = [  # f, and f and its slope at 2
    (lambda x: Dual(x, x * x), Dual(2.0, 4.0), Dual(1.0, 4.0)),
    (lambda x: Dual(x, [1.0, 2.0]), Dual(2.0, [1.0, 2.0]), Dual(1.0, [0.0, 0.0])),
]


@pytest.mark.parametrize(("f", "value", "slope"), BY_HAND)
def test_a_dual_made_by_hand_is_a_result_along_one_direction(
    f: Callable[[Any], Any], value: Any, slope: Any
) -> None:
    assert repr(cadiff.jvp(f, (2.0,), (1.0,))) == repr((value, slope))
    with pytest.raises(TypeError, match="along several directions"):
        cadiff.jacfwd(lambda x: Dual(x[0], x[1]))(np.ones(2))


def test_lanes_are_not_assigned_to_where_there_are_none() -> None:
    x = Dual([1.0, 2.0]) * 1.0
    with pytest.raises(ValueError, match="several lanes"):
        x[0] = Dual(1.0, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.primal, [1.0, 2.0])


def test_forward_mode_without_end_is_refused() -> None:
    def endless(x: Any) -> Any:
        return cadiff.jvp(endless, (x,), (1.0,))[1]

    with pytest.raises(RecursionError, match="at most 20 levels deep"):
        endless(1.0)
    assert cadiff.jvp(cadiff.sin, (0.0,), (1.0,)) == (0.0, 1.0)


# --- one type ------------------------------------------------------------------------------------


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


@both
def test_every_operation_of_one_or_two_numbers_is_a_method(kind: Kind) -> None:
    for name, arity, _ in cadiff.binding.operations():
        for x in (1.0, [1.0, 2.0]):
            assert arity > 2 or callable(getattr(kind.make(x), name))
