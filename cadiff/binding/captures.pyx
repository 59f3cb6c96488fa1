"""What a recording depends on beside its arguments.

Captures are numbers that it reads and that were on the tape before it began. A part of a
computation that leaves one rule on the tape, instead of all its entries, needs the derivatives by
them. A Guarded recording must have none, since it is to be replayed; it notes choices by values as
guards.
"""

from math import prod

import numpy as np

cimport cython
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_sweeps cimport *
from .c_tape cimport *
from .tape cimport on_tape
from .atoms cimport shape
from .guards cimport end_guards, noted_guards, start_guards
from .recording cimport Recording
from .replays cimport Replay
from .gradients cimport swept

from .tape import is_constant


def captures_of(Recording recording, list outputs):
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


def pull_captures(Recording recording, list outputs, list seeds, list captures):
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
    cdef cnp.npy_intp length = count
    cdef cnp.ndarray adjoints = cnp.PyArray_EMPTY(1, &length, cnp.NPY_DOUBLE, 0)
    cad_tape_read_adjoints(tape, slot, slot + count, <double *>cnp.PyArray_DATA(adjoints))
    return adjoints


def record_pull_of_captures(Recording recording, list outputs, list seeds, list captures,
                            bint linear):
    """Cotangents of captures that can be differentiated again, for cotangents of outputs that may
    be Vars.

    With `linear`, what was recorded counts as constant, and becomes that.
    """
    cdef size_t begin = recording.begin(), end = recording.end(outputs)
    recording.kept = True
    cad_tape_pin(recording.tape)
    try:
        cotangents = swept(recording, outputs, seeds, linear, captures).results_of_captures()
        if linear:
            cad_freeze(recording.tape, begin, end)
    finally:
        cad_tape_unpin(recording.tape)
    return cotangents


def are_within(list vectors, list others):
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


OUTER = "it depends on numbers with derivatives that are no arguments"


@cython.final
cdef class Guarded:
    """What is recorded in this context is to be replayed: choices by values are noted.

    `lifted` are the inputs, in the order in which they were given: floats or float64 arrays. If it
    is within another Guarded recording, nothing is noted for that one meanwhile. `exact`: but for
    comparisons, what is recorded is what would be recorded without guards. `reads`: f, or what it
    calls, wants plain values and integers: they are computed, as guards or obstacles.
    """

    def __init__(self, inputs, f, exact=False, reads=False):
        self.recording = Recording(tuple(inputs), tuple(range(len(inputs))), f=f)
        self.exact = exact
        self.reads = reads

    def __enter__(self):
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
    def obstacle(self):
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
    def is_shown(self):
        """Whether f has asked for the `repr` of a number, which only its own arguments tell."""
        return self.recording.tape.guards.is_shown != 0

    def replay(self, list atoms, Py_ssize_t n_active, returned):
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
            return plain_value(atom)
        lengths = shape(atom)
        strides = [CAD_STRIDES(CAD_VAR(atom).view)[i] for i in range(len(lengths))]
        return CAD_VAR(atom).slot - self.recording.base(), lengths, tuple(strides)

    def made(self, list atoms):
        """Whether these came about here, or carry no derivative."""
        for atom in atoms:
            if CAD_IS_DUAL(atom):  # of an outer forward mode
                return False
            if CAD_IS_VAR(atom) and CAD_VAR(atom).tape != NULL and prod(shape(atom)) > 0:
                if not is_constant(atom) and not self.recording.holds(atom):
                    return False
        return True


def _guards_elsewhere(Recording recording, numbers):
    """The guards as they come out when what was recorded is computed again from other inputs,
    given as one vector. For tests: afterwards numbers do not know their values."""
    cdef CadTape *tape = recording.tape
    cdef CadSlot slot = recording.base()
    cdef cnp.ndarray flat = np.ascontiguousarray(numbers, dtype=np.float64).ravel()
    memcpy(tape.values + slot, cnp.PyArray_DATA(flat), recording.n * sizeof(double))
    cad_sweep_value(tape, recording.begin(), tape.n_entries)
    return noted_guards(tape)
