"""What functions store while a solver runs them has its derivative afterwards, or refuses to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import scipy.integrate
import scipy.optimize

import cadiff
from cadiff import NoDerivativeError
from cadiff.scipy import integrate, optimize

LAST = 0.0


class Log:
    """An object of the user's."""

    def __init__(self) -> None:
        self.calls, self.trace = 0, []
        self.last: Any = 0.0


def a_list(a: Any) -> tuple[Any, Callable[[], Any]]:
    last = [0.0]

    def f(x: Any) -> Any:
        last[0] = a * x
        return x * x - a

    return f, lambda: last[0]


def a_variable(a: Any) -> tuple[Any, Callable[[], Any]]:
    last = 0.0

    def f(x: Any) -> Any:
        nonlocal last
        last = a * x
        return x * x - a

    return f, lambda: last


def a_global_variable(a: Any) -> tuple[Any, Callable[[], Any]]:
    def f(x: Any) -> Any:
        global LAST
        LAST = a * x
        return x * x - a

    return f, lambda: LAST


def an_object(a: Any) -> tuple[Any, Callable[[], Any]]:
    log = Log()

    def f(x: Any) -> Any:
        log.calls += 1
        log.last = {"of": (a * x, "a")}
        return x * x - a

    def last() -> Any:
        assert isinstance(log.calls, int)
        return log.last["of"][0] + 0.0 * log.calls

    return f, last


def a_dict_with_numbers(a: Any) -> tuple[Any, Callable[[], Any]]:
    state = {"a": a}

    def f(x: Any) -> Any:
        state["last"] = state["a"] * x
        return x * x - state["a"]

    return f, lambda: state["last"]


def a_complex_number(a: Any) -> tuple[Any, Callable[[], Any]]:
    last = [0j]

    def f(x: Any) -> Any:
        last[0] = 1.0 + 1j * a * x
        return x * x - a

    return f, lambda: last[0].imag


@pytest.mark.parametrize(
    "made",
    [a_complex_number, a_list, a_variable, a_global_variable, an_object, a_dict_with_numbers],
)
@pytest.mark.parametrize(
    ("solve", "plain"),
    [
        (
            lambda f: optimize.brentq(f, 0.0, 9.0),
            lambda f: scipy.optimize.brentq(f, 0.0, 9.0),
        ),
        (lambda f: optimize.newton(f, 1.0), lambda f: scipy.optimize.newton(f, 1.0)),
        (lambda f: cadiff.root(f, 1.0), None),
    ],
)
def test_the_last_of_a_search(made: Any, solve: Any, plain: Any) -> None:
    def total(a: Any, solve: Any = solve) -> Any:
        f, last = made(a)
        return solve(f) + last()

    # With x = sqrt(a): x + a x.
    wanted, slope = 1.7**0.5 + 1.7**1.5, 0.5 * 1.7**-0.5 + 1.5 * 1.7**0.5
    value, found = cadiff.value_and_grad(total)(1.7)
    npt.assert_allclose((value, found), (wanted, slope), rtol=1e-9)
    npt.assert_allclose(cadiff.jvp(total, (1.7,), (1.0,))[1], slope, rtol=1e-9)
    if plain is not None:
        assert value == total(1.7, plain)


def cubed(a: Any) -> Any:
    return a**3


def of_complex(a: Any) -> Any:
    z = a + 1j * a * a
    return (z * z).imag  # 2 a^3


@pytest.mark.parametrize(("known", "factor"), [(cubed, 1.0), (of_complex, 2.0)])
def test_what_is_known_by_heart_has_its_derivative(known: Any, factor: float) -> None:
    tables: dict[str, Any] = {}

    def total(a: Any) -> Any:
        memory: dict[str, Any] = {}

        def f(x: Any) -> Any:
            if not memory:
                memory["power"] = known(a)
            if "table" not in tables:
                tables["table"] = np.ones(1)
            return x * x - tables["table"][0] * memory["power"]

        return memory_of_two(f) + memory["power"]

    def memory_of_two(f: Any) -> Any:
        return optimize.brentq(f, 0.0, 9.0) + optimize.brentq(f, 0.0, 8.0)

    slope = 3.0 * factor**0.5 * 2.0**0.5 + 3.0 * factor * 4.0
    for _ in range(2):
        npt.assert_allclose(cadiff.grad(total)(2.0), slope, rtol=1e-9)
    assert type(tables["table"]) is np.ndarray


