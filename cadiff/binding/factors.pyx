"""Triangles, LU factors and the derivatives of Cholesky factors, for stacks of plain matrices.

src/kernels/matrices.h computes, as it does in programs; this module prepares the arrays. Those of
one call have the same leading axes, and need not be arrays of floats yet. Complex ones are taken
apart into a stack of real parts and, behind it, one of imaginary parts.
"""

from numpy.linalg import LinAlgError

import numpy as np

from libc.stdint cimport intptr_t

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.matrices cimport *
from .complexes cimport joined_parts
from .tape cimport are_zero

from .complex_arithmetic import array_of_pair, pair_of_array


# --- arrays --------------------------------------------------------------------------------------

cdef inline bint is_complex(x):
    return cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(<cnp.ndarray?>x))


cdef cnp.ndarray floats(x, bint of_parts=False):
    """A stack of matrices whose rows stand one behind the other, or two: real and imaginary
    parts; in double precision."""
    x = pair_of_array(x) if of_parts else x
    return cnp.PyArray_FROMANY(x, cnp.NPY_DOUBLE, 2, 0, cnp.NPY_ARRAY_CARRAY_RO)


cdef cnp.ndarray indices(order):
    order = order.real if is_complex(order) else order
    return cnp.PyArray_FROMANY(order, cnp.NPY_DOUBLE, 1, 0, cnp.NPY_ARRAY_CARRAY_RO)


cdef cnp.ndarray like(cnp.ndarray x):
    return cnp.PyArray_EMPTY(cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x), cnp.NPY_DOUBLE, 0)


cdef cnp.ndarray without_axes(cnp.ndarray x, int skipped, int axes):
    """An array of floats of the leading axes of one, but for the first ones and the last ones."""
    return cnp.PyArray_EMPTY(
        cnp.PyArray_NDIM(x) - skipped - axes, cnp.PyArray_DIMS(x) + skipped, cnp.NPY_DOUBLE, 0
    )


cdef joined(cnp.ndarray x, bint of_parts):
    """What was taken apart in one again."""
    return array_of_pair(x) if of_parts else x


cdef inline cnp.npy_intp last(cnp.ndarray x):
    return cnp.PyArray_DIM(x, cnp.PyArray_NDIM(x) - 1)


cdef int check_stacks(cnp.ndarray squares, cnp.ndarray others, int axes, int skipped=0) except -1:
    """Raise ValueError unless they are as many square matrices as there are others: of the same
    number of rows, with `axes` axes each. Some axes of the squares may be theirs alone."""
    cdef int more = cnp.PyArray_NDIM(squares) - 2, i
    cdef bint fit = cnp.PyArray_NDIM(others) == more - skipped + axes
    for i in range(skipped, more + 1 if fit else 0):
        fit = fit and cnp.PyArray_DIM(squares, i) == cnp.PyArray_DIM(others, i - skipped)
    if not fit or last(squares) != cnp.PyArray_DIM(squares, more):
        raise ValueError(
            f"square matrices were expected, and others of as many rows, not the shapes "
            f"{(<object>squares).shape} and {(<object>others).shape}"
        )
    return 0


cdef int check_factors(cnp.ndarray lu, cnp.ndarray order, bint of_parts) except -1:
    """Raise ValueError unless the order of each matrix holds indices of its rows."""
    cdef const double *index = cnp.doubles(order)
    cdef cnp.npy_intp n = last(lu), i
    check_stacks(lu, order, 1, of_parts)
    for i in range(cnp.PyArray_SIZE(order)):
        if not 0.0 <= index[i] < n:
            raise ValueError(f"the order of {n} rows does not hold {index[i]}")
    return 0


