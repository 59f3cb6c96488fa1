"""Single ints among the arguments of programs, such as the number of a step.

One that changes is an input as long as Python does not read it. What a program gives is compared
with f itself, run eagerly on the same ints.
"""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.integers import LABELS, TABLE, N, near, replaced, row

PAIR = np.outer(np.arange(1.0, 7.0), np.arange(1.0, 7.0))


# Of a vector of 6 numbers and an int; and how many recordings serve ints from -2 to 3.
INTS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "element": (lambda x, k: x[k] * x, 2),
    "element of a constant": (lambda x, k: LABELS[k] * TABLE[k, 1] * x[LABELS[k]] * x, 2),
    "row": (lambda x, k: PAIR[k] * x + cnp.outer(x, x)[:, k], 2),
    "pair": (lambda x, k: cnp.outer(x, x)[k, -k] * x, 2),
    "window": (lambda x, k: x[k + np.arange(3)] * x[:3], 2),
    "assignment": (lambda x, k: replaced(x, k, x[1]) * x, 2),
    "factor": (lambda x, k: x * k + k * 2 - (3 - k) * x**2 + -k * abs(k) % 4 * x[0], 2),
    "exponent": (lambda x, k: x**k + 0.9**k * x + (k * 0.5) ** 2, 2),
    "quotients": (lambda x, k: x * (k / 7) + 1.5 / (k + 9) * x + (k // 2) * x[0] + k % -3, 2),
    "bits": (lambda x, k: x * (k & 3) + (k << 2) * x[0] + (~k >> 1), 6),
    "rounded": (lambda x, k: x * (round(k) + math.floor(k) * math.ceil(k)), 2),
    "rounded to tens": (lambda x, k: x * (round(k * 7, -1) + 3), 6),
    "with arrays": (lambda x, k: x * (np.arange(6) == k) + np.minimum(k, np.arange(6)) * x, 2),
    "where": (lambda x, k: cnp.where(np.arange(6) < k, x, -x) * np.float64(2.0) * k, 2),
    "functions": (lambda x, k: np.sqrt(k + 9) * x + np.maximum(k, 1) * cnp.minimum(x, k), 2),
    "type": (lambda x, k: x * (k if isinstance(k, int) and not hasattr(k, "shape") else 0), 2),
    "result": (lambda x, k: [x, k, k + 1, k / 2], 2),
    "comparison": (lambda x, k: x if k > 1 else -x * k, 3),
    "equality": (lambda x, k: x * 2.0 if k == 1 or k in (2, -7) else x, 4),
    "truth": (lambda x, k: x * 2.0 if k else -x, 3),
    "division by 0": (lambda x, k: x * (1 / k if k != 0 else 5.0), 3),
    "text": (lambda x, k: x * len(str(k)), 6),
    "turns": (lambda x, k: sum((x[h] * x for h in range(k)), x), 6),
    "slice": (lambda x, k: x[k:].sum() * x + len(x[:k]), 6),
    "list": (lambda x, k: [1.0, 2.0, 3.0, 4.0][k] * x + {-1: 2.0}.get(k, 0.0), 6),
    "plain function": (lambda x, k: math.exp(k) * x + int(k) + float(k) + math.comb(k + 2, 2), 6),
    "asked for its type": (lambda x, k: x * (k if type(k) is int else 0), 6),
    "narrow operands": (lambda x, k: np.add(np.arange(6, dtype="i1"), k) * x + x[:1], 6),
    "array of it": (lambda x, k: np.array([k, 1.0]).sum() * x + np.full(6, k), 6),
}


@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("kind", [int, np.int64])
def test_ints_that_change_are_inputs(name: str, kind: Any) -> None:
    f, count = INTS[name]
    program = cadiff.compile(f)
    rng = np.random.default_rng(17)
    for k in [*range(-2, 4), *range(-2, 4)]:
        x = row(rng)
        matrix, expected = program.jacobian(x, kind(k)), cadiff.jacobian(f)(x, kind(k))
        near(np.vstack(matrix), np.vstack(expected))
        near(np.hstack(program(x, kind(k))), np.hstack(f(x, kind(k))))
    stats = program.stats()
    assert (stats["eager"], stats["obstacles"]) == (0, [])
    if kind is int:
        assert stats["recordings"] == count


@pytest.mark.parametrize("outside", [N, -N - 1, 2**31, 2**53 + 1, 2**70, -(2**63)])
def test_ints_of_any_size(outside: int) -> None:
    element, product = (
        cadiff.compile(f) for f in (lambda x, k: x[k], lambda x, k: x[0] * (k * k))
    )
    x = np.arange(1.0, 7.0)
    for k in (0, 1, 2, outside, 3):
        assert product(x, k) == float(k * k)
        if k == outside:
            with pytest.raises(IndexError):
                element(x, k)
        else:
            assert element(x, k) == x[k]
    total = cadiff.compile(lambda x, k: x[0] * ((k * k * k + 1) - k * k * k))
    for k in (1, 2, 2**20, 2**30, 3):  # beyond 2**53, where floats have no odd numbers
        assert total(x, k) == 1.0


def test_ints_are_returned_as_ints() -> None:
    def f(x: Any, k: Any, i: Any) -> Any:
        return {"x": x * k, "k": k, "next": [k + 1, 2.0], "i": i, "half": (k / 2, x[0])}

    def outer(x: Any, inner: Any, k: Any, i: Any) -> Any:
        found = inner(x, k, i)
        return sum(found["x"][j % 2] for j in range(found["k"] + 1)) * x[found["i"][1] - 2]

    program = cadiff.compile(f)
    for k in (1, 2, 3, 2):
        i = np.array([k, 2], dtype=np.int16)
        found, expected = program(np.ones(2), k, i), f(np.ones(2), k, i)
        assert found["next"] == expected["next"] and found["half"] == expected["half"]
        assert type(found["k"]) is type(found["next"][0]) is int
        assert found["k"] == k and found["i"].dtype == np.int16
        np.testing.assert_array_equal(found["i"], i)
        x = np.array([0.5, 2.0])
        near(cadiff.grad(outer)(x, program, k, i), cadiff.grad(outer)(x, f, k, i))
    assert program.stats()["recordings"] == 2


def test_an_int_by_which_python_cannot_divide() -> None:
    program = cadiff.compile(lambda x, k: x * (6 // k) + x / 2**k)
    for k in (1, 2, 3, 0, 2):
        if k:
            assert program(2.0, k) == 2.0 * (6 // k) + 2.0 / 2**k
        else:
            with pytest.raises(ZeroDivisionError):
                program(2.0, k)
    power = cadiff.compile(lambda x, k: x * 10.0**k)
    for k in (1, 2, 3, -400, 5):
        assert power(2.0, k) == pytest.approx(2.0 * 10.0**k)
    with pytest.raises(OverflowError):
        power(2.0, 400)


@pytest.mark.parametrize("most", [8, 20])
def test_ints_that_choose_among_many_branches(most: int) -> None:
    """How an int compares is a guard: there may be as many branches as recordings."""
    f = lambda x, k: x * next(h for h in range(20) if h == k)  # noqa: E731
    program = cadiff.compile(f, max_traces=most)
    for _ in range(3):
        for k in range(20):
            assert program(2.0, k) == program(2.0, k) == 2.0 * k
    assert (program.stats()["eager"] == 0) == (most == 20)


def test_an_int_that_is_kept_is_a_constant() -> None:
    seen: list[int] = []

    def f(x: Any, k: int) -> Any:
        if len(seen) < 3:
            seen.append(k)
        return x * k

    program = cadiff.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(6):
            assert program(2.0, k) == 2.0 * k
    assert all(isinstance(k, int) for k in seen)


def test_rules_that_read_integers_have_them_as_constants() -> None:
    """They are called long after f."""
    rule = cadiff.primitive(lambda x, n, *, m: 1.0 * x)
    rule.defvjp(lambda ans, x, n, m: lambda g: g * n * m.sum(), None)
    program = cadiff.compile(lambda x, k, i: cnp.sum(rule(x, k, m=i)))
    for k in range(1, 6):
        i = np.array([k, 2])
        near(program.grad(np.ones(2), k, i), np.full(2, 1.0 * k * (k + 2)))


def test_recordings_with_ints_are_pickled() -> None:
    program = cadiff.compile(of_step)
    for k in range(1, 4):
        program.grad(np.ones(N), k)
    again = pickle.loads(pickle.dumps(program))
    for k in range(4, 7):
        near(again.grad(np.ones(N) * k, k % N), cadiff.grad(of_step)(np.ones(N) * k, k % N))
    assert again.stats()["recordings"] == 0


def of_step(x: Any, k: Any) -> Any:
    return cnp.sum(x**2) * 0.5**k + x[k]


def test_matrices_batches_and_outer_derivatives() -> None:
    program = cadiff.compile(of_step)
    outer = cadiff.compile(lambda y, n: program(y, n) * n)
    rng = np.random.default_rng(20)
    for k in (0, 1, 2, 5):
        x, points = row(rng), rng.normal(size=(3, N))
        near(program.hessian(x, k), cadiff.hessian(of_step)(x, k))
        near(program.sparse_hessian(x, k).todense(), cadiff.hessian(of_step)(x, k))
        near(outer(x, k), of_step(x, k) * k)
        near(program.batch(points, k), [of_step(y, k) for y in points])
        squared, expected = (
            cadiff.grad(lambda y, n, f=f: f(y * y, n) ** 2)(x, k) for f in (program, of_step)
        )
        near(squared, expected)


def test_integers_in_containers_and_by_keyword() -> None:
    def f(x: Any, labels: Any, *, step: int = 0, order: Any = None, more: Any = None) -> Any:
        slopes = sum(x[k] for k in labels) * x * (1.0 - 0.5**step) + more["k"] * x
        return slopes * cnp.sum(x[more["at"]] * more["y"]) + x[order][0]

    program = cadiff.compile(f)
    rng = np.random.default_rng(19)
    for step in range(1, 8):
        x, labels = row(rng), rng.integers(0, N, 12).tolist()
        more = {"k": int(rng.integers(5)), "name": "a", "at": rng.integers(0, N, 4), "y": x[:4]}
        given = {"step": step, "order": rng.permutation(N), "more": more}
        near(program(x, labels, **given), f(x, labels, **given))
        near(program.jacobian(x, labels, **given), cadiff.jacobian(f)(x, labels, **given))
    assert program.stats()["recordings"] <= 4


def test_of_an_int_there_is_no_negative_zero() -> None:
    with np.errstate(divide="ignore"):
        for f in (
            lambda x, k: x / (k * -1),
            lambda x, k: x / -k,
            lambda x, k: x / (k % -2),
            lambda x, k: x / cadiff.value(x * k * 0.4 - 0.1).astype(int),
        ):
            for kind in (int, np.int64, lambda k: np.array([k, k])):
                program = cadiff.compile(f)
                for k in (1, 2, 0, 3):
                    found = program(np.array([1.0, 2.0]), kind(k))
                    np.testing.assert_array_equal(found, f(np.array([1.0, 2.0]), kind(k)))


def test_names_of_types_are_those_of_ints() -> None:
    program = cadiff.compile(lambda x, k: x * k * len(type(k).__name__))
    for k in range(4):
        assert program(2.0, k) == 2.0 * k * len("int")

    class Model:
        def __call__(self, x: Any, k: Any) -> Any:
            return x * k * len(type(self).__name__)

    program = cadiff.compile(Model())
    for k in range(4):
        assert program(2.0, k) == 2.0 * k * len("Model")
    assert program.stats()["recordings"] == 2


def test_a_choice_between_single_ints_is_an_array_as_for_numpy() -> None:
    program = cadiff.compile(lambda x, k: (x * 1.0, np.where(k > 3, k, 3)))
    for k in range(6):
        found = program(1.0, k)[1]
        assert (type(found), found.shape, found.dtype.kind, int(found)) == (
            *(np.ndarray, (), "i"),
            max(k, 3),
        )
