"""Calls of programs that go straight to the code.

A FastPath serves calls of one signature. Several are kept for each method, so that calls may
alternate between signatures, and between recordings with other outcomes. A Fallback hands calls of
a signature that no recording serves straight to f.
"""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Size
from cpython.exc cimport PyErr_Clear, PyErr_ExceptionMatches
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_program cimport *
from .c_tape cimport *
from .tape cimport empty_like
from .codes cimport Code
from .sparse cimport MatrixPlan
from .signatures cimport (
    node_of, has_names, ArgumentNode, ResultNode, RESULT_ARRAY, result_from,
)

from .watches cimport Watch

from .recording import value_and_grad
from .steps import CallError

cdef object MISSED = object()   # a call has another signature, or chooses otherwise
cdef object REFUSED = object()  # and looking for another fast path is not worthwhile
cdef object ZERO = 0
cdef dict NO_NAMES = {}


cdef enum:
    FEW_FAST_PATHS = 8    # for one method
    MOST_FALLBACKS = 8
    MOST_SKIPPED = 255   # calls of signatures that come and go, for which none is made
    FEW_MISSES = 16      # of which one is recorded in the place of another recording, ...
    MANY_MISSES = 1024   # ... or of so many, where recordings are of little use
    MOST_LONG_TRIES = 2  # of codes that call Python, each of which may take as long as f
    MOST_PASSED = 16     # calls that go to f before the fast paths are asked again


cdef enum Method:
    VALUE
    GRAD
    VALUE_AND_GRAD
    JACOBIAN
    HESSIAN
    HVP
    JVP
    VJP
    N_METHODS


cdef dict METHODS = {
    "value": VALUE, "grad": GRAD, "value_and_grad": VALUE_AND_GRAD, "jacobian": JACOBIAN,
    "hessian": HESSIAN, "hvp": HVP, "jvp": JVP, "vjp": VJP,
}


cdef bint is_choice(object argnums) except -1:
    """Whether it is an int or a tuple of ints, which cannot be changed."""
    return type(argnums) is int or (
        type(argnums) is tuple and all([type(k) is int for k in argnums])
    )


cdef bint is_same_choice(object argnums, object other) except -1:
    """Whether both name the same arguments; the other one is a choice."""
    if argnums is other:
        return True
    return is_choice(argnums) and type(argnums) is type(other) and argnums == other


cdef class Signature:
    """What calls of a method have in common."""

    cdef object argnums
    cdef tuple nodes       # of positional arguments, then of those by keyword
    cdef tuple names       # of these
    cdef Py_ssize_t n_args
    cdef Py_ssize_t n_names
    cdef Py_ssize_t n_numbers  # that arguments are made of

    @cython.final
    cdef bint describe(self, tuple args, dict kwargs, object argnums, tuple first,
                       tuple last) except -1:
        """Take the signature of a call; False if there can be no fast path for such calls.

        `first` and `last` are the arguments whose numbers come first and last among the inputs:
        those to differentiate by, and directions. They consist of numbers; others need not.
        """
        cdef Py_ssize_t k, n = len(args)
        cdef list nodes = [None] * n
        if not is_choice(argnums):
            return False
        self.argnums = argnums
        self.names = tuple(sorted(kwargs))
        self.n_args = n
        self.n_names = len(kwargs)
        for k in (*first, *[k for k in range(n) if k not in first and k not in last]):
            nodes[k] = node_of(args[k], k in first, &self.n_numbers)
        for name in self.names:
            nodes.append(node_of(kwargs[name], False, &self.n_numbers))
        for k in last:
            nodes[k] = node_of(args[k], True, &self.n_numbers)
        if None in nodes or any([has_names(nodes[k]) for k in last]):
            return False
        self.nodes = tuple(nodes)
        return True

    @cython.final
    cdef inline bint is_of(self, tuple args, dict kwargs, object argnums) except -1:
        return (
            PyTuple_GET_SIZE(args) == self.n_args
            and PyDict_Size(kwargs) == self.n_names
            and (argnums is self.argnums or is_same_choice(argnums, self.argnums))
        )

    @cython.final
    cdef inline bint take(self, tuple args, dict kwargs, double *inputs) except -1:
        """Whether the arguments have this signature; if so, their numbers are written."""
        cdef Py_ssize_t k, n = self.n_args
        cdef PyObject *found
        cdef object item
        for k in range(n):
            if not (<ArgumentNode>PyTuple_GET_ITEM(self.nodes, k)).take(
                <object>PyTuple_GET_ITEM(args, k), inputs
            ):
                return False
        for k in range(self.n_names):
            found = PyDict_GetItemWithError(kwargs, self.names[k])
            if found == NULL:
                return False
            item = <object>found
            if not (<ArgumentNode>PyTuple_GET_ITEM(self.nodes, n + k)).take(item, inputs):
                return False
        return True

    @cython.final
    cdef bint fits(self, tuple args, dict kwargs, object argnums) except -1:
        cdef cnp.npy_intp n = self.n_numbers
        cdef cnp.ndarray inputs
        if not self.is_of(args, kwargs, argnums):
            return False
        inputs = cnp.PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)
        return self.take(args, kwargs, <double *>cnp.PyArray_DATA(inputs))


