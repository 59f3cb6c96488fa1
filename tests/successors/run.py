"""Run the tests of a package: `python run.py autograd|cadiff ARGUMENTS`, those of pytest.

Each test gets the property `gradient` in a report: of each of autograd's operators, `grad` and the
like, how often functions that it made were called, and the seconds of the processor that this
took, f included: other work of the machine does not count. A test of less than a second runs again
from the same random numbers, and that run counts: by then what is made once is there.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from _pytest.runner import runtestprotocol

OPERATORS = (
    *("deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian", "jacobian"),
    *("hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "make_ggnvp"),
    *("make_hvp", "make_jvp", "make_vjp", "multigrad_dict", "value_and_grad"),
)

LONG_SECONDS = 1.0


class Clock:
    """A plugin of pytest, which counts the outermost calls of timed functions."""

    def __init__(self) -> None:
        self.spent: dict[str, tuple[int, float]] = {}  # calls and seconds
        self.is_running = False

    def timed(self, result: Any, name: str) -> Any:
        """What an operator returns, whose calls are timed: a function, or a tuple with some."""
        if type(result) is tuple:
            return tuple(self.timed(each, name) for each in result)
        if not callable(result):
            return result

        def called(*args: Any, **kwargs: Any) -> Any:
            if self.is_running:
                return result(*args, **kwargs)
            self.is_running, begun = True, time.process_time()
            try:
                found = result(*args, **kwargs)
            finally:
                calls, seconds = self.spent.get(name, (0, 0.0))
                self.spent[name] = calls + 1, seconds + time.process_time() - begun
                self.is_running = False
            return self.timed(found, f"{name}()")

        return functools.wraps(result)(called)

    def operator(self, made: Callable[..., Any], name: str) -> Callable[..., Any]:
        def operate(*args: Any, **kwargs: Any) -> Any:
            return self.timed(made(*args, **kwargs), name)

        return functools.wraps(made)(operate)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        of = {"nodeid": item.nodeid, "location": item.location}
        item.ihook.pytest_runtest_logstart(**of)
        begun = time.monotonic()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if self.spent and time.monotonic() - begun < LONG_SECONDS:
            item.user_properties.clear()
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(**of)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        numpy.random.seed(0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.spent = {}
        try:
            return (yield)
        finally:
            item.user_properties.append(("gradient", json.dumps(self.spent)))


def main() -> None:
    _, which, *arguments = sys.argv
    sys.path[0] = ""  # the folder of the package, not of this file
    # Some packages were written for NumPys that had this name.
    numpy.product = numpy.prod  # type: ignore[attr-defined]
    if which == "cadiff":
        importlib.import_module("cadiff.compat.autograd").install()
    clock = Clock()
    modules = [importlib.import_module(f"autograd{at}") for at in ("", ".differential_operators")]
    for name in OPERATORS:
        for module in modules:
            if hasattr(module, name):
                setattr(module, name, clock.operator(getattr(module, name), name))
    sys.exit(pytest.main(arguments, plugins=[clock]))


if __name__ == "__main__":
    main()
