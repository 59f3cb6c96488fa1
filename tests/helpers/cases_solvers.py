"""Calls of `scipy.integrate` and `scipy.optimize`, and the truth about their derivatives.

A row has a name and says what is called: `m` is the module, SciPy's or cadiff's, and `a` the
vector by which the call is differentiated. Behind a `=` stands the closed form, without which
differences of SciPy's values are the truth, and behind a `~` what else `solvers.Case` is given.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import scipy.optimize

import cadiff.numpy as cnp

from .solvers import Case

# --- integrals -----------------------------------------------------------------------------------

SPAN, TIMES = (0.0, 2.0), np.linspace(0.0, 2.0, 6)
EXACT = {"rtol": 1e-11, "atol": 1e-12}
NEARLY = {"rtol": 1e-8, "atol": 1e-10}


def wave(x: Any, a: Any) -> Any:
    return np.exp(-a[0] * x * x) * np.cos(a[1] * x)


def kink(x: Any, a: Any) -> Any:
    return a[0] * x if x < a[1] else x * x


def growth(t: Any, y: Any, r: Any, k: Any) -> Any:
    return r * y * (1.0 - y / k)


def grown(t: Any, y: Any, r: Any, k: Any) -> Any:
    return k / (1.0 + (k / y - 1.0) * np.exp(-r * t))


def logistic(a: Any) -> Any:
    return grown(TIMES, a[2], a[0], a[1]).sum()


def thrown(m: Any, a: Any) -> Any:
    """When and how fast what is thrown up with the speed a1 comes down, pulled by a0."""

    def down(t: Any, y: Any) -> Any:
        return y[0]

    down.terminal, down.direction = True, -1.0  # type: ignore[attr-defined]
    fall, start = lambda t, y: [y[1], -a[0]], [1e-300, a[1]]
    r = m.solve_ivp(fall, (0.0, 9.0), start, events=[down], **EXACT)
    return r.t_events[0][0] * r.y_events[0][0, 1] + r.t[-1] + r.y[1, -1]


def bent(m: Any, a: Any) -> Any:
    """A vibration of the frequency √a0 that is a1 where it ends."""
    slope = lambda x, y: np.vstack([y[1], -a[0] * y[0]])  # noqa: E731
    ends = lambda left, right: np.array([left[0], right[0] - a[1]])  # noqa: E731
    r = m.solve_bvp(slope, ends, np.linspace(0.0, 1.0, 9), np.zeros((2, 9)), tol=1e-7)
    return r.sol(0.3)[0] + r.y[1, 0]


def eigenvalue(m: Any, a: Any) -> Any:
    slope = lambda x, y, p: np.vstack([y[1], -p[0] * a[0] * y[0]])  # noqa: E731
    ends = lambda left, right, p: np.array([left[0], right[0], left[1] - 1.0])  # noqa: E731
    x = np.linspace(0.0, 1.0, 11)
    return m.solve_bvp(slope, ends, x, np.sin(3.0 * x) * np.ones((2, 1)), p=[8.0], tol=1e-5).p[0]


INTEGRALS = """
quad         m.quad(wave, 0.0, 2.0, args=(a,))[0]
closure      m.quad(lambda x: wave(x, a), 0.0, 2.0)[0]
limits       m.quad(lambda x: a[0] * x, a[1], a[0])[0] = 0.5 * a[0] * (a[0]**2 - a[1]**2)
infinite     m.quad(wave, -np.inf, np.inf, (a,))[0]
             = np.sqrt(np.pi / a[0]) * np.exp(-a[1]**2 / (4.0 * a[0]))
half         m.quad(lambda x: np.exp(-a[0] * x), a[1], np.inf)[0] = np.exp(-a[0] * a[1]) / a[0]
points       m.quad(kink, 0.0, 2.0, (a,), points=[a[1]])[0]
             = 0.5 * a[0] * a[1]**2 + (8.0 - a[1]**3) / 3.0
singular     m.quad(lambda x: x**(a[1] - 1.0), 0.0, 1.0)[0] = 1.0 / a[1]
cos          m.quad(lambda x: np.exp(-a[0] * x), 0.0, a[1], weight="cos", wvar=3.0)[0]
cauchy       m.quad(lambda x: a[0] + x * a[1], -1.0, 2.0, weight="cauchy", wvar=0.5)[0]
             = (a[0] + 0.5 * a[1]) * 0.0 + 3.0 * a[1]
