"""How `scipy.sparse` and `scipy.sparse.linalg` are called, for the common harness.

Results are arrays: what a call makes of a sparse matrix says how it is looked at. Matrices are made
of the entries v at the places ROWS and COLUMNS, which have duplicates where a case says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from .derivatives import Case, Drawn

Draw = Callable[[np.random.Generator], tuple[Any, ...]]
Function = Callable[..., Any]

ROWS = np.array([0, 0, 1, 2, 2, 3, 1, 3])
COLUMNS = np.array([0, 3, 1, 0, 2, 3, 2, 1])
SHAPE = (4, 4)
TWICE = np.array([0, 0, 1, 2, 2, 3, 1, 0]), np.array([0, 3, 1, 0, 2, 3, 2, 3])

CONSTANT = scipy.sparse.random_array((4, 3), density=0.6, rng=np.random.default_rng(3))
WIDE = scipy.sparse.random_array((4, 4), density=0.5, rng=np.random.default_rng(4), format="csr")

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
KINDS = [f"{form}_{end}" for form in FORMATS for end in ("array", "matrix")]
LOOSE = 1e-12
START = np.array([0.3, -0.2, 0.1, 0.4])


def arrays(*shapes: tuple[int, ...]) -> Draw:
    return Drawn(lambda rng, of: tuple(rng.normal(size=shape) for shape in of), shapes)


def entries(*shapes: tuple[int, ...], shift: float = 0.0) -> Draw:
    """Entries of a regular matrix (those on the diagonal are shifted), and arrays."""

    def draw(rng: np.random.Generator, of: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
        v = rng.normal(size=of[0]) + shift * np.equal(ROWS, COLUMNS)
        return (v, *(rng.normal(size=shape) for shape in of[1:]))

    return Drawn(draw, ((8,), *shapes))


def made(sp: Any, v: Any, kind: str = "csr_array", places: Any = (ROWS, COLUMNS)) -> Any:
    return getattr(sp, kind)((v, places), shape=SHAPE)


def dense(found: Any) -> Any:
    """What a call returns as an array, or a list of such: sparse or NumPy's matrix as it may be."""
    if hasattr(found, "toarray"):
        return found.toarray()
    return np.asarray(found) if isinstance(found, np.matrix) else found


def cases(
    args: Draw, calls: dict[str, Function], *nums: int, value_rtol: float = 0.0
) -> Iterator[Case]:
    """Cases of the same arguments, that are told scipy.sparse, or what stands for it."""
    for name, call in calls.items():
        yield Case(
            name,
            lambda scipy, *x, call=call: dense(call(scipy.sparse, *x)),
            args,
            nums or (0,),
            value_rtol=value_rtol,
            dispatch=False,
        )


def constants() -> Iterator[Case]:
    """Products with a constant matrix, in all formats, as they stand."""
    for kind in KINDS:
        A = getattr(scipy.sparse, kind)(CONSTANT)
        for shape in ((3,), (3, 2), (3, 1)):
            yield from cases(arrays(shape), {f"A @ x {kind} {shape}": lambda sp, x, A=A: A @ x})
        yield from cases(arrays((4,)), {f"x @ A {kind}": lambda sp, x, A=A: x @ A})
        yield from cases(arrays((2, 4)), {f"X @ A {kind}": lambda sp, x, A=A: x @ A})
    A = CONSTANT.tocsr()
    calls: dict[str, Function] = {
        "A.dot(x)": lambda sp, x: A.dot(x[0]),
        "A * x": lambda sp, x: A * x[0],
        "x * A": lambda sp, x: x * A,
        "A.multiply(x)": lambda sp, x: A.multiply(x),
        "A + X": lambda sp, x: A + x,
        "X - A": lambda sp, x: x - A,
        "A * s": lambda sp, x: A * x[0, 0],
        "A / s": lambda sp, x: A / x[0, 0],
        "A @ list": lambda sp, x: A @ [x[0, 0], 2.0, x[1, 1]],
    }
    yield from cases(arrays((4, 3)), calls, value_rtol=4e-16)


