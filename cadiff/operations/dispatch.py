"""Which function of NumPy or SciPy is done by which function of the package.

A function of the package that stands for one of NumPy's is made with `implements`. It is what
plain NumPy calls on numbers with derivatives (`__array_function__`), and what the namespaces
`cadiff.numpy` and `cadiff.scipy` offer. Given plain numbers, it is NumPy's own function.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import carries
from . import guards as _guards
from .replayed import replaced

P = ParamSpec("P")
R = TypeVar("R")

# NumPy's or SciPy's function -> the one of the package that differentiates it.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

# What makes the functions for a library's known, by the module that has these: it is called when
# one of them meets a number with a derivative, so that nobody needs the library, and a gradient of
# plain arithmetic waits for none.
WHEN_IMPORTED: dict[str, Callable[[], None]] = {}


def load(library: str = "numpy") -> None:
    """Make the functions for a library's known, unless they are."""
    if library in WHEN_IMPORTED:
        WHEN_IMPORTED[library]()
        WHEN_IMPORTED.pop(library, None)


# Functions whose results have no derivatives: shapes, comparisons, indices.
PLAIN: set[Any] = set()


def implements(
    *originals: Any, plainly: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], binding.DispatchedFunction[P, R]]:
    """Make a function the one that differentiates `originals`; it is called like the first.

    The decorated function is called only if an argument carries a derivative. What is called for
    plain arguments may be something that wraps the first original. Where there is none, since this
    version of NumPy lacks it, the function is registered for nothing.
    """

    def decorate(function: Callable[P, R]) -> binding.DispatchedFunction[P, R]:
        enters = not ONE_STEP.intersection(originals)
        first = originals[0] if originals else function
        dispatch = _named_as(function, first, plainly, enters)
        for name in originals:
            FUNCTIONS[name] = dispatch
        return dispatch

    return decorate


def plain(*originals: Any) -> None:
    """Declare functions whose results have no derivatives: they are applied to the values."""
    for original in originals:
        PLAIN.add(original)
        FUNCTIONS[original] = _named_as(_on_values(original), original)


# Functions of one operation or none, which would cost more as entries (eager_cache.py);
# those that make what is assigned to; and those that write to an argument. Others are added.
ONE_STEP = {
    vars(np).get(name)
    for name in (
        *("angle", "around", "array", "array_split", "asanyarray", "asarray", "astype"),
        *("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to"),
        *("clip", "conj", "conjugate", "copy", "cumsum", "diagonal", "dot", "dsplit"),
        *("empty_like", "expand_dims", "fix", "flip", "fliplr", "flipud", "full_like", "hsplit"),
        *("imag", "matmul", "matrix_transpose", "matvec", "moveaxis", "ones_like"),
        *("permute_dims", "ravel", "real", "real_if_close", "reshape", "rollaxis", "rot90"),
        *("round", "split", "squeeze", "sum", "swapaxes", "transpose", "unstack", "vdot"),
        *("vecmat", "vsplit", "where", "zeros_like"),
        *("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"),
    )
}


def _on_values(original: Callable[..., Any]) -> Callable[..., Any]:
    note = _guards.questions.get(original.__name__)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if note is None:
            return original(*binding.unguarded(args), **binding.unguarded(kwargs))
        is_noted = binding.depends((args, kwargs))
        if is_noted:
            args, kwargs = replaced((args, kwargs), "number")
        answer = original(*binding.plain_values(args), **binding.plain_values(kwargs))
        noted = note(*args, **kwargs) if is_noted else None
        return answer if noted is None else noted

    return function


