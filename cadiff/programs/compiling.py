"""The entrance: `compile`, and what it promises of a function that is recorded and replayed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

from ..transforms._base import Function, P, T, answering
from .program import Program
from .traces import OnBranchChange

__all__ = ["compile"]


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

    Floats and arrays of floats among the arguments are inputs: for new numbers nothing is recorded
    anew. Bools, strings, None and other objects are static: another value is another recording, as
    are other shapes and other containers. Functions are told apart by code, defaults and closure,
    slices, ranges and sets by what is in them, objects by identity. (In an argument to
    differentiate by, integers are numbers, too; a plain call leaves ints and arrays of them what
    they are, unless f raises of that.)

    An int, or an array of integers or bools, is static at first, and an input as soon as it comes
    with another value, as the number of a step or the indices of a mini-batch do: then one
    recording serves all of them, and computes anew

    * what they index: `X[i]`, `X[i, j]`, `X[k]`, `x[k + np.arange(3)]`, `cnp.take(x, i)`,
      `y[i] = v`, `y[i] += v`, `np.add.at(y, i, v)`, `np.bincount(i, minlength=n)`;
    * arithmetic: `+ - * / // % ** abs divmod`, `>>` and `<<` by constants, `i & 1`, `0.9**k`,
      ufuncs that give floats (`np.sqrt(i)`), `clip`, `minimum`, `maximum`, `max`, `min`, `sum`,
      `prod`, `cumsum`, `where`, `astype`, and what moves elements about (`np.roll`, `i[::-1]`);
    * comparisons of arrays, which choose (`where(i > 1, a, b)`).

    A comparison of single ints (`k > 3`, `max(k, 1)`, `while k`) is a guard, as is the number of
    elements of `x[mask]` and `np.flatnonzero(mask)`, and that no number leaves its dtype: what
    wraps around is never replayed. Where f reads a value, the argument stays static: `range(k)`,
    `a_list[k]`, `x[k:]`, `int(k)`, `math.sqrt(k)`, `str(k)`, `2**k`, `x.reshape(k, -1)`, a loop
    over an array that asks for its elements, `np.take` of a plain array, `np.sort`, `np.unique`,
    `i.tolist()`. The same holds where an index would be a view that f assigns to, where f keeps an
    int in a list of its own, and for all integers of a function that asks for types
    (`type(k) is int`, `isinstance(v, float)`; `isinstance(k, int)` and `isinstance(i, np.ndarray)`
    are what they are outside), whose masks are guards. The code of libraries is not looked at for
    that. Ints of 2**31 and beyond are static.

    While f is recorded, all inputs that are floats are numbers with derivatives, those too that
    are not differentiated by: `isinstance(y, float)` is False there, `type(y)` is Var, and
    `math.sin(y)` is refused (`cadiff.math.sin` is not). What f has to look at as it is should be
    an int, a str or another static.

    Numbers, arrays, and containers are not the same objects there as outside. Where f, or what it
    calls, asks for that (`x is W`, `a is not b`, `id(x)`), it is run as it is, on its own
    arguments, with a warning that says where. `x is None`, `type(x) is float`, and what is asked
    of classes, functions and objects that are no containers, such as `x is UNSET` and `other is
    self`, are recorded. The code of libraries is not looked at for that. The same holds where f
    makes a `repr` of a number (`f"{x!r}"`, `str([x])`): the first call then runs f
    twice, unless f writes to what is not its own.

    What else f reads is watched: globals, closures, defaults, attributes, what is in lists, dicts,
    sets and arrays; in f, in the functions that it calls, and in objects among its arguments.
    After a change of it f is recorded anew; `stats()` names what is watched, and what of it has
    changed. Each call looks at it, for 9 to 15 ns a name; arrays are read as a whole, as fast as
    the memory gives them. Only what is known to be fixed, or is watched, is replayed: where f
    draws random numbers, reads a clock, a file, an iterator or a ContextVar, or an object or a
    function of C of which nothing is known, it is run as it is, with a warning that names it.
    NumPy, SciPy, pandas and most of the standard library are taken to give the same for the same
    arguments; code of other libraries is watched as f's own, once it was seen to run.

    Where f changes what is there after the call (a counter, a log, an attribute, a list or dict
    among its arguments), it is run as it is in every call, with a warning that says what changes;
    to keep a result for later calls is fine. Arrays of floats among the arguments are copies, as
    for gradient functions. What f prints is printed when it is recorded, not in replays.
    Where it solves equations (`root`), the first call of a gradient method may do it twice.

    f may be any Python code: loops, branches, recursion, assignment to arrays. Comparisons of
    numbers are guards: a replay that comes to another outcome than its recording did is never
    used; f is recorded anew. A branch that rests on the equality of floats warns. Values of
    numbers, `cadiff.value(v)`, may be computed with, and may become indices: of
    `i = cadiff.value(v).astype(int)`, `np.floor(cadiff.value(v))` or `np.searchsorted(grid, v)`
    one recording serves all data, as in `table[i]`. So it does of `math.floor(cadiff.value(v))`,
    `math.ceil` and `round`; `int(cadiff.value(v))`, which has to be Python's own, is a guard.
    Where f needs the value as a float of Python's (`float(cadiff.value(v))`, `v.value`), or keeps
    it (in a list of its own), it is run as it is, with a warning that says why. A comparison of
    arrays is a mask: as long as it only chooses between numbers, as in `where(x > 1, a, b)`, `(x
    > 0) * a` or `y[y < 0] = 0`, it is no guard, and one recording serves all data. The same holds
    for what is made of masks and plain numbers: `np.sum(x > 0)`, `1 - (x > 0)`, `np.where(x > 0,
    1.0, -1.0)`. `any` and `all` of a mask are one guard, and so is a count that is used as an
    int. What reads the elements makes each of them a guard, so that new data are mostly another
    recording: `x[x > 0]`, `y[y < 0] *= 2.0`, a loop
    over a mask. With
    `optimize=False` every comparison is a guard.

    What f returns may hold other things than numbers, in containers of any kind: a call returns
    the same ints, bools, strings and enums, and floats and arrays of float64. Where f returns an
    object of another class (unless it is registered as a container), f is run as it is.

    Recordings are kept for 512 signatures of calls, which differ in shapes, containers or statics,
    as long as they do not take more than 1 GiB; then the oldest are forgotten, with a warning.
    What changes from call to call and is no index, such as a step size, should be a float.

    In a class it is a method: each object has recordings of its own, which are forgotten with it.
    Where those of the last objects served few calls, the first calls of others run f as it is.

    A program may be called by functions that are differentiated or compiled: the call is one
    operation there, whose derivatives are compiled, too, and f is run only if no recording has the
    outcomes that it meets. Gradient functions of a program, such as `cadiff.grad(program)`, are
    its own derivatives.

    Operations with rules of their own (`primitive`, `custom`, much of `cadiff.numpy.linalg`) are
    steps of a program that call Python. Such a function is called with plain arrays, and only if
    what it gives is needed: its errors are those of f then. What else it reads is read anew. Its
    rules are run once, and have to be linear in g; a rule that takes plain numbers alone is called
    as well, and cannot be differentiated again. Where nothing else is possible f is run as it is,
    with a warning that says why; values and derivatives are the same. A program with such steps
    cannot be written as C.

    Parameters
    ----------
    f : callable, optional
        Without it, a decorator.
    on_branch_change : {"retrace", "raise", "warn"}
        What to do if no recording has the outcomes that a call meets: record f anew, raise
        RuntimeError, or record and warn.
    optimize : bool
        False: what f would record is put on the tape and differentiated there, so that value and
        derivatives are those that the gradient functions give of f, to the last bit (all nans
        being one). `jvp` runs f, and so do calls within other derivatives. What f computes of
        arguments that are not differentiated by is computed as for numbers with derivatives, where
        NumPy may add in another order; and checkpointed functions are recorded as they stand.
    max_traces : int
        How many recordings are kept for arguments of one structure. When there are as many, calls
        that meet other outcomes run f as it is; now and then one of them is recorded in the place
        of the recording that was used least.

    Returns
    -------
    Program

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> @cadiff.compile
    ... def f(x):
    ...     total = 0.0
    ...     for i in range(len(x) - 1):
    ...         total = total + (x[i + 1] - x[i] ** 2) ** 2
    ...     return total
    >>> f.value_and_grad(np.array([1.0, 2.0, 3.0]))
    (2.0, array([-4., 10., -2.]))
    """
    if f is None:
        return functools.partial(
            compile,
            on_branch_change=on_branch_change,
            optimize=optimize,
            max_traces=max_traces,
        )
    return Program(f, on_branch_change, optimize, max_traces)
