"""What a function reads beside its arguments: names of modules, closures, attributes, containers.

The names that its code has are followed to what they stand for, and from there on. A chain of
attributes is followed as far as it goes; what it comes to is looked into as a whole, and functions
in it are read in their turn. Code of libraries is not, unless it was seen to run and nothing is
known of its library (see observations.py). Of everything that is met, it is
known what it holds (see kinds.py) and a `Watch` keeps that; or f is run as it is. This module does
not know what is recorded.
"""

from __future__ import annotations

import abc
import builtins
import ctypes
import dataclasses
import functools
import gc
import inspect
import operator
import os
import random
import sys
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any
from weakref import ReferenceType

import numpy as np

from ..binding import MISSING, Dual, Var, Watch, WeakMethod, are_opened, opened, own_attribute
from ..binding.callers import (
    is_class_of_library,
    is_module_of_library,
    is_of_known_library,
    is_of_library,
)
from ..operations.primitives import primitive
from ..operations.replayed import Replayed
from .identities import Identity, Operand
from .kinds import (
    CONSTANTS,
    base_in_c,
    behind,
    is_class_read,
    is_of_python,
    is_random,
    is_read,
    is_safe_class,
    is_safe_stream,
    is_structure,
    unsafe,
)
from .reads import Chain, Reads, Write, reads_of

__all__ = ["OUTSIDE", "AsGiven", "UnwatchableError", "is_table", "watch_call"]

MOST_PLACES = 20_000
IDENTITY = (
    "it asks whether objects are the same (`{what}` in {where}), which numbers, arrays and "
    "containers in the place of arguments are not: compare what they hold, or pass a bool or a "
    "str that tells them apart"
)
UNKNOWN = (
    "it reads {path}, {what}, whose changes cannot be seen: pass what it gives as an argument"
)
OUTSIDE = (
    "it calls {name}, which may give something else each time: call it outside, and pass what it "
    "gives as an argument"
)


class AsGiven(str):
    """A reason why f has to run on its own arguments: on stand-ins it does otherwise."""


