"""Recorded functions within other derivatives: their images are put on the tape in their place."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Dual, Image, Var
from .recordings import OUTER, Call, MissedError, first_argument, image_of
from .transforms._base import Function
from .transforms._outputs import Output

__all__ = ["Images", "Replay"]


class Replay:
    """A function as it was recorded, for gradient functions that are about to differentiate it.

    Called with what they lift, it records what the function would record. A guard that comes out
    otherwise raises MissedError.
    """

    def __init__(self, image: Image, output: Output, argnums: tuple[int, ...]) -> None:
        self._image = image
        self._output = output
        self._argnums = argnums

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or self._argnums not in ((), (0,)) or not all(map(_is_number, args)):
            atoms = Call(args, kwargs, self._argnums).atoms
        else:
            atoms = list(args)
        found = self._image.paste(atoms, True)
        assert found is not None
        if isinstance(found, int):
            raise MissedError(found)
        return self._output.fill(found)


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, Var))


class Images:
    """The images of a function, by the kinds of its calls with numbers that carry derivatives.

    At most `max_traces` are kept for calls of one kind.
    """

    def __init__(self, f: Function, max_traces: int) -> None:
        self._function = f
        self._max_traces = max_traces
        self._lock = threading.Lock()
        self._known: dict[Any, list[tuple[Image, Output]]] = {}
        self._refused: set[Any] = set()

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[bool, Any]:
        """Whether there is an image for the call, and then what the function returns."""
        call = Call(args, kwargs, first_argument(args))
        atoms = call.atoms
        if call.key in self._refused or any(isinstance(atom, Dual) for atom in atoms):
            return False, None
        if not any(isinstance(atom, Var) for atom in atoms):
            return False, None
        known = self._known.get(call.key, [])
        for image, output in known:
            if not image.takes(atoms):
                return False, None
            found = image.paste(atoms, False)
            if isinstance(found, list):
                return True, output.fill(found)
            if found is None:
                return False, None
        if len(known) >= self._max_traces or _core.is_forward() or _core.is_watched():
            return False, None
        fresh = self._record(call, args, kwargs)
        if fresh is None or not fresh[0].takes(atoms):
            return False, None
        found = fresh[0].paste(atoms, False)
        return (True, fresh[1].fill(found)) if isinstance(found, list) else (False, None)

    def _record(
        self, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Image, Output] | None:
        """Run f on plain numbers; None if it has to be run as it is."""
        plain = Call(_core.plain_values(args), _core.plain_values(kwargs), call.argnums)
        found: tuple[Image, Output] | str
        try:
            found = image_of(self._function, plain)
        except Exception:
            found = ""  # f says what is wrong, or finds nothing wrong
        if isinstance(found, str):
            if found != OUTER:  # that is so in this call
                self._refused.add(call.key)
            return None
        with self._lock:
            self._known[call.key] = [found, *self._known.get(call.key, [])]
        return found
