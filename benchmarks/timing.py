"""Interleaved timing: several callables take turns, so that a slow moment meets them all.

On a machine that is not idle the ratio of two times is steadier than either, if both are taken
next to each other: the ratios here are formed round by round. This module knows neither problems
nor derivatives.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import NamedTuple

__all__ = ["Spread", "Timings", "interleave"]


class Spread(NamedTuple):
    """Median and extremes of a measurement that was repeated."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Iterable[float]) -> Spread:
        """Median, minimum and maximum of some numbers."""
        ordered = sorted(numbers)
        return cls(statistics.median(ordered), ordered[0], ordered[-1])

    def scaled(self, factor: float) -> Spread:
        """The spread in another unit; the factor is positive."""
        return Spread(*(factor * number for number in self))


class Timings:
    """Seconds a call of each callable, in each round.

    Parameters
    ----------
    rounds : list of dict of str to float
        For each round, the seconds a call by name.
    """

    def __init__(self, rounds: list[dict[str, float]]) -> None:
        self._rounds = rounds

    def least(self) -> Timings:
        """The least seconds of each callable, as those of a single round.

        What others do on the machine makes some rounds longer, and none shorter.
        """
        return Timings([{name: self.seconds(name).low for name in self._rounds[0]}])

    def seconds(self, name: str) -> Spread:
        """Seconds a call."""
        return Spread.of(seconds[name] for seconds in self._rounds)

    def ratio(self, name: str, against: str) -> Spread:
        """Seconds of one callable as a multiple of another's in the same round."""
        return Spread.of(seconds[name] / seconds[against] for seconds in self._rounds)

    def difference(self, name: str, against: str) -> Spread:
        """Seconds of a call beyond those of another one in the same round."""
        return Spread.of(seconds[name] - seconds[against] for seconds in self._rounds)


def interleave(
    functions: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 15,
    seconds: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> Timings:
    """Time some callables in turn: A B C, A B C, ...

    Parameters
    ----------
    functions : mapping of str to callable
        What to time; called without arguments, at least twice each.
    rounds : int
        How often each has its turn.
    seconds : float
        About how long a turn lasts: each callable is called as often as that takes.
    clock : callable
        Tells the time in seconds; `time.process_time` tells that of this process alone, which
        others at work on the machine do not add to. It counts all threads.

    Returns
    -------
    Timings
    """
    calls = {name: _calibrated(function, seconds, clock) for name, function in functions.items()}
    return Timings(
        [
            {name: _elapsed(f, calls[name], clock) / calls[name] for name, f in functions.items()}
            for _ in range(rounds)
        ]
    )


def _elapsed(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    """Seconds that some calls take, each garbage collection at the expense of who makes it due."""
    gc.collect()
    begin = clock()
    for _ in repeat(None, calls):
        function()
    return clock() - begin


def _calibrated(function: Callable[[], object], seconds: float, clock: Callable[[], float]) -> int:
    """How many calls take about so many seconds; the first call only warms up."""
    function()
    calls = 1
    while (elapsed := _elapsed(function, calls, clock)) < seconds / 2:
        calls *= 2
    return max(1, round(calls * seconds / elapsed))
