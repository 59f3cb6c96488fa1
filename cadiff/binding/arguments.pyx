"""Arguments of users' functions: taken apart into atoms, and put together again.

Containers surround the atoms. As long as all atoms are plain, their numbers stand side by side in
one buffer. This module does not know what is done with them.
"""

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_python cimport list_of_floats
from .generated.tape cimport *
from .tape cimport empty_like
from .complexes cimport is_complex
from .trees cimport Container, opened, opened_complex, PAIR, SEQUENCE

from .atoms import gather_numbers
from .callers import seam_of


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class ArgumentNode:
    """One level of an argument: what it is, and where its atoms and numbers stand among all."""

    cdef Shape shape
    cdef Py_ssize_t offset   # of its first number
    cdef Py_ssize_t size     # how many numbers
    cdef Py_ssize_t atom     # its first atom
    cdef Py_ssize_t packed   # where its numbers stand in the collector; those of an ARRAY are in:
    cdef object flat         # float64, C-contiguous
    cdef object original     # an ARRAY, for its shape and dtype
    cdef Container container
    cdef object adjoints     # while results are read
    cdef bint borrowed       # an ARRAY whose values are read where they are, and
    cdef uint64_t fingerprint  # what they were
    cdef tuple children
    cdef bint has_complex    # whether there is a complex number in it
    cdef bint is_single      # a NUMBER or an ARRAY of float32

    # --- of those that are in no container of others

    cdef int lend(self, CadTape *tape, CadSlot base) except -1:
        """Have the adjoints of a large array written straight into its result."""
        cdef size_t slot = base + self.offset
        cdef int kind
        if self.shape != ARRAY or self.size < CAD_LARGE_BLOCK:
            return 0
        kind = cnp.PyArray_TYPE(self.original)
        if kind == cnp.NPY_DOUBLE:
            self.adjoints = empty_like(self.original)
            cad_tape_lend(tape, slot, slot + self.size, cnp.doubles(self.adjoints))
        elif kind == cnp.NPY_FLOAT32:
            self.adjoints = cnp.PyArray_SimpleNew(
                cnp.PyArray_NDIM(self.original), cnp.PyArray_DIMS(self.original), kind
            )
            cad_tape_lend_floats(tape, slot, slot + self.size, floats(self.adjoints))
        return 0

    cdef void take_back(self, CadTape *tape, CadSlot base):
        cdef size_t slot = base + self.offset
        if self.shape == ARRAY and self.size >= CAD_LARGE_BLOCK:
            cad_tape_lend(tape, slot, slot + self.size, NULL)

    cdef int read_adjoints(self, CadTape *tape, CadSlot base) except -1:
        """Read the adjoints, of a row as a vector: to make containers may run a user's code."""
        cdef double number = 0.0
        cdef cnp.npy_intp size = self.size
        cdef size_t slot = base + self.offset
        if self.is_array():
            # An empty array has no slot of its own, but that of the next one.
            if self.size > 0 and cad_tape_is_lent(tape, <CadSlot>slot):
                if cad_tape_is_untouched(tape, <CadSlot>slot):
                    self.adjoints.fill(0.0)
                return 0
            self.adjoints = empty_like(self.original)
        elif self.shape == NUMBER:
            cad_tape_read_adjoints(tape, slot, slot + 1, &number)
            self.adjoints = PyFloat_FromDouble(number)
            return 0
        else:
            self.adjoints = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_DOUBLE)
        cad_tape_read_adjoints(tape, slot, slot + size, cnp.doubles(self.adjoints))
        return 0

    cdef int check_unchanged(self) except -1:
        """Raise RuntimeError if an array that is read where it is was written to."""
        if self.borrowed:
            if fingerprint(self.flat) != self.fingerprint:
                raise RuntimeError(
                    f"an array of shape {self.original.shape} was written to while the gradient "
                    "at it was computed: call with a copy of it, x.copy()"
                )
        return 0

    # --- of all

    cdef bint is_array(self):
        return self.shape == ARRAY and cnp.PyArray_NDIM(self.original) > 0

    cdef object from_read(self):
        """This node's part of the argument, filled with the adjoints that were read."""
        cdef ArgumentNode child
        adjoints, self.adjoints = self.adjoints, None
        if self.shape == NUMBER:
            return cad_narrowed(adjoints) if self.is_single else adjoints
        if self.children is not None:
            if self.container.kind == PAIR:  # a gradient is df/dx - i df/dy
                child = self.children[1]
                child.adjoints = 0.0 - child.adjoints
            return self.container.make([child.from_read() for child in self.children])
        if self.is_array():
            return in_precision_of(adjoints, self.original)
        return self.from_doubles(cnp.doubles(adjoints) - self.offset)

    cdef object from_doubles(self, const double *numbers):
        """A single number, or a row of them."""
        if self.shape != ROW:
            number = PyFloat_FromDouble(numbers[self.offset])
            return cad_narrowed(number) if self.is_single else number
        parts = list_of_floats(numbers + self.offset, self.size)
        return parts if self.container.type is list else self.container.make(parts)

    cdef object from_atoms(self, list atoms):
        """This node's part of the argument, filled with other numbers and arrays."""
        return self.fill(iter(atoms[self.atom:] if self.atom > 0 else atoms))

    cdef object from_cotangents(self, list atoms):
        """The same, with cotangents, which are u - iv for those of the parts."""
        if self.has_complex:
            atoms = atoms[:]
            self.conjugate(atoms)
        return self.from_atoms(atoms)

    cdef int conjugate(self, list atoms) except -1:
        """Take the negative of all imaginary parts; of 0.0 it is 0.0."""
        cdef ArgumentNode child
        if not self.has_complex:
            return 0
        if self.container.kind == PAIR:
            child = self.children[1]
            atoms[child.atom] = 0.0 - atoms[child.atom]
            return 0
        for child in self.children:
            child.conjugate(atoms)
        return 0

    cdef object lift(self, list atoms, object block, CadTape *tape, CadSlot base):
        """This node's part of the argument, filled with Vars (plain inputs) or lifted atoms."""
        cdef Py_ssize_t i
        cdef CadSlot slot = base + <CadSlot>self.offset
        if block is None:
            if self.shape in (NUMBER, ROW):
                return self.from_atoms(atoms)
            if self.shape == ARRAY:
                return atoms[self.atom]
        elif self.shape == NUMBER and not self.is_single:
            return cad_var_new(tape, slot, tape.values[slot])
        elif self.shape == NUMBER:
            return cad_var_view(tape, slot, 0, NULL, NULL, CAD_SINGLE)
        elif self.shape == ARRAY:
            return cad_var_view(
                tape,
                slot,
                cnp.PyArray_NDIM(self.original),
                <const Py_ssize_t *>cnp.PyArray_DIMS(self.original),
                NULL,
                CAD_INPUT | (CAD_SINGLE if self.is_single else 0),
            )
        elif self.shape == ROW:
            parts = PyList_New(self.size)
            for i in range(self.size):
                number = cad_var_new(tape, slot + <CadSlot>i, tape.values[slot + i])
                Py_INCREF(number)
                PyList_SET_ITEM(parts, i, number)
            return parts if self.container.type is list else self.container.make(parts)
        return self.container.make(
            [(<ArgumentNode>child).lift(atoms, block, tape, base) for child in self.children]
        )

    cdef ArgumentNode bare(self):
        """A copy without numbers, or the node itself if it refers to no object of the user."""
        if self.shape == NUMBER or self.shape == ROW:
            return self
        return node_of_state(self.to_state())

    cdef tuple to_state(self):
        """The parts of a copy without numbers, which refers to no object of the user."""
        array = children = None
        if self.shape == ARRAY:
            array = (self.original.shape, self.original.dtype)
        if self.children is not None:
            children = tuple([(<ArgumentNode>child).to_state() for child in self.children])
        return (
            <int>self.shape, self.offset, self.size, self.atom, self.container, self.is_single,
            array, children,
        )

    cdef tuple leaf_shape(self):
        return self.original.shape if self.shape == ARRAY else ()

    cdef int collect_atoms(self, list atoms) except -1:
        """The shapes of all atoms, in order, and whether they are of float32."""
        if self.shape == NUMBER or self.shape == ARRAY:
            atoms.append((self.leaf_shape(), self.is_single))
        elif self.shape == ROW:
            atoms.extend([((), False)] * self.size)
        else:
            for child in self.children:
                (<ArgumentNode>child).collect_atoms(atoms)
        return 0

    cdef int match(self, Collector collector, object tree, object path) except -1:
        """Collect the atoms of another tree of this structure."""
        cdef ArgumentNode other
        cdef Py_ssize_t i
        if self.shape == CONTAINER:
            parts = self.container.parts_like(tree, len(self.children))
            if parts is None:
                self.refuse(tree, path)
            for i in range(len(self.children)):
                (<ArgumentNode>self.children[i]).match(
                    collector, parts[i], path + self.container.step(i)
                )
            return 0
        try:
            other = collector.add(tree)
        except _NotDifferentiable:
            refuse_leaf(tree, path)
        if self.shape == ROW:
            same = other.size == self.size and (
                other.shape == ROW
                or all([(<ArgumentNode>child).shape == NUMBER for child in other.children or ()])
            )
            if not same or other.shape not in (ROW, CONTAINER) or other.container.has_keys():
                self.refuse(tree, path)
        elif other.has_complex:
            raise TypeError(f"{path} is complex, but what it belongs to is real: pass its real part")
        elif other.shape not in (NUMBER, ARRAY) or other.leaf_shape() != self.leaf_shape():
            self.refuse(tree, path)
        return 0

    cdef object describe(self):
        """The structure in words, for an error message."""
        if self.shape == NUMBER:
            return "a number, of shape ()"
        if self.shape == ARRAY:
            return f"an array of shape {self.original.shape}"
        return self.container.describe(self.size if self.shape == ROW else len(self.children))

    cdef int refuse(self, object tree, object path) except -1:
        cdef ArgumentNode other
        if tree is None:
            refuse_leaf(tree, path)
        try:
            other = (<Collector>Collector.__new__(Collector)).add(tree)
        except _NotDifferentiable:
            refuse_leaf(tree, path)
        raise ValueError(
            f"{path} must have the structure of what it belongs to: expected {self.describe()}, "
            f"got {other.describe()}"
        )

    cdef object fill(self, object leaves):
        """This node's part of the argument, with the next item of an iterator for each leaf."""
        if self.shape == NUMBER:
            return narrowed_number(next(leaves)) if self.is_single else next(leaves)
        if self.shape == ARRAY:
            return in_precision_of(next(leaves), self.original)
        if self.shape == ROW:
            return self.container.make([next(leaves) for _ in range(self.size)])
        return self.container.make([(<ArgumentNode>child).fill(leaves) for child in self.children])


