"""LAPACK as programs call it: NumPy's loops around it, for plain matrices, without NumPy's Python.

The loops stand in a module of NumPy's that is private: where one of them is not found, programs
call the function itself, as they do where LAPACK finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..binding import Loops, shape

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


def _named(a: Any, name: str, kind: str = "") -> tuple[str, str]:
    """What versions call a loop that some of them have twice, for wide and for tall matrices."""
    rows, columns = shape(a)[-2:]
    return name + kind, f"{name}_{'m' if rows < columns else 'n'}{kind}"


def _of_one(
    is_complex: bool, names: tuple[str, ...], kinds: str, signature: str, letters: str, *named: Any
) -> Loops | None:
    """A single loop: z is the type of the matrix, and # what signatures say of its parts."""
    z, parts = _taking(is_complex)
    stage = _stage(kinds.replace("z", z), *names)
    return _loops(signature.replace("#", parts), ((stage, letters),), named or tuple(letters))


def cholesky(is_complex: bool, a: Any, upper: bool = False) -> Any:
    """The lower triangle of a matrix, or the upper one."""
    name = "cholesky_up" if upper else "cholesky_lo"
    if not is_complex:
        return getattr(_LOOPS, name, None)  # unchanged: it ends for all matrices
    return _of_one(True, (name,), "z->z", "(#n,n)->(#n,n)", "al")


def inv(is_complex: bool, a: Any) -> Loops | None:
    return _of_one(is_complex, ("inv",), "z->z", "(#n,n)->(#n,n)", "ax")


def solve_positive() -> Loops | None:
    """The solution x of a @ x = b for a positive definite real matrix a."""
    stages = (_stage("d->d", "cholesky_lo"), "al"), (("cho_solve_by_lower", "dd->d"), "lbx")
    return _loops("(n,n),(n,m)->(n,m)", stages, ("a", "b", "x"))


def eigh(is_complex: bool, a: Any, lower: bool = True) -> Loops | None:
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    name = "eigh_lo" if lower else "eigh_up"
    return _of_one(is_complex, (name,), "z->dz", "(#n,n)->(n),(#n,n)", "awv")


def eigvalsh(is_complex: bool, a: Any, lower: bool = True) -> Loops | None:
    """Eigenvalues of a Hermitian matrix."""
    name = "eigvalsh_lo" if lower else "eigvalsh_up"
    return _of_one(is_complex, (name,), "z->d", "(#n,n)->(n)", "aw")


def eig(is_complex: bool, a: Any, is_turning: bool = False) -> Loops | None:
    """Eigenvalues and eigenvectors, as many as real ones as `eigvals` finds."""
    if is_turning:
        signature, w = "(2,n,n)->(2,n),(2,n,n)", ("w", "complex")
        return _of_one(False, ("eig",), "d->DD", signature, "awv", "a", w, "v")
    return _of_one(is_complex, ("eig",), "z->DD", "(#n,n)->(#n),(#n,n)", "awv")


def eigvals(is_complex: bool, a: Any, is_turning: bool = False) -> Loops | None:
    """Eigenvalues: of a real matrix real ones, or complex ones, if it is turning."""
    if is_turning:
        w = ("w", "complex")
        return _of_one(False, ("eigvals",), "d->D", "(2,n,n)->(2,n)", "aw", "a", w)
    return _of_one(is_complex, ("eigvals",), "z->D", "(#n,n)->(#n)", "aw")


def svd(is_complex: bool, a: Any, full: bool = False) -> Loops | None:
    """Singular vectors u, singular values and singular vectors vh."""
    names = _named(a, "svd", "_f" if full else "_s")
    results = "(#m,m),(k),(#n,n)" if full else "(#m,k),(k),(#k,n)"
    return _of_one(is_complex, names, "z->zdz", f"(#m,n)->{results}", "ausv")


def svdvals(is_complex: bool, a: Any) -> Loops | None:
    return _of_one(is_complex, _named(a, "svd"), "z->d", "(#m,n)->(k)", "as")


def qr(is_complex: bool, a: Any, complete: bool = False) -> Loops | None:
    """The factors q and r: LAPACK leaves r, and what q is made of, in the place of the matrix."""
    d, two = _taking(is_complex)
    raw = _stage(f"{d}->{d}", *_named(a, "qr_r_raw"))
    whole = _stage(f"{d}{d}->{d}", "qr_complete" if complete else "qr_reduced")
    results = f"({two}m,m),({two}m,n)" if complete else f"({two}m,n),({two}n,n)"
    stages = (raw, "at"), (whole, "atq")
    return _loops(f"({two}m,n)->{results}", stages, ("a", "q", ("a", "upper")))


def pinv(is_complex: bool, a: Any, cutoff: Any) -> Loops | None:
    """The pseudo-inverse, without singular values up to so many times the largest: one number."""
    if np.ndim(cutoff):
        return None
    d, two = _taking(is_complex)
    stage = _stage(f"{d}->{d}d{d}", *_named(a, "svd", "_s"))
    inverse = (
        ("pseudo_inverse_of_complex", "DdDd->D") if is_complex else ("pseudo_inverse", "dddd->d")
    )
    stages = (stage, "ausv"), (inverse, "usvcx")
    return _loops(f"({two}m,n),()->({two}n,m)", stages, ("a", "c", "x"), float(cutoff))


def lstsq(is_complex: bool, a: Any, b: Any, cutoff: float) -> Loops | None:
    """The shortest of the x for which a @ x - b is shortest."""
    d, two = _taking(is_complex)
    stage = _stage(f"{d}{d}d->{d}did", *_named(a, "lstsq"))
    signature = f"({two}m,n),({two}m,k),()->({two}n,k)"
    return _loops(signature, ((stage, "abcxers"),), ("a", "b", "c", "x"), float(cutoff))
