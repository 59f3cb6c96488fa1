"""Containers: taken apart, and put together again around other things.

A container is a list, a tuple, a dict, an object of a class derived from these, a dataclass, None,
an object of a class that was registered, or a complex number with derivatives, which consists of
two real ones. All else is a leaf: this module knows nothing of real numbers. Whatever looks into
objects and classes without running code of theirs stands here, too.
"""

import builtins
import copy
from collections import deque, OrderedDict
from dataclasses import fields
from functools import partial
from types import (
    BuiltinFunctionType, ClassMethodDescriptorType, FunctionType, GetSetDescriptorType,
    MappingProxyType, MemberDescriptorType, MethodDescriptorType, MethodType, WrapperDescriptorType,
)
from weakref import ref
from zlib import crc32

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_python cimport (
    class_attribute, looked_up, or_none, plain_attribute, Py_TYPE, PyFunctionObject, referent,
)
from .c_numbers cimport *
from .complexes cimport both_parts, Complex, complex_of, is_complex, parts_of, whole_parts_of

from .digests import of_contents


cdef dict registered = {}  # class: flatten, unflatten

# Of these it is known at once that they are no containers.
cdef frozenset LEAVES = frozenset(
    (float, int, bool, str, bytes, complex, slice, np.ndarray, np.float64, np.int64, FunctionType)
)


cdef frozenset PLAIN = frozenset((
    FunctionType, staticmethod, classmethod, BuiltinFunctionType, MethodDescriptorType,
    WrapperDescriptorType, ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType,
))


cdef bint computes(PyObject *attribute) except -1:
    """Whether code computes an attribute of a class, such as that of a property."""
    if attribute == NULL or Py_TYPE(<object>attribute).tp_descr_get == NULL:
        return False
    return type(<object>attribute) not in PLAIN


def own_attribute(item, str name, missing=None):
    """An attribute of an object, or of the function that a method is of, as long as no
    `__getattr__` or property of the user's has to tell it."""
    if computes(looked_up(type(item), name)):
        return missing
    attribute = plain_attribute(item, name, missing)
    if attribute is missing and type(item) is MethodType:
        return plain_attribute(item.__func__, name, missing)
    return attribute


def register_class(kind: type, flatten: Callable[[Any], Any],
                   unflatten: Callable[[Any, Any], Any]) -> None:
    """From now on what is of a class, and of none derived from it, is a container."""
    registered[kind] = (flatten, unflatten)


def is_registered(kind: type) -> bool:
    """Whether a class was registered."""
    return kind in registered


