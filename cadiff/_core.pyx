# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The compiled core: Var, Dual, the operations, and recordings of functions.

The types and the operations are written in C (_var.c, _dual.c, _apply.c). This room owns what
surrounds them: it lifts the arguments of a user's function onto the tape, sweeps over what was
recorded, and reads the results into fresh objects. It knows lifetimes, errors and slots, and no
formula.
"""

import copy
import sys

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_FromDouble
from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject, PyObject_Call
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.string cimport memcpy, memset

cnp.import_array()
cnp.import_umath()
cad_numbers_ready(sys.modules[__name__])

cdef object plain_value = globals()["plain_value"]

cdef enum:
    LANES = 8  # directions that a sweep carries at once


cdef inline int check(CadStatus status) except -1:
    return 0 if status == CAD_OK else cad_raise_status(status)


# --- the structure of arguments ----------------------------------------------------------------

cdef enum Shape:
    NUMBER     # a float
    ARRAY      # an ndarray
    ROW        # a list or tuple of nothing but plain numbers
    SEQUENCE   # a list or tuple
    MAPPING    # a dict


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class Node:
    """One level of an argument: what it is, and where its numbers stand among all."""

    cdef Shape shape
    cdef Py_ssize_t offset
    cdef Py_ssize_t size
    cdef object original  # an ARRAY: for shape and dtype; a container: for its type and keys
    cdef tuple children

    cdef object rebuild_container(self, list parts):
        if self.shape == MAPPING:
            return rebuild_mapping(self.original, parts)
        return rebuild_sequence(type(self.original), parts)

    cdef object from_doubles(self, const double *numbers):
        """The same structure, filled with plain numbers."""
        cdef Py_ssize_t i
        cdef cnp.ndarray array
        cdef cnp.npy_intp n
        if self.shape == NUMBER:
            return PyFloat_FromDouble(numbers[self.offset])
        if self.shape == ARRAY:
            array = <cnp.ndarray>self.original
            if cnp.PyArray_NDIM(array) == 0:
                return PyFloat_FromDouble(numbers[self.offset])
            result = cnp.PyArray_SimpleNew(
                cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE
            )
            memcpy(cnp.PyArray_DATA(result), numbers + self.offset, self.size * sizeof(double))
            return in_precision_of(result, array)
        if self.shape == ROW:
            parts = PyList_New(self.size)
            for i in range(self.size):
                number = PyFloat_FromDouble(numbers[self.offset + i])
                Py_INCREF(number)
                PyList_SET_ITEM(parts, i, number)
            return self.rebuild_container(parts)
        return self.rebuild_container(
            [(<Node>child).from_doubles(numbers) for child in self.children]
        )

    cdef object from_objects(self, list numbers):
        """The same structure, filled with numbers of any kind."""
        if self.shape == NUMBER:
            return numbers[self.offset]
        part = numbers[self.offset : self.offset + self.size]
        if self.shape == ARRAY:
            if cnp.PyArray_NDIM(self.original) == 0:
                return part[0]
            return in_precision_of(array_of(part, np.shape(self.original)), self.original)
        if self.shape == ROW:
            return self.rebuild_container(part)
        return self.rebuild_container(
            [(<Node>child).from_objects(numbers) for child in self.children]
        )

    cdef object lift(self, list numbers, object block, CadTape *tape, CadSlot base):
        """The same structure, filled with Vars (plain inputs) or with lifted numbers."""
        cdef Py_ssize_t i
        cdef CadSlot slot = base + <CadSlot>self.offset
        if block is None:
            if self.shape == ARRAY:
                return object_array(
                    numbers[self.offset : self.offset + self.size], np.shape(self.original)
                )
            if self.shape in (NUMBER, ROW):
                return self.from_objects(numbers)
        elif self.shape == NUMBER:
            return cad_var_new(tape, slot, tape.values[slot])
        elif self.shape == ARRAY:
            return cad_var_view(
                tape,
                slot,
                cnp.PyArray_NDIM(self.original),
                <const Py_ssize_t *>cnp.PyArray_DIMS(self.original),
                NULL,
                CAD_INPUT,
            )
        elif self.shape == ROW:
            parts = PyList_New(self.size)
            for i in range(self.size):
                number = cad_var_new(tape, slot + <CadSlot>i, tape.values[slot + i])
                Py_INCREF(number)
                PyList_SET_ITEM(parts, i, number)
            return self.rebuild_container(parts)
        return self.rebuild_container(
            [(<Node>child).lift(numbers, block, tape, base) for child in self.children]
        )

    cdef int note_blocks(self, CadTape *tape, CadSlot base) except -1:
        """Each array is a block of its own."""
        if self.shape == ARRAY:
            check(cad_tape_note_block(tape, base + self.offset, base + self.offset + self.size, 0))
        elif self.children is not None:
            for child in self.children:
                (<Node>child).note_blocks(tape, base)
        return 0

    cdef void leaf_shapes(self, list shapes) except *:
        cdef Py_ssize_t i
        if self.shape == NUMBER:
            shapes.append(())
        elif self.shape == ARRAY:
            shapes.append(np.shape(self.original))
        elif self.shape == ROW:
            shapes.extend([()] * self.size)
        else:
            for child in self.children:
                (<Node>child).leaf_shapes(shapes)

    cdef int match(self, Collector collector, object tree, object path) except -1:
        """Collect the numbers of another tree of this structure."""
        cdef Node other
        cdef Py_ssize_t i
        if self.shape == MAPPING:
            if not isinstance(tree, dict) or tree.keys() != self.original.keys():
                self.refuse(tree, path)
            for key, child in zip(self.original, self.children):
                (<Node>child).match(collector, tree[key], f"{path}[{key!r}]")
            return 0
        if self.shape == SEQUENCE:
            if not isinstance(tree, (list, tuple)) or len(tree) != len(self.children):
                self.refuse(tree, path)
            for i in range(len(self.children)):
                (<Node>self.children[i]).match(collector, tree[i], f"{path}[{i}]")
            return 0
        try:
            other = collector.add(tree)
        except _NotDifferentiable:
            refuse_leaf(tree, path)
        if self.shape == ROW:
            same = other.size == self.size and (
                other.shape == ROW or all([(<Node>c).shape == NUMBER for c in other.children or ()])
            )
            if not same or other.shape not in (ROW, SEQUENCE):
                self.refuse(tree, path)
        elif other.shape not in (NUMBER, ARRAY) or other.leaf_shape() != self.leaf_shape():
            self.refuse(tree, path)
        return 0

    cdef object leaf_shape(self):
        return np.shape(self.original) if self.shape == ARRAY else ()

    cdef object describe(self):
        """In words, for an error message."""
        if self.shape == NUMBER:
            return "a number, of shape ()"
        if self.shape == ARRAY:
            return f"an array of shape {np.shape(self.original)}"
        kind = type(self.original).__name__
        if self.shape == MAPPING:
            return f"a {kind} with the keys {list(self.original)}"
        return f"a {kind} of {len(self.original)}"

    cdef int refuse(self, object tree, object path) except -1:
        cdef Node other
        try:
            other = (<Collector>Collector.__new__(Collector)).add(tree)
        except _NotDifferentiable:
            refuse_leaf(tree, path)
        raise ValueError(
            f"{path} must have the structure of what it belongs to: expected {self.describe()}, "
            f"got {other.describe()}"
        )

    cdef object fill(self, object leaves):
        """The same structure, each leaf the next item of an iterator."""
        if self.shape == NUMBER:
            return next(leaves)
        if self.shape == ARRAY:
            leaf = next(leaves)
            return in_precision_of(leaf, self.original) if cnp.PyArray_Check(leaf) else leaf
        if self.shape == ROW:
            return self.rebuild_container([next(leaves) for _ in range(self.size)])
        return self.rebuild_container([(<Node>child).fill(leaves) for child in self.children])


cdef object rebuild_mapping(object original, list parts):
    """A dict of the same kind and keys with other values."""
    if type(original) is dict:
        return dict(zip(original, parts))
    result = copy.copy(original)
    for key, part in zip(original, parts):
        result[key] = part
    return result


cdef object rebuild_sequence(object kind, list parts):
    """A list, tuple, or namedtuple or other kind of them."""
    if kind is list:
        return parts
    if kind is tuple:
        return tuple(parts)
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


cdef object in_precision_of(object result, object original):
    """float32 input gives float32 gradients."""
    cdef int kind = cnp.PyArray_TYPE(original)
    if (kind == cnp.NPY_FLOAT32 or kind == cnp.NPY_FLOAT16) and result.dtype != object:
        return result.astype(original.dtype)
    return result


cdef object object_array(list numbers, tuple shape):
    result = np.empty(len(numbers), dtype=object)
    for i in range(len(numbers)):  # a slice assignment would look into the numbers
        result[i] = numbers[i]
    return result.reshape(shape)


cdef object array_of(list numbers, tuple shape):
    """An array of floats if the numbers are, else an array of objects."""
    for number in numbers:
        if type(number) is not float:
            return object_array(numbers, shape)
    return np.array(numbers, dtype=np.float64).reshape(shape)


class _NotDifferentiable(TypeError):
    """Carries the offending leaf out of the walk over the arguments."""


@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Collector:
    """Walks over arguments, takes them apart into nodes, and collects their numbers."""

    cdef double *values  # the numbers, as long as all are plain
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef list numbers    # the numbers, once one is not

    def __dealloc__(self):
        cad_memory_free(self.values)

    cdef int reserve(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t wanted
        cdef void *grown
        if self.count + more > self.capacity:
            wanted = max(self.count + more, 2 * self.capacity, 16)
            grown = cad_memory_resize(self.values, wanted, sizeof(double))
            if grown == NULL:
                raise MemoryError("cadiff: no memory left for the arguments")
            self.values = <double *>grown
            self.capacity = wanted
        return 0

    cdef list all_numbers(self):
        cdef Py_ssize_t i
        if self.numbers is not None:
            return self.numbers
        return [self.values[i] for i in range(self.count)]

    cdef int add_plain(self, double value) except -1:
        if self.numbers is not None:
            self.numbers.append(value)
            self.count += 1
            return 0
        self.reserve(1)
        self.values[self.count] = value
        self.count += 1
        return 0

    cdef int add_object(self, object number) except -1:
        if self.numbers is None:
            self.numbers = self.all_numbers()
        self.numbers.append(number)
        self.count += 1
        return 0

    cdef Node add(self, object argument):
        cad_enter_recursion(" while taking an argument apart")
        try:
            return self.add_checked(argument)
        finally:
            Py_LeaveRecursiveCall()

    cdef Node add_checked(self, object argument):
        cdef Node node = Node.__new__(Node)
        cdef double value
        cdef int kind
        node.offset = self.count
        node.original = argument
        if CAD_IS_FLOAT(argument):
            node.shape = NUMBER
            self.add_plain(PyFloat_AS_DOUBLE(argument))
        elif cnp.PyArray_Check(argument):
            node.shape = ARRAY
            self.add_array(argument)
        elif isinstance(argument, dict):
            node.shape = MAPPING
            node.children = tuple([self.add(item) for item in argument.values()])
        elif isinstance(argument, (list, tuple)):
            self.add_sequence(node, argument)
        elif isinstance(argument, (bool, np.bool_)):
            raise _NotDifferentiable(argument)
        else:
            kind = cad_classify(argument, &value)
            if kind == CAD_PLAIN:
                node.shape = NUMBER
                self.add_plain(value)
            elif kind == CAD_VAR_CLASS or kind == CAD_DUAL_CLASS:
                node.shape = NUMBER
                self.add_object(argument)
            elif kind == CAD_ARRAY_CLASS:
                node.shape = ARRAY
                node.original = cad_elements(argument)
                self.add_array(node.original)
            else:
                raise _NotDifferentiable(argument)
        node.size = self.count - node.offset
        return node

    cdef int add_sequence(self, Node node, object argument) except -1:
        """A row if all items are floats, which is most often so and needs no nodes of their own."""
        cdef Py_ssize_t i, n = len(argument)
        cdef PyObject *item
        cdef bint is_list = isinstance(argument, list)
        if self.numbers is None:
            self.reserve(n)
            for i in range(n):
                item = PyList_GET_ITEM(argument, i) if is_list else PyTuple_GET_ITEM(argument, i)
                if not CAD_IS_FLOAT(<object>item):
                    break
                self.values[self.count + i] = PyFloat_AS_DOUBLE(<object>item)
            else:
                node.shape = ROW
                self.count += n
                return 0
        node.shape = SEQUENCE
        node.children = tuple([self.add(item_) for item_ in argument])
        return 0

    cdef int add_array(self, object argument) except -1:
        cdef int kind = cnp.PyArray_TYPE(argument)
        cdef Py_ssize_t n = cnp.PyArray_SIZE(argument)
        if kind == cnp.NPY_OBJECT:
            for number in argument.flat:
                self.add_member(argument, number)
            return 0
        if not (cnp.PyTypeNum_ISINTEGER(kind) or cnp.PyTypeNum_ISFLOAT(kind)):
            raise _NotDifferentiable(argument)
        flat = argument
        if kind != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY_RO(argument):
            flat = cnp.PyArray_FROMANY(
                argument,
                cnp.NPY_DOUBLE,
                0,
                0,
                cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_FORCECAST,
            )
        if self.numbers is not None:
            self.numbers.extend(flat.ravel().tolist())
        elif n > 0:
            self.reserve(n)
            memcpy(self.values + self.count, cnp.PyArray_DATA(flat), n * sizeof(double))
        self.count += n
        return 0

    cdef int add_member(self, object array, object number) except -1:
        """An element of an object array."""
        cdef double value
        cdef int kind = CAD_FOREIGN
        if not isinstance(number, (bool, np.bool_)):
            kind = cad_classify(number, &value)
        if kind == CAD_PLAIN:
            return self.add_plain(value)
        if kind == CAD_VAR_CLASS or kind == CAD_DUAL_CLASS:
            return self.add_object(number)
        raise _NotDifferentiable(array)


def _where(argument, path):
    """The path to the first leaf that is no number, for an error message."""
    if isinstance(argument, dict):
        items = [(f"{path}[{key!r}]", item) for key, item in argument.items()]
    elif isinstance(argument, (list, tuple)):
        items = [(f"{path}[{i}]", item) for i, item in enumerate(argument)]
    else:
        try:
            (<Collector>Collector.__new__(Collector)).add(argument)
        except _NotDifferentiable:
            return path, argument
        return None
    for inner, item in items:
        found = _where(item, inner)
        if found is not None:
            return found
    return None


cdef int refuse_leaf(object tree, object path) except -1:
    """Raise TypeError for the first leaf of a tree that is no real number."""
    path, leaf = _where(tree, path)
    kind = f"ndarray of dtype {leaf.dtype}" if cnp.PyArray_Check(leaf) else type(leaf).__name__
    raise TypeError(
        f"{path} is no real number but a {kind}, which has no derivative: expected a float, an "
        "int, an ndarray of real numbers, or lists, tuples and dicts of them"
        + (
            "; pass other values by keyword, or choose the arguments to differentiate with argnums"
            if path.startswith("argument") else ""
        )
    ) from None


cdef int refuse_argument(tuple args, tuple argnums) except -1:
    for k in argnums:
        if _where(args[k], "") is not None:
            refuse_leaf(args[k], f"argument {k}")
    raise TypeError("an argument is no real number")


# --- results -----------------------------------------------------------------------------------

def scalar_output(out, *, name="grad"):
    """The one number that f returned: a float, Var or Dual; anything else raises TypeError."""
    cdef double value
    cdef int kind
    if CAD_IS_VAR(out) and CAD_VAR(out).kind == CAD_SCALAR:
        return out
    if isinstance(out, (bool, np.bool_)):
        raise TypeError(
            f"{name} wants a real number from f, not a bool: a comparison has no derivative; "
            "cadiff.where chooses between numbers"
        )
    kind = cad_classify(out, &value)
    if kind == CAD_PLAIN:
        return PyFloat_FromDouble(value)
    if kind == CAD_VAR_CLASS:
        if CAD_VAR(out).kind == CAD_STALE:
            cad_raise_stale()
        return out
    if kind == CAD_DUAL_CLASS:
        return out
    if kind == CAD_ARRAY_CLASS:
        elements = cad_elements(out)
        if elements.size == 1:
            return scalar_output(elements.item(), name=name)
        raise TypeError(
            f"{name} wants one number from f, not an array of shape {elements.shape}: use "
            "cadiff.jacobian for functions with several outputs, or return a sum"
        )
    if isinstance(out, (list, tuple, dict)):
        raise TypeError(
            f"{name} wants one number from f, not a {type(out).__name__}: use cadiff.jacobian for "
            "functions with several outputs, or has_aux=True to return something beside the number"
        )
    hint = "; is a return missing?" if out is None else ""
    raise TypeError(
        f"{name} wants a real number from f, not {type(out).__name__}{hint}"
    )


def map_numbers(tree, function):
    """A container with function(number) in place of its Vars and Duals; all else as it is.

    Object arrays are containers; an array Var or Dual becomes what its elements become.
    """
    cad_enter_recursion(" while going through a container")
    try:
        return map_checked(tree, function)
    finally:
        Py_LeaveRecursiveCall()


cdef object map_checked(object tree, object function):
    if CAD_IS_VAR_ARRAY(tree) or (CAD_IS_DUAL(tree) and CAD_DUAL(tree).kind == CAD_DUAL_ARRAY):
        tree = cad_elements(tree)
    if CAD_IS_VAR(tree) or CAD_IS_DUAL(tree):
        return function(tree)
    if cnp.PyArray_Check(tree):
        if tree.dtype != object:
            return tree
        return array_of([map_numbers(item, function) for item in tree.flat], np.shape(tree))
    if isinstance(tree, (list, tuple)):
        return rebuild_sequence(type(tree), [map_numbers(item, function) for item in tree])
    if isinstance(tree, dict):
        return rebuild_mapping(tree, [map_numbers(item, function) for item in tree.values()])
    return tree


def strip(tree):
    """A container with plain values in place of its Vars and Duals; all else as it is."""
    return map_numbers(tree, plain_value)


def vars_of(number):
    """The recorded numbers that a number is, or consists of: a list of Vars."""
    if CAD_IS_DUAL(number):
        primal, tangent = split_dual(number, CAD_DUAL(number).tag)
        parts = (primal, *tangent) if isinstance(tangent, tuple) else (primal, tangent)
        return [var for part in parts for var in vars_of(part)]
    return [number] if CAD_IS_SCALAR(number) else []


cdef bint on_tape(object number, CadTape *tape, CadSlot base):
    """Whether a number was recorded on the tape since `base`."""
    return (
        CAD_IS_VAR(number)
        and CAD_VAR(number).kind == CAD_SCALAR
        and CAD_VAR(number).tape == tape
        and CAD_VAR(number).slot >= base
    )


# --- recordings --------------------------------------------------------------------------------

@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Recording:
    """One run of a function on Vars, and the sweeps over it.

    Use: make it with the arguments, call the function on `.lifted`, ask for derivatives of what it
    returned, and close it. Closing forgets what was recorded, unless an outer differentiation (or
    a pullback, `close(keep=True)`) still needs it.
    """

    cdef CadTape *tape
    cdef bint marked
    cdef bint kept       # results refer to the recording
    cdef object block    # a Var over all inputs, if they are plain numbers; else None
    cdef list inputs     # else: the innermost Var of each input, in order
    cdef tuple nodes
    cdef readonly tuple lifted
    cdef readonly Py_ssize_t n

    def __cinit__(self, tuple args, tuple argnums):
        self.tape = cad_current_tape()
        check(cad_tape_mark(self.tape))
        self.marked = True
        # Making containers may run the garbage collector, and that any user's finalizer: slots
        # that are held in C must not move meanwhile. The same holds wherever `pinned` stands.
        self.tape.pinned += 1
        try:
            self.lift(args, argnums)
        except BaseException:
            self.lifted = self.block = self.inputs = None
            self.close()
            raise
        finally:
            self.tape.pinned -= 1

    def __dealloc__(self):
        if self.marked:
            cad_tape_keep(self.tape)

    cdef int lift(self, tuple args, tuple argnums) except -1:
        cdef Collector collector = Collector.__new__(Collector)
        cdef CadSlot base = 0
        cdef Py_ssize_t size
        check_argnums(args, argnums)
        nodes = []
        try:
            for k in argnums:
                nodes.append(collector.add(args[k]))
        except _NotDifferentiable:
            refuse_argument(args, argnums)
        self.nodes = tuple(nodes)
        self.n = collector.count
        if collector.numbers is None:
            check(cad_tape_leaf(self.tape, collector.values, collector.count, False, &base))
            for node in nodes:
                (<Node>node).note_blocks(self.tape, base)
            size = collector.count
            self.block = cad_var_view(self.tape, base, 1, &size, NULL, CAD_INPUT)
            numbers = None
        else:
            self.inputs = []
            numbers = [self.lift_number(number) for number in collector.numbers]
        lifted = list(args)
        for k, node in zip(argnums, nodes):
            lifted[k] = (<Node>node).lift(numbers, self.block, self.tape, base)
        self.lifted = tuple(lifted)
        return 0

    cdef object lift_number(self, object number):
        """A number with a Var of this recording in place of its innermost value."""
        cdef CadSlot slot
        cdef double value
        if CAD_IS_DUAL(number):
            inner = self.lift_number(cad_dual_primal(CAD_DUAL(number)))
            tangent = cad_dual_tangent(CAD_DUAL(number))
            if cnp.PyArray_Check(tangent):
                tangent = tuple(tangent.tolist())
            return cad_dual_from(inner, tangent, CAD_DUAL(number).tag)
        value = cad_primal(number)
        if CAD_IS_VAR(number) and CAD_VAR(number).kind == CAD_STALE:
            cad_raise_stale()
        if CAD_IS_VAR(number) and CAD_VAR(number).kind == CAD_SCALAR:
            if CAD_VAR(number).tape != self.tape:
                raise RuntimeError(
                    "a Var of another thread was passed to a gradient function: pass "
                    "cadiff.value(v) between threads"
                )
            check(cad_tape_ensure(self.tape))
            slot = CAD_VAR(number).slot
            slot = cad_tape_push(
                self.tape, CAD_CODE(CAD_OP_positive, 0), slot, slot, value
            )
        else:
            check(cad_tape_leaf(self.tape, &value, 1, False, &slot))
        var = cad_var_new(self.tape, slot, value)
        self.inputs.append(var)
        return var

    cdef int check_alive(self) except -1:
        """Raise StaleVarError if an outer gradient call, now over, took the recording along."""
        if self.n > 0:
            var = self.block if self.block is not None else self.inputs[0]
            if CAD_VAR(var).kind == CAD_STALE:
                cad_raise_stale()
        return 0

    cdef CadSlot base(self):
        """The lowest slot of the recording."""
        if self.block is not None:
            return CAD_VAR(self.block).slot
        return CAD_VAR(self.inputs[0]).slot

    cdef size_t begin(self):
        """The first entry of the recording."""
        return cad_tape_find(self.tape, self.base())

    cdef bint is_closed(self, list numbers):
        """Whether these numbers depend on no variable outside, so that results are plain."""
        cdef CadSlot base
        if self.n == 0:
            return True
        base = self.base()
        if base == 0:
            return True
        return not cad_tape_reads_below(self.tape, self.begin(), self.end(numbers), base)

    cdef size_t end(self, list numbers):
        """Past the last entry that these numbers depend on."""
        cdef CadSlot base = self.base()
        # At least all inputs, each of which is an entry unless one leaf holds them all.
        cdef size_t index, last = self.begin() + (1 if self.block is not None else self.n)
        if self.tape.n_assigned > 0:  # what a number depends on may have been written behind it
            return self.tape.n_entries
        for number in numbers:
            if on_tape(number, self.tape, base):
                index = cad_tape_find(self.tape, CAD_VAR(number).slot)
                last = max(last, index + 1)
        return last

    cdef size_t slots(self, size_t end):
        """How many slots the entries up to `end` use."""
        if end == self.tape.n_entries:
            return self.tape.n_slots - self.base()
        return self.tape.entries[end].out - self.base()

    def settle(self, tree):
        """What f returned beside its result: plain values if it depends on nothing but the lifted
        arguments, else as it is, and what was recorded is kept."""
        numbers = []
        map_numbers(tree, lambda number: numbers.extend(vars_of(number)))
        if self.is_closed(numbers):
            return map_numbers(tree, self.outlives)
        self.kept = True
        return tree

    def outlives(self, number):
        """A number as it may leave a recording that is about to be forgotten: its value, unless
        it belongs to an outer computation."""
        if CAD_IS_DUAL(number):
            tag = CAD_DUAL(number).tag
            primal, tangent = split_dual(number, tag)
            if isinstance(tangent, tuple):
                tangent = tuple([self.outlives(lane) for lane in tangent])
            else:
                tangent = self.outlives(tangent)
            return cad_dual_from(self.outlives(primal), tangent, tag)
        if on_tape(number, self.tape, <CadSlot>self.tape.mark_slots):
            return PyFloat_FromDouble(CAD_VAR(number).value)
        return number

    cpdef close(self, bint keep=False):
        """End the recording; with `keep`, what was recorded lives as long as its Vars."""
        if self.marked:
            self.marked = False
            self.lifted = None
            if keep or self.kept:
                cad_tape_keep(self.tape)
            else:
                self.block = self.inputs = None
                cad_rewind(self.tape)

    # --- first order

    cdef size_t seed(self, list numbers, const double *seeds) except? 0:
        """Seed the adjoints of numbers of this recording; answers where the sweep begins."""
        cdef CadSlot slot, base = self.base()
        cdef Py_ssize_t i
        cdef size_t end = self.end(numbers)
        check(cad_tape_clear_adjoints(self.tape, base, base + self.slots(end)))
        for i in range(len(numbers)):
            if on_tape(numbers[i], self.tape, base):
                slot = CAD_VAR(numbers[i]).slot
                cad_tape_prepare_adjoints(self.tape, slot, slot)
                self.tape.adjoints[slot] += seeds[i]
        return end

    cdef int pull_doubles(self, list numbers, const double *seeds) except -1:
        """Leave the cotangents of all inputs in the adjoints."""
        cdef size_t end
        if self.n > 0:
            end = self.seed(numbers, seeds)
            cad_sweep(self.tape, self.begin(), end, False)
        return 0

    cdef list pull_recorded(self, list numbers, list seeds, bint linear=False):
        """The cotangents of all inputs, as numbers that can be differentiated again.

        Seeds are floats or Vars. With `linear`, what was recorded counts as constant.
        """
        cdef CadSlot base, slot
        cdef size_t i, begin, end, n_slots
        cdef Py_ssize_t k
        cdef CadNumber *adjoints
        if self.n == 0:
            return []
        base = self.base()
        begin = self.begin()
        end = self.end(numbers)
        n_slots = self.slots(end)
        adjoints = <CadNumber *>cad_memory_resize(NULL, n_slots, sizeof(CadNumber))
        if adjoints == NULL:
            check(CAD_NO_MEMORY)
        self.tape.pinned += 1
        try:
            for i in range(n_slots):
                adjoints[i].value = 0.0
                adjoints[i].slot = CAD_NONE
            for k in range(len(numbers)):
                if on_tape(numbers[k], self.tape, base):
                    self.seed_recorded(&adjoints[CAD_VAR(numbers[k]).slot - base], seeds[k])
            check(cad_sweep_record(self.tape, begin, end, base, linear, adjoints))
            self.kept = True
            result = []
            for k in range(self.n):
                if self.block is not None:
                    slot = <CadSlot>k
                else:
                    slot = CAD_VAR(self.inputs[k]).slot - base
                if adjoints[slot].slot == CAD_NONE:
                    result.append(PyFloat_FromDouble(adjoints[slot].value))
                else:
                    result.append(
                        cad_var_new(self.tape, adjoints[slot].slot, adjoints[slot].value)
                    )
            return result
        finally:
            self.tape.pinned -= 1
            cad_memory_free(adjoints)

    cdef int seed_recorded(self, CadNumber *adjoint, object seed) except -1:
        """Add a seed to an adjoint of a recorded sweep: one output may stand in several places."""
        if adjoint.slot != CAD_NONE or adjoint.value != 0.0:
            here = adjoint.value
            if adjoint.slot != CAD_NONE:
                here = cad_var_new(self.tape, adjoint.slot, adjoint.value)
            seed = cad_apply2(CAD_OP_add, here, seed)
        if CAD_IS_SCALAR(seed) and CAD_VAR(seed).tape != self.tape:
            raise RuntimeError("the cotangent is a Var of another thread: pass cadiff.value(v)")
        adjoint.value = cad_primal(seed)
        adjoint.slot = CAD_VAR(seed).slot if CAD_IS_SCALAR(seed) else CAD_NONE
        return 0

    cdef list pull_linear(self, list numbers, list seeds):
        """The cotangents of all inputs for seeds of any kind, of a closed recording: J is constant,
        so components of Duals are pulled one by one."""
        cdef double[::1] weights
        tag = max([<object>CAD_DUAL(x).tag for x in seeds if CAD_IS_DUAL(x)], default=0)
        if tag > 0:
            primals, tangents = zip(*[split_dual(seed, tag) for seed in seeds])
            lanes = max([len(t) for t in tangents if isinstance(t, tuple)], default=-1)
            if lanes < 0:
                parts = self.pull_linear(numbers, list(tangents))
            else:
                rows = [t if isinstance(t, tuple) else (t,) * lanes for t in tangents]
                columns = [self.pull_linear(numbers, list(column)) for column in zip(*rows)]
                parts = list(zip(*columns)) if lanes else [()] * self.n
            of_primals = self.pull_linear(numbers, list(primals))
            return [make_dual(p, t, tag) for p, t in zip(of_primals, parts)]
        for seed in seeds:
            if type(seed) is not float:
                return self.pull_recorded(numbers, seeds, True)
        weights = np.array(seeds, dtype=np.float64)
        self.pull_doubles(numbers, &weights[0])
        return self.read_adjoints(True).tolist()

    cdef list pull_objects(self, list numbers, list seeds):
        """The cotangents of all inputs for seeds that are floats, of numbers that may be Duals over
        this recording: a Dual's cotangents are the Duals of the cotangents of its components,
        since derivatives commute."""
        tag = max([<object>CAD_DUAL(x).tag for x in numbers if CAD_IS_DUAL(x)], default=0)
        if tag == 0:
            if self.is_closed(numbers):
                return self.pull_linear(numbers, seeds)
            return self.pull_recorded(numbers, seeds)
        primals, tangents = zip(*[split_dual(number, tag) for number in numbers])
        of_primals = self.pull_objects(list(primals), seeds)
        lanes = max([len(t) for t in tangents if isinstance(t, tuple)], default=-1)
        if lanes < 0:
            parts = self.pull_objects(list(tangents), seeds)
        else:
            rows = [t if isinstance(t, tuple) else (t,) * lanes for t in tangents]
            columns = [self.pull_objects(list(column), seeds) for column in zip(*rows)]
            parts = list(zip(*columns)) if lanes else [()] * self.n
        return [make_dual(p, t, tag) for p, t in zip(of_primals, parts)]

    cdef bint plain_results(self, list numbers):
        """Whether derivatives of these numbers are plain floats."""
        for number in numbers:
            if CAD_IS_DUAL(number):
                return False
        return self.is_closed(numbers)

    cpdef tuple pull(self, list numbers, list seeds):
        """Cotangents of the lifted arguments for cotangents of output numbers, of any kind."""
        cdef bint floats = True
        self.check_alive()
        for seed in seeds:
            floats = floats and type(seed) is float
        if len(numbers) == 0:
            cotangents = [0.0] * self.n
        elif self.plain_results(numbers):
            if floats and self.block is not None:
                return self.pull_plain(numbers, seeds)
            cotangents = self.pull_linear(numbers, seeds)
        elif floats:
            cotangents = self.pull_objects(numbers, seeds)
        else:
            # J depends on outer variables as the seeds do: pull the weighted sum.
            total = 0.0
            for number, seed in zip(numbers, seeds):
                total = cad_apply2(CAD_OP_add, total, cad_apply2(CAD_OP_multiply, number, seed))
            cotangents = self.pull_objects([total], [1.0])
        return tuple([(<Node>node).from_objects(cotangents) for node in self.nodes])

    cdef tuple pull_plain(self, list numbers, list seeds):
        cdef double[::1] weights = np.array(seeds, dtype=np.float64)
        self.pull_doubles(numbers, &weights[0])
        return self.rebuild(self.read_adjoints(True))

    cdef tuple rebuild(self, cnp.ndarray flat):
        """The structure of the arguments, filled with plain numbers."""
        return tuple(
            [(<Node>node).from_doubles(<double *>cnp.PyArray_DATA(flat)) for node in self.nodes]
        )

    cdef cnp.ndarray read_adjoints(self, bint swept):
        cdef cnp.npy_intp n = self.n
        cdef cnp.ndarray flat = cnp.PyArray_ZEROS(1, &n, cnp.NPY_DOUBLE, 0)
        cdef double *data = <double *>cnp.PyArray_DATA(flat)
        if not swept or self.n == 0:
            return flat
        self.adjoints_into(data)
        return flat

    cdef void adjoints_into(self, double *data):
        """Of all inputs."""
        cdef CadSlot slot
        cdef Py_ssize_t i
        if self.block is not None:
            slot = CAD_VAR(self.block).slot
            cad_tape_read_adjoints(self.tape, slot, slot + self.n, data)
        else:
            for i in range(self.n):
                slot = CAD_VAR(self.inputs[i]).slot
                cad_tape_read_adjoints(self.tape, slot, slot + 1, data + i)

    cdef object gradient(self, object number):
        """The gradient of one number, as a tuple with one entry for each argnum."""
        cdef double one = 1.0
        if CAD_IS_DUAL(number) or not self.is_closed([number]):
            cotangents = self.pull_objects([number], [1.0])
            return tuple([(<Node>node).from_objects(cotangents) for node in self.nodes])
        self.pull_doubles([number], &one)
        return self.rebuild(self.read_adjoints(True))

    # --- matrices, over plain results only

    cpdef bint is_plain(self, list numbers):
        """Whether the methods below can serve."""
        return self.plain_results(numbers) and self.block is not None

    cpdef cnp.ndarray rows(self, list numbers):
        """The Jacobian (m, n) of numbers, one reverse sweep a row."""
        cdef Py_ssize_t i, m = len(numbers)
        cdef double one = 1.0
        cdef cnp.ndarray matrix = np.zeros((m, self.n))
        cdef double *data = <double *>cnp.PyArray_DATA(matrix)
        for i in range(m):
            if self.n > 0:
                self.pull_doubles([numbers[i]], &one)
                self.adjoints_into(data + i * self.n)
        return matrix

    cpdef cnp.ndarray columns(self, list numbers):
        """The Jacobian (m, n) of numbers, some columns a tangent sweep."""
        cdef Py_ssize_t i, k, first, lanes, m = len(numbers)
        cdef cnp.ndarray matrix = np.zeros((m, self.n))
        cdef double *data = <double *>cnp.PyArray_DATA(matrix)
        cdef double *tangents = NULL
        cdef CadSlot base
        cdef size_t end
        if self.n == 0:
            return matrix
        base = self.base()
        end = self.end(numbers)
        try:
            for first in range(0, self.n, LANES):
                lanes = min(LANES, self.n - first)
                tangents = self.sweep_identity(tangents, first, lanes, end)
                for i in range(m):
                    if on_tape(numbers[i], self.tape, base):
                        for k in range(lanes):
                            data[i * self.n + first + k] = tangents[
                                (CAD_VAR(numbers[i]).slot - base) * lanes + k
                            ]
        finally:
            cad_memory_free(tangents)
        return matrix

    cdef double *sweep_identity(self, double *tangents, Py_ssize_t first, Py_ssize_t lanes,
                                size_t end) except NULL:
        """Tangents of all slots along the unit vectors first, first + 1, ..."""
        cdef Py_ssize_t k
        cdef CadSlot base = self.base()
        cdef size_t n_slots = self.slots(end)
        if tangents == NULL:
            tangents = <double *>cad_memory_zeroed(n_slots * lanes, sizeof(double))
            if tangents == NULL:
                check(CAD_NO_MEMORY)
        else:
            memset(tangents, 0, n_slots * lanes * sizeof(double))
        for k in range(lanes):
            tangents[(first + k) * lanes + k] = 1.0
        cad_sweep_tangent(self.tape, self.begin(), end, base, lanes, tangents)
        return tangents

    cdef int second(self, object number, const double *tangents, Py_ssize_t lanes,
                    double *result) except -1:
        """Hessian times directions: result[i * lanes + k], i over the inputs."""
        cdef CadSlot base = self.base()
        cdef double one = 1.0
        cdef size_t end = self.seed([number], &one)
        cdef double *adjoint_tangents = <double *>cad_memory_zeroed(
            self.slots(end) * lanes, sizeof(double)
        )
        if adjoint_tangents == NULL:
            check(CAD_NO_MEMORY)
        cad_sweep_second(
            self.tape,
            self.begin(),
            end,
            base,
            lanes,
            tangents,
            adjoint_tangents,
        )
        memcpy(result, adjoint_tangents, self.n * lanes * sizeof(double))
        cad_memory_free(adjoint_tangents)
        return 0

    cpdef cnp.ndarray hessian(self, object number):
        """The Hessian (n, n) of one number, some columns a second-order sweep."""
        cdef Py_ssize_t i, k, first, lanes
        cdef cnp.ndarray matrix = np.zeros((self.n, self.n))
        cdef cnp.ndarray part = np.zeros(self.n * LANES)
        cdef double *data = <double *>cnp.PyArray_DATA(matrix)
        cdef double *block = <double *>cnp.PyArray_DATA(part)
        cdef double *tangents = NULL
        cdef size_t end
        if self.n == 0:
            return matrix
        end = self.end([number])
        try:
            for first in range(0, self.n, LANES):
                lanes = min(LANES, self.n - first)
                tangents = self.sweep_identity(tangents, first, lanes, end)
                self.second(number, tangents, lanes, block)
                for i in range(self.n):
                    for k in range(lanes):
                        data[i * self.n + first + k] = block[i * lanes + k]
        finally:
            cad_memory_free(tangents)
        return matrix

    cpdef cnp.ndarray hessian_product(self, object number, direction):
        """The Hessian of one number times a direction (n,)."""
        cdef double[::1] v = np.ascontiguousarray(direction, dtype=np.float64)
        cdef cnp.ndarray result = np.zeros(self.n)
        cdef double *tangents
        cdef CadSlot base
        cdef size_t end
        if self.n == 0:
            return result
        base = self.base()
        end = self.end([number])
        tangents = <double *>cad_memory_zeroed(self.slots(end), sizeof(double))
        if tangents == NULL:
            check(CAD_NO_MEMORY)
        try:
            memcpy(tangents, &v[0], self.n * sizeof(double))
            cad_sweep_tangent(self.tape, self.begin(), end, base, 1, tangents)
            self.second(number, tangents, 1, <double *>cnp.PyArray_DATA(result))
        finally:
            cad_memory_free(tangents)
        return result

    cpdef list pull_flat(self, object number):
        """The gradient of one number as a flat list of numbers of any kind."""
        return self.pull_objects([number], [1.0])

    @property
    def structure(self):
        """The structure of the lifted arguments."""
        return Structure(self.nodes)


@cython.final
cdef class Structure:
    """The containers of some arguments: how many numbers of which shape stand where in them."""

    cdef tuple nodes

    def __init__(self, tuple nodes):
        self.nodes = nodes

    def leaf_shapes(self):
        """For each argument, the list of the shapes of its leaves; () is a number."""
        result = []
        for node in self.nodes:
            shapes = []
            (<Node>node).leaf_shapes(shapes)
            result.append(shapes)
        return result

    def fill(self, Py_ssize_t k, leaves):
        """The k-th argument's structure with other leaves; arrays in the argument's precision."""
        return (<Node>self.nodes[k]).fill(iter(leaves))

    def rebuild(self, Py_ssize_t k, list numbers):
        """The k-th argument's structure with other numbers, taken from the list of all."""
        return (<Node>self.nodes[k]).from_objects(numbers)

    def match(self, tuple trees, names):
        """The numbers of other trees of this structure, in its order.

        Another structure raises ValueError, something that is no number TypeError; both call the
        trees by their names.
        """
        cdef Collector collector = Collector.__new__(Collector)
        for node, tree, name in zip(self.nodes, trees, names):
            (<Node>node).match(collector, tree, name)
        return collector.all_numbers()


