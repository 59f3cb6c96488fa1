from .generated.entries cimport *


cdef enum Shape:
    NUMBER     # a float
    ARRAY      # an array
    ROW        # a list or tuple of nothing but plain numbers
    CONTAINER  # any other container


@cython.final
@cython.no_gc
cdef class Collector:
    cdef double *values  # the single numbers, as long as all are plain
    cdef Py_ssize_t n_packed
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef Py_ssize_t n_atoms
    cdef list nodes      # of the atoms so far, while all are plain; a ROW stands for several. Or None
    cdef list atoms      # the atoms themselves, once one is not


cdef inline Py_ssize_t place_of(tuple args, tuple argnums, Py_ssize_t i) except -1:
    """The position of the i-th of the arguments that argnums name, which may count from the end."""
    cdef Py_ssize_t k = argnums[i]
    return k if k >= 0 else k + len(args)


@cython.final
cdef class Structure:
    cdef tuple nodes
