"""Loops of recorded functions: they are found whatever way Python went round, and everything that
is made of them is what the function itself gives."""

from __future__ import annotations

import ctypes
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff as cd
from cadiff import binding

from ..helpers.processes import COMPILER, needs_compiler
from ..helpers.properties import examples

N = 40  # turns

DATA = np.random.default_rng(0).uniform(0.5, 1.5, N)
SERIES = np.random.default_rng(1).uniform(0.5, 1.5, (16, 36))


@pytest.fixture(autouse=True)
def short_loops() -> Iterator[None]:
    """Loops are found from 60 operations on, so that these tests may have short ones."""
    binding.set_least_loop(60)
    yield
    binding.set_least_loop()


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CADIFF_CACHE", str(tmp_path_factory.mktemp("native")))
        yield


# --- ways round ----------------------------------------------------------------------------------


def over_range(x: Any) -> Any:
    h, total = 0.1, 0.0
    for t in range(N):
        h = x[0] + x[1] * DATA[t] ** 2 + 0.3 * x[2] * h
        total = total - 0.5 * (cd.log(h) + DATA[t] / h)
    return total


def both_at_once(x: Any) -> Any:
    h, total = 1.0, 0.0
    for r in DATA:
        h, total = x[0] + x[1] * r + 0.3 * x[2] * h, total + cd.log(h) + r / h
    return total


def adding_the_same(x: Any) -> Any:
    y, total = x[0], 0.0
    for t in range(N):
        y = y + 0.1 * DATA[t] * cd.sin(y) * x[1]
        total = total + x[2]
    return total * y


def over_zip(x: Any) -> Any:
    u, v = x[0], x[1]
    for a, b in zip(DATA.tolist(), DATA[::-1].tolist(), strict=True):
        u, v = u + 0.1 * a * cd.sin(v), v - 0.1 * b * u * x[2]
    return u * v


def with_while(x: Any) -> Any:
    y, t = x[0], 0
    while t < N:
        y = y + 0.05 * (x[1] - y * y * x[2])
        t += 1
    return y


def by_recursion(x: Any) -> Any:
    def step(y: Any, n: int) -> Any:
        return y if n == 0 else step(y * (1.0 - 0.1 * x[1]) + 0.1 * cd.cos(x[2] * y), n - 1)

    return step(x[0], N)


def comprehension(x: Any) -> Any:
    parts = [cd.exp(-x[0] * a) * x[1] + x[2] / a for a in DATA.tolist()]
    return sum(parts) * parts[3] + parts[-1]


class Oscillator:
    def __init__(self, place: Any, speed: Any) -> None:
        self.place, self.speed = place, speed

    def step(self, k: Any) -> None:
        self.speed = self.speed - 0.1 * k * cd.sin(self.place)
        self.place = self.place + 0.1 * self.speed


def with_attributes(x: Any) -> Any:
    oscillator = Oscillator(x[0], x[1])
    for _ in range(N):
        oscillator.step(x[2])
    return oscillator.place**2 + oscillator.speed


def small_arrays(x: Any) -> Any:
    y = x[:2] * 1.0
    for t in range(N):
        y = y + 0.05 * cd.numpy.array([y[1] * x[2], -y[0] * DATA[t]])
    return y[0] * y[1]


def written_in_place(x: Any) -> Any:
    y = cd.numpy.zeros(2) + x[:2]
    for _ in range(N):
        y[0] = y[0] + 0.05 * y[1] * x[2]
        y[1] = y[1] - 0.05 * y[0]
    return y[0] + 2.0 * y[1]


def trajectory(x: Any) -> Any:
    path = [x[0], x[1]]
    for _ in range(N):
        path.append(path[-1] * (1.0 - 0.1 * x[2]) + 0.05 * path[-2])
    return cd.numpy.array(path[2:])


def neighbours(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) - 1):
        total = total + 2.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def filled_array(x: Any) -> Any:
    y = cd.numpy.zeros(N + 1)
    y[0] = x[0]
    for t in range(N):
        y[t + 1] = y[t] * x[1] * 0.9 + DATA[t] * x[2]
    return cd.numpy.sum(y * y)


def alternating(x: Any) -> Any:
    y = x[0]
    for t in range(N):
        y = y + 0.1 * x[1] * cd.sin(y) if t % 2 else y * (1.0 - 0.05 * x[2])
    return y * y


def long_branch(x: Any) -> Any:
    y = x[0]
    for t in range(2 * N):
        y = y * 0.99 + 0.01 * x[1] * y * y if t < N else cd.sqrt(y * y + 0.1 * x[2])
    return y


