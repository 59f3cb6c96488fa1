# What other modules see of keys.pyx.

cimport cython

from .trees cimport Container


@cython.final
cdef class Same:
    cdef object item  # or a weak reference to it
    cdef Py_ssize_t number
    cdef bint is_weak

    cdef bint is_of(self, object item)
    cdef object item_or_none(self)


cpdef object key_of(item, list watched=*)
cdef tuple key_of_container(Container container, list above, list watched)
