"""Functions of matrices, real or complex, and the equations behind their derivatives.

They are analytic: the derivative at H(a) along g is the cotangent of a, but for cuts, where it is
the conjugate of the derivative at T(a) along conj(g).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from ..binding import Loops, array_of_pair, is_complex_number, pair_of_array, run_loop
from ..binding import unguarded as value
from ..numpy import _systems as systems
from ..numpy import linalg as of_numpy
from ..numpy._matrices import (
    EPSILON,
    ComplexResultError,
    H,
    T,
    conjugate,
    diagonal,
    on_matrices,
    outer_product,
    real,
)
from ..operations.arrays import reshape
from ..operations.complexes import implements_all, whole_parts
from ..operations.guards import held
from ..operations.primitives import linear_in
from ..operations.table import where
from ._signatures import called_as, double, matrix, pair, square, supported, with_values
from ._stacks import blocks, each, lapack_stage

LARGE_COMPLEX = 48  # of this side on, complex products are faster by BLAS than by the kernel


def _by_kernel(name: str, *stacks: Any) -> Any:
    """What the kernel of real or complex matrices finds; None if it leaves them to others."""
    dtype = np.result_type(*stacks)
    if dtype.kind != "c":
        return run_loop((name, 0), [*stacks], stacks[0].shape)
    if stacks[0].shape[-1] > LARGE_COMPLEX:
        return None
    pairs = [pair_of_array(x.astype(dtype, copy=False)) for x in stacks]
    both = run_loop((f"{name}_of_pairs", 0), pairs, pairs[0].shape)
    return None if both is None else array_of_pair(both)


@on_matrices
def _expm(a: Any) -> Any:
    """The exponential. SciPy scales with more care, but takes its time for stacks."""
    found = None if a.ndim == 2 else _by_kernel("expm", a)
    return scipy.linalg.expm(a) if found is None else found


@partial(on_matrices, called="expm_frechet")
def frechet(a: Any, e: Any) -> Any:
    """The derivative of expm at a along e; its adjoint is the derivative at H(a)."""
    found = _by_kernel("expm_frechet", a, e)
    return each(_frechet_of_balanced, a, e) if found is None else found


def _frechet_of_balanced(a: Any, e: Any) -> Any:
    if not np.isfinite(a).all():
        return np.full(a.shape, np.nan)
    by = _balance(a)
    by = by[:, None] / by
    return by * scipy.linalg.expm_frechet(a / by, e / by, compute_expm=False, check_finite=False)


@partial(on_matrices, real=(True,))
def _balance(a: Any) -> Any:
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


_balance.defvjp(None)


def _second(a: Any, e: Any, f: Any) -> Any:
    """The second derivative of expm at a along e and f.

    By Mathias, "A chain rule for matrix functions and applications" (1996), the derivative along e
    is the upper right block of expm([[a, e], [0, a]]); here is the derivative of that.
    """
    zero = np.zeros(a.shape)
    n = a.shape[-1]
    return frechet(blocks(a, e, zero, a), blocks(f, zero, zero, f))[..., :n, n:]


frechet.runs_in_c(("expm_frechet", 0), rounds=True)
frechet.defvjp(
    lambda ans, a, e: lambda g: _second(H(a), H(e), g),
    lambda ans, a, e: lambda g: frechet(H(a), g),
)
frechet.defjvp(lambda g, ans, a, e: _second(a, e, g), linear_in(frechet, 1))
frechet.defpattern("...ij->...kl", "...ij->...kl")
_expm.runs_in_c(("expm", 0), rounds=True)
_expm.defvjp(lambda ans, a: lambda g: frechet(H(a), g))
_expm.defjvp(lambda g, ans, a: frechet(a, g))
_expm.defpattern("...ij->...kl")


def without_noise(x: Any) -> Any:
    """The real parts of matrices whose imaginary parts are rounding."""
    noise = 1e3 * EPSILON * np.max(np.abs(x), axis=(-2, -1), initial=0.0, keepdims=True)
    if np.any(np.abs(np.imag(x)) > noise):
        raise ComplexResultError("a function of this matrix is complex")
    return np.real(x)


# Eigenvalues of real matrices may be negative, where logarithms and roots of complex numbers have
# a cut. Those of a real matrix are above it; rounding must not take others below.


def _principal(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function of one matrix; a complex one without imaginary parts is taken as real."""
    return lambda a: function(np.real(a) if not np.any(np.imag(a)) else a)


