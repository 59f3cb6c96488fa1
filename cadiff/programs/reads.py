"""What a function reads beside its arguments: names of modules, closures, attributes, containers.

Found in the code of the function and of those that it names, without running it: chains such as
`settings.rate`, which begin at a global, at a cell, or at the object that a method belongs to.
What a chain comes to is looked into as a whole, and functions in it are read in their turn. Code
of installed libraries is not. This module does not know what is recorded; `Watch` keeps what it
finds.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import operator
import os
import sys
import threading
from array import array
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple
from weakref import ProxyTypes, ReferenceType

import numpy as np

from ..binding import MISSING, Dual, Var, Watch, WeakMethod, are_opened, opened, own_attribute
from ..binding.callers import is_class_of_library, is_module_of_library, is_of_library
from ..operations.primitives import primitive
from ..operations.replayed import Replayed
from .identities import ATTRIBUTES, Identity, Operand, Step, identities_of, steps_of

__all__ = ["AsGiven", "UnwatchableError", "is_table", "watch_call"]

MOST_PLACES = 20_000
IDENTITY = (
    "it asks whether objects are the same (`{what}` in {where}), which numbers, arrays and "
    "containers in the place of arguments are not: compare what they hold, or pass a bool or a "
    "str that tells them apart"
)

Chain = tuple[str, ...]


class Write(NamedTuple):
    """Where a chain begins that some code writes to, and whether a name or what is in it."""

    where: str
    chain: Chain
    is_name: bool


class AsGiven(str):
    """A reason why f has to run on its own arguments: on stand-ins it does otherwise."""


def is_table(item: Any) -> bool:
    """Whether something is a table, such as those of pandas, which gives its numbers as arrays."""
    return inspect.getattr_static(type(item), "to_numpy", None) is not None


class UnwatchableError(Exception):
    """Something is read whose changes cannot be seen, or asked that is not so in a replay."""


# --- code ----------------------------------------------------------------------------------------


class Reads(NamedTuple):
    """The chains that some code reads, by where they begin; and what it asks of its arguments."""

    globals: frozenset[Chain]
    cells: frozenset[Chain]
    first: frozenset[Chain]  # attributes of the first argument; (): all of it
    imports: frozenset[Chain]
    writes: frozenset[Write]
    keeps: frozenset[Write]  # the writes, read or not, of what may have been computed
    asks_types: bool
    identities: tuple[Identity, ...]


# Methods of containers that change them.
_CHANGES = frozenset(
    (
        *("append", "extend", "add", "insert", "clear", "appendleft", "discard"),
        *("update", "pop", "popitem", "popleft", "remove", "sort", "reverse"),
        *("extendleft", "rotate", "fill", "put", "itemset", "partition", "byteswap"),
    )
)
_SHUFFLES = ("COPY", "SWAP", "DUP_TOP_TWO", "ROT_TWO", "ROT_THREE")


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """What some code reads, and the functions that are written within it."""
    found: dict[str, set[Chain]] = {"globals": set(), "cells": set(), "first": set()}
    imports: set[Chain] = set()
    writes, keeps = map(set, _own_writes(code))
    steps = steps_of(code)
    first = code.co_varnames[0] if code.co_argcount else None
    module = ""
    for k, (name, argument, *_) in enumerate(steps):
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            where = "globals"
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            if argument == first:  # which a function within this one reads, too
                where = "first"
            elif argument in code.co_freevars:
                where = "cells"
            else:
                continue
        elif name.startswith("LOAD_FAST") and argument == first:
            where = "first"
        elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            where = "globals"
        elif name in ("STORE_DEREF", "DELETE_DEREF") and argument in code.co_freevars:
            where = "cells"
        else:
            if name == "IMPORT_NAME":
                module = argument
                imports.add((module,))
            elif name == "IMPORT_FROM":
                imports.add((module, argument))
            continue
        chain: list[str] = [] if where == "first" else [argument]
        for step in steps[k + 1 :]:
            if step.name in (*ATTRIBUTES, "STORE_ATTR", "DELETE_ATTR"):
                chain.append(step.argument)
            if step.name not in ATTRIBUTES:
                break
        found[where].add(tuple(chain))
    asks_types = any(_asks_type(steps, k) for k in range(len(steps)))
    if "super" in code.co_names:  # which finds the first argument without its name
        found["first"].add(())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = reads_of(constant)
            asks_types = asks_types or inner.asks_types
            found["globals"] |= inner.globals
            imports |= inner.imports
            writes.update(_seen_around(inner.writes, code, first))
            keeps.update(_seen_around(inner.keeps, code, first))
            for link in inner.cells:
                if link[0] in code.co_freevars:
                    found["cells"].add(link)
                elif link[0] == first:
                    found["first"].add(link[1:])
    return Reads(
        frozenset(found["globals"]),
        frozenset(found["cells"]),
        frozenset(found["first"]),
        frozenset(imports),
        frozenset(writes),
        frozenset(keeps),
        asks_types,
        tuple(identities_of(code)),
    )


def _seen_around(writes: frozenset[Write], code: CodeType, first: str | None) -> Iterator[Write]:
    """What a function within some code writes to, as that code names it."""
    for write in writes:
        if write.where == "first":
            continue
        name, *rest = write.chain
        if write.where == "globals" or name in code.co_freevars:
            yield write
        elif name == first and (rest or not write.is_name):
            yield Write("first", tuple(rest), write.is_name)


def _own_writes(code: CodeType) -> tuple[list[Write], list[Write]]:
    """What some code changes that is not its own, as far as it is named.

    Of what is read, too: what is not may be done twice. And where more is written than constants.
    A place on the stack is followed from where it is loaded to where it is used, over instructions
    as they are written; so are variables that are another name for it.
    """
    steps, heights = _followed(code)
    found: list[Write] = []
    keeps: list[Write] = []
    read: set[tuple[str, Chain]] = set()
    stores: dict[int, tuple[str, Chain]] = {}  # by the instruction that gives it another name
    names: dict[str, tuple[str, Chain]] = {}

    def note(write: Write, is_constant: bool) -> None:
        found.append(write)
        if not is_constant:
            keeps.append(write)

    for k, step in enumerate(steps):
        kind, name = step.opname, step.argval
        if kind.startswith("STORE_FAST"):
            _rename(names, step, stores.get(k))
        if "FAST_" in kind and isinstance(name, tuple):  # two in one
            name = name[-1]
        is_cell = kind in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars
        if is_cell or kind in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            written = Write("cells" if is_cell else "globals", (name,), True)
            note(written, _is_counted(steps[:k]))
            continue
        place = _loaded(code, names, kind, name)
        if place is None:
            continue
        where, chain = place
        at = k + 1
        while at < len(steps) and steps[at].opname in ATTRIBUTES:
            if steps[at].argval in _CHANGES:
                note(Write(where, chain, False), _is_constant(steps[at + 1 : at + 2]))
            chain = (*chain, str(steps[at].argval))
            at += 1
        if at < len(steps) and steps[at].opname.startswith("STORE_FAST"):
            stores[at] = where, chain
            continue
        write, is_read, length = _use(where, chain, steps[at:], heights[at:], heights[k + 1])
        if write is not None:
            note(write, _is_counted(steps[: at + length]) if is_read else _is_constant(steps[:k]))
        if is_read:
            read.add((where, chain[:1]))
    return [write for write in found if (write.where, write.chain[:1]) in read], keeps


_UNSEEN = ("EXTENDED_ARG", "PUSH_NULL", "CACHE", "NOP")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_ADDS = ("BINARY_OP", "INPLACE_ADD")


def _followed(code: CodeType) -> tuple[list[dis.Instruction], list[int]]:
    """The instructions of some code, and how many objects are on the stack before each."""
    steps, heights, height = [], [], 0
    for step in dis.get_instructions(code):
        if step.opname not in _UNSEEN:
            steps.append(step)
            heights.append(height)
        if step.opname != "EXTENDED_ARG":
            argument = step.arg if step.opcode >= dis.HAVE_ARGUMENT else None
            height += dis.stack_effect(step.opcode, argument, jump=False)
    return steps, [*heights, height]


def _rename(
    names: dict[str, tuple[str, Chain]], step: dis.Instruction, place: tuple[str, Chain] | None
) -> None:
    """A variable is another name for a place, or no longer."""
    stored = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    for name in stored[:1] if step.opname.endswith("LOAD_FAST") else stored:
        names.pop(name, None)
    if place is not None:
        names[stored[0]] = place


def _loaded(
    code: CodeType, names: dict[str, tuple[str, Chain]], kind: str, name: Any
) -> tuple[str, Chain] | None:
    """Where what an instruction loads comes from, if it is not the code's own."""
    if kind in ("LOAD_GLOBAL", "LOAD_NAME"):
        return "globals", (name,)
    if kind == "LOAD_DEREF" and name in code.co_freevars:
        return "cells", (name,)
    if "LOAD_FAST" in kind and name in names:
        return names[name]
    is_first = code.co_argcount > 0 and name == code.co_varnames[0]
    return ("first", ()) if is_first and ("LOAD_FAST" in kind or kind == "LOAD_DEREF") else None