def with_guards(x: Any) -> Any:
    y, total = x[0], 0.0
    for t in range(N):
        y = y + 0.1 * (x[1] * DATA[t] - y)
        total = total + (y if y < 10.0 * x[2] else 2.0 * y)
    return total


def nested(x: Any) -> Any:
    total = 0.0
    for i in range(N):
        inner = 0.0
        for j in range(5):
            inner = inner + cd.exp(-x[j % 3] * DATA[i]) * (j + 1.0)
        total = total + cd.log(inner)
    return total


def on_a_ring(x: Any) -> Any:
    """All cells are of one kind, and so is their edge, but for how far back neighbours are."""
    u = [[x[(3 * i + j) % 3] for j in range(4)] for i in range(4)]
    for _ in range(N):
        u = [
            [
                u[i][j] + 0.1 * (u[i - 1][j] + u[i][j - 1] - 2.0 * u[i][j]) * (1.0 - u[i][j])
                for j in range(4)
            ]
            for i in range(4)
        ]
    return sum(v * v for row in u for v in row)


def iterated_within(x: Any) -> Any:
    y, total = 0.5, 0.0
    for d in DATA:
        z = y
        for _ in range(20):
            z = z - 0.2 * (z - cd.cos(z * x[0] + d) * x[1])
        y = z + 0.1 * x[2] * cd.sin(y)
        total = total + y * d
    return total


def of_many_series(x: Any) -> Any:
    """No series waits for another one, though its turns wait for each other."""
    total = 0.0
    for i, scale in enumerate(DATA.tolist()):
        h = scale * x[0]
        for j in range(36):
            r = SERIES[i % 16, j]
            h = 0.1 + x[1] * r * r + 0.5 * x[2] * h
            total = total - 0.5 * (cd.log(h) + r * DATA[j] / h)
    return total


def three_deep(x: Any) -> Any:
    y, total = x[0], []
    for d in DATA[:20].tolist():
        for k in range(18):
            u = y * d
            for j in range(16):
                u = u + 0.05 * (x[1] - u * SERIES[k % 16, j]) * u
            y = 0.5 * y + 0.1 * cd.sin(u * x[2])
        total.append(y * d)
    return cd.numpy.stack(total)


def with_steps_within(x: Any) -> Any:
    """Lists that one loop fills are read by the next one, in the same turn and the one behind."""
    path, total = [x[1] * d for d in DATA[:20]], 0.0
    for d in DATA:
        y, old, path = x[0] * d, path, []
        for k in range(20):
            y = y - 0.1 * (y * y - old[k]) + (0.01 * d if k < 10 else 0.02)
            path.append(y)
        top = path[3] * x[2]
        for k in range(20):
            top = 0.9 * top + cd.tanh(path[k] * old[19 - k])
        total = total + top * path[-1]
    return total


def two_in_a_row(x: Any) -> Any:
    return over_zip(x) * with_while(x) + comprehension(x)


def counting_down(x: Any) -> Any:
    total = x[0]
    for i in reversed(range(len(x))):
        total = 0.5 * total * x[i] + cd.cos(total)
    return total


# Arrays of more than 24 numbers are whole ones within turns.

PLACES = np.random.default_rng(2).standard_normal((9, 3))
WEIGHTS = np.random.default_rng(3).standard_normal((30, 30)) / 30.0
ROWS = np.random.default_rng(4).standard_normal((200, 30))


def attraction(x: Any) -> Any:
    places, speeds = x[0] * PLACES, x[1] * PLACES[::-1]
    for _ in range(N):
        apart = places[None] - places[:, None]
        pull = (cd.numpy.sum(apart * apart, axis=2) + 0.1 + x[2]) ** -1.5
        speeds = speeds + 0.01 * cd.numpy.sum(pull[:, :, None] * apart, axis=1)
        places = places + 0.1 * speeds
    return cd.numpy.sum(speeds**2) + cd.numpy.sum(places[0])


def heat(x: Any) -> Any:
    u = x[0] * cd.numpy.sin(cd.numpy.linspace(0.0, 3.0, 40))
    for _ in range(N):
        inner = (
            u[1:-1] + 0.2 * x[1] * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - 0.01 * x[2] * u[1:-1] ** 3
        )
        u = cd.numpy.concatenate([u[:1], inner, u[-1:]])
    return cd.numpy.sum(u * u)


def network(x: Any) -> Any:
    h, total = cd.numpy.zeros(30), 0.0
    weights, bias = x[0] * WEIGHTS, x[1] * ROWS[0]
    for t in range(N):
        gate = 1.0 / (1.0 + cd.numpy.exp(-(weights @ h + ROWS[t] * x[2])))
        h = gate * h + (1.0 - gate) * cd.numpy.tanh(h @ weights + bias)
        total = total + h[t % 2] * DATA[t]
    return total + cd.numpy.sum(h[::-1] * ROWS[1])


