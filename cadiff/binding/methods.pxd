# What other modules see of methods.pyx.

cimport cython


@cython.final
cdef class BoundProgram:
    cdef object program   # for the object alone
    cdef object function  # the program that stands in the class
    cdef object instance
    cdef object __weakref__


@cython.final
cdef class Objects:
    cdef dict programs  # and what keeps an object's number from others, by that number

    cdef BoundProgram method(self, object function, object instance)
    cdef int add(self, object instance, object program) except -1
