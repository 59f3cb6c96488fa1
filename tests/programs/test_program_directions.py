"""Matrices of derivatives along many directions: what does not depend on the direction is computed
once, and the directions go through programs with arrays side by side."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff

from ..helpers.threads import in_threads

Function = Callable[[Any], Any]

N = 70  # columns: more than go side by side


def data(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape) / 3.0


W, V, S = data(90, N), data(80, 90), data(7, 10, N)


def by_step(x: Any) -> Any:
    """Numbers one by one, between arrays."""
    total = x[0] * 0.0
    for k in range(0, N, 3):
        total = cadiff.sin(total) + x[k] * x[N - 1 - k]
    return total * np.sum(np.cos(W @ x))


def scattered(x: Any) -> Any:
    y = x * 1.0
    y[::2] = np.sin(x[::2]) * x[0]
    index = np.array([3, 3, 0, 5, 69, 3])
    return np.sum(np.exp(x[index] * y[index]) * (V[0, :6] @ y[:6])) + np.sum((W @ y) ** 3)


def packed(x: Any) -> Any:
    parts = [x[k] * x[k + 1] for k in range(5)] + [2.0, x[7]]
    return np.sum(np.tanh(cadiff.stack(parts)) * np.sum(W[:7] @ x)) + np.sum(np.sin(V @ (W @ x)))


def nothing(y: Any) -> Any:
    """Zeros, as a chain of linear operations that cancel in derivatives."""
    return np.sin(y - y)


NUMBERS: dict[str, Function] = {
    "left": lambda x: np.sum(np.tanh(W @ x) ** 2),
    "right": lambda x: np.sum(np.tanh(x @ W.T) ** 2),
    "layers": lambda x: np.sum(np.cos(V @ np.tanh(W @ x))) + np.log(np.sum(np.exp(x))),
    "stacked": lambda x: np.sum(np.sin(S @ x) * np.sum(S @ x[::-1], axis=0)),
    "matrices": lambda x: np.sum(np.tanh(W[:9, :7] @ x.reshape(7, 10)) @ x.reshape(10, 7)),
    "outer": lambda x: np.sum(np.sin(x[:9, None] * (W @ x)[None, :])),
    "steps": by_step,
    "scattered": scattered,
    "packed": packed,
    "cumsum": lambda x: np.sum(np.sin(np.cumsum(W @ x))),
    "behind": lambda x: np.sum(np.tanh(W[:, 3:] @ x[3:]) * (x[:7] @ S[0, :7, :1])),
    "every second": lambda x: np.sum(np.exp(W[:, ::2] @ x[::2]) * np.sin(x[1::2] @ W[:35])[0]),
    "chains": lambda x: np.sum(np.exp(-np.square(np.sin(W @ x) - 2.0 * (W @ x))) / (1.0 + x[0])),
    "broadcast": lambda x: np.sum(np.sin(-(W[:, None, :9] * x[:9]) * x[9:16, None]) * W[0, 0]),
    "cancelled": lambda x: np.sum(np.exp(nothing(W @ x)[::-1] + W @ x)),
}

ARRAYS: dict[str, Function] = {
    "forth": lambda x: V @ np.tanh(W @ x),
    "back": lambda x: (V @ np.tanh(W @ x))[:40],
    "matrix": lambda x: np.tanh(x.reshape(7, 10) @ W[:10, :20]) * x[0],
    "rows": lambda x: W * np.sin(x),
    "constant": lambda x: [np.cumsum(W @ x), W[:3] @ W[0], x[:2]],
    "cancelled": lambda x: [nothing(W @ x), V @ (nothing(W @ x)[::-1] + np.tanh(W @ x))],
}


def point(n: int = N, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=n) / 2.0


def check(found: Any, wanted: Any) -> None:
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, list) else [(found, wanted)]
    for a, b in pairs:
        npt.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_hessians(name: str) -> None:
    f = NUMBERS[name]
    program = cadiff.compile(f)
    for seed in range(3):
        x = point(seed=seed)
        check(program.hessian(x), cadiff.hessian(f)(x))
        npt.assert_allclose(
            program.sparse_hessian(x).toarray(), program.hessian(x), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("name", ARRAYS)
def test_jacobians(name: str) -> None:
    f = ARRAYS[name]
    program = cadiff.compile(f)
    for seed in range(3):
        x = point(seed=seed)
        check(program.jacobian(x), cadiff.jacobian(f)(x))


@given(
    n=st.integers(1, 12),
    widths=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    seed=st.integers(0, 99),
)
def test_layers(n: int, widths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [n, *widths]
    layers = [rng.normal(size=(m, k)) for k, m in itertools.pairwise(sizes)]

    from_left = seed % 2

    def layered(x: Any) -> Any:
        for layer in layers:
            x = np.tanh(layer @ x if from_left else x @ layer.T)
        return x

    def number(x: Any) -> Any:
        return np.sum(layered(x) ** 2)

    x = point(n, seed)
    check(cadiff.compile(layered).jacobian(x), cadiff.jacobian(layered)(x))
    check(cadiff.compile(number).hessian(x), cadiff.hessian(number)(x))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_spreads_as_in_sweeps(bad: float) -> None:
    for f in (NUMBERS["layers"], NUMBERS["scattered"]):
        program = cadiff.compile(f)
        program.hessian(point())
        x = point()
        x[4] = bad
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, wanted = program.hessian(x), cadiff.hessian(f)(x)
        npt.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
        # A direction that is not finite leaves the others alone, and the next call as well.
        check(program.hessian(point()), cadiff.hessian(f)(point()))


def test_what_does_not_depend_on_the_direction_is_computed_once() -> None:
    calls = []

    @cadiff.primitive
    def sine(x: Any) -> Any:
        calls.append(None)
        return np.sin(x)

    sine.defvjp(lambda ans, x: lambda g: g * np.cos(x))

    def f(x: Any) -> Any:
        return np.sum(sine(W @ x) ** 2)

    program = cadiff.compile(f, verify=False)
    x = point()
    check(program.hessian(x), cadiff.hessian(f)(x))
    calls.clear()
    program.hessian(x + 0.125)
    assert 1 <= len(calls) <= 2
    assert "cos(" not in program.to_text()


def test_branches_are_guarded() -> None:
    def f(x: Any) -> Any:
        total = np.sum(np.tanh(W @ x))
        return total**2 if total > 0.0 else np.sum(np.exp(0.1 * (W @ x)) ** 3)

    program = cadiff.compile(f)
    x = point()
    for sign in (1.0, -1.0, 1.0, -1.0):
        check(program.hessian(sign * x), cadiff.hessian(f)(sign * x))
    assert program.stats()["recordings"] == 2


@cadiff.primitive
def halved(x: Any) -> Any:
    return 0.5 * x


halved.defvjp(lambda ans, x: lambda g: 0.5 * g if np.sum(g) > 0.0 else 0.25 * g)


def test_guards_may_depend_on_the_direction() -> None:
    def f(x: Any) -> Any:
        return halved(np.sin(W @ x))[:30]

    program = cadiff.compile(f)
    for seed in range(2):
        x = point(seed=seed)
        check(program.jacobian(x), cadiff.jacobian(f)(x))


def test_steps_that_raise() -> None:
    refuses = []

    @cadiff.primitive
    def sine(x: Any) -> Any:
        return np.sin(x)

    def pull(g: Any, x: Any) -> Any:
        if refuses:
            raise ZeroDivisionError("refused")
        return cadiff.value(g) * np.cos(cadiff.value(x))

    sine.defvjp(lambda ans, x: lambda g: pull(g, x))
    f = lambda x: sine(W @ x)  # noqa: E731
    program = cadiff.compile(f)
    wanted = cadiff.jacobian(f)(point())
    check(program.jacobian(point()), wanted)
    refuses.append(None)
    with pytest.raises(ZeroDivisionError):
        program.jacobian(point())
    refuses.clear()
    check(program.jacobian(point()), wanted)


def test_threads_have_directions_of_their_own() -> None:
    program = cadiff.compile(NUMBERS["layers"])
    points = [point(seed=k) for k in range(4)]
    wanted = [program.hessian(x) for x in points]

    def work(k: int) -> None:
        for _ in range(20):
            npt.assert_array_equal(program.hessian(points[k]), wanted[k])

    in_threads(4, work)
