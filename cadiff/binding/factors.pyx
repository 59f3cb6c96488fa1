"""Triangles, LU factors and the derivatives of Cholesky factors, for stacks of plain matrices.

What is computed is the business of src/kernels/factors.h; here are the arrays. Those of one call have
the same leading axes, and nobody has asked yet whether they are arrays of floats.
"""

from numpy.linalg import LinAlgError

from libc.math cimport frexp, ldexp
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_tape cimport *


cdef extern from "kernels/factors.h" nogil:
    ctypedef struct CadMatrix:
        double *data
        Py_ssize_t row
        Py_ssize_t column
    ctypedef struct CadTriangle:
        CadMatrix matrix
        int lower
        int unit
    void cad_solve_triangle(CadTriangle t, CadMatrix b, size_t n, size_t m, double *room)
    void cad_invert_lower(CadTriangle t, CadMatrix b, size_t n, double *room)
    void cad_factor_lu(CadMatrix a, double *order, size_t n, double *room)
    void cad_cholesky_pull(CadMatrix l, CadMatrix g, size_t n, double *room)
    void cad_cholesky_push(CadMatrix l, CadMatrix g, size_t n, double *room)


cdef cnp.ndarray floats(x):
    """A stack of matrices whose rows stand one behind the other."""
    return cnp.PyArray_FROMANY(x, cnp.NPY_DOUBLE, 2, 0, cnp.NPY_ARRAY_CARRAY_RO)


cdef cnp.ndarray copied(x):
    """A copy that may be written to."""
    cdef int flags = cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_ENSURECOPY
    return cnp.PyArray_FROMANY(x, cnp.NPY_DOUBLE, 2, 0, flags)


cdef double *room_for(cnp.npy_intp n, cnp.npy_intp m, list owner) except? NULL:
    cdef cnp.npy_intp size = n * (m if m > n else n)
    room = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_DOUBLE)
    owner.append(room)
    return <double *>cnp.PyArray_DATA(room)


cdef int check_stacks(cnp.ndarray squares, cnp.ndarray others, int axes) except -1:
    """Raise ValueError unless they are as many square matrices as there are others: of the same
    number of rows, with `axes` axes each."""
    cdef int more = cnp.PyArray_NDIM(squares) - 2, i
    cdef bint fit = cnp.PyArray_NDIM(others) == more + axes
    for i in range(more + 1 if fit else 0):
        fit = fit and cnp.PyArray_DIM(squares, i) == cnp.PyArray_DIM(others, i)
    if not fit or last(squares) != cnp.PyArray_DIM(squares, more):
        raise ValueError(
            f"square matrices were expected, and others of as many rows, not the shapes "
            f"{(<object>squares).shape} and {(<object>others).shape}"
        )
    return 0


cdef int check_factors(cnp.ndarray lu, cnp.ndarray order) except -1:
    """Raise ValueError unless the order of each matrix holds indices of its rows."""
    cdef const double *index = <const double *>cnp.PyArray_DATA(order)
    cdef cnp.npy_intp n = last(lu), i
    check_stacks(lu, order, 1)
    for i in range(cnp.PyArray_SIZE(order)):
        if not 0.0 <= index[i] < n:
            raise ValueError(f"the order of {n} rows does not hold {index[i]}")
    return 0


cdef cnp.npy_intp first_zero(const double *matrices, cnp.npy_intp n, cnp.npy_intp size):
    """Which element of a diagonal is 0; -1 if none is."""
    cdef cnp.npy_intp at, i
    for at in range(0, size, n * n):
        for i in range(n):
            if matrices[at + i * (n + 1)] == 0.0:
                return i
    return -1


cdef int refuse_singular(const double *lu, cnp.npy_intp n, cnp.npy_intp size) except -1:
    if first_zero(lu, n, size) >= 0:
        raise LinAlgError("Singular matrix")
    return 0


cdef cnp.ndarray indices(order):
    return cnp.PyArray_FROMANY(order, cnp.NPY_DOUBLE, 1, 0, cnp.NPY_ARRAY_CARRAY_RO)


cdef inline cnp.npy_intp last(cnp.ndarray x):
    return cnp.PyArray_DIM(x, cnp.PyArray_NDIM(x) - 1)


cdef inline CadMatrix matrix(double *data, Py_ssize_t n, bint transposed) noexcept nogil:
    cdef CadMatrix m
    m.data = data
    m.row = 1 if transposed else n
    m.column = n if transposed else 1
    return m


cdef inline CadTriangle triangle(
    double *data, Py_ssize_t n, bint transposed, bint lower, bint unit
) noexcept nogil:
    """The lower or upper triangle of a matrix, or of the transposed matrix."""
    cdef CadTriangle t
    t.matrix = matrix(data, n, transposed)
    t.lower, t.unit = lower, unit
    return t


