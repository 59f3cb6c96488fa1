"""Programs on the tape: a call with numbers that carry derivatives is one entry.

The entry has the inputs as operands and the outputs as results; codes of the graph carry it out in
each sweep. A pull of it is a graph in its turn: a recorded sweep leaves a call of that program on
the tape, so that derivatives nest to any order. The containers of arguments and results, and the
choice of a recording, are not known here.

    put                   inputs                                        -> outputs
    reverse sweep         inputs, cotangents                            -> cotangents of inputs
    tangent sweep         inputs, tangents                              -> outputs, their tangents
    second-order sweep    inputs, cotangents, and the tangents of both  -> cotangents, tangents
    recorded sweep        an entry of the second row
"""

from math import prod

import numpy as np

cimport cython
from cpython.exc cimport PyErr_Clear
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .generated.graph cimport *
from .c_numbers cimport *
from .generated.program cimport *
from .generated.sweeps cimport *
from .generated.tape cimport *
from .tape cimport are_mixed, constant_slot, DirectRule, MOST_AXES, note_rule_at, view_of
from .atoms cimport active_of, atoms_of, highest_tag
from .codes cimport Code
from .rules cimport pull_rule, pull_rule_along, push_rule
from .graph_numbers cimport GraphTransaction, Ids
from .graphs cimport Graph
from .sparse cimport MatrixPlan

from .atoms import join_lanes, lane_of, lanes_of, make_dual, split_dual
from .sparse import plan_matrix

cdef enum SweepKind:
    PULL, PULL_ONTO, PUSH, SECOND, N_SWEEPS

cdef enum PartKind:
    PULLED         # a TapeProgram: inputs, cotangents -> cotangents of what is active
    PUSHED         # another: inputs, tangents of what is active -> outputs, their tangents
    ONTO           # the Code of a pull, added to what has arrived before, in the order of a sweep
    PULLED_ALONG   # the Code of PULLED, pushed by all its inputs that move
    SLOPES         # a MatrixPlan: inputs -> the Jacobian, by rows
    N_PARTS

cdef enum:
    MOST_CHOICES = 32  # of inputs that carry derivatives, for one recording


# --- numbers of views ----------------------------------------------------------------------------

cdef double *take(const double *at, const int64_t *lengths, const int64_t *strides, int64_t ndim,
                  double *to) noexcept nogil:
    """Copy the numbers of a view in order; answers where the next ones go."""
    cdef int64_t i
    if ndim == 0:
        to[0] = at[0]
        return to + 1
    if ndim == 1 and strides[0] == 1:
        memcpy(to, at, lengths[0] * sizeof(double))
        return to + lengths[0]
    for i in range(lengths[0]):
        to = take(at + i * strides[0], lengths + 1, strides + 1, ndim - 1, to)
    return to


cdef CadSlot *name(int64_t slot, const int64_t *lengths, const int64_t *strides, int64_t ndim,
                   CadSlot *to) noexcept nogil:
    """The slots of a view in order; answers where the next ones go."""
    cdef int64_t i
    if ndim == 0:
        to[0] = <CadSlot>slot
        return to + 1
    for i in range(lengths[0]):
        to = name(slot + i * strides[0], lengths + 1, strides + 1, ndim - 1, to)
    return to


cdef const double *give(double *at, const int64_t *lengths, const int64_t *strides, int64_t ndim,
                        const double *terms, bint instead) noexcept nogil:
    """Add terms to the numbers of a view in order, or write them `instead`; answers where the next
    ones stand."""
    cdef int64_t i
    if ndim == 0:
        at[0] = terms[0] if instead else at[0] + terms[0]
        return terms + 1
    for i in range(lengths[0]):
        terms = give(at + i * strides[0], lengths + 1, strides + 1, ndim - 1, terms, instead)
    return terms


cdef void bounds(const CadOperand *operand, int64_t *low, int64_t *high) noexcept nogil:
    """The lowest and highest slot of an operand; high < low if it is empty."""
    cdef int64_t i, reach
    low[0] = high[0] = operand.slot
    for i in range(operand.ndim):
        reach = (operand.shape_and_strides[i] - 1) * operand.shape_and_strides[operand.ndim + i]
        if operand.shape_and_strides[i] == 0:
            high[0] = low[0] - 1
            return
        if reach < 0:
            low[0] += reach
        else:
            high[0] += reach


