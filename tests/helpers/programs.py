"""What the tests of programs share: comparing results, and a few functions."""

from __future__ import annotations

import sys
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

Function = Callable[..., Any]

# --- comparing -----------------------------------------------------------------------------------


def value_of(f: Callable[..., Any], *args: Any) -> Any:
    """What f returns, computed on numbers with derivatives, in the form of a program's results."""
    return cadiff.vjp(f, *args)[0]


def values_of(f: Function, x: Any) -> list[Any]:
    """What f returns in both modes, and what a program of it does."""
    return [cadiff.vjp(f, x)[0], cadiff.jvp(f, (x,), (x,))[0], cadiff.compile(f)(x)]


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, item in tree.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(tree, (list, tuple)):
        for k, item in enumerate(tree):
            yield from leaves(item, f"{path}[{k}]")
    else:
        yield path, tree


def same_structure(got: Any, wanted: Any) -> None:
    is_double = isinstance(wanted, (np.floating, int)) and not isinstance(wanted, np.float32)
    kind = float if is_double else type(wanted)
    assert type(got) is kind, (got, wanted)
    if isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            same_structure(got[key], wanted[key])
    elif isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for mine, other in zip(got, wanted, strict=True):
            same_structure(mine, other)
    elif isinstance(wanted, np.ndarray):
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype


def same(got: Any, wanted: Any, what: str = "", signs: bool = True) -> None:
    """Equal bits, all nans being one; zeros too, unless their signs are left out."""
    same_structure(got, wanted)
    for (path, mine), (_, other) in zip(leaves(got), leaves(wanted), strict=True):
        message = f"{what} {path}"
        np.testing.assert_array_equal(mine, other, message)
        number = ~np.isnan(other) & signs
        np.testing.assert_array_equal(
            np.signbit(mine)[number], np.signbit(other)[number], message + ": signs"
        )


def check_close(got: Any, wanted: Any, rtol: float, atol: float, what: str = "") -> None:
    """As NumPy's `assert_allclose`, which takes ten times as long where nothing is wrong."""
    with np.errstate(all="ignore"):
        away = np.abs(np.subtract(got, wanted))
        is_close = (away == 0.0) | (away < atol + rtol * np.abs(wanted))
    if np.shape(got) != np.shape(wanted) or not is_close.all():
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=what)


def near(got: Any, wanted: Any, what: str = "", rtol: float = 1e-11, scale: float = 1.0) -> None:
    """Equal to rounding, relative to the largest number; nan and infinities in their places."""
    same_structure(got, wanted)
    finite = [np.abs(np.asarray(x)[np.isfinite(x)]).max(initial=0.0) for _, x in leaves(wanted)]
    atol = rtol * max(scale, *finite, 0.0)
    for (path, mine), (_, other) in zip(leaves(got), leaves(wanted), strict=True):
        check_close(mine, other, 0.0, atol, f"{what} {path}")


def refusal(call: Function, *kinds: type[Exception]) -> str:
    """What a call says when it raises; in compiled functions, of which pytest knows no way."""
    try:
        call()
    except kinds as error:
        return str(error)
    raise AssertionError("nothing was raised")


def stacked(items: list[Any], is_tuple: bool = False) -> Any:
    """What a batch gives, of what its points do; numbers of a row are columns, or a tuple."""
    first = items[0]
    if isinstance(first, dict):
        return {key: stacked([item[key] for item in items], is_tuple) for key in first}
    if isinstance(first, (list, tuple)) and (is_tuple or not all(map(np.isscalar, first))):
        return type(first)(stacked(list(part), is_tuple) for part in zip(*items, strict=True))
    return np.array(items)


def arrays_of(tree: Any) -> list[np.ndarray]:
    """All arrays and numbers of a result, in order."""
    return [np.asarray(leaf) for _, leaf in leaves(tree)]


def check_same(got: Any, wanted: Any, rtol: float = 1e-10) -> None:
    """Equal to rounding, relative to the largest number of each part; containers may differ."""
    for mine, other in zip(arrays_of(got), arrays_of(wanted), strict=True):
        scale = np.max(np.abs(other[np.isfinite(other)]), initial=1.0)
        check_close(mine, other, rtol, rtol * scale)


# What programs, and functions too, raise where they have no value.
REFUSED = (ArithmeticError, TypeError, ValueError, IndexError)


def agree(
    got: Callable[[], Any], wanted: Callable[[], Any], what: str, compare: Function = same
) -> None:
    """Both give the same, or refuse alike."""
    try:
        expected = wanted()
    except REFUSED as error:
        with pytest.raises(type(error)):
            got()
        return
    compare(got(), expected, what)


@contextmanager
def quiet() -> Iterator[None]:
    """Spare the tests NumPy's warnings about plain numbers, and those about equality."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", message=".*rests on the equality.*")
        warnings.filterwarnings("ignore", message=".*runs its function eagerly.*")
        yield


@contextmanager
def runs_of(*functions: Function) -> Iterator[list[int]]:
    """One item for each run of functions, which do not see that they are counted."""
    codes = {f.__code__ for f in functions}
    runs: list[int] = []
    former = sys.getprofile()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in codes:
            runs.append(1)
        if former is not None:
            former(frame, event, argument)

    sys.setprofile(note)
    try:
        yield runs
    finally:
        sys.setprofile(former)


def frames_of(call: Callable[[], object]) -> list[str]:
    """The functions in Python that a second call runs, of which there is a fast path by then."""
    call()
    found: list[str] = []
    former = sys.getprofile()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is not getattr(call, "__code__", None):
            found.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(former)
    return found


# --- functions -----------------------------------------------------------------------------------


def hinge(x: Any) -> Any:
    """Two ways, told apart by the first number."""
    if x[0] > 0.0:
        return cnp.sum(x * x)
    return cnp.sum(x) * 3.0


def wave(x: Any, scale: Any = 2.0) -> Any:
    return cnp.sum(cadiff.sin(x) * scale) + x[0] * x[-1]


def any_shape(x: Any, c: Any = 1.0) -> Any:
    y = cnp.sum(x * x) * c
    if y > 2.0:
        y = cadiff.sqrt(y) * 3.0
    return y + cnp.sum(cadiff.sin(x))


def mixed(x: Any, y: Any, *, c: Any = 1.0, n: int = 2) -> Any:
    """Where y carries no derivative, neither do the numbers that come of it alone."""
    z = cnp.exp(y * 0.5)
    w = cnp.zeros(3)
    w[0] = y[1] * 2.0
    w[1:] = y[:2]
    total = cnp.sum(w * z) * c
    w[1] = x[0] * y[0]
    inner = cadiff.stop_gradient(x)
    if y[0] > 0.2:
        total = total * 1.5
    return total + cnp.sum(w * inner * x) + cnp.sum(cnp.where(y > 0.5, x, y)) ** n


def summed(f: Function) -> Function:
    """One number made of all that f returns."""

    def number(x: Any) -> Any:
        out = f(x)
        return cnp.sum(cnp.sin(out) * np.cos(np.arange(out.size)))

    return number


def direction(x: Any, phase: float = 1.0) -> Any:
    v = np.sin(phase + np.arange(np.size(x), dtype=float)).reshape(np.shape(x))
    return v if np.ndim(x) else float(v)


Pair = namedtuple("Pair", "a b")
