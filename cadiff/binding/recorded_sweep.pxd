# What other modules see of recorded_sweep.pyx.

cimport cython
from libc.stdint cimport int64_t, uint64_t

from .c_entries cimport *
from .tape cimport RuleCall


@cython.final
@cython.no_gc
cdef class RecordedSweep:
    cdef CadTape *tape
    cdef CadSlot base
    cdef size_t first
    cdef size_t last
    cdef bint linear          # what was recorded counts as constant
    cdef object region        # the adjoints, as a Var of one axis
    cdef CadSlot region_slot
    cdef bytearray touched    # for each place of the region: whether it was added to
    cdef list shadows         # (first slot, past the last one, slot of the copy, the copy)
    cdef list undone          # those shadows in which an assignment was undone
    cdef list captures        # (first slot, past the last one, place) of each

    cdef int run(self, list outputs, list seeds) except -1
    cdef list results_of_captures(self)
    cdef object result(self, object var)
    cdef int64_t place_of(self, int64_t slot)
    cdef bint is_touched(self, int64_t low, int64_t high)
    cdef void touch(self, int64_t low, int64_t high)
    cdef void touch_places(self, int64_t first, int64_t count)
    cdef object adjoint_of(self, object var)
    cdef object number_of(self, CadSlot slot)
    cdef object pick(self, CadSlot slot)
    cdef int add_to(self, object place, object term) except -1
    cdef CadSlot source_of(self, CadSlot slot)
    cdef int cast_shadows(self) except -1
    cdef int step(self, size_t i) except -1
    cdef object number(self, CadSlot slot, bint passive)
    cdef object product(self, int op, int k, object g, list operands, object v)
    cdef int step_assign_number(self, CadEntry e) except -1
    cdef int write_shadow(self, CadSlot place, tuple shape, tuple strides, object value) except -1
    cdef object operand(self, CadPlan *plan, int k, bint plain)
    cdef object place(self, CadPlan *plan, int k)
    cdef int step_array(self, CadEntry e, int op) except -1
    cdef CadPlan *copy_plan(self, CadEntry e) except NULL
    cdef bint is_touched_view(self, CadPlan *plan, int k)
    cdef int step_row(self, int op, CadPlan *plan) except -1
    cdef int step_kind(self, int op, CadPlan *plan) except -1
    cdef object requested(self, CadPlan *plan, const CadPull *pull, int view,
                          uint64_t shortened, bint is_target=*)
    cdef object offsets(self, CadPlan *plan)
    cdef object indexed_part(self, CadPlan *plan)
    cdef int step_gather(self, CadEntry e, CadPlan *plan) except -1
    cdef int step_add_at(self, CadEntry e, CadPlan *plan) except -1
    cdef object kept(self, CadEntry e, tuple shape)
    cdef int step_assign(self, CadEntry e, CadPlan *plan) except -1
    cdef int step_scatter(self, CadEntry e, CadPlan *plan) except -1
    cdef int add_at_source(self, object source, object positions, object g) except -1
    cdef int step_rule(self, size_t i) except -1
    cdef object pull(self, RuleCall call, list outs, list cotangents)
    cdef int check_unchanged(self, list operands) except -1
    cdef object shadowed(self, tuple place)


cdef RecordedSweep new_sweep(CadTape *tape, size_t first, size_t last, CadSlot base,
                             size_t n_slots, bint linear, captures)
