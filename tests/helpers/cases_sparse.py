"""How `scipy.sparse` and `scipy.sparse.linalg` are called, for the common harness.

Results are arrays: what a call makes of a sparse matrix says how it is looked at. Matrices are made
of the entries v at the places ROWS and COLUMNS, which have duplicates where a case says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

from .derivatives import Case, Drawn

Draw = Callable[[np.random.Generator], tuple[Any, ...]]

ROWS = np.array([0, 0, 1, 2, 2, 3, 1, 3])
COLUMNS = np.array([0, 3, 1, 0, 2, 3, 2, 1])
SHAPE = (4, 4)
TWICE = np.array([0, 0, 1, 2, 2, 3, 1, 0]), np.array([0, 3, 1, 0, 2, 3, 2, 3])

CONSTANT = scipy.sparse.random_array((4, 3), density=0.6, rng=np.random.default_rng(3))
WIDE = scipy.sparse.random_array((4, 4), density=0.5, rng=np.random.default_rng(4), format="csr")

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
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


def plain(x: Any) -> Any:
    """A matrix of NumPy's, which matrices of SciPy's give, as an array."""
    return np.asarray(x) if isinstance(x, np.matrix) else x


def case(name: str, call: Callable[..., Any], args: Draw, *nums: int, **how: Any) -> Case:
    """A case that is told scipy.sparse, or what stands for it."""
    how.setdefault("value_rtol", 0.0)
    return Case(
        name, lambda scipy, *x: call(scipy.sparse, *x), args, nums or (0,), dispatch=False, **how
    )


def constants() -> Iterator[Case]:
    """Products with a constant matrix, in all formats, as they stand."""
    for kind in FORMATS:
        for end in ("array", "matrix"):
            A = getattr(scipy.sparse, f"{kind}_{end}")(CONSTANT)
            for shape in ((3,), (3, 2), (3, 1)):
                yield case(f"A @ x {kind}_{end} {shape}", lambda sp, x, A=A: A @ x, arrays(shape))
            yield case(f"x @ A {kind}_{end}", lambda sp, x, A=A: x @ A, arrays((4,)))
            yield case(f"X @ A {kind}_{end}", lambda sp, x, A=A: x @ A, arrays((2, 4)))
    A = CONSTANT.tocsr()
    for name, call in {
        "A.dot(x)": lambda sp, x: A.dot(x[0]),
        "A * x": lambda sp, x: (A * x[0]).toarray(),
        "x * A": lambda sp, x: (x * A).toarray(),
        "A.multiply(x)": lambda sp, x: A.multiply(x).toarray(),
        "A + X": lambda sp, x: A + x,
        "X - A": lambda sp, x: x - A,
        "A * s": lambda sp, x: (A * x[0, 0]).toarray(),
        "A / s": lambda sp, x: (A / x[0, 0]).toarray(),
        "A @ list": lambda sp, x: A @ [x[0, 0], 2.0, x[1, 1]],
    }.items():
        yield case(name, call, arrays((4, 3)), value_rtol=4e-16)


def constructors() -> Iterator[Case]:
    for end in ("array", "matrix"):
        for kind in FORMATS:
            name = f"{kind}_{end}"
            if kind in ("coo", "csr", "csc"):
                yield case(name, lambda sp, v, name=name: made(sp, v, name).toarray(), entries())
                yield case(
                    f"{name} twice",
                    lambda sp, v, name=name: made(sp, v, name, TWICE).toarray(),
                    entries(),
                )
            yield case(
                f"{name} of another",
                lambda sp, v, name=name: getattr(sp, name)(made(sp, v)).toarray(),
                entries(),
            )
            yield case(
                f"{name} of an array",
                lambda sp, x, name=name: getattr(sp, name)(x).toarray(),
                arrays((3, 4)),
            )
    csr = scipy.sparse.csr_array((np.ones(8), (ROWS, COLUMNS)))
    yield case(
        "csr_array of indices",
        lambda sp, v: sp.csr_array((v, csr.indices, csr.indptr)).toarray(),
        entries(),
    )
    yield case(
        "csc_array of indices",
        lambda sp, v: sp.csc_array((v, csr.indices, csr.indptr), shape=SHAPE).toarray(),
        entries(),
    )
    yield case(
        "dia_array",
        lambda sp, x: sp.dia_array((x, [0, -1]), shape=SHAPE).toarray(),
        arrays((2, 4)),
    )
    yield case(
        "diags_array",
        lambda sp, x, y: sp.diags_array([x, y], offsets=[0, -1]).toarray(),
        arrays((4,), (3,)),
        0,
        1,
    )
    yield case("diags_array of one", lambda sp, x: sp.diags_array(x).toarray(), arrays((4,)))
    yield case(
        "diags of numbers",
        lambda sp, x: sp.diags([x[0], -2.0, x[1]], [0, 1, -1], shape=SHAPE).toarray(),
        arrays((2,)),
    )
    yield case(
        "block_array",
        lambda sp, v, x: sp.block_array(
            [[made(sp, v), None], [WIDE, sp.csr_array(x)], [2.0 * made(sp, v), None]]
        ).toarray(),
        entries((4, 2)),
        0,
    )
    yield case(
        "block_diag",
        lambda sp, v: sp.block_diag([made(sp, v), WIDE, made(sp, v)]).toarray(),
        entries(),
    )
    yield case(
        "block_diag of numbers and lists",
        lambda sp, v: sp.block_diag(
            [v[0], [v[1], v[2]], [[v[3], 1.0], [0.0, v[4]]], made(sp, v)]
        ).toarray(),
        entries(),
    )
    yield case("block_diag of a vector", lambda sp, v: sp.block_diag(v).toarray(), entries())
    for name in ("hstack", "vstack"):
        yield case(
            name,
            lambda sp, v, name=name: getattr(sp, name)([made(sp, v), WIDE, made(sp, v)]).toarray(),
            entries(),
        )
    for name in ("tril", "triu"):
        yield case(
            name, lambda sp, v, name=name: getattr(sp, name)(made(sp, v), k=1).toarray(), entries()
        )
    yield case(
        "kron",
        lambda sp, v, w: sp.kron(made(sp, v), sp.csr_array((w, ([0, 1, 1], [1, 0, 2])))).toarray(),
        entries((3,)),
        0,
        1,
    )
    yield case(
        "kron eye", lambda sp, v: sp.kron(sp.eye_array(2), made(sp, v)).toarray(), entries()
    )
    yield case("kronsum", lambda sp, v: sp.kronsum(WIDE, made(sp, v)).toarray(), entries())
    yield case("find", lambda sp, v: sp.find(made(sp, v))[2], entries())


def operations() -> Iterator[Case]:
    x = np.random.default_rng(5).normal(size=(4, 4))
    calls: dict[str, Callable[[Any], Any]] = {
        "toarray": lambda A: A.toarray(),
        "todense": lambda A: plain(A.todense()),
        "data": lambda A: A.data,
        "T": lambda A: A.T.toarray(),
        "diagonal": lambda A: A.diagonal(-1),
        "trace": lambda A: A.trace(),
        "slice": lambda A: A[1:3].toarray(),
        "columns": lambda A: A[:, 1:].toarray(),
        "rows": lambda A: A[[0, 2, 2]].toarray(),
        "element": lambda A: A[2, 0],
        "no element": lambda A: A[3, 0] + A[0, 0],
        "neg": lambda A: (-A).toarray(),
        "abs": lambda A: abs(A).toarray(),
        "sqrt": lambda A: A.power(2).sqrt().toarray(),
        "sin": lambda A: A.sin().toarray(),
        "power": lambda A: A.power(3).toarray(),
        "sum of all": lambda A: A.sum(),
        "columns' sums": lambda A: plain(A.sum(axis=0)),
        "rows' sums": lambda A: plain(A.sum(axis=1)),
        "mean": lambda A: A.mean(),
        "scaled": lambda A: (2.5 * A).toarray(),
        "divided": lambda A: (A / 3.0).toarray(),
        "plus": lambda A: (A + WIDE).toarray(),
        "minus": lambda A: (WIDE - A).toarray(),
        "plus dense": lambda A: plain(A + x),
        "twice": lambda A: (A + A.T).toarray(),
        "multiplied": lambda A: A.multiply(WIDE).toarray(),
        "multiplied by dense": lambda A: A.multiply(x).toarray(),
        "multiplied by a row": lambda A: A.multiply(x[:1]).toarray(),
        "squared": lambda A: A.multiply(A).toarray(),
        "A @ B": lambda A: (A @ WIDE).toarray(),
        "B @ A": lambda A: (WIDE @ A).toarray(),
        "A @ A": lambda A: (A @ A).toarray(),
        "A.T @ A": lambda A: (A.T @ A).toarray(),
        "A @ x": lambda A: A @ x,
        "x @ A": lambda A: x @ A,
        "A @ vector": lambda A: A @ x[0],
        "vector @ A": lambda A: x[0] @ A,
        "quadratic": lambda A: x[0] @ (A @ x[1]),
        "reshape": lambda A: A.reshape((2, 8)).toarray(),
    }
    for kind in ("csr_array", "csc_array", "coo_array", "csr_matrix", "bsr_array", "dia_array"):
        for name, call in calls.items():
            if kind == "coo_array" and name in (
                "slice",
                "columns",
                "rows",
                "element",
                "no element",
            ):
                continue
            if kind in ("bsr_array", "dia_array") and name in (
                "slice", "columns", "rows", "element", "no element", "data", "sqrt", "power",
            ):  # fmt: skip
                continue
            yield case(
                f"{name} {kind}",
                lambda sp, v, kind=kind, call=call: call(
                    getattr(sp, kind)(made(sp, v)) if kind[0] in "bd" else made(sp, v, kind)
                ),
                entries(),
                value_rtol=4e-15,
            )
    yield case(
        "two of numbers",
        lambda sp, v, w: (made(sp, v) @ made(sp, w).T + made(sp, w)).toarray(),
        entries((8,)),
        0,
        1,
        value_rtol=4e-15,
    )
    yield case("A @ x by both", lambda sp, v, x: made(sp, v) @ x, entries((4,)), 0, 1)
    yield case("A @ X by both", lambda sp, v, x: made(sp, v) @ x, entries((4, 2)), 0, 1)
    yield case(
        "complex",
        lambda sp, v, x: abs(made(sp, v * (1.0 + 2.0j)) @ (x + 1.0j)) ** 2,
        entries((4,), shift=2.0),
        0,
        1,
        value_rtol=4e-15,
    )


def triangle(sp: Any, v: Any, lower: bool) -> Any:
    found = sp.tril(made(sp, v)) if lower else sp.triu(made(sp, v))
    return sp.csr_array(found)


def symmetric(sp: Any, v: Any) -> Any:
    """A symmetric matrix, or a Hermitian one of complex entries."""
    A = made(sp, v)
    return sp.csr_array(A + A.conj().T + sp.diags_array([4.0, 9.0, 15.0, 22.0]))


ITERATIONS = (
    "cg", "minres", "bicg", "bicgstab", "cgs", "gmres", "lgmres", "qmr", "tfqmr", "gcrotmk",
)  # fmt: skip


def solvers() -> Iterator[Case]:
    for kind in ("csc", "csr"):
        for shape in ((4,), (4, 2), (4, 1)):
            yield case(
                f"spsolve {kind} {shape}",
                lambda sp, v, b, kind=kind: sp.linalg.spsolve(made(sp, v, f"{kind}_array"), b),
                entries(shape, shift=4.0),
                0,
                1,
            )
    yield case(
        "spsolve natural",
        lambda sp, v, b: sp.linalg.spsolve(made(sp, v), b, permc_spec="NATURAL"),
        entries((4,), shift=4.0),
        0,
        1,
    )
    yield case(
        "spsolve complex",
        lambda sp, v, b: abs(sp.linalg.spsolve(made(sp, v * (1.0 + 0.5j)), b)) ** 2,
        entries((4,), shift=4.0),
        0,
        1,
        value_rtol=4e-15,
    )
    for trans in ("N", "T", "H"):
        yield case(
            f"splu {trans}",
            lambda sp, v, b, trans=trans: sp.linalg.splu(made(sp, v, "csc_array")).solve(b, trans),
            entries((4,), shift=4.0),
            0,
            1,
        )
    fixed = made(scipy.sparse, np.arange(1.0, 9.0), "csc_array") + 5.0 * scipy.sparse.eye_array(4)
    fixed = scipy.sparse.csc_array(fixed)
    yield case("factorized", lambda sp, b: sp.linalg.factorized(fixed)(b), arrays((4,)))
    yield case("spilu", lambda sp, b: sp.linalg.spilu(fixed).solve(b), arrays((4,)))
    yield case("spsolve of a constant", lambda sp, b: sp.linalg.spsolve(fixed, b), arrays((4, 2)))
    yield case(
        "inv",
        lambda sp, v: sp.linalg.inv(made(sp, v, "csc_array")).toarray(),
        entries(shift=4.0),
    )
    for lower in (False, True):
        for unit in (False, True):
            yield case(
                f"spsolve_triangular {lower} {unit}",
                lambda sp, v, b, lower=lower, unit=unit: sp.linalg.spsolve_triangular(
                    triangle(sp, v, lower), b, lower=lower, unit_diagonal=unit
                ),
                entries((4,), shift=4.0),
                0,
                1,
            )
    for name in ITERATIONS:
        yield case(
            name,
            lambda sp, v, b, name=name: getattr(sp.linalg, name)(symmetric(sp, v), b, rtol=1e-14)[
                0
            ],
            entries((4,)),
            0,
            1,
        )
    yield case(
        "gmres of an array",
        lambda sp, x, b: sp.linalg.gmres(x + 5.0 * np.eye(4), b, rtol=1e-14)[0],
        arrays((4, 4), (4,)),
        0,
        1,
        value_rtol=1e-12,
    )
    for name in ("lsqr", "lsmr"):
        tight = {"atol": 1e-15, "btol": 1e-15}
        for what, rows, damp in (("tall", 4, 0.0), ("wide", 2, 0.0), ("damped", 2, 0.3)):
            yield case(
                f"{name} {what}",
                lambda sp, v, b, d, name=name, rows=rows, damp=damp, tight=tight: getattr(
                    sp.linalg, name
                )(
                    made(sp, v)[:rows, : 3 if rows > 3 else 4],
                    b[:rows],
                    damp and damp + d[0] ** 2,
                    **tight,
                )[0],
                entries((4,), (1,), shift=4.0),
                0,
                1,
                2,
                value_rtol=LOOSE,
            )
        yield case(
            f"{name} norms",
            lambda sp, v, name=name, tight=tight: [
                getattr(sp.linalg, name)(made(sp, v), np.ones(4), 0.5, x0=START, **tight)[k]
                for k in {"lsqr": (0, 3, 4, 8), "lsmr": (0, 3, 7)}[name]
            ],
            entries(shift=4.0),
            value_rtol=LOOSE,
        )
    yield case(
        "expm",
        lambda sp, v: sp.linalg.expm(made(sp, v, "csc_array")).toarray(),
        entries(),
    )
    for name, how in (("swapaxes", (0, 1)), ("permute_dims", ((1, 0),))):
        if hasattr(scipy.sparse, name):
            yield case(
                name,
                lambda sp, v, name=name, how=how: getattr(sp, name)(made(sp, v), *how).toarray(),
                entries(),
            )
    for power in (1, 2, 5):
        yield case(
            f"matrix_power {power}",
            lambda sp, v, power=power: sp.linalg.matrix_power(made(sp, v), power).toarray(),
            entries(),
            value_rtol=LOOSE,
        )
    for name, call in (
        ("cg", lambda sp, a, b: sp.linalg.cg(a, b, rtol=1e-14)[0]),
        ("eigsh", lambda sp, a, b: sp.linalg.eigsh(a, k=2, v0=b)[0]),
        ("lsqr", lambda sp, a, b: sp.linalg.lsqr(a, b, atol=1e-14, btol=1e-14)[0]),
    ):
        yield case(
            f"{name} of a matrix as an operator",
            lambda sp, v, b, call=call: call(sp, sp.linalg.aslinearoperator(symmetric(sp, v)), b),
            entries((4,)),
            value_rtol=LOOSE,
        )
    yield case(
        "products of numbers and operators",
        lambda sp, v, b: sum(
            sp.linalg.gmres(operator, b, rtol=1e-14)[0]
            for operator in (
                v[0] * sp.linalg.aslinearoperator(symmetric(sp, v)),
                sp.linalg.aslinearoperator(symmetric(sp, v).toarray()) * v[1],
            )
        ),
        entries((4,)),
        value_rtol=LOOSE,
    )
    yield case(
        "gmres of products",
        lambda sp, v: sp.linalg.gmres(
            sp.linalg.LinearOperator((4, 4), lambda x: (4.0 + v) * x, dtype=float),
            START,
            rtol=1e-14,
        )[0],
        arrays((4,)),
        value_rtol=LOOSE,
    )
    yield case(
        "cg of an operator",
        lambda sp, b: sp.linalg.cg(
            scipy.sparse.linalg.aslinearoperator(symmetric(scipy.sparse, np.ones(8))),
            b,
            rtol=1e-14,
        )[0],
        arrays((4,)),
    )
    for shape in ((4,), (4, 2)):
        yield case(
            f"expm_multiply {shape}",
            lambda sp, v, b: sp.linalg.expm_multiply(made(sp, v), b),
            entries(shape),
            0,
            1,
        )
    start = np.random.default_rng(6).normal(size=4)
    yield case(
        "eigsh",
        lambda sp, v: sp.linalg.eigsh(symmetric(sp, v), k=2, v0=start),
        entries(),
        value_rtol=LOOSE,
    )
    yield case(
        "eigsh values",
        lambda sp, v: sp.linalg.eigsh(
            symmetric(sp, v), k=1, v0=start, which="SA", return_eigenvectors=False
        ),
        entries(),
        value_rtol=LOOSE,
    )
    yield case(
        "eigsh smallest",
        lambda sp, v: sp.linalg.eigsh(
            symmetric(sp, v), k=2, v0=start, which="SA", return_eigenvectors=False
        ),
        entries(),
        value_rtol=LOOSE,
    )
    yield case(
        "eigs",
        lambda sp, v: [abs(x) ** 2 for x in sp.linalg.eigs(made(sp, v), k=2, v0=start)],
        entries(shift=4.0),
        value_rtol=LOOSE,
    )
    for which in ("LM", "SR"):
        yield case(
            f"eigs values {which}",
            lambda sp, v, which=which: abs(
                sp.linalg.eigs(made(sp, v), k=2, v0=start, which=which, return_eigenvectors=False)
                + 1j
            ),
            entries(),
            value_rtol=LOOSE,
        )
    yield case(
        "eigs complex",
        lambda sp, v: abs(sp.linalg.eigs(made(sp, v * (1.0 + 0.5j)), k=1, v0=start)[0] + 1j),
        entries(shift=4.0),
        value_rtol=LOOSE,
    )
    yield case(
        "svds",
        lambda sp, v: sp.linalg.svds(symmetric(sp, v)[:, :3], k=2, v0=start[:3]),
        entries(),
        value_rtol=LOOSE,
    )
    yield case(
        "matrix_power of an array",
        lambda sp, v: sp.linalg.matrix_power(made(sp, v).toarray(), 3),
        entries(),
        value_rtol=LOOSE,
    )
    for order in (None, 1, -1, np.inf, -np.inf, "fro"):
        yield case(
            f"norm {order}",
            lambda sp, v, order=order: sp.linalg.norm(made(sp, v), order),
            entries(shift=4.0),
            value_rtol=4e-15,
        )
    for axis in (0, 1):
        yield case(
            f"norm {axis}",
            lambda sp, v, axis=axis: sp.linalg.norm(made(sp, v), axis=axis),
            entries(shift=4.0),
            value_rtol=4e-15,
        )


CASES = [*constants(), *constructors(), *operations(), *solvers()]
