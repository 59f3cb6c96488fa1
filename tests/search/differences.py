"""Derivatives by differences, with what they are worth: the judge that shares nothing with us.

A derivative is called wrong only if two steps of eighth order agree with each other, one-sided
differences from the left and from the right agree with them, and a third step confirms it. So a
kink, a jump, noise, or a bad condition have no verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Curve = Callable[[float], Array]  # numbers along a line

CENTRAL = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
FORWARD = np.array([-25 / 12, 4, -3, 4 / 3, -1 / 4])
STEPS = (2.0**-6, 2.0**-9, 2.0**-12, 2.0**-15)
NOISE = 2e-15  # of values, relative
EPSILON = 2.0**-52


@dataclass(frozen=True)
class Slopes:
    """Central differences of one step, how far one-sided ones are from them, and their noise."""

    central: Array
    spread: Array
    noise: Array


def slopes(f: Curve, step: float) -> Slopes | None:
    values = [np.asarray(f(k * step), dtype=float) for k in range(-4, 5)]
    if len({v.shape for v in values}) > 1:
        return None
    table = np.array(values)
    with np.errstate(all="ignore"):
        central = np.tensordot(CENTRAL, table, 1) / step
        forward = np.tensordot(FORWARD, table[4:], 1) / step
        backward = -np.tensordot(FORWARD, table[4::-1], 1) / step
        spread = np.maximum(np.abs(forward - central), np.abs(backward - central))
        noise = NOISE * np.max(np.abs(table), axis=0) / step
        is_still = np.all(table == table[0], axis=0)  # as 1 - x is, of which x was rounded away
        noise = np.where(is_still, np.maximum(noise, EPSILON / step), noise)
    return Slopes(central, spread, noise)


@dataclass(frozen=True)
class Verdict:
    """Differences, what they may be wrong by (infinite where nothing can be said)."""

    slope: Array
    error: Array

    def contradicts(self, derivative: Array, rtol: float) -> Array:
        """Where a derivative is not what differences say."""
        with np.errstate(all="ignore"):
            allowed = 20.0 * self.error + rtol * np.abs(self.slope)
            away = np.abs(derivative - self.slope)
            is_sharp = self.error <= 1e-4 * np.abs(self.slope) + 1e-9
            is_known = np.where(np.isfinite(derivative), np.isfinite(self.error), is_sharp)
            return is_known & ~(away <= allowed)


def jumps(f: Curve, here: Array) -> bool:
    """Whether numbers are others at the least step: signs of vectors turn, orders change."""
    size = np.max(np.abs(here[np.isfinite(here)]), initial=0.0)
    for h in (STEPS[-1], -STEPS[-1]):
        there = np.asarray(f(h), dtype=float)
        if there.shape != here.shape:
            return True
        with np.errstate(all="ignore"):
            away = np.abs(there - here)
        if np.max(away[np.isfinite(away)], initial=0.0) > 1e-3 * size:
            return True
    return False


def judge(f: Curve) -> Verdict | None:
    """The best of what several steps say of each number; None where f jumps."""
    here = np.asarray(f(0.0), dtype=float)
    if jumps(f, here):
        return None
    floor = 1e-13 * np.max(np.abs(here[np.isfinite(here)]), initial=0.0)
    best: Verdict | None = None
    former: Slopes | None = None
    for step in STEPS:
        now = slopes(f, step)
        if now is None:
            return None
        if former is not None:
            with np.errstate(all="ignore"):
                error = np.abs(now.central - former.central) + now.spread + now.noise + floor
            error = np.where(np.isfinite(error) & np.isfinite(now.central), error, np.inf)
            if best is None:
                best = Verdict(now.central, error)
            else:
                is_better = error < best.error
                best = Verdict(
                    np.where(is_better, now.central, best.slope),
                    np.where(is_better, error, best.error),
                )
            if np.all(best.error <= 1e-9 * (1e-3 + np.abs(best.slope))):
                break
        former = now
    return best


def confirmed(f: Curve, derivative: Array, wrong: Array, rtol: float) -> Array:
    """Of numbers that seem wrong those that a step between the others contradicts as well.

    A derivative by which a number would be another one within the least of the steps is asked
    about by steps that are as small: a true one shows there, and a wrong one does not.
    """
    with np.errstate(all="ignore"):
        reach = 1e-3 * np.abs(np.asarray(f(0.0), dtype=float) / derivative)
        is_steep = wrong & (reach > 0.0) & (reach < STEPS[-1])
        own = np.where(is_steep, 2.0 ** np.floor(np.log2(reach)), 0.0)
    for step in np.unique(own[is_steep]):
        now = slopes(f, step)
        if now is not None:
            verdict = Verdict(now.central, now.spread + now.noise)
            wrong = wrong & ((own != step) | verdict.contradicts(derivative, rtol))
    if not wrong.any():
        return wrong
    for step in (2.0**-7, 2.0**-10, 2.0**-13):
        now = slopes(f, step * 0.77)
        if now is None:
            return np.zeros_like(wrong)
        with np.errstate(all="ignore"):
            error = now.spread + now.noise
            is_sharp = error <= 1e-3 * np.abs(now.central - derivative)
            if np.all(is_sharp[wrong] | ~np.isfinite(derivative[wrong])):
                verdict = Verdict(now.central, np.where(np.isfinite(error), error, np.inf))
                return wrong & verdict.contradicts(derivative, rtol)
    return np.zeros_like(wrong)


def are_linear(lines: Callable[[float, float], Curve]) -> Array:
    """Of which numbers differences along two directions tell those along sums of them.

    Where they do not there is no derivative, though both sides of a line may agree: the middle one
    of three equal numbers is such a kink.
    """
    unknown = Verdict(np.nan, np.inf)
    x, y = (judge(lines(*axis)) or unknown for axis in ((1.0, 0.0), (0.0, 1.0)))
    are_so = np.True_
    for a, b in ((1.0, 1.0), (1.0, -1.0), (2.0, 1.0), (1.0, -2.0)):
        along = judge(lines(a, b)) or unknown
        told = Verdict(a * x.slope + b * y.slope, 3.0 * (x.error + y.error) + along.error)
        are_so = are_so & ~told.contradicts(along.slope, 1e-6)
    return are_so
