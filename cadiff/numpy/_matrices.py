"""Parts of matrices, and operations on matrices, real or complex.

A rule is written once, with adjoints (conjugated transposes) and real parts where complex matrices
want them: the adjoint of a real matrix is the transposed one, its real part itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binding import Loops, carries, is_complex_number, make_complex
from ..operations import complexes
from ..operations.arrays import reshape, sum, swapaxes
from ..operations.pairs import on_pairs
from ..operations.primitives import curried, primitive
from ..operations.table import where

Mask = NDArray[np.bool_]
Rule = Callable[..., Any]
Maker = Callable[..., Callable[[Any], Any]]

EPSILON = float(np.finfo(float).eps)


# --- operations ----------------------------------------------------------------------------------


class ComplexResultError(TypeError):
    """A result is complex that was to be a real one."""


SINGLE = "fF"  # float32 and complex64, as characters of dtypes


def is_single(x: Any) -> bool:
    """Whether an array is of float32 or complex64."""
    return hasattr(x, "dtype") and np.dtype(x.dtype).char in SINGLE


def narrowed(found: Any, *args: Any) -> Any:
    """What a kernel for doubles has found for plain arguments, in single precision if they are."""
    if not all(map(is_single, args)):
        return found
    return found.astype(np.complex64 if found.dtype.kind == "c" else np.float32)


class on_matrices:  # noqa: N801 - a decorator
    """A function of matrices, or of stacks of them, with rules for real ones and for complex ones.

    function: of plain arrays; it returns an array or a tuple of them. Keyword arguments are not
    differentiated. real: which results are real though the matrices are complex. real_results:
    what makes real ones of the results for a real matrix, if they may be complex: it raises
    ComplexResultError where they are. Rules then take the matrix for a complex one, while the
    results remain those of the function for the real one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        real: Sequence[bool] = (False,),
        real_results: Callable[[Any], Any] | None = None,
        called: str = "",
    ) -> None:
        functools.update_wrapper(self, function)

        @functools.wraps(function)
        def of_real(*args: Any, **kwargs: Any) -> Any:
            found = function(*args, **kwargs)
            return found if real_results is None else real_results(found)

        of_real.__qualname__ += ".of_real"  # where pickle finds it
        self.of_real = primitive(of_real)
        self.of_plain = function if real_results is None else of_real
        self.of_complex = on_pairs(function, real)
        self.of_complex.stands_at(function.__module__, f"{function.__qualname__}.of_complex")

        @functools.wraps(function)
        def of_turning(*args: Any, **kwargs: Any) -> Any:
            results = function(*map(np.real, args), **kwargs)
            try:
                assert real_results is not None  # else nothing turns
                real_results(results)
            except ComplexResultError:
                return results
            raise ComplexResultError("this matrix has real results, which were to be complex")

        self.of_turning = on_pairs(of_turning, real)
        self.of_turning.stands_at(function.__module__, f"{function.__qualname__}.of_turning")
        self._may_turn = real_results is not None
        self._forms = self.of_real, self.of_complex, self.of_turning
        self.called = called or function.__name__.removeprefix("_")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for x in args:
            if is_complex_number(x):
                return self.of_complex(*args, **kwargs)
        try:
            return (self.of_real if carries(args) else self.of_plain)(*args, **kwargs)
        except ComplexResultError:
            return self.of_turning(*(make_complex(x, 0.0) for x in args), **kwargs)

    @property
    def called(self) -> str:
        """What users call it."""
        return self.of_real.called

    @called.setter
    def called(self, name: str) -> None:
        self.of_real.called = name
        self.of_complex.primitive.called = self.of_turning.primitive.called = name

    def defvjp(self, *makers: Maker | None, unread: tuple[int, ...] = ()) -> None:
        """Reverse rules, one for each argument, and arguments of which they ask but the shape."""
        for form in self._forms:
            form.defvjp(*makers)
        self.of_real.unread = self.of_complex.primitive.unread = unread

    def deftogether(self, pulls: Callable[..., Sequence[Any]]) -> None:
        """The cotangents of the first arguments, which share work, by one that is given last."""
        maker = self.of_real.together = curried(pulls)
        self.of_complex.deftogether(maker)
        self.of_turning.deftogether(maker)

    def runs_in_c(
        self, loop: Any, takes: tuple[int, ...] | None = None, rounds: bool = False
    ) -> None:
        """What programs call for real matrices: see `primitive.loop`, and `loop_rounds`.

        A kernel of src/kernels/matrices.c is called for complex matrices, too.
        """
        for form, own in ((self.of_real, loop), (self.of_complex.primitive, of_pairs(loop))):
            form.loop, form.loop_takes, form.loop_rounds = own, takes, rounds

    def calls_lapack(self, loops: Callable[..., Any]) -> None:
        """What programs call: `loops(is_complex, *args, **kwargs)`, of `_lapack`, or None.

        Where results that may be real are complex, it is told `is_turning=True`.
        """
        self.of_real.loop = functools.partial(loops, False)
        self.of_complex.primitive.loop = functools.partial(loops, True)
        if self._may_turn:
            self.of_turning.primitive.loop = functools.partial(loops, False, is_turning=True)

    def defjvp(self, *rules: Callable[..., Any] | None) -> None:
        """Forward rules, one for each argument."""
        for form in self._forms:
            form.defjvp(*rules)

    def defrules(self, pull: Rule, rule: Rule, pattern: str, **how: Any) -> None:
        """All of them, for one argument; the first one is given the cotangent last."""
        self.defvjp(curried(pull), **how)
        self.defjvp(rule)
        self.defpattern(pattern)

    def defpattern(self, *patterns: str) -> None:
        """Which numbers of real results depend on which of each argument."""
        self.of_real.defpattern(*patterns)


