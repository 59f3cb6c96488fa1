"""The seam to PyTensor and PyMC: `cadiff.interop.pytensor`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cadiff

pytensor = pytest.importorskip("pytensor")

import pytensor.tensor as pt  # noqa: E402

from cadiff.interop.pytensor import op  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Numba will use object mode"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
y = np.array([0.5, 1.0, 3.0])
QUICKLY = {"mode": "FAST_COMPILE"}


def log_likelihood(mu: Any, sigma: Any) -> Any:
    return -0.5 * np.sum(((y - mu) / sigma) ** 2) - 3 * np.log(sigma)


def test_gradient_and_hessian() -> None:
    x = pt.dvector("x")
    value = op(lambda x: log_likelihood(x[0], x[1]))(x)
    matrix = pytensor.gradient.hessian(value, x)
    f = pytensor.function([x], [value, pt.grad(value, x), matrix], **QUICKLY)
    at = np.array([0.5, 1.5])
    for found, transform in zip(f(at), (lambda g: g, cadiff.grad, cadiff.hessian), strict=True):
        expected = transform(lambda x: log_likelihood(x[0], x[1]))(at)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_several_results_one_of_which_is_not_used() -> None:
    x, k = pt.dvector("x"), pt.lscalar("k")
    powers, total = op(lambda x, k: (x**k, np.sum(x)), ndim=(1, 0))(x, k)
    for result, expected in ((powers.sum(), 2 * y), (total, np.ones(3))):
        f = pytensor.function([x, k], pt.grad(result, x), on_unused_input="ignore", **QUICKLY)
        assert f(y, 2).tolist() == expected.tolist()


def test_forward_mode() -> None:
    x = pt.dvector("x")
    value = op(lambda x: np.exp(x) * x[0], ndim=1)(x)
    tangent = pytensor.gradient.Rop(value, x, pt.ones_like(x))
    found = pytensor.function([x], tangent, **QUICKLY)(y)
    expected = cadiff.jvp(lambda x: np.exp(x) * x[0], (y,), (np.ones(3),))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_number_of_axes_is_told() -> None:
    x = pt.dvector("x")
    shaped = pytensor.function([x], op(lambda x: x)(x), **QUICKLY)
    with pytest.raises(ValueError, match=r"write op\(f, ndim=1\)"):
        shaped(y)
    with pytest.raises(ValueError, match=r"returns \(3,\): write op\(f, ndim=1\)"):
        pytensor.function([x], pt.grad(op(lambda x: x)(x), x), **QUICKLY)(y)


def test_what_goes_wrong_between_the_packages_is_told_a_way() -> None:
    x = pt.dvector("x")
    with pytest.raises(TypeError, match=r"write op\(f\)\(x, y\)"):
        op(log_likelihood, x, x)
    with pytest.raises(TypeError, match=r"TensorVariable, .*write cadiff\.interop\.pytensor\.op"):
        cadiff.grad(log_likelihood)(x, 1.0)
    value = op(lambda x: pt.exp(x[0]))(x)
    ways = ((value, "functions of cadiff.numpy"), (pt.grad(value, x), "cadiff.numpy has its"))
    for wanted, way in ways[: 1 + hasattr(Exception, "add_note")]:
        with pytest.raises((TypeError, NotImplementedError), match=way):
            pytensor.function([x], wanted, **QUICKLY)(y)


def test_pymc_samples() -> None:
    pm = pytest.importorskip("pymc")
    with pm.Model():
        mu, sigma = pm.Normal("mu", 0.0, 10.0), pm.HalfNormal("sigma", 10.0)
        pm.Potential("likelihood", op(log_likelihood)(mu, sigma))
        trace = pm.sample(
            300, tune=300, chains=1, cores=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    assert abs(float(trace.posterior["mu"].mean()) - y.mean()) < 0.7