class UnwatchableError(Exception):
    """Something is read whose changes cannot be seen, or asked that is not so in a replay."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self._is_placed = isinstance(reason, AsGiven)  # which say so themselves

    def at(self, place: str) -> UnwatchableError:
        """The same, with where it was found, if it does not say so yet."""
        if not self._is_placed:
            self.reason, self._is_placed = f"{self.reason} ({place})", True
        return self


def is_table(item: Any) -> bool:
    """Whether something is a table, such as those of pandas, which gives its numbers as arrays."""
    if isinstance(item, (Var, Dual)):  # which have such a name to say what to write instead
        return False
    return inspect.getattr_static(type(item), "to_numpy", None) is not None


class _Walk:
    """A walk over what some function reads; it adds places to a Watch."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.asks_types = False  # whether the user's code looks at types
        self.codes: list[CodeType] = []  # of the user's, whose names were followed
        # Why what the functions of primitives give is no constant, by the primitive's number
        self.unwatched_steps: dict[int, str] = {}
        self.generators: list[tuple[str, Any]] = []  # of random numbers, and what they are called
        self._has_decimals = False
        self._is_in_step = False  # of which replays run the code, with all that it changes
        self._names: set[str] = set()  # that the user's code has: methods, strings and all else
        self._modules: dict[str, ModuleType] = {}  # by what they are called, looked into at last
        self._asked: list[tuple[str, str]] = []  # names of methods, and what these ask
        self._written: list[tuple[FunctionType, Any, Write]] = []  # in functions, and their owners
        self._kept_by: list[tuple[FunctionType, Any, Write]] = []
        self._named: set[tuple[int, str]] = set()  # what is read by its name
        self._values: dict[tuple[int, str], Any] = {}  # of names that are watched
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
        if not is_read(function):
            self._function_of_library(function, path)
            return
        self.codes.extend(_codes_in(function.__code__))
        self._watch.function(function, f"code of {path}")
        if function.__dict__:
            self._items(self._watch.namespace(function, f"attributes of {path}"), path)
        for defaults in (function.__defaults__, function.__kwdefaults__):
            if defaults:
                self.value(defaults, f"a default of {path}")
        reads = reads_of(function.__code__)
        self.asks_types = self.asks_types or reads.asks_types
        if not self._is_in_step:
            self._written.extend((function, owner, write) for write in reads.writes)
            self._kept_by.extend((function, owner, write) for write in reads.keeps)
        self._names.update(reads.names)
        for identity in reads.identities:
            if _needs_arguments(identity, function, owner, kind):
                where = f"line {identity.line} of {path}"
                name = "" if kind is None else path.rpartition(".")[2]
                self._asked.append((name, IDENTITY.format(what=identity.what, where=where)))
                self.check_identities()
        self._names_of(function, owner, reads, path)

    def _function_of_library(self, function: FunctionType, path: str) -> None:
        is_known = is_of_known_library(function.__code__.co_filename)
        reason = unsafe(function) if is_known else ""
        if function is os.getenv:
            self.value(os.environ, "os.environ")
        elif reason:
            raise UnwatchableError(OUTSIDE.format(name=reason))
        for k, name in enumerate(function.__code__.co_freevars):  # of a wrapper
            text = f"{name} in {path}"
            self.value(self._watch.free_variable(function, k, text), text)

    def _names_of(self, function: FunctionType, owner: Any, reads: Reads, path: str) -> None:
        """What the names in the code of a function stand for."""

        def follow(where: str, chain: Chain) -> Any:
            if where == "globals":
                return self._global(function.__globals__, _builtins_of(function), chain)
            if where == "first":
                return self._chain(owner, chain, f"self in {path}")
            text = f"{chain[0]} in {path}"
            index = function.__code__.co_freevars.index(chain[0])
            value = self._watch.free_variable(function, index, text)
            self._named.add((id(_cell(function, chain[0])), ""))
            return self._chain(value, chain[1:], text)

        own = {write.chain[:1] for write in (*reads.writes, *reads.keeps) if self._is_in_step}
        chains = [("globals", chain) for chain in sorted(reads.globals) if chain[:1] not in own]
        chains += [("cells", chain) for chain in sorted(reads.cells) if chain[:1] not in own]
        if owner is not None:
            chains += [("first", chain) for chain in sorted(reads.first)]
        for place in chains:
            try:
                value = follow(*place)
                if place in reads.calls and is_random(value):
                    name = f"{'.'.join(place[1])}() without a seed"
                    raise UnwatchableError(OUTSIDE.format(name=name))
            except UnwatchableError as error:
                raise error.at(f"line {reads.lines.get(place, 0)} of {path}") from None
        for chain in sorted(reads.imports):
            self._import(chain)

    def _global(self, names: dict[str, Any], built_in: dict[str, Any], chain: Chain) -> Any:
        module = names.get("__name__", "")
        text = chain[0] if module == "__main__" else f"{module}.{chain[0]}"
        value = self._name(names, chain[0], text)
        self._named.add((id(names), chain[0]))
        if value is MISSING:
            value = self._name(built_in, chain[0], chain[0])
            if value is id:  # of whose calls it is known what they ask
                return None
        return self._chain(value, chain[1:], text)

    def _name(self, names: dict[str, Any], name: str, path: str) -> Any:
        """What a name stands for; however often it is read, it is watched once."""
        key = (id(names), name)
        if key not in self._values:
            self._values[key] = self._watch.name(names, name, path)
        return self._values[key]

    def _import(self, chain: Chain) -> None:
        """A module that is imported while the function runs."""
        module = self._name(sys.modules, chain[0], chain[0])
        if not isinstance(module, ModuleType):  # it is not there yet, or something else
            self.value(module, chain[0])
            return
        if len(chain) > 1:
            self._chain(module, chain[1:], chain[0])
        else:
            self._modules[chain[0]] = module

    def modules(self) -> None:
        """What is read of modules that are handed on, by any name that the user's code has.

        All of them where names are computed.
        """
        done: dict[str, set[str]] = {}
        is_done = False
        while not is_done:
            is_done = True
            if (id(sys.modules),) in self._seen:
                self._loaded_modules()
            for path, module in list(self._modules.items()):
                names = vars(module)
                if self._names.isdisjoint(_ASK_BY_NAME):
                    new = (self._names & names.keys()) - done.setdefault(path, set())
                    done[path] |= new
                    for name in sorted(new):
                        is_done = False
                        self._chain(module, (name,), path)
                elif path not in done:
                    done[path], is_done = set(), False
                    self._watch.mapping(names, path)
                    if not is_module_of_library(module):
                        self._items(list(names.values()), path)

    def _loaded_modules(self) -> None:
        """Of what `sys.modules` holds: modules of the user's, and what else is named."""
        for name, module in list(sys.modules.items()):
            if name in self._names or not (
                isinstance(module, ModuleType) and is_module_of_library(module)
            ):
                self.value(module, f"sys.modules[{name!r}]")

    def check_identities(self) -> None:
        """Raise where something is asked of arguments that stand-ins do not answer.

        In methods, if their names are anywhere in the code, or if Python itself calls them.
        """
        for name, text in self._asked:
            if not name or name.startswith("__") or name in self._names:
                raise UnwatchableError(AsGiven(text))

    def check_generators(self) -> None:
        """Raise where the code may read the state of a random generator without drawing."""
        named = _OF_STATES & self._names
        if self.generators and named:
            name = f"{self.generators[0][0]}.{min(named)}"
            raise UnwatchableError(OUTSIDE.format(name=name))

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

    def _chain(self, value: Any, rest: Chain, path: str) -> Any:
        """What a value is, and what is read of it by a chain of attributes, as far as known."""
        for name in rest:
            if value is MISSING:
                return None
            of = vars(value) if isinstance(value, ModuleType) else value
            self._named.add((id(of), name))
            if isinstance(value, ModuleType):
                value = self._name_of_module(value, name, path)
            else:
                value, done = self._attribute(value, name, path)
                if done:
                    return None
            path = f"{path}.{name}"
        self.value(value, path)
        return value

    def _name_of_module(self, module: ModuleType, name: str, path: str) -> Any:
        if name in ("__dict__", "__getattribute__"):
            self._modules[path] = module
            self._names.add("__dict__")
            return MISSING
        is_of_library = is_module_of_library(module)
        if is_of_library:  # some of which are there when they are asked for
            getattr(module, name, MISSING)
        value = self._name(vars(module), name, f"{path}.{name}")
        if value is MISSING and "__getattr__" in vars(module):
            if is_of_library:
                return getattr(module, name, MISSING)
            raise UnwatchableError(
                f"it reads {path}.{name}, which the module makes when it is asked: pass it as an "
                "argument"
            )
        return value

    def _attribute(self, owner: Any, name: str, path: str) -> tuple[Any, bool]:
        """The value of an attribute, and whether all that is read by it was found."""
        kind = owner if isinstance(owner, type) else type(owner)
        if isinstance(owner, FunctionType):
            self.value(owner, path)
            return self._watch.attribute(owner, name, f"{path}.{name}"), False
        found = inspect.getattr_static(owner, name, MISSING)
        if kind in CONSTANTS or _is_opaque(type(owner)) or not is_of_python(kind):
            self._method_of_library(owner, found, f"{path}.{name}")
            self.value(owner, path)
            return None, True
        if is_class_of_library(kind):
            self._method_of_library(owner, found, f"{path}.{name}")
            self.value(owner, path)
            return None, True
        path = f"{path}.{name}"
        if found is MISSING:
            return self._watch.attribute(owner, name, path), True
        if isinstance(found, property):
            self._watch.attribute(kind, name, path)
            for part in (found.fget, found.fset):
                if isinstance(part, FunctionType):
                    self.function(part, owner, path)
            return None, True
        if isinstance(found, functools.cached_property):
            if isinstance(owner, type):
                self.value(found.func, path)
            else:  # not computed yet
                self._name(vars(owner), name, path)
                if isinstance(found.func, FunctionType):
                    self.function(found.func, owner, path)
            return None, True
        is_method = isinstance(found, FunctionType) and not isinstance(owner, type)
        if is_method and name not in own_attribute(owner, "__dict__", ()):
            self._watch.attribute(owner, name, path)
            self.function(found, owner, path)
            return None, True
        if not _is_plain(found):
            self.value(owner, path)
            return None, True
        return self._watch.attribute(owner, name, path), False

    def _method_of_library(self, owner: Any, found: Any, path: str) -> None:
        """A method that is no code of the user's, of an object or of a class."""
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, FunctionType):
            if is_of_library(found.__code__.co_filename):
                self.function(found, owner, path)
        elif isinstance(owner, type):
            if isinstance(found, ClassMethodDescriptorType):
                found = found.__get__(None, owner)
            if isinstance(found, BuiltinFunctionType):
                self.value(found, path)

    # --- values as a whole

    def value(self, value: Any, path: str) -> None:
        """A value, and all that is in it."""
        kind = type(value)
        if issubclass(kind, Replayed):  # they say that they are of other classes
            raise UnwatchableError(
                f"it reads {path}, which a function around it has computed: pass it as an argument"
            )
        if kind in CONSTANTS or value is MISSING or isinstance(value, (Var, Dual)):
            return
        if isinstance(value, ModuleType):
            self._modules[path] = value
        elif self._is_new(value):
            self._new_value(value, path)

    def _new_value(self, value: Any, path: str) -> None:
        kind = type(value)
        root = kind.__module__.partition(".")[0]
        if isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, (functools._lru_cache_wrapper)):
            self._cache(value, path)
        elif root == "cadiff":
            self._of_cadiff(value, path)
        elif value is os.environ:
            self._watch.mapping(vars(value)["_data"], "os.environ")
        elif value is sys.modules:  # see _loaded_modules
            self._watch.mapping(value, path)
        elif root in ("logging", "pathlib"):  # written to when f is recorded; does not change
            return
        elif is_table(value):
            self._table(value, path)
        else:
            base = base_in_c(kind)
            handler = _HANDLERS.get(base) or _HANDLERS_BY_NAME.get(
                f"{base.__module__}.{base.__qualname__}"
            )
            if handler is not None:
                handler(self, value, path)
            elif isinstance(value, BaseException):
                self.value(self._watch.attribute(value, "args", path), path)
            elif not self._is_harmless(value, base):
                raise UnwatchableError(UNKNOWN.format(path=path, what=_named_kind(kind)))
            if kind is not base or base is SimpleNamespace:
                self._own(value, path)

    def _is_harmless(self, value: Any, base: type) -> bool:
        """Whether nothing in an object of another class of C can change."""
        if callable(value) and isinstance(own_attribute(value, "__module__"), str):
            return not unsafe(value)
        is_constant = isinstance(value, (np.dtype, np.ufunc)) or base in CONSTANTS
        return is_constant or is_structure(value) or is_safe_stream(value)

    def _builtin(self, value: Any, path: str) -> None:
        """A function of C, perhaps a method, such as a dict's get."""
        if any(value is one for one in _ASK_IDENTITY):
            raise UnwatchableError(AsGiven(IDENTITY.format(what=value.__name__, where=path)))
        reason = unsafe(value)
        if reason:
            raise UnwatchableError(OUTSIDE.format(name=reason))
        if not isinstance(value.__self__, ModuleType):
            self.value(value.__self__, path)

    def _method(self, value: Any, path: str) -> None:
        if isinstance(value.__func__, FunctionType):
            self.function(value.__func__, value.__self__, path)
        else:
            self.value(value.__func__, path)
            self.value(value.__self__, path)

    def _ufunc(self, value: np.ufunc, path: str) -> None:
        """Of NumPy, SciPy, or of a function of Python's."""
        for part in gc.get_referents(value):
            if callable(part):
                self.value(part, f"the function of {path}")
                return
        name = value.__name__
        for module in ("numpy", "numpy._core.umath", "numpy.core.umath", "scipy.special"):
            found = vars(sys.modules.get(module, builtins))
            if found.get(name) is value or any(value is one for one in found.values()):
                return
        raise UnwatchableError(UNKNOWN.format(path=path, what="a ufunc of an unknown library"))

    def _dtype(self, value: np.dtype[Any], path: str) -> None:
        if value.names is not None:
            self._watch.attribute(value, "names", f"{path}.names")

    def _array(self, array: np.ndarray[Any, Any], path: str) -> None:
        if array.dtype.hasobject:
            items = array.ravel().tolist()
            self._watch.objects(array, path)
            self._items(items, path)
        else:
            self._watch.array(array, path)

    def _record(self, value: np.void, path: str) -> None:
        if value.dtype.hasobject:
            raise UnwatchableError(UNKNOWN.format(path=path, what="a record that holds objects"))
        self._watch.array(np.asarray(value), path)

    def _items(self, items: Any, path: str) -> None:
        for item in items:
            if type(item) not in CONSTANTS:
                self.value(item, path)

    def _mapping(self, value: Any, path: str) -> None:
        self._watch.mapping(value, path)
        self._items([*dict.keys(value), *dict.values(value)], path)
        if isinstance(value, defaultdict):
            self.value(self._watch.attribute(value, "default_factory", path), path)

    def _ordered(self, value: Any, path: str) -> None:
        self._watch.members(OrderedDict.items(value), path)  # which has an order of its own
        self._items([*OrderedDict.keys(value), *OrderedDict.values(value)], path)

    def _sequence(self, value: Any, path: str) -> None:
        if type(value) is list:
            self._watch.sequence(value, path)
        else:
            self._watch.members(value, path)
        self._items(list(value), path)

    def _view(self, value: Any, path: str) -> None:
        """What shows the keys or the values of a dict, or all of it."""
        of = gc.get_referents(value)
        self._items(of, path)

    def _fixed(self, value: Any, path: str) -> None:
        is_slice = type(value) is slice
        self._items((value.start, value.stop, value.step) if is_slice else value, path)

    def _buffer(self, value: Any, path: str) -> None:
        self._watch.buffer(value, path)

    def _partial(self, value: Any, path: str) -> None:
        for name in ("func", "args", "keywords"):
            text = f"{path}.{name}"
            self.value(self._watch.attribute(value, name, text), text)
        if vars(value):
            self._items(self._watch.namespace(value, path), path)

    def _wrapped(self, value: Any, path: str) -> None:
        self._items(behind(value), path)

    def _cache(self, value: Any, path: str) -> None:
        """What a function that remembers its results has remembered."""
        self.value(value.__wrapped__, path)
        for part in gc.get_referents(value):
            if type(part) is dict and part is not vars(value):
                self._watch.mapping(part, f"results of {path}")
            elif part is not value.__wrapped__ and not isinstance(part, type):
                self.value(part, f"results of {path}")

    def _generator(self, value: Any, path: str) -> None:
        if isinstance(value, random.SystemRandom):
            raise UnwatchableError(OUTSIDE.format(name="random.SystemRandom"))
        self.generators.append((path, value))

    def _decimal(self, value: Any, path: str) -> None:
        if not self._has_decimals:
            self._has_decimals = True
            self._watch.answer(_decimal_context, "decimal.getcontext()")

    def _table(self, value: Any, path: str) -> None:
        kind = type(value)
        if kind.__module__.partition(".")[0] == "pandas":
            self._watch.table(value, path)
            return
        raise UnwatchableError(
            f"it reads {path}, {_named_kind(kind)}, whose changes cannot be seen: give it "
            "arrays, such as those that to_numpy() makes"
        )

    def _of_cadiff(self, value: Any, path: str) -> None:
        if isinstance(value, primitive):
            self._is_in_step, former = True, self._is_in_step
            for name in ("pulls", "pushes", "patterns"):
                self._mapping(getattr(value, name), f"{name} of {path}")
            try:
                self.value(value.function, path)
            except UnwatchableError as error:  # which does no harm where replays run it
                self.unwatched_steps[id(value)] = error.reason
            self._is_in_step = former
        elif isinstance(value, WeakMethod):
            self._method(value, path)
        else:
            inner = own_attribute(value, "__wrapped__")
            parts = () if inner is not None else own_attribute(value, "__dict__", {}).values()
            for part in (inner, *parts):
                is_wrapper = own_attribute(part, "__wrapped__") is not None
                if is_wrapper or isinstance(part, (FunctionType, MethodType)):
                    self.value(part, path)

    def _own(self, value: Any, path: str) -> None:
        """The attributes of an object, and its class."""
        kind = type(value)
        self._items(self._watch.namespace(value, path), path)
        for name in _slots(kind):
            part = self._watch.attribute(value, name, f"{path}.{name}")
            self.value(part, f"{path}.{name}")
        self.value(kind, kind.__qualname__)

    def _class(self, kind: type, path: str) -> None:
        """What is in a class of the user's, and in those that it derives from."""
        if not is_safe_class(kind):
            raise UnwatchableError(UNKNOWN.format(path=path, what=_named_kind(kind)))
        if kind.__module__ == "decimal":
            self._decimal(kind, path)
        if isinstance(kind, abc.ABCMeta) and self._is_new(abc):
            self._watch.answer(abc.get_cache_token, "what is registered with abstract classes")
        if _is_fixed(kind):
            return
        self._watch.class_of(kind, kind.__qualname__)
        if not is_class_of_library(type(kind)):
            self.value(type(kind), type(kind).__qualname__)
        for base in kind.__mro__:
            if base is object or (is_class_of_library(base) and not is_class_read(base)):
                continue
            for field in vars(base).get("__dataclass_fields__", {}).values():
                for part in (field.default, field.default_factory):
                    if part is not dataclasses.MISSING:
                        self.value(part, f"{base.__qualname__}.{field.name}")
            for name, part in list(vars(base).items()):
                if name in _OF_EVERY_CLASS or isinstance(part, _DESCRIPTORS):
                    continue
                if "__dataclass_fields__" in vars(base) and _is_generated(name, part):
                    self.codes.append(part.__code__)
                    continue
                for item in behind(part):
                    if isinstance(item, FunctionType) and not isinstance(part, staticmethod):
                        self.function(item, None, f"{base.__qualname__}.{name}", base)
                    else:
                        self.value(item, f"{base.__qualname__}.{name}")


