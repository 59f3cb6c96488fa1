"""Linear systems with sparse matrices, and the eigenvalues and exponentials of these.

What solves a system is told `_structured`, where the rule is. Entries have derivatives where they
stand; a product of vectors is never made a whole matrix.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from ...binding import carries, is_deriving
from ...numpy._matrices import EPSILON, H, conjugate, on_matrices, real
from ...operations.arrays import concatenate, reshape, stack
from ...operations.arrays import sum as total_of
from ...operations.guards import fixed, held
from ...operations.missing_derivatives import warn_nan
from ...operations.table import where
from .._structured import BY_FACTORS, Direct, Solver, answers, solved
from .._structures import Structure, multiplier, product, sampled, total
from ._numbers import SparseNumbers, assembled

# --- systems -------------------------------------------------------------------------------------


class Triangular(Solver):
    """By substitution in a triangle."""

    def __init__(self, lower: bool, unit: bool) -> None:
        self.lower = lower
        self.unit = unit

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        matrix = structure.filled(data)
        if adjoint:
            matrix = matrix.conj().T.asformat(matrix.format)
        solution = scipy.sparse.linalg.spsolve_triangular(
            matrix, b, lower=self.lower != adjoint, unit_diagonal=self.unit
        )
        return solution, 0.0

    def data_read(self, structure: Structure, data: Any) -> Any:
        if not self.unit:
            return data
        _, rows, columns = structure.coordinates
        return where(rows != columns, data, 0.0)


# Functions of Krylov spaces that take the matrix for a Hermitian one.
HERMITIAN = {"cg", "minres"}


class Iterative(Solver):
    """By one of SciPy's iterations, with the options of the call."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function  # which answers the solution, and 0 if it is one
        self.options = options

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        found, info = self.function(structure.filled(data), b, **self.options)
        return found, float(info)

    @functools.cached_property
    def further(self) -> Solver:
        return _Further(self.function, self.options)


# What a call says of its own right-hand side alone, or of what it has found before.
ITS_OWN = {"x0", "atol", "callback", "show", "outer_v", "CU"}
LOOSEST = 1e-5  # relative tolerance of derivatives, as is SciPy's where none is given


class _Further(Iterative):
    """The same for any columns, which may be of any size: tolerances are relative ones."""

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        matrix, name = structure.filled(data), self.function.__name__
        options = {k: x for k, x in self.options.items() if k not in ITS_OWN}
        rtol = options.get("rtol", LOOSEST) or np.sqrt(np.finfo(b.dtype).eps)
        options["rtol"] = min(rtol, LOOSEST)
        if adjoint and name not in HERMITIAN:
            matrix = _adjoint_of(matrix)
            names = {"M": "M", "M1": "M2", "M2": "M1"}  # the last is the first of the adjoint
            options = {
                names.get(k, k): _adjoint_of(x) if k in names else x for k, x in options.items()
            }
        columns = np.reshape(b, (len(b), -1)).T
        sizes = np.linalg.norm(columns, axis=1, keepdims=True)
        sizes[sizes == 0.0] = 1.0  # where it is large SciPy's minres ends too early
        solutions = [self.function(matrix, column, **options) for column in columns / sizes]
        if any(info for _, info in solutions):
            warnings.warn(
                f"{name} did not converge for the derivative of its solution, which is as "
                "far from it as the iteration got: give a larger maxiter or a preconditioner M",
                RuntimeWarning,
                stacklevel=2,
            )
        return np.reshape(sizes * [x for x, _ in solutions], b.shape[::-1]).T, 0.0

    @property
    def further(self) -> Solver:
        return self


def _adjoint_of(operator: Any) -> Any:
    if not isinstance(operator, LinearOperator):
        return None if operator is None else operator.conj().T
    try:
        operator.rmatvec(np.zeros(operator.shape[0]))
    except NotImplementedError:
        raise TypeError(
            "gradients multiply by the adjoint of an operator: give LinearOperator its rmatvec"
        ) from None
    return operator.H


# --- least squares -------------------------------------------------------------------------------

# What is nearest to b, and its residual r, solve r + A x = b and H(A) r - d x = 0, where d is the
# square of a damping; what is shortest, x + H(A) y = 0 and A x = b.


