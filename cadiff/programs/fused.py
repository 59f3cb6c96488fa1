"""Instructions over many numbers that follow each other, as loops that do the work of several.

A number has to stand at its place if an instruction outside of the loop reads it. This module does
not know how loops are written in C.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .fused_loops import Bounds, Loop, Tiles, fused, loop_of, overlapped
from .instructions import Places, Region, Trait, bounds_of, first_places, heads_of, in_workspace
from .text_in_c import breathe

_OPEN = 4  # loops that may still grow
_ROUNDS = 8  # in which instructions are put together

Unit = int | Loop  # an instruction, or the loop that does the work of some
Run = Sequence[int]  # instructions that follow each other


class Fused:
    """The loops that instructions of a program become, given forms of operations in C.

    An operation that no loop is made of has an empty one.
    """

    def __init__(self, parts: dict[str, Any], forms: Sequence[str]) -> None:
        self.parts = parts
        self.forms = forms
        self.tiles = _tiles(parts)
        self.readers = readers_of(parts)
        self.kept = {k for k, readers in enumerate(self.readers) if readers is None}
        self.known: dict[tuple[int, bool], Loop | None] = {}

    def loop(self, k: int) -> Loop | None:
        """The loop that an instruction is by itself; None if it is none."""
        key = k, k in self.kept
        if key not in self.known:
            self.known[key] = loop_of(self.parts, k, self.forms, self.tiles.get(k), key[1])
        return self.known[key]

    def arranged(self, run: Run) -> list[Unit]:
        """Instructions that follow each other, some in loops, in an order that changes nothing.

        At first all numbers are taken to be handed on, but those that the others need for certain.
        Who stays outside of a loop and reads one of its numbers has it kept the next time.
        """
        for _ in range(_ROUNDS):
            units = self._arranged(run)
            missing = {
                k
                for unit in units
                if isinstance(unit, Loop)
                for k in unit.members - self.kept
                if not (self.readers[k] or frozenset()) <= unit.members
            }
            if not missing:
                return units
            self.kept |= missing
        self.kept.update(run)
        return self._arranged(run)

    def _arranged(self, run: Run) -> list[Unit]:
        done: list[Unit] = []
        loops: list[Loop] = []  # that may still grow
        for k in run:
            breathe()
            loop = self.loop(k)
            if loop is not None:
                _join(loops, loop)
                done += loops[:-_OPEN]
                loops = loops[-_OPEN:]
                continue
            if any(self._disturbs(k, one) for one in loops):
                done += loops
                loops = []
            done.append(k)
        return [*done, *loops]

    def _disturbs(self, k: int, loop: Loop) -> bool:
        """Whether an instruction has to stay behind a loop."""
        found = _accesses(self.parts, k)
        if found is None:
            return True
        left = [*loop.writes.values(), *loop.ends.values()]
        known = [*left, *loop.reads.values(), *loop.outs.values()]
        return any(
            _are_within(region, bounds)
            for regions, bounds in zip(found, (left, known), strict=True)
            for region in regions
        )


def _joined(several: Iterable[Loop]) -> list[Loop]:
    loops: list[Loop] = []
    for loop in several:
        _join(loops, loop)
    return loops


def _join(loops: list[Loop], loop: Loop) -> None:
    """Have a loop be part of one of some that follow each other, or the last one of them."""
    for k in reversed(range(len(loops))):
        whole = fused(loops[k], loop)
        if whole is not None:
            loops[k] = whole
            return
        parts = overlapped(loops[k], loop)
        if parts is not None:
            before, whole, behind = parts
            loops[k : k + 1] = [*_joined(before), whole]
            loops += _joined(behind)
            return
        if loop.waits_for(loops[k]):
            break
    loops.append(loop)


# --- who reads what ------------------------------------------------------------------------------


def _tiles(parts: dict[str, Any]) -> dict[int, Tiles]:
    """Of each instruction that goes tile by tile which tiles there are."""
    return {k: (head.n, -(-head.n // head.x)) for k, head in heads_of(parts).items()}


def readers_of(parts: dict[str, Any]) -> list[set[int] | None]:
    """Of each instruction which others read what it writes; None if that is not known for sure."""
    tiles = _tiles(parts)
    writer = np.full(parts["n_places"], -1, np.int32)  # which has written a place last
    readers: list[set[int] | None] = [set() for _ in parts["code"]]

    def note_readers(region: Region, k: int | None) -> None:
        found = _seen(writer, region).ravel()
        ends = np.flatnonzero(found[1:] != found[:-1])
        for which in {*found[ends].tolist(), *found[-1:].tolist()} - {-1}:
            known = readers[which]
            if k is None:
                readers[which] = None
            elif known is not None:
                known.add(k)

    for k in range(len(readers)):
        breathe()
        accesses = _accesses(parts, k)
        if accesses is None:
            note_readers((0, writer.shape, (1,), -1), None)
            continue
        for region in accesses[0]:
            note_readers(region, k)
        for region in accesses[1]:
            if isinstance(region, np.ndarray):
                writer[region] = k
            else:
                _seen(writer, region)[...] = k
                if k in tiles and region[0] < parts["n_whole"]:
                    readers[k] = None  # other tiles write elsewhere
    for place, step, n, listed in parts["outputs"].tolist():
        if listed:
            note_readers(parts["lists"][place : place + n], None)
        elif place < parts["least_float"]:
            note_readers((place, (n,), (step,), -1), None)
        else:
            note_readers(in_workspace(parts, place + step * np.arange(n)), None)
    if parts["compares_last"]:
        note_readers(parts["checks"]["place"], None)
    return readers


def _seen(numbers: Places, region: Region) -> Places:
    """What stands in a region; of constants, which stand before all places, nothing."""
    if isinstance(region, np.ndarray):
        return numbers[region[region >= 0]]
    first, shape, steps, _ = region
    low, high = bounds_of(first, steps, shape)
    axes = [(n, step) for n, step in zip(shape, steps, strict=True) if step]
    if 0 in shape or high < 0:
        return numbers[:0]
    if low < 0:  # and then the first places
        moves = (step * np.arange(n) for n, step in axes)
        return _seen(numbers, functools.reduce(np.add.outer, moves, np.array(first)).ravel())
    strides = [step * numbers.itemsize for _, step in axes]
    return as_strided(numbers[first:], [n for n, _ in axes], strides)


def _are_within(region: Region, bounds: Iterable[Bounds]) -> bool:
    if isinstance(region, np.ndarray):
        return any(bool(((region >= low) & (region <= high)).any()) for low, high in bounds)
    first, shape, steps, _ = region
    begin, end = bounds_of(first, steps, shape)
    return any(begin <= high and low <= end for low, high in bounds)


def _accesses(parts: dict[str, Any], k: int) -> tuple[list[Region], list[Region]] | None:
    """The places that an instruction reads, and those that it writes; None: that is not known."""
    reads, writes = parts["accesses"][k]
    is_known = not Trait.HEADS[parts["code"]["kind"][k]]
    is_single = max(first_places([*reads, *writes]), default=0) >= parts["least_float"]
    return (reads, writes) if is_known and not is_single else None
