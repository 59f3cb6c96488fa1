@cython.final
cdef class Pattern:
    cdef CadPattern pattern


@cython.final
cdef class MatrixPlan:
    cdef readonly Code code
    cdef readonly Code point  #: Code | None  # of products: what does not depend on a direction
    cdef readonly Pattern pattern       # of the matrix
    cdef public object assemble         # for its users: what makes a matrix of its numbers
    cdef readonly Py_ssize_t size       # numbers in the vector
    cdef readonly Py_ssize_t n_colors   # 0: there are no products
    cdef readonly tuple unlinked        # steps of which no pattern is known, ...
    cdef readonly Py_ssize_t n_found    # ... how many entries there are, ...
    cdef readonly Py_ssize_t n_filled   # ... and how many of them for want of a pattern
    cdef readonly bint is_backward      # the products are with the transpose
    cdef readonly bint has_copies       # ... by copies of the variables, each by itself
    # By one code: numbers that are there from the outset, or zeros; where constants go, and the
    # results; and which numbers are there once more.
    cdef bint direct
    cdef cnp.ndarray template
    cdef cnp.ndarray fixed
    cdef cnp.ndarray values
    cdef cnp.ndarray places
    cdef cnp.ndarray sources
    cdef cnp.ndarray copies
    cdef cnp.ndarray colors             # of each number, if it is of one of a few products
    # By products: the direction of each, and for blocks of products the entries, and the places
    # that they are read from. Of a whole matrix each product is a column, or a row, as it stands.
    cdef readonly bint is_whole
    cdef readonly bint is_by_rows
    cdef bint adds                      # more than one number to an entry
    cdef readonly cnp.ndarray seeds  #: NDArray[np.float64]
    cdef readonly list blocks  #: list[tuple[int, int, NDArray[np.intp], NDArray[np.intp]]]
