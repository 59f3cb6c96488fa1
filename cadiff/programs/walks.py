"""Finds what a function reads beside its arguments: globals, closures, attributes, containers.

A walk takes the names in the code (reads.py) and follows them to their values (chains.py). It
looks into each value as a whole (contents.py, classes.py), and reads the functions in it in their
turn. It leaves out the code of libraries, unless that was seen to run and nothing is known of the
library (observations.py). A `Watch` keeps what the walk has met; if it cannot, f is run as it is.
This module does not know what is recorded.
"""

from __future__ import annotations

from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..binding import MISSING, Dual, Var, Watch, own_attribute
from ..operations.replayed import Replayed
from .chains import Names
from .contents import of_value
from .kinds import CONSTANTS, is_log, is_read, n_followed, named_kind, unsafe
from .named import needs_arguments
from .reads import reads_of
from .reasons import IDENTITY, OUTSIDE, NestedTooDeepError, UnwatchableError


class _Walk(Names):
    def value(self, value: Any, path: str) -> None:
        kind = type(value)
        if kind is FunctionType:
            self.function(value, path)
            return
        if issubclass(kind, Replayed):  # they say that they are of other classes
            raise UnwatchableError(
                f"it reads {path}, which a function around it has computed: pass it as an argument"
            )
        if kind is type(np.sum) and (reason := unsafe(value)):  # some write files
            raise UnwatchableError(OUTSIDE.format(name=reason))
        if kind in CONSTANTS or value is MISSING or isinstance(value, (Var, Dual)):
            return
        if isinstance(value, ModuleType):
            self.modules[path] = value
        elif self.is_new(value):
            of_value(self, value, path)

    def function(
        self, function: FunctionType, path: str, owner: Any = None, kind: type | None = None
    ) -> None:
        if not self.is_new(function, owner):
            return
        if not is_read(function):
            self.of_library(function, path)
            if owner is not None and not is_log(function):  # which it may read all of
                self.value(owner, path.rpartition(".")[0] or path)
            return
        reads = reads_of(function.__code__)
        self.watch.codes.append(function.__code__)
        if reads.has_functions:
            self._note_codes_in(function.__code__)
        if self.watch.function(function, f"code of {path}"):
            self.items(self.watch.namespace(function, f"attributes of {path}"), path)
        for defaults in (function.__defaults__, function.__kwdefaults__):
            if defaults:
                self.value(defaults, f"a default of {path}")
        self.watch.asks_types |= reads.asks_types
        self.handles = self.handles or reads.catches or reads.catches_all
        if reads.catches_all:
            self.exceptions.append(BaseException)
        self.names.update(reads.names)
        for identity in reads.identities:
            if needs_arguments(identity, function, owner, kind):
                where = f"line {identity.line} of {path}"
                name = "" if kind is None else path.rpartition(".")[2]
                self.asked.append((name, IDENTITY.format(what=identity.what, where=where)))
                self.check_identities()
        if owner is not None or reads.begins_outside:
            self.of_names(function, owner, reads, path)

    def _note_codes_in(self, code: CodeType) -> None:
        for part in code.co_consts:
            if isinstance(part, CodeType):
                self.watch.codes.append(part)
                self._note_codes_in(part)


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
            walk.value(item, f"an argument, {named_kind(type(item))}")
        if walk.modules or walk.sees_loaded:
            walk.of_modules()
    except RecursionError:
        raise NestedTooDeepError(
            "it reads containers that are nested too deeply to be watched: pass what it computes "
            "with as an argument"
        ) from None
    walk.check_names()
    watch.n_followed = n_followed()
    return watch
