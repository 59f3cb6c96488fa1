"""The names that the package offers exist, once, and are documented."""

from __future__ import annotations

import ast
from types import ModuleType

import numpy as np
import pytest

import cadiff
from cadiff import inspection, ops, programs, transforms
from cadiff.binding import _core
from cadiff.operations import table as _table

from .sources import PACKAGE


@pytest.mark.parametrize("module", [cadiff, _table, inspection, ops, programs, transforms])
def test_all_names_exist_once_and_are_documented(module: ModuleType) -> None:
    names = module.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert not name.startswith("_")
        assert getattr(module, name).__doc__, f"{name} has no documentation"


def test_the_package_offers_all_that_its_modules_offer() -> None:
    modules = (_table, inspection, ops, programs, transforms)
    parts = {name for module in modules for name in module.__all__}
    assert parts <= set(cadiff.__all__)
    for name in parts:
        assert hasattr(cadiff, name)
    assert {"Var", "Dual", "StaleVarError"} <= set(cadiff.__all__)


def test_every_operation_is_offered_under_its_name_in_numpy_or_scipy() -> None:
    for name, _, ufunc in _core.operations():
        if ufunc.startswith("numpy."):
            assert hasattr(np, name)
            assert ufunc == f"numpy.{name}"
        elif ufunc != "-":
            assert ufunc == f"scipy.special.{name}"
        assert getattr(cadiff, name) is getattr(_core, name)
    for alias, name in _core.aliases():
        assert getattr(cadiff, alias) is getattr(cadiff, name)


def test_checkers_of_types_find_what_the_package_exports() -> None:
    """Pyright reads `__all__ += module.__all__` of modules that are imported in these two ways."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.asname for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is None:
            found |= {alias.name for alias in node.names if alias.asname is None}
    added = [
        node.value.value.id
        for node in tree.body
        if isinstance(node, ast.AugAssign)
        and isinstance(node.value, ast.Attribute)
        and isinstance(node.value.value, ast.Name)
    ]
    assert len(added) > 2 and set(added) <= found
