"""Finds what a function reads beside its arguments: globals, closures, attributes, containers.

A walk takes the names in the code (reads.py) and follows their chains, such as `settings.rate`, to
their values. It runs no code of the user's: where a property or a `__getattr__` would have to run,
it looks into the whole object instead. It looks into each value as a whole
(contents.py), and reads the functions in it in their turn. It leaves out the code of libraries,
unless that was seen to run and nothing is known of the library (observations.py). A `Watch` keeps
what the walk has met; if it cannot, f is run eagerly. This module does not know what is recorded.
"""

from __future__ import annotations

import copy
import copyreg
import functools
import inspect
import os
import sys
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from ..binding import MISSING, Dual, Var, Watch, answers_as_numpy, callers, own_attribute
from ..operations.replayed import Replayed
from . import library_types
from .contents import of_value
from .findings import ASKING, BY_NAME, Findings
from .named import may_be_of_numbers, needs_arguments
from .reads import Chain, Import, Operand, Reads, reads_of
from .reasons import IDENTITY, UNKNOWN, NestedTooDeepError, UnwatchableError

# What an import leaves in a module, which nobody looks into but by these names.
_OF_IMPORTS = frozenset(("__builtins__", "__loader__", "__spec__"))


class _Walk(Findings):
    def value(self, value: Any, path: str) -> None:
        kind = type(value)
        if kind is FunctionType:
            self.function(value, path)
            return
        if issubclass(kind, Replayed):  # they say that they are of other classes
            raise UnwatchableError(
                f"it reads {path}, which a function around it has computed: pass it as an argument"
            )
        if kind is type(np.sum) and (reason := library_types.unsafe(value)):  # some write files
            self.refuse(reason)
        if kind in library_types.CONSTANTS or value is MISSING or issubclass(kind, (Var, Dual)):
            return
        if issubclass(kind, ModuleType):
            self._note_module(value, path)
            if not callers.is_class_of_library(kind):
                self.value(kind, library_types.name_of(kind))
        elif self.is_new(value):
            try:
                of_value(self, value, path)
            except UnwatchableError:
                self.forget(value)
                raise

    def _note_module(self, module: ModuleType, path: str) -> None:
        self.modules.setdefault(id(module), (path, module))

    def function(
        self, function: FunctionType, path: str, owner: Any = None, kind: type | None = None
    ) -> None:
        if not self.is_new(function, owner):
            return
        code = function.__code__
        is_read = library_types.is_code_read(code)
        try:
            if is_read:
                self._of_user(function, path, owner, kind)
            else:
                self._of_library(function, path, owner)
        except UnwatchableError as error:
            if not is_read or self.is_in_step:
                self.forget(function, owner)
                raise
            self.suspect(function, error.reason)

    def _of_user(self, function: FunctionType, path: str, owner: Any, kind: type | None) -> None:
        reads = reads_of(function.__code__)
        self.watch.codes.append(function.__code__)
        self.functions.append((path, function, reads.names))
        if self.is_in_step:
            self.in_steps.add(function.__code__)
        if reads.has_functions:
            self._note_codes_in(function.__code__)
        if self.watch.function(function, f"code of {path}"):
            self.items(self.watch.namespace(function, f"attributes of {path}"), path)
        for defaults in (function.__defaults__, function.__kwdefaults__):
            if defaults:
                self.value(defaults, f"a default of {path}")
        self.watch.asks_types |= reads.asks_types
        for named in reads.types:
            self.watch.asks_types |= may_be_of_numbers(named, function, owner)
        asks = reads.asks_attributes or reads.catches or reads.catches_all
        self.handles = self.handles or asks
        if reads.catches_all:
            self.exceptions.append(BaseException)
        self.names.update(reads.names)
        # JAX's numbers have stand-ins in each call, whose answers are those of a recording, too.
        for identity in () if answers_as_numpy() else reads.identities:
            if needs_arguments(identity, function, owner, kind):
                where = f"line {identity.line} of {path}"
                self.suspect(function, IDENTITY.format(what=identity.what, where=where))
        if owner is not None or reads.begins_outside:
            self.of_names(function, owner, reads, path)

    def _note_codes_in(self, code: CodeType) -> None:
        for part in code.co_consts:
            if isinstance(part, CodeType):
                self.watch.codes.append(part)
                self._note_codes_in(part)

    # --- names of functions

    def _of_library(self, function: FunctionType, path: str, owner: Any) -> None:
        is_known = callers.is_of_known_library(function.__code__.co_filename)
        reason = library_types.unsafe(function) if is_known else ""
        self.names.add(ASKING.get(function.__module__, ""))
        if function is os.getenv:
            self.value(os.environ, "os.environ")
        elif function is getattr(sys.modules.get("logging"), "getLogger", None):
            self.gets_loggers = True
        elif function in (copy.copy, copy.deepcopy):
            self.watch.mapping(copyreg.dispatch_table, "how classes are copied")
        elif reason:
            self.refuse(reason)
        for k, name in enumerate(function.__code__.co_freevars):  # of a wrapper
            text = f"{name} in {path}"
            self.value(self.watch.free_variable(function, k, text), text)
        if owner is not None and not library_types.is_log(function):
            self.value(owner, path.rpartition(".")[0] or path)  # it may read all of it

    def of_names(self, function: FunctionType, owner: Any, reads: Reads, path: str) -> None:
        """What the names in the code of a function stand for."""

        def follow(operand: Operand) -> Any:
            where, chain = operand
            if where == "globals":
                return self._global(function, chain)
            if where == "first":
                return self._chain(owner, chain, f"self in {path}")
            text = f"{chain[0]} in {path}"
            index = function.__code__.co_freevars.index(chain[0])
            value = self.watch.free_variable(function, index, text)
            return self._chain(value, chain[1:], text)

        changed = reads.changes if self.is_in_step else ()
        for operand, line in reads.chains.items():
            if operand.where == "first":
                if owner is None:
                    break  # these are the last ones
            elif operand.chain[0].startswith("@"):
                continue  # nobody writes such names: they are of what pytest makes of `assert`
            elif operand.chain[0] in changed:
                continue
            try:
                value = follow(operand)
                if operand in reads.calls and (
                    library_types.is_random(value) or library_types.is_of_state(value)
                ):
                    seedless = " without a seed" if library_types.is_random(value) else ""
                    name = f"{'.'.join(operand.chain)}(){seedless}"
                    self.refuse(name)
            except UnwatchableError as error:
                raise error.at(f"line {line} of {path}") from None
        for imported in sorted(reads.imports):
            self._import(function, imported)

    def _global(self, function: Any, chain: Chain) -> Any:
        names = function.__globals__
        if type(names) is not dict:  # whose class may answer for names that are missing
            raise UnwatchableError(
                UNKNOWN.format(path=chain[0], what=f"of {library_types.named_kind(type(names))}")
            )
        module = names.get("__name__", "")
        text = chain[0] if module == "__main__" else f"{module}.{chain[0]}"
        value = self._name(names, chain[0], text)
        if value is MISSING:
            value = self._name(function.__builtins__, chain[0], chain[0])
            if len(chain) == 1 and value is library_types.HARMLESS_BUILTINS.get(chain[0], MISSING):
                return value
        return self._chain(value, chain[1:], text)

    def _name(self, names: dict[str, Any], name: str, path: str) -> Any:
        """What a name stands for; however often it is read, it is watched once."""
        key = (id(names), name)
        if key not in self.values:
            self.values[key] = self.watch.name(names, name, path)
        return self.values[key]

    def _import(self, function: FunctionType, imported: Import) -> None:
        """A module that is imported while the function runs, and those that it is in."""
        level, path, name = imported
        names = function.__globals__
        if level:
            package = self._name(names, "__package__", "__package__")
            if not isinstance(package, str):
                is_package = self._name(names, "__path__", "__path__") is not MISSING
                module = str(self._name(names, "__name__", "__name__"))
                package = module if is_package else module.rpartition(".")[0]
            path = ".".join(filter(None, (package.rsplit(".", level - 1)[0], path)))
        parts = path.split(".")
        for k in range(len(parts)):
            module = self._loaded(".".join(parts[: k + 1]))
            if module is not None and not name:
                self._note_module(module, ".".join(parts[: k + 1]))
        if name and self._loaded(path, name) is MISSING:
            self._loaded(f"{path}.{name}")

    def _loaded(self, path: str, *name: str) -> Any:
        """A module that is there, or a name in it; MISSING if it is not."""
        module = self._name(sys.modules, path, path)
        if not issubclass(type(module), ModuleType):  # it is not there yet, or something else
            self.value(module, path)
            return None
        return self._chain(module, name, path) if name else module

    # --- modules

    def of_modules(self) -> None:
        """The values read of modules that are handed on, by any name in the user's code.

        All of them where names are computed.
        """
        done: dict[int, set[str]] = {}
        is_done = False
        while not is_done:
            is_done = True
            if self.sees_loaded:
                self._loaded_modules()
            for number, (path, module) in list(self.modules.items()):
                names = vars(module)
                if not BY_NAME.isdisjoint(self.names) and number not in done:
                    is_done = False
                    self.watch.mapping(names, path)
                    if not callers.is_module_of_library(module):
                        self.items([names[x] for x in names if x not in _OF_IMPORTS], path)
                new = (self.names & names.keys()) - done.setdefault(number, set())
                done[number] |= new
                for name in sorted(new):
                    is_done = False
                    try:
                        self.value(self._name_of_module(module, name, path), f"{path}.{name}")
                    except UnwatchableError as error:
                        for _, function, words in self.functions:
                            if name in words:
                                self.suspect(function, error.reason)

    def _loaded_modules(self) -> None:
        """Modules in `sys.modules`: those of the user's, and others that are named."""
        for name, module in list(sys.modules.items()):
            if name in self.names or not (
                issubclass(type(module), ModuleType) and callers.is_module_of_library(module)
            ):
                self.value(module, f"sys.modules[{name!r}]")

    # --- attributes

    def _chain(self, value: Any, rest: Chain, path: str) -> Any:
        """What a value is, and what is read of it by a chain of attributes, as far as known."""
        for name in rest:
            if value is MISSING:
                return None
            if issubclass(type(value), ModuleType) and not _is_of_class(value, name):
                value = self._name_of_module(value, name, path)
            else:
                value = self._attribute(value, name, path)
            path = f"{path}.{name}"
        self.value(value, path)
        return value

    def _name_of_module(self, module: ModuleType, name: str, path: str) -> Any:
        if name in ("__dict__", "__getattribute__"):
            self._note_module(module, path)
            self.names.add("__dict__")
            return MISSING
        is_of_library = callers.is_module_of_library(module)
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

    def _attribute(self, owner: Any, name: str, path: str) -> Any:
        """The value of an attribute; None where all that is read by it was found."""
        is_class = issubclass(type(owner), type)
        kind = owner if is_class else type(owner)
        if kind is FunctionType:
            self.value(owner, path)
            return self.watch.attribute(owner, name, f"{path}.{name}")
        value = inspect.getattr_static(owner, name, MISSING)
        if library_types.is_safe_stream(owner) and name not in ("flush", "write", "writelines"):
            raise UnwatchableError(UNKNOWN.format(path=f"{path}.{name}", what="of a stream"))
        if kind in library_types.CONSTANTS and name in own_attribute(owner, "__dict__", ()):
            return self.watch.attribute(owner, name, f"{path}.{name}")
        is_whole = (
            kind in library_types.CONSTANTS
            or library_types.is_opaque(type(owner))
            or not library_types.is_of_python(kind)
        )
        if is_whole or callers.is_class_of_library(kind):
            self._method_of_library(owner, value, f"{path}.{name}")
            if is_whole or not library_types.is_log(value):
                self.value(owner, path)
            return None
        path = f"{path}.{name}"
        if value is MISSING:
            return self.watch.attribute(owner, name, path)
        if type(value) in (property, functools.cached_property):
            if type(value) is property:
                self.watch.attribute(kind, name, path)
            elif not is_class:  # not computed yet
                self._name(own_attribute(owner, "__dict__"), name, path)
            if is_class and type(value) is property:  # it is the property that is asked for
                self.watch.attribute(value, "__doc__", f"{path}.__doc__")
            for part in library_types.behind(value):
                if type(part) is FunctionType:
                    self.function(part, path, owner)
                elif part is not None:  # it is handed the object
                    self.items((part, owner), path)
            return None
        is_method = type(value) is FunctionType and not is_class
        if is_method and name not in own_attribute(owner, "__dict__", ()):
            self.watch.attribute(owner, name, path)
            self.function(value, path, owner)
            return None
        if not library_types.is_plain(value):
            self.value(owner, path)
            return None
        return self.watch.attribute(owner, name, path)

    def _method_of_library(self, owner: Any, method: Any, path: str) -> None:
        """A method that is no code of the user's, of an object or of a class."""
        if type(method) in (staticmethod, classmethod):
            method = method.__func__
        if type(method) is FunctionType:
            if callers.is_of_library(method.__code__.co_filename):
                self.function(method, path, owner)
        elif issubclass(type(owner), type):
            if type(method) is ClassMethodDescriptorType:
                method = method.__get__(None, owner)
            if type(method) is BuiltinFunctionType:
                self.value(method, path)


