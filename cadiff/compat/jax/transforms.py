"""`jit`, `grad` and what else makes functions of functions: cadiff's, called as JAX calls them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

from ...binding import is_eager
from . import tree_util as trees
from .arrays import ShapeDtypeStruct, given_back, struct_of

__all__ = [
    *("checkpoint", "eval_shape", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jit", "jvp"),
    *("linear_transpose", "linearize", "remat", "value_and_grad", "vjp", "vmap"),
]

Function = Callable[..., Any]
_CADIFF: Any = cadiff  # whose functions are called with what they are given here


def _like(fun: Any) -> Callable[[Function], Function]:
    """A decorator that names a function after another, which may be an object without a name."""
    return functools.wraps(fun, updated=())


def _called(made: Function, fun: Function) -> Function:
    """What cadiff makes of a function, with results as JAX has them."""
    return _like(fun)(lambda *args, **kwargs: given_back(made(*args, **kwargs)))


# --- jit -----------------------------------------------------------------------------------------


def _indices(which: Any) -> tuple[Any, ...]:
    if which is None:
        return ()
    return (which,) if isinstance(which, (int, str)) else tuple(which)


def jit(
    fun: Function | None = None, *, static_argnums: Any = None, static_argnames: Any = None,
    **how: Any,
) -> Any:  # fmt: skip
    """`cadiff.compile` of a function: recorded at a first call, replayed in C by later ones.

    static_argnums, static_argnames: arguments that are part of the function, hashable ones. Each
    of their values has a program of its own. `donate_argnums`, `device` and what else says how to
    compile are ignored.
    """
    if fun is None:
        return lambda f: jit(f, static_argnums=static_argnums, static_argnames=static_argnames)
    which = (*_indices(static_argnums), *_indices(static_argnames))
    if which:
        return _Static(fun, which)
    program: Any = cadiff.compile(fun)
    made: Any = _called(program, fun)
    made.program, made.clear_cache = program, program.clear
    made.lower = lambda *_, **__: SimpleNamespace(compile=lambda *_: made)
    return made


class _Static:
    """A function with a program for each value of some arguments, which are part of it.

    Its programs are no state of a function that calls it: within others it is the function itself.
    """

    def __init__(self, fun: Function, which: tuple[Any, ...]) -> None:
        functools.update_wrapper(self, fun, updated=())  # programs look into `__wrapped__`
        self.fun, self.signature = fun, inspect.signature(fun)
        names = [*self.signature.parameters]
        self.static = {k if isinstance(k, str) else names[k] for k in which}
        self.programs = functools.lru_cache(self._program)
        self.clear_cache = self.programs.cache_clear

    def _program(self, *fixed: Any) -> Any:
        def some(rest: Any) -> Any:
            call = inspect.BoundArguments(self.signature, {**dict(fixed), **rest})
            return self.fun(*call.args, **call.kwargs)

        return cadiff.compile(some)

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        return self if thing is None else MethodType(self, thing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_eager(args, kwargs):
            return given_back(self.fun(*args, **kwargs))
        rest = self.signature.bind(*args, **kwargs).arguments
        fixed = [(k, rest.pop(k)) for k in [*rest] if k in self.static]
        return given_back(self.programs(*fixed)(rest))

    def lower(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(compile=lambda *_: self)


# --- derivatives ---------------------------------------------------------------------------------


def _of_number(made: Function) -> Function:
    """An operator of cadiff's, called as JAX calls it."""

    @_like(made)
    def operator(
        fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, **_: Any
    ) -> Function:
        return _called(made(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), fun)

    return operator


grad, value_and_grad = _of_number(cadiff.grad), _of_number(cadiff.value_and_grad)


