"""Matrices at which a formula is not that of the function: cut-offs, triangles that are not read,
large norms, equal eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import mpmath
import numpy
import pytest
import scipy.linalg
import scipy.signal
import scipy.sparse.linalg

import cadiff
import cadiff.numpy as np
import cadiff.scipy.linalg
import cadiff.scipy.signal
import cadiff.scipy.sparse.linalg

from ..helpers.differences import slope

RNG = numpy.random.default_rng(7)


def compare(
    f: Callable[..., Any], x: Any, packages: tuple[Any, Any] = (np, numpy), second: bool = True
) -> None:
    """Both orders, in both modes and in programs, of a sum of the results of f(package, x)."""
    t = RNG.normal(size=x.shape) * (1.0 + 0.5j if numpy.iscomplexobj(x) else 1.0)
    weights = RNG.normal(size=numpy.shape(f(packages[1], x)))
    ours, plain = (lambda x, p=p: np.sum(weights * np.real(f(p, x))) for p in packages)

    def along(x: Any) -> Any:
        return cadiff.jvp(ours, (x,), (t,))[1]

    def pulled(x: Any) -> Any:
        return numpy.sum(cadiff.grad(ours)(x) * t).real

    scale = numpy.sum(numpy.abs(t))
    numpy.testing.assert_array_equal(cadiff.value(f(packages[0], x)), f(packages[1], x))
    wanted = slope(plain, x, t, 1e-4)
    for found in (along(x), pulled(x), numpy.sum(cadiff.compile(cadiff.grad(ours))(x) * t).real):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8 * scale)
    if second:
        wanted = slope(pulled, x, t, 1e-4)
        for found in (cadiff.jvp(along, (x,), (t,))[1], numpy.sum(cadiff.grad(along)(x) * t).real):
            numpy.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * scale)


def matrix(rows: int, columns: int, values: tuple[float, ...], factor: complex = 1.0) -> Any:
    """A matrix with these singular values; complex vectors for a complex factor."""

    def unitary(n: int) -> Any:
        return numpy.linalg.qr(
            RNG.normal(size=(n, n)) + RNG.normal(size=(n, n)) * factor.imag * 1j
        )

    u, v = unitary(rows)[0][:, : len(values)], unitary(columns)[0][:, : len(values)]
    found = (u * values) @ v.conj().T
    return found if factor.imag else found.real


# --- cut-offs ------------------------------------------------------------------------------------

SHAPES = ((5, 3), (3, 5), (3, 3))
VALUES = ((3.0, 2.0, 0.4), (3.0, 3.0, 0.2), (3.0, 0.3, 0.3))  # some of them equal
RIGHT = RNG.normal(size=(5, 2))
NUMPY, SCIPY = (np, numpy), (cadiff.scipy, scipy)
CUTS: dict[str, Any] = {
    "pinv": (NUMPY, lambda m, x: m.linalg.pinv(x, rcond=0.25)),
    "pinv, rtol": (NUMPY, lambda m, x: m.linalg.pinv(x, rtol=0.25)),
    "lstsq": (NUMPY, lambda m, x: m.linalg.lstsq(x, RIGHT[: x.shape[0]], 0.25)[0]),
    "stack": (NUMPY, lambda m, x: m.linalg.pinv(m.stack([x, 2.0 * x]), rcond=[0.25, 0.01])),
    "hermitian": (
        NUMPY, lambda m, x: m.linalg.pinv(x[:3, :3].T @ x[:3, :3], 0.05, hermitian=True),
    ),
    "scipy pinv, rtol": (SCIPY, lambda m, x: m.linalg.pinv(x, rtol=0.25)),
    "scipy pinv, atol": (SCIPY, lambda m, x: m.linalg.pinv(x, atol=0.5)),
    "scipy lstsq": (SCIPY, lambda m, x: m.linalg.lstsq(x, RIGHT[: x.shape[0]], 0.25)[0]),
    "scipy pinvh": (SCIPY, lambda m, x: m.linalg.pinvh(x[:3, :3] + x[:3, :3].T, atol=0.7)),
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
def test_small_singular_values_are_dropped(name: str) -> None:
    packages, f = CUTS[name]
    for shape, values in zip(SHAPES, VALUES, strict=True):
        compare(f, matrix(*shape, values), packages)
        if name == "pinv":
            compare(f, matrix(*shape, VALUES[0], 1j))


@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
def test_a_fit_of_low_rank() -> None:
    t = numpy.linspace(0.0, 1.0, 9)
    compare(lambda m, y: m.polyfit(y, numpy.cos(5.0 * t), 3, rcond=0.2), t)


# --- triangles and options -----------------------------------------------------------------------


@pytest.mark.skipif(
    "assume_a" not in signature(scipy.linalg.inv).parameters, reason="SciPy 1.17 brought it"
)
@pytest.mark.parametrize("lower", [True, False])
def test_an_inverse_of_a_diagonal_leaves_what_is_beside_it(lower: bool) -> None:
    a = RNG.normal(size=(3, 3)) + 3.0 * numpy.eye(3)
    invert = lambda m, x: m.linalg.inv(x, assume_a="diagonal", lower=lower)  # noqa: E731
    compare(invert, a, SCIPY)


@pytest.mark.parametrize("form", ["csc", "csr"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_sparse_triangles(form: str, lower: bool, unit: bool) -> None:
    whole = RNG.normal(size=(4, 4)) + 4.0 * numpy.eye(4)
    rows, columns = numpy.tril_indices(4) if lower else numpy.triu_indices(4)

    def solve(m: Any, x: Any, beyond: int = 0) -> Any:
        places = numpy.append(rows, [0, 3][:beyond]), numpy.append(columns, [3, 0][:beyond])
        places = tuple(each.astype(numpy.int32) for each in places)  # for SciPy 1.15
        values = np.concatenate([x, np.ones(beyond)]) if beyond else x
        a = m.sparse.coo_array((values, places), (4, 4)).asformat(form)
        return m.sparse.linalg.spsolve_triangular(a, RIGHT[:4], lower, unit_diagonal=unit)

    x = whole[rows, columns]
    compare(solve, x, SCIPY)
    with pytest.raises(TypeError, match=f"give it scipy.sparse.{'tril' if lower else 'triu'}"):
        cadiff.grad(lambda x: np.sum(solve(cadiff.scipy, x, 2)))(x)


# --- large norms ---------------------------------------------------------------------------------

BESSEL = scipy.signal.tf2ss(*scipy.signal.bessel(5, 60.0, analog=True))
LARGE = {
    "filter": BESSEL[0],
    "triangle": numpy.array([[-1.0, 1e4, 1e7], [0.0, -2.0, 1e5], [0.0, 0.0, -3.0]]),
    "nilpotent": numpy.array([[0.0, 1e7], [0.0, 0.0]]),
    "oscillation": numpy.array([[0.0, 1.0], [-1e7, 0.0]]),
}


def exactly(f: Callable[[Any], Any], a: Any, e: Any) -> Any:
    """The derivative of a function of matrices of mpmath's at a along e."""
    with mpmath.workdps(150):
        h = mpmath.mpf(10) ** -60
        at, along = mpmath.matrix(a.tolist()), mpmath.matrix(e.tolist())
        found = (f(at + h * along) - f(at - h * along)) / (2 * h)
        return numpy.array(found.apply(mpmath.re).tolist(), float)


