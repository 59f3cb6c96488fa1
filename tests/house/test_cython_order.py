"""The order of the modules in Cython: each uses only those that come before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cadiff.binding import loading

from .sources import PACKAGE, stem_of
from .test_architecture import STOREYS


def test_the_compiled_core_imports_only_what_comes_before_it() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for pattern in ("*.pyx", "*.pxd", "*.c")
        for path in PACKAGE.rglob(pattern)
    )
    named = set(re.findall(r"\"cadiff\.([\w.]+)\"", text))
    assert named - {"tape", "MissingRuleError", "StaleVarError", "Var", "Dual"} == {
        "binding.dtype"
    }
    assert not re.search(r"^\s*(from|import|cimport)\s+(cadiff|\.\.)", text, re.MULTILINE)


# What the modules in Cython see of C: declarations, of which nothing is left when they run. Others
# are derived.
DECLARATIONS = ["python", "numbers", "numpy"]
CYTHON_ORDER = [*[f"c_{name}" for name in DECLARATIONS], "_core", *loading.MODULES]
CYTHON_FILES = sorted([*(PACKAGE / "binding").glob("*.pyx"), *(PACKAGE / "binding").glob("*.pxd")])


def cython_imports_of(path: Path) -> set[str]:
    """The modules beside it that a file in Cython imports, by `import` or `cimport`."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(r"^\s*from \.(\w+)(?:\.\w+)? c?import ", text, re.MULTILINE))
    for names in re.findall(r"^\s*from \. c?import (.+)$", text, re.MULTILINE):
        found |= {name.split()[0] for name in names.split(",")}
    return found


def test_every_file_in_cython_has_its_place() -> None:
    assert {path.stem for path in CYTHON_FILES} == set(CYTHON_ORDER)
    assert len(set(CYTHON_ORDER)) == len(CYTHON_ORDER)


@pytest.mark.parametrize("path", CYTHON_FILES, ids=lambda path: path.name)
def test_a_module_in_cython_imports_only_what_comes_before_it(path: Path) -> None:
    below = {"generated"}.union(*STOREYS[0][1][:2])  # and what is in Python
    rank = CYTHON_ORDER.index(path.stem)
    for name in cython_imports_of(path) - below:
        assert CYTHON_ORDER.index(name) < rank, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", CYTHON_FILES, ids=lambda path: path.name)
def test_a_module_in_cython_repeats_no_header_of_ours(path: Path) -> None:
    headers = re.findall(r'cdef extern from "([^"]+)"', path.read_text(encoding="utf-8"))
    assert {*headers} <= {"Python.h", "pythread.h", "numbers/objects/types.h"}  # macros and NumPy


@pytest.mark.parametrize("path", CYTHON_FILES, ids=lambda path: path.name)
def test_a_module_in_cython_imports_at_its_head_alone(path: Path) -> None:
    """A late import would be a way round the order; `include` shares the names of a module."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^[ \t]+(from\s+\S+\s+)?c?import\s", text, re.MULTILINE)
    assert not re.search(r"^[ \t]*include\s", text, re.MULTILINE)


@pytest.mark.parametrize("path", [p for p in CYTHON_FILES if p.suffix == ".pyx"], ids=stem_of)
def test_a_module_in_cython_says_what_it_is_for(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith('"""')


def test_the_order_of_modules_in_cython_can_be_broken(tmp_path: Path) -> None:
    path = tmp_path / "module.pyx"
    path.write_text(
        "import copy\nfrom . cimport c_numpy as cnp\nfrom .tape cimport (\n    view_of,\n)\n"
        "from .atoms import shape\nfrom cpython.float cimport PyFloat_FromDouble\n"
    )
    assert cython_imports_of(path) == {"c_numpy", "tape", "atoms"}
