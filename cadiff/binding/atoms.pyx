"""Atoms, and containers of them.

An atom is a number or an array, with or without derivatives: a float, an array, a Var, or a Dual
of such. This module takes atoms apart into components, and puts them together; arrays of objects
are containers of atoms. It knows nothing of functions that are run.
"""

from math import prod

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_CheckExact, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from .generated.entries cimport CadTape
from . cimport c_numpy as cnp
from .c_python cimport *
from .generated.entries cimport *
from .generated.tape cimport *
from .c_numbers cimport *
from .complexes cimport Complex
from .trees cimport Container, FIELDS, opened, REGISTERED
from .tape cimport check_axes, empty_like, is_constant, MOST_AXES, view_of

from .tape import active_array, constant_array, write_into


cpdef int ndim(x):
    """The number of axes of an array, with or without derivatives, or a mask; 0 for a number."""
    return x.ndim if has_own_shape(x) else cad_ndim(x)


cpdef tuple shape(x):  #: tuple[int, ...]
    """The lengths of the axes of an array, with or without derivatives, or a mask; else ()."""
    return x.shape if cad_ndim(x) > 0 or has_own_shape(x) else ()


cdef bint has_own_shape(x):
    """Whether C does not see the axes that it has."""
    return isinstance(x, Complex) or (cad_is_mask(x) and x.is_mask)


cpdef bint carries(tree) except -1:
    """Whether there is a Var or Dual in it: itself, or in a container or an object array."""
    try:
        return one_carries(tree)
    except RecursionError:
        cad_raise_nested()


cdef bint one_carries(tree) except -1:
    if CAD_IS_VAR(tree) or CAD_IS_DUAL(tree):
        return True
    if cnp.PyArray_Check(tree):
        if cnp.PyArray_TYPE(tree) != cnp.NPY_OBJECT:
            return False
        items = tree.flat
    else:
        opened_item = opened(tree)
        if opened_item is None:
            return False
        items = opened_item[1]
    cad_enter_container()
    try:
        for item in items:
            if type(item) is not float and type(item) is not int and one_carries(item):
                return True
        return False
    finally:
        cad_leave_container()


def nested_error() -> RecursionError:
    """The RecursionError of walks in Python over containers that contain themselves, or are nested
    too deeply: it is worded where those in C find it."""
    try:
        cad_raise_nested()
    except RecursionError as error:
        return error.with_traceback(None)


def map_numbers(tree, function: Callable[[Any], Any]):
    """A container with function(number) in place of its Vars and Duals, single ones or arrays; all
    else as it is.

    Object arrays are containers.
    """
    if CAD_IS_VAR(tree) or CAD_IS_DUAL(tree):
        return function(tree)
    try:
        return map_container(tree, function)
    except RecursionError:
        cad_raise_nested()


cdef object map_container(object tree, object function):
    if CAD_IS_VAR(tree) or CAD_IS_DUAL(tree):
        return function(tree)
    if cnp.PyArray_Check(tree):
        if tree.dtype != object:
            return tree
        return array_of(map_items(tree.flat, function), shape(tree))
    opened_item = opened(tree)
    if opened_item is None:
        return tree
    return remade(tree, opened_item[0], opened_item[1], map_items(opened_item[1], function))


cdef object remade(object tree, Container container, tuple parts, list mapped):
    """The container that a tree is with other parts. An object without others stays what it is:
    it may be more than its parts."""
    cdef Py_ssize_t k
    if container.kind == FIELDS or container.kind == REGISTERED:
        for k in range(len(mapped)):
            if mapped[k] is not parts[k]:
                return container.make(mapped)
        return tree
    return container.make(mapped)


cdef list map_items(items, function):
    cad_enter_container()
    try:
        return [map_container(item, function) for item in items]
    finally:
        cad_leave_container()


cdef object array_of(list numbers, tuple shape):
    """An array of floats if the numbers are, else an array of objects."""
    if all([type(number) is float for number in numbers]):
        return np.array(numbers, dtype=np.float64).reshape(shape)
    result = np.empty(len(numbers), dtype=object)
    for i in range(len(numbers)):  # a slice assignment would look into the numbers
        result[i] = numbers[i]
    return result.reshape(shape)


cdef list numbers_in(tree):
    """The Vars and Duals in a container, in order."""
    cdef list numbers = []
    map_numbers(tree, numbers.append)
    return numbers


cdef tuple components_of(dual):
    """All components of a Dual: the primal, then the tangent, or each of its lanes."""
    primal, tangent = dual_components(dual)
    return (primal, *tangent) if isinstance(tangent, tuple) else (primal, tangent)


