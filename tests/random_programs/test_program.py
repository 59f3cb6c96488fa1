"""What programs compute: replays against the function itself, run on numbers with derivatives.

A program is recorded at one point and replayed at others. It may take another way through f there;
then its recording has to be refused. Without optimisation each number is the same to the last bit,
with it to rounding, nan and infinities in the same places.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import Program, binding

from ..helpers.drafts import SPECIAL, Script, drafted, elsewhere, points
from ..helpers.processes import HAS_SMALL_BLOCKS
from ..helpers.programs import REFUSED, leaves, near, quiet, same, summed, value_of
from ..helpers.properties import examples
from ..helpers.ways import check_replays

Function = Callable[..., Any]
SEEDS = st.integers(0, 10**9)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = binding.enter_after(0)  # functions that are entries have other last bits
    with quiet():
        yield
    binding.enter_after(before)


def programs_of(f: Function, **options: Any) -> tuple[Program, Program]:
    return cadiff.compile(f, optimize=False, **options), cadiff.compile(f, **options)


# --- random programs -----------------------------------------------------------------------------


@examples(150)
@given(SEEDS, st.booleans(), st.sampled_from(["np.zeros(5)", "[0.0] * 5"]))
def test_programs_of_numbers(seed: int, wild: bool, start: str) -> None:
    rng = random.Random(seed)
    script = Script(rng, wild, start)
    f = script.function()
    program = cadiff.compile(f, optimize=False, max_traces=3)
    for x in points(rng):
        check_replays(f, program, x, script.text)


@examples(250)
@given(SEEDS)
def test_optimised_programs_of_numbers(seed: int) -> None:
    rng = random.Random(seed)
    script = Script(rng, wild=False)
    f = script.function()
    program = cadiff.compile(f, max_traces=3)
    for x in points(rng)[:8]:
        check_replays(f, program, x, script.text, is_exact=False)


@examples(150)
@given(SEEDS)
def test_programs_of_arrays(seed: int) -> None:
    f, x, text = drafted(seed)
    exact, program = programs_of(f, max_traces=4)
    for at in elsewhere(x, random.Random(seed)):
        check_replays(f, exact, at, text, is_number=False)
        check_replays(f, program, at, text, is_number=False, is_exact=False)


@examples(80)
@given(SEEDS)
def test_numbers_that_programs_of_arrays_return(seed: int) -> None:
    f, x, text = drafted(seed)
    number = summed(f)
    exact, program = programs_of(number, max_traces=4)
    for k, at in enumerate(elsewhere(x, random.Random(seed))):
        check_replays(number, exact, at, text)
        if k < 4:
            check_replays(number, program, at, text, is_exact=False)


# --- numbers where formulas end ------------------------------------------------------------------


def pattern(tree: Any) -> list[list[str]]:
    """Of each number whether it is finite, an infinity, or nan."""

    def kind(x: float) -> str:
        return "nan" if math.isnan(x) else str(x) if math.isinf(x) else "finite"

    return [[kind(float(x)) for x in np.ravel(leaf)] for _, leaf in leaves(tree)]


def wanted_at(compute: Callable[[], Any], program: Program, x: Any) -> Any:
    """What the function gives; None where it fails, such as by a division of plain numbers: the
    program fails too."""
    try:
        return compute()
    except REFUSED as error:
        with pytest.raises(type(error)):
            program(x)
        return None


@examples(250)
@given(SEEDS)
def test_nan_and_infinities_are_where_the_function_has_them(seed: int) -> None:
    rng = random.Random(seed)
    script = Script(rng, wild=True)
    f = script.function()
    program = cadiff.compile(f, max_traces=3)
    for x in points(rng):
        what = f"{script.text} at {x.tolist()}"
        expected = wanted_at(lambda x=x: value_of(f, x), program, x)
        if expected is None:
            continue
        assert pattern(program(x)) == pattern(expected), what
        if np.all(np.abs(x) < 1e100) and not np.any((np.abs(x) < 1e-100) & (x != 0.0)):
            got, wanted = program.grad(x), cadiff.grad(f)(x)
            # Products of the chain rule in another order may overflow, where they come near it.
            if np.all(np.isnan(wanted) | np.isinf(wanted) | (np.abs(wanted) < 1e100)):
                assert pattern(got) == pattern(wanted), what


@examples(150)
@given(SEEDS)
def test_programs_of_arrays_at_numbers_where_formulas_end(seed: int) -> None:
    f, x, text = drafted(seed)
    rng = random.Random(seed)
    exact, program = programs_of(f, max_traces=4)
    exact(x if x.ndim else float(x))
    for _ in range(4):
        at: Any = np.array([rng.choice([*SPECIAL, 0.7, -0.3]) for _ in range(x.size)])
        at = at.reshape(x.shape) if x.ndim else float(at[0])
        check_replays(f, exact, at, text, is_number=False)
        wanted = wanted_at(lambda at=at: value_of(f, at), program, at)
        if wanted is None:
            continue
        found, expected = pattern(program(at)), pattern(wanted)
        if "dot" in text:  # a sum of products that BLAS does not round by themselves
            found, expected = ([[x == "finite" for x in y] for y in z] for z in (found, expected))
        assert found == expected, (text, at)


# --- sizes ---------------------------------------------------------------------------------------

SIZES = [1, 2, 23, 24, 25, 40, 100] if HAS_SMALL_BLOCKS else [1, 2, 24, 25, 100, 1000, 3000, 5000]


def rosenbrock(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) - 1):
        total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total + x[0]


def rosenbrock_of_arrays(x: Any) -> Any:
    return cnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2) + x[0]


def assigned(x: Any) -> Any:
    y = cnp.zeros(len(x))
    for i in range(len(x)):
        y[i] = cadiff.sin(x[i]) * x[-1 - i]
    y[1:] = y[1:] * y[:-1]
    return cnp.sum(y * x[::-1])


def powers(x: Any) -> Any:
    return sum(t**2.0 + cadiff.exp(-t) + t**3 for t in x)


def chain(x: Any) -> Any:
    y: Any = 0.1
    for t in x:
        y = cadiff.tanh(0.9 * y + t)
    return y


def sums_of_many(x: Any) -> Any:
    return sum(x) * cnp.sum(x) + sum(a * b for a, b in zip(x, x[::-1], strict=True))


def gathered(x: Any) -> Any:
    order = np.arange(len(x)) * 7 % len(x)
    y = x[order] * x[::-1] + x[np.zeros(len(x), dtype=int)]
    y[order[: len(x) // 2]] = 0.5
    return cnp.sum(y[::-2] ** 2) + cnp.dot(y, x)


def outer(x: Any) -> Any:
    a = x[: min(len(x), 60)]
    m = a[:, None] * a[None, :] + a
    return cnp.sum(cadiff.sin(m) * m.T) + cnp.sum(m.sum(axis=0) ** 2) + cnp.sum(m.mean(axis=1))


def products(x: Any) -> Any:
    n = math.isqrt(len(x))
    a = x[: n * n].reshape(n, n)
    b = cadiff.tanh(a @ a.T) @ x[:n]
    return cnp.dot(b, b) + cnp.sum((a.T @ a)[::-1]) + x[-1]


def stacked(x: Any) -> Any:
    y = cnp.concatenate([x, x[::-1] * 2.0, cnp.stack([x[0], x[-1]])])
    z = cnp.stack([y[: len(x)], x, cnp.cos(x)], axis=1)
    return cnp.sum(z[:, ::-1].ravel() ** 2) + cnp.sum(z[::-1].T @ x)


def constants(x: Any) -> Any:
    t = np.linspace(0.0, 1.0, len(x))
    return cnp.sum((cadiff.exp(x[0] * t) - x[-1] * t - x) ** 2) + sum(
        float(c) * v for c, v in zip(t, x, strict=True)
    )


def chosen(x: Any) -> Any:
    y = cnp.where(x > 0.1, x * x, cadiff.sin(x))
    z = cnp.maximum(y, 0.05) + abs(x) + cnp.clip(x, -0.5, 0.5)
    return cnp.sum(z) + max(x[0], x[-1]) + cnp.max(y)


def cumulative(x: Any) -> Any:
    y = cnp.cumsum(x) / len(x)
    return cnp.sum(cadiff.sin(y)) + cnp.sum(cnp.diff(x) ** 2) + cnp.prod(1.0 + 0.01 * x[:20])


def in_place(x: Any) -> Any:
    """From 512 elements on arrays are blocks, from 32,768 on they are read where they are."""
    n = len(x)
    y = cnp.sin(x) * x
    z = y[::-1] * x + y
    z[: n // 2] = z[n - n // 2 :] * 0.5
    return cnp.sum(z[np.arange(0, n, 3)]) * y[0] + cnp.sum(cnp.concatenate([z, x])) * x[n // 2]


FAMILIES = [
    rosenbrock,
    rosenbrock_of_arrays,
    assigned,
    powers,
    chain,
    sums_of_many,
    gathered,
    outer,
    products,
    stacked,
    constants,
    chosen,
    cumulative,
    in_place,
]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("f", FAMILIES, ids=lambda f: f.__name__)
def test_sizes(f: Function, n: int) -> None:
    rng = np.random.default_rng(n)
    exact, program = programs_of(f)
    for x in (rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)):
        # Which product BLAS takes depends on the layout, which is another one in `stacked`.
        check_replays(f, exact, x, is_exact=f is not stacked, has_hessian=n <= 100)
        check_replays(f, program, x, is_exact=False, has_hessian=n <= 100)


def test_arrays_that_are_read_where_they_are() -> None:
    exact, program = programs_of(in_place)
    for seed in range(2):
        x = np.random.default_rng(seed).normal(size=40_000)
        check_replays(in_place, exact, x, has_hessian=False)
        check_replays(in_place, program, x, is_exact=False, has_hessian=False)


def layers(x: Any, weights: Any) -> Any:
    """Vectors through elementwise operations and matrices: all results, not one number."""
    y = cadiff.tanh(weights["w"] @ x + weights["b"])
    return {"y": y, "norm": cnp.sqrt(cnp.sum(y * y)), "pair": (y[::-1] * 2.0, cnp.outer(y, x))}


@pytest.mark.parametrize(
    ("m", "n"), [(1, 1), (3, 8), (4, 6), (5, 5), (8, 8), (7, 9), (63, 65), (65, 64)]
)
def test_sizes_of_matrices(m: int, n: int) -> None:
    rng = np.random.default_rng(m + n)
    program = cadiff.compile(layers)
    for _ in range(3):
        x, weights = rng.normal(size=n), {"w": rng.normal(size=(m, n)), "b": rng.normal(size=m)}
        near(program(x, weights), value_of(layers, x, weights))
        near(program.jacobian(x, weights), cadiff.jacobian(layers)(x, weights))
        out, pullback = program.vjp(x, weights)
        expected, other = cadiff.vjp(layers, x, weights)
        near(out, expected)
        near(pullback(out), other(expected), scale=float(m * n))


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 64, 1), (1, 63, 2), (4, 4, 4), (4, 4, 5), (8, 1, 8), (2, 65, 3), (40, 30, 50)],
)
def test_products_of_matrices_of_all_layouts(m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(1)
    b = rng.normal(size=(k, n))

    def f(a: Any) -> Any:
        c = a @ b
        d = (b.T[::-1] @ a.T).T
        batch = cnp.stack([a, a * 2.0]) @ b
        return (
            cnp.sum(c * d[:, ::-1])
            + cnp.sum(cadiff.sin(batch))
            + cnp.sum(cnp.tanh(c) @ (b.T @ a.T))
            + cnp.sum(a.T @ a)
            + cnp.sum(a[0] @ b)
            + cnp.dot(a[:, 0], a[:, -1])
        )

    exact, program = programs_of(f)
    for a in (rng.normal(size=(m, k)), np.asfortranarray(rng.normal(size=(m, k)))):
        check_replays(f, exact, a, has_hessian=m * k < 100)
        check_replays(f, program, a, is_exact=False, has_hessian=m * k < 100)


@pytest.mark.parametrize("n", [1, 2, 24, 1000, 2047, 2048, 2049, 5000])
def test_elementwise_functions_over_many_numbers(n: int) -> None:
    """Long expressions, of which no number is used twice, and some that are."""

    def f(x: Any, y: Any) -> Any:
        a = cadiff.exp(-x * x) * cadiff.sin(y) / (1.0 + x * x)
        b = cadiff.log1p(a * a) - cadiff.sqrt(2.0 + cadiff.cos(x + a)) ** 1.5
        return a * b + cadiff.arctan2(a, 1.0 + b * b), b[::-1] * x

    rng = np.random.default_rng(n)
    exact, program = cadiff.compile(f, optimize=False), cadiff.compile(f)
    for _ in range(2):
        x, y = rng.normal(size=n), rng.normal(size=n)
        wanted, pullback = cadiff.vjp(f, x, y)
        same(exact(x, y), wanted)
        near(program(x, y), wanted)
        near(program.vjp(x, y)[1](wanted), pullback(wanted))
        near(exact.vjp(x, y)[1](wanted), pullback(wanted))
        near(program.jvp((x, y), (y, x)), cadiff.jvp(f, (x, y), (y, x)))


# --- every operation of the table ----------------------------------------------------------------


@pytest.mark.parametrize("name", cadiff.operations.table.__all__)
@pytest.mark.parametrize("n", [1, 30] if HAS_SMALL_BLOCKS else [1, 30, 1100])  # more than a tile
def test_each_operation(name: str, n: int) -> None:
    function = getattr(cadiff, name)
    rng = np.random.default_rng(0)
    columns = [rng.uniform(0.05, 0.95, n) for _ in range(4)]
    columns[0][: min(n, len(SPECIAL))] = SPECIAL[:n]
    for arity in (1, 2, 3, 4):
        try:
            wanted, pullback = cadiff.vjp(function, *columns[:arity])
            break
        except TypeError:
            continue
    else:
        pytest.skip("it wants other arguments than arrays of numbers")
    others = [column[::-1].copy() for column in columns[:arity]]

    def by_numbers(*args: Any) -> Any:
        return [function(*numbers) for numbers in zip(*args, strict=True)]

    for f in (function, by_numbers) if n <= 30 else (function,):  # loops are told by few
        exact, program = cadiff.compile(f, optimize=False), cadiff.compile(f)
        for recorded in (exact, program):
            recorded(*others)
            recorded.vjp(*others)
        wanted, pullback = cadiff.vjp(f, *columns[:arity])
        same(exact(*columns[:arity]), wanted, name)
        near(program(*columns[:arity]), wanted, name)
        u = np.ones(n)
        for recorded in (exact, program):
            near(recorded.vjp(*columns[:arity])[1](u), pullback(u), name)
    if n == 30:  # second derivatives

        def total(x: Any) -> Any:
            return cnp.sum(function(*x))

        def each(x: Any) -> Any:
            return sum(function(*column) for column in x.T)

        for f in (total, each):
            exact = cadiff.compile(f, optimize=False)
            for rows in (others, columns, columns[:1] * arity):  # the last ones are ties
                check_replays(f, exact, np.stack(rows[:arity]), name)
