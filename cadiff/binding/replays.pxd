# What other modules see of replays.pyx.

cimport cython

from .c_sweeps cimport *
from .c_entries cimport *


@cython.final
cdef class Replay:
    cdef CadReplay *replay
    cdef object returned        # what f returns, of atoms
    cdef list outputs           # of each (slot, shape, strides), or a float or an array
    cdef tuple nodes            # of the arguments of the call at hand
    cdef Py_ssize_t n_atoms
    cdef Py_ssize_t n_active    # inputs that carry derivatives, which come first
    cdef Py_ssize_t n_inputs

    cdef CadTape *tape(self)
    cdef object held(self)
    cdef object output(self, object item)
