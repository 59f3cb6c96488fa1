"""`cadiff.scipy.integrate`: integrals and solutions against closed forms and differences."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import cadiff
import cadiff.numpy as cnp
from cadiff import NoDerivativeError
from cadiff.scipy import (
    _flows,
    _integrals,
    integrate,
    interpolate,
    linalg,
    optimize,
    sparse,
    stats,
)
from cadiff.scipy._calls import JUMPING

from ..helpers.cases_scipy import STEPPING
from ..helpers.solvers import Case, agree, check, differences
from ..helpers.table import ROWS, window

TIMES = np.linspace(0.0, 2.0, 6)
EXACT = {"rtol": 1e-11, "atol": 1e-12}


def case(
    name: str, f: Callable[[Any, Any], Any], at: tuple[float, ...] = (1.5, 0.7), **given: Any
) -> Any:
    """A function of a module, `scipy.integrate` or `cadiff.scipy.integrate`, and of a vector."""
    one = Case(name, lambda a: f(integrate, a), lambda a: f(scipy.integrate, a), at, **given)
    return pytest.param(one, id=name)


def wave(x: Any, a: Any) -> Any:
    return np.exp(-a[0] * x * x) * np.cos(a[1] * x)


def whole_wave(a: Any) -> Any:
    return np.sqrt(math.pi / a[0]) * np.exp(-a[1] * a[1] / (4.0 * a[0]))


def kink(x: Any, a: Any) -> Any:
    return a[0] * x if x < a[1] else x * x


INTEGRALS: list[Any] = [
    case("quad", lambda m, a: m.quad(wave, 0.0, 2.0, args=(a,))[0]),
    case("closure", lambda m, a: m.quad(lambda x: wave(x, a), 0.0, 2.0)[0]),
    case(
        "limits",
        lambda m, a: m.quad(lambda x: a[0] * x, a[1], a[0])[0],
        truth=lambda a: 0.5 * a[0] * (a[0] ** 2 - a[1] ** 2),
    ),
    case("infinite", lambda m, a: m.quad(wave, -np.inf, np.inf, (a,))[0], truth=whole_wave),
    case(
        "half",
        lambda m, a: m.quad(lambda x: np.exp(-a[0] * x), a[1], np.inf)[0],
        truth=lambda a: np.exp(-a[0] * a[1]) / a[0],
    ),
    case(
        "points",
        lambda m, a: m.quad(kink, 0.0, 2.0, (a,), points=[a[1]])[0],
        truth=lambda a: 0.5 * a[0] * a[1] ** 2 + (8.0 - a[1] ** 3) / 3.0,
    ),
    case(
        "singular",
        lambda m, a: m.quad(lambda x: x ** (a[1] - 1.0), 0.0, 1.0)[0],
        truth=lambda a: 1.0 / a[1],
    ),
    case(
        "cos",
        lambda m, a: m.quad(lambda x: np.exp(-a[0] * x), 0.0, a[1], weight="cos", wvar=3.0)[0],
    ),
    case(
        "cauchy",
        lambda m, a: m.quad(lambda x: a[0] + x * a[1], -1.0, 2.0, weight="cauchy", wvar=0.5)[0],
        truth=lambda a: (a[0] + 0.5 * a[1]) * 0.0 + 3.0 * a[1],
    ),
    case(
        "alg",
        lambda m, a: m.quad(
            lambda x: np.exp(-a[0] * x * a[1]), -1.0, 1.0, weight="alg", wvar=(0.5, -0.5)
        )[0],
    ),
    case("full_output", lambda m, a: m.quad(wave, 0.0, 2.0, (a,), full_output=1)[0]),
    case(
        "quad_vec",
        lambda m, a: m.quad_vec(lambda x: np.array([1.0, 2.0]) * wave(x, a), 0.0, a[0])[0].sum(),
    ),
    case(
        "dblquad",
        lambda m, a: m.dblquad(lambda y, x: a[0] * x * y, 0.0, a[0], 0.0, lambda x: a[1] * x)[0],
        truth=lambda a: a[0] ** 5 * a[1] ** 2 / 8.0,
        program=False,
        tolerance=1e-7,
    ),
    case(
        "nquad",
        lambda m, a: m.nquad(
            lambda y, x, p: p * y, [lambda x, p: (0.0, x), (0.0, a[1])], args=(a[0],)
        )[0],
        truth=lambda a: a[0] * a[1] ** 3 / 6.0,
        program=False,
        tolerance=1e-7,
    ),
    case("fixed_quad", lambda m, a: m.fixed_quad(lambda x: wave(x, a), 0.0, a[0], n=7)[0]),
]


def growth(t: Any, y: Any, r: Any, k: Any) -> Any:
    return r * y * (1.0 - y / k)


def grown(t: Any, y: Any, r: Any, k: Any) -> Any:
    return k / (1.0 + (k / y - 1.0) * np.exp(-r * t))


def pair(t: Any, y: Any, a: Any) -> Any:
    return [y[1], -a[0] * y[0]]


START = (1.2, 3.0, 0.5)


def solved(method: str, **tolerances: float) -> Any:
    def sum_of(m: Any, a: Any) -> Any:
        r = m.solve_ivp(growth, (0.0, 2.0), a[2:], method, TIMES, args=(a[0], a[1]), **tolerances)
        return r.y.sum()

    return sum_of


def logistic(a: Any) -> Any:
    return grown(TIMES, a[2], a[0], a[1]).sum()


def thrown(m: Any, a: Any) -> Any:
    """When and how fast what is thrown up with the speed a1 comes down, pulled by a0."""

    def fall(t: Any, y: Any) -> Any:
        return [y[1], -a[0]]

    def down(t: Any, y: Any) -> Any:
        return y[0]

    down.terminal, down.direction = True, -1.0  # type: ignore[attr-defined]
    r = m.solve_ivp(fall, (0.0, 9.0), [1e-300, a[1]], events=[down], **EXACT)
    return r.t_events[0][0] * r.y_events[0][0, 1] + r.t[-1] + r.y[1, -1]


SOLUTIONS: list[Any] = [
    *(case(name, solved(name, **EXACT), START, truth=logistic) for name in ("RK45", "DOP853")),
    *(
        case(name, solved(name, rtol=1e-8, atol=1e-10), START, truth=logistic, tolerance=1e-5)
        for name in ("RK23", "Radau", "BDF", "LSODA")
    ),
    case(
        "closures",
        lambda m, a: m.solve_ivp(
            lambda t, y: growth(t, y, a[0], a[1]),
            (0.0, 2.0),
            [a[2]],
            t_eval=TIMES,
            max_step=0.1,
            **EXACT,
        ).y.sum(),
        START,
        truth=logistic,
    ),
    case(
        "times",
        lambda m, a: m.solve_ivp(
            growth, (0.0, 2.0), [0.5], t_eval=0.5 * a[:2], args=(1.2, 3.0), **EXACT
        ).y.sum(),
        START,
        truth=lambda a: grown(0.5 * a[:2], 0.5, 1.2, 3.0).sum(),
    ),
    case(
        "span",
        lambda m, a: (lambda r: r.y[0, -1] * r.t[-1] + r.t[0])(
            m.solve_ivp(growth, (a[2], a[0]), [0.5], args=(1.2, a[1]), **EXACT)
        ),
        START,
        truth=lambda a: grown(a[0] - a[2], 0.5, 1.2, a[1]) * a[0] + a[2],
        eager=True,
    ),
    case(
        "dense",
        lambda m, a: (lambda s: s(a[0])[0] + s(np.array([0.1, 0.2])).sum())(
            m.solve_ivp(
                growth, (0.0, 2.0), a[2:], dense_output=True, args=(a[0], a[1]), **EXACT
            ).sol
        ),
        START,
        truth=lambda a: (
            grown(np.array([0.1, 0.2]), a[2], a[0], a[1]).sum() + grown(a[0], a[2], a[0], a[1])
        ),
        tolerance=1e-7,
        value_tolerance=1e-15,
        eager=True,
    ),
    case(
        "events",
        thrown,
        (9.81, 4.0),
        truth=lambda a: -2.0 * a[1] ** 2 / a[0] + 2.0 * a[1] / a[0] - a[1],
        eager=True,
    ),
    case(
        "backwards",
        lambda m, a: m.solve_ivp(
            growth, (0.0, -1.0), a[2:], args=(a[0], a[1]), t_eval=[0.0, -1.0], **EXACT
        ).y[0, 1],
        START,
        truth=lambda a: grown(-1.0, a[2], a[0], a[1]),
    ),
    case(
        "odeint",
        lambda m, a: m.odeint(lambda y, t: growth(t, y, a[0], a[1]), a[2], TIMES, **EXACT).sum(),
        START,
        truth=logistic,
    ),
    case(
        "tfirst",
        lambda m, a: m.odeint(
            growth, a[2], [0.0, 0.5, a[0]], (a[0], a[1]), tfirst=True, full_output=True, **EXACT
        )[0][-1, 0],
        START,
        truth=lambda a: grown(a[0], a[2], a[0], a[1]),
    ),
    case(
        "solve_bvp",
        lambda m, a: (lambda r: r.sol(0.3)[0] + r.y[1, 0])(
            m.solve_bvp(
                lambda x, y: np.vstack([y[1], -a[0] * y[0]]),
                lambda left, right: np.array([left[0], right[0] - a[1]]),
                np.linspace(0.0, 1.0, 9),
                np.zeros((2, 9)),
                tol=1e-7,
            )
        ),
        truth=lambda a: (
            a[1] * (np.sin(0.3 * np.sqrt(a[0])) + np.sqrt(a[0])) / np.sin(np.sqrt(a[0]))
        ),
        tolerance=1e-6,
        eager=True,
    ),
    case(
        "eigenvalue",
        lambda m, a: m.solve_bvp(
            lambda x, y, p: np.vstack([y[1], -p[0] * a[0] * y[0]]),
            lambda left, right, p: np.array([left[0], right[0], left[1] - 1.0]),
            np.linspace(0.0, 1.0, 11),
            np.sin(3.0 * np.linspace(0.0, 1.0, 11)) * np.ones((2, 1)),
            p=[8.0],
            tol=1e-5,
        ).p[0],
        (1.5,),
        truth=lambda a: math.pi**2 / a[0],
        tolerance=1e-5,
        eager=True,
    ),
]


@pytest.mark.parametrize("one", [*INTEGRALS, *SOLUTIONS])
def test_integrals_and_solutions(one: Case) -> None:
    check(one)


def test_the_adjoint_gives_what_sensitivities_give(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a: Any) -> Any:
        y = integrate.solve_ivp(
            pair, (0.1 * a[1], 2.0), a[1:], args=(a,), t_eval=[0.5, 1.0, 2.0], **EXACT
        ).y
        return (y * y).sum()

    a = np.array([2.0, 1.0, 0.3])
    forwards = cadiff.grad(f)(a)
    curvature = cadiff.hessian(f)(a)
    monkeypatch.setattr(_flows, "FORWARD", 0)
    agree(cadiff.grad(f)(a), forwards, 1e-8)
    agree(cadiff.hessian(f)(a), curvature, 1e-8)


@pytest.mark.parametrize("forward", [_flows.FORWARD, 0], ids=["forwards", "adjoint"])
@pytest.mark.parametrize("solver", ["solve_ivp", "odeint"])
def test_a_relative_tolerance_alone(
    solver: str, forward: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sensitivities and adjoints begin at 0, where no step would pass."""
    monkeypatch.setattr(_flows, "FORWARD", forward)

    def left(a: Any) -> Any:
        how: dict[str, Any] = {"args": (a[0],), "rtol": 1e-9, "atol": 0.0}
        if solver == "odeint":
            return integrate.odeint(lambda y, t, k: -k * y, a[1:], [0.0, 2.0], **how)[-1, 0]
        return integrate.solve_ivp(lambda t, y, k: -k * y, (0.0, 2.0), a[1:], **how).y[0, -1]

    decay = np.exp(-2.0 * 0.7)
    gradient = cadiff.grad(left)(np.array([0.7, 3.0]))
    np.testing.assert_allclose(gradient, [-6.0 * decay, decay], rtol=1e-6)


