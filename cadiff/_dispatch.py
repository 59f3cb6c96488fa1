"""Which function of NumPy or SciPy is done by which function of the package.

A function of the package that stands for one of NumPy's is made with `implements`. It is what
plain NumPy calls on numbers with derivatives (`__array_function__`), and what the namespaces
`cadiff.numpy` and `cadiff.scipy` offer. Given plain numbers, it is NumPy's own function.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from . import _core
from ._core import carries

__all__ = ["FUNCTIONS", "PLAIN", "carries", "implements", "plain"]

F = TypeVar("F", bound=Callable[..., Any])

# NumPy's or SciPy's function -> the one of the package that differentiates it.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

# Functions whose results have no derivatives: shapes, comparisons, indices.
PLAIN: set[Any] = set()


def implements(*originals: Any) -> Callable[[F], F]:
    """Make a function the one that differentiates `originals`; it is called like the first.

    The decorated function is called only if an argument carries a derivative.
    """

    def decorate(function: F) -> F:
        original = originals[0]

        @functools.wraps(function)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            if carries(args) or (kwargs and carries(kwargs)):
                return function(*args, **kwargs)
            return original(*args, **kwargs)

        dispatch.__doc__ = function.__doc__ or getattr(original, "__doc__", None)
        for name in originals:
            FUNCTIONS[name] = dispatch
        return dispatch  # type: ignore[return-value]

    return decorate


def plain(*originals: Any) -> None:
    """Declare functions whose results have no derivatives: they are applied to the values."""
    for original in originals:
        PLAIN.add(original)
        FUNCTIONS[original] = _on_values(original)


def _on_values(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        return original(*_core.strip(args), **_core.strip(kwargs))

    return dispatch


# --- ufuncs --------------------------------------------------------------------------------------

# NumPy's function that a method of a ufunc comes to.
REDUCTIONS: dict[tuple[str, str], Any] = {
    ("add", "reduce"): np.sum,
    ("multiply", "reduce"): np.prod,
    ("maximum", "reduce"): np.max,
    ("minimum", "reduce"): np.min,
    ("fmax", "reduce"): np.nanmax,
    ("fmin", "reduce"): np.nanmin,
    ("add", "accumulate"): np.cumsum,
    ("multiply", "accumulate"): np.cumprod,
}


def _call(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc with keyword arguments, or one that is no row of the table."""
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    for ignored in ("casting", "order", "subok"):
        kwargs.pop(ignored, None)
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise TypeError(
            f"numpy.{ufunc.__name__} of numbers with derivatives does not support dtype={dtype}: "
            "they are float64"
        )
    if out is None and where is True:
        return _function_for(ufunc)(*inputs, **kwargs)
    result = ufunc(*inputs, **kwargs)
    targets = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    return _store(ufunc, targets, results, where)


def _function_for(ufunc: Any) -> Callable[..., Any]:
    """The function of the package that stands for a ufunc."""
    function = FUNCTIONS.get(ufunc) or _core.operation_of(ufunc)
    if function is None and "scipy.special" in sys.modules:
        importlib.import_module("cadiff.scipy.special")  # which knows SciPy's ufuncs
        function = FUNCTIONS.get(ufunc)
    if function is None:
        raise TypeError(
            f"cadiff has no derivative for {ufunc!r}: write it with the functions of cadiff, or "
            "apply it to cadiff.value(v), which has none"
        )
    return function


def _store(ufunc: Any, targets: tuple[Any, ...], results: tuple[Any, ...], where: Any) -> Any:
    """Write results where `out=` says, as far as the mask `where=` goes."""
    stored = []
    for target, result in zip(targets, results, strict=True):
        if target is None:
            raise TypeError(
                f"numpy.{ufunc.__name__} of numbers with derivatives wants out= beside where=: "
                "what stands where the mask is False is not defined otherwise; cadiff.where"
                "(mask, x, y) chooses between two"
            )
        if isinstance(target, np.ndarray) and carries(result) and target.dtype != object:
            raise TypeError(
                f"numpy.{ufunc.__name__} cannot write numbers with derivatives to out= of dtype "
                f"{target.dtype}: take the result, or make the array with cadiff.zeros"
            )
        if where is True:
            target[...] = result
        else:
            mask = np.broadcast_to(where, target.shape)
            target[mask] = (result + np.zeros(target.shape))[mask]
        stored.append(target)
    return stored[0] if len(stored) == 1 else tuple(stored)


def _outer(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    left, right = (x if carries(x) else np.asarray(x) for x in inputs)
    left = left[(...,) + (None,) * right.ndim] if left.ndim else left
    return ufunc(left, right, **kwargs)


def _at(ufunc: Any, inputs: tuple[Any, ...]) -> None:
    """`ufunc.at(a, indices, b)`: unlike a[indices] = ..., each occurrence of an index counts."""
    target, indices, *others = inputs
    if not carries(target):
        raise TypeError(
            f"numpy.{ufunc.__name__}.at cannot write numbers with derivatives to an ndarray: make "
            "the array with cadiff.zeros or cadiff.array"
        )
    places = np.arange(target.size).reshape(target.shape)[indices]
    operands = [_copied_to(places.shape, x) for x in others]
    places = places.ravel()
    if ufunc in (np.add, np.subtract):
        added = operands[0] if ufunc is np.add else -operands[0]
        written, index = np.arange(target.size), places
        if target.size > places.size:
            written, index = np.unique(places, return_inverse=True)
        where = np.unravel_index(written, target.shape)
        # The order of the summands is NumPy's: first what stood there, then one after the other.
        parts = FUNCTIONS[np.concatenate]([target[where], added])
        order = np.concatenate([np.arange(len(written)), index])
        target[where] = FUNCTIONS[np.bincount](order, parts)
        return
    for chosen in _occurrences(places):
        where = np.unravel_index(places[chosen], target.shape)
        target[where] = ufunc(target[where], *(x[chosen] for x in operands))


def _copied_to(shape: tuple[int, ...], x: Any) -> Any:
    """A vector of the numbers of x, broadcast; a copy, since x may be what is written to."""
    if not carries(x):
        return np.broadcast_to(np.asarray(x), shape).flatten()
    return np.broadcast_to(x, shape).flatten()


def _occurrences(places: Any) -> Iterator[Any]:
    """Positions of the first occurrence of each place, of the second ones, and so on."""
    order = np.argsort(places, kind="stable")
    begins = np.flatnonzero(np.diff(places[order], prepend=-1))
    lengths = np.diff(begins, append=len(places))
    for k in range(max(lengths, default=0)):
        yield order[begins[lengths > k] + k]


def _method(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's ufunc protocol asks for, and is no plain call of an operation."""
    if method == "__call__":
        return _call(ufunc, inputs, kwargs)
    if method == "outer":
        return _outer(ufunc, inputs, kwargs)
    if method == "at":
        return _at(ufunc, inputs)
    original = REDUCTIONS.get((ufunc.__name__, method))
    if original is None:
        raise TypeError(
            f"cadiff does not differentiate numpy.{ufunc.__name__}.{method}: write it with the "
            "functions of cadiff.numpy"
        )
    x, *rest = inputs
    out = kwargs.pop("out", None)
    kwargs = {name: given for name, given in kwargs.items() if given is not None}
    axis = kwargs.pop("axis", rest[0] if rest else 0)
    result = FUNCTIONS[original](x, axis=axis, **kwargs)
    return _store(ufunc, out, (result,), True) if out is not None else result


_core.register(FUNCTIONS, _method)
