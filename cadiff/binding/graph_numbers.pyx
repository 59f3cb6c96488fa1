"""Numbers of a graph: what f computed while it was recorded, and calls of rules among that.

A derivative of a call is read off a run of its rule, as further numbers, and so is what depends on
what in it. Programs, which are made of graphs, are not known here.
"""

import os
import sys
import threading
from math import prod

import numpy as np

cimport cython
from cpython.object cimport Py_LT
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.graph cimport *
from .generated.program cimport *
from .c_numbers cimport *
from .generated.tape cimport *
from .tape cimport Context, DirectRule, on_tape, rule_at, rule_name
from .atoms cimport shape
from .guards cimport noted_guards
from .recording cimport Guarded, Recording
from .borrowed cimport Native
from .rules cimport native_of_step

from .guards import compare
from .rules import _OpaqueDerivative, _Step, ObstacleError, PointError


cdef enum:
    MOST_RULES = 4            # within each other, that are read to find what depends on what
    MOST_LINKS = 1 << 25      # of one of them


NO_LOOPS: int = sys.maxsize  # in place of how many operations a loop has

cdef int n_forks = 0


def _note_fork():
    """In a process that was forked, threads that held locks do not exist."""
    global n_forks
    n_forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


deriving = threading.local()


cpdef bint is_deriving() except -1:
    """Whether a rule is run to be read into a graph: nothing of it is seen yet."""
    return getattr(deriving, "now", False)


def set_deriving(bint now) -> bool:
    """Begin or end that; answers what it was before."""
    before = is_deriving()
    deriving.now = now
    return before


cdef int hold_finite(list atoms, str name) except -1:
    """A guard that derivatives of a step are finite, as here; PointError if they are not."""
    for atom in atoms:
        if not np.isfinite(cad_plain_value(atom)).all():
            raise PointError(f"a derivative of {name} is not finite where it was recorded")
        if (CAD_IS_VAR(atom) or CAD_IS_DUAL(atom)) and prod(shape(atom)) > 0:
            total = atom.sum() if shape(atom) else atom
            compare(abs(total), INFINITY, Py_LT)
    return 0


cdef list are_any(const uint8_t *wanted, list sizes):
    """Of each operand whether any of its numbers is wanted."""
    cdef Py_ssize_t i, k = 0
    any_wanted = []
    for size in sizes:
        any_wanted.append(any([wanted[k + i] for i in range(<Py_ssize_t>size)]))
        k += size
    return any_wanted


@cython.final
cdef class Locked(Context):
    """A lock, held for one `with`: a context."""

    cdef object lock

    def __init__(self, lock):
        self.lock = lock

    def __enter__(self) -> None:
        self.lock.acquire()
        self.begin(self.lock)

    cdef int end(self, CadTape *tape, object lock) except -1:
        lock.release()
        return 0


@cython.final
cdef class GraphTransaction:
    """In this context something is made of a graph: by one thread at a time, all or nothing.

    What is raised here, by rules of Python's or for want of memory, leaves the graph what it was:
    its numbers, guards and steps. These contexts nest, and one that fails may be made good for by
    the one around it. `derives`: it is for the derivative of a step, in the midst of what is made
    of the graph or of one that shares its numbers.
    """

    cdef GraphNumbers graph
    cdef object lock
    cdef CadGraphMark mark
    cdef Py_ssize_t n_steps
    cdef bint derives

    def __init__(self, GraphNumbers graph, bint derives=False):
        self.graph = graph
        self.derives = derives

    def __enter__(self) -> None:
        cdef GraphNumbers graph = self.graph
        while graph.whole is not None:
            graph = graph.whole
        if graph.lock is None or graph.lock_forks != n_forks:
            graph.lock = threading.RLock()
            graph.lock_forks = n_forks
        self.lock = graph.lock
        self.lock.acquire()
        if not self.derives:
            self.graph.take_guards()
        self.mark = cad_graph_mark(self.graph.graph)
        self.n_steps = len(self.graph.steps)

    def __exit__(self, kind, error, traceback):
        cdef GraphNumbers graph = self.graph
        cdef CadStatus status = graph.graph.status
        try:
            if error is not None or status != CAD_OK:
                cad_graph_rewind(graph.graph, &self.mark)
                graph.forget_steps(self.n_steps)
            if error is None:
                check(status)
        finally:
            self.lock.release()


