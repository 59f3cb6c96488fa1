"""Follows the chains of names in the code of functions, such as `settings.rate`, to their values.

It runs no code of the user's. Where a property or a `__getattr__` would have to run, it looks into
the whole object instead. Each value that a chain passes becomes a place of the Watch. This module
does not know what values hold.
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
    FunctionType,
    ModuleType,
)
from typing import Any

from ..binding import MISSING, own_attribute
from ..binding.callers import (
    is_class_of_library,
    is_module_of_library,
    is_of_known_library,
    is_of_library,
)
from .findings import Findings
from .kinds import (
    CONSTANTS,
    HARMLESS_BUILTINS,
    is_log,
    is_of_python,
    is_of_state,
    is_opaque,
    is_plain,
    is_random,
    is_safe_stream,
    unsafe,
)
from .questions import BY_NAME
from .reads import Chain, Operand, Reads
from .reasons import OUTSIDE, UNKNOWN, UnwatchableError


class Names(Findings):
    """A walk, as far as it follows names."""

    # --- names of functions

    def of_library(self, function: FunctionType, path: str) -> None:
        is_known = is_of_known_library(function.__code__.co_filename)
        reason = unsafe(function) if is_known else ""
        if function is os.getenv:
            self.value(os.environ, "os.environ")
        elif function is getattr(sys.modules.get("logging"), "getLogger", None):
            self.gets_loggers = True
        elif function in (copy.copy, copy.deepcopy):
            self.watch.mapping(copyreg.dispatch_table, "how classes are copied")
        elif reason:
            raise UnwatchableError(OUTSIDE.format(name=reason))
        for k, name in enumerate(function.__code__.co_freevars):  # of a wrapper
            text = f"{name} in {path}"
            self.value(self.watch.free_variable(function, k, text), text)

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

        own = reads.changes if self.is_in_step else ()
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
        for chain in sorted(reads.imports):
            self._import(chain)

    def _global(self, function: Any, chain: Chain) -> Any:
        names = function.__globals__
        module = names.get("__name__", "")
        text = chain[0] if module == "__main__" else f"{module}.{chain[0]}"
        value = self._name(names, chain[0], text)
        if value is MISSING:
            value = self._name(function.__builtins__, chain[0], chain[0])
            if len(chain) == 1 and value is HARMLESS_BUILTINS.get(chain[0], MISSING):
                return value
        return self._chain(value, chain[1:], text)

    def _name(self, names: dict[str, Any], name: str, path: str) -> Any:
        """What a name stands for; however often it is read, it is watched once."""
        key = (id(names), name)
        if key not in self.values:
            self.values[key] = self.watch.name(names, name, path)
        return self.values[key]

    def _import(self, chain: Chain) -> None:
        """A module that is imported while the function runs."""
        module = self._name(sys.modules, chain[0], chain[0])
        if not isinstance(module, ModuleType):  # it is not there yet, or something else
            self.value(module, chain[0])
            return
        if len(chain) > 1:
            self._chain(module, chain[1:], chain[0])
        else:
            self.modules[chain[0]] = module

    # --- modules

    def of_modules(self) -> None:
        """What is read of modules that are handed on, by any name that the user's code has.

        All of them where names are computed.
        """
        done: dict[str, set[str]] = {}
        is_done = False
        while not is_done:
            is_done = True
            if self.sees_loaded:
                self._loaded_modules()
            for path, module in list(self.modules.items()):
                names = vars(module)
                if not BY_NAME.isdisjoint(self.names) and path not in done:
                    is_done = False
                    self.watch.mapping(names, path)
                    if not is_module_of_library(module):
                        self.items(list(names.values()), path)
                new = (self.names & names.keys()) - done.setdefault(path, set())
                done[path] |= new
                for name in sorted(new):
                    is_done = False
                    self._chain(module, (name,), path)

    def _loaded_modules(self) -> None:
        """Of what `sys.modules` holds: modules of the user's, and what else is named."""
        for name, module in list(sys.modules.items()):
            if name in self.names or not (
                isinstance(module, ModuleType) and is_module_of_library(module)
            ):
                self.value(module, f"sys.modules[{name!r}]")

    # --- attributes

    def _chain(self, value: Any, rest: Chain, path: str) -> Any:
        """What a value is, and what is read of it by a chain of attributes, as far as known."""
        for name in rest:
            if value is MISSING:
                return None
            if isinstance(value, ModuleType):
                value = self._name_of_module(value, name, path)
            else:
                value = self._attribute(value, name, path)
            path = f"{path}.{name}"
        self.value(value, path)
        return value

    def _name_of_module(self, module: ModuleType, name: str, path: str) -> Any:
        if name in ("__dict__", "__getattribute__"):
            self.modules[path] = module
            self.names.add("__dict__")
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

    def _attribute(self, owner: Any, name: str, path: str) -> Any:
        """The value of an attribute; None where all that is read by it was found."""
        kind = owner if isinstance(owner, type) else type(owner)
        if isinstance(owner, FunctionType):
            self.value(owner, path)
            return self.watch.attribute(owner, name, f"{path}.{name}")
        found = inspect.getattr_static(owner, name, MISSING)
        if is_safe_stream(owner) and name not in ("flush", "write", "writelines"):
            raise UnwatchableError(UNKNOWN.format(path=f"{path}.{name}", what="of a stream"))
        if kind in CONSTANTS and name in own_attribute(owner, "__dict__", ()):
            return self.watch.attribute(owner, name, f"{path}.{name}")
        is_whole = kind in CONSTANTS or is_opaque(type(owner)) or not is_of_python(kind)
        if is_whole or is_class_of_library(kind):
            self._method_of_library(owner, found, f"{path}.{name}")
            if is_whole or not is_log(found):
                self.value(owner, path)
            return None
        path = f"{path}.{name}"
        if found is MISSING:
            return self.watch.attribute(owner, name, path)
        if isinstance(found, property):
            self.watch.attribute(kind, name, path)
            if isinstance(owner, type):  # it is the property that is asked for
                self.watch.attribute(found, "__doc__", f"{path}.__doc__")
            for part in (found.fget, found.fset):
                if isinstance(part, FunctionType):
                    self.function(part, path, owner)
            return None
        if isinstance(found, functools.cached_property):
            if isinstance(owner, type):
                self.value(found.func, path)
            else:  # not computed yet
                self._name(vars(owner), name, path)
                if isinstance(found.func, FunctionType):
                    self.function(found.func, path, owner)
            return None
        is_method = isinstance(found, FunctionType) and not isinstance(owner, type)
        if is_method and name not in own_attribute(owner, "__dict__", ()):
            self.watch.attribute(owner, name, path)
            self.function(found, path, owner)
            return None
        if not is_plain(found):
            self.value(owner, path)
            return None
        return self.watch.attribute(owner, name, path)

    def _method_of_library(self, owner: Any, found: Any, path: str) -> None:
        """A method that is no code of the user's, of an object or of a class."""
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, FunctionType):
            if is_of_library(found.__code__.co_filename):
                self.function(found, path, owner)
        elif isinstance(owner, type):
            if isinstance(found, ClassMethodDescriptorType):
                found = found.__get__(None, owner)
            if isinstance(found, BuiltinFunctionType):
                self.value(found, path)
