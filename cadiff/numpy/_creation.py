"""Making arrays: from numbers, of a shape, like another.

While a function is being differentiated, arrays of floats made here accept assignment of numbers
with derivatives. Masks and indices (bool, int and other dtypes) are NumPy's own arrays, since
nothing with a derivative belongs into them; so is everything that is made outside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..binding import DispatchedFunction, Dual, array_of_lists, is_differentiating, is_forward
from ..operations import arrays
from ..operations.dispatch import FUNCTIONS, carries, implements
from ._common import Number, as_number, as_view, existing, rearranged, wants_floats

__all__ = [
    "c_",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "ones",
    "ones_like",
    "r_",
    "tri",
    "vander",
    "zeros",
    "zeros_like",
]

# --- of a shape ----------------------------------------------------------------------------------


def _open(original: Callable[..., Any], remark: str = "") -> Callable[..., Any]:
    """NumPy's function, whose arrays of floats are made such that numbers can be assigned."""

    @functools.wraps(original)
    def create(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        return arrays.array(made) if made.dtype.kind == "f" and is_differentiating() else made

    create.__doc__ = (
        f"As `numpy.{original.__name__}`{remark}; if of floats, numbers with derivatives can be\n"
        "    assigned to its elements."
    )
    create.__module__ = "cadiff.numpy"
    return create


zeros = _open(np.zeros)
ones = _open(np.ones)
eye = _open(np.eye)
identity = _open(np.identity)
tri = _open(np.tri)
vander = _open(np.vander)


def _joined(items: Any) -> Any:
    """Lists of numbers with derivatives as an array that can be assigned to: see array_of_lists."""
    made = array_of_lists(items)
    return arrays.opened(made) if carries(made) and is_forward() else made


def opening(original: Callable[..., Any]) -> Any:
    """The package's function for one of NumPy's; what it makes of plain numbers is open, too."""
    known = FUNCTIONS[original]
    joined = _joined if original is np.array else None
    function = known.__wrapped__  # type: ignore[attr-defined]
    offered = DispatchedFunction(function, _open(original), joined)
    return functools.update_wrapper(offered, known)


# Of plain numbers these make arrays, to which numbers with derivatives can be assigned. Grids,
# such as those of linspace, mostly are given to other libraries, and are NumPy's.
OPENED = frozenset((np.array, np.copy, np.diag, np.diagflat, np.repeat, np.tile))


@functools.wraps(np.empty)
def empty(*args: Any, **kwargs: Any) -> Any:
    """As `numpy.zeros`: nothing is left to chance, and numbers can be assigned if of floats."""
    return zeros(*args, **kwargs)


_full = _open(np.full)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **kwargs: Any) -> Any:
    """As `numpy.full`, filled with a number that may carry a derivative.

    Numbers with derivatives can be assigned to its elements, if it is of floats.
    """
    if not carries(fill_value):
        return _full(shape, fill_value, dtype, order, **kwargs)
    wants_floats("full", dtype)
    return arrays.full(shape, as_number(fill_value))


# --- like another --------------------------------------------------------------------------------


def _prototype(name: str, a: Any, dtype: Any, shape: Any) -> Any:
    """The shape of an array like the number a."""
    wants_floats(name, dtype)
    if shape is None:
        return as_number(a).shape
    return arrays.lengths_of(shape)


def _like(original: Callable[..., Any], fill: float) -> Callable[..., Any]:
    """One of the `_like` functions: dispatched by NumPy, and offered by the namespace."""
    name = original.__name__
    plain = _open(original)

    def like(
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        **_: Any,
    ) -> Any:
        if dtype is not None and np.dtype(dtype).kind != "f":
            return original(np.empty(as_number(a).shape), dtype, shape=shape)
        lengths = _prototype(name, a, dtype, shape)
        if isinstance(a, Dual):  # also one made by hand, whose like can be assigned to it
            return arrays.blank(lengths, a) + fill
        return arrays.full(lengths, fill)

    like.__doc__ = plain.__doc__
    implements(original)(like)

    @functools.wraps(original)
    def create(a: Any, *args: Any, **kwargs: Any) -> Any:
        return (like if carries(a) else plain)(a, *args, **kwargs)

    create.__doc__ = plain.__doc__
    create.__module__ = "cadiff.numpy"
    return create


zeros_like = _like(np.zeros_like, 0.0)
ones_like = _like(np.ones_like, 1.0)
empty_like = _like(np.empty_like, 0.0)


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    **_: Any,
) -> Any:
    """As `numpy.full_like`, filled with a number that may carry a derivative."""
    lengths = _prototype("full_like", a, dtype, shape)
    return arrays.full(lengths, as_number(fill_value))


implements(np.full_like)(_full_like)


_plain_full_like = _open(np.full_like)


@functools.wraps(np.full_like)
def full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    """As `numpy.full_like`, filled with a number that may carry a derivative."""
    fill = _full_like if carries(a) or carries(fill_value) else _plain_full_like
    return fill(a, fill_value, *args, **kwargs)


# --- from numbers --------------------------------------------------------------------------------


@implements(np.array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    **_: Any,
) -> Number:
    """An array of numbers with derivatives, as `numpy.array`; they can be assigned to it."""
    if dtype is not None and np.dtype(dtype) == np.dtype(np.object_):
        return np.array(object, dtype=np.object_, ndmin=ndmin)
    wants_floats("array", dtype)
    made = as_view(object)
    if copy:
        made = arrays.array(made) if made is object else arrays.opened(made)
    return (
        made.reshape((1,) * (ndmin - made.ndim) + tuple(made.shape)) if ndmin > made.ndim else made
    )


@implements(*existing("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require"))
def asarray(a: Any, dtype: Any = None, *_: Any, **__: Any) -> Number:
    """A number as an array, as `numpy.asarray`: Var and Dual are arrays already."""
    wants_floats("asarray", dtype)
    return as_view(a)


@implements(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Number:
    """A number as an array, as `numpy.asarray_chkfinite`: infinities and nan are errors."""
    x = asarray(a, dtype)
    if not np.all(abs(x) < np.inf):
        raise ValueError("array must not contain infs or NaNs")
    return x


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: None = None) -> Number:
    """A copy; the only dtypes are floats, as `numpy.astype`."""
    wants_floats("astype", dtype)
    return arrays.copy(as_view(x)) if copy else as_view(x)


for _original in existing("astype"):  # which came with NumPy 2.1
    implements(_original)(astype)


class Joiner:
    """`r_` and `c_`: arrays joined by indexing, with all directives of NumPy's."""

    def __init__(self, original: Any) -> None:
        self.original = original
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not carries(items):
            return self.original[key]
        told = [item for item in items if isinstance(item, str)]
        parts = [np.r_[item] if isinstance(item, slice) else item for item in items[len(told) :]]
        return rearranged(lambda *places: self.original[tuple(told) + places], *parts)

    def __len__(self) -> int:
        return 0


r_ = Joiner(np.r_)
c_ = Joiner(np.c_)
