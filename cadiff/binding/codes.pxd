from .c_numbers cimport *


cdef enum:
    LARGE_ROOM = 1 << 17  # numbers in a workspace that is not kept for ever
    PERIOD = 64           # runs of which one is timed, if somebody watches
    NOT_RUN = -100        # what a run is said to come to that an exception has kept from beginning


# The codes with large workspaces, one behind the other.
cdef struct Large:
    PyObject *first
    int runs               # since they were looked at


@cython.final
cdef class Code:
    cdef CadProgram *program
    cdef double *spare     # a workspace that is not in use, or NULL
    cdef Large *large
    cdef PyObject *other   # the next one with a large workspace, borrowed
    cdef bint is_large, is_listed, was_run
    cdef bint is_long
    cdef bint has_lanes  # whether points can be computed side by side
    cdef readonly bint is_for_lanes  # and it is made for points side by side
    cdef public bint expects_machine # whether there is machine code, or will be
    cdef readonly Py_ssize_t uses  # by fast paths
    cdef readonly Py_ssize_t misses  # calls of these that met other outcomes
    cdef readonly list steps  # what its calls call
    cdef list natives         # of each of them: what carries it out in C, or None,
    cdef const CadNative **natives_in_c
    cdef size_t n_along       # directions at a time, if it is for several
    cdef int threads          # that share its work at most; 0: as many as can
    cdef CadTeam team
    cdef object machines      # what is asked for machine code before the first run, or None
    cdef object machine       # what that code is kept by, once it is there
    cdef public object watch  # who is told how long it runs, or None
    cdef readonly double seconds  # that it has run, about
    cdef double untold        # of them
    cdef Py_ssize_t until     # runs up to the next one that is timed
    cdef bint is_timed        # one is, at this moment
    cdef int n_tries          # runs to be timed, one by machine code and one without,
    cdef double least[2]      # of which these are the shortest: without it, and by it
    cdef public object serves  #: str | None  # what runs it, for people; None: the interpreter

    cdef inline size_t room(self) noexcept:
        return cad_program_room(self.program, self.n_along)

    cdef inline double *take_room(self) except NULL:
        """A workspace, and behind it room for the results: the spare one, unless another thread
        has it."""
        cdef double *room = self.spare
        if room != NULL:
            self.spare = NULL
            return room
        if self.machines is not None:
            self.ask_for_machine()
        cdef size_t count = self.room() + self.program.n_results
        room = <double *>new_memory(count, sizeof(double))
        self.is_large = count >= LARGE_ROOM
        cad_program_prepare(self.program, room)
        return room

    cdef inline void give_back(self, double *room) noexcept:
        if self.spare == NULL:
            self.spare = room
        else:
            cad_memory_free(room)
        if self.is_large or self.large.first != NULL:
            self.note_run()

    cdef inline long run(self, double *room) except? NOT_RUN:
        """Run it in a workspace where the inputs are: see cad_program_run."""
        self.until -= 1
        if self.is_long or self.until == 0:
            return self.run_apart(room)
        return cad_program_run(self.program, room)

    cdef inline long run_at(self, double *room, const double *inputs, double *results,
                            double *outcome) except? NOT_RUN:
        """Run it for these inputs; where a guard does not hold, there is its outcome instead of
        results."""
        cdef double *places = cad_program_places(self.program, room)
        cdef long missed
        cad_program_take_inputs(self.program, places, inputs)
        cad_program_refer_to_results(self.program, places, results)
        missed = self.run(room)
        if missed == -1:
            cad_program_read(self.program, room, results)
        elif missed >= 0:
            outcome[0] = cad_program_outcome(self.program, room, missed)
        return missed
