"""Programs as objects: their methods, arguments, options, what they compose with, and threads."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import math
import pickle
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import Program, _core

from .test_program import leaves, near, same

Array = np.ndarray
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    """Any warning that a test does not expect is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def usage() -> tuple[int, int, int]:
    """Entries, numbers and open recordings of this thread's tape."""
    tape = _core.tape_usage()
    return tape["entries"], tape["numbers"], tape["recordings"]


def hinge(x: Any) -> Any:
    """Two ways, told apart by the first number."""
    if x[0] > 0.0:
        return cnp.sum(x * x)
    return cnp.sum(x) * 3.0


def wave(x: Any, scale: Any = 2.0) -> Any:
    return cnp.sum(cadiff.sin(x) * scale) + x[0] * x[-1]


class Pair(NamedTuple):
    a: Any
    b: Any


# --- branches ------------------------------------------------------------------------------------


def test_each_flip_is_a_branch_change_and_is_recorded_once() -> None:
    program = cadiff.compile(hinge)
    up, down = np.array([1.0, 2.0]), np.array([-1.0, 2.0])
    for k, (x, recordings, changes) in enumerate(
        [(up, 1, 0), (down, 2, 1), (up, 2, 1), (down, 2, 1), (2 * up, 2, 1)]
    ):
        assert program(x) == hinge(x), k
        same(program.grad(x), cadiff.grad(hinge)(x))
        stats = program.stats()
        assert (stats["recordings"], stats["branch_changes"]) == (recordings, changes)
    assert stats["eager"] == 0
    assert len(stats["traces"]) == 2
    assert all(trace["guards"] == 1 for trace in stats["traces"])


@pytest.mark.parametrize("method", ["value", "grad", "value_and_grad", "jacobian", "hessian"])
@pytest.mark.parametrize("special", [math.nan, 0.0, -0.0, -math.inf])
def test_every_method_catches_the_flip(method: str, special: float) -> None:
    program = cadiff.compile(hinge)
    run = getattr(program, method)
    eager = {
        "value": lambda f: f,
        "grad": cadiff.grad,
        "value_and_grad": cadiff.value_and_grad,
        "jacobian": cadiff.jacobian,
        "hessian": cadiff.hessian,
    }[method](hinge)
    for x in ([1.0, 2.0], [special, 2.0], [1.0, 3.0], [-5e-324, 1.0], [5e-324, 1.0]):
        near(run(np.array(x)), eager(np.array(x)))
    assert program.stats()["branch_changes"] == 1


def test_products_and_pullbacks_catch_the_flip() -> None:
    program = cadiff.compile(hinge)
    v = np.array([1.0, -2.0])
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0]), np.array([math.nan, 2.0])):
        near(program.hvp(x, v), cadiff.hvp(hinge)(x, v))
        near(program.jvp((x,), (v,)), cadiff.jvp(hinge, (x,), (v,)))
        value, pullback = program.vjp(x)
        expected, other = cadiff.vjp(hinge, x)
        near((value, pullback(2.0)), (expected, other(2.0)))


CHOICES: dict[str, Function] = {
    "if": lambda x: x[0] * 2.0 if x[1] < x[0] else x[1] * x[1],
    "max": lambda x: max(x[0], x[1], x[2]) * x[2],
    "min of all": lambda x: min(x) * x[0],
    "abs and power": lambda x: abs(x[0]) ** 3 + abs(x[1] * x[2]),
    "bool of a number": lambda x: x[0] if x[1] else x[2],
    "not": lambda x: x[0] if not x[1] else x[2],
    "any": lambda x: cnp.sum(x) if (x > 0.5).any() else cnp.sum(x * x),
    "all": lambda x: cnp.sum(x) if np.all(x > 0.0) else cnp.sum(x * x),
    "mask": lambda x: cnp.sum(x[x > 0.0] ** 2),
    "mask to assign to": lambda x: cnp.sum(masked(x)),
    "count": lambda x: cnp.sum(x) * float(np.sum(x > 0.0)),
    "sorted": lambda x: sum(k * t for k, t in enumerate(sorted(x))),
    "sort": lambda x: cnp.sum(cnp.sort(x) * np.arange(3.0)),
    "argsort": lambda x: cnp.sum(x[np.argsort(x)] * np.arange(3.0)),
    "argmax": lambda x: x[np.argmax(x)] * x[0],
    "argmin": lambda x: x[np.argmin(x)] * x[0],
    "method argmax": lambda x: x[x.argmax()] * x[0],
    "largest": lambda x: cnp.max(x) * cnp.min(x),
    "maximum": lambda x: cnp.sum(cnp.maximum(x, x[::-1]) * x),
    "clip": lambda x: cnp.sum(cnp.clip(x, -0.5, 0.5) * x),
    "where": lambda x: cnp.sum(cnp.where(x > 0.2, x * x, -x)),
    "nonzero": lambda x: cnp.sum(x[np.nonzero(x > 0.1)]),
    "one argument of where": lambda x: cnp.sum(x[np.where(x > 0.1)]),
    "median": lambda x: cnp.median(x) * x[0],
    "round": lambda x: round(x[0] * 3.0) * x[1],
    "floor": lambda x: math.floor(x[0] * 3.0) * x[1] + cnp.sum(cnp.floor(x) * x),
    "modulo": lambda x: (x[0] % 0.3) * x[1] + divmod(x[1], 0.4)[1],
    "sign": lambda x: cnp.sum(cnp.sign(x) * x),
    "isnan": lambda x: x[0] if np.isnan(x[1]) else x[1],
    "isfinite": lambda x: cnp.sum(x) if np.isfinite(x).all() else x[2] * 0.5,
    "equal": lambda x: x[0] if x[1] == x[2] else x[1] * x[2],
    "in": lambda x: x[0] if 0.25 in [x[1], x[2]] else x[1] * x[2],
    "allclose": lambda x: x[0] if np.allclose(x, 0.25) else x[1] * x[2],
    "array_equal": lambda x: x[0] if np.array_equal(x, x[::-1]) else x[1] * x[2],
    "chained": lambda x: x[0] if -0.3 < x[1] < 0.3 else x[2] * x[2],
    "while": lambda x: halved(x[0]) * x[1],
    "dict of choices": lambda x: {True: x[0], False: x[1] * 2.0}[bool(x[2] > 0.1)],
    "count_nonzero": lambda x: x[0] * float(np.count_nonzero(x > 0.0)),
    "interp": lambda x: cnp.interp(x[0], [-1.0, 0.0, 1.0], [0.0, 2.0, 3.0]) * x[1],
    "unique": lambda x: cnp.sum(cnp.unique(x) ** 2),
    "norms": lambda x: cnp.linalg.norm(x) + cnp.linalg.norm(x, 1) + cnp.linalg.norm(x, np.inf),
    "partition": lambda x: cnp.sum(cnp.partition(x, 1)[:2]),
    "tolist": lambda x: sum(t * t for t in x.tolist()),
    "text": lambda x: x[0] * float(f"{x[1]:.3f}"),
    "stop_gradient": lambda x: x[0] * cadiff.stop_gradient(x[1]),
    "array of objects": lambda x: np.array([x[0], x[1] * x[2]], dtype=object).max() * x[0],
    "map": lambda x: sum(map(abs, x)) * x[0],
    "logical": lambda x: cnp.sum(cnp.where(np.logical_and(x > 0.0, x[::-1] < 0.3), x, x * x)),
    "select": lambda x: cnp.sum(cnp.select([x > 0.3, x > 0.0], [x, x * x], -x)),
    "percentile": lambda x: cnp.percentile(x, 30.0) * x[0],
    "cumulative maximum": lambda x: cnp.sum(cnp.maximum.accumulate(x) * x),
    "heaviside": lambda x: cnp.sum(cnp.heaviside(x, 0.5) * x),
}


