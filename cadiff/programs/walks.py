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
import contextlib
import copy
import copyreg
import ctypes
import dataclasses
import functools
import gc
import inspect
import operator
import os
import random
import sys
import threading
import warnings
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    TracebackType,
)
from typing import Any
from weakref import ReferenceType

import numpy as np

from ..binding import MISSING, Dual, Var, Watch, WeakMethod, own_attribute
from ..binding.callers import (
    is_class_of_library,
    is_module_of_library,
    is_of_known_library,
    is_of_library,
)
from ..operations.primitives import primitive
from ..operations.replayed import Replayed
from .kinds import (
    CONSTANTS,
    DESCRIPTORS,
    base_in_c,
    behind,
    holds_numbers,
    is_class_read,
    is_fixed,
    is_generated,
    is_log,
    is_of_logging,
    is_of_python,
    is_of_state,
    is_opaque,
    is_plain,
    is_random,
    is_read,
    is_safe_class,
    is_safe_stream,
    is_structure,
    n_followed,
    slots,
    unsafe,
)
from .named import needs_arguments
from .questions import OF_CLASSES, OF_LOCKS, asks_by_name, asks_state, asks_unwatched
from .reads import Chain, Operand, Reads, reads_of
from .settings import decimal_context, seen_by

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
        self._text = reason
        self._is_placed = isinstance(reason, AsGiven)  # which say so themselves

    @property
    def reason(self) -> str:
        """Why f runs as it is: on its own arguments, since nobody sees which numbers it keeps."""
        return AsGiven(self._text)

    def at(self, place: str) -> UnwatchableError:
        """The same, with where it was found, if it does not say so yet."""
        if not self._is_placed:
            self._text, self._is_placed = f"{self._text} ({place})", True
        return self