cdef cnp.npy_intp first_zero(cnp.ndarray x, bint of_parts) noexcept:
    """Which element of the diagonal of a square matrix is 0; -1 if none is."""
    cdef cnp.npy_intp size = cnp.PyArray_SIZE(x), n = last(x), imaginary = 0, k, i
    cdef const double *number = cnp.doubles(x)
    if of_parts:
        size //= 2
        imaginary = size
    for k in range(size // (n * n) if n > 0 else 0):
        for i in range(n):
            if number[i * (n + 1)] == 0.0 and number[i * (n + 1) + imaginary] == 0.0:
                return i
        number += n * n
    return -1


cdef int refuse_singular(cnp.ndarray lu, bint of_parts) except -1:
    if first_zero(lu, of_parts) >= 0:
        raise LinAlgError("Singular matrix")
    return 0


cdef int check_diagonal(cnp.ndarray t, bint of_parts) except -1:
    """Raise where a triangle is singular."""
    cdef cnp.npy_intp zero = first_zero(t, of_parts)
    if zero >= 0:
        raise LinAlgError(f"singular matrix: resolution failed at diagonal {zero}")
    return 0


# --- loops ---------------------------------------------------------------------------------------

cdef enum:
    MOST_MATRICES = 4


# Arguments of a loop over matrices, so far.
cdef struct Args:
    int n, n_core
    char *at[MOST_MATRICES]
    Py_ssize_t outer[MOST_MATRICES]
    Py_ssize_t core[3 * MOST_MATRICES]


cdef void put_step(Args *args, Py_ssize_t numbers) noexcept nogil:
    args.core[args.n_core] = numbers * sizeof(double)
    args.n_core += 1


cdef void put(Args *args, cnp.ndarray x, int axes, bint of_parts=False, bint turned=False):
    """The next argument: matrices, rows or numbers that stand one behind the other.

    Of pairs, the first axis is that of both parts. A single matrix may be turned: its columns then
    stand one behind the other.
    """
    cdef cnp.npy_intp *lengths = cnp.PyArray_DIMS(x) + cnp.PyArray_NDIM(x) - axes
    cdef cnp.npy_intp rows = lengths[0] if axes > 0 else 1, columns = lengths[1] if axes > 1 else 1
    args.at[args.n] = <char *>cnp.PyArray_DATA(x)
    args.outer[args.n] = rows * columns * sizeof(double)
    args.n += 1
    if of_parts:
        put_step(args, cnp.PyArray_SIZE(x) // 2)
    if axes == 1:
        put_step(args, 1)
    elif axes == 2:
        put_step(args, 1 if turned else columns)
        put_step(args, rows if turned else 1)


cdef void put_order(Args *args, cnp.ndarray order, bint of_parts):
    """The next argument, in the place of a pair of which the real plane is all that is read."""
    args.at[args.n] = <char *>cnp.PyArray_DATA(order)
    args.outer[args.n] = last(order) * sizeof(double)
    args.n += 1
    if of_parts:
        put_step(args, 0)
    put_step(args, 1)


cdef void go_over(Args *args, CadStackLoop *loop, cnp.ndarray stack, bint of_parts,
                  intptr_t told=0):
    """Run a loop over a stack that its arguments are as long as: of matrices, the last axis of
    which may have another length than the one before."""
    cdef Py_ssize_t dims[4]
    cdef Py_ssize_t steps[4 * MOST_MATRICES]
    cdef Py_ssize_t n = cnp.PyArray_DIM(stack, cnp.PyArray_NDIM(stack) - 2), m = last(stack)
    cdef int i, k = 1
    dims[0] = cnp.PyArray_SIZE(stack)
    for i in range(args.n):
        steps[i] = args.outer[i]
    for i in range(args.n_core):
        steps[args.n + i] = args.core[i]
    if of_parts:
        dims[0], dims[1], k = dims[0] // 2, 2, 2
    dims[0] //= n * m
    dims[k], dims[k + 1] = n, m
    with nogil:
        loop(args.at, dims, steps, <void *>told)


# --- triangles and LU ----------------------------------------------------------------------------

cdef object solved(t, order, b, CadStackLoop *of_reals, CadStackLoop *of_pairs, int told,
                   bint may_be_turned=False):
    """Solve by triangles t; or by LU factors, whose rows stand in an order, if there is one."""
    cdef bint of_parts = is_complex(t) or is_complex(b)
    # A stack of one is as good as the transposed: its matrix may have been transposed before.
    cdef bint turned = may_be_turned and not of_parts and t.ndim == 2 and t.flags.f_contiguous
    cdef cnp.ndarray ts = floats(t.T if turned else t, of_parts), bs = floats(b, of_parts), x
    cdef cnp.ndarray places = None if order is None else indices(order)
    cdef Args args
    args.n = args.n_core = 0
    check_stacks(ts, bs, 2)
    if places is not None:
        check_factors(ts, places, of_parts)
    x = like(bs)
    if cnp.PyArray_SIZE(x) == 0:
        return joined(x, of_parts)
    if places is not None:
        refuse_singular(ts, of_parts)
    elif not told & CAD_UNIT:
        check_diagonal(ts, of_parts)
    put(&args, ts, 2, of_parts, turned)
    if places is not None:
        put_order(&args, places, of_parts)
    put(&args, bs, 2, of_parts)
    put(&args, x, 2, of_parts)
    go_over(&args, of_pairs if of_parts else of_reals, bs, of_parts, told)
    return joined(x, of_parts)


#: _Floats = NDArray[np.float64]
#: _Array = NDArray[Any]  # real or complex
def solve_triangle(t: _Array, b: _Array, bint lower, bint unit=False,
                   bint adjoint=False) -> _Array:
    """Solve t @ x = b, or H(t) @ x = b, for a triangle t, whose diagonal is 1 if `unit`."""
    return solved(
        t, None, b, cad_solve_triangle_of_reals, cad_solve_triangle_of_pairs,
        (CAD_LOWER if lower else 0) + (CAD_UNIT if unit else 0) + (CAD_ADJOINT if adjoint else 0),
        True,
    )


def cho_solve(c: _Array, b: _Array, bint lower) -> _Array:
    """Solve a @ x = b for a = c @ H(c) of a lower triangle, or H(c) @ c of an upper one."""
    return solved(
        c, None, b, cad_cho_solve_of_reals, cad_cho_solve_of_pairs, CAD_LOWER if lower else 0
    )


def factor_lu(a: _Array) -> tuple[_Array, _Floats]:
    """The factors l and u of a[order] in one matrix, and the order, of floats."""
    cdef bint of_parts = is_complex(a)
    cdef cnp.ndarray matrix = floats(a, of_parts), lu, order
    cdef Args args
    args.n = args.n_core = 0
    check_stacks(matrix, matrix, 2)
    lu, order = like(matrix), without_axes(matrix, of_parts, 1)
    if cnp.PyArray_SIZE(lu) > 0:
        put(&args, matrix, 2, of_parts)
        put(&args, lu, 2, of_parts)
        put(&args, order, 1)
        go_over(&args, cad_factor_lu_of_pairs if of_parts else cad_factor_lu_of_reals, matrix,
                of_parts)
    return joined(lu, of_parts), order


def solve_factored(lu: _Array, order: _Floats, b: _Array, bint adjoint=False) -> _Array:
    """Solve a @ x = b, or H(a) @ x = b, by what `factor_lu` has made of a."""
    return solved(
        lu, order, b, cad_solve_factored_of_reals, cad_solve_factored_of_pairs,
        CAD_ADJOINT if adjoint else 0,
    )


def inverse_adjoint(lu: _Array, order: _Floats) -> _Array:
    """The adjoint of the inverse of a, by what `factor_lu` has made of a."""
    cdef bint of_parts = is_complex(lu)
    cdef cnp.ndarray factors = floats(lu, of_parts), places = indices(order), inverse
    cdef Args args
    args.n = args.n_core = 0
    check_factors(factors, places, of_parts)
    inverse = like(factors)
    if cnp.PyArray_SIZE(inverse) > 0:
        refuse_singular(factors, of_parts)
        put(&args, factors, 2, of_parts)
        put_order(&args, places, of_parts)
        put(&args, inverse, 2, of_parts)
        go_over(
            &args, cad_inverse_adjoint_of_pairs if of_parts else cad_inverse_adjoint_of_reals,
            factors, of_parts,
        )
    return joined(inverse, of_parts)


# --- determinants --------------------------------------------------------------------------------

cdef object of_pivots(lu, order, CadStackLoop *of_reals, CadStackLoop *of_pairs, int n_results):
    """What a loop makes of the factors of each matrix: a number, and a real one behind it."""
    cdef bint of_parts = is_complex(lu)
    cdef cnp.ndarray factors = floats(lu, of_parts), places = indices(order), made, more
    cdef Args args
    args.n = args.n_core = 0
    check_factors(factors, places, of_parts)
    more = without_axes(factors, of_parts, 2)
    made = np.empty((2,) + (<object>more).shape) if of_parts else without_axes(factors, 0, 2)
    if cnp.PyArray_SIZE(factors) > 0:
        put(&args, factors, 2, of_parts)
        put_order(&args, places, of_parts)
        put(&args, made, 0, of_parts)
        if n_results > 1:
            put(&args, more, 0)
        go_over(&args, of_pairs if of_parts else of_reals, factors, of_parts)
    else:  # no rows
        made[...] = 1.0
        more[...] = 0.0
        if of_parts:
            made[1] = 0.0
    found = array_of_pair(made) if of_parts else (<object>made)[()]
    return found if n_results == 1 else (found, (<object>more)[()])


def determinant(lu: _Array, order: _Floats) -> _Array:
    """The determinant of a, by what `factor_lu` has made of it."""
    return of_pivots(lu, order, cad_determinant_of_reals, cad_determinant_of_pairs, 1)


def log_determinant(lu: _Array, order: _Floats) -> tuple[_Array, _Floats]:
    """The sign of the determinant of a, and the logarithm of its size."""
    return of_pivots(lu, order, cad_log_determinant_of_reals, cad_log_determinant_of_pairs, 2)


# --- parts of rules ------------------------------------------------------------------------------

def are_finite(x: _Array) -> bool:
    """Whether there is neither inf nor nan in an array, real or complex."""
    cdef bint is_finite, of_pairs = is_complex(x)
    cdef int kind = cnp.NPY_CDOUBLE if of_pairs else cnp.NPY_DOUBLE
    cdef cnp.ndarray given = cnp.PyArray_FROMANY(x.ravel("K"), kind, 1, 0, cnp.NPY_ARRAY_CARRAY_RO)
    cdef size_t n = cnp.PyArray_SIZE(given) * (2 if of_pairs else 1)
    with nogil:
        is_finite = cad_are_finite(cnp.doubles(given), n)
    return is_finite


# --- derivatives of cholesky ---------------------------------------------------------------------

cdef along_cholesky(factor, change, CadStackLoop *loop):
    cdef cnp.ndarray l = floats(factor), g = floats(change), result
    cdef Args args
    args.n = args.n_core = 0
    check_stacks(l, g, 2)
    if last(g) != last(l):
        raise ValueError(
            f"the change of factors has {last(l)} rows and as many columns, not {last(g)} columns"
        )
    result = like(g)
    if cnp.PyArray_SIZE(l) > 0:
        put(&args, l, 2)
        put(&args, g, 2)
        put(&args, result, 2)
        go_over(&args, loop, l, False)
    return result


def cholesky_pull(l: _Floats, g: _Floats) -> _Floats:
    """The cotangent of the lower triangle that is factored, given that of the factor l."""
    return along_cholesky(l, g, cad_cholesky_pull_of_reals)


def cholesky_push(l: _Floats, t: _Floats) -> _Floats:
    """The tangent of the factor l, given that of the lower triangle that is factored."""
    return along_cholesky(l, t, cad_cholesky_push_of_reals)


# --- spectra -------------------------------------------------------------------------------------

def are_zeros(cnp.ndarray x) -> bool:
    """Whether there are some floats in an array, and all of them are zero."""
    if not cnp.PyArray_ISCARRAY_RO(x):
        return x.size > 0 and not np.count_nonzero(x)
    return cnp.PyArray_SIZE(x) > 0 and are_zero([x])


def transformed(ufunc, tuple factors, re: NDArray[np.float64], im: NDArray[np.float64], tuple axes,
                tuple lengths, tuple sizes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both parts of what a generalized ufunc of rows and a factor makes of a complex array along
    axes, one after the other. The array is truncated or padded to lengths first, results are to
    sizes."""
    cdef object z = joined_parts(resized(re, axes, lengths), resized(im, axes, lengths))
    cdef int last = cnp.PyArray_NDIM(z) - 1
    cdef Py_ssize_t i
    for i in range(len(axes) - 1, -1, -1):
        if axes[i] == last:
            ufunc(z, factors[i], z)
        else:
            ufunc(z, factors[i], z, axes=[(axes[i],), (), (axes[i],)])
    return resized(z.real, axes, sizes), resized(z.imag, axes, sizes)


cpdef object resized(x: NDArray[np.float64], tuple axes, tuple sizes):  #: NDArray[np.float64]
    """An array truncated or padded by zeros along axes; as it is if there are no sizes."""
    cdef Py_ssize_t i
    for i in range(len(sizes)):
        if cnp.PyArray_DIM(x, axes[i]) != <cnp.npy_intp>sizes[i]:
            x = of_length(x, axes[i], sizes[i])
    return x


cdef object of_length(cnp.ndarray x, int axis, cnp.npy_intp size):
    """An array truncated or padded by zeros along one axis."""
    cdef tuple shape = x.shape
    cdef cnp.npy_intp have = shape[axis]
    before = (slice(None),) * axis
    if have > size:
        return x[before + (slice(size),)]
    padded = np.zeros(shape[:axis] + (size,) + shape[axis + 1:], x.dtype)
    padded[before + (slice(have),)] = x
    return padded
