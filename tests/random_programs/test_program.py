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
from cadiff import Program

from ..helpers.processes import HAS_SMALL_BLOCKS
from ..helpers.programs import REFUSED, leaves, near, quiet, same, value_of
from ..helpers.properties import examples
from .test_array_programs import Draft, runs

Array = np.ndarray
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


# --- random programs over single numbers ---------------------------------------------------------

TAME_TERMS = [
    "({a} + {b})",
    "({a} - {b})",
    "({a} * {b} * 0.25)",
    "({a} / (1.5 + {b} * {b}))",
    "np.sin({a})",
    "np.tanh({a} + {b})",
    "np.exp(-{a} * {a})",
    "np.sqrt(1.0 + {a} * {a})",
    "np.maximum({a}, {b})",
    "np.minimum({a}, {c})",
    "np.where({a} < {b}, {a} * 0.5, {b})",
    "max({a}, {b})",
    "min({a}, {b}, {c})",
    "abs({a})",
    "np.arctan2({a}, 2.0 + {b} * {b})",
    "0.5 * {a}",
    "(-{a})",
    "({a} + {c})",
]
WILD_TERMS = [
    "({a} * {b})",
    "({a} / {b})",
    "np.exp({a})",
    "np.log({a})",
    "np.sqrt({a})",
    "({a} ** 2)",
    "({a} ** 3)",
    "({a} ** {b})",
    "({a} ** -1.0)",
    "({a} ** 0.5)",
    "(2.0 ** {a})",
    "({a} * 0.0)",
    "({a} + 0.0)",
    "({a} - {a})",
    "({a} / {a})",
    "(0.0 - {a})",
    "(1.0 * {a})",
    "(0.0 / {a})",
    "({a} % 3.0)",
    "np.sign({a})",
    "np.floor({a})",
    "np.expm1({a})",
    "np.hypot({a}, {b})",
    "np.cosh({a})",
    "({a} * 1e200)",
    "({a} * 1e-200)",
    "np.clip({a}, -1.0, 1.0)",
    "np.logaddexp({a}, {b})",
]


class Script:
    """A program as text: f(x) of a vector of four numbers."""

    def __init__(self, rng: random.Random, wild: bool, start: str = "np.zeros(5)") -> None:
        self.rng = rng
        self.terms = TAME_TERMS + WILD_TERMS if wild else TAME_TERMS
        self.lines = ["v = [x[0], x[1], x[2], x[3], 1.5, x[0] * x[1]]", f"w = {start}"]
        for _ in range(rng.randint(3, 9)):
            self.statement("", 0)
        ends = [
            "return v[0] + v[1] * v[2] - v[5]",
            "return sum(v)",
            "return v[0] * v[3] + sum(w)",
            "return sum(t * t for t in w) + v[2]",
        ]
        self.lines.append(rng.choice(ends))

    def operand(self) -> str:
        chance = self.rng.random()
        if chance < 0.1:
            return repr(self.rng.choice([0.0, -0.0, 1.0, -1.0, 2.0, 0.3, 3.0]))
        if chance < 0.25:
            return f"w[{self.rng.randrange(5)}]"
        return f"v[{self.rng.randrange(6)}]"

    def term(self) -> str:
        operands = {name: self.operand() for name in "abc"}
        if self.rng.random() < 0.3:
            operands["a"] = self.rng.choice(self.terms).format(**operands)
        return self.rng.choice(self.terms).format(**operands)

    def condition(self) -> str:
        compare = self.rng.choice(["<", "<=", ">", ">=", "<", "==", "!="])
        return f"{self.operand()} {compare} {self.rng.choice([self.operand(), '0.4', '0.0'])}"

    def statement(self, indent: str, depth: int) -> None:
        kind = self.rng.choice(
            ["set"] * 5 + ["put", "if", "for", "while", "return", "call", "swap"]
        )
        if depth > 2 or kind == "set":
            self.lines.append(f"{indent}v[{self.rng.randrange(6)}] = {self.term()}")
        elif kind == "put":
            self.lines.append(f"{indent}w[{self.rng.randrange(5)}] = {self.term()}")
        elif kind == "swap":
            self.lines.append(f"{indent}for j in range(4, 0, -1):")
            self.lines.append(f"{indent}  w[j] += w[j - 1] * {self.operand()}")
        elif kind == "return":
            self.lines.append(f"{indent}if {self.condition()}:")
            self.lines.append(f"{indent}  return {self.term()}")
        elif kind == "call":
            name = f"v[{self.rng.randrange(6)}]"
            self.lines.append(
                f"{indent}{name} = again({self.operand()}, {self.rng.randint(0, 4)})"
            )
        else:
            head = {
                "if": f"if {self.condition()}:",
                "for": f"for i in range({self.rng.randint(0, 4)}):",
                "while": f"for i in range(6):\n{indent}  if not ({self.condition()}): break",
            }[kind]
            self.lines.append(indent + head)
            for _ in range(self.rng.randint(1, 3)):
                self.statement(indent + "  ", depth + 1)
            if kind == "if" and self.rng.random() < 0.6:
                self.lines.append(f"{indent}else:")
                self.statement(indent + "  ", depth + 1)

    @property
    def text(self) -> str:
        return "def f(x):\n  " + "\n".join(self.lines).replace("\n", "\n  ") + "\n"

    def function(self) -> Function:
        scope: dict[str, Any] = {"np": cnp, "again": again}
        exec(self.text, scope)
        return scope["f"]  # type: ignore[no-any-return]


