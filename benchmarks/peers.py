"""Other packages as opponents: value and gradient of Rosenbrock's function by each installed one.

All but one run the same Python loop, each in the way that suits it: single tensors for PyTorch, a
symbolic function for CasADi, a jitted one for JAX. JAX compiles a loop of Python operation by
operation, which takes minutes for long ones; so there is also the function as a user of JAX would
rewrite it, in arrays. None of these packages is needed by anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.contests import Runner

__all__ = [
    "AUTOGRAD",
    "CASADI",
    "JAX_ARRAYS",
    "JAX_LOOP",
    "TORCH",
    "makers",
    "missing",
    "rosenbrock",
]

AUTOGRAD = "autograd"
CASADI = "CasADi"
JAX_LOOP = "JAX, jit of the loop"
JAX_ARRAYS = "JAX, jit, rewritten in arrays"
TORCH = "PyTorch"
MOST = {
    AUTOGRAD: 1000,  # seconds a call: each element that is read costs an array of zeros
    JAX_LOOP: 100,  # compiled in ten seconds; 300 take a minute
}


def rosenbrock(n: int) -> dict[str, Runner]:
    """Value and gradient by each package that is installed, as far as n lets it."""
    at = problems.rosenbrock_point(n)
    expected = (problems.rosenbrock(at), problems.rosenbrock_gradient(np.array(at)))
    return {name: Runner(make(np.array(at)), expected) for name, make in makers(n).items()}


def makers(n: int) -> dict[str, Callable[[Any], Callable[[], Any]]]:
    """By each package that is installed: what makes value and gradient of a point's size."""
    return {
        name: make
        for name, make in WAYS.items()
        if find_spec(PACKAGES[name]) is not None and n <= MOST.get(name, n)
    }


def missing() -> list[str]:
    """The packages that are not installed."""
    return sorted({name for name in PACKAGES.values() if find_spec(name) is None})


def by_autograd(x: Any) -> Callable[[], Any]:
    autograd = import_module("autograd")
    return partial(autograd.value_and_grad(problems.rosenbrock), x)


def by_torch(x: Any) -> Callable[[], Any]:
    torch = import_module("torch")
    torch.set_num_threads(1)

    def call() -> Any:
        leaves = torch.tensor(x, requires_grad=True)
        value = problems.rosenbrock(leaves.unbind())
        value.backward()
        return value.item(), leaves.grad.numpy()

    return call


def by_casadi(x: Any) -> Callable[[], Any]:
    casadi = import_module("casadi")
    symbols = casadi.SX.sym("x", len(x))
    value = problems.rosenbrock(casadi.vertsplit(symbols))
    function = casadi.Function("f", [symbols], [value, casadi.gradient(value, symbols)])

    def call() -> Any:
        value, gradient = function(x)
        return float(value), np.ravel(gradient.full())

    return call


def by_jax(f: Callable[[Any], Any], x: Any) -> Callable[[], Any]:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(jax.value_and_grad(f))

    def call() -> Any:
        value, gradient = compiled(x)
        return float(value), np.asarray(gradient)

    return call


def in_arrays(x: Any) -> Any:
    """Rosenbrock's function as slices."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


WAYS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    AUTOGRAD: by_autograd,
    TORCH: by_torch,
    JAX_LOOP: partial(by_jax, problems.rosenbrock),
    JAX_ARRAYS: partial(by_jax, in_arrays),
    CASADI: by_casadi,
}
PACKAGES = {
    AUTOGRAD: "autograd",
    TORCH: "torch",
    JAX_LOOP: "jax",
    JAX_ARRAYS: "jax",
    CASADI: "casadi",
}
