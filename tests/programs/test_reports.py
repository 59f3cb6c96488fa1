"""What solvers say beside their solutions: a compiled program has it as f itself, in each call."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import cadiff
from cadiff.scipy import integrate, linalg, optimize, sparse

from ..helpers.processes import isolated

Function = Callable[..., Any]

AT = (1.2, 2.0, 3.0, 1.2)  # where reports differ
MATRIX = np.diag(np.arange(1.0, 9.0)) + 0.1
ONES = np.arange(8.0)


def bracketed(x: Any) -> Any:
    return optimize.brentq(lambda t: np.exp(t) - x, -1.0, 9.0, full_output=True)


def rootlike(x: Any, kind: Function = optimize.root_scalar, **how: Any) -> Any:
    return kind(lambda t: np.exp(t) - x, **how)


def simplex(x: Any, method: str = "Nelder-Mead", **how: Any) -> Any:
    f = lambda t: np.cosh(t[0] - x) + x * t[1] ** 2  # noqa: E731
    return optimize.minimize(f, [0.0, 1.0], method=method, **how)


def curve(x: Any, **how: Any) -> Any:
    t = np.linspace(0.0, 1.0, 9)
    y = x * np.exp(-x * t) + 0.01 * np.sin(9.0 * t)
    return optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), t, y, p0=[1.0, 1.0], **how)


def residuals(x: Any) -> Function:
    return lambda t: np.array([np.exp(t[0]) - x, t[0] * t[1] - 1.0, 0.1 * t[1]])


def squares(x: Any) -> Any:
    return optimize.least_squares(residuals(x), [0.5, 1.0], bounds=([-9.0, -9.0], [2.0, 9.0]))


def fitted(x: Any) -> Any:
    return optimize.leastsq(residuals(x), [0.5, 1.0], full_output=True)


def wave(x: Any) -> Function:
    return lambda t: np.exp(-x * t) * np.sin(30.0 * t)


def area(x: Any) -> Any:
    return integrate.quad(wave(x), 0.0, 1.0, full_output=True)


def areas(x: Any) -> Any:
    return integrate.quad_vec(lambda t: np.cos(20.0 * x * t), 0.0, 1.0, full_output=True)[2]


def path(x: Any) -> Any:
    return integrate.solve_ivp(lambda t, y: -x * y, (0.0, 1.0), [1.0], t_eval=[0.5, 1.0])


def steps(x: Any) -> Any:
    return integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0, 2.0], full_output=True)[1]


def system(x: Any) -> Any:
    return scipy.sparse.csr_array(MATRIX) + x * scipy.sparse.eye_array(8)


def volume(n: int, x: Any) -> Any:
    if n == 2:
        return integrate.dblquad(lambda t, s: np.exp(-x * t * s), 0.0, 1.0, 0.0, 2.0)
    return integrate.nquad(lambda t, s: np.exp(-x * t * s), [(0.0, 1.0), (0.0, 2.0)])


def extended(x: Any) -> Any:
    report = bracketed(x)[1]
    report |= {"flag": "known"}
    report.function_calls = 3
    return x * report.iterations * report.function_calls * len(report)


def minimum(x: Any) -> Any:
    return optimize.fmin(lambda t: np.cosh(t[0] - x), 0.0, full_output=True, disp=0)


REPLAYED: dict[str, Function] = {
    "brentq counts": lambda x: x * bracketed(x)[1].iterations,
    "brentq calls": lambda x: x + bracketed(x)[1]["function_calls"],
    "brentq flag": lambda x: x if bracketed(x)[1].flag == "converged" else -x,
    "ridder": lambda x: (
        optimize.ridder(lambda t: t**3 - x, 0.0, 9.0, full_output=True)[1].iterations * x
    ),
    "root_scalar": lambda x: x * rootlike(x, bracket=(-1.0, 9.0), method="bisect").function_calls,
    "root": lambda x: x * rootlike(x, optimize.root, x0=[0.0]).nfev,
    "root x": lambda x: x * rootlike(x, optimize.root, x0=[0.0]).x[0],
    "fsolve": lambda x: x * rootlike(x, optimize.fsolve, x0=[0.0], full_output=True)[1]["nfev"],
    "minimize x": lambda x: x * simplex(x).x[0],
    "minimize nit": lambda x: x * simplex(x).nit,
    "minimize branch": lambda x: x * (2.0 if simplex(x)["nfev"] > 125 else 1.0),
    "minimize simplex": lambda x: x * simplex(x).final_simplex[1][2],
    "minimize message": lambda x: x * len(simplex(x, "L-BFGS-B").message),
    "minimize get": lambda x: x * simplex(x, "BFGS").get("njev", 0),
    "minimize dict": lambda x: x * {**simplex(x)}["nfev"],
    "minimize copy": lambda x: x * copy.copy(simplex(x)).nit,
    "minimize items": lambda x: x * dict(simplex(x).items())["nit"],
    "fmin": lambda x: x * minimum(x)[3],
    "least_squares": lambda x: (lambda r: x * (r.nfev + r.active_mask[0]))(squares(x)),
    "least_squares optimality": lambda x: squares(x).optimality,
    "least_squares status": lambda x: x * {1: 2.0, 2: 3.0, 3: 4.0}[squares(x).status],
    "leastsq": lambda x: x * fitted(x)[2]["nfev"] * fitted(x)[4],
    "covariance": lambda x: x * curve(x)[1][0, 1],
    "curve_fit": lambda x: x * curve(x, full_output=True)[2]["nfev"],
    "nnls": lambda x: x * optimize.nnls([[1.0, x], [x, 2.0], [1.0, 1.0]], np.ones(3))[1],
    "allvecs": lambda x: x * len(simplex(x, "CG", options={"return_all": True}).allvecs),
    "unread allvecs": lambda x: simplex(x, "CG", options={"return_all": True}).x[0],
    "assigned": extended,
    "quad error": lambda x: area(x)[1],
    "quad branch": lambda x: x if area(x)[1] < 1e-12 else 2.0 * x,
    "quad info": lambda x: (lambda info: x * info["neval"] + info["elist"][0])(area(x)[2]),
    "quad_vec": lambda x: (lambda info: x * info.neval * info.success)(areas(x)),
    "nquad": lambda x: volume(3, x)[1],
    "dblquad": lambda x: volume(2, x)[1],
    "solve_ivp": lambda x: x * path(x).nfev if path(x).success else -x,
    "solve_ivp y": lambda x: path(x).y[0, -1],
    "odeint": lambda x: x * steps(x)["nfe"][-1] + steps(x)["hu"][0],
    "odeint message": lambda x: x * len(steps(x)["message"]),
    "gmres": lambda x: x * sparse.linalg.gmres(system(x), ONES, maxiter=1, restart=4)[1],
    "cg": lambda x: x * sparse.linalg.cg(system(x), ONES, maxiter=4)[1],
    "lsqr": lambda x: x * sparse.linalg.lsqr(system(x), ONES)[2],
    "lsmr": lambda x: x * sparse.linalg.lsmr(system(x), ONES)[2],
    "inner derivative": lambda x: cadiff.grad(
        lambda y: y * y if bracketed(y)[1].iterations > 11 else y
    )(x),
}
# How many recordings those have that have more than one.
N_RECORDINGS = {
    "minimize branch": 2,
    "least_squares status": 2,
    "curve_fit": 2,
    "allvecs": 3,
    "quad branch": 2,
    "inner derivative": 2,
}


@pytest.mark.parametrize("name", REPLAYED)
def test_reports_are_those_of_each_call(name: str) -> None:
    f = REPLAYED[name]
    program = cadiff.compile(f, verify=False)
    expected = pytest.approx([float(f(x)) for x in AT], rel=1e-13)  # counts differ by more
    assert [float(program(x)) for x in AT] == expected
    assert program.batch(np.array(AT)).tolist() == expected
    assert program.stats()["recordings"] == N_RECORDINGS.get(name, 1)


@pytest.mark.parametrize("name", ["brentq counts", "minimize nit", "odeint", "nquad", "lsqr"])
def test_gradients_and_native_programs_have_them(name: str) -> None:
    f = REPLAYED[name]
    program = cadiff.compile(f, native=True, verify=False)
    for x in AT[:3]:
        assert program(x) == f(x)
        assert program.grad(x) == pytest.approx(cadiff.grad(f)(x), rel=1e-12)


@pytest.mark.parametrize("verify", [False, "always"])
def test_results_are_those_of_scipy(verify: Any) -> None:
    program = cadiff.compile(lambda x: bracketed(x)[1], verify=verify)
    for x in AT[:3]:
        found, expected = program(x), bracketed(x)[1]
        assert type(found) is type(expected)
        assert found == expected


def test_a_program_that_another_one_calls_reads_its_report() -> None:
    def f(x: Any) -> Any:
        report = bracketed(x)[1]
        return cadiff.compile(lambda y: y * report.iterations)(x)

    program = cadiff.compile(f, verify=False)
    assert [program(x) for x in AT] == [f(x) for x in AT]


def test_objects_that_a_replay_does_not_make_have_a_reason() -> None:
    def f(x: Any) -> Any:
        return x * simplex(x, "L-BFGS-B").hess_inv.todense()[1, 1]

    program = cadiff.compile(f, verify=False)
    with pytest.warns(RuntimeWarning, match="it reads hess_inv of what minimize returns"):
        values = [program(x) for x in AT[:3]]
    assert values == [f(x) for x in AT[:3]]


# --- failures ------------------------------------------------------------------------------------


def solved(x: Any) -> Any:
    t, _, ier, _ = optimize.fsolve(lambda t: np.exp(t) - x, [0.0], full_output=True)
    return x * t[0] if ier == 1 else -x


def converged(x: Any) -> Any:
    found = optimize.root_scalar(
        lambda t: t**3 - x, x0=1.0, fprime=lambda t: 3.0 * t * t, method="newton", maxiter=8
    )
    return found.root if found.converged else -x


def feasible(x: Any) -> Any:
    found = optimize.linprog([1.0, 2.0], A_ub=[[-1.0, -1.0]], b_ub=[-x], bounds=[(0, 1), (0, 50)])
    return found.fun if found.success else -x


def finite(x: Any) -> Any:
    found = integrate.solve_ivp(lambda t, y: x * y**2, (0.0, 0.1), [1.0], t_eval=[0.05, 0.1])
    return found.y[0, -1] if found.success else -x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [solved, converged, feasible, finite])
@pytest.mark.parametrize("at", [(1.5, 2.0, 1e3, 3.0), (1e3, 2.0, 1.5)])
def test_a_search_that_fails_is_answered_as_f_answers(f: Function, at: tuple[float, ...]) -> None:
    program = cadiff.compile(f, verify=False)
    assert [float(program(x)) for x in at] == [float(f(x)) for x in at]
    with pytest.raises(RuntimeError, match="found no solution"):
        program.grad(1e3)


# --- warnings ------------------------------------------------------------------------------------


def collecting(f: Function) -> Function:
    def g(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = f(x)
        return 2.0 * found if caught else found

    return g


def raising(f: Function) -> Function:
    def g(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return f(x)
            except Warning:
                return -x

    return g


def regular(x: Any) -> Any:
    return linalg.solve(np.stack([np.stack([x, 1.0]), np.ones(2)]), np.arange(2.0))[0]


WARNING: dict[str, tuple[Function, tuple[float, ...]]] = {
    "quad": (
        lambda x: integrate.quad(lambda t: np.exp(-x * t) * np.cos(x * x * t), 0, 1, limit=2)[0],
        (1.0, 2.0, 9.0, 1.5),
    ),
    "odeint": (
        lambda x: integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0, 2.0], mxstep=25)[-1, 0],
        (1.0, 0.5, 200.0, 1.1),
    ),
    "solve": (regular, (2.0, 3.0, 1.0 + 3e-16, 5.0)),
    "fsolve": (lambda x: optimize.fsolve(lambda t: t**3 - x, 4.0, maxfev=11)[0], (8.0, 9.0, 1e6)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("looking", [collecting, raising])
@pytest.mark.parametrize("name", WARNING)
def test_warnings_that_f_looks_at_are_given(name: str, looking: Function) -> None:
    f, at = WARNING[name]
    f = looking(f)
    program = cadiff.compile(f, verify=False)
    assert [float(program(x)) for x in at] == [float(f(x)) for x in at]
    assert any("it looks at warnings" in text for text in program.stats()["obstacles"])


def test_warnings_that_f_only_hides_are_no_obstacle() -> None:
    def f(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return area(x)[0]

    program = cadiff.compile(f, verify=False)
    assert [program(x) for x in AT] == [f(x) for x in AT]
    assert program.stats()["recordings"] == 1


@pytest.mark.skipif(not hasattr(sys.flags, "context_aware_warnings"), reason="new in Python 3.14")
def test_warnings_that_a_context_collects_or_raises_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHON_CONTEXT_AWARE_WARNINGS", "1")
    isolated("""
import numpy as np, sys, warnings
import cadiff
from cadiff.scipy import integrate

assert sys.flags.context_aware_warnings

def area(x):
    return integrate.quad(lambda t: np.exp(-x * t) * np.cos(x * x * t), 0, 1, limit=2)[0]

def f(x, record, action):
    with warnings.catch_warnings(record=record) as caught:
        warnings.simplefilter(action)
        try:
            found = area(x)
        except Warning:
            return -x
    return 2.0 * found if caught else found

for record, action, obstacles in ((True, "always", 1), (False, "error", 1), (False, "ignore", 0)):
    program = cadiff.compile(f, verify=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [program(x, record, action) for x in (1.0, 9.0, 1.5)]
        assert found == [f(x, record, action) for x in (1.0, 9.0, 1.5)], (found, action)
    assert ("looks at warnings" in str(program.stats()["obstacles"])) == obstacles, action
""")