def constructors() -> Iterator[Case]:
    csr = scipy.sparse.csr_array((np.ones(8), (ROWS, COLUMNS)))
    calls: dict[str, Function] = {
        "csr_array of indices": lambda sp, v: sp.csr_array((v, csr.indices, csr.indptr)),
        "csc_array of indices": lambda sp, v: sp.csc_array((v, csr.indices, csr.indptr), SHAPE),
        "block_diag": lambda sp, v: sp.block_diag([made(sp, v), WIDE, made(sp, v)]),
        "block_diag of numbers and lists": lambda sp, v: sp.block_diag(
            [v[0], [v[1], v[2]], [[v[3], 1.0], [0.0, v[4]]], made(sp, v)]
        ),
        "block_diag of a vector": lambda sp, v: sp.block_diag(v),
        "hstack": lambda sp, v: sp.hstack([made(sp, v), WIDE, made(sp, v)]),
        "vstack": lambda sp, v: sp.vstack([made(sp, v), WIDE, made(sp, v)]),
        "tril": lambda sp, v: sp.tril(made(sp, v), k=1),
        "triu": lambda sp, v: sp.triu(made(sp, v), k=1),
        "kron eye": lambda sp, v: sp.kron(sp.eye_array(2), made(sp, v)),
        "kronsum": lambda sp, v: sp.kronsum(WIDE, made(sp, v)),
        "find": lambda sp, v: sp.find(made(sp, v))[2],
    }
    for kind in KINDS:
        if kind[:3] in ("coo", "csr", "csc"):
            calls[kind] = lambda sp, v, kind=kind: made(sp, v, kind)
            calls[f"{kind} twice"] = lambda sp, v, kind=kind: made(sp, v, kind, TWICE)
        calls[f"{kind} of another"] = lambda sp, v, kind=kind: getattr(sp, kind)(made(sp, v))
        of_array: Function = lambda sp, x, kind=kind: getattr(sp, kind)(x)  # noqa: E731
        yield from cases(arrays((3, 4)), {f"{kind} of an array": of_array})
    yield from cases(entries(), calls)
    diagonals: dict[str, Function] = {
        "dia_array": lambda sp, x, y: sp.dia_array((x, [0, -1]), SHAPE),
        "diags_array": lambda sp, x, y: sp.diags_array([x[0], y], offsets=[0, -1]),
        "diags_array of one": lambda sp, x, y: sp.diags_array(x[0]),
        "diags of numbers": lambda sp, x, y: sp.diags([y[0], -2.0, y[1]], [0, 1, -1], SHAPE),
    }
    yield from cases(arrays((2, 4), (3,)), diagonals, 0, 1)
    two: dict[str, Function] = {
        "kron": lambda sp, v, w: sp.kron(made(sp, v), sp.csr_array((w, ([0, 1, 1], [1, 0, 2])))),
        "block_array": lambda sp, v, w: sp.block_array(
            [
                [made(sp, v), None],
                [WIDE, sp.csr_array(np.tile(1.5, (4, 2)))],
                [w[0] * made(sp, v), None],
            ]
        ),
    }
    yield from cases(entries((3,)), two, 0, 1)


