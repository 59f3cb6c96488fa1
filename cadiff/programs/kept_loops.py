"""Loops and branches of a user's functions: run in Python, as steps of a program, or as served.

A step keeps its turns in recordings of their own (`kept.py`). What kinds of loops there are is for
control_flow.py to say.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import Dual, Tree, Var
from ..operations.arrays import as_array, concatenate, reshape
from ..operations.making import chooses_anew
from ..operations.replayed import Replayed, kind_of
from ..operations.scalars import MOST_INT, anew
from ..transforms import _mapped
from ..transforms._base import Function
from ..transforms._closed import Closed
from ..transforms._mapped import FLOAT, NUMBERS, Form, dtype_of, is_plain, stacked
from ..transforms._outputs import Shape, places
from .kept import FEWEST, Loop
from .loop_steps import GIVEN, RAN, SERVED, UNTIL, AnyLoop, Apart, keep
from .rows import Piece
from .verification import rounding, told_apart

MOST_IN_PYTHON = 16  # turns, at a recording; then they are recorded themselves
MOST_WITHIN = 64  # turns within another one, that are recorded as a part of it,
MOST_NUMBERS = 1 << 17  # if they compute so many numbers at most
LEAST_SERVED = 64  # counted turns: a judge runs all of loops that are not longer

_INT = np.dtype(np.int64)
_END = object()
# Types of NumPy's whose numbers are Python's own.
_OF_PYTHON: tuple[type[np.generic], ...] = (np.float64, np.int64, np.bool_)

# --- what goes round -----------------------------------------------------------------------------


def checked(form: Form, item: Any, name: str, what: str) -> Any:
    """A returned item, if it has this form; in errors it is `name`, the form that of `what`.

    Python's ints may be of other dtypes: as 0 that becomes 0.5, or the other way round.
    """
    if form.is_float and _is_float(item) and binding.shape(item) == ():
        return item
    try:
        parts = form.tree.parts(item, name, what)
    except ValueError as error:
        raise TypeError(str(error)) from None
    is_changed = False
    for k, (path, leaf) in enumerate(parts):
        shape, dtype = form.shapes[k], form.dtypes[k]
        if _is_float(leaf) and binding.shape(leaf) == shape and dtype == FLOAT:
            continue
        if type(leaf) is int and -MOST_INT < leaf < MOST_INT and shape == () and dtype == _INT:
            continue
        given = dtype_of(leaf) if isinstance(leaf, NUMBERS) else None
        if given is None or binding.shape(leaf) != shape:
            pass
        elif given == dtype:
            continue
        elif type(leaf) in (bool, int) and dtype.kind in "if":
            number = int(leaf) if dtype.kind == "i" else float(leaf)
            parts[k], is_changed = (path, number), True
            continue
        elif form.are_pythons[k] and dtype.kind == "i" and given.kind in "if":
            form.dtypes[k] = given
            continue
        raise TypeError(
            f"{path} is {described(leaf)}, where {what} has {_named(shape, dtype)}: turns "
            "keep shape and dtype; begin with those that it gets, or convert it"
        )
    return form.tree.fill(part for _, part in parts) if is_changed else item


def _may_be_kept(form: Form) -> bool:
    """Whether a program can have such numbers as floats."""
    return all(d.kind in "bi" or d == FLOAT for d in form.dtypes)


def _of_vector(form: Form, vector: Any) -> Any:
    """The containers of a form, with numbers of a vector."""
    leaves = zip(places(form.shapes), form.dtypes, strict=True)
    pieces = (Piece(*where, dtype.str).of(vector) for where, dtype in leaves)
    if isinstance(vector, np.ndarray):  # where Python's numbers are its own
        pieces = (x.item() if isinstance(x, _OF_PYTHON) else x for x in pieces)
    return form.tree.fill(pieces)


def _size(form: Form) -> int:
    return sum(map(math.prod, form.shapes))


def _is_float(leaf: Any) -> bool:
    """Whether it is a float, or a number or array of float64 with derivatives."""
    kind = type(leaf)
    return kind is float or ((kind is Var or kind is Dual) and not binding.is_single(leaf))


def _filled(parts: Iterable[Any], plain: Any) -> Any:
    """Containers with numbers that a program finds; `plain` is what they are in this call."""
    leaves, tree = binding.flattened(plain, pairs=True)
    pairs = zip(parts, leaves, strict=True)
    return tree.fill(part if kind_of(leaf) == "f" else anew(leaf, part) for part, leaf in pairs)


def _number(leaf: Any) -> Any:
    return leaf.number if isinstance(leaf, Replayed) else leaf


def described(leaf: Any) -> str:
    if not isinstance(leaf, NUMBERS):
        return f"a {type(leaf).__name__}"
    return _named(binding.shape(leaf), dtype_of(leaf))


def _named(shape: Shape, dtype: np.dtype[Any]) -> str:
    return f"an array of shape {shape}, {dtype}" if shape else f"a number, {dtype}"


def vector(item: Any) -> Any:
    """All numbers of containers in a row."""
    leaves, _ = binding.flattened(item, pairs=True)
    parts = map(_number, leaves)
    return concatenate([np.empty(0), *(reshape(as_array(part), -1) for part in parts)])


def plain_of(item: Any) -> Any:
    """The same containers with plain numbers, which nothing is said to have read."""
    return binding.map_leaves(
        lambda x: x._plain if isinstance(x, Replayed) else binding.plain_values(x), item
    )


def _are_small(item: Any) -> bool:
    """Whether all ints are of a size that those of recordings are taken to have.

    Else one of them, computed anew, may be no whole number among floats. A replay has to find the
    same.
    """
    leaves = binding.flattened(item, pairs=True)[0]
    ints = (x for x in leaves if dtype_of(x).kind in "iu")
    bounded = ((x, is_inside) for x in ints for is_inside in (x > -MOST_INT, x < MOST_INT))
    return all(np.all(is_inside) if binding.shape(x) else is_inside for x, is_inside in bounded)


def truth(x: Any, name: str) -> Any:
    """A bool, or what stands for one and is not read yet."""
    if x is True or x is False:
        return x
    if not isinstance(x, NUMBERS) or math.prod(binding.shape(x)) != 1:
        raise TypeError(f"{name} is one truth value, not {described(x)}")
    return x if isinstance(x, Replayed) and kind_of(x._plain) == "b" else bool(x)


# --- turns ---------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """What one turn is.

    `turn(functions, state, row)` gives the next state and an output; `begins(functions, state)`,
    where turns tell, whether there is a turn.
    """

    name: str
    first: str  # what the first state is called
    returned: str  # and what turns make of it
    turn: Callable[[Any, Any, Any], tuple[Any, Any]]
    begins: Callable[[Any, Any], Any] | None = None
    is_counted: bool = False  # it is known how many turns there are, whatever they give
    needs_loops: bool = False  # it is a step only if loops or branches run in it
    is_map: bool = False


class _RealError(TypeError):
    """A number is real that was complex: among floats it has no imaginary part."""


class _NoStepError(Exception):
    """What is mapped over rows has no loops in it."""


class Rows:
    """What turns get one by one: containers of arrays, with a row for each of n turns."""

    def __init__(self, tree: Tree, arrays: Sequence[Any], n: int) -> None:
        self.tree = tree
        self.arrays = arrays
        self.n = n

    def each(self, count: Any = None) -> Iterator[Any]:
        """A row after the other; None, so many times or for ever, if there are no rows."""
        if not self.n:
            yield from repeat(None) if count is None else repeat(None, max(0, count))
        columns = [x.tolist() if _is_of_numbers(x) else x for x in self.arrays]
        if self.n and self.tree.container is None:
            (column,) = columns
            yield from (
                column if type(column) in (list, Var) else map(column.__getitem__, range(self.n))
            )
            return
        for t in range(self.n):
            yield self.tree.fill([column[t] for column in columns])

    @property
    def form(self) -> Form:
        dtypes = [*map(dtype_of, self.arrays)]
        shapes = [binding.shape(x)[1:] for x in self.arrays]
        return Form(self.tree, shapes, dtypes, [False] * len(shapes))

    def plain(self) -> Rows:
        return Rows(self.tree, plain_of(self.arrays), self.n)

    @property
    def vector(self) -> Any:
        """All numbers, those of each turn in a row."""
        parts = [reshape(as_array(_number(x)), (self.n, -1)) for x in self.arrays]
        if self.n == 0 or not parts:
            return np.empty(0)
        return reshape(concatenate(parts, axis=1), -1)


NO_ROWS = Rows(binding.flattened(None)[1], [], 0)


def _is_of_numbers(x: Any) -> bool:
    """Whether items of an array are numbers of Python's, with which Python computes fastest."""
    return type(x) is np.ndarray and x.ndim == 1 and x.dtype.kind in "bif" and x.itemsize in (1, 8)


