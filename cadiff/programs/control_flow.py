"""Loops and branches as `jax.lax` has them: `scan`, `fori_loop`, `while_loop`, `cond`, `switch`.

Where nothing is recorded for a program they are what they look like in Python, and are
differentiated like that. In a program they are steps (`kept.py`): each call finds for itself how
many turns there are, or which branch.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import Container, Dual, Tree, Var
from ..operations.arrays import as_array, concatenate, reshape
from ..operations.making import chooses_anew
from ..operations.replayed import Replayed, kind_of
from ..operations.scalars import MOST_INT, anew
from ..transforms import _mapped
from ..transforms._base import Function, answering, check_function, is_int
from ..transforms._closed import Closed
from ..transforms._mapped import FLOAT, NUMBERS, Form, dtype_of, is_plain, stacked
from ..transforms._outputs import Shape, is_vector, places
from .kept import FEWEST, Loop
from .loop_steps import GIVEN, RAN, UNTIL, AnyLoop, Apart, keep
from .rows import Piece

MOST_IN_PYTHON = 16  # turns, at a recording; then they are recorded themselves

_INT = np.dtype(np.int64)
_END = object()
# Types of NumPy's whose numbers are Python's own.
_OF_PYTHON: tuple[type[np.generic], ...] = (np.float64, np.int64, np.bool_)

# --- what goes round -----------------------------------------------------------------------------


def _checked(form: Form, item: Any, name: str, what: str) -> Any:
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
            f"{path} is {_described(leaf)}, where {what} has {_named(shape, dtype)}: turns "
            "keep shape and dtype; begin with those that it gets, or convert it"
        )
    return form.tree.fill(part for _, part in parts) if is_changed else item


def _may_be_kept(form: Form) -> bool:
    """Whether a program can have such numbers as floats."""
    are_real = not form.tree.imaginary()
    return are_real and all(d.kind in "bi" or d == FLOAT for d in form.dtypes)


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


def _described(leaf: Any) -> str:
    if not isinstance(leaf, NUMBERS):
        return f"a {type(leaf).__name__}"
    return _named(binding.shape(leaf), dtype_of(leaf))


def _named(shape: Shape, dtype: np.dtype[Any]) -> str:
    return f"an array of shape {shape}, {dtype}" if shape else f"a number, {dtype}"


def _vector(item: Any) -> Any:
    """All numbers of containers in a row."""
    leaves, _ = binding.flattened(item, pairs=True)
    parts = map(_number, leaves)
    return concatenate([np.empty(0), *(reshape(as_array(part), -1) for part in parts)])


def _plain(item: Any) -> Any:
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


def _truth(x: Any, name: str) -> Any:
    """A bool, or what stands for one and is not read yet."""
    if x is True or x is False:
        return x
    if not isinstance(x, NUMBERS) or math.prod(binding.shape(x)) != 1:
        raise TypeError(f"{name} is one truth value, not {_described(x)}")
    return x if isinstance(x, Replayed) and kind_of(x._plain) == "b" else bool(x)


# --- turns ---------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """What one turn is.

    `turn(functions, state, row)` gives the next state and an output; `begins(functions, state)`,
    where turns tell, whether there is a turn.
    """

    name: str
    first: str  # what the first state is called
    returned: str  # and what turns make of it
    turn: Callable[[Any, Any, Any], tuple[Any, Any]]
    begins: Callable[[Any, Any], Any] | None = None
    is_map: bool = False  # a step only if loops or branches run in it


class _NoStepError(Exception):
    """What is mapped over rows has no loops in it."""


class _Rows:
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

    def plain(self) -> _Rows:
        return _Rows(self.tree, _plain(self.arrays), self.n)

    @property
    def vector(self) -> Any:
        """All numbers, those of each turn in a row."""
        parts = [reshape(as_array(_number(x)), (self.n, -1)) for x in self.arrays]
        if self.n == 0 or not parts:
            return np.empty(0)
        return reshape(concatenate(parts, axis=1), -1)


def _is_of_numbers(x: Any) -> bool:
    """Whether items of an array are numbers of Python's, with which Python computes fastest."""
    return type(x) is np.ndarray and x.ndim == 1 and x.dtype.kind in "bif" and x.itemsize in (1, 8)


