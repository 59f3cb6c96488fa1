"""Inlining recordings: what a function recorded is put on the tape again, for other inputs."""

from math import prod

import numpy as np

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_sweeps cimport *
from .c_tape cimport *
from .tape cimport is_constant, MOST_AXES, on_tape
from .atoms cimport active_of, ndim, shape
from .recording cimport Recording

from .captures import OUTER

cdef enum:
    MOST_VARIANTS = 32


@cython.final
@cython.no_gc
cdef class Variant:
    """An inlined recording as it is where some inputs carry derivatives, and others do not."""

    cdef CadInlinedVariant *variant
    cdef bytes is_active  # of each output

    def __dealloc__(self):
        cad_inlined_variant_free(self.variant)


@cython.final
cdef class Inlined:
    """What a function recorded in a call, to be inlined in others that choose alike.

    Inputs and outputs are atoms: numbers and arrays. Nothing in it changes but the variants made
    so far, so several threads may inline it.
    """

    cdef CadInlined *inlined
    cdef list inputs     # the shape of each
    cdef size_t n_inputs # numbers
    cdef list outputs    # of each (slot, shape, strides, flags), or a float or array if constant
    cdef dict variants

    def __init__(self):
        raise TypeError("an Inlined comes from inlined_of")

    def __dealloc__(self):
        self.variants = None
        cad_inlined_free(self.inlined)

    @property
    def nbytes(self):
        return cad_inlined_bytes(self.inlined)

    cdef Variant variant(self, bytes active):
        cdef Variant variant = self.variants.get(active)
        cdef cnp.ndarray slots, found
        if variant is not None:
            return variant
        variant = Variant.__new__(Variant)
        per_number = b"".join(
            [active[k : k + 1] * prod(lengths) for k, lengths in enumerate(self.inputs)]
        )
        places = [item[0] if type(item) is tuple else -1 for item in self.outputs]
        slots = np.array([slot for slot in places if slot >= 0], dtype=np.int64)
        found = np.zeros(len(slots), dtype=np.uint8)
        check(cad_inlined_variant_new(
            self.inlined, <const unsigned char *>per_number,
            <const int64_t *>cnp.PyArray_DATA(slots), len(slots),
            <unsigned char *>cnp.PyArray_DATA(found), &variant.variant,
        ))
        answers = iter(found.tolist())
        variant.is_active = bytes([slot >= 0 and next(answers) for slot in places])
        if len(self.variants) == MOST_VARIANTS:
            self.variants.clear()
        self.variants[active] = variant
        return variant

    def inline(self, list atoms):
        """What the function returns for these inputs, in atoms: Vars, floats and arrays; or the
        number of the guard that came out otherwise; or None if only the function can tell.

        The Vars among them are the inputs of a recording that has just begun: what is recorded is
        what the function would record.
        """
        cdef CadTape *tape = cad_current_tape()
        cdef CadFilled filled
        cdef CadSlot shift = 0
        cdef CadSlot *slots
        cdef long missed = -1
        cdef Variant variant
        cdef bytes active = None if tape.hook != NULL else active_of(tape, atoms, self.inputs)
        if active is None:
            return None
        variant = self.variant(active)
        slots = <CadSlot *>cad_memory_resize(NULL, self.n_inputs, sizeof(CadSlot))
        if slots == NULL:
            check(CAD_NO_MEMORY)
        try:
            check(cad_tape_ensure(tape))  # which may move slots
            cad_tape_pin(tape)
            filled = cad_tape_filled(tape)
            try:
                copies = self.put(tape, atoms, slots)
                check(cad_inlined_append(variant.variant, tape, slots, &shift, &missed))
                if missed < 0:
                    return self.results(tape, variant, slots, shift)
                copies = None  # which are about to be gone
                cad_tape_take_back(tape, filled)
                return missed
            finally:
                cad_tape_unpin(tape)
        finally:
            cad_memory_free(slots)

    cdef list put(self, CadTape *tape, list atoms, CadSlot *slots):
        """Find the slots of all numbers, which are put on the tape if need be. Answers the copies
        that keep them alive."""
        cdef Py_ssize_t i, n, at = 0
        cdef CadSlot slot = 0
        cdef cnp.ndarray array
        copies = []
        for atom in atoms:
            n = 1
            if CAD_IS_VAR_ARRAY(atom):
                n = CAD_VAR(atom).view.size
                if n > 0 and not cad_var_is_contiguous(CAD_VAR(atom)):
                    atom = cad_array_copy(CAD_VAR(atom))
                    copies.append(atom)
                slot = CAD_VAR(atom).slot
            elif CAD_IS_SCALAR(atom):
                slot = CAD_VAR(atom).slot
            elif cnp.PyArray_Check(atom) and cnp.PyArray_NDIM(atom) > 0:
                n = cnp.PyArray_SIZE(atom)
                check(cad_tape_block(tape, n, False, &slot))
                array = np.ascontiguousarray(atom, dtype=np.float64)
                memcpy(tape.values + slot, cnp.PyArray_DATA(array), n * sizeof(double))
            else:
                check(cad_tape_ensure(tape))
                slot = <CadSlot>tape.n_slots
                cad_tape_skip(tape, cad_primal(atom) if CAD_IS_VAR(atom) else <double>atom)
            for i in range(n):
                slots[at + i] = slot + <CadSlot>i
            at += n
        return copies

    cdef list results(self, CadTape *tape, Variant variant, CadSlot *slots, CadSlot shift):
        """The outputs, now that they stand on the tape."""
        cdef CadSlot slot
        results = []
        for k, item in enumerate(self.outputs):
            if type(item) is not tuple:
                results.append(item.copy() if cnp.PyArray_Check(item) else item)
                continue
            place, lengths, strides, flags = item
            if <size_t>place < self.n_inputs:
                slot = slots[<size_t>place]
            else:
                slot = <CadSlot>place + shift
            var = output_view(tape, slot, lengths, strides, 0)
            if not variant.is_active[k]:
                results.append(plain_value(var))
            else:
                if lengths:
                    var = output_view(tape, slot, lengths, strides, flags)
                results.append(var)
        return results