def delayed(x: Any) -> Any:
    before, now = x[0] * ROWS[0], x[1] * ROWS[1]
    for _ in range(N):
        wave = cd.numpy.cos(now * x[2]) * before[::-1] - 0.1 * now
        wave = wave - 0.1 * wave**2 + 0.01 * cd.numpy.sin(wave) * now + 0.01 * wave**3
        before, now = now, 0.5 * now + 0.3 * wave
    return cd.numpy.sum(before * now)


def states(x: Any) -> Any:
    u, path = x[0] * ROWS[2], []
    for t in range(N):
        u = u + 0.1 * (x[1] * ROWS[t] - u) * cd.numpy.exp(-(u**2)) + 0.01 * x[2] * cd.numpy.cos(u)
        path.append(cd.numpy.sum(u * u))
    return cd.numpy.stack(path)


def matrices(x: Any) -> Any:
    a = x[0] * ROWS[:6, :6] + 3.0 * np.eye(6)
    inverse = np.eye(6) / 4.0 * x[1]
    for _ in range(N):
        inverse = inverse @ (2.0 * np.eye(6) - a @ inverse) + 1e-3 * (x[2] * a.T) @ inverse
        inverse = inverse + 1e-4 * cd.numpy.sin(inverse) * cd.numpy.cos(inverse)
    return cd.numpy.sum(inverse * ROWS[0:6, 6:12])


def gathered(x: Any) -> Any:
    order = np.random.default_rng(5).permutation(30)
    s = x[0] * ROWS[3]
    for _ in range(N):
        mixed = 0.9 * s[order] + 0.2 * x[1] * s
        s = cd.numpy.sin(mixed) + 0.1 * mixed * x[2] + 0.01 * cd.numpy.cos(mixed) * s
    return cd.numpy.sum(s)


# Turns that call what is not of the table: LAPACK, Fourier transforms, programs, one's own rules.


def filtered(x: Any) -> Any:
    state, covariance, total = x[0] * np.ones(3), np.eye(3), 0.0
    moves, seen = x[1] * (np.eye(3) + 0.1 * ROWS[:3, :3]), ROWS[3:5, :3]
    for t in range(N):
        state, covariance = moves @ state, moves @ covariance @ moves.T + x[2] * np.eye(3)
        spread, error = seen @ covariance @ seen.T + np.eye(2), ROWS[t, :2] - seen @ state
        gain = cd.numpy.linalg.solve(spread, seen @ covariance).T
        total = (
            total
            + cd.numpy.linalg.slogdet(spread)[1]
            + error @ cd.numpy.linalg.inv(spread) @ error
        )
        state, covariance = state + gain @ error, covariance - gain @ seen @ covariance
    return total


def rotated(x: Any) -> Any:
    v, total = cd.numpy.stack([x[0], x[1], x[2], x[0] * x[1]]), 0.0
    for t in range(N):
        v = v / cd.numpy.linalg.norm(v) * (1.0 + 0.1 * x[0]) + 0.1 * cd.numpy.sin(v + DATA[t])
        factor = cd.numpy.linalg.cholesky(cd.numpy.outer(v, v) + 2.0 * np.eye(4))
        v = v + 0.05 * factor[3] - 0.01 * factor.T @ v
        total = total + v[1] * DATA[t]
    return total


def by_transforms(x: Any) -> Any:
    y, total = cd.numpy.stack([x[0], x[1], x[2], x[0] - x[1]]), 0.0
    for d in DATA:
        y = 0.4 * cd.numpy.abs(cd.numpy.fft.fft(y)) + 0.1 * d * cd.numpy.cos(y)
        total = total + cd.numpy.sum(y * y)
    return total


@cd.compile
def inner_program(y: Any, a: Any) -> Any:
    return cd.numpy.tanh(a * y) + 0.1 * cd.numpy.linalg.solve(2.0 * np.eye(3) + WEIGHTS[:3, :3], y)


def program_in_turns(x: Any) -> Any:
    y = cd.numpy.stack([x[0], x[1], x[2]])
    for d in DATA:
        y = inner_program(y, x[1]) + 0.1 * d * y
    return cd.numpy.sum(y)


@cd.primitive
def squash(y: Any) -> Any:
    return y / np.sqrt(1.0 + y * y)


squash.defvjp(lambda ans, y: lambda g: g * (1.0 - ans * ans) ** 1.5)


def with_own_rule(x: Any) -> Any:
    y, total = x[0], 0.0
    for d in DATA:
        y = squash(y * x[1] + d) + 0.1 * x[2] * y
        total = total + y * d
    return total


