"""Names that other packages have, tried here: what the errors say."""

from __future__ import annotations

import importlib
import math
import re
import shutil
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import optimize
from cadiff.binding import _core, foreign_names
from cadiff.operations import foreign

from ..helpers.lent import take_back

PROGRAM = cadiff.compile(np.sum)
NUMBERS = [
    cadiff.Var(1.0),
    cadiff.Var([1.0, 2.0]),
    cadiff.Dual(1.0, 1.0),
    cadiff.Dual([1.0], [1.0]),
    cadiff.Var(1.0 + 2.0j),
]


def exists(path: str) -> bool:
    found: Any = cadiff
    parts = path.split(".")[1:]
    for k, part in enumerate(parts):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(["cadiff", *parts[: k + 1]]))
            except ModuleNotFoundError as error:  # perhaps of another package, below it
                return not str(error.name).startswith("cadiff")
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("name", foreign_names.NAMES)
def test_the_package_says_what_to_write(name: str) -> None:
    assert not hasattr(cadiff, name) and name not in dir(cadiff)
    with pytest.raises(AttributeError, match=rf"module 'cadiff' has no attribute '{name}': \w"):
        getattr(cadiff, name)


@pytest.mark.parametrize("name", foreign_names.NUMBERS)
def test_numbers_say_what_to_write(name: str) -> None:
    take_back()
    for number in NUMBERS:
        assert not hasattr(number, name) and getattr(number, name, 7) == 7
        assert name not in dir(number) and "sum" in dir(number)
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': \w") as caught:
            getattr(number, name)
        assert caught.value.name == name and caught.value.obj is number


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (cadiff.Var(1.0), foreign_names.VARS),
        (cadiff.Dual(1.0), foreign_names.DUALS),
        (PROGRAM, foreign_names.PROGRAMS),
    ],
    ids=["Var", "Dual", "Program"],
)
def test_names_of_one_kind_of_numbers_and_of_programs(thing: Any, names: dict[str, str]) -> None:
    for name, instead in names.items():
        assert not hasattr(thing, name)
        assert name not in dir(thing)
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': ") as caught:
            getattr(thing, name)
        assert str(caught.value).endswith(instead)
    assert "copy" in dir(thing) or "batch" in dir(thing)


def test_what_is_to_be_written_exists() -> None:
    tables = [value for value in vars(foreign_names).values() if isinstance(value, dict)]
    texts = [text for table in tables for text in table.values() if isinstance(text, str)]
    named = {path for text in texts for path in re.findall(r"\bcadiff(?:\.[A-Za-z_]\w*)+", text)}
    assert len(named) > 30
    assert {path for path in named if not exists(path)} == set()
    methods = {name for text in texts for name in re.findall(r"\bprogram\.(\w+)", text)}
    assert len(methods) > 8
    assert {name for name in methods if not hasattr(PROGRAM, name)} == set()


def test_names_of_results_exist() -> None:
    history = optimize.History()
    result = optimize.minimize(lambda x: x @ x, np.ones(2), method="SLSQP", callback=history)
    for name, instead in foreign_names.RESULTS.items():
        assert not hasattr(result, name)
        assert all(hasattr(result, there) for there in re.findall(r"result\.(\w+)", instead))


def test_nothing_that_numbers_have_is_hidden() -> None:
    take_back()
    known = {
        *dir(np.ndarray),
        *_core.functions(),
        "value",
        "grad",
        "backward",
        "primal",
        "tangent",
    }
    assert known & foreign_names.NUMBERS.keys() == set()


def test_imports_say_so_too() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'jit'.*write cadiff\.compile"):
        from cadiff import jit  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        from cadiff import no_such_name  # noqa: F401
    with pytest.raises(ImportError, match=r"'pymc' from 'cadiff\.interop': .*interop\.pytensor"):
        from cadiff.interop import pymc  # noqa: F401


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("linspace", r"write cadiff\.numpy\.linspace"),
        ("svd", r"write cadiff\.numpy\.linalg\.svd"),
        ("dropout", r"write cadiff\.nn\.dropout|has no attribute 'dropout'"),
        ("commands", r"write `import cadiff\.commands` first"),
        ("torch", r"write `import cadiff\.interop\.torch` first"),
        ("nonsense", r"has no attribute 'nonsense'$"),
        ("__wrapped__", r"has no attribute '__wrapped__'$"),
    ],
)
def test_names_of_its_modules_are_found(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        foreign_names.missing("cadiff", name)


def test_complex_arrays_and_stale_numbers_say_it_too() -> None:
    z = cadiff.Var(np.array([1.0 + 1j, 2.0]))
    with pytest.raises(AttributeError, match=r"'detach': cadiff\.stop_gradient"):
        z.detach()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        z.nonsense


X = np.ones(2)


def test_a_package_without_its_core_says_how_to_build_it(tmp_path: Path) -> None:
    package = Path(cadiff.__file__).parent
    shutil.copytree(package, tmp_path / "cadiff", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    done = subprocess.run(
        [sys.executable, "-c", "import cadiff"], cwd=tmp_path, capture_output=True, text=True
    )
    assert re.search(r"core of cadiff is missing from .*pip install -e \.", done.stderr)
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "cadiff")
    from_there = "import sys; sys.path.insert(0, sys.argv[1]); import cadiff"
    command = [sys.executable, "-c", from_there, archive]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert re.search(r"cannot import from within .*packed\.zip.*: unpack the archive", done.stderr)


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
@pytest.mark.parametrize("optimise", [optimize.minimize, optimize.least_squares, optimize.root])
def test_further_arguments_of_objectives(optimise: Any) -> None:
    with pytest.raises(TypeError, match="'rate'") as caught:
        optimise(lambda x, rate: x * rate, 1.0)
    assert re.search(r"calls fun\(x, \*args\): write args=", "".join(caught.value.__notes__))
    with pytest.raises(TypeError, match="'rate'") as inner:
        optimise(lambda x: (lambda rate: rate)(), 1.0)
    assert not getattr(inner.value, "__notes__", [])


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
@pytest.mark.parametrize(
    "call",
    [
        lambda: optimize.curve_fit(lambda t, k: math.exp(-k * t), X, X),
        lambda: optimize.least_squares(lambda p: math.exp(p), X),
        lambda: cadiff.compile(lambda a: a * math.exp(X))(1.0),
        lambda: cadiff.grad(lambda a: a * math.exp(X))(1.0),
    ],
)
def test_functions_of_one_number_that_are_given_arrays(call: Any) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert caught.value.__notes__ == ["write cadiff.exp(v) instead of math.exp(v)"]
    with pytest.raises(TypeError) as other:
        cadiff.compile(lambda a: a * math.exp("1"))(1.0)
    assert not hasattr(other.value, "__notes__")


class _Fixed:
    """A loader without room for an attribute, as those of frozen programs are."""

    __slots__ = ()

    def create_module(self, spec: Any) -> None:
        """Python makes it."""

    def exec_module(self, module: Any) -> None:
        module.answer = 42


def test_what_follows_an_import_leaves_the_loader_as_it_is(monkeypatch: Any) -> None:
    loader: Any = _Fixed()
    finder = SimpleNamespace(
        find_spec=lambda name, path=None, target=None: (
            ModuleSpec(name, loader) if name == "fixed_module" else None
        )
    )
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    followed: list[Any] = []
    foreign.when_imported("fixed_module", followed.append)
    module: Any = importlib.import_module("fixed_module")
    monkeypatch.delitem(sys.modules, "fixed_module")
    assert followed == [module]
    assert (module.answer, module.__loader__, module.__spec__.loader) == (42, loader, loader)
