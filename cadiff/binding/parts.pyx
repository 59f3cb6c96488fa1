"""Parts of complex numbers, each a float, an array of floats, a Var or a Dual.

Here is arithmetic in which an exact zero absorbs; plain arrays are taken apart and put together,
and so are parts that stand in one array. A part that is a float 0.0 is exactly zero, whatever shape
the other one has.
"""

from operator import matmul

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE
from libc.math cimport copysign, signbit
from libc.string cimport memcmp

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_entries cimport *

cdef enum:
    MOST_AXES = 65


cpdef bint is_nothing(object x) noexcept:
    """Whether a part is exactly zero; operations keep its sign."""
    return CAD_IS_FLOAT(x) and PyFloat_AS_DOUBLE(x) == 0.0


cdef object own(object x):
    """A part as that of another number: what is assigned to the one must not reach the other."""
    return +x if cad_ndim(x) > 0 else x


# An array on the left of a number with derivatives would take the long way, by its ufunc.

cdef inline object sum_of(object x, object y):
    return y + x if is_number(y) and not is_number(x) else x + y


cdef inline object difference_of(object x, object y):
    return cad_apply2(CAD_OP_subtract, x, y) if is_number(y) and not is_number(x) else x - y


cdef object plus(object x, object y):
    if is_nothing(y) and (is_number(x) or has_sign(y)):
        return own(x)
    if is_nothing(x) and (is_number(y) or has_sign(x)):
        return own(y)
    return sum_of(x, y)


cdef object minus(object x, object y):
    if is_nothing(y) and (is_number(x) or not has_sign(y)):
        return own(x)
    return difference_of(x, y)


cdef object zero_times(object zero, object factor):
    """A product with an exact zero, which has a sign if the factor is a plain number."""
    if not CAD_IS_FLOAT(factor):
        return 0.0
    sign = copysign(1.0, PyFloat_AS_DOUBLE(zero)) * copysign(1.0, PyFloat_AS_DOUBLE(factor))
    return copysign(0.0, sign)


cdef object times(object x, object y):
    if is_nothing(x):
        return zero_times(x, y)
    if is_nothing(y):
        return zero_times(y, x)
    if CAD_IS_FLOAT(x) and PyFloat_AS_DOUBLE(x) == 1.0:
        return own(y)
    if CAD_IS_FLOAT(y) and PyFloat_AS_DOUBLE(y) == 1.0:
        return own(x)
    return y * x if is_number(y) and not is_number(x) else x * y


cdef object product_of(object product, object x, object y):
    """x times y, or, unless it is None, their product of some kind; an exact zero absorbs."""
    if product is None:
        return times(x, y)
    if is_nothing(x) or is_nothing(y):
        return 0.0
    if product is matmul and (CAD_IS_VAR_ARRAY(x) or CAD_IS_VAR_ARRAY(y)):
        return cad_matmul(x, y)
    return product(x, y)


cdef object less_product(object product, object x, object y, object z):
    """x less the product of y and z, of an x that is exactly zero without the subtraction."""
    if is_nothing(y) or is_nothing(z):
        return x
    if not is_nothing(x):
        return difference_of(x, product_of(product, y, z))
    if is_number(y) and not is_number(z):
        return product_of(product, y, -z)
    return -product_of(product, y, z) if is_number(y) else product_of(product, -y, z)


cdef object over(object x, object y):
    if is_nothing(x):
        return zero_times(x, y) if CAD_IS_FLOAT(y) else x
    return x / y


cdef tuple both_parts(object x):
    """The parts of a plain array."""
    cdef cnp.ndarray array = cnp.PyArray_FROMANY(
        x, cnp.NPY_CDOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_FORCECAST
    )
    cdef int ndim = cnp.PyArray_NDIM(array)
    cdef double *both = <double *>cnp.PyArray_DATA(array)
    if ndim == 0:
        return both[0], both[1]
    re = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE)
    im = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE)
    cad_pairs_split(
        both, <double *>cnp.PyArray_DATA(re), <double *>cnp.PyArray_DATA(im),
        cnp.PyArray_SIZE(array),
    )
    return re, im


cdef bint is_one_zero(const double *part, Py_ssize_t size):
    """Whether numbers are zeros of one sign, and nothing else."""
    cdef Py_ssize_t i
    for i in range(size):
        if part[i] != 0.0 or signbit(part[i]) != signbit(part[0]):
            return False
    return size > 0


