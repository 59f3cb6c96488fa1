"""`jit`, `grad` and what else makes functions of functions: cadiff's, called as JAX calls them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

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


def _places(fun: Function, which: Any) -> set[int]:
    """Places of arguments that are given by place or by name."""
    names = [*inspect.signature(fun).parameters] if which else []
    return {names.index(k) if isinstance(k, str) else k % len(names) for k in which}


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
    places = _places(fun, (*_indices(static_argnums), *_indices(static_argnames)))
    program = cadiff.compile(fun)
    if not places:
        made: Any = _called(program, fun)
    else:
        signature = inspect.signature(fun)
        names = {name for k, name in enumerate(signature.parameters) if k in places}

        @functools.cache
        def of_static(n: int, fixed: Any, named: Any) -> Any:
            values = dict(fixed)

            def some(*rest: Any, **others: Any) -> Any:
                given = iter(rest)
                args = (values[k] if k in values else next(given) for k in range(n))
                return fun(*args, **others, **dict(named))

            return cadiff.compile(some)

        @_like(fun)
        def made(*args: Any, **kwargs: Any) -> Any:
            call = signature.bind(*args, **kwargs)
            rest = [x for k, x in enumerate(call.args) if k not in places]
            fixed = tuple((k, x) for k, x in enumerate(call.args) if k in places)
            named = tuple((k, x) for k, x in call.kwargs.items() if k in names)
            others = {k: x for k, x in call.kwargs.items() if k not in names}
            return given_back(of_static(len(call.args), fixed, named)(*rest, **others))

    made.program = program
    made.lower = lambda *_, **__: SimpleNamespace(compile=lambda *_: made)
    made.clear_cache = program.clear
    return made


# --- derivatives ---------------------------------------------------------------------------------


def grad(
    fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, **_: Any
) -> Function:
    """The gradient of a function with one number as its value; `(gradient, aux)` if it has aux."""
    return _called(_CADIFF.grad(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), fun)


def value_and_grad(
    fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, **_: Any
) -> Function:
    """`(value, gradient)`, or `((value, aux), gradient)`."""
    made = _CADIFF.value_and_grad(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return _called(made, fun)


class _FlatOf:
    """A function of chosen arguments, of which both they and its results are dicts of leaves."""

    def __init__(
        self, fun: Function, argnums: Any, has_aux: bool, args: Sequence[Any], kwargs: Any
    ) -> None:
        self.fun, self.has_aux, self.args, self.kwargs = fun, has_aux, args, kwargs
        self.which = _indices(argnums)
        self.is_one = not isinstance(argnums, (tuple, list))
        leaves, self.inputs = trees.tree_flatten([args[k] for k in self.which])
        self.point = dict(enumerate(leaves))
        self.outputs: Any = None

    def values(self, point: dict[int, Any]) -> Any:
        """What the function gives, and perhaps aux."""
        args = [*self.args]
        for k, x in zip(self.which, self.inputs.unflatten(point.values()), strict=True):
            args[k] = x
        return self.fun(*args, **self.kwargs)

    def __call__(self, point: dict[int, Any]) -> dict[int, Any]:
        result = self.values(point)
        leaves, self.outputs = trees.tree_flatten(result[0] if self.has_aux else result)
        return dict(enumerate(leaves))

    def single(self, point: dict[int, Any]) -> Any:
        """The only leaf of the result, for functions with one number as their value."""
        (value,) = self(point).values()
        return value

    def by_arguments(self, derivatives: Any) -> Any:
        """Derivatives by leaves as those by arguments."""
        found = self.inputs.unflatten(derivatives)
        return found[0] if self.is_one else tuple(found)

    def answer(self, derivatives: Any) -> Any:
        """Derivatives, with aux if there is some."""
        found = given_back(derivatives)
        return (found, self.values(self.point)[1]) if self.has_aux else found


def _jacobian(make: Function) -> Function:
    def jacobian_of(
        fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, **_: Any
    ) -> Function:
        @_like(fun)
        def jacobian(*args: Any, **kwargs: Any) -> Any:
            flat = _FlatOf(fun, argnums, has_aux, args, kwargs)
            found = make(flat)(flat.point)
            rows = [flat.by_arguments(row.values()) for row in found.values()]
            return flat.answer(flat.outputs.unflatten(rows))

        return jacobian

    return jacobian_of


jacfwd = _jacobian(cadiff.jacfwd)
jacrev = _jacobian(cadiff.jacrev)
jacobian = jacrev


def hessian(
    fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Second derivatives: of a number by an array, of shape `(*argument's, *argument's)`."""

    @_like(fun)
    def second(*args: Any, **kwargs: Any) -> Any:
        flat = _FlatOf(fun, argnums, has_aux, args, kwargs)
        outputs = flat(flat.point)
        if len(outputs) != 1 or np.shape(outputs[0]):
            inner = jacrev(fun, argnums, has_aux)
            return jacfwd(inner, argnums, has_aux)(*args, **kwargs)
        found = cadiff.hessian(flat.single)(flat.point)
        rows = [flat.by_arguments(row.values()) for row in found.values()]
        return flat.answer(flat.outputs.unflatten([flat.by_arguments(rows)]))

    return second


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


def checkpoint(
    fun: Function | None = None, *, static_argnums: Any = (), policy: Any = None, **_: Any
) -> Any:
    """The function with its intermediate results computed again when they are needed."""
    if fun is None:
        return checkpoint
    return _like(fun)(cadiff.checkpoint(fun))


remat = checkpoint
