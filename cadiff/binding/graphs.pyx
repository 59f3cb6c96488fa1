"""Graphs of what f computed, of which programs are made: derivatives are further numbers of them.

Graphs are pickled as bytes.
"""

import copyreg
from math import prod

import numpy as np

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.graph cimport *
from .c_numbers cimport *
from .generated.program cimport *
from .generated.tape cimport *
from .guards cimport noted_guards
from .rules cimport as_steps, carry_out_lanes, carry_out_step
from .recording cimport Recording
from .codes cimport PERIOD, Code, go_over_lanes
from .graph_numbers cimport (
    GraphNumbers, GraphTransaction, Ids, in_a_row, joined_ids, new_ids,
)

from .codes import FROM_POINTS as _FROM_POINTS
from .digests import NO_GRAPH as _NO_GRAPH, read_graph, written_graph
from .rules import _Step


cdef enum:
    LONG_RUN = 50_000         # operations, from which on other threads may run meanwhile: about 20 µs,
                              # since to wait for one's turn again costs ten
    FEW_INPUTS = 3            # by which forward mode may be the cheaper one, ...
    LONG_CHAIN = 4096         # ... if a way back had to remember as many operations
    BEGINNING = 1 << 10       # numbers, of which it is tried what is the cheaper one


@cython.final
cdef class Graph(GraphNumbers):
    """What f computed while it was recorded, of which codes are made.

    One thread at a time makes codes.
    """

    cdef Code code(self, list more, list roots):
        """A program from the inputs of f, and `more` (lists of elements), to some numbers."""
        cdef Code code = Code.__new__(Code)
        cdef Py_ssize_t i, k = 0, n = len(self.sizes)
        cdef Ids inputs = new_ids(n + len(more))
        cdef Ids all_roots = joined_ids(roots)
        cdef CadUse use = CAD_ALONG_DIRECTIONS if self.is_part else CAD_AT_A_POINT
        if self.for_lanes:
            use = CAD_AT_MANY_POINTS
        for i in range(n):
            if self.sizes[i] > 0:  # an empty array has no element that could name it
                inputs.data[k] = self.inputs[i]
                k += 1
        for extra in more:
            if (<Ids>extra).n > 0:
                inputs.data[k] = (<Ids>extra).data[0]
                k += 1
        try:
            check(cad_program_make(
                self.graph, use, inputs.data, k, k - len(more) if self.is_part else 0,
                all_roots.data, all_roots.n, &code.program
            ))
            if use == CAD_ALONG_DIRECTIONS:
                code.choose_along()
        finally:
            self.graph.n_guards = self.kept_guards  # those of derivatives are of this code alone
        code.steps = list(self.steps)
        code.program.call = carry_out_step
        code.program.call_lanes = carry_out_lanes
        code.program.owner = <void *>code.steps
        cad_program_share_owner(code.program)
        code.set_natives()
        code.is_long = code.program.n_operations > LONG_RUN and code.is_in_c()
        code.set_team(self.threads)
        code.has_lanes = not code.program.has_arrays and (
            code.natives is None
            or go_over_lanes(code.steps, code.natives, code.program.n_scans > 0)
        )
        code.machines = self.machines
        code.watch = self.watch
        code.until = PERIOD if self.watch is not None else 0
        code.expects_machine = self.machines is not None
        code.is_for_lanes = self.for_lanes  # by which it knows how many lanes it may have
        code.is_for_lanes = self.for_lanes and code.gains_by_lanes()
        return code

    cdef tuple codes_along(self, Ids along, Ids roots, size_t n):
        """Two programs: from the inputs of f to numbers that do not depend on a direction; and
        from these and one of n directions, an input `along`, to `roots`."""
        cdef Graph part = Graph.__new__(Graph)
        cdef Ids given = Ids.__new__(Ids), ends = joined_ids([roots])
        cdef CadPart split
        cdef CadStatus status = cad_graph_split(
            self.graph, along.data[0], ends.data, ends.n, &split
        )
        part.graph = split.graph
        given.data = split.given
        given.n = split.n_given
        check(status)
        part.is_part = True
        part.machines = self.machines
        part.watch = self.watch
        part.own_calls()
        part.steps = list(self.steps)
        part.keep()
        part.inputs = <CadId *>new_memory(1, sizeof(CadId))
        part.sizes = [given.n]
        part.inputs[0] = split.inputs
        own = in_a_row(split.own, 1, 1)
        part.for_lanes = not self.graph.keeps_doubles and part.has_many_directions(n)
        rest = part.code([own], [ends])
        if part.for_lanes and (not rest.is_for_lanes or rest.program.has_calls):
            part.for_lanes = False
            rest = part.code([own], [ends])
        return self.code([], [given]), rest

    cdef bint has_many_directions(self, size_t n):
        """Whether n directions are enough to go side by side through turns, or machine code."""
        of_machine, interpreted = _FROM_POINTS
        if self.machines is not None:
            return n >= of_machine
        return n >= interpreted and self.graph.n_scans > 0

    def code_of(self, what: str, *which: Iterable[tuple[int, int]]) -> Code:
        """The code of a name: "value", or that of a derivative by some inputs.

            value      inputs                                  -> outputs
            gradient   inputs                                  -> the first output, its gradient
            pull       inputs, cotangents of the outputs       -> outputs, cotangents of some inputs
            pull_onto  inputs, cotangents, former ones of some -> these, with what is added to them
            push       inputs, tangents of some                -> outputs, their tangents
            second     inputs, a direction in some             -> the Hessian of the first one times it
        """
        with GraphTransaction(self):
            if what == "value":
                return self.code([], [self.all_outputs()])
            if what == "gradient":
                return self.cheaper_gradient(which[0])
            more, found = self.derivative(what, self.elements(which[0]))
            return self.code([more], found)

    def graph_of(self, what: str, which: Iterable[tuple[int, int]]) -> Graph:
        """What "push" computes, or "pull" beside the outputs, as a graph of its own."""
        with GraphTransaction(self):
            more, found = self.derivative(what, self.elements(which))
            return self.derived(more, joined_ids(found[what == "pull":]))

    cdef tuple derivative(self, str what, Ids wrt):
        """What it takes beside the inputs of f, and what it gives, in a list: see code_of."""
        cdef Ids outputs = self.all_outputs(), more
        cdef bint pulls = what.startswith("pull")
        more = self.more_inputs((outputs.n if pulls else 0) + (0 if what == "pull" else wrt.n))
        if what == "pull":
            return more, [outputs, self.pulled(outputs, more, wrt)]
        if pulls:
            return more, [self.pulled(joined_ids([outputs, wrt]), more, wrt)]
        if what == "push":
            return more, [outputs, self.pushed(wrt, more, outputs)]
        return more, [self.pushed(wrt, more, self.pulled(outputs, self.ones(outputs.n), wrt))]

    def code_for_points(self, what: str, *which: Iterable[tuple[int, int]]) -> Code:
        """The code that `what` names, for many points at once."""
        with GraphTransaction(self):
            self.for_lanes = True
            try:
                return self.code_of(what, *which)
            finally:
                self.for_lanes = False

    def code_for_c(self, what: str, *which: Iterable[tuple[int, int]]) -> Code:
        """The code named `what`, with guards compared at its end: parts of it become functions of
        C, and none of these can end the whole."""
        with GraphTransaction(self):
            self.write_in_c(True)
            try:
                return self.code_of(what, *which)
            finally:
                self.write_in_c(False)

    cdef void write_in_c(self, bint now) noexcept:
        """Have codes made that can be written as functions of C, from now on or no more."""
        self.graph.compares_last = self.graph.keeps_doubles = now

    cdef Code cheaper_gradient(self, which):
        cdef Ids outputs = self.all_outputs()
        cdef Ids wrt = self.elements(which)
        cdef bint may_go_forth = (
            wrt.n <= FEW_INPUTS
            and self.n_recorded >= LONG_CHAIN
            and self.kept_records > BEGINNING
            and self.n_arrays == <Py_ssize_t>len(self.sizes)
        )
        if may_go_forth and self.beginning().is_cheaper_forth(which):
            return self.forward_code(wrt, outputs)
        return self.reverse_code(wrt, outputs)

    cdef Code reverse_code(self, Ids wrt, Ids outputs):
        return self.code([], [outputs, self.pulled(outputs, self.ones(outputs.n), wrt)])

    cdef Code forward_code(self, Ids wrt, Ids outputs):
        """Tangents that go along need not remember all that was computed."""
        return self.code([], [outputs, self.carried_forward(wrt, outputs)])

    cdef bint is_cheaper_forth(self, which):
        cdef Ids outputs = self.all_outputs()
        cdef Ids wrt = self.elements(which)
        cdef Code back = self.reverse_code(wrt, outputs)
        cdef Code forth = self.forward_code(wrt, outputs)
        return cad_program_cost(forth.program) < cad_program_cost(back.program)

    cdef Graph beginning(self):
        """What f computed first. Its outputs are the numbers that the rest depends on."""
        cdef Graph result = Graph.__new__(Graph)
        cdef Ids ends = new_ids(BEGINNING)
        cdef size_t n_ends = 0
        check(cad_graph_beginning(self.graph, BEGINNING, &result.graph, ends.data, &n_ends))
        result.sizes = self.sizes
        result.n_outputs = n_ends
        result.n_arrays = self.n_arrays
        result.for_lanes = self.for_lanes
        result.inputs = <CadId *>new_memory(len(self.sizes), sizeof(CadId))
        memcpy(result.inputs, self.inputs, len(self.sizes) * sizeof(CadId))
        result.outputs = ends.data
        ends.data = NULL
        result.own_calls()
        result.keep()
        return result

    cdef Ids carried_forward(self, Ids wrt, Ids outputs):
        """The derivatives of all outputs by each of some inputs."""
        cdef Ids result = new_ids(wrt.n * outputs.n)
        check(cad_graph_forward(
            self.graph, wrt.data, wrt.n, outputs.data, outputs.n, result.data
        ))
        return result

    cdef Graph derived(self, Ids more, Ids found):
        """A graph with an input more, and other outputs, which has derivatives in its turn. It
        shares all numbers and steps with this one."""
        cdef Graph result = Graph.__new__(Graph)
        cdef Py_ssize_t n = len(self.sizes)
        result.whole = self
        result.is_derived = True
        result.threads = self.threads
        result.machines = self.machines
        result.watch = self.watch
        result.links = self.links
        result.known_steps = self.known_steps
        result.graph = self.graph
        result.inputs = <CadId *>new_memory(n + 1, sizeof(CadId))
        memcpy(result.inputs, self.inputs, n * sizeof(CadId))
        result.sizes = [*self.sizes, more.n]
        result.inputs[n] = more.data[0] if more.n > 0 else 0
        result.n_outputs = found.n
        result.outputs = found.data
        found.data = NULL
        result.guards = self.guards + (False,) * <Py_ssize_t>(
            self.graph.n_guards - self.kept_guards
        )
        result.steps = self.steps
        result.n_recorded = self.n_recorded
        result.n_arrays = self.graph.n_arrays
        result.keep()
        return result

    cdef Ids outputs_and_guards(self):
        """The numbers of all outputs, and those whose outcomes the guards are."""
        cdef Ids result = new_ids(self.n_outputs + self.kept_guards)
        cdef size_t k
        memcpy(result.data, self.outputs, self.n_outputs * sizeof(CadId))
        for k in range(self.kept_guards):
            result.data[self.n_outputs + k] = self.own_guards[k].id
        return result

    cdef bytes carries(self, which, Ids numbers, bint by_value):
        """Of some numbers whether they carry a derivative if some inputs do, or (`by_value`)
        whether they change with these. Nothing is made."""
        cdef Ids wrt = self.elements(which)
        cdef bytearray flags = bytearray(numbers.n)
        check(cad_graph_reach(
            self.graph, wrt.data, wrt.n, by_value, numbers.data, numbers.n,
            <uint8_t *><unsigned char *>flags
        ))
        return bytes(flags)


