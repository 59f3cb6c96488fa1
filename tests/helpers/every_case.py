"""All cases of the harness that are of real numbers, with the original and the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.fft
import scipy.linalg

import cadiff.numpy
import cadiff.numpy.linalg
import cadiff.scipy.fft
import cadiff.scipy.linalg

from . import cases_fft, cases_linalg, cases_numpy
from .derivatives import Case

EVERY: list[tuple[str, Case, Any, Any]] = [
    *[("numpy", case, np, cadiff.numpy) for case in cases_numpy.CASES],
    *[("linalg", case, np, cadiff.numpy) for case in cases_linalg.NUMPY],
    *[("scipy", case, scipy, cadiff.scipy) for case in cases_linalg.SCIPY],
    *[("scipy", case, scipy, cadiff.scipy) for case in cases_fft.SCIPY],
]


def of_every(
    *kinds: str, without: Callable[[str], bool] = lambda name: False
) -> pytest.MarkDecorator:
    """A test for each case, of some kinds or of all, but for some names."""
    chosen = [
        pytest.param(case, original, package, id=f"{kind} {case.name}")
        for kind, case, original, package in EVERY
        if (not kinds or kind in kinds) and not without(case.name)
    ]
    return pytest.mark.parametrize(("case", "original", "package"), chosen)