alg          m.quad(lambda x: np.exp(-a[0] * x * a[1]), -1.0, 1.0, weight="alg",
                 wvar=(0.5, -0.5))[0]
full_output  m.quad(wave, 0.0, 2.0, (a,), full_output=1)[0]
quad_vec     m.quad_vec(lambda x: np.array([1.0, 2.0]) * wave(x, a), 0.0, a[0])[0].sum()
dblquad      m.dblquad(lambda y, x: a[0] * x * y, 0.0, a[0], 0.0, lambda x: a[1] * x)[0]
             = a[0]**5 * a[1]**2 / 8.0 ~ program=False, tolerance=1e-7
nquad        m.nquad(lambda y, x, p: p * y, [lambda x, p: (0.0, x), (0.0, a[1])], args=(a[0],))[0]
             = a[0] * a[1]**3 / 6.0 ~ program=False, tolerance=1e-7
fixed_quad   m.fixed_quad(lambda x: wave(x, a), 0.0, a[0], n=7)[0]
events       thrown(m, a) = -2.0 * a[1]**2 / a[0] + 2.0 * a[1] / a[0] - a[1]
             ~ at=(9.81, 4.0), eager=True
solve_bvp    bent(m, a)
             = a[1] * (np.sin(0.3 * np.sqrt(a[0])) + np.sqrt(a[0])) / np.sin(np.sqrt(a[0]))
             ~ tolerance=1e-6, eager=True
eigenvalue   eigenvalue(m, a) = np.pi**2 / a[0] ~ at=(1.5,), tolerance=1e-5, eager=True
"""
SOLUTIONS = """
RK45         m.solve_ivp(growth, SPAN, a[2:], "RK45", TIMES, args=(*a[:2],), **EXACT).y.sum()
             = logistic(a)
DOP853       m.solve_ivp(growth, SPAN, a[2:], "DOP853", TIMES, args=(*a[:2],), **EXACT).y.sum()
             = logistic(a)
RK23         m.solve_ivp(growth, SPAN, a[2:], "RK23", TIMES, args=(*a[:2],), **NEARLY).y.sum()
             = logistic(a) ~ tolerance=1e-5
Radau        m.solve_ivp(growth, SPAN, a[2:], "Radau", TIMES, args=(*a[:2],), **NEARLY).y.sum()
             = logistic(a) ~ tolerance=1e-5
BDF          m.solve_ivp(growth, SPAN, a[2:], "BDF", TIMES, args=(*a[:2],), **NEARLY).y.sum()
             = logistic(a) ~ tolerance=1e-5
LSODA        m.solve_ivp(growth, SPAN, a[2:], "LSODA", TIMES, args=(*a[:2],), **NEARLY).y.sum()
             = logistic(a) ~ tolerance=1e-5
closures     m.solve_ivp(lambda t, y: growth(t, y, a[0], a[1]), SPAN, [a[2]], t_eval=TIMES,
                 max_step=0.1, **EXACT).y.sum() = logistic(a)
times        m.solve_ivp(growth, SPAN, [0.5], t_eval=0.5 * a[:2], args=(1.2, 3.0), **EXACT
                 ).y.sum() = grown(0.5 * a[:2], 0.5, 1.2, 3.0).sum()
span         (lambda r: r.y[0, -1] * r.t[-1] + r.t[0])(
                 m.solve_ivp(growth, (a[2], a[0]), [0.5], args=(1.2, a[1]), **EXACT))
             = grown(a[0] - a[2], 0.5, 1.2, a[1]) * a[0] + a[2] ~ eager=True
dense        (lambda s: s(a[0])[0] + s(np.array([0.1, 0.2])).sum())(m.solve_ivp(
                 growth, SPAN, a[2:], dense_output=True, args=(a[0], a[1]), **EXACT).sol)
             = grown(np.array([0.1, 0.2]), a[2], a[0], a[1]).sum() + grown(a[0], a[2], a[0], a[1])
             ~ tolerance=1e-7, value_tolerance=1e-15, eager=True
