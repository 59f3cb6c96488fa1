"""Functions as the namespaces offer them: NumPy's and SciPy's own, unless there is a number with
derivatives among the arguments. Most programs consist of calls of these, so they are found by
way of the vectorcall protocol, which makes neither tuples nor dicts. Programs as
methods stand here, too: they do not keep their objects alive.
"""

import inspect
from functools import update_wrapper
from types import MethodType
from weakref import ref

import numpy as np

cimport cython
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject, PyObject_GenericGetAttr

from . cimport c_numpy as cnp
from .c_python cimport *
from .c_numbers cimport *
from .complexes cimport complex_function, is_complex
from .atoms cimport carries, shape
from .calls cimport Missed
from .fast_paths cimport (
    FastPathTable, GRAD, HESSIAN, HVP, is_missing, JACFWD, JACOBIAN, JVP, Method,
    MethodSignatures, NAMES, VALUE, VALUE_AND_GRAD, VJP,
)
from .guards cimport call_named

from .atoms import plain_constants
from .forward import readable_values
from .results import copy_into


cdef void enable_vectorcall(object instance, void *member):
    """Tell Python which member of the instances of a type is to be called."""
    cdef PyTypeObject *type_ = Py_TYPE(instance)
    type_.tp_vectorcall_offset = <char *>member - <char *><PyObject *>instance
    type_.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL


#: _P = ParamSpec("_P")
#: _R = TypeVar("_R")
cdef object entered = None


def register_entered(make: Callable[[Callable[..., Any]], Any]) -> None:
    """Tell what makes of a function one whose calls are entries of the tape."""
    global entered
    entered = make