@cython.final
@cython.freelist(8)
cdef class Container:
    """A container without what is in it: what it takes to make one like it."""

    cdef Kind kind
    cdef readonly object type  #: type
    # keys of a dict, names of fields; None: parts are counted
    cdef readonly tuple names  #: tuple[Any, ...] | None
    cdef readonly object beside  # what else it takes to make one

    cdef bint has_keys(self):
        return self.kind == MAPPING or self.kind == COPIED

    @property
    def is_sequence(self) -> bool:
        """Whether it is a list or a tuple."""
        return self.kind == SEQUENCE

    cpdef object make(self, parts: list[Any] | tuple[Any, ...]):
        """A container like this one around other parts."""
        cdef Py_ssize_t k
        if self.kind == SEQUENCE:
            if self.type is list:
                return list(parts)
            if self.type is tuple:
                return tuple(parts)
            return self.make_derived(parts)
        if self.kind == MAPPING:
            return dict(zip(self.names, parts))
        if self.kind == NOTHING:
            return None
        if self.kind == REGISTERED:
            return make_registered(self.type, self.beside, tuple(parts))
        if self.kind == PAIR:
            re, im = parts
            return make_pair(self.beside, re, im)
        if self.kind == COPIED:
            if self.beside is None:
                return self.type(zip(self.names, parts))
            result = copy.copy(self.beside)
            for k in range(len(self.names)):
                result[self.names[k]] = parts[k]
            return result
        result = object.__new__(self.type)  # it may be frozen, and __init__ may be the user's
        for k in range(len(self.names)):
            object.__setattr__(result, self.names[k], parts[k])
        for name, value in (self.beside or {}).items():
            object.__setattr__(result, name, value)
        return result

    cdef object make_derived(self, parts):
        """A list or tuple of a class of its own, whose __init__ may be the user's."""
        if self.names is not None:
            make = getattr(self.type, "_make", None)  # SciPy's results have names, but not this
            item = tuple.__new__(self.type, parts) if make is None else make(parts)
        elif issubclass(self.type, list):
            item = self.type.__new__(self.type)
            list.extend(item, parts)
        else:
            item = self.type(parts)
        if self.beside is not None:
            item.__dict__.update(self.beside)
        return item

    cpdef tuple parts_like(self, item, Py_ssize_t n):  #: tuple[Any, ...] | None
        """The n parts of another container in the order of this one's; None if it is no such
        container. Lists and tuples of all classes are alike, and so are dicts."""
        cdef Container other
        if self.kind == PAIR:
            return None if parts_of(item) is None else opened_complex(item)[1]
        if self.has_keys():
            if not isinstance(item, dict) or dict.keys(item) != set(self.names):
                return None
            return tuple([dict.__getitem__(item, key) for key in self.names])
        opened_item = opened(item)
        if opened_item is None:
            return None
        other, parts = opened_item
        if other.kind != self.kind or len(parts) != n:
            return None
        if self.kind != SEQUENCE and (other.type is not self.type or other.names != self.names):
            return None
        return parts

    cpdef str step(self, Py_ssize_t k):
        """How its k-th part is written behind it."""
        if self.names is None:
            return f"[{k}]"
        return f"[{self.names[k]!r}]" if self.has_keys() else f".{self.names[k]}"

    cpdef str describe(self, Py_ssize_t n):
        """It and its n parts in words, for error messages."""
        if self.kind == NOTHING:
            return "None"
        if self.kind == PAIR:
            return "a complex number"
        if self.has_keys():
            return f"a {self.type.__name__} with the keys {list(self.names)}"
        if self.kind == FIELDS:
            return f"a {self.type.__name__} with the fields {list(self.names)}"
        return f"a {self.type.__name__} of {n}"

    def __reduce__(self):
        state = <int>self.kind, self.type, self.names, self.beside
        return container_of_state, (*state, checksum(self.names))


cdef Container new_container(Kind kind, type, tuple names=None, beside=None):
    cdef Container made = Container.__new__(Container)
    made.kind = kind
    made.type = type
    made.names = names
    made.beside = beside
    return made


cdef object checksum(tuple names):
    """Of names that are texts: no pickle tells whether one was damaged."""
    if not names or not all([isinstance(name, str) for name in names]):
        return None
    return crc32("\n".join(names).encode("utf-8", "surrogatepass"))


def container_of_state(int kind, type: type, names: tuple[Any, ...] | None, beside,
                       check: int | None = None) -> Container:
    """The Container that was pickled."""
    if check is not None and check != checksum(names):
        raise ValueError(f"the names {list(names)} are not those that were pickled")
    if kind == REGISTERED and type not in registered:
        raise LookupError(
            f"what is loaded has a container {type.__qualname__}, which is not registered here: "
            "call cadiff.register_container before"
        )
    return new_container(<Kind>kind, type, names, beside)


cdef Container A_LIST = new_container(SEQUENCE, list)
cdef Container A_TUPLE = new_container(SEQUENCE, tuple)
cdef tuple NO_PARTS = (new_container(NOTHING, type(None)), ())


cpdef tuple own_items(item):
    """What is in a list, a tuple, a set or a deque, or the keys of a dict: what a class of the user's
    that is derived from these makes of iteration is not asked."""
    kind = type(item)
    for base in (list, tuple, set, frozenset, deque, OrderedDict, dict):
        if issubclass(kind, base):
            return tuple(base.__iter__(item))
    return tuple(item)


