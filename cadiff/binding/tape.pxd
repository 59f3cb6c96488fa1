# What other modules see of tape.pyx.

cimport cython

from .c_graph cimport CadGraph, CadId
from .c_entries cimport *


cdef enum:
    MOST_AXES = 64


cdef int check_axes(tuple shape) except -1
cdef object view_of(CadTape *tape, CadSlot slot, tuple shape)
cdef object strided_view(CadTape *tape, CadSlot slot, tuple shape, tuple strides)
cdef object view_at(CadTape *tape, tuple place)
cdef object active_zeros(CadTape *tape, tuple shape)
cdef bint on_tape(object atom, CadTape *tape, CadSlot base)
cdef bint is_gone(object mark)
cpdef bint is_constant(x)
cdef object empty_like(object array)


cdef class Context:
    cdef CadTape *entered   # NULL: not entered, or left
    cdef object before

    cdef int begin(self, object before) except -1
    cdef int end(self, CadTape *tape, object before) except -1
    cdef int leave(self) except -1


@cython.final
cdef class RuleCall:
    cdef object rule
    cdef list operands
    cdef list outs


cdef class DirectRule:
    cdef int pull_here(self, CadTape *tape, size_t index) except -1
    cdef int push_here(self, CadTape *tape, size_t index, const CadAlong *along) except -1
    cdef int pull_along(self, CadTape *tape, size_t index, const CadAlong *along) except -1
    cdef int slopes_here(self, CadTape *tape, size_t index, CadSlopes *slopes) except -1
    cdef int insert_into(self, CadGraph *graph, const CadId *operands, CadId *results) except -1


cdef object rule_at(CadTape *tape, size_t index)
cdef RuleCall rule_call(CadTape *tape, size_t index)
cdef tuple rule_views(CadTape *tape, size_t index)
cdef bint are_zero(list cotangents)
cdef object rule_name(object rule)
cdef object entry_name(CadTape *tape, size_t entry)
