"""What every module of `cadiff.interop` promises: failures, nans, copies, threads, both ways."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import cadiff

from ..helpers import seams
from ..helpers.seams import b, energy

pytestmark = [
    pytest.mark.filterwarnings("ignore:Numba will use object mode"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

# --- functions for cadiff as those of other packages: how they are made, and their gradients


def of_torch(f: Any) -> Any:
    return import_module("cadiff.interop.torch").function(f)


def by_torch(f: Any) -> Any:
    torch = import_module("torch")
    return lambda x: torch.func.grad(f)(torch.tensor(x)).numpy()


def of_jax(f: Any) -> Any:
    return import_module("cadiff.interop.jax").function(f, like=0.0)


def by_jax(f: Any) -> Any:
    jax = import_module("jax")
    gradient = jax.jit(jax.grad(f))
    return lambda x: np.asarray(gradient(x))


def of_pytensor(f: Any) -> Any:
    return import_module("cadiff.interop.pytensor").op(f)


def by_pytensor(f: Any) -> Any:
    pytensor = import_module("pytensor")
    x = pytensor.tensor.dvector("x")
    gradient = pytensor.tensor.grad(f(x), x)
    return pytensor.function([x], gradient, mode="FAST_COMPILE")


def of_casadi(f: Any) -> Any:
    return import_module("cadiff.interop.casadi").function(f, b)


def by_casadi(f: Any) -> Any:
    casadi = import_module("casadi")
    x = casadi.MX.sym("x", len(b))
    gradient = casadi.Function("gradient", [x], [casadi.gradient(f(x), x)])
    return lambda x: gradient(x).full()[:, 0]


Side = tuple[Callable[[Any], Any], Callable[[Any], Any]]
SIDES = {
    "casadi": (of_casadi, by_casadi),
    "jax": (of_jax, by_jax),
    "pytensor": (of_pytensor, by_pytensor),
    "torch": (of_torch, by_torch),
}


@pytest.fixture(params=SIDES)
def side(request: Any) -> Iterator[Side]:
    package = pytest.importorskip(request.param)
    if request.param == "jax":
        package.config.update("jax_enable_x64", True)  # of all threads
    yield SIDES[request.param]
    if request.param == "jax":
        package.config.update("jax_enable_x64", False)


def picky(x: Any) -> Any:
    if x[0] > 1e3:
        raise ArithmeticError("more than 1000")
    return np.sum(np.exp(x) * x)


def test_an_exception_says_what_f_raised_and_the_next_call_is_right(side: Side) -> None:
    of, by = side
    made = of(picky)
    gradient = by(made)
    with pytest.raises(Exception, match="more than 1000"):
        gradient(b + 2e3)
    np.testing.assert_allclose(gradient(b), cadiff.grad(energy)(b), rtol=1e-12)


def test_nan_is_nan(side: Side) -> None:
    of, by = side
    made = of(energy)
    found = by(made)(np.array([0.5, np.nan, 1.0]))
    assert np.isnan(found).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: [x[0], x[1]], "list, where .* cadiff.stack"),
        (lambda x: None, "NoneType"),
        (lambda x: np.sum(x) * 1j, "complex128"),
        (lambda x: x[0] > 0, "bool"),
    ],
)
def test_results_that_are_no_real_arrays_are_refused(side: Side, f: Any, text: str) -> None:
    of, by = side
    with pytest.raises(Exception, match=text):
        by(of(f))(b)


def test_a_function_pickles(side: Side) -> None:
    of, by = side
    copy = pickle.loads(pickle.dumps(of(energy)))
    np.testing.assert_allclose(by(copy)(b), cadiff.grad(energy)(b), rtol=1e-12)


def test_threads_share_a_function(side: Side) -> None:
    of, by = side
    made = of(energy)
    gradients = [by(made) for _ in range(4)]
    points = [b + k for k in range(16)]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda k: [gradients[k](x) for x in points[k::4]], range(4))
        for k, of_thread in enumerate(found):
            expected = [cadiff.grad(energy)(x) for x in points[k::4]]
            np.testing.assert_allclose(of_thread, expected, rtol=1e-12)


# --- functions of other packages as operations


@pytest.fixture(params=["jax", "torch"])
def other(request: Any) -> Any:
    """The seam, and the package's functions of arrays."""
    name = request.param
    arrays = pytest.importorskip("jax.numpy" if name == "jax" else name)
    return import_module(f"cadiff.interop.{name}"), arrays


def product_of(xp: Any) -> Any:
    return lambda A, b: (xp.sin(A) @ b, xp.sum(b**2) * A[0, 0])


def energy_in_jax(x: Any) -> Any:
    xp = import_module("jax.numpy")
    return xp.sum(xp.exp(x) * x)


def energy_in_torch(x: Any) -> Any:
    xp = import_module("torch")
    return xp.sum(xp.exp(x) * x)


@pytest.mark.parametrize("argnums", [0, 1])
@pytest.mark.parametrize("transform", [cadiff.grad, cadiff.hessian, cadiff.jacfwd])
def test_it_is_an_operation(other: Any, transform: Any, argnums: int) -> None:
    seam, xp = other
    seams.check_derivative(seam.primitive(product_of(xp)), transform, argnums)


def test_programs_replay_it_and_it_pickles(other: Any) -> None:
    seam, xp = other
    seams.check_replays(seam.primitive(product_of(xp)))
    name = seam.__name__.rpartition(".")[2]
    seams.check_pickle(seam.primitive(globals()[f"energy_in_{name}"]))


def test_failures_of_an_operation(other: Any) -> None:
    seam, xp = other
    operation = seam.primitive(product_of(xp))
    with pytest.raises((TypeError, RuntimeError), match=r"same shape|size|contracting"):
        cadiff.grad(lambda x: operation(np.ones((2, 2)), x)[1])(np.ones(3))
    assert np.isnan(cadiff.grad(seams.of_both(operation))(seams.A * np.nan, b)).all()


def test_arguments_are_arrays_by_position(other: Any) -> None:
    seam, _ = other
    for called in (seam.primitive(energy), seam.function(energy)):
        for call in (lambda c=called: c(x=b), lambda c=called: c({"x": b})):
            with pytest.raises(TypeError, match=r"energy takes arrays by position.* lambda x:"):
                call()


def test_threads_share_an_operation(other: Any) -> None:
    seam, xp = other
    gradient = cadiff.grad(seams.of_both(seam.primitive(product_of(xp))))
    points = [seams.A + k for k in range(16)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda A: gradient(A, b), points))
    expected = [cadiff.grad(seams.direct)(A, b) for A in points]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
