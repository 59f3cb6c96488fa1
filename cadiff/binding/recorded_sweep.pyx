"""The reverse sweep, recorded, where arrays or rules take part: its results can be differentiated.

It knows a stretch of the tape, but not the recording that the stretch belongs to.
"""

from math import prod

import numpy as np

cimport cython
from cpython.float cimport PyFloat_FromDouble
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from . cimport c_numpy as cnp
from .c_tape cimport *
from .c_sweeps cimport *
from .c_numbers cimport *
from .tape cimport (
    active_zeros,
    on_tape,
    rule_call,
    RuleCall,
    strided_view,
    view_at,
    view_of,
    enter_step,
)


@cython.final
@cython.no_gc
cdef class RecordedSweep:
    """A reverse sweep over entries of the tape that appends its own steps to the tape.

    The adjoints of all slots of the recording are one more array on the tape, the region: what is
    added to it, and taken from it, are entries like any others. Blocks that the recorded function
    assigned to are read from shadows: copies of them in which the assignments are undone one by
    one. Where what was recorded counts as constant, they are undone in place meanwhile.

    After the slots of the recording, the region has those of the captures: Vars that were there
    before it, whose cotangents are wanted as well.
    """

    cdef int run(self, list outputs, list seeds) except -1:
        """Sweep, from these cotangents of outputs on."""
        cdef size_t i
        if not self.linear:
            self.cast_shadows()
        for output, seed in zip(outputs, seeds):
            if on_tape(output, self.tape, self.base):
                self.add_to(self.adjoint_of(output), seed)
        i = self.last
        try:
            while i > self.first:
                i -= 1
                if self.tape.hook != NULL:
                    enter_step(self.tape, i)
                self.step(i)
                if self.linear:
                    cad_sweep_undo(self.tape, i, i + 1)
        finally:
            if self.linear:
                cad_sweep_redo(self.tape, i, self.last)
        return 0

    cdef list results_of_captures(self):
        """The cotangents of the captures."""
        return [
            self.result(view_of(self.tape, low, (high - low,))) for low, high, _ in self.captures
        ]

    cdef object result(self, object var):
        """The cotangent of a Var."""
        cdef size_t low, high
        cad_var_bounds(CAD_VAR(var), &low, &high)
        if var.size == 0 or not self.is_touched(low, high):
            return np.zeros(var.shape) if var.shape else 0.0
        place = self.adjoint_of(var)
        return place.copy() if var.shape else self.pick(CAD_VAR(place).slot)

    # --- places

    cdef int64_t place_of(self, int64_t slot):
        """The place in the region of the adjoint of a slot; -1 if there is none."""
        if slot >= self.base:
            return slot - self.base
        for low, high, place in self.captures:
            if low <= slot < high:
                return place + (slot - low)
        return -1

    cdef bint is_touched(self, int64_t low, int64_t high):
        cdef const unsigned char *flags = self.touched
        cdef int64_t place, count
        if low < self.base <= high:  # what lies below was never of interest
            low = self.base
        place = self.place_of(low)
        for count in range(high - low + 1 if place >= 0 else 0):
            if flags[place + count]:
                return True
        return False

    cdef void touch(self, int64_t low, int64_t high):
        self.touch_places(self.place_of(low), high - low + 1)

    cdef void touch_places(self, int64_t first, int64_t count):
        cdef unsigned char *flags = self.touched
        memset(flags + first, 1, count)

    cdef object adjoint_of(self, object var):
        """The place of a Var in the region."""
        if CAD_IS_VAR_ARRAY(var):
            place = self.region_slot + <CadSlot>self.place_of(CAD_VAR(var).slot)
            return cad_var_like(CAD_VAR(var), place)
        return self.number_of(CAD_VAR(var).slot)

    cdef object number_of(self, CadSlot slot):
        """The adjoint of a single number, to be added to."""
        cdef CadSlot place = self.region_slot + <CadSlot>self.place_of(slot)
        return cad_var_new(self.tape, place, self.tape.values[place])

    cdef object pick(self, CadSlot slot):
        """A number of the region as it is now."""
        return cad_var_pick(CAD_VAR(self.region), slot)

    cdef int add_to(self, object place, object term) except -1:
        """Add to a place of the region."""
        cdef size_t low, high
        cad_var_bounds(CAD_VAR(place), &low, &high)
        cad_array_accumulate(CAD_VAR(place), term)
        self.touch_places(low - self.region_slot, high - low + 1)
        return 0

    cdef CadSlot source_of(self, CadSlot slot):
        """Where the value that a slot had at this point of the recording stands now."""
        for begin, end, copy_slot, _ in self.shadows:
            if begin <= slot < end:
                return <CadSlot>(copy_slot + (slot - begin))
        return slot

    cdef int cast_shadows(self) except -1:
        """Copy each block that was assigned to."""
        cdef size_t i, low, high
        cdef CadEntry e
        if self.tape.n_assigned == 0:
            return 0
        for i in range(self.first, self.last):
            e = self.tape.entries[i]
            if not cad_entry_overwrites(e):
                continue
            if cad_entry_target(self.tape, e, &low) and self.source_of(<CadSlot>low) == low:
                cad_tape_allocation(self.tape, low, &low, &high)
                copied = view_of(self.tape, <CadSlot>low, (high - low,)).copy()
                self.shadows.append((low, high, CAD_VAR(copied).slot, copied))
        return 0

    # --- steps

    cdef int step(self, size_t i) except -1:
        cdef CadEntry e = self.tape.entries[i]
        cdef int op = <int>CAD_CODE_OP(e.code)
        if op == CAD_OP_LEAF or op == CAD_OP_THIRD:
            return 0
        if cad_entry_is_rule(e):
            return self.step_rule(i)
        if CAD_IS_ARRAY_ENTRY(e):
            return self.step_array(e, op)
        if cad_entry_assigns_number(e):
            return self.step_assign_number(e)
        if not self.is_touched(e.out, e.out):
            return 0
        third = self.tape.entries[i - 1].a if cad_op_info[op].arity == 3 else e.a
        places = [e.a, e.b, third][: cad_op_info[op].arity]
        passive = e.code & 3
        numbers = [
            self.number(place, passive >> k & 1 and len(places) < 3)
            for k, place in enumerate(places)
        ]
        v = self.number(e.out, False)
        g = self.pick(self.region_slot + e.out - self.base)
        for k, place in enumerate(places):
            if self.place_of(place) >= 0 and not (passive >> k & 1 and len(places) < 3):
                term = self.product(op, k, g, numbers, v)
                if term is not None:
                    self.add_to(self.number_of(place), term)
        return 0

    cdef object number(self, CadSlot slot, bint passive):
        """The operand of an entry on single numbers."""
        slot = self.source_of(slot)
        if passive or self.linear:
            return PyFloat_FromDouble(self.tape.values[slot])
        return cad_var_new(self.tape, slot, self.tape.values[slot])

    cdef object product(self, int op, int k, object g, list operands, object v):
        """The contribution to operand k; None if it is certainly zero."""
        cdef object x = operands[0]
        cdef object y = operands[1] if len(operands) > 1 else x
        cdef object z = operands[2] if len(operands) > 2 else x
        partial = cad_object_partial(op, k, x, y, z, v)
        if type(partial) is float:
            if partial == 0.0:
                return None
            if partial == 1.0:
                return g
        return cad_apply2(CAD_OP_amul, g, partial)

    cdef int step_assign_number(self, CadEntry e) except -1:
        cdef CadSlot place
        if not self.linear:
            place = self.source_of(e.a)
            self.write_shadow(place, (), (), self.number(e.out, False))
        if not self.is_touched(e.a, e.a) and not self.is_touched(e.out, e.out):
            return 0
        g = self.pick(self.region_slot + e.a - self.base)
        former = self.pick(self.region_slot + e.out - self.base)
        self.region[<Py_ssize_t>(e.a - self.base)] = former
        self.touch(e.a, e.a)
        if not e.code & CAD_PASSIVE_B and self.place_of(e.b) >= 0:
            self.add_to(self.number_of(e.b), g)
        return 0

    cdef int write_shadow(self, CadSlot place, tuple shape, tuple strides, object value) except -1:
        """Undo an assignment in the copy of its target."""
        for shadow in self.shadows:
            _, _, copy_slot, copied = shadow
            if copy_slot <= place < copy_slot + copied.size:
                self.undone.append(shadow)
                part = copied if shape else copied[place - copy_slot : place - copy_slot + 1]
                if shape:
                    part = strided_view(self.tape, place, shape, strides)
                cad_array_assign(CAD_VAR(part), Ellipsis, value)
        return 0

    cdef object operand(self, CadPlan *plan, int k, bint plain):
        """View k of a plan, of its whole shape; a single element is an array of one."""
        cdef int64_t *view = cad_plan_view(plan, k)
        shape = tuple([cad_plan_shape(plan)[i] for i in range(plan.ndim)]) or (1,)
        strides = tuple([view[i + 1] for i in range(plan.ndim)]) or (1,)
        var = strided_view(self.tape, self.source_of(<CadSlot>view[0]), shape, strides)
        return plain_value(var) if plain or self.linear else var

    cdef object place(self, CadPlan *plan, int k):
        """View k of a plan in the region; None if the region does not have it."""
        cdef int64_t *view = cad_plan_view(plan, k)
        cdef int64_t first = self.place_of(view[0])
        if first < 0:
            return None
        shape = tuple([cad_plan_shape(plan)[i] for i in range(plan.ndim)]) or (1,)
        strides = tuple([view[i + 1] for i in range(plan.ndim)]) or (1,)
        slot = self.region_slot + <CadSlot>first
        return strided_view(self.tape, slot, shape, strides)

    cdef int step_array(self, CadEntry e, int op) except -1:
        cdef CadPlan *plan = self.copy_plan(e)
        try:
            if op == CAD_OP_ASSIGN:
                self.step_assign(e, plan)
            elif op == CAD_OP_SCATTER:
                self.step_scatter(e, plan)
            elif op == CAD_OP_ADD_AT:
                self.step_add_at(e, plan)
            elif not self.is_touched_view(plan, 0):
                pass
            elif op == CAD_OP_GATHER:
                self.step_gather(e, plan)
            elif cad_op_is_kind(<CadOp>op):
                self.step_kind(op, plan)
            else:
                self.step_row(op, plan)
        finally:
            cad_memory_free(plan)
        return 0

    cdef CadPlan *copy_plan(self, CadEntry e) except NULL:
        """The plan of an entry: the tape's own moves when something is appended."""
        cdef CadPlan *plan = cad_tape_plan(self.tape, e)
        cdef CadPlan *copied = <CadPlan *>cad_memory_resize(NULL, plan.words, sizeof(int64_t))
        if copied == NULL:
            check(CAD_NO_MEMORY)
        memcpy(copied, plan, plan.words * sizeof(int64_t))
        return copied

    cdef bint is_touched_view(self, CadPlan *plan, int k):
        cdef int64_t low, high
        cad_plan_bounds(plan, k, &low, &high)
        return self.is_touched(low, high)

    cdef int step_row(self, int op, CadPlan *plan) except -1:
        cdef int k
        g = self.place(plan, 0)
        operands = [
            self.operand(plan, k, plan.passive >> k & 1) for k in range(1, plan.n_views)
        ]
        v = self.operand(plan, 0, False)
        for k in range(1, plan.n_views):
            place = None if plan.passive >> k & 1 else self.place(plan, k)
            if place is not None:
                term = self.product(op, k - 1, g, operands, v)
                if term is not None:
                    self.add_to(place, term)
        return 0

    cdef int step_kind(self, int op, CadPlan *plan) except -1:
        """Carry out the request of each operand."""
        cdef int which, j, own
        cdef int64_t strides[CAD_MOST_AXES]
        cdef Py_ssize_t shape[CAD_MOST_AXES]
        cdef const CadPull *pull
        cdef PyObject *operands[2]
        cdef uint64_t summed
        for which in range(1, plan.n_views):
            if plan.passive >> which & 1 or self.place_of(cad_plan_view(plan, which)[0]) < 0:
                continue
            pull = &cad_entry_kinds[op].pull[which - 1]
            if pull.op == CAD_OP_SUM:  # which adding is
                self.add_to(self.place(plan, which), self.place(plan, 0))
                continue
            own = plan.ndim - cad_entry_kinds[pull.op].core
            cad_requested_axes(pull, plan.ndim, own, cad_plan_view(plan, which) + 1, strides)
            summed = 0
            for j in range(plan.ndim):
                if cad_requested_sum(pull, plan.ndim, j, strides):
                    summed |= <uint64_t>1 << j
            factors = []
            for j in range(cad_entry_kinds[pull.op].n_views - 1):
                factors.append(self.requested(plan, pull, pull.of[j], ~<uint64_t>0))
                operands[j] = <PyObject *>factors[j]
            target = self.requested(plan, pull, which, summed, True)
            cad_requested_axes(pull, plan.ndim, own, cad_plan_shape(plan), strides)
            for j in range(plan.ndim):
                shape[j] = strides[j]
            self.add_to(target, cad_array_kind(pull.op, operands, plan.ndim, shape, summed))
        return 0

    cdef object requested(self, CadPlan *plan, const CadPull *pull, int view, uint64_t shortened,
                          bint is_target=False):
        """A view for a request, in the region or among the values. Axes along which it stays where
        it is have length 1, if their bits are in `shortened`."""
        cdef int own = plan.ndim - cad_entry_kinds[pull.op].core
        cdef int64_t shape[CAD_MOST_AXES]
        cdef int64_t strides[CAD_MOST_AXES]
        cdef int64_t slot = cad_plan_view(plan, view)[0]
        cdef int i
        cad_requested_axes(pull, plan.ndim, own, cad_plan_shape(plan), shape)
        cad_requested_axes(pull, plan.ndim, own, cad_plan_view(plan, view) + 1, strides)
        lengths = tuple([
            1 if strides[i] == 0 and shortened >> i & 1 else shape[i] for i in range(plan.ndim)
        ])
        steps = tuple([strides[i] for i in range(plan.ndim)])
        if is_target or view == CAD_G:
            slot = self.region_slot + self.place_of(slot)
            return strided_view(self.tape, <CadSlot>slot, lengths, steps)
        var = strided_view(self.tape, self.source_of(<CadSlot>slot), lengths, steps)
        return plain_value(var) if self.linear or plan.passive >> view & 1 else var

    cdef object offsets(self, CadPlan *plan):
        indices = np.empty(plan.size, np.int64)
        memcpy(
            cnp.PyArray_DATA(indices),
            self.tape.values + plan.index,
            plan.size * sizeof(int64_t),
        )
        return indices

    cdef object indexed_part(self, CadPlan *plan):
        """What offsets count in, as a part of the region; None if the region does not have it."""
        cdef int64_t *extra = cad_plan_extra(plan)
        cdef int64_t first = self.place_of(extra[0])
        return None if first < 0 else self.region[first : first + extra[1] + 1 - extra[0]]

    cdef int step_gather(self, CadEntry e, CadPlan *plan) except -1:
        cdef int64_t *extra = cad_plan_extra(plan)
        target = self.indexed_part(plan)
        if target is not None and not plan.passive & 2:
            cad_array_add_at(CAD_VAR(target), self.offsets(plan), self.place(plan, 0))
            self.touch(extra[0], extra[1])
        return 0

    cdef int step_add_at(self, CadEntry e, CadPlan *plan) except -1:
        cdef int64_t *extra = cad_plan_extra(plan)
        target = self.indexed_part(plan)
        source = self.place(plan, 0)
        if target is not None and source is not None and not plan.passive & 1:
            if self.is_touched(extra[0], extra[1]):
                self.add_to(source, target[self.offsets(plan)])
        return 0

    cdef object kept(self, CadEntry e, tuple shape):
        """The adjoint of what an assignment overwrote: 0.0, most often."""
        if not self.is_touched(e.out, e.out + e.b - 1):
            return 0.0
        return view_of(self.tape, self.region_slot + e.out - self.base, shape)

    cdef int step_assign(self, CadEntry e, CadPlan *plan) except -1:
        cdef int64_t *view = cad_plan_view(plan, 0)
        cdef int64_t low, high
        shape = tuple([cad_plan_shape(plan)[i] for i in range(plan.ndim)]) or (1,)
        strides = tuple([view[i + 1] for i in range(plan.ndim)]) or (1,)
        if not self.linear:
            former = view_of(self.tape, e.out, shape)
            self.write_shadow(self.source_of(<CadSlot>view[0]), shape, strides, former)
        if not self.is_touched_view(plan, 0) and not self.is_touched(e.out, e.out + e.b - 1):
            return 0
        slot = self.region_slot + <CadSlot>view[0] - self.base
        target = strided_view(self.tape, slot, shape, strides)
        source = None if plan.passive & 2 else self.place(plan, 1)
        if source is not None:
            self.add_to(source, target.copy())
        cad_array_assign(CAD_VAR(target), Ellipsis, self.kept(e, shape))
        cad_plan_bounds(plan, 0, &low, &high)
        self.touch(low, high)
        return 0

    cdef int step_scatter(self, CadEntry e, CadPlan *plan) except -1:
        cdef int64_t *extra = cad_plan_extra(plan)
        indices = self.offsets(plan)
        # Of several assignments to one target the last one counts, and the first one undoes all.
        _, first = np.unique(indices, return_index=True)
        _, behind = np.unique(indices[::-1], return_index=True)
        last = plan.size - 1 - behind
        if not self.linear:
            former = view_of(self.tape, e.out, (plan.size,))
            for shadow in self.shadows:
                begin, end, _, copied = shadow
                if begin <= extra[0] < end:
                    self.undone.append(shadow)
                    copied[indices[first] + (extra[0] - begin)] = former[first]
        if not self.is_touched(extra[0], extra[1]) and not self.is_touched(e.out, e.out + e.b - 1):
            return 0
        target = self.indexed_part(plan)
        source = None if plan.passive & 1 else self.place(plan, 0)
        kept = self.kept(e, (plan.size,))
        if source is not None:
            g = target[indices[last]]
            # What overwrote another one's value: its kept value was that one's source.
            self.add_at_source(source, last, g)
            if type(kept) is not float:
                order = np.argsort(indices, kind="stable")
                again = np.flatnonzero(np.diff(indices[order]) == 0)
                if again.size:
                    self.add_at_source(source, order[again], kept[order[again + 1]])
        target[indices[first]] = kept if type(kept) is float else kept[first]
        self.touch(extra[0], extra[1])
        return 0

    cdef int add_at_source(self, object source, object positions, object g) except -1:
        cdef size_t low, high
        cdef CadSlot slot = CAD_VAR(source).slot
        cad_var_bounds(CAD_VAR(source), &low, &high)
        if low == high:  # one number for all targets
            self.add_to(cad_var_new(self.tape, slot, self.tape.values[slot]), g.sum())
            return 0
        cad_array_add_at(CAD_VAR(source), positions, g)
        self.touch_places(low - self.region_slot, high - low + 1)
        return 0

    cdef int step_rule(self, size_t i) except -1:
        cdef RuleCall call = rule_call(self.tape, i)
        outs = [self.shadowed(place) for place in call.outs]
        cotangents = []
        found = False
        for out in call.outs:
            place = self.adjoint_of(view_at(self.tape, out))
            touched = self.is_touched(out[0], out[0] + max(prod(out[1]), 1) - 1)
            found = found or touched
            if not touched:
                cotangents.append(np.zeros(out[1]) if out[1] else 0.0)
            else:
                cotangents.append(place if out[1] else self.pick(CAD_VAR(place).slot))
        if not found:
            return 0
        for place, term in zip(call.operands, self.pull(call, outs, cotangents)):
            if term is not None and self.place_of(place[0]) >= 0:
                self.add_to(self.adjoint_of(view_at(self.tape, place)), term)
        return 0

    cdef object pull(self, RuleCall call, list outs, list cotangents):
        """What a rule makes of cotangents."""
        operands = [self.shadowed(place) for place in call.operands]
        if call.rule.runs_again:
            self.check_unchanged(operands)
            operands = [view_at(self.tape, place) for place in call.operands]
            return call.rule.record_again(operands, outs, cotangents, self.linear)
        if self.linear:
            operands = [plain_value(operand) for operand in operands]
            outs = [plain_value(out) for out in outs]
        return call.rule.pull(operands, outs, cotangents)

    cdef int check_unchanged(self, list operands) except -1:
        """Raise RuntimeError if operands have been assigned to since they were read."""
        for operand in operands:
            for _, _, copy_slot, copied in self.undone:
                if copy_slot <= CAD_VAR(operand).slot < copy_slot + copied.size:
                    raise RuntimeError(
                        "an array that a checkpointed or implicit function has read was assigned "
                        "to afterwards: for derivatives of higher order assign to a copy"
                    )
        return 0

    cdef object shadowed(self, tuple place):
        slot, shape, strides = place
        slot = self.source_of(slot)
        if shape == ():
            return cad_var_new(self.tape, slot, self.tape.values[slot])
        return strided_view(self.tape, slot, shape, strides)


cdef RecordedSweep new_sweep(CadTape *tape, size_t first, size_t last, CadSlot base,
                             size_t n_slots, bint linear, captures):
    """A sweep back from entry `last` to `first`, which use `n_slots` slots from `base` on;
    `captures`: Vars of lower slots. With `linear`, what was recorded counts as constant."""
    cdef RecordedSweep sweep = RecordedSweep.__new__(RecordedSweep)
    cdef size_t size = n_slots
    sweep.tape = tape
    sweep.linear = linear
    sweep.base = base
    sweep.first = first
    sweep.last = last
    sweep.captures = []
    for var in captures:
        low = CAD_VAR(var).slot
        sweep.captures.append((low, low + var.size, size))
        size += var.size
    sweep.touched = bytearray(size)
    sweep.region = active_zeros(tape, (size,))
    sweep.region_slot = CAD_VAR(sweep.region).slot
    sweep.shadows = []
    sweep.undone = []
    return sweep