def least(a: Any) -> Any:
    best = [np.inf, None]

    def f(x: Any) -> Any:
        size = ((x - a) ** 2).sum() + 1.0
        if size < best[0]:
            best[:] = size, a * x[0]
        return size

    optimize.minimize(f, [0.0], tol=1e-12)
    return best[0] + best[1]


def test_the_least_of_a_search() -> None:
    npt.assert_allclose(cadiff.grad(least)(1.7), 3.4, rtol=1e-6)


def of_trace(a: Any) -> Any:
    log = Log()

    def f(x: Any) -> Any:
        log.trace.append(a * x)
        return x * x - a

    optimize.brentq(f, 0.0, 9.0)
    return log.trace[3]


def of_callback(a: Any) -> Any:
    trace: list[Any] = []
    optimize.minimize(lambda x: ((x - a) ** 2).sum(), [0.0], callback=trace.append)
    return trace[-1][0]


def of_integral(a: Any) -> Any:
    last = [0.0]

    def f(x: Any) -> Any:
        last[0] = a * x
        return a * x

    integrate.quad(f, 0.0, 2.0)
    return last[0]


def of_flow(a: Any) -> Any:
    last = [0.0]

    def f(t: Any, y: Any) -> Any:
        last[0] = a * t
        return -a * y

    integrate.solve_ivp(f, (0.0, 2.0), [1.0])
    return last[0]


def of_complex_trace(a: Any) -> Any:
    trace = []

    def f(x: Any) -> Any:
        trace.append(1j * a * x)
        return x * x - a

    optimize.brentq(f, 0.0, 9.0)
    return trace[3].imag


@pytest.mark.parametrize("f", [of_complex_trace, of_trace, of_callback, of_integral, of_flow])
def test_what_was_stored_on_the_way_refuses(f: Any) -> None:
    with pytest.raises(NoDerivativeError, match="compute it from the result"):
        cadiff.grad(f)(1.7)
    value, tangent = cadiff.jvp(f, (1.7,), (1.0,))
    assert np.isfinite(value)
    assert np.isnan(tangent)
    assert cadiff.grad(lambda a: cadiff.value(f(a)) * a)(1.7) == value


def test_programs_know_it_at_one_point_alone() -> None:
    program = cadiff.compile(of_integral)
    assert program(1.7) == of_integral(1.7)
    with pytest.warns(cadiff.StaleProgramWarning, match="gave nan"):
        assert program(1.8) == of_integral(1.8)
    program = cadiff.compile(
        lambda a: (lambda f, last: optimize.brentq(f, 0, 9) + last())(*a_list(a))
    )
    npt.assert_allclose([program(a) for a in (1.7, 4.0)], [1.7**0.5 + 1.7**1.5, 10.0], rtol=1e-9)


