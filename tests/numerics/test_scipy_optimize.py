"""`cadiff.scipy.optimize`: solutions against closed forms and differences, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import cadiff
import cadiff.numpy as cnp
from cadiff import NoDerivativeError
from cadiff.scipy import optimize

from ..helpers.solvers import Case, agree, check

T = np.linspace(0.0, 3.0, 12)
NOISE = 0.1 * np.sin(9.0 * T)
MATRIX = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0], [0.5, 3.0, 2.0], [1.0, 0.0, 0.0]])
RIGHT = np.array([1.0, 2.0, -1.0, 0.5])
SLOPE = np.array([[3.0, 1.0], [1.0, 2.0]])


def case(
    name: str, f: Callable[[Any, Any], Any], at: tuple[float, ...] = (2.0, 3.0), **given: Any
) -> Any:
    """A function of a module, `scipy.optimize` or `cadiff.scipy.optimize`, and of a vector."""
    one = Case(name, lambda a: f(optimize, a), lambda a: f(scipy.optimize, a), at, **given)
    return pytest.param(one, id=name)


def square(x: Any, a: Any) -> Any:
    return x * x - a[0] * a[1]


def sqrt(a: Any) -> Any:
    return cadiff.sqrt(a[0] * a[1])


def system(x: Any, a: Any) -> Any:
    return [x[0] * x[0] + x[1] - a[0], x[1] * x[0] - 0.1 * a[1]]


def bowl(x: Any, a: Any) -> Any:
    """A minimum at (a0, a1 + a0^2 / 10), where it is a0."""
    return (x[0] - a[0]) ** 2 + 2.0 * (x[1] - a[1] - 0.1 * x[0] ** 2) ** 2 + a[0]


def lowest(a: Any) -> Any:
    """The first unknown times the second, and the value."""
    return a[0] * (a[1] + 0.1 * a[0] ** 2) + a[0]


def point(r: Any) -> Any:
    return r.x[0] * r.x[1] + r.fun


def quadratic(x: Any, a: Any) -> Any:
    return 0.5 * (x @ SLOPE @ x) - a @ x


def on_line(a: Any) -> Any:
    """The minimum of the quadratic where x0 + x1 = a0."""
    kkt = np.block([[SLOPE, np.ones((2, 1))], [np.ones((1, 2)), np.zeros((1, 1))]])
    x = np.linalg.solve(kkt, cnp.concatenate([a, a[:1]]))[:2]
    return x[0] * x[1] + quadratic(x, a)


def at_bound(a: Any) -> Any:
    """The minimum of the quadratic where x0 is held at a0 / 20."""
    x = cnp.stack([0.05 * a[0], (a[1] - 0.05 * a[0]) / 2.0])
    return x[0] * x[1] + quadratic(x, a)


def decay(t: Any, p: Any, q: Any) -> Any:
    return p * np.exp(-q * t)


TIGHT = {"tol": 1e-14}
ROOTS: list[Any] = [
    case("brentq", lambda o, a: o.brentq(square, 0.0, 9.0, args=(a,), xtol=1e-14), truth=sqrt),
    case("brenth", lambda o, a: o.brenth(lambda x: square(x, a), 0.0, 9.0), truth=sqrt),
    case("ridder", lambda o, a: o.ridder(lambda x: square(x, a), 0.0, 9.0), truth=sqrt),
    case("bisect", lambda o, a: o.bisect(lambda x: square(x, a), 0.0, 9.0), truth=sqrt),
    case("toms748", lambda o, a: o.toms748(lambda x: square(x, a), 0.0, a[0] * 4), truth=sqrt),
    case("full", lambda o, a: o.brentq(square, 0.0, 9.0, (a,), full_output=True)[0], truth=sqrt),
    case("newton", lambda o, a: o.newton(lambda x: square(x, a), a[0]), truth=sqrt),
    case(
        "newton, many",
        lambda o, a: o.newton(lambda x: x * x - a, [1.0, 2.0]).sum(),
        truth=lambda a: cadiff.sqrt(a).sum(),
    ),
    case(
        "root_scalar",
        lambda o, a: o.root_scalar(square, (a,), bracket=(0.0, 9.0)).root,
        truth=sqrt,
    ),
    case(
        "fixed_point",
        lambda o, a: o.fixed_point(lambda x, a: 0.5 * (x + a[0] * a[1] / x), 2.0, (a,)),
        truth=sqrt,
    ),
    case("root", lambda o, a: o.root(system, [1.0, 1.0], (a,), **TIGHT).x.sum()),
    case(
        "root, jac",
        lambda o, a: o.root(lambda x: (x * x - a, np.diag(2.0 * x)), [1.0, 1.0], jac=True).x.sum(),
        truth=lambda a: cadiff.sqrt(a).sum(),
    ),
    case(
        "lm",
        lambda o, a: o.root(lambda x: system(x, a), [1.0, 1.0], method="lm").x[0],
        value_tolerance=1e-12,
    ),
    case("fsolve", lambda o, a: o.fsolve(system, [1.0, 1.0], (a,), xtol=1e-14)[0]),
    case(
        "fsolve, full",
        lambda o, a: o.fsolve(system, [1.0, 1.0], (a,), None, True)[0][1],
        tolerance=1e-7,
    ),
    *(
        case(
            name,
            lambda o, a, name=name: getattr(o, name)(
                lambda x: x + 0.1 * x * x - a, [1.0, 2.0], f_tol=1e-13
            ).sum(),
            truth=lambda a: (5.0 * (cadiff.sqrt(1.0 + 0.4 * a) - 1.0)).sum(),
        )
        for name in ("broyden1", "broyden2", "newton_krylov")
    ),
]
MINIMA: list[Any] = [
    case(
        "minimize",
        lambda o, a: point(o.minimize(bowl, [1.0, 1.0], (a,))),
        truth=lowest,
        tolerance=1e-5,
    ),
    case(
        "newton-cg",
        lambda o, a: o.minimize(
            lambda x: (quadratic(x, a), SLOPE @ x - a), [1.0, 1.0], jac=True, method="Newton-CG"
        ).x.sum(),
        truth=lambda a: np.linalg.solve(SLOPE, a).sum(),
    ),
    case(
        "bounds",
        lambda o, a: point(
            o.minimize(quadratic, [0.1, 0.1], (a,), bounds=[(None, 0.05 * a[0]), (None, None)])
        ),
        truth=at_bound,
        tolerance=1e-6,
    ),
    case(
        "Bounds",
        lambda o, a: point(
            o.minimize(
                quadratic, [0.1, 0.1], (a,), bounds=o.Bounds([-9.0, -9.0], [0.05 * a[0], 9.0])
            )
        ),
        truth=at_bound,
        tolerance=1e-6,
    ),
    case(
        "equality",
        lambda o, a: point(
            o.minimize(
                quadratic,
                [0.1, 0.1],
                (a,),
                constraints={"type": "eq", "fun": lambda x: x.sum() - a[0]},
            )
        ),
        truth=on_line,
        tolerance=1e-6,
    ),
    case(
        "inequality",
        lambda o, a: point(
            o.minimize(
                quadratic,
                [9.0, 9.0],
                (a,),
                constraints=[{"type": "ineq", "fun": lambda x, b: x.sum() - b, "args": (a[0],)}],
            )
        ),
        truth=on_line,
        tolerance=1e-6,
    ),
    case(
        "trust-constr",
        lambda o, a: o.minimize(
            quadratic,
            [9.0, 9.0],
            (a,),
            method="trust-constr",
            constraints=o.LinearConstraint([[1.0, 1.0]], a[0], a[0]),
        ).x[0],
        truth=lambda a: np.linalg.solve(
            np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 0.0]]),
            cnp.stack([a[0], a[1], a[0]]),
        )[0],
        tolerance=1e-6,
    ),
    case(
        "slsqp",
        lambda o, a: o.fmin_slsqp(
            lambda x: quadratic(x, a), [1.0, 1.0], f_eqcons=lambda x: x.sum() - a[0], iprint=0
        )[0],
        truth=lambda a: np.linalg.solve(
            np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 0.0]]),
            cnp.stack([a[0], a[1], a[0]]),
        )[0],
        tolerance=1e-6,
    ),
    case(
        "minimize_scalar",
        lambda o, a: o.minimize_scalar(lambda x: (x - a[0]) ** 2 + a[1]).fun,
        truth=lambda a: a[1],
    ),
    case(
        "bounded",
        lambda o, a: o.minimize_scalar(lambda x: (x - a[0]) ** 2, bounds=(0.0, 0.5 * a[1])).x,
        truth=lambda a: 0.5 * a[1],
    ),
    case(
        "fminbound",
        lambda o, a: o.fminbound(lambda x: (x - a[0]) ** 2 * a[1], 0.0, 9.0),
        truth=lambda a: a[0],
    ),
    case(
        "fmin",
        lambda o, a: o.fmin(bowl, [1.0, 1.0], (a,), disp=0).sum(),
        truth=lambda a: a[0] + a[1] + 0.1 * a[0] ** 2,
    ),
    case(
        "fmin_bfgs, full",
        lambda o, a: o.fmin_bfgs(bowl, [1.0, 1.0], None, (a,), disp=0, full_output=True)[1],
        truth=lambda a: a[0],
    ),
    case(
        "fmin_l_bfgs_b",
        lambda o, a: o.fmin_l_bfgs_b(bowl, [1.0, 1.0], None, (a,), True)[0].sum(),
        truth=lambda a: a[0] + a[1] + 0.1 * a[0] ** 2,
    ),
    case("brent", lambda o, a: o.brent(lambda x: (x - a[0]) ** 2 * a[1]), truth=lambda a: a[0]),
    case(
        "differential_evolution",
        lambda o, a: o.differential_evolution(
            lambda x: bowl(x, a), [(0.0, 5.0)] * 2, seed=1, maxiter=30, popsize=5
        ).x.sum(),
        truth=lambda a: a[0] + a[1] + 0.1 * a[0] ** 2,
    ),
]
SQUARES: list[Any] = [
    case(
        "least_squares",
        lambda o, a: (lambda r: r.x.sum() + r.cost + r.fun[0])(
            o.least_squares(lambda x: MATRIX[:, :2] @ x - RIGHT * a[0], [1.0, 1.0])
        ),
        truth=lambda a: _squares(a),
    ),
    case(
        "loss",
        lambda o, a: o.least_squares(
            lambda x: decay(T, *x) - decay(T, *a) - NOISE,
            [1.0, 1.0],
            loss="soft_l1",
            jac="3-point",
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        ).x.sum(),
        tolerance=1e-6,
    ),
    case(
        "leastsq",
        lambda o, a: o.leastsq(lambda x: MATRIX[:, :2] @ x - RIGHT * a[0], [1.0, 1.0])[0].sum(),
        truth=lambda a: np.linalg.lstsq(MATRIX[:, :2], RIGHT)[0].sum() * a[0],
    ),
    case(
        "curve_fit",
        lambda o, a: o.curve_fit(decay, T, a[0] * np.exp(-0.3 * a[1] * T), p0=[1.0, 1.0])[0].sum(),
        truth=lambda a: a[0] + 0.3 * a[1],
    ),
    case(
        "pcov",
        lambda o, a: o.curve_fit(
            lambda t, p, q: p + q * t,
            T,
            NOISE * a[0] + T,
            sigma=a[1] * np.ones(T.size),
            absolute_sigma=True,
        )[1][0, 0],
        truth=lambda a: (
            a[1] ** 2 * np.linalg.inv(np.stack([T**0, T]) @ np.stack([T**0, T]).T)[0, 0]
        ),
        program_tolerance=1e-5,  # programs take exact slopes, SciPy takes differences
    ),
    case(
        "linprog",
        lambda o, a: (lambda r: r.x[0] * r.x[1] + r.fun)(
            o.linprog([-1.0, -0.7 * a[0]], A_ub=[[a[1], 1.0], [1.0, 2.0]], b_ub=[4.0, 2.0 * a[0]])
        ),
        truth=lambda a: _vertex(a),
    ),
    case(
        "nnls",
        lambda o, a: (lambda r: r[0].sum() + r[1])(o.nnls(MATRIX, RIGHT * a[0])),
        truth=lambda a: a[0] * (lambda r: r[0].sum() + r[1])(scipy.optimize.nnls(MATRIX, RIGHT)),
    ),
    case(
        "lsq_linear",
        lambda o, a: o.lsq_linear(MATRIX * a[0], RIGHT, bounds=(0.0, 0.1 * a[1])).x.sum(),
    ),
]


def _squares(a: Any) -> Any:
    x = np.linalg.lstsq(MATRIX[:, :2], RIGHT)[0] * a[0]
    r = MATRIX[:, :2] @ x - RIGHT * a[0]
    return x.sum() + 0.5 * (r @ r) + r[0]


def _vertex(a: Any) -> Any:
    left = cnp.stack([cnp.stack([a[1], 1.0]), np.array([1.0, 2.0])])
    x = np.linalg.solve(left, cnp.stack([4.0, 2.0 * a[0]]))
    return x[0] * x[1] - x[0] - 0.7 * a[0] * x[1]


@pytest.mark.parametrize("one", [*ROOTS, *MINIMA, *SQUARES])
def test_solutions(one: Case) -> None:
    check(one)


def test_nothing_is_called_but_scipy_where_nothing_carries() -> None:
    result = optimize.minimize(bowl, [1.0, 1.0], (np.array([2.0, 3.0]),))
    expected = scipy.optimize.minimize(bowl, [1.0, 1.0], (np.array([2.0, 3.0]),))
    assert type(result) is type(expected)
    assert (result.x == expected.x).all()
    assert optimize.OptimizeResult is scipy.optimize.OptimizeResult


def test_an_assignment_is_that_of_values() -> None:
    def cost(a: Any) -> Any:
        matrix = a * np.array([[4.0, 1.0], [2.0, 3.0]])
        rows, columns = optimize.linear_sum_assignment(matrix)
        return matrix[rows, columns].sum()

    assert cadiff.grad(cost)(2.0) == 3.0


@pytest.mark.filterwarnings("ignore:.*reads values, which a replay would not:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:The NumPy global RNG was seeded:FutureWarning")
@pytest.mark.parametrize("options", [{}, {"maximize": True}])
def test_the_score_of_a_quadratic_assignment_has_derivatives(options: dict[str, Any]) -> None:
    A, B = np.random.default_rng(0).random((2, 5, 5))

    def score(module: Any, a: Any) -> Any:
        return module.quadratic_assignment(A * a, B=B + a * A, options=options).fun

    program = cadiff.compile(lambda a: score(optimize, a))
    for a in (0.7, 0.1, 2.0):
        h = 1e-6
        slope = (score(scipy.optimize, a + h) - score(scipy.optimize, a - h)) / (2.0 * h)
        value, found = cadiff.value_and_grad(lambda a: score(optimize, a))(a)
        assert value == score(scipy.optimize, a) == program(a)
        assert found == pytest.approx(slope, rel=1e-8)
        assert program.grad(a) == found


class Spring:
    def __init__(self, stiffness: Any) -> None:
        self.stiffness = stiffness

    def force(self, x: Any) -> Any:
        return self.stiffness * x - 2.0


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: optimize.brentq(Spring(a).force, 0.0, 9.0),
        lambda a: optimize.brentq(lambda x, s: s.force(x), 0.0, 9.0, args=(Spring(a),)),
        lambda a: optimize.brentq(lambda x, k: k["a"][0] * x - 2.0, 0.0, 9.0, args=({"a": [a]},)),
        lambda a: optimize.brentq(lambda x, k=a: k * x - 2.0, 0.0, 9.0),
        lambda a: optimize.brentq((lambda f: lambda x: f(x) - 2.0)(lambda x: a * x), 0.0, 9.0),
        lambda a: optimize.brentq(lambda x: cnp.array([a, 2.0]) @ cnp.array([x, -1.0]), 0.0, 9.0),
    ],
)
def test_numbers_are_found_wherever_functions_have_them(solve: Callable[[Any], Any]) -> None:
    agree(cadiff.grad(solve)(4.0), -2.0 / 16.0, 1e-12)
    agree(cadiff.hessian(solve)(4.0), 4.0 / 64.0, 1e-11)


def test_numbers_of_float32() -> None:
    a = np.float32(4.0)
    value, slope = cadiff.value_and_grad(lambda a: optimize.brentq(lambda x: x * x - a, 0.0, 9.0))(
        a
    )
    agree(value, 2.0, 1e-6)
    agree(slope, 0.25, 1e-6)


SEEN: dict[str, Any] = {}


def seen_force(x: Any) -> Any:
    return SEEN["stiffness"] * x - 2.0


def test_numbers_are_found_in_global_variables() -> None:
    def solve(a: Any) -> Any:
        SEEN["stiffness"] = a
        return optimize.brentq(lambda x: seen_force(x), 0.0, 9.0)

    agree(cadiff.grad(solve)(4.0), -2.0 / 16.0, 1e-12)
    agree(cadiff.hessian(solve)(4.0), 4.0 / 64.0, 1e-11)
    stiffness = SEEN["stiffness"] = cadiff.Var(4.0)
    optimize.brentq(seen_force, 0.0, 9.0).backward()
    agree(stiffness.grad, -2.0 / 16.0, 1e-12)
    assert SEEN["stiffness"] is stiffness
    SEEN.clear()


def test_what_a_search_has_left_has_no_derivative() -> None:
    """The inverse Hessian that BFGS ended with, above all, is no constant."""

    def left(a: Any) -> Any:
        return optimize.minimize(bowl, [1.0, 1.0], (a,)).hess_inv[0, 0]

    a = np.array([2.0, 3.0])
    plain = scipy.optimize.minimize(bowl, [1.0, 1.0], (a,)).hess_inv[0, 0]
    with pytest.raises(NoDerivativeError, match="hess_inv"):
        cadiff.grad(left)(a)
    value, tangent = cadiff.jvp(left, (a,), (a,))
    assert value == plain
    assert np.isnan(tangent)
    program = cadiff.compile(left)
    program(a)
    agree(
        program(2.0 * a), scipy.optimize.minimize(bowl, [1.0, 1.0], (2.0 * a,)).hess_inv[0, 0], 0
    )
    assert cadiff.grad(lambda a: cadiff.value(left(a)) * a[0])(a)[0] == plain


@pytest.mark.parametrize(
    ("error", "words", "solve"),
    [
        (
            TypeError,
            "pass it as an argument",
            lambda a: optimize.brentq(
                lambda x, hidden: x - hidden.of, 0.0, 9.0, (type("", (), {"of": a}),)
            ),
        ),
        (
            TypeError,
            "which slices are not",
            lambda a: optimize.brute(lambda x: x[0] ** 2, (slice(-1.0, 1.0, 0.25 * a),))[0],
        ),
        (
            RuntimeError,
            "found no solution",
            lambda a: optimize.minimize(
                bowl, [50.0, 50.0], (np.ones(2) * a,), options={"maxiter": 1}
            ).x[0],
        ),
        (
            RuntimeError,
            "found no solution",
            lambda a: optimize.root(lambda x: x * x + a, 1.0).x[0],
        ),
        (
            np.linalg.LinAlgError,
            "singular",
            lambda a: optimize.root(lambda x: (x - a) * 0.0, 1.0).x[0],
        ),
        (
            NoDerivativeError,
            "multipliers are 0",
            lambda a: optimize.minimize(lambda x: x[0] ** 2 * a, [1.0], bounds=[(0.0, 1.0)]).x[0],
        ),
        (
            NoDerivativeError,
            "whole numbers",
            lambda a: optimize.linprog([-a], bounds=[(0.0, 1.5)], integrality=[1]).x[0],
        ),
        (NoDerivativeError, "milp", lambda a: optimize.milp([-a])),
        (
            NoDerivativeError,
            "omit",
            lambda a: optimize.curve_fit(decay, T, a * T, nan_policy="omit"),
        ),
    ],
)
def test_what_has_no_derivative_is_refused(
    error: type[Exception], words: str, solve: Callable[[Any], Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error, match=words):
            cadiff.grad(solve)(1.0)


def test_a_bilevel_problem() -> None:
    """The penalty of a ridge regression, by the error on other data: against the closed form."""
    rng = np.random.default_rng(1)
    x, y, x2, y2 = (rng.normal(size=s) for s in ((9, 3), 9, (7, 3), 7))

    def inner(w: Any, penalty: Any) -> Any:
        return ((x @ w - y) ** 2).sum() + penalty * (w @ w)

    def outer(penalty: Any) -> Any:
        w = optimize.minimize(inner, np.zeros(3), (penalty,)).x
        return ((x2 @ w - y2) ** 2).sum()

    def closed(penalty: Any) -> Any:
        w = np.linalg.solve(x.T @ x + penalty * np.eye(3), x.T @ y)
        return ((x2 @ w - y2) ** 2).sum()

    agree(cadiff.grad(outer)(0.7), cadiff.grad(closed)(0.7), 1e-5)
    agree(cadiff.hessian(outer)(0.7), cadiff.hessian(closed)(0.7), 1e-4)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize(
    "solve",
    [
        lambda a, s: optimize.brentq(lambda x: x * x - a * a, 0.0, 10.0 * s, xtol=1e-14 * s),
        lambda a, s: optimize.newton(lambda x: x * x - a * a, 1.5 * s, tol=1e-14 * s),
        lambda a, s: optimize.minimize_scalar(lambda x: (x / a - 1.0) ** 2, (0.0, 0.5 * s)).x,
    ],
)
def test_units_do_not_matter(solve: Callable[[Any, float], Any], scale: float) -> None:
    agree(cadiff.grad(solve)(scale, scale), 1.0, 1e-12)


@pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead", "Powell", "L-BFGS-B", "COBYLA"])
def test_solutions_at_zero(method: str) -> None:
    def f(a: Any) -> Any:
        return optimize.minimize(lambda x: ((x - a) ** 2).sum(), [1.0, 1.0], method=method).x[0]

    agree(cadiff.grad(f)(0.0), 1.0, 1e-12)
