"""How the functions of `numpy.linalg` and `scipy.linalg` are called, for the common harness."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
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
BOTH = (False, True)
TALL, WIDE = [(4, 2), (2, 5, 3)], [(2, 4), (2, 3, 5)]


TIGHT = 4e-15


def of(name: str, **how: Any) -> Callable[..., Any]:
    """A call of a function of the package `linalg` of a module."""
    return lambda module, *args: getattr(module.linalg, name)(*args, **how)


def case(
    name: str, call: Callable[..., Any] | str, draw: Draw, value_rtol: float = TIGHT, *by: int
) -> Case:
    """A case that is differentiated by some of its arguments, or by all of them."""
    made = of(call) if isinstance(call, str) else call
    numbers = by or tuple(range(len(draw(np.random.default_rng(0)))))
    return Case(name, made, draw, numbers, value_rtol=value_rtol)


def each(
    name: str, call: Callable[..., Any] | str, make: Any, shapes: Any, value_rtol: float = TIGHT
) -> Iterator[Case]:
    """A case for each shape of a matrix."""
    for shape in shapes:
        label = "x".join(map(str, shape))
        yield case(f"{name} {label}", call, with_matrix(make, shape), value_rtol)


# --- numpy.linalg --------------------------------------------------------------------------------


def solves() -> Iterator[Case]:
    for a, b in [
        *[((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2))],
        *[((3, 3), (2, 3, 1)), ((2, 1, 3, 3), (4, 3, 2)), ((0, 0), (0,)), ((0, 0), (0, 2))],
        ((0, 2, 2), (2, 1)),
    ]:
        yield case(f"solve {a} {b}", "solve", with_matrix(regular, a, b), LOOSE)
    yield from each("inv", "inv", regular, SQUARES)
    yield case(
        "tensorsolve",
        "tensorsolve",
        lambda rng: (regular(rng, 6, 6).reshape(2, 3, 6), rng.normal(size=(2, 3))),
        LOOSE,
    )
    yield case(
        "tensorsolve axes",
        of("tensorsolve", axes=(0, 2)),
        lambda rng: (
            regular(rng, 6, 6).reshape(2, 3, 3, 2).transpose(2, 0, 3, 1),
            rng.normal(size=(2, 3)),
        ),
        LOOSE,
    )
    six = lambda rng: (regular(rng, 6, 6).reshape(6, 2, 3),)  # noqa: E731
    yield case("tensorinv", of("tensorinv", ind=1), six)
    yield from each("pinv", "pinv", regular, [(3, 3), *TALL, *WIDE, (0, 2), (2, 0)], LOOSE)
    hermitian = of("pinv", hermitian=True, rtol=1e-10)
    yield from each("pinv hermitian", hermitian, symmetric, [(3, 3), (2, 2, 2)])
    systems = [
        ((5, 3), (5,)),
        ((5, 3), (5, 2)),
        ((3, 3), (3, 2)),
        ((2, 4), (2,)),
        ((2, 4), (2, 3)),
    ]
    for a, b in systems:
        call = lambda np, a, b: np.linalg.lstsq(a, b)[0]  # noqa: E731
        yield case(f"lstsq {a} {b}", call, with_matrix(regular, a, b))
    yield case(
        "lstsq residuals, singular values",
        lambda np, a, b: np.linalg.lstsq(a, b, rcond=1e-12)[1::2],
        with_matrix(regular, (5, 3), (5, 2)),
        LOOSE,
    )


def full_qr(np: Any, a: Any) -> Any:
    return spans(2, *np.linalg.qr(a, "complete"))


def real_eigen(np: Any, a: Any) -> Any:
    return tuple(map(real_part, eigen(*np.linalg.eig(a))))


def factorizations() -> Iterator[Case]:
    yield from each("det", "det", regular, SQUARES)
    yield from each("slogdet", lambda np, a: np.linalg.slogdet(a)[1], regular, SQUARES)
    yield from each("cholesky", "cholesky", positive, SQUARES)
    yield from each("cholesky upper", of("cholesky", upper=True), positive, SQUARES)
    shapes = [(3, 3), (1, 1), *TALL, *WIDE, (3, 0), (0, 3)]
    for mode in ("reduced", "r"):
        yield from each(f"qr {mode}", of("qr", mode=mode), regular, shapes, LOOSE)
    yield from each("qr complete", full_qr, regular, [(4, 2), (3, 4, 2)], 1e-12)
    for uplo in "LU":
        call = lambda np, a, uplo=uplo: eigen(*np.linalg.eigh(a, uplo))  # noqa: E731
        yield from each(f"eigh {uplo}", call, symmetric, SQUARES, LOOSE)
        yield from each(f"eigvalsh {uplo}", of("eigvalsh", UPLO=uplo), symmetric, SQUARES)
    yield from each("eig", real_eigen, real_eigenvalues, SQUARES, LOOSE)
    call = lambda np, a: real_part(np.linalg.eigvals(a))  # noqa: E731
    yield from each("eigvals", call, real_eigenvalues, SQUARES)
    shapes = [(3, 3), (1, 1), *TALL, *WIDE]
    call = lambda np, a: singular(*np.linalg.svd(a, full_matrices=False))  # noqa: E731
    yield from each("svd", call, regular, shapes, LOOSE)
    call = lambda np, a: full_svd(*np.linalg.svd(a))  # noqa: E731
    yield from each("svd full", call, regular, [(4, 2), (2, 4), (3, 2, 3)], 1e-11)
    yield from each("svd values", of("svd", compute_uv=False), regular, shapes)
    yield from each("svdvals", "svdvals", regular, [*shapes, (0, 2), (2, 0)])
    call = lambda np, a: singular(*np.linalg.svd(a, hermitian=True))  # noqa: E731
    yield from each("svd hermitian", call, symmetric, [(3, 3), (2, 3, 3)], LOOSE)


def norms() -> Iterator[Case]:
    def norm(label: str, shape: tuple[int, ...], **how: Any) -> Case:
        return case(f"norm {label}", of("norm", **how), spread(shape), LOOSE)

    for order in (None, 1, 2, 3, 4, 1.5, -1, -2.5, np.inf, -np.inf):
        for shape, axis in [((5,), None), ((1,), None), ((3, 4), 0), ((2, 3, 4), -2)]:
            if order is None or axis is not None or len(shape) == 1:
                for keepdims in (False, True):
                    label = f"vectors {order} {shape} {axis} {keepdims}"
                    yield norm(label, shape, ord=order, axis=axis, keepdims=keepdims)
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for shape, axis in [((3, 4), None), ((3, 2, 4), (0, -1)), ((3, 2, 4), (2, 0))]:
            for keepdims in (False, True):
                label = f"matrices {order} {shape} {axis} {keepdims}"
                yield norm(label, shape, ord=order, axis=axis, keepdims=keepdims)
    yield norm("all 3-d", (2, 3, 2))
    yield norm("all 3-d, kept", (2, 3, 2), keepdims=True)
    yield norm("0-d", ())
    for axis in (None, 1, (0, 2), (2, 0)):
        for keepdims in (False, True):
            call = of("vector_norm", axis=axis, keepdims=keepdims, ord=3)
            yield case(f"vector_norm {axis} {keepdims}", call, spread((2, 3, 4)), LOOSE)
    for order in ("fro", "nuc", 1, 2):
        call = of("matrix_norm", ord=order, keepdims=True)
        yield case(f"matrix_norm {order}", call, spread((2, 3, 2)), LOOSE)
    for order in (None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"):
        yield from each(f"cond {order}", of("cond", p=order), graded, [(3, 3), (2, 2, 2)], LOOSE)


def products() -> Iterator[Case]:
    for n in (1, 2, 3, 5, 8, -1, -3):
        yield from each(f"matrix_power {n}", of("matrix_power", n=n), regular, [(3, 3), (2, 2, 2)])
    for shapes in [
        *[
            ((2, 5), (5, 3)),
            ((2, 5), (5, 3), (3, 4)),
            ((5,), (5, 3), (3,)),
            ((5,), (5, 3), (3, 2)),
        ],
        ((2, 5), (5, 1), (1, 6), (6, 2), (2,)),
    ]:
        call = lambda np, *items: np.linalg.multi_dot(items)  # noqa: E731
        yield case(f"multi_dot {shapes}", call, arrays(*shapes), LOOSE)
    yield case("matmul", "matmul", arrays((2, 3), (4, 3, 2)))
    for offset in (0, 1, -2, 5, -5):
        for name in ("diagonal", "trace"):
            yield case(f"{name} {offset}", of(name, offset=offset), arrays((2, 3, 4)))
    yield case("matrix_transpose", "matrix_transpose", arrays((2, 3, 4)))
    yield case("outer", "outer", arrays((2,), (3,)))
    for shapes, axis in [(((3,), (4, 3)), -1), (((3, 4), (3, 1)), 0), (((2, 3), (2, 3)), 1)]:
        for name in ("cross", "vecdot"):
            yield case(f"{name} {shapes}", of(name, axis=axis), arrays(*shapes), LOOSE)
    yield case("tensordot", of("tensordot", axes=1), arrays((2, 3), (3, 2)))


# --- scipy.linalg --------------------------------------------------------------------------------


def known(assume_a: str | None) -> bool:
    """Whether this version of SciPy knows the structure."""
    try:
        scipy.linalg.solve(np.eye(1), np.ones(1), assume_a=assume_a)
    except (KeyError, ValueError):
        return False
    return True


STRUCTURES = ["gen", "sym", "pos", "her", "upper triangular", "diagonal", "tridiagonal", None]


def shown(*values: Any) -> str:
    return " ".join(map(str, values))


def scipy_systems() -> Iterator[Case]:
    system = with_matrix(positive, (3, 3), (3, 2))
    for kind, lower, transposed in product(filter(known, STRUCTURES), BOTH, BOTH):
        if kind != "her" or not transposed:
            call = of("solve", assume_a=kind, lower=lower, transposed=transposed)
            yield case(f"solve {shown(kind, lower, transposed)}", call, system)
    yield case("solve vector", "solve", with_matrix(regular, (3, 3), (3,)))
    for lower, b in product(BOTH, ((3,), (3, 2))):
        for trans, unit in product((0, 1, "N", "T", "C"), BOTH):
            call = of("solve_triangular", trans=trans, lower=lower, unit_diagonal=unit)
            name = f"solve_triangular {shown(lower, trans, unit, b)}"
            yield case(name, call, with_matrix(positive, (3, 3), b))

        def by_cholesky(scipy: Any, a: Any, b: Any, lower: bool = lower) -> Any:
            return scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower=lower), b)

        def by_lu(scipy: Any, a: Any, b: Any, trans: int = int(lower)) -> Any:
            return scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans=trans)

        yield case(f"cho_solve {lower} {b}", by_cholesky, with_matrix(positive, (3, 3), b), LOOSE)
        yield case(f"lu_solve {lower} {b}", by_lu, with_matrix(regular, (3, 3), b), LOOSE)
    for permute in BOTH:
        call = lambda scipy, a, p=permute: scipy.linalg.lu(a, permute_l=p)[-2:]  # noqa: E731
        yield from each(f"lu {permute}", call, regular, [(4, 4)], LOOSE)
    yield from each("lu_factor", lambda scipy, a: scipy.linalg.lu_factor(a)[0], regular, [(4, 4)])
    yield from each("inv sym", "inv", regular, [(3, 3)], LOOSE)
    yield from each("det", "det", regular, [(3, 3)], LOOSE)
    yield from each("pinv", "pinv", regular, [(3, 3), (4, 2), (2, 4)], LOOSE)

    def fit(scipy: Any, a: Any, b: Any) -> Any:
        found = scipy.linalg.lstsq(a, b)
        return tuple(x for x in found[::3] + found[1:2] if x.size)

    for a, b in [((5, 3), (5,)), ((5, 3), (5, 2)), ((2, 4), (2,))]:
        yield case(f"lstsq {a} {b}", fit, with_matrix(regular, a, b), LOOSE)


def pair(rng: np.random.Generator) -> tuple[Any, ...]:
    return symmetric(rng, 4, 4), positive(rng, 4, 4)


def scipy_factorizations() -> Iterator[Case]:
    shapes = [(3, 3), (4, 2), (2, 4)]
    for flag in BOTH:
        yield from each(
            f"cholesky {flag}", of("cholesky", lower=flag), positive, [(3, 3), (1, 1)], LOOSE
        )
        call = lambda scipy, a, k=flag: eigen(*scipy.linalg.eigh(a, lower=k))  # noqa: E731
        yield from each(f"eigh {flag}", call, symmetric, [(4, 4), (1, 1)], LOOSE)

        def of_pair(scipy: Any, a: Any, b: Any, lower: bool = flag) -> Any:
            return eigen(*scipy.linalg.eigh(a, b, lower=lower, subset_by_index=(1, 2)))

        def factors(scipy: Any, a: Any, pivoting: bool = flag) -> Any:
            return scipy.linalg.qr(a, mode="economic", pivoting=pivoting)[:2]

        def triangle(scipy: Any, a: Any, pivoting: bool = flag) -> Any:
            return scipy.linalg.qr(a, mode="r", pivoting=pivoting)[0]

        yield case(f"eigh of a pair {flag}", of_pair, pair, LOOSE)
        yield from each(f"qr {flag}", factors, regular, shapes, 1e-12)
        yield from each(f"qr r {flag}", triangle, regular, shapes, 1e-12)
    call = lambda scipy, a: eigen_of_real(*scipy.linalg.eig(a))  # noqa: E731
    yield from each("eig", call, real_eigenvalues, [(4, 4)])
    call = lambda scipy, a: scipy.linalg.eigvals(a).real  # noqa: E731
    yield from each("eigvals", call, real_eigenvalues, [(4, 4)])
    yield from each("eigvalsh", "eigvalsh", symmetric, [(4, 4)], LOOSE)
    call = lambda scipy, a: singular(*scipy.linalg.svd(a, full_matrices=False))  # noqa: E731
    yield from each("svd", call, regular, shapes, LOOSE)
    yield from each("svdvals", "svdvals", regular, shapes, LOOSE)


def scipy_matrices() -> Iterator[Case]:
    yield from each("expm", "expm", regular, [(3, 3), (1, 1), (0, 0), (2, 3, 3)], LOOSE)
    yield case("expm_frechet", "expm_frechet", arrays((3, 3), (3, 3)), LOOSE)
    yield from each("logm", "logm", graded, [(3, 3), (1, 1)], LOOSE)
    yield from each("sqrtm", "sqrtm", graded, [(3, 3), (1, 1)])
    yield case(
        "solve_sylvester",
        "solve_sylvester",
        lambda rng: (graded(rng, 3, 3), graded(rng, 2, 2), rng.normal(size=(3, 2))),
    )
    lyapunov = with_matrix(graded, (3, 3), (3, 3))
    yield case("solve_continuous_lyapunov", "solve_continuous_lyapunov", lyapunov, LOOSE)
    call = lambda scipy, a, b: scipy.linalg.eigh(a, b)[1]  # noqa: E731
    yield case("vectors of a pair, with their signs", call, pair, 1e-12)
    for order, shape in product((None, 1, 2, np.inf), ((5,), (3, 4))):
        yield case(f"norm {order} {shape}", of("norm", ord=order), spread(shape), LOOSE)
    for name in ("toeplitz", "hankel"):
        for c, r in [((3,), (4,)), ((4,), (1,)), ((1,), (3,))]:
            yield case(f"{name} {c} {r}", name, arrays(c, r))
    for name in ("toeplitz", "hankel", "circulant"):
        yield case(name, name, arrays((4,)))
    yield case("block_diag", "block_diag", arrays((2, 3), (2,), (1, 1), (2, 0)))


def banded(below: int, above: int) -> Callable[..., Any]:
    """Diagonals of a regular matrix, as SciPy keeps them: the corners are noise."""

    def draw(rng: np.random.Generator, *shape: int) -> Any:
        ab = rng.uniform(-1.0, 1.0, size=(below + above + 1, shape[-1]))
        ab[above] += 4.0
        return ab

    return draw


def scipy_bands() -> Iterator[Case]:
    for (below, above), b in product(((1, 1), (2, 0), (0, 1), (1, 2)), ((5,), (5, 2))):

        def solve(scipy: Any, ab: Any, b: Any, widths: Any = (below, above)) -> Any:
            return scipy.linalg.solve_banded(widths, ab, b)

        draw = with_matrix(banded(below, above), (below + above + 1, 5), b)
        yield case(f"solve_banded {below} {above} {b}", solve, draw, 0.0)
    for lower in BOTH:
        half = banded(2, 0) if lower else banded(0, 2)
        spaced = with_matrix(
            lambda rng, *shape, half=half: 0.2 * half(rng, *shape) + 4.0 * np.arange(5.0), (3, 5)
        )

        def by_cholesky(scipy: Any, ab: Any, b: Any, lower: bool = lower) -> Any:
            return scipy.linalg.cho_solve_banded((ab, lower), b)

        def eigenvectors(scipy: Any, ab: Any, lower: bool = lower) -> Any:
            return eigen(*scipy.linalg.eig_banded(ab, lower=lower))

        for b in ((5,), (5, 2)):
            draw = with_matrix(half, (3, 5), b)
            yield case(f"solveh_banded {lower} {b}", of("solveh_banded", lower=lower), draw, 0.0)
            yield case(f"cho_solve_banded {lower} {b}", by_cholesky, draw, 0.0)
        cholesky = of("cholesky_banded", lower=lower)
        yield case(f"cholesky_banded {lower}", cholesky, with_matrix(half, (3, 5)), 0.0)
        yield case(f"eig_banded {lower}", eigenvectors, spaced, LOOSE)
        yield case(f"eigvals_banded {lower}", of("eigvals_banded", lower=lower), spaced, 0.0)
    two = lambda rng: (rng.normal(size=5) + 3.0 * np.arange(5.0), rng.normal(size=4))  # noqa: E731
    call = lambda scipy, d, e: eigen(*scipy.linalg.eigh_tridiagonal(d, e))  # noqa: E731
    yield case("eigh_tridiagonal", call, two, LOOSE)
    yield case("eigvalsh_tridiagonal", "eigvalsh_tridiagonal", two, 0.0)


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
        for name in ("solve_toeplitz", "matmul_toeplitz"):

            def call(scipy: Any, c: Any, r: Any, b: Any, name: str = name) -> Any:
                return getattr(scipy.linalg, name)((c, r), b)

            yield case(f"{name} {b}", call, toeplitz_vectors(*b))
    for name, label in (("solve_toeplitz", " of a column"), ("solve_circulant", "")):

        def of_column(scipy: Any, c: Any, r: Any, b: Any, name: str = name) -> Any:
            return getattr(scipy.linalg, name)(c, b)

        yield case(f"{name}{label}", of_column, toeplitz_vectors(4), TIGHT, 0, 2)
    for method in (None, "direct", "bilinear"):
        discrete = of("solve_discrete_lyapunov", method=method)
        draw = with_matrix(stable, (3, 3), (3, 3))
        yield case(f"solve_discrete_lyapunov {method}", discrete, draw, 0.0)
    for name in ("solve_continuous_are", "solve_discrete_are"):

        def of_four(scipy: Any, a: Any, b: Any, q: Any, r: Any, *_: Any, name: str = name) -> Any:
            return getattr(scipy.linalg, name)(a, b, half(q), half(r))

        def of_all(
            scipy: Any, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, name: str = name
        ) -> Any:
            return getattr(scipy.linalg, name)(a, b, half(q), half(r), e=e, s=s)

        yield case(name, of_four, riccati, 0.0, 0, 1, 2, 3)
        yield case(f"{name} of all", of_all, riccati, 0.0)
    for side, shapes in (("right", [(3, 3), (4, 2)]), ("left", [(3, 3), (2, 4)])):
        yield from each(f"polar {side}", of("polar", side=side), regular, shapes, 0.0)
    name = "orthogonal_procrustes"
    yield case(name, name, arrays((5, 3), (5, 3)), 0.0)

    def rotated(scipy: Any, a: Any, b: Any) -> Any:
        r, s = scipy.linalg.orthogonal_procrustes(a, b)
        return a @ r, s

    yield case(f"{name}, of less than full rank", rotated, arrays((2, 3), (2, 3)))
    for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm"):
        yield from each(name, name, stable, [(3, 3)])
    yield from each("signm", "signm", symmetric, [(4, 4)], 0.0)
    for t in (0.5, -1.3, 2.7, 3, -2):
        power = of("fractional_matrix_power", t=t)
        yield from each(f"fractional_matrix_power {t}", power, graded, [(3, 3)], 0.0)
    yield from each("funm", of("funm", func=lambda z: z * z * z), graded, [(3, 3)])
    shapes = [(4, 2), (3, 3)]
    yield from each("orth", lambda scipy, a: projector(scipy.linalg.orth(a)), regular, shapes)
    null = lambda scipy, a: projector(scipy.linalg.null_space(a))  # noqa: E731
    yield from each("null_space", null, regular, [(2, 4)])
    for lower in BOTH:
        yield from each(f"pinvh {lower}", of("pinvh", lower=lower), symmetric, [(3, 3)], LOOSE)
        ldl = lambda scipy, a, k=lower: scipy.linalg.ldl(a, lower=k)[:2]  # noqa: E731
        yield from each(f"ldl {lower}", ldl, positive, [(4, 4)], 0.0)
    for shapes in ([(5, 2), (5, 3)], [(5, 3), (5, 2)], [(4, 2), (4, 2)]):
        yield case(f"subspace_angles {shapes}", "subspace_angles", arrays(*shapes), 0.0)
    yield from each("schur", "schur", real_eigenvalues, [(4, 4), (1, 1)], 0.0)

    def complex_schur(scipy: Any, a: Any) -> Any:
        return tuple((x * x.conj()).real for x in scipy.linalg.schur(a, output="complex"))

    yield from each("schur complex", complex_schur, regular, [(3, 3)])
    yield from each("rq", of("rq", mode="economic"), regular, [(3, 3), (2, 4)], 0.0)
    balance = lambda scipy, a: scipy.linalg.matrix_balance(a)[0]  # noqa: E731
    yield from each("matrix_balance", balance, graded, [(3, 3)])
    yield case("fiedler_companion", "fiedler_companion", spread((6,)))
    yield case("diagsvd", of("diagsvd", M=3, N=5), arrays((3,)))
    yield case("companion", "companion", spread((4,)))
    for mode in ("full", "same", "valid"):
        yield case(
            f"convolution_matrix {mode}", of("convolution_matrix", n=5, mode=mode), arrays((3,))
        )
    yield case("leslie", "leslie", arrays((4,), (3,)))
    yield case("khatri_rao", "khatri_rao", arrays((2, 3), (4, 3)))


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
        of_stacks = lambda scipy, *args, call=call: call(scipy.linalg, *args)  # noqa: E731
        yield case(f"{name} of stacks", of_stacks, draw, 1e-11)


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

        def of_parts(scipy: Any, x: Any, y: Any, call: Any = call) -> Any:
            return squares(call(scipy.linalg, x + 1j * y))

        yield case(f"complex {name}", of_parts, arrays(shape, shape), LOOSE)


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
