"""Functions whose calls are entries of the tape: eager code at the price of a replay.

A function of arrays with many operations, or with rules in Python, makes an eager gradient many
times as expensive as a call of the function. Its recording becomes a program once for each form of
a call, and later calls of this form are one entry, which sweeps carry out in C. Where another
branch would be taken, or something is refused, the function runs eagerly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial, wraps
from itertools import permutations
from math import prod
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import Complex, Guarded, Recording, Var
from .recorded_calls import Number, Numbers, as_list

Names = tuple[str, ...]
Shape = tuple[int, ...]

MOST_RESULTS = 16384  # numbers of one call: more pay by themselves
MOST_SHARE = 0.7  # of the time that the function takes: else nothing is won
MOST_MOVED_AXES = 4  # of results that are tried in another order


class _Place:
    """Stands for a number among arguments: its number among those that differ."""

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


def chooses_anew() -> bool:
    """Whether what is recorded may choose otherwise in a replay, and round otherwise."""
    return binding.chooses_anew() and not _state.is_entering


def entered(function: Any) -> binding.Entered:
    """What makes calls of a function entries: it returns no views, and changes nothing."""
    return binding.Entered(partial(_made, function))


def changing(function: Callable[..., None]) -> Callable[..., None]:
    """The same of a function that writes to its first argument, an array.

    What an entry gives is what stands there then.
    """

    def changed(a: Any, *args: Any, **kwargs: Any) -> Any:
        copy = a.copy()
        function(copy, *args, **kwargs)
        return copy

    enter = entered(changed)

    @wraps(function)
    def call(a: Any, *args: Any, **kwargs: Any) -> None:
        result = NotImplemented
        if isinstance(a, (Var, Complex)) and a.ndim > 0:
            result = enter((a, *args, *kwargs.values()), tuple(kwargs))
        if result is NotImplemented:
            function(a, *args, **kwargs)
        else:
            a[...] = result

    return call


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
    """What `_made` answers, or an exception of the function's."""
    values = tuple(map(_copied, call.numbers))
    with binding.WithoutPrograms(), Recording((), ()):  # where operands stand as they do
        out = call.run(call.numbers)
        call.orders = [_order_of(x) for x in as_list(out)]
        row = _in_a_row(_taken_apart(out, call.orders)[0])
        del out
    call.numbers.clear()
    with Guarded(values, call.function) as guarded:
        out = call.run(guarded.lifted)
        atoms, forms = _taken_apart(out, call.orders)
        kind = type(out) if isinstance(out, tuple) else None
        if kind not in (None, tuple) and not hasattr(kind, "_make"):
            return False  # it has more than its items
        del out
        # Views of arguments, or of each other, are seen where one of them is assigned to.
        is_view = binding.are_views_of_one([*guarded.lifted, *atoms])
        compiled = None if is_view else _program_of(guarded, call, values, atoms)
        results = [*map(binding.shape, atoms)]
        atoms.clear()
    if compiled is None:
        return False if is_view else None
    program, codes, hidden = compiled
    if not np.all(np.isfinite(row)) or not _ends_in(codes[0].evaluate(_in_a_row(values)), row):
        return None
    trials = [_tried(codes, call, x, results) for x in (values, tuple(map(_moved, values)))]
    if trials[0].agrees is not True or trials[1].agrees is False:
        return None
    times = zip(*(trial.seconds for trial in trials if trial.agrees is not None), strict=True)
    of_program, of_function = map(min, times)
    if of_program > MOST_SHARE * of_function:
        return None
    are_real = all(len(form.parts) == 1 and form.order is None for form in forms)
    if kind is None and are_real and not any(hidden):
        return program, None
    shaped = None if are_real else forms
    return program, partial(_restored, kind, shaped, hidden if any(hidden) else None)


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
    codes = graph.code_of("value"), graph.code_of("pull_onto", every)
    if graph.steps:  # whose derivatives of higher order may be none at this point
        backwards = graph.graph_of("pull", every)
        backwards.code_of("push", [(0, backwards.n_inputs)])
    if any(code.calls_python for code in codes) or graph.adds_sequentially:
        return None
    if any(getattr(step.rule, "rounds_otherwise", False) for step in graph.steps):
        return None
    shapes, results = ([*map(binding.shape, numbers)] for numbers in (values, atoms))
    program = binding.tape_program_of(graph, call._name, shapes, results, call)
    shows = zip(atoms, program.shows(), strict=True)
    return program, codes, [isinstance(atom, Var) and not shown for atom, shown in shows]