@cython.final
cdef class FastPath(Signature):
    """The code for calls of one signature, and what surrounds it."""

    cdef object program    # a Code or a MatrixPlan
    cdef Code code         # of it
    cdef MatrixPlan plan   # None, if the code gives all numbers
    cdef ResultNode result
    cdef Watch watch       # what the recording has read beside arguments; None: nothing
    cdef ProgramPullback pullback  # for calls that return one, too: theirs are made from it
    cdef bint is_whole     # the result of the plan is all its numbers, as one array
    cdef bint was_used

    cdef object call(self, tuple args, dict kwargs, object argnums):
        """The result; MISSED or REFUSED if there is none."""
        cdef double *room
        cdef double *results
        cdef double *places
        cdef long missed
        cdef ProgramPullback pullback = None
        if not self.is_of(args, kwargs, argnums):
            return MISSED
        if self.plan is not None:
            return self.call_plan(args, kwargs)
        cdef Code code = self.code
        room = code.take_room()
        try:
            places = cad_program_places(code.program, 1, room)
            if not self.take(args, kwargs, places):
                return MISSED
            if self.watch is not None and not self.watch.holds():
                return MISSED
            if self.pullback is not None:
                pullback = self.pullback.at(places)
            if code.is_long:
                with nogil:
                    missed = cad_program_run(code.program, room)
            else:
                missed = cad_program_run(code.program, room)
            if missed == -1:
                results = room + cad_program_room(code.program, 1)
                cad_program_read(code.program, room, results)
                made = self.result.make(results)
                return made if pullback is None else (made, pullback)
        finally:
            code.give_back(room)
        if missed == CAD_CALL_FAILED:
            if not PyErr_ExceptionMatches(CallError):
                check(CAD_RAISED)
            PyErr_Clear()  # f itself will raise what there is to raise
            return REFUSED
        return MISSED

    cdef object call_plan(self, tuple args, dict kwargs):
        cdef cnp.npy_intp n = self.n_numbers
        cdef cnp.ndarray inputs = cnp.PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)
        cdef object data
        if not self.take(args, kwargs, <double *>cnp.PyArray_DATA(inputs)):
            return MISSED
        if self.watch is not None and not self.watch.holds():
            return MISSED
        try:
            data = self.plan.run(inputs)
        except CallError:
            return REFUSED
        if not cnp.PyArray_CheckExact(data):
            return MISSED
        if self.is_whole:
            return data.reshape([self.result.lengths[k] for k in range(self.result.ndim)])
        return self.result.make(<const double *>cnp.PyArray_DATA(data))

    cdef bint is_for(self, object program, tuple args, dict kwargs, object argnums) except -1:
        return program is self.program and self.fits(args, kwargs, argnums)


