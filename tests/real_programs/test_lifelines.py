"""Fitters of lifelines, whose likelihoods autograd differentiates, by cadiff instead.

Each is fitted to a data set of the package's own, with its import lines as they are and led to
cadiff: what is found, and how far it may be off, is the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import cadiff

from ..helpers.moved import move_package
from .comparing import agree, differences
from .moves import AUTOGRAD, SCIPY

lifelines = pytest.importorskip("lifelines", reason="nox -s real_programs has it")
move_package("lifelines", AUTOGRAD | SCIPY)
moved = importlib.import_module("moved.lifelines")

pytestmark = pytest.mark.filterwarnings("ignore")

datasets = importlib.import_module("lifelines.datasets")
Fit = Callable[[Any], Any]


def of_times(name: str, *args: Any, left: bool = False, **kwargs: Any) -> Fit:
    """A distribution of times, some of which are known to be later, or earlier."""
    data = datasets.load_nh4() if left else datasets.load_waltons()

    def fit(package: Any) -> Any:
        fitter = getattr(package, name)(*args, **kwargs)
        if left:
            return fitter.fit_left_censoring(data["NH4.mg.per.L"], ~data["Censored"])
        return fitter.fit(data["T"], data["E"])

    return fit


def of_intervals(name: str) -> Fit:
    data = datasets.load_diabetes()
    return lambda package: getattr(package, name)().fit_interval_censoring(
        data["left"], data["right"]
    )


def mixture(package: Any) -> Any:
    data = datasets.load_lung()
    fitter = package.MixtureCureFitter(base_fitter=package.WeibullFitter())
    return fitter.fit(data["time"], data["status"])


def regression(name: str, *args: Any, given: Any = None, **kwargs: Any) -> Fit:
    data = datasets.load_rossi()[["week", "arrest", "fin", "age", "prio"]]
    return lambda package: getattr(package, name)(*args, **kwargs).fit(
        data, "week", "arrest", **(given or {})
    )


def cox_in_time(package: Any) -> Any:
    data = datasets.load_stanford_heart_transplants()
    data = data[data["start"] < data["stop"]]
    columns = {"id_col": "id", "event_col": "event", "start_col": "start", "stop_col": "stop"}
    return package.CoxTimeVaryingFitter(penalizer=0.1).fit(data, **columns)


AFT = ["WeibullAFTFitter", "LogNormalAFTFitter", "LogLogisticAFTFitter"]
TIMES = ["Weibull", "Exponential", "LogNormal", "LogLogistic", "GeneralizedGamma"]

REGRESSORS = {"beta_": "fin + age + prio - 1"} | {f"gamma{k}_": "1" for k in range(3)}

FITS: dict[str, Fit] = {
    **{name: of_times(f"{name}Fitter") for name in TIMES},
    **{f"{name}, left": of_times(f"{name}Fitter", left=True) for name in TIMES},
    **{f"{name}, intervals": of_intervals(f"{name}Fitter") for name in TIMES},
    "piecewise": of_times("PiecewiseExponentialFitter", breakpoints=[20.0, 40.0, 55.0]),
    "spline": of_times("SplineFitter", [6.0, 40.0, 60.0]),
    "mixture": mixture,
    **{name: regression(name) for name in AFT},
    **{f"{name}, penalized": regression(name, penalizer=0.1) for name in AFT},
    **{f"{name}, two": regression(name, given={"ancillary": True}) for name in AFT},
    "generalized gamma": regression("GeneralizedGammaRegressionFitter", penalizer=0.5),
    "CRC spline": regression(
        "CRCSplineFitter",
        3,
        penalizer=0.1,
        given={"regressors": REGRESSORS},
    ),
    "Cox": regression("CoxPHFitter"),
    "Cox, penalized": regression("CoxPHFitter", penalizer=0.1, l1_ratio=0.5),
    "Cox, spline": regression(
        "CoxPHFitter", baseline_estimation_method="spline", n_baseline_knots=3
    ),
    "Cox, piecewise": regression(
        "CoxPHFitter", baseline_estimation_method="piecewise", breakpoints=[20.0, 40.0]
    ),
    "Cox, in time": cox_in_time,
}


RESULTS = ("params_", "log_likelihood_", "variance_matrix_", "summary", "hazard_", "density_")
INTERVALS = ("confidence_interval_", "confidence_intervals_")
INTERVALS = (*INTERVALS, "confidence_interval_survival_function_", "confidence_interval_hazards_")

# Derivatives of incomplete gamma functions by their parameter are differences in autograd_gamma.
BY_DIFFERENCES = ("GeneralizedGamma", "generalized gamma")


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def hessian(f: Any) -> Any:
        return lambda *args: asked.append((f, args)) or cadiff.hessian(f)(*args)

    monkeypatch.setattr(moved.fitters, "hessian", hessian)
    theirs, ours = FITS[name](lifelines), FITS[name](moved)
    by_differences = name.startswith(BY_DIFFERENCES)
    for result in (*RESULTS[:2], *(() if by_differences else (*RESULTS[2:], *INTERVALS))):
        if hasattr(theirs, result):
            agree(getattr(ours, result), getattr(theirs, result), 1e-4 if by_differences else 1e-9)
    if by_differences:
        f, (x, *args) = asked[-1]
        agree(
            cadiff.hessian(f)(x, *args), differences(lambda x: cadiff.grad(f)(x, *args), x), 1e-6
        )


def test_what_numpy_refuses_is_refused() -> None:
    """autograd stacks any iterable; NumPy, by whose rules programs go on, does not."""
    fit = regression("PiecewiseExponentialRegressionFitter", breakpoints=[20.0, 40.0], penalizer=1)
    with pytest.raises(TypeError, match='passed as a "sequence" type such as list or tuple'):
        fit(moved)