def map_vars(atom, function: Callable[[Var], Any]):
    """function(atom) for a Var; a Dual with function(...) in place of its Vars."""
    if not CAD_IS_DUAL(atom):
        return function(atom) if CAD_IS_VAR(atom) else atom
    primal, tangent = dual_components(atom)
    if isinstance(tangent, tuple):
        tangent = tuple([map_vars(lane, function) for lane in tangent])
    else:
        tangent = map_vars(tangent, function)
    return cad_dual_from(map_vars(primal, function), tangent, CAD_DUAL(atom).tag)


def plain_values(tree):
    """A container with plain values in place of its Vars and Duals; all else as it is."""
    return map_numbers(tree, cad_plain_value)


def values_in_place(x):
    """The values of a number: of an array where they stand, to be read before anything is
    recorded."""
    cdef CadVar *var
    if CAD_IS_VAR_ARRAY(x) and not cad_is_single(x):
        var = CAD_VAR(x)
        if var.kind != CAD_STALE:
            return cad_var_transient(var, cad_tape_values(var.tape, <int64_t>var.slot), 0)
    return cad_plain_value(x)


def vars_of(atom) -> list[Var]:
    """The recorded numbers that an atom is, or consists of: a list of Vars."""
    if CAD_IS_DUAL(atom):
        return [var for part in components_of(atom) for var in vars_of(part)]
    return [atom] if CAD_IS_VAR(atom) and CAD_VAR(atom).tape != NULL else []


cdef object only_number(object array):
    """The one number of an array Var or Dual."""
    return array[(0,) * array.ndim]


def elements(x) -> NDArray[Any]:
    """An object array of the scalar numbers of an array Var or Dual; else numpy.asarray(x)."""
    return cad_elements(x)


def check_alive(atom) -> None:
    """Raise StaleVarError if an atom is of a recording that is over."""
    if CAD_IS_DUAL(atom):
        for part in components_of(atom):
            check_alive(part)
    elif CAD_IS_VAR(atom) and CAD_VAR(atom).kind == CAD_STALE:
        cad_raise_stale()


def finalized(atom):
    """An atom as it leaves a differentiation: plain, where nothing in it carries a derivative."""
    if CAD_IS_DUAL(atom):
        return map_vars(atom, finalized)
    return cad_plain_value(atom) if is_constant(atom) else atom


cdef public object cad_finalized(object atom):
    return finalized(atom)


cdef bint is_plain(object atom) except -1:
    """Whether an atom carries no derivative: of a Dual, of a pass under way, whether it is 0."""
    if CAD_IS_VAR(atom):
        return is_constant(atom)
    if not CAD_IS_DUAL(atom):
        return True
    if cad_current_tape().running_tag == 0:
        return False
    parts = components_of(atom)
    return is_plain(parts[0]) and all([
        is_plain(part) and not np.any(cad_plain_value(part)) for part in parts[1:]
    ])


def plain_constants(tree):
    """A container with plain values in place of its numbers, if all of them are constants; else
    None. What would be written into arrays of these would be lost: they are for reading."""
    cdef list numbers = numbers_in(tree)
    if not numbers or not all([is_plain(number) for number in numbers]):
        return None
    return map_numbers(tree, read_only)


cdef object read_only(object number):
    plain = cad_plain_value(number)
    if cnp.PyArray_Check(plain):
        plain.flags.writeable = False
    return plain


def tag_of(x) -> int:
    """The tag of a Dual; 0 for anything else."""
    return CAD_DUAL(x).tag if CAD_IS_DUAL(x) else 0


def is_cell(x) -> bool:
    """Whether a Var or Dual is a view of no axes, in which later assignments are seen."""
    return cad_is_cell(x)


def single(x):
    """What stands in a view of no axes now; any other number as it is."""
    return cad_single(x)


def dual_cell(primal, tangent, tag: int) -> Dual:
    """A Dual that is a view of no axes, of components that are: lanes of one axis."""
    return cad_dual_cell(primal, tangent, tag)


def make_dual(primal, tangent, tag: int) -> Dual:
    """A Dual of the given tag. The tangent of a scalar: a number, or a tuple of lanes."""
    return cad_dual_from(primal, tangent, tag)


def dual_components(dual: Dual) -> tuple[Any, Any]:
    """Primal and tangent as they are stored: lanes of a single number come as a tuple."""
    cdef CadDual *d = CAD_DUAL(dual)
    if d.kind == CAD_DUAL_ARRAY:
        return <object>d.primal_object, <object>d.tangent_object
    tangent = cad_dual_tangent(d)
    if cnp.PyArray_Check(tangent):
        tangent = tuple(tangent.tolist())
    return cad_dual_primal(d), tangent


