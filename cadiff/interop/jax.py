"""JAX: functions for cadiff of its arrays, and JAX's functions of numbers with derivatives.

    import cadiff.interop.jax
    h = cadiff.interop.jax.function(f)  # under jit, vmap, grad, jvp, in any order
    g = cadiff.interop.jax.primitive(k)  # of arrays and of numbers with derivatives

A derivative is a linear map, which JAX transposes for reverse mode. `jax.pure_callback` has no
transpose, and `jax.custom_jvp` loses its rule in second derivatives of loops: so functions and
their derivatives are a primitive of JAX's here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..transforms._base import answering
from ._seams import (
    Foreign,
    Seam,
    as_tuple,
    check_arguments,
    differentiated,
    each_of,
    one_or_all,
    unlike,
)

__all__ = ["function", "primitive"]

Kinds = tuple[jax.ShapeDtypeStruct, ...]


@answering
def function(f: Callable[..., Any], *, like: Any = None) -> Callable[..., Any]:
    """A function for cadiff as one of JAX's arrays.

    Parameters
    ----------
    f : callable
        Of arrays by position; returns one array or a tuple of them. It is compiled, and called
        back from what JAX compiles.
    like : array_like or jax.ShapeDtypeStruct, or a tuple of them, optional
        What has the shape and dtype of the result. None: f is called to find that out, each time
        JAX traces, with increasing vectors, positive definite matrices, and integers 0, of the
        shapes of the arguments.

    Returns
    -------
    callable
        Of arrays and numbers. Where `jax_enable_x64` is off these are float32.
    """
    return functools.update_wrapper(functools.partial(_called, Seam(f), like), f, updated=())


def _called(seam: Seam, like: Any, /, *args: Any, **named: Any) -> Any:
    check_arguments(seam.name, args, named)
    arrays = [jnp.asarray(x) for x in args]
    found = _result_of(seam, arrays) if like is None else like
    kinds = tuple(_kind(x) for x in as_tuple(found))
    if like is None and all(0 in k.shape for k in kinds) and all(x.size for x in arrays):
        raise ValueError(
            f"{seam.name} returned an empty array for other numbers than these, and JAX leaves "
            "such calls out: write function(f, like=...), which tells the shape"
        )
    n = len(arrays)
    results = _call.bind(*arrays, push=seam, pull=None, n=n, kinds=kinds, axes=())
    return tuple(results) if isinstance(found, tuple) else results[0]


def _kind(x: Any) -> jax.ShapeDtypeStruct:
    dtype = getattr(x, "dtype", np.float64)
    return jax.ShapeDtypeStruct(np.shape(x), jax.dtypes.canonicalize_dtype(dtype))


def _sample(x: Any) -> Any:
    """An array of the shape and dtype of another one, at which few functions raise."""
    if x.dtype.kind != "f":
        return np.zeros(x.shape, x.dtype)
    if x.ndim < 2:
        return np.linspace(1.0, 2.0, x.size).reshape(x.shape).astype(x.dtype)
    i, j = np.ogrid[: x.shape[-2], : x.shape[-1]]
    return np.broadcast_to(1.0 / (1.0 + abs(i - j)), x.shape).astype(x.dtype)


def _result_of(seam: Seam, args: Sequence[Any]) -> Any:
    try:
        return seam(*map(_sample, args))
    except Exception as error:
        if hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(
                f"{seam.name} was called with other numbers to find the shape of its result: "
                "function(f, like=...) tells it"
            )
        raise


def _called_back(seam: Seam, kinds: Kinds, ndims: Sequence[int], *args: Any) -> Any:
    """What JAX calls back: at one point, or at many along leading axes of all arguments."""
    axes = np.shape(args[0])[: np.ndim(args[0]) - ndims[0]]
    points = math.prod(axes)
    if points == 0:
        return tuple(np.zeros((*axes, *k.shape), k.dtype) for k in kinds)
    rows = (points,) if axes else ()
    arrays = [np.reshape(x, (*rows, *np.shape(x)[len(axes) :])) for x in args]
    results = as_tuple(seam.rows(*arrays) if axes else seam(*arrays))
    shapes = [x.shape[len(rows) :] for x in results]
    if shapes != [k.shape for k in kinds]:
        told = one_or_all([k.shape for k in kinds])
        given = [x[0] for x in results] if axes else results
        raise unlike(seam.name, given, f"like=, or a call to find it, has shape {told}")
    each = zip(results, kinds, strict=True)
    return tuple(np.reshape(x.astype(k.dtype), (*axes, *k.shape)) for x, k in each)


def _callback(
    seam: Seam, kinds: Kinds, ndims: Sequence[int], axes: tuple[int, ...], *args: Any
) -> tuple[Any, ...]:
    """The operation that JAX compiles, of arguments with so many points in front."""
    many = tuple(jax.ShapeDtypeStruct((*axes, *k.shape), k.dtype) for k in kinds)
    compute = functools.partial(_called_back, seam, kinds, ndims)
    return tuple(jax.pure_callback(compute, many, *args, vmap_method="broadcast_all"))


def _derivative(seam: Seam, kinds: Kinds, args: Sequence[Any], wrt: tuple[int, ...]) -> Any:
    """The parameters of `_call` for the derivative of a seam by some of its arguments."""
    n = len(args)
    return {
        "push": seam.pushforward(n, wrt),
        "pull": seam.pullback(n, wrt),
        "n": n,
        "kinds": kinds,
        "axes": (),
    }


# A function of n arguments, or linear in those behind them. `push` computes it, `pull` is its
# transpose by those; `kinds` are the results of one point, `axes` those of points in front of all.
_call = Primitive("cadiff")
_call.multiple_results = True


def _carried_out(*args: Any, push: Seam, kinds: Kinds, axes: tuple[int, ...], **_: Any) -> Any:
    ndims = [x.ndim - len(axes) for x in args]
    return list(_callback(push, kinds, ndims, axes, *args))


def _abstract(*args: Any, kinds: Kinds, axes: tuple[int, ...], **_: Any) -> Any:
    return [jax.core.ShapedArray((*axes, *k.shape), k.dtype) for k in kinds]


def _jvp(args: Sequence[Any], tangents: Sequence[Any], **how: Any) -> Any:
    n, axes = how["n"], how["axes"]
    out = _call.bind(*args, **how)
    if all(type(t) is ad.Zero for t in tangents[:n]):
        given = [ad.instantiate_zeros(t) for t in tangents[n:]]
        return out, _call.bind(*args[:n], *given, **how)
    wrt = differentiated([x.dtype for x in args])
    given = [ad.instantiate_zeros(tangents[k]) for k in wrt]
    again = _derivative(how["push"], how["kinds"], args, wrt) | {"axes": axes}
    return out, _call.bind(*args, *given, **again)


def _transpose(cotangents: Sequence[Any], *args: Any, **how: Any) -> Any:
    n, axes = how["n"], how["axes"]
    linear = [x.aval if ad.is_undefined_primal(x) else jax.typeof(x) for x in args[n:]]
    kinds = tuple(jax.ShapeDtypeStruct(a.shape[len(axes) :], a.dtype) for a in linear)
    turned = how | {"push": how["pull"], "pull": how["push"], "kinds": kinds}
    found = _call.bind(*args[:n], *map(ad.instantiate_zeros, cotangents), **turned)
    return [None] * n + list(found)


def _batched(args: Sequence[Any], dims: Sequence[Any], **how: Any) -> Any:
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    rows = [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
    out = _call.bind(*rows, **how | {"axes": (size, *how["axes"])})
    return out, [0] * len(out)


_call.def_impl(_carried_out)
_call.def_abstract_eval(_abstract)
ad.primitive_jvps[_call] = _jvp
ad.primitive_transposes[_call] = _transpose
batching.primitive_batchers[_call] = _batched
mlir.register_lowering(_call, mlir.lower_fun(_carried_out, multiple_results=True))


@answering
def primitive(g: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX's arrays as an operation that cadiff differentiates through.

    Parameters
    ----------
    g : callable
        Of arrays by position; returns an array or a tuple of them. It is compiled by `jax.jit`,
        and computes in float64 what it is given in float64, whatever `jax_enable_x64` says.

    Returns
    -------
    callable
        Of arrays and of numbers with derivatives, by all of its arguments that are floats.
    """
    return Foreign(_evaluate, jax.vjp, g, primitive)


def _evaluate(g: Callable[..., Any], args: Sequence[Any]) -> Any:
    with jax.enable_x64(True):
        return each_of(_compiled(g)(*args), jax.Array, np.array)


@functools.cache
def _compiled(g: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = jax.jit(g)
    return compiled