class _Trial(NamedTuple):
    """A program beside the function that it is to stand for."""

    # Whether results and cotangents are the same to the last bit. None: there are none, since in
    # another branch, or out of bounds, the function would run.
    agrees: bool | None
    seconds: tuple[float, float]  # of the program, and of the function


def _tried(
    codes: tuple[Any, Any], call: _Call, values: Sequence[Number], results: Sequence[Shape]
) -> _Trial:
    cotangents = [np.cos(1.0 + np.arange(prod(shape))).reshape(shape)[()] for shape in results]
    inputs = _in_a_row(values)
    onto = _in_a_row([*values, *cotangents, *(np.zeros(binding.shape(x)) for x in values)])
    begun = perf_counter()
    row, pulled = call._pulled(values, cotangents, _in_a_row)
    called = perf_counter()
    outputs, back = codes[0].evaluate(inputs), codes[1].evaluate(onto)
    seconds = perf_counter() - called, called - begun
    if not isinstance(outputs, np.ndarray) or not isinstance(back, np.ndarray):
        return _Trial(None, seconds)
    return _Trial(_ends_in(outputs, row) and _ends_in(back, _in_a_row(pulled)), seconds)


def _ends_in(found: Any, row: np.ndarray[Any, Any]) -> bool:
    return isinstance(found, np.ndarray) and np.array_equal(
        found[len(found) - len(row) :], row, equal_nan=True
    )


def _moved(x: Number) -> Number:
    """Other numbers, nearer to 0, of the same signs; 0 itself becomes positive."""
    turns = np.cos(1.0 + np.arange(np.size(x))).reshape(binding.shape(x))
    return np.where(np.equal(x, 0.0), 0.02 + 0.01 * turns, x * (0.9 + 0.1 * turns))[()]


def _in_a_row(numbers: Sequence[Number]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.ravel(binding.unguarded(x)) for x in numbers] or [np.empty(0)])


def _mapped(arg: Any, change: Callable[[Any], Any]) -> Any:
    """change(x) of an argument, or of each item of a list."""
    if type(arg) in (list, tuple):
        return type(arg)(_mapped(item, change) for item in arg)
    return change(arg)


def _copied(x: Number) -> Number:
    value = binding.unguarded(x)
    return np.array(value) if binding.shape(x) else float(value)


def _is_real(x: Any) -> bool:
    """Whether it is a real number itself, and nothing that only looks like one in a recording."""
    is_number = type(x) in (float, np.float64) or issubclass(type(x), Var)
    return is_number or binding.is_real_array(x)


class _Form(NamedTuple):
    """What a result is made of: a real number, or both parts of a complex one."""

    parts: tuple[Any, ...]  # each a _Place, or a float, which is 0
    order: tuple[int, ...] | None  # of the axes, that stand in another one in memory


def _taken_apart(out: Any, orders: list[Any] | None) -> tuple[Numbers, list[_Form]]:
    """The real numbers that a function returned, in C order, and how they are put together.

    orders: those of axes in memory, of each result; what stands in another order is copied.
    """
    atoms: Numbers = []
    forms = []
    results = as_list(out)
    for x, order in zip(results, orders or [None] * len(results), strict=True):
        x = x if order is None else x.transpose(order)
        parts: list[Any] = []
        for part in binding.parts_of(x) if isinstance(x, Complex) else (x,):
            if isinstance(x, Complex) and binding.is_nothing(part):
                parts.append(part)
            else:
                parts.append(_Place(len(atoms)))
                is_turned = isinstance(part, Var) and not binding.is_in_order(part)
                atoms.append(part.copy() if is_turned else part)
        forms.append(_Form(tuple(parts), None if order is None else tuple(np.argsort(order))))
    return atoms, forms