def final_parts(atom, tag: int) -> tuple[Any, Any]:
    """Primal and tangent of an atom, as they leave a differentiation."""
    primal, tangent = split_dual(atom, tag)
    return (
        finalized(primal) if CAD_IS_VAR(primal) or CAD_IS_DUAL(primal) else primal,
        finalized(tangent) if CAD_IS_VAR(tangent) or CAD_IS_DUAL(tangent) else tangent,
    )


def split_dual(number, tag: int) -> tuple[Any, Any]:
    """Primal and tangent of the given perturbation; the tangent is 0.0 if it is not in the number.

    Lanes of a single number come as a tuple, of an array as its last axis. A Dual of a higher tag,
    made by hand or kept from an inner differentiation, is split component by component.
    """
    if not CAD_IS_DUAL(number) or CAD_DUAL(number).tag < <CadTag>tag:
        return number, np.zeros(shape(number)) if ndim(number) else 0.0
    outer = CAD_DUAL(number).tag
    primal, tangent = dual_components(number)
    if outer == <CadTag>tag:
        return primal, tangent
    of_primal = split_dual(primal, tag)
    if isinstance(tangent, tuple):
        of_tangent = list(zip(*[split_lanes(lane, tag) for lane in tangent])) or [(), ()]
    else:
        of_tangent = split_lanes(tangent, tag)
    return tuple([make_dual(p, t, outer) for p, t in zip(of_primal, of_tangent)])


def split_lanes(number, tag: int) -> tuple[Any, Any]:
    """Primal and tangent of the given perturbation, of a component that is itself a tangent: it
    has a single lane."""
    primal, tangent = split_dual(number, tag)
    if isinstance(tangent, tuple) or ndim(tangent) > ndim(primal):
        raise TypeError(
            "a Dual that was made by hand, or kept from an inner derivative, cannot be the result "
            "of a derivative along several directions"
        )
    return primal, tangent


def lanes_of(primals: Iterable[Any], tangents: Iterable[Any]) -> int:
    """How many lanes some tangents have; -1 if all are single ones."""
    for primal, tangent in zip(primals, tangents):
        if isinstance(tangent, tuple):
            return len(tangent)
        if ndim(tangent) > ndim(primal):
            return shape(tangent)[ndim(tangent) - 1]
    return -1


def lane_of(primal, tangent, k: int):
    """One lane of a tangent, which may be a single one for all lanes."""
    if isinstance(tangent, tuple):
        return tangent[k]
    return tangent[..., k] if ndim(tangent) > ndim(primal) else tangent


def join_lanes(list lanes, primal):
    """The tangent of a number or an array, given its lanes.

    The lanes become an axis behind those of the primal; lanes of their own, of inner derivatives,
    come after it.
    """
    cdef int place = ndim(primal)
    if place == 0:
        return tuple(lanes)
    if not lanes:
        return np.zeros((*shape(primal), 0))
    lanes = [finalized(lane) for lane in lanes]
    tag = highest_tag(lanes)
    if tag > 0:
        primals, tangents = zip(*[split_dual(lane, tag) for lane in lanes])
        return make_dual(
            join_lanes(list(primals), primal), join_lanes(list(tangents), primal), tag
        )
    most = max(lanes, key=ndim)
    lanes = [
        lane if ndim(lane) == ndim(most)  # else it is the same along lanes of an inner derivative
        else cad_apply2(CAD_OP_add, lane[..., None], np.zeros(shape(most)))
        for lane in lanes
    ]
    for lane in lanes:
        if CAD_IS_VAR(lane):
            break
    else:
        return np.stack(lanes, axis=place)
    lengths = shape(most)
    joined = active_array((*lengths[:place], len(lanes), *lengths[place:]))
    for k, lane in enumerate(lanes):
        write_into(joined, (slice(None),) * place + (k,), lane)
    return joined


cpdef object highest_tag(list atoms):  #: int
    """The highest tag of Duals among numbers, 0 if there are none; StaleVarError if one of them
    has outlived its computation, beside others that are alive."""
    cdef CadTag highest = 0
    for x in atoms:
        if CAD_IS_DUAL(x):
            highest = max(highest, CAD_DUAL(x).tag)
    if highest:
        cad_check_alive(PySequence_Fast_ITEMS(atoms), len(atoms))
    return highest


