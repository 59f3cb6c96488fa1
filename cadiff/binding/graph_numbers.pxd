cdef class GraphNumbers:
    cdef CadGraph *graph
    cdef object lock                     # of the thread that makes something of it, ...
    cdef int lock_forks                  # ... in a process that was forked so often
    cdef bint is_derived                 # it shares the numbers of
    cdef GraphNumbers whole
    cdef readonly list sizes  #: list[int]
    cdef readonly Py_ssize_t n_outputs
    cdef readonly Py_ssize_t n_recorded  # operations
    cdef Py_ssize_t n_arrays             # in the graph, when it was read
    cdef size_t least_loop               # numbers of a loop that is kept; 0: as usual
    cdef bint for_lanes                  # codes are made for many points, ...
    cdef bint is_part                    # ... or for many directions, from what these share
    cdef public int threads              # that share the work of codes at most; 0: as many as can
    cdef public object machines          # what codes ask for machine code, or None
    cdef public object watch             # who is told how long codes run, or None
    cdef readonly tuple guards  #: tuple[bool, ...]  # for each, whether it rests on equality
    cdef readonly list steps             # calls, by their numbers
    cdef dict known_steps                # the numbers of those that can be told from others
    cdef dict links                      # of steps: pairs of numbers; None where nothing is known
    cdef bint leaves_out                 # steps of which nothing is known link nothing
    cdef int depth                       # of rules that are read to find links
    cdef CadId *inputs                   # the first elements of the inputs
    cdef CadId *outputs
    cdef size_t kept_records             # those that f computed, without derivatives
    cdef size_t kept_guards
    cdef CadOutcome *own_guards          # those that stand in the graph only while it is asked
    cdef Py_ssize_t kept_steps

    cdef inline bint keeps_order(self) noexcept:
        """Whether all is computed as it was recorded, and cotangents are added as a sweep does."""
        return not self.graph.optimize
