"""Programs in single precision: what stands as floats, and what is computed of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

from ..helpers.threads import in_threads

RNG = np.random.default_rng(26)
FIRST = RNG.bit_generator.state
SINGLE = np.dtype(np.float32)
TOLERANCE = 2e-5  # of sums of at most some hundred products, relative to the largest of them


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(SINGLE)


def check_close(found: Any, wanted: Any, terms: float = 0.0) -> None:
    """Where it is a sum, of terms that may cancel, `terms` is the sum of their absolute values."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    largest = max(np.abs(wanted).max(), terms)
    npt.assert_allclose(found, wanted, rtol=0.0, atol=TOLERANCE * (1e-3 + largest))


def check(f: Callable[..., Any], *args: Any) -> Any:
    """Value and gradients of a compiled function, against those of the same numbers in float64."""
    argnums = tuple(range(len(args)))
    program = cadiff.compile(f)
    doubles = [np.asarray(x, float) for x in args]
    value, gradients = cadiff.value_and_grad(f, argnums)(*doubles)
    for _ in range(3):  # recorded, then by the general and by the fast path
        found, derivatives = program.value_and_grad(*args, argnums=argnums)
        assert found.dtype == program(*args).dtype == SINGLE
        check_close(found, value)
        for got, wanted, x in zip(derivatives, gradients, args, strict=True):
            assert got.dtype == x.dtype
            check_close(got, wanted)
    directions = tuple(draw(*np.shape(x)) for x in args)
    wide = tuple(np.asarray(x, float) for x in directions)
    terms = sum(np.sum(np.abs(g * d)) for g, d in zip(gradients, wide, strict=True))
    check_close(program.jvp(args, directions)[1], cadiff.jvp(f, doubles, wide)[1], terms)
    return program


def network(x: Any, first: Any, second: Any) -> Any:
    hidden = cnp.tanh(x @ first)
    return cnp.sum(cnp.logaddexp(hidden @ second, 0.5)) / len(x)


def columns_and_rows(x: Any, row: Any, column: Any) -> Any:
    hidden = cnp.maximum(x * row + column, 0.1 * x)
    return cnp.sum(cnp.exp(-hidden) - cnp.mean(hidden, axis=1, keepdims=True))


def arguments() -> tuple[Any, ...]:
    """Those of a network."""
    return draw(40, 64), draw(64, 48), draw(48, 10)


SQUARES = ((30, 30), (30, 30)), ((90, 90), (90, 90))
CONSTANT = draw(50, 70)
# A function, and shapes of its arguments.
CHECKED: dict[str, tuple[Callable[..., Any], tuple[tuple[tuple[int, ...], ...], ...]]] = {
    "network": (network, tuple(((n, 64), (64, 48), (48, 10)) for n in (1, 4, 40, 130))),
    "constant data": (lambda a, b: network(CONSTANT, a, b), (((70, 40), (40, 10)),)),
    "product": (lambda a, b: cnp.sum((a @ b) ** 2), SQUARES),
    "transposed": (lambda a, b: cnp.sum(cnp.sin(b.T @ a.T)), SQUARES),
    "parts": (lambda a, b: cnp.sum(cnp.exp(0.1 * (a[::2, 3:] @ b[3:, ::-1]))), SQUARES),
    "with itself": (lambda a, b: cnp.sum((a @ a.T) * (b.T @ b)[0, 0]), SQUARES),
    "chain": (lambda a, b: cnp.sum(((a + 1.0) @ b) @ (b.T @ (a.T * 2.0))), SQUARES),
    "read singly": (lambda a, b: cnp.sum(cnp.max(a @ b, axis=0)) + (a @ b)[1, 2], SQUARES),
    "read by LAPACK": (
        lambda a, b: cnp.sum(
            cnp.linalg.inv(a[:20] @ b[:, :20] + 300.0 * np.eye(20, dtype=SINGLE))
        ),
        SQUARES,
    ),
    "vectors": (lambda a, b: cnp.sum(a @ b[:, 0]) + cnp.sum(a[0] @ b), SQUARES),
    "joined": (lambda a, b: cnp.sum(cnp.concatenate([a @ b, b.T @ a.T])), SQUARES),
    "stacks": (
        lambda a, b: cnp.sum(cnp.tanh(a @ b)),
        (((40, 12, 16), (40, 16, 12)), ((9, 20, 16), (16, 12))),
    ),
    "columns and rows": (
        columns_and_rows,
        (((60, 100), (100,), (60, 1)), ((900, 3), (3,), (900, 1))),
    ),
}


