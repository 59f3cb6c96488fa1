from .generated.entries cimport *


@cython.final
cdef class Forward(Context):
    cdef object lanes
    cdef object call      # (function, args): for error messages, if they are to say more
