"""Reverse sweeps whose steps are recorded: cotangents that can be differentiated again.

Their steps are entries of the tape like any others. Where everything recorded is arithmetic on
single numbers a sweep in C does it. The sweeps in C have all formulas; none stands here.
"""

from math import prod

import numpy as np

cimport cython
from cpython.float cimport PyFloat_FromDouble
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .generated.sweeps cimport *
from .generated.tape cimport *
from .tape cimport (
    active_zeros, Checks, checks_of, enter_step, leave_step, on_tape, plan_shape, plan_strides,
    plan_view, rule_views, step_under_way, strided_view, view_of,
)
from .atoms cimport shape
from .recording cimport Recording

from .atoms import numbers_array


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

    cdef int sweep_back(self, list outputs, list seeds) except -1:
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
        """View k of a plan: see plan_view."""
        cdef CadSlot slot = self.source_of(<CadSlot>cad_plan_view(plan, k)[0])
        var = plan_view(self.tape, plan, k, slot)
        return cad_plain_value(var) if plain or self.linear else var

    cdef object place(self, CadPlan *plan, int k):
        """View k of a plan in the region; None if the region does not have it."""
        cdef int64_t first = self.place_of(cad_plan_view(plan, k)[0])
        if first < 0:
            return None
        return plan_view(self.tape, plan, k, self.region_slot + <CadSlot>first)

    cdef int step_array(self, CadEntry e, int op) except -1:
        cdef CadPlan *on_tape = cad_tape_plan(self.tape, e)
        cdef CadPlan *plan = <CadPlan *>new_memory(on_tape.words, sizeof(int64_t))
        memcpy(plan, on_tape, on_tape.words * sizeof(int64_t))  # which moves as steps are appended
        try:
            if op == CAD_OP_ASSIGN:
                self.step_assign(e, plan)
            elif op == CAD_OP_SCATTER:
                self.step_scatter(e, plan)
            elif op == CAD_OP_ADD_AT:
                self.step_add_at(plan)
            elif not self.is_touched_view(plan, 0):
                pass
            elif op == CAD_OP_GATHER:
                self.step_gather(plan)
            elif cad_op_is_kind(<CadOp>op):
                self.step_kind(op, plan)
            else:
                self.step_row(op, plan)
        finally:
            cad_memory_free(plan)
        return 0

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
        cdef int which, j, outer
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
            outer = plan.ndim - cad_entry_kinds[pull.op].core
            cad_requested_axes(pull, plan.ndim, outer, cad_plan_view(plan, which) + 1, strides)
            summed = 0
            for j in range(plan.ndim):
                if cad_requested_sum(pull, plan.ndim, j, strides):
                    summed |= <uint64_t>1 << j
            factors = []
            for j in range(cad_entry_kinds[pull.op].n_views - 1):
                factors.append(self.requested(plan, pull, pull.of[j], ~<uint64_t>0))
                operands[j] = <PyObject *>factors[j]
            target = self.requested(plan, pull, which, summed, True)
            cad_requested_axes(pull, plan.ndim, outer, cad_plan_shape(plan), strides)
            for j in range(plan.ndim):
                shape[j] = strides[j]
            self.add_to(target, cad_array_kind(pull.op, operands, plan.ndim, shape, summed))
        return 0

    cdef object requested(self, CadPlan *plan, const CadPull *pull, int view, uint64_t shortened,
                          bint is_target=False):
        """A view for a request, in the region or among the values. Axes along which it stays where
        it is have length 1, if their bits are in `shortened`."""
        cdef int outer = plan.ndim - cad_entry_kinds[pull.op].core
        cdef int64_t shape[CAD_MOST_AXES]
        cdef int64_t strides[CAD_MOST_AXES]
        cdef int64_t slot = cad_plan_view(plan, view)[0]
        cdef int i
        cad_requested_axes(pull, plan.ndim, outer, cad_plan_shape(plan), shape)
        cad_requested_axes(pull, plan.ndim, outer, cad_plan_view(plan, view) + 1, strides)
        lengths = tuple([
            1 if strides[i] == 0 and shortened >> i & 1 else shape[i] for i in range(plan.ndim)
        ])
        steps = tuple([strides[i] for i in range(plan.ndim)])
        if is_target or view == CAD_G:
            slot = self.region_slot + self.place_of(slot)
            return strided_view(self.tape, <CadSlot>slot, lengths, steps)
        var = strided_view(self.tape, self.source_of(<CadSlot>slot), lengths, steps)
        return cad_plain_value(var) if self.linear or plan.passive >> view & 1 else var

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

    cdef int step_gather(self, CadPlan *plan) except -1:
        cdef int64_t *extra = cad_plan_extra(plan)
        target = self.indexed_part(plan)
        if target is not None and not plan.passive & 2:
            cad_array_add_at(CAD_VAR(target), self.offsets(plan), self.place(plan, 0))
            self.touch(extra[0], extra[1])
        return 0

    cdef int step_add_at(self, CadPlan *plan) except -1:
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
        shape, strides = plan_shape(plan) or (1,), plan_strides(plan, 0) or (1,)
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
        cdef CadSlot slot
        rule, operands, outs = rule_views(self.tape, i)
        cotangents = []
        any_touched = False
        for out in outs:
            slot = CAD_VAR(out).slot
            touched = self.is_touched(slot, slot + max(prod(shape(out)), 1) - 1)
            any_touched = any_touched or touched
            if not touched:
                cotangents.append(np.zeros(shape(out)) if shape(out) else 0.0)
            else:
                place = self.adjoint_of(out)
                cotangents.append(place if shape(out) else self.pick(CAD_VAR(place).slot))
        if not any_touched:
            return 0
        for operand, term in zip(operands, self.pull_of_rule(rule, operands, outs, cotangents)):
            if term is not None and self.place_of(CAD_VAR(operand).slot) >= 0:
                self.add_to(self.adjoint_of(operand), term)
        return 0

    cdef object pull_of_rule(self, object rule, list given, list results, list cotangents):
        """What a rule makes of cotangents."""
        operands = [self.shadowed(operand) for operand in given]
        outs = [self.shadowed(out) for out in results]
        if rule.runs_again:
            self.check_unchanged(operands)
            return rule.record_again(given, outs, cotangents, self.linear)
        if self.linear:
            operands = [cad_plain_value(operand) for operand in operands]
            outs = [cad_plain_value(out) for out in outs]
        return rule.pull_cotangents(operands, outs, cotangents)

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

    cdef object shadowed(self, object var):
        slot = self.source_of(CAD_VAR(var).slot)
        if CAD_IS_VAR_ARRAY(var):
            return cad_var_like(CAD_VAR(var), slot)
        return cad_var_new(self.tape, slot, self.tape.values[slot])


