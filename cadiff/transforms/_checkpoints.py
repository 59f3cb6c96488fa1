"""Memory against time: functions whose recording is not kept, but made again when it is needed.

A checkpointed function leaves one entry on the tape, whatever it did: a rule that reads what the
function has read of the numbers around it, its closure included. When a sweep reaches the entry,
the function is run again and swept; what it recorded is forgotten at once. (Volin and Ostrovskii,
1985; Griewank and Walther, Evaluating Derivatives, chapter 12.)

Both runs have to give the same to the last bit. Programs within the function would round otherwise
where a replay takes the place of f in one of the runs only, so they run f in both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from math import ceil
from types import CellType, FunctionType
from typing import Any

import numpy as np

from .. import binding
from ..binding import Recording, Var
from ..operations.arrays import as_array, concatenate, stack
from ._base import Function, P, T, Transform, answering, check_function
from ._generators import Generators, generators_in


@answering
def checkpoint(f: Callable[P, T]) -> Callable[P, T]:
    """The function, without the memory of its recording: its derivatives run it once more.

    Parameters
    ----------
    f : callable
        Returns numbers, arrays, or containers with numbers in them. It gives the same
        result when it is called again with the same arguments. Random numbers are drawn again as
        they were: from `numpy.random`, from `random`, and from generators among the arguments and
        in the closure of f.

    Returns
    -------
    callable
        Called like f, and differentiated like f, in every mode and order. What f makes lives
        until it returns; its results stay. Compiled programs within f run as the functions that
        they were made of.

    Raises
    ------
    TypeError
        If f assigns to an array from outside of it.
    RuntimeError
        In a sweep: if f gives other results when it is run again. In a sweep that is itself
        differentiated: if an array that f has read was assigned to afterwards.

    Examples
    --------
    >>> import cadiff
    >>> def many_steps(x):
    ...     for _ in range(1000):
    ...         x = cadiff.sin(x)
    ...     return x
    >>> cadiff.grad(cadiff.checkpoint(many_steps))(1.0) == cadiff.grad(many_steps)(1.0)
    True
    """
    return Checkpoint("checkpoint", f)


class Checkpoint(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return _call(self._function, args, kwargs)

    def __repr__(self) -> str:
        return f"<cadiff.checkpoint of {_name_of(self._function)}>"


def _name_of(f: Function) -> str:
    return str(getattr(f, "__qualname__", repr(f)))


def _call(f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """f(*args, **kwargs), of which one entry is left."""
    if not binding.is_recording() or binding.is_guarding():  # a replay saves nothing
        return f(*args, **kwargs)
    generators = Generators(generators_in((args, kwargs), _reached_by(f)))
    f_now = as_it_is_now(f)
    with binding.WithoutPrograms(), Recording((), ()) as recording:
        out = f(*args, **kwargs)
        outputs = _made_by(recording, out)
        captures = binding.captures_of(recording, outputs)
        values = [np.asarray(binding.unguarded(var)) for var in outputs]
        outputs.clear()
    generators.forget_unused()
    results = iter(_results(_Rerun(f_now, args, kwargs, generators), captures, values))
    return _map_vars(out, lambda var: next(results) if binding.is_stale(var) else var)


def _results(rule: _Rerun, captures: list[Var], values: list[Any]) -> list[Any]:
    """The results as numbers of the tape; constants if they depend on nothing."""
    if captures:
        recorded: list[Any] = binding.record_rule(rule, captures, values)
        return recorded
    open_arrays = binding.is_differentiating()  # which can be assigned to, as where they were made
    return [
        float(x) if x.ndim == 0 else binding.constant_array(x) if open_arrays else x
        for x in values
    ]


def _map_vars(tree: Any, function: Callable[[Var], Any]) -> Any:
    """A container with function(v) in place of each Var, those within Duals included."""
    return binding.map_numbers(tree, lambda atom: binding.map_vars(atom, function))


def _made_by(recording: Recording, out: Any) -> list[Var]:
    """The Vars in a result that came about in a recording, in order."""
    variables: list[Var] = []

    def note(var: Var) -> Var:
        binding.check_alive(var)  # only what was made here may be stale when the recording is over
        if recording.holds(var):
            variables.append(var)
        return var

    _map_vars(out, note)
    return variables


def as_it_is_now(f: Any, copies: dict[int, Any] | None = None) -> Any:
    """The function with what its closure holds now: a loop's variable is another one later.

    `copies` holds what takes the place of functions and cells, by their ids.
    """
    copies = {} if copies is None else copies
    if id(f) in copies:
        return copies[id(f)]
    if isinstance(f, functools.partial):
        return functools.partial(as_it_is_now(f.func, copies), *f.args, **f.keywords)
    if isinstance(f, Transform):
        transform = copies[id(f)] = object.__new__(type(f))
        transform.__dict__.update(f.__dict__, _function=as_it_is_now(f._function, copies))
        return transform
    if not isinstance(f, FunctionType) or not f.__closure__:
        return f
    new_cells = {id(cell): cell for cell in f.__closure__ if id(cell) not in copies}
    copies.update({key: CellType() for key in new_cells})
    closure = tuple(copies[id(cell)] for cell in f.__closure__)
    now = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, closure)
    now.__kwdefaults__, now.__qualname__ = f.__kwdefaults__, f.__qualname__
    copies[id(f)] = now
    for key, cell in new_cells.items():
        if is_set(cell):
            copies[key].cell_contents = as_it_is_now(cell.cell_contents, copies)
    return now


def is_set(cell: CellType) -> bool:
    """Whether something was assigned to the variable of a closure."""
    try:
        cell.cell_contents  # noqa: B018 - it raises where nothing was assigned yet
    except ValueError:
        return False
    return True


class _Rerun:
    """The rule of one call: it holds the arguments, and runs the function again."""

    runs_again = True
    is_linear = False
    _name = "checkpoint"

    def __init__(
        self, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], generators: Generators
    ) -> None:
        self._f = f
        # Containers may be changed by their owner before the sweep comes.
        self._args, self._kwargs = _map_vars((args, kwargs), lambda var: var)
        self._generators = generators
        self._forward = binding.running_forward()

    def _run(self, recording: Recording, operands: list[Var], results: list[Any]) -> list[Var]:
        """The Vars that were made by the first run, made again."""
        with self._generators, binding.ForwardThen(self._forward), binding.WithoutPrograms():
            out = self._f(*self._args, **self._kwargs)
        outputs = _made_by(recording, out)
        same = len(outputs) == len(results) and all(map(_is_same, outputs, results))
        if not same or not binding.are_within(binding.captures_of(recording, outputs), operands):
            raise RuntimeError(
                f"the checkpointed function {_name_of(self._f)} gave other results when it was "
                "run again for its derivative: it must depend on nothing but numbers that stay as "
                "they are. Lists and NumPy arrays that it reads are not to be changed meanwhile; "
                "random generators are put back only if they are arguments, or in the closure, of "
                "the function"
            )
        return outputs

    def pull_again(
        self, operands: list[Var], results: list[Any], cotangents: list[Any]
    ) -> list[Any]:
        """Plain cotangents of the operands."""
        with Recording((), ()) as recording:
            outputs = self._run(recording, operands, results)
            pulled = binding.pull_captures(recording, outputs, cotangents, operands)
            outputs.clear()
        return pulled

    def record_again(
        self, operands: list[Var], results: list[Any], cotangents: list[Any], linear: bool
    ) -> list[Any]:
        """Cotangents that can be differentiated again: a checkpointed function themselves.

        If they are linear in the given ones, they are but a few sums and products, which stay.
        """
        inputs = [g.copy() if binding.ndim(g) else g for g in cotangents]

        def pull() -> list[Any]:
            with Recording((), ()) as recording:
                made = self._run(recording, operands, results)
                pulled = binding.record_pull_of_captures(recording, made, inputs, operands, linear)
                recording.keep()
            return pulled

        return pull() if linear else list(_call(pull, (), {}))


def _is_same(x: Any, y: Any) -> bool:
    """Whether two numbers or arrays have the same values, nan included."""
    return np.array_equal(
        np.asarray(binding.unguarded(x)), np.asarray(binding.unguarded(y)), equal_nan=True
    )


def _reached_by(f: Any) -> Iterator[Any]:
    """What a function brings along: its closure, its defaults, what it is bound to."""
    while isinstance(f, functools.partial):
        yield from (*f.args, *f.keywords.values())
        f = f.func
    f = binding.own_attribute(f, "__wrapped__", f)
    yield binding.own_attribute(f, "__self__")
    yield from binding.own_attribute(f, "__defaults__") or ()
    yield from (binding.own_attribute(f, "__kwdefaults__") or {}).values()
    for cell in filter(is_set, binding.own_attribute(f, "__closure__") or ()):
        yield cell.cell_contents


# --- long loops ----------------------------------------------------------------------------------


def checkpoint_scan(
    f: Function,
    state: Any,
    xs: Sequence[Any] | None = None,
    *,
    length: int | None = None,
    levels: int = 2,
) -> tuple[Any, Any]:
    """A long loop in little memory: `state, y = f(state, x)` for each x, as `jax.lax.scan`.

    Parameters
    ----------
    f : callable
        `f(state, x)` returns the next state and an output, or `(state, None)`. As for
        `checkpoint`.
    state : number, array, or container of them
        The first state.
    xs : sequence, optional
        An array, which is walked along its first axis, or a list. Without it, x is None.
    length : int, optional
        The number of steps, if there are no xs.
    levels : int
        With n steps, the derivative holds the recordings of about levels * n**(1 / levels) of
        them, and runs f levels times. 2, the default, holds O(sqrt(n)); log2(n) levels hold
        O(log(n)); 1 keeps all and runs once.

    Returns
    -------
    state
        The last one.
    ys
        All outputs, stacked along a new first axis (containers of them, where an output is a
        container); None if outputs are None.

    Examples
    --------
    >>> import cadiff, cadiff.numpy as np
    >>> def euler(y, _):
    ...     return y + 0.001 * np.cos(y), None
    >>> cadiff.grad(lambda y: cadiff.checkpoint_scan(euler, y, length=1000)[0])(0.0) < 0.7
    True
    """
    check_function("checkpoint_scan", f)
    count = _count(xs, length)
    if type(xs) is np.ndarray and xs.ndim == 1:
        xs = xs.tolist()  # floats, with which Python computes fastest
    if isinstance(levels, bool) or not isinstance(levels, (int, np.integer)) or levels < 1:
        raise ValueError(f"levels is a whole number, at least 1, not {levels!r}")

    def run(state: Any, first: int, last: int, level: int) -> tuple[Any, list[Any]]:
        outputs: list[Any] = []
        if level == 1 or last - first <= 1:
            for x in repeat(None, last - first) if xs is None else xs[first:last]:
                pair = f(state, x)
                if type(pair) is not tuple or len(pair) != 2:
                    raise _no_pair(pair)
                state, y = pair
                outputs.append(y)
            return state, [_joined(outputs, _stacked)]
        size = ceil((last - first) ** (1.0 - 1.0 / level))
        for begin in range(first, last, size):
            part = (state, begin, min(begin + size, last), level - 1)
            state, ys = _call(run, part, {})
            outputs += ys
        return state, outputs

    most = max(1, (count - 1).bit_length())  # with which every piece is halved
    state, parts = run(state, 0, count, min(int(levels), most))
    return state, _joined(parts, concatenate)


def _count(xs: Any, length: int | None) -> int:
    """How many steps there are."""
    if xs is None:
        if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0:
            raise ValueError(f"without xs, length is the number of steps, not {length!r}")
        return int(length)
    try:
        count = len(xs)
    except TypeError:
        raise TypeError(
            f"xs is an array or a list, one entry for each step, not {type(xs).__name__}"
        ) from None
    if isinstance(xs, (dict, set)):
        raise TypeError(f"xs is an array or a list, one entry for each step, not {type(xs)}")
    if length not in (None, count):
        raise ValueError(f"length={length}, but xs has {count} entries")
    return count


def _stacked(parts: list[Any]) -> Any:
    return stack(parts) if any(map(binding.ndim, parts)) else as_array(parts)


def _no_pair(result: Any) -> TypeError:
    kind = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
    return TypeError(
        f"f returns a pair (state, output), (state, None) for no output; it returned {kind}"
    )


def _joined(parts: list[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Outputs of one structure as one: their numbers or arrays joined, None for None."""
    first = parts[0] if parts else None
    opened = binding.opened(first)
    rows = [opened and opened[0].parts_like(part, len(opened[1])) for part in parts]
    for part, row in zip(parts, rows, strict=True):
        if row is None and (opened is not None or _kind(part, join) != _kind(first, join)):
            raise ValueError(
                "the outputs of all steps are alike: the first was "
                f"{_kind(first, join)}, another one {_kind(part, join)}"
            )
    if opened is None:
        return join(parts)
    return opened[0].make([_joined(list(column), join) for column in zip(*rows, strict=True)])


def _kind(part: Any, join: Callable[[list[Any]], Any]) -> str:
    """What has to be the same in all outputs."""
    opened = binding.opened(part)
    if opened is not None:
        container, items = opened
        return container.describe(len(items))
    shape = binding.shape(part)[1:] if join is concatenate else binding.shape(part)
    return f"an array of shape {shape}" if shape else "a number"
