"""Triangles, LU factors and the derivatives of Cholesky factors, for stacks of plain matrices.

src/kernels/factors.h computes; this module prepares the arrays. Those of one call have the same
leading axes, and need not be arrays of floats yet. Complex ones are taken apart into a stack of
real parts and, behind it, one of imaginary parts.
"""

from numpy.linalg import LinAlgError

import numpy as np

cimport cython
from libc.math cimport fabs, frexp, hypot, ldexp, log
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_entries cimport *
from .complexes cimport joined_parts
from .tape cimport are_zero, MOST_AXES

from .complexes import array_of_pair, pair_of_array


cdef extern from "kernels/factors.h" nogil:
    ctypedef struct CadComplexMatrix:
        double *data
        Py_ssize_t row
        Py_ssize_t column
        Py_ssize_t imaginary
    ctypedef struct CadTriangle:
        CadComplexMatrix matrix
        int lower
        int unit
    void cad_solve_triangle(
        CadTriangle t, CadComplexMatrix b, size_t n, size_t m, double *room
    )
    void cad_invert_lower(CadTriangle t, CadComplexMatrix b, size_t n, double *room)
    void cad_factor_lu(CadComplexMatrix a, double *order, size_t n, double *room)
    void cad_cholesky_pull(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room)
    void cad_cholesky_push(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room)


# --- stacks --------------------------------------------------------------------------------------

cdef struct Stack:
    double *numbers  # of n x m matrices
    cnp.npy_intp count
    cnp.npy_intp n
    cnp.npy_intp m
    cnp.npy_intp imaginary  # from the real parts to the imaginary ones, or 0


cdef inline bint is_complex(x):
    return cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(<cnp.ndarray?>x))


cdef cnp.ndarray floats(x, bint of_parts=False):
    """A stack of matrices whose rows stand one behind the other, or two: real and imaginary
    parts."""
    if of_parts:
        return pair_of_array(x)
    return cnp.PyArray_FROMANY(x, cnp.NPY_DOUBLE, 2, 0, cnp.NPY_ARRAY_CARRAY_RO)


cdef cnp.ndarray copied(x, bint of_parts=False):
    """A copy that may be written to."""
    cdef int flags = cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_ENSURECOPY
    return pair_of_array(x) if of_parts else cnp.PyArray_FROMANY(x, cnp.NPY_DOUBLE, 2, 0, flags)


cdef cnp.ndarray zeros_like(cnp.ndarray x):
    return cnp.PyArray_ZEROS(cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x), cnp.NPY_DOUBLE, 0)


cdef joined(cnp.ndarray x, bint of_parts):
    """What was taken apart in one again."""
    return array_of_pair(x) if of_parts else x


cdef inline cnp.npy_intp last(cnp.ndarray x):
    return cnp.PyArray_DIM(x, cnp.PyArray_NDIM(x) - 1)


cdef Stack stack_of(cnp.ndarray x, bint of_parts):
    """The matrices of an array with at least one element."""
    cdef Stack s
    cdef cnp.npy_intp size = cnp.PyArray_SIZE(x)
    if of_parts:
        size //= 2
    s.numbers = <double *>cnp.PyArray_DATA(x)
    s.n, s.m = cnp.PyArray_DIM(x, cnp.PyArray_NDIM(x) - 2), last(x)
    s.count = size // (s.n * s.m)
    s.imaginary = size if of_parts else 0
    return s


cdef inline CadComplexMatrix matrix(Stack s, cnp.npy_intp i, bint transposed=False) noexcept nogil:
    """One matrix of a stack, or the transposed of it."""
    cdef CadComplexMatrix one
    one.data = s.numbers + i * s.n * s.m
    one.row = 1 if transposed else s.m
    one.column = s.m if transposed else 1
    one.imaginary = s.imaginary
    return one


cdef inline CadTriangle triangle(
    Stack s, cnp.npy_intp i, bint transposed, bint lower, bint unit
) noexcept nogil:
    """The lower or upper triangle of a matrix, or of the transposed matrix."""
    cdef CadTriangle t
    t.matrix = matrix(s, i, transposed)
    t.lower, t.unit = lower, unit
    return t


cdef void conjugate(Stack s) noexcept nogil:
    cdef double *imaginary = s.numbers + s.imaginary
    cdef cnp.npy_intp i
    for i in range(s.imaginary):
        imaginary[i] = -imaginary[i]