def _order_of(x: Any) -> tuple[int, ...] | None:
    """The axes as they stand in memory; None: in C order."""
    part = x
    if isinstance(x, Complex):
        part = next(part for part in binding.parts_of(x) if not binding.is_nothing(part))
    if not isinstance(part, Var) or binding.is_in_order(part):
        return None
    if part.ndim <= MOST_MOVED_AXES:
        for order in permutations(range(part.ndim)):
            if binding.is_in_order(part.transpose(order)):
                return order
    raise ValueError("what it returned stands in no order")


def _restored(
    kind: Any, forms: list[_Form] | None, hidden: list[bool] | None, outputs: Numbers
) -> Any:
    """What the function returns: a number, or a tuple of them.

    forms: None if all are real and stand in C order. hidden: of which a program gives plain
    values, since their derivatives are 0, and the function does not.
    """
    if hidden is not None:
        outputs = [
            _constant(x) if is_one else x for x, is_one in zip(outputs, hidden, strict=True)
        ]
    floats = [np.float64(x) if type(x) is float else x for x in outputs]
    if forms is not None:
        floats = [_result(form, floats) for form in forms]
    return floats[0] if kind is None else getattr(kind, "_make", kind)(floats)


def _result(form: _Form, outputs: Numbers) -> Any:
    parts = [outputs[part.number] if type(part) is _Place else part for part in form.parts]
    x = binding.complex_of_parts(*parts) if len(parts) == 2 else parts[0]
    return x if form.order is None else x.transpose(form.order)


def _constant(x: Number) -> Var:
    constant = binding.constant_array(np.asarray(x))
    return constant if constant.ndim else binding.single(constant)


class _Again:
    """A rule that runs something again: what derivatives do where the program has none."""

    is_linear = runs_again = False
    _name: str
    orders: list[Any] | None = None  # of the axes of its results

    def run(self, numbers: Sequence[Number]) -> Any:
        raise NotImplementedError

    def pull_cotangents(self, operands: Numbers, outs: Any, cotangents: Numbers) -> Numbers:
        return self._pulled(operands, cotangents)[1]

    def _pulled(
        self,
        operands: Sequence[Number],
        cotangents: Numbers,
        read: Callable[[Numbers], Any] = lambda found: None,
    ) -> tuple[Any, Numbers]:
        """What is read of all results, and cotangents of the operands."""
        with Recording(tuple(operands), tuple(range(len(operands)))) as recording:
            with binding.WithoutPrograms():  # it would be an entry again, which has no derivative
                outputs, _ = _taken_apart(self.run(recording.lifted), self.orders)
            answer = read(outputs)
            pulled: Numbers = binding.pull_recording(recording, outputs, cotangents)
            outputs.clear()
        return answer, pulled

    def push_tangents(self, operands: Numbers, outs: Any, tangents: Numbers) -> Numbers:
        return [tangent for _, tangent in self.along(operands, tangents)]

    def along(self, operands: Numbers, tangents: Numbers) -> list[tuple[Number, Number]]:
        with binding.Forward() as tag:
            duals = [binding.make_dual(x, t, tag) for x, t in zip(operands, tangents, strict=True)]
            pairs, _ = _taken_apart(self.run(duals), self.orders)
            return [binding.split_dual(x, tag) for x in pairs]

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
        pulled = self._whole.pull_cotangents(operands, None, cotangents)
        return tuple(
            np.zeros(binding.shape(x)) if g is None else g
            for x, g, is_active in zip(operands, pulled, self._active, strict=True)
            if is_active
        )


class _Push(_Again):
    """From operands and tangents of the active ones to results and their tangents."""

    def __init__(self, whole: _Again, active: bytes) -> None:
        self._whole, self._active = whole, active
        self._name = f"the push of {whole._name}"

    def run(self, numbers: Sequence[Number]) -> Any:
        operands, directions = _split(numbers, len(self._active))
        rest = iter(directions)
        tangents = [
            next(rest) if is_active else np.zeros(binding.shape(x))
            for x, is_active in zip(operands, self._active, strict=True)
        ]
        pairs = self._whole.along(operands, tangents)
        return *(x for x, _ in pairs), *(tangent for _, tangent in pairs)


def _split(numbers: Sequence[Number], n: int) -> tuple[Numbers, Numbers]:
    return [*numbers[:n]], [*numbers[n:]]


binding.register_entered(entered)