def again(a: Any, depth: int) -> Any:
    """Recursion that ends early for small numbers."""
    return a if depth == 0 or abs(a) < 0.1 else again(0.6 * a + 0.05 * cadiff.sin(a), depth - 1)


def wanted_at(compute: Callable[[], Any], program: Program, x: Any) -> Any:
    """What the function gives; None where it fails, such as by a division of plain numbers: the
    program fails too."""
    try:
        return compute()
    except REFUSED as error:
        with pytest.raises(type(error)):
            program(x)
        return None


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.4, math.nan, math.inf, -math.inf, 1e300, -1e300, 1e-300, 5e-324]


def points(rng: random.Random, n: int = 4) -> list[Array]:
    """Points at random, with ties, and with numbers at which formulas end."""
    ordinary = [[rng.uniform(-2, 2) for _ in range(n)] for _ in range(6)]
    tied = [[rng.choice([0.4, 0.0, 1.0, -1.0])] * n, [rng.choice([0.4, -0.4]) for _ in range(n)]]
    special = [[rng.choice([*SPECIAL, rng.uniform(-2, 2)]) for _ in range(n)] for _ in range(6)]
    return [np.array(p) for p in ordinary + tied + special]


@examples(250)
@given(st.integers(0, 10**9), st.booleans(), st.sampled_from(["np.zeros(5)", "[0.0] * 5"]))
def test_unoptimised_programs_of_numbers_are_the_function_bit_for_bit(
    seed: int, wild: bool, start: str
) -> None:
    rng = random.Random(seed)
    script = Script(rng, wild, start)
    f = script.function()
    program = cadiff.compile(f, optimize=False, max_traces=3)
    for x in points(rng):
        what = f"{script.text} at {x.tolist()}"
        wanted = wanted_at(lambda x=x: cadiff.value_and_grad(f)(x), program, x)
        if wanted is not None:
            same(program(x), wanted[0], what)
            if "zeros" not in start:  # all numbers are single ones
                near(program.value_and_grad(x), wanted, what)
            same(program(x), wanted[0], what + ", again")


@examples(250)
@given(st.integers(0, 10**9))
def test_optimised_programs_of_numbers_are_the_function_to_rounding(seed: int) -> None:
    rng = random.Random(seed)
    script = Script(rng, wild=False)
    f = script.function()
    program = cadiff.compile(f, max_traces=3)
    for x in points(rng)[:8]:
        what = f"{script.text} at {x.tolist()}"
        value, gradient = cadiff.value_and_grad(f)(x)
        scale = max(1.0, np.max(np.abs(gradient)) * np.max(np.abs(x)))
        near(program(x), value, what, scale=scale)
        near(program.value_and_grad(x), (value, gradient), what, scale=scale)
        hessian = cadiff.hessian(f)(x)
        scale = max(scale, np.max(np.abs(hessian), initial=0.0))
        near(program.hessian(x), hessian, what, scale=scale)
        v = np.array([0.3, -1.0, 0.0, 2.0])
        near(program.hvp(x, v), hessian @ v, what, scale=4.0 * scale)
        near(program.jacobian(x), gradient, what, scale=scale)


def finite_pattern(tree: Any) -> list[list[str]]:
    """Of each number whether it is finite, an infinity, or nan."""

    def kind(x: float) -> str:
        return "nan" if math.isnan(x) else str(x) if math.isinf(x) else "finite"

    return [[kind(float(x)) for x in np.ravel(leaf)] for _, leaf in leaves(tree)]


