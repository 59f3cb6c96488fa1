"""What a recording has read beside its arguments, and whether all of it is as it was.

A Watch looks at places one by one, in some nanoseconds each: names of modules, cells of closures,
attributes, what is in containers; arrays are read as a whole. What was there is compared by
identity, numbers and strings by value. This module does not know how places are found.
"""

import hashlib
from types import CodeType, MethodType

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

from . cimport c_numpy as cnp

cdef extern from "Python.h":
    PyObject *PyCell_GET(object cell)
    # Of a str, which raises nothing.
    PyObject *find_name "PyDict_GetItemWithError"(object names, object name)
    PyObject *PyFunction_GetCode(object function)
    PyObject *PyFunction_GetDefaults(object function)
    PyObject *PyFunction_GetKwDefaults(object function)
    object PyObject_GenericGetDict(object item, void *context)


cdef object nothing = object()  # no value is at a place
MISSING = nothing

cdef enum PlaceKind:
    NAME        # of a dict, that of a module for example
    CELL
    ATTRIBUTE
    FUNCTION    # code and defaults
    SEQUENCE    # the items of a list
    MEMBERS     # of a set, or of something else that can be iterated over
    MAPPING     # keys and values of a dict
    NAMESPACE   # those of an object's own dict
    ARRAY
    OBJECTS     # the items of an array of objects
    BUFFER


cdef enum:
    DEEP = 50  # tuples in tuples that are compared by what is in them


cdef bint is_same(object now, object kept, int depth=0) except -1:
    """Whether a value does for a recording what another one did. No code of the user's runs."""
    cdef Py_ssize_t k
    cdef double one, other
    if now is kept:
        return True
    kind = type(now)
    if kind is not type(kept):
        return False
    if kind is float:
        one = PyFloat_AS_DOUBLE(now)
        other = PyFloat_AS_DOUBLE(kept)
        return memcmp(&one, &other, sizeof(double)) == 0
    if kind is int or kind is str or kind is bytes:
        return now == kept
    if kind is tuple:
        if PyTuple_GET_SIZE(now) != PyTuple_GET_SIZE(kept) or depth == DEEP:
            return False
        for k in range(PyTuple_GET_SIZE(now)):
            if not is_same(
                <object>PyTuple_GET_ITEM(now, k), <object>PyTuple_GET_ITEM(kept, k), depth + 1
            ):
                return False
        return True
    if kind is MethodType:  # made anew each time that it is asked for
        return now.__func__ is kept.__func__ and now.__self__ is kept.__self__
    if kind is complex:
        return is_same(now.real, kept.real) and is_same(now.imag, kept.imag)
    if isinstance(now, np.generic):
        return now.dtype == kept.dtype and now.tobytes() == kept.tobytes()
    return False


cdef uint64_t digest_of(const char *data, Py_ssize_t size) noexcept nogil:
    """A number that tells these bytes from others."""
    cdef uint64_t lanes[4]
    cdef uint64_t words[4]
    cdef uint64_t factor = <uint64_t>0x9E3779B97F4A7C15
    cdef Py_ssize_t i, k, whole = size & ~<Py_ssize_t>31
    for k in range(4):
        lanes[k] = <uint64_t>size + k
    for i in range(0, whole, 32):
        memcpy(words, data + i, 32)
        for k in range(4):
            lanes[k] = (lanes[k] ^ words[k]) * factor
            lanes[k] ^= lanes[k] >> 29
    for k in range(4):
        words[k] = 0
    memcpy(words, data + whole, size - whole)
    for k in range(4):
        lanes[k] = (lanes[k] ^ words[k]) * factor
        lanes[k] ^= lanes[k] >> 29
    for k in range(1, 4):
        lanes[0] = (lanes[0] ^ lanes[k]) * factor
        lanes[0] ^= lanes[0] >> 29
    return lanes[0]


cdef enum:
    LONG = 1 << 16  # bytes, which other threads need not wait for


cdef uint64_t digest_of_array(cnp.ndarray array) except? 0:
    cdef cnp.ndarray whole = array
    cdef const char *data
    cdef Py_ssize_t size
    cdef uint64_t digest
    if not cnp.PyArray_ISCARRAY_RO(array):
        whole = cnp.PyArray_FROMANY(
            array, cnp.PyArray_TYPE(array), 0, 0, cnp.NPY_ARRAY_CARRAY_RO
        )
    data = <const char *>cnp.PyArray_DATA(whole)
    size = cnp.PyArray_NBYTES(whole)
    if size < LONG:
        return digest_of(data, size)
    with nogil:
        digest = digest_of(data, size)
    return digest


