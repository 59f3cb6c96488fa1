"""Many points through one program, side by side and by several threads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import FROM_POINTS, Call, CallError, ObstacleError, PointError, is_eager
from ..transforms import grad, hessian
from ..transforms._base import checked_argnums, is_int
from ..transforms._mapped import FLOAT, Form
from ..transforms._outputs import Output, places
from .fallbacks import Eager
from .recorded import FloatArray, Recorded, of_blocks
from .traces import Traces

WHAT = ("value", "grad", "value_and_grad", "jacobian", "hessian")

MOST_KNOWN = 16  # plans, each of which keeps a recording
FEWEST, POINTS_EACH = 4, 4  # recordings of a batch, and points for each further one
_SOME, _MANY = FROM_POINTS  # of which another code may serve than of fewer
ENOUGH = 100_000  # operations, which a thread of its own is worth: some 50 µs


def checked_threads(threads: Any) -> int | None:
    """How many threads were asked for, if that is said as it should be."""
    if threads is not None and (not is_int(threads) or threads < 1):
        raise ValueError(f"threads is an int of 1 or more, or None, not {threads!r}")
    return None if threads is None else min(int(threads), _MOST_THREADS)


_MOST_THREADS = 2**31 - 1  # which C has an int for


def key_of_batch(n: int, beside: Call, *others: Any) -> Any:
    """The key of batches that differ in numbers alone; `beside` has what n points share."""
    return n < _SOME, n < _MANY, beside.key, others


class Batches:
    """The batches of a Program, whose recordings `traces` has; `eager` runs f eagerly."""

    def __init__(self, traces: Traces, eager: Eager) -> None:
        self._traces = traces
        self._eager = eager
        self._known: dict[Any, Plan] = {}  # each of one recording, which served a whole batch

    def clear(self) -> None:
        """Forget the batches that were asked for."""
        self._known.clear()

    def again(
        self, key: Any, points: Sequence[FloatArray], shared: FloatArray, threads: int | None
    ) -> tuple[Plan, list[FloatArray]] | None:
        """The results of a batch by the plan that served the last one of its key, if it does."""
        plan = self._known.get(key)
        if plan is None or not plan.may_serve:
            return None
        try:
            results, missed = plan.run([*map(_in_rows, points)], shared, threads)
        except CallError:
            return None
        return (plan, results) if missed is None else None

    def batch(
        self,
        one: Callable[..., Any],
        X: Any,
        others: tuple[Any, ...],
        kwargs: dict[str, Any],
        what: str,
        threads: int | None,
        argnums: int | Sequence[int],
    ) -> Any:
        """What Program.batch gives; `one` is the method that computes a point."""
        threads = checked_threads(threads)
        numbers, single = checked_argnums(argnums)
        options = {} if what == "value" else {"argnums": argnums}
        is_plain = not is_eager((X, *others), kwargs)
        if is_plain and (type(X) is not np.ndarray or X.dtype != FLOAT):
            container = binding.opened(X)
            if container is not None and not container[0].is_sequence:
                raise TypeError(
                    "batch takes one array with a leading axis for the points, not a "
                    f"{type(X).__name__}: write f as a function of one array"
                )
            X = _as_points(X)
            binding.structure_of((X,), (0,))  # says what is wrong
            is_narrow = X.dtype.kind == "f" and X.dtype.itemsize < 8
            if is_narrow and (what == "value" or numbers == (0,)):
                wide = X.astype(np.float64)
                outputs = self.batch(one, wide, others, kwargs, what, threads, argnums)
                outputs = _narrowed(outputs, what, X.dtype.newbyteorder("="))
                if X.dtype.itemsize < 4 or not X.ndim or not len(X):
                    return outputs
                of_one = one(_point(X[0]), *others, **options, **kwargs)
                return _in_precision(outputs, _stacked([of_one], what))
            if what == "value" and X.dtype.kind in "iu":
                pass  # nothing is differentiated: integers are what they are
            elif not is_narrow and X.dtype.kind != "c":
                X = X.astype(np.float64, copy=False)
        key = None
        if (
            is_plain
            and type(X) is np.ndarray
            and X.dtype == FLOAT
            and X.size > 0 < X.ndim
            and (what == "value" or numbers == (0,))
        ):
            beside = Call(others, kwargs, ())
            key = key_of_batch(len(X), beside, X.shape[1:], what, single)
            found = self.again(key, [X], beside.vector(), threads)
            if found is not None:
                return found[0].result(found[1])
        if binding.ndim(X) == 0:
            raise ValueError(
                "batch takes an array with a leading axis for the points, not a number"
            )

        def each(points: Any) -> list[Any]:
            return [one(_point(x), *others, **options, **kwargs) for x in points]

        if len(X) == 0:
            return _stacked(each([np.ones(X.shape[1:], X.dtype)[()]]), what, 0)
        if self._traces.optimize and isinstance(X, np.ndarray) and X.dtype == FLOAT:
            wrt = () if what == "value" else numbers
            batch = Batch([X], X.shape[1:], others, kwargs, what, wrt, single)
            batch.key = key
            if self.run(batch, threads):
                result = batch.plan.result(batch.results)
                if len(batch.rest) > 0:
                    _put(result, np.asarray(batch.rest), self._left(batch, argnums, each), what)
                return result
        return _stacked(each(X), what)

    def _left(self, batch: Batch, argnums: Any, each: Callable[[Any], list[Any]]) -> list[Any]:
        """Results of f itself, for points without a recording in the batch."""
        traces, points = self._traces, batch.points[0][batch.rest]
        if traces.on_branch_change != "retrace":
            return each(points)
        f = self._eager.method(batch.what, argnums)
        return [traces.run(f, (_point(x), *batch.others), batch.kwargs) for x in points]

    def run(self, batch: Batch, threads: int | None) -> bool:
        """Compute it by a code for many points for each recording that some of them choose.

        A recording serves the first of the points left, and others with the same choices; and so
        on, for so many recordings. So which of them serves a point depends on the batch alone,
        whatever was recorded before: results have the same bits again. Points that none serves are
        left in `batch.rest`. False if there are no such codes.
        """
        tried: list[Recorded] = []
        traces = self._traces
        most = min(traces.max_traces, max(FEWEST, batch.n // POINTS_EACH))
        serves_many, alone = True, []

        def serves_first(call: Call, recorded: Recorded) -> Recorded:
            if batch.kind in ("gradient", "hessian") and not recorded.is_number:
                wrong = grad if batch.kind == "gradient" else hessian  # which says what
                wrong(traces.function, batch.numbers)(*call.args, **call.kwargs)
            return traces.met(call, recorded) if recorded.graph.guards else recorded

        while len(batch.rest) > 0 and len(tried) < most:
            call = batch.call(batch.rest[0]) if tried else batch.first
            serve = functools.partial(serves_first, call)
            kept = tried if traces.on_branch_change == "retrace" else None
            done, recorded = traces.replayed_once(call, serve, verifies=False, kept=kept)
            known = traces.known(call.key)
            if not done or recorded in tried:
                break
            # What f has just done that cannot be replayed is the result of this point alone.
            serves_many = recorded.is_current and recorded in known.recordings
            if not serves_many:
                alone.append(batch.rest[0])
            tried.append(recorded)
            recorded.use()
            try:
                with traces.lock():
                    if not batch.prepare(recorded):
                        return False
                before = batch.rest
                batch.run(threads, None if serves_many else 1)
            except (CallError, ObstacleError, PointError):
                return False  # f itself will raise what there is to raise
            if not (recorded.is_trusted or self._is_verified(batch, recorded, before)):
                return False
            if recorded.may_be_caught(batch.results):
                return False
        if traces.known(call.key).obstacle:  # as all points will have it from now on
            batch.rest = np.setdiff1d(np.arange(batch.n), alone)
        one = tried[0] if len(tried) == 1 and serves_many and len(batch.rest) == 0 else None
        if batch.key is not None and one and one.is_trusted and not one.catches_numbers:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[batch.key] = batch.plan
        return len(tried) > 0

    def _is_verified(self, batch: Batch, recorded: Recorded, before: Any) -> bool:
        """Whether f does the same as a recording at the first and the last point that it served.

        They were among some others.
        """
        served = np.setdiff1d(before, batch.rest, assume_unique=True)
        for i in (*served[:1], *served[-1:]):
            call = batch.call(i)
            call.replied = batch.replied(recorded, i)
            if not self._traces.agrees(call, recorded):
                return False
        return True


class Batch:
    """What is wanted for many points: the numbers of each stand in the rows of some arrays.

    So do those of the points themselves, in `points`: nothing is brought side by side here, since
    one thread would do that for all of them. `results` has an array for each leaf of what is
    returned, with an axis more; of matrices, one for all of it. `rest` are the points, by their
    indices, for which it has not been computed yet; `key` tells it from others, unless it is None.
    """

    key: Any = None
    plan: Plan  # of the recording that is tried
    results: list[FloatArray]
    rest: Sequence[int] | NDArray[np.intp]

    def __init__(
        self,
        arrays: Sequence[FloatArray],
        shape: tuple[int, ...],
        others: tuple[Any, ...],
        kwargs: dict[str, Any],
        what: str,
        numbers: tuple[int, ...],
        single: bool,
    ) -> None:
        self.n = len(arrays[0])
        self.points = [*map(_in_rows, arrays)]
        self.shape = shape  # of a point
        self.others = others
        self.kwargs = kwargs
        self.what = what
        self.single = single
        self.kind = "gradient" if what in ("grad", "value_and_grad") else what
        count = 1 + len(others)
        self.numbers = tuple(k + count if k < 0 else k for k in numbers)
        self.first = first = self.call(0)
        self.ranges = tuple(first.ranges[first.argnums.index(k)] for k in self.numbers)
        self.structure = binding.structure_of(first.args, self.numbers)
        self._shared = first.vector()[prod(shape) :]
        self.rest = range(self.n)

    def call(self, i: int) -> Call:
        """The call for the i-th point; its first argument comes first among the inputs."""
        others = tuple(k for k in self.numbers if k != 0)
        point = np.concatenate([rows[i].reshape(-1) for rows in self.points])  # it may be kept
        point = _point(point.reshape(self.shape)[()])
        return Call((point, *self.others), self.kwargs, (0, *others))

    def prepare(self, recorded: Recorded) -> bool:
        """Whether a recording has a code for many points, and results of the same structure."""
        if not recorded.output.is_differentiable:
            return False  # so gradient functions, or those that stack values, say what is wrong
        if hasattr(self, "plan") and not self.plan.returns_like(recorded):
            return False
        self.plan = Plan(recorded, self)
        return self.plan.is_for_points

    def run(self, threads: int | None, most: int | None = None) -> None:
        """Compute the points that are left, or so many of them at most.

        Those that choose otherwise are left again.
        """
        chosen = self.rest[:most]
        are_all = len(chosen) == self.n
        arrays = self.points if are_all else [rows[chosen] for rows in self.points]
        results, missed = self.plan.run(arrays, self._shared, threads)
        if are_all:
            self.results = results
        if are_all and missed is None:
            self.rest = range(0)
            return
        chosen = np.asarray(chosen)
        served = np.ones(len(chosen), bool) if missed is None else missed == 0
        if not are_all:
            if len(self.rest) == self.n:
                self.results = [np.empty((self.n, *rows.shape[1:])) for rows in results]
            for rows, computed in zip(self.results, results, strict=True):
                rows[chosen[served]] = computed[served]
        self.rest = np.concatenate((chosen[~served], self.rest[len(chosen) :])).astype(np.intp)

    def replied(self, recorded: Recorded, i: int) -> Callable[[], Any] | None:
        """What gives the value at a point that was computed; None if it was not."""
        if self.kind not in ("value", "gradient"):
            return None
        rows = self.results if self.kind == "value" else self.results[:1]
        return lambda: recorded.returned(np.concatenate([row[i].reshape(-1) for row in rows]))


class Plan:
    """How a recording computes what a batch is of, and others like it: it holds no points."""

    form: Any = None  # of what is returned for each point, if that is no matter of the recording

    def __init__(self, recorded: Recorded, batch: Batch) -> None:
        self._recorded = recorded
        self._what, self._kind = batch.what, batch.kind
        self._structure, self._single = batch.structure, batch.single
        self._matrix = None
        if self._kind in ("jacobian", "hessian"):
            self._matrix = recorded.plan(self._kind, batch.ranges, "dense", n_points=batch.n)
            self.code = self._matrix.code
            self.shapes: Sequence[tuple[int, ...]] = [(self.code.n_results,)]
        else:
            self.code = recorded.code_for_points(self._kind, batch.n, batch.ranges)
            shapes = recorded.output.shapes
            self.shapes = shapes if self._kind == "value" else [(), *self._structure.shapes]
        self._expected_machine = self.code.expects_machine
        # Whether it computes many points at once.
        self.is_for_points = self._matrix is None or self._matrix.point is None

    @property
    def may_serve(self) -> bool:
        """Whether it is as it was made: f reads the same, and the code is run in the same way."""
        is_same_code = self.code.expects_machine == self._expected_machine
        return is_same_code and self._recorded.is_current

    def returns_like(self, recorded: Recorded) -> bool:
        """Whether another recording has results of the same structure."""
        return bool(recorded.output.structure == self._recorded.output.structure)

    def run(
        self, arrays: list[FloatArray], shared: FloatArray, threads: int | None
    ) -> tuple[list[FloatArray], NDArray[np.uint8] | None]:
        """The results for points in arrays, and marks of those that choose otherwise, if any."""
        n, code, bound = len(arrays[0]), self.code, self._recorded.graph.threads
        results = [np.empty((n, *shape)) for shape in self.shapes]
        missed = np.empty(n, np.uint8)
        if threads is None:
            threads = code.n_operations * n // ENOUGH
            threads = min(bound or binding.cores(), threads) if threads > 1 else 1
        threads = max(1, min(threads, bound or threads, n))
        n_missed = code.run_points(arrays, shared, results, missed, threads)
        if self._matrix is not None:
            results = [self._matrix.spread(results[0])]
        return results, missed if n_missed else None

    def result(self, results: list[FloatArray]) -> Any:
        """What the method of that name gives, with one leading axis more."""
        output, structure, single = self._recorded.output, self._structure, self._single
        if self._kind == "value":
            return output.fill(results)
        if self._kind == "gradient":
            values, *leaves = results
            gradients = structure.in_containers(leaves, single)
            return gradients if self._what == "grad" else (values, gradients)
        below = structure.shapes
        above = below if self._kind == "hessian" else output.shapes
        n, columns = len(results[0]), [*places(below)]
        matrices = results[0].reshape(n, sum(map(prod, above)), sum(map(prod, below)))
        blocks = [
            [
                np.ascontiguousarray(matrices[:, rows, part].reshape(n, *shape, *leaf))
                for part, leaf in columns
            ]
            for rows, shape in places(above)
        ]
        return of_blocks(blocks, structure, single, None if self._kind == "hessian" else output)


def _in_rows(X: FloatArray) -> FloatArray:
    """An array whose numbers of one point stand side by side, as codes want them."""
    is_one = X.flags.aligned and X.strides[0] % X.itemsize == 0 and X[:1].flags.c_contiguous
    return X if is_one else np.array(X, order="C")


def _as_points(X: Any) -> NDArray[Any]:
    try:
        points = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            "batch takes one array with a leading axis for the points, all of one shape; this "
            f"{type(X).__name__} makes none: {error}"
        ) from None
    if points.dtype == object and points.ndim == 0 and not isinstance(X, np.ndarray):
        raise TypeError(
            f"batch takes one array of points, or a list of them, not a {type(X).__name__}: pass "
            "list(...) of what it gives"
        )
    return points


def _point(x: Any) -> Any:
    return float(x) if isinstance(x, np.floating) else x


def _narrowed(outputs: Any, what: str, dtype: Any) -> Any:
    """Derivatives by numbers of a dtype, which are of that dtype, too."""
    if what == "value":
        return outputs
    if what == "value_and_grad":
        return outputs[0], _narrowed(outputs[1], "grad", dtype)
    return binding.map_leaves(lambda leaf: leaf.astype(dtype), outputs)


def _in_precision(outputs: Any, like: Any) -> Any:
    """Results in the dtypes of others, which are those of a single call."""
    leaves, tree = binding.flattened(outputs)
    others, _ = binding.flattened(like)
    with np.errstate(over="ignore"):
        return tree.fill([x.astype(y.dtype) for x, y in zip(leaves, others, strict=True)])


def _put(into: Any, indices: NDArray[np.intp], items: list[Any], what: str) -> None:
    """Results for some of several points in their places."""
    leaves, tree = binding.flattened(into)
    form = Form(tree, [leaf.shape[1:] for leaf in leaves], [], [])
    columns = _columns(form, items, what, indices)
    for all_points, column in zip(leaves, columns, strict=True):
        all_points[indices] = np.array(column)


def _stacked(items: list[Any], what: str, count: int | None = None) -> Any:
    """Results for several points (or for `count` of them) as one, with one axis more."""
    form = Form.of(_with_vectors(items[0], what))
    columns = _columns(form, items, what, range(len(items)))
    return form.tree.fill([np.array(column)[:count] for column in columns])


def _columns(form: Form, items: list[Any], what: str, indices: Iterable[int]) -> list[list[Any]]:
    name = "what f returns" if what == "value" else f"the {what}"
    return form.columns([_with_vectors(x, what) for x in items], indices, "point", name)


def _with_vectors(item: Any, what: str) -> Any:
    """A result as replays have it: of values, flat lists of numbers are arrays, too."""
    is_array = type(item) is np.ndarray and item.dtype == np.float64
    if what != "value" or is_array or type(item) is float:
        return item
    output = Output(item)
    return output.fill(output.atoms)


def note_rows(error: Exception, what: str, X: Any, others: tuple[Any, ...]) -> None:
    """Note on what f has raised what its points are, and whether others may belong to them."""
    n = np.shape(X)[:1] if isinstance(X, np.ndarray) else ()
    if n and X.ndim == 1 and hasattr(error, "add_note"):
        error.add_note(
            f"batch takes a row for each point: {n} is {n[0]} points of one number each, and one "
            "point of them is x[None]"
        )
    arrays = [(k, x) for k, x in enumerate(others, 1) if isinstance(x, np.ndarray)]
    which = next((k for k, x in arrays if n and x.shape[:1] == n), None)
    if which is not None and hasattr(error, "add_note"):  # from Python 3.11 on
        method = "program" if what == "value" else f"program.{what}"
        error.add_note(
            f"batch gives each row of the first argument to f, and all of argument {which}, which "
            f"has {n[0]} rows, too: if these belong to the points, write "
            f"cadiff.vmap({method})(X, Z)"
        )