def operations() -> Iterator[Case]:
    x = np.random.default_rng(5).normal(size=(4, 4))
    calls: dict[str, Callable[[Any], Any]] = {
        "toarray": lambda A: A.toarray(),
        "todense": lambda A: A.todense(),
        "data": lambda A: A.data,
        "T": lambda A: A.T,
        "diagonal": lambda A: A.diagonal(-1),
        "trace": lambda A: A.trace(),
        "slice": lambda A: A[1:3],
        "columns": lambda A: A[:, 1:],
        "rows": lambda A: A[[0, 2, 2]],
        "element": lambda A: A[2, 0],
        "no element": lambda A: A[3, 0] + A[0, 0],
        "neg": lambda A: -A,
        "abs": lambda A: abs(A),
        "sqrt": lambda A: A.power(2).sqrt(),
        "sin": lambda A: A.sin(),
        "power": lambda A: A.power(3),
        "sum of all": lambda A: A.sum(),
        "columns' sums": lambda A: A.sum(axis=0),
        "rows' sums": lambda A: A.sum(axis=1),
        "mean": lambda A: A.mean(),
        "scaled": lambda A: 2.5 * A,
        "divided": lambda A: A / 3.0,
        "plus": lambda A: A + WIDE,
        "minus": lambda A: WIDE - A,
        "plus dense": lambda A: A + x,
        "twice": lambda A: A + A.T,
        "multiplied": lambda A: A.multiply(WIDE),
        "multiplied by dense": lambda A: A.multiply(x),
        "multiplied by a row": lambda A: A.multiply(x[:1]),
        "squared": lambda A: A.multiply(A),
        "A @ B": lambda A: A @ WIDE,
        "B @ A": lambda A: WIDE @ A,
        "A @ A": lambda A: A @ A,
        "A.T @ A": lambda A: A.T @ A,
        "A @ x": lambda A: A @ x,
        "x @ A": lambda A: x @ A,
        "A @ vector": lambda A: A @ x[0],
        "vector @ A": lambda A: x[0] @ A,
        "quadratic": lambda A: x[0] @ (A @ x[1]),
        "reshape": lambda A: A.reshape((2, 8)),
    }
    parts = ("slice", "columns", "rows", "element", "no element")
    lacking = {"coo": parts, **dict.fromkeys(("bsr", "dia"), (*parts, "data", "sqrt", "power"))}
    for kind in ("csr_array", "csc_array", "coo_array", "csr_matrix", "bsr_array", "dia_array"):

        def of_kind(sp: Any, v: Any, kind: str = kind) -> Any:
            return getattr(sp, kind)(made(sp, v)) if kind[0] in "bd" else made(sp, v, kind)

        of_matrices: dict[str, Function] = {
            f"{name} {kind}": lambda sp, v, call=call, A=of_kind: call(A(sp, v))
            for name, call in calls.items()
            if name not in lacking.get(kind[:3], ())
        }
        yield from cases(entries(), of_matrices, value_rtol=4e-15)
    vector: dict[str, Function] = {
        "A @ x by both": lambda sp, v, x: made(sp, v) @ x[:, 0],
        "A @ X by both": lambda sp, v, x: made(sp, v) @ x,
    }
    yield from cases(entries((4, 2)), vector, 0, 1)
    two: dict[str, Function] = {
        "two of numbers": lambda sp, v, w: made(sp, v) @ made(sp, w).T + made(sp, w),
        "complex": lambda sp, v, w: abs(made(sp, v * (1.0 + 2.0j)) @ (w[:4] + 1.0j)) ** 2,
    }
    yield from cases(entries((8,), shift=2.0), two, 0, 1, value_rtol=4e-15)


def symmetric(sp: Any, v: Any) -> Any:
    """A symmetric matrix, or a Hermitian one of complex entries."""
    A = made(sp, v)
    return sp.csr_array(A + A.conj().T + sp.diags_array([4.0, 9.0, 15.0, 22.0]))


ITERATIONS = (
    *("cg", "minres", "bicg", "bicgstab", "cgs"),
    *("gmres", "lgmres", "qmr", "tfqmr", "gcrotmk"),
)
EXACT = {"rtol": 1e-14}


