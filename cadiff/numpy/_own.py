"""Functions of NumPy that are written in Python, as they stand, over numbers with derivatives.

What such a function calls, it finds among the globals of its module. A copy of it has globals in
which each function of NumPy's is the package's, and so computes with numbers with derivatives. It
follows NumPy, whichever version it is, to the last bit and in the words of errors. Not every
function can be taken so: it must not ask how elements stand in memory, nor ask for values where a
replay is to choose anew, and what it writes numbers into has to be made by functions that the
package has.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .. import binding
from ..binding import carries
from ..operations import arrays, table
from ..operations.complexes import implements_all
from ..operations.dispatch import FUNCTIONS, implements
from ..operations.guards import EQUAL
from ..operations.replayed import is_mask
from ._common import Number, as_number, as_view

# By the names of NumPy's modules: globals of the copies of their functions.
_globals: dict[str, dict[str, Any]] = {}


def own(
    namespace: ModuleType,
    *names: str,
    register: Callable[..., Any] = implements_all,
    written: tuple[str, ...] = (),
) -> dict[str, Callable[..., Any]]:
    """Register NumPy's functions of these names that this version has; in a dict by name.

    They write into copies of the arguments called `written`.
    """
    originals = {name: getattr(namespace, name) for name in names if hasattr(namespace, name)}
    return {name: register(each)(copied(each, written)) for name, each in originals.items()}


def copied(original: Any, written: tuple[str, ...] = (), **instead: Any) -> Callable[..., Any]:
    """One of NumPy's functions, without its integers of few bits: as sizes these wrap around.

    It finds what is given as `instead` under these names, of functions of its module.
    """
    copy = _copied(original.__wrapped__)
    copy.__globals__.update(instead)
    places = [copy.__code__.co_varnames.index(name) for name in written]

    @functools.wraps(copy)
    def enter(*args: Any, **kwargs: Any) -> Any:
        kinds = [x for each in (*args, *kwargs.values()) for x in _pieces(each)] if written else []
        kinds = list(filter(carries, kinds))
        if kinds:
            args = tuple(_alike(x, kinds) if k in places else x for k, x in enumerate(args))
            kwargs = {k: _alike(x, kinds) if k in written else x for k, x in kwargs.items()}
        return copy(*map(_whole, args), **{name: _whole(x) for name, x in kwargs.items()})

    return enter


_series: dict[FunctionType, Callable[..., Any]] = {}


def of_series(original: FunctionType) -> Callable[..., Any]:
    """A function of numpy.polynomial, which NumPy does not offer to numbers with derivatives."""
    if original in _series:
        return _series[original]
    utils = sys.modules["numpy.polynomial.polyutils"]
    known = _globals.setdefault(utils.__name__, {"__builtins__": builtins, "trimseq": _trimmed})
    copy = _copied(original)
    furnish(vars(sys.modules[__package__]))
    copy.__globals__["pu"] = SimpleNamespace(**known)
    return _series.setdefault(original, copy)


def _trimmed(series: Number) -> Number:
    """Coefficients without zeros at the end; that one is 0 is no accident."""
    n = len(series)
    while n > 1 and binding.compare(abs(series[n - 1]), 0.0, EQUAL, False):
        n -= 1
    return series[:n]


def _pieces(x: Any) -> Sequence[Any]:
    """What a list has beside functions; a list of numbers, or anything else, unchanged."""
    return x if isinstance(x, (list, tuple)) and any(map(callable, x)) else (x,)


def _alike(x: Any, kinds: list[Any]) -> Any:
    """Plain numbers as an array of the kind of some that carry derivatives."""
    kinds = [as_number(other) for other in kinds]
    if x is None or carries(x) or 0 in np.shape(x) or not all(other.size for other in kinds):
        return x
    for other in kinds:
        x = table.where(np.ones(np.shape(x), bool), as_number(x), other.reshape(-1)[0])
    return x


def _whole(x: Any) -> Any:
    if type(x) is tuple:
        return tuple(map(_whole, x))
    is_narrow = isinstance(x, np.integer) and (x.itemsize < 4 or x.dtype.kind == "u")
    return int(x) if is_narrow else x


def _copied(function: FunctionType) -> FunctionType:
    """A function whose globals are those of the package, once these are known."""
    known = _globals.setdefault(function.__module__, {"__builtins__": builtins})
    copy = FunctionType(
        function.__code__, known, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, function.__doc__
    return copy


class _Instead(ModuleType):
    """A module of NumPy's, with the package's functions in the place of its own."""

    def __init__(self, module: ModuleType, offered: dict[int, Any]) -> None:
        super().__init__(module.__name__)
        self._module, self._offered = module, offered

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        found = self._offered.get(id(found), found)
        setattr(self, name, found)
        return found


def _asanyarray(x: Any) -> Number:
    """An array of numbers; a mask as the bools that it stands for, whose sums are bools."""
    return x.read_values if is_mask(x) and x.dtype == bool else as_view(x)


def _opened(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes an array to assign numbers to, outside of differentiations, too."""

    def opened(*args: Any, **kwargs: Any) -> Any:
        array = make(*args, **kwargs)
        is_plain = type(array) is np.ndarray and array.dtype.kind in "fc" and array.itemsize >= 4
        return arrays.opened(array) if is_plain else array

    return opened


