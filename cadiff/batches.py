"""Many points through one program, side by side and by several threads."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import prod
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import CallError, Code
from .recordings import Call, Recorded, met
from .traces import Traces
from .transforms import grad, hessian
from .transforms._base import checked_argnums, is_int
from .transforms._outputs import all_shapes, in_containers, places

__all__ = ["BatchCalls", "Points"]

WHAT = ("value", "grad", "value_and_grad", "jacobian", "hessian")

ENOUGH = 400_000  # operations, which a thread of its own is worth
MOST_THREADS = 64
PARTS = 4  # for each thread, which may begin late, or be slower


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
        count = min(n, PARTS * threads)
        work = _Work(pairwise([n * k // count for k in range(count + 1)]), self._run_part)
        _helpers(os.getpid()).share(work, threads - 1)
        work.carry_out()
        work.wait()

    def _run_part(self, begin: int, end: int) -> None:
        code = self._code
        code.run_points(self._own, self._shared, self.heads, self.tails, self.missed, begin, end)


class _Work:
    """Parts [begin, end) of work that threads share: each takes one after the other."""

    def __init__(self, parts: Iterable[tuple[int, int]], run: Callable[[int, int], None]) -> None:
        self._left = deque(parts)
        self._count = len(self._left)
        self._done: deque[BaseException | None] = deque()
        self._run = run

    def carry_out(self) -> None:
        """Take parts as long as there are any; if one fails, none is begun any more."""
        failed = False
        while self._left:
            try:
                begin, end = self._left.popleft()
            except IndexError:  # another thread was faster
                return
            failure = None
            try:
                if not failed:
                    self._run(begin, end)
            except BaseException as error:  # what interrupts a thread is for the caller to see
                failed, failure = True, error
            self._done.append(failure)

    def wait(self) -> None:
        """Until all parts are done: not longer than one of them takes."""
        while len(self._done) < self._count:
            _yield()
        for failure in self._done:
            if failure is not None:
                raise failure


def _yield() -> None:
    """Let other threads go on: a sleep of no time takes 50 us."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0.0)


