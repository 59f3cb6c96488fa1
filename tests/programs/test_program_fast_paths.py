"""The fast paths of programs: calls of known signatures, which go straight to the code."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

from ..helpers.programs import Pair, leaves, same
from ..helpers.properties import examples
from ..helpers.threads import in_threads

Function = Callable[..., Any]

VECTOR = np.array([0.5, -1.25, 2.0])
MATRIX = np.array([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0]])


def slowly(f: Function, method: str, *args: Any, **kwargs: Any) -> Any:
    """What a method gives that was never called before."""
    return getattr(cadiff.compile(f), method)(*args, **kwargs)


def told(program: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods of a program that take the general path from now on."""
    calls: list[str] = []

    def note(name: str) -> None:
        own = getattr(program._general, name)

        def noted(*args: Any) -> Any:
            calls.append(name)
            return own(*args)

        monkeypatch.setattr(program._general, name, noted)

    for name in ("run", "hvp", "jvp", "vjp"):
        note(name)
    return calls


def energy(x: Any, y: Any = 2.0, *, scale: Any = 1.0, power: Any = 2) -> Any:
    return cnp.sum(x**power * y) * scale + cnp.sum(cnp.sin(x))


def fields(x: Any, y: Any = 2.0) -> Any:
    return {"a": x * x[0] * y, "b": [cnp.sum(x * x), (x[1] * y, x[:2])]}


def items(x: Any) -> Any:
    return x[0] * x[1] + cadiff.exp(x[2])


def squared(t: Any) -> Any:
    return t * t


def layer(p: Any, x: Any) -> Any:
    return cnp.sum(cnp.tanh(p["w"] @ x + p["b"][0]) * p["b"][1])


def parameters(t: float = 1.0) -> dict[str, Any]:
    return {"w": MATRIX * t, "b": [np.array([0.25, -t]), t]}


def line(n: int) -> Any:
    return np.linspace(0.0, 1.0, n)


