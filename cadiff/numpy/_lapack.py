"""LAPACK as programs call it: NumPy's loops around it, for plain matrices, without NumPy's Python.

The loops stand in a module of NumPy's that is private: where one of them is not found, programs
call the function itself, as they do where LAPACK finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..binding import Loops

_LOOPS: Any = getattr(np.linalg, "_umath_linalg", None)

Stages = tuple[tuple[Any, str], ...]
Found = Callable[..., Loops | None]


def _stage(kinds: str, *names: str) -> Any:
    """A ufunc of the first of these names, which versions have, for types; None if none is."""
    for name in names:
        ufunc = getattr(_LOOPS, name, None)
        if ufunc is not None and kinds in ufunc.types:
            return ufunc, kinds
    return None


def _loops(
    signature: str, stages: Stages, buffers: tuple[Any, ...], *constants: Any
) -> Loops | None:
    if any(stage is None for stage, _ in stages):
        return None
    return Loops(signature, stages, buffers, constants)


def _taking(is_complex: bool) -> tuple[str, str]:
    """The letter of a type, and what signatures say of its matrices."""
    return ("D", "2,") if is_complex else ("d", "")


def _named(shape: tuple[int, ...], name: str, kind: str = "") -> tuple[str, str]:
    """What versions call a loop that some of them have twice, for wide and for tall matrices."""
    which = "m" if shape[-2] < shape[-1] else "n"
    return name + kind, f"{name}_{which}{kind}"


def cholesky(is_complex: bool, upper: bool) -> Any:
    """The lower triangle of a matrix, or the upper one."""
    name = "cholesky_up" if upper else "cholesky_lo"
    if not is_complex:
        return getattr(_LOOPS, name, None)  # as it is: it ends for all matrices
    return _loops("(2,n,n)->(2,n,n)", ((_stage("D->D", name), "al"),), ("a", "l"))


def inv(is_complex: bool) -> Loops | None:
    """The inverse matrix."""
    d, two = _taking(is_complex)
    stages = ((_stage(f"{d}->{d}", "inv"), "ax"),)
    return _loops(f"({two}n,n)->({two}n,n)", stages, ("a", "x"))


def solve_positive() -> Loops | None:
    """The solution x of a @ x = b for a positive definite real matrix a."""
    stages = (_stage("d->d", "cholesky_lo"), "al"), (("cho_solve_by_lower", "dd->d"), "lbx")
    return _loops("(n,n),(n,m)->(n,m)", stages, ("a", "b", "x"))


def eigh(is_complex: bool, lower: bool) -> Loops | None:
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    d, two = _taking(is_complex)
    stage = _stage(f"{d}->d{d}", "eigh_lo" if lower else "eigh_up")
    return _loops(f"({two}n,n)->(n),({two}n,n)", ((stage, "awv"),), ("a", "w", "v"))


def eigvalsh(is_complex: bool, lower: bool) -> Loops | None:
    """Eigenvalues of a Hermitian matrix."""
    d, two = _taking(is_complex)
    stage = _stage(f"{d}->d", "eigvalsh_lo" if lower else "eigvalsh_up")
    return _loops(f"({two}n,n)->(n)", ((stage, "aw"),), ("a", "w"))


def eig(is_complex: bool, is_turning: bool = False) -> Loops | None:
    """Eigenvalues and eigenvectors, as many as real ones as `eigvals` finds."""
    given = "2," if is_complex or is_turning else ""
    stage = _stage("D->DD" if is_complex else "d->DD", "eig")
    w = ("w", "complex") if is_turning else "w"
    signature = f"({given}n,n)->({given}n),({given}n,n)"
    return _loops(signature, ((stage, "awv"),), ("a", w, "v"))


def eigvals(is_complex: bool, is_turning: bool = False) -> Loops | None:
    """Eigenvalues: of a real matrix real ones, or complex ones, if it is turning."""
    given = "2," if is_complex or is_turning else ""
    stage = _stage("D->D" if is_complex else "d->D", "eigvals")
    w = ("w", "complex") if is_turning else "w"
    return _loops(f"({given}n,n)->({given}n)", ((stage, "aw"),), ("a", w))


def svd(is_complex: bool, shape: tuple[int, ...], full: bool) -> Loops | None:
    """Singular vectors u, singular values and singular vectors vh."""
    d, two = _taking(is_complex)
    stage = _stage(f"{d}->{d}d{d}", *_named(shape, "svd", "_f" if full else "_s"))
    results = f"({two}m,m),(k),({two}n,n)" if full else f"({two}m,k),(k),({two}k,n)"
    return _loops(f"({two}m,n)->{results}", ((stage, "ausv"),), ("a", "u", "s", "v"))


def svdvals(is_complex: bool, shape: tuple[int, ...]) -> Loops | None:
    """Singular values."""
    d, two = _taking(is_complex)
    stage = _stage(f"{d}->d", *_named(shape, "svd"))
    return _loops(f"({two}m,n)->(k)", ((stage, "as"),), ("a", "s"))


def qr(is_complex: bool, shape: tuple[int, ...], complete: bool) -> Loops | None:
    """The factors q and r: LAPACK leaves r, and what q is made of, in the place of the matrix."""
    d, two = _taking(is_complex)
    raw = _stage(f"{d}->{d}", *_named(shape, "qr_r_raw"))
    whole = _stage(f"{d}{d}->{d}", "qr_complete" if complete else "qr_reduced")
    results = f"({two}m,m),({two}m,n)" if complete else f"({two}m,n),({two}n,n)"
    stages = (raw, "at"), (whole, "atq")
    return _loops(f"({two}m,n)->{results}", stages, ("a", "q", ("a", "upper")))


def pinv(is_complex: bool, shape: tuple[int, ...], cutoff: Any) -> Loops | None:
    """The pseudo-inverse, without singular values up to so many times the largest: one number."""
    if np.ndim(cutoff):
        return None
    d, two = _taking(is_complex)
    stage = _stage(f"{d}->{d}d{d}", *_named(shape, "svd", "_s"))
    inverse = (
        ("pseudo_inverse_of_complex", "DdDd->D") if is_complex else ("pseudo_inverse", "dddd->d")
    )
    stages = (stage, "ausv"), (inverse, "usvcx")
    return _loops(f"({two}m,n),()->({two}n,m)", stages, ("a", "c", "x"), float(cutoff))


def lstsq(is_complex: bool, shape: tuple[int, ...], cutoff: float) -> Loops | None:
    """The shortest of the x for which a @ x - b is shortest."""
    d, two = _taking(is_complex)
    stage = _stage(f"{d}{d}d->{d}did", *_named(shape, "lstsq"))
    return _loops(
        f"({two}m,n),({two}m,k),()->({two}n,k)",
        ((stage, "abcxers"),),
        ("a", "b", "c", "x"),
        float(cutoff),
    )
