# What other modules see of watches.pyx.


cdef class Watch:
    cdef object __weakref__
    cdef object released    # called when something that is held weakly is gone
    cdef public bint asks_types    # whether code of the user's looks at types
    cdef readonly bint is_over  # something is, so that it can never hold again
    cdef list places
    cdef list kept  # what is not held weakly

    cpdef bint holds(self) except -1