cdef class GraphNumbers:
    """What f computed while it was recorded: its outputs, as functions of its inputs.

    It refers to no tape. Inputs to differentiate by are given as ranges (begin, end) of the numbers
    of all.
    """

    def __init__(self):
        raise TypeError("a Graph comes from graph_of")

    def __dealloc__(self):
        if not self.is_derived:  # `whole` may be gone already, if both are garbage
            cad_graph_free(self.graph)
        cad_memory_free(self.inputs)
        cad_memory_free(self.outputs)
        cad_memory_free(self.own_guards)

    cdef int begin(self, bint optimize, Py_ssize_t n_inputs) except -1:
        """Have no numbers yet, and places for so many inputs."""
        self.graph = cad_graph_new(optimize)
        if self.graph == NULL:
            check(CAD_NO_MEMORY)
        self.own_calls()
        self.inputs = <CadId *>new_memory(n_inputs, sizeof(CadId))
        return 0

    @property
    def adds_sequentially(self) -> bool:
        """Whether a sweep adds to an array by two operands in turns, where a graph adds all that
        comes by one of them before the other."""
        return bool(self.graph.adds_sequentially)

    @property
    def calls_in_turns(self) -> bool:
        """Whether there are loops whose turns make calls: what derivatives of these need to hold is
        that of one turn."""
        cdef size_t k
        return any([cad_graph_has_calls(self.graph.scans[k].body)
                    for k in range(self.graph.n_scans)])

    @property
    def nbytes(self) -> int:
        return cad_graph_bytes(self.graph)

    @property
    def n_inputs(self) -> int:
        return sum(self.sizes)

    @property
    def outcomes(self) -> bytes:
        """What the guards of f came to, in their order: float64, as bytes."""
        cdef size_t k
        return np.array([self.own_guards[k].value for k in range(self.kept_guards)]).tobytes()

    cdef void take_guards(self) noexcept:
        """Have the guards of this graph alone, of those that share its numbers."""
        if self.kept_guards > 0:
            memcpy(self.graph.guards, self.own_guards, self.kept_guards * sizeof(CadOutcome))
        self.graph.n_guards = self.kept_guards

    cdef int keep(self) except -1:
        """Note that the numbers of f, or of f and a derivative of it, end here."""
        cdef size_t size = self.graph.n_guards * sizeof(CadOutcome)
        self.kept_records = self.graph.n_records
        if not self.is_derived:
            self.graph.n_own = self.graph.n_records
        self.kept_guards = self.graph.n_guards
        self.own_guards = <CadOutcome *>cad_memory_resize(self.own_guards, size + 1, 1)
        if self.own_guards == NULL:
            check(CAD_NO_MEMORY)
        if size > 0:
            memcpy(self.own_guards, self.graph.guards, size)
        self.kept_steps = len(self.steps)
        return 0

    cdef Ids elements(self, which):
        """Some inputs: ranges [begin, end) of all, which are elements one behind the other."""
        cdef Py_ssize_t i, at = 0, n = self.n_inputs, k = 0, first = 0, size
        for begin, end in which:
            if not 0 <= begin <= end <= n:
                raise ValueError(f"there are {n} inputs, not those from {begin} to {end}")
        cdef Ids result = new_ids(sum([end - begin for begin, end in which]))
        for begin, end in which:
            for i in range(begin, end):
                if i < first:
                    k = first = 0
                size = self.sizes[k]
                while i >= first + size:
                    first += size
                    k += 1
                    size = self.sizes[k]
                result.data[at] = self.inputs[k] + <CadId>(i - first)
                at += 1
        return result

    cdef Ids more_inputs(self, Py_ssize_t size):
        """All elements of an input beside those of f."""
        cdef CadId first = cad_graph_input(self.graph, size, False)
        check(self.graph.status)
        return in_a_row(first, size, 1)

    cdef Ids all_outputs(self):
        cdef Ids result = new_ids(self.n_outputs)
        memcpy(result.data, self.outputs, self.n_outputs * sizeof(CadId))
        return result

    cdef Ids ones(self, Py_ssize_t n):
        cdef Ids result = new_ids(n)
        cdef Py_ssize_t i
        for i in range(n):
            result.data[i] = cad_graph_constant(self.graph, 1.0)
        return result

    cdef Ids pulled(self, Ids outputs, Ids seeds, Ids wrt):
        cdef Ids result = new_ids(wrt.n)
        check(cad_graph_pull(
            self.graph, outputs.data, seeds.data, outputs.n, wrt.data, wrt.n, result.data
        ))
        return result

    cdef Ids pushed(self, Ids wrt, Ids along, Ids outputs):
        cdef Ids result = new_ids(outputs.n)
        check(cad_graph_push(
            self.graph, wrt.data, along.data, wrt.n, outputs.data, outputs.n, result.data
        ))
        return result

    # --- calls

    cdef void own_calls(self) noexcept:
        self.steps = []
        self.known_steps = {}
        self.links = {}
        self.graph.calls = &STEPS
        self.graph.owner = <void *>self

    cdef int64_t add_step(self, rule, operands, results) except -1:
        """The number of a call, which is that of an equal one."""
        key = None
        if self.graph.optimize and hasattr(rule, "key"):
            key = rule.key()
        try:
            number = self.known_steps.get(key)
        except TypeError:  # something in it is not hashable
            number = key = None
        if number is None:
            number = len(self.steps)
            self.steps.append(_Step(rule, operands, results))
            if key is not None:
                self.known_steps[key] = number
        return number

    cdef int forget_steps(self, Py_ssize_t n) except -1:
        """Have the first n steps alone. Codes that know others keep their own list of them."""
        if len(self.steps) > n:
            del self.steps[n:]
            for known in (self.known_steps, self.links):
                kept = list(known.items())
                known.clear()
                known.update([
                    (key, found) for key, found in kept
                    if (key if known is self.links else found) < n
                ])
        return 0

    cdef CadStatus derive(self, uint32_t number, str way, CadId operands, CadId results,
                          CadId first_seed, int64_t step, const uint8_t *active,
                          CadId *first_term) except CAD_RAISED:
        """The cotangents or tangents of a call: see CadCalls."""
        call = self.steps[number]
        if getattr(call.rule, "takes_plain", False):
            name = rule_name(getattr(call.rule, "step", call).rule)
            raise ObstacleError(
                f"a rule of {name} takes plain numbers alone, and cannot be differentiated again"
            )
        n, m = call.sizes()
        pulls = way == "pull"
        seeds = [np.ones(np.shape(x)) if np.shape(x) else 1.0
                 for x in (call.results if pulls else call.operands)]
        targets = [np.shape(x) for x in (call.operands if pulls else call.results)]
        cdef Ids names = joined_ids([
            in_a_row(operands, n, n > 1), in_a_row(results, m, 1),
            in_a_row(first_seed, m if pulls else n, step),
        ])
        cdef Ids derived
        inputs = (*call.operands, *call.results, *seeds)
        wanted = are_any(active, [np.size(x) for x in call.operands])
        try:
            is_finite = not getattr(call.rule, "absorbs", False)
            derived = self.derivative_steps(call, way, inputs, targets, wanted, names, is_finite)
        except (MemoryError, OverflowError, PointError):
            raise
        except Exception:  # what it is will be seen when plain numbers are given
            derived = self.opaque_step(call, way, inputs, targets, wanted, names)
        if derived is not None:
            is_there = self.graph.optimize and derived.n > 0 and derived.n == (
                <Py_ssize_t>cad_graph_stretch(self.graph, derived.data, derived.n)
            )
            first_term[0] = (
                derived.data[0] if is_there
                else cad_graph_pack(self.graph, derived.data, derived.n)
            )
        return self.graph.status

    cdef Ids derivative_steps(self, call, str way, tuple inputs, list targets, list wanted,
                              Ids names, bint finite):
        """What the rule does, as numbers of the graph; None if all are zero. If `finite`, with
        guards that they are."""
        with Guarded(inputs, call.rule) as guarded:
            before = set_deriving(True)
            try:
                terms = call.derivative(way, guarded.lifted, wanted)
            finally:
                set_deriving(before)
            if all([term is None for term in terms]):
                return None
            atoms = [np.zeros(target) if term is None else term
                     for term, target in zip(terms, targets)]
            del terms
            if [shape(atom) for atom in atoms] != targets:
                raise ValueError("a derivative is not of the shape of what it belongs to")
            obstacle = guarded.obstacle
            if obstacle:
                raise ObstacleError(obstacle)
            if any([CAD_IS_DUAL(atom) for atom in atoms]):
                raise TypeError("a rule uses a number of an outer differentiation")
            if finite:
                hold_finite(atoms, rule_name(call.rule))
            try:
                with GraphTransaction(self, True):
                    return self.read_recording((<Guarded>guarded).recording, atoms, names)
            finally:
                atoms.clear()

    cdef Ids opaque_step(self, call, str way, tuple inputs, list targets, list wanted, Ids names):
        results = [np.zeros(target) for target in targets]
        size = sum([result.size for result in results])
        rule = _OpaqueDerivative(call, way, targets, wanted)
        number = self.add_step(rule, list(inputs), results)
        cdef CadId operands = cad_graph_pack(self.graph, names.data, names.n)
        return in_a_row(
            cad_graph_call(self.graph, <uint32_t>number, operands, names.n, size), size, 1
        )

    # --- what calls depend on

    cdef object found_links(self, step):
        """Pairs (of, by) of a call, as its rule states them, or as can be read off it."""
        if hasattr(step.rule, "links"):
            found = step.rule.links(step.operands, step.results)
            if found is not None:
                of, by, n_between = found
                if len(of) and max(of.max(), by.max()) >= sum(step.sizes()) + n_between:
                    raise ValueError("a pattern names numbers that there are not")
                return found
        if getattr(step.rule, "takes_plain", False) or self.depth >= MOST_RULES:
            return None
        try:
            return self.read_links(step)
        except (MemoryError, OverflowError):
            raise
        except Exception:  # what it is will be seen when the derivative is computed
            return None

    cdef object read_links(self, step):
        """How cotangents depend on each other by its reverse rule: a linear function. None if the
        rule chooses by values."""
        cdef Py_ssize_t n, m
        cdef GraphNumbers graph
        n, m = step.sizes()
        if n == 0 or m == 0:
            return np.empty(0, np.uint32), np.empty(0, np.uint32), 0
        graph = GraphNumbers.__new__(GraphNumbers)
        graph.begin(True, 0)
        graph.depth = self.depth + 1
        seeds = [np.ones(np.shape(x)) if np.shape(x) else 1.0 for x in step.results]
        cdef Ids operands = graph.more_inputs(n)
        cdef Ids results = graph.more_inputs(m)
        cdef Ids given = graph.more_inputs(m)
        cdef Ids terms = graph.derivative_steps(
            step, "pull", (*step.operands, *step.results, *seeds),
            [np.shape(x) for x in step.operands], [True] * len(step.operands),
            joined_ids([operands, results, given]), False,
        )
        if graph.graph.n_guards > 0:
            return None
        links = linked_backwards(graph, terms if terms is not None else new_ids(0), given, n)
        return None if graph.unlinked() else links

    cdef list unlinked(self):
        """The steps met so far of which nothing is known."""
        return [self.steps[number] for number, found in self.links.items() if found is None]

    cdef Ids read_recording(self, Recording recording, list atoms, Ids inputs):
        """The numbers that atoms are, as what is recorded makes them of the inputs; guards too."""
        cdef CadTape *tape = recording.tape
        cdef CadSlot base = recording.base()
        cdef Py_ssize_t k = 0, i, n
        cdef double *values
        cdef cnp.ndarray slots, array
        guards = noted_guards(tape) if tape.guards != NULL else []
        n = sum([prod(shape(atom)) for atom in atoms])
        cdef Ids ids = new_ids(n + sum([count for _, count, _, _ in guards]))
        for atom in atoms:
            n = prod(shape(atom))
            if on_tape(atom, tape, base):
                slots = np.ascontiguousarray(cad_var_slots(CAD_VAR(atom)), dtype=np.int64).ravel()
                for i in range(n):
                    ids.data[k + i] = <CadSlot>(<int64_t *>cnp.PyArray_DATA(slots))[i]
            else:
                for i in range(n):
                    ids.data[k + i] = base
            k += n
        for slot, count, _, _ in guards:  # whose outcomes are numbers like any other
            for i in range(count):
                ids.data[k + i] = <CadSlot>slot + <CadSlot>i
            k += count
        check(cad_loops_read(
            self.graph, tape, recording.begin(), tape.n_entries, inputs.data, inputs.n,
            ids.data, ids.n,
            self.least_loop if self.least_loop == <size_t>NO_LOOPS
            else least_loop or self.least_loop,
        ))
        k = 0
        for atom in atoms:
            n = prod(shape(atom))
            if not on_tape(atom, tape, base):
                array = np.ascontiguousarray(cad_plain_value(atom), dtype=np.float64)
                values = cnp.doubles(array)
                for i in range(n):
                    ids.data[k + i] = cad_graph_constant(self.graph, values[i])
            k += n
        n = k
        for _, count, equality, outcomes in guards:
            for i in range(count):
                check(cad_graph_guard(self.graph, ids.data[k + i], outcomes[i]))
            k += count
        check(self.graph.status)
        ids.n = n
        return ids


