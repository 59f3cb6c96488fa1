# What other modules see of complexes.pyx.

from .c_numbers cimport *
from .generated.entries cimport *

cdef enum:
    MOST_AXES = 60  # of what has an axis more for the parts, and another one in products
    MOST_LENGTHS = 65  # of an array of both parts, and more

cdef object hooks


cdef class Complex:
    cdef object re, im   # real numbers: floats and arrays, Vars, Duals
    cdef object __weakref__

    # While a part is constant: what it is a view of, by `change`; its own views, and what was taken
    # as `real` or `imag`, by weak references; and whether a part was given away for good.
    cdef Complex owner
    cdef object change
    cdef list views, seen
    cdef bint is_given

    cdef bint is_joined  # both parts stand in one array

    cdef tuple whole(self)
    cdef bint is_open(self)
    cdef object followed(self, object view, object change)
    cdef bint is_seen(self) except -1
    cdef int spread(self, object re, object im) except -1
    cdef ComplexArray writable(self)


cdef class ComplexArray(Complex):
    cdef int open(self) except -1
    cdef object in_place(self, object result)


cpdef bint is_nothing(object x) noexcept
cdef object own(object x)
cdef tuple both_parts(object x)
cdef bint are_alike(object re, object im)
cdef object joined_parts(object re, object im)
cdef bint is_small(object re, object im)
cdef bint is_small_array(object x)
cdef object in_complex64(object z)
cdef bint is_one_zero(const double *part, Py_ssize_t size)
cdef bint is_complex(object x)
cdef object complex_of(object re, object im)
cdef object of_both(object both)
cpdef tuple parts_of(x)
cpdef tuple whole_parts_of(x)
cdef object complex_function(object original, tuple args, dict kwargs)


cdef inline bint is_joined(object x):
    """Whether both parts stand in one array, of which a view can be made."""
    return (
        isinstance(x, ComplexArray)
        and (<Complex>x).is_joined
        and CAD_VAR((<Complex>x).re).kind == CAD_ARRAY
    )


cdef inline bint is_number(object x):
    return CAD_IS_VAR(x) or CAD_IS_DUAL(x)


cdef inline tuple shape_of(object x):
    return x.shape if cad_ndim(x) > 0 else ()
