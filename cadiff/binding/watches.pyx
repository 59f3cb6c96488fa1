"""What a recording has read beside its arguments, and whether all of it is as it was.

A Watch looks at places one by one, in some nanoseconds each: names of modules, cells of closures,
attributes, what is in containers. It reads arrays as a whole. It compares numbers and strings by
value, all else by identity. It holds objects and functions weakly: one that is gone is not what was
read, and a recording keeps no object alive. This module does not know how places are found.
"""

import copyreg
import sys
from collections import deque
from struct import Struct
from types import CodeType, MethodType, ModuleType
from weakref import ref, WeakSet

import numpy as np

cimport cython
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport uint64_t
from libc.string cimport memcmp

from . cimport c_numpy as cnp
from .c_python cimport class_attribute, looked_up, Py_TYPE, referent
from .generated.entries cimport cad_digest, CadTape
from .trees cimport computes, key_of, names_of, own_items
from .tape cimport Context

from .callers import module_of
from .digests import of_texts
from .trees import own_attribute


cdef extern from "Python.h":
    PyObject *PyCell_GET(object cell)
    PyObject *PyFunction_GetClosure(object function)
    # Of a str, which raises nothing.
    PyObject *find_name "PyDict_GetItemWithError"(object names, object name)
    PyObject *PyFunction_GET_CODE(PyObject *function)
    PyObject *PyFunction_GET_DEFAULTS(PyObject *function)
    PyObject *PyFunction_GET_KW_DEFAULTS(PyObject *function)
    ctypedef struct PyFunctionObject:
        PyObject *func_name
        PyObject *func_qualname
        PyObject *func_doc
        PyObject *func_module
        PyObject *func_dict
    PyObject *const *items_of_list "PySequence_Fast_ITEMS"(object items)
    PyObject *const *items_of_tuple "PySequence_Fast_ITEMS"(tuple items)
    object PyObject_GenericGetDict(object item, void *context)


cdef object nothing = object()  # no value is at a place
MISSING: object = nothing

cdef enum PlaceKind:
    NAME        # of a dict, that of a module for example
    CELL
    ATTRIBUTE
    FUNCTION    # code, defaults, and that there are no attributes
    SEQUENCE    # the items of a list
    MEMBERS     # of a set, or of something else that can be iterated over
    MAPPING     # keys and values of a dict
    NAMESPACE   # those of an object's own dict
    ARRAY
    OBJECTS     # the items of an array of objects
    BUFFER
    TABLE       # of pandas: numbers and labels
    CLASS       # what is in a class, and in those that it derives from
    ANSWER      # what a function gives that is called with nothing


cdef inline bint is_value(PlaceKind kind) noexcept:
    """Whether one value is there, rather than what can be changed in place."""
    return kind == NAME or kind == CELL or kind == ATTRIBUTE


cdef enum:
    DEEP = 50  # tuples in tuples that are compared by what is in them
    MOST_SAVED = 1 << 26  # bytes of an array of which a copy is made, to be put back


class Held(ref):  #: ref[Any]
    """A weak reference of a Watch: no value that was read is one of these."""

    __slots__ = ()


cdef object HELD = Held
cdef tuple STRONG = (np.ndarray, type, ModuleType)


@cython.final
cdef class HeldMethod:
    """A method of an object, which is made anew each time that it is asked for."""

    cdef object function, owner  # held


class Releasing:
    """Called when something is gone that a Watch, or a copy of it, holds weakly."""

    def __init__(self):
        self.watches = WeakSet()

    def __call__(self, reference):
        for watch in list(self.watches):
            watch.release()


cdef object held(object value, object released, int depth=0):
    """What stands for a value in a Watch: a weak reference, where there can be one.

    Not of an array, which could not be resized in place any more: it is let go of when something
    else is gone. `released` is called then.
    """
    cdef HeldMethod method
    kind = type(value)
    if kind is float or kind is int or kind is str or issubclass(kind, STRONG):
        return value
    if kind is tuple:
        if depth == DEEP:
            return value
        items = tuple([held(item, released, depth + 1) for item in value])
        return items if any([type(item) in (HELD, HeldMethod, tuple) for item in items]) else value
    if kind is MethodType:
        method = HeldMethod.__new__(HeldMethod)
        method.function = held(value.__func__, released)
        method.owner = held(value.__self__, released)
        return method
    try:
        return HELD(value, released)
    except TypeError:
        return value


cdef inline bint are_same(PyObject *const *items, PyObject *const *kept, Py_ssize_t n) noexcept:
    """Whether each of n objects is the very one that was kept, as mostly all of them are."""
    return n == 0 or memcmp(items, kept, n * sizeof(PyObject *)) == 0


