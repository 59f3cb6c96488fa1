from .c_numbers cimport *


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
