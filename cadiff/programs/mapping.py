"""`vmap`: a function of one row, mapped over all rows of its arguments.

A program computes the rows that it serves; the function computes all others, one after the other.
Within another derivative all rows that a program serves are one operation. Its derivatives are
mapped functions in their turn.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, overload
from weakref import WeakKeyDictionary

import numpy as np

from .. import binding
from ..binding import is_eager
from ..operations.arrays import sum as total_of
from ..operations.primitives import primitive
from ..transforms import jvp, vjp
from ..transforms._base import Function, P, Transform, answering, is_int
from ..transforms._mapped import Axes, Form, Layout, Rows, check_axes, is_plain, stacked
from .rows import Computed, Root, RowProgram, Vectors, matrix_of

MOST_LAYOUTS = 64  # of which programs are kept
MOST_FORMS = 256  # of calls that are known
MOST_BYTES = 1 << 20  # in arrays of the closure of a function that others may take the place of
MOST_ENTRIES = 50_000  # of all rows, above which a program has them as one step
MOST_NUMBERS = 1 << 22  # of derivatives by what rows share, at the same time


class Mapped(Transform):
    def __init__(
        self, function: Function, in_axes: Axes, out_axes: Axes = 0, known: Known | None = None
    ) -> None:
        super().__init__("vmap", function)
        if isinstance(in_axes, list):
            in_axes = tuple(in_axes)
        if not (in_axes is None or isinstance(in_axes, tuple) or is_int(in_axes)):
            raise TypeError(
                "in_axes is an int, None, or a tuple with an entry for each positional argument, "
                f"not {in_axes!r}; to map f, call what is returned: vmap(f)(X)"
            )
        check_axes("in_axes", in_axes)
        check_axes("out_axes", out_axes)
        self._in_axes = in_axes
        self._out_axes = out_axes
        self._axes_key = binding.key_of(in_axes)
        self._root = Root(function, stays=known is not None)
        self._known = _known_of(self._root.function) if known is None else known

    @property
    def settings(self) -> tuple[Any, ...]:
        return *super().settings, binding.key_of((self._in_axes, self._out_axes))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": Known()}  # programs are those of a process

    def __repr__(self) -> str:
        name = getattr(self._function, "__qualname__", repr(self._function))
        axes = f"in_axes={self._in_axes!r}, out_axes={self._out_axes!r}"
        return f"<cadiff.vmap of {name}, {axes}>"

    def clear(self) -> None:
        """Forget what was recorded: see `Program.clear`."""
        self._known.vectors.clear()
        self._known.programs.clear()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        is_plain = not is_eager(args, kwargs)
        if self._root.f is not self._function:  # but that of what this one was made from
            self._root = Root(self._function)
            self._known = _known_of(self._root.function)
        leaves: list[Any] = []
        key = self._axes_key, self._root.key, binding.form_of((args, kwargs), leaves)
        vectors = self._known.vectors.get(key)
        if vectors is None:
            vectors = self._vectors(key, args, kwargs, leaves)
        rows = Rows(vectors.layout, leaves, args, kwargs)
        if rows.layout.n == 0:
            return self._of_none(rows)
        if vectors.are_taken and (
            is_plain or (binding.takes_entries() and not binding.is_guarding())
        ):
            root = self._root
            computed = vectors.program.run(vectors, rows if is_plain else rows.plain(), root)
            if computed is not None:
                numbers = None if is_plain else _differentiable(computed, vectors, rows, root)
                return self._completed(rows, computed, computed.columns(numbers))
        entries = binding.tape_usage()["entries"]
        if (as_step := self._as_step(rows, args, kwargs, False)) is not None:
            return as_step
        f, parts = self._function, rows.parts()
        results = [rows.run(f, next(parts))]
        entries = binding.tape_usage()["entries"] - entries
        is_long = entries * rows.layout.n > MOST_ENTRIES
        if is_long and (as_step := self._as_step(rows, args, kwargs, True)) is not None:
            return as_step
        results += [rows.run(f, part) for part in parts]
        form = Form.of(results[0])
        columns = map(stacked, form.columns(results, range(len(results))))
        return form.put_together([*columns], self._out_axes)

    def _as_step(self, rows: Rows, args: Any, kwargs: Any, is_long: bool) -> Any:
        """The result as one step of a program; None if it is none, or cannot be one."""
        if not binding.is_guarding():
            return None
        from .kept_loops import mapped

        found = mapped(self._function, args, kwargs, rows, is_long)
        if found is None:
            return None
        leaves, tree = binding.flattened(found)
        return Form(tree, [], [], []).put_together(leaves, self._out_axes)

    def _vectors(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]
    ) -> Vectors:
        """Where the numbers of calls of a form stand, whose key was not known."""
        names = binding.argument_names(self._function, len(args))
        layout = Layout(names, args, kwargs, self._in_axes)
        tree = binding.flattened((args, kwargs), None, True)[1]
        vectors, known = Vectors(layout, tree, leaves, self._root), self._known
        if len(known.vectors) >= MOST_FORMS:
            known.vectors.clear()
        if vectors.are_taken:
            program = RowProgram(vectors.function(tree, self._root), self._root)
            vectors.program = known.programs.setdefault(vectors.key, program)
            if len(known.programs) > MOST_LAYOUTS:
                self.clear()
        known.vectors[key] = vectors
        return vectors

    def _of_none(self, rows: Rows) -> Any:
        """The result for no rows: arrays of the shapes that the function returns for ones."""
        args, kwargs = rows.sample()
        try:
            form = Form.of(self._function(*args, **kwargs))
        except Exception as error:
            if hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(
                    "vmap has no rows here: f was run on ones, for the shapes of results"
                )
            raise
        columns = [
            np.empty((0, *shape), dtype)
            for shape, dtype in zip(form.shapes, form.dtypes, strict=True)
        ]
        return form.put_together(columns, self._out_axes)

    def _completed(self, rows: Rows, computed: Computed, columns: list[Any]) -> Any:
        """The result, of which `columns` has the rows that a program has computed."""
        if len(computed.rest) > 0:
            left = computed.form.columns(rows.each(self._function, computed.rest), computed.rest)
            both = zip(columns, left, strict=True)
            columns = [_merged(computed, column, others) for column, others in both]
        return computed.form.put_together(columns, self._out_axes)


class Known:
    """Forms and programs of the calls of a mapped function, but nothing of its state."""

    def __init__(self) -> None:
        self.vectors: dict[Any, Vectors] = {}  # by their forms
        self.programs: dict[Any, RowProgram] = {}  # by their layouts


# By the code of functions: one that is made anew for each call is not recorded anew.
_KNOWN: WeakKeyDictionary[CodeType, Known] = WeakKeyDictionary()


def _known_of(function: Any) -> Known:
    """What is known of all functions of its code, or what will be of this one alone.

    Recordings keep what a closure holds, so that of few functions it may be much.
    """
    if type(function) is not FunctionType or _is_heavy(function):
        return Known()
    return _KNOWN.setdefault(function.__code__, Known())


def _is_heavy(function: FunctionType) -> bool:
    """Whether the closure of a function holds large arrays, or what is not there yet."""
    try:
        leaves, _ = binding.flattened([cell.cell_contents for cell in function.__closure__ or ()])
    except Exception:  # of a cell that is empty, of containers that are endless
        return True
    return sum(leaf.nbytes for leaf in leaves if isinstance(leaf, np.ndarray)) > MOST_BYTES


def _merged(computed: Computed, column: Any, others: list[Any]) -> Any:
    """All rows in order: those that were computed, and the others."""
    n = computed.n
    if is_plain(column) and all(map(is_plain, others)):
        left = stacked(others)
        merged = np.empty((n, *column.shape[1:]), np.result_type(column, left))
        merged[computed.served], merged[computed.rest] = column, left
        return merged
    parts: list[Any] = [None] * n
    for i, part in zip((*computed.served, *computed.rest), (*column, *others), strict=True):
        parts[i] = part
    return stacked(parts)


# --- derivatives of rows ---------------------------------------------------------------------


def _differentiable(computed: Computed, vectors: Vectors, rows: Rows, root: Root) -> Any:
    """The numbers that a program has computed, as a function of what they depend on."""
    points = vectors.points(rows)
    points = points[computed.served] if len(computed.rest) else points
    shared, *statics = vectors.given(rows, root)
    values = matrix_of(computed.results)[computed.served]

    def mapped(is_push: bool, k: int) -> Mapped:
        return _derivative(vectors.program, is_push, k, 1 + len(statics))

    @primitive
    def vmap(points: Any, shared: Any) -> Any:
        return values

    vmap.defvjp(
        lambda ans, p, s: lambda g: mapped(False, 0)(p, g, s, *statics),
        lambda ans, p, s: lambda g: _summed(mapped(False, 1), p, g, s, statics),
    )
    vmap.defjvp(
        lambda g, ans, p, s: mapped(True, 0)(p, g, s, *statics),
        lambda g, ans, p, s: mapped(True, 1)(p, g, s, *statics),
    )
    return vmap(points, shared)


def _derivative(program: RowProgram, is_push: bool, k: int, n_given: int) -> Mapped:
    """The derivative of the function of a row by its k-th argument, mapped over rows.

    It takes what it is along, or the cotangent, behind the point.
    """
    mapped: Mapped | None = program.derivatives.get((is_push, k))
    if mapped is not None:
        return mapped
    row = program.of_row

    def derivative(point: Any, g: Any, *others: Any) -> Any:
        args = (point, *others)

        def by_one(x: Any) -> Any:
            return row(*args[:k], x, *args[k + 1 :])

        return jvp(by_one, (args[k],), (g,))[1] if is_push else vjp(by_one, args[k])[1](g)

    axes = (0, None if is_push and k == 1 else 0, *(None,) * n_given)
    mapped = program.derivatives[is_push, k] = Mapped(derivative, axes, known=Known())
    return mapped


def _summed(pull: Mapped, points: Any, g: Any, shared: Any, statics: list[Any]) -> Any:
    """The cotangent of what rows share: the sum of those that each row has."""
    if binding.carries((points, g, shared)):
        return total_of(pull(points, g, shared, *statics), 0)
    total = np.zeros(len(shared))
    step = max(MOST_NUMBERS // max(len(shared), 1), 1)
    for begin in range(0, len(points), step):
        part = slice(begin, begin + step)
        total += pull(points[part], g[part], shared, *statics).sum(axis=0)
    return total


@overload  # which may be called with arrays, beside the numbers that its first signature has
def vmap(f: np.ufunc, in_axes: Axes = ..., out_axes: Axes = ...) -> Callable[..., Any]: ...
@overload
def vmap(f: Callable[P, Any], in_axes: Axes = ..., out_axes: Axes = ...) -> Callable[P, Any]: ...
@answering
def vmap(f: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """A function of one row, mapped over all rows of its arguments, as `jax.vmap`.

    `vmap(f)(X, y)` is `np.stack([f(x, t) for x, t in zip(X, y)])`, mostly at the speed of C, with
    derivatives of all orders and modes. It nests with itself, with the gradient functions
    (`vmap(grad(loss), (None, 0, 0))` has a gradient for each example) and with `compile`.

    Parameters
    ----------
    f : callable
        Takes a row of each argument: the argument without the axis that it is mapped over, of a
        vector a NumPy scalar. Returns numbers, arrays, or containers of them, of one structure and
        of the same shapes for all rows. It may write into its rows, which are copies, but not into
        what rows share.
    in_axes : int, None, or tuple
        The axis along which the rows of the arguments stand; None for what all rows share. A tuple
        has an entry for each positional argument; an entry for a container may be a container of
        ints and None itself, as deep as need be. Keyword arguments are mapped over axis 0.
    out_axes : int, None, or container
        The axis along which rows stand in the results; as deep as need be, too. None for what is
        the same for all rows, which is returned once.

    Returns
    -------
    callable
        Called like f. It returns the containers that f does, with an array for each number or
        array in them, which has one axis more. What does not depend on the row is repeated.
        `clear()` forgets what was recorded.

    Raises
    ------
    TypeError
        If something without axes is to be mapped over, or f returns something else than numbers.
    ValueError
        If the sizes of the axes differ, or one does not exist, or there is none; if what f returns
        has another structure or other shapes for one row than for the first.

    Notes
    -----
    From the 256th row of a closure on f is recorded as by `compile`, once for each way in which it
    branches: rows are computed in C, by several threads. A recording is used if it gives what f
    gives, but for rounding, on two of its rows. All other rows are computed by f, one after the
    other: those of more branches than a program has recordings, and all rows of functions that
    draw random numbers, use the module `math`, or work on large arrays. So f runs once for each
    row, or less often, or up to some times more; what it prints, counts or keeps should not
    matter. What it reads beside its arguments is watched, but for what `compile` says: after a
    change of a file, for example, call `clear()`.

    Within a function that is compiled itself, f is run for each row when that is recorded; if
    there are loops such as `while_loop` in it, or branches, eight rows and more are one step.
    Where there are no rows, f is run once, on rows of ones, for the shapes of its results.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> def price(spot, strike):
    ...     return spot - strike if spot > strike else 0.0
    >>> cadiff.vmap(price, (0, None))(np.array([90.0, 100.0, 110.0]), 95.0)
    array([ 0.,  5., 15.])
    >>> loss = lambda w, x, y: (x @ w - y) ** 2
    >>> X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0])
    >>> cadiff.vmap(cadiff.grad(loss), (None, 0, 0))(np.ones(2), X, y)
    array([[ 4.,  8.],
           [36., 48.]])
    """
    return Mapped(f, in_axes, out_axes)
