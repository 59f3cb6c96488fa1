"""Show what is recorded of a function, or the program that it is compiled to.

For example:
  python -m cadiff show models:loss --at "[1.0, 2.0]"
  python -m cadiff show models:loss --at "[1.0, 2.0]" --what program
  python -m cadiff show models:loss --at "[1.0, 2.0]" --as svg -o tape.svg
  python -m cadiff show models:loss --at "[1.0, 2.0]" --what program --as c -o loss.c
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..inspection import Tape, make_tape
from ..programs import Program
from ..programs import compile as compile_program
from .targets import CommandError, add_target, find_function, points_of

FORMS = {"tape": ("text", "dot", "svg"), "program": ("text", "dot", "c")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--what", choices=FORMS, default="tape", help="what to show")
    parser.add_argument(
        "--as",
        dest="form",
        choices=("text", "dot", "svg", "c"),
        default="text",
        help="text; a graph for Graphviz (dot); a picture (svg, of tapes); C99 (of programs)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there")


def run(options: argparse.Namespace) -> int:
    """Record or compile, and write it down."""
    if options.form not in FORMS[options.what]:
        forms = ", ".join(FORMS[options.what])
        raise CommandError(f"a {options.what} can be shown as {forms}, not as {options.form}")
    function, points = find_function(options.function), points_of(options.at)
    of = _program if options.what == "program" else _tape
    text = of(function, points, options.form)
    if options.output:
        Path(options.output).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


def _tape(function: Callable[..., Any], points: list[Any], form: str) -> str:
    tape: Tape = make_tape(function)(*points)
    if form == "svg":
        return tape._repr_svg_()
    return tape.to_dot() if form == "dot" else tape.to_text()


def _program(function: Callable[..., Any], points: list[Any], form: str) -> str:
    program: Program[..., Any] = compile_program(function)
    if form == "c":
        return program.to_c(*points)
    program(*points)
    if form == "text":
        program.value_and_grad(*points)
    return program.to_dot() if form == "dot" else program.to_text()
