# What other modules see of keys.pyx.

cimport cython

from .trees cimport Container


@cython.final
cdef class Same:
    cdef object item


cpdef object key_of(item, list watched=*)
cdef tuple key_of_container(Container container, list above, list watched)
