"""Calls of programs within other derivatives, and within other programs.

Such a call is one entry of the tape, or one step of the other program: f is not run, unless no
recording serves.
"""

from __future__ import annotations

from typing import Any

from .. import binding
from ..binding import Dual, Var
from ..transforms._base import Function
from .recordings import NOT_ENTERED, Call, KnownCall, MissedError, Recorded, ways_to_take
from .traces import MOST_SIGNATURES, Traces

__all__ = ["InnerCalls"]


class InnerCalls:
    """Calls of a function whose arguments carry derivatives."""

    def __init__(self, f: Function, traces: Traces) -> None:
        self._function = f
        self._name = str(getattr(f, "__qualname__", repr(f)))
        self._traces = traces
        self._keys: dict[Any, Any] = {}  # of calls, by what signature_of finds

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns."""
        call: Call | None = None
        if self._traces.optimize and binding.takes_entries():  # else it is what f does itself
            signature, atoms = (None, []) if kwargs else binding.signature_of(args)
            key = self._keys.get(signature)
            if key is None:
                call = self._traces.call(args, kwargs, ways_to_take(args)[0])
                if signature is not None and not call.integers:
                    self._remember(signature, call.key)
            else:
                latest = self._traces.latest(key)
                if latest is not None:
                    try:
                        result = latest.entered(self._name, atoms)
                    except MissedError:
                        pass
                    else:
                        if result is not NOT_ENTERED:
                            latest.use()
                            return result
                        return self._run(None, args, kwargs)
                call = KnownCall(args, key, atoms)
            result = self._entered(call)
            if result is not NOT_ENTERED:
                return result
        return self._run(call, args, kwargs)

    def _entered(self, call: Call) -> Any:
        """By any recording that there is, or one that is made now."""
        if not any(isinstance(x, (Var, Dual)) for x in call.atoms):
            return NOT_ENTERED

        def enter(recorded: Recorded) -> Any:
            return recorded.entered(self._name, call.atoms)

        done, result = self._traces.replayed(call, enter, within=True)
        return result if done else NOT_ENTERED

    def _run(self, call: Call | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns when it is run as it is.

        Where there are as many recordings as there may be, it is noted how it chooses, which may
        be worth another one.
        """
        traces = self._traces
        traces.counts["eager"] += 1
        if call is None or not traces.is_full(call) or traces.on_branch_change != "retrace":
            return self._function(*args, **kwargs)
        result, choices = binding.choices_of(self._function, args, kwargs)
        traces.note_choices(call.key, choices, lambda: call)
        return result

    def _remember(self, signature: Any, key: Any) -> None:
        if len(self._keys) >= MOST_SIGNATURES:
            self._keys.clear()
        self._keys[signature] = key
