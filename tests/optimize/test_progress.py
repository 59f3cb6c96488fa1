"""Bars of progress: what they count, and how much is left, with tqdm and without."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cadiff import numpy as cnp
from cadiff import optimize
from cadiff.optimize import _progress

T = np.linspace(0.0, 1.0, 20)
Y = np.exp(-T)


def rosenbrock(x: Any) -> Any:
    return cnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def curve(t: Any, a: Any, k: Any) -> Any:
    return a * cnp.exp(-k * t)


def mean(w: Any, x: Any) -> Any:
    return cnp.mean((w - x) ** 2)


BOX = [(-2.0, 2.0)] * 2
START = np.array([-1.2, 1.0])
ROWS = np.ones(25)

CASES: list[tuple[Callable[..., Any], str]] = [
    (lambda: optimize.minimize(rosenbrock, START, progress=True), "evaluations ["),
    (
        lambda: optimize.minimize(rosenbrock, START, options={"maxiter": 5}, progress=True),
        "5/5 iterations",
    ),
    (
        lambda: optimize.minimize(
            rosenbrock, START, method="trust-constr", options={"maxiter": 5}, progress=True
        ),
        "5/5 iterations",
    ),
    (
        lambda: optimize.minimize(
            rosenbrock, START, method="L-BFGS-B", options={"maxfun": 400}, progress=True
        ),
        "/400 evaluations",
    ),
    (
        lambda: optimize.least_squares(
            lambda p: curve(T, *p) - Y, [2.0, 2.0], max_nfev=50, progress=True
        ),
        "/50 evaluations",
    ),
    (lambda: optimize.curve_fit(curve, T, Y, maxfev=90, progress=True), "/90 evaluations"),
    (
        lambda: optimize.root(lambda x: x**2 - 2.0, [1.0], options={"maxfev": 30}, progress=True),
        "/30 evaluations",
    ),
    (
        lambda: optimize.sgd(mean, 0.0, ROWS, batch_size=10, epochs=4, progress=True),
        "100%|####################| 12/12 evaluations",
    ),
    (
        lambda: optimize.adam(mean, 0.0, lambda epoch: [ROWS] * 3, epochs=4, progress=True),
        "4/4 epochs",
    ),
    (lambda: optimize.lbfgs(mean, 0.0, ROWS, maxiter=40, progress=True), "/40 iterations"),
    (
        lambda: optimize.basinhopping(rosenbrock, START, niter=3, rng=0, progress=True),
        "4/4 iterations",
    ),
    (
        lambda: optimize.differential_evolution(rosenbrock, BOX, maxiter=2, rng=0, progress=True),
        "/90 evaluations",
    ),
    (
        lambda: optimize.dual_annealing(
            rosenbrock, BOX, maxiter=5, maxfun=300, rng=0, progress=True
        ),
        "/300 evaluations",
    ),
]


@pytest.mark.parametrize(("run", "words"), CASES)
def test_what_is_counted_and_what_is_left(
    run: Callable[..., Any], words: str, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    run()
    written = capsys.readouterr().err
    assert words in written
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
