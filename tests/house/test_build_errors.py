"""What a build says on a machine that lacks something, and to a Python that is too old."""

from __future__ import annotations

import ast
import importlib.util
import runpy
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks import building as figures_of_builds
from building import prototypes, pythons, sizes

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def failures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("failures", ROOT / "building" / "failures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 9, 18)])
def test_a_python_that_is_too_old(version: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(
        SystemExit, match=r"needs Python 3\.10 or later.*is Python {}\.{}".format(*version)
    ):
        runpy.run_path(str(ROOT / "setup.py"))
    assert 'requires-python = ">=3.10"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_old_pythons_can_read_the_refusal() -> None:
    text = (ROOT / "setup.py").read_text(encoding="ascii")
    tree = ast.parse(text, feature_version=(3, 4))
    new = (ast.JoinedStr, ast.AnnAssign, ast.arg, ast.Starred, ast.NamedExpr)  # Python 2 too
    assert not [node for node in ast.walk(tree) if isinstance(node, new)]
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert "__future__" not in {node.module for node in imported}


@pytest.mark.skipif(sys.platform == "win32", reason="scripts of a shell stand for Pythons")
def test_pythons_are_found_named_and_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand = "{}.{}".format(*sys.version_info)
    for name in ("PYTHONS", "PYTHON_BY"):
        monkeypatch.delenv(f"CADIFF_{name}", raising=False)
    assert pythons.found(at_hand) == sys.executable
    assert pythons.found("9.9") is None

    def script(name: str, does: str) -> str:
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
        return str(tmp_path / name)

    new, other = script("new", "echo 9.9"), script("other", f"echo {at_hand}")
    makes = script("makes", f'[ "$1" = 9.9 ] && echo {new}')
    monkeypatch.setenv("CADIFF_PYTHON_BY", makes)
    assert [pythons.found(version) for version in ("9.9", "9.8")] == [new, None]
    monkeypatch.delenv("CADIFF_PYTHON_BY")
    monkeypatch.setenv("CADIFF_PYTHONS", f"{new}:{other}")
    assert [pythons.found(version) for version in ("9.9", at_hand)] == [new, other]
    monkeypatch.setenv("CADIFF_PYTHONS", "no-such-python")
    with pytest.raises(SystemExit, match="names no-such-python, which is no interpreter"):
        pythons.found(at_hand)


def test_no_compiler(failures: ModuleType) -> None:
    with pytest.raises(SystemExit) as caught:
        failures.check_compiler(["no-such-compiler"], [])
    text = str(caught.value)
    assert "There is no C compiler `no-such-compiler`" in text
    for word in ("build-essential", "dnf", "xcode-select", "Visual Studio", "the variable CC"):
        assert word in text


def test_a_compiler_that_fails(failures: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"does not work: .*\n.*\n.*This installs one"):
        failures.check_compiler([sys.executable, "-c", "raise SystemExit('no licence')"], [])


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_no_headers(failures: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"Python.h is missing.*\n.*\n.*python3-dev"):
        failures.check_compiler(["cc"], [])  # without -I


def test_a_source_that_is_not_compiled(failures: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"gone\.c was not compiled"):
        failures.compile_or_fail([sys.executable, "gone.c"], "gone.c", ROOT)


@pytest.mark.parametrize("word", ["Py_GIL_DISABLED", "pypy"])
def test_pythons_of_other_kinds(
    word: str, failures: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures.check_python()
    monkeypatch.setattr(failures.sysconfig, "get_config_var", lambda name: int(name == word))
    if word == "pypy":
        monkeypatch.setattr(failures.sys.implementation, "name", word)
    with pytest.raises(SystemExit, match=r"needs CPython|needs the GIL"):
        failures.check_python()


@pytest.mark.parametrize("words", [[], ["moved"]])
def test_figures_are_printed_and_compared_where_that_is_asked(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = [("wheel", "9000.0 MB"), ("a figure that is not on the page", "1")]
    monkeypatch.setattr(figures_of_builds, "figures", lambda: iter(measured))
    monkeypatch.setattr(sys, "argv", ["building", *words])
    assert figures_of_builds.main() == 0
    *_, wheel, other = capsys.readouterr().out.splitlines()
    assert wheel.startswith("| wheel | 9000.0 MB |")
    assert (" was " in wheel) == bool(words)
    assert other == "| a figure that is not on the page | 1 |"


HEADS = b"""
static PyObject *__pyx_f_6cadiff_7binding_5trees_9Container_describe(PyObject *);
%s
static PyObject *__pyx_f_6cadiff_7binding_5trees_9Container_describe(PyObject *__pyx_v_self) {
static PyObject *__pyx_pw_6cadiff_7binding_5trees_9Container_3describe(PyObject *__pyx_v_self,
static int __pyx_f_6cadiff_7binding_5trees_described(PyObject *__pyx_v_node) {
  x = __pyx_f_6cadiff_7binding_5trees_9Container_describe(y);
"""


def test_functions_that_are_to_be_small_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEADS % sizes.BODIES
    monkeypatch.setattr(sizes, "SMALL", {"trees": "Container.describe"})
    marked = sizes.mark_small(text, "trees")
    assert marked.replace(b"CYTHON_SMALL_CODE ", b"") == text
    lines = [line for line in marked.splitlines() if b"CYTHON_SMALL_CODE" in line]
    assert [line.split(b"(")[0][-9:] for line in lines] == [b"_describe", b"3describe"]
    assert sizes.mark_small(text, "tape") == text
    monkeypatch.setattr(sizes, "SMALL", {"trees": "Container.describe Tree.gone"})
    with pytest.raises(ValueError, match=r"trees\.pyx has no Tree\.gone$"):
        sizes.mark_small(text, "trees")


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("9Container_describe", "Container.describe"),
        ("9Container_12describe", "Container.describe"),
        ("9Container_5names_1__get__", "Container.names"),
        ("9Container_names___get__", "Container.names"),
        ("9Container_3__reduce__", "Container.__reduce__"),
        ("7key_of", "key_of"),
        ("1_where", "_where"),
        ("key_of", "key_of"),
    ],
)
def test_names_as_sources_have_them(mangled: str, name: str) -> None:
    assert sizes.name_of(f"6cadiff_7binding_5trees_{mangled}", "trees") == name


def test_what_cython_reads_is_found_through_all_forms_of_cimports(tmp_path: Path) -> None:
    """Else an edit of it would not have modules translated."""
    (tmp_path / "generated").mkdir()
    texts = {
        "one.pyx": "from . cimport two as other\nfrom libc.math cimport sin\n",
        "one.pxd": "from .three cimport (\n    A, B,\n)\n",
        "two.pxd": "from .generated.four cimport *\n",
        "three.pxd": "from .one cimport C\n",
        "generated/four.pxd": "from .five cimport *\n",
        "generated/five.pxd": "",
        "six.pxd": "",
        "three.pyx": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    read = {
        path.relative_to(tmp_path).as_posix()
        for path in prototypes.read_with(tmp_path / "one.pyx")
    }
    assert read == texts.keys() - {"six.pxd", "three.pyx"}