@cython.final
@cython.no_gc
cdef class Ids:
    """Some numbers of a graph."""

    cdef CadId *data
    cdef Py_ssize_t n

    def __dealloc__(self):
        cad_memory_free(self.data)


cdef Ids new_ids(Py_ssize_t n):
    cdef Ids result = Ids.__new__(Ids)
    result.data = <CadId *>new_memory(n, sizeof(CadId))
    result.n = n
    return result


cdef Ids joined_ids(list parts):
    cdef Py_ssize_t n = 0
    for part in parts:
        n += (<Ids>part).n
    cdef Ids result = new_ids(n)
    n = 0
    for part in parts:
        if (<Ids>part).n > 0:  # else it may be NULL
            memcpy(result.data + n, (<Ids>part).data, (<Ids>part).n * sizeof(CadId))
        n += (<Ids>part).n
    return result


cdef Ids in_a_row(CadId first, Py_ssize_t n, int64_t step):
    cdef Ids result = new_ids(n)
    cdef Py_ssize_t i
    for i in range(n):
        result.data[i] = first + <CadId>(i * step)
    return result


cdef tuple linked_backwards(GraphNumbers graph, Ids found, Ids given, Py_ssize_t n):
    """Pairs (of, by), from numbers that are found to those that they follow from: n numbers, all
    between, and what is given. They are edges of a graph the other way round: those of numbers
    that were made last come first."""
    cdef CadEdges edges
    cdef Py_ssize_t k
    cdef int64_t *made
    check(cad_graph_edges(
        graph.graph, given.data, given.n, found.data, found.n, MOST_LINKS, True, &edges
    ))
    cdef cnp.ndarray order, pairs = np.empty((2, edges.n + found.n + given.n), dtype=np.int64)
    cdef int64_t *of = <int64_t *>cnp.PyArray_DATA(pairs)
    cdef int64_t *by = of + cnp.PyArray_DIM(pairs, 1)
    try:
        if edges.too_many:
            return None
        for k in range(found.n):
            of[k] = n + <int64_t>found.data[k]
            by[k] = k
        order = np.full(edges.n_numbers, -1)
        made = <int64_t *>cnp.PyArray_DATA(order)
        of += found.n
        by += found.n
        for k in range(<Py_ssize_t>edges.n):
            if made[edges.items[k].of] < 0:
                made[edges.items[k].of] = k
            of[k] = n + <int64_t>edges.items[k].by
            by[k] = n + <int64_t>edges.items[k].of
        own = pairs[:, : found.n + edges.n]
        own[:] = own[:, np.argsort(-order[own[0] - n], kind="stable")]
        of += edges.n
        by += edges.n
        for k in range(given.n):
            of[k] = n + <int64_t>edges.n_numbers + k
            by[k] = n + <int64_t>given.data[k]
        return (*pairs.astype(np.uint32), edges.n_numbers)
    finally:
        cad_edges_free(&edges)