@pytest.mark.parametrize("name", CHECKED)
def test_products_and_rows(name: str) -> None:
    f, cases = CHECKED[name]
    for shapes in cases:
        check(f, *(draw(*shape) for shape in shapes))


@given(
    st.lists(st.integers(1, 40), min_size=3, max_size=6),
    st.lists(st.sampled_from("tnap"), min_size=6, max_size=6),
)
def test_chains_of_any_shapes(sizes: list[int], steps: list[str]) -> None:
    def chain(x: Any, *matrices: Any) -> Any:
        for step, matrix in zip(steps, matrices, strict=False):
            x = x @ matrix
            if step == "t":
                x = cnp.tanh(x)
            elif step == "a":
                x = x + cnp.mean(x, axis=0)
            elif step == "p":
                x = cnp.where(x > 100.0, x, x * 0.5)
        return cnp.sum(x * x)

    RNG.bit_generator.state = FIRST  # else an example that fails would not do so again
    scales = [np.float32(1.0 / np.sqrt(n)) for n in sizes]
    matrices = [scales[k] * draw(sizes[k], sizes[k + 1]) for k in range(len(sizes) - 1)]
    check(chain, draw(17, sizes[0]), *matrices)


def test_results_are_products() -> None:
    def several(a: Any, b: Any) -> Any:
        product = a @ b
        return product, cnp.sum(product), product, product[3:], a

    a, b = draw(60, 50), draw(50, 70)
    program = cadiff.compile(several)
    former = None
    for _ in range(3):
        found = program(a, b)
        for got, wanted in zip(found, several(a, b), strict=True):
            assert got.dtype == SINGLE
            check_close(got, wanted)
        assert former is None or not any(
            np.shares_memory(x, y) for x in found[:4:2] for y in (*former, found[3], a, b)
        )
        former = found


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "in the other order": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "big endian": lambda x: x.astype(">f4"),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layouts_of_arguments(layout: Callable[[Any], Any]) -> None:
    args = arguments()
    program = cadiff.compile(network)
    value, gradients = program.value_and_grad(*args, argnums=(0, 1, 2))
    for k in range(3):
        given_ = [layout(x) if j == k else x for j, x in enumerate(args)]
        found, derivatives = program.value_and_grad(*given_, argnums=(0, 1, 2))
        assert found == value
        for got, wanted in zip(derivatives, gradients, strict=True):
            npt.assert_array_equal(got, wanted)


def test_arguments_stay_as_they_are_and_results_too() -> None:
    args = arguments()
    copies = [x.copy() for x in args]
    program = cadiff.compile(network)
    first = program.grad(*args, argnums=(0, 1, 2))
    kept = [x.copy() for x in first]
    for x in args:
        x *= 0.5
    program.grad(*args, argnums=(0, 1, 2))
    for x, y, copy, gradient in zip(args, first, copies, kept, strict=True):
        npt.assert_array_equal(x, 0.5 * copy)
        npt.assert_array_equal(y, gradient)


def test_float64_is_another_recording() -> None:
    args = arguments()
    program = cadiff.compile(network)
    small = program.grad(*args)
    wide = program.grad(*[x.astype(float) for x in args])
    assert (small.dtype, wide.dtype) == (SINGLE, np.dtype(float))
    mixed = program.grad(args[0], args[1].astype(float), args[2])
    assert mixed.dtype == SINGLE
    for found in (small, mixed):
        check_close(found, wide)


def branching(x: Any, y: Any) -> Any:
    product = x @ y
    if cnp.sum(product) > 0.0:
        return cnp.sum(cnp.sin(product))
    return cnp.sum(product * product)


