# What other modules see of steps.pyx.

from libc.stdint cimport uint32_t, uint8_t


cdef list as_steps(list steps)
cdef int hold_finite(list atoms, str name) except -1
cdef list are_any(const uint8_t *wanted, list sizes)
cdef int carry_out_step(void *owner, uint32_t number, const double *operands,
                        double *results) noexcept with gil
cdef bint goes_over_lanes(step) except -1
cdef int carry_out_lanes(void *owner, uint32_t number, size_t lanes, const double *operands,
                         double *results) noexcept with gil