def _in_python(
    kind: _Kind, functions: Any, state: Any, rows: Iterable[Any]
) -> tuple[Form, Any, list[Any], bool]:
    """The form of the state, the last one, the outputs of turns, and whether they go on."""
    form = Form.of(state, kind.first)
    outputs: list[Any] = []
    goes_on = kind.begins is None or kind.begins(functions, state)
    if goes_on:
        for row in rows:
            new, output = kind.turn(functions, state, row)
            state = _checked(form, new, kind.returned, kind.first)
            if output is not None:
                outputs.append(output)
            if kind.begins is not None and not kind.begins(functions, state):
                break
    return form, state, outputs, goes_on


def _stacked(outputs: list[Any], n: int) -> Any:
    """Outputs of n turns, along a new first axis."""
    if not outputs:
        return None
    if len(outputs) < n:
        raise ValueError(f"f returns no y in some turns, and one in {len(outputs)}")
    form = Form.of(outputs[0])
    columns = form.columns(outputs, range(len(outputs)), "turn")
    return form.tree.fill(map(stacked, columns))


def _run(
    kind: _Kind, functions: tuple[Function, ...], state: Any, rows: _Rows, count: Any = None
) -> tuple[Any, Any]:
    """The last state, and the outputs of all turns, stacked; None if there are none.

    count: how many turns there are without rows, or None: turns tell.
    """
    if _may_be_a_step():
        result = _as_a_step(kind, functions, state, rows, count)
        if result is not None:
            return result
    _, state, outputs, _ = _in_python(kind, functions, state, rows.each(count))
    return state, _stacked(outputs, rows.n)


def _may_be_a_step() -> bool:
    """Whether a loop or a branch, which is noted to run, may be a step."""
    RAN.n += 1
    return _has_steps()


def _has_steps() -> bool:
    if not (binding.is_guarding() and chooses_anew()):
        return False
    return binding.guards_serial() != getattr(_plainly, "serial", None)


# Of the recording for which a thread runs a loop on plain numbers: loops within are Python's.
_plainly = threading.local()


def _as_a_step(
    kind: _Kind, functions: tuple[Any, ...], state: Any, rows: _Rows, count: Any
) -> tuple[Any, Any] | None:
    """The same as a step of a program; None: it cannot be one.

    Python runs its first turns, on plain numbers, and with copies of what the functions may
    change. From these it is known what goes round; further ones are run as in replays.
    """
    found = Closed(functions)
    theta, call = found.theta, found.detached()
    at, plain_rows = _plain(state), rows.plain()
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
                each = plain_rows.each(_plain(count))
                most = 1 if kind.is_map else MOST_IN_PYTHON
                found = _in_python(kind, functions, at, islice(each, most))
                if kind.is_map and RAN.n == before:
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
        _checked(output_form, output, "an output", "the first one")
    if binding.carries((last, ys)) or not (_may_be_kept(form) and _may_be_kept(output_form)):
        return None
    if not _are_small((at, plain_rows.arrays, last, outputs)):
        return None
    head = [] if count is None else [_number(count)]
    numbers = concatenate([np.empty(0), head, theta, _vector(state), rows.vector])
    is_plain = not isinstance(numbers, (Var, Dual))
    if is_plain and not is_open:
        return last, ys
    # In the program the form stays: an int of Python's there becomes no float in another turn.
    form = form._replace(are_pythons=[False] * len(form.shapes))
    output_form = output_form._replace(are_pythons=[False] * len(output_form.shapes))
    n_head, n = len(head), _size(form)

    def turn(shared: Any, state: Any, row: Any) -> tuple[Any, Any]:
        args = call.at(shared[n_head:]), _of_vector(form, state), _of_vector(row_form, row)
        new, output = kind.turn(*args)
        output = _checked(output_form, output, "an output", "the first one")
        new = _checked(form, new, kind.returned, kind.first)
        if not _are_small((new, output)):
            raise OverflowError(f"{kind.name}: an int is not below {MOST_INT:,}")
        return _vector(new), _vector(output)

    def begins(shared: Any, state: Any) -> Any:
        assert kind.begins is not None
        truth = kind.begins(call.at(shared[n_head:]), _of_vector(form, state))
        return reshape(as_array(_number(truth)), -1)

    sizes = n_head + binding.shape(theta)[0], n, _size(row_form), _size(output_form)
    count_of = rows.n if rows.n else UNTIL if count is None else GIVEN
    runs = (*filter(callable, call.at(binding.plain_values(theta))),)
    loop: AnyLoop = Loop(kind.name, turn, kind.begins and begins, sizes, count_of, runs)
    if n == 0 and rows.n >= FEWEST:
        loop = Apart(loop, Loop(kind.name, turn, None, sizes, 1, runs))
    point = binding.plain_values(numbers)
    if is_open:
        value = loop.value(point)
        last = _of_vector(form, value[:n])
        ys = _of_rows(output_form, value[n:], rows.n)
        if is_plain:
            return last, ys
    else:
        leaves, tree = binding.flattened(ys, pairs=True)
        value = np.concatenate([_vector(last), _Rows(tree, leaves, rows.n).vector])
    loop.know(point, value)
    results = keep(numbers, loop=loop)
    ends = zip(places(form.shapes), form.shapes, strict=True)
    states = (reshape(results[i], shape) if shape else results[i.start] for (i, _), shape in ends)
    if not _size(output_form):
        return _filled(states, last), ys
    return _filled(states, last), _filled(_columns(output_form, results[n:], rows.n), ys)


