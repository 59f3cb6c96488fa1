"""What the code of a function reads and writes beside its arguments: chains of names.

Such as `settings.rate`, which begin at a global, at a cell, or at the object that a method belongs
to. This module looks at code alone, without running it; what its names come to is for others to
find.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

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

__all__ = ["Chain", "Reads", "Write", "reads_of"]

Chain = tuple[str, ...]


class Write(NamedTuple):
    """Where a chain begins that some code writes to, and whether a name or what is in it."""

    where: str
    chain: Chain
    is_name: bool


class Reads(NamedTuple):
    """The chains that some code reads, by where they begin; and what it asks of its arguments."""

    globals: frozenset[Chain]
    cells: frozenset[Chain]
    first: frozenset[Chain]  # attributes of the first argument; (): all of it
    imports: frozenset[Chain]
    writes: frozenset[Write]
    keeps: frozenset[Write]  # the writes, read or not, of what may have been computed
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
    writes, keeps = map(set, _own_writes(code))
    steps = steps_of(code)
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
        has_handlers,
        has_general_ones,
        tuple(identities_of(code)),
        frozenset(calls),
        lines,
        frozenset(names),
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
    steps = steps_of(code)
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
        kind, name = step.name, step.argument
        if kind == "STORE_FAST":
            names.pop(name, None)
            if k in stores:
                names[name] = stores[k]
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
        while at < len(steps) and steps[at].name in ATTRIBUTES:
            if steps[at].argument in _CHANGES:
                note(Write(where, chain, False), _is_constant(steps[at + 1 : at + 2]))
            chain = (*chain, str(steps[at].argument))
            at += 1
        if at < len(steps) and steps[at].name == "STORE_FAST":
            stores[at] = where, chain
            continue
        write, is_read, length = _use(where, chain, steps[at:], steps[k + 1].height)
        if write is not None:
            note(write, _is_counted(steps[: at + length]) if is_read else _is_constant(steps[:k]))
        if is_read:
            read.add((where, chain[:1]))
    return [write for write in found if (write.where, write.chain[:1]) in read], keeps


def _loaded(
    code: CodeType, names: dict[str, tuple[str, Chain]], kind: str, name: Any
) -> tuple[str, Chain] | None:
    """Where what an instruction loads comes from, if it is not the code's own."""
    if kind in ("LOAD_GLOBAL", "LOAD_NAME"):
        return "globals", (name,)
    if kind == "LOAD_DEREF" and name in code.co_freevars:
        return "cells", (name,)
    if kind.startswith("LOAD_FAST") and name in names:
        return names[name]
    is_variable = kind.startswith("LOAD_FAST") or kind == "LOAD_DEREF"
    is_first = code.co_argcount > 0 and name == code.co_varnames[0]
    return ("first", ()) if is_first and is_variable else None


def _is_constant(steps: list[Step]) -> bool:
    """Whether the last of some instructions loads a constant."""
    return bool(steps) and steps[-1].name in CONSTANTS


def _is_counted(steps: list[Step]) -> bool:
    """Whether some instructions end with a constant, or with the addition of one."""
    last = [step for step in steps[-4:] if step.name not in SHUFFLES]
    return _is_constant(last[:-1] if last and last[-1].name in ADDITIONS else last)


def _use(
    where: str, chain: Chain, steps: list[Step], place: int
) -> tuple[Write | None, bool, int]:
    """How what is on top of a stack of height `place` is written to, if so.

    And whether it is read, and after how many instructions.
    """
    for k, step in enumerate(steps):
        if step.height < place:
            break
        # `a[i] += v` leaves the value where it is in `a[i] = v` by exchanging it with the others.
        is_exchanged = k > 0 and steps[k - 1].name.startswith(("SWAP", "ROT"))
        above = step.height - place - is_exchanged
        if step.name in ("STORE_SUBSCR", "DELETE_SUBSCR") and above == 1:
            return Write(where, chain, False), is_exchanged or step.name == "DELETE_SUBSCR", k
        if step.name == "STORE_SLICE" and above == 2:  # from Python 3.12 on
            return Write(where, chain, False), is_exchanged, k
        if step.name in ("STORE_ATTR", "DELETE_ATTR") and above == 0:
            return Write(where, (*chain, str(step.argument)), True), is_exchanged, k
    return None, True, 0


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
