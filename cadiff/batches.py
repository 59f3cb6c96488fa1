"""Many points through one program, side by side and by several threads."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ._core import Code

__all__ = ["Points"]

ENOUGH = 400_000  # operations, which a thread of its own is worth
MOST_THREADS = 64


class Points:
    """Rows of inputs, and what a code makes of them.

    Parameters
    ----------
    code : Code
    own : ndarray, shape (points, n)
        The first n inputs of each point; contiguous, float64.
    shared : ndarray
        The other inputs, which all points share.
    heads : int
        How many results stand apart from the others.

    Attributes
    ----------
    heads, tails : ndarrays, shape (points, k)
        The first results, and the others.
    missed : ndarray of uint8, shape (points,)
        Whether a point met another outcome than the recording did: then it has no results.
    """

    def __init__(
        self, code: Code, own: NDArray[np.float64], shared: NDArray[np.float64], heads: int
    ) -> None:
        self._code = code
        self._own = own
        self._shared = shared
        self.heads = np.empty((len(own), heads))
        self.tails = np.empty((len(own), code.n_results - heads))
        self.missed = np.zeros(len(own), dtype=np.uint8)

    def run(self, threads: int | None) -> None:
        """Compute all rows; with None, by as many threads as there are cores and work for them."""
        n = len(self._own)
        if threads is None:
            threads = min(_cores(), self._code.n_operations * n // ENOUGH)
        if threads <= 1 or n < 2 * threads:
            self._run_part(0, n)
            return
        bounds = [n * k // threads for k in range(threads + 1)]
        first, *others = pairwise(bounds)
        parts = [_pool(os.getpid()).submit(self._run_part, *part) for part in others]
        self._run_part(*first)
        for part in parts:
            part.result()

    def _run_part(self, begin: int, end: int) -> None:
        code = self._code
        code.run_points(self._own, self._shared, self.heads, self.tails, self.missed, begin, end)


@functools.lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of a process, which wait for further batches; a fork has to have its own."""
    del process
    return ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="cadiff")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
