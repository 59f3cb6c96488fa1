"""What a solver says beside its solution: counts, flags, estimates of errors, messages, traces.

A compiled program has it anew in each call: its numbers are results of a primitive, and of all
else a number says whether it is what it was when the function was recorded. What stands under a
name is decided about where the function reads it, so a result of which nothing but x is read is
replayed however often the solver has asked. The items of a tuple are read at once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Iterator
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..operations import arrays
from ..operations.guards import fixed, held
from ..operations.making import innermost
from ..operations.scalars import MOST_INT, anew
from ..transforms._notes import left, rule_of_a_solver

FloatArray = NDArray[np.float64]
Place = tuple[Any, ...]  # keys that lead to a part

_WHOLE = (bool, int, np.bool_, np.integer)
_CONSTANTS = (complex, str, bytes, np.generic, type(None))
UNKNOWN = (
    "it reads {place} of what {name} returns, which a replay does not make again: compute outside "
    "of the function what needs it"
)


class Report:
    """The results of one call of a solver, for all numbers that its problem may read.

    Parameters
    ----------
    name : str
        What the user has called.
    run : callable
        Gives SciPy's result for a plain theta.

    Attributes
    ----------
    first : object
        The result that was found first.
    """

    is_of_a_call = True

    def __init__(self, name: str, run: Callable[[FloatArray], Any]) -> None:
        self.name, self._run = name, run
        self.first: Any = None
        self._last: tuple[bytes, Any] = b"", None
        self._forms: dict[Place, tuple[Any, int]] = {}  # with how many numbers there are

    def run(self, theta: FloatArray) -> Any:
        """The result, which is known until there is another one."""
        outcome = self._run(theta)
        self._last = theta.tobytes(), outcome
        if self.first is None:
            self.first = outcome
        return outcome

    def numbers(self, theta: FloatArray) -> FloatArray:
        """For each part 1 and its numbers; nan for all of them if it has another form."""
        known, outcome = self._last
        if known != theta.tobytes():
            outcome = self.run(theta)
        parts, rows = dict(_parts(outcome)), []
        for place, (form, n) in self._forms.items():
            found, numbers = _taken(parts.get(place))
            rows += [[1.0], numbers] if found == form else [np.full(1 + n, np.nan)]
        return np.concatenate(rows)

    def told(self, theta: Any, made: dict[Place, Any], why: str = "") -> Any:
        """The first result, with other parts at some places.

        Its other floats have no derivative, and say `why` if there is one to ask for.
        """


        def number(x: Any, place: Place) -> Any:
            reason = why.format(_name(place))
            return left(x, theta, why=reason) if why else held(x)

        def as_found(x: Any, place: Place) -> Any:
            is_float = isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")
            return number(x, place) if is_float else x

        primal = innermost(theta)
        if () in made or not (binding.is_guarding() and binding.depends(primal)):
            return _with(self.first, made, as_found)
        read = {place: _taken(x) for place, x in _parts(self.first, made)}
        self._forms = {place: (form, len(numbers)) for place, (form, numbers) in read.items()}
        told = _Told(self.name, _numbers(primal, report=self), self._forms, number)
        return _with(self.first, made, told.part, told.check)


@rule_of_a_solver
def _numbers(theta: FloatArray, *, report: Report) -> FloatArray:
    return report.numbers(theta)


_numbers.defvjp(None)


class _Told:
    """What a recording has of a report: its numbers, of which f may read some."""

    def __init__(
        self, name: str, numbers: Any, forms: dict[Place, Any], number: Callable[[Any, Place], Any]
    ) -> None:
        self._name, self._numbers, self._number = name, numbers, number
        self._serial = binding.guards_serial()
        self._n = {place: n for place, (_, n) in forms.items()}
        ends = accumulate(1 + n for n in self._n.values())
        self._ends = dict(zip(forms, ends, strict=True))

    def _is_known(self, place: Place) -> bool:
        """Whether the recording has numbers of a part, and is under way."""
        is_over = binding.is_stale(self._numbers)
        if is_over or not binding.notes_guards(self._numbers, self._serial):
            binding.note_obstacle(UNKNOWN.format(place=_name(place), name=self._name))
            return False
        return True

    def check(self, x: Any, place: Place) -> None:
        """Have a replay find a part of the same form."""
        is_row = isinstance(x, tuple) and all(type(item) is float for item in x)  # else nan
        if not is_row and self._is_known(place):
            fixed(self._numbers[self._ends[place] - self._n[place] - 1])

    def part(self, x: Any, place: Place) -> Any:
        """What has no parts itself."""
        if not self._is_known(place):
            return x
        end, n = self._ends[place], self._n[place]
        is_array = isinstance(x, np.ndarray)
        if is_array or n == 0:
            self.check(x, place)
        if n:
            found: Any = self._numbers[end - 1]
            if is_array:
                found = arrays.reshape(self._numbers[end - n : end], x.shape)
            is_float = isinstance(x, float) or (is_array and x.dtype.kind == "f")
            return self._number(found, place) if is_float else anew(x, found)
        is_plain = isinstance(x, (*_WHOLE, *_CONSTANTS, dict, list, tuple))
        if not is_plain and getattr(x, "dtype", None) in (None, object):
            binding.note_obstacle(UNKNOWN.format(place=_name(place), name=self._name))
        return x


# --- parts of results ----------------------------------------------------------------------------


def _items(tree: Any) -> dict[Any, Any]:
    """The parts of a container: of a list, of a dict, or of an object that is but a namespace."""
    if isinstance(tree, (tuple, list)):
        return dict(enumerate(tree))
    return tree if isinstance(tree, dict) else vars(tree) if _is_bunch(tree) else {}


def _name(place: Place) -> str:
    return ".".join(map(str, place))


def _is_bunch(x: Any) -> bool:
    return type(x).__name__ == "_Bunch"


def _parts(
    tree: Any, made: Container[Place] = (), place: Place = ()
) -> Iterator[tuple[Place, Any]]:
    """A container and all that is in it, but for some places."""
    if place not in made:
        yield place, tree
        for key, part in _items(tree).items():
            yield from _parts(part, made, (*place, key))


def _taken(part: Any) -> tuple[Any, Any]:
    """What tells a part from others, but for its numbers and its parts; and the numbers."""
    kind: Any = type(part)
    if isinstance(part, float) or (isinstance(part, _WHOLE) and abs(int(part)) < MOST_INT):
        return kind, [float(part)]
    if isinstance(part, np.ndarray):
        form = (part.dtype.str, part.shape)
        if part.dtype == np.float64 or (
            part.dtype.kind in "biu" and np.all(np.abs(part.astype(float)) < MOST_INT)
        ):
            return form, part.astype(float).ravel()
        return (*form, part.tobytes()), []
    if isinstance(part, (*_WHOLE, *_CONSTANTS)):
        return (kind, part), []
    return (kind, tuple(_items(part))), []


def _with(
    tree: Any,
    made: dict[Place, Any],
    leaf: Callable[[Any, Place], Any],
    check: Callable[[Any, Place], None] | None = None,
    place: Place = (),
) -> Any:
    """The same with other parts: at some places what is given, else what `leaf` makes.

    With a `check`, which containers are shown to, what stands under names is made when it is read.
    """
    if place in made:
        return made[place]
    items = _items(tree)
    if not items:
        return leaf(tree, place)
    is_row = isinstance(tree, (tuple, list))

    def part(key: Any) -> Any:
        if check is not None and not is_row:
            check(tree, place)
        return _with(items[key], made, leaf, check, (*place, key))

    if is_row:
        if check is not None:
            check(tree, place)
        return getattr(tree, "_make", type(tree))(map(part, items))
    if check is None:
        other, make = copy.copy(tree), part
    else:
        kind = _late(type(tree))
        other, make = kind.__new__(kind), partial(_Late, part)
    of_other = other if isinstance(other, dict) else object.__getattribute__(other, "__dict__")
    dict.update(of_other, {k: (part if (*place, k) in made else make)(k) for k in items})
    return other


class _Late:
    """Stands where a part is made when it is read."""

    def __init__(self, make: Callable[[Any], Any], key: Any) -> None:
        self.make = partial(make, key)


def _settle(items: dict[Any, Any], *keys: Any) -> None:
    for key in keys:
        part = dict.get(items, key)
        if type(part) is _Late:
            dict.__setitem__(items, key, part.make())


@cache
def _late(kind: Any) -> Any:
    """A class of containers whose parts are made when they are read."""

    def get(self: Any, name: str) -> Any:
        items = object.__getattribute__(self, "__dict__")
        _settle(items, *(items if name == "__dict__" else [name]))
        return object.__getattribute__(self, name)

    def reading(name: str, n_read: int | None) -> Callable[..., Any]:
        def call(self: Any, *args: Any) -> Any:
            _settle(self, *(dict.keys(self) if n_read is None else args[:n_read]))
            return getattr(kind, name)(self, *args)

        return call

    def reduced(self: Any, protocol: Any) -> Any:
        plain = kind.__new__(kind)
        dict.update(plain, self.items())
        return plain.__reduce_ex__(protocol)

    methods: dict[str, Any] = {"__getattribute__": get}
    if issubclass(kind, dict):
        methods = {name: reading(name, 1) for name in ("__getitem__", "get", "pop", "setdefault")}
        methods |= {name: reading(name, None) for name in _READING} | {"__reduce_ex__": reduced}
    return type(kind.__name__, (kind,), methods | {"__module__": kind.__module__})


# Methods of a dict that read all of it. That it has its own way to go through it keeps CPython
# from looking into it by itself.
_READING = ("__iter__", "__eq__", "__ne__", "__or__", "__ror__", "__repr__", "copy", "items",
            "popitem", "values")  # fmt: skip
