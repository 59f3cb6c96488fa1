"""One run of a function on Vars, and the sweeps over it.

A Recording lifts arguments onto the tape, and answers derivatives of what was made of them. It
knows lifetimes, errors and slots, and no formula.
"""

from math import factorial, prod

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_FromDouble
from cpython.object cimport PyObject_Call
from libc.math cimport ldexp
from libc.stdint cimport int64_t
from libc.string cimport memset

from . cimport c_numpy as cnp
from .c_linear cimport *
from .c_numbers cimport *
from .c_sweeps cimport *
from .c_tape cimport *
from .trees cimport opened
from .tape cimport is_gone, on_tape, rule_at, view_of
from .atoms cimport highest_tag, only_number, shape
from .hooks cimport (
    Checks, checks_of, forget_suspects, leave_step, note_suspects, step_under_way,
)
from .arguments cimport ARRAY, Collector, Node, Structure
from .guards cimport explain_error
from .linear cimport frozen_map, FrozenMap, LANES
from .recorded_sweep cimport new_sweep, RecordedSweep

from .atoms import (
    check_alive, dual_components, join_lanes, lane_of, lanes_of, make_dual, map_numbers, map_vars,
    numbers_array, finalized, split_dual, vars_of,
)
from .tape import is_constant

cdef enum:
    FEW_ROWS = 4  # reverse sweeps, which cost about as much as two tangent sweeps of all lanes