def over_one_dict(solve: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(p: Any) -> Any:
        noted: dict[str, Any] = {}

        def integrand(x: Any, *others: Any) -> Any:
            noted["k"] = cadiff.numpy.exp(-p * x)
            return noted["k"] * x

        return solve(integrand) * solve(integrand)

    return f


def flow_of(f: Any) -> Any:
    return integrate.solve_ivp(lambda t, y: f(y[0]), (0.0, 1.0), [1.0], rtol=1e-9).y[0, -1]


@pytest.mark.parametrize(
    "solve",
    [
        lambda f: integrate.quad(f, 0.0, 1.0)[0],
        lambda f: integrate.quad_vec(f, 0.0, 1.0)[0],
        lambda f: integrate.dblquad(f, 0.0, 1.0, 0.0, 1.0)[0],
        flow_of,
    ],
)
def test_what_a_solver_has_left_does_not_enter_the_next_one_unread(solve: Any) -> None:
    f = over_one_dict(solve)
    slope = (f(0.41) - f(0.39)) / 0.02
    _, tangent = cadiff.jvp(f, (0.4,), (1.0,))
    npt.assert_allclose(tangent, slope, rtol=1e-3)
    npt.assert_allclose(cadiff.grad(f)(0.4), tangent, rtol=1e-6)
    _, twice = cadiff.jvp(lambda p: cadiff.jvp(f, (p,), (1.0,))[1], (0.4,), (1.0,))
    npt.assert_allclose(twice, (f(0.41) - 2 * f(0.4) + f(0.39)) / 1e-4, rtol=1e-3)


def test_what_a_solver_has_left_refuses_to_be_read_by_the_next_one() -> None:
    def f(p: Any) -> Any:
        noted: dict[str, Any] = {}

        def writing(x: Any) -> Any:
            noted["k"] = p * x
            return noted["k"]

        of_first = integrate.quad(writing, 0.0, 1.0)[0]
        return of_first + integrate.quad(lambda x: noted["k"] * x, 0.0, 1.0)[0]

    for derivative in (cadiff.grad(f), lambda p: cadiff.jvp(f, (p,), (1.0,))):
        with pytest.raises(NoDerivativeError, match="has no derivative"):
            derivative(0.4)


@pytest.mark.parametrize("place", [dict, lambda: [0.0], lambda: cadiff.numpy.zeros(1)])
@pytest.mark.parametrize(
    "solve",
    [
        lambda f: optimize.brentq(f, 0.0, 9.0),
        lambda f: optimize.fsolve(f, 1.0)[0],
        lambda f: integrate.quad(f, 0.0, 1.0)[0],
        flow_of,
    ],
)
def test_functions_store_elements_of_arrays_with_derivatives(solve: Any, place: Any) -> None:
    def f(p: Any) -> Any:
        noted = place()

        def of(x: Any) -> Any:
            noted[0] = p[0] * 2.0
            return x * x - p[0] * 2.0

        return solve(of)

    def plain(p: Any) -> Any:
        return solve(lambda x: x * x - p * 2.0)

    slope = (plain(1.21) - plain(1.19)) / 0.02
    at = np.array([1.2, 0.7])
    npt.assert_allclose(cadiff.grad(f)(at), [slope, 0.0], rtol=1e-3)
    npt.assert_allclose(cadiff.jvp(f, (at,), (np.ones(2),))[1], slope, rtol=1e-3)


def test_what_functions_write_into_arrays_has_its_derivative() -> None:
    def f(p: Any) -> Any:
        noted = cadiff.numpy.zeros(2)
        noted[1] = p

        def of(x: Any) -> Any:
            noted[0] = noted[1] * 2.0
            return x * x - noted[0]

        return optimize.brentq(of, 0.0, 9.0) * noted[0]

    for derivative in (cadiff.grad(f), lambda p: cadiff.jvp(f, (p,), (1.0,))[1]):
        npt.assert_allclose(derivative(1.2), 1.5 * 2.0**1.5 * 1.2**0.5, rtol=1e-9)


def test_what_was_written_into_arrays_on_the_way_is_nan() -> None:
    def f(p: Any) -> Any:
        noted = cadiff.numpy.zeros(1)

        def of(x: Any) -> Any:
            noted[0] = p * x
            return noted[0]

        return integrate.quad(of, 0.0, 1.0)[0] + integrate.quad(of, 0.0, 1.0)[0], noted[0]

    npt.assert_allclose(cadiff.grad(f, has_aux=True)(1.2), (1.0, np.nan), rtol=1e-12)
    (_, noted), (slope, _) = cadiff.jvp(f, (1.2,), (1.0,))
    npt.assert_allclose((slope, noted), (1.0, np.nan), rtol=1e-12)
