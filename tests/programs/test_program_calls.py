"""Programs when they are called: branches, methods, arguments and results, batches."""

from __future__ import annotations

import copy
import enum
import itertools
import math
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.names import name_of
from ..helpers.programs import Pair, any_shape, hinge, leaves, near, same, stacked, wave
from ..helpers.ways import METHODS, Eager

Function = Callable[..., Any]


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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("special", [math.nan, 0.0, -0.0, -math.inf])
def test_every_method_catches_the_flip(method: str, special: float) -> None:
    program = cadiff.compile(hinge)
    call = METHODS[method]
    for values in ([1.0, 2.0], [special, 2.0], [1.0, 3.0], [-5e-324, 1.0], [5e-324, 1.0]):
        x = np.array(values)
        near(call(program, x), call(Eager(hinge), x))
    assert program.stats()["branch_changes"] == 1


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


@pytest.mark.slow
@pytest.mark.parametrize("first", range(len(PLACES)))
@pytest.mark.parametrize("name", CHOICES)
def test_replays_never_give_another_branch(name: str, first: int) -> None:
    f = CHOICES[name]
    warnings.simplefilter("ignore")
    programs = [cadiff.compile(f, optimize=optimize) for optimize in (True, False)]
    for values in PLACES[first:] + PLACES[:first]:
        x = np.array(values)
        with np.errstate(all="ignore"):
            try:
                wanted = cadiff.value_and_grad(f)(x)
            except (ValueError, IndexError, TypeError, NotImplementedError) as error:
                for program in programs:
                    with pytest.raises(type(error)):
                        program.value_and_grad(x)
                continue
            for program in programs:
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
    ways = [("value_and_grad", nums) for nums in (0, 1, -3, (0, 1), (1, 0), (1,))]
    ways += [(name, nums) for name in ("jacobian", "hessian") for nums in (0, (0, 1))]
    for n, kind, flag in itertools.product((1, 2) * 3, (None, "sine", "other"), (False, True)):
        x = rng.normal(size=4)
        tree = {"a": float(rng.normal()), "b": (rng.normal(size=4), [1.5, 2])}
        args, named = (tree, n, kind), {"flag": flag, "w": float(rng.normal())}
        near(program(x, *args, **named), mixed(x, *args, **named))
        for name, nums in ways:
            wanted = getattr(cadiff, name)(mixed, nums)(x, *args, **named)
            near(getattr(program, name)(x, *args, argnums=nums, **named), wanted)
        near(program.hvp(x, x, *args, **named), cadiff.hvp(mixed)(x, x, *args, **named))
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
    ids=name_of,
)
def test_points_of_all_kinds(x: Any) -> None:
    def f(x: Any) -> Any:
        return sum((cnp.sum(t * t * t) for _, t in leaves(x)), cnp.zeros(()))

    before = copy.deepcopy(x)
    program = cadiff.compile(f)
    for _ in range(2):
        near(program(x), cadiff.value_and_grad(f)(x)[0])
        for name in ("grad", "value_and_grad", "jacobian", "hessian", "vjp"):
            near(METHODS[name](program, x), METHODS[name](Eager(f), x))
    np.testing.assert_equal(x, before)