cdef ArgumentNode node_of_state(tuple state):
    cdef ArgumentNode node = ArgumentNode.__new__(ArgumentNode)
    node.shape, node.offset, node.size, node.atom, node.container = state[:5]
    node.is_single, array, children = state[5:]
    if array is not None:
        # One zero for all places; np.broadcast_to takes six times as long.
        zero = np.zeros((), array[1])
        node.original = np.ndarray(array[0], array[1], zero, 0, (0,) * len(array[0]))
    if children is not None:
        node.children = tuple([node_of_state(child) for child in children])
        node.has_complex = holds_complex(node)
    return node


cdef bint holds_complex(ArgumentNode node):
    """Whether there is a complex number in a container."""
    cdef ArgumentNode child
    if node.container.kind == PAIR:
        return True
    for child in node.children:
        if child.has_complex:
            return True
    return False


cdef enum:
    PAGE = 4096  # bytes


cdef inline float *floats(cnp.ndarray array):
    return <float *>cnp.PyArray_DATA(array)


cdef uint64_t fingerprint(cnp.ndarray array):
    """A number that tells one element of each page of memory, and the last, from others."""
    cdef const char *numbers = <const char *>cnp.PyArray_DATA(array)
    cdef Py_ssize_t size = 4 if cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32 else 8
    cdef Py_ssize_t last = (cnp.PyArray_SIZE(array) - 1) * size
    cdef uint64_t result = 0
    cdef uint64_t bits = 0
    cdef Py_ssize_t i = 0
    while i <= last:
        memcpy(&bits, numbers + i, size)
        result = (result ^ bits) * <uint64_t>0x9E3779B97F4A7C15
        i = i + PAGE if i + PAGE < last or i == last else last
    return result


