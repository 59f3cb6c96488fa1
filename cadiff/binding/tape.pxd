from .generated.entries cimport *

from .generated.graph cimport CadGraph, CadId


cdef enum:
    MOST_AXES = 64