def test_many_parameters_take_the_adjoint() -> None:
    """A linear chain of 30 tanks and 30 rates, against the exponential of its matrix."""
    n = 30
    rates = np.linspace(0.5, 1.5, n)

    def last(k: Any) -> Any:
        def flow(t: Any, y: Any) -> Any:
            out = k * y
            return cnp.concatenate([-out[:1], out[:-1] - out[1:]])

        return integrate.solve_ivp(flow, (0.0, 5.0), np.eye(n)[0], t_eval=[5.0], **EXACT).y[5, 0]

    def exact(k: Any) -> Any:
        matrix = cnp.diag(-k) + cnp.diag(k[:-1], -1)
        return linalg.expm(5.0 * matrix)[5, 0]

    agree(cadiff.grad(last)(rates), cadiff.grad(exact)(rates), 1e-8)


def test_lotka_volterra_is_fitted() -> None:
    """The parameters that made the data are found by gradients through the solver."""
    true = np.array([1.0, 0.5, 0.8, 0.3])
    times = np.linspace(0.0, 8.0, 15)

    def rates(t: Any, y: Any, p: Any) -> Any:
        return [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]

    def model(p: Any) -> Any:
        return integrate.solve_ivp(
            rates, (0.0, 8.0), [2.0, 1.0], args=(p,), t_eval=times, rtol=1e-8, atol=1e-8
        ).y

    data = model(true)

    def loss(p: Any) -> Any:
        return ((model(p) - data) ** 2).sum()

    found = scipy.optimize.minimize(
        cadiff.value_and_grad(loss), 1.1 * true, jac=True, method="BFGS"
    )
    agree(found.x, true, 1e-4)


