"""Graphs of loops whose number of turns a run finds: a turn, what is around it, and a turn pushed.

They are cut out of the graph of a recording that keeps all numbers as they were recorded. Which
numbers a turn consists of is for others to say.
"""

import numpy as np

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.graph cimport *
from .c_numbers cimport *
from .graph_numbers cimport Ids, new_ids
from .graphs cimport Graph

from .rules import _Step


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