@examples(250)
@given(st.integers(0, 10**9))
def test_optimised_programs_have_nan_and_infinities_where_the_function_has(seed: int) -> None:
    rng = random.Random(seed)
    script = Script(rng, wild=True)
    f = script.function()
    program = cadiff.compile(f, max_traces=3)
    for x in points(rng):
        what = f"{script.text} at {x.tolist()}"
        expected = wanted_at(lambda x=x: value_of(f, x), program, x)
        if expected is None:
            continue
        assert finite_pattern(program(x)) == finite_pattern(expected), what
        if np.all(np.abs(x) < 1e100) and not np.any((np.abs(x) < 1e-100) & (x != 0.0)):
            got, wanted = program.grad(x), cadiff.grad(f)(x)
            # Products of the chain rule in another order may overflow, where they come near it.
            if np.all(np.isnan(wanted) | np.isinf(wanted) | (np.abs(wanted) < 1e100)):
                assert finite_pattern(got) == finite_pattern(wanted), what


# --- random programs over arrays -----------------------------------------------------------------

BRANCHES = [
    "a{k} = {a} * 2.0 if np.sum({a}) > 0.3 else {a} - 0.5",
    "a{k} = np.sin({a}) if ({a} > -0.4).all() else {a} * {a}",
    "a{k} = {a} + 1.0 if ({a} > 0.6).any() else 0.3 * {a}",
    "a{k} = max(np.sum({a}), np.sum({a} * {a}), 0.2) * {a}",
    "a{k} = min({a}.ravel()) * {a}",
    "a{k} = {a} * 1.0\nwhile 1.2 < np.sum(a{k} * a{k}) < 1e3: a{k} = a{k} * 0.5",
    "a{k} = np.stack([t if t > 0.1 else -t for t in {a}.ravel()])",
    "a{k} = np.concatenate([{a}.ravel()[::-1], np.where({a} > 0.0, {a}, 0.3).ravel()])",
    "a{k} = {a}.copy()\nfor t in a{k}:\n  if np.sum(t) < 0.0: a{k}[0] = a{k}[0] + 0.25 * t",
]


def drafted(seed: int) -> tuple[Function, Array, str]:
    rng = random.Random(seed)
    draft = Draft(rng, 12)
    for _ in range(rng.randint(2, 8)):
        draft.step()
        if rng.random() < 0.4:
            names = [n for n, v in draft.names.items() if np.ndim(v) and np.size(v)]
            if names:
                k = len(draft.lines)
                draft.add(rng.choice(BRANCHES).format(k=k, a=rng.choice(names)))
    outputs = draft.outputs()
    f = runs(draft.lines, outputs)
    return lambda x: f(x, cnp), draft.x, "\n".join([*draft.lines, str(outputs)])


def elsewhere(x: Array, rng: random.Random) -> list[Any]:
    """A point of a program, and others; floats for 0-d ones."""
    generator = np.random.default_rng(rng.randrange(10**9))
    others = [x, x * 0.9, generator.uniform(-1.5, 1.5, x.shape), -x, x * 0.0]
    others.append(generator.choice([0.4, -0.4], x.shape))
    return [x.copy() if x.ndim else float(x) for x in others]


@examples(300)
@given(st.integers(0, 10**9))
def test_programs_of_arrays_are_the_function(seed: int) -> None:
    f, x, text = drafted(seed)
    rng = random.Random(seed)
    exact = cadiff.compile(f, optimize=False, max_traces=4)
    program = cadiff.compile(f, max_traces=4)
    for at in elsewhere(x, rng):
        what = f"{text}\nat {np.asarray(at).tolist()}"
        wanted = wanted_at(lambda at=at: value_of(f, at), program, at)
        if wanted is None:
            continue
        same(exact(at), wanted, what)
        jacobian = cadiff.jacobian(f)(at)
        scale = max(1.0, float(np.max(np.abs(jacobian), initial=0.0)))
        near(program(at), wanted, what, scale=scale)
        near(program.jacobian(at), jacobian, what, scale=scale)
        near(exact.jacobian(at), jacobian, what, scale=scale)
        u = np.cos(np.arange(wanted.size, dtype=float))
        out, pullback = program.vjp(at)
        near(out, wanted, what, scale=scale)
        near(pullback(u), cadiff.vjp(f, at)[1](u), what, scale=scale * wanted.size)
        v: Any = np.sin(1.0 + np.arange(np.size(at), dtype=float)).reshape(np.shape(at))
        v = v if np.ndim(at) else float(v)
        near(program.jvp((at,), (v,)), cadiff.jvp(f, (at,), (v,)), what, scale=scale * np.size(at))


