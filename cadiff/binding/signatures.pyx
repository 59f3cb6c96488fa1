"""What calls of one kind have in common: of each argument what has to be the same (Part), and how
the result is made of numbers (Result).

A Part fits an argument only if a Call would find the same form in it and the same numbers, and if
derivatives by it would be of the same types. What it cannot tell goes the long way.
"""

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_FromDouble
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.string cimport memcmp, memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_tape cimport *


cdef object exact_sequence(object item):
    """list or tuple, if something is one of these and no kind of them."""
    kind = type(item)
    return kind if kind is list or kind is tuple else None


cdef class Shaped:
    """Something that has a shape, and a dtype by its number."""

    def __dealloc__(self):
        cad_memory_free(self.lengths)

    @cython.final
    cdef int shape_as(self, cnp.ndarray array) except -1:
        cdef int axis
        self.typenum = cnp.PyArray_TYPE(array)
        self.ndim = cnp.PyArray_NDIM(array)
        self.size = cnp.PyArray_SIZE(array)
        if self.ndim > 0:
            self.lengths = <Py_ssize_t *>cad_memory_resize(NULL, self.ndim, sizeof(Py_ssize_t))
            if self.lengths == NULL:
                check(CAD_NO_MEMORY)
        for axis in range(self.ndim):
            self.lengths[axis] = cnp.PyArray_DIM(array, axis)
        return 0

    @cython.final
    cdef bint is_shape_of(self, object item):
        cdef int axis
        if (
            not cnp.PyArray_CheckExact(item)
            or cnp.PyArray_NDIM(item) != self.ndim
            or cnp.PyArray_TYPE(item) != self.typenum
        ):
            return False
        for axis in range(self.ndim):
            if cnp.PyArray_DIM(item, axis) != self.lengths[axis]:
                return False
        return True


# --- arguments -----------------------------------------------------------------------------------