def take_apart(tuple args, tuple argnums):
    """The numbers of some arguments, in order, and the structure that they were in."""
    cdef Collector collector = Collector.__new__(Collector)
    check_argnums(args, argnums)
    nodes = []
    try:
        for k in argnums:
            nodes.append(collector.add(args[k]))
    except _NotDifferentiable:
        refuse_argument(args, argnums)
    return collector.all_numbers(), Structure(tuple(nodes))


cdef int check_argnums(tuple args, tuple argnums) except -1:
    for k in argnums:
        if not -len(args) <= k < len(args):
            raise TypeError(
                f"argnums names argument {k}, but the function was called with {len(args)} "
                "positional arguments; arguments passed by keyword are not differentiated"
            )
    if len({k % len(args) for k in argnums}) != len(argnums):
        raise ValueError(
            f"argnums {argnums} name an argument twice: the function was called with {len(args)} "
            "positional arguments"
        )
    return 0


def value_and_grad(f, tuple argnums, bint single, bint has_aux, tuple args, dict kwargs, name):
    """Run f once, sweep once: (value, gradient, aux); aux is None without has_aux.

    `name` is what the user called, for error messages.
    """
    cdef Recording recording = Recording.__new__(Recording, args, argnums)
    aux = None
    try:
        out = PyObject_Call(f, recording.lifted, kwargs)
        if has_aux:
            out, aux = split_aux(out)
        number = out if CAD_IS_SCALAR(out) else scalar_output(out, name=name)
        gradient = recording.gradient(number)
        if not recording.kept:
            number = recording.outlives(number)
        if has_aux:
            aux = recording.settle(aux)
        return number, (<tuple>gradient)[0] if single else gradient, aux
    finally:
        out = None  # numbers that are alive when the tape is rewound have to be found
        recording.close()