cdef tuple blocks_of(Recording recording):
    """The sizes of the inputs of a recording: an array each, and all numbers that stand in a row;
    and whether they are of float32."""
    sizes, are_single = [], []
    in_row = False
    for atoms in recording.structure.leaves():
        for lengths, is_single in atoms:
            if lengths == () and in_row:
                sizes[len(sizes) - 1] += 1
                are_single[len(sizes) - 1] &= is_single
            else:
                sizes.append(prod(lengths))
                are_single.append(is_single)
            in_row = lengths == ()
    return sizes or [0], are_single or [False]


def graph_of(Recording recording, list atoms, bint optimize, size_t least_loop=0,
             bint is_verbatim=False) -> Graph:
    """What a recording computes, as a Graph; `atoms` are its outputs. `least_loop`: from how many
    operations on loops are kept; 0: from where it is faster. NO_LOOPS: of none, whatever tests say.
    `is_verbatim`: all numbers as they were recorded, for loops."""
    cdef CadTape *tape = recording.tape
    cdef Graph result
    cdef Ids inputs = new_ids(recording.n or 1), outputs
    cdef Py_ssize_t k, i, n = 0
    sizes, are_single = blocks_of(recording)
    result = Graph.__new__(Graph)
    result.begin(optimize, len(sizes))
    result.graph.is_verbatim = is_verbatim
    result.least_loop = least_loop
    result.sizes = sizes
    for k in range(len(result.sizes)):
        result.inputs[k] = cad_graph_input(result.graph, result.sizes[k], are_single[k])
        for i in range(result.sizes[k]):
            inputs.data[n] = result.inputs[k] + <CadId>i
            n += 1
    inputs.n = n
    check(result.graph.status)
    outputs = result.read_recording(recording, atoms, inputs)
    result.outputs = outputs.data
    result.n_outputs = outputs.n
    outputs.data = NULL
    equalities = []
    if tape.guards != NULL:
        for _, count, equality, _ in noted_guards(tape):
            equalities += [equality] * count
    result.guards = tuple(equalities)
    result.n_arrays = result.graph.n_arrays
    result.n_recorded = tape.n_entries - recording.begin() - 1
    result.keep()
    return result


