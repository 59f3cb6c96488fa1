"""Nested lists of single numbers as arrays: matrices that are written out row by row.

Most are small, and made many times. Lists of one length on each level, of plain numbers, Vars and
Duals, are gone through once; whatever else stands in them is left to others.
"""

from cpython.list cimport PyList_CheckExact, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE
from libc.string cimport memcpy, memset

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_python cimport *
from .c_entries cimport *
from .atoms cimport put_numbers
from .tape cimport MOST_AXES

from .atoms import numbers_array

cdef enum:
    FEW = 64  # numbers for which no memory is asked
    MOST_NUMBERS = 0x7fffffff


cdef enum Content:
    OTHER     # no regular lists of numbers
    NUMBERS   # plain ones
    VARS      # and Vars of this thread's tape
    DUALS     # and Duals of floats, of one tag and as many lanes
    MIXED     # and any single numbers with derivatives


cdef struct Lists:
    int ndim
    Py_ssize_t lengths[MOST_AXES]
    Py_ssize_t size
    PyObject **numbers   # in order
    Content content
    bint has_passive     # Vars on no tape
    CadTape *tape
    CadTag tag
    int kind             # of Duals
    size_t n_lanes


cdef inline Py_ssize_t length_of(object items):
    """Of a list or tuple; -1 of anything else."""
    if PyList_CheckExact(items):
        return PyList_GET_SIZE(items)
    return PyTuple_GET_SIZE(items) if PyTuple_CheckExact(items) else -1


cdef bint measure(PyObject *items, Lists *lists):
    """Find the shape by the first item on each level; whether there can be one."""
    cdef Py_ssize_t length = length_of(<object>items)
    lists.ndim = 0
    lists.size = 1
    while length >= 0:
        if length == 0 or lists.ndim == MOST_AXES or lists.size > MOST_NUMBERS // length:
            return False
        lists.lengths[lists.ndim] = length
        lists.ndim += 1
        lists.size *= length
        items = PySequence_Fast_ITEMS(<object>items)[0]
        length = length_of(<object>items)
    return lists.ndim > 0


cdef PyObject **collect(PyObject *items, int level, Lists *lists, PyObject **to):
    """Note the numbers in lists of the shape; NULL if they are of another one."""
    cdef Py_ssize_t i
    cdef PyObject **item
    if length_of(<object>items) != lists.lengths[level]:
        return NULL
    item = PySequence_Fast_ITEMS(<object>items)
    for i in range(lists.lengths[level]):
        if level + 1 < lists.ndim:
            to = collect(item[i], level + 1, lists, to)
            if to is NULL:
                return NULL
        else:
            to[0] = item[i]
            to += 1
    return to


cdef Content joined_content(Lists *lists, CadDual *dual):
    """What the lists hold if they hold a Dual, too."""
    if dual.kind > CAD_DUAL_LANES or lists.content == VARS:
        return MIXED
    if lists.content == NUMBERS:
        lists.tag = dual.tag
        lists.kind = dual.kind
        lists.n_lanes = dual.n_lanes
        return DUALS
    same = lists.tag == dual.tag and <uint32_t>lists.kind == dual.kind
    return DUALS if same and lists.n_lanes == dual.n_lanes else MIXED


cdef Content content_of(Lists *lists) except *:
    """What the numbers are."""
    cdef Py_ssize_t i
    cdef object number
    cdef double value
    lists.content = NUMBERS
    lists.has_passive = False
    for i in range(lists.size):
        number = <object>lists.numbers[i]
        if CAD_IS_FLOAT(number):
            continue
        if CAD_IS_SCALAR(number):
            if CAD_VAR(number).tape != lists.tape:
                return OTHER
            lists.content = VARS if lists.content <= VARS else MIXED
        elif CAD_IS_DUAL(number) and not CAD_IS_DUAL_ARRAY(number):
            lists.content = MIXED if lists.content == MIXED else joined_content(
                lists, CAD_DUAL(number)
            )
        elif CAD_IS_VAR(number) and CAD_VAR(number).kind == CAD_PASSIVE:
            lists.has_passive = True
        elif cad_classify(number, &value) != CAD_PLAIN:
            return OTHER
    return lists.content


cdef object dual_of(Lists *lists):
    """An array Dual of the numbers."""
    cdef Py_ssize_t i
    cdef size_t n = lists.n_lanes
    cdef bint has_lanes = lists.kind == CAD_DUAL_LANES
    cdef CadDual *dual
    primals = cnp.PyArray_SimpleNew(lists.ndim, lists.lengths, cnp.NPY_DOUBLE)
    lists.lengths[lists.ndim] = n
    tangents = cnp.PyArray_SimpleNew(lists.ndim + has_lanes, lists.lengths, cnp.NPY_DOUBLE)
    cdef double *primal = <double *>cnp.PyArray_DATA(primals)
    cdef double *tangent = <double *>cnp.PyArray_DATA(tangents)
    if not has_lanes:
        n = 1
    memset(tangent, 0, lists.size * n * sizeof(double))
    for i in range(lists.size):
        number = <object>lists.numbers[i]
        primal[i] = cad_primal(number)
        if CAD_IS_DUAL(number):
            dual = CAD_DUAL(number)
            memcpy(tangent + i * n, dual.lanes if has_lanes else &dual.tangent, n * sizeof(double))
    return cad_dual_from(primals, tangents, lists.tag)


cdef object made_of(Lists *lists):
    """The array of them."""
    cdef Py_ssize_t i
    shape = tuple([lists.lengths[i] for i in range(lists.ndim)])
    if lists.content == VARS:
        return put_numbers(lists.numbers, lists.size, shape)
    if lists.content == DUALS and lists.ndim + 1 < MOST_AXES:
        return dual_of(lists)
    return numbers_array([<object>lists.numbers[i] for i in range(lists.size)], shape)


cpdef object array_of_lists(items):
    """An array of nested lists of numbers, of which at least one carries a derivative.

    None if all of them are plain. NotImplemented if there is something else in the lists than
    single numbers, or if they are of various lengths.
    """
    cdef Lists lists
    cdef PyObject *few[FEW]
    if not measure(<PyObject *>items, &lists):
        return NotImplemented
    lists.tape = cad_current_tape()
    lists.numbers = few
    if lists.size > FEW:
        lists.numbers = <PyObject **>PyMem_Malloc(lists.size * sizeof(PyObject *))
        if lists.numbers is NULL:
            raise MemoryError
    try:
        if (
            collect(<PyObject *>items, 0, &lists, lists.numbers) is NULL
            or content_of(&lists) == OTHER
        ):
            return NotImplemented
        is_plain = lists.content == NUMBERS and not lists.has_passive
        return None if is_plain else made_of(&lists)
    finally:
        if lists.numbers != few:
            PyMem_Free(lists.numbers)
