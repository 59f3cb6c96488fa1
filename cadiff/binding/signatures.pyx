"""What calls of one signature have in common: nodes of their arguments.

One walk takes arguments apart (`node_of`). It gives their numbers, what tells them from the
arguments of other calls, and an SignatureNode for each of them. A later call is known again by its
nodes, which read its numbers without making objects. A node fits an argument only if the walk would
find the same in it, and if derivatives by it would be of the same types.
"""

from dataclasses import fields

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.list cimport PyList_GET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy

from . cimport c_numpy as cnp
from .c_python cimport (
    class_attribute, plain_attribute, Py_TPFLAGS_HEAPTYPE, PySequence_Fast_GET_SIZE,
    PySequence_Fast_ITEMS, PyTypeObject,
)
from .generated.entries cimport *
from .c_numbers cimport *
from .atoms cimport shape
from .complexes cimport is_complex
from .trees cimport (
    Container, FIELDS, key_of, key_of_container, MAPPING, opened, opened_complex, opened_whole, Same,
    SEQUENCE,
)

from .arguments import take_apart


cdef class Shaped:
    """Something that has a shape, and a dtype by its number."""

    cdef int typenum
    cdef int ndim
    cdef Py_ssize_t size
    cdef Py_ssize_t *lengths

    def __dealloc__(self):
        cad_memory_free(self.lengths)

    @cython.final
    cdef int shape_as(self, cnp.ndarray array) except -1:
        cdef int axis
        self.typenum = cnp.PyArray_TYPE(array)
        self.ndim = cnp.PyArray_NDIM(array)
        self.size = cnp.PyArray_SIZE(array)
        if self.ndim > 0:
            self.lengths = <Py_ssize_t *>new_memory(self.ndim, sizeof(Py_ssize_t))
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
    """What was found so far in some arguments, in the order in which nodes are made."""

    cdef Py_ssize_t numbers  # that there are
    cdef list inputs         # these: floats, arrays, lists and tuples of single numbers; as given
    cdef readonly list integers  #: list[Any]  # ints and arrays of them that are not differentiated by
    cdef readonly object lifted  #: frozenset[int]  # which of these are inputs, by their places among them
    cdef list others         # what is no input, and the Containers, in order
    cdef readonly list statics  #: list[Any]  # what keys tell by identity, or whose code may read more
    cdef bint is_known       # whether nodes know such arguments again
    cdef bint is_refused     # what is to be differentiated by is no number
    cdef bint has_tables     # such as those of pandas
    cdef bint has_attributes # of dataclasses, which are no fields

    def __init__(self, lifted=frozenset()):
        self.lifted = lifted
        self.inputs = []
        self.integers = []
        self.others = []
        self.statics = []
        self.is_known = True

    cdef int note(self, object item, Py_ssize_t size) except -1:
        """Note an input of so many numbers."""
        self.inputs.append(item)
        self.numbers += size
        return 0


