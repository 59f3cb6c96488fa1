"""Which recording serves a call that chooses otherwise than another one.

Random functions, whose loops and branches depend on what they compute, and on masks that are read
long after they were made.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff

from ..helpers.programs import near
from ..helpers.ways import METHODS, Eager

Function = Callable[..., Any]


def drafted(rng: random.Random) -> Function:
    """A function of three numbers; what it computes stays within [-3, 3] or so."""
    lines = ["a, b, c = x[0], x[1], x[2]", "m = x > 0.25", "n = np.sin(3.0 * x) > 0.0"]

    def expression() -> str:
        one, other = rng.choice("abc"), rng.choice("abc")
        return rng.choice(
            [
                f"cadiff.sin({one} + {rng.uniform(0.5, 2.0):.2f} * {other})",
                f"{one} * {other} / (1.0 + {one} * {one})",
                f"0.5 * ({one} - {other})",
                f"cadiff.exp(-{one} * {one}) + {rng.uniform(-1.0, 1.0):.2f}",
            ]
        )

    def condition() -> str:
        return rng.choice(
            [
                f"{rng.choice('abc')} < {rng.uniform(-1.0, 1.0):.2f}",
                f"{rng.choice('abc')} > {rng.choice('abc')} + {rng.uniform(-0.5, 0.5):.2f}",
                "np.any(m)",
                f"n[{rng.randrange(3)}]",
                f"int(np.sum(m)) == {rng.randrange(4)}",
            ]
        )

    def block(depth: int) -> list[str]:
        found = []
        for _ in range(rng.randrange(1, 4)):
            kind = rng.random()
            name = rng.choice("abc")
            if kind < 0.5 or depth == 3:
                found.append(f"{name} = {expression()}")
            elif kind < 0.75:
                found += [f"if {condition()}:", *indented(block(depth + 1))]
                found += ["else:", *indented(block(depth + 1))]
            elif kind < 0.9:
                index = f"i{depth}"
                found += [f"{index} = 0", f"while {index} < 6 and {condition()}:"]
                found += indented([*block(depth + 1), f"{index} += 1"])
            else:
                found.append(f"x = x.copy(); x[{rng.randrange(3)}] = {name}; m = x < {name}")
        return found

    lines += block(0)
    lines.append("return a * b + c + np.sum(np.where(m, x, 0.5 * x * x))")
    text = "\n".join(["def f(x):", *indented(lines)])
    names: dict[str, Any] = {"np": np, "cadiff": cadiff}
    exec(text, names)
    found: Function = names["f"]
    found.__doc__ = text  # for those who look for what went wrong
    return found


def indented(lines: list[str]) -> list[str]:
    return [textwrap.indent(line, "    ") for line in lines]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a branch of")
@pytest.mark.parametrize("most", [3, 100])
@pytest.mark.parametrize("seed", range(40))
def test_calls_are_served_as_f_serves_them(seed: int, most: int) -> None:
    rng = random.Random(seed)
    f = drafted(rng)
    program = cadiff.compile(f, max_traces=most)
    methods = rng.sample(["value", "grad", "value_and_grad", "jacobian", "hessian", "vjp"], 2)
    points = np.random.default_rng(seed).normal(size=(25, 3))
    for x in [*points, *points[::-1]]:
        for method in methods:
            near(METHODS[method](program, x), METHODS[method](Eager(f), x), rtol=1e-9)
    np.testing.assert_allclose(program.batch(points), [f(x) for x in points], rtol=1e-9)
    if most == 100:  # each way through f is recorded once, and served from then on
        before = program.stats()
        for x in points:
            program(x)
        after = program.stats()
        assert (after["recordings"], after["eager"]) == (before["recordings"], before["eager"])


def test_a_loop_of_any_length_is_found_at_once() -> None:
    """However many lengths there are, two runs tell which one serves."""

    def f(x: Any) -> Any:
        turns = 0
        while x < 1000.0 and turns < 64:
            x = x * 1.25
            turns += 1
        return x

    program = cadiff.compile(f, max_traces=64)
    points = 1000.0 * 0.8 ** (np.arange(60) + 0.5)
    for x in points:
        program(x)
    assert program.stats()["recordings"] == 60
    changes = program.stats()["branch_changes"]
    for x in np.random.default_rng(0).permutation(points):
        assert program(x) == f(float(x))
    assert program.stats()["recordings"] == 60
    assert program.stats()["branch_changes"] == changes
    assert program.stats()["eager"] == 0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.max(np.asarray(x)),
        lambda x: np.max([x[0], x[1]]),
        lambda x: x[0] * np.argmin([x[0], x[1], x[2]]),
        lambda x: 1.0 * np.argmin(np.asarray(x)),
    ],
)
@pytest.mark.filterwarnings("ignore::cadiff.StaleProgramWarning")
def test_numpy_compares_nan_in_its_own_way(f: Any) -> None:
    program = cadiff.compile(f)
    for x in ([1.0, 2.0, 3.0], [2.0, 3.0, 5.0], [1.0, np.nan, 3.0], [2.0, 4.0, 5.0]):
        np.testing.assert_equal(float(program(np.array(x))), float(f(np.array(x))))