def without_draws(function: Callable[..., Any], *args: Any) -> Any:
    """What a function of SciPy's answers that estimates norms by random numbers of NumPy's.

    These stay what they were; else whoever records f would find that it draws some.
    """
    generator = np.random.get_bit_generator()  # type: ignore[attr-defined]
    state = generator.state
    try:
        return function(*args)
    finally:
        generator.state = state


@partial(on_matrices, real_results=without_noise)
def _logm(a: Any) -> Any:
    """The principal logarithm."""
    return each(_principal(partial(without_draws, scipy.linalg.logm)), a)


def _turn(a: Any) -> Any:
    """Factors that turn the eigenvalues on the negative axis off it, and none across."""
    plain = value(a)
    w = np.linalg.eigvals(np.real(plain) if not np.any(np.imag(plain)) else plain)
    on = (w.real < 0.0) & (w.imag == 0.0)
    lowest = np.min(np.where(on, np.pi, np.angle(w)), axis=-1, initial=np.pi)
    angles = np.where(np.any(on, axis=-1), 0.5 * (np.pi + lowest), 0.0)
    return np.exp(-1j * angles)[..., None, None]


def off_the_cut(function: Callable[[Any], Any], a: Any, e: Any, t: float = 0.0) -> Any:
    """The derivative of a logarithm, or of the power t, of complex matrices turned off the cut."""
    if not is_complex_number(a):
        return along(function, a, e)
    turn = _turn(a)
    return turn**-t * along(function, turn * a, turn * e)


def along(f: Callable[[Any], Any], a: Any, e: Any) -> Any:
    """The derivative of an analytic function at a along e, by blocks: see `_second`.

    a is balanced, and e made as large as a first, whatever else f does with sizes.
    """
    by = _balance(held(a))[..., :, None]
    by = by / T(by)
    a, e = a / by, e / by
    size, other = (
        np.max(np.abs(held(x)), axis=(-2, -1), initial=0.0, keepdims=True) for x in (a, e)
    )
    ratio = where(size * other == 0.0, 1.0, other / where(size == 0.0, 1.0, size))
    n = a.shape[-1]
    return by * ratio * f(blocks(a, e / ratio, np.zeros(a.shape), a))[..., :n, n:]


def by_blocks(
    function: on_matrices,
    checked: Callable[..., Any] = lambda a, **how: a,
    derivative_along: Callable[..., Any] = along,
) -> None:
    """Give an analytic function of matrices the rules that follow from blocks."""

    def derivative(a: Any, e: Any, how: dict[str, Any]) -> Any:
        return derivative_along(partial(function, **how), checked(a, **how), e, **how)

    function.defvjp(lambda ans, a, **how: lambda g: conjugate(derivative(T(a), conjugate(g), how)))
    function.defjvp(lambda g, ans, a, **how: derivative(a, g, how))
    function.defpattern("...ij->...kl")


by_blocks(_logm, derivative_along=off_the_cut)


@partial(on_matrices, called="solve_sylvester")
def sylvester(a: Any, b: Any, q: Any) -> Any:
    """The solution x of a @ x + x @ b = q."""
    return each(scipy.linalg.solve_sylvester, a, b, q)


def _sylvester_loops(is_complex: bool, a: Any, b: Any, q: Any) -> Any:
    """As SciPy does: by Schur forms of a and of b transposed, t = H(u) @ a @ u and s."""
    schur = lapack_stage("schur", "dgees", "d->dd")
    of_transpose = lapack_stage("schur_of_transpose", "dgees", "d->dd")
    solved = lapack_stage("sylvester_of_schur", "dtrsyl", "ddddd->d")
    if is_complex or schur is None or solved is None:
        return None
    stages = (schur, "atu"), (of_transpose, "bsv"), (solved, "tusvqx")
    return Loops("(m,m),(n,n),(m,n)->(m,n)", stages, ("a", "b", "q", "x"))


sylvester.calls_lapack(_sylvester_loops)
sylvester.defvjp(
    lambda ans, a, b, q: lambda g: -outer_product(sylvester(H(a), H(b), g), ans),
    lambda ans, a, b, q: lambda g: -(H(ans) @ sylvester(H(a), H(b), g)),
    lambda ans, a, b, q: lambda g: sylvester(H(a), H(b), g),
)
sylvester.defjvp(
    lambda g, ans, a, b, q: -sylvester(a, b, g @ ans),
    lambda g, ans, a, b, q: -sylvester(a, b, ans @ g),
    lambda g, ans, a, b, q: sylvester(a, b, g),
)
sylvester.defpattern("...ij->...kl", "...ij->...kl", "...ij->...kl")


