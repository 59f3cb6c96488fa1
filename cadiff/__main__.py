"""``python -m cadiff``: the package proves itself on problems with certified answers.

Three nonlinear regressions of NIST's Statistical Reference Datasets are fitted from both official
starting points with exact Jacobians, the digits that agree with the certified values are counted,
and the gradient is timed against automatic differentiation in plain Python. Certified values are
only ever compared with: they take no part in the fits. This module uses the package as a user
would, through its public names.
"""

from __future__ import annotations

import argparse
import importlib
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import cadiff
from cadiff import nist
from cadiff.nist import Array, Dataset, Number

Numbers: TypeAlias = Sequence[Number]
Gradient: TypeAlias = Callable[[list[float]], Any]

CERTIFIED_DIGITS = 11
REQUIRED_DIGITS = 8
TOLERANCE = 1e-15
MAX_EVALUATIONS = 10_000
MAX_CLOSING_STEPS = 100
GRADIENT_RTOL = 1e-9
ROUNDS = 15
SECONDS_A_ROUND = 2e-3


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, compare with the certified values, time, and print the tables.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments of the command; those of the process if not given.

    Returns
    -------
    int
        0 if all is well, 1 if a fitted parameter has fewer than 8 digits right or if gradients
        contradict each other, 2 if SciPy is missing.
    """
    parser = argparse.ArgumentParser(
        prog="python -m cadiff",
        description="Fit three regression problems of NIST with exact Jacobians, count the digits "
        "that agree with the certified values, and time the gradient against plain Python.",
    )
    parser.add_argument("--no-timing", action="store_true", help="only fit and compare")
    options = parser.parse_args(argv)

    try:
        from scipy.optimize import least_squares
    except ImportError:
        print('The fits need SciPy. Install it: pip install "cadiff[scipy]"', file=sys.stderr)
        return 2

    datasets = [nist.load(name) for name in nist.MODELS]
    parameters: list[Comparison] = []
    deviations: list[Comparison] = []
    for data in datasets:
        for start, guess in enumerate(data.starts, 1):
            progress(f"fitting {data.name} from start {start}")
            b, std = fit(data, guess, least_squares)
            parameters += compare(data, start, b, data.certified)
            deviations += compare(data, start, std, data.certified_std)
    progress("")

    print_comparisons("Parameters fitted with exact Jacobians", parameters)
    print_comparisons("Standard deviations of the parameters, from the Jacobian", deviations)
    worst = min(row.digits for row in parameters)
    print(f"Agreeing digits of the fitted parameters: {worst:.1f} at least.")
    sound = worst >= REQUIRED_DIGITS
    if not sound:
        print(f"That is too few: {REQUIRED_DIGITS} are required of each.")
    if not options.no_timing:
        print()
        sound &= report_timings(datasets)
    return 0 if sound else 1


# Fitting


def fit(data: Dataset, guess: Array, least_squares: Callable[..., Any]) -> tuple[Array, Array]:
    """Fit a model by nonlinear least squares.

    Levenberg-Marquardt finds the minimum. Gauss-Newton steps then fix the last digits, which
    it cannot: it judges by the sum of squares, whose own rounding hides half of them.

    Parameters
    ----------
    data : Dataset
        The observations; of the rest only the name is used.
    guess : ndarray of shape (p,)
        Where to start.
    least_squares : callable
        `scipy.optimize.least_squares`.

    Returns
    -------
    b, std : ndarray of shape (p,)
        The parameters and their standard deviations.
    """
    residuals = residual_function(data)

    def values(b: Array) -> Array:
        return np.array(residuals(b.tolist()))

    jacobian = cadiff.jacobian(residuals)
    b = least_squares(
        values,
        guess,
        jac=jacobian,
        method="lm",
        x_scale="jac",
        ftol=TOLERANCE,
        xtol=TOLERANCE,
        gtol=TOLERANCE,
        max_nfev=MAX_EVALUATIONS,
    ).x
    b = gauss_newton(values, jacobian, b)
    return b, standard_deviations(values(b), jacobian(b))


def gauss_newton(
    values: Callable[[Array], Array], jacobian: Callable[[Array], Array], b: Array
) -> Array:
    """Take Gauss-Newton steps from b for as long as each is shorter than the one before.

    Steps are measured by what they change in the residuals; where rounding takes over, they stop
    shrinking. Columns are scaled to length 1: the parameters differ by up to six powers of ten.
    """
    shortest = math.inf
    for _ in range(MAX_CLOSING_STEPS):
        columns, lengths = unit_columns(jacobian(b))
        step = np.linalg.lstsq(columns, -values(b), rcond=None)[0]
        change = float(np.linalg.norm(columns @ step))
        if not change < shortest:
            break
        shortest = change
        b = b + step / lengths
    return b


def standard_deviations(residuals: Array, jacobian: Array) -> Array:
    """Square roots of the diagonal of s² (JᵀJ)⁻¹, where s² is the residual variance.

    With J = QR, (JᵀJ)⁻¹ is R⁻¹R⁻ᵀ, so JᵀJ, whose condition is the square of J's, is never formed.
    """
    columns, lengths = unit_columns(jacobian)
    m, p = columns.shape
    s = math.sqrt(float(residuals @ residuals) / (m - p))
    inverse = np.linalg.inv(np.linalg.qr(columns, mode="r"))
    deviations: Array = s * np.linalg.norm(inverse, axis=1) / lengths
    return deviations


def unit_columns(matrix: Array) -> tuple[Array, Array]:
    """Scale the columns to length 1; also return the lengths they had."""
    lengths = np.linalg.norm(matrix, axis=0)
    return matrix / lengths, lengths


def residual_function(data: Dataset) -> Callable[[Numbers], list[Number]]:
    """Make the residuals, a function of the parameters."""
    model = nist.MODELS[data.name]
    observations = pairs(data)

    def residuals(b: Numbers) -> list[Number]:
        # Scalars once and for all: the model reads each of them at every observation.
        b = list(b)
        result = []
        for x, y in observations:
            result.append(model(b, x) - y)
        return result

    return residuals


def pairs(data: Dataset) -> list[tuple[float, float]]:
    """List the observations (x, y) as Python floats, the fastest numbers for a Python loop."""
    return list(zip(data.x.tolist(), data.y.tolist(), strict=True))


# Comparing


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
    """Print one line for each comparison, under a title."""
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


# Timing


def report_timings(datasets: Sequence[Dataset]) -> bool:
    """Time the gradient of the residual sum of squares on each data set, and print a table.

    Returns
    -------
    bool
        Whether all gradients agree. If they do not, nothing is timed.
    """
    opponents = pure_python()
    table: dict[str, dict[str, float]] = {}
    for data in datasets:
        progress(f"timing {data.name}")
        at = data.starts[1].tolist()
        functions = gradients(data, opponents)
        if not agree(data, [function(at) for function in functions.values()]):
            progress("")
            print(f"The gradients for {data.name} contradict each other.")
            return False
        table[data.name] = medians({"floats": squares(data, math.exp)} | functions, at)
    progress("")

    print("Gradient of the residual sum of squares, a Python loop: microseconds a call, and")
    print(f"multiples of the bare function on floats (medians of {ROUNDS} interleaved rounds)\n")
    names = next(iter(table.values()))
    print(f"  {'data set':8}" + "".join(f"{name:>21}" for name in names))
    for name, seconds in table.items():
        cells = (f"{t * 1e6:10.1f} {t / seconds['floats']:8.1f} x" for t in seconds.values())
        print(f"  {name:8}" + "".join(cells))
    print()
    if opponents is None:
        print("To compare with plain Python, run this at the root of a checkout of cadiff.")
    for rival in [name for name in names if name not in ("floats", "cadiff")]:
        gains = sorted(seconds[rival] / seconds["cadiff"] for seconds in table.values())
        print(f"cadiff is {gains[0]:.0f} to {gains[-1]:.0f} times as fast as the {rival}.")
    return True


def pure_python() -> ModuleType | None:
    """Import the plain-Python opponents, which belong to the checkout and not to the package."""
    try:
        return importlib.import_module("benchmarks.pure_python")
    except ImportError:
        return None


def squares(data: Dataset, exp: Callable[[Any], Any]) -> Callable[[Numbers], Number]:
    """Make the residual sum of squares, a function of the parameters, with an exponential."""
    model = nist.MODELS[data.name]
    observations = pairs(data)

    def sum_of_squares(b: Numbers) -> Number:
        total = 0.0
        for x, y in observations:
            residual = model(b, x, exp) - y
            total += residual * residual
        return total

    return sum_of_squares


def gradients(data: Dataset, opponents: ModuleType | None) -> dict[str, Gradient]:
    """Make the functions to be timed, by name: parameters to gradient."""
    value_and_grad = cadiff.value_and_grad(squares(data, cadiff.exp))
    functions: dict[str, Gradient] = {"cadiff": lambda b: value_and_grad(b)[1]}
    if opponents is not None:
        plain = squares(data, opponents.exp)
        graph, dual = opponents.value_and_grad(plain), opponents.gradient
        functions["plain Python graph"] = lambda b: graph(b)[1]
        functions["plain Python duals"] = lambda b: dual(plain, b)
    return functions


def agree(data: Dataset, found: Sequence[Sequence[float]]) -> bool:
    """Tell whether gradients at the second start equal each other and 2 Jᵀr."""
    residuals = residual_function(data)
    b = data.starts[1]
    expected = 2.0 * np.array(residuals(b.tolist())) @ cadiff.jacobian(residuals)(b)
    return all(np.allclose(gradient, expected, rtol=GRADIENT_RTOL, atol=0.0) for gradient in found)


def medians(functions: dict[str, Gradient], at: list[float]) -> dict[str, float]:
    """Time the functions in turn, so that a slow moment of the machine meets them all.

    Returns
    -------
    dict of str to float
        The median seconds a call.
    """

    def seconds(function: Gradient, calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            function(at)
        return (time.perf_counter() - begin) / calls

    calls = dict.fromkeys(functions, 1)
    for name, function in functions.items():
        calls[name] += int(SECONDS_A_ROUND / seconds(function, 1))
    rounds = [
        {name: seconds(function, calls[name]) for name, function in functions.items()}
        for _ in range(ROUNDS)
    ]
    return {name: statistics.median(times[name] for times in rounds) for name in functions}


if __name__ == "__main__":
    sys.exit(main())