def numbers_array(list numbers, tuple shape):
    """An array of numbers of any kind: of floats if they are plain, else a Var or Dual."""
    cdef bint plain = True
    numbers = [cad_single(number) for number in numbers]
    cdef list singles = [cad_is_single(number) for number in numbers]
    if any(singles):  # with others they are of float64
        widened = numbers_array([cad_widened(finalized(number)) for number in numbers], shape)
        return cad_narrowed(widened) if all(singles) else widened
    tag = highest_tag(numbers)
    if tag > 0:
        return dual_array([split_dual(number, tag) for number in numbers], shape, tag)
    for number in numbers:
        plain = plain and (not CAD_IS_VAR(number) or CAD_VAR(number).kind == CAD_PASSIVE)
    if plain:
        return np.array([cad_plain_value(x) for x in numbers], dtype=np.float64).reshape(shape)
    if not shape:
        return numbers[0]
    check_axes(shape)
    return put_numbers(PySequence_Fast_ITEMS(numbers), len(numbers), shape)


cdef object put_numbers(PyObject **numbers, Py_ssize_t n, tuple shape):
    """An array Var of plain numbers and single Vars of one tape."""
    cdef CadTape *tape = NULL
    cdef CadSlot slot, first
    cdef double value
    cdef Py_ssize_t i
    cdef object number
    for i in range(n):
        if CAD_IS_SCALAR(<object>numbers[i]):
            tape = CAD_VAR(<object>numbers[i]).tape
            break
    if tape == NULL:
        tape = cad_current_tape()
    check(cad_tape_grow(tape, n))
    cad_tape_pin(tape)
    try:
        first = <CadSlot>tape.n_slots
        for i in range(n):
            number = <object>numbers[i]
            check(cad_tape_ensure(tape))
            if CAD_IS_SCALAR(number):
                if CAD_VAR(number).tape != tape:
                    raise RuntimeError("Vars of two threads do not mix: pass cadiff.value(v)")
                slot = CAD_VAR(number).slot
                value = CAD_VAR(number).value
                cad_tape_push(tape, CAD_CODE(CAD_OP_positive, 0), slot, slot, value)
            elif CAD_IS_VAR(number) and CAD_VAR(number).kind == CAD_STALE:
                cad_raise_stale()
            else:
                cad_tape_skip(tape, cad_primal(number))
        check(cad_tape_note_block(tape, first, tape.n_slots, CAD_ARGUMENT))
        cad_tape_use_singly(tape, first)
        return view_of(tape, first, shape)
    finally:
        cad_tape_unpin(tape)


cdef list atoms_of(cnp.ndarray flat, list shapes):
    """The numbers of a vector as floats and arrays of these shapes."""
    cdef const double *numbers = cnp.doubles(flat)
    cdef Py_ssize_t offset = 0
    atoms = []
    for shape in shapes:
        if shape == ():
            atoms.append(PyFloat_FromDouble(numbers[offset]))
            offset += 1
        else:
            size = prod(shape)
            atoms.append(flat[offset : offset + size].reshape(shape).copy())
            offset += size
    return atoms


cdef object dual_array(list pairs, tuple shape, tag):
    primals, tangents = [list(part) for part in zip(*pairs)]
    primal = numbers_array(primals, shape)
    lanes = lanes_of(primals, tangents)
    if lanes < 0:
        return make_dual(primal, numbers_array(tangents, shape), tag)
    rows = [lane for t in tangents for lane in (t if isinstance(t, tuple) else (t,) * lanes)]
    return make_dual(primal, numbers_array(rows, (*shape, lanes)), tag)


def gather_numbers(array: NDArray[Any]):
    """An array of objects as an array of numbers."""
    cad_check_array(array)
    items = array.ravel().tolist()
    for item in items:
        if isinstance(item, (str, bytes)):  # of which NumPy would make a number
            raise TypeError(
                f"an array or a table holds the text {item!r}, which is no number: make floats "
                "of it, as x.astype(float)"
            )
    return numbers_array(items, array.shape)


cdef public object cad_gather_numbers(object array):
    return gather_numbers(array)


cdef public object cad_with_axes(object number, int axes):
    return numbers_array([number], (1,) * axes) if axes > 0 else number


cdef public object cad_promote(object array, object other):
    """An array as what the other one is, a Var or a Dual, without derivatives of its own."""
    if CAD_IS_DUAL(other):
        primal, tangent = dual_components(other)
        lengths = shape(array)
        if ndim(tangent) > ndim(primal):
            lengths = (*lengths, shape(tangent)[ndim(tangent) - 1])
        if CAD_IS_DUAL(array) and CAD_DUAL(array).tag == CAD_DUAL(other).tag:
            own, along = dual_components(array)
        else:
            own, along = array, np.zeros(lengths)
        return make_dual(cad_promote(own, primal), cad_promote(along, primal), CAD_DUAL(other).tag)
    if CAD_IS_VAR(other) and not (CAD_IS_VAR(array) or CAD_IS_DUAL(array)):
        return constant_array(array)
    return array