def _is_constant(steps: list[dis.Instruction]) -> bool:
    """Whether the last of some instructions loads a constant."""
    return bool(steps) and steps[-1].opname in _CONSTANTS


def _is_counted(steps: list[dis.Instruction]) -> bool:
    """Whether some instructions end with a constant, or with the addition of one."""
    last = [step for step in steps[-4:] if step.opname not in _SHUFFLES]
    return _is_constant(last[:-1] if last and last[-1].opname in _ADDS else last)


def _use(
    where: str, chain: Chain, steps: list[dis.Instruction], heights: list[int], place: int
) -> tuple[Write | None, bool, int]:
    """How what is on top of a stack of height `place` is written to, if so.

    And whether it is read, and after how many instructions.
    """
    for k, step in enumerate(steps):
        if heights[k] < place:
            break
        # `a[i] += v` leaves the value where it is in `a[i] = v` by exchanging it with the others.
        is_exchanged = k > 0 and steps[k - 1].opname.startswith(("SWAP", "ROT"))
        above = heights[k] - place - is_exchanged
        if step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") and above == 1:
            return Write(where, chain, False), is_exchanged or step.opname == "DELETE_SUBSCR", k
        if step.opname == "STORE_SLICE" and above == 2:  # from Python 3.12 on
            return Write(where, chain, False), is_exchanged, k
        if step.opname in ("STORE_ATTR", "DELETE_ATTR") and above == 0:
            return Write(where, (*chain, str(step.argval)), True), is_exchanged, k
    return None, True, 0