def split_aux(out):
    """The two things that f returns with has_aux=True."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            "with has_aux=True, f returns a pair (out, aux), not "
            + (f"a tuple of {len(out)}" if isinstance(out, tuple) else type(out).__name__)
        )
    return out


# --- forward mode ------------------------------------------------------------------------------

def begin_forward():
    """Begin a forward differentiation: the tag of its Duals, and that of the one around it.

    While it runs, Duals made by hand are given higher tags: to them its variables are constants.
    """
    cdef CadTape *tape = cad_current_tape()
    cdef uint64_t around = tape.running_tag
    tape.running_tag = cad_fresh_tag()
    return tape.running_tag, around


def end_forward(around):
    """End it, given the tag of the one around it."""
    cad_current_tape().running_tag = <uint64_t>around


def make_dual(primal, tangent, tag):
    """A Dual of the given tag. The tangent of a scalar: a number, or a tuple of lanes."""
    return cad_dual_from(primal, tangent, tag)


def split_dual(number, tag):
    """Primal and tangent of the given perturbation: (number, 0.0) if it is not in the number.

    Lanes come as a tuple, or for an array as its last axis. A Dual of a higher tag, made by hand
    or kept from an inner differentiation, is split component by component.
    """
    if not CAD_IS_DUAL(number) or CAD_DUAL(number).tag < <CadTag>tag:
        return number, 0.0
    outer = CAD_DUAL(number).tag
    primal = cad_dual_primal(CAD_DUAL(number))
    tangent = cad_dual_tangent(CAD_DUAL(number))
    if CAD_DUAL(number).kind != CAD_DUAL_ARRAY and cnp.PyArray_Check(tangent):
        tangent = tuple(tangent.tolist())
    if outer == <CadTag>tag:
        return primal, tangent
    if CAD_DUAL(number).kind == CAD_DUAL_ARRAY:  # of floats: nothing else can be in it
        return number, 0.0
    of_primal = split_dual(primal, tag)
    if isinstance(tangent, tuple):
        of_tangent = list(zip(*[split_lanes(lane, tag) for lane in tangent])) or [(), ()]
    else:
        of_tangent = split_lanes(tangent, tag)
    return tuple([make_dual(p, t, outer) for p, t in zip(of_primal, of_tangent)])


def split_lanes(number, tag):
    """As split_dual, for a component that is itself a tangent: it has a single lane."""
    primal, tangent = split_dual(number, tag)
    if isinstance(tangent, tuple):
        raise TypeError(
            "a Dual that was made by hand, or kept from an inner derivative, cannot be the result "
            "of a derivative along several directions"
        )
    return primal, tangent


def stop_gradient(x):
    """The number without its derivative.

    A number stays a number: a Var gives a Var, a Dual a Dual of tangent 0. An array Var gives its
    values; lists, tuples, dicts and object arrays the same with values in place of numbers.
    """
    if CAD_IS_VAR(x):
        if CAD_VAR(x).kind == CAD_ARRAY:
            return plain_value(x)
        return cad_var_passive(CAD_VAR(x).value)
    if CAD_IS_DUAL(x):
        tangent = cad_dual_tangent(CAD_DUAL(x))
        zero = np.zeros(np.shape(tangent)) if cnp.PyArray_Check(tangent) else 0.0
        if cnp.PyArray_Check(zero) and CAD_DUAL(x).kind != CAD_DUAL_ARRAY:
            zero = tuple(zero.tolist())
        return cad_dual_from(plain_value(x), zero, CAD_DUAL(x).tag)
    return strip(x)


def elements(x):
    """An object array of the scalar numbers of an array Var or Dual; else numpy.asarray(x)."""
    return cad_elements(x)


# --- looking inside ------------------------------------------------------------------------------

def operations():
    """The rows of the table: (name, arity, ufunc) of each public operation."""
    rows = []
    for op in range(<int>CAD_OP_THIRD + 1, <int>CAD_OP_COUNT):
        name = cad_op_info[op].name.decode()
        if not name.startswith("_"):
            rows.append((name, cad_op_info[op].arity, cad_op_info[op].ufunc.decode()))
    return rows


def functions():
    """The functions of the table by name, aliases included."""
    module = sys.modules[__name__]
    names = [name for name, _, _ in operations()] + [alias for alias, _ in aliases()]
    return {name: getattr(module, name) for name in names}


def aliases():
    """Pairs (alias, name) of operations known under two names."""
    cdef int i = 0
    pairs = []
    while cad_op_aliases[i][0] != NULL:
        pairs.append((cad_op_aliases[i][0].decode(), cad_op_aliases[i][1].decode()))
        i += 1
    return pairs


def tape_usage():
    """What this thread's tape holds: entries, numbers, bytes in use, and open recordings."""
    cdef CadTape *tape = cad_current_tape()
    return {
        "entries": tape.n_entries,
        "numbers": tape.n_slots,
        "nbytes": cad_tape_bytes(tape),
        "recordings": tape.n_marks,
    }


def _fail_allocations_after(long successes):
    """Let the core's next requests for memory pass, and all later ones fail; -1 ends it."""
    cad_memory_fail_after(successes)
