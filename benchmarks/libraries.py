"""Packages under one set of names: what a problem over arrays asks of each, in its best form.

A problem is written once and gets one of these. NumPy is one without derivatives, cadiff another;
JAX, PyTorch and autograd take part where they are installed: nothing else needs them. JAX compiles
by `jit`, its loops are `lax.scan`, and what it is given is on its device before; PyTorch runs
eagerly, `torch.compile` needing a C++ compiler and minutes for the loops here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy.linalg
import cadiff.scipy.special
from benchmarks.sequence_problems import one_by_one

__all__ = ["PEERS", "Autograd", "Cadiff", "Jax", "Library", "Torch", "peers", "versions"]

Call = Callable[[], Any]


# Here, and not where it is called: a program watches whole modules that code asks for their names.
NDTR: Any = vars(cadiff.scipy.special)["ndtr"]


class Library:
    """NumPy, which has no derivatives."""

    name = "NumPy"
    np: Any = np
    linalg: Any = scipy.linalg
    loop: Any = staticmethod(one_by_one)

    def summed(self, z: Any) -> Any:
        """Logsumexp along the first axis."""
        return scipy.special.logsumexp(z, axis=0)

    def below(self, x: Any) -> Any:
        """The normal distribution function."""
        return scipy.special.ndtr(x)

    def own(self, tree: Any) -> Any:
        """Data as this package takes it."""
        return tree

    def gradient(self, f: Callable[[Any], Any], at: Any) -> Call:
        """Value and gradient by an array, or by each of a list of arrays."""
        raise NotImplementedError(self.name)

    def hessian(self, f: Callable[[Any], Any], at: Any) -> Call:
        """The Hessian by an array."""
        raise NotImplementedError(self.name)

    def of_rows(self, f: Callable[..., Any], columns: Sequence[Any], *, by: int) -> Call:
        """Values and gradients at many points: by as many of the columns, the others are data."""
        raise NotImplementedError(self.name)


class Cadiff(Library):
    """The package itself, eagerly."""

    name = "cadiff"
    np: Any = cnp
    linalg: Any = cadiff.scipy.linalg

    def summed(self, z: Any) -> Any:
        return cadiff.scipy.special.logsumexp(z, axis=0)

    def below(self, x: Any) -> Any:
        return NDTR(x)


class Jax(Library):
    """JAX on the processor, in double precision where it is not given another."""

    name = "jax"

    def __init__(self) -> None:
        self.jax: Any = import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.np = import_module("jax.numpy")
        self.linalg = import_module("jax.scipy.linalg")
        self.special: Any = import_module("jax.scipy.special")

    def loop(self, step: Any, state: Any, rows: Any) -> Any:
        return self.jax.lax.scan(lambda s, row: (step(s, row), None), state, rows)[0]

    def summed(self, z: Any) -> Any:
        return self.special.logsumexp(z, axis=0)

    def below(self, x: Any) -> Any:
        return self.special.ndtr(x)

    def gradient(self, f: Callable[[Any], Any], at: Any) -> Call:
        return self._compiled(self.jax.value_and_grad(f), at)

    def hessian(self, f: Callable[[Any], Any], at: Any) -> Call:
        return self._compiled(self.jax.hessian(f), at)

    def of_rows(self, f: Callable[..., Any], columns: Sequence[Any], *, by: int) -> Call:
        return self._compiled(
            self.jax.vmap(self.jax.value_and_grad(f, tuple(range(by)))), *columns
        )

    def _compiled(self, f: Callable[..., Any], *at: Any) -> Call:
        program, there = self.jax.jit(f), self.jax.device_put(at)

        def call() -> Any:
            return self.jax.tree.map(np.asarray, program(*there))

        return call


class TorchNames:
    """PyTorch under NumPy's names, where they differ."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def max(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        return self._torch.amax(x, axis, keepdims)

    def maximum(self, x: Any, least: float) -> Any:
        return self._torch.clamp(x, min=least)


