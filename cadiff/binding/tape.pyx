"""What stands on the tape, as Python sees it: views of numbers, and what entries say.

An array Var is a view of slots. This module makes views, tells what they are views of, and reads
entries, their plans and calls of rules. It knows arrays and single numbers, but no containers and
no Duals.
"""

import sys
from operator import itemgetter

import numpy as np

cimport cython
from cpython.list cimport PyList_GET_SIZE
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_python cimport *
from .generated.tape cimport *
from .generated.sweeps cimport *
from .c_numbers cimport *


cdef class Context:
    """What a thread does otherwise for one `with`, and until the object goes if nothing leaves it.

    From CPython 3.14 on an interrupt may come when `__enter__` has returned and the block has not
    begun. A subclass changes the state of the thread in `__enter__`, calls `begin` with what was
    there before, and restores that in `end`. What it has itself is gone by then.
    """

    cdef CadTape *entered   # NULL: not entered, or left
    cdef object before

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


cdef object active_zeros(CadTape *tape, tuple shape, bint is_single=False):
    """Zeros to be added to, of float64 or float32."""
    zeros = cad_array_constant(tape, np.zeros(shape, np.float32 if is_single else np.float64))
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


def part_of(x, function: Callable[[NDArray[np.float64]], Any]):
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


cpdef bint is_in_order(x):
    """Whether the elements of an array, with derivatives or without, stand one behind the other, in
    C order. It is true of single numbers."""
    if CAD_IS_VAR_ARRAY(x):
        return cad_var_is_contiguous(CAD_VAR(x)) != 0
    return not cnp.PyArray_Check(x) or cnp.PyArray_IS_C_CONTIGUOUS(x)


def write_into(target, key, value) -> None:
    """target[key] = value in an array Var that was just made: no former values are kept."""
    place = part_of(target, itemgetter(key))
    cad_array_write(CAD_VAR(place), value)


def active_array(shape: Iterable[int], bint is_single=False) -> Var:
    """An array Var of zeros that is about to be written to, of float64 or float32."""
    return active_zeros(cad_current_tape(), tuple(shape), is_single)


def is_single(x) -> bool:
    """Whether a number or an array, with derivatives or without, is one of float32."""
    return cad_is_single(x)


def narrowed(x):
    """A number or an array, with derivatives or without, as one of float32."""
    return cad_narrowed(x)


def widened(x):
    """A number or an array of float32 as one of float64; all others as they are."""
    return cad_widened(x)


def constant_array(values: ArrayLike) -> Var:
    """An array Var of constants, which numbers with derivatives can be assigned to."""
    values = np.asarray(values)
    kind = np.float32 if cad_is_single(values) else np.float64
    return cad_array_constant(cad_current_tape(), values.astype(kind, copy=False))


def sum_var(x, tuple axes, bint keepdims=False):
    """The sum of an array Var over axes, counted from the front."""
    return cad_array_sum(CAD_VAR(x), axes, keepdims)


_KINDS = {cad_op_info[op].name.decode()[1:]: op for op in range(<int>CAD_OP_LEAF)}


def apply_kind(str name, tuple operands, tuple summed=()):
    """An operation of a kind (src/table/kinds.def) over array Vars, at least one of them, and
    plain arrays, of one shape but for axes of length 1; `summed` axes have length 1 in the
    result."""
    cdef PyObject *numbers[2]
    cdef uint64_t bits = 0
    cdef int k
    for k in range(<int>len(operands)):
        numbers[k] = <PyObject *>operands[k]
    for axis in summed:
        bits |= <uint64_t>1 << <int>axis
    return cad_array_kind(_KINDS[name], numbers, 0, NULL, bits)


def is_stale(x) -> bool:
    """Whether a number is a Var of a recording that is over."""
    return CAD_IS_VAR(x) and CAD_VAR(x).kind == CAD_STALE


cdef object empty_like(object array):
    """A fresh float64 array of a shape."""
    return cnp.PyArray_SimpleNew(
        cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE
    )


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
        numbers = cnp.doubles(cotangent)
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
        return rule_name(rule_at(tape, entry))
    return cad_op_info[op].name.decode()


cdef tuple plan_shape(CadPlan *plan):
    return tuple([cad_plan_shape(plan)[i] for i in range(plan.ndim)])


cdef tuple plan_strides(CadPlan *plan, int k):
    """Those of view k, in slots."""
    cdef int64_t *view = cad_plan_view(plan, k)
    return tuple([view[1 + i] for i in range(plan.ndim)])


cdef object plan_view(CadTape *tape, CadPlan *plan, int k, CadSlot slot):
    """View k of a plan, of its whole shape, from a slot on; a single element is an array of one."""
    return strided_view(tape, slot, plan_shape(plan) or (1,), plan_strides(plan, k) or (1,))


