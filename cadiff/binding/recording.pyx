"""One run of a function on Vars: the numbers it lifts onto the tape, its entries, their life, and
how they are computed again or copied.

A Guarded recording notes choices by values, and can have a Replay: a tape of its own, on which the
recording is computed for other inputs. gradients.pyx and jacobians.pyx compute the derivatives;
this module has the plain sweeps that both make.
"""

from itertools import combinations
from math import prod

import numpy as np

cimport cython
from cpython.object cimport PyObject_Call
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_python cimport class_attribute
from .generated.sweeps cimport *
from .generated.tape cimport *
from .trees cimport opened
from .tape cimport (
    checks_of, forget_suspects, Hook, hook_of, is_gone, note_suspects, on_tape, rule_at, rule_name,
    rule_views, view_at,
)
from .atoms cimport atoms_of, numbers_in, shape
from .guards cimport end_guards, explain_error, noted_guards, start_guards
from .arguments cimport ArgumentNode, Collector, place_of, Structure

from .trees import flattened
from .tape import is_constant
from .atoms import dual_components, finalized, map_numbers, map_vars, plain_values, vars_of
from .forward import under_way


@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Recording:
    """One run of a function on Vars.

    Use: `with Recording(args, argnums) as recording:` call the function on `.lifted`, and ask for
    derivatives of what it returned (`pull_recording(recording, …)`, `jacobian_of(recording, …)`). Leaving the context forgets what was recorded, unless an outer
    differentiation (or a pullback, which calls `keep`) still needs it. Vars that are still alive
    then have to be found, which takes time: drop them before.

    With `borrow`, the values of very large arrays are not copied: these must not change meanwhile.
    `f` is the function, for error messages.

    Outputs are atoms: numbers or arrays. Where an atom consists of several numbers, its
    derivatives have its shape.
    """

    def __cinit__(self, tuple args, tuple argnums, bint borrow=False, f=None):
        if type(f) is Replay:
            self.take(<Replay>f, args)
            return
        self.tape = cad_current_tape()
        check(cad_tape_mark(self.tape))
        self.marked = True
        self.n_refused = cad_state.n_refused_inputs
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
            forget_suspects(self.tape, self.suspects)
            cad_tape_keep(self.tape)

    cdef int take(self, Replay replay, tuple args) except -1:
        """Be what a replay has just computed."""
        self.tape = replay.tape()
        self.nodes, replay.nodes = replay.nodes, None
        self.leaves, replay.leaves = replay.leaves, None
        self.n = replay.n_active
        self.n_atoms = replay.n_atoms
        self.block = replay.held()
        self.lifted = args
        self.is_replay = True
        return 0

    cdef int lift(self, tuple args, tuple argnums, bint borrow) except -1:
        cdef Collector collector = Collector.__new__(Collector)
        cdef CadSlot base = 0
        cdef Py_ssize_t i, size
        cdef tuple nodes
        self.nodes = nodes = collector.collect(args, argnums)
        self.n = collector.count
        self.n_atoms = collector.n_atoms
        if collector.atoms is None:
            check(cad_tape_open_leaf(self.tape, collector.count, &base))
            self.leaves = collector.nodes
            collector.copy_to(self.tape, base, borrow)
            size = collector.count
            self.block = cad_var_view(self.tape, base, 1, &size, NULL, CAD_INPUT)
            atoms = None
        else:
            self.inputs = []
            atoms = [self.lift_atom(atom) for atom in collector.atoms]
        lifted = list(args)
        for i in range(len(nodes)):
            lifted[place_of(args, argnums, i)] = (
                (<ArgumentNode>nodes[i]).lift(atoms, self.block, self.tape, base)
            )
        self.lifted = tuple(lifted)
        return 0

    cpdef object run_function(self, f: Callable[..., Any], dict kwargs):
        """f of the lifted arguments.

        Within a forward differentiation, Duals may be assigned to arrays that are made of
        arguments which are none. Where that was refused, f is run again with Duals alone.
        """
        cdef size_t assigned = self.tape.n_assigned
        cdef long refused = cad_state.n_refused_duals
        try:
            return PyObject_Call(f, self.lifted, kwargs)
        except TypeError:
            if cad_state.n_refused_duals == refused or self.tape.n_assigned != assigned:
                raise
            lifted = map_numbers(self.lifted, under_way)
        return PyObject_Call(f, lifted, kwargs)

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
        elif cnp.PyArray_Check(atom) or cad_is_single(atom):
            var = self.leaf_array(np.asarray(atom))
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
        cdef uint32_t flags = CAD_INPUT | (CAD_SINGLE if cad_is_single(array) else 0)
        array = np.asarray(array, np.float64, order="C")  # which has no axes where it had none
        check(cad_tape_leaf(self.tape, cnp.doubles(array), size, False, &slot))
        check(cad_tape_note_block(self.tape, slot, slot + size, CAD_ARGUMENT))
        return cad_var_view(
            self.tape,
            slot,
            cnp.PyArray_NDIM(array),
            <const Py_ssize_t *>cnp.PyArray_DIMS(array),
            NULL,
            flags,
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
        for leaf in self.leaves or ():
            (<ArgumentNode>leaf).check_unchanged()
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
                index = cad_tape_find(self.tape, <CadSlot>high)
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

    def holds(self, atom) -> bool:
        """Whether an atom came about in the recording."""
        return on_tape(atom, self.tape, self.base())

    @property
    def writes_inputs(self) -> bool:
        """Whether something was assigned to an input."""
        cdef size_t i, target, base
        if self.tape.n_assigned == 0 or self.n == 0:
            return False
        base = self.base()
        for i in range(self.begin(), self.tape.n_entries):
            if cad_entry_target(self.tape, self.tape.entries[i], &target):
                if base <= target < base + <size_t>self.n:
                    return True
        return False

    @property
    def refused_inputs(self) -> bool:
        """Whether f was not let assign to an input, to which the plain f may assign."""
        return cad_state.n_refused_inputs != self.n_refused

    def changes(self, given) -> list[tuple[NDArray[Any], NDArray[Any]]] | None:
        """The assignments of f to its arguments: pairs of a given array and its new values.

        None if f has to run on the given arrays: these share memory, so that f met other values
        than it would there, or an assignment was refused.
        """
        if self.refused_inputs:
            return None
        if not self.writes_inputs:
            return []
        items, _ = flattened(given)
        lifted, _ = flattened(self.lifted)
        arrays = [item for item in items if cnp.PyArray_Check(item)]
        if any([np.may_share_memory(*pair) for pair in combinations(arrays, 2)]):
            return None
        return [
            (array, np.array(plain_values(var)))
            for array, var in zip(items, lifted)
            if cnp.PyArray_Check(array) and CAD_IS_VAR(var)
        ]

    def finalize(self, tree):
        """What f returned beside its result: plain values if it depends on nothing but the lifted
        arguments, else as it is, and what was recorded is kept."""
        if self.is_closed([var for atom in numbers_in(tree) for var in vars_of(atom)]):
            return map_numbers(tree, self.outlives)
        self.kept = True
        return tree

    cpdef object outlives(self, atom):
        """An atom as it may leave a recording that is about to be forgotten: its value, unless it
        belongs to an outer computation."""
        if CAD_IS_DUAL(atom):
            return map_vars(atom, self.outlives)
        if on_tape(atom, self.tape, <CadSlot>self.tape.mark_slots):
            return cad_plain_value(atom)
        return finalized(atom)

    def value_of(self, out) -> tuple[float | NDArray[np.float64], Var] | None:
        """The value of a Var of double precision that depends on nothing but plain arguments, and a
        Var that has it whatever is assigned later; None of all else."""
        if self.block is None or not on_tape(out, self.tape, <CadSlot>self.tape.mark_slots):
            return None
        if cad_is_single(out) or not self.is_closed([out]):
            return None
        value = cad_plain_value(out)
        if CAD_IS_VAR_ARRAY(out):
            out = cad_array_copy(CAD_VAR(out))
        return np.array(value) if shape(out) else float(value), out

    def keep(self) -> None:
        """Have what was recorded live as long as its Vars."""
        self.kept = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception):
        try:
            if exception[1] is not None:
                note_error(self.tape, exception[1])
        finally:
            self.close()

    cdef int close(self) except -1:
        """End the recording."""
        if self.suspects is not None:
            forget_suspects(self.tape, self.suspects)
        if self.marked:
            self.marked = False
            self.lifted = None
            # A replay needs what was recorded, though no result does, to choose as it did.
            if self.kept or (self.tape.guards != NULL and cad_compares_below(self.tape)):
                cad_tape_keep(self.tape)
            else:
                self.block = self.inputs = self.fence = self.checked = None
                cad_rewind(self.tape)
        elif self.is_replay and not self.kept:
            self.block = self.fence = self.checked = None
        return 0

    # --- sweeps

    cdef int clear(self, size_t end) except -1:
        """Clear the adjoints for a pass back from `end`."""
        cdef CadSlot base = self.base()
        check(cad_tape_clear_adjoints(self.tape, base, base + self.slots(end)))
        return 0

    cdef int sweep(self, size_t end) except -1:
        """Sweep back from `end`; the adjoints of the inputs are those that count."""
        cdef size_t begin = self.begin()
        return cad_sweep(self.tape, begin, end, begin + self.n_inputs(), False)

    cdef list cut(self, cnp.ndarray flat):
        """A vector over all inputs as atoms."""
        return atoms_of(flat, self.structure.shapes)

    cdef size_t first_plan(self):
        """Where the plans of entries over arrays begin; at the end of all, if there is none."""
        cdef size_t i
        for i in range(self.begin(), self.tape.n_entries):
            if CAD_IS_ARRAY_ENTRY(self.tape.entries[i]):
                return self.tape.entries[i].a
        return self.tape.n_plan_words

    cdef bint plain_results(self, list outputs):
        """Whether derivatives of these outputs are plain."""
        for output in outputs:
            if CAD_IS_DUAL(output):
                return False
        return self.is_closed(outputs)

    cpdef bint is_plain(self, list outputs):
        """Whether the methods below can be used for these outputs."""
        return self.block is not None and self.plain_results(outputs)

    @property
    def has_rules(self) -> bool:
        """Whether a primitive was recorded, or each step has to be checked, which forward and
        second-order sweeps cannot do."""
        return checks_of(self.tape) is not None or cad_tape_has_rules(
            self.tape, self.begin(), self.tape.n_entries
        )

    @property
    def passes_series(self) -> bool:
        """Whether sweeps over power series can pass what was recorded: nothing but operations."""
        return checks_of(self.tape) is None and not self.rules()

    @property
    def passes_rules(self) -> bool:
        """Whether sweeps along one direction can pass what was recorded: no rule runs again, and
        steps are not checked one by one."""
        return checks_of(self.tape) is None and not any([rule.runs_again for rule in self.rules()])

    cdef list rules(self):
        """The rules that were recorded, of programs too."""
        cdef size_t i
        return [
            rule_at(self.tape, i)
            for i in range(self.begin(), self.tape.n_entries)
            if cad_entry_is_rule(self.tape.entries[i])
        ]

    @property
    def structure(self) -> Structure:
        """The structure of the lifted arguments."""
        return Structure(self.nodes)