_HANDLERS: dict[type, Callable[[_Walk, Any, str], None]] = {
    object: lambda walk, value, path: None,
    SimpleNamespace: lambda walk, value, path: None,
    FunctionType: lambda walk, value, path: walk.function(value, None, path),
    BuiltinFunctionType: _Walk._builtin,
    MethodType: _Walk._method,
    MethodWrapperType: lambda walk, value, path: walk.value(value.__self__, path),
    CellType: lambda walk, value, path: walk.value(walk._watch.cell(value, path), path),
    ReferenceType: lambda walk, value, path: walk.value(value(), path),
    functools.partial: _Walk._partial,
    property: _Walk._wrapped,
    staticmethod: _Walk._wrapped,
    classmethod: _Walk._wrapped,
    dict: _Walk._mapping,
    defaultdict: _Walk._mapping,
    OrderedDict: _Walk._ordered,
    list: _Walk._sequence,
    set: _Walk._sequence,
    deque: _Walk._sequence,
    tuple: _Walk._fixed,
    frozenset: _Walk._fixed,
    slice: _Walk._fixed,
    MappingProxyType: _Walk._view,
    type({}.keys()): _Walk._view,
    type({}.values()): _Walk._view,
    type({}.items()): _Walk._view,
    bytearray: _Walk._buffer,
    array: _Walk._buffer,
    memoryview: _Walk._buffer,
    ctypes.Array: _Walk._buffer,
    np.ndarray: _Walk._array,
    np.void: _Walk._record,
    np.ufunc: _Walk._ufunc,
    random.Random.__mro__[1]: _Walk._generator,
}
# Of modules that are not loaded for this.
_HANDLERS_BY_NAME: dict[str, Callable[[_Walk, Any, str], None]] = {
    "decimal.Decimal": _Walk._decimal,
    "mmap.mmap": _Walk._buffer,
    **{
        f"numpy.random.{name}": _Walk._generator
        for name in (
            *("_generator.Generator", "mtrand.RandomState", "_mt19937.MT19937", "_pcg64.PCG64"),
            *("_pcg64.PCG64DXSM", "_philox.Philox", "_sfc64.SFC64"),
        )
    },
}
# What reads attributes by names that are computed.
_ASK_BY_NAME = frozenset(
    (
        *("getattr", "hasattr", "setattr", "vars", "dir", "attrgetter", "methodcaller"),
        *("__dict__", "__getattribute__", "getattr_static", "getmembers"),
    )
)
# What random generators are copied by, or others are made of.
_OF_STATES = frozenset(
    ("bit_generator", "get_state", "getstate", "jumped", "seed_seq", "spawn", "__getstate__")
)
_ASK_IDENTITY: tuple[Any, ...] = (id, operator.is_, operator.is_not)
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


