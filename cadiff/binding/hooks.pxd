# What other modules see of hooks.pyx.

cimport cython

from .c_sweeps cimport *
from .c_entries cimport *


cdef class Checks:
    cdef list suspects      # names of inputs that were not finite when a function was called
    cdef object step        # (name, place) of the operation that is being differentiated, ...
    cdef object step_frame  # ... and the frame that asked for that

    cdef list suspects_of(self, object f, tuple args)
    cdef int look_at_array(self, Hook hook, tuple shape) except -1
    cdef int look_at_rule(self, object rule, list operands, list results) except -1
    cdef int sweep_record(self, CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                          CadNumber *adjoints) except -1


@cython.final
cdef class Hook:
    cdef CadTape *tape
    cdef CadHook functions
    cdef list shapes      # by the numbers that origins have for them
    cdef dict shape_numbers
    cdef int users        # how many have set it
    cdef Checks checks    # of each step; or None


cdef Hook add_hook(CadTape *tape)
cdef int remove_hook(Hook hook) except -1
cdef Hook hook_of(CadTape *tape)
cdef Checks checks_of(CadTape *tape)
cdef object enter_step(CadTape *tape, size_t entry)
cdef object step_under_way(CadTape *tape)
cdef int leave_step(CadTape *tape, object former) except -1
cdef object note_suspects(CadTape *tape, object f, tuple args)
cdef int forget_suspects(CadTape *tape, object suspects) except -1
cdef int look_at_rule(CadTape *tape, object rule, list operands, list results) except -1
