"""Functions, and what they are called with, by the numbers with derivatives that they reach.

A solver gets functions, and these read numbers from arguments, closures, global variables, bounds
and objects. Here that is taken apart: all numbers with derivatives become one vector, theta, and
for any other theta, plain or not, there is the same again, with functions that read its numbers
instead. So a solver runs on plain floats, and what it finds is a function of one vector, to which
a rule can be given: in all modes, and as a step of programs. This module knows no solver.
"""

from __future__ import annotations

import copy
import functools
import math
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from .. import binding
from ..binding import Complex, Dual, Var, callers, carries
from ..operations import arrays
from ..operations.primitives import primitive
from ..operations.replayed import replaced
from ._base import Transform
from ._checkpoints import is_set

Function = Callable[..., Any]

LONG_KEY = 4096  # numbers of an array that are compared

# Objects of these have numbers in them, though they belong to libraries, whose objects are left as
# they are otherwise.
OPENED: list[type] = [Transform]
MIRRORS = ("cadiff.scipy.",)  # packages whose objects are made of numbers with derivatives
_LIBRARIES = {*sys.stdlib_module_names, "numpy", "scipy", "pandas", "matplotlib", "cadiff"}
# Functions and modules that are what they are; and what has no parts at all.
_CONSTANT = (BuiltinFunctionType, np.ufunc, ModuleType, primitive, binding.DispatchedFunction)
# What no variable is called: in global variables, which of them lead to other numbers than usual,
# and the usual ones.
_OTHERS = "of others"
_MEMORY = (list, dict, set, bytearray, deque)  # in which functions keep what they have found
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

    is_of_a_call = True

    def __init__(self, tree: Any) -> None:
        self._tree = replaced(tree)
        self._numbers: list[Any] = []
        reach = _Reach(self._numbers)
        self._live, self._was_live = self._tree, False
        self._changed, self._renewed = reach.of(self._tree)
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
        """The container with other numbers, plain ones if theta is plain, and lists of its own.

        What functions keep for their next call, in a dict or a list, belongs to one theta.
        """
        return self._with(theta, self._tree, self._renewed)

    def live_at(self, theta: Any) -> Any:
        """The same with the lists and dicts that the user has, where no numbers are in them.

        For the call itself, once: replays have no part in what the user's functions note.
        """
        if self._was_live:
            return self.at(theta)
        self._was_live = True
        return self._with(theta, self._live, self._changed)

    def _with(self, theta: Any, tree: Any, changed: set[int]) -> Any:
        numbers = [self._part(theta, *place) for place in self._places]
        by_id = {id(x): y for x, y in zip(self._numbers, numbers, strict=True)}
        return _Exchange(by_id, changed).of(tree)

    def detached(self) -> Any:
        """The same without the numbers, of which nothing is kept then; theta stays where it is."""
        if any(isinstance(x, Complex) for x in self._kept):
            return self
        slots = [_Slot(k) for k in range(len(self._numbers))]
        by_id = {id(x): slot for x, slot in zip(self._numbers, slots, strict=True)}
        other = copy.copy(self)
        other._tree = _Exchange(by_id, self._renewed).of(self._tree)
        other._live = _Exchange(by_id, self._changed).of(self._tree)
        other._numbers = slots
        _, other._renewed = _Reach([]).of(other._tree)
        other._changed, _ = _Reach([]).of(other._live)
        other._kept = []
        del other.theta
        return other

    @functools.cached_property
    def key(self) -> Any:
        """What is equal for calls that differ by theta alone; None where that is not known."""
        return self.key_now()

    def key_now(self) -> Any:
        """The same of what lists and arrays hold now."""
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


def unreached(name: str) -> TypeError:
    """Of functions that read numbers from where nobody looks for them."""
    return TypeError(
        f"{name}: its function reads a number with a derivative that stands neither in its "
        "arguments, nor in its closure, nor in a global variable: pass it as an argument"
    )


