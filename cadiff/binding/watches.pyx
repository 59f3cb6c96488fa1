"""What a recording has read beside its arguments, and whether all of it is as it was.

A Watch looks at places one by one, in some nanoseconds each: names of modules, cells of closures,
attributes, what is in containers. It reads arrays as a whole. It compares numbers and strings by
value, all else by identity. It holds objects and functions weakly: an object that is gone has
changed, and a recording keeps no object alive. This module does not know how places are found.
"""

import sys
from collections import deque
from types import MethodType, ModuleType
from weakref import WeakSet

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
from .c_python cimport class_attribute, or_none, PyFunctionObject, referent
from .atoms cimport digest_of_array
from .trees cimport (
    attribute_of, in_class, is_mutable, key_of, names_of, namespace_of, nothing, own_items, own_names,
    put_attribute,
)

from .callers import module_of
from .digests import of_texts
from .held import Held, HeldMethod, pickled, Releasing, state_of_table
from .trees import own_attribute


cdef extern from "Python.h":
    PyObject *PyCell_GET(object cell)
    PyObject *PyFunction_GetClosure(object function)
    # Of a str, which raises nothing.
    PyObject *find_name "PyDict_GetItemWithError"(object names, object name)
    PyObject *PyFunction_GET_CODE(PyObject *function)
    PyObject *PyFunction_GET_DEFAULTS(PyObject *function)
    PyObject *PyFunction_GET_KW_DEFAULTS(PyObject *function)
    PyObject *const *items_of_list "PySequence_Fast_ITEMS"(object items)
    PyObject *const *items_of_tuple "PySequence_Fast_ITEMS"(tuple items)


MISSING: object = nothing  # no value is at a place

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


cdef object HELD = Held, HELD_METHOD = HeldMethod
cdef tuple STRONG = (np.ndarray, type, ModuleType)