cdef bint is_same(object now, object kept, int depth=0) except -1:
    """Whether a value does for a recording what another one did. No code of the user's runs."""
    cdef Py_ssize_t k
    cdef double one, other
    if now is kept:
        return True
    if type(kept) is HELD:
        return referent(kept) == <PyObject *>now
    kind = type(now)
    if kind is MethodType and type(kept) is HeldMethod:
        return (
            is_same(now.__func__, (<HeldMethod>kept).function)
            and is_same(now.__self__, (<HeldMethod>kept).owner)
        )
    if kind is not type(kept):
        return False
    if kind is float:
        one = PyFloat_AS_DOUBLE(now)
        other = PyFloat_AS_DOUBLE(kept)
        return memcmp(&one, &other, sizeof(double)) == 0
    if kind is int or kind is str or kind is bytes:
        return now == kept
    if kind is tuple:
        if PyTuple_GET_SIZE(now) != PyTuple_GET_SIZE(kept):
            return False
        if are_same(items_of_tuple(now), items_of_tuple(kept), PyTuple_GET_SIZE(now)):
            return True
        if depth == DEEP:
            return False
        for k in range(PyTuple_GET_SIZE(now)):
            if not is_same(
                <object>PyTuple_GET_ITEM(now, k), <object>PyTuple_GET_ITEM(kept, k), depth + 1
            ):
                return False
        return True
    if kind is complex:
        return is_same(now.real, kept.real) and is_same(now.imag, kept.imag)
    if issubclass(kind, np.generic):
        return now.dtype == kept.dtype and now.tobytes() == kept.tobytes()
    return False


cdef enum:
    LONG = 1 << 16  # bytes, which other threads need not wait for


cdef uint64_t digest_of_array(cnp.ndarray array) except? 0:
    """Of its shape and its numbers."""
    cdef cnp.ndarray whole = array
    cdef const void *data
    cdef Py_ssize_t size
    cdef uint64_t digest = 0, golden = 0x9E3779B97F4A7C15
    cdef int k
    for k in range(cnp.PyArray_NDIM(array)):
        digest = golden * (digest + <uint64_t>cnp.PyArray_DIM(array, k) + 1)
    if not cnp.PyArray_ISCARRAY_RO(array):
        whole = cnp.PyArray_FROMANY(
            array, cnp.PyArray_TYPE(array), 0, 0, cnp.NPY_ARRAY_CARRAY_RO
        )
    data = cnp.PyArray_DATA(whole)
    size = cnp.PyArray_NBYTES(whole)
    if size < LONG:
        return digest + cad_digest(data, size)
    with nogil:
        digest += cad_digest(data, size)
    return digest


cdef inline bint has_attributes(PyObject *function) except -1:
    cdef PyObject *names = (<PyFunctionObject *>function).func_dict
    return names != NULL and PyDict_Size(<object>names) > 0


cdef inline bint is_called(PyFunctionObject *function, PyObject *const *names) noexcept:
    """Whether a function has the very names and the text that it had, as mostly all have."""
    return (
        function.func_name == names[0] and function.func_qualname == names[1]
        and function.func_doc == names[2] and function.func_module == names[3]
    )


