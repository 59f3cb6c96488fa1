"""Likelihoods of statsmodels, which it wrote for NumPy, with NumPy and SciPy led to cadiff.

Their values are statsmodels' own to the last bit but for sums; gradients and second derivatives
are compared with `score` and `hessian`, which it derived by hand, and with differences of high
order, since some of these are approximate, or of a likelihood with the scale at its optimum.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff

from ..helpers.moved import move_package
from .comparing import agree, differences
from .moves import NUMPY, SCIPY

pytest.importorskip("statsmodels", reason="nox -s real_programs has it")
pytestmark = pytest.mark.filterwarnings("ignore")
move_package("statsmodels", NUMPY | SCIPY)

ROWS = 60
RNG = np.random.default_rng(0)
B = np.array([0.3, 0.5, -0.4])
X = np.column_stack([np.ones(ROWS), RNG.normal(size=(ROWS, 2))])
EFFECTS = X @ B
GROUPS = np.repeat(np.arange(ROWS // 4), 4)
BINARY = (RNG.random(ROWS) < 1.0 / (1.0 + np.exp(-EFFECTS))).astype(float)
COUNTS = RNG.poisson(np.exp(EFFECTS)).astype(float)
SPARSE = COUNTS * (RNG.random(ROWS) < 0.7)
KINDS = RNG.integers(0, 3, ROWS)
REAL = EFFECTS + RNG.normal(size=ROWS)
PARTS = np.clip(RNG.beta(3.0, 2.0, ROWS), 0.01, 0.99)
SEEN = (RNG.random(ROWS) < 0.7).astype(float)
SCORES = RNG.normal(size=(ROWS, 4)) @ RNG.normal(size=(4, 4))
SOME = COUNTS > 0

BOTH = "score hessian"
Model = tuple[Callable[[Callable[[str], Any]], Any], Any, str]


def model(
    place: str,
    *args: Any,
    at: Any = B,
    own: str = BOTH,
    given: Any = None,
    **kwargs: Any,
) -> Model:
    """How to make a model of `place`, where to evaluate it, and which derivatives it has."""
    module, _, name = place.rpartition(".")

    def make(load: Callable[[str], Any]) -> Any:
        return getattr(load(module), name)(*args, **kwargs, **(given(load) if given else {}))

    return make, np.asarray(at, float), own


def generalized(family: str, y: Any, link: str = "", own: str = BOTH) -> Model:
    def given(load: Callable[[str], Any]) -> Any:
        families = load("genmod.families")
        options = {"link": getattr(families.links, link)()} if link else {}
        return {"family": getattr(families, family)(**options)}

    return model("genmod.generalized_linear_model.GLM", y, X, given=given, own=own)


DISCRETE, COUNT = "discrete.discrete_model.", "discrete.count_model.ZeroInflated"
TRUNCATED, GROUPED = "discrete.truncated_model.", "discrete.conditional_models.Conditional"
ORDERED = "miscmodels.ordinal_model.OrderedModel"
MODELS: dict[str, Model] = {
    "Logit": model(DISCRETE + "Logit", BINARY, X),
    "Probit": model(DISCRETE + "Probit", BINARY, X),
    "Poisson": model(DISCRETE + "Poisson", COUNTS, X),
    "negative binomial, 2": model(
        DISCRETE + "NegativeBinomial", COUNTS, X, at=[*B, 0.4], own="score"
    ),
    "negative binomial, 1": model(
        DISCRETE + "NegativeBinomial", COUNTS, X, loglike_method="nb1", at=[*B, 0.4], own="score"
    ),
    "geometric": model(DISCRETE + "NegativeBinomial", COUNTS, X, loglike_method="geometric"),
    "negative binomial, P": model(
        DISCRETE + "NegativeBinomialP", COUNTS, X, p=1.5, at=[*B, 0.4], own="score"
    ),
    "generalized Poisson": model(DISCRETE + "GeneralizedPoisson", COUNTS, X, at=[*B, 0.2]),
    "multinomial": model(DISCRETE + "MNLogit", KINDS, X, at=np.linspace(-0.3, 0.4, 6)),
    "inflated Poisson": model(COUNT + "Poisson", SPARSE, X, at=[-0.5, *B], own="score"),
    "inflated negative binomial": model(
        COUNT + "NegativeBinomialP", SPARSE, X, at=[-0.5, *B, 0.5]
    ),
    "inflated generalized": model(COUNT + "GeneralizedPoisson", SPARSE, X, at=[-0.5, *B, 0.2]),
    "truncated": model(TRUNCATED + "TruncatedLFPoisson", COUNTS[SOME], X[SOME]),
    "truncated binomial": model(
        TRUNCATED + "TruncatedLFNegativeBinomialP", COUNTS[SOME], X[SOME], at=[*B, 0.5]
    ),
    "hurdle": model(TRUNCATED + "HurdleCountModel", COUNTS, X, at=[*B, 0.2, 0.3, -0.1]),
    "conditional logit": model(GROUPED + "Logit", BINARY, X[:, 1:], groups=GROUPS, at=B[1:]),
    "conditional Poisson": model(GROUPED + "Poisson", COUNTS, X[:, 1:], groups=GROUPS, at=B[1:]),
    "GLM, normal": generalized("Gaussian", REAL, own=""),
    "GLM, binomial": generalized("Binomial", BINARY),
    "GLM, Poisson": generalized("Poisson", COUNTS),
    "GLM, gamma": generalized("Gamma", np.exp(REAL), "Log", own=""),
    "GLM, inverse": generalized("InverseGaussian", np.exp(REAL), "Log", own=""),
    "GLM, negative binomial": generalized("NegativeBinomial", COUNTS),
    "ordered probit": model(ORDERED, KINDS, X[:, 1:], at=[0.5, -0.4, -0.3, 0.2]),
    "ordered logit": model(ORDERED, KINDS, X[:, 1:], distr="logit", at=[0.5, -0.4, -0.3, 0.2]),
    "t errors": model("miscmodels.tmodel.TLinearModel", REAL, X, at=[*B, 5.0, 1.0]),
    "beta": model("othermod.betareg.BetaModel", PARTS, X, at=[*B, 1.5]),
    "least squares": model("regression.linear_model.OLS", REAL, X, own="score"),
    "weighted": model(
        "regression.linear_model.WLS", REAL, X, weights=np.linspace(1.0, 2.0, ROWS), own=""
    ),
    "proportional hazards": model(
        "duration.hazard_regression.PHReg", np.exp(REAL), X[:, 1:], status=SEEN, at=B[1:]
    ),
}


def theirs_of(module: str) -> Any:
    return importlib.import_module(f"statsmodels.{module}")


def ours_of(module: str) -> Any:
    return importlib.import_module(f"moved.statsmodels.{module}")


def check(original: Callable[[Any], Any], f: Callable[[Any], Any], x: Any) -> Any:
    """The gradient and second derivatives of f, compared with differences, and compiled."""
    program = cadiff.compile(f)
    for at in (x, 1.1 * x, x):
        value, gradient = cadiff.value_and_grad(f)(at)
        agree(value, original(at), 1e-14)
        agree(gradient, differences(original, at), 1e-9)
        for ours, theirs in zip(program.value_and_grad(at), (value, gradient), strict=True):
            agree(ours, theirs, 1e-13)
    hessian = cadiff.hessian(f)(x)
    agree(hessian, differences(cadiff.grad(f), x), 1e-8)
    agree(program.hessian(x), hessian, 1e-12)
    return gradient, hessian


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_of_a_likelihood(name: str) -> None:
    make, x, own = MODELS[name]
    original, moved = make(theirs_of), make(ours_of)
    found = check(original.loglike, moved.loglike, x)
    for method, ours in zip(("score", "hessian"), found, strict=True):
        if method in own:
            agree(ours, np.reshape(getattr(original, method)(x), ours.shape), 1e-6)


def test_a_factor_analysis() -> None:
    """Its likelihood takes an array of NumPy's own type, or loadings and variances beside it."""
    make, _, _ = model("multivariate.factor.Factor", SCORES, n_factor=1, method="ml")
    original, moved = make(theirs_of), make(ours_of)
    x = np.append(np.full(4, 0.8), np.linspace(0.3, 0.6, 4))

    def likelihood(x: Any) -> Any:
        return moved.loglike(moved._unpack(x)[::-1])

    gradient, _ = check(original.loglike, likelihood, x)
    agree(gradient, original.score(x), 1e-9)


def test_what_cannot_be_moved_says_so() -> None:
    """It writes numbers to an array that NumPy's arithmetic made of data, or gives them to C."""
    make, _, _ = model("regression.mixed_linear_model.MixedLM", REAL, X, groups=GROUPS)
    mixed = make(ours_of)
    mixed.cov_pen = mixed.fe_pen = None  # which a fit would have set
    with pytest.raises(TypeError, match=r"make the array with cadiff\.zeros"):
        cadiff.grad(mixed.loglike)(np.array([0.8]))
    make, _, _ = model("tsa.statespace.sarimax.SARIMAX", REAL, order=(1, 0, 1))
    with pytest.raises(TypeError, match="computes with plain numbers: write it with functions of"):
        cadiff.grad(make(ours_of).loglike)(np.array([0.3, 0.2, 1.0]))
