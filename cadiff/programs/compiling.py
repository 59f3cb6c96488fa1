"""The entrance: `compile` makes a program of a function, and says what that promises."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

from ..transforms._base import Function, P, T, answering
from .program import Program
from .traces import OnBranchChange


@overload
def compile(
    f: Callable[P, T],
    *,
    on_branch_change: OnBranchChange = ...,
    optimize: bool = ...,
    max_traces: int = ...,
) -> Program[P, T]: ...
@overload
def compile(
    f: None = None,
    *,
    on_branch_change: OnBranchChange = ...,
    optimize: bool = ...,
    max_traces: int = ...,
) -> Callable[[Callable[P, T]], Program[P, T]]: ...
@answering
def compile(
    f: Function | None = None,
    *,
    on_branch_change: OnBranchChange = "retrace",
    optimize: bool = True,
    max_traces: int = 8,
) -> Any:
    """Record a function once, and replay it and its derivatives in C.

    A program gives what f gives, never a stale result. While f is recorded, its floats are numbers
    with derivatives; it may be any Python code. `docs/compile.md` has examples, and the details.

    * Inputs are floats, arrays of floats, and all numbers in arguments to differentiate by. So are
      ints, and arrays of ints or bools, from their second value on, until f reads that, as
      `range(k)` does: then they are constants. Other values of inputs need no other recording.
    * Constants are all else that is in the arguments, shapes and containers included, such as
      strings, functions and objects. For other constants f is recorded anew.
    * Watched is what f reads beside its arguments: globals, closures, defaults, attributes, and
      what is in them. After a change f is recorded anew; `stats()["watched"]` tells the last ones.
    * Guards are the outcomes of comparisons, and ints that f makes of values. A call that meets
      others is recorded anew. What a comparison of arrays chooses without being read, as in
      `where(x > 0, a, b)`, is no guard: replays choose again.
    * f is run as it is, with a warning that says why, where a replay would not do the same: where
      it changes what is there after the call, but to keep a result for later ones; draws random
      numbers, or reads what cannot be watched, such as a clock; asks which object an argument is,
      or for the text or plain float of a number; or returns objects of classes of its own.

    Parameters
    ----------
    f : callable, optional
        Without it, a decorator.
    on_branch_change : {"retrace", "raise", "warn"}
        Where no recording meets the guards: record f, raise RuntimeError, or record and warn.
    optimize : bool
        False: value and derivatives are those of f and its gradient functions to the last bit.
    max_traces : int
        How many recordings there are of the same constants; calls that meet none run f as it is.

    Examples
    --------
    >>> import cadiff
    >>> f = cadiff.compile(lambda x: x**2 if x > 1.0 else x)
    >>> f(3.0), f.grad(3.0), f.grad(0.5)
    (9.0, 6.0, 1.0)
    """
    if f is None:
        return functools.partial(
            compile,
            on_branch_change=on_branch_change,
            optimize=optimize,
            max_traces=max_traces,
        )
    return Program(f, on_branch_change, optimize, max_traces)