backwards    m.solve_ivp(growth, (0.0, -1.0), a[2:], args=(a[0], a[1]), t_eval=[0.0, -1.0], **EXACT
                 ).y[0, 1] = grown(-1.0, a[2], a[0], a[1])
odeint       m.odeint(lambda y, t: growth(t, y, a[0], a[1]), a[2], TIMES, **EXACT).sum()
             = logistic(a)
tfirst       m.odeint(growth, a[2], [0.0, 0.5, a[0]], (a[0], a[1]), tfirst=True, full_output=True,
                 **EXACT)[0][-1, 0] = grown(a[0], a[2], a[0], a[1])
"""

# --- roots and minima ----------------------------------------------------------------------------

T = np.linspace(0.0, 3.0, 12)
NOISE = 0.1 * np.sin(9.0 * T)
MATRIX = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0], [0.5, 3.0, 2.0], [1.0, 0.0, 0.0]])
RIGHT = np.array([1.0, 2.0, -1.0, 0.5])
SLOPE = np.array([[3.0, 1.0], [1.0, 2.0]])
TIGHT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
LINE = np.stack([T**0, T]) @ np.stack([T**0, T]).T


def square(x: Any, a: Any) -> Any:
    return x * x - a[0] * a[1]


def sqrt(a: Any) -> Any:
    return np.sqrt(a[0] * a[1])


def system(x: Any, a: Any) -> Any:
    return [x[0] * x[0] + x[1] - a[0], x[1] * x[0] - 0.1 * a[1]]


def bent_line(x: Any, a: Any) -> Any:
    return x + 0.1 * x * x - a


def its_roots(a: Any) -> Any:
    return (5.0 * (np.sqrt(1.0 + 0.4 * a) - 1.0)).sum()


def bowl(x: Any, a: Any) -> Any:
    """A minimum at (a0, a1 + a0^2 / 10), where it is a0."""
    return (x[0] - a[0]) ** 2 + 2.0 * (x[1] - a[1] - 0.1 * x[0] ** 2) ** 2 + a[0]


def lowest(a: Any) -> Any:
    """The sum of the unknowns."""
    return a[0] + a[1] + 0.1 * a[0] ** 2


def point(r: Any) -> Any:
    return r.x[0] * r.x[1] + r.fun


def quadratic(x: Any, a: Any) -> Any:
    return 0.5 * (x @ SLOPE @ x) - a @ x


def on_line(a: Any) -> Any:
    """Where the quadratic is least with x0 + x1 = a0."""
    kkt = np.block([[SLOPE, np.ones((2, 1))], [np.ones((1, 2)), np.zeros((1, 1))]])
    return np.linalg.solve(kkt, cnp.concatenate([a, a[:1]]))[:2]


def at_bound(a: Any) -> Any:
    """Where the quadratic is least with x0 held at a0 / 20."""
    return cnp.stack([0.05 * a[0], (a[1] - 0.05 * a[0]) / 2.0])


def there(x: Any, a: Any) -> Any:
    """What `point` finds where the quadratic is least."""
    return x[0] * x[1] + quadratic(x, a)


def decay(t: Any, p: Any, q: Any) -> Any:
    return p * np.exp(-q * t)


def of_squares(a: Any) -> Any:
    x = np.linalg.lstsq(MATRIX[:, :2], RIGHT)[0] * a[0]
    r = MATRIX[:, :2] @ x - RIGHT * a[0]
    return x.sum() + 0.5 * (r @ r) + r[0]


def nonnegative(a: Any) -> Any:
    x, rest = scipy.optimize.nnls(MATRIX, RIGHT)
    return a[0] * (x.sum() + rest)


def vertex(a: Any) -> Any:
    left = cnp.stack([cnp.stack([a[1], 1.0]), np.array([1.0, 2.0])])
    x = np.linalg.solve(left, cnp.stack([4.0, 2.0 * a[0]]))
    return x[0] * x[1] - x[0] - 0.7 * a[0] * x[1]


ROOTS = """
brentq          m.brentq(square, 0.0, 9.0, args=(a,), xtol=1e-14) = sqrt(a)
brenth          m.brenth(lambda x: square(x, a), 0.0, 9.0) = sqrt(a)
ridder          m.ridder(lambda x: square(x, a), 0.0, 9.0) = sqrt(a)
bisect          m.bisect(lambda x: square(x, a), 0.0, 9.0) = sqrt(a)
toms748         m.toms748(lambda x: square(x, a), 0.0, a[0] * 4) = sqrt(a)
full            m.brentq(square, 0.0, 9.0, (a,), full_output=True)[0] = sqrt(a)
newton          m.newton(lambda x: square(x, a), a[0]) = sqrt(a)
newton_many     m.newton(lambda x: x * x - a, [1.0, 2.0]).sum() = np.sqrt(a).sum()
root_scalar     m.root_scalar(square, (a,), bracket=(0.0, 9.0)).root = sqrt(a)
fixed_point     m.fixed_point(lambda x, a: 0.5 * (x + a[0] * a[1] / x), 2.0, (a,)) = sqrt(a)
root            m.root(system, [1.0, 1.0], (a,), tol=1e-14).x.sum()
root_jac        m.root(lambda x: (x * x - a, np.diag(2.0 * x)), [1.0, 1.0], jac=True).x.sum()
                = np.sqrt(a).sum()
