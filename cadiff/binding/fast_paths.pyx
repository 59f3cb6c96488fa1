"""Calls of programs that go straight to the code.

A Signature is what calls of a method have in common. It has a FastPath for each recording: code, and
how a result is made of its numbers. A run that meets an unrecorded outcome tells which other paths
may serve. If none does, and nothing is to be recorded, f is run eagerly.
"""

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.exc cimport PyErr_Clear, PyErr_ExceptionMatches
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_python cimport PyDict_GET_SIZE
from .generated.entries cimport cad_are_finite
from .generated.program cimport *
from .generated.tape cimport *
from .tape cimport empty_like
from .codes cimport Code
from .sparse cimport MatrixPlan
from .calls cimport Backoff, Call, meets, Missed, MOST_IN_VAIN, Trust
from .signatures cimport (
    ask_for_no_more, cost_of, forget_references, has_names, is_same_name, node_of, refer,
    SignatureNode, Taken,
)
from .results cimport (
    find_ready, lend, n_referred_inputs, RESULT_ARRAY, result_from, ResultNode,
)

from .watches cimport Watch

from .gradients import value_and_grad
from .rules import CallError

cdef object MISSED = object()   # a call has another signature
cdef object REFUSED = object()  # it has this one, but no recording at hand serves
cdef object ZERO = 0
cdef dict NO_NAMES = {}


cdef enum:
    MOST_SIGNATURES = 256  # of one method
    FEW_SIGNATURES = 6   # that are tried, where that was in vain for many calls
    MOST_ARGUMENTS = 256
    MOST_DESCRIBED = 1 << 24  # results: to describe more takes longer than many calls gain
    MOST_OF_MATRIX = 1 << 18  # which are few times what they are made of


cdef tuple NAMES = (
    "value", "grad", "value_and_grad", "jacobian", "hessian", "hvp", "jvp", "vjp", "jacfwd",
)


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


cdef struct Miss:
    # Where a run met another outcome than was recorded: the guard (-1: it is not known), and the
    # outcome.
    long guard
    double outcome


