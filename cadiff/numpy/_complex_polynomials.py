"""NumPy's functions of polynomials, with complex coefficients or at complex points."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from .. import binding
from ..operations.complexes import implements_complex, joined
from ._complex import by_parts, function_of
from ._products import poly_of, roots_of

by_parts(np.polyadd, 0, 1)
by_parts(np.polysub, 0, 1)
by_parts(np.polyder, 0)
by_parts(np.polyint, 0, 2, names=("k",))


def _coefficients(p: Any) -> Any:
    p = joined(p)
    return p if binding.ndim(p) else np.reshape(p, 1)


@implements_complex(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """A polynomial, highest power first, by Horner's rule."""
    x = joined(x)
    y = np.zeros(binding.shape(x))[()]
    for coefficient in joined(p):
        y = y * x + coefficient
    return y


@implements_complex(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials; leading zeros are kept."""
    return np.convolve(_coefficients(a1), _coefficients(a2))


@implements_complex(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials."""
    rest, divisor = _coefficients(u), _coefficients(v)
    n = len(divisor)
    quotient = []
    scale = 1.0 / divisor[0]
    for k in range(len(rest) - n + 1):
        factor = scale * rest[k]
        quotient.append(factor)
        rest = np.concatenate([rest[:k], rest[k : k + n] - factor * divisor, rest[k + n :]])
    while len(rest) > 1 and np.allclose(binding.strip(rest[0]), 0.0, rtol=1e-14):
        rest = rest[1:]
    return np.stack(quotient) if quotient else np.zeros(1, complex), rest


@implements_complex(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with given zeros, or the characteristic one of a matrix."""
    return poly_of(_coefficients(seq_of_zeros))


@implements_complex(np.roots)
def roots(p: Any) -> Any:
    """The roots of a polynomial."""
    return roots_of(_coefficients(p))


@implements_complex(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of the elements of a vector as columns."""
    x = joined(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = len(x) if N is None else index(N)
    if n == 0:
        return np.zeros((len(x), 0), complex)
    factors = np.concatenate(
        [np.ones((len(x), 1)), function_of(np.broadcast_to)(x[:, None], (len(x), n - 1))], 1
    )
    powers = np.cumprod(factors, 1)
    return powers if increasing else powers[:, ::-1]
