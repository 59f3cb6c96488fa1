"""Calls of primitives as a tape keeps them, and what sweeps and programs ask of them.

A Rule answers the derivatives of one call by the rules of its primitive, at the values of the call
or, in a program, at others. How a primitive comes to its rules is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Var
from .patterns import joined, links_of

Number: TypeAlias = Any  # a Var, a Dual, a float or an ndarray
Numbers: TypeAlias = list[Any]
Asked: TypeAlias = Sequence[bool] | None  # of each operand whether something is
Operation: TypeAlias = Any  # a primitive


class _Point:
    """The values of one call, and what reverse rules made of them."""

    def __init__(self, call: Rule, operands: list[Any], outs: list[Any]) -> None:
        self.operands = operands
        self.outs = outs
        self.args = call._inputs(operands)
        self.ans = binding.ruled(tuple(outs) if call.several else outs[0])
        self.pulls: dict[Any, Any] = {}

    def is_at(self, operands: Numbers, outs: Numbers) -> bool:
        """Whether these are the same values."""
        return all(map(_is_same, [*self.operands, *self.outs], [*operands, *outs]))


class Rule:
    """One call of a primitive, as the tape keeps it."""

    runs_again = False
    is_linear = False
    keeps_pulls = False  # what reverse rules make, for further cotangents
    _kept: _Point | None = None
    point: tuple[list[Any], list[Any]] = ([], [])

    def __init__(
        self,
        operation: Operation,
        args: list[Any],
        kwargs: dict[str, Any],
        which: list[int],
        several: bool,
    ) -> None:
        self.operation = operation
        self.args = args
        self.kwargs = kwargs
        self.which = which
        self.several = several
        self.passive = [False] * len(which)

    @property
    def unread(self) -> list[bool] | None:
        """Of each operand whether rules ask nothing but its shape."""
        unread = self.operation.unread
        return [k in unread for k in self.which] if unread else None

    # --- as a step of a program

    @property
    def by_index(self) -> str | None:
        """What a program does by itself: see `primitive.by_index`."""
        return self.operation.by_index if len(self.which) == 2 else None

    @property
    def index_axis(self) -> int:
        """The axis that indices go along, each of one number; -1: they are of rows."""
        return self.args[2] if self.operation.goes_along else -1

    @property
    def is_level(self) -> bool:
        """Whether others are measured from the result: see `primitive.is_level`."""
        found: bool = self.operation.is_level
        return found

    @property
    def is_exact(self) -> bool:
        """Whether its rules are known to be the derivatives of what it computes.

        A user's own may be others on purpose; then second derivatives need not be symmetric.
        """
        is_own: bool = self.operation._is_own
        return is_own

    @property
    def absorbs(self) -> bool:
        """Whether its derivatives are zeros for zeros, even where a partial is not finite."""
        return bool(self.operation.absorbs or self.operation._is_elementwise)

    @property
    def goes_forward(self) -> bool:
        """Whether there is a rule for the tangent of each operand, or it is cut."""
        cut = zip(self.which, self.passive, strict=True)
        return all(is_cut or self.operation._goes_forward(k) for k, is_cut in cut)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name != "_kept"}

    def note_point(self, operands: list[Any], results: list[Number], passive: list[bool]) -> None:
        """The values that it is recorded with, and of which operands the derivative is cut."""
        copies = [x.copy(order="K") if isinstance(x, np.ndarray) else x for x in operands]
        self.point = copies, [unshared(x) for x in results]
        self.passive = passive
        # By its operands' values: no property, since graphs ask where an interrupt would be lost.
        never_raises = self.operation.never_raises or self.operation._is_elementwise
        self.may_raise = not (self.operation._is_own and never_raises)
        for arg in self.args:
            if isinstance(arg, np.ndarray):
                arg.setflags(write=False)  # writing to it raises, and f is run

    def compute_results(self, operands: Numbers) -> Numbers:
        """The results for other operands."""
        self._kept = None
        args = self._with(operands)
        with binding.WarningsOff():
            plain = self.operation._plain(args, self.kwargs)
            results: list[Number] = self.operation._results(plain)
            return results

    def native(self, operands: Numbers, results: Numbers) -> Any:
        """What carries it out in C; None if that takes Python."""
        given, arguments, begin = list(self.args), list(self.args), 0
        for k, operand in zip(self.which, operands, strict=True):
            given[k], arguments[k] = operand, (begin, binding.shape(operand))
            begin += math.prod(binding.shape(operand))
        loop, chosen = self.operation._loop(given, self.kwargs)
        if loop is None:
            return None
        arguments = [arguments[k] for k in chosen]
        shapes = [*map(binding.shape, results)]
        return binding.native_of(loop, arguments, shapes, self.operation.loop_bounds)

    @property
    def rounds_otherwise(self) -> bool:
        """Whether a replay has other last bits than a call of the function."""
        rounds = self.operation.loop_rounds
        return bool(rounds(*self.args, **self.kwargs) if callable(rounds) else rounds)

    @property
    def goes_over_lanes(self) -> bool:
        """Whether many points are one call of the function."""
        return self.operation.over_lanes is not None or (
            self.is_exact and self.operation._is_elementwise
        )

    def call_lanes(self, operands: Numbers) -> Numbers:
        """The results for operands with an axis of points in front."""
        self._kept = None
        args = self._with(operands)
        over = self.operation.over_lanes or self.operation._broadcast_over_lanes
        with np.errstate(all="ignore"), binding.OutsideDifferentiation():
            return as_list(over(self.which, *args, **self.kwargs))

    def key(self) -> Any:
        """What tells it from other calls: arguments, and where it was recorded."""
        return self._told_by(_exactly)

    def form(self) -> Any:
        """The same without the values of operands: what turns of a loop have in common."""
        return self._told_by(_as_laid_out)

    def _told_by(self, look: Callable[[Any], Any]) -> Any:
        kwargs = tuple((name, _exactly(arg)) for name, arg in sorted(self.kwargs.items()))
        kept = (tuple(map(_exactly, self.args)), tuple(map(look, self.point[0])))
        return self.operation, kept, kwargs, tuple(self.which), tuple(self.passive)

    def links(
        self, operands: Numbers, results: Numbers
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int] | None:
        """How results depend on operands: see `patterns.joined`. None: it is not stated."""
        operation = self.operation
        args = self._inputs(operands)
        ans = binding.ruled(tuple(results) if self.several else results[0])
        shapes = [binding.shape(x) for x in results]
        parts, n = [], 0
        for i, k in enumerate(self.which):
            if not (self.passive[i] or operation._pull_rule(k) is None):
                blocks = links_of(
                    operation._pattern(k),
                    f"the primitive {operation._name}",
                    shapes,
                    binding.shape(args[k]),
                    lambda rule: rule(ans, *args, **self.kwargs),
                )
                if blocks is None:
                    return None
                parts += [(links, begin, n) for links, begin in blocks]
            n += math.prod(binding.shape(args[k]))
        return joined(parts, n)

    # --- derivatives

    def pull_cotangents(
        self, operands: Numbers, outs: Numbers, cotangents: Numbers, wanted: Asked = None
    ) -> Numbers:
        """A cotangent for each operand; None for those that are not wanted."""
        if self.operation._is_own and not self.operation.calls_users:
            return self._pulled(operands, outs, cotangents, wanted)
        numbers = [*operands, *outs, *cotangents]
        if not binding.carries(numbers):
            with binding.OutsideDifferentiation():  # what the rule makes itself is plain, too
                return self._pulled(operands, outs, cotangents, wanted)
        taken: list[Any] = self.operation._taken(
            numbers, lambda: self._pulled(operands, outs, cotangents, wanted)
        )
        return taken

    def _pulled(
        self, operands: Numbers, outs: Numbers, cotangents: Numbers, wanted: Asked
    ) -> Numbers:
        at = self._point_at(operands, outs)
        g = binding.ruled(tuple(cotangents) if self.several else cotangents[0])
        which = self.which
        chosen = which if wanted is None else [*compress(which, wanted)]
        together = self.operation.together
        with binding.WarningsOff():
            if together is None or len(chosen) < 2:
                return [self._cotangent(k, at, g) if k in chosen else None for k in which]
            if "together" not in at.pulls:
                at.pulls["together"] = together(at.ans, *at.args, **self.kwargs)
            pulled = at.pulls["together"](g)
            return [pulled[k] if k in chosen and k < len(pulled) else None for k in which]

    def _point_at(self, operands: Numbers, outs: Numbers) -> _Point:
        """The values: those that are kept, with what was made of them, if they are the same."""
        if not self.keeps_pulls or binding.carries([*operands, *outs]):
            return _Point(self, operands, outs)
        kept = self._kept
        if kept is None or not kept.is_at(operands, outs):
            kept = self._kept = _Point(self, *[[*map(unshared, x)] for x in (operands, outs)])
        return kept

    def _cotangent(self, k: int, at: _Point, g: Any) -> Any:
        """The cotangent of one argument; None if it is 0."""
        operation = self.operation
        rule = operation._pull_rule(k)
        if rule is None or self.passive[self.which.index(k)]:
            return None
        if k in operation.refusals:
            operation.refusals[k]()
        if k not in at.pulls:
            at.pulls[k] = operation._puller(k, at.ans, at.args, self.kwargs)
        return operation._pulled(k, at.pulls[k], g, at.args[k])

    def push_tangents(
        self, operands: Numbers, outs: Numbers, tangents: Numbers, moving: Asked = None
    ) -> Numbers:
        """A tangent for each result; with `moving` those of other operands are 0."""
        ans = binding.ruled(tuple(outs) if self.several else outs[0])
        chosen = [
            i for i, cut in enumerate(self.passive) if not cut and (moving is None or moving[i])
        ]
        which, along = [self.which[i] for i in chosen], [tangents[i] for i in chosen]
        args = self._inputs(operands)
        pushed: list[Any] = self.operation._pushed(which, along, ans, outs, args, self.kwargs)
        return pushed

    def _with(self, operands: Numbers) -> list[Any]:
        """All arguments, with these operands."""
        args = list(self.args)
        for k, operand in zip(self.which, operands, strict=True):
            args[k] = operand
        return args

    def _inputs(self, operands: Numbers) -> Numbers:
        """All arguments, as rules get them."""
        return binding.ruled_arguments(self.args, self.which, operands)


def without_constants(x: Any) -> Any:
    """A number that carries no derivative as a plain one; of several each."""
    if isinstance(x, tuple):
        return tuple(map(without_constants, x))
    return binding.finalized(x) if isinstance(x, (Var, Dual)) else x


def unshared(x: Number) -> Number:
    """A copy of an array: it may be an argument, or a view of one, that is assigned to later."""
    return x.copy() if binding.shape(x) else x


def _is_same(x: Any, y: Any) -> bool:
    """Whether a number, or an array, has the bits of another one."""
    return x is y or _exactly(x) == _exactly(y)


def _exactly(x: Any) -> Any:
    """What is equal for the same things only: 0.0 is not -0.0, nor is 1 True."""
    if isinstance(x, np.ndarray) and x.dtype.kind != "O":
        return x.dtype.str, x.shape, x.strides, x.tobytes()
    if isinstance(x, (float, complex, np.generic)):
        return type(x), np.array(x).tobytes()
    if isinstance(x, (tuple, list)):
        return type(x), tuple(map(_exactly, x))
    return type(x), x


def _as_laid_out(x: Any) -> Any:
    """How numbers stand in memory, whatever they are."""
    return (x.dtype.str, x.shape, x.strides) if isinstance(x, np.ndarray) else type(x)


def as_list(ans: Any) -> list[Any]:
    return list(ans) if isinstance(ans, tuple) else [ans]
