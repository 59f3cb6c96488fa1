"""What the code of a function reads, changes, keeps and asks beside its arguments.

A reader follows the steps of the code (see binding/bytecode.py) once. It knows of each value on
the stack whether that is a chain of names such as `settings.rate`, a constant, or a part of
another value. It reads functions that are written within the code in their turn. This module runs
nothing, and does not know what names stand for.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from ..binding.bytecode import Kind, Step, raises_at, steps_of

Chain = tuple[str, ...]


# --- values on the stack -------------------------------------------------------------------------


class Operand(NamedTuple):
    """A name and attributes of it; where that name is: "globals", "cells", "first" or "own".

    The chain of the first argument has its attributes alone. "results" is what a function of the
    globals gives that gets no arguments; "own" is a variable of the code.
    """

    where: str
    chain: Chain


class Constant(NamedTuple):
    """A constant of the code, or what is like one for those who ask whether it is the same."""

    value: Any


class Part(NamedTuple):
    """An attribute of a value that is no operand, by its name; or an item, by its key."""

    owner: Any
    key: Any


class Computed(NamedTuple):
    """What arithmetic makes of a value and a constant, or of what is not known; and a pickle."""

    of: Any


_A_TYPE = object()  # of a value, as `type` says it


def _attribute(owner: Any, name: str) -> Any:
    if not isinstance(owner, Operand):
        return Part(owner, name)
    return owner if owner.where == "results" else Operand(owner.where, (*owner.chain, name))


def _root(value: Any) -> Any:
    """What a value is a part of."""
    while isinstance(value, Part):
        value = value.owner
    return value


def _is_counted(value: Any, place: Any) -> bool:
    """Whether a place gets a constant, or one more than it had."""
    return isinstance(value, Constant) or (isinstance(value, Computed) and value.of == place)


# --- what is found -------------------------------------------------------------------------------


class Identity(NamedTuple):
    """A question whether objects are the same ones: `is`, `is not`, `id`.

    A recording has stand-ins for numbers, arrays and containers among the arguments of f, and its
    replays have nothing that could be the same as something. So it matters what is compared: None,
    classes and objects that have no stand-ins are told from everything else in a recording, too.
    An operand is None if it has no name outside of the code, as an argument.
    """

    what: str
    line: int
    operands: tuple[Operand | None, ...]


class Import(NamedTuple):
    """`import module`, or `from module import name`; `level` counts the dots before the module."""

    level: int
    module: str
    name: str = ""


@dataclass
class Reads:
    """What some code does, with the functions that are written within it."""

    # That it reads, and the line in which it does first: globals, cells, then the first argument
    chains: dict[Operand, int] = field(default_factory=dict)
    imports: set[Import] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)  # globals and cells, or parts of them
    may_keep: bool = False  # what it computes, where that stays, for all that is known
    counted: str = ""  # what it adds a constant to whatever happens, of what is not its own
    handed: set[Operand] = field(default_factory=set)  # variables, for more than their attributes
    asks_types: bool = False  # of its arguments, or of what it computes
    asks_attributes: bool = False  # whether these have some, or are scalars
    catches: bool = False  # exceptions of some class
    catches_all: bool = False  # or whatever they are
    identities: list[Identity] = field(default_factory=list)  # that a stand-in may change
    types: list[Operand | None] = field(default_factory=list)  # that those of values may be
    calls: set[Operand] = field(default_factory=set)  # that are called with nothing
    names: set[str] = field(default_factory=set)  # all names, and all strings
    has_functions: bool = False  # that are written within it
    begins_outside: bool = False  # whether anything is read but the first argument

    def add(self, inner: Reads, code: CodeType) -> None:
        """Add what a function does that is written within some code."""
        for operand, line in inner.chains.items():
            if (outside := _outside(code, operand)) is not None:
                self.chains.setdefault(outside, line)
        for mine, theirs in ((self.calls, inner.calls), (self.handed, inner.handed)):
            mine.update(outside for x in theirs if (outside := _outside(code, x)) is not None)
        for identity in inner.identities:
            operands = tuple(_outside(code, operand) for operand in identity.operands)
            self.identities.append(identity._replace(operands=operands))
        self.types += [_outside(code, operand) for operand in inner.types]
        self.imports |= inner.imports
        self.changes |= inner.changes
        self.names |= inner.names
        self.may_keep |= inner.may_keep
        self.asks_types |= inner.asks_types
        self.asks_attributes |= inner.asks_attributes
        self.catches |= inner.catches
        self.catches_all |= inner.catches_all
        self.has_functions = True


# Methods of containers that change them.
_CHANGES = frozenset(
    (
        *("append", "extend", "add", "insert", "clear", "appendleft", "discard"),
        *("update", "pop", "popitem", "popleft", "remove", "sort", "reverse"),
        *("extendleft", "rotate", "fill", "put", "itemset", "partition", "byteswap"),
    )
)
# What asks for attributes of so many arguments, and gets an answer if there are none.
_OF_ATTRIBUTES = (("hasattr", 2), ("getattr", 3), *((x, 1) for x in ("dir", "vars", "isscalar")))
_FLOATS = ("float", "float64", "floating", "inexact", "number", "generic", "Real", "Number")
_LASTING = (type(None), bool, type(...), str, bytes)  # constants of code that no stand-in is for
_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_OUTSIDE = ("globals", "cells")
_READ = ("globals", "cells", "first")
_ID, _TYPE, _IS_INSTANCE = (Operand("globals", (x,)) for x in ("id", "type", "isinstance"))
_MOVES = (Kind.COPY, Kind.SWAP)
_COMPARISONS = (Kind.IS, Kind.COMPARE)


class _Reader:
    """Follows the steps of some code. On its stack None is no value, but what marks calls."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.stack: list[Any] = []
        self.found = Reads()
        # Where functions that ask something of their arguments are loaded; those also called
        self.asking: dict[Any, list[Step]] = {_ID: [], _TYPE: [], _IS_INSTANCE: []}
        self.asked: list[Step] = []
        self._chain: Operand | None = None  # that goes on with the next attribute
        self._begun = 0  # the line in which it is loaded
        self._import: Import | None = None  # from which names are taken
        self._float = -1  # where the name of a type of floats is met last
        self._is_sure = not code.co_flags & _LATER  # that whatever comes is run
        self._is_handler = False  # which has not asked for a class yet
        self._kept: dict[int, list[Any]] = {}  # stacks at the targets of jumps
        self._is_reached = True  # by the step before
        self._is_told = False  # a type goes somewhere, perhaps to what is raised next

    def follow(self, end: int | None = None) -> Step | None:
        """Follow all steps, or those up to an offset; the step that is there."""
        for step in steps_of(self.code):
            if step.offset == end is not None:
                return step
            self._arrive(step)
            if step.kind is Kind.NOTHING:
                self._note_types(step, self._pop(step.pops))
                self.stack += [None] * step.pushes
                continue
            self._end_chain(step)
            self._note_handler(step)
            if step.kind in _MOVES:
                self._move(step)
                continue
            popped = self._pop(step.pops)
            is_owner = step.kind in (Kind.ATTRIBUTE, Kind.STORE_ATTRIBUTE)
            for value in popped[:-1] if is_owner else popped:
                self._hand(value)
            self._note_types(step, popped)
            pushed = self._do(step, popped)
            is_callee = step.kind in (Kind.NAME, Kind.ATTRIBUTE)
            rest = step.pushes - len(pushed)
            self.stack += [None if is_callee else object() for _ in range(rest)] + pushed
        return None

    # --- the stack

    def _arrive(self, step: Step) -> None:
        """Where steps come together that is known in which all of them agree."""
        came = self._kept.pop(step.offset, None)
        if came is not None:
            self.found.asks_types |= self._is_told
        if not self._is_reached:
            self.stack = came or []  # what handlers find is not known
        elif came is not None:
            self.stack = self._merged(self.stack, came)
        self._is_reached = not step.ends
        if step.jump is not None:
            target, grows = step.jump
            left = self.stack[:grows] if grows < 0 else self.stack
            left = [*left, *(object() for _ in range(grows))]
            self._kept[target] = self._merged(left, self._kept.get(target, left))
        self._is_sure = self._is_sure and step.jump is None and not step.ends

    def _merged(self, one: list[Any], other: list[Any]) -> list[Any]:
        """What is known of a stack that is one of two."""
        n = min(len(one), len(other))
        pairs = zip(one[len(one) - n :], other[len(other) - n :], strict=True)
        merged = [a if a == b else object() for a, b in pairs]
        for value in (*one, *other):
            if value not in merged:
                self._hand(value)
                self.found.asks_types |= value is _A_TYPE
        return merged

    def _need(self, n: int) -> None:
        self.stack[:0] = [object() for _ in range(n - len(self.stack))]

    def _pop(self, n: int) -> list[Any]:
        self._need(n)
        popped = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        return popped

    def _move(self, step: Step) -> None:
        n = step.argument
        self._need(n)
        if step.kind is Kind.COPY:
            self.stack.append(self.stack[-n])
        else:
            self.stack[-1], self.stack[-n] = self.stack[-n], self.stack[-1]

    # --- what steps tell together

    def _end_chain(self, step: Step) -> None:
        """A chain of names is read up to the first step that asks for no attribute."""
        if self._chain is None:
            return
        if step.kind is Kind.ATTRIBUTE:
            self._chain = _attribute(self._chain, step.argument)
            return
        if step.kind in (Kind.STORE_ATTRIBUTE, Kind.DELETE_ATTRIBUTE):
            self._chain = _attribute(self._chain, step.argument)
        self.found.chains.setdefault(self._chain, self._begun)
        if step.kind is Kind.CALL and step.argument == 0:
            self.found.calls.add(self._chain)
        self._chain = None

    def _note_handler(self, step: Step) -> None:
        """Of the class of an exception it is asked before anything is dropped or stored."""
        if step.kind is Kind.HANDLER:
            self._is_handler = True
        elif self._is_handler and step.kind in (Kind.MATCH, Kind.RERAISE):
            self._is_handler = False
        elif self._is_handler and step.kind not in _MOVES and step.pushes == 0:
            # But for the name of an exception, which is cleared before that goes on.
            is_own = step.kind in (Kind.STORE, Kind.DELETE) and step.where not in _OUTSIDE
            self._is_handler = is_own
            self.found.catches_all |= not is_own

    def _hand(self, value: Any) -> None:
        if isinstance(value, Operand) and len(value.chain) == (value.where != "first"):
            self.found.handed.add(value)

    def _note_types(self, step: Step, popped: list[Any]) -> None:
        """The type of a value is compared with a class that has a name, or goes anywhere.

        If it is called, stand-ins raise; where an exception is raised next, it may be told of it.
        """
        others = [value for value in popped if value is not _A_TYPE]
        if len(others) < len(popped):
            if step.kind in _COMPARISONS and len(others) == 1:
                self.found.types.append(_outer(others[0]))
            else:
                first = next(value for value in popped if value is not None)
                is_called = step.kind is Kind.CALL and first is _A_TYPE
                self._is_told |= not is_called or len(popped) - len(others) > 1
        if self._is_told and (step.jump is not None or step.ends):
            self.found.asks_types |= not raises_at(self.code, step.offset)
            self._is_told = False

    # --- what single steps do

    def _do(self, step: Step, popped: list[Any]) -> list[Any]:
        """What a step pushes, as far as it is known."""
        kind, argument = step.kind, step.argument
        if kind is Kind.NAME:
            return [self._load(step)]
        if kind is Kind.CONSTANT:
            self._note_float(step)
            return [Constant(argument)]
        if kind is Kind.ATTRIBUTE:
            self._note_float(step)
            if argument in _CHANGES:
                self.found.may_keep = True
                self._change(popped[-1])
            return [_attribute(popped[-1], argument)]
        if kind is Kind.ITEM:
            return [Part(popped[0], popped[1])]
        if kind is Kind.ARITHMETIC:
            return [Computed(popped[0] if isinstance(popped[1], Constant) else object())]
        if kind is Kind.IS:
            self._ask("is", step.line, popped)
        elif kind is Kind.CALL:
            return self._call(argument, [value for value in popped if value is not None])
        elif kind is Kind.IMPORT:
            imported = Import(popped[0].value, argument)
            self._import = None if popped[1] == Constant(None) else imported
            if self._import is None:  # else names are taken from it
                self.found.imports.add(imported)
        elif kind is Kind.IMPORT_FROM and self._import is not None:
            self.found.imports.add(self._import._replace(name=argument))
        elif kind is Kind.MATCH:
            self.found.catches = True
        elif kind is Kind.PATTERN:
            self.found.asks_types |= self._float >= 0
        elif kind in (Kind.STORE, Kind.DELETE):
            if step.where in _OUTSIDE:
                place = Operand(step.where, (argument,))
                self.found.chains.setdefault(place, step.line)
                self._store(place, popped, argument)
            elif step.where == "class":
                self.found.may_keep = True
        elif kind in (Kind.STORE_ATTRIBUTE, Kind.DELETE_ATTRIBUTE):
            name = argument if popped[-1] == Operand("first", ()) else ""
            self._store(_attribute(popped[-1], argument), popped[:-1], name)
        elif kind in (Kind.STORE_ITEM, Kind.DELETE_ITEM):
            *value, owner, key = popped
            self._store(Part(owner, key), value, "")
        return []

    def _load(self, step: Step) -> Operand:
        value = Operand(step.where, () if step.where == "first" else (step.argument,))
        if step.where in _READ:
            self._chain, self._begun = value, step.line
        if value in self.asking:
            self.asking[value].append(step)
        self._note_float(step)
        return value

    def _note_float(self, step: Step) -> None:
        if isinstance(step.argument, str) and step.argument in _FLOATS:
            self._float = step.offset

    def _call(self, n: int, values: list[Any]) -> list[Any]:
        """Of what marks no call a value; then come the arguments, perhaps their names."""
        callee, arguments = values[0], values[1 : n + 1]
        if n > 0 and isinstance(callee, Operand) and callee.chain[-1:]:
            is_asked = callee.where == "globals" and (callee.chain[-1], n) in _OF_ATTRIBUTES
            self.found.asks_attributes |= is_asked and not self._is_own(arguments[0])
        if callee in self.asking:
            loaded = self.asking[callee][-1]
            self.asked.append(loaded)
            if callee == _ID and n == 1:
                self._ask("id", loaded.line, arguments)
            # What is taken of an array by a stand-in is no float, as it is of a plain one.
            if callee == _IS_INSTANCE and self._float > loaded.offset:
                self.found.asks_types = True
        if callee == _TYPE:
            if n == 1 and self._is_receiver(arguments[0]):
                return [Constant(None)]
            self.found.asks_types |= n != 1  # and makes a class
            return [_A_TYPE]
        if isinstance(callee, Operand) and callee.chain[-1:] == ("dumps",):
            return [Computed(callee)]
        is_named = isinstance(callee, Operand) and callee.where in ("globals", "results")
        return [Operand("results", ())] if n == 0 and is_named else []

    def _is_receiver(self, value: Any) -> bool:
        """Whether it is the object that a method is of, or a part of it."""
        first = self.code.co_varnames[0] if value == Operand("first", ()) else ""
        return not {first, *getattr(value, "chain", ())}.isdisjoint(("self", "cls"))

    def _is_own(self, value: Any) -> bool:
        """Whether it is no argument, nor what is computed of them."""
        value = _root(value)
        where = value.where if isinstance(value, Operand) else ""
        is_part = where == "first" and self.code.co_varnames[0] in ("self", "cls")
        return is_part or where in _OUTSIDE or isinstance(value, Constant)

    def _ask(self, what: str, line: int, values: list[Any]) -> None:
        for value in values:
            names = value.chain if isinstance(value, Operand) else ()
            names = (value.key,) if isinstance(value, Part) else names
            if "__class__" in names[-1:]:
                return
            is_lasting = isinstance(value, Constant) and isinstance(value.value, _LASTING)
            if is_lasting or value is _A_TYPE:
                return
        self.found.identities.append(Identity(what, line, tuple(map(_outer, values))))

    def _change(self, value: Any) -> None:
        root = _root(value)
        if isinstance(root, Operand) and root.where in _OUTSIDE:
            self.found.changes.add(root.chain[0])

    def _store(self, place: Any, values: list[Any], name: str) -> None:
        """Note what is changed, by a value or by its deletion; `name` is that of a counter."""
        self._change(place)
        if not values or not _is_counted(values[0], place):
            self.found.may_keep = True
        elif isinstance(values[0], Computed) and self._is_sure:
            self.found.counted = self.found.counted or name