def solvers() -> Iterator[Case]:
    """What solves with a matrix of numbers and with a vector."""

    def triangle(sp: Any, v: Any, b: Any, lower: bool, unit: bool) -> Any:
        A = sp.csr_array((sp.tril if lower else sp.triu)(made(sp, v)))
        return sp.linalg.spsolve_triangular(A, b, lower=lower, unit_diagonal=unit)

    def solve(sp: Any, v: Any, b: Any, kind: str = "csr_array", **how: Any) -> Any:
        return sp.linalg.spsolve(made(sp, v, kind), b, **how)

    for shape in ((4,), (4, 2), (4, 1)):
        kinds: dict[str, Function] = {
            f"spsolve csr {shape}": solve,
            f"spsolve csc {shape}": lambda sp, v, b: solve(sp, v, b, "csc_array"),
        }
        yield from cases(entries(shape, shift=4.0), kinds, 0, 1)
    direct: dict[str, Function] = {
        "spsolve natural": lambda sp, v, b: solve(sp, v, b, permc_spec="NATURAL")
    }
    for how in ("N", "T", "H"):
        direct[f"splu {how}"] = lambda sp, v, b, how=how: sp.linalg.splu(
            made(sp, v, "csc_array")
        ).solve(b, how)
    for low, unit in product((False, True), repeat=2):
        direct[f"spsolve_triangular {low} {unit}"] = lambda *args, low=low, unit=unit: triangle(
            *args, low, unit
        )
    yield from cases(entries((4,), shift=4.0), direct, 0, 1)
    turned: dict[str, Function] = {
        "spsolve complex": lambda sp, v, b: abs(solve(sp, v * (1.0 + 0.5j), b)) ** 2
    }
    yield from cases(entries((4,), shift=4.0), turned, 0, 1, value_rtol=4e-15)
    iterations: dict[str, Function] = {
        name: lambda sp, v, b, name=name: getattr(sp.linalg, name)(symmetric(sp, v), b, **EXACT)[0]
        for name in ITERATIONS
    }
    yield from cases(entries((4,)), iterations, 0, 1)
    for shape in ((4,), (4, 2)):
        by_both: Function = lambda sp, v, b: sp.linalg.expm_multiply(made(sp, v), b)  # noqa: E731
        yield from cases(entries(shape), {f"expm_multiply {shape}": by_both}, 0, 1)


def solvers_of_constants() -> Iterator[Case]:
    fixed = made(scipy.sparse, np.arange(1.0, 9.0), "csc_array") + 5.0 * scipy.sparse.eye_array(4)
    fixed = scipy.sparse.csc_array(fixed)
    operator = scipy.sparse.linalg.aslinearoperator(symmetric(scipy.sparse, np.ones(8)))
    calls: dict[str, Function] = {
        "factorized": lambda sp, b: sp.linalg.factorized(fixed)(b[:, 0]),
        "spilu": lambda sp, b: sp.linalg.spilu(fixed).solve(b[:, 0]),
        "spsolve of a constant": lambda sp, b: sp.linalg.spsolve(fixed, b),
        "cg of an operator": lambda sp, b: sp.linalg.cg(operator, b[:, 0], **EXACT)[0],
    }
    yield from cases(arrays((4, 2)), calls)


def least_squares() -> Iterator[Case]:
    tight = {"atol": 1e-15, "btol": 1e-15}
    for name, numbers in (("lsqr", (0, 3, 4, 8)), ("lsmr", (0, 3, 7))):

        def solved(
            sp: Any, v: Any, b: Any, d: Any, rows: int, damp: Any = 0.0, name: str = name
        ) -> Any:
            A = made(sp, v)[:rows, : 3 if rows > 3 else 4]
            return getattr(sp.linalg, name)(A, b[:rows], damp, **tight)[0]

        def norms(sp: Any, v: Any, b: Any, d: Any, name: str = name, nums: Any = numbers) -> Any:
            found = getattr(sp.linalg, name)(made(sp, v), np.ones(4), 0.5, x0=START, **tight)
            return [found[k] for k in nums]

        calls: dict[str, Function] = {
            f"{name} tall": lambda *args, f=solved: f(*args, 4),
            f"{name} wide": lambda *args, f=solved: f(*args, 2),
            f"{name} damped": lambda *args, f=solved: f(*args, 2, 0.3 + args[-1][0] ** 2),
            f"{name} norms": norms,
        }
        yield from cases(entries((4,), (1,), shift=4.0), calls, 0, 1, 2, value_rtol=LOOSE)


