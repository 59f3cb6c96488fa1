"""Reverse mode step by step: the adjoint of every number on the way.

After ``backward()``, each `Var` that was computed on the way to the result holds in ``.grad`` the
derivative of the result with respect to it: the number that a textbook draws beside each node.
"""

from __future__ import annotations

import math

import cadiff


def sigmoid() -> None:
    """Differentiate 1 / (1 + exp(-x)) at 0.5, one operation at a time."""
    x = cadiff.Var(0.5)
    minus_x = -x
    power = cadiff.exp(minus_x)
    denominator = 1.0 + power
    y = 1.0 / denominator
    y.backward()

    print("y = 1 / (1 + exp(-x)) at x = 0.5")
    print(f"  {'number':11}  {'value':>8}  {'adjoint':>8}")
    steps = {"y": y, "1 + exp(-x)": denominator, "exp(-x)": power, "-x": minus_x, "x": x}
    for name, number in steps.items():
        print(f"  {name:11}  {number.value:8.4f}  {number.grad:8.4f}")

    adjoints = [round(number.grad, 2) for number in steps.values()]
    assert adjoints == [1.0, -0.39, -0.39, -0.24, 0.24]
    assert math.isclose(y.value, 0.62245933120185456, rel_tol=1e-14)
    assert math.isclose(x.grad, 0.23500371220159449, rel_tol=1e-14)


def two_variables() -> None:
    """Differentiate ln x1 + x1 x2 - sin x2 at (2, 5) by both variables in one pass."""
    x1, x2 = cadiff.Var(2.0), cadiff.Var(5.0)
    y = cadiff.log(x1) + x1 * x2 - cadiff.sin(x2)
    y.backward()

    print("y = ln x1 + x1 x2 - sin x2 at (2, 5)")
    print(f"  y = {y.value:.12f}   dy/dx1 = {x1.grad:.12f}   dy/dx2 = {x2.grad:.12f}")
    assert math.isclose(y.value, 11.652071455223084, rel_tol=1e-14)
    assert math.isclose(x1.grad, 5.5, rel_tol=1e-14)
    assert math.isclose(x2.grad, 1.7163378145367737, rel_tol=1e-14)


if __name__ == "__main__":
    sigmoid()
    two_variables()
