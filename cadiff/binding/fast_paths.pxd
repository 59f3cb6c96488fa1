cdef object MISSED, REFUSED
cdef tuple NAMES


cdef enum Method:
    VALUE
    GRAD
    VALUE_AND_GRAD
    JACOBIAN
    HESSIAN
    HVP
    JVP
    VJP
    JACFWD


cdef inline bint is_refused(object result):
    """Whether no recording at hand serves a call."""
    return result is REFUSED or type(result) is Missed


cdef inline bint is_missing(object result):
    """Whether no fast path gives it."""
    return result is MISSED or is_refused(result)
