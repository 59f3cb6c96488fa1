cdef class Watch:
    cdef object __weakref__
    cdef object released    # called when something that is held weakly is gone
    cdef public bint asks_types    # whether code of the user's looks at types
    cdef public bint handles  # exceptions
    cdef public bint catches_numbers  # whether it may catch exceptions that numbers cause
    cdef public list generators    # of random numbers, which it may draw
    cdef public list codes  #: list[CodeType]  # that was looked at, of the user's
    # why what the functions of primitives give is no constant
    cdef public dict unwatched_steps  #: dict[int, str]
    # why what some code reads cannot be watched, which counts where it runs
    cdef public dict suspects  #: dict[CodeType, str]
    cdef public Py_ssize_t n_followed  # codes of libraries that are looked into, when it was made
    cdef public bint was_observed  # whether something is watched that was only seen to be read
    cdef readonly bint is_over  # something is, so that it can never hold again
    cdef list places
    cdef list kept  # what is not held weakly
