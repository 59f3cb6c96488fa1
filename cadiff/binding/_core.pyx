# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The compiled core: Var, Dual, the operations, and recordings of functions.

The types and the operations are written in C (_var*.c, _array*.c, _dual*.c, _apply.c). This room owns
what surrounds them: it lifts the arguments of a user's function onto the tape, sweeps over what was
recorded, and reads the results into fresh objects. It knows lifetimes, errors and slots, and no
formula.
"""

import copy
import os
import struct
import sys
import threading
import zlib
from math import factorial, prod
from types import MethodType

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next, PyDict_Size
from cpython.exc cimport PyErr_CheckSignals, PyErr_Clear, PyErr_ExceptionMatches
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_FromDouble
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.object cimport Py_EQ, Py_LE, Py_LT, Py_NE, PyObject, PyObject_Call
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.math cimport INFINITY, ldexp
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cnp.import_array()
cnp.import_umath()
cad_numbers_ready(sys.modules[__name__])

cdef object plain_value = globals()["plain_value"]

cdef enum:
    LANES = 8  # directions that a sweep carries at once
    FEW_ROWS = 4  # reverse sweeps, which cost about as much as two tangent sweeps of all lanes


cdef inline int check(CadStatus status) except -1:
    return 0 if status == CAD_OK else cad_raise_status(status)


include "arguments.pxi"
include "linear.pxi"
include "recording.pxi"
include "recorded_sweep.pxi"
include "guards.pxi"
include "captures.pxi"
include "inlining.pxi"
include "workers.pxi"
include "program.pxi"
include "program_calls.pxi"
include "program_files.pxi"
include "sparse.pxi"
include "signatures.pxi"
include "fast_paths.pxi"
include "taylor.pxi"
include "rules.pxi"
include "functions.pxi"
include "hooks.pxi"
include "inspect.pxi"
include "nan_check.pxi"

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
        if out.size == 1:
            return scalar_output(out.item() if cnp.PyArray_Check(out) else only_number(out), name=name)
        raise TypeError(
            f"{name} wants one number from f, not an array of shape {out.shape}: use "
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


cdef object only_number(object array):
    """The one number of an array Var or Dual."""
    return array[(0,) * array.ndim]


def map_numbers(tree, function):
    """A container with function(number) in place of its Vars and Duals, single ones or arrays; all
    else as it is.

    Object arrays are containers.
    """
    cad_enter_recursion(" while going through a container")
    try:
        return map_checked(tree, function)
    finally:
        Py_LeaveRecursiveCall()


cdef object map_checked(object tree, object function):
    if CAD_IS_VAR(tree) or CAD_IS_DUAL(tree):
        return function(tree)
    if cnp.PyArray_Check(tree):
        if tree.dtype != object:
            return tree
        return array_of([map_numbers(item, function) for item in tree.flat], shape(tree))
    if isinstance(tree, (list, tuple)):
        return rebuild_sequence(type(tree), [map_numbers(item, function) for item in tree])
    if isinstance(tree, dict):
        return rebuild_mapping(tree, [map_numbers(item, function) for item in tree.values()])
    return tree


def map_vars(atom, function):
    """function(atom) for a Var; a Dual with function(...) in place of the Vars that it consists of."""
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
    return map_numbers(tree, plain_value)


def strip(tree):
    """The same for the package's own use: what is recorded cannot be replayed then, if a replay may
    find the values changed."""
    if cad_guarding > 0:
        note_reading(tree)
    return map_numbers(tree, plain_value)


def vars_of(atom):
    """The recorded numbers that an atom is, or consists of: a list of Vars."""
    if CAD_IS_DUAL(atom):
        primal, tangent = dual_components(atom)
        parts = (primal, *tangent) if isinstance(tangent, tuple) else (primal, tangent)
        return [var for part in parts for var in vars_of(part)]
    return [atom] if CAD_IS_VAR(atom) and CAD_VAR(atom).tape != NULL else []


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


cpdef int ndim(x):
    """The number of axes of an array, with or without derivatives; 0 for a number."""
    return cad_ndim(x)


cpdef tuple shape(x):
    """The lengths of the axes of an array, with or without derivatives; () for a number."""
    return x.shape if cad_ndim(x) > 0 else ()


# --- arrays of numbers -------------------------------------------------------------------------

def numbers_array(list numbers, tuple shape):
    """An array of numbers of any kind: of floats if they are plain, else a Var or Dual."""
    cdef CadTape *tape
    cdef CadSlot slot, first
    cdef double value
    cdef bint plain = True
    tag = highest_tag(numbers)
    if tag > 0:
        return dual_array([split_dual(number, tag) for number in numbers], shape, tag)
    for number in numbers:
        plain = plain and (not CAD_IS_VAR(number) or CAD_VAR(number).kind == CAD_PASSIVE)
    if plain:
        return np.array([plain_value(x) for x in numbers], dtype=np.float64).reshape(shape)
    if not shape:
        return numbers[0]
    if len(shape) > MOST_AXES:
        raise ValueError(f"an array has at most {MOST_AXES} axes, not {len(shape)}")
    tape = cad_current_tape()
    check(cad_tape_grow(tape, len(numbers)))
    cad_tape_pin(tape)
    try:
        first = <CadSlot>tape.n_slots
        for number in numbers:
            check(cad_tape_ensure(tape))
            value = cad_primal(number)
            if CAD_IS_SCALAR(number):
                if CAD_VAR(number).tape != tape:
                    raise RuntimeError("Vars of two threads do not mix: pass cadiff.value(v)")
                slot = CAD_VAR(number).slot
                cad_tape_push(tape, CAD_CODE(CAD_OP_positive, 0), slot, slot, value)
            elif CAD_IS_VAR(number) and CAD_VAR(number).kind == CAD_STALE:
                cad_raise_stale()
            else:
                cad_tape_skip(tape, value)
        check(cad_tape_note_block(tape, first, tape.n_slots, CAD_ARGUMENT))
        cad_tape_use_singly(tape, first)
        return view_of(tape, first, shape)
    finally:
        cad_tape_unpin(tape)


cdef object dual_array(list pairs, tuple shape, tag):
    primals, tangents = [list(part) for part in zip(*pairs)]
    primal = numbers_array(primals, shape)
    lanes = lanes_of(primals, tangents)
    if lanes < 0:
        return make_dual(primal, numbers_array(tangents, shape), tag)
    rows = [lane for t in tangents for lane in (t if isinstance(t, tuple) else (t,) * lanes)]
    return make_dual(primal, numbers_array(rows, (*shape, lanes)), tag)


def gather_numbers(array):
    """An array of objects as an array of numbers."""
    cad_check_array(array)
    return numbers_array(array.ravel().tolist(), array.shape)


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


def settled(atom):
    """An atom as it leaves a differentiation: plain, where nothing in it carries a derivative."""
    if CAD_IS_DUAL(atom):
        return map_vars(atom, settled)
    return plain_value(atom) if is_constant(atom) else atom


cdef public object cad_settled(object atom):
    return settled(atom)


def constant_array(values):
    """An array Var of constants, which numbers with derivatives can be assigned to."""
    return cad_array_constant(cad_current_tape(), np.asarray(values, dtype=np.float64))


cpdef bint carries(tree) except -1:
    """Whether there is a Var or Dual in it: itself, or in a container or an object array."""
    if CAD_IS_VAR(tree) or CAD_IS_DUAL(tree):
        return True
    if isinstance(tree, (list, tuple)):
        for item in tree:
            if type(item) is not float and type(item) is not int and carries(item):
                return True
        return False
    if isinstance(tree, dict):
        for item in tree.values():
            if carries(item):
                return True
        return False
    if cnp.PyArray_Check(tree) and cnp.PyArray_TYPE(tree) == cnp.NPY_OBJECT:
        for item in tree.flat:
            if carries(item):
                return True
    return False


def is_stale(x):
    """Whether a number is a Var of a recording that is over."""
    return CAD_IS_VAR(x) and CAD_VAR(x).kind == CAD_STALE


def check_alive(atom):
    """Raise StaleVarError if an atom is of a recording that is over."""
    if CAD_IS_DUAL(atom):
        primal, tangent = dual_components(atom)
        check_alive(primal)
        for part in tangent if isinstance(tangent, tuple) else (tangent,):
            check_alive(part)
    elif CAD_IS_VAR(atom) and CAD_VAR(atom).kind == CAD_STALE:
        cad_raise_stale()


def matmul(x, y):
    """The matrix product of two arrays, at least one of which is a Var, and none a Dual."""
    cdef PyObject *product = cad_array_matmul(x, y)
    if product is NULL:
        found = [getattr(z, "dtype", type(z).__name__) for z in (x, y) if not CAD_IS_VAR(z)]
        raise TypeError(f"matmul takes arrays of real numbers, Vars and Duals, not {found[0]}")
    result = <object>product
    Py_DECREF(result)
    return result


def absorb(x, y):
    """x * y, in which an exact zero absorbs."""
    return cad_apply2(CAD_OP_amul, x, y)


def cross_entropy(logits, labels):
    """Losses and residuals of rows of logits: float64 of shape (rows, classes), and int64."""
    cdef cnp.ndarray x = np.ascontiguousarray(logits, dtype=np.float64)
    cdef cnp.ndarray right = np.ascontiguousarray(labels, dtype=np.int64)
    cdef cnp.ndarray losses = np.empty(len(x))
    cdef cnp.ndarray residuals = empty_like(x)
    cad_cross_entropy(
        <const double *>cnp.PyArray_DATA(x),
        <const int64_t *>cnp.PyArray_DATA(right),
        cnp.PyArray_DIM(x, 0),
        cnp.PyArray_DIM(x, 1),
        <double *>cnp.PyArray_DATA(losses),
        <double *>cnp.PyArray_DATA(residuals),
    )
    return losses, residuals


def operation_of(ufunc):
    """The function of the table that stands for a ufunc; None if there is none."""
    cdef int op = cad_find_op(ufunc)
    return None if op < 0 else getattr(sys.modules[__name__], cad_op_info[op].name.decode())


def register(functions, hook):
    """Tell NumPy's protocols where to go.

    functions: the registry, from NumPy's functions to those of the package. hook: called as
    hook(ufunc, method, inputs, kwargs) for what is no plain call of an operation of the table.
    """
    cad_register(functions, hook)


def is_constant(x):
    """Whether an array Var holds nothing that carries a derivative."""
    if not CAD_IS_VAR(x):
        return False
    if CAD_VAR(x).kind == CAD_PASSIVE:
        return True
    return CAD_VAR(x).kind == CAD_ARRAY and cad_tape_is_constant(CAD_VAR(x).tape, CAD_VAR(x).slot)


def part_of(x, function):
    """function(x), a view of an array Var: of the array itself, where NumPy has to copy."""
    cdef object array, part
    if not CAD_IS_VAR_ARRAY(x):
        raise TypeError(f"expected an array Var, not {type(x).__name__}")
    if CAD_VAR(x).kind == CAD_STALE:
        cad_raise_stale()
    for var in (x, None):
        if var is None:
            var = cad_array_copy(CAD_VAR(x))
        cad_tape_pin(CAD_VAR(var).tape)
        try:
            array = cad_var_transient(
                CAD_VAR(var), CAD_VAR(var).tape.values, cnp.NPY_ARRAY_WRITEABLE
            )
            part = function(array)
            if part.size == 0 or cad_is_in_values(CAD_VAR(var).tape, part):
                result = cad_var_part(CAD_VAR(var), part)
                if CAD_IS_VAR_ARRAY(result) and not part.flags.writeable:
                    cad_var_freeze(CAD_VAR(result))
                return result
        finally:
            cad_tape_unpin(CAD_VAR(var).tape)
    raise TypeError("not a view of the array")


def is_in_order(x):
    """Whether the elements of an array Var stand one behind the other, in C order."""
    return cad_var_is_contiguous(CAD_VAR(x)) != 0


def write_into(target, key, value):
    """target[key] = value in an array Var that was just made: no former values are kept."""
    place = part_of(target, lambda array: array[key])
    cad_array_write(CAD_VAR(place), value)


def active_array(shape):
    """An array Var of zeros that is about to be written to."""
    return active_zeros(cad_current_tape(), tuple(shape))


# --- the gradient ------------------------------------------------------------------------------

def value_and_grad(f, tuple argnums, bint single, bint has_aux, tuple args, dict kwargs, name):
    """Run f once, sweep once: (value, gradient, aux); aux is None without has_aux.

    `name` is what the user called, for error messages.
    """
    cdef Recording recording = Recording.__new__(Recording, args, argnums, True, f)
    aux = None
    try:
        out = PyObject_Call(f, recording.lifted, kwargs)
        if has_aux:
            out, aux = split_aux(out)
        number = out if CAD_IS_SCALAR(out) else scalar_output(out, name=name)
        gradient = recording.gradient(number)
        recording.check_unchanged()
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

cdef dict running = {}  # by tape: the forward differentiations under way, outer ones first


@cython.final
cdef class Forward:
    """A forward differentiation along so many lanes (-1: a single direction): a context.

    Entering it gives the tag of its Duals. While it is under way, Duals made by hand are given
    higher tags: to them its variables are constants. An interrupt finds it entered or left.
    """

    cdef object lanes
    cdef object call      # (function, args): for error messages, if they are to say more
    cdef object suspects

    def __init__(self, lanes=-1, call=None):
        self.lanes = lanes
        self.call = call

    def __enter__(self):
        cdef CadTape *tape = cad_current_tape()
        if tape.hook != NULL and self.call is not None:
            f, args = self.call
            self.suspects = note_suspects(tape, f, args)
        tape.running_tag = cad_fresh_tag()
        running.setdefault(<size_t>tape, []).append((tape.running_tag, self.lanes))
        return tape.running_tag

    def __exit__(self, *_):
        cdef CadTape *tape = cad_current_tape()
        cdef list under_way = running[<size_t>tape]
        if self.suspects is not None:
            forget_suspects(tape, self.suspects)
        under_way.pop()
        tape.running_tag = under_way[len(under_way) - 1][0] if under_way else 0
        if not under_way:
            del running[<size_t>tape]


@cython.final
cdef class ForwardThen:
    """The forward differentiations under way now, to be under way again later: a context."""

    cdef list then
    cdef list before

    def __init__(self):
        self.then = list(running_forward())
        self.before = []

    def __enter__(self):
        self.before.append(list(running_forward()))
        set_running(self.then)

    def __exit__(self, *_):
        set_running(self.before.pop())


cdef int set_running(list under_way) except -1:
    cdef CadTape *tape = cad_current_tape()
    tape.running_tag = under_way[len(under_way) - 1][0] if under_way else 0
    running.pop(<size_t>tape, None)
    if under_way:
        running[<size_t>tape] = list(under_way)
    return 0


def running_forward():
    """The forward differentiations under way in this thread: a list of (tag, lanes)."""
    return running.get(<size_t>cad_current_tape(), [])


def is_recording():
    """Whether this thread has Vars, or is about to make some."""
    cdef CadTape *tape = cad_current_tape()
    return tape.n_marks > 0 or cad_tape_all_handles(tape) > 0


def is_differentiating():
    """Whether a gradient function is at work in this thread."""
    cdef CadTape *tape = cad_current_tape()
    return tape.n_marks > 0 or tape.running_tag > 0


def tag_of(x):
    """The tag of a Dual; 0 for anything else."""
    return CAD_DUAL(x).tag if CAD_IS_DUAL(x) else 0


def sum_var(x, tuple axes, bint keepdims=False):
    """The sum of an array Var over axes, counted from the front."""
    return cad_array_sum(CAD_VAR(x), axes, keepdims)


def make_dual(primal, tangent, tag):
    """A Dual of the given tag. The tangent of a scalar: a number, or a tuple of lanes."""
    return cad_dual_from(primal, tangent, tag)


def dual_components(dual):
    """Primal and tangent as they are stored: lanes of a single number come as a tuple."""
    cdef CadDual *d = CAD_DUAL(dual)
    if d.kind == CAD_DUAL_ARRAY:
        return <object>d.primal_object, <object>d.tangent_object
    tangent = cad_dual_tangent(d)
    if cnp.PyArray_Check(tangent):
        tangent = tuple(tangent.tolist())
    return cad_dual_primal(d), tangent


def split_dual(number, tag):
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


def split_lanes(number, tag):
    """As split_dual, for a component that is itself a tangent: it has a single lane."""
    primal, tangent = split_dual(number, tag)
    if isinstance(tangent, tuple) or ndim(tangent) > ndim(primal):
        raise TypeError(
            "a Dual that was made by hand, or kept from an inner derivative, cannot be the result "
            "of a derivative along several directions"
        )
    return primal, tangent


def lanes_of(primals, tangents):
    """How many lanes some tangents have; -1 if all are single ones."""
    for primal, tangent in zip(primals, tangents):
        if isinstance(tangent, tuple):
            return len(tangent)
        if ndim(tangent) > ndim(primal):
            return shape(tangent)[ndim(tangent) - 1]
    return -1


def lane_of(primal, tangent, k):
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
    lanes = [settled(lane) for lane in lanes]
    tag = highest_tag(lanes)
    if tag > 0:
        primals, tangents = zip(*[split_dual(lane, tag) for lane in lanes])
        return make_dual(join_lanes(list(primals), primal), join_lanes(list(tangents), primal), tag)
    most = max(lanes, key=ndim)
    lanes = [lane if ndim(lane) == ndim(most) else spread_lanes(lane, shape(most)) for lane in lanes]
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


cdef object spread_lanes(object lane, tuple lengths):
    """A tangent that is the same along lanes of an inner derivative, for each of them."""
    return cad_apply2(CAD_OP_add, lane[..., None], np.zeros(lengths))


def stop_gradient(x):
    """The number without its derivative.

    A number stays a number: a Var gives a Var, a Dual a Dual of tangent 0. An array Var gives its
    values; lists, tuples, dicts and object arrays the same with values in place of numbers.
    """
    if CAD_IS_VAR(x):
        if cad_guarding > 0 and cad_guarded_tape(x) != NULL:
            return cad_apply1(CAD_OP_stop, x)  # for a replay, which finds another value
        if CAD_IS_VAR_ARRAY(x):
            return plain_value(x)
        return cad_var_passive(CAD_VAR(x).value)
    if CAD_IS_DUAL(x):
        tangent = cad_dual_tangent(CAD_DUAL(x))
        zero = np.zeros(shape(tangent)) if ndim(tangent) else 0.0
        if ndim(tangent) and CAD_DUAL(x).kind != CAD_DUAL_ARRAY:
            zero = tuple(zero.tolist())
        return cad_dual_from(stopped(x), zero, CAD_DUAL(x).tag)
    return map_numbers(x, stopped)


cdef object stopped(object number):
    """A number of a container, or a Dual's primal, without derivatives: its value."""
    if cad_guarding > 0 and cad_guarded_tape(number) != NULL:
        return cad_apply1(CAD_OP_stop, <object>cad_innermost(number))
    return plain_value(number)


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
    """What this thread's tape holds: entries, numbers, bytes in use, open recordings, Vars."""
    cdef CadTape *tape = cad_current_tape()
    return {
        "entries": tape.n_entries,
        "numbers": tape.n_slots,
        "nbytes": cad_tape_bytes(tape),
        "recordings": tape.n_marks,
        "handles": cad_tape_all_handles(tape),
    }


def _fail_allocations_after(long successes):
    """Let the core's next requests for memory pass, and all later ones fail; -1 ends it."""
    cad_memory_fail_after(successes)