class NestedTooDeepError(UnwatchableError):
    """Containers are read of which no walker sees the end."""

    @property
    def reason(self) -> str:
        return self._text


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
        self._is_in_step = False  # of which replays run the code, with all that it changes
        self._locks: list[tuple[str, Any]] = []
        self._classes: list[type] = []  # of the user's
        self._gets_loggers = False
        self._handles = False  # exceptions
        self._raising: set[str] = set()  # libraries in which it is set which are raised
        self._exceptions: list[type[BaseException]] = []
        self._names: set[str] = set()  # that the user's code has: methods, strings and all else
        self._modules: dict[str, ModuleType] = {}  # by what they are called, looked into at last
        self._asked: list[tuple[str, str]] = []  # names of methods, and what these ask
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
            if owner is not None and not is_log(function):  # which it may read all of
                self.value(owner, path.rpartition(".")[0] or path)
            return
        self._watch.function(function, f"code of {path}")
        if function.__dict__:
            self._items(self._watch.namespace(function, f"attributes of {path}"), path)
        for defaults in (function.__defaults__, function.__kwdefaults__):
            if defaults:
                self.value(defaults, f"a default of {path}")
        reads = reads_of(function.__code__)
        self._note_codes(function.__code__, reads.has_functions)
        self.asks_types = self.asks_types or reads.asks_types
        self._handles = self._handles or reads.catches or reads.catches_all
        if reads.catches_all:
            self._exceptions.append(BaseException)
        self._names.update(reads.names)
        for identity in reads.identities:
            if needs_arguments(identity, function, owner, kind):
                where = f"line {identity.line} of {path}"
                name = "" if kind is None else path.rpartition(".")[2]
                self._asked.append((name, IDENTITY.format(what=identity.what, where=where)))
                self.check_identities()
        self._names_of(function, owner, reads, path)

    def _note_codes(self, code: CodeType, has_functions: bool = True) -> None:
        self.codes.append(code)
        for part in code.co_consts if has_functions else ():
            if isinstance(part, CodeType):
                self._note_codes(part)

    def _function_of_library(self, function: FunctionType, path: str) -> None:
        is_known = is_of_known_library(function.__code__.co_filename)
        reason = unsafe(function) if is_known else ""
        if function is os.getenv:
            self.value(os.environ, "os.environ")
        elif function is getattr(sys.modules.get("logging"), "getLogger", None):
            self._gets_loggers = True
        elif function in (copy.copy, copy.deepcopy):
            self._watch.mapping(copyreg.dispatch_table, "how classes are copied")
        elif reason:
            raise UnwatchableError(OUTSIDE.format(name=reason))
        for k, name in enumerate(function.__code__.co_freevars):  # of a wrapper
            text = f"{name} in {path}"
            self.value(self._watch.free_variable(function, k, text), text)

    def _names_of(self, function: FunctionType, owner: Any, reads: Reads, path: str) -> None:
        """What the names in the code of a function stand for."""

        def follow(operand: Operand) -> Any:
            where, chain = operand
            if where == "globals":
                return self._global(function.__globals__, _builtins_of(function), chain)
            if where == "first":
                return self._chain(owner, chain, f"self in {path}")
            text = f"{chain[0]} in {path}"
            index = function.__code__.co_freevars.index(chain[0])
            value = self._watch.free_variable(function, index, text)
            return self._chain(value, chain[1:], text)

        own = reads.changes if self._is_in_step else ()
        for operand, line in reads.chains.items():
            if operand.where == "first":
                if owner is None:
                    break  # these are the last ones
            elif operand.chain[0] in own:
                continue
            try:
                value = follow(operand)
                if operand in reads.calls and (is_random(value) or is_of_state(value)):
                    seedless = " without a seed" if is_random(value) else ""
                    name = f"{'.'.join(operand.chain)}(){seedless}"
                    raise UnwatchableError(OUTSIDE.format(name=name))
            except UnwatchableError as error:
                raise error.at(f"line {line} of {path}") from None
        for chain in reads.imports:
            self._import(chain)

    def _global(self, names: dict[str, Any], built_in: dict[str, Any], chain: Chain) -> Any:
        module = names.get("__name__", "")
        text = chain[0] if module == "__main__" else f"{module}.{chain[0]}"
        value = self._name(names, chain[0], text)
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
                if asks_by_name(self._names) and path not in done:
                    is_done = False
                    self._watch.mapping(names, path)
                    if not is_module_of_library(module):
                        self._items(list(names.values()), path)
                new = (self._names & names.keys()) - done.setdefault(path, set())
                done[path] |= new
                for name in sorted(new):
                    is_done = False
                    self._chain(module, (name,), path)

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

    def watch_named(self) -> None:
        """What the code asks by names that say of what, and which exceptions it may catch."""
        for name in OF_CLASSES & self._names:
            for kind in self._classes:
                self._watch.attribute(kind, name, f"{kind.__qualname__}.{name}")
        if not OF_LOCKS.isdisjoint(self._names):
            for path, lock in self._locks:
                self._watch.answer(getattr(lock, "locked", lock.__repr__), path, is_portable=False)
        # Whether exceptions that the code may catch are raised is set elsewhere.
        for kind in self._exceptions if self._handles else ():
            for ask, name in seen_by(kind, self._raising):
                if self._is_new(ask):
                    self._watch.answer(ask, name)
        if asked := asks_unwatched(self._names, self._gets_loggers):
            raise UnwatchableError(OUTSIDE.format(name=asked))

    def check_generators(self) -> None:
        """Raise where the code may read the state of a random generator without drawing."""
        if self.generators and (asked := asks_state(self._names)):
            raise UnwatchableError(OUTSIDE.format(name=f"{self.generators[0][0]}.{asked}"))

    # --- chains

    def _chain(self, value: Any, rest: Chain, path: str) -> Any:
        """What a value is, and what is read of it by a chain of attributes, as far as known."""
        for name in rest:
            if value is MISSING:
                return None
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
        if is_safe_stream(owner) and name not in ("flush", "write", "writelines"):
            raise UnwatchableError(UNKNOWN.format(path=f"{path}.{name}", what="of a stream"))
        if kind in CONSTANTS and name in own_attribute(owner, "__dict__", ()):
            return self._watch.attribute(owner, name, f"{path}.{name}"), False
        if kind in CONSTANTS or is_opaque(type(owner)) or not is_of_python(kind):
            self._method_of_library(owner, found, f"{path}.{name}")
            self.value(owner, path)
            return None, True
        if is_class_of_library(kind):
            self._method_of_library(owner, found, f"{path}.{name}")
            if not is_log(found):
                self.value(owner, path)
            return None, True
        path = f"{path}.{name}"
        if found is MISSING:
            return self._watch.attribute(owner, name, path), True
        if isinstance(found, property):
            self._watch.attribute(kind, name, path)
            if isinstance(owner, type):  # it is the property that is asked for
                self._watch.attribute(found, "__doc__", f"{path}.__doc__")
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
        if not is_plain(found):
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
        if kind is type(np.sum) and (reason := unsafe(value)):  # some write files
            raise UnwatchableError(OUTSIDE.format(name=reason))
        if kind in CONSTANTS or value is MISSING or isinstance(value, (Var, Dual)):
            return
        if isinstance(value, ModuleType):
            self._modules[path] = value
        elif self._is_new(value):
            self._new_value(value, path)

    def _new_value(self, value: Any, path: str) -> None:
        kind = type(value)
        root = str(kind.__module__).partition(".")[0]  # of functions in Cython it is no text
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
        elif isinstance(value, np.dtype):
            self._dtype(value, path)
        elif is_of_logging(kind):
            self._logger(value, path)
        elif root == "pathlib":  # paths do not change
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
                self._exception(value, path)
            elif not self._is_harmless(value, base):
                raise UnwatchableError(UNKNOWN.format(path=path, what=_named_kind(kind)))
            if kind is not base or base is SimpleNamespace:
                self._own(value, path)

    def _is_harmless(self, value: Any, base: type) -> bool:
        """Whether nothing in an object of another class of C can change."""
        told = [own_attribute(value, name) for name in ("__module__", "__name__")]
        if callable(value) and all(isinstance(text, str) for text in told):  # a function
            return not unsafe(value)
        is_constant = isinstance(value, np.ufunc) or base in CONSTANTS
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
                if module == "scipy.special":
                    self._raising.add("special")
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

    def _logger(self, value: Any, path: str) -> None:
        """What is set of a logger; but not what it keeps, and where it writes."""
        for name, item in zip(vars(value), self._watch.namespace(value, path), strict=True):
            text = f"{path}.{name}"
            if name == "handlers":
                self._watch.sequence(item, text)
            elif name not in _KEPT_BY_LOGGERS:
                self.value(item, text)
        self.value(own_attribute(value, "manager"), f"{path}.manager")  # the root has its class's
        if not is_class_of_library(type(value)):
            self.value(type(value), type(value).__qualname__)

    def _lock(self, value: Any, path: str) -> None:
        self._locks.append((path, value))

    def _exception(self, value: BaseException, path: str) -> None:
        for base in type(value).__mro__:
            for name, part in vars(base).items():
                if isinstance(part, DESCRIPTORS) and name not in _OF_EVERY_CLASS:
                    text = f"{path}.{name}"
                    found = self._watch.attribute(value, name, text)
                    if not isinstance(found, TracebackType):
                        self.value(found, text)

    def _view(self, value: Any, path: str) -> None:
        """What shows the keys or the values of a dict, or all of it."""
        of = gc.get_referents(value)
        self._items(of, path)

    def _fixed(self, value: Any, path: str) -> None:
        is_slice = type(value) is slice
        self._items((value.start, value.stop, value.step) if is_slice else value, path)

    def _buffer(self, value: Any, path: str) -> None:
        if isinstance(value, ctypes.Array) and not holds_numbers(type(value)):
            raise UnwatchableError(UNKNOWN.format(path=path, what="pointers in an array"))
        self._watch.buffer(value, path)

    def _file_in_memory(self, value: Any, path: str) -> None:
        self._buffer(value, path)
        self._watch.answer(value.tell, f"position in {path}")

    def _neighbours(self, value: Any, path: str) -> None:
        """The points of a tree that finds neighbours, and what it is made of."""
        for name in ("data", "indices", "maxes", "mins"):
            self._array(getattr(value, name), f"{path}.{name}")

    def _partial(self, value: Any, path: str) -> None:
        for name in ("func", "args", "keywords"):
            text = f"{path}.{name}"
            self.value(self._watch.attribute(value, name, text), text)
        if vars(value):
            self._items(self._watch.namespace(value, path), path)

    def _wrapped(self, value: Any, path: str) -> None:
        self._items(behind(value), path)
        if own_attribute(value, "__dict__"):
            self._items(self._watch.namespace(value, path), path)

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
        self._raising.add("decimal")
        if self._is_new(decimal_context):
            self._watch.answer(decimal_context, "decimal.getcontext()")

    def _table(self, value: Any, path: str) -> None:
        kind = type(value)
        if kind.__module__.partition(".")[0] == "pandas":
            self._watch.table(value, path)
            self.value(self._watch.attribute(value, "attrs", path), f"{path}.attrs")
            held = [x for name, x in vars(value).items() if name[:1] != "_"]
            self._items([*held, *_objects_in(value)], path)
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
        for name in slots(kind):
            part = self._watch.attribute(value, name, f"{path}.{name}")
            self.value(part, f"{path}.{name}")
        self.value(kind, kind.__qualname__)

    def _class(self, kind: type, path: str) -> None:
        """What is in a class of the user's, and in those that it derives from."""
        if not is_safe_class(kind):
            raise UnwatchableError(UNKNOWN.format(path=path, what=_named_kind(kind)))
        if kind.__module__ == "decimal":
            self._decimal(kind, path)
        if issubclass(kind, BaseException):
            self._exceptions.append(kind)
        elif kind in _HANDLING:
            self._handles = True
            self._exceptions.append(_HANDLING[kind])
        if isinstance(kind, abc.ABCMeta) and self._is_new(abc):
            text = "what is registered with abstract classes"
            self._watch.answer(abc.get_cache_token, text, is_portable=False)
        if is_fixed(kind):
            return
        self._watch.class_of(kind, kind.__qualname__)
        self._classes.append(kind)
        if not is_class_of_library(type(kind)):
            self.value(type(kind), type(kind).__qualname__)
        for base in kind.__mro__:
            if base is object or (is_class_of_library(base) and not is_class_read(base)):
                continue
            if "__exit__" in vars(base):
                self._handles = True
                self._exceptions.append(BaseException)
            for field in vars(base).get("__dataclass_fields__", {}).values():
                for part in (field.default, field.default_factory):
                    if part is not dataclasses.MISSING:
                        self.value(part, f"{base.__qualname__}.{field.name}")
            for name, part in list(vars(base).items()):
                if name in _OF_EVERY_CLASS or isinstance(part, DESCRIPTORS):
                    continue
                if "__dataclass_fields__" in vars(base) and is_generated(name, part):
                    self.codes.append(part.__code__)
                    if part.__defaults__ or part.__kwdefaults__:
                        self._watch.function(part, f"defaults of {base.__qualname__}.{name}")
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
    type(threading.Lock()): _Walk._lock,
    type(threading.RLock()): _Walk._lock,
}
# Of modules that are not loaded for this.
_HANDLERS_BY_NAME: dict[str, Callable[[_Walk, Any, str], None]] = {
    "builtins.SuperLU": lambda walk, value, path: None,  # SciPy's
    "decimal.Decimal": _Walk._decimal,
    "mmap.mmap": _Walk._file_in_memory,
    "scipy.spatial._ckdtree.cKDTree": _Walk._neighbours,
    **{
        f"numpy.random.{name}": _Walk._generator
        for name in (
            *("_generator.Generator", "mtrand.RandomState", "_mt19937.MT19937", "_pcg64.PCG64"),
            *("_pcg64.PCG64DXSM", "_philox.Philox", "_sfc64.SFC64"),
        )
    },
}
# What deals with exceptions of others than those that are named beside it, and with which.
_HANDLING: dict[type, type[BaseException]] = {
    contextlib.ExitStack: BaseException,
    contextlib.suppress: Warning,
    warnings.catch_warnings: Warning,
}
# Remembered answers, other loggers, and what texts are made of and written to.
_KEPT_BY_LOGGERS = frozenset(("_cache", "formatter", "lock", "loggerDict", "stream"))
_ASK_IDENTITY: tuple[Any, ...] = (id, operator.is_, operator.is_not)
_OF_EVERY_CLASS = frozenset(
    (
        *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__"),
        *("__annotations__", "__firstlineno__", "__static_attributes__", "__abstractmethods__"),
        *("_abc_impl", "__dataclass_params__", "__dataclass_fields__", "__match_args__"),
        *("__parameters__", "__orig_bases__", "__hash__", "__annotate_func__", "__type_params__"),
    )
)


