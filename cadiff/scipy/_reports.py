"""What a solver says beside its solution: counts, flags, estimates of errors, messages, traces.

A compiled program has it anew in each call. What the function reads is a result of a primitive:
the numbers of a part, and for all that is no number one that tells it from others, a guard.
What stands under a name is made where the function reads it, so a result of which nothing but x is
used is replayed however long a search was. The items of a tuple are made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, reduce
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..operations.guards import held
from ..operations.making import innermost
from ..operations.scalars import MOST_INT, anew
from ..transforms._solver_side_effects import left, rule_of_a_solver

FloatArray = NDArray[np.float64]
Place = tuple[Any, ...]  # keys that lead to a part

_CONSTANTS = (int, complex, str, bytes, np.generic, type(None))
UNKNOWN = (
    "it reads {place} of what {name} returns, which a replay does not make again: compute outside "
    "of the function what needs it"
)


class Report:
    """The results of one call of a solver, which `run` gives for any plain theta."""

    is_of_a_call = True

    def __init__(self, name: str, run: Callable[[FloatArray], Any]) -> None:
        self.name, self._run = name, run  # name: of what the user has called
        self.first: Any = None  # result
        self._last: tuple[bytes, Any] = b"", None

    def run(self, theta: FloatArray) -> Any:
        """The result, which is known until there is another one."""
        outcome = self._run(theta)
        self._last = theta.tobytes(), outcome
        if self.first is None:
            self.first = outcome
        return outcome

    def told(self, theta: Any, parts: dict[Place, Any], why: str = "") -> Any:
        """The first result, with other parts at some places.

        Its other floats have no derivative, and say `why` if there is one to ask for.
        """
        primal = innermost(theta)
        late = binding.guards_serial() if binding.depends(primal) else 0

        def leaf(x: Any, place: Place) -> Any:
            name, kind = ".".join(map(str, place)), _kind_of(x)
            if late and binding.is_guarding():
                told = partial(_told, primal, report=self, place=place)
                if binding.is_stale(primal) or not binding.notes_guards(primal, late):
                    kind = "O"
                elif kind not in "biuf" or np.ndim(x):  # else it would be nan
                    binding.note_outcomes(told(is_form=True), late, False)
                if kind == "O":
                    binding.note_obstacle(UNKNOWN.format(place=name, name=self.name))
                elif kind in "biu":
                    return anew(x, told(is_form=False))
                elif kind == "f":
                    x = told(is_form=False)
            if kind != "f":
                return x
            return left(x, theta, why=why.format(name)) if why else held(x)

        return _with(self.first, parts, leaf, late)

    def value(self, theta: Any, place: Place) -> Any:
        """What SciPy has found for a number or an array of them, without a derivative."""
        primal = innermost(theta)
        if binding.depends(primal):
            return _told(primal, report=self, place=place, is_form=False)
        return part_at(self.first, place)

    def part(self, theta: FloatArray, place: Place) -> Any:
        """What stands at a place of the result, or the report itself if nothing does."""
        known, outcome = self._last
        if known != theta.tobytes():
            outcome = self.run(theta)
        try:
            return part_at(outcome, place)
        except KeyError:
            return self


@rule_of_a_solver
def _told(theta: FloatArray, *, report: Report, place: Place, is_form: bool) -> Any:
    """A number that tells the form of a part from others; or the numbers in it."""
    part = report.part(theta, place)
    form = _form(part)
    if is_form:
        return float(int.from_bytes(sha256(repr(form).encode()).digest()[:6], "big"))
    first = part_at(report.first, place)
    return np.asarray(part if form == _form(first) else np.full(np.shape(first), np.nan), float)


_told.defvjp(None)


# --- parts of results ----------------------------------------------------------------------------


def _items(tree: Any) -> dict[Any, Any]:
    """What is in a container: a list, a dict, or an object that is but a namespace."""
    if isinstance(tree, (tuple, list)):
        return dict(enumerate(tree))
    is_bunch = type(tree).__name__ == "_Bunch"
    return vars(tree) if is_bunch else tree if isinstance(tree, dict) else {}


def part_at(tree: Any, place: Place) -> Any:
    """What stands at a place; a KeyError if nothing does."""
    return reduce(lambda part, key: _items(part)[key], place, tree)


def _kind_of(x: Any) -> str:
    """Of numbers that floats can stand for b, i, u or f; of constants and containers c; else O."""
    if isinstance(x, (int, float, np.bool_, np.integer, np.ndarray)):
        array = np.asarray(x)
        if array.dtype.kind == "f" or (
            array.dtype.kind in "biu" and bool((np.abs(array.astype(float)) < MOST_INT).all())
        ):
            return array.dtype.kind
    is_object = getattr(x, "dtype", None) in (None, object) and not _items(x)
    return "O" if is_object and not isinstance(x, (*_CONSTANTS, list, tuple, dict)) else "c"


def _form(x: Any) -> tuple[Any, ...]:
    """What tells a part from others, but for its numbers and its parts."""
    is_constant = _kind_of(x) == "c"
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.tobytes() if is_constant else None
    return type(x), *_items(x), x if is_constant and isinstance(x, _CONSTANTS) else None


def _with(
    tree: Any,
    parts: dict[Place, Any],
    leaf: Callable[[Any, Place], Any],
    late: int,
    place: Place = (),
) -> Any:
    """A report of the same form: some parts are given by their places, `leaf` makes the others.

    late: the serial of a recording, in which parts with names are made when they are read; or 0.
    """
    if place in parts:
        return parts[place]
    items = _items(tree)
    if not items:
        return leaf(tree, place)
    is_row = isinstance(tree, (tuple, list))

    def part(key: Any) -> Any:
        if late and not is_row:
            leaf(tree, place)
        return _with(items[key], parts, leaf, late, (*place, key))

    if is_row:
        if late and not all(type(x) is float for x in tree):  # else they would be nan
            leaf(tree, place)
        return getattr(tree, "_make", type(tree))(map(part, items))
    now = {
        k: part(k) if not late or (*place, k) in parts else _Unread(part, k, late) for k in items
    }
    kind: Any = type(tree)
    return _filled(_reading_class(kind) if late else kind, now)


def _filled(kind: Any, items: dict[Any, Any]) -> Any:
    """A container with names, of a class."""
    made = kind.__new__(kind)
    dict.update(_inside(made), items)
    return made


def _inside(x: Any) -> Any:
    return x if issubclass(type(x), dict) else object.__getattribute__(x, "__dict__")


class _Unread(NamedTuple):
    """Stands where a part is made when it is read."""

    make: Callable[[Any], Any]
    key: Any
    serial: int  # of the recording


@cache
def _reading_class(kind: Any) -> Any:
    """A class of results whose parts are made when they are read."""

    def reading(name: str, is_one: bool) -> Callable[..., Any]:
        def call(self: Any, *args: Any) -> Any:
            inside = _inside(self)
            is_part = is_one and args[0] != "__dict__"
            read = (
                (k, dict.get(inside, k)) for k in (args[:1] if is_part else list(inside.keys()))
            )
            parts = {k: part for k, part in read if type(part) is _Unread}
            found = {k: part.make(part.key) for k, part in parts.items()}
            serial = binding.guards_serial() if binding.is_guarding() else 0
            if serial and any(part.serial != serial for part in parts.values()):
                plain = _filled(kind, {**inside, **found})  # as it is known there alone
                return getattr(plain, name)(*args)
            dict.update(inside, found)
            return getattr(kind, name)(self, *args)

        return call

    one = ("__getitem__", "get", "pop", "setdefault", "__getattribute__")
    is_dict = issubclass(kind, dict)
    methods = {name: reading(name, True) for name in (one[:-1] if is_dict else one[-1:])}
    methods |= {name: reading(name, False) for name in _READING if is_dict}
    if is_dict:  # copies are SciPy's
        methods["__reduce_ex__"] = lambda self, how: _filled(kind, dict(self)).__reduce_ex__(how)
    return type(kind.__name__, (kind,), methods)


# What reads all of a dict. CPython does not go by itself through one with its own `__iter__`.
_READING = ("__eq__", "__ior__", "__iter__", "__ne__", "__or__", "__repr__", "__ror__", "copy",
            "items", "popitem", "values")  # fmt: skip