def masked(x: Any) -> Any:
    y = x * 1.0
    y[x < 0.1] = 0.3
    return y * x


def halved(t: Any) -> Any:
    while 0.1 < abs(t) < 10.0:
        t = t * 0.5
    return t


PLACES = [
    [0.2, -0.4, 0.7],
    [-0.4, 0.7, 0.2],
    [0.7, 0.2, -0.4],
    [0.25, 0.25, 0.25],
    [0.0, 0.0, -0.0],
    [0.9, 0.0, 0.45],
    [-0.9, -0.1, -0.45],
    [math.nan, 0.1, 0.2],
    [0.1, math.nan, 0.2],
    [math.inf, -math.inf, 1.0],
]


@pytest.mark.parametrize("first", range(len(PLACES)))
@pytest.mark.parametrize("name", CHOICES)
def test_replays_never_give_another_branch(name: str, first: int) -> None:
    f = CHOICES[name]
    warnings.simplefilter("ignore")
    for optimize in (True, False):
        program = cadiff.compile(f, optimize=optimize)
        for values in PLACES[first:] + PLACES[:first]:
            x = np.array(values)
            with np.errstate(all="ignore"):
                try:
                    wanted = cadiff.value_and_grad(f)(x)
                except (ValueError, IndexError, TypeError, NotImplementedError) as error:
                    with pytest.raises(type(error)):
                        program.value_and_grad(x)
                    continue
                near(program.value_and_grad(x), wanted, f"{name} {values}")
                near(program(x), wanted[0], f"{name} {values}")


# --- methods and arguments -----------------------------------------------------------------------


def mixed(x: Any, tree: Any, n: int, kind: str | None, *, flag: bool = False, w: Any = 1.0) -> Any:
    total = tree["a"] * x + tree["b"][0] ** n * w
    if kind == "sine":
        total = cadiff.sin(total)
    return cnp.sum(total) * (2.0 if flag else 1.0)


