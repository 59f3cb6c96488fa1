"""Statements of the turns of a recurrence: which are needed, and in which loops they go.

Functions of numbers that wait for no other turn are the core's, which computes those of a stretch
at once. What is made before such a call and read behind it stands in an array, turn by turn.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from .helpers_in_c import VALUE
from .text_in_c import block

Line = tuple[str, str]  # the name that a statement sets, "" if it is to be there; and its text

_CALL = "call "  # begins what is no text yet: the operation that is called, and its operands
_DECLARED = re.compile(r"^(?:const )?double |^")
_NAMES = re.compile(r"\b[abcfnrs]\d+\b")


def set_line(name: str, value: str) -> Line:
    return name, f"const double {name} = {value};"


def called(name: str, op: int, operands: Sequence[str]) -> Line:
    """A number that the core computes."""
    return name, f"{_CALL}{op} {' '.join(operands)}"


def needed(*several: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines that set a variable which others need."""
    names: set[str] = {""}
    n = 0
    while n < len(names):
        n = len(names)
        for lines in reversed(several):
            for name, text in reversed(lines):
                if name in names:
                    names.update(_NAMES.findall(text))
    for lines in several:
        yield [line for line in lines if line[0] in names]


def filled(lines: Sequence[Line]) -> Iterator[str]:
    """Statements in few lines; of names that are set one after the other one declaration."""
    texts = (text for _, text in lines)
    for (kind, is_long), some in groupby(
        texts, lambda line: (*_DECLARED.findall(line), "\n" in line)
    ):
        if is_long:
            yield from some
            continue
        named = (", " if kind else "; ").join(line.removeprefix(kind)[:-1] for line in some)
        text = f"{kind}{named};"
        yield textwrap.fill(text, 104, break_long_words=False, break_on_hyphens=False)


def turns_from_to(lines: Sequence[Line], array: Callable[[str], str]) -> Iterator[str]:
    """The turns from `begin` to `end`, given the lines of one.

    What is carried is r, and n in the next turn; b is made of these. `array` declares the array
    of a name.
    """
    phases = _phases_of(lines)
    core = max((k for (name, _), k in zip(lines, phases, strict=True) if _waits(name)), default=-1)
    filled_in: dict[str, int] = {}  # names that have an array, and the phase that fills it
    made = {name: k for (name, _), k in zip(lines, phases, strict=True) if name[:1] != "r"}
    by_call = {name for name, text in lines if text.startswith(_CALL)}
    n = max(phases, default=0) + 1
    loads: list[dict[str, None]] = [{} for _ in range(n)]
    bodies: list[list[Line]] = [[] for _ in range(n)]
    calls: list[list[str]] = [[] for _ in range(n)]
    for (name, text), k in zip(lines, phases, strict=True):
        is_call = name in by_call
        for one in dict.fromkeys(_NAMES.findall(text.removeprefix(f"const double {name} "))):
            first = made.get(one, core if one[0] == "r" else 0 if is_call else k)
            if is_call or first < k or one in by_call:
                filled_in.setdefault(one, first)
                loads[k].update({} if is_call else {one: None})
        if is_call:
            filled_in.setdefault(name, k)
            calls[k] += _call(name, text)
        else:
            bodies[k].append((name, text))
    yield from map(array, filled_in)
    for k in range(n):
        own = [one for one, first in filled_in.items() if first == k and one not in by_call]
        stores = [("", f"{one}_[t - begin] = {one};") for one in own]
        before = [line for line, one in zip(stores, own, strict=True) if one[0] == "r"]
        behind = [line for line in stores if line not in before]
        body = [set_line(one, f"{one}_[t - begin]") for one in loads[k]]
        body += [*before, *bodies[k], *behind]
        if body:
            if k != core and by_call:
                yield "CADIFF_INDEPENDENT"
            yield block("for (int t = begin; t < end; t++)", filled(body))
        yield from calls[k]


def _call(name: str, text: str) -> Iterator[str]:
    """Statements that have the core fill the array of a name."""
    op, *operands = text.removeprefix(_CALL).split()
    given = []
    for k, x in enumerate(operands):
        if _NAMES.fullmatch(x):
            given.append(f"{x}_, 1")
        else:
            yield f"const double {name}_{k} = {x};"
            given.append(f"&{name}_{k}, 0")
    given += given[:1] * (3 - len(given))
    yield f"{VALUE}({op}, end - begin, {name}_, 1, {', '.join(given)});"


def _waits(name: str) -> bool:
    """Whether it is set in the one loop in which turns wait for each other."""
    return name[:1] in ("b", "n", "r")


def _phases_of(lines: Sequence[Line]) -> list[int]:
    """In which loop each line is: behind all calls whose results it reads."""
    ready: dict[str, int] = {}

    def least(text: str) -> int:
        return max((ready.get(one, 0) for one in _NAMES.findall(text)), default=0)

    phases = [0] * len(lines)
    core = 0
    for rest in (False, True):  # what is ahead of the turns that wait; and all others
        for k, (name, text) in enumerate(lines):
            is_ahead = name[:1] in ("a", "f")
            if is_ahead == rest:
                core = max(core, 0 if rest or not _waits(name) else least(text))
                continue
            reads = _NAMES.findall(text) if not text.startswith(_CALL) else []
            phases[k] = least(text)
            if rest and any(map(_waits, [name, *reads])):
                phases[k] = max(phases[k], core)
            if name:
                ready[name] = max(ready.get(name, 0), phases[k] + text.startswith(_CALL))
    return phases