class TorchFactors:
    """PyTorch under the names of `scipy.linalg`."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def cholesky(self, a: Any, lower: bool) -> Any:
        return self._torch.linalg.cholesky(a, upper=not lower)

    def cho_solve(self, factor: tuple[Any, bool], b: Any) -> Any:
        lower, is_lower = factor
        return self._torch.cholesky_solve(b[:, None], lower, upper=not is_lower)[:, 0]


class Torch(Library):
    """PyTorch, eagerly."""

    name = "torch"

    def __init__(self) -> None:
        self.torch: Any = import_module("torch")
        self.torch.set_default_dtype(self.torch.float64)
        self.np = TorchNames(self.torch)
        self.linalg = TorchFactors(self.torch)

    def summed(self, z: Any) -> Any:
        return self.torch.logsumexp(z, 0)

    def below(self, x: Any) -> Any:
        return self.torch.special.ndtr(x)

    def own(self, tree: Any) -> Any:
        if isinstance(tree, np.ndarray):
            return self.torch.from_numpy(tree.copy())
        if isinstance(tree, (list, tuple)):
            parts = [self.own(item) for item in tree]
            return type(tree)(*parts) if hasattr(tree, "_fields") else parts
        return tree

    def gradient(self, f: Callable[[Any], Any], at: Any) -> Call:
        owned = self.own(at)
        single = not isinstance(owned, list)
        leaves = [leaf.requires_grad_() for leaf in ([owned] if single else owned)]

        def call() -> Any:
            value = f(leaves[0] if single else leaves)
            gradient = [g.numpy() for g in self.torch.autograd.grad(value, leaves)]
            return value.item(), gradient[0] if single else gradient

        return call

    def hessian(self, f: Callable[[Any], Any], at: Any) -> Call:
        hessian, there = self.torch.func.hessian(f), self.own(at)
        return lambda: hessian(there).numpy()

    def of_rows(self, f: Callable[..., Any], columns: Sequence[Any], *, by: int) -> Call:
        func = self.torch.func
        mapped, there = func.vmap(func.grad_and_value(f, tuple(range(by)))), self.own([*columns])

        def call() -> Any:
            gradients, values = mapped(*there)
            return values.numpy(), [g.numpy() for g in gradients]

        return call


class AutogradNames:
    """Autograd under NumPy's names, where it knows no more than one way to call them."""

    def __init__(self, names: Any) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._names, name)

    def diagonal(self, x: Any) -> Any:
        return self._names.diagonal(x, 0, -1, -2)


class AutogradFactors:
    """What autograd lacks of `scipy.linalg`."""

    def __init__(self, cholesky: Any, solve_triangular: Any) -> None:
        self._cholesky, self._solve = cholesky, solve_triangular

    def cholesky(self, a: Any, lower: bool) -> Any:
        return self._cholesky(a)

    def cho_solve(self, factor: tuple[Any, bool], b: Any) -> Any:
        half = self._solve(factor[0], b, lower=True)
        return self._solve(factor[0], half, lower=True, trans="T")


class Autograd(Library):
    """HIPS autograd."""

    name = "autograd"

    def __init__(self) -> None:
        self.autograd: Any = import_module("autograd")
        self.np = AutogradNames(import_module("autograd.numpy"))
        self.special: Any = import_module("autograd.scipy.special")
        self.norm: Any = import_module("autograd.scipy.stats").norm
        solve = import_module("autograd.scipy.linalg").solve_triangular
        self.linalg = AutogradFactors(self.np.linalg.cholesky, solve)

    def summed(self, z: Any) -> Any:
        return self.special.logsumexp(z, axis=0)

    def below(self, x: Any) -> Any:
        return self.norm.cdf(x)

    def gradient(self, f: Callable[[Any], Any], at: Any) -> Call:
        value_and_grad = self.autograd.value_and_grad(f)
        return lambda: value_and_grad(at)

    def hessian(self, f: Callable[[Any], Any], at: Any) -> Call:
        hessian = self.autograd.hessian(f)
        return lambda: hessian(at)


PEERS: dict[str, type[Library]] = {"jax": Jax, "torch": Torch, "autograd": Autograd}


def peers() -> dict[str, Library | None]:
    """The other packages by name; None for one that is not installed."""
    return {name: make() if find_spec(name) else None for name, make in PEERS.items()}


def versions() -> str:
    """Those of the other packages, in one line."""
    return ", ".join(f"{name} {version(name)}" for name in PEERS if find_spec(name))