def _by_leaves(made: Function, make: Function | None = None) -> Function:
    """An operator of cadiff's as JAX's on trees: that of cadiff is given dicts of their leaves."""

    @_like(made)
    def operator(
        fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, **_: Any
    ) -> Function:
        which = _indices(argnums)

        @_like(fun)
        def derivative(*args: Any, **kwargs: Any) -> Any:
            leaves, inputs = trees.tree_flatten([args[k] for k in which])
            outputs: Any = None

            def values(point: dict[int, Any]) -> Any:
                some = [*args]
                for k, x in zip(which, inputs.unflatten(point.values()), strict=True):
                    some[k] = x
                return fun(*some, **kwargs)

            def flat(point: dict[int, Any]) -> dict[int, Any]:
                nonlocal outputs
                result = values(point)
                found, outputs = trees.tree_flatten(result[0] if has_aux else result)
                return dict(enumerate(found))

            def whole(row: Any) -> Any:
                """Derivatives by arguments, of those by leaves, which may be such rows."""
                if type(row) is not dict:
                    return row
                found = inputs.unflatten(map(whole, row.values()))
                return tuple(found) if isinstance(argnums, (tuple, list)) else found[0]

            point = dict(enumerate(leaves))
            rows = (make or made)(flat, holomorphic=holomorphic)(point).values()
            found = given_back(outputs.unflatten(map(whole, rows)))
            return (found, values(point)[1]) if has_aux else found

        return derivative

    return operator


def _second(flat: Function, holomorphic: bool) -> Function:
    """The Hessian of one real number, or else a Jacobian of a Jacobian."""

    def hessian(point: dict[int, Any]) -> Any:
        outputs = flat(point)
        if len(outputs) == 1 and not np.shape(outputs[0]) and not holomorphic:
            return {0: cadiff.hessian(lambda point: flat(point)[0])(point)}
        inner = _CADIFF.jacrev(flat, holomorphic=holomorphic)
        return _CADIFF.jacfwd(inner, holomorphic=holomorphic)(point)

    return hessian


jacfwd, jacrev = _by_leaves(cadiff.jacfwd), _by_leaves(cadiff.jacrev)
hessian = _by_leaves(cadiff.hessian, _second)
jacobian = jacrev


def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """`(value, tangent)` at primals along tangents."""
    return given_back(_CADIFF.jvp(fun, tuple(primals), tuple(tangents), has_aux=has_aux))


def vjp(fun: Function, *primals: Any, has_aux: bool = False, **_: Any) -> Any:
    """`(value, pullback)`; the pullback gives a tuple with a cotangent for each argument."""
    out, pull, *aux = _CADIFF.vjp(fun, *primals, has_aux=has_aux)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        found = given_back(pull(cotangent))
        return (found,) if len(primals) == 1 else found

    return given_back(out), pullback, *aux


def linearize(fun: Function, *primals: Any) -> Any:
    """`(value, push)`, where `push(*tangents)` is the tangent of the value."""
    out, push = cadiff.linearize(fun, *primals)
    return given_back(out), lambda *tangents: given_back(push(*tangents))


def linear_transpose(fun: Function, *primals: Any, **_: Any) -> Function:
    """What a linear function transposed makes of a cotangent: a tuple, as of `vjp`."""
    points = trees.tree_map(lambda x: onp.zeros(getattr(x, "shape", ()))[()], primals)
    return lambda cotangent: vjp(fun, *points)[1](cotangent)


def eval_shape(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of what a function returns, which is run on ones where none are given."""
    leaves, tree = trees.tree_flatten((args, kwargs))
    points, named = tree.unflatten(
        onp.ones(x.shape, x.dtype) if isinstance(x, ShapeDtypeStruct) else x for x in leaves
    )
    results, of_results = trees.tree_flatten(fun(*points, **named))
    return of_results.unflatten(map(struct_of, results))


def vmap(fun: Function, in_axes: Any = 0, out_axes: Any = 0, **_: Any) -> Function:
    """A function of one row, mapped over all rows of its arguments."""
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    return _called(cadiff.vmap(fun, axes, out_axes), fun)


def checkpoint(fun: Function | None = None, **_: Any) -> Any:
    """The function with its intermediate results computed again when they are needed."""
    return checkpoint if fun is None else _like(fun)(cadiff.checkpoint(fun))


remat = checkpoint
