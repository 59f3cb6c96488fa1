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
from collections import deque
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Complex, Dual, Var, callers, carries
from ..operations import arrays
from ..operations.primitives import primitive
from ..operations.replayed import Replayed
from ._checkpoints import is_set
from ._objects import (
    LEAVES,
    MEMORY,
    attributes,
    has_parts,
    is_mirrored,
    is_users,
    slots_of,
    written_by_code,
    written_by_methods,
)
from ._outputs import whole
from ._solver_side_effects import READ, Notes, is_left, left, unmarked

Function = Callable[..., Any]

LONG_KEY = 4096  # numbers of an array that are compared

# Functions and modules that are what they are; and what has no parts at all.
_CONSTANT = (BuiltinFunctionType, np.ufunc, ModuleType, primitive, binding.DispatchedFunction)
# What no variable is called: in global variables, which of them lead to other numbers than usual,
# and the usual ones.
_OTHERS = "of others"


class _Slot:
    """Stands where a number was."""

    def __init__(self, k: int) -> None:
        self.k = k


class _Parts(tuple[Any, ...]):
    """Those of a complex number, of which one is a slot at least."""

    __slots__ = ()


_NUMBERS = (Var, Dual, _Slot, Replayed)


class Closed:
    """A container with functions in it, by the numbers with derivatives that these reach.

    Attributes
    ----------
    theta : Var, Dual or ndarray, shape (p,)
        All these numbers.
    """

    is_of_a_call = True

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._numbers: list[Any] = []
        reach = _Reach(self._numbers)
        self._live, self._was_live = self._tree, False
        self._changed, self._renewed, self._frozen = reach.of(self._tree)
        self._memory, self._kept, self._buffers = reach.memory, reach.kept, reach.buffers
        self._written = {k for k, x in enumerate(self._numbers) if id(x) in reach.written}
        shapes = [*map(binding.shape, self._numbers)]
        ends = np.cumsum([math.prod(shape) for shape in shapes], dtype=int)
        self._places = [
            (
                slice(end - math.prod(shape), end),
                shape,
                binding.is_single(x),
                is_left(x),
                _dtype(x),
            )
            for x, shape, end in zip(self._numbers, shapes, ends.tolist(), strict=True)
        ]
        numbers = (x.number if isinstance(x, Replayed) else unmarked(x) for x in self._numbers)
        parts = [arrays.reshape(arrays.as_array(x), -1) for x in numbers]
        self.notes = Notes([], {}, {})
        self.theta: Any = arrays.concatenate(parts) if parts else np.empty(0)

    @property
    def carries(self) -> bool:
        return carries(self.theta)

    @property
    def has_iterators(self) -> bool:
        """Whether functions may ask something for its next item: a copy would be another one.

        Generators of random numbers are asked like that, too.
        """
        kinds, draw = {type(x) for x in self._kept}, ("numpy.random", "random")
        return any(hasattr(x, "__next__") or str(x.__module__).startswith(draw) for x in kinds)

    def at(self, theta: Any) -> Any:
        """The container with other numbers, plain ones if theta is plain, and lists of its own.

        What functions keep for their next call, in a dict or a list, belongs to one theta.
        """
        return self._with(theta, self._tree, self._renewed, is_live=False)

    def live_at(self, theta: Any) -> Any:
        """The same with the lists and dicts that the user has, where no numbers are in them.

        For the call itself, once: replays have no part in what the user's functions note.
        """
        if self._was_live:
            return self.at(theta)
        self._was_live = True
        return self._with(theta, self._live, self._changed, is_live=True)

    def _with(self, theta: Any, tree: Any, changed: set[int], is_live: bool) -> Any:
        numbers = [self._part(theta, *place) for place in self._places]
        for k in () if is_live else self._written:
            numbers[k] = arrays.opened(numbers[k].copy())
        by_id = {id(x): y for x, y in zip(self._numbers, numbers, strict=True)}
        by_id |= self._working(is_live)
        exchange = _Exchange(by_id, changed, is_apart=not is_live)
        exchanged = exchange.of(tree)
        self.notes.watch(is_live, exchange.made)
        return exchanged

    def _working(self, is_live: bool, make: Function = arrays.opened) -> dict[int, Any]:
        """Arrays for functions to write into: copies, or the user's where these are plain."""
        if is_live:
            plain = [x for x in self._buffers if not isinstance(x, np.ndarray)]
            return {id(x): np.array(binding.plain_values(x)) for x in plain}
        return {id(x): make(np.array(binding.plain_values(x))) for x in self._buffers}

    def detached(self) -> Any:
        """The same without the numbers, of which nothing is kept then; theta stays where it is.

        What functions read, of variables, lists, arrays and objects, stays what it is now.
        """
        slots = [_Slot(k) for k in range(len(self._numbers))]
        by_id = {id(x): slot for x, slot in zip(self._numbers, slots, strict=True)}
        other = copy.copy(self)
        working = by_id | self._working(False, np.array)
        asked = _Exchange(working, self._frozen, is_apart=True, freezes=True)
        live = _Exchange(by_id | self._working(True), self._changed, False)
        other._tree, other._live = asked.of(self._tree), live.of(self._tree)
        of_numbers = [self._numbers[k] for k in sorted(self._written)]
        of_numbers += [x for x in self._buffers if not isinstance(x, np.ndarray)]
        places = [*self._memory, *of_numbers]
        other.notes = Notes(places, live.made, asked.made)
        other._numbers = slots
        reach = _Reach([])
        _, other._renewed, _ = reach.of(other._tree)
        other._buffers = reach.buffers
        other._changed, *_ = _Reach([]).of(other._live)
        other._memory, other._kept, other._frozen = [], [], set()
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
    def _part(
        theta: Any,
        place: slice,
        shape: tuple[int, ...],
        single: bool,
        is_unknown: bool,
        dtype: np.dtype[Any] | None,
    ) -> Any:
        part = theta[place.start] if shape == () else arrays.reshape(theta[place], shape)
        if dtype is not None:
            return whole(part, shape, dtype)
        if is_unknown:  # unless a function stores something else before it reads it
            part = left(part, theta, why=READ)
        if isinstance(part, np.generic):
            return np.float32(part) if single else float(part)
        if isinstance(part, np.ndarray):
            part = np.array(part)
        return binding.narrowed(part) if single else part