cdef CadStatus note_step(void *owner, CadTape *tape, size_t entry, uint8_t *passive,
                         CadNoted *noted) except CAD_RAISED:
    """What a rule on the tape is in a graph: rows taken or added by indices, or a step."""
    cdef Py_ssize_t k
    rule = rule_at(tape, entry)
    if not hasattr(rule, "compute_results"):
        raise ObstacleError(f"{rule_name(rule)} has a rule that is no step of a program")
    for k, cut in enumerate(rule.passive):
        passive[k] = cut
    operands, results = rule.point
    by_index = getattr(rule, "by_index", None)
    if by_index is not None and np.size(results[0]) > 0 and np.size(operands[0]) > 0:
        noted.kind = CAD_NOTED_TAKE if by_index == "take" else CAD_NOTED_ADD
        noted.axis = getattr(rule, "index_axis", -1)
    else:
        noted.kind = CAD_NOTED_CALL
        noted.number = <uint32_t>(<GraphNumbers>owner).add_step(rule, operands, results)
    return CAD_OK


cdef CadStatus derive_in(GraphNumbers owner, CadGraph *graph, uint32_t number, str way, CadId operands,
                         CadId results, CadId first_seed, int64_t step, const uint8_t *active,
                         CadId *first_term) except CAD_RAISED:
    """Derivatives of a call as numbers of the owner's graph, or of what a turn computes in it."""
    cdef CadGraph *former = owner.graph
    owner.graph = graph
    try:
        return owner.derive(number, way, operands, results, first_seed, step, active, first_term)
    finally:
        owner.graph = former


