"""Makes the repository's `benchmarks` and `building` importable, and examples repeatable.

With the tree on the path, `import cadiff` would find the sources instead of the installed package;
so these are loaded from their places.

Property tests draw the same examples each time, so that a change is judged by what it changed;
`pytest --hypothesis-profile=explore` draws new ones, and five times as many; `brief` has a third,
for builds on which each takes four times as long. How many cases a test has, `slices` says.

Processes that share the tests have one thread of BLAS each: threads of all of them on all cores
wait for one another, for milliseconds at a product of 3 x 3.

While tests are collected no garbage is looked for, and later not among what was collected, which
is most of the heap.

Programs become machine code only where a test asks for it, not by themselves.

After each test, NumPy's arrays have to be indexed by NumPy's own function: recordings exchange it.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none

from .helpers.slices import CASES, of_today

gc.disable()

os.environ.setdefault("CADIFF_NATIVE", "asked")  # that no compiler runs but where a test has it

if "PYTEST_XDIST_WORKER" in os.environ:  # NumPy, which is not imported yet, reads it then
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("repeat", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("brief", derandomize=True, deadline=None, max_examples=20)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=300)
settings.load_profile("brief" if os.environ.get(CASES) == "today" else "repeat")

ROOT = Path(__file__).parents[1]

for name in {"benchmarks", "building"} - sys.modules.keys():
    place = ROOT / name
    spec = importlib.util.spec_from_file_location(
        name, place / "__init__.py", submodule_search_locations=[str(place)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cases of today, unless some are named, and of tests that read sources all: these
    take no time."""
    from .helpers.oldest import later

    is_later = later()
    for item in items:
        if is_later(item.nodeid):
            item.add_marker(
                pytest.mark.skip(reason="the library here is older: helpers/oldest.py")
            )
    if config.option.keyword:
        return
    is_brief = config.getoption("--hypothesis-profile") == "brief"
    kept: list[pytest.Item] = []
    for name, group in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases = list(group)
        marker = cases[0].get_closest_marker("daily")
        is_house = cases[0].path.parent.name == "house"
        shares = marker.args if marker else (1,)
        kept += cases if is_house else of_today(cases, *shares, name=name, is_brief=is_brief)
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


_generators: dict[object, list[tuple[Any, Any]]] = {}  # of modules, with the states they had


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test draws the same from generators of its module, whichever others ran before."""
    import numpy as np

    module = getattr(item, "module", None)
    if module not in _generators:
        values = vars(module).values() if module else ()
        found = [x for x in values if isinstance(x, np.random.Generator)]
        _generators[module] = [(x, x.bit_generator.state) for x in found]
    for generator, state in _generators[module]:
        generator.bit_generator.state = state


def pytest_collection_finish() -> None:
    given(none())(lambda _: None)()  # makes Hypothesis's generator: it looks for what refers to it
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_runtest_teardown() -> None:
    from .helpers.slots import NUMPYS, subscript_of  # which imports NumPy

    assert subscript_of() == NUMPYS, "a recording has left its function in NumPy's type"