SINGLE = VECTOR.astype(np.float32)
FIRST_LAST = np.array([0, 2])
METHODS = ["value", "grad", "value_and_grad", "jacobian", "hessian"]
OF_ANY = ["value", "jacobian"]
CALLS: dict[str, tuple[Function, list[str], tuple[Any, ...], dict[str, Any]]] = {
    "vector": (energy, METHODS, (VECTOR,), {}),
    "number": (lambda t: cadiff.sin(t) * t, METHODS, (1.5,), {}),
    "number of NumPy": (lambda t: cadiff.sin(t) * t, METHODS, (np.float64(1.5),), {}),
    "int": (lambda t: cadiff.sin(t) * t, METHODS, (3,), {}),
    "keyword": (energy, METHODS, (VECTOR,), {"scale": 3.0}),
    "static": (energy, METHODS, (VECTOR,), {"power": 3, "scale": 0.5}),
    "static array": (lambda x, *, at: cnp.sum(x[at] ** 2), METHODS, (VECTOR,), {"at": FIRST_LAST}),
    "function": (lambda x, g: g(x[0]) * x[1], METHODS, (VECTOR, squared), {}),
    "function of C": (lambda x, g: g(x[0]) * x[1], METHODS, (VECTOR, cadiff.sin), {}),
    "single precision": (energy, METHODS, (SINGLE,), {}),
    "half precision": (energy, METHODS, (VECTOR.astype(np.float16),), {}),
    "ints": (energy, METHODS, (np.array([1, 2, 3]),), {}),
    "strided": (energy, METHODS, (np.repeat(VECTOR, 2)[::2],), {}),
    "big-endian": (energy, METHODS, (VECTOR.astype(">f8"),), {}),
    "big-endian, single": (energy, METHODS, (VECTOR.astype(">f4"),), {}),
    "list": (items, METHODS, ([1.0, 2.0, 0.5],), {}),
    "tuple": (items, METHODS, ((1.0, 2.0, 0.5),), {}),
    "list of kinds": (items, METHODS, ([1, 2.0, np.float64(0.5)],), {}),
    "matrix": (energy, METHODS, (MATRIX,), {}),
    "transposed": (energy, METHODS, (MATRIX.T,), {}),
    "empty": (energy, METHODS, (np.empty((0, 3)),), {}),
    "no axes": (lambda x, y: x * x * cnp.sum(y), METHODS, (np.array(2.0), VECTOR), {}),
    "no axes, single": (lambda x: [x * x, x * VECTOR], OF_ANY, (np.array(2.0, np.float32),), {}),
    "second": (energy, METHODS[1:], (VECTOR, 1.5), {"argnums": 1}),
    "last": (energy, METHODS[1:], (VECTOR, SINGLE), {"argnums": -1}),
    "both": (energy, METHODS[1:], (VECTOR, SINGLE), {"argnums": (1, 0)}),
    "one of a tuple": (energy, METHODS[1:], (VECTOR, 2.0), {"argnums": (0,)}),
    "list of argnums": (energy, METHODS[1:], (VECTOR, 2.0), {"argnums": [0, 1]}),
    "tree": (layer, METHODS, (parameters(), VECTOR), {}),
    "tree and vector": (layer, METHODS[1:], (parameters(), VECTOR), {"argnums": (1, 0)}),
    "results": (fields, OF_ANY, (VECTOR, 0.5), {}),
    "results by both": (fields, ["jacobian"], (VECTOR, 0.5), {"argnums": (1, 0)}),
    "named": (lambda x: Pair(x * x, Pair(x[0], [])), OF_ANY, (VECTOR,), {}),
    "named argument": (lambda p: p.a * cnp.sum(p.b), METHODS, (Pair(2.0, VECTOR),), {}),
    "ordered": (lambda p: p["a"] * cnp.sum(p["b"]), METHODS, (OrderedDict(a=2.0, b=VECTOR),), {}),
    "many numbers": (lambda x: [x * x, cnp.sum(x)], ["value"], (line(3000),), {}),
    "many of single precision": (cnp.sum, ["grad"], (np.ones(3000, dtype=np.float32),), {}),
    "large matrix": (lambda x: cnp.sin(x) * x[::-1], ["jacobian"], (line(90),), {}),
    "by products": (lambda x: cnp.cumsum(x) * cnp.sum(x * x), ["jacobian"], (line(200),), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_further_calls_answer_as_the_first_one_and_are_short(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, methods, args, kwargs = CALLS[name]
    for method in methods:
        program = cadiff.compile(f)
        first = getattr(program, method)(*args, **kwargs)
        with monkeypatch.context() as patch:
            general = told(program, patch)
            for _ in range(3):
                again = getattr(program, method)(*args, **kwargs)
                same(again, first, f"{method} of {name}")
                for (_, mine), (_, other) in zip(leaves(again), leaves(first), strict=True):
                    if isinstance(mine, np.ndarray):
                        assert mine is not other
                        assert mine.flags.writeable
                        mine[...] = 7.0  # nobody else has it
        is_static = name == "int" and method == "value"
        assert is_static or bool(general) == (name == "list of argnums")  # which has no short way
        assert program.stats()["recordings"] == 1


def test_further_calls_that_return_whole_numbers_are_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def f(x: Any, k: Any, i: Any) -> Any:
        return {"x": x * k, "next": k + 1, "i": 2 * i}

    program = cadiff.compile(f)
    for k in (1, 2, 3):
        program(VECTOR, k, np.array([k, 2], dtype=np.int16))
    calls = told(program, monkeypatch)
    i = np.array([7, 5], dtype=np.int16)
    np.testing.assert_equal(program(VECTOR, 4, i), f(VECTOR, 4, i))
    assert not calls


# --- products ------------------------------------------------------------------------------------


def test_products_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cadiff.compile(energy)
    v = np.array([1.0, -2.0, 0.5])
    cases: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("hvp", (VECTOR, v), {}),
        ("hvp", (VECTOR, v, 0.5), {}),
        ("hvp", (VECTOR, 2.0, 0.5), {"argnums": 1}),
        ("hvp", (SINGLE, v), {"power": 3}),
        ("hvp", (VECTOR, np.array([1, 2, 3])), {"scale": 2.0}),
        ("jvp", ((VECTOR,), (v,)), {}),
        ("jvp", ([VECTOR, 2.0], [v, 1.0]), {}),
    ]
    for method, args, kwargs in cases:
        first = getattr(program, method)(*args, **kwargs)
        same(first, slowly(energy, method, *args, **kwargs))
        with monkeypatch.context() as patch:
            calls = told(program, patch)
            same(getattr(program, method)(*args, **kwargs), first, method)
            assert not calls


def test_arguments_in_dicts_of_another_order() -> None:
    program = cadiff.compile(lambda p: p["a"] ** 2 * p["b"] ** 3)
    v = {"b": 1.0, "a": 0.5}
    for p in ({"a": 2.0, "b": 3.0}, {"b": 5.0, "a": 1.0}, {"a": 4.0, "b": 1.0}):
        f = program.__wrapped__
        for direction in (v, {"a": 1.0, "b": 0.0}) * 2:
            assert program.hvp(p, direction) == pytest.approx(cadiff.hvp(f)(p, direction))
            found = program.jvp((p,), (direction,))
            assert found == pytest.approx(cadiff.jvp(f, (p,), (direction,)))
            gradient = program.grad(p)
            assert list(gradient) == list(p)
            assert gradient["a"] == 2 * p["a"] * p["b"] ** 3
            assert gradient["b"] == 3 * p["a"] ** 2 * p["b"] ** 2


def test_pullbacks_are_each_at_their_point(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cadiff.compile(fields)

    def u(t: float) -> Any:
        return {"a": np.array([t, 1.0, 2.0]), "b": [t, (0.5, [t, 1.0])]}

    x = VECTOR.copy()
    out, pull = program.vjp(x, 2.0)
    pulls = [(out, pull, x.copy())]
    pull(u(1.0))
    for k in range(3):
        x += 1.0
        pulls.append((*program.vjp(x, 2.0), x.copy()))
        x[0] = k
    for out, pull, point in pulls:
        for t in (1.0, -3.0):
            expected, other = cadiff.vjp(fields, point, 2.0)
            same(out, expected)
            for mine, wanted in zip(pull(u(t)), other(u(t)), strict=True):
                np.testing.assert_allclose(mine, wanted, rtol=1e-14)
    swapped = {"b": [1.0, (0.5, [1.0, 1.0])], "a": np.array([1.0, 1.0, 2.0])}
    for _ in range(3):
        same(pulls[0][1](swapped), pulls[0][1](u(1.0)))
    program.clear()
    same(pulls[0][1](u(1.0)), program.vjp(pulls[0][2], 2.0)[1](u(1.0)))


def test_pullbacks_refuse_what_they_refused() -> None:
    program = cadiff.compile(lambda x: x * x)
    pull = program.vjp(VECTOR)[1]
    for _ in range(2):
        same(pull(VECTOR), 2 * VECTOR * VECTOR)
        with pytest.raises(ValueError, match="the cotangent"):
            pull(np.ones(2))
        with pytest.raises(TypeError, match="the cotangent"):
            pull([1.0, True, 2.0])


# --- signatures in turn --------------------------------------------------------------------------


def test_statics_are_told_apart_by_type() -> None:
    program = cadiff.compile(
        lambda x, n=None: x * x if isinstance(n, (bool, str)) or n is None else x * n
    )
    statics = [1, 1.0, True, None, "1", 2, np.int64(1), np.int32(1), b"1", False, np.True_, 0]
    for _ in range(4):
        for n in statics:
            plain = isinstance(n, (bool, str)) or n is None
            wanted = 9.0 if plain else None if isinstance(n, (bytes, np.bool_)) else 3.0 * n
            if wanted is not None:
                assert program(3.0, n) == wanted, n
                assert program(3.0, n=n) == wanted, n


def test_first_arguments_that_are_ints_are_told_apart() -> None:
    program = cadiff.compile(lambda n, x: x * n if isinstance(n, int) else x * n * n)
    for _ in range(3):
        for n in (2, 2.0, 3, True, 3.0, np.float64(2.0)):
            assert program(n, 5.0) == (5.0 * n if isinstance(n, int) else 5.0 * n * n)
            if not isinstance(n, bool):
                assert program.grad(n, 5.0) == 10.0 * n


def test_argnums_are_told_apart_by_type() -> None:
    program = cadiff.compile(lambda x, y: x * y)
    for _ in range(3):
        assert program.grad(2.0, 3.0, argnums=1) == 2.0
        assert program.grad(2.0, 3.0, argnums=(1,)) == (2.0,)
        assert program.grad(2.0, 3.0, argnums=-1) == 2.0
        assert program.grad(2.0, 3.0, argnums=(1, 0)) == (2.0, 3.0)
        chosen = [1]
        assert program.grad(2.0, 3.0, argnums=chosen) == (2.0,)
        chosen[0] = 0
        assert program.grad(2.0, 3.0, argnums=chosen) == (3.0,)
        for wrong in (True, (True,), 1.0):
            with pytest.raises(TypeError, match="argnums"):
                program.grad(2.0, 3.0, argnums=wrong)
        with pytest.raises(TypeError, match="argnums"):
            program.grad(2.0, argnums=1)


def test_the_order_of_keywords_does_not_matter() -> None:
    program = cadiff.compile(lambda x, *, a, b: x * a - b)
    for _ in range(3):
        assert program(2.0, a=3.0, b=5.0) == 1.0
        assert program(2.0, b=5.0, a=3.0) == 1.0
        assert program.value_and_grad(2.0, b=3.0, a=5.0) == (7.0, 5.0)
        with pytest.raises(TypeError):
            program(2.0, a=3.0, c=5.0)
        with pytest.raises(TypeError):
            program(2.0, 3.0, 5.0)


def test_functions_may_see_the_order_of_keywords() -> None:
    def weighted(x: Any, **terms: float) -> Any:
        return x + sum(term * (k + 1) for k, term in enumerate(terms.values()))

    for options in ({}, {"optimize": False}):
        program = cadiff.compile(weighted, **options)
        for _ in range(3):
            assert program(0.5, a=1.0, b=2.0) == 5.5
            assert program(0.5, b=2.0, a=1.0) == 4.5
            assert program.value_and_grad(0.5, b=2.0, a=1.0) == (4.5, 1.0)
    assert list(cadiff.compile(lambda x, **by: dict.fromkeys(by, x))(1.0, d=1, c=2)) == ["d", "c"]


def test_static_arrays_are_read_again() -> None:
    program = cadiff.compile(lambda x, at: cnp.sum(x[at]))
    at = np.array([0, 1])
    for k in (0, 1, 2, 2, 0):
        at[1] = k
        assert program(VECTOR, at) == VECTOR[0] + VECTOR[k]
    for mask in ([True, False, True], [False, True, True]) * 2:
        assert program(VECTOR, np.array(mask)) == np.sum(VECTOR[mask])


def test_more_signatures_than_fast_paths_in_turn() -> None:
    program = cadiff.compile(lambda x, n: cnp.sum(x ** int(n)))
    for _ in range(4):
        for n in range(1, 12):
            for size in (1, 3):
                x = np.linspace(1.0, 2.0, size)
                np.testing.assert_allclose(program.grad(x, n), n * x ** (n - 1), rtol=1e-13)
    assert program.stats()["recordings"] == 22
    program = cadiff.compile(lambda x, n: x * int(n))
    for n in [*range(260), *range(20)]:
        assert {program.grad(2.0, n) for _ in range(10)} == {n}  # so that recordings pay


@examples(30)
@given(st.lists(st.tuples(st.sampled_from(sorted(CALLS)), st.integers(0, 4)), max_size=40))
def test_any_signatures_in_turn(turns: list[tuple[str, int]]) -> None:
    program = cadiff.compile(energy)
    for name, k in turns:
        f, methods, args, kwargs = CALLS[name]
        if f is energy:
            method = methods[k % len(methods)]
            same(getattr(program, method)(*args, **kwargs), expected(name, method), name)


def expected(name: str, method: str) -> Any:
    if (name, method) not in _EXPECTED:
        f, _, args, kwargs = CALLS[name]
        _EXPECTED[name, method] = slowly(f, method, *args, **kwargs)
    return _EXPECTED[name, method]


_EXPECTED: dict[tuple[str, str], Any] = {}


# --- branches, and what is no plain call ---------------------------------------------------------


@examples(50)
@given(st.lists(st.floats(-3.0, 3.0), max_size=30))
def test_no_branch_is_stale(points: list[float]) -> None:
    def f(t: Any) -> Any:
        return t * t if t > 1.0 else t if t > 0.0 else -3.0 * t if t > -1.0 else t**3

    program = cadiff.compile(f, max_traces=3)
    for t in points:
        assert program(t) == pytest.approx(f(t), rel=1e-15)
        assert program.value_and_grad(t) == pytest.approx(cadiff.value_and_grad(f)(t), rel=1e-14)
        assert program.hvp(t, 1.0) == pytest.approx(cadiff.hvp(f)(t, 1.0), rel=1e-14)
        assert program.vjp(t)[1](2.0) == pytest.approx(2.0 * cadiff.grad(f)(t), rel=1e-14)


def test_a_hook_sees_f() -> None:
    program = cadiff.compile(lambda x: cadiff.log(x) * 2.0)
    for _ in range(2):
        program(0.5)
        program.grad(0.5)
        with cadiff.nan_check(), pytest.raises(FloatingPointError):
            program.grad(-1.0)


def test_within_recordings_f_may_read_what_is_recorded() -> None:
    held: list[Any] = [2.0]
    inner = cadiff.compile(lambda x: x * held[0])
    for _ in range(3):
        assert inner(3.0) == 6.0

    def f(t: Any) -> Any:
        held[0] = t
        return inner(3.0)

    with pytest.warns(RuntimeWarning, match="it changes held"):
        assert cadiff.compile(f).value_and_grad(5.0) == (15.0, 3.0)


def test_ints_that_are_too_large_are_refused() -> None:
    program = cadiff.compile(lambda x: cnp.sum(x[0]) * x[1])
    for _ in range(2):
        assert program.grad([1, 2.0]) == [2.0, 1.0]
        with pytest.raises(OverflowError):
            program.grad([10**400, 2.0])
        with pytest.raises(TypeError):
            program.grad([True, 2.0])


def test_errors_of_steps_are_those_of_f() -> None:
    program = cadiff.compile(lambda a: cnp.sum(cnp.linalg.inv(a)))
    regular, singular = np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones((2, 2))
    for method in ("value", "grad", "jacobian"):
        for _ in range(3):
            getattr(program, method)(regular)
            with pytest.raises(np.linalg.LinAlgError):
                getattr(program, method)(singular)


def test_threads_with_signatures_in_turn() -> None:
    program = cadiff.compile(lambda x, n=2: cnp.sum(x**n) if x[0] > 0.0 else cnp.sum(x) * n)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            x = rng.normal(size=rng.integers(1, 4))
            n = int(rng.integers(2, 4))
            wanted = n * x ** (n - 1) if x[0] > 0.0 else np.full(x.shape, float(n))
            np.testing.assert_allclose(program.grad(x, n), wanted, rtol=1e-13)
            if rng.random() < 0.01:
                program.clear()

    in_threads(4, work)