def _objects_in(table: Any) -> Iterator[Any]:
    """The objects in a table and its labels, but for those of pandas, which do not change."""
    columns = [x for _, x in table.items()] if getattr(table, "ndim", 1) == 2 else [table]
    for part in (*columns, *(getattr(table, name, None) for name in ("index", "columns"))):
        array = part.to_numpy() if is_table(part) else np.empty(0)
        for item in array.ravel().tolist() if array.dtype.hasobject else ():
            if not type(item).__module__.startswith("pandas."):
                yield item


def _builtins_of(function: Any) -> dict[str, Any]:
    names: dict[str, Any] = function.__builtins__
    return names


def _named_kind(kind: type) -> str:
    return f"a {kind.__module__}.{kind.__qualname__}".replace(" builtins.", " ")


def watch_call(f: Any, statics: list[Any]) -> Watch:
    """What f reads in a call beside its inputs: also of the arguments that are no numbers.

    Its `asks_types` says whether f, or what it calls, may ask for the type of an argument;
    `generators` has those that they may draw random numbers from, and `codes` all code
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
        raise NestedTooDeepError(
            "it reads containers that are nested too deeply to be watched: pass what it computes "
            "with as an argument"
        ) from None
    walk.watch_named()
    walk.check_identities()
    walk.check_generators()
    watch.asks_types = walk.asks_types
    watch.generators = walk.generators
    watch.codes = walk.codes
    watch.n_followed = n_followed()
    watch.unwatched_steps = walk.unwatched_steps
    return watch