@cython.final
cdef class Signature:
    """What calls of a method have in common, and what serves them."""

    cdef list paths      # of the recordings at hand; the first one is tried first
    cdef FastPath latest # which has served where the first one did not
    cdef FastPath longest  # knows most outcomes; None: it has to be looked for
    cdef object fallback # fallback(args, kwargs) runs f eagerly; None: the general path decides
    cdef Backoff backoff
    cdef object argnums
    cdef object lifted     # arrays of integers that are inputs
    cdef tuple nodes       # of positional arguments, then of those by keyword
    cdef tuple names       # of these
    cdef bytes order       # in which positional arguments are looked at: what is told at once first
    cdef Py_ssize_t n_args
    cdef Py_ssize_t n_names
    cdef Py_ssize_t n_numbers  # that arguments are made of
    cdef Py_ssize_t n_pointers # places behind them, for addresses
    cdef Code referring        # whose inputs are referred to; None: all are copied

    @cython.final
    cdef bint describe(self, Call call, tuple args, object argnums, tuple last,
                       bint whole) except -1:
        """Take the signature of a call of f by a method; False if no later call can be known by it.

        `args` are the positional arguments of the method. Those that `last` names are directions,
        whose numbers come last among the inputs; the others are f's. If f gets its arguments `whole`,
        as for values, it sees all attributes of dataclasses.
        """
        cdef Py_ssize_t k, n = len(args)
        cdef Taken taken = Taken()
        cdef list nodes
        if not is_choice(argnums) or n > MOST_ARGUMENTS or not call.taken.is_known:
            return False
        taken.numbers = call.taken.numbers
        nodes = list(call.nodes_of_its_own())
        for k in last:
            nodes.insert(k, node_of(args[k], True, taken))
            if has_names(nodes[k]):
                return False
        if taken.is_refused or not taken.is_known:
            return False
        self.argnums = argnums
        self.lifted = call.taken.lifted
        self.names = call.names
        self.n_args = n
        self.n_names = len(call.names)
        self.nodes = tuple(nodes)
        if whole:
            ask_for_no_more(self.nodes)
        costs = sorted([(cost_of(nodes[k]), k) for k in range(n)])
        self.order = bytes([k for _, k in costs])
        self.n_numbers = taken.numbers
        return True

    @cython.final
    cdef inline bint is_of(self, tuple args, dict kwargs, object argnums) except -1:
        return (
            PyTuple_GET_SIZE(args) == self.n_args
            and PyDict_GET_SIZE(kwargs) == self.n_names
            and (argnums is self.argnums or is_same_choice(argnums, self.argnums))
        )

    @cython.final
    cdef inline bint may_fit(self, tuple args) except -1:
        """Whether the argument fits that is told at once, if there is one."""
        cdef Py_ssize_t k
        if self.n_args == 0:
            return True
        k = (<const unsigned char *>self.order)[0]
        return (<SignatureNode>PyTuple_GET_ITEM(self.nodes, k)).may_be(
            <object>PyTuple_GET_ITEM(args, k)
        )

    @cython.final
    cdef inline bint take(self, tuple args, dict kwargs, double *inputs) except -1:
        """Whether the arguments have this signature; if so, their numbers are written."""
        cdef Py_ssize_t i, k, n = self.n_args
        cdef const unsigned char *order = self.order
        cdef Py_ssize_t at = 0, k_name = 0
        cdef PyObject *key = NULL
        cdef PyObject *value = NULL
        cdef object item
        for i in range(n):
            k = order[i]
            if not (<SignatureNode>PyTuple_GET_ITEM(self.nodes, k)).take_float(
                <object>PyTuple_GET_ITEM(args, k), inputs
            ) and not (<SignatureNode>PyTuple_GET_ITEM(self.nodes, k)).take(
                <object>PyTuple_GET_ITEM(args, k), inputs
            ):
                return False
        if self.n_names > 0:  # in their order, which is that of f's own dict of keywords
            while PyDict_Next(kwargs, &at, &key, &value):
                if k_name == self.n_names or not is_same_name(<object>key, self.names[k_name]):
                    return False
                item = <object>value
                if not (<SignatureNode>PyTuple_GET_ITEM(self.nodes, n + k_name)).take(item, inputs):
                    return False
                k_name += 1
        return True

    @cython.final
    cdef bint fits(self, tuple args, dict kwargs, object argnums) except -1:
        cdef cnp.ndarray inputs
        if not self.is_of(args, kwargs, argnums):
            return False
        inputs = cnp.new_doubles(self.n_numbers + self.n_pointers)
        return self.take(args, kwargs, cnp.doubles(inputs))

    cdef object serve_call(self, tuple args, dict kwargs):
        """The result; MISSED if arguments do not fit, REFUSED, or a Missed, if the general path has
        to decide."""
        cdef FastPath first
        cdef Code code
        cdef double *room
        cdef double *inputs
        cdef bint may_serve
        cdef object result
        if PyList_GET_SIZE(self.paths) == 0:
            return self.serve_call_apart(args, kwargs, None)
        first = <FastPath>PyList_GET_ITEM(self.paths, 0)
        if first.plan is not None:
            return self.serve_call_apart(args, kwargs, first)
        code = first.code
        if code.program.n_referred > 0 or self.referring is not None:
            self.refer_for(
                # Another path, a pullback or a comparison with f wants the numbers.
                code if (
                    PyList_GET_SIZE(self.paths) == 1
                    and first.pullback is None
                    and first.is_trusted()
                ) else None
            )
        room = code.take_room()
        try:
            inputs = cad_program_places(code.program, room)
            if code.program.n_referred > 0:
                cad_program_refer_to_places(code.program, inputs)
            if not self.take(args, kwargs, inputs):
                return MISSED
            may_serve = first.may_serve(inputs)  # of numbers as they come
            if code.program.n_referred > 0:
                cad_program_narrow_inputs(code.program, inputs)
            result = self.served(inputs, first, room, may_serve)
        finally:
            code.give_back(room)
        if is_refused(result):
            return self.answer(result, args, kwargs)
        self.backoff.n_missed = 0
        return result

    cdef bint serve_into(self, tuple args, dict kwargs, object out) except -1:
        """Have the first path write its results into the user's arrays; False if it cannot."""
        cdef FastPath first
        cdef Code code
        cdef double *room
        cdef double *inputs
        cdef double *results
        cdef long missed
        if PyList_GET_SIZE(self.paths) == 0:
            return False
        first = <FastPath>PyList_GET_ITEM(self.paths, 0)
        code = first.code
        if first.plan is not None or first.catches or not first.result.fits_into(out):
            return False
        if code.program.n_referred > 0 or self.referring is not None:
            self.refer_for(
                code if PyList_GET_SIZE(self.paths) == 1 and first.is_trusted() else None
            )
        room = code.take_room()
        try:
            inputs = cad_program_places(code.program, room)
            if code.program.n_referred > 0:
                cad_program_refer_to_places(code.program, inputs)
            if not self.take(args, kwargs, inputs) or not first.may_serve(inputs):
                return False
            if code.program.n_referred > 0:
                cad_program_narrow_inputs(code.program, inputs)
                if not lend(first.result, code.program, inputs, out):
                    return False
            missed = code.run(room)
            if missed == -1:
                code.uses += 1
                results = room + cad_program_room(code.program, 1)
                cad_program_read(code.program, room, results)
                first.result.write_into(results, out)
            elif missed < 0:
                forget_error(missed)
        finally:
            code.give_back(room)
        self.backoff.n_missed = 0
        return missed == -1

    cdef object serve_call_apart(self, tuple args, dict kwargs, FastPath first):
        """As serve_call, with numbers in an array of their own."""
        cdef cnp.ndarray numbers = cnp.new_doubles(self.n_numbers)
        cdef double *inputs = cnp.doubles(numbers)
        self.refer_for(None)
        if not self.take(args, kwargs, inputs):
            return MISSED
        if first is None:
            return self.answer(REFUSED, args, kwargs)
        return self.answer(
            self.served(inputs, first, NULL, first.may_serve(inputs)), args, kwargs
        )

    cdef int refer_for(self, Code code) except -1:
        """Have arrays stay where they are that a program need not copy; None: all are copied."""
        cdef size_t k
        if code is not None and n_referred_inputs(code.program) == 0:
            code = None
        if code is self.referring:
            return 0
        forget_references(self.nodes)
        self.n_pointers = 0
        self.referring = code
        if code is not None:
            self.n_pointers = n_referred_inputs(code.program)
            for k in range(<size_t>self.n_pointers):
                refer(self.nodes, code.program.referred[k])
        return 0

    cdef inline object answer(self, object result, tuple args, dict kwargs):
        if not is_refused(result):
            self.backoff.n_missed = 0
        elif self.fallback is not None:
            return self.fallback(args, kwargs)
        return result

    cdef inline object served(self, const double *inputs, FastPath path, double *room,
                              bint may_serve):
        """The result by one of the paths; REFUSED, or a Missed, if none serves. The first one has its
        room, and is known to serve there or not."""
        cdef Miss miss
        cdef FastPath former = None
        miss.guard = -1
        if may_serve:
            result = path.run_path(inputs, room, self.n_numbers, &miss)
            if result is not MISSED:
                return result
            former = path
        if self.referring is not None:  # the numbers are not all there
            return missed_by(former, &miss)
        return self.served_next(inputs, path, former, &miss)

    cdef object served_next(self, const double *inputs, FastPath first, FastPath former,
                            Miss *miss):
        """What follows, where the first path has not served; `former` is the last one that ran."""
        cdef list tried = [first]
        cdef FastPath path = self.next_path(tried, former, miss)
        while path is not None:
            if path.may_serve(inputs):
                result = path.run_path_apart(inputs, self.n_numbers, miss)
                if result is not MISSED:
                    if result is not REFUSED:
                        self.note_served(path)
                    return result
                former = path
            tried.append(path)
            path = self.next_path(tried, former, miss)
        self.note_served(None)
        return missed_by(former, miss)

    cdef FastPath next_path(self, list tried, FastPath former, const Miss *miss):
        """The path with most outcomes, among those that may serve: if it misses, too, most outcomes
        of this call are known."""
        cdef FastPath path, best = None
        cdef Py_ssize_t k
        for k in range(PyList_GET_SIZE(self.paths)):
            path = <FastPath>PyList_GET_ITEM(self.paths, k)
            if (
                (best is None or PyBytes_GET_SIZE(path.outcomes) > PyBytes_GET_SIZE(best.outcomes))
                and (
                    former is None
                    or meets(path.outcomes, former.outcomes, miss.guard, miss.outcome)
                )
                and path not in tried
            ):
                best = path
        return best

    cdef int note_served(self, FastPath path) except -1:
        """Note a path that is not the first one; None: none has served.

        If it has twice, it is tried first from now on. Where calls choose otherwise each time, the
        one is that knows most outcomes: its miss tells which one serves.
        """
        if path is not None and path is self.latest:
            self.bring_to_front(path)
        else:
            if self.longest is None:
                self.longest = self.next_path([], None, NULL)
            self.bring_to_front(self.longest)
        self.latest = path
        return 0

    cdef int bring_to_front(self, FastPath path) except -1:
        """Move a path to the front, if it is still there."""
        cdef list paths = self.paths
        cdef Py_ssize_t k
        for k in range(1, PyList_GET_SIZE(paths)):
            if <FastPath>PyList_GET_ITEM(paths, k) is path:
                paths.insert(0, paths.pop(k))
                break
        return 0


