"""Exact replays: what f recorded is put on the tape again, and differentiated there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..binding import Inlined, Var
from ..transforms._base import Function
from .recordings import Call, MissedError, Recorded, record
from .returned import Returned
from .traces import Part

__all__ = ["ExactCalls"]


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


class ExactCalls(Part):
    """The exact replays of a Program."""

    def _exactly(
        self,
        what: Any,
        make: Callable[[Function], Function],
        use: Callable[[Function], Any],
        call: Call,
    ) -> tuple[bool, Any]:
        """use(make(f)) of a replay in the place of f, which records what f would record.

        `what` tells `make` from others; for values it is "".
        """

        def derivative(recorded: Recorded) -> Any:
            made = recorded.exact.get(what)
            if made is None:
                made = recorded.exact[what] = make(self._replay(call, recorded))
            return use(made)

        return self._traces.replayed(call, derivative, once=bool(what))

    def _replay(self, call: Call, recorded: Recorded) -> Function:
        if recorded.inlined is None:  # it was pickled
            self._traces.met(call, recorded)
            with self._traces.lock:
                again = record(self._function, call, False, True)
            if isinstance(again, str):
                return self._function
            recorded.inlined = again.inlined
        assert recorded.inlined is not None
        return Replay(recorded.inlined, recorded.output, call.argnums)