def test_pharmacokinetics() -> None:
    """Two compartments through odeint: how the area under the curve depends on what is given."""
    times = np.linspace(0.0, 24.0, 49)

    def area(p: Any) -> Any:
        dose, absorbed, cleared, volume = p

        def rates(y: Any, t: Any) -> Any:
            return [-absorbed * y[0], absorbed * y[0] - cleared / volume * y[1]]

        y = integrate.odeint(rates, [dose, 0.0], times, rtol=1e-10, atol=1e-12)
        return np.trapezoid(y[:, 1] / volume, times)

    def exact(p: Any) -> Any:
        dose, absorbed, cleared, volume = p
        k = cleared / volume
        y = dose * absorbed / (absorbed - k) * (np.exp(-k * times) - np.exp(-absorbed * times))
        return np.trapezoid(y / volume, times)

    p = np.array([100.0, 1.1, 5.0, 20.0])
    agree(cadiff.grad(area)(p), cadiff.grad(exact)(p), 1e-7)


def heston(strike: float, p: Any, module: Any) -> Any:
    """A call option on 100, in a year, without interest (Heston 1993, Albrecher's form)."""
    v, kappa, theta, sigma, rho = p

    def characteristic(u: Any) -> Any:
        d = np.sqrt((rho * sigma * 1j * u - kappa) ** 2 + sigma * sigma * (1j * u + u * u))
        g = (kappa - rho * sigma * 1j * u - d) / (kappa - rho * sigma * 1j * u + d)
        e = np.exp(-d)
        first = kappa - rho * sigma * 1j * u - d
        c = kappa * theta / (sigma * sigma) * (first - 2.0 * np.log((1.0 - g * e) / (1.0 - g)))
        return np.exp(c + v / (sigma * sigma) * first * (1.0 - e) / (1.0 - g * e))

    def integrand(u: Any) -> Any:
        k = math.log(strike / 100.0)
        return (np.exp(-1j * u * k) * characteristic(u - 0.5j)).real / (u * u + 0.25)

    integral = module.quad(integrand, 0.0, np.inf)[0]
    return 100.0 - math.sqrt(100.0 * strike) / math.pi * integral


