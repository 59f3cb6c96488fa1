# What other modules see of functions.pyx.

cimport cython


@cython.final
cdef class Owned:
    cdef object kept      # a weak reference to the object; where there can be none, it in a list
    cdef object program   # None: there is none yet
    cdef int n_calls      # without a program
    cdef bint was_used

    cdef bint is_used(self) except -1


@cython.final
cdef class Objects:
    cdef dict owned   # by the numbers of objects
    cdef list latest  # those whose programs were made last
    cdef int n_passed

    cdef Owned of(self, object instance)
    cdef Owned add(self, object instance)
    cdef int note_program(self, Owned owned) except -1
    cdef bint are_in_vain(self) except -1


cdef object bound_program(object function, object instance, Owned owned)
