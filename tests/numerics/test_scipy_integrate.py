"""`cadiff.scipy.integrate`: integrals and solutions against closed forms and differences."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
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
from ..helpers.cases_solvers import EXACT, OF_INTEGRATE, growth
from ..helpers.differences import slope
from ..helpers.programs import runs_of
from ..helpers.solvers import Case, agree, check, differences
from ..helpers.table import ROWS, window


@pytest.mark.parametrize("one", OF_INTEGRATE, ids=str)
def test_integrals_and_solutions(one: Case) -> None:
    check(one)


def test_the_adjoint_gives_what_sensitivities_give(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a: Any) -> Any:
        turn, span = lambda t, y: [y[1], -a[0] * y[0]], (0.1 * a[1], 2.0)
        y = integrate.solve_ivp(turn, span, a[1:], t_eval=[0.5, 1.0, 2.0], **EXACT).y
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
            how: Any = {"args": (a[0], a[1]), "t_eval": [t], **EXACT}
            return integrate.solve_ivp(growth, (0.0, t), [0.5], **how).y[0, 0] - 2.0

        return optimize.brentq(level, 0.5, 4.0)

    def exact(a: Any) -> Any:
        return np.log((a[1] / 0.5 - 1.0) / (a[1] / 2.0 - 1.0)) / a[0]

    a = np.array([1.2, 3.0])
    agree(cadiff.grad(when)(a), cadiff.grad(exact)(a), 1e-8)


def by_steps(name: str, a: Any) -> Any:
    start = cnp.array([1.0, a])
    solver = getattr(integrate, name)(lambda t, y: -a * y, 0.0, start, 1.0, rtol=1e-8, atol=1e-10)
    while solver.status == "running":
        solver.step()
    return solver.y[1] + solver.dense_output()(1.0)[0]


@pytest.mark.parametrize("name", STEPPING)
def test_solvers_step_by_step(name: str) -> None:
    """The sum of both is (1 + a) exp(-a)."""
    for differentiate in (cadiff.grad, cadiff.jacfwd):
        agree(differentiate(lambda a: by_steps(name, a))(1.3), -1.3 * math.exp(-1.3), 1e-6)


ITERATOR = "pass it as an argument"  # for which the numbers of an iterator are hidden
REFUSED: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (TypeError, ITERATOR, lambda a: integrate.quad(
        lambda x, b: x * next(b), 0.0, a, (itertools.repeat(a),))[0]),
    (TypeError, ITERATOR, lambda a: integrate.solve_ivp(
        lambda t, y, b: y * next(b), (0.0, a), [1.0], args=(itertools.repeat(a),)).y[0, -1]),
    (NoDerivativeError, "wvar", lambda a: integrate.quad(
        lambda x: x, 0.0, 1.0, weight="cos", wvar=a)),
    (NoDerivativeError, "limits", lambda a: integrate.quad(
        lambda x: x, 0.0, a, weight="alg", wvar=(0.0, 0.0))),
    (NoDerivativeError, "imaginary", lambda a: integrate.quad(
        lambda x: a * x, 0.0, 1.0, complex_func=True)),
    (NoDerivativeError, "real solutions", lambda a: integrate.solve_ivp(
        lambda t, y: a * y, (0.0, 1.0), [1j])),
    (NoDerivativeError, "mesh", lambda a: integrate.solve_bvp(
        lambda x, y: y, lambda left, right: left, np.linspace(0.0, a, 3), np.zeros((1, 3)))),
    (NoDerivativeError, "solve_ivp", lambda a: integrate.ode(lambda t, y: a * y)),
    (NoDerivativeError, "complex_ode", lambda a: integrate.complex_ode(lambda t, y: a * y)),
    (NoDerivativeError, "solve_ivp", lambda a: by_steps("LSODA", a)),
    (NoDerivativeError, "Radau", lambda a: by_steps("Radau", a)),
    (RuntimeError, "found no solution", lambda a: integrate.solve_ivp(
        lambda t, y: a * y * y, (0.0, 3.0), [1.0], t_eval=[3.0]).y[0, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("error", "words", "f"), REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_derivative_is_refused(
    error: type[Exception], words: str, f: Callable[[Any], Any]
) -> None:
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
        agree(found, slope(f, a, step=1e-4), 1e-3)
        agree(program.grad(a), found, 1e-8)
        agree(cadiff.derivative(f, a), found, 1e-3)


def step(y: Any, a: Any) -> Any:
    return 0.2 if y < a else 0.0


def area(f: Callable[[Any], Any], **how: Any) -> Any:
    return integrate.quad(f, 0.0, 1.0, **how)[0]


def end(f: Callable[[Any, Any], Any], tolerance: float = 1e-3) -> Any:
    exact = {"rtol": tolerance, "atol": 1e-3 * tolerance}
    return integrate.solve_ivp(f, (0, 3), [1.0], **exact).y[0, -1]


@pytest.mark.parametrize(
    "f",
    [
        lambda a: area(lambda x: 1.0 if x < a else 2.0),
        lambda a: area(lambda x: np.sign(x - a) * x),
        lambda a: integrate.quad_vec(lambda x: cnp.where(x < a, [1.0, x], x), 0.0, 1.0)[0].sum(),
        lambda a: integrate.dblquad(
            lambda y, x: 1.0 if x * x + y * y < a else 0.0, 0, 1, 0, 1, epsabs=0.1, epsrel=0.1
        )[0],
        lambda a: integrate.nquad(lambda y, x: x if x < a else 0.0, [[0, 1], [0, np.inf]])[0],
        lambda a: end(lambda t, y: -y + step(y[0], a)),
        lambda a: end(lambda t, y: -a * y + step(y[0], 0.5)),
        lambda a: end(lambda t, y: -y + step(t, a)),
        lambda a: integrate.odeint(
            lambda y, t: [y[1], -9.0 * a * y[0] - 0.1 * np.sign(y[1])], [1.0, 0.0], [0.0, 3.0]
        )[-1, 0],
    ],
)
def test_places_of_jumps_that_move_are_refused(f: Callable[[Any], Any]) -> None:
    """By the derivatives of the pieces alone the gradient would be wrong."""
    for differentiate in (cadiff.grad, cadiff.hessian, cadiff.jacfwd):
        with pytest.raises(NoDerivativeError, match="jumps"):
            differentiate(f)(0.4)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: area(lambda x: a * x if x < 0.3 else x * x),
        lambda a: area(lambda x: a * 0.0 + step(x, a), points=[a]),
        lambda a: area(lambda x: np.maximum(x - a, 0.0) * x),
        lambda a: area(lambda x: cadiff.tanh((x - a) / 1e-3), limit=200),
        lambda a: area(lambda x: cadiff.exp(-a * x) / np.sqrt(x)),
        lambda a: end(lambda t, y: -a * y + step(t, 1.3), 1e-10),
        lambda a: end(lambda t, y: -a * np.maximum(y, 0.5), 1e-10),
    ],
)
def test_what_jumps_at_fixed_places_or_not_at_all(f: Callable[[Any], Any]) -> None:
    agree(cadiff.grad(f)(0.4), slope(f, 0.4, step=1e-4), 2e-3)


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

        at = [x for x in np.linspace(*windows[k], 41).tolist() if np.isfinite(along(x)[0])]
        values = np.array([along(x) for x in at])
        found = _integrals.jumps(along, np.array(at), values) if len(at) > 1 else ()
        if any(np.abs(along(jump.below)) < 1e4 for jump in found):  # else it is a pole
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
        cadiff.grad(lambda a: area(lambda x: integrand(x, a)))(0.4)


def test_results_are_copied_and_pickled() -> None:
    made = []

    def f(a: Any) -> Any:
        exact: Any = {"dense_output": True, "rtol": 1e-7}
        decay = integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], **exact)
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
        right_side, start = made(a), [1.0, 0.0]
        ends = (m.solve_ivp(right_side, (0.0, t), start, "LSODA", **exact).y for t in (2.0, 1.0))
        return sum(y[0, -1] for y in ends)

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

    def f(a: Any, m: Any = integrate) -> Any:
        return a_box(m, a, box_integrand(a))

    with runs_of(box_integrand(a)) as of_scipy:
        f(a, scipy.integrate)
    with runs_of(box_integrand(a)) as calls:
        gradient = cadiff.grad(f)(a)
    # The limit that moves has its integrand at all places of the others.
    assert len(calls) < 1.5 * len(of_scipy)
    agree(gradient, differences(lambda a: f(a, scipy.integrate), a, 1e-3), 1e-8)
    agree(cadiff.jacfwd(f)(a), gradient, 1e-10)


COSINE = {"weight": "cos", "wvar": 3.0}


@pytest.mark.parametrize(
    ("integrand", "limits", "options"),
    [
        (lambda a: lambda y, x: np.exp(a * x * y), lambda a: [[0, 1], [0, a]], [{}, COSINE]),
        (
            lambda a: lambda y, x: np.exp(a * x * y),
            lambda a: [lambda x: [0, a * x], [0, 1]],
            [COSINE, {}],
        ),
        (lambda a: lambda y, x: x * abs(y - a), lambda a: [[0, 1], [0, 1]], None),
    ],
)
def test_options_of_integrals_over_several_variables(
    integrand: Any, limits: Any, options: Any
) -> None:
    """Derivatives by a program, and those of derivatives, which have none."""

    def f(m: Any, a: Any) -> Any:
        given = options or [lambda x: {"points": [a]}, {}]
        return m.nquad(integrand(a), limits(a), opts=given)[0]

    gradient = cadiff.grad(lambda a: f(integrate, a))
    at = 0.6
    agree(gradient(at), slope(lambda a: f(scipy.integrate, a), at), 1e-8)
    second = cadiff.grad(lambda a: cadiff.derivative(lambda b: f(integrate, b), a))
    agree(second(at), slope(gradient, at), 1e-5)


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


def test_results_without_what_was_asked_for() -> None:
    def f(a: Any) -> Any:
        events: Any = [lambda t, y, a: y[0] + 1.0, lambda t, y, a: y[0] - 0.5]
        r = integrate.solve_ivp(by_rate, (0.0, 1.0), [1.0], args=(a,), events=events, **EXACT)
        assert r.t_events[0].size == 0
        return r.t_events[1][0]

    RATE["of"] = 1.0
    agree(cadiff.grad(f)(1.0), -math.log(2.0), 1e-8)
    agree(cadiff.hessian(f)(1.0), 2.0 * math.log(2.0), 1e-7)
    nothing: Any = {"t_eval": [], "args": (1.0,)}
    none = cadiff.grad(lambda a: integrate.solve_ivp(by_rate, (0.0, 1.0), [a], **nothing).y.sum())
    assert none(1.0) == 0.0


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
