"""Fitters of reliability, whose likelihoods autograd differentiates, by cadiff instead.

Its searches end early, some 1e-4 from where they would end, so what autograd and cadiff are asked
for on the way is compared more sharply than where they arrive: gradients and Hessians of all
likelihoods, at the same points.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import cadiff

from ..helpers.moved import move_package
from .comparing import agree, differences
from .moves import AUTOGRAD, SCIPY

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("reliability", reason="nox -s real_programs has it")
autograd, pd = map(pytest.importorskip, ("autograd", "pandas"))
pytestmark = pytest.mark.filterwarnings("ignore")

move_package("reliability", AUTOGRAD | SCIPY)
data = importlib.import_module("reliability.Datasets")
THEIRS, OURS = (
    {
        name: importlib.import_module(f"{top}.{name}")
        for name in ("Fitters", "ALT_fitters", "Utils")
    }
    for top in ("reliability", "moved.reliability")
)


def times(dataset: Any, scale: float = 1.0) -> dict[str, Any]:
    """When units failed, and until when others did not."""
    names = ("failures", "right_censored")
    return {name: scale * np.asarray(getattr(dataset, name)) for name in names}


def stressed(dataset: Any) -> dict[str, Any]:
    """Times, and the stress or both stresses under which each was measured."""
    given = {"failures": dataset.failures, "show_life_stress_plot": False}
    if hasattr(dataset, "failure_stresses"):
        return given | {"failure_stress": dataset.failure_stresses}
    first, second = sorted(n for n in vars(dataset) if n.startswith("failure_stress_"))
    return given | {
        "failure_stress_1": getattr(dataset, first),
        "failure_stress_2": getattr(dataset, second),
    }


car, defects = times(data.automotive()), times(data.defective_sample())
inflated = {**car, "failures": np.append(np.zeros(5), car["failures"])}
kinds = {"Weibull": "23", "Gamma": "23", "Lognormal": "23", "Loglogistic": "23"}
kinds |= {"Exponential": "12", "Normal": "2", "Gumbel": "2"}

rng = np.random.default_rng(0)
two = np.append(50.0 * rng.weibull(2.0, 60), 200.0 * rng.weibull(8.0, 40))
often = [(t, 1 + k % 3, "F") for k, t in enumerate(car["failures"])]
often += [(t, 1 + k % 2, "C") for k, t in enumerate(car["right_censored"])]
grouped = pd.DataFrame(often, columns=["time", "quantity", "category"])

FITS: dict[str, dict[str, Any]] = {
    **{f"Fit_{kind}_{n}P": car for kind, numbers in kinds.items() for n in numbers},
    "Fit_Beta_2P": times(data.automotive(), 1e-6),
    "Fit_Weibull_2P_grouped": {"dataframe": grouped},
    "Fit_Weibull_Mixture": {"failures": two},
    "Fit_Weibull_CR": car,
    "Fit_Weibull_DS": defects,
    "Fit_Weibull_ZI": inflated,
    "Fit_Weibull_DSZI": inflated,
}
STRESSES = {
    "Exponential": data.ALT_temperature4,
    "Eyring": data.ALT_temperature4,
    "Power": data.ALT_load,
    "Dual_Exponential": data.ALT_temperature_humidity,
    "Power_Exponential": data.ALT_temperature_voltage,
    "Dual_Power": data.ALT_temperature_voltage2,
}
STRESSED: dict[str, dict[str, Any]] = {
    f"Fit_{kind}_{stress}": stressed(dataset())
    for kind in ("Weibull", "Lognormal", "Normal", "Exponential")
    for stress, dataset in STRESSES.items()
}


def fitted(modules: dict[str, ModuleType], name: str) -> Any:
    given = FITS.get(name) or STRESSED[name]
    module = modules["Fitters" if name in FITS else "ALT_fitters"]
    return getattr(module, name)(**given, show_probability_plot=False, print_results=False)


# Derivatives of incomplete gamma and beta functions by shapes are differences in autograd_gamma.
BY_DIFFERENCES = ("Fit_Gamma", "Fit_Beta")


def noting(transform: Any, asked: dict[Any, Any]) -> Any:
    """A transform that notes of which functions it is asked for derivatives, and where first."""

    def transformed(f: Any) -> Any:
        return lambda *args: (asked.setdefault((f, transform), args), transform(f)(*args))[1]

    return transformed


@pytest.mark.parametrize("name", [*FITS, *STRESSED])
def test_a_fit_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[Any, Any] = {}
    for module in OURS.values():
        for transform in (cadiff.value_and_grad, cadiff.hessian):
            noted = noting(transform, asked)
            monkeypatch.setattr(module, transform.__name__, noted, raising=False)
    theirs, ours = (vars(fitted(modules, name)) for modules in (THEIRS, OURS))
    agree(ours["loglik"], theirs["loglik"], 1e-5)
    # Bounds are formulas of parameters and their errors.
    errors = {key.removesuffix("_SE"): theirs[key] for key in theirs if key.endswith("_SE")}
    assert errors
    for key, error in errors.items():
        assert abs(ours[key] - theirs[key]) <= 0.03 * error
        assert_allclose(ours[f"{key}_SE"], error, rtol=0.1)
    assert asked
    for (f, transform), (x, *args) in asked.items():
        check_derivatives(
            f, transform, np.asarray(x, float), args, name.startswith(BY_DIFFERENCES)
        )


@pytest.mark.parametrize("name", [f"Fit_{kind}_2P" for kind in kinds if kind != "Exponential"])
@pytest.mark.parametrize("way", [("time", {"CI_y": [0.2, 0.9]}), ("reliability", {"CI_x": [1e5]})])
def test_intervals_of_a_distribution(name: str, way: tuple[str, dict[str, Any]]) -> None:
    """They are made of Jacobians of quantiles and of survival."""
    ours, theirs = (
        fitted(modules, name).distribution.CDF(show_plot=False, CI_type=way[0], **way[1])
        for modules in (OURS, THEIRS)
    )
    assert_allclose(ours, theirs, rtol=1e-4 if name.startswith(BY_DIFFERENCES) else 1e-6)


def check_derivatives(f: Any, transform: Any, x: Any, args: Any, by_differences: bool) -> None:
    """They are autograd's; where these are differences, they are those of higher order, too."""
    place = THEIRS[f.__module__.rpartition(".")[2]]
    original = functools.reduce(getattr, f.__qualname__.split("."), place)
    ours = transform(f)(x, *args)
    theirs = getattr(autograd, transform.__name__)(original)(x, *args)
    for our, their in zip(ours, theirs, strict=True):
        agree(our * x, their * x, 1e-5 if by_differences else 1e-9)
    if by_differences and transform is cadiff.hessian and x.size == 2:  # else x is at a bound
        slopes = differences(lambda x: cadiff.grad(f)(x, *args), x)
        agree(ours * np.outer(x, x), slopes * np.outer(x, x), 1e-7)
