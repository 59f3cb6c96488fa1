"""Operations on complex numbers with derivatives of their own.

To a sweep such an operation has one real operand, or result, for each complex array, with an axis
of length 2 in front: real and imaginary part. It has two where an operand's parts do not stand in
one array, for single numbers and for what is elementwise. (Forward mode has arrays of both.)

Rules are written in complex numbers, with adjoints (conjugated transposes) where those for real
numbers have transposes. A cotangent g of w = f(z) is such that the real part of conj(g) dw is the
change of the result; its two parts are the cotangents of those of w, so that nothing is conjugated
on the way.
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
from .primitives import primitive
from .recorded_calls import Asked, Numbers, Rule
from .replayed import replaced


def pair(z: Any) -> Any:
    """A complex array, or a real one, as a real one of both parts."""
    if isinstance(z, np.ndarray):
        return binding.pair_of_array(z)
    both = binding.pair_of_joined(z)
    return arrays.stack(halves(z)) if both is None else both


def unpaired(both: Any) -> Any:
    """The complex array, or number, of a real one of both parts."""
    if isinstance(both, np.ndarray):
        return binding.array_of_pair(both)
    return binding.complex_of_pair(both)


def halves(*numbers: Any) -> list[Any]:
    """The parts of numbers, one after the other, each of the shape of its number."""
    return [half for z in numbers for half in whole_parts_of(z)]


def whole(re: Any, im: Any) -> Any:
    """The number of both parts, as rules get it: single plain ones as NumPy has them."""
    z = paired(re, im)
    return np.complex128(z) if type(z) is complex else z


def together(parts: list[Any], counts: list[int]) -> list[Any]:
    """Complex numbers, each of an array of both parts, or of two parts; real ones count 0."""
    rest = iter(parts)
    return [
        whole(next(rest), next(rest)) if n == 2 else unpaired(next(rest)) if n else next(rest)
        for n in counts
    ]


def apart(z: Any, count: int) -> Sequence[Any]:
    """The reverse: the real numbers that a complex one consists of."""
    return whole_parts_of(z) if count == 2 else (pair(z),)


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

        self.primitive = primitive(on_tape)
        self.stands_at(on_tape.__module__, on_tape.__qualname__)
        self.__name__: str = getattr(function, "__name__", "")
        self.primitive.called = self.__name__
        self.makers: dict[int, Callable[..., Any] | None] = {}
        self.rules: dict[int, Callable[..., Any] | None] = {}
        self.is_elementwise = False

    @property
    def _name(self) -> str:
        return self.primitive.called

    def stands_at(self, module: str, name: str) -> None:
        """Say where pickle finds it: a module, and the name there."""
        self.__module__ = self.primitive.__module__ = module
        self.__qualname__ = name
        self.primitive.function.__qualname__ = f"{name}.primitive"

    def __reduce__(self) -> str:
        return self.__qualname__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not carries(args):
            return self.function(*args, **kwargs)
        if len(args) == 1 and not self.is_elementwise:
            both = binding.pair_of_joined(args[0])
            if both is not None and not binding.is_guarding():
                return self._record_one(both, kwargs)
        parts, counts = self._operands(args)
        if any(map(binding.tag_of, parts)):
            return self._outward(self.primitive(*map(pair, args), **kwargs))
        return self._record(parts, counts, kwargs)

    # --- on a tape: arrays of both parts, or parts

    def _operands(self, args: tuple[Any, ...]) -> tuple[list[Any], list[int]]:
        """The real numbers that arguments are to a sweep, and how many there are of each."""
        parts: list[Any] = []
        counts = []
        for z in args:
            both = None if self.is_elementwise else binding.pair_of_joined(z)
            more = whole_parts_of(z) if both is None else (both,)
            parts += more
            counts.append(len(more))
        return parts, counts

    def _results(self, ans: Any) -> tuple[list[Any], list[int]]:
        """The same of results, one or several; 0 says that one is real."""
        if self.real == COMPLEX:
            parts = self._halves(ans)
            return parts, [len(parts)]
        found: list[Any] = []
        counts = []
        for x, real in zip(ans if isinstance(ans, tuple) else (ans,), self.real, strict=True):
            more = [arrays.as_array(x)] if real else self._halves(x)
            found += more
            counts.append(0 if real else len(more))
        return found, counts

    def _halves(self, z: Any) -> list[Any]:
        """A complex result as real ones."""
        return list(whole_parts_of(z)) if self.is_elementwise or np.ndim(z) == 0 else [pair(z)]

    def joined(self, parts: list[Any], counts: list[int]) -> Any:
        """Results, one or several, of the real numbers that they are to a sweep."""
        if counts == [1]:
            return unpaired(parts[0])
        found = together(parts, counts)
        return found[0] if len(found) == 1 else tuple(found)

    def _record(self, parts: list[Any], counts: list[int], kwargs: dict[str, Any]) -> Any:
        """The results for arguments, as real numbers."""
        is_guarding = binding.is_guarding()
        if is_guarding:
            parts, kwargs = replaced(parts), replaced(kwargs)
        which, passive = binding.taking_part(parts)
        values = binding.plain_arguments(tuple(parts))
        results, forms = self.computed(values, counts, kwargs)
        if which:
            args = [None if k in which else np.array(x)[()] for k, x in enumerate(values)]
            call = _Call(self, kwargs, args, which, counts, forms)
            if is_guarding:
                call.note_point([values[k] for k in which], results, passive)
            results = binding.record_rule(call, [parts[k] for k in which], results)
        return self.joined(results, forms)

    def _record_one(self, both: Any, kwargs: dict[str, Any]) -> Any:
        """As `_record`, the one argument being an array of both parts, in fewer steps."""
        is_active = binding.active_arguments((both,))
        (value,) = binding.plain_arguments((both,))
        with binding.WarningsOff():
            ans = self.function(unpaired(value), **kwargs)
        if not is_active:
            return ans
        results, forms = self._results(ans)
        call = _Call(self, kwargs, [None], [0], [1], forms)
        return self.joined(binding.record_rule(call, [both], results), forms)

    def computed(
        self, values: Numbers, counts: list[int], kwargs: dict[str, Any]
    ) -> tuple[Numbers, list[int]]:
        """The results, as real numbers, for plain arguments, as real numbers."""
        with binding.WarningsOff():
            return self._results(self.function(*together(values, counts), **kwargs))

    # --- in forward mode: pairs

    def _apply(self, /, *args: Any, **kwargs: Any) -> Any:
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
            def made(ans: Any, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
                pull = maker(self._outward(ans), *map(unpaired, args), **kwargs)
                return lambda g: pair(pull(self._outward(g)))

            return functools.wraps(maker)(made)

        self.primitive.defvjp(*(None if m is None else on_tape(m) for m in makers))

    def deftogether(self, maker: Callable[..., Callable[[Any], Sequence[Any]]]) -> None:
        """A reverse rule of the first arguments taken together, as `primitive.together`."""

        def made(ans: Any, /, *args: Any, **kwargs: Any) -> Callable[[Any], Sequence[Any]]:
            pulls = maker(self._outward(ans), *map(unpaired, args), **kwargs)
            return lambda g: tuple(map(pair, pulls(self._outward(g))))

        self.primitive.together = made

    def defjvp(self, *rules: Callable[..., Any] | None) -> None:
        """`rule(g, ans, *args)` gives the tangent of ans, in complex numbers."""
        self.rules.update(enumerate(rules))

        def on_tape(rule: Callable[..., Any]) -> Callable[..., Any]:
            def made(g: Any, ans: Any, /, *args: Any, **kwargs: Any) -> Any:
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
    is_exact = goes_forward = True
    unread = None
    operation: on_pairs

    def __init__(
        self,
        operation: on_pairs,
        kwargs: dict[str, Any],
        args: list[Any],
        which: list[int],
        counts: list[int],
        forms: list[int],
    ) -> None:
        self.operation = operation
        self.args = args  # those that carry derivatives are None
        self.kwargs = kwargs
        self.which = which
        self.counts = counts  # of real numbers, of each argument
        self.forms = forms  # and of each result
        self.several = len(operation.real) > 1
        self.passive = [False] * len(which)
        self.point = ([], [])

    def _parts(self, operands: Numbers) -> Numbers:
        """All arguments, as real numbers."""
        parts = list(self.args)
        for k, operand in zip(self.which, operands, strict=True):
            parts[k] = operand
        return parts

    def _arguments(self, operands: Numbers) -> Numbers:
        """All arguments, as rules get them."""
        return together(self._parts(operands), self.counts)

    def call(self, operands: Numbers) -> Numbers:
        """The results for other operands."""
        return self.operation.computed(self._parts(operands), self.counts, self.kwargs)[0]

    def links(self, operands: Numbers, results: Numbers) -> Any:
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
        self, operands: Numbers, outs: Numbers, cotangents: Numbers, wanted: Asked = None
    ) -> Numbers:
        """A cotangent for each operand; None for those that are not wanted."""
        if self.counts == self.forms == [1]:
            return [self._pull_one(operands[0], outs[0], cotangents[0])]
        args, ans = self._arguments(operands), self.operation.joined(outs, self.forms)
        g = self.operation.joined(cotangents, self.forms)
        asked = self._chosen(wanted)
        found: dict[int, Any] = {}
        with binding.WarningsOff():
            for k, first, end in self._places(asked):
                maker = self.operation.makers[k]
                if maker is not None:
                    cotangent = maker(ans, *args, **self.kwargs)(g)
                    found.update(enumerate(apart(cotangent, end - first), first))
        return [found.get(place) if place in asked else None for place in self.which]

    def _pull_one(self, operand: Any, out: Any, cotangent: Any) -> Any:
        """The cotangent of the one argument for that of the one result, each in one array."""
        maker = self.operation.makers[0]
        if maker is None or self.passive[0]:
            return None
        with binding.WarningsOff():
            pull = maker(unpaired(out), unpaired(operand), **self.kwargs)
            return pair(pull(unpaired(cotangent)))

    def push(
        self, operands: Numbers, outs: Numbers, tangents: Numbers, moving: Asked = None
    ) -> Numbers:
        """A tangent for each result; with `moving` those of other operands are 0."""
        args, ans = self._arguments(operands), self.operation.joined(outs, self.forms)
        moved = self._chosen(moving)
        given = dict(zip(self.which, tangents, strict=True))
        total = [np.zeros(binding.shape(x)) for x in outs]
        with binding.WarningsOff():
            for k, first, end in self._places(moved):
                rule, still = self.operation.rules[k], np.zeros(binding.shape(args[k]))[()]
                if rule is not None:
                    along = [given[p] if p in moved else still for p in range(first, end)]
                    tangent = together(along, [len(along)])[0]
                    pushed = rule(tangent, ans, *args, **self.kwargs)
                    terms, _ = self.operation._results(pushed)
                    total = [x + y for x, y in zip(total, terms, strict=True)]
        return total

    def _places(self, asked: list[int]) -> list[tuple[int, int, int]]:
        """Arguments of which something is asked: which, and where its real numbers are."""
        found = []
        first = 0
        for k, count in enumerate(self.counts):
            if any(first <= place < first + count for place in asked):
                found.append((k, first, first + count))
            first += count
        return found

    def _chosen(self, asked: Asked) -> list[int]:
        """Which parts are not cut off, and are asked for."""
        return [
            place
            for i, place in enumerate(self.which)
            if not self.passive[i] and (asked is None or asked[i])
        ]


def _push_partial(
    partial: Callable[..., Any], g: Any, ans: Any, /, *args: Any, **kwargs: Any
) -> Any:
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