def test_arguments_of_all_kinds() -> None:
    program = cadiff.compile(mixed)
    rng = np.random.default_rng(0)
    for n in (1, 2):
        for kind in (None, "sine", "other"):
            for flag in (False, True):
                for _ in range(3):
                    x = rng.normal(size=4)
                    tree = {"a": float(rng.normal()), "b": (rng.normal(size=4), [1.5, 2])}
                    w = float(rng.normal())
                    args, named = (x, tree, n, kind), {"flag": flag, "w": w}
                    near(program(*args, **named), mixed(*args, **named))
                    for argnums in (0, 1, -3, (0, 1), (1, 0), (1,)):
                        near(
                            program.value_and_grad(*args, argnums=argnums, **named),
                            cadiff.value_and_grad(mixed, argnums)(*args, **named),
                        )
                    for argnums in (0, (0, 1)):
                        near(
                            program.jacobian(*args, argnums=argnums, **named),
                            cadiff.jacobian(mixed, argnums)(*args, **named),
                        )
                        near(
                            program.hessian(*args, argnums=argnums, **named),
                            cadiff.hessian(mixed, argnums)(*args, **named),
                        )
                    near(
                        program.hvp(x, x, *args[1:], **named),
                        cadiff.hvp(mixed)(x, x, *args[1:], **named),
                    )
    assert program.stats()["branch_changes"] == 0


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6.0)[::2],
        np.arange(6.0)[::-1],
        np.arange(6.0).reshape(2, 3).T,
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(4.0).astype(">f8"),
        np.arange(4.0, dtype=np.float32),
        np.arange(1, 5),
        np.arange(1, 5, dtype=np.uint8),
        np.array(2.0),
        np.array(2.0, dtype=">f8"),
        np.array(3),
        np.zeros(0),
        np.zeros((0, 3)),
        np.ones((2, 1, 3)),
        np.broadcast_to(np.array(1.5), (2, 3)),
        np.frombuffer(np.arange(3.0).tobytes()),
        np.float64(2.0),
        np.float32(2.0),
        np.int64(2),
        2.0,
        2,
        [1.0, 2.0],
        [1, 2],
        (1.0, 2),
        Pair(1.0, 2.0),
        Pair(1.0, np.ones(2)),
        {"a": 1.0, "b": [2.0, np.ones(3)]},
        [],
        {},
    ],
    ids=repr,
)
def test_points_of_all_kinds(x: Any) -> None:
    def f(x: Any) -> Any:
        return sum((cnp.sum(t * t * t) for _, t in leaves(x)), cnp.zeros(()))

    before = copy.deepcopy(x)
    program = cadiff.compile(f)
    for _ in range(2):
        near(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
        near(program.grad(x), cadiff.grad(f)(x))
        near(program(x), cadiff.value_and_grad(f)(x)[0])
        near(program.hessian(x), cadiff.hessian(f)(x))
        near(program.jacobian(x), cadiff.jacobian(f)(x))
        out, pullback = program.vjp(x)
        expected, other = cadiff.vjp(f, x)
        near((out, pullback(1.5)), (expected, other(1.5)))
    np.testing.assert_equal(x, before)


RESULTS: dict[str, Function] = {
    "a constant": lambda x: 3.0,
    "a constant array": lambda x: np.ones((2, 2)),
    "an integer": lambda x: 3,
    "its input": lambda x: x,
    "its input twice": lambda x: (x, x),
    "a view": lambda x: x[::-1],
    "elements": lambda x: [x[0], x[1]],
    "an element twice": lambda x: [x[0], x[0], 1.0, x[0]],
    "a tree": lambda x: {"s": cnp.sum(x), "v": (x * 2.0, [x[0], 1.0])},
    "a named tuple": lambda x: Pair(x * 2.0, cnp.sum(x)),
    "a named tuple of numbers": lambda x: Pair(x[0], x[1]),
    "constants and numbers": lambda x: (np.arange(3.0), x[1], 2.0, x * 0.0),
    "no numbers": lambda x: x[:0],
    "an empty list": lambda x: [],
    "one number in an array": lambda x: x[:1] * 2.0,
    "objects": lambda x: np.array([x[0], 2.0, x[1]], dtype=object),
    "an array with its transpose": lambda x: (cnp.outer(x, x), cnp.outer(x, x).T),
    "what was assigned to": lambda x: overwritten(x),
}


def overwritten(x: Any) -> Any:
    y = x * 1.0
    z = y[:2]
    y[0] = x[1] * x[2]
    return y, z


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("optimize", [True, False])
def test_results_of_all_kinds(name: str, optimize: bool) -> None:
    f = RESULTS[name]
    program = cadiff.compile(f, optimize=optimize)
    for x in (np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.25, -1.0])):
        wanted, other = cadiff.vjp(f, x)
        got = program(x)
        same(got, wanted)
        for _, leaf in leaves(got):  # results are the user's own
            if isinstance(leaf, np.ndarray):
                assert leaf.flags.owndata
                assert leaf.flags.writeable
                leaf[...] = 99.0
        same(program(x), wanted)
        near(program.jacobian(x), cadiff.jacobian(f)(x))
        near(program.jvp((x,), (x,)), cadiff.jvp(f, (x,), (x,)))
        out, pullback = program.vjp(x)
        same(out, wanted)
        near(pullback(wanted), other(wanted))
        assert list(x) in ([1.0, -2.0, 3.0], [0.5, 0.25, -1.0])


def test_gradients_are_fresh_and_inputs_stay() -> None:
    program = cadiff.compile(wave)
    x = np.array([1.0, 2.0, 3.0])
    first = program.grad(x)
    kept = first.copy()
    program.grad(x + 1.0)
    same(first, kept)
    first[:] = 0.0
    same(program.grad(x), kept)
    _, pullback = program.vjp(x)
    x[:] = 0.0  # the pullback keeps what it needs
    near(pullback(1.0), kept)


def test_unused_arguments_and_the_same_array_twice() -> None:
    program = cadiff.compile(lambda x, y: cnp.sum(x * x))
    x = np.array([1.0, 2.0])
    near(program.grad(x, x, argnums=(0, 1)), (2.0 * x, 0.0 * x))
    near(cadiff.compile(lambda x, y: x @ y).grad(x, x, argnums=(0, 1)), (x, x))


def test_pullbacks_outlive_other_calls_and_clear() -> None:
    program = cadiff.compile(hinge)
    _, up = program.vjp(np.array([1.0, 2.0]))
    _, down = program.vjp(np.array([-1.0, 2.0]))
    program.clear()
    near(up(1.0), np.array([2.0, 4.0]))
    near(down(1.0), np.array([3.0, 3.0]))
    cotangent = cadiff.grad(lambda u: cnp.sum(up(u)))(2.0)
    assert cotangent == 6.0


def test_static_arguments_have_recordings_of_their_own() -> None:
    def f(x: Any, n: Any, *, name: Any = None) -> Any:
        return x ** (2 if n is True else 3 if n else 4) * (1.0 if name is None else len(name))

    program = cadiff.compile(f)
    for n in (1, True, 0, False, None, "a", "", (1, True), np.bool_(True), np.array([True])):
        for name in (None, "ab", "abc"):
            assert program(1.5, n, name=name) == f(1.5, n, name=name)
            assert program.grad(1.5, n, name=name) == cadiff.grad(f)(1.5, n, name=name)
    assert program.stats()["eager"] == 0


def test_static_first_arguments() -> None:
    """What f is called with is no derivative's argument yet."""

    def f(kind: str, n: int, x: Any) -> Any:
        return sum(x * k for k in range(n)) if kind == "sum" else x

    program = cadiff.compile(f)
    assert program("sum", 4, 2.0) == 12.0
    assert program("other", 4, 2.0) == 2.0
    assert program.grad("sum", 4, 2.0, argnums=2) == 6.0
    assert program.hessian("sum", 4, 2.0, argnums=-1) == 0.0

    def g(n: int, x: Any) -> Any:
        return sum(x**k for k in range(n))

    assert cadiff.compile(g)(3, 2.0) == 7.0


def test_arrays_of_indices_as_arguments() -> None:
    def f(x: Any, order: Any) -> Any:
        return cnp.sum(x[order] * np.arange(3.0))

    program = cadiff.compile(f)
    x = np.array([1.0, 2.0, 4.0])
    for order in (np.array([2, 0, 1]), np.array([0, 0, 0]), [1, 2, 0]):
        assert program(x, order) == f(x, order)
        same(program.grad(x, order), cadiff.grad(f)(x, order))