cdef frozenset STATICS = frozenset((int, bool, str, bytes, type(None)))
cdef object FLOAT64 = np.float64


cdef inline bint is_plain_number(object x):
    """Whether it is a float, or an array of float64."""
    return (
        type(x) is float or type(x) is FLOAT64
        or (cnp.PyArray_CheckExact(x) and cnp.PyArray_TYPE(x) == cnp.NPY_DOUBLE)
    )


def plain_numbers(tuple args) -> tuple[int, ...] | None:
    """The places of those arguments that are numbers, where there are none in the others; None if
    it takes more to tell. Containers are numbers if they hold nothing but floats and arrays of
    float64."""
    cdef Py_ssize_t k
    cdef list places = []
    for k in range(len(args)):
        x = args[k]
        if type(x) in STATICS:
            continue
        if not is_plain_number(x):
            if (
                CAD_IS_VAR(x) or CAD_IS_DUAL(x) or isinstance(x, float)
                or class_attribute(type(x), "__array__") is not None
            ):
                return None
            container = opened(x)
            if container is None:
                continue
            parts = <tuple>container[1]
            if len(parts) == 0 or not all([is_plain_number(part) for part in parts]):
                return None
        places.append(k)
    return tuple(places)


def run_once(f: Callable[..., Any], tuple args, tuple argnums,
             finalized: Callable[[Recording, Any], Any],
             changed: Callable[[list[tuple[NDArray[Any], NDArray[Any]]]], None]):
    """What f returns, run on Vars in the place of some arguments: a float, or else
    finalized(recording, what it returned). NotImplemented: f has to run on what was given.

    What f has assigned to its arguments is handed to changed(changes).
    """
    cdef Recording recording = Recording(args, argnums, False, f)
    try:
        out = f(*recording.lifted)
        changes = recording.changes(args)
        if changes is None:
            return NotImplemented
        if changes:
            changed(changes)
        if (
            CAD_IS_SCALAR(out)
            and recording.n_atoms > 0
            and on_tape(out, recording.tape, recording.base())
            and recording.is_closed([out])
        ):
            return CAD_VAR(out).value
        return finalized(recording, out)
    except Exception as error:
        if recording.refused_inputs:
            return NotImplemented
        note_error(recording.tape, error)
        raise
    finally:
        recording.close()


