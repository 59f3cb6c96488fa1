"""Eigenvalues and eigenvectors, whose values are LAPACK's of the same matrix, and their phases."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from cadiff import NoDerivativeError

from ..helpers.differences import check_slope, slope
from ..helpers.programs import quiet

Function = Callable[[Any], Any]

RNG = numpy.random.default_rng(11)
MATRICES = [RNG.normal(size=(n, n)) for n in (2, 3, 4, 5, 6) for _ in range(6)]
MATRICES += [RNG.normal(size=(4, 3, 3)), numpy.zeros((0, 0)), numpy.ones((1, 1))]
TURNING = numpy.array([[0.3, -1.5, 1.7], [0.2, -0.4, 2.0], [0.0, -1.5, -0.4]])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():  # programs that are to be exact run rules eagerly
        yield


def mixed(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def same(found: Any, expected: Any) -> None:
    found = cadiff.value(found)
    assert found.dtype == expected.dtype
    assert found.tobytes() == numpy.ascontiguousarray(expected).tobytes()


def of_kind(expected: Any) -> Any:
    """What NumPy has computed, as reals if all are: from version 2.5 on it is complex always."""
    return expected if numpy.any(numpy.imag(expected)) else numpy.real(expected)


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda np, a: np.linalg.eigvals(a),
        lambda np, a: np.linalg.eig(a)[0],
        lambda np, a: np.linalg.eig(a)[1],
        lambda np, a: np.roots(a.ravel()) if a.ndim == 2 else np.linalg.eigvals(a),
    ],
    ids=["eigvals", "eig", "vectors", "roots"],
)
def test_values_are_those_of_the_real_routine(f: Callable[[Any, Any], Any]) -> None:
    for a in MATRICES:
        expected = of_kind(f(numpy, a))
        same(cadiff.vjp(lambda a: f(np, a), a)[0], expected)
        same(cadiff.jvp(lambda a: f(np, a), (a,), (a,))[0], expected)
        same(cadiff.jvp(lambda a: cadiff.vjp(lambda b: f(np, b), a)[0], (a,), (a,))[0], expected)
        for optimize in (True, False):
            program = cadiff.compile(lambda a: f(np, a), optimize=optimize)
            for _ in range(2):
                same(program(a), expected)


def test_rows_of_a_map_have_the_values_of_the_real_routine() -> None:
    turning = numpy.stack([TURNING, TURNING.T, TURNING @ TURNING])
    found = cadiff.vmap(np.linalg.eigvals)(turning)
    for row, a in zip(found, turning, strict=True):
        same(row, numpy.linalg.eigvals(a))


def test_programs_turn_back_where_eigenvalues_are_real_again() -> None:
    for optimize in (True, False):
        program = cadiff.compile(np.linalg.eigvals, optimize=optimize)
        for a in (TURNING, numpy.diag([1.0, 2.0, 4.0]), TURNING):
            for _ in range(2):
                same(program(a), of_kind(numpy.linalg.eigvals(a)))


def test_the_polynomial_of_a_real_matrix_is_real() -> None:
    found = cadiff.vjp(np.poly, TURNING)[0]
    assert found.dtype == float
    numpy.testing.assert_allclose(found, numpy.poly(TURNING), rtol=1e-14)


# --- derivatives ---------------------------------------------------------------------------------


def weighted(a: Any) -> Any:
    """Each eigenvalue and the projector of each vector, by other weights."""
    w, v = np.linalg.eig(a)
    n = a.shape[-1]
    by_values = np.sum(w.real * np.arange(1.0, n + 1)) + np.sum(w.imag**2 * np.arange(n))
    weights = np.arange(1.0 * n * n).reshape(n, n) % 7.0
    return by_values + np.sum(abs(v) ** 2 * weights) + np.sum((v[0] * np.conj(v[1])).imag ** 2)


def by_values(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return np.sum(w.real**2 * np.arange(1.0, w.size + 1)) + np.sum(abs(w.imag) ** 3)


@pytest.mark.parametrize("f", [weighted, by_values])
def test_derivatives_belong_to_the_values(f: Function) -> None:
    complex_ones = 0
    for a in [a for a in MATRICES if a.ndim == 2 and a.size > 4][::3] + [TURNING]:
        complex_ones += numpy.iscomplexobj(numpy.linalg.eigvals(a))
        t = numpy.random.default_rng(2).normal(size=a.shape)
        gradient = cadiff.grad(f)
        check_slope(f, f, a, 1e-6, t, step=1e-5)
        change = slope(gradient, a, t, 1e-5)
        size = numpy.max(numpy.abs(change))
        numpy.testing.assert_allclose(cadiff.hvp(f)(a, t), change, rtol=1e-5, atol=1e-5 * size)
        numpy.testing.assert_allclose(cadiff.compile(f).grad(a), gradient(a), rtol=1e-9, atol=1e-9)
    assert complex_ones >= 3


# --- phases --------------------------------------------------------------------------------------

Z = mixed(4, 4)
HERMITIAN = Z + Z.conj().T
WEIGHTS = mixed(4, 4)
TALL = mixed(5, 3)


def vectors(a: Any) -> Any:
    return np.linalg.eig(a)[1]


def vectors_h(a: Any) -> Any:
    return np.linalg.eigh(a)[1]


def thin(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)


DEPENDING: dict[str, tuple[Function, Any]] = {
    "eig": (lambda a: np.sum(WEIGHTS * vectors(a)).real, Z),
    "eig, an element": (lambda a: vectors(a)[0, 1].imag, Z),
    "eig of a real matrix": (lambda a: vectors(a)[1, 1].real, TURNING),
    "eig of a stack": (lambda a: np.sum(WEIGHTS * vectors(a)).real, numpy.stack([Z, Z.T])),
    "eigh": (lambda a: np.sum(WEIGHTS * vectors_h(a)).imag, HERMITIAN),
    "svd, left": (lambda a: np.linalg.svd(a)[0][1, 1].real, Z),
    "svd, right": (lambda a: thin(a)[2][0, 1].imag, TALL),
    "svd, both turned": (
        lambda a: (lambda u, _, v: u[0, 0] * np.conj(v[0, 1]))(*thin(a)).real,
        TALL,
    ),
}
KEEPING: dict[str, tuple[Function, Any]] = {
    "sizes": (lambda a: np.sum(abs(vectors(a)) ** 2 * abs(WEIGHTS)), Z),
    "projector": (
        lambda a: (lambda v: np.sum(WEIGHTS * np.outer(v, np.conj(v))).real)(vectors(a)[:, 1]), Z,
    ),
    "lengths, which are 1": (lambda a: np.sum(abs(vectors(a)) ** 2), Z),
    "put together": (
        lambda a: (lambda w, v: np.sum(WEIGHTS * ((v * np.sin(w)) @ np.conj(v).T)).real)(
            *np.linalg.eigh(a)), HERMITIAN,
    ),
    "small": (lambda a: 1e-9 * np.sum(abs(vectors_h(a)) ** 4), HERMITIAN),
    "real vector of a turning matrix": (lambda a: vectors(a)[1, 0].real, TURNING),
    "polar factor": (
        lambda a: (lambda u, _, v: np.sum(WEIGHTS[:, :3] * (u @ v)[:4]).real)(*thin(a)), TALL,
    ),
    "symmetric": (lambda a: np.sum(WEIGHTS.real * vectors_h(a)), HERMITIAN.real),
    "real singular": (lambda a: np.sum(WEIGHTS.real * np.linalg.svd(a)[0]), Z.real),
}  # fmt: skip


@pytest.mark.parametrize("name", DEPENDING)
def test_what_depends_on_a_phase_has_no_gradient(name: str) -> None:
    f, a = DEPENDING[name]
    value, _ = cadiff.jvp(f, (a,), (a,))
    assert value == pytest.approx(f(a), rel=1e-14)
    program = cadiff.compile(f)
    for differentiate in (
        cadiff.grad(f),
        program.grad,
        program.grad,
        lambda a: cadiff.hessian(lambda s: f(a * (1.0 + s)))(0.0),
        lambda a: cadiff.linearize(f, a)[1].vjp(1.0),
    ):
        with pytest.raises(NoDerivativeError, match="projector"):
            differentiate(a)


@pytest.mark.parametrize("name", KEEPING)
def test_what_depends_on_no_phase_has_a_gradient(name: str) -> None:
    f, a = KEEPING[name]
    t = WEIGHTS[:3, :3].real if a.shape == (3, 3) else mixed(*a.shape)
    t = t if numpy.iscomplexobj(a) else t.real
    t = t + t.conj().T if a.shape == (4, 4) and numpy.array_equal(a, a.conj().T) else t
    wanted = slope(f, a, t, 1e-5)
    for gradient in (cadiff.grad(f), cadiff.compile(f).grad):
        found = numpy.sum(gradient(a) * t).real
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    change = (f(a + 1e-3 * t) + f(a - 1e-3 * t) - 2.0 * f(a)) / 1e-6
    second = cadiff.hessian(lambda s: f(a + s * t))(0.0)
    assert second == pytest.approx(change, rel=1e-2, abs=1e-4)


@pytest.mark.parametrize(
    "c", [[1.0, -3.0, 2.0, 0.0], [0.0, 1.0, -3.0, 2.0], [0.0, 2.0, 1.0, 3.0, 0.0], [3.0, 0.0]]
)
def test_roots_move_with_coefficients_that_are_zero(c: list[float]) -> None:
    """As each simple root does: by -rᵏ / p'(r), and the whole sum by differences of that."""
    point, powers = numpy.array(c), numpy.arange(len(c))[::-1]

    def slopes(p: Any) -> Any:
        r = numpy.roots(p)[:, None]
        by_root = -(r**powers) / numpy.polyval(numpy.polyder(p), r)
        return numpy.sum(numpy.exp(r) * by_root, axis=0).real

    def f(p: Any) -> Any:
        return np.sum(np.exp(np.roots(p))).real

    wanted, program = slopes(point), cadiff.compile(f)
    numpy.testing.assert_array_equal(cadiff.value(np.roots(cadiff.Var(point))), numpy.roots(point))
    program.grad(point + 0.1)
    for gradient in (cadiff.grad(f)(point), cadiff.jacfwd(f)(point), program.grad(point)):
        numpy.testing.assert_allclose(gradient, wanted, rtol=1e-12)
    if c[0] != 0.0:  # else a root comes from infinity
        step = 1e-5 * numpy.eye(len(c))
        rows = [(slopes(point + e) - slopes(point - e)) / 2e-5 for e in step]
        numpy.testing.assert_allclose(cadiff.hessian(f)(point), rows, rtol=1e-6, atol=1e-8)


