"""Rotations near the identity: functions of the length of a vector that are smooth where it is 0.

SciPy computes them of the length, which has no derivative there, and by series of its square
where it is short. The square, of which all of them are analytic functions, is smooth: here they
are functions of it, so that derivatives of any order are those of the series.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import bernoulli

from ..binding import carries, plain_constants, shape
from ..numpy import linalg
from ..numpy._common import Number, as_number
from ..numpy._matrices import T, hermitian, on_matrices
from ..operations.arrays import concatenate, stack
from ..operations.arrays import sum as sum_
from ..operations.guards import NoDerivativeError, held, valued
from ..operations.table import arctan2, cos, sin, sqrt, square, tan, where
from . import _arrays
from ._mirror import kernels, mirrored

ROTATIONS = "scipy.spatial.transform._rotation_xp"
RIGID = "scipy.spatial.transform._rigid_transform_xp"
SPLINE = "scipy.spatial.transform._rotation_spline"

SHORT = 0.1  # so long are vectors at most for which series are taken, ...
TERMS = 9  # ... of as many terms: what they leave out is less than rounding


def _alternating(coefficient: Callable[[int], float]) -> list[float]:
    return [(-1) ** k * coefficient(k) for k in range(TERMS)]


def _series(coefficients: Sequence[float], s: Number) -> Number:
    total: Number = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * s + c
    return total


def _of_square(
    coefficients: Sequence[float], formula: Callable[[Number], Number]
) -> Callable[[Number], Number]:
    """A function of a square: by its series where that is small, else by a formula of the root."""

    def function(s: Number) -> Number:
        is_small = held(s) <= SHORT**2
        long = formula(sqrt(where(is_small, 1.0, s)))
        return where(is_small, _series(coefficients, where(is_small, s, 0.0)), long)

    return function


def _factorial_series(above: Callable[[int], float], n: int) -> list[float]:
    return _alternating(lambda k: above(k) / math.factorial(2 * k + n))


half_sine = _of_square(  # sin(a / 2) / a
    _alternating(lambda k: 0.5 ** (2 * k + 1) / math.factorial(2 * k + 1)),
    lambda a: sin(a / 2.0) / a,
)
half_cosine = _of_square(  # cos(a / 2)
    _alternating(lambda k: 0.25**k / math.factorial(2 * k)), lambda a: cos(a / 2.0)
)
versine = _of_square(  # (1 - cos a) / a²
    _factorial_series(lambda _: 1.0, 2), lambda a: (1.0 - cos(a)) / a**2
)
missing_sine = _of_square(  # (a - sin a) / a³
    _factorial_series(lambda _: 1.0, 3), lambda a: (a - sin(a)) / a**3
)
missing_cotangent = _of_square(  # (1 - a/2 cot(a/2)) / a², by Bernoulli's numbers
    [abs(b) / math.factorial(2 * k + 2) for k, b in enumerate(bernoulli(2 * TERMS)[2::2])],
    lambda a: (1.0 - 0.5 * a / tan(0.5 * a)) / a**2,
)
_rate_of_versine = _of_square(  # (2 - 2 cos a - a sin a) / a⁴
    _factorial_series(lambda k: 2.0 * k + 2.0, 4),
    lambda a: (2.0 * (1.0 - cos(a)) - a * sin(a)) / a**4,
)
_rate_of_missing_sine = _of_square(  # (3 sin a - 2 a - a cos a) / a⁵
    _factorial_series(lambda k: -2.0 * k - 2.0, 5),
    lambda a: (3.0 * sin(a) - 2.0 * a - a * cos(a)) / a**5,
)

ARCTANGENT = _alternating(lambda k: 1.0 / (2 * k + 1))  # of atan(r) / r, by r²


def _square(v: Number) -> Number:
    return sum_(square(v), axis=-1, keepdims=True)


def _checked(rotvec: Any, degrees: bool = False) -> Number:
    v = as_number(rotvec)
    if shape(v)[-1] != 3:
        raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {shape(v)}")
    return v * (math.pi / 180.0) if degrees else v


@kernels(ROTATIONS)
def from_rotvec(rotvec: Any, degrees: bool = False) -> Number:
    """The quaternion (v sin(a / 2) / a, cos(a / 2)) of a vector v of the length a."""
    v = _checked(rotvec, degrees)
    s = _square(v)
    return concatenate([v * half_sine(s), half_cosine(s)], axis=-1)


@kernels(ROTATIONS)
def as_rotvec(quat: Any, degrees: bool = False) -> Number:
    """The vector of a quaternion: its vector times a / sin(a / 2), where tan(a / 2) = |v| / w."""
    q = as_number(mirrored(ROTATIONS)._quat_canonical(quat))
    v, w = q[..., :3], q[..., 3:]
    s = _square(v)
    is_small = held(s) <= SHORT**2 * held(w) ** 2
    ratio = where(is_small, s, 0.0) / square(where(is_small, w, 1.0))
    short = 2.0 * _series(ARCTANGENT, ratio) * sqrt(1.0 + ratio)
    length = sqrt(where(is_small, 1.0, s))
    half = arctan2(length, w)
    scale = where(is_small, short, 2.0 * half / sin(half))
    return (scale * (180.0 / math.pi) if degrees else scale) * v


# --- matrices ------------------------------------------------------------------------------------


@functools.partial(on_matrices, called="from_matrix")
def nearest(m: Any) -> Any:
    """The rotations nearest to matrices, shape (..., 3, 3)."""
    u, _, vh = np.linalg.svd(m)
    u[..., -1] *= np.sign(np.linalg.det(u @ vh))[..., None]
    return u @ vh


def _pairs(p: Any) -> Number:
    """The matrices tr(p) - p, with the sums of two of the three eigenvalues of p."""
    return linalg.trace(p)[..., None, None] * np.eye(3) - p


def _turned(q: Any, m: Any, g: Any) -> Number:
    """How the nearest rotation q turns with m: a linear map of g that is its own adjoint.

    It turns by the vector w with (tr(p) - p) w = a, where p = q.T m is symmetric, and a has the
    elements of the skew part of q.T g, twice.
    """
    p, b = T(q) @ m, T(q) @ g
    a = stack([b[..., i - 1, i - 2] - b[..., i - 2, i - 1] for i in range(3)], axis=-1)
    w = linalg.solve(_pairs(p), a[..., None])[..., 0]
    return q @ mirrored(RIGID)._create_skew_matrix(w)


nearest.defvjp(lambda ans, m: lambda g: _turned(ans, m, g))
nearest.defjvp(lambda g, ans, m: _turned(ans, m, g))
nearest.defpattern("...ij->...kl")


@kernels(ROTATIONS, within=True)
def from_matrix(inner: Callable[..., Any], matrix: Any, assume_valid: bool = False) -> Number:
    """Orthogonal matrices stay unchanged, though SciPy makes those near them orthogonal."""
    if assume_valid:
        return inner(matrix, assume_valid)
    return valued(inner(nearest(as_number(matrix))), inner(held(matrix)))


@kernels(ROTATIONS, within=True)
def _align_vectors(inner: Callable[..., Any], a: Any, b: Any, weights: Any) -> Any:
    """By the nearest rotation: SciPy asks for singular values, which may be equal."""
    m = T(weights[:, None] * a) @ b
    q = nearest(m)
    p = T(q) @ m
    rest = sum_(weights * sum_(square(a) + square(b), axis=-1)) - 2.0 * linalg.trace(p)
    distance = sqrt(where(held(rest) > 0.0, rest, 0.0))
    kappa = 0.5 * (linalg.trace(p) ** 2 - linalg.trace(p @ p))
    scale = sum_(weights) / len(weights) / linalg.det(_pairs(p))
    sensitivity = scale * (kappa * np.eye(3) + m @ T(m))
    quat = mirrored(ROTATIONS)._from_matrix_orthogonal(q)
    values = inner(*map(held, (a, b, weights)))
    return tuple(map(valued, (quat, distance, sensitivity), values))


# --- means ---------------------------------------------------------------------------------------


@functools.partial(on_matrices, called="mean")
def longest(k: Any) -> Any:
    """The largest eigenvalue of a symmetric matrix, shape (..., 1), and its vector as a column."""
    w, v = np.linalg.eigh(k)
    return w[..., -1:], v[..., -1:]


def _across(ans: Any, k: Any, right: Any) -> Number:
    """The y across the vector v with (k - w) y = right, as far as that is across v, too.

    Of the other vectors, which are not unique for few rotations, it depends on none.
    """
    w, v = ans
    regular = k - w[..., None] * np.eye(k.shape[-1]) - v @ T(v)
    return linalg.solve(regular, right - v @ (T(v) @ right))


longest.defvjp(
    lambda ans, k: (
        lambda g: (
            g[0][..., None] * ans[1] @ T(ans[1]) - hermitian(_across(ans, k, g[1]) @ T(ans[1]))
        )
    )
)
longest.defjvp(lambda g, ans, k: ((T(ans[1]) @ g @ ans[1])[..., 0], -_across(ans, k, g @ ans[1])))
longest.defpattern("...ij->...k,...lm")


class _OfNumbers:
    """`numpy` for rotations: they ask for all eigenvectors, and take the last one."""

    linalg = SimpleNamespace(**{**vars(linalg), "eigh": longest})

    def __getattr__(self, name: str) -> Any:
        return getattr(_arrays, name)


OF_NUMBERS = _OfNumbers()
kernels(ROTATIONS, "array_namespace")(lambda *_: OF_NUMBERS)


@kernels(ROTATIONS, within=True)
def as_davenport(inner: Callable[..., Any], quat: Any, axes: Any, *how: Any, **named: Any) -> Any:
    """Angles about constant axes."""
    constants = plain_constants(((axes,), {}))
    if constants is None and carries(axes):
        raise NoDerivativeError(
            "as_davenport has no derivative by axes: give it cadiff.value(axes)"
        )
    return inner(quat, axes if constants is None else constants[0][0], *how, **named)


# --- motions, which move along what they turn, and splines of rotations --------------------------


def _polynomial(
    room: str, by_once: Callable[[Number], Any], by_twice: Callable[[Number], Any], rotvec: Any
) -> Number:
    """1 + a S + b S² of the matrices S of cross products; a and b by the squares of vectors."""
    matrix, s = mirrored(room)._create_skew_matrix(rotvec), _square(rotvec)[..., None]
    return np.eye(3) + by_once(s) * matrix + by_twice(s) * (matrix @ matrix)


for _room, _name, *_coefficients in (
    (RIGID, "_compute_se3_exp_translation_transform", versine, missing_sine),
    (RIGID, "_compute_se3_log_translation_transform", lambda s: -0.5, missing_cotangent),
    (SPLINE, "_angular_rate_to_rotvec_dot_matrix", lambda s: 0.5, missing_cotangent),
    (SPLINE, "_rotvec_dot_to_angular_rate_matrix", lambda s: -versine(s), missing_sine),
):
    kernels(_room, _name)(functools.partial(_polynomial, _room, *_coefficients))


@kernels(SPLINE)
def _angular_acceleration_nonlinear_term(rotvecs: Any, rotvecs_dot: Any) -> Number:
    """What accelerations have of the squares of rates."""
    s, along = _square(rotvecs), sum_(rotvecs * rotvecs_dot, axis=-1, keepdims=True)
    across = np.cross(rotvecs, rotvecs_dot)
    twice, of_rates = np.cross(rotvecs, across), np.cross(rotvecs_dot, across)
    change = _rate_of_versine(s) * across + _rate_of_missing_sine(s) * twice
    return along * change + missing_sine(s) * of_rates
