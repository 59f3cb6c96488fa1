"""`cadiff.numpy` as the array API standard of 2024.12 has it, of plain arrays and of numbers.

The standard's own tests are in `tests/array_api`, for `nox -s array_api`; here is what is quick.
The names are those of the standard. What NumPy's own functions give for a call is what plain
arrays get, and the value that numbers with derivatives have.
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cadiff
import cadiff.numpy as cnp

from ..helpers.processes import isolated
from ..helpers.programs import values_of

NAMES = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like
tril triu zeros zeros_like astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype
result_type abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh
divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan
less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc take take_along_axis matmul
matrix_transpose tensordot vecdot concat expand_dims flip moveaxis permute_dims repeat reshape
roll squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted where
unique_all unique_counts unique_inverse unique_values argsort sort cumulative_prod
cumulative_sum max mean min prod std sum var all any diff bool int8 int16 int32 int64 uint8
uint16 uint32 uint64 float32 float64 complex64 complex128 e inf nan newaxis pi
__array_namespace_info__ linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh
linalg.eigvalsh linalg.inv linalg.matmul linalg.matrix_norm linalg.matrix_power
linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet
linalg.solve linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot
linalg.vector_norm fft.fft fft.ifft fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfftn fft.irfftn
fft.hfft fft.ihfft fft.fftfreq fft.rfftfreq fft.fftshift fft.ifftshift
"""

# Calls with the arguments that the standard names; x is an array of the shape (3, 4) and m square.
CALLS = """
xp.astype(x, xp.float32, copy=True)
xp.asarray(x, dtype=xp.float64, copy=True)
xp.full_like(x, 2.0)
xp.broadcast_to(x, (2, 3, 4))
xp.tril(x, k=1)
xp.clip(x, min=0.3)
xp.clip(x, max=1.0)
xp.concat([x, x], axis=None)
xp.stack([x, x], axis=-1)
xp.unstack(x, axis=1)[2]
xp.expand_dims(x, axis=(0, 2))
xp.permute_dims(x, (1, 0))
xp.moveaxis(x, 0, -1)
xp.roll(x, (1, 2), axis=(0, 1))
xp.repeat(x, 2, axis=1)
xp.tile(x, (2, 1))
xp.flip(x, axis=None)
xp.reshape(x, (4, 3), copy=True)
xp.take(x, np.array([2, 0]), axis=0)
xp.take_along_axis(x, np.array([[0], [1], [2]]), axis=1)
xp.sort(x, axis=0)
xp.sort(x, axis=1, descending=True)
xp.sort(x, descending=True, stable=False)
xp.argsort(x, axis=1, descending=True)
xp.argsort(x, axis=0, stable=True)
xp.argmax(x, axis=1, keepdims=True)
xp.unique_values(x)
xp.unique_counts(x).values
xp.unique_inverse(x).values
xp.cumulative_sum(x, axis=1, include_initial=True)
xp.cumulative_prod(x, axis=0)
xp.diff(x, axis=1, n=2)
xp.sum(x, axis=(0, 1), keepdims=True)
xp.prod(x, axis=0, dtype=xp.float64)
xp.mean(x, axis=1)
xp.var(x, axis=1, correction=1.0)
xp.std(x, correction=1)
xp.max(x, axis=0, keepdims=True)
xp.vecdot(x, x, axis=0)
xp.tensordot(x, x, axes=((0,), (0,)))
xp.matrix_transpose(x)
xp.logaddexp(x, 0.5 * x)
xp.atan2(x, 0.5)
xp.copysign(x, -1.0)
xp.hypot(x, 2.0)
xp.pow(x, 2)
xp.remainder(x, 0.4)
xp.round(x)
xp.where(x > 0.5, x, 0.0)
xp.searchsorted(xp.sort(x, axis=1)[0, :], 0.7)
xp.count_nonzero(x > 0.5, axis=1)
xp.linalg.vector_norm(x, axis=1, ord=3)
xp.linalg.matrix_norm(x)
xp.linalg.trace(m, offset=1)
xp.linalg.diagonal(m)
xp.linalg.solve(m, x[:, 0])
xp.linalg.inv(m)
xp.linalg.det(m)
xp.linalg.outer(x[0, :], x[1, :])
xp.linalg.cross(x[:, :3], x[:, 1:4])
xp.linalg.svdvals(m)
xp.linalg.matrix_power(m, 3)
xp.real(xp.fft.fft(x, axis=0))
xp.fft.irfft(xp.fft.rfft(x, axis=1), n=4, axis=1)
x.mT
x.to_device("cpu")
abs(-x)
"""

X = np.random.default_rng(0).permutation(12).reshape(3, 4) / 7.0 + 0.1


