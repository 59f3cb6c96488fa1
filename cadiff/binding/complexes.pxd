# What other modules see of complexes.pyx.

cimport cython


cdef class Complex:
    cdef object re, im   # real numbers: floats and arrays, Vars, Duals
    cdef object __weakref__

    # While a part is constant: what it is a view of, by `change`; its own views, and what was taken
    # as `real` or `imag`, by weak references; and whether a part was given away for good.
    cdef Complex owner
    cdef object change
    cdef list views, seen
    cdef bint is_given

    cdef bint is_joined  # both parts stand in one array: see parts.pyx

    cdef tuple whole(self)
    cdef bint is_open(self)
    cdef object followed(self, object view, object change)
    cdef bint is_seen(self) except -1
    cdef int spread(self, object re, object im) except -1
    cdef ComplexArray writable(self)


cdef class ComplexArray(Complex):
    cdef int open(self) except -1
    cdef object in_place(self, object result)


cdef bint is_complex(object x)
cdef object complex_of(object re, object im)
cpdef tuple parts_of(x)
cpdef bint holds_complex(tree) except -1
cdef object complex_function(object original, tuple args, dict kwargs)
