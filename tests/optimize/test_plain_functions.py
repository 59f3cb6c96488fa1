"""Functions that work with plain numbers alone, as users of SciPy write them.

They keep, hash, convert, test and write elsewhere what they are given. Optimisers that take no
derivatives give them plain numbers; others take finite differences, and say so once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize as scipy_optimize

from cadiff import numpy as cnp
from cadiff import optimize

TARGET = np.array([1.0, 2.0])


def cached_by_tuple() -> Callable[[Any], Any]:
    known: dict[Any, Any] = {}

    def f(x: Any) -> Any:
        if tuple(x) not in known:
            known[tuple(x)] = x - TARGET
        return known[tuple(x)]

    return f


def cached_by_bytes() -> Callable[[Any], Any]:
    known: dict[bytes, Any] = {}

    def f(x: Any) -> Any:
        return known.setdefault(x.tobytes(), x - TARGET)

    return f


def cached_latest() -> Callable[[Any], Any]:
    latest: list[Any] = [None, None]

    def f(x: Any) -> Any:
        if latest[0] is None or not np.array_equal(latest[0], x):
            latest[:] = np.copy(x), x - TARGET
        return np.copy(latest[1])

    return f


def cached_nearest() -> Callable[[Any], Any]:
    latest: dict[str, Any] = {}

    def f(x: Any) -> Any:
        if "x" not in latest or not np.allclose(x, latest["x"], rtol=0.0, atol=0.0):
            latest["x"], latest["f"] = np.array(x), x - TARGET
        return latest["f"]

    return f


def powers(x: Any) -> Any:
    return np.array([math.pow(v, 1.0) - t for v, t in zip(x, TARGET, strict=True)])


def assigning(x: Any) -> Any:
    result = np.zeros(2)
    result[0], result[1] = x[0] - 1.0, x[1] - 2.0
    return result


def asserting(x: Any) -> Any:
    assert type(x) is np.ndarray
    assert np.isscalar(x[0])
    return x - TARGET


def comparing(x: Any) -> Any:
    np.testing.assert_allclose(x, np.asarray(x))
    return x - TARGET


KINDS = {
    "tuple": cached_by_tuple,
    "bytes": cached_by_bytes,
    "latest": cached_latest,
    "nearest": cached_nearest,
    "math": lambda: powers,
    "zeros": lambda: assigning,
    "tests": lambda: asserting,
    "compares": lambda: comparing,
}

OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    **{
        method: lambda f, method=method: optimize.minimize(
            lambda x: np.sum(f(x) ** 2), [3.0, 4.0], method=method
        )
        for method in ("BFGS", "SLSQP", "trust-constr", "Nelder-Mead")
    },
    "bounded": lambda f: optimize.minimize(
        lambda x: np.sum(f(x) ** 2), [3.0, 4.0], bounds=[(0.0, 3.0), (0.0, None)]
    ),
    "constrained": lambda f: optimize.minimize(
        lambda x: np.sum((x - 3.0) ** 2), [3.0, 4.0], constraints={"type": "eq", "fun": f}
    ),
    "least_squares": lambda f: optimize.least_squares(f, [3.0, 4.0]),
    "root": lambda f: optimize.root(f, [3.0, 4.0]),
    "basinhopping": lambda f: optimize.basinhopping(
        lambda x: np.sum(f(x) ** 2), [3.0, 4.0], niter=2, rng=0
    ),
}

# They ask for the value and the gradient in one call: what f keeps of the last one is not plain.
AT_ONCE = {"BFGS", "SLSQP", "bounded", "basinhopping"}


def compared_with_the_last() -> Callable[[Any], Any]:
    last: list[Any] = []

    def f(x: Any) -> Any:
        if last:
            assert np.sum((x - last[-1]) ** 2) >= 0.0
        last.append(x)
        return x - TARGET

    return f


def mean_so_far() -> Callable[[Any], Any]:
    state = {"n": 0, "mean": 0.0}

    def f(x: Any) -> Any:
        state["n"] += 1
        state["mean"] += (np.sum(x) - state["mean"]) / state["n"]
        return x - TARGET

    return f


def all_so_far() -> Callable[[Any], Any]:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x)
        assert np.vstack(seen).shape == (len(seen), 2)
        return x - TARGET

    return f


# They compute with what they have kept, and have derivatives none the less.
STATES = {"last": compared_with_the_last, "mean": mean_so_far, "all": all_so_far}


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_plain_numbers(kind: str, optimiser: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = OPTIMISERS[optimiser](KINDS[kind]())
    assert_allclose(found.x, TARGET, atol=1e-3)
    told = [one for one in told if "takes" in str(one.message)]
    has_derivatives = kind in ("latest", "nearest") and optimiser in AT_ONCE
    assert len(told) == (optimiser != "Nelder-Mead" and not has_derivatives)
    assert all("finite differences" in str(one.message) for one in told)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("state", STATES)
def test_functions_that_compute_with_what_they_keep(state: str, optimiser: str) -> None:
    found = OPTIMISERS[optimiser](STATES[state]())  # warnings are errors
    assert_allclose(found.x, TARGET, atol=1e-3)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"bytes"}))  # those of NumPy's objects
def test_curves_of_plain_numbers(kind: str) -> None:
    f = KINDS[kind]()
    with pytest.warns(RuntimeWarning, match="curve_fit .* finite differences") as told:
        found = optimize.curve_fit(
            lambda t, a, b: np.tile(f(np.array([a, b])), 3), np.arange(6.0), np.zeros(6), [3, 4]
        )
    assert_allclose(found[0], TARGET, atol=1e-6)
    assert len([one for one in told if one.category is RuntimeWarning]) == 1


def test_a_value_that_was_kept_has_no_derivative_later_either() -> None:
    latest: list[Any] = []
    calls: list[None] = []

    def f(x: Any) -> Any:
        calls.append(None)
        if len(calls) < 4 or not np.array_equal(latest[0], x):
            latest[:] = np.copy(x), x**2 - TARGET
        return latest[1]

    with pytest.warns(RuntimeWarning, match="is where all derivatives are 0, but f is not level"):
        found = optimize.least_squares(f, [3.0, 4.0])
    assert_allclose(found.x, np.sqrt(TARGET), rtol=1e-6)


def test_an_error_that_plain_numbers_have_too_passes_through() -> None:
    def f(x: Any) -> Any:
        if x[0] != 3.0:
            raise KeyError("beyond what f knows")
        return float(x[0])

    for optimiser in (optimize.minimize, optimize.least_squares):
        with pytest.raises(KeyError, match="beyond"), pytest.warns(RuntimeWarning):
            optimiser(f, [3.0])


@pytest.mark.parametrize("method", ["SLSQP", "L-BFGS-B", "TNC"])
def test_infinite_derivatives_are_named(method: str) -> None:
    def f(x: Any) -> Any:
        return (x[0] - 1.0) ** 2 + cnp.sqrt(x[1])

    bounds = [(0.0, 2.0), (0.0, 2.0)]
    with pytest.warns(RuntimeWarning, match=r"that by number 1 .* is inf where this is 0") as told:
        found = optimize.minimize(f, [0.0, 0.0], method=method, bounds=bounds)
    assert found.fun < 1e-2
    assert len([one for one in told if "not finite" in str(one.message)]) == 1


def test_methods_without_second_derivatives_are_named() -> None:
    with pytest.raises(TypeError, match="choose BFGS"), pytest.warns(RuntimeWarning):
        optimize.minimize(lambda x: float(x[0]) ** 2, [1.0], method="trust-exact")


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"])
def test_methods_without_derivatives_keep_the_precision(method: str) -> None:
    types = set()

    def f(x: Any) -> Any:
        types.add((type(x), x.dtype.name))
        return float(x[0] ** 2)

    optimize.minimize(f, np.ones(1, np.float32), method=method, options={"maxiter": 5})
    seen = set(types)
    types.clear()
    scipy_optimize.minimize(f, np.ones(1, np.float32), method=method, options={"maxiter": 5})
    assert seen == types


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Nelder-Mead"])
def test_evaluations_are_the_runs_of_a_function_that_counts_them(method: str) -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return math.fsum((x - TARGET) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert optimize.minimize(f, [3.0, 4.0], method=method).nfev >= len(calls) - 3


# --- functions that know numbers with derivatives from plain ones --------------------------------


def by_handler(x: Any) -> Any:
    try:
        r = math.cosh(x[0] - 1.0)
    except TypeError:
        r = (x[0] + 5.0) ** 2
    return r + x[1] ** 2


TELL_APART: dict[str, Callable[[Any], Any]] = {
    "a handler": by_handler,
    "a truth of NumPy's": lambda x: (x[0] - (-3.0 if ~(x[0] > -9.0) else 1.0)) ** 2 + x[1] ** 2,
    "a type": lambda x: (x[0] - (1.0 if isinstance(x[0], float) else -3.0)) ** 2 + x[1] ** 2,
    "a class": lambda x: (x[0] - (1.0 if type(x) is np.ndarray else -3.0)) ** 2 + x[1] ** 2,
    "an attribute": lambda x: (x[0] - (1.0 if hasattr(x[0], "hex") else -3.0)) ** 2 + x[1] ** 2,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP"])
@pytest.mark.parametrize("name", TELL_APART)
def test_the_minimum_is_that_of_plain_numbers(name: str, method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = optimize.minimize(TELL_APART[name], [3.0, 1.0], method=method)
    assert_allclose(found.x, [1.0, 0.0], atol=2e-3)


def test_a_curve_is_that_of_plain_numbers() -> None:
    def model(t: Any, a: Any, b: Any) -> Any:
        y = np.zeros(len(t))
        try:
            for i in range(len(t)):
                y[i] = math.exp(-a * t[i]) + b
        except TypeError:
            y = 5.0 * (a * t) + b
        return y

    t = np.linspace(0.0, 1.0, 9)
    data = np.exp(-0.7 * t) + 0.2 + 0.01 * np.sin(40.0 * t)
    with pytest.warns(RuntimeWarning, match="numbers with derivatives stand for its arguments"):
        found, _ = optimize.curve_fit(model, t, data, [0.5, 0.5])
    assert_allclose(found, scipy_optimize.curve_fit(model, t, data, [0.5, 0.5])[0], rtol=1e-5)


# --- what else SciPy's users rely on -----------------------------------------------------------


def test_a_method_of_the_users_gets_constraints_as_they_are() -> None:
    for given in ((), "anything", [optimize.LinearConstraint([[1.0]])]):

        def method(fun: Any, x0: Any, constraints: Any, given: Any = given, **others: Any) -> Any:
            assert constraints is given
            return scipy_optimize.OptimizeResult(x=x0)

        optimize.minimize(lambda x: x[0], [1.0], method=method, constraints=given)


def test_a_polish_that_ends_beyond_a_bound_by_rounding_is_kept() -> None:
    def f(x: Any) -> Any:
        return (x[0] - 0.3) ** 2 + 1e-3 * x[1]

    bounds = [(0.0, 1.0), (0.0, 1.0)]
    below = optimize.NonlinearConstraint(lambda x: x[0] + x[1], -1.0, 5.0)
    found = optimize.differential_evolution(f, bounds, constraints=below, rng=1, maxiter=30)
    assert np.all(found.x >= 0.0) and np.all(found.x <= 1.0)
    assert_allclose(found.x, [0.3, 0.0], atol=1e-4)


@pytest.mark.parametrize("sigma", [0.1, np.linspace(0.1, 0.2, 20), np.diag(np.full(20, 0.1))])
def test_data_without_numbers_are_left_out_of_curves(sigma: Any) -> None:
    x = np.linspace(0.0, 1.0, 20)
    y = np.exp(-2.0 * x) + 0.1 * np.cos(40.0 * x)
    x[3], y[7], x[11] = np.nan, np.nan, np.nan
    whole = ~np.isnan(x + y)
    rest = sigma if np.ndim(sigma) == 0 else sigma[whole]
    rest = rest if np.ndim(rest) < 2 else rest[:, whole]

    def model(x: Any, a: Any, k: Any) -> Any:
        return a * np.exp(-k * x)

    found = optimize.curve_fit(model, x, y, [1.0, 1.0], sigma, nan_policy="omit")
    known = optimize.curve_fit(model, x[whole], y[whole], [1.0, 1.0], rest)
    assert_array_equal(found[0], known[0])
    assert_array_equal(found[1], known[1])
    assert_allclose(
        known[0],
        scipy_optimize.curve_fit(model, x[whole], y[whole], [1.0, 1.0], rest)[0],
        rtol=1e-5,
    )


def test_roots_that_start_at_an_array_of_two_axes() -> None:
    for method in ("hybr", "lm"):
        found = optimize.root(lambda x: x**2 - [1.0, 4.0], np.full((1, 2), 3.0), method=method)
        assert_allclose(found.x, [1.0, 2.0])
    found = optimize.root(lambda x: x - np.eye(2), np.zeros((2, 2)), method="df-sane")
    assert_allclose(found.x, np.eye(2), atol=1e-6)
