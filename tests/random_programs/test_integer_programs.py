"""Random programs of integers and masks, that are arguments or computed, and change at each call.

What a compiled function gives, or raises, is compared with the function itself. Texts of programs
are drawn, so that a failure can be run by hand.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

from ..helpers.drafts import forms
from ..helpers.programs import direction
from ..helpers.properties import examples

N = 6
TABLE = np.random.default_rng(1).normal(size=N)
MATRIX = np.random.default_rng(2).normal(size=(N, 3))
LABELS = np.array([2, 0, 1, 1, 2, 0])
LIST = [0.5, 1.5, 2.5, -1.0, 3.0, 4.0]
BOOLS = np.array([True, False, True, True])
TIES = [-1.5, -0.3, 0.0, 0.1, 0.4, 0.5, 1.0, 2.5]  # at which comparisons end
DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "u8", ">i4", "i8", "i8", "i8", "i8"]


def put(y: Any, at: Any, by: Any) -> Any:
    y = y * 1.0
    y[at] = by
    return y


def masked(y: Any, mask: Any, by: Any) -> Any:
    return put(y, mask, by[mask])


def met(mask: Any, other: Any) -> Any:
    mask = mask | False
    mask &= other
    return mask


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


# Of each kind of expression what it ends in, and what it is made of, two spaces apart: {k} is an
# int, {f} a float, {i} an array of four integers, {m} of four bools, {v} of four numbers. The
# arguments are a vector x of six numbers, i and j, a vector m of six bools, k and n.
GRAMMAR: dict[str, tuple[str, str]] = {
    "k": (
        "k k k n True (-2) 3",
        """
        {k}+{k}  {k}-{k}  {k}*{k}  {k}//{k}  {k}%{k}  -{k}  abs({k})  {k}>>1  {k}&3  ~{k}  {k}**2
        {k}<<2  round({k})  divmod({k},{k})[0]  divmod({k},{k})[1]  {k}==2  {k}+{k}  {k}-{k}
        {k}*{k}  {k}//{k}  min({k},{k})  max({k},{k})  int({k})  {k}^{k}  len(range({k}))
        """,
    ),
    "f": (
        "0.5 2.0 k n",
        """
        {f}+{f}  {f}-{f}  {f}*{f}  {f}/{f}  {f}//{f}  {f}%{f}  -{f}  abs({f})  0.9**{k}  {k}*{f}
        {f}/{k}  math.sqrt(abs({f}))  float({k})  {f}**2  max({f},{f})  {f}**{f}  np.sqrt(abs({f}))
        """,
    ),
    "i": (
        "i i j i[::-1] np.arange(4)",
        """
        {i}+{i}  {i}*{k}  {i}-{k}  {i}//3  {i}%4  {i}//{k}  np.minimum({i},{i})
        np.maximum({i},{k})  np.clip({i},0,3)  {i}>>1  {i}&1  {i}**2  np.where({i}>{i},{i},{i})
        np.abs({i})  np.flip({i})  -{i}  {i}-{i}.min()  np.roll({i},1)  np.sort({i})
        np.concatenate([{i}[:2],{i}[2:]])  np.sign({i})  {i}.astype(int)  ({i}=={i}).astype(int)
        {i}.max()*np.ones(4,int)  np.cumsum({i})  {i}|{i}  ({i}).astype(np.uint8)  LABELS[{i}%6]
        np.where({m},{i},{k})  np.where({m},-1,2).cumsum()
        """,
    ),
    "m": (
        "m[:4] m[2:]",
        """
        {v}>{v}  {v}<={v}  0.5<{v}  np.less({v},{v})  np.isnan({v})  {v}==1.0  {i}<{i}  {i}>{k}
        {m}&{m}  {m}|{m}  {m}^{m}  ~{m}  {m}[::-1]  {m}&BOOLS  {m}.copy()  np.logical_or({m},{m})
        np.roll({m},1)  {m}=={m}  np.array({m})  met({m},{m})
        """,
    ),
    "v": (
        "x[:4] x[2:]",
        """
        x[{i}%6]  x[{i}]  TABLE[{i}%6]*{v}  MATRIX[{i}%6]@x[:3]  x[{k}]*{v}  TABLE[{k}]*{v}
        LIST[{k}]*{v}  {v}*{f}  {v}+{k}  {v}*{i}  x[{k}:][:4].sum()*{v}  cnp.sum(x[m])*{v}
        put(x,{i}%6,{v})[:4]  put(x,{k}%6,2.5)[1:5]  added(x,{i}%6,{v})[:4]
        cnp.bincount({i}%4,weights={v},minlength=4)  {v}*np.bincount({i}%4,minlength=4)
        MATRIX[{k}].sum()*{v}  cnp.outer(x,x)[{k}][:4]  cnp.outer(x,x)[{k},{i}]
        cnp.outer(x,x)[{i},{i}]*{v}  row_of(cnp.outer(x,x),{k})[0][:4]  np.take(TABLE,{i}%6)*{v}
        {v}**({k}%4)  cnp.roll(x,{k})[:4]  {v}*np.float64(2.0)*{k}  {v}/{f}  {v}*np.float32({k})
        {v}*(1.0+isinstance({k},int))  {v}*np.arange(4)**({k}%3)  {v}*len(str({k}))  {v}+{v}[{i}%4]
        grad(lambda z: cnp.sum(z[{i}%6]**2)*{k})(x)[:4]  x[{k}%3+np.arange(4)]  cadiff.sin({v})*{v}
        {v} if {k}>2 else -{v}  cnp.where({m},{v},{v})  cadiff.where({m},{v},{v})  {m}*{v}-{v}
        np.where({m},{v}*{v},1.0)  put({v},{m},0.5)  masked({v},{m},{v})  {v}+{m}.astype(float)
        {v} if {m}.any() else {v}  {v} if {m}[2] else -{v}  np.where({m},1.5,0.3)*{v}  (1-{m})*{v}
        {v}/(1+np.sum({m}))  {v}*np.mean({m}*2.0)  {v} if np.sum({m})>np.sum({m}) else {v}
        {v}[int(np.sum({m}))-1]*{v}
        """,
    ),
}


def drawn(rng: random.Random, kind: str, depth: int) -> str:
    ends, made = GRAMMAR[kind]
    if depth == 0:
        return rng.choice(ends.split())
    form = rng.choice(forms(made))
    return re.sub(r"\{(.)\}", lambda field: f"({drawn(rng, field[1], depth - 1)})", form)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What it gives as an array, or what it raises as a text."""
    try:
        return np.asarray(f(*args), dtype=float)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def kind_of(found: Any) -> Any:
    """The same, but of an error its kind: f raises its own of its own arguments."""
    return found.partition(":")[0] if isinstance(found, str) else found


