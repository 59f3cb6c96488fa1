"""Stubs follow from what is compiled, and say what that has, no less and no more."""

from __future__ import annotations

import ast
import importlib
from types import ModuleType
from typing import Any

import pytest

import cadiff
from building import stubs
from cadiff import binding
from cadiff.binding import _core
from cadiff.operations import table as _table

from ..helpers.lent import take_back
from .sources import COMPILED, PACKAGE


def _stub(name: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{name}.pyi").read_text(encoding="utf-8"))


def _members(node: ast.ClassDef) -> set[str]:
    names = set()
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            names.add(item.name)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            names.add(item.target.id)
    return names


BINDING_STUBS = [f"binding/{path.stem}" for path in sorted((PACKAGE / "binding").glob("*.pyi"))]


def stub_members(name: str) -> set[str]:
    """What the stubs say about a class of the core, with what it inherits there."""
    classes = {
        node.name: node
        for module in (*BINDING_STUBS, "operations/methods")
        for node in ast.walk(_stub(module))
        if isinstance(node, ast.ClassDef)
    }
    members = _members(classes[name])
    for base in classes[name].bases:
        if isinstance(base, ast.Name) and base.id in classes:
            members |= stub_members(base.id)
    return members


# Protocols of the language and of NumPy that no user calls.
UNTYPED = {
    "__array__",
    "__array_function__",
    "__array_ufunc__",
    "__contains__",  # of arrays alone
    "__doc__",
    "__module__",
    "__pyx_vtable__",
    "__reduce_cython__",
    "__setstate__",
    "__setstate_cython__",
}


def runtime_members(kind: type[Any]) -> set[str]:
    """What a type has beyond object."""
    members = {
        name
        for base in kind.__mro__[:-1]
        for name, thing in vars(base).items()
        if not isinstance(thing, binding.foreign_names.Absent)
    }
    return {name for name in members if not hasattr(object, name)} - UNTYPED


@pytest.mark.parametrize(
    "kind", [cadiff.Var, cadiff.Dual, binding.Recording, binding.Structure, binding.FrozenMap]
)
def test_stubs_cover_every_member_of_the_types(kind: type[Any]) -> None:
    take_back()
    assert runtime_members(kind) - stub_members(kind.__name__) == set()


@pytest.mark.parametrize(
    "kind", [cadiff.Var, cadiff.Dual, binding.Recording, binding.Structure, binding.FrozenMap]
)
def test_stubs_promise_nothing_that_the_types_lack(kind: type[Any]) -> None:
    lacking = {name for name in stub_members(kind.__name__) if not hasattr(kind, name)}
    assert lacking <= (OF_ARRAYS if kind in (cadiff.Var, cadiff.Dual) else set())


# The stub of a number is that of arrays, too. Numbers without axes are no containers.
OF_ARRAYS = {"__iter__", "__len__"}


def test_array_numbers_have_the_members_of_the_scalars() -> None:
    for scalar, array in (
        (cadiff.Var(1.0), cadiff.Var([1.0])),
        (cadiff.Dual(1), cadiff.Dual([1])),
    ):
        assert runtime_members(type(scalar)) | OF_ARRAYS == runtime_members(type(array))


def own_functions(module: ModuleType) -> set[str]:
    """The functions for others that a compiled module has not imported itself."""
    return {
        name
        for name, thing in vars(module).items()
        if callable(thing) and not isinstance(thing, type) and not name.startswith("_")
        if getattr(thing, "__module__", module.__name__) in {module.__name__, "cadiff"}
    }


@pytest.mark.parametrize("name", COMPILED)
def test_stubs_cover_the_functions_of_a_compiled_module(name: str) -> None:
    module = importlib.import_module(f"cadiff.{name}")
    path = COMPILED[name].with_suffix(".pyi")
    body = _stub(name.replace(".", "/")).body if path.exists() else []
    stubbed = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    tabled = set(_core.functions()) if module is _core else set()
    assert own_functions(module) - stubbed - tabled == set()
    assert {name for name in stubbed if not hasattr(module, name)} == set()


def test_the_stub_of_the_table_lists_every_function() -> None:
    stub = _stub("operations/table")
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert functions == set(_table.__all__) == set(_core.functions())
    for name in functions:
        assert callable(getattr(cadiff, name))


SOURCE = """
#: _T = TypeVar("_T")
MOST: int = 3
cdef object kept = None


@cython.final
cdef class Kept(Base):  #: Base[int]
    cdef int n
    cdef readonly tuple names  #: tuple[str, ...]  # of all
    cdef public object other

    def __init__(self):
        pass

    def __eq__(self, other):
        def inner(x):
            pass

    @property
    def size(self) -> int:
        pass

    cpdef tuple find(self, Py_ssize_t k, list names=None):  #: tuple[int, int] | None
        pass


cdef int hidden(x):
    pass


def answer(f: Callable[[int, int], Any], Kept kept or None, *rest, bint all=False) -> list[int]:
    pass
"""
LINES = {
    "": [
        '_T = TypeVar("_T")',
        "MOST: int = ...",
        "def answer(f: Callable[[int, int], Any], kept: Kept | None, *rest: Any, all: bool = ...)"
        " -> list[int]: ...",
    ],
    "Kept": [
        "@final\nclass Kept(Base[int]):",
        "    @property",
        "    def names(self) -> tuple[str, ...]: ...",
        "    other: Any",
        "    def __init__(self, *args: Any, **kwargs: Any) -> None: ...",
        "    def __eq__(self, other: Any, /) -> Any: ...",
        "    @property",
        "    def size(self) -> int: ...",
        "    def find(self, k: int, names: list[Any] | None = ...) -> tuple[int, int] | None: ...",
    ],
}


def test_stubs_follow_from_modules_in_cython() -> None:
    assert stubs.lines_of(SOURCE) == LINES


def test_stubs_are_those_of_the_sources() -> None:
    for name, text in stubs.derive().items():
        assert (stubs.BINDING / name).read_text(encoding="utf-8") == text, "build anew"


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
