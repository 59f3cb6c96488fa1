from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memcmp


cdef enum:
    MOST_IN_VAIN = 16  # calls that no recording has served, until some are passed by
    N_LOOKS = 3        # calls in a row that are looked at then


@cython.final
cdef class Backoff:
    cdef public bint may_pass
    cdef int n_to_pass
    cdef int n_in_vain
    cdef int n_missed  # since a fast path served one

    cdef inline bint is_closed(self) noexcept:
        """Whether not even fast paths are tried: not while they serve some calls."""
        return self.n_to_pass > 0 and self.n_missed >= N_LOOKS


cdef inline bint meets(bytes outcomes, bytes others, long guard, double outcome) noexcept:
    """Whether a recording with `outcomes` may serve a call that a recording with `others` missed: it
    met `outcome` at a guard. That guard is looked at first, since it excludes most.
    """
    cdef Py_ssize_t before = guard * sizeof(double)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(outcomes), other_size = PyBytes_GET_SIZE(others)
    cdef Py_ssize_t last = size - <Py_ssize_t>sizeof(double)
    cdef const char *data = PyBytes_AS_STRING(outcomes)
    cdef double expected, outcome_there
    if guard < 0:
        return True
    if before >= other_size:  # f did all that was recorded: a derivative did something else
        return size == other_size and memcmp(data, PyBytes_AS_STRING(others), size) == 0
    memcpy(&expected, PyBytes_AS_STRING(others) + before, sizeof(double))
    if before >= last >= 0:
        memcpy(&outcome_there, data + last, sizeof(double))
        if outcome_there != outcome_there:  # a loop, which goes on in ways that outcomes do not tell
            return memcmp(data, PyBytes_AS_STRING(others), last) == 0
    if expected != expected:
        return size >= before and memcmp(data, PyBytes_AS_STRING(others), before) == 0
    if before >= size:
        return False
    memcpy(&expected, data + before, sizeof(double))
    return expected == outcome and memcmp(data, PyBytes_AS_STRING(others), before) == 0
