"""Random programs of integers: ints, arrays and masks that change from call to call.

What a compiled function gives, or raises, is compared with the function itself: values,
Jacobians, gradients. Texts of programs are drawn, so that a failure can be run by hand.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

from ..helpers.properties import examples

N = 6
TABLE = np.random.default_rng(1).normal(size=N)
MATRIX = np.random.default_rng(2).normal(size=(N, 3))
LIST = [0.5, 1.5, 2.5, -1.0, 3.0, 4.0]
DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "u8", ">i4", "i8", "i8", "i8", "i8"]


def put(y: Any, at: Any, by: Any) -> Any:
    y = y * 1.0
    y[at] = by
    return y


def added(y: Any, at: Any, by: Any) -> Any:
    y = y * 1.0
    y[at] += by
    np.add.at(y, at, by)
    return y


def row_of(y: Any, at: Any) -> Any:
    row = y[at]
    y[0] = y[1] * 2.0
    row[1] = 5.0
    return y * 1.0 + row[0]


def names() -> dict[str, Any]:
    here = {"TABLE": TABLE, "MATRIX": MATRIX, "LIST": LIST, "np": np, "cnp": cnp, "math": math}
    return {**here, "put": put, "added": added, "row_of": row_of, "grad": cadiff.grad}


# Of ints {a} and {b}: k and m. First what programs compute, then what reads them.
INTS = [
    "{a}+{b}",
    "{a}-{b}",
    "{a}*{b}",
    "{a}//{b}",
    "{a}%{b}",
    "-{a}",
    "abs({a})",
    "{a}>>1",
    "{a}&3",
    "~{a}",
    "{a}**2",
    "{a}<<2",
    "round({a})",
    "divmod({a},{b})[0]",
    "divmod({a},{b})[1]",
    "{a}==2",
]
READ = ["min({a},{b})", "max({a},{b})", "int({a})", "{a}^{b}", "len(range({a}))", "{a} or {b}"]
FLOATS = [
    "{a}+{b}",
    "{a}-{b}",
    "{a}*{b}",
    "{a}/{b}",
    "{a}//{b}",
    "{a}%{b}",
    "-{a}",
    "abs({a})",
    "0.9**{k}",
    "{k}*{a}",
    "{a}/{k}",
    "math.sqrt(abs({a}))",
    "float({k})",
    "{a}**2",
    "max({a},{b})",
    "{a}**{b}",
    "np.sqrt(abs({a}))",
]
# Of arrays {a} and {b} of 4 integers, and an int.
INDICES = [
    "{a}+{b}",
    "{a}*{k}",
    "{a}-{k}",
    "{a}//3",
    "{a}%4",
    "{a}//{k}",
    "np.minimum({a},{b})",
    "np.maximum({a},{k})",
    "np.clip({a},0,3)",
    "{a}>>1",
    "{a}&1",
    "{a}**2",
    "np.where({a}>{b},{a},{b})",
    "np.abs({a})",
    "np.flip({a})",
    "-{a}",
    "{a}-{a}.min()",
    "np.roll({a},1)",
    "np.sort({a})",
    "np.concatenate([{a}[:2],{b}[2:]])",
    "np.sign({a})",
    "{a}.astype(int)",
    "({a}=={b}).astype(int)",
    "{a}.max()*np.ones(4,int)",
    "np.cumsum({a})",
    "{a}|{b}",
    "({a}).astype(np.uint8)",
]
# Of a vector {v} of 4 numbers, indices {i}, an int {k} and a float {f}.
NUMBERS = [
    "x[{i}%6]",
    "x[{i}]",
    "TABLE[{i}%6]*{v}",
    "MATRIX[{i}%6]@x[:3]",
    "x[{k}]*{v}",
    "TABLE[{k}]*{v}",
    "LIST[{k}]*{v}",
    "{v}*{f}",
    "{v}+{k}",
    "{v}*{i}",
    "x[{k}:][:4].sum()*{v}",
    "cnp.sum(x[m])*{v}",
    "{v} if {k} > 2 else -{v}",
    "cnp.where({i}>{k},{v},x[:4])",
    "put(x,{i}%6,{v})[:4]",
    "put(x,{k}%6,2.5)[1:5]",
    "added(x,{i}%6,{v})[:4]",
    "cnp.bincount({i}%4,weights={v},minlength=4)",
    "{v}*np.bincount({i}%4,minlength=4)",
    "MATRIX[{k}].sum()*{v}",
    "cnp.outer(x,x)[{k}][:4]",
    "cnp.outer(x,x)[{k},{i}]",
    "row_of(cnp.outer(x,x),{k})[0][:4]",
    "{v}*m[:4]",
    "np.take(TABLE,{i}%6)*{v}",
    "({v})**(({k})%4)",
    "cnp.roll(x,{k})[:4]",
    "{v}*np.float64(2.0)*({k})",
    "{v}/({f})",
    "{v}*np.float32({k})",
    "{v}*(1.0 if isinstance({k},int) else 2.0)",
    "{v}*np.arange(4)**(({k})%3)",
    "{v}*len(str({k}))",
    "grad(lambda z: cnp.sum(z[{i}%6]**2)*{k})(x)[:4]",
    "x[{k}%3+np.arange(4)]",
]


def text_of(rng: random.Random) -> str:
    def an_int(depth: int) -> str:
        if depth == 0:
            return rng.choice(["k", "k", "k", "n", "True", "(-2)", "3"])
        form = rng.choice(INTS if rng.random() < 0.85 else READ)
        return f"({form.format(a=an_int(depth - 1), b=an_int(depth - 1))})"

    def a_float(depth: int) -> str:
        if depth == 0:
            return rng.choice(["0.5", "2.0", an_int(1)])
        a, b = a_float(depth - 1), a_float(depth - 1)
        return f"({rng.choice(FLOATS).format(a=a, b=b, k=an_int(rng.choice([0, 1])))})"

    def indices(depth: int) -> str:
        if depth == 0:
            return rng.choice(["i", "i", "j", "i[::-1]", "np.arange(4)"])
        a, b = indices(depth - 1), indices(depth - 1)
        return f"({rng.choice(INDICES).format(a=a, b=b, k=an_int(rng.choice([0, 1])))})"

    def numbers(depth: int) -> str:
        if depth == 0:
            return rng.choice(["x[:4]", "x[2:]"])
        given = {"v": numbers(depth - 1), "i": indices(2), "f": a_float(2)}
        return f"({rng.choice(NUMBERS).format(**given, k=an_int(rng.choice([0, 1, 2])))})"

    return numbers(rng.choice([1, 1, 2]))


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What it gives as an array, or what it raises as a text."""
    try:
        return np.asarray(f(*args), dtype=float)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def kind_of(found: Any) -> Any:
    """The same, but of an error its kind: f raises its own of its own arguments."""
    return found.partition(":")[0] if isinstance(found, str) else found


