"""Programs as methods: the recordings for an object live as long as the object does.

The class's program has a program for each object, whose function knows the object by a weak
reference. Where objects come and go before theirs has paid, it is made after some calls only. What an attribute gives keeps the object alive, as Python's bound methods do, and nothing
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
    FEW_CALLS = 4
    LATEST = 16


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
    """A function that keeps an object alive, which it needs; or the name of a method that may not
    be there yet, and what is bound."""

    cdef object kept, function

    def __call__(self, /, *args, **kwargs):
        if type(self.function) is BoundProgram:
            return (<BoundProgram>self.function).called(self.kept, args, kwargs)
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

    cdef object program(self):
        """The program for the object alone."""
        if self.owned.program is None:
            self.owned = self.function._own_program(self.instance)
        return self.owned.program

    cdef object called(self, str name, tuple args, dict kwargs):
        """A call of the program, or of one of its methods; f as it is, if there is no program and
        few calls so far."""
        if self.owned.program is None and self.owned.n_calls < FEW_CALLS:
            self.owned.n_calls += 1
            result = self.function._run_for(self.instance, name, args, kwargs)
            if result is not NotImplemented:
                return result
        return getattr(self.program(), name)(*args, **kwargs)

    def __call__(self, /, *args, **kwargs):
        if self.owned.program is None:
            return self.called("value", args, kwargs)
        return self.owned.program(*args, **kwargs)

    def __getattribute__(self, name):
        if name in OWN:
            return PyObject_GenericGetAttr(self, name)
        cdef BoundProgram bound = <BoundProgram>self
        if bound.owned.program is None:
            if name in RUN_AS_IT_IS:
                return keeping(name, bound)
            if name.startswith("__"):  # its name, what it says of itself
                return getattr(bound.function, name)
        program = bound.program()
        found = getattr(program, name)
        is_method = getattr(found, "__self__", None) is program
        return keeping(bound, found) if is_method else found

    def vjp(self, /, *primals):
        value, pullback = self.program().vjp(*primals)
        return value, keeping(self, pullback)

    def _own_derivative(self, name, args, kwargs):
        if self.owned.program is None and name in RUN_AS_IT_IS:
            return self.called(name, args, kwargs)
        return self.program()._own_derivative(name, args, kwargs)

    def __eq__(self, other):
        return type(other) is BoundProgram and (<BoundProgram>other).owned is self.owned

    def __hash__(self):
        return hash(self.owned)

    def __reduce__(self):
        return MethodType(self.function, self.instance).__reduce__()

    def __repr__(self):
        return repr(self.program())


class Forgetting:
    """Called when an object is no more: drops what is kept for it."""

    def __init__(self, owned, key):
        self.owned = owned
        self.key = key

    def __call__(self, reference):
        forget(self.owned, self.key)


cdef int forget(dict every, key) except -1:
    cdef Owned gone = every.pop(key, None)
    if gone is not None:
        gone.is_used()
        gone.program = gone.kept = None
        gone.n_calls = 0
    return 0


# All else is what the program has, its name and documentation too.
cdef frozenset OWN = frozenset(dir(BoundProgram)) - {"__doc__", "__module__"}


cdef frozenset RUN_AS_IT_IS = frozenset(("value", "grad", "value_and_grad", "jacobian", "hessian"))


@cython.final
cdef class Owned:
    """What is kept for an object."""

    cdef bint is_used(self) except -1:
        """Whether its program has served more calls than it took to make it."""
        if not self.was_used and self.program is not None:
            self.was_used = self.program._pays
        return self.was_used


@cython.final
cdef class Objects:
    """The programs for objects, one for each; forgotten when the object is.

    Where those of the last objects were of no use, further objects have none for their first
    calls. Of objects that allow no weak references the last few are kept, with their programs.
    """

    def __cinit__(self):
        self.owned = {}
        self.latest = []

    cdef Owned of(self, object instance):
        """What is kept for an object; None if there is nothing yet."""
        return self.owned.get(id(instance))

    cdef Owned add(self, object instance):
        """What is kept for an object from now on."""
        cdef dict every = self.owned
        cdef Owned owned = Owned.__new__(Owned)
        key = id(instance)
        try:
            owned.kept = ref(instance, Forgetting(every, key))
        except TypeError:
            owned.kept = [instance]
            others = [
                number for number, other in every.items() if type((<Owned>other).kept) is list
            ]
            for number in others[:max(0, len(others) + 1 - MOST_WITHOUT_REFERENCES)]:
                forget(every, number)
        return every.setdefault(key, owned)

    cdef int note_program(self, Owned owned) except -1:
        """Note that a program was made."""
        self.latest = [owned, *self.latest[:LATEST - 1]]
        return 0

    cdef bint are_in_vain(self) except -1:
        """Whether the programs that were made last were of no use. That is not asked each time."""
        cdef Owned owned
        if len(self.latest) < LATEST:
            return False
        self.n_passed += 1
        if self.n_passed % LATEST == 1:
            for owned in self.latest:
                if owned.is_used():
                    self.n_passed = 0
                    return False
        return True


cdef BoundProgram bound_program(object function, object instance, Owned owned):
    """A program as the method of an object."""
    cdef BoundProgram bound = BoundProgram.__new__(BoundProgram)
    bound.owned = owned
    bound.function = function
    bound.instance = instance
    return bound