def _outer(value: Any) -> Operand | None:
    """A value as others name it; None if they do not."""
    is_named = isinstance(value, Operand) and value.where != "own"
    return value if is_named else None


def _outside(code: CodeType, operand: Operand | None) -> Operand | None:
    """What is named in a function within some code, as that code names it."""
    if operand is None or operand.where in ("globals", "results"):
        return operand
    if operand.where != "cells":  # an argument of the inner function
        return None
    name, *rest = operand.chain
    if name in code.co_freevars:
        return operand
    is_first = code.co_argcount and name == code.co_varnames[0]
    return Operand("first", tuple(rest)) if is_first else None


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """What some code does, and the functions that are written within it."""
    reader = _Reader(code)
    reader.follow()
    reads, first = reader.found, Operand("first", ())
    handed_on = {
        callee: [step.line for step in steps if step not in reader.asked]
        for callee, steps in reader.asking.items()
    }
    reads.identities += [Identity("id", line, (None,)) for line in handed_on[_ID]]
    reads.asks_types |= bool(handed_on[_TYPE])
    if "super" in code.co_names:  # which finds the first argument without its name
        reads.chains.setdefault(first, code.co_firstlineno)
        reads.handed.add(first)
    reads.names.update(code.co_names, (x for x in code.co_consts if isinstance(x, str)))
    for part in code.co_consts:
        if isinstance(part, CodeType):
            reads.add(reads_of(part), code)
    reads.chains = dict(
        sorted(reads.chains.items(), key=lambda item: (_READ.index(item[0].where), item[0]))
    )
    reads.begins_outside = bool(reads.imports) or any(x.where != "first" for x in reads.chains)
    return reads


def last_argument(code: CodeType, offset: int) -> Any:
    """What the call at an offset gets last, as far as it is known."""
    reader = _Reader(code)
    step = reader.follow(offset)
    if step is None or step.kind is not Kind.CALL:
        return None
    operands = [value for value in reader._pop(step.pops) if value is not None]
    return operands[step.argument] if step.argument else None
