"""Keys of what is no number to compute with: equal where f cannot tell one thing from another.

Values are told apart by what they are, to the last bit, containers and functions by what is in
them; other objects by identity, and what is in those has to be watched. A key of two types never
is the same: 1 is not True. This module does not know what is recorded.
"""

import hashlib
from functools import partial
from types import FunctionType, MappingProxyType, MethodType
from weakref import ref

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_python cimport plain_attribute, referent
from .trees cimport Container, COPIED, opened_whole, Tree

cdef enum:
    DEEP = 50      # functions and containers in each other; deeper ones are told by identity
    LONG = 4096    # bytes of an array, of which there is a digest only


@cython.final
cdef class Same:
    """The key of an object that is told from others by its identity.

    It does not keep the object alive, and is no other's key when that is gone. An array it keeps:
    one with weak references could not be resized in place.
    """

    def __init__(self, item):
        self.number = id(item)
        self.item = item
        self.is_weak = not isinstance(item, np.ndarray)
        if self.is_weak:
            try:
                self.item = ref(item)
            except TypeError:
                self.is_weak = False

    cdef bint is_of(self, object item):
        if self.is_weak:
            return referent(self.item) == <PyObject *>item
        return self.item is item

    def __eq__(self, other):
        if type(other) is not Same or (<Same>other).number != self.number:
            return False
        return other is self or self.is_of((<Same>other).item_or_none())

    cdef object item_or_none(self):
        cdef PyObject *found
        if not self.is_weak:
            return self.item
        found = referent(self.item)
        return None if found == NULL else <object>found

    def __hash__(self):
        return self.number

    def __reduce__(self):
        return Same, (self.item_or_none(),)


cdef object is_class_of_library = None


def register_libraries(test):
    """Set what tells classes of libraries, whose objects are equal only if they are the same."""
    global is_class_of_library
    is_class_of_library = test


cdef frozenset SETS = frozenset((set, frozenset))
cdef frozenset BUILT_IN = frozenset((list, tuple, dict, type(None), complex))
cdef str EMPTY = "empty"


cpdef object key_of(item, list watched=None):
    """The key of something; that of a Tree is of its containers alone.

    To `watched` is added what the key tells by identity, or whose code may read more.
    """
    if type(item) is Tree:
        return key_of_tree(item, watched)
    return key_within(item, [], watched)


def key_of_call(tuple args, dict kwargs):
    """What tells calls from others that no recording of theirs can serve: a number, and keys of the
    objects that are told by identity, which may stand for others later on.

    Numbers to compute with are told by their kinds and shapes alone.
    """
    cdef list watched = []
    cdef list found = [key_of_argument(item, watched) for item in args]
    for name in kwargs:
        found.append((name, key_of_argument(kwargs[name], watched)))
    return hash(tuple(found)), [
        Same(item) for item in watched if not isinstance(item, (FunctionType, type))
    ]


cdef object key_of_argument(item, list watched):
    kind = type(item)
    if kind is float:
        return kind
    if kind is np.ndarray and item.dtype.kind in "iufc":
        return item.shape
    if kind is list or kind is tuple:
        return kind, tuple([key_of_argument(part, watched) for part in item])
    return key_of(item, watched)


cdef object key_within(item, list above, list watched):
    """`above`: the functions and containers that it was found in."""
    kind = type(item)
    if kind is int or kind is str or kind is bytes or item is None:
        return item  # all others are tuples that begin with their types
    if kind is bool:
        return kind, item
    if kind is float:
        return kind, bits_of(PyFloat_AS_DOUBLE(item))
    if kind is complex:
        return kind, bits_of(item.real), bits_of(item.imag)
    if kind is range:
        return kind, item.start, item.stop, item.step
    if kind is np.ndarray and not item.dtype.hasobject:
        return key_of_array(item)
    if isinstance(item, np.generic):
        return kind, item.dtype, item.tobytes()
    for k in range(len(above)):
        if above[k] is item:
            return kind, k
    if len(above) == DEEP:
        return same(item, watched)
    above.append(item)
    try:
        return key_of_inner(item, kind, above, watched)
    finally:
        above.pop()


cdef object key_of_inner(item, kind, list above, list watched):
    """The key of something that others may be in."""
    cdef tuple parts
    if kind is slice:
        parts = (item.start, item.stop, item.step)
        return kind, keys_of(parts, above, watched)
    if kind in SETS:  # in the order in which f comes upon what is in it
        return kind, keys_of(tuple(item), above, watched)
    if kind is FunctionType:
        return key_of_function(item, above, watched)
    if kind is MethodType:
        return kind, keys_of((item.__func__, item.__self__), above, watched)
    if kind is partial:
        parts = (item.func, item.args, item.keywords or None, item.__dict__ or None)
        return kind, keys_of(parts, above, watched)
    found = opened_whole(item)
    if found is not None:
        return (
            key_of_container(found[0], above, watched), keys_of(found[1], above, watched)
        )
    if (kind.__eq__ is not object.__eq__ and is_class_of_library(kind)
            and kind is not MappingProxyType):
        if watched is not None:  # it may have attributes
            watched.append(item)
        try:
            hash(item)
        except Exception:  # a memoryview that can be written to raises ValueError
            return Same(item)
        return kind, item
    return same(item, watched)  # objects of the user's may be equal, and differ in what f reads


cdef Same same(item, list watched):
    if watched is not None:
        watched.append(item)
    return Same(item)


cdef tuple keys_of(tuple items, list above, list watched):
    return tuple([key_within(item, above, watched) for item in items])


cdef object key_of_tree(Tree tree, list watched):
    if tree.container is None:
        return None
    return (
        key_of_container(tree.container, [], watched),
        tuple([key_of_tree(child, watched) for child in tree.children]),
    )


cdef tuple key_of_container(Container container, list above, list watched):
    """The key of a container without its parts."""
    beside = container.beside
    if container.kind == COPIED:  # one of its class, whose attributes count
        beside = (
            plain_attribute(beside, "default_factory", None),
            plain_attribute(beside, "__dict__", None),
        )
    names = None if container.names is None else keys_of(container.names, above, watched)
    if watched is not None and container.type not in BUILT_IN:  # f may call its methods
        watched.append(container.type)
    return container.type, names, key_within(beside, above, watched)


cdef tuple key_of_function(function, list above, list watched):
    """Code, and what it reads of its own: closure, defaults, attributes."""
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append(key_within(cell.cell_contents, above, watched))
        except ValueError:
            cells.append(EMPTY)
    if watched is not None:
        watched.append(function)
    own = (function.__defaults__, function.__kwdefaults__, function.__dict__ or None)
    return (
        FunctionType, function.__code__, Same(function.__globals__), tuple(cells),
        keys_of(own, above, watched),
    )


cdef tuple key_of_array(cnp.ndarray array):
    """Its contents."""
    contents = array.tobytes()
    if len(contents) > LONG:
        contents = hashlib.blake2b(contents).digest()
    return np.ndarray, array.dtype, array.shape, contents


cdef int64_t bits_of(double value):
    """What tells numbers from others: 0.0 is not -0.0, and a nan is itself."""
    cdef int64_t bits
    memcpy(&bits, &value, sizeof(bits))
    return bits
