"""Exact replays: what f recorded is put on the tape again, and differentiated there."""

from __future__ import annotations

from typing import Any

from ..binding import Inlined, Var
from .recordings import Call, MissedError
from .returned import Returned

__all__ = ["Replay"]


class Replay:
    """A function as it was recorded, for gradient functions that are about to differentiate it.

    Called with what they lift, it records what the function would record. A guard that comes out
    otherwise raises MissedError.
    """

    def __init__(self, inlined: Inlined, output: Returned, argnums: tuple[int, ...]) -> None:
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
        return self._output.returned(found, within=True)


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, Var))
