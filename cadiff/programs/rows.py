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
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .. import binding
from ..binding import Call, CallError, Code, Dual, Tree, Var
from ..operations.arrays import as_array, concatenate, reshape
from ..operations.replayed import Replayed
from ..transforms._base import Function, Transform
from ..transforms._mapped import Form, Layout, Rows, is_plain
from ..transforms._outputs import Shape, places, whole
from .batches import Batch
from .program import Program
from .recorded import FloatArray, Recorded
from .verification import distances, rounding

ENOUGH_ROWS = 256  # so that a recording may be worth its time
MOST_FAILURES = 4  # calls of which no row was served; then most calls run f at once
PERIOD = 16
MANY = 512  # numbers in an array, from which on loops of NumPy's own are as fast
STEP = 16  # operations of f that take as long as a step of a program that calls Python
LARGEST = 2.0**31  # of integers, of which programs take smaller ones alone


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
            return whole(part, self.shape, dtype)
        return part.copy() if self.shape else part


class Root:
    """A function that is mapped: the one at its root, and the transforms that are applied to it.

    Two of one code are told apart by what a call of a program tells apart in its arguments, of
    which the function at the root is one.
    """

    def __init__(self, f: Function) -> None:
        self.f = f
        self._shells = []  # the transforms, of no function
        while isinstance(f, Transform):
            self._shells.append(f.applied_to(None))
            f = f._function
        self.function = f
        self.key = tuple(shell.settings for shell in self._shells)
        program = _asked(f)
        self.threads = None if program is None else program._traces.threads
        self.native = None if program is None else program._traces.machines.native

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
    """Where the numbers of calls of one form stand: those of each row side by side in a vector, and
    those that all rows share in another one.

    It holds none of them. What else rows share, and the function at the root, are `statics`.
    """

    program: RowProgram | None = None  # for rows of this layout, once there is one

    def __init__(self, layout: Layout, tree: Tree, leaves: Sequence[Any], root: Root) -> None:
        self.layout = layout
        self._tree = tree  # of all arguments
        self._pieces: list[Piece | None] = [None] * len(leaves)  # None: a static
        self._own = [k for k, axis in enumerate(layout.axes) if axis is not None]
        beside = [k for k, axis in enumerate(layout.axes) if axis is None]
        self._numbers = [k for k in beside if _is_number(leaves[k])]
        self._statics = [k for k in beside if not _is_number(leaves[k])]
        shapes = [binding.shape(column)[1:] for column in layout.columns(leaves)]
        self._place(leaves, self._own, shapes)
        self._place(
            leaves, self._numbers, [binding.shape(leaves[k]) for k in self._numbers], False
        )
        self.n_own, self.n_beside = (
            sum(prod(x.shape) for x in self._pieces if x is not None and x.is_own is is_own)
            for is_own in (True, False)
        )
        self._sizes = [*map(prod, shapes)]
        self.are_taken = self.n_own > 0 and all(_is_taken(leaves[k]) for k in self._own)
        self._have_whole = self.are_taken and any(
            np.dtype(leaves[k].dtype).kind in "iu" for k in self._own
        )
        keys = [x and (x.is_own, x.shape, x.dtype) for x in self._pieces]
        # What tells apart calls for which f is another function of vectors.
        self.key = root.key, binding.key_of(tree), tuple(keys)

    def _place(
        self, leaves: Sequence[Any], which: list[int], shapes: list[Shape], is_own: bool = True
    ) -> None:
        for k, (place, shape) in zip(which, places(shapes), strict=True):
            is_array = isinstance(leaves[k], (np.ndarray, np.generic))
            dtype = leaves[k].dtype.str if is_array else "f8"
            self._pieces[k] = Piece(place, shape, dtype, is_own)

    def columns(self, rows: Rows) -> list[FloatArray] | None:
        """What is mapped over, as floats, of which each point has a row in each."""
        if self._have_whole and not all(map(_are_small, rows.columns)):
            return None
        return [column.astype(np.float64, copy=False) for column in rows.columns]

    def points(self, rows: Rows) -> Any:
        """Each row in a row."""
        parts = [
            reshape(_as_floats(column), (self.layout.n, size))
            for column, size in zip(rows.columns, self._sizes, strict=True)
        ]
        return parts[0] if len(parts) == 1 else concatenate(parts, axis=1)

    def shared(self, rows: Rows) -> tuple[Any, ...]:
        """A vector of the numbers that all rows share, if there are any."""
        if not self.n_beside:
            return ()
        return (concatenate([reshape(as_array(rows.leaves[k]), -1) for k in self._numbers]),)

    def statics(self, rows: Rows, function: Function) -> tuple[Any, ...]:
        return (*[rows.leaves[k] for k in self._statics], function)

    def beside(self, rows: Rows, function: Function) -> Call:
        """What all rows share, taken apart: the numbers of `shared` come first."""
        numbers = [rows.leaves[k] for k in self._numbers]
        return Call((*numbers, *self.statics(rows, function)), _NO_NAMES, ())

    def function(self, root: Root) -> Function:
        """What f is for a row of the points, and for what rows share: it returns a vector."""
        applied, tree, is_sharing = root.applied(), self._tree, self.n_beside > 0
        pieces = tuple(self._pieces)

        def row(point: Any, *given: Any) -> Any:
            shared, statics = (given[0], given[1:]) if is_sharing else (np.empty(0), given)
            rest = iter(statics)
            args, kwargs = tree.fill(
                next(rest) if piece is None else piece.of(point if piece.is_own else shared)
                for piece in pieces
            )
            return _as_vector(applied(given[-1])(*args, **kwargs))

        return row


