"""Bars of progress: what they count, and how much is left, with tqdm and without."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from cadiff import numpy as cnp
from cadiff import optimize
from cadiff.optimize import _progress

from ..helpers.functions import rosenbrock

T = np.linspace(0.0, 1.0, 20)
Y = np.exp(-T)


def curve(t: Any, a: Any, k: Any) -> Any:
    return a * cnp.exp(-k * t)


def mean(w: Any, x: Any) -> Any:
    return cnp.mean((w - x) ** 2)


BOX = [(-2.0, 2.0)] * 2
START = np.array([-1.2, 1.0])
ROWS = np.ones(25)
OF_LBFGSB = {"method": "L-BFGS-B", "options": {"maxfun": 400}}
FULL = "100%|####################|"


def residuals(p: Any) -> Any:
    return curve(T, *p) - Y


FEW = {"options": {"maxiter": 5}}

# What is called, its arguments, its options, and words of its bar.
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("minimize", (rosenbrock, START), {}, "evaluations ["),
    ("minimize", (rosenbrock, START), FEW, "5/5 iterations"),
    ("minimize", (rosenbrock, START), {"method": "trust-constr", **FEW}, "5/5 iterations"),
    ("minimize", (rosenbrock, START), OF_LBFGSB, "/400 evaluations"),
    ("least_squares", (residuals, [2.0, 2.0]), {"max_nfev": 50}, "/50 evaluations"),
    ("curve_fit", (curve, T, Y), {"maxfev": 90}, "/90 evaluations"),
    ("root", (lambda x: x**2 - 2.0, [1.0]), {"options": {"maxfev": 30}}, "/30 evaluations"),
    ("sgd", (mean, 0.0, ROWS), {"batch_size": 10, "epochs": 4}, f"{FULL} 12/12 evaluations"),
    ("adam", (mean, 0.0, lambda epoch: [ROWS] * 3), {"epochs": 4}, "4/4 epochs"),
    ("lbfgs", (mean, 0.0, ROWS), {"maxiter": 40}, "/40 iterations"),
    ("basinhopping", (rosenbrock, START), {"niter": 3, "rng": 0}, "4/4 iterations"),
    ("differential_evolution", (rosenbrock, BOX), {"maxiter": 2, "rng": 0}, "/90 evaluations"),
    ("dual_annealing", (rosenbrock, BOX), {"maxfun": 300, "rng": 0}, "/300 evaluations"),
]


@pytest.mark.parametrize(("name", "arguments", "options", "words"), CASES)
def test_what_is_counted_and_what_is_left(
    name: str, arguments: Any, options: Any, words: str, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    getattr(optimize, name)(*arguments, **options, progress=True)
    written = capsys.readouterr().err
    assert words in written
    assert name in written or name == "lbfgs"  # which is a minimize
    assert written.endswith("\n")
    if "/" in words:
        assert "%|" in written
        assert "<00:0" in written


def test_the_time_that_is_left(monkeypatch: Any, capsys: Any) -> None:
    clock = [0.0]
    monkeypatch.setattr(_progress, "perf_counter", lambda: clock[0])
    line = _progress.Line("fit", " steps", 4000)
    clock[0] = 10.0
    line.set_postfix({"f": "1.5"})
    line.update(1000)
    assert capsys.readouterr().err == (
        "\rfit:  25%|#####               | 1000/4000 steps [00:10<00:30, 100.0 steps/s] f=1.5"
    )
    clock[0] = 10.01
    line.update()  # too soon to write again
    assert not capsys.readouterr().err
    clock[0] = 8000.0
    line.update()
    assert "1002/4000 steps [2:13:20<6:38:56" in capsys.readouterr().err


def test_callbacks_are_called_as_before(capsys: Any) -> None:
    seen: list[Any] = []

    def with_result(intermediate_result: Any) -> None:
        seen.append(intermediate_result.fun)

    for callback in (with_result, lambda x: seen.append(x)):
        optimize.minimize(
            rosenbrock, START, callback=callback, options={"maxiter": 3}, progress=True
        )
    assert len(seen) == 6
    assert np.shape(seen[0]) == ()
    assert np.shape(seen[-1]) == (2,)
    assert "3/3" in capsys.readouterr().err  # of tqdm