def test_a_call_option_under_heston() -> None:
    p = np.array([0.04, 1.5, 0.05, 0.4, -0.6])
    value, gradient = cadiff.value_and_grad(lambda p: heston(105.0, p, integrate))(p)
    assert value == heston(105.0, p, scipy.integrate)
    truth = differences(lambda p: heston(105.0, p, scipy.integrate), p, 2e-3)
    agree(gradient, truth, 1e-6)


def test_a_time_to_reach_a_level_by_a_root_of_a_solution() -> None:
    """A solver in a solver: when growth reaches 2."""

    def when(a: Any) -> Any:
        def level(t: Any) -> Any:
            r = integrate.solve_ivp(
                growth, (0.0, t), [0.5], args=(a[0], a[1]), t_eval=[t], **EXACT
            )
            return r.y[0, 0] - 2.0

        return optimize.brentq(level, 0.5, 4.0)

    def exact(a: Any) -> Any:
        return np.log((a[1] / 0.5 - 1.0) / (a[1] / 2.0 - 1.0)) / a[0]

    a = np.array([1.2, 3.0])
    agree(cadiff.grad(when)(a), cadiff.grad(exact)(a), 1e-8)


def blows_up(t: Any, y: Any, a: Any) -> Any:
    return a * y * y


def by_steps(name: str, a: Any) -> Any:
    start = cnp.array([1.0, a])
    solver = getattr(integrate, name)(lambda t, y: -a * y, 0.0, start, 1.0, rtol=1e-8, atol=1e-10)
    while solver.status == "running":
        solver.step()
    return solver.y[1] + solver.dense_output()(1.0)[0]


@pytest.mark.parametrize("name", STEPPING)
def test_solvers_step_by_step(name: str) -> None:
    def truth(a: Any) -> Any:
        return (1.0 + a) * cadiff.exp(-a)

    agree(cadiff.grad(lambda a: by_steps(name, a))(1.3), cadiff.grad(truth)(1.3), 1e-6)
    agree(cadiff.derivative(lambda a: by_steps(name, a), 1.3), cadiff.grad(truth)(1.3), 1e-6)


@pytest.mark.parametrize(
    ("error", "words", "f"),
    [
        (
            TypeError,
            "pass it as an argument",
            lambda a: integrate.quad(lambda x, b: x * next(b), 0.0, a, (itertools.repeat(a),))[0],
        ),
        (
            TypeError,
            "pass it as an argument",
            lambda a: integrate.solve_ivp(
                lambda t, y, b: y * next(b), (0.0, a), [1.0], args=(itertools.repeat(a),)
            ).y[0, -1],
        ),
        (
            NoDerivativeError,
            "wvar",
            lambda a: integrate.quad(lambda x: x, 0.0, 1.0, weight="cos", wvar=a),
        ),
        (
            NoDerivativeError,
            "limits",
            lambda a: integrate.quad(lambda x: x, 0.0, a, weight="alg", wvar=(0.0, 0.0)),
        ),
        (
            NoDerivativeError,
            "imaginary",
            lambda a: integrate.quad(lambda x: a * x, 0.0, 1.0, complex_func=True),
        ),
        (
            NoDerivativeError,
            "real solutions",
            lambda a: integrate.solve_ivp(lambda t, y: a * y, (0.0, 1.0), [1j]),
        ),
        (
            NoDerivativeError,
            "mesh",
            lambda a: integrate.solve_bvp(
                lambda x, y: y, lambda left, right: left, np.linspace(0.0, a, 3), np.zeros((1, 3))
            ),
        ),
        (NoDerivativeError, "solve_ivp", lambda a: integrate.ode(lambda t, y: a * y)),
        (NoDerivativeError, "complex_ode", lambda a: integrate.complex_ode(lambda t, y: a * y)),
        (NoDerivativeError, "solve_ivp", lambda a: by_steps("LSODA", a)),
        (NoDerivativeError, "Radau", lambda a: by_steps("Radau", a)),
        (
            RuntimeError,
            "found no solution",
            lambda a: integrate.solve_ivp(blows_up, (0.0, 3.0), [1.0], args=(a,), t_eval=[3.0]).y[
                0, 0
            ],
        ),
    ],
)
def test_what_has_no_derivative_is_refused(
    error: type[Exception], words: str, f: Callable[[Any], Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error, match=words):
            cadiff.grad(f)(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, c: integrate.quad(lambda x: x * a * c[0], 0.0, 1.0)[0],
        lambda a, c: integrate.solve_ivp(lambda t, y: -y * a * c[0], (0.0, 1.0), [1.0]).y[0, -1],
        lambda a, c: optimize.brentq(lambda x: x * a - c[0], 0.0, 9.0),
        lambda a, c: optimize.minimize(lambda x: ((x * a - c[0]) ** 2).sum(), [1.0]).x[0],
    ],
)
def test_what_changes_behind_its_back_is_as_it_was(f: Callable[[Any, Any], Any]) -> None:
    def changed(a: Any) -> Any:
        c = np.ones(1)
        found = f(a, c)
        c[0] = 2.0
        return found

    still = cadiff.grad(lambda a: f(a, np.ones(1)))(1.0)
    assert cadiff.grad(changed)(1.0) == still
    agree(cadiff.derivative(changed, 1.0), still, 1e-6)


