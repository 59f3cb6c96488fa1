"""The order of the C core: a file uses only those that come before it, and knows no Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .sources import (
    BINDING,
    SOURCES,
    calls_between,
    circle_in,
    definitions_of,
    guard_of,
    includes_of,
    name_of,
    place_of,
)

# The storeys of the core, from below, and the order of the files within each: a file may include
# headers of earlier storeys, and a header those of earlier groups of its own.
C_STOREYS: list[tuple[str, list[set[str]]]] = [
    ("memory", [{"memory"}]),
    ("table", [{"codes", "special"}, {"ops"}, {"duals"}]),
    (
        "kernels",
        [
            {"coefficients", "kernels"},
            {"columns", "digest", "factors", "loops", "masks", "room"}
            | {"single", "vectors", "whole"},
            {"directions", "exponentials", "series"},
            {"matrices"},
            {"stacks"},
            {"borrowed", "orders", "rows", "softmax", "transforms"},
            {"lent", "row"},
            {"densities"},
            {"scipy_fixes"},
            {"tails"},
            {"elementwise"},
        ],
    ),
    (
        "tape",
        [
            {"entries"},
            {"tape"},
            {"adjoints", "blocks", "find"},
            {"reclaim", "captures", "guards"},
            {"inner"},
            {"marks"},
        ],
    ),
    (
        "arrays",
        [
            {"arrays"},
            {"lanes"},
            {"walk"},
            {"short_rows"},
            {"terms"},
            {"kinds"},
            {"values", "moves", "entry_tangent", "entry_reverse", "entry_taylor"},
            {"runs"},
        ],
    ),
    (
        "sweeps",
        [{"sweeps"}, {"value", "reverse", "tangent", "taylor", "second", "record"}, {"replay"}],
    ),
    (
        "linear",
        [
            {"linear"},
            {"steps"},
            {"validate", "sweep"},
            {"inner"},
            {"adds", "array_steps", "rows"},
            {"build"},
        ],
    ),
    (
        "graph",
        [
            {"pattern"},
            {"coloring"},
            {"graph"},
            {"copies", "edges"},
            {"inner"},
            {"bodies", "cotangents"},
            {"fold", "maps", "written", "records", "read", "partials", "products"},
            {"live", "derivatives", "shifts"},
            {"described", "insert"},
            {"scan_blocks"},
            {"scan"},
            {"scan_derivatives"},
            {"boxes", "split"},
            {"pull", "push", "forward"},
            {"edge_rows"},
            {"jacobian", "sparsity"},
        ],
    ),
    (
        "loops",
        [{"loops"}, {"inner"}, {"operations"}, {"turns"}, {"find"}, {"body"}, {"loop_builder"}],
    ),
    (
        "program",
        [
            {"native"},
            {"program"},
            {"instructions", "maker", "running"},
            {"chains", "machine", "run_arrays", "run_calls", "run_floats"},
            {"run_scans"},
            {
                "wanted",
                "levels",
                "places",
                "emit",
                "gather",
                "emit_numbers",
                "emit_arrays",
                "emit_scans",
                "floats",
                "loops",
                "products",
                "results",
            },
            {"accesses"},
            {"tiler"},
            {"groups"},
            {"tiles"},
            {"make", "run"},
            {"callback", "run_points"},
        ],
    ),
]
C_RANK = {
    f"{folder}/{name}": (storey, place)
    for storey, (folder, groups) in enumerate(C_STOREYS)
    for place, names in enumerate(groups)
    for name in names
}
# Tables, which each file reads in its own way, with the headers that they belong to.
TABLES = {"table/kinds.def": "table/codes", "program/instructions.def": "program/program"}
GENERATED = {f"ops_{name}" for name in ("codes", "rows", "values", "partials")}
GENERATED |= {f"ops_{name}" for name in ("docs", "direct", "helpers", "no_words")}
C_FILES = sorted([*SOURCES.glob("[!g]*/*.[ch]"), *SOURCES.glob("graph/*.[ch]")])


def test_every_file_of_the_core_has_its_place() -> None:
    assert {place_of(path) for path in C_FILES} == set(C_RANK)


@pytest.mark.parametrize("path", C_FILES, ids=name_of)
def test_the_c_core_includes_only_what_comes_before(path: Path) -> None:
    storey, place = C_RANK[place_of(path)]
    for header in includes_of(path, r'"([^"]+)"'):
        if Path(header).stem in GENERATED or header in TABLES:
            assert (storey, place) >= C_RANK[TABLES.get(header, "table/codes")]
            continue
        last = place if path.suffix == ".h" else len(C_STOREYS[storey][1])
        assert C_RANK[header.removesuffix(".h")] <= (storey, last), f"{path} includes {header}"


@pytest.mark.parametrize("path", C_FILES, ids=name_of)
def test_the_c_core_knows_no_python(path: Path) -> None:
    standard = {
        "assert.h",
        "float.h",
        "intrin.h",  # of one compiler
        "limits.h",
        "math.h",
        "stdbool.h",
        "stddef.h",
        "stdint.h",
        "stdlib.h",
        "string.h",
    }
    assert set(includes_of(path, r"<([^>]+)>")) <= standard
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"\bPy\w*_|\bPyObject\b|\bnpy_|\bNPY_", text)


@pytest.mark.parametrize("path", [*C_FILES, *sorted(BINDING.glob("*/*.[ch]"))], ids=name_of)
def test_inner_headers_are_included_in_their_own_storey_alone(path: Path) -> None:
    for header in includes_of(path, r'"(\w+/(?:inner|steps|visit)\.h)"'):
        assert Path(header).parent.name == path.parent.name, f"{path} includes {header}"


@pytest.mark.parametrize("path", [p for p in C_FILES if p.suffix == ".h"], ids=name_of)
def test_headers_have_guards(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).strip()
    guard = guard_of("CAD", path)
    assert text.startswith(f"#ifndef {guard}\n#define {guard}\n")
    assert text.endswith("#endif")


@pytest.fixture(scope="module")
def core_calls() -> dict[str, dict[str, set[str]]]:
    return calls_between(C_FILES)


def test_the_c_core_has_no_circles(core_calls: dict[str, dict[str, set[str]]]) -> None:
    assert circle_in(core_calls) == []


def test_the_c_core_calls_no_storey_above(core_calls: dict[str, dict[str, set[str]]]) -> None:
    for name, used in core_calls.items():
        for other, names in used.items():
            assert C_RANK[other][0] <= C_RANK[name][0], f"{name} uses {names} of {other}"


def test_circles_in_c_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.h").write_text(
        "int cad_a(int x);\nint cad_b(\n    int x);\n"
        "static inline int small(int x) {\n    return x;\n}\n"
    )
    (folder / "a.c").write_text(
        "/* cad_b */\nstatic int helper(int x) {\n    return cad_table[x];\n}\n\n"
        "int cad_a(int x) {\n    return helper(x);\n}\n"
    )
    (folder / "b.c").write_text(
        "static int small(int x) {\n    return x;\n}\n\n"
        "int cad_b(int x) {\n    return small(x) + cad_a(x);\n}\n"
    )
    (folder / "c.c").write_text("const int cad_table[] = {\n    1,\n};\n")
    (folder / "d.h").write_text("extern int cad_n;\nHIDDEN extern int (*cad_hook)(int);\n")
    (folder / "d.c").write_text("int (*cad_hook)(int);\nint cad_n = 1;\nstatic int own, *all;\n")
    assert definitions_of(folder / "d.h") == (set(), set())
    assert definitions_of(folder / "d.c")[0] == {"cad_hook", "cad_n"}
    (folder / "d.h").unlink()
    (folder / "d.c").unlink()
    calls = calls_between(sorted(folder.iterdir()))
    assert calls == {
        "folder/a": {"folder/c": {"cad_table"}},
        "folder/b": {"folder/a": {"cad_a"}},
    } | {"folder/c": {}}
    assert circle_in(calls) == []
    (folder / "c.c").write_text(
        'int (*cad_table[])(int) = {cad_b};\n\nvoid cad_c(void) {\n    puts("cad_a");\n'
        "    small(cad_b(1));\n}\n"
    )
    calls = calls_between(sorted(folder.iterdir()))
    assert calls["folder/c"] == {"folder/a": {"small"}, "folder/b": {"cad_b"}}
    (folder / "a.c").write_text("int cad_a(int x) {\n    return cad_b(x);\n}\n")
    circle = circle_in(calls_between(sorted(folder.iterdir())))
    assert circle[0] == circle[-1]
    assert set(circle) == {"folder/a", "folder/b"}


def test_memory_is_taken_through_one_door() -> None:
    calls = re.compile(r"\b(malloc|calloc|realloc|free)\s*\(")
    for path in [*C_FILES, *BINDING.glob("*/*.c")]:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = set(calls.findall(text))
        assert path.name == "memory.c" or not found, f"{path.name} calls {found}"
