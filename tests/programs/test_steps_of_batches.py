"""Batches of functions with steps that are calls of Python: one call serves all rows."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
import cadiff.scipy.fft
import cadiff.scipy.special
import cadiff.scipy.stats

# Of a row of three numbers, by steps that are calls of Python.
STEPS: dict[str, Any] = {
    "max": np.max,
    "min of columns": lambda r: np.sum(np.min(np.outer(r, r), axis=0)),
    "prod": np.prod,
    "prod of rows": lambda r: np.sum(np.prod(np.outer(r, r), axis=1, keepdims=True)),
    "norm": np.linalg.norm,
    "norm inf": lambda r: np.linalg.norm(r, np.inf),
    "Frobenius": lambda r: np.linalg.norm(np.outer(r, np.sin(r)), keepdims=True)[0, 0],
    "norms": lambda r: np.sum(np.linalg.norm(np.outer(r, r) + r, 3, axis=-1)),
    "einsum": lambda r: np.einsum("i,ij,j->", r, np.arange(9.0).reshape(3, 3), r),
    "outer einsum": lambda r: np.sum(np.einsum("i,j->ji", r, r)[0]),
    "cumprod": lambda r: np.cumprod(r) @ r,
    "fft": lambda r: np.sum(np.abs(np.fft.fft(r)) ** 3),
    "rfft": lambda r: np.sum(np.fft.rfft(np.outer(r, r), axis=0).imag ** 2),
    "dct": lambda r: cadiff.scipy.fft.dct(r) @ r,
    "softmax": lambda r: np.exp(r - r.max()) @ r / np.sum(np.exp(r - r.max())),
    "logsumexp": cadiff.scipy.special.logsumexp,
    "weighted logsumexp": lambda r: cadiff.scipy.special.logsumexp(r, b=np.arange(1.0, 4.0)),
    "gammainc": lambda r: np.sum(cadiff.scipy.special.gammainc(2.0, np.exp(r))),
    "norm.logcdf": lambda r: np.sum(cadiff.scipy.stats.norm.logcdf(r, r[0])),
    "t.logcdf": lambda r: np.sum(cadiff.scipy.stats.t.logcdf(r, 3.0)),
}

WRITTEN_OUT = ("einsum", "outer einsum")  # of operations on arrays: there are no steps


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_all_rows_are_one_call(name: str) -> None:
    f = STEPS[name]
    X = numpy.random.default_rng(0).normal(size=(12, 3))
    X[3, 1] = X[3, 0]  # a tie
    program = cadiff.compile(f)
    for what, each in (("value", f), ("grad", cadiff.grad(f)), ("hessian", cadiff.hessian(f))):
        found = program.batch(X, what=what)
        wanted = [each(x) for x in X]
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
    for recorded in program._traces:
        assert bool(recorded.graph.steps) == (name not in WRITTEN_OUT)
        assert all(step.rule.goes_over_lanes for step in recorded.graph.steps)


def test_steps_of_ones_own_are_called_for_each_row() -> None:
    calls = []

    @cadiff.custom(partials=lambda ans, x: 2.0 * x)
    def positive_square(x: Any) -> Any:
        calls.append(x)
        return x * x

    def f(x: Any) -> Any:
        return np.max(x) + (positive_square(x[0]) if x[0] > 0.0 else x[0])

    X = numpy.random.default_rng(0).normal(size=(40, 2))
    numpy.testing.assert_allclose(cadiff.compile(f).batch(X), [f(x) for x in X])
    assert all(numpy.ndim(x) == 0 for x in calls)


def test_a_step_that_raises_for_a_row() -> None:
    def f(x: Any) -> Any:
        return cadiff.scipy.stats.multivariate_normal.logpdf(x[:2], np.zeros(2), x[2] * np.eye(2))

    X = numpy.ones((5, 3))
    assert numpy.ptp(cadiff.compile(f).batch(X)) == 0.0
    X[3, 2] = -1.0
    with pytest.raises(ValueError, match="positive semidefinite"):
        cadiff.compile(f).batch(X)