PLACES = np.arange(4.0)


class Slots:
    """A class of the user's, whose numbers stand in slots."""

    __slots__ = ("rate",)

    def __init__(self, rate: Any) -> None:
        self.rate = rate


@pytest.mark.parametrize(
    "made",
    [
        lambda a: interpolate.CubicSpline(PLACES, cnp.array([2.0, a, 2.0, 3.0])),
        lambda a: interpolate.interp1d(PLACES, cnp.array([2.0, a, 2.0, 3.0])),
        lambda a: stats.Normal(mu=a, sigma=1.0).cdf,
        lambda a: (lambda m: lambda t: (m @ np.array([t, 1.0]))[0])(
            sparse.csr_array(cnp.array([[a, 0.5], [0.0, 1.0]]))
        ),
        lambda a: (lambda m: lambda t: m.rate * t)(Slots(a)),
    ],
)
def test_objects_of_scipys_in_functions_of_solvers(made: Callable[[Any], Any]) -> None:
    def f(a: Any) -> Any:
        y = made(a)
        times = {"t_span": (0.1, 0.4), "t_eval": [0.4]}
        grown = integrate.solve_ivp(lambda t, u: -u + y(t), y0=[1.0], **times)
        return grown.y[0, -1] + integrate.quad(lambda t: y(t), 0.1, 0.9)[0]

    program = cadiff.compile(f)
    for a in (1.3, 0.9):
        found = cadiff.grad(f)(a)
        agree(found, (f(a + 1e-4) - f(a - 1e-4)) / 2e-4, 1e-3)
        agree(program.grad(a), found, 1e-8)
        agree(cadiff.derivative(f, a), found, 1e-3)


def step(y: Any, a: Any) -> Any:
    return 0.2 if y < a else 0.0


@pytest.mark.parametrize(
    "f",
    [
        lambda a: integrate.quad(lambda x: 1.0 if x < a else 2.0, 0.0, 1.0)[0],
        lambda a: integrate.quad(lambda x: np.sign(x - a) * x, 0.0, 1.0)[0],
        lambda a: integrate.quad_vec(lambda x: cnp.where(x < a, [1.0, x], x), 0.0, 1.0)[0].sum(),
        lambda a: integrate.dblquad(
            lambda y, x: 1.0 if x * x + y * y < a else 0.0, 0, 1, 0, 1, epsabs=0.1, epsrel=0.1
        )[0],
        lambda a: integrate.nquad(lambda y, x: x if x < a else 0.0, [[0, 1], [0, np.inf]])[0],
        lambda a: integrate.solve_ivp(lambda t, y: -y + step(y[0], a), (0, 3), [1.0]).y[0, -1],
        lambda a: integrate.solve_ivp(lambda t, y: -a * y + step(y[0], 0.5), (0, 3), [1.0]).y[
            0, -1
        ],
        lambda a: integrate.solve_ivp(lambda t, y: -y + step(t, a), (0, 3), [1.0]).y[0, -1],
        lambda a: integrate.odeint(
            lambda y, t: [y[1], -9.0 * a * y[0] - 0.1 * np.sign(y[1])], [1.0, 0.0], [0.0, 3.0]
        )[-1, 0],
    ],
)
def test_places_of_jumps_that_move_are_refused(f: Callable[[Any], Any]) -> None:
    """By the derivatives of the pieces alone the gradient would be wrong."""
    for differentiate in (
        cadiff.grad,
        cadiff.hessian,
        lambda f: lambda a: cadiff.derivative(f, a),
    ):
        with pytest.raises(NoDerivativeError, match="jumps"):
            differentiate(f)(0.4)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: integrate.quad(lambda x: a * x if x < 0.3 else x * x, 0.0, 1.0)[0],
        lambda a: integrate.quad(lambda x: a * 0.0 + step(x, a), 0.0, 1.0, points=[a])[0],
        lambda a: integrate.quad(lambda x: np.maximum(x - a, 0.0) * x, 0.0, 1.0)[0],
        lambda a: integrate.quad(lambda x: cadiff.tanh((x - a) / 1e-3), 0.0, 1.0, limit=200)[0],
        lambda a: integrate.quad(lambda x: cadiff.exp(-a * x) / np.sqrt(x), 0.0, 1.0)[0],
        lambda a: integrate.solve_ivp(
            lambda t, y: -a * y + step(t, 1.3), (0, 3), [1.0], rtol=1e-11, atol=1e-11
        ).y[0, -1],
        lambda a: integrate.solve_ivp(
            lambda t, y: -a * np.maximum(y, 0.5), (0, 3), [1.0], rtol=1e-10, atol=1e-10
        ).y[0, -1],
    ],
)
def test_what_jumps_at_fixed_places_or_not_at_all(f: Callable[[Any], Any]) -> None:
    found = cadiff.grad(f)(0.4)
    agree(found, (f(0.4 + 1e-4) - f(0.4 - 1e-4)) / 2e-4, 2e-3)


