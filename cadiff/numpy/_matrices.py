"""Operations on matrices, real or complex: which of the two rules applies is decided here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..binding import is_complex_number, make_complex
from . import _complex_factorizations as of_complex
from . import _factorizations as of_real
from ._factorizations import ComplexResultError

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "mirrored",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangle",
    "svd",
    "svdvals",
]


def either(real: Callable[..., Any], complex_: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices, of which there is one for real and one for complex ones."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_complex_number, args)):
            return complex_(*args, **kwargs)
        return real(*args, **kwargs)

    return function


def where_real(real: Callable[..., Any], complex_: Callable[..., Any]) -> Callable[..., Any]:
    """The same of one matrix, of which the result may be complex though it is real itself."""

    def function(a: Any) -> Any:
        if is_complex_number(a):
            return complex_(a)
        try:
            return real(a)
        except ComplexResultError:
            return complex_(make_complex(a, 0.0))

    return function


cholesky = either(of_real.cholesky, of_complex.cholesky)
det = either(of_real.det, of_complex.det)
eig = where_real(of_real.eig, of_complex.eig)
eigh = either(of_real.eigh, of_complex.eigh)
eigvals = where_real(of_real.eigvals, of_complex.eigvals)
eigvalsh = either(of_real.eigvalsh, of_complex.eigvalsh)
inv = either(of_real.inv, of_complex.inv)
lstsq = either(of_real.lstsq, of_complex.lstsq)
mirrored = either(of_real.mirrored, of_complex.mirrored)
pinv = either(of_real.pinv, of_complex.pinv)
qr = either(of_real.qr, of_complex.qr)
slogdet = either(of_real.slogdet, of_complex.slogdet)
solve = either(of_real.solve, of_complex.solve)
solve_triangle = either(of_real.solve_triangle, of_complex.solve_triangle)
svd = either(of_real.svd, of_complex.svd)
svdvals = either(of_real.svdvals, of_complex.svdvals)
