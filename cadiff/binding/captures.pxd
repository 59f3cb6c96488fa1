# What other modules see of captures.pyx.

cimport cython

from .c_entries cimport *
from .recording cimport Recording


@cython.final
cdef class Guarded:
    cdef readonly Recording recording
    cdef bint exact
    cdef bint reads
    cdef readonly tuple lifted
    cdef CadTape *entered

    cdef int leave(self) except -1
    cdef object place_of(self, object atom)
