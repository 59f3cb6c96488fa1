"""What calls of one signature have in common: a tree definition of their arguments, and one of the
result.

An ArgumentNode fits an argument only if a Call would find the same structure and numbers in it,
and if derivatives by it would be of the same types. What it cannot tell takes the general path.
"""

from dataclasses import fields
from enum import Enum
from threading import local

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_FromDouble
from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy

from . cimport c_numpy as cnp
from .c_python cimport plain_attribute
from .c_entries cimport *
from .c_numbers cimport *
from .complexes cimport is_complex
from .trees cimport (
    Container,
    FIELDS,
    MAPPING,
    opened,
    opened_complex,
    opened_whole,
    SEQUENCE,
    key_of,
    key_of_container,
    Same,
)


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


cdef double EXACT = 2.0**53  # whole numbers below are floats


@cython.final
cdef class Taken:
    """What was found so far while nodes are made: see Call, which takes the same in its order."""

    def __init__(self, lifted):
        self.lifted = lifted



@cython.final
cdef class ArgumentNode(Shaped):
    """What is known of an argument, or of an item of one."""

    cdef bint take(self, object item, double *inputs) except -1:
        """Whether an argument fits. Its numbers are written to where they belong.

        What is read was looked at just before: other threads may run whenever Python does.
        """
        cdef Py_ssize_t k
        cdef object member
        if self.kind == NODE_ARRAY:
            return self.is_shape_of(item) and self.take_array(item, inputs)
        if self.kind == NODE_FLOAT:
            return self.take_float(item, inputs)
        if self.kind == NODE_EQUAL:
            return item is self.kept or (type(item) is type(self.kept) and item == self.kept)
        if self.kind == NODE_SAME:
            return (<Same>self.kept).is_of(item)
        if self.kind == NODE_DOUBLE:
            if type(item) is not np_float64:
                return False
            inputs[self.offset] = PyFloat_AS_DOUBLE(item)
            return True
        if self.kind == NODE_INT:
            if type(item) is not int:
                return False
            try:
                inputs[self.offset] = item
            except OverflowError:
                return False
            return True
        if self.kind == NODE_WHOLE:
            return type(item) is self.kept and take_whole(item, inputs + self.offset)
        if self.kind == NODE_INTEGERS:
            return self.is_shape_of(item) and take_integers(item, inputs + self.offset)
        if self.kind == NODE_BYTES:
            return (
                self.is_shape_of(item)
                and cnp.PyArray_ISCARRAY_RO(item)
                and memcmp(
                    cnp.PyArray_DATA(item), PyBytes_AS_STRING(self.kept),
                    PyBytes_GET_SIZE(self.kept),
                ) == 0
            )
        if self.kind == NODE_COMPLEX:
            if type(item) is not complex:
                return False
            inputs[self.offset] = item.real
            inputs[self.offset + 1] = item.imag
            return True
        if self.kind == NODE_COMPLEXES:
            return self.is_shape_of(item) and self.take_complex(item, inputs)
        if self.kind == NODE_DICT:
            return self.take_dict(item, inputs)
        if self.kind == NODE_KEY:
            return key_of(item) == self.kept
        if self.kind == NODE_OPENED:
            return self.take_opened(item, inputs)
        if type(item) is not self.kept:
            return False
        if self.kind == NODE_FIELDS:
            return self.take_fields(item, inputs)
        if len(item) != self.size:
            return False
        if self.kind == NODE_ROW:
            return self.take_row(item, inputs + self.offset)
        for k in range(self.size):
            if k >= len(item):
                return False
            member = item[k]
            if not (<ArgumentNode>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
                return False
        return True

    cdef bint take_array(self, object array, double *inputs) except -1:
        cdef Py_ssize_t k
        cdef double *place = inputs + self.offset
        cdef const double *numbers
        if self.size == 0:
            return True
        if (
            self.pointer > 0
            and self.typenum == cnp.NPY_DOUBLE
            and cnp.PyArray_ISCARRAY_RO(array)
        ):
            numbers = <const double *>cnp.PyArray_DATA(array)
            memcpy(inputs + self.pointer, &numbers, sizeof(numbers))
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

    cdef bint take_complex(self, object array, double *inputs) except -1:
        cdef Py_ssize_t k
        cdef double *place = inputs + self.offset
        cdef const double *numbers
        if not cnp.PyArray_ISCARRAY_RO(array) or self.typenum != cnp.NPY_CDOUBLE:
            array = cnp.PyArray_FROMANY(
                array, cnp.NPY_CDOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_FORCECAST
            )
        numbers = <const double *>cnp.PyArray_DATA(array)
        for k in range(self.size):
            place[k] = numbers[2 * k]
            place[self.size + k] = numbers[2 * k + 1]
        return True

    cdef bint take_row(self, object row, double *place):
        cdef Py_ssize_t k
        cdef PyObject *item
        cdef object of = np_float64 if self.is_of_doubles else float
        cdef bint is_list = isinstance(row, list)
        for k in range(self.size):
            item = PyList_GET_ITEM(row, k) if is_list else PyTuple_GET_ITEM(row, k)
            if type(<object>item) is not of:
                return False
            place[k] = PyFloat_AS_DOUBLE(<object>item)
        return True

    cdef bint take_parts(self, tuple parts, double *inputs) except -1:
        cdef Py_ssize_t k
        if PyTuple_GET_SIZE(parts) != self.size:
            return False
        for k in range(self.size):
            if not (<ArgumentNode>PyTuple_GET_ITEM(self.children, k)).take(
                <object>PyTuple_GET_ITEM(parts, k), inputs
            ):
                return False
        return True

    cdef bint take_opened(self, object item, double *inputs) except -1:
        found = opened_whole(item)
        return (
            found is not None
            and key_of_container(found[0], [], None) == self.kept
            and self.take_parts(found[1], inputs)
        )

    cdef bint take_fields(self, object item, double *inputs) except -1:
        cdef Py_ssize_t k
        cdef object member
        if self.has_only and len(item.__dict__) != self.size:
            return False
        for k in range(self.size):
            member = plain_attribute(item, <str>PyTuple_GET_ITEM(self.names, k), self)
            if not (<ArgumentNode>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
                return False
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
            if k == self.size or not is_same_name(<object>key, self.names[k]):
                return False
            member = <object>value
            if not (<ArgumentNode>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
                return False
            k += 1
        return k == self.size


cdef object np_float64 = np.float64


cdef extern from "kernels/whole.h":
    int cad_whole_of_integers(double *to, const int64_t *integers, size_t n) noexcept nogil


cdef bint take_integers(object array, double *place) except -1:
    """Whether integers or bools are of those that floats can stand for; they are written."""
    cdef Py_ssize_t k, n = cnp.PyArray_SIZE(array)
    cdef bint exact = True
    if cnp.PyArray_TYPE(array) == cnp.NPY_INT64 and cnp.PyArray_ISCARRAY_RO(array):
        return cad_whole_of_integers(place, <const int64_t *>cnp.PyArray_DATA(array), n)
    array = cnp.PyArray_FROMANY(
        array, cnp.NPY_DOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_FORCECAST
    )
    memcpy(place, cnp.PyArray_DATA(array), n * sizeof(double))
    for k in range(n):
        exact &= -EXACT < place[k] < EXACT
    return exact


cdef long long MOST_INT = 2147483648  # 2 ** 31


cdef bint take_whole(object item, double *place) except -1:
    """Whether an int is below `MOST_INT` in size; it is written."""
    cdef int overflow = 0
    cdef long long number = PyLong_AsLongLongAndOverflow(
        item if type(item) is int else int(item), &overflow
    )
    place[0] = <double>number
    return overflow == 0 and -MOST_INT < number < MOST_INT


def may_be_input(number):
    """Whether an int of Python's or a whole number of NumPy's may be an input of programs: sums
    and products of a few such are exact as floats."""
    cdef double place
    return take_whole(number, &place)


def are_exact(array):
    """Whether an array holds integers or bools that floats can stand for."""
    cdef cnp.ndarray room = np.empty(array.size)
    return take_integers(array, <double *>cnp.PyArray_DATA(room))


INTEGERS = frozenset([int, *[np.dtype(code).type for code in np.typecodes["AllInteger"]]])
cdef object integers = INTEGERS
cdef tuple PLAIN_STATICS = (bool, str, bytes, type(None), type(len), np.bool_, *INTEGERS)


cdef inline bint is_same_name(object one, object other) except -1:
    return one is other or (type(one) is str and type(other) is str and one == other)


cdef ArgumentNode node_of(object item, bint differentiable, Taken taken):
    """The node of an argument; None if a fast path cannot take it."""
    cdef ArgumentNode node = ArgumentNode.__new__(ArgumentNode)
    kind = type(item)
    node.offset = taken.numbers
    node.size = 1
    if kind is float or kind is np_float64 or (differentiable and kind is int):
        node.kind = (
            NODE_FLOAT if kind is float else NODE_INT if kind is int else NODE_DOUBLE
        )
        taken.numbers += 1
    elif kind is complex:
        node.kind = NODE_COMPLEX
        taken.numbers += 2
    elif cnp.PyArray_CheckExact(item):
        return node_of_array(node, item, differentiable, taken)
    elif kind in PLAIN_STATICS:
        if differentiable and item is not None:
            return None
        node.kind = NODE_EQUAL
        node.hash_of_kept = hash(item)
        node.kept = item
        if kind in integers:
            taken.integers += 1
            if taken.integers - 1 in taken.lifted:
                node.kind = NODE_WHOLE
                node.kept = kind
                taken.numbers += 1
    elif CAD_IS_VAR(item) or CAD_IS_DUAL(item):
        return None
    else:
        found = opened(item) if differentiable else opened_whole(item)
        if found is not None:
            return node_of_parts(node, found[0], found[1], differentiable, taken)
        if differentiable:
            return None
        return node_of_static(node, item)
    return node


cdef ArgumentNode node_of_static(ArgumentNode node, item):
    node.kept = key_of(item)
    node.kind = NODE_KEY
    if isinstance(node.kept, Same):
        node.kind = NODE_SAME
    return node


cdef ArgumentNode node_of_array(ArgumentNode node, cnp.ndarray array, bint differentiable,
                                Taken taken):
    cdef int kind = cnp.PyArray_TYPE(array)
    cdef bint is_real = (
        kind == cnp.NPY_DOUBLE or kind == cnp.NPY_FLOAT32 or kind == cnp.NPY_FLOAT16
    )
    node.shape_as(array)
    if is_real or (differentiable and cnp.PyTypeNum_ISINTEGER(kind)):
        node.kind = NODE_ARRAY
        taken.numbers += node.size
    elif kind == cnp.NPY_CDOUBLE or kind == cnp.NPY_CFLOAT:
        node.kind = NODE_COMPLEXES
        taken.numbers += 2 * node.size
    elif differentiable:
        return None
    elif cnp.PyTypeNum_ISINTEGER(kind) or kind == cnp.NPY_BOOL:
        taken.integers += node.size > 0
        if node.size > 0 and taken.integers - 1 in taken.lifted:
            node.kind = NODE_INTEGERS
            taken.numbers += node.size
            return node
        if not cnp.PyArray_ISCARRAY_RO(array):
            return node_of_static(node, array)
        node.kind = NODE_BYTES
        node.kept = array.tobytes()
    else:
        return node_of_static(node, array)
    return node


cdef ArgumentNode node_of_parts(ArgumentNode node, Container container, tuple parts,
                                bint differentiable, Taken taken):
    node.kept = container.type
    node.names = container.names
    node.size = len(parts)
    if container.kind == SEQUENCE and not has_attributes(container.type):
        node.kind = NODE_ITEMS
        node.is_of_doubles = node.size > 0 and type(parts[0]) is np_float64
        of = np_float64 if node.is_of_doubles else float
        if node.size > 0 and all([type(x) is of for x in parts]):
            node.kind = NODE_ROW
            taken.numbers += node.size
            return node
    elif container.kind == MAPPING:
        node.kind = NODE_DICT
    elif is_complete(container):
        node.kind = NODE_FIELDS
        node.has_only = not differentiable and has_attributes(container.type)
    else:
        node.kind = NODE_OPENED
        node.kept = key_of_container(container, [], None)
    children = [node_of(part, differentiable, taken) for part in parts]
    if None in children:
        return None
    node.children = tuple(children)
    return node


cdef bint has_attributes(kind) except -1:
    """Whether objects of a class may have any."""
    return kind is not list and kind is not tuple and kind.__dictoffset__ != 0


cdef bint is_complete(Container container) except -1:
    """Whether it is a dataclass that has all its fields, and no other attribute."""
    return (
        container.kind == FIELDS
        and container.beside is None
        and len(container.names) == len(fields(container.type))
    )


cdef int refer(tuple nodes, Py_ssize_t place, Py_ssize_t pointer) except -1:
    """Have an array for its address alone, if there is one whose numbers begin at a place."""
    cdef ArgumentNode node
    for node in nodes or ():
        if node.kind == NODE_ARRAY and node.offset == place and node.size > 0:
            node.pointer = pointer
        refer(node.children, place, pointer)
    return 0


cdef int forget_references(tuple nodes) except -1:
    cdef ArgumentNode node
    for node in nodes or ():
        node.pointer = 0
        forget_references(node.children)
    return 0


cdef int cost_of(ArgumentNode node):
    """What it costs to find that an argument does not fit: values at once, numbers once they are
    copied, keys once they are made."""
    if node.kind in (NODE_EQUAL, NODE_SAME, NODE_BYTES):
        return 0
    return 2 if node.kind == NODE_KEY else 1


cdef bint has_names(ArgumentNode node) except -1:
    """Whether numbers in it are told apart by keys, which may come in any order."""
    return (node.kind in (NODE_DICT, NODE_OPENED) and node.size > 1) or any(
        [has_names(child) for child in node.children or ()]
    )


# --- results -------------------------------------------------------------------------------------


@cython.final
cdef class ResultNode(Shaped):
    """How a result is made of the numbers that the code gives."""

    cdef object make(self, const double *numbers):
        cdef Py_ssize_t k
        cdef tuple items
        if self.kind == RESULT_NUMBER:
            return PyFloat_FromDouble(numbers[self.first])
        if self.kind == RESULT_ARRAY:
            return self.make_array(numbers + self.first)
        if self.kind == RESULT_ROW:
            return self.make_row(numbers + self.first)
        if self.kind == RESULT_WHOLE:
            return self.constant(int(numbers[self.first]))
        if self.kind == RESULT_CONSTANT:
            return self.constant.copy() if cnp.PyArray_Check(self.constant) else self.constant
        if self.kind == RESULT_COMPLEX:
            real = (<ResultNode>PyTuple_GET_ITEM(self.children, 0)).make(numbers)
            imaginary = (<ResultNode>PyTuple_GET_ITEM(self.children, 1)).make(numbers)
            return self.container.make((real, 0.0 - imaginary if self.is_conjugate else imaginary))
        items = PyTuple_New(PyTuple_GET_SIZE(self.children))
        for k in range(PyTuple_GET_SIZE(self.children)):
            item = (<ResultNode>PyTuple_GET_ITEM(self.children, k)).make(numbers)
            Py_INCREF(item)
            PyTuple_SET_ITEM(items, k, item)
        return items if self.container.type is tuple else self.container.make(items)

    cdef object make_row(self, const double *numbers):
        cdef Py_ssize_t k
        cdef object number
        cdef object row
        if self.container.type is tuple:
            row = PyTuple_New(self.size)
            for k in range(self.size):
                number = PyFloat_FromDouble(numbers[k])
                Py_INCREF(number)
                PyTuple_SET_ITEM(row, k, number)
            return row
        row = PyList_New(self.size)
        for k in range(self.size):
            number = PyFloat_FromDouble(numbers[k])
            Py_INCREF(number)
            PyList_SET_ITEM(row, k, number)
        return row if self.container.type is list else self.container.make(row)

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


cdef ResultNode result_of(list samples):
    """How `samples` were made of the numbers 0, 1, 2 and so on, of which each sample has one
    digit; None if they are of a type that is not known."""
    cdef ResultNode result = ResultNode.__new__(ResultNode)
    sample = samples[0]
    kind = type(sample)
    if kind is float:
        result.kind = RESULT_NUMBER
        result.first = place_of(samples)
        return result
    if kind is Described:
        return result_of_whole(samples)
    if is_complex(sample):
        return result_of_complex(samples)
    if is_constant_result(sample):
        result.kind = RESULT_CONSTANT
        result.constant = sample
        return result
    if cnp.PyArray_CheckExact(sample):
        result.kind = RESULT_ARRAY
        result.shape_as(sample)
        places = place_of([each.ravel().astype(np.int64) for each in samples])
        return result if find_rows(result, places) else None
    found = [opened(each) for each in samples]
    if found[0] is None:
        return None
    result.kind = RESULT_CONTAINER
    result.container = found[0][0]
    children = [result_of(list(each)) for each in zip(*[parts for _, parts in found])]
    if None in children:
        return None
    result.children = tuple(children)
    if result.container.kind == SEQUENCE and is_row(children):
        result.kind = RESULT_ROW
        result.first = (<ResultNode>children[0]).first
        result.size = len(children)
    return result


cdef ResultNode result_of_complex(list samples):
    cdef ResultNode result = ResultNode.__new__(ResultNode)
    found = [opened_complex(each) for each in samples]
    reals = [parts[0] for _, parts in found]
    imaginaries = [parts[1] for _, parts in found]
    result.kind = RESULT_COMPLEX
    result.container = found[0][0]
    result.is_conjugate = any([np.any(np.less(each, 0.0)) for each in imaginaries])
    if result.is_conjugate:
        imaginaries = [0.0 - each for each in imaginaries]
    result.children = (result_of(reals), result_of(imaginaries))
    return None if None in result.children else result


cdef bint is_constant_result(object sample) except -1:
    """Whether it is no number of the code, which are floats."""
    if isinstance(sample, (np.ndarray, np.generic)):
        return sample.dtype.kind in "biuSU"
    return isinstance(sample, (bool, int, str, bytes, Enum, type))


cdef bint is_row(list nodes) except -1:
    """Whether these are single numbers that follow each other."""
    cdef Py_ssize_t k
    for k in range(len(nodes)):
        if (<ResultNode>nodes[k]).kind != RESULT_NUMBER or (
            (<ResultNode>nodes[k]).first != (<ResultNode>nodes[0]).first + k
        ):
            return False
    return len(nodes) > 0


cdef object place_of(list digits):
    return sum([(digit if cnp.PyArray_Check(digit) else int(digit)) << (DIGIT * k)
                for k, digit in enumerate(digits)])


cdef bint find_rows(ResultNode result, places) except -1:
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


class Described:
    """A whole number, or an array of them, in a result of which it is found how it is made: `kind`
    is what makes it of floats, a type or a dtype."""

    def __init__(self, numbers, kind):
        self.numbers = numbers
        self.kind = kind


cdef object describing = local()  # its `is_on`: whether this thread finds that out


def whole(numbers, kind):
    """Whole numbers of a type, or of a dtype, made of floats."""
    if getattr(describing, "is_on", False):
        return Described(numbers, kind)
    return kind(int(numbers)) if isinstance(kind, type) else np.asarray(numbers).astype(kind)


cdef ResultNode result_of_whole(list samples):
    cdef ResultNode result = ResultNode.__new__(ResultNode)
    numbers = [sample.numbers for sample in samples]
    if isinstance(samples[0].kind, type):
        result.kind = RESULT_WHOLE
        result.constant = samples[0].kind
        result.first = place_of(numbers)
        return result
    numbers = [np.asarray(each) for each in numbers]  # of a 0-d array there is a float
    if not samples[0].kind.isnative:
        return None
    result.kind = RESULT_ARRAY
    result.shape_as(numbers[0].astype(samples[0].kind))
    places = place_of([each.ravel().astype(np.int64) for each in numbers])
    return result if find_rows(result, places) else None


cdef ResultNode result_from(object assemble, Py_ssize_t n):
    """What `assemble` makes of n numbers, found by having it make something of their places."""
    places = np.arange(n, dtype=np.int64)
    digits = [places & ((1 << DIGIT) - 1)]
    while n > 1 << (DIGIT * len(digits)):
        digits.append((places >> (DIGIT * len(digits))) & ((1 << DIGIT) - 1))
    describing.is_on = True
    try:
        return result_of([assemble(digit.astype(np.float64)) for digit in digits])
    except Exception:  # containers of the user's may check what is put into them
        return None
    finally:
        describing.is_on = False