def carried_in_vain(x: Any) -> Any:
    """What is carried has no derivative, and the greatest of some numbers is a call."""
    bound, y = x[1], cd.numpy.stack([x[0], x[1] * x[2], x[2]])
    for d in DATA:
        bound = cd.tanh(cd.floor(abs(bound)) * 0.1)
        y = cd.numpy.where(y > bound, 0.5 * d * y, -y / (1.0 + y * y))
        y = y + 0.1 * cd.numpy.max(y + d)
    return cd.numpy.sum(y * y) + bound


THREE = np.array([0.7, 0.4, 0.9])
MANY = np.linspace(0.4, 1.3, N)
OF_THREE = [
    *(over_range, both_at_once, adding_the_same, over_zip, with_while, by_recursion),
    *(comprehension, with_attributes, small_arrays, written_in_place, trajectory, filled_array),
    *(alternating, long_branch, with_guards, nested, on_a_ring, iterated_within, of_many_series),
    *(three_deep, with_steps_within, two_in_a_row, attraction, heat, network),
    *(delayed, states, matrices, gathered, carried_in_vain),
]
CALLING = [filtered, rotated, by_transforms, program_in_turns, with_own_rule]
IN_C = dict.fromkeys(OF_THREE, THREE) | dict.fromkeys([neighbours, counting_down], MANY)
WAYS: dict[Callable[[Any], Any], Any] = IN_C | dict.fromkeys(CALLING, THREE)
each_way = pytest.mark.parametrize("f", WAYS, ids=lambda f: f.__name__)


def near(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * scale)


@each_way
def test_all_that_a_program_answers(f: Callable[[Any], Any]) -> None:
    x, rng = WAYS[f], np.random.default_rng(1)
    program, v = cd.compile(f), rng.standard_normal(len(WAYS[f]))
    near(program(x), f(x))
    near(program.jvp((x,), (v,))[1], cd.jvp(f, (x,), (v,))[1])
    near(program.jacobian(x), cd.jacobian(f)(x))
    if np.ndim(f(x)) == 0:
        near(program.grad(x), cd.grad(f)(x))
        near(program.hvp(x, v), cd.hvp(f)(x, v))
        near(program.hessian(x), cd.hessian(f)(x))
        near(program.sparse_hessian(x).toarray(), cd.hessian(f)(x))
    else:
        w = rng.standard_normal(np.shape(f(x)))
        near(program.vjp(x)[1](w), cd.vjp(f, x)[1](w))
    assert program.stats()["eager"] == 0
    again = pickle.loads(pickle.dumps(program))
    near(again(x), f(x))
    near(again.jacobian(x), cd.jacobian(f)(x))
    assert again.stats()["recordings"] == 0  # it has that of the first one
    if np.ndim(f(x)) == 0:
        near(cd.grad(lambda x: program(2.0 * x) ** 2)(x), cd.grad(lambda x: f(2.0 * x) ** 2)(x))
        near(cd.hessian(lambda x: program(x) * x[0])(x), cd.hessian(lambda x: f(x) * x[0])(x))


@each_way
def test_many_points_at_once(f: Callable[[Any], Any]) -> None:
    x = WAYS[f] * np.linspace(0.9, 1.1, 35)[:, None]  # so many go side by side, three do not
    program = cd.compile(f)
    values = np.array([f(row) for row in x])
    slopes = np.array([cd.grad(f)(row) for row in x]) if values.ndim == 1 else None
    for some in (slice(None), slice(3), slice(None, None, -1)):
        near(program.batch(x[some]), values[some])
        if slopes is not None:
            near(program.batch(x[some], what="grad"), slopes[some])
    near(cd.vmap(f)(x), values)


