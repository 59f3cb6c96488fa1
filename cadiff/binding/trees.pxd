cdef enum Kind:
    NOTHING     # None
    SEQUENCE    # a list, a tuple, or of a class derived from these
    MAPPING     # a dict
    COPIED      # of a class derived from dict
    FIELDS      # a dataclass
    REGISTERED
    PAIR        # a complex number or array, with its real and imaginary part


cdef object nothing