@cython.final
cdef class SignatureNode(Shaped):
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
            if type(item) is not FLOAT64:
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
            return key_of_static(item, None) == self.kept
        if self.kind == NODE_OPENED:
            return self.take_opened(item, inputs)
        if self.kind == NODE_OTHER or type(item) is not self.kept:
            return False
        if self.kind == NODE_FIELDS:
            return self.take_fields(item, inputs)
        if PySequence_Fast_GET_SIZE(item) != self.size:  # of a list, of which methods are not asked
            return False
        if self.kind == NODE_ROW:
            return self.take_row(item, inputs + self.offset)
        for k in range(self.size):
            if k >= PySequence_Fast_GET_SIZE(item):
                return False
            member = <object>PySequence_Fast_ITEMS(item)[k]
            if not (<SignatureNode>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
                return False
        return True

    cdef bint take_array(self, object array, double *inputs) except -1:
        cdef double *place = inputs + self.offset
        cdef const void *numbers
        if self.size == 0:
            return True
        if self.pointer > 0 and cnp.PyArray_ISCARRAY_RO(array):
            numbers = cnp.PyArray_DATA(array)
            memcpy(inputs + self.pointer, &numbers, sizeof(numbers))
            return True
        if not cnp.PyArray_ISCARRAY_RO(array) or (
            self.typenum != cnp.NPY_DOUBLE and self.typenum != cnp.NPY_FLOAT32
        ):
            array = cnp.cast_in_order(array, cnp.NPY_DOUBLE)
        elif self.typenum == cnp.NPY_FLOAT32:
            cad_widen_row(place, <const float *>cnp.PyArray_DATA(array), self.size)
            return True
        memcpy(place, cnp.PyArray_DATA(array), self.size * sizeof(double))
        return True

    cdef bint take_complex(self, object array, double *inputs) except -1:
        cdef Py_ssize_t k
        cdef double *place = inputs + self.offset
        cdef const double *numbers
        if not cnp.PyArray_ISCARRAY_RO(array) or self.typenum != cnp.NPY_CDOUBLE:
            array = cnp.cast_in_order(array, cnp.NPY_CDOUBLE)
        numbers = cnp.doubles(array)
        for k in range(self.size):
            place[k] = numbers[2 * k]
            place[self.size + k] = numbers[2 * k + 1]
        return True

    cdef bint take_row(self, object row, double *place):
        cdef Py_ssize_t k
        cdef PyObject *item
        cdef object of = FLOAT64 if self.is_of_doubles else float
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
            if not (<SignatureNode>PyTuple_GET_ITEM(self.children, k)).take(
                <object>PyTuple_GET_ITEM(parts, k), inputs
            ):
                return False
        return True

    cdef bint take_opened(self, object item, double *inputs) except -1:
        opened_item = opened_whole(item)
        return (
            opened_item is not None
            and key_of_container(opened_item[0], [], None) == self.kept
            and self.take_parts(opened_item[1], inputs)
        )

    cdef bint take_fields(self, object item, double *inputs) except -1:
        cdef Py_ssize_t k
        cdef object member
        if self.has_only and len(item.__dict__) != self.size:
            return False
        for k in range(self.size):
            member = plain_attribute(item, <str>PyTuple_GET_ITEM(self.names, k), self)
            if not (<SignatureNode>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
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
            if not (<SignatureNode>PyTuple_GET_ITEM(self.children, k)).take(member, inputs):
                return False
            k += 1
        return k == self.size


    cdef object filled(self, Filling filling):
        """An argument like this one, with what f gets in the places of numbers and of the rest."""
        cdef Py_ssize_t k
        cdef Container container
        if self.integer >= 0:
            return filling.next_integer(self.integer)
        if self.is_input:
            return filling.next_input()
        if self.children is None and self.kind != NODE_ROW:
            return filling.next_other()
        container = filling.next_container()
        if self.children is None:
            return container.make([filling.next_input() for k in range(self.size)])
        return container.make([(<SignatureNode>child).filled(filling) for child in self.children])


cdef class Filling:
    """What stands in the place of what was taken, piece by piece: see `SignatureNode.filled`."""

    cdef object next_input(self):
        """What f gets in the place of an input."""

    cdef object next_container(self):
        """The Container that comes next."""

    cdef object next_other(self):
        """What f gets in the place of what is no input."""

    cdef object next_integer(self, Py_ssize_t k):
        """And in that of an integer that is an input."""


cdef object FLOAT64 = np.float64


cdef bint take_integers(object array, double *place) except -1:
    """Write integers or bools as floats; whether floats can stand for them."""
    cdef Py_ssize_t k, n = cnp.PyArray_SIZE(array)
    cdef bint exact = True
    if cnp.PyArray_TYPE(array) == cnp.NPY_INT64 and cnp.PyArray_ISCARRAY_RO(array):
        return cad_whole_of_integers(place, <const int64_t *>cnp.PyArray_DATA(array), n)
    array = cnp.cast_in_order(array, cnp.NPY_DOUBLE)
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


def may_be_input(number) -> bool:
    """Whether an int of Python's or a whole number of NumPy's may be an input of programs: sums
    and products of a few such are exact as floats."""
    cdef double place
    return take_whole(number, &place)


def are_exact(array: NDArray[Any]) -> bool:
    """Whether an array holds integers or bools that floats can stand for."""
    cdef cnp.ndarray room = np.empty(array.size)
    return take_integers(array, cnp.doubles(room))


INTEGERS: frozenset[type] = frozenset([int, *[np.dtype(code).type for code in np.typecodes["AllInteger"]]])
cdef object INTEGER_TYPES = INTEGERS
cdef tuple PLAIN_STATICS = (bool, str, bytes, type(None), type(len), np.bool_, *INTEGERS)


cdef SignatureNode node_of(object item, bint differentiable, Taken taken):
    """Take an argument apart. With `differentiable` all in it has to be numbers: what is none is
    noted as `taken.is_refused`."""
    cdef SignatureNode node = SignatureNode.__new__(SignatureNode)
    kind = type(item)
    node.offset = taken.numbers
    node.size = 1
    node.integer = -1
    if kind is float:
        return number_node(node, NODE_FLOAT, item, taken)
    if kind is FLOAT64:
        return number_node(node, NODE_DOUBLE, float(item), taken)
    if cnp.PyArray_CheckExact(item):
        return node_of_array(node, item, differentiable, taken)
    if CAD_IS_VAR(item) or CAD_IS_DUAL(item):
        taken.is_known = False
        return input_node(node, NODE_OTHER, item, shape(item), taken)
    if kind in PLAIN_STATICS:
        if not differentiable:
            return node_of_plain(node, item, kind, taken)
        if kind is int:
            return number_node(node, NODE_INT, float(item), taken)
    elif cad_is_mask(item):
        taken.is_known = False
        item = item.number if item.is_float else item.read_values
        return node_of(item, differentiable, taken)
    else:
        opened_item = opened(item) if differentiable else opened_whole(item)
        if opened_item is None and not differentiable and is_of_own_class(item, kind):
            taken.has_attributes = True
            return static_node(node, item, taken)
        if opened_item is None and is_complex(item):
            return node_of_complex(node, item, kind, differentiable, taken)
        if opened_item is not None:
            return node_of_parts(node, item, opened_item[0], opened_item[1], differentiable, taken)
        if issubclass(kind, (float, np.floating)):
            taken.is_known = False
            if cad_is_single(item):
                return input_node(node, NODE_OTHER, np.asarray(item), (), taken)
            return number_node(node, NODE_OTHER, float(item), taken)
        if cnp.PyArray_Check(item) and (
            differentiable or cnp.PyTypeNum_ISFLOAT(cnp.PyArray_TYPE(item))
        ):
            return node_of_joined(node, item, differentiable, taken)
        if class_attribute(kind, "to_numpy") is not None:
            taken.has_tables = True
    if not differentiable:
        return static_node(node, item, taken)
    if item is None:  # a container of nothing
        return node_of_plain(node, item, kind, taken)
    if issubclass(kind, np.integer):
        taken.is_known = False
        return number_node(node, NODE_OTHER, float(item), taken)
    return node_of_joined(node, item, differentiable, taken)


cdef bint is_of_own_class(object item, object kind) except -1:
    """Whether a number or an array is of a class that was written in Python, whose methods and
    attributes f may ask for. Arrays in files are as others."""
    if not (<PyTypeObject *>kind).tp_flags & Py_TPFLAGS_HEAPTYPE or kind is np.memmap:
        return False
    return cnp.PyArray_Check(item) or issubclass(kind, (float, complex, np.generic))


cdef SignatureNode number_node(SignatureNode node, NodeKind kind, object number, Taken taken):
    """One number."""
    node.kind = kind
    node.is_input = True
    node.form = float
    taken.note(number, 1)
    return node


cdef SignatureNode input_node(SignatureNode node, NodeKind kind, object item, tuple shape,
                             Taken taken):
    """An array, or a number with derivatives."""
    cdef Py_ssize_t size = 1
    for length in shape:
        size *= length
    node.kind = kind
    node.is_input = True
    node.form = shape if shape or cnp.PyArray_Check(item) else float
    if cad_is_single(item):
        node.form = node.form, np.float32
    taken.note(item, size)
    return node


cdef object key_of_static(object item, list watched):
    """The key of what f gets as it is: of an array with how it stands in memory."""
    key = key_of(item, watched)
    if isinstance(key, tuple) and cnp.PyArray_Check(item):
        return key, item.strides, cnp.PyArray_ISWRITEABLE(item)
    return key


cdef SignatureNode static_node(SignatureNode node, object item, Taken taken):
    """What is no number to compute with, and is told from others by its key."""
    key = key_of_static(item, taken.statics)
    node.kind = NODE_SAME if isinstance(key, Same) else NODE_KEY
    node.kept = key
    node.form = (None, key)
    taken.others.append(item)
    return node


cdef SignatureNode node_of_plain(SignatureNode node, object item, object kind, Taken taken):
    """A value that equals others like it; ints may be inputs."""
    node.kind = NODE_EQUAL
    node.hash_of_kept = hash(item)
    node.kept = item
    if kind not in INTEGER_TYPES:
        node.form = (None, key_of(item, taken.statics))
        taken.others.append(item)
        return node
    taken.integers.append(item)
    node.form = (kind, None)
    if len(taken.integers) - 1 not in taken.lifted:
        taken.others.append(item)
        return node
    node.kind = NODE_WHOLE
    node.kept = kind
    node.integer = len(taken.integers) - 1
    taken.note(float(item), 1)
    return node


cdef SignatureNode node_of_array(SignatureNode node, cnp.ndarray array, bint differentiable,
                                Taken taken):
    cdef int kind = cnp.PyArray_TYPE(array)
    cdef bint is_integer = cnp.PyTypeNum_ISINTEGER(kind)
    if cnp.PyTypeNum_ISFLOAT(kind) or (differentiable and is_integer):
        node.shape_as(array)
        if is_integer or kind in (cnp.NPY_DOUBLE, cnp.NPY_FLOAT32, cnp.NPY_FLOAT16):
            return input_node(node, NODE_ARRAY, array, array.shape, taken)
        taken.is_known = False
        return input_node(node, NODE_OTHER, array, array.shape, taken)
    if cnp.PyTypeNum_ISCOMPLEX(kind):
        return node_of_complex(node, array, np.ndarray, differentiable, taken)
    if differentiable:
        return node_of_joined(node, array, differentiable, taken)
    node.shape_as(array)
    if node.size == 0 or not (is_integer or kind == cnp.NPY_BOOL):
        return static_node(node, array, taken)
    taken.integers.append(array)
    if len(taken.integers) - 1 in taken.lifted:
        node.kind = NODE_INTEGERS
        node.integer = len(taken.integers) - 1
        taken.note(array.astype(np.float64), node.size)
    else:
        node.kind = NODE_BYTES if cnp.PyArray_ISCARRAY_RO(array) else NODE_KEY
        node.kept = array.tobytes() if node.kind == NODE_BYTES else key_of_static(array, None)
        taken.others.append(array)
    node.form = (np.ndarray, array.dtype.str, array.shape)
    return node


cdef SignatureNode node_of_joined(SignatureNode node, object item, bint differentiable, Taken taken):
    """An array of objects that are numbers, one of a class of its own, or a table."""
    taken.is_known = False
    try:
        (atom,), _ = take_apart((item,), (0,))
    except TypeError:
        if not differentiable:
            raise
        taken.is_refused = True
        return static_node(node, item, taken)
    if not (CAD_IS_VAR(atom) or CAD_IS_DUAL(atom) or cnp.PyArray_Check(atom)):
        atom = np.array(atom)
    return input_node(node, NODE_OTHER, atom, shape(atom), taken)


cdef SignatureNode node_of_complex(SignatureNode node, object item, object kind,
                                  bint differentiable, Taken taken):
    """A complex number or array: its real parts, then the imaginary ones."""
    cdef SignatureNode part
    cdef int typenum = cnp.PyArray_TYPE(item) if kind is np.ndarray else -1
    container, parts = opened_complex(item)
    taken.others.append(container)
    node.children = tuple([node_of(part_of, differentiable, taken) for part_of in parts])
    node.form = (
        key_of_container(container, [], taken.statics),
        tuple([(<SignatureNode>child).form for child in node.children]),
    )
    for part in node.children:  # of which no object has one by itself
        part.kind = NODE_OTHER
    if kind is complex:
        node.kind = NODE_COMPLEX
    elif typenum == cnp.NPY_CDOUBLE or typenum == cnp.NPY_CFLOAT:
        node.kind = NODE_COMPLEXES
        node.shape_as(item)
    else:
        node.kind = NODE_OTHER
        taken.is_known = False
    return node


cdef SignatureNode node_of_parts(SignatureNode node, object item, Container container, tuple parts,
                                bint differentiable, Taken taken):
    cdef bint is_sequence = container.kind == SEQUENCE and not has_attributes(container.type)
    cdef CadRow row = CAD_NO_ROW
    node.kept = container.type
    node.names = container.names
    node.size = len(parts)
    if container.kind == SEQUENCE and not container.beside:
        row = cad_row_of(parts)
    if row == CAD_ROW_OF_NUMBERS or row == CAD_ROW_OF_FLOATS:
        node.is_input = True
        node.form = (container.type, node.size)
        if container.type is not list and container.type is not tuple:  # f may call its methods
            taken.statics.append(container.type)
        node.kind = NODE_ROW
        if row == CAD_ROW_OF_NUMBERS:
            node.kind = NODE_OTHER
            taken.is_known = False
        elif not is_sequence:
            node.kind = NODE_OPENED
            node.kept = key_of_container(container, [], None)
            node.children = nodes_of_floats(taken.numbers, node.size)
        taken.note(item, node.size)
        return node
    taken.others.append(container)
    if container.kind == FIELDS and container.beside:
        taken.has_attributes = True
    if row == CAD_ROW_OF_DOUBLES and is_sequence:
        node.kind = NODE_ROW
        node.is_of_doubles = True
        for number in parts:
            taken.note(float(number), 1)
        node.form = (
            key_of_container(container, [], taken.statics), (float,) * node.size
        )
        return node
    if is_sequence:
        node.kind = NODE_ITEMS
    elif container.kind == MAPPING:
        node.kind = NODE_DICT
    elif is_complete(container):
        node.kind = NODE_FIELDS
        node.has_only = not differentiable and has_attributes(container.type)
    else:
        node.kind = NODE_OPENED
        node.kept = key_of_container(container, [], None)
    cad_enter_container()
    try:
        node.children = tuple([node_of(part, differentiable, taken) for part in parts])
    finally:
        cad_leave_container()
    node.form = (
        key_of_container(container, [], taken.statics),
        tuple([(<SignatureNode>child).form for child in node.children]),
    )
    return node


cdef tuple nodes_of_floats(Py_ssize_t offset, Py_ssize_t n):
    """Those of n floats side by side, which have been noted."""
    cdef SignatureNode node
    cdef list nodes = []
    cdef Py_ssize_t k
    for k in range(n):
        node = SignatureNode.__new__(SignatureNode)
        node.kind = NODE_FLOAT
        node.offset = offset + k
        nodes.append(node)
    return tuple(nodes)


cdef bint has_attributes(kind) except -1:
    """Whether objects of a class may have any."""
    return kind is not list and kind is not tuple and kind.__dictoffset__ != 0


cdef int ask_for_no_more(tuple nodes) except -1:
    """Have dataclasses fit only if they have no attributes but their fields."""
    cdef SignatureNode node
    for node in nodes or ():
        if node.kind == NODE_FIELDS:
            node.has_only = has_attributes(node.kept)
        ask_for_no_more(node.children)
    return 0


cdef bint is_complete(Container container) except -1:
    """Whether it is a dataclass that has all its fields, and no other attribute."""
    return (
        container.kind == FIELDS
        and container.beside is None
        and len(container.names) == len(fields(container.type))
    )


cdef int refer(tuple nodes, CadReferred referred) except -1:
    """Have an array for its address alone, if there is one that is what a program refers to."""
    cdef SignatureNode node
    cdef int typenum = cnp.NPY_FLOAT32 if referred.floats >= 0 else cnp.NPY_DOUBLE
    for node in nodes or ():
        if (
            node.kind == NODE_ARRAY
            and node.typenum == typenum
            and node.offset == referred.place
            and node.size == <Py_ssize_t>referred.size
        ):
            node.pointer = referred.pointer
        refer(node.children, referred)
    return 0


cdef int forget_references(tuple nodes) except -1:
    cdef SignatureNode node
    for node in nodes or ():
        node.pointer = 0
        forget_references(node.children)
    return 0


cdef int cost_of(SignatureNode node):
    """What it costs to find that an argument does not fit: values at once, numbers once they are
    copied, keys once they are made."""
    if node.kind in (NODE_EQUAL, NODE_SAME, NODE_BYTES):
        return 0
    return 2 if node.kind == NODE_KEY else 1


cdef bint has_names(SignatureNode node) except -1:
    """Whether numbers in it are told apart by keys, which may come in any order."""
    return (node.kind in (NODE_DICT, NODE_OPENED) and node.size > 1) or any(
        [has_names(child) for child in node.children or ()]
    )

