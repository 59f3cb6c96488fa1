"""What `import cadiff` leaves for later: modules that a first gradient does without."""

from __future__ import annotations

import pytest

import cadiff

from ..helpers.processes import isolated

LATE = cadiff._LATER


@pytest.mark.parametrize("module", LATE)
def test_names_that_are_imported_late_are_those_of_their_module(module: str) -> None:
    late = getattr(cadiff, module)
    for name in LATE[module]:
        assert getattr(cadiff, name) is getattr(late, name)
    if module in ("inspection", "programs"):
        assert LATE[module] == late.__all__
    assert {module, *LATE[module]} <= {*dir(cadiff)}


def test_a_first_gradient_imports_none_of_them() -> None:
    program = """
import sys, cadiff
assert cadiff.grad(lambda x: cadiff.sin(x[0]) * x[1])([0.0, 2.0]) == [2.0, 0.0]
print(*sorted(f"cadiff.{name}" for name in cadiff._LATER if f"cadiff.{name}" in sys.modules))
"""
    assert isolated(program) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "np.cumsum(x)",
        "np.add.accumulate(x)",
        "np.linalg.norm(x) * x",
        "x.clip(0, 1)",
        "np.logaddexp.outer(x, x)",
        "np.ldexp(x, 2)",
        "np.angle(x * 1j + 1)",
        "np.exp(x * 1j, where=True)",
        "np.add.reduce(x * 1j)",
        "np.max(cadiff.Dual(x, x))",
        "cadiff.numpy.flip(x)",
        "cadiff.compile(lambda x: np.sort(x))(x)",
    ],
)
def test_the_first_function_of_numpy_finds_its_derivative(expression: str) -> None:
    program = f"""
import numpy as np, cadiff
x = cadiff.Var(np.array([1.5, 0.5]))
found = {expression}
import cadiff.numpy
again = {expression}
print(type(found) is type(again), np.array_equal(cadiff.value(found), cadiff.value(again)))
"""
    assert isolated(program) == "True True"