def unreached(name: str) -> TypeError:
    """Of functions that read numbers from where nobody looks for them."""
    return TypeError(
        f"{name}: its function reads a number with a derivative that stands neither in its "
        "arguments (which slices are not), nor in its closure, nor in a global variable: pass it "
        "as an argument, or cadiff.value of it"
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
                "the derivative: what it reads from modules and classes is not to be changed "
                "meanwhile, nor may it read files or draw random numbers"
            )


def check(witness: Witness | None) -> None:
    """Ask a witness, if there is one yet: in a replay, which gives up if it raises, there is."""
    if witness is not None:
        witness.check()


# --- walks ---------------------------------------------------------------------------------------


def _children(item: Any) -> list[Any]:
    """What an object consists of, where numbers are looked for."""
    if isinstance(item, (*_NUMBERS, *LEAVES)):
        return []
    if isinstance(item, np.ndarray):
        return list(item.flat) if item.dtype == object else []
    if isinstance(item, CellType):
        return [item.cell_contents] if is_set(item) else []
    if isinstance(item, Complex):
        return list(binding.parts_of(item))
    if isinstance(item, (_Parts, deque)):
        return list(item)
    if isinstance(item, functools.partial):
        return [item.func, item.args, item.keywords]
    if isinstance(item, MethodType):
        return [item.__func__, item.__self__]
    if isinstance(item, BuiltinFunctionType):  # such as trace.append
        return [item.__self__] if isinstance(item.__self__, MEMORY) else []
    if isinstance(item, FunctionType):
        return [*_own_parts(item), *_globals_of(item).values()]
    if has_parts(item):
        return list(attributes(item).values())
    opened = binding.opened(item)
    return [] if opened is None else list(opened[1])


def _own_parts(function: FunctionType) -> list[Any]:
    """What a function has of its own: its closure, defaults, and attributes."""
    parts = [*(function.__closure__ or ()), function.__defaults__, function.__kwdefaults__]
    return [*parts, *function.__dict__.values()]


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


def _written_by(function: FunctionType) -> tuple[list[Any], list[Any]]:
    """Where a function stores something beside its arguments, and what may be stored in."""
    names, there = written_by_code(function.__code__), function.__globals__
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    around = [cell for name, cell in cells if name in names]
    read = [there[name] for name in names if name in there]
    places: list[Any] = [*around, function] if read else around
    return places, [*read, *(cell.cell_contents for cell in around if is_set(cell))]


def _dtype(x: Any) -> np.dtype[Any] | None:
    """That of integers and bools which a replay computes anew; None: it is a float."""
    dtype = np.asarray(x._plain).dtype if isinstance(x, Replayed) else None
    return None if dtype is None or dtype.kind == "f" else dtype


def _is_buffer(item: Any) -> bool:
    if isinstance(item, np.ndarray):
        return item.dtype.kind == "f" and item.flags.writeable
    if not isinstance(item, (Var, Dual)) or item.ndim == 0 or binding.depends(item):
        return False
    return binding.plain_constants((item,)) is not None


