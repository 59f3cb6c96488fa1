"""What f returned when it was recorded, and what replays return in its place."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import binding
from ..binding import Container, Dual, Var
from ..operations.replayed import kind_of_whole
from ..transforms._outputs import Output, is_vector, restored, unmasked

_NOT_MADE = (
    "it returns a {}, which a replay cannot make anew: return numbers, arrays, strings, or "
    "containers of them"
)
_LASTING = (bool, int, complex, str, bytes, np.generic, Enum, type)


class Returned(Output):
    """What f returned, taken apart: numbers, and what is the same in each replay.

    The same are what is no real number, and integers: only choices make them depend on numbers.
    """

    def __init__(self, out: Any) -> None:
        self._what = "what f returns"
        leaves, self._tree = binding.flattened(out, _is_vector_of_numbers, pairs=True)
        self._constants: list[Any] = []
        self._are_numbers: list[bool] = []
        self.obstacle = ""  # why a replay cannot return the like
        self._has_constants = False
        self.has_whole_numbers = False  # ints, which have to be plain ones wherever f is called
        numbers = []
        for leaf in leaves:
            is_number = type(leaf) is Var  # as it mostly is
            plain, constant = leaf, None
            if not is_number:
                plain, constant = unmasked(leaf), _constant(leaf)
                is_number = _are_numbers(plain)
            if constant is not None:
                self._note(constant, is_number)
            if is_number:
                numbers.append(plain)
            self._constants.append(constant)
            self._are_numbers.append(is_number)
        self._take(numbers)
        # whether gradient functions take it
        self.is_differentiable = out is not None and all(self._are_numbers)

    def _note(self, constant: Any, are_numbers: bool) -> None:
        """Note what does not depend on numbers."""
        known, _ = binding.flattened(constant)  # of a vector: those that are no numbers
        self._has_constants = self._has_constants or len(known) > 0
        self.has_whole_numbers |= any(isinstance(one, _Whole) for one in known)
        is_lasting = isinstance(constant, _LASTING) or _is_plain(constant)
        if not (are_numbers or is_lasting or self.obstacle):
            self.obstacle = _NOT_MADE.format(type(constant).__name__)

    def returned(self, atoms: Sequence[Any], within: bool = False) -> Any:
        """What f would have returned, of other atoms; `restored` has floats for its integers.

        `within` another derivative all that is constant is as f returned it; else floats are
        float64.
        """
        if not self._has_constants:
            return self.in_precision(atoms)[0] if self.is_leaf else self.restored(atoms)
        atoms = self.in_precision(atoms)
        numbers = iter([restored(a, kind) for a, kind in zip(atoms, self._vectors, strict=True)])
        leaves = [
            _merged(next(numbers) if are_numbers else None, constant, within)
            for constant, are_numbers in zip(self._constants, self._are_numbers, strict=True)
        ]
        return self._tree.fill(leaves)


class _Whole:
    """The place of integers that replays compute anew."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind


def _is_vector_of_numbers(container: Container, parts: tuple[Any, ...]) -> bool:
    return is_vector(container, parts) and all(map(_are_numbers, map(unmasked, parts)))


def _are_numbers(leaf: Any) -> bool:
    """Whether gradient functions take it for one or several real numbers."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind in "iuf" or (
            leaf.dtype == object and leaf.size > 0 and all(map(_are_numbers, leaf.flat))
        )
    is_number = isinstance(leaf, (Var, Dual, float, int)) and not isinstance(leaf, bool)
    return is_number or binding.opened(leaf) is not None  # a vector


def _constant(leaf: Any) -> Any:
    """What does not depend on numbers; None if it does. Of a vector: of each of its items."""
    kind = kind_of_whole(leaf)
    if kind is not None:
        return _Whole(kind)
    leaf = unmasked(leaf)
    if isinstance(leaf, (Var, Dual)):
        return None
    if isinstance(leaf, np.ndarray):
        return None if leaf.dtype == object and _are_numbers(leaf) else _own(leaf)
    found = binding.opened(leaf)
    return leaf if found is None else found[0].make([_constant(x) for x in found[1]])


def _merged(numbers: Any, constant: Any, within: bool) -> Any:
    """Numbers, and what is constant in their place."""
    if constant is None:
        return numbers
    if isinstance(constant, _Whole):
        return binding.whole(numbers, constant.kind)
    found = binding.opened(constant)
    if found is not None:
        items = zip(numbers, found[1], strict=True)
        return found[0].make([_merged(*item, within) for item in items])
    is_float = np.asarray(constant).dtype.kind == "f"
    return numbers if is_float and not within else _own(constant)


def _own(constant: Any) -> Any:
    return constant.copy() if _is_plain(constant) else constant


def _is_plain(constant: Any) -> bool:
    return type(constant) is np.ndarray and not constant.dtype.hasobject
