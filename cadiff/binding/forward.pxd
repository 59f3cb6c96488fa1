# What other modules see of forward.pyx.

cimport cython

from .c_tape cimport *


@cython.final
cdef class Forward:
    cdef object lanes
    cdef object call      # (function, args): for error messages, if they are to say more
    cdef object suspects
    cdef CadTape *entered

    cdef int leave(self) except -1
