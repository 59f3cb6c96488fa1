"""Making arrays: from numbers, of a shape, like another.

While a function is being differentiated, arrays of floats made here accept assignment of numbers
with derivatives. Until then they are constants, which become plain wherever a library asks for
that. Masks and indices (bool, int and other dtypes) are NumPy's own arrays, since nothing with a
derivative belongs into them; so is everything that is made outside, and what NumPy computes of
plain arrays.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..binding import (
    Complex,
    Dual,
    array_of_lists,
    carries,
    holds_complex,
    is_differentiating,
    is_forward,
    make_complex,
    plain_constants,
)
from ..operations import arrays
from ..operations.complexes import implements_all, joined
from ..operations.dispatch import FUNCTIONS, implements
from ..operations.guards import NoDerivativeError
from ._common import (
    Number,
    as_number,
    as_view,
    existing,
    rearranged,
    refuse,
    refuse_real,
    unsupported,
)

F = TypeVar("F", bound=Callable[..., Any])

# --- of a shape ----------------------------------------------------------------------------------


def _opened(made: Any) -> Any:
    """Arrays of floats such that numbers can be assigned to them; all else unchanged."""
    if type(made) is np.ndarray:
        return arrays.array(made) if made.dtype.kind in "fc" else made
    return type(made)(map(_opened, made)) if type(made) in (list, tuple) else made


def _open(original: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, whose arrays of floats are made such that numbers can be assigned."""

    @functools.wraps(original)
    def create(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        return _opened(made) if is_differentiating() else made

    create.__doc__ = (
        f"As `numpy.{original.__name__}`; if of floats, numbers with derivatives can be assigned\n"
        "    to its elements."
    )
    create.__module__ = "cadiff.numpy"
    return create


def _open_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same, unless it is given an array, of which it makes no other one."""
    create = _open(original)

    @functools.wraps(create)
    def take(a: Any, *args: Any, **kwargs: Any) -> Any:
        return (create if isinstance(a, (list, tuple)) else original)(a, *args, **kwargs)

    return take


# What the namespace has in the place of NumPy's functions that make arrays.
MADE: dict[str, Any] = {
    name: _open(getattr(np, name))
    for name in (
        "bartlett", "blackman", "eye", "fromfunction", "hamming", "hanning", "identity",
        "indices", "kaiser", "ones", "tri", "vander", "zeros",
    )
}  # fmt: skip


def _made(function: F) -> F:
    """Have a function in the namespace, under its name and with the signature of NumPy's."""
    function.__wrapped__ = getattr(np, function.__name__)  # type: ignore[attr-defined]
    MADE[function.__name__] = function
    return function


def _filled(shape: Any, numbers: Any, dtype: Any = complex) -> Any:
    """An array of complex numbers."""
    filled = arrays.opened(np.zeros(shape, np.result_type(dtype, np.complex64)))
    if np.ndim(filled) == 0:
        return filled + numbers
    filled[...] = numbers
    return filled


_arange = _open(np.arange)


@_made
def arange(*args: Any, **kwargs: Any) -> Any:
    """As `numpy.arange`; what it counts by has no derivative.

    Numbers with derivatives can be assigned to its elements, if it is of floats.
    """
    if carries(args) or carries(kwargs):
        constants = plain_constants((args, kwargs))
        if constants is None:
            raise NoDerivativeError(
                "numpy.arange counts, and has no derivative by its arguments: write "
                "start + step * np.arange(n), where n is an int"
            )
        args, kwargs = constants  # NumPy would have the number itself for the first element
    return _arange(*args, **kwargs)


_fromiter = _open(np.fromiter)


@_made
def fromiter(iter: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:  # NumPy's names
    """As `numpy.fromiter`, of numbers that may carry derivatives.

    Numbers with derivatives can be assigned to its elements, if it is of floats.
    """
    items = list(itertools.islice(iter, None if count < 0 else count))
    if not carries(items):
        return _fromiter(items, dtype, count, **kwargs)
    if len(items) < count:
        raise ValueError(f"iterator too short: expected {count} but iterator had {len(items)}")
    if not holds_complex(items) and np.dtype(dtype).kind != "c":
        refuse("fromiter", dtype=dtype)
        return arrays.array(items)
    refuse_real("fromiter", dtype)
    return _filled(len(items), items)


def _joined(items: Any) -> Any:
    """Lists of numbers with derivatives as an array to assign to: see array_of_lists."""
    made = array_of_lists(items)
    return arrays.opened(made) if carries(made) and is_forward() else made


def opening(original: Callable[..., Any]) -> Any:
    """The package's function for one of NumPy's; what it makes of plain numbers is open, too."""
    known = FUNCTIONS[original]
    joined = _joined if original is np.array else None
    made = (_open if original in OPENED else _open_lists)(original)
    offered = known.opening(made, joined)  # type: ignore[attr-defined]
    return functools.update_wrapper(offered, known)


# Of plain numbers these make arrays, to which numbers with derivatives can be assigned: grids, and
# what only moves elements about, ...
OPENED = frozenset(
    existing(
        *("append", "array", "block", "broadcast_arrays", "broadcast_to", "column_stack"),
        *("concat", "concatenate", "copy", "delete", "diag", "diagflat", "dstack", "empty_like"),
        *("full_like", "geomspace", "hstack", "insert", "linspace", "logspace", "meshgrid"),
        *("ones_like", "pad", "repeat", "resize", "roll", "select", "stack", "tile", "tril"),
        *("triu", "vstack", "where", "zeros_like"),
    )
)
# ... and these of lists: they return arrays unchanged.
OPENED_LISTS = frozenset(existing("asarray", "asanyarray", "ascontiguousarray", "asfortranarray"))


@_made
def empty(*args: Any, **kwargs: Any) -> Any:
    """As `numpy.zeros`: nothing is left to chance, and numbers can be assigned if of floats."""
    return MADE["zeros"](*args, **kwargs)


_full = _open(np.full)


@_made
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **kwargs: Any) -> Any:
    """As `numpy.full`, filled with a number that may carry a derivative.

    Numbers with derivatives can be assigned to its elements, if it is of floats.
    """
    if not carries(fill_value):
        return _full(shape, fill_value, dtype, order, **kwargs)
    if holds_complex(fill_value) or (dtype is not None and np.dtype(dtype).kind == "c"):
        kind = joined(fill_value).dtype if dtype is None else np.dtype(dtype)
        return _filled(shape, fill_value, kind)
    refuse("full", dtype=dtype)
    return arrays.full(shape, as_number(fill_value), dtype)


# --- like another --------------------------------------------------------------------------------


@implements_all(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As `numpy.full_like`, filled with a number that may carry a derivative."""
    x = as_number(a)
    lengths = x.shape if shape is None else arrays.lengths_of(shape)
    dtype = x.dtype if dtype is None else dtype
    kind = np.dtype(dtype).kind
    if kind == "c":
        return _filled(lengths, fill_value, dtype)
    if kind != "f" and not carries(fill_value):
        return np.full(lengths, fill_value, dtype)
    refuse("full_like", dtype=dtype)
    if isinstance(a, Dual) and not carries(fill_value):  # one made by hand is to be assigned to
        filled = arrays.blank(lengths or (1,), arrays.in_precision(a, dtype)) + fill_value
        return filled if lengths else filled[0, ...]
    return arrays.full(lengths, as_number(fill_value), dtype)


def _like(original: Callable[..., Any], fill: float) -> None:

    def like(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        x = as_number(a)
        if isinstance(x, Complex) and isinstance(x.real, Dual) and dtype is None:
            im = np.zeros_like(x.imag, None, *args, **kwargs)
            return make_complex(like(x.real, None, *args, **kwargs), im)
        return full_like(a, fill, dtype, *args, **kwargs)

    like.__doc__ = _open(original).__doc__
    like.__wrapped__ = np.zeros_like  # type: ignore[attr-defined]  # whose signature all have
    implements_all(original)(like)


for _original, _fill in ((np.zeros_like, 0.0), (np.ones_like, 1.0), (np.empty_like, 0.0)):
    _like(_original, _fill)


# --- from numbers --------------------------------------------------------------------------------


@implements_all(np.array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Number:
    """An array of numbers with derivatives, as `numpy.array`; they can be assigned to it."""
    if dtype is not None and np.dtype(dtype) == np.dtype(np.object_):
        limits: Any = {"ndmin": ndmin} | ({"ndmax": ndmax} if ndmax else {})
        return np.array(object, dtype=np.object_, **limits)
    made = _of_dtype("array", as_view(object), dtype)
    if 0 < ndmax < made.ndim and isinstance(object, (list, tuple)):
        raise ValueError(f"array: these lists have {made.ndim} axes, more than ndmax={ndmax}")
    made = made if copy else _laid_out(made, order)
    if isinstance(made, Complex):
        made = made.copy() if copy or made is not object else made
    elif copy:
        made = arrays.array(made) if made is object else arrays.opened(made)
    return (
        made.reshape((1,) * (ndmin - made.ndim) + tuple(made.shape)) if ndmin > made.ndim else made
    )


@implements_all(*existing("asarray", "asanyarray"))
def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Number:
    """A number as an array, as `numpy.asarray`: Var and Dual are arrays already."""
    x = _of_dtype("asarray", as_view(a), dtype)
    return _laid_out(arrays.copy(x) if copy and x is a else x, order)


@implements_all(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Number:
    return _of_axes(asarray(a, dtype, "C"))


def _of_axes(x: Any) -> Any:
    """An array of at least one axis."""
    return x if x.ndim else x.reshape(1)


@implements_all(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Number:
    return _of_axes(asarray(a, dtype, "F"))


@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Number:
    wanted = {each.upper()[0] for each in requirements or ()}
    if "O" in wanted:
        unsupported("require", "the requirement 'OWNDATA'", "take a copy, x.copy()")
    return asarray(a, dtype, "F" if "F" in wanted else "C" if "C" in wanted else None)


def _laid_out(x: Number, order: str | None) -> Number:
    """The array itself if its elements stand in an order, C or F, and else a copy."""
    if isinstance(x, Complex):
        return x.copy() if order == "F" and x.ndim > 1 else x
    if order not in ("C", "F") or not x.ndim:
        return x
    if order == "C":
        return arrays.in_order(x)
    rows = arrays.transpose(x)
    return x if arrays.is_in_order(rows) else arrays.transpose(arrays.copy(rows))


def _of_dtype(function: str, x: Number, dtype: Any) -> Number:
    """The number, which becomes complex, or of another precision, if that is asked for."""
    if isinstance(x, Complex):
        refuse_real(function, dtype)
        return arrays.in_precision(x, dtype)
    if dtype is not None and np.dtype(dtype).kind == "c":
        return x.astype(dtype)
    refuse(function, dtype=dtype)
    return arrays.in_precision(x, dtype)


@implements(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Number:
    """A number as an array, as `numpy.asarray_chkfinite`: infinities and nan are errors."""
    x = asarray(a, dtype)
    if not np.all(abs(x) < np.inf):
        raise ValueError("array must not contain infs or NaNs")
    return x


@implements(*existing("astype"))  # which came with NumPy 2.1
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: None = None) -> Number:
    """A copy, of floats, of complex numbers, or of ints, which have no derivatives."""
    return as_view(x).astype(dtype, copy=copy)


ENDS = operator.attrgetter("start", "stop", "step")


class Grid:
    """`mgrid` and `ogrid`."""

    def __init__(self, original: Any) -> None:
        self.original = original
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        rows = key if isinstance(key, (tuple, list)) else (key,)
        if not any(isinstance(row, slice) and carries(ENDS(row)) for row in rows):
            grid = self.original[key]
            return _opened(grid) if is_differentiating() else grid
        if not all(isinstance(row.step, complex) for row in rows):
            raise NoDerivativeError(
                "numpy.mgrid and ogrid have derivatives where they are told how many places there "
                "are, as by 0:x:10j; by a step they count: write start + step * np.arange(n)"
            )
        ends = [(0.0 if row.start is None else row.start, row.stop) for row in rows]
        places = [np.linspace(*ends[k], int(abs(row.step))) for k, row in enumerate(rows)]
        is_open = self.original is np.ogrid
        grids = np.meshgrid(*places, indexing="ij", sparse=is_open)
        return grids[0] if rows is not key else tuple(grids) if is_open else np.stack(grids)


class Joiner(Grid):
    """`r_` and `c_`: arrays joined by indexing, with all directives of NumPy's."""

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not carries(items):
            return super().__getitem__(key)
        told = [item for item in items if isinstance(item, str)]
        parts = [np.r_[item] if isinstance(item, slice) else item for item in items[len(told) :]]
        return rearranged(lambda *places: self.original[tuple(told) + places], *parts)

    def __len__(self) -> int:
        return 0


MADE |= {"r_": Joiner(np.r_), "c_": Joiner(np.c_)}
MADE |= {"mgrid": Grid(np.mgrid), "ogrid": Grid(np.ogrid)}
