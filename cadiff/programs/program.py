"""Compiled programs: a function is recorded once, and replayed in C.

A Program as an object: how it is made, bound to instances, pickled and cleared. What its methods
do stands in the modules of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic

from ..binding import Watch, WeakMethod, newcomers, ways_to_take
from ..operations.naming import name_for_pickle
from ..transforms._base import P, T, check_function, show_as
from .batches import BatchCalls
from .constants import Assignable
from .derivatives import DerivativeCalls
from .fallbacks import EAGER, run_once
from .inner import InnerCalls
from .matrices import SparseCalls
from .report import Report
from .traces import OnBranchChange, Traces, is_eager
from .walks import UnwatchableError, watch_call

__all__ = ["Program"]


ENOUGH_USES = 4  # of recordings, so that they were worth their time


class Program(DerivativeCalls, SparseCalls, BatchCalls, Report, Generic[P, T]):
    """A function that is recorded once for each structure of its arguments, then replayed in C.

    Made by `compile`, which says what it does and what f may do. Called like f; the methods are
    the gradient functions of the same names, applied to f. With `argnums` (an int or a tuple) they
    differentiate by other arguments than the first.

    A program is safe to call from several threads, and pickles if f does.
    """

    def __init__(
        self,
        f: Callable[P, T],
        on_branch_change: OnBranchChange = "retrace",
        optimize: bool = True,
        max_traces: int = 8,
    ) -> None:
        check_function("compile", f)
        if on_branch_change not in ("retrace", "raise", "warn"):
            raise ValueError(
                f'on_branch_change is "retrace", "raise" or "warn", not {on_branch_change!r}'
            )
        if isinstance(max_traces, bool) or not isinstance(max_traces, int) or max_traces < 1:
            raise ValueError(f"max_traces is an int of 1 or more, not {max_traces!r}")
        if not isinstance(optimize, bool):
            raise ValueError(f"optimize is True or False, not {optimize!r}")
        self._function = f
        self._assignable = Assignable(f)
        self._optimize = optimize
        self._traces = Traces(f, on_branch_change, self._optimize, max_traces, self._fast_paths)
        show_as(self, f)
        self._reset()

    if TYPE_CHECKING:  # the binding has it

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...

    def _reset(self) -> None:
        self._traces.clear()
        self._inner = InnerCalls(self._assignable, self._traces)
        self._forget_objects()
        self._transforms = {}
        self._recent = None
        self._recent_batch = None

    # --- as an object

    def _for_object(self, instance: object, n_run: int) -> Program[..., Any]:
        program: Program[..., Any] = Program(WeakMethod(self._function, instance), **self._options)
        program._traces.counts["eager"] = n_run
        program._traces.as_given = self._traces.as_given
        return program

    @property
    def _waits_for_objects(self) -> bool:
        return self._optimize and self._traces.on_branch_change == "retrace"

    def _run_for(
        self, instance: object, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if is_eager(args, kwargs):
            return NotImplemented
        f = MethodType(self._function, instance)
        if what == "value":
            if self._traces.as_given:
                return f(*args, **kwargs)
            return run_once(f, args, kwargs, ways_to_take(args), self._traces)
        transform = EAGER[what](f, kwargs.pop("argnums", 0))
        return transform(*args, **kwargs)

    @property
    def _pays(self) -> bool:
        return sum(recorded.uses for recorded in self._traces) >= ENOUGH_USES

    def __reduce__(self) -> Any:
        """By name where it stands in the place of its function, as decorators do; else with it."""
        name = name_for_pickle(self, getattr(self, "__qualname__", ""))
        if name is not None:
            return name
        reads = self._reads()
        state = {
            "recordings": self._traces.portable(),
            "integers": self._traces.integers,
            "reads": None if reads is None else reads.fingerprint(),
        }
        return Program, (self._function, *self._options.values()), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was recorded of other code, or where something else is read, is of no use."""
        reads = self._reads()
        if reads is not None and reads.fingerprint() == state["reads"]:
            self._traces.restore(state["recordings"], state["integers"])
            for recorded in self._traces:
                recorded.watch = reads

    @property
    def _options(self) -> dict[str, Any]:
        """As `compile` takes them."""
        traces = self._traces
        return {
            "on_branch_change": traces.on_branch_change,
            "optimize": traces.optimize,
            "max_traces": traces.max_traces,
        }

    def _reads(self) -> Watch | None:
        """What f reads beside its arguments; None if that cannot be watched."""
        try:
            return watch_call(self._function, [])
        except UnwatchableError:
            return None

    def __repr__(self) -> str:
        return repr(self._traces)

    # --- recordings

    def be_quiet(self) -> None:
        """Give no warnings: where nobody has asked for a program, f is run as it is unseen."""
        self._traces.is_quiet = True

    def clear(self) -> None:
        """Forget all recordings, and why f was run as it is."""
        with self._traces.lock:
            self._reset()


for _name, _member in newcomers.absent(newcomers.OF_PROGRAMS, newcomers.PROGRAMS).items():
    setattr(Program, _name, _member)
