"""The method of Dormand and Prince of order 5 as a loop: in a program it is one step.

Its values are those of `jax.experimental.ode.odeint`. Steps are as long as the errors of former
ones ask for; derivatives are those of what is computed, steps being as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from .. import numpy as np
from ..binding import stop_gradient
from ..programs.control_flow import scan, while_loop

# Dormand and Prince 1980: times of stages, weights of slopes for each of them and for the end. The
# method is "first same as last": the last stage is the next step's first.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_END = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    _END[:6],
)
# Less those of order 4, for the error: here of Shampine 1986, too.
_OF_ORDER_4 = (
    *(1951 / 21600, 0.0, 22642 / 50085, 451 / 720),
    *(-12231 / 42400, 649 / 6300, 1 / 60),
)
# Shampine 1986, for the middle of a step.
_MIDDLE = (
    6025192743 / 60171106304,
    *(0.0, 51252292925 / 130801643196, -2691868925 / 90256659456),
    *(187940372067 / 3189068634112, -1776094331 / 39487288512, 11237099 / 470086768),
)
# A quartic through both ends, with their slopes, and the middle: its coefficients from the highest
# on, by the step times both slopes, both ends and the middle.
_QUARTIC = onp.array(
    [
        [-2, 2, -8, -8, 16],
        [5, -3, 18, 14, -32],
        [-4, 1, -11, -5, 16],
        [1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
    ],
    float,
)


def _weighted(weights: Any, slopes: list[Any]) -> Any:
    return sum(w * k for w, k in zip(weights, slopes, strict=False) if w)


def _first_step(f: Callable[..., Any], y: Any, t: Any, slope: Any, rtol: Any, atol: Any) -> Any:
    """Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.4."""
    scale = atol + rtol * np.abs(y)
    size: Any = lambda x: np.sqrt(np.sum(np.abs(x / scale) ** 2))  # noqa: E731
    of_y, of_slope = size(y), size(slope)
    is_small = (of_y < 1e-5) | (of_slope < 1e-5)
    short = np.where(is_small, 1e-6, 0.01 * of_y / np.where(is_small, 1.0, of_slope))
    bend = size(f(y + short * slope, t + short) - slope) / short
    largest = np.maximum(of_slope, bend)
    is_flat = largest <= 1e-15
    step = (0.01 / np.where(is_flat, 1.0, largest)) ** (1 / 5)
    return np.minimum(100 * short, np.where(is_flat, np.maximum(1e-6, 1e-3 * short), step))


def solutions(
    f: Callable[[Any, Any], Any], y: Any, times: Any, rtol: float, atol: float,
    most_steps: float = onp.inf, longest: float = onp.inf,
) -> Any:  # fmt: skip
    """The solution of y' = f(y, t) from y, a vector, at times, which increase: a row for each.

    Where `most_steps` do not lead from one time to the next, the rows behind are of the last step.
    """

    def step(state: Any) -> Any:
        n, y, slope, t, h, before, quartic = state
        slopes = [slope]
        for time, weights in zip(_TIMES, _STAGES, strict=True):
            last = y + h * _weighted(weights, slopes)
            slopes.append(f(last, t + h * time))
        error = h * _weighted(onp.subtract(_END, _OF_ORDER_4), slopes)
        bound = atol + rtol * np.maximum(np.abs(y), np.abs(last))
        ratio = stop_gradient(np.sqrt(np.mean(np.abs(error / bound) ** 2)))
        # A longer step by a tenfold at most, and a shorter one by a fifth if this one failed.
        least = np.where(ratio < 1.0, 1.0, 0.2)
        factor = np.maximum(0.9 * np.where(ratio == 0.0, 1e-9, ratio) ** -0.2, least)
        parts = [h * slope, h * slopes[-1], y, last, y + h * _weighted(_MIDDLE, slopes)]
        is_good = ratio <= 1.0
        chosen = zip(
            (last, slopes[-1], t + h, t, np.matmul(_QUARTIC, np.stack(parts))),
            (y, slope, t, before, quartic),
            strict=True,
        )
        last, slope, end, before, quartic = (np.where(is_good, *pair) for pair in chosen)
        h = np.clip(h * np.minimum(10.0, factor), 0.0, longest)
        return n + 1, last, slope, end, h, before, quartic

    def until(state: Any, time: Any) -> Any:
        going = lambda s: (s[3] < time) & (s[0] < most_steps) & (s[4] > 0.0)  # noqa: E731
        _, *state = while_loop(going, step, (0, *state))
        _, _, t, _, before, quartic = state
        at = (time - before) / (t - before)
        row = quartic[0]
        for coefficient in quartic[1:]:
            row = row * at + coefficient
        return tuple(state), row

    t, slope = times[0], f(y, times[0])
    h = stop_gradient(np.clip(_first_step(f, y, t, slope, rtol, atol), 0.0, longest))
    first = y, slope, t, h, t, np.stack([y] * 5)
    return np.concatenate([y[None], scan(until, first, times[1:])[1]])
