# What other modules see of calls.pyx.

cimport cython

from .signatures cimport Taken


@cython.final
cdef class Call:
    cdef readonly tuple args
    cdef readonly dict kwargs  #: dict[str, Any]
    cdef readonly tuple argnums  #: tuple[int, ...]  # those to differentiate by; none is negative
    # where the numbers of each of these stand among the inputs
    cdef readonly tuple ranges  #: tuple[tuple[int, int], ...]
    cdef readonly tuple form     # what tells it from others but for the values of integers
    cdef readonly object key     # all that does
    cdef readonly Taken taken
    cdef tuple nodes             # of positional arguments, then of those by keyword
    cdef tuple names             # of these
    cdef bint is_described       # whether the nodes belong to a Signature
    cdef list plain              # its inputs as plain values, once they were asked for
    cdef object found_structure
    # gives what f returns by the recording that has served it; or None
    cdef public object replied  #: Callable[[], Any] | None

    cdef int take(self, object lifted) except -1
    cdef int take_all(self, Taken taken) except -1
    cdef tuple nodes_of_its_own(self)
