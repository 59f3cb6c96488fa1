"""Run the tests of a package: `python run.py autograd|cadiff ARGUMENTS`, those of pytest.

Each test gets the property `gradient` in a report: the seconds that it spent in functions that
autograd's operators made, such as `grad(f)`, f included.
"""

from __future__ import annotations

import functools
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

OPERATORS = (
    *("deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian", "jacobian"),
    *("hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "make_ggnvp"),
    *("make_hvp", "make_jvp", "make_vjp", "multigrad_dict", "value_and_grad"),
)


class Clock:
    """A plugin of pytest, which counts the outermost calls of timed functions."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_running = False

    def timed(self, result: Any) -> Any:
        """What an operator returns, whose calls are timed: a function, or a tuple with some."""
        if type(result) is tuple:
            return tuple(map(self.timed, result))
        if not callable(result):
            return result

        def called(*args: Any, **kwargs: Any) -> Any:
            if self.is_running:
                return result(*args, **kwargs)
            self.is_running, begun = True, time.perf_counter()
            try:
                found = result(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - begun
                self.is_running = False
            return self.timed(found)

        return functools.wraps(result)(called)

    def operator(self, made: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(made)(lambda *args, **kwargs: self.timed(made(*args, **kwargs)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.seconds = 0.0
        try:
            return (yield)
        finally:
            item.user_properties.append(("gradient", self.seconds))


def main() -> None:
    _, which, *arguments = sys.argv
    sys.path[0] = ""  # the folder of the package, not of this file
    # Some packages were written for NumPys that had this name, and draw numbers without a seed.
    numpy.product = numpy.prod  # type: ignore[attr-defined]
    numpy.random.seed(0)
    if which == "cadiff":
        importlib.import_module("cadiff.compat.autograd").install()
    clock = Clock()
    modules = [importlib.import_module(f"autograd{at}") for at in ("", ".differential_operators")]
    for name in OPERATORS:
        for module in modules:
            if hasattr(module, name):
                setattr(module, name, clock.operator(getattr(module, name)))
    sys.exit(pytest.main(arguments, plugins=[clock]))


if __name__ == "__main__":
    main()
