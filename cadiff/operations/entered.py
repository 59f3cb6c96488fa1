"""Functions whose calls are entries of the tape: eager code at the price of a replay.

A function of arrays that is written in many operations, or whose rules are Python, costs an eager
gradient many times what it costs by itself. What it records is made a program once for each form
of a call, and later calls of this form are one entry, which sweeps carry out in C. Where another
branch would be taken, or something is refused, the function runs as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .. import binding
from ..binding import Guarded, Recording, Var
from .recorded_calls import Number, Numbers, as_list

Names = tuple[str, ...]

MOST_RESULTS = 4096  # numbers of one call: more pay by themselves


class _Place:
    """Stands for a number among arguments: which of those that differ it is."""

    def __init__(self, number: int) -> None:
        self.number = number


class _State(threading.local):
    is_entering = False


_state = _State()


def is_entering() -> bool:
    """Whether what is recorded will stand for eager calls: then values are the function's own."""
    return _state.is_entering


def entered(function: Any) -> binding.Entered:
    """What makes calls of a function entries: it returns no views, and changes nothing."""
    return binding.Entered(partial(_made, function))


def _made(function: Any, args: tuple[Any, ...], names: Names) -> Any:
    """A program for calls like this one, and what makes of its outputs what the function returns.

    None if there can be none.
    """
    call = _Call(function, args, names)
    values = tuple(map(_copied, call.numbers))
    call.numbers.clear()
    _state.is_entering = True
    try:
        with Guarded(values, function) as guarded:
            out = call.run(guarded.lifted)
            atoms = as_list(out)
            made = None
            # Views of arguments, or of each other, are seen where one of them is assigned to.
            is_apart = not binding.are_views_of_one([*guarded.lifted, *atoms])
            # And sums of what an entry returns are added in C order.
            is_apart = is_apart and all(map(_is_in_order, atoms))
            is_apart = is_apart and sum(prod(binding.shape(x)) for x in atoms) <= MOST_RESULTS
            if is_apart and not guarded.obstacle and all(map(_is_real, atoms)):
                graph = binding.graph_of(guarded.recording, atoms, False)
                every = [(0, graph.n_inputs)]
                codes = graph.value_code(), graph.pull_onto_code(every)
                if graph.steps:  # whose derivatives of higher order may be none at this point
                    backwards = graph.pull_graph(every)
                    backwards.push_code([(0, backwards.n_inputs)])
                others = (getattr(step.rule, "rounds_otherwise", False) for step in graph.steps)
                if any(code.calls_python for code in codes) or any(others) or graph.takes_turns:
                    return None
                if not _agree(codes[0], values, [binding.strip(atom) for atom in atoms]):
                    return None
                given, results = ([*map(binding.shape, numbers)] for numbers in (values, atoms))
                name = getattr(function, "__name__", "function")
                program = binding.tape_program_of(graph, name, given, results, call)
                shows = zip(atoms, program.shows(), strict=True)
                hidden = [isinstance(atom, Var) and not shown for atom, shown in shows]
                kind = type(out) if isinstance(out, tuple) else None
                made = program, partial(_restored, kind, hidden if any(hidden) else None)
            del out
            atoms.clear()
        if made is not None and not _agree_in_pull(codes[1], values, call, results):
            return None
    except Exception:  # what it is will be seen where the function runs
        return None
    finally:
        _state.is_entering = False
    return made


def _agree(code: Any, values: Sequence[Number], wanted: Sequence[Number]) -> bool:
    """Whether the last numbers that a program gives are these, to the last bit."""
    found, row = code.run(_in_a_row(values)), _in_a_row(wanted)
    return isinstance(found, np.ndarray) and np.array_equal(
        found[len(found) - len(row) :], row, equal_nan=True
    )


def _agree_in_pull(
    code: Any, values: Sequence[Number], call: _Call, results: Sequence[tuple[int, ...]]
) -> bool:
    """Whether cotangents, too, are those of the function, as far as one point tells."""
    cotangents = [np.cos(1.0 + np.arange(prod(shape))).reshape(shape)[()] for shape in results]
    pulled = call.pull(list(values), None, cotangents)
    received = [np.zeros(binding.shape(x)) for x in values]
    return _agree(code, [*values, *cotangents, *received], pulled)


def _in_a_row(numbers: Sequence[Number]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.ravel(x) for x in numbers] or [np.empty(0)])


def _mapped(arg: Any, change: Callable[[Any], Any]) -> Any:
    """change(x) of an argument, or of each item of a list."""
    return type(arg)(map(change, arg)) if isinstance(arg, (list, tuple)) else change(arg)


def _is_number(x: Any) -> bool:
    return isinstance(x, (Var, float, np.ndarray))