cdef object atom_of_array(ArgumentNode node):
    """The numbers of an array, which are the caller's own: a number if it has no axes."""
    if node.is_single:
        return node.flat.astype(np.float32)[()]
    return node.flat.copy() if node.flat.shape != () else node.flat.item()


cdef object narrowed_number(object result):
    """A number or an array in single precision; containers, as rows of matrices are, as they are."""
    if cnp.PyArray_Check(result) or CAD_IS_FLOAT(result) or CAD_IS_VAR(result) or CAD_IS_DUAL(result):
        return cad_narrowed(result)
    return result


cdef object in_precision_of(object result, object original):
    """float32 input gives float32 gradients."""
    cdef int kind
    if cad_is_single(original):
        return narrowed_number(result)
    if not cnp.PyArray_Check(original) or not cnp.PyArray_Check(result):
        return result
    kind = cnp.PyArray_TYPE(original)
    if kind == cnp.NPY_FLOAT16:
        return result.astype(original.dtype.newbyteorder("="))
    return result


cdef bint borrowed(CadTape *tape, CadSlot slot, ArgumentNode node):
    """Have the tape read a very large array where it is, if it is one."""
    cdef size_t end = slot + node.size
    if cnp.PyArray_TYPE(node.flat) == cnp.NPY_FLOAT32:
        return cad_tape_borrow_floats(tape, slot, end, floats(node.flat))
    return cad_tape_borrow(tape, slot, end, cnp.doubles(node.flat))


