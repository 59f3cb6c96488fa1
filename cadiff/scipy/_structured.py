"""Solutions of linear systems whose matrices have a structure, with one rule for all of them.

What solves a system, of sparse or of banded matrices, by factors or by iteration, is asked once
more for its derivatives: with the adjoint matrix for cotangents, with the matrix itself for
tangents. Entries have derivatives where they stand; a product of vectors is never made a whole
matrix. Of solvers, that by LU factors is known here alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from ..numpy._matrices import on_matrices
from ..operations.primitives import curried
from ._structures import Structure, product, sampled


class Whole(Structure):
    """What stands for the structure of a constant operator, or array, that has no data."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.shape = operator.shape
        self.form = (0,)
        self.kept = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Whole) and self.operator is other.operator

    def __hash__(self) -> int:
        return id(self.operator)

    def __reduce__(self) -> Any:
        return Whole, (self.operator,)

    def filled(self, data: Any) -> Any:
        return self.operator

    @functools.cached_property
    def coordinates(self) -> Any:
        return (np.zeros(0, dtype=np.intp),) * 3

    def adjoint(self, data: Any) -> Any:
        return Whole(scipy.sparse.linalg.aslinearoperator(self.operator).H), data


class Solver:
    """What solves A @ x = b, or H(A) @ x = b: one of SciPy's functions with its options."""

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        """The solution, and 0.0 if it is one; for plain numbers."""
        raise NotImplementedError

    @property
    def further(self) -> Solver:
        """What solves the systems that derivatives lead to."""
        return self

    def data_read(self, structure: Structure, data: Any) -> Any:
        """The data of entries that are read, and 0 for others."""
        return data


class Direct(Solver):
    """By the LU factors, which are kept with the structure as long as the data are the same.

    SciPy's `spsolve` factors a matrix in rows as the transposed one in columns.
    """

    def __init__(
        self, factor: Callable[[Any], Any], otherwise: Callable[[Any, Any], Any] | None = None
    ) -> None:
        self.factor = factor
        self.otherwise = otherwise  # of a singular matrix; None: what factors it raises

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        matrix, dtype = structure.filled(data), np.result_type(data, b)
        b = b.astype(dtype, copy=False)
        is_rows = matrix.format == "csr"
        key = dtype.str, data.tobytes()
        kept = structure.kept
        if kept is None or kept[0] != key:
            whole = scipy.sparse.csc_array(matrix.T if is_rows else matrix, dtype=dtype)
            try:
                kept = structure.kept = key, self.factor(whole)
            except RuntimeError:
                if self.otherwise is None:
                    raise
                return self.otherwise(matrix.conj().T if adjoint else matrix, b), 0.0
        if adjoint and is_rows:
            return kept[1].solve(b.conj()).conj(), 0.0
        return kept[1].solve(b, "T" if is_rows else "H" if adjoint else "N"), 0.0


BY_FACTORS = Direct(scipy.sparse.linalg.splu, scipy.sparse.linalg.spsolve)  # which warns


@functools.partial(on_matrices, real=(False, True), called="spsolve")
def solved(
    data: Any, b: Any, *, structure: Structure, solver: Solver, adjoint: bool = False
) -> Any:
    """The solution of A @ x = b, or of H(A) @ x = b, and what the solver says of it."""
    return solver(structure, data, b, adjoint)


def _again(
    data: Any, b: Any, turns: bool, structure: Any, solver: Any, adjoint: bool = False
) -> Any:
    """The solution of a further system: the same, or the adjoint one."""
    how: Any = {"structure": structure, "solver": solver.further, "adjoint": adjoint != turns}
    return solved(data, b, **how)[0]


def _pulls(ans: Any, data: Any, b: Any, g: Any, **how: Any) -> Any:
    structure, y = how["structure"], _again(data, g[0], True, **how)
    pair = (ans[0], y) if how.get("adjoint") else (y, ans[0])
    return -how["solver"].data_read(structure, sampled(*pair, structure)), y


def _push_data(g: Any, ans: Any, data: Any, b: Any, **how: Any) -> Any:
    by, g = how["structure"], how["solver"].data_read(how["structure"], g)
    if how.get("adjoint"):
        by, g = by.adjoint(g)
    return _again(data, -product(g, ans[0], structure=by), False, **how), 0.0


def answers(asked: Any) -> None:
    """State the rules of what returns a solution, and something that has no derivative."""
    asked.defvjp(
        curried(lambda *given, **how: _pulls(*given, **how)[0]),
        lambda ans, data, b, **how: lambda g: _again(data, g[0], True, **how),
        unread=(1,),
    )
    asked.defjvp(_push_data, lambda g, ans, data, b, **how: (_again(data, g, False, **how), 0.0))
    asked.deftogether(_pulls)


answers(solved)
solved.of_real.defpattern(
    lambda ans, data, b, **how: "i->j," if b.ndim == 1 else "i->jk,",
    lambda ans, data, b, **how: "i->j," if b.ndim == 1 else "ik->jk,",
)