cdef object missed_by(FastPath path, const Miss *miss):
    """A Missed, if it is an outcome of f that a path has missed last; else REFUSED."""
    if path is None or not 0 <= miss.guard * <Py_ssize_t>sizeof(double) < PyBytes_GET_SIZE(path.outcomes):
        return REFUSED
    return Missed(path.outcomes, miss.guard, miss.outcome)


@cython.final
cdef class FastPath:
    """The code of a recording for calls of one signature, and what surrounds it."""

    cdef object program    # a Code or a MatrixPlan
    cdef Code code         # of it
    cdef MatrixPlan plan   # None, if the code gives all numbers
    cdef ResultNode result
    cdef Watch watch       # what the recording has read beside arguments; None: nothing
    cdef Trust trust       # at which inputs the recording may serve; None: at all
    cdef Py_ssize_t n_inputs  # of f, which come first
    cdef Trust unknown     # while nobody knows what f does of nan, if it compares; or None
    cdef bytes outcomes    # of the guards that f has, float64
    cdef ProgramPullback pullback  # for calls that return one, too: theirs are made from it
    cdef bint catches      # whether f may catch exceptions that floats raise
    cdef bint is_whole     # the result of the plan is all its numbers, as one array
    cdef tuple ready       # nodes of results that the code writes where they stay; None: there are none

    cdef inline bint may_serve(self, const double *inputs) except -1:
        """Whether it does what f does at inputs, as far as that can be told before it runs."""
        if self.trust is not None:
            if not self.trust.allows(inputs, self.n_inputs):
                return False
            self.is_trusted()
        if self.unknown is not None and not cad_are_finite(inputs, self.n_inputs):
            if not self.unknown.knows_nan:
                return False
            self.unknown = None
        return self.watch is None or self.watch.holds()

    cdef bint is_trusted(self) noexcept:
        """Whether it may serve at any inputs."""
        if self.trust is not None and self.trust.is_full:
            self.trust = None
        return self.trust is None

    def made(self, cnp.ndarray numbers):
        """The result, of the numbers that the code or the plan gave."""
        return self.result.make_result(cnp.doubles(numbers), None)

    cdef object run_path_apart(self, const double *inputs, Py_ssize_t n, Miss *miss):
        """As run_path, for inputs that stand elsewhere."""
        cdef double *room = NULL
        if self.plan is None:
            room = self.code.take_room()
            cad_program_take_inputs(
                self.code.program, cad_program_places(self.code.program, room), inputs
            )
        try:
            return self.run_path(inputs, room, n, miss)
        finally:
            if room != NULL:
                self.code.give_back(room)

    cdef inline object run_path(self, const double *inputs, double *room, Py_ssize_t n, Miss *miss):
        """The result; MISSED where another outcome is met, REFUSED if a step of Python's failed.
        `room` is a workspace where the inputs stand, if there is no plan."""
        cdef Code code
        cdef double *results
        cdef long missed
        cdef list ready = None
        if self.plan is not None:
            return self.run_plan(inputs, n, miss)
        code = self.code
        if self.ready is not None:
            ready = self.arrays_for(cad_program_places(code.program, room))
        missed = code.run(room)
        if missed == -1:
            code.uses += 1
            results = room + cad_program_room(code.program, 1)
            cad_program_read(code.program, room, results)
            if self.catches and not cad_are_finite(results, code.program.n_results):
                return REFUSED  # f may have caught what floats raise there
            if self.pullback is None:
                return self.result.make_result(results, ready)
            return self.result.make_result(results, ready), self.pullback.at(inputs)
        if missed >= 0:
            code.misses += 1
            miss.guard = missed
            miss.outcome = cad_program_outcome(code.program, room, missed)
            return MISSED
        forget_error(missed)
        return REFUSED

    cdef list arrays_for(self, double *places):
        """Arrays that the code is to write results to."""
        cdef CadProgram *program = self.code.program
        cdef ResultNode node
        cdef cnp.ndarray array
        cdef list arrays = [None] * <Py_ssize_t>program.n_referred
        for node in self.ready:
            array = node.new_array(node.typenum)
            cad_program_refer(places, program.referred[node.ready - 1], cnp.PyArray_DATA(array))
            arrays[node.ready - 1] = array
        return arrays

    cdef object run_plan(self, const double *inputs, Py_ssize_t n, Miss *miss):
        cdef cnp.ndarray numbers = cnp.new_doubles(n)
        memcpy(cnp.PyArray_DATA(numbers), inputs, n * sizeof(double))
        try:
            data = self.plan.evaluate(numbers)
        except CallError:
            return REFUSED
        if not cnp.PyArray_CheckExact(data):
            self.code.misses += 1
            miss.guard, miss.outcome = data
            return MISSED
        if self.catches and not cad_are_finite(cnp.doubles(data), cnp.PyArray_SIZE(data)):
            return REFUSED
        self.code.uses += 1
        if self.is_whole:
            return data.reshape([self.result.lengths[k] for k in range(self.result.ndim)])
        return self.result.make_result(cnp.doubles(data), None)


