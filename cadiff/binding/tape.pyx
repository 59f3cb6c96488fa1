"""What stands on the tape, as Python sees it: views of numbers, and what entries say.

An array Var is a view of slots. This module makes views, tells what they are of, and reads
entries, their plans and calls of rules; it knows arrays and single numbers, but no containers and
no Duals.
"""

import numpy as np

cimport cython
from libc.stdint cimport int64_t

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_tape cimport *


cdef class Context:
    """What a thread does otherwise for one `with`, and until the object goes if nothing leaves it.

    From CPython 3.14 on an interrupt may come when `__enter__` has returned and the block has not
    begun. A subclass changes the state of the thread in `__enter__`, calls `begin` with what was
    there before, and restores that in `end`. What it has itself is gone by then.
    """

    cdef int begin(self, object before) except -1:
        self.before = before
        self.entered = cad_current_tape()
        return 0

    cdef int end(self, CadTape *tape, object before) except -1:
        raise NotImplementedError

    def __exit__(self, *_):
        self.leave()

    def __dealloc__(self):
        self.leave()

    cdef int leave(self) except -1:
        cdef CadTape *tape = self.entered
        before, self.before = self.before, None
        self.entered = NULL
        return 0 if tape == NULL else self.end(tape, before)


cdef int check_axes(tuple shape) except -1:
    if len(shape) > MOST_AXES:
        raise ValueError(f"an array has at most {MOST_AXES} axes, not {len(shape)}")
    return 0


cdef object view_of(CadTape *tape, CadSlot slot, tuple shape):
    """A contiguous view of slots; a number for ()."""
    cdef Py_ssize_t lengths[MOST_AXES]
    check_axes(shape)
    for i, length in enumerate(shape):
        lengths[i] = length
    return cad_var_view(tape, slot, <int>len(shape), lengths, NULL, 0)


cdef object strided_view(CadTape *tape, CadSlot slot, tuple shape, tuple strides):
    cdef Py_ssize_t lengths[MOST_AXES]
    cdef Py_ssize_t steps[MOST_AXES]
    check_axes(shape)
    for i in range(len(shape)):
        lengths[i] = shape[i]
        steps[i] = strides[i]
    return cad_var_view(tape, slot, <int>len(shape), lengths, steps, 0)


cdef object view_at(CadTape *tape, tuple place):
    return strided_view(tape, place[0], place[1], place[2])


cdef object active_zeros(CadTape *tape, tuple shape):
    """Zeros to be added to."""
    zeros = cad_array_constant(tape, np.zeros(shape))
    cad_tape_activate(tape, CAD_VAR(zeros).slot)
    return zeros


cdef bint on_tape(object atom, CadTape *tape, CadSlot base):
    """Whether an atom was recorded on the tape since `base`."""
    return CAD_IS_VAR(atom) and CAD_VAR(atom).tape == tape and CAD_VAR(atom).slot >= base


cdef bint is_gone(object mark):
    """Whether a number that marks a place on the tape was never made, or was rewound."""
    return mark is None or CAD_VAR(mark).kind == CAD_STALE


cpdef bint is_constant(x):
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
        return cad_var_stale(np.asarray(function(cad_var_values(x))))
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


def constant_array(values):
    """An array Var of constants, which numbers with derivatives can be assigned to."""
    return cad_array_constant(cad_current_tape(), np.asarray(values, dtype=np.float64))


def sum_var(x, tuple axes, bint keepdims=False):
    """The sum of an array Var over axes, counted from the front."""
    return cad_array_sum(CAD_VAR(x), axes, keepdims)


def is_stale(x):
    """Whether a number is a Var of a recording that is over."""
    return CAD_IS_VAR(x) and CAD_VAR(x).kind == CAD_STALE


cdef object empty_like(object array):
    """A fresh float64 array of a shape."""
    return cnp.PyArray_SimpleNew(
        cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE
    )


@cython.final
cdef class RuleCall:
    """One call of a rule: where its operands and results stand, as (slot, shape, strides)."""


cdef class DirectRule:
    """A rule that sweeps carry out without Python."""

    cdef int pull_here(self, CadTape *tape, size_t index) except -1:
        """Hand on the adjoints of the results of an entry."""
        raise NotImplementedError

    cdef int push_here(self, CadTape *tape, size_t index, const CadAlong *along) except -1:
        """The tangents of the results, all lanes."""
        raise NotImplementedError

    cdef int pull_along(self, CadTape *tape, size_t index, const CadAlong *along) except -1:
        """Hand on the adjoints of the results, and their tangents, all lanes."""
        raise NotImplementedError

    cdef int slopes_here(self, CadTape *tape, size_t index, CadSlopes *slopes) except -1:
        """The derivatives of the results by the operands, one by one."""
        raise NotImplementedError

    cdef int insert_into(self, CadGraph *graph, const CadId *operands, CadId *results) except -1:
        """What it computes of numbers of a graph, as further numbers, for all its slots."""
        raise NotImplementedError