# --- programs ------------------------------------------------------------------------------------

@cython.final
cdef class TapeProgram:
    """What a function recorded in a call, as a program that can be put on the tape.

    Inputs and outputs are atoms: numbers and arrays. Several threads may use it.
    """

    cdef Graph graph
    cdef str name
    cdef list inputs      # the shape of each
    cdef list outputs     # the shape of each
    cdef size_t n_outputs # numbers
    cdef bint is_pull     # of a program that is on the tape, with its guards
    cdef object otherwise # a rule that does the same where a derivative chooses in another way
    cdef Code values
    cdef dict choices     # by what is active, and whether the tape is to be replayed

    def __init__(self):
        raise TypeError("a TapeProgram comes from tape_program_of")

    cdef Code value(self):
        if self.values is None:
            with GraphTransaction(self.graph):
                if self.values is None:
                    self.values = self.graph.code_of("value")
        return self.values

    cdef ActiveProgram chosen(self, bint guarded, bytes active):
        """The program where some inputs carry derivatives, or (`guarded`) change in replays."""
        key = (active,) if guarded else active
        cdef ActiveProgram chosen = self.choices.get(key)
        if chosen is None:
            with GraphTransaction(self.graph):
                chosen = new_active_program(self, active, guarded)
                if len(self.choices) >= MOST_CHOICES:
                    self.choices.clear()
                self.choices[key] = chosen
        return chosen

    def shows(self) -> list[bool]:
        """Of each output whether it carries a derivative, if all inputs do."""
        return [shown != 0 for shown in self.chosen(False, bytes([1] * len(self.inputs))).shown]

    def call_program(self, list atoms) -> list[Any] | tuple[int, float] | None:
        """The outputs for these inputs, in atoms: Vars, floats and arrays; or a guard that has
        another outcome, and that; or None if only the function can tell."""
        cdef CadTape *tape = cad_current_tape()
        cdef bytes active
        for atom in atoms:
            if CAD_IS_DUAL(atom):
                return self.along(tape, atoms)
        active = active_of(tape, atoms, self.inputs)
        return None if active is None else self.put(tape, atoms, active)

    cdef object along(self, CadTape *tape, list atoms):
        """As `call_program`, for Duals: components are those of a push, which may be Vars or Duals."""
        cdef ActiveProgram chosen
        cdef TapeProgram pushed
        cdef Py_ssize_t k, n
        tag = highest_tag(atoms)
        if len(atoms) != len(self.inputs):
            return None
        active = bytes([CAD_IS_DUAL(atom) for atom in atoms])
        chosen = self.chosen(False, active)
        pushed = chosen.part(PUSHED)
        pairs = [split_dual(atom, tag) for atom in atoms]
        primals = [primal for primal, _ in pairs]
        tangents = [tangent for _, tangent in pairs]
        lanes = lanes_of(primals, tangents)
        if lanes == 0:
            return None
        by_lane = []
        for k in range(max(<Py_ssize_t>lanes, 1)):
            directions = [
                tangents[i] if lanes < 0 else lane_of(primals[i], tangents[i], k)
                for i in range(len(atoms)) if chosen.is_active(i)
            ]
            results = pushed.call_program(primals + directions)
            if type(results) is not list:
                return results
            by_lane.append(results)
        n = len(self.outputs)
        together = []
        for k in range(n):
            primal = by_lane[0][k]
            moved = [results[n + k] for results in by_lane]
            tangent = moved[0] if lanes < 0 else join_lanes(moved, primal)
            together.append(make_dual(primal, tangent, tag) if chosen.shows(k) else primal)
        return together

    cdef object put(self, CadTape *tape, list atoms, bytes active):
        """As `call_program`, if it is known which inputs carry derivatives."""
        cdef ActiveProgram chosen = self.chosen(tape.guards != NULL, active)
        cdef CadFilled filled
        cdef size_t entry
        cdef long missed
        cdef double outcome = 0.0
        cdef bint done = False
        self.value()
        check(cad_tape_ensure(tape))  # which may move slots
        cad_tape_pin(tape)
        filled = cad_tape_filled(tape)
        try:
            entry = self.append(tape, atoms, chosen)
            missed = self.compute(tape, entry, &outcome)
            if missed >= 0:
                return missed, outcome
            if missed == CAD_OUT_OF_BOUNDS:
                return None
            note_rule_at(tape, (chosen, self.outputs))
            chosen.note_guards(tape, tape.entries[entry].out)
            outputs = self.results(tape, chosen, tape.entries[entry].out)
            done = chosen.shows_any
            return outputs
        finally:
            if not done:
                cad_tape_take_back(tape, filled)
            cad_tape_unpin(tape)

    cdef size_t append(self, CadTape *tape, list atoms, ActiveProgram chosen) except? 0:
        """Append the entry, without values, and before it constants among its operands."""
        cdef Py_ssize_t k, n = len(atoms)
        cdef size_t words = CAD_PLAN_WORDS + 2
        cdef CadView *view
        cdef CadPlan *plan
        cdef CadOperand *operand
        cdef int64_t *place
        cdef list constants = []
        for k in range(n):
            words += 2 + 2 * len(<tuple>self.inputs[k])
            if not chosen.is_active(k):
                constants.append(constant_slot(tape, atoms[k]))
        check(cad_tape_push_plan(
            tape, CAD_CODE(CAD_OP_RULE, 0), max(chosen.n_slots, <size_t>1), words, &plan
        ))
        plan.ndim = plan.n_views = 0
        plan.n_extra = <uint32_t>(words - CAD_PLAN_WORDS)
        plan.passive = CAD_DIRECT_RULE
        plan.size = 0
        plan.index = -1
        place = cad_plan_extra(plan)
        place[0] = <int64_t>tape.n_rules
        place[1] = n
        place += 2
        constants.reverse()
        for k in range(n):
            operand = <CadOperand *>place
            operand.ndim = len(<tuple>self.inputs[k])
            if not chosen.is_active(k):
                operand.slot = constants.pop()
                put_in_order(operand, <tuple>self.inputs[k])
            else:
                operand.slot = CAD_VAR(atoms[k]).slot
                if operand.ndim > 0:
                    view = CAD_VAR(atoms[k]).view
                    memcpy(operand.shape_and_strides, CAD_SHAPE(view),
                           operand.ndim * sizeof(int64_t))
                    memcpy(operand.shape_and_strides + operand.ndim, CAD_STRIDES(view),
                           operand.ndim * sizeof(int64_t))
            place += 2 + 2 * operand.ndim
        return tape.n_entries - 1

    cdef long compute(self, CadTape *tape, size_t entry, double *outcome) except -2:
        """The values of the entry; answers the guard that has another outcome, -1 if none has, or
        CAD_OUT_OF_BOUNDS."""
        cdef CadProgram *program = self.values.program
        cdef double *room = self.values.take_room()
        cdef long missed
        take_inputs(tape, entry, cad_program_places(program, room))
        missed = carry(tape, self.values, room)
        if missed == -1:
            cad_program_read(program, room, tape.values + tape.entries[entry].out)
        elif missed >= 0:
            outcome[0] = cad_program_outcome(program, room, missed)
        self.values.give_back(room)
        return missed

    cdef list results(self, CadTape *tape, ActiveProgram chosen, CadSlot slot):
        """The outputs, whose numbers stand from a slot on."""
        cdef Py_ssize_t k
        cdef list results = []
        for k in range(len(self.outputs)):
            item = self.outputs[k]
            if not <tuple>item:
                if chosen.shows(k):
                    cad_tape_use_singly(tape, slot)
                    results.append(cad_var_new(tape, slot, tape.values[slot]))
                else:
                    results.append(tape.values[slot])
                slot += 1
                continue
            var = view_of(tape, slot, <tuple>item)
            slot += <CadSlot>prod(<tuple>item)
            results.append(var if chosen.shows(k) else cad_plain_value(var))
        return results


