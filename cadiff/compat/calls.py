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