cdef object rule_at(CadTape *tape, size_t index):
    """The rule of an entry."""
    cdef CadPlan *plan = cad_tape_plan(tape, tape.entries[index])
    return (<tuple>(<list>tape.rules)[cad_plan_extra(plan)[0]])[0]


cdef RuleCall rule_call(CadTape *tape, size_t index):
    cdef CadEntry e = tape.entries[index]
    cdef CadPlan *plan = cad_tape_plan(tape, e)
    cdef int64_t *place = cad_plan_extra(plan)
    cdef CadOperand *operand
    cdef RuleCall call = RuleCall.__new__(RuleCall)
    number, count = place[0], place[1]
    place += 2
    call.operands = []
    for _ in range(count):
        operand = cad_next_operand(&place)
        ndim = operand.ndim
        call.operands.append((
            operand.slot,
            tuple([operand.shape_and_strides[i] for i in range(ndim)]),
            tuple([operand.shape_and_strides[ndim + i] for i in range(ndim)]),
        ))
    call.rule, shapes = (<list>tape.rules)[number]
    call.outs = []
    slot = <int64_t>e.out
    for shape in shapes:
        strides = []
        size = 1
        for length in reversed(shape):
            strides.insert(0, size)
            size *= length
        call.outs.append((slot, shape, tuple(strides)))
        slot += size
    return call


cdef tuple rule_views(CadTape *tape, size_t index):
    """The rule of an entry, its operands and its results: two lists of Vars."""
    cdef CadEntry e = tape.entries[index]
    cdef int64_t *place = cad_plan_extra(cad_tape_plan(tape, e))
    cdef CadSlot slot = e.out
    cdef CadOperand *operand
    cdef list operands = [], outs = []
    cdef object out
    rule, shapes = <tuple>(<list>tape.rules)[place[0]]
    count = place[1]
    place += 2
    for _ in range(count):
        operand = cad_next_operand(&place)
        operands.append(cad_var_view(
            tape, <CadSlot>operand.slot, <int>operand.ndim,
            <const Py_ssize_t *>operand.shape_and_strides,
            <const Py_ssize_t *>operand.shape_and_strides + operand.ndim, 0,
        ))
    for lengths in <list>shapes:
        out = view_of(tape, slot, lengths)
        outs.append(out)
        slot += <CadSlot>CAD_VAR(out).view.size if CAD_IS_VAR_ARRAY(out) else 1
    return rule, operands, outs


cdef bint are_zero(list cotangents):
    """Whether floats and contiguous float64 arrays hold nothing but zeros."""
    cdef Py_ssize_t i
    cdef const double *numbers
    for cotangent in cotangents:
        if not cnp.PyArray_Check(cotangent):
            if <double>cotangent != 0.0:
                return False
            continue
        numbers = <const double *>cnp.PyArray_DATA(cotangent)
        for i in range(cnp.PyArray_SIZE(cotangent)):
            if numbers[i] != 0.0:
                return False
    return True


cdef object rule_name(object rule):
    """What the user calls the operation of a rule."""
    return getattr(getattr(rule, "operation", rule), "_name", type(rule).__name__)


cdef object entry_name(CadTape *tape, size_t entry):
    """What an operation is called."""
    cdef int op = <int>CAD_CODE_OP(tape.entries[entry].code)
    if cad_entry_is_rule(tape.entries[entry]):
        return rule_name(rule_call(tape, entry).rule)
    return cad_op_info[op].name.decode()


def read_plan(cnp.ndarray plans, Py_ssize_t at):
    """A plan that was copied: its shape, views as (slot, strides), the passive ones as bits, where
    its indices stand (or -1), and what else it holds."""
    cdef CadPlan *plan = <CadPlan *>(<int64_t *>cnp.PyArray_DATA(plans) + at)
    cdef int64_t *view
    cdef int ndim = plan.ndim
    views = []
    for k in range(plan.n_views):
        view = cad_plan_view(plan, k)
        views.append((view[0], tuple([view[1 + i] for i in range(ndim)])))
    shape = tuple([cad_plan_shape(plan)[i] for i in range(ndim)])
    extra = [cad_plan_extra(plan)[i] for i in range(plan.n_extra)]
    return shape, views, plan.passive, plan.index, extra
