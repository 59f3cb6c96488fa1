# What other modules see of recording.pyx.

cimport cython

from . cimport c_numpy as cnp
from .c_sweeps cimport *
from .c_tape cimport *
from .linear cimport FrozenMap
from .recorded_sweep cimport RecordedSweep


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
    cdef readonly tuple lifted
    cdef readonly Py_ssize_t n        # numbers
    cdef readonly Py_ssize_t n_atoms
    cdef object suspects              # of nan_check: arguments that are not finite

    cdef int lift(self, tuple args, tuple argnums, bint borrow) except -1
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
    cdef bint is_compared_with_outside(self)
    cdef size_t clear(self, list outputs) except? 0
    cdef int sweep(self, size_t end) except -1
    cdef int pull_plain(self, list outputs, list seeds) except -1
    cdef cnp.ndarray read_adjoints(self)
    cdef list plain_cotangents(self)
    cdef list cut(self, cnp.ndarray flat)
    cdef object gradient(self, object number)
    cdef object plain_gradient(self, object number)
    cdef list pull_recorded(self, list outputs, list seeds, bint linear=*)
    cdef RecordedSweep swept(self, list outputs, list seeds, bint linear, outside)
    cdef list pull_arrays(self, list outputs, list seeds, bint linear)
    cdef size_t first_plan(self)
    cdef list pull_numbers(self, list outputs, list seeds, bint linear)
    cdef list join(self, list numbers)
    cdef int seed_recorded(self, CadNumber *adjoint, object seed) except -1
    cdef list pull_linear(self, list outputs, list seeds)
    cdef list pull_atoms(self, list outputs, list seeds)
    cdef bint plain_results(self, list outputs)
    cpdef list pull(self, list outputs, list seeds)
    cdef list pull_product(self, list outputs, list seeds)
    cpdef bint is_plain(self, list outputs)
    cpdef FrozenMap freeze(self, list outputs)
    cdef FrozenMap frozen(self, list outputs, cnp.ndarray slots)
    cpdef cnp.ndarray jacobian(self, list outputs, bint forward)
    cdef cnp.ndarray rows(self, list outputs, cnp.ndarray slots)
    cdef cnp.ndarray columns(self, list outputs, cnp.ndarray slots)
    cdef bint is_variable(self, output)
    cdef cnp.ndarray slots_of(self, list outputs)
    cdef int push_identity(self, double *tangents, Py_ssize_t first, Py_ssize_t lanes,
                           size_t end) except -1
    cdef int push(self, double *tangents, Py_ssize_t lanes, size_t end) except -1
    cdef int second(self, object number, double *tangents, Py_ssize_t lanes,
                    double *results) except -1
    cpdef cnp.ndarray hessian(self, object number)
    cdef int take_lanes(self, CadLaneBuffer *tangents, CadLaneBuffer *results,
                        size_t numbers) except -1
    cpdef list hessian_product(self, object number, list direction)
