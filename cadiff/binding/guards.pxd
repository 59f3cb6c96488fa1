from .c_numbers cimport CadTag
from .generated.entries cimport *


cdef class ValuesTaken:
    cdef readonly list numbers
    cdef readonly str name
    cdef size_t first
    cdef CadTag newest
    cdef object around
