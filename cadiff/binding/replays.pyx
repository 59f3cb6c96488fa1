"""Replays: what a function recorded, computed again for other inputs on a tape of its own.

A gradient function takes a Replay in place of the function. Its entries are on the tape already;
the Replay computes their values anew.
"""

cimport cython

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_sweeps cimport *
from .c_tape cimport *
from .tape cimport view_at
from .arguments cimport Collector


@cython.final
cdef class Replay:
    """What a function recorded in a call, for others that choose alike.

    One call at a time has it: as long as a number of its tape lives.
    """

    def __init__(self):
        raise TypeError("a Replay is made of a recording: see Guarded.replay")

    def __dealloc__(self):
        cdef CadTape *tape
        if self.replay != NULL:
            tape = self.replay.tape
            cad_replay_free(self.replay)
            if tape != NULL:
                cad_desert_tape(tape)

    @property
    def nbytes(self):
        return cad_replay_bytes(self.replay)

    cdef CadTape *tape(self):
        return self.replay.tape

    cdef object held(self):
        """All inputs that carry derivatives, as one vector."""
        return cad_var_view(self.tape(), 0, 1, &self.n_active, NULL, CAD_INPUT)

    def start(self, cnp.ndarray inputs, tuple args, tuple argnums):
        """Compute all numbers from inputs; `args` are to be differentiated by.

        Answers a number that has to live as long as this goes on; None if another call has the
        replay, False if a choice comes out otherwise, NotImplemented if the arguments are not
        plain.
        """
        cdef Collector collector = Collector.__new__(Collector)
        nodes = collector.collect(args, argnums)
        if (
            collector.atoms is not None
            or collector.count > self.n_active
            or cnp.PyArray_SIZE(inputs) != self.n_inputs
        ):
            return NotImplemented
        if cad_tape_all_handles(self.tape()) > 0:
            return None
        held = self.held()  # before other threads may run
        self.nodes = nodes
        self.n_atoms = collector.n_atoms
        if not cad_replay_run(self.replay, <const double *>cnp.PyArray_DATA(inputs)):
            return False
        return held

    def __call__(self, *args, **kwargs):
        """What the function returns, which can be differentiated."""
        return self.returned([self.output(item) for item in self.outputs], True)

    def value(self):
        """What the function returns, without derivatives."""
        return self.returned([plain_value(self.output(item)) for item in self.outputs])

    cdef object output(self, object item):
        if type(item) is not tuple:
            return item.copy() if cnp.PyArray_Check(item) else item
        return view_at(self.tape(), item)
