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
from itertools import permutations
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import Complex, Dual, Guarded, Recording, Var
from .recorded_calls import Number, Numbers, as_list

Names = tuple[str, ...]

MOST_RESULTS = 4096  # numbers of one call: more pay by themselves
MOST_MOVED_AXES = 4  # of results that are tried in another order


class _Place:
    """Stands for a number among arguments: which of those that differ it is."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Pair(NamedTuple):
    """Stands for a complex number among arguments: its parts, either a _Place or 0."""

    re: Any
    im: Any


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

    None if there can be none; False if there can be none for any call of the function.
    """
    _state.is_entering = True
    try:
        with binding.WarningsOff():
            return _entry_of(_Call(function, args, names))
    except Exception:  # what it is will be seen where the function runs
        return None
    finally:
        _state.is_entering = False


def _entry_of(call: _Call) -> Any:
    values = tuple(map(_copied, call.numbers))
    points = [values, _moved(values, 1), _moved(values, 2)]
    rows = [_row_of(call, call.numbers), *(_row_of(call, point) for point in points[1:])]
    call.numbers.clear()
    with Guarded(values, call.function) as guarded:
        out = call.run(guarded.lifted)
        atoms, forms = _taken_apart(out)
        kind = type(out) if isinstance(out, tuple) else None
        del out
        # Views of arguments, or of each other, are seen where one of them is assigned to.
        is_view = binding.are_views_of_one([*guarded.lifted, *atoms])
        made = None if is_view else _program_of(guarded, call, values, atoms)
        results = [*map(binding.shape, atoms)]
        atoms.clear()
    if made is None:
        return False if is_view else None
    program, codes, hidden = made
    agree = all(_agree(codes, call, *at, results) for at in zip(points, rows, strict=True))
    if not agree or not any(np.all(np.isfinite(row)) for row in rows):
        return None
    return program, partial(_restored, kind, forms, hidden if any(hidden) else None)


def _program_of(
    guarded: Guarded, call: _Call, values: tuple[Number, ...], atoms: Numbers
) -> tuple[binding.TapeProgram, tuple[Any, Any], list[bool]] | None:
    """The program of what was recorded, its codes, and of which results derivatives are hidden.

    None if it is known not to do what the function does, to the last bit and without Python.
    """
    # Sums of what an entry returns are added in C order.
    if guarded.obstacle or not all(_is_real(x) and binding.is_in_order(x) for x in atoms):
        return None
    if sum(prod(binding.shape(x)) for x in atoms) > MOST_RESULTS:
        return None
    graph = binding.graph_of(guarded.recording, atoms, False)
    every = [(0, graph.n_inputs)]
    codes = graph.value_code(), graph.pull_onto_code(every)
    if graph.steps:  # whose derivatives of higher order may be none at this point
        backwards = graph.pull_graph(every)
        backwards.push_code([(0, backwards.n_inputs)])
    if any(code.calls_python for code in codes) or graph.takes_turns:
        return None
    if any(getattr(step.rule, "rounds_otherwise", False) for step in graph.steps):
        return None
    given, results = ([*map(binding.shape, numbers)] for numbers in (values, atoms))
    program = binding.tape_program_of(graph, call._name, given, results, call)
    shows = zip(atoms, program.shows(), strict=True)
    return program, codes, [isinstance(atom, Var) and not shown for atom, shown in shows]


def _agree(
    codes: tuple[Any, Any],
    call: _Call,
    values: Sequence[Number],
    row: np.ndarray[Any, Any],
    results: Sequence[tuple[int, ...]],
) -> bool:
    """Whether a program gives the row of results of a call and its cotangents, to the last bit."""
    found = codes[0].run(_in_a_row(values))
    if not isinstance(found, np.ndarray):  # another branch: the function would run
        return True
    cotangents = [np.cos(1.0 + np.arange(prod(shape))).reshape(shape)[()] for shape in results]
    pulled = _in_a_row(call.pull(list(values), None, cotangents))
    received = [np.zeros(binding.shape(x)) for x in values]
    found_pulled = codes[1].run(_in_a_row([*values, *cotangents, *received]))
    return _ends_in(found, row) and _ends_in(found_pulled, pulled)


def _ends_in(found: Any, row: np.ndarray[Any, Any]) -> bool:
    return isinstance(found, np.ndarray) and np.array_equal(
        found[len(found) - len(row) :], row, equal_nan=True
    )


def _row_of(call: _Call, numbers: Sequence[Number]) -> np.ndarray[Any, Any]:
    """The results of a call, where operands stand in memory as these do."""
    given = () if binding.carries(numbers) else tuple(numbers)
    with binding.WithoutPrograms(), Recording(given, tuple(range(len(given)))) as recording:
        atoms, _ = _taken_apart(call.run(recording.lifted if given else numbers))
        row = _in_a_row(atoms)
        atoms.clear()
    return row


