from .generated.entries cimport *

from .generated.graph cimport CadGraph, CadId


cdef enum:
    MOST_AXES = 64


cdef class Context:
    cdef CadTape *entered   # NULL: not entered, or left
    cdef object before


cdef class Checks:
    cdef list suspects      # names of inputs that were not finite when a function was called
    cdef object step        # (name, place) of the operation that is being differentiated, ...
    cdef object step_frame  # ... and the frame that asked for that


@cython.final
cdef class Hook:
    cdef CadTape *tape
    cdef CadHook functions
    cdef list shapes      # by the numbers that origins have for them
    cdef dict shape_numbers
    cdef int users        # how many have set it
    cdef Checks checks    # of each step; or None
