"""`jax.numpy`: cadiff.numpy's names, beside what JAX adds or does otherwise."""

from __future__ import annotations

import functools as _functools
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _np

from cadiff import numpy as _numpy

from ... import aliases as _aliases
from .. import arrays as _arrays
from .. import transforms as _transforms

_aliases.have_below(__name__, "cadiff.numpy")
globals().update({k: v for k, v in vars(_numpy).items() if k[0] != "_" and k != "linalg"})

from . import linalg  # noqa: E402, F401

ndarray = _arrays.Array
float_, int_, uint, complex_ = _np.float64, _np.int64, _np.uint64, _np.complex128
bool_ = _np.bool_
row_stack = globals()["vstack"]


def __getattr__(name: str) -> _Any:
    return getattr(_numpy, name)


def _as_numpy(x: _Any) -> _Any:
    """An argument as NumPy has it: some array for a shape and a dtype."""
    return _np.empty(x.shape, x.dtype) if isinstance(x, _arrays.ShapeDtypeStruct) else x


def _without(name: str, *ignored: str) -> _Any:
    """A function of NumPy's that takes, and ignores, what only JAX's has."""
    function = getattr(_numpy, name)

    @_functools.wraps(function, updated=())
    def of_fewer(*args: _Any, **kwargs: _Any) -> _Any:
        given = {k: v for k, v in kwargs.items() if k not in ignored}
        if isinstance(given.get("axis"), list):
            given["axis"] = tuple(given["axis"])
        return function(*map(_as_numpy, args), **given)

    return of_fewer


_PRECISION = ("precision", "preferred_element_type", "out_sharding")
_IGNORED = {
    "dot matmul vdot inner tensordot convolve correlate": _PRECISION,
    "einsum": (*_PRECISION, "optimize"),
    "zeros ones full empty arange linspace eye identity logspace geomspace": ("device",),
    "zeros_like ones_like full_like empty_like": ("device",),
    "repeat": ("total_repeat_length",),
    "sum prod max min mean std var all any": ("promote_integers",),
    "searchsorted": ("method",),
    "bincount": ("length",),
}
globals().update(
    {name: _without(name, *keys) for names, keys in _IGNORED.items() for name in names.split()}
)


def array(object: _Any, dtype: _Any = None, copy: bool = True, ndmin: int = 0, **_: _Any) -> _Any:
    """As `numpy.array`, but numbers without axes are NumPy's numbers."""
    return _numpy.array(object, dtype=dtype, copy=copy, ndmin=ndmin)[()]


def asarray(a: _Any, dtype: _Any = None, **_: _Any) -> _Any:
    """As `numpy.asarray`, but numbers without axes are NumPy's numbers."""
    return _numpy.asarray(a, dtype=dtype)[()]


def where(condition: _Any, x: _Any = None, y: _Any = None, /, **how: _Any) -> _Any:
    """As `numpy.where`; `size` and `fill_value` of places as for `nonzero`."""
    if x is None and y is None:
        return nonzero(condition, **how)
    return _numpy.where(condition, x, y)[()]


def nonzero(a: _Any, *, size: int | None = None, fill_value: _Any = 0) -> tuple[_Any, ...]:
    """As `numpy.nonzero`, of the first `size` places, or filled up with `fill_value`."""
    found: tuple[_Any, ...] = _numpy.nonzero(a)
    if size is None:
        return found
    n = size - len(found[0])
    more = _np.full(n if n > 0 else 0, fill_value, int)
    return tuple(_np.concatenate([x[:size], more]) for x in found)


def clip(
    arr: _Any, /, min: _Any = None, max: _Any = None, *, a_min: _Any = None, a_max: _Any = None
) -> _Any:
    """As `numpy.clip`, with bounds by both names."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    return arr if low is None and high is None else _numpy.clip(arr, low, high)


def vectorize(
    pyfunc: _Callable[..., _Any], *, excluded: _Any = frozenset(), signature: str | None = None
) -> _Callable[..., _Any]:
    """As `numpy.vectorize`, by `vmap`; with a signature, of arrays with some axes each."""

    @_functools.wraps(pyfunc)
    def vectorized(*args: _Any, **kwargs: _Any) -> _Any:
        which = [k for k in range(len(args)) if k not in excluded]
        given = [_numpy.asarray(args[k]) for k in which]
        inner = (signature or ",".join("()" for _ in given)).partition("->")[0].replace(" ", "")
        ndims = [part.count(",") + 1 if part else 0 for part in inner[1:-1].split("),(")]
        cores = [_np.shape(x)[_np.ndim(x) - n :] for x, n in zip(given, ndims, strict=True)]
        outer = [_np.shape(x)[: _np.ndim(x) - n] for x, n in zip(given, ndims, strict=True)]
        shape = _np.broadcast_shapes(*outer)
        rows = [_numpy.broadcast_to(x, shape + core) for x, core in zip(given, cores, strict=True)]

        def of_rows(*numbers: _Any) -> _Any:
            values = dict(zip(which, numbers, strict=True))
            return pyfunc(*(values.get(k, x) for k, x in enumerate(args)), **kwargs)

        function = of_rows
        for _ in shape:
            function = _transforms.vmap(function)
        return function(*rows)

    return vectorized