# --- roots of series -----------------------------------------------------------------------------

SERIES = ["Polynomial", "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre"]
COEFFICIENTS = numpy.array([1.0, -3.0, 2.2, 0.5])


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_roots_of_series(kind: str, n: int, is_complex: bool) -> None:
    """NumPy does not offer these functions to numbers with derivatives."""
    series = getattr(numpy.polynomial, kind)
    find = getattr(importlib.import_module(series.__module__), series._roots.__name__)
    factor = 1.0 + 0.5j if is_complex else 1.0
    shift = 0.2j if is_complex else 0.0

    def f(c: Any) -> Any:
        found = find(factor * c + shift)
        return np.sum(np.abs(found) ** 2 * numpy.arange(1.0, len(found) + 1.0))

    c = COEFFICIENTS[:n]
    by_steps = [slope(f, c, e, 1e-4) for e in numpy.eye(n)]
    gradient = cadiff.grad(f)(c)
    numpy.testing.assert_allclose(gradient, by_steps, rtol=1e-6, atol=1e-8)
    numpy.testing.assert_allclose(cadiff.jacfwd(f)(c), gradient, rtol=1e-10, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numpy.testing.assert_allclose(cadiff.compile(f).grad(c), gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", SERIES)
def test_series_with_derivatives_have_roots(kind: str) -> None:
    def f(c: Any) -> Any:
        series = getattr(np.polynomial, kind)(c, domain=[-1.0, 3.0])
        return np.sum(np.abs(series.roots()) ** 2)

    by_steps = [slope(f, COEFFICIENTS, e, 1e-4) for e in numpy.eye(4)]
    numpy.testing.assert_allclose(cadiff.grad(f)(COEFFICIENTS), by_steps, rtol=1e-6, atol=1e-5)


def test_zeros_behind_the_coefficients_of_a_series_have_no_roots() -> None:
    find = numpy.polynomial.polynomial.polyroots
    f = lambda c: np.sum(np.abs(find(np.append(c, [0.0, 0.0]))))  # noqa: E731
    g = lambda c: np.sum(np.abs(np.roots(c[::-1])))  # noqa: E731
    numpy.testing.assert_allclose(cadiff.grad(f)(COEFFICIENTS), cadiff.grad(g)(COEFFICIENTS))
    assert cadiff.grad(lambda x: np.sum(find([x])) + x)(2.0) == 1.0
