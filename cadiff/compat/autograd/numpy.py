"""NumPy's names: cadiff.numpy's, beside what autograd adds to them or does otherwise."""

from collections.abc import Iterable as _Iterable
from typing import Any as _Any

import numpy as _np

import cadiff as _cadiff
from cadiff import numpy as _numpy

from .. import aliases as _aliases
from . import core as _core
from . import trees as _trees
from .wrap_util import wraps as _wraps

ndarray = _np.ndarray  # numbers with derivatives are no instances, as autograd's boxes are none
numpy_version = __version__ = _np.__version__


def _of_list(name: str) -> _Any:
    function = getattr(_numpy, name)

    def of_iterable(arrays: _Iterable[_Any], *args: _Any, **kwargs: _Any) -> _Any:
        is_plain = hasattr(arrays, "shape") or not isinstance(arrays, _Iterable)
        return function(arrays if is_plain else [*arrays], *args, **kwargs)

    return _wraps(function)(of_iterable)


for _name in ("stack", "concatenate", "vstack", "hstack", "column_stack", "dstack"):
    globals()[_name] = _of_list(_name)
row_stack = globals()["vstack"]

# Types of integers that make them of numbers with derivatives, too.
for _kind in (_np.int8, _np.int16, _np.int32, _np.int64):
    _members = {"__new__": lambda cls, x=0, kind=_kind: kind(_core.getval(x))}
    globals()[_kind.__name__] = type(_kind.__name__, (_kind,), _members)


def concatenate_args(axis: int, *args: _Any) -> _Any:
    """`concatenate` with the arrays as arguments of their own."""
    return _numpy.concatenate(args, axis)


def array_from_args(array_args: _Any, array_kwargs: _Any, *args: _Any) -> _Any:
    """`array` with the elements as arguments of their own."""
    return _numpy.array(args, *array_args, **array_kwargs)


def make_diagonal(D: _Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> _Any:
    """Matrices with the last axis of D on their diagonals: `axis1=-1, axis2=-2`, no offset."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal wants offset=0, axis1=-1, axis2=-2")
    return D[..., None] * _np.eye(D.shape[-1])


def metadata(A: _Any) -> tuple[_Any, int, _Any, bool]:
    """Shape, number of axes, dtype, and whether it is complex."""
    return _numpy.shape(A), _numpy.ndim(A), _numpy.result_type(A), _numpy.iscomplexobj(A)


def where(condition: _Any, x: _Any = None, y: _Any = None) -> _Any:
    """As `numpy.where`; plain lists and numbers in, plain ones out."""
    if x is None:
        return _numpy.where(condition)
    result = _numpy.where(condition, x, y)
    leaves = [condition] if hasattr(condition, "dtype") else _trees.leaves([condition, x, y])
    return result if [x for x in leaves if hasattr(x, "dtype")] else result.tolist()


def _cholesky(A: _Any, /, **how: _Any) -> _Any:
    """As `numpy.linalg.cholesky`: the value is by one triangle, the derivative by both."""
    lower = _numpy.tril(A)
    both = 0.5 * (A + _numpy.conj(_numpy.swapaxes(A, -1, -2)))
    change = both - _cadiff.stop_gradient(both)  # zeros, with the derivatives
    return _numpy.linalg.cholesky(_cadiff.stop_gradient(lower) + change, **how)


_LINALG = {"cholesky": _cholesky, "T": lambda x: _numpy.swapaxes(x, -1, -2), "_dot": _numpy.matmul}
_aliases.stand_for(__name__, "cadiff.numpy", {"linalg": _LINALG})
_MODULES = {
    "numpy_boxes": "ArrayBox=Box",
    "numpy_vjps": "unbroadcast unbroadcast_f",
    "numpy_vspaces": "ArrayVSpace ComplexArrayVSpace",
}
_aliases.have_names(_core, __name__, _MODULES)
