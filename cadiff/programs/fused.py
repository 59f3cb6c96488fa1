"""Instructions over many numbers that follow each other, as one loop.

A turn of the loop computes one number of each, or a few: short axes are written out. What one
instruction hands to the next is a variable, and is written to its place only if something outside
of the loop reads it. This module does not know how loops are written in C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, product
from math import gcd, prod
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from .instructions import (
    Instruction,
    InstructionKind,
    Shape,
    in_workspace,
    instruction,
    result_places,
    single_operations,
    views,
    written_by,
)

_SHORT = 4  # an axis of up to so many numbers is written out
_MOST = 120  # statements of a loop
_STRIP = 1024  # numbers that are added up in NumPy's order behind a loop, at most
_OPEN = 4  # loops that may still grow

_ARITIES = binding.operation_names()[1]
_KINDS = binding.operation_kinds()
Places = NDArray[np.int64]
View = tuple[int, Shape]


class Stream(NamedTuple):
    """A number in each turn: the place of the first one, and steps along the axes of the loop."""

    first: int
    steps: Shape


class Statement(NamedTuple):
    """What a turn computes, as a form for operands; or `out` and a sum over all turns."""

    form: str
    out: Stream
    operands: tuple[Stream, ...]
    is_total: bool = False


# --- one instruction -----------------------------------------------------------------------------


class _Each(NamedTuple):
    """An operation on all elements of views of one shape, of which the first is the result.

    With `sums` the other one is added up along the axes where the result has but one number: to
    what is there if it `adds`; by itself at first, if it is `apart`.
    """

    form: str
    shape: Shape
    views: list[View]
    sums: bool = False
    adds: bool = False
    apart: bool = False


def adds_apart(i: Instruction, shape: Shape, found: Sequence[View]) -> bool:
    """Whether a sum over the last axis is found by itself, or term by term with what is there."""
    (_, to), (_, steps) = found[:2]
    is_beside = len(shape) > 1 and to[-2] == steps[-2] == 1 != steps[-1]
    return bool(shape) and shape[-1] > 1 and to[-1] == 0 and not (i.y and is_beside)


def _each(parts: dict[str, Any], i: Instruction, forms: Sequence[str]) -> _Each | None:
    if i.kind == InstructionKind.VECTOR:
        given = [(i.x, (i.sx,)), (i.y, (i.sy,)), (i.z, (i.sz,))][: _ARITIES[i.op]]
        return _Each(forms[i.op], (i.n,), [(i.out, (1,)), *given])
    if i.kind == InstructionKind.ZEROS:
        return _Each("0.0", (i.n,), [(i.out, (1,))])
    if i.kind not in (InstructionKind.ROWS, InstructionKind.TERMS, InstructionKind.ADD_TO):
        return None
    shape, found = views(parts, i.x)
    if i.kind == InstructionKind.ROWS:
        return _Each(forms[i.op], shape, found)
    adds = i.kind == InstructionKind.ADD_TO or i.n == 0
    kept = prod(n for n, step in zip(shape, found[0][1], strict=True) if step)
    sums = i.kind == InstructionKind.ADD_TO or (_KINDS[i.op][0] and len(found) == 2)
    if not sums or not (adds or i.n == kept):
        return None
    return _Each("", shape, found, True, adds, adds_apart(i, shape, found))


def _statements(each: _Each) -> tuple[Shape, list[Statement]] | None:
    """The axes of a loop, and what a turn computes of an instruction; None if there is no loop."""
    shape, (_, to) = each.shape, each.views[0]
    long = [axis for axis, n in enumerate(shape) if n > _SHORT]
    short = [axis for axis, n in enumerate(shape) if 1 < n <= _SHORT]
    summed = [axis for axis in (*long, *short) if to[axis] == 0]
    is_total = each.sums and len(long) == 1 and summed == long and shape[long[0]] <= _STRIP
    if not long or 0 in shape or prod(shape[axis] for axis in short) > _SHORT**2:
        return None
    if not is_total and (len(summed) > each.sums or not set(summed) <= set(short)):
        return None
    kept = [axis for axis in short if axis not in summed]
    found = []
    for index in product(*(range(shape[axis]) for axis in kept)):
        at = dict(zip(kept, index, strict=True))
        out, *operands = (_stream(view, long, at) for view in each.views)
        form = each.form
        if each.sums:
            inner = [{**at, axis: k} for axis in summed for k in range(shape[axis])] or [at]
            terms = operands if is_total else [_stream(each.views[1], long, k) for k in inner]
            names = " + ".join(f"{{{k + each.adds}}}" for k in range(len(terms)))
            is_apart = each.apart and each.adds and len(terms) > 1
            form = f"{'{0}' if each.adds else '0.0'} + {f'(0.0 + {names})' if is_apart else names}"
            operands = [*([out] if each.adds else []), *terms]
        found.append(Statement(form, out, tuple(operands), is_total))
    return tuple(shape[axis] for axis in long), found


def _stream(view: View, long: Sequence[int], at: dict[int, int]) -> Stream:
    first, steps = view
    place = first + sum(steps[axis] * k for axis, k in at.items())
    return Stream(place, tuple(steps[axis] for axis in long))


# --- loops ---------------------------------------------------------------------------------------


class Loop:
    """Statements over some axes, none of which waits for another turn."""

    def __init__(self, axes: Shape, statements: Sequence[Statement]) -> None:
        self.axes = axes
        self.statements = list(statements)
        self.reads: dict[Stream, tuple[int, int]] = {}  # before they are written; and where
        self.writes: dict[Stream, tuple[int, int]] = {}
        self.totals = {s.out for s in statements if s.is_total}
        for statement in statements:
            for stream in statement.operands:
                if stream not in self.writes:
                    self.reads[stream] = self.bounds(stream)
            self.writes[statement.out] = self.bounds(statement.out)

    def bounds(self, stream: Stream) -> tuple[int, int]:
        spans = [step * (n - 1) for step, n in zip(stream.steps, self.axes, strict=True)]
        return stream.first + sum(min(x, 0) for x in spans), stream.first + sum(
            max(x, 0) for x in spans
        )

    def places(self, stream: Stream) -> Places:
        return _places(stream.first, self.axes, stream.steps)

    def is_sound(self) -> bool:
        """Whether all turns are independent."""
        for stream in self.writes:
            reach = 0
            for step, n in sorted(zip(map(abs, stream.steps), self.axes, strict=True)):
                if step <= reach and stream not in self.totals:
                    return False
                reach += step * (n - 1)
        return not self.disturbs(self)

    def disturbs(self, other: Loop, in_other_turns: bool = True) -> bool:
        """Whether one of the two writes what the other one reads or writes, in other turns."""
        pairs = (
            (self.writes, other.writes),
            (self.writes, other.reads),
            (self.reads, other.writes),
        )
        return any(
            low <= end and begin <= high and (self._meet(x, y, other) or not in_other_turns)
            for mine, others in pairs
            for x, (low, high) in mine.items()
            for y, (begin, end) in others.items()
        )

    def _meet(self, x: Stream, y: Stream, other: Loop) -> bool:
        """Whether two streams have a place in common in different turns."""
        if x == y:
            return other is not self and bool({x} & (self.totals | other.totals))
        return (x.first - y.first) % (gcd(*x.steps, *y.steps) or 1) == 0

    def over(self, axes: Shape, change: Callable[[Stream], Iterator[Stream]]) -> Loop:
        """The same with other axes, a stream becoming one or several."""
        found = [
            Statement(s.form, streams[0], streams[1:], s.is_total)
            for s in self.statements
            for streams in zip(*map(change, (s.out, *s.operands)), strict=True)
        ]
        return Loop(axes, found)

    def split(self, parts: int, inner: bool) -> Loop:
        """A loop of fewer turns, each of which has several numbers of each stream."""
        turns = self.axes[0] // parts

        def change(stream: Stream) -> Iterator[Stream]:
            (step,) = stream.steps
            for k in range(parts):
                yield Stream(
                    stream.first + k * step * (1 if inner else turns),
                    (step * (parts if inner else 1),),
                )

        return self.over((turns,), change)

    def refined(self, axes: Shape) -> Loop:
        """The same over axes that divide its own."""
        if axes == self.axes:
            return self

        def change(stream: Stream) -> Iterator[Stream]:
            steps: list[int] = []
            rest = list(axes)
            for n, step in zip(reversed(self.axes), reversed(stream.steps), strict=True):
                reach = 1
                while reach < n:
                    steps.append(step * reach)
                    reach *= rest.pop()
            yield Stream(stream.first, tuple(reversed(steps)))

        return self.over(axes, change)

    def simple(self) -> Loop:
        """The same over as few axes as possible."""
        axes, loop = self.axes, self
        for k in reversed(range(len(axes) - 1)):
            streams = [*loop.reads, *loop.writes]
            if all(x.steps[k] == x.steps[k + 1] * loop.axes[k + 1] for x in streams):
                axes = (*loop.axes[:k], loop.axes[k] * loop.axes[k + 1], *loop.axes[k + 2 :])

                def change(x: Stream, k: int = k) -> Iterator[Stream]:
                    yield Stream(x.first, (*x.steps[:k], *x.steps[k + 1 :]))

                loop = loop.over(axes, change)
        return loop


def _common(one: Shape, other: Shape) -> Shape | None:
    """Axes that divide those of both; None if there are none."""
    cuts = sorted({1, *accumulate(reversed(one), mul), *accumulate(reversed(other), mul)})
    if any(b % a for a, b in pairwise(cuts)):
        return None
    return tuple(b // a for a, b in pairwise(cuts))[::-1]


def loop_of(parts: dict[str, Any], i: Instruction, forms: Sequence[str]) -> Loop | None:
    """The loop that an instruction is, given the forms of operations in C ("" if there is none)."""
    each = _each(parts, i, forms)
    if each is None or not (each.form or each.sums):
        return None
    found = _statements(each)
    loop = Loop(*found).simple() if found else None
    return loop if loop and loop.is_sound() else None


def fused(one: Loop, other: Loop) -> Loop | None:
    """The loop that does what two do, one after the other; None if there is none."""
    if len(one.statements) + len(other.statements) > _MOST:
        return None
    for first, second in _aligned(one, other):
        axes = _common(first.axes, second.axes)
        if axes is None:
            continue
        first, second = first.refined(axes), second.refined(axes)
        if not first.disturbs(second):
            return Loop(axes, [*first.statements, *second.statements])
    return None


def _aligned(one: Loop, other: Loop) -> Iterator[tuple[Loop, Loop]]:
    """The same with as many turns."""
    m, n = prod(one.axes), prod(other.axes)
    if m == n:
        yield one, other
    elif n % m == 0 and n // m <= _SHORT and len(other.axes) == 1 and not other.totals:
        yield from ((one, other.split(n // m, inner)) for inner in (True, False))
    elif m % n == 0 and m // n <= _SHORT and len(one.axes) == 1 and not one.totals:
        yield from ((one.split(m // n, inner), other) for inner in (True, False))


# --- several instructions ------------------------------------------------------------------------


Unit = int | Loop  # an instruction, or a loop that does the work of several


def arranged(
    parts: dict[str, Any], which: Sequence[int], loops: Callable[[int], Loop | None]
) -> list[Unit]:
    """Instructions that follow each other, some in loops, in an order that changes nothing."""
    done: list[Unit] = []
    open_loops: list[Loop] = []
    for k in which:
        loop = loops(k)
        if loop is not None:
            _add(open_loops, loop)
            done += open_loops[: -_OPEN]
            open_loops = open_loops[-_OPEN:]
            continue
        if any(_disturbs(parts, k, one) for one in open_loops):
            done += open_loops
            open_loops = []
        done.append(k)
    return [*done, *open_loops]


def _add(open_loops: list[Loop], loop: Loop) -> None:
    """Have a loop be part of one of some that follow each other, or the last one of them."""
    for k in reversed(range(len(open_loops))):
        whole = fused(open_loops[k], loop)
        if whole is not None:
            open_loops[k] = whole
            return
        if open_loops[k].disturbs(loop, in_other_turns=False):
            break
    open_loops.append(loop)


# --- what is read again --------------------------------------------------------------------------


def _places(first: int, shape: Shape, steps: Shape) -> Places:
    places = np.array([first], np.int64)
    for n, step in zip(shape, steps, strict=True):
        places = np.add.outer(places, step * np.arange(n)).ravel()
    return places


def _accesses(parts: dict[str, Any], i: Instruction) -> tuple[Places, Places] | None:
    """The places that an instruction reads, and those that it writes; None if that is not known."""
    lists, kind = parts["lists"], InstructionKind
    out, none = _places(i.out, (i.n,), (1,)), np.empty(0, np.int64)
    if i.kind == kind.SINGLES:
        singles = parts["singles"][i.x : i.x + i.n]
        read = [x for row in singles.tolist() for *_, given in single_operations(row) for x in given]
        return np.array(read, np.int64), written_by(singles)
    if i.kind == kind.VECTOR:
        given = [(i.x, i.sx), (i.y, i.sy), (i.z, i.sz)][: _ARITIES[i.op]]
        return np.concatenate([_places(x, (i.n,), (step,)) for x, step in given]), out
    if i.kind == kind.TAKE:
        return lists[i.x : i.x + i.n].astype(np.int64), out
    if i.kind == kind.TOTAL:
        return np.append(_places(i.x, (i.n,), (i.sx,)), out[: 1 if i.y else 0]), out[:1]
    if i.kind == kind.ZEROS:
        return none, out
    if i.kind == kind.ADD_AT:
        to = i.out + lists[i.z : i.z + i.n].astype(np.int64)
        return np.append(_places(i.x, (i.n,), (i.sx,)), to), to
    if i.kind == kind.CALL:
        return _places(i.x, (i.n,), (1,)), _places(i.out, (i.y,), (1,))
    if i.kind == kind.COMPARE:
        return parts["checks"]["place"][i.x : i.x + i.n].astype(np.int64), none
    if i.kind not in (kind.ROWS, kind.TERMS, kind.ADD_TO):
        return None
    shape, found = views(parts, i.x)
    to, *given = (_places(first, shape, steps) for first, steps in found)
    if i.kind == kind.ROWS:
        return np.concatenate(given), to
    if i.kind == kind.TERMS and i.n:
        return np.concatenate(given), out
    return np.concatenate([to, *given]), to


def _disturbs(parts: dict[str, Any], k: int, loop: Loop) -> bool:
    """Whether an instruction and a loop cannot change places."""
    found = _accesses(parts, instruction(parts, k))
    if found is None:
        return True
    read, written = found

    def meets(places: Places, bounds: Iterable[tuple[int, int]]) -> bool:
        return any(bool(((places >= low) & (places <= high)).any()) for low, high in bounds)

    return meets(np.append(read, written), loop.writes.values()) or meets(
        written, loop.reads.values()
    )


def kept(parts: dict[str, Any], units: Sequence[Unit]) -> list[frozenset[Stream]]:
    """Of each loop, in the order of units, the streams that are read after it."""
    is_read = np.zeros(parts["n_places"], bool)
    is_read[in_workspace(parts, np.fromiter(result_places(parts), np.int64))] = True
    if parts["compares_last"]:
        is_read[parts["checks"]["place"]] = True
    found = []
    for unit in reversed(units):
        if isinstance(unit, Loop):
            written = {stream: unit.places(stream) for stream in unit.writes}
            found.append(frozenset(x for x, places in written.items() if is_read[places].any()))
            read = [unit.places(stream) for stream in unit.reads]
            accesses = np.concatenate(read or [np.empty(0, np.int64)]), np.concatenate([*written.values()])
        else:
            accesses = _accesses(parts, instruction(parts, unit))
        if accesses is None or any(places.max(initial=-1) >= len(is_read) for places in accesses):
            is_read[:] = True
            continue
        read, written = accesses
        is_read[written] = False
        is_read[read[read >= 0]] = True
    return found[::-1]
