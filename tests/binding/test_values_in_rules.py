"""Rules of users' that take plain values: good for one order, and an error beyond that."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import optimize

Function = Callable[..., Any]

X = np.array([0.5, 0.7])


def by_method(define: str, *rules: Function) -> Function:
    operation = cadiff.primitive(lambda x: np.sin(x))
    getattr(operation, define)(*rules)
    return operation


def by_maker(slope: Function) -> Function:
    """Values are taken when the reverse rule is made, not when it is pulled."""

    def maker(ans: Any, x: Any) -> Function:
        partial = slope(ans, x)
        return lambda g: g * partial

    return by_method("defvjp", maker)


DEFINED: dict[str, Callable[[Function], Function]] = {
    "defpartials": lambda s: by_method("defpartials", s),
    "defvjp": lambda s: by_method("defvjp", lambda ans, x: lambda g: g * s(ans, x)),
    "maker": by_maker,
    "defjvp": lambda s: by_method("defjvp", lambda g, ans, x: g * s(ans, x)),
    "partials": lambda s: cadiff.custom(np.sin, partials=s),
    "vjp": lambda s: cadiff.custom(np.sin, vjp=lambda ans, x: lambda g: g * s(ans, x)),
    "jvp": lambda s: cadiff.custom(np.sin, jvp=lambda g, ans, x: g * s(ans, x)),
}

SLOPES: dict[str, Function] = {
    "value": lambda ans, x: np.cos(cadiff.value(x)),
    "a list": lambda ans, x: np.cos(cadiff.value([x])[0]),
    "partly": lambda ans, x: np.cos(cadiff.value(x)) * x / x,
    "result": lambda ans, x: np.sqrt(1.0 - cadiff.value(ans) ** 2),
    "attributes": lambda ans, x: np.cos(x.value if isinstance(x, cadiff.Var) else cadiff.value(x)),
    "a decision": lambda ans, x: np.cos(x) if np.all(cadiff.value(x) > 0.0) else -np.cos(x),
}


def summed(f: Function) -> Function:
    return lambda x: np.sum(f(x))


def along(f: Function) -> Function:
    return lambda x: cadiff.jvp(f, (x,), (1.0,))[1]


def twice(f: Function) -> Function:
    return cadiff.grad(cadiff.grad(f))


SECOND: dict[str, Function] = {
    "grad of grad": lambda f: twice(f)(0.5),
    "hessian": lambda f: cadiff.hessian(summed(f))(X),
    "hvp": lambda f: cadiff.hvp(summed(f))(X, np.ones(2)),
    "derivative": lambda f: cadiff.derivative(f, 0.5, order=2),
    "jacfwd of grad": lambda f: cadiff.jacfwd(cadiff.grad(summed(f)))(X),
    "jacobian of grad": lambda f: cadiff.jacobian(cadiff.grad(summed(f)))(X),
    "jvp of jvp": lambda f: along(along(f))(0.5),
    "grad of jvp": lambda f: cadiff.grad(along(f))(0.5),
    "a Dual": lambda f: cadiff.grad(f)(cadiff.Dual(0.5, 1.0)),
    "vmap": lambda f: cadiff.vmap(twice(f))(X),
    "sparse": lambda f: cadiff.sparse_hessian(summed(f))(X),
    "compiled hessian": lambda f: cadiff.compile(summed(f)).hessian(X),
    "compiled hvp": lambda f: cadiff.compile(summed(f)).hvp(X, np.ones(2)),
    "compiled grad of grad": lambda f: cadiff.compile(twice(f))(0.5),
    "grad of a compiled grad": lambda f: cadiff.compile(cadiff.grad(f)).grad(0.5),
    "minimize": lambda f: optimize.minimize(
        lambda x: np.sum((x - 1.0) ** 2 + 0.1 * f(x)), X
    ).hessian(),
}

FIRST: dict[str, Function] = {
    "grad": lambda f: cadiff.grad(summed(f))(X),
    "jacobian": lambda f: cadiff.jacobian(f)(X).diagonal(),
    "jacfwd": lambda f: cadiff.jacfwd(f)(X).diagonal(),
    "sparse": lambda f: cadiff.sparse_jacobian(f)(X).diagonal(),
    "compiled grad": lambda f: cadiff.compile(summed(f)).grad(X),
    "compiled jacobian": lambda f: cadiff.compile(f).jacobian(X).diagonal(),
    "a grad that is compiled": lambda f: cadiff.compile(cadiff.grad(summed(f)))(X),
    "a jvp that is compiled": lambda f: [cadiff.compile(along(f))(x) for x in X],
    "a factor": lambda f: [cadiff.grad(lambda y, x: y * cadiff.grad(f)(x))(2.0, x) for x in X],
    "a factor forward": lambda f: [along(lambda y, x=x: y * along(f)(x))(2.0) for x in X],
}


PAIRS = [
    (defined, slope)
    for defined in DEFINED
    for slope in SLOPES
    if slope == "value" or defined in ("defpartials", "defjvp")
]


@pytest.mark.parametrize(("defined", "slope"), PAIRS)
def test_values_are_good_for_one_order(defined: str, slope: str) -> None:
    f = DEFINED[defined](SLOPES[slope])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of programs that run their functions eagerly
        for name, first in FIRST.items():
            np.testing.assert_allclose(first(f), np.cos(X), rtol=1e-12, err_msg=name)
        for name, second in SECOND.items():
            with pytest.raises(cadiff.MissingRuleError, match=r"cadiff\.stop_gradient"):
                pytest.fail(f"{name} gives {second(f)}")


@pytest.mark.parametrize("defined", DEFINED)
def test_constants_and_comparisons_are_good_for_every_order(defined: str) -> None:
    def slope(ans: Any, x: Any) -> Any:
        factor = 1.0 if np.all(x > 0.0) else -1.0
        return factor * np.cos(x) * cadiff.stop_gradient(x)

    f = DEFINED[defined](slope)
    kept = {name: second(f) for name, second in SECOND.items() if name in ("hessian", "sparse")}
    np.testing.assert_allclose(kept["hessian"], np.diag(-np.sin(X) * X), rtol=1e-12)
    np.testing.assert_allclose(kept["sparse"].toarray(), kept["hessian"], rtol=1e-12)


def test_a_cotangent_that_is_taken_gives_no_forward_rule() -> None:
    f = cadiff.custom(np.sin, vjp=lambda ans, x: lambda g: cadiff.value(g) * np.cos(x))
    assert cadiff.grad(f)(0.5) == np.cos(0.5)
    with pytest.raises(cadiff.MissingRuleError, match="stop_gradient"):
        cadiff.jvp(f, (0.5,), (1.0,))


def test_values_that_a_rule_takes_within_derivatives_of_its_own() -> None:
    def inner(y: Any) -> Any:
        return np.sin(y) * (1.0 if cadiff.value(y) > 0.0 else -1.0)

    f = cadiff.custom(np.sin, partials=lambda ans, x: cadiff.jvp(inner, (x,), (1.0,))[1])
    assert cadiff.grad(f)(0.5) == pytest.approx(np.cos(0.5), rel=1e-15)
    plain = cadiff.custom(np.sin, partials=lambda ans, x: np.cos(x) * cadiff.grad(inner)(0.0))
    assert twice(plain)(0.5) == pytest.approx(np.sin(0.5), rel=1e-15)