@cython.final
@cython.freelist(8)
cdef class Place:
    """Somewhere that a value was read, and the value."""

    cdef PlaceKind kind
    cdef object holder  # held
    cdef object name  # or the names of a function
    cdef Py_ssize_t index  # of a cell of a function
    cdef object kept  # held
    cdef uint64_t digest
    cdef unsigned int version  # of a class
    cdef str path
    cdef bint is_released

    cdef bint keeps_arrays(self):
        """Whether it may keep data alive, in arrays or in what has no weak references."""
        if is_value(self.kind):
            return cnp.PyArray_Check(self.kept) or isinstance(self.kept, (list, dict, tuple))
        return self.kind != FUNCTION

    cdef object there(self):
        """The holder; `nothing` if it is no more."""
        cdef PyObject *found
        if self.is_released:
            return nothing
        if type(self.holder) is not HELD:
            return self.holder
        found = referent(self.holder)
        return nothing if found == NULL else <object>found

    cdef inline PyObject *in_cell(self, object holder):
        if self.index >= 0:
            holder = <object>PyTuple_GET_ITEM(<object>PyFunction_GetClosure(holder), self.index)
        return PyCell_GET(holder)

    cdef object now(self, object holder):
        """What is there; `nothing` if there is none."""
        cdef PyObject *found
        if self.kind == NAME:
            found = find_name(holder, self.name)
            return nothing if found == NULL else <object>found
        if self.kind == CELL:
            found = self.in_cell(holder)
            return nothing if found == NULL else <object>found
        return attribute_of(holder, self.name)

    cdef str described(self):
        """What was read, in words that name no objects."""
        if self.kind == ANSWER and not self.name:  # a number of this process alone
            return f"{self.path}\n"
        kept = self.kept
        if self.kind == MEMBERS and issubclass(type(self.there()), set):  # which has no order
            kept = frozenset([text_of(item) for item in kept])
        text = f"{<int>self.kind} {self.path} {self.digest} {text_of(kept)}\n"
        if self.kind != TABLE:
            return text
        labels = [getattr(self.there(), name, None) for name in ("index", "columns")]
        held = [state_of_array(x.to_numpy()) for x in labels if x is not None]
        return f"{text}{text_of(tuple(held))}\n"

    cdef str changed_path(self):
        """What is not as it was."""
        if self.kind == NAMESPACE and not self.is_released:
            kept = dict(zip(*self.kept))
            names = own_names(self.there())
            for name in {**kept, **names}:
                if not is_same(names.get(name, nothing), kept.get(name, nothing)):
                    return f"{self.path}.{name}"
        return self.path

    cdef str change(self):
        holder = self.there()
        if holder is nothing:
            return "it is gone"
        if is_value(self.kind):
            return f"{text_of(self.kept)} -> {text_of(self.now(holder))}"
        return "other contents"

    cdef inline bint is_untouched(self) except -1:
        """Whether the very same object is there, as it mostly is, at the places that are most."""
        cdef PyObject *kept
        cdef PyObject *found = NULL
        cdef PyObject *holder = <PyObject *>self.holder
        if self.is_released:
            return False
        if self.kind == FUNCTION or self.kind == CELL:
            if type(self.holder) is HELD:
                holder = referent(self.holder)
                if holder == NULL:
                    return False
            if self.kind == FUNCTION:
                return (
                    PyFunction_GET_CODE(holder) == PyTuple_GET_ITEM(self.kept, 0)
                    and PyFunction_GET_DEFAULTS(holder) == NULL
                    and PyFunction_GET_KW_DEFAULTS(holder) == NULL
                    and not has_attributes(holder)
                    and is_called(<PyFunctionObject *>holder, items_of_tuple(self.name))
                )
            found = self.in_cell(<object>holder)
        elif self.kind == NAME:
            found = find_name(self.holder, self.name)
        elif self.kind == CLASS:
            return self.version != 0 and version_of(<PyObject *>self.holder) == self.version
        elif self.kind == ATTRIBUTE:
            owner = self.there()
            found = in_slot(owner, self.name)
            return found != NULL and is_same(<object>found, self.kept)
        else:
            return False
        kept = referent(self.kept) if type(self.kept) is HELD else <PyObject *>self.kept
        return found == kept if found != NULL else kept == <PyObject *>nothing

    cdef bint holds(self) except -1:
        """Whether what was read is there as it was."""
        cdef object holder = self.there()
        if holder is nothing:
            return False
        if is_value(self.kind):
            return is_same(self.now(holder), self.kept)
        if self.kind == FUNCTION:
            return (
                PyFunction_GET_CODE(<PyObject *>holder) == <PyObject *>self.kept[0]
                and is_same(
                    or_none(PyFunction_GET_DEFAULTS(<PyObject *>holder)), self.kept[1]
                )
                and or_none(PyFunction_GET_KW_DEFAULTS(<PyObject *>holder)) is self.kept[2]
                and (self.kept[3] or not has_attributes(<PyObject *>holder))
                and is_same(names_of(holder), self.name)
            )
        if self.kind == SEQUENCE:
            return self.has_items(holder)
        if self.kind == MEMBERS:
            return is_same(own_items(holder), self.kept)
        if self.kind == MAPPING:
            return self.has_pairs(holder)
        if self.kind == NAMESPACE:
            return type(holder) is self.name and self.has_pairs(own_names(holder))
        if self.kind == CLASS:
            if not is_same(in_class(holder), self.kept):
                return False
            self.version = version_of(<PyObject *>holder)
            return True
        if self.kind == ANSWER:
            return is_same(holder(), self.kept)
        if self.kind == ARRAY:
            return (
                cnp.PyArray_DESCR(holder) == <void *>PyTuple_GET_ITEM(self.kept, 1)
                and cnp.PyArray_ISWRITEABLE(holder) == <bint>self.kept[2]
                and digest_of_array(holder) == self.digest
            )
        if self.kind == OBJECTS:
            return is_same(items_of(holder), self.kept)
        if self.kind == TABLE:
            return is_same(state_of_table(holder), self.kept)
        return bytes_of(holder) == self.kept

    cdef bint is_filled(self) except -1:
        """Whether nothing but what was missing is there now, as where a result is kept."""
        cdef object holder = self.there()
        if holder is nothing:
            return False
        if is_value(self.kind):
            return self.kept is nothing or self.kept is None
        if self.kind != MAPPING and self.kind != NAMESPACE:
            return False
        names = holder if self.kind == MAPPING else own_names(holder)
        return all([
            value is None or is_same(names.get(key, nothing), value)
            for key, value in zip(*self.kept)
        ])

    cdef int settle(self, object function) except -1:
        """Have function(value) in the place of what was put there."""
        cdef object holder = self.there()
        if holder is nothing:
            return 0
        if is_value(self.kind):
            former = self.now(holder)
            value = function(former)
            if value is not former:
                self.put(holder, value)
        elif self.kind == SEQUENCE or self.kind == MAPPING or self.kind == MEMBERS:
            function(holder)
        elif self.kind == NAMESPACE:
            function(own_names(holder))
        return 0

    cdef int put(self, object holder, object value) except -1:
        """Have a value there, or `nothing`."""
        if self.kind == CELL:
            cell = holder if self.index < 0 else holder.__closure__[self.index]
            if value is nothing:
                del cell.cell_contents
            else:
                cell.cell_contents = value
        elif self.kind == NAME:
            if value is nothing:
                holder.pop(self.name, None)
            else:
                holder[self.name] = value
        else:
            put_attribute(holder, self.name, value)
        return 0

    cdef tuple saved(self):
        """What is there, alone in a tuple; None if that cannot be put back."""
        cdef object holder = self.there()
        if holder is nothing:
            return None
        if is_value(self.kind):
            return (self.now(holder),)
        if self.kind == MAPPING or self.kind == NAMESPACE:
            return (dict(zip(*pairs_of(holder if self.kind == MAPPING else own_names(holder)))),)
        if self.kind == CLASS:
            bases = in_class(holder)[0]
            return ([(base, dict(namespace_of(base))) for base in bases if is_mutable(base)],)
        if self.kind == ARRAY:
            return (holder.copy(),) if holder.nbytes <= MOST_SAVED else None
        if self.kind != OBJECTS and isinstance(holder, (list, set, deque, bytearray)):
            return (own_items(holder),)
        return None

    cdef int restore(self, tuple saved) except -1:
        """Put back what was there."""
        cdef object holder = self.there()
        former = saved[0]
        if is_value(self.kind):
            self.put(holder, former)
        elif self.kind == MAPPING or self.kind == NAMESPACE:
            names = holder if self.kind == MAPPING else own_names(holder)
            if [*dict.__iter__(names)] != [*former]:
                dict.clear(names)
            dict.update(names, former)
        elif self.kind == CLASS:
            for base, names in former:
                now = dict(namespace_of(base))
                for name in {**now, **names}:
                    if now.get(name, nothing) is not names.get(name, nothing):
                        put_attribute(base, name, names.get(name, nothing))
        elif self.kind == ARRAY:
            np.copyto(holder, former)
        elif isinstance(holder, deque):
            deque.clear(holder)
            deque.extend(holder, former)
        elif isinstance(holder, set):
            set.clear(holder)
            set.update(holder, former)
        else:
            kind = list if isinstance(holder, list) else bytearray
            kind.__setitem__(holder, slice(None), kind(former))
        return 0

    cdef object contents(self):
        """What is there, as a key; of what is compared by identity, that."""
        cdef object holder = self.there()
        if holder is nothing:
            return None
        if is_value(self.kind):
            return key_of(self.now(holder))
        if self.kind == ARRAY:
            return digest_of_array(holder)
        if self.kind == TABLE:
            return key_of(state_of_table(holder))
        if self.kind == NAMESPACE:
            return key_of((type(holder), own_names(holder)))
        if self.kind == CLASS:
            return key_of(in_class(holder))
        if self.kind == ANSWER:
            return key_of(holder())
        return key_of(holder)

    cdef bint has_items(self, items) except -1:
        cdef tuple kept = self.kept  # which may be let go of meanwhile
        cdef Py_ssize_t k, n = PyTuple_GET_SIZE(kept)
        cdef object item
        if PyList_GET_SIZE(items) != n:
            return False
        if are_same(items_of_list(items), items_of_tuple(kept), n):
            return True
        for k in range(n):
            if k >= PyList_GET_SIZE(items):
                return False
            item = <object>PyList_GET_ITEM(items, k)
            if not is_same(item, <object>PyTuple_GET_ITEM(kept, k)):
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