class LeastSquares(Solver):
    """By `lsqr` or `lsmr`, for the matrix that a system has as a block beside ones.

    Derivatives are those of the system, by its LU factors.
    """

    def __init__(self, name: str, n_ones: int, is_nearest: bool, options: dict[str, Any]) -> None:
        self.name, self.n_ones, self.is_nearest = name, n_ones, is_nearest
        self.options = options

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        """The solution of the system, and all that SciPy says beside it."""
        system, k = structure.filled(data).tocsr(), self.n_ones
        damp = float(np.sqrt(np.max(-system.diagonal()[k:], initial=0.0)))
        matrix, right = (system[:k, k:], b[:k]) if self.is_nearest else (system[k:, :k], b[k:])
        answer = getattr(scipy.sparse.linalg, self.name)(matrix, right, damp, **self.options)
        x, others = answer[0], np.array(answer[1:9], dtype=float)
        if self.is_nearest:
            return np.concatenate([right - matrix @ x, x]), others
        multipliers = BY_FACTORS(structure, data, b, False)[0][k:]
        return np.concatenate([x, multipliers]), others

    @property
    def further(self) -> Solver:
        return BY_FACTORS


@functools.partial(on_matrices, real=(False, True), called="lsqr")
def nearest(data: Any, b: Any, *, structure: Structure, solver: Solver) -> Any:
    """The solution of the system of least squares, and what else SciPy finds."""
    return solver(structure, data, b, False)


answers(nearest)
nearest.of_real.defpattern(*["i->j,k"] * 2)


def least_squares(
    a: SparseNumbers, b: Any, name: str, damp: Any, x0: Any, options: dict[str, Any]
) -> Any:
    """The x nearest to A @ x = b, or of many the one next to x0; its residual; and the rest."""
    m, n = a.shape
    is_nearest = m >= n or carries(damp) or damp != 0.0
    k, first, second = (m, a, a.H) if is_nearest else (n, a.H, a)
    corner = scipy.sparse.eye_array(m + n - k, format="csr") * (-damp * damp)
    blocks = (scipy.sparse.eye_array(k, format="csr"), first, second, corner)
    data, structure = assembled(
        lambda *x: scipy.sparse.block_array([x[:2], x[2:]], format="csc"),
        *map(SparseNumbers.of, blocks),
    ).parts()
    start = np.zeros(n) if x0 is None else np.asarray(x0)
    solver = LeastSquares(name, k, is_nearest, {"x0": x0, **options})
    right = concatenate([b, -damp * damp * start] if is_nearest else [start, b])
    solution, others = nearest(data, right, structure=structure, solver=solver)
    return (solution[k:], solution[:k], others) if is_nearest else (solution[:k], 0.0 * b, others)


# --- the exponential -----------------------------------------------------------------------------

# The cotangent of A in expm(A) b is that of its Taylor polynomial, step by step of time 1 / n, as
# far as terms count: if the norm of A / n is at most STEP, these are no larger than exp(STEP).
STEP = 2.0
N_TERMS = 26  # STEP**27 / 27! is below rounding


@functools.partial(on_matrices, called="expm_multiply")
def acted(data: Any, b: Any, *, structure: Structure) -> Any:
    """The product of the exponential of a matrix and b."""
    return scipy.sparse.linalg.expm_multiply(structure.filled(data), b)


def _acted_pull(ans: Any, data: Any, b: Any, structure: Structure) -> Any:
    columns = total(abs(held(data)), structure=structure, axis=0)
    norm = float(fixed(np.ceil(np.max(columns, initial=0.0))))
    n_steps = max(int(np.ceil(norm / STEP)), 1)
    turned, adjoint = structure.adjoint(data / n_steps)
    there, back = multiplier(data / n_steps, structure), multiplier(adjoint, turned)

    def terms(b: Any) -> list[Any]:
        found = [b]
        for k in range(1, N_TERMS + 1):
            found.append(there(found[-1]) / k)
        return found

    def pull(g: Any) -> Any:
        starts = [b]
        for _ in range(n_steps - 1):
            starts.append(sum(terms(starts[-1])[::-1]))
        found = np.zeros(structure.size)
        for start in reversed(starts):
            forth, cotangent, cotangents = terms(start)[:-1], g, []
            for k in range(N_TERMS, 0, -1):
                cotangents.append(cotangent / k)
                cotangent = g + back(cotangents[-1])
            left, right = _side_by_side(cotangents), _side_by_side(forth[::-1])
            found = found + sampled(left, right, structure)
            g = cotangent
        return found / n_steps

    return pull


def _side_by_side(vectors: list[Any]) -> Any:
    return stack(vectors, axis=1) if vectors[0].ndim == 1 else concatenate(vectors, axis=1)


def _acted_pull_b(ans: Any, data: Any, b: Any, structure: Structure) -> Any:
    turned, adjoint = structure.adjoint(data)
    return lambda g: acted(adjoint, g, structure=turned)


