"""Solvers ask functions later for derivatives: these read what they read at the call."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import scipy.sparse

import cadiff
from cadiff.scipy import integrate, optimize

Function = Callable[[Any], Any]
FACTORS = (1.0, 2.0, 3.0)
HERE = 0.0
SOME = np.zeros(1)


def exact(a: float, k: float) -> float:
    """The zero of s**3 + k s - a k, by Cardano's formula."""
    root = np.sqrt((a * k / 2.0) ** 2 + (k / 3.0) ** 3)
    return float(np.cbrt(a * k / 2.0 + root) + np.cbrt(a * k / 2.0 - root))


def cubic(s: Any, a: Any, k: Any) -> Any:
    return s**3 + k * s - a * k


# Each gets a function of one unknown and of a factor, which is moved on behind it.
SOLVERS: dict[str, Callable[[Function], Any]] = {
    "brentq": lambda f: optimize.brentq(f, 0.0, 5.0),
    "newton": lambda f: optimize.newton(f, 1.0),
    "root": lambda f: optimize.root(lambda s: f(s), 1.0).x[0],
    "fsolve": lambda f: optimize.fsolve(f, 1.0)[0],
    "root_scalar": lambda f: optimize.root_scalar(f, bracket=(0.0, 5.0)).root,
    "fixed_point": lambda f: optimize.fixed_point(lambda s: s - 0.1 * f(s), 1.0),
    "cadiff.root": lambda f: cadiff.root(f, 1.0),
    "cadiff.fixed_point": lambda f: cadiff.fixed_point(lambda s: s - 0.1 * f(s), 1.0),
    "least_squares": lambda f: optimize.least_squares(f, [1.0], xtol=1e-15, gtol=1e-15).x[0],
    "minimize": lambda f: optimize.minimize(lambda s: (f(s) ** 2).sum(), [1.0], tol=1e-6).x[0],
    "minimize_scalar": lambda f: optimize.minimize_scalar(lambda s: f(s) ** 2, tol=1e-12).x,
    "quad": lambda f: integrate.quad(f, 0.0, 1.0)[0],
    "solve_ivp": lambda f: integrate.solve_ivp(
        lambda t, y: -y * f(t), (0.0, 1.0), [1.0], rtol=1e-10, atol=1e-12
    ).y[0, -1],
    "odeint": lambda f: integrate.odeint(
        lambda y, t: -y * f(t), [1.0], np.array([0.0, 1.0]), rtol=1e-10, atol=1e-12
    )[-1, 0],
}


def agree_in_all_modes(f: Function, plain: Function) -> None:
    """Those of f, whose closures have moved on, with those of one whose closures stay."""
    close = functools.partial(npt.assert_allclose, rtol=1e-6)
    push = lambda f: lambda a: cadiff.jvp(f, (a,), (1.0,))[1]  # noqa: E731
    slope, second = push(plain)(1.3), push(push(plain))(1.3)
    close(f(1.3), plain(1.3))
    for derivative in (cadiff.grad, push):
        close(derivative(f)(1.3), slope)
        close(derivative(cadiff.grad(f))(1.3), second)
    program = cadiff.compile(f)
    for a in (1.3, 1.4):
        close(program(a), plain(a))
        close(program.grad(a), cadiff.grad(plain)(a))


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("name", SOLVERS)
def test_closures_that_move_on(name: str) -> None:
    solve = SOLVERS[name]

    def still(a: Any) -> Any:
        one, two, three = (functools.partial(cubic, a=a, k=k) for k in FACTORS)
        return solve(lambda s: one(s)) + solve(lambda s: two(s)) + solve(lambda s: three(s))

    def moving(a: Any) -> Any:
        return sum([solve(lambda s: cubic(s, a, k)) for k in FACTORS])  # noqa: B023

    agree_in_all_modes(moving, still)


def solved(function: Any) -> Any:
    return optimize.brentq(function, 0.0, 5.0)


def in_an_array(a: Any) -> Any:
    w = np.zeros(1)
    for w[0] in FACTORS:
        yield solved(lambda s: cubic(s, a, w[0]))


def in_a_long_strided_array(a: Any) -> Any:
    w = np.zeros((100, 200))[::-1, ::2]
    for w[-1, -1] in FACTORS:
        yield solved(lambda s: cubic(s, a, w[-1, -1]))


def in_an_array_of_objects(a: Any) -> Any:
    w = np.array([0.0, "name"], dtype=object)
    for w[0] in FACTORS:
        yield solved(lambda s: cubic(s, a, w[0]))


def in_a_long_list(a: Any) -> Any:
    w = [0.0] * 2000
    for w[-1] in FACTORS:
        yield solved(lambda s: cubic(s, a, w[-1]))