lm              m.root(lambda x: system(x, a), [1.0, 1.0], method="lm").x[0]
                ~ value_tolerance=1e-12
fsolve          m.fsolve(system, [1.0, 1.0], (a,), xtol=1e-14)[0]
fsolve_full     m.fsolve(system, [1.0, 1.0], (a,), None, True)[0][1] ~ tolerance=1e-7
broyden1        m.broyden1(lambda x: bent_line(x, a), [1.0, 2.0], f_tol=1e-13).sum() = its_roots(a)
broyden2        m.broyden2(lambda x: bent_line(x, a), [1.0, 2.0], f_tol=1e-13).sum() = its_roots(a)
newton_krylov   m.newton_krylov(lambda x: bent_line(x, a), [1.0, 2.0], f_tol=1e-13).sum()
                = its_roots(a)
"""
MINIMA = """
minimize        point(m.minimize(bowl, [1.0, 1.0], (a,)))
                = a[0] * (a[1] + 0.1 * a[0]**2) + a[0] ~ tolerance=1e-5
newton-cg       m.minimize(lambda x: (quadratic(x, a), SLOPE @ x - a), [1.0, 1.0], jac=True,
                    method="Newton-CG").x.sum() = np.linalg.solve(SLOPE, a).sum()
bounds          point(m.minimize(quadratic, [0.1, 0.1], (a,),
                    bounds=[(None, 0.05 * a[0]), (None, None)]))
                = there(at_bound(a), a) ~ tolerance=1e-6
Bounds          point(m.minimize(quadratic, [0.1, 0.1], (a,),
                    bounds=m.Bounds([-9.0, -9.0], [0.05 * a[0], 9.0])))
                = there(at_bound(a), a) ~ tolerance=1e-6
equality        point(m.minimize(quadratic, [0.1, 0.1], (a,),
                    constraints={"type": "eq", "fun": lambda x: x.sum() - a[0]}))
                = there(on_line(a), a) ~ tolerance=1e-6
inequality      point(m.minimize(quadratic, [9.0, 9.0], (a,),
                constraints=[{"type": "ineq", "fun": lambda x, b: x.sum() - b, "args": (a[0],)}]))
                = there(on_line(a), a) ~ tolerance=1e-6
trust-constr    m.minimize(quadratic, [9.0, 9.0], (a,), method="trust-constr",
                    constraints=m.LinearConstraint([[1.0, 1.0]], a[0], a[0])).x[0]
                = on_line(a)[0] ~ tolerance=1e-6
slsqp           m.fmin_slsqp(lambda x: quadratic(x, a), [1.0, 1.0], iprint=0,
                    f_eqcons=lambda x: x.sum() - a[0])[0] = on_line(a)[0] ~ tolerance=1e-6