cdef FastPath new_fast_path(tuple args, dict kwargs, object argnums, tuple first, tuple last,
                           object program, object assemble):
    """The fast path for calls like this one; None if there can be none."""
    cdef FastPath path = FastPath.__new__(FastPath)
    cdef Py_ssize_t n_numbers, n_results
    if not path.describe(args, kwargs, argnums, first, last):
        return None
    path.program = program
    if isinstance(program, MatrixPlan):
        path.plan = program
        path.code = path.plan.code
        n_numbers = path.plan.n_inputs()
        n_results = path.plan.size
        if path.plan.direct:
            path.plan = None
    else:
        path.code = program
        n_numbers = path.code.program.n_inputs
        n_results = path.code.program.n_results
    if path.n_numbers != n_numbers:
        return None
    path.result = result_from(assemble, n_results)
    if path.result is None:
        return None
    path.is_whole = (
        path.result.kind == RESULT_ARRAY
        and path.result.typenum == cnp.NPY_DOUBLE
        and path.result.size == path.result.width == n_results
    )
    return path


@cython.final
cdef class MissCount:
    """Counts the calls of one key that no recording serves, while there may be no more of them.

    Now and then another recording is due, in the place of one that was of no use lately: the less
    often, the less use they all are.
    """

    cdef readonly bint is_due
    cdef int count
    cdef int most

    def __init__(self):
        self.most = FEW_MISSES

    cpdef bint note(self):
        """One more; whether another recording is due."""
        self.count += 1
        self.is_due = self.count >= self.most
        return self.is_due

    cpdef void restart(self, Py_ssize_t uses):
        """There is another recording now; the former ones have served `uses` calls meanwhile."""
        self.most = FEW_MISSES if uses > self.count else min(2 * self.most, MANY_MISSES)
        self.count = 0
        self.is_due = False


@cython.final
cdef class Fallback(Signature):
    """Runs f as it is, for calls of one signature that no recording serves."""

    cdef object run     # run(args, kwargs)
    cdef MissCount misses  # None: no recording is ever due

    cdef object call(self, tuple args, dict kwargs, object argnums):
        if not self.fits(args, kwargs, argnums):
            return MISSED
        if self.misses is not None and self.misses.note():
            return REFUSED
        return self.run(args, kwargs)