def of_pairs(loop: Any) -> Any:
    """What does for pairs of planes what a kernel does for real matrices."""
    if callable(loop) and not isinstance(loop, np.ufunc):
        return lambda *args, **kwargs: of_pairs(loop(*args, **kwargs))
    is_kernel = (
        isinstance(loop, tuple) and isinstance(loop[0], str) and not isinstance(loop, Loops)
    )
    return (f"{loop[0]}_of_pairs", *loop[1:]) if is_kernel else None


# --- parts of numbers ----------------------------------------------------------------------------


def T(x: Any) -> Any:  # noqa: N802 - as in every formula
    """The transposed matrix, or each of a stack."""
    return x.swapaxes(-1, -2) if type(x) is np.ndarray else swapaxes(x, -1, -2)


def H(x: Any) -> Any:  # noqa: N802 - as in every formula
    """The adjoint matrix, or each of a stack: of real ones the transposed."""
    if type(x) is np.ndarray:
        return x.swapaxes(-1, -2).conj()
    return swapaxes(conjugate(x), -1, -2)


def conjugate(x: Any) -> Any:
    """The complex conjugate: of real numbers themselves."""
    return complexes.conjugate(x) if is_complex_number(x) else x


def real(x: Any) -> Any:
    """The real part: of real numbers themselves."""
    return complexes.real(x) if is_complex_number(x) else x


# --- parts of matrices ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def triangle(n: int, lower: bool = True, strict: bool = False) -> Mask:
    """Where the lower (or upper) triangle of a square matrix is."""
    below = np.tri(n, k=-1 if lower == strict else 0, dtype=bool)
    return _constant(below if lower else ~below)


@functools.lru_cache(maxsize=8)
def identity(n: int) -> Mask:
    """Where the diagonal of a square matrix is."""
    return _constant(np.eye(n, dtype=bool))


def _constant(mask: Mask) -> Mask:
    mask.setflags(write=False)
    return mask


def part(x: Any, mask: Mask) -> Any:
    """The elements of x in the mask, and 0 elsewhere."""
    return where(mask, x, 0.0)


def diagonal(x: Any) -> Any:
    if type(x) is np.ndarray:
        return x.diagonal(0, -2, -1)
    n = min(x.shape[-2:])
    return x[..., np.arange(n), np.arange(n)]


def on_diagonal(x: Any) -> Any:
    return where(identity(x.shape[-1]), x[..., None], 0.0)


def real_diagonal(x: Any) -> Any:
    if is_complex_number(x):
        return on_diagonal(real(diagonal(x)))
    return part(x, identity(x.shape[-1]))


def hermitian(x: Any) -> Any:
    """The Hermitian part: of real matrices the symmetric one."""
    return 0.5 * (x + H(x))


def skew(x: Any) -> Any:
    """The skew-Hermitian part."""
    return 0.5 * (x - H(x))


def reflected(x: Any, lower: bool = True) -> Any:
    """The symmetric matrix of which x has the lower (or upper) triangle."""
    return where(triangle(x.shape[-1], lower), x, T(x))


def mirrored(x: Any, lower: bool = True) -> Any:
    """The Hermitian matrix of which x has the lower (or upper) triangle."""
    whole = where(triangle(x.shape[-1], lower), x, H(x))
    return hermitian(whole) if is_complex_number(x) else whole


def folded(x: Any, lower: bool = True) -> Any:
    """What a Hermitian cotangent is to the elements of one triangle: adjoint to `mirrored`."""
    return where(triangle(x.shape[-1], lower, strict=True), 2.0 * x, real_diagonal(x))


def outer_product(x: Any, y: Any) -> Any:
    """The product of x and the adjoint of y; of vectors without BLAS, which is slow for these."""
    return x * H(y) if x.shape[-1] == 1 else x @ H(y)


def scalars(x: Any, matrices: Any) -> Any:
    """One number for each matrix of a stack, so that it multiplies the matrix."""
    return x if matrices.ndim == 2 else reshape(x, (*matrices.shape[:-2], 1, 1))


def cross(x: Any, y: Any) -> Any:
    """The cross products of vectors along the last axis."""
    right, left = [1, 2, 0], [2, 0, 1]
    return x[..., right] * y[..., left] - x[..., left] * y[..., right]


def inner(x: Any, y: Any) -> Any:
    """The sum of the products of the elements of two matrices."""
    return sum(x * y, axis=(-2, -1))


def differences(x: Any) -> Any:
    """The matrix of x[j] - x[i]."""
    return x[..., None, :] - x[..., :, None]


def sums(x: Any) -> Any:
    """The matrix of x[j] + x[i]."""
    return x[..., None, :] + x[..., :, None]