_CALLS = ("PRECALL", "CALL", "CALL_FUNCTION")
_FLOATS = ("float", "float64", "floating", "inexact", "number", "generic", "Real", "Number")


def _asks_type(steps: list[Step], k: int) -> bool:
    """Whether the type of something is looked at, rather than that of self.

    Or if it is a float, which what is taken of a plain array by a stand-in is not.
    """
    if steps[k][:2] == ("LOAD_GLOBAL", "isinstance"):
        return any(step.argument in _FLOATS for step in steps[k + 1 : k + 8])
    if steps[k][:2] != ("LOAD_GLOBAL", "type"):
        return False
    called = steps[k + 1 : k + 3]
    is_self = (
        len(called) == 2
        and called[0].name.startswith(("LOAD_FAST", "LOAD_DEREF"))
        and called[0].argument in ("self", "cls")
    )
    return not (is_self and called[1].name in _CALLS)


# --- values --------------------------------------------------------------------------------------

# Nothing in these can change.
_CONSTANT: tuple[type, ...] = (
    *(bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range),
    *(np.generic, np.dtype, np.ufunc, CodeType, Enum),
)
# These are constants of a recording: what is drawn from them, what is read from files.
_MODULES_OF_STREAMS = ("random", "numpy.random", "_random", "io", "_io", "logging", "threading")


