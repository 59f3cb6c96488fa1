"""The contests of `cadiff.optimize`: SciPy's methods with derivatives filled in, end to end.

Against the same methods with finite differences and with derivatives by hand, recording and
compiling included: each call begins with a function that has never been seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize as scipy_optimize

from benchmarks import problems
from benchmarks.contests import Contest, Runner
from cadiff import nist, optimize
from cadiff import numpy as cnp

__all__ = ["BY_HAND", "CONTESTS", "DIFFERENCES", "FILLED_IN", "fits", "minimum"]

FILLED_IN = "cadiff.optimize"
DIFFERENCES = "SciPy, by differences"
BY_HAND = "SciPy, gradient by hand"


def _anew(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does the same, and is another one."""
    return lambda *args: f(*args)


def minimum(n: int) -> Contest:
    """The minimum of Rosenbrock's function, a Python loop; by hand it is NumPy on all at once."""
    start = np.array(problems.rosenbrock_point(n))
    expected = np.ones(n)

    def by(minimize: Callable[..., Any], f: Callable[..., Any], **options: Any) -> Any:
        return lambda: minimize(_anew(f), start, **options).x.round(3)

    ways = {
        FILLED_IN: by(optimize.minimize, problems.rosenbrock),
        DIFFERENCES: by(scipy_optimize.minimize, problems.rosenbrock),
        BY_HAND: by(scipy_optimize.minimize, scipy_optimize.rosen, jac=scipy_optimize.rosen_der),
    }
    runners = {name: Runner(call, expected) for name, call in ways.items()}
    return Contest(f"minimum of Rosenbrock's function, n={n}, by BFGS", runners)


# NIST's models as functions of whole arrays, as curve_fit takes them.
MODELS: dict[str, Callable[..., Any]] = {
    "Misra1a": lambda x, a, b: a * (1.0 - cnp.exp(-b * x)),
    "Thurber": lambda x, a, b, c, d, e, f, g: (
        (a + x * (b + x * (c + x * d))) / (1.0 + x * (e + x * (f + x * g)))
    ),
    "MGH10": lambda x, a, b, c: a * cnp.exp(b / (x + c)),
}


def fits() -> Contest:
    """Fits with certified results, from both starts of each, to six digits.

    By differences MGH10 from the first start takes more evaluations than SciPy allows for.
    """
    data = {name: nist.load(name) for name in MODELS}

    def all_fits(curve_fit: Callable[..., Any], digits: int) -> list[Any]:
        results = []
        for name, of_data in data.items():
            for start in of_data.starts:
                found = curve_fit(_model(name), of_data.x, of_data.y, start, maxfev=10_000)[0]
                results.append(np.round(found / of_data.certified, digits))
        return results

    expected = [np.ones(len(of_data.certified)) for of_data in data.values() for _ in range(2)]
    return Contest(
        "6 fits of 3 certified data sets",
        {
            FILLED_IN: Runner(lambda: all_fits(optimize.curve_fit, 9), expected),
            DIFFERENCES: Runner(lambda: all_fits(scipy_optimize.curve_fit, 3), expected),
        },
    )


def _model(name: str) -> Callable[..., Any]:
    model = MODELS[name]
    return lambda x, *params: model(x, *params)


# And the ways of each that the tests under pytest-benchmark time.
CONTESTS: tuple[tuple[Callable[[], Contest], tuple[str, ...]], ...] = (
    (partial(minimum, 10), (FILLED_IN, DIFFERENCES, BY_HAND)),
    (fits, (FILLED_IN, DIFFERENCES)),
)
