"""The guide to adding an operation, followed word by word in a copy of the repository's files.

CONTRIBUTING.md says that a row and its twin are all that an operation needs. The rows here, the
guide's own among them, are added to a copy of the table; what is derived from them is derived, the
generated C compiled and judged by the tests of the table. With CADIFF_LONG=1 the package is built
from the copy as well, and its test suite asked about the new operation.
"""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ..helpers.oracle import DIGITS, ORACLE, digits, taylor
from ..helpers.table import Row, bounds, edges, load
from ..numerics import test_operations as judge

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    """A block of the guide, without its indentation."""
    found = re.search(rf"^ *```{kind}\n *(.*)\n *```$", GUIDE, re.MULTILINE)
    assert found is not None
    return found[1]


# Rows and twins: that of the guide; domains that no other row has, at whose bounds derivatives are
# finite, infinite, or left open.
ADDED = {
    "versin": (block("row"), block("twin")),
    "xlogx": (
        "xlogx(x) | - | (0, inf) | x * log(x) | 1 + log(x) |",
        '"xlogx": lambda x: x * mp.log(x),',
    ),
    "atanh_sqrt": (
        "atanh_sqrt(x) | - | [0, 1) | atanh(sqrt(x)) "
        "| v if x > 1 else reciprocal(2 * sqrt(x) * (1 - x)) |",
        '"atanh_sqrt": lambda x: mp.atanh(mp.sqrt(x)),',
    ),
    "careless": (
        "careless(x) | - | R | 1.0 - cos(x) | sin(x) |",
        '"careless": lambda x: 1 - mp.cos(x),',
    ),
}
RIGHT = [name for name in ADDED if name != "careless"]

PROGRAM = r"""
#include "table/ops.h"
#include <stdio.h>
#include <string.h>
int main(void) {
    char name[64];
    double x, p[3];
    while (scanf("%63s %lf", name, &x) == 2) {
        for (CadOp op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
            if (strcmp(cad_op_info[op].name, name) == 0) {
                const double v = cad_op_value(op, x, 0.0, 0.0);
                cad_op_partials(op, 1, x, 0.0, 0.0, v, p);
                printf("%a %a\n", v, p[0]);
            }
        }
    }
    return 0;
}
"""


def follow_the_guide(root: Path, names: Sequence[str]) -> None:
    """Add rows and twins to a copy."""
    table, oracle = root / "src/table/ops.def", root / "tests/helpers/oracle.py"
    with table.open("a", encoding="utf-8") as file:
        file.writelines(f"{ADDED[name][0]}\n" for name in names)
    head = "TWINS: dict[str, Twin] = {\n"
    before, after = oracle.read_text(encoding="utf-8").split(head)
    twins = "".join(f"    {ADDED[name][1]}\n" for name in names)
    oracle.write_text(before + head + twins + after, encoding="utf-8")