cdef bint is_arithmetic(Recording recording):
    """Whether all that was recorded is of single numbers, none of which is assigned to."""
    cdef size_t i
    for i in range(recording.begin(), recording.tape.n_entries):
        if CAD_IS_ARRAY_ENTRY(recording.tape.entries[i]) or cad_entry_assigns_number(
            recording.tape.entries[i]
        ):
            return False
    return True


cdef bint have_arrays(list numbers):
    for number in numbers or ():
        if CAD_IS_VAR_ARRAY(number):
            return True
    return False


cdef list pull_recorded(Recording recording, list outputs, list seeds, bint linear=False):
    """The cotangents of all inputs, as numbers that can be differentiated again.

    Seeds are plain or Vars. With `linear`, what was recorded counts as constant.
    """
    if recording.n_atoms == 0:
        return []
    recording.kept = True
    former = step_under_way(recording.tape)
    cad_tape_pin(recording.tape)
    try:
        if have_arrays(outputs) or have_arrays(recording.inputs) or not is_arithmetic(recording):
            return pull_arrays(recording, outputs, seeds, linear)
        return pull_numbers(recording, outputs, seeds, linear)
    finally:
        leave_step(recording.tape, former)
        cad_tape_unpin(recording.tape)


cdef RecordedSweep swept(Recording recording, list outputs, list seeds, bint linear, captures):
    """A recorded sweep from outputs; `captures`: Vars of lower slots, whose cotangents are wanted,
    too. With `linear`, what was recorded counts as constant."""
    cdef RecordedSweep sweep = RecordedSweep.__new__(RecordedSweep)
    cdef size_t size
    sweep.tape = recording.tape
    sweep.linear = linear
    sweep.base = recording.base()
    sweep.first, sweep.last = recording.begin(), recording.end(outputs)
    size = recording.slots(sweep.last)
    sweep.captures = []
    for var in captures:
        low = CAD_VAR(var).slot
        sweep.captures.append((low, low + var.size, size))
        size += var.size
    sweep.touched = bytearray(size)
    sweep.region = active_zeros(sweep.tape, (size,))
    sweep.region_slot = CAD_VAR(sweep.region).slot
    sweep.shadows = []
    sweep.undone = []
    sweep.sweep_back(outputs, seeds)
    return sweep