# --- batches -------------------------------------------------------------------------------------

WHATS = ["value", "grad", "value_and_grad", "jacobian", "hessian"]


def stacked(items: list[Any]) -> Any:
    first = items[0]
    if isinstance(first, dict):
        return {key: stacked([item[key] for item in items]) for key in first}
    if isinstance(first, tuple):
        parts = [stacked(list(part)) for part in zip(*items, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    return np.array(items)


def point_of(x: Any) -> Any:
    return float(x) if np.ndim(x) == 0 else x


def any_shape(x: Any, c: Any = 1.0) -> Any:
    y = cnp.sum(x * x) * c
    if y > 2.0:
        y = cadiff.sqrt(y) * 3.0
    return y + cnp.sum(cadiff.sin(x))


@pytest.mark.parametrize("what", WHATS)
@pytest.mark.parametrize("threads", [None, 1, 2])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (30,), (5, 0)])
def test_batches_are_the_calls_one_by_one(what: str, threads: int | None, shape: Any) -> None:
    program, other = cadiff.compile(any_shape), cadiff.compile(any_shape, optimize=False)
    rng = np.random.default_rng(0)
    for points in (1, 2, 7, 300):
        if what == "hessian" and points > 7:
            continue
        X = rng.normal(size=(points, *shape))
        before = X.copy()
        wanted = stacked([getattr(other, what)(point_of(x), 1.5) for x in X])
        near(program.batch(X, 1.5, what=what, threads=threads), wanted)
        same(X, before)
        if what != "value":
            wanted = [getattr(other, what)(point_of(x), c=1.5, argnums=(0,)) for x in X]
            near(program.batch(X, c=1.5, what=what, argnums=(0,)), stacked(wanted))


def test_batches_by_other_arguments_and_layouts() -> None:
    program = cadiff.compile(wave)
    X = np.random.default_rng(1).normal(size=(6, 3))
    by_scale = [cadiff.grad(wave, 1)(x, 0.5) for x in X]
    near(program.batch(X, 0.5, what="grad", argnums=1), np.array(by_scale))
    for other in (X[::-1], X[:, ::-1], X.T.copy().T, X.astype(">f8"), X.tolist()):
        near(program.batch(other), np.array([wave(np.array(x)) for x in np.asarray(other)]))
    frozen = X.copy()
    frozen.flags.writeable = False
    near(program.batch(frozen, what="grad"), np.stack([cadiff.grad(wave)(x) for x in X]))
    single = X.astype(np.float32)
    gradients = program.batch(single, what="grad")
    assert gradients.dtype == program.grad(single[0]).dtype == np.float32
    whole = np.arange(6).reshape(2, 3)
    near(program.batch(whole), np.array([wave(x.astype(float)) for x in whole]))


def test_batches_whose_rows_take_other_ways_to_other_results() -> None:
    def f(x: Any) -> Any:
        return {"up": x * 2.0} if x[0] > 0.0 else {"down": x * 3.0}

    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    near(cadiff.compile(f).batch(X), {"up": X * 2.0})
    with pytest.raises((KeyError, ValueError, TypeError)):
        cadiff.compile(f).batch(np.array([[1.0, 2.0], [-1.0, 2.0]]))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 2, 2)])
def test_batches_of_no_points(shape: tuple[int, ...]) -> None:
    program = cadiff.compile(any_shape)
    X = np.zeros(shape)
    assert program.batch(X).shape == (0,)
    assert program.batch(X, what="grad").shape == shape
    values, gradients = program.batch(X, what="value_and_grad")
    assert (values.shape, gradients.shape) == ((0,), shape)
    assert program.batch(X, what="jacobian").shape == shape
    assert program.batch(X, what="hessian").shape == shape + shape[1:]


