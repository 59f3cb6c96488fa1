"""Linear algebra in replays: C carries out what it can, and declines what Python is to say.

The functions are those of NumPy and SciPy, of one matrix and of stacks, real and complex.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.linalg import LinAlgError

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy.linalg as slinalg
from cadiff.numpy import linalg

from ..helpers import programs

Function = Callable[..., Any]

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


OF_LINALG = (f"{os.sep}linalg", "_systems", "_triangular_factors", "_factorizations")
OF_LINALG += ("_lapack", "_least_squares")


def frames_of(call: Callable[[], Any]) -> list[str]:
    """The functions of linear algebra that a second call runs in Python."""
    found = [name for name in programs.frames_of(call) if not name.endswith("<lambda>")]
    return [name for name in found if any(part in name for part in OF_LINALG)]


def total(x: Any) -> Any:
    """A number that depends on all, and not on the phases of complex vectors."""
    if cnp.iscomplexobj(x):
        return cnp.sum(x.real**2 + x.imag**2 * np.cos(np.arange(x.size).reshape(x.shape)))
    return cnp.sum(cnp.sin(x) * np.cos(np.arange(x.size).reshape(x.shape)))


def positive(a: Any) -> Any:
    """A Hermitian matrix that is positive definite."""
    adjoint = cnp.swapaxes(cnp.conj(a) if cnp.iscomplexobj(a) else a, -1, -2)
    return a @ adjoint + 4.0 * np.eye(a.shape[-1])


def tall(a: Any) -> Any:
    """A matrix of more rows than columns."""
    return a[..., :, :-1]


def right(a: Any) -> Any:
    """Right-hand sides."""
    return a[..., :, :2] + 1.0


def projector(v: Any) -> Any:
    """What does not depend on the phases of some columns."""
    adjoint = cnp.swapaxes(cnp.conj(v) if cnp.iscomplexobj(v) else v, -1, -2)
    return v @ (np.arange(1.0, 1.0 + v.shape[-1])[:, None] * adjoint)


OF_NUMPY: dict[str, Function] = {
    "solve": lambda a: linalg.solve(a, right(a) + 1.0),
    "tensorsolve": lambda a: linalg.tensorsolve(a, a[0]),
    "inv": linalg.inv,
    "tensorinv": lambda a: linalg.tensorinv(a, 1),
    "det": linalg.det,
    "slogdet": lambda a: linalg.slogdet(a)[1],
    "matrix_power": lambda a: linalg.matrix_power(a, -2),
    "cholesky": lambda a: linalg.cholesky(positive(a)),
    "cholesky upper": lambda a: linalg.cholesky(positive(a), upper=True),
    "eigvalsh": lambda a: linalg.eigvalsh(positive(a)),
    "eigh": lambda a: projector(linalg.eigh(positive(a))[1]),
    "eigh upper": lambda a: projector(linalg.eigh(positive(a), "U")[1]),
    "eigvals": lambda a: linalg.eigvals(positive(a)).real,  # from NumPy 2.5 on complex always
    "svdvals": lambda a: linalg.svdvals(a),
    "svd": lambda a: projector(linalg.svd(a)[0]),
    "svd tall": lambda a: projector(linalg.svd(tall(a), full_matrices=False)[0]),
    "svd full": lambda a: projector(linalg.svd(tall(a))[0][..., :2]),
    "qr": lambda a: linalg.qr(a)[0],
    "qr tall": lambda a: linalg.qr(tall(a))[1],
    "qr complete": lambda a: linalg.qr(tall(a), mode="complete")[0][..., :2],
    "pinv": lambda a: linalg.pinv(tall(a)),
    "pinv hermitian": lambda a: linalg.pinv(positive(a), hermitian=True),
    "cond": lambda a: linalg.cond(a),
    "cond 1": lambda a: linalg.cond(a, 1),
    "norm nuc": lambda a: linalg.norm(a, "nuc", axis=(-2, -1)),
    "norm 2": lambda a: linalg.norm(a, 2, axis=(-2, -1)),
    "norm inf": lambda a: linalg.norm(a, np.inf, axis=-1),
}

OF_ONE_MATRIX: dict[str, Function] = {
    "lstsq": lambda a: linalg.lstsq(tall(a), right(a))[0],
    "scipy solve": lambda a: slinalg.solve(a, right(a)),
    "scipy solve transposed": lambda a: slinalg.solve(a.real, right(a).real, transposed=True),
    "scipy solve positive": lambda a: slinalg.solve(
        positive(a.real), right(a.real), assume_a="pos"
    ),
    "scipy inv": slinalg.inv,
    "scipy det": slinalg.det,
    "scipy cholesky": lambda a: slinalg.cholesky(positive(a), lower=True),
    "cho_solve": lambda a: slinalg.cho_solve(slinalg.cho_factor(positive(a)), right(a)),
    "lu_solve": lambda a: slinalg.lu_solve(slinalg.lu_factor(a), right(a)),
    "solve_triangular": lambda a: slinalg.solve_triangular(a, right(a), lower=True),
    "solve_triangular of the adjoint": lambda a: slinalg.solve_triangular(a, right(a), trans=2),
    "scipy eigh": lambda a: projector(slinalg.eigh(positive(a.real))[1]),
    "scipy eigh upper": lambda a: projector(slinalg.eigh(positive(a.real), lower=False)[1]),
    "scipy eigh evd": lambda a: projector(slinalg.eigh(positive(a), driver="evd")[1]),
    "scipy svd": lambda a: projector(slinalg.svd(a)[0]),
    "scipy pinv": lambda a: slinalg.pinv(tall(a)),
    "scipy qr": lambda a: slinalg.qr(a, mode="economic")[0],
    "expm": slinalg.expm,
    "expm of small matrices": lambda a: slinalg.expm(0.02 * a),
    "expm of large matrices": lambda a: slinalg.expm(3.0 * a) * 1e-6,
    "expm_frechet": lambda a: slinalg.expm_frechet(a, right(a) @ right(a).T)[1],
    "scipy eigvals": lambda a: slinalg.eigvals(positive(a)),
}

NOT_OF_STACKS = {"tensorsolve", "tensorinv", *OF_ONE_MATRIX}
ALL = {**OF_NUMPY, **OF_ONE_MATRIX}
CASES = [(name, ()) for name in ALL] + [(name, (2,)) for name in ALL if name not in NOT_OF_STACKS]


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(("name", "stack"), CASES)
def test_replays_run_no_python(name: str, stack: tuple[int, ...], is_complex: bool) -> None:
    f = ALL[name]
    a, other, v = RNG.normal(size=(3, *stack, 4, 4)) + 2.0 * np.eye(4)
    turn = 0.3 * RNG.normal(size=(4, 4))

    def number(x: Any) -> Any:
        return total(f(x + 1j * (x @ turn) if is_complex else x))

    program = cadiff.compile(number)
    for x in (a, other):
        ways: dict[str, Callable[[], Any]] = {
            "value": lambda x=x: program(x),
            "gradient": lambda x=x: program.grad(x),
            "product": lambda x=x: program.hvp(x, v),
            "tangent": lambda x=x: program.jvp((x,), (v,)),
        }
        wanted = {
            "value": number(x),
            "gradient": cadiff.grad(number)(x),
            "product": cadiff.hvp(number)(x, v),
            "tangent": cadiff.jvp(number, (x,), (v,)),
        }
        for way, call in ways.items():
            size = 1.0 + np.max(np.abs(wanted[way]))
            np.testing.assert_allclose(call(), wanted[way], rtol=1e-9, atol=1e-9 * size)
            assert frames_of(call) == [], way
    assert program.stats()["obstacles"] == []


# --- at the edges --------------------------------------------------------------------------------

CUTOFFS, GRADED = np.array([1e-3, 0.5]), np.diag([1.0, 0.1])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
EDGES: dict[str, tuple[Function, Any]] = {
    "solve": (lambda a: linalg.solve(a, np.ones((2, 1))), SINGULAR),
    "inv": (linalg.inv, SINGULAR),
    "slogdet": (lambda a: linalg.slogdet(a)[1], SINGULAR),
    "det": (linalg.det, SINGULAR),
    "cholesky": (linalg.cholesky, -np.eye(2)),
    "eigh repeated": (lambda a: linalg.eigh(a)[1], np.eye(2)),
    "eigvalsh repeated": (linalg.eigvalsh, np.eye(2)),
    "eigvals turning": (lambda a: linalg.eigvals(a).real, np.array([[0.0, 1.0], [-1.0, 0.0]])),
    "svd of nan": (lambda a: linalg.svd(a)[1], np.full((2, 2), np.nan)),
    "svdvals of nought": (linalg.svdvals, np.zeros((2, 2))),
    "qr dependent": (lambda a: linalg.qr(a)[1], SINGULAR),
    "pinv of less rank": (linalg.pinv, SINGULAR),
    "cutoffs": (lambda a: linalg.pinv(cnp.stack([a, 2.0 * a]), rcond=CUTOFFS), GRADED),
    "norm of nought": (linalg.norm, np.zeros((2, 2))),
    "solve positive": (lambda a: slinalg.solve(a, np.ones(2), assume_a="pos"), -np.eye(2)),
    "cond": (linalg.cond, SINGULAR),
    "cond 1": (lambda a: linalg.cond(a, 1), SINGULAR),
}


def answer_of(call: Callable[[], Any]) -> Any:
    """What it returns, or the kind of what it raises."""
    try:
        return call()
    except (LinAlgError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("name", EDGES)
def test_what_c_declines_is_as_python_has_it(name: str, is_complex: bool) -> None:
    f, edge = EDGES[name]
    factor = 1.0 + 0.0j if is_complex else 1.0

    def number(x: Any) -> Any:
        return total(f(factor * x))

    program = cadiff.compile(number)
    for _ in range(2):
        program.value_and_grad(np.array([[2.0, 0.3], [0.3, 1.0]]))
    for way in (number, cadiff.grad(number)):
        call = program if way is number else program.grad
        found, wanted = answer_of(lambda: call(edge)), answer_of(lambda: way(edge))  # noqa: B023
        if isinstance(wanted, type):
            assert found is wanted
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("driver", [None, "evr", "evd", "ev"])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_replays_have_the_vectors_of_the_driver(n: int, driver: str | None, lower: bool) -> None:
    """Of two signs that a vector may have, LAPACK's routines choose in different ways."""
    a, other = RNG.normal(size=(2, n, n))
    how: dict[str, Any] = {"lower": lower, "driver": driver}
    program = cadiff.compile(lambda x: tuple(slinalg.eigh(x, **how)))
    program(other)
    for found, wanted in zip(program(a), scipy.linalg.eigh(a, **how), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
    assert program.stats()["obstacles"] == []


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 0), (0, 0)])
@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigvalsh", "svdvals", "qr", "pinv"])
def test_empty_matrices(name: str, shape: tuple[int, ...]) -> None:
    def number(a: Any, x: Any) -> Any:
        found = {**OF_NUMPY, "pinv": linalg.pinv}[name](a)
        return cnp.sum(found) + cnp.sum(x)

    program = cadiff.compile(number)
    a, x = np.zeros(shape), np.ones(3)
    for _ in range(2):
        found = program.value_and_grad(a, x, argnums=(0, 1))
    wanted = cadiff.value_and_grad(number, (0, 1))(a, x)
    assert found[0] == wanted[0]
    np.testing.assert_array_equal(found[1][1], wanted[1][1])
    assert found[1][0].shape == shape


