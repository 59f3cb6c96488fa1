# What other modules see of jacobians.pyx.

cimport cython

from . cimport c_numpy as cnp
from .c_linear cimport *


cdef enum:
    LANES = 8  # directions that a sweep carries at once


@cython.final
@cython.no_gc
cdef class FrozenMap:
    cdef CadLinear *linear
    cdef double *spare      # a workspace that is not in use, or NULL
    cdef size_t spare_room

    cdef double *take_room(self, Py_ssize_t lanes) except NULL
    cdef void give_room_back(self, double *room, Py_ssize_t lanes) noexcept
    cdef bint is_long(self)
    cdef object carry(self, object numbers, bint back)
    cdef int carry_lanes(self, cnp.ndarray given, cnp.ndarray result, Py_ssize_t lanes,
                         bint back) except -1
    cdef object matrix(self, bint back)


cdef FrozenMap frozen_map(CadLinear *linear)