def _is_copied(item: Any) -> bool:
    """Whether it is an array that may change, and whose memory there is twice."""
    if not isinstance(item, np.ndarray) or isinstance(item, np.memmap):
        return False
    return item.size <= LONG_KEY or 0 not in item.strides


# Copies of long arrays by the ids of these, which calls have in common.
_COPIES: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()


def _copy_of(array: NDArray[Any]) -> NDArray[Any]:
    """The array as it is now."""
    copied = _COPIES.get(id(array))
    if copied is None or not _are_equal(copied, array):
        copied = array.copy("K")
        if array.size > LONG_KEY:
            _COPIES[id(array)] = copied
    return copied


def _are_equal(x: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether two arrays have the same bits."""
    if type(x) is not type(y) or (x.dtype, x.shape) != (y.dtype, y.shape):
        return False
    if x.dtype.kind in "biuf" and x.itemsize <= 8:  # without copies
        x, y = (np.asarray(a).view(f"u{a.itemsize}") for a in (x, y))
        return np.array_equal(x, y)
    return x.tobytes() == y.tobytes()


def _is_memory(item: Any) -> bool:
    """Whether a function may keep something in it."""
    if isinstance(item, MEMORY):
        return True
    kind: Any = type(item)
    return is_users(kind) and has_parts(item) and not hasattr(kind, "__del__")


class _Reach:
    """Finds the numbers, and which objects lead to them: the latter have to be made anew."""

    def __init__(self, numbers: list[Any]) -> None:
        self._numbers = numbers
        self._users: dict[int, list[int]] = {}  # of each object, what consists of it
        self.memory: list[Any] = []  # in which functions may store something
        self._read: list[Any] = []  # what else may change, which functions read
        self.buffers: list[Any] = []  # arrays of constants into which functions write
        self.written: set[int] = set()  # ids of all arrays of numbers into which they may write
        self._known: list[Any] = []  # what may be such
        self._names: frozenset[str] = frozenset()  # of it, where it belongs to objects
        self.kept: list[Any] = []  # so that ids stay theirs

    def of(self, tree: Any) -> tuple[set[int], set[int], set[int]]:
        """What leads to numbers; or to what functions write to, too; or to what may change."""
        self._walk(tree)
        self._find_buffers()
        held = [x for x in self.buffers if not isinstance(x, np.ndarray)]
        changed = self._leading_to([id(x) for x in [*self._numbers, *held]])
        renewed = changed | self._leading_to([id(x) for x in [*self.memory, *self.buffers]])
        return changed, renewed, renewed | self._leading_to([*map(id, self._read)])

    def _find_buffers(self) -> None:
        """Arrays of constants that functions write into, as far as lines of code tell."""
        objects = [x for x in self.memory if not isinstance(x, (*MEMORY, CellType, FunctionType))]
        kinds: set[Any] = {type(item) for item in objects}
        names = self._names.union(*map(written_by_methods, kinds))
        reached = self._known
        for item in objects if names else ():
            reached += [x for name, x in attributes(item).items() if name in names]
        self.written = {id(x) for x in reached if isinstance(x, (Var, Dual)) and x.ndim > 0}
        is_buffer = {id(x): x for x in reached if _is_buffer(x)}
        self.buffers = [*is_buffer.values()]
        self._numbers[:] = [x for x in self._numbers if id(x) not in is_buffer]

    def _leading_to(self, waiting: list[int]) -> set[int]:
        leading: set[int] = set()
        while waiting:
            one = waiting.pop()
            if one not in leading:
                leading.add(one)
                waiting += self._users.get(one, ())
        return leading

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
                self.memory.append(item)
            elif isinstance(item, FunctionType):
                self._names |= written_by_code(item.__code__)
                places, known = _written_by(item)
                self.memory += places
                self._known += known
                if _globals_of(item):
                    self._read.append(item)
            elif isinstance(item, CellType) or _is_copied(item) or not _may_reach(item):
                self._read.append(item)
            for child in _children(item) if _may_reach(item) else ():
                if isinstance(child, LEAVES) and not isinstance(child, Replayed):
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

    def __init__(
        self, numbers: dict[int, Any], changed: set[int], is_apart: bool, freezes: bool = False
    ) -> None:
        self.made = dict(numbers)
        self._is_apart = is_apart  # so that functions store nothing in global variables
        self._freezes = freezes  # so that functions read global variables as they are now
        self._changed = changed
        self._is_inside = False  # of an object of SciPy's, whose code asks floats for a shape

    def of(self, item: Any) -> Any:
        if id(item) in self.made:
            copied = self.made[id(item)]
            return np.float64(copied) if self._is_inside and type(copied) is float else copied
        if id(item) not in self._changed:
            return item
        if isinstance(item, FunctionType):
            return self._function(item)
        if type(item) in (list, dict, deque):
            return self._list_or_dict(item)
        if has_parts(item):
            return self._object(item)
        copied = self.made[id(item)] = self._container(item)
        return copied

    def _list_or_dict(self, item: Any) -> Any:
        copied = self.made[id(item)] = item.copy()  # before its items, which may lead back to it
        if isinstance(item, dict):
            copied.update({key: self.of(value) for key, value in item.items()})
        elif _may_reach(item):
            copied.clear()
            copied.extend(map(self.of, item))
        return copied

    def _container(self, item: Any) -> Any:
        if isinstance(item, np.ndarray) and item.dtype != object:
            return _copy_of(item)
        children = [self.of(child) for child in _children(item)]
        if isinstance(item, np.ndarray):
            items = np.empty(len(children), dtype=object)
            for k, child in enumerate(children):
                items[k] = child
            are_numbers = any(isinstance(x, _NUMBERS) for x in item.flat)
            plain = are_numbers and not any(isinstance(child, _NUMBERS) for child in children)
            return (items.astype(float) if plain else items).reshape(item.shape)
        if isinstance(item, (Complex, _Parts)):
            if any(isinstance(child, _Slot) for child in children):
                return _Parts(children)
            if carries(children):
                return binding.make_complex(*children)
            return np.asarray(children[0] + 1j * np.asarray(children[1]))[()]
        if isinstance(item, functools.partial):
            return functools.partial(children[0], *children[1], **children[2])
        if isinstance(item, MethodType):
            return MethodType(*children)
        if isinstance(item, BuiltinFunctionType):
            return getattr(children[0], item.__name__)
        opened = binding.opened(item)
        return copy.copy(item) if opened is None else opened[0].make(children)

    def _changes(self, value: Any) -> bool:
        return id(value) in self._changed or (self._freezes and isinstance(value, LEAVES))

    def _function(self, item: FunctionType) -> FunctionType:
        cells = item.__closure__ or ()
        read = _globals_of(item)
        changed = [name for name, value in read.items() if self._changes(value)]
        there = item.__globals__
        if changed or (self._is_apart and written_by_code(item.__code__) & there.keys()):
            there = self.made.setdefault(id(there), there.copy())
        new = [x for x in cells if id(x) in self._changed and id(x) not in self.made]
        self.made.update({id(cell): CellType() for cell in new})
        closure = tuple(self.made.get(id(cell), cell) for cell in cells)
        copied = FunctionType(item.__code__, there, item.__name__, None, closure)
        self.made[id(item)] = copied
        there.update({name: self.of(read[name]) for name in changed})
        if there is not item.__globals__:
            there[_OTHERS] = changed, there.get(_OTHERS, (changed, item.__globals__))[1]
        copied.__dict__.update((name, self.of(value)) for name, value in vars(item).items())
        copied.__qualname__ = item.__qualname__
        copied.__defaults__ = self.of(item.__defaults__)
        copied.__kwdefaults__ = self.of(item.__kwdefaults__)
        for cell in filter(is_set, new):
            self.made[id(cell)].cell_contents = self.of(cell.cell_contents)
        return copied

    def _object(self, item: Any) -> Any:
        kind: Any = type(item)
        copied = self.made[id(item)] = object.__new__(kind)
        slots, outside = slots_of(kind), self._is_inside
        self._is_inside = outside or is_mirrored(kind)
        for name, part in attributes(item).items():
            value = self.of(part)
            if name in slots:
                object.__setattr__(copied, name, value)
            else:
                copied.__dict__[name] = value
        self._is_inside = outside
        return copied


class _UnknownError(Exception):
    """Of objects that nobody can compare."""


class _Key:
    """Makes of a container what can be compared: functions by their code and closure."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def of(self, item: Any) -> Any:
        if isinstance(item, LEAVES):
            return type(item), item
        if isinstance(item, _Slot):
            return _Slot, item.k
        if isinstance(item, np.ndarray) and item.dtype != object:
            if item.size > LONG_KEY and _is_copied(item):  # calls have copies in common
                return np.ndarray, id(item)
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
        elif has_parts(item):
            what = type(item), *attributes(item)
        elif not isinstance(item, (functools.partial, MethodType, CellType, _Parts)):
            opened = binding.opened(item)
            if opened is None:
                raise _UnknownError
            what = type(item), None if opened[0].names is None else tuple(opened[0].names)
        if children is None:
            children = _children(item)
        return what, tuple(map(self.of, children))


def numbers_in(tree: Any) -> Iterator[Any]:
    """The numbers with derivatives in a container of containers and functions."""
    found: list[Any] = []
    _Reach(found).of(tree)
    yield from found