cdef void put_in_order(CadOperand *operand, tuple lengths):
    cdef int64_t k, step = 1
    for k in reversed(range(operand.ndim)):
        operand.shape_and_strides[k] = <int64_t>lengths[k]
        operand.shape_and_strides[operand.ndim + k] = step
        step *= <int64_t>lengths[k]


cdef inline int64_t *operands_of(CadTape *tape, size_t entry) noexcept:
    """The first operand of an entry, for cad_next_operand; how many there are stands before it."""
    return cad_plan_extra(cad_tape_plan(tape, tape.entries[entry])) + 2


cdef double *take_inputs(CadTape *tape, size_t entry, double *to) noexcept:
    """The values of all operands of an entry; answers where more can be put."""
    cdef int64_t *place = operands_of(tape, entry)
    cdef CadOperand *operand
    for _ in range((place - 1)[0]):
        operand = cad_next_operand(&place)
        to = take(
            cad_tape_values(tape, operand.slot) + operand.slot, operand.shape_and_strides,
            operand.shape_and_strides + operand.ndim, operand.ndim, to,
        )
    return to


cdef long carry(CadTape *tape, Code code, double *room) noexcept:
    """Run a code whose inputs are in their places; answers the guard that does not hold, or -1.
    While other threads may run, the tape takes nothing new."""
    cdef long missed
    cdef double *places = cad_program_places(code.program, room)
    cad_program_refer_to_places(code.program, places)
    cad_program_narrow_inputs(code.program, places)
    if not code.is_long or code.program.has_calls:  # what is declined may use the tape
        return cad_program_run(code.program, room)
    cad_tape_set_busy(tape, True)
    with nogil:
        missed = cad_program_run(code.program, room)
    cad_tape_set_busy(tape, False)
    return missed


