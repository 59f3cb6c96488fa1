"""How the functions of `numpy.linalg` and `scipy.linalg` are called, for the common harness."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from .derivatives import Case, Drawn

Draw = Callable[[np.random.Generator], tuple[Any, ...]]

LOOSE = 1e-13  # values that another algorithm of LAPACK, or another order of sums, computes


# --- arguments -----------------------------------------------------------------------------------


def arrays(*shapes: tuple[int, ...]) -> Draw:
    return Drawn(lambda rng, of: tuple(rng.normal(size=shape) for shape in of), shapes)


def with_matrix(make: Callable[..., Any], *shapes: tuple[int, ...]) -> Draw:
    """A matrix of a kind, of the first shape, and arrays of the others."""
    return Drawn(
        lambda rng, of: (make(rng, *of[0]), *(rng.normal(size=shape) for shape in of[1:])), shapes
    )


def regular(rng: np.random.Generator, *shape: int) -> Any:
    """Singular values between 1 and 3, apart from each other."""
    u, _, vh = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
    k = u.shape[-1]
    return (u * (1.0 + 2.0 * (np.arange(k) + rng.uniform(0.0, 0.3, k)) / max(k, 1))) @ vh


def symmetric(rng: np.random.Generator, *shape: int) -> Any:
    """Eigenvalues of both signs, apart from each other and from 0."""
    q, _ = np.linalg.qr(rng.normal(size=shape))
    w = (0.5 + np.arange(shape[-1]) + rng.uniform(0.0, 0.3, shape[-1])) * (-1.0) ** np.arange(
        shape[-1]
    )
    return (q * w) @ np.swapaxes(q, -1, -2)


def positive(rng: np.random.Generator, *shape: int) -> Any:
    """Symmetric, eigenvalues from 1 on."""
    return symmetric(rng, *shape) + (shape[-1] + 1.0) * np.eye(shape[-1])


def real_eigenvalues(rng: np.random.Generator, *shape: int) -> Any:
    v = np.eye(shape[-1]) + 0.1 * rng.normal(size=shape)
    w = 1.0 + np.arange(shape[-1]) + rng.uniform(0.0, 0.3, shape[-1])
    return np.linalg.solve(np.swapaxes(v, -1, -2), np.swapaxes(v * w, -1, -2)).swapaxes(-1, -2)


def graded(rng: np.random.Generator, *shape: int) -> Any:
    """Rows and columns of different norms, in the inverse as well."""
    return np.diag(2.5 ** np.arange(shape[-1])) + rng.uniform(-0.2, 0.2, shape)


def spread(shape: tuple[int, ...]) -> Draw:
    """Absolute values apart from each other and from 0."""

    def draw(rng: np.random.Generator, of: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
        size = int(np.prod(of[0]))
        sizes = 0.3 * rng.permutation(size) + rng.uniform(0.5, 0.6, size)
        return ((sizes * rng.choice([-1.0, 1.0], size)).reshape(of[0]),)

    return Drawn(draw, (shape,))


def transposed(x: Any) -> Any:
    return x.transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def without_signs(v: Any) -> Any:
    """Vectors as columns, each times its first element, or times the conjugate one."""
    return v * v[..., :1, :].conj()


def real_part(x: Any) -> Any:
    """NumPy from version 2.5 on makes eigenvalues complex, and always those of complex matrices."""
    return x.real


def eigen_of_real(w: Any, v: Any) -> Any:
    return eigen(w.real, v)


def eigen(w: Any, v: Any) -> Any:
    return w, without_signs(v)


def singular(u: Any, s: Any, vh: Any) -> Any:
    return without_signs(u), s, vh * transposed(u[..., :1, :])


def spans(k: int, q: Any, *others: Any) -> Any:
    """A unitary matrix whose columns from k on are any basis: what they span."""
    rest = q[..., k:]
    return q[..., :k], rest @ transposed(rest.conj()), *others


def full_svd(u: Any, s: Any, vh: Any) -> Any:
    """Of matrices with two rows or two columns; see `spans`."""
    return spans(2, u)[1], s, spans(2, transposed(vh))[1]


SQUARES = [(3, 3), (1, 1), (0, 0), (2, 3, 3), (0, 2, 2), (2, 1, 2, 2)]
TALL, WIDE = [(4, 2), (2, 5, 3)], [(2, 4), (2, 3, 5)]


def each(name: str, call: Any, make: Any, shapes: Any, **options: Any) -> Iterator[Case]:
    for shape in shapes:
        label = "x".join(map(str, shape))
        yield Case(f"{name} {label}", call, with_matrix(make, shape), **options)


# --- numpy.linalg --------------------------------------------------------------------------------


def solves() -> Iterator[Case]:
    for a, b in [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 2)),
        ((3, 3), (2, 3, 1)),
        ((2, 1, 3, 3), (4, 3, 2)),
        ((0, 0), (0,)),
        ((0, 0), (0, 2)),
        ((0, 2, 2), (2, 1)),
    ]:
        draw = with_matrix(regular, a, b)
        call = lambda np, a, b: np.linalg.solve(a, b)  # noqa: E731
        yield Case(f"solve {a} {b}", call, draw, (0, 1), value_rtol=LOOSE)
    yield from each("inv", lambda np, a: np.linalg.inv(a), regular, SQUARES)
    yield Case(
        "tensorsolve",
        lambda np, a, b: np.linalg.tensorsolve(a, b),
        lambda rng: (regular(rng, 6, 6).reshape(2, 3, 6), rng.normal(size=(2, 3))),
        (0, 1),
        value_rtol=LOOSE,
    )
    yield Case(
        "tensorsolve axes",
        lambda np, a, b: np.linalg.tensorsolve(a, b, axes=(0, 2)),
        lambda rng: (
            regular(rng, 6, 6).reshape(2, 3, 3, 2).transpose(2, 0, 3, 1),
            rng.normal(size=(2, 3)),
        ),
        (0, 1),
        value_rtol=LOOSE,
    )
    yield Case(
        "tensorinv",
        lambda np, a: np.linalg.tensorinv(a, ind=1),
        lambda rng: (regular(rng, 6, 6).reshape(6, 2, 3),),
    )
    shapes = [(3, 3), *TALL, *WIDE, (0, 2), (2, 0)]
    yield from each("pinv", lambda np, a: np.linalg.pinv(a), regular, shapes, value_rtol=LOOSE)
    yield from each(
        "pinv hermitian",
        lambda np, a: np.linalg.pinv(a, hermitian=True, rtol=1e-10),
        symmetric,
        [(3, 3), (2, 2, 2)],
    )
    for a, b in [
        ((5, 3), (5,)),
        ((5, 3), (5, 2)),
        ((3, 3), (3, 2)),
        ((2, 4), (2,)),
        ((2, 4), (2, 3)),
    ]:
        yield Case(
            f"lstsq {a} {b}",
            lambda np, a, b: np.linalg.lstsq(a, b)[0],
            with_matrix(regular, a, b),
            (0, 1),
        )
    yield Case(
        "lstsq residuals, singular values",
        lambda np, a, b: np.linalg.lstsq(a, b, rcond=1e-12)[1::2],
        with_matrix(regular, (5, 3), (5, 2)),
        (0, 1),
        value_rtol=LOOSE,
    )


def factorizations() -> Iterator[Case]:
    yield from each("det", lambda np, a: np.linalg.det(a), regular, SQUARES)
    yield from each("slogdet", lambda np, a: np.linalg.slogdet(a)[1], regular, SQUARES)
    yield from each("cholesky", lambda np, a: np.linalg.cholesky(a), positive, SQUARES)
    yield from each(
        "cholesky upper", lambda np, a: np.linalg.cholesky(a, upper=True), positive, SQUARES
    )
    shapes = [(3, 3), (1, 1), *TALL, *WIDE, (3, 0), (0, 3)]
    for mode in ("reduced", "r"):
        yield from each(
            f"qr {mode}",
            lambda np, a, mode=mode: np.linalg.qr(a, mode),
            regular,
            shapes,
            value_rtol=LOOSE,
        )
    yield from each(
        "qr complete",
        lambda np, a: spans(2, *np.linalg.qr(a, "complete")),
        regular,
        [(4, 2), (3, 4, 2)],
        value_rtol=1e-12,
    )
    for uplo in "LU":
        yield from each(
            f"eigh {uplo}",
            lambda np, a, uplo=uplo: eigen(*np.linalg.eigh(a, uplo)),
            symmetric,
            SQUARES,
            value_rtol=LOOSE,
        )
        yield from each(
            f"eigvalsh {uplo}",
            lambda np, a, uplo=uplo: np.linalg.eigvalsh(a, uplo),
            symmetric,
            SQUARES,
        )
    yield from each(
        "eig",
        lambda np, a: tuple(map(real_part, eigen(*np.linalg.eig(a)))),
        real_eigenvalues,
        SQUARES,
        value_rtol=LOOSE,
    )
    yield from each(
        "eigvals", lambda np, a: real_part(np.linalg.eigvals(a)), real_eigenvalues, SQUARES
    )
    shapes = [(3, 3), (1, 1), *TALL, *WIDE]
    yield from each(
        "svd",
        lambda np, a: singular(*np.linalg.svd(a, full_matrices=False)),
        regular,
        shapes,
        value_rtol=LOOSE,
    )
    yield from each(
        "svd full",
        lambda np, a: full_svd(*np.linalg.svd(a)),
        regular,
        [(4, 2), (2, 4), (3, 2, 3)],
        value_rtol=1e-11,
    )
    yield from each(
        "svd values", lambda np, a: np.linalg.svd(a, compute_uv=False), regular, shapes
    )
    yield from each(
        "svdvals", lambda np, a: np.linalg.svdvals(a), regular, [*shapes, (0, 2), (2, 0)]
    )
    yield from each(
        "svd hermitian",
        lambda np, a: singular(*np.linalg.svd(a, hermitian=True)),
        symmetric,
        [(3, 3), (2, 3, 3)],
        value_rtol=LOOSE,
    )


def norms() -> Iterator[Case]:
    def case(label: str, shape: tuple[int, ...], **how: Any) -> Case:
        call = lambda np, x: np.linalg.norm(x, **how)  # noqa: E731
        return Case(f"norm {label}", call, spread(shape), value_rtol=LOOSE)

    for order in (None, 1, 2, 3, 4, 1.5, -1, -2.5, np.inf, -np.inf):
        for shape, axis in [((5,), None), ((1,), None), ((3, 4), 0), ((2, 3, 4), -2)]:
            if order is None or axis is not None or len(shape) == 1:
                for keepdims in (False, True):
                    label = f"vectors {order} {shape} {axis} {keepdims}"
                    yield case(label, shape, ord=order, axis=axis, keepdims=keepdims)
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for shape, axis in [((3, 4), None), ((3, 2, 4), (0, -1)), ((3, 2, 4), (2, 0))]:
            for keepdims in (False, True):
                label = f"matrices {order} {shape} {axis} {keepdims}"
                yield case(label, shape, ord=order, axis=axis, keepdims=keepdims)
    yield case("all 3-d", (2, 3, 2))
    yield case("all 3-d, kept", (2, 3, 2), keepdims=True)
    yield case("0-d", ())
    for axis in (None, 1, (0, 2), (2, 0)):
        for keepdims in (False, True):
            yield Case(
                f"vector_norm {axis} {keepdims}",
                lambda np, x, axis=axis, k=keepdims: np.linalg.vector_norm(
                    x, axis=axis, keepdims=k, ord=3
                ),
                spread((2, 3, 4)),
                value_rtol=LOOSE,
            )
    for order in ("fro", "nuc", 1, 2):
        yield Case(
            f"matrix_norm {order}",
            lambda np, x, ord=order: np.linalg.matrix_norm(x, ord=ord, keepdims=True),
            spread((2, 3, 2)),
            value_rtol=LOOSE,
        )
    for order in (None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"):
        yield from each(
            f"cond {order}",
            lambda np, a, order=order: np.linalg.cond(a, order),
            graded,
            [(3, 3), (2, 2, 2)],
            value_rtol=LOOSE,
        )


def products() -> Iterator[Case]:
    for n in (1, 2, 3, 5, 8, -1, -3):
        yield from each(
            f"matrix_power {n}",
            lambda np, a, n=n: np.linalg.matrix_power(a, n),
            regular,
            [(3, 3), (2, 2, 2)],
        )
    for shapes in [
        ((2, 5), (5, 3)),
        ((2, 5), (5, 3), (3, 4)),
        ((5,), (5, 3), (3,)),
        ((5,), (5, 3), (3, 2)),
        ((2, 5), (5, 1), (1, 6), (6, 2), (2,)),
    ]:
        yield Case(
            f"multi_dot {shapes}",
            lambda np, *items: np.linalg.multi_dot(items),
            arrays(*shapes),
            tuple(range(len(shapes))),
            value_rtol=LOOSE,
        )
    yield Case(
        "matmul", lambda np, x, y: np.linalg.matmul(x, y), arrays((2, 3), (4, 3, 2)), (0, 1)
    )
    for offset in (0, 1, -2, 5, -5):
        for name in ("diagonal", "trace"):
            yield Case(
                f"{name} {offset}",
                lambda np, x, name=name, k=offset: getattr(np.linalg, name)(x, offset=k),
                arrays((2, 3, 4)),
            )
    yield Case("matrix_transpose", lambda np, x: np.linalg.matrix_transpose(x), arrays((2, 3, 4)))
    yield Case("outer", lambda np, x, y: np.linalg.outer(x, y), arrays((2,), (3,)), (0, 1))
    for shapes, axis in [(((3,), (4, 3)), -1), (((3, 4), (3, 1)), 0), (((2, 3), (2, 3)), 1)]:
        for name in ("cross", "vecdot"):
            yield Case(
                f"{name} {shapes}",
                lambda np, x, y, name=name, axis=axis: getattr(np.linalg, name)(x, y, axis=axis),
                arrays(*shapes),
                (0, 1),
                value_rtol=LOOSE,
            )
    yield Case(
        "tensordot",
        lambda np, x, y: np.linalg.tensordot(x, y, axes=1),
        arrays((2, 3), (3, 2)),
        (0, 1),
    )


# --- scipy.linalg --------------------------------------------------------------------------------


def known(assume_a: str | None) -> bool:
    """Whether this version of SciPy knows the structure."""
    try:
        scipy.linalg.solve(np.eye(1), np.ones(1), assume_a=assume_a)
    except (KeyError, ValueError):
        return False
    return True


STRUCTURES = ["gen", "sym", "pos", "her", "upper triangular", "diagonal", "tridiagonal", None]


def scipy_systems() -> Iterator[Case]:
    for kind in filter(known, STRUCTURES):
        for lower in (False, True):
            for transposed in (False, True):
                if kind in ("her",) and transposed:
                    continue
                yield Case(
                    f"solve {kind} {lower} {transposed}",
                    lambda scipy, a, b, kind=kind, lower=lower, transposed=transposed: (
                        scipy.linalg.solve(a, b, assume_a=kind, lower=lower, transposed=transposed)
                    ),
                    with_matrix(positive, (3, 3), (3, 2)),
                    (0, 1),
                )
    yield Case(
        "solve vector",
        lambda scipy, a, b: scipy.linalg.solve(a, b),
        with_matrix(regular, (3, 3), (3,)),
        (0, 1),
    )
    for lower in (False, True):
        for trans in (0, 1, "N", "T", "C"):
            for unit in (False, True):
                for b in ((3,), (3, 2)):
                    yield Case(
                        f"solve_triangular {lower} {trans} {unit} {b}",
                        lambda scipy, a, b, lower=lower, trans=trans, unit=unit: (
                            scipy.linalg.solve_triangular(
                                a, b, trans=trans, lower=lower, unit_diagonal=unit
                            )
                        ),
                        with_matrix(positive, (3, 3), b),
                        (0, 1),
                    )
        for b in ((3,), (3, 2)):
            yield Case(
                f"cho_solve {lower} {b}",
                lambda scipy, a, b, lower=lower: scipy.linalg.cho_solve(
                    scipy.linalg.cho_factor(a, lower=lower), b
                ),
                with_matrix(positive, (3, 3), b),
                (0, 1),
                value_rtol=LOOSE,
            )
            yield Case(
                f"lu_solve {lower} {b}",
                lambda scipy, a, b, trans=int(lower): scipy.linalg.lu_solve(
                    scipy.linalg.lu_factor(a), b, trans=trans
                ),
                with_matrix(regular, (3, 3), b),
                (0, 1),
                value_rtol=LOOSE,
            )
    for permute in (False, True):
        yield from each(
            f"lu {permute}",
            lambda scipy, a, permute=permute: scipy.linalg.lu(a, permute_l=permute)[-2:],
            regular,
            [(4, 4)],
            value_rtol=LOOSE,
        )
    yield from each("lu_factor", lambda scipy, a: scipy.linalg.lu_factor(a)[0], regular, [(4, 4)])
    yield from each(
        "inv sym", lambda scipy, a: scipy.linalg.inv(a), regular, [(3, 3)], value_rtol=LOOSE
    )
    yield from each(
        "det", lambda scipy, a: scipy.linalg.det(a), regular, [(3, 3)], value_rtol=LOOSE
    )
    yield from each(
        "pinv",
        lambda scipy, a: scipy.linalg.pinv(a),
        regular,
        [(3, 3), (4, 2), (2, 4)],
        value_rtol=LOOSE,
    )
    for a, b in [((5, 3), (5,)), ((5, 3), (5, 2)), ((2, 4), (2,))]:
        yield Case(
            f"lstsq {a} {b}",
            lambda scipy, a, b: tuple(
                x for x in scipy.linalg.lstsq(a, b)[::3] + scipy.linalg.lstsq(a, b)[1:2] if x.size
            ),
            with_matrix(regular, a, b),
            (0, 1),
            value_rtol=LOOSE,
        )


def scipy_factorizations() -> Iterator[Case]:
    for lower in (False, True):
        yield from each(
            f"cholesky {lower}",
            lambda scipy, a, lower=lower: scipy.linalg.cholesky(a, lower=lower),
            positive,
            [(3, 3), (1, 1)],
            value_rtol=LOOSE,
        )
        yield from each(
            f"eigh {lower}",
            lambda scipy, a, lower=lower: eigen(*scipy.linalg.eigh(a, lower=lower)),
            symmetric,
            [(4, 4), (1, 1)],
            value_rtol=LOOSE,
        )
        yield Case(
            f"eigh of a pair {lower}",
            lambda scipy, a, b, lower=lower: eigen(
                *scipy.linalg.eigh(a, b, lower=lower, subset_by_index=(1, 2))
            ),
            lambda rng: (symmetric(rng, 4, 4), positive(rng, 4, 4)),
            (0, 1),
            value_rtol=LOOSE,
        )
    yield from each(
        "eig", lambda scipy, a: eigen_of_real(*scipy.linalg.eig(a)), real_eigenvalues, [(4, 4)]
    )
    yield from each(
        "eigvals", lambda scipy, a: scipy.linalg.eigvals(a).real, real_eigenvalues, [(4, 4)]
    )
    yield from each(
        "eigvalsh",
        lambda scipy, a: scipy.linalg.eigvalsh(a),
        symmetric,
        [(4, 4)],
        value_rtol=LOOSE,
    )
    shapes = [(3, 3), (4, 2), (2, 4)]
    yield from each(
        "svd",
        lambda scipy, a: singular(*scipy.linalg.svd(a, full_matrices=False)),
        regular,
        shapes,
        value_rtol=LOOSE,
    )
    yield from each(
        "svdvals", lambda scipy, a: scipy.linalg.svdvals(a), regular, shapes, value_rtol=LOOSE
    )
    for pivoting in (False, True):
        yield from each(
            f"qr {pivoting}",
            lambda scipy, a, p=pivoting: scipy.linalg.qr(a, mode="economic", pivoting=p)[:2],
            regular,
            shapes,
            value_rtol=1e-12,
        )
        yield from each(
            f"qr r {pivoting}",
            lambda scipy, a, p=pivoting: scipy.linalg.qr(a, mode="r", pivoting=p)[0],
            regular,
            shapes,
            value_rtol=1e-12,
        )


def scipy_matrices() -> Iterator[Case]:
    shapes = [(3, 3), (1, 1), (0, 0)]
    yield from each(
        "expm",
        lambda scipy, a: scipy.linalg.expm(a),
        regular,
        [*shapes, (2, 3, 3)],
        value_rtol=LOOSE,
    )
    yield Case(
        "expm_frechet",
        lambda scipy, a, e: scipy.linalg.expm_frechet(a, e),
        arrays((3, 3), (3, 3)),
        (0, 1),
        value_rtol=LOOSE,
    )
    yield from each(
        "logm", lambda scipy, a: scipy.linalg.logm(a), graded, [(3, 3), (1, 1)], value_rtol=LOOSE
    )
    yield from each("sqrtm", lambda scipy, a: scipy.linalg.sqrtm(a), graded, [(3, 3), (1, 1)])
    yield Case(
        "solve_sylvester",
        lambda scipy, a, b, q: scipy.linalg.solve_sylvester(a, b, q),
        lambda rng: (graded(rng, 3, 3), graded(rng, 2, 2), rng.normal(size=(3, 2))),
        (0, 1, 2),
    )
    yield Case(
        "solve_continuous_lyapunov",
        lambda scipy, a, q: scipy.linalg.solve_continuous_lyapunov(a, q),
        lambda rng: (graded(rng, 3, 3), rng.normal(size=(3, 3))),
        (0, 1),
        value_rtol=LOOSE,
    )
    yield Case(
        "vectors of a pair, with their signs",
        lambda scipy, a, b: scipy.linalg.eigh(a, b)[1],
        lambda rng: (symmetric(rng, 4, 4), positive(rng, 4, 4)),
        (0, 1),
        value_rtol=1e-12,
    )
    for order in (None, 1, 2, np.inf):
        for shape in ((5,), (3, 4)):
            yield Case(
                f"norm {order} {shape}",
                lambda scipy, x, order=order: scipy.linalg.norm(x, order),
                spread(shape),
                value_rtol=LOOSE,
            )
    for c, r in [((3,), (4,)), ((4,), (1,)), ((1,), (3,))]:
        for name in ("toeplitz", "hankel"):
            yield Case(
                f"{name} {c} {r}",
                lambda scipy, c, r, name=name: getattr(scipy.linalg, name)(c, r),
                arrays(c, r),
                (0, 1),
            )
    for name in ("toeplitz", "hankel", "circulant"):
        yield Case(name, lambda scipy, c, name=name: getattr(scipy.linalg, name)(c), arrays((4,)))
    yield Case(
        "block_diag",
        lambda scipy, *items: scipy.linalg.block_diag(*items),
        arrays((2, 3), (2,), (1, 1), (2, 0)),
        (0, 1, 2, 3),
    )


def banded(below: int, above: int) -> Callable[..., Any]:
    """Diagonals of a regular matrix, as SciPy keeps them: the corners are noise."""

    def draw(rng: np.random.Generator, *shape: int) -> Any:
        ab = rng.uniform(-1.0, 1.0, size=(below + above + 1, shape[-1]))
        ab[above] += 4.0
        return ab

    return draw


def scipy_bands() -> Iterator[Case]:
    for below, above in ((1, 1), (2, 0), (0, 1), (1, 2)):
        for b in ((5,), (5, 2)):
            yield Case(
                f"solve_banded {below} {above} {b}",
                lambda scipy, ab, b, widths=(below, above): scipy.linalg.solve_banded(
                    widths, ab, b
                ),
                with_matrix(banded(below, above), (below + above + 1, 5), b),
                (0, 1),
                value_rtol=0.0,
            )
    for lower in (False, True):
        half = banded(2, 0) if lower else banded(0, 2)
        for b in ((5,), (5, 2)):
            yield Case(
                f"solveh_banded {lower} {b}",
                lambda scipy, ab, b, lower=lower: scipy.linalg.solveh_banded(ab, b, lower=lower),
                with_matrix(half, (3, 5), b),
                (0, 1),
                value_rtol=0.0,
            )
            yield Case(
                f"cho_solve_banded {lower} {b}",
                lambda scipy, ab, b, lower=lower: scipy.linalg.cho_solve_banded((ab, lower), b),
                with_matrix(half, (3, 5), b),
                (0, 1),
                value_rtol=0.0,
            )
        yield Case(
            f"cholesky_banded {lower}",
            lambda scipy, ab, lower=lower: scipy.linalg.cholesky_banded(ab, lower=lower),
            with_matrix(half, (3, 5)),
            value_rtol=0.0,
        )
        spaced = with_matrix(
            lambda rng, *shape, half=half: 0.2 * half(rng, *shape) + 4.0 * np.arange(5.0), (3, 5)
        )
        yield Case(
            f"eig_banded {lower}",
            lambda scipy, ab, lower=lower: eigen(*scipy.linalg.eig_banded(ab, lower=lower)),
            spaced,
            value_rtol=LOOSE,
        )
        yield Case(
            f"eigvals_banded {lower}",
            lambda scipy, ab, lower=lower: scipy.linalg.eigvals_banded(ab, lower=lower),
            spaced,
            value_rtol=0.0,
        )
    two = lambda rng: (rng.normal(size=5) + 3.0 * np.arange(5.0), rng.normal(size=4))  # noqa: E731
    yield Case(
        "eigh_tridiagonal",
        lambda scipy, d, e: eigen(*scipy.linalg.eigh_tridiagonal(d, e)),
        two,
        (0, 1),
        value_rtol=LOOSE,
    )
    yield Case(
        "eigvalsh_tridiagonal",
        lambda scipy, d, e: scipy.linalg.eigvalsh_tridiagonal(d, e),
        two,
        (0, 1),
        value_rtol=0.0,
    )


def toeplitz_vectors(*b: int) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        c, r = rng.normal(size=4), rng.normal(size=4)
        c[0] = 6.0
        return c, r, rng.normal(size=b)

    return draw


def stable(rng: np.random.Generator, *shape: int) -> Any:
    """Eigenvalues within the unit circle."""
    a = rng.normal(size=shape)
    return 0.7 * a / np.max(np.abs(np.linalg.eigvals(a)))


def half(x: Any) -> Any:
    """The symmetric matrix of a matrix, so that derivatives go along symmetric ones."""
    return x + x.T


def riccati(rng: np.random.Generator) -> tuple[Any, ...]:
    shapes = (4, 4), (4, 2), (4, 4), (2, 2), (4, 4), (4, 2)
    a, b, q, r, e, s = (rng.normal(size=shape) for shape in shapes)
    return a, b, 0.2 * q + 3.0 * np.eye(4), 0.2 * r + np.eye(2), 0.1 * e + np.eye(4), 0.1 * s


def scipy_equations() -> Iterator[Case]:
    for b in ((4,), (4, 2)):
        yield Case(
            f"solve_toeplitz {b}",
            lambda scipy, c, r, b: scipy.linalg.solve_toeplitz((c, r), b),
            toeplitz_vectors(*b),
            (0, 1, 2),
        )
        yield Case(
            f"matmul_toeplitz {b}",
            lambda scipy, c, r, b: scipy.linalg.matmul_toeplitz((c, r), b),
            toeplitz_vectors(*b),
            (0, 1, 2),
        )
    yield Case(
        "solve_toeplitz of a column",
        lambda scipy, c, r, b: scipy.linalg.solve_toeplitz(c, b),
        toeplitz_vectors(4),
        (0, 2),
    )
    yield Case(
        "solve_circulant",
        lambda scipy, c, r, b: scipy.linalg.solve_circulant(c, b),
        toeplitz_vectors(4),
        (0, 2),
    )
    for method in (None, "direct", "bilinear"):
        yield Case(
            f"solve_discrete_lyapunov {method}",
            lambda scipy, a, q, method=method: scipy.linalg.solve_discrete_lyapunov(a, q, method),
            with_matrix(stable, (3, 3), (3, 3)),
            (0, 1),
            value_rtol=0.0,
        )
    for name in ("solve_continuous_are", "solve_discrete_are"):
        yield Case(
            name,
            lambda scipy, a, b, q, r, e, s, name=name: getattr(scipy.linalg, name)(
                a, b, half(q), half(r)
            ),
            riccati,
            (0, 1, 2, 3),
            value_rtol=0.0,
        )
        yield Case(
            f"{name} of all",
            lambda scipy, a, b, q, r, e, s, name=name: getattr(scipy.linalg, name)(
                a, b, half(q), half(r), e=e, s=s
            ),
            riccati,
            (0, 1, 2, 3, 4, 5),
            value_rtol=0.0,
        )
    for side, shapes in (("right", [(3, 3), (4, 2)]), ("left", [(3, 3), (2, 4)])):
        yield from each(
            f"polar {side}",
            lambda scipy, a, side=side: scipy.linalg.polar(a, side=side),
            regular,
            shapes,
            value_rtol=0.0,
        )
    yield Case(
        "orthogonal_procrustes",
        lambda scipy, a, b: scipy.linalg.orthogonal_procrustes(a, b),
        arrays((5, 3), (5, 3)),
        (0, 1),
        value_rtol=0.0,
    )
    yield Case(
        "orthogonal_procrustes, of less than full rank",
        lambda scipy, a, b: (lambda r, s: (a @ r, s))(*scipy.linalg.orthogonal_procrustes(a, b)),
        arrays((2, 3), (2, 3)),
        (0, 1),
    )
    for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm"):
        yield from each(
            name,
            lambda scipy, a, name=name: getattr(scipy.linalg, name)(a),
            stable,
            [(3, 3)],
        )
    yield from each(
        "signm", lambda scipy, a: scipy.linalg.signm(a), symmetric, [(4, 4)], value_rtol=0.0
    )
    for t in (0.5, -1.3, 2.7, 3, -2):
        yield from each(
            f"fractional_matrix_power {t}",
            lambda scipy, a, t=t: scipy.linalg.fractional_matrix_power(a, t),
            graded,
            [(3, 3)],
            value_rtol=0.0,
        )
    yield from each(
        "funm", lambda scipy, a: scipy.linalg.funm(a, lambda z: z * z * z), graded, [(3, 3)]
    )
    yield from each(
        "orth", lambda scipy, a: projector(scipy.linalg.orth(a)), regular, [(4, 2), (3, 3)]
    )
    yield from each(
        "null_space", lambda scipy, a: projector(scipy.linalg.null_space(a)), regular, [(2, 4)]
    )
    for lower in (False, True):
        yield from each(
            f"pinvh {lower}",
            lambda scipy, a, lower=lower: scipy.linalg.pinvh(a, lower=lower),
            symmetric,
            [(3, 3)],
            value_rtol=LOOSE,
        )
    for shapes in ([(5, 2), (5, 3)], [(5, 3), (5, 2)], [(4, 2), (4, 2)]):
        yield Case(
            f"subspace_angles {shapes}",
            lambda scipy, a, b: scipy.linalg.subspace_angles(a, b),
            arrays(*shapes),
            (0, 1),
            value_rtol=0.0,
        )
    yield from each(
        "schur",
        lambda scipy, a: scipy.linalg.schur(a),
        real_eigenvalues,
        [(4, 4), (1, 1)],
        value_rtol=0.0,
    )
    yield from each(
        "schur complex",
        lambda scipy, a: tuple(
            (x * x.conj()).real for x in scipy.linalg.schur(a, output="complex")
        ),
        regular,
        [(3, 3)],
    )
    yield from each(
        "rq",
        lambda scipy, a: scipy.linalg.rq(a, mode="economic"),
        regular,
        [(3, 3), (2, 4)],
        value_rtol=0.0,
    )
    for lower in (False, True):
        yield from each(
            f"ldl {lower}",
            lambda scipy, a, lower=lower: scipy.linalg.ldl(a, lower=lower)[:2],
            positive,
            [(4, 4)],
            value_rtol=0.0,
        )
    yield from each(
        "matrix_balance", lambda scipy, a: scipy.linalg.matrix_balance(a)[0], graded, [(3, 3)]
    )
    yield Case(
        "fiedler_companion", lambda scipy, a: scipy.linalg.fiedler_companion(a), spread((6,))
    )
    yield Case("diagsvd", lambda scipy, s: scipy.linalg.diagsvd(s, 3, 5), arrays((3,)))
    yield Case("companion", lambda scipy, a: scipy.linalg.companion(a), spread((4,)))
    for mode in ("full", "same", "valid"):
        yield Case(
            f"convolution_matrix {mode}",
            lambda scipy, a, mode=mode: scipy.linalg.convolution_matrix(a, 5, mode),
            arrays((3,)),
        )
    yield Case("leslie", lambda scipy, f, s: scipy.linalg.leslie(f, s), arrays((4,), (3,)), (0, 1))
    yield Case(
        "khatri_rao",
        lambda scipy, a, b: scipy.linalg.khatri_rao(a, b),
        arrays((2, 3), (4, 3)),
        (0, 1),
    )


def several(make: Callable[..., Any]) -> Callable[..., Any]:
    """A stack of what is made of one shape."""
    return lambda rng, *shape: np.stack([make(rng, *shape[1:]) for _ in range(shape[0])])


def scipy_stacks() -> Iterator[Case]:
    """Stacks of matrices, or of vectors, beside single ones, where this SciPy takes them."""
    bands, upper = several(banded(1, 1)), several(banded(0, 2))
    spaced = several(lambda rng, *shape: 0.2 * banded(0, 2)(rng, *shape) + 4.0 * np.arange(4.0))
    rising = several(lambda rng, *shape: 3.0 * np.arange(4.0) + rng.uniform(size=shape))
    first = several(lambda rng, *shape: 6.0 * np.eye(1, 4)[0] + rng.normal(size=shape))
    second = np.diag([1.0, 2.0, 3.0])
    two = (2, 3, 3)
    calls: dict[str, tuple[Draw, Callable[..., Any]]] = {
        "cho_factor": (
            with_matrix(positive, two, (3,)), lambda la, a, b: la.cho_solve(la.cho_factor(a), b),
        ),
        "cho_solve_banded": (
            with_matrix(upper, (2, 3, 4), (3, 1, 4, 2)),
            lambda la, a, b: la.cho_solve_banded((a, False), b),
        ),
        "cholesky_banded": (with_matrix(upper, (2, 3, 4)), lambda la, a: la.cholesky_banded(a)),
        "companion": (spread((2, 4)), lambda la, a: la.companion(a)),
        "convolution_matrix": (arrays((2, 3)), lambda la, a: la.convolution_matrix(a, 4, "same")),
        "circulant": (arrays((2, 1, 3)), lambda la, a: la.circulant(a)),
        "diagsvd": (arrays((2, 3)), lambda la, s: la.diagsvd(s, 3, 4)),
        "eigvals_banded": (with_matrix(spaced, (2, 3, 4)), lambda la, a: la.eigvals_banded(a)),
        "eigh_tridiagonal": (
            with_matrix(rising, (2, 4), (3,)), lambda la, d, e: eigen(*la.eigh_tridiagonal(d, e)),
        ),
        "eigh of a pair": (
            lambda rng: (symmetric(rng, 2, 1, 3, 3), positive(rng, 2, 3, 3)),
            lambda la, a, b: eigen(*la.eigh(a, b)),
        ),
        "expm_frechet": (arrays(two, (1, 3, 3)), lambda la, a, e: la.expm_frechet(a, e)),
        "fiedler_companion": (spread((2, 5)), lambda la, a: la.fiedler_companion(a)),
        "funm": (
            with_matrix(regular, two), lambda la, a: la.funm(a + second, lambda z: z * z * z),
        ),
        "khatri_rao": (arrays(two, (2, 3)), lambda la, a, b: la.khatri_rao(a, b)),
        "ldl": (with_matrix(positive, two), lambda la, a: la.ldl(a)[:2]),
        "leslie": (arrays((2, 3), (2,)), lambda la, f, s: la.leslie(f, s)),
        "lstsq": (with_matrix(regular, (2, 4, 3), (4,)), lambda la, a, b: la.lstsq(a, b)[:2]),
        "lu": (with_matrix(regular, two), lambda la, a: la.lu(a)[1:]),
        "lu_solve": (
            with_matrix(regular, two, (3,)), lambda la, a, b: la.lu_solve(la.lu_factor(a), b, 1),
        ),
        "matmul_toeplitz": (
            arrays((2, 3), (3,), (2, 3, 2)), lambda la, c, r, x: la.matmul_toeplitz((c, r), x),
        ),
        "matrix_balance": (with_matrix(regular, two), lambda la, a: la.matrix_balance(a)[0]),
        "null_space": (with_matrix(regular, (2, 2, 3)), lambda la, a: la.null_space(a) ** 2),
        "orth": (with_matrix(regular, (2, 3, 2)), lambda la, a: la.orth(a) ** 2),
        "orthogonal_procrustes": (
            arrays((2, 4, 3), (4, 3)), lambda la, a, b: la.orthogonal_procrustes(a, b),
        ),
        "pinvh": (with_matrix(symmetric, two), lambda la, a: la.pinvh(a)),
        "polar": (with_matrix(regular, (2, 4, 3)), lambda la, a: la.polar(a)),
        "qr": (with_matrix(regular, two), lambda la, a: la.qr(a, pivoting=True)[:2]),
        "rq": (with_matrix(regular, two), lambda la, a: la.rq(a)),
        "schur": (with_matrix(real_eigenvalues, two), lambda la, a: la.schur(a)),
        "solve_banded": (
            with_matrix(bands, (2, 3, 4), (4,)), lambda la, a, b: la.solve_banded((1, 1), a, b),
        ),
        "solve_continuous_are": (
            arrays(two, (3, 3)),
            lambda la, a, b: la.solve_continuous_are(a, b + 3.0 * np.eye(3), second, np.eye(3)),
        ),
        "solve_continuous_lyapunov": (
            with_matrix(positive, two, (3, 3)), lambda la, a, q: la.solve_continuous_lyapunov(a, q),
        ),
        "solve_discrete_are": (
            arrays((3, 3), two),
            lambda la, a, b: la.solve_discrete_are(a, b + 3.0 * np.eye(3), second, np.eye(3)),
        ),
        "solve_discrete_lyapunov": (
            with_matrix(regular, two, (3, 3)),
            lambda la, a, q: la.solve_discrete_lyapunov(0.2 * a, q),
        ),
        "solve_sylvester": (
            with_matrix(positive, (2, 1, 3, 3), (2, 3, 3)),
            lambda la, a, q: la.solve_sylvester(a, second, q),
        ),
        "solve_toeplitz": (
            with_matrix(first, (2, 4), (4,)), lambda la, c, b: la.solve_toeplitz(c, b),
        ),
        "solveh_banded": (
            with_matrix(upper, (2, 3, 4), (2, 4, 1)), lambda la, a, b: la.solveh_banded(a, b),
        ),
        "subspace_angles": (
            with_matrix(regular, (2, 1, 5, 2), (2, 5, 2)),
            lambda la, a, b: la.subspace_angles(a, b),
        ),
        "svd": (with_matrix(regular, two), lambda la, a: singular(*la.svd(a))),
        "toeplitz": (arrays((2, 3), (4,)), lambda la, c, r: la.toeplitz(c, r)),
    }  # fmt: skip
    for name, (draw, call) in calls.items():
        args = draw(np.random.default_rng(0))
        if not takes_stacks(call, *args):
            continue
        yield Case(
            f"{name} of stacks",
            lambda scipy, *args, call=call: call(scipy.linalg, *args),
            draw,
            tuple(range(len(args))),
            value_rtol=1e-11,
        )


def takes_stacks(call: Callable[..., Any], *args: Any) -> bool:
    """Whether this SciPy does: older ones refuse stacks, or warn that they make one row of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        try:
            call(scipy.linalg, *args)
        except (ValueError, TypeError, FutureWarning):
            return False
    return True