def test_batches_of_more_ways_than_are_kept() -> None:
    def f(x: Any) -> Any:
        for k in range(12):
            if x < k:
                return x * k
        return x * 0.5

    X = np.linspace(-1.0, 13.0, 60)
    program = cadiff.compile(f, max_traces=3)
    near(program.batch(X), np.array([f(x) for x in X]))
    near(program.batch(X, what="grad"), np.array([cadiff.grad(f)(float(x)) for x in X]))
    assert len(program.stats()["traces"]) == 3


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (1.0, {}, "leading axis"),
        (np.ones(3), {"what": "values"}, "what"),
        (np.ones(3), {"threads": 0}, "threads"),
        (np.ones(3), {"threads": True}, "threads"),
        (np.ones(3), {"threads": "two"}, "threads"),
        (np.ones(3), {"threads": 1.5}, "threads"),
        (np.array([True, False]), {}, "bool"),
        (np.array(["a"]), {}, "no real number"),
        (np.ones(3) * 1j, {}, "complex"),
    ],
)
def test_bad_batches(X: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        cadiff.compile(lambda x: x * 2.0).batch(X, **options)


# --- composition ---------------------------------------------------------------------------------


def cube(x: Any) -> Any:
    return cnp.sum(x * x * x) if cnp.sum(x) > 0.0 else cnp.sum(x)


def test_transforms_of_programs_and_programs_of_transforms() -> None:
    x = np.array([1.0, 2.0])
    program = cadiff.compile(cube)
    program(x)
    near(cadiff.grad(program)(x), 3.0 * x * x)
    near(cadiff.hessian(program)(x), np.diag(6.0 * x))
    near(cadiff.jvp(program, (x,), (x,)), (9.0, 27.0))
    near(cadiff.hvp(program)(x, x), 6.0 * x * x)
    near(cadiff.jacobian(cadiff.grad(program))(x), np.diag(6.0 * x))
    near(cadiff.jacobian(program.grad)(x), np.diag(6.0 * x))
    near(cadiff.grad(lambda x: cnp.sum(program.grad(x)))(x), 6.0 * x)
    near(cadiff.grad(lambda x: program.value_and_grad(x)[0])(x), 3.0 * x * x)
    near(
        cadiff.grad(lambda x: program(x) ** 2 + program(2.0 * x))(x),
        2 * 9.0 * 3 * x * x + 24.0 * x * x,
    )
    assert cadiff.derivative(lambda t: program(t * x), 1.0, order=3) == 54.0
    out, linear = cadiff.linearize(program, x)
    assert (out, linear(x)) == (9.0, 27.0)
    y = cadiff.Var([1.0, 2.0])
    program(y).backward()
    near(y.grad, 3.0 * x * x)
    gradient = cadiff.compile(cadiff.grad(cube))
    for at in (x, -x, x):
        near(gradient(at), cadiff.grad(cube)(at))
        near(gradient.jacobian(at), cadiff.hessian(cube)(at))
    assert gradient.stats()["eager"] == 0
    for make in (cadiff.hessian, cadiff.jacobian, cadiff.value_and_grad):
        composed = cadiff.compile(make(cube))
        for at in (x, -x, x):
            near(composed(at), make(cube)(at))
    for mode in (cadiff.jacfwd, cadiff.jacrev):
        near(cadiff.compile(mode(lambda x: x * x[::-1]))(x), mode(lambda x: x * x[::-1])(x))


def test_programs_within_programs() -> None:
    inner = cadiff.compile(cube)
    outer = cadiff.compile(lambda x: inner(x) * inner(-x) + inner(np.array([1.0, 1.0])))

    def plain(x: Any) -> Any:
        return cube(x) * cube(-x) + 2.0

    for x in (np.array([1.0, 2.0]), np.array([-1.0, -2.0]), np.array([3.0, 2.0])):
        near(outer.value_and_grad(x), cadiff.value_and_grad(plain)(x))
    assert outer.stats()["eager"] == 0

    @cadiff.compile
    def made_within(x: Any) -> Any:
        return cadiff.compile(lambda y: y * y * x)(x) + cadiff.compile(lambda y: y * y).grad(x)

    assert made_within(2.0) == 12.0
    assert made_within(3.0) == 33.0
    assert made_within.grad(3.0) == 29.0


@pytest.mark.filterwarnings("ignore:.*runs its function as it is")
def test_closures_over_numbers_of_an_outer_derivative() -> None:
    warnings.simplefilter("ignore")
    assert cadiff.grad(lambda a: cadiff.compile(lambda x: a * x)(2.0))(3.0) == 2.0
    assert cadiff.grad(lambda a: cadiff.compile(lambda x: a * x * x).grad(2.0))(3.0) == 4.0
    assert cadiff.grad(lambda a: a * cadiff.compile(lambda x: a + x).grad(1.0))(1.0) == 1.0
    assert cadiff.grad(lambda a: a * cadiff.compile(lambda x: a * x).grad(1.0))(4.0) == 8.0
    assert cadiff.derivative(lambda a: cadiff.compile(lambda x: a * x)(2.0), 3.0) == 2.0
    assert cadiff.jvp(lambda a: cadiff.compile(lambda x: a * x)(2.0), (3.0,), (1.0,)) == (6.0, 2.0)
    near(cadiff.hessian(lambda a: cadiff.compile(lambda x: a * a * x)(2.0) * a)(3.0), 36.0)
    seen: list[Any] = []

    def shared(a: Any) -> Any:
        seen[:] = [a]
        return program(2.0)

    program = cadiff.compile(lambda x: seen[0] * x)
    warnings.simplefilter("ignore")
    for a in (3.0, 5.0):
        assert cadiff.value_and_grad(shared)(a) == (2.0 * a, 2.0)
    out = cadiff.compile(lambda a: cadiff.compile(lambda x: a * x)(2.0))
    assert [out(a) for a in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert out.grad(3.0) == 2.0


def test_loops_over_rows_and_checkpoints() -> None:
    row = cadiff.compile(lambda x: cnp.sum(x * x))

    def rows(X: Any) -> Any:
        return cnp.stack([row(x) for x in X])

    X = np.arange(6.0).reshape(3, 2)
    near(cadiff.jacobian(rows)(X), cadiff.jacobian(lambda X: cnp.sum(X * X, axis=1))(X))
    near(cadiff.compile(rows).jacobian(X), cadiff.jacobian(rows)(X))
    warnings.simplefilter("ignore")

    def checkpointed(x: Any) -> Any:
        return cadiff.checkpoint(cadiff.sin)(x) * x

    program = cadiff.compile(checkpointed)
    for x in (1.0, 2.0):
        near(program.value_and_grad(x), cadiff.value_and_grad(checkpointed)(x))
        near(program(x), math.sin(x) * x)
        near(cadiff.checkpoint(program)(x), math.sin(x) * x)
        near(cadiff.grad(cadiff.checkpoint(cadiff.compile(cadiff.sin)))(x), math.cos(x))


def test_nan_check_watches_programs() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cadiff.log(x)))
    x = np.array([1.0, 2.0])
    program.grad(x)
    program(x)
    with cadiff.nan_check():
        near(program.grad(x), 1.0 / x)
        with pytest.raises(cadiff.NonFiniteError):
            program.grad(np.array([1.0, -2.0]))
    with np.errstate(invalid="ignore"):
        assert math.isnan(program(np.array([1.0, -2.0])))


OBSTACLES: dict[str, Function] = {
    "unique": lambda x: cnp.sum(cnp.unique(x) ** 3),
    "isin": lambda x: cnp.sum(cnp.isin(x, [1.0, 2.0]) * x**3),
    "signbit": lambda x: cnp.sum(cnp.where(cnp.signbit(x), x, x**3)),
    "root": lambda x: x[1] * cadiff.root(lambda y: y**3 + y - x[0] ** 2, 1.0),
}

READINGS: dict[str, Function] = {
    "value": lambda x: x[0] * cadiff.value(x[1]),
    "value of an array": lambda x: x[0] * cadiff.value(x)[1],
    "item": lambda x: x[0] * x[1].item(),
    "attribute": lambda x: x[0] * x[1].value,
    "short attribute": lambda x: x[0] * x[1].v,
}


