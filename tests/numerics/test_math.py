"""`cadiff.math`: on floats it is `math`, on numbers with derivatives it differentiates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.math as cm
from cadiff import Dual, Var

INF = math.inf
NAN = math.nan

FLOATS = [0.0, -0.0, 0.3, -0.7, 1.0, 2.0, 2.5, -3.0, 30.0, 1e-300, 1e300, INF, -INF, NAN]
UNARY = sorted(cm.NAMES.keys() - cm.BINARY)


def outcome(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """What a call gives, or the error that it raises."""
    try:
        result = f(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return type(result), repr(result)


def test_all_names_of_math_are_there() -> None:
    names = {name for name in dir(math) if not name.startswith("_")}
    assert names == set(cm.__all__)
    for name in names:
        assert hasattr(cm, name)
    assert cm.pi == math.pi
    assert cm.tau == math.tau


@pytest.mark.parametrize("name", UNARY)
def test_floats_get_the_answers_and_errors_of_math(name: str) -> None:
    if not hasattr(math, name):
        pytest.skip(f"this Python has no math.{name}")
    for x in [*FLOATS, 3, True, np.float64(0.4), "x", None, [1.0], 1j]:
        assert outcome(getattr(cm, name), x) == outcome(getattr(math, name), x)
    assert outcome(getattr(cm, name))[0] is TypeError


@pytest.mark.parametrize("name", sorted(cm.BINARY))
def test_pairs_of_floats_get_the_answers_and_errors_of_math(name: str) -> None:
    for x in FLOATS:
        for y in FLOATS:
            assert outcome(getattr(cm, name), x, y) == outcome(getattr(math, name), x, y)


OTHERS: dict[str, list[tuple[Any, ...]]] = {
    "log": [(0.0,), (8.0, 2.0), (8, 2), (10**400,), (8.0, 1.0)],
    "hypot": [(), (3.0,), (1.0, 2.0, 2.0)],
    "dist": [([1.0, 2.0], [4.0, 6.0]), ([1.0], [4.0, 6.0])],
    "fsum": [([0.1] * 10,), ([INF, -INF],)],
    "prod": [([2, 3],), ([],)],
    "ldexp": [(0.7, 3), (0.7, 2000)],
    "gcd": [(12, 18), (1.5,)],
    "comb": [(5, 2)],
    "nextafter": [(1.0, 2.0)],
    "isclose": [(1.0, 1.0 + 1e-12)],
    "frexp": [(0.7,)],
    "modf": [(-2.5,)],
    "factorial": [(-1,)],
    "isqrt": [(17,)],
    "ulp": [(1.0,)],
    "isnan": [(NAN,)],
    "floor": [(2.5,)],
    "trunc": [(-2.5,)],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions_of_floats(name: str) -> None:
    for args in OTHERS[name]:
        assert outcome(getattr(cm, name), *args) == outcome(getattr(math, name), *args)
    assert outcome(cm.prod, [2.0], start=3.0) == outcome(math.prod, [2.0], start=3.0)


DIFFERENTIABLE = [
    *[
        (name, (2.5 if name == "acosh" else 0.6,))
        for name in UNARY
        if name not in {"floor", "ceil", "trunc"} and hasattr(math, name)
    ],
    *[(name, (0.6, -1.3)) for name in ("atan2", "copysign", "pow", "hypot")],
    *[(name, (7.3, 2.2)) for name in ("fmod", "remainder")],
    *[("log", (0.6,)), ("log", (0.6, 3.0)), ("hypot", (0.6,)), ("hypot", (0.6, -1.3, 2.0, 5.0))],
]


@pytest.mark.parametrize(("name", "args"), DIFFERENTIABLE)
def test_derivatives(name: str, args: tuple[float, ...]) -> None:
    ours, original = getattr(cm, name), getattr(math, name)
    assert cadiff.value(ours(*map(Var, args))) == pytest.approx(original(*args), rel=1e-15)
    h = 1e-3
    for i in range(len(args)):

        def moved(t: float, i: int = i) -> Any:
            return original(*args[:i], args[i] + t, *args[i + 1 :])

        quotient = (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)
        assert cadiff.derivative(ours, i, args) == pytest.approx(quotient, rel=1e-8)
        assert cadiff.grad(ours, i)(*args) == pytest.approx(quotient, rel=1e-8)
        second = cadiff.grad(cadiff.grad(ours, i), i)(*args)
        assert cadiff.derivative(ours, i, args, order=2) == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_steps_have_derivative_zero(name: str) -> None:
    step = getattr(cm, name)
    assert step(Var(2.75)).value == getattr(math, name)(2.75)
    assert cadiff.derivative(lambda x: x * step(x), 0, (2.75,)) == step(2.75)


def test_lengths_at_the_origin() -> None:
    assert list(cadiff.gradient(cm.hypot, (0.0, 0.0, 0.0))) == [0.0, 0.0, 0.0]
    assert cadiff.grad(lambda p: cm.dist(p, [1.0, 2.0]))([1.0, 2.0]) == [0.0, 0.0]
    assert cadiff.grad(lambda p: cm.dist(p, [1.0, 2.0]))([4.0, 6.0]) == [0.6, 0.8]
    with pytest.raises(ValueError, match="dimensions"):
        cm.dist([Var(1.0)], [1.0, 2.0])


def test_sums_and_products() -> None:
    numbers = [1e100, 1.0, -1e100, 1e-3]
    assert cm.fsum(map(Var, numbers)).value == math.fsum(numbers)
    assert cadiff.grad(lambda x: cm.fsum(x))(numbers) == [1.0] * 4
    assert cm.fsum([Var(INF), 1.0]).value == INF
    assert cadiff.grad(lambda x: cm.prod(x, start=2.0))([3.0, 0.0, 5.0]) == [0.0, 30.0, 0.0]
    assert cadiff.grad(lambda s: cm.prod([3.0, 5.0], start=s))(2.0) == 15.0


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="new in Python 3.12")
def test_sum_of_products() -> None:
    p, q = [1e100, 1.0, -1e100], [1.0, 0.1, 1.0]
    assert cm.sumprod(p, q) == 0.1
    assert cm.sumprod([Var(x) for x in p], q).value == 0.1
    assert cadiff.grad(lambda p: cm.sumprod(p, q))(p) == q
    with pytest.raises(ValueError, match="length"):
        cm.sumprod([Var(1.0)], [1.0, 2.0])


@pytest.mark.skipif(not hasattr(math, "fma"), reason="new in Python 3.13")
def test_fused_multiply_add() -> None:
    x, y, z = 1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0
    assert cm.fma(x, y, z) == math.fma(x, y, z)
    assert cm.fma(Var(x), y, z).value == math.fma(x, y, z) == -(2.0**-60)
    assert cadiff.gradient(cm.fma, (x, y, z)).tolist() == [y, x, 1.0]


def test_parts_of_a_float() -> None:
    mantissa, exponent = cm.frexp(Var(-5.0))
    assert (mantissa.value, exponent) == math.frexp(-5.0)
    assert cadiff.derivative(lambda x: cm.frexp(x)[0], 0, (-5.0,)) == 0.125
    assert cadiff.derivative(lambda x: cm.ldexp(x, 3), 0, (0.7,)) == 8.0
    assert cm.ldexp(Var(2.0**-1000), 1500).value == 2.0**500
    assert cm.ldexp(Var(2.0**1000), -1500).value == 2.0**-500
    fraction, whole = cm.modf(Var(-2.75))
    assert (fraction.value, whole.value) == math.modf(-2.75)
    assert cadiff.derivative(lambda x: cm.modf(x)[0], 0, (-2.75,)) == 1.0
    assert cadiff.derivative(lambda x: x * cm.modf(x)[1], 0, (-2.75,)) == -2.0
    assert [part.value for part in cm.modf(Var(-INF))] == [-0.0, -INF]


def test_tests_answer_for_the_value() -> None:
    assert cm.isnan(Var(NAN)) is True
    assert cm.isfinite(Dual(1.0, INF)) is True
    assert cm.isinf(Var(-INF)) is True
    assert cm.isclose(Var(1.0), 1.0 + 1e-12) is True
    assert cm.isclose(Var(1.0), 1.1, rel_tol=Var(0.2)) is True


@pytest.mark.parametrize("name", sorted(cm.WITHOUT_DERIVATIVE))
def test_functions_of_whole_numbers_refuse(name: str) -> None:
    args = (Var(3.0), 2) if name in {"comb", "nextafter", "perm", "gcd", "lcm"} else (Var(3.0),)
    with pytest.raises(TypeError, match=f"math.{name}.*cadiff.value"):
        getattr(cm, name)(*args)


def test_a_program_written_for_math() -> None:
    def f(x: Any, y: Any, math: Any) -> Any:
        return math.sin(x) ** math.sqrt(y) + math.log(x * y, 2) / math.hypot(x, y)

    assert f(1.2, 3.0, cm) == f(1.2, 3.0, math)
    slope = (f(1.2 + 1e-6, 3.0, math) - f(1.2 - 1e-6, 3.0, math)) / 2e-6
    assert cadiff.grad(f)(1.2, 3.0, cm) == pytest.approx(slope, rel=1e-8)