def _acted_push(g: Any, ans: Any, data: Any, b: Any, structure: Structure) -> Any:
    """By the upper right block of the exponential of [[A, E], [0, A]]: see `expm` of matrices."""
    a, e = (SparseNumbers(structure.numbered, x) for x in (data, g))
    both, whole = assembled(
        lambda a, e: scipy.sparse.block_array([[a, e], [None, a]], format="csr"), a, e
    ).parts()
    b = concatenate([np.zeros(b.shape), b])
    return acted(both, b, structure=whole)[: structure.shape[0]]


acted.defvjp(_acted_pull, _acted_pull_b)
acted.defjvp(_acted_push, lambda g, ans, data, b, structure: acted(data, g, structure=structure))
acted.of_real.defpattern(
    lambda ans, data, b, structure: "i->j" if b.ndim == 1 else "i->jk",
    lambda ans, data, b, structure: "i->j" if b.ndim == 1 else "ik->jk",
)


# --- eigenvalues and singular values -------------------------------------------------------------


class Options:
    """Keyword arguments of a call, for plain numbers.

    Where no start is given, SciPy draws other ones in every call; here it is one and the same, so
    that a function has one value.
    """

    def __init__(
        self, function: Callable[..., Any], has_vectors: bool = True, **given: Any
    ) -> None:
        self.given = given
        self.has_vectors = has_vectors
        self.is_drawn = given.keys().isdisjoint(("rng", "random_state"))
        self.is_drawn &= "rng" in inspect.signature(function).parameters

    def call(self, function: Callable[..., Any], matrix: Any, **more: Any) -> Any:
        """What SciPy's function answers."""
        start = {"rng": np.random.default_rng(0)} if self.is_drawn else {}
        return function(matrix, **start, **self.given, **more)

    def pairs(self, function: Callable[..., Any], matrix: Any) -> tuple[Any, Any]:
        """Eigenvalues and vectors; in the order of the former if these are what is asked for.

        SciPy has another order then, and other ones of conjugate pairs.
        """
        w, v = self.call(function, matrix)
        if self.has_vectors:
            return w, v
        wanted = self.call(function, matrix, return_eigenvectors=False)
        if np.iscomplexobj(w):
            w, v = np.concatenate([w, w.conj()]), np.concatenate([v, v.conj()], axis=1)
        places, gaps = [], np.abs(w - wanted[:, None])
        for gap in gaps:
            places.append(int(np.argmin(gap)))
            gaps[:, places[-1]] = np.inf
        return wanted, v[:, places]


def _nothing(matrix: Any, b: Any) -> Any:
    return np.full_like(b, np.nan)


_QUIETLY = Direct(scipy.sparse.linalg.splu, _nothing)


def _bordered(
    a: SparseNumbers, w: Any, v: Any, right: Any, last: Any = 0.0, adjoint: bool = False
) -> tuple[Any, Any]:
    """The y and s with (a - w) y + s v = right and H(v) y = last, for an eigenvector v.

    The system is regular if the eigenvalue w is simple; the adjoint one has H(a - w).
    """
    n = a.shape[0]
    shifted = a - scipy.sparse.eye_array(n, format="csr") * w
    column = SparseNumbers.of(v[:, None])
    data, structure = assembled(
        lambda a, v, row: scipy.sparse.block_array([[a, v], [row, None]], format="csc"),
        *(shifted, column, column.H),
    ).parts()
    right = concatenate([right, reshape(last + 0.0 * w, (1,))])
    y, _ = solved(data, right, structure=structure, solver=_QUIETLY, adjoint=adjoint)
    sizes = [np.sqrt(np.sum(np.abs(held(x)) ** 2)) for x in (y[:n], right)]
    if not sizes[0] * np.abs(held(w)) * n * EPSILON <= sizes[1]:
        warn_nan("the derivative of vectors does not exist where values are equal: nan")
        y = y * np.nan
    return y[:n], y[n]


def _columns(solve: Callable[[int], Any], n: int) -> Any:
    return stack([solve(k) for k in range(n)], axis=1)


def _matters(*cotangents: Any) -> bool:
    """Whether something depends on vectors; programs ask nothing of that, and take it for so.

    A cotangent that is 0 here may have a derivative that is not.
    """
    return is_deriving() or carries(cotangents) or any(np.any(g != 0.0) for g in cotangents)


@functools.partial(on_matrices, real=(True, False), called="eigsh")
def eigh(data: Any, *, structure: Structure, options: Options) -> Any:
    """Some eigenvalues of a Hermitian matrix, and their eigenvectors as columns."""
    return options.pairs(scipy.sparse.linalg.eigsh, structure.filled(data))