@cython.final
cdef class FastPaths:
    """The fast paths and fallbacks of one method; the fast path used last comes first."""

    cdef list known
    cdef Py_ssize_t most
    cdef list fallbacks
    cdef int n_to_skip   # so many are not made, since those before were of no use
    cdef int n_skipped
    cdef int n_misses    # calls in a row that none served, and a fallback did
    cdef int n_to_pass   # so many calls go there first, if they can

    def __init__(self, most=FEW_FAST_PATHS):
        self.known = []
        self.most = most
        self.fallbacks = []

    cdef object call(self, tuple args, dict kwargs, object argnums):
        """The result by a fast path; MISSED or REFUSED if there is none."""
        cdef list known = self.known
        cdef FastPath path
        cdef object result
        cdef Py_ssize_t k = 0
        cdef CadTape *tape = cad_current_tape()
        if tape.hook != NULL or tape.guards != NULL:
            return REFUSED  # f may read what is recorded, beside its arguments
        if self.n_to_pass > 0:
            self.n_to_pass -= 1
            result = self.by_fallback(args, kwargs, argnums)
            if result is not MISSED:
                return result
        while k < PyList_GET_SIZE(known):
            path = <FastPath>PyList_GET_ITEM(known, k)
            if k == MOST_LONG_TRIES and path.code.steps:
                result = self.after_miss(args, kwargs, argnums)
                if result is not MISSED:
                    return result
            result = path.call(args, kwargs, argnums)
            if result is REFUSED:
                return result
            if result is not MISSED:
                path.was_used = True
                path.code.uses += 1
                self.n_misses = 0
                if k > 0:
                    self.bring_to_front(path, k)
                return result
            k += 1
        return self.after_miss(args, kwargs, argnums)

    cdef object after_miss(self, tuple args, dict kwargs, object argnums):
        """The result by a fallback, as no fast path serves; after many such calls in a row,
        further calls try the fallbacks first."""
        cdef object result = self.by_fallback(args, kwargs, argnums)
        if result is not MISSED:
            self.n_misses += self.n_misses < MOST_PASSED
            self.n_to_pass = max(0, 2 * self.n_misses - MOST_PASSED)
        return result

    cdef object by_fallback(self, tuple args, dict kwargs, object argnums):
        cdef object fallback, result
        for fallback in self.fallbacks:
            result = (<Fallback>fallback).call(args, kwargs, argnums)
            if result is not MISSED:
                return result
        return MISSED

    cdef int add_fallback(self, tuple args, dict kwargs, object argnums, tuple first, tuple last,
                        MissCount misses, object run) except -1:
        """Add a fallback, unless a recording without a fast path may serve such calls."""
        cdef Fallback fallback = Fallback.__new__(Fallback)
        if misses is not None and not any(
            [(<Signature>path).fits(args, kwargs, argnums) for path in self.known]
        ):
            return 0
        self.fallbacks = [
            other for other in self.fallbacks
            if not (<Signature>other).fits(args, kwargs, argnums)
        ]
        if fallback.describe(args, kwargs, argnums, first, last):
            fallback.misses = misses
            fallback.run = run
            if len(self.fallbacks) >= MOST_FALLBACKS:
                self.fallbacks.pop(0)
            self.fallbacks.append(fallback)
        return 0

    cdef int forget(self, programs) except -1:
        """Drop the fast paths to some programs."""
        self.known = [
            path for path in self.known
            if not any([program is (<FastPath>path).program for program in programs])
        ]
        return 0

    cdef int add(self, tuple args, dict kwargs, object argnums, tuple first, tuple last,
                 object program, object assemble, Watch watch,
                 ProgramPullback pullback) except -1:
        cdef FastPath path
        cdef Py_ssize_t k
        for k in range(len(self.known)):
            path = self.known[k]
            if path.is_for(program, args, kwargs, argnums):
                return self.bring_to_front(path, k)
        if self.n_skipped < self.n_to_skip:
            self.n_skipped += 1
            return 0
        path = new_fast_path(args, kwargs, argnums, first, last, program, assemble)
        if path is None:
            return 0
        path.watch = watch
        path.pullback = pullback
        if len(self.known) >= self.most:
            short_lived = not (<FastPath>self.known.pop()).was_used
            self.n_to_skip = min(MOST_SKIPPED, 2 * self.n_to_skip + 1) if short_lived else 0
            self.n_skipped = 0
        self.known.insert(0, path)
        return 0

    cdef int bring_to_front(self, FastPath path, Py_ssize_t k) except -1:
        """Move a fast path to the front, unless the list has changed meanwhile."""
        cdef list known = self.known
        if k < PyList_GET_SIZE(known) and known[k] is path:
            while k > 0:
                known[k] = known[k - 1]
                k -= 1
            known[0] = path
        return 0


@cython.final
cdef class ProgramPullback:
    """From a cotangent of what f returned, at a point, to those of its arguments.

    A call that no fast path serves is pull(inputs, u, note), which may call note(code, assemble):
    see `Calls._add_fast_path`.
    """

    cdef object pull
    cdef cnp.ndarray inputs
    cdef FastPaths fast_paths  # shared by the pullbacks of one recording

    def __init__(self, pull, cnp.ndarray inputs):
        self.pull = pull
        self.inputs = inputs
        self.fast_paths = FastPaths()

    cdef ProgramPullback at(self, const double *inputs):
        """This pullback at another point; both share their fast paths."""
        cdef ProgramPullback other = ProgramPullback.__new__(ProgramPullback)
        other.pull = self.pull
        other.fast_paths = self.fast_paths
        other.inputs = empty_like(self.inputs)
        memcpy(
            cnp.PyArray_DATA(other.inputs), inputs,
            cnp.PyArray_SIZE(other.inputs) * sizeof(double),
        )
        return other

    def __call__(self, u, /):
        cdef tuple args = (self.inputs, u)
        result = self.fast_paths.call(args, NO_NAMES, ZERO)
        if result is not MISSED and result is not REFUSED:
            return result

        def note(program, assemble):
            self.fast_paths.add(args, NO_NAMES, ZERO, (), (1,), program, assemble, None, None)

        return self.pull(self.inputs, u, note)


