"""Long vectors as machine code: loops that do the work of several instructions.

Whatever is put together, numbers are those of the interpreter, to the last bit.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.programs.helpers_in_c import HELPERS
from cadiff.programs.machine_code import Written, written_for_point
from cadiff.programs.native import LEAST_LOOP

from ..helpers.processes import HAS_SMALL_BLOCKS, IS_SANITIZED, in_whole_tiles
from ..helpers.properties import examples

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or IS_SANITIZED or os.name == "nt",
    reason="there is no compiler of C, or its programs are not watched",
)


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CADIFF_CACHE", str(tmp_path_factory.mktemp("native")))
        patch.setenv("CADIFF_NATIVE", "asked")
        yield


def flat(found: Any) -> np.ndarray:
    parts = found if isinstance(found, (list, tuple)) else [found]
    return np.concatenate([np.ravel(np.asarray(part, float)) for part in parts])


def check(f: Callable[..., Any], x: np.ndarray, method: str = "value_and_grad") -> None:
    """Whether machine code gives what the interpreter gives: all bits, but those of nan.

    Both run the recording that `native=True` makes, whose loops add turn by turn. Without loops
    parts of a large array have a sum each.
    """
    args = (x, x) if method == "hvp" else (x,)
    program = cadiff.compile(f, native=False)
    program._traces.machines.least_loop = LEAST_LOOP
    with np.errstate(all="ignore"):
        expected = flat(getattr(program, method)(*args))
        found = flat(getattr(cadiff.build(program), method)(*args))
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    bits = [numbers[~is_nan].view(np.int64) for numbers in (found, expected)]
    np.testing.assert_array_equal(*bits)


def code_of(f: Callable[..., Any], x: np.ndarray) -> Written:
    """The C of value and gradient."""
    program = cadiff.compile(f, native=False)
    program.value_and_grad(x)
    [recorded] = program._traces
    [*_, code] = recorded.all_codes
    return written_for_point(code.parts())


# --- programs of arrays --------------------------------------------------------------------------

SHAPES = [
    *((33,), (100,), (1100,), (20, 20), (20, 20, 3), (3, 40), (40, 3), (7, 9, 2), (64, 2)),
    *((5, 6, 7), (4, 4, 40), (10_000,), (60_000,), (300, 200), (3, 30_000)),
]
STEPS: list[Callable[[Any, Any, int], Any]] = [
    lambda a, b, axis: a + b,
    lambda a, b, axis: a * b,
    lambda a, b, axis: a - 0.5 * b,
    lambda a, b, axis: a / (2.0 + b * b),
    lambda a, b, axis: cnp.sqrt(a * a + 1.0),
    lambda a, b, axis: a[::-1] * b,
    lambda a, b, axis: b * cnp.sum(a, axis=axis, keepdims=True),
    lambda a, b, axis: cnp.reshape(cnp.ravel(a)[::-1], a.shape),
    lambda a, b, axis: cnp.reshape(cnp.transpose(a), a.shape) + b,
    lambda a, b, axis: cnp.concatenate([a[1:], b[:1]]) + b,
    lambda a, b, axis: cnp.where(a > 0.3, a, b * 2.0),
    lambda a, b, axis: a * cnp.sum(b) * 1e-3,
    lambda a, b, axis: cnp.abs(a) - b**2,
    lambda a, b, axis: cnp.exp(-a * a) * b,
    lambda a, b, axis: a * b[..., :1],
    lambda a, b, axis: a * cnp.linspace(0.0, 1.0, a.shape[-1]),
    lambda a, b, axis: cnp.cumsum(a, axis=axis) * 1e-2 + b,
    lambda a, b, axis: cnp.concatenate([a[1:] - a[:-1], b[:1]]),
    lambda a, b, axis: cnp.concatenate([a[:1] * 0.5, a[1:] * b[:-1]]),
    lambda a, b, axis: cnp.concatenate([b[:1], a[2:] - 2.0 * a[1:-1] + a[:-2], b[-1:]]),
    lambda a, b, axis: cnp.maximum(a, b),
]


def program_of(seed: int, shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """A program of some steps, each of two of the last arrays."""

    def f(x: Any) -> Any:
        chance = random.Random(seed)
        arrays = [x.reshape(shape), 0.5 * x.reshape(shape) + 1.0]
        for _ in range(chance.randint(3, 20)):
            a, b = chance.choice(arrays[-6:]), chance.choice(arrays[-6:])
            arrays.append(chance.choice(STEPS)(a, b, chance.randrange(len(shape))))
        return cnp.sum(arrays[-1] * arrays[-2]) + cnp.sum(arrays[-1][..., 0])

    return f


@examples(25)
@given(
    seed=st.integers(0, 10**9),
    shape=st.sampled_from(SHAPES),
    special=st.sampled_from([(), (0.0, -0.0, 1e200), (np.inf, np.nan, -np.inf)]),
    method=st.sampled_from(["value_and_grad", "value_and_grad", "hvp"]),
)
def test_numbers_are_those_of_the_interpreter(
    seed: int, shape: tuple[int, ...], special: tuple[float, ...], method: str
) -> None:
    x = np.random.default_rng(seed).normal(size=int(np.prod(shape)))
    x[7 : 7 + len(special)] = special
    check(program_of(seed, shape), x, method)


@pytest.mark.parametrize("n", [2049, 2053])
def test_functions_behind_the_last_tile_are_those_of_numpy(n: int) -> None:
    """Which the C library rounds otherwise."""
    functions = (cnp.tanh, cnp.sin, cnp.arctan, cnp.cosh)
    check(lambda x: sum(cnp.sum(f(cnp.cumsum(x)) ** 2) for f in functions), np.full(n, 0.7 / n))


# --- what is put together ------------------------------------------------------------------------


def chain(x: Any) -> Any:
    y = x * x + 1.0
    z = 2.0 * y - x
    return cnp.sum(z / y)


@in_whole_tiles
def test_what_one_instruction_hands_to_the_next_stands_nowhere() -> None:
    code = code_of(chain, np.linspace(0.5, 1.5, 200))
    assert code.text.count("for (int i0 = 0; i0 < 200; i0++)") == 1
    assert code.text.count("[i0] = v") == 2  # the terms of the value, and the gradient
    check(chain, np.linspace(0.5, 1.5, 200))


def springs(steps: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        speed = 0.0 * x
        for _ in range(steps):
            apart = x[None, :] - x[:, None]
            speed = speed - 0.1 * cnp.sum(apart * apart * apart, axis=1)
            x = x + 0.1 * speed
        return cnp.sum(speed**2)

    return f


@in_whole_tiles
def test_steps_that_differ_in_their_places_are_compiled_once() -> None:
    x = np.linspace(-1.0, 1.0, 12)
    few, many = (code_of(springs(steps), x).text.count("static void") for steps in (10, 20))
    assert few == many < 30
    check(springs(5), x)


def test_places_that_are_used_again_are_no_hindrance() -> None:
    def f(x: Any) -> Any:
        for k in range(12):
            x = cnp.where(x > 0.1 * k, 1.0 / x, x * x) - x[::-1] * 0.25
        return cnp.sum(x)

    check(f, np.linspace(0.4, 2.0, 1000))


@in_whole_tiles
def test_ranges_that_overlap_are_one_loop() -> None:
    def f(x: Any) -> Any:
        bend = x[1:] - x[:-1] ** 2
        return cnp.sum(bend * bend) + cnp.sum((x[2:] - x[:-2]) ** 3) + cnp.sum(x)

    x = np.linspace(-1.0, 1.5, 3000)
    code = code_of(f, x)
    assert code.text.count("i0 < 299") < 7 < code.text.count("for (int i0")
    check(f, x)


@pytest.mark.parametrize("seed", [2012, 2064, 2065])
@pytest.mark.parametrize("shape", [(1100,), (12, 50), (200, 17, 13)])
def test_a_place_is_not_that_of_a_number_that_stood_there(
    seed: int, shape: tuple[int, ...]
) -> None:
    """What is written meanwhile by a loop of another length."""
    check(program_of(seed, shape), np.random.default_rng(seed).normal(size=int(np.prod(shape))))


@pytest.mark.parametrize("n", [0, 1, 33, 128, 129, 1024, 1025, 5000])
def test_sums_are_in_order(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n) * 10.0 ** np.arange(n).clip(0, 12)
    check(lambda x: cnp.sum(x * 3.0) + cnp.sum((x + 1.0) * (2.0 - x)), x)


@pytest.mark.parametrize("shape", [(20, 20, 3), (20, 3, 20), (3, 20, 20), (40, 9), (200, 1)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_over_axes_are_in_order(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(5).normal(size=int(np.prod(shape)))

    def f(x: Any) -> Any:
        a = x.reshape(shape)
        return cnp.sum((a - cnp.sum(a * a, axis=axis, keepdims=True)) ** 2)

    check(f, x)


@pytest.mark.parametrize("threads", [1, 2])
def test_tiles_are_shared_by_threads(threads: int) -> None:
    x = np.linspace(-1.0, 1.0, 150_001)

    def f(x: Any) -> Any:
        y = 2.0 * x[1:] - x[:-1] ** 2
        return cnp.sum(y * y) + cnp.sum(x[1:] * y)

    values = []
    for native in (False, True):
        program = cadiff.compile(f, native=native, threads=threads)
        values.append(flat(program.value_and_grad(x)))
    np.testing.assert_array_equal(*values)
    assert HAS_SMALL_BLOCKS or "long turn" in code_of(f, x).text


@in_whole_tiles
def test_vectors_by_themselves_are_left_to_the_core() -> None:
    code = code_of(lambda x: cnp.sum(cnp.exp(x)), np.linspace(0.0, 1.0, 500))
    assert code.pieces == []
    assert code.left == "long vectors"


@pytest.mark.parametrize("target", ["", "avx2", "another compiler"])
def test_other_vectors_and_compilers_make_the_same(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = binding.vector_target()
    if target.startswith("a") and not own:
        pytest.skip("this machine has no such vectors")
    if target in ("", "avx2"):
        monkeypatch.setattr(binding, "vector_target", lambda: target)
    else:
        for name, text in HELPERS.items():
            monkeypatch.setitem(HELPERS, name, text.replace("__GNUC__", "CADIFF_NO"))
    check(chain, np.linspace(0.5, 1.5, 200))
    check(springs(3), np.linspace(-1.0, 1.0, 40))


def test_results_may_reach_from_inputs_to_constants() -> None:
    program = cadiff.compile(lambda x, k: (x * 1.0, np.where(k > 3, k, 3)), native=True)
    for k in (np.int64(5), np.int64(1)):
        assert [*map(float, program(2.0, k))] == [2.0, max(3.0, float(k))]
