from .generated.entries cimport *


cdef enum Shape:
    NUMBER     # a float
    ARRAY      # an array
    ROW        # a list or tuple of nothing but plain numbers
    CONTAINER  # any other container


@cython.final
@cython.no_gc
cdef class ArgumentNode:
    cdef Shape shape
    cdef Py_ssize_t offset   # of its first number
    cdef Py_ssize_t size     # how many numbers
    cdef Py_ssize_t atom     # its first atom
    cdef Py_ssize_t packed   # where its numbers stand in the collector; those of an ARRAY are in:
    cdef object flat         # float64, C-contiguous
    cdef object original     # an ARRAY, for its shape and dtype
    cdef Container container
    cdef object adjoints     # while results are read
    cdef bint borrowed       # an ARRAY whose values are read where they are, and
    cdef uint64_t fingerprint  # what they were
    cdef tuple children
    cdef bint has_complex    # whether there is a complex number in it
    cdef bint is_single      # a NUMBER or an ARRAY of float32


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


@cython.final
cdef class Structure:
    cdef tuple nodes