@cython.final
cdef class Part(Shaped):
    """What is known of an argument, or of an item of one."""

    cdef bint take(self, object item, double *inputs) except -1:
        """Whether an argument fits. Its numbers are written to where they belong.

        What is read was looked at just before: other threads may run whenever Python does.
        """
        cdef Py_ssize_t k
        cdef object member
        if self.kind == PART_ARRAY:
            return self.is_shape_of(item) and self.take_array(item, inputs + self.offset)
        if self.kind == PART_FLOAT:
            if type(item) is not float:
                return False
            inputs[self.offset] = PyFloat_AS_DOUBLE(item)
            return True
        if self.kind == PART_EQUAL:
            return item is self.kept or (type(item) is type(self.kept) and item == self.kept)
        if self.kind == PART_SAME:
            return item is self.kept
        if self.kind == PART_DOUBLE:
            if type(item) is not np_float64:
                return False
            inputs[self.offset] = PyFloat_AS_DOUBLE(item)
            return True
        if self.kind == PART_INT:
            if type(item) is not int:
                return False
            try:
                inputs[self.offset] = item
            except OverflowError:
                return False
            return True
        if self.kind == PART_BYTES:
            return (
                self.is_shape_of(item)
                and cnp.PyArray_ISCARRAY_RO(item)
                and memcmp(
                    cnp.PyArray_DATA(item), PyBytes_AS_STRING(self.kept),
                    PyBytes_GET_SIZE(self.kept),
                ) == 0
            )
        if self.kind == PART_DICT:
            return self.take_dict(item, inputs)
        if type(item) is not self.kept or len(item) != self.size:
            return False
        if self.kind == PART_ROW:
            return self.take_row(item, inputs + self.offset)
        for k in range(self.size):
            if k >= len(item):
                return False
            member = item[k]
            if not (<Part>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
                return False
        return True

    cdef bint take_array(self, object array, double *place) except -1:
        cdef Py_ssize_t k
        if self.size == 0:
            return True
        if not cnp.PyArray_ISCARRAY_RO(array) or (
            self.typenum != cnp.NPY_DOUBLE and self.typenum != cnp.NPY_FLOAT32
        ):
            array = cnp.PyArray_FROMANY(
                array, cnp.NPY_DOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_FORCECAST
            )
        elif self.typenum == cnp.NPY_FLOAT32:
            for k in range(self.size):
                place[k] = (<const float *>cnp.PyArray_DATA(array))[k]
            return True
        memcpy(place, cnp.PyArray_DATA(array), self.size * sizeof(double))
        return True

    cdef bint take_row(self, object row, double *place):
        cdef Py_ssize_t k
        cdef PyObject *item
        cdef bint is_list = self.kept is list
        for k in range(self.size):
            item = PyList_GET_ITEM(row, k) if is_list else PyTuple_GET_ITEM(row, k)
            if type(<object>item) is not float:
                return False
            place[k] = PyFloat_AS_DOUBLE(<object>item)
        return True

    cdef bint take_dict(self, object item, double *inputs) except -1:
        """The order of keys counts, too: that of numbers and results is the same."""
        cdef Py_ssize_t k = 0, at = 0
        cdef PyObject *key = NULL
        cdef PyObject *value = NULL
        cdef object member
        if type(item) is not dict:
            return False
        while PyDict_Next(item, &at, &key, &value):
            if k == self.size or not is_same_name(<object>key, self.kept[k]):
                return False
            member = <object>value
            if not (<Part>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
                return False
            k += 1
        return k == self.size


cdef object np_float64 = np.float64


cdef tuple PLAIN_STATICS = (int, bool, str, bytes, type(None), type(len), np.bool_, *[
    np.dtype(code).type for code in np.typecodes["AllInteger"]
])


cdef inline bint is_same_name(object one, object other) except -1:
    return one is other or (type(one) is str and type(other) is str and one == other)


cdef Part form_of(object item, bint differentiable, Py_ssize_t *count):
    """None if there is no short way for such an argument. `count`: the numbers so far."""
    cdef Part part = Part.__new__(Part)
    kind = type(item)
    part.offset = count[0]
    part.size = 1
    if kind is float or kind is np_float64 or (differentiable and kind is int):
        part.kind = (
            PART_FLOAT if kind is float else PART_INT if kind is int else PART_DOUBLE
        )
        count[0] += 1
    elif cnp.PyArray_CheckExact(item):
        return form_of_array(part, item, differentiable, count)
    elif exact_sequence(item) is not None:
        part.kept = kind
        part.size = len(item)
        if part.size > 0 and all([type(x) is float for x in item]):
            part.kind = PART_ROW
            count[0] += part.size
        else:
            part.kind = PART_ITEMS
            return form_of_items(part, item, differentiable, count)
    elif kind is dict:
        part.kind = PART_DICT
        part.kept = tuple(item)
        part.size = len(item)
        return form_of_items(part, item.values(), differentiable, count)
    elif differentiable:
        return None
    elif kind in PLAIN_STATICS:
        part.kind = PART_EQUAL
        part.kept = item
    elif kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__:
        part.kind = PART_SAME
        part.kept = item
    else:
        return None
    return part


cdef Part form_of_array(Part part, cnp.ndarray array, bint differentiable, Py_ssize_t *count):
    cdef int kind = cnp.PyArray_TYPE(array)
    cdef bint is_real = (
        kind == cnp.NPY_DOUBLE or kind == cnp.NPY_FLOAT32 or kind == cnp.NPY_FLOAT16
    )
    part.shape_as(array)
    if is_real or (differentiable and cnp.PyTypeNum_ISINTEGER(kind)):
        part.kind = PART_ARRAY
        count[0] += part.size
    elif not differentiable and (cnp.PyTypeNum_ISINTEGER(kind) or kind == cnp.NPY_BOOL):
        part.kind = PART_BYTES
        part.kept = array.tobytes()
        if not cnp.PyArray_ISCARRAY_RO(array):
            return None
    else:
        return None
    return part


cdef Part form_of_items(Part part, items, bint differentiable, Py_ssize_t *count):
    children = [form_of(item, differentiable, count) for item in items]
    if None in children:
        return None
    part.children = tuple(children)
    return part


cdef bint has_names(Part part) except -1:
    """Whether numbers in it are told apart by keys, which may stand in any order."""
    return (part.kind == PART_DICT and part.size > 1) or any(
        [has_names(child) for child in part.children or ()]
    )


# --- results -------------------------------------------------------------------------------------


@cython.final
cdef class Result(Shaped):
    """How a result is made of the numbers that the code gives."""

    cdef object make(self, const double *numbers):
        cdef Py_ssize_t k
        cdef tuple items
        if self.kind == RESULT_NUMBER:
            return PyFloat_FromDouble(numbers[self.first])
        if self.kind == RESULT_ARRAY:
            return self.make_array(numbers + self.first)
        items = PyTuple_New(PyTuple_GET_SIZE(self.children))
        for k in range(PyTuple_GET_SIZE(self.children)):
            item = (<Result>PyTuple_GET_ITEM(self.children, k)).make(numbers)
            Py_INCREF(item)
            PyTuple_SET_ITEM(items, k, item)
        if self.kept is tuple:
            return items
        if self.kept is list:
            return list(items)
        if self.kind == RESULT_DICT:
            return dict(zip(self.kept, items))
        return self.kept(*items)

    cdef object make_array(self, const double *numbers):
        cdef cnp.ndarray array = cnp.PyArray_SimpleNew(
            self.ndim, <cnp.npy_intp *>self.lengths, cnp.NPY_DOUBLE
        )
        cdef double *to = <double *>cnp.PyArray_DATA(array)
        cdef double *end = to + self.size
        while to < end:
            memcpy(to, numbers, self.width * sizeof(double))
            to += self.width
            numbers += self.step
        if self.typenum != cnp.NPY_DOUBLE:
            return cnp.PyArray_Cast(array, self.typenum)
        return array


cdef enum:
    DIGIT = 10  # bits, which all dtypes of results have


cdef Result result_of(list samples):
    """What was made of the numbers 0, 1, 2 and so on, digit by digit; None if it is nothing that is
    known."""
    cdef Result result = Result.__new__(Result)
    sample = samples[0]
    kind = type(sample)
    if kind is float:
        result.kind = RESULT_NUMBER
        result.first = place_of(samples)
        return result
    if cnp.PyArray_CheckExact(sample):
        result.kind = RESULT_ARRAY
        result.shape_as(sample)
        places = place_of([each.ravel().astype(np.int64) for each in samples])
        return result if find_rows(result, places) else None
    if kind is dict:
        result.kind = RESULT_DICT
        result.kept = tuple(sample)
        columns = [list(each.values()) for each in samples]
    elif exact_sequence(sample) is not None or (
        isinstance(sample, tuple) and hasattr(kind, "_fields")
    ):
        result.kind = RESULT_ITEMS
        result.kept = kind
        columns = samples
    else:
        return None
    children = [result_of(list(each)) for each in zip(*columns)]
    if None in children:
        return None
    result.children = tuple(children)
    return result


cdef object place_of(list digits):
    return sum([(digit if cnp.PyArray_Check(digit) else int(digit)) << (DIGIT * k)
                for k, digit in enumerate(digits)])


cdef bint find_rows(Result result, places) except -1:
    """Whether numbers stand in rows, as a block of a matrix has them."""
    cdef Py_ssize_t n = result.size
    result.width = max(n, 1)
    if n == 0:
        return True
    ends = np.flatnonzero(np.diff(places) != 1) + 1
    result.first = places[0]
    if len(ends):
        result.width = ends[0]
        result.step = places[ends[0]] - places[0]
    if n % result.width:
        return False
    rows = result.first + result.step * np.arange(n // result.width)
    return (places.reshape(-1, result.width) == rows[:, None] + np.arange(result.width)).all()


cdef Result result_from(object assemble, Py_ssize_t n):
    """What `assemble` makes of n numbers, found by having it make something of their places."""
    places = np.arange(n, dtype=np.int64)
    digits = [places & ((1 << DIGIT) - 1)]
    while n > 1 << (DIGIT * len(digits)):
        digits.append((places >> (DIGIT * len(digits))) & ((1 << DIGIT) - 1))
    try:
        return result_of([assemble(digit.astype(np.float64)) for digit in digits])
    except Exception:  # containers of the user's may check what is put into them
        return None