cdef double *room_for(cnp.npy_intp n, cnp.npy_intp m, list owner) except? NULL:
    cdef cnp.npy_intp size = n * (m if m > n else n)
    room = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_DOUBLE)
    owner.append(room)
    return <double *>cnp.PyArray_DATA(room)


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
    cdef const double *index = <const double *>cnp.PyArray_DATA(order)
    cdef cnp.npy_intp n = last(lu), i
    check_stacks(lu, order, 1, of_parts)
    for i in range(cnp.PyArray_SIZE(order)):
        if not 0.0 <= index[i] < n:
            raise ValueError(f"the order of {n} rows does not hold {index[i]}")
    return 0


cdef cnp.npy_intp first_zero(Stack s) noexcept nogil:
    """Which element of a diagonal is 0; -1 if none is."""
    cdef cnp.npy_intp k, i
    cdef const double *number
    for k in range(s.count):
        for i in range(s.n):
            number = s.numbers + (k * s.n + i) * s.n + i
            if number[0] == 0.0 and number[s.imaginary] == 0.0:
                return i
    return -1


cdef int refuse_singular(Stack lu) except -1:
    if first_zero(lu) >= 0:
        raise LinAlgError("Singular matrix")
    return 0


cdef cnp.ndarray indices(order, int flags=0):
    order = order.real if is_complex(order) else order
    return cnp.PyArray_FROMANY(order, cnp.NPY_DOUBLE, 1, 0, cnp.NPY_ARRAY_CARRAY_RO | flags)


# --- triangles and LU ----------------------------------------------------------------------------

def solve_triangle(t, b, bint lower, bint unit=False, bint adjoint=False):
    """Solve t @ x = b, or H(t) @ x = b, for a triangle t, whose diagonal is 1 if `unit`."""
    cdef bint of_parts = is_complex(t) or is_complex(b)
    # A stack of one is as good as the transposed: its matrix may have been transposed before.
    cdef bint turned = not of_parts and t.ndim == 2 and t.flags.f_contiguous
    cdef cnp.ndarray ts = floats(t.T if turned else t, of_parts), x = copied(b, of_parts)
    cdef Stack triangles, solved
    cdef cnp.npy_intp i, zero
    cdef double *room
    cdef list owner = []
    check_stacks(ts, x, 2)
    if cnp.PyArray_SIZE(x) == 0:
        return joined(x, of_parts)
    triangles, solved = stack_of(ts, of_parts), stack_of(x, of_parts)
    zero = -1 if unit else first_zero(triangles)
    if zero >= 0:
        raise LinAlgError(f"singular matrix: resolution failed at diagonal {zero}")
    room = room_for(solved.n, solved.m, owner)
    with nogil:
        if adjoint:
            conjugate(solved)
        for i in range(solved.count):
            cad_solve_triangle(
                triangle(triangles, i, adjoint != turned, lower != adjoint, unit),
                matrix(solved, i), solved.n, solved.m, room,
            )
        if adjoint:
            conjugate(solved)
    return joined(x, of_parts)


def factor_lu(a):
    """The factors l and u of a[order] in one matrix, and the order, of floats."""
    cdef bint of_parts = is_complex(a)
    cdef cnp.ndarray lu = copied(a, of_parts), order
    cdef Stack factors
    cdef cnp.npy_intp i
    cdef double *places
    cdef double *room
    cdef list owner = []
    check_stacks(lu, lu, 2)
    order = cnp.PyArray_EMPTY(
        cnp.PyArray_NDIM(lu) - 1 - of_parts, cnp.PyArray_DIMS(lu) + of_parts, cnp.NPY_DOUBLE, 0
    )
    if cnp.PyArray_SIZE(lu) > 0:
        factors = stack_of(lu, of_parts)
        places = <double *>cnp.PyArray_DATA(order)
        room = room_for(factors.n, factors.n, owner)
        with nogil:
            for i in range(factors.count):
                cad_factor_lu(matrix(factors, i), places + i * factors.n, factors.n, room)
    return joined(lu, of_parts), order


cdef void exchange(
    double *numbers, const double *order, cnp.npy_intp n, cnp.npy_intp m, bint back,
    double *room,
) noexcept nogil:
    """Put rows of m numbers in the order told, or back from it."""
    cdef cnp.npy_intp i, row
    memcpy(room, numbers, n * m * sizeof(double))
    for i in range(n):
        row = <cnp.npy_intp>order[i]
        memcpy(numbers + (row if back else i) * m, room + (i if back else row) * m,
               m * sizeof(double))


