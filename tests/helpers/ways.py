"""All ways to the derivatives of a function, and to those of a program, against each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np

import cadiff

from .programs import agree, check_close, direction, near, same

Function = Callable[..., Any]
Ways = dict[str, Callable[[Function], Function]]

# --- eagerly -------------------------------------------------------------------------------------

MODES = {"forward": cadiff.jacfwd, "reverse": cadiff.jacrev}


def nestings(order: int) -> Ways:
    """The modes within each other, in any order."""
    return {
        " over ".join(names): lambda f, names=names: reduce(
            lambda inner, name: MODES[name](inner), names[::-1], f
        )
        for names in product(MODES, repeat=order)
    }


def _shaped(matrix: Any, shape: tuple[int, ...]) -> Any:
    return np.reshape(np.asarray(matrix), shape)


# Of functions that return one number.
FIRST: Ways = nestings(1) | {
    "grad": cadiff.grad,
    "jacobian": cadiff.jacobian,
    "value_and_grad": lambda f: lambda x: cadiff.value_and_grad(f)(x)[1],
    "matrix": lambda f: lambda x: _shaped(cadiff.linearize(f, x)[1].todense(), np.shape(x)),
    "transpose": lambda f: lambda x: cadiff.linearize(f, x)[1].T(1.0),
    "vjp": lambda f: lambda x: cadiff.vjp(f, x)[1](1.0),
    "checkpoint": lambda f: cadiff.grad(cadiff.checkpoint(f)),
}
SECOND: Ways = nestings(2) | {
    "hessian": cadiff.hessian,
    "matrix": lambda f: (
        lambda x: _shaped(cadiff.linearize(cadiff.grad(f), x)[1].todense(), 2 * np.shape(x))
    ),
    "checkpoints": lambda f: cadiff.jacobian(cadiff.checkpoint(cadiff.grad(cadiff.checkpoint(f)))),
}
ALONG: dict[str, Callable[[Function, Any, Any], Any]] = {
    "hvp": lambda f, x, v: cadiff.hvp(f)(x, v),
    "jvp of grad": lambda f, x, v: cadiff.jvp(cadiff.grad(f), (x,), (v,))[1],
    "push": lambda f, x, v: cadiff.linearize(cadiff.grad(f), x)[1](v),
    "pull": lambda f, x, v: cadiff.linearize(cadiff.grad(f), x)[1].vjp(v),
    "recorded": lambda f, x, v: cadiff.grad(lambda y: np.sum(cadiff.grad(f)(y) * v))(x),
}


def check_ways(
    f: Function, x: Any, order: int = 2, rtol: float = 0.0, atol: float = 1e-12
) -> list[Any]:
    """All ways to the derivatives of a number agree; the derivatives, from the first on.

    `atol` is relative to the largest element; both tolerances are ten times as large an order
    higher.
    """
    found = []
    for k, ways in enumerate((FIRST, SECOND, nestings(3))[:order]):
        (name, way), *others = ways.items()
        wanted = np.asarray(way(f)(x))
        size = np.max(np.abs(wanted), initial=1.0)

        def check(got: Any, wanted: Any, what: str, k: int = k, size: float = size) -> None:
            check_close(got, wanted, 10.0**k * rtol, 10.0**k * atol * size, what)

        for name, way in others:
            check(way(f)(x), wanted, name)
        if k == 1:
            v = direction(x)
            along = np.tensordot(wanted, v, np.ndim(x))
            for name, push in ALONG.items():
                check(push(f, x, v), along, name)
        found.append(wanted)
    return found


def differences(f: Function, x: Any, step: float = 2.0**-11) -> Any:
    """The Jacobian of f, by central differences of fourth order.

    Abramowitz and Stegun, Handbook of Mathematical Functions, table 25.2.
    """
    columns = [np.zeros((*np.shape(f(x)), 0))]
    for t in step * np.eye(x.size).reshape(x.size, *x.shape):
        near_pair, far_pair = f(x + t) - f(x - t), f(x + 2 * t) - f(x - 2 * t)
        columns.append(((8.0 * near_pair - far_pair) / (12.0 * step))[..., None])
    return np.concatenate(columns, axis=-1).reshape((*np.shape(f(x)), *x.shape))


# --- by programs ---------------------------------------------------------------------------------


def _pulled(vjp: Function, *args: Any) -> Any:
    """What f returns, and two pulls: the one may find what the other has left."""
    out, pullback = vjp(*args)
    return [out, pullback(direction(out)), pullback(direction(out, 2.0))]


class Eager:
    """A function with the methods of a program, each of which runs it."""

    def __init__(self, f: Function) -> None:
        self.f = f

    def __call__(self, *args: Any) -> Any:
        return self.f(*args)

    def __getattr__(self, name: str) -> Function:
        transform = getattr(cadiff, name)
        return partial(transform, self.f) if name in ("jvp", "vjp") else transform(self.f)


# What programs and `Eager` functions of one argument give.
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda p, x: p(x),
    "grad": lambda p, x: p.grad(x),
    "value_and_grad": lambda p, x: p.value_and_grad(x),
    "jacobian": lambda p, x: p.jacobian(x),
    "hessian": lambda p, x: p.hessian(x),
    "hvp": lambda p, x: p.hvp(x, direction(x)),
    "jvp": lambda p, x: p.jvp((x,), (direction(x),)),
    "vjp": lambda p, x: _pulled(p.vjp, x),
}


def check_replays(
    f: Function,
    program: Any,
    x: Any,
    what: str = "",
    is_number: bool = True,
    is_exact: bool = True,
    has_hessian: bool = True,
) -> None:
    """All that a program gives at a point, or raises, is what the transforms of f do.

    To the last bit if the program is exact; else to rounding, relative to the largest derivative.
    """
    v, sizes = direction(x), [1.0]

    def compare(got: Any, wanted: Any, name: str) -> None:
        message = f"{name} of {what} at {x!r}"
        if is_exact:
            same(got, wanted, message)
        else:
            n = np.size(wanted[0]) if name == "vjp" else 1
            terms = {"vjp": n, "jvp": np.size(x), "hvp": 4.0}
            if name in ("jacobian", "hessian"):
                sizes.append(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted)))
            near(got, wanted, message, scale=max(sizes) * terms.get(name, 1.0))

    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "jacobian": (lambda: program.jacobian(x), lambda: cadiff.jacobian(f)(x)),
        "vjp": (lambda: _pulled(program.vjp, x), lambda: _pulled(cadiff.vjp, f, x)),
        "value": (lambda: program(x), lambda: cadiff.vjp(f, x)[0]),
        "jvp": (lambda: program.jvp((x,), (v,)), lambda: cadiff.jvp(f, (x,), (v,))),
    }
    for name in ("grad", "value_and_grad", "hessian")[: is_number * (2 + has_hessian)]:
        pairs[name] = (
            lambda name=name: getattr(program, name)(x),
            lambda name=name: getattr(cadiff, name)(f)(x),
        )
    if is_number:
        pairs["hvp"] = (lambda: program.hvp(x, v), lambda: cadiff.hvp(f)(x, v))
    for name, (got, wanted) in pairs.items():
        agree(got, wanted, name, compare)
