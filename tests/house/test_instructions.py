"""A kind of instruction is named in its row, its kernel, where it is emitted, and for its text.

What other files ask of a kind is told by the row, src/program/instructions.def.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from cadiff.programs.instructions import FORMULAS, LEFT, InstructionKind, Trait
from cadiff.programs.steps_in_c import has_text

ROOT = Path(__file__).resolve().parents[2]
KINDS: list[str] = [*vars(InstructionKind)]
MOST = 4
_NAMED = re.compile(
    r"^CAD_INSTRUCTION\((\w+),|\bCAD_([A-Z_]+)\b|\bInstructionKind\.([A-Z_]+)\b", re.MULTILINE
)


def files_that_name() -> dict[str, set[str]]:
    """By kinds the files of the product that name them."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    sources = [path for end in ("c", "h", "def") for path in ROOT.glob(f"src/**/*.{end}")]
    sources += [path for end in ("py", "pyx") for path in ROOT.glob(f"cadiff/**/*.{end}")]
    for path in sources:
        for names in _NAMED.findall(path.read_text(encoding="utf-8")):
            found["".join(names)].add(str(path.relative_to(ROOT)))
    return found


def test_a_kind_is_named_in_few_files() -> None:
    found = files_that_name()
    assert {kind: found[kind] for kind in KINDS if len(found[kind]) > MOST} == {}
    for kind in KINDS:
        assert found[kind] >= {"src/program/instructions.def", "src/program/run.c"}


def test_a_kind_has_a_text_in_c_or_a_reason() -> None:
    for name, kind in vars(InstructionKind).items():
        assert has_text(kind) or LEFT[kind], name


def test_a_formula_tells_what_it_writes() -> None:
    for name, kind in vars(InstructionKind).items():
        if Trait.BY_FORMULA[kind]:
            assert re.fullmatch(r"\{r\} \+?= (\{[fx]\}|0)", FORMULAS[kind]), name
            assert Trait.OPERATES[kind] == ("{f}" in FORMULAS[kind]), name
        if Trait.TILED[kind] and not Trait.CALLS[kind]:
            assert Trait.OVER_PLAN[kind] or Trait.BY_FORMULA[kind], name
            assert Trait.OVER_PLAN[kind] or "{x}" not in FORMULAS[kind], name
