"""Interleaved timing: several callables take turns, so that a slow moment meets them all.

On a machine that is not idle the ratio of two times is steadier than either, if both are taken
next to each other: the ratios here are formed round by round. This module knows neither problems
nor derivatives.
"""

from __future__ import annotations

import gc
import math
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
    shared: bool = False,
) -> Timings:
    """Time some callables in turn: A B C, A B C, ...

    Parameters
    ----------
    functions : mapping of str to callable
        What to time; called without arguments, twice each before the first turn.
    rounds : int
        How often each has its turn.
    seconds : float
        About how long a turn lasts: each callable is called as often as that takes. 0: once, and
        not before, as where nothing rests on what is measured.
    shared : bool
        Others are at work on the machine: the least single call of a turn counts, or, where one
        call takes a turn, the time that the process itself took.

    Returns
    -------
    Timings
    """
    calls = {name: _calibrated(function, seconds) for name, function in functions.items()}
    timed = _least_call if shared else _mean_call
    return Timings(
        [{name: timed(f, calls[name]) for name, f in functions.items()} for _ in range(rounds)]
    )


def _mean_call(
    function: Callable[[], object], calls: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds a call, each garbage collection at the expense of who makes it due."""
    gc.collect()
    begin = clock()
    for _ in repeat(None, calls):
        function()
    return (clock() - begin) / calls


def _least_call(function: Callable[[], object], calls: int) -> float:
    """Seconds of the shortest call; of a turn that is one call, those of this process alone."""
    gc.collect()
    clock = time.perf_counter if calls > 1 else time.process_time
    least = math.inf
    for _ in repeat(None, calls):
        begin = clock()
        function()
        least = min(least, clock() - begin)
    return least


def _calibrated(function: Callable[[], object], seconds: float) -> int:
    """How many calls take this process about so many seconds; the first call only warms up."""
    if seconds == 0.0:
        return 1
    function()
    calls = 1
    while (elapsed := calls * _mean_call(function, calls, time.process_time)) < seconds / 2:
        calls *= 2
    return max(1, round(calls * seconds / elapsed))