def read_plan(
    cnp.ndarray plans, Py_ssize_t at
) -> tuple[tuple[int, ...], list[tuple[int, tuple[int, ...]]], int, int, list[int]]:
    """A plan that was copied: its shape, views as (slot, strides), the passive ones as bits, where
    its indices stand (or -1), and what else it holds."""
    cdef CadPlan *plan = <CadPlan *>(<int64_t *>cnp.PyArray_DATA(plans) + at)
    views = [(cad_plan_view(plan, k)[0], plan_strides(plan, k)) for k in range(plan.n_views)]
    extra = [cad_plan_extra(plan)[i] for i in range(plan.n_extra)]
    return plan_shape(plan), views, plan.passive, plan.index, extra


# --- hooks ---------------------------------------------------------------------------------------
#
# Hooks on a tape, which are called while it records.
#
# A hook notes the shapes of arrays, which entries do not keep. It may have each step checked as
# well, by Checks, whose only subclass is that of nan_check. This module knows when to check, and
# which step is being differentiated, but not what is checked for.


cdef class Checks:
    """Checks of each step, in one thread; a subclass has the methods."""

    cdef list suspects      # names of inputs that were not finite when a function was called
    cdef object step        # (name, place) of the operation that is being differentiated, ...
    cdef object step_frame  # ... and the frame that asked for that

    def __cinit__(self):
        self.suspects = []

    cdef list suspects_of(self, object f, tuple args):
        """The numbers that a function is called with and that are not finite, by their names."""
        raise NotImplementedError

    cdef int look_at_array(self, Hook hook, tuple shape) except -1:
        """Check the values that the last entry computed, an array of this shape."""
        raise NotImplementedError

    cdef int look_at_rule(self, object rule, list operands, list results) except -1:
        """Check what a primitive returned."""
        raise NotImplementedError

    cdef int sweep_record(self, CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                          CadNumber *adjoints) except -1:
        """cad_sweep_record, with a check of each step."""
        raise NotImplementedError


@cython.final
cdef class Hook:
    """What is known of the entries of one tape while a hook is set on it."""

    cdef CadTape *tape
    cdef CadHook functions
    cdef list shapes      # by the numbers that origins have for them
    cdef dict shape_numbers
    cdef int users        # how many have set it
    cdef Checks checks    # of each step; or None


cdef dict hooks = {}  # by tape


cdef Hook add_hook(CadTape *tape):
    """The hook of a tape, set until remove_hook was called as often as this."""
    cdef Hook hook = hooks.get(<size_t>tape)
    if hook is None:
        hook = Hook.__new__(Hook)
        hook.tape = tape
        hook.functions.holder = <void *>hook
        hook.functions.array = on_array
        hook.shapes = [None]
        hook.shape_numbers = {}
        hooks[<size_t>tape] = hook
        cad_tape_set_hook(tape, &hook.functions)
    hook.users += 1
    return hook


cdef int remove_hook(Hook hook) except -1:
    hook.users -= 1
    if hook.users == 0:
        cad_tape_set_hook(hook.tape, NULL)
        del hooks[<size_t>hook.tape]
    return 0


cdef CadStatus on_array(void *holder, int ndim, const Py_ssize_t *shape) except CAD_RAISED:
    # The collector would run finalizers, and these may append entries.
    cdef bint collecting = PyGC_Disable()
    cdef Hook hook = <Hook>holder
    try:
        lengths = tuple([shape[i] for i in range(ndim)])
        number = hook.shape_numbers.get(lengths)
        if number is None:
            number = len(hook.shapes)
            hook.shapes.append(lengths)
            hook.shape_numbers[lengths] = number
        hook.tape.origins[hook.tape.n_entries - 1].shape = number
        if hook.checks is not None:
            hook.checks.look_at_array(hook, lengths)
        return CAD_OK
    finally:
        if collecting:
            PyGC_Enable()


cdef Hook hook_of(CadTape *tape):
    """The hook that is set on a tape."""
    return hooks[<size_t>tape]


cdef Checks checks_of(CadTape *tape):
    """The checks that are on for a tape; or None."""
    return None if tape.hook == NULL else hook_of(tape).checks


cdef object enter_step(CadTape *tape, size_t entry):
    """Have what is recorded from now on belong to the derivative of an entry; answers the former
    step, for leave_step."""
    cdef Checks checks = checks_of(tape)
    if checks is None:
        return None
    former = step_under_way(tape)
    step = entry_name(tape, entry), cad_tape_origin(tape, entry).place
    checks.step, checks.step_frame = step, sys._getframe()
    return former


cdef object step_under_way(CadTape *tape):
    """The step that is being differentiated, as enter_step answers it."""
    cdef Checks checks = checks_of(tape)
    return None if checks is None else (checks.step, checks.step_frame)


