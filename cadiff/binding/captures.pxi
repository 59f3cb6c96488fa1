# Numbers outside of a recording that it reads, and derivatives by these: for parts of a computation
# that leave a rule on the tape instead of all their entries.

def outside_of(Recording recording, list outputs):
    """What outputs read that was there before the recording: a list of vectors, Vars."""
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


def pull_outside(Recording recording, list outputs, list seeds, list outside):
    """Plain cotangents of Vars outside, for plain cotangents of outputs."""
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base(), lowest = base
    cdef size_t end = recording.end(outputs)
    for var in outside:
        lowest = min(lowest, CAD_VAR(var).slot)
    check(cad_tape_clear_adjoints(tape, lowest, base + recording.slots(end)))
    for output, seed in zip(outputs, seeds):
        if on_tape(output, tape, base):
            cad_var_seed(CAD_VAR(output), seed)
    recording.sweep(end)
    return [adjoints_of(tape, CAD_VAR(var).slot, var.size) for var in outside]


cdef object adjoints_of(CadTape *tape, CadSlot slot, Py_ssize_t count):
    """The adjoints that the last pass left, as a vector: of a leaf they are not its gradient."""
    cdef cnp.npy_intp length = count
    cdef cnp.ndarray adjoints = cnp.PyArray_EMPTY(1, &length, cnp.NPY_DOUBLE, 0)
    cad_tape_read_adjoints(tape, slot, slot + count, <double *>cnp.PyArray_DATA(adjoints))
    return adjoints


def record_pull_outside(Recording recording, list outputs, list seeds, list outside, bint linear):
    """The same as numbers that can be differentiated again, for cotangents that may be Vars.

    With `linear`, what was recorded counts as constant, and becomes that.
    """
    cdef size_t begin = recording.begin(), end = recording.end(outputs)
    recording.kept = True
    cad_tape_pin(recording.tape)
    try:
        cotangents = RecordedSweep(recording, outputs, linear, outside).run(outputs, seeds)
        if linear:
            cad_freeze(recording.tape, begin, end)
    finally:
        cad_tape_unpin(recording.tape)
    return cotangents[recording.n_atoms :]


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
