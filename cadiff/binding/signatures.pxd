# What other modules see of signatures.pyx.

cimport cython

from . cimport c_numpy as cnp


cdef object exact_sequence(object item)


cdef class Shaped:
    cdef int typenum
    cdef int ndim
    cdef Py_ssize_t size
    cdef Py_ssize_t *lengths

    @cython.final
    cdef int shape_as(self, cnp.ndarray array) except -1
    @cython.final
    cdef bint is_shape_of(self, object item)


cdef enum PartKind:
    PART_FLOAT    # a float
    PART_DOUBLE   # a float64 of NumPy's
    PART_INT      # an int that is a number
    PART_ARRAY    # an array of numbers
    PART_ROW      # a list or tuple of floats
    PART_ITEMS    # a list or tuple of others
    PART_DICT
    PART_EQUAL    # a static, which is equal
    PART_SAME     # a static, which is the same object
    PART_BYTES    # a static array, whose memory is equal


@cython.final
cdef class Part(Shaped):
    cdef PartKind kind
    cdef Py_ssize_t offset  # of its numbers among the inputs
    cdef object kept        # the static; the type of a container; the keys of a dict
    cdef tuple children

    cdef bint take(self, object item, double *inputs) except -1
    cdef bint take_array(self, object array, double *place) except -1
    cdef bint take_row(self, object row, double *place)
    cdef bint take_dict(self, object item, double *inputs) except -1


cdef Part form_of(object item, bint differentiable, Py_ssize_t *count)
cdef bint has_names(Part part) except -1


cdef enum ResultKind:
    RESULT_NUMBER  # a float
    RESULT_ARRAY   # rows of numbers that stand at equal distances
    RESULT_ITEMS   # a list, a tuple, or a kind of tuple with names
    RESULT_DICT


@cython.final
cdef class Result(Shaped):
    cdef ResultKind kind
    cdef Py_ssize_t first   # its first number
    cdef Py_ssize_t width   # of a row
    cdef Py_ssize_t step    # from row to row
    cdef object kept        # the type of a container; the keys of a dict
    cdef tuple children

    cdef object make(self, const double *numbers)
    cdef object make_array(self, const double *numbers)


cdef Result result_from(object assemble, Py_ssize_t n)