def check_both(
    f: Any, a: Any, e: Any, wanted: Any, forward: float, reverse: float, change: Any = lambda f: f
) -> None:
    """Tangents and gradients of f, with errors beside the largest element, also when changed."""
    weights = RNG.normal(size=a.shape)
    tangent = change(lambda a: cadiff.jvp(f, (a,), (e,))[1])
    gradient = change(cadiff.grad(lambda a: np.sum(weights * f(a))))
    scale, sizes = numpy.max(numpy.abs(wanted)), numpy.sum(numpy.abs(weights * wanted))
    numpy.testing.assert_allclose(tangent(a), wanted, rtol=0.0, atol=forward * scale)
    found, total = numpy.sum(gradient(a) * e), numpy.sum(weights * wanted)
    numpy.testing.assert_allclose(found, total, rtol=0.0, atol=reverse * sizes)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("compiled", [True, False])
def test_exponentials_of_large_matrices(name: str, compiled: bool) -> None:
    a = LARGE[name]
    e = RNG.normal(size=a.shape) * a
    wanted, change = exactly(mpmath.expm, a, e), cadiff.compile if compiled else lambda f: f
    check_both(cadiff.scipy.linalg.expm, a, e, wanted, 1e-11, 1e-11, change)
    scale = numpy.max(numpy.abs(wanted))
    of_scipy = cadiff.scipy.linalg.expm_frechet(a, e, compute_expm=False)
    numpy.testing.assert_allclose(of_scipy, wanted, rtol=0.0, atol=1e-5 * scale)  # SciPy's own