@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Recording:
    """One run of a function on Vars, and the sweeps over it.

    Use: `with Recording(args, argnums) as recording:` call the function on `.lifted`, and ask for
    derivatives of what it returned. Leaving the context forgets what was recorded, unless an outer
    differentiation (or a pullback, which calls `keep`) still needs it. Vars that are still alive
    then have to be found, which takes time: drop them before.

    With `borrow`, the values of very large arrays are not copied: these must not change meanwhile.
    `f` is the function, for error messages.

    Outputs are atoms: numbers or arrays. Where an atom consists of several numbers, its
    derivatives have its shape.
    """

    def __cinit__(self, tuple args, tuple argnums, bint borrow=False, f=None):
        self.tape = cad_current_tape()
        check(cad_tape_mark(self.tape))
        self.marked = True
        # Making containers may run the garbage collector, and that any user's finalizer: slots
        # that are held in C must not move meanwhile. The same holds wherever the tape is pinned.
        cad_tape_pin(self.tape)
        try:
            self.lift(args, argnums, borrow)
            if self.tape.hook != NULL:
                self.suspects = note_suspects(self.tape, f, args)
        except BaseException:
            self.lifted = self.block = self.inputs = self.fence = self.checked = None
            self.close()
            raise
        finally:
            cad_tape_unpin(self.tape)

    def __dealloc__(self):
        if self.marked:
            cad_tape_keep(self.tape)

    cdef int lift(self, tuple args, tuple argnums, bint borrow) except -1:
        cdef Collector collector = Collector.__new__(Collector)
        cdef CadSlot base = 0
        cdef Py_ssize_t size
        self.nodes = nodes = collector.collect(args, argnums)
        self.n = collector.count
        self.n_atoms = collector.n_atoms
        if collector.atoms is None:
            check(cad_tape_open_leaf(self.tape, collector.count, &base))
            for node in nodes:
                (<Node>node).note_blocks(self.tape, base)
            collector.copy_to(self.tape, base, borrow)
            size = collector.count
            self.block = cad_var_view(self.tape, base, 1, &size, NULL, CAD_INPUT)
            atoms = None
        else:
            self.inputs = []
            atoms = [self.lift_atom(atom) for atom in collector.atoms]
        lifted = list(args)
        for k, node in zip(argnums, nodes):
            lifted[k] = (<Node>node).lift(atoms, self.block, self.tape, base)
        self.lifted = tuple(lifted)
        return 0

    cdef object lift_atom(self, object atom):
        """An atom with a Var of this recording in place of its innermost value."""
        cdef CadSlot slot
        cdef double value
        if CAD_IS_DUAL(atom):
            primal, tangent = dual_components(atom)
            return cad_dual_from(self.lift_atom(primal), tangent, CAD_DUAL(atom).tag)
        if CAD_IS_VAR(atom):
            if CAD_VAR(atom).kind == CAD_STALE:
                cad_raise_stale()
            if CAD_VAR(atom).tape != NULL and CAD_VAR(atom).tape != self.tape:
                raise RuntimeError(
                    "a Var of another thread was passed to a gradient function: pass "
                    "cadiff.value(v) between threads"
                )
        if CAD_IS_VAR_ARRAY(atom):
            var = cad_var_as_input(cad_array_copy(CAD_VAR(atom)))
        elif cnp.PyArray_Check(atom):
            var = self.leaf_array(atom)
        else:
            value = cad_primal(atom)
            if CAD_IS_SCALAR(atom):
                check(cad_tape_ensure(self.tape))
                slot = CAD_VAR(atom).slot
                slot = cad_tape_push(
                    self.tape, CAD_CODE(CAD_OP_positive, 0), slot, slot, value
                )
            else:
                check(cad_tape_leaf(self.tape, &value, 1, False, &slot))
            var = cad_var_new(self.tape, slot, value)
        self.inputs.append(var)
        return var

    cdef object leaf_array(self, cnp.ndarray array):
        cdef CadSlot slot
        cdef size_t size = cnp.PyArray_SIZE(array)
        array = np.ascontiguousarray(array, dtype=np.float64)
        check(cad_tape_leaf(self.tape, <double *>cnp.PyArray_DATA(array), size, False, &slot))
        check(cad_tape_note_block(self.tape, slot, slot + size, CAD_ARGUMENT))
        return cad_var_view(
            self.tape,
            slot,
            cnp.PyArray_NDIM(array),
            <const Py_ssize_t *>cnp.PyArray_DIMS(array),
            NULL,
            CAD_INPUT,
        )

    cdef int check_alive(self) except -1:
        """Raise StaleVarError if an outer gradient call, now over, took the recording along.

        And RuntimeError in another thread, if a rule takes part: rules are Python functions, so
        that meanwhile other threads run, and the tape is not theirs.
        """
        if self.n_atoms > 0:
            var = self.block if self.block is not None else self.inputs[0]
            if CAD_VAR(var).kind == CAD_STALE:
                cad_raise_stale()
            if self.tape != cad_current_tape() and cad_tape_has_rules(
                self.tape, self.begin(), self.tape.n_entries
            ):
                raise RuntimeError(
                    "this derivative was recorded in another thread, and an operation with a rule "
                    "of its own takes part in it: use it where it was made, or make it here"
                )
        return 0

    cdef int check_unchanged(self) except -1:
        """Raise RuntimeError if an argument that was not copied has been written to."""
        for node in self.nodes:
            (<Node>node).check_unchanged()
        return 0

    cdef CadSlot base(self):
        """The lowest slot of the recording."""
        if self.block is not None:
            return CAD_VAR(self.block).slot
        return CAD_VAR(self.inputs[0]).slot

    cdef size_t begin(self):
        """The first entry of the recording: the leaf of its inputs, even if there are none."""
        return cad_tape_entries_through(self.tape, self.base()) - 1

    cdef size_t n_inputs(self):
        """How many entries stand for the inputs: one leaf for all, or one for each atom."""
        return 1 if self.block is not None else self.n_atoms

    cdef bint is_closed(self, list outputs):
        """Whether outputs depend on no captured variable, so that results are plain."""
        cdef CadSlot base
        if self.n_atoms == 0:
            return True
        base = self.base()
        if base == 0:
            return True
        return not cad_reads_below(self.tape, self.begin(), self.end(outputs), base)

    cdef size_t end(self, list outputs):
        """Past the last entry that outputs depend on."""
        cdef CadSlot base = self.base()
        cdef size_t low, high
        # At least all inputs.
        cdef size_t index, last = self.begin() + self.n_inputs()
        # What an output depends on may have been written behind it: it was assigned to, or joined
        # from parts. Then all counts that was there when this was asked first, or when something
        # of it was written to later; but not what has been recorded since, by pulls among others.
        cdef bint behind = self.tape.n_assigned > 0
        for output in outputs:
            if on_tape(output, self.tape, base):
                cad_var_bounds(CAD_VAR(output), &low, &high)
                index = cad_tape_find_entry(self.tape, <CadSlot>high)
                if index < self.tape.n_entries:
                    last = max(last, index + 1)
                else:
                    behind = True
        if behind:
            if is_gone(self.fence) or self.is_written_behind():
                self.fence = self.checked = self.last_number()
            last = max(last, cad_tape_entries_through(self.tape, CAD_VAR(self.fence).slot))
        return min(last, self.tape.n_entries)

    cdef object last_number(self):
        """The last number on the tape, which marks a place on it while entries may move."""
        cdef CadSlot slot = <CadSlot>(self.tape.n_slots - 1)
        return cad_var_new(self.tape, slot, self.tape.values[slot])

    cdef bint is_written_behind(self):
        """Whether something on this side of the fence was assigned to since this was checked."""
        cdef size_t i, target
        mark = self.fence if is_gone(self.checked) else self.checked
        for i in range(cad_tape_entries_through(self.tape, CAD_VAR(mark).slot),
                       self.tape.n_entries):
            if cad_entry_target(self.tape, self.tape.entries[i], &target):
                if self.base() <= target <= CAD_VAR(self.fence).slot:
                    return True
        self.checked = self.last_number()
        return False

    cdef size_t slots(self, size_t end):
        """How many slots the entries up to `end` use."""
        if end == self.tape.n_entries:
            return self.tape.n_slots - self.base()
        return self.tape.entries[end].out - self.base()

    def holds(self, atom):
        """Whether an atom came about in the recording."""
        return on_tape(atom, self.tape, self.base())

    def finalize(self, tree):
        """What f returned beside its result: plain values if it depends on nothing but the lifted
        arguments, else as it is, and what was recorded is kept."""
        atoms = []
        map_numbers(tree, lambda atom: atoms.extend(vars_of(atom)))
        if self.is_closed(atoms):
            return map_numbers(tree, self.outlives)
        self.kept = True
        return tree

    def outlives(self, atom):
        """An atom as it may leave a recording that is about to be forgotten: its value, unless it
        belongs to an outer computation."""
        if CAD_IS_DUAL(atom):
            return map_vars(atom, self.outlives)
        if on_tape(atom, self.tape, <CadSlot>self.tape.mark_slots):
            return plain_value(atom)
        return finalized(atom)

    def keep(self):
        """Have what was recorded live as long as its Vars."""
        self.kept = True

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if exception[1] is not None:
            note_error(self.tape, exception[1])
        self.close()

    cdef int close(self) except -1:
        """End the recording."""
        if self.suspects is not None:
            forget_suspects(self.tape, self.suspects)
        if self.marked:
            self.marked = False
            self.lifted = None
            if self.kept or self.is_compared_with_captures():
                cad_tape_keep(self.tape)
            else:
                self.block = self.inputs = self.fence = self.checked = None
                cad_rewind(self.tape)
        return 0

    cdef bint is_compared_with_captures(self):
        """Whether a replay needs what was recorded, though no result does: to choose as it did."""
        return self.tape.guards != NULL and cad_compares_below(self.tape)

    # --- first order, plain results

    cdef size_t clear(self, list outputs) except? 0:
        """Clear the adjoints for a pass over what outputs depend on; answers where it begins."""
        cdef CadSlot base = self.base()
        cdef size_t end = self.end(outputs)
        check(cad_tape_clear_adjoints(self.tape, base, base + self.slots(end)))
        return end

    cdef int sweep(self, size_t end) except -1:
        """Sweep back from `end`; the adjoints of the inputs are those that count."""
        cdef size_t begin = self.begin()
        return cad_sweep(self.tape, begin, end, begin + self.n_inputs(), False)

    cdef int pull_plain(self, list outputs, list seeds) except -1:
        """Leave the cotangents of all inputs in the adjoints; seeds are plain."""
        cdef size_t end
        if self.n > 0:
            end = self.clear(outputs)
            for output, seed in zip(outputs, seeds):
                if on_tape(output, self.tape, self.base()):
                    cad_var_seed(CAD_VAR(output), seed)
            self.sweep(end)
        return 0

    cdef cnp.ndarray read_adjoints(self):
        """Of all inputs, if one block holds them."""
        cdef cnp.npy_intp n = self.n
        cdef CadSlot slot
        cdef cnp.ndarray flat = cnp.PyArray_ZEROS(1, &n, cnp.NPY_DOUBLE, 0)
        if n > 0:
            slot = CAD_VAR(self.block).slot
            cad_tape_read_adjoints(
                self.tape, slot, slot + n, <double *>cnp.PyArray_DATA(flat)
            )
        return flat

    cdef list plain_cotangents(self):
        """Of each atom: a float or an array."""
        if self.block is not None:
            return self.cut(self.read_adjoints())
        return [cad_var_adjoint(CAD_VAR(var)) for var in self.inputs]

    cdef list cut(self, cnp.ndarray flat):
        """A vector over all inputs as atoms."""
        cdef const double *numbers = <const double *>cnp.PyArray_DATA(flat)
        cdef Py_ssize_t offset = 0
        atoms = []
        for shapes in self.structure.leaf_shapes():
            for shape in shapes:
                if shape == ():
                    atoms.append(PyFloat_FromDouble(numbers[offset]))
                    offset += 1
                else:
                    size = prod(shape)
                    atoms.append(flat[offset : offset + size].reshape(shape).copy())
                    offset += size
        return atoms

    cdef object gradient(self, object number):
        """The gradient of one number, as a tuple with one entry for each argnum."""
        if CAD_IS_DUAL(number) or self.block is None or not self.is_closed([number]):
            cotangents = self.pull_atoms([number], [1.0])
            return tuple([(<Node>node).from_atoms(cotangents) for node in self.nodes])
        return self.plain_gradient(number)

    cdef object plain_gradient(self, object number):
        """The gradient of one number where nothing else is involved: a sweep writes the adjoints
        of large arrays straight into the results."""
        cdef CadSlot slot, base = CAD_VAR(self.block).slot
        cdef Node node
        cdef size_t end = self.clear([number]) if self.n > 0 else 0
        try:
            if self.n > 0:
                for node in self.nodes:
                    node.lend(self.tape, base)
                if on_tape(number, self.tape, base):
                    slot = CAD_VAR(number).slot
                    cad_tape_prepare_adjoints(self.tape, slot, slot)
                    self.tape.adjoints[slot] = 1.0
                self.sweep(end)
            for node in self.nodes:
                node.read(self.tape, base)
        finally:
            for node in self.nodes:
                node.take_back(self.tape, base)
        return tuple([(<Node>node).from_read() for node in self.nodes])

    # --- first order, results of any kind

    cdef list pull_recorded(self, list outputs, list seeds, bint linear=False):
        """The cotangents of all inputs, as numbers that can be differentiated again.

        Seeds are plain or Vars. With `linear`, what was recorded counts as constant.
        """
        if self.n_atoms == 0:
            return []
        self.kept = True
        cad_tape_pin(self.tape)
        former = step_under_way(self.tape)
        try:
            if self.block is None or self.first_plan() < self.tape.n_plan_words:
                return self.pull_arrays(outputs, seeds, linear)
            for output in outputs:
                if CAD_IS_VAR_ARRAY(output):
                    return self.pull_arrays(outputs, seeds, linear)
            return self.pull_numbers(outputs, seeds, linear)
        finally:
            leave_step(self.tape, former)
            cad_tape_unpin(self.tape)

    cdef RecordedSweep swept(self, list outputs, list seeds, bint linear, captures):
        """A recorded sweep from outputs; `captures`: Vars whose cotangents are wanted, too."""
        cdef CadSlot base = self.base()
        cdef size_t begin = self.begin(), end = self.end(outputs)
        cdef RecordedSweep sweep = new_sweep(
            self.tape, begin, end, base, self.slots(end), linear, captures
        )
        sweep.run(outputs, seeds)
        return sweep

    cdef list pull_arrays(self, list outputs, list seeds, bint linear):
        """The cotangents of all inputs, to be differentiated again, whatever was recorded."""
        cdef RecordedSweep sweep = self.swept(outputs, seeds, linear, ())
        cdef CadSlot slot
        if self.block is None:
            return [sweep.result(var) for var in self.inputs]
        slot = CAD_VAR(self.block).slot
        atoms = []
        for shapes in self.structure.leaf_shapes():
            for shape in shapes:
                atoms.append(sweep.result(view_of(self.tape, slot, shape)))
                slot += <CadSlot>prod(shape)
        return atoms

    cdef size_t first_plan(self):
        """Where the plans of entries over arrays begin; at the end of all, if there is none."""
        cdef size_t i
        for i in range(self.begin(), self.tape.n_entries):
            if CAD_IS_ARRAY_ENTRY(self.tape.entries[i]):
                return self.tape.entries[i].a
        return self.tape.n_plan_words

    cdef list pull_numbers(self, list outputs, list seeds, bint linear):
        """The cotangents of all inputs, to be differentiated again, where everything recorded is
        arithmetic on single numbers."""
        cdef CadSlot base = self.base(), slot
        cdef size_t i, end = self.end(outputs), n_slots = self.slots(end)
        cdef Py_ssize_t k
        cdef Checks checks
        cdef CadNumber *adjoints = <CadNumber *>cad_memory_resize(
            NULL, n_slots, sizeof(CadNumber)
        )
        if adjoints == NULL:
            check(CAD_NO_MEMORY)
        try:
            for i in range(n_slots):
                adjoints[i].value = 0.0
                adjoints[i].slot = CAD_NONE
            for k in range(len(outputs)):
                if on_tape(outputs[k], self.tape, base):
                    self.seed_recorded(&adjoints[CAD_VAR(outputs[k]).slot - base], seeds[k])
            checks = checks_of(self.tape)
            if checks is None:
                check(cad_sweep_record(self.tape, self.begin(), end, base, linear, adjoints))
            else:
                checks.sweep_record(self.tape, self.begin(), end, base, linear, adjoints)
            numbers = []
            for k in range(self.n):
                if adjoints[k].slot == CAD_NONE:
                    numbers.append(PyFloat_FromDouble(adjoints[k].value))
                else:
                    numbers.append(cad_var_new(self.tape, adjoints[k].slot, adjoints[k].value))
        finally:
            cad_memory_free(adjoints)
        return self.join(numbers)

    cdef list join(self, list numbers):
        """Numbers of any kind, one for each input, as atoms."""
        atoms = []
        offset = 0
        for shapes in self.structure.leaf_shapes():
            for shape in shapes:
                size = prod(shape)
                part = numbers[offset : offset + size]
                atoms.append(numbers_array(part, shape) if shape != () else part[0])
                offset += size
        return atoms

    cdef int seed_recorded(self, CadNumber *adjoint, object seed) except -1:
        """Add a seed to an adjoint of a recorded sweep: one output may stand in several places."""
        if adjoint.slot != CAD_NONE or adjoint.value != 0.0:
            here = adjoint.value
            if adjoint.slot != CAD_NONE:
                here = cad_var_new(self.tape, adjoint.slot, adjoint.value)
            seed = cad_apply2(CAD_OP_add, here, seed)
        if CAD_IS_SCALAR(seed) and CAD_VAR(seed).tape != self.tape:
            raise RuntimeError("the cotangent is a Var of another thread: pass cadiff.value(v)")
        adjoint.value = cad_primal(seed)
        adjoint.slot = CAD_VAR(seed).slot if CAD_IS_SCALAR(seed) else CAD_NONE
        return 0

    cdef list pull_linear(self, list outputs, list seeds):
        """The cotangents of all inputs for seeds of any kind, where outputs depend on no captured
        variable: J is constant, so components of Duals are pulled one by one."""
        tag = highest_tag(seeds)
        if tag > 0:
            return self.by_components(
                [split_dual(seed, tag) for seed in seeds], tag,
                lambda part: self.pull_linear(outputs, part),
            )
        for seed in seeds:
            if CAD_IS_VAR(seed):
                return self.pull_recorded(outputs, seeds, True)
        self.pull_plain(outputs, seeds)
        return self.plain_cotangents()

    cdef list pull_atoms(self, list outputs, list seeds):
        """The cotangents of all inputs for plain seeds, of outputs that may be Duals over this
        recording: a Dual's cotangents are the Duals of the cotangents of its components, since
        derivatives commute."""
        tag = highest_tag(outputs)
        if tag == 0:
            if self.is_closed(outputs):
                return self.pull_linear(outputs, seeds)
            return self.pull_recorded(outputs, seeds)
        return self.by_components(
            [split_dual(output, tag) for output in outputs], tag,
            lambda part: self.pull_atoms(part, seeds),
        )

    def by_components(self, pairs, tag, pull, along=None):
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
                for i in range(self.n_atoms)
            ]
        return [make_dual(p, t, tag) for p, t in zip(of_primals, parts)]

    cdef bint plain_results(self, list outputs):
        """Whether derivatives of these outputs are plain."""
        for output in outputs:
            if CAD_IS_DUAL(output):
                return False
        return self.is_closed(outputs)

    cpdef list pull(self, list outputs, list seeds):
        """Cotangents of all input atoms for cotangents of output atoms, of any kind."""
        cdef bint plain = True
        self.check_alive()
        for seed in seeds:
            plain = plain and not (CAD_IS_VAR(seed) or CAD_IS_DUAL(seed))
        if len(outputs) == 0:
            return self.cut(np.zeros(self.n))
        if self.plain_results(outputs):
            return self.pull_linear(outputs, seeds)
        if plain:
            return self.pull_atoms(outputs, seeds)
        return self.pull_product(outputs, seeds)

    cdef list pull_product(self, list outputs, list seeds):
        """Cotangents of all input atoms where outputs and seeds depend on captured variables.

        By the product rule, along a direction the cotangents change with the outputs, and with the
        seeds.
        """
        tag = max(highest_tag(outputs), highest_tag(seeds))
        if tag == 0:
            return self.pull_recorded(outputs, seeds)
        pairs = [split_dual(number, tag) for number in outputs + seeds]
        n = len(outputs)
        primals = [primal for primal, _ in pairs]
        return self.by_components(
            pairs, tag,
            lambda parts: self.pull(parts[:n], parts[n:]),
            lambda parts: self.pull(parts[:n] + primals[:n], primals[n:] + parts[n:]),
        )

    # --- matrices, over plain results only

    cpdef bint is_plain(self, list outputs):
        """Whether the methods below can be used for these outputs."""
        return self.block is not None and self.plain_results(outputs)

    @property
    def has_rules(self):
        """Whether a primitive was recorded, or each step has to be checked, which forward and
        second-order sweeps cannot do."""
        return checks_of(self.tape) is not None or cad_tape_has_rules(
            self.tape, self.begin(), self.tape.n_entries
        )

    @property
    def passes_series(self):
        """Whether sweeps over power series can pass what was recorded: nothing but operations."""
        cdef size_t i
        for i in range(self.begin(), self.tape.n_entries):
            if cad_entry_is_rule(self.tape.entries[i]):
                return False
        return checks_of(self.tape) is None

    @property
    def passes_rules(self):
        """Whether sweeps along one direction can pass what was recorded: no rule runs again, and
        steps are not checked one by one."""
        cdef size_t i
        if not self.has_rules:
            return True
        for i in range(self.begin(), self.tape.n_entries):
            if cad_entry_is_rule(self.tape.entries[i]):
                if rule_at(self.tape, i).runs_again:
                    return False
        return checks_of(self.tape) is None

    cpdef FrozenMap freeze(self, list outputs):
        """The derivative of all numbers of the outputs, which needs the recording no more; None
        where it is not plain, or a primitive was recorded."""
        if self.n_atoms > 0 and (not self.is_plain(outputs) or self.has_rules):
            return None
        return self.frozen(outputs, self.slots_of(outputs))

    cdef FrozenMap frozen(self, list outputs, cnp.ndarray slots):
        cdef CadLinear *linear = NULL
        cdef CadSlot base = 0
        cdef size_t begin = 0, end = 0
        if self.n_atoms > 0:
            base, begin, end = self.base(), self.begin(), self.end(outputs)
        check(
            cad_linear_build(
                self.tape, begin, end, base, self.n, <int64_t *>cnp.PyArray_DATA(slots),
                cnp.PyArray_SIZE(slots), &linear,
            )
        )
        return frozen_map(linear)

    cpdef cnp.ndarray jacobian(self, list outputs, bint forward):
        """The Jacobian (m, n) of all numbers of the outputs; `forward` allows for tangent sweeps.

        A sweep of a frozen map carries LANES rows or columns for about the price of one or two,
        but freezing costs as much as some sweeps.
        """
        cdef cnp.ndarray slots = self.slots_of(outputs)
        cdef Py_ssize_t m = cnp.PyArray_SIZE(slots)
        cdef bint rules = self.has_rules
        forward = forward and not rules
        if forward and self.n <= LANES and self.n <= FEW_ROWS * m:
            return self.columns(outputs, slots)
        if m <= FEW_ROWS or rules:
            return self.rows(outputs, slots)
        frozen = self.frozen(outputs, slots)
        return frozen.columns() if forward and self.n <= m else frozen.rows()

    def slope(self, output):
        """The Jacobian of a vector by all inputs, whatever else it depends on."""
        return self.rows([output], self.slots_of([output]))

    cdef cnp.ndarray rows(self, list outputs, cnp.ndarray slots):
        """The Jacobian, one reverse sweep a row."""
        cdef cnp.ndarray matrix = np.zeros((cnp.PyArray_SIZE(slots), self.n))
        cdef double *data = <double *>cnp.PyArray_DATA(matrix)
        cdef int64_t *place = <int64_t *>cnp.PyArray_DATA(slots)
        cdef CadSlot base
        cdef Py_ssize_t i
        cdef size_t end
        if self.n == 0:
            return matrix
        base = self.base()
        for i in range(cnp.PyArray_SIZE(slots)):
            if place[i] >= 0:
                end = self.clear(outputs)
                cad_tape_prepare_adjoints(self.tape, place[i], place[i])
                self.tape.adjoints[place[i]] = 1.0
                self.sweep(end)
                cad_tape_read_adjoints(self.tape, base, base + self.n, data + i * self.n)
        return matrix

    cdef cnp.ndarray columns(self, list outputs, cnp.ndarray slots):
        """The Jacobian, all columns one tangent sweep: they are LANES at most."""
        cdef Py_ssize_t i, k, lanes = self.n, m = cnp.PyArray_SIZE(slots)
        cdef cnp.ndarray matrix = np.zeros((m, self.n))
        cdef double *data = <double *>cnp.PyArray_DATA(matrix)
        cdef int64_t *place = <int64_t *>cnp.PyArray_DATA(slots)
        cdef CadLaneBuffer tangents
        cdef CadSlot base
        cdef size_t end
        if self.n == 0:
            return matrix
        base = self.base()
        end = self.end(outputs)
        check(cad_lanes_take(self.tape, self.slots(end) * lanes, &tangents))
        try:
            self.push_identity(tangents.data, 0, lanes, end)
            for i in range(m):
                if place[i] >= 0:
                    for k in range(lanes):
                        data[i * lanes + k] = tangents.data[(place[i] - base) * lanes + k]
        finally:
            cad_lanes_give_back(self.tape, tangents)
        return matrix

    def plain_jacobian(self, out, bint forward):
        """The Jacobian of one array by one array, out.shape + in.shape; None if it is not that.

        `forward` allows for tangent sweeps, where they are cheaper.
        """
        cdef Node node
        cdef bint scalar = CAD_IS_SCALAR(out)
        if self.block is None or len(self.nodes) != 1 or not (CAD_IS_VAR_ARRAY(out) or scalar):
            return None
        node = self.nodes[0]
        if node.shape != ARRAY or CAD_VAR(out).kind == CAD_STALE or not self.is_closed([out]):
            return None
        kind = cnp.PyArray_TYPE(node.original)
        if kind in (cnp.NPY_FLOAT32, cnp.NPY_FLOAT16) or node.original.ndim == 0:
            return None
        matrix = self.jacobian([out], forward)
        return matrix.reshape((() if scalar else out.shape) + node.original.shape)

    cdef bint is_variable(self, output):
        """Whether an output is an array or a number of the recording, and no constant."""
        return on_tape(output, self.tape, self.base()) and not is_constant(output)

    cdef cnp.ndarray slots_of(self, list outputs):
        """The slots of all numbers of the outputs, in order; -1 for what is no variable here."""
        if len(outputs) == 1 and self.n > 0 and self.is_variable(outputs[0]):
            return np.ascontiguousarray(cad_var_slots(CAD_VAR(outputs[0]))).ravel()
        parts = [np.empty(0, np.int64)]
        for output in outputs:
            if self.n > 0 and self.is_variable(output):
                parts.append(cad_var_slots(CAD_VAR(output)).ravel())
            else:
                parts.append(np.full(np.size(plain_value(output)), -1, np.int64))
        return np.ascontiguousarray(np.concatenate(parts))

    cdef int push_identity(self, double *tangents, Py_ssize_t first, Py_ssize_t lanes,
                           size_t end) except -1:
        """Tangents of all slots along the unit vectors first, first + 1, ..."""
        cdef Py_ssize_t k
        memset(tangents, 0, self.n * lanes * sizeof(double))
        for k in range(lanes):
            tangents[(first + k) * lanes + k] = 1.0
        return self.push(tangents, lanes, end)

    cdef int push(self, double *tangents, Py_ssize_t lanes, size_t end) except -1:
        """Tangents of all slots; those of the inputs are there."""
        cdef size_t begin = self.begin()
        check(cad_sweep_tangent(self.tape, begin, end, begin + self.n_inputs(), self.base(), lanes,
                                tangents))
        return 0

    cdef int second(self, object number, double *tangents, Py_ssize_t lanes,
                    double *results) except -1:
        """Hessian times directions: results[i * lanes + k], i over the inputs at first, then over
        all slots."""
        cdef CadSlot base = self.base()
        cdef size_t begin = self.begin(), end = self.clear([number])
        cdef CadLanes all_lanes = CadLanes(results, base, lanes)
        if on_tape(number, self.tape, base):
            cad_var_seed(CAD_VAR(number), 1.0)
        memset(results, 0, self.n * lanes * sizeof(double))
        cad_lanes_clear_adjoints(self.tape, all_lanes, base + self.n, base + self.slots(end))
        check(cad_sweep_second(self.tape, begin, end, begin + self.n_inputs(), base, lanes,
                               tangents, results))
        return 0

    cpdef cnp.ndarray hessian(self, object number):
        """The Hessian (n, n) of one number, some columns a second-order sweep."""
        cdef Py_ssize_t i, k, first, lanes
        cdef cnp.ndarray matrix = np.zeros((self.n, self.n))
        cdef double *data = <double *>cnp.PyArray_DATA(matrix)
        cdef CadLaneBuffer tangents, results
        cdef size_t end
        if self.n == 0:
            return matrix
        end = self.end([number])
        self.take_lanes(&tangents, &results, self.slots(end) * LANES)
        try:
            for first in range(0, self.n, LANES):
                lanes = min(LANES, self.n - first)
                self.push_identity(tangents.data, first, lanes, end)
                self.second(number, tangents.data, lanes, results.data)
                for i in range(self.n):
                    for k in range(lanes):
                        data[i * self.n + first + k] = results.data[i * lanes + k]
        finally:
            cad_lanes_give_back(self.tape, tangents)
            cad_lanes_give_back(self.tape, results)
        return matrix

    def hessian_by_rows(self, object number):
        """The Hessian (n, n) of one number by reverse sweeps over the reverse sweep, which pass
        everything that can be recorded."""
        kept = self.kept
        try:
            return self.jacobian(self.pull_recorded([number], [1.0]), False)
        finally:
            self.kept = kept  # the matrix is plain

    cdef int take_lanes(self, CadLaneBuffer *tangents, CadLaneBuffer *results,
                        size_t numbers) except -1:
        check(cad_lanes_take(self.tape, numbers, tangents))
        status = cad_lanes_take(self.tape, numbers, results)
        if status != CAD_OK:
            cad_lanes_give_back(self.tape, tangents[0])
            check(status)
        return 0

    cpdef list hessian_product(self, object number, list direction):
        """The Hessian of one number times a direction, given and answered in atoms."""
        cdef CadLaneBuffer tangents, results
        cdef cnp.npy_intp n = self.n
        cdef Py_ssize_t offset
        cdef size_t end
        if self.n == 0:
            return self.cut(np.empty(0))
        end = self.end([number])
        self.take_lanes(&tangents, &results, self.slots(end))
        try:
            flat = cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_DOUBLE, tangents.data)
            offset = 0
            for atom in direction:
                if CAD_IS_FLOAT(atom):
                    tangents.data[offset] = PyFloat_AS_DOUBLE(atom)
                    offset += 1
                else:
                    flat[offset : offset + atom.size] = atom.ravel()
                    offset += atom.size
            self.push(tangents.data, 1, end)
            self.second(number, tangents.data, 1, results.data)
            return self.cut(cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_DOUBLE, results.data))
        finally:
            cad_lanes_give_back(self.tape, tangents)
            cad_lanes_give_back(self.tape, results)

    @property
    def structure(self):
        """The structure of the lifted arguments."""
        return Structure(self.nodes)