@examples(150)
@given(st.integers(0, 10**9))
def test_programs_of_arrays_have_the_second_derivatives_of_the_function(seed: int) -> None:
    f, x, text = drafted(seed)

    def number(at: Any) -> Any:
        out = f(at)
        return cnp.sum(cnp.sin(out) * np.cos(np.arange(out.size)))

    program = cadiff.compile(number, max_traces=4)
    for at in elsewhere(x, random.Random(seed))[:4]:
        what = f"{text}\nat {np.asarray(at).tolist()}"
        wanted = wanted_at(lambda at=at: cadiff.value_and_grad(number)(at), program, at)
        if wanted is None:
            continue
        value, gradient = wanted
        hessian = cadiff.hessian(number)(at)
        scale = max(1.0, *(float(np.max(np.abs(d), initial=0.0)) for d in (gradient, hessian)))
        near(program.value_and_grad(at), (value, gradient), what, scale=scale)
        near(program.hessian(at), hessian, what, scale=scale)


@examples(150)
@given(st.integers(0, 10**9))
def test_programs_of_arrays_at_numbers_where_formulas_end(seed: int) -> None:
    f, x, text = drafted(seed)
    rng = random.Random(seed)
    exact = cadiff.compile(f, optimize=False, max_traces=4)
    program = cadiff.compile(f, max_traces=4)
    exact(x if x.ndim else float(x))
    for _ in range(4):
        at: Any = np.array([rng.choice([*SPECIAL, 0.7, -0.3]) for _ in range(x.size)])
        at = at.reshape(x.shape) if x.ndim else float(at[0])
        wanted = wanted_at(lambda at=at: value_of(f, at), program, at)
        if wanted is None:
            continue
        what = f"{text}\nat {np.asarray(at).tolist()}"
        same(exact(at), wanted, what)
        found, expected = finite_pattern(program(at)), finite_pattern(wanted)
        if "dot" in text:  # a sum of products that BLAS does not round by themselves
            found, expected = ([[x == "finite" for x in y] for y in z] for z in (found, expected))
        assert found == expected, what


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
]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("f", FAMILIES, ids=lambda f: f.__name__)
def test_sizes(f: Function, n: int) -> None:
    rng = np.random.default_rng(n)
    exact, program = cadiff.compile(f, optimize=False), cadiff.compile(f)
    u = rng.uniform(-1.0, 1.0, n)
    for x in (rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)):
        wanted = cadiff.value_and_grad(f)(x)
        scale = float(np.sum(np.abs(wanted[1] * x))) + abs(wanted[0])
        if f is stacked:  # which product BLAS takes depends on the layout
            near(exact(x), wanted[0], rtol=1e-14, scale=scale)
        else:
            same(exact(x), wanted[0])
        near(exact.value_and_grad(x), wanted, scale=scale)
        near(program(x), wanted[0], scale=scale)
        near(program.value_and_grad(x), wanted, scale=scale)
        near(program.jvp((x,), (u,)), cadiff.jvp(f, (x,), (u,)), scale=scale * n)
        out, pullback = program.vjp(x)
        near(out, wanted[0], scale=scale)
        near(pullback(-2.0), -2.0 * wanted[1], scale=scale)
        second = cadiff.hvp(f)(x, u)
        near(program.hvp(x, u), second, scale=scale)
        near(exact.hvp(x, u), second, scale=scale)
        if n <= 100:
            near(program.hessian(x), cadiff.hessian(f)(x), scale=scale)


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
    [(1, 64, 1), (1, 63, 2), (4, 4, 4), (4, 4, 5), (8, 1, 8), (2, 65, 3), (20, 30, 10)],
)
def test_products_of_matrices_of_all_layouts(m: int, k: int, n: int) -> None:
    def f(a: Any, b: Any) -> Any:
        c = a @ b
        d = (b.T[::-1] @ a.T).T
        batch = cnp.stack([a, a * 2.0]) @ b
        return (
            cnp.sum(c * d[:, ::-1])
            + cnp.sum(cadiff.sin(batch))
            + cnp.sum(a[0] @ b)
            + cnp.dot(a[:, 0], a[:, -1])
        )

    rng = np.random.default_rng(1)
    exact, program = cadiff.compile(f, optimize=False), cadiff.compile(f)
    for _ in range(2):
        a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
        wanted = cadiff.value_and_grad(f, (0, 1))(a, b)
        same(exact(a, b), wanted[0])
        near(program.value_and_grad(a, b, argnums=(0, 1)), wanted)
        near(exact.value_and_grad(a, b, argnums=(0, 1)), wanted)
        if m * k + k * n < 100:
            near(
                program.hessian(a, b, argnums=(0, 1)),
                cadiff.hessian(f, (0, 1))(a, b),
                scale=float(m * k * n),
            )


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