def _moved(values: tuple[Number, ...], k: int) -> tuple[Number, ...]:
    """Other numbers of the same signs."""
    factors = (1.0 + 0.25 * np.cos(k + np.arange(np.size(x))) for x in values)
    return tuple(
        x * factor.reshape(binding.shape(x))[()] for x, factor in zip(values, factors, strict=True)
    )


def _in_a_row(numbers: Sequence[Number]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.ravel(binding.strip(x)) for x in numbers] or [np.empty(0)])


def _mapped(arg: Any, change: Callable[[Any], Any]) -> Any:
    """change(x) of an argument, or of each item of a list."""
    if type(arg) in (list, tuple):
        return type(arg)(_mapped(item, change) for item in arg)
    return change(arg)


def _copied(x: Number) -> Number:
    value = binding.strip(x)
    return np.array(value) if binding.shape(x) else float(value)


def _is_real(x: Any) -> bool:
    return isinstance(x, (Var, float)) or binding.is_real_array(x)


class _Form(NamedTuple):
    """What a result is made of: a real number, or both parts of a complex one."""

    parts: tuple[Any, ...]  # each a _Place, or a float, which is 0
    order: tuple[int, ...] | None  # of the axes, that stand in another one in memory


def _taken_apart(out: Any) -> tuple[Numbers, list[_Form]]:
    """The real numbers that a function returned, in C order, and how they are put together."""
    atoms: Numbers = []
    forms = []
    for x in as_list(out):
        order = _order_of(x)
        x = x if order is None else x.transpose(order)
        parts: list[Any] = []
        for part in binding.parts_of(x) if isinstance(x, Complex) else (x,):
            if isinstance(x, Complex) and binding.is_nothing(part):
                parts.append(part)
            else:
                parts.append(_Place(len(atoms)))
                atoms.append(part)
        forms.append(_Form(tuple(parts), None if order is None else tuple(np.argsort(order))))
    return atoms, forms


def _order_of(x: Any) -> tuple[int, ...] | None:
    """The axes as they stand in memory; None: in C order, or in none."""
    part = x
    if isinstance(x, Complex):
        part = next(part for part in binding.parts_of(x) if not binding.is_nothing(part))
    if isinstance(part, Dual):
        part = binding.dual_components(part)[0]
    if not isinstance(part, Var) or binding.is_in_order(part) or part.ndim > MOST_MOVED_AXES:
        return None
    orders = permutations(range(part.ndim))
    return next((p for p in orders if binding.is_in_order(part.transpose(p))), None)


def _restored(kind: Any, forms: list[_Form], hidden: list[bool] | None, outputs: Numbers) -> Any:
    """What the function returns: a number, or a tuple of them.

    hidden: of which a program gives plain values, since their derivatives are 0, and the function
    does not.
    """
    if hidden is not None:
        outputs = [
            _constant(x) if is_one else x for x, is_one in zip(outputs, hidden, strict=True)
        ]
    found = [_result(form, outputs) for form in forms]
    return found[0] if kind is None else getattr(kind, "_make", kind)(found)


def _result(form: _Form, outputs: Numbers) -> Any:
    """A result, of its numbers."""
    parts = [outputs[part.number] if type(part) is _Place else part for part in form.parts]
    if len(parts) == 2:
        x = binding.complex_of_parts(*parts)
    else:
        x = np.float64(parts[0]) if type(parts[0]) is float else parts[0]
    return x if form.order is None else x.transpose(form.order)


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
                found, _ = _taken_apart(self.run(recording.lifted))
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
            return [binding.split_dual(x, tag) for x in _taken_apart(self.run(duals))[0]]

    def pulled(self, active: bytes) -> _Again:
        return _Pull(self, active)

    def pushed(self, active: bytes) -> _Again:
        return _Push(self, active)


class _Call(_Again):
    """A call with other numbers."""

    def __init__(self, function: Any, args: tuple[Any, ...], names: Names) -> None:
        self.function = function
        self.numbers: list[Any] = []  # that are passed
        self._args = [_mapped(arg, self._place) for arg in args]
        self.names = names
        self._name = getattr(function, "__name__", "function")

    def _place(self, x: Any) -> Any:
        if binding.is_complex_number(x):
            parts = binding.parts_of(x)
            return _Pair(
                *(part if binding.is_nothing(part) else self._place(part) for part in parts)
            )
        if not _is_real(x):
            return x.copy() if isinstance(x, np.ndarray) else x
        known = [k for k, other in enumerate(self.numbers) if other is x and isinstance(x, Var)]
        if not known:
            self.numbers.append(x)
        return _Place(known[0] if known else len(self.numbers) - 1)

    def run(self, numbers: Sequence[Number]) -> Any:
        def given(x: Any) -> Any:
            if type(x) is _Pair:
                return binding.make_complex(given(x.re), given(x.im))
            return numbers[x.number] if type(x) is _Place else x

        n = len(self._args) - len(self.names)
        args = [_mapped(arg, given) for arg in self._args]
        return self.function(*args[:n], **dict(zip(self.names, args[n:], strict=True)))


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


binding.register_entered(entered)