def jumping(row: Any) -> bool:
    """Whether an operation jumps as one of its operands goes along a piece of its domain."""
    f = getattr(cadiff, row.name)
    windows = [None if d.is_whole else window(d, 3.0) for d in row.domains]
    for k, scale in itertools.product(range(len(windows)), (-0.7, 0.37, 1.9)):
        if windows[k] is None:
            continue
        others = [2 if w is None else np.clip(scale * 1.1**j, *w) for j, w in enumerate(windows)]

        def along(x: float, k: int = k, others: list[Any] = others) -> Any:
            return np.ravel(np.asarray(f(*others[:k], x, *others[k + 1 :]), dtype=float))

        at = np.linspace(*windows[k], 41)
        values = np.array([along(x) for x in at.tolist()])
        finite = np.isfinite(values[:, 0])
        for jump in (
            _integrals.jumps(along, at[finite], values[finite]) if finite.sum() > 1 else ()
        ):
            if np.abs(along(jump.below)) < 1e4:  # else it is a pole
                return True
    return False


def test_every_operation_that_jumps_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_integrals, "MOST", 4000)  # poles are divided for ever
    with np.errstate(all="ignore"):
        found = {row.name for row in ROWS if jumping(row)}
    assert {"floor", "mod"} <= found
    assert found <= JUMPING


@pytest.mark.parametrize(
    "f", [lambda x, a: cadiff.ieee_remainder(x, a), lambda x, a: cadiff.arctan2(x - a, -1.0)]
)
def test_jumps_deep_in_long_programs(f: Callable[[Any, Any], Any]) -> None:
    def integrand(x: Any, a: Any) -> Any:
        total = f(x, a)
        for k in range(150):
            total = 1e-3 * cadiff.sin(total + k * x) + (f(x, a) if k == 75 else total)
        return total

    with pytest.raises(NoDerivativeError, match="jumps"):
        cadiff.grad(lambda a: integrate.quad(lambda x: integrand(x, a), 0.0, 1.0)[0])(0.4)


def test_results_are_copied_and_pickled() -> None:
    made = []

    def f(a: Any) -> Any:
        decay = integrate.solve_ivp(
            lambda t, y: -a * y, (0, 1), [1.0], dense_output=True, rtol=1e-7
        )
        spline = interpolate.interp1d(np.arange(4.0), cnp.array([a, 1.0, 2.0, 3.0]))
        made.extend([decay, spline, stats.norm(a, 2.0)])
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(decay.sol)
        return sum(copied(decay).sol(0.5)[0] for copied in (copy.copy, copy.deepcopy))

    agree(cadiff.grad(f)(2.0), -np.exp(-1.0), 1e-3)
    decay, spline, normal = pickle.loads(pickle.dumps(made))  # when all is over
    agree(decay.sol(1.0), [np.exp(-2.0)], 1e-3)
    assert type(decay.sol) is scipy.integrate.OdeSolution
    agree(spline(1.0), 1.0, 1e-12)
    assert normal.distribution is stats.norm


BUFFER = np.zeros(2)


class Oscillator:
    """A right side with an array of its own to write into."""

    def __init__(self, stiffness: Any) -> None:
        self.stiffness, self.slope = stiffness, np.zeros(2)

    def __call__(self, t: Any, y: Any) -> Any:
        self.slope[0], self.slope[1] = y[1], -self.stiffness * y[0]
        return self.slope


def writing_into(buffer: Any) -> Callable[[Any], Any]:
    def made(a: Any) -> Any:
        slope = buffer()

        def right_side(t: Any, y: Any) -> Any:
            slope[:1] = y[1]
            slope[1] = -a * y[0]
            return slope

        return right_side

    return made


def writing_into_a_global_one(a: Any) -> Any:
    def right_side(t: Any, y: Any) -> Any:
        BUFFER[0] = y[1]
        BUFFER[1] = -a * y[0]
        return BUFFER

    return right_side


@pytest.mark.parametrize(
    "made",
    [
        Oscillator,
        writing_into(lambda: np.zeros(2)),
        writing_into(lambda: cnp.zeros(2)),
        writing_into_a_global_one,
    ],
)
def test_functions_write_into_arrays_made_before(made: Callable[[Any], Any]) -> None:
    exact = {"rtol": 1e-9, "atol": 1e-9}

    def f(a: Any, m: Any = integrate) -> Any:
        right_side = made(a)
        y = m.solve_ivp(right_side, (0.0, 2.0), [1.0, 0.0], method="LSODA", **exact).y[0, -1]
        return (
            y + m.solve_ivp(right_side, (0.0, 1.0), [1.0, 0.0], method="LSODA", **exact).y[0, -1]
        )

    def truth(a: Any) -> Any:
        return cadiff.cos(2.0 * cadiff.sqrt(a)) + cadiff.cos(cadiff.sqrt(a))

    value, slope = cadiff.value_and_grad(f)(1.3)
    assert value == f(1.3, scipy.integrate)
    agree(slope, cadiff.grad(truth)(1.3), 1e-6)
    agree(cadiff.derivative(f, 1.3), slope, 1e-6)
    agree(cadiff.hessian(f)(1.3), cadiff.hessian(truth)(1.3), 1e-5)
    assert type(BUFFER) is np.ndarray