cdef CadStatus pull_step(void *owner, CadGraph *graph, uint32_t number, CadId operands,
                         CadId results, CadId cotangents, int64_t step, const uint8_t *wanted,
                         CadId *first_term) except CAD_RAISED:
    return derive_in(
        <GraphNumbers>owner, graph, number, "pull", operands, results, cotangents, step, wanted, first_term
    )


cdef CadStatus push_step(void *owner, CadGraph *graph, uint32_t number, CadId operands,
                         CadId results, CadId tangents, int64_t step, const uint8_t *move,
                         CadId *first_term) except CAD_RAISED:
    return derive_in(
        <GraphNumbers>owner, graph, number, "push", operands, results, tangents, step, move, first_term
    )


cdef CadStatus form_of_step(void *owner, uint32_t number, uint32_t *first) except CAD_RAISED:
    """The first of the calls that do the same."""
    step = (<GraphNumbers>owner).steps[number]
    if step.form is None:
        try:
            step.form = (<GraphNumbers>owner).known_steps.setdefault((step.rule.form(),), number)
        except (AttributeError, TypeError):  # it says nothing of it, or nothing to look up
            step.form = number
    first[0] = step.form
    return CAD_OK


cdef CadStatus link_step(void *owner, uint32_t number, CadLinks *links) except CAD_RAISED:
    """How the results of a call depend on its operands: see CadCalls."""
    cdef GraphNumbers graph = <GraphNumbers>owner
    cdef cnp.ndarray of, by
    if number not in graph.links:
        graph.links[number] = graph.found_links(graph.steps[number])
    found = graph.links[number]
    links.is_known = found is not None or graph.leaves_out
    if found is not None:
        of, by, links.n_between = found
        links.of = <const uint32_t *>cnp.PyArray_DATA(of)
        links.by = <const uint32_t *>cnp.PyArray_DATA(by)
        links.n = cnp.PyArray_SIZE(of)
    return CAD_OK


