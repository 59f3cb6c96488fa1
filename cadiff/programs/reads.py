"""What the code of a function reads and writes beside its arguments: chains of names.

Such as `settings.rate`, which begin at a global, at a cell, or at the object that a method belongs
to. This module looks at code alone, without running it; what its names come to is for others to
find.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from .bytecode import (
    ADDITIONS,
    ATTRIBUTES,
    CALLS,
    CONSTANTS,
    MATCHES,
    SHUFFLES,
    Step,
    catches_all,
    is_called_with_nothing,
    steps_of,
)
from .identities import Identity, identities_of

__all__ = ["Chain", "Reads", "reads_of"]

Chain = tuple[str, ...]


class Reads(NamedTuple):
    """The chains that some code reads, by where they begin; and what it asks of its arguments."""

    globals: frozenset[Chain]
    cells: frozenset[Chain]
    first: frozenset[Chain]  # attributes of the first argument; (): all of it
    imports: frozenset[Chain]
    changes: frozenset[str]  # globals and cells that it assigns to, or in which it does
    may_keep: bool  # what it computes, where that stays, for all that is known
    asks_types: bool
    catches: bool  # exceptions of some class
    catches_all: bool  # or whatever they are
    identities: tuple[Identity, ...]
    calls: frozenset[tuple[str, Chain]]  # what is called with nothing, by where it begins
    lines: dict[tuple[str, Chain], int]  # in which chains are read first, by where they begin
    names: frozenset[str]  # all names, and all strings


# Methods of containers that change them.
_CHANGES = frozenset(
    (
        *("append", "extend", "add", "insert", "clear", "appendleft", "discard"),
        *("update", "pop", "popitem", "popleft", "remove", "sort", "reverse"),
        *("extendleft", "rotate", "fill", "put", "itemset", "partition", "byteswap"),
    )
)


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """What some code reads, and the functions that are written within it."""
    found: dict[str, set[Chain]] = {"globals": set(), "cells": set(), "first": set()}
    imports: set[Chain] = set()
    steps = steps_of(code)
    changes = {*_changed_in(code)}
    may_keep = _may_keep(code)
    first = code.co_varnames[0] if code.co_argcount else None
    module = ""
    lines: dict[tuple[str, Chain], int] = {}
    calls: set[tuple[str, Chain]] = set()
    names = {*code.co_names}
    for k, (name, argument, _, _, line) in enumerate(steps):
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
        lines.setdefault((where, tuple(chain)), line)
        if is_called_with_nothing(steps, k + len(chain) + (where == "first")):
            calls.add((where, tuple(chain)))
    asks_types = any(_asks_type(steps, k) for k in range(len(steps)))
    has_handlers = any(step.name in MATCHES for step in steps)
    has_general_ones = catches_all(steps)
    if "super" in code.co_names:  # which finds the first argument without its name
        found["first"].add(())
    for constant in code.co_consts:
        if isinstance(constant, str):
            names.add(constant)
        if isinstance(constant, CodeType):
            inner = reads_of(constant)
            lines.update({place: n for place, n in inner.lines.items() if place not in lines})
            names |= inner.names
            calls |= inner.calls
            asks_types = asks_types or inner.asks_types
            has_handlers = has_handlers or inner.catches
            has_general_ones = has_general_ones or inner.catches_all
            found["globals"] |= inner.globals
            imports |= inner.imports
            changes |= inner.changes
            may_keep = may_keep or inner.may_keep
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
        frozenset(changes),
        may_keep,
        asks_types,
        has_handlers,
        has_general_ones,
        tuple(identities_of(code)),
        frozenset(calls),
        lines,
        frozenset(names),
    )


def _is_outside(code: CodeType, step: Step, kinds: tuple[str, ...]) -> bool:
    """Whether an instruction deals with a variable that is not the code's own."""
    kind, _, scope = step.name.partition("_")
    return kind in kinds and (
        scope in ("GLOBAL", "NAME") or (scope == "DEREF" and step.argument in code.co_freevars)
    )


def _changed_in(code: CodeType) -> Iterator[str]:
    """The globals and cells that some code assigns to, or in which it assigns to something."""
    steps = steps_of(code)
    for k, step in enumerate(steps):
        if _is_outside(code, step, ("STORE", "DELETE")):
            yield step.argument
        if not _is_outside(code, step, ("LOAD",)):
            continue
        at = k + 1
        while steps[at].name in ATTRIBUTES and steps[at].argument not in _CHANGES:
            at += 1
        if steps[at].name in ATTRIBUTES or _is_assigned_to(steps[at:], steps[k + 1].height):
            yield step.argument


def _is_assigned_to(steps: list[Step], place: int) -> bool:
    """Whether instructions assign to a part of what is on top of a stack of height `place`."""
    for k, step in enumerate(steps):
        if step.height < place:
            break
        # `a[i] += v` leaves the value where it is in `a[i] = v` by exchanging it with the others.
        is_exchanged = k > 0 and steps[k - 1].name.startswith(("SWAP", "ROT"))
        above = step.height - place - is_exchanged
        kind, _, what = step.name.partition("_")
        if kind in ("STORE", "DELETE") and above == _ABOVE.get(what):
            return True
    return False


_ABOVE = {"ATTR": 0, "SUBSCR": 1, "SLICE": 2}  # on the stack, above what is assigned to


def _may_keep(code: CodeType) -> bool:
    """Whether some code changes what may not be its own, by more than counting."""
    steps = steps_of(code)
    for k, step in enumerate(steps):
        kind, _, what = step.name.partition("_")
        is_part = kind in ("STORE", "DELETE") and what in _ABOVE
        is_outside = is_part or _is_outside(code, step, ("STORE", "DELETE"))
        if is_outside and not _is_counted(steps[:k]):
            return True
        if step.name in ATTRIBUTES and step.argument in _CHANGES:
            return True
    return False


def _is_constant(steps: list[Step]) -> bool:
    """Whether the last of some instructions loads a constant."""
    return bool(steps) and steps[-1].name in CONSTANTS


def _is_counted(steps: list[Step]) -> bool:
    """Whether some instructions end with a constant, or with the addition of one."""
    last = [step for step in steps[-4:] if step.name not in SHUFFLES]
    return _is_constant(last[:-1] if last and last[-1].name in ADDITIONS else last)


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
    return not (is_self and called[1].name in CALLS)
