"""Rows that a function is mapped over, as points of a program.

A row is one vector, its numbers side by side; what rows share is another vector. A recording is
believed if f, run eagerly on two of the rows, gives the same. So a function that draws at random,
or asks for the types of its arguments, loses the speed of programs and nothing else.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from .. import binding
from ..binding import Call, CallError, Code, Dual, Tree, Var
from ..operations.arrays import as_array, concatenate, reshape
from ..operations.replayed import Replayed
from ..transforms._base import Function, Transform
from ..transforms._mapped import FLOAT, Form, Layout, Rows, dtype_of, is_plain
from ..transforms._outputs import Shape, places, whole
from .batches import Batch, key_of_batch
from .program import Program
from .recorded import FloatArray, Recorded
from .verification import distances, rounding

ENOUGH_ROWS = 256  # so that a recording may be worth its time
MOST_SHARED = 256  # of which it is known how many rows had them
MOST_FAILURES = 4  # calls of which no row was served; then most calls run f at once
PERIOD = 16
MANY = 512  # numbers in an array, from which on loops of NumPy's own are as fast
STEP = 16  # operations of f that take as long as a step of a program that calls Python
LARGEST = 2.0**31  # of integers, of which programs take smaller ones alone

_NOTHING = Call((), {}, ())


# --- rows as vectors -------------------------------------------------------------------------


class Piece(NamedTuple):
    """What a vector has of one leaf: where its numbers stand, and what they are for f."""

    place: slice
    shape: Shape
    dtype: str
    is_own: bool = True  # a row's; else all rows share it

    def of(self, vector: Any) -> Any:
        """As f is to have it; in arrays of floats it may write."""
        dtype = np.dtype(self.dtype)
        part = reshape(vector[self.place], self.shape) if self.shape else vector[self.place.start]
        if dtype.kind != "f":
            part = whole(part, self.shape, dtype)
            return dtype.type(part) if type(part) in (bool, int) else part  # ~True is Python's -2
        return part.copy() if self.shape else part


class Root:
    """A function that is mapped: the one at its root, and the transforms that are applied to it.

    Two of one code are told apart by what a call of a program tells apart in its arguments, of
    which the function at the root is one.
    """

    def __init__(self, f: Function, stays: bool = False) -> None:
        self.f = f
        self._shells = []  # the transforms, of no function
        while isinstance(f, Transform):
            self._shells.append(f.applied_to(None))
            f = f._function
        self.function = f
        self.key = tuple(shell.settings for shell in self._shells)
        program = _asked(f)
        # Whether it stays what it is; else what is in it is looked at in each call.
        self.stays = stays or isinstance(getattr(f, "__self__", f), Program)
        self.threads = None if program is None else program._traces.threads
        self.native = None if program is None else program._traces.machines.native

    def __reduce__(self) -> Any:
        return Root, (self.f, self.stays)

    def applied(self) -> Callable[[Function], Function]:
        """What applies the transforms to another function; it does not hold this one."""
        shells = self._shells

        def apply(function: Function) -> Function:
            for shell in reversed(shells):
                function = shell.applied_to(function)
            return function

        return apply


def _asked(f: Any) -> Program[..., Any] | None:
    """The program that is mapped: itself, or a derivative of it, such as `program.jacobian`."""
    while isinstance(f, functools.partial):
        f = f.func
    f = getattr(f, "__self__", f)
    return f if isinstance(f, Program) else None


class Vectors:
    """Where the numbers of calls of one form stand, of which it holds none.

    Those of each row are side by side in a vector, those that all rows share in another one. What
    else rows share, and the function at the root, are `statics`.
    """

    program: RowProgram  # if programs take such rows

    def __init__(self, layout: Layout, tree: Tree, leaves: Sequence[Any], root: Root) -> None:
        self.layout = layout
        own = [k for k, axis in enumerate(layout.axes) if axis is not None]
        beside = [k for k, axis in enumerate(layout.axes) if axis is None]
        self._numbers = [k for k in beside if _is_number(leaves[k])]
        self._statics = [k for k in beside if not _is_number(leaves[k])]
        self._shapes = [binding.shape(column)[1:] for column in layout.columns(leaves)]
        shared = [binding.shape(leaves[k]) for k in self._numbers]
        self._pieces = {
            k: Piece(place, shape, dtype_of(leaves[k]).str, layout.axes[k] is not None)
            for which, shapes in ((own, self._shapes), (self._numbers, shared))
            for k, (place, shape) in zip(which, places(shapes), strict=True)
        }
        self.are_taken = any(map(prod, self._shapes)) and all(_is_taken(leaves[k]) for k in own)
        # What tells apart calls for which f is another function of vectors.
        pieces = [(k, piece.shape, piece.dtype) for k, piece in self._pieces.items()]
        are_own = [axis is not None for axis in layout.axes]
        self.key = root.key, binding.key_of(tree), (*pieces, *are_own)

    def columns(self, rows: Rows) -> list[FloatArray] | None:
        """What is mapped over, as floats, of which each point has a row in each.

        None if there are integers that programs do not take.
        """
        if not all(map(_are_small, rows.columns)):
            return None
        return [*map(_as_floats, rows.columns)]

    def points(self, rows: Rows) -> Any:
        """Each row in a row."""
        parts = [
            reshape(_as_floats(column), (self.layout.n, prod(shape)))
            for column, shape in zip(rows.columns, self._shapes, strict=True)
        ]
        return parts[0] if len(parts) == 1 else concatenate(parts, axis=1)

    def given(self, rows: Rows, root: Root) -> tuple[Any, ...]:
        """What rows share: a vector of its numbers, and the statics."""
        parts = [reshape(as_array(rows.leaves[k]), -1) for k in self._numbers]
        shared = parts[0] if len(parts) == 1 else concatenate(parts or [np.empty(0)])
        return (shared, *[rows.leaves[k] for k in self._statics], root.function)

    def beside(self, rows: Rows, root: Root) -> Call:
        """The same, taken apart, but for a function that stays what it is."""
        shared = [rows.leaves[k] for k in (*self._numbers, *self._statics)]
        if not root.stays:
            shared.append(root.function)
        return Call((*shared,), {}, ()) if shared else _NOTHING

    def function(self, tree: Tree, root: Root) -> Function:
        """What f is for a row of the points, and for what rows share: it returns a vector.

        `tree` has the containers of all arguments.
        """
        applied = root.applied()
        pieces = tuple(self._pieces.get(k) for k in range(len(self.layout.axes)))

        def row(point: Any, shared: Any, *statics: Any) -> Any:
            rest = iter(statics)
            args, kwargs = tree.fill(
                next(rest) if piece is None else piece.of(point if piece.is_own else shared)
                for piece in pieces
            )
            return _as_vector(applied(statics[-1])(*args, **kwargs))

        return row


_PLAIN = (np.ndarray, np.float64, np.float32, np.float16)


def _is_number(leaf: Any) -> bool:
    """Whether it is among the numbers that rows share."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind == "f" and leaf.dtype.itemsize <= 8 and type(leaf) in _PLAIN
    if isinstance(leaf, (Var, Dual)):
        return leaf.dtype == FLOAT
    return type(leaf) is float