class Copy:
    """What follows from the table of a copy."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.generate: ModuleType = load("generate_of_copy", root / "src/table/generate.py")
        self.oracle: ModuleType = load("oracle_of_copy", root / "tests/helpers/oracle.py")
        self.rows: dict[str, Row] = {row.name: row for row in self.generate.read_table()}

    def compute(self, name: str, numbers: list[float]) -> list[tuple[float, float]]:
        """Value and derivative, by the C that was generated."""
        lines = "".join(f"{name} {x!r}\n" for x in numbers)
        out = subprocess.run([self.program()], input=lines, capture_output=True, text=True)
        found = [tuple(map(float.fromhex, line.split())) for line in out.stdout.splitlines()]
        assert len(found) == len(numbers)
        return [(value, partial) for value, partial in found]

    def program(self) -> Path:
        """The program that computes operations, built if it is not there yet."""
        program = self.root / "operations"
        if not program.exists():
            headers = self.root / "generated"
            self.generate.write_c(headers)
            (self.root / "operations.c").write_text(PROGRAM, encoding="utf-8")
            sources = [self.root / "operations.c", *sorted((self.root / "src/table").glob("*.c"))]
            compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
            options = ["-O0", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
            paths = [f"-I{self.root / 'src'}", f"-I{headers}"]
            command = [*compiler[:1], *options, *paths, *map(str, sources)]
            built = subprocess.run(
                [*command, "-o", str(program), "-lm"], capture_output=True, text=True
            )
            assert built.returncode == 0, built.stderr
        return program


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src/table", root / "src/table")
    (root / "tests/helpers").mkdir(parents=True)
    shutil.copy(ROOT / "tests/helpers/oracle.py", root / "tests/helpers/oracle.py")
    follow_the_guide(root, list(ADDED))
    return Copy(root)


@pytest.fixture
def twins(copy: Copy) -> Iterator[None]:
    """The twins of the copy, where the tests look for them."""
    for name in ADDED:
        ORACLE[name] = copy.oracle.ORACLE[name]
    yield
    for name in ADDED:
        del ORACLE[name]


needs_compiler = pytest.mark.skipif(sys.platform == "win32", reason="it takes options of gcc")
added = pytest.mark.parametrize("name", RIGHT)


@added
def test_stubs_and_documentation_follow(name: str, copy: Copy) -> None:
    files = copy.generate.derived_files() | copy.generate.stubs()
    functions = ast.parse(files["table.pyi"]).body
    assert name in {node.name for node in functions if isinstance(node, ast.FunctionDef)}
    methods = ast.parse(files["methods.pyi"])
    assert name in {node.name for node in ast.walk(methods) if isinstance(node, ast.FunctionDef)}
    assert f"| `{name}(x)` | {copy.rows[name].domain[0]} |" in files["docs/operations.md"]


def wrong(copy: Copy, name: str) -> list[str]:
    """What the tests of the table say of the C that was generated."""
    row = copy.rows[name]
    points = judge.points(row)
    findings = judge.Findings(row)
    for point, (value, partial) in zip(
        points, copy.compute(name, [x for (x,) in points]), strict=True
    ):
        findings.compare(point, (0,), {"C": value})
        findings.compare(point, (1,), {"C": partial})
    return findings.lines


@needs_compiler
@added
def test_the_row_agrees_with_its_twin(name: str, copy: Copy, twins: None) -> None:
    assert wrong(copy, name) == []


@needs_compiler
def test_a_careless_row_does_not(copy: Copy, twins: None) -> None:
    """What the guide says of 1 - cos(x): right, and without a digit near 0."""
    assert any("derivative (0,)" in line for line in wrong(copy, "careless"))


@needs_compiler
@added
def test_special_values_follow_the_twin(name: str, copy: Copy, twins: None) -> None:
    row = copy.rows[name]
    points = list(judge.special_points(row))
    for point, (value, _) in zip(points, copy.compute(name, [x for (x,) in points]), strict=True):
        assert judge.is_value(row, point, value, judge.reference(row, *point)), (point, value)


@needs_compiler
@added
def test_edges_follow_from_the_domain(name: str, copy: Copy, twins: None) -> None:
    row = copy.rows[name]
    (domain,) = row.domains
    for bound in edges(domain):
        with digits(400):
            limit = float(judge.approach(row, (bound,), 0, (1,)))
        assert copy.compute(name, [bound])[0][1] == pytest.approx(limit)
    if bounds(domain):
        for value, partial in copy.compute(name, judge.beyond(domain)):
            assert value != value
            assert partial != partial


@added
def test_points_keep_inside_the_domain(name: str, copy: Copy, twins: None) -> None:
    row = copy.rows[name]
    points = judge.points(row)
    assert len(points) >= 16
    assert all(row.domains[0].contains(x) for (x,) in points)
    with digits(DIGITS):
        assert all((1,) in taylor(name, *point) for point in points)


@pytest.mark.parametrize("ask", [judge.test_has_a_twin, judge.points])
def test_a_missing_twin_is_told_by_name(ask: Callable[[Row], Any], copy: Copy) -> None:
    """The tests of a row fail, and say what to write; they are collected all the same."""
    alone = dataclasses.replace(copy.rows["xlogx"], name="alone")
    told = pytest.raises((AssertionError, LookupError), match=r"alone.*TWINS in .*oracle\.py")
    with told as caught:
        ask(alone)
    assert '"alone": lambda x:' in str(caught.value)


@pytest.mark.skipif("CADIFF_LONG" not in os.environ, reason="it builds the package: CADIFF_LONG=1")
def test_the_package_has_the_operation(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    ignored = shutil.ignore_patterns("build", ".*", "*.so", "__pycache__")
    shutil.copytree(ROOT, root, ignore=ignored)
    follow_the_guide(root, RIGHT)
    environment = {**os.environ, "CADIFF_CFLAGS": "-O1"}
    names = " or ".join(RIGHT)
    for command in (
        ["src/table/generate.py", "derived"],
        ["setup.py", "-q", "build_ext", "--inplace"],
        ["-m", "pytest", "-q", "tests", "-k", f"({names}) and not adding"],
        ["-m", "pytest", "-q", "tests/c"],
    ):
        done = subprocess.run(
            [sys.executable, *command], cwd=root, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
