"""Sparse matrices of derivatives: what is asked for, and SciPy's matrices made of the numbers."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Call, MatrixPlan, Pattern
from ..binding.callers import warn_caller
from ..operations.patterns import entries_of
from ..transforms import flatten, hessian, jacobian
from ..transforms._base import checked_argnums
from ..transforms._outputs import check_real
from .recorded import NOT_SERVED, FloatArray, Recorded, met
from .recordings import carries_derivatives, record
from .traces import Traces

if TYPE_CHECKING:
    from collections.abc import Mapping

Format = Literal["csr", "csc", "coo"]

_KINDS = {"csr": "csr_array", "csc": "csc_array", "coo": "coo_array"}
_LARGEST_INDEX = np.iinfo(np.int32).max
_MANY_ENTRIES = 100_000  # of which it is said, if most of a matrix, that they need not be there


def _scipy_sparse() -> Any:
    try:
        from scipy import sparse
    except ImportError:
        raise ImportError(
            "sparse_jacobian and sparse_hessian give matrices of scipy.sparse, and SciPy is not "
            "installed: pip install scipy"
        ) from None
    return sparse


# --- what is asked for -------------------------------------------------------------------------


class Request:
    """The wanted matrix, its entries, and its format. Equal if all these are."""

    def __init__(self, what: str, sparsity: Any, format: str) -> None:
        name = f"sparse_{what}"
        if format not in _KINDS:
            raise ValueError(f'{name}: format is "csr", "csc" or "coo", not {format!r}')
        self.what = what
        self.format = format
        self._rows = self._columns = self._shape = None
        if sparsity is not None:
            self._rows, self._columns, self._shape = entries_of(sparsity, name, "sparsity")
        parts = (self._rows, self._columns)
        self._key = (what, format, self._shape, *[p if p is None else p.tobytes() for p in parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def pattern(self, shape: tuple[int, int]) -> Pattern | None:
        """The entries that are wanted of a matrix of this shape; None: all that there are."""
        if self._rows is None or self._columns is None:
            return None
        name = f"sparse_{self.what}"
        if self._shape is not None and self._shape != shape:
            raise ValueError(
                f"{name}: the sparsity that was given has the shape {self._shape}, but the "
                f"{self.what.capitalize()} has the shape {shape}"
            )
        for axis, indices in enumerate((self._rows, self._columns)):
            if indices.size and not 0 <= indices.min() <= indices.max() < shape[axis]:
                bad = indices[(indices < 0) | (indices >= shape[axis])][0]
                raise ValueError(
                    f"{name}: the sparsity that was given names {['row', 'column'][axis]} {bad} "
                    f"of a {self.what.capitalize()} of the shape {shape}"
                )
        return Pattern(shape, self._rows, self._columns)


# --- rules without a pattern -------------------------------------------------------------------

_told: weakref.WeakSet[Any] = weakref.WeakSet()  # of which operations


def _tell_what_fills(name: str, plan: MatrixPlan) -> None:
    """Warn, once, of each operation that fills most of a matrix since it states no pattern."""
    if plan.n_filled < _MANY_ENTRIES or 2 * plan.n_filled < plan.n_found:
        return
    for step in plan.unlinked:
        operation = getattr(step.rule, "operation", step.rule)
        if operation in _told:
            continue
        _told.add(operation)
        warn_caller(
            f"{name}: {step.name} does not say which of its results depend on which "
            "arguments, and its rule does not show it, so all are taken to depend on all. That "
            f"alone makes {plan.n_filled:,} of {plan.n_found:,} entries. State its pattern with "
            'defpattern, or pattern= of cadiff.custom: "...->..." if it is elementwise, "i->j" '
            "if all does depend on all"
        )


# --- matrices ----------------------------------------------------------------------------------


class Assembler:
    """Makes matrices of one structure.

    SciPy's constructors look at all indices each time; a matrix made here is a copy of one that
    went through them, with data and indices of its own: what changes a matrix in place
    (`sum_duplicates`, `eliminate_zeros`) changes no other.
    """

    def __init__(self, pattern: Pattern, format: str) -> None:
        kind = getattr(_scipy_sparse(), _KINDS[format])
        shape = pattern.shape
        dtype = np.int32 if max(*shape, pattern.count) <= _LARGEST_INDEX else np.int64
        if format == "csc":
            pattern = pattern.transposed()
        indices = pattern.indices.astype(dtype)
        data = np.zeros(pattern.count)
        if format == "coo":
            matrix = kind((data, (pattern.rows().astype(dtype), indices)), shape=shape)
        else:
            matrix = kind((data, indices, pattern.indptr.astype(dtype)), shape=shape)
            matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        self._kind = kind
        self._state = dict(vars(matrix))

    def __call__(self, data: NDArray[Any]) -> Any:
        matrix = self._kind.__new__(self._kind)
        state = vars(matrix)
        state.update(self._state)
        state["data"] = data
        for name in ("indices", "indptr"):
            if name in state:
                state[name] = state[name].copy()
        if "coords" in state:
            state["coords"] = tuple([indices.copy() for indices in state["coords"]])
        return matrix


def requested(what: str, sparsity: Any, format: str) -> Request:
    """A request; of the same matrix, as it is detected, the same one."""
    if sparsity is not None or not isinstance(format, str):
        return Request(what, sparsity, format)
    return _plain(what, None, format)


_plain = functools.lru_cache(Request)


class SparseMatrices:
    """The sparse matrices of a Program, whose recordings `traces` has."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._recent: tuple[Request, MatrixPlan, Recorded] | None = None

    def clear(self) -> None:
        """Forget the matrix that was asked for last."""
        self._recent = None

    def sparse(
        self,
        request: Request,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        argnums: int | Sequence[int] = 0,
    ) -> Any:
        recent = self._recent
        if (
            recent is not None
            and recent[0] is request
            and len(args) == 1
            and not kwargs
            and argnums == 0
            and recent[2].is_current
        ):
            data = recent[1].run_at(args[0])
            if data is not None:
                return recent[1].assemble(data)
        return self.planned(request, args, kwargs, argnums)[0]

    def planned(
        self,
        request: Request,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        argnums: int | Sequence[int] = 0,
    ) -> tuple[Any, MatrixPlan | None]:
        """The matrix that is requested, and how it was computed; None if f was run eagerly."""
        numbers, _ = checked_argnums(argnums)
        if carries_derivatives(args, kwargs):
            raise TypeError(
                f"sparse_{request.what} gives a matrix of floats, so it cannot be differentiated; "
                f"differentiate cadiff.{request.what} instead"
            )
        _scipy_sparse()
        call = Call(args, kwargs, numbers)
        check_real(f"sparse_{request.what}", call.structure)

        def matrix(recorded: Recorded) -> tuple[Any, MatrixPlan | None]:
            output = recorded.output
            is_wanted = recorded.is_number or request.what != "hessian"
            if output.is_complex or not output.is_differentiable or not is_wanted:
                self._traces.met(call, recorded)  # so f returns the same here
            if output.is_complex:
                raise TypeError(
                    "sparse_jacobian is of real numbers, but f returns complex ones: return their "
                    "parts, cadiff.numpy.concatenate([z.real, z.imag])"
                )
            if not is_wanted:  # says what is wrong
                hessian(recorded.sample, numbers)(*args, **kwargs)
            if not output.is_differentiable:
                jacobian(recorded.sample, numbers)(*args, **kwargs)
            plan = self._plan(request, call, recorded)
            data = met(plan.evaluate(call.vector()))
            if call.is_one_vector and recorded.is_trusted:
                self._recent = (request, plan, recorded)
            return plan.assemble(_in_precision_of(call, data)), plan

        result: tuple[Any, MatrixPlan | None]
        done = False
        if not binding.is_hooked():
            done, result = self._traces.replayed_once(call, matrix)
        if not done:
            recorded = record(self._traces.function, call, self._traces.optimize).recorded
            if recorded is None:
                return self._from_dense(request, call), None
            self._traces.share(recorded)
            try:
                result = matrix(recorded)
            except NOT_SERVED:
                return self._from_dense(request, call), None
            finally:
                self._recent = None
        return result

    def _plan(self, request: Request, call: Call, recorded: Recorded) -> MatrixPlan:
        n = sum(end - begin for begin, end in call.ranges)
        m = n if request.what == "hessian" else recorded.graph.n_outputs
        layout = "columns" if request.format == "csc" else "rows"
        with self._traces.lock():
            plan = recorded.plan(
                request.what, call.ranges, layout, request, lambda: request.pattern((m, n))
            )
            if plan.assemble is None:
                plan.assemble = Assembler(plan.pattern, request.format)
                _tell_what_fills(f"sparse_{request.what}", plan)
        return plan

    def _from_dense(self, request: Request, call: Call) -> Any:
        """Of a function that cannot be replayed: the entries that are wanted, or are not 0."""
        vector, unflatten = flatten(tuple(call.args[k] for k in call.argnums))
        transform = jacobian if request.what == "jacobian" else hessian

        def of_vector(v: Any) -> Any:
            args = list(call.args)
            for k, arg in zip(call.argnums, unflatten(v), strict=True):
                args[k] = arg
            return self._traces.function(*args, **call.kwargs)

        blocks, _ = flatten(transform(of_vector)(vector))
        n = vector.size
        m = n if request.what == "hessian" else blocks.size // n if n else 0
        matrix = blocks.reshape(m, n)
        pattern = request.pattern((m, n))
        if pattern is None:
            pattern = Pattern((m, n), *np.nonzero(matrix))
        data = matrix[pattern.rows(), pattern.indices]
        if request.format == "csc":
            data = data[np.argsort(pattern.indices, kind="stable")]
        return Assembler(pattern, request.format)(_in_precision_of(call, data))


def _in_precision_of(call: Call, data: FloatArray) -> NDArray[Any]:
    """In single precision if all arguments that it is by are."""
    operands = [call.args[k] for k in call.argnums]
    if all(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in operands):
        return data.astype(np.float32)
    return data
