# What other modules see of watches.pyx.


cdef class Watch:
    cdef list places

    cpdef bint holds(self) except -1
