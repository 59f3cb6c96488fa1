"""SciPy's names: cadiff.scipy's, but for `signal.convolve`, which is autograd's."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as onp

from cadiff import numpy as np

from .. import aliases

Axes = tuple[Sequence[int], Sequence[int]]


def convolve(
    A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full"
) -> Any:
    """The convolution of A with B along pairs of axes.

    Pairs of `dot_axes` are multiplied and summed. The result has the axes of A that are in no
    pair, those of B, and those of the convolution.
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode is full, same or valid, not {mode!r}")
    along: Any = axes if axes is not None else (range(A.ndim), range(B.ndim))
    pairs = [*zip(*along, strict=True)]
    sizes = [(A.shape[a], B.shape[b]) for a, b in pairs]
    if mode == "valid" and len({n >= m for n, m in sizes if n != m}) > 1:
        raise ValueError("one array has to be the larger one along all axes of the convolution")
    numbers = itertools.count()  # of axes, as `einsum` takes them
    of_a, of_b = ([next(numbers) for _ in range(x.ndim)] for x in (A, B))
    for a, b in zip(*dot_axes, strict=True):
        of_b[b] = of_a[a]
    kept = [x for k, x in enumerate(of_a) if k not in (*along[0], *dot_axes[0])]
    kept += [x for k, x in enumerate(of_b) if k not in (*along[1], *dot_axes[1])]
    spread: Any = [(x,) for x in of_a]
    for a, b in pairs:
        spread[a] = (next(numbers), of_b[b])
        kept.append(spread[a][0])
    # Of the axes from behind, so that those before keep their places.
    for (a, _), (n, m) in sorted(zip(pairs, sizes, strict=True), reverse=True):
        first = {"full": 0, "same": (m - 1) // 2, "valid": min(n, m) - 1}[mode]
        last = {"full": n + m - 1, "same": first + n, "valid": max(n, m)}[mode]
        places = onp.add.outer(onp.arange(first, last), m - 1 - onp.arange(m))
        A = np.pad(A, [(m - 1, m - 1) if k == a else (0, 0) for k in range(A.ndim)])
        A = np.take(A, places, axis=a)
    return np.einsum(A, [*itertools.chain(*spread)], B, of_b, kept)


aliases.stand_for(__name__, "cadiff.scipy", {"signal": {"convolve": convolve}})