# --- as bytes, which is how they are pickled ------------------------------------------------------

_OPERATIONS = [cad_op_info[op].name.decode() for op in range(<int>CAD_OP_COUNT)]


cdef bytes graph_as_bytes(Graph graph):
    """See written_graph; an operation is the index of its name. Derivatives are left out."""
    cdef CadGraphParts parts
    cdef cnp.ndarray records, words, lists, constants
    cdef size_t k
    memset(&parts, 0, sizeof(parts))
    parts.n_records = graph.kept_records - 1
    cad_graph_write(graph.graph, &parts)
    records = np.empty((parts.n_rows, 4), dtype=np.uint32)
    words = np.empty(parts.n_words, dtype=np.int64)
    lists = np.empty(parts.n_lists, dtype=np.uint32)
    constants = np.empty(parts.n_constants)
    point_to_parts(&parts, records, words, lists, constants)
    cad_graph_write(graph.graph, &parts)
    kinds, operations, are_named = taken_apart(records)
    used = np.unique(operations[are_named])
    operations[are_named] = np.searchsorted(used, operations[are_named])
    (<object>records)[:, 0] = kinds << 16 | operations
    ids = [graph.own_guards[k].id for k in range(graph.kept_guards)]
    outcomes = [graph.own_guards[k].value for k in range(graph.kept_guards)]
    outputs = [graph.outputs[k] for k in range(<size_t>graph.n_outputs)]
    return written_graph(
        [_OPERATIONS[op] for op in used],
        (graph.graph.optimize, graph.n_recorded, len(graph.sizes), len(outputs), len(ids),
         parts.n_rows, parts.n_words, parts.n_lists, parts.n_constants),
        (outputs, ids, outcomes, graph.guards or (), records, words, lists, constants),
    )