def is_same(found: Any, expected: Any) -> bool:
    if isinstance(found, str) or isinstance(expected, str):
        return isinstance(found, str) and isinstance(expected, str) and found == expected
    return found.shape == expected.shape and np.allclose(
        found, expected, rtol=1e-9, atol=1e-9, equal_nan=True
    )


@examples(60)
@given(st.integers(0, 2**32 - 1))
def test_random_programs_of_integers(seed: int) -> None:
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    text = text_of(rng)
    f = eval(f"lambda x, i, j, m, k, n: {text}", names())
    total = lambda *args: cnp.sum(f(*args) * np.arange(1.0, 5.0))  # noqa: E731
    program, of_total = cadiff.compile(f), cadiff.compile(total)
    value = lambda x, *rest: cadiff.vjp(lambda y: f(y, *rest), x)[0]  # noqa: E731
    dtype, kind = np.dtype(rng.choice(DTYPES)), rng.choice([int, int, np.int64, np.int32])
    is_large = rng.random() < 0.1
    for call in range(6):
        i = draw.integers(0 if dtype.kind == "u" else -N, N + (rng.random() < 0.05), 4)
        i = i.astype(dtype)
        if is_large and call > 3:
            i = i * dtype.type(min(np.iinfo(dtype).max, 2**55) // 7)
        k = kind(rng.randint(-3, 6))
        if is_large and call > 4 and kind is int:
            k = rng.choice([2**31, -(2**40), 2**53 + 1, 2**70])
        if rng.random() < 0.2:
            i = np.repeat(i, 2)[::2]
        args = (
            draw.uniform(0.5, 2.0, N),
            i,
            draw.integers(0, N, 4),
            draw.random(N) < 0.5,
            k,
            call,
        )
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for found, expected in (
                (outcome(program.jacobian, args), outcome(cadiff.jacobian(f), args)),
                (outcome(of_total.grad, args), outcome(cadiff.grad(total), args)),
                (kind_of(outcome(program, args)), kind_of(outcome(value, args))),
            ):
                assert is_same(found, expected), (text, args, found, expected)
