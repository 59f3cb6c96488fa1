"""What NumPy copies is a copy here, and what it shares with its argument is shared.

Numbers are written to the result, and looked for in the argument.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np

from ..helpers.derivatives import Case, as_tuple
from ..helpers.every_case import of_every

MARK = 77.5

# Calls that leave little or nothing to do, of a 3 x 3 matrix.
CALLS = """
np.conj(x) | np.conjugate(x) | x.conj() | x.conjugate() | x.real | np.real(x) | np.positive(x) | +x
x.astype(float) | x.astype(float, copy=False) | x.astype("f4", copy=False) | x.copy() | x.flatten()
x.astype(float, "K", "unsafe", True, False) | np.nan_to_num(x) | np.nan_to_num(x, copy=False)
np.asarray(x) | np.asarray(x, copy=True) | np.asarray(x, order="C") | np.asarray(x, order="F")
np.asarray(x.T, order="C") | np.asarray(x.T, order="F") | np.asarray(x, float) | np.asanyarray(x)
np.array(x) | np.array(x, copy=None) | np.array(x, copy=None, order="F") | np.array(x, ndmin=3)
np.ascontiguousarray(x) | np.ascontiguousarray(x.T) | np.ascontiguousarray(x[:, 0])
np.ascontiguousarray(x[:, 1:]) | np.ascontiguousarray(x[1:]) | np.ascontiguousarray(x[:1].T)
np.asfortranarray(x) | np.asfortranarray(x.T) | np.asfortranarray(x[0])
np.asarray_chkfinite(x) | np.asfortranarray(x[:, 0]) | np.asfortranarray(x[:, :1])
np.require(x) | np.require(x, None, "F") | np.require(x.T, float, ["C", "A"])
np.ravel(x) | np.ravel(x.T) | np.ravel(x, "F") | np.ravel(x.T, "F") | np.ravel(x[:, 1:])
np.reshape(x, 9) | np.reshape(x.T, 9) | np.reshape(x, 9, order="F") | x.T.reshape(9, order="F")
x.reshape(9) | x[::2].reshape(6) | x.T.reshape(3, 3) | x[:, :2].reshape(3, 2, 1) | x.flat[:]
np.sum(x, axis=()) | np.max(x, axis=()) | np.cumsum(x[:1], 0) | np.diff(x, n=0) | np.round(x, 400)
np.rot90(x, 0) | np.rot90(x, 4) | np.flip(x, ()) | np.roll(x, 0) | np.roll(x, 3, 0) | np.tile(x, 1)
np.repeat(x, 1, 0) | np.delete(x, [], 0) | np.resize(x, (3, 3)) | np.trim_zeros(x[0])
np.pad(x, 0) | np.pad(x, 0, "edge") | np.pad(x, 0, "mean") | np.pad(x, 0, "linear_ramp")
np.clip(x, None, 9.0) | np.where(x > -99, x, 0.0) | np.triu(x, -5) | np.block([x]) | np.stack([x])
np.linalg.matrix_power(x, 1) | np.polyder(x[0], 0) | np.polyint(x[0], 0) | np.unwrap(x[:, :1])
np.einsum("ij->ji", x) | np.einsum("ii->i", x) | np.einsum("ij", x) | np.compress([1, 1, 1], x, 0)
np.meshgrid(x[0])[0] | np.meshgrid(x[0], x[1], copy=False, sparse=True)[0] | np.column_stack([x])
x[()] | x[...] | x[x > -99] | x[[0, 1, 2]] | x[:, [0, 1, 2]] | x[None] | np.squeeze(x[None])
np.logaddexp.reduce(x[:1]) | np.subtract.reduce(x[:1], 0) | np.hypot.reduce(x[:, :1], 1)
np.divide.reduce(x[:1], 0, keepdims=True) | np.hypot.reduce(x[:0], 0, initial=1.0)
np.logaddexp.accumulate(x[:1]) | np.subtract.reduceat(x, [0]) | np.maximum.reduce(x[:1])
np.concatenate([x]) | np.r_[x[0]] | np.c_[x] | np.full_like(x, x) | np.diag(x[0])
"""
NAMES = [name.strip() for line in CALLS.strip().splitlines() for name in line.split("|")]

# Sharing of what is for reading only, and of what is no array here.
OTHERWISE = ("broadcast_arrays", "sliding_window_view")


def written_to(function: Callable[..., Any], args: list[Any], k: int) -> Any:
    """The positions of each argument at which it changes with result k; None: it is no array."""
    result = as_tuple(function(*args))[k]
    kind = cadiff.value(result)
    if not isinstance(kind, numpy.ndarray) or kind.ndim == 0 or kind.dtype.kind != "f":
        return None
    try:
        result[...] = MARK
    except ValueError:
        return "for reading"
    found = [numpy.flatnonzero(numpy.asarray(cadiff.value(x)) == MARK) for x in args]
    return [list(map(int, places)) for places in found]


def check_sharing(call: Callable[..., Any], given: list[Any], active: tuple[int, ...]) -> None:
    def with_derivatives(t: Any) -> Any:
        made = [x * (1.0 + 0.0 * t) if i in active else x for i, x in enumerate(given)]
        found.append(written_to(lambda *args: call(np, *args), made, k))
        return t

    for k in range(len(as_tuple(call(numpy, *given)))):
        copies = [
            numpy.array(x, dtype=float)[()] if i in active else x for i, x in enumerate(given)
        ]
        wanted = written_to(lambda *args: call(numpy, *args), copies, k)
        found: list[Any] = []
        cadiff.vjp(with_derivatives, 1.0)
        cadiff.jvp(with_derivatives, (1.0,), (1.0,))
        assert wanted is None or found == [wanted, wanted]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", NAMES)
def test_what_hardly_does_anything(name: str) -> None:
    def call(np: Any, x: Any) -> Any:
        return eval(name, {"np": np, "x": x})

    check_sharing(call, [numpy.arange(1.0, 10.0).reshape(3, 3)], (0,))


@of_every("numpy", "linalg", without=lambda name: name.startswith(OTHERWISE))
def test_every_function(case: Case, original: Any, package: Any) -> None:
    check_sharing(case.call, list(case.draw()), case.argnums)


def test_imaginary_part_of_real_arrays() -> None:
    def f(x: Any) -> Any:
        assert x.imag.shape == (2, 3)
        assert not x.imag.flags.writeable
        assert x[0, 0].imag == 0.0
        return numpy.sum(x * x + x.imag.sum(axis=0))

    x = numpy.arange(6.0).reshape(2, 3)
    numpy.testing.assert_array_equal(cadiff.grad(f)(x), 2.0 * x)
    numpy.testing.assert_array_equal(cadiff.compile(f).grad(x), 2.0 * x)
    numpy.testing.assert_array_equal(cadiff.jvp(f, (x,), (x,))[1], 2.0 * numpy.sum(x * x))


def test_assignment_to_a_conjugate_leaves_the_number_alone() -> None:
    def f(x: Any) -> Any:
        y = np.conj(x)
        y *= 2.0
        return np.sum(x**2) + np.sum(y)

    for function in (f, cadiff.compile(f)):
        assert function(numpy.ones(2)) == 6.0
        assert list(cadiff.grad(function)(numpy.ones(2))) == [4.0, 4.0]