@cython.final
@cython.freelist(8)
cdef class Place:
    """Somewhere that a value was read, and the value."""

    cdef PlaceKind kind
    cdef object holder
    cdef object name
    cdef object kept
    cdef uint64_t digest
    cdef str path

    cdef object now(self):
        """What is there; `nothing` if there is none."""
        cdef PyObject *found
        if self.kind == NAME:
            found = find_name(self.holder, self.name)
            return nothing if found == NULL else <object>found
        if self.kind == CELL:
            found = PyCell_GET(self.holder)
            return nothing if found == NULL else <object>found
        return getattr(self.holder, self.name, nothing)

    cdef str described(self):
        """What was read, in words that name no objects."""
        return f"{<int>self.kind} {self.path} {self.digest} {text_of(self.kept)}\n"

    cdef str change(self):
        if self.kind == NAME or self.kind == CELL or self.kind == ATTRIBUTE:
            return f"{text_of(self.kept)} -> {text_of(self.now())}"
        return "other contents"

    cdef inline bint is_untouched(self) except -1:
        """Whether the very same object is there, as it mostly is, at the places that are most."""
        cdef PyObject *kept = <PyObject *>self.kept
        cdef PyObject *found
        if self.kind == NAME:
            found = find_name(self.holder, self.name)
            return found == kept or (found == NULL and kept == <PyObject *>nothing)
        if self.kind == FUNCTION:
            return (
                PyFunction_GetCode(self.holder) == PyTuple_GET_ITEM(self.kept, 0)
                and PyFunction_GetDefaults(self.holder) == NULL
                and PyFunction_GetKwDefaults(self.holder) == NULL
            )
        return self.kind == CELL and PyCell_GET(self.holder) == kept

    cdef bint holds(self) except -1:
        """Whether what was read is there as it was."""
        if self.kind == NAME or self.kind == CELL or self.kind == ATTRIBUTE:
            return is_same(self.now(), self.kept)
        if self.kind == FUNCTION:
            return (
                PyFunction_GetCode(self.holder) == <PyObject *>self.kept[0]
                and is_same(or_none(PyFunction_GetDefaults(self.holder)), self.kept[1])
                and or_none(PyFunction_GetKwDefaults(self.holder)) is self.kept[2]
            )
        if self.kind == SEQUENCE:
            return self.has_items()
        if self.kind == MEMBERS:
            return is_same(tuple(self.holder), self.kept)
        if self.kind == MAPPING:
            return self.has_pairs(self.holder)
        if self.kind == NAMESPACE:
            return self.has_pairs(PyObject_GenericGetDict(self.holder, NULL))
        if self.kind == ARRAY:
            return (
                (self.holder.shape, self.holder.dtype) == self.kept
                and digest_of_array(self.holder) == self.digest
            )
        if self.kind == OBJECTS:
            return is_same(items_of(self.holder), self.kept)
        return bytes(memoryview(self.holder).cast("B")) == self.kept

    cdef bint has_items(self) except -1:
        cdef list items = self.holder
        cdef Py_ssize_t k, n = PyTuple_GET_SIZE(self.kept)
        cdef object item
        if PyList_GET_SIZE(items) != n:
            return False
        for k in range(n):
            if k >= PyList_GET_SIZE(items):
                return False
            item = <object>PyList_GET_ITEM(items, k)
            if not is_same(item, <object>PyTuple_GET_ITEM(self.kept, k)):
                return False
        return True

    cdef bint has_pairs(self, object mapping) except -1:
        """Whether a dict has the keys and values that were there, in their order."""
        cdef tuple keys, values
        cdef PyObject *key = NULL
        cdef PyObject *value = NULL
        cdef Py_ssize_t k = 0, at = 0
        cdef object one, other
        keys, values = self.kept
        if PyDict_Size(mapping) != PyTuple_GET_SIZE(keys):
            return False
        while PyDict_Next(mapping, &at, &key, &value):
            if k >= PyTuple_GET_SIZE(keys):
                return False
            if not is_same(<object>key, <object>PyTuple_GET_ITEM(keys, k)):
                return False
            if not is_same(<object>value, <object>PyTuple_GET_ITEM(values, k)):
                return False
            k += 1
        return k == PyTuple_GET_SIZE(keys)