cdef int forget_error(long missed) except -1:
    """Forget what a step of Python's has raised: f itself will raise what there is to raise."""
    if missed != CAD_OUT_OF_BOUNDS:
        if not PyErr_ExceptionMatches(CallError):
            check(CAD_RAISED)
        PyErr_Clear()
    return 0


cdef FastPath new_fast_path(Signature signature, object program, object assemble):
    """The fast path for calls of a signature; None if there can be none."""
    cdef FastPath path = FastPath.__new__(FastPath)
    cdef Py_ssize_t n_numbers, n_results
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
    most = MOST_OF_MATRIX if isinstance(program, MatrixPlan) else MOST_DESCRIBED
    if signature.n_numbers != n_numbers or n_results > most:
        return None
    path.result = result_from(assemble, n_results)
    if path.result is None:
        return None
    if path.plan is None:
        found = []
        find_ready(path.result, path.code.program, found)
        path.ready = tuple(found) or None
    path.is_whole = (
        path.result.kind == RESULT_ARRAY
        and path.result.typenum == cnp.NPY_DOUBLE
        and path.result.size == path.result.width == n_results
    )
    return path


cdef FastPath new_path(Signature signature, object program, object assemble, Watch watch,
                       Trust trust, bytes outcomes, ProgramPullback pullback):
    """The path of a signature to a program; None if there can be none."""
    cdef FastPath path
    for path in signature.paths:
        if path.program is program:
            return path
    path = new_fast_path(signature, program, assemble)
    if path is not None:
        path.watch = watch
        path.catches = watch is not None and watch.catches_numbers
        path.ready = None if path.catches else path.ready  # its numbers are looked at first
        path.trust = trust
        path.unknown = trust if outcomes else None
        path.outcomes = outcomes
        path.pullback = pullback
        signature.paths.insert(0, path)
        signature.longest = None
    return path


