"""What takes the time in a program: all that it computes is there, with where it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff.programs.profiles import Profile

from ..helpers.processes import in_whole_tiles

LINE = 20


def waves(x: Any) -> Any:
    return cnp.sum(cnp.exp(x) * x) + cadiff.sin(x[0])  # this is line 20


def numbers_of(profile: Profile) -> dict[str, int]:
    return {cost.operation: cost.numbers for cost in profile.costs}


@in_whole_tiles
def test_all_operations_are_there() -> None:
    profile = cadiff.compile(waves).profile(np.ones(100), what="value")
    found = numbers_of(profile)
    assert found == {"exp": 100, "multiply": 100, "sum": 100, "sin": 1, "add": 1}
    assert profile.what == "value"
    assert profile.seconds > 0.0
    assert all(cost.seconds >= 0.0 for cost in profile.costs)
    seconds = [cost.seconds for cost in profile.costs]
    assert seconds == sorted(seconds, reverse=True)
    assert {cost.lines for cost in profile.costs} == {((__file__, LINE),)}


@pytest.mark.parametrize("what", ["grad", "value_and_grad", "jvp", "vjp", "hvp", "hessian"])
def test_derivatives(what: str) -> None:
    program = cadiff.compile(lambda x: cadiff.sin(x[0]) * x[1])
    found = numbers_of(program.profile(np.array([0.5, 2.0]), what=what))
    assert "cos" in found or "sin and cos" in found
    assert found["multiply"] >= 1


@in_whole_tiles
def test_what_is_slow_is_found() -> None:
    def f(x: Any) -> Any:
        return cnp.sum(cadiff.gammaln(x)) + x[0] + x[1]

    profile = cadiff.compile(f).profile(np.linspace(1.0, 2.0, 3000), what="value")
    assert profile.costs[0].operation == "gammaln"
    assert profile.costs[0].seconds > 0.5 * sum(cost.seconds for cost in profile.costs)


def test_runs_of_single_operations_are_divided() -> None:
    def f(x: Any) -> Any:
        for _ in range(60):
            x = cadiff.gammaln(x + 1.5)
            x = x * x
        return x

    costs = {cost.operation: cost for cost in cadiff.compile(f).profile(1.0, what="value").costs}
    assert {name: cost.numbers for name, cost in costs.items()} == {
        "gammaln": 60,
        "add": 60,
        "square": 60,
    }
    assert costs["gammaln"].seconds > costs["add"].seconds


def test_loops_matrices_indices_and_calls() -> None:
    @cadiff.primitive
    def twice(x: Any) -> Any:
        return 2.0 * x

    twice.defvjp(lambda ans, x: lambda g: 2.0 * g)

    def f(x: Any, table: Any) -> Any:
        y = x
        for _ in range(200):
            y = cadiff.sin(y) * x
        z = table @ y
        w = cnp.zeros(30)
        w[1:] = z[:29]
        return cnp.sum(twice(w[[2, 0, 2]]))

    program = cadiff.compile(f)
    args = np.linspace(0.1, 0.5, 40), np.ones((30, 40))
    found = numbers_of(program.profile(*args, what="value"))
    assert found["sin"] == 8000
    assert found["matmul"] == 1200
    assert found["twice"] == 3
    profiled = program.value_and_grad(*args)[1]
    program.profile(*args)
    np.testing.assert_array_equal(program.value_and_grad(*args)[1], profiled)


def test_branches_are_those_of_the_arguments() -> None:
    program = cadiff.compile(lambda x: cadiff.sin(x) if x > 0.0 else cadiff.exp(x))
    assert set(numbers_of(program.profile(1.0, what="value"))) == {"sin", "less", "guard"}
    assert set(numbers_of(program.profile(-1.0, what="value"))) >= {"exp"}
    assert set(numbers_of(program.profile(2.0, what="value"))) >= {"sin"}


def test_nothing_stays_and_nan_is_no_error() -> None:
    usage = cadiff.binding.tape_usage()
    program = cadiff.compile(lambda x: cadiff.log(x) * 2.0)
    program.profile(-1.0, what="value")
    assert cadiff.binding.tape_usage() == usage
    with cadiff.nan_check(), pytest.raises(cadiff.NonFiniteError):
        cadiff.grad(cadiff.log)(-1.0)


def test_refusals() -> None:
    program = cadiff.compile(lambda x: x * x)
    with pytest.raises(ValueError, match="what is one of"):
        program.profile(1.0, what="time")
    with pytest.raises(ValueError, match="of one number, but f returns 3"):
        program.profile(np.ones(3))
    products = cadiff.compile(lambda x: cnp.cumprod(x * x))
    with pytest.raises(ValueError, match='along 3 directions; profile what="'):
        products.profile(np.ones(3), what="jacobian")
    eager = cadiff.compile(lambda x: x * float(cadiff.value(x)))
    eager.be_quiet()
    with pytest.raises(ValueError, match="run eagerly: "):
        eager.profile(1.0)