def test_a_filter_of_large_norm() -> None:
    t = numpy.linspace(0.0, 0.3, 20)
    b, a = scipy.signal.bessel(5, 60.0, analog=True)

    def answer(m: Any, c: Any) -> Any:
        return m.signal.lsim((b, c), numpy.ones(20), t)[1]

    wanted = slope(lambda s: answer(scipy, a * (1.0 + s)))
    found = cadiff.jvp(lambda s: answer(cadiff.scipy, a * (1.0 + s)), (0.0,), (1.0,))[1]
    numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-8)


BASE = numpy.array([[1.0, 0.3, -0.2], [0.4, 2.0, 0.1], [-0.1, 0.2, 3.5]])
OF_MATRICES: dict[str, Any] = {
    "logm": mpmath.logm,
    "sqrtm": mpmath.sqrtm,
    "sinm": lambda a: (mpmath.expm(1j * a) - mpmath.expm(-1j * a)) / 2j,
    "coshm": lambda a: (mpmath.expm(a) + mpmath.expm(-a)) / 2,
    "tanhm": lambda a: (
        mpmath.eye(a.rows) - 2 * mpmath.inverse(mpmath.expm(2 * a) + 1 * mpmath.eye(a.rows))
    ),
    "fractional_matrix_power": lambda a: mpmath.expm(mpmath.logm(a) / 3),
}


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("name", OF_MATRICES)
@pytest.mark.parametrize("size", [1e-12, 1.0, 8.0, 1e7, "triangle"])
def test_functions_of_large_and_small_matrices(name: str, size: Any) -> None:
    if name in ("coshm", "tanhm", "sinm") and size == 1e7:
        pytest.skip("they overflow, or their condition is the norm")
    a = numpy.array([[1.0, 1e6], [0.0, 2.0]]) if size == "triangle" else size * BASE
    e = RNG.normal(size=a.shape) * a
    f = getattr(cadiff.scipy.linalg, name)
    if name == "fractional_matrix_power":
        f = partial(f, t=1.0 / 3.0)
    wanted = exactly(OF_MATRICES[name], a, e)
    check_both(f, a, e, wanted, 1e-10, 1e-9)


@pytest.mark.parametrize("a", [numpy.diag([1.0, 0.0, 2.0]), numpy.diag([1.0, 1e-17, 2.0])])
def test_powers_of_singular_matrices(a: Any) -> None:
    for t in (0.5, 1.5):
        f = partial(cadiff.scipy.linalg.fractional_matrix_power, t=t)
        for derivative in (cadiff.jacobian(f, mode="rev"), cadiff.jacfwd(f)):
            with pytest.raises(numpy.linalg.LinAlgError, match=r"power\(A, .*singular"):
                derivative(a)
    square = partial(cadiff.scipy.linalg.fractional_matrix_power, t=2)
    numpy.testing.assert_allclose(cadiff.jvp(square, (a,), (a,))[1], 2.0 * a @ a)


# --- equal eigenvalues and singular values -------------------------------------------------------

REPEATED = {
    "block": numpy.array([[0.0, 1.0], [-1.0, -2.0]]),
    "identity": numpy.eye(3),
    "zeros": numpy.zeros((2, 2)),
    "two blocks": numpy.diag([1.0, 1.0, 2.0, 2.0]) + numpy.diag([1.0, 0.0, 0.0], 1),
}


@pytest.mark.filterwarnings("ignore:.*rests on the equality of floats")
@pytest.mark.parametrize("name", REPEATED)
def test_characteristic_polynomials(name: str) -> None:
    compare(lambda m, x: m.poly(x), REPEATED[name])
    compare(lambda m, x: m.real(m.poly(x)), REPEATED[name] + 0j)


@pytest.mark.parametrize("which", range(4))
def test_transfer_functions_of_double_poles(which: int) -> None:
    system = [REPEATED["block"], *map(numpy.array, ([[0.0], [1.0]], [[1.0, 0.5]], [[0.3]]))]

    def transfer(m: Any, x: Any) -> Any:
        return m.signal.ss2tf(*system[:which], x, *system[which + 1 :])[which % 2]

    compare(transfer, system[which], SCIPY)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("factor", [1.0, 1j], ids=["real", "complex"])
def test_sums_of_singular_values(shape: Any, factor: complex) -> None:
    for values in ((2.0, 2.0, 2.0), (3.0, 1.0, 1.0), (3.0, 2.0, 1.0)):
        x = matrix(*shape, values, complex(factor))
        compare(lambda m, x: m.linalg.norm(x, "nuc"), x)
        compare(lambda m, x: m.linalg.norm(m.stack([x, 2.0 * x]), "nuc", (2, 1), True), x)