@cython.final
cdef class MethodSignatures:
    """The signatures of one method; the one used last comes first."""

    cdef list known
    cdef Backoff backoff

    def __init__(self, Backoff backoff):
        self.known = []
        self.backoff = backoff

    cdef object find_and_serve(self, tuple args, dict kwargs, object argnums):
        """The result; MISSED, REFUSED or a Missed if there is none."""
        cdef list known = self.known
        cdef Signature signature
        cdef object result
        cdef Py_ssize_t k = 0
        cdef CadTape *tape = cad_current_tape()
        if self.backoff.is_closed():
            return MISSED
        if tape.hook != NULL or tape.guards != NULL or tape.open > 0:
            return REFUSED  # f may read what is recorded, beside its arguments
        while k < PyList_GET_SIZE(known):
            signature = <Signature>PyList_GET_ITEM(known, k)
            if signature.is_of(args, kwargs, argnums) and (k == 0 or signature.may_fit(args)):
                result = signature.serve_call(args, kwargs)
                if result is not MISSED:
                    if k > 0 and k < PyList_GET_SIZE(known) and known[k] is signature:
                        known.insert(0, known.pop(k))
                    return result
            k += 1
            if k == FEW_SIGNATURES and self.backoff.n_in_vain >= MOST_IN_VAIN:
                break  # the general path knows the others
        return MISSED

    cdef bint serve_into(self, tuple args, dict kwargs, object out) except -1:
        """Whether a path has written its results into the user's arrays."""
        cdef Signature signature
        cdef CadTape *tape = cad_current_tape()
        if self.backoff.is_closed() or tape.hook != NULL or tape.guards != NULL or tape.open > 0:
            return False
        if PyList_GET_SIZE(self.known) == 0:
            return False
        signature = <Signature>PyList_GET_ITEM(self.known, 0)
        return signature.is_of(args, kwargs, ZERO) and signature.serve_into(args, kwargs, out)

    cdef object signature_of(self, Call call, tuple args, object argnums, tuple last, bint whole):
        """The signature of a call; None if no later call can be known by it."""
        cdef Signature signature
        cdef object lifted = call.taken.lifted
        for signature in self.known:
            if signature.lifted == lifted and signature.fits(args, call.kwargs, argnums):
                return signature
        signature = Signature.__new__(Signature)
        if not signature.describe(call, args, argnums, last, whole):
            return None
        signature.paths = []
        signature.backoff = self.backoff
        if len(self.known) >= MOST_SIGNATURES:
            self.known.pop()
        self.known.insert(0, signature)
        return signature

    cdef int forget(self, programs) except -1:
        """Drop the fast paths to some programs."""
        cdef Signature signature
        for signature in self.known:
            signature.paths = [
                path for path in signature.paths
                if not any([program is (<FastPath>path).program for program in programs])
            ]
            signature.latest = signature.longest = None
        return 0

    cdef int forget_fallbacks(self) except -1:
        """Have the general path decide, where f was run eagerly."""
        cdef Signature signature
        for signature in self.known:
            signature.fallback = None
        return 0


