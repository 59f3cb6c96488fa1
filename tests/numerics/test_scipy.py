"""Functions of SciPy's, by their import line: values to the last bit, derivatives by differences.

The differences are of SciPy's own functions, of the sixth order; the modes agree with each other
to rounding.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose

import cadiff
import cadiff.numpy as cnp

from ..helpers.cases_scipy import CALLS, POINT, Call

MODULES = sorted({call.name.rpartition(".")[0] for call in CALLS})
for _module in MODULES:
    importlib.import_module(f"scipy.{_module}")
    importlib.import_module(f"cadiff.scipy.{_module}")

STEP = 0.004
WEIGHTS = ((3, 1.0 / 60.0), (2, -9.0 / 60.0), (1, 45.0 / 60.0))


def parts_of(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [part for item in found for part in parts_of(item)]
    return [found]


def weighted(found: Any, np: Any) -> Any:
    """The sum of all that is found, times weights."""
    total = 0.0
    for part in parts_of(found):
        n = int(numpy_size(part))
        weights = 1.0 + 0.3 * numpy_cos(n)
        total = total + np.sum(np.reshape(np.asarray(part), -1) * weights)
    return total


def numpy_size(x: Any) -> int:
    return int(np.prod(np.shape(x)))


def numpy_cos(n: int) -> Any:
    return np.cos(np.arange(n))


def slope(f: Any, x: Any, e: Any) -> float:
    return sum(w * (f(x + k * STEP * e) - f(x - k * STEP * e)) for k, w in WEIGHTS) / STEP


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_calls(call: Call) -> None:
    plain = call.function(scipy, np)
    ours = call.function(cadiff.scipy, cnp)
    expected, x = plain(POINT), POINT

    def total(x: Any) -> Any:
        return weighted(ours(x), cnp)

    value, gradient = cadiff.value_and_grad(total)(x)
    assert_allclose(value, weighted(expected, np), rtol=1e-2 if call.digits < 5 else 1e-12)

    rng = np.random.default_rng(1)
    for e in (rng.standard_normal(12), *np.eye(12)[[0, 5]]):
        e = e / np.linalg.norm(e)
        true = slope(lambda x: weighted(plain(x), np), x, e)
        precise = 10.0**-call.digits
        assert_allclose(gradient @ e, true, rtol=precise, atol=precise * (1.0 + abs(value)) * 0.1)
        _, along = cadiff.jvp(total, (x,), (e,))
        assert_allclose(along, gradient @ e, rtol=1e-10, atol=1e-11 * np.linalg.norm(gradient))
