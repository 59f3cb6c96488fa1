"""Operations on complex numbers with derivatives of their own.

To a sweep such an operation has two real operands, or results, for each complex one: real and
imaginary part. (Forward mode has an array of both, with an axis of length 2 in front.) Rules are
written in complex numbers, with adjoints (conjugated transposes) where those for real numbers have
transposes. A cotangent g of w = f(z) is such that the real part of conj(g) dw is the change of the
result; its two parts are the cotangents of those of w, so that nothing is conjugated on the way.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import carries, whole_parts_of
from ..binding import make_complex as paired
from . import arrays
from .patterns import joined, links_of
from .primitives import Rule, primitive
from .replayed import replaced

__all__ = ["on_pairs"]


def pair(z: Any) -> Any:
    """A complex array, or a real one, as a real one of both parts."""
    return binding.pair_of_array(z) if isinstance(z, np.ndarray) else arrays.stack(halves(z))


def unpaired(both: Any) -> Any:
    """The complex array, or number, of a real one of both parts."""
    if isinstance(both, np.ndarray):
        return binding.array_of_pair(both)
    return paired(both[0], both[1])


def halves(*numbers: Any) -> list[Any]:
    """The parts of numbers, one after the other, each of the shape of its number."""
    return [half for z in numbers for half in whole_parts_of(z)]


def whole(re: Any, im: Any) -> Any:
    """The number of both parts, as rules get it: single plain ones as NumPy has them."""
    z = paired(re, im)
    return np.complex128(z) if type(z) is complex else z


COMPLEX = (False,)  # one result, which is complex


class on_pairs:  # noqa: N801 - a decorator
    """A function of complex numbers, with rules: what `primitive` is for real ones.

    function: of plain arguments, of which those that may carry derivatives stand first, and are
    all complex. It returns an array, or a tuple of them, each complex or, where `real` says so,
    real. Keyword arguments are not differentiated.
    """

    def __init__(self, function: Callable[..., Any], real: Sequence[bool] = COMPLEX) -> None:
        self.function = function
        self.real = tuple(real)

        @functools.wraps(function)
        def on_tape(*args: Any, **kwargs: Any) -> Any:
            return self._apply(*args, **kwargs)

        on_tape.__qualname__ += ".primitive"  # where pickle finds it
        self.primitive = primitive(on_tape)
        self.__name__: str = getattr(function, "__name__", "")
        self.primitive.called = self.__name__
        self.makers: dict[int, Callable[..., Any] | None] = {}
        self.rules: dict[int, Callable[..., Any] | None] = {}
        self.is_elementwise = False

    @property
    def _name(self) -> str:
        return self.primitive.called

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not carries(args):
            return self.function(*args, **kwargs)
        parts = halves(*args)
        if any(map(binding.tag_of, parts)):
            return self._outward(self.primitive(*map(pair, args), **kwargs))
        return self.of_halves(self._record(parts, kwargs), paired)

    # --- on a tape: parts

    def _record(self, parts: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The parts of all results, for those of all arguments."""
        is_guarding = binding.is_guarding()
        if is_guarding:
            parts, kwargs = replaced(parts), replaced(kwargs)
        which, passive = binding.taking_part(parts)
        values = binding.plain_values(parts)
        results = self.computed(values, kwargs)
        if not which:
            return results
        call = _Call(self, values, kwargs, which)
        if is_guarding:
            call.note_point([values[k] for k in which], results, passive)
        recorded = binding.record_rule(call, [parts[k] for k in which], results)
        return list(recorded)

    def computed(self, values: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The parts of all results, for plain parts of all arguments."""
        with np.errstate(all="ignore"):
            ans = self.function(*map(whole, values[::2], values[1::2]), **kwargs)
        return self.to_halves(ans)

    def to_halves(self, ans: Any) -> list[Any]:
        """Results, one or several, as real numbers."""
        if self.real == COMPLEX:
            return list(whole_parts_of(ans))
        found: list[Any] = []
        for x, real in zip(ans if isinstance(ans, tuple) else (ans,), self.real, strict=True):
            found += [arrays.as_array(x)] if real else whole_parts_of(x)
        return found

    def of_halves(self, parts: list[Any], join: Callable[[Any, Any], Any] = whole) -> Any:
        """Results, one or several, of real numbers."""
        rest = iter(parts)
        found = [next(rest) if real else join(next(rest), next(rest)) for real in self.real]
        return found[0] if len(found) == 1 else tuple(found)

    # --- in forward mode: pairs

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """The function of pairs."""
        with np.errstate(all="ignore"):
            return self._inward(self.function(*map(unpaired, args), **kwargs))

    def _outward(self, ans: Any) -> Any:
        if not isinstance(ans, tuple):
            return ans if self.real[0] else unpaired(ans)
        return tuple(x if real else unpaired(x) for x, real in zip(ans, self.real, strict=True))

    def _inward(self, ans: Any) -> Any:
        if not isinstance(ans, tuple):
            return ans if self.real[0] else pair(ans)
        return tuple(x if real else pair(x) for x, real in zip(ans, self.real, strict=True))

    # --- rules

    def defvjp(self, *makers: Callable[..., Any] | None) -> None:
        """`maker(ans, *args)` gives `pull(g)`, all in complex numbers: see the file's head."""
        self.makers.update(enumerate(makers))

        def on_tape(maker: Callable[..., Any]) -> Callable[..., Any]:
            def made(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
                pull = maker(self._outward(ans), *map(unpaired, args), **kwargs)
                return lambda g: pair(pull(self._outward(g)))

            return functools.wraps(maker)(made)

        self.primitive.defvjp(*(None if m is None else on_tape(m) for m in makers))

    def deftogether(self, maker: Callable[..., Callable[[Any], Sequence[Any]]]) -> None:
        """A reverse rule of the first arguments taken together, as `primitive.together`."""

        def made(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Sequence[Any]]:
            pulls = maker(self._outward(ans), *map(unpaired, args), **kwargs)
            return lambda g: tuple(map(pair, pulls(self._outward(g))))

        self.primitive.together = made

    def defjvp(self, *rules: Callable[..., Any] | None) -> None:
        """`rule(g, ans, *args)` gives the tangent of ans, in complex numbers."""
        self.rules.update(enumerate(rules))

        def on_tape(rule: Callable[..., Any]) -> Callable[..., Any]:
            def made(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
                return self._inward(
                    rule(unpaired(g), self._outward(ans), *map(unpaired, args), **kwargs)
                )

            return functools.wraps(rule)(made)

        self.primitive.defjvp(*(None if r is None else on_tape(r) for r in rules))

    def defpartials(self, *partials: Callable[..., Any]) -> None:
        """`partial(ans, *args)`: derivatives of an analytic function, elementwise."""
        self.is_elementwise = True
        self.defvjp(*(functools.partial(_pull_partial, p, k) for k, p in enumerate(partials)))
        self.defjvp(*(functools.partial(_push_partial, p) for p in partials))


class _Call(Rule):
    """One call, as the tape keeps it: operands and results are parts."""

    by_index = None
    is_exact = True
    operation: on_pairs  # type: ignore[assignment]

    def __init__(
        self, operation: on_pairs, values: list[Any], kwargs: dict[str, Any], which: list[int]
    ) -> None:
        self.operation = operation
        self.args = [None if k in which else np.array(x)[()] for k, x in enumerate(values)]
        self.kwargs = kwargs
        self.which = which
        self.several = len(operation.real) > 1
        self.passive = [False] * len(which)
        self.point = ([], [])

    def _parts(self, operands: list[Any]) -> list[Any]:
        """The parts of all arguments."""
        parts = list(self.args)
        for k, operand in zip(self.which, operands, strict=True):
            parts[k] = operand
        return parts

    def _arguments(self, operands: list[Any]) -> list[Any]:
        """All arguments, as rules get them."""
        parts = self._parts(operands)
        return list(map(whole, parts[::2], parts[1::2]))

    def call(self, operands: list[Any]) -> list[Any]:
        """The results for other operands."""
        return self.operation.computed(self._parts(operands), self.kwargs)

    def links(self, operands: list[Any], results: list[Any]) -> Any:
        """How results depend on operands: nothing is stated but that it is elementwise."""
        if not self.operation.is_elementwise:
            return None
        stated = f"...->{','.join(['...'] * len(results))}"
        shapes = [binding.shape(x) for x in results]
        parts: list[Any] = []
        n = 0
        for x, cut in zip(operands, self.passive, strict=True):
            lengths = binding.shape(x)
            if not cut:
                found = links_of(stated, self.operation._name, shapes, lengths, lambda _: None)
                parts += [(links, begin, n) for links, begin in found or ()]
            n += math.prod(lengths)
        return joined(parts, n)

    def pull(
        self,
        operands: list[Any],
        outs: list[Any],
        cotangents: list[Any],
        wanted: Sequence[bool] | None = None,
    ) -> list[Any]:
        """A cotangent for each operand; None for those that are not wanted."""
        args, ans = self._arguments(operands), self.operation.of_halves(outs)
        g = self.operation.of_halves(cotangents)
        asked = self._chosen(wanted)
        found: dict[int, Any] = {}
        with np.errstate(all="ignore"):
            for k in dict.fromkeys(place // 2 for place in asked):
                maker = self.operation.makers[k]
                if maker is not None:
                    cotangent = maker(ans, *args, **self.kwargs)(g)
                    found[2 * k], found[2 * k + 1] = whole_parts_of(cotangent)
        return [found.get(place) if place in asked else None for place in self.which]

    def push(
        self,
        operands: list[Any],
        outs: list[Any],
        tangents: list[Any],
        moving: Sequence[bool] | None = None,
    ) -> list[Any]:
        """A tangent for each result; with `moving` those of other operands are 0."""
        args, ans = self._arguments(operands), self.operation.of_halves(outs)
        moved = self._chosen(moving)
        given = dict(zip(self.which, tangents, strict=True))
        total = [np.zeros(binding.shape(x)) for x in outs]
        with np.errstate(all="ignore"):
            for k in dict.fromkeys(place // 2 for place in moved):
                rule, still = self.operation.rules[k], np.zeros(binding.shape(args[k]))[()]
                if rule is not None:
                    both = (given[p] if p in moved else still for p in (2 * k, 2 * k + 1))
                    pushed = rule(whole(*both), ans, *args, **self.kwargs)
                    terms = self.operation.to_halves(pushed)
                    total = [x + y for x, y in zip(total, terms, strict=True)]
        return total

    def _chosen(self, asked: Sequence[bool] | None) -> list[int]:
        """Which parts are not cut off, and are asked for."""
        return [
            place
            for i, place in enumerate(self.which)
            if not self.passive[i] and (asked is None or asked[i])
        ]


def _push_partial(partial: Callable[..., Any], g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
    return partial(ans, *args, **kwargs) * g


def _pull_partial(
    partial: Callable[..., Any], k: int, ans: Any, *args: Any, **kwargs: Any
) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        slope = partial(ans, *args, **kwargs)
        return summed_to(np.conjugate(slope) * g, binding.shape(args[k]))

    return pull


def summed_to(z: Any, shape: tuple[int, ...]) -> Any:
    """The sum over the axes along which something of a shape was repeated."""
    have = binding.shape(z)
    extra = len(have) - len(shape)
    axes = tuple(range(extra)) + tuple(
        extra + i for i, length in enumerate(shape) if length == 1 and have[extra + i] != 1
    )
    return np.reshape(np.sum(z, axis=axes), shape) if axes else z
