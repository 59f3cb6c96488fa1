"""`jax.numpy`: cadiff.numpy's names, beside what JAX adds or does otherwise."""

import functools as _functools
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _np

from cadiff import numpy as _numpy

from ...binding import map_leaves as _map_leaves
from .. import aliases as _aliases
from .. import matrices as _matrices
from . import arrays as _arrays
from . import transforms as _transforms

_Function = _Callable[..., _Any]
ndarray = _arrays.Array
float_, int_, uint, complex_, bool_ = _np.float64, _np.int64, _np.uint64, _np.complex128, _np.bool_
row_stack = _numpy.vstack

# What only JAX's functions take: it is ignored.
_OTHER = {"device", "method", "optimize", "out_sharding", "precision", "preferred_element_type"}
_OTHER |= {"promote_integers"}


def _as_jax(function: _Function) -> _Function:
    """For functions that take what only JAX's have, lists of axes, and shapes for arrays."""

    def of_fewer(*args: _Any, **kwargs: _Any) -> _Any:
        given = {k: v for k, v in kwargs.items() if k not in _OTHER}
        if isinstance(given.get("axis"), (list, range)):
            given["axis"] = tuple(given["axis"])
        return function(*map(_arrays.as_numpy, args), **given)

    return of_fewer


def _copying(function: _Function) -> _Function:
    """For functions that change an array, or, if not `inplace`, a copy, which they return."""

    def change(a: _Any, *args: _Any, inplace: bool = True, **how: _Any) -> _Any:
        a = a if inplace else _numpy.array(a, copy=True)
        function(a, *args, **how)
        return None if inplace else a

    return change


def _sized(function: _Function) -> _Function:
    """For functions that find places: `size` of them, filled up with `fill_value`."""
    return lambda a, *, size=None, fill_value=0, **_: _map_leaves(
        lambda x: _of_length(x, size, fill_value), function(a)
    )


def _of_length(x: _Any, n: int | None, fill: _Any) -> _Any:
    """An array cut, or filled up with one value, along its first axis."""
    if n is None:
        return x
    rest = _numpy.full((n - len(x[:n]), *_np.shape(x)[1:]), fill, x.dtype)
    return _numpy.concatenate([x[:n], rest])


def _as_dtype(function: _Function) -> _Function:
    """For functions that take a dtype only in JAX."""
    return lambda *args, dtype=float, **_: function(*args).astype(dtype)


def _of_dtypes(function: _Function) -> _Function:
    """For functions of dtypes: an array stands for its own."""
    return lambda *given: function(
        *(_numpy.result_type(x) if isinstance(x, _arrays.ARRAYS) else x for x in given)
    )


_CHANGES: dict[str, _Function] = {
    "promote_types finfo iinfo": _of_dtypes,
    "roots": lambda function: lambda p, *, strip_zeros=True: function(p) + 0j,
    "dot matmul vdot inner tensordot convolve correlate einsum searchsorted expand_dims": _as_jax,
    "zeros ones full empty arange linspace eye identity logspace geomspace": _as_jax,
    "zeros_like ones_like full_like empty_like sum prod max min mean std var all any": _as_jax,
    "put place put_along_axis fill_diagonal": _copying,
    "nonzero argwhere flatnonzero": _sized,
}
for _names, _change in _CHANGES.items():
    for _name in _names.split():
        _own = getattr(_numpy, _name)
        globals()[_name] = _functools.wraps(_own, updated=())(_change(_own))
_einsum = globals()["einsum"]


def einsum(subscripts: _Any, /, *operands: _Any, **how: _Any) -> _Any:
    """As `numpy.einsum`; dots that the result has not are summed over."""
    text = subscripts if isinstance(subscripts, str) else ""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    if not arrow or "..." not in inputs or "..." in output:
        return _einsum(subscripts, *operands, **how)
    found = _einsum(f"{inputs}->...{output}", *operands, **how)
    return _numpy.sum(found, axis=tuple(range(_np.ndim(found) - len(output))))


