"""Calls with containers as operations of one array, for functions that have rules of their own.

A rule knows containers, and is asked once for each call: so a primitive is made of a call, whose
argument is all of its numbers in a row. A rule may call the function itself on tangents, in which
it is linear: that is to be transposed without the rule, so functions whose rules run are known.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

from .trees import Tree


def in_a_row(parts: Sequence[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    """All numbers of arrays as a vector, and what makes a list of such arrays of a vector."""
    shapes = [np.shape(x) for x in parts]
    ends = [int(end) for end in onp.cumsum([math.prod(shape) for shape in shapes], dtype=int)]
    vector = np.concatenate([*map(np.ravel, parts)]) if parts else onp.zeros(0)

    def apart(vector: Any) -> list[Any]:
        pieces = zip(shapes, [0, *ends], ends, strict=False)
        return [np.reshape(vector[begin:end], shape)[()] for shape, begin, end in pieces]

    return vector, apart


class _Running(threading.local):
    functions: tuple[Any, ...] = ()


_running = _Running()


@contextmanager
def running(function: Any) -> Iterator[None]:
    """While a rule of a function runs, in this thread."""
    before, _running.functions = _running.functions, (*_running.functions, function)
    try:
        yield
    finally:
        _running.functions = before


def is_running(function: Any) -> bool:
    """Whether a rule of a function runs."""
    return function in _running.functions


class InlinedCall:
    """A call within a program, which computes the values itself, and asks rules for derivatives.

    It is a primitive of values and of the point, which gives the values: C carries it out.
    """

    def __init__(self, point: Any) -> None:
        self._point, self._given = _reals(point)
        self._numbers: Callable[[Any], Any] = lambda x: x
        self._made: Any = cadiff.primitive(lambda value, point: value)
        self._made.loop, self._made.loop_takes = onp.positive, (0,)

    def defjvp(self, push: Callable[..., Any]) -> None:
        """State `push(t, ans, point)`, which gives the tangents of all values."""
        self._made.defjvp(
            None,
            lambda t, ans, value, point: self._row(push(self._given(t), ans, self._given(point))),
        )

    def defvjp(self, pull: Callable[..., Any]) -> None:
        """State `pull(ans, point)`, which gives a function of their cotangents."""

        def rule(ans: Any, value: Any, point: Any) -> Callable[[Any], Any]:
            of = pull(self._numbers(ans), self._given(point))
            return lambda g: _reals(_turned(of(_turned(self._numbers(g)))))[0]

        self._made.defvjp(None, rule)

    def _row(self, numbers: Any) -> Any:
        parts = numbers if isinstance(numbers, tuple) else (numbers,)
        return _reals(in_a_row(parts)[0])[0]

    def __call__(self, numbers: Any) -> Any:
        """A number, or a tuple of numbers, that no derivative depends on yet."""
        is_tuple = isinstance(numbers, tuple)
        value, apart = in_a_row(numbers if is_tuple else (numbers,))
        value, given = _reals(value)
        self._numbers = lambda x: tuple(apart(given(x))) if is_tuple else apart(given(x))[0]
        return self._numbers(self._made(value, self._point))


def _turned(x: Any) -> Any:
    """Cotangents as rules have them, which conjugate nothing; and the other way round."""
    if isinstance(x, tuple):
        return tuple(map(_turned, x))
    return np.conjugate(x) if np.iscomplexobj(x) else x


def _reals(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The real and imaginary parts of complex numbers, and what makes these of such parts."""
    if not np.iscomplexobj(x):
        return x, lambda x: x
    return np.stack([np.real(x), np.imag(x)]), lambda x: x[0] + 1j * x[1]


class Call:
    """A call: which leaves of its arguments it may be differentiated by, as one array.

    point: all of these numbers in a row; one alone is as it is.
    """

    def __init__(self, of: type[Tree], args: Any, is_number: Callable[[Any], bool]) -> None:
        self.of = of
        self.leaves, self.tree = of.flatten(args)
        self.which = [i for i, x in enumerate(self.leaves) if is_number(x)]
        self.numbers = [self.leaves[i] for i in self.which]
        self.point, self.apart = self._joined(self.numbers)

    @staticmethod
    def _joined(numbers: list[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
        return (numbers[0], lambda x: [x]) if len(numbers) == 1 else in_a_row(numbers)

    def args(self, point: Any, others: Sequence[Any] | None = None) -> Any:
        """The arguments with numbers from a row, and other leaves in place of those beside."""
        leaves = [*(self.leaves if others is None else others)]
        for i, x, part in zip(self.which, self.numbers, self.apart(point), strict=True):
            is_real = np.iscomplexobj(part) and not np.iscomplexobj(x)
            leaves[i] = np.real(part) if is_real else part
        return self.tree.unflatten(leaves)

    def cotangents(self, found: Sequence[Any]) -> Any:
        """Those of the numbers in a row, of one for each argument, or None."""
        leaves: list[Any] = []
        for part, cotangent in zip(self.tree.parts, found, strict=True):
            is_zero = cotangent is None
            leaves += [0.0] * part.num_leaves if is_zero else part.flatten_up_to(cotangent)
        pairs = zip(self.which, self.numbers, strict=True)
        return self._joined([onp.zeros(np.shape(x)) + leaves[i] for i, x in pairs])[0]

    def flat(self, result: Any) -> Any:
        """The leaves of a result, as a primitive returns them: one, or a tuple."""
        leaves, self.outputs = self.of.flatten(result)
        return leaves[0] if len(leaves) == 1 else tuple(leaves)

    def whole(self, flat: Any) -> Any:
        """A result from its leaves."""
        return self.outputs.unflatten([flat] if self.outputs.num_leaves == 1 else flat)

    def operation(self, function: Callable[..., Any]) -> Any:
        """The primitive of a function of the arguments: of their numbers in a row."""
        made = cadiff.primitive(lambda point: self.flat(function(*self.args(point))))
        made._is_own = False  # its rules are a user's, and of complex numbers, too
        return made