cdef tuple taken_apart(records):
    """The kinds of records, their operations, and which of them have one."""
    kinds, operations = records[:, 0] >> 16, records[:, 0] & 0xFFFF
    return kinds, operations, (kinds == CAD_RECORD_SINGLE) | (kinds == CAD_RECORD_MAP)


cdef void point_to_parts(CadGraphParts *parts, cnp.ndarray records, cnp.ndarray words,
                         cnp.ndarray lists, cnp.ndarray constants) noexcept:
    parts.records = <uint32_t *>cnp.PyArray_DATA(records)
    parts.words = <int64_t *>cnp.PyArray_DATA(words)
    parts.lists = <CadId *>cnp.PyArray_DATA(lists)
    parts.constants = cnp.doubles(constants)


def graph_from_bytes(data: bytes, steps: Sequence[Any] = ()):
    """The Graph that some bytes stand for, with its calls; ValueError if they were not written by
    one, or by another one."""
    cdef Graph result
    cdef CadGraphParts parts
    cdef cnp.ndarray records, words, lists, constants
    cdef CadStatus status
    cdef Py_ssize_t k
    counts, names, found = read_graph(data, _OPERATIONS)
    _, optimize, n_recorded, n_inputs, n_outputs, n_guards = counts[:6]
    outputs, ids, outcomes, equalities, all_records, words, lists, constants = found
    records = all_records.reshape(-1, 4)
    codes = np.array(names, dtype=np.uint32)
    kinds, operations, are_named = taken_apart(records)
    if (operations[are_named] >= len(codes)).any():
        raise ValueError(f"{_NO_GRAPH}: an operation has no name")
    operations[are_named] = codes[operations[are_named]]
    (<object>records)[:, 0] = kinds << 16 | operations
    memset(&parts, 0, sizeof(parts))
    parts.n_rows, parts.n_words, parts.n_lists, parts.n_constants = counts[6:]
    point_to_parts(&parts, records, words, lists, constants)

    result = Graph.__new__(Graph)
    result.begin(optimize != 0, n_inputs)
    result.outputs = <CadId *>new_memory(n_outputs, sizeof(CadId))
    result.steps = as_steps(list(steps))
    status = cad_graph_restore(result.graph, &parts, n_inputs)
    if status == CAD_RAISED:
        raise ValueError(f"{_NO_GRAPH}: an operation is none, or has operands that it cannot have")
    check(status)
    if not are_calls_known(result.graph, result.steps):
        raise ValueError(f"{_NO_GRAPH}: a call is none of its steps")
    for number in (*outputs, *ids):
        if not cad_graph_has(result.graph, number):
            raise ValueError(f"{_NO_GRAPH}: a result is a number that is not there")
    result.sizes = []
    for k in range(n_inputs):  # behind none and the constant 0
        result.inputs[k] = cad_graph_first(result.graph, 2 + k)
        result.sizes.append(cad_record_size(&result.graph.records[2 + k]))
    for k in range(n_outputs):
        result.outputs[k] = outputs[k]
    for k in range(n_guards):
        check(cad_graph_guard(result.graph, ids[k], outcomes[k]))
    result.n_outputs = n_outputs
    result.n_recorded = n_recorded
    result.n_arrays = result.graph.n_arrays
    result.guards = tuple([bool(equality) for equality in equalities])
    result.keep()
    return result


