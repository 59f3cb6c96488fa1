# What other modules see of recording.pyx.

cimport cython

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.sweeps cimport *


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

    cdef int take(self, Replay replay, tuple args) except -1
    cdef int lift(self, tuple args, tuple argnums, bint borrow) except -1
    cpdef object run_function(self, f, dict kwargs)
    cpdef object outlives(self, atom)
    cdef object lift_atom(self, object atom)
    cdef object leaf_array(self, cnp.ndarray array)
    cdef int check_alive(self) except -1
    cdef int check_unchanged(self) except -1
    cdef CadSlot base(self)
    cdef size_t begin(self)
    cdef size_t n_inputs(self)
    cdef bint is_closed(self, list outputs)
    cdef size_t end(self, list outputs)
    cdef object last_number(self)
    cdef bint is_written_behind(self)
    cdef size_t slots(self, size_t end)
    cdef int close(self) except -1
    cdef int clear(self, size_t end) except -1
    cdef int sweep(self, size_t end) except -1
    cdef list cut(self, cnp.ndarray flat)
    cdef list rules(self)
    cdef size_t first_plan(self)
    cdef bint plain_results(self, list outputs)
    cpdef bint is_plain(self, list outputs)


cdef int note_error(CadTape *tape, object error) except -1


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

    cdef CadTape *tape(self)
    cdef object held(self)
    cdef object output(self, object item)


@cython.final
cdef class Guarded:
    cdef readonly Recording recording
    cdef bint exact
    cdef bint reads
    cdef readonly tuple lifted
    cdef CadTape *entered

    cdef int leave(self) except -1
    cdef object place_of(self, object atom)
