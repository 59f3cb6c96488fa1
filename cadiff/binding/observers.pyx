"""What really runs while a function is at work: code of Python's, and functions of C.

CPython tells an Observer of each call in its thread, as it tells profilers. It asks once about
every code and every function of C that it comes upon; all it does besides is to look these up.
"""

import sys

cimport cython
from cpython.object cimport PyObject

from .generated.entries cimport CadTape
from .tape cimport Context


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
    """A context; subclasses say what to do with each code, function and error.

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
        cdef Observer observer
        former = None if self.before is None else (<Sight>self.before).former
        if not isinstance(former, Sight) or (<Sight>former).observer == NULL:
            return None
        observer = <Observer>(<Sight>former).observer
        return observer if observer.aside == NULL else None

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
