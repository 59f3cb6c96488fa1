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
from ..binding import CallError, Code, Container, Dual, Var
from ..operations.arrays import as_array, concatenate, reshape
from ..operations.replayed import Replayed
from ..transforms._base import Function, Transform
from ..transforms._mapped import Form, Rows, is_plain
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
    container: Container | None = None  # if they are a list of floats

    def of(self, vector: Any) -> Any:
        """As f is to have it; in arrays of floats it may write."""
        dtype = np.dtype(self.dtype)
        part = vector[self.place] if self.shape else vector[self.place.start]
        if self.container is not None:
            return self.container.make([*part])
        part = reshape(part, self.shape) if self.shape else part
        if dtype.kind != "f":
            return whole(part, self.shape, dtype)
        return part.copy() if self.shape else part


def _pieces(leaves: Sequence[Any], shapes: Sequence[Shape]) -> tuple[Piece, ...]:
    return tuple(
        Piece(place, shape, *_kind(leaf))
        for leaf, (place, shape) in zip(leaves, places(shapes), strict=True)
    )


def _kind(leaf: Any) -> tuple[str, Container | None]:
    found = binding.opened(leaf)
    dtype = leaf.dtype.str if isinstance(leaf, (np.ndarray, np.generic)) else "f8"
    return dtype, None if found is None else found[0]


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
    """The numbers of some rows: those of each row side by side, and those that all rows share.

    `statics` are what else they share, and the function at the root last.
    """

    def __init__(self, rows: Rows, root: Root) -> None:
        self.rows = rows
        self.root = root
        leaves, self._tree = binding.flattened(rows.others, is_row, True)
        self._are_numbers = tuple(map(_is_number, leaves))
        self._shared = [leaf for leaf in leaves if _is_number(leaf)]
        self.statics = (*(leaf for leaf in leaves if not _is_number(leaf)), root.function)
        self._own = _pieces(rows.leaves, [binding.shape(leaf)[1:] for leaf in rows.leaves])
        self._beside = _pieces(self._shared, [*map(_shape, self._shared)])
        self._is_sharing = any(prod(piece.shape) for piece in self._beside)

    @property
    def are_taken(self) -> bool:
        """Whether programs take such rows."""
        return any(prod(piece.shape) for piece in self._own) and all(
            map(_is_taken, self.rows.leaves)
        )

    @property
    def key(self) -> Any:
        """What tells apart calls for which f is another function of vectors."""
        pieces = [
            (p.shape, p.dtype, None if p.container is None else p.container.type)
            for p in (*self._own, *self._beside)
        ]
        tree = binding.key_of(self._tree)
        return self.root.key, self.rows.layout.key, tuple(pieces), tree, self._are_numbers

    @property
    def columns(self) -> list[Any]:
        """What is mapped over, as floats, of which each point has a row in each."""
        return [_as_floats(leaf) for leaf in self.rows.leaves]

    @property
    def points(self) -> Any:
        """Each row in a row."""
        parts = [
            reshape(leaf, (self.rows.n, prod(piece.shape)))
            for leaf, piece in zip(self.columns, self._own, strict=True)
        ]
        return parts[0] if len(parts) == 1 else concatenate(parts, axis=1)

    @property
    def n_own(self) -> int:
        """How many numbers a point has."""
        return sum(prod(piece.shape) for piece in self._own)

    @property
    def shared(self) -> tuple[Any, ...]:
        """A vector of the numbers that all rows share, if there are any."""
        if not self._is_sharing:
            return ()
        return (concatenate([reshape(as_array(leaf), -1) for leaf in self._shared]),)

    def function(self) -> Function:
        """What f is for a row of the points, and for what rows share: it returns a vector."""
        applied = self.root.applied()
        layout, own, beside = self.rows.layout, self._own, self._beside
        are_numbers, tree, is_sharing = self._are_numbers, self._tree, self._is_sharing

        def row(point: Any, *given: Any) -> Any:
            shared, statics = (given[0], given[1:]) if is_sharing else (np.empty(0), given)
            numbers, rest = iter(beside), iter(statics)
            leaves = [next(numbers).of(shared) if is_one else next(rest) for is_one in are_numbers]
            args, kwargs = layout.call([piece.of(point) for piece in own], tree.fill(leaves))
            return _as_vector(applied(given[-1])(*args, **kwargs))

        return row


def is_row(container: Container, parts: tuple[Any, ...]) -> bool:
    """Whether a container is a list of floats, which is one leaf."""
    return container.is_sequence and not container.beside and set(map(type, parts)) == {float}