cdef frozenset STATICS = frozenset((int, bool, str, bytes, type(None)))
cdef object np_float64 = np.float64


cdef inline bint is_plain_number(object x):
    """Whether it is a float, or an array of float64."""
    return (
        type(x) is float or type(x) is np_float64
        or (cnp.PyArray_CheckExact(x) and cnp.PyArray_TYPE(x) == cnp.NPY_DOUBLE)
    )


def plain_numbers(tuple args):
    """The places of those arguments that are numbers, where there are none in the others; None if
    it takes more to tell. Containers are numbers if they hold nothing but floats and arrays of
    float64."""
    cdef Py_ssize_t k
    cdef list found = []
    for k in range(len(args)):
        x = args[k]
        if type(x) in STATICS:
            continue
        if not is_plain_number(x):
            if CAD_IS_VAR(x) or CAD_IS_DUAL(x) or isinstance(x, float) or hasattr(x, "__array__"):
                return None
            container = opened(x)
            if container is None:
                continue
            parts = <tuple>container[1]
            if len(parts) == 0 or not all([is_plain_number(part) for part in parts]):
                return None
        found.append(k)
    return tuple(found)


def run_once(f, tuple args, tuple argnums, finalized):
    """What f returns, run on Vars in the place of some arguments: a float, or else
    finalized(recording, what it returned)."""
    cdef Recording recording = Recording(args, argnums, False, f)
    try:
        out = f(*recording.lifted)
        if (
            CAD_IS_SCALAR(out)
            and recording.n_atoms > 0
            and on_tape(out, recording.tape, recording.base())
            and recording.is_closed([out])
        ):
            return CAD_VAR(out).value
        return finalized(recording, out)
    except Exception as error:
        note_error(recording.tape, error)
        raise
    finally:
        recording.close()