cdef object held(object value, object released, int depth=0):
    """What stands for a value in a Watch: a weak reference, where there can be one.

    Not of an array, which could not be resized in place any more: it is let go of when something
    else is gone. `released` is called then.
    """
    kind = type(value)
    if kind is float or kind is int or kind is str or issubclass(kind, STRONG):
        return value
    if kind is tuple:
        if depth == DEEP:
            return value
        items = tuple([held(item, released, depth + 1) for item in value])
        return items if any([type(item) in (HELD, HELD_METHOD, tuple) for item in items]) else value
    if kind is MethodType:
        return HELD_METHOD(held(value.__func__, released), held(value.__self__, released))
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
    if kind is MethodType and type(kept) is HELD_METHOD:
        return is_same(now.__func__, kept.function) and is_same(now.__self__, kept.owner)
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
    cdef uint64_t version  # of a class or a dict that was as it was; 0: it is to be compared
    cdef str path
    cdef bint is_released

    cdef bint keeps_arrays(self):
        """Whether it may keep data alive, in arrays or in what has no weak references."""
        if is_value(self.kind):
            return cnp.PyArray_Check(self.kept) or isinstance(self.kept, (list, dict, tuple))
        return self.kind != FUNCTION

    cdef object there(self):
        """The holder; `nothing` if it is no more."""
        cdef PyObject *value
        if self.is_released:
            return nothing
        if type(self.holder) is not HELD:
            return self.holder
        value = referent(self.holder)
        return nothing if value == NULL else <object>value

    cdef inline PyObject *in_cell(self, object holder):
        if self.index >= 0:
            holder = <object>PyTuple_GET_ITEM(<object>PyFunction_GetClosure(holder), self.index)
        return PyCell_GET(holder)

    cdef object now(self, object holder):
        """What is there; `nothing` if there is none."""
        cdef PyObject *value
        if self.kind == NAME:
            value = find_name(holder, self.name)
            return nothing if value == NULL else <object>value
        if self.kind == CELL:
            value = self.in_cell(holder)
            return nothing if value == NULL else <object>value
        return attribute_of(holder, self.name)

    cdef object state(self, object holder):
        """All that is there, as it is kept."""
        if is_value(self.kind):
            return self.now(holder)
        if self.kind == SEQUENCE or self.kind == MEMBERS:
            return own_items(holder)
        if self.kind == MAPPING or self.kind == NAMESPACE:
            names = self.names_in(holder)
            return tuple(dict.__iter__(names)), tuple(dict.values(names))
        if self.kind == CLASS:
            return in_class(holder)
        if self.kind == ARRAY:
            return holder.shape, holder.dtype, cnp.PyArray_ISWRITEABLE(holder)
        if self.kind == OBJECTS:
            return items_of(holder)
        if self.kind == TABLE:
            return state_of_table(holder, own_names(holder), _state_of_array)
        return holder() if self.kind == ANSWER else bytes_of(holder)

    cdef object names_in(self, object holder):
        """The dict whose keys and values are watched."""
        return holder if self.kind == MAPPING else own_names(holder)

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
        held = [_state_of_array(x.to_numpy()) for x in labels if x is not None]
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
        cdef PyObject *value = NULL
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
            value = self.in_cell(<object>holder)
        elif self.kind == NAME:
            value = find_name(self.holder, self.name)
        elif self.kind == CLASS:
            return self.version != 0 and version_of(<PyObject *>self.holder) == self.version
        elif self.kind == MAPPING:
            return self.version != 0 and version_of_dict(<PyObject *>self.holder) == self.version
        elif self.kind == ATTRIBUTE:
            owner = self.there()
            value = in_slot(owner, self.name)
            return value != NULL and is_same(<object>value, self.kept)
        else:
            return False
        kept = referent(self.kept) if type(self.kept) is HELD else <PyObject *>self.kept
        return value == kept if value != NULL else kept == <PyObject *>nothing

    cdef bint holds(self) except -1:
        """Whether what was read is there as it was."""
        cdef object holder = self.there()
        cdef uint64_t version = 0
        if holder is nothing:
            return False
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
        if self.kind == MAPPING:
            if type(holder) is dict:
                version = version_of_dict(<PyObject *>holder)
            if not self.has_pairs(holder):
                return False
            self.version = version
            return True
        if self.kind == NAMESPACE:
            return type(holder) is self.name and self.has_pairs(own_names(holder))
        if self.kind == ARRAY:
            return (
                cnp.PyArray_DESCR(holder) == <void *>PyTuple_GET_ITEM(self.kept, 1)
                and cnp.PyArray_ISWRITEABLE(holder) == <bint>self.kept[2]
                and digest_of_array(holder) == self.digest
            )
        if not is_same(self.state(holder), self.kept):
            return False
        if self.kind == CLASS:
            (<object>type).__getattribute__(holder, "__init__")  # by which it comes to have a version
            self.version = version_of(<PyObject *>holder)
        return True

    cdef bint is_filled(self) except -1:
        """Whether what was missing is there now, as where a result is kept, or a float for an int."""
        cdef object holder = self.there()
        if holder is nothing:
            return False
        if is_value(self.kind):
            if type(self.kept) is int:  # of the same value: another call changes nothing
                now = self.now(holder)
                return type(now) is float and now == self.kept
            return self.kept is nothing or self.kept is None
        if self.kind != MAPPING and self.kind != NAMESPACE:
            return False
        names = self.names_in(holder)
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
        elif self.kind == SEQUENCE or self.kind == MEMBERS:
            function(holder)
        elif self.kind == MAPPING or self.kind == NAMESPACE:
            function(self.names_in(holder))
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
            return (dict(zip(*self.state(holder))),)
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
            names = self.names_in(holder)
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
        """A key of the object that is there now; the object itself, if it is compared by identity."""
        cdef object holder = self.there()
        if holder is nothing:
            return None
        if self.kind == ARRAY:
            return digest_of_array(holder)
        if self.kind == FUNCTION:
            return key_of(holder)
        return key_of((type(holder) if self.kind == NAMESPACE else None, self.state(holder)))

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

    /* A number that a dict has not had before as it is now; 0 if nothing tells. */
    #if PY_VERSION_HEX < 0x030C0000
    static inline uint64_t version_of_dict(PyObject *dict) {
        return ((PyDictObject *)dict)->ma_version_tag;
    }
    #else
    static uint64_t n_dict_changes = 1; /* of all dicts that were asked about */
    static int dict_watcher = -1;

    static int note_dict_change(PyDict_WatchEvent event, PyObject *dict, PyObject *key,
                                PyObject *value) {
        n_dict_changes++;
        return 0;
    }

    static uint64_t version_of_dict(PyObject *dict) {
        if (((PyDictObject *)dict)->ma_values != NULL) { /* an object's: it is written to unseen */
            return 0;
        }
        if (dict_watcher < 0) {
            dict_watcher = PyDict_AddWatcher(note_dict_change);
        }
        if (dict_watcher < 0 || PyDict_Watch(dict_watcher, dict) < 0) { /* others have all */
            PyErr_Clear();
            return 0;
        }
        return n_dict_changes;
    }
    #endif
    """
    PyObject *in_slot(object holder, object slot)
    unsigned int version_of(PyObject *type)
    uint64_t version_of_dict(PyObject *dict)


cdef tuple VALUES = (bool, int, float, complex, str, bytes, type(None))
cdef frozenset LIBRARIES = sys.stdlib_module_names | {"numpy"}
cdef str text_of(object kept, int depth=0):
    """What tells a value from others in another process, too. What is in dicts, lists and objects
    of the user's is at places of its own."""
    kind = type(kept)
    if kind is HELD:
        return text_of(kept(), depth)
    if kind is HELD_METHOD:
        return text_of(kept.function, depth)
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
        try:
            return f"{name} {text_of(pickled(kept, kind), depth + 1)}"
        except TypeError:
            pass
    return str(own_attribute(kept, "__qualname__", name))