# --- sweeps --------------------------------------------------------------------------------------

@cython.final
cdef class ActiveProgram(DirectRule):
    """A program where some inputs carry derivatives: what entries on the tape refer to."""

    cdef TapeProgram whole
    cdef bytes active     # of each input
    cdef bytes shown      # of each output whether it carries a derivative
    cdef bint shows_any
    cdef size_t n_slots   # numbers of outputs and, if the tape is to be replayed, of guards,
    cdef bytes noted      # some of which are guards there
    cdef list ranges      # of the numbers that are active
    cdef size_t n_active  # numbers
    cdef size_t n_inputs
    cdef list parts       # by PartKind; None: it was not wanted so far
    cdef list codes       # of these sweeps
    cdef tuple every_entry # of the Jacobian, where another branch has other ones

    #: runs_again: bool
    #: is_linear: bool
    runs_again = False
    is_linear = False

    @property
    def _name(self):
        return self.whole.name

    cdef inline bint is_active(self, Py_ssize_t k):
        return (<const char *>self.active)[k]

    cdef inline bint shows(self, Py_ssize_t k):
        return (<const char *>self.shown)[k]

    cdef object part(self, PartKind kind):
        """What is made of the program when it is first wanted."""
        if self.parts[kind] is None:
            with GraphTransaction(self.whole.graph):
                if self.parts[kind] is None:
                    self.parts[kind] = self.made(kind)
        return self.parts[kind]

    cdef object made(self, PartKind kind):
        cdef TapeProgram made, whole = self.whole
        cdef size_t n = self.n_inputs
        if kind == ONTO:
            return whole.graph.code_of("pull_onto", self.ranges)
        if kind == PULLED_ALONG:
            made = self.parts[PULLED]
            return made.graph.code_of("push", [*self.ranges, (n, n + whole.n_outputs)])
        if kind == SLOPES:
            return plan_matrix(whole.graph, "jacobian", self.ranges, None, "rows")
        if kind == PULLED:
            made = tape_program_of(
                whole.graph.graph_of("pull", self.ranges), f"the pull of {whole.name}",
                whole.inputs + whole.outputs, self.active_shapes(),
            )
        else:
            made = tape_program_of(
                whole.graph.graph_of("push", self.ranges), f"the push of {whole.name}",
                whole.inputs + self.active_shapes(), whole.outputs + whole.outputs,
            )
        made.is_pull = kind == PULLED
        if whole.otherwise is not None:
            of_rule = whole.otherwise.pulled if made.is_pull else whole.otherwise.pushed
            made.otherwise = of_rule(self.active)
        return made

    cdef TapeProgram backwards(self):
        return self.part(PULLED)

    cdef list active_shapes(self):
        """The shapes of the inputs that are active."""
        return [lengths for k, lengths in enumerate(self.whole.inputs) if self.is_active(k)]

    cdef Code code_of(self, SweepKind sweep):
        """What carries the entry out in a sweep. It is made when the first one comes by, which must
        not meet what rules of steps record then."""
        if self.codes[<int>sweep] is None:
            before = cad_enter_new_tape()
            try:
                self.codes[<int>sweep] = self.find_code(sweep)
            finally:
                cad_return_to_tape(before)
        return self.codes[<int>sweep]

    cdef Code find_code(self, SweepKind sweep):
        if sweep == PULL:
            return self.backwards().value()
        if sweep == PUSH:
            return (<TapeProgram>self.part(PUSHED)).value()
        if sweep == SECOND:
            self.backwards()
        return self.part(ONTO if sweep == PULL_ONTO else PULLED_ALONG)

    cdef int note_guards(self, CadTape *tape, CadSlot slot) except -1:
        """A replay has to meet the same outcomes, which stand behind the outputs."""
        cdef Graph graph = self.whole.graph
        cdef size_t k, n = self.whole.n_outputs
        for k in range(self.n_slots - n):
            tape.values[slot + n + k] = graph.own_guards[k].value
            if (<const char *>self.noted)[k]:
                check(cad_guard_note(tape, <CadSlot>(slot + n + k), 1, graph.guards[k]))
        return 0

    cdef int insert_into(self, CadGraph *graph, const CadId *operands, CadId *results) except -1:
        cdef Graph inner = self.whole.graph
        cdef Ids inputs = inner.elements([(0, self.n_inputs)])
        cdef Ids numbers = inner.outputs_and_guards()
        return check(cad_graph_insert(
            graph, inner.graph, inputs.data, operands, inputs.n, numbers.data, self.n_slots, results
        ))

    cdef int pull_here(self, CadTape *tape, size_t index) except -1:
        """A graph that keeps the order of the recording adds its terms one by one to the cotangents
        of operands: these equal the function's to the last bit."""
        cdef bint is_onto = self.whole.graph.keeps_order() and self.are_apart(tape, index)
        cdef Code code = self.code_of(PULL_ONTO if is_onto else PULL)
        cdef CadSlot out = tape.entries[index].out
        cdef size_t n = self.whole.n_outputs
        cdef double *room = code.take_room()
        cdef double *place = take_inputs(tape, index, cad_program_places(code.program, room))
        cdef double *results = room + code.room()
        cdef long missed = -1
        cad_tape_read_adjoints(tape, out, out + n, place)
        if any_of(place, n):
            if is_onto:
                self.adjoints(tape, index, NULL, place + n, False)
            missed = carry(tape, code, room)
            if missed == -1:
                cad_program_read(code.program, room, results)
                self.adjoints(tape, index, NULL, results, True, is_onto)
        code.give_back(room)
        return 0 if self.is_met(missed) else pull_rule(tape, index, self.whole.otherwise)

    cdef bint is_met(self, long missed) except -1:
        """Whether a derivative was found; else it is for the rule that does the same, if there is
        one. Guards of f hold where they held when the entry was made, unless its operands were
        changed by something else than an operation."""
        if missed != -1 and self.whole.otherwise is not None:
            PyErr_Clear()
            return False
        if missed == CAD_CALL_FAILED:
            check(CAD_RAISED)
        if missed != -1:
            raise RuntimeError(
                f"an argument was written to after {self.whole.name} had read it: pass a copy"
            )
        return True

    cdef bint are_apart(self, CadTape *tape, size_t index) noexcept:
        """Whether no number is an active operand in two ways."""
        cdef int64_t *place = operands_of(tape, index)
        cdef int64_t *others
        cdef CadOperand *operand
        cdef CadOperand *other
        cdef Py_ssize_t k, i
        cdef int64_t low, high, begin, end
        for k in range(<Py_ssize_t>len(self.active)):
            operand = cad_next_operand(&place)
            if not self.is_active(k):
                continue
            bounds(operand, &low, &high)
            for i in range(operand.ndim):
                if operand.shape_and_strides[i] > 1 and (
                    operand.shape_and_strides[operand.ndim + i] == 0
                ):
                    return False
            others = place
            for i in range(k + 1, <Py_ssize_t>len(self.active)):
                other = cad_next_operand(&others)
                if self.is_active(i):
                    bounds(other, &begin, &end)
                    if low <= end and begin <= high:
                        return False
        return True

    cdef void adjoints(self, CadTape *tape, size_t index, const CadAlong *along,
                       double *numbers, bint back, bint instead=False) noexcept:
        """The cotangents that active operands have received so far: read them, or (`back`) add to
        them; `instead`: write there."""
        cdef int64_t *place = operands_of(tape, index)
        cdef const double *terms = numbers
        cdef double *at
        cdef CadOperand *operand
        cdef Py_ssize_t k
        cdef int64_t low, high
        cdef int64_t *lengths
        for k in range(<Py_ssize_t>len(self.active)):
            operand = cad_next_operand(&place)
            if not self.is_active(k):
                continue
            bounds(operand, &low, &high)
            if high < low:
                continue
            if along == NULL:
                cad_tape_prepare_adjoints(tape, low, high)
            else:
                cad_array_prepare(tape, along, low, high)
            at = cad_tape_adjoints(tape, operand.slot) + operand.slot
            lengths = operand.shape_and_strides
            if back:
                terms = give(
                    at, lengths, lengths + operand.ndim, operand.ndim, terms, instead
                )
            else:
                numbers = take(at, lengths, lengths + operand.ndim, operand.ndim, numbers)

    cdef void lanes(self, CadTape *tape, size_t index, CadLanes lanes, size_t lane,
                    double *numbers, bint back) noexcept:
        """One lane of the active operands: read it, or (`back`) add to it."""
        cdef int64_t *place = operands_of(tape, index)
        cdef int64_t strides[MOST_AXES]
        cdef CadOperand *operand
        cdef const double *terms = numbers
        cdef double *at
        cdef Py_ssize_t k
        cdef int64_t i
        for k in range(<Py_ssize_t>len(self.active)):
            operand = cad_next_operand(&place)
            if not self.is_active(k):
                continue
            for i in range(operand.ndim):
                strides[i] = operand.shape_and_strides[operand.ndim + i] * <int64_t>lanes.count
            at = lanes.data + (operand.slot - lanes.base) * <int64_t>lanes.count + lane
            if back:
                terms = give(at, operand.shape_and_strides, strides, operand.ndim, terms, False)
            else:
                numbers = take(at, operand.shape_and_strides, strides, operand.ndim, numbers)

    cdef int push_here(self, CadTape *tape, size_t index, const CadAlong *along) except -1:
        cdef Code code = self.code_of(PUSH)
        cdef CadLanes lanes = along.tangents
        cdef CadSlot out = tape.entries[index].out
        cdef size_t i, lane, n = self.whole.n_outputs
        cdef double *room = code.take_room()
        cdef double *results = room + code.room()
        cdef double *place
        cdef long missed = -1
        for lane in range(lanes.count):
            place = take_inputs(tape, index, cad_program_places(code.program, room))
            self.lanes(tape, index, lanes, lane, place, False)
            missed = carry(tape, code, room)
            if missed != -1:
                break
            cad_program_read(code.program, room, results)
            for i in range(n):
                lanes.data[(out - lanes.base + i) * lanes.count + lane] = results[n + i]
        code.give_back(room)
        if self.is_met(missed):
            return 0
        return push_rule(tape, index, lanes, self.whole.otherwise)

    cdef int pull_along(self, CadTape *tape, size_t index, const CadAlong *along) except -1:
        cdef Code code = self.code_of(SECOND)
        cdef CadLanes adjoints = along.adjoints
        cdef CadSlot out = tape.entries[index].out
        cdef size_t i, lane, n = self.whole.n_outputs
        cdef double *room
        cdef double *results
        cdef double *place
        cdef double *kept
        cdef cnp.ndarray found
        cdef const double *moved = adjoints.data + (out - adjoints.base) * adjoints.count
        cdef long missed = -1
        if n == 0:
            return 0
        cad_array_prepare(tape, along, out, out + n - 1)
        if not any_of(cad_tape_adjoints(tape, out) + out, n) and not any_of(
            moved, n * adjoints.count
        ):
            return 0
        # Nothing is added before all lanes are known: where one is not, the rule adds all of them.
        found = cnp.new_doubles(adjoints.count * self.n_active)
        kept = cnp.doubles(found)
        room = code.take_room()
        results = room + code.room()
        for lane in range(adjoints.count):
            place = take_inputs(tape, index, cad_program_places(code.program, room))
            memcpy(place, cad_tape_adjoints(tape, out) + out, n * sizeof(double))
            place += n
            self.lanes(tape, index, along.tangents, lane, place, False)
            place += self.n_active
            for i in range(n):
                place[i] = moved[i * adjoints.count + lane]
            missed = carry(tape, code, room)
            if missed != -1:
                break
            cad_program_read(code.program, room, results)
            memcpy(kept + lane * self.n_active, results + self.n_active,
                   self.n_active * sizeof(double))
        if missed == -1:
            self.adjoints(tape, index, along, results, True)
            for lane in range(adjoints.count):
                self.lanes(tape, index, adjoints, lane, kept + lane * self.n_active, True)
        code.give_back(room)
        if self.is_met(missed):
            return 0
        return pull_rule_along(tape, index, along, self.whole.otherwise)

    cdef int slopes_here(self, CadTape *tape, size_t index, CadSlopes *slopes) except -1:
        cdef MatrixPlan plan = self.part(SLOPES)
        cdef cnp.ndarray inputs = np.empty(self.n_inputs)
        cdef cnp.ndarray starts, columns
        cdef size_t n
        take_inputs(tape, index, cnp.doubles(inputs))
        derivatives = plan.evaluate(inputs)
        slopes.n_results = self.whole.n_outputs
        slopes.starts = plan.pattern.pattern.starts
        slopes.columns = plan.pattern.pattern.columns
        if not cnp.PyArray_Check(derivatives):
            self.is_met(0)
            derivatives = self.jacobian_again(inputs)
            if self.every_entry is None:  # row by row
                starts = np.arange(slopes.n_results + 1, dtype=np.int64) * <int64_t>self.n_active
                columns = np.arange(self.n_active, dtype=np.int32)
                self.every_entry = starts, np.tile(columns, slopes.n_results)
            starts, columns = self.every_entry
            slopes.starts = <const int64_t *>cnp.PyArray_DATA(starts)
            slopes.columns = <const int32_t *>cnp.PyArray_DATA(columns)
        n = cnp.PyArray_SIZE(derivatives)
        slopes.values = <double *>cad_memory_resize(NULL, n, sizeof(double))
        slopes.sources = <CadSlot *>cad_memory_resize(NULL, self.n_active, sizeof(CadSlot))
        if slopes.values == NULL or slopes.sources == NULL:
            cad_memory_free(slopes.values)
            cad_memory_free(slopes.sources)
            check(CAD_NO_MEMORY)
        memcpy(slopes.values, cnp.PyArray_DATA(derivatives), n * sizeof(double))
        self.name_sources(tape, index, slopes.sources)
        return 0

    cdef cnp.ndarray jacobian_again(self, cnp.ndarray inputs):
        """All of the Jacobian, by the rule that does the same."""
        cdef Py_ssize_t k, n, at
        operands = atoms_of(inputs, self.whole.inputs)
        rows = np.zeros((self.whole.n_outputs, self.n_active))
        units = np.eye(self.whole.n_outputs)
        for row, unit in zip(rows, units):
            cotangents = atoms_of(unit, self.whole.outputs)
            at = 0
            for k, term in enumerate(self.whole.otherwise.pull_cotangents(operands, None, cotangents)):
                if self.is_active(k):
                    n = prod(self.whole.inputs[k])
                    if term is not None:  # of a number it may be a float
                        row[at : at + n] = np.ravel(term)
                    at += n
        return rows

    cdef void name_sources(self, CadTape *tape, size_t index, CadSlot *slots) noexcept:
        """The slots of all numbers that are active."""
        cdef int64_t *place = operands_of(tape, index)
        cdef CadOperand *operand
        cdef Py_ssize_t k
        for k in range(<Py_ssize_t>len(self.active)):
            operand = cad_next_operand(&place)
            if self.is_active(k):
                slots = name(
                    operand.slot, operand.shape_and_strides,
                    operand.shape_and_strides + operand.ndim, operand.ndim, slots,
                )

    def pull_cotangents(self, list operands, list results, list cotangents):
        """The cotangents of the operands, in a sweep that is recorded: see `record_rule`."""
        cdef CadTape *tape = cad_current_tape()
        cdef TapeProgram pulled = self.backwards()
        atoms = operands + cotangents
        pulled_terms = pulled.put(tape, atoms, active_of(tape, atoms, pulled.inputs))
        if type(pulled_terms) is not list:
            self.is_met(0)
            return self.whole.otherwise.pull_cotangents(operands, results, cotangents)
        terms = iter(pulled_terms)
        return [next(terms) if self.is_active(k) else None for k in range(len(operands))]


