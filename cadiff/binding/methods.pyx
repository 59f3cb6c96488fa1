"""Programs as methods: the recordings for an object live as long as the object does.

The class's program has a program for each object, whose function knows the object by a weak
reference. What an attribute gives keeps the object alive, as Python's bound methods do, and nothing
else does. This module does not know what a program is.
"""

import inspect
from functools import update_wrapper
from types import MethodType
from weakref import ref

cimport cython
from cpython.object cimport PyObject_GenericGetAttr


cdef enum:
    MOST_WITHOUT_REFERENCES = 8  # objects that allow none


class WeakMethod:
    """A method of an object that it does not keep alive."""

    def __init__(self, function, instance):
        update_wrapper(self, function)
        self.__func__ = function
        try:
            self._object = ref(instance)
        except TypeError:  # its class has slots, and none for references
            self._object = lambda: instance

    @property
    def __self__(self):
        return self._object()

    @property
    def bound(self):
        """The method, which keeps the object alive."""
        instance = self._object()
        if instance is None:
            raise ReferenceError(
                f"{self.__func__.__qualname__} is a method of an object that is no more"
            )
        return MethodType(self.__func__, instance)

    @property
    def __signature__(self):
        return inspect.signature(self.bound)

    def __call__(self, /, *args, **kwargs):
        return self.bound(*args, **kwargs)


@cython.final
@cython.freelist(8)
cdef class Keeping:
    """A function that keeps an object alive, which it needs."""

    cdef object kept, function

    def __call__(self, /, *args, **kwargs):
        return self.function(*args, **kwargs)


cdef Keeping keeping(object kept, object function):
    cdef Keeping result = Keeping.__new__(Keeping)
    result.kept = kept
    result.function = function
    return result


@cython.final
@cython.freelist(8)
cdef class BoundProgram:
    """A program as the method of an object, whose arguments begin behind self."""

    def __init__(self):
        raise TypeError("a BoundProgram is an attribute of an object whose class has a Program")

    @property
    def __self__(self):
        return self.instance

    @property
    def __func__(self):
        """The program that stands in the class."""
        return self.function

    @property
    def __wrapped__(self):
        return MethodType(self.function.__wrapped__, self.instance)

    def __call__(self, /, *args, **kwargs):
        return self.program(*args, **kwargs)

    def __getattribute__(self, name):
        if name in OWN:
            return PyObject_GenericGetAttr(self, name)
        found = getattr(self.program, name)
        is_method = getattr(found, "__self__", None) is self.program
        return keeping(self, found) if is_method else found

    def vjp(self, /, *primals):
        value, pullback = self.program.vjp(*primals)
        return value, keeping(self, pullback)

    def _own_derivative(self, name, args, kwargs):
        return self.program._own_derivative(name, args, kwargs)

    def __eq__(self, other):
        return type(other) is BoundProgram and (<BoundProgram>other).program is self.program

    def __hash__(self):
        return hash(self.program)

    def __reduce__(self):
        return MethodType(self.function, self.instance).__reduce__()

    def __repr__(self):
        return repr(self.program)


class Forgetting:
    """Called when an object is no more: drops what is kept for it."""

    def __init__(self, programs, key):
        self.programs = programs
        self.key = key

    def __call__(self, reference):
        self.programs.pop(self.key, None)


# All else is what the program has, its name and documentation too.
cdef frozenset OWN = frozenset(dir(BoundProgram)) - {"__doc__", "__module__"}


@cython.final
cdef class Objects:
    """The programs for objects, one for each; forgotten when the object is.

    Of objects that allow no weak references the last few are kept, with their programs.
    """

    def __cinit__(self):
        self.programs = {}

    cdef BoundProgram method(self, object function, object instance):
        """The program for an object as its method; None if there is none yet."""
        cdef object found = self.programs.get(id(instance))
        cdef BoundProgram bound
        if found is None:
            return None
        bound = BoundProgram.__new__(BoundProgram)
        bound.program = (<tuple>found)[1]
        bound.function = function
        bound.instance = instance
        return bound

    cdef int add(self, object instance, object program) except -1:
        """Note the program for an object, unless there is one by now."""
        cdef dict programs = self.programs
        key = id(instance)
        try:
            kept = ref(instance, Forgetting(programs, key))
        except TypeError:
            kept = [instance]
            others = [number for number, found in programs.items() if type(found[0]) is list]
            for number in others[:max(0, len(others) + 1 - MOST_WITHOUT_REFERENCES)]:
                programs.pop(number, None)
        programs.setdefault(key, (kept, program))
        return 0