def test_branches() -> None:
    program = cadiff.compile(branching)
    x, y = np.abs(draw(50, 60)), np.abs(draw(60, 50))
    for sign in (1, -1, -1, 1, -1, 1, 1):
        z = np.float32(sign) * y
        npt.assert_allclose(program(x, z), branching(x, z), rtol=1e-4)
        for got, wanted in zip(
            program.grad(x, z, argnums=(0, 1)),
            cadiff.grad(branching, argnums=(0, 1))(x, z),
            strict=True,
        ):
            check_close(got, wanted)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_infinities_and_what_is_too_large() -> None:
    x, y = draw(20, 20), draw(20, 20)
    x[0, 0] = np.inf
    y[3, 3] = np.nan
    program = cadiff.compile(lambda x, y: x @ y)
    wide = np.isfinite(x.astype(float) @ y.astype(float))
    for _ in range(2):
        npt.assert_array_equal(np.isfinite(program(x, y)), wide)
    huge = np.full((20, 20), 1e30, SINGLE)
    with np.errstate(over="ignore"):
        assert np.all(program(huge, huge) == np.inf)


def test_written_and_read_again() -> None:
    args = arguments()
    program = check(network, *args)
    again = pickle.loads(pickle.dumps(program))
    npt.assert_array_equal(again.grad(*args), program.grad(*args))


def test_text_in_c_is_of_doubles() -> None:
    args = arguments()
    text = cadiff.compile(network).to_c(*args, name="network")
    assert "(float)" in text and "float *" not in text


def test_many_threads() -> None:
    args = arguments()
    program = cadiff.compile(network, threads=2)
    wanted = program.grad(*args)

    def job(k: int) -> bool:
        return all(np.array_equal(program.grad(*args), wanted) for _ in range(20))

    assert all(in_threads(4, job))


def test_arrays_take_less_memory() -> None:
    args = draw(300, 200), draw(200, 250), draw(250, 10)
    sizes = []
    for kind in (np.float32, np.float64):
        program = cadiff.compile(network)
        program.value_and_grad(*[x.astype(kind) for x in args], argnums=(1, 2))
        (trace,) = program.stats()["traces"]
        sizes += [code["nbytes"] for code in trace["programs"].values()]
    assert sizes[0] < 0.8 * sizes[1]


# --- element by element --------------------------------------------------------------------------

LONG = 5000  # more than a block of places

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "chain": lambda x, y: cnp.tanh(x) * cnp.exp(-x * x) + cnp.sin(x * y),
    "quotients": lambda x, y: x / (1.0 + y * y) - cnp.sqrt(cnp.abs(x) + 0.1) * 3.0,
    "choices": lambda x, y: cnp.where(x > y, cnp.maximum(x, 0.3), cnp.minimum(y, x * x)),
    "constants": lambda x, y: 0.1 * x + y * np.float32(0.3) - cnp.log(1.1 + x * x),
    "arcsine": lambda x, y: cnp.arcsin(cnp.tanh(x)) + cnp.arctan2(x, y),
    "special": lambda x, y: cadiff.expit(x) * cadiff.softplus(y) + cadiff.erf(x),
    "powers": lambda x, y: (x * x + 0.5) ** 1.5 + cnp.abs(y) ** 0.3,
    "parts": lambda x, y: x[::2] * y[1::2] + cnp.flip(x)[: len(x) // 2],
    "running sums": lambda x, y: cnp.cumsum(x * 0.01) * y,
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("size", [64, LONG])
def test_elementwise(name: str, size: int) -> None:
    f = ELEMENTWISE[name]
    x, y = draw(size), draw(size)
    check(lambda x, y: cnp.sum(f(x, y)) / size, x, y)
    program = cadiff.compile(f)
    wanted = f(x, y)
    assert program(x, y).dtype == wanted.dtype == SINGLE
    places = 40 if name == "running sums" else 4  # which are rounded where they end
    for found in (program(x, y), program(x, y)):
        npt.assert_allclose(found, wanted, rtol=places * 2.0**-23, atol=places * 2.0**-24)


@pytest.mark.parametrize("size", [64, LONG])
def test_elements_in_both_precisions(size: int) -> None:
    def f(x: Any, y: Any) -> Any:
        return cnp.sum((x * y).astype(np.float64) * 0.1 + x * x)

    x, y = draw(size), draw(size)
    program = cadiff.compile(f)
    assert type(program(x, y)) is float
    check_close(program.grad(x, y), cadiff.grad(f)(x, y))


def test_derivatives_keep_their_digits() -> None:
    x = np.linspace(-0.99999, 0.99999, LONG).astype(SINGLE)
    program = cadiff.compile(lambda x: cnp.sum(cnp.arcsin(x) + cnp.arctanh(x)))
    wide = x.astype(float)
    slopes = 1.0 / np.sqrt((1.0 - wide) * (1.0 + wide)) + 1.0 / ((1.0 - wide) * (1.0 + wide))
    npt.assert_allclose(program.grad(x), slopes, rtol=3e-7)


def test_elements_at_the_edges() -> None:
    x = np.resize(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 1.0], SINGLE), LONG)
    y = np.resize(np.array([0.0, 1.0, np.inf, 2.0, -np.inf, np.nan, 3e38], SINGLE), LONG)
    with np.errstate(all="ignore"):
        for f in (
            lambda x, y: x * y,
            cnp.maximum,
            lambda x, y: cnp.where(x > 0.0, x, y),
            lambda x, y: cnp.exp(x) + y,
        ):
            program = cadiff.compile(f)
            npt.assert_array_equal(program(x, y), f(x, y))
            total = cadiff.compile(lambda x, y, f=f: cnp.sum(f(x, y)))
            for got, wanted in zip(
                total.grad(x, y, argnums=(0, 1)),
                cadiff.grad(lambda x, y, f=f: cnp.sum(f(x, y)), argnums=(0, 1))(x, y),
                strict=True,
            ):
                npt.assert_allclose(got, wanted, rtol=1e-6)