cdef class Calls:
    """The methods of a Program that are called most: calls of recent signatures go straight to the
    code; any other goes to `self._run`, or to the method with an underscore.

    Subclasses have `_run(what, args, kwargs, argnums)`, `_hvp`, `_jvp` and `_vjp`.
    """

    cdef list fast_paths  # for each method
    cdef object most     # for each of these

    def __cinit__(self, *args, **kwargs):
        self._keep_fast_paths(FEW_FAST_PATHS)

    def _keep_fast_paths(self, most):
        self.most = most
        self._forget_fast_paths()

    def _forget_fast_paths(self):
        self.fast_paths = [FastPaths(self.most) for _ in range(<int>N_METHODS)]

    def _forget_fast_paths_to(self, programs):
        for fast_paths in self.fast_paths:
            (<FastPaths>fast_paths).forget(programs)

    def _add_fallback(self, str what, tuple args, dict kwargs, argnums, tuple first, tuple last,
                MissCount misses, run):
        """From now on run(args, kwargs) for calls of a method like this one that no fast path
        serves, until another recording is due."""
        (<FastPaths>self.fast_paths[<int>METHODS[what]]).add_fallback(
            args, kwargs, argnums, first, last, misses, run
        )

    def _add_fast_path(self, str what, tuple args, dict kwargs, argnums, tuple first, tuple last,
                 program, assemble, watch, pullback=None):
        """From now on calls of a method like this one run a Code or a MatrixPlan, of whose numbers
        `assemble` makes the result, as long as what `watch` looks at is as it was. See
        Signature.describe."""
        (<FastPaths>self.fast_paths[<int>METHODS[what]]).add(
            args, kwargs, argnums, first, last, program, assemble, watch, pullback
        )

    cdef inline object by_fast_path(self, Method method, tuple args, dict kwargs, object argnums):
        cdef FastPaths own = <FastPaths>PyList_GET_ITEM(self.fast_paths, method)  # f may drop it
        return own.call(args, kwargs, argnums)

    def __call__(self, /, *args, **kwargs):
        """What f returns."""
        result = self.by_fast_path(VALUE, args, kwargs, ZERO)
        if result is MISSED or result is REFUSED:
            return self._run("value", args, kwargs, 0)
        return result

    def value(self, /, *args, **kwargs):
        """What f returns, as a call gives it."""
        result = self.by_fast_path(VALUE, args, kwargs, ZERO)
        if result is MISSED or result is REFUSED:
            return self._run("value", args, kwargs, 0)
        return result

    def grad(self, /, *args, argnums=0, **kwargs):
        """The gradient of the one number that f returns, as `cadiff.grad` gives it."""
        result = self.by_fast_path(GRAD, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("grad", args, kwargs, argnums)
        return result

    def value_and_grad(self, /, *args, argnums=0, **kwargs):
        """Value and gradient, as `cadiff.value_and_grad` gives them."""
        result = self.by_fast_path(VALUE_AND_GRAD, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("value_and_grad", args, kwargs, argnums)
        return result

    def jacobian(self, /, *args, argnums=0, **kwargs):
        """The Jacobian, as `cadiff.jacobian` gives it."""
        result = self.by_fast_path(JACOBIAN, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("jacobian", args, kwargs, argnums)
        return result

    def hessian(self, /, *args, argnums=0, **kwargs):
        """The Hessian of the one number that f returns, as `cadiff.hessian` gives it."""
        result = self.by_fast_path(HESSIAN, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("hessian", args, kwargs, argnums)
        return result

    def hvp(self, first, v, /, *others, argnums=0, **kwargs):
        """Hessian times vector: called `hvp(first argument, v, *others)`, as `cadiff.hvp` is."""
        result = self.by_fast_path(HVP, (first, v, *others), kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._hvp(first, v, others, kwargs, argnums)
        return result

    def jvp(self, primals, tangents):
        """Value and directional derivative, as `cadiff.jvp` gives them."""
        if (
            (type(primals) is tuple or type(primals) is list)
            and (type(tangents) is tuple or type(tangents) is list)
            and len(primals) == len(tangents)
        ):
            result = self.by_fast_path(JVP, (*primals, *tangents), NO_NAMES, ZERO)
            if result is not MISSED and result is not REFUSED:
                return result
        return self._jvp(primals, tangents)

    def vjp(self, /, *primals):
        """Value and pullback, as `cadiff.vjp` gives them."""
        result = self.by_fast_path(VJP, primals, NO_NAMES, ZERO)
        if result is MISSED or result is REFUSED:
            return self._vjp(primals)
        return result
