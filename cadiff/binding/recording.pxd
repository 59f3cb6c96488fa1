from .generated.entries cimport *


@cython.final
@cython.no_gc
cdef class Recording:
    cdef CadTape *tape
    cdef bint marked
    cdef bint kept       # results refer to the recording
    cdef object block    # a Var over all inputs, if they are plain; else None
    cdef list inputs     # else: the innermost Var of each atom, in order
    cdef object fence    # the last number of what was recorded, if arrays were assigned to
    cdef object checked  # up to where it is known that nothing before the fence was assigned to
    cdef tuple nodes
    cdef list leaves     # of these, if all inputs are plain; or None: there are none
    cdef readonly tuple lifted
    cdef readonly bint is_replay      # on the tape of a Replay, not on that of the thread
    cdef readonly Py_ssize_t n        # numbers
    cdef readonly Py_ssize_t n_atoms
    cdef object suspects              # of nan_check: arguments that are not finite
    cdef long n_refused               # assignments to arguments, before it began


@cython.final
cdef class Replay:
    cdef CadReplay *replay
    cdef object returned        # what f returns, of atoms
    cdef list outputs           # of each (slot, shape, strides), or a float or an array
    cdef tuple nodes            # of the arguments of the call at hand
    cdef list leaves
    cdef Py_ssize_t n_atoms
    cdef Py_ssize_t n_active    # inputs that carry derivatives, which come first
    cdef Py_ssize_t n_inputs


@cython.final
cdef class Guarded:
    cdef readonly Recording recording
    cdef bint exact
    cdef bint reads
    cdef readonly tuple lifted
    cdef CadTape *entered
