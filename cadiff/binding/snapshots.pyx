"""Copies of what was recorded, as plain Python objects."""

import numpy as np

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_tape cimport *
from .c_sweeps cimport *
from .c_numbers cimport *
from .tape cimport on_tape, rule_call, rule_name, RuleCall, Hook, hook_of
from .recording cimport Recording


def snapshot(Recording recording, list outputs):
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
    cdef size_t end = recording.clear(outputs)
    cdef Hook hook = hook_of(tape)
    cdef RuleCall call
    for output in outputs:
        if on_tape(output, tape, base):
            cad_var_seed(CAD_VAR(output), np.ones(output.shape) if output.shape else 1.0)
    cad_sweep(tape, begin, end, end, False)
    cad_tape_read_adjoints(tape, base, tape.n_slots, <double *>cnp.PyArray_DATA(adjoints))
    cad_sweep_undo(tape, begin, tape.n_entries)
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
                call = rule_call(tape, begin + i)
                rules[i] = rule_name(call.rule), [place[:2] for place in call.outs]
        elif tape.entries[begin + i].a < base or tape.entries[begin + i].b < base:
            if <int>CAD_CODE_OP(tape.entries[begin + i].code) != CAD_OP_LEAF:
                for slot in (tape.entries[begin + i].a, tape.entries[begin + i].b):
                    if slot < base:
                        outer[slot] = tape.values[slot]
    vars = recording.inputs if recording.block is None else [recording.block]
    return {
        "base": base,
        "inputs": [(CAD_VAR(var).slot, np.size(plain_value(var))) for var in vars],
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