cdef object items_of(array):
    return tuple(array.ravel().tolist())


def _state_of_array(array):
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


cdef Place add_place(Watch watch, PlaceKind kind, object holder, object name, str path):
    cdef Place place = Place.__new__(Place)
    place.kind = kind
    place.holder = holder if type(holder) is dict else held(holder, watch.released)
    place.name = name
    place.index = -1
    place.path = path
    watch.places.append(place)
    return place


cdef object add_state(Watch watch, PlaceKind kind, object holder, str path, object name=None,
                      Py_ssize_t index=-1):
    """Add a place, and remember what is there; answers that."""
    cdef Place place = add_place(watch, kind, holder, name, path)
    place.index = index
    state = place.state(holder)
    place.kept = held(state, watch.released)
    if kind == ARRAY:
        place.digest = digest_of_array(holder)
    return state


@cython.final
cdef class Watch:
    """Places that a recording has read. Each method adds one, and remembers what is there."""

    def __cinit__(self):
        self.places = []
        self.kept = []
        self.released = Releasing()
        self.released.watches = WeakSet()
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
        other.suspects = self.suspects
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
        """Let go of arrays and containers: another object that was read is gone, and the watch can
        never hold again."""
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

    cdef list changed_places(self):
        """Those that are not as they were."""
        cdef Place place
        return [place for place in self.places if not (place.is_released or place.holds())]

    @property
    def changed(self) -> list[str]:
        """What of this is not as it was."""
        return [(<Place>place).changed_path() for place in self.changed_places()]

    @property
    def changes(self) -> dict[str, str]:
        """For each place that is not as it was: what was there and what is, as a text."""
        return {(<Place>p).path: (<Place>p).change() for p in self.changed_places()}

    @property
    def is_filled(self) -> bool:
        """Whether every changed place was missing before, None, or an int that is a float now."""
        return all([(<Place>place).is_filled() for place in self.changed_places()])

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
        """A number that tells the present contents from later ones."""
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
        return add_state(self, NAME, holder, path, name)

    def cell(self, cell: CellType, str path):
        """A cell of a closure; answers its value, MISSING if there is none."""
        return add_state(self, CELL, cell, path)

    def free_variable(self, function: FunctionType, Py_ssize_t index, str path):
        """The value in a cell of a function's closure, which is not kept alive."""
        return add_state(self, CELL, function, path, None, index)

    def attribute(self, holder, name, str path):
        """An attribute, by its name or descriptor; answers its value, MISSING if there is none."""
        return add_state(self, ATTRIBUTE, holder, path, name)

    def function(self, function: FunctionType, str path) -> bool:
        """Code and defaults of a function of Python's; answers whether it has attributes."""
        cdef Place place = add_place(self, FUNCTION, function, names_of(function), path)
        defaults = held(function.__defaults__, self.released)
        has_some = has_attributes(<PyObject *>function)
        place.kept = (function.__code__, defaults, function.__kwdefaults__, has_some)
        return has_some

    def members(self, items: Iterable[Any], str path) -> None:
        """What iteration gives: the items of a list, of a set, or of something else."""
        add_state(self, SEQUENCE if isinstance(items, list) else MEMBERS, items, path)

    def mapping(self, items: dict[Any, Any], str path) -> None:
        """Keys and values of a dict."""
        add_state(self, MAPPING, items, path)

    def namespace(self, item, str path) -> list[Any]:
        """The class of an object, and what is in its own dict; answers the values there."""
        return [*add_state(self, NAMESPACE, item, path, type(item))[1]]

    def class_of(self, kind: type, str path) -> None:
        """What is in a class, and in those that it derives from."""
        add_state(self, CLASS, kind, path)

    def answer(self, ask: Callable[[], Any], str path, bint is_portable=True) -> None:
        """What a function gives that is called with nothing, a number or a tuple of such. Whether
        it says something in another process, too."""
        cdef Place place = add_place(self, ANSWER, None, is_portable, path)
        place.holder = ask
        place.kept = ask()

    def array(self, cnp.ndarray array, str path) -> None:
        """Shape and numbers of an array, which are not references; or its items, which are."""
        add_state(self, OBJECTS if array.dtype.hasobject else ARRAY, array, path)

    def table(self, item, str path) -> None:
        """What a Series, a DataFrame or an Index of pandas' holds."""
        add_state(self, TABLE, item, path)

    def buffer(self, item, str path) -> None:
        """The bytes of something that lends them."""
        add_state(self, BUFFER, item, path)