def _is_number(leaf: Any) -> bool:
    """Whether it is among the numbers that rows share."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind == "f" and leaf.dtype.itemsize <= 8 and type(leaf) in _PLAIN
    if isinstance(leaf, (Var, Dual)):
        return leaf.dtype == FLOAT
    return isinstance(leaf, (float, list, tuple))


FLOAT = np.dtype(np.float64)
_PLAIN = (np.ndarray, np.float64, np.float32, np.float16)


def _is_taken(leaf: Any) -> bool:
    """Whether programs take what is mapped over."""
    if isinstance(leaf, (Var, Dual)):
        return leaf.dtype == FLOAT
    if type(leaf) is not np.ndarray or leaf.dtype.itemsize > 8:
        return False
    if leaf.dtype.kind in "iu":
        return leaf.size == 0 or bool(leaf.max() < LARGEST and leaf.min() > -LARGEST)
    return leaf.dtype.kind in "fb"


def _shape(leaf: Any) -> Shape:
    return (len(leaf),) if isinstance(leaf, (list, tuple)) else binding.shape(leaf)


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

    def __init__(self, vectors: Vectors) -> None:
        self.of_row = vectors.function()
        self.derivatives: dict[tuple[bool, int], Any] = {}  # what was made of `of_row`
        # f is asked here, of rows: what their vectors make of f is not f itself.
        self._program: Program[..., Any] = Program(
            self.of_row, threads=vectors.root.threads, native=vectors.root.native, verify=False
        )
        self._program.be_quiet()
        self._n_seen = 0
        self._n_failures = 0
        self._forms: WeakKeyDictionary[Recorded, Form] = WeakKeyDictionary()

    def note(self, n: int) -> bool:
        """Note that so many rows are asked for; whether it may be worth its time."""
        self._n_seen += n
        if self._n_seen < ENOUGH_ROWS:
            return False
        if self._n_failures < MOST_FAILURES:
            return True
        self._n_failures += 1
        return self._n_failures % PERIOD == 0

    def run(self, vectors: Vectors) -> MappedBatch | None:
        """Compute rows of plain numbers; those in its `rest` are left. None: all are."""
        batch = MappedBatch(self, vectors)
        with contextlib.suppress(Exception):  # f itself raises what there is to raise
            self._program.batches.run(batch, None)
        if batch.forms and not batch.is_refused:
            self._n_failures = 0
            return batch
        self._n_failures = max(self._n_failures + 1, MOST_FAILURES if batch.is_refused else 0)
        return None

    def known_shapes(self, recorded: Recorded) -> list[Shape]:
        """Those of the leaves that f returns where a recording serves; none until it is known."""
        form = self._forms.get(recorded)
        return [] if form is None else form.shapes

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

    def __init__(self, program: RowProgram, vectors: Vectors) -> None:
        shared = (*vectors.shared, *vectors.statics)
        super().__init__(vectors.columns, (vectors.n_own,), shared, {}, "value", (), True)
        self._program = program
        self._rows = vectors.rows
        self._function = vectors.root.f
        self.is_refused = False  # whether f is to be run for all rows
        self.forms: list[Form] = []  # of the recordings that served

    def prepare(self, recorded: Recorded) -> bool:
        if not super().prepare(recorded):
            return False
        self.is_refused = not pays(recorded, self._code)
        return not self.is_refused

    def run(self, threads: int | None, most: int | None = None) -> None:
        before = self.rest
        if most is not None:  # f cannot be replayed in this call, perhaps in another one
            raise CallError
        super().run(threads)
        if len(self.rest) == len(before):
            return
        assert self._recorded is not None
        form = self._program.form(self._recorded, self, before)
        if form is None or (self.forms and not form.is_like(self.forms[0])):
            self.is_refused = True
            raise CallError
        self.forms.append(form)

    def _shapes(self) -> Sequence[Shape]:
        """Those of the leaves that f returns, once they are known; at first all are one."""
        if len(self.rest) < self.n:
            return [rows.shape[1:] for rows in self.results]
        assert self._recorded is not None
        return self._program.known_shapes(self._recorded) or super()._shapes()

    @property
    def matrix(self) -> FloatArray:
        """All results, each point in a row."""
        parts = [rows.reshape(self.n, -1) for rows in self.results]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def compared(self, before: Any) -> Form | None:
        """The form of what f returns for the first and the last of the rows just served.

        They were among some others. None if it is not what was computed. Rows that are finite tell
        more than others.
        """
        numbers = self.matrix
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

    @property
    def form(self) -> Form:
        """The form of all rows that were computed."""
        return functools.reduce(Form.joined, self.forms)

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
        is_split = len(self.results) == len(form.shapes)
        computed = self.results if is_split else _split(self.results[0], form)
        others = computed if numbers is None else _split(numbers, form)
        found = []
        for rows, other, shape, dtype in zip(
            computed, others, form.shapes, form.dtypes, strict=True
        ):
            if numbers is not None and dtype.kind == "f":
                found.append(other)
                continue
            own = rows.reshape(self.n, *shape)[served]
            found.append(own.astype(dtype, copy=not is_split))
        return found


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
