"""Both types of numbers with derivatives, so that a rule is stated once for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import cadiff
from cadiff import Dual, Var


@dataclass(frozen=True)
class Kind:
    """One type of number: how to make an input, and to read the derivative of a result by it."""

    type: type[Any]
    make: Callable[[Any], Any]
    slope: Callable[[Any, Any], Any]

    def derivative(self, f: Callable[[Any], Any], x: float) -> tuple[float, float]:
        """Value and derivative of f, which must return a number of this type."""
        number = self.make(x)
        result = f(number)
        assert isinstance(result, self.type)
        return cadiff.value(result), self.slope(number, result)


def _var_slope(x: Any, y: Any) -> Any:
    x.zero_grad()
    y.backward()
    return x.grad


VAR = Kind(Var, Var, _var_slope)
DUAL = Kind(Dual, lambda x: Dual(x, 1.0), lambda x, y: y.tangent)

both = pytest.mark.parametrize("kind", [VAR, DUAL], ids=["Var", "Dual"])
