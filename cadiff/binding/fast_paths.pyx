"""Calls of programs that go straight to the code.

A Shortcut serves calls of one kind; some are kept for each method, so that several kinds may come in
turn, and recordings with other outcomes. A Detour leads calls of a kind that no recording serves
straight to f.
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
    exact_sequence, form_of, has_names, Part, Result, RESULT_ARRAY, result_from,
)

from .recording import value_and_grad
from .steps import CallError

cdef object MISSED = object()   # a call is not of this kind, or chooses otherwise
cdef object REFUSED = object()  # nor is it worth while to look for another shortcut
cdef object ZERO = 0
cdef dict NO_NAMES = {}


cdef enum:
    FEW_SHORTCUTS = 8    # for one method
    MOST_DETOURS = 8
    MOST_SKIPPED = 255   # calls of kinds that come and go, for which none is made
    FEW_STRAYS = 16      # of which one is recorded in the place of another recording, ...
    MANY_STRAYS = 1024   # ... or of so many, where recordings are of little use
    MOST_LONG_TRIES = 2  # of codes that call Python, each of which may take as long as f
    MOST_PASSED = 16     # calls that go to f before the shortcuts are asked again


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
    """Whether it is an int or a tuple of ints, which nobody can change."""
    return type(argnums) is int or (
        type(argnums) is tuple and all([type(k) is int for k in argnums])
    )


cdef bint is_same_choice(object argnums, object other) except -1:
    """Whether both name the same arguments; the other one is a choice."""
    if argnums is other:
        return True
    return is_choice(argnums) and type(argnums) is type(other) and argnums == other


cdef class Kind:
    """What calls of a method have in common."""

    cdef object argnums
    cdef tuple parts       # of positional arguments, then of those by keyword
    cdef tuple names       # of these
    cdef Py_ssize_t n_args
    cdef Py_ssize_t n_names
    cdef Py_ssize_t n_numbers  # that arguments are made of

    @cython.final
    cdef bint describe(self, tuple args, dict kwargs, object argnums, tuple first,
                       tuple last) except -1:
        """Be that of a call, if there are short ways for such calls. Arguments to differentiate by
        are the first ones, then come others, and the last ones; all but the others are numbers."""
        cdef Py_ssize_t k, n = len(args)
        cdef list parts = [None] * n
        if not is_choice(argnums):
            return False
        self.argnums = argnums
        self.names = tuple(sorted(kwargs))
        self.n_args = n
        self.n_names = len(kwargs)
        for k in (*first, *[k for k in range(n) if k not in first and k not in last]):
            parts[k] = form_of(args[k], k in first, &self.n_numbers)
        for name in self.names:
            parts.append(form_of(kwargs[name], False, &self.n_numbers))
        for k in last:
            parts[k] = form_of(args[k], True, &self.n_numbers)
        if None in parts or any([has_names(parts[k]) for k in last]):
            return False
        self.parts = tuple(parts)
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
        """Whether the arguments are of this kind; if so, their numbers are written."""
        cdef Py_ssize_t k, n = self.n_args
        cdef PyObject *found
        cdef object item
        for k in range(n):
            if not (<Part>PyTuple_GET_ITEM(self.parts, k)).take(
                <object>PyTuple_GET_ITEM(args, k), inputs
            ):
                return False
        for k in range(self.n_names):
            found = PyDict_GetItemWithError(kwargs, self.names[k])
            if found == NULL:
                return False
            item = <object>found
            if not (<Part>PyTuple_GET_ITEM(self.parts, n + k)).take(item, inputs):
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
cdef class Shortcut(Kind):
    """The code for calls of one kind, and what surrounds it."""

    cdef object program    # a Code or a MatrixPlan
    cdef Code code         # of it
    cdef MatrixPlan plan   # None, if the code gives all numbers
    cdef Result result
    cdef Pullback pullback  # if one is wanted, too: another one of its kind
    cdef bint is_whole     # the result of the plan is all its numbers, as one array
    cdef bint was_used

    cdef object call(self, tuple args, dict kwargs, object argnums):
        """The result; MISSED or REFUSED if there is none."""
        cdef double *room
        cdef double *results
        cdef double *places
        cdef long missed
        cdef Pullback pullback = None
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


cdef Shortcut new_shortcut(tuple args, dict kwargs, object argnums, tuple first, tuple last,
                           object program, object assemble):
    """None if there is no short way for calls like this one."""
    cdef Shortcut short = Shortcut.__new__(Shortcut)
    cdef Py_ssize_t n_numbers, n_results
    if not short.describe(args, kwargs, argnums, first, last):
        return None
    short.program = program
    if isinstance(program, MatrixPlan):
        short.plan = program
        short.code = short.plan.code
        n_numbers = short.plan.n_inputs()
        n_results = short.plan.size
        if short.plan.direct:
            short.plan = None
    else:
        short.code = program
        n_numbers = short.code.program.n_inputs
        n_results = short.code.program.n_results
    if short.n_numbers != n_numbers:
        return None
    short.result = result_from(assemble, n_results)
    if short.result is None:
        return None
    short.is_whole = (
        short.result.kind == RESULT_ARRAY
        and short.result.typenum == cnp.NPY_DOUBLE
        and short.result.size == short.result.width == n_results
    )
    return short


@cython.final
cdef class Strays:
    """Counts the calls of one key that no recording serves, while there may be no more of them.

    Now and then another recording is due, in the place of one that was of no use lately: the less
    often, the less use they all are.
    """

    cdef readonly bint is_due
    cdef int count
    cdef int most

    def __init__(self):
        self.most = FEW_STRAYS

    cpdef bint note(self):
        """One more; whether another recording is due."""
        self.count += 1
        self.is_due = self.count >= self.most
        return self.is_due

    cpdef void settle(self, Py_ssize_t uses):
        """There is another recording now, and meanwhile those there were have served some calls."""
        self.most = FEW_STRAYS if uses > self.count else min(2 * self.most, MANY_STRAYS)
        self.count = 0
        self.is_due = False


@cython.final
cdef class Detour(Kind):
    """To f as it is, for calls of one kind that no recording serves."""

    cdef object run     # run(args, kwargs)
    cdef Strays strays  # None: it is so for ever

    cdef object call(self, tuple args, dict kwargs, object argnums):
        if not self.fits(args, kwargs, argnums):
            return MISSED
        if self.strays is not None and self.strays.note():
            return REFUSED
        return self.run(args, kwargs)


@cython.final
cdef class Shortcuts:
    """Those for one method, the one that was used last in front."""

    cdef list known
    cdef Py_ssize_t most
    cdef list detours
    cdef int n_to_skip   # so many are not made, since those before were of no use
    cdef int n_skipped
    cdef int n_strays    # calls in a row that none served, and a detour did
    cdef int n_to_pass   # so many calls go there first, if they can

    def __init__(self, most=FEW_SHORTCUTS):
        self.known = []
        self.most = most
        self.detours = []

    cdef object call(self, tuple args, dict kwargs, object argnums):
        """The result by a shortcut; MISSED or REFUSED if there is none."""
        cdef list known = self.known
        cdef Shortcut short
        cdef object result
        cdef Py_ssize_t k = 0
        cdef CadTape *tape = cad_current_tape()
        if tape.hook != NULL or tape.guards != NULL:
            return REFUSED  # f may read what is recorded, beside its arguments
        if self.n_to_pass > 0:
            self.n_to_pass -= 1
            result = self.by_detour(args, kwargs, argnums)
            if result is not MISSED:
                return result
        while k < PyList_GET_SIZE(known):
            short = <Shortcut>PyList_GET_ITEM(known, k)
            if k == MOST_LONG_TRIES and short.code.steps:
                result = self.astray(args, kwargs, argnums)
                if result is not MISSED:
                    return result
            result = short.call(args, kwargs, argnums)
            if result is REFUSED:
                return result
            if result is not MISSED:
                short.was_used = True
                short.code.uses += 1
                self.n_strays = 0
                if k > 0:
                    self.bring_to_front(short, k)
                return result
            k += 1
        return self.astray(args, kwargs, argnums)

    cdef object astray(self, tuple args, dict kwargs, object argnums):
        """By a detour, since no shortcut serves; after many in a row more calls go there first."""
        cdef object result = self.by_detour(args, kwargs, argnums)
        if result is not MISSED:
            self.n_strays += self.n_strays < MOST_PASSED
            self.n_to_pass = max(0, 2 * self.n_strays - MOST_PASSED)
        return result

    cdef object by_detour(self, tuple args, dict kwargs, object argnums):
        cdef object detour, result
        for detour in self.detours:
            result = (<Detour>detour).call(args, kwargs, argnums)
            if result is not MISSED:
                return result
        return MISSED

    cdef int add_detour(self, tuple args, dict kwargs, object argnums, tuple first, tuple last,
                        Strays strays, object run) except -1:
        """Unless a recording may serve such calls that has no shortcut."""
        cdef Detour detour = Detour.__new__(Detour)
        if strays is not None and not any(
            [(<Kind>kind).fits(args, kwargs, argnums) for kind in self.known]
        ):
            return 0
        self.detours = [
            kind for kind in self.detours if not (<Kind>kind).fits(args, kwargs, argnums)
        ]
        if detour.describe(args, kwargs, argnums, first, last):
            detour.strays = strays
            detour.run = run
            if len(self.detours) >= MOST_DETOURS:
                self.detours.pop(0)
            self.detours.append(detour)
        return 0

    cdef int forget(self, programs) except -1:
        """Those to some programs."""
        self.known = [
            short for short in self.known
            if not any([program is (<Shortcut>short).program for program in programs])
        ]
        return 0

    cdef int add(self, tuple args, dict kwargs, object argnums, tuple first, tuple last,
                 object program, object assemble, Pullback pullback) except -1:
        cdef Shortcut short
        cdef Py_ssize_t k
        for k in range(len(self.known)):
            short = self.known[k]
            if short.is_for(program, args, kwargs, argnums):
                return self.bring_to_front(short, k)
        if self.n_skipped < self.n_to_skip:
            self.n_skipped += 1
            return 0
        short = new_shortcut(args, kwargs, argnums, first, last, program, assemble)
        if short is None:
            return 0
        short.pullback = pullback
        if len(self.known) >= self.most:
            short_lived = not (<Shortcut>self.known.pop()).was_used
            self.n_to_skip = min(MOST_SKIPPED, 2 * self.n_to_skip + 1) if short_lived else 0
            self.n_skipped = 0
        self.known.insert(0, short)
        return 0

    cdef int bring_to_front(self, Shortcut short, Py_ssize_t k) except -1:
        """Unless the list has changed meanwhile."""
        cdef list known = self.known
        if k < PyList_GET_SIZE(known) and known[k] is short:
            while k > 0:
                known[k] = known[k - 1]
                k -= 1
            known[0] = short
        return 0


@cython.final
cdef class Pullback:
    """From a cotangent of what f returned, at a point, to those of its arguments.

    What no shortcut serves is pull(inputs, u, note), which may call note(code, assemble): see
    `Calls._shorten`.
    """

    cdef object pull
    cdef cnp.ndarray inputs
    cdef Shortcuts shortcuts  # those of all that are of one kind

    def __init__(self, pull, cnp.ndarray inputs):
        self.pull = pull
        self.inputs = inputs
        self.shortcuts = Shortcuts()

    cdef Pullback at(self, const double *inputs):
        """The same at another point."""
        cdef Pullback other = Pullback.__new__(Pullback)
        other.pull = self.pull
        other.shortcuts = self.shortcuts
        other.inputs = empty_like(self.inputs)
        memcpy(
            cnp.PyArray_DATA(other.inputs), inputs,
            cnp.PyArray_SIZE(other.inputs) * sizeof(double),
        )
        return other

    def __call__(self, u, /):
        cdef tuple args = (self.inputs, u)
        result = self.shortcuts.call(args, NO_NAMES, ZERO)
        if result is not MISSED and result is not REFUSED:
            return result

        def note(program, assemble):
            self.shortcuts.add(args, NO_NAMES, ZERO, (), (1,), program, assemble, None)

        return self.pull(self.inputs, u, note)


cdef class Calls:
    """The methods of a Program that are called most: calls of the kinds that were the last ones go
    straight to the code; any other goes to `self._run`, or to the method with an underscore.

    Subclasses have `_run(what, args, kwargs, argnums)`, `_hvp`, `_jvp` and `_vjp`.
    """

    cdef list shortcuts  # for each method
    cdef object most     # for each of these

    def __cinit__(self, *args, **kwargs):
        self._keep_shortcuts(FEW_SHORTCUTS)

    def _keep_shortcuts(self, most):
        self.most = most
        self._forget_shortcuts()

    def _forget_shortcuts(self):
        self.shortcuts = [Shortcuts(self.most) for _ in range(<int>N_METHODS)]

    def _forget_shortcuts_to(self, programs):
        for shortcuts in self.shortcuts:
            (<Shortcuts>shortcuts).forget(programs)

    def _detour(self, str what, tuple args, dict kwargs, argnums, tuple first, tuple last,
                Strays strays, run):
        """From now on calls like this one of a method are run(args, kwargs), if no shortcut serves
        them, and until another recording is due."""
        (<Shortcuts>self.shortcuts[<int>METHODS[what]]).add_detour(
            args, kwargs, argnums, first, last, strays, run
        )

    def _shorten(self, str what, tuple args, dict kwargs, argnums, tuple first, tuple last,
                 program, assemble, pullback=None):
        """From now on calls like this one of a method are for a Code or a MatrixPlan: `assemble`
        makes the result of its numbers. See Kind.describe."""
        (<Shortcuts>self.shortcuts[<int>METHODS[what]]).add(
            args, kwargs, argnums, first, last, program, assemble, pullback
        )

    cdef inline object shortly(self, Method method, tuple args, dict kwargs, object argnums):
        cdef Shortcuts own = <Shortcuts>PyList_GET_ITEM(self.shortcuts, method)  # f may drop it
        return own.call(args, kwargs, argnums)

    def __call__(self, /, *args, **kwargs):
        """What f returns."""
        result = self.shortly(VALUE, args, kwargs, ZERO)
        if result is MISSED or result is REFUSED:
            return self._run("value", args, kwargs, 0)
        return result

    def value(self, /, *args, **kwargs):
        """What f returns: the same as a call."""
        result = self.shortly(VALUE, args, kwargs, ZERO)
        if result is MISSED or result is REFUSED:
            return self._run("value", args, kwargs, 0)
        return result

    def grad(self, /, *args, argnums=0, **kwargs):
        """The gradient of the one number that f returns, as `cadiff.grad` gives it."""
        result = self.shortly(GRAD, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("grad", args, kwargs, argnums)
        return result

    def value_and_grad(self, /, *args, argnums=0, **kwargs):
        """Value and gradient, as `cadiff.value_and_grad` gives them."""
        result = self.shortly(VALUE_AND_GRAD, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("value_and_grad", args, kwargs, argnums)
        return result

    def jacobian(self, /, *args, argnums=0, **kwargs):
        """The Jacobian, as `cadiff.jacobian` gives it."""
        result = self.shortly(JACOBIAN, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("jacobian", args, kwargs, argnums)
        return result

    def hessian(self, /, *args, argnums=0, **kwargs):
        """The Hessian of the one number that f returns, as `cadiff.hessian` gives it."""
        result = self.shortly(HESSIAN, args, kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._run("hessian", args, kwargs, argnums)
        return result

    def hvp(self, first, v, /, *others, argnums=0, **kwargs):
        """Hessian times vector: called `hvp(first argument, v, *others)`, as `cadiff.hvp` is."""
        result = self.shortly(HVP, (first, v, *others), kwargs, argnums)
        if result is MISSED or result is REFUSED:
            return self._hvp(first, v, others, kwargs, argnums)
        return result

    def jvp(self, primals, tangents):
        """Value and directional derivative, as `cadiff.jvp` gives them."""
        if (
            exact_sequence(primals) is not None
            and exact_sequence(tangents) is not None
            and len(primals) == len(tangents)
        ):
            result = self.shortly(JVP, (*primals, *tangents), NO_NAMES, ZERO)
            if result is not MISSED and result is not REFUSED:
                return result
        return self._jvp(primals, tangents)

    def vjp(self, /, *primals):
        """Value and pullback, as `cadiff.vjp` gives them."""
        result = self.shortly(VJP, primals, NO_NAMES, ZERO)
        if result is MISSED or result is REFUSED:
            return self._vjp(primals)
        return result