def _in_python(
    kind: Kind, functions: Any, state: Any, rows: Iterable[Any]
) -> tuple[Form, Any, list[Any], bool]:
    """The form of the state, the last one, the outputs of turns, and whether they go on."""
    form = Form.of(state, kind.first)
    outputs: list[Any] = []
    goes_on = kind.begins is None or kind.begins(functions, state)
    for row in rows if goes_on else ():
        new, output = kind.turn(functions, state, row)
        state = checked(form, new, kind.returned, kind.first)
        if output is not None:
            outputs.append(output)
        goes_on = kind.begins is None or kind.begins(functions, state)
        if not goes_on:
            break
    return form, state, outputs, goes_on


def _stacked(outputs: list[Any], n: int) -> Any:
    """Outputs of n turns, along a new first axis."""
    if not outputs:
        return None
    if len(outputs) < n:
        raise ValueError(f"f returns no y in some turns, and one in {len(outputs)}")
    form = Form.of(outputs[0], "an output")
    columns = form.columns(outputs, range(len(outputs)), "turn")
    return form.tree.fill(map(stacked, columns))


def run_loop(
    kind: Kind, functions: tuple[Function, ...], state: Any, rows: Rows, count: Any = None
) -> tuple[Any, Any]:
    """The last state, and the outputs of all turns, stacked; None if there are none.

    count: how many turns there are without rows, or None: turns tell.
    """
    if kind.is_counted and _may_be_part(rows.n or count):
        return _as_part(kind, functions, state, rows, count)
    if may_be_a_step():
        result = as_a_step(kind, functions, state, rows, count)
    else:
        result = _as_served(kind, functions, state, rows, count)
    if result is not None:
        return result
    _, state, outputs, _ = _in_python(kind, functions, state, rows.each(count))
    return state, _stacked(outputs, rows.n)