def solve_triangle(t, b, bint lower, bint unit=False, bint transposed=False):
    """Solve t @ x = b, or t.T @ x = b, for a triangle t, whose diagonal is 1 if `unit`."""
    # A stack of one is as good as the transposed: its matrix may have been transposed before.
    cdef bint turned = t.ndim == 2 and t.flags.f_contiguous
    cdef cnp.ndarray ts = floats(t.T if turned else t), x = copied(b)
    cdef cnp.npy_intp n = last(ts), m = last(x), size = cnp.PyArray_SIZE(ts), i
    cdef double *triangles = <double *>cnp.PyArray_DATA(ts)
    cdef double *numbers = <double *>cnp.PyArray_DATA(x)
    cdef double *room = NULL
    cdef list owner = []
    check_stacks(ts, x, 2)
    if cnp.PyArray_SIZE(x) == 0:
        return x
    zero = -1 if unit else first_zero(triangles, n, size)
    if zero >= 0:
        raise LinAlgError(f"singular matrix: resolution failed at diagonal {zero}")
    room = room_for(n, m, owner)
    with nogil:
        for i in range(size // (n * n)):
            cad_solve_triangle(
                triangle(
                    triangles + i * n * n, n, transposed != turned, lower != transposed, unit
                ),
                matrix(numbers + i * n * m, m, False), n, m, room,
            )
    return x


def factor_lu(a):
    """The factors l and u of a[order] in one matrix, and the order, of floats."""
    cdef cnp.ndarray lu = copied(a), order
    cdef cnp.npy_intp n = last(lu), size = cnp.PyArray_SIZE(lu), i
    cdef double *factors = <double *>cnp.PyArray_DATA(lu)
    cdef double *places
    cdef double *room
    cdef list owner = []
    check_stacks(lu, lu, 2)
    order = cnp.PyArray_EMPTY(
        cnp.PyArray_NDIM(lu) - 1, cnp.PyArray_DIMS(lu), cnp.NPY_DOUBLE, 0
    )
    if size > 0:
        places = <double *>cnp.PyArray_DATA(order)
        room = room_for(n, n, owner)
        with nogil:
            for i in range(size // (n * n)):
                cad_factor_lu(
                    matrix(factors + i * n * n, n, False), places + i * n, n, room
                )
    return lu, order


cdef void exchange(
    double *to, const double *from_, const double *order, cnp.npy_intp n, cnp.npy_intp m,
    bint back
) noexcept nogil:
    """Rows of m numbers in the order told, or back from it."""
    cdef cnp.npy_intp i, row
    for i in range(n):
        row = <cnp.npy_intp>order[i]
        memcpy(to + (row if back else i) * m, from_ + (i if back else row) * m,
               m * sizeof(double))


cdef void solve_with(
    const double *order, double *lu, double *x, double *room, cnp.npy_intp n, cnp.npy_intp m,
    bint transposed
) noexcept nogil:
    """a[order] = l u, so that a.T = u.T l.T, of which the columns are exchanged."""
    cdef CadMatrix b = matrix(x, m, False)
    if not transposed:
        memcpy(room, x, n * m * sizeof(double))
        exchange(x, room, order, n, m, False)
    cad_solve_triangle(triangle(lu, n, transposed, True, not transposed), b, n, m, room)
    cad_solve_triangle(triangle(lu, n, transposed, False, transposed), b, n, m, room)
    if transposed:
        memcpy(room, x, n * m * sizeof(double))
        exchange(x, room, order, n, m, True)


def solve_factored(lu, order, b, bint transposed=False):
    """Solve a @ x = b, or a.T @ x = b, by what `factor_lu` has made of a."""
    cdef cnp.ndarray factors = floats(lu), x = copied(b)
    cdef cnp.ndarray places = indices(order)
    cdef cnp.npy_intp n = last(factors), m = last(x), size = cnp.PyArray_SIZE(factors), i
    cdef const double *orders = <const double *>cnp.PyArray_DATA(places)
    cdef double *lus = <double *>cnp.PyArray_DATA(factors)
    cdef double *numbers = <double *>cnp.PyArray_DATA(x)
    cdef double *room
    cdef list owner = []
    check_stacks(factors, x, 2)
    check_factors(factors, places)
    if cnp.PyArray_SIZE(x) == 0:
        return x
    refuse_singular(lus, n, size)
    room = room_for(n, m, owner)
    with nogil:
        for i in range(size // (n * n)):
            solve_with(
                orders + i * n, lus + i * n * n, numbers + i * n * m, room, n, m, transposed
            )
    return x


cdef void invert(
    const double *order, double *lu, double *x, double *room, cnp.npy_intp n
) noexcept nogil:
    """x, which is zeros, becomes the inverse of u.T times that of l.T, with the rows in order."""
    cdef CadMatrix b = matrix(x, n, False)
    cdef cnp.npy_intp i
    for i in range(n):
        x[i * (n + 1)] = 1.0
    cad_invert_lower(triangle(lu, n, True, True, False), b, n, room)
    cad_solve_triangle(triangle(lu, n, True, False, True), b, n, n, room)
    memcpy(room, x, n * n * sizeof(double))
    exchange(x, room, order, n, n, True)


def inverse_transposed(lu, order):
    """The transposed inverse of a, by what `factor_lu` has made of it."""
    cdef cnp.ndarray factors = floats(lu), places = indices(order), inverse
    cdef cnp.npy_intp n = last(factors), size = cnp.PyArray_SIZE(factors), i
    cdef const double *orders = <const double *>cnp.PyArray_DATA(places)
    cdef double *lus = <double *>cnp.PyArray_DATA(factors)
    cdef double *numbers
    cdef double *room
    cdef list owner = []
    check_factors(factors, places)
    inverse = cnp.PyArray_ZEROS(
        cnp.PyArray_NDIM(factors), cnp.PyArray_DIMS(factors), cnp.NPY_DOUBLE, 0
    )
    if size > 0:
        refuse_singular(lus, n, size)
        numbers = <double *>cnp.PyArray_DATA(inverse)
        room = room_for(n, n, owner)
        with nogil:
            for i in range(size // (n * n)):
                invert(orders + i * n, lus + i * n * n, numbers + i * n * n, room, n)
    return inverse


cdef double determinant_of(
    const double *lu, double *order, cnp.npy_intp n
) noexcept nogil:
    """The product of the pivots, which does not overflow before it is complete; negative for an odd
    order, which is put right here."""
    cdef double product = 1.0, other
    cdef cnp.npy_intp i, k
    cdef int exponent = 0, more
    for i in range(n):
        product = frexp(product * lu[i * (n + 1)], &more)
        exponent += more
        while order[i] != i:
            k = <cnp.npy_intp>order[i]
            if order[k] == k:
                break  # no permutation
            other, order[k] = order[k], k
            order[i] = other
            product = -product
    return ldexp(product, exponent)


def determinant(lu, order):
    """The determinant of a, by what `factor_lu` has made of it."""
    cdef cnp.ndarray factors = floats(lu)
    cdef cnp.ndarray places = cnp.PyArray_FROMANY(
        order, cnp.NPY_DOUBLE, 1, 0, cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_ENSURECOPY
    )
    cdef cnp.npy_intp n = last(factors), i
    cdef double *orders = <double *>cnp.PyArray_DATA(places)
    cdef const double *lus = <const double *>cnp.PyArray_DATA(factors)
    cdef cnp.ndarray products = cnp.PyArray_EMPTY(
        cnp.PyArray_NDIM(factors) - 2, cnp.PyArray_DIMS(factors), cnp.NPY_DOUBLE, 0
    )
    cdef double *product = <double *>cnp.PyArray_DATA(products)
    check_factors(factors, places)
    for i in range(cnp.PyArray_SIZE(products)):
        product[i] = determinant_of(lus + i * n * n, orders + i * n, n)
    return products


ctypedef void (*Kernel)(CadMatrix, CadMatrix, size_t, double *) noexcept nogil


cdef along_cholesky(factor, change, Kernel kernel):
    """Of a lower triangle: what the kernels read and write is transposed."""
    cdef cnp.ndarray l = floats(factor), g = copied(change.swapaxes(-1, -2))
    cdef cnp.npy_intp n = last(l), size = cnp.PyArray_SIZE(l), i
    cdef double *factors = <double *>cnp.PyArray_DATA(l)
    cdef double *changes = <double *>cnp.PyArray_DATA(g)
    cdef double *room
    cdef list owner = []
    check_stacks(l, g, 2)
    if last(g) != n:
        raise ValueError(f"the change of {n} x {n} factors has {last(g)} rows")
    if size > 0:
        room = room_for(n, n, owner)
        with nogil:
            for i in range(size // (n * n)):
                kernel(
                    matrix(factors + i * n * n, n, False),
                    matrix(changes + i * n * n, n, False), n, room,
                )
    return (<object>g).swapaxes(-1, -2)


def cholesky_pull(l, g):
    """The cotangent of the lower triangle that is factored, given that of the factor l."""
    return along_cholesky(l, g, cad_cholesky_pull)


def cholesky_push(l, t):
    """The tangent of the factor l, given that of the lower triangle that is factored."""
    return along_cholesky(l, t, cad_cholesky_push)
