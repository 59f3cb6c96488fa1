"""Roots, global searches, training loops and problems of other solvers."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize as scipy_optimize

import cadiff
from cadiff import numpy as cnp
from cadiff import optimize


def two(x: Any, a: float = 2.0) -> Any:
    return [x[0] + x[1] - 3.0, x[0] * x[1] - a]


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_roots(method: str) -> None:
    found = optimize.root(two, [0.5, 2.6], args=(2.0,), method=method)
    assert found.success
    assert_allclose(np.sort(found.x), [1.0, 2.0], rtol=1e-5)


def test_roots_take_exact_jacobians() -> None:
    found = optimize.root(two, np.array([0.0, 5.0]))
    assert found.njev >= 1
    known = scipy_optimize.root(
        lambda x: np.array(two(x)), [0.0, 5.0], jac=lambda x: np.array([[1.0, 1.0], [x[1], x[0]]])
    )
    assert found.nfev == known.nfev + 2  # runs for the Jacobian, which SciPy asks for twice at x0
    by_hand = optimize.root(two, [0.0, 5.0], jac=lambda x: np.array([[1.0, 1.0], [x[1], x[0]]]))
    assert_allclose(by_hand.x, found.x)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_roots_by_differences(method: str) -> None:
    def f(x: Any, a: float) -> Any:
        return [math.cos(x[0]) - a * x[0]]

    found = optimize.root(f, [1.0], (1.0,), method, jac="2-point")
    assert_allclose(found.x, optimize.root_scalar(lambda x: np.cos(x) - x, x0=1.0).root, rtol=1e-7)


def test_roots_in_containers() -> None:
    def f(p: Any) -> Any:
        return {"u": p["u"] ** 2 - np.array([4.0, 9.0]), "v": p["v"] * p["u"].sum() - 5.0}

    found = optimize.root(f, {"u": np.ones(2), "v": 0.0})
    assert_allclose(found.x["u"], [2.0, 3.0])
    assert_allclose(found.x["v"], 1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"x0": 1.0},
        {"x0": 1.0, "method": "newton"},
        {"x0": 1.0, "method": "halley"},
        {"x0": 1.0, "x1": 1.1, "method": "secant"},
        {"bracket": (0.0, 2.0), "method": "brentq"},
    ],
)
def test_roots_of_one_number(options: dict[str, Any]) -> None:
    found = optimize.root_scalar(lambda x, a: cadiff.exp(x) - a, args=3.0, **options)
    assert found.converged
    assert_allclose(found.root, np.log(3.0))


@pytest.mark.parametrize("method", ["newton", "halley", None])
def test_complex_roots_of_one_number(method: Any) -> None:
    found = optimize.root_scalar(lambda x: x**3 - x - 1.0, x0=-0.5 + 0.5j, method=method)
    assert_allclose(found.root, np.roots([1.0, 0.0, -1.0, -1.0])[1], rtol=1e-12)


@pytest.mark.parametrize("method", ["krylov", "broyden1"])
def test_complex_roots(method: str) -> None:
    start = np.array([0.5 + 0.5j, 1.0 - 2.0j])
    found = optimize.root(lambda x, a: x**2 + a, start, (np.array([1.0, 4.0]),), method)
    assert_allclose(found.x, [1j, -2j], atol=1e-5)


# --- global searches ---------------------------------------------------------------------------


def hills(x: Any) -> Any:
    """Many minima; the lowest at 0."""
    return (x**2).sum() / 10.0 + (1.0 - cnp.cos(3.0 * x)).sum()


BOX = [(-4.0, 5.0), (-4.0, 5.0)]


@pytest.mark.parametrize("bounds", [BOX, optimize.Bounds([-4.0, -4.0], [5.0, 5.0])])
@pytest.mark.parametrize("name", ["dual_annealing", "shgo", "differential_evolution"])
def test_searches_between_bounds(name: str, bounds: Any) -> None:
    options: dict[str, Any] = {} if name == "shgo" else {"rng": 1}
    if name == "dual_annealing":
        options["maxiter"] = 60
    found = getattr(optimize, name)(hills, bounds, **options)
    assert_allclose(found.x, 0.0, atol=1e-3)


def test_searches_take_functions_that_return_gradients() -> None:
    def both(x: Any) -> Any:
        return np.sum((x - 1.0) ** 2), 2.0 * (x - 1.0)

    local = {"jac": True, "method": "L-BFGS-B"}
    found = optimize.basinhopping(both, [3.0, 4.0], minimizer_kwargs=local, niter=2, rng=0)
    assert_allclose(found.x, 1.0)
    found = optimize.shgo(both, [(0.0, 3.0)] * 2, options={"jac": True})
    assert_allclose(found.x, 1.0)


def test_searches_from_a_point() -> None:
    found = optimize.basinhopping(hills, np.array([3.0, -2.0]), niter=40, stepsize=2.0, rng=1)
    assert_allclose(found.x, 0.0, atol=1e-5)
    assert found.njev == found.nfev  # gradients are no differences
    parts = optimize.basinhopping(
        lambda p: hills(p["a"]) + p["b"] ** 2,
        {"a": np.array([1.0, 0.5]), "b": 1.0},
        niter=3,
        rng=1,
    )
    assert set(parts.x) == {"a", "b"}
    other = optimize.basinhopping(
        hills, [2.0, 1.0], niter=3, rng=0, minimizer_kwargs={"method": "L-BFGS-B", "bounds": BOX}
    )
    assert other.fun < 3.0


def test_searches_take_functions_of_plain_numbers() -> None:
    def plain(x: Any) -> float:
        return float(hills(np.asarray(x, dtype=float)))

    found = optimize.dual_annealing(plain, BOX, maxiter=30, no_local_search=True, rng=1)
    assert found.fun < 1.0


# --- training loops ----------------------------------------------------------------------------

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(203, 3))
TARGETS = INPUTS @ [1.0, -2.0, 0.5] + 0.3


def loss(p: Any, X: Any, y: Any) -> Any:
    return ((X @ p["w"] + p["b"] - y) ** 2).mean()


START = {"w": np.zeros(3), "b": 0.0}


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("sgd", {"learning_rate": 0.1}),
        ("sgd", {"learning_rate": 0.05, "momentum": 0.8}),
        ("sgd", {"learning_rate": 0.05, "momentum": 0.8, "nesterov": True}),
        ("adam", {"learning_rate": lambda step: 0.1 / (1.0 + 0.01 * step)}),
    ],
)
def test_training(method: str, options: dict[str, Any]) -> None:
    epochs = []

    def callback(intermediate_result: Any) -> None:
        epochs.append(intermediate_result.nit)
        if intermediate_result.fun < 1e-12:
            raise StopIteration

    result = getattr(optimize, method)(
        loss,
        START,
        (INPUTS, TARGETS),
        batch_size=20,
        epochs=60,
        rng=0,
        callback=callback,
        **options,
    )
    assert_allclose(result.x["w"], [1.0, -2.0, 0.5], atol=1e-3)
    assert_allclose(result.x["b"], 0.3, atol=1e-3)
    assert epochs == list(range(1, result.nit + 1))
    assert result.nfev == 11 * result.nit
    assert START["b"] == 0.0


def test_lbfgs_and_data_from_elsewhere() -> None:
    assert_allclose(optimize.lbfgs(loss, START, (INPUTS, TARGETS)).x["b"], 0.3, atol=1e-6)

    def pieces(epoch: int) -> Any:
        for k in range(0, 200, 50):
            yield INPUTS[k : k + 50], TARGETS[k : k + 50]

    found = optimize.adam(loss, START, pieces, epochs=300, learning_rate=0.05)
    assert_allclose(found.x["w"], [1.0, -2.0, 0.5], atol=1e-3)
    assert found.nfev == 1200


def test_a_step_is_by_the_formula() -> None:
    """One step each of the published updates, by hand."""
    x, rate = np.array([1.0, -2.0]), 0.1
    g = 2.0 * x
    plain = optimize.sgd(lambda x: (x**2).sum(), x, epochs=1, learning_rate=rate, weight_decay=0.5)
    assert_allclose(plain.x, x - rate * (g + 0.5 * x))
    two_steps = optimize.sgd(lambda x: (x**2).sum(), x, epochs=2, learning_rate=rate, momentum=0.9)
    first = x - rate * g
    assert_allclose(two_steps.x, first - rate * (0.9 * g + 2.0 * first))
    one = optimize.adam(lambda x: (x**2).sum(), x, epochs=1, learning_rate=rate)
    assert_allclose(one.x, x - rate * np.sign(g), rtol=1e-7)


def test_training_that_diverges_ends() -> None:
    result = optimize.sgd(lambda x: (x**4).sum(), np.full(2, 10.0), epochs=50, learning_rate=1.0)
    assert not result.success
    assert "learning_rate" in result.message
    assert np.all(np.isfinite(result.x))


@pytest.mark.parametrize("method", [optimize.sgd, optimize.adam, optimize.lbfgs])
def test_one_argument_behind_the_batch_needs_no_tuple(method: Any) -> None:
    def far(x: Any, *others: Any) -> Any:
        return (x - sum(others)) ** 2

    for data, args in ((None, 3.0), (None, (3.0,)), ((np.ones(1),), 2.0)):
        found = method(lambda x, *others: far(x, *others).sum(), 1.0, data, args=args)
        assert np.all(found.x > 1.0)


# --- problems ----------------------------------------------------------------------------------


def make_hs71() -> optimize.Problem:
    """Problem 71 of W. Hock and K. Schittkowski, "Test examples for nonlinear programming"."""
    return optimize.problem(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        [lambda x: x[0] * x[1] * x[2] * x[3], lambda x: (x * x).sum()],
        x0=np.array([1.0, 5.0, 5.0, 1.0]),
    )


def test_a_problem_has_what_ipopt_asks_for() -> None:
    hs71 = make_hs71()
    x, weights = np.array([1.1, 4.0, 3.0, 1.5]), np.array([0.7, -0.3])
    assert hs71.objective(x) == pytest.approx(1.1 * 1.5 * 8.1 + 3.0)
    assert_allclose(hs71.constraints(x), [np.prod(x), x @ x])
    rows, columns = hs71.jacobianstructure()
    jacobian = np.zeros((2, 4))
    jacobian[rows, columns] = hs71.jacobian(x)
    assert_allclose(jacobian, [np.prod(x) / x, 2.0 * x])
    rows, columns = hs71.hessianstructure()
    assert np.all(rows >= columns)
    hessian = np.zeros((4, 4))
    hessian[rows, columns] = hs71.hessian(x, weights, 2.0)
    expected = cadiff.hessian(
        lambda x: (
            2.0 * (x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2])
            + 0.7 * x[0] * x[1] * x[2] * x[3]
            - 0.3 * (x * x).sum()
        )
    )(x)
    assert_allclose(hessian, np.tril(expected), rtol=1e-13)


def test_a_problem_has_what_nlopt_asks_for() -> None:
    hs71 = make_hs71()
    x, grad, result, jacobian = (
        np.array([1.1, 4.0, 3.0, 1.5]),
        np.empty(4),
        np.empty(2),
        np.empty((2, 4)),
    )
    assert hs71.nlopt_objective(x, grad) == hs71.objective(x)
    assert_allclose(grad, hs71.gradient(x))
    hs71.nlopt_constraints(result, x, jacobian)
    assert_allclose(jacobian[1], 2.0 * x)
    assert hs71.nlopt_objective(x, np.empty(0)) == hs71.objective(x)


def test_ipopt_itself() -> None:
    cyipopt = pytest.importorskip("cyipopt")
    hs71 = make_hs71()
    solver = cyipopt.Problem(
        n=4,
        m=2,
        problem_obj=hs71,
        lb=np.ones(4),
        ub=np.full(4, 5.0),
        cl=[25.0, 40.0],
        cu=[2e19, 40.0],
    )
    solver.add_option("print_level", 0)
    x, _ = solver.solve([1.0, 5.0, 5.0, 1.0])
    assert_allclose(x, [1.0, 4.74299963, 3.82114998, 1.37940829], rtol=1e-6)


def test_nlopt_itself() -> None:
    nlopt = pytest.importorskip("nlopt")
    hs71 = make_hs71()
    solver = nlopt.opt(nlopt.LD_SLSQP, 4)
    solver.set_min_objective(hs71.nlopt_objective)
    solver.set_lower_bounds(1.0)
    solver.set_upper_bounds(5.0)

    def product(result: Any, x: Any, grad: Any) -> None:
        hs71.nlopt_constraints(result, x, grad)
        result[:] = [25.0 - result[0], result[1] - 40.0]
        if grad.size:
            grad[0] *= -1.0

    solver.add_inequality_mconstraint(product, [1e-9, 1e-9])
    solver.set_xtol_rel(1e-10)
    x = solver.optimize([1.0, 5.0, 5.0, 1.0])
    assert_allclose(solver.last_optimum_value(), 17.0140173, rtol=1e-6)
    assert_allclose(x[0], 1.0, atol=1e-6)


def test_mistakes_in_problems() -> None:
    def total(x: Any) -> Any:
        return (x**2).sum()

    later = optimize.problem(total, lambda x: x[:2])
    assert (later.n, later.m) == (None, None)
    assert later.objective([1.0, 2.0, 3.0]) == 14.0
    assert (later.n, later.m) == (3, 2)
    assert repr(later) == "<cadiff.optimize.Problem of 3 numbers and 2 constraints>"
    assert optimize.problem(total).m == 0
    for method in (later.objective, later.gradient, later.constraints, later.jacobian):
        with pytest.raises(ValueError, match=r"a vector of 3 numbers, not of shape \(2,\)"):
            method(np.ones(2))
    with pytest.raises(ValueError, match=r"2 constraints, but multipliers of shape \(3,\)"):
        later.hessian(np.ones(3), np.ones(3), 1.0)
    with pytest.raises(TypeError, match=r"cadiff\.flatten"):
        optimize.problem(total, x0={"a": 1.0})
    for constraint in (optimize.NonlinearConstraint(total, 0.0, 1.0), {"fun": total}, "total"):
        with pytest.raises(TypeError, match=r"functions c\(x\), not .*given to the solver"):
            optimize.problem(total, constraint)


def cost(x: Any, a: float) -> Any:
    return a * (x**2).sum()


def test_problems_pickle() -> None:
    for x0 in (np.array([1.0, 2.0]), None):
        kept = pickle.loads(pickle.dumps(optimize.problem(cost, cost, x0, args=(3.0,))))
        assert_allclose(kept.gradient(np.array([1.0, 2.0])), [6.0, 12.0])
        assert_allclose(kept.jacobian(np.array([1.0, 2.0])), [6.0, 12.0])


def test_structures_that_do_not_hold_are_told() -> None:
    branching = optimize.problem(
        lambda x: (x * x).sum(), lambda x: x[:1] if x[0] > 0.0 else x[1:], x0=[1.0, 2.0]
    )
    branching.jacobianstructure()
    with pytest.raises(ValueError, match="another branch"):
        branching.jacobian(np.array([-1.0, 2.0]))
    with pytest.raises(ValueError, match="x0="):
        optimize.problem(lambda x: x @ x, lambda x: x).jacobianstructure()
    with pytest.raises(TypeError, match="functions"):
        optimize.problem(lambda x: x @ x, [3.0])


def test_other_names_are_those_of_scipy() -> None:
    for name in ("brentq", "nnls", "linprog", "milp"):
        assert getattr(optimize, name) is getattr(scipy_optimize, name)
    assert set(scipy_optimize.__all__) <= set(dir(optimize))
    with pytest.raises(AttributeError, match="nor has scipy"):
        _ = optimize.brent_q


def test_training_that_overflows_ends() -> None:
    with pytest.warns(RuntimeWarning, match="overflow"):
        too_far = optimize.sgd(lambda x: 1e200 * x, 1.0, epochs=1, learning_rate=1e200)
    assert (too_far.success, too_far.status) == (False, 1)
    assert "not finite" in too_far.message


def test_noise_is_no_failure_of_training() -> None:
    """From the minimum, steps along gradients of single rows lead away: as asked for."""
    rows = np.random.default_rng(0).normal(size=20)
    result = optimize.sgd(
        lambda x, rows: ((x - rows) ** 2).mean(),
        rows.mean(),
        rows,
        epochs=3,
        batch_size=1,
        learning_rate=0.9,
        rng=0,
    )
    assert result.fun > 2.0 * rows.var()
    assert (result.success, result.status, result.nit) == (True, 0, 3)
    assert result.message == "all 3 epochs are done"


def test_functions_that_make_arrays_of_their_own() -> None:
    """`cadiff.array` makes a Var of plain numbers, too."""

    def f(x: Any) -> Any:
        return cadiff.array([x[0] ** 2 - 4.0, x[1] - x[0]])

    def jac(x: Any) -> Any:
        return np.array([[2.0 * x[0], 0.0], [-1.0, 1.0]])

    for given in (None, "2-point", jac):
        assert_allclose(optimize.root(f, [1.0, 1.0], jac=given).x, [2.0, 2.0])
        assert_allclose(optimize.least_squares(f, [1.0, 1.0], jac=given).x, [2.0, 2.0])
        slope = None if given is None else given if given == "2-point" else lambda x: 2.0 * x
        found = optimize.minimize(lambda x: cadiff.array([x @ x])[0], [1.0, 1.0], jac=slope)
        assert_allclose(found.x, 0.0, atol=1e-6)
    found = optimize.root(f, [1.0, 1.5], method="broyden1")
    assert_allclose(found.x, [2.0, 2.0], atol=1e-5)
    assert_allclose(
        optimize.root_scalar(lambda x: cadiff.array([x * x - 4.0])[0], x0=1.0).root, 2.0
    )
    t = np.linspace(0.0, 1.0, 5)
    popt, _ = optimize.curve_fit(lambda t, a, b: cadiff.array(a * t + b), t, 2.0 * t + 1.0)
    assert_allclose(popt, [2.0, 1.0])


# --- large sparse systems ----------------------------------------------------------------------


def bratu(n: int, heat: float) -> Any:
    """The discretised equation -Δu = heat exp(u) on a square, 0 at its edges."""
    step = 1.0 / (n + 1)

    def residuals(u: Any) -> Any:
        u = cnp.reshape(u, (n, n))
        p = cnp.pad(u, 1)
        neighbours = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        return (4.0 * u - neighbours - step**2 * heat * cnp.exp(u)).ravel()

    return residuals


def test_a_differential_equation_takes_sparse_steps() -> None:
    """Of 3600 unknowns dense steps take minutes."""
    seen: list[Any] = []
    found = optimize.root(bratu(60, 3.0), np.zeros(3600), callback=lambda x, f: seen.append(x))
    assert found.success
    assert found.method == "sparse newton"
    assert found.nit == len(seen) == found.njev <= 6
    assert_allclose(found.fun, 0.0, atol=1e-13)
    small = optimize.root(bratu(15, 3.0), np.zeros(225))
    dense = optimize.root(bratu(15, 3.0), np.zeros(225), method="hybr")
    assert (small.method, dense.method) == ("sparse newton", "hybr")
    assert_allclose(small.x, dense.x, rtol=1e-8)
    nested = optimize.root(lambda p: bratu(15, 3.0)(p["u"]), {"u": np.zeros(225)})
    assert_array_equal(nested.x["u"], small.x)


def singular_at_one(x: Any) -> Any:
    return cnp.append(x[::2] + x[1::2] - 3.0, x[::2] ** 2 + 2.0 * x[1::2] - 6.0)


@pytest.mark.parametrize(
    ("f", "start"),
    [
        (lambda x: cnp.arctan(x) - 0.1, 20.0),  # where whole steps diverge
        (lambda x: cnp.exp(x) - 1.0, -20.0),  # where steps are much too long, and the root is 0
        (lambda x: x**2, 3.0),  # a multiple root
        (singular_at_one, 1.0),
    ],
)
def test_sparse_steps_are_shortened_and_damped(f: Any, start: float) -> None:
    found = optimize.root(f, np.full(120, start))
    assert (found.success, found.method) == (True, "sparse newton")
    assert_allclose(f(found.x), 0.0, atol=1e-9)


def test_where_there_is_no_root() -> None:
    found = optimize.root(lambda x: x**2 + 1.0, np.full(600, 3.0))
    assert not found.success
    assert "another x0" in found.message
    few = optimize.root(lambda x: x**2 + 1.0, np.full(120, 3.0))
    assert (few.success, few.method) == (False, "hybr")
    stopped = optimize.root(bratu(25, 3.0), np.zeros(625), options={"maxfev": 2})
    assert not stopped.success
    assert "maxfev" in stopped.message
    with pytest.raises(TypeError):  # by SciPy: not as many numbers as unknowns
        optimize.root(lambda x: x[:-1], np.zeros(200))
