"""What f has changed when it was recorded, and how that is taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Watch

__all__ = ["Before", "Changes", "Contents", "are_changed"]

Changes = list[tuple[NDArray[Any], NDArray[Any]]]  # arrays, and the values that they are to have


class Before:
    """Arguments of f, and what else it reads, as they were before it ran."""

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any], watch: Watch) -> None:
        leaves, _ = binding.flattened((args, kwargs))
        arrays = [x for x in leaves if isinstance(x, np.ndarray) and x.flags.writeable]
        self._arrays = [(x, x.copy()) for x in arrays if not x.dtype.hasobject]
        self._contents = Contents(args, kwargs)
        self._watch = watch
        self._read = watch.saved()

    @property
    def are_arguments_changed(self) -> bool:
        """Whether f has changed its arguments, as where it knows them by other names."""
        return are_changed(self._arrays) or self._contents.are_changed

    def restore(self) -> bool:
        """Put back what was there; answers whether all that f reads is as it was."""
        binding.assign(self._arrays)
        return self._watch.restore(self._read)


class Contents:
    """What is in containers among some arguments, and how they are made."""

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._held = [x for x in (*args, *kwargs.values()) if binding.opened(x) is not None]
        self._leaves, self._key = self._taken()

    def _taken(self) -> tuple[list[Any], Any]:
        leaves, tree = binding.flattened(self._held)
        return leaves, binding.key_of(tree)

    @property
    def are_changed(self) -> bool:
        """Whether other objects are in them now."""
        leaves, key = self._taken()
        is_alike = len(leaves) == len(self._leaves) and key == self._key
        return not (is_alike and all(map(is_, leaves, self._leaves)))


def are_changed(arrays: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> bool:
    """Whether arrays have other numbers than their copies."""
    return any(binding.key_of(array) != binding.key_of(copy) for array, copy in arrays)
