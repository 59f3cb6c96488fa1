"""Where f stands at its choices: in its code, and with all it holds beside recorded numbers.

Where f stands alike at two choices of one outcome, it goes on alike: all that it can tell apart is
the same, or a number that is recorded. What it holds is in the variables of its functions. What
cannot be looked into, as an iterator, is never alike. Recordings and loops are not known here.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections import deque
from collections.abc import Iterable
from enum import Enum
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..binding import GuardsTold
from ..binding.callers import is_own_file
from ..transforms._checkpoints import is_set

MOST_STANDINGS = 64  # that a function has at choices in a loop
MOST_PARTS = 256  # of what f holds
MOST_ELEMENTS = 4096  # of an array

_PLAIN = (type(None), bool, int, str, bytes, range, type(...))
_SHOWN = (float, complex, slice, np.generic, np.dtype)  # which equal others, or themselves not
# Of which there is one each.
_BY_NAME: tuple[type, ...] = (type, ModuleType, CodeType, np.ufunc, Enum)
_CONTAINERS = (list, tuple, deque, set, frozenset)
_OF_A_CLASS = 1 << 9  # set in types that class statements have made
_IN_PARTS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_RECORDED = object()


class _ElusiveError(Exception):
    """What f holds cannot be looked into."""


class Standings:
    """Those of a function, in all its recordings, by numbers.

    As a context, in which f is recorded: then `found` has that of each outcome, or is None.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._gives_up = False
        self._outer: FrameType | None = None
        self._n_guards = 0
        self._told: GuardsTold | None = None
        self.found: list[int] | None = None

    def begin(self, codes: Iterable[CodeType]) -> Standings:
        """Have what f is made of, before it is recorded."""
        self._gives_up = self._gives_up or any(map(_goes_on, codes))
        return self

    def __enter__(self) -> None:
        self._n_guards, self.found = 0, None
        if not self._gives_up:
            self.found, self._outer = [], sys._getframe(1)
            self._told = GuardsTold(self._tell)
            self._told.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._told is not None:
            self._told.__exit__(*error)
        self._outer = self._told = None

    def _tell(self, guard: int, n_outcomes: int) -> None:
        if self.found is None:
            return
        is_next, self._n_guards = guard == self._n_guards, guard + 1
        try:
            number = self._numbers.setdefault(self._standing(), len(self._numbers))
        except _ElusiveError:
            number = MOST_STANDINGS
        if number < MOST_STANDINGS and is_next:
            self.found += [number] * n_outcomes
        else:
            self.found = None
            self._gives_up = number >= MOST_STANDINGS

    def _standing(self) -> tuple[Any, ...]:
        found: list[Any] = []
        frame: FrameType | None = sys._getframe(2)
        parts = _Parts()
        while frame is not None and frame is not self._outer:
            code = frame.f_code
            is_own, read, targets = _known_of(code)
            if found or not is_own:
                values, plain = frame.f_locals, []
                for name in read:
                    if name in values:
                        n_recorded, part = parts.n_recorded, parts.of(values[name])
                        if name in targets and parts.n_recorded > n_recorded:
                            raise _ElusiveError  # an iterator has given it
                        if part is not _RECORDED:
                            plain.append((name, part))
                found.append((code, frame.f_lasti, *plain))
            frame = frame.f_back
        return tuple(found)


class _How(Enum):
    """What of a value tells it from others."""

    ITSELF, TEXT, IDENTITY, CLASS, PARTS, NOTHING = range(6)


@functools.lru_cache(1024)
def _how(kind: type) -> _How:
    if kind in _PLAIN:
        return _How.ITSELF
    if issubclass(kind, _SHOWN) and (kind in _SHOWN or kind.__module__.startswith("numpy")):
        return _How.TEXT
    if kind.__module__.partition(".")[0] == "cadiff":
        is_called = any("__call__" in vars(one) for one in kind.__mro__)
        return _How.IDENTITY if is_called else _How.NOTHING
    if issubclass(kind, type):
        return _How.CLASS
    return _How.IDENTITY if issubclass(kind, _BY_NAME) else _How.PARTS


class _Parts:
    """What values hold, as something to compare."""

    def __init__(self) -> None:
        self.n_recorded = 0  # numbers
        self._n = 0
        self._around: list[int] = []

    def of(self, value: Any) -> Any:
        kind: Any = type(value)
        how = _how(kind)
        if how is _How.NOTHING:
            self.n_recorded += 1
            return _RECORDED
        if how is _How.ITSELF:
            return kind, value
        if how is _How.TEXT:
            return kind, repr(value)
        if how is _How.CLASS and "<locals>" in value.__qualname__:
            raise _ElusiveError  # in which f may keep something
        if how is not _How.PARTS:
            return kind, id(value)
        self._n += 1
        if self._n > MOST_PARTS:
            raise _ElusiveError
        if id(value) in self._around:
            return "around", self._around.index(id(value))
        self._around.append(id(value))
        found = kind, *self._within(value)
        self._around.pop()
        return found

    def _all(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return (*map(self.of, values),)

    def _within(self, value: Any) -> tuple[Any, ...]:
        if type(value) is np.ndarray:
            if value.size > MOST_ELEMENTS:
                raise _ElusiveError
            is_of_objects = value.dtype.kind == "O"
            content = self._all(value.ravel()) if is_of_objects else value.tobytes()
            return value.shape, value.dtype.str, content
        if isinstance(value, FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or () if is_set(cell)]
            defaults = value.__defaults__, value.__kwdefaults__, value.__dict__
            return value.__code__, *self._all([*cells, *defaults])
        if isinstance(value, MethodType):
            return self._all((value.__func__, value.__self__))
        if isinstance(value, BuiltinFunctionType):
            return value.__name__, self.of(value.__self__)
        if isinstance(value, functools.partial):
            return self._all((value.func, value.args, value.keywords))
        if type(value) is dict:
            return self._all(value.items())
        if type(value) in _CONTAINERS or isinstance(value, tuple):
            return self._all([*tuple.__iter__(value)] if isinstance(value, tuple) else [*value])
        kinds = type(value).__mro__[:-1]
        if type(value).__dictoffset__ == 0 or not all(k.__flags__ & _OF_A_CLASS for k in kinds):
            raise _ElusiveError
        return self._all(object.__getattribute__(value, "__dict__").items())


def _goes_on(code: CodeType) -> bool:
    """Whether what a code holds outlasts the calls by which f comes to it."""
    is_in_parts = code.co_flags & _IN_PARTS and code.co_name != "<genexpr>"
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return bool(is_in_parts) or code.co_name == "__next__" or any(map(_goes_on, inner))


@functools.lru_cache(1024)
def _known_of(code: CodeType) -> tuple[bool, tuple[str, ...], frozenset[str]]:
    """Whether a code is of this package, its variables that it reads, and those of iterators."""
    read: set[str] = set()
    targets: set[str] = set()
    is_given = False
    for step in dis.get_instructions(code):
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if "LOAD_" in step.opname:
            read.update(name for name in names if isinstance(name, str))
        is_store = step.opname.startswith(("STORE_", "UNPACK_"))
        if is_given and is_store:
            targets.update(name for name in names if isinstance(name, str))
        is_given = step.opname == "FOR_ITER" or (is_given and is_store)
    own = {*code.co_varnames, *code.co_cellvars}
    is_own = is_own_file(code.co_filename)
    return is_own, tuple(sorted(read & own)), frozenset(targets)