cdef extern from *:
    """
    #include <structmember.h>
    /* What is in a slot of a class that was written in Python: borrowed; or NULL. */
    static inline PyObject *in_slot(PyObject *holder, PyObject *slot) {
        const int is_slot = Py_IS_TYPE(slot, &PyMemberDescr_Type) &&
                            PyObject_TypeCheck(holder, PyDescr_TYPE(slot));
        const PyMemberDef *member = is_slot ? ((PyMemberDescrObject *)slot)->d_member : NULL;
        const int is_object = member != NULL && member->type == T_OBJECT_EX;
        return is_object ? *(PyObject **)((char *)holder + member->offset) : NULL;
    }

    /* A number that no class has had before as it is now; 0 if it has none. */
    static inline unsigned int version_of(PyObject *type) {
    #if PY_VERSION_HEX < 0x030C0000
        if (!(((PyTypeObject *)type)->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) {
            return 0;
        }
    #endif
        return ((PyTypeObject *)type)->tp_version_tag;
    }
    """
    PyObject *in_slot(object holder, object slot)
    unsigned int version_of(PyObject *type)


cdef dict NO_NAMES = {}


cdef dict own_names(item):
    """The own dict of an object, without asking its class; an empty one if it has none."""
    try:
        return PyObject_GenericGetDict(item, NULL)
    except AttributeError:
        return NO_NAMES


cdef object attribute_of(object holder, object name):
    """An attribute, which may be named by its descriptor; `nothing` if there is none.

    Where code of a class answers for it, that is what is there: a property, for example.
    """
    cdef PyObject *found
    if type(name) is not str:
        try:
            return name.__get__(holder)
        except (AttributeError, TypeError):  # an object may be of another class now
            return nothing
    found = looked_up(type(holder), name)
    if computes(found):
        is_first = Py_TYPE(<object>found).tp_descr_set != NULL  # before what the object has itself
        names = NO_NAMES if is_first else own_names(holder)
        return names.get(name, <object>found)
    if isinstance(holder, type):
        found = looked_up(holder, name)
        if computes(found):
            return <object>found
    return getattr(holder, name, nothing)


