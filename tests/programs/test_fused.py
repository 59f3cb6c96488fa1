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
from cadiff.programs.native import LEAST_LOOP

from ..helpers.processes import IS_SANITIZED
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


# --- what is put together ------------------------------------------------------------------------


def chain(x: Any) -> Any:
    y = x * x + 1.0
    z = 2.0 * y - x
    return cnp.sum(z / y)


def springs(x: Any) -> Any:
    speed = 0.0 * x
    for _ in range(5):
        apart = x[None, :] - x[:, None]
        speed = speed - 0.1 * cnp.sum(apart * apart * apart, axis=1)
        x = x + 0.1 * speed
    return cnp.sum(speed**2)


def places_used_again(x: Any) -> Any:
    for k in range(12):
        x = cnp.where(x > 0.1 * k, 1.0 / x, x * x) - x[::-1] * 0.25
    return cnp.sum(x)


def ranges_that_overlap(x: Any) -> Any:
    bend = x[1:] - x[:-1] ** 2
    return cnp.sum(bend * bend) + cnp.sum((x[2:] - x[:-2]) ** 3) + cnp.sum(x)


def behind_the_last_tile(x: Any) -> Any:
    """Functions that the C library rounds otherwise than NumPy."""
    functions = (cnp.tanh, cnp.sin, cnp.arctan, cnp.cosh)
    return sum(cnp.sum(f(cnp.cumsum(x)) ** 2) for f in functions)


def sums(x: Any) -> Any:
    return cnp.sum(x * 3.0) + cnp.sum((x + 1.0) * (2.0 - x))


def sums_over(axis: int, shape: tuple[int, ...]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        a = x.reshape(shape)
        return cnp.sum((a - cnp.sum(a * a, axis=axis, keepdims=True)) ** 2)

    return f


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=int(np.prod(shape)))


WRITTEN_MEANWHILE = [2012, 2064, 2065]  # seeds: places that a loop of another length writes
AXES = [(20, 20, 3), (20, 3, 20), (3, 20, 20), (40, 9), (200, 1)]
LOOPS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "chain": (chain, np.linspace(0.5, 1.5, 200)),
    "springs": (springs, np.linspace(-1.0, 1.0, 12)),
    "places": (places_used_again, np.linspace(0.4, 2.0, 1000)),
    "ranges": (ranges_that_overlap, np.linspace(-1.0, 1.5, 3000)),
    **{f"last tile, {n}": (behind_the_last_tile, np.full(n, 0.7 / n)) for n in (2049, 2053)},
    **{
        f"{n} sums": (sums, normal(n, n) * 10.0 ** np.arange(n).clip(0, 12))
        for n in (0, 1, 33, 128, 129, 1024, 1025, 5000)
    },
    **{
        f"axis {axis} of {shape}": (sums_over(axis, shape), normal(5, *shape))
        for shape in AXES
        for axis in (0, 1, -1)
    },
    **{
        f"seed {seed}, {shape}": (program_of(seed, shape), normal(seed, *shape))
        for seed in WRITTEN_MEANWHILE
        for shape in ((1100,), (12, 50), (200, 17, 13))
    },
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_those_of_the_interpreter(name: str) -> None:
    check(*LOOPS[name])


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
    check(springs, np.linspace(-1.0, 1.0, 40))


def test_results_may_reach_from_inputs_to_constants() -> None:
    program = cadiff.compile(lambda x, k: (x * 1.0, np.where(k > 3, k, 3)), native=True)
    for k in (np.int64(5), np.int64(1)):
        assert [*map(float, program(2.0, k))] == [2.0, max(3.0, float(k))]