def finite(found: Any) -> Any:
    """Derivatives where they are finite: which infinities meet depends on the order of terms."""
    return found if isinstance(found, str) else np.where(np.isfinite(found), found, np.nan)


def is_same(found: Any, expected: Any) -> bool:
    if isinstance(found, str) or isinstance(expected, str):
        return isinstance(found, str) and isinstance(expected, str) and found == expected
    return found.shape == expected.shape and np.allclose(
        found, expected, rtol=1e-9, atol=1e-9, equal_nan=True
    )


def arguments(rng: random.Random, draw: np.random.Generator, call: int, kinds: Any) -> list[Any]:
    dtype, kind, is_large, has_ties = kinds
    i = draw.integers(0 if dtype.kind == "u" else -N, N + (rng.random() < 0.05), 4).astype(dtype)
    if is_large and call > 3:
        i = i * dtype.type(min(np.iinfo(dtype).max, 2**55) // 7)
    k = kind(rng.randint(-3, 6))
    if is_large and call > 4 and kind is int:
        k = rng.choice([2**31, -(2**40), 2**53 + 1, 2**70])
    if rng.random() < 0.2:
        i = np.repeat(i, 2)[::2]
    x = draw.choice(TIES, N) if has_ties else draw.uniform(0.5, 2.0, N)
    return [x, i, draw.integers(0, N, 4), draw.random(N) < 0.5, k, call]


@examples(120)
@given(st.integers(0, 2**32 - 1))
def test_random_programs_of_integers_and_masks(seed: int) -> None:
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    text = drawn(rng, "v", rng.choice([2, 2, 3]))
    f = eval(f"lambda x, i, j, m, k, n: {text}", {**globals(), "math": math, "grad": cadiff.grad})

    def total(*args: Any) -> Any:
        return cnp.sum(f(*args) * np.arange(1.0, 5.0))

    def value(x: Any, *rest: Any) -> Any:
        return cadiff.vjp(lambda y: f(y, *rest), x)[0]

    program, of_total = cadiff.compile(f), cadiff.compile(total)
    kinds = (
        np.dtype(rng.choice(DTYPES)),
        rng.choice([int, int, np.int64, np.int32]),
        rng.random() < 0.1,
        rng.random() < 0.4,
    )
    for call in range(6):
        args = x, *rest = arguments(rng, draw, call, kinds)
        v = direction(x)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found, expected = outcome(program, *args), outcome(value, *args)
            assert is_same(kind_of(found), kind_of(expected)), (text, args, found, expected)
            for got, wanted, given in (
                (program.jacobian, cadiff.jacobian(f), args),
                (of_total.grad, cadiff.grad(total), args),
                (of_total.hvp, cadiff.hvp(total), (x, v, *rest)),
            ):
                found, expected = finite(outcome(got, *given)), finite(outcome(wanted, *given))
                assert is_same(found, expected), (text, args, found, expected)
