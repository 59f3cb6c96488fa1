"""The seam to CasADi: `cadiff.interop.casadi`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

casadi = pytest.importorskip("casadi")

from cadiff.interop.casadi import function  # noqa: E402

from ..helpers.seams import A, b, product  # noqa: E402

x = casadi.MX.sym("x", 9)
x0 = np.concatenate([A.ravel(order="F"), b])


def product_in_casadi(A: Any, b: Any) -> Any:
    return casadi.sin(A) @ b, casadi.sumsqr(b) * A[0, 0]


def number(product: Any) -> Any:
    vector, last = product(casadi.reshape(x[:6], 2, 3), x[6:])
    return casadi.sumsqr(vector) + casadi.exp(last)


ORDERS = {
    "value": lambda y: y,
    "gradient": lambda y: casadi.gradient(y, x),
    "hessian": lambda y: casadi.hessian(y, x)[0],
}


@pytest.mark.parametrize("order", ORDERS)
def test_derivatives_are_those_of_casadi(order: str) -> None:
    called = function(product, A, b)
    found = casadi.Function("f", [x], [ORDERS[order](number(called))])(x0)
    expected = casadi.Function("f", [x], [ORDERS[order](number(product_in_casadi))])(x0)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_the_third_derivative_of_a_number() -> None:
    y, f = casadi.MX.sym("y"), function(lambda x: x * np.sin(x), 0.0)
    found = expected = y
    for k in range(4):
        found = casadi.jacobian(found, y) if k else f(y)
        expected = casadi.jacobian(expected, y) if k else y * casadi.sin(y)
    at = casadi.Function("f", [y], [found, expected])(0.3)
    np.testing.assert_allclose(float(at[0]), float(at[1]), rtol=1e-12)


def test_ipopt_by_nlpsol() -> None:
    f = function(lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2, np.zeros(2))
    y = casadi.MX.sym("y", 2)
    quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0}
    solver = casadi.nlpsol("solver", "ipopt", {"x": y, "f": f(y)}, quiet)
    np.testing.assert_allclose(solver(x0=[-1.2, 1.0])["x"].full(), 1.0, rtol=1e-8)
    assert solver.stats()["iter_count"] < 30  # by the exact Hessian


def test_shapes(capfd: Any) -> None:
    def picky(x: Any) -> Any:
        return x[: 1 + int(x[1] > 0.0)]

    f = function(picky, np.zeros(2))
    with pytest.raises(RuntimeError, match=r"of the shapes \[\(2,\)\], .* told \[\(1,\)\]"):
        f([0.0, 1.0])
    assert f([0.5, 0.0]) == copy.copy(f)([0.5, 0.0]) == 0.5
    with pytest.raises(ValueError, match=r"not arrays of shape \(1, 1, 1\): write"):
        function(np.sum, np.ones((1, 1, 1)))
    with pytest.raises(RuntimeError):  # it is gone, of which CasADi knows
        casadi.Function("f", [x], [function(np.sum, x0)(x)])(x0)
