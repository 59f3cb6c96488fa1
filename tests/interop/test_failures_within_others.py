"""Packages that take a program and its derivatives: what an exception in it, and a nan, come to.

What they do when all goes well is on the page `docs/guide/with_others.md`, whose code is tested.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp


class TooLarge(Exception):  # noqa: N818
    """None of those that packages catch."""


def below(p: Any, limit: float = 1e3) -> Any:
    if p[0] > limit:
        raise TooLarge(str(cadiff.value(p[0])))
    return p


def density(p: Any) -> Any:
    return -0.5 * cnp.sum(below(p) ** 2)


program = cadiff.compile(density)
residuals = cadiff.compile(lambda p: below(p) - 1.0)
WELL, BADLY, NAN = np.ones(2), np.full(2, 4e3), np.full(2, np.nan)


def lmfit(p: Any) -> Any:
    package = import_module("lmfit")

    def vector(parameters: Any) -> Any:
        return np.array(list(parameters.valuesdict().values()))

    return package.minimize(
        lambda q: residuals(vector(q)),
        package.create_params(a=p[0], b=p[1]),
        Dfun=lambda q: residuals.jacobian(vector(q)),
    )


def iminuit(p: Any) -> Any:
    package = import_module("iminuit")
    cost = cadiff.compile(lambda p: -density(p))
    minuit = package.Minuit(cost, p, grad=cost.grad, hessian=cost.hessian)
    minuit.errordef = 0.5
    return minuit.migrad()


def emcee(p: Any) -> Any:
    sampler = import_module("emcee").EnsembleSampler(8, 2, program.batch, vectorize=True)
    walkers = p + 0.1 * np.random.default_rng(0).normal(size=(8, 2))
    return sampler.run_mcmc(walkers, 5)


def mici(p: Any) -> Any:
    package = import_module("mici")
    system = package.systems.EuclideanMetricSystem(
        neg_log_dens=lambda p: -program(p), grad_neg_log_dens=lambda p: -program.grad(p)
    )
    integrator = package.integrators.LeapfrogIntegrator(system, step_size=0.1)
    rng = np.random.default_rng(0)
    hmc = package.samplers.StaticMetropolisHMC(system, integrator, rng, n_step=3)
    return hmc.sample_chains(2, 2, [p], adapters=[], display_progress=False)


def statsmodels(p: Any) -> Any:
    base = import_module("statsmodels.base.model")
    exog = np.stack([np.ones(5), np.arange(5.0)], axis=1)
    given = {"loglike": program, "score": program.grad, "hessian": program.hessian}
    model = base.GenericLikelihoodModel(np.arange(5.0), exog, **given)
    return model.fit(start_params=p, method="newton", disp=0, skip_hessian=True)


def nutpie(p: Any) -> Any:
    package = import_module("nutpie")
    model = package.compiled_pyfunc.from_pyfunc(
        *(2, lambda: program.value_and_grad, lambda *_: lambda p: {"p": p}),
        *([np.dtype("float64")], [(2,)], ["p"]),
        make_initial_point_fn=lambda seed: p,
    )
    return package.sample(model, draws=5, tune=5, chains=1, seed=1, progress_bar=False)


def openmdao(p: Any) -> Any:
    om = import_module("openmdao.api")

    class Component(om.ExplicitComponent):  # type: ignore[misc]
        def setup(self) -> None:
            self.add_input("p", p)
            self.add_output("value", 0.0)
            self.declare_partials("value", "p")

        def compute(self, inputs: Any, outputs: Any) -> None:
            outputs["value"] = program(inputs["p"])

        def compute_partials(self, inputs: Any, partials: Any) -> None:
            partials["value", "p"] = program.grad(inputs["p"])

    study = om.Problem(reports=False)
    study.model.add_subsystem("density", Component(), promotes=["*"])
    study.setup()
    study.run_model()
    return study.compute_totals(["value"], ["p"])


def uncertainties(p: Any) -> Any:
    package = import_module("uncertainties")
    of_number = cadiff.compile(lambda x: density(cnp.stack([x, 0.0])))
    return package.wrap(of_number, [of_number.grad])(package.ufloat(p[0], 0.1))


RUNS = (emcee, iminuit, lmfit, mici, nutpie, openmdao, statsmodels, uncertainties)
# Those that turn an exception into an error of their own, or a warning and the end of a chain.
TURNED = {"mici": Exception, "nutpie": RuntimeError, "openmdao": Exception}
# What comes of a start at which everything is nan: an error, or a result that shows it.
REFUSED = {"lmfit": r"[nN]a[nN]", "nutpie": r"BadLogp\(NaN\)"}
SHOWN: dict[str, Any] = {
    "iminuit": lambda found: not found.valid,
    "openmdao": lambda found: np.isnan(found["value", "p"]).all(),
    "statsmodels": lambda found: np.isnan(found.params).all(),
    "uncertainties": lambda found: np.isnan(found.nominal_value),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_an_exception_in_f_passes_through_and_the_next_call_is_right(run: Any) -> None:
    pytest.importorskip(run.__name__)
    with pytest.raises(TURNED.get(run.__name__, TooLarge), match=r"4000|39\d\d|TooLarge"):
        run(BADLY)
    assert run(WELL) is not None or run is emcee


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*REFUSED, *SHOWN])
def test_nans_are_not_hidden(name: str) -> None:
    pytest.importorskip(name)
    run = globals()[name]
    if name in REFUSED:
        with pytest.raises((ValueError, RuntimeError), match=REFUSED[name]):
            run(NAN)
    else:
        assert SHOWN[name](run(NAN))


def test_sundials_ends_at_an_exception() -> None:
    cvode = pytest.importorskip("sksundae.cvode")
    rates = cadiff.compile(lambda y: -(below(y, 2.0) ** 2))

    def put(t: float, y: Any, out: Any) -> None:
        out[:] = rates(y)

    def put_jacobian(t: float, y: Any, rate: Any, out: Any) -> None:
        out[:] = rates.jacobian(y)

    solver = cvode.CVODE(put, jacfn=put_jacobian, rtol=1e-9, atol=1e-11)
    times = np.array([0.0, 1.0])
    found = solver.solve(times, np.ones(2)).y[-1]
    np.testing.assert_allclose(found, 0.5, rtol=1e-6)  # of y' = -y²
    with pytest.raises(TooLarge):
        solver.solve(times, np.full(2, 3.0))


def test_samplers_share_programs_among_processes_and_threads() -> None:
    copied = pickle.loads(pickle.dumps(program))
    points = np.random.default_rng(0).normal(size=(32, 2))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(copied.value_and_grad, points))
    np.testing.assert_allclose([value for value, _ in found], program.batch(points))
    np.testing.assert_allclose([gradient for _, gradient in found], -points)


def test_autoray_finds_functions_for_numbers_with_derivatives() -> None:
    autoray = pytest.importorskip("autoray.autoray")
    autoray.register_module_alias("cadiff", "cadiff.numpy")
    x = np.array([3.0, 4.0])
    f = lambda x: autoray.do("sum", autoray.do("stack", [x, autoray.do("linalg.norm", x) * x]))  # noqa: E731
    expected = 1.0 + 5.0 + 7.0 * x / 5.0
    np.testing.assert_allclose(cadiff.grad(f)(x), expected)
    np.testing.assert_allclose(cadiff.compile(f).grad(x), expected)
    with pytest.raises(ImportError, match="nonsense"):
        cadiff.grad(lambda x: autoray.do("nonsense", x))(x)


def test_series_of_polars() -> None:
    polars = pytest.importorskip("polars")
    series = polars.Series([1.0, 2.0])
    assert cadiff.grad(lambda x: cnp.sum(x**2))(series).tolist() == [2.0, 4.0]
    assert cadiff.grad(lambda x: cnp.sum(x * series))(np.ones(2)).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match=r"cadiff\.Var"):
        cadiff.grad(lambda x: cnp.sum(series * x))(np.ones(2))
