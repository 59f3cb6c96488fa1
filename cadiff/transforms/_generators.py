"""Random generators: whether a function has drawn from them, and how to put them back."""

from __future__ import annotations

import ctypes
import functools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import binding

MT19937_BYTES = 625 * 4  # 624 words and a position


def generators_in(tree: Any, others: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The generators in a container, and those among other objects, without a name."""
    leaves, _ = binding.flattened(tree)
    for item in (*leaves, *others):
        if isinstance(item, generator_types()):
            yield "", item


class Generators:
    """The random generators that a function may use, by names, as they are now.

    Those of `random` and `numpy.random`, too. As a context: they are as they were then, and
    afterwards as before.
    """

    def __init__(self, generators: Iterable[tuple[str, Any]]) -> None:
        self._handles = list(_GLOBAL)
        if "numpy.random" in sys.modules:  # which NumPy loads when it is asked for
            self._handles.append(_GLOBAL_OF_NUMPY)
        seen = set()
        for name, generator in generators:
            if id(generator) not in seen:
                seen.add(id(generator))
                self._handles.append(_handle(name, generator))
        self._states: list[Any] = []
        for handle in self._handles:  # a comprehension is one frame more
            self._states.append(handle.get())

    def forget_unused(self) -> list[str]:
        """Keep only those that have been used since; answers their names."""
        handles, states = self._handles, self._states
        self._handles, self._states = [], []
        names: list[str] = []
        for handle, state in zip(handles, states, strict=True):
            now = handle.get()
            if now is not state and not _is_same_state(now, state):
                self._handles.append(handle)
                self._states.append(state)
                names.append(handle.name)
        return names

    def __enter__(self) -> None:
        self._later: list[Any] = [handle.get() for handle in self._handles]
        for handle, state in zip(self._handles, self._states, strict=True):
            handle.put(state)

    def __exit__(self, *_: object) -> None:
        for handle, state in zip(self._handles, self._later, strict=True):
            handle.put(state)


@functools.cache
def generator_types() -> tuple[type[Any], ...]:
    """The types of generators; NumPy loads its own when they are asked for, which takes long."""
    kinds = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    return *kinds, random.Random


class _Handle(NamedTuple):
    """How to read and to set the state of a generator, by name."""

    name: str
    get: Callable[[], Any]
    put: Callable[[Any], None]


_seen: tuple[Any, bytes, Any] = (None, b"", None)  # generator, its memory, the state of all


def _global_state() -> Any:
    """The state of `numpy.random`, which takes 60 microseconds to read.

    It is not read again while its memory has not changed, unless half a pair of normal numbers is
    left elsewhere.
    """
    global _seen
    bits = np.random.get_bit_generator()  # type: ignore[attr-defined]
    if not isinstance(bits, np.random.MT19937):
        return np.random.get_state(legacy=False)
    memory = ctypes.string_at(bits.ctypes.state_address, MT19937_BYTES)
    generator, before, state = _seen
    if generator is not bits or before != memory or state["has_gauss"]:
        state = np.random.get_state(legacy=False)
        _seen = (bits, memory, state)
    return state


_GLOBAL = (_Handle("random", random.getstate, random.setstate),)
_GLOBAL_OF_NUMPY = _Handle("numpy.random", _global_state, lambda state: np.random.set_state(state))


def _handle(name: str, generator: Any) -> _Handle:
    if isinstance(generator, random.Random):
        return _Handle(name, generator.getstate, generator.setstate)
    if isinstance(generator, np.random.RandomState):
        return _Handle(name, generator.get_state, generator.set_state)
    bits = getattr(generator, "bit_generator", generator)

    def put(state: Any) -> None:
        bits.state = state

    return _Handle(name, lambda: bits.state, put)


def _is_same_state(x: Any, y: Any) -> bool:
    """Whether two states of a generator are the same: dicts and tuples, some with arrays."""
    if x is y:
        return True
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(_is_same_state(x[key], y[key]) for key in x)
    if isinstance(x, tuple) and np.ndarray in map(type, x):
        return len(x) == len(y) and all(map(_is_same_state, x, y))
    return bool(np.array_equal(x, y) if isinstance(x, np.ndarray) else x == y)