cdef str text_of(object kept, int depth=0):
    kind = type(kept)
    if kind is tuple and depth < DEEP:
        return f"({', '.join([text_of(item, depth + 1) for item in kept])})"
    if kind is CodeType and depth < DEEP:
        parts = (kept.co_code, kept.co_names, kept.co_varnames, kept.co_consts)
        return text_of(parts, depth + 1)
    if kind in (int, float, complex, bool, str, bytes, type(None)):
        return repr(kept)
    if isinstance(kept, np.generic):
        return f"{kept.dtype} {kept.tobytes()}"
    return getattr(kept, "__qualname__", kind.__qualname__)


cdef object items_of(array):
    return tuple(array.ravel().tolist())


cdef inline object or_none(PyObject *found):
    return None if found == NULL else <object>found


cdef Place add_place(list places, PlaceKind kind, object holder, object name, str path):
    cdef Place place = Place.__new__(Place)
    place.kind = kind
    place.holder = holder
    place.name = name
    place.path = path
    places.append(place)
    return place


cdef object add_value(list places, PlaceKind kind, object holder, object name, str path):
    cdef Place place = add_place(places, kind, holder, name, path)
    place.kept = place.now()
    return place.kept


@cython.final
cdef class Watch:
    """Places that a recording has read. Each method adds one, and remembers what is there."""

    def __cinit__(self):
        self.places = []

    def __len__(self):
        return PyList_GET_SIZE(self.places)

    cpdef bint holds(self) except -1:
        """Whether all is as it was."""
        cdef Py_ssize_t k = 0
        cdef Place place
        while k < PyList_GET_SIZE(self.places):
            place = <Place>PyList_GET_ITEM(self.places, k)
            if not place.is_untouched() and not place.holds():
                return False
            k += 1
        return True

    @property
    def paths(self):
        """What is watched, in words."""
        return [(<Place>place).path for place in self.places]

    @property
    def changed(self):
        """What of this is not as it was."""
        return [(<Place>place).path for place in self.places if not (<Place>place).holds()]

    @property
    def changes(self):
        """For each place that is not as it was: what was there and what is, as a text."""
        return {
            (<Place>place).path: (<Place>place).change()
            for place in self.places if not (<Place>place).holds()
        }

    def fingerprint(self):
        """A text that is the same in another process, if that reads the same there."""
        digest = hashlib.sha256()
        for place in self.places:
            digest.update((<Place>place).described().encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def name(self, dict holder, str name, str path):
        """A name in a dict, of a module for example; answers its value, MISSING if there is none."""
        return add_value(self.places, NAME, holder, name, path)

    def cell(self, cell, str path):
        """A cell of a closure; answers its value, MISSING if there is none."""
        return add_value(self.places, CELL, cell, None, path)

    def attribute(self, holder, str name, str path):
        """An attribute; answers its value, MISSING if there is none."""
        return add_value(self.places, ATTRIBUTE, holder, name, path)

    def function(self, function, str path):
        """Code and defaults of a function of Python's."""
        cdef Place place = add_place(self.places, FUNCTION, function, None, path)
        place.kept = (function.__code__, function.__defaults__, function.__kwdefaults__)

    def sequence(self, list items, str path):
        """The items of a list."""
        add_place(self.places, SEQUENCE, items, None, path).kept = tuple(items)

    def members(self, items, str path):
        """What iteration gives."""
        add_place(self.places, MEMBERS, items, None, path).kept = tuple(items)

    def mapping(self, items, str path):
        """Keys and values of a dict."""
        add_place(self.places, MAPPING, items, None, path).kept = (tuple(items), tuple(items.values()))

    def namespace(self, item, str path):
        """Names and values in an object's own dict."""
        names = PyObject_GenericGetDict(item, NULL)
        add_place(self.places, NAMESPACE, item, None, path).kept = (tuple(names), tuple(names.values()))

    def array(self, cnp.ndarray array, str path):
        """Shape and numbers of an array, which are not references."""
        cdef Place place = add_place(self.places, ARRAY, array, None, path)
        place.kept = (array.shape, array.dtype)
        place.digest = digest_of_array(array)

    def objects(self, cnp.ndarray array, str path):
        """The items of an array of objects."""
        add_place(self.places, OBJECTS, array, None, path).kept = items_of(array)

    def buffer(self, item, str path):
        """The bytes of something that lends them."""
        add_place(self.places, BUFFER, item, None, path).kept = bytes(memoryview(item).cast("B"))