@each_way
def test_a_program_is_as_large_as_its_turns(
    f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = []
    for n in (N, 4 * N):
        monkeypatch.setattr(sys.modules[__name__], "N", n)
        monkeypatch.setattr(sys.modules[__name__], "DATA", np.resize(DATA, n))
        x = np.resize(WAYS[f], n) if WAYS[f] is MANY else WAYS[f]
        program = cd.compile(f)
        program.jvp((x,), (x,))
        program.vjp(x)[1](f(x))
        text = program.to_text(10**6).split("\n")
        lines.append(sum(" guard " not in line for line in text))  # each has a line
    assert lines[1] < 1.5 * lines[0]  # four times as many turns; large arrays may have more tiles


def test_a_turn_is_as_large_as_that_of_a_loop_within() -> None:
    table = np.resize(SERIES, (20, 18, 80))

    def with_turns(n: int) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            y, total = x[0], 0.0
            for d in range(20):
                for k in range(18):
                    for j in range(n):
                        y = y + 0.05 * (cd.sin(y * SERIES[k % 16, j % 36]) * x[1] - y)
                        total = total + y * table[d, k, j]
                    y = y * x[2]
            return total + y

        return f

    lines = []
    for n in (20, 80):
        program = cd.compile(with_turns(n))
        near(program.hvp(THREE, THREE), cd.hvp(with_turns(n))(THREE, THREE))
        lines.append(program.to_text(10**6).count("\n"))
    assert lines[0] == lines[1] < 150


@needs_compiler
@each_way
def test_machine_code(f: Callable[[Any], Any]) -> None:
    x, program = WAYS[f], cd.compile(f, native=True)
    value, pull = program.vjp(x)
    seed = np.cos(np.arange(np.size(value), dtype=float)).reshape(np.shape(value))
    near(value, f(x))
    near(pull(seed), cd.vjp(f, x)[1](seed))
    points = x * np.linspace(0.9, 1.1, 11)[:, None]
    near(program.batch(points), [f(row) for row in points])
    if np.ndim(value) == 0:
        near(program.batch(points, what="grad"), [cd.grad(f)(row) for row in points])
    assert program.stats()["native"].startswith("machine code")


@needs_compiler
def test_machine_code_of_series_of_unequal_lengths() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(40):
            y = x[k % 3]
            for d in DATA[: 20 + k % 7]:
                y = y + 0.1 * (cd.sin(y * d) - y * x[0])
                total = total + y * d
        return total

    program = cd.compile(f, native=True)
    near(program.grad(THREE), cd.grad(f)(THREE))
    near(program.hvp(THREE, THREE[::-1]), cd.hvp(f)(THREE, THREE[::-1]))


@pytest.mark.slow
@needs_compiler
def test_text_in_c_has_no_warnings_and_is_as_long_as_turns(tmp_path: Path) -> None:
    options = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    for k, (f, x) in enumerate(IN_C.items()):
        level = "-O1" if k % 4 == 0 else "-O0"  # the former sees more, and takes thrice as long
        of_one, of_all = ["value_and_grad", "hvp", "hessian"], ["vjp"]
        wanted = ["jacobian", *(of_one if np.ndim(f(x)) == 0 else of_all)]
        text = cd.compile(f).to_c(x, name="f", what=["value", "jvp", *wanted])
        (tmp_path / "f.c").write_text(text)
        command = [*COMPILER, *options, level, "-shared", "-fPIC", "-o", f"f{k}.so", "f.c", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        library = ctypes.CDLL(str(tmp_path / f"f{k}.so"))
        value, cotangents = np.zeros(np.shape(f(x))), np.cos(np.arange(1.0 + np.size(f(x))))
        found, matrix = np.zeros(np.shape(x)), np.zeros(np.shape(f(x)) + np.shape(x))
        given = [x] if np.ndim(value) == 0 else [x, cotangents]
        names = ["f_value_and_grad" if np.ndim(value) == 0 else "f_value_and_vjp", "f_jacobian"]
        for name, arrays in zip(names, [[*given, value, found], [x, matrix]], strict=True):
            assert library[name](*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays)) == 0
        seeds = cotangents[:-1].reshape(np.shape(value)) if np.ndim(value) else 1.0
        near(value, f(x))
        near(found, cd.vjp(f, x)[1](seeds))
        near(matrix, cd.jacobian(f)(x))
        lines = cd.compile(f).to_c(x).split("\n")
        assert sum(not re.match(r"\s+\(?-?\d", line) for line in lines) < 1100  # but for tables


def by_runge_and_kutta(n: int) -> Callable[[Any], Any]:
    def slopes(y: Any, x: Any) -> Any:
        return [y[0] * (x[0] - x[1] * y[1]), y[1] * (x[2] * y[0] - x[3])]

    def moved(y: Any, by: float, k: Any) -> Any:
        return [number + by * slope for number, slope in zip(y, k, strict=True)]

    def f(x: Any) -> Any:
        y, h = [x[4], x[5]], 1.0 / n
        for _ in range(n):
            a = slopes(y, x)
            b = slopes(moved(y, 0.5 * h, a), x)
            c = slopes(moved(y, 0.5 * h, b), x)
            d = slopes(moved(y, h, c), x)
            y = moved(y, h / 6.0, [a[i] + 2.0 * (b[i] + c[i]) + d[i] for i in range(2)])
        return y[0] * y[1]

    return f


@pytest.mark.parametrize("n", [6, 20, 300, 2000])
def test_text_in_c_is_as_long_at_any_number_of_steps(n: int) -> None:
    binding.set_least_loop()  # programs of twenty steps have no loops
    program, x = cd.compile(by_runge_and_kutta(n)), np.array([1.1, 0.4, 0.3, 0.9, 1.0, 0.5])
    assert program.to_c(x).count("\n") < 240
    for what in ("jvp", "vjp", "hvp", "jacobian", "hessian"):
        assert program.to_c(x, what=what).count("\n") < 450
    assert program.stats()["recordings"] == 1


def ring(cells: int, factor: float | None) -> Callable[[Any], Any]:
    """Turns that are arrays, in tiles where they are long."""

    def f(x: Any) -> Any:
        u = [x[0]] * cells
        for _ in range(20):
            u = [(v if factor is None else v * factor) + x[1] for v in [u[-1], *u[:-1]]]
        return u[0] * u[-1] + (0.0 if factor is None else u[1])

    return f


def sums_of_rows(n: int) -> Callable[[Any], Any]:
    """What a row reads, the row before it has computed."""

    def f(x: Any) -> Any:
        sums = list(x[:n])
        for row in range(1, 10):
            sums = [0.5 * sums[i] + x[row * n + i] for i in range(n)]
        return sum(s * s for s in sums)

    return f


def apart(n: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        total = 0.0
        for d in np.linspace(0.1, 0.9, n).tolist():
            total = total + cd.sin(x[0] * d) * cd.exp(x[1] * d) - d * x[2]
        return total

    return f


def waiting(n: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x[0]
        for d in np.linspace(0.1, 0.9, n).tolist():
            y = y + 0.1 * cd.sin(y * d) * cd.exp(-x[1] * d) - 0.1 * d * x[2]
        return y

    return f


def distances(x: Any) -> Any:
    total, state = 0.0, x[0]
    for row in np.random.default_rng(4).standard_normal((4200, 3)):
        state = 0.9 * state + 0.1 * cd.tanh(state * row[0])
        total = total + cd.numpy.linalg.norm(row - x) * state
    return total


@pytest.mark.parametrize(
    ("f", "n_inputs", "least"),
    [
        *((ring(cells, factor), 2, [60]) for cells in (70, 2100) for factor in (0.9, None)),
        *((sums_of_rows(n), 10 * n, [60]) for n in (1500, 6000)),
        *((make(n), 3, []) for make in (apart, waiting) for n in (400, 2600)),
        (distances, 3, [60]),
    ],
)
def test_large_programs(f: Callable[[Any], Any], n_inputs: int, least: list[int]) -> None:
    binding.set_least_loop(*least)
    x, program = np.linspace(0.3, 0.5, n_inputs), cd.compile(f)
    near(program(x), f(x))
    near(program.grad(x), cd.grad(f)(x))
    near(program.hvp(x, x[::-1]), cd.hvp(f)(x, x[::-1]))
    points = np.outer(np.linspace(1.0, 2.0, 40), x)
    near(program.batch(points)[[0, -1]], [f(x), f(2.0 * x)])
    near(program.batch(points[:33], what="grad")[0], cd.grad(f)(x))


@pytest.mark.parametrize("n", [300, 1200])
def test_gradients_within_a_program_are_no_loops_of_single_numbers(n: int) -> None:
    def f(c: Any, p: Any) -> Any:
        squares = np.sum(p**2, axis=1)[None, :] + np.sum(c**2, axis=1)[:, None]
        return np.sum(np.min(squares - 2.0 * (c @ p.T), axis=0))

    rng = np.random.default_rng(0)
    c, p = rng.random((100, 8)), rng.random((n, 8))
    nearest = np.argmin(np.sum((p[None] - c[:, None]) ** 2, axis=2), axis=0)
    wanted = np.array([2.0 * np.sum(c[k] - p[nearest == k], axis=0) for k in range(100)])
    near(cd.compile(lambda c, p: cd.grad(f)(c, p))(c, p), wanted)


def test_a_guard_within_a_loop_is_met_again() -> None:
    program = cd.compile(with_guards)
    near(program(THREE), with_guards(THREE))
    other = np.array([0.7, 0.4, 0.01])
    near(program(other), with_guards(other))
    near(program.grad(other), cd.grad(with_guards)(other))
    assert program.stats()["recordings"] == 2


def test_calls_that_wait_for_nothing_are_apart() -> None:
    """What depends on three numbers alone has a sparse Hessian."""

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(N):
            total = total + cd.numpy.linalg.norm(x[3 * k : 3 * k + 3] + 1.0)
        return total

    x = np.linspace(0.5, 1.5, 3 * N)
    found = cd.compile(f).sparse_hessian(x)
    assert found.nnz == 9 * N
    near(found.toarray(), cd.hessian(f)(x))


def test_turns_of_which_one_has_another_derivative() -> None:
    """The norm of a turn is 0, where its slope is another one than of all others."""
    scales = np.where(np.arange(N) == 25, 0.0, DATA)

    def f(x: Any) -> Any:
        y = x[0]
        for scale in scales:
            y = 0.5 * y + cd.numpy.linalg.norm(scale * y * x) + 0.1 * cd.sin(y)
        return y

    program = cd.compile(f)
    for k in range(4):
        x = THREE + 0.1 * k
        near(program.grad(x), cd.grad(f)(x))
        near(program.hvp(x, x), cd.hvp(f)(x, x))
        near(program.batch([x, 2.0 * x], what="value_and_grad")[1][1], cd.grad(f)(2.0 * x))
    stats = program.stats()
    assert (stats["recordings"], stats["eager"]) == (2, 0)  # the second one without loops


def test_exact_programs_agree_to_the_last_bit() -> None:
    for f in IN_C.keys() - {carried_in_vain}:  # which calls
        x, program = WAYS[f], cd.compile(f, optimize=False)
        np.testing.assert_array_equal(program(x), f(x))
        if np.ndim(f(x)) == 0:
            np.testing.assert_array_equal(program.grad(x), cd.grad(f)(x))


def test_what_grows_with_a_loop_is_what_it_keeps() -> None:
    found = []
    for n in (100, 1000):

        def f(x: Any, n: int = n) -> Any:
            y, total = x[0], 0.0
            for _ in range(n):
                y = y + 0.01 * (x[1] * cd.sin(y) - x[2] * y)
                total = total + y * y
            return total

        program = cd.compile(f)
        program.value_and_grad(THREE)
        (trace,) = program.stats()["traces"]
        found.append(trace["programs"]["gradient"]["nbytes"])
    assert found[1] - found[0] <= 900 * 3 * 8  # what is carried, and what is made of it backwards


# --- recurrences at random -----------------------------------------------------------------------

UNARY = [cd.sin, cd.tanh, cd.exp, lambda a: a * a, lambda a: 1.0 / (2.0 + a * a)]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: 0.5 * a * b,
    lambda a, b: a / (2.0 + b * b),
]


Body = list[tuple[int, int, int]]  # operations, each of operands before it: which, and of what


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    n = draw(st.integers(4, 12))
    steps = []
    for k in range(n):
        which = draw(st.integers(0, len(UNARY) + len(BINARY) - 1))
        steps.append((which, draw(st.integers(0, 8 + k)), draw(st.integers(0, 8 + k))))
    return steps


def after(body: Body, numbers: list[Any], ends: list[int]) -> Iterator[Any]:
    for which, i, j in body:
        if which < len(UNARY):
            numbers.append(cd.tanh(UNARY[which](numbers[i])))
        else:
            numbers.append(cd.tanh(BINARY[which - len(UNARY)](numbers[i], numbers[j])))
    return (numbers[-1 - end % len(numbers)] for end in ends)


def recurrence(body: Body, ends: list[int], turns: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        u, v, before, total, plain = x[0], x[1], x[0], 0.0, 0.0
        path = []
        for t in range(turns):
            numbers = [u, v, before, x[2], x[3 + t % 2], x[5 + t], 0.7, float(DATA[t % N]), x[1]]
            before = u
            u, v, w = after(body, numbers, ends)
            total, plain = total + w * u, plain + w
            path.append(v)
        return total + path[turns // 2] * u + v * plain

    return f


def agrees_with_eager_code(f: Callable[[Any], Any], n: int, native: bool = False) -> None:
    binding.set_least_loop(60)
    x, along = np.random.default_rng(2).uniform(-1.0, 1.0, n), np.cos(np.arange(float(n)))
    program = cd.compile(f, native=native)
    near(program(x), f(x))
    near(program.grad(x), cd.grad(f)(x))
    near(program.jvp((x,), (along,))[1], cd.jvp(f, (x,), (along,))[1])
    near(program.hvp(x, along), cd.hvp(f)(x, along))
    points = np.outer(np.linspace(0.9, 1.0, 11 if native else 33), x)  # side by side
    near(program.batch(points, what="grad")[[0, -1]], [cd.grad(f)(points[0]), cd.grad(f)(x)])


some_ends = st.lists(st.integers(0, 30), min_size=3, max_size=3)


@examples(100)
@given(bodies(), some_ends, st.integers(16, 45))
def test_recurrences_at_random(
    body: list[tuple[int, int, int]], ends: list[int], turns: int
) -> None:
    agrees_with_eager_code(recurrence(body, ends, turns), 50)


def recurrence_within(
    body: Body,
    inner: Body,
    ends: list[int],
    turns: int,
    within: int,
) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        u, v, total, row = x[0], x[1], 0.0, [x[2] * d for d in DATA[:within]]
        for t in range(turns):
            p, q, old, row = u, v * x[3], row, []
            for k in range(within):
                data = float(SERIES[t % 16, k])
                numbers = [p, q, v, x[2], x[4 + k], data, old[k], old[within - 1 - k], x[4 + t]]
                moved, q, w = after(inner, numbers, ends)
                p = 0.7 * p + 0.3 * moved  # it waits
                row.append(w)
                total = total + w * p if ends[0] % 2 else total
            numbers = [u, v, p, q, row[0], row[-1], old[3], float(DATA[t % N]), x[30 + t % 2]]
            u, v, w = after(body, numbers, ends)
            total = total + w
        return total + u * v + sum(row[::3])

    return f


@examples(100)
@given(bodies(), bodies(), some_ends, st.integers(16, 26), st.integers(16, 20))
def test_recurrences_within_others_at_random(
    body: list[tuple[int, int, int]],
    inner: list[tuple[int, int, int]],
    ends: list[int],
    turns: int,
    within: int,
) -> None:
    agrees_with_eager_code(recurrence_within(body, inner, ends, turns, within), 50)


ON_ARRAYS = [
    lambda a, _: cd.numpy.sin(a),
    lambda a, _: cd.numpy.exp(-a * a),
    lambda a, _: a[::-1] + 0.5,
    lambda a, b: a * b,
    lambda a, b: a - 0.5 * b,
    lambda a, b: a / (2.0 + b * b),
    lambda a, _: cd.numpy.concatenate([a[3:], a[:3]]),
    lambda a, b: a * cd.numpy.sum(b) / 30.0,
    lambda a, b: cd.numpy.where(b > 10.0, a, b),
    lambda a, _: WEIGHTS @ a,
    lambda a, b: (a.reshape(5, 6) * b[:6]).T.reshape(30),
    lambda a, b: a @ b * a / 30.0,
    lambda a, _: cd.numpy.cumsum(a) / 30.0,
    lambda a, _: cd.numpy.linalg.solve(WEIGHTS + np.eye(30), a),
    lambda a, b: a / cd.numpy.linalg.norm(b + 2.0),
    lambda a, b: a * cd.numpy.linalg.det(cd.numpy.outer(b[:4], a[:4]) + 2.0 * np.eye(4)) / 20.0,
]


@st.composite
def bodies_of_arrays(draw: st.DrawFn) -> Body:
    n = draw(st.integers(10, 18))
    which = st.integers(0, len(ON_ARRAYS) - 1)
    return [
        (draw(which), draw(st.integers(0, 5 + k)), draw(st.integers(0, 5 + k))) for k in range(n)
    ]


def recurrence_of_arrays(body: Body, ends: list[int], turns: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        u, v, before, total = x[:30], x[30:60], ROWS[0], 0.0
        path = []
        for t in range(turns):
            arrays = [u, v, before, ROWS[t], x[60] * ROWS[1], x[2 * t : 2 * t + 30] + 0.0]
            for which, i, j in body:
                made = ON_ARRAYS[which](arrays[i] + 0.1 * u, arrays[j])  # waits for turns before
                arrays.append(cd.numpy.tanh(made))
            before = u
            u, v, w = (arrays[-1 - end % len(arrays)] for end in ends)
            total = total + w[1] * cd.numpy.sum(u)
            path.append(w)
        return total + cd.numpy.sum(path[turns // 2] * u) + cd.numpy.sum(v) * path[-1][3]

    return f


@examples(100)
@given(bodies_of_arrays(), some_ends, st.integers(22, 40))
def test_recurrences_of_arrays_at_random(
    body: list[tuple[int, int, int]], ends: list[int], turns: int
) -> None:
    agrees_with_eager_code(recurrence_of_arrays(body, ends, turns), 110)


@pytest.mark.slow
@needs_compiler
@examples(4)
@given(bodies(), bodies_of_arrays(), some_ends, st.integers(22, 40))
def test_machine_code_of_recurrences_at_random(
    body: list[tuple[int, int, int]],
    body_of_arrays: list[tuple[int, int, int]],
    ends: list[int],
    turns: int,
) -> None:
    agrees_with_eager_code(recurrence(body, ends, turns), 50, native=True)
    within = recurrence_within(body, body, ends, turns - 6, 18)
    agrees_with_eager_code(within, 50, native=True)
    agrees_with_eager_code(recurrence_of_arrays(body_of_arrays, ends, turns), 110, native=True)