cdef bint any_of(const double *numbers, size_t n) noexcept:
    """Whether one of some numbers is not 0."""
    cdef size_t i
    for i in range(n):
        if numbers[i] != 0.0:
            return True
    return False


cdef ActiveProgram new_active_program(TapeProgram whole, bytes active, bint guarded):
    cdef ActiveProgram chosen = ActiveProgram.__new__(ActiveProgram)
    cdef Py_ssize_t k, at = 0, size
    cdef bytes carries
    chosen.whole = whole
    chosen.active = active
    chosen.parts, chosen.codes = [None] * <int>N_PARTS, [None] * <int>N_SWEEPS
    chosen.ranges = []
    for k in range(len(active)):
        size = prod(<tuple>whole.inputs[k])
        if chosen.is_active(k):
            chosen.n_active += size
            chosen.ranges.append((at, at + size))
        at += size
    chosen.n_inputs = at
    carries = whole.graph.carries(chosen.ranges, whole.graph.outputs_and_guards(), guarded)
    shown = []
    at = 0
    for item in whole.outputs:
        size = prod(<tuple>item)
        shown.append(any(carries[at : at + size]))
        at += size
    chosen.noted = carries[at:] if guarded and not whole.is_pull else b""
    chosen.n_slots = at + len(chosen.noted)
    chosen.shown = bytes(shown)
    chosen.shows_any = any(shown) or any(chosen.noted)
    return chosen


def tape_program_of(Graph graph, str name, list inputs, list shapes,
                    otherwise=None) -> TapeProgram:
    """A graph whose inputs and outputs are atoms of these shapes, as a TapeProgram.

    otherwise: a rule (see record_rule) for calls whose derivative chooses in another way than at the
    point of the recording; without it, what is recorded chooses by values of f alone.
    """
    cdef TapeProgram program = TapeProgram.__new__(TapeProgram)
    program.graph, program.name = graph, name
    program.inputs, program.outputs = inputs, shapes
    program.n_outputs = sum(map(prod, shapes))
    program.otherwise = otherwise
    program.choices = {}
    return program


cdef object put_apart(object program, list atoms):
    """The outputs of a TapeProgram, as `call_program` gives them; NotImplemented if no atom carries
    a derivative, or if an element may be an operand in two ways."""
    cdef TapeProgram whole = program
    cdef CadTape *tape = cad_current_tape()
    cdef bytes active = active_of(tape, atoms, whole.inputs)
    if active is None or not any(active) or are_mixed(atoms):
        return NotImplemented
    return whole.put(tape, atoms, active)
