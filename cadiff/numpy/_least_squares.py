"""Pseudo-inverses and least squares of matrices, real or complex, with their derivatives.

The rules hold as long as the rank stays what it is, as it does near a matrix of full rank. Along
other directions a pseudo-inverse is not even continuous. They are written down in

    Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
        whose variables separate" (1973)

With p = pinv(a), kept = a p a and what is dropped, rest = a - kept, the change of p along x is

    -p x p + p H(p) H(x) (1 - kept p) + (1 - p kept) H(x) H(p) p
        + y(p H(p) H(x) rest + p x) H(rest) + H(y(p x H(rest) rest + H(x) rest)) p

where y(r) solves H(kept) kept y - y H(rest) rest = r for a y within the rows of kept. The second
line counts if more than rounding is dropped.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import binding
from ..operations.primitives import curried
from . import _lapack as lapack
from ._factorizations import TOLERANCE, check_finite
from ._matrices import EPSILON, H, on_matrices, outer_product


@partial(on_matrices, called="pinv")
def _kept(a: Any, p: Any) -> Any:
    """The part of a matrix that its pseudo-inverse p has not dropped."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    ranks = np.rint(np.trace(p @ a, axis1=-2, axis2=-1).real)
    return (u * np.where(np.arange(s.shape[-1]) < ranks[..., None], s, 0.0)[..., None, :]) @ vh


_kept.defvjp(
    lambda ans, a, p: lambda g: g @ H(p @ ans) + H(ans @ p) @ g,
    lambda ans, a, p: lambda g: H(a) @ g @ H(a),
)
_kept.defjvp(lambda g, ans, a, p: g @ (p @ ans) + (ans @ p) @ g, lambda g, ans, a, p: a @ g @ a)
_kept.defpattern("...ij->...kl", "...ji->...kl")


@partial(on_matrices, called="pinv")
def _between(kept: Any, rest: Any, r: Any) -> Any:
    """The y above; its derivatives count within the rows of `kept` alone."""
    _, s, vh = np.linalg.svd(kept, full_matrices=False)
    _, t, wh = np.linalg.svd(rest, full_matrices=False)
    none = (s <= 8.0 * s.shape[-1] * np.finfo(s.dtype).eps * s[..., :1])[..., :, None]
    gaps = (s[..., :, None] - t[..., None, :]) * (s[..., :, None] + t[..., None, :])
    return H(vh) @ (np.where(none, 0.0, vh @ r @ H(wh)) / np.where(none, 1.0, gaps)) @ wh


def _between_pulls(ans: Any, kept: Any, rest: Any, r: Any, g: Any) -> Any:
    y = _between(kept, rest, g)
    left, right = outer_product(y, ans), H(ans) @ y
    return -(kept @ (left + H(left))), rest @ (right + H(right)), y


def _between_push(x: Any, g: Any) -> Any:
    return H(x) @ g + H(g) @ x


_between.defvjp(*(curried(lambda *given, k=k: _between_pulls(*given)[k]) for k in range(3)))
_between.defjvp(
    lambda g, ans, kept, rest, r: -_between(kept, rest, _between_push(kept, g) @ ans),
    lambda g, ans, kept, rest, r: _between(kept, rest, ans @ _between_push(rest, g)),
    lambda g, ans, kept, rest, r: _between(kept, rest, g),
)
_between.defpattern(*["...ij->...kl"] * 3)
_between.deftogether(_between_pulls)


@on_matrices
def pinv(a: Any, **options: Any) -> Any:
    """The pseudo-inverse, with the options of NumPy."""
    check_finite(a)
    return np.linalg.pinv(a, **options)


def _cutoff(
    shape: tuple[int, ...],
    rcond: Any = None,
    hermitian: bool = False,
    rtol: Any = np._NoValue,
    **_: Any,
) -> Any:
    """The part of the largest singular value up to which others are dropped."""
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    return max(shape[-2:]) * EPSILON if rcond is None else np.asarray(rcond)


def _pinv_loops(is_complex: bool, a: Any, **options: Any) -> Any:
    return lapack.pinv(is_complex, a, _cutoff(binding.shape(a), **options))


def _drops(a: Any, atol: Any = None, **options: Any) -> bool:
    """Whether options drop singular values that are more than rounding."""
    shape = binding.shape(a)
    return bool(atol) or bool(np.any(_cutoff(shape, **options) > max(shape[-2:]) * TOLERANCE))


def pinv_push(g: Any, ans: Any, a: Any, **options: Any) -> Any:
    if a.shape[-2] < a.shape[-1]:
        return H(pinv_push(H(g), H(ans), H(a), **options))
    drops = _drops(a, **options)
    kept = _kept(a, ans) if drops else a
    outside = ans @ (H(ans) @ H(g))
    inside = H(g) @ H(ans) @ ans
    tangent = outside - outside @ kept @ ans + inside - ans @ (kept @ inside) - ans @ g @ ans
    if not drops:
        return tangent
    rest = a - kept
    one = _between(kept, rest, outside @ rest + ans @ g)
    other = _between(kept, rest, ans @ (g @ H(rest) @ rest + kept @ (H(g) @ rest)))
    return tangent + ans @ (kept @ one) @ H(rest) + H(other) @ ans


def pinv_pull(ans: Any, a: Any, g: Any, **options: Any) -> Any:
    """H(p) is a function of singular values, whose derivative is its own adjoint."""
    return H(pinv_push(H(g), ans, a, **options))


pinv.calls_lapack(_pinv_loops)
pinv.defrules(pinv_pull, pinv_push, "...ij->...kl")


@on_matrices
def lstsq(a: Any, b: Any, *, cutoff: float) -> Any:
    """The shortest of the x for which a @ x - b is shortest, column by column."""
    check_finite(a)
    check_finite(b)
    return np.linalg.lstsq(a, b, cutoff)[0]


def _lstsq_pull_a(ans: Any, a: Any, b: Any, g: Any, cutoff: float) -> Any:
    p = pinv(a, rcond=cutoff)
    if _drops(a, rcond=cutoff):
        return pinv_pull(p, a, outer_product(g, b), rcond=cutoff)
    image = H(p) @ g
    back = p @ image
    result = outer_product(b - a @ ans, back) - outer_product(image, ans)
    return result + outer_product(H(p) @ ans, g - p @ (a @ g))


def _lstsq_push_a(g: Any, ans: Any, a: Any, b: Any, cutoff: float) -> Any:
    p = pinv(a, rcond=cutoff)
    if _drops(a, rcond=cutoff):
        return pinv_push(g, p, a, rcond=cutoff) @ b
    shift = H(g) @ (H(p) @ ans)
    change = p @ (H(p) @ (H(g) @ (b - a @ ans)) - g @ ans)
    return change + shift - p @ (a @ shift)


lstsq.calls_lapack(lapack.lstsq)
lstsq.defvjp(
    curried(_lstsq_pull_a), lambda ans, a, b, cutoff: lambda g: H(pinv(a, rcond=cutoff)) @ g
)
lstsq.defjvp(_lstsq_push_a, lambda g, ans, a, b, cutoff: pinv(a, rcond=cutoff) @ g)
lstsq.defpattern("...ij->...kl", "...kj->...ij")