@pytest.mark.parametrize("name", READINGS)
def test_readings_of_values_are_refused_with_the_reason(name: str) -> None:
    program = cadiff.compile(READINGS[name])
    before = usage()
    for call in (program.grad, program, program.hessian):
        with pytest.raises(TypeError, match=r"compiled.*stop_gradient"):
            call(np.array([1.0, 2.0]))
    assert usage() == before
    assert program.stats()["recordings"] == 0


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_cannot_be_compiled_runs_as_it_is_and_says_why(name: str) -> None:
    f = OBSTACLES[name]
    program = cadiff.compile(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x in (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])):
            near(program(x), f(x))
            near(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
            near(program.hessian(x), cadiff.hessian(f)(x))
            near(program.hvp(x, x), cadiff.hvp(f)(x, x))
            near(program.jvp((x,), (x,)), cadiff.jvp(f, (x,), (x,)))
            near(program.vjp(x)[1](1.0), cadiff.grad(f)(x))
            near(program.batch(np.stack([x, x])), np.array([f(x), f(x)]))
            near(program.batch(np.stack([x, x]), what="grad"), np.stack([cadiff.grad(f)(x)] * 2))
    stats = program.stats()
    assert stats["recordings"] == 0
    assert stats["eager"] > 0
    assert len(stats["obstacles"]) >= 1
    messages = [str(w.message) for w in caught if w.category is RuntimeWarning]
    assert messages, "no warning"
    assert all(any(reason in text for reason in stats["obstacles"]) for text in messages)
    assert caught[0].filename == __file__


# --- options and the object ----------------------------------------------------------------------


def test_a_branch_change_raises() -> None:
    program = cadiff.compile(hinge, on_branch_change="raise")
    x = np.array([1.0, 2.0])
    assert program(x) == 5.0
    for call in (
        lambda: program(-x),
        lambda: program.grad(-x),
        lambda: program.hessian(-x),
        lambda: program.batch(np.stack([x, -x])),
        lambda: program.vjp(-x),
        lambda: program.jvp((-x,), (x,)),
    ):
        with pytest.raises(RuntimeError, match="on_branch_change"):
            call()
    assert program(2.0 * x) == 20.0
    program.clear()
    assert program(-x) == -9.0


def test_a_branch_change_warns() -> None:
    program = cadiff.compile(hinge, on_branch_change="warn")
    x = np.array([1.0, 2.0])
    assert program(x) == 5.0
    with pytest.warns(RuntimeWarning, match="outcome") as caught:
        assert program(-x) == -9.0
    assert caught[0].filename == __file__
    assert program(x) == 5.0
    with pytest.warns(RuntimeWarning, match="outcome"):
        cadiff.compile(hinge, on_branch_change="warn").batch(np.stack([x, -x]))


def test_equality_warns_and_no_other_comparison_does() -> None:
    program = cadiff.compile(lambda x: 1.0 if x == 1 else x**2)
    with pytest.warns(RuntimeWarning, match="equality") as caught:
        assert program.grad(1.0) == 0.0
    assert caught[0].filename == __file__
    warnings.simplefilter("ignore")
    assert program.grad(3.0) == 6.0
    assert program.grad(1.0) == 0.0


def test_no_more_recordings_than_are_asked_for() -> None:
    def f(x: Any) -> Any:
        for k in range(10):
            if x < k:
                return x * k
        return x

    program = cadiff.compile(f, max_traces=2)
    for x in [*np.linspace(-0.5, 9.5, 11), -0.5, 9.5]:
        assert program(float(x)) == f(x)
        assert program.grad(float(x)) == cadiff.grad(f)(float(x))
    stats = program.stats()
    assert stats["recordings"] == len(stats["traces"]) == 2
    assert stats["eager"] > 0


def test_what_is_not_recorded_has_the_same_values() -> None:
    """Also where plain Python would raise, or go over to complex numbers."""

    def f(x: Any) -> Any:
        return (x**0.5 if x < 0.0 else 1.0 / x) + (0.0 if x < 5.0 else 1.0)

    kept, full = cadiff.compile(f), cadiff.compile(f, max_traces=1)
    full(10.0)
    with np.errstate(all="ignore"):
        for x in (0.0, -0.0, -2.0, 2.0, 1e-320):
            same(full(x), kept(x))


def test_integers_are_numbers_whichever_way_is_taken() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y[0] = y[0] * 0.5
        return cnp.sum(y**-1) if x[0] > 2 else cnp.sum(y)

    kept, full = cadiff.compile(f), cadiff.compile(f, max_traces=1)
    kept(np.array([3, 4]))
    full(np.array([3, 4]))
    for x in (np.array([1, 2]), np.array([3, 2])):
        near(full(x), kept(x))


def test_closures_are_constants_until_clear() -> None:
    factor = [2.0]
    program = cadiff.compile(lambda x: x * factor[0])
    assert program(3.0) == 6.0
    factor[0] = 5.0
    assert program(3.0) == 6.0
    program.clear()
    assert program.stats()["traces"] == []
    assert program(3.0) == 15.0
    vector = cadiff.compile(lambda x: cnp.sum(x) * factor[0])
    x = np.ones(3)
    assert [vector(x), vector(x)] == [15.0, 15.0]
    factor[0] = 1.0
    vector.clear()
    assert vector(x) == 3.0
    same(vector.grad(x), x)


class Model:
    """Programs as methods."""

    def __init__(self, w: float) -> None:
        self.w = w

    @cadiff.compile
    def loss(self, x: Any) -> Any:
        return cnp.sum(self.w * x * x)

    @cadiff.compile(optimize=False)
    def other(self, x: Any, *, power: int = 2) -> Any:
        return cnp.sum(self.w * x**power)

    @staticmethod
    @cadiff.compile
    def free(x: Any) -> Any:
        return x * x


def test_programs_as_methods() -> None:
    first, second = Model(2.0), Model(3.0)
    x = np.array([1.0, 2.0])
    assert first.loss(x) == 10.0
    assert second.loss(x) == 15.0
    assert first.other(x, power=3) == 18.0
    assert Model.free(3.0) == 9.0
    assert isinstance(Model.loss, Program)
    near(Model.loss.grad(second, x, argnums=1), 6.0 * x)


def test_partials_lambdas_and_decorators() -> None:
    program = cadiff.compile(functools.partial(wave, scale=3.0))
    x = np.array([0.5, 1.0])
    near(program(x), wave(x, 3.0))
    assert "partial" in repr(program)
    assert "lambda" in repr(cadiff.compile(lambda x: x))
    named = cadiff.compile(wave)
    assert "wave" in repr(named)
    assert "0 recordings" in repr(named)
    named(x)
    assert "1 recording>" in repr(named)
    assert named.__name__ == "wave"
    assert named.__doc__ == wave.__doc__
    assert named.__module__ == wave.__module__
    assert named.__wrapped__ is wave
    assert str(inspect.signature(named)) == str(inspect.signature(wave))

    @cadiff.compile(optimize=False, max_traces=1, on_branch_change="retrace")
    def decorated(x: Any) -> Any:
        """What it says."""
        return x * x

    assert decorated.__doc__ == "What it says."
    assert decorated.grad(3.0) == 6.0


module_program = cadiff.compile(wave, max_traces=3)


@cadiff.compile
def module_decorated(x: Any) -> Any:
    return cnp.sum(x * x)


def test_programs_pickle_and_copy() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for program in (module_program, module_decorated):
        for prepare in (repr, lambda p: p.grad(x), lambda p: p(x)):
            prepare(program)
            for other in (
                pickle.loads(pickle.dumps(program)),
                copy.copy(program),
                copy.deepcopy(program),
            ):
                near(other.value_and_grad(x), program.value_and_grad(x))
                near(other(2.0 * x), program(2.0 * x))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"on_branch_change": "ignore"}, ValueError, "on_branch_change"),
        ({"max_traces": 0}, ValueError, "max_traces"),
        ({"max_traces": True}, ValueError, "max_traces"),
        ({"max_traces": 2.0}, ValueError, "max_traces"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cadiff.compile(wave, **options)
    with pytest.raises(error, match=message):
        cadiff.compile(**options)(wave)


BAD_CALLS: dict[str, tuple[Function, type[Exception], str]] = {
    "no function": (lambda p: cadiff.compile(3.0), TypeError, "takes a function"),
    "text": (lambda p: p.grad("text"), TypeError, "argument 0"),
    "None": (lambda p: p.grad(None), TypeError, "argument 0"),
    "bool": (lambda p: p.grad(True), TypeError, "argument 0"),
    "complex": (lambda p: p.grad(1j), TypeError, "argument 0"),
    "array of bools": (lambda p: p.grad(np.array([True])), TypeError, "argument 0"),
    "masked": (lambda p: p.grad(np.ma.array([1.0])), TypeError, "masked"),
    "text within": (lambda p: p.grad({"a": ["b"]}), TypeError, "argument 0"),
    "argnums out of range": (
        lambda p: p.grad(np.ones(2), argnums=2),
        (ValueError, TypeError, IndexError),
        "argnums|argument",
    ),
    "negative argnums": (
        lambda p: p.grad(np.ones(2), argnums=-3),
        (ValueError, TypeError, IndexError),
        "argnums|argument",
    ),
    "argnums twice": (
        lambda p: p.grad(np.ones(2), 1.0, argnums=(0, -2)),
        (ValueError, TypeError),
        "argnums|argument",
    ),
    "argnums of text": (lambda p: p.grad(np.ones(2), argnums="0"), TypeError, "argnums"),
    "no argument": (lambda p: p.grad(), (ValueError, TypeError, IndexError), "argument"),
    "tangent of another shape": (
        lambda p: p.jvp((np.ones(2),), (np.ones(3),)),
        (ValueError, TypeError),
        "tangent",
    ),
    "too few tangents": (lambda p: p.jvp((np.ones(2),), ()), (ValueError, TypeError), "tangents"),
    "direction of another shape": (
        lambda p: p.hvp(np.ones(2), np.ones(3)),
        (ValueError, TypeError),
        "direction",
    ),
    "cotangent of another shape": (
        lambda p: p.vjp(np.ones(2))[1](np.ones(3)),
        (ValueError, TypeError),
        "cotangent",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
@pytest.mark.parametrize("warm", [False, True])
def test_bad_calls_name_what_is_wrong(name: str, warm: bool) -> None:
    call, error, message = BAD_CALLS[name]
    program = cadiff.compile(wave)
    if warm:
        program.grad(np.ones(2))
    before = usage()
    with pytest.raises(error, match=message):
        call(program)
    assert usage() == before
    assert program(np.ones(2)) == wave(np.ones(2))


@pytest.mark.parametrize("out", [None, True, 1j, "text", np.array([True]), object()])
def test_bad_results(out: Any) -> None:
    program = cadiff.compile(lambda x: out)
    before = usage()
    for method in ("__call__", "grad", "jacobian", "hessian"):
        with pytest.raises(TypeError):
            getattr(program, method)(1.0)
    assert usage() == before
    assert program.stats()["recordings"] == 0


def test_vectors_are_refused_where_a_number_is_wanted() -> None:
    program = cadiff.compile(lambda x: x * 2.0)
    x = np.ones(3)
    program(x)
    for call in (program.grad, program.value_and_grad, program.hessian):
        with pytest.raises(TypeError, match="jacobian"):
            call(x)
    with pytest.raises(TypeError):
        program.hvp(x, x)
    with pytest.raises(TypeError, match="jacobian"):
        program.batch(np.ones((2, 3)), what="grad")
    same(program(x), 2.0 * x)


def test_exceptions_pass_through_and_leave_everything_as_it_was() -> None:
    class MineError(Exception):
        pass

    def f(x: Any) -> Any:
        y = x * 2.0
        if y[0] > 1.0:
            raise MineError(y[0] > 1.0)
        return cnp.sum(y)

    program = cadiff.compile(f)
    low, high = np.array([0.1, 0.2]), np.array([1.0, 0.2])
    before = usage()
    for warm in (False, True):
        for call in (
            lambda: program(high),
            lambda: program.grad(high),
            lambda: program.hessian(high),
            lambda: program.jvp((high,), (high,)),
            lambda: program.vjp(high),
            lambda: program.hvp(high, high),
            lambda: program.batch(np.stack([low, high])),
            lambda: program.batch(np.stack([high, low]), what="grad"),
        ):
            with pytest.raises(MineError):
                call()
            assert usage() == before
        if not warm:
            assert program(low) == f(low)
    assert len(program.stats()["traces"]) == 1
    same(program.grad(low), np.array([2.0, 2.0]))


def test_an_exception_within_an_outer_derivative() -> None:
    def f(x: Any) -> Any:
        if x > 1.0:
            raise KeyError("mine")
        return x * x

    program = cadiff.compile(f)

    def outer(a: Any) -> Any:
        y = a * 3.0
        try:
            program(2.0)
        except KeyError:
            y = y + program(0.5) * a
        return y * y

    assert cadiff.value_and_grad(outer)(2.0) == (42.25, 42.25)


# --- threads and memory --------------------------------------------------------------------------


def in_threads(n: int, job: Callable[[int], Any]) -> list[Any]:
    gate = threading.Barrier(n)

    def run(k: int) -> Any:
        gate.wait()
        return job(k)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))


def long(x: Any) -> Any:
    """More operations than are carried out while other threads wait."""
    y = x
    for k in range(12):
        y = cadiff.sin(y) * 1.01 + 0.1 * k if y[0] > -10.0 else y
    return cnp.sum(y * y[::-1])


@pytest.mark.parametrize("n", [3, 5000])
def test_eight_threads_replay_one_program(n: int) -> None:
    program = cadiff.compile(long)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, n))
    wanted = [program.value_and_grad(x) for x in X]
    second = [program.hvp(x, x) for x in X]

    def job(k: int) -> bool:
        for j in range(40):
            i = (j + k) % 8
            value, gradient = program.value_and_grad(X[i])
            assert value == program(X[i]) or abs(value - program(X[i])) < 1e-9 * n
            np.testing.assert_array_equal(gradient, wanted[i][1])
            assert value == wanted[i][0]
            if j % 8 == 0:
                np.testing.assert_array_equal(program.hvp(X[i], X[i]), second[i])
        return True

    assert all(in_threads(8, job))