def _named_as(
    function: Callable[P, R],
    original: Callable[..., Any],
    plainly: Callable[..., Any] | None = None,
    enters: bool = False,
) -> binding.DispatchedFunction[P, R]:
    """A function under its public name: that of the original, in the package's namespace."""
    dispatch = binding.DispatchedFunction(function, plainly or original, None, enters)
    functools.update_wrapper(dispatch, function)
    name = dispatch.__name__ = getattr(original, "__name__", function.__name__)
    named = "numpy" if hasattr(np, name) else function.__module__  # ufuncs may not say
    module = getattr(original, "__module__", named).removeprefix("cadiff.")
    public = itertools.takewhile(lambda part: part[0] != "_", module.split("."))
    dispatch.__module__ = ".".join(["cadiff", *public])
    dispatch.__qualname__ = name
    dispatch.__doc__ = function.__doc__ or original.__doc__
    return dispatch


# --- ufuncs --------------------------------------------------------------------------------------

# Methods of ufuncs, called as NumPy's with the ufunc before their arguments.
METHODS: dict[str, Callable[..., Any]] = {}


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
        return function_for(ufunc)(*inputs, **kwargs)
    result = ufunc(*inputs, **kwargs)
    targets = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    return store(ufunc, targets, results, where)


def function_for(ufunc: Any) -> Callable[..., Any]:
    """The function of the package that stands for a ufunc."""
    function = FUNCTIONS.get(ufunc) or binding.operation_of(ufunc)
    for library in WHEN_IMPORTED.keys() & sys.modules.keys() if function is None else ():
        load(library)
        function = FUNCTIONS.get(ufunc)
    if function is None:
        raise binding.MissingRuleError(
            f"cadiff has no derivative for {ufunc!r}: write it with the functions of cadiff, "
            "as cadiff.numpy.vectorize(f) does of a function f in Python, apply it to "
            "cadiff.value(v), which has none, or make it an operation (cadiff.primitive)"
        )
    return function


def store(ufunc: Any, targets: tuple[Any, ...], results: tuple[Any, ...], where: Any) -> Any:
    """Write results where `out=` says, as far as the mask `where=` goes."""
    stored = []
    for target, result in zip(targets, results, strict=True):
        if target is None:
            raise TypeError(
                f"numpy.{ufunc.__name__} of numbers with derivatives wants out= beside where=: "
                "what stands where the mask is False is not defined otherwise; cadiff.where"
                "(mask, x, y) chooses between two"
            )
        if not isinstance(target, (np.ndarray, binding.Var, binding.Dual)):
            raise TypeError(
                f"numpy.{ufunc.__name__} takes {ufunc.nin} by position; what follows is out=, an "
                f"array to be written to, not a {type(target).__name__}"
            )
        if isinstance(target, np.ndarray) and carries(result) and target.dtype != object:
            raise TypeError(
                f"numpy.{ufunc.__name__} cannot write numbers with derivatives to out= of dtype "
                f"{target.dtype}: take the result, or make the array with cadiff.zeros"
            )
        if where is True:
            target[...] = result
        else:
            mask = np.broadcast_to(mask_of(where), target.shape)
            if target.shape:
                target[mask] = (result + np.zeros(target.shape))[mask]
            elif mask:
                target[...] = result
        stored.append(target)
    return stored[0] if len(stored) == 1 else tuple(stored)


def mask_of(where: Any) -> NDArray[np.bool_]:
    """What `where=` means, as NumPy takes it: anything by its truth, but arrays of bool only."""
    if carries(where) or (isinstance(where, np.ndarray) and where.dtype != bool):
        kind = getattr(where, "dtype", type(where).__name__)
        raise TypeError(f"where= is a mask of bool, not of {kind}: write mask != 0 for it")
    return np.asarray(where, dtype=bool)


def _method(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's ufunc protocol asks for, and is no plain call of an operation."""
    load()
    asked = (inputs, dict(kwargs))  # which are taken from
    try:
        if method == "__call__":
            return _call(ufunc, inputs, kwargs)
        return METHODS[method](ufunc, *inputs, **kwargs)
    except TypeError:
        constants = binding.plain_constants(asked)
        if constants is None:
            raise
    return getattr(ufunc, method)(*constants[0], **constants[1])


binding.register(FUNCTIONS, load, _method)
