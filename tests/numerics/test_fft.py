"""`scipy.fft`: its ways in, programs, and what is refused."""

from __future__ import annotations

import concurrent.futures
import functools
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.fft

import cadiff
import cadiff.scipy.fft

from ..helpers.cases_fft import SCIPY
from ..helpers.programs import frames_of


def test_every_transform_has_a_case() -> None:
    names = {name for name in scipy.fft.__all__ if name.lstrip("i")[:3] in ("fft", "rff", "hff")}
    names |= {name for name in scipy.fft.__all__ if name.lstrip("i")[:3] in ("dct", "dst", "fht")}
    names -= {"fftfreq", "rfftfreq", "fhtoffset"}
    assert names == {case.name.split("(")[0].split()[0] for case in SCIPY} | {"ifftshift"}


@pytest.mark.parametrize("n", [2, 3, 100, 101])
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_programs_have_scipys_values(name: str, n: int) -> None:
    """All types, with other lengths than the array's, by steps that are C's."""
    x = np.random.default_rng(n).normal(size=(n, 3))
    for kind in (1, 2, 3, 4):
        for norm in ("backward", "ortho", "forward"):
            how = {"norm": norm, "orthogonalize": n % 2 == 0, "axis": 0}
            transform = getattr(cadiff.scipy.fft, name)
            program = cadiff.compile(functools.partial(transform, type=kind, n=n + 1, **how))
            want = getattr(scipy.fft, name)(x, kind, n + 1, **how)
            np.testing.assert_allclose(program(x), want, rtol=0, atol=2e-15 * np.abs(want).max())
            assert frames_of(lambda program=program: program(x)) == []


def test_programs_have_scipys_hankel_transforms() -> None:
    x = np.exp(-(np.linspace(-3.0, 3.0, 129) ** 2))
    for name, bias in (("fht", 0.0), ("ifht", 0.0), ("fht", -0.4), ("ifht", 0.3)):
        program = cadiff.compile(
            lambda x, name=name, b=bias: getattr(cadiff.scipy.fft, name)(x, 0.1, 1.5, 0.2, b)
        )
        want = getattr(scipy.fft, name)(x, 0.1, 1.5, 0.2, bias)
        np.testing.assert_allclose(program(x), want, rtol=0, atol=1e-14 * np.abs(want).max())
        assert frames_of(lambda program=program: program(x)) == []


def test_a_registered_backend_leaves_plain_arrays_to_scipy() -> None:
    x = np.linspace(0.0, 1.0, 5, dtype=np.float32)
    for name in ("fft", "rfft", "dct"):
        want = getattr(np.fft, name, scipy.fft.dct)(x)
        for module in (scipy.fft, cadiff.scipy.fft):
            got = getattr(module, name)(x)
            assert type(got) is np.ndarray
            assert got.dtype.itemsize == want.dtype.itemsize
            np.testing.assert_allclose(got, want, rtol=1e-5)


def test_scipy_itself_in_another_thread() -> None:
    def derivative(x: Any) -> Any:
        return cadiff.grad(lambda x: scipy.fft.dct(x)[1] + scipy.fft.fft(x)[1].imag)(x)

    x = np.arange(4.0)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        np.testing.assert_array_equal(pool.submit(derivative, x).result(), derivative(x))


def test_plain_functions_are_offered() -> None:
    assert cadiff.scipy.fft.next_fast_len(7) == 7
    with cadiff.scipy.fft.set_workers(2):
        assert cadiff.scipy.fft.get_workers() == 2
    assert set(scipy.fft.__all__) <= set(dir(cadiff.scipy.fft))


REFUSED = [
    (lambda m, v: m.fft(v, 0), ValueError, "data points"),
    (lambda m, v: m.fft(v, norm="none"), ValueError, "none"),
    (lambda m, v: m.fft(v, axis=1), np.exceptions.AxisError, "axis 1"),
    (lambda m, v: m.fft(v[0]), np.exceptions.AxisError, "axis -1"),
    (lambda m, v: m.fftn(v, (2, 3), (0,)), ValueError, "different lengths"),
    (lambda m, v: m.rfft(v * 1j), TypeError, "z.real"),
    (lambda m, v: m.rfftn(v, axes=()), (IndexError, ValueError), "axis"),
    (lambda m, v: m.irfft(v[:1]), ValueError, "data points"),
]
REFUSED_BY_SCIPY = [
    (lambda m, v: m.fft(v, plan=3), NotImplementedError, "plan"),
    (lambda m, v: m.fft(v, workers=0), ValueError, "workers"),
    (lambda m, v: m.fftn(v, axes=(0, 0)), ValueError, "unique"),
    (lambda m, v: m.dct(v, 5), ValueError, "type"),
    (lambda m, v: m.fht(v, v[0], 0.5), cadiff.MissingRuleError, "dln"),
]


@pytest.mark.parametrize(
    ("module", "call", "error", "message"),
    [
        (module, *row)
        for module in (cadiff.numpy.fft, cadiff.scipy.fft)
        for row in REFUSED + (REFUSED_BY_SCIPY if module is cadiff.scipy.fft else [])
    ],
)
def test_refusals(module: Any, call: Any, error: Any, message: str) -> None:
    for make in (cadiff.Var, cadiff.Dual):
        with pytest.raises(error, match=message):
            call(module, make(np.arange(3.0)))