@cython.final
cdef class DispatchedFunction:  #: Generic[_P, _R]
    """A function of NumPy's or SciPy's that knows numbers with derivatives.

    function: what is called if an argument carries a derivative. original: what else is called.
    joined: what is asked before about one argument that is a list, and may answer NotImplemented.
    enters: whether calls are entries of the tape where they can be: see operations/eager_cache.py
    """

    #: __name__: str
    #: __qualname__: str
    cdef vectorcallfunc call
    cdef object function
    cdef object original
    cdef object joined
    cdef object entered  # what makes calls entries of the tape
    cdef bint enters
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.call = <vectorcallfunc>call_function

    def __init__(self, function: Callable[_P, _R], original: Callable[..., Any],
                 joined: Callable[[Any], Any] | None = None, enters: bool = False):
        self.function = function
        self.original = original
        self.joined = joined
        self.enters = enters

    def opening(self, original: Callable[..., Any],
                joined: Callable[[Any], Any] | None) -> DispatchedFunction[_P, _R]:
        """The same function, which calls another one for what carries no derivative."""
        return DispatchedFunction(self.function, original, joined, self.enters)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return PyVectorcall_Call(self, args, kwargs)

    def __get__(self, instance, owner):
        """In a class it is a method, as any function of Python's."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self):
        return self.__name__

    def __repr__(self):
        return f"<{self.__module__}.{self.__name__}>"


cdef object call_function(
    object self, PyObject *const *args, size_t nargsf, PyObject *names
):
    cdef DispatchedFunction called = <DispatchedFunction>self
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    if n == 1 and names is NULL:
        if cad_is_sum_of_all(called.original, <object>args[0]):
            return cad_array_sum(CAD_VAR(<object>args[0]), None, False)
        if called.joined is not None and isinstance(<object>args[0], (list, tuple)):
            joined = called.joined(<object>args[0])
            if joined is None:
                return called.original(<object>args[0])
            if joined is not NotImplemented:
                return joined
    if names is not NULL:
        n += len(<object>names)
    for i in range(n):
        if carries(<object>args[i]):
            return call_carrying(called, args, nargsf, names)
    return call_plain(called.original, args, nargsf, names)


cdef object call_plain(
    object function, PyObject *const *args, size_t nargsf, PyObject *names
):
    """Call NumPy; an array of another library's that makes none of NumPy's is told a way."""
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    try:
        return PyObject_Vectorcall(function, args, nargsf, names)
    except Exception:
        for i in range(n):
            if cad_is_listed(<object>args[i]) and not isinstance(<object>args[i], (list, tuple)):
                cad_listed_array(<object>args[i])
        raise


cdef object call_carrying(
    DispatchedFunction called, PyObject *const *args, size_t nargsf, PyObject *names
):
    """Call what takes numbers with derivatives; what it refuses of constants goes to NumPy."""
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    try:
        if has_complex(args, n if names is NULL else n + len(<object>names)):
            positional, named = separated(args, n, names)
            return complex_function(called.original, positional, named)
        if cad_state.guarding > 0:
            return call_named(called.function, called, args, nargsf, names)
        if called.enters:
            if called.entered is None:
                called.entered = entered(called.function)
            keys = () if names is NULL else <object>names
            result = called.entered(tuple([<object>args[i] for i in range(n + len(keys))]), keys)
            if result is not NotImplemented:
                return result
        return PyObject_Vectorcall(called.function, args, nargsf, names)
    except TypeError:
        positional, named = separated(args, n, names)
        constants = plain_constants((positional, named))
        if constants is None:
            raise
    return of_constants(called.original, constants, named)


cdef tuple separated(PyObject *const *args, Py_ssize_t n, PyObject *names):
    """The n arguments by position, a tuple, and those by keyword, a dict."""
    cdef Py_ssize_t i
    keys = () if names is NULL else <object>names
    return (
        tuple([<object>args[i] for i in range(n)]),
        {name: <object>args[n + i] for i, name in enumerate(keys)},
    )


cdef object of_constants(object function, tuple values, dict named):
    """What a function gives for plain arguments, in the array of numbers that is `out`, if any."""
    out, plain = named.get("out"), values[1].get("out")
    if type(out) is type(plain):
        return function(*values[0], **values[1])
    result = function(*values[0], **{**values[1], "out": None})
    if shape(out) != shape(result):
        raise ValueError(f"out= has the shape {shape(out)}, and the result {shape(result)}")
    out[...] = result
    return out


cdef public object cad_call_dispatched(object function, tuple args, dict kwargs):
    """What NumPy found to be called with numbers with derivatives, wherever they stand in its
    arguments: to ask about these would lead back to NumPy."""
    cdef DispatchedFunction called = <DispatchedFunction>function
    cdef tuple names = tuple(kwargs) if kwargs else None
    cdef tuple all = args + tuple(kwargs.values()) if kwargs else args
    return call_carrying(
        called, PySequence_Fast_ITEMS(all), len(args), <PyObject *>names if kwargs else NULL
    )


cdef public object cad_call_on_constants(object function, tuple args, dict kwargs):
    """Call what has no rule; NotImplemented if numbers among the arguments need one."""
    values = readable_values((args, kwargs))
    return NotImplemented if values is None else of_constants(function, values, kwargs)


cpdef bint holds_complex(tree) except -1:
    """Whether there is a complex number in it: itself, or in lists, dicts and arrays of objects."""
    try:
        return one_holds(tree)
    except RecursionError:
        cad_raise_nested()


cdef bint one_holds(tree) except -1:
    if CAD_IS_VAR(tree) or CAD_IS_DUAL(tree) or CAD_IS_FLOAT(tree):
        return False
    kind = type(tree)
    if kind is int or kind is str or kind is bool or tree is None:
        return False
    if is_complex(tree):
        return True
    items = None
    if kind is list or kind is tuple:
        items = tree
    elif kind is dict:
        items = tree.values()
    elif cnp.PyArray_Check(tree) and cnp.PyArray_TYPE(tree) == cnp.NPY_OBJECT:
        items = tree.flat
    if items is None:
        return False
    cad_enter_container()
    try:
        for item in items:
            if one_holds(item):
                return True
        return False
    finally:
        cad_leave_container()


cdef bint has_complex(PyObject *const *args, Py_ssize_t n) except -1:
    """Whether there is a complex number among arguments, or in lists of them."""
    cdef Py_ssize_t i
    for i in range(n):
        if holds_complex(<object>args[i]):
            return True
    return False


@cython.final
cdef class Elementwise:
    """A ufunc of NumPy's that finds numbers with derivatives faster than NumPy does.

    Called with numbers it is the operation of the table; called in any other way it is the ufunc,
    whose attributes and methods it has.

    ufunc: the ufunc. join: what lists and arrays of objects have to pass first.
    """

    #: __name__: str
    #: __qualname__: str
    cdef vectorcallfunc call
    cdef object ufunc
    cdef object join
    cdef int op
    cdef int arity
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.call = <vectorcallfunc>call_elementwise

    def __init__(self, ufunc: np.ufunc, join: Callable[[Any], Any]):
        self.ufunc = ufunc
        self.join = join
        self.op = cad_find_op(ufunc)
        self.arity = ufunc.nin

    def __call__(self, *args, **kwargs):
        return PyVectorcall_Call(self, args, kwargs)

    def __getattr__(self, name: str):
        return getattr(self.ufunc, name)

    def __reduce__(self):
        return self.ufunc.__name__

    def __repr__(self):
        return f"<cadiff.numpy.{self.ufunc.__name__}>"


cdef object call_elementwise(
    object self, PyObject *const *args, size_t nargsf, PyObject *names
):
    cdef Elementwise called = <Elementwise>self
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    if called.op >= 0 and names is NULL and n == called.arity:
        for i in range(n):
            if CAD_IS_VAR(<object>args[i]) or CAD_IS_DUAL(<object>args[i]):
                return cad_call(called.op, args, n)
    for i in range(n):
        if is_listed(<object>args[i]):
            positional, named = separated(args, n, names)
            return called.ufunc(*[called.join(x) for x in positional], **named)
    return call_plain(called.ufunc, args, nargsf, names)


cdef bint is_listed(object x):
    """Whether something is a list, a tuple or an array of objects."""
    return isinstance(x, (list, tuple)) or (
        cnp.PyArray_Check(x) and cnp.PyArray_TYPE(x) == cnp.NPY_OBJECT
    )


cdef DispatchedFunction ANY_FUNCTION = DispatchedFunction(None, None)
cdef Elementwise ANY_ELEMENTWISE = Elementwise(np.add, None)
enable_vectorcall(ANY_FUNCTION, &ANY_FUNCTION.call)
enable_vectorcall(ANY_ELEMENTWISE, &ANY_ELEMENTWISE.call)


# --- programs as methods -------------------------------------------------------------------------
#
# Programs as methods: the recordings for an object live as long as the object does.
#
# The class's program has a program for each object, whose function knows the object by a weak
# reference. Where objects come and go before theirs has paid, it is made after some calls only. What an attribute gives keeps the object alive, as Python's bound methods do, and nothing
# else does. The methods of programs themselves go straight to fast paths, or elsewhere.


cdef enum:
    MOST_WITHOUT_REFERENCES = 8  # objects that allow none
    FEW_CALLS = 4
    LATEST = 16


class WeakMethod:
    """A method of an object that it does not keep alive."""

    #: __func__: Callable[..., Any]
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
cdef class Owned:
    """What is kept for an object."""

    cdef object kept      # a weak reference to the object; where there can be none, it in a list
    cdef object program   # None: there is none yet
    cdef int n_calls      # without a program
    cdef bint was_used

    cdef bint is_used(self) except -1:
        """Whether its program has served more calls than it took to make it."""
        if not self.was_used and self.program is not None:
            self.was_used = self.program._pays
        return self.was_used


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

    cdef Owned owned
    cdef object function  # the program that stands in the class
    cdef object instance
    cdef object __weakref__

    def __init__(self):
        raise TypeError("a BoundProgram is an attribute of an object whose class has a Program")

    @property
    def __self__(self) -> object:
        return self.instance

    @property
    def __func__(self):
        """The program that stands in the class."""
        return self.function

    @property
    def __wrapped__(self) -> MethodType:
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

    def __getattribute__(self, name: str):
        if name in OWN:
            return PyObject_GenericGetAttr(self, name)
        cdef BoundProgram bound = <BoundProgram>self
        if bound.owned.program is None:
            if name in RUN_AS_IT_IS:
                return keeping(name, bound)
            if name.startswith("__"):  # its name, what it says of itself
                return getattr(bound.function, name)
        program = bound.program()
        attribute = getattr(program, name)
        is_method = getattr(attribute, "__self__", None) is program
        return keeping(bound, attribute) if is_method else attribute

    def vjp(self, /, *primals) -> tuple[Any, Callable[[Any], Any]]:
        value, pullback = self.program().vjp(*primals)
        return value, keeping(self, pullback)

    def _own_derivative(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]):
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
cdef class Objects:
    """The programs for objects, one for each; forgotten when the object is.

    Where those of the last objects were of no use, further objects have none for their first
    calls. Of objects that allow no weak references the last few are kept, with their programs.
    """

    cdef dict owned   # by the numbers of objects
    cdef list latest  # those whose programs were made last
    cdef int n_passed

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


cdef object bound_program(object function, object instance, Owned owned):
    """A program as the method of an object."""
    cdef BoundProgram bound = BoundProgram.__new__(BoundProgram)
    bound.owned = owned
    bound.function = function
    bound.instance = instance
    return bound


# --- methods of programs -------------------------------------------------------------------------

cdef object ZERO = 0
cdef dict NO_NAMES = {}


cdef class ProgramMethods:
    """The methods of a Program that are called most: calls of recent signatures go straight to the
    code; any other goes to `self._general`, with what it has missed there, if that is known.

    That has `run(what, args, kwargs, argnums, missed)`, `hvp`, `jvp` and `vjp`. Where this is a
    method of objects, subclasses have `_for_object(instance, n)`: the program of an object, after n
    runs of f; and `_run_for(instance, what, args, kwargs)`: a run of f, unless a program is needed.
    They are called if `_waits_for_objects`. `_pays` says whether recordings have served often.
    """

    cdef readonly FastPathTable _fast_paths
    cdef public object _general
    cdef Objects objects

    def __cinit__(self, *args, **kwargs):
        self._fast_paths = FastPathTable()
        self.objects = Objects()

    def __get__(self, instance, owner: type | None):
        """A program as a method: one for each object, whose arguments begin behind self."""
        if instance is None:
            return self
        cdef Owned owned = self.objects.of(instance)
        if owned is None:
            if self._waits_for_objects and self.objects.are_in_vain():
                owned = self.objects.add(instance)
            else:
                owned = self._own_program(instance)
        return bound_program(self, instance, owned)

    def _own_program(self, instance):
        """What is kept for an object, with its program."""
        cdef Owned owned = self.objects.add(instance)
        if owned.program is None:
            owned.program = self._for_object(instance, owned.n_calls)
            self.objects.note_program(owned)
        return owned

    def _forget_objects(self) -> None:
        self.objects = Objects()

    cdef inline object by_fast_path(self, Method method, tuple args, dict kwargs, object argnums):
        # f may drop them meanwhile
        cdef MethodSignatures paths = <MethodSignatures>PyList_GET_ITEM(self._fast_paths.of_methods, method)
        return paths.find_and_serve(args, kwargs, argnums)

    cdef object in_general(self, Method method, tuple args, dict kwargs, object argnums, object result):
        """What a method gives that is called like f, where no fast path does."""
        missed = result if type(result) is Missed else None
        return self._general.run(NAMES[method], args, kwargs, argnums, missed)

    def __call__(self, /, *args, **kwargs):
        """What f returns."""
        result = self.by_fast_path(VALUE, args, kwargs, ZERO)
        return self.in_general(VALUE, args, kwargs, ZERO, result) if is_missing(result) else result

    def value(self, /, *args, **kwargs):
        """What f returns, as a call gives it."""
        result = self.by_fast_path(VALUE, args, kwargs, ZERO)
        return self.in_general(VALUE, args, kwargs, ZERO, result) if is_missing(result) else result

    def into(self, /, *args, out, **kwargs):
        """What f returns, written into `out`: an array, or a tuple, list or dict of arrays, of the
        shapes of what f returns; it is also what this returns.

        A call that a recording serves makes no object. Arrays may be among the arguments. Where f
        raises, what is in them is undefined.

        Raises
        ------
        ValueError
            If an array has another shape than what f returns there, a dtype that cannot take it,
            or cannot be written to.
        TypeError
            If out has other containers than what f returns.
        """
        cdef MethodSignatures paths = <MethodSignatures>self._fast_paths.of_methods[<int>VALUE]
        if not paths.serve_into(args, kwargs, out):
            copy_into(out, self(*args, **kwargs), "out")
        return out

    def grad(self, /, *args, argnums: int | Sequence[int] = 0, **kwargs):
        """The gradient of the one number that f returns, as `cadiff.grad` gives it."""
        result = self.by_fast_path(GRAD, args, kwargs, argnums)
        return self.in_general(GRAD, args, kwargs, argnums, result) if is_missing(result) else result

    def value_and_grad(self, /, *args, argnums: int | Sequence[int] = 0, **kwargs):
        """Value and gradient, as `cadiff.value_and_grad` gives them."""
        result = self.by_fast_path(VALUE_AND_GRAD, args, kwargs, argnums)
        return self.in_general(VALUE_AND_GRAD, args, kwargs, argnums, result) if is_missing(result) else result

    def jacobian(self, /, *args, argnums: int | Sequence[int] = 0, **kwargs):
        """The Jacobian, as `cadiff.jacobian` gives it."""
        result = self.by_fast_path(JACOBIAN, args, kwargs, argnums)
        return self.in_general(JACOBIAN, args, kwargs, argnums, result) if is_missing(result) else result

    def _jacfwd(self, /, *args, argnums: int | Sequence[int] = 0, **kwargs):
        """The Jacobian, as `cadiff.jacfwd` gives it."""
        result = self.by_fast_path(JACFWD, args, kwargs, argnums)
        return self.in_general(JACFWD, args, kwargs, argnums, result) if is_missing(result) else result

    def hessian(self, /, *args, argnums: int | Sequence[int] = 0, **kwargs):
        """The Hessian of the one number that f returns, as `cadiff.hessian` gives it."""
        result = self.by_fast_path(HESSIAN, args, kwargs, argnums)
        return self.in_general(HESSIAN, args, kwargs, argnums, result) if is_missing(result) else result

    def hvp(self, first, v, /, *others, argnums: int = 0, **kwargs):
        """Hessian times vector: called `hvp(first argument, v, *others)`, as `cadiff.hvp` is."""
        result = self.by_fast_path(HVP, (first, v, *others), kwargs, argnums)
        if is_missing(result):
            return self._general.hvp(first, v, others, kwargs, argnums)
        return result

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Value and directional derivative, as `cadiff.jvp` gives them."""
        if (
            (type(primals) is tuple or type(primals) is list)
            and (type(tangents) is tuple or type(tangents) is list)
            and len(primals) == len(tangents)
        ):
            result = self.by_fast_path(JVP, (*primals, *tangents), NO_NAMES, ZERO)
            if not is_missing(result):
                return result
        return self._general.jvp(primals, tangents)

    def vjp(self, /, *primals) -> tuple[Any, Callable[[Any], Any]]:
        """Value and pullback, as `cadiff.vjp` gives them."""
        result = self.by_fast_path(VJP, primals, NO_NAMES, ZERO)
        if is_missing(result):
            return self._general.vjp(primals)
        return result