cdef int note_error(CadTape *tape, object error) except -1:
    """Note that f has raised an error."""
    if isinstance(error, MemoryError):
        cad_tape_note_starved(tape)
    else:
        explain_error(error)
    return 0


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
            number = out.item() if cnp.PyArray_Check(out) else only_number(out)
            return scalar_output(number, name=name)
        raise TypeError(
            f"{name} wants one number from f, not an array of shape {out.shape}: use "
            "cadiff.jacobian for functions with several outputs, or return a sum"
        )
    if out is not None and opened(out) is not None:
        raise TypeError(
            f"{name} wants one number from f, not a {type(out).__name__}: use cadiff.jacobian for "
            "functions with several outputs, or has_aux=True to return something beside the number"
        )
    hint = "; is a return missing?" if out is None else ""
    raise TypeError(
        f"{name} wants a real number from f, not {type(out).__name__}{hint}"
    )


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
            aux = recording.finalize(aux)
        return number, (<tuple>gradient)[0] if single else gradient, aux
    except Exception as error:
        note_error(recording.tape, error)
        raise
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


def high_derivatives(Recording recording, list outputs, Py_ssize_t order):
    """The derivatives of an order > 0 of outputs by the one number that was lifted, in the shapes
    of the outputs. Results have to be plain, and nothing recorded a primitive."""
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base()
    cdef double *series = NULL
    cdef double *to
    cdef int64_t *place
    cdef Py_ssize_t i
    cdef size_t end
    # The derivative is order! times a coefficient, which by itself may be too small for a double:
    # so the series are in t where the argument is x + 2**scale t, and of the size of derivatives.
    factor = factorial(order)
    bits = factor.bit_length() - 1
    cdef int scale = bits // order
    cdef int exponent = bits - scale * order
    cdef double mantissa = factor / (1 << bits)
    cad_tape_pin(tape)
    try:
        slots = recording.slots_of(outputs)
        flat = np.zeros(slots.size)
        place = <int64_t *>cnp.PyArray_DATA(slots)
        to = <double *>cnp.PyArray_DATA(flat)
        end = recording.end(outputs)
        series = <double *>cad_memory_zeroed(recording.slots(end) * order, sizeof(double))
        if series == NULL:
            check(CAD_NO_MEMORY)
        series[0] = ldexp(1.0, scale)
        check(cad_sweep_taylor(tape, recording.begin(), end, base, order, series))
        for i in range(slots.size):
            if place[i] >= 0:
                to[i] = ldexp(series[(place[i] - base + 1) * order - 1] * mantissa, exponent)
    finally:
        cad_memory_free(series)
        cad_tape_unpin(tape)
    leaves = []
    i = 0
    for output in outputs:
        lengths = shape(output)
        size = prod(lengths)
        part = flat[i : i + size]
        leaves.append(part.reshape(lengths).copy() if lengths != () else part.item())
        i += size
    return leaves