cpdef tuple opened(item):  #: tuple[Container, tuple[Any, ...]] | None
    """The Container that something is, and its parts, a tuple; None if it is a leaf."""
    kind = type(item)
    if kind is list:
        return A_LIST, tuple(item)
    if kind is tuple:
        return A_TUPLE, item
    if kind is dict:
        return new_container(MAPPING, kind, tuple(item)), tuple(item.values())
    if item is None:
        return NO_PARTS
    if CAD_IS_VAR(item) or CAD_IS_DUAL(item) or kind in LEAVES:
        return None
    if kind in registered:
        return open_registered(item, kind)
    if isinstance(item, Complex):
        return opened_complex(item)
    if isinstance(item, (list, tuple)):
        beside = plain_attribute(item, "__dict__", None)
        names = class_attribute(kind, "_fields")
        return new_container(SEQUENCE, kind, names, dict(beside) if beside else None), own_items(item)
    if isinstance(item, dict):
        return open_dict(item)
    return open_fields(item) if has_fields(kind) else None


cdef inline bint has_fields(kind):
    return class_attribute(kind, "__dataclass_fields__") is not None


cdef tuple PARTS = ("real", "imag")
cdef Container A_PAIR = new_container(PAIR, complex, PARTS)
cdef Container A_SMALL_PAIR = new_container(PAIR, complex, PARTS, np.dtype(np.complex64))


cpdef tuple opened_complex(item):  #: tuple[Container, tuple[Any, ...]]
    """A number, complex or real, as a Container with its real and imaginary part."""
    if isinstance(item, Complex):
        return A_PAIR, (<Complex>item).whole()
    if cnp.PyArray_Check(item) and cnp.PyArray_NDIM(item) > 0:
        is_small = cnp.PyArray_TYPE(item) == cnp.NPY_CFLOAT
        return A_SMALL_PAIR if is_small else A_PAIR, both_parts(item)
    return A_PAIR, whole_parts_of(item)


cdef inline bint is_part(object x) except -1:
    """Whether it is a number, or an array of them."""
    is_array = cnp.PyArray_Check(x) and cnp.PyArray_TYPE(x) == cnp.NPY_DOUBLE
    return is_array or CAD_IS_VAR(x) or CAD_IS_DUAL(x) or parts_of(x) is not None


cdef object make_pair(dtype, re, im):
    if not is_part(re) or not is_part(im):
        if opened(re) is None or opened(im) is None:
            return re, im
        leaves, tree = flattened(re)  # blocks of a Jacobian: containers of parts
        return tree.fill([make_pair(dtype, p, q) for p, q in zip(leaves, flattened(im)[0])])
    number = complex_of(re, im)
    return number if dtype is None or not isinstance(number, np.ndarray) else number.astype(dtype)


def are_opened(kind: type) -> bool:
    """Whether things of a class are containers."""
    is_derived = issubclass(kind, (list, tuple, dict))
    return is_derived or kind in registered or has_fields(kind)


cdef tuple open_registered(item, kind):
    found = registered[kind][0](item)
    if type(found) is not tuple or len(found) != 2 or not isinstance(found[0], (list, tuple)):
        got = f"a tuple of {len(found)}" if type(found) is tuple else f"a {type(found).__name__}"
        if type(found) is tuple and len(found) == 2:
            got = f"({type(found[0]).__name__}, {type(found[1]).__name__})"
        raise TypeError(
            f"the flatten of {kind.__qualname__} that was given to register_container returns "
            f"(children, aux), children in a list or tuple; it returned {got}"
        )
    children, aux = found
    return new_container(REGISTERED, kind, None, aux), tuple(children)


cdef object make_registered(kind, aux, tuple parts):
    item = registered[kind][1](aux, parts)
    if type(item) is not kind:
        raise TypeError(
            f"the unflatten of {kind.__qualname__} that was given to register_container returns "
            f"what flatten was given, a {kind.__qualname__}; it returned a {type(item).__name__}"
        )
    return item