minimize_scalar m.minimize_scalar(lambda x: (x - a[0])**2 + a[1]).fun = a[1]
bounded         m.minimize_scalar(lambda x: (x - a[0])**2, bounds=(0.0, 0.5 * a[1])).x = 0.5 * a[1]
fminbound       m.fminbound(lambda x: (x - a[0])**2 * a[1], 0.0, 9.0) = a[0]
fmin            m.fmin(bowl, [1.0, 1.0], (a,), disp=0).sum() = lowest(a)
fmin_bfgs_full  m.fmin_bfgs(bowl, [1.0, 1.0], None, (a,), disp=0, full_output=True)[1] = a[0]
fmin_l_bfgs_b   m.fmin_l_bfgs_b(bowl, [1.0, 1.0], None, (a,), True)[0].sum() = lowest(a)
brent           m.brent(lambda x: (x - a[0])**2 * a[1]) = a[0]
differential_evolution  m.differential_evolution(
                    lambda x: bowl(x, a), [(0.0, 5.0)] * 2, seed=1, maxiter=30, popsize=5).x.sum()
                = lowest(a)
"""
# Programs take exact slopes for a covariance, SciPy takes differences.
SQUARES = """
least_squares   (lambda r: r.x.sum() + r.cost + r.fun[0])(
                    m.least_squares(lambda x: MATRIX[:, :2] @ x - RIGHT * a[0], [1.0, 1.0]))
                = of_squares(a)
loss            m.least_squares(lambda x: decay(T, *x) - decay(T, *a) - NOISE, [1.0, 1.0],
                    loss="soft_l1", jac="3-point", **TIGHT).x.sum() ~ tolerance=1e-6
leastsq         m.leastsq(lambda x: MATRIX[:, :2] @ x - RIGHT * a[0], [1.0, 1.0])[0].sum()
                = np.linalg.lstsq(MATRIX[:, :2], RIGHT)[0].sum() * a[0]
curve_fit       m.curve_fit(decay, T, a[0] * np.exp(-0.3 * a[1] * T), p0=[1.0, 1.0])[0].sum()
                = a[0] + 0.3 * a[1]
pcov            m.curve_fit(lambda t, p, q: p + q * t, T, NOISE * a[0] + T, absolute_sigma=True,
                    sigma=a[1] * np.ones(T.size))[1][0, 0]
                = a[1]**2 * np.linalg.inv(LINE)[0, 0] ~ program_tolerance=1e-5
linprog         (lambda r: r.x[0] * r.x[1] + r.fun)(m.linprog(
                    [-1.0, -0.7 * a[0]], A_ub=[[a[1], 1.0], [1.0, 2.0]], b_ub=[4.0, 2.0 * a[0]]))
                = vertex(a)
nnls            (lambda r: r[0].sum() + r[1])(m.nnls(MATRIX, RIGHT * a[0])) = nonnegative(a)
lsq_linear      m.lsq_linear(MATRIX * a[0], RIGHT, bounds=(0.0, 0.1 * a[1])).x.sum()
"""


ROW = re.compile(r"(\S+) +(.*?)(?: = (.*?))?(?: ~ (.*))?")


def cases(table: str, module: str, at: tuple[float, ...]) -> list[Case]:
    """The rows of a table; those that say nothing else are differentiated at `at`."""
    ours, scipys = (importlib.import_module(f"{of}.{module}") for of in ("cadiff.scipy", "scipy"))
    found = []
    for row in re.split(r"\n(?=\S)", table.strip()):
        match = ROW.fullmatch(" ".join(map(str.strip, row.splitlines())))
        assert match, row
        name, call, truth, how = match.groups()
        f = eval(f"lambda m, a: {call}", globals())
        case = Case(
            name,
            lambda a, f=f: f(ours, a),
            lambda a, f=f: f(scipys, a),
            truth=eval(f"lambda a: {truth}", globals()) if truth else None,
            **{"at": at, **eval(f"dict({how or ''})")},
        )
        found.append(case)
    return found


OF_INTEGRATE = [
    *cases(INTEGRALS, "integrate", (1.5, 0.7)),
    *cases(SOLUTIONS, "integrate", (1.2, 3.0, 0.5)),
]
OF_OPTIMIZE = cases(ROOTS + MINIMA + SQUARES, "optimize", (2.0, 3.0))
