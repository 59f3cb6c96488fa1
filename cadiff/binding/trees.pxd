cdef enum Kind:
    NOTHING     # None
    SEQUENCE    # a list, a tuple, or of a class derived from these
    MAPPING     # a dict
    COPIED      # of a class derived from dict
    FIELDS      # a dataclass
    REGISTERED
    PAIR        # a complex number or array, with its real and imaginary part


@cython.final
cdef class Container:
    cdef Kind kind
    cdef readonly object type  #: type
    # keys of a dict, names of fields; None: parts are counted
    cdef readonly tuple names  #: tuple[Any, ...] | None
    cdef readonly object beside  # what else it takes to make one


@cython.final
cdef class Same:
    cdef object item  # or a weak reference to it
    cdef Py_ssize_t number
    cdef bint is_weak


cdef object nothing
