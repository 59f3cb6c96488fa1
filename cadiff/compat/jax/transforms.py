"""`jit`, `grad` and what else makes functions of functions: cadiff's, called as JAX calls them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

from . import tree_util as trees
from .arrays import as_numpy, given_back, struct_of

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
    program: Any = cadiff.compile(fun)
    made: Any = _called(program, fun)
    which = (*_indices(static_argnums), *_indices(static_argnames))
    if which:
        signature = inspect.signature(fun)
        names = [*signature.parameters]
        static = {k if isinstance(k, str) else names[k] for k in which}

        @functools.cache
        def of_static(*fixed: Any) -> Any:
            def some(rest: Any) -> Any:
                call = inspect.BoundArguments(signature, {**dict(fixed), **rest})
                return fun(*call.args, **call.kwargs)

            return cadiff.compile(some)

        def called(*args: Any, **kwargs: Any) -> Any:
            rest = signature.bind(*args, **kwargs).arguments
            fixed = [(k, rest.pop(k)) for k in [*rest] if k in static]
            return of_static(*fixed)(rest)

        made = _called(called, fun)
    made.program, made.clear_cache = program, program.clear
    made.lower = lambda *_, **__: SimpleNamespace(compile=lambda *_: made)
    return made


# --- derivatives ---------------------------------------------------------------------------------


def _operator(made: Function, make: Function | None = None) -> Function:
    """An operator of cadiff's, called as JAX calls it: itself, or what is made with it."""

    @_like(made)
    def operator(
        fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, **_: Any
    ) -> Function:
        how = {"has_aux": has_aux, "holomorphic": holomorphic}
        return _called((make or made)(fun, argnums, **how), fun)

    return operator


class _Tree:
    """A tree as one container of cadiff's, whatever its lists and its order are."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree


def _closed(x: Any) -> Any:
    return _Tree(x) if trees.PyTreeDef.kind_of(type(x)) else x


def _opened(x: Any) -> Any:
    """A tree, or, of a tuple by arguments, those in it."""
    if type(x) is tuple:
        return tuple(map(_opened, x))
    return x.tree if type(x) is _Tree else x


cadiff.register_container(
    _Tree,
    lambda x: trees.tree_flatten(x.tree),
    lambda tree, leaves: _Tree(tree.unflatten(map(_opened, leaves))),
)


def _of_trees(make: Function) -> Function:
    """What an operator of cadiff's on functions of arrays makes of one of trees."""

    def made(fun: Function, argnums: Any, has_aux: bool, holomorphic: bool) -> Function:
        def first(*args: Any, **kwargs: Any) -> Any:
            result = fun(*map(_opened, args), **kwargs)
            return _closed(result[0] if has_aux else result)

        def derivative(*args: Any, **kwargs: Any) -> Any:
            found = make(first, argnums, holomorphic=holomorphic)(*map(_closed, args), **kwargs)
            return (_opened(found), fun(*args, **kwargs)[1]) if has_aux else _opened(found)

        return derivative

    return made


def _second(fun: Function, argnums: Any, holomorphic: bool) -> Function:
    """The Hessian of one real number, or else a Jacobian of a Jacobian."""

    def hessian(*args: Any, **kwargs: Any) -> Any:
        value = fun(*args, **kwargs)
        if type(value) is not _Tree and not np.shape(value) and not holomorphic:
            return cadiff.hessian(fun, argnums)(*args, **kwargs)
        inner = jacrev(fun, argnums, holomorphic=holomorphic)
        return jacfwd(inner, argnums, holomorphic=holomorphic)(*args, **kwargs)

    return hessian


grad, value_and_grad = map(_operator, (cadiff.grad, cadiff.value_and_grad))
jacfwd = _operator(cadiff.jacfwd, _of_trees(cadiff.jacfwd))
jacrev = jacobian = _operator(cadiff.jacrev, _of_trees(cadiff.jacrev))
hessian = _operator(cadiff.hessian, _of_trees(_second))


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
    return lambda cotangent: vjp(fun, *trees.tree_map(as_numpy, primals))[1](cotangent)


def eval_shape(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of what a function returns, which is run on ones where none are given."""
    args, kwargs = trees.tree_map(as_numpy, (args, kwargs))
    return trees.tree_map(struct_of, fun(*args, **kwargs))


def vmap(
    fun: Function, in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None,
    axis_size: int | None = None, **_: Any,
) -> Function:  # fmt: skip
    """A function of one row, mapped over all rows of its arguments, or over `axis_size` turns."""
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if axis_size is None:
        return _called(cadiff.vmap(fun, axes, out_axes), fun)
    turns = cadiff.vmap(lambda _, args: fun(*args), (0, axes), out_axes)
    return _called(lambda *args: turns(onp.arange(axis_size), args), fun)


def checkpoint(fun: Function | None = None, **_: Any) -> Any:
    """The function with its intermediate results computed again when they are needed."""
    return checkpoint if fun is None else _like(fun)(cadiff.checkpoint(fun))


remat = checkpoint
