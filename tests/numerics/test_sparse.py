"""Sparse matrices: constant ones times numbers, ones made of numbers, and what solves with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
import scipy.sparse
import scipy.sparse.linalg

import cadiff
import cadiff.scipy.sparse
import cadiff.scipy.sparse.linalg

from ..helpers import derivatives
from ..helpers.cases_sparse import CASES
from ..helpers.derivatives import Case, as_tuple, named

sparse, linalg = cadiff.scipy.sparse, cadiff.scipy.sparse.linalg

each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each
def test_value(case: Case) -> None:
    derivatives.check_value(case, scipy, cadiff.scipy)


@each
def test_modes(case: Case) -> None:
    derivatives.check_modes(case, scipy, cadiff.scipy)


@each
def test_second_order(case: Case) -> None:
    derivatives.check_second_order(case, scipy, cadiff.scipy)


def runs_as_it_is(case: Case) -> bool:
    """Whether programs run f: dok matrices are dicts, and SciPy's svds draws where v0 is given."""
    return "dok" in case.name or case.name == "svds"


@pytest.mark.parametrize(
    "case", [c for c in CASES if not runs_as_it_is(c)], ids=lambda case: case.name
)
def test_programs(case: Case) -> None:
    """A program has the same values and gradients, at other points than that of its recording."""
    drawn = case.draw()

    def f(*numbers: Any) -> Any:
        args = list(drawn)
        for k, number in zip(case.argnums, numbers, strict=True):
            args[k] = number
        results = named(as_tuple(case.call(cadiff.scipy, *args))).values()
        return sum(np.sum(np.sin((1.0 + k) * part)) for k, part in enumerate(results))

    program = cadiff.compile(f)
    nums = tuple(range(len(case.argnums)))
    for seed in (0, 1, 2):
        point = [np.asarray(case.draw(seed)[k], dtype=float) for k in case.argnums]
        got, wanted = program.grad(*point, argnums=nums), cadiff.grad(f, nums)(*point)
        for x, y in zip(got, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
    assert not program.stats()["obstacles"], program.stats()["obstacles"]
    assert program.stats()["eager"] <= 1
