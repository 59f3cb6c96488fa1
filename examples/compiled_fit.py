"""A model in plain Python loops, compiled: recorded once, replayed in C by SciPy's optimizer.

The sum of damped oscillations is fitted to noisy samples; Newton's method gets the exact Hessian.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import minimize

import cadiff


def misfit(p: Any, times: Any, samples: Any) -> Any:
    """A robust sum of squared residuals: its branch at 1 depends on the data."""
    amplitude, decay, frequency = p[0], p[1], p[2]
    total = 0.0
    for t, sample in zip(times, samples, strict=True):
        error = amplitude * cadiff.exp(-decay * t) * cadiff.sin(frequency * t) - sample
        total = total + (error * error if abs(error) < 1.0 else 2.0 * abs(error) - 1.0)
    return total


def main() -> None:
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 5.0, 200)
    truth = np.array([2.0, 0.5, 3.0])
    samples = truth[0] * np.exp(-truth[1] * times) * np.sin(truth[2] * times)
    samples += 0.05 * rng.standard_normal(times.size)

    program = cadiff.compile(misfit)
    start = np.array([1.8, 0.4, 2.9])
    fit = minimize(
        program.value_and_grad,
        start,
        args=(times, samples),
        jac=True,
        hess=program.hessian,
        method="trust-exact",
    )
    print(f"fitted {fit.x.round(3)}, true {truth}, after {fit.nit} steps")
    assert np.allclose(fit.x, truth, atol=0.05)

    eager = cadiff.value_and_grad(misfit)
    value, gradient = program.value_and_grad(fit.x, times, samples)
    wanted, expected = eager(fit.x, times, samples)
    assert np.isclose(value, wanted, rtol=1e-12)
    assert np.allclose(gradient, expected, atol=1e-9)

    def microseconds(f: Any) -> float:
        begin = time.perf_counter()
        for _ in range(100):
            f(fit.x, times, samples)
        return (time.perf_counter() - begin) * 1e4

    print(f"value and gradient: {microseconds(eager):.0f} us run in Python, ", end="")
    print(f"{microseconds(program.value_and_grad):.0f} us replayed")
    print(f"{program.stats()['recordings']} recordings for the branches that were met")


if __name__ == "__main__":
    main()
