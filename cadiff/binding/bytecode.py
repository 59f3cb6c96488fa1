"""What the instructions of code do, whatever version of Python from 3.10 to 3.15 compiled it.

An instruction is a step of one of a few kinds, or two such steps. What versions call them, and
what they do in one instruction where others take two, is said in the tables here, and nowhere
else. This module does not know what the steps are looked at for.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from enum import Enum
from types import CodeType
from typing import Any, NamedTuple

__all__ = ["Kind", "Step", "kind_at", "steps_of"]


class Kind(Enum):
    """What a step does."""

    NAME = 1  # pushes a variable; `where` of the step says where that lives
    CONSTANT = 2
    ATTRIBUTE = 3
    ITEM = 4
    ARITHMETIC = 5  # with two operands
    IS = 6
    CALL = 7  # `argument` of the step is how many are given
    COPY = 8  # and here which one from the top of the stack, from 1 on
    SWAP = 9
    IMPORT = 10
    IMPORT_FROM = 11
    STORE = 12  # into a variable
    STORE_ATTRIBUTE = 13  # pops the value, then what it is stored in
    STORE_ITEM = 14
    DELETE = 15
    DELETE_ATTRIBUTE = 16
    DELETE_ITEM = 17
    HANDLER = 18  # here comes what is raised
    MATCH = 19  # asks whether that is of a class
    RERAISE = 20  # or whether it goes on, as the end of `with` does
    COMPARE = 21  # by `==`, `<` and the like
    PATTERN = 22  # of a class, in `match`
    NOTHING = 23  # or marks what is called by methods and functions in their own ways
    OTHER = 24


class Step(NamedTuple):
    """One thing that code does, and how many it pops off the stack for that, and pushes."""

    kind: Kind
    argument: Any
    where: str  # of a variable: "globals", "cells", "first" (argument), "class" or "own"
    pops: int
    pushes: int
    offset: int  # where it begins; -1 within an instruction
    line: int
    jump: tuple[int, int] | None  # where it may go to, and how the stack grows then
    ends: bool  # whether it never goes on to the next step


class _Row(NamedTuple):
    """A step as an instruction takes it; what is None follows from how the stack grows."""

    kind: Kind
    pops: int | None = None
    pushes: int | None = None
    argument: Any = None  # if it is not that of the instruction


def _rows(kind: Kind, names: str, *counts: int | None) -> dict[str, tuple[_Row, ...]]:
    return dict.fromkeys(names.split(), (_Row(kind, *counts),))


def _fixed(kind: Kind, *arguments: int) -> tuple[_Row, ...]:
    return tuple(_Row(kind, argument=argument) for argument in arguments)


_LOADED, _STORED, _SLICE = _Row(Kind.NAME, 0, 1), _Row(Kind.STORE, 1, 0), _Row(Kind.OTHER, 2, 1)

# No name means one thing in one version and another in the next.
_ALWAYS = (
    _rows(Kind.NAME, "LOAD_DEREF LOAD_FAST LOAD_GLOBAL LOAD_NAME", 0)
    | _rows(Kind.CONSTANT, "LOAD_CONST", 0)
    | _rows(Kind.ATTRIBUTE, "LOAD_ATTR", 1)
    | _rows(Kind.ITEM, "BINARY_SUBSCR", 2)
    | _rows(Kind.IS, "IS_OP", 2)
    | _rows(Kind.COMPARE, "COMPARE_OP", 2)
    | _rows(Kind.PATTERN, "MATCH_CLASS")
    | _rows(Kind.IMPORT, "IMPORT_NAME", 2)
    | _rows(Kind.IMPORT_FROM, "IMPORT_FROM", 0)
    | _rows(Kind.STORE, "STORE_DEREF STORE_FAST STORE_GLOBAL STORE_NAME", 1)
    | _rows(Kind.STORE_ATTRIBUTE, "STORE_ATTR", 2)
    | _rows(Kind.STORE_ITEM, "STORE_SUBSCR", 3)
    | _rows(Kind.DELETE, "DELETE_DEREF DELETE_FAST DELETE_GLOBAL DELETE_NAME", 0)
    | _rows(Kind.DELETE_ATTRIBUTE, "DELETE_ATTR", 1)
    | _rows(Kind.DELETE_ITEM, "DELETE_SUBSCR", 2)
    | _rows(Kind.RERAISE, "RERAISE END_ASYNC_FOR", None, 0)
    | _rows(Kind.RERAISE, "WITH_EXCEPT_START", 0)
    | _rows(Kind.NOTHING, "EXTENDED_ARG NOP", 0)
    | _rows(Kind.OTHER, "UNPACK_EX UNPACK_SEQUENCE", 1)
    | _rows(Kind.OTHER, "DICT_MERGE DICT_UPDATE LIST_APPEND LIST_EXTEND MAP_ADD", None, 0)
    | _rows(Kind.OTHER, "SET_ADD SET_UPDATE POP_EXCEPT POP_TOP SETUP_ANNOTATIONS", None, 0)
    | _rows(Kind.OTHER, "JUMP_FORWARD POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE", None, 0)
    | _rows(Kind.OTHER, "RAISE_VARARGS", None, 0)
    | _rows(Kind.OTHER, "RETURN_VALUE", 1, 0)
)
_UNTIL_3_10 = (
    _rows(Kind.CALL, "CALL_FUNCTION", 1)  # beside its arguments
    | _rows(Kind.CALL, "CALL_METHOD CALL_FUNCTION_KW", 2)
    | {
        "DUP_TOP": _fixed(Kind.COPY, 1),
        "DUP_TOP_TWO": _fixed(Kind.COPY, 2, 2),
        "ROT_TWO": _fixed(Kind.SWAP, 2),
        "ROT_THREE": _fixed(Kind.SWAP, 3, 2),
        "ROT_FOUR": _fixed(Kind.SWAP, 4, 3, 2),
    }
    | _rows(Kind.MATCH, "JUMP_IF_NOT_EXC_MATCH", None, 0)
    | _rows(Kind.OTHER, "JUMP_ABSOLUTE POP_BLOCK SETUP_FINALLY", None, 0)
    | _rows(Kind.OTHER, "SETUP_ASYNC_WITH SETUP_WITH", 1)
)
_UNTIL_3_11 = (
    _rows(Kind.NAME, "LOAD_CLASSDEREF", 0)
    | _rows(Kind.ATTRIBUTE, "LOAD_METHOD", 1)
    | _rows(Kind.OTHER, "JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP", None, 0)
)
_SINCE_3_11 = (
    _rows(Kind.CALL, "CALL", 2)
    | {"COPY": (_Row(Kind.COPY),), "SWAP": (_Row(Kind.SWAP),)}
    | _rows(Kind.HANDLER, "PUSH_EXC_INFO", 0)
    | _rows(Kind.MATCH, "CHECK_EG_MATCH CHECK_EXC_MATCH")
    | _rows(Kind.NOTHING, "CACHE COPY_FREE_VARS KW_NAMES MAKE_CELL PRECALL RESUME", 0, 0)
    | _rows(Kind.NOTHING, "PUSH_NULL", 0)
    | _rows(Kind.OTHER, "BEFORE_ASYNC_WITH BEFORE_WITH", 1)
    | _rows(Kind.OTHER, "JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT", None, 0)
    | _rows(Kind.OTHER, "POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE", None, 0)
    | {
        f"POP_JUMP_{way}_IF_{what}": (_Row(Kind.OTHER, None, 0),)  # in 3.11 alone
        for way in ("BACKWARD", "FORWARD")
        for what in ("FALSE", "NONE", "NOT_NONE", "TRUE")
    }
)
_SINCE_3_12 = (
    _rows(Kind.NAME, "LOAD_FAST_CHECK", 0)
    | _rows(Kind.NAME, "LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS", 1)
    | {
        "BINARY_SLICE": (_SLICE, _Row(Kind.ITEM, 2)),
        "STORE_SLICE": (_SLICE, _Row(Kind.STORE_ITEM, 3)),
    }
    | {"LOAD_SUPER_ATTR": (_Row(Kind.OTHER, 3, 1), _Row(Kind.ATTRIBUTE, 1))}
    | _rows(Kind.OTHER, "END_FOR RETURN_CONST", None, 0)
)
_SINCE_3_13 = _rows(Kind.CALL, "CALL_KW", 3) | {
    "LOAD_FAST_LOAD_FAST": (_LOADED, _LOADED),
    "STORE_FAST_LOAD_FAST": (_STORED, _LOADED),
    "STORE_FAST_STORE_FAST": (_STORED, _STORED),
}
_SINCE_3_14 = (
    _rows(Kind.NAME, "LOAD_FAST_BORROW", 0)
    | {"LOAD_FAST_BORROW_LOAD_FAST_BORROW": (_LOADED, _LOADED)}
    | _rows(Kind.CONSTANT, "LOAD_SMALL_INT", 0)
    # `all`, `any` and `tuple` are compared with the built-in ones, in the place of calls of them;
    # literals, as which Python 3.15 has some of these constants, are what they are elsewhere.
    | {"LOAD_COMMON_CONSTANT": (_Row(Kind.CONSTANT, 0, argument=...),)}
    | _rows(Kind.NOTHING, "NOT_TAKEN", 0)
    | _rows(Kind.OTHER, "LOAD_SPECIAL", 1)
    | _rows(Kind.OTHER, "POP_ITER", None, 0)
)
_TABLE = (
    _ALWAYS | _UNTIL_3_10 | _UNTIL_3_11 | _SINCE_3_11 | _SINCE_3_12 | _SINCE_3_13 | _SINCE_3_14
)
_SUBSCRIPT = 26  # what BINARY_OP is given for x[i], from Python 3.14 on
_LITERALS = range(7, 12)  # among what LOAD_COMMON_CONSTANT is given
_HANDLED = "SETUP_FINALLY"  # whose target is a handler, until Python 3.10
_ENDS = frozenset(
    ("JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_FORWARD")
    + ("RAISE_VARARGS", "RERAISE", "RETURN_CONST", "RETURN_VALUE")
)
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_VARIABLES = (Kind.NAME, Kind.STORE, Kind.DELETE)


# --- steps ---------------------------------------------------------------------------------------


def steps_of(code: CodeType) -> Iterator[Step]:
    """What some code does, one step after the other as they are written."""
    lines = {begin: line for begin, _, line in code.co_lines()}
    line = code.co_firstlineno
    handlers: set[int] = set()
    for instruction in dis.get_instructions(code):
        offset, name = instruction.offset, instruction.opname
        line = lines.get(offset) or line
        if offset in handlers:
            yield Step(Kind.HANDLER, None, "", 0, 0, offset, line, None, False)
        if name == _HANDLED:
            handlers.add(instruction.argval)
        given = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
        effect = dis.stack_effect(instruction.opcode, given, jump=False)
        jump = None
        if instruction.opcode in _JUMPS and not name.startswith("SETUP_"):
            grows = dis.stack_effect(instruction.opcode, given, jump=True)
            jump = (instruction.argval, grows)
        rows = _rows_of(name)
        if name == "ROT_N":
            rows = _fixed(Kind.SWAP, *range(instruction.argval, 1, -1))
        elif name == "LOAD_COMMON_CONSTANT" and given in _LITERALS:
            rows = _TABLE["LOAD_CONST"]
        for k, row in enumerate(rows):
            kind, argument = row.kind, instruction.argval if row.argument is None else row.argument
            if len(rows) > 1 and isinstance(argument, tuple):  # of variables
                argument = argument[k]
            if name == "BINARY_OP" and given == _SUBSCRIPT:
                kind = Kind.ITEM
            where = _where(code, name, argument) if kind in _VARIABLES else ""
            if kind is Kind.NAME and not where:
                kind = Kind.OTHER
            is_last = k == len(rows) - 1
            pops, pushes = _counts(row, argument, effect)
            effect -= pushes - pops
            yield Step(
                *(kind, argument, where, pops, pushes, -1 if k else offset, line),
                *(jump if is_last else None, is_last and name in _ENDS),
            )


def _rows_of(name: str) -> tuple[_Row, ...]:
    is_arithmetic = name.startswith(("BINARY_", "INPLACE_"))
    return _TABLE.get(name) or (_Row(Kind.ARITHMETIC, 2) if is_arithmetic else _Row(Kind.OTHER),)


def _counts(row: _Row, argument: Any, effect: int) -> tuple[int, int]:
    """How many a step pops and pushes, by which the stack grows in all."""
    if row.kind in (Kind.COPY, Kind.SWAP):
        return 0, 0
    if row.kind is Kind.CALL:
        return argument + (row.pops or 0), 1
    pops, pushes = row.pops, row.pushes
    if pops is None:
        pops = max(1 - effect, 0) if pushes is None else pushes - effect
    return pops, pops + effect if pushes is None else pushes


def _where(code: CodeType, name: str, variable: str) -> str:
    """Where a variable lives; "" if not the variable is loaded, but the cell that it is in."""
    if "_GLOBAL" in name or name == "LOAD_NAME":
        return "globals"
    if name.endswith("_NAME"):
        return "class"
    is_free = variable in code.co_freevars
    if "_FAST" in name and (is_free or variable in code.co_cellvars):  # from Python 3.13 on
        return ""
    if code.co_argcount and variable == code.co_varnames[0]:
        return "first"
    return "cells" if is_free else "own"


def kind_at(code: CodeType, offset: int) -> Kind:
    """What the instruction does that begins at an offset."""
    return _rows_of(dis.opname[code.co_code[offset]])[-1].kind


_RAISES = frozenset(("RAISE_VARARGS", "RERAISE", "END_ASYNC_FOR", "CLEANUP_THROW"))


def raises_at(code: CodeType, offset: int) -> bool:
    """Whether the instruction that begins at an offset is there to raise, as `raise` is."""
    return dis.opname[code.co_code[offset]] in _RAISES


def has_handlers(code: CodeType) -> bool:
    """Whether it goes on somewhere after an exception: by `except`, `finally` or `with`."""
    if hasattr(code, "co_exceptiontable"):
        return bool(code.co_exceptiontable)
    return not _SETUPS.isdisjoint(code.co_code[::2])


_SETUPS = {dis.opmap.get(f"SETUP_{what}") for what in ("FINALLY", "WITH", "ASYNC_WITH")}
