# What other modules see of forward.pyx.

cimport cython

from .generated.entries cimport *
from .tape cimport Context


@cython.final
cdef class Forward(Context):
    cdef object lanes
    cdef object call      # (function, args): for error messages, if they are to say more
