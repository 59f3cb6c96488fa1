"""Loops that were found in recordings, as steps of a program: see loop_steps.py.

A turn is a graph; which of them serves, its guards tell. How turns were found is not known here.
"""

from __future__ import annotations

import copy
import functools
import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import CallError, Graph, Turns, way_of
from .loop_steps import UNTIL, AnyLoop, doubled
from .native import Machines
from .recorded import NOT_SERVED, FloatArray

MOST_WAYS = 64  # that are known one by one

_OTHER = "a derivative of a turn is not what it was when it was recorded"


class _UnservedError(Exception):
    """A way through the turns that f was not recorded with."""


class _Steps:
    """The codes of turns, as `AnyLoop` asks for them."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs = graphs
        self.codes = [graph.code_of("value") for graph in graphs]

    @functools.cached_property
    def pulls(self) -> list[Any]:
        return [*map(self._pull, self._graphs)]

    @staticmethod
    def _pull(graph: Graph) -> Any:
        try:
            return graph.code_of("pull", [(0, graph.n_inputs)])
        except NOT_SERVED:
            return None

    def pulled(self, row: FloatArray, seed: FloatArray, served: int) -> Any:
        raise CallError(_OTHER)


class Ways:
    """The ways through turns that f was recorded with.

    If it is known where f stands behind each turn, they are `free`: others are served that have as
    many turns as one of these, if turns have come in such an order: each behind the same one, and
    that behind the same, which may have handed on a number. Else f may count, and these alone are
    served, if there are several turns.
    """

    def __init__(self, free: bool) -> None:
        self._is_free = free
        self.lengths: frozenset[int] = frozenset()
        self._known: tuple[tuple[int, ...], ...] = ()
        self._orders: frozenset[tuple[int, int, int]] = frozenset()  # of turns; -1: the beginning
        self._of_codes: dict[tuple[int, ...], Any] = {}  # what is known, of codes in their order

    def with_one(self, turns: list[int]) -> Ways:
        """These, and one more."""
        ways = copy.copy(self)
        ways.lengths |= {len(turns)}
        ways._of_codes = {}
        if self._is_free:
            ways._orders |= _orders_of(turns)
        else:
            others = [one for one in self._known if one != (*turns,)]
            ways._known = ((*turns,), *others[: MOST_WAYS - 1])
        return ways

    def have(self, run: Turns, turns: tuple[int, ...]) -> bool:
        """Whether the way of a run is one of these, whose codes are those of these turns."""
        if run.t not in self.lengths:
            return False
        known = self._of_codes.get(turns)
        if known is None:
            known = self._of_codes[turns] = (self._masks if self._is_free else self._digests)(
                turns
            )
        if self._is_free:
            orders = zip(run.orders(len(turns)), known, strict=True)
            return not any(here & ~there for here, there in orders)
        return len(turns) == 1 or run.way in known

    def _masks(self, turns: tuple[int, ...]) -> list[int]:
        """As `Turns.orders` has them."""
        first = [*turns, -1]
        return [
            sum(1 << k for k, one in enumerate(first) if (one, behind, last) in self._orders)
            for last, behind in itertools.product(turns, repeat=2)
        ]

    def _digests(self, turns: tuple[int, ...]) -> set[int]:
        known = [one for one in self._known if {*one} <= {*turns}]
        return {functools.reduce(way_of, map(turns.index, one), 0) for one in known}

    @property
    def most(self) -> int:
        """Turns."""
        return max(self.lengths, default=0)

    @property
    def are_several(self) -> bool:
        return len(self.lengths) > 1


def _orders_of(turns: list[int]) -> set[tuple[int, int, int]]:
    """Which turns came behind others that came behind others."""
    found: set[tuple[int, int, int]] = set()
    behind: dict[int, set[int]] = {}
    seen = {-1}
    for last in turns:
        found |= {(one, k, last) for k in seen - {-1} for one in behind[k]}
        behind.setdefault(last, set()).update(seen)
        seen.add(last)
    return found


class FoundLoop(AnyLoop):
    """Turns as long as one of them serves; the first result is 1 if f may go this way."""

    name = "a loop"

    def __init__(
        self,
        turns: dict[int, Graph],
        sizes: tuple[int, int, int],
        ways: Ways,
        of: FoundLoop | None = None,
    ) -> None:
        super().__init__((*sizes, 0), UNTIL)
        self._turns, self.ways = turns, ways
        self._of = of  # that it is pushed
        self.rows: FloatArray = np.zeros((1, 0))  # constants of each turn
        self.behind: dict[int, list[float]] = {}  # and those behind a number of turns
        self.at_behind: list[int] = []  # where these stand
        self.expected: dict[int, float] = {}  # of results, if f goes on behind the turns as it did

    @functools.cached_property
    def _steps(self) -> _Steps:
        return _Steps([*self._turns.values()])

    @property
    def _most_turns(self) -> int:
        return self._root.ways.most + 1

    @property
    def _root(self) -> FoundLoop:
        return self if self._of is None else self._of._root

    def _with_rows(self, x: FloatArray) -> FloatArray:
        return x if self._sizes[2] == 0 else np.concatenate([x, self._rows().ravel()])

    def _rows(self) -> FloatArray:
        if self._of is None:
            return self.rows
        rows = self._of._rows()
        return np.concatenate([rows, np.zeros_like(rows)], axis=1)

    @functools.cached_property
    def pushed(self) -> FoundLoop:
        p, n, m, _ = self._sizes
        places = doubled((p, n, m), 0, 0)[1].tolist()
        ends = [*range(n), *range(n + 1, 2 * n + 1), n]
        turns = {
            turn: binding.in_other_order(graph.graph_of("push", [(0, p + n + m)]), places, ends)
            for turn, graph in self._turns.items()
        }
        return FoundLoop(turns, (2 * p, 2 * n, 2 * m), self.ways, self)

    def share(self, machines: Machines) -> None:
        for graph in self._turns.values():
            graph.machines = machines if machines.asked and not machines.is_patient else None
        if vars(self).pop("_steps", None) is not None and "pushed" in vars(self):
            self.pushed.share(machines)

    def _run(self, turns: Turns) -> Turns:
        if not turns.run():
            turns.finish()
        return turns

    def _is_known(self, turns: Turns) -> bool:
        return self._root.ways.have(turns, (*self._turns,))

    def _forth(self, x: FloatArray, most: int = 0, behind: int = sys.maxsize) -> Turns:
        turns: Turns = super()._forth(x, most, behind)
        if self._of is not None and not self._is_known(turns):
            raise _UnservedError
        return turns

    def _results_of(self, turns: Turns) -> FloatArray:
        results: FloatArray = turns.results
        is_there = all(results[at] == one for at, one in self.expected.items())
        results[0] = float(is_there and self._is_known(turns))
        if (root := self._root).at_behind:
            results[root.at_behind] = root.behind.get(turns.t, 0.0)
        return results

    def _unserved(self, x: FloatArray, n: int) -> FloatArray:
        """Numbers in the place of those of a call that will not be served.

        CallError if it will: then a derivative of a turn is not what it was.
        """
        of = self._of
        if of is not None and of.value(x[of.of_inputs[: of.n_inputs]])[0] == 1.0:
            raise CallError(_OTHER)
        return np.zeros(n)

    def value(self, x: FloatArray) -> FloatArray:
        try:
            return super().value(x)
        except _UnservedError:
            return self._unserved(x, self.n_results)

    def pull(self, x: FloatArray, u: FloatArray) -> FloatArray:
        try:
            return super().pull(x, u)
        except _UnservedError:
            return self._unserved(x, self.n_inputs)