def a_box(m: Any, a: Any, integrand: Any) -> Any:
    """An integral over a box of three sides, each of which moves with the others and with a."""
    limits = lambda y, x: 1.0 + a[0] * x * y  # noqa: E731
    return m.tplquad(integrand, 0.0, a[1], lambda x: -a[0] * x, 1.0, 0.0, limits)[0]


def box_integrand(a: Any) -> Any:
    def integrand(z: Any, y: Any, x: Any) -> Any:
        return np.exp(-a[0] * x * y) * (1.0 + a[1] * z) + x

    return integrand


def test_an_integral_over_three_variables_is_asked_once() -> None:
    """Its derivatives are integrals of a program, which is recorded once, and of its limits."""
    a = np.array([0.7, 1.3])
    code, calls = box_integrand(a).__code__, []

    def count(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code is code:
            calls.append(None)

    def f(a: Any, m: Any = integrate) -> Any:
        return a_box(m, a, box_integrand(a))

    numbers = []
    for call in (lambda: f(a, scipy.integrate), lambda: cadiff.grad(f)(a)):
        calls.clear()
        sys.setprofile(count)
        call()
        sys.setprofile(None)
        numbers.append(len(calls))
    # The limit that moves has its integrand at all places of the others.
    assert numbers[1] < 1.5 * numbers[0], numbers
    gradient = cadiff.grad(f)(a)
    agree(gradient, differences(lambda a: f(a, scipy.integrate), a, 1e-3), 1e-8)
    agree(cadiff.jacfwd(f)(a), gradient, 1e-10)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, a: m.nquad(
            lambda y, x: np.exp(a * x * y),
            [[0, 1], [0, a]],
            opts=[{}, {"weight": "cos", "wvar": 3.0}],
        )[0],
        lambda m, a: m.nquad(
            lambda y, x: np.exp(a * x * y),
            [lambda x: [0, a * x], [0, 1]],
            opts=[{"weight": "cos", "wvar": 3.0}, {}],
        )[0],
        lambda m, a: m.nquad(
            lambda y, x: x * abs(y - a), [[0, 1], [0, 1]], opts=[lambda x: {"points": [a]}, {}]
        )[0],
    ],
)
def test_options_of_integrals_over_several_variables(f: Callable[[Any, Any], Any]) -> None:
    """Derivatives by a program, and those of derivatives, which have none."""
    at = 0.6
    wanted = differences(lambda a: f(scipy.integrate, a[0]), np.array([at]), 1e-3)[0]
    agree(cadiff.grad(lambda a: f(integrate, a))(at), wanted, 1e-8)
    agree(
        cadiff.grad(lambda a: cadiff.derivative(lambda b: f(integrate, b), a))(at),
        (
            cadiff.grad(lambda a: f(integrate, a))(at + 1e-4)
            - cadiff.grad(lambda a: f(integrate, a))(at - 1e-4)
        )
        / 2e-4,
        1e-5,
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda a: integrate.quad(lambda x: cadiff.exp(a * x), 0.0, np.inf)[0],
        lambda a: integrate.quad(lambda x: a + 0.0 * x, 0.0, np.inf)[0],
        lambda a: integrate.quad(lambda x: x ** (-1.0 - a), 0.0, 1.0)[0],
        lambda a: integrate.quad(lambda x: np.sin(a * x) / x, 0.1, np.inf)[0],
        lambda a: integrate.quad_vec(lambda x: a / x * np.ones(2), 0.0, 1.0)[0].sum(),
    ],
)
def test_integrals_of_derivatives_that_diverge_warn(f: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cadiff.grad(f)(0.3)
    assert any("integral of a derivative" in str(each.message) for each in caught)


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_stiff_problems(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Robertson's reactions, of which the solution cannot be found again backwards."""

    def f(k: Any) -> Any:
        def reactions(t: Any, y: Any) -> Any:
            slow, fast, faster = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
            return [-slow + fast, slow - fast - faster, faster]

        start, at = [1.0, 0.0, 0.0], [40.0, 100.0]
        exact = {"method": method, "rtol": 1e-7, "atol": 1e-10}
        return integrate.solve_ivp(reactions, (0.0, 100.0), start, t_eval=at, **exact).y[0].sum()

    k = np.array([0.04, 1e4, 3e7])
    true = [-0.3745605, 0.3194263, -0.1597077]  # times k: differences at a tolerance of 1e-12
    agree(cadiff.grad(f)(k) * k, true, 1e-5)
    monkeypatch.setattr(_flows, "FORWARD", 0)
    agree(cadiff.grad(f)(k) * k, true, 1e-5)


RATE = {"of": 1.0}


def by_rate(t: Any, y: Any, a: Any) -> Any:
    return -a * RATE["of"] * y


def test_what_functions_read_is_read_again() -> None:
    """Programs of right hand sides are kept, but not what changes between the calls."""

    def f(a: Any) -> Any:
        r = integrate.solve_ivp(by_rate, (0.0, 1.0), [1.0], t_eval=[1.0], args=(a,), **EXACT)
        return r.y[0, 0]

    def g(a: Any) -> Any:
        return integrate.quad(lambda x: a * RATE["of"] * x, 0.0, 1.0)[0]

    for rate in (1.0, 2.0):
        RATE["of"] = rate
        agree(cadiff.grad(f)(1.0), -rate * math.exp(-rate), 1e-8)
        agree(cadiff.grad(g)(1.0), 0.5 * rate, 1e-12)


def test_robertson() -> None:
    """A stiff problem, whose rates are eight orders of magnitude apart: BDF against Radau."""

    def rates(t: Any, y: Any, a: Any) -> Any:
        slow, back, fast = a[0] * y[0], a[1] * y[1] * y[2], a[2] * y[1] ** 2
        return [back - slow, slow - back - fast, fast]

    def product(a: Any, method: str) -> Any:
        how: Any = {"method": method, "rtol": 1e-7, "atol": 1e-11, "t_eval": [40.0], "args": (a,)}
        return integrate.solve_ivp(rates, (0.0, 40.0), [1.0, 0.0, 0.0], **how).y[2, 0]

    a = np.array([0.04, 1e4, 3e7])
    left, right = (a * cadiff.grad(product)(a, method) for method in ("BDF", "Radau"))
    agree(left, right, 1e-4)
    agree(left.sum(), 40.0 * rates(0.0, _robertson(a, rates), a)[2], 1e-4)


def _robertson(a: Any, rates: Any) -> Any:
    """The state at 40: times and all rates scale alike, which tells the sum of sensitivities."""
    how: Any = {"method": "Radau", "rtol": 1e-8, "atol": 1e-12, "args": (a,)}
    return scipy.integrate.solve_ivp(rates, (0.0, 40.0), [1.0, 0.0, 0.0], **how).y[:, -1]


def test_results_without_what_was_asked_for() -> None:
    def f(a: Any) -> Any:
        events: Any = [lambda t, y, a: y[0] + 1.0, lambda t, y, a: y[0] - 0.5]
        r = integrate.solve_ivp(by_rate, (0.0, 1.0), [1.0], args=(a,), events=events, **EXACT)
        assert r.t_events[0].size == 0
        return r.t_events[1][0]

    RATE["of"] = 1.0
    agree(cadiff.grad(f)(1.0), -math.log(2.0), 1e-8)
    agree(cadiff.hessian(f)(1.0), 2.0 * math.log(2.0), 1e-7)
    empty = cadiff.grad(
        lambda a: integrate.solve_ivp(by_rate, (0.0, 1.0), [a], t_eval=[], args=(1.0,)).y.sum()
    )
    assert empty(1.0) == 0.0


def test_numbers_of_float32() -> None:
    def f(a: Any) -> Any:
        return integrate.quad(lambda x: a * x, 0.0, 1.0)[0]

    slope = cadiff.grad(f)(np.float32(2.0))
    assert slope == 0.5
    assert np.asarray(slope).dtype == np.float32


def test_trajectories_and_integrals_in_three_orders() -> None:
    def f(a: Any) -> Any:
        how: Any = {"t_eval": [1.0], "args": (a,), **EXACT}
        return integrate.solve_ivp(by_rate, (0.0, 1.0), [1.0], **how).y[0, 0]

    def g(a: Any) -> Any:
        return integrate.quad(lambda x: np.exp(a * x), 0.0, 1.0)[0]

    RATE["of"] = 1.0
    third = lambda f: cadiff.grad(cadiff.grad(cadiff.grad(f)))(1.0)  # noqa: E731
    agree(third(f), -math.exp(-1.0), 1e-8)
    agree(third(g), 6.0 - 2.0 * math.e, 1e-10)


def test_hessian_products_of_integrals_of_arrays() -> None:
    """Rules that are pushed may record more behind what is differentiated."""

    def f(p: Any) -> Any:
        return integrate.quad_vec(lambda x: cnp.stack([x * p[0], x]), 0, p[1])[0][0]

    x, v = np.array([0.9, 1.1]), np.array([0.6, -0.4])
    for _ in range(10):
        np.testing.assert_allclose(
            cadiff.hvp(f)(x, v), [1.1 * -0.4, 1.1 * 0.6 + 0.9 * -0.4], rtol=1e-9
        )


def test_integrands_that_make_arrays_where_a_limit_moves() -> None:
    """What a rule makes by a function of its user belongs to no differentiation under way."""

    def f(k: Any) -> Any:
        def by_parts(x: Any) -> Any:
            parts = cnp.zeros(2)
            parts[:] = cnp.exp(-k * x), k * x * x
            return parts[0] + parts[1]

        return integrate.quad(by_parts, 0.0, k)[0]

    k = 1.3  # (1 - exp(-k²)) / k + k⁴ / 3
    w = math.exp(-k * k)
    slope = 2.0 * w - (1.0 - w) / k**2 + 4.0 * k**3 / 3.0
    curvature = -4.0 * k * w - 2.0 * w / k + 2.0 * (1.0 - w) / k**3 + 4.0 * k * k
    for of in (cadiff.grad(f), cadiff.jacobian(f, mode="fwd"), lambda k: cadiff.vjp(f, k)[1](1.0)):
        agree(of(k), slope, 1e-10)
    for of in (cadiff.hessian(f), cadiff.grad(cadiff.grad(f)), lambda k: cadiff.hvp(f)(k, 1.0)):
        agree(of(k), curvature, 1e-9)
