"""What a replay computes anew: what it stands for, the numbers in its place, and who has read it.

While a function is recorded for replays, comparisons of arrays, integers among the arguments and
values of numbers are such things. Each is used like what it stands for, and knows the numbers that
a replay will compute in its place. What reads it has based something on it: from then on it is a
guard, or a constant. What functions make of it is for others to say.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import binding

MOST_ORIGINS = 16  # that something has, else a sum of n ints would remember n * n of them

Outcomes = tuple[Any, int, bool]  # a Var, the serial of its recording, whether it is an equality


class Memory:
    """What masks share that are views of one array."""

    def __init__(self, own: Outcomes) -> None:
        self.own = own  # of all that is in it
        self.has_views = False
        self.is_known = False  # to others, who may write into it
        # Of floats, which a replay may round in another way; a memory stands for its own sources.
        self.sources: list[Outcomes | Memory] = []
        self.origins: tuple[Memory, ...] = (self,)  # what it is made of
        self.was_read = False  # or what is made of it
        self.is_wide = False  # whether ints may be of any size in a replay
        self.is_value = False  # whether they are floats that numbers have: no guard tells them
        self.bound = np.inf  # of the sizes of ints: none in a replay is larger

    def guard(self) -> None:
        """Guard the items, or the numbers that floats are made of."""
        if not self.is_known:
            if self.is_value and binding.notes_guards(*self.own[:2]):
                binding.read_for_user(self.own[0], "cadiff.value(v)")
            for outcomes in () if self.is_value else self._deciding():
                binding.note_outcomes(*outcomes)
            self.is_known = True
            self.note_reading()

    def _deciding(self) -> list[Outcomes]:
        """What decides about it, each of the sources once."""
        sources: dict[int, Outcomes] = {}
        rest: list[Outcomes | Memory] = [*reversed(self.sources)] or [self.own]
        seen: set[int] = set()
        while rest:
            source = rest.pop()
            if not isinstance(source, Memory):
                sources[id(source[0])] = source
            elif id(source) not in seen:
                seen.add(id(source))
                rest.extend(reversed(source.sources))
        return [*sources.values()]

    @classmethod
    def joint(cls, origins: tuple[Memory, ...]) -> Memory:
        """One that stands for many origins."""
        memory = cls(origins[0].own)
        memory.origins = origins
        memory.is_value = any(origin.is_value for origin in origins)
        return memory

    def note_reading(self) -> None:
        """Note that a guard rests on elements of it: in all origins, those of joint ones, too."""
        rest = [*self.origins]
        while rest:
            origin = rest.pop()
            if not origin.was_read:
                origin.was_read = True
                rest.extend(origin.origins)


class Replayed:
    """What a replay computes anew, unless it is read: then it is a guard, or a constant.

    Parameters
    ----------
    plain : what NumPy, or Python, has in its place
    outcomes : Var
        The same numbers: 1 for True, 0 for False.
    serial : int
        Which recording it belongs to.
    equality : bool
        Whether two numbers were asked if they are equal.
    """

    is_mask = False  # else it stands for an array, or a scalar of NumPy's: see masks.py

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For `isinstance`: it is used like what it stands for."""
        return type(self._plain)

    def __init__(
        self, plain: Any, outcomes: Any, serial: int, equality: bool, memory: Memory | None = None
    ) -> None:
        kind = np.result_type(getattr(plain, "dtype", np.float32), np.float32)
        if binding.is_single(outcomes) and kind == np.float64:  # as int64 makes of float32
            outcomes = binding.widened(outcomes)
        self._plain = plain
        self._outcomes = outcomes
        self._serial = serial
        self._equality = equality
        self.memory = Memory((outcomes, serial, equality)) if memory is None else memory

    @property
    def _source(self) -> Outcomes | Memory:
        """What decides about it."""
        own = (self._outcomes, self._serial, self._equality)
        return self.memory if self.memory.sources else own

    @property
    def read_values(self) -> Any:
        """What it stands for; from now on all that share its memory are guards, and plain."""
        self.memory.guard()
        return self._plain

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but what it stands for, in this recording at least."""
        return self.memory.is_known or not binding.notes_guards(self._outcomes, self._serial)

    @property
    def is_float(self) -> bool:
        return kind_of(self._plain) == "f"

    @property
    def number(self) -> Any:
        """What is computed with: a Var, unless it is plain."""
        return self.read_values if self.is_plain else self._outcomes

    # --- read by Python

    def __index__(self) -> int:
        return operator.index(self.read_values)

    def __float__(self) -> float:
        return float(self.read_values)

    def __repr__(self) -> str:
        return repr(self.read_values)

    def __str__(self) -> str:
        return str(self.read_values)

    def __format__(self, spec: str) -> str:
        return format(self.read_values, spec)


def is_mask(x: Any) -> bool:
    """Whether it stands for an array, or a scalar of NumPy's."""
    return isinstance(x, Replayed) and x.is_mask


def is_anew(x: Any) -> bool:
    """Whether it is an array that a replay computes anew."""
    return isinstance(x, Replayed) and x.is_mask and not x.is_plain


def is_value(x: Any) -> bool:
    """Whether it is made of values of numbers, and not read yet."""
    return isinstance(x, Replayed) and not x.is_plain and x.memory.is_value


def is_number_mask(x: Any) -> bool:
    """Whether it is a mask of ints or floats."""
    return isinstance(x, Replayed) and kind_of(x._plain) != "b"


def kind_of(x: Any) -> str:
    """The kind of dtype that a plain number, or an array, has: "b", "i", "u" or "f"."""
    if isinstance(x, (np.ndarray, np.generic)):
        return str(x.dtype.kind)
    return "b" if isinstance(x, bool) else "i" if isinstance(x, int) else "f"


def kind_of_whole(x: Any) -> Any:
    """What makes integers that a replay computes anew of floats: a type, or a dtype; else None."""
    if not isinstance(x, Replayed) or x.is_plain or kind_of(x._plain) not in "iu":
        return None
    return x._plain.dtype if isinstance(x._plain, np.ndarray) else type(x._plain)


def replaced(tree: Any, by: str = "read_values") -> Any:
    """A container with something else in the place of masks."""
    return binding.map_leaves(lambda x: getattr(x, by) if isinstance(x, Replayed) else x, tree)


def masks_in(tree: Any) -> list[Replayed]:
    """All that is in a container, read or not."""
    if isinstance(tree, Replayed):
        return [tree]
    if isinstance(tree, dict):
        tree = tree.values()
    elif type(tree) not in (list, tuple):
        return []
    return [mask for item in tree for mask in masks_in(item)]


def unread(tree: Any) -> list[Replayed]:
    """What is in a container and not read yet."""
    return [mask for mask in masks_in(tree) if not mask.is_plain]


def origins_of(masks: list[Replayed]) -> tuple[Memory, ...]:
    found = tuple(dict.fromkeys(origin for mask in masks for origin in mask.memory.origins))
    return found if len(found) <= MOST_ORIGINS else (Memory.joint(found),)