def _may_be_part(n: Any) -> bool:
    """Whether n turns may be recorded one by one, as a part of a turn around them.

    So they may if they are few, and of functions of JAX's, which do not branch.
    """
    is_short = _around.depth > 0 and type(n) is int and 0 < n <= MOST_WITHIN
    return is_short and binding.answers_as_numpy()


def _as_part(
    kind: Kind, functions: tuple[Function, ...], state: Any, rows: Rows, count: Any
) -> tuple[Any, Any]:
    """The same, recorded turn by turn; from the second turn on a step, if one computes much."""
    n, each, before = rows.n or count, rows.each(count), binding.tape_usage()["numbers"]
    _, state, outputs, _ = _in_python(kind, functions, state, islice(each, 1))
    if n * (binding.tape_usage()["numbers"] - before) > MOST_NUMBERS and has_steps():
        rest = Rows(rows.tree, [x[1:] for x in rows.arrays], max(0, rows.n - 1))
        result = as_a_step(kind, functions, state, rest, None if count is None else count - 1)
        if result is not None:
            return result[0], _joined(_stacked(outputs, 1), result[1])
    _, state, others, _ = _in_python(kind, functions, state, each)
    return state, _stacked(outputs + others, rows.n)


def _joined(first: Any, rest: Any) -> Any:
    """Stacked outputs of turns behind those of others."""
    leaves, tree = binding.flattened(first, pairs=True)
    others, _ = binding.flattened(rest, pairs=True)
    return tree.fill(map(concatenate, zip(leaves, others, strict=True)))


