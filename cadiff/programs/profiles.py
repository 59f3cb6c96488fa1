"""What takes the time in a program: its instructions, each with a clock, added up by kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from math import prod
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Call, Code, PlaceNotes, Recording, StandIns
from ..inspection.texts import readable
from ..operations.scalars import stand_in
from .instructions import NAMES, Instruction, ScanPlan, Trait, shape_of
from .recorded import met

FloatArray = NDArray[np.float64]

_NAMES, _ = binding.operation_names()

_SECONDS = 0.2  # that are spent on a profile, about, ...
_FEWEST, _MOST = 3, 25  # ... but so many replays
_SHORTEST = 1e-4  # seconds, below which several runs are timed together


class Cost(NamedTuple):
    """What all operations of one kind take.

    Attributes
    ----------
    operation : str
        Their name.
    numbers : int
        How many numbers they compute, or move.
    seconds : float
        How long that takes in one replay.
    lines : tuple of (str, int)
        The files and lines in which such operations are written, the most frequent first; those
        of the derivative alone have none.
    """

    operation: str
    numbers: int
    seconds: float
    lines: tuple[tuple[str, int], ...] = ()


class Profile(NamedTuple):
    """What takes the time in a program.

    Attributes
    ----------
    what : str
        What it computes.
    seconds : float
        How long a replay takes that no clock interrupts: the least of some.
    costs : list of Cost
        By kinds of operations, the most expensive first.
    """

    what: str
    seconds: float
    costs: list[Cost]


def measured(
    what: str, code: Code, inputs: FloatArray, lines: dict[str, tuple[tuple[str, int], ...]]
) -> Profile:
    """The profile of a code at some inputs, whose guards hold there."""
    met(code.evaluate(inputs))
    once = _seconds_of(code, inputs, 1)
    runs = max(1, int(_SHORTEST / max(once, 1e-9)))
    totals: list[float] = []
    timings: list[tuple[FloatArray, FloatArray]] = []
    begun = perf_counter()
    while len(timings) < _FEWEST or (len(timings) < _MOST and perf_counter() - begun < _SECONDS):
        totals.append(_seconds_of(code, inputs, runs))
        timings.append(code.profile(inputs))
    # The least of all: whatever else the machine does makes it longer.
    whole, singles = (np.min(np.stack(parts), axis=0) for parts in zip(*timings, strict=True))
    kinds = _by_kind(code, whole, singles)
    costs = [Cost(name, *kinds[name], lines.get(name, ())) for name in kinds]
    costs.sort(key=lambda cost: (-cost.seconds, cost.operation))
    return Profile(what, min(totals), costs)


def _seconds_of(code: Code, inputs: FloatArray, runs: int) -> float:
    begun = perf_counter()
    for _ in range(runs):
        code.evaluate(inputs)
    return (perf_counter() - begun) / runs


def _by_kind(code: Code, whole: FloatArray, singles: FloatArray) -> dict[str, tuple[int, float]]:
    """By names how many numbers there are, and seconds.

    Single operations are timed all together, which is divided in proportion to what each of them
    takes apart.
    """
    parts = code.parts()
    counts: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    turns, end = 1, 0  # of the instructions before the end
    for k, i in enumerate(map(Instruction._make, parts["code"].tolist())):
        if Trait.HEADS[i.kind]:
            turns, end = i.n, k + i.fused
            continue
        if Trait.OVER_SINGLES[i.kind]:
            apart = singles[i.x : i.x + i.n] + 1e-12  # so that nothing is divided by 0
            ops = parts["singles"]["op"][i.x : i.x + i.n]
            shares = np.bincount(ops, apart) * (whole[k] / apart.sum())
            for which, number in enumerate(np.bincount(ops).tolist()):
                if number:
                    name = "sin and cos" if which == len(_NAMES) else readable(_NAMES[which])
                    counts[name] += number * i.y
                    seconds[name] += float(shares[which])
            continue
        name, n = NAMES[i.kind] or readable(_NAMES[i.op]), prod(shape_of(parts, i))
        if Trait.CALLS[i.kind]:
            name, n = code.steps[i.z].name, i.y
        elif Trait.OVER_SCAN[i.kind]:
            n *= ScanPlan(parts, i.x).n_operations
        counts[name] += n * (turns if k < end else 1)
        seconds[name] += float(whole[k])
    return {name: (counts[name], seconds[name]) for name in counts}


def lines_of(f: Callable[..., Any], call: Call) -> dict[str, tuple[tuple[str, int], ...]]:
    """By names of operations the files and lines in which f has them in a call."""
    counts: dict[str, Counter[tuple[str, int]]] = {}
    inputs = tuple(call.inputs)
    with PlaceNotes() as notes, Recording(inputs, tuple(range(len(inputs))), f=f) as recording:
        args, kwargs = StandIns(call, recording.lifted, stand_in, True).arguments()
        out = f(*args, **kwargs)
        places = notes.places(recording)
        del args, kwargs, out  # Vars that are alive at a rewind have to be found
    for name, file, line in places:
        counts.setdefault(readable(name), Counter())[file, line] += 1
    for name in ("sin", "cos"):
        counts.setdefault("sin and cos", Counter()).update(counts.get(name, {}))
    return {
        name: tuple(place for place, _ in lines.most_common()) for name, lines in counts.items()
    }
