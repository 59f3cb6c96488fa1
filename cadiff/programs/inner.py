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


MOST_SKIPPED = 8  # calls in a row that are not tried
MANY_IN_VAIN = 16  # calls in a row, of which most that follow are not looked at


class Known:
    """The key of calls of one signature, and whether recordings serve them.

    Where there are as many as there may be, and none has served for some calls in a row, f is run
    without trying them for a few calls.
    """

    def __init__(self, key: Any) -> None:
        self.key = key
        self._missed = 0
        self._to_skip = 0

    def skips(self) -> bool:
        self._to_skip -= self._to_skip > 0
        return self._to_skip > 0

    def note(self, served: bool) -> None:
        self._missed = 0 if served else self._missed + 1
        self._to_skip = min(self._missed, MOST_SKIPPED)

    def try_again(self) -> None:
        """There is another recording."""
        self._missed = self._to_skip = 0


class InnerCalls:
    """Calls of a function whose arguments carry derivatives."""

    def __init__(self, f: Function, traces: Traces) -> None:
        self._function = f
        self._name = str(getattr(f, "__qualname__", repr(f)))
        self._traces = traces
        self._known: dict[Any, Known] = {}  # by what signature_of finds
        self._in_vain = 0  # calls in a row that no recording served, where none is to be made

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns."""
        traces = self._traces
        if not traces.optimize or not binding.takes_entries():  # it is what f does itself
            return self._run(None, args, kwargs)
        if self._in_vain >= MANY_IN_VAIN:
            self._in_vain += 1
            if self._in_vain % 4 > 0:
                return self._run(None, args, kwargs)
        signature, atoms = (None, []) if kwargs else binding.signature_of(args)
        known = self._known.get(signature)
        if known is None:
            call = traces.call(args, kwargs, ways_to_take(args)[0])
            if signature is not None and not call.integers:
                self._remember(signature, call.key)
        else:
            call = KnownCall(args, known.key, atoms)
            if known.skips() and traces.on_branch_change == "retrace":
                return self._run(call, args, kwargs, known)
        result = self._entered(call)
        is_served = result is not NOT_ENTERED
        in_vain = not is_served and traces.is_full(call) and traces.on_branch_change == "retrace"
        self._in_vain = self._in_vain + 1 if in_vain else 0
        if known is not None:
            known.note(not in_vain)
        return result if is_served else self._run(call, args, kwargs, known)

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
                    latest.use()
                return result
        if not any(isinstance(x, (Var, Dual)) for x in call.atoms):
            return NOT_ENTERED

        def enter(recorded: Recorded) -> Any:
            return recorded.entered(self._name, call.atoms)

        done, result = self._traces.replayed(call, enter, within=True)
        return result if done else NOT_ENTERED

    def _run(
        self,
        call: Call | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: Known | None = None,
    ) -> Any:
        """What the function returns when it is run as it is.

        Where there are as many recordings as there may be, it is noted how it chooses, which may
        be worth another one.
        """
        traces = self._traces
        traces.counts["eager"] += 1
        if call is None or traces.on_branch_change != "retrace" or not traces.is_full(call):
            return self._function(*args, **kwargs)
        result, choices = binding.choices_of(self._function, args, kwargs)
        useless = traces.superseded(call.key, choices)
        if useless is not None:
            traces.replace(useless, call)
            self._in_vain = 0
            if known is not None:
                known.try_again()
        return result

    def _remember(self, signature: Any, key: Any) -> None:
        if len(self._known) >= MOST_SIGNATURES:
            self._known.clear()
        self._known[signature] = Known(key)
