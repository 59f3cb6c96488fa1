"""Fit regression problems of NIST with exact derivatives, and count the digits that are right.

Three nonlinear regressions of the Statistical Reference Datasets are fitted from both official
starting points. Certified values are only ever compared with: they take no part in the fits. Then
the gradient is timed against automatic differentiation in plain Python (see `bench`). The exit
status is 1 if a parameter has fewer than 8 digits right. This needs SciPy.

For example:
  python -m cadiff
  python -m cadiff demo --no-timing
  python -m cadiff demo --json
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import nist
from ..nist import Array, Dataset
from . import bench
from .targets import CommandError

CERTIFIED_DIGITS = 11
REQUIRED_DIGITS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-timing", action="store_true", help="only fit and compare")
    parser.add_argument("--json", action="store_true", help="print the comparisons as JSON")


def run(options: argparse.Namespace) -> int:
    """Fit, compare with the certified values, time, and print the tables."""
    try:
        from ..optimize import curve_fit
    except ImportError:
        raise CommandError("the fits need SciPy: pip install scipy") from None
    datasets = [nist.load(name) for name in nist.MODELS]
    parameters: list[Comparison] = []
    deviations: list[Comparison] = []
    for data in datasets:
        for start, guess in enumerate(data.starts, 1):
            progress(f"fitting {data.name} from start {start}")
            b, covariance = curve_fit(of_all(data), data.x, data.y, guess, maxfev=10_000)
            parameters += compare(data, start, b, data.certified)
            deviations += compare(data, start, np.sqrt(np.diag(covariance)), data.certified_std)
    progress("")
    worst = min(row.digits for row in parameters)
    sound = worst >= REQUIRED_DIGITS
    if options.json:
        rows = {"parameters": parameters, "standard deviations": deviations}
        found = {
            what: [{**row._asdict(), "digits": row.digits} for row in some]
            for what, some in rows.items()
        }
        print(json.dumps({**found, "digits": worst, "sound": sound}, indent=2))
        return 0 if sound else 1
    print_comparisons("Parameters fitted with exact Jacobians", parameters)
    print_comparisons("Standard deviations of the parameters, from the Jacobian", deviations)
    print(f"Agreeing digits of the fitted parameters: {worst:.1f} at least.")
    if not sound:
        print(f"That is too few: {REQUIRED_DIGITS} are required of each.")
    if not options.no_timing:
        print()
        sound &= bench.report(datasets)
    return 0 if sound else 1


def of_all(data: Dataset) -> Any:
    """A model as a function of all observations, a loop over them."""
    model = nist.MODELS[data.name]

    def responses(x: Any, *b: Any) -> list[Any]:
        return [model(b, one) for one in x]

    return responses


class Comparison(NamedTuple):
    """A computed number beside the certified one."""

    data: str
    start: int
    parameter: str
    computed: float
    certified: float

    @property
    def digits(self) -> float:
        """Agreeing significant digits: minus the log of the relative error, from 0 to 11.

        The computed number is first rounded to as many digits as are certified, for beyond them
        the certified number has nothing to say.
        """
        rounded = float(scientific(self.computed))
        error = abs(rounded / self.certified - 1.0)
        if not error:
            return CERTIFIED_DIGITS
        # A nan is an answer without a digit right.
        return 0.0 if math.isnan(error) else min(max(-math.log10(error), 0.0), CERTIFIED_DIGITS)


def compare(data: Dataset, start: int, computed: Array, certified: Array) -> list[Comparison]:
    """Pair the numbers of one fit with the certified ones."""
    return [
        Comparison(data.name, start, f"b{i}", *both)
        for i, both in enumerate(zip(computed.tolist(), certified.tolist(), strict=True), 1)
    ]


def scientific(x: float) -> str:
    """Write x to as many digits as are certified, as the data files do."""
    return f"{x:.{CERTIFIED_DIGITS - 1}E}"


def print_comparisons(title: str, rows: Sequence[Comparison]) -> None:
    print(f"{title}\n")
    print(f"  {'data set':8}  start  parameter  {'computed':>16}  {'certified':>16}  digits")
    for row in rows:
        print(
            f"  {row.data:8}  {row.start:5}  {row.parameter:>9}  {scientific(row.computed):>16}  "
            f"{scientific(row.certified):>16}  {row.digits:6.1f}"
        )
    print()


def progress(stage: str) -> None:
    """Show on a terminal what is being done, in place of what was; an empty stage clears."""
    if sys.stderr.isatty():
        print(f"\r\033[K{stage}", end="", file=sys.stderr, flush=True)
