# What other modules see of parts.pyx.

from cpython.float cimport PyFloat_AS_DOUBLE
from libc.math cimport signbit

from . cimport c_numpy as cnp
from .c_numbers cimport *


cdef inline bint has_sign(object x):
    return signbit(PyFloat_AS_DOUBLE(x))


cdef inline bint is_number(object x):
    return CAD_IS_VAR(x) or CAD_IS_DUAL(x)


cdef inline tuple shape_of(object x):
    return x.shape if cad_ndim(x) > 0 else ()


cpdef bint is_nothing(object x) noexcept
cdef object own(object x)
cdef object plus(object x, object y)
cdef object minus(object x, object y)
cdef object zero_times(object zero, object factor)
cdef object times(object x, object y)
cdef object product_of(object product, object x, object y)
cdef object less_product(object product, object x, object y, object z)
cdef object over(object x, object y)
cdef tuple both_parts(object x)
cdef tuple plain_parts(object x)
cdef bint are_alike(object re, object im)
cdef object joined_parts(object re, object im)
cdef object whole_pair_of(object x)
cdef cnp.ndarray pair_of(object x)
cdef object span_of(object re, object im, bint flipped)
cdef object half_of(object both, bint second)
cdef bint are_views(object re, object im, object of_re, object of_im)
cdef object signs(double first, double second, int ndim)
cdef object real_form(cnp.ndarray both)
cdef object product_with_form(object form, object both)


cdef inline Py_ssize_t length_of(object both, int axis):
    """The length of an axis of an array Var, or of a plain array."""
    if CAD_IS_VAR(both):
        return CAD_SHAPE(CAD_VAR(both).view)[axis]
    return cnp.PyArray_DIMS(<cnp.ndarray>both)[axis]


cdef inline bint is_varying(object both):
    """Whether something is an array Var that is known not to be constant."""
    return CAD_IS_VAR(both) and not CAD_VAR(both).view.flags & CAD_CONSTANT
