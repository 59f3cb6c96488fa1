"""Functions as the namespaces offer them: NumPy's and SciPy's own, unless there is a number with
derivatives among the arguments. Most programs consist of calls of these, so they are found by
way of the vectorcall protocol, which makes neither tuples nor dicts.
"""

from types import MethodType

import numpy as np

cimport cython
from cpython.object cimport PyObject

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_python cimport *
from .atoms cimport carries
from .complexes cimport complex_function, holds_complex
from .guards cimport call_named

from .atoms import plain_constants
from .forward import readable_values


cdef void enable_vectorcall(object instance, void *member):
    """Tell Python which member of the instances of a type is to be called."""
    cdef PyTypeObject *type_ = Py_TYPE(instance)
    type_.tp_vectorcall_offset = <char *>member - <char *><PyObject *>instance
    type_.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL


@cython.final
cdef class DispatchedFunction:
    """A function of NumPy's or SciPy's that knows numbers with derivatives.

    function: what is called if an argument carries a derivative. original: what else is called.
    joined: what is asked before about one argument that is a list, and may answer NotImplemented
    """

    cdef vectorcallfunc call
    cdef object function
    cdef object original
    cdef object joined
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.call = <vectorcallfunc>call_function

    def __init__(self, function, original, joined=None):
        self.function = function
        self.original = original
        self.joined = joined

    def __call__(self, *args, **kwargs):
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
            found = called.joined(<object>args[0])
            if found is None:
                return called.original(<object>args[0])
            if found is not NotImplemented:
                return found
    if names is not NULL:
        n += len(<object>names)
    for i in range(n):
        if carries(<object>args[i]):
            return call_carrying(called, args, nargsf, names)
    return PyObject_Vectorcall(called.original, args, nargsf, names)


cdef object call_carrying(
    DispatchedFunction called, PyObject *const *args, size_t nargsf, PyObject *names
):
    """Call what takes numbers with derivatives; what it refuses of constants goes to NumPy."""
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    try:
        if has_complex(args, n if names is NULL else n + len(<object>names)):
            return in_complex(called.original, args, nargsf, names)
        if cad_guarding > 0:
            return call_named(called.function, called, args, nargsf, names)
        return PyObject_Vectorcall(called.function, args, nargsf, names)
    except TypeError:
        named = () if names is NULL else <object>names
        found = plain_constants((
            [<object>args[i] for i in range(n)],
            {name: <object>args[n + i] for i, name in enumerate(named)},
        ))
        if found is None:
            raise
    return called.original(*found[0], **found[1])


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
    found = readable_values((args, kwargs))
    return NotImplemented if found is None else function(*found[0], **found[1])


cdef bint has_complex(PyObject *const *args, Py_ssize_t n) except -1:
    """Whether there is a complex number among arguments, or in lists of them."""
    cdef Py_ssize_t i
    for i in range(n):
        if holds_complex(<object>args[i]):
            return True
    return False


cdef object in_complex(object original, PyObject *const *args, size_t nargsf, PyObject *names):
    """What a function comes to where an argument is a complex number."""
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    positional = tuple([<object>args[i] for i in range(n)])
    named = {} if names is NULL else {
        name: <object>args[n + i] for i, name in enumerate(<object>names)
    }
    return complex_function(original, positional, named)


@cython.final
cdef class Elementwise:
    """A ufunc of NumPy's that finds numbers with derivatives faster than NumPy does.

    Called with numbers it is the operation of the table; called in any other way it is the ufunc,
    whose attributes and methods it has.

    ufunc: the ufunc. join: what lists and arrays of objects have to pass first.
    """

    cdef vectorcallfunc call
    cdef object ufunc
    cdef object join
    cdef int op
    cdef int arity
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.call = <vectorcallfunc>call_elementwise

    def __init__(self, ufunc, join):
        self.ufunc = ufunc
        self.join = join
        self.op = cad_find_op(ufunc)
        self.arity = ufunc.nin

    def __call__(self, *args, **kwargs):
        return PyVectorcall_Call(self, args, kwargs)

    def __getattr__(self, name):
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
            joined = [called.join(<object>args[i]) for i in range(n)]
            named = {} if names is NULL else {
                name: <object>args[n + i] for i, name in enumerate(<object>names)
            }
            return called.ufunc(*joined, **named)
    return PyObject_Vectorcall(called.ufunc, args, nargsf, names)


cdef bint is_listed(object x):
    """Whether something is a list, a tuple or an array of objects."""
    return isinstance(x, (list, tuple)) or (
        cnp.PyArray_Check(x) and cnp.PyArray_TYPE(x) == cnp.NPY_OBJECT
    )


cdef DispatchedFunction any_function = DispatchedFunction(None, None)
cdef Elementwise any_elementwise = Elementwise(np.add, None)
enable_vectorcall(any_function, &any_function.call)
enable_vectorcall(any_elementwise, &any_elementwise.call)