cdef CadStatus tell_of_step(void *owner, uint32_t number, CadAbout *about) except CAD_RAISED:
    """What else is known of a call: see CadAbout."""
    step = (<GraphNumbers>owner).steps[number]
    about.may_raise = getattr(step.rule, "may_raise", True)
    about.is_level = getattr(step.rule, "is_level", False) and np.isfinite(step.results[0]).all()
    native = native_of_step(step)
    about.waits = about.may_raise and native is None
    if native is not None and not about.may_raise:
        about.rows = cad_native_rows(&(<Native>native).call)
    return CAD_OK


cdef CadStatus insert_rule(void *owner, CadTape *tape, size_t entry, const CadId *operands,
                           CadId *results) except CAD_RAISED:
    (<DirectRule>rule_at(tape, entry)).insert_into((<GraphNumbers>owner).graph, operands, results)
    return CAD_OK


cdef CadCalls STEPS
STEPS.note = note_step
STEPS.pull = pull_step
STEPS.push = push_step
STEPS.insert = insert_rule
STEPS.form = form_of_step
STEPS.link = link_step
STEPS.about = tell_of_step


cdef size_t least_loop = 0  # as tests say


def set_least_loop(size_t numbers=0) -> None:
    """From how many operations on loops are looked for in what is recorded; 0: as usual. For tests."""
    global least_loop
    least_loop = numbers
