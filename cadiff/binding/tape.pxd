# What other modules see of tape.pyx.

cimport cython

from .generated.entries cimport *
from .generated.sweeps cimport *
from .generated.graph cimport CadGraph, CadId


cdef enum:
    MOST_AXES = 64


cdef int check_axes(tuple shape) except -1
cpdef bint is_in_order(x)
cdef object view_of(CadTape *tape, CadSlot slot, tuple shape)
cdef object strided_view(CadTape *tape, CadSlot slot, tuple shape, tuple strides)
cdef object view_at(CadTape *tape, tuple place)
cdef tuple plan_shape(CadPlan *plan)
cdef tuple plan_strides(CadPlan *plan, int k)
cdef object plan_view(CadTape *tape, CadPlan *plan, int k, CadSlot slot)
cdef object active_zeros(CadTape *tape, tuple shape, bint is_single=*)
cdef bint on_tape(object atom, CadTape *tape, CadSlot base)
cdef bint is_gone(object mark)
cpdef bint is_constant(x)
cdef object empty_like(object array)


cdef class Context:
    cdef CadTape *entered   # NULL: not entered, or left
    cdef object before

    cdef int begin(self, object before) except -1
    cdef int end(self, CadTape *tape, object before) except -1
    cdef int leave(self) except -1


cdef class DirectRule:
    cdef int pull_here(self, CadTape *tape, size_t index) except -1
    cdef int push_here(self, CadTape *tape, size_t index, const CadAlong *along) except -1
    cdef int pull_along(self, CadTape *tape, size_t index, const CadAlong *along) except -1
    cdef int slopes_here(self, CadTape *tape, size_t index, CadSlopes *slopes) except -1
    cdef int insert_into(self, CadGraph *graph, const CadId *operands, CadId *results) except -1


cdef object rule_at(CadTape *tape, size_t index)
cdef tuple rule_views(CadTape *tape, size_t index)
cdef bint are_zero(list cotangents)
cdef object rule_name(object rule)
cdef object entry_name(CadTape *tape, size_t entry)


cdef class Checks:
    cdef list suspects      # names of inputs that were not finite when a function was called
    cdef object step        # (name, place) of the operation that is being differentiated, ...
    cdef object step_frame  # ... and the frame that asked for that

    cdef list suspects_of(self, object f, tuple args)
    cdef int look_at_array(self, Hook hook, tuple shape) except -1
    cdef int look_at_rule(self, object rule, list operands, list results) except -1
    cdef int sweep_record(self, CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                          CadNumber *adjoints) except -1


@cython.final
cdef class Hook:
    cdef CadTape *tape
    cdef CadHook functions
    cdef list shapes      # by the numbers that origins have for them
    cdef dict shape_numbers
    cdef int users        # how many have set it
    cdef Checks checks    # of each step; or None


cdef Hook add_hook(CadTape *tape)
cdef int remove_hook(Hook hook) except -1
cdef Hook hook_of(CadTape *tape)
cdef Checks checks_of(CadTape *tape)
cdef object enter_step(CadTape *tape, size_t entry)
cdef object step_under_way(CadTape *tape)
cdef int leave_step(CadTape *tape, object former) except -1
cdef object note_suspects(CadTape *tape, object f, tuple args)
cdef int forget_suspects(CadTape *tape, object suspects) except -1
cdef int look_at_rule(CadTape *tape, object rule, list operands, list results) except -1


cdef CadSlot constant_slot(CadTape *tape, object atom) except? 0
cdef int note_rule_at(CadTape *tape, tuple rule) except -1
cdef bint are_mixed(list atoms) except -1
cpdef bint takes_entries() except -1