def find(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def called(text: str, xp: Any, x: Any) -> Any:
    return eval(text, {"xp": xp, "np": np, "x": x, "m": x[:, :3] + 2.0 * np.eye(3)})


def in_numpy(text: str) -> Any:
    """What NumPy gives, which has no descending order."""
    if "descending=True" not in text:
        return called(text, np, X)
    axis = int(text.partition("axis=")[2][:1] or -1)
    if "argsort" in text:
        return np.argsort(-X, axis=axis, stable=True)
    return np.flip(np.sort(X, axis=axis), axis=axis)


@pytest.mark.parametrize("name", NAMES.split())
def test_names(name: str) -> None:
    found = find(cnp, name)
    assert callable(found) or isinstance(found, (float, type(None), type))


@pytest.mark.parametrize("text", CALLS.strip().splitlines())
def test_calls(text: str) -> None:
    expected = in_numpy(text)
    assert_array_equal(called(text, cnp, X), expected)

    def f(x: Any) -> Any:
        found = called(text, x.__array_namespace__(), x)
        assert np.shape(found) == np.shape(expected)
        assert np.dtype(found.dtype) == np.asarray(expected).dtype
        assert_allclose(cadiff.value(found), expected, rtol=1e-14)
        return cnp.sum(x)

    assert_array_equal(cadiff.grad(f)(X), np.ones((3, 4)))
    cadiff.jvp(f, (X,), (X,))


def test_arrays_tell_their_namespace() -> None:
    def f(x: Any) -> Any:
        for number in (x, x[0, 0], x + 0j):
            assert number.__array_namespace__(api_version="2024.12") is cnp
            with pytest.raises(ValueError, match=r"2024\.12; api_version='1999'"):
                number.__array_namespace__(api_version="1999")
            assert number.device == "cpu"
            assert number.to_device("cpu") is number
        assert isinstance(x, cnp.ndarray)
        assert not isinstance(x[0, 0], cnp.ndarray)
        assert isinstance(X, cnp.ndarray)
        assert [cnp.isscalar(y) for y in (x, x[0, 0], 1.0, X)] == [False, True, True, False]
        assert cnp.isdtype(x.dtype, "real floating")
        assert x.flags.c_contiguous
        assert x.T.flags["F_CONTIGUOUS"]
        with pytest.raises(AttributeError, match="no strides"):
            _ = x.strides
        return cnp.sum(x)

    cadiff.grad(f)(X)
    with pytest.raises(ValueError, match="'cpu', not on 'gpu'"):
        cadiff.Var(X).to_device("gpu")
    with pytest.raises(TypeError, match="astype"):
        cadiff.Var(X).view(np.int64)


def test_signatures() -> None:
    for name in ("arange", "empty", "full", "vecdot"):
        assert inspect.unwrap(getattr(cnp, name)) is getattr(np, name)
    for name in ("sort", "argsort"):
        assert inspect.signature(getattr(cnp, name)).parameters["descending"].default is False


def test_single_precision_without_an_imaginary_part() -> None:
    assert cadiff.grad(cnp.abs)(np.complex64(1.0)).dtype == np.complex64
    assert cadiff.Var(np.complex64(0.0)).dtype == np.complex64
    for f in (cnp.acos, cnp.expm1, cnp.tan):
        assert f(cadiff.Var(np.array(0j, np.complex64))).dtype == np.complex64


@pytest.mark.parametrize("function", [np.power, np.divide])
def test_precision_of_two_complex_numbers(function: Any) -> None:
    numbers = [np.complex64(1.0), np.complex64(2.0j), np.complex128(1j), np.float32(2), 2.0, 3j]
    for x, y in itertools.product(numbers[:3], [*numbers, np.float64(0.5)]):
        kind = function(x, y).dtype
        assert function(cadiff.Var(x), y).dtype == kind
        if isinstance(y, np.generic):
            assert function(x, cadiff.Var(y)).dtype == kind
            assert function(cadiff.Var(x), cadiff.Var(y)).dtype == kind


@pytest.mark.parametrize("name", ["exp", "sinh", "cosh", "sin", "cos"])
def test_an_exact_zero_absorbs_in_complex_functions(name: str) -> None:
    z = np.array(
        [complex(np.inf, 0.0), complex(np.nan, 0.0), 1j * np.inf, 1j * np.nan, 1.0 + 2.0j]
    )
    f = getattr(cnp, name)
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(z)
    for found in [f(cadiff.Var(z)), *values_of(f, z)]:
        assert_allclose(cadiff.value(found), expected, rtol=1e-15)


def test_likes_of_complex_duals_take_them() -> None:
    z = cadiff.Dual(np.array([1.0, 2.0j, 3.0]), np.ones(3))
    y = np.zeros_like(z)
    y[1:] = z[:2]
    assert_array_equal(y.primal, [0.0, 1.0, 2.0j])
    assert_array_equal(cnp.fft.fftshift(z).primal, [3.0, 1.0, 2.0j])


def test_cutoffs_may_carry_derivatives() -> None:
    m = np.diag([3.0, 1e-3])

    def f(m: Any, cutoff: Any) -> Any:
        return cnp.sum(cnp.linalg.pinv(m, rtol=cutoff))

    by_matrix, by_cutoff = cadiff.grad(f, argnums=(0, 1))(m, 0.01)
    assert_allclose(by_matrix, cadiff.grad(lambda m: f(m, 0.01))(m))
    assert by_cutoff == 0.0


SCRIPT = """
import os
os.environ["SCIPY_ARRAY_API"] = "1"
import numpy as np
import scipy.stats
import cadiff
x = np.array([0.9, 1.7, 0.6, 1.2, 2.3, 0.4])
for name in ("skew", "kurtosis", "gmean", "hmean", "sem", "circmean", "differential_entropy"):
    f = getattr(scipy.stats, name)
    step = 1e-6 * np.cos(np.arange(6.0))
    true = (f(x + step) - f(x - step)) / 2.0
    assert np.isclose(cadiff.grad(f)(x) @ step, true, rtol=1e-6), name
"""


def test_scipys_own_functions_take_numbers_in_their_array_api_mode() -> None:
    isolated(SCRIPT)