def _builtins_of(function: Any) -> dict[str, Any]:
    names: dict[str, Any] = function.__builtins__
    return names


def _decimal_context() -> tuple[Any, ...]:
    import decimal

    context = decimal.getcontext()
    return (context.prec, context.rounding, context.Emin, context.Emax, context.clamp)


def _named_kind(kind: type) -> str:
    return f"a {kind.__module__}.{kind.__qualname__}".replace(" builtins.", " ")


def _is_fixed(kind: type) -> bool:
    """Whether nothing can be set in a class: it is one of C."""
    return bool(kind.__flags__ & 1 << 8)  # Py_TPFLAGS_IMMUTABLETYPE


def _is_opaque(kind: type) -> bool:
    """Whether attributes of its objects are what code of the user's makes of their names."""
    for name in ("__getattr__", "__getattribute__"):
        found = inspect.getattr_static(kind, name, None)
        if found is not None and not any(found is one for one in _GETTERS):
            return True
    return False


def _is_plain(found: Any) -> bool:
    """Whether what is found for an attribute is its value: no code makes it of that."""
    kind = type(found)
    known = (FunctionType, staticmethod, classmethod, type, *_DESCRIPTORS)
    return issubclass(kind, known) or inspect.getattr_static(kind, "__get__", None) is None


