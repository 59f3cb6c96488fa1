"""The example that shows the idea on one page computes what the package does, to the last bit.

Both record the same operations in the same order, have the same formulas for partials, and add to
adjoints and tangents in the same order. Two things agree to rounding alone: the value of `x ** 2`,
where the package multiplies and the page asks for pow, and second derivatives, whose terms the
package adds in another order.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import math
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff

from ..helpers.programs import near, quiet, same
from ..helpers.properties import examples

Function = Callable[..., Any]

PATH = Path(__file__).parents[2] / "examples" / "tape_in_a_page.py"
spec = importlib.util.spec_from_file_location("tape_in_a_page", PATH)
assert spec is not None
assert spec.loader is not None
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)


# --- the page itself -----------------------------------------------------------------------------


def test_it_is_one_page_that_stands_alone() -> None:
    text = PATH.read_text()
    assert len(text.splitlines()) <= 200
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.names[0].name if isinstance(node, ast.Import) else str(node.module)
            assert module.split(".")[0] in sys.stdlib_module_names


def test_it_shows_a_tape_as_it_is() -> None:
    recordings: list[Any] = []
    page.value_and_grad(lambda x: x[0] * page.sin(x[1]), [2.0, 0.5], recordings)
    (tape,) = recordings
    rows = zip(tape.ops, tape.operands, tape.values, tape.adjoints, strict=True)
    for i, (op, operands, value, adjoint) in enumerate(rows):
        row = f"    {i:5}  {op:8}  {operands!s:8}  {value:6.4f}  {adjoint:7.4f}\n"
        assert row in str(page.__doc__)


def test_its_demonstration(capsys: pytest.CaptureFixture[str]) -> None:
    page.main()
    assert "200 gradients, 3 recorded" in capsys.readouterr().out


# --- replays and conventions ---------------------------------------------------------------------


def test_a_replay_stops_at_a_guard() -> None:
    f = lambda x: x[0] * x[1] if x[0] > x[1] else -x[0]  # noqa: E731
    tapes: list[Any] = []
    for x, recordings in (([2.0, 1.0], 1), ([5.0, 3.0], 1), ([1.0, 2.0], 2), ([4.0, 1.0], 2)):
        assert page.value_and_grad(f, x, tapes) == cadiff.value_and_grad(f)(x)
        assert len(tapes) == recordings
    assert [tape.replay([0.0, 1.0]) for tape in tapes] == [False, True]


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m.sqrt(x),
        lambda m, x: m.sqrt(x * x),
        lambda m, x: m.sqrt(x) * 0.0,
        lambda m, x: m.log(x),
        lambda m, x: 1.0 / x,
        lambda m, x: abs(x),
        lambda m, x: x**0,
        lambda m, x: x**0.5,
        lambda m, x: x**1,
        lambda m, x: x**2,
        lambda m, x: x**-1,
        lambda m, x: 0.0 ** (x + 2.0),
        lambda m, x: (x - 2.0) ** 3,
        lambda m, x: 1.0 if x == 0 else x**2,
        lambda m, x: 7.0,
    ],
)
def test_derivatives_at_zero(f: Function) -> None:
    wanted = (cadiff.vjp(functools.partial(f, cadiff), 0.0)[0], cadiff.grad(f, 1)(cadiff, 0.0))
    value, gradient = page.value_and_grad(lambda x: f(page, x[0]), [0.0], [])
    same((value, *gradient), wanted)
    out = f(page, page.Dual(0.0, 1.0))
    same((getattr(out, "primal", out), getattr(out, "tangent", 0.0)), wanted)


def test_squares_differ_by_rounding() -> None:
    xs = [math.sin(k) for k in range(1, 100)]
    for x in xs:
        value, (derivative,) = page.value_and_grad(lambda x: x[0] ** 2, [x], [])
        assert abs(value - x * x) <= math.ulp(value)
        assert derivative == 2.0 * x


# --- random programs -----------------------------------------------------------------------------

STEPS: list[Callable[[Any, Any, Any], Any]] = [
    lambda m, x, y: x + y,
    lambda m, x, y: x - y,
    lambda m, x, y: x * y,
    lambda m, x, y: x / y,
    lambda m, x, y: 2.0 + x,
    lambda m, x, y: 1.5 - x,
    lambda m, x, y: 0.7 * x,
    lambda m, x, y: 3.0 / x,
    lambda m, x, y: x / 3.0,
    lambda m, x, y: -x,
    lambda m, x, y: abs(x),
    lambda m, x, y: x**3,
    lambda m, x, y: x**-1.0,
    lambda m, x, y: 1.3**x,
    lambda m, x, y: (abs(x) + 0.5) ** y,  # 0 ** 0 has a convention that the page leaves out
    lambda m, x, y: m.sqrt(abs(x)),
    lambda m, x, y: m.exp(x),
    lambda m, x, y: m.log(abs(x)),
    lambda m, x, y: m.sin(x),
    lambda m, x, y: m.cos(x),
]
CONDITIONS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x < y,
    lambda x, y: x > 0.5,
    lambda x, y: x <= 0.3,
    lambda x, y: x >= y,
    lambda x, y: x == y,
    lambda x, y: x != 1.0,
    lambda x, y: x,
]
Program = Callable[..., Any]


def drafted(rng: random.Random) -> Program:
    """A random program of numbers of the module m. Each instruction makes one more number, or
    chooses between two, and notes which way it went.
    """
    instructions = [
        (
            rng.choice(STEPS),
            rng.choice(CONDITIONS) if rng.random() < 0.3 else None,
            rng.randrange(9),
            rng.randrange(9),
        )
        for _ in range(rng.randint(1, 12))
    ]

    def program(m: Any, x: Sequence[Any], ways: list[bool] | None = None) -> Any:
        numbers, met = list(x), [] if ways is None else ways
        for step, condition, i, j in instructions:
            a, b = numbers[i % len(numbers)], numbers[j % len(numbers)]
            if condition is None:
                numbers.append(step(m, a, b))
            else:
                met.append(bool(condition(a, b)))
                numbers.append(step(m, b, a) if met[-1] else b - 1.0)
        total = numbers[-1]
        for number in numbers:
            total = total + number * 0.25
        return total

    return program


def finite_points(rng: random.Random, program: Program, n: int) -> list[list[float]]:
    """Points at which all numbers are finite; at others the page may raise, as math does."""
    points = []
    for _ in range(n):
        x = [rng.choice([0.0, -0.0, 1.0, -0.5, *[rng.uniform(-2.0, 2.0)] * 6]) for _ in range(3)]
        tapes: list[Any] = []
        try:
            page.value_and_grad(functools.partial(program, page), x, tapes)
        except (ArithmeticError, ValueError):
            continue
        if all(map(math.isfinite, tapes[0].values)):
            points.append(x)
    return points


seeds = st.integers(0, 10**9)


@examples(50)
@given(seeds)
def test_gradients_and_tangents(seed: int) -> None:
    rng = random.Random(seed)
    program = drafted(rng)
    f = functools.partial(program, cadiff)
    g = functools.partial(program, page)
    for x in finite_points(rng, program, 2):
        same(page.value_and_grad(g, x, []), cadiff.value_and_grad(f)(x))
        direction = [rng.uniform(-2.0, 2.0) for _ in x]
        out = g(list(map(page.Dual, x, direction)))
        same((out.primal, out.tangent), cadiff.jvp(f, (x,), (direction,)))


@examples(15)
@given(seeds)
def test_second_derivatives(seed: int) -> None:
    """Dual numbers on the page's tape, against the sweep of second order."""
    rng = random.Random(seed)
    program = drafted(rng)
    for x in finite_points(rng, program, 2):
        direction = [rng.uniform(-2.0, 2.0) for _ in x]
        duals = list(map(page.Dual, x, direction))
        _, adjoints = page.value_and_grad(functools.partial(program, page), duals, [])
        product = [getattr(adjoint, "tangent", 0.0) for adjoint in adjoints]
        wanted = cadiff.hvp(functools.partial(program, cadiff))(x, direction)
        near(product, wanted, rtol=1e-12)


@examples(30)
@given(seeds)
def test_replays(seed: int) -> None:
    """The function is run once for each way through its branches, and otherwise replayed."""
    rng = random.Random(seed)
    program = drafted(rng)
    compiled = cadiff.compile(functools.partial(program, cadiff), optimize=False)
    runs: list[tuple[bool, ...]] = []
    recordings: list[Any] = []
    known: set[tuple[bool, ...]] = set()

    def f(x: Any) -> Any:
        ways: list[bool] = []
        out = program(page, x, ways)
        runs.append(tuple(ways))
        return out

    for x in finite_points(rng, program, 4) * 2:
        ways: list[bool] = []
        program(page, x, ways)
        known.add(tuple(ways))
        with quiet():
            same(page.value_and_grad(f, x, recordings), compiled.value_and_grad(x))
        assert sorted(runs) == sorted(known)
        assert len(recordings) == len(known) == compiled.stats()["recordings"]
