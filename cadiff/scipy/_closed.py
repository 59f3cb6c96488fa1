"""Calls of solvers as functions of the numbers with derivatives that stand anywhere in them.

A solver gets functions, and these read numbers from arguments, closures, bounds and objects. Here
a call is taken apart: all numbers with derivatives that it reaches become one vector, theta, and
for any other theta, plain or not, there is the call again, with functions that read its numbers
instead. So SciPy's solver runs on plain floats, and what it finds is a function of one vector, to
which a rule can be given: in all modes, and as a step of programs. This module knows no solver.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from scipy import optimize

from .. import binding
from ..binding import Complex, Dual, Var, carries
from ..operations import arrays
from ..operations.primitives import primitive
from ..operations.replayed import replaced
from ..programs import Program
from ..transforms._base import Transform
from ..transforms._checkpoints import is_set

Function = Callable[..., Any]

LONG_KEY = 4096  # numbers of an array that are compared

# Objects of these have numbers in them, though they belong to libraries, whose objects are left as
# they are otherwise.
_OPENED = (optimize.Bounds, optimize.LinearConstraint, optimize.NonlinearConstraint, Transform)
_LIBRARIES = {*sys.stdlib_module_names, "numpy", "scipy", "pandas", "matplotlib", "cadiff"}
# Functions and modules that are what they are; and what has no parts at all.
_CONSTANT = (BuiltinFunctionType, np.ufunc, ModuleType, primitive, binding.DispatchedFunction)
_LEAVES = (type(None), bool, int, float, complex, str, bytes, np.generic, type)


class rule_of_a_solver(primitive):  # noqa: N801 - a decorator
    """A primitive whose function reads functions beside its arguments: it makes no entries."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._enters = False


class _Slot:
    """Stands where a number was."""

    def __init__(self, k: int) -> None:
        self.k = k


_NUMBERS = (Var, Dual, _Slot)


class Closed:
    """A container with functions in it, by the numbers with derivatives that these reach.

    Attributes
    ----------
    theta : Var, Dual or ndarray, shape (p,)
        All these numbers.
    """

    def __init__(self, tree: Any) -> None:
        self._tree = replaced(tree)
        self._numbers: list[Any] = []
        reach = _Reach(self._numbers)
        self._changed = reach.of(self._tree)
        self._kept = reach.kept
        shapes = [binding.shape(x) for x in self._numbers]
        ends = np.cumsum([math.prod(shape) for shape in shapes], dtype=int)
        self._places = [
            (slice(end - math.prod(shape), end), shape, binding.is_single(x))
            for x, shape, end in zip(self._numbers, shapes, ends.tolist(), strict=True)
        ]
        parts = [arrays.reshape(x, -1) for x in self._numbers]
        self.theta: Any = arrays.concatenate(parts) if parts else np.empty(0)

    @property
    def carries(self) -> bool:
        return carries(self.theta)

    def at(self, theta: Any) -> Any:
        """The container with other numbers: plain ones if theta is plain."""
        numbers = [self._part(theta, *place) for place in self._places]
        by_id = {id(x): y for x, y in zip(self._numbers, numbers, strict=True)}
        return _Exchange(by_id, self._changed).of(self._tree)

    def detached(self) -> Any:
        """The same without the numbers, of which nothing is kept then; theta stays where it is."""
        if any(isinstance(x, Complex) for x in self._kept):
            return self
        slots = [_Slot(k) for k in range(len(self._numbers))]
        by_id = {id(x): slot for x, slot in zip(self._numbers, slots, strict=True)}
        other = copy.copy(self)
        other._tree = _Exchange(by_id, self._changed).of(self._tree)
        other._numbers = slots
        other._changed = _Reach([]).of(other._tree)
        other._kept = []
        del other.theta
        return other

    @functools.cached_property
    def key(self) -> Any:
        """What is equal for calls that differ by theta alone; None where that is not known."""
        try:
            return repr(self._places), _Key().of(self._tree)
        except _UnknownError:
            return None

    @staticmethod
    def _part(theta: Any, place: slice, shape: tuple[int, ...], single: bool) -> Any:
        part = theta[place.start] if shape == () else arrays.reshape(theta[place], shape)
        if isinstance(part, np.generic):
            return np.float32(part) if single else float(part)
        if isinstance(part, np.ndarray):
            part = np.array(part)
        return binding.narrowed(part) if single else part


