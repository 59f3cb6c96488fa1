# What other modules see of results.pyx.

cimport cython

from . cimport c_numpy as cnp
from .generated.program cimport CadProgram
from .signatures cimport Shaped
from .trees cimport Container


cdef enum ResultNodeKind:
    RESULT_NUMBER    # a float
    RESULT_SINGLE    # a float32 of NumPy's
    RESULT_ARRAY     # rows of numbers that stand at equal distances
    RESULT_ROW       # a list or tuple of numbers that follow each other
    RESULT_WHOLE     # an int, or a whole number of NumPy's
    RESULT_CONSTANT  # what is the same in all results
    RESULT_CONTAINER
    RESULT_COMPLEX   # a complex number or array, of both parts


@cython.final
cdef class ResultNode(Shaped):
    cdef ResultNodeKind kind
    cdef Py_ssize_t first   # its first number
    cdef Py_ssize_t width   # of a row
    cdef Py_ssize_t step    # from row to row
    cdef bint is_conjugate  # the imaginary part is the negative of what is there
    cdef int ready          # if > 0, there is an array already: ready[ready - 1]
    cdef Container container
    cdef object constant
    cdef tuple children

    cdef object make_result(self, const double *numbers, list ready)
    cdef bint fits_into(self, object out) except -1
    cdef int write_into(self, const double *numbers, object out) except -1
    cdef cnp.ndarray new_array(self, int typenum)
    cdef void copy_rows(self, const double *numbers, cnp.ndarray array) noexcept
    cdef object make_array(self, const double *numbers)
    cdef object make_row(self, const double *numbers)


cdef ResultNode result_from(object assemble, Py_ssize_t n)
cdef bint lend(ResultNode node, const CadProgram *program, double *places, object out) except -1
cdef int find_ready(ResultNode node, const CadProgram *program, list found) except -1


cdef inline size_t n_referred_inputs(const CadProgram *program) noexcept:
    """Inputs come first among what is referred to."""
    cdef inline size_t n = 0
    while n < program.n_referred and program.referred[n].result < 0:
        n += 1
    return n