class Witness:
    """What a function gave where a solver had ended: for derivatives it has to give it again."""

    def __init__(self, name: str, ask: Callable[[], Any]) -> None:
        self._name, self._ask = name, ask
        self._before = self._answer()

    def _answer(self) -> Any:
        with binding.OutsideDifferentiation():
            return np.array(binding.plain_values(self._ask()))

    def check(self) -> None:
        """Raise RuntimeError if it gives something else now."""
        if binding.is_guarding():  # a program has for good what the function reads
            return
        if not np.array_equal(self._answer(), self._before, equal_nan=True):
            raise RuntimeError(
                f"the function given to {self._name} was another one when it was run again for "
                "the derivative: lists and NumPy arrays that it reads are not to be changed "
                "meanwhile, nor may it draw random numbers"
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
        return [*_own_parts(item), *_globals_of(item).values()]
    if _has_parts(item):
        return list(_attributes(item).values())
    found = binding.opened(item)
    return [] if found is None else list(found[1])


def _has_parts(item: Any) -> bool:
    """Whether an object has attributes of its own, where numbers may be."""
    kind: Any = type(item)
    if _is_users(kind) or isinstance(item, tuple(OPENED)):
        return isinstance(getattr(item, "__dict__", {}), dict)
    return _is_mirrored(kind)


def _is_mirrored(kind: type) -> bool:
    """Whether objects of a class are made of numbers.

    Those that stand for a call of a solver are not, nor are those that are what they are.
    """
    if not str(kind.__module__).startswith(MIRRORS) or issubclass(kind, _OF_C):
        return False
    return not (getattr(kind, "is_of_a_call", False) or getattr(kind, "is_constant", False))


_OF_C: tuple[Any, ...] = (
    *_LEAVES,
    *_MEMORY,
    tuple,
    frozenset,
    np.ndarray,
    BaseException,
    type,
    CodeType,
)


@functools.lru_cache(maxsize=1024)
def _is_users(kind: Any) -> bool:
    """Whether a class is made by a statement of Python's, and of no library that is known."""
    package = str(kind.__module__).split(".")[0]
    is_made = kind.__flags__ & _ON_HEAP and not issubclass(kind, _OF_C)
    return bool(is_made) and package not in _LIBRARIES and not package.startswith("_cython")


_ON_HEAP = 1 << 9  # of the flags of a type


def _attributes(item: Any) -> dict[str, Any]:
    """All that an object has, in a dict or in slots."""
    found = dict(getattr(item, "__dict__", {}))
    kind: Any = type(item)
    for name in _slots_of(kind):
        if hasattr(item, name):
            found[name] = getattr(item, name)
    return found


@functools.lru_cache(maxsize=1024)
def _slots_of(kind: Any) -> tuple[str, ...]:
    members = [(name, each) for base in kind.__mro__ for name, each in vars(base).items()]
    return tuple(name for name, each in members if isinstance(each, MemberDescriptorType))


def _own_parts(function: FunctionType) -> list[Any]:
    """What a function has of its own: its closure, and defaults."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if is_set(cell)]
    return [*cells, function.__defaults__, function.__kwdefaults__]


def _globals_of(function: FunctionType) -> dict[str, Any]:
    """The global variables that a function of the user's may read, by their names."""
    there = function.__globals__
    return {name: there[name] for name in _names_in(function.__code__) if name in there}


@functools.lru_cache(maxsize=1024)
def _names_in(code: CodeType) -> tuple[str, ...]:
    """Those of global variables in code of the user's, and in the functions that it makes."""
    if callers.is_of_library(code.co_filename):
        return ()
    inner = (names for c in code.co_consts if isinstance(c, CodeType) for names in _names_in(c))
    return tuple(dict.fromkeys([*code.co_names, *inner]))


def _is_memory(item: Any) -> bool:
    """Whether a function may keep something in it."""
    if isinstance(item, _MEMORY):
        return True
    kind: Any = type(item)
    return _is_users(kind) and _has_parts(item) and not hasattr(kind, "__del__")


class _Reach:
    """Finds the numbers, and which objects lead to them: the latter have to be made anew."""

    def __init__(self, numbers: list[Any]) -> None:
        self._numbers = numbers
        self._users: dict[int, list[int]] = {}  # of each object, what consists of it
        self._memory: list[int] = []
        self.kept: list[Any] = []  # so that ids stay theirs

    def of(self, tree: Any) -> tuple[set[int], set[int]]:
        """What leads to numbers; and that, with what leads to what functions may write to."""
        self._walk(tree)
        changed = self._leading_to([id(x) for x in self._numbers])
        return changed, changed | self._leading_to(self._memory)

    def _leading_to(self, waiting: list[int]) -> set[int]:
        found: set[int] = set()
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self._users.get(one, ())
        return found

    def _walk(self, tree: Any) -> None:
        waiting = [tree]
        self._users[id(tree)] = []
        while waiting:
            item = waiting.pop()
            self.kept.append(item)
            if isinstance(item, _NUMBERS):
                if not (isinstance(item, Var) and binding.is_stale(item)):  # as in what f notes
                    self._numbers.append(item)
            elif _is_memory(item) and _may_reach(item):
                self._memory.append(id(item))
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
        self._is_inside = False  # of an object of SciPy's, whose code asks floats for a shape

    def of(self, item: Any) -> Any:
        if id(item) in self._made:
            made = self._made[id(item)]
            return np.float64(made) if self._is_inside and type(made) is float else made
        if id(item) not in self._changed:
            return item
        if isinstance(item, FunctionType):
            return self._function(item)
        if type(item) in (list, dict):
            return self._list_or_dict(item)
        if _has_parts(item):
            return self._object(item)
        made = self._made[id(item)] = self._container(item)
        return made

    def _list_or_dict(self, item: Any) -> Any:
        made = self._made[id(item)] = type(item)()  # before its items, which may lead back to it
        if isinstance(made, list):
            made.extend(map(self.of, item))
        else:
            made.update({key: self.of(value) for key, value in item.items()})
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
        return copy.copy(item) if found is None else found[0].make(children)

    def _function(self, item: FunctionType) -> FunctionType:
        cells = item.__closure__ or ()
        read = _globals_of(item)
        changed = [name for name, value in read.items() if id(value) in self._changed]
        there = item.__globals__.copy() if changed else item.__globals__
        closure = tuple(CellType() for _ in cells)
        made = FunctionType(item.__code__, there, item.__name__, None, closure)
        self._made[id(item)] = made
        there.update({name: self.of(read[name]) for name in changed})
        if changed:
            there[_OTHERS] = changed, there.get(_OTHERS, (changed, item.__globals__))[1]
        made.__dict__.update(item.__dict__)
        made.__qualname__ = item.__qualname__
        made.__defaults__ = self.of(item.__defaults__)
        made.__kwdefaults__ = self.of(item.__kwdefaults__)
        for old, new in zip(cells, made.__closure__ or (), strict=True):
            if is_set(old):
                new.cell_contents = self.of(old.cell_contents)
        return made

    def _object(self, item: Any) -> Any:
        kind: Any = type(item)
        made = self._made[id(item)] = object.__new__(kind)
        slots, outside = _slots_of(kind), self._is_inside
        self._is_inside = outside or _is_mirrored(kind)
        for name, part in _attributes(item).items():
            value = self.of(part)
            if name in slots:
                object.__setattr__(made, name, value)
            else:
                made.__dict__[name] = value
        self._is_inside = outside
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
        children = None
        if isinstance(item, FunctionType):
            names, there = item.__globals__.get(_OTHERS, ((), item.__globals__))
            what = item.__code__, id(there), *names
            children = [*_own_parts(item), *map(item.__globals__.__getitem__, names)]
        elif isinstance(item, np.ndarray):
            what = item.shape
        elif isinstance(item, _CONSTANT) or getattr(type(item), "is_constant", False):
            return _UnknownError, item
        elif _has_parts(item):
            what = type(item), *_attributes(item)
        elif not isinstance(item, (functools.partial, MethodType)):
            found = binding.opened(item)
            if found is None:
                raise _UnknownError
            what = type(item), None if found[0].names is None else tuple(found[0].names)
        if children is None:
            children = _children(item)
        return what, tuple(map(self.of, children))


def numbers_in(tree: Any) -> Iterator[Any]:
    """The numbers with derivatives in a container of containers and functions."""
    found: list[Any] = []
    _Reach(found).of(tree)
    yield from found
