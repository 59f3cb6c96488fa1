from .generated.program cimport CadReferred


cdef enum NodeKind:
    NODE_FLOAT    # a float
    NODE_DOUBLE   # a float64 of NumPy's
    NODE_INT      # an int that is a number
    NODE_ARRAY    # an array of numbers
    NODE_COMPLEX  # a complex number
    NODE_COMPLEXES # an array of them: real parts, then imaginary ones
    NODE_ROW      # a list or tuple of floats, or of float64 of NumPy's
    NODE_ITEMS    # a list or tuple of others
    NODE_DICT
    NODE_FIELDS   # a dataclass
    NODE_OPENED   # another container
    NODE_EQUAL    # a static, which is equal
    NODE_SAME     # a static, which is the same object
    NODE_KEY      # a static, whose key is equal
    NODE_BYTES    # a static array, whose memory is equal
    NODE_INTEGERS # an array of integers or bools that are inputs
    NODE_WHOLE    # an int, or a whole number of NumPy's, that is an input
    NODE_OTHER    # what fits no argument


@cython.final
cdef class SignatureNode(Shaped):
    cdef NodeKind kind
    cdef Py_ssize_t offset  # of its numbers among the inputs
    cdef Py_ssize_t pointer # if not 0, where the address of its numbers is enough
    cdef object kept        # the static, or its key; the type of a container, or its key
    cdef Py_hash_t hash_of_kept  # of a static that is equal
    cdef tuple names        # keys of a dict, fields of a dataclass
    cdef bint has_only      # these, and no other attribute
    cdef bint is_of_doubles # a row of float64 of NumPy's
    cdef bint is_input      # it is one input, as a whole
    cdef Py_ssize_t integer # its place among the integers, if it is an input; else -1
    cdef object form        # what tells it from others but for numbers and the values of integers
    cdef tuple children

    cdef inline bint take_float(self, object item, double *inputs) noexcept:
        """As `take`, for what most arguments are."""
        if self.kind != NODE_FLOAT or type(item) is not float:
            return False
        inputs[self.offset] = PyFloat_AS_DOUBLE(item)
        return True

    cdef inline bint may_be(self, object item) except -1:
        """Whether an argument may fit, as far as that is told at once."""
        if self.kind == NODE_ARRAY or self.kind == NODE_COMPLEXES:
            return self.is_shape_of(item)
        if self.kind == NODE_EQUAL and item is not self.kept:
            return type(item) is type(self.kept) and hash(item) == self.hash_of_kept
        return True


cdef inline bint is_same_name(object one, object other) except -1:
    return one is other or (type(one) is str and type(other) is str and one == other)