class _Walk:
    """A walk over what some function reads; it adds places to a Watch."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.asks_types = False  # whether the user's code looks at types
        self._names: set[str] = set()  # that the user's code has: methods and all else
        self._asked: list[tuple[str, str]] = []  # names of methods, and what these ask
        self._written: list[tuple[FunctionType, Any, Write]] = []  # in functions, and their owners
        self._kept_by: list[tuple[FunctionType, Any, Write]] = []
        self._named: set[tuple[int, str]] = set()  # what is read by its name
        self._seen: set[Any] = set()
        self._kept: list[Any] = []  # else a number in _seen may come to stand for another object

    def _is_new(self, *what: Any) -> bool:
        key = tuple(map(id, what))
        if key in self._seen:
            return False
        self._seen.add(key)
        self._kept.append(what)
        if len(self._watch) > MOST_PLACES:
            raise UnwatchableError(
                f"it reads more than {MOST_PLACES} places beside its arguments: pass what it "
                "computes with as an argument"
            )
        return True

    # --- functions

    def function(
        self,
        function: FunctionType,
        owner: Any = None,
        path: str = "",
        kind: type | None = None,
    ) -> None:
        """What a function reads.

        `owner` is the object that it is a method of; or `kind` a class that has it, where it is
        not known whether anything calls it.
        """
        if not self._is_new(function, owner):
            return
        path = path or function.__qualname__
        names = function.__code__.co_freevars
        if function in _READ_BY:
            self.value(_READ_BY[function], "os.environ")
        if is_of_library(function.__code__.co_filename):
            for k, name in enumerate(names):  # of a wrapper
                text = f"{name} in {path}"
                self.value(self._watch.free_variable(function, k, text), text)
            return
        self._watch.function(function, f"code of {path}")
        for defaults in (function.__defaults__, function.__kwdefaults__):
            if defaults:
                self.value(defaults, f"a default of {path}")
        reads = reads_of(function.__code__)
        self.asks_types = self.asks_types or reads.asks_types
        self._written.extend((function, owner, write) for write in reads.writes)
        self._kept_by.extend((function, owner, write) for write in reads.keeps)
        self._names.update(_all_names(function.__code__))
        for identity in reads.identities:
            if _needs_arguments(identity, function, owner, kind):
                where = f"line {identity.line} of {path}"
                name = "" if kind is None else path.rpartition(".")[2]
                self._asked.append((name, IDENTITY.format(what=identity.what, where=where)))
                self.check_identities()
        for chain in sorted(reads.globals):
            self._global(function.__globals__, chain)
        for chain in sorted(reads.cells):
            text = f"{chain[0]} in {path}"
            value = self._watch.free_variable(function, names.index(chain[0]), text)
            self._named.add((id(_cell(function, chain[0])), ""))
            self._chain(value, chain[1:], text)
        for chain in sorted(reads.imports):
            self._import(function, chain)
        if owner is not None:
            for chain in sorted(reads.first):
                self._chain(owner, chain, f"self in {path}")

    def _global(self, names: dict[str, Any], chain: Chain) -> None:
        module = names.get("__name__", "")
        text = chain[0] if module == "__main__" else f"{module}.{chain[0]}"
        value = self._watch.name(names, chain[0], text)
        self._named.add((id(names), chain[0]))
        if value is not MISSING:  # else it is built in
            self._chain(value, chain[1:], text)

    def _import(self, function: FunctionType, chain: Chain) -> None:
        """A module that is imported while the function runs: all names of it that there are."""
        module = sys.modules.get(chain[0])
        if module is None:
            return
        names = sorted(set(_all_names(function.__code__)))
        if is_module_of_library(module):
            for part in (vars(module).get(name) for name in names):
                if any(part is one for one in (*_READ_BY, *_READ_BY.values())):
                    self.value(part, f"{chain[0]}.environ")
            return
        if len(chain) > 1:
            self._global(vars(module), chain[1:])
            module = vars(module).get(chain[1])
        if isinstance(module, ModuleType) and not is_module_of_library(module):
            for name in names:
                if name in vars(module):
                    self._global(vars(module), (name,))

    def check_identities(self) -> None:
        """Raise where something is asked of arguments that stand-ins do not answer.

        In methods, if their names are anywhere in the code, or if Python itself calls them.
        """
        for name, text in self._asked:
            if not name or name.startswith("__") or name in self._names:
                raise UnwatchableError(AsGiven(text))

    # --- what is written to

    @property
    def is_written(self) -> bool:
        """Whether something that is read is written to, too, as far as that is named."""
        return any(self._is_read(*written) for written in self._written)

    @property
    def keeps(self) -> bool:
        """Whether something that may have been computed is written where it stays."""
        found = [_written_to(*written) for written in self._kept_by]
        return any(value is not MISSING and not isinstance(value, ModuleType) for value in found)

    def _is_read(self, function: FunctionType, owner: Any, write: Write) -> bool:
        where, chain, is_name = write
        if where != "first" and is_name and len(chain) == 1:
            cell = _cell(function, chain[0]) if where == "cells" else None
            key = (id(cell), "") if cell else (id(function.__globals__), chain[0])
            return key in self._named
        value = _written_to(function, owner, write)
        if value is MISSING:
            return False
        if is_name:
            of = vars(value) if isinstance(value, ModuleType) else value
            if (id(of), chain[-1]) in self._named:
                return True
        return (id(value),) in self._seen

    # --- chains

    def _chain(self, value: Any, rest: Chain, path: str) -> None:
        """What a value is, and what is read of it by a chain of attributes."""
        for name in rest:
            if value is MISSING:
                return
            of = vars(value) if isinstance(value, ModuleType) else value
            self._named.add((id(of), name))
            if isinstance(value, ModuleType):
                if is_module_of_library(value):
                    value = getattr(value, name, MISSING)
                else:
                    module, value = value, self._watch.name(vars(value), name, f"{path}.{name}")
                    if value is MISSING and "__getattr__" in vars(module):
                        raise UnwatchableError(
                            f"it reads {path}.{name}, which the module makes when it is asked"
                        )
            elif isinstance(value, (*_CONTAINERS, *_CONSTANT)):
                self.value(value, path)
                return
            else:
                value, done = self._attribute(value, name, path)
                if done:
                    return
            path = f"{path}.{name}"
        self.value(value, path)

    def _attribute(self, owner: Any, name: str, path: str) -> tuple[Any, bool]:
        """The value of an attribute, and whether all that is read by it was found."""
        kind = owner if isinstance(owner, type) else type(owner)
        if isinstance(owner, FunctionType):
            self.value(owner, path)
            return self._watch.attribute(owner, name, f"{path}.{name}"), False
        is_opaque = hasattr(kind, "__getattr__") or kind.__getattribute__ not in _GETTERS
        if is_opaque or is_class_of_library(kind):
            self.value(owner, path)
            return None, True
        try:
            found = inspect.getattr_static(owner, name)
        except AttributeError:
            return self._watch.attribute(owner, name, f"{path}.{name}"), True
        path = f"{path}.{name}"
        if isinstance(found, property):
            self._watch.attribute(kind, name, path)
            if isinstance(found.fget, FunctionType):
                self.function(found.fget, owner, path)
            return None, True
        if isinstance(found, functools.cached_property):
            if isinstance(owner, type):
                self.value(found.func, path)
            else:  # not computed yet
                self._watch.name(vars(owner), name, path)
                if isinstance(found.func, FunctionType):
                    self.function(found.func, owner, path)
            return None, True
        is_method = isinstance(found, FunctionType) and not isinstance(owner, type)
        if is_method and name not in getattr(owner, "__dict__", ()):
            self._watch.attribute(owner, name, path)
            self.function(found, owner, path)
            return None, True
        if not _is_stable(owner, name):
            self.value(owner, path)
            return None, True
        return self._watch.attribute(owner, name, path), False

    # --- values as a whole

    def value(self, value: Any, path: str) -> None:
        """A value, and all that is in it."""
        if isinstance(value, Replayed):  # they say that they are of other classes
            raise UnwatchableError(
                f"it reads {path}, which a function around it has computed: pass it as an argument"
            )
        if isinstance(value, _CONSTANT) or value is MISSING or isinstance(value, (Var, Dual)):
            return
        if isinstance(value, ModuleType) or not self._is_new(value):
            return
        if isinstance(value, FunctionType):
            self.function(value, None, path)
        elif isinstance(value, BuiltinFunctionType):  # perhaps a method, such as a dict's get
            if any(value is one for one in _ASK_IDENTITY):
                raise UnwatchableError(AsGiven(IDENTITY.format(what=value.__name__, where=path)))
            self.value(value.__self__, path)
        elif isinstance(value, (MethodType, WeakMethod)):
            if isinstance(value.__func__, FunctionType):
                self.function(value.__func__, value.__self__, path)
            else:
                self.value(value.__self__, path)
        elif isinstance(value, np.ndarray):
            self._array(value, path)
            if type(value) is not np.ndarray:
                self._own(value, path)
        elif isinstance(value, ReferenceType):
            self.value(value(), path)
        elif isinstance(value, (Iterator, ContextVar, threading.local, *ProxyTypes)):
            raise UnwatchableError(
                f"it reads {path}, a {type(value).__name__}, whose changes cannot be seen: pass "
                "what it gives as an argument"
            )
        elif isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, CellType):
            self.value(self._watch.cell(value, path), path)
        elif isinstance(value, primitive):  # whose function each replay runs
            for rules in (value.pulls, value.pushes, value.patterns):
                self._watch.mapping(rules, path)
        elif inspect.getattr_static(value, "__wrapped__", None) is not None:  # programs, caches
            self.value(value.__wrapped__, path)
        elif isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self.value(part, path)
        elif isinstance(value, _CONTAINERS):
            self._container(value, path)
        else:
            self._object(value, path)

    def _array(self, array: np.ndarray[Any, Any], path: str) -> None:
        if array.dtype.hasobject:
            items = array.ravel().tolist()
            self._watch.objects(array, path)
            self._items(items, path)
        else:
            self._watch.array(array, path)

    def _items(self, items: Any, path: str) -> None:
        for item in items:
            if isinstance(item, Replayed) or not isinstance(item, _CONSTANT):
                self.value(item, path)

    def _container(self, value: Any, path: str) -> None:
        if isinstance(value, dict):
            if isinstance(value, OrderedDict):  # has an order of its own
                self._watch.members(value.items(), path)
            else:
                self._watch.mapping(value, path)
            self._items(value.values(), path)
        elif type(value) is list:
            self._watch.sequence(value, path)
            self._items(value, path)
        elif isinstance(value, (bytearray, array, memoryview)):
            self._watch.buffer(value, path)
        elif isinstance(value, (Mapping, MappingProxyType)):
            self._watch.members(value.items(), path)
            self._items(value.values(), path)
        else:
            if not isinstance(value, (tuple, frozenset, slice)):
                self._watch.members(value, path)
            parts = (value.start, value.stop, value.step) if isinstance(value, slice) else value
            self._items(parts, path)
        if not is_class_of_library(type(value)):
            self._own(value, path)

    def _object(self, value: Any, path: str) -> None:
        """An object of the user's, or of a library."""
        kind = type(value)
        if is_table(value):
            if kind.__module__.partition(".")[0] == "pandas":
                self._watch.table(value, path)
                return
            raise UnwatchableError(
                f"it reads {path}, a {kind.__name__}, whose changes cannot be seen: give it "
                "arrays, such as those that to_numpy() makes"
            )
        if is_class_of_library(kind):
            if (
                kind.__module__.startswith(_MODULES_OF_STREAMS)
                or own_attribute(value, "__dict__") is None
            ):
                return
            if kind.__module__.partition(".")[0] == "cadiff":
                for part in vars(value).values():
                    if isinstance(part, (FunctionType, MethodType)):
                        self.value(part, path)
                return
        self._own(value, path)

    def _own(self, value: Any, path: str) -> None:
        """The attributes of an object, and its class."""
        kind = type(value)
        if own_attribute(value, "__dict__") is not None:
            self._watch.namespace(value, path)
            self._items(list(vars(value).values()), path)
        for name in _slots(kind):
            part = self._watch.attribute(value, name, f"{path}.{name}")
            self.value(part, f"{path}.{name}")
        if not is_class_of_library(kind):
            self.value(kind, kind.__qualname__)

    def _class(self, kind: type, path: str) -> None:
        """What is in a class of the user's, and in those that it derives from."""
        for base in kind.__mro__:
            if base is object or is_class_of_library(base):
                continue
            for name, part in list(vars(base).items()):
                if name in _OF_EVERY_CLASS or isinstance(part, _DESCRIPTORS):
                    continue
                if "__dataclass_fields__" in vars(base) and _is_generated(name, part):
                    continue
                if _is_stable(base, name):
                    self._watch.attribute(base, name, f"{base.__qualname__}.{name}")
                for item in _behind(part):
                    if isinstance(item, FunctionType) and not isinstance(part, staticmethod):
                        self.function(item, None, f"{base.__qualname__}.{name}", base)
                    else:
                        self.value(item, f"{base.__qualname__}.{name}")