cdef bint are_calls_known(CadGraph *graph, list steps) except -1:
    """Whether each call is one of the steps, with as many operands and results; in loops, too."""
    cdef const CadRecord *record
    cdef uint32_t number
    cdef size_t k
    for k in range(graph.n_records):
        record = &graph.records[k]
        if record.kind == CAD_RECORD_CALL:
            number = cad_graph_array(graph, record).number
            if number >= len(steps):
                return False
            n_operands, n_results = steps[number].sizes()
            if (
                cad_plan_shape(cad_graph_plan(graph, record))[0] != n_operands
                or cad_record_size(record) != max(n_results, 1)
            ):
                return False
    return all([are_calls_known(graph.scans[k].body, steps) for k in range(graph.n_scans)])


def reduced_graph(Graph graph) -> tuple[Any, ...]:
    """A Graph as pickle wants it; without derivatives."""
    return graph_from_bytes, (graph_as_bytes(graph), graph.steps[: graph.kept_steps])


copyreg.pickle(Graph, reduced_graph)


# --- loops whose number of turns a run finds -----------------------------------------------------
#
# A turn, what is around it, and a turn pushed: cut out of the graph of a recording that keeps all
# numbers as they were recorded. Which numbers a turn consists of is for others to say.

def record_kinds() -> tuple[int, ...]:
    """The numbers of kinds of records: constants, single numbers, inputs, arrays of constants, packs,
    maps, what is taken, and calls."""
    return (
        CAD_RECORD_CONSTANT, CAD_RECORD_SINGLE, CAD_RECORD_INPUT, CAD_RECORD_CONSTANTS,
        CAD_RECORD_PACK, CAD_RECORD_MAP, CAD_RECORD_TAKE, CAD_RECORD_CALL,
    )