cdef int put_attribute(object holder, object name, object value) except -1:
    """Have a value, or `nothing`, for an attribute, without asking the methods of its class."""
    kind = <object>type if isinstance(holder, type) else object
    if type(name) is not str:
        if value is nothing:
            name.__delete__(holder)
        else:
            name.__set__(holder, value)
    elif value is nothing:
        kind.__delattr__(holder, name)
    else:
        kind.__setattr__(holder, name, value)
    return 0


cdef object namespace_of(kind):
    """What is in a class, without asking its own class."""
    return (<object>type).__dict__["__dict__"].__get__(kind)


cdef bint is_mutable(kind) except -1:
    return not (<object>type).__dict__["__flags__"].__get__(kind) & IMMUTABLE


cdef tuple in_class(kind):
    """The classes that one derives from, and all that is in them and may be changed.

    But for what copies of their objects have put there.
    """
    cdef tuple bases = (<object>type).__dict__["__mro__"].__get__(kind)
    inside = [dict(namespace_of(base)) for base in bases if is_mutable(base)]
    for names in inside:
        names.pop("__slotnames__", None)
    return bases, tuple([(tuple(names), tuple(names.values())) for names in inside])


cdef enum:
    IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


cdef tuple pairs_of(mapping):
    """Keys and values of a dict."""
    return (tuple(dict.__iter__(mapping)), tuple(dict.values(mapping)))


cdef tuple VALUES = (bool, int, float, complex, str, bytes, type(None))
cdef frozenset LIBRARIES = sys.stdlib_module_names | {"numpy"}
cdef dict PARTS = {  # of what is not pickled
    CodeType: lambda code: tuple([getattr(code, name, None) for name in PARTS_OF_CODE]),
    Struct: lambda made: made.format,
}
cdef tuple PARTS_OF_CODE = (
    "co_code", "co_names", "co_varnames", "co_consts", "co_freevars", "co_cellvars", "co_flags",
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_exceptiontable",
)


cdef str text_of(object kept, int depth=0):
    """What tells a value from others in another process, too. What is in dicts, lists and objects
    of the user's is at places of its own."""
    kind = type(kept)
    if kind is HELD:
        return text_of(kept(), depth)
    if kind is HeldMethod:
        return text_of((<HeldMethod>kept).function, depth)
    name = kind.__name__
    if depth == DEEP:
        return name
    if issubclass(kind, (tuple, set, frozenset)):
        texts = [text_of(item, depth + 1) for item in own_items(kept)]
        return f"{name} ({', '.join(texts if issubclass(kind, tuple) else sorted(texts))})"
    for base in VALUES:
        if issubclass(kind, base):
            return f"{'' if kind is base else name}{base.__repr__(kept)}"
    if issubclass(kind, np.generic):
        return f"{kept.dtype} {kept.tobytes()}"
    is_fixed = class_attribute(kind, "__hash__") is not None or kind is slice
    if is_fixed and kind is not type and module_of(kind).partition(".")[0] in LIBRARIES:
        ways = PARTS.get(kind), copyreg.dispatch_table.get(kind)
        try:  # what is pickled of it
            found = ways[0](kept) if ways[0] else ways[1](kept) if ways[1] else kept.__reduce_ex__(4)
            return f"{name} {text_of(found, depth + 1)}"
        except TypeError:
            pass
    return str(own_attribute(kept, "__qualname__", name))


cdef object items_of(array):
    return tuple(array.ravel().tolist())


cdef tuple state_of_table(table):
    """Labels, which are objects that do not change but for their names; what is set of the table,
    and what the columns hold."""
    labels = tuple([getattr(table, name, None) for name in ("index", "columns", "name")])
    names = tuple([tuple(getattr(item, "names", ())) for item in (table, *labels[:2])])
    has_copies = getattr(getattr(table, "flags", None), "allows_duplicate_labels", None)
    own = tuple([pair for pair in own_names(table).items() if pair[0][:1] != "_"])
    held = tuple([state_of_array(array) for array in arrays_of_table(table)])
    return labels, names, has_copies, own, held


cdef list arrays_of_table(table):
    """The arrays that columns are rows of, and which these are; a column by itself is dear."""
    try:
        manager = table._mgr
        return [*manager.arrays, manager.blknos, manager.blklocs]
    except AttributeError:
        columns = [column for _, column in table.items()] if table.ndim == 2 else [table]
        return [column.to_numpy() for column in columns]


cdef tuple state_of_array(array):
    if not cnp.PyArray_Check(array):  # one of pandas' own
        array = array.to_numpy()
    held = items_of(array) if array.dtype.hasobject else digest_of_array(array)
    return array.shape, array.dtype.str, held


cdef object bytes_of(item):
    """What it lends; None if it does not any more."""
    try:
        return memoryview(item).tobytes()
    except ValueError:
        return None


cdef inline object or_none(PyObject *found):
    return None if found == NULL else <object>found