def of_complex() -> Iterator[Case]:
    """The same functions of complex matrices: squares of absolute values of what they give."""
    b = np.random.default_rng(1).normal(size=(4, 2)) + 1j
    eye = np.eye(4)
    first = np.array([[6.0], [0.0], [0.0]]), np.array([[0.0], [0.0], [6.0]])
    calls: dict[str, tuple[tuple[int, int], Callable[[Any, Any], Any]]] = {
        "solve_banded": ((3, 4), lambda la, z: la.solve_banded((2, 0), z + first[0], b)),
        "solveh_banded": ((3, 4), lambda la, z: la.solveh_banded(z + first[1], b)),
        "solveh_banded lower": ((3, 4), lambda la, z: la.solveh_banded(z + first[0], b, lower=True)),
        "cholesky_banded": ((3, 4), lambda la, z: la.cholesky_banded(z + first[1])),
        "cholesky_banded lower": ((3, 4), lambda la, z: la.cholesky_banded(z + first[0], lower=True)),
        "cho_solve_banded": ((3, 4), lambda la, z: la.cho_solve_banded((z + first[1], False), b)),
        "cho_solve_banded lower": (
            (3, 4), lambda la, z: la.cho_solve_banded((z + first[0], True), b),
        ),
        "eigvals_banded": ((3, 4), lambda la, z: la.eigvals_banded(z + np.arange(0.0, 40.0, 10.0))),
        "eig_banded": ((3, 4), lambda la, z: la.eig_banded(z + np.arange(0.0, 40.0, 10.0))),
        "solve_toeplitz": (
            (2, 4), lambda la, z: la.solve_toeplitz((z[0] + 6.0 * eye[0], z[1] + 6.0 * eye[0]), b),
        ),
        "matmul_toeplitz": ((2, 4), lambda la, z: la.matmul_toeplitz((z[0], z[1]), b)),
        "solve_discrete_lyapunov": ((4, 4), lambda la, z: la.solve_discrete_lyapunov(0.1 * z, eye + 0j)),
        "solve_continuous_are": ((4, 4), lambda la, z: la.solve_continuous_are(0.3 * z - 2.0 * eye, z[:, :2], eye, np.eye(2))),
        "solve_discrete_are": ((4, 4), lambda la, z: la.solve_discrete_are(z, z[:, :2], eye, np.eye(2))),
        "polar": ((4, 4), lambda la, z: la.polar(z + 4.0 * eye)),
        "polar left": ((4, 4), lambda la, z: la.polar(z + 4.0 * eye, side="left")),
        "cosm": ((4, 4), lambda la, z: la.cosm(z)),
        "sinm": ((4, 4), lambda la, z: la.sinm(z)),
        "tanhm": ((4, 4), lambda la, z: la.tanhm(0.1 * z)),
        "signm": ((4, 4), lambda la, z: la.signm(z + np.diag([5.0, -5.0, 4.0, -4.0]))),
        "fractional_matrix_power": ((4, 4), lambda la, z: la.fractional_matrix_power(z + 6.0 * eye, 0.3)),
        "schur": ((4, 4), lambda la, z: la.schur(z + np.diag(np.arange(0.0, 20.0, 5.0)))),
        "ldl": ((4, 4), lambda la, z: la.ldl(z + z.conj().T + 16.0 * eye)[:2]),
        "rq": ((4, 4), lambda la, z: la.rq(z + 4.0 * eye)),
        "pinvh": ((4, 4), lambda la, z: la.pinvh(z + 9.0 * eye)),
        "toeplitz of stacks": ((2, 4), lambda la, z: la.toeplitz(z)),
    }  # fmt: skip
    if not takes_stacks(calls["toeplitz of stacks"][1], np.ones((2, 4))):
        del calls["toeplitz of stacks"]

    def squares(found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(squares, found))
        return (found * found.conj()).real  # smooth at 0, where abs(found) is not

    for name, (shape, call) in calls.items():
        yield Case(
            f"complex {name}",
            lambda scipy, x, y, call=call: squares(call(scipy.linalg, x + 1j * y)),
            arrays(shape, shape),
            (0, 1),
            value_rtol=LOOSE,
        )


def projector(basis: Any) -> Any:
    return basis @ basis.T


SCIPY = [
    replace(case, dispatch=False)
    for case in (
        *scipy_systems(), *scipy_factorizations(), *scipy_matrices(), *scipy_bands(),
        *scipy_equations(), *scipy_stacks(), *of_complex(),
    )
]  # fmt: skip
NUMPY = [*solves(), *factorizations(), *norms(), *products()]