cdef list pull_arrays(Recording recording, list outputs, list seeds, bint linear):
    """The cotangents of all inputs, to be differentiated again, whatever was recorded."""
    cdef RecordedSweep sweep = swept(recording, outputs, seeds, linear, ())
    cdef CadSlot slot
    if recording.block is None:
        return [sweep.result(var) for var in recording.inputs]
    slot = CAD_VAR(recording.block).slot
    atoms = []
    for shape in recording.structure.shapes:
        atoms.append(sweep.result(view_of(recording.tape, slot, shape)))
        slot += <CadSlot>prod(shape)
    return atoms


cdef list pull_numbers(Recording recording, list outputs, list seeds, bint linear):
    """The cotangents of all inputs, to be differentiated again, where everything recorded is
    arithmetic on single numbers."""
    cdef CadSlot base = recording.base(), slot
    cdef size_t i, end = recording.end(outputs), n_slots = recording.slots(end)
    cdef Py_ssize_t k
    cdef Checks checks
    cdef CadNumber *adjoints = <CadNumber *>new_memory(n_slots, sizeof(CadNumber))
    try:
        for i in range(n_slots):
            adjoints[i].value = 0.0
            adjoints[i].slot = CAD_NONE
        for k in range(len(outputs)):
            if on_tape(outputs[k], recording.tape, base):
                seed_recorded(recording, &adjoints[CAD_VAR(outputs[k]).slot - base], seeds[k])
        checks = checks_of(recording.tape)
        if checks is None:
            check(cad_sweep_record(recording.tape, recording.begin(), end, base, linear, adjoints))
        else:
            checks.sweep_record(recording.tape, recording.begin(), end, base, linear, adjoints)
        numbers = []
        for k in range(recording.n):
            i = k if recording.block is not None else CAD_VAR(recording.inputs[k]).slot - base
            if adjoints[i].slot == CAD_NONE:
                numbers.append(PyFloat_FromDouble(adjoints[i].value))
            else:
                numbers.append(cad_var_new(recording.tape, adjoints[i].slot, adjoints[i].value))
    finally:
        cad_memory_free(adjoints)
    return numbers if recording.block is None else join(recording, numbers)


cdef list join(Recording recording, list numbers):
    """Numbers of any kind, one for each input, as atoms."""
    atoms = []
    offset = 0
    for shape in recording.structure.shapes:
        size = prod(shape)
        part = numbers[offset : offset + size]
        atoms.append(numbers_array(part, shape) if shape != () else part[0])
        offset += size
    return atoms


cdef int seed_recorded(Recording recording, CadNumber *adjoint, object seed) except -1:
    """Add a seed to an adjoint of a recorded sweep: one output may stand in several places."""
    seed = cad_widened(seed)
    if adjoint.slot != CAD_NONE or adjoint.value != 0.0:
        here = adjoint.value
        if adjoint.slot != CAD_NONE:
            here = cad_var_new(recording.tape, adjoint.slot, adjoint.value)
        seed = cad_apply2(CAD_OP_add, here, seed)
    if CAD_IS_SCALAR(seed) and CAD_VAR(seed).tape != recording.tape:
        raise RuntimeError("the cotangent is a Var of another thread: pass cadiff.value(v)")
    adjoint.value = cad_primal(seed)
    adjoint.slot = CAD_VAR(seed).slot if CAD_IS_SCALAR(seed) else CAD_NONE
    return 0


def record_pull_of_captures(Recording recording, list outputs, list seeds, list captures,
                            bint linear) -> list[Any]:
    """Cotangents of captures that can be differentiated again, for cotangents of outputs that may
    be Vars.

    With `linear`, what was recorded counts as constant, and becomes that.
    """
    cdef RecordedSweep sweep
    cdef size_t begin = recording.begin(), end = recording.end(outputs)
    recording.kept = True
    cad_tape_pin(recording.tape)
    try:
        sweep = swept(recording, outputs, seeds, linear, captures)
        cotangents = [
            sweep.result(view_of(sweep.tape, low, (high - low,))) for low, high, _ in sweep.captures
        ]
        if linear:
            cad_freeze(recording.tape, begin, end)
    finally:
        cad_tape_unpin(recording.tape)
    return cotangents
