# What other modules see of complexes.pyx.

cimport cython


cdef class Complex:
    cdef object re, im   # real numbers: floats and arrays, Vars, Duals
    cdef bint is_shared  # views of it, or it is one, of a part that would have to be replaced

    cdef tuple whole(self)
    cdef int share(self) except -1
    cdef ComplexArray writable(self)


cdef class ComplexArray(Complex):
    cdef int open(self) except -1
    cdef object in_place(self, object result)


cpdef bint is_nothing(object x) noexcept
cdef bint is_complex(object x)
cdef object complex_of(object re, object im)
cpdef tuple parts_of(x)
cpdef bint holds_complex(tree) except -1
cdef object complex_function(object original, tuple args, dict kwargs)
