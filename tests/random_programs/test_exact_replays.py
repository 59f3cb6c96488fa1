"""Arguments and results of all kinds: programs without optimisation give the numbers that the
transforms of the function give, to the last bit."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding

from ..helpers.drafts import Script
from ..helpers.programs import Pair, direction, mixed, near, quiet, same
from ..helpers.ways import check_replays

Array = np.ndarray
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = binding.enter_after(0)  # functions that are entries have other last bits
    with quiet():
        yield
    binding.enter_after(before)


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), (1, 0), (1,), [0]])
def test_arguments_that_are_not_differentiated_by(argnums: Any) -> None:
    program = cadiff.compile(mixed, optimize=False)
    rng = np.random.default_rng(5)
    for _ in range(6):
        x, y, c = rng.normal(size=3), rng.normal(size=3), float(rng.normal())
        for name in ("grad", "value_and_grad", "jacobian", "hessian"):
            got = getattr(program, name)(x, y, argnums=argnums, c=c, n=3)
            same(got, getattr(cadiff, name)(mixed, argnums)(x, y, c=c, n=3), name)
        if isinstance(argnums, int):
            got = program.hvp(x, direction(x), y, argnums=argnums, c=c)
            same(got, cadiff.hvp(mixed, argnums)(x, direction(x), y, c=c), "hvp")
    assert program.stats()["eager"] == 0


@pytest.mark.parametrize(
    "y",
    [
        *(2.0, np.float64(2.0), np.float32(2.0), 2, np.where(True, 2.0, 3.0)),
        *(np.array(2.0), np.array(2.0, np.float32), np.array(2.0, ">f8"), np.array(2)),
    ],
    ids=repr,
)
def test_single_numbers_of_all_kinds(y: Any) -> None:
    """Among them arrays without axes, which choose as numbers do."""

    def f(x: Any, y: Any) -> Any:
        return x[0] * y if y > 0.0 else -x[1]

    x = np.array([3.0, -2.0])

    def check(program: Any, y: Any, wanted: Array) -> None:
        same(program.grad(x, y), wanted)
        same(program.grad(x, y=y), wanted)
        same(cadiff.grad(lambda x: program(x, y) * 1.0)(x), wanted)
        same(cadiff.grad(lambda x: program(x, y=y) * 1.0)(x), wanted)
        same(cadiff.compile(lambda x: program(x, y)).grad(x), wanted)

    for optimize in (True, False):
        program = cadiff.compile(f, optimize=optimize)
        check(program, y, np.array([2.0, 0.0]))
        check(program, -y, np.array([0.0, -1.0]))
        check(program, y, np.array([2.0, 0.0]))


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_within_functions(kind: Any) -> None:
    def f(a: Any, b: Any) -> Any:
        return sum(x * x for x in a) * b[-1] + b[0]

    program = cadiff.compile(f)

    def outer(inner: Any) -> Any:
        return lambda x: inner(kind([x[0], 2.0, x[1]]), kind([1.0, x[2]])) * x[0]

    x = np.array([0.5, -1.0, 2.0])
    for k in range(3):
        near(cadiff.value_and_grad(outer(program))(x), cadiff.value_and_grad(outer(f))(x))
        near(cadiff.hessian(outer(program))(x + k), cadiff.hessian(outer(f))(x + k))
        with pytest.raises(IndexError):
            cadiff.grad(lambda x: program(kind([x[0]]), kind([])))(x)
        near(cadiff.grad(lambda x: program([x[0]], (x[1], 3.0)))(x), np.array([3.0, 1.0, 0.0]))
    assert program.stats()["eager"] == 3


def of_containers(tree: Any) -> Any:
    a, (b, c) = tree["p"]
    return {"sum": a * b[0] + c, "parts": [b * a, b[1]], "one": 1.0, "none": cnp.zeros(0)}


def test_containers_of_arguments_and_results() -> None:
    program = cadiff.compile(of_containers, optimize=False)
    for k in range(3):
        tree = {"p": (1.5 + k, Pair([0.5, 2.0 - k, 3.0], 4.0))}
        tree["p"][1].b
        flat = {"p": (1.5 + k, Pair(np.array([0.5, 2.0 - k]), 4.0 * k))}
        same(program(flat), cadiff.vjp(of_containers, flat)[0])
        same(program.jacobian(flat), cadiff.jacobian(of_containers)(flat))
    numbers = cadiff.compile(lambda p: p[0] * p[1] + p[2][0], optimize=False)
    for at in ([1.0, 2.0, [3.0]], [1, 2, [3]], (0.5, -1.0, (2.0,))):
        same(numbers.grad(at), cadiff.grad(numbers.__wrapped__)(at))
    assert numbers.stats()["eager"] == 0


ARRAYS = [
    np.linspace(0.1, 1.0, 6),
    np.linspace(0.1, 1.0, 12)[::2],
    np.linspace(0.1, 1.0, 6)[::-1],
    np.asfortranarray(np.linspace(0.1, 1.0, 6).reshape(2, 3)),
    np.linspace(0.1, 1.0, 6).astype(">f8"),
    np.linspace(0.1, 1.0, 6, dtype=np.float32),
    np.arange(6),
    np.zeros((0, 3)),
    np.array(0.7),
    np.array([0.1, 0.2, 0.3], dtype=object),
    np.broadcast_to(0.4, (2, 3)),
]


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{x.shape}{x.strides}")
def test_arrays_of_all_kinds(x: Array) -> None:
    def f(x: Any) -> Any:
        return cnp.sum(cnp.sin(x) * x) * 2.0 + cnp.sum(x.T)

    program = cadiff.compile(f, optimize=False)
    for name in ("grad", "value_and_grad", "jacobian", "hessian"):
        for _ in range(2):
            same(getattr(program, name)(x), getattr(cadiff, name)(f)(x), name)
    if x.dtype != np.float32:  # of which replays are not exact
        assert program.stats()["eager"] == 0


def results(x: Any) -> list[Any]:
    return [x, x[1:], x[0], 3.0, np.ones(2), cnp.zeros(0), cnp.ones(2), x.T * 2.0, x * 0.0 + 1.0]


@pytest.mark.parametrize("k", range(len(results(np.ones(2)))))
def test_results_that_are_arguments_or_constants(k: int) -> None:
    def f(x: Any) -> Any:
        return results(x)[k]

    x = np.array([0.3, -0.7])
    check_replays(f, cadiff.compile(f, optimize=False), x, is_number=k in (2, 3))
    program = cadiff.compile(f)
    same(cadiff.jacobian(lambda x: program(x * 1.0))(x), cadiff.jacobian(lambda x: f(x * 1.0))(x))


def test_copies_of_arguments_are_assigned_to() -> None:
    def f(x: Any) -> Any:
        x = x.copy()
        x[1:] = cnp.sin(x[:-1]) * x[0:1]
        x[0] = cnp.sum(x) * 2.0
        return cnp.sum(x * x)

    program = cadiff.compile(f, optimize=False)
    for x in (np.array([0.5, 1.5, -2.0]), np.array([-0.5, 0.0, 3.0])):
        check_replays(f, program, x)
        found, wanted = (cadiff.grad(lambda x, g=g: g(x * 1.0))(x) for g in (program, f))
        same(found, wanted)
    assert program.stats()["recordings"] > 0


def test_derivatives_within_the_function() -> None:
    def f(x: Any) -> Any:
        g = cadiff.grad(lambda t: cnp.sum(cnp.sin(t) * x) * t[0])(x * 0.5)
        h = cadiff.hessian(lambda t: t**3 * x[1])(2.0)
        return cnp.sum(g * x) + h * x[0] if g[0] > 2.0 else cnp.sum(g)

    program = cadiff.compile(f, optimize=False)
    for x in (np.array([0.5, 1.0, 2.0]), np.array([-0.5, 1.0, 2.0]), np.array([0.3, 0.1, -2.0])):
        check_replays(f, program, x)
    assert program.stats()["branch_changes"] > 0


def test_batches_are_exact() -> None:
    rng = random.Random(3)
    f = Script(rng, wild=False).function()
    program = cadiff.compile(f, optimize=False)
    X = np.random.default_rng(3).normal(size=(9, 4))
    same(program.batch(X, what="grad"), np.array([cadiff.grad(f)(x) for x in X]))
    same(program.batch(X), np.array([cadiff.vjp(f, x)[0] for x in X]))


def test_branches_are_recorded_anew() -> None:
    def f(x: Any) -> Any:
        return x * x if x > 0.0 else cadiff.sin(x)

    program = cadiff.compile(f, optimize=False, max_traces=2)
    for x in (1.0, 2.0, -1.0, 3.0, -2.0, math.nan):
        check_replays(f, program, x)
    assert program.stats()["recordings"] == 2
    strict = cadiff.compile(f, optimize=False, on_branch_change="raise")
    strict.grad(1.0)
    with pytest.raises(RuntimeError, match="another outcome"):
        strict.grad(-1.0)
    assert strict.grad(3.0) == 6.0


def cubed(x: Any) -> Any:
    return x**3 if x > 0.0 else -x


def test_pickled_programs_record_again_what_they_replay() -> None:
    program = cadiff.compile(cubed, optimize=False)
    assert program.grad(2.0) == 12.0
    again = pickle.loads(pickle.dumps(program))
    for x in (2.0, 3.0, -1.0):
        check_replays(cubed, again, x)
