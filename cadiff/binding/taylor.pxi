# Derivatives of high order of what was recorded, by power series.

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
        form = shape(output)
        size = prod(form)
        part = flat[i : i + size]
        leaves.append(part.reshape(form).copy() if form != () else part.item())
        i += size
    return leaves
