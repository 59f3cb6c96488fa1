"""Integrals of smooth functions, elementwise and to nearly all digits.

Integrals over positive numbers t go by the trapezoidal rule in log t, those from 0 to 1 in
log(t / (1 - t)). Its error falls like exp(-2π d / h) where the integrand is analytic within a
distance d of the real numbers (Trefethen and Weideman, SIAM Review 56, 2014). The integrands are
of one sign, so that nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)
BLOCK = 1024  # elements at a time
SPENT = 40.0  # logarithm of what is left out


def between(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The integral from low to high, by Gauss's quadrature."""
    total: Any = 0.0
    for node, weight in zip(0.5 * (1.0 + NODES), 0.5 * WEIGHTS, strict=True):
        total = total + weight * f(low + node * (high - low))
    return (total * (high - low))[()]


def _over_all(f: Callable[..., Any], low: Any, high: Any, step: Any, *parameters: Any) -> Any:
    """The integral of what is nothing below low; from high on the sum no longer changes."""
    sums = np.empty(low.shape)
    for first in range(0, low.size, BLOCK):
        part = slice(first, first + BLOCK)
        n = int(np.ceil(np.max((high - low)[part] / step[part])))
        s = low[part] + step[part] * np.arange(n)[:, None]
        sums[part] = np.add.accumulate(f(s, *(each[..., part] for each in parameters)))[-1]
    return step * sums


def carlson(n: Any, *args: Any) -> Any:
    """∫ tⁿ⁻¹ (t+x)⁻ⁱ (t+y)⁻ʲ (t+z)⁻ᵏ (t+p)⁻ᵐ dt over t > 0; its finite part for p < 0.

    Arguments are n, i, j, k, m, x, y, z, p. The finite part is the real part of the integral over
    the imaginary axis, where t + p has no zero.
    """
    n, *arrays = np.broadcast_arrays(n, *args)
    shape, n = n.shape, n.ravel()
    powers, numbers = np.reshape(arrays, (2, 4, n.size)).astype(float)
    with np.errstate(all="ignore"):
        size = np.max(np.where(powers > 0.0, np.abs(numbers), 0.0), axis=0)
        size = np.where(size == 0.0, 1.0, size)
        numbers = numbers / size
        gap = n - np.sum(np.where(numbers == 0.0, powers, 0.0), axis=0)
        small = np.min(np.where((powers > 0.0) & (numbers != 0.0), np.abs(numbers), 1.0), axis=0)
        excess = np.sum(powers, axis=0) - n
        wrong = np.any(numbers[:3] < 0.0, axis=0) | ~np.isfinite(small * size)
        wrong |= (powers[3] > 0.0) & (numbers[3] == 0.0)
        integral = np.where(wrong, np.nan, np.sign(numbers[3]) ** powers[3] * np.inf)
        for turn, step in ((0.0, 0.4), (0.5j * np.pi, 0.2)):
            at = np.flatnonzero(~wrong & (gap > 0.0) & ((numbers[3] < 0.0) == (turn != 0.0)))

            def f(s: Any, n: Any, powers: Any, numbers: Any, turn: Any = turn) -> Any:
                t = np.exp(s + turn)
                logs = (m * np.log(t + q) for m, q in zip(powers, numbers, strict=True))
                return np.exp(n * (s + turn) - sum(logs)).real

            low, high = np.log(small[at]) - SPENT / gap[at], SPENT / excess[at]
            steps = np.full(at.shape, step)
            integral[at] = _over_all(f, low, high, steps, n[at], powers[:, at], numbers[:, at])
        return (integral * size**-excess).reshape(shape)[()]


def tricomi(i: Any, j: Any, a: Any, b: Any, x: Any) -> Any:
    """∫ tᵃ⁻¹ (1+t)ᵇ⁻ᵃ⁻¹ exp(-xt) log(t/(1+t))ⁱ log(1+t)ʲ dt over t > 0, if a + j ≥ ½ and x > 0."""
    arrays = np.broadcast_arrays(i, j, a, b, x)
    shape = arrays[0].shape
    i, j, a, b, x = (np.asarray(each, float).ravel() for each in arrays)
    wrong = ~(np.isfinite(a + b + x) & (a + j >= 0.5) & (x > 0.0))
    a, b, x = (np.where(wrong, 1.0, each) for each in (a, b, x))
    fall = np.abs(a + 1.0 - b)
    low = np.log((a + j) / (x + fall + a + j)) - SPENT / (a + j) - 3.0
    high = np.log((SPENT + 3.0 * np.maximum(a, b)) / x)

    def f(s: Any, i: Any, j: Any, a: Any, b: Any, x: Any) -> Any:
        t = np.exp(s)
        up = np.log1p(t)
        return np.exp(a * s + (b - a - 1.0) * up - x * t) * (s - up) ** i * up**j

    with np.errstate(all="ignore"):
        curved = np.maximum(a, b) + 0.25 * fall
        integral = _over_all(f, low, high, 0.2 / np.sqrt(1.0 + curved / 12.0), i, j, a, b, x)
    return np.where(wrong, np.nan, integral).reshape(shape)[()]


def struve(n: Any, k: Any, v: Any, x: Any) -> Any:
    """∫ tⁿ exp(-xt) (1-t²)ᵛ⁻¹⸍² log(1-t²)ᵏ dt over 0 < t < 1, if v ≥ -¼ and x ≥ 1; or 0."""
    n, k, v, x = np.broadcast_arrays(n, k, np.asarray(v, float), x)
    shape, wrong = v.shape, ~((v >= -0.25) & (x >= 1.0)).ravel()
    n, k, v, x = (np.where(wrong, 1.0, each.ravel()) for each in (n, k, v, x))

    def f(s: Any, n: Any, k: Any, v: Any, x: Any) -> Any:
        t, up = 1.0 / (1.0 + np.exp(-s)), np.logaddexp(0.0, s)
        log = np.log1p(t) - up
        return np.exp((n + 1.0) * (s - up) - x * t + (v - 0.5) * log - up) * log**k

    low, high = -np.log(x) - SPENT / (n + 1.0), SPENT / (v + 0.5)
    return np.where(wrong, 0.0, _over_all(f, low, high, np.full(v.size, 0.2), n, k, v, x)).reshape(
        shape
    )[()]
