from .generated.program cimport *


cdef class Borrowed:
    """Loops of ufuncs over stacks, one after the other, for arguments of fixed lengths."""
    cdef CadBorrowed call
    cdef readonly list stages  # whose loops they are


cdef class Retyped:
    """A loop of an elementwise ufunc over numbers of other types than floats."""
    cdef CadRetyped call
    cdef readonly object ufunc
    cdef readonly str signature


cdef class Native:
    """A loop of a ufunc, or of a generalized one, over operands and results of fixed shapes."""
    cdef CadNative call
    cdef list owners  # what it points to
