from .generated.program cimport CadProgram
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


cdef inline size_t n_referred_inputs(const CadProgram *program) noexcept:
    """Inputs come first among what is referred to."""
    cdef inline size_t n = 0
    while n < program.n_referred and program.referred[n].result < 0:
        n += 1
    return n