def operators() -> Iterator[Case]:
    def of(call: Function) -> Function:
        return lambda sp, v, b: call(sp, sp.linalg.aslinearoperator(symmetric(sp, v)), b)

    def products(sp: Any, v: Any, b: Any) -> Any:
        left = v[0] * sp.linalg.aslinearoperator(symmetric(sp, v))
        right = sp.linalg.aslinearoperator(symmetric(sp, v).toarray()) * v[1]
        return sum(sp.linalg.gmres(each, b, **EXACT)[0] for each in (left, right))

    def of_products(sp: Any, v: Any, b: Any) -> Any:
        operator = sp.linalg.LinearOperator((4, 4), lambda x: (4.0 + v[:4]) * x, dtype=float)
        return sp.linalg.gmres(operator, START, **EXACT)[0]

    tight = {"atol": 1e-14, "btol": 1e-14}
    calls: dict[str, Function] = {
        "cg of a matrix as an operator": of(lambda sp, a, b: sp.linalg.cg(a, b, **EXACT)[0]),
        "eigsh of a matrix as an operator": of(lambda sp, a, b: sp.linalg.eigsh(a, 2, v0=b)[0]),
        "lsqr of a matrix as an operator": of(lambda sp, a, b: sp.linalg.lsqr(a, b, **tight)[0]),
        "products of numbers and operators": products,
        "gmres of products": of_products,
    }
    yield from cases(entries((4,)), calls, value_rtol=LOOSE)
    of_arrays: dict[str, Function] = {
        "gmres of an array": lambda sp, x, b: sp.linalg.gmres(x + 5.0 * np.eye(4), b, **EXACT)[0]
    }
    yield from cases(arrays((4, 4), (4,)), of_arrays, 0, 1, value_rtol=1e-12)


def functions() -> Iterator[Case]:
    """Functions of a matrix, and its eigenvalues and norms."""
    start = np.random.default_rng(6).normal(size=4)
    values = {"v0": start, "return_eigenvectors": False}
    exact: dict[str, Function] = {
        "expm": lambda sp, v: sp.linalg.expm(made(sp, v, "csc_array")),
        "swapaxes": lambda sp, v: sp.swapaxes(made(sp, v), 0, 1),
        "permute_dims": lambda sp, v: sp.permute_dims(made(sp, v), (1, 0)),
    }
    exact = {name: f for name, f in exact.items() if name == "expm" or hasattr(scipy.sparse, name)}
    yield from cases(entries(), exact)
    loose: dict[str, Function] = {
        "eigsh": lambda sp, v: sp.linalg.eigsh(symmetric(sp, v), k=2, v0=start),
        "eigsh values": lambda sp, v: sp.linalg.eigsh(symmetric(sp, v), 1, which="SA", **values),
        "eigsh smallest": lambda sp, v: sp.linalg.eigsh(symmetric(sp, v), 2, which="SA", **values),
        "svds": lambda sp, v: sp.linalg.svds(symmetric(sp, v)[:, :3], k=2, v0=start[:3]),
        "matrix_power of an array": lambda sp, v: sp.linalg.matrix_power(made(sp, v).toarray(), 3),
    }
    for which in ("LM", "SR"):
        loose[f"eigs values {which}"] = lambda sp, v, which=which: abs(
            sp.linalg.eigs(made(sp, v), k=2, which=which, **values) + 1j
        )
    for n in (1, 2, 5):
        loose[f"matrix_power {n}"] = lambda sp, v, n=n: sp.linalg.matrix_power(made(sp, v), n)
    yield from cases(entries(), loose, value_rtol=LOOSE)
    regular: dict[str, Function] = {
        "eigs": lambda sp, v: [abs(x) ** 2 for x in sp.linalg.eigs(made(sp, v), k=2, v0=start)],
        "eigs complex": lambda sp, v: abs(
            sp.linalg.eigs(made(sp, v * (1.0 + 0.5j)), k=1, v0=start)[0] + 1j
        ),
    }
    yield from cases(entries(shift=4.0), regular, value_rtol=LOOSE)
    inverse: dict[str, Function] = {"inv": lambda sp, v: sp.linalg.inv(made(sp, v, "csc_array"))}
    yield from cases(entries(shift=4.0), inverse)
    norms: dict[str, Function] = {}
    for order in (None, 1, -1, np.inf, -np.inf, "fro"):
        norms[f"norm {order}"] = lambda sp, v, ord=order: sp.linalg.norm(made(sp, v), ord)
    for axis in (0, 1):
        norms[f"norm {axis}"] = lambda sp, v, axis=axis: sp.linalg.norm(made(sp, v), axis=axis)
    yield from cases(entries(shift=4.0), norms, value_rtol=4e-15)


CASES = [
    *(*constants(), *constructors(), *operations(), *solvers(), *solvers_of_constants()),
    *(*least_squares(), *operators(), *functions()),
]
