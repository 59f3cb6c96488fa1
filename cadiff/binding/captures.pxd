# What other modules see of captures.pyx.

cimport cython

from .recording cimport Recording


@cython.final
cdef class Guarded:
    cdef readonly Recording recording
    cdef bint exact
    cdef readonly tuple lifted