class _NotDifferentiable(TypeError):
    """Carries the offending leaf out of the walk over the arguments."""


@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Collector:
    """Walks over arguments, takes them apart into nodes, and collects their atoms."""

    def __dealloc__(self):
        cad_memory_free(self.values)

    cdef int reserve(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t wanted
        cdef void *grown
        if self.n_packed + more > self.capacity:
            wanted = max(self.n_packed + more, 2 * self.capacity, 16)
            grown = cad_memory_resize(self.values, wanted, sizeof(double))
            if grown == NULL:
                raise MemoryError("cadiff: no memory left for the arguments")
            self.values = <double *>grown
            self.capacity = wanted
        return 0

    cdef list all_atoms(self):
        cdef ArgumentNode node
        cdef Py_ssize_t i
        if self.atoms is not None:
            return self.atoms
        atoms = []
        for node in self.nodes or ():
            if node.shape == ARRAY:
                atoms.append(atom_of_array(node))
            elif node.is_single:
                atoms.append(np.float32(self.values[node.packed]))
            else:
                atoms.extend([self.values[node.packed + i] for i in range(node.size)])
        return atoms

    cdef int copy_to(self, CadTape *tape, CadSlot base, bint borrow) except -1:
        """All numbers, in order, if all are plain; each array as a block of its own. With `borrow`,
        those of large arrays stay where they are."""
        cdef ArgumentNode node
        cdef const double *source
        cdef CadSlot slot
        for node in self.nodes or ():
            slot = base + <CadSlot>node.offset
            if node.shape == ARRAY:
                check(cad_tape_note_block(tape, slot, slot + node.size, CAD_ARGUMENT))
                if borrow and borrowed(tape, slot, node):
                    node.borrowed = True
                    node.fingerprint = fingerprint(node.flat)
                    continue
                node.flat = cnp.cast_in_order(node.flat, cnp.NPY_DOUBLE)
                source = cnp.doubles(node.flat)
            else:
                source = self.values + node.packed
            if node.size > 0:
                memcpy(tape.values + slot, source, node.size * sizeof(double))
        return 0

    cdef int add_plain(self, ArgumentNode node, object number, double value) except -1:
        node.is_single = not CAD_IS_FLOAT(number) and isinstance(number, np.float32)
        if self.atoms is not None:
            self.atoms.append(number if node.is_single else value)
        else:
            self.reserve(1)
            self.values[self.n_packed] = value
            self.note_packed(node, 1)
        self.count += 1
        self.n_atoms += 1
        return 0

    cdef int note_packed(self, ArgumentNode node, Py_ssize_t n) except -1:
        node.packed = self.n_packed
        self.n_packed += n
        return self.note(node)

    cdef int note(self, ArgumentNode node) except -1:
        if self.nodes is None:
            self.nodes = []
        self.nodes.append(node)
        return 0

    cdef int add_object(self, ArgumentNode node, object atom, Py_ssize_t size) except -1:
        if self.atoms is None:
            self.atoms = self.all_atoms()
        self.atoms.append(atom)
        self.count += size
        self.n_atoms += 1
        return 0

    cdef tuple collect(self, tuple args, tuple argnums):
        """Add some arguments; the nodes of their structure."""
        cdef Py_ssize_t i, k, n = len(argnums)
        cdef tuple nodes = PyTuple_New(n)
        check_argnums(args, argnums)
        try:
            for i in range(n):
                k = place_of(args, argnums, i)
                if args[k] is None:  # a container in containers, but no argument
                    refuse_leaf(None, f"argument {argnums[i]}")
                node = self.add(args[k])
                Py_INCREF(node)
                PyTuple_SET_ITEM(nodes, i, node)
        except _NotDifferentiable:
            for which in argnums:
                if _where(args[which], "") is not None:
                    refuse_leaf(args[which], f"argument {which}")
            raise TypeError("an argument is no real number")
        except RecursionError:
            cad_raise_nested()
        return nodes

    cdef ArgumentNode add(self, object argument):
        cad_enter_container()
        try:
            return self.add_checked(argument)
        finally:
            cad_leave_container()

    cdef ArgumentNode add_checked(self, object argument):
        cdef ArgumentNode node = ArgumentNode.__new__(ArgumentNode)
        cdef double value
        cdef int kind
        node.offset = self.count
        node.atom = self.n_atoms
        node.size = 1
        if CAD_IS_FLOAT(argument):
            node.shape = NUMBER
            self.add_plain(node, argument, PyFloat_AS_DOUBLE(argument))
        elif cnp.PyArray_Check(argument):
            cad_check_array(argument)
            if cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(argument)):
                self.add_parts(node, opened_complex(argument))
            else:
                node.shape = ARRAY
                node.original = argument
                self.add_array(node, argument)
        elif self.add_container(node, argument):
            pass
        elif isinstance(argument, (bool, np.bool_)):
            raise _NotDifferentiable(argument)
        else:
            kind = cad_classify(argument, &value)
            if kind == CAD_PLAIN:
                node.shape = NUMBER
                self.add_plain(node, argument, value)
            elif kind == CAD_VAR_CLASS or kind == CAD_DUAL_CLASS:
                node.shape = NUMBER
                node.is_single = cad_is_single(argument)
                self.add_object(node, argument, 1)
            elif kind == CAD_ARRAY_CLASS and cad_ndim(argument) == 0:
                node.shape = NUMBER
                node.is_single = cad_is_single(argument)
                self.add_object(node, cad_single(argument), 1)
            elif kind == CAD_ARRAY_CLASS:
                node.shape = ARRAY
                node.original = argument
                node.is_single = cad_is_single(argument)
                self.add_object(node, argument, argument.size)
            elif cad_is_listed(argument):  # a table, such as those of pandas
                return self.add_checked(cad_listed_array(argument))
            elif is_complex(argument):
                self.add_parts(node, opened_complex(argument))
            else:
                raise _NotDifferentiable(argument)
        node.size = self.count - node.offset
        return node

    cdef bint add_container(self, ArgumentNode node, object argument) except -1:
        """Whether the argument is a container. The node becomes a ROW if all items of a list or
        tuple are floats, as they mostly are: these need no nodes."""
        cdef Py_ssize_t i, n
        cdef PyObject *item
        cdef tuple parts
        opened_item = opened(argument)
        if opened_item is None:
            return False
        node.container, parts = opened_item
        n = len(parts)
        if self.atoms is None and node.container.kind == SEQUENCE:
            self.reserve(n)
            for i in range(n):
                item = PyTuple_GET_ITEM(parts, i)
                if not CAD_IS_FLOAT(<object>item):
                    break
                self.values[self.n_packed + i] = PyFloat_AS_DOUBLE(<object>item)
            else:
                node.shape = ROW
                node.size = n
                self.note_packed(node, n)
                self.count += n
                self.n_atoms += n
                return True
        self.add_parts(node, opened_item)
        return True

    cdef int add_parts(self, ArgumentNode node, tuple parts) except -1:
        node.shape = CONTAINER
        node.container, found = parts
        node.children = tuple([self.add(part) for part in found])
        node.has_complex = holds_complex(node)
        return 0

    cdef int add_array(self, ArgumentNode node, object argument) except -1:
        cdef int kind = cnp.PyArray_TYPE(argument)
        cdef Py_ssize_t n = cnp.PyArray_SIZE(argument)
        if kind == cnp.NPY_OBJECT:
            return self.add_members(node, argument)
        if not (cnp.PyTypeNum_ISINTEGER(kind) or cnp.PyTypeNum_ISFLOAT(kind)):
            raise _NotDifferentiable(argument)
        flat = argument
        is_known = kind == cnp.NPY_DOUBLE or kind == cnp.NPY_FLOAT32
        if not is_known or not cnp.PyArray_ISCARRAY_RO(argument):
            flat = cnp.cast_in_order(argument, kind if is_known else cnp.NPY_DOUBLE)
        node.size = n
        node.flat = flat
        node.is_single = kind == cnp.NPY_FLOAT32
        if self.atoms is not None:
            self.atoms.append(atom_of_array(node))
        else:
            self.note(node)
        self.count += n
        self.n_atoms += 1
        return 0

    cdef int add_members(self, ArgumentNode node, object array) except -1:
        """Take an array of objects as an array of numbers, if that is what they are."""
        cdef double value
        plain = True
        for number in array.flat:
            if isinstance(number, (bool, np.bool_)):
                raise _NotDifferentiable(array)
            kind = cad_classify(number, &value)
            if kind not in (CAD_PLAIN, CAD_VAR_CLASS, CAD_DUAL_CLASS):
                raise _NotDifferentiable(array)
            plain = plain and kind == CAD_PLAIN
        if plain:
            return self.add_array(node, array.astype(np.float64))
        node.original = gather_numbers(array)
        return self.add_object(node, node.original, array.size)