def _is_taken(leaf: Any) -> bool:
    """Whether programs take what is mapped over, as far as its type tells."""
    if isinstance(leaf, (Var, Dual)):
        return leaf.dtype == FLOAT
    return type(leaf) is np.ndarray and leaf.dtype.itemsize <= 8 and leaf.dtype.kind in "iufb"


def _are_small(column: Any) -> bool:
    """Whether integers are of a size that programs take."""
    if column.dtype.kind not in "iu" or column.size == 0:
        return True
    return bool(column.max() < LARGEST and column.min() > -LARGEST)


def _as_floats(leaf: Any) -> Any:
    return leaf.astype(np.float64, copy=False) if isinstance(leaf, np.ndarray) else leaf


def _as_vector(result: Any) -> Any:
    """All numbers of what f returns, in order."""
    leaves, _ = binding.flattened(result)
    parts = [leaf.number if isinstance(leaf, Replayed) else leaf for leaf in leaves]
    return concatenate([reshape(as_array(part), -1) for part in parts])


# --- programs for rows -----------------------------------------------------------------------


class RowProgram:
    """The program for the rows of one layout, and which of its recordings are believed."""

    def __init__(self, of_row: Function, root: Root) -> None:
        self.of_row = of_row
        self.derivatives: dict[tuple[bool, int], Any] = {}  # what was made of `of_row`
        self._options: Any = {"threads": root.threads, "native": root.native, "verify": False}
        self._n_seen: dict[Any, int] = {}  # rows, by what they share, closures among it
        self._n_failures = 0
        self._forms: Forms = WeakKeyDictionary()

    @functools.cached_property
    def _program(self) -> Program[..., Any]:
        # f is asked here, of rows: what their vectors make of f is not f itself.
        program: Program[..., Any] = Program(self.of_row, **self._options)
        program.be_quiet()
        return program

    def _note(self, n: int, shared: Any) -> bool:
        """Note that so many rows are asked for; whether it may be worth its time."""
        if len(self._n_seen) >= MOST_SHARED:
            self._n_seen.clear()
        self._n_seen[shared] = n_seen = self._n_seen.get(shared, 0) + n
        if n_seen < ENOUGH_ROWS:
            return False
        if self._n_failures < MOST_FAILURES:
            return True
        self._n_failures += 1
        return self._n_failures % PERIOD == 0

    def run(self, vectors: Vectors, rows: Rows, root: Root) -> Computed | None:
        """Compute rows without derivatives; those in its `rest` are left. None: all are."""
        columns = vectors.columns(rows)
        if columns is None:
            return None
        n, beside = vectors.layout.n, vectors.beside(rows, root)
        batches = self._program.batches
        key = key_of_batch(n, beside)
        found = batches.again(key, columns, beside.vector(), None)
        if found is not None:
            self._n_failures = 0
            return Computed(found[1], found[0].form, n)
        if not self._note(n, beside.key):
            return None
        batch = MappedBatch(self._forms, columns, vectors.given(rows, root), rows, root.f)
        batch.key = key
        with contextlib.suppress(Exception):  # f itself raises what there is to raise
            batches.run(batch, None)
        if batch.forms and not batch.is_refused:
            self._n_failures = 0
            form = functools.reduce(Form.joined, batch.forms)
            return Computed(batch.results, form, n, batch.rest)
        self._n_failures = max(self._n_failures + 1, MOST_FAILURES if batch.is_refused else 0)
        return None