def furnish(namespace: dict[str, Any]) -> None:
    """Let the functions find what the package offers under NumPy's names.

    Those of numpy.linalg, and those of grids, write no numbers into arrays of a shape: these stay
    plain, since one that is open has no dtype of its own beside numbers.
    """
    names = vars(np).keys() & namespace.keys()
    offered = {id(vars(np)[name]): namespace[name] for name in names}
    for original in (np.array, np.asarray):  # plain lists stay plain, too
        offered[id(original)] = FUNCTIONS[original]
    offered[id(np.asanyarray)] = _asanyarray
    for maker in (id(np.zeros), id(np.empty)):
        offered[maker] = _opened(offered[maker])
    dispatched = {id(original): function for original, function in FUNCTIONS.items()}
    dispatched[id(np.asanyarray)] = _asanyarray
    for name, known in _globals.items():
        stays_plain = name.startswith("numpy.linalg") or name.endswith("._core.function_base")
        functions = dispatched if stays_plain else offered
        for key, thing in vars(sys.modules[name]).items():
            if key in known:
                continue
            if name.startswith("numpy.polynomial"):  # whose functions may ask here
                thing = inspect.unwrap(thing) if isinstance(thing, FunctionType) else thing
            if isinstance(thing, ModuleType) and thing.__name__.startswith("numpy"):
                known[key] = _Instead(thing, functions)
            elif isinstance(thing, FunctionType) and thing.__module__ == name:
                known[key] = _copied(thing)
            else:
                known[key] = functions.get(id(thing), thing)


own(
    np,
    # pieces of arrays
    *("append", "apply_over_axes", "atleast_1d", "atleast_2d", "atleast_3d"),
    *("column_stack", "diag", "dsplit", "dstack", "extract", "flip", "fliplr"),
    *("flipud", "hsplit", "hstack", "matrix_transpose", "resize", "roll", "rollaxis", "rot90"),
    *("tile", "tril", "triu", "unique_all", "unique_counts", "unique_inverse", "unstack"),
    *("vsplit", "vstack"),
    # sums, differences and products
    *("cumulative_prod", "cumulative_sum", "diff", "outer"),
    *("tensordot", "trapezoid"),
    # polynomials
    *("polyadd", "polyder", "polyint", "polysub", "polyval", "vander"),
    "real_if_close",
)
own(np, "piecewise", written=("x",))
own(np, "cov", written=("m", "fweights"))
own(
    np,
    *("array_split", "geomspace", "intersect1d", "logspace", "setdiff1d", "setxor1d"),
    *("split", "trim_zeros", "union1d"),
    register=implements,
)
own(np, "polyfit", register=implements, written=("x", "y"))
