"""How optimisations come closer, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._axes import colors, new_axes

_DASHES = ("-", "--", "-.", ":")
_FEW = 30  # steps, of which each has a mark

FloatArray = NDArray[np.float64]


def convergence(
    *runs: Any, labels: Sequence[str] | None = None, what: str = "value", ax: Any = None
) -> Any:
    """Draw values or norms of gradients against steps, on a logarithmic scale.

    Parameters
    ----------
    *runs : array_like, History or OptimizeResult; or one dict
        Numbers, one for each step; a `cadiff.optimize.History`; or a result that has one, as from
        `minimize(f, x0, callback=History())`. One dict stands for runs by their labels.
    labels : sequence of str, optional
        What the runs are called.
    what : {"value", "gradient"}
        What is drawn of a History: the values, or the norms of the gradients.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless told.

    Returns
    -------
    matplotlib.axes.Axes
        With a line for each run. Where there are values of 0 or less, all values are drawn by how
        far they are above the lowest one of all runs.

    Raises
    ------
    TypeError
        If a run is neither a History, a result that has one, nor one number for each step.
    ValueError
        If there are not as many labels as runs, or nothing finite to draw.
    """
    if what not in ("value", "gradient"):
        raise ValueError(f'what is "value" or "gradient", not {what!r}')
    if len(runs) == 1 and type(runs[0]) is dict:
        labels, runs = list(runs[0]), tuple(runs[0].values())
    if labels is not None and len(labels) != len(runs):
        raise ValueError(f"there are {len(labels)} labels for {len(runs)} runs")
    if not runs:
        raise TypeError("convergence takes one run or more: numbers, a History, or a result")
    found = [_numbers_of(run, what) for run in runs]
    known = np.concatenate(found)
    known = known[np.isfinite(known)]
    if not known.size:
        raise ValueError(
            "there are no gradients in these runs: their methods do not compute any"
            if what == "gradient"
            else "there are no finite numbers in these runs"
        )
    label = "norm of the gradient" if what == "gradient" else "value"
    if what == "value" and known.min() <= 0.0 and known.max() > known.min():
        found = [values - known.min() for values in found]
        label = f"value above the lowest, {known.min():.6g}"
    ax = new_axes(ax)
    palette = colors(ax, len(found))
    for k, values in enumerate(found):
        ax.plot(
            np.arange(len(values)),
            np.where(values > 0.0, values, np.nan),
            color=palette[k],
            linestyle=_DASHES[k % len(_DASHES)],
            marker="o" if len(values) <= _FEW else None,
            markersize=4,
            label=None if labels is None else str(labels[k]),
        )
    if labels is None and len(runs) > 1:
        for k, line in enumerate(ax.lines[-len(runs) :]):
            line.set_label(f"run {k + 1}")
    ax.set_yscale("log")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("step")
    ax.set_ylabel(label)
    ax.grid(alpha=0.3)
    if labels is not None or len(runs) > 1:
        ax.legend()
    return ax


def _numbers_of(run: Any, what: str) -> FloatArray:
    """The numbers of a run, shape (steps,)."""
    history = getattr(run, "history", run)
    if hasattr(history, "gradient_norms"):
        numbers = history.gradient_norms if what == "gradient" else history.values
        return np.asarray(numbers, dtype=np.float64)
    if isinstance(history, Mapping):
        raise TypeError(
            "this result does not say how it was found: pass callback=History() to the optimiser, "
            "from cadiff.optimize"
        )
    numbers = np.asarray(history, dtype=np.float64)
    if numbers.ndim != 1:
        raise TypeError(f"a run has one number for each step, not the shape {numbers.shape}")
    return numbers