def pays(recorded: Recorded, code: Code) -> bool:
    """Whether a code for points is faster than f, whose operations are NumPy's."""
    graph = recorded.graph
    n = max(graph.n_recorded, 1)
    alone = sum(not getattr(step.rule, "goes_over_lanes", False) for step in graph.steps)
    return code.n_operations <= MANY * n and alone * STEP <= n


# What f returns where a recording serves, once that has been compared with f.
Forms: TypeAlias = WeakKeyDictionary[Recorded, Form]


class MappedBatch(Batch):
    """Rows as the points of a batch; those in `rest` are left for f itself."""

    def __init__(
        self, known: Forms, columns: list[FloatArray], given: tuple[Any, ...], rows: Rows, f: Any
    ) -> None:
        shape = (sum(column[0].size for column in columns),)
        super().__init__(columns, shape, given, {}, "value", (), True)
        self._known = known
        self._rows = rows
        self._function = f
        self.is_refused = False  # whether f is to be run for all rows
        self.forms: list[Form] = []  # of the recordings that served

    def prepare(self, recorded: Recorded) -> bool:
        if not super().prepare(recorded):
            return False
        self._recorded, form = recorded, self._known.get(recorded)
        if self.forms:  # as those that served before
            self.plan.shapes = self.forms[0].shapes
        elif form is not None:  # else all that f returns is one vector
            self.plan.shapes = form.shapes
        self.is_refused = not pays(recorded, self.plan.code)
        return not self.is_refused

    def run(self, threads: int | None, most: int | None = None) -> None:
        before, recorded = self.rest, self._recorded
        if most is not None:  # f cannot be replayed in this call, perhaps in another one
            raise CallError
        super().run(threads)
        if len(self.rest) == len(before):
            return
        form = self._known.get(recorded)
        if form is None and recorded.is_current:  # else f changes what it reads
            form = self.compared(before)
        if form is None or (self.forms and not form.is_like(self.forms[0])):
            self.is_refused = True
            raise CallError
        if self.plan.shapes != form.shapes:
            self.results = [part.copy() for part in _split(self.results[0], form)]
        self.forms.append(form)
        self.plan.form, self.plan.shapes = form, form.shapes
        self._known[recorded] = form

    def compared(self, before: Any) -> Form | None:
        """The form of what f returns for the first and the last of the rows just served.

        They were among some others. None if it is not what was computed. Rows that are finite tell
        more than others.
        """
        numbers = matrix_of(self.results)
        served = np.setdiff1d(before, self.rest, assume_unique=True)
        finite = served[np.isfinite(numbers[served]).all(axis=1)]
        rows = finite if len(finite) else served
        forms = []
        for i in (rows[0], rows[-1]):
            args, kwargs = self._rows.call(i)
            result = self._function(*args, **kwargs)
            forms.append(Form.of(result))
            if not _is_close(numbers[i], result, forms[-1].shapes):
                return None
        first, last = forms
        return first.joined(last) if first.is_like(last) else None