def _where(argument, path):
    """The path to the first leaf that is no number, for an error message."""
    opened_ = opened(argument)
    if opened_ is None:
        try:
            (<Collector>Collector.__new__(Collector)).add(argument)
        except _NotDifferentiable:
            return path, argument
        return None
    container, parts = opened_
    for k, part in enumerate(parts):
        found = _where(part, path + (<Container>container).step(k))
        if found is not None:
            return found
    return None


cdef int refuse_leaf(object tree, object path) except -1:
    """Raise TypeError for the first leaf of a tree that is no real number."""
    path, leaf = (path, None) if tree is None else _where(tree, path)
    kind = f"ndarray of dtype {leaf.dtype}" if cnp.PyArray_Check(leaf) else type(leaf).__name__
    way = seam_of(type(leaf))
    raise TypeError(
        f"{path} is no real number but a {kind}, which has no derivative: "
        + (f"{way}; " if way else "") + "expected a float, an "
        "int, an ndarray of real numbers (or complex ones), or containers of them (lists, dicts, dataclasses; for other "
        "classes: cadiff.register_container)"
        + (
            "; other values are passed by keyword, or left out by argnums, where these are taken, "
            "or stand in a function of the rest: lambda x: f(x, other)"
            if path.startswith("argument") else ""
        )
    ) from None


