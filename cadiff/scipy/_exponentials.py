"""The exponential of matrices and its derivative, in plain numbers, for whole stacks at a time.

The algorithm is that of Al-Mohy and Higham, "Computing the Frechet derivative of the matrix
exponential, with an application to condition number estimation" (2009): Pade approximants of the
scaled matrix are differentiated, then squared. `scipy.linalg.expm_frechet` takes one matrix; here
all matrices of a stack that want the same approximant share each operation.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Stack: TypeAlias = NDArray[Any]

# The degrees of approximants, and the largest 1-norms for which each is accurate to double
# precision, and so is its derivative: from table 6.1 of the article.
DEGREES = (3, 5, 7, 9, 13)
LARGEST = np.array([1.08e-2, 2.00e-1, 7.83e-1, 1.78, 4.74])

EPSILON = float(np.finfo(float).eps)
FEW_STEPS = 8  # squarings that leave enough of the digits, as kernels/exponentials.c has it
BYTES = 2**15  # of one stack: what the cache holds, some of them at once

# The coefficients of the numerator, from that of the constant on.
NUMERATORS = {
    3: (120.0, 60.0, 12.0, 1.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    9: (
        17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0,
        3960.0, 90.0, 1.0,
    ),
    13: (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
        129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
        40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    ),
}  # fmt: skip


# The weights of even powers of a in w and v. Of degree 13, which has more of them, the first two
# rows go up to the sixth power, and what the sixth power is to multiply follows.
WEIGHTS = {k: np.array([c[1::2], c[::2]]) for k, c in NUMERATORS.items() if k < 13}
_low, _high = NUMERATORS[13][:8], NUMERATORS[13][8:]
WEIGHTS[13] = np.array([_low[1::2], _low[:7:2], (0.0, *_high[1::2]), (0.0, *_high[::2])])


def exponential(a: Stack) -> Stack:
    """The exponential of matrices, real or complex, or of stacks of them.

    Those that need no scaling share operations; SciPy scales single ones with more care.
    """
    if a.ndim == 2 or not a.size:
        return np.asarray(scipy.linalg.expm(a))
    result = _by_degrees(a.astype(np.result_type(a, float), copy=False), None)
    return result.astype(a.dtype, copy=False) if a.dtype.kind in "fc" else result


def frechet(a: Stack, e: Stack) -> Stack:
    """The derivative of expm at a along e: of matrices, real or complex, or stacks of them."""
    dtype = np.result_type(a, e, float)
    return _by_degrees(a.astype(dtype, copy=False), e.astype(dtype, copy=False))


def _by_degrees(a: Stack, e: Stack | None) -> Stack:
    """Each degree by itself, some matrices at a time."""
    shape = a.shape
    result = np.empty(shape, a.dtype)
    if not a.size:
        return result
    a, results = a.reshape(-1, *shape[-2:]), result.reshape(-1, *shape[-2:])
    e = None if e is None else e.reshape(a.shape)
    sizes = np.abs(a).sum(axis=-2).max(axis=-1)
    degrees = np.searchsorted(LARGEST, sizes)
    if len(a) == 1:
        return _of_degree(int(degrees[0]), a, e, sizes).reshape(shape)
    single = degrees[0] if (degrees == degrees[0]).all() else None
    count = max(BYTES // a[0].nbytes, 1)
    for degree in (single,) if single is not None else np.unique(degrees):
        rows = np.arange(len(a)) if single is not None else np.flatnonzero(degrees == degree)
        for k in range(0, len(rows), count):
            some = slice(k, k + count) if single is not None else rows[k : k + count]
            along = None if e is None else e[some]
            results[some] = _of_degree(int(degree), a[some], along, sizes[some])
    return result


def _of_degree(place: int, a: Stack, e: Stack | None, sizes: NDArray[np.float64]) -> Stack:
    if place < len(LARGEST):
        return _by_approximant(DEGREES[place], a, e)[0 if e is None else 1]
    if e is None:
        return np.asarray(scipy.linalg.expm(a))
    if sizes.max() > LARGEST[-1] * 2**FEW_STEPS:
        by = balance(a)
        by = by[:, :, None] / by[:, None, :]
        a, e = a / by, e / by
        sizes = np.abs(a).sum(axis=-2).max(axis=-1)
        return by * _squared(a, e, sizes)
    return _squared(a, e, sizes)


def balance(a: Stack) -> NDArray[np.float64]:
    """Powers of two, one for each row, that make rows and columns of each matrix of like size.

    Each squaring doubles what rounding has left, beside the largest element. A zero element counts
    as rounding, so blocks with zeros beside them are balanced, too.
    """
    sizes = np.abs(a)
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    sizes += EPSILON * np.max(sizes, axis=(-2, -1), initial=0.0, keepdims=True)
    result = np.empty(a.shape[:-1])
    for k in np.ndindex(a.shape[:-2]):
        result[k] = scipy.linalg.matrix_balance(sizes[k], permute=False, separate=True)[1][0]
    return result


def _squared(a: Stack, e: Stack, sizes: NDArray[np.float64]) -> Stack:
    """By scaling and squaring."""
    sizes = np.where(np.isfinite(sizes), sizes, LARGEST[-1])
    steps = np.maximum(np.ceil(np.log2(sizes / LARGEST[-1])), 0.0).astype(int)
    scale = np.ldexp(1.0, -steps)[:, None, None]
    r, d = _by_approximant(DEGREES[-1], a * scale, e * scale)
    for k in range(steps.max()):
        more = slice(None) if (steps > k).all() else steps > k
        root, change = r[more], d[more]
        d[more] = root @ change + change @ root
        r[more] = root @ root
    return d


def _by_approximant(degree: int, a: Stack, e: Stack | None) -> tuple[Stack, Stack]:
    """An approximant of the exponential, and, unless e is None, its derivative along e.

    With the even powers in w and v it is the quotient of a w + v and -a w + v.
    """
    weights = WEIGHTS[degree]
    powers = np.empty((weights.shape[1], *a.shape), a.dtype)
    powers[0], powers[1] = np.eye(a.shape[-1]), a @ a
    for k in range(2, len(powers)):
        np.matmul(powers[k - 1], powers[1], out=powers[k])
    w, v, *high = _summed(weights, powers)
    if high:
        w += powers[-1] @ high[0]
        v += powers[-1] @ high[1]
    u = a @ w
    inverse = np.linalg.inv(v - u)  # of small condition, up to these norms
    r = inverse @ (v + u)
    if e is None:
        return r, r
    changes = np.empty_like(powers)
    changes[0], changes[1] = 0.0, a @ e + e @ a
    for k in range(2, len(powers)):
        np.matmul(powers[k - 1], changes[1], out=changes[k])
        changes[k] += changes[k - 1] @ powers[1]
    dw, dv, *dhigh = _summed(weights, changes)
    if high:
        dw += powers[-1] @ dhigh[0] + changes[-1] @ high[0]
        dv += powers[-1] @ dhigh[1] + changes[-1] @ high[1]
    du = a @ dw + e @ w
    return r, inverse @ (du + dv + (du - dv) @ r)


def _summed(weights: NDArray[np.float64], stacks: Stack) -> Stack:
    """Sums of stacks, each with the weights of one row."""
    flat = stacks.view(np.float64).reshape(len(stacks), -1)
    return (weights @ flat).view(stacks.dtype).reshape(len(weights), *stacks.shape[1:])
