# What other modules see of rules.pyx.

from libc.stdint cimport uint32_t

from .generated.sweeps cimport *
from .generated.tape cimport *

cdef int pull_rule(CadTape *tape, size_t index, rule) except -1
cdef int push_rule(CadTape *tape, size_t index, CadLanes lanes, rule) except -1
cdef int pull_rule_along(CadTape *tape, size_t index, const CadAlong *along, rule) except -1
cdef list as_steps(list steps)
cdef object native_of_step(step)
cdef bint goes_over_lanes(step) except -1
cdef int carry_out_step(void *owner, uint32_t number, const double *operands,
                        double *results) noexcept with gil
cdef int carry_out_lanes(void *owner, uint32_t number, size_t lanes, const double *operands,
                         double *results) noexcept with gil
