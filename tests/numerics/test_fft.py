"""Fourier transforms: values, modes, shapes of all kinds, programs, and what is refused."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.fft
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np
import cadiff.scipy.fft
from cadiff.numpy import _fourier

from ..helpers import cases_complex as complexes
from ..helpers.cases_fft import SCIPY as CASES_OF_SCIPY
from ..helpers.programs import frames_of

LIBRARIES = {"numpy": (numpy.fft, np.fft), "scipy": (scipy.fft, cadiff.scipy.fft)}
Call = Callable[..., Any]

COMMON: dict[str, tuple[Call, tuple[int, ...]]] = {
    "fft": (lambda m, z: m.fft(z), (5,)),
    "fft longer": (lambda m, z: m.fft(z, 6, 0, "ortho"), (4, 2)),
    "ifft shorter": (lambda m, z: m.ifft(z, 3, norm="forward"), (2, 4)),
    "irfft": (lambda m, z: m.irfft(z), (4,)),
    "irfft odd": (lambda m, z: m.irfft(z, 5, norm="ortho"), (2, 3)),
    "irfft shorter": (lambda m, z: m.irfft(z, 4, 0, "forward"), (5, 2)),
    "hfft": (lambda m, z: m.hfft(z, 8), (4,)),
    "fft2": (lambda m, z: m.fft2(z), (2, 3, 2)),
    "ifft2": (lambda m, z: m.ifft2(z, (4, 2)), (3, 3)),
    "irfft2": (lambda m, z: m.irfft2(z, (2, 5)), (3, 3)),
    "fftn": (lambda m, z: m.fftn(z, axes=(0, 2)), (2, 2, 3)),
    "ifftn": (lambda m, z: m.ifftn(z, (3, 1), (1, 0), "ortho"), (2, 4)),
    "irfftn": (lambda m, z: m.irfftn(z, axes=(2, 0, 1)), (3, 2, 2)),
    "fftshift": (lambda m, z: m.fftshift(z), (2, 3)),
    "ifftshift": (lambda m, z: m.ifftshift(z, 0), (3, 2)),
}
NUMPY = {
    "fftn, an axis twice": (lambda m, z: m.fftn(z, (4, 3, 2), (0, 1, 0)), (3, 2)),
    "irfftn, an axis twice": (lambda m, z: m.irfftn(z, (3, 4, 4), (0, 1, 0)), (3, 2)),
}
SCIPY = {
    "hfftn": (lambda m, z: m.hfftn(z, axes=(1, 0)), (3, 2)),
    "dct": (lambda m, z: m.dct(z, 3, 5), (4,)),
    "dstn": (lambda m, z: m.dstn(z, 2, norm="ortho", workers=2), (2, 3)),
}
CASES = [
    *(("numpy", name, *case) for name, case in {**COMMON, **NUMPY}.items()),
    *(("scipy", name, *case) for name, case in {**COMMON, **SCIPY}.items()),
]


@pytest.mark.parametrize(
    ("library", "name", "call", "shape"), CASES, ids=[f"{c[0]} {c[1]}" for c in CASES]
)
def test_value_and_modes(library: str, name: str, call: Call, shape: tuple[int, ...]) -> None:
    original, package = LIBRARIES[library]
    rng = numpy.random.default_rng(len(name))
    args = (complexes.drawn(rng, shape),)

    def f(z: Any) -> Any:
        return call(package, z)

    complexes.check_value(f, lambda z: call(original, z), args)
    complexes.check_modes(f, lambda z: call(original, z), args, rng, False)
    if package is np.fft:  # by NumPy's dispatch
        complexes.check_modes(lambda z: call(original, z), f, args, rng, False)


def numbers(rng: numpy.random.Generator, shape: tuple[int, ...], is_complex: bool) -> Any:
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


def cubes(f: Call) -> Call:
    """A real function of what a transform returns, that is not linear."""

    def total(z: Any) -> Any:
        w = f(z)
        return np.sum(np.real(w) ** 3) + np.sum(np.imag(w) ** 3 if is_complex(w) else 0.0)

    return total


def is_complex(w: Any) -> bool:
    return numpy.iscomplexobj(cadiff.value(w))


@st.composite
def transforms(draw: st.DrawFn) -> tuple[Call, Any]:
    """A transform with all its options, and a shape that it takes, with whether it is complex."""
    library = draw(st.sampled_from([np.fft, cadiff.scipy.fft]))
    name = draw(st.sampled_from(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]))
    several = name[-4:] != "hfft" and draw(st.booleans())
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    axes = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=3, unique=True))
    axes = axes if several else axes[:1]
    lengths = draw(st.tuples(*[st.integers(1, 6)] * len(axes)))
    rest = [k for k in range(len(shape)) if k not in axes]
    if rest and draw(st.integers(0, 5)) == 0:
        shape[rest[0]] = 0
    norm = draw(st.sampled_from([None, "backward", "ortho", "forward"]))
    function = getattr(library, name + "n" if several else name)

    def f(z: Any) -> Any:
        if several:
            return function(z, lengths, axes, norm)
        return function(z, lengths[0], axes[0], norm)

    return f, (tuple(shape), name not in ("rfft", "ihfft") and draw(st.booleans()))


@given(transforms(), st.integers(0, 10))
def test_any_transform(transform: tuple[Call, Any], seed: int) -> None:
    f, (shape, of_complex) = transform
    rng = numpy.random.default_rng(seed)
    z, t = numbers(rng, shape, of_complex), numbers(rng, shape, of_complex)
    w, tangent = cadiff.jvp(f, (z,), (t,))
    complexes.close(w, f(z), 1e-13)
    complexes.close(tangent, f(t), 1e-13)

    value, pull = cadiff.vjp(f, z)
    u = numbers(rng, numpy.shape(w), is_complex(w))
    g = pull(u)
    complexes.close(value, w, 1e-13)
    complexes.close(numpy.sum(g * t).real, numpy.sum(u * tangent).real, 1e-12)
    assert g.shape == z.shape
    assert numpy.iscomplexobj(g) == of_complex

    total = cubes(f)
    slope = cadiff.grad(total)
    _, forward = cadiff.jvp(slope, (z,), (t,))
    reverse = cadiff.grad(lambda z: cadiff.jvp(total, (z,), (t,))[1])(z)
    complexes.close(forward, reverse, 1e-11)
    complexes.close(forward, (slope(z + 0.5 * t) - slope(z - 0.5 * t)), 1e-11)  # it is quadratic


@pytest.mark.parametrize("library", [np.fft, cadiff.scipy.fft])
def test_arrays_of_any_layout_and_type(library: Any) -> None:
    rng = numpy.random.default_rng(0)
    z = rng.standard_normal((6, 4)) + 1j * rng.standard_normal((6, 4))
    layouts: list[Any] = [z.T, z[::-1, ::2], numpy.asfortranarray(z), z.astype(">c16"), z.real.T]
    layouts += [z.real[::2, ::-1], z.real.astype(">f8"), numpy.broadcast_to(z[0], (3, 4))]
    layouts += [z.astype(numpy.complex64), z.real.astype(numpy.float32), z.real.tolist()]
    for x in layouts:
        wide = numpy.asarray(x, dtype=complex if numpy.iscomplexobj(x) else float).copy()
        for f in (library.fft, library.ifft2):
            gradient = cadiff.grad(cubes(f))
            got, expected = gradient(x), gradient(wide)
            # those of single precision are rounded at the end
            tolerance = 1e-6 if numpy.asarray(x).dtype.itemsize < wide.itemsize else 1e-13
            complexes.close(numpy.asarray(got), expected, tolerance)


def test_views_and_lists_of_numbers() -> None:
    def f(z: Any) -> Any:
        strided = (z * 2.0)[::-2]
        listed = np.fft.fft([z[0], z[1] * z[2], 1.0])
        return np.sum(np.abs(np.fft.ifft(strided)) ** 2) + np.sum(np.abs(listed) ** 2)

    z = numpy.array([1.0 + 2.0j, 0.5j, -1.0, 3.0 - 1.0j])
    # Parseval: 4 |z[::-2]|^2 / 2 and 3 (|z0|^2 + |z1 z2|^2 + 1)
    size = numpy.abs(z) ** 2
    assert f(z) == pytest.approx(
        2.0 * (size[3] + size[1]) + 3.0 * (size[0] + size[1] * size[2] + 1)
    )
    weights = 2.0 * numpy.array([3.0, 2.0 + 3.0 * size[2], 3.0 * size[1], 2.0])
    for gradient in (cadiff.grad(f), cadiff.compile(f).grad):
        numpy.testing.assert_allclose(gradient(z), weights * z.conj(), rtol=1e-13)


def test_jacobian_is_the_matrix_of_the_transform() -> None:
    n = 5
    matrix = numpy.exp(-2j * numpy.pi * numpy.outer(numpy.arange(n), numpy.arange(n)) / n)
    found = cadiff.jacobian(np.fft.fft, holomorphic=True)(numpy.zeros(n, complex))
    numpy.testing.assert_allclose(found, matrix, atol=1e-14)
    for jacobian in (cadiff.jacfwd, cadiff.jacrev):  # all lanes at once, and row by row
        found = jacobian(lambda x: np.fft.fft(x).imag)(numpy.zeros(n))
        numpy.testing.assert_allclose(found, matrix.imag, atol=1e-14)


def test_nothing_is_shared_with_arguments() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        w = np.fft.fft(y)
        y[0] = 0.0
        w[1] = 1.0j
        return np.sum(np.abs(w) ** 2) + y[1]

    x = numpy.array([1.0, 2.0, 4.0])
    w = numpy.fft.fft(x)
    w[1] = 0.0  # its place was assigned to
    expected = 2.0 * numpy.fft.fft(w.conj()).real + [0.0, 1.0, 0.0]
    numpy.testing.assert_allclose(cadiff.grad(f)(x), expected, rtol=1e-13)
    numpy.testing.assert_allclose(cadiff.compile(f).grad(x), expected, rtol=1e-13)


@pytest.mark.parametrize("library", [np.fft, cadiff.scipy.fft])
def test_programs_compute_anew(library: Any) -> None:
    def f(x: Any, k: Any) -> Any:
        spectrum = library.rfft2(x) * library.rfft2(k, s=x.shape)
        return np.sum(library.irfft2(spectrum, s=x.shape) ** 3)

    program = cadiff.compile(f)
    rng = numpy.random.default_rng(0)
    for _ in range(3):
        x, k = rng.standard_normal((4, 5)), rng.standard_normal((2, 3))
        assert program(x, k) == pytest.approx(f(x, k))
        for got, expected in zip(
            program.grad(x, k, argnums=(0, 1)), cadiff.grad(f, (0, 1))(x, k), strict=True
        ):
            numpy.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    assert len(program.stats()["traces"]) == 2  # of values, and of gradients by both
    assert program.stats()["eager"] == 0


def test_what_numpy_transforms_by_is_what_its_functions_do(monkeypatch: Any) -> None:
    z, results = numbers(numpy.random.default_rng(3), (4, 6), True), []
    assert None not in _fourier._ufuncs.values()
    for ufuncs in (_fourier._ufuncs, dict.fromkeys(["fft", "ifft"])):
        monkeypatch.setattr(_fourier, "_ufuncs", ufuncs)
        results.append([])
        for name, norm in itertools.product(("fftn", "ifftn"), ("backward", "ortho", "forward")):
            for s, axes in ((None, (0, 1)), ((7, 3), (1, 0)), ((5,), (0,)), ((6,), (1,))):
                how = {"s": s, "axes": axes, "norm": norm}
                value, pull = cadiff.vjp(functools.partial(getattr(np.fft, name), **how), z)
                numpy.testing.assert_array_equal(value, getattr(numpy.fft, name)(z, **how))
                results[-1] += [value, *pull(value)]
    for one, other in zip(*results, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_a_constant_part() -> None:
    c = numpy.array([1.0, -2.0, 0.5])

    def f(x: Any) -> Any:
        return np.sum(np.abs(np.fft.fft(x + 1j * c)) ** 2) + np.sum(np.fft.irfft(x) ** 2)

    x = numpy.array([1.0, 2.0, 4.0])
    # 3 (x² + c²), and x0² + 2 x1² + x2² of half a spectrum, over 4
    expected = 6.0 * x + 0.5 * numpy.array([1.0, 2.0, 1.0]) * x
    program = cadiff.compile(f)
    for gradient in (cadiff.grad(f), program.grad, program.grad):
        numpy.testing.assert_allclose(gradient(x), expected, rtol=1e-14)
    numpy.testing.assert_allclose(cadiff.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-14)
    numpy.testing.assert_allclose(program.hvp(x, x), expected, rtol=1e-13)


# --- scipy.fft, and what is refused --------------------------------------------------------------


def test_every_transform_has_a_case() -> None:
    names = {name for name in scipy.fft.__all__ if name.lstrip("i")[:3] in ("fft", "rff", "hff")}
    names |= {name for name in scipy.fft.__all__ if name.lstrip("i")[:3] in ("dct", "dst", "fht")}
    names -= {"fftfreq", "rfftfreq", "fhtoffset"}
    assert names == {case.name.split("(")[0].split()[0] for case in CASES_OF_SCIPY} | {"ifftshift"}


@pytest.mark.parametrize("n", [2, 3, 100, 101])
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_programs_have_scipys_values(name: str, n: int) -> None:
    """All types, with other lengths than the array's, by steps that are C's."""
    x = numpy.random.default_rng(n).normal(size=(n, 3))
    for kind in (1, 2, 3, 4):
        for norm in ("backward", "ortho", "forward"):
            how = {"norm": norm, "orthogonalize": n % 2 == 0, "axis": 0}
            transform = getattr(cadiff.scipy.fft, name)
            program = cadiff.compile(functools.partial(transform, type=kind, n=n + 1, **how))
            want = getattr(scipy.fft, name)(x, kind, n + 1, **how)
            numpy.testing.assert_allclose(
                program(x), want, rtol=0, atol=2e-15 * numpy.abs(want).max()
            )
            assert frames_of(lambda program=program: program(x)) == []


def test_programs_have_scipys_hankel_transforms() -> None:
    x = numpy.exp(-(numpy.linspace(-3.0, 3.0, 129) ** 2))
    for name, bias in (("fht", 0.0), ("ifht", 0.0), ("fht", -0.4), ("ifht", 0.3)):
        program = cadiff.compile(
            lambda x, name=name, b=bias: getattr(cadiff.scipy.fft, name)(x, 0.1, 1.5, 0.2, b)
        )
        want = getattr(scipy.fft, name)(x, 0.1, 1.5, 0.2, bias)
        numpy.testing.assert_allclose(program(x), want, rtol=0, atol=1e-14 * numpy.abs(want).max())
        assert frames_of(lambda program=program: program(x)) == []


def test_a_registered_backend_leaves_plain_arrays_to_scipy() -> None:
    x = numpy.linspace(0.0, 1.0, 5, dtype=numpy.float32)
    for name in ("fft", "rfft", "dct"):
        want = getattr(numpy.fft, name, scipy.fft.dct)(x)
        for module in (scipy.fft, cadiff.scipy.fft):
            got = getattr(module, name)(x)
            assert type(got) is numpy.ndarray
            assert got.dtype.itemsize == want.dtype.itemsize
            numpy.testing.assert_allclose(got, want, rtol=1e-5)


def test_scipy_itself_in_another_thread() -> None:
    def derivative(x: Any) -> Any:
        return cadiff.grad(lambda x: scipy.fft.dct(x)[1] + scipy.fft.fft(x)[1].imag)(x)

    x = numpy.arange(4.0)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        numpy.testing.assert_array_equal(pool.submit(derivative, x).result(), derivative(x))


def test_plain_functions_are_offered() -> None:
    assert cadiff.scipy.fft.next_fast_len(7) == 7
    with cadiff.scipy.fft.set_workers(2):
        assert cadiff.scipy.fft.get_workers() == 2
    assert set(scipy.fft.__all__) <= set(dir(cadiff.scipy.fft))


REFUSED = [
    (lambda m, v: m.fft(v, 0), ValueError, "data points"),
    (lambda m, v: m.fft(v, norm="none"), ValueError, "none"),
    (lambda m, v: m.fft(v, axis=1), numpy.exceptions.AxisError, "axis 1"),
    (lambda m, v: m.fft(v[0]), numpy.exceptions.AxisError, "axis -1"),
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
            call(module, make(numpy.arange(3.0)))
