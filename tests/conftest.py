"""Makes the repository's `benchmarks` and `building` importable, and examples repeatable.

With the tree on the path, `import cadiff` would find the sources instead of the installed package;
so these are loaded from their places.

The quick suite, which `pytest` runs, is the same on every day and machine: all tests that are not
marked `slow`; property tests draw the same examples each time. Most cases of a test of many are
marked here, except for a fixed slice. `pytest -m ""` runs everything, and draws more examples with
`--hypothesis-profile=explore`, new ones unless `--hypothesis-seed` says which.

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
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none

gc.disable()

os.environ.setdefault("CADIFF_NATIVE", "asked")  # that no compiler runs but where a test has it

if "PYTEST_XDIST_WORKER" in os.environ:  # NumPy, which is not imported yet, reads it then
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("quick", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=300)
settings.load_profile("quick")

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


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "run one test in so many, chosen by its name: the same ones at each run"
    parser.addoption("--one-in", type=int, default=1, metavar="N", help=what)


MANY = 8  # cases of a test that all are quick; of more one in SHARE stays
SHARE = 6


def quick_ones(cases: list[pytest.Item]) -> list[pytest.Item]:
    """A slice of the cases of a test that depends on their names alone, so that it stays."""
    count = MANY + (len(cases) - MANY) // SHARE
    return sorted(cases, key=lambda item: crc32(item.nodeid.encode()))[:count]


@pytest.hookimpl(tryfirst=True)  # before `-m` is asked
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from .helpers.oldest import later

    is_later = later()
    for item in items:
        if is_later(item.nodeid):
            item.add_marker(
                pytest.mark.skip(reason="the library here is older: helpers/oldest.py")
            )
    for _, group in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases = list(group)
        if len(cases) > MANY:
            for item in set(cases) - set(quick_ones(cases)):
                item.add_marker("slow")
    share = config.option.one_in
    chosen = [item for item in items if crc32(item.nodeid.encode()) % share == 0]
    config.hook.pytest_deselected(items=[*(set(items) - set(chosen))])
    items[:] = chosen


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