@cython.final
cdef class ProgramPullback:
    """From a cotangent of what f returned, at a point, to those of its arguments.

    A call that no fast path serves is pull(inputs, u, note), which may call note(code, assemble,
    outcomes): see FastPathTable.add.
    """

    cdef object pull
    cdef cnp.ndarray inputs
    cdef MethodSignatures fast_paths  # shared by the pullbacks of one recording

    def __init__(self,
                 pull: Callable[[NDArray[np.float64], Any, Callable[[Code, Callable[[NDArray[np.float64]], Any], bytes], None]], Any],
                 cnp.ndarray inputs):
        self.pull = pull
        self.inputs = inputs
        self.fast_paths = MethodSignatures(Backoff())

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
        cdef Signature signature
        result = self.fast_paths.find_and_serve(args, NO_NAMES, ZERO)
        if not is_missing(result):
            return result

        def note(program, assemble, outcomes):
            call = Call((self.inputs,), NO_NAMES, ())
            signature = self.fast_paths.signature_of(call, args, ZERO, (1,), False)
            if signature is not None:
                new_path(signature, program, assemble, None, None, outcomes, None)

        return self.pull(self.inputs, u, note)


@cython.final
cdef class FastPathTable:
    """The fast paths of all methods of a program.

    Calls of them are told by the Call of f, and by what the method adds: see Signature.describe.
    """

    cdef list of_methods
    cdef readonly Backoff backoff

    def __cinit__(self):
        self.clear()

    def clear(self) -> None:
        self.backoff = Backoff()
        self.of_methods = [MethodSignatures(self.backoff) for _ in NAMES]

    def forget(self, programs: Iterable[Code | MatrixPlan]) -> None:
        """Drop the paths to some programs."""
        for paths in self.of_methods:
            (<MethodSignatures>paths).forget(programs)

    def forget_fallbacks(self) -> None:
        for paths in self.of_methods:
            (<MethodSignatures>paths).forget_fallbacks()

    cdef object signature_of(self, str what, Call call, tuple args, object argnums, tuple last):
        cdef int method = NAMES.index(what)
        return (<MethodSignatures>self.of_methods[method]).signature_of(
            call, args, argnums, last, method == <int>VALUE
        )

    def add_fallback(self, str what, Call call, tuple args, argnums, tuple last,
                     fallback: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> None:
        """From now on fallback(args, kwargs) for calls of a method like this one that no fast path
        serves."""
        cdef Signature signature = self.signature_of(what, call, args, argnums, last)
        if signature is not None:
            signature.fallback = fallback

    def add(self, str what, Call call, tuple args, argnums, tuple last, program: Code | MatrixPlan,
            assemble: Callable[[NDArray[np.float64]], Any], watch: Watch | None,
            trust: Trust | None, bytes outcomes,
            pullback: ProgramPullback | None = None) -> FastPath | None:
        """From now on calls of a method like this one run a Code or a MatrixPlan, and `assemble`
        makes the result from its numbers, as long as `watch` sees no change, `trust` allows the
        inputs, and f has these outcomes.

        Answers the FastPath, or None if no later call can be known."""
        cdef Signature signature = self.signature_of(what, call, args, argnums, last)
        cdef FastPath path
        if signature is None:
            return None
        path = new_path(signature, program, assemble, watch, trust, outcomes, pullback)
        if path is not None:
            path.n_inputs = call.taken.numbers
        return path

