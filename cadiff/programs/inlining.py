"""Recorded functions within other derivatives, where f is not run.

A call of a program is one entry of the tape. For exact replays alone what f recorded is inlined.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import Dual, Guarded, Inlined, Taped, Var, Watch
from ..transforms._base import Function
from ..transforms._outputs import Output
from .reads import watch_call
from .recordings import OUTER, Call, MissedError, first_argument, recorded_in

__all__ = ["Replay", "TapedCalls"]


class Replay:
    """A function as it was recorded, for gradient functions that are about to differentiate it.

    Called with what they lift, it records what the function would record. A guard that comes out
    otherwise raises MissedError.
    """

    def __init__(self, inlined: Inlined, output: Output, argnums: tuple[int, ...]) -> None:
        self._inlined = inlined
        self._output = output
        self._argnums = argnums

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or self._argnums not in ((), (0,)) or not all(map(_is_number, args)):
            atoms = Call(args, kwargs, self._argnums).atoms
        else:
            atoms = list(args)
        found = self._inlined.inline(atoms)
        assert found is not None
        if isinstance(found, int):
            raise MissedError(-1)  # guards are counted in another way there
        return self._output.restored(found)


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, Var))


class ReplayedResult:
    """What a function returned: numbers with derivatives, and all that is the same in each replay.

    Lists in what a function returned stay lists, unlike in the results of gradient functions.
    """

    def __init__(self, out: Any) -> None:
        leaves, self._tree = binding.flattened(out)
        self.atoms = [leaf for leaf in leaves if isinstance(leaf, (Var, Dual))]
        self._leaves = [*map(_lasting, leaves)]

    def fill(self, atoms: Sequence[Any]) -> Any:
        numbers = iter(atoms)
        return self._tree.fill(
            next(numbers) if leaf is _ATOM else leaf.copy() if _is_plain(leaf) else leaf
            for leaf in self._leaves
        )


_ATOM = object()


def _is_plain(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype != object


def _lasting(leaf: Any) -> Any:
    """What replays take the place of a leaf from."""
    if isinstance(leaf, (Var, Dual)):
        return _ATOM
    if _is_plain(leaf):
        return leaf.copy()
    if isinstance(leaf, (bool, int, float, complex, str, np.generic)):
        return leaf
    raise TypeError(f"a replay would share its {type(leaf).__name__} with the recording")


class Candidates:
    """The recordings for calls of one signature, and how many calls in a row they missed.

    Where there are as many as there may be, and none has served for some calls in a row, they are
    left alone for a while: f is run without trying them.
    """

    MOST_SKIPPED = 64
    MANY_MISSED = 4

    def __init__(self) -> None:
        self.taped: list[tuple[Taped, ReplayedResult, Watch]] = []
        self._missed = 0
        self._to_skip = 0

    def is_left_alone(self) -> bool:
        self._to_skip -= self._to_skip > 0
        return self._to_skip > 0

    def forget_stale(self) -> None:
        """After some calls in vain make room, if what f reads beside its arguments has changed."""
        if self._missed % self.MANY_MISSED == 0:
            self.taped = [one for one in self.taped if one[2].holds()]

    def note_served(self) -> None:
        self._missed = self._to_skip = 0

    def note_missed(self) -> None:
        self._missed += 1
        self._to_skip = min(self._missed, self.MOST_SKIPPED)


def _taped(
    name: str, guarded: Guarded, result: ReplayedResult
) -> tuple[Taped, ReplayedResult] | str:
    if guarded.writes_inputs:
        return "it assigns to an argument, which is the caller's"
    taped = binding.taped_of(guarded.recording, result.atoms, name)
    return taped if isinstance(taped, str) else (taped, result)


class TapedCalls:
    """The recordings of a function for calls that carry Vars or Duals, by their signatures.

    At most `max_traces` are kept for each signature.
    """

    MOST_SIGNATURES = 64

    def __init__(self, f: Function, max_traces: int, changed: Callable[[], None]) -> None:
        self._function = f
        self._max_traces = max_traces
        self._changed = changed  # called where no recording has the outcomes that are met
        self._candidates: dict[Any, Candidates] = {}  # by key; if empty, f has to be run
        self._fast: dict[Any, Candidates] = {}  # by what signature_of finds without a Call

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[bool, Any]:
        """Whether a recording serves the call, and then what the function returns."""
        signature, atoms = (None, []) if kwargs else binding.signature_of(args)
        fast = self._fast.get(signature)
        found = MISSED
        if fast is not None:
            if fast.is_left_alone():
                self._changed()
                return False, None
            found = self._served(fast, atoms)
            if found is not MISSED or len(fast.taped) >= self._max_traces:
                return _answer(found)
        call = Call(args, kwargs, first_argument(args))
        atoms = call.atoms
        if not any(isinstance(x, (Var, Dual)) for x in atoms):
            return False, None
        candidates = self._candidates.get(call.key)
        if candidates is None and len(self._candidates) >= self.MOST_SIGNATURES:
            return False, None
        if candidates is not None and candidates is not fast:
            found = self._served(candidates, atoms)
        if found is MISSED and not binding.is_hooked():
            found = self._fresh(call, args, kwargs, atoms)
        candidates = self._candidates.get(call.key)
        if signature is not None and candidates is not None and candidates.taped:
            self._fast[signature] = candidates
        return _answer(found)

    def _fresh(
        self, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any], atoms: list[Any]
    ) -> Any:
        """What the function returns by a new recording, made by running f on plain numbers."""
        candidates = self._candidates.get(call.key)
        if candidates is not None and len(candidates.taped) >= self._max_traces:
            return MISSED
        plain = Call(binding.plain_values(args), binding.plain_values(kwargs), call.argnums)
        take = functools.partial(_taped, _name_of(self._function))
        made: tuple[Taped, ReplayedResult] | str
        try:
            watch = watch_call(self._function, call.statics)
            made = recorded_in(self._function, plain, ReplayedResult, take, exact=False)
        except Exception:
            made = ""  # f says what is wrong, or finds nothing wrong
        if made == OUTER:  # in this call, perhaps not in others
            return None
        candidates = self._candidates.setdefault(call.key, Candidates())
        if isinstance(made, str):
            return None
        candidates.taped = [(*made, watch), *candidates.taped]
        found = made[0].call(atoms)
        if isinstance(found, list):
            return (made[1].fill(found),)
        return None if found is None else MISSED

    def _served(self, candidates: Candidates, atoms: list[Any]) -> Any:
        """What the function returns, MISSED, or None if it has to be run."""
        for taped, result, watch in candidates.taped:
            if watch.holds():
                found = taped.call(atoms)
                if type(found) is list:
                    candidates.note_served()
                    return (result.fill(found),)
                if found is None:
                    return None
        if candidates.taped:
            if len(candidates.taped) >= self._max_traces:
                candidates.note_missed()
                candidates.forget_stale()
            self._changed()
            return MISSED
        return None


MISSED = object()  # no recording has the outcomes that are met


def _name_of(f: Function) -> str:
    return str(getattr(f, "__qualname__", repr(f)))


def _answer(found: Any) -> tuple[bool, Any]:
    return (True, found[0]) if isinstance(found, tuple) else (False, None)