@partial(on_matrices, real_results=without_noise)
def _sqrtm(a: Any) -> Any:
    """The principal square root."""
    return each(_principal(scipy.linalg.sqrtm), a)


def _root_derivative(x: Any, g: Any) -> Any:
    """The solution of dx @ x + x @ dx = g, which follows from x @ x = a."""
    sizes = np.abs(np.linalg.eigvals(value(x)))
    if np.any(sizes <= EPSILON * np.max(sizes, axis=-1, initial=0.0, keepdims=True)):
        raise np.linalg.LinAlgError("the square root of a singular matrix has no derivative")
    return sylvester(x, x, g)


_sqrtm.defvjp(lambda ans, a: lambda g: _root_derivative(H(ans), g))
_sqrtm.defjvp(lambda g, ans, a: _root_derivative(ans, g))
_sqrtm.defpattern("...ij->...kl")


# --- as SciPy's are called -----------------------------------------------------------------------


@implements_all(scipy.linalg.expm)
def expm(A: Any) -> Any:
    """The exponential of a matrix, or of each of a stack."""
    A = of_numpy.number(A)
    return _expm(of_numpy.square(A if A.ndim else reshape(A, (1, 1))))


@called_as(scipy.linalg.expm_frechet, stacks=True, A=square, E=square)
def expm_frechet(A: Any, E: Any, compute_expm: bool) -> Any:
    """The exponential of A, and its derivative along E."""
    A, E = pair(double(A), double(E))
    tangent = frechet(A, E)
    return (_expm(A), tangent) if compute_expm else tangent


def of_square(name: str, find: Callable[[Any], Any]) -> Any:
    """A function of a square matrix, of which SciPy may print what it thinks."""

    @called_as(getattr(scipy.linalg, name), stacks=True, A=square)
    def function(A: Any, disp: Any = True) -> Any:
        supported(name, disp=(bool(disp), True))  # it may be something that stands for True
        return find(A)

    return function


logm, sqrtm = of_square("logm", _logm), of_square("sqrtm", _sqrtm)


@called_as(scipy.linalg.solve_sylvester, a=square, b=square, q=matrix)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve a @ x + x @ b = q."""
    return sylvester(a, b, q)


@called_as(scipy.linalg.solve_continuous_lyapunov, a=square, q=square)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve a @ x + x @ a.T = q, with the adjoint of a if that is complex."""
    return sylvester(a, H(a), q)


def _parts_of_expm(A: Any) -> Any:
    """The cosine and the sine of a matrix, as SciPy computes them."""
    if is_complex_number(A):
        plus, minus = _expm(1j * A), _expm(-1j * A)
        return 0.5 * (plus + minus), -0.5j * (plus - minus)
    return whole_parts(_expm(1j * A))


def _halves_of_expm(A: Any) -> tuple[Any, Any]:
    """The hyperbolic cosine and sine of a matrix, neither of which is lost beside the other."""
    n, none = A.shape[-1], np.zeros(A.shape)
    halves = _expm(blocks(none, A, A, none))[..., :n, :]
    return halves[..., :n], halves[..., n:]


def _tangent(A: Any) -> Any:
    """The hyperbolic tangent, by the smaller one of both exponentials."""
    one = np.eye(A.shape[-1])
    trace = real(diagonal(A)).sum(-1, keepdims=True)[..., None]
    sign = where(held(trace) > 0.0, -1.0, 1.0)
    return sign * (one - 2.0 * systems.inv(_expm(2.0 * sign * A) + one))


def _of_expm(name: str, find: Callable[[Any], Any]) -> Any:
    """One of SciPy's functions with the derivatives of what is found by exponentials."""
    original = getattr(scipy.linalg, name)
    return called_as(original, stacks=True, A=square)(lambda A: with_values(original, find(A), A))


cosm = _of_expm("cosm", lambda A: _parts_of_expm(A)[0])
sinm = _of_expm("sinm", lambda A: _parts_of_expm(A)[1])
tanm = _of_expm("tanm", lambda A: systems.solve(*_parts_of_expm(A)))
coshm = _of_expm("coshm", lambda A: _halves_of_expm(A)[0])
sinhm = _of_expm("sinhm", lambda A: _halves_of_expm(A)[1])
tanhm = _of_expm("tanhm", _tangent)