_CONTAINERS: tuple[type, ...] = (
    *(dict, list, tuple, set, frozenset, deque, bytearray, array, memoryview, slice),
    *(MappingProxyType, np.ndarray, type({}.keys()), type({}.values()), type({}.items())),
)
_ASK_IDENTITY: tuple[Any, ...] = (id, operator.is_, operator.is_not)
# What functions of libraries read that others may change.
_READ_BY: dict[Any, Any] = {os.getenv: os.environ}
_GETTERS: tuple[Any, ...] = (object.__getattribute__, type.__getattribute__)
_OF_EVERY_CLASS = frozenset(
    (
        *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__"),
        *("__annotations__", "__firstlineno__", "__static_attributes__", "__abstractmethods__"),
        *("_abc_impl", "__dataclass_params__", "__dataclass_fields__", "__match_args__"),
        *("__parameters__", "__orig_bases__", "__hash__", "__annotate_func__", "__type_params__"),
    )
)
_DESCRIPTORS: tuple[type, ...] = (MemberDescriptorType, GetSetDescriptorType)


def _is_generated(name: str, part: Any) -> bool:
    """Whether a method of a dataclass is one of those that come with every dataclass."""
    file = getattr(getattr(part, "__code__", None), "co_filename", "")
    return name.startswith("__") and (file == "<string>" or is_of_library(file))