cdef object output_view(CadTape *tape, CadSlot slot, tuple shape, tuple strides, uint32_t flags):
    cdef Py_ssize_t lengths[MOST_AXES]
    cdef Py_ssize_t steps[MOST_AXES]
    if not shape:
        return cad_var_new(tape, slot, cad_tape_values(tape, slot)[slot])
    for i in range(len(shape)):
        lengths[i] = shape[i]
        steps[i] = strides[i]
    return cad_var_view(tape, slot, <int>len(shape), lengths, steps, flags)


def inlined_of(Recording recording, list atoms):
    """What a recording holds as an Inlined, or why there is none; `atoms` are its outputs."""
    cdef Inlined result = Inlined.__new__(Inlined)
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base()
    result.variants = {}
    result.n_inputs = recording.n
    result.inputs = [
        lengths for shapes in recording.structure.leaf_shapes() for lengths in shapes
    ]
    result.outputs = []
    for atom in atoms:
        if on_tape(atom, tape, base) and not is_constant(atom) and prod(shape(atom)) > 0:
            result.outputs.append(output_place(atom, base))
        else:
            values = plain_value(atom)
            result.outputs.append(values if ndim(values) == 0 else np.array(values))
    status = cad_inlined_new(tape, recording.begin(), recording.n, &result.inlined)
    if status == CAD_RAISED:
        if cad_tape_has_rules(tape, recording.begin(), tape.n_entries):
            return "an operation has a rule of its own, which is not replayed to the last bit"
        return OUTER
    check(status)
    return result


cdef tuple output_place(object atom, CadSlot base):
    """Where an output stands: slot, shape, strides, flags."""
    cdef CadView *view
    slot = CAD_VAR(atom).slot - base
    if not CAD_IS_VAR_ARRAY(atom):
        return slot, (), (), 0
    view = CAD_VAR(atom).view
    strides = tuple([CAD_STRIDES(view)[i] for i in range(view.ndim)])
    return slot, shape(atom), strides, view.flags & ~<uint32_t>(CAD_CONSTANT | CAD_PICKED)