def assign(changes: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> None:
    """Change arguments as f did what stood for them: see Recording.changes."""
    for array, values in changes:
        np.copyto(array, values, casting="unsafe")


cdef int note_error(CadTape *tape, object error) except -1:
    """Note that f has raised an error."""
    if isinstance(error, MemoryError):
        cad_tape_note_starved(tape)
    else:
        explain_error(error)
    return 0


# --- what was recorded, computed again


@cython.final
cdef class Replay:
    """What a function recorded in a call, for others that choose alike.

    A gradient function takes a Replay in place of the function. Its entries are on the tape
    already; the Replay computes their values anew.

    One call at a time has it: as long as a number of its tape lives.
    """

    def __init__(self):
        raise TypeError("a Replay is made of a recording: see Guarded.replay")

    def __dealloc__(self):
        cdef CadTape *tape
        if self.replay != NULL:
            tape = self.replay.tape
            cad_replay_free(self.replay)
            if tape != NULL:
                cad_desert_tape(tape)

    @property
    def nbytes(self) -> int:
        return cad_replay_bytes(self.replay)

    cdef CadTape *tape(self):
        return self.replay.tape

    cdef object held(self):
        """All inputs that carry derivatives, as one vector."""
        return cad_var_view(self.tape(), 0, 1, &self.n_active, NULL, CAD_INPUT)

    def start(self, cnp.ndarray inputs, tuple args, tuple argnums):
        """Compute all numbers from inputs; `args` are to be differentiated by.

        Answers a number that has to live as long as this goes on; None if another call has the
        replay, False if a choice comes out otherwise, NotImplemented if the arguments are not
        plain.
        """
        cdef Collector collector = Collector.__new__(Collector)
        nodes = collector.collect(args, argnums)
        if (
            collector.atoms is not None
            or collector.count > self.n_active
            or cnp.PyArray_SIZE(inputs) != self.n_inputs
        ):
            return NotImplemented
        if cad_tape_all_handles(self.tape()) > 0:
            return None
        held = self.held()  # before other threads may run
        self.nodes, self.leaves = nodes, collector.nodes
        self.n_atoms = collector.n_atoms
        if not cad_replay_run(self.replay, cnp.doubles(inputs)):
            return False
        return held

    def __call__(self, *args, **kwargs):
        """What the function returns, which can be differentiated."""
        return self.returned([self.output(item) for item in self.outputs], True)

    def value(self):
        """What the function returns, without derivatives."""
        return self.returned([cad_plain_value(self.output(item)) for item in self.outputs])

    cdef object output(self, object item):
        if type(item) is not tuple:
            return item.copy() if cnp.PyArray_Check(item) else item
        return view_at(self.tape(), item)


OUTER: str = "it depends on numbers with derivatives that are no arguments"


@cython.final
cdef class Guarded:
    """What is recorded in this context is to be replayed: choices by values are noted.

    `lifted` are the inputs, in the order in which they were given: floats or float64 arrays. If it
    is within another Guarded recording, nothing is noted for that one meanwhile. `exact`: but for
    comparisons, what is recorded is what would be recorded without guards. `reads`: f, or what it
    calls, wants plain values and integers: they are computed, as guards or obstacles.
    """

    def __init__(self, inputs: Iterable[Any], f: Callable[..., Any], exact: bool = False,
                 reads: bool = False):
        self.recording = Recording(tuple(inputs), tuple(range(len(inputs))), f=f)
        self.exact = exact
        self.reads = reads

    def __enter__(self) -> Self:
        try:
            start_guards(self.recording.tape, self.exact, self.reads)
        except BaseException:
            self.recording.close()
            raise
        self.entered = self.recording.tape
        self.lifted = self.recording.lifted
        return self

    def __exit__(self, *exception):
        self.leave()
        self.lifted = None
        self.recording.__exit__(*exception)

    def __dealloc__(self):
        self.leave()

    cdef int leave(self) except -1:
        if self.entered != NULL:
            end_guards(self.entered)
            self.entered = NULL
        return 0

    @property
    def obstacle(self) -> str:
        """Why what was recorded cannot be replayed, or ""."""
        cdef CadTape *tape = self.recording.tape
        if tape.guards.obstacle[0] != 0:
            return (<bytes>tape.guards.obstacle).decode()
        if self.recording.base() > 0 and cad_reads_below(
            tape, self.recording.begin(), tape.n_entries, self.recording.base()
        ):
            return OUTER
        return ""

    @property
    def has_singles(self) -> bool:
        """Whether something was computed in single precision."""
        return self.recording.tape.guards.has_singles != 0

    @property
    def is_shown(self) -> bool:
        """Whether f has asked for the `repr` of a number, which only its own arguments tell."""
        return self.recording.tape.guards.is_shown != 0

    def replay(self, list atoms, Py_ssize_t n_active,
               returned: Callable[[list[Any]], Any]) -> Replay | str:
        """A Replay of what was recorded, or why there is none: the first inputs are active, and
        `returned` makes of outputs like these atoms what f returns."""
        cdef CadTape *tape = self.recording.tape
        cdef size_t begin = self.recording.begin()
        cdef Replay replay = Replay.__new__(Replay)
        status = cad_replay_new(tape, begin, self.recording.n, n_active, &replay.replay)
        if status == CAD_RAISED:
            if cad_tape_has_rules(tape, begin, tape.n_entries):
                return "an operation has a rule of its own, which is not replayed to the last bit"
            return OUTER
        check(status)
        replay.n_inputs, replay.n_active = self.recording.n, n_active
        replay.returned = returned
        replay.outputs = [self.place_of(atom) for atom in atoms]
        return replay

    cdef object place_of(self, object atom):
        """Where an output stands in the recording, as for view_at; its values if it is constant."""
        if not self.recording.holds(atom) or is_constant(atom) or prod(shape(atom)) == 0:
            return cad_plain_value(atom)
        lengths = shape(atom)
        strides = [CAD_STRIDES(CAD_VAR(atom).view)[i] for i in range(len(lengths))]
        return CAD_VAR(atom).slot - self.recording.base(), lengths, tuple(strides)

    def made(self, list atoms) -> bool:
        """Whether these came about here, or carry no derivative."""
        for atom in atoms:
            if CAD_IS_DUAL(atom):  # of an outer forward mode
                return False
            if CAD_IS_VAR(atom) and CAD_VAR(atom).tape != NULL and prod(shape(atom)) > 0:
                if not is_constant(atom) and not self.recording.holds(atom):
                    return False
        return True


def _guards_elsewhere(Recording recording, numbers) -> list[tuple[int, int, bool, list[bool]]]:
    """The guards as they come out when what was recorded is computed again from other inputs,
    given as one vector. For tests: afterwards numbers do not know their values."""
    cdef CadTape *tape = recording.tape
    cdef CadSlot slot = recording.base()
    cdef cnp.ndarray flat = np.ascontiguousarray(numbers, dtype=np.float64).ravel()
    memcpy(tape.values + slot, cnp.PyArray_DATA(flat), recording.n * sizeof(double))
    cad_sweep_value(tape, recording.begin(), tape.n_entries)
    return noted_guards(tape)


# --- what was recorded, as plain Python objects


def snapshot(Recording recording, list outputs) -> dict[str, Any]:
    """Copy what was recorded, after a sweep from the sum of all outputs.

    Values are those that the operations computed, before anything was assigned to them.
    """
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base()
    cdef size_t begin = recording.begin()
    cdef size_t i, low, high, n = tape.n_entries - begin, n_slots = tape.n_slots - base
    cdef size_t first_plan = recording.first_plan()
    cdef size_t plan_words = tape.n_plan_words - first_plan
    cdef cnp.ndarray entries = np.empty((n, 4), np.uint32)
    cdef cnp.ndarray shape_numbers = np.zeros(n, np.uint32)
    cdef cnp.ndarray plans = np.empty(plan_words, np.int64)
    cdef cnp.ndarray values = np.empty(n_slots)
    cdef cnp.ndarray adjoints = np.empty(n_slots)
    cdef uint32_t *numbers = <uint32_t *>cnp.PyArray_DATA(shape_numbers)
    cdef size_t end = recording.end(outputs)
    recording.clear(end)
    cdef Hook hook = hook_of(tape)
    for output in outputs:
        if on_tape(output, tape, base):
            cad_var_seed(CAD_VAR(output), np.ones(output.shape) if output.shape else 1.0)
    cad_sweep(tape, begin, end, end, False)
    cad_tape_read_adjoints(tape, base, tape.n_slots, cnp.doubles(adjoints))
    cad_sweep_undo(tape, begin, tape.n_entries)
    cad_tape_copy_borrowed(tape)
    memcpy(cnp.PyArray_DATA(values), tape.values + base, n_slots * sizeof(double))
    cad_sweep_redo(tape, begin, tape.n_entries)
    memcpy(cnp.PyArray_DATA(entries), tape.entries + begin, n * sizeof(CadEntry))
    if plan_words:  # else there may be none at all, and memcpy does not take NULL
        memcpy(cnp.PyArray_DATA(plans), tape.plans + first_plan, plan_words * sizeof(int64_t))
    rules = {}
    outer = {}
    writes = []
    for i in range(n):
        numbers[i] = cad_tape_origin(tape, begin + i).shape
        if cad_entry_target(tape, tape.entries[begin + i], &low):
            cad_tape_allocation(tape, low, &low, &high)
            writes.append((i, low, high))
        if CAD_IS_ARRAY_ENTRY(tape.entries[begin + i]):
            if cad_entry_is_rule(tape.entries[begin + i]):
                rule, _, outs = rule_views(tape, begin + i)
                rules[i] = rule_name(rule), [(CAD_VAR(out).slot, shape(out)) for out in outs]
        elif tape.entries[begin + i].a < base or tape.entries[begin + i].b < base:
            if <int>CAD_CODE_OP(tape.entries[begin + i].code) != CAD_OP_LEAF:
                for slot in (tape.entries[begin + i].a, tape.entries[begin + i].b):
                    if slot < base:
                        outer[slot] = tape.values[slot]
    vars = recording.inputs if recording.block is None else [recording.block]
    return {
        "base": base,
        "inputs": [(CAD_VAR(var).slot, np.size(cad_plain_value(var))) for var in vars],
        "n_input_entries": recording.n_inputs(),
        "entries": entries,
        "plans": plans,
        "plan_base": first_plan,
        "values": values,
        "adjoints": adjoints,
        "shapes": list(hook.shapes),
        "shape_numbers": shape_numbers,
        "rules": rules,
        "outer": outer,
        "writes": np.array(writes, np.int64).reshape(-1, 3),
        "outputs": np.array([
            CAD_VAR(output).slot if on_tape(output, tape, base) else -1 for output in outputs
        ], np.int64),
    }