def _eigh_pull(ans: Any, data: Any, g: Any, structure: Structure, options: Options) -> Any:
    w, v = ans
    a = SparseNumbers(structure.numbered, data)
    found = sampled(v * g[0], v, structure)
    if not _matters(g[1]):
        return found
    y = _columns(lambda k: _bordered(a, w[k], v[:, k], g[1][:, k])[0], w.shape[0])
    return found - sampled(y, v, structure)


def _eigh_push(g: Any, ans: Any, data: Any, structure: Structure, options: Options) -> Any:
    w, v = ans
    a = SparseNumbers(structure.numbered, data)
    moved = product(g, v, structure=structure)
    y = _columns(lambda k: _bordered(a, w[k], v[:, k], moved[:, k])[0], w.shape[0])
    return real(total_of(conjugate(v) * moved, axis=0)), -y


eigh.defrules(_eigh_pull, _eigh_push, "i->j,kl")


@functools.partial(on_matrices, real=(False, False), called="eigs")
def eig(data: Any, *, structure: Structure, options: Options) -> Any:
    """Some eigenvalues of a matrix, whose data are complex, and eigenvectors as columns."""
    plain = data if np.any(np.imag(data)) else np.real(data)
    return options.pairs(scipy.sparse.linalg.eigs, structure.filled(plain))


# With vectors of length 1, (a - w) dv - dw v = -da v and H(v) dv = 0.


def _eig_pull(ans: Any, data: Any, structure: Structure, options: Options) -> Any:
    w, v = ans
    a = SparseNumbers(structure.numbered, data)

    def solve(g: Any, k: int) -> Any:
        return _bordered(a, w[k], v[:, k], g[1][:, k], -g[0][k], adjoint=True)[0]

    return lambda g: -sampled(_columns(lambda k: solve(g, k), w.shape[0]), v, structure)


def _eig_push(g: Any, ans: Any, data: Any, structure: Structure, options: Options) -> Any:
    w, v = ans
    a, moved = SparseNumbers(structure.numbered, data), product(g, v, structure=structure)
    n = w.shape[0]
    found = [_bordered(a, w[k], v[:, k], -moved[:, k]) for k in range(n)]
    return stack([-s for _, s in found]), _columns(lambda k: found[k][0], n)


eig.defvjp(_eig_pull)
eig.defjvp(_eig_push)


# Singular vectors are the halves of an eigenvector of [[0, A], [H(A), 0]], by the value itself.


@functools.partial(on_matrices, real=(False, True, False), called="svds")
def svd(data: Any, *, structure: Structure, options: Options) -> Any:
    """Some singular values of a matrix, and vectors u as columns and vh as rows."""
    return tuple(options.call(scipy.sparse.linalg.svds, structure.filled(data)))


def _doubled(data: Any, structure: Structure, u: Any, v: Any) -> Callable[..., Any]:
    """What solves the bordered systems of the matrix of twice as many rows, by halves."""
    a = SparseNumbers(structure.numbered, data)
    both = assembled(
        lambda a, h: scipy.sparse.block_array([[None, a], [h, None]], format="csr"), a, a.H
    )
    z = concatenate([u, v]) * np.sqrt(0.5)
    m = structure.shape[0]

    def solve(s: Any, top: Any, bottom: Any) -> tuple[Any, Any]:
        right = concatenate([top, bottom])
        y = _columns(lambda k: _bordered(both, s[k], z[:, k], right[:, k])[0], s.shape[0])
        return y[:m], y[m:]

    return solve


def _svd_pull(ans: Any, data: Any, g: Any, structure: Structure, options: Options) -> Any:
    u, s, v = ans[0], ans[1], H(ans[2])
    found = sampled(u * g[1], v, structure)
    if not _matters(g[0], g[2]):
        return found
    top, bottom = _doubled(data, structure, u, v)(s, g[0], H(g[2]))
    return found - sampled(top, v, structure) - sampled(u, bottom, structure)


def _svd_push(g: Any, ans: Any, data: Any, structure: Structure, options: Options) -> Any:
    u, s, v = ans[0], ans[1], H(ans[2])
    turned, adjoint = structure.adjoint(g)
    right, left = product(g, v, structure=structure), product(adjoint, u, structure=turned)
    top, bottom = _doubled(data, structure, u, v)(s, right, left)
    return -top, real(total_of(conjugate(u) * right, axis=0)), -H(bottom)


svd.defrules(_svd_pull, _svd_push, "i->jk,l,mn")