cdef tuple open_dict(item):
    """What is of a class derived from dict. Others are copies, or of its class if it is its own."""
    bare = copy.copy(item)  # after which it has made what it makes late
    names = own_items(item)
    parts = tuple([dict.__getitem__(item, key) for key in names])
    for key in () if bare is item else names:
        dict.__setitem__(bare, key, None)
    return new_container(COPIED, type(item), names, None if bare is item else bare), parts


cpdef tuple opened_whole(item):  #: tuple[Container, tuple[Any, ...]] | None
    """As `opened` says, with the attributes of a dataclass that are no fields: for where its numbers
    are those that they were computed of."""
    opened_item = opened(item)
    if opened_item is not None and (<Container>opened_item[0]).kind == FIELDS:
        names = (<Container>opened_item[0]).names
        others = {
            name: value for name, value in plain_attribute(item, "__dict__", {}).items()
            if name not in names
        }
        (<Container>opened_item[0]).beside = others or None
    return opened_item


cdef tuple open_fields(item):
    """A dataclass. Fields that were never set stay so. Other attributes are left out: what was
    computed of fields, and is kept there, belongs to other numbers."""
    names, parts = [], []
    for field in fields(type(item)):
        part = plain_attribute(item, field.name, parts)
        if part is not parts:
            parts.append(part)
            names.append(field.name)
    return new_container(FIELDS, type(item), tuple(names)), tuple(parts)


@cython.final
@cython.freelist(8)
cdef class Tree:
    """Containers in containers, with places for leaves."""

    cdef readonly Container container  #: Container | None
    cdef readonly tuple children  #: tuple[Tree, ...] | None

    def fill(self, leaves: Iterable[Any]):
        """These containers around leaves, which are given in order."""
        return self.filled(iter(leaves))

    cdef object filled(self, leaves):
        if self.container is None:
            return next(leaves)
        return self.container.make([(<Tree>child).filled(leaves) for child in self.children])

    def parts(self, item, path: str, whole: str) -> list[tuple[str, Any]]:
        """A list of (path, part), for what stands in the places of leaves in other containers.

        If these are not of the same kinds, ValueError says that they should be those of `whole`.
        """
        found = []
        try:
            self.add_parts(found, item, path, whole)
        except RecursionError:
            cad_raise_nested()
        return found

    cdef int add_parts(self, list found, item, str path, str whole) except -1:
        cdef Py_ssize_t k, n
        if self.container is None:
            found.append((path, item))
            return 0
        n = len(self.children)
        parts = self.container.parts_like(item, n)
        if parts is None:
            raise ValueError(
                f"{path} must have the structure of {whole}: expected "
                f"{self.container.describe(n)}, got {item!r}"
            )
        cad_enter_container()
        try:
            for k in range(n):
                (<Tree>self.children[k]).add_parts(
                    found, parts[k], path + self.container.step(k), whole
                )
        finally:
            cad_leave_container()
        return 0

    def imaginary(self) -> list[int]:
        """Which leaves are imaginary parts: a list of their places among all."""
        found = []
        self.add_imaginary(found, 0)
        return found

    cdef int add_imaginary(self, list found, Py_ssize_t place) except -1:
        """Add those of the leaves from a place on; answers the place behind them."""
        if self.container is None:
            return place + 1
        if self.container.kind == PAIR:
            found.append(place + 1)
        for child in self.children:
            place = (<Tree>child).add_imaginary(found, place)
        return place

    def __reduce__(self):
        return tree_of_state, (self.container, self.children)


def tree_of_state(Container container or None, tuple children or None) -> Tree:
    """The Tree that was pickled."""
    cdef Tree tree = Tree.__new__(Tree)
    tree.container = container
    tree.children = children
    return tree


cdef Tree A_LEAF = tree_of_state(None, None)