def matmul(x, y):
    """The matrix product of two arrays, at least one of which is a Var, and none a Dual."""
    cdef PyObject *product = cad_array_matmul(x, y)
    if product is NULL:
        dtypes = [getattr(z, "dtype", type(z).__name__) for z in (x, y) if not CAD_IS_VAR(z)]
        raise TypeError(f"matmul takes arrays of real numbers, Vars and Duals, not {dtypes[0]}")
    result = <object>product
    Py_DECREF(result)
    return result


def absorb(x, y):
    """x * y, in which an exact zero absorbs."""
    return cad_apply2(CAD_OP_amul, x, y)


def cross_entropy(
    logits: NDArray[Any], labels: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses and residuals of rows of logits: float64 of shape (rows, classes), and int64."""
    cdef cnp.ndarray x = np.ascontiguousarray(logits, dtype=np.float64)
    cdef cnp.ndarray right = np.ascontiguousarray(labels, dtype=np.int64)
    cdef cnp.ndarray losses = np.empty(len(x))
    cdef cnp.ndarray residuals = empty_like(x)
    cad_cross_entropy(
        cnp.doubles(x),
        <const int64_t *>cnp.PyArray_DATA(right),
        cnp.PyArray_DIM(x, 0),
        cnp.PyArray_DIM(x, 1),
        cnp.doubles(losses),
        cnp.doubles(residuals),
    )
    return losses, residuals


cdef bytes active_of(CadTape *tape, list atoms, list shapes):
    """Which of some atoms carry derivatives; None if they are not of these shapes, or others than
    Vars of this thread's tape, floats and arrays of floats."""
    cdef Py_ssize_t k, n = len(shapes)
    cdef bytes active
    cdef char *flags
    cdef object atom
    cdef tuple lengths
    if len(atoms) != n:
        return None
    active = PyBytes_FromStringAndSize(NULL, n)
    flags = active
    for k in range(n):
        atom = atoms[k]
        lengths = <tuple>shapes[k]
        flags[k] = 0
        if CAD_IS_VAR(atom):
            if CAD_VAR(atom).kind == CAD_STALE:
                return None
            if CAD_VAR(atom).tape != NULL:
                if CAD_VAR(atom).tape != tape:
                    return None
                flags[k] = not is_constant(atom)
            if CAD_IS_VAR_ARRAY(atom):
                if not has_shape(atom, lengths):
                    return None
            elif lengths:
                return None
        elif CAD_IS_DUAL(atom) or lengths != (atom.shape if cnp.PyArray_Check(atom) else ()):
            return None
    return active


cdef inline bint has_shape(object var, tuple expected):
    cdef CadView *view = CAD_VAR(var).view
    cdef Py_ssize_t i
    if view.ndim != len(expected):
        return False
    for i in range(view.ndim):
        if CAD_SHAPE(view)[i] != <Py_ssize_t>expected[i]:
            return False
    return True


# --- nested lists --------------------------------------------------------------------------------
#
# Nested lists of single numbers as arrays: matrices that are written out row by row.
#
# Most are small, and made many times. Lists of one length on each level, of plain numbers, Vars and
# Duals, are gone through once; whatever else stands in them is left to others.


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
    cdef double *primal = cnp.doubles(primals)
    cdef double *tangent = cnp.doubles(tangents)
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


def array_of_lists(items):
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


cdef enum:
    LONG = 1 << 16  # bytes, which other threads need not wait for


cdef uint64_t digest_of_array(cnp.ndarray array) except? 0:
    """Of the shape and the numbers of an array."""
    cdef cnp.ndarray whole = array
    cdef const void *data
    cdef Py_ssize_t size
    cdef uint64_t digest = 0, golden = 0x9E3779B97F4A7C15
    cdef int k
    for k in range(cnp.PyArray_NDIM(array)):
        digest = golden * (digest + <uint64_t>cnp.PyArray_DIM(array, k) + 1)
    if not cnp.PyArray_ISCARRAY_RO(array):
        whole = cnp.in_order(array, cnp.PyArray_TYPE(array))
    data = cnp.PyArray_DATA(whole)
    size = cnp.PyArray_NBYTES(whole)
    if size < LONG:
        return digest + cad_digest(data, size)
    with nogil:
        digest += cad_digest(data, size)
    return digest
