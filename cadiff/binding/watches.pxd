# What other modules see of watches.pyx.


cdef class Watch:
    cdef list places
    cdef list kept  # what is not held weakly

    cpdef bint holds(self) except -1
