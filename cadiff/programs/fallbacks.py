"""f as it is, for calls that no recording serves and none is made for at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import binding
from .recordings import Call
from .traces import Traces

__all__ = ["Choosing", "Fallback"]


class Fallback:
    """Runs f as it is for calls of one signature, of which it keeps no argument alive."""

    def __init__(self, traces: Traces, eager: Callable[..., Any]) -> None:
        self._traces = traces
        self._eager = eager

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.run(args, kwargs)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of which nothing is noted but that it was."""
        self._traces.counts["eager"] += 1
        return self._eager(*args, **kwargs)


class Choosing(Fallback):
    """Notes how f chose, too: what it chooses again and again is worth a recording."""

    def __init__(
        self, traces: Traces, eager: Callable[..., Any], call: Call, last: tuple[int, ...]
    ) -> None:
        super().__init__(traces, eager)
        self._key = call.key
        self._argnums = call.argnums
        self._lifted = call.lifted
        self._last = last

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        traces = self._traces
        traces.counts["branch_changes"] += 1
        traces.counts["eager"] += 1
        result, choices = binding.choices_of(self._eager, args, kwargs)
        useless = traces.superseded(self._key, choices)
        if useless is not None:
            traces.replace(useless, self._call(args, kwargs))
        return result

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._traces.counts["branch_changes"] += 1
        return super().run(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        own = tuple(x for k, x in enumerate(args) if k not in self._last)
        call = Call(own, kwargs, self._argnums)
        call.lift(self._lifted)
        return call