def _is_generated(name: str, part: Any) -> bool:
    """Whether a method of a dataclass is one of those that come with every dataclass."""
    if not isinstance(part, FunctionType) or not name.startswith("__"):
        return False
    file = part.__code__.co_filename
    return file == "<string>" or is_of_library(file)


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


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def watch_call(f: Any, statics: list[Any]) -> Watch:
    """What f reads in a call beside its inputs: also of the arguments that are no numbers.

    Its `asks_types` says whether f, or what it calls, may ask for the type of an argument;
    `is_written` whether they change what they read; `keeps` whether they may keep what they
    compute; `generators` has those that they may draw random numbers from, and `codes` all code
    of the user's that was looked at; `unwatched_steps` has reasons why functions of primitives are
    not watched, which matters where they get plain numbers alone.
    """
    watch = Watch()
    walk = _Walk(watch)
    try:
        walk.value(f, own_attribute(f, "__qualname__", type(f).__name__))
        for item in statics:
            if isinstance(item, FunctionType):  # perhaps a lambda that is made for each call
                watch.keep(item)
            walk.value(item, f"an argument, {_named_kind(type(item))}")
        walk.modules()
    except RecursionError:
        raise UnwatchableError(
            "it reads containers that are nested too deeply to be watched: pass what it computes "
            "with as an argument"
        ) from None
    walk.check_identities()
    walk.check_generators()
    watch.asks_types = walk.asks_types
    watch.is_written = walk.is_written
    watch.keeps = walk.keeps
    watch.generators = walk.generators
    watch.codes = walk.codes
    watch.unwatched_steps = walk.unwatched_steps
    return watch