cdef int check_argnums(tuple args, tuple argnums) except -1:
    for k in argnums:
        if not -len(args) <= k < len(args):
            raise TypeError(
                f"argnums names argument {k}, but the function was called with {len(args)} "
                "positional arguments; arguments passed by keyword are not differentiated"
            )
    if len(argnums) > 1 and len({k % len(args) for k in argnums}) != len(argnums):
        raise ValueError(
            f"argnums {argnums} name an argument twice: the function was called with {len(args)} "
            "positional arguments"
        )
    return 0


@cython.final
cdef class Structure:
    """The containers of some arguments: which atoms stand where in them."""

    def __init__(self, tuple nodes):
        self.nodes = nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def bare(self) -> Structure:
        """A copy of the structure that keeps none of the arguments alive, and pickles."""
        return Structure(tuple([(<ArgumentNode>node).bare() for node in self.nodes]))

    def __reduce__(self):
        return structure_of_states, ([(<ArgumentNode>node).to_state() for node in self.nodes],)

    def leaves(self) -> list[list[tuple[tuple[int, ...], bool]]]:
        """For each argument, the list of its atoms: the shape, and whether it is of float32."""
        result = []
        for node in self.nodes:
            atoms = []
            (<ArgumentNode>node).collect_atoms(atoms)
            result.append(atoms)
        return result

    def leaf_shapes(self) -> list[list[tuple[int, ...]]]:
        """For each argument, the list of the shapes of its atoms; () is a number."""
        return [[lengths for lengths, _ in atoms] for atoms in self.leaves()]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the atoms of all arguments; () is a number."""
        return [lengths for atoms in self.leaves() for lengths, _ in atoms]

    def fill(self, Py_ssize_t k, leaves: Iterable[Any]):
        """The k-th argument's structure with other leaves; arrays in the argument's precision."""
        return (<ArgumentNode>self.nodes[k]).fill(iter(leaves))

    def in_containers(self, leaves: Iterable[Any], bint single):
        """Leaves in the containers of all arguments, a tuple; or in those of the only one."""
        every = iter(leaves)
        filled = tuple([(<ArgumentNode>node).fill(every) for node in self.nodes])
        return filled[0] if single else filled

    @property
    def has_complex(self) -> bool:
        """Whether there is a complex number among the arguments."""
        return any([(<ArgumentNode>node).has_complex for node in self.nodes])

    def conjugated(self, atoms: Sequence[Any]) -> list[Any]:
        """Atoms with the negative of all imaginary parts."""
        atoms = list(atoms)
        for node in self.nodes:
            (<ArgumentNode>node).conjugate(atoms)
        return atoms

    def cotangent(self, Py_ssize_t k, list atoms):
        """As rebuild, with cotangents of the atoms: those by complex numbers are u - iv."""
        return (<ArgumentNode>self.nodes[k]).from_cotangents(atoms)

    def rebuild(self, Py_ssize_t k, list atoms):
        """The k-th argument's structure with other atoms, taken from the list of all."""
        return (<ArgumentNode>self.nodes[k]).from_atoms(atoms)

    def match(self, tuple trees, names: Iterable[str]) -> list[Any]:
        """The atoms of other trees of this structure, in its order.

        Another structure raises ValueError, something that is no number TypeError; both call the
        trees by their names.
        """
        cdef Collector collector = Collector.__new__(Collector)
        try:
            for node, tree, name in zip(self.nodes, trees, names):
                (<ArgumentNode>node).match(collector, tree, name)
        except RecursionError:
            cad_raise_nested()
        return collector.all_atoms()