@pytest.mark.parametrize(
    "f",
    [
        lambda a: cnp.abs(linalg.eigvals(a)),
        lambda a: cnp.abs(linalg.eigvals(a + 1j * a.T)),
        lambda a: cnp.abs(linalg.eig(a)[1]),
        lambda a: cnp.abs(cnp.roots(a[0] + 1j * a[1])),
    ],
)
def test_derivatives_of_eigenvalues_in_a_function_are_replayed(f: Function) -> None:
    derivatives = lambda a: [  # noqa: E731
        cadiff.grad(lambda a: total(f(a)))(a),
        cadiff.jvp(f, (a,), (a + 1.0,))[1],
    ]
    program = cadiff.compile(derivatives)
    for _ in range(3):
        a = RNG.normal(size=(4, 4)) + 4.0 * np.diag(np.arange(1.0, 5.0))
        for found, wanted in zip(program(a), derivatives(a), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
    assert program.stats()["obstacles"] == []


def test_a_basis_of_eigenvectors_may_be_lost_in_a_replay() -> None:
    program = cadiff.compile(cadiff.grad(lambda a: cnp.sum(cnp.abs(linalg.eigvals(a)))))
    program(np.diag([1.0, 2.0]))
    assert np.isnan(program(np.array([[1.0, 1.0], [0.0, 1.0]]))).all()
    np.testing.assert_allclose(program(np.diag([3.0, 2.0])), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 9])
