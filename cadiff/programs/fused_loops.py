"""Loops over long vectors: what a turn computes, and which of them are one.

A turn computes one number of each vector, or a few: short axes are written out. What one statement
hands to the next is a variable, and need not stand at its place. This module does not know how
loops are written in C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise, product
from math import gcd, prod
from operator import mul
from typing import Any, NamedTuple

from .. import binding
from .instructions import (
    Shape,
    Stream,
    Trait,
    adds_apart,
    bounds_of,
    instruction,
    operands_of,
    value_by_formula,
)

_SHORT = 4  # an axis of up to so many numbers is written out, ...
_TERMS = 32  # ... and one that is added up
_STRIP = 4096  # numbers that are added up behind a loop, at most
_STRIPS = 8192  # of all sums of a loop
_MOST = 120  # statements of a loop
_MOST_LEFT = 32  # turns of two loops that are no part of the loop that they are

_KINDS = binding.operation_kinds()
Bounds = tuple[int, int]
Tiles = tuple[int, int]  # how many there are, and how many parts of them


class Statement(NamedTuple):
    """What a turn computes, as a form for operands; or a sum over all turns, which is one of them.

    It is kept at the place `out`, or handed to other statements alone.
    """

    form: str
    out: Stream
    operands: tuple[Stream, ...]
    is_total: bool
    is_kept: bool


# --- one instruction -----------------------------------------------------------------------------


class _Each(NamedTuple):
    """An operation on all elements of views of one shape, of which the first is the result.

    With `sums` the other one is added up along the axis where the result has but one number: to
    what is there if it `adds`; by itself at first, if it is `apart`.
    """

    form: str
    shape: Shape
    views: list[Stream]
    sums: bool = False
    adds: bool = False
    apart: bool = False


def _each(parts: dict[str, Any], k: int, forms: Sequence[str], in_tiles: bool) -> _Each | None:
    i = instruction(parts, k)
    if not Trait.TILED[i.kind] or Trait.CALLS[i.kind]:
        return None
    shape, found = operands_of(parts, k, in_tiles)
    views = [one for one in found if isinstance(one, Stream)]
    if Trait.BY_FORMULA[i.kind]:
        return _Each(value_by_formula(i.kind, forms[i.op])[0], shape, views)
    adds = i.n == 0
    to, steps = views[0].steps, views[1].steps
    kept = prod(n for n, step in zip(shape, to, strict=True) if step)
    if not _KINDS[i.op][0] or len(views) != 2 or not (adds or i.n == kept):
        return None
    return _Each("", shape, views, True, adds, adds_apart(i.y, shape, to, steps))


def _taken_apart(each: _Each, is_kept: bool) -> tuple[Shape, list[Statement]] | None:
    """The axes of a loop, and what a turn computes of an instruction; None if there is no loop."""
    shape, to = each.shape, each.views[0].steps
    summed = [axis for axis, n in enumerate(shape) if to[axis] == 0 and n > 1]
    is_total = each.apart and [shape[axis] > _TERMS for axis in summed] == [True]
    long = [k for k, n in enumerate(shape) if n > _SHORT and (is_total or k not in summed)]
    short = [k for k, n in enumerate(shape) if 1 < n <= _SHORT and k not in summed]
    if not long or 0 in shape or len(summed) > each.sums:
        return None
    if prod(shape[axis] for axis in short) > (1 if is_total else _SHORT**2):
        return None
    if is_total and long != summed:
        return None
    if any(shape[axis] > (_STRIP if is_total else _TERMS) for axis in summed):
        return None
    found = []
    for index in product(*(range(shape[axis]) for axis in short)):
        at = dict(zip(short, index, strict=True))
        out, *operands = (_stream(view, long, at) for view in each.views)
        form = each.form
        if each.sums:
            axes = [] if is_total else summed
            inner = [{**at, axis: k} for axis in axes for k in range(shape[axis])] or [at]
            former = [out] if each.adds else []
            operands = [*former, *(_stream(each.views[1], long, at) for at in inner)]
            names = [f"{{{k}}}" for k in range(len(former), len(operands))]
            form = " + ".join(["{0}" if each.adds else "0.0", *_in_order(names, each.apart)])
        found.append(Statement(form, out, tuple(operands), is_total, is_kept or is_total))
    return tuple(shape[axis] for axis in long), found


def _in_order(terms: list[str], apart: bool) -> list[str]:
    """Terms of a sum, as NumPy adds up less than 128 if they are added up by themselves."""
    if len(terms) == 1 or not apart:
        return terms
    eights = len(terms) // 8 * 8
    begin = "0.0"
    if eights:
        r = [f"({' + '.join(terms[k:eights:8])})" for k in range(8)]
        begin = "((({} + {}) + ({} + {})) + (({} + {}) + ({} + {})))".format(*r)
    return [f"({' + '.join([begin, *terms[eights:]])})"]


def _stream(view: Stream, long: Sequence[int], at: dict[int, int]) -> Stream:
    place = view.first + sum(view.steps[axis] * k for axis, k in at.items())
    return Stream(place, tuple(view.steps[axis] for axis in long), view.moves)


# --- loops ---------------------------------------------------------------------------------------


class Loop:
    """Statements over some axes, none of which waits for another turn.

    `reads` are the streams that it finds at their places, `outs` all that it computes, of which it
    leaves `writes` at their places; and `ends` sums that are there behind it. All with their
    bounds. `values` are the outs that can be handed on.
    """

    def __init__(
        self,
        axes: Shape,
        statements: Iterable[Statement],
        members: Iterable[int],
        tiles: Tiles | None = None,
    ) -> None:
        self.axes = axes
        self.tiles = tiles  # that it is for, one of them each time
        self.members = frozenset(members)
        self.statements: list[Statement] = []
        self.reads: dict[Stream, Bounds] = {}
        self.writes: dict[Stream, Bounds] = {}
        self.ends: dict[Stream, Bounds] = {}
        self.outs: dict[Stream, Bounds] = {}
        self.values: set[Stream] = set()
        for statement in statements:
            self._add(statement, {})

    def _add(self, statement: Statement, known: Mapping[Stream, Bounds]) -> None:
        """Another statement; of some streams the bounds are known."""
        self.statements.append(statement)
        _, out, operands, is_total, is_kept = statement
        for stream in operands[-1:] if is_total else operands:
            if stream not in self.values:
                self.reads[stream] = known.get(stream) or self._bounds(stream)
        low, high = bounds = known.get(out) or self._bounds(out)
        if is_total:
            self.ends[out] = bounds
            return
        for stream in [*self.values]:
            begin, end = self.outs[stream]
            if low <= end and begin <= high and _meet({out: bounds}, {stream: (begin, end)}):
                self.values.remove(stream)
        self.values.add(out)
        self.outs[out] = bounds
        if is_kept:
            self.writes[out] = bounds

    def _bounds(self, stream: Stream) -> Bounds:
        steps, lengths = (*stream.steps, *stream.moves), (*self.axes, *(self.tiles or (1, 1)))
        return bounds_of(stream.first, steps, lengths)

    def is_sound(self) -> bool:
        """Whether all turns of one instruction are independent."""
        bounds = {**self.reads, **self.outs, **self.ends}
        if any(low < 0 <= high for low, high in bounds.values()):  # from constants to inputs
            return False
        for x in self.statements:
            reach = 0
            for step, n in sorted(zip(map(abs, x.out.steps), self.axes, strict=True)):
                if step <= reach and not x.is_total:
                    return False
                reach += step * (n - 1)
            own = (x.out, *(stream for stream in x.operands if stream == x.out))
            others = [s for y in self.statements for s in (y.out, *y.operands)]
            for stream in own:
                others.remove(stream)
            if _meet({x.out: bounds[x.out]}, {s: bounds[s] for s in others}, alike=False):
                return False
        return True

    def followed_by(self, other: Loop) -> Loop | None:
        """The loop that does what two over the same axes do; None if turns would not wait."""
        read = {x: bounds for x, bounds in other.reads.items() if x not in self.values}
        if (
            _meet(read, self.outs, alike=False)
            or _meet(other.writes, self.reads)
            or _meet(other.writes, self.writes)
            or _meet(self.ends, {**read, **other.writes, **other.ends}, alike=False)
            or _meet(other.ends, {**self.reads, **self.writes}, alike=False)
            or (len(self.ends) + len(other.ends)) * prod(self.axes) > _STRIPS
        ):
            return None
        whole = Loop(self.axes, (), self.members | other.members, self.tiles)
        for name in ("statements", "reads", "writes", "ends", "outs", "values"):
            setattr(whole, name, getattr(self, name).copy())
        for statement in other.statements:
            whole._add(statement, other.reads | other.outs | other.ends)
        return whole

    def waits_for(self, other: Loop) -> bool:
        """Whether this loop has to stay behind another one.

        That something is only handed on there does not matter, but if this one writes to its
        place: who reads that afterwards is not handed the former number.
        """
        mine, others = {**self.writes, **self.ends}, {**other.writes, **other.ends}
        return _meet(mine, {**other.reads, **other.outs, **other.ends}, alike=False) or _meet(
            self.reads, others, alike=False
        )

    def _over(self, axes: Shape, change: Callable[[Stream], Iterable[Stream]]) -> Loop:
        """The same with other axes, where each stream is one or several."""
        found = [
            s._replace(out=out, operands=tuple(operands))
            for s in self.statements
            for out, *operands in zip(*map(change, (s.out, *s.operands)), strict=True)
        ]
        return Loop(axes, found, self.members, self.tiles)

    def split(self, parts: int, inner: bool) -> Loop:
        """The same with fewer turns, each of which has several numbers of each stream."""
        turns = self.axes[0] // parts
        apart, step_by = (1, parts) if inner else (turns, 1)
        return self._over(
            (turns,),
            lambda x: [
                Stream(x.first + k * apart * x.steps[0], (step_by * x.steps[0],), x.moves)
                for k in range(parts)
            ],
        )

    def part(self, begin: int, end: int) -> list[Loop]:
        """Some of the turns over its axis; none if there are none."""
        if begin >= end:
            return []
        moved = self._over(
            (end - begin,), lambda x: [x._replace(first=x.first + begin * x.steps[0])]
        )
        return [moved]

    def refined(self, axes: Shape) -> Loop:
        """The same over axes that divide its own."""

        def change(stream: Stream) -> Iterator[Stream]:
            steps: list[int] = []
            rest = list(axes)
            for n, step in zip(reversed(self.axes), reversed(stream.steps), strict=True):
                reach = 1
                while reach < n:
                    steps.append(step * reach)
                    reach *= rest.pop()
            yield stream._replace(steps=tuple(reversed(steps)))

        return self if axes == self.axes else self._over(axes, change)

    def simple(self) -> Loop:
        """The same over as few axes as possible."""
        loop = self
        for k in reversed(range(len(self.axes) - 1)):
            before, n, behind = loop.axes[:k], loop.axes[k + 1], loop.axes[k + 2 :]
            streams = {x for s in loop.statements for x in (s.out, *s.operands)}
            if all(x.steps[k] == x.steps[k + 1] * n for x in streams):

                def change(x: Stream, k: int = k) -> Iterator[Stream]:
                    yield x._replace(steps=(*x.steps[:k], *x.steps[k + 1 :]))

                loop = loop._over((*before, loop.axes[k] * n, *behind), change)
        return loop


def _meet(some: dict[Stream, Bounds], others: dict[Stream, Bounds], alike: bool = True) -> bool:
    """Whether streams have a place in common; those that are `alike` do not matter then."""
    for x, (low, high) in some.items():
        for y, (begin, end) in others.items():
            if low <= end and begin <= high:
                if x == y:
                    if not alike:
                        return True
                elif (x.first - y.first) % (gcd(*x.steps, *y.steps, *x.moves, *y.moves) or 1) == 0:
                    return True
    return False


def _common(one: Shape, other: Shape) -> Shape | None:
    """Axes that divide those of both; None if there are none."""
    cuts = sorted({1, *accumulate(reversed(one), mul), *accumulate(reversed(other), mul)})
    if any(b % a for a, b in pairwise(cuts)):
        return None
    return tuple(b // a for a, b in pairwise(cuts))[::-1]


def _aligned(one: Loop, other: Loop) -> Iterator[tuple[Loop, Loop]]:
    """The same with as many turns."""
    m, n = prod(one.axes), prod(other.axes)
    if m == n:
        yield one, other
    elif n % m == 0 and n // m <= _SHORT and len(other.axes) == 1 and not other.ends:
        yield from ((one, other.split(n // m, inner)) for inner in (True, False))
    elif m % n == 0 and m // n <= _SHORT and len(one.axes) == 1 and not one.ends:
        yield from ((one.split(m // n, inner), other) for inner in (True, False))


def fused(one: Loop, other: Loop) -> Loop | None:
    """The loop that does what two do, one after the other; None if there is none."""
    for first, second in _aligned(one, other):
        axes = _common(first.axes, second.axes)
        if axes and len(first.statements) + len(second.statements) <= _MOST:
            whole = first.refined(axes).followed_by(second.refined(axes))
            if whole is not None:
                return whole
    return None


def overlapped(one: Loop, other: Loop) -> tuple[list[Loop], Loop, list[Loop]] | None:
    """The loop over the places that two loops share, and the rest of both.

    Ranges that are moved by some numbers, such as those of neighbours, are the same but for a few
    turns: those of the one that go before, and those of the other one that go behind.
    """
    if one.ends or other.ends or not len(one.axes) == len(other.axes) == 1:
        return None
    if not all(s.is_kept for s in (*one.statements, *other.statements)):
        return None
    (m,), (n,) = one.axes, other.axes
    for x, y in product(one.writes, other.writes):
        by, rest = divmod(y.first - x.first, x.steps[0])
        low, high = max(0, by), min(m, n + by)
        if (
            x.steps != y.steps
            or rest
            or not 0 < m + n - 2 * (high - low) <= _MOST_LEFT < high - low
        ):
            continue
        [first], [second] = one.part(low, high), other.part(low - by, high - by)
        whole = fused(first, second)
        if whole is not None:
            before = [*one.part(0, low), *one.part(high, m)]
            behind = [*other.part(0, low - by), *other.part(high - by, n)]
            return before, whole, behind
    return None


def loop_of(
    parts: dict[str, Any], k: int, forms: Sequence[str], tiles: Tiles | None, is_kept: bool
) -> Loop | None:
    """The loop that an instruction is, perhaps one for each tile; None if it is none."""
    each = _each(parts, k, forms, tiles is not None)
    found = _taken_apart(each, is_kept) if each and (each.form or each.sums) else None
    loop = Loop(*found, {k}, tiles).simple() if found else None
    return loop if loop and loop.is_sound() else None
