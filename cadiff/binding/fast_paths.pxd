# What other modules see of fast_paths.pyx.

cimport cython

from .calls cimport Backoff, Call, Missed

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


@cython.final
cdef class MethodSignatures:
    cdef list known
    cdef Backoff backoff

    cdef object find_and_serve(self, tuple args, dict kwargs, object argnums)
    cdef bint serve_into(self, tuple args, dict kwargs, object out) except -1
    cdef object signature_of(self, Call call, tuple args, object argnums, tuple last, bint whole)
    cdef int forget(self, programs) except -1
    cdef int forget_fallbacks(self) except -1


@cython.final
cdef class FastPathTable:
    cdef list of_methods
    cdef readonly Backoff backoff

    cdef object signature_of(self, str what, Call call, tuple args, object argnums, tuple last)
