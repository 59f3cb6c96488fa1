# What other modules see of guards.pyx.

from cpython.object cimport PyObject

from .c_numbers cimport CadTag
from .generated.entries cimport *


cdef int start_guards(CadTape *tape, bint at_once, bint reads) except -1
cdef int end_guards(CadTape *tape) except -1
cdef object call_named(object function, object self, PyObject *const *args, size_t nargsf,
                       PyObject *names)
cdef int explain_error(object error) except -1
cdef list noted_guards(CadTape *tape)


cdef class ValuesTaken:
    cdef readonly list numbers
    cdef readonly str name
    cdef size_t first
    cdef CadTag newest
    cdef object around

    cdef int take(self, object number) except -1