class _Helpers:
    """Threads that wait for work, to share it with whoever has it.

    The futures of an executor would cost as much as a small batch.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[_Work] = SimpleQueue()
        self._count = 0
        self._lock = threading.Lock()

    def share(self, work: _Work, count: int) -> None:
        with self._lock:
            while self._count < min(count, MOST_THREADS):
                self._count += 1
                name = f"cadiff-{self._count}"
                threading.Thread(target=self._wait_for_work, name=name, daemon=True).start()
        for _ in range(min(count, MOST_THREADS)):
            self._work.put(work)

    def _wait_for_work(self) -> None:
        while True:
            self._work.get().carry_out()


@functools.lru_cache(maxsize=1)
def _helpers(process: int) -> _Helpers:
    """Those of a process: a fork has to have its own."""
    del process
    return _Helpers()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class BatchCalls(Traces):
    """The batches of a Program, which this is a part of."""

    def batch(
        self,
        X: Any,
        /,
        *others: Any,
        what: str = "value",
        threads: int | None = None,
        argnums: int | Sequence[int] = 0,
        **kwargs: Any,
    ) -> Any:
        """The same for many points: the first argument has one leading axis more.

        Points are computed side by side, and by several threads, without the GIL.

        Parameters
        ----------
        X : array_like, shape (points, ...)
            One first argument after the other.
        *others, **kwargs
            The other arguments, which are the same for all points.
        what : {"value", "grad", "value_and_grad", "jacobian", "hessian"}
            What is wanted for each point.
        threads : int, optional
            How many threads share the points. None: as many as the process may use, if there is
            enough to do.
        argnums : int or tuple of ints
            What to differentiate by.

        Returns
        -------
        What the method of that name gives, with one leading axis more on each array.
        """
        if what not in WHAT:
            raise ValueError(f"what is one of {list(WHAT)}, not {what!r}")
        if threads is not None and (not is_int(threads) or threads < 1):
            raise ValueError(f"threads is an int of 1 or more, or None, not {threads!r}")
        numbers, single = checked_argnums(argnums)
        if not self._is_eager((X, *others), kwargs):
            if isinstance(X, dict):
                raise TypeError(
                    "batch takes one array with a leading axis for the points, not a dict: write "
                    "f as a function of one array"
                )
            X = np.asarray(X)
            _core.structure_of((X,), (0,))  # says what is wrong
            X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        if _core.ndim(X) == 0:
            raise ValueError(
                "batch takes an array with a leading axis for the points, not a number"
            )
        is_plain = isinstance(X, np.ndarray) and X.dtype == np.float64 and len(X) > 0
        if self._optimize and is_plain:
            batch = Batch(X, others, kwargs, what, () if what == "value" else numbers)
            recorded = self._run_batch(batch, threads)
            if recorded is not None:
                return batch.result(recorded, single)
        call = getattr(self, what)
        options = {} if what == "value" else {"argnums": argnums}
        if len(X) == 0:
            nothing = call(_point(np.ones(X.shape[1:])[()]), *others, **options, **kwargs)
            return _stacked([nothing], 0)
        return _stacked([call(_point(x), *others, **options, **kwargs) for x in X])

    def _run_batch(self, batch: Batch, threads: int | None) -> Recorded | None:
        """Compute it by one code for all points; None if there is none."""

        def of_first(recorded: Recorded) -> tuple[Recorded, bool]:
            if batch.kind in ("gradient", "hessian") and not recorded.is_number:
                wrong = grad if batch.kind == "gradient" else hessian  # which says what
                wrong(self._function, batch.numbers)(*batch.first.args, **batch.kwargs)
            if recorded.guards:
                self._met(batch.first, recorded)
            with self._lock:
                return recorded, batch.prepare(recorded)

        done, found = self._replayed(batch.first, of_first)
        if not done or not found[1]:
            return None
        recorded: Recorded = found[0]
        try:
            missed = batch.run(threads)
        except CallError:  # f itself will raise what there is to raise
            return None
        for i in missed:
            call = batch.call(i)
            done, found = self._replayed(call, functools.partial(self._run_alone, batch, call))
            if not done or found[0] != recorded.output.form:
                return None
            batch.put(i, found[1])
        return recorded

    def _run_alone(self, batch: Batch, call: Call, recorded: Recorded) -> tuple[Any, Any]:
        """The form of what f returns for one point, and all that is wanted there in a row."""
        with self._lock:
            computed = batch.of_one(recorded)
        return recorded.output.form, met(computed.run(call.vector()))


class Batch:
    """What is wanted for many points: the numbers of each stand in a row."""

    def __init__(
        self,
        X: NDArray[np.float64],
        others: tuple[Any, ...],
        kwargs: dict[str, Any],
        what: str,
        numbers: tuple[int, ...],
    ) -> None:
        self.X = X
        self.others = others
        self.kwargs = kwargs
        self.what = what
        self.kind = "gradient" if what in ("grad", "value_and_grad") else what
        count = 1 + len(others)
        self.numbers = tuple(k + count if k < 0 else k for k in numbers)
        first = self.call(0)
        order = first.argnums
        self.ranges = tuple(first.ranges[order.index(k)] for k in self.numbers)
        self.first = first

    def call(self, i: int) -> Call:
        """The call for the i-th point; its first argument comes first among the inputs."""
        others = tuple(k for k in self.numbers if k != 0)
        return Call((_point(self.X[i]), *self.others), self.kwargs, (0, *others))

    def of_one(self, recorded: Recorded) -> Any:
        """What computes one point."""
        if self.kind in ("jacobian", "hessian"):
            return recorded.plan(self.kind, self.ranges)
        return recorded.code(self.kind, self.ranges)

    def prepare(self, recorded: Recorded) -> bool:
        """Whether there is a code for many points."""
        self._plan = None
        if self.kind in ("jacobian", "hessian"):
            self._plan = recorded.plan(self.kind, self.ranges, "dense", for_points=True)
            code = self._plan.code
            if self._plan.n_colors > 0:
                return False
        else:
            code = recorded.code_for_points(self.kind, self.ranges)
        rows = np.ascontiguousarray(self.X).reshape(len(self.X), -1)
        shared = self.first.vector()[rows.shape[1] :]
        self.points = Points(code, rows, shared, int(self.kind == "gradient"))
        return True

    def run(self, threads: int | None) -> NDArray[np.intp]:
        """Compute all points; answers those that meet other outcomes than the recording did."""
        self.points.run(threads)
        if self._plan is not None:
            self.points.tails = self._plan.spread(self.points.tails)
        missed: NDArray[np.intp] = np.flatnonzero(self.points.missed)
        return missed

    def put(self, i: int, numbers: NDArray[np.float64]) -> None:
        heads = self.points.heads
        heads[i] = numbers[: heads.shape[1]]
        self.points.tails[i] = numbers[heads.shape[1] :]

    # --- results

    def result(self, recorded: Recorded, single: bool) -> Any:
        """As the method of that name gives it, with one leading axis more."""
        shapes = recorded.output.shapes
        if self.kind == "value":
            return recorded.output.fill(self._leaves(shapes))
        structure = _core.structure_of(self.first.args, self.numbers)
        below = all_shapes(structure)
        if self.kind == "gradient":
            gradients = in_containers(self._leaves(below), structure, single)
            return gradients if self.what == "grad" else (self.points.heads[:, 0], gradients)
        above = below if self.kind == "hessian" else shapes
        blocks = [in_containers(row, structure, single) for row in self._blocks(above, below)]
        if self.kind == "hessian":
            return in_containers(blocks, structure, single)
        return recorded.output.fill(blocks)

    def _leaves(self, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        """The results as leaves of these shapes, none of which shares memory with another."""
        tails = self.points.tails
        leaves = [tails[:, part].reshape(len(tails), *shape) for part, shape in places(shapes)]
        return [leaf.copy() for leaf in leaves] if leaves[1:] else leaves

    def _blocks(
        self, above: Sequence[tuple[int, ...]], below: Sequence[tuple[int, ...]]
    ) -> list[list[Any]]:
        """Blocks of matrices with a row for each number of what is above."""
        n = len(self.X)
        matrices = self.points.tails.reshape(n, sum(map(prod, above)), sum(map(prod, below)))
        return [
            [
                matrices[:, rows, part].reshape(n, *shape, *leaf).copy()
                for part, leaf in places(below)
            ]
            for rows, shape in places(above)
        ]


def _point(x: Any) -> Any:
    return float(x) if isinstance(x, np.floating) else x


def _stacked(items: list[Any], count: int | None = None) -> Any:
    """Results for several points (or for `count` of them) as one, with one axis more."""
    first = items[0]
    keys: Any = None
    if isinstance(first, dict):
        keys = list(first)
    elif isinstance(first, (list, tuple)):
        keys = list(range(len(first)))
    if keys is None:
        return np.array(items)[:count]
    for item in items:
        if type(item) is not type(first) or len(item) != len(keys):
            raise ValueError(
                f"what f returns differs from point to point: {type(first).__name__} of "
                f"{len(keys)}, {type(item).__name__} of {len(item)}"
            )
    if isinstance(first, dict):
        return {key: _stacked([item[key] for item in items], count) for key in keys}
    parts = [_stacked([item[k] for item in items], count) for k in keys]
    if isinstance(first, list):
        return parts
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
