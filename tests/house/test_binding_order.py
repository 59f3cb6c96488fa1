"""The order of the binding in C: a file uses only those that stand below it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .sources import (
    BINDING,
    calls_between,
    circle_in,
    declarations,
    definitions_of,
    guard_of,
    includes_of,
    name_of,
    place_of,
)
from .test_core_order import C_RANK, GENERATED

# The folders of the binding, from below, and the order of the files within each: a file may use
# what earlier folders define, and of its own folder what earlier groups or its own group do.
BINDING_STOREYS: list[tuple[str, list[set[str]]]] = [
    ("numbers", []),
    (
        "objects",
        [
            {"types"},
            {"state"},
            {"binding", "classify", "errors", "references", "slabs", "views"},
            {"components", "handles"},
        ],
    ),
    (
        "operations",
        [
            {"functions", "recording"},
            {"apply", "operations"},
            {"precision"},
            {"compare", "slots"},
            {"formulas"},
        ],
    ),
    ("var", [{"var"}, {"contents", "rules"}, {"grad"}, {"members", "operators"}]),
    (
        "array",
        [
            {"array"},
            {"inner"},
            {"operands"},
            {"results"},
            {"arithmetic", "gather"},
            {"assign"},
            {"index"},
        ],
    ),
    ("dual", [{"dual", "tangents"}, {"constructors", "index"}, {"members", "operators"}]),
    (
        "module",
        [{"module"}, {"methods", "objects", "table", "ufuncs"}, {"elementwise"}, {"ready"}],
    ),
]
BINDING_RANK = {
    f"{folder}/{name}": (storey, place)
    for storey, (folder, groups) in enumerate(BINDING_STOREYS)
    for place, names in enumerate(groups)
    for name in names
}
BINDING_FILES = sorted(BINDING.glob("*/*.[ch]"))


@pytest.fixture(scope="module")
def binding_calls() -> dict[str, dict[str, set[str]]]:
    return calls_between(BINDING_FILES)


def test_every_file_of_the_binding_has_its_place() -> None:
    assert {place_of(path) for path in BINDING_FILES} == set(BINDING_RANK)
    assert not [*BINDING.glob("*.*")]


def test_the_binding_has_no_circles(binding_calls: dict[str, dict[str, set[str]]]) -> None:
    assert circle_in(binding_calls) == []


@pytest.mark.parametrize("name", sorted(BINDING_RANK))
def test_a_file_of_the_binding_uses_what_stands_below(
    name: str, binding_calls: dict[str, dict[str, set[str]]]
) -> None:
    for other, names in binding_calls[name].items():
        assert BINDING_RANK[other] <= BINDING_RANK[name], f"{name} uses {names} of {other}"


def test_calls_between_files_of_the_binding_are_seen(
    binding_calls: dict[str, dict[str, set[str]]],
) -> None:
    ready, general = binding_calls["module/ready"], binding_calls["operations/apply"]
    assert {"cad_var_number"} <= ready["var/operators"]
    assert {"CadVar_Type", "CadDual_Type"} <= ready["objects/types"]
    assert ready["objects/state"] == {"cad_state"}
    assert "cad_guarded_tape" in binding_calls["operations/compare"]["operations/recording"]
    assert "cad_dual_show" in binding_calls["dual/dual"]["dual/tangents"]
    assert {name.split("/")[0] for name in general} == {"objects", "operations"}


@pytest.mark.parametrize("path", BINDING_FILES, ids=name_of)
def test_a_file_of_the_binding_says_what_it_is_for(path: Path) -> None:
    assert re.match(r"/\*.*?\*/\n#(include|ifndef)", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("path", BINDING_FILES, ids=name_of)
def test_a_file_of_the_binding_includes_what_stands_below(path: Path) -> None:
    storey, place = BINDING_RANK[place_of(path)]
    last = place if path.suffix == ".h" else len(BINDING_STOREYS[storey][1])
    for header in includes_of(path, r'"([^"]+)"'):
        name = header.removesuffix(".h")
        if name.startswith("numbers/"):
            assert BINDING_RANK[name.removeprefix("numbers/")] <= (storey, last), header
            if Path(name).stem == "inner":
                assert Path(name).parent.name == path.parent.name, header
        else:
            assert name in GENERATED | set(C_RANK), header


def test_headers_of_the_binding_declare_what_their_folder_defines() -> None:
    """But for what the binding in Cython does for these files."""
    defined = {path: definitions_of(path)[0] for path in BINDING_FILES if path.suffix == ".c"}
    for header in (path for path in BINDING_FILES if path.suffix == ".h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        declared = set(
            re.findall(r"^(?:\w+[ *]+)+\(?\*?(cad_\w+|Cad\w+_Type)\b", text, re.MULTILINE)
        )
        declared -= definitions_of(header)[0]
        here = (names for path, names in defined.items() if path.parent == header.parent)
        own = defined.get(header.with_suffix(".c"))
        offered = own if own is not None else set().union(*here)
        assert header.stem == "binding" or declared <= offered, declared - offered


@pytest.mark.parametrize("path", sorted(BINDING.glob("**/*.h")), ids=name_of)
def test_headers_of_the_binding_have_guards(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).strip()
    guard = guard_of("CADIFF", path)
    assert text.startswith(f"#ifndef {guard}\n#define {guard}\n")
    assert text.endswith("#endif")


def test_the_binding_in_cython_sees_all_that_the_files_offer() -> None:
    seen = {
        path
        for pattern in " ".join(declarations.FILES.values()).split()
        for path in BINDING.parent.glob(pattern)
    }
    offered = {path for path in BINDING_FILES if path.suffix == ".h" and path.stem != "inner"}
    assert seen == offered - {BINDING / "objects" / "references.h"}  # which are for C alone
