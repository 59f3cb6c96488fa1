"""Inverses and factorisations of complex matrices, with their derivatives.

The rules are those of `_factorizations` with adjoints, H(x), for transposed matrices, and real
parts where a real number comes out. Functions of Hermitian matrices read one triangle and the
real part of the diagonal, and have derivatives by these alone.

Eigenvectors and singular vectors are defined up to a factor of length 1. Their derivatives are
those without such a turn, v^H dv = 0 (of singular vectors, u^H du + v^H dv = 0), as in JAX and
autograd. A result that depends on the factor, which LAPACK happens to choose, is no function of
the matrix; PyTorch refuses to differentiate it, here it gets the derivative without a turn. The
triangle of a QR factorisation has a real diagonal, which determines q and r up to signs.

    Wan and Zhang, "Automatic differentiation for complex valued SVD" (2019)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..binding import strip as value
from ..operations.arrays import reshape, sum
from ..operations.complexes import conjugate, imag, real
from ..operations.dispatch import carries
from ..operations.guards import held
from ..operations.pairs import on_pairs
from ..operations.primitives import doubt, warn_nan
from . import _factorizations as factor
from ._factorizations import (
    EPSILON,
    H,
    T,
    diagonal,
    differences,
    on_diagonal,
    over_gaps,
    over_values,
    part,
    touched,
    triangle,
)

Rule = Callable[..., Any]

VECTORS = "eigenvectors"
SINGULAR = "singular vectors"


# --- parts of matrices ---------------------------------------------------------------------------


def hermitian(x: Any) -> Any:
    """The Hermitian part."""
    return 0.5 * (x + H(x))


def skew(x: Any) -> Any:
    """The skew-Hermitian part."""
    return 0.5 * (x - H(x))


def real_diagonal(x: Any) -> Any:
    """The real part of the diagonal, in a matrix."""
    return on_diagonal(real(diagonal(x)))


def mirrored(x: Any, lower: bool = True) -> Any:
    """The Hermitian matrix of which x has the lower (or upper) triangle."""
    side = part(x, triangle(x.shape[-1], lower, strict=True))
    return side + H(side) + real_diagonal(x)


def folded(x: Any, lower: bool = True) -> Any:
    """What a Hermitian cotangent is to the elements of one triangle: adjoint to `mirrored`."""
    return 2.0 * part(x, triangle(x.shape[-1], lower, strict=True)) + real_diagonal(x)


def times(x: Any, matrices: Any) -> Any:
    """Matrices, each times the number that x has for it."""
    return (reshape(x, (*matrices.shape[:-2], 1, 1)) if matrices.ndim > 2 else x) * matrices


def along(v: Any, g: Any) -> Any:
    """The components of columns g along columns v."""
    return sum(conjugate(v) * g, axis=-2, keepdims=True)


# --- systems of equations ------------------------------------------------------------------------


@on_pairs
def solve(a: Any, b: Any) -> Any:
    """The solution x of a @ x = b, for matrices b."""
    return np.linalg.solve(a, b)


solve.defvjp(
    lambda ans, a, b: lambda g: -(solve(H(a), g) @ H(ans)),
    lambda ans, a, b: lambda g: solve(H(a), g),
)
solve.defjvp(
    lambda g, ans, a, b: -solve(a, g @ ans),
    lambda g, ans, a, b: solve(a, g),
)


def solve_triangle(t: Any, b: Any, lower: bool) -> Any:
    """The solution of t @ x = b for a triangular t.

    The LU factors of an upper triangle are the identity and itself, so that nothing but the
    substitution remains; a lower triangle is one if it is read from its end.
    """
    if lower:
        return solve(t[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]
    return solve(t, b)


@on_pairs
def inv(a: Any) -> Any:
    """The inverse matrix."""
    return np.linalg.inv(a)


inv.defvjp(lambda ans, a: lambda g: -(H(ans) @ g @ H(ans)))
inv.defjvp(lambda g, ans, a: -(ans @ g @ ans))


# --- determinants --------------------------------------------------------------------------------


@on_pairs
def det(a: Any) -> Any:
    """The determinant."""
    return np.linalg.det(a)


det.defvjp(lambda ans, a: lambda g: times(g, conjugate(cofactors(a, ans))))
det.defjvp(lambda g, ans, a: factor.inner(cofactors(a, ans), g))


def cofactors(a: Any, determinant: Any) -> Any:
    """The matrix of cofactors, the gradient of the determinant, of singular matrices too."""
    if a.shape[-1] <= 3:
        return factor._cofactors_of_few(a)
    try:
        inverse = inv(a)
    except np.linalg.LinAlgError:
        return factor._each(_cofactors_by_rotation, a)
    condition = factor._norm1(held(a)) * factor._norm1(held(inverse))
    limit = factor.CONDITION_DIFFERENTIATED if carries(a) else factor.CONDITION
    if np.any(condition > limit):
        return factor._each(_cofactors_by_rotation, a)
    return times(determinant, T(inverse))


def _cofactors_by_rotation(a: Any) -> Any:
    """The cofactors by way of the singular vectors, which are held constant, as for real ones."""
    u, s, vh = np.linalg.svd(value(a))
    adjugate, _ = factor._adjugate(H(u) @ a @ H(vh), EPSILON * len(s) * s[0], (det, inv, solve))
    turn = np.linalg.det(u) * np.linalg.det(vh)
    return turn * (np.conj(u) @ T(adjugate) @ np.conj(vh))


def _slogdet(a: Any) -> Any:
    return tuple(np.linalg.slogdet(a))


slogdet = on_pairs(_slogdet, real=(False, True))
slogdet.primitive.called = "slogdet"

# With t = tr(inv(a) da) the logarithm changes by the real part of t, the sign by i sign imag(t).


def _slogdet_pull(ans: Any, a: Any) -> Rule:
    def pull(g: Any) -> Any:
        turn = imag(conjugate(g[0]) * ans[0])
        return times(g[1] - 1j * turn, H(inv(a)))

    return pull


def _slogdet_push(g: Any, ans: Any, a: Any) -> Any:
    change = factor.inner(T(inv(a)), g)
    return 1j * ans[0] * imag(change), real(change)


slogdet.defvjp(_slogdet_pull)
slogdet.defjvp(_slogdet_push)


# --- cholesky, qr --------------------------------------------------------------------------------


@on_pairs
def cholesky(a: Any, upper: bool = False) -> Any:
    """The lower triangle l with a = l @ H(l), or the upper one u with a = H(u) @ u."""
    return np.linalg.cholesky(a, upper=upper)


def _lower_half(x: Any) -> Any:
    """The lower triangle, with half the real diagonal: l + H(l) is a Hermitian x."""
    return part(x, triangle(x.shape[-1], strict=True)) + 0.5 * real_diagonal(x)


def _cholesky_pull(ans: Any, a: Any, upper: bool = False) -> Rule:
    def pull(g: Any) -> Any:
        lower, g = (H(ans), H(g)) if upper else (ans, g)
        middle = hermitian(_lower_half(H(lower) @ g))
        half = solve_triangle(H(lower), middle, lower=False)
        return folded(hermitian(solve_triangle(H(lower), H(half), lower=False)), not upper)

    return pull


def _cholesky_push(g: Any, ans: Any, a: Any, upper: bool = False) -> Any:
    lower = H(ans) if upper else ans
    half = solve_triangle(lower, mirrored(g, not upper), lower=True)
    tangent = lower @ _lower_half(solve_triangle(lower, H(half), lower=True))
    return H(tangent) if upper else tangent


cholesky.defvjp(_cholesky_pull)
cholesky.defjvp(_cholesky_push)


def _qr(a: Any, complete: bool = False) -> Any:
    return tuple(np.linalg.qr(a, mode="complete" if complete else "reduced"))


qr = on_pairs(_qr, real=(False, False))
qr.primitive.called = "qr"


def _qr_pull(ans: Any, a: Any, complete: bool = False) -> Rule:
    def pull(g: Any) -> Any:
        n = a.shape[-1]
        gq, q = factor._leading(g[0], ans[0], n), ans[0][..., :n]
        gr, r = g[1][..., :n, :], ans[1][..., :n, :]
        factor._independent(r)
        middle = mirrored(r @ H(gr) - H(gq) @ q)
        return H(solve_triangle(r, H(gq + q @ middle), lower=False))

    return pull


def _qr_push(g: Any, ans: Any, a: Any, complete: bool = False) -> Any:
    n = a.shape[-1]
    q, r = ans[0][..., :n], ans[1][..., :n, :]
    factor._independent(r)
    quotient = T(solve_triangle(T(r), T(g), lower=True))
    inside = H(q) @ quotient
    above = part(inside, triangle(n, lower=False, strict=True))
    change = above + H(part(inside, triangle(n, strict=True))) + real_diagonal(inside)
    return factor._completed(quotient - q @ change, ans[0]), factor._padded(change @ r, ans[1])


qr.defvjp(_qr_pull)
qr.defjvp(_qr_push)


# --- eigenvalues ---------------------------------------------------------------------------------


def _eigh(a: Any, lower: bool = True) -> Any:
    return tuple(np.linalg.eigh(a, UPLO="L" if lower else "U"))


def eigh_pull(ans: Any, a: Any, lower: bool = True, **_: Any) -> Rule:
    w, v = ans

    def pull(g: Any) -> Any:
        m = skew(H(v) @ g[1])
        turned = over_gaps(m, differences(w), w, touched(g[1]), VECTORS, warn_nan)
        return folded(v @ (on_diagonal(g[0]) + turned) @ H(v), lower)

    return pull


def eigh_push(g: Any, ans: Any, a: Any, lower: bool = True, **_: Any) -> Any:
    w, v = ans
    m = H(v) @ mirrored(g, lower) @ v
    return real(diagonal(m)), v @ over_gaps(m, differences(w), w, m, VECTORS, doubt)


eigh = on_pairs(_eigh, real=(True, False))
eigh.primitive.called = "eigh"
eigh.defvjp(eigh_pull)
eigh.defjvp(eigh_push)


def _eigvalsh(a: Any, lower: bool = True) -> Any:
    return np.linalg.eigvalsh(a, UPLO="L" if lower else "U")


def _eigvalsh_pull(ans: Any, a: Any, lower: bool = True) -> Rule:
    def pull(g: Any) -> Any:
        _, v = eigh(a, lower=lower)
        return folded((v * g[..., None, :]) @ H(v), lower)

    return pull


def _eigvalsh_push(g: Any, ans: Any, a: Any, lower: bool = True) -> Any:
    _, v = eigh(a, lower=lower)
    return real(sum(conjugate(v) * (mirrored(g, lower) @ v), axis=-2))


eigvalsh = on_pairs(_eigvalsh, real=(True,))
eigvalsh.primitive.called = "eigvalsh"
eigvalsh.defvjp(_eigvalsh_pull)
eigvalsh.defjvp(_eigvalsh_push)


def _eig(a: Any) -> Any:
    return tuple(np.linalg.eig(a))


def _eig_pull(ans: Any, a: Any) -> Rule:
    w, v = ans

    def pull(g: Any) -> Any:
        m = H(v) @ (g[1] - v * along(v, g[1]))
        gaps = conjugate(differences(w))
        turned = over_gaps(m, gaps, w, touched(g[1]), VECTORS, warn_nan)
        return solve(H(v), (on_diagonal(g[0]) + turned) @ H(v))

    return pull


def _eig_push(g: Any, ans: Any, a: Any) -> Any:
    w, v = ans
    m = solve(v, g @ v)
    dv = v @ over_gaps(m, differences(w), w, m, VECTORS, doubt)
    return diagonal(m), dv - v * along(v, dv)


eig = on_pairs(_eig, real=(False, False))
eig.primitive.called = "eig"
eig.defvjp(_eig_pull)
eig.defjvp(_eig_push)


@on_pairs
def eigvals(a: Any) -> Any:
    """Eigenvalues."""
    return np.linalg.eigvals(a)


def _eigenvectors(a: Any, w: Any) -> Any:
    """Eigenvectors in the order of the eigenvalues w, which `eigvals` may have put otherwise."""
    found, v = eig(a)
    distances = np.abs(value(w)[..., :, None] - value(found)[..., None, :])
    order = np.argmin(distances, axis=-1)
    if np.any(np.sort(order, axis=-1) != np.arange(a.shape[-1])):
        for k in np.ndindex(order.shape[:-1]):
            order[k] = _pairs(distances[k])
    return v @ np.equal(np.arange(a.shape[-1])[:, None], order[..., None, :]).astype(float)


def _pairs(distances: Any) -> Any:
    """For each row another column, the least distance first."""
    rows = distances.copy()
    order = np.zeros(len(rows), dtype=int)
    for _ in range(len(rows)):
        i, j = np.unravel_index(np.argmin(rows), rows.shape)
        order[i] = j
        rows[i, :] = rows[:, j] = np.inf
    return order


def _eigvals_pull(ans: Any, a: Any) -> Rule:
    def pull(g: Any) -> Any:
        left = H(_eigenvectors(a, ans))
        return solve(left, g[..., :, None] * left)

    return pull


def _eigvals_push(g: Any, ans: Any, a: Any) -> Any:
    v = _eigenvectors(a, ans)
    return diagonal(solve(v, g @ v))


eigvals.defvjp(_eigvals_pull)
eigvals.defjvp(_eigvals_push)


# --- singular values -----------------------------------------------------------------------------

# As for real matrices, with skew-Hermitian k and l. On the diagonal k - l = i imag(p) / s, how u
# turns against v; that both turn together means nothing, and k + l = 0 there.


def _svd(a: Any, full: bool = False) -> Any:
    return tuple(np.linalg.svd(a, full_matrices=full))


def _turns(m: Any) -> Any:
    """The imaginary part of the diagonal, in a matrix."""
    return on_diagonal(1j * imag(diagonal(m)))


def svd_pull(ans: Any, a: Any, full: bool = False, **_: Any) -> Rule:
    s = ans[1]
    k = s.shape[-1]
    rows, columns = a.shape[-2:]
    whole = H(ans[2])
    u, v = ans[0][..., :k], whole[..., :k]

    def pull(g: Any) -> Any:
        gu, gv = factor._leading(g[0], ans[0], k), factor._leading(H(g[2]), whole, k)
        mu, mv = H(u) @ gu, H(v) @ gv
        cause = touched(gu) + touched(gv)
        one = mu - mv
        middle = on_diagonal(g[1] * factor._signed(s))
        middle = middle + over_gaps(skew(mu + mv), differences(s), s, cause, SINGULAR, warn_nan)
        middle = middle + over_gaps(skew(one), factor._sums(s), s, cause, SINGULAR, warn_nan)
        middle = middle + 0.5 * over_values(_turns(one), s, cause, SINGULAR, warn_nan)
        result = u @ middle @ H(v)
        if rows > k:
            result = result + over_values(gu - u @ mu, s, gu, SINGULAR, warn_nan) @ H(v)
        if columns > k:
            result = result + u @ H(over_values(gv - v @ mv, s, gv, SINGULAR, warn_nan))
        return result

    return pull


def svd_push(g: Any, ans: Any, a: Any, full: bool = False, **_: Any) -> Any:
    s = ans[1]
    k = s.shape[-1]
    whole = H(ans[2])
    u, v = ans[0][..., :k], whole[..., :k]
    right, left = g @ v, H(g) @ u
    p = H(u) @ right
    plus, minus = p + H(p), p - H(p)
    both = over_gaps(plus, differences(s), s, plus, SINGULAR, doubt)
    one = over_gaps(minus, factor._sums(s), s, minus, SINGULAR, doubt)
    one = one + over_values(_turns(p), s, p, SINGULAR, doubt)
    du, dv = 0.5 * (u @ (both + one)), 0.5 * (v @ (both - one))
    if a.shape[-2] > k:
        du = du + over_values(right - u @ p, s, right, SINGULAR, doubt)
    if a.shape[-1] > k:
        dv = dv + over_values(left - v @ H(p), s, left, SINGULAR, doubt)
    ds = real(diagonal(p)) * factor._signed(s)
    return factor._completed(du, ans[0]), ds, H(factor._completed(dv, whole))


svd = on_pairs(_svd, real=(False, True, False))
svd.primitive.called = "svd"
svd.defvjp(svd_pull)
svd.defjvp(svd_push)


def _svdvals(a: Any) -> Any:
    return np.linalg.svd(a, compute_uv=False)


def _svdvals_pull(ans: Any, a: Any) -> Rule:
    def pull(g: Any) -> Any:
        u, _, vh = svd(a)
        return (u * (g * factor._signed(ans))[..., None, :]) @ vh

    return pull


def _svdvals_push(g: Any, ans: Any, a: Any) -> Any:
    u, _, vh = svd(a)
    return real(sum(conjugate(u) * (g @ H(vh)), axis=-2)) * factor._signed(ans)


svdvals = on_pairs(_svdvals, real=(True,))
svdvals.primitive.called = "svdvals"
svdvals.defvjp(_svdvals_pull)
svdvals.defjvp(_svdvals_push)


# --- least squares -------------------------------------------------------------------------------


@on_pairs
def pinv(a: Any, **options: Any) -> Any:
    """The pseudo-inverse, with the options of NumPy."""
    return np.linalg.pinv(a, **options)


def pinv_pull(ans: Any, a: Any, **options: Any) -> Rule:
    def pull(g: Any) -> Any:
        left, right = ans @ H(ans), H(ans) @ ans
        outside = H(g) @ left
        inside = right @ H(g)
        return outside - a @ (ans @ outside) + inside - (inside @ ans) @ a - H(ans) @ g @ H(ans)

    return pull


def pinv_push(g: Any, ans: Any, a: Any, **options: Any) -> Any:
    outside = ans @ (H(ans) @ H(g))
    inside = H(g) @ H(ans) @ ans
    return outside - outside @ a @ ans + inside - ans @ (a @ inside) - ans @ g @ ans


pinv.defvjp(pinv_pull)
pinv.defjvp(pinv_push)


@on_pairs
def lstsq(a: Any, b: Any, cutoff: float) -> Any:
    """The shortest of the x for which a @ x - b is shortest, column by column."""
    return np.linalg.lstsq(a, b, cutoff)[0]


def _lstsq_pull_a(ans: Any, a: Any, b: Any, cutoff: float) -> Rule:
    def pull(g: Any) -> Any:
        p = pinv(a, rcond=cutoff)
        image = H(p) @ g
        back = p @ image
        result = (b - a @ ans) @ H(back) - image @ H(ans)
        return result + H(p) @ ans @ H(g - p @ (a @ g))

    return pull


def _lstsq_push_a(g: Any, ans: Any, a: Any, b: Any, cutoff: float) -> Any:
    p = pinv(a, rcond=cutoff)
    shift = H(g) @ (H(p) @ ans)
    change = p @ (H(p) @ (H(g) @ (b - a @ ans)) - g @ ans)
    return change + shift - p @ (a @ shift)


lstsq.defvjp(
    _lstsq_pull_a,
    lambda ans, a, b, cutoff: lambda g: H(pinv(a, rcond=cutoff)) @ g,
)
lstsq.defjvp(
    _lstsq_push_a,
    lambda g, ans, a, b, cutoff: pinv(a, rcond=cutoff) @ g,
)
