"""Functions of `scipy.special` by complex numbers.

A function of the table is analytic in its last argument, and its row is the derivative by that;
what stands before it is a plain number. The table is read by `special`, whose names its formulas
use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from ..binding import carries
from ..operations.pairs import on_pairs

Function = Callable[..., Any]

ANALYTIC = """
erf(z)                z: 2.0 / ROOT_PI * exp(-square(z))
erfc(z)               z: -2.0 / ROOT_PI * exp(-square(z))
erfcx(z)              z: 1j * _faddeeva_slope(1, 1j * z)
dawsn(z)              z: -0.5j * ROOT_PI * (_faddeeva_slope(1, z) + 2.0 * z * exp(-square(z)))
wofz(z)               z: _faddeeva_slope(1, z)
_faddeeva_slope(n, z)  z: _faddeeva_slope(n + 1, z)
gamma(z)              z: ans * digamma(z)
loggamma(z)           z: digamma(z)
rgamma(z)             z: -ans * digamma(z)
digamma(z)            z: _polygamma_of_complex(1, z)
_polygamma_of_complex(n, z)  z: _polygamma_of_complex(n + 1, z)
exp1(z)               z: -exp(-z) / z
expi(z)               z: exp(z) / z
spence(z)             z: _log_over(z)
ndtr(z)               z: exp(-0.5 * square(z)) / ROOT_2PI
_sici_si(z)           z: _sinh_over(1j * z)
_shichi_shi(z)        z: _sinh_over(z)
jv(v, z)              z: 0.5 * (jv(v - 1, z) - jv(v + 1, z))
yv(v, z)              z: 0.5 * (yv(v - 1, z) - yv(v + 1, z))
iv(v, z)              z: 0.5 * (iv(v - 1, z) + iv(v + 1, z))
kve(v, z)             z: ans - 0.5 * (kve(v - 1, z) + kve(v + 1, z))
hankel1(v, z)         z: 0.5 * (hankel1(v - 1, z) - hankel1(v + 1, z))
hankel2(v, z)         z: 0.5 * (hankel2(v - 1, z) - hankel2(v + 1, z))
hankel1e(v, z)        z: 0.5 * (hankel1e(v - 1, z) - hankel1e(v + 1, z)) - 1j * ans
hankel2e(v, z)        z: 0.5 * (hankel2e(v - 1, z) - hankel2e(v + 1, z)) + 1j * ans
hyp2f1(a, b, c, z)    z: a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)
lambertw(k, tol, z)   z: exp(-ans) / (1.0 + ans) if abs(ans) < 1.0 else ans / (z * (1.0 + ans))
wrightomega(z)        z: ans / (1.0 + ans)
"""

# Rows of the tables for real numbers that are those of complex ones as they stand.
ALIKE = """
erfi kv hyp0f1 hyp1f1 _airy_ai _airy_aip _airy_bi _airy_bip _fresnel_s _fresnel_c _sici_ci
_shichi_chi _spherical_jn _spherical_yn _spherical_in _spherical_kn eval_legendre eval_chebyt
eval_chebyu eval_laguerre eval_genlaguerre eval_gegenbauer eval_jacobi
"""


def faddeeva_values(n: Any, z: Any, width: Any) -> Any:
    """The nth derivative of w(z / (√2 width)) / (√(2π) width).

    By the differential equation (DLMF 7.10.3), and far out, where that cancels, of the asymptotic
    series (DLMF 7.12.1); the lower half-plane is reflected, and a real number is on its border.
    """
    n, z, width = int(np.max(n)), *np.broadcast_arrays(np.asarray(z, complex), width)
    sign = np.where(width < 0.0, -1.0, 1.0)
    z, width = sign * z, np.abs(width)
    up, unit = np.where(z.imag < 0.0, -z, z), math.sqrt(2.0) * width
    is_far = np.abs(up) > 7.0 * unit

    def following(z: Any, u: Any, v: Any) -> Any:
        for m in range(1, n + 1):
            u, v = v, -2.0 * (z * v + m * u)
        return u / (math.sqrt(math.pi) * unit ** (n + 1))

    with np.errstate(all="ignore"):
        near, low = np.where(is_far, 0.0, up) / unit, z / unit
        w, bell = sp.wofz(near), np.exp(-low * low)
        slope = following(near, w, 2j / math.sqrt(math.pi) - 2.0 * near * w)
        tail, ratio = np.ones(z.shape, complex), (width / up) ** 2
        for k in range(40, -1, -1):
            tail = 1.0 + ratio * ((2 * k + 1 + n) * (2 * k + 2 + n) / (2 * k + 2)) * tail
        tail = 1j / math.pi * math.factorial(n) * (-1.0 / up) ** n / up * tail
        below = z.imag < 0.0
        slope = np.where(is_far, tail, slope)
        gauss = np.where(bell == 0.0, 0.0, following(low, bell, -2.0 * low * bell))
        slope = np.where(below, 2.0 * gauss - (-1.0) ** n * slope, slope)
        slope = np.where(is_far & (np.abs(z.imag) < 1e-10 * unit) & ~below, slope + gauss, slope)
    return (sign ** (n + 1) * slope)[()]


def polygamma_values(n: int, z: Any) -> Any:
    """The derivatives of digamma at complex numbers, by the Euler-Maclaurin sum (DLMF 25.11.28).

    Left of ½ they are reflected at it (DLMF 5.15.6), by differences of the cotangent there.
    """
    z = np.asarray(z, complex)
    left = z.real < 0.5
    x = np.where(left, 1.0 - z, z)
    s, far = n + 1, x + 20.0
    total = sum((x + k) ** -s for k in range(20)) + far ** (1 - s) / (s - 1) + 0.5 * far**-s
    rising = s / 2.0
    for k, bernoulli in enumerate(sp.bernoulli(20)[2::2], 1):
        total = total + bernoulli / math.factorial(2 * k) * 2.0 * rising * far ** (1 - s - 2 * k)
        rising *= (s + 2 * k - 1) * (s + 2 * k)
    slopes = (-1) ** (n + 1) * math.factorial(n) * total
    if np.any(left):
        slopes = np.where(left, (-1) ** n * slopes - math.pi * _cotangent_slope(n, z), slopes)
    return slopes[()]


def _cotangent_slope(n: int, z: Any) -> Any:
    """The nth derivative of cot(πz), a polynomial in it: that of c is -π (1 + c²)."""
    c, polynomial = 1.0 / np.tan(math.pi * z), np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-math.pi, 0.0, -math.pi])
    return polynomial(c)


class Analytic:
    """A function of a complex number, and of plain ones before it."""

    def __init__(self, name: str, evaluate: Function, partial: Function, module: str) -> None:
        self._name = name

        def values(z: Any, *, plain: tuple[Any, ...]) -> Any:
            return evaluate(*plain, z)

        values.__name__ = name
        self.step = on_pairs(values)
        self.step.stands_at(module, f"ANALYTIC_{name}")
        self.step.defpartials(lambda ans, z, *, plain: partial(ans, *plain, z))

    def __call__(self, *args: Any) -> Any:
        *plain, z = args
        if carries(plain):
            raise TypeError(
                f"scipy.special.{self._name} of complex numbers is differentiated by the last "
                "argument alone: write cadiff.value(...) for what stands before it"
            )
        return self.step(z, plain=tuple(plain))