cdef Place add_place(Watch watch, PlaceKind kind, object holder, object name, str path):
    cdef Place place = Place.__new__(Place)
    place.kind = kind
    place.holder = holder if type(holder) is dict else held(holder, watch.released)
    place.name = name
    place.index = -1
    place.path = path
    watch.places.append(place)
    return place


cdef object add_value(Watch watch, PlaceKind kind, object holder, object name, str path,
                      Py_ssize_t index=-1):
    cdef Place place = add_place(watch, kind, holder, name, path)
    place.index = index
    value = place.now(holder)
    place.kept = held(value, watch.released)
    return value


cdef Place add_items(Watch watch, PlaceKind kind, object holder, object items, str path):
    cdef Place place = add_place(watch, kind, holder, None, path)
    place.kept = held(items, watch.released)
    return place


@cython.final
cdef class Watch:
    """Places that a recording has read. Each method adds one, and remembers what is there."""

    def __cinit__(self):
        self.places = []
        self.kept = []
        self.released = Releasing()
        self.released.watches.add(self)

    def copy(self) -> Watch:
        """Another Watch of the same places, to which more can be added."""
        cdef Watch other = Watch.__new__(Watch)
        other.places, other.kept = self.places[:], self.kept[:]
        other.released = self.released
        self.released.watches.add(other)
        other.asks_types, other.generators, other.codes = (
            self.asks_types, self.generators, self.codes
        )
        other.handles, other.catches_numbers = self.handles, self.catches_numbers
        other.unwatched_steps, other.n_followed = self.unwatched_steps, self.n_followed
        other.was_observed, other.is_over = self.was_observed, self.is_over
        return other

    @property
    def may_tell(self) -> bool:
        """Whether f may do otherwise with numbers with derivatives than with its own arguments."""
        return self.handles or self.asks_types

    def __len__(self) -> int:
        return PyList_GET_SIZE(self.places)

    cpdef bint holds(self) except -1:
        """Whether all is as it was."""
        cdef Py_ssize_t k = 0
        while k < PyList_GET_SIZE(self.places):  # of which none is ever removed
            if not (<Place>PyList_GET_ITEM(self.places, k)).is_untouched() and (
                not (<Place>PyList_GET_ITEM(self.places, k)).holds()
            ):
                return False
            k += 1
        return True

    def keep(self, item) -> None:
        """Keep something alive: the next one that is like it may be another object."""
        self.kept.append(item)

    def release(self) -> None:
        """Let go of arrays and containers: something else that was read is gone, so that what is
        watched can never be as it was."""
        cdef Place place
        self.is_over = True
        self.kept = []
        for place in self.places:
            if place.keeps_arrays():
                place.is_released = True
                place.holder = place.kept = None

    @property
    def paths(self) -> list[str]:
        """What is watched, in words."""
        return [(<Place>place).path for place in self.places]

    @property
    def changed(self) -> list[str]:
        """What of this is not as it was."""
        return [
            (<Place>place).changed_path() for place in self.places
            if not ((<Place>place).is_released or (<Place>place).holds())
        ]

    @property
    def changes(self) -> dict[str, str]:
        """For each place that is not as it was: what was there and what is, as a text."""
        return {
            (<Place>place).path: (<Place>place).change()
            for place in self.places
            if not ((<Place>place).is_released or (<Place>place).holds())
        }

    @property
    def is_filled(self) -> bool:
        """Whether all that is not as it was is something that was missing, or None."""
        cdef Place place
        for place in self.places:
            if not place.is_released and not place.holds() and not place.is_filled():
                return False
        return True

    def settle(self, function: Callable[[Any], Any]) -> None:
        """Have function(value) in the place of values that are not as they were."""
        cdef Place place
        for place in self.places:
            if not place.is_released and not place.holds():
                place.settle(function)

    def saved(self) -> list[Any]:
        """All that is there, for `restore`."""
        return [(<Place>place).saved() for place in self.places]

    def restore(self, saved: list[Any]) -> bool:
        """Put back what was there, and answer whether all is as it was; nothing is put back where
        something is changed that is not saved."""
        cdef Place place
        changed = [
            (place, former) for place, former in zip(self.places, saved) if not place.holds()
        ]
        if any([former is None or (<Place>place).there() is nothing for place, former in changed]):
            return False
        try:
            for place, former in changed:
                if not place.holds():  # as where one place is in another
                    place.restore(former)
        except (AttributeError, TypeError, ValueError):  # an attribute that is computed, or a shape
            return False
        return self.holds()

    def image(self) -> int:
        """A number that tells what is there now from what else may come to be there."""
        cdef Py_ssize_t k
        return hash(tuple([
            (k, (<Place>self.places[k]).contents())
            for k in range(PyList_GET_SIZE(self.places))
            if not (<Place>PyList_GET_ITEM(self.places, k)).holds()
        ]))

    def fingerprint(self) -> str:
        """A text that is the same in another process, if that reads the same there."""
        return of_texts([(<Place>place).described() for place in self.places])

    def name(self, dict holder, str name, str path):
        """A name in a dict, of a module for example; answers its value, MISSING if there is none."""
        return add_value(self, NAME, holder, name, path)

    def cell(self, cell: CellType, str path):
        """A cell of a closure; answers its value, MISSING if there is none."""
        return add_value(self, CELL, cell, None, path)

    def free_variable(self, function: FunctionType, Py_ssize_t index, str path):
        """The value in a cell of a function's closure, which is not kept alive."""
        return add_value(self, CELL, function, None, path, index)

    def attribute(self, holder, name, str path):
        """An attribute, by its name or descriptor; answers its value, MISSING if there is none."""
        return add_value(self, ATTRIBUTE, holder, name, path)

    def function(self, function: FunctionType, str path) -> bool:
        """Code and defaults of a function of Python's; answers whether it has attributes."""
        cdef Place place = add_place(self, FUNCTION, function, names_of(function), path)
        defaults = held(function.__defaults__, self.released)
        has_some = has_attributes(<PyObject *>function)
        place.kept = (function.__code__, defaults, function.__kwdefaults__, has_some)
        return has_some

    def sequence(self, items: Iterable[Any], str path) -> None:
        """The items of a list."""
        add_items(self, SEQUENCE, items, own_items(items), path)

    def members(self, items, str path) -> None:
        """What iteration gives."""
        add_items(self, MEMBERS, items, own_items(items), path)

    def mapping(self, items: dict[Any, Any], str path) -> None:
        """Keys and values of a dict."""
        add_items(self, MAPPING, items, pairs_of(items), path)

    def namespace(self, item, str path) -> list[Any]:
        """The class of an object, and what is in its own dict; answers the values there."""
        names = own_names(item)
        add_items(self, NAMESPACE, item, pairs_of(names), path).name = type(item)
        return [*names.values()]

    def class_of(self, kind: type, str path) -> None:
        """What is in a class, and in those that it derives from."""
        cdef Place place = add_items(self, CLASS, kind, in_class(kind), path)
        (<object>type).__getattribute__(kind, "__init__")  # by which it comes to have a version
        place.version = version_of(<PyObject *>kind)

    def answer(self, ask: Callable[[], Any], str path, bint is_portable=True) -> None:
        """What a function gives that is called with nothing, a number or a tuple of such. Whether
        it says something in another process, too."""
        cdef Place place = add_place(self, ANSWER, None, is_portable, path)
        place.holder = ask
        place.kept = ask()

    def array(self, cnp.ndarray array, str path) -> None:
        """Shape and numbers of an array, which are not references."""
        cdef Place place = add_place(self, ARRAY, array, None, path)
        place.kept = (array.shape, array.dtype, cnp.PyArray_ISWRITEABLE(array))
        place.digest = digest_of_array(array)

    def objects(self, cnp.ndarray array, str path) -> None:
        """The items of an array of objects."""
        add_items(self, OBJECTS, array, items_of(array), path)

    def table(self, item, str path) -> None:
        """What a Series, a DataFrame or an Index of pandas' holds."""
        add_items(self, TABLE, item, state_of_table(item), path)

    def buffer(self, item, str path) -> None:
        """The bytes of something that lends them."""
        add_place(self, BUFFER, item, None, path).kept = bytes_of(item)


