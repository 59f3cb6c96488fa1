"""`numpy`, as mirrors of SciPy's modules import it: `cadiff.numpy`, with what they assign to.

SciPy writes into results where a condition holds: into arrays of no axes, too, and into what NumPy
has broadcast and copied. Here these are arrays that numbers with derivatives can be assigned to.
"""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import Any

import numpy as _np

from .. import binding as _binding
from .. import numpy as _numpy
from ..binding import Dual as _Dual
from ..binding import Var as _Var
from ..binding import carries as _carries
from ..binding.dtype import float64 as _float64
from ..operations import arrays as _arrays


class _KeepsNumbers(type):
    """Makes plain numbers of all but those with a derivative."""

    kind: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and _carries(args[0]):
            return cls.kept(args[0])
        return cls.kind(*args, **kwargs)

    def kept(cls, number: Any) -> Any:
        if _np.size(number) != 1 or _np.iscomplexobj(number):
            return cls.kind(number)  # which says what is wrong
        return _arrays.reshape(_arrays.as_array(number), ())

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.kind)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.kind)


class float_(metaclass=_KeepsNumbers):  # noqa: N801 - a type of Python's
    """`float`, but a number with a derivative stays one."""

    kind = float
    dtype = _np.dtype(float)  # what NumPy takes it for
    fromhex = float.fromhex


class int_(metaclass=_KeepsNumbers):  # noqa: N801 - a type of Python's
    """`int`; of a number with a derivative, its value, which a program asks for again."""

    kind = int
    dtype = _np.dtype(int)
    from_bytes = int.from_bytes

    @staticmethod
    def kept(number: Any) -> int:
        return int(_np.asarray(_arrays.as_array(number).astype(int)).item())


float64 = _float64.type


def asarray(a: Any, *args: Any, **kwargs: Any) -> Any:
    """As `cadiff.numpy.asarray`; a number without axes is a place that can be assigned to."""
    x = _numpy.asarray(a, *args, **kwargs)
    if not isinstance(x, (_Var, _Dual)) or x.ndim > 0 or _binding.is_cell(x):
        return x
    row = _arrays.blank((1,), x)
    row[0] = x
    return row[0, ...]


def broadcast_arrays(*args: Any, **kwargs: Any) -> Any:
    """As `cadiff.numpy.broadcast_arrays`; beside numbers with derivatives all are such arrays."""
    found = _numpy.broadcast_arrays(*args, **kwargs)
    if not _carries(found):
        return found
    return tuple(asarray(x) if _carries(x) else _writable_copy(x) for x in found)


def _writable_copy(x: Any) -> Any:
    """Integers stay what they are: indices may be among them."""
    return x if x.dtype.kind in "biu" else _arrays.opened(_np.array(x, float))


def clip(x: Any, /, min: Any = None, max: Any = None, **kwargs: Any) -> Any:
    """As the standard of arrays has it: either end may be left out."""
    return _numpy.clip(x, min, max, **kwargs)


def nextafter(x: Any, y: Any, /) -> Any:
    """Of values: SciPy asks for the least step that a time can take."""
    return _np.nextafter(*_binding.plain_values((x, y)))


def _by(compute: _Callable[[Any, Any], Any] | None) -> _Callable[..., Any]:
    return lambda self, y, **how: self._changed(compute, y, **how)


class At:
    """`array_api_extra.at`: an array of which some elements become other ones."""

    def __init__(self, x: Any, key: Any = ..., /) -> None:
        self._x, self._key = x, key

    def __getitem__(self, key: Any) -> At:
        return type(self)(self._x, key)

    def _changed(self, compute: Any, y: Any, copy: bool | None = None, **_: Any) -> Any:
        """In place, unless a copy is asked for, or the array cannot hold the numbers."""
        x = self._x
        if copy or _np.ndim(x) == 0 or (isinstance(x, _np.ndarray) and _carries(y)):
            x = _np.array(x) if not (_carries(x) or _carries(y)) else _writable(x)
        x[self._key] = y if compute is None else compute(x[self._key], y)
        return x if _np.ndim(x) else x[()]

    set = _by(None)
    add, subtract = _by(_np.add), _by(_np.subtract)
    multiply, divide, power = _by(_np.multiply), _by(_np.divide), _by(_np.power)
    min, max = _by(_np.minimum), _by(_np.maximum)


def _writable(x: Any) -> Any:
    return _numpy.array(x, copy=True) if _np.ndim(x) else asarray(x + 0.0)


def apply_where(
    cond: Any, args: Any, f1: Any, f2: Any = None, /, *, fill_value: Any = None,
    kwargs: Any = None, xp: Any = None,
) -> Any:  # fmt: skip
    """`array_api_extra.apply_where`: what f1 gives where a condition holds, and f2 elsewhere."""
    numbers = list(args) if isinstance(args, tuple) else [args]
    names = dict(kwargs or {})
    others = [fill_value] if fill_value is not None and _np.ndim(fill_value) else []
    shape = _np.broadcast_shapes(*map(_np.shape, (cond, *numbers, *others)))
    mask = _np.broadcast_to(_np.asarray(cond, bool), shape)
    if not shape:
        f = f1 if mask else f2
        if f is not None:
            return asarray(f(*numbers, **names))
        is_complex = _np.iscomplexobj(f1(*(_np.zeros(0) for _ in numbers), **names))
        return asarray(_np.asarray(fill_value + 0j) if is_complex else fill_value)
    numbers = [_numpy.broadcast_to(x, shape) for x in numbers]
    parts = []
    for where, f in ((mask, f1), (~mask, f2)):
        if f is None:
            parts.append(_np.broadcast_to(fill_value, shape)[where])
        else:
            parts.append(f(*(x[where] for x in numbers), **names))
    whole = _np.empty(shape, int)
    whole[mask] = _np.arange(mask.sum())
    whole[~mask] = mask.sum() + _np.arange((~mask).sum())
    return _numpy.concatenate([_numpy.reshape(part, -1) for part in parts])[whole]


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return dir(_numpy)