def flattened(item, is_leaf: Callable[[Container, tuple[Any, ...]], bool] | None = None,
              bint whole=False, bint pairs=False) -> tuple[list[Any], Tree]:
    """The leaves of a tree, in order, and the Tree that they were in.

    Containers of which is_leaf(container, parts) is true are leaves, too. With `whole`, those that
    are filled with these leaves again have all attributes: see `opened_whole`. With `pairs`, plain
    complex numbers are containers of two real ones, as those with derivatives are.
    """
    leaves = []
    try:
        return leaves, flatten_into(leaves, item, is_leaf, whole, pairs)
    except RecursionError:
        cad_raise_nested()


cdef Tree flatten_into(list leaves, item, is_leaf, bint whole, bint pairs):
    opened_item = opened_whole(item) if whole else opened(item)
    if opened_item is None and pairs and is_complex(item):
        opened_item = opened_complex(item)
    if opened_item is None or (is_leaf is not None and is_leaf(*opened_item)):
        leaves.append(item)
        return A_LEAF
    cad_enter_container()
    try:
        return tree_of_state(
            opened_item[0], tuple(
                [flatten_into(leaves, part, is_leaf, whole, pairs) for part in opened_item[1]]
            )
        )
    finally:
        cad_leave_container()


def map_leaves(function: Callable[[Any], Any], item):
    """function(leaf) in the place of each leaf of a tree."""
    leaves, tree = flattened(item)
    return tree.fill([function(leaf) for leaf in leaves])


# --- keys ----------------------------------------------------------------------------------------
#
# Keys of what is no number to compute with: equal where f cannot tell one thing from another.
#
# Values are told apart by what they are, to the last bit, containers and functions by what is in
# them; other objects by identity, and what is in those has to be watched. A key of two types never
# is the same: 1 is not True. This module does not know what is recorded.


cdef enum:
    DEEP = 50      # functions and containers in each other; deeper ones are told by identity
    LONG = 4096    # bytes of an array, of which there is a digest only


@cython.final
cdef class Same:
    """The key of an object that is told from others by its identity.

    It does not keep the object alive, and is no other's key when that is gone. An array it keeps:
    one with weak references could not be resized in place.
    """

    cdef object item  # or a weak reference to it
    cdef Py_ssize_t number
    cdef bint is_weak

    def __init__(self, item):
        self.number = id(item)
        self.item = item
        self.is_weak = not cnp.PyArray_Check(item)
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
        cdef PyObject *item
        if not self.is_weak:
            return self.item
        item = referent(self.item)
        return None if item == NULL else <object>item

    def __hash__(self):
        return self.number

    def __reduce__(self):
        return Same, (self.item_or_none(),)


cdef object is_class_of_library = None


def register_libraries(test: Callable[[type], bool]) -> None:
    """Set what tells classes of libraries, whose objects are equal only if they are the same."""
    global is_class_of_library
    is_class_of_library = test


cdef frozenset SETS = frozenset((set, frozenset))
cdef object FROZEN_DICT = getattr(builtins, "frozendict", None)  # new in Python 3.15
cdef frozenset BUILT_IN = frozenset((list, tuple, dict, type(None), complex))
cdef str EMPTY = "empty"