# --- observers -----------------------------------------------------------------------------------
#
# What really runs while a function is at work: code of Python's, and functions of C.
#
# CPython tells an Observer of each call in its thread, as it tells profilers. It asks once about
# every code and every function of C that it comes upon; all it does besides is to look these up.


cdef extern from "Python.h":
    """
    #if PY_VERSION_HEX < 0x030B0000
    #include "frameobject.h"
    #endif
    /* What tells a function of C from all others, also where it is bound to an object anew. */
    #define IS_FUNCTION_OF_C(x) ((x) != NULL && PyCFunction_Check(x))
    #define DEFINITION(x) ((size_t)((PyCFunctionObject *)(x))->m_ml)
    #define CODE_OF(frame) ((PyObject *)PyFrame_GetCode(frame))
    """
    ctypedef struct PyFrameObject:
        pass
    ctypedef int (*Py_tracefunc)(PyObject *, PyFrameObject *, int, PyObject *) except -1
    ctypedef struct PyThreadState:
        Py_tracefunc c_tracefunc
        PyObject *c_traceobj
    PyThreadState *PyThreadState_Get()
    void PyEval_SetProfile(Py_tracefunc function, PyObject *item)
    void PyEval_SetTrace(Py_tracefunc function, PyObject *item)
    object CODE_OF(PyFrameObject *frame)
    bint IS_FUNCTION_OF_C(PyObject *x)
    size_t DEFINITION(PyObject *x)
    int PyTrace_CALL, PyTrace_RETURN, PyTrace_C_CALL, PyTrace_EXCEPTION

cdef enum Standing:
    OPAQUE = 0  # of a library: what its code calls of C is its own business
    KNOWN = 1   # of a user
    ASIDE = 2   # what runs from here on until it returns is nobody's business
    UNTOLD = 3  # of a library, too; and it has to be asked for again
    STANDARD = 4  # of Python's own library, which may call what is not known for a user