def _is_stable(owner: Any, name: str) -> bool:
    """Whether an attribute is the same each time that it is asked for."""
    one, other = (getattr(owner, name, MISSING) for _ in range(2))
    return one is other or isinstance(one, (MethodType, *_CONSTANT))


def _behind(part: Any) -> Iterator[Any]:
    """The functions that a descriptor calls, or what else is in a class."""
    if isinstance(part, (staticmethod, classmethod)):
        yield part.__func__
    elif isinstance(part, property):
        yield from (part.fget, part.fset)
    elif isinstance(part, (functools.cached_property, functools.partialmethod)):
        yield part.func
    else:
        yield part


def _slots(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                private = name.startswith("__") and not name.endswith("__")
                yield f"_{base.__name__.lstrip('_')}{name}" if private else name


def _written_to(function: FunctionType, owner: Any, write: Write) -> Any:
    """What is changed where a function writes; MISSING if that is its own, or not there yet."""
    where, chain, is_name = write
    if where == "first":
        value = MISSING if owner is None else owner
    elif is_name and len(chain) == 1:
        return function
    else:
        try:
            value = (
                _cell(function, chain[0]).cell_contents
                if where == "cells"
                else function.__globals__.get(chain[0], MISSING)
            )
        except ValueError:  # it is empty
            return MISSING
        chain = chain[1:]
    for name in chain[:-1] if is_name else chain:
        value = _static(value, name)
    return value


def _cell(function: FunctionType, name: str) -> CellType:
    cells = function.__closure__ or ()
    return cells[function.__code__.co_freevars.index(name)]


def _static(value: Any, name: str) -> Any:
    """An attribute, without running code of the user's."""
    found = inspect.getattr_static(value, name, MISSING)
    return getattr(value, name, MISSING) if isinstance(found, _DESCRIPTORS) else found


def _needs_arguments(
    identity: Identity, function: FunctionType, owner: Any, kind: type | None
) -> bool:
    """Whether an argument may be what is asked for, and something else that of a stand-in."""
    named = [one for one in identity.operands if one is not None]
    if kind is not None and not are_opened(kind):
        if Operand("first", ()) in named:  # an object that has no stand-in
            return False
    elif owner is None:
        named = [one for one in named if one.where != "first"]
    if len(named) == len(identity.operands):  # none of them is an argument
        return False
    return not any(_is_mark(_named(function, owner, one)) for one in named)


def _named(function: FunctionType, owner: Any, operand: Operand) -> Any:
    """What a name in a function stands for, and attributes of it; MISSING if that is not known."""
    value, chain = owner, operand.chain
    if operand.where == "results" or (operand.where == "first" and owner is None):
        return MISSING
    if operand.where == "globals":
        value = function.__globals__.get(chain[0], getattr(builtins, chain[0], MISSING))
    elif operand.where == "cells":
        try:
            value = _cell(function, chain[0]).cell_contents
        except ValueError:  # it is empty
            return MISSING
    for name in chain if operand.where == "first" else chain[1:]:
        is_plain = not isinstance(value, ModuleType)
        value = _static(value, name) if is_plain else getattr(value, name, MISSING)
        if isinstance(value, (property, functools.cached_property)):
            return MISSING
    return value


def _is_mark(value: Any) -> bool:
    """Whether it would be itself as an argument: a recording tells it from all else, as f does."""
    if value is MISSING or isinstance(value, (Var, Dual)):
        return False
    if value is None or isinstance(value, (bool, str, bytes, type)):
        return True
    is_number = isinstance(value, (int, float, complex, np.generic, np.ndarray))
    is_told_by_contents = isinstance(value, (set, frozenset, slice, range))
    return not is_number and not is_told_by_contents and opened(value) is None


def _all_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_names(constant)


def watch_call(f: Any, statics: list[Any]) -> Watch:
    """What f reads in a call beside its inputs: also of the arguments that are no numbers.

    Its `asks_types` says whether f, or what it calls, may ask for the type of an argument;
    `is_written` whether they change what they read; `keeps` whether they may keep what they
    compute.
    """
    watch = Watch()
    walk = _Walk(watch)
    try:
        walk.value(f, own_attribute(f, "__qualname__", type(f).__name__))
        for item in statics:
            if isinstance(item, FunctionType):  # perhaps a lambda that is made for each call
                watch.keep(item)
            path = f"an argument, a {type(item).__name__}"
            if isinstance(item, (ModuleType, Enum)):  # else they are constants
                watch.namespace(item, path)
            walk.value(item, path)
    except RecursionError:
        raise UnwatchableError(
            "it reads containers that are nested too deeply to be watched: pass what it computes "
            "with as an argument"
        ) from None
    walk.check_identities()
    watch.asks_types = walk.asks_types
    watch.is_written = walk.is_written
    watch.keeps = walk.keeps
    return watch
