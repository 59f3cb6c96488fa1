# What other modules see of atoms.pyx.

from libc.stdint cimport uint64_t

from . cimport c_numpy as cnp
from .generated.entries cimport CadTape


cpdef int ndim(x)
cpdef tuple shape(x)
cpdef bint carries(tree) except -1
cdef bint is_plain(object atom) except -1
cdef object read_only(object number)
cdef list numbers_in(tree)
cdef tuple components_of(dual)
cdef object only_number(object array)
cdef list atoms_of(cnp.ndarray flat, list shapes)
cpdef object highest_tag(list atoms)
cdef bytes active_of(CadTape *tape, list atoms, list shapes)
cdef uint64_t digest_of_array(cnp.ndarray array) except? 0
