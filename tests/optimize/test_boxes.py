"""Bounds and scales in the containers of parameters, beside those that SciPy takes."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize as scipy_optimize

import cadiff
from cadiff import numpy as cnp
from cadiff import optimize
from cadiff.optimize import Bounds, curve_fit, least_squares, minimize
from cadiff.optimize._boxes import put_bounds
from cadiff.optimize._vectors import Parameters


@dataclass
class Layer:
    w: Any
    rest: Any


class Registered:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts


cadiff.register_container(Registered, lambda r: (list(r.parts), None), lambda _, p: Registered(*p))

Named = namedtuple("Named", "a b")

START = {"a": 0.5, "b": np.array([0.2, 0.3])}
INF = np.inf
AB = ([0.0, -INF, -INF], [1.0, INF, INF])  # of {"a": (0, 1)}


def distances(p: Any) -> Any:
    return cnp.append(p["b"], p["a"]) - [-1.0, -1.0, 3.0]


@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ({"a": (0, 1)}, *AB),
        ({"a": (0, 1), "b": None}, *AB),
        ({"a": [0, 1], "b": (None, None)}, *AB),
        ({"a": np.array([0, 1])}, *AB),
        ({"a": Bounds(0, 1)}, *AB),
        (({"a": 0}, {"a": 1}), *AB),
        (Bounds({"a": 0.0}, {"a": 1.0}), *AB),
        (Bounds([{"a": 0.0}], INF), [0.0, -INF, -INF], [INF, INF, INF]),
        ({"b": (0, None)}, [-INF, 0.0, 0.0], [INF, INF, INF]),
        ({"b": [(0, 1), (2, None)]}, [-INF, 0.0, 2.0], [INF, 1.0, INF]),
        ({"b": [None, (2, 3)]}, [-INF, -INF, 2.0], [INF, INF, 3.0]),
        ({"b": np.array([[0, 1], [2, 3]])}, [-INF, 0.0, 2.0], [INF, 1.0, 3.0]),
        ({"b": ((0, 1), (2, 3))}, [-INF, 0.0, 2.0], [INF, 1.0, 3.0]),
        ({"b": (np.array([0, 1]), np.array([2, 3]))}, [-INF, 0.0, 1.0], [INF, 2.0, 3.0]),
        ({"b": ([0, None], [2, 3])}, [-INF, 0.0, -INF], [INF, 2.0, 3.0]),
        ({"b": Bounds([0, 1], 2)}, [-INF, 0.0, 1.0], [INF, 2.0, 2.0]),
        ((0, 1), [0.0] * 3, [1.0] * 3),
        ([(0, 1), (None, 2), (3, 4)], None, None),
        (Bounds([0, 1, 2], 3), None, None),
        (None, None, None),
    ],
)
def test_bounds_of_a_dict(bounds: Any, lower: Any, upper: Any) -> None:
    given = {"bounds": bounds}
    put_bounds(given, Parameters(START, "minimize"))
    if lower is None:  # what SciPy takes goes on as it is
        assert given["bounds"] is bounds
    else:
        assert_array_equal(given["bounds"].lb, lower)
        assert_array_equal(given["bounds"].ub, upper)


WEIGHTS = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("tree", "bounds", "lower"),
    [
        (Layer(WEIGHTS, [np.zeros(2), 0.0]), {"w": (1, 2)}, [1.0] * 4 + [-INF] * 3),
        (Layer(WEIGHTS, 0.0), Layer(None, (1, 2)), [-INF] * 4 + [1.0]),
        (Layer(WEIGHTS, {"c": 0.0}), Layer((0, 1), {"c": (2, 3)}), [0.0] * 4 + [2.0]),
        ([WEIGHTS, 0.0], [(0, 1), (2, 3)], [0.0] * 4 + [2.0]),
        ([WEIGHTS, 0.0], [[[(1, 2), (3, 4)], (5, 6)], None], [1.0, 3.0, 5.0, 5.0, -INF]),
        ((WEIGHTS, 0.0), ([WEIGHTS, 1.0], [WEIGHTS, 1.0]), [0.0] * 4 + [1.0]),
        (WEIGHTS, np.arange(8.0).reshape(2, 2, 2), [0.0, 2.0, 4.0, 6.0]),
        (WEIGHTS, (WEIGHTS, np.ones((2, 2))), [0.0] * 4),
        (Named(0.0, [0.0, 0.0]), Named((0, 1), None), [0.0, -INF, -INF]),
        (Named(0.0, [0.0, 0.0]), {"b": [(0, 1), (2, 3)]}, [-INF, 0.0, 2.0]),
        (Named(0.0, [0.0, 0.0]), {"b": (np.array([1, 2]), np.array([3, 4]))}, [-INF, 1.0, 2.0]),
        (Registered(0.0, WEIGHTS), Registered((1, 2), None), [1.0] + [-INF] * 4),
        ({"deep": {"er": [0.0, {"x": 0.0}]}}, {"deep": {"er": [None, {"x": (1, 2)}]}}, [-INF, 1]),
    ],
)
@pytest.mark.parametrize("by_sides", [False, True])
def test_bounds_of_other_containers(tree: Any, bounds: Any, lower: Any, by_sides: bool) -> None:
    given = {"bounds": bounds}
    put_bounds(given, Parameters(tree, "minimize"), by_sides=by_sides)
    assert_array_equal(given["bounds"].lb, lower)


def total(x: Any) -> Any:
    return cnp.sum(x**2)


def test_one_pair_of_bounds_is_for_all_numbers() -> None:
    """As SciPy takes it."""
    assert_allclose(minimize(total, np.full(4, 2.0), bounds=[(1, 5)]).x, 1.0)


def test_bounds_that_can_be_gone_through_once() -> None:
    pairs = ([0.5, 0.5], [2.0, 2.0])
    found = minimize(lambda x: cnp.sum(x**2), [1.0, 1.0], bounds=zip(*pairs, strict=True))
    assert_allclose(found.x, 0.5)
    assert np.isnan(found.standard_errors()).all()
    found = optimize.shgo(lambda x: cnp.sum((x - 1.0) ** 2), zip(*pairs, strict=True))
    assert_allclose(found.x, 1.0)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead"])
def test_minima_within_bounds_by_names(method: str) -> None:
    options = {}
    if method == "TNC":  # SciPy 1.17 reads memory that nobody has set if there is no offset
        options = {"scale": {"a": 1.0, "b": 2.0}, "offset": START}
    found = minimize(
        lambda p: cnp.sum(distances(p) ** 2),
        START,
        method=method,
        bounds={"a": (0, 1)},
        options=options,
    )
    assert_allclose(found.x["a"], 1.0, atol=1e-6)
    assert_allclose(found.x["b"], -1.0, atol=1e-4)


def test_least_squares_within_bounds_by_names() -> None:
    flat = least_squares(
        lambda x: distances({"a": x[0], "b": x[1:]}),
        [0.5, 0.2, 0.3],
        bounds=AB,
        x_scale=[1.0, 2.0, 3.0],
    )
    for bounds in ({"a": (0, 1)}, ({"a": 0}, {"a": 1}), AB):
        fit = least_squares(distances, START, bounds=bounds, x_scale={"b": np.array([2.0, 3.0])})
        assert_allclose([fit.x["a"], *fit.x["b"]], flat.x)
        assert fit.nfev == flat.nfev
    assert_allclose(flat.x, [1.0, -1.0, -1.0])


T = np.linspace(0.0, 4.0, 30)
Y = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.01 * np.sin(40.0 * T)


def decay(t: Any, a: Any, k: Any, c: Any) -> Any:
    return a * cnp.exp(-k * t) + c


def test_curves_with_parameters_by_names() -> None:
    plain, pcov = curve_fit(decay, T, Y)
    named, covariance = curve_fit(decay, T, Y, p0={"k": 1.0, "a": 1.0, "c": 0.0})
    assert list(named) == ["k", "a", "c"]
    assert_allclose([named["a"], named["k"], named["c"]], plain)
    assert_allclose(covariance, pcov[np.ix_([1, 0, 2], [1, 0, 2])], rtol=1e-6)
    bounded, _ = scipy_optimize.curve_fit(decay, T, Y, bounds=([-INF] * 3, [2.0, INF, INF]))
    for p0 in (None, [1.0, 1.0, 1.0]):
        popt, _ = curve_fit(decay, T, Y, p0, bounds={"a": (None, 2)}, x_scale={"k": 2.0})
        assert_allclose(popt, bounded, rtol=1e-5)
    scaled, _ = curve_fit(decay, T, Y, p0=named, diag={"a": 3.0})
    assert_allclose(scaled["k"], named["k"])


@pytest.mark.parametrize(
    ("f", "p0"),
    [
        (lambda t, p: decay(t, p["u"], *p["v"]), {"u": 1.0, "v": np.ones(2)}),
        (lambda t, u, v: decay(t, u, *v), {"u": 1.0, "v": np.ones(2)}),
        (lambda t, u, v: decay(t, u, *v), [1.0, np.ones(2)]),
        (lambda t, p: decay(t, p.w, *p.rest), Layer(1.0, [1.0, 0.5])),
    ],
)
def test_curves_with_parameters_in_containers(f: Any, p0: Any) -> None:
    plain, pcov = curve_fit(decay, T, Y)
    popt, covariance = curve_fit(f, T, Y, p0)
    assert_allclose(cadiff.flatten(popt)[0], plain)
    assert_allclose(covariance, pcov, rtol=1e-6)
    with pytest.raises(TypeError, match="leave it out"):
        curve_fit(f, T, Y, p0, jac=lambda t, *p: None)


def bowl(p: Any) -> Any:
    return (p["a"] - 3.0) ** 2 + cnp.sum((p["b"] + 0.5) ** 2)


@pytest.mark.parametrize("name", ["dual_annealing", "differential_evolution", "shgo"])
def test_searches_between_bounds_in_containers(name: str) -> None:
    bounds = {"a": (-4.0, 5.0), "b": (np.full(2, -2.0), np.ones(2))}
    seen: list[Any] = []
    options: dict[str, Any] = {"callback": lambda p, *_, **__: seen.append(p)}
    if name != "shgo":
        options |= {"rng": 0, "x0": {"a": 0.0, "b": np.zeros(2)}}
    if name == "dual_annealing":
        options["maxiter"] = 20
    found = getattr(optimize, name)(bowl, bounds, **options)
    assert_allclose(found.x["a"], 3.0, atol=1e-4)
    assert_allclose(found.x["b"], -0.5, atol=1e-4)
    assert set(seen[-1]) == {"a", "b"}


def test_searches_with_constraints_and_integers_in_containers() -> None:
    bounds = {"a": (-4.0, 5.0), "b": [(-2.0, 1.0)] * 2}
    sums = optimize.NonlinearConstraint(lambda p: p["a"] + p["b"][0], -5.0, 0.0)
    found = optimize.differential_evolution(
        lambda p: (p["a"] - 3.0) ** 2 + (p["b"][0] + 0.5) ** 2 + (p["b"][1] + 0.5) ** 2,
        bounds,
        constraints=sums,
        rng=0,
    )
    assert_allclose([found.x["a"], *found.x["b"]], [1.75, -1.75, -0.5], atol=1e-3)
    whole = optimize.differential_evolution(
        lambda p: (p["a"] - 2.4) ** 2 + p["c"] ** 2,
        {"a": (0, 4), "c": (-1, 1)},
        integrality={"a": True},
        rng=0,
    )
    assert whole.x["a"] == 2.0
    local = {"method": "L-BFGS-B", "bounds": {"a": (0, 1)}}
    start = {"a": 0.5, "b": np.zeros(2)}
    found = optimize.basinhopping(bowl, start, niter=2, minimizer_kwargs=local, rng=0)
    assert_allclose(found.x["a"], 1.0)
