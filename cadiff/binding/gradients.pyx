"""What is pulled back through a recording: gradients, and cotangents of any kind.

Results are plain if outputs and seeds are plain and depend on nothing outside of the recording;
else they can be differentiated again: a recorded sweep, whose steps are entries like any others.
The sweeps in C have all formulas; none stands here.
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
from .complexes cimport is_complex
from .trees cimport opened
from .tape cimport (
    active_zeros, Checks, checks_of, enter_step, leave_step, on_tape, plan_shape, plan_strides,
    plan_view, rule_views, step_under_way, strided_view, view_of,
)
from .atoms cimport carries, highest_tag, only_number, shape
from .arguments cimport ArgumentNode
from .recording cimport note_error, Recording

from . import foreign_names
from .atoms import join_lanes, lane_of, lanes_of, make_dual, numbers_array, split_dual


# --- the reverse sweep, recorded, where arrays or rules take part


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


cdef int pull_plain(Recording recording, list outputs, list seeds) except -1:
    """Leave the cotangents of all inputs in the adjoints; seeds are plain."""
    cdef size_t end
    if recording.n > 0:
        end = recording.end(outputs)
        recording.clear(end)
        for output, seed in zip(outputs, seeds):
            if on_tape(output, recording.tape, recording.base()):
                cad_var_seed(CAD_VAR(output), seed)
        recording.sweep(end)
    return 0


cdef list plain_cotangents(Recording recording):
    """Of each atom: a float or an array."""
    if recording.block is not None:
        return recording.cut(
            adjoints_of(recording.tape, CAD_VAR(recording.block).slot, recording.n)
        )
    return [cad_var_adjoint(CAD_VAR(var)) for var in recording.inputs]


cdef object gradient(Recording recording, object number):
    """The gradient of one number, as a tuple with one entry for each argnum."""
    if CAD_IS_DUAL(number) or recording.block is None or not recording.is_closed([number]):
        cotangents = pull_atoms(recording, [number], [1.0])
        return tuple([(<ArgumentNode>node).from_cotangents(cotangents) for node in recording.nodes])
    return plain_gradient(recording, number, 1.0)


def pull_one(Recording recording, out: Var, seed: float | NDArray[np.float64]) -> tuple[Any, ...]:
    """The cotangents of all arguments for that of an output that depends on nothing else."""
    recording.check_alive()
    return plain_gradient(recording, out, seed)


cdef tuple plain_gradient(Recording recording, object out, object seed):
    """Cotangents of all arguments for one of an output, where nothing else is involved: a sweep
    writes the adjoints of large arrays straight into the results."""
    cdef CadSlot base = CAD_VAR(recording.block).slot
    cdef list leaves = recording.leaves or []
    cdef ArgumentNode leaf
    cdef size_t end
    try:
        if recording.n > 0:
            end = recording.end([out])
            recording.clear(end)
            for leaf in leaves:
                leaf.lend(recording.tape, base)
            if on_tape(out, recording.tape, base):
                cad_var_seed(CAD_VAR(out), seed)
            recording.sweep(end)
        for leaf in leaves:
            leaf.read_adjoints(recording.tape, base)
    finally:
        for leaf in leaves:
            leaf.take_back(recording.tape, base)
    return tuple([(<ArgumentNode>node).from_read() for node in recording.nodes])


cdef bint is_arithmetic(Recording recording):
    """Whether all that was recorded is of single numbers, none of which is assigned to."""
    cdef size_t i
    for i in range(recording.begin(), recording.tape.n_entries):
        if CAD_IS_ARRAY_ENTRY(recording.tape.entries[i]) or cad_entry_assigns_number(
            recording.tape.entries[i]
        ):
            return False
    return True


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
        arrays = any([CAD_IS_VAR_ARRAY(var) for var in outputs + (recording.inputs or [])])
        if arrays or not is_arithmetic(recording):
            return pull_arrays(recording, outputs, seeds, linear)
        return pull_numbers(recording, outputs, seeds, linear)
    finally:
        leave_step(recording.tape, former)
        cad_tape_unpin(recording.tape)


cdef RecordedSweep swept(Recording recording, list outputs, list seeds, bint linear, captures):
    """A recorded sweep from outputs; `captures`: Vars whose cotangents are wanted, too."""
    cdef CadSlot base = recording.base()
    cdef size_t begin = recording.begin(), end = recording.end(outputs)
    cdef RecordedSweep sweep = new_sweep(
        recording.tape, begin, end, base, recording.slots(end), linear, captures
    )
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


cdef list pull_linear(Recording recording, list outputs, list seeds):
    """The cotangents of all inputs for seeds of any kind, where outputs depend on no captured
    variable: J is constant, so components of Duals are pulled one by one."""
    tag = highest_tag(seeds)
    if tag > 0:
        return by_components(recording, 
            [split_dual(seed, tag) for seed in seeds], tag,
            lambda part: pull_linear(recording, outputs, part),
        )
    for seed in seeds:
        if CAD_IS_VAR(seed):
            return pull_recorded(recording, outputs, seeds, True)
    pull_plain(recording, outputs, seeds)
    return plain_cotangents(recording)


cdef list pull_atoms(Recording recording, list outputs, list seeds):
    """The cotangents of all inputs for plain seeds, of outputs that may be Duals over this
    recording: a Dual's cotangents are the Duals of the cotangents of its components, since
    derivatives commute."""
    tag = highest_tag(outputs)
    if tag == 0:
        if recording.is_closed(outputs):
            return pull_linear(recording, outputs, seeds)
        return pull_recorded(recording, outputs, seeds)
    return by_components(recording, 
        [split_dual(output, tag) for output in outputs], tag,
        lambda part: pull_atoms(recording, part, seeds),
    )


cdef list by_components(Recording recording, list pairs, tag, pull, along=None):
    """Pull primals and tangents (lane by lane) one after the other; Duals of the results.

    along: pulls tangents, if that is not what `pull` does.
    """
    primals, tangents = [list(part) for part in zip(*pairs)]
    of_primals = pull(primals)
    along = along or pull
    lanes = lanes_of(primals, tangents)
    if lanes < 0:
        parts = along(tangents)
    else:
        columns = [
            along([lane_of(p, t, k) for p, t in zip(primals, tangents)]) for k in range(lanes)
        ]
        parts = [
            join_lanes([column[i] for column in columns], of_primals[i])
            for i in range(recording.n_atoms)
        ]
    return [make_dual(p, t, tag) for p, t in zip(of_primals, parts)]


cpdef list pull_recording(Recording recording, list outputs, list seeds):
    """Cotangents of all input atoms for cotangents of output atoms, of any kind."""
    cdef bint plain = True
    recording.check_alive()
    for seed in seeds:
        plain = plain and not (CAD_IS_VAR(seed) or CAD_IS_DUAL(seed))
    if len(outputs) == 0:
        return recording.cut(np.zeros(recording.n))
    if recording.plain_results(outputs):
        return pull_linear(recording, outputs, seeds)
    if plain:
        return pull_atoms(recording, outputs, seeds)
    return pull_product(recording, outputs, seeds)


cdef list pull_product(Recording recording, list outputs, list seeds):
    """Cotangents of all input atoms where outputs and seeds depend on captured variables.

    By the product rule, along a direction the cotangents change with the outputs, and with the
    seeds.
    """
    tag = max(highest_tag(outputs), highest_tag(seeds))
    if tag == 0:
        return pull_recorded(recording, outputs, seeds)
    pairs = [split_dual(number, tag) for number in outputs + seeds]
    n = len(outputs)
    primals = [primal for primal, _ in pairs]
    return by_components(recording, 
        pairs, tag,
        lambda parts: pull_recording(recording, parts[:n], parts[n:]),
        lambda parts: pull_recording(recording, parts[:n] + primals[:n], primals[n:] + parts[n:]),
    )


# --- of a function


def value_and_grad(f: Callable[..., Any], tuple argnums, bint single, bint has_aux, tuple args,
                   dict kwargs, name: str) -> tuple[Any, Any, Any]:
    """Run f once, sweep once: (value, gradient, aux); aux is None without has_aux.

    `name` is what the user called, for error messages.
    """
    cdef Recording recording = Recording.__new__(Recording, args, argnums, True, f)
    aux = None
    try:
        out = recording.run_function(f, kwargs)
        if has_aux:
            out, aux = split_aux(out)
        number = out if CAD_IS_SCALAR(out) else scalar_output(out, name=name)
        gradients = gradient(recording, number)
        recording.check_unchanged()
        if not recording.kept:
            number = recording.outlives(number)
        if has_aux:
            aux = recording.finalize(aux)
        return number, (<tuple>gradients)[0] if single else gradients, aux
    except Exception as error:
        note_error(recording.tape, error)
        raise
    finally:
        out = None  # numbers that are alive when the tape is rewound have to be found
        recording.close()


def scalar_output(out, *, name: str = "grad"):
    """The one number that f returned: a float, Var or Dual; anything else raises TypeError."""
    cdef double value
    cdef int kind
    if CAD_IS_VAR(out) and CAD_VAR(out).kind == CAD_SCALAR:
        return out
    if cad_is_single_number(out):
        if CAD_VAR(out).kind == CAD_STALE:
            cad_raise_stale()
        return out
    if isinstance(out, (bool, np.bool_)):
        raise TypeError(
            f"{name} wants a real number from f, not a bool: a comparison has no derivative; "
            "cadiff.where chooses between numbers"
        )
    kind = cad_classify(out, &value)
    if kind == CAD_PLAIN:
        return out if cad_is_single(out) else PyFloat_FromDouble(value)
    if kind == CAD_VAR_CLASS and CAD_VAR(out).kind == CAD_STALE:
        cad_raise_stale()
    if kind == CAD_VAR_CLASS or kind == CAD_DUAL_CLASS:
        return out
    if kind == CAD_ARRAY_CLASS:
        if out.size == 1:
            number = out.reshape(())[()] if cnp.PyArray_Check(out) else only_number(out)
            return scalar_output(number, name=name)
        raise TypeError(
            f"{name} wants one number from f, not an array of shape {out.shape}: use "
            "cadiff.jacobian for functions with several outputs, or return a sum"
        )
    if is_complex(out):
        raise TypeError(
            f"{name} wants a real number from f, not a complex one: return a real part of it "
            "(z.real, abs(z)), or, if f is holomorphic, ask for grad(f, holomorphic=True)"
        )
    if out is not None and opened(out) is not None:
        raise TypeError(
            f"{name} wants one number from f, not a {type(out).__name__}: use cadiff.jacobian for "
            "functions with several outputs, or has_aux=True to return something beside the number"
        )
    raise TypeError(
        f"{name} wants a real number from f, not {type(out).__name__}{foreign_names.of_result(out)}"
    )


def split_aux(out) -> tuple[Any, Any]:
    """The two things that f returns with has_aux=True."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            "with has_aux=True, f returns a pair (out, aux), not "
            + (
                f"a tuple of {len(out)}" if isinstance(out, tuple)
                else f"a {type(out).__name__}" if isinstance(out, (list, dict)) or not carries(out)
                else "out alone"
            )
        )
    return out