def described(Graph graph, dict forms) -> tuple[Any, ...]:
    """Of each record its first number, how many it has, a hash of all but what it reads, its kind
    and where what it reads begins; and the numbers that are read. `forms` numbers calls that do
    the same, of all graphs."""
    cdef CadDescribed parts
    cdef Py_ssize_t n = graph.graph.n_records
    cdef cnp.ndarray first = np.empty(n, np.uint32), sizes = np.empty(n, np.uint32)
    cdef cnp.ndarray hashes = np.empty(n, np.uint64), kinds = np.empty(n, np.uint8)
    cdef cnp.ndarray begins = np.empty(n + 1, np.uint32)
    cdef cnp.ndarray known = np.array(
        [forms.setdefault(step.rule.form(), len(forms)) for step in graph.steps], np.uint64
    )
    cdef const uint64_t *of_calls = <const uint64_t *>cnp.PyArray_DATA(known)
    cdef size_t count = cad_graph_describe(graph.graph, of_calls, NULL)
    cdef cnp.ndarray operands = np.empty(count, np.uint32)
    parts.first = <CadId *>cnp.PyArray_DATA(first)
    parts.sizes = <uint32_t *>cnp.PyArray_DATA(sizes)
    parts.hashes = <uint64_t *>cnp.PyArray_DATA(hashes)
    parts.kinds = <uint8_t *>cnp.PyArray_DATA(kinds)
    parts.begins = <uint32_t *>cnp.PyArray_DATA(begins)
    parts.operands = <CadId *>cnp.PyArray_DATA(operands)
    cad_graph_describe(graph.graph, of_calls, &parts)
    begins[n] = count
    ends = [graph.outputs[k] for k in range(<size_t>graph.n_outputs)]
    guards = [graph.own_guards[k].id for k in range(graph.kept_guards)]
    outcomes = [graph.own_guards[k].value for k in range(graph.kept_guards)]
    return first, sizes, hashes, kinds, begins, operands, ends, guards, outcomes


cdef Graph new_graph(Graph like, list sizes, bint of_recording=False):
    """A graph of inputs alone, with the steps of another one; or, of a recording, with its inputs."""
    cdef Graph result = Graph.__new__(Graph)
    cdef Py_ssize_t k
    result.begin(True, len(sizes))
    result.steps = list(like.steps)
    result.threads, result.machines, result.watch = like.threads, like.machines, like.watch
    result.sizes = sizes
    for k in range(len(sizes)):
        result.inputs[k] = cad_graph_input(
            result.graph, sizes[k],
            of_recording and cad_graph_has_floats(like.graph, &like.graph.records[2 + k]),
        )
    check(result.graph.status)
    return result


cdef int finish(Graph result, list outputs, list equalities, Py_ssize_t n_recorded) except -1:
    cdef Py_ssize_t k
    check(result.graph.status)
    result.n_outputs = len(outputs)
    result.outputs = <CadId *>new_memory(len(outputs), sizeof(CadId))
    for k in range(len(outputs)):
        result.outputs[k] = outputs[k]
    result.guards = tuple(equalities)
    result.n_recorded = n_recorded
    result.n_arrays = result.graph.n_arrays
    result.keep()
    return 0


cdef list inserted(Graph to, Graph whole, known, inputs, outputs):
    """Numbers of a graph in another one, in which some are known: pairs (there, here)."""
    cdef Ids there = new_ids(len(inputs) or 1), here = new_ids(len(inputs) or 1)
    cdef Ids wanted = new_ids(len(outputs) or 1), results = new_ids(len(outputs) or 1)
    cdef CadKnown *pairs = <CadKnown *>new_memory(len(known) or 1, sizeof(CadKnown))
    cdef Py_ssize_t k
    try:
        for k, (of, by) in enumerate(known):
            pairs[k].of, pairs[k].by = of, by
        for k, (of, by) in enumerate(inputs):
            there.data[k], here.data[k] = of, by
        for k, of in enumerate(outputs):
            wanted.data[k] = of
        check(cad_graph_insert_rest(
            to.graph, whole.graph, pairs, len(known), there.data, here.data, len(inputs),
            wanted.data, len(outputs), results.data,
        ))
    finally:
        cad_memory_free(pairs)
    return [results.data[k] for k in range(len(outputs))]


cdef list numbers_of(Graph result, Graph whole, known, inputs, wanted, CadId first):
    """What is wanted: numbers of another graph; floats, which are constants; and below 0, from -1
    downwards, numbers of this graph from the first one on."""
    of_whole = [of for of in wanted if type(of) is int and of >= 0]
    found = dict(zip(of_whole, inserted(result, whole, known, inputs, of_whole)))
    return [
        cad_graph_constant(result.graph, <double>of) if type(of) is float
        else found[of] if of >= 0 else first + <CadId>(-1 - of)
        for of in wanted
    ]


