"""What the table of instructions, src/program/instructions.def, tells of each kind."""

from __future__ import annotations

import re

import pytest

from cadiff.programs.instructions import FORMULAS, LEFT, InstructionKind, Trait
from cadiff.programs.steps_in_c import has_text

KINDS = [*vars(InstructionKind).values()]


def test_every_kind_has_a_text_in_c_or_a_reason() -> None:
    assert [
        name
        for name, kind in vars(InstructionKind).items()
        if not has_text(kind) and not LEFT[kind]
    ] == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if Trait.BY_FORMULA[kind]])
def test_a_formula_tells_what_it_writes(kind: int) -> None:
    assert re.fullmatch(r"\{r\} \+?= (\{[fx]\}|0)", FORMULAS[kind])
    assert Trait.OPERATES[kind] == ("{f}" in FORMULAS[kind])


@pytest.mark.parametrize("kind", [k for k in KINDS if Trait.TILED[k] and not Trait.CALLS[k]])
def test_tiled_kinds_have_a_plan_or_a_formula(kind: int) -> None:
    assert Trait.OVER_PLAN[kind] or Trait.BY_FORMULA[kind]
    assert Trait.OVER_PLAN[kind] or "{x}" not in FORMULAS[kind]