def _copied(x: Number) -> Number:
    value = binding.strip(x)
    return np.array(value) if binding.shape(x) else float(value)


def _is_real(x: Any) -> bool:
    return isinstance(x, Var) or type(x) is float or binding.is_real_array(x)


def _is_in_order(x: Number) -> bool:
    return not isinstance(x, Var) or x.ndim == 0 or binding.is_in_order(x)


def _restored(kind: Any, hidden: list[bool] | None, outputs: Numbers) -> Any:
    """What the function returns: a number, or a tuple of them.

    hidden: of which a program gives plain values, since their derivatives are 0, and the function
    does not.
    """
    if hidden is not None:
        outputs = [
            _constant(x) if is_one else x for x, is_one in zip(outputs, hidden, strict=True)
        ]
    found = [np.float64(x) if type(x) is float else x for x in outputs]
    if kind is None:
        return found[0]
    return getattr(kind, "_make", kind)(found)


def _constant(x: Number) -> Var:
    constant = binding.constant_array(np.asarray(x))
    return constant if constant.ndim else binding.single(constant)


class _Again:
    """A rule that runs something again: what derivatives do where the program has none."""

    is_linear = runs_again = False
    _name: str

    def run(self, numbers: Sequence[Number]) -> Any:
        raise NotImplementedError

    def pull(self, operands: Numbers, outs: Any, cotangents: Numbers) -> Numbers:
        """Cotangents of the operands."""
        with Recording(tuple(operands), tuple(range(len(operands)))) as recording:
            with binding.WithoutPrograms():  # it would be an entry again, which has no derivative
                found = as_list(self.run(recording.lifted))
            pulled: Numbers = binding.pull(recording, found, cotangents)
            found.clear()
        return pulled

    def push(self, operands: Numbers, outs: Any, tangents: Numbers) -> Numbers:
        """Tangents of the results."""
        return [tangent for _, tangent in self.along(operands, tangents)]

    def along(self, operands: Numbers, tangents: Numbers) -> list[tuple[Number, Number]]:
        """The results and their tangents."""
        with binding.Forward() as tag:
            duals = [binding.make_dual(x, t, tag) for x, t in zip(operands, tangents, strict=True)]
            return [binding.split_dual(x, tag) for x in as_list(self.run(duals))]

    def pulled(self, active: bytes) -> _Again:
        return _Pull(self, active)

    def pushed(self, active: bytes) -> _Again:
        return _Push(self, active)


class _Call(_Again):
    """A call with other numbers."""

    def __init__(self, function: Any, args: tuple[Any, ...], names: Names) -> None:
        self._function = function
        self.numbers: list[Any] = []  # that are passed
        self._args = [_mapped(arg, self._place) for arg in args]
        self._names = names
        self._name = getattr(function, "__name__", "function")

    def _place(self, x: Any) -> Any:
        if not _is_number(x):
            return x
        known = [k for k, other in enumerate(self.numbers) if other is x and isinstance(x, Var)]
        if not known:
            self.numbers.append(x)
        return _Place(known[0] if known else len(self.numbers) - 1)

    def run(self, numbers: Sequence[Number]) -> Any:
        def given(x: Any) -> Any:
            return numbers[x.number] if type(x) is _Place else x

        n = len(self._args) - len(self._names)
        args = [_mapped(arg, given) for arg in self._args]
        return self._function(*args[:n], **dict(zip(self._names, args[n:], strict=True)))


class _Pull(_Again):
    """From operands and cotangents of the results to cotangents of the active operands."""

    def __init__(self, whole: _Again, active: bytes) -> None:
        self._whole, self._active = whole, active
        self._name = f"the pull of {whole._name}"

    def run(self, numbers: Sequence[Number]) -> Any:
        operands, cotangents = _split(numbers, len(self._active))
        found = self._whole.pull(operands, None, cotangents)
        return tuple(
            np.zeros(binding.shape(x)) if g is None else g
            for x, g, is_active in zip(operands, found, self._active, strict=True)
            if is_active
        )


class _Push(_Again):
    """From operands and tangents of the active ones to results and their tangents."""

    def __init__(self, whole: _Again, active: bytes) -> None:
        self._whole, self._active = whole, active
        self._name = f"the push of {whole._name}"

    def run(self, numbers: Sequence[Number]) -> Any:
        operands, directions = _split(numbers, len(self._active))
        given = iter(directions)
        tangents = [
            next(given) if is_active else np.zeros(binding.shape(x))
            for x, is_active in zip(operands, self._active, strict=True)
        ]
        found = self._whole.along(operands, tangents)
        return *(x for x, _ in found), *(tangent for _, tangent in found)


def _split(numbers: Sequence[Number], n: int) -> tuple[Numbers, Numbers]:
    return [*numbers[:n]], [*numbers[n:]]