cdef void exchange_rows(
    CadComplexMatrix x, const double *order, cnp.npy_intp n, cnp.npy_intp m, bint back,
    double *room,
) noexcept nogil:
    exchange(x.data, order, n, m, back, room)
    if x.imaginary:
        exchange(x.data + x.imaginary, order, n, m, back, room)


cdef void solve_with(
    const double *order, Stack lu, Stack x, cnp.npy_intp i, bint transposed, double *room
) noexcept nogil:
    """a[order] = l u, so that a.T = u.T l.T, of which the columns are exchanged."""
    cdef CadComplexMatrix b = matrix(x, i)
    if not transposed:
        exchange_rows(b, order, x.n, x.m, False, room)
    cad_solve_triangle(triangle(lu, i, transposed, True, not transposed), b, x.n, x.m, room)
    cad_solve_triangle(triangle(lu, i, transposed, False, transposed), b, x.n, x.m, room)
    if transposed:
        exchange_rows(b, order, x.n, x.m, True, room)


def solve_factored(lu, order, b, bint adjoint=False):
    """Solve a @ x = b, or H(a) @ x = b, by what `factor_lu` has made of a."""
    cdef bint of_parts = is_complex(lu) or is_complex(b)
    cdef cnp.ndarray factors = floats(lu, of_parts), x = copied(b, of_parts)
    cdef cnp.ndarray places = indices(order)
    cdef const double *orders = <const double *>cnp.PyArray_DATA(places)
    cdef Stack lus, solved
    cdef cnp.npy_intp i
    cdef double *room
    cdef list owner = []
    check_stacks(factors, x, 2)
    check_factors(factors, places, of_parts)
    if cnp.PyArray_SIZE(x) == 0:
        return joined(x, of_parts)
    lus, solved = stack_of(factors, of_parts), stack_of(x, of_parts)
    refuse_singular(lus)
    room = room_for(solved.n, solved.m, owner)
    with nogil:
        if adjoint:
            conjugate(solved)
        for i in range(solved.count):
            solve_with(orders + i * solved.n, lus, solved, i, adjoint, room)
        if adjoint:
            conjugate(solved)
    return joined(x, of_parts)


cdef void invert(
    const double *order, Stack lu, Stack x, cnp.npy_intp i, double *room
) noexcept nogil:
    """x, which is zeros, becomes the inverse of u.T times that of l.T, with the rows in order."""
    cdef CadComplexMatrix b = matrix(x, i)
    cdef cnp.npy_intp k
    for k in range(x.n):
        b.data[k * (x.n + 1)] = 1.0
    cad_invert_lower(triangle(lu, i, True, True, False), b, x.n, room)
    cad_solve_triangle(triangle(lu, i, True, False, True), b, x.n, x.n, room)
    exchange_rows(b, order, x.n, x.n, True, room)


def inverse_adjoint(lu, order):
    """The adjoint of the inverse of a, by what `factor_lu` has made of a."""
    cdef bint of_parts = is_complex(lu)
    cdef cnp.ndarray factors = floats(lu, of_parts), places = indices(order), inverse
    cdef const double *orders = <const double *>cnp.PyArray_DATA(places)
    cdef Stack lus, inverses
    cdef cnp.npy_intp i
    cdef double *room
    cdef list owner = []
    check_factors(factors, places, of_parts)
    inverse = zeros_like(factors)
    if cnp.PyArray_SIZE(inverse) > 0:
        lus, inverses = stack_of(factors, of_parts), stack_of(inverse, of_parts)
        refuse_singular(lus)
        room = room_for(lus.n, lus.n, owner)
        with nogil:
            for i in range(lus.count):
                invert(orders + i * lus.n, lus, inverses, i, room)
            conjugate(inverses)
    return joined(inverse, of_parts)


# --- determinants --------------------------------------------------------------------------------

cdef bint is_odd(double *order, cnp.npy_intp n) noexcept nogil:
    """Whether an order of rows takes an odd number of exchanges; it is put right."""
    cdef cnp.npy_intp i, k
    cdef double other
    cdef bint odd = False
    for i in range(n):
        while order[i] != i:
            k = <cnp.npy_intp>order[i]
            if order[k] == k:
                break  # no permutation
            other, order[k] = order[k], k
            order[i] = other
            odd = not odd
    return odd