def _is_of_class(module: ModuleType, name: str) -> bool:
    """Whether a class of the user's that a module is of may answer for a name."""
    kind = type(module)
    attribute = inspect.getattr_static(kind, name, MISSING)
    answers = attribute is not MISSING or library_types.is_opaque(kind)
    return answers and not callers.is_class_of_library(kind)


def asks_once(f: Any) -> bool:
    """Whether clocks and the like are asked where f is recorded alone: see compat/jax."""
    return type(f) is FunctionType and "asks_once" in vars(f)


def watch_call(f: Any, statics: list[Any]) -> Watch:
    """What f reads in a call beside its inputs: also of the arguments that are no numbers.

    Its `asks_types` says whether f, or what it calls, may ask for the type of an argument;
    `generators` has those that they may draw random numbers from, and `codes` all code
    of the user's that was looked at; `suspects` has reasons why some of that cannot be watched,
    which matters where it is seen to run; `unwatched_steps` has reasons why functions of
    primitives are not watched, which matters where they get plain numbers alone.
    """
    watch = Watch()
    walk = _Walk(watch)
    walk.asks_once = asks_once(f)
    try:
        walk.value(f, own_attribute(f, "__qualname__", library_types.name_of(type(f))))
        for item in statics:
            if type(item) is FunctionType:  # perhaps a lambda that is made for each call
                watch.keep(item)
            walk.value(item, f"an argument, {library_types.named_kind(type(item))}")
        if walk.modules or walk.sees_loaded:
            walk.of_modules()
        walk.check_names()
        if type(f) in (FunctionType, MethodType) and f.__code__ in watch.suspects:  # sure to run
            raise UnwatchableError(watch.suspects[f.__code__])
    except RecursionError:
        raise NestedTooDeepError(
            "it reads containers that are nested too deeply to be watched: pass what it computes "
            "with as an argument"
        ) from None
    except (UnwatchableError, MemoryError):
        raise
    except Exception as error:  # of a user's code, such as that of a lazy module
        raise UnwatchableError(f"it reads what raises {type(error).__name__}: {error}") from None
    watch.n_followed = library_types.n_followed()
    return watch


def watch_of(f: Any, args: tuple[Any, ...] = ()) -> Watch | None:
    """What f reads beside numbers; None if that cannot be watched."""
    try:
        watch = watch_call(f, [*args])
    except UnwatchableError:
        return None
    return None if watch.suspects else watch
