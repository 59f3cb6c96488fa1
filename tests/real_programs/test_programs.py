"""Programs as scientists write them, with NumPy and SciPy, and with their imports led to cadiff.

Each has an `objective` and a point `START`. Values are those of the plain program, gradients those
of its differences; compiled it gives the same, at other points too; and a search that is led by
the gradient finds the `TRUTH` by which the data were made, or, where these were drawn, an optimum.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import cadiff
import cadiff.numpy

from ..helpers.moved import program
from .comparing import agree, differences
from .moves import NUMPY, SCIPY

PROGRAMS = {path.stem: path for path in sorted(Path(__file__).parent.glob("programs/*.py"))}


# Programs that are run eagerly: a mesh that is chosen as the solution needs is not recorded.
RUN_EAGERLY = pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")


def marked(name: str) -> Any:
    return pytest.param(name, marks=[RUN_EAGERLY] if name == "hanging_chain" else [])


@pytest.mark.parametrize("name", [marked(name) for name in PROGRAMS])
def test_a_program(name: str) -> None:
    plain, moved = (program(PROGRAMS[name], moves) for moves in ({}, NUMPY | SCIPY))
    assert moved.np is cadiff.numpy
    f, start = moved.objective, plain.START
    by_gradient, compiled = cadiff.value_and_grad(f), cadiff.compile(f)
    for at in (start, start + 0.01):
        value, gradient = by_gradient(at)
        agree(value, plain.objective(at), 1e-13)
        agree(gradient, differences(plain.objective, at), 1e-6)
    for at in (start, start + 0.01, start):
        for ours, theirs in zip(compiled.value_and_grad(at), by_gradient(at), strict=True):
            agree(ours, theirs, 1e-12)
    way = np.cos(1.0 + np.arange(start.size))
    slopes = differences(lambda s: by_gradient(start + s * way)[1], 0.0, step=1e-3)
    agree(cadiff.hvp(f)(start, way), slopes, 1e-5)
    found = minimize(by_gradient, start, jac=True, method="BFGS", options={"gtol": 1e-8})
    if plain.TRUTH is None:
        assert np.abs(found.jac).max() < 1e-6
        assert np.linalg.eigvalsh(cadiff.hessian(f)(found.x)).min() > 0.0
    else:
        agree(found.x, plain.TRUTH, 1e-6)