cdef void determinant_of(CadComplexMatrix lu, cnp.npy_intp n, double *parts) noexcept nogil:
    """The product of the pivots, which does not overflow before it is complete."""
    cdef double re = 1.0, im = 0.0, c, d = 0.0, both
    cdef const double *pivot
    cdef cnp.npy_intp i
    cdef int exponent = 0, more
    for i in range(n):
        pivot = lu.data + i * (n + 1)
        c = pivot[0]
        if lu.imaginary:
            d = pivot[lu.imaginary]
            both = re * c - im * d
            im = re * d + im * c
            re = both
            frexp(max(fabs(re), fabs(im)), &more)
            re, im = ldexp(re, -more), ldexp(im, -more)
        else:
            re = frexp(re * c, &more)
        exponent += more
    parts[0], parts[1] = ldexp(re, exponent), ldexp(im, exponent)


cdef void logarithm_of(CadComplexMatrix lu, cnp.npy_intp n, double *parts) noexcept nogil:
    """The product of the signs of the pivots, and the sum of the logarithms of their sizes."""
    cdef double re = 1.0, im = 0.0, total = 0.0, c, d = 0.0, size
    cdef const double *pivot
    cdef cnp.npy_intp i
    for i in range(n):
        pivot = lu.data + i * (n + 1)
        if lu.imaginary:
            size = hypot(pivot[0], pivot[lu.imaginary])
            c, d = pivot[0], pivot[lu.imaginary]
            c, d = (c / size, d / size) if size != 0.0 else (0.0, 0.0)
            re, im = re * c - im * d, re * d + im * c
        else:
            size = fabs(pivot[0])
            re = re if pivot[0] > 0.0 else -re if pivot[0] < 0.0 else 0.0 * pivot[0]
        total += log(size)
    parts[0], parts[1], parts[2] = re, im, total


ctypedef void (*OfPivots)(CadComplexMatrix, cnp.npy_intp, double *) noexcept nogil


cdef object of_pivots(lu, order, OfPivots function):
    """Three rows: real and imaginary part, negative for an odd order, and a further number."""
    cdef bint of_parts = is_complex(lu)
    cdef cnp.ndarray factors = floats(lu, of_parts)
    cdef cnp.ndarray places = indices(order, cnp.NPY_ARRAY_ENSURECOPY)
    cdef double *orders = <double *>cnp.PyArray_DATA(places)
    cdef cnp.npy_intp n = last(factors), i, count
    cdef double parts[3]
    cdef double *made
    cdef Stack lus
    check_factors(factors, places, of_parts)
    rows = np.empty((3,) + order.shape[: order.ndim - 1])
    made = <double *>cnp.PyArray_DATA(<cnp.ndarray>rows)
    count = cnp.PyArray_SIZE(<cnp.ndarray>rows) // 3
    lus.numbers, lus.n, lus.m = <double *>cnp.PyArray_DATA(factors), n, n
    lus.imaginary = count * n * n if of_parts else 0
    for i in range(count):
        function(matrix(lus, i), n, parts)
        if is_odd(orders + i * n, n):
            parts[0], parts[1] = -parts[0], -parts[1]
        made[i], made[count + i], made[2 * count + i] = parts[0], parts[1], parts[2]
    return rows


cdef object numbers_of(rows, lu):
    """The numbers of which the parts stand in two rows."""
    return array_of_pair(rows[:2]) if is_complex(lu) else rows[0]


def determinant(lu, order):
    """The determinant of a, by what `factor_lu` has made of it."""
    return numbers_of(of_pivots(lu, order, determinant_of), lu)


def log_determinant(lu, order):
    """The sign of the determinant of a, and the logarithm of its size."""
    rows = of_pivots(lu, order, logarithm_of)
    return numbers_of(rows, lu), rows[2]


# --- parts of rules ------------------------------------------------------------------------------

cdef cnp.ndarray numbers_in(x, bint of_pairs):
    """A stack of matrices, real or complex, whose rows stand one behind the other."""
    cdef int kind = cnp.NPY_CDOUBLE if of_pairs else cnp.NPY_DOUBLE
    return cnp.PyArray_FROMANY(x, kind, 2, 0, cnp.NPY_ARRAY_CARRAY_RO)