_NO_NAMES: dict[str, Any] = {}
FLOAT = np.dtype(np.float64)
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

    def __init__(self, vectors: Vectors, root: Root) -> None:
        self.of_row = vectors.function(root)
        self.derivatives: dict[tuple[bool, int], Any] = {}  # what was made of `of_row`
        # f is asked here, of rows: what their vectors make of f is not f itself.
        self._program: Program[..., Any] = Program(
            self.of_row, threads=root.threads, native=root.native, verify=False
        )
        self._program.be_quiet()
        self._n_seen = 0
        self._n_failures = 0
        self._forms: WeakKeyDictionary[Recorded, Form] = WeakKeyDictionary()

    def _note(self, n: int) -> bool:
        """Note that so many rows are asked for; whether it may be worth its time."""
        self._n_seen += n
        if self._n_seen < ENOUGH_ROWS:
            return False
        if self._n_failures < MOST_FAILURES:
            return True
        self._n_failures += 1
        return self._n_failures % PERIOD == 0

    def run(self, vectors: Vectors, rows: Rows, root: Root) -> Computed | None:
        """Compute rows without derivatives; those in its `rest` are left. None: all are."""
        columns = vectors.columns(rows)
        if columns is None or not self._note(vectors.layout.n):
            return None
        batches = self._program.batches
        batches, n = self._program.batches, vectors.layout.n
        beside = vectors.beside(rows, root.function)
        shared, key = beside.vector(), batches.key_of(columns, beside)
        found = batches.again(key, columns, shared, None)
        if found is not None:
            self._n_failures = 0
            return Computed(found[1], found[0].form, n)
        others = (shared[: vectors.n_beside],) if vectors.n_beside else ()
        others += vectors.statics(rows, root.function)
        batch = MappedBatch(self, columns, (vectors.n_own,), others, rows, root.f)
        batch.key = key
        with contextlib.suppress(Exception):  # f itself raises what there is to raise
            batches.run(batch, None)
        if batch.forms and not batch.is_refused:
            self._n_failures = 0
            form = functools.reduce(Form.joined, batch.forms)
            return Computed(batch.results, form, n, batch.rest)
        self._n_failures = max(self._n_failures + 1, MOST_FAILURES if batch.is_refused else 0)
        return None

    def known_form(self, recorded: Recorded) -> Form | None:
        """What f returns where a recording serves; None until it is known."""
        return self._forms.get(recorded)

    def form(self, recorded: Recorded, batch: MappedBatch, before: Any) -> Form | None:
        """What f returns where a recording serves, of some rows; None if it is not what f does."""
        form = self._forms.get(recorded)
        if form is None and recorded.is_current:  # else f changes what it reads
            form = batch.compared(before)
            if form is not None:
                self._forms[recorded] = form
        return form


def pays(recorded: Recorded, code: Code) -> bool:
    """Whether a code for points is faster than f, whose operations are NumPy's."""
    graph = recorded.graph
    n = max(graph.n_recorded, 1)
    alone = sum(not getattr(step.rule, "goes_over_lanes", False) for step in graph.steps)
    return code.n_operations <= MANY * n and alone * STEP <= n


class MappedBatch(Batch):
    """Rows as the points of a batch; those in `rest` are left for f itself."""

    def __init__(
        self,
        program: RowProgram,
        columns: list[FloatArray],
        shape: Shape,
        others: tuple[Any, ...],
        rows: Rows,
        f: Function,
    ) -> None:
        super().__init__(columns, shape, others, {}, "value", (), True)
        self._program = program
        self._rows = rows
        self._function = f
        self.is_refused = False  # whether f is to be run for all rows
        self.forms: list[Form] = []  # of the recordings that served

    def prepare(self, recorded: Recorded) -> bool:
        if not super().prepare(recorded):
            return False
        self.is_refused = not pays(recorded, self.plan.code)
        form = self._program.known_form(recorded)
        if len(self.rest) < self.n:  # as those that served before
            self.plan.shapes = [rows.shape[1:] for rows in self.results]
        elif form is not None:  # else all that f returns is one vector
            self.plan.shapes = form.shapes
        self._recorded = recorded
        return not self.is_refused

    def run(self, threads: int | None, most: int | None = None) -> None:
        before = self.rest
        if most is not None:  # f cannot be replayed in this call, perhaps in another one
            raise CallError
        super().run(threads)
        if len(self.rest) == len(before):
            return
        form = self._program.form(self._recorded, self, before)
        if form is None or (self.forms and not form.is_like(self.forms[0])):
            self.is_refused = True
            raise CallError
        self.forms.append(form)
        self.plan.form, self.plan.shapes = form, form.shapes

    def compared(self, before: Any) -> Form | None:
        """The form of what f returns for the first and the last of the rows just served.

        They were among some others. None if it is not what was computed. Rows that are finite tell
        more than others.
        """
        numbers = _matrix(self.results)
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
    def matrix(self) -> FloatArray:
        """All results, each point in a row."""
        return _matrix(self.results)

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
        form, served = self.form, self.served
        is_split = [rows.shape[1:] for rows in self.results] == form.shapes
        computed = self.results if is_split else _split(self.results[0], form)
        others = computed if numbers is None else _split(numbers, form)
        return [
            rows[served].astype(dtype, copy=not is_split)
            if numbers is None or dtype.kind != "f"
            else other
            for rows, other, dtype in zip(computed, others, form.dtypes, strict=True)
        ]


def _matrix(results: list[FloatArray]) -> FloatArray:
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
