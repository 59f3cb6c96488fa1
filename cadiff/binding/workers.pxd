# What other modules see of workers.pyx.

from .c_program cimport *


cdef size_t run_shared(const CadProgram *program, const CadPoints *points, size_t n_points,
                       size_t n_lanes, int threads) except? 0