def are_finite(x):
    """Whether there is neither inf nor nan in an array, real or complex."""
    cdef bint of_pairs = is_complex(x), is_lost = False
    cdef int kind = cnp.NPY_CDOUBLE if of_pairs else cnp.NPY_DOUBLE
    cdef cnp.ndarray given = cnp.PyArray_FROMANY(
        x.ravel("K"), kind, 1, 1, cnp.NPY_ARRAY_CARRAY_RO
    )
    cdef const double *numbers = <const double *>cnp.PyArray_DATA(given)
    cdef cnp.npy_intp i
    with nogil:
        for i in range(cnp.PyArray_SIZE(given) * (2 if of_pairs else 1)):
            is_lost |= numbers[i] - numbers[i] != 0.0
    return not is_lost


@cython.cdivision(True)
def over_gaps(x, values, bint sums, double tolerance):
    """The matrix x, real or complex, over values[j] - values[i], or their sums; 0 on the diagonal.

    None if a gap is no more than so many times n and the largest of the values: what the quotient
    is then is for the caller to say.
    """
    cdef bint of_pairs = is_complex(x), repeated = False
    cdef cnp.ndarray xs = numbers_in(x, of_pairs), ws = indices(values), quotients
    cdef cnp.npy_intp n = last(xs), width = 2 * n if of_pairs else n, i, j, k
    cdef const double *w = <const double *>cnp.PyArray_DATA(ws)
    cdef const double *given = <const double *>cnp.PyArray_DATA(xs)
    cdef double *made
    cdef double most, other, gap, limit
    check_stacks(xs, ws, 1)
    quotients = cnp.PyArray_EMPTY(
        cnp.PyArray_NDIM(xs), cnp.PyArray_DIMS(xs), cnp.PyArray_TYPE(xs), 0
    )
    made = <double *>cnp.PyArray_DATA(quotients)
    with nogil:
        for k in range(cnp.PyArray_SIZE(ws) // n if n > 0 else 0):
            most = 0.0
            for i in range(n):
                most = max(most, fabs(w[i]))
            limit = n * tolerance * most
            for i in range(n):
                other = w[i] if sums else -w[i]
                for j in range(n):
                    gap = w[j] + other
                    repeated |= (fabs(gap) <= limit) & (i != j)
                    if of_pairs:
                        made[2 * j], made[2 * j + 1] = given[2 * j] / gap, given[2 * j + 1] / gap
                    else:
                        made[j] = given[j] / gap
                if of_pairs:
                    made[2 * i] = made[2 * i + 1] = 0.0
                else:
                    made[i] = 0.0
                given += width
                made += width
            w += n
    return None if repeated else quotients


def folded(x, bint lower):
    """What a Hermitian cotangent is to the elements of one triangle: twice those off the diagonal,
    of which the real part counts, and 0 beyond it."""
    cdef bint of_pairs = is_complex(x)
    cdef cnp.ndarray given = numbers_in(x, of_pairs), made
    cdef int parts = 2 if of_pairs else 1
    cdef cnp.npy_intp n = last(given), i, j, row, begin, end
    cdef const double *numbers = <const double *>cnp.PyArray_DATA(given)
    cdef double *folds
    made = cnp.PyArray_ZEROS(
        cnp.PyArray_NDIM(given), cnp.PyArray_DIMS(given), cnp.PyArray_TYPE(given), 0
    )
    check_stacks(given, given, 2)
    folds = <double *>cnp.PyArray_DATA(made)
    with nogil:
        for row in range(cnp.PyArray_SIZE(given) // n if n > 0 else 0):
            i = row % n
            begin = 0 if lower else i + 1
            end = i if lower else n
            for j in range(parts * begin, parts * end):
                folds[j] = 2.0 * numbers[j]
            folds[parts * i] = numbers[parts * i]
            numbers += parts * n
            folds += parts * n
    return made


# --- derivatives of cholesky ---------------------------------------------------------------------

ctypedef void (*Kernel)(CadComplexMatrix, CadComplexMatrix, size_t, double *) noexcept nogil


cdef along_cholesky(factor, change, Kernel kernel):
    """Of a lower triangle: what the kernels read and write is transposed."""
    cdef cnp.ndarray l = floats(factor), g = copied(change.swapaxes(-1, -2))
    cdef cnp.npy_intp n = last(l), i
    cdef Stack factors, changes
    cdef double *room
    cdef list owner = []
    check_stacks(l, g, 2)
    if last(g) != n:
        raise ValueError(f"the change of {n} x {n} factors has {last(g)} rows")
    if cnp.PyArray_SIZE(l) > 0:
        factors, changes = stack_of(l, False), stack_of(g, False)
        room = room_for(n, n, owner)
        with nogil:
            for i in range(factors.count):
                kernel(matrix(factors, i), matrix(changes, i), n, room)
    return (<object>g).swapaxes(-1, -2)


def cholesky_pull(l, g):
    """The cotangent of the lower triangle that is factored, given that of the factor l."""
    return along_cholesky(l, g, cad_cholesky_pull)


def cholesky_push(l, t):
    """The tangent of the factor l, given that of the lower triangle that is factored."""
    return along_cholesky(l, t, cad_cholesky_push)


# --- spectra -------------------------------------------------------------------------------------
#
# Spectra of real numbers: the half that is computed, and the whole of which it is a half.
#
# Along the axes that are transformed, X[-k] = conj(X[k]). The last of them is the one that is halved.
# Which transform it is of is not known here.


cdef enum:
    MANY = 1 << 16  # numbers, from which on other threads may run meanwhile


cdef struct Axis:
    cnp.npy_intp count  # of the half
    cnp.npy_intp length  # of the whole
    cnp.npy_intp half_step
    cnp.npy_intp step
    bint is_mirrored
    bint is_halved


cdef struct Spectrum:
    int ndim
    Axis axis[MOST_AXES]
    double *half
    double *re
    double *im
    double sign


cdef int put_axes(
    Spectrum *s, int ndim, const cnp.npy_intp *half, const cnp.npy_intp *whole, tuple axes
) except -1:
    """The axes of a half and of the whole spectrum, both parts of which are in order, as is the
    half."""
    cdef cnp.npy_intp step = 1, half_step = 2
    cdef int i, halved = axes[len(axes) - 1]
    s.ndim = ndim
    for i in range(ndim - 1, -1, -1):
        s.axis[i].length, s.axis[i].count = whole[i], half[i]
        s.axis[i].is_mirrored = i in axes
        s.axis[i].is_halved = i == halved
        s.axis[i].step, s.axis[i].half_step = step, half_step
        step *= whole[i]
        half_step *= half[i]
    return 0


cdef inline cnp.npy_intp mirrored(const Axis *axis, cnp.npy_intp k) noexcept nogil:
    """Where -k is, if the axis is one of those that are transformed."""
    return axis.length - k if axis.is_mirrored and k > 0 else k


cdef void fold_row(const Spectrum *s, const Axis *axis, double *half, cnp.npy_intp here,
                   cnp.npy_intp there) noexcept nogil:
    """What `fold` does along the last axis."""
    cdef const double *re = s.re
    cdef const double *im = s.im
    cdef double sign = 0.5 * s.sign
    cdef cnp.npy_intp k, other
    for k in range(axis.count):
        other = there + mirrored(axis, k)
        half[2 * k] = 0.5 * (re[here + k] + re[other])
        half[2 * k + 1] = sign * (im[here + k] - im[other])


cdef void fold(const Spectrum *s, int i, double *half, cnp.npy_intp here,
               cnp.npy_intp there) noexcept nogil:
    """Put the symmetric part of what stands here in a whole spectrum, and at -k, into a half."""
    cdef const Axis *axis = &s.axis[i]
    cdef cnp.npy_intp k
    if i + 1 == s.ndim:
        fold_row(s, axis, half, here, there)
        return
    for k in range(axis.count):
        fold(s, i + 1, half + k * axis.half_step, here + k * axis.step,
             there + mirrored(axis, k) * axis.step)


cdef void unfold_row(const Spectrum *s, const Axis *axis, const double *half, cnp.npy_intp here,
                     cnp.npy_intp there, cnp.npy_intp first, cnp.npy_intp end) noexcept nogil:
    """What `unfold` does along the last axis, of which the bins from `first` on are inner ones."""
    cdef double *re = s.re
    cdef double *im = s.im
    cdef double sign = s.sign
    cdef cnp.npy_intp k, other
    for k in range(axis.count):
        re[here + k] = half[2 * k]
        im[here + k] = sign * half[2 * k + 1]
    for k in range(first, end):
        other = there + mirrored(axis, k)
        re[other] = half[2 * k]
        im[other] = -sign * half[2 * k + 1]


cdef void unfold(const Spectrum *s, int i, const double *half, cnp.npy_intp here,
                 cnp.npy_intp there, bint is_inner) noexcept nogil:
    """Put a half here, and the conjugate where -k is, unless that is in the half, too."""
    cdef const Axis *axis = &s.axis[i]
    cdef cnp.npy_intp first = 0, end = axis.count if is_inner else 0
    cdef cnp.npy_intp k
    if axis.is_halved:
        first, end = 1, axis.length - axis.count + 1
    if i + 1 == s.ndim:
        unfold_row(s, axis, half, here, there, first, end)
        return
    for k in range(axis.count):
        unfold(s, i + 1, half + k * axis.half_step, here + k * axis.step,
               there + mirrored(axis, k) * axis.step, first <= k < end)


def are_zeros(cnp.ndarray x):
    """Whether there are some floats in an array, and all of them are zero."""
    if not cnp.PyArray_ISCARRAY_RO(x):
        return x.size > 0 and not np.count_nonzero(x)
    return cnp.PyArray_SIZE(x) > 0 and are_zero([x])


def transformed(ufunc, tuple factors, re, im, tuple axes, tuple lengths, tuple sizes):
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


cdef cnp.ndarray in_order(object array, int kind):
    return cnp.PyArray_FROMANY(array, kind, 0, 0, cnp.NPY_ARRAY_CARRAY_RO)


def half_of_spectrum(re, im, tuple axes, bint conjugate):
    """The half of the symmetric part of a spectrum, (X[k] + conj(X[-k])) / 2, or its conjugate."""
    cdef Spectrum s
    cdef cnp.npy_intp lengths[MOST_AXES]
    cdef cnp.ndarray x = in_order(re, cnp.NPY_DOUBLE), y = in_order(im, cnp.NPY_DOUBLE), half
    cdef int i, ndim = cnp.PyArray_NDIM(x), halved = axes[len(axes) - 1]
    for i in range(ndim):
        lengths[i] = cnp.PyArray_DIMS(x)[i]
    lengths[halved] = lengths[halved] // 2 + 1
    half = cnp.PyArray_SimpleNew(ndim, lengths, cnp.NPY_CDOUBLE)
    put_axes(&s, ndim, lengths, cnp.PyArray_DIMS(x), axes)
    if cnp.PyArray_SIZE(half) == 0:
        return half
    s.re, s.im = <double *>cnp.PyArray_DATA(x), <double *>cnp.PyArray_DATA(y)
    s.sign = -1.0 if conjugate else 1.0
    s.half = <double *>cnp.PyArray_DATA(half)
    if cnp.PyArray_SIZE(x) < MANY:
        fold(&s, 0, s.half, 0, 0)
    else:
        with nogil:
            fold(&s, 0, s.half, 0, 0)
    return half


def whole_of_spectrum(half, tuple axes, Py_ssize_t length, bint conjugate):
    """Both parts of the whole spectrum that a half stands for, or of its conjugate; `length` is
    that of the axis that is halved."""
    cdef Spectrum s
    cdef cnp.npy_intp lengths[MOST_AXES]
    cdef cnp.ndarray given = in_order(half, cnp.NPY_CDOUBLE), re, im
    cdef int i, ndim = cnp.PyArray_NDIM(given), halved = axes[len(axes) - 1]
    for i in range(ndim):
        lengths[i] = cnp.PyArray_DIMS(given)[i]
    lengths[halved] = length
    re = cnp.PyArray_SimpleNew(ndim, lengths, cnp.NPY_DOUBLE)
    im = cnp.PyArray_SimpleNew(ndim, lengths, cnp.NPY_DOUBLE)
    put_axes(&s, ndim, cnp.PyArray_DIMS(given), lengths, axes)
    if cnp.PyArray_SIZE(re) == 0:
        return re, im
    s.re, s.im = <double *>cnp.PyArray_DATA(re), <double *>cnp.PyArray_DATA(im)
    s.sign = -1.0 if conjugate else 1.0
    s.half = <double *>cnp.PyArray_DATA(given)
    if cnp.PyArray_SIZE(re) < MANY:
        unfold(&s, 0, s.half, 0, 0, False)
    else:
        with nogil:
            unfold(&s, 0, s.half, 0, 0, False)
    return re, im


cpdef object resized(x, tuple axes, tuple sizes):
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
    padded = np.zeros(shape[:axis] + (size,) + shape[axis + 1:])
    padded[before + (slice(have),)] = x
    return padded
