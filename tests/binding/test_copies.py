"""What answers names by asking another object: copies ask it before there is another."""

from __future__ import annotations

import copy
import importlib
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import cadiff
from cadiff.scipy import stats

PACKAGE = Path(cadiff.__file__).parent
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if path.stem not in ("__main__", "__init__")
    and not {"interop", "_freezing"} & {*path.parts}
    and path.stem not in ("_ipopt", "_nlopt")  # which need the solvers
]
ASKING = {
    thing
    for name in MODULES
    for thing in vars(importlib.import_module(name)).values()
    if isinstance(thing, type) and thing.__module__.startswith("cadiff.")
    if "__getattr__" in dir(thing) and not issubclass(thing, (type, ModuleType))
    if thing.__reduce__ is object.__reduce__  # else it says how it is copied
}


@pytest.mark.parametrize("kind", sorted(ASKING, key=repr))
def test_names_are_answered_before_there_is_anything_to_ask(kind: Any) -> None:
    assert not hasattr(kind.__new__(kind), "__setstate__")


@pytest.mark.parametrize("name", ["norm", "binom", "dirichlet"])
def test_distributions_are_copied(name: str) -> None:
    distribution = getattr(stats, name)
    for each in (distribution, distribution(1, 0.5) if name == "binom" else distribution([0.5])):
        for copied in (copy.deepcopy(each), pickle.loads(pickle.dumps(each))):
            assert type(copied) is type(each)
