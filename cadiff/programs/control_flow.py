"""Loops and branches as `jax.lax` has them: `scan`, `fori_loop`, `while_loop`, `cond`, `switch`.

Where nothing is recorded for a program they are what they look like in Python, and are
differentiated like that. In a program they are steps (`kept_loops.py`): each call finds for
itself how many turns there are, or which branch.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import Container
from ..operations.arrays import as_array
from ..operations.replayed import Replayed
from ..transforms._base import Function, answering, check_function, is_int
from ..transforms._mapped import NUMBERS, Form
from ..transforms._outputs import is_vector
from .kept_loops import (
    NO_ROWS,
    Kind,
    Rows,
    as_a_step,
    checked,
    described,
    may_be_a_step,
    plain_of,
    run_loop,
    truth,
)
from .loop_steps import RAN, SERVED

# --- what users call -----------------------------------------------------------------------------


def _turn_of_scan(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    pair = functions[0](state, row)
    if type(pair) is not tuple or len(pair) != 2:
        raise TypeError(f"f returns a pair (carry, y), (carry, None) for no y, not {pair!r}")
    return pair


_SCAN = Kind("scan", "init", "the carry that f returned", _turn_of_scan, is_counted=True)


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
            raise TypeError(f"xs consists of arrays, with a row for each turn, not {described(x)}")
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
    carry, ys = run_loop(_SCAN, (f,), init, Rows(tree, arrays, n))
    return carry, binding.map_leaves(lambda y: y[::-1], ys) if reverse else ys


def _is_row(container: Container, parts: tuple[Any, ...]) -> bool:
    """Whether a container is a list of numbers, which is one leaf."""
    return not container.beside and is_vector(container, parts)


def _none_of(f: Function, init: Any, x: Any) -> Any:
    """The outputs of no turns: arrays of the shapes that f gives for ones."""
    with binding.OutsideDifferentiation():
        form = Form.of(f(plain_of(init), x)[1])
    pairs = zip(form.shapes, form.dtypes, strict=True)
    return form.tree.fill(np.empty((0, *shape), dtype) for shape, dtype in pairs)


def _turn_of_while(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    return functions[1](state), None


def _begins(functions: Any, state: Any) -> Any:
    return truth(functions[0](state), "what cond_fun returned")


_WHILE = Kind("while_loop", "init_val", "what body_fun returned", _turn_of_while, _begins)


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
    if may_be_a_step() or SERVED.loops:
        return run_loop(_WHILE, (cond_fun, body_fun), init_val, NO_ROWS)[0]
    form = Form.of(init_val, "init_val")
    while truth(cond_fun(init_val), "what cond_fun returned"):
        init_val = checked(form, body_fun(init_val), "what body_fun returned", "init_val")
    return init_val


def _turn_of_fori(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    i, value = state
    return (i + 1, functions[0](i, value)), None


_FORI = Kind(
    *("fori_loop", "(lower, init_val)", "(i, what body_fun returned)", _turn_of_fori),
    is_counted=True,
)


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
            raise TypeError(f"{name} is an int, not {described(bound)}")
    if may_be_a_step() or SERVED.loops:
        return run_loop(_FORI, (body_fun,), (lower, init_val), NO_ROWS, upper - lower)[0][1]
    i, value, form = lower, init_val, Form.of(init_val, "init_val")
    for _ in range(upper - lower):
        value = checked(form, body_fun(i, value), "what body_fun returned", "init_val")
        i = i + 1
    return value


def _turn_of_branch(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """That of the number that the state begins with; it goes on unchanged, and nobody reads it."""
    k, operands = state
    return state, functions[_bounded(int(k), functions)](*operands)


def _turn_of_asked(functions: Any, state: Any, row: Any) -> tuple[Any, Any]:
    pred, *branches = functions
    return state, branches[not truth(pred(), "what pred returned")](*state)


def _bounded(k: int, branches: Any) -> int:
    return max(0, min(k, len(branches) - 1))


_BRANCH = Kind("a branch", "the operands", "", _turn_of_branch)
_ASKED = Kind("a branch", "the operands", "", _turn_of_asked)
_ONE_ROW = Rows(NO_ROWS.tree, [], 1)


def _branch(kind: Kind, functions: tuple[Function, ...], state: Any) -> Any:
    """What a branch gives: a loop of one turn, of which the output is all that is wanted."""
    are_numbers = all(isinstance(leaf, NUMBERS) for leaf in binding.flattened(state)[0])
    if are_numbers and may_be_a_step():
        result = as_a_step(kind, functions, state, _ONE_ROW, None)
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
    return (true_fun if truth(pred, "pred") else false_fun)(*operands)


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
        raise TypeError(f"index is an int, not {described(index)}")
    if isinstance(index, Replayed) and not index.is_plain:
        return _branch(_BRANCH, tuple(branches), (index, operands))
    RAN.n += type(index) is not int
    return branches[_bounded(int(index), branches)](*operands)
