# What other modules see of trees.pyx.

cimport cython


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

    cdef bint has_keys(self)
    cpdef object make(self, parts)
    cdef object make_derived(self, parts)
    cpdef tuple parts_like(self, item, Py_ssize_t n)
    cpdef str step(self, Py_ssize_t k)
    cpdef str describe(self, Py_ssize_t n)


cpdef tuple own_items(item)
cdef tuple names_of(function)
cpdef tuple opened(item)
cpdef tuple opened_complex(item)
cpdef tuple opened_whole(item)


@cython.final
cdef class Same:
    cdef object item  # or a weak reference to it
    cdef Py_ssize_t number
    cdef bint is_weak

    cdef bint is_of(self, object item)
    cdef object item_or_none(self)


cpdef object key_of(item, list watched=*)
cdef tuple key_of_container(Container container, list above, list watched)


cdef object nothing

cdef dict own_names(item)
cdef object attribute_of(object holder, object name)
cdef int put_attribute(object holder, object name, object value) except -1
cdef object namespace_of(kind)
cdef bint is_mutable(kind) except -1
cdef tuple in_class(kind)
