"""Which lines of the product each test reaches: a plugin of pytest, and what it leaves.

    pytest -p tests.faults.reached --reached FOLDER

The extension has to be linked with reached.c, and compiled as that file says. `sys.monitoring`
tells the lines of Python code, so it takes Python 3.12. Each process leaves a file in the folder:
names of modules, as they come up; and for each test that passed its seconds, edges of the
extension and lines of modules, each as 65536 times the number of its module plus the line.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOOL = 4  # of sys.monitoring: neither a debugger's, nor coverage's, nor a profiler's


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reached", help="the folder for what each test reaches")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--reached")
    is_worker = hasattr(config, "workerinput")
    if folder and (is_worker or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Recorder(Path(folder)))


class Recorder:
    """Notes what one test after the other reaches."""

    def __init__(self, folder: Path) -> None:
        import cadiff
        from cadiff.binding import _core

        folder.mkdir(parents=True, exist_ok=True)
        self.file = (folder / f"{os.getpid()}.pickle").open("wb")
        self.package = str(Path(cadiff.__file__).parent)
        self.extension = ctypes.CDLL(_core.__file__)
        self.extension.cad_reached_edges.restype = ctypes.POINTER(ctypes.c_uint32)
        self.extension.cad_reached_count.restype = ctypes.c_size_t
        self.lines: set[tuple[str, int]] = set()
        self.passed = True
        self.numbers: dict[str, int] = {}
        self.watch_python()

    def number_of(self, name: str) -> int:
        """The number of a module, which the file tells when it comes up."""
        if name not in self.numbers:
            self.numbers[name] = len(self.numbers)
            pickle.dump(name[len(self.package) + 1 :], self.file)
        return self.numbers[name]

    def watch_python(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        self.monitoring, events = monitoring, monitoring.events

        def begun(code: Any, _: int) -> Any:
            if code.co_filename.startswith(self.package):
                monitoring.set_local_events(TOOL, code, events.LINE)
                self.lines.add((code.co_filename, code.co_firstlineno))
            return monitoring.DISABLE

        def line(code: Any, number: int) -> Any:
            self.lines.add((code.co_filename, number))
            return monitoring.DISABLE

        monitoring.use_tool_id(TOOL, "reached")
        monitoring.register_callback(TOOL, events.PY_START, begun)
        monitoring.register_callback(TOOL, events.PY_RESUME, begun)
        monitoring.register_callback(TOOL, events.LINE, line)
        monitoring.set_events(TOOL, events.PY_START | events.PY_RESUME)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed = self.passed and report.passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.lines.clear()
        self.passed = True
        self.monitoring.restart_events()
        self.extension.cad_reached_reset()
        begun = time.perf_counter()
        result = yield
        if not self.passed:
            return result
        seconds = time.perf_counter() - begun
        count = self.extension.cad_reached_count()
        edges = np.ctypeslib.as_array(self.extension.cad_reached_edges(), (count or 1,))[:count]
        lines = [self.number_of(name) << 16 | line for name, line in self.lines]
        record = (item.nodeid, seconds, edges.copy(), np.array(lines, np.uint32))
        pickle.dump(record, self.file)
        self.file.flush()
        return result