cdef int leave_step(CadTape *tape, object former) except -1:
    cdef Checks checks = checks_of(tape)
    if former is not None and checks is not None:
        checks.step, checks.step_frame = former
    return 0


cdef object note_suspects(CadTape *tape, object f, tuple args):
    """Remember which of the numbers that a function is called with are not finite."""
    cdef Checks checks = checks_of(tape)
    if checks is None:
        return None
    suspects = checks.suspects_of(f, args)
    checks.suspects.append(suspects)
    return suspects


cdef int forget_suspects(CadTape *tape, object suspects) except -1:
    cdef Checks checks = checks_of(tape)
    if checks is not None and suspects is not None:
        checks.suspects = [names for names in checks.suspects if names is not suspects]
    return 0


cdef int look_at_rule(CadTape *tape, object rule, list operands, list results) except -1:
    """Check what a primitive returned, if checks are on."""
    cdef Checks checks = checks_of(tape)
    return 0 if checks is None else checks.look_at_rule(rule, operands, results)


def is_hooked() -> bool:
    """Whether a hook is set on this thread's tape, as nan_check does."""
    return cad_current_tape().hook != NULL


def is_opened() -> bool:
    """Whether programs run their functions in this thread: see WithoutPrograms."""
    return cad_current_tape().open > 0


def recorded_shapes() -> AbstractContextManager[Any]:
    """A context in which the shapes of the arrays that this thread records are noted."""
    return ShapeHook()


@cython.final
cdef class ShapeHook(Context):
    def __enter__(self):
        self.begin(add_hook(cad_current_tape()))
        return self

    cdef int end(self, CadTape *tape, object hook) except -1:
        return remove_hook(hook)


# --- calls of programs as entries ----------------------------------------------------------------

cdef CadSlot constant_slot(CadTape *tape, object atom) except? 0:
    """Where a copy of the values of an atom begins."""
    cdef CadSlot slot
    cdef cnp.ndarray array
    if cad_ndim(atom) > 0 or cad_is_single(atom):  # of no axes an array, too
        array = np.ascontiguousarray(cad_plain_value(atom), dtype=np.float64)
        check(cad_tape_block(tape, cnp.PyArray_SIZE(array), False, &slot))
        memcpy(tape.values + slot, cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
    else:
        check(cad_tape_ensure(tape))
        slot = <CadSlot>tape.n_slots
        cad_tape_skip(tape, float(cad_plain_value(atom)))  # of a place in an array, too
    return slot


cdef int note_rule_at(CadTape *tape, tuple rule) except -1:
    """Add what a rule's entry refers to; of former recordings there may be more."""
    cdef list rules = <list>tape.rules
    if <size_t>PyList_GET_SIZE(rules) == tape.n_rules:
        rules.append(rule)
    else:
        rules[tape.n_rules :] = [rule]
    tape.n_rules += 1
    return 0


cdef bint are_mixed(list atoms) except -1:
    """Whether an element may be an operand in two ways: cotangents of it would be added in another
    order than by the operations that the function consists of."""
    cdef size_t low, high
    cdef Py_ssize_t end = -1
    cdef list known = []
    for atom in atoms:
        if CAD_IS_VAR(atom) and CAD_VAR(atom).tape != NULL:
            if CAD_IS_VAR_ARRAY(atom) and CAD_VAR(atom).view.size == 0:
                continue
            cad_var_bounds(CAD_VAR(atom), &low, &high)
            if CAD_IS_VAR_ARRAY(atom) and high - low + 1 < <size_t>CAD_VAR(atom).view.size:
                return True
            known.append((low, high))
    if len(known) < 2:
        return False
    known.sort()
    for first, last in known:
        if <Py_ssize_t>first <= end:
            return True
        end = last
    return False


def are_views_of_one(list atoms) -> bool:
    """Whether two elements of some arrays are one place in memory: an assignment to one is seen in
    the other."""
    return are_mixed([atom for atom in atoms if CAD_IS_VAR_ARRAY(atom)])


cpdef bint takes_entries() except -1:
    """Whether calls of programs may be entries of this thread's tape, or have to run functions."""
    cdef CadTape *tape = cad_current_tape()
    return tape.hook == NULL and tape.open == 0 and (
        tape.guards == NULL or not tape.guards.at_once
    )


@cython.final
cdef class WithoutPrograms(Context):
    """In this context calls of programs run their functions, whose entries sweeps can pass that
    have no code for a program's."""

    def __enter__(self) -> None:
        cad_current_tape().open += 1
        self.begin(None)

    cdef int end(self, CadTape *tape, object before) except -1:
        tape.open -= 1
        return 0