def _as_served(
    kind: Kind, functions: tuple[Any, ...], state: Any, rows: Rows, count: Any
) -> tuple[Any, Any] | None:
    """The same where a recording that ran such a loop is compared with f; None if none did.

    The first turns are Python's. If the recording's give the same, it goes on with these.
    """
    n = rows.n or count
    if SERVED.are_noted or not SERVED.loops or binding.is_guarding() or (n and n <= LEAST_SERVED):
        return None
    first = vector(state), rows.vector
    like = [(loop, loop.inputs_like(x, kind.name, count, *first)) for loop, x in SERVED.loops]
    found = [(loop, x) for loop, x in like if x is not None]
    if not found or Closed((functions, state, rows.arrays)).carries:
        return None
    each = rows.each(count)
    form, last, outputs, goes_on = _in_python(kind, functions, state, islice(each, MOST_IN_PYTHON))
    size = _size(form)
    expected = np.concatenate([vector(last), *map(vector, outputs)])
    for loop, x in found if goes_on and next(each, _END) is not _END else ():
        if not told_apart(loop.begun(x, MOST_IN_PYTHON), expected, rounding) and loop.agrees():
            value = loop.value(x)
            output_form = Form.of(outputs[0] if outputs else None, "an output")
            return _of_vector(form, value[:size]), _of_rows(output_form, value[size:], rows.n)
    return None


def may_be_a_step() -> bool:
    """Whether a loop or a branch, which is noted to run, may be a step."""
    RAN.n += 1
    return has_steps()


def has_steps() -> bool:
    """Whether loops and branches that run now may be steps of a program."""
    if not (binding.is_guarding() and chooses_anew()):
        return False
    return binding.guards_serial() != getattr(_plainly, "serial", None)


class _Around(threading.local):
    """How many turns are at work in a thread, one within the other, which are recorded."""

    depth = 0


_around = _Around()

# Of the recording for which a thread runs a loop on plain numbers: loops within are Python's.
_plainly = threading.local()


def as_a_step(
    kind: Kind, functions: tuple[Any, ...], state: Any, rows: Rows, count: Any
) -> tuple[Any, Any] | None:
    """The same as a step of a program; None: it cannot be one.

    Python runs its first turns, on plain numbers, and with copies of what the functions may
    change. From these it is known what goes round; further ones are run as in replays.
    """
    found = Closed(functions)
    theta, call = found.theta, found.detached()
    at, plain_rows = plain_of(state), rows.plain()
    row_form = plain_rows.form
    are_kept = _may_be_kept(row_form) and _may_be_kept(Form.of(at, kind.first))
    if found.has_iterators or not are_kept:
        return None

    def run() -> tuple[Form, Any, list[Any], bool]:
        outer, before = getattr(_plainly, "serial", None), RAN.n
        _plainly.serial = binding.guards_serial()
        try:
            with binding.OutsideDifferentiation():
                functions = call.at(binding.plain_values(theta))
                each = plain_rows.each(plain_of(count))
                most = 1 if kind.is_map else MOST_IN_PYTHON
                found = _in_python(kind, functions, at, islice(each, most))
                if kind.needs_loops and RAN.n == before:
                    raise _NoStepError
                return *found[:3], found[3] and next(each, _END) is not _END
        finally:
            _plainly.serial = outer

    (form, last, outputs, is_open), is_changed = call.notes.run_apart(run)
    if is_changed:  # which may carry derivatives, or belong to the user
        return None
    ys = None if is_open else _stacked(outputs, rows.n)
    output_form = Form.of(outputs[0] if outputs else None, "an output")
    for output in outputs[1:]:
        checked(output_form, output, "an output", "the first one")
    if binding.carries((last, ys)) or not (_may_be_kept(form) and _may_be_kept(output_form)):
        return None
    if not _are_small((at, plain_rows.arrays, last, outputs)):
        return None
    if _is_real(form, last) or any(_is_real(output_form, output) for output in outputs):
        return None
    head = [] if count is None else [_number(count)]
    numbers = concatenate([np.empty(0), head, theta, vector(state), rows.vector])
    is_plain = not isinstance(numbers, (Var, Dual))
    if is_plain and not is_open:
        return last, ys
    # In the program the form stays: an int of Python's there becomes no float in another turn.
    form = form._replace(are_pythons=[False] * len(form.shapes))
    output_form = output_form._replace(are_pythons=[False] * len(output_form.shapes))
    n_head, n = len(head), _size(form)

    def turn(shared: Any, state: Any, row: Any) -> tuple[Any, Any]:
        args = call.at(shared[n_head:]), _of_vector(form, state), _of_vector(row_form, row)
        _around.depth += 1
        try:
            new, output = kind.turn(*args)
        finally:
            _around.depth -= 1
        output = checked(output_form, output, "an output", "the first one")
        new = checked(form, new, kind.returned, kind.first)
        if not _are_small((new, output)):
            raise OverflowError(f"{kind.name}: an int is not below {MOST_INT:,}")
        if _is_real(form, new) or _is_real(output_form, output):
            raise _RealError(f"{kind.name}: a number is real that was complex in other turns")
        return vector(new), vector(output)

    def begins(shared: Any, state: Any) -> Any:
        assert kind.begins is not None
        goes_on = kind.begins(call.at(shared[n_head:]), _of_vector(form, state))
        return reshape(as_array(_number(goes_on)), -1)

    sizes = n_head + binding.shape(theta)[0], n, _size(row_form), _size(output_form)
    count_of = rows.n if rows.n else UNTIL if count is None else GIVEN
    runs = (*filter(callable, call.at(binding.plain_values(theta))),)
    loop: AnyLoop = Loop(kind.name, turn, kind.begins and begins, sizes, count_of, runs)
    if n == 0 and rows.n >= FEWEST:
        loop = Apart(loop, Loop(kind.name, turn, None, sizes, 1, runs))
    point = binding.plain_values(numbers)
    if is_open:
        try:
            value, is_changed = call.notes.run_apart(lambda: loop.value(point))
        except _RealError:
            return None
        if is_changed:  # in a later turn
            return None
        last = _of_vector(form, value[:n])
        ys = _of_rows(output_form, value[n:], rows.n)
        if is_plain:
            return last, ys
    else:
        leaves, tree = binding.flattened(ys, pairs=True)
        value = np.concatenate([vector(last), Rows(tree, leaves, rows.n).vector])
    loop.know(point, value)
    results = keep(numbers, loop=loop)
    ends = zip(places(form.shapes), form.shapes, strict=True)
    states = (reshape(results[i], shape) if shape else results[i.start] for (i, _), shape in ends)
    if not _size(output_form):
        return _filled(states, last), ys
    return _filled(states, last), _filled(_columns(output_form, results[n:], rows.n), ys)