RESULTS: dict[str, Function] = {
    "a constant": lambda x: 3.0,
    "a constant array": lambda x: np.ones((2, 2)),
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


class Colour(enum.Enum):
    RED = 1


CONSTANTS = [3, np.int8(3), True, np.bool_(False), "text", b"", 1j, Colour.RED, np.arange(3)]


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("optimize", [True, False])
def test_what_does_not_depend_on_numbers_is_returned_as_it_is(
    constant: Any, optimize: bool
) -> None:
    def f(x: Any) -> Any:
        return {"a": [x[0], constant], "b": Pair(constant, x * 2.0)}

    program = cadiff.compile(f, optimize=optimize)
    for x in np.random.default_rng(0).normal(size=(4, 3)):
        got, wanted = program(x), f(x)
        assert got["a"][0] == wanted["a"][0] and type(got["b"]) is Pair
        np.testing.assert_array_equal(got["b"][1], wanted["b"][1])
        for found in (got["a"][1], got["b"][0]):
            assert type(found) is type(constant)
            np.testing.assert_array_equal(found, constant)
            assert not isinstance(found, np.ndarray) or found.flags.owndata
    assert program.stats()["recordings"] == 1 and program.stats()["eager"] == 0


def test_objects_are_returned_by_the_function_itself() -> None:
    program = cadiff.compile(lambda x: SimpleNamespace(y=x[0] * 2.0))
    with pytest.warns(RuntimeWarning, match="returns a SimpleNamespace, which a replay cannot"):
        program(np.ones(2))
    first, other = program(np.ones(2)), program(np.full(2, 2.0))
    assert (first.y, other.y) == (2.0, 4.0)


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


def point_of(x: Any) -> Any:
    return float(x) if np.ndim(x) == 0 else x


@pytest.mark.slow
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
        wanted = stacked([getattr(other, what)(point_of(x), 1.5) for x in X], True)
        near(program.batch(X, 1.5, what=what, threads=threads), wanted)
        same(X, before)
        if what != "value":
            wanted = [getattr(other, what)(point_of(x), c=1.5, argnums=(0,)) for x in X]
            near(program.batch(X, c=1.5, what=what, argnums=(0,)), stacked(wanted, True))


def of_three(x: Any, c: Any, y: Any) -> Any:
    slope = x[0] ** 2 * y[1] if x[0] > 0 else x[1] * c**2
    return cnp.sum(cnp.sin(x) * c * y) + slope


def parts_of_three(x: Any, c: Any, y: Any) -> Any:
    return {"wave": cnp.sin(x) * c, "total": cnp.sum(x * y[0]) * c}


@pytest.mark.parametrize("argnums", [0, 1, (0,), (1, 0), (2, 0, 1), -1, (0, -1)])
def test_batches_by_any_arguments(argnums: Any) -> None:
    X = np.random.default_rng(0).normal(size=(9, 2))
    others = 1.3, np.array([0.3, 0.4])
    for f, whats in ((of_three, WHATS), (parts_of_three, ["value", "jacobian"])):
        program = cadiff.compile(f)
        for what in whats:
            one = f if what == "value" else getattr(cadiff, what)(f, argnums)
            for threads in (1, 2):
                found = program.batch(X, *others, what=what, argnums=argnums, threads=threads)
                near(found, stacked([one(x, *others) for x in X], True))
        assert program.stats()["eager"] == 0


def test_batches_of_matrices_with_and_without_zeros() -> None:
    X = np.random.default_rng(0).normal(size=(5, 40))

    def neighbours(x: Any) -> Any:
        return cnp.sin(x[1:]) * x[:-1] + 2.0 * x[1:]

    def energy(x: Any) -> Any:
        return cnp.sum(neighbours(x) ** 2)

    for f, what in ((neighbours, "jacobian"), (energy, "hessian")):
        found = cadiff.compile(f).batch(X, what=what)
        near(found, stacked([getattr(cadiff, what)(f)(x) for x in X]))


def test_batches_of_other_layouts() -> None:
    program = cadiff.compile(wave)
    X = np.random.default_rng(1).normal(size=(6, 3))
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


def test_numbers_choose_anew_in_each_replay() -> None:
    def f(x: Any) -> Any:
        high = cnp.heaviside(x - 0.5, 0.0)
        return cnp.sum(cnp.where(high, x * x, -x) * cnp.where(cnp.maximum(x, 0.0), x, cnp.sin(x)))

    program, gradient = cadiff.compile(f), cadiff.compile(cadiff.grad(f))
    rng = np.random.default_rng(0)
    for x in (*rng.normal(size=(12, 6)), np.array([0.5, -0.0, np.nan, 0.0, 3.0, 1.0])):
        near(program(x), f(x))
        near(program.grad(x), cadiff.grad(f)(x))
        near(program.hessian(x), cadiff.hessian(f)(x))
        near(gradient(x), cadiff.grad(f)(x))
    assert program.stats()["recordings"] == 1
    assert program.stats()["eager"] == 0


def test_arguments_keep_their_types() -> None:
    class Table(dict[str, Any]):
        def total(self) -> Any:
            return sum(self.values())

    class Row(list[Any]):
        def total(self) -> Any:
            return sum(self)

    for container in (Table(a=1.0, b=2.0), Row([1.0, 2.0])):
        program = cadiff.compile(lambda c: c.total() ** 2)
        assert [program(container) for _ in range(2)] == [9.0, 9.0]