class Call(Closed):
    """A call of a function of SciPy's, by its arguments' names."""

    def __init__(self, original: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.original = original
        names, self._defaults = _parameters_of(original)
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or given.keys() & kwargs.keys():
            original(*args, **kwargs)  # which says what is wrong
        super().__init__(given | kwargs)

    def run(self, theta: Any) -> Any:
        """What SciPy's function returns for plain numbers."""
        given = self.at(theta)
        with binding.OutsideDifferentiation():
            return self.original(**given)

    def arguments(self, theta: Any) -> dict[str, Any]:
        """All arguments by name, defaults included."""
        return {**self._defaults, **self.at(theta)}


@functools.cache
def _parameters_of(original: Function) -> tuple[list[str], dict[str, Any]]:
    """The names of what is taken by position, and the defaults."""
    parameters = inspect.signature(original).parameters.values()
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return names, {p.name: p.default for p in parameters if p.default is not p.empty}


# Programs of functions, which calls that differ by their numbers alone have in common.
_PROGRAMS: dict[Any, Any] = {}
MOST_PROGRAMS = 64


def program_of(purpose: Any, call: Call, f: Function) -> Any:
    """F, a function that reads nothing but a detached call, as a program."""
    key = None if call.key is None else (purpose, call.original, call.key)
    try:
        found = _PROGRAMS.get(key)
    except TypeError:  # a key of what has no hash
        found = key = None
    if found is None:
        found = Program(f)
        found.be_quiet()
        if key is not None:
            while len(_PROGRAMS) >= MOST_PROGRAMS:
                _PROGRAMS.pop(next(iter(_PROGRAMS)), None)
            _PROGRAMS[key] = found
    return found


def plainly(original: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What SciPy's function returns where nothing carries a derivative."""
    with binding.OutsideDifferentiation():
        return original(*args, **kwargs)


def as_args(args: Any) -> tuple[Any, ...]:
    """What is passed on behind x: one that is no tuple stands alone."""
    return args if isinstance(args, tuple) else (args,)


def unreached(name: str) -> TypeError:
    """Of functions that read numbers from where nobody looks for them."""
    return TypeError(
        f"{name}: its function reads a number with a derivative that stands neither in its "
        "arguments nor in its closure, such as a global variable: pass it by args=, or make the "
        "function where the number is"
    )


# --- walks ---------------------------------------------------------------------------------------


def _children(item: Any) -> list[Any]:
    """What an object consists of, where numbers are looked for."""
    if isinstance(item, (*_LEAVES, *_NUMBERS)):
        return []
    if isinstance(item, np.ndarray):
        return list(item.flat) if item.dtype == object else []
    if isinstance(item, Complex):
        return list(binding.parts_of(item))
    if isinstance(item, functools.partial):
        return [item.func, item.args, item.keywords]
    if isinstance(item, MethodType):
        return [item.__func__, item.__self__]
    if isinstance(item, FunctionType):
        cells = [cell.cell_contents for cell in item.__closure__ or () if is_set(cell)]
        return [*cells, item.__defaults__, item.__kwdefaults__]
    found = binding.opened(item)
    if found is not None:
        return list(found[1])
    return [vars(item)] if _has_parts(item) else []


def _has_parts(item: Any) -> bool:
    """Whether an object has attributes of its own, and belongs to the user."""
    if not isinstance(getattr(item, "__dict__", None), dict):
        return False
    return isinstance(item, _OPENED) or str(type(item).__module__).split(".")[0] not in _LIBRARIES


class _Reach:
    """Finds the numbers, and which objects lead to them: the latter have to be made anew."""

    def __init__(self, numbers: list[Any]) -> None:
        self._numbers = numbers
        self._users: dict[int, list[int]] = {}  # of each object, what consists of it
        self.kept: list[Any] = []  # so that ids stay theirs

    def of(self, tree: Any) -> set[int]:
        self._walk(tree)
        changed: set[int] = set()
        waiting = [id(x) for x in self._numbers]
        while waiting:
            one = waiting.pop()
            if one not in changed:
                changed.add(one)
                waiting += self._users.get(one, ())
        return changed

    def _walk(self, tree: Any) -> None:
        waiting = [tree]
        self._users[id(tree)] = []
        while waiting:
            item = waiting.pop()
            self.kept.append(item)
            if isinstance(item, _NUMBERS):
                self._numbers.append(item)
            for child in _children(item) if _may_reach(item) else ():
                if isinstance(child, _LEAVES):
                    continue
                if id(child) not in self._users:
                    self._users[id(child)] = []
                    waiting.append(child)
                self._users[id(child)].append(id(item))


def _may_reach(item: Any) -> bool:
    """Long lists of plain numbers are not walked."""
    return not isinstance(item, (list, tuple)) or len(item) < 1000 or carries(item)


class _Exchange:
    """Makes objects anew that lead to numbers, with others in their place."""

    def __init__(self, numbers: dict[int, Any], changed: set[int]) -> None:
        self._made = dict(numbers)
        self._changed = changed

    def of(self, item: Any) -> Any:
        if id(item) in self._made:
            return self._made[id(item)]
        if id(item) not in self._changed:
            return item
        if isinstance(item, FunctionType):
            return self._function(item)
        if _has_parts(item) and binding.opened(item) is None:
            return self._object(item)
        made = self._made[id(item)] = self._container(item)
        return made

    def _container(self, item: Any) -> Any:
        children = [self.of(child) for child in _children(item)]
        if isinstance(item, np.ndarray):
            made = np.empty(len(children), dtype=object)
            for k, child in enumerate(children):
                made[k] = child
            plain = not any(isinstance(child, _NUMBERS) for child in children)
            return (made.astype(float) if plain else made).reshape(item.shape)
        if isinstance(item, Complex):
            if carries(children):
                return binding.make_complex(*children)
            return np.asarray(children[0] + 1j * np.asarray(children[1]))[()]
        if isinstance(item, functools.partial):
            return functools.partial(children[0], *children[1], **children[2])
        if isinstance(item, MethodType):
            return MethodType(*children)
        found = binding.opened(item)
        assert found is not None
        return found[0].make(children)

    def _function(self, item: FunctionType) -> FunctionType:
        cells = item.__closure__ or ()
        made = FunctionType(
            item.__code__,
            item.__globals__,
            item.__name__,
            None,
            tuple(CellType() for _ in cells),
        )
        self._made[id(item)] = made
        made.__dict__.update(item.__dict__)
        made.__qualname__ = item.__qualname__
        made.__defaults__ = self.of(item.__defaults__)
        made.__kwdefaults__ = self.of(item.__kwdefaults__)
        for old, new in zip(cells, made.__closure__ or (), strict=True):
            if is_set(old):
                new.cell_contents = self.of(old.cell_contents)
        return made

    def _object(self, item: Any) -> Any:
        made = self._made[id(item)] = object.__new__(type(item))
        made.__dict__.update({name: self.of(part) for name, part in vars(item).items()})
        return made


class _UnknownError(Exception):
    """Of objects that nobody can compare."""


class _Key:
    """Makes of a container what can be compared: functions by their code and closure."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def of(self, item: Any) -> Any:
        if isinstance(item, _LEAVES):
            return type(item), item
        if isinstance(item, _Slot):
            return _Slot, item.k
        if isinstance(item, np.ndarray) and item.dtype != object:
            if item.size > LONG_KEY:
                raise _UnknownError
            return item.dtype.str, item.shape, item.tobytes()
        if id(item) in self._seen:
            return _Key, self._seen[id(item)]
        self._seen[id(item)] = len(self._seen)
        what: Any = type(item)
        if isinstance(item, FunctionType):
            what = item.__code__, id(item.__globals__)
        elif isinstance(item, np.ndarray):
            what = item.shape
        elif isinstance(item, _CONSTANT):
            return _UnknownError, item
        elif not isinstance(item, (functools.partial, MethodType)):
            found = binding.opened(item)
            if found is not None:
                what = type(item), None if found[0].names is None else tuple(found[0].names)
            elif not _has_parts(item):
                raise _UnknownError
        return what, tuple(self.of(child) for child in _children(item))


def numbers_in(tree: Any) -> Iterator[Any]:
    """The numbers with derivatives in a container of containers and functions."""
    found: list[Any] = []
    _Reach(found).of(tree)
    yield from found
