"""The instructions of code, one by one, whatever version of Python wrote them.

What reads code to find what it does (reads.py, identities.py, counters.py) goes by these; which of
their names mean what is said here alone.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import Any, NamedTuple

__all__ = [
    "ADDITIONS",
    "ATTRIBUTES",
    "CALLS",
    "CONSTANTS",
    "MATCHES",
    "SHUFFLES",
    "Step",
    "catches_all",
    "is_called_with_nothing",
    "last_argument",
    "steps_of",
]

ADDITIONS = ("BINARY_OP", "INPLACE_ADD", "INPLACE_SUBTRACT")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
CALLS = ("PRECALL", "CALL", "CALL_FUNCTION", "CALL_METHOD")
CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
# They ask whether an exception is of a class.
MATCHES = ("CHECK_EG_MATCH", "CHECK_EXC_MATCH", "JUMP_IF_NOT_EXC_MATCH")
# They only move what is on the stack.
SHUFFLES = ("COPY", "SWAP", "DUP_TOP", "DUP_TOP_TWO", "ROT_TWO", "ROT_THREE")

_IGNORED = ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP", "RESUME", "COPY_FREE_VARS", "NOT_TAKEN")


class Step(NamedTuple):
    """An instruction, or one of the two that some stand for."""

    name: str
    argument: Any
    height: int  # of the stack before it, over instructions as they are written
    is_target: bool  # of a jump
    line: int


def steps_of(code: CodeType, end: int | None = None) -> list[Step]:
    """The instructions of some code, but for those that do nothing; perhaps up to an offset."""
    steps: list[Step] = []
    height, line, is_target = 0, code.co_firstlineno, False
    for instruction in dis.get_instructions(code):
        if instruction.offset == end:
            break
        has_argument = instruction.opcode >= dis.HAVE_ARGUMENT
        number = instruction.arg if has_argument else None
        effect = dis.stack_effect(instruction.opcode, number, jump=False)
        line = _line_of(instruction) or line
        is_target = is_target or instruction.is_jump_target
        if instruction.opname not in _IGNORED:
            for name, argument, change in _parts(instruction, effect):
                steps.append(Step(name, argument, height, is_target, line))
                height, is_target = height + change, False
        else:
            height += effect
    return steps


def _line_of(instruction: dis.Instruction) -> int | None:
    """The line that it is in, if it tells one."""
    positions = getattr(instruction, "positions", None)
    if positions is not None:
        line: int | None = positions.lineno
        return line
    return instruction.starts_line


def _parts(instruction: dis.Instruction, effect: int) -> list[tuple[str, Any, int]]:
    """LOAD_FAST_LOAD_FAST is two instructions in one; and how each changes the stack.

    From Python 3.14 on either may be LOAD_FAST_BORROW.
    """
    name, argument = instruction.opname.replace("_BORROW", ""), instruction.argval
    if not (isinstance(argument, tuple) and "FAST_" in name):
        return [(name, argument, effect)]
    stores = [part.startswith("STORE") for part in name.split("_FAST_")]
    return [
        ("STORE_FAST", item, -1) if is_store else ("LOAD_FAST", item, 1)
        for item, is_store in zip(argument, stores, strict=True)
    ]


def last_argument(code: CodeType, offset: int) -> tuple[Step, list[str]]:
    """What a call gets last: the step that loads it, or ends it, and attributes taken of that."""
    names: list[str] = []
    steps = steps_of(code, offset)
    passed = (*ATTRIBUTES, "PRECALL", "KW_NAMES")  # or names of arguments
    while steps[-1].name in passed or type(steps[-1].argument) is tuple:
        step = steps.pop()
        if step.name in ATTRIBUTES:
            names.insert(0, step.argument)
    return steps[-1], names


def is_called_with_nothing(steps: list[Step], k: int) -> bool:
    """Whether step k is a call, without arguments, of what is on top of the stack."""
    return k < len(steps) and steps[k].name in CALLS and steps[k].argument == 0


def catches_all(steps: list[Step]) -> bool:
    """Whether some handler asks for no class: it may drop whatever was raised."""
    names = [step.name for step in steps]
    if sys.version_info < (3, 11):
        asked = sum(step.is_target and step.name == "DUP_TOP" for step in steps)
        return names.count("SETUP_FINALLY") > asked
    return any(_asks_nothing(names[k + 1 :]) for k, x in enumerate(names) if x == "PUSH_EXC_INFO")


def _asks_nothing(names: list[str]) -> bool:
    """Whether instructions are those of a handler that asks for no class."""
    loads = (*ATTRIBUTES, "BUILD_TUPLE")
    first = next(name for name in names if not (name.startswith("LOAD_") or name in loads))
    return first not in (*MATCHES, "WITH_EXCEPT_START")
