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
from building import prototypes

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


def test_no_compiler(failures: ModuleType) -> None:
    with pytest.raises(SystemExit) as caught:
        failures.check_compiler(["no-such-compiler"])
    text = str(caught.value)
    assert "There is no C compiler `no-such-compiler`" in text
    for word in ("build-essential", "dnf", "xcode-select", "Visual Studio", "the variable CC"):
        assert word in text


def test_a_compiler_that_fails(failures: ModuleType) -> None:
    with pytest.raises(
        SystemExit, match=r"does not compile .*\n.*no licence\n.*This installs one"
    ):
        failures.check_compiler([sys.executable, "-c", "raise SystemExit('no licence')"])


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_no_headers(failures: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"(?s)Python\.h(: No|' file not) .*python3-dev"):
        failures.check_compiler(["cc"])  # without -I


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