cpdef object key_of(item, list watched=None):
    """The key of something; that of a Tree is of its containers alone.

    To `watched` is added what the key tells by identity, or whose code may read more.
    """
    if type(item) is Tree:
        return key_of_tree(item, watched)
    return key_within(item, [], watched)


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
    if issubclass(kind, np.generic) and kind.__dictoffset__ == 0:  # else it may have attributes
        return kind, item.dtype, item.tobytes()
    for k in range(len(above)):
        if above[k] is item:  # of a registered class that is its own aux, nothing else is known
            return same(item, watched) if kind in registered else (kind, k)
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
    if kind is FROZEN_DICT:
        return kind, keys_of((*item, *item.values()), above, watched)
    if kind is FunctionType:
        return key_of_function(item, above, watched)
    if kind is MethodType:
        return kind, keys_of((item.__func__, item.__self__), above, watched)
    if kind is partial:
        parts = (item.func, item.args, item.keywords or None, item.__dict__ or None)
        return kind, keys_of(parts, above, watched)
    opened_item = opened_whole(item)
    if opened_item is not None:
        return (
            key_of_container(opened_item[0], above, watched),
            keys_of(opened_item[1], above, watched),
        )
    if (class_attribute(kind, "__eq__") is not object.__eq__ and is_class_of_library(kind)
            and kind is not MappingProxyType and not isinstance(item, (float, complex))):
        if watched is not None:  # it may have attributes
            watched.append(item)
        try:
            hash(item)
            # Equal are decimals of other digits, and moments of other zones.
            text = None if issubclass(kind, np.dtype) else repr(item)
        except Exception:  # a memoryview that can be written to raises ValueError
            return Same(item)
        return kind, item, text
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


cdef extern from *:
    """
    /* The annotations of a function, or from Python 3.14 on what makes them; NULL if it has none. */
    static inline PyObject *annotations_of(PyObject *function) {
    #if PY_VERSION_HEX >= 0x030E0000
        if (((PyFunctionObject *)function)->func_annotate != NULL) {
            return ((PyFunctionObject *)function)->func_annotate;
        }
    #endif
        return ((PyFunctionObject *)function)->func_annotations;
    }
    """
    PyObject *annotations_of(PyObject *function)


cdef tuple names_of(function):
    """Its name, qualified name, docstring and module."""
    cdef PyFunctionObject *of = <PyFunctionObject *><PyObject *>function
    return (
        or_none(of.func_name), or_none(of.func_qualname),
        or_none(of.func_doc), or_none(of.func_module),
    )


cdef tuple key_of_function(function, list above, list watched):
    """Code, and what it reads of its own: closure, defaults, attributes, names."""
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append(key_within(cell.cell_contents, above, watched))
        except ValueError:
            cells.append(EMPTY)
    if watched is not None:
        watched.append(function)
    defaults = (function.__defaults__, function.__kwdefaults__, function.__dict__ or None)
    defaults = (*defaults, *names_of(function), or_none(annotations_of(<PyObject *>function)))
    return (
        FunctionType, function.__code__, Same(function.__globals__), tuple(cells),
        keys_of(defaults, above, watched),
    )


cdef tuple key_of_array(cnp.ndarray array):
    """Its contents."""
    contents = array.tobytes()
    if len(contents) > LONG:
        contents = of_contents(contents)
    return np.ndarray, array.dtype, array.shape, contents


cdef int64_t bits_of(double value):
    """What tells numbers from others: 0.0 is not -0.0, and a nan is itself."""
    cdef int64_t bits
    memcpy(&bits, &value, sizeof(bits))
    return bits


# --- what is in objects and classes ---------------------------------------------------------------

cdef extern from "Python.h":
    object PyObject_GenericGetDict(object item, void *context)


cdef enum:
    IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


cdef object nothing = object()  # no value is at a place


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
    cdef PyObject *attribute
    if type(name) is not str:
        try:
            return name.__get__(holder)
        except (AttributeError, TypeError):  # an object may be of another class now
            return nothing
    attribute = looked_up(type(holder), name)
    if computes(attribute):
        is_first = Py_TYPE(<object>attribute).tp_descr_set != NULL  # before the object's own
        names = NO_NAMES if is_first else own_names(holder)
        return names.get(name, <object>attribute)
    if isinstance(holder, type):
        attribute = looked_up(holder, name)
        if computes(attribute):
            return <object>attribute
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
    """The classes that one derives from, and what may change in them, but for notes of copies."""
    cdef tuple bases = (<object>type).__dict__["__mro__"].__get__(kind)
    inside = [dict(namespace_of(base)) for base in bases if is_mutable(base)]
    for names in inside:
        names.pop("__slotnames__", None)
    return bases, tuple([(tuple(names), tuple(names.values())) for names in inside])