def test_second_derivatives() -> None:
    x = draw(LONG)

    def f(x: Any) -> Any:
        return cnp.sum(cnp.sin(x) * x[::-1] ** 2)

    v = draw(LONG)
    check_close(cadiff.compile(f).hvp(x, v), cadiff.hvp(f)(x.astype(float), v.astype(float)))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 70])
def test_constants_that_are_results(rows: int) -> None:
    def f(w: Any) -> Any:
        v = cnp.array(np.arange(1.0, rows + 1.0, dtype=SINGLE)[:, None])
        return v, w * v

    program, w = cadiff.compile(f), draw(64)
    for found in (program(w), program(w), program.jvp((w,), (w,))[0]):
        for got, wanted in zip(found, f(w), strict=True):
            assert got.dtype == SINGLE
            npt.assert_array_equal(got, cadiff.value(wanted))


COUNTS: dict[str, Callable[..., Any]] = {
    "count": lambda x: x + np.sum(x > 0.1) / 7,
    "share": lambda x: np.mean(x > 0.1) * x,
    "counts of columns": lambda x: np.sum(x.reshape(10, -1) > 0.1, axis=0) / 7 + x[:1],
    "mask": lambda x: (x > 0.1) * x,
    "mask in float64": lambda x: (x > 0.1).astype(float) * x,
    "mask in float32": lambda x: (x > 0.1).astype(np.float32) * x,
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_masks_have_the_dtype_of_numpys(name: str) -> None:
    f, x = COUNTS[name], np.linspace(-1.0, 1.0, 100, dtype=SINGLE)
    program = cadiff.compile(f)
    for found in (program(x), program(x), program.jvp((x,), (x,))[0], cadiff.vjp(f, x)[0]):
        assert found.dtype == f(x).dtype
        npt.assert_array_equal(found, f(x))


def test_constants_leave_a_differentiation_as_plain_ones() -> None:
    def f(w: Any) -> Any:
        return cnp.array([cnp.sum(cnp.ones(3, np.float32)), 1.0]) * w[:2]

    def g(w: Any) -> Any:
        return cnp.sum(cnp.mean(cnp.roll(w, 3)).flatten())

    w = np.arange(1.0, 5.0, dtype=SINGLE)
    for part in (*cadiff.jvp(f, (w,), (w,)), *cadiff.jvp(g, (w,), (w,))):
        assert isinstance(part, (np.ndarray, np.float32))


@pytest.mark.parametrize("size", [64, LONG])
def test_results_that_are_arguments(size: int) -> None:
    program = cadiff.compile(lambda x, y: (x * cnp.ones(1, np.float32), y, -y))
    for _ in range(3):
        x, y = draw(size), draw(size)
        for got, wanted in zip(program(x, y), (x, y, -y), strict=True):
            assert got.dtype == SINGLE
            assert not np.shares_memory(got, wanted)
            npt.assert_array_equal(got, wanted)