# --- cotangents of captures
#
# Captures are numbers that a recording reads and that were on the tape before it began. A part of a
# computation that leaves one rule on the tape, instead of all its entries, needs the derivatives by
# them.


def captures_of(Recording recording, list outputs) -> list[Var]:
    """The captures that outputs depend on: a list of vectors, Vars."""
    cdef CadTape *tape = recording.tape
    cdef CadRanges ranges
    cdef Py_ssize_t length
    cdef size_t i, begin = recording.begin(), end = recording.end(outputs)
    cdef CadSlot base = recording.base()
    check(cad_find_captures(tape, begin, end, base, &ranges))
    vectors = []
    try:
        for i in range(ranges.count):
            length = ranges.items[i].end - ranges.items[i].begin
            vectors.append(
                cad_var_view(tape, <CadSlot>ranges.items[i].begin, 1, &length, NULL, 0)
            )
    finally:
        cad_memory_free(ranges.items)
    return vectors


def pull_captures(Recording recording, list outputs, list seeds, list captures) -> list[Any]:
    """Plain cotangents of captures, for plain cotangents of outputs."""
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base(), lowest = base
    cdef size_t end = recording.end(outputs)
    for var in captures:
        lowest = min(lowest, CAD_VAR(var).slot)
    check(cad_tape_clear_adjoints(tape, lowest, base + recording.slots(end)))
    for output, seed in zip(outputs, seeds):
        if on_tape(output, tape, base):
            cad_var_seed(CAD_VAR(output), seed)
    recording.sweep(end)
    return [adjoints_of(tape, CAD_VAR(var).slot, var.size) for var in captures]


cdef object adjoints_of(CadTape *tape, CadSlot slot, Py_ssize_t count):
    """The adjoints that the last pass left, as a vector: of a leaf they are not its gradient."""
    cdef cnp.ndarray adjoints = cnp.new_doubles(count)
    cad_tape_read_adjoints(tape, slot, slot + count, cnp.doubles(adjoints))
    return adjoints


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


def are_within(list vectors, list others) -> bool:
    """Whether all slots of some vectors, Vars, are among those of others; both in their order."""
    cdef Py_ssize_t k = 0, n = len(others)
    cdef size_t low, high, begin, end
    for vector in vectors:
        cad_var_bounds(CAD_VAR(vector), &low, &high)
        while low <= high:
            if k == n:
                return False
            cad_var_bounds(CAD_VAR(others[k]), &begin, &end)
            if end < low:
                k += 1
            elif begin <= low:
                low = end + 1  # the rest may be in the next one
            else:
                return False
    return True