def test_threads_replay_while_others_record() -> None:
    program = cadiff.compile(any_shape, max_traces=4)
    rng = np.random.default_rng(0)
    points = [rng.normal(size=n) * s for n in (1, 2, 3, 5, 8, 30) for s in (0.1, 0.5, 2.0)]
    wanted = [cadiff.value_and_grad(any_shape)(x) for x in points]

    def job(k: int) -> bool:
        for j in range(4 * len(points)):
            i = (5 * j + k) % len(points)
            near(program.value_and_grad(points[i]), wanted[i])
            near(program(points[i]), wanted[i][0])
            if k == 0 and j % 20 == 0:
                program.clear()
        return True

    assert all(in_threads(8, job))


def test_first_calls_in_many_threads_make_one_recording() -> None:
    entered = threading.Event()

    def f(x: Any) -> Any:
        entered.wait(0.2)  # so that all threads have found that there is no recording
        return cnp.sum(x * x)

    program = cadiff.compile(f)
    x = np.array([1.0, 2.0])
    assert in_threads(8, lambda k: program(x)) == [5.0] * 8
    assert len(program.stats()["traces"]) == 1


def jobs() -> dict[str, Callable[[], Any]]:
    program = cadiff.compile(hinge)
    many = cadiff.compile(lambda x, n: cnp.sum(x * n))
    x = np.array([1.0, 2.0])
    X = np.stack([x, -x, x])
    v = {"a": [1.0, 2.0], "b": x}
    tree = cadiff.compile(lambda t: {"s": t["a"][0] * cnp.sum(t["b"])})

    def refused() -> None:
        for call in (lambda: program.grad("text"), lambda: program.jvp((x,), (1.0,))):
            with pytest.raises((TypeError, ValueError)):
                call()

    return {
        "value": lambda: program(x),
        "flips": lambda: (program(x), program(-x)),
        "grad": lambda: program.grad(x),
        "value_and_grad": lambda: program.value_and_grad(-x),
        "float32": lambda: program.grad(x.astype(np.float32)),
        "hessian": lambda: program.hessian(x),
        "jacobian": lambda: program.jacobian(x),
        "hvp": lambda: program.hvp(x, x),
        "jvp": lambda: program.jvp((x,), (x,)),
        "vjp": lambda: program.vjp(x)[1](1.0),
        "batch": lambda: program.batch(X),
        "batch of gradients": lambda: program.batch(X, what="value_and_grad"),
        "containers": lambda: tree.jacobian(v),
        "static": lambda: many(x, 3),
        "refused": refused,
        "outer derivative": lambda: cadiff.grad(program)(x),
        "clear": lambda: (program.clear(), program.grad(x)),
        "stats": lambda: (program.stats(), repr(program)),
    }


@pytest.mark.parametrize("name", jobs())
def test_no_call_leaks_memory(name: str) -> None:
    job = jobs()[name]
    repeats = 20 if name == "refused" else 100
    grown = []
    before_all = usage()
    tracemalloc.start()
    try:
        for _ in range(8):  # caches of Python's own fill slowly
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(repeats):
                job()
            gc.collect()
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert min(grown) < repeats * 64, grown  # less than the smallest array
    assert usage() == before_all


def test_programs_and_what_they_know_are_released() -> None:
    class Marked:
        def __del__(self) -> None:
            died.append(True)

    died: list[bool] = []
    marked = Marked()
    program = cadiff.compile(lambda x, marked=marked: x * 2.0)
    program.grad(1.0)
    program.vjp(1.0)
    del marked, program
    gc.collect()
    assert died == [True]