class Computed(NamedTuple):
    """What a program has computed of n rows, all but those in `rest`."""

    results: list[FloatArray]
    form: Form
    n: int
    rest: Any = ()

    @property
    def served(self) -> Any:
        """The rows that were computed."""
        if len(self.rest) == 0:
            return slice(None)
        return np.setdiff1d(np.arange(self.n), self.rest, assume_unique=True)

    def columns(self, numbers: Any = None) -> list[Any]:
        """For each leaf what was computed, with a row for each point that was served.

        Others `numbers` stand for those computed where they are floats.
        """
        others = self.results if numbers is None else _split(numbers, self.form)
        return [
            other
            if numbers is not None and dtype.kind == "f"
            else rows[self.served].astype(dtype, copy=False)
            for rows, other, dtype in zip(self.results, others, self.form.dtypes, strict=True)
        ]


def matrix_of(results: list[FloatArray]) -> FloatArray:
    """All results, each point in a row."""
    parts = [rows.reshape(len(rows), -1) for rows in results]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _split(matrix: Any, form: Form) -> list[Any]:
    """For each leaf of a form what a matrix, with a row for each point, has of it."""
    return [reshape(matrix[:, part], (len(matrix), *shape)) for part, shape in places(form.shapes)]


def _is_close(numbers: FloatArray, result: Any, shapes: list[Shape]) -> bool:
    """Whether numbers are those in a result, but for rounding."""
    leaves, _ = binding.flattened(result)
    if len(numbers) != sum(map(prod, shapes)) or not all(map(is_plain, leaves)):
        return False
    for leaf, (part, shape) in zip(leaves, places(shapes), strict=True):
        there = np.asarray(leaf)
        if there.dtype.kind not in "biuf":
            return False
        here = numbers[part].reshape(shape)
        if distances(here, there).max(initial=0.0) > rounding(there):
            return False
    return True
