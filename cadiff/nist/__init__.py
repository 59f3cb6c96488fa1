"""Three nonlinear regression problems with certified answers, for ``python -m cadiff``.

The problems are Misra1a (lower difficulty), Thurber and MGH10 (higher) from the Statistical
Reference Datasets of NIST, whose certified values were computed in 128-bit precision. This module
reads the files and states the models as ordinary scalar Python; it knows nothing of fitting, nor
of derivatives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import cadiff

__all__ = ["MODELS", "Dataset", "Model", "load", "mgh10", "misra1a", "parse", "thurber"]

Array: TypeAlias = npt.NDArray[np.float64]

Number: TypeAlias = Any
"""A float, or the `Var` or `Dual` that stands in its place."""

Model: TypeAlias = Callable[..., Number]
"""``model(b, x, exp=cadiff.exp)``: the response at x under the parameters b."""


@dataclass(frozen=True)
class Dataset:
    """One problem, as the file states it.

    Attributes
    ----------
    name : str
        The name of the data set, a key of `MODELS`.
    starts : ndarray of shape (2, p)
        Two starting points, the first farther from the solution.
    certified : ndarray of shape (p,)
        The parameters that minimise the residual sum of squares, to 11 digits.
    certified_std : ndarray of shape (p,)
        Their standard deviations, to 11 digits.
    residual_sum_of_squares : float
        Its certified minimum.
    y, x : ndarray of shape (m,)
        The observations: response and predictor.
    """

    name: str
    starts: Array
    certified: Array
    certified_std: Array
    residual_sum_of_squares: float
    y: Array
    x: Array


def parse(text: str) -> Dataset:
    """Read a ``.dat`` file of the Statistical Reference Datasets with one predictor.

    Parameters
    ----------
    text : str
        The content of the file.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If the text is no such file, or contradicts what its header promises.
    """
    first, last = (int(line) for line in _field(text, r"^\s*Data\s+\(lines (\d+) to (\d+)\)"))
    rows = [line.split() for line in text.splitlines()[first - 1 : last]]
    (count,) = _field(text, r"^Number of Observations:\s+(\d+)")
    if len(rows) != int(count) or any(len(row) != 2 for row in rows):
        raise ValueError(f"expected {count} lines of 'y x' from line {first} to line {last}")
    y, x = np.array(rows, dtype=np.float64).T

    # Each line reads "b1 = start1 start2 certified deviation".
    parameters = [line.split() for line in re.findall(r"^\s*b\d+\s*=(.*)$", text, re.MULTILINE)]
    if not parameters or any(len(row) != 4 for row in parameters):
        raise ValueError("expected lines 'b1 = start1 start2 certified deviation'")
    *starts, certified, certified_std = np.array(parameters, dtype=np.float64).T

    (name,) = _field(text, r"^Dataset Name:\s+(\w+)")
    (rss,) = _field(text, r"^Residual Sum of Squares:\s+(\S+)")
    return Dataset(name, np.array(starts), certified, certified_std, float(rss), y, x)


def load(name: str) -> Dataset:
    """Read one of the data sets that come with the package: a key of `MODELS`."""
    return parse((files("cadiff.nist") / "data" / f"{name}.dat").read_text(encoding="ascii"))


def misra1a(b: Sequence[Number], x: float, exp: Callable[[Number], Number] = cadiff.exp) -> Number:
    """Monomolecular adsorption, ``b1 (1 - exp(-b2 x))``.

    Parameters
    ----------
    b : sequence of 2 numbers
        The parameters.
    x : float
        The pressure.
    exp : callable, default cadiff.exp
        The exponential of the numbers in b.
    """
    return b[0] * (1.0 - exp(-b[1] * x))


def thurber(b: Sequence[Number], x: float, exp: Callable[[Number], Number] = cadiff.exp) -> Number:
    """Electron mobility in a semiconductor, a cubic over a cubic.

    Parameters
    ----------
    b : sequence of 7 numbers
        Four coefficients of the numerator, then three of the denominator, whose constant is 1.
    x : float
        The logarithm of the density.
    exp : callable, default cadiff.exp
        Not needed here; accepted so that all models are called alike.
    """
    x2 = x * x
    x3 = x2 * x
    numerator = b[0] + b[1] * x + b[2] * x2 + b[3] * x3
    return numerator / (1.0 + b[4] * x + b[5] * x2 + b[6] * x3)


def mgh10(b: Sequence[Number], x: float, exp: Callable[[Number], Number] = cadiff.exp) -> Number:
    """Resistance of a thermistor, ``b1 exp(b2 / (x + b3))``.

    Parameters
    ----------
    b : sequence of 3 numbers
        The parameters.
    x : float
        The temperature.
    exp : callable, default cadiff.exp
        The exponential of the numbers in b.
    """
    return b[0] * exp(b[1] / (x + b[2]))


MODELS: dict[str, Model] = {"Misra1a": misra1a, "Thurber": thurber, "MGH10": mgh10}


def _field(text: str, pattern: str) -> tuple[str, ...]:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise ValueError(f"not a .dat file of NIST StRD: nothing matches {pattern!r}")
    return match.groups()