cdef object whole_pair_of(object x):
    """`pair_of` an array; None if one part is exactly zero, so that it is better left out."""
    cdef cnp.ndarray both = pair_of(x)
    cdef const double *parts = <const double *>cnp.PyArray_DATA(both)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(both) // 2
    return None if is_one_zero(parts, size) or is_one_zero(parts + size, size) else both


cdef tuple plain_parts(object x):
    """The parts of a plain array, one of which is exactly zero if it is so everywhere."""
    re, im = both_parts(x)
    if cad_ndim(re) == 0:
        return re, im
    if is_one_zero(<double *>cnp.PyArray_DATA(im), cnp.PyArray_SIZE(im)):
        return re, im.flat[0]
    if is_one_zero(<double *>cnp.PyArray_DATA(re), cnp.PyArray_SIZE(re)):
        return re.flat[0], im
    return re, im


cdef cnp.ndarray pair_of(object x):
    """A complex array as a real one, with an axis in front for real and imaginary part."""
    cdef cnp.ndarray array = cnp.PyArray_FROMANY(
        x, cnp.NPY_CDOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_FORCECAST
    )
    cdef cnp.npy_intp lengths[MOST_AXES]
    cdef int axis, ndim = cnp.PyArray_NDIM(array)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(array)
    lengths[0] = 2
    for axis in range(ndim):
        lengths[axis + 1] = cnp.PyArray_DIMS(array)[axis]
    both = cnp.PyArray_SimpleNew(ndim + 1, lengths, cnp.NPY_DOUBLE)
    cdef double *parts = <double *>cnp.PyArray_DATA(both)
    cad_pairs_split(<double *>cnp.PyArray_DATA(array), parts, parts + size, size)
    return both


def pair_of_array(x):
    """A complex array as a real one, with an axis in front for real and imaginary part."""
    return pair_of(x)


def array_of_pair(both):
    """The complex array, or number, that `pair_of_array` has made a real one of."""
    cdef cnp.ndarray array = cnp.PyArray_FROMANY(
        both, cnp.NPY_DOUBLE, 1, 0, cnp.NPY_ARRAY_CARRAY_RO
    )
    cdef double *parts = <double *>cnp.PyArray_DATA(array)
    cdef int ndim = cnp.PyArray_NDIM(array) - 1
    if ndim == 0:
        return complex(parts[0], parts[1])
    cdef cnp.ndarray z = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(array) + 1, cnp.NPY_CDOUBLE)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(z)
    cad_pairs_join(<double *>cnp.PyArray_DATA(z), parts, parts + size, size)
    return z


cdef bint are_alike(object re, object im):
    """Whether two numbers have one shape."""
    cdef CadView *first
    cdef CadView *second
    cdef int ndim = cad_ndim(re)
    if ndim != cad_ndim(im):
        return False
    if ndim == 0:
        return True
    if cnp.PyArray_Check(re) and cnp.PyArray_Check(im):
        return cnp.PyArray_CompareLists(cnp.PyArray_DIMS(re), cnp.PyArray_DIMS(im), ndim)
    if not (CAD_IS_VAR(re) and CAD_IS_VAR(im)):
        return shape_of(re) == shape_of(im)
    first, second = CAD_VAR(re).view, CAD_VAR(im).view
    return memcmp(CAD_SHAPE(first), CAD_SHAPE(second), ndim * sizeof(Py_ssize_t)) == 0


cdef object joined_parts(object re, object im):
    """The complex array of plain parts of one shape."""
    cdef cnp.ndarray first = cnp.PyArray_FROMANY(
        re, cnp.NPY_DOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO
    )
    cdef cnp.ndarray second = cnp.PyArray_FROMANY(
        im, cnp.NPY_DOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO
    )
    cdef cnp.ndarray z = cnp.PyArray_SimpleNew(
        cnp.PyArray_NDIM(first), cnp.PyArray_DIMS(first), cnp.NPY_CDOUBLE
    )
    cad_pairs_join(
        <double *>cnp.PyArray_DATA(z), <double *>cnp.PyArray_DATA(first),
        <double *>cnp.PyArray_DATA(second), cnp.PyArray_SIZE(z),
    )
    return z


# --- both parts as one array ---------------------------------------------------------------------

# Parts that are made by one operation stand in one array, whose first axis is that of the two.

