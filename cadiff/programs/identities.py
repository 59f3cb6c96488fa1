"""Where some code asks whether objects are the same ones: `is`, `is not`, `id`.

A recording has stand-ins for numbers, arrays and containers among the arguments of f, and its
replays have nothing that could be the same as something. So it matters what is compared: None,
classes and objects that have no stand-ins are told from everything else in a recording, too.
This module looks at code alone; what its names come to is for others to find.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from .bytecode import ATTRIBUTES, Step, is_called_with_nothing, steps_of

__all__ = ["Identity", "Operand", "identities_of"]

_LASTING = (type(None), bool, type(...), str, bytes)  # constants of code that no stand-in is for


class Operand(NamedTuple):
    """A name and attributes of it; where that name is: "globals", "cells" or "first".

    "constants" is nowhere, and so is "results", what a function gives that gets no arguments.
    """

    where: str
    chain: tuple[str, ...]


class Identity(NamedTuple):
    """A question whether objects are the same: what asks, in which line, and of which of them.

    None stands for what has no name outside of the code, such as an argument.
    """

    what: str
    line: int
    operands: tuple[Operand | None, ...]


def identities_of(code: CodeType) -> Iterator[Identity]:
    """The questions that some code asks, but for those whose answer no stand-in changes.

    Of functions that are written within it, too.
    """
    operands: tuple[Operand | None, ...]
    steps = steps_of(code)
    for k, step in enumerate(steps):
        if step.name == "IS_OP":
            right, begin = _operand(code, steps, k)
            left, _ = _operand(code, steps, begin)
            what, operands = "is", (left, right)
        elif step.name == "LOAD_GLOBAL" and step.argument == "id":
            end = _call(steps, k)
            what, operands = "id", (_operand(code, steps, end)[0],)
        else:
            continue
        if _HARMLESS not in operands:
            yield Identity(what, step.line, operands)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for identity in identities_of(constant):
                operands = tuple(_outside(code, operand) for operand in identity.operands)
                yield identity._replace(operands=operands)


_HARMLESS = Operand("constants", ())


def _operand(code: CodeType, steps: list[Step], end: int) -> tuple[Operand | None, int]:
    """What is on top of the stack before a step, and the step at which its expression begins.

    Nothing is known of what jumps lead to; behind those is what is below it on the stack, too.
    """
    if not 0 < end < len(steps):
        return None, 0
    begin = end - 1
    while begin >= 0 and steps[begin].height > steps[end].height - 1:
        begin -= 1
    if begin < 0 or any(step.is_target for step in steps[begin + 1 : end + 1]):
        return None, 0
    first, *rest = steps[begin:end]
    last = steps[end - 1]
    if last.name in ATTRIBUTES and last.argument == "__class__":
        return _HARMLESS, begin
    if first[:2] == ("LOAD_GLOBAL", "type") and last.name.startswith("CALL"):
        return _HARMLESS, begin
    if first.name == "LOAD_CONST" and not rest and isinstance(first.argument, _LASTING):
        return _HARMLESS, begin
    if first.name == "LOAD_COMMON_CONSTANT":  # asked by Python 3.14 itself, of tuple(x for x in y)
        return _HARMLESS, begin
    where = _where(code, first)
    if where == "globals" and _is_call_of_nothing(rest):
        return Operand("results", ()), begin
    if not where or any(step.name not in ATTRIBUTES for step in rest):
        return None, begin
    names = [step.argument for step in rest]
    return Operand(where, tuple(names if where == "first" else [first.argument, *names])), begin


def _is_call_of_nothing(rest: list[Step]) -> bool:
    """Whether the steps behind a name are a call of it, or of an attribute, without arguments."""
    calls = [step for step in rest if step.name not in ATTRIBUTES]
    return len(calls) > 0 and all(is_called_with_nothing(calls, k) for k in range(len(calls)))


def _where(code: CodeType, step: Step) -> str:
    """Where a name is that is loaded; "" if it is a variable of the code, or no name."""
    first = code.co_varnames[0] if code.co_argcount else None
    if step.name in ("LOAD_GLOBAL", "LOAD_NAME"):
        return "globals"
    if step.name == "LOAD_DEREF" and step.argument in code.co_freevars:
        return "cells"
    is_variable = step.name.startswith("LOAD_FAST") or step.name == "LOAD_DEREF"
    return "first" if is_variable and step.argument == first is not None else ""


def _call(steps: list[Step], k: int) -> int:
    """Where what step k loads is called, with what is on top of the stack; 0 if it is not."""
    for end in range(k + 1, len(steps) - 1):
        after = steps[end + 1].height - steps[k].height
        if after <= 1:
            is_call = steps[end].name in ("CALL", "CALL_FUNCTION") and after == 1
            return end - (steps[end - 1].name == "PRECALL") if is_call else 0
    return 0


def _outside(code: CodeType, operand: Operand | None) -> Operand | None:
    """What is named in a function within some code, as that code names it."""
    if operand is None or operand.where in ("globals", "results"):
        return operand
    if operand.where == "first":  # an argument of the inner function
        return None
    name = operand.chain[0]
    if name in code.co_freevars:
        return operand
    is_first = code.co_argcount and name == code.co_varnames[0]
    return Operand("first", operand.chain[1:]) if is_first else None
