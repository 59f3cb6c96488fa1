"""Linear algebra in replays at its edges: C declines what Python is to say.

That C carries out the rest is tested of real cases in `test_compiled_functions`, and of complex
ones in `test_complex_linalg`.
"""

from __future__ import annotations

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

Function = Callable[..., Any]

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def total(x: Any) -> Any:
    """A number that depends on all, and not on the phases of complex vectors."""
    if cnp.iscomplexobj(x):
        return cnp.sum(x.real**2 + x.imag**2 * np.cos(np.arange(x.size).reshape(x.shape)))
    return cnp.sum(cnp.sin(x) * np.cos(np.arange(x.size).reshape(x.shape)))


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
        found = getattr(linalg, name)(a)
        return cnp.sum(found[1] if name == "qr" else found) + cnp.sum(x)

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