def _is_real(form: Form, item: Any) -> bool:
    """Whether a number in it is real that is complex in a form."""
    return len(binding.flattened(item, pairs=True)[0]) < len(form.shapes)


def _columns(form: Form, numbers: Any, n: int) -> Iterator[Any]:
    """The arrays of outputs of n turns, whose numbers stand in a row for each."""
    matrix = reshape(numbers, (n, -1))
    for place, shape in places(form.shapes):
        yield reshape(matrix[:, place], (n, *shape))


def _of_rows(form: Form, numbers: Any, n: int) -> Any:
    """The same of plain numbers, in their containers."""
    columns = _columns(form, numbers, n) if _size(form) else ()
    return form.tree.fill(x.astype(d) for x, d in zip(columns, form.dtypes, strict=True))


def mapped(f: Function, args: Any, kwargs: Any, given: _mapped.Rows, is_long: bool) -> Any:
    """What f gives for all rows, along a new first axis, as one step; None if it cannot be one.

    It is one if f has loops or branches of its own, or is long.
    """
    makes_steps = has_steps()
    if given.layout.n < FEWEST or not (makes_steps or SERVED.loops):
        return None
    leaves, tree = binding.flattened((args, kwargs), None, True)
    axes = given.layout.axes
    shared = tuple(x if axis is None else None for x, axis in zip(leaves, axes, strict=True))

    def turn(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
        f, shared = functions
        own = (np.array(x)[()] if is_plain(x) else x for x in row)  # NumPy's, and its own
        pairs = zip(shared, axes, strict=True)
        args, kwargs = tree.fill(x if axis is None else next(own) for x, axis in pairs)
        return state, f(*args, **kwargs)

    rows = Rows(binding.flattened([*given.columns])[1], given.columns, given.layout.n)
    kind = Kind("vmap", "", "", turn, needs_loops=not is_long, is_map=True)
    try:
        run = as_a_step if makes_steps else _as_served
        result = run(kind, (f, shared), None, rows, None)
    except Exception:  # f itself raises what there is to raise
        return None
    return result and result[1]