cdef object span_of(object re, object im, bint flipped):
    """The array of two parts in which both stand; the imaginary one first if it is flipped."""
    cdef CadView *view = CAD_VAR(re).view
    cdef Py_ssize_t lengths[MOST_AXES]
    cdef Py_ssize_t strides[MOST_AXES]
    cdef Py_ssize_t step = <Py_ssize_t>CAD_VAR(im).slot - <Py_ssize_t>CAD_VAR(re).slot
    cdef CadSlot slot = CAD_VAR(im).slot if flipped else CAD_VAR(re).slot
    cdef int axis
    lengths[0], strides[0] = 2, -step if flipped else step
    for axis in range(view.ndim):
        lengths[axis + 1], strides[axis + 1] = CAD_SHAPE(view)[axis], CAD_STRIDES(view)[axis]
    return cad_var_view(CAD_VAR(re).tape, slot, view.ndim + 1, lengths, strides, view.flags)


cdef object half_of(object both, bint second):
    """One of the two parts that stand in an array."""
    cdef CadView *view = CAD_VAR(both).view
    cdef Py_ssize_t slot = CAD_VAR(both).slot
    if second:
        slot += CAD_STRIDES(view)[0]
    return cad_var_view(
        CAD_VAR(both).tape, <CadSlot>slot, view.ndim - 1, CAD_SHAPE(view) + 1,
        CAD_STRIDES(view) + 1, view.flags,
    )


cdef bint are_views(object re, object im, object of_re, object of_im):
    """Whether two arrays are views of others, taken in the same way."""
    cdef size_t low, high
    if not (CAD_IS_VAR_ARRAY(re) and CAD_IS_VAR_ARRAY(im)):
        return False
    cad_var_bounds(CAD_VAR(of_re), &low, &high)
    return (
        low <= CAD_VAR(re).slot <= high
        and CAD_VAR(im).slot - CAD_VAR(re).slot == CAD_VAR(of_im).slot - CAD_VAR(of_re).slot
    )


cdef object signs(double first, double second, int ndim):
    """A factor for either of two parts, which have so many axes."""
    cdef cnp.npy_intp lengths[MOST_AXES]
    cdef int axis
    lengths[0] = 2
    for axis in range(ndim):
        lengths[axis + 1] = 1
    made = cnp.PyArray_SimpleNew(ndim + 1, lengths, cnp.NPY_DOUBLE)
    (<double *>cnp.PyArray_DATA(made))[0] = first
    (<double *>cnp.PyArray_DATA(made))[1] = second
    return made


cdef object real_form(cnp.ndarray both):
    """The matrix [[a, -b], [b, a]] of plain parts a and b."""
    cdef Py_ssize_t m = cnp.PyArray_DIMS(both)[1], n = cnp.PyArray_DIMS(both)[2]
    cdef cnp.npy_intp[2] lengths = [2 * m, 2 * n]
    cdef Py_ssize_t i, k
    made = cnp.PyArray_SimpleNew(2, lengths, cnp.NPY_DOUBLE)
    cdef double *parts = <double *>cnp.PyArray_DATA(both)
    cdef double *upper = <double *>cnp.PyArray_DATA(made)
    cdef double *lower = upper + 2 * m * n
    for i in range(m):
        for k in range(n):
            upper[2 * n * i + k] = lower[2 * n * i + n + k] = parts[n * i + k]
            lower[2 * n * i + k] = parts[n * (m + i) + k]
            upper[2 * n * i + n + k] = -parts[n * (m + i) + k]
    return made


cdef object product_with_form(object form, object both):
    """The parts of a product, in one array: that of a real form with parts that stand one above
    the other; None if these do not."""
    cdef CadView *view = CAD_VAR(both).view
    cdef Py_ssize_t *strides = CAD_STRIDES(view)
    cdef Py_ssize_t[3] lengths = [2 * CAD_SHAPE(view)[1], CAD_SHAPE(view)[2], 0]
    if strides[0] != CAD_SHAPE(view)[1] * strides[1]:
        return None
    tall = cad_var_view(
        CAD_VAR(both).tape, CAD_VAR(both).slot, 2, lengths, strides + 1, view.flags
    )
    product = cad_matmul(form, tall)
    view = CAD_VAR(product).view
    lengths = [2, CAD_SHAPE(view)[0] // 2, CAD_SHAPE(view)[1]]
    return cad_var_view(
        CAD_VAR(product).tape, CAD_VAR(product).slot, 3, lengths, NULL, view.flags
    )
