"""Calls of programs within other derivatives, and within other programs.

Such a call is one entry of the tape, or one step of the other program: f is not run, unless no
recording serves.
"""

from __future__ import annotations

from typing import Any

from .. import binding
from ..binding import Call, Dual, Var, ways_to_take
from ..operations.replayed import Replayed
from ..transforms._base import Function
from .recorded import NOT_ENTERED, MissedError, Recorded
from .traces import Traces


class InnerCalls:
    """Calls of a function whose arguments carry derivatives."""

    def __init__(self, f: Function, traces: Traces) -> None:
        self._function = f
        self._name = str(binding.own_attribute(f, "__qualname__", type(f).__name__))
        self._traces = traces

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns."""
        traces = self._traces
        if not traces.optimize or not binding.takes_entries():  # it is what f does itself
            return self._run(None, args, kwargs)
        if traces.backoff.passes() or _hold_stand_ins(args, kwargs):
            return self._run(None, args, kwargs)
        call = traces.call(args, kwargs, ways_to_take(args)[0])
        result = self._entered(call)
        if result is not NOT_ENTERED:
            return result
        traces.backoff.note_in_vain()
        return self._run(call, args, kwargs)

    def _entered(self, call: Call) -> Any:
        """By any recording that there is, or one that is made now."""
        latest = self._traces.latest(call.key)
        if latest is not None:  # mostly it serves
            try:
                result = latest.entered(self._name, call.atoms)
            except MissedError:
                pass
            else:
                if result is not NOT_ENTERED:
                    self._traces.backoff.note_served()
                    latest.use()
                return result
        if not any(isinstance(x, (Var, Dual)) for x in call.atoms):
            return NOT_ENTERED

        def enter(recorded: Recorded) -> Any:
            return recorded.entered(self._name, call.atoms)

        done, result = self._traces.replayed_once(call, enter, within=True)
        return result if done else NOT_ENTERED

    def _run(self, call: Call | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns when it is run as it is.

        Where there are as many recordings as there may be, it is noted how it chooses, which may
        be worth another one.
        """
        traces = self._traces
        traces.counts["eager"] += 1
        if call is None or traces.on_branch_change != "retrace" or not traces.is_full(call):
            return self._function(*args, **kwargs)
        result, choices = binding.choices_of(self._function, args, kwargs)
        traces.note_choices(call.key, choices, lambda: call)
        return result


def _hold_stand_ins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether integers or masks are among them that the outer program has as inputs.

    An entry of the tape has floats alone as inputs, and would make constants of them.
    """
    return binding.is_guarding() and any(
        isinstance(arg, Replayed) for arg in (*args, *kwargs.values())
    )