def _columns(form: Form, numbers: Any, n: int) -> Iterator[Any]:
    """The arrays of outputs of n turns, whose numbers stand in a row for each."""
    matrix = reshape(numbers, (n, -1))
    for place, shape in places(form.shapes):
        yield reshape(matrix[:, place], (n, *shape))


def _of_rows(form: Form, numbers: Any, n: int) -> Any:
    """The same of plain numbers, in their containers."""
    columns = _columns(form, numbers, n) if _size(form) else ()
    return form.tree.fill(x.astype(d) for x, d in zip(columns, form.dtypes, strict=True))


def mapped(f: Function, args: Any, kwargs: Any, given: _mapped.Rows) -> Any:
    """What f gives for all rows, along a new first axis, as one step; None if it cannot be one.

    It is one if f has loops or branches of its own.
    """
    if given.layout.n < FEWEST or not _has_steps():
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

    rows = _Rows(binding.flattened([*given.columns])[1], given.columns, given.layout.n)
    kind = _Kind("vmap", "", "", turn, is_map=True)
    try:
        result = _as_a_step(kind, (f, shared), None, rows, None)
    except Exception:  # f itself raises what there is to raise
        return None
    return result and result[1]


# --- what users call -----------------------------------------------------------------------------


def _turn_of_scan(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    pair = functions[0](state, row)
    if type(pair) is not tuple or len(pair) != 2:
        raise TypeError(f"f returns a pair (carry, y), (carry, None) for no y, not {pair!r}")
    return pair


_SCAN = _Kind("scan", "init", "the carry that f returned", _turn_of_scan)


@answering
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each x, as `jax.lax.scan`: a loop that keeps what turns give.

    In a program it is one step, whatever the number of turns: its derivatives, too.

    Parameters
    ----------
    f : callable
        `f(carry, x)` returns the next carry, of the structure, shapes and dtypes of `init`, and an
        output y: numbers, arrays, containers of them, or None.
    init : number, array, or container of them
        The first carry.
    xs : array, or container of them, optional
        Of shape (n, ...): x has the same containers, with arrays of shape (...). Without it, x is
        None.
    length : int, optional
        The number of turns, if there are no xs.
    reverse : bool
        Begin with the last x. ys stand where their x do.

    Returns
    -------
    carry
        The last one.
    ys
        As y, with arrays of shape (n, ...).

    Raises
    ------
    TypeError
        If f returns no pair, or a carry of another structure, shape or dtype than the first.
    ValueError
        If arrays of xs differ in their lengths, or outputs from turn to turn.

    See Also
    --------
    checkpoint_scan : in little memory, outside of programs.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> def running(total, x):
    ...     return total + x, total * x
    >>> cadiff.scan(running, 0.0, np.array([1.0, 2.0, 3.0]))
    (6.0, array([0., 2., 9.]))
    """
    check_function("scan", f)
    leaves, tree = binding.flattened(xs, _is_row)
    arrays = [as_array(x) if isinstance(x, (list, tuple)) else x for x in leaves]
    lengths: dict[int, None] = {}
    for x in arrays:
        if not isinstance(x, NUMBERS) or not binding.shape(x):
            raise TypeError(
                f"xs consists of arrays, with a row for each turn, not {_described(x)}"
            )
        lengths[binding.shape(x)[0]] = None
    if not arrays and length is None:
        raise TypeError("without xs, length is the number of turns: scan(f, init, length=n)")
    if length is not None:
        lengths[operator.index(length)] = None
    if len(lengths) != 1:
        raise ValueError(f"xs and length say how many turns there are: {[*lengths]} differ")
    (n,) = lengths
    if n < 0:
        raise ValueError(f"length is the number of turns, 0 or more, not {n}")
    if reverse:
        arrays = [x[::-1] for x in arrays]
    if n == 0:
        return init, _none_of(f, init, tree.fill([np.ones(binding.shape(x)[1:]) for x in arrays]))
    carry, ys = _run(_SCAN, (f,), init, _Rows(tree, arrays, n))
    return carry, binding.map_leaves(lambda y: y[::-1], ys) if reverse else ys


def _is_row(container: Container, parts: tuple[Any, ...]) -> bool:
    """Whether a container is a list of numbers, which is one leaf."""
    return not container.beside and is_vector(container, parts)


def _none_of(f: Function, init: Any, x: Any) -> Any:
    """The outputs of no turns: arrays of the shapes that f gives for ones."""
    with binding.OutsideDifferentiation():
        form = Form.of(f(_plain(init), x)[1])
    pairs = zip(form.shapes, form.dtypes, strict=True)
    return form.tree.fill(np.empty((0, *shape), dtype) for shape, dtype in pairs)


def _turn_of_while(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    return functions[1](state), None


def _begins(functions: Any, state: Any) -> Any:
    return _truth(functions[0](state), "what cond_fun returned")


_WHILE = _Kind("while_loop", "init_val", "what body_fun returned", _turn_of_while, _begins)


@answering
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """`val = body_fun(val)` while `cond_fun(val)`, as `jax.lax.while_loop`.

    In a program it is one step: each call finds its own number of turns. It has derivatives of
    all orders, in forward and in reverse mode.

    Parameters
    ----------
    cond_fun : callable
        Of the value; returns whether there is another turn.
    body_fun : callable
        Of the value; returns the next one, of the structure, shapes and dtypes of `init_val`.
    init_val : number, array, or container of them
        The first value, and the last one if there are no turns.

    Returns
    -------
    The last value, of which `cond_fun` is false.

    Raises
    ------
    TypeError
        If `body_fun` returns another structure, shape or dtype than the first, or `cond_fun`
        something else than one truth value.

    Notes
    -----
    The derivative is that of the turns that are made, as of any loop: of Newton's method it has
    converged when the value has, one turn later. For what an equation defines, `root` has the
    derivative of the solution, at the price of one turn.

    In reverse mode values of all turns are kept, up to 64 MB; beyond, turns are run again.

    Examples
    --------
    >>> import cadiff
    >>> def cube_root(a):
    ...     step = lambda x: x - (x**3 - a) / (3.0 * x**2)
    ...     return cadiff.while_loop(lambda x: abs(x**3 - a) > 1e-12 * a, step, a)
    >>> program = cadiff.compile(cube_root)
    >>> round(program(8.0), 9), round(program.grad(8.0), 9), round(program(1e6), 9)
    (2.0, 0.083333333, 100.0)
    >>> program.stats()["recordings"]
    1
    """
    check_function("while_loop", cond_fun)
    check_function("while_loop", body_fun)
    if _may_be_a_step():
        return _run(_WHILE, (cond_fun, body_fun), init_val, _NO_ROWS)[0]
    form = Form.of(init_val, "init_val")
    while _truth(cond_fun(init_val), "what cond_fun returned"):
        init_val = _checked(form, body_fun(init_val), "what body_fun returned", "init_val")
    return init_val


def _turn_of_fori(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    i, value = state
    return (i + 1, functions[0](i, value)), None


_FORI = _Kind("fori_loop", "(lower, init_val)", "(i, what body_fun returned)", _turn_of_fori)
_NO_ROWS = _Rows(binding.flattened(None)[1], [], 0)


@answering
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """`val = body_fun(i, val)` for i from lower to upper - 1, as `jax.lax.fori_loop`.

    In a program it is one step, and lower and upper may be numbers of the call.

    Parameters
    ----------
    lower, upper : int
        The first i, and the one behind the last.
    body_fun : callable
        Returns the next value, of the structure, shapes and dtypes of `init_val`.
    init_val : number, array, or container of them
        The first value, and the last one if there are no turns.

    Returns
    -------
    The last value.

    Raises
    ------
    TypeError
        If `lower` or `upper` is no int, or `body_fun` returns another structure, shape or dtype
        than the first.

    Examples
    --------
    >>> import cadiff
    >>> power = cadiff.compile(lambda x, n: cadiff.fori_loop(0, n, lambda i, y: y * x, 1.0))
    >>> power.grad(2.0, 3), power.grad(2.0, 10)
    (12.0, 5120.0)
    """
    check_function("fori_loop", body_fun)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not is_int(bound):
            raise TypeError(f"{name} is an int, not {_described(bound)}")
    if _may_be_a_step():
        return _run(_FORI, (body_fun,), (lower, init_val), _NO_ROWS, upper - lower)[0][1]
    i, value, form = lower, init_val, Form.of(init_val, "init_val")
    for _ in range(upper - lower):
        value = _checked(form, body_fun(i, value), "what body_fun returned", "init_val")
        i = i + 1
    return value


def _turn_of_branch(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """That of the number that the state begins with; it goes on unchanged, and nobody reads it."""
    k, operands = state
    return state, functions[_bounded(int(k), functions)](*operands)


def _turn_of_asked(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    pred, *branches = functions
    return state, branches[not _truth(pred(), "what pred returned")](*state)


def _bounded(k: int, branches: Any) -> int:
    return max(0, min(k, len(branches) - 1))


_BRANCH = _Kind("a branch", "the operands", "", _turn_of_branch)
_ASKED = _Kind("a branch", "the operands", "", _turn_of_asked)
_ONE_ROW = _Rows(_NO_ROWS.tree, [], 1)


def _branch(kind: _Kind, functions: tuple[Function, ...], state: Any) -> Any:
    """What a branch gives: a loop of one turn, of which the output is all that is wanted."""
    are_numbers = all(isinstance(leaf, NUMBERS) for leaf in binding.flattened(state)[0])
    if are_numbers and _may_be_a_step():
        result = _as_a_step(kind, functions, state, _ONE_ROW, None)
        if result is not None:
            return binding.map_leaves(lambda y: y[0], result[1])
    return kind.turn(functions, state, None)[1]


@answering
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """`true_fun(*operands) if pred else false_fun(*operands)`, as `jax.lax.cond`.

    In a program it is one step: each call finds its own branch.

    Parameters
    ----------
    pred : bool, or callable
        Or a function without arguments that returns it. In a program a comparison of single
        numbers, as in `cond(x > 0.0, ...)`, is made before `cond` is called, so that each
        outcome is another recording; with `cond(lambda: x > 0.0, ...)` there is one.
    true_fun, false_fun : callable
        Return numbers, arrays, or containers of them: in a program of one structure, and of the
        same shapes and dtypes.
    *operands : number, array, or container of them
        What they are called with. They may read other numbers, too.

    Returns
    -------
    What the function that was called returns.

    Raises
    ------
    TypeError
        If `pred` is not one truth value.

    Examples
    --------
    >>> import cadiff
    >>> f = cadiff.compile(lambda x: cadiff.cond(lambda: x > 1.0, cadiff.log, abs, x))
    >>> f.grad(2.0), f.grad(0.5), f.stats()["recordings"]
    (0.5, 1.0, 1)
    """
    check_function("cond", true_fun)
    check_function("cond", false_fun)
    if callable(pred):
        return _branch(_ASKED, (pred, true_fun, false_fun), operands)
    if isinstance(pred, Replayed) and not pred.is_plain and math.prod(binding.shape(pred)) == 1:
        single: Any = pred
        single = single.reshape(()) if binding.shape(pred) else single
        return _branch(_BRANCH, (false_fun, true_fun), (single, operands))
    RAN.n += type(pred) is not bool
    return (true_fun if _truth(pred, "pred") else false_fun)(*operands)


@answering
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`, as `jax.lax.switch`; an index out of bounds is the nearest.

    In a program it is one step: each call finds its own branch, from the index in its arguments.

    Parameters
    ----------
    index : int
        Which one.
    branches : sequence of callables
        Return numbers, arrays, or containers of them: in a program of one structure, and of the
        same shapes and dtypes.
    *operands : number, array, or container of them
        What they are called with. They may read other numbers, too.

    Returns
    -------
    What the function that was called returns.

    Raises
    ------
    TypeError
        If `index` is no int.
    ValueError
        If there are no branches.

    Examples
    --------
    >>> import cadiff
    >>> f = cadiff.compile(lambda k, x: cadiff.switch(k, [cadiff.sin, cadiff.exp], x))
    >>> f.grad(0, 0.0, argnums=1), f.grad(1, 0.0, argnums=1), f.grad(7, 0.0, argnums=1)
    (1.0, 1.0, 1.0)
    """
    for branch in branches:
        check_function("switch", branch)
    if not branches:
        raise ValueError("switch takes one branch at least")
    if not is_int(index):
        raise TypeError(f"index is an int, not {_described(index)}")
    if isinstance(index, Replayed) and not index.is_plain:
        return _branch(_BRANCH, tuple(branches), (index, operands))
    RAN.n += type(index) is not int
    return branches[_bounded(int(index), branches)](*operands)
