"""How C is written: numbers, elements of arrays, loops, blocks, functions, tables.

A statement is a text, perhaps of several lines. This module does not know what statements are for.
"""

from __future__ import annotations

import re
import textwrap
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

PART = 100  # statements of a function, above which it is divided


class Breathing(threading.local):
    """What those who write long texts call now and then, in a thread that others wait for."""

    by: Callable[[], None] | None = None

    def __call__(self) -> None:
        if self.by is not None:
            self.by()


breathe = Breathing()

# --- expressions ---------------------------------------------------------------------------------


def number_text(x: float) -> str:
    """A number as C writes it: exactly, and where it may stand beside any operator."""
    if x != x:
        return "NAN"
    text = "INFINITY" if abs(x) == float("inf") else repr(abs(float(x)))
    return f"(-{text})" if np.signbit(x) else text


def index_text(first: int | str, *steps: tuple[int | str, str]) -> str:
    """An index: `first`, and some steps further on, which are numbers or other texts."""
    text = ""
    for step, index in steps:
        sign, size = ("-", -step) if isinstance(step, int) and step < 0 else ("+", step)
        factor = f"{size} * " if re.fullmatch(r"[\w\[\]]+", str(size)) else f"({size}) * "
        if factor != "0 * ":
            text += f" {sign} {'' if factor == '1 * ' else factor}{index}"
    if text and str(first) == "0":
        return text[3:] if text[1] == "+" else f"-{text[3:]}"
    return f"{first}{text}"


def place_text(first: int, *steps: tuple[int, str], name: str = "w") -> str:
    """An element of the workspace: `first`, and some steps further on."""
    return f"{name}[{index_text(first, *steps)}]"


# --- statements ----------------------------------------------------------------------------------


def block(head: str, lines: Iterable[str]) -> str:
    within = [textwrap.indent(line, "    ") for line in lines]
    return "\n".join([f"{head} {{" if head else "{", *within, "}"])


def loop(n: int | str, lines: Iterable[str], index: str = "i") -> str:
    return block(f"for (int {index} = 0; {index} < {n}; {index}++)", lines)


def loops(axes: Sequence[tuple[str, int | str]], line: str) -> str:
    """A statement in loops over axes, but those of one number."""
    for index, n in reversed(axes):
        line = line if n in (1, "1") else loop(n, [line], index)
    return line


def copied(to: str, source: str, size: int) -> str:
    return f"memcpy(&{to}, &{source}, {size} * sizeof(double));"


# --- functions -----------------------------------------------------------------------------------


def function(head: str, lines: Iterable[str]) -> str:
    return f"{block(head, lines)}\n"


def table(name: str, items: Sequence[Any]) -> str:
    rows = [f"    {', '.join(map(str, items[k : k + 16]))}," for k in range(0, len(items), 16)]
    return "\n".join([f"static const {name}[{len(items)}] = {{", *rows, "};\n"])


def divided(
    name: str, head: str, lines: list[str], call: Sequence[str], last: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Many statements as functions of some each, and the statement that calls these.

    `head` is that of one, `call` is made of the i-th of `name`_parts. They are called through
    pointers: else compilers make one of them again, which takes minutes.
    """
    if len(lines) <= PART:
        return [], lines
    parts = [[*lines[k : k + PART], *last] for k in range(0, len(lines), PART)]
    names = [f"{name}_{k}" for k in range(len(parts))]
    functions = [
        function(f"static {head.format(one)}", part)
        for one, part in zip(names, parts, strict=True)
    ]
    pointers = block(f"static {head.format(f'(*const {name}_parts[])')} =", [",\n".join(names)])
    return [*functions, f"{pointers};\n"], [loop(len(parts), call)]