@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_eigenvalues_of_what_is_not_finite_are_numpys(n: int, number: float) -> None:
    program = cadiff.compile(linalg.eigvalsh)
    a = np.diag(np.arange(1.0, n + 1.0))
    program(a)
    program(a + 1.0)
    a[-1, 0] = number
    found, wanted = answer_of(lambda: program(a)), answer_of(lambda: np.linalg.eigvalsh(a))
    np.testing.assert_equal(found, wanted)


def test_vectors_of_what_is_not_finite_do_not_converge() -> None:
    for f in (lambda a: linalg.svd(a)[0], lambda a: linalg.eigh(a)[1]):
        program = cadiff.compile(f)
        program(np.eye(3))
        with pytest.raises(LinAlgError, match="did converge: there is inf or nan in the matrix"):
            program(np.full((3, 3), np.inf))


@pytest.mark.parametrize(
    "f",
    [linalg.eigvals, lambda a: linalg.eig(a)[1], linalg.norm, linalg.cond, cnp.poly]
    + [lambda a: linalg.norm(a, axis=0), lambda a: linalg.cond(a, 1)],
)
def test_no_derivative_of_a_matrix_rests_on_an_equality(f: Function) -> None:
    gradient = cadiff.grad(lambda a: cnp.sum(cnp.abs(f(a)) ** 2))
    program = cadiff.compile(gradient)
    a = np.array([[1.0, 0.3, 0.2], [0.1, 2.0, 0.4], [0.5, 0.2, 3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(2):
            np.testing.assert_allclose(program(a + k), gradient(a + k), rtol=1e-9)