def turn_graph(Graph whole, Py_ssize_t size, known, inputs, ends, guards) -> Graph:
    """A turn: of one array of inputs.

    known, inputs: pairs of a number of the recording and its place in the array. ends: what it gives,
    as numbers of the recording, constants (floats), or inputs (-1 - place). guards: pairs of such, and
    outcomes.
    """
    cdef Graph result = new_graph(whole, [size])
    cdef CadId first = result.inputs[0]
    found = numbers_of(
        result, whole, [(of, first + <CadId>at) for of, at in known],
        [(of, first + <CadId>at) for of, at in inputs],
        [*ends, *[guard for guard, _ in guards]], first,
    )
    n = len(ends)
    for guard, (_, outcome) in zip(found[n:], guards):
        check(cad_graph_guard(result.graph, guard, outcome))
    finish(result, found[:n], [False] * len(guards), result.graph.n_records)
    return result


def given_graph(Graph whole, given) -> Graph:
    """What a loop is given, of the inputs of the recording: numbers of it, and constants (floats)."""
    cdef Graph result = new_graph(whole, list(whole.sizes), True)
    found = numbers_of(result, whole, [], same_inputs(result, whole), given, 0)
    finish(result, found, [], whole.n_recorded)
    return result


cdef list same_inputs(Graph result, Graph whole):
    return [
        (whole.inputs[k] + <CadId>i, result.inputs[k] + <CadId>i)
        for k in range(len(whole.sizes)) for i in range(<Py_ssize_t>whole.sizes[k])
    ]


def graph_around(Graph whole, before, given, rule, tuple point, known, outputs, behind) -> Graph:
    """The recording with a call of a rule in the place of the loop: of what is given, as for
    `given_graph`. `point`: the operand and the result that it is recorded with.

    before, behind: guards, as triples of numbers, outcomes and whether they rest on equality; behind,
    from -1 downwards, they are results of the call. known: pairs of a number of the recording and the
    result that it is.
    """
    cdef Graph result = new_graph(whole, list(whole.sizes), True)
    cdef Ids operands = new_ids(len(given))
    cdef Py_ssize_t k
    cdef CadId call
    inputs = same_inputs(result, whole)
    found = numbers_of(result, whole, [], inputs, [*[guard for guard, *_ in before], *given], 0)
    n = len(before)
    for k in range(len(given)):
        operands.data[k] = found[n + k]
    number = len(result.steps)
    result.steps.append(_Step(rule, [point[0]], [point[1]]))
    call = cad_graph_call(
        result.graph, number, cad_graph_pack(result.graph, operands.data, operands.n),
        operands.n, len(point[1]),
    )
    check(result.graph.status)
    rest = numbers_of(
        result, whole, [(of, call + <CadId>at) for of, at in known], inputs,
        [*outputs, *[guard for guard, *_ in behind]], call,
    )
    m = len(outputs)
    for number, (_, outcome, _) in zip([*found[:n], *rest[m:]], [*before, *behind]):
        check(cad_graph_guard(result.graph, number, outcome))
    finish(result, rest[:m], [equality for *_, equality in (*before, *behind)], whole.n_recorded)
    return result


def in_other_order(Graph derived, inputs, outputs) -> Graph:
    """A graph of one array of inputs, where each number of the former inputs has its place, and
    with the former outputs in an order."""
    cdef Graph result = new_graph(derived, [len(inputs)])
    cdef CadId first = result.inputs[0]
    cdef size_t k
    numbers = [
        derived.inputs[k] + <CadId>i
        for k in range(<size_t>len(derived.sizes)) for i in range(<Py_ssize_t>derived.sizes[k])
    ]
    guards = [derived.own_guards[k].id for k in range(derived.kept_guards)]
    ends = [derived.outputs[k] for k in range(<size_t>derived.n_outputs)]
    found = inserted(
        result, derived, [], [(of, first + <CadId>at) for of, at in zip(numbers, inputs)],
        [*[ends[k] for k in outputs], *guards],
    )
    n = len(outputs)
    for k in range(derived.kept_guards):
        check(cad_graph_guard(result.graph, found[n + k], derived.own_guards[k].value))
    finish(result, found[:n], list(derived.guards), derived.n_recorded)
    return result