def in_default_arguments(a: Any) -> Any:
    def f(s: Any, w: Any = np.zeros(1)) -> Any:  # noqa: B008
        return cubic(s, a, w[0])

    for f.__defaults__[0][0] in FACTORS:  # type: ignore[index]
        yield solved(f)


def in_a_partial(a: Any) -> Any:
    w = np.zeros(1)
    f = functools.partial(lambda w, s: cubic(s, a, w[0]), w)
    for w[0] in FACTORS:
        yield solved(f)


def in_a_function(a: Any) -> Any:
    def f(s: Any) -> Any:
        return cubic(s, a, f.k)  # type: ignore[attr-defined]

    for f.k in FACTORS:  # type: ignore[attr-defined]
        yield solved(f)


def in_an_object(a: Any) -> Any:
    class Model:
        __slots__ = ("parts",)

        def residual(self, s: Any) -> Any:
            return cubic(s, a, self.parts["k"][-1][0])

    model = Model()
    model.parts = {"k": deque([np.zeros(1)])}
    for k in FACTORS:
        model.parts["k"][-1][0] = k
        yield solved(model.residual)


def around_a_function_within(a: Any) -> Any:
    for k in FACTORS:

        def inner(s: Any) -> Any:
            return cubic(s, a, k)  # noqa: B023

        yield solved(lambda s: inner(s))


def in_a_global_variable(a: Any) -> Any:
    global HERE
    for k in FACTORS:
        HERE = k
        yield solved(lambda s: cubic(s, a, HERE))  # noqa: B023


def reads_an_array(s: Any) -> Any:
    return SOME[0] * s


def in_a_global_array(a: Any) -> Any:
    for SOME[0] in FACTORS:
        yield solved(lambda s: s**3 + reads_an_array(s) - a * SOME[0])


def beside_a_count(a: Any) -> Any:
    counts, calls = np.zeros(1, dtype=int), []
    for k in FACTORS:

        def f(s: Any) -> Any:
            counts[0] += 1
            calls.append(len(calls))
            return cubic(s, a, k)  # noqa: B023

        yield solved(f)


PLACES: list[Function] = [in_an_array, in_a_long_strided_array, in_an_array_of_objects]
PLACES += [in_a_long_list, in_default_arguments, in_a_partial, in_a_function, in_an_object]
PLACES += [around_a_function_within, in_a_global_variable, in_a_global_array, beside_a_count]


@pytest.mark.parametrize("solutions", PLACES)
def test_what_functions_read_may_change(solutions: Function) -> None:
    def moving(a: Any) -> Any:
        return sum(list(solutions(a)))

    assert moving(1.3) == pytest.approx(sum(exact(1.3, k) for k in FACTORS), rel=1e-9)
    agree_in_all_modes(moving, lambda a: sum([solved(_still(a, k)) for k in FACTORS]))


def _still(a: Any, k: float) -> Function:
    return lambda s: cubic(s, a, k)


def test_long_arrays_are_kept_once() -> None:
    w = np.zeros(100_000)
    kept = []

    def f(a: Any) -> Any:
        found = [solved(lambda s: cubic(s, a, 1.0 + w[3])) for _ in range(20)]
        kept.append(cadiff.transforms._closed._COPIES[id(w)])
        w[3] += 1.0
        return found[0] + solved(lambda s: cubic(s, a, 1.0 + w[3]))

    plain = [cadiff.grad(lambda a, k=k: solved(_still(a, k)))(1.3) for k in FACTORS[:2]]
    npt.assert_allclose(cadiff.grad(f)(1.3), sum(plain))
    assert not np.shares_memory(kept[0], w)


class Config:
    k = 0.0


def in_a_class(a: Any) -> Any:
    for k in FACTORS:
        Config.k = k
        yield solved(lambda s: cubic(s, a, Config.k))


def in_an_object_of_a_library(a: Any) -> Any:
    w = scipy.sparse.csr_array(np.eye(1))
    for w.data[0] in FACTORS:
        yield solved(lambda s: cubic(s, a, w[0, 0]))


def by_quadrature_in_a_class(a: Any) -> Any:
    for k in FACTORS:
        Config.k = k
        yield integrate.quad(lambda s: cubic(s, a, Config.k), 0.0, 1.0)[0]


@pytest.mark.parametrize(
    "solutions", [in_a_class, in_an_object_of_a_library, by_quadrature_in_a_class]
)
def test_where_nobody_looks_changes_are_found_out(solutions: Function) -> None:
    def f(a: Any) -> Any:
        return sum(list(solutions(a)))

    with pytest.raises(RuntimeError, match=r"was another one .* modules and classes"):
        cadiff.grad(f)(1.3)
    program = cadiff.compile(f)
    for a in (1.3, 1.4):
        assert program(a) == pytest.approx(f(a), rel=1e-15)  # Python 3.12 sums floats twice