def structure_of_states(states: list[tuple[Any, ...]]) -> Structure:
    """The Structure that was pickled."""
    return Structure(tuple([node_of_state(state) for state in states]))


def take_apart(tuple args, tuple argnums) -> tuple[list[Any], Structure]:
    """The atoms of some arguments, in order, and the structure that they were in."""
    cdef Collector collector = Collector.__new__(Collector)
    nodes = collector.collect(args, argnums)
    return collector.all_atoms(), Structure(nodes)


def structure_of(tuple args, tuple argnums) -> Structure:
    """The structure of some arguments, without their atoms."""
    return Structure((<Collector>Collector.__new__(Collector)).collect(args, argnums))


def leaves(Structure structure,
           names: Iterable[str]) -> list[tuple[int, int, tuple[int, ...] | None, str]]:
    """What arguments of these names consist of: a list of (offset, size, shape, path).

    Offsets count numbers. The shape is None for a list or tuple of numbers, which is one leaf.
    """
    found = []
    for node, name in zip(structure.nodes, names):
        add_leaves(found, <ArgumentNode>node, name)
    return found


cdef int add_leaves(list found, ArgumentNode node, path) except -1:
    if node.shape == CONTAINER:
        for k, child in enumerate(node.children):
            add_leaves(found, <ArgumentNode>child, path + node.container.step(k))
    else:
        shape = None if node.shape == ROW else node.leaf_shape()
        found.append((node.offset, node.size, shape, path))
    return 0


def element_name(leaf: tuple[int, int, tuple[int, ...] | None, str], Py_ssize_t offset) -> str:
    """The name of the number at an offset, which lies in the leaf."""
    first, _, shape, path = leaf
    if shape is None:
        return f"{path}[{offset - first}]"
    return path + index_text(np.unravel_index(offset - first, shape))


def index_text(tuple index) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""