cdef int observe(PyObject *me, PyFrameObject *frame, int what, PyObject *arg) except -1:
    """Called for each call and return."""
    cdef Observer self
    if (<Sight>me).observer == NULL:
        return 0
    self = <Observer>(<Sight>me).observer
    if self.aside != NULL:
        if what == PyTrace_RETURN and self.aside == frame:
            self.aside = NULL
    elif what == PyTrace_CALL:
        if self.standing_of(frame) == ASIDE:
            self.aside = frame
    elif what == PyTrace_C_CALL and IS_FUNCTION_OF_C(arg):
        self.meet(frame, arg)
    return 0


cdef int trace(PyObject *me, PyFrameObject *frame, int what, PyObject *arg) except -1:
    """Called for each line as well, but what counts is where an exception comes to."""
    cdef Observer self
    cdef Sight sight = <Sight>me
    if what == PyTrace_EXCEPTION and sight.observer != NULL:
        self = <Observer>sight.observer
        if self.aside == NULL and self.standing_of(frame) == KNOWN:
            _, error, came_by = <object>arg
            if came_by is not None:  # or a generator has ended, from CPython 3.12 on
                self.on_error(error, came_by)
    if sight.tracer != NULL:
        return sight.tracer(<PyObject *>sight.traced, frame, what, arg)
    return 0


@cython.final
cdef class Sight:
    """What CPython keeps alive of an Observer that is at work."""

    cdef PyObject *observer  # NULL when it has ended
    cdef object former       # what CPython told before
    cdef Py_tracefunc tracer  # a debugger's, or that of a measurement of coverage
    cdef object traced        # and what that is told of


cdef class Observer(Context):
    """As a context; those that derive from it say what is to be done with what is met.

    `on_code` answers how a code stands: OPAQUE, KNOWN, ASIDE, UNTOLD or STANDARD. `known` are codes
    that it need not be asked for. Where a profiler is at work, nothing is seen but exceptions, of
    which it is told if it `sees_errors`.
    """

    cdef bint sees_errors
    cdef dict codes      # how each stands, by its address
    cdef set functions   # of C that were met, by their definitions
    cdef list kept       # alive: else another code may come to stand at an address
    cdef PyFrameObject *aside

    def __init__(self, known: Iterable[CodeType], bint sees_errors=False):
        self.sees_errors = sees_errors
        self.kept = [*known]
        self.codes = {id(code): KNOWN for code in self.kept}
        self.functions = set()

    def on_code(self, code: CodeType) -> int:
        """Some code is met for the first time."""
        return OPAQUE

    def on_function(self, function: BuiltinFunctionType, int standing) -> bool:
        """A function of C is, in code that stands so; answers whether it is asked for again."""
        return False

    def on_error(self, error: BaseException, came_by: TracebackType) -> None:
        """An exception comes to known code; `came_by` are its traceback from there on."""

    @property
    def outer(self) -> Observer | None:
        """The Observer around this one, which is told of nothing meanwhile.

        None if there is none, or if what runs now is nobody's business there.
        """
        cdef Observer found
        former = None if self.before is None else (<Sight>self.before).former
        if not isinstance(former, Sight) or (<Sight>former).observer == NULL:
            return None
        found = <Observer>(<Sight>former).observer
        return found if found.aside == NULL else None

    def __enter__(self) -> Self:
        cdef Sight sight = Sight.__new__(Sight)
        cdef PyThreadState *thread = PyThreadState_Get()
        sight.former = sys.getprofile()
        is_free = sight.former is None or isinstance(sight.former, Sight)
        if not (is_free or self.sees_errors):
            return self
        sight.observer = <PyObject *>self
        sight.tracer = thread.c_tracefunc
        sight.traced = <object>thread.c_traceobj if thread.c_traceobj != NULL else None
        self.begin(sight)
        if is_free:
            PyEval_SetProfile(observe, <PyObject *>sight)
        if self.sees_errors:
            PyEval_SetTrace(trace, <PyObject *>sight)
        return self

    def __dealloc__(self):
        self.leave()  # as long as there are codes to look up

    cdef int end(self, CadTape *tape, object before) except -1:
        cdef Sight sight = before
        sight.observer = NULL
        if PyThreadState_Get().c_traceobj == <PyObject *>sight:  # f may have begun to trace
            PyEval_SetTrace(sight.tracer, <PyObject *>sight.traced if sight.tracer != NULL else NULL)
        if sys.getprofile() is sight:
            if sight.former is None:
                PyEval_SetProfile(NULL, NULL)
            else:
                PyEval_SetProfile(observe, <PyObject *>sight.former)
        return 0

    cdef int standing_of(self, PyFrameObject *frame) except -1:
        code = CODE_OF(frame)
        known = self.codes.get(<size_t><PyObject *>code)
        if known is None:
            known = self.on_code(code)
            if known != UNTOLD:
                self.kept.append(code)
                self.codes[<size_t><PyObject *>code] = known
        return known

    cdef int meet(self, PyFrameObject *frame, PyObject *function) except -1:
        """A function of C is called by what runs in a frame."""
        cdef int standing = self.standing_of(frame)
        key = DEFINITION(function) | standing  # definitions stand at addresses that 8 divides
        if key not in self.functions and not self.on_function(<object>function, standing):
            self.functions.add(key)
        return 0