def array(object: _Any, dtype: _Any = None, copy: bool = True, ndmin: int = 0, **_: _Any) -> _Any:
    """As `numpy.array`, but numbers without axes are NumPy's numbers."""
    return _numpy.array(object, dtype=dtype, copy=copy, ndmin=ndmin)[()]


def asarray(a: _Any, dtype: _Any = None, **_: _Any) -> _Any:
    """As `numpy.asarray`, but numbers without axes are NumPy's numbers."""
    return _numpy.asarray(a, dtype=dtype)[()]


def bincount(x: _Any, weights: _Any = None, minlength: int = 0, *, length: _Any = None) -> _Any:
    """As `numpy.bincount`, of a length if that is given."""
    return _of_length(_numpy.bincount(x, weights, minlength), length, 0)


def where(condition: _Any, x: _Any = None, y: _Any = None, /, **how: _Any) -> _Any:
    """As `numpy.where`; `size` and `fill_value` of places as for `nonzero`."""
    if x is None and y is None:
        return globals()["nonzero"](condition, **how)
    return _numpy.where(condition, x, y)[()]


def clip(
    arr: _Any, /, min: _Any = None, max: _Any = None, *, a_min: _Any = None, a_max: _Any = None
) -> _Any:
    """As `numpy.clip`, with bounds by both names, where half of the derivative is by each."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    arr = arr if low is None else _numpy.maximum(low, arr)
    return arr if high is None else _numpy.minimum(high, arr)


def repeat(
    a: _Any, repeats: _Any, axis: int | None = None, *, total_repeat_length: _Any = None, **_: _Any
) -> _Any:
    """As `numpy.repeat`, cut to a length, or filled up to it with the last."""
    found = _numpy.repeat(a, repeats, axis)
    if total_repeat_length is None:
        return found
    return _numpy.take(found, _np.arange(total_repeat_length), axis or 0, mode="clip")


def take(
    a: _Any, indices: _Any, axis: int | None = None, out: None = None, mode: str | None = None,
    fill_value: _Any = None, **_: _Any,
) -> _Any:  # fmt: skip
    """As `numpy.take`; with `mode="fill"`, `fill_value`, nan or an extreme int out of bounds."""
    if mode != "fill":
        return _numpy.take(a, indices, axis, mode=mode or "raise")
    a = _numpy.ravel(a) if axis is None else _numpy.asarray(a)
    key = (slice(None),) * ((axis or 0) % a.ndim) + (indices,)
    return a.at[key].get(mode="fill", fill_value=fill_value)


def vectorize(pyfunc: _Any, *, excluded: _Any = (), signature: _Any = None) -> _Function:
    """As `numpy.vectorize`, by `vmap`; with a signature, of arrays with some axes each."""

    @_functools.wraps(pyfunc)
    def vectorized(*args: _Any, **kwargs: _Any) -> _Any:
        arrays = [_numpy.asarray(x) for k, x in enumerate(args) if k not in excluded]
        inner = (signature or ",".join("()" for _ in arrays)).partition("->")[0].replace(" ", "")
        cores = [part.count(",") + bool(part) for part in inner[1:-1].split("),(")]
        given = [(x, x.ndim - n) for x, n in zip(arrays, cores, strict=True)]
        shape = _np.broadcast_shapes(*(x.shape[:n] for x, n in given))
        function = _transforms.fixing(_functools.partial(pyfunc, **kwargs), args, excluded)
        for _ in shape:
            function = _transforms.vmap(function)
        return function(*(_numpy.broadcast_to(x, shape + x.shape[n:]) for x, n in given))

    return vectorized


_REFUSING = _aliases.named("cholesky inv solve", _numpy.linalg)
_LINALG = {name: _matrices.with_nan(function) for name, function in _REFUSING.items()}
_SYMMETRIC = _LINALG | _aliases.named("eigh eigvalsh", _numpy.linalg)
_LINALG |= {
    name: _matrices.of_symmetric(_SYMMETRIC[name]) for name in ("cholesky", "eigh", "eigvalsh")
}
_FFT = {k: _as_dtype(f) for k, f in _aliases.named("fftfreq rfftfreq", _numpy.fft).items()}
_aliases.stand_for(__name__, "cadiff.numpy", {"linalg": _LINALG, "fft": _FFT})
