# What other modules see of graphs.pyx.

cimport cython

from .codes cimport Code
from .graph_numbers cimport GraphNumbers, Ids


@cython.final
cdef class Graph(GraphNumbers):
    cdef void write_in_c(self, bint now) noexcept
    cdef tuple derivative(self, str what, Ids wrt)
    cdef Graph derived(self, Ids more, Ids found)
    cdef Ids outputs_and_guards(self)
    cdef bytes carries(self, which, Ids numbers, bint by_value)
    cdef Code code(self, list more, list roots)
    cdef tuple codes_along(self, Ids along, Ids roots, size_t n)
    cdef bint has_many_directions(self, size_t n)
    cdef Code cheaper_gradient(self, which)
    cdef Code reverse_code(self, Ids wrt, Ids outputs)
    cdef Code forward_code(self, Ids wrt, Ids outputs)
    cdef bint is_cheaper_forth(self, which)
    cdef Graph beginning(self)
    cdef Ids carried_forward(self, Ids wrt, Ids outputs)
